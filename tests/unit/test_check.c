/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The checker against a judge that follows every packet by itself: on right tables, and on tables
 * changed at random, and spoilt by hand. All small tables: test_check_all.c; a second checker:
 * test_gate.c.
 */
#include "test.h"

#include <osmroutes/check.h>
#include <osmroutes/sweep.h>

#include "core/verify/union.h"

#include "fabrics.h"
#include "tables.h"

static void assert_same_verdict(const struct osr_verdict *a, const struct osr_verdict *b)
{
	assert_int_equal(a->proven, b->proven);
	assert_int_equal(a->n_routes, b->n_routes);
	assert_int_equal(a->n_longer, b->n_longer);
	assert_int_equal(a->n_no_path, b->n_no_path);
	assert_int_equal(a->max_hops, b->max_hops);
	assert_int_equal(a->efi, b->efi);
	assert_int_equal(a->efi_all, b->efi_all);
	assert_true(a->efi_mean - b->efi_mean < 1e-6 && b->efi_mean - a->efi_mean < 1e-6);
	assert_true(a->efi_per_capacity - b->efi_per_capacity < 1e-6 &&
		    b->efi_per_capacity - a->efi_per_capacity < 1e-6);
}

/* The checker and the judge must say the same. Returns whether the tables are right. */
static bool agree(const struct test_fabric *test, const struct osr_routing *routing,
		  const char *what)
{
	struct osr_arena scratch = { 0 };
	struct osr_verdict verdict, judged;
	struct osr_diag diag = { 0 };
	enum osr_status st = osr_check(&test->fabric, routing, &scratch, &verdict, &diag);
	bool right = table_judge(&test->fabric, routing, &judged);

	if (st != (right ? OSR_OK : OSR_CHECK_FAILED))
		fail_msg("%s, %s: the judge says %s, the checker: %s (%s)", test->name, what,
			 right ? "right" : "wrong", osr_status_str(st), diag.text);
	assert_int_equal(scratch.in_use, 0);
	if (right) {
		assert_same_verdict(&verdict, &judged);
		assert_string_equal(diag.text, "");
	} else {
		assert_string_not_equal(diag.text, "");
		assert_int_equal(verdict.proven, 0);
	}
	osr_arena_free(&scratch);
	return right;
}

/* --- changes at random ------------------------------------------------------------------------ */

struct patient {
	struct test_fabric *test;
	struct osr_fabric fabric; /* may be changed, arrays copied */
	struct osr_routing routing;
	struct osr_arena *arena;
	uint64_t seed;
	bool tight; /* ranks are as low as can be */
};

static uint32_t pick(struct patient *patient, uint32_t n)
{
	return n ? test_random(&patient->seed) % n : 0;
}

static uint8_t *lft(struct patient *patient, uint32_t d, uint32_t s)
{
	return &patient->routing.lft[(size_t)d * patient->routing.n_switches + s];
}

/* A random pair of a dest and a switch elsewhere that sends to it. */
static bool pick_pair(struct patient *patient, uint32_t *d, uint32_t *s)
{
	for (unsigned tries = 0; tries < 1000; tries++) {
		*d = pick(patient, patient->fabric.n_dests);
		*s = pick(patient, patient->fabric.n_switches);
		if (*s != patient->fabric.dest_switch[*d] && *lft(patient, *d, *s) != OSR_NO_PATH &&
		    (patient->fabric.sw_sources[*s] ||
		     patient->fabric.term_weight[patient->fabric.dest_term[*d]]))
			return true;
	}
	return false;
}

