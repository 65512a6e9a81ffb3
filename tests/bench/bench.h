/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bench.h - what osr-faults and osr-transition share: an engine, its options, a fabric, a clock. */
#ifndef BENCH_H
#define BENCH_H

#include <osmroutes/sweep.h>

struct bench {
	const struct osr_engine *e;
	struct osr_values v;
	struct osr_request req;
};

/* dfsssp with its defaults, eight lanes, multicast. */
void bench_init(struct bench *b);

/* -e ENGINE and -o NAME=VALUE; false if it is another option. */
bool bench_option(struct bench *b, int opt, char *arg);

/* With new LIDs, so that every fabric has them. */
void bench_read(const char *path, struct osr_arena *arena, struct osr_fabric *f);

/* A sweep from `before`, timed by bench_clock_ms(); without diag. */
struct osr_job bench_job(const struct bench *b, const struct osr_result *before,
			 struct osr_arena *scratch, struct osr_arena *arena);

double bench_clock_ms(void); /* CPU of the process */

/* "program: text", and the end. */
_Noreturn void bench_die(const char *text);

#endif
