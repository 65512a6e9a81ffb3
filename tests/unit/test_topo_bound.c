/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The least load of any minimal routing, which bound.h derives from the fabric alone, against loads
 * that are known; whole fabrics of known shapes against it, and any SL after faults. Loads and
 * blocks after one: tests/bench/faults.py.
 */
#include "test.h"

#include <osmroutes/bound.h>

#include "tables.h"
#include "core/repair/repair.h"
#include <osmroutes/check.h>
#include <osmroutes/prng.h>
#include <osmroutes/sweep.h>

#include "fabrics.h"
#include "faults.h"
#include "sweeps.h"
#include "topos.h"

static void make_fabric(const char *what, struct osr_arena *arena, struct osr_fabric *fabric)
{
	topo_fabric(what, NULL, -1, arena, fabric);
}

static uint64_t least_load(const struct osr_fabric *fabric, uint32_t rounds)
{
	struct osr_arena scratch = { 0 };
	uint64_t bound;

	assert_int_equal(test_bound_minimal(fabric, rounds, &scratch, &bound, NULL), OSR_OK);
	osr_arena_free(&scratch);
	return bound;
}

/* With the defaults but for these options; the check refuses what is not proven. */
static void sweep_for(struct osr_request req, const char *engine, const char *options,
		      const struct osr_fabric *fabric, const struct osr_result *before,
		      struct osr_arena *arena, struct osr_result *result,
		      struct osr_verdict *verdict)
{
	struct osr_diag diag = { "" };
	struct osr_sweep sweep;

	result->fabric = *fabric;
	if (test_route(engine, options, req, before, arena, result, &sweep, &diag) || sweep.refused)
		fail_msg("%s%s", diag.text, result->routing.stable.why);
	assert_string_equal(diag.text, ""); /* what was tried before is not spoken of */
	*verdict = sweep.verdict;
}

static void sweep_by(const char *engine, const char *options, const struct osr_fabric *fabric,
		     uint8_t max_vls, const struct osr_result *before, struct osr_arena *arena,
		     struct osr_result *result, struct osr_verdict *verdict)
{
	sweep_for((struct osr_request){ .max_vls = max_vls, .multicast = true }, engine, options,
		  fabric, before, arena, result, verdict);
}

static void route_with(const struct osr_fabric *fabric, const char *any_sl, uint8_t max_vls,
		       const struct osr_result *before, struct osr_arena *arena,
		       struct osr_result *result, struct osr_verdict *verdict)
{
	char options[32];

	snprintf(options, sizeof(options), any_sl ? "any_sl=%s" : "%s", any_sl ? any_sl : "");
	sweep_by(any_sl ? "dfsssp" : "sssp", options, fabric, max_vls, before, arena, result,
		 verdict);
}

static void route_checked(const struct osr_fabric *fabric, const struct osr_result *before,
			  struct osr_arena *arena, struct osr_result *result,
			  struct osr_verdict *verdict)
{
	route_with(fabric, "auto", 8, before, arena, result, verdict);
}

/* Does an entry for d lead over this cable, in either direction? */
static bool uses_cable(const struct osr_fabric *fabric, const struct osr_routing *routing,
		       uint32_t d, uint32_t c)
{
	for (unsigned way = 0; way < 2; way++, c = fabric->chan_rev[c])
		if (osr_lft(routing, fabric->chan_src[c], d) == fabric->chan_port[c])
			return true;
	return false;
}

/*
 * Loads that are known: half the switches of an odd ring are on either side, so the routes of n
 * switches with one host share 2 n channels by (n * n - 1) / 8; a tree with as many cables up as
 * hosts; a star.
 */
