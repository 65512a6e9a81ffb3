/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Several LIDs a port (planes.h) beside one LID a port, in two runs that do not know of each other:
 * whatever the LMC, the first LIDs have the tables of LMC 0, after faults too. Planes of mates by
 * what defines them.
 */
#include "test.h"

#include <osmroutes/split.h>
#include <osmroutes/sweep.h>

#include "fabrics.h"
#include "faults.h"
#include "sweeps.h"
#include "topos.h"

#define MOST_LMC 3

/*
 * The net with room for 2^MOST_LMC LIDs a port, of which each port has 2^lmc: the first LIDs are
 * the same for all.
 */
static void planes_fabric(struct osr_net *net, uint8_t lmc, struct osr_arena *arena,
			  struct osr_fabric *fabric)
{
	struct osr_diag diag = { "" };
	enum osr_status st = osr_net_assign_lids(net, MOST_LMC, &diag);

	for (uint32_t p = 0; p < net->n_ports; p++)
		if (net->ports[p].lid && !osr_net_is_switch(net, net->ports[p].node))
			net->ports[p].lmc = lmc;
	if (st || osr_net_fabric(net, -1, arena, fabric, &diag))
		fail_msg("%s", diag.text);
}

/* Of these two the first has one LID a port. */
static void assert_first_rows(const struct osr_result *one, const struct osr_result *several,
			      const char *what)
{
	size_t n = one->fabric.n_switches;

	for (uint32_t d = 0; d < one->fabric.n_dests; d++) {
		uint32_t e = several->fabric.lid_dest[one->fabric.dest_lid[d]];

		if (memcmp(one->routing.lft + d * n, several->routing.lft + e * n, n))
			fail_msg("%s: LID %u has other entries than with LMC 0", what,
				 one->fabric.dest_lid[d]);
		if (one->routing.sl &&
		    memcmp(one->routing.sl + d * n, several->routing.sl + e * n, n))
			fail_msg("%s: LID %u has other SLs than with LMC 0", what,
				 one->fabric.dest_lid[d]);
	}
}

/*
 * One engine on one net, with LMC 0 and with others. All LIDs together load a channel with at most
 * so many percent of what 2^LMC times the first ones do.
 */
static void compare_lmcs(const char *engine, const char *what, struct osr_net *net,
			 unsigned percent)
{
	const struct osr_request req = { .max_vls = 8, .multicast = true };
	struct osr_arena arena = { 0 };
	struct osr_result one = { 0 };
	struct osr_sweep sweep;
	struct osr_diag diag = { "" };
	enum osr_status st;
	char name[160];

	planes_fabric(net, 0, &arena, &one.fabric);
	st = test_route(engine, "", req, NULL, &arena, &one, &sweep, &diag);
	for (uint8_t lmc = 1; lmc <= MOST_LMC; lmc++) {
		struct osr_arena mine = { 0 };
		struct osr_result several = { 0 };
		struct osr_sweep with;

		snprintf(name, sizeof(name), "%s on %s, LMC %u", engine, what, lmc);
		planes_fabric(net, lmc, &mine, &several.fabric);
		assert_int_equal(test_route(engine, "", req, NULL, &mine, &several, &with, &diag),
				 st);
		if (!st) {
			assert_first_rows(&one, &several, name);
			assert_int_equal(several.routing.claims, one.routing.claims);
			/* Dimensions in reverse use lanes that are free. */
			if (several.routing.planes.kind[1] == OSR_PLANE_REVERSE)
				assert_in_range(several.routing.n_vls, 2, 3);
			else
				assert_int_equal(several.routing.n_vls, one.routing.n_vls);
			assert_int_equal(with.verdict.efi, sweep.verdict.efi);
			if (with.verdict.efi_all * 100 > (sweep.verdict.efi << lmc) * percent)
				fail_msg("%s: %u routes on the busiest channel, and %u to first "
					 "LIDs",
					 name, (unsigned)with.verdict.efi_all,
					 (unsigned)sweep.verdict.efi);
			assert_int_equal(with.verdict.n_host_longer,
					 sweep.verdict.n_host_longer << lmc);
		}
		osr_arena_free(&mine);
	}
	osr_arena_free(&arena);
}

