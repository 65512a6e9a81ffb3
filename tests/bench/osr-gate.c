/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-gate [-e ENGINE] [-o NAME=VALUE] [-v VLS] [-n RUNS] FILE
 *
 * CPU of the proved checker over that of the other one, on the same tables: the least of RUNS runs, each
 * with the threads of the machine. Prints one line of JSON.
 */
#include "core/proved/gate.h"
#include <osmroutes/check.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"

static double check_ms(const struct osr_result *x, struct osr_arena *scratch)
{
	struct osr_arena kept = { 0 };
	struct osr_checked checked;
	struct osr_diag diag = { "" };
	double start = bench_clock_ms(), end;

	if (osr_check_keep(&x->fabric, &x->routing, &kept, scratch, &checked, &diag))
		bench_die(diag.text);
	end = bench_clock_ms();
	osr_arena_free(&kept);
	return end - start;
}

static double gate_ms(const struct osr_result *x, struct osr_arena *scratch)
{
	struct osr_diag diag = { "" };
	double start = bench_clock_ms();

	if (osr_gate(&x->fabric, &x->routing, scratch, &diag))
		bench_die(diag.text);
	return bench_clock_ms() - start;
}

int main(int argc, char **argv)
{
	struct bench b;
	struct osr_arena arena = { 0 }, scratch = { 0 };
	struct osr_result x = { 0 };
	struct osr_sweep done;
	struct osr_diag diag = { "" };
	struct osr_job job;
	double check = 1e30, gate = 1e30;
	int opt, n_runs = 5;

	bench_init(&b);
	while ((opt = getopt(argc, argv, "e:o:v:n:")) != -1) {
		if (opt == 'v')
			b.req.max_vls = (uint8_t)atoi(optarg);
		else if (opt == 'n')
			n_runs = atoi(optarg);
		else if (!bench_option(&b, opt, optarg))
			bench_die("usage: osr-gate [-e ENGINE] [-o NAME=VALUE] [-v VLS] [-n RUNS] "
				  "FILE");
	}
	if (optind + 1 != argc)
		bench_die("one net file, please");
	bench_read(argv[optind], &arena, &x.fabric);
	job = bench_job(&b, NULL, &scratch, &arena);
	job.diag = &diag;
	if (osr_sweep_route(&job, &x, &done))
		bench_die(diag.text);
	for (int i = 0; i < n_runs; i++) {
		double a = check_ms(&x, &scratch), z = gate_ms(&x, &scratch);

		check = a < check ? a : check;
		gate = z < gate ? z : gate;
	}
	printf("{\"hosts\": %u, \"switches\": %u, \"check_ms\": %.1f, \"gate_ms\": %.1f, "
	       "\"ratio\": %.2f}\n",
	       x.fabric.n_terminals - x.fabric.n_switches, x.fabric.n_switches, check, gate,
	       gate / check);
	osr_arena_free(&scratch);
	osr_arena_free(&arena);
	return 0;
}
