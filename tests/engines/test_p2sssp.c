/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What makes the algorithms of Hoefler, Schneider and Lumsdaine (HOTI 2009): a path is the lightest of the shortest
 * ones, where a channel weighs the routes that were laid before. The tables are replayed in that order, with weights
 * and searches of this file.
 */
#include "test.h"

#include "fabrics.h"
#include "sweeps.h"

#define MAX_SWITCHES 64
#define MAX_CHANNELS 1024

struct replay {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint32_t root, dest;
	uint32_t hops[MAX_SWITCHES];
	uint64_t load[MAX_CHANNELS]; /* routes */
	uint64_t least[MAX_SWITCHES];
	bool joined[MAX_SWITCHES]; /* what leaves here is settled */
	unsigned n_light;          /* of the paths, those that could have been heavier */
};

static uint32_t table_channel(const struct replay *x, uint32_t v)
{
	return osr_port_channel(x->f, v, osr_lft(x->r, v, x->dest));
}

/* The weight of the path in the tables, and of the lightest shortest path to where all is settled. */
static uint64_t path_weight(const struct replay *x, uint32_t v)
{
	uint64_t weight = 0;

	for (; v != x->root; v = x->f->chan_dst[table_channel(x, v)])
		weight += x->load[table_channel(x, v)];
	return weight;
}

static void find_least(struct replay *x, uint64_t *most)
{
	for (uint32_t hops = 0; hops < x->f->n_switches; hops++)
		for (uint32_t v = 0; v < x->f->n_switches; v++) {
			if (x->hops[v] != hops)
				continue;
			x->least[v] = x->joined[v] ? path_weight(x, v) : UINT64_MAX;
			most[v] = x->joined[v] ? x->least[v] : 0;
			for (uint32_t c = x->f->chan_row[v];
			     !x->joined[v] && c < x->f->chan_row[v + 1]; c++) {
				uint32_t to = x->f->chan_dst[c];
				uint64_t weight = x->load[c] + x->least[to];

				if (x->hops[to] + 1 != hops)
					continue;
				x->least[v] = weight < x->least[v] ? weight : x->least[v];
				most[v] = x->load[c] + most[to] > most[v] ? x->load[c] + most[to]
									  : most[v];
			}
		}
}

static void check_path(struct replay *x, uint32_t v, const uint64_t *most)
{
	uint64_t weight = path_weight(x, v);

	if (weight != x->least[v])
		fail_msg("LID %u from switch %u: a path of weight %u, there is one of %u",
			 x->f->dest_lid[x->dest], v, (unsigned)weight, (unsigned)x->least[v]);
	x->n_light += most[v] > weight;
}

static void count_routes(struct replay *x, uint32_t v)
{
	uint32_t n = x->f->sw_sources[v];

	for (; v != x->root; v = x->f->chan_dst[table_channel(x, v)])
		x->load[table_channel(x, v)] += n;
}

/* P-SSSP: all paths to one destination under the weights of the destinations before. */
static void replay_dest(struct replay *x)
{
	uint64_t most[MAX_SWITCHES];

	memset(x->joined, 0, sizeof(x->joined));
	x->joined[x->root] = true;
	find_least(x, most);
	for (uint32_t v = 0; v < x->f->n_switches; v++)
		check_path(x, v, most);
	for (uint32_t v = 0; v < x->f->n_switches; v++)
		count_routes(x, v);
}

/* P2-SSSP, joined: source after source, up to the tree that there is; what sends nothing comes last. */
static void replay_pairs(struct replay *x)
{
	uint64_t most[MAX_SWITCHES];

	memset(x->joined, 0, sizeof(x->joined));
	x->joined[x->root] = true;
	for (int sends = 1; sends >= 0; sends--)
		for (uint32_t v = 0; v < x->f->n_switches; v++) {
			if ((x->f->sw_sources[v] != 0) != sends)
				continue;
			find_least(x, most);
			check_path(x, v, most);
			for (uint32_t u = v; !x->joined[u]; u = x->f->chan_dst[table_channel(x, u)])
				x->joined[u] = true;
			count_routes(x, v);
		}
}

/* Destinations in the order of the fabric: switch after switch, port after port. */
static void judge(bool by_dest)
{
	const struct osr_request req = { .max_vls = 8 };
	struct osr_diag diag = { "" };
	struct osr_sweep sweep;
	unsigned n_light = 0;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		static struct replay x;
		struct osr_arena arena = { 0 };
		struct osr_result result;
		struct test_fabric t;

		test_fabric_random(&t, 8 + 2 * (uint32_t)seed, 16 + 5 * (uint32_t)seed, seed);
		assert_true(t.f.n_switches <= MAX_SWITCHES && t.f.n_channels <= MAX_CHANNELS);
		result = (struct osr_result){ .fabric = t.f };
		if (test_route("p2sssp", by_dest ? "heuristic=none step=dest" : "heuristic=none",
			       req, NULL, &arena, &result, &sweep, &diag))
			fail_msg("%s", diag.text);
		x = (struct replay){ .f = &t.f, .r = &result.routing };
		for (uint32_t i = 0; i < t.f.n_terminals; i++) {
			if (t.f.term_role[i] == OSR_ROLE_SP0)
				continue;
			x.root = t.f.term_switch[i];
			test_distances(&t.f, x.root, x.hops);
			for (uint32_t k = 0; k < 1u << t.f.term_lmc[i]; k++) {
				x.dest = t.f.lid_dest[t.f.term_lid[i] + k];
				if (by_dest)
					replay_dest(&x);
				else
					replay_pairs(&x);
			}
		}
		n_light += x.n_light;
		osr_arena_free(&arena);
		test_fabric_free(&t);
	}
	/* Where all shortest paths weigh the same this says nothing. */
	assert_true(n_light > 1000);
}

static void test_p_sssp(void **state)
{
	judge(true);
}

static void test_p2_sssp(void **state)
{
	judge(false);
}

TEST_PROGRAM(test_p_sssp, test_p2_sssp)
