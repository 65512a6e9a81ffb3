/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the engine angara promises of damaged tori and meshes: every connected pair is routed, the
 * certificate checked, service levels are unchanged. OSR_CASES=1000 runs the campaign of
 * docs/results/angara-balance.md.
 */
#include "test.h"

#include "sweeps.h"
#include "tori.h"

struct run {
	struct test_fabric test;
	struct osr_arena result;
	struct osr_request req;
	struct osr_result now;
	struct osr_routing routing;
	struct osr_verdict verdict;
	struct osr_diag diag;
};

static void start(struct run *run, struct test_torus *torus, unsigned vls)
{
	memset(run, 0, sizeof(*run));
	run->req = (struct osr_request){ .max_vls = (uint8_t)vls, .multicast = true };
	test_torus_draw(torus, &run->test);
}

/* The check of the sweep has passed. */
static enum osr_status route_by(struct run *run, const char *engine,
				const struct osr_result *previous)
{
	struct osr_sweep sweep;
	enum osr_status st;

	run->now = (struct osr_result){ .fabric = run->test.fabric };
	st = test_route(engine, "", run->req, previous, &run->result, &run->now, &sweep,
			&run->diag);
	run->routing = run->now.routing;
	run->verdict = sweep.verdict;
	/* Of a repair the check counts them. */
	if (!st && !run->routing.stable.kept && run->routing.n_longer != run->verdict.n_longer)
		fail_msg("%s: %u longer routes claimed, %u found", run->test.name,
			 run->routing.n_longer, (unsigned)run->verdict.n_longer);
	return st;
}

static enum osr_status route(struct run *run, const struct osr_result *previous)
{
	return route_by(run, "angara", previous);
}

static void stop(struct run *run)
{
	osr_arena_free(&run->result);
	test_fabric_free(&run->test);
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

	for (uint32_t d = 0; a->routing.sl && d < b->test.fabric.n_dests; d++) {
		uint32_t e = a->test.fabric.lid_dest[b->test.fabric.dest_lid[d]];

		for (uint32_t v = 0; v < b->test.fabric.n_switches; v++) {
			uint32_t u = osr_fabric_switch_by_guid(&a->test.fabric,
							       b->test.fabric.sw_guid[v]);

			n += e != OSR_NONE && u != OSR_NONE &&
			     a->routing.sl[(size_t)e * a->test.fabric.n_switches + u] !=
				     b->routing.sl[(size_t)d * b->test.fabric.n_switches + v];
		}
	}
	return n;
}