static void test_known_bounds(void **state)
{
	static const struct {
		const char *what;
		uint64_t least;
	} cases[] = {
		{ "torus dims=5", 3 },           { "torus dims=11", 15 },
		{ "tree m=8,8,8 w=1,8,8", 504 }, { "tree m=18,18,6 w=1,18,6 p=1,1,3", 1926 },
		{ "tree m=6,4 w=1,2", 54 },      { "torus dims=5x5 hosts=2", 60 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct osr_arena arena = { 0 };
		struct osr_verdict verdict;
		struct osr_result result = { 0 };
		struct osr_fabric fabric;

		make_fabric(cases[i].what, &arena, &fabric);
		assert_int_equal(least_load(&fabric, 3), cases[i].least);
		route_checked(&fabric, NULL, &arena, &result, &verdict);
		assert_true(verdict.efi >= cases[i].least);
		osr_arena_free(&arena);
	}
}

/* What decides when the next full route is due. */
static void assert_drift(const struct osr_result *whole, const struct osr_result *now, uint64_t efi)
{
	struct osr_arena scratch = { 0 };
	uint64_t least, expected;

	assert_true(now->routing.stable.kept);
	assert_int_equal(osr_bound_expected(&now->fabric, whole, &scratch, &least, &expected, NULL),
			 OSR_OK);
	assert_int_equal(now->routing.stable.drift, efi * 1000 / expected);
	osr_arena_free(&scratch);
}

/*
 * Shapes whose lanes leave every route minimal and every link near the bound, with so many lanes
 * and more.
 */
static void test_shapes(void **state)
{
	static const struct {
		const char *what, *any_sl;
		unsigned vls, percent;
	} cases[] = {
		{ "dragonfly a=4 h=2 p=2", "on", 2, 105 },
		{ "dragonfly a=6 h=3 p=3", "on", 2, 105 },
		{ "slimfly q=5 p=4", "on", 2, 100 },
		{ "torus dims=5x5 hosts=2", "on", 2, 100 },
		{ "torus dims=5x5 hosts=2", "off", 3, 100 },
		{ "torus dims=4x4x4 hosts=2", "off", 1, 100 },
		{ "torus dims=6x5 hosts=2", "on", 2, 117 },
		{ "torus dims=6x5 hosts=2", "off", 3, 117 },
		{ "dragonfly a=4 h=2 p=2", "off", 3, 105 },
		{ "kautz b=3 n=3 hosts=2", "on", 2, 120 },
		{ "kautz b=3 n=3 hosts=2", "off", 2, 119 },
		{ "hyperx dims=4x4 hosts=2", "auto", 1, 100 },
		{ "mesh dims=5x4 hosts=2", "auto", 1, 109 },
		{ "tree m=6,6,4 w=1,3,3", "auto", 1, 100 },
		{ "random switches=24 links=40 hosts=2 seed=3", "off", 3, 116 },
		{ "random switches=20 links=50 hosts=2 seed=4", "on", 2, 118 },
		{ "random switches=32 links=64 hosts=4 seed=2", "on", 2, 110 },
		{ "random switches=32 links=64 hosts=4 seed=1", "off", 2, 105 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct osr_arena arena = { 0 };
		struct osr_fabric fabric;

		make_fabric(cases[i].what, &arena, &fabric);
		for (unsigned vls = cases[i].vls; vls <= 4; vls++) {
			struct osr_verdict verdict;
			struct osr_result result = { 0 };

			route_with(&fabric, cases[i].any_sl, (uint8_t)vls, NULL, &arena, &result,
				   &verdict);
			if (verdict.n_longer ||
			    verdict.efi * 100 > least_load(&fabric, 20) * cases[i].percent)
				fail_msg(
					"%s, %u lanes: %u longer, %u routes on the busiest channel",
					cases[i].what, vls, (unsigned)verdict.n_longer,
					(unsigned)verdict.efi);
		}
		osr_arena_free(&arena);
	}
}

/*
 * Pairs of a switch and an LID that Up*-Down* routing (Autonet) serves by a longer route than the
 * shortest, or not, with the best root: levels breadth first, equal ones by number; a route goes
 * up, then down.
 */
static uint32_t updown_longer(const struct osr_fabric *fabric)
{
	uint32_t n = fabric->n_switches, best = UINT32_MAX, *dist = calloc(n, sizeof(*dist));
	uint32_t *level = calloc(n, sizeof(*level)), *hops[2];

	hops[0] = calloc(n, sizeof(**hops));
	hops[1] = calloc(n, sizeof(**hops));
	for (uint32_t root = 0; root < n; root++) {
		uint32_t n_longer = 0;

		test_distances(fabric, root, level);
		for (uint32_t d = 0; d < fabric->n_dests; d++) {
			bool grows = true;

			/* hops[1]: down only; hops[0]: up first. */
			for (uint32_t s = 0; s < n; s++)
				hops[0][s] = hops[1][s] = s == fabric->dest_switch[d] ? 0 : n;
			while (grows) {
				grows = false;
				for (uint32_t c = 0; c < fabric->n_channels; c++) {
					uint32_t s = fabric->chan_src[c], u = fabric->chan_dst[c];
					bool up =
						level[u] != level[s] ? level[u] < level[s] : u < s;
					uint32_t by = 1 + (up ? hops[0][u] : hops[1][u]);

					for (unsigned k = 0; k < 2; k++)
						if (by < hops[k][s] && !(up && k)) {
							hops[k][s] = by;
							grows = true;
						}
				}
			}
			test_distances(fabric, fabric->dest_switch[d], dist);
			for (uint32_t s = 0; s < n; s++)
				n_longer += hops[0][s] > dist[s];
		}
		best = n_longer < best ? n_longer : best;
	}
	free(hops[0]);
	free(hops[1]);
	free(level);
	free(dist);
	return best;
}

/*
 * Another lane costs no longer routes, nor do SLs that the SM chooses; with two and more, the
 * busiest channel is within 10 % of the bound on average. One lane leaves fewer longer routes than
 * Up*-Down* from each fabric's best root.
 */
static void test_more_lanes(void **state)
{
	unsigned n_cases = test_number("OSR_SEEDS", 10);
	uint64_t n_one_lane = 0, n_updown = 0, least;
	double excess = 0;

	for (unsigned i = 0; i < n_cases; i++) {
		struct osr_arena arena = { 0 };
		uint64_t longer[2][5] = { { UINT64_MAX }, { UINT64_MAX } };
		struct osr_fabric fabric;
		char what[80];

		snprintf(what, sizeof(what), "random switches=%u links=%u hosts=%u seed=%u",
			 10 + i % 9, 17 + 3 * (i % 7), 1 + i % 3, i);
		make_fabric(what, &arena, &fabric);
		least = least_load(&fabric, 20);
		for (unsigned vls = 1; vls <= 4; vls++)
			for (unsigned any = 0; any < 2; any++) {
				struct osr_verdict verdict;
				struct osr_result result = { 0 };

				route_with(&fabric, any ? "on" : "off", (uint8_t)vls, NULL, &arena,
					   &result, &verdict);
				longer[any][vls] = verdict.n_longer;
				if (verdict.n_longer > longer[any][vls - 1] ||
				    verdict.n_longer < longer[0][vls])
					fail_msg("%s, %s SL, %u lanes: %u longer routes", what,
						 any ? "any" : "by", vls,
						 (unsigned)verdict.n_longer);
				if (vls > 1)
					excess += (double)verdict.efi / (double)least - 1;
			}
		n_one_lane += longer[1][1];
		n_updown += updown_longer(&fabric);
		osr_arena_free(&arena);
	}
	assert_in_range(n_one_lane, 0, n_updown * 8 / 10);
	assert_true(excess < 0.10 * 6 * n_cases);
}

/*
 * Where an order fitted to the shortest paths bars many of them, one is searched: better than
 * Up*-Down*, in the mean.
 */
static void test_one_lane(void **state)
{
	static const struct {
		const char *what;
		unsigned n_seeds, percent_longer; /* of Up*-Down* */
		unsigned percent;                 /* of the least load of minimal routes */
	} cases[] = {
		{ "random switches=32 links=64 hosts=4 seed=%u", 8, 55, 120 },
		{ "random switches=24 links=72 hosts=2 seed=%u", 8, 60, 130 },
		{ "dragonfly a=4 h=2 p=2", 1, 92, 190 },
		{ "kautz b=3 n=3 hosts=2", 1, 42, 147 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double longer = 0, load = 0;

		for (unsigned seed = 1; seed <= cases[i].n_seeds; seed++) {
			struct osr_arena arena = { 0 };
			struct osr_verdict verdict;
			struct osr_result result = { 0 };
			struct osr_fabric fabric;
			char what[64];

			snprintf(what, sizeof(what), cases[i].what, seed);
			make_fabric(what, &arena, &fabric);
			route_with(&fabric, "on", 1, NULL, &arena, &result, &verdict);
			longer += 100.0 * (double)verdict.n_longer / (double)updown_longer(&fabric);
			load += 100.0 * (double)verdict.efi / (double)least_load(&fabric, 20);
			osr_arena_free(&arena);
		}
		assert_true(longer <= cases[i].percent_longer * cases[i].n_seeds);
		assert_true(load <= cases[i].percent * cases[i].n_seeds);
	}
}

/*
 * Management CAs on all switches of trees, cables away: their routes go down and up again. Any SL
 * on two lanes costs no longer route and, on the busiest link, at most 7 % more than lanes by SL
 * do.
 */
static void test_management(void **state)
{
	const struct osr_topo_style style = { .mgmt = true };
	static const char *const trees[] = { "tree m=6,4,4 w=1,4,4 p=1,2,1", "tree m=6,3,3 w=1,3,3",
					     "tree m=4,4,4 w=1,4,2" };

	for (unsigned i = 0; i < 9; i++) {
		struct osr_prng prng = { 100 + i };
		struct osr_result any = { 0 }, by_sl = { 0 };
		struct osr_verdict verdict, other;
		struct osr_arena arena = { 0 };
		struct osr_fabric fabric, now;
		struct faults faults;

		topo_fabric(trees[i / 3], &style, -1, &arena, &fabric);
		faults_new(&faults, &fabric);
		for (unsigned k = 0; k < i % 3 * 2; k++)
			faults_cable(&faults, osr_prng_below(&prng, fabric.n_channels), true);
		faults_build(&faults, &arena, &now);
		route_with(&now, "auto", 2, NULL, &arena, &any, &verdict);
		route_with(&now, "off", 2, NULL, &arena, &by_sl, &other);
		assert_null(any.routing.sl);
		assert_true(verdict.n_longer * 70 <= verdict.n_routes);
		if (i % 3 == 0)
			assert_int_equal(verdict.n_longer, 0);
		assert_in_range(100 * verdict.efi, 0, 108 * other.efi);
		faults_free(&faults);
		osr_arena_free(&arena);
	}
}

/*
 * Cable after cable of a torus dies, by any_sl = auto: any SL lasts, repairs cost at most 5 %
 * longer routes more than the last full route, which is asked for then, and never again before the
 * next cable.
 */
static void test_any_sl_lasts(void **state)
{
	unsigned n_asked = 0;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct osr_prng prng = { seed };
		struct osr_result result[17] = { 0 }, again = { 0 }, *last = NULL;
		struct osr_arena arena = { 0 };
		struct osr_verdict verdict, same;
		uint64_t n_full = 0;
		struct osr_fabric fabric, now;
		struct faults faults;

		make_fabric("torus dims=5x5 hosts=2", &arena, &fabric);
		faults_new(&faults, &fabric);
		for (unsigned i = 0; i < 17; last = &result[i++]) {
			if (last)
				faults_cable(&faults, osr_prng_below(&prng, fabric.n_channels),
					     true);
			faults_build(&faults, &arena, &now);
			route_with(&now, "auto any_sl_cost=5", 4, last, &arena, &result[i],
				   &verdict);
			assert_true(verdict.proven & OSR_CLAIM_ANY_SL);
			n_full = result[i].routing.stable.kept ? n_full : verdict.n_longer;
			assert_in_range(100 * verdict.n_longer, 0,
					100 * n_full + 5 * verdict.n_routes);
			n_asked += strstr(result[i].routing.stable.why, "any_sl_cost") != NULL;
			route_with(&now, "auto any_sl_cost=5", 4, &result[i], &arena, &again,
				   &same);
			assert_true(again.routing.stable.kept);
			assert_int_equal(same.n_longer, verdict.n_longer);
		}
		faults_free(&faults);
		osr_arena_free(&arena);
	}
	assert_true(n_asked >= 3);
}

/*
 * With default options of the default engine, and of dfsssp: where any SL was safe on the whole
 * fabric, on one lane or by turn, it is after each of 16 dead switches and cables, too, by repairs
 * and by full routes, to which "rebalance" sends every other sweep.
 */
static void test_any_sl_of_engines(void **state)
{
	static const char *const engines[] = { "osmroutes", "dfsssp" };
	static const char *const fabrics[] = { "mesh dims=4x4x2 hosts=2", "tree m=4,4,4 w=1,4,4",
					       "dragonfly a=4 h=2 p=2", "kautz b=2 n=3 hosts=2" };
	unsigned n_full = 0;

	for (unsigned i = 0; i < 8; i++) {
		struct osr_prng prng = { 2 };
		struct osr_result result[17] = { 0 };
		struct osr_arena arena = { 0 };
		struct osr_verdict verdict;
		struct osr_fabric fabric, now;
		struct faults faults;

		make_fabric(fabrics[i / 2], &arena, &fabric);
		faults_new(&faults, &fabric);
		for (unsigned k = 0; k < 17; k++) {
			uint32_t c = osr_prng_below(&prng, fabric.n_channels);

			if (k % 4 == 3)
				faults.sw[fabric.chan_src[c]] = true;
			else if (k)
				faults_cable(&faults, c, true);
			faults_build(&faults, &arena, &now);
			sweep_by(engines[i % 2], k % 2 ? "" : "rebalance=105", &now, 4,
				 k ? &result[k - 1] : NULL, &arena, &result[k], &verdict);
			assert_true(verdict.proven & OSR_CLAIM_ANY_SL);
			n_full += k && !result[k].routing.stable.kept;
		}
		faults_free(&faults);
		osr_arena_free(&arena);
	}
	assert_true(n_full >= 8);
}

/*
 * A whole HyperX is on one lane, in the order of dimensions, which leaves a dead cable of the first
 * one a single way round: idle lanes open others. Any SL stays safe, and when the cable is back the
 * entries are the old ones.
 */
static void test_idle_lanes(void **state)
{
	unsigned n_used = 0;

	for (uint32_t c = 0; c < 45; c++) {
		struct osr_result whole = { 0 }, result = { 0 }, full = { 0 }, back = { 0 };
		struct osr_verdict verdict, other;
		struct osr_arena arena = { 0 };
		struct osr_fabric fabric, now;
		struct faults faults;

		make_fabric("hyperx dims=3x5 hosts=5", &arena, &fabric);
		faults_new(&faults, &fabric);
		faults_cable(&faults, 2 * c, true);
		faults_build(&faults, &arena, &now);
		route_with(&fabric, "auto", 4, NULL, &arena, &whole, &verdict);
		assert_int_equal(whole.routing.n_vls, 1);
		route_with(&now, "auto", 4, NULL, &arena, &full, &other);
		route_with(&now, "auto", 4, &whole, &arena, &result, &verdict);
		assert_drift(&whole, &result, verdict.efi);
		assert_true(verdict.proven & OSR_CLAIM_ANY_SL);
		assert_in_range(verdict.efi * 5, 0, other.efi * 6);
		n_used += result.routing.n_vls > 1;
		route_with(&fabric, "auto", 4, &result, &arena, &back, &verdict);
		assert_memory_equal(back.routing.lft, whole.routing.lft,
				    (size_t)fabric.n_dests * fabric.n_switches);
		faults_free(&faults);
		osr_arena_free(&arena);
	}
	assert_true(n_used >= 10);
}

/*
 * A whole fat tree keeps its tables after each dead cable, and its lane: with the closed form of
 * D-Mod-K, too, whose order leaves no route down and up again. Entries change only in the rows of
 * LIDs whose routes passed the cable.
 */
static void test_trees_keep(void **state)
{
	static const char *const trees[] = { "tree m=4,4,4 w=1,4,4", "tree m=3,3,6 w=1,3,3",
					     "tree m=6,4 w=1,4" };
	/* With multicast, which has a spanning tree, and without. */
	static const char *const engines[] = { "osmroutes", "dfsssp", "osmroutes" };
	unsigned n_closed = 0;

	for (unsigned i = 0; i < 9; i++) {
		const struct osr_request req = { .max_vls = 8, .multicast = i % 3 < 2 };
		struct osr_arena arena = { 0 };
		struct osr_result whole = { 0 };
		struct osr_verdict verdict;
		struct osr_fabric fabric;

		make_fabric(trees[i / 3], &arena, &fabric);
		sweep_for(req, engines[i % 3], "", &fabric, NULL, &arena, &whole, &verdict);
		n_closed += whole.routing.chosen && !strcmp(whole.routing.chosen, "dmodk");
		for (uint32_t c = 0; c < fabric.n_channels; c++) {
			struct osr_arena mine = { 0 };
			struct osr_result result = { 0 };
			struct osr_fabric now;
			struct faults faults;
			uint64_t n_entries, n_passed = 0;

			if (c > fabric.chan_rev[c])
				continue;
			faults_new(&faults, &fabric);
			faults_cable(&faults, c, true);
			faults_build(&faults, &mine, &now);
			sweep_for(req, engines[i % 3], "", &now, &whole, &mine, &result, &verdict);
			assert_true(result.routing.stable.kept && verdict.n_vls == 1);
			for (uint32_t d = 0; d < fabric.n_dests; d++)
				n_passed += uses_cable(&fabric, &whole.routing, d, c);
			assert_in_range(
				osr_routing_changed(&whole, &now, &result.routing, &n_entries), 1,
				n_passed * fabric.n_switches);
			faults_free(&faults);
			osr_arena_free(&mine);
		}
		osr_arena_free(&arena);
	}
	assert_true(n_closed >= 2);
}

/*
 * Two LIDs a host: a cable dies; another one dies in the sweep in which it is back. No repair, and
 * no planes that stay after a full route, are refused.
 */
static void test_lids_swap(void **state)
{
	static const struct {
		const char *engine, *tree;
	} lives[] = { { "dmodk", "tree m=2,4 w=1,3" },
		      { "dmodk", "tree m=3,3,4 w=1,3,3" },
		      { "dfsssp", "tree m=3,3,3 w=1,3,1 p=1,1,3" },
		      { "dfsssp", "tree m=2,2,3 w=1,2,1 p=1,1,2" },
		      { "osmroutes", "tree m=2,3,2 w=1,3,1 p=1,1,2" } };

	for (unsigned i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		struct osr_arena arena = { 0 };
		struct osr_result whole = { 0 };
		struct osr_verdict verdict;
		struct osr_prng prng = { i };
		struct osr_fabric fabric;

		topo_fabric(lives[i].tree, NULL, 1, &arena, &fabric);
		sweep_by(lives[i].engine, "", &fabric, 8, NULL, &arena, &whole, &verdict);
		for (uint32_t c = 0; c < fabric.n_channels; c++) {
			uint32_t other = osr_prng_below(&prng, fabric.n_channels);
			struct osr_result without = { 0 }, swapped = { 0 };
			struct osr_arena mine = { 0 };
			struct osr_fabric now;
			struct faults faults;

			if (c > fabric.chan_rev[c] || other == c || other == fabric.chan_rev[c])
				continue;
			faults_new(&faults, &fabric);
			faults_cable(&faults, c, true);
			faults_build(&faults, &mine, &now);
			sweep_by(lives[i].engine, "", &now, 8, &whole, &mine, &without, &verdict);
			faults_cable(&faults, c, false);
			faults_cable(&faults, other, true);
			faults_build(&faults, &mine, &now);
			sweep_by(lives[i].engine, "", &now, 8, &without, &mine, &swapped, &verdict);
			faults_free(&faults);
			osr_arena_free(&mine);
		}
		osr_arena_free(&arena);
	}
}

/*
 * Of a grid that angara remembers whole half is left: a smaller one, which it routes as if it had
 * been all.
 */
static void test_half_a_grid(void **state)
{
	static const char *const grids[] = { "mesh dims=8", "mesh dims=8x3 hosts=2" };

	for (unsigned i = 0; i < 2; i++) {
		struct osr_result whole = { 0 }, half = { 0 }, anew = { 0 };
		struct osr_verdict verdict, alone;
		struct osr_arena arena = { 0 };
		struct osr_fabric fabric, now;
		struct faults faults;

		make_fabric(grids[i], &arena, &fabric);
		sweep_by("angara", "", &fabric, 4, NULL, &arena, &whole, &verdict);
		faults_new(&faults, &fabric);
		for (uint32_t s = 0; s < fabric.n_switches; s++)
			faults.sw[s] = s % 8 >= 4;
		faults_build(&faults, &arena, &now);
		sweep_by("angara", "", &now, 4, NULL, &arena, &anew, &alone);
		sweep_by("angara", "", &now, 4, &whole, &arena, &half, &verdict);
		assert_int_equal(verdict.proven, alone.proven);
		assert_int_equal(verdict.efi, alone.efi);
		faults_free(&faults);
		osr_arena_free(&arena);
	}
}

TEST_PROGRAM(test_more_lanes, test_one_lane, test_known_bounds, test_shapes, test_any_sl_lasts,
	     test_management, test_idle_lanes, test_trees_keep, test_lids_swap,
	     test_any_sl_of_engines, test_half_a_grid)
