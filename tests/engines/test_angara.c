/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the engine angara promises of damaged tori and meshes: every connected pair is routed, the certificate
 * checked, service levels are unchanged. OSR_CASES=1000 runs the campaign of docs/results/angara-balance.md.
 */
#include "test.h"

#include "sweeps.h"
#include "tori.h"

struct run {
	struct test_fabric t;
	struct osr_arena result;
	struct osr_request req;
	struct osr_result now;
	struct osr_routing r;
	struct osr_verdict verdict;
	struct osr_diag diag;
};

static void start(struct run *x, struct test_torus *d, unsigned vls)
{
	memset(x, 0, sizeof(*x));
	x->req = (struct osr_request){ .max_vls = (uint8_t)vls, .multicast = true };
	test_torus_draw(d, &x->t);
}

/* The check of the sweep has passed. */
static enum osr_status route_by(struct run *x, const char *engine,
				const struct osr_result *previous)
{
	struct osr_sweep sweep;
	enum osr_status st;

	x->now = (struct osr_result){ .fabric = x->t.f };
	st = test_route(engine, "", x->req, previous, &x->result, &x->now, &sweep, &x->diag);
	x->r = x->now.routing;
	x->verdict = sweep.verdict;
	/* Of a repair the check counts them. */
	if (!st && !x->r.stable.kept && x->r.n_longer != x->verdict.n_longer)
		fail_msg("%s: %u longer routes claimed, %u found", x->t.name, x->r.n_longer,
			 (unsigned)x->verdict.n_longer);
	return st;
}

static enum osr_status route(struct run *x, const struct osr_result *previous)
{
	return route_by(x, "angara", previous);
}

static void stop(struct run *x)
{
	osr_arena_free(&x->result);
	test_fabric_free(&x->t);
}

/* ---- damaged ones ---------------------------------------------------------------------------- */

static const char *const damaged[] = {
	"8r 8r 8r", "4r 2 2 2", "6r 6r 6r", "5r 4r 3r 2",   "16r 16r",
	"8 8",      "8 8 8",    "5r 5r",    "12r 5",        "4 4 4 4",
	"6r 6r",    "5r 5r 5r", "8r 6r 2",  "3r 2 2 2 2 2", "3r 3r 3 2 2 2",
};

#define N_DAMAGED (sizeof(damaged) / sizeof(damaged[0]))

/* What became of a campaign. */
struct tally {
	unsigned cases, kept, no_multicast, one_way;
	uint64_t pairs, other_sls; /* of those that were kept, against the whole grid */
};

/* Service levels of pairs that are there before and after, by GUID and LID. */
static unsigned other_sls(const struct run *a, const struct run *b)
{
	unsigned n = 0;

	for (uint32_t d = 0; a->r.sl && d < b->t.f.n_dests; d++) {
		uint32_t e = a->t.f.lid_dest[b->t.f.dest_lid[d]];

		for (uint32_t v = 0; v < b->t.f.n_switches; v++) {
			uint32_t u = osr_fabric_switch_by_guid(&a->t.f, b->t.f.sw_guid[v]);

			n += e != OSR_NONE && u != OSR_NONE &&
			     a->r.sl[(size_t)e * a->t.f.n_switches + u] !=
				     b->r.sl[(size_t)d * b->t.f.n_switches + v];
		}
	}
	return n;
}

/* What the whole grid had stays proven, on as many lanes or one more. */
static void tally(const struct run *whole, const struct run *x, struct tally *n)
{
	uint32_t claims = whole->r.claims & (OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL |
					     OSR_CLAIM_MULTICAST | OSR_CLAIM_DEADLOCK_FREE);

	n->cases++;
	n->no_multicast += !x->r.mcast_parent;
	n->one_way += !(x->r.claims & OSR_CLAIM_REVERSIBLE);
	if (!x->r.stable.kept)
		return;
	if ((x->verdict.proven & claims) != claims || x->r.n_vls > whole->r.n_vls + 1)
		fail_msg("%s: claims %x became %x, %u lanes %u", x->t.name, claims,
			 x->verdict.proven, whole->r.n_vls, x->r.n_vls);
	n->kept++;
	n->pairs += (uint64_t)x->t.f.n_dests * (x->t.f.n_switches - 1);
	n->other_sls += other_sls(whole, x);
}

/*
 * The k-th of a campaign, whole: of each shape some with two cables between neighbours, with hosts
 * spread unevenly, with two on every switch.
 */
static struct test_torus draw_case(unsigned k)
{
	unsigned round = k / N_DAMAGED;

	return (struct test_torus){ .dims = damaged[k % N_DAMAGED],
				    .hosts = 1 + (round % 7 == 6),
				    .some_hosts = round % 5 == 4,
				    .cables = 1 + (round % 4 == 3),
				    .shuffle = 1 + k,
				    .fault_seed = k };
}

/* Three cables missing, or one switch, or both. */
static void damage(struct test_torus *d, unsigned k)
{
	d->dead_switches = k / N_DAMAGED % 3 > 0;
	d->dead_links = k / N_DAMAGED % 3 == 1 ? 0 : 3;
}

