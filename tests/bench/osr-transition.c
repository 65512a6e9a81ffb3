/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-transition [-e ENGINE] [-o NAME=VALUE] [-n TRIALS] [-k CABLES] [-s SEED] [-v VLS] FILE
 *
 * CABLES die at once on a whole fabric, and return: how often can old and new tables deadlock while
 * they mix, as the engine made them and with what is taken over from the old ones, and what does the
 * answer cost? Prints one line of JSON.
 */
#include <osmroutes/prng.h>
#include "core/repair/repair.h"
#include "core/transition/transition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "faults.h"

struct sums {
	unsigned long n, kept, together, bounces, asked, plain, order, sls, unasked;
	/* In the end, two rounds included; of those not proven the ones without a lost SL. */
	unsigned long free, rounds, withdrawn, whole, unknown;
	double ms_route, ms_check, ms_transition, ms_plain, ms_prefer, worst;
};

struct sweep {
	struct osr_arena arena;
	struct osr_result x;
};

/* The tables as they are made, before anything is taken over from the old ones; time of the question. */
static double ask_plain(const struct bench *b, const struct osr_result *before, struct sweep *s,
			struct osr_result *plain)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct osr_job job = bench_job(b, before, &scratch, &s->arena);
	struct osr_sweep sweep;
	double start;

	job.no_transition = "asked below";
	job.diag = &diag;
	plain->fabric = s->x.fabric;
	if (osr_sweep_route(&job, plain, &sweep))
		bench_die(diag.text);
	if (plain->routing.stable.kept && plain->routing.stable.transition == OSR_TRANSITION_LOOP)
		return 0;
	start = bench_clock_ms();
	job.fabric = &plain->fabric;
	job.routing = &plain->routing;
	if (osr_transition_check(&job, false))
		bench_die(diag.text);
	osr_arena_free(&scratch);
	return bench_clock_ms() - start;
}

static void count_asked(const struct bench *b, const struct osr_result *before, struct sweep *s,
			double ms, struct sums *n)
{
	const struct osr_stable *t = &s->x.routing.stable;
	struct osr_result plain;
	double ms_plain;

	if (t->kept && t->together)
		return;
	ms_plain = ask_plain(b, before, s, &plain);
	if (plain.routing.stable.kept && plain.routing.stable.transition == OSR_TRANSITION_LOOP &&
	    !ms_plain) {
		n->bounces++;
		return;
	}
	n->asked++;
	n->ms_plain += ms_plain;
	n->plain += plain.routing.stable.transition == OSR_TRANSITION_FREE;
	n->unasked += plain.routing.stable.transition == OSR_TRANSITION_UNASKED;
	n->ms_prefer += ms;
	n->worst = ms > n->worst ? ms : n->worst;
	n->order += t->transition_kept == OSR_KEPT_ORDER;
	n->sls += (t->transition_kept & OSR_KEPT_SLS) != 0;
}

/* As the plugin does it; n: NULL for the first sweep of all. */
static bool sweep(const struct bench *b, const struct faults *faults,
		  const struct osr_result *before, struct sweep *s, struct sums *n)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct osr_job job = bench_job(b, before, &scratch, &s->arena);
	struct osr_sweep done;
	enum osr_status st;

	faults_build(faults, &s->arena, &s->x.fabric);
	job.diag = &diag;
	st = osr_sweep(&job, &s->x, &done);
	if (!st && !n)
		st = osr_repair_prepare(&s->x, &scratch, &s->arena, &s->x.routing, &diag);
	osr_arena_free(&scratch);
	if (st || done.refused) {
		fprintf(stderr, "%s\n", st ? diag.text : s->x.routing.stable.why);
		return false;
	}
	if (!n)
		return true;
	n->n++;
	n->ms_route += done.ms_route;
	n->ms_check += done.ms_check;
	n->ms_transition += done.ms_transition;
	n->kept += s->x.routing.stable.kept;
	n->together += s->x.routing.stable.kept && s->x.routing.stable.together;
	n->rounds += s->x.routing.stable.transition == OSR_TRANSITION_ROUNDS;
	n->free += (s->x.routing.stable.kept && s->x.routing.stable.together) ||
		   s->x.routing.stable.transition == OSR_TRANSITION_FREE ||
		   s->x.routing.stable.transition == OSR_TRANSITION_ROUNDS;
	if (s->x.routing.stable.transition == OSR_TRANSITION_LOOP)
		fprintf(stderr, "%s%lu SLs lost: %s\n",
			s->x.routing.stable.kept ? "" : "full route, ",
			(unsigned long)s->x.routing.stable.n_sl_lost,
			s->x.routing.stable.transition_why);
	n->unknown += s->x.routing.stable.transition == OSR_TRANSITION_LOOP &&
		      !s->x.routing.stable.n_sl_lost;
	n->withdrawn += s->x.routing.stable.n_withdrawn;
	n->whole += s->x.routing.stable.n_withdrawn_whole;
	count_asked(b, before, s, done.ms_transition, n);
	return true;
}

