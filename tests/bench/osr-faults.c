/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-faults [-e ENGINE] [-o NAME=VALUE] [-n CABLES] [-s SEED] [-S] [-p] [-r ROUNDS] [-k] [-c CLASSES] FILE
 *
 * One cable after the other dies (-S: the switch at its end), each on the whole fabric (-p: none returns,
 * and each re-route follows the one before; what changes counts from the whole fabric): what changes, and
 * what it costs against a full route of the same fabric, and the largest load against the least that any
 * minimal routing could have (-r: rounds of bound.h; -k: neither bound nor full route). -c: so many SLs with
 * lanes of their own. Prints one line of JSON.
 */
#include "tables.h"
#include <osmroutes/check.h>
#include <osmroutes/prng.h>
#include "core/repair/repair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "faults.h"

#define REPEAT 3

struct run {
	struct osr_arena arena;
	struct osr_result result;
	double ms_route, ms_check;
};

/* The fastest of some; what was allocated stays in run->arena. */
static void route(const struct bench *b, const struct osr_result *before, struct run *run)
{
	struct osr_arena_mark mark = osr_arena_mark(&run->arena);
	struct osr_diag diag = { "" };

	run->ms_route = run->ms_check = 1e30;
	for (int i = 0; i < REPEAT; i++) {
		struct osr_arena scratch = { 0 };
		struct osr_job job = bench_job(b, before, &scratch, &run->arena);
		struct osr_sweep sweep;

		osr_arena_reset(&run->arena, mark);
		job.diag = &diag;
		if (osr_sweep(&job, &run->result, &sweep) || sweep.refused)
			bench_die(sweep.refused ? run->result.routing.stable.why : diag.text);
		if (sweep.ms_route < run->ms_route)
			run->ms_route = sweep.ms_route;
		if (sweep.ms_check < run->ms_check)
			run->ms_check = sweep.ms_check;
		osr_arena_free(&scratch);
	}
}

/* What switches are sent: 64 LIDs of one switch, if an entry among them is another one. */
static uint64_t count_blocks(const struct osr_result *w, const struct osr_result *now)
{
	const struct osr_fabric *f = &w->fabric, *g = &now->fabric;
	uint64_t n = 0;

	for (uint32_t s = 0; s < f->n_switches; s++) {
		uint32_t there = osr_fabric_switch_by_guid(g, f->sw_guid[s]);

		for (uint32_t first = 0; there != OSR_NONE && first <= f->max_lid; first += 64) {
			bool changed = false;

			for (uint32_t lid = first; lid < first + 64 && lid <= f->max_lid; lid++) {
				uint32_t d = f->lid_dest[lid];
				uint32_t e = lid <= g->max_lid ? g->lid_dest[lid] : OSR_NONE;

				changed |= d != OSR_NONE && e != OSR_NONE &&
					   osr_lft(&w->routing, s, d) !=
						   osr_lft(&now->routing, there, e);
			}
			n += changed;
		}
	}
	return n;
}

/* The largest load over the least that any minimal routing of the fabric could have. */
static double efi_over_bound(const struct osr_result *x, uint32_t rounds)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	uint64_t bound, most = 0;

	if (test_bound_minimal(&x->fabric, rounds, &scratch, &bound, &diag))
		bench_die(diag.text);
	osr_arena_free(&scratch);
	for (uint32_t c = 0; c < x->fabric.n_channels; c++)
		most = most < x->load[c] ? x->load[c] : most;
	return bound ? (double)most / (double)bound : 0;
}

/* Entries of the whole fabric's tables that lead into a cable: directly, and anywhere on the way. */
static void count_users(const struct osr_result *w, uint32_t chan, uint64_t *direct,
			uint64_t *through)
{
	const struct osr_fabric *f = &w->fabric;

	*direct = *through = 0;
	for (uint32_t d = 0; d < f->n_dests; d++)
		for (uint32_t s = 0; s < f->n_switches; s++)
			for (uint32_t v = s; v != f->dest_switch[d];) {
				uint32_t c = osr_port_channel(f, v, osr_lft(&w->routing, v, d));

				if (c == OSR_NONE)
					break;
				if (c == chan || c == f->chan_rev[chan]) {
					*direct += v == s;
					++*through;
					break;
				}
				v = f->chan_dst[c];
			}
}

