/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-faults [-e ENGINE] [-o NAME=VALUE] [-n FAULTS] [-s SEED] [-S] [-p] [-t] [-g] [-r ROUNDS] FILE
 *
 * One cable after the other dies (-S: the switch at its end), each on the whole fabric (-p: none
 * returns, and each re-route follows the one before; what changes counts from the whole fabric):
 * what changes, and what it costs against a full route of the same fabric and against the least
 * that any routing by shortest paths could do (-r: rounds of the bound of tables.h). -t: each cable
 * dies and returns; how often can old and new tables deadlock while they mix? -g: no fault; CPU of
 * the proved checker over that of the other one, the least of FAULTS runs each. Prints one line of
 * JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <osmroutes/check.h>
#include <osmroutes/clock.h>
#include <osmroutes/prng.h>
#include <osmroutes/sweep.h>

#include "core/proved/gate.h"
#include "core/repair/repair.h"
#include "faults.h"
#include "io/netfile.h"
#include "tables.h"

#define REPEAT 3

static const struct osr_engine *engine;
static struct osr_values values;

struct run {
	struct osr_arena arena;
	struct osr_result result;
	double ms_route, ms_transition;
};

static _Noreturn void die(const char *text)
{
	fprintf(stderr, "osr-faults: %s\n", text);
	exit(1);
}

static double clock_ms(void)
{
	return osr_clock_ms(CLOCK_PROCESS_CPUTIME_ID);
}

/* What is left is routed, from `before` or from nothing; the fastest of some times. */
static struct run *route(const struct faults *faults, const struct osr_result *before)
{
	struct run *run = calloc(1, sizeof(*run));
	struct osr_diag diag = { "" };
	struct osr_arena_mark mark;

	if (!run)
		die("out of memory");
	faults_build(faults, &run->arena, &run->result.fabric);
	mark = osr_arena_mark(&run->arena);
	run->ms_route = 1e30;
	for (int i = 0; i < REPEAT; i++) {
		struct osr_arena scratch = { 0 };
		const struct osr_job job = {
			.engine = engine,
			.values = &values,
			.request = { .max_vls = 8, .multicast = true, .clock_ms = clock_ms },
			.previous = before,
			.scratch = &scratch,
			.arena = &run->arena,
			.diag = &diag
		};
		struct osr_sweep sweep;

		osr_arena_reset(&run->arena, mark);
		if (osr_sweep(&job, &run->result, &sweep) || sweep.refused)
			die(sweep.refused ? run->result.routing.stable.why : diag.text);
		run->ms_route = sweep.ms_route < run->ms_route ? sweep.ms_route : run->ms_route;
		run->ms_transition = sweep.ms_transition;
		osr_arena_free(&scratch);
	}
	return run;
}

static void drop(struct run *run)
{
	osr_arena_free(&run->arena);
	free(run);
}

/* ---- what changes, and what has to --------------------------------------------------------- */

/* What switches are sent: 64 LIDs of one switch, if an entry among them is another one. */
static uint64_t count_blocks(const struct osr_result *result, const struct osr_result *now)
{
	const struct osr_fabric *f = &result->fabric, *g = &now->fabric;
	uint64_t n = 0;

	for (uint32_t s = 0; s < f->n_switches; s++) {
		uint32_t there = osr_fabric_switch_by_guid(g, f->sw_guid[s]);

		for (uint32_t first = 0; there != OSR_NONE && first <= f->max_lid; first += 64) {
			bool changed = false;

			for (uint32_t lid = first; lid < first + 64 && lid <= f->max_lid; lid++) {
				uint32_t d = f->lid_dest[lid];
				uint32_t e = lid <= g->max_lid ? g->lid_dest[lid] : OSR_NONE;

				changed |= d != OSR_NONE && e != OSR_NONE &&
					   osr_lft(&result->routing, s, d) !=
						   osr_lft(&now->routing, there, e);
			}
			n += changed;
		}
	}
	return n;
}

/* The largest load over the least that any minimal routing of the fabric could have. */
static double efi_over_bound(const struct osr_result *result, uint32_t rounds)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	uint64_t bound, most = 0;

	if (test_bound_minimal(&result->fabric, rounds, &scratch, &bound, &diag))
		die(diag.text);
	osr_arena_free(&scratch);
	for (uint32_t c = 0; c < result->fabric.n_channels; c++)
		most = most < result->load[c] ? result->load[c] : most;
	return bound ? (double)most / (double)bound : 0;
}

/*
 * Entries that no routing with shortest paths can keep, and their blocks: they lead into the cable
 * that is dead, or to a switch that is no nearer any more. Both fabrics have the same switches and
 * LIDs.
 */