/* A random change of anything, right or wrong. */
static void change(struct patient *patient)
{
	size_t pairs = (size_t)patient->fabric.n_dests * patient->fabric.n_switches;
	uint32_t d, s, c;

	switch (pick(patient, 11)) {
	case 0:
		patient->routing.lft[pick(patient, pairs)] =
			pick(patient, 8) ? pick(patient, 8) : 255;
		break;
	case 1: /* to a neighbour: often right */
		if (!pick_pair(patient, &d, &s))
			break;
		c = patient->fabric.chan_row[s] +
		    pick(patient, patient->fabric.chan_row[s + 1] - patient->fabric.chan_row[s]);
		*lft(patient, d, s) = patient->fabric.chan_port[c];
		break;
	case 2:
		if (patient->routing.sl)
			patient->routing.sl[pick(patient, pairs)] =
				pick(patient, 8) ? pick(patient, 17) : 255;
		break;
	case 3:
		if (patient->routing.rank && patient->fabric.n_channels)
			patient->routing.rank[pick(patient, patient->routing.n_vls *
								    patient->fabric.n_channels)] +=
				patient->tight ? 2 * pick(patient, 2) - 1 : pick(patient, 31) - 15;
		break;
	case 4:
		if (!patient->routing.sl2vl || !patient->fabric.n_channels)
			break;
		if (!pick(patient, 4)) {
			patient->routing.ca_sl2vl[pick(patient, 16)] =
				pick(patient, patient->routing.n_vls + 1u);
			break;
		}
		/* What comes by this cable, and goes to a LID of this switch or to any port. */
		c = pick(patient, patient->fabric.n_channels);
		s = patient->fabric.chan_dst[c];
		d = pick(patient, patient->fabric.n_dests);
		patient->routing
			.sl2vl[patient->routing.sl2vl_row[s] +
			       patient->fabric.chan_port[patient->fabric.chan_rev[c]] *
				       (patient->fabric.sw_n_ports[s] + 1u) +
			       (patient->fabric.dest_switch[d] == s
					? patient->fabric.term_port[patient->fabric.dest_term[d]]
					: pick(patient, patient->fabric.sw_n_ports[s] + 1u))]
			      [pick(patient, 16)] =
			pick(patient, pick(patient, 2) ? 16 : patient->routing.n_vls + 1u);
		break;
	case 5:
		if (patient->routing.mcast_parent)
			patient->routing.mcast_parent[pick(patient, patient->fabric.n_switches)] =
				pick(patient, 9) ? pick(patient, patient->fabric.n_channels + 1)
						 : OSR_NONE;
		break;
	case 6:
		patient->routing.claims ^= 1u << pick(patient, 6);
		break;
	case 7: /* a cable with fewer VLs */
		if (patient->fabric.n_channels)
			((uint8_t *)patient->fabric
				 .chan_vls)[pick(patient, patient->fabric.n_channels)] =
				1 + pick(patient, 3);
		break;
	case 8:
		patient->routing.n_vls = pick(patient, patient->routing.n_vls + 1u);
		break;
	case 9:
		patient->routing.mcast_vl = pick(patient, patient->routing.n_vls + 2u);
		break;
	case 10: /* SLs of earlier, which belong to tables with SLs alone */
		if (!patient->routing.granted && (patient->routing.sl || !pick(patient, 4)))
			patient->routing.granted = osr_calloc(patient->arena, pairs + 1,
							      sizeof(*patient->routing.granted));
		if (patient->routing.granted && pairs)
			((uint16_t *)patient->routing.granted)[pick(patient, pairs)] |=
				(uint16_t)(1u << pick(patient, patient->routing.n_vls + 1u));
		break;
	}
}

/*
 * Named and random fabrics, rings with datelines, and some of more than one batch of 64 searches;
 * tables of every kind, as they are or with up to three changes. Of every other one ranks are as
 * low as can be: each line of the checker that compares them is decisive somewhere.
 */
static void draw_case(struct patient *patient, unsigned i)
{
	struct test_fabric *test = patient->test;
	size_t n_pairs;

	if (i % 50 < N_TEST_FABRICS)
		test_fabric_named(test, i % 50);
	else if (i % 50 == 49)
		test_fabric_ring(test, 3 + i / 50 % 9, 1);
	else if (i % 1000 == 997)
		test_fabric_random(test, 150, 260, i);
	else
		test_fabric_random(test, 2 + i % 9, 1 + i % 17, i);
	patient->fabric = test->fabric;
	n_pairs = (size_t)patient->fabric.n_dests * patient->fabric.n_switches;
	if (i % 50 == 49)
		table_dateline(&test->fabric, patient->arena, &patient->routing);
	else
		table_make(i % N_TABLE_KINDS, &test->fabric, patient->arena, i, &patient->routing);
	/*
	 * SLs that most tables do not tell apart; few packets that are not on VL 0: what brings
	 * them together matters.
	 */
	for (size_t k = 0; patient->routing.sl2vl && k < osr_n_sl2vl(&test->fabric) * 16; k++) {
		if (i / 100 % 2 && k % 16 > 1)
			patient->routing.sl2vl[k / 16][k % 16] =
				patient->routing.sl2vl[k / 16][k % 2];
		if (i / 200 % 2 && pick(patient, 8))
			patient->routing.sl2vl[k / 16][k % 16] = 0;
	}
	/* The same with SL 0. */
	for (size_t k = 0; patient->routing.sl && i / 200 % 2 && i % 50 != 49 && k < n_pairs; k++)
		patient->routing.sl[k] = pick(patient, 8) ? 0 : patient->routing.sl[k];
	/* An SL of earlier, which nothing else has but replies. */
	if (i % N_TABLE_KINDS == TABLE_UPDOWN_SL && i / 400 % 2 && i % 50 != 49) {
		uint16_t *granted = osr_calloc(patient->arena, n_pairs + 1, sizeof(*granted));

		for (size_t k = 0; k < n_pairs; k++) {
			patient->routing.sl[k] %= 2;
			granted[k] = pick(patient, 8) ? 0 : 1 << 2;
		}
		patient->routing.granted = granted;
	}
	/* One graph for all lanes, although there are SLs. */
	if (i % N_TABLE_KINDS == TABLE_UPDOWN_SL && i / 50 % 4 == 3)
		patient->routing.claims |= OSR_CLAIM_ANY_SL;
	patient->tight = i / 50 % 2 && patient->routing.rank;
	if (patient->tight)
		table_tighten(&test->fabric, &patient->routing);
}