/* Channels to `root` from every switch of f, or OSR_NONE; list: [n_switches] of scratch. */
static void distances(const struct osr_fabric *f, uint32_t root, uint32_t *dist, uint32_t *list)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < f->n_switches; s++)
		dist[s] = OSR_NONE;
	dist[root] = 0;
	list[n++] = root;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t c = f->chan_row[list[i]]; c < f->chan_row[list[i] + 1]; c++) {
			if (dist[f->chan_dst[c]] != OSR_NONE)
				continue;
			dist[f->chan_dst[c]] = dist[list[i]] + 1;
			list[n++] = f->chan_dst[c];
		}
}

/*
 * Entries that no routing with shortest paths can keep, and their blocks: they lead into the cable that is dead,
 * or to a switch that is no nearer any more. Both fabrics have the same switches and LIDs.
 */
static uint64_t count_bound(const struct osr_result *w, const struct osr_fabric *now, uint32_t chan,
			    uint64_t *n_blocks)
{
	const struct osr_fabric *f = &w->fabric;
	uint32_t *dist = malloc(2 * f->n_switches * sizeof(*dist)), root = OSR_NONE;
	size_t size = f->max_lid / 64 + (size_t)1;
	uint8_t *block = calloc(f->n_switches * size, 1);
	uint64_t n = 0;

	if (!dist || !block)
		bench_die("out of memory");
	if (now->n_switches != f->n_switches || now->n_dests != f->n_dests) {
		free(block);
		free(dist);
		return 0;
	}
	for (uint32_t t = 0; t < f->n_terminals; t++) {
		uint32_t d = f->lid_dest[f->term_lid[t]];

		if (f->dest_switch[d] != root)
			distances(now, root = f->dest_switch[d], dist, dist + f->n_switches);
		for (uint32_t k = 0; k < 1u << f->term_lmc[t]; k++)
			for (uint32_t s = 0; s < f->n_switches; s++) {
				uint32_t c = osr_port_channel(f, s, osr_lft(&w->routing, s, d + k));
				bool must;

				if (s == root || c == OSR_NONE || dist[s] == OSR_NONE)
					continue;
				must = c == chan || c == f->chan_rev[chan] ||
				       dist[f->chan_dst[c]] >= dist[s];
				n += must;
				block[s * size + f->dest_lid[d + k] / 64] |= must;
			}
	}
	for (size_t i = 0; i < f->n_switches * size; i++)
		*n_blocks += block[i];
	free(block);
	free(dist);
	return n;
}

/* What a machine takes for a breadth-first search of every LID: the measure that times are compared with. */
static double loop_ms(const struct osr_fabric *f)
{
	uint32_t *dist = malloc(2 * f->n_switches * sizeof(*dist));
	double best = 1e30;

	if (!dist)
		bench_die("out of memory");
	for (int i = 0; i < REPEAT; i++) {
		double begin = bench_clock_ms(), ms;

		for (uint32_t d = 0; d < f->n_dests; d++)
			distances(f, f->dest_switch[d], dist, dist + f->n_switches);
		ms = bench_clock_ms() - begin;
		best = ms < best ? ms : best;
	}
	free(dist);
	return best;
}

struct sums {
	bool switches; /* die, not cables */
	bool pile;     /* nothing returns */
	bool kept_only;
	const struct osr_result *last;
	uint32_t rounds; /* for the bound */
	uint64_t n, bound, kept, together, direct, through, changed, anew_changed, sl, lost, longer;
	uint64_t blocks, blocks_anew, blocks_bound;
	uint64_t longer_anew;
	double efi, worst_efi, efi_anew, worst_anew, over_anew, worst_over_anew;
	double worst_direct, worst_through, ms_route, ms_check, ms_full, ms_full_check, drift;
};