static uint64_t count_bound(const struct osr_result *result, const struct osr_fabric *now,
			    uint32_t chan, uint64_t *n_blocks)
{
	const struct osr_fabric *fabric = &result->fabric;
	uint32_t *dist = malloc(fabric->n_switches * sizeof(*dist)), root = OSR_NONE;
	size_t size = fabric->max_lid / 64 + (size_t)1;
	uint8_t *block = calloc(fabric->n_switches * size, 1);
	uint64_t n = 0;

	if (!dist || !block)
		die("out of memory");
	for (uint32_t d = 0; d < fabric->n_dests && now->n_dests == fabric->n_dests; d++) {
		if (fabric->dest_switch[d] != root)
			test_distances(now, root = fabric->dest_switch[d], dist);
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			uint32_t c = osr_port_channel(fabric, s, osr_lft(&result->routing, s, d));
			bool must;

			if (s == root || c == OSR_NONE || dist[s] == OSR_NONE)
				continue;
			must = c == chan || c == fabric->chan_rev[chan] ||
			       dist[fabric->chan_dst[c]] >= dist[s];
			n += must;
			block[s * size + fabric->dest_lid[d] / 64] |= must;
		}
	}
	*n_blocks = 0;
	for (size_t i = 0; i < fabric->n_switches * size; i++)
		*n_blocks += block[i];
	free(block);
	free(dist);
	return n;
}

/* ---- one fault after the other ------------------------------------------------------------- */

/* Of all faults the sum, the mean or the worst, with so many digits. */
static struct figure {
	const char *name;
	enum { SUM, MEAN, WORST } how;
	int digits;
	double value;
} figures[32];

static void note(const char *name, int how, int digits, double x)
{
	struct figure *figure = figures;

	while (figure->name && strcmp(figure->name, name))
		figure++;
	x = how != WORST ? figure->value + x : x > figure->value ? x : figure->value;
	*figure = (struct figure){ name, how, digits, x };
}

/* What became of a fault. */
static void count(const struct osr_result *whole, const struct run *run, const struct run *full,
		  uint32_t chan, uint32_t rounds)
{
	const struct osr_fabric *fabric = &run->result.fabric;
	double ratio = efi_over_bound(&run->result, rounds),
	       anew = efi_over_bound(&full->result, rounds);
	double blocks = (double)count_blocks(whole, &run->result);
	uint64_t must, bound = count_bound(whole, fabric, chan, &must);

	note("cables", SUM, 0, 1);
	note("kept", SUM, 0, run->result.routing.stable.kept);
	note("bound", SUM, 0, (double)bound);
	note("changed", SUM, 0,
	     (double)osr_routing_changed(whole, fabric, &run->result.routing, NULL));
	note("sl_lost", SUM, 0, run->result.routing.stable.n_sl_lost);
	note("longer", SUM, 0, run->result.routing.n_longer);
	note("longer_anew", SUM, 0, full->result.routing.n_longer);
	note("worst_longer", WORST, 4,
	     (double)run->result.routing.n_longer / fabric->n_dests / fabric->n_switches);
	note("blocks", MEAN, 1, blocks);
	note("blocks_anew", MEAN, 1, (double)count_blocks(whole, &full->result));
	note("blocks_bound", MEAN, 1, (double)must);
	note("worst_blocks_over_bound", WORST, 4, must ? blocks / (double)must : 0);
	note("efi_over_bound", MEAN, 4, ratio);
	note("worst_efi_over_bound", WORST, 4, ratio);
	note("efi_anew_over_bound", MEAN, 4, anew);
	note("worst_efi_anew_over_bound", WORST, 4, anew);
	note("worst_efi_over_anew", WORST, 4, ratio / anew);
	note("route_ms", MEAN, 3, run->ms_route);
	note("full_route_ms", MEAN, 3, full->ms_route);
}

static void die_one_by_one(struct faults *faults, struct run *whole, struct osr_prng *seed,
			   uint32_t n_faults, bool switches, bool pile, uint32_t rounds)
{
	struct run *before[n_faults + 1];

	before[0] = whole;
	for (uint32_t i = 0; i < n_faults; i++) {
		uint32_t chan = osr_prng_below(seed, faults->whole->n_channels),
			 sw = faults->whole->chan_dst[chan];
		struct run *full;

		if (switches)
			faults->sw[sw] = true;
		else
			faults_cable(faults, chan, true);
		before[i + 1] = route(faults, &before[pile ? i : 0]->result);
		full = route(faults, NULL);
		if (!pile) {
			faults->sw[sw] = false;
			faults_cable(faults, chan, false);
		}
		count(&whole->result, before[i + 1], full, chan, rounds);
		drop(full);
	}
	for (uint32_t i = n_faults; i; i--)
		drop(before[i]);
	for (const struct figure *figure = figures; figure->name; figure++)
		printf("%s\"%s\": %.*f", figure == figures ? "{" : ", ", figure->name,
		       figure->digits, figure->value / (figure->how == MEAN ? n_faults : 1));
	printf("}\n");
}

/* ---- transitions --------------------------------------------------------------------------- */

struct mixes {
	unsigned long n, kept, proven, rounds, withdrawn, whole;
	double ms;
};

static void count_mix(const struct run *run, struct mixes *mixes)
{
	const struct osr_stable *stable = &run->result.routing.stable;

	mixes->n++;
	mixes->kept += stable->kept;
	mixes->rounds += stable->transition == OSR_TRANSITION_ROUNDS;
	mixes->proven += (stable->kept && stable->together) ||
			 stable->transition == OSR_TRANSITION_FREE ||
			 stable->transition == OSR_TRANSITION_ROUNDS;
	mixes->withdrawn += stable->n_withdrawn;
	mixes->whole += stable->n_withdrawn_whole;
	mixes->ms += run->ms_transition;
}

