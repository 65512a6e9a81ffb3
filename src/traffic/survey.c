/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "traffic/survey.h"

#include <math.h>
#include <string.h>

/* ---- walking -------------------------------------------------------------------------------- */

enum osr_status osr_survey_init(struct osr_survey *s, const struct osr_survey_in *in,
				struct osr_arena *arena, struct osr_diag *diag)
{
	uint64_t n = (uint64_t)in->n_runs * in->phases->n_phases;

	*s = (struct osr_survey){ .in = *in, .prng = { in->seed }, .n_all = n };
	if (in->phases->n_ranks > in->n_hosts)
		return osr_fail(diag, OSR_INVAL, "%u ranks do not fit on %u hosts",
				in->phases->n_ranks, in->n_hosts);
	if (!n || n > UINT32_MAX)
		return osr_fail(diag, OSR_INVAL, "%u runs of %u phases: expected 1 to 2^32 in all",
				in->n_runs, in->phases->n_phases);
	s->list = osr_alloc(arena, in->n_hosts, sizeof(*s->list));
	s->result = osr_calloc(arena, n, sizeof(*s->result));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	memcpy(s->list, in->hosts, in->n_hosts * sizeof(*s->list));
	return OSR_OK;
}

enum osr_status osr_worker_init(struct osr_worker *worker, struct osr_survey *s,
				struct osr_arena *arena, struct osr_diag *diag)
{
	const struct osr_phases *phases = s->in.phases;
	uint32_t most = 0;

	for (uint32_t k = 0; k < phases->n_phases; k++)
		if (most < phases->row[k + 1] - phases->row[k])
			most = phases->row[k + 1] - phases->row[k];
	*worker = (struct osr_worker){ .survey = s };
	worker->pairs = osr_alloc(arena, most, sizeof(*worker->pairs));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	return osr_meter_init(&worker->meter, s->in.f, s->in.r, most, arena, diag);
}

/* What depends on those before it is done here: the shuffle. */
bool osr_survey_take(struct osr_survey *s, struct osr_worker *worker)
{
	const struct osr_phases *phases = s->in.phases;
	uint32_t phase = (uint32_t)(s->n_taken % phases->n_phases), first = phases->row[phase];

	if (s->n_taken == s->n_all)
		return false;
	if (!phase && s->in.shuffle)
		osr_prng_shuffle(&s->prng, s->list, s->in.n_hosts);
	worker->n_pairs = phases->row[phase + 1] - first;
	for (uint32_t i = 0; i < worker->n_pairs; i++)
		worker->pairs[i] = (struct osr_pair){ s->list[phases->pair[first + i].from],
						      s->list[phases->pair[first + i].to] };
	worker->at = s->n_taken++;
	return true;
}

enum osr_status osr_worker_run(struct osr_worker *worker, struct osr_diag *diag)
{
	const struct osr_survey *s = worker->survey;

	return osr_meter_phase(&worker->meter, worker->pairs, worker->n_pairs, s->in.bandwidth,
			       &s->result[worker->at], diag);
}

/* ---- summing up ----------------------------------------------------------------------------- */

enum { BANDWIDTH, HSD, HSD_SUM, N_FIGURES };

/* Bandwidths are added phase by phase, then divided by the pairs: ORCS's one bucket for a run. */
static void sum_run(const struct osr_survey *s, uint32_t k, struct osr_survey_sum *sum,
		    double run[N_FIGURES])
{
	uint32_t n_phases = s->in.phases->n_phases, n_busy = 0;
	const struct osr_crossing *crossing = s->result + (uint64_t)k * n_phases;
	uint64_t n_pairs = 0, hsd = 0;

	run[BANDWIDTH] = 0;
	for (uint32_t p = 0; p < n_phases; p++) {
		run[BANDWIDTH] += crossing[p].bandwidth;
		n_pairs += crossing[p].n_pairs;
		n_busy += crossing[p].n_pairs > 0;
		hsd += crossing[p].hsd;
		sum->n_no_path += crossing[p].n_no_path;
		if (sum->max_congestion < crossing[p].hsd)
			sum->max_congestion = crossing[p].hsd;
	}
	sum->n_pairs += n_pairs;
	if (n_pairs)
		run[BANDWIDTH] /= (double)n_pairs;
	run[HSD_SUM] = (double)hsd;
	run[HSD] = n_busy ? (double)hsd / n_busy : 0;
}

void osr_survey_sum(const struct osr_survey *s, struct osr_survey_sum *sum)
{
	struct osr_spread *const spread[N_FIGURES] = { &sum->bandwidth, &sum->hsd, &sum->hsd_sum };
	uint32_t n = s->in.n_runs;
	double run[N_FIGURES], squares[N_FIGURES] = { 0 };

	*sum = (struct osr_survey_sum){ .n_runs = n, .n_phases = s->in.phases->n_phases };
	for (uint32_t k = 0; k < n; k++) {
		sum_run(s, k, sum, run);
		for (unsigned i = 0; i < N_FIGURES; i++) {
			struct osr_spread *x = spread[i];

			x->mean += run[i];
			x->min = !k || run[i] < x->min ? run[i] : x->min;
			x->max = !k || run[i] > x->max ? run[i] : x->max;
		}
	}
	for (unsigned i = 0; i < N_FIGURES; i++)
		spread[i]->mean /= n;
	for (uint32_t k = 0; n > 1 && k < n; k++) {
		struct osr_survey_sum again = { 0 };

		sum_run(s, k, &again, run);
		for (unsigned i = 0; i < N_FIGURES; i++)
			squares[i] += (run[i] - spread[i]->mean) * (run[i] - spread[i]->mean);
	}
	for (unsigned i = 0; n > 1 && i < N_FIGURES; i++)
		spread[i]->half_width = 1.96 * sqrt(squares[i] / (n - 1.0) / n);
}

uint32_t osr_survey_hosts(const struct osr_fabric *fabric, uint32_t *hosts)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (fabric->term_role[t] == OSR_ROLE_CA)
			hosts[n++] = t;
	return n;
}

enum osr_status osr_survey_bisections(const struct osr_fabric *fabric,
				      const struct osr_routing *routing, uint32_t n_patterns,
				      uint64_t seed, struct osr_arena *arena,
				      struct osr_phases *phases, struct osr_survey_in *in,
				      struct osr_diag *diag)
{
	uint32_t *hosts = osr_alloc(arena, fabric->n_terminals, sizeof(*hosts)), n_pairs;
	struct osr_pair *pair = osr_alloc(arena, fabric->n_terminals / 2, sizeof(*pair));
	uint32_t *row = osr_calloc(arena, 2, sizeof(*row));

	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	*in = (struct osr_survey_in){ .f = fabric,
				      .r = routing,
				      .phases = phases,
				      .hosts = hosts,
				      .n_hosts = osr_survey_hosts(fabric, hosts),
				      .n_runs = n_patterns,
				      .shuffle = true,
				      .bandwidth = true,
				      .seed = seed };
	n_pairs = row[1] = in->n_hosts / 2;
	for (uint32_t i = 0; i < n_pairs; i++)
		pair[i] = (struct osr_pair){ i, n_pairs + i };
	*phases = (struct osr_phases){ in->n_hosts, 1, row, pair };
	return n_pairs ? OSR_OK
		       : osr_fail(diag, OSR_NOT_APPLICABLE,
				  "a bisection needs two hosts, and the fabric has %u",
				  in->n_hosts);
}