/*
 * Of ranks that are as low as can be none may be one less: each dependency that the judge knows is
 * looked at.
 */
static void refuse_one_less(const struct patient *patient)
{
	struct osr_arena scratch = { 0 };
	struct osr_verdict verdict;

	for (uint32_t i = 0; i < patient->routing.n_vls * patient->fabric.n_channels; i++)
		if (patient->routing.rank[i]) {
			patient->routing.rank[i]--;
			if (!osr_check(&patient->fabric, &patient->routing, &scratch, &verdict,
				       NULL))
				fail_msg("%s: channel %u of VL %u may be one less",
					 patient->test->name, i % patient->fabric.n_channels,
					 i / patient->fabric.n_channels);
			patient->routing.rank[i]++;
		}
	osr_arena_free(&scratch);
}

static void test_agree(void **state)
{
	unsigned n_right = 0, n_wrong = 0;

	for (unsigned i = 0; i < test_number("OSR_CASES", 14000); i++) {
		unsigned n_changes = test_random(&(uint64_t){ i }) % 4;
		struct osr_arena arena = { 0 };
		struct test_fabric test;
		struct patient patient = { .test = &test, .arena = &arena, .seed = i };

		draw_case(&patient, i);
		if (patient.tight && patient.fabric.n_channels < 40 &&
		    i % (patient.routing.sl2vl ? 3 : 8) == 0)
			refuse_one_less(&patient);
		for (unsigned k = 0; test.fabric.n_dests && k < n_changes; k++)
			change(&patient);
		if (agree(&test, &patient.routing, "changed at random"))
			n_right++;
		else
			n_wrong++;
		assert_true(n_changes || n_right);
		osr_arena_free(&arena);
		test_fabric_free(&test);
	}
	print_message("%u right, %u wrong\n", n_right, n_wrong);
	assert_true(n_right > 200 && n_wrong > 200);
}

/* What the engine osmroutes had checked, and then spoilt in one of these ways. */
static enum { SPOILT_NOT, SPOILT_ENTRY, SPOILT_CLAIMS, SPOILT_N } spoilt;

static enum osr_status spoiling_route(const struct osr_job *job)
{
	enum osr_status st = osr_engine_find("osmroutes")->route(job);

	if (!st && spoilt == SPOILT_ENTRY &&
	    job->fabric->n_channels) /* a switch beside that of the LID drops its packets */
		job->routing->lft[job->fabric->chan_dst
					  [job->fabric->chan_row[job->fabric->dest_switch[0]]]] =
			OSR_NO_PATH;
	if (!st && spoilt == SPOILT_CLAIMS)
		job->routing->claims = 0;
	return st;
}

/*
 * The sweep takes over what an engine has had checked, and notices when that is not what it gets.
 */