static const char *const families[] = {
	"tree m=6,4 w=1,3",
	"tree m=4,4,2 w=1,2,2",
	"tree m=5,3,3 w=1,2,3 p=1,2,1",
	"torus dims=4x4 hosts=2",
	"torus dims=5x3",
	"torus dims=3x3x3 hosts=2",
	"hyperx dims=3x4 hosts=3",
	"dragonfly a=4 h=2 p=2",
	"slimfly q=5 p=2",
	"random switches=12 links=20 hosts=3",
};

static void test_first_lids(void **state)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		for (const struct osr_engine *const *engine = osr_engines; *engine; engine++) {
			struct osr_net net = { 0 };
			struct osr_diag diag = { "" };

			if (topo_net(families[i], NULL, &net, &diag))
				fail_msg("%s: %s", families[i], diag.text);
			compare_lmcs((*engine)->name, families[i], &net, 100);
			osr_net_free(&net);
		}
}

/* ---- mates ----------------------------------------------------------------------------------- */

static void route_whole(const char *engine, const struct osr_fabric *fabric,
			struct osr_arena *arena, const struct osr_result *before,
			struct osr_result *now)
{
	const struct osr_request req = { .max_vls = 8, .multicast = true };
	struct osr_diag diag = { "" };
	struct osr_sweep sweep;

	*now = (struct osr_result){ .fabric = *fabric };
	if (test_route(engine, "", req, before, arena, now, &sweep, &diag))
		fail_msg("%s: %s", engine, diag.text);
}

static void draw_net(const char *what, struct osr_net *net)
{
	struct osr_diag diag = { "" };

	*net = (struct osr_net){ 0 };
	if (topo_net(what, NULL, net, &diag))
		fail_msg("%s: %s", what, diag.text);
}

/* Planes of mates for the first LIDs of a result, whatever planes it has. */
static void find_mates(const struct osr_result *result, struct osr_arena *arena,
		       struct osr_planes *mates)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct osr_result first;

	if (osr_planes_first_result(result, arena, &first, &diag) ||
	    osr_planes_repeat(&result->fabric, arena, mates, &diag) ||
	    osr_planes_mates(&result->fabric, &first.fabric, &first.routing, &scratch, mates,
			     &diag))
		fail_msg("%s", diag.text);
	osr_arena_free(&scratch);
}

/*
 * Each first LID serves as many LIDs of a plane as there are ports: one. And plane 1 is the same at
 * any LMC.
 */
static void test_mates_permute(void **state)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
		uint32_t *pairs = NULL;
		struct osr_arena kept = { 0 };
		struct osr_net net;

		draw_net(families[i], &net);
		for (uint8_t lmc = 1; lmc <= MOST_LMC; lmc++) {
			struct osr_arena arena = { 0 };
			struct osr_result result;
			struct osr_planes mates;
			struct osr_fabric fabric;
			uint8_t *served;

			planes_fabric(&net, lmc, &arena, &fabric);
			route_whole("dfsssp", &fabric, &arena, NULL, &result);
			find_mates(&result, &arena, &mates);
			assert_int_equal(result.routing.planes.n, 1u << lmc);
			if (!pairs)
				pairs = osr_calloc(&kept, fabric.max_lid + 1u, sizeof(*pairs));
			served = osr_calloc(&arena, fabric.n_dests, result.routing.planes.n);
			for (uint32_t d = 0; d < fabric.n_dests; d++) {
				uint32_t tree = mates.tree_of[d], k = osr_plane_of(&fabric, d),
					 *pair = &pairs[fabric.dest_lid[d]];

				assert_int_equal(osr_plane_of(&fabric, tree), 0);
				assert_int_equal(fabric.dest_switch[tree], fabric.dest_switch[d]);
				assert_false(served[tree * result.routing.planes.n + k]++);
				if (k == 1 && lmc == 1)
					*pair = fabric.dest_lid[tree];
				if (k == 1)
					assert_int_equal(*pair, fabric.dest_lid[tree]);
			}
			osr_arena_free(&arena);
		}
		osr_arena_free(&kept);
		osr_net_free(&net);
	}
}

