/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * All pairs of a phase walk in step, one channel at a time: their table entries lie all over
 * memory, so that many loads are under way at once instead of one after the other. The walk is done
 * a second time if bandwidths are asked for, to look for the worst channel; then it finds its
 * entries in the cache.
 */
#include "traffic/survey.h"

#include <osmroutes/invariant.h>

#include <math.h>
#include <string.h>

/* ---- one phase ------------------------------------------------------------------------------ */

enum osr_status osr_meter_init(struct osr_meter *meter, const struct osr_fabric *fabric,
			       const struct osr_routing *routing, uint32_t max_pairs,
			       struct osr_arena *arena, struct osr_diag *diag)
{
	*meter = (struct osr_meter){ .fabric = fabric, .routing = routing, .max_pairs = max_pairs };
	meter->load = osr_calloc(arena, fabric->n_channels, sizeof(*meter->load));
	meter->crossed = osr_alloc(arena, (size_t)fabric->n_channels + 1, sizeof(*meter->crossed));
	meter->sends = osr_calloc(arena, fabric->n_terminals, sizeof(*meter->sends));
	meter->receives = osr_calloc(arena, fabric->n_terminals, sizeof(*meter->receives));
	meter->from = osr_alloc(arena, max_pairs, sizeof(*meter->from));
	meter->worst = osr_alloc(arena, max_pairs, sizeof(*meter->worst));
	meter->dest = osr_alloc(arena, max_pairs, sizeof(*meter->dest));
	meter->at = osr_alloc(arena, max_pairs, sizeof(*meter->at));
	meter->walking = osr_alloc(arena, max_pairs, sizeof(*meter->walking));
	meter->n_worst = osr_alloc(arena, (size_t)max_pairs + 1, sizeof(*meter->n_worst));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	return OSR_OK;
}

/*
 * One step of n pairs. Counting: adds to the load; otherwise looks at it. Returns how many have not
 * arrived yet.
 */
static inline uint32_t congestion_step(struct osr_meter *meter, uint32_t n, bool counting)
{
	const struct osr_fabric *fabric = meter->fabric;
	uint32_t n_left = 0;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = meter->walking[k], v = meter->at[i], d = meter->dest[i], c;
		uint8_t port = osr_lft(meter->routing, v, d);

		if (v == fabric->dest_switch[d] && port == fabric->term_port[fabric->dest_term[d]])
			continue;
		c = osr_port_channel(fabric, v, port);
		if (c == OSR_NONE) {
			meter->worst[i] = 0;
			continue;
		}
		if (counting) {
			meter->crossed[meter->n_crossed] = c;
			meter->n_crossed += !meter->load[c]++;
			osr_invariant(meter->n_crossed <= fabric->n_channels);
		} else if (meter->worst[i] < meter->load[c]) {
			meter->worst[i] = meter->load[c];
		}
		meter->at[i] = fabric->chan_dst[c];
		meter->walking[n_left++] = i;
	}
	return n_left;
}

static enum osr_status congestion_walk(struct osr_meter *meter, bool counting,
				       struct osr_diag *diag)
{
	const struct osr_fabric *fabric = meter->fabric;
	char from[32], to[32];
	uint32_t n = 0, i;

	/*
	 * Every pair goes back to the switch of its sender; pairs that lead nowhere (worst = 0)
	 * stay out.
	 */
	for (i = 0; i < meter->n_pairs; i++) {
		if (!meter->worst[i])
			continue;
		meter->at[i] = fabric->term_switch[meter->from[i]];
		meter->walking[n++] = i;
	}
	/* No switch is met twice. The last step only sees that everybody has arrived. */
	for (uint32_t steps = 0; steps <= fabric->n_switches; steps++) {
		if (!n)
			break;
		n = counting ? congestion_step(meter, n, true) : congestion_step(meter, n, false);
	}
	if (!n)
		return OSR_OK;
	i = meter->walking[0];
	return osr_fail(diag, OSR_CHECK_FAILED,
			"the route from %s to %s (LID %u) is a forwarding loop",
			osr_terminal_name(fabric, meter->from[i], from),
			osr_terminal_name(fabric, fabric->dest_term[meter->dest[i]], to),
			fabric->dest_lid[meter->dest[i]]);
}