static void test_check_stands(void **state)
{
	struct osr_engine engine = *osr_engine_find("osmroutes");
	struct osr_values values;
	unsigned n_stand = 0;

	osr_values_default(&values, engine.params);
	engine.route = spoiling_route;
	for (unsigned i = 0; i < N_TEST_FABRICS; i++)
		for (spoilt = SPOILT_NOT; spoilt < SPOILT_N; spoilt++) {
			struct osr_arena scratch = { 0 }, arena = { 0 };
			struct osr_diag diag = { "" };
			struct osr_sweep sweep = { .routed = false };
			struct osr_result result;
			struct osr_verdict verdict;
			struct test_fabric test;
			struct osr_job job = { .engine = &engine,
					       .values = &values,
					       .request = { .max_vls = 8, .multicast = true },
					       .scratch = &scratch,
					       .arena = &arena,
					       .diag = &diag };
			enum osr_status st;

			test_fabric_named(&test, i);
			result = (struct osr_result){ .fabric = test.fabric };
			st = osr_sweep(&job, &result, &sweep);
			assert_true(st == OSR_OK || spoilt != SPOILT_NOT ||
				    !test.fabric.n_channels);
			if (test.fabric.n_channels && spoilt != SPOILT_NOT)
				assert_int_equal(st, OSR_CHECK_FAILED);
			if (!st && sweep.checked.load) {
				assert_int_equal(osr_check(&test.fabric, &result.routing, &scratch,
							   &verdict, &diag),
						 OSR_OK);
				assert_same_verdict(&verdict, &sweep.verdict);
				n_stand += result.load == sweep.checked.load;
			}
			osr_arena_free(&scratch);
			osr_arena_free(&arena);
			test_fabric_free(&test);
		}
	assert_true(n_stand > N_TEST_FABRICS / 2);
}

/* --- by hand ---------------------------------------------------------------------------------- */

static struct osr_arena arena, scratch;

static void refuse(const struct osr_fabric *fabric, const struct osr_routing *routing,
		   const char *says)
{
	struct osr_diag diag = { "" };
	struct osr_verdict verdict;

	assert_int_equal(osr_check(fabric, routing, &scratch, &verdict, &diag),
			 *says ? OSR_CHECK_FAILED : OSR_OK);
	if (*says && !strstr(diag.text, says))
		fail_msg("\"%s\" does not say \"%s\"", diag.text, says);
}

static void accept(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	refuse(fabric, routing, "");
}

static uint32_t channel(const struct osr_fabric *fabric, uint32_t from, uint32_t to)
{
	for (uint32_t c = fabric->chan_row[from]; c < fabric->chan_row[from + 1]; c++)
		if (fabric->chan_dst[c] == to)
			return c;
	fail();
	return OSR_NONE;
}

/*
 * Three switches in a row, hosts at both ends: packets for the LIDs of the last one alone wait in
 * sw-1 for the cable to it. The sentence names the first of these LIDs, the VL and both cables. By
 * SL, and by SL2VL tables.
 */
static void test_sentence(void **state)
{
	for (unsigned kind = TABLE_UPDOWN_SL; kind <= TABLE_UPDOWN_SL2VL; kind++) {
		struct test_fabric test;
		struct osr_routing routing;
		struct draft draft;
		char says[80];

		draft_new(&draft);
		for (unsigned s = 0; s < 3; s++)
			draft_switch(&draft);
		draft_link(&draft, 0, 1);
		draft_link(&draft, 1, 2);
		draft_host(&draft, 0);
		draft_host(&draft, 2);
		draft_build(&draft, &test, "row of 3");
		table_make(kind, &test.fabric, &arena, 1, &routing);
		memset(routing.sl, 0, (size_t)routing.n_dests * 3);
		for (size_t i = 0; routing.sl2vl && i < osr_n_sl2vl(&test.fabric); i++)
			routing.sl2vl[i][0] = 1;
		accept(&test.fabric, &routing);
		for (unsigned vl = 0; vl < routing.n_vls; vl++)
			routing.rank[vl * test.fabric.n_channels + channel(&test.fabric, 1, 2)] = 0;
		snprintf(says, sizeof(says),
			 "LID 3: VL %u from switch sw-0 port 1 goes on as VL %u from switch sw-1 "
			 "port 2",
			 kind == TABLE_UPDOWN_SL2VL, kind == TABLE_UPDOWN_SL2VL);
		refuse(&test.fabric, &routing, says);
		test_fabric_free(&test);
	}
}

