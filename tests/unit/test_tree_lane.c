/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dfsssp on fat trees with cables missing: one virtual lane, safe with any SL, and no route between
 * hosts longer than a breadth-first search of its own finds. The smaller tree needs four lanes if
 * shortest paths are cut by cycles instead. OSR_SEEDS=N: so many damaged trees of each kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <osmroutes/sweep.h>

#include "fabrics.h"
#include "topo/topo.h"

struct shape {
	const char *m, *w, *p;
};

static const struct shape shapes[] = {
	{ "5,8,8", "1,8,6", "1,1,2" },
	{ "4,6,4", "1,6,3", "1,1,2" },
	{ "6,12", "1,6", "1,2" },
};

static void make_damaged(const struct shape *shape, uint64_t seed, struct osr_net *net)
{
	const struct osr_topo *topo = osr_topo_find("tree");
	struct osr_topo_style style = { 0 };
	struct osr_degrade how = { .seed = seed, .links_percent = 5, .keep_connected = true };
	struct osr_degraded done;
	struct osr_diag diag = { "" };
	struct osr_net whole = { 0 };
	struct osr_values v;

	osr_values_default(&v, topo->params);
	if (osr_values_set(&v, topo->params, "m", shape->m, &diag) ||
	    osr_values_set(&v, topo->params, "w", shape->w, &diag) ||
	    osr_values_set(&v, topo->params, "p", shape->p, &diag) ||
	    osr_topo_make(topo, &v, &style, &whole, &diag) ||
	    osr_topo_degrade(&whole, &how, net, &done, &diag))
		fail_msg("%s", diag.text);
	assert_true(done.n_links > 0);
	osr_net_free(&whole);
}

/* Channels between switch `root` and all others. */
static void measure(const struct osr_fabric *f, uint32_t root, uint32_t *dist, uint32_t *queue)
{
	uint32_t n = 1;

	memset(dist, 0xff, f->n_switches * sizeof(*dist));
	dist[root] = 0;
	queue[0] = root;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t c = f->chan_row[queue[i]]; c < f->chan_row[queue[i] + 1]; c++)
			if (dist[f->chan_dst[c]] == OSR_NONE) {
				dist[f->chan_dst[c]] = dist[queue[i]] + 1;
				queue[n++] = f->chan_dst[c];
			}
}

static void assert_shortest_between_hosts(const struct osr_fabric *f, const struct osr_routing *r)
{
	uint32_t *dist = calloc(f->n_switches, sizeof(*dist));
	uint32_t *queue = calloc(f->n_switches, sizeof(*queue));

	for (uint32_t d = 0; d < f->n_dests; d++) {
		if (f->term_role[f->dest_term[d]] == OSR_ROLE_SP0)
			continue;
		measure(f, f->dest_switch[d], dist, queue);
		for (uint32_t s = 0; s < f->n_switches; s++) {
			uint32_t at = s, hops = 0;

			for (; f->sw_sources[s] && at != f->dest_switch[d]; hops++)
				at = f->chan_dst[osr_port_channel(f, at, osr_lft(r, at, d))];
			assert_int_equal(hops, f->sw_sources[s] ? dist[s] : 0);
		}
	}
	free(dist);
	free(queue);
}

static void route_one(const struct shape *shape, uint64_t seed)
{
	const struct osr_engine *e = osr_engine_find("dfsssp");
	struct osr_arena arena = { 0 }, scratch = { 0 };
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };
	struct osr_values v;
	const struct osr_job job = { .engine = e,
				     .values = &v,
				     .request = { .max_vls = 8, .multicast = true },
				     .scratch = &scratch,
				     .arena = &arena,
				     .diag = &diag };
	struct osr_result now;
	struct osr_sweep sweep;

	make_damaged(shape, seed, &net);
	osr_values_default(&v, e->params);
	if (osr_net_fabric(&net, 0, &arena, &now.fabric, &diag) || osr_sweep(&job, &now, &sweep))
		fail_msg("seed %llu: %s", (unsigned long long)seed, diag.text);
	assert_int_equal(sweep.verdict.n_vls, 1);
	assert_int_equal(sweep.verdict.n_longer, now.routing.n_longer);
	assert_true(sweep.verdict.proven & OSR_CLAIM_ANY_SL);
	assert_true(sweep.verdict.proven & OSR_CLAIM_MULTICAST);
	assert_shortest_between_hosts(&now.fabric, &now.routing);
	osr_arena_free(&arena);
	osr_arena_free(&scratch);
	osr_net_free(&net);
}

static void test_one_lane(void **state)
{
	unsigned n = test_number("OSR_SEEDS", 12);

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (unsigned seed = 1; seed <= n; seed++)
			route_one(&shapes[i], seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_lane) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