/* The number of pairs on the busier of the cables of the two end ports. */
static uint32_t busier_end(const struct osr_meter *meter, uint32_t i)
{
	uint32_t sends = meter->sends[meter->from[i]];
	uint32_t receives = meter->receives[meter->fabric->dest_term[meter->dest[i]]];

	return sends > receives ? sends : receives;
}

static void start_phase(struct osr_meter *meter, const struct osr_pair *pairs, uint32_t n_pairs)
{
	const struct osr_fabric *fabric = meter->fabric;

	/*
	 * Clears only the entries that the previous phase has touched: there are sequences of many
	 * phases with one pair each.
	 */
	for (uint32_t k = 0; k < meter->n_crossed; k++)
		meter->load[meter->crossed[k]] = 0;
	for (uint32_t i = 0; i < meter->n_pairs; i++) {
		meter->sends[meter->from[i]] = 0;
		meter->receives[fabric->dest_term[meter->dest[i]]] = 0;
	}
	meter->n_crossed = 0;
	meter->n_pairs = n_pairs;
	osr_invariant(n_pairs <= meter->max_pairs);
	for (uint32_t i = 0; i < n_pairs; i++) {
		osr_invariant(pairs[i].from < fabric->n_terminals);
		osr_invariant(pairs[i].to < fabric->n_terminals);
		meter->from[i] = pairs[i].from;
		meter->dest[i] = fabric->lid_dest[fabric->term_lid[pairs[i].to]];
		meter->worst[i] = 1;
		meter->sends[pairs[i].from]++;
		meter->receives[pairs[i].to]++;
	}
}

enum osr_status osr_meter_phase(struct osr_meter *meter, const struct osr_pair *pairs,
				uint32_t n_pairs, bool bandwidth, struct osr_crossing *crossing,
				struct osr_diag *diag)
{
	enum osr_status st;

	*crossing = (struct osr_crossing){ .n_pairs = n_pairs };
	start_phase(meter, pairs, n_pairs);
	st = congestion_walk(meter, true, diag);
	if (st)
		return st;
	/* Over all channels, including the cables of end ports. */
	for (uint32_t k = 0; k < meter->n_crossed; k++)
		if (meter->load[meter->crossed[k]] > crossing->hsd)
			crossing->hsd = meter->load[meter->crossed[k]];
	for (uint32_t i = 0; i < n_pairs; i++) {
		crossing->n_no_path += !meter->worst[i];
		if (busier_end(meter, i) > crossing->hsd)
			crossing->hsd = busier_end(meter, i);
	}
	if (!bandwidth)
		return OSR_OK;
	st = congestion_walk(meter, false, diag);
	if (st)
		return st;
	for (uint32_t i = 0; i < n_pairs; i++)
		if (meter->worst[i] && meter->worst[i] < busier_end(meter, i))
			meter->worst[i] = busier_end(meter, i);
	/* Counted by congestion first, so that the sum has one order. */
	memset(meter->n_worst, 0, ((size_t)n_pairs + 1) * sizeof(*meter->n_worst));
	for (uint32_t i = 0; i < n_pairs; i++) {
		osr_invariant(meter->worst[i] <= n_pairs);
		meter->n_worst[meter->worst[i]]++;
	}
	for (uint32_t worst = 1; worst <= n_pairs; worst++)
		if (meter->n_worst[worst])
			crossing->bandwidth += (double)meter->n_worst[worst] / worst;
	osr_invariant(crossing->bandwidth <= n_pairs && crossing->hsd <= n_pairs);
	return OSR_OK;
}

/* ---- walking -------------------------------------------------------------------------------- */

enum osr_status osr_survey_init(struct osr_survey *survey, const struct osr_survey_in *in,
				struct osr_arena *arena, struct osr_diag *diag)
{
	uint64_t n = (uint64_t)in->n_runs * in->phases->n_phases;

	*survey = (struct osr_survey){ .in = *in, .prng = { in->seed }, .n_all = n };
	if (in->phases->n_ranks > in->n_hosts)
		return osr_fail(diag, OSR_INVAL, "%u ranks do not fit on %u hosts",
				in->phases->n_ranks, in->n_hosts);
	if (!n || n > UINT32_MAX)
		return osr_fail(diag, OSR_INVAL, "%u runs of %u phases: expected 1 to 2^32 in all",
				in->n_runs, in->phases->n_phases);
	survey->list = osr_alloc(arena, in->n_hosts, sizeof(*survey->list));
	survey->result = osr_calloc(arena, n, sizeof(*survey->result));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	memcpy(survey->list, in->hosts, in->n_hosts * sizeof(*survey->list));
	return OSR_OK;
}

