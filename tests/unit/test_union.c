/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Credit loops of one generation and of two must be those of the judge of tables.h that lets every
 * packet take every turn, and every turn that the judge knows must rise in the certificate.
 */
#include "test.h"

#include "core/verify/union.h"

#include "fabrics.h"
#include "tables.h"

/* ---- material ------------------------------------------------------------------------------- */

static void random_sls(const struct osr_fabric *fabric, struct osr_routing *routing,
		       struct osr_arena *arena, unsigned n_sls, uint64_t *seed)
{
	size_t n = (size_t)fabric->n_dests * fabric->n_switches;
	uint16_t *granted;

	routing->sl = osr_alloc(arena, n, 1);
	for (size_t i = 0; i < n; i++)
		routing->sl[i] = (uint8_t)(test_random(seed) % n_sls);
	routing->n_vls = OSR_MAX_VLS;
	if (test_random(seed) % 2)
		return;
	granted = osr_calloc(arena, n, sizeof(*granted));
	for (size_t i = 0; i < n; i += 1 + test_random(seed) % 8)
		granted[i] = (uint16_t)(1u << test_random(seed) % 3);
	routing->granted = granted;
}

static struct osr_paths random_paths(const struct osr_fabric *fabric, struct osr_arena *arena,
				     unsigned n_sls, uint64_t *seed)
{
	uint32_t n_rows = fabric->n_terminals / 2 + 1;
	uint32_t *row = osr_alloc(arena, fabric->n_terminals, sizeof(*row));
	uint8_t *sl = osr_alloc(arena, (size_t)n_rows * fabric->n_dests, 1);

	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		row[t] = test_random(seed) % 8 ? (uint32_t)(test_random(seed) % n_rows) : OSR_NONE;
	for (uint32_t i = 0; i < n_rows * fabric->n_dests; i++)
		sl[i] = test_random(seed) % 8 ? (uint8_t)(test_random(seed) % n_sls) : OSR_NO_SL;
	return (struct osr_paths){ n_rows, row, sl };
}

/* Some entries go elsewhere: ports of all kinds, no path, loops. */
static void spoil(const struct osr_fabric *fabric, struct osr_routing *routing, unsigned n,
		  uint64_t *seed)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t s = (uint32_t)(test_random(seed) % fabric->n_switches);
		uint32_t d = (uint32_t)(test_random(seed) % fabric->n_dests);
		unsigned port = (unsigned)(test_random(seed) % (fabric->sw_n_ports[s] + 2u));

		routing->lft[(size_t)d * fabric->n_switches + s] =
			port > fabric->sw_n_ports[s] ? OSR_NO_PATH : (uint8_t)port;
	}
}

/* A step of a loop must be a turn that the judge knows. */
static void check_steps(const struct table_waits *waits, const struct osr_loop *loop)
{
	for (uint32_t i = 0; i < loop->n; i++) {
		const struct osr_loop_step *a = &loop->step[i], *b = &loop->step[(i + 1) % loop->n];

		assert_true(table_waits_for(waits, a->channel, a->vl, b->channel, b->vl));
		assert_true(a->lid || (waits->modes & OSR_CLAIM_MULTICAST));
	}
}

static bool same_as_judge(const struct osr_fabric *fabric, const struct osr_generation *gen,
			  uint32_t n, uint32_t modes)
{
	struct osr_arena scratch = { 0 }, result = { 0 }, judge = { 0 };
	struct table_waits waits = { .fabric = fabric, .gen = gen, .n = n, .modes = modes };
	struct osr_diag diag = { "" };
	struct osr_loop loop;
	uint32_t *rank =
		osr_calloc(&result, (size_t)OSR_MAX_VLS * fabric->n_channels, sizeof(*rank));
	bool expected;

	table_wait(&waits, &judge);
	expected = !table_waits_end(&waits);
	assert_int_equal(
		osr_union_loop(fabric, gen, n, modes, &scratch, &result, &loop, rank, &diag), 0);
	assert_int_equal(loop.n > 0, expected);
	assert_int_equal(scratch.in_use, 0);
	check_steps(&waits, &loop);
	/* Every turn that the judge knows must rise in the certificate. */
	assert_true(expected || table_waits_rise(&waits, rank));
	osr_loop_say(fabric, &loop, &diag);
	assert_string_not_equal(diag.text, "");
	osr_arena_free(&scratch);
	osr_arena_free(&result);
	osr_arena_free(&judge);
	return expected;
}

static const uint32_t all_modes[] = { 0, OSR_CLAIM_REVERSIBLE, OSR_CLAIM_ANY_SL,
				      OSR_CLAIM_MULTICAST };