static void die_and_return(struct faults *faults, const struct run *whole, struct osr_prng *seed,
			   uint32_t n_faults)
{
	static const char *const names[] = { "dead", "back" };
	struct mixes mixes[2] = { { 0 } };

	for (uint32_t i = 0; i < n_faults; i++) {
		uint32_t chan = osr_prng_below(seed, faults->whole->n_channels);
		struct run *broken, *back;

		faults_cable(faults, chan, true);
		broken = route(faults, &whole->result);
		faults_cable(faults, chan, false);
		back = route(faults, &broken->result);
		count_mix(broken, &mixes[0]);
		count_mix(back, &mixes[1]);
		drop(broken);
		drop(back);
	}
	for (int i = 0; i < 2; i++)
		printf("%s\"%s\": {\"n\": %lu, \"proven\": %lu, \"in_rounds\": %lu, \"withdrawn\": "
		       "%lu, \"withdrawn_whole\": %lu, \"kept\": %lu, \"transition_ms\": %.2f}",
		       i ? ", " : "{", names[i], mixes[i].n, mixes[i].proven, mixes[i].rounds,
		       mixes[i].withdrawn, mixes[i].whole, mixes[i].kept, mixes[i].ms / mixes[i].n);
	printf("}\n");
}

/* Both on the same tables, with the threads of the machine. */
static void gate_over_check(const struct osr_result *result, uint32_t n_runs)
{
	double check = 1e30, gate = 1e30;

	for (uint32_t i = 0; i < n_runs; i++) {
		struct osr_arena kept = { 0 }, scratch = { 0 };
		struct osr_checked checked;
		struct osr_diag diag = { "" };
		double start = clock_ms(), half;

		if (osr_check_keep(&result->fabric, &result->routing, &kept, &scratch, &checked,
				   &diag))
			die(diag.text);
		half = clock_ms();
		check = half - start < check ? half - start : check;
		if (osr_gate(&result->fabric, &result->routing, &scratch, &diag))
			die(diag.text);
		start = clock_ms();
		gate = start - half < gate ? start - half : gate;
		osr_arena_free(&scratch);
		osr_arena_free(&kept);
	}
	printf("{\"check_ms\": %.1f, \"gate_ms\": %.1f, \"ratio\": %.2f}\n", check, gate,
	       gate / check);
}

int main(int argc, char **argv)
{
	struct osr_arena arena = { 0 }, scratch = { 0 };
	uint32_t n_faults = 10, rounds = 100;
	bool switches = false, pile = false, transitions = false, gate = false;
	struct osr_prng seed = { 1 };
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };
	struct osr_fabric fabric;
	struct faults faults;
	struct osr_lines in;
	struct run *whole;
	char *value;
	int opt;

	engine = osr_engine_find("dfsssp");
	osr_values_default(&values, engine->params);
	while ((opt = getopt(argc, argv, "e:o:n:s:r:Sptg")) != -1) {
		switches |= opt == 'S';
		pile |= opt == 'p';
		transitions |= opt == 't';
		gate |= opt == 'g';
		if (opt == 'o' && (value = strchr(optarg, '='))) {
			*value = 0;
			if (osr_values_set(&values, engine->params, optarg, value + 1, &diag))
				die(diag.text);
		} else if (opt == 'n')
			n_faults = (uint32_t)atoi(optarg);
		else if (opt == 's')
			seed.state = (uint64_t)atoll(optarg);
		else if (opt == 'r')
			rounds = (uint32_t)atoi(optarg);
		else if (opt == '?' || opt == 'o')
			die("-e ENGINE, -o NAME=VALUE, -n FAULTS, -s SEED, -r ROUNDS, -S, -p, -t "
			    "or -g, and a net file");
		if (opt != 'e')
			continue;
		engine = osr_engine_find(optarg);
		if (!engine)
			die("no such engine");
		osr_values_default(&values, engine->params);
	}
	if (optind + 1 != argc || !n_faults)
		die("one net file, please");
	/* With new LIDs, so that every fabric has them. */
	if (osr_fabricfile_read(osr_lines_open(&in, argv[optind], &diag), &net) ||
	    osr_net_fabric(&net, -1, &arena, &fabric, &diag))
		die(diag.text);
	osr_net_free(&net);
	faults_new(&faults, &fabric);
	whole = route(&faults, NULL);
	if (osr_repair_prepare(&whole->result, &scratch, &whole->arena, &whole->result.routing,
			       &diag))
		die(diag.text);
	osr_arena_free(&scratch);
	if (gate)
		gate_over_check(&whole->result, n_faults);
	else if (transitions)
		die_and_return(&faults, whole, &seed, n_faults);
	else
		die_one_by_one(&faults, whole, &seed, n_faults, switches, pile, rounds);
	drop(whole);
	faults_free(&faults);
	osr_arena_free(&arena);
	return 0;
}
