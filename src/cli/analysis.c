/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/analysis.h"

#include <string.h>

#include "cli/cli.h"

/* What all loads would sum up to if every route were minimal. Often they do. */
static enum osr_status minimal_sum(const struct osr_fabric *f, const struct cli_analysis *a,
				   const struct osr_loads *l, struct osr_arena *scratch,
				   uint64_t *sum, struct osr_diag *diag)
{
	if (a->st || a->n_longer || l->n_no_path)
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

/* What the checker said of an engine's tables saves the search for what it has proven. */
static void verify_tables(const struct osr_fabric *f, struct cli_tables *t,
			  struct osr_arena *scratch, struct cli_analysis *a)
{
	const struct osr_verdict *checked = t->sweep.routed ? &t->sweep.verdict : NULL;
	const struct osr_audit *x = &a->found.audit;
	struct osr_inquiry ask = { .f = f, .gen = &t->gen, .checked = checked };
	enum osr_question which;

	a->st = osr_verify(&ask, scratch, &t->arena, &a->found, &a->diag);
	if (a->st)
		return;
	a->n_from = checked ? checked->n_routes : x->n_routes;
	a->n_longer = checked ? checked->n_longer : x->n_longer;
	a->max_hops = checked ? checked->max_hops : x->max_hops;
	a->max_longer = checked ? checked->max_longer : x->max_longer;
	if (osr_verdict_of(&a->found, OSR_REQUIRED, &which) == OSR_REFUTED)
		a->st = osr_fail(&a->diag, OSR_CHECK_FAILED, "%s", a->found.on[which].why);
}

void cli_analyze_tables(const struct cli_traffic *traffic, const struct osr_fabric *f,
			struct cli_tables *t, uint32_t k, struct cli_analysis *a)
{
	const struct osr_routing *r = &t->routing;
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	double start = cli_cpu_ms();
	enum osr_status st;

	*a = (struct cli_analysis){ .st = OSR_OK };
	verify_tables(f, t, &scratch, a);
	a->check_ms = t->sweep.ms_check + cli_cpu_ms() - start;
	if (a->st && a->st != OSR_CHECK_FAILED)
		goto out;
	st = weigh(traffic, f, r, k, &scratch, a, &diag);
	start = cli_cpu_ms();
	if (!st)
		st = cli_traffic_bisect(traffic, f, r, &a->bandwidth, &diag);
	a->bandwidth_ms = cli_cpu_ms() - start;
	/* Without hosts everything else can still be said; and what is wrong with the tables comes first. */
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
