/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The engine angara with paths = graph: routes in the paper's routing graph. The check of its rules
 * (section 2.1 of the paper) is here once more, forwards and from the definition: the engine's
 * search goes backwards. Loads are compared with the paper's own SSSP, whose routes need not be
 * trees (tests/lab/experiments/srcroutes.h).
 */
#include "test.h"

#include <osmroutes/grid.h>

#include "../lab/experiments/srcroutes.h"
#include "sweeps.h"
#include "tori.h"

#define MAX_ROUTE 256

struct run {
	struct test_fabric test;
	struct osr_arena arena, scratch;
	struct osr_result now;
	struct osr_sweep sweep;
	struct osr_grid grid;
	unsigned n_first, n_last; /* routes that these steps made legal */
};

/* ---- the rules ------------------------------------------------------------------------------- */

/* The switch in this direction, or OSR_NONE; parallel cables lead to one. */
static uint32_t neighbour(const struct run *run, uint32_t v, uint32_t dir)
{
	const struct osr_fabric *fabric = &run->test.fabric;
	uint32_t found = OSR_NONE;

	for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
		if (run->grid.dir[c] != dir)
			continue;
		assert_true(found == OSR_NONE || found == fabric->chan_dst[c]);
		found = fabric->chan_dst[c];
	}
	return found;
}

/* Do the directions of the channels make a grid: there and back, and two ways around squares? */
static void check_directions(const struct run *run)
{
	const struct osr_fabric *fabric = &run->test.fabric;
	uint32_t n = run->grid.n_dims;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t dir = run->grid.dir[c], v = fabric->chan_src[c], u = fabric->chan_dst[c];

		assert_true(dir < 2 * n);
		assert_int_equal((dir + n) % (2 * n), run->grid.dir[fabric->chan_rev[c]]);
		for (uint32_t to = 0; to < 2 * n; to++) {
			uint32_t w = neighbour(run, v, to),
				 a = w == OSR_NONE ? w : neighbour(run, w, dir),
				 b = neighbour(run, u, to);

			if (to % n != dir % n && a != OSR_NONE && b != OSR_NONE)
				assert_int_equal(a, b);
		}
	}
}

/* In order, and of each dimension one direction. */
static bool in_order(const struct run *run, const uint32_t *dir, uint32_t n)
{
	bool used[2 * OSR_MAX_DIMS] = { false };

	for (uint32_t i = 0; i < n; i++) {
		if (i && dir[i] < dir[i - 1])
			return false;
		used[dir[i]] = true;
	}
	for (uint32_t i = 0; i < run->grid.n_dims; i++)
		if (used[i] && used[i + run->grid.n_dims])
			return false;
	return true;
}

/* Is there a first step, a body and a last step that this route is made of? */
static bool is_legal(struct run *run, const uint32_t *dir, uint32_t n)
{
	uint32_t positive = run->grid.n_dims;
	bool first = n > 1 && dir[0]<positive, last = n> 1 && dir[n - 1] >= positive;

	if (in_order(run, dir, n))
		return true;
	if (last && in_order(run, dir, n - 1)) {
		run->n_last++;
		return true;
	}
	if (!first ||
	    (!in_order(run, dir + 1, n - 1) && !(last && n > 2 && in_order(run, dir + 1, n - 2))))
		return false;
	run->n_first++;
	return true;
}

static void check_rules(struct run *run)
{
	const struct osr_fabric *fabric = &run->test.fabric;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t v = 0; v < fabric->n_switches; v++) {
			uint32_t dir[MAX_ROUTE], n = 0;

			for (uint32_t u = v; u != fabric->dest_switch[d];) {
				uint32_t c = osr_port_channel(fabric, u,
							      osr_lft(&run->now.routing, u, d));

				assert_true(c != OSR_NONE && n < MAX_ROUTE);
				dir[n++] = run->grid.dir[c];
				u = fabric->chan_dst[c];
			}
			if (!is_legal(run, dir, n))
				fail_msg("%s: the route from switch %u to LID %u breaks the rules",
					 run->test.name, v, fabric->dest_lid[d]);
		}
}

/* ---- one grid -------------------------------------------------------------------------------- */

static enum osr_status route_after(struct run *run, const struct osr_result *before,
				   const char *options, struct osr_diag *diag)
{
	struct osr_request req = { .max_vls = 8, .multicast = true };

	run->now = (struct osr_result){ .fabric = run->test.fabric };
	return test_route("angara", options, req, before, &run->arena, &run->now, &run->sweep,
			  diag);
}

