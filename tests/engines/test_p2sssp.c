/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What makes the algorithms of Hoefler, Schneider and Lumsdaine (HOTI 2009): a path is the lightest
 * of the shortest ones, where a channel weighs the routes that were laid before. The tables are
 * replayed in that order, with weights and searches of this file.
 */
#include "test.h"

#include "fabrics.h"
#include "sweeps.h"

#define MAX_SWITCHES 64
#define MAX_CHANNELS 1024

struct replay {
	const struct osr_fabric *fabric;
	const struct osr_routing *routing;
	uint32_t root, dest;
	uint32_t hops[MAX_SWITCHES];
	uint64_t load[MAX_CHANNELS]; /* routes */
	uint64_t least[MAX_SWITCHES];
	bool joined[MAX_SWITCHES]; /* what leaves here is settled */
	unsigned n_light;          /* of the paths, those that could have been heavier */
};

static uint32_t table_channel(const struct replay *replay, uint32_t v)
{
	return osr_port_channel(replay->fabric, v, osr_lft(replay->routing, v, replay->dest));
}

/*
 * The weight of the path in the tables, and of the lightest shortest path to where all is settled.
 */
static uint64_t path_weight(const struct replay *replay, uint32_t v)
{
	uint64_t weight = 0;

	for (; v != replay->root; v = replay->fabric->chan_dst[table_channel(replay, v)])
		weight += replay->load[table_channel(replay, v)];
	return weight;
}

static void find_least(struct replay *replay, uint64_t *most)
{
	for (uint32_t hops = 0; hops < replay->fabric->n_switches; hops++)
		for (uint32_t v = 0; v < replay->fabric->n_switches; v++) {
			if (replay->hops[v] != hops)
				continue;
			replay->least[v] = replay->joined[v] ? path_weight(replay, v) : UINT64_MAX;
			most[v] = replay->joined[v] ? replay->least[v] : 0;
			for (uint32_t c = replay->fabric->chan_row[v];
			     !replay->joined[v] && c < replay->fabric->chan_row[v + 1]; c++) {
				uint32_t to = replay->fabric->chan_dst[c];
				uint64_t weight = replay->load[c] + replay->least[to];

				if (replay->hops[to] + 1 != hops)
					continue;
				replay->least[v] =
					weight < replay->least[v] ? weight : replay->least[v];
				most[v] = replay->load[c] + most[to] > most[v]
						  ? replay->load[c] + most[to]
						  : most[v];
			}
		}
}

static void check_path(struct replay *replay, uint32_t v, const uint64_t *most)
{
	uint64_t weight = path_weight(replay, v);

	if (weight != replay->least[v])
		fail_msg("LID %u from switch %u: a path of weight %u, there is one of %u",
			 replay->fabric->dest_lid[replay->dest], v, (unsigned)weight,
			 (unsigned)replay->least[v]);
	replay->n_light += most[v] > weight;
}

static void count_routes(struct replay *replay, uint32_t v)
{
	uint32_t n = replay->fabric->sw_sources[v];

	for (; v != replay->root; v = replay->fabric->chan_dst[table_channel(replay, v)])
		replay->load[table_channel(replay, v)] += n;
}

/* P-SSSP: all paths to one destination under the weights of the destinations before. */
static void replay_dest(struct replay *replay)
{
	uint64_t most[MAX_SWITCHES];

	memset(replay->joined, 0, sizeof(replay->joined));
	replay->joined[replay->root] = true;
	find_least(replay, most);
	for (uint32_t v = 0; v < replay->fabric->n_switches; v++)
		check_path(replay, v, most);
	for (uint32_t v = 0; v < replay->fabric->n_switches; v++)
		count_routes(replay, v);
}

/*
 * P2-SSSP, joined: source after source, up to the tree that there is; what sends nothing comes
 * last.
 */
static void replay_pairs(struct replay *replay)
{
	uint64_t most[MAX_SWITCHES];

	memset(replay->joined, 0, sizeof(replay->joined));
	replay->joined[replay->root] = true;
	for (int sends = 1; sends >= 0; sends--)
		for (uint32_t v = 0; v < replay->fabric->n_switches; v++) {
			if ((replay->fabric->sw_sources[v] != 0) != sends)
				continue;
			find_least(replay, most);
			check_path(replay, v, most);
			for (uint32_t u = v; !replay->joined[u];
			     u = replay->fabric->chan_dst[table_channel(replay, u)])
				replay->joined[u] = true;
			count_routes(replay, v);
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
		static struct replay replay;
		struct osr_arena arena = { 0 };
		struct osr_result result;
		struct test_fabric test;

		test_fabric_random(&test, 8 + 2 * (uint32_t)seed, 16 + 5 * (uint32_t)seed, seed);
		assert_true(test.fabric.n_switches <= MAX_SWITCHES &&
			    test.fabric.n_channels <= MAX_CHANNELS);
		result = (struct osr_result){ .fabric = test.fabric };
		if (test_route("p2sssp", by_dest ? "heuristic=none step=dest" : "heuristic=none",
			       req, NULL, &arena, &result, &sweep, &diag))
			fail_msg("%s", diag.text);
		replay = (struct replay){ .fabric = &test.fabric, .routing = &result.routing };
		for (uint32_t i = 0; i < test.fabric.n_terminals; i++) {
			if (test.fabric.term_role[i] == OSR_ROLE_SP0)
				continue;
			replay.root = test.fabric.term_switch[i];
			test_distances(&test.fabric, replay.root, replay.hops);
			for (uint32_t k = 0; k < 1u << test.fabric.term_lmc[i]; k++) {
				replay.dest = test.fabric.lid_dest[test.fabric.term_lid[i] + k];
				if (by_dest)
					replay_dest(&replay);
				else
					replay_pairs(&replay);
			}
		}
		n_light += replay.n_light;
		osr_arena_free(&arena);
		test_fabric_free(&test);
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