/* What the whole grid had stays proven, on as many lanes or one more. */
static void tally(const struct run *whole, const struct run *run, struct tally *tally)
{
	uint32_t claims = whole->routing.claims & (OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL |
						   OSR_CLAIM_MULTICAST | OSR_CLAIM_DEADLOCK_FREE);

	tally->cases++;
	tally->no_multicast += !run->routing.mcast_parent;
	tally->one_way += !(run->routing.claims & OSR_CLAIM_REVERSIBLE);
	if (!run->routing.stable.kept)
		return;
	if ((run->verdict.proven & claims) != claims ||
	    run->routing.n_vls > whole->routing.n_vls + 1)
		fail_msg("%s: claims %x became %x, %u lanes %u", run->test.name, claims,
			 run->verdict.proven, whole->routing.n_vls, run->routing.n_vls);
	tally->kept++;
	tally->pairs += (uint64_t)run->test.fabric.n_dests * (run->test.fabric.n_switches - 1);
	tally->other_sls += other_sls(whole, run);
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
static void damage(struct test_torus *torus, unsigned k)
{
	torus->dead_switches = k / N_DAMAGED % 3 > 0;
	torus->dead_links = k / N_DAMAGED % 3 == 1 ? 0 : 3;
}

/* With a previous result, which is repaired, as after a failure; without, as after a restart. */
static void campaign(unsigned first, unsigned n_cases, bool restart, unsigned vls)
{
	struct tally n = { 0 };

	for (unsigned i = 0; i < n_cases; i++) {
		unsigned k = first + i * test_number("OSR_STEP", 1);
		struct test_torus torus = draw_case(k);
		struct run whole, x, y;

		start(&whole, &torus, vls);
		if (!restart)
			assert_int_equal(route(&whole, NULL), OSR_OK);
		damage(&torus, k);
		start(&x, &torus, vls);
		if (restart && x.test.fabric.n_switches > 256 && !test_number("OSR_CASES", 0)) {
			stop(&whole);
			stop(&x);
			continue;
		}
		if (route(&x, restart ? NULL : &whole.now) != OSR_OK)
			fail_msg("%s: %s", x.test.name, x.diag.text);
		assert_true(x.verdict.proven & OSR_CLAIM_DEADLOCK_FREE);
		assert_int_equal(x.verdict.n_routes + x.verdict.n_no_path,
				 (uint64_t)x.test.fabric.n_dests * (x.test.fabric.n_switches - 1));
		/*
		 * A grid that is damaged when it is first routed carries as little as with dfsssp.
		 */
		if (restart && x.test.fabric.n_switches <= 256) {
			start(&y, &torus, vls);
			assert_int_equal(route_by(&y, "dfsssp", NULL), OSR_OK);
			if (x.verdict.efi * 100 > y.verdict.efi * 105)
				fail_msg("%s: %u routes on a link, dfsssp %u", x.test.name,
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
		struct test_torus torus = draw_case(k);
		struct run run;

		if (k >= N_DAMAGED)
			damage(&torus, k);
		start(&run, &torus, 1);
		if (run.test.fabric.n_switches <= 256) {
			if (route(&run, NULL) != OSR_OK)
				fail_msg("%s: %s", run.test.name, run.diag.text);
			assert_true(run.routing.n_vls == 1 &&
				    run.verdict.proven & OSR_CLAIM_DEADLOCK_FREE);
			assert_int_equal(run.verdict.n_routes + run.verdict.n_no_path,
					 (uint64_t)run.test.fabric.n_dests *
						 (run.test.fabric.n_switches - 1));
			longer += run.verdict.n_longer > 0;
		}
		stop(&run);
	}
	printf("one lane: %u grids with longer routes\n", longer);
}

/* Multicast on a lane that unicast uses, too, and on one of its own. */
static void test_multicast_lane(void **state)
{
	static const char *const dims[] = { "6r 5r", "8r 8r", "5 4" };

	for (unsigned k = 0; k < 18; k++) {
		struct test_torus torus = { .dims = dims[k % 3],
					    .hosts = 1,
					    .shuffle = 1,
					    .fault_seed = k,
					    .dead_switches = k / 9 };
		struct run run;

		start(&run, &torus, 4);
		run.req.mcast_vl = (uint8_t)(1 + k / 3 % 3);
		assert_int_equal(route(&run, NULL), OSR_OK);
		/* Where any SL is safe, so is multicast on any lane. */
		if (!(run.verdict.proven & OSR_CLAIM_MULTICAST) ||
		    (run.routing.mcast_vl != run.req.mcast_vl &&
		     !(run.verdict.proven & OSR_CLAIM_ANY_SL)))
			fail_msg("%s: multicast on VL %u is not proven", run.test.name,
				 run.req.mcast_vl);
		stop(&run);
	}
}

/* ---- what stays ------------------------------------------------------------------------------ */

/* Also if the switch of the lowest GUID, which is the origin, dies; and later another one. */
static void test_service_levels_stay(void **state)
{
	static const char *const dims[] = { "8r 8r 8r", "6r 6r", "5r 4r 3r", "12r 5r" };

	for (unsigned k = 0; k < 8; k++) {
		struct test_torus torus = { .dims = dims[k % 4], .hosts = 1, .shuffle = 1 + k };
		struct run x, y, z;

		start(&x, &torus, 2);
		assert_int_equal(route(&x, NULL), OSR_OK);
		torus.dead_guid = x.test.fabric.sw_guid[k < 4 ? 0 : 7];
		start(&y, &torus, 2);
		assert_int_equal(route(&y, &x.now), OSR_OK);
		assert_true(y.routing.stable.kept);
		assert_true(other_sls(&x, &y) * UINT64_C(1000) <=
			    (uint64_t)y.test.fabric.n_dests * y.test.fabric.n_switches);
		torus.dead_guid = 0;
		start(&z, &torus, 2);
		assert_int_equal(route(&z, &y.now), OSR_OK);
		assert_int_equal(other_sls(&x, &z), 0);
		assert_true(osr_routing_digest(&x.test.fabric, &x.routing) ==
			    osr_routing_digest(&z.test.fabric, &z.routing));
		stop(&z);
		stop(&y);
		stop(&x);
	}
}

TEST_PROGRAM(test_damaged, test_one_lane, test_multicast_lane, test_service_levels_stay)