/*
 * Whole trees of two levels. On each leaf every plane gives each spine as many hosts of each other
 * leaf as the first one: as many as there are hosts for a spine. The LIDs of a host take as many
 * spines as they can.
 */
static void test_spines(void **state)
{
	static const struct {
		const char *what;
		uint32_t hosts, spines;
	} cases[] = { { "tree m=8,5 w=1,8", 8, 8 },
		      { "tree m=12,4 w=1,4", 12, 4 },
		      { "tree m=6,4 w=1,2", 6, 2 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (uint8_t lmc = 1; lmc <= 2; lmc++) {
			uint32_t n_planes = 1u << lmc,
				 most = n_planes < cases[i].spines ? n_planes : cases[i].spines;
			struct osr_arena arena = { 0 };
			struct osr_result result;
			struct osr_fabric fabric;
			struct osr_net net;

			draw_net(cases[i].what, &net);
			planes_fabric(&net, lmc, &arena, &fabric);
			route_whole("dfsssp", &fabric, &arena, NULL, &result);
			for (uint32_t s = 0; s < fabric.n_switches; s++)
				for (uint32_t to = 0; to < fabric.n_switches; to++) {
					uint32_t count[4][256] = { { 0 } };

					for (uint32_t t = fabric.term_row[to];
					     s != to && fabric.sw_sources[s] &&
					     t < fabric.term_row[to + 1];
					     t++) {
						uint32_t
							first = fabric.lid_dest[fabric.term_lid[t]],
							n = 0;
						bool seen[256] = { false };

						for (uint32_t k = 0;
						     fabric.term_weight[t] && k < n_planes; k++) {
							uint8_t out = osr_lft(&result.routing, s,
									      first + k);

							count[k][out]++;
							n += !seen[out];
							seen[out] = true;
						}
						assert_int_equal(n,
								 fabric.term_weight[t] ? most : 0);
					}
					for (uint32_t k = 0; k < n_planes; k++)
						for (uint32_t out = 0; out < 256; out++)
							assert_true(
								!count[k][out] ||
								count[k][out] ==
									cases[i].hosts /
										cases[i].spines);
				}
			osr_arena_free(&arena);
			osr_net_free(&net);
		}
}

/*
 * All ways to pair the hosts of a leaf, the same on each leaf by the spine that each host is sent
 * to over: the best one.
 */
struct pairing {
	const struct osr_fabric *fabric;
	struct osr_result result; /* with LMC 1 */
	struct osr_result of;     /* its first LIDs */
	struct osr_planes planes;
	uint32_t host[16][16]; /* [leaf][by spine] terminals */
	uint32_t n_leaves, n_hosts, mate[16];
	uint32_t best;
};

static uint32_t even_share(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	struct osr_arena scratch = { 0 };
	struct osr_split split;

	assert_int_equal(
		osr_split_measure(fabric, routing, OSR_SPLIT_REPORT, &scratch, &split, NULL),
		OSR_OK);
	osr_arena_free(&scratch);
	return split.two;
}

static void try_pairings(struct pairing *pairing)
{
	struct osr_arena arena = { 0 };
	struct osr_routing routing;
	uint32_t a = 0, share;

	while (a < pairing->n_hosts && pairing->mate[a] != OSR_NONE)
		a++;
	for (uint32_t b = a + 1; b < pairing->n_hosts; b++) {
		if (pairing->mate[b] != OSR_NONE)
			continue;
		pairing->mate[a] = b;
		pairing->mate[b] = a;
		try_pairings(pairing);
		pairing->mate[a] = pairing->mate[b] = OSR_NONE;
	}
	if (a < pairing->n_hosts)
		return;
	for (uint32_t leaf = 0; leaf < pairing->n_leaves; leaf++)
		for (uint32_t i = 0; i < pairing->n_hosts; i++) {
			uint32_t lid = pairing->fabric->term_lid[pairing->host[leaf][i]],
				 mate = pairing->fabric
						->term_lid[pairing->host[leaf][pairing->mate[i]]];

			pairing->planes.tree_of[pairing->fabric->lid_dest[lid + 1]] =
				pairing->fabric->lid_dest[mate];
		}
	assert_int_equal(osr_planes_expand(pairing->fabric, &pairing->of.fabric,
					   &pairing->of.routing, &pairing->planes, NULL, &arena,
					   &routing, NULL),
			 OSR_OK);
	share = even_share(pairing->fabric, &routing);
	pairing->best = share > pairing->best ? share : pairing->best;
	osr_arena_free(&arena);
}

/* The hosts of each leaf, in the order of the spines by which another leaf sends to them. */
static void rank_hosts(struct pairing *pairing)
{
	const struct osr_fabric *fabric = pairing->fabric;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t n = 0, key[16], from = s ? 0 : 1;

		while (!fabric->sw_sources[from] || from == s)
			from++;
		for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++) {
			uint32_t d = fabric->lid_dest[fabric->term_lid[t]], k = n, spine;

			if (!fabric->term_weight[t])
				continue;
			spine = fabric->chan_dst[osr_port_channel(
				fabric, from, osr_lft(&pairing->result.routing, from, d))];
			for (; k && key[k - 1] > spine; k--) {
				key[k] = key[k - 1];
				pairing->host[pairing->n_leaves][k] =
					pairing->host[pairing->n_leaves][k - 1];
			}
			key[k] = spine;
			pairing->host[pairing->n_leaves][k] = t;
			n++;
		}
		pairing->n_hosts = n ? n : pairing->n_hosts;
		pairing->n_leaves += n != 0;
	}
}

