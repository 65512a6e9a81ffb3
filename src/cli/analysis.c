/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/analysis.h"

#include <string.h>

#define SIGMA 4 /* exponent of the deviation metric, as the Angara paper has it */

/* What all loads would sum up to if every route were minimal. Often they do. */
static enum osr_status minimal_sum(const struct osr_fabric *fabric,
				   const struct cli_analysis *analysis,
				   const struct osr_loads *loads, struct osr_arena *scratch,
				   uint64_t *sum, struct osr_diag *diag)
{
	if (analysis->st || analysis->n_longer || loads->n_no_path)
		return osr_loads_minimal(fabric, scratch, sum, diag);
	*sum = 0;
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		*sum += loads->load[c];
	return OSR_OK;
}

static enum osr_status analysis_weigh(const struct cli_traffic *traffic,
				      const struct osr_fabric *fabric,
				      const struct osr_routing *routing, struct osr_arena *scratch,
				      struct cli_analysis *analysis, struct osr_diag *diag)
{
	struct osr_loads loads;
	uint64_t minimal = 0;
	enum osr_status st = osr_loads_init(&loads, fabric, scratch, diag);

	if (!st)
		st = cli_loads(&traffic->pool, fabric, routing, &loads, diag);
	if (!st)
		st = minimal_sum(fabric, analysis, &loads, scratch, &minimal, diag);
	if (st)
		return st;
	osr_loads_balance(&loads, fabric, minimal, SIGMA, &analysis->balance);
	memcpy(analysis->hops, loads.hops, sizeof(analysis->hops));
	analysis->n_routes = loads.n_routes;
	analysis->n_lost = loads.n_no_path;
	analysis->has_loads = true;
	return OSR_OK;
}

/* What the checker said of an engine's tables saves the search for what it has proven. */
static void analysis_verify_tables(const struct osr_fabric *fabric, struct cli_tables *tables,
				   struct osr_arena *scratch, struct cli_analysis *analysis)
{
	const struct osr_verdict *checked = tables->sweep.routed ? &tables->sweep.verdict : NULL;
	const struct osr_audit *audit = &analysis->found.audit;
	struct osr_inquiry ask = { .f = fabric, .gen = &tables->gen, .checked = checked };
	enum osr_question which;

	analysis->st = osr_verify(&ask, scratch, &tables->arena, &analysis->found, &analysis->diag);
	if (analysis->st)
		return;
	analysis->n_from = checked ? checked->n_routes : audit->n_routes;
	analysis->n_longer = checked ? checked->n_longer : audit->n_longer;
	analysis->max_hops = checked ? checked->max_hops : audit->max_hops;
	analysis->max_longer = checked ? checked->max_longer : audit->max_longer;
	if (osr_verdict_of(&analysis->found, OSR_REQUIRED, &which) == OSR_REFUTED)
		analysis->st = osr_fail(&analysis->diag, OSR_CHECK_FAILED, "%s",
					analysis->found.on[which].why);
}

void cli_analyze_tables(const struct cli_traffic *traffic, struct cli_worst *worst,
			const char *name, const struct osr_fabric *fabric,
			struct cli_tables *tables, struct cli_analysis *analysis)
{
	const struct osr_routing *routing = &tables->routing;
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct cli_stamp check = cli_now();
	enum osr_status st;
	double start;

	*analysis = (struct cli_analysis){ .st = OSR_OK };
	analysis_verify_tables(fabric, tables, &scratch, analysis);
	check = cli_since(check);
	analysis->check.cpu = tables->sweep.ms_check + check.cpu;
	analysis->check.wall = tables->sweep.wall_check + check.wall;
	if (analysis->st && analysis->st != OSR_CHECK_FAILED)
		goto out;
	st = analysis_weigh(traffic, fabric, routing, &scratch, analysis, &diag);
	if (!st)
		st = cli_worst_find(worst, name, fabric, routing, &analysis->worst, &diag);
	start = cli_cpu_ms();
	if (!st)
		st = cli_traffic_bisect(traffic, fabric, routing, &analysis->bandwidth, &diag);
	analysis->bandwidth_ms = cli_cpu_ms() - start;
	/* Without hosts everything else can still be said; and what is wrong with the tables comes first. */
	if (st && st != OSR_NOT_APPLICABLE && !analysis->st) {
		analysis->st = st;
		analysis->diag = diag;
	}
out:
	osr_arena_free(&scratch);
}

double cli_mean_hops(const struct cli_analysis *analysis)
{
	uint64_t sum = 0;

	for (uint32_t h = 0; h <= OSR_LOADS_MAX_HOPS; h++)
		sum += h * analysis->hops[h];
	return analysis->n_routes ? (double)sum / (double)analysis->n_routes : 0;
}
