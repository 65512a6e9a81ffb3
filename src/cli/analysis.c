/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/analysis.h"

#include <string.h>

#include "cli/cli.h"

/* What all loads would sum up to if every route were minimal. Often they do. */
static enum osr_status minimal_sum(const struct osr_fabric *f, const struct cli_analysis *a,
				   const struct osr_loads *l, struct osr_arena *scratch,
				   uint64_t *sum, struct osr_diag *diag)
{
	if (a->st || a->verdict.n_longer || l->n_no_path)
		return osr_loads_minimal(f, scratch, sum, diag);
	*sum = 0;
	for (uint32_t c = 0; c < f->n_channels; c++)
		*sum += l->load[c];
	return OSR_OK;
}

static enum osr_status weigh(const struct cli_traffic *traffic, const struct osr_fabric *f,
			     const struct osr_routing *r, uint32_t k, struct osr_arena *scratch,
			     struct cli_analysis *a, struct osr_diag *diag)
{
	struct osr_loads l;
	uint64_t minimal = 0;
	enum osr_status st = osr_loads_init(&l, f, scratch, diag);

	if (!st)
		st = cli_loads(&traffic->pool, f, r, &l, diag);
	if (!st)
		st = minimal_sum(f, a, &l, scratch, &minimal, diag);
	if (st)
		return st;
	osr_loads_balance(&l, f, minimal, k, &a->balance);
	memcpy(a->hops, l.hops, sizeof(a->hops));
	a->n_routes = l.n_routes;
	a->n_lost = l.n_no_path;
	a->has_loads = true;
	return OSR_OK;
}

/*
 * Foreign tables need not satisfy our checker (stock ftree leaves out routes between switches), and
 * yet carry the traffic of hosts.
 */
void cli_analyze_tables(const struct cli_traffic *traffic, const struct osr_fabric *f,
			const struct cli_tables *t, uint32_t k, struct cli_analysis *a)
{
	const struct osr_routing *r = &t->routing;
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	double start = cli_cpu_ms();
	enum osr_status st;

	*a = (struct cli_analysis){ .verdict = t->sweep.verdict, .check_ms = t->sweep.ms_check };
	if (!t->sweep.routed) {
		a->st = osr_check(f, r, &scratch, &a->verdict, &a->diag);
		a->check_ms = cli_cpu_ms() - start;
	}
	if (a->st && a->st != OSR_CHECK_FAILED)
		goto out;
	st = weigh(traffic, f, r, k, &scratch, a, &diag);
	start = cli_cpu_ms();
	if (!st)
		st = cli_traffic_bisect(traffic, f, r, &a->bandwidth, &diag);
	a->bandwidth_ms = cli_cpu_ms() - start;
	/* Without hosts everything else can still be said; and what the checker found comes first. */
	if (st && st != OSR_NOT_APPLICABLE && !a->st) {
		a->st = st;
		a->diag = diag;
	}
out:
	osr_arena_free(&scratch);
}

double cli_mean_hops(const struct cli_analysis *a)
{
	uint64_t sum = 0;

	for (uint32_t h = 0; h <= OSR_LOADS_MAX_HOPS; h++)
		sum += h * a->hops[h];
	return a->n_routes ? (double)sum / (double)a->n_routes : 0;
}

const struct argp_child cli_analysis_children[] = { { &input_argp, 0, NULL, 0 },
						    { &subjects_argp, 0, NULL, 0 },
						    { &traffic_argp, 0, NULL, 0 },
						    { &out_argp, 0, NULL, 0 },
						    { NULL, 0, NULL, 0 } };