/*
 * On small trees, fed in any order: a flow in two equal parts has nearly what the best pairing
 * gives it.
 */
static void test_mates_are_best(void **state)
{
	static const char *const nets[] = { "tree m=6,4 w=1,3", "tree m=4,5 w=1,2",
					    "tree m=6,5 w=1,6", "tree m=8,3 w=1,4" };

	for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct osr_arena arena = { 0 };
			struct osr_fabric whole, fabric;
			struct pairing pairing = { .fabric = &fabric };
			struct faults faults;
			struct osr_net net;
			uint32_t ours;

			draw_net(nets[i], &net);
			planes_fabric(&net, 1, &arena, &whole);
			faults_new(&faults, &whole);
			faults.order = seed;
			faults_build(&faults, &arena, &fabric);
			route_whole("dfsssp", &fabric, &arena, NULL, &pairing.result);
			ours = even_share(&fabric, &pairing.result.routing);
			assert_int_equal(
				osr_planes_first_result(&pairing.result, &arena, &pairing.of, NULL),
				OSR_OK);
			assert_int_equal(osr_planes_repeat(&fabric, &arena, &pairing.planes, NULL),
					 OSR_OK);
			rank_hosts(&pairing);
			memset(pairing.mate, 0xff, sizeof(pairing.mate));
			try_pairings(&pairing);
			if (ours * UINT64_C(100) < pairing.best * UINT64_C(99))
				fail_msg("%s, seed %u: %u, the best pairing has %u", nets[i],
					 (unsigned)seed, ours, pairing.best);
			faults_free(&faults);
			osr_arena_free(&arena);
			osr_net_free(&net);
		}
}

/* ---- faults ---------------------------------------------------------------------------------- */

struct generation {
	struct osr_arena arena;
	struct osr_result result;
};

/* A sweep of what is left, from that of before. */
static void next_sweep(const char *engine, const struct faults *faults,
		       const struct generation *before, struct generation *now)
{
	struct osr_fabric fabric;

	now->arena = (struct osr_arena){ 0 };
	faults_build(faults, &now->arena, &fabric);
	route_whole(engine, &fabric, &now->arena, before ? &before->result : NULL, &now->result);
}