/* With a previous result, which is repaired, as after a failure; without, as after a restart. */
static void campaign(unsigned first, unsigned n_cases, bool restart, unsigned vls)
{
	struct tally n = { 0 };

	for (unsigned i = 0; i < n_cases; i++) {
		unsigned k = first + i * test_number("OSR_STEP", 1);
		struct test_torus d = draw_case(k);
		struct run whole, x, y;

		start(&whole, &d, vls);
		if (!restart)
			assert_int_equal(route(&whole, NULL), OSR_OK);
		damage(&d, k);
		start(&x, &d, vls);
		if (restart && x.t.f.n_switches > 256 && !test_number("OSR_CASES", 0)) {
			stop(&whole);
			stop(&x);
			continue;
		}
		if (route(&x, restart ? NULL : &whole.now) != OSR_OK)
			fail_msg("%s: %s", x.t.name, x.diag.text);
		assert_true(x.verdict.proven & OSR_CLAIM_DEADLOCK_FREE);
		assert_int_equal(x.verdict.n_routes + x.verdict.n_no_path,
				 (uint64_t)x.t.f.n_dests * (x.t.f.n_switches - 1));
		/* A grid that is damaged when it is first routed carries as little as with dfsssp. */
		if (restart && x.t.f.n_switches <= 256) {
			start(&y, &d, vls);
			assert_int_equal(route_by(&y, "dfsssp", NULL), OSR_OK);
			if (x.verdict.efi * 100 > y.verdict.efi * 105)
				fail_msg("%s: %u routes on a link, dfsssp %u", x.t.name,
					 (unsigned)x.verdict.efi, (unsigned)y.verdict.efi);
			stop(&y);
		}
		tally(&whole, &x, &n);
		stop(&whole);
		stop(&x);
	}
	printf("%u damaged grids, %u VLs, %s: %u kept, %u without multicast, %u one-way; %llu of "
	       "%llu pairs on another service level\n",
	       n.cases, vls, restart ? "after a restart" : "after a failure", n.kept,
	       n.no_multicast, n.one_way, (unsigned long long)n.other_sls,
	       (unsigned long long)n.pairs);
	assert_int_equal(n.no_multicast, 0);
	assert_true(n.other_sls * 1000 <= n.pairs * 3 / 2);
	assert_true(restart || n.kept * 2 >= n.cases || test_number("OSR_CASES", 0));
}

/* OSR_FIRST, OSR_CASES, OSR_STEP, OSR_VLS: for campaigns; a step of 15 keeps to one shape. */
static void test_damaged(void **state)
{
	unsigned n = test_number("OSR_CASES", 3 * N_DAMAGED), first = test_number("OSR_FIRST", 0);

	campaign(first, n, true, test_number("OSR_VLS", 8));
	campaign(first, n, false, test_number("OSR_VLS", 8));
}

/* On one lane: rings need detours there, but everybody is reached, and nothing can deadlock. */
static void test_one_lane(void **state)
{
	unsigned longer = 0;

	for (unsigned k = 0; k < N_DAMAGED * 4; k++) {
		struct test_torus d = draw_case(k);
		struct run x;

		if (k >= N_DAMAGED)
			damage(&d, k);
		start(&x, &d, 1);
		if (x.t.f.n_switches <= 256) {
			if (route(&x, NULL) != OSR_OK)
				fail_msg("%s: %s", x.t.name, x.diag.text);
			assert_true(x.r.n_vls == 1 && x.verdict.proven & OSR_CLAIM_DEADLOCK_FREE);
			assert_int_equal(x.verdict.n_routes + x.verdict.n_no_path,
					 (uint64_t)x.t.f.n_dests * (x.t.f.n_switches - 1));
			longer += x.verdict.n_longer > 0;
		}
		stop(&x);
	}
	printf("one lane: %u grids with longer routes\n", longer);
}

/* Multicast on a lane that unicast uses, too, and on one of its own. */
static void test_multicast_lane(void **state)
{
	static const char *const dims[] = { "6r 5r", "8r 8r", "5 4" };

	for (unsigned k = 0; k < 18; k++) {
		struct test_torus d = { .dims = dims[k % 3],
					.hosts = 1,
					.shuffle = 1,
					.fault_seed = k,
					.dead_switches = k / 9 };
		struct run x;

		start(&x, &d, 4);
		x.req.mcast_vl = (uint8_t)(1 + k / 3 % 3);
		assert_int_equal(route(&x, NULL), OSR_OK);
		/* Where any SL is safe, so is multicast on any lane. */
		if (!(x.verdict.proven & OSR_CLAIM_MULTICAST) ||
		    (x.r.mcast_vl != x.req.mcast_vl && !(x.verdict.proven & OSR_CLAIM_ANY_SL)))
			fail_msg("%s: multicast on VL %u is not proven", x.t.name, x.req.mcast_vl);
		stop(&x);
	}
}

/* ---- what stays ------------------------------------------------------------------------------ */

/* Also if the switch of the lowest GUID, which is the origin, dies; and later another one. */
static void test_service_levels_stay(void **state)
{
	static const char *const dims[] = { "8r 8r 8r", "6r 6r", "5r 4r 3r", "12r 5r" };

	for (unsigned k = 0; k < 8; k++) {
		struct test_torus d = { .dims = dims[k % 4], .hosts = 1, .shuffle = 1 + k };
		struct run x, y, z;

		start(&x, &d, 2);
		assert_int_equal(route(&x, NULL), OSR_OK);
		d.dead_guid = x.t.f.sw_guid[k < 4 ? 0 : 7];
		start(&y, &d, 2);
		assert_int_equal(route(&y, &x.now), OSR_OK);
		assert_true(y.r.stable.kept);
		assert_true(other_sls(&x, &y) * UINT64_C(1000) <=
			    (uint64_t)y.t.f.n_dests * y.t.f.n_switches);
		d.dead_guid = 0;
		start(&z, &d, 2);
		assert_int_equal(route(&z, &y.now), OSR_OK);
		assert_int_equal(other_sls(&x, &z), 0);
		assert_true(osr_routing_digest(&x.t.f, &x.r) == osr_routing_digest(&z.t.f, &z.r));
		stop(&z);
		stop(&y);
		stop(&x);
	}
}

TEST_PROGRAM(test_damaged, test_one_lane, test_multicast_lane, test_service_levels_stay)