static void trial(const struct bench *b, struct faults *faults, const struct sweep *whole,
		  struct osr_prng *seed, uint32_t n_cables, struct sums *down, struct sums *up)
{
	struct sweep broken = { 0 }, back = { 0 };
	const struct osr_fabric *f = faults->whole;

	memset(faults->chan, 0, f->n_channels * sizeof(bool));
	for (uint32_t i = 0; i < n_cables; i++)
		faults_cable(faults, osr_prng_below(seed, f->n_channels), true);
	if (sweep(b, faults, &whole->x, &broken, down)) {
		memset(faults->chan, 0, f->n_channels * sizeof(bool));
		sweep(b, faults, &broken.x, &back, up);
	}
	osr_arena_free(&broken.arena);
	osr_arena_free(&back.arena);
}

static void print(const char *what, const struct sums *n)
{
	double asked = n->asked ? (double)n->asked : 1, all = n->n ? (double)n->n : 1;

	printf("\"%s\": {\"n\": %lu, \"proven\": %lu, \"in_rounds\": %lu, "
	       "\"loop_without_lost_sl\": %lu, \"withdrawn\": %lu, "
	       "\"withdrawn_whole\": %lu, \"kept\": %lu, \"together\": %lu, \"bounces\": %lu, "
	       "\"asked\": %lu, \"free\": %lu, "
	       "\"with_order\": %lu, \"with_sls\": %lu, \"unasked\": %lu, \"route_ms\": %.2f, "
	       "\"check_ms\": %.2f, \"transition_ms\": %.2f, \"ask_ms\": %.2f, \"choose_ms\": "
	       "%.2f, \"choose_worst_ms\": "
	       "%.2f}",
	       what, n->n, n->free, n->rounds, n->unknown, n->withdrawn, n->whole, n->kept,
	       n->together, n->bounces, n->asked, n->plain, n->order, n->sls, n->unasked,
	       n->ms_route / all, n->ms_check / all, n->ms_transition / all, n->ms_plain / asked,
	       n->ms_prefer / asked, n->worst);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct sums down = { 0 }, up = { 0 };
	struct osr_prng seed = { 1 };
	struct osr_arena arena = { 0 };
	struct sweep whole = { 0 };
	struct osr_fabric f;
	struct faults faults;
	uint32_t n_trials = 10, n_cables = 1;
	int opt;

	bench_init(&b);
	while ((opt = getopt(argc, argv, "e:o:n:k:s:v:")) != -1) {
		if (bench_option(&b, opt, optarg)) {
			continue;
		} else if (opt == 'n') {
			n_trials = (uint32_t)atoi(optarg);
		} else if (opt == 'k') {
			n_cables = (uint32_t)atoi(optarg);
		} else if (opt == 's') {
			seed.state = (uint64_t)atoll(optarg);
		} else if (opt == 'v') {
			b.req.max_vls = (uint8_t)atoi(optarg);
		} else {
			bench_die(
				"usage: osr-transition [-e ENGINE] [-o NAME=VALUE] [-n TRIALS] [-k "
				"CABLES] "
				"[-s SEED] [-v VLS] FILE");
		}
	}
	if (optind + 1 != argc)
		bench_die("one net file, please");
	bench_read(argv[optind], &arena, &f);
	faults_new(&faults, &f);
	if (!sweep(&b, &faults, NULL, &whole, NULL))
		return 1;
	for (uint32_t i = 0; i < n_trials; i++)
		trial(&b, &faults, &whole, &seed, n_cables, &down, &up);
	printf("{");
	print("dead", &down);
	printf(", ");
	print("back", &up);
	printf("}\n");
	faults_free(&faults);
	osr_arena_free(&whole.arena);
	osr_arena_free(&arena);
	return 0;
}