/* ---- any number of them against the judge --------------------------------------------------- */

static void small_fabric(struct test_fabric *test, uint64_t seed)
{
	if (seed % 3 == 0)
		test_fabric_ring(test, 3 + (uint32_t)(seed / 3 % 4), 1);
	else
		test_fabric_random(test, 5 + (uint32_t)(seed % 3), 8 + (uint32_t)(seed % 4), seed);
}

/* Two generations on a small fabric, and what they are asked so far over all of them. */
struct two {
	struct osr_arena arena;
	struct osr_routing routing[2];
	struct osr_generation gen[2];
	struct test_fabric test;
	uint64_t seed;
};

static struct two *two_begin(struct two *two, uint64_t i)
{
	*two = (struct two){ .gen = { { .routing = &two->routing[0] },
				      { .routing = &two->routing[1] } },
			     .seed = i };
	small_fabric(&two->test, i);
	return two;
}

static void two_end(struct two *two)
{
	osr_arena_free(&two->arena);
	test_fabric_free(&two->test);
}

static bool two_loop(struct two *two, uint32_t n, uint32_t modes, uint32_t counts[2])
{
	bool loop = same_as_judge(&two->test.fabric, two->gen, n, modes);

	counts[loop]++;
	return loop;
}

static void random_generation(const struct osr_fabric *fabric, struct osr_arena *arena,
			      uint64_t *seed, struct osr_routing *routing, struct osr_paths *paths,
			      struct osr_generation *gen)
{
	static const enum table_kind kinds[] = { TABLE_SHORTEST, TABLE_UPDOWN, TABLE_UPDOWN_SL,
						 TABLE_UPDOWN_SL2VL };
	uint64_t kind = test_random(seed) % 6;

	table_make(kinds[test_random(seed) % 4], fabric, arena, test_random(seed), routing);
	if (test_random(seed) % 3 == 0)
		spoil(fabric, routing, 3, seed);
	if (!routing->sl && test_random(seed) % 2)
		random_sls(fabric, routing, arena, 4, seed);
	/* What was asked by an entry that has gone is answered all the same. */
	for (size_t at = 0; kind == 0 && at < (size_t)fabric->n_dests * fabric->n_switches; at++)
		if (test_random(seed) % 4)
			routing->lft[at] = OSR_NO_PATH;
	/* Rows that nobody has programmed: of what a switch does with them no loop is made. */
	for (unsigned k = 0; routing->sl2vl && kind < 3 && k < 3; k++) {
		uint32_t c = (uint32_t)(test_random(seed) % fabric->n_channels),
			 s = fabric->chan_dst[c];
		size_t n = fabric->sw_n_ports[s] + (size_t)1;

		memset(routing->sl2vl[routing->sl2vl_row[s] +
				      fabric->chan_port[fabric->chan_rev[c]] * n],
		       OSR_VL_UNSET, n * sizeof(*routing->sl2vl));
	}
	*gen = (struct osr_generation){ .routing = routing };
	if (test_random(seed) % 2) {
		*paths = random_paths(fabric, arena, 3, seed);
		gen->paths = paths;
	}
}

/* Groups of random ports, or a spanning order of random links, on one of two lanes. */
static void random_mcast(const struct osr_fabric *fabric, struct osr_arena *arena, uint64_t *seed,
			 struct osr_routing *routing, struct osr_groups *groups,
			 struct osr_generation *gen)
{
	static const uint16_t mlids[2][2] = { { 0xc000, 0xc005 }, { 0xc005, 0xc009 } };
	uint64_t(*ports)[4] = osr_calloc(arena, 2 * fabric->n_switches, sizeof(*ports));
	uint32_t *parent = osr_alloc(arena, fabric->n_switches, sizeof(*parent));

	for (uint32_t i = 0; i < 2 * fabric->n_channels; i++)
		if (test_random(seed) % 5 < 2) {
			uint32_t c = i / 2;

			ports[i % 2 * fabric->n_switches + fabric->chan_src[c]][0] |=
				1ull << fabric->chan_port[c];
		}
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		parent[s] = test_random(seed) % 3
				    ? fabric->chan_row[s] + (uint32_t)(test_random(seed) %
								       (fabric->chan_row[s + 1] -
									fabric->chan_row[s]))
				    : OSR_NONE;
	*groups = (struct osr_groups){ 2, mlids[test_random(seed) % 2], (const uint64_t(*)[4])ports,
				       (uint8_t)(test_random(seed) % 2) };
	routing->mcast_parent = parent;
	routing->mcast_vl = (uint8_t)(test_random(seed) % 2);
	if (test_random(seed) % 2)
		gen->groups = groups;
}