static enum osr_status route(struct run *run, const char *options, struct osr_diag *diag)
{
	return route_after(run, NULL, options, diag);
}

/* Load by paths = graph; 0: the graph does not lead everywhere, and the engine said so. */
static uint64_t graph_load(struct test_torus *torus, struct run *run)
{
	uint32_t wanted = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_MULTICAST;
	struct osr_diag diag = { "" };
	enum osr_status st;

	*run = (struct run){ .n_first = 0 };
	test_torus_draw(torus, &run->test);
	st = route(run, "paths=graph", &diag);
	if (st == OSR_NOT_APPLICABLE) {
		printf("%s: %s\n", run->test.name, diag.text);
		return 0;
	}
	if (st)
		fail_msg("%s: %s", run->test.name, diag.text);
	assert_int_equal(run->sweep.verdict.proven & wanted, wanted);
	assert_int_equal(run->sweep.verdict.n_no_path, 0);
	assert_int_equal(run->sweep.verdict.n_longer, run->now.routing.n_longer);
	assert_int_equal(osr_grid_find(&run->test.fabric, &run->scratch, &run->grid, &diag),
			 OSR_OK);
	check_directions(run);
	check_rules(run);
	return run->sweep.verdict.efi;
}

static void stop(struct run *run)
{
	osr_arena_free(&run->arena);
	osr_arena_free(&run->scratch);
	test_fabric_free(&run->test);
}

/* Load of what the engine takes by default. */
static uint64_t any_load(struct run *run)
{
	struct osr_diag diag = { "" };

	if (route(run, "", &diag))
		fail_msg("%s: %s", run->test.name, diag.text);
	return run->sweep.verdict.efi;
}

/*
 * Of the paper's SSSP on the whole torus of these sizes, with these hosts at the places in the
 * order of srcroutes.h.
 */
static uint64_t paper_load(uint32_t n_dims, const uint32_t *size, const uint32_t *hosts)
{
	struct srcroutes paper;
	struct srcroute *routes;
	uint64_t load;

	assert_true(srcroutes_init(&paper, n_dims, size));
	routes = calloc(paper.n_pairs, sizeof(*routes));
	paper.hosts = hosts;
	srcroutes_route(&paper, SRCROUTES_SSSP, routes);
	load = paper.max_load;
	srcroutes_free(&paper);
	free(routes);
	return load;
}

/*
 * Which place is the first, and which directions are positive, the paper knows and the engine
 * cannot; with uneven hosts it matters. So both have the engine's coordinates.
 */
static uint64_t paper_load_there(const struct run *run)
{
	const struct osr_fabric *fabric = &run->test.fabric;
	uint32_t *hosts = calloc(fabric->n_switches, sizeof(*hosts));
	uint64_t load;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t place = 0;

		for (uint32_t i = 0; i < run->grid.n_dims; i++)
			place = place * run->grid.size[i] +
				run->grid.at[(size_t)v * run->grid.n_dims + i];
		hosts[place] = fabric->sw_sources[v];
	}
	load = paper_load(run->grid.n_dims, run->grid.size, hosts);
	free(hosts);
	return load;
}

/* ---- what the engine promises ---------------------------------------------------------------- */

struct tally {
	unsigned n, n_near; /* within 5 % of the paper's */
	unsigned n_routed;
	double by_paper, by_any;
};

static void compare(struct test_torus *torus, struct tally *tally, double most_by_paper)
{
	struct run run;
	uint64_t load = graph_load(torus, &run), any = any_load(&run),
		 paper = torus->some_hosts ? paper_load_there(&run)
					   : paper_load(torus->n_dims, torus->size, NULL);
	double by_paper = (double)load / (double)paper;

	/* Every place has a route here: the grid is whole. */
	assert_true(load);
	/* Replies on the SL of their request are worth 2 %, routes that are all shortest 5. */
	assert_true(any * 100 <= load * 108);
	printf("%-28s paper %4u, graph %4u, any %4u; steps: %u first, %u last\n", run.test.name,
	       (unsigned)paper, (unsigned)load, (unsigned)any, run.n_first, run.n_last);
	if (by_paper > most_by_paper)
		fail_msg("%s: %u routes on a link, the paper has %u", run.test.name, (unsigned)load,
			 (unsigned)paper);
	tally->n++;
	tally->n_near += by_paper <= 1.05;
	tally->by_paper += by_paper;
	tally->by_any += (double)load / (double)any;
	stop(&run);
}