/* What a full route would have changed, and loads over the bound. */
static void count_full(const struct osr_result *whole, const struct osr_result *run,
		       const struct osr_result *full, struct sums *n)
{
	double ratio = efi_over_bound(run, n->rounds), anew = efi_over_bound(full, n->rounds);

	n->anew_changed += osr_routing_changed(whole, &full->fabric, &full->routing, NULL);
	n->blocks_anew += count_blocks(whole, full);
	n->efi += ratio;
	n->worst_efi = ratio > n->worst_efi ? ratio : n->worst_efi;
	n->efi_anew += anew;
	n->worst_anew = anew > n->worst_anew ? anew : n->worst_anew;
	n->longer_anew += full->routing.n_longer;
	n->over_anew += ratio / anew;
	n->worst_over_anew = ratio / anew > n->worst_over_anew ? ratio / anew : n->worst_over_anew;
}

/* A cable, or the switch it leads to. */
static void kill_one(const struct bench *b, struct faults *x, const struct osr_result *whole,
		     uint32_t chan, struct sums *n)
{
	uint32_t sw = whole->fabric.chan_dst[chan];
	struct run *run = calloc(1, sizeof(*run)), full = { 0 };
	uint64_t direct, through, changed;
	const struct osr_stable *s = run ? &run->result.routing.stable : NULL;
	char name[32];
	double ratio;

	if (!run)
		bench_die("out of memory");

	if (n->switches)
		x->sw[sw] = true;
	else
		faults_cable(x, chan, true);
	faults_build(x, &run->arena, &run->result.fabric);
	faults_build(x, &full.arena, &full.result.fabric);
	if (!n->pile) {
		x->sw[sw] = false;
		faults_cable(x, chan, false);
	}
	route(b, n->last, run);
	if (!n->kept_only)
		route(b, NULL, &full);
	count_users(whole, chan, &direct, &through);
	n->bound += count_bound(whole, &run->result.fabric, chan, &n->blocks_bound);
	changed = osr_routing_changed(whole, &run->result.fabric, &run->result.routing, NULL);
	if (!s->kept)
		fprintf(stderr, "cable %u to %s: %s; now %s\n", chan,
			osr_switch_name(&whole->fabric, sw, name), s->why,
			run->result.routing.sl ? "by SL" : "any SL");
	n->n++;
	n->kept += s->kept;

	n->together += s->together;
	n->direct += direct;
	n->through += through;
	n->changed += changed;
	n->blocks += count_blocks(whole, &run->result);
	if (!n->kept_only)
		count_full(whole, &run->result, &full.result, n);
	n->sl += s->n_sl_changed;
	n->lost += s->n_sl_lost;
	n->longer += run->result.routing.n_longer;
	ratio = direct ? (double)changed / (double)direct : 0;
	n->worst_direct = ratio > n->worst_direct ? ratio : n->worst_direct;
	ratio = through ? (double)changed / (double)through : 0;
	n->worst_through = ratio > n->worst_through ? ratio : n->worst_through;
	n->ms_route += run->ms_route;
	n->ms_check += run->ms_check;
	n->ms_full += full.ms_route;
	n->ms_full_check += full.ms_check;
	n->drift = s->drift / 1e3 > n->drift ? s->drift / 1e3 : n->drift;
	osr_arena_free(&full.arena);
	/* The next one starts from it, and from its baseline. */
	if (n->pile) {
		n->last = &run->result;
		return;
	}
	osr_arena_free(&run->arena);
	free(run);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct osr_arena scratch = { 0 };
	struct run whole = { 0 };
	double prepare;
	struct osr_diag diag = { "" };
	struct osr_prng seed = { 1 };
	struct sums n = { .rounds = 100 };
	struct faults x;
	uint32_t n_cables = 10;
	int opt;

	bench_init(&b);
	while ((opt = getopt(argc, argv, "e:o:n:s:r:Spkc:")) != -1) {
		if (bench_option(&b, opt, optarg)) {
			continue;
		} else if (opt == 'n') {
			n_cables = (uint32_t)atoi(optarg);
		} else if (opt == 's') {
			seed.state = (uint64_t)atoll(optarg);
		} else if (opt == 'S') {
			n.switches = true;
		} else if (opt == 'p') {
			n.pile = true;
		} else if (opt == 'r') {
			n.rounds = (uint32_t)atoi(optarg);
		} else if (opt == 'k') {
			n.kept_only = true;
		} else if (opt == 'c') {
			b.req.chosen_sls = (uint16_t)((1u << atoi(optarg)) - 1);
		} else {
			bench_die("usage: osr-faults [-e ENGINE] [-o NAME=VALUE] [-n CABLES] [-s "
				  "SEED] "
				  "[-S] [-p] [-r ROUNDS] [-k] [-c CLASSES] FILE");
		}
	}
	if (optind + 1 != argc)
		bench_die("one net file, please");
	bench_read(argv[optind], &whole.arena, &whole.result.fabric);
	route(&b, NULL, &whole);
	prepare = bench_clock_ms();
	if (osr_repair_prepare(&whole.result, &scratch, &whole.arena, &whole.result.routing, &diag))
		bench_die(diag.text);
	prepare = bench_clock_ms() - prepare;
	osr_arena_free(&scratch);
	n.last = &whole.result;
	faults_new(&x, &whole.result.fabric);
	for (uint32_t i = 0; i < n_cables; i++)
		kill_one(&b, &x, &whole.result,
			 osr_prng_below(&seed, whole.result.fabric.n_channels), &n);
	printf("{\"any_sl\": %s, \"cables\": %lu, \"kept\": %lu, \"together\": %lu, \"direct\": "
	       "%.1f, \"through\": "
	       "%.1f, \"bound\": %.1f, \"changed\": %.1f, \"changed_anew\": %.1f, "
	       "\"worst_direct\": %.3f, "
	       "\"worst_through\": %.3f, \"entries\": %lu, \"sl_changed\": %lu, \"sl_lost\": %lu, "
	       "\"longer\": %lu, \"drift\": %.3f, \"route_ms\": %.3f, \"check_ms\": %.3f, "
	       "\"full_route_ms\": %.3f, \"full_check_ms\": %.3f, \"prepare_ms\": %.3f, "
	       "\"blocks\": %.1f, \"blocks_anew\": %.1f, \"blocks_bound\": %.1f, "
	       "\"efi_over_bound\": %.4f, "
	       "\"worst_efi_over_bound\": %.4f, \"efi_anew_over_bound\": %.4f, "
	       "\"worst_efi_anew_over_bound\": %.4f, \"efi_over_anew\": %.4f, "
	       "\"worst_efi_over_anew\": %.4f, \"longer_anew\": %lu, "
	       "\"whole_ms\": %.3f, \"loop_ms\": %.3f}\n",
	       whole.result.routing.sl ? "false" : "true", n.n, n.kept, n.together,
	       (double)n.direct / n.n, (double)n.through / n.n, (double)n.bound / n.n,
	       (double)n.changed / n.n, (double)n.anew_changed / n.n, n.worst_direct,
	       n.worst_through,
	       (unsigned long)whole.result.fabric.n_switches * whole.result.fabric.n_dests, n.sl,
	       n.lost, n.longer, n.drift, n.ms_route / n.n, n.ms_check / n.n, n.ms_full / n.n,
	       n.ms_full_check / n.n, prepare, (double)n.blocks / n.n, (double)n.blocks_anew / n.n,
	       (double)n.blocks_bound / n.n, n.efi / n.n, n.worst_efi, n.efi_anew / n.n,
	       n.worst_anew, n.over_anew / n.n, n.worst_over_anew, n.longer_anew,
	       whole.ms_route + whole.ms_check, loop_ms(&whole.result.fabric));
	faults_free(&x);
	osr_arena_free(&whole.arena);
	return 0;
}