/* The same end ports and cables of two fabrics, with one LID a port and with several. */
static void test_faults(void **state)
{
	static const char *const engines[] = { "dfsssp", "sssp", "osmroutes" };
	static const char *const nets[] = { "tree m=6,4 w=1,3", "tree m=4,4,2 w=1,2,2",
					    "torus dims=4x4 hosts=2", "hyperx dims=3x4 hosts=3" };
	unsigned n_kept = 0;

	for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++)
		for (size_t e = 0; e < sizeof(engines) / sizeof(*engines); e++)
			for (uint8_t lmc = 1; lmc <= 2; lmc++) {
				struct generation one[3], several[3];
				struct osr_arena arena = { 0 };
				struct faults with_one, with_several;
				struct osr_fabric f, g;
				struct osr_net net;

				draw_net(nets[i], &net);
				planes_fabric(&net, 0, &arena, &f);
				planes_fabric(&net, lmc, &arena, &g);
				faults_new(&with_one, &f);
				faults_new(&with_several, &g);
				next_sweep(engines[e], &with_one, NULL, &one[0]);
				next_sweep(engines[e], &with_several, NULL, &several[0]);
				/* A cable dies, and is back. */
				for (unsigned k = 1; k < 3; k++) {
					faults_cable(&with_one, f.n_channels / 2, k == 1);
					faults_cable(&with_several, g.n_channels / 2, k == 1);
					next_sweep(engines[e], &with_one, &one[k - 1], &one[k]);
					next_sweep(engines[e], &with_several, &several[k - 1],
						   &several[k]);
					assert_first_rows(&one[k].result, &several[k].result,
							  nets[i]);
					assert_int_equal(several[k].result.routing.stable.kept,
							 one[k].result.routing.stable.kept);
					n_kept += one[k].result.routing.stable.kept;
				}
				if (several[1].result.routing.stable.kept)
					assert_true(several[2].result.digest ==
						    several[0].result.digest);
				for (unsigned k = 0; k < 3; k++) {
					osr_arena_free(&one[k].arena);
					osr_arena_free(&several[k].arena);
				}
				faults_free(&with_one);
				faults_free(&with_several);
				osr_arena_free(&arena);
				osr_net_free(&net);
			}
	assert_true(n_kept > 24);
}

/*
 * A host dies: no LID of any other host changes. It returns, and all is as it was. One that is new
 * repeats its first LID.
 */
static void test_dead_host(void **state)
{
	struct osr_arena arena = { 0 };
	struct generation now[3];
	struct faults faults;
	struct osr_fabric fabric;
	struct osr_net net;

	draw_net("tree m=6,4 w=1,3", &net);
	planes_fabric(&net, 2, &arena, &fabric);
	faults_new(&faults, &fabric);
	for (uint32_t dead = 0; dead < fabric.n_terminals; dead++) {
		if (!fabric.term_weight[dead])
			continue;
		next_sweep("dfsssp", &faults, NULL, &now[0]);
		faults.term[dead] = true;
		next_sweep("dfsssp", &faults, &now[0], &now[1]);
		assert_true(now[1].result.routing.stable.kept);
		for (uint32_t d = 0; d < now[1].result.fabric.n_dests; d++) {
			uint32_t was =
				now[0].result.fabric.lid_dest[now[1].result.fabric.dest_lid[d]];

			assert_memory_equal(
				now[1].result.routing.lft + (size_t)d * fabric.n_switches,
				now[0].result.routing.lft + (size_t)was * fabric.n_switches,
				fabric.n_switches);
		}
		faults.term[dead] = false;
		next_sweep("dfsssp", &faults, &now[1], &now[2]);
		assert_true(now[2].result.digest == now[0].result.digest);
		for (unsigned k = 0; k < 3; k++)
			osr_arena_free(&now[k].arena);
		/* Without it first, so that it is new. */
		faults.term[dead] = true;
		next_sweep("dfsssp", &faults, NULL, &now[0]);
		faults.term[dead] = false;
		next_sweep("dfsssp", &faults, &now[0], &now[1]);
		for (uint32_t d = 0; d < fabric.n_dests; d++)
			if (fabric.dest_term[d] == dead)
				assert_int_equal(now[1].result.routing.planes.tree_of[d],
						 osr_first_dest(&fabric, d));
		for (unsigned k = 0; k < 2; k++)
			osr_arena_free(&now[k].arena);
	}
	faults_free(&faults);
	osr_arena_free(&arena);
	osr_net_free(&net);
}

/*
 * dmodk routes anew after each fault, and its planes stay: a dead cable changes no more entries than
 * with one LID a port, times the LIDs, and all come back with it.
 */