/*
 * Unicast that seldom loops, so that multicast decides: shortest routes of a tree of the fabric's.
 */
static void test_mcast_against_judge(void **state)
{
	uint32_t n[2] = { 0 };
	struct two two;

	for (uint64_t i = 0; i < 400; i++) {
		struct osr_groups groups[2];
		uint64_t *seed = &two_begin(&two, i)->seed, kind = test_random(seed) % 3;

		for (uint32_t g = 0; g < 2; g++) {
			table_make(kind ? TABLE_UPDOWN_SL2VL : TABLE_UPDOWN, &two.test.fabric,
				   &two.arena, i, &two.routing[g]);
			if (kind < 2 && test_random(seed) % 4)
				random_sls(&two.test.fabric, &two.routing[g], &two.arena, 2, seed);
			random_mcast(&two.test.fabric, &two.arena, seed, &two.routing[g],
				     &groups[g], &two.gen[g]);
		}
		two_loop(&two, 1, OSR_CLAIM_MULTICAST, n);
		two_loop(&two, 2, OSR_CLAIM_MULTICAST, n);
		two_end(&two);
	}
	assert_true(n[true] > 50 && n[false] > 50);
}

static void test_against_judge(void **state)
{
	uint32_t n[2] = { 0 };
	struct two two;

	for (uint64_t i = 0; i < 500; i++) {
		struct osr_paths paths[2];

		two_begin(&two, i);
		for (uint32_t g = 0; g < 2; g++)
			random_generation(&two.test.fabric, &two.arena, &two.seed, &two.routing[g],
					  &paths[g], &two.gen[g]);
		for (unsigned m = 0; m < 3; m++) {
			two_loop(&two, 1, all_modes[m], n);
			two_loop(&two, 2, all_modes[m], n);
		}
		two_end(&two);
	}
	print_message("%u loops, %u without\n", n[true], n[false]);
	/* The seeds must give both kinds, or the test says little. */
	assert_true(n[true] > 100 && n[false] > 100);
}

/*
 * Ring of 5, all clockwise but for what would cross one cable: free of loops. Cut elsewhere: free
 * as well. While some switches have the one and some the other, nothing is cut.
 */
static void cut_ring(const struct osr_fabric *fabric, uint32_t cut, struct osr_arena *arena,
		     struct osr_routing *routing)
{
	osr_routing_init(routing, fabric, arena, NULL);
	routing->n_vls = 1;
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			uint32_t to = fabric->dest_switch[d], n = fabric->n_switches,
				 next = (s + 1) % n;
			bool crosses = (cut - s + n) % n < (to - s + n) % n;

			if (crosses)
				next = (s + n - 1) % n;
			for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++)
				if (fabric->chan_dst[c] == next)
					routing->lft[(size_t)d * n + s] = fabric->chan_port[c];
			if (s == to)
				routing->lft[(size_t)d * n + s] =
					fabric->term_port[fabric->dest_term[d]];
		}
}

/*
 * Each of two routings of a ring is free of loops, their mixture is not: one switch sends a packet
 * on, the next one back. And so many LIDs that a loop is looked for before all have been followed.
 * It is there from the first LID on, closed only by the last ones, or not there.
 */
static void test_many_lids(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_routing routing[2];
	struct osr_generation gen[2] = { { .routing = &routing[0] }, { .routing = &routing[1] } };
	struct test_fabric test;
	struct osr_loop loop;
	size_t last = 10;

	test_fabric_ring(&test, 32, 5);
	cut_ring(&test.fabric, 4, &arena, &routing[0]);
	cut_ring(&test.fabric, 2, &arena, &routing[1]);
	last *= test.fabric.n_switches;
	assert_true(test.fabric.n_dests > 180);
	assert_int_equal(osr_union_loop(&test.fabric, gen, 2, 0, &arena, &arena, &loop, NULL, NULL),
			 OSR_INVAL);
	assert_true(same_as_judge(&test.fabric, gen, 2, 0));
	assert_false(same_as_judge(&test.fabric, &gen[0], 1, 0));
	assert_false(same_as_judge(&test.fabric, &gen[1], 1, 0));
	memcpy(routing[0].lft + test.fabric.n_dests * test.fabric.n_switches - last,
	       routing[1].lft + test.fabric.n_dests * test.fabric.n_switches - last, last);
	assert_true(same_as_judge(&test.fabric, &gen[0], 1, 0));
	osr_arena_free(&arena);
	test_fabric_free(&test);
}

TEST_PROGRAM(test_against_judge, test_many_lids, test_mcast_against_judge)