static void test_whole(void **state)
{
	/* The third is Desmos. Rings of 2 are lines in the paper, too. */
	static const char *const dims[] = {
		"5r 5r",    "8r 8r",   "4r 2 2 2", "6r 6r",       "4r 4r 3r",   "4r 4r 4r",
		"5r 4r 3r", "8r 4r 2", "6r 5r 4r", "3r 3r 3r 3r", "5r 3r 3r 2", "4r 4r 4r 4r"
	};
	struct tally tally = { 0 };

	for (unsigned k = 0; k < 12; k++) {
		struct test_torus torus = { .dims = dims[k], .hosts = 1, .shuffle = 1 + k };

		compare(&torus, &tally, 1.05);
	}
	printf("12 whole tori: %.3f of the paper's load, %.3f of the default's\n",
	       tally.by_paper / tally.n, tally.by_any / tally.n);
}

static void test_uneven(void **state)
{
	static const char *const dims[] = { "8r 8r",    "4r 4r 4r", "6r 5r",    "5r 4r 3r",
					    "4r 2 2 2", "8r 3r 2",  "6r 6r 4r", "5r 5r 5r" };
	struct tally tally = { 0 };

	for (unsigned k = 0; k < 24; k++) {
		struct test_torus torus = { .dims = dims[k % 8],
					    .hosts = 1 + k / 8,
					    .some_hosts = true,
					    .shuffle = 1 + k };

		compare(&torus, &tally, 1.21);
	}
	assert_true(tally.n_near >= 21 && tally.by_paper <= tally.n);
	printf("24 uneven tori: %.3f of the paper's load, %.3f of the default's\n",
	       tally.by_paper / tally.n, tally.by_any / tally.n);
}

/*
 * Two cables missing, or a switch, or three cables and a switch. The rules do not lead everywhere
 * then: the engine says from where they do not.
 */
static void test_damaged(void **state)
{
	static const char *const dims[] = { "8r 8r",    "4r 4r 4r", "6r 5r",
					    "5r 4r 3r", "4r 2 2 2", "8 8",
					    "6r 6r 4r", "5r 5r 5r", "5r 3r 3r 2" };
	struct tally tally = { 0 };
	unsigned n_routed[3] = { 0 };

	for (unsigned k = 0; k < 27; k++) {
		unsigned kind = k / 9;
		struct test_torus torus = { .dims = dims[k % 9],
					    .hosts = 1,
					    .shuffle = 1 + k,
					    .fault_seed = k,
					    .dead_switches = kind > 0,
					    .dead_links = kind == 1 ? 0 : 2 + kind / 2 };
		struct run run;
		uint64_t load = graph_load(&torus, &run), any = any_load(&run);

		n_routed[kind] += load > 0;
		tally.n_routed += load > 0;
		tally.by_any += load ? (double)load / (double)any : 0;
		assert_true(!load || any * 100 <= load * 108);
		stop(&run);
	}
	printf("27 damaged grids: %u, %u and %u of 9 within the graph; there %.2f of the default's "
	       "load\n",
	       n_routed[0], n_routed[1], n_routed[2], tally.by_any / tally.n_routed);
	assert_true(n_routed[0] == 9 && n_routed[1] == 9 && n_routed[2] >= 5);
}

/*
 * A repair keeps the proof and most entries, not the order of directions: with stable = no a full
 * route keeps that, too, where the graph leads everywhere.
 */
static void test_cable_dies(void **state)
{
	static const char *const dims[] = { "6r 5r", "5r 4r 3r", "4r 4r 2", "8r 3r 2" };

	for (unsigned k = 0; k < 8; k++) {
		struct test_torus torus = {
			.dims = dims[k % 4], .hosts = 1, .shuffle = 1 + k, .fault_seed = k
		};
		struct osr_diag diag = { "" };
		struct run whole, run = { .n_first = 0 };
		uint32_t wanted = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_MULTICAST;

		assert_true(graph_load(&torus, &whole));
		torus.dead_links = 1;
		test_torus_draw(&torus, &run.test);
		if (route_after(&run, &whole.now, "paths=graph", &diag))
			fail_msg("%s: %s", run.test.name, diag.text);
		assert_true(run.now.routing.stable.kept);
		assert_int_equal(run.sweep.verdict.proven & wanted, wanted);
		assert_int_equal(run.sweep.verdict.n_no_path, 0);
		stop(&run);
		assert_true(graph_load(&torus, &run));
		stop(&run);
		stop(&whole);
	}
}

TEST_PROGRAM(test_cable_dies, test_whole, test_uneven, test_damaged)
