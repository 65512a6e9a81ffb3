/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <io/netfile.h>
#include <io/netfile.h>

_Noreturn void bench_die(const char *text)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
	exit(1);
}

double bench_clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void use(struct bench *b, const char *engine)
{
	b->e = osr_engine_find(engine);
	if (!b->e)
		bench_die("no such engine");
	osr_values_default(&b->v, b->e->params);
}

void bench_init(struct bench *b)
{
	*b = (struct bench){ .req = { .max_vls = 8, .multicast = true } };
	use(b, "dfsssp");
}

static void set(struct bench *b, char *text)
{
	char *value = strchr(text, '=');
	struct osr_diag diag = { "" };

	if (!value)
		bench_die("-o NAME=VALUE");
	*value = 0;
	if (osr_values_set(&b->v, b->e->params, text, value + 1, &diag))
		bench_die(diag.text);
}

bool bench_option(struct bench *b, int opt, char *arg)
{
	if (opt == 'e')
		use(b, arg);
	else if (opt == 'o')
		set(b, arg);
	return opt == 'e' || opt == 'o';
}

void bench_read(const char *path, struct osr_arena *arena, struct osr_fabric *f)
{
	struct osr_net net = { 0 };
	struct osr_diag diag = { "" };
	struct osr_lines in;

	if (osr_fabricfile_read(osr_lines_open(&in, path, &diag), &net) ||
	    osr_net_fabric(&net, -1, arena, f, &diag))
		bench_die(diag.text);
	osr_net_free(&net);
}

struct osr_job bench_job(const struct bench *b, const struct osr_result *before,
			 struct osr_arena *scratch, struct osr_arena *arena)
{
	struct osr_job job = { .engine = b->e,
			       .values = &b->v,
			       .request = b->req,
			       .previous = before,
			       .scratch = scratch,
			       .arena = arena };

	job.request.clock_ms = bench_clock_ms;
	return job;
}