enum osr_status osr_worker_init(struct osr_worker *worker, struct osr_survey *survey,
				struct osr_arena *arena, struct osr_diag *diag)
{
	const struct osr_phases *phases = survey->in.phases;
	uint32_t most = 0;

	for (uint32_t k = 0; k < phases->n_phases; k++)
		if (most < phases->row[k + 1] - phases->row[k])
			most = phases->row[k + 1] - phases->row[k];
	*worker = (struct osr_worker){ .survey = survey };
	worker->pairs = osr_alloc(arena, most, sizeof(*worker->pairs));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	return osr_meter_init(&worker->meter, survey->in.fabric, survey->in.routing, most, arena,
			      diag);
}

/* The shuffle depends on the previous runs, so it is done here. */
bool osr_survey_take(struct osr_survey *survey, struct osr_worker *worker)
{
	const struct osr_phases *phases = survey->in.phases;
	uint32_t phase = survey->n_taken % phases->n_phases, first = phases->row[phase];

	if (survey->n_taken == survey->n_all)
		return false;
	if (!phase && survey->in.shuffle)
		osr_prng_shuffle(&survey->prng, survey->list, survey->in.n_hosts);
	worker->n_pairs = phases->row[phase + 1] - first;
	for (uint32_t i = 0; i < worker->n_pairs; i++)
		worker->pairs[i] = (struct osr_pair){ survey->list[phases->pair[first + i].from],
						      survey->list[phases->pair[first + i].to] };
	worker->at = survey->n_taken++;
	osr_invariant(worker->n_pairs <= worker->meter.max_pairs);
	return true;
}

enum osr_status osr_worker_run(struct osr_worker *worker, struct osr_diag *diag)
{
	const struct osr_survey *survey = worker->survey;

	return osr_meter_phase(&worker->meter, worker->pairs, worker->n_pairs, survey->in.bandwidth,
			       &survey->result[worker->at], diag);
}

/* ---- summing up ----------------------------------------------------------------------------- */

enum { BANDWIDTH, HSD, HSD_SUM, N_FIGURES };

/* Bandwidths are added phase by phase, then divided by the pairs: ORCS's one bucket for a run. */
static void sum_run(const struct osr_survey *survey, uint32_t k, struct osr_survey_sum *sum,
		    double run[N_FIGURES])
{
	uint32_t n_phases = survey->in.phases->n_phases, n_busy = 0;
	const struct osr_crossing *crossing = survey->result + (uint64_t)k * n_phases;
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

void osr_survey_sum(const struct osr_survey *survey, struct osr_survey_sum *sum)
{
	struct osr_spread *const spread[N_FIGURES] = { &sum->bandwidth, &sum->hsd, &sum->hsd_sum };
	uint32_t n = survey->in.n_runs;
	double run[N_FIGURES], squares[N_FIGURES] = { 0 };

	*sum = (struct osr_survey_sum){ .n_runs = n, .n_phases = survey->in.phases->n_phases };
	for (uint32_t k = 0; k < n; k++) {
		sum_run(survey, k, sum, run);
		for (unsigned i = 0; i < N_FIGURES; i++) {
			struct osr_spread *x = spread[i];

			x->mean += run[i];
			x->min = !k || run[i] < x->min ? run[i] : x->min;
			x->max = !k || run[i] > x->max ? run[i] : x->max;
		}
	}
	for (unsigned i = 0; i < N_FIGURES; i++)
		spread[i]->mean /= n;
	if (n <= 1)
		return;
	for (uint32_t k = 0; k < n; k++) {
		struct osr_survey_sum again = { 0 };

		sum_run(survey, k, &again, run);
		for (unsigned i = 0; i < N_FIGURES; i++)
			squares[i] += (run[i] - spread[i]->mean) * (run[i] - spread[i]->mean);
	}
	for (unsigned i = 0; i < N_FIGURES; i++)
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
	*in = (struct osr_survey_in){ .fabric = fabric,
				      .routing = routing,
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