/* What does not belong to the fabric, or lacks what it needs. */
static void test_shape(void **state)
{
	struct osr_generation gen = { .routing = NULL };
	struct osr_routing routing, bad;
	struct test_fabric test;
	struct osr_loop loop;

	test_fabric_ring(&test, 5, 1);
	table_make(TABLE_UPDOWN_SL2VL, &test.fabric, &arena, 1, &routing);
	routing.claims = 0;
	accept(&test.fabric, &routing);
	bad = routing;
	bad.n_switches--;
	refuse(&test.fabric, &bad, "another fabric");
	gen.routing = &bad;
	assert_int_equal(
		osr_union_loop(&test.fabric, &gen, 1, 0, &scratch, &arena, &loop, NULL, NULL),
		OSR_INVAL);
	bad = routing;
	bad.n_channels--;
	refuse(&test.fabric, &bad, "another fabric");
	bad = routing;
	bad.sl2vl_row = NULL;
	refuse(&test.fabric, &bad, "belong to no switch");
	bad = routing;
	bad.granted = osr_calloc(&arena, (size_t)routing.n_dests * 5, sizeof(*bad.granted));
	refuse(&test.fabric, &bad, "granted");
	for (unsigned sl = 0; sl < 16; sl += 15) {
		bad = routing;
		bad.sl = NULL;
		accept(&test.fabric, &bad);
		bad.ca_sl2vl[sl] = 3;
		refuse(&test.fabric, &bad, "their SL2VL tables map");
	}
	memset(routing.sl, 255, (size_t)routing.n_dests * 5);
	refuse(&test.fabric, &routing, "SL 255");
	test_fabric_free(&test);
}

enum { RING = 4, LAST = 2 * RING };

static void set_route(const struct osr_fabric *fabric, struct osr_routing *routing, uint32_t d,
		      uint32_t s, uint32_t next)
{
	routing->lft[(size_t)d * fabric->n_switches + s] =
		fabric->chan_port[channel(fabric, s, next)];
}

/*
 * The switch numbered last enters a ring of four by four switches without hosts. On the SLs of the
 * others each LID is alone, so none of them closes the ring; what the last switch sends does, once
 * it has been followed past its first two channels.
 */
static void test_last_switch(void **state)
{
	struct osr_generation gen;
	struct test_fabric test;
	struct osr_routing routing;
	struct osr_loop loop;
	struct draft draft;

	draft_new(&draft);
	for (unsigned s = 0; s <= LAST; s++)
		draft_switch(&draft);
	for (unsigned i = 0; i < RING; i++) {
		draft_link(&draft, i, (i + 1) % RING);
		draft_link(&draft, i, RING + i);
		draft_link(&draft, RING + i, LAST);
		draft_host(&draft, i);
	}
	draft_host(&draft, LAST);
	draft_build(&draft, &test, "ring with a late sender");
	table_make(TABLE_UPDOWN_SL, &test.fabric, &arena, 1, &routing);
	for (uint32_t d = 0; d < test.fabric.n_dests; d++) {
		uint32_t to = test.fabric.dest_switch[d];
		bool ring = to < RING && test.fabric.term_weight[test.fabric.dest_term[d]];

		memset(routing.sl + (size_t)d * test.fabric.n_switches, ring ? to : 6,
		       test.fabric.n_switches);
		for (uint32_t i = 0; i < RING; i++) {
			if (i != to)
				set_route(&test.fabric, &routing, d, i, RING + i);
			if (RING + i != to)
				set_route(&test.fabric, &routing, d, RING + i,
					  i == to ? i : (uint32_t)LAST);
		}
		if (to != LAST)
			set_route(&test.fabric, &routing, d, LAST, to < RING ? RING + to : to);
		if (!ring)
			continue;
		routing.sl[(size_t)d * test.fabric.n_switches + LAST] = 5;
		set_route(&test.fabric, &routing, d, LAST, RING + (to + 2) % RING);
		for (uint32_t i = 0; i < RING; i++)
			set_route(&test.fabric, &routing, d, RING + i, i);
		set_route(&test.fabric, &routing, d, (to + 2) % RING, (to + 3) % RING);
		set_route(&test.fabric, &routing, d, (to + 3) % RING, to);
		set_route(&test.fabric, &routing, d, (to + 1) % RING, to);
	}
	gen = (struct osr_generation){ .routing = &routing };
	assert_int_equal(
		osr_union_loop(&test.fabric, &gen, 1, 0, &scratch, &arena, &loop, NULL, NULL),
		OSR_OK);
	assert_int_equal(loop.n, RING);
	for (uint32_t i = 0; i < loop.n; i++)
		assert_int_equal(loop.step[i].vl, 5);
	test_fabric_free(&test);
}

static int tear_down(void **state)
{
	osr_arena_free(&arena);
	osr_arena_free(&scratch);
	return 0;
}

TEST_PROGRAM_THEN(tear_down, test_agree, test_check_stands, test_sentence, test_shape,
		  test_last_switch)