static void test_full_routes(void **state)
{
	uint64_t changed[3] = { 0 }, n;
	struct osr_net net;

	draw_net("tree m=4,4,4 w=1,4,4", &net);
	for (uint8_t lmc = 0; lmc < 3; lmc++) {
		struct osr_arena arena = { 0 };
		struct generation now[3];
		struct faults faults;
		struct osr_fabric fabric;

		planes_fabric(&net, lmc, &arena, &fabric);
		faults_new(&faults, &fabric);
		next_sweep("dmodk", &faults, NULL, &now[0]);
		for (uint32_t c = 0; c < fabric.n_channels; c++) {
			if (fabric.chan_rev[c] < c)
				continue;
			faults_cable(&faults, c, true);
			next_sweep("dmodk", &faults, &now[0], &now[1]);
			changed[lmc] += osr_routing_changed(&now[0].result, &now[1].result.fabric,
							    &now[1].result.routing, &n);
			faults_cable(&faults, c, false);
			next_sweep("dmodk", &faults, &now[1], &now[2]);
			assert_true(now[2].result.digest == now[0].result.digest);
			osr_arena_free(&now[1].arena);
			osr_arena_free(&now[2].arena);
		}
		print_message("LMC %u: %lu entries changed\n", lmc, (unsigned long)changed[lmc]);
		assert_true(changed[lmc] <= changed[0] << lmc);
		osr_arena_free(&now[0].arena);
		faults_free(&faults);
		osr_arena_free(&arena);
	}
	osr_net_free(&net);
}

/*
 * What is stored of a result of several LIDs, read again: the next sweep makes the same tables of
 * it.
 */
static void test_restart(void **state)
{
	struct osr_arena arena = { 0 }, scratch = { 0 };
	struct generation now[3];
	struct osr_result last, baseline;
	struct osr_diag diag = { "" };
	struct faults faults;
	struct osr_fabric fabric;
	struct osr_net net;
	uint8_t *bytes;
	size_t size;

	draw_net("tree m=6,4 w=1,3", &net);
	planes_fabric(&net, 2, &arena, &fabric);
	faults_new(&faults, &fabric);
	next_sweep("dfsssp", &faults, NULL, &now[0]);
	bytes = test_stored(&now[0].result, 7, &size);
	assert_non_null(bytes);
	if (osr_store_read(bytes, size, "test", "dfsssp", 7, &arena, &arena, &scratch, &last,
			   &baseline, &diag))
		fail_msg("%s", diag.text);
	faults_cable(&faults, 0, true);
	next_sweep("dfsssp", &faults, &now[0], &now[1]);
	route_whole("dfsssp", &now[1].result.fabric, &arena, &last, &now[2].result);
	assert_true(now[2].result.digest == now[1].result.digest);
	assert_true(now[2].result.routing.stable.kept);
	free(bytes);
	osr_arena_free(&now[0].arena);
	osr_arena_free(&now[1].arena);
	faults_free(&faults);
	osr_arena_free(&scratch);
	osr_arena_free(&arena);
	osr_net_free(&net);
}

/* ---- the engine that chooses ----------------------------------------------------------------- */

/*
 * On damaged trees, where engines are alike and another one would serve split flows better, osmroutes
 * chooses as with LMC 0: first LIDs have the same tables.
 */
static void test_chosen(void **state)
{
	static const char *const what = "tree m=5,3,3 w=1,4,2";

	for (unsigned seed = 1; seed <= 30; seed++) {
		struct osr_degrade how = { .n_links = 2, .seed = seed, .keep_connected = true };
		struct osr_net net = { 0 }, damaged;
		struct osr_diag diag = { "" };

		if (topo_net(what, NULL, &net, &diag))
			fail_msg("%s: %s", what, diag.text);
		degrade_net(&net, how, &damaged);
		compare_lmcs("osmroutes", what, &damaged, 103);
		osr_net_free(&net);
		osr_net_free(&damaged);
	}
}

TEST_PROGRAM(test_first_lids, test_mates_permute, test_spines, test_mates_are_best, test_faults,
	     test_dead_host, test_full_routes, test_restart, test_chosen)
