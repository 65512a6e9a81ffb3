/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See spf.h. The inner loops, from the outside in:
 *	spf_find_orders()	distances and settling orders of all switches, once
 *	spf_route_round()	every destination switch, group after group
 *	osr_spf_graph()    the edges of the shortest-path graph towards it
 *	spf_route_dest()	  each LID behind it: rip up, settle, count
 */
#include <osmroutes/bound.h>
#include <osmroutes/each.h>
#include <osmroutes/spf.h>

#include <assert.h>
#include <string.h>

#include "core/paths/moves.h"
#include "core/route/tree.h"
#include "spf_private.h"

/* Bucket the dests by switch; those of CAs and routers come before port 0. */
static void spf_group_dests(struct osr_spf *spf)
{
	const struct osr_fabric *fabric = spf->fabric;
	uint32_t at = 0;

	OSR_EACH_SWITCH(v, fabric) {
		uint32_t first;

		spf->dest_row[v] = at;
		for (int sp0 = 0; sp0 <= 1; sp0++)
			for (uint32_t t = fabric->term_row[v]; t < fabric->term_row[v + 1]; t++)
				if ((fabric->term_role[t] == OSR_ROLE_SP0) == sp0)
					spf->dest_list[at++] =
						fabric->lid_dest[fabric->term_lid[t]];
		first = spf->dest_list[spf->dest_row[v]];
		for (uint32_t k = spf->dest_row[v]; k < at; k++) {
			uint32_t d = spf->dest_list[k];
			bool rides = fabric->term_role[fabric->dest_term[d]] == OSR_ROLE_SP0 &&
				     d != first &&
				     fabric->term_role[fabric->dest_term[first]] != OSR_ROLE_SP0;

			spf->alias[d] = rides ? first : OSR_NONE;
		}
	}
	spf->dest_row[fabric->n_switches] = at;
}

/* Routes are counted per unit of rate: a link half as fast weighs twice. */
static void set_units(struct osr_spf *spf, bool ignore_rates)
{
	const struct osr_fabric *fabric = spf->fabric;
	uint32_t fastest = osr_fabric_fastest(fabric);
	bool mixed = false;

	OSR_EVERY_CHANNEL(c, fabric)
		mixed |= fabric->chan_rate[c] && fabric->chan_rate[c] != fastest;
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t rate = fabric->chan_rate[c] ? fabric->chan_rate[c] : fastest;

		spf->unit[c] = ignore_rates || !mixed ? 1 : (16 * fastest + rate / 2) / rate;
		if (fabric->chan_flags[c] & OSR_CHAN_UNCOUNTED)
			spf->unit[c] = 0;
		spf->scratch->mixed |= spf->unit[c] != 1;
	}
}

/* Settling orders and distances of all switches, breadth first; size[n_components] is zero. */
static void spf_find_orders(struct osr_spf *spf, uint32_t *size)
{
	const struct osr_fabric *fabric = spf->fabric;
	uint32_t n_switches = fabric->n_switches, *depth = spf->scratch->count;

	for (uint32_t v = 0; v < n_switches; v++)
		size[fabric->sw_component[v]]++;
	for (uint32_t root = 0; root < n_switches; root++) {
		uint16_t *order = spf->order + (size_t)root * n_switches;
		uint8_t *dist8 = spf->scratch->dist8 + (size_t)root * n_switches;
		uint32_t n = 1, n_all = size[fabric->sw_component[root]];

		memset(depth, 0xff, n_switches * sizeof(*depth));
		order[0] = (uint16_t)root;
		depth[root] = 0;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t v = order[i], c = fabric->chan_row[v];

			dist8[v] = (uint8_t)depth[v];
			/*
			 * Most searches end here: nobody looks behind the last switch that is
			 * found.
			 */
			for (; n < n_all && c < fabric->chan_row[v + 1]; c++) {
				uint32_t u = fabric->chan_dst[c];

				if (depth[u] != OSR_NONE)
					continue;
				depth[u] = depth[v] + 1;
				order[n++] = (uint16_t)u;
			}
			if (!fabric->sw_sources[root])
				continue;
			spf->distance_sum[v] += (uint64_t)fabric->sw_sources[root] * depth[v];
			if (spf->farthest[v] < depth[v])
				spf->farthest[v] = (uint16_t)depth[v];
		}
		spf->n_order[root] = (uint16_t)n;
	}
}

static void find_centers(struct osr_spf *spf)
{
	const struct osr_fabric *fabric = spf->fabric;

	memset(spf->center, 0xff, fabric->n_components * sizeof(*spf->center));
	OSR_EACH_SWITCH(v, fabric) {
		uint32_t *best = &spf->center[fabric->sw_component[v]];

		if (*best == OSR_NONE || spf->farthest[v] < spf->farthest[*best] ||
		    (spf->farthest[v] == spf->farthest[*best] &&
		     spf->distance_sum[v] < spf->distance_sum[*best]))
			*best = v;
	}
}

enum osr_status osr_spf_init(struct osr_spf *spf, const struct osr_fabric *fabric,
			     struct osr_routing *routing, const struct osr_spf_options *opt,
			     struct osr_arena *scratch, struct osr_diag *diag)
{
	size_t n = fabric->n_switches, m = fabric->n_channels;
	struct osr_spf_scratch *spf_scratch = osr_calloc(scratch, 1, sizeof(*spf_scratch));
	struct osr_moves *moves = osr_alloc(scratch, 1, sizeof(*moves));
	uint32_t *size;
	enum osr_status st;

	assert(fabric->n_dests == fabric->n_terminals);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	*spf = (struct osr_spf){ .fabric = fabric, .hop = routing->lft, .scratch = spf_scratch };
	spf_scratch->moves = moves;
	spf->order = osr_alloc(scratch, n * n, sizeof(*spf->order));
	spf->n_order = osr_alloc(scratch, n, sizeof(*spf->n_order));
	spf->dest_row = osr_alloc(scratch, n + 1, sizeof(*spf->dest_row));
	spf->dest_list = osr_calloc(scratch, (size_t)fabric->n_dests + 1, sizeof(*spf->dest_list));
	spf->alias = osr_alloc(scratch, fabric->n_dests, sizeof(*spf->alias));
	spf->weight = osr_calloc(scratch, m, sizeof(*spf->weight));
	spf->unit = osr_alloc(scratch, m, sizeof(*spf->unit));
	spf->farthest = osr_calloc(scratch, n, sizeof(*spf->farthest));
	spf->distance_sum = osr_calloc(scratch, n, sizeof(*spf->distance_sum));
	spf->center = osr_alloc(scratch, fabric->n_components, sizeof(*spf->center));
	spf_scratch->dist8 = osr_alloc(scratch, n * n, 1);
	spf_scratch->edge_row = osr_alloc(scratch, n + 1, sizeof(*spf_scratch->edge_row));
	spf_scratch->edge_chan = osr_alloc(scratch, m + 1, sizeof(*spf_scratch->edge_chan));
	spf_scratch->edge_next = osr_alloc(scratch, m + 1, sizeof(*spf_scratch->edge_next));
	spf_scratch->cost = osr_alloc(scratch, n, sizeof(*spf_scratch->cost));
	spf_scratch->count = osr_alloc(scratch, n, sizeof(*spf_scratch->count));
	size = osr_calloc(scratch, fabric->n_components, sizeof(*size));
	spf_scratch->kind = osr_alloc(scratch, n, 1);
	spf_scratch->via = osr_alloc(scratch, n, 1);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	if (n > UINT16_MAX)
		return osr_fail(diag, OSR_INVAL,
				"%zu switches exceed the 65,535 that LIDs can number", n);

	spf_group_dests(spf);
	set_units(spf, opt->ignore_rates);
	for (uint32_t c = 0; c < m; c++)
		spf->weight[c] = c - fabric->chan_row[fabric->chan_src[c]];
	OSR_EVERY_TERMINAL(t, fabric)
		if (spf_scratch->max_group < fabric->term_group[t])
			spf_scratch->max_group = fabric->term_group[t];
	spf_find_orders(spf, size);
	find_centers(spf);
	/* The branches that move off the busiest channels at the end. */
	*moves = (struct osr_moves){ .fabric = fabric,
				     .hop = spf->hop,
				     .settled = spf->order,
				     .n_settled = spf->n_order,
				     .load = osr_alloc(scratch, m, sizeof(*moves->load)),
				     .unit = spf_scratch->mixed ? spf->unit : NULL,
				     .open = true };
	st = osr_moves_init(moves, scratch, diag);
	return st ? st : osr_bound_cut(fabric, scratch, &spf->least, diag);
}

void osr_spf_graph_free(struct osr_spf *spf, uint32_t root)
{
	const struct osr_fabric *fabric = spf->fabric;
	struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	const uint8_t *dist8 = scratch->dist8 + (size_t)root * fabric->n_switches;
	uint32_t n = 0;

	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint32_t v = order[i];
		uint8_t closer = (uint8_t)(dist8[v] - 1);

		scratch->edge_row[i] = n;
		OSR_EACH_CHANNEL(c, fabric, v) {
			uint32_t u = fabric->chan_dst[c];

			/* Branchless: which neighbours are closer follows no pattern. */
			scratch->edge_chan[n] = c;
			scratch->edge_next[n] = u;
			n += dist8[u] == closer;
		}
	}
	scratch->edge_row[spf->n_order[root]] = n;
}

void osr_spf_graph(struct osr_spf *spf, uint32_t root)
{
	if (spf->place)
		osr_spf_graph_in_order(spf, root);
	else
		osr_spf_graph_free(spf, root);
}

void osr_spf_ways(struct osr_spf *spf, uint32_t root, const uint32_t **row, const uint32_t **chan)
{
	osr_spf_graph(spf, root);
	*row = spf->scratch->edge_row;
	*chan = spf->scratch->edge_chan;
}

void osr_spf_count_order(struct osr_spf *spf, const uint16_t *order, uint32_t n, const uint8_t *hop,
			 uint64_t sign)
{
	const struct osr_fabric *fabric = spf->fabric;
	uint32_t *count = spf->scratch->count;

	memcpy(count, fabric->sw_sources, fabric->n_switches * sizeof(*count));
	OSR_EACH_FAR_FIRST(v, order, n)
	{
		uint32_t c = fabric->chan_row[v] + hop[v];

		/* Most switches of a tall tree pass nothing on, and their weights are far away. */
		if (!count[v])
			continue;
		spf->weight[c] += (sign * count[v] << HOP_BITS) * spf->unit[c];
		count[fabric->chan_dst[c]] += count[v];
	}
}

bool osr_spf_is_closer(const struct osr_spf *spf, uint32_t root, uint32_t c)
{
	const uint8_t *dist8 = spf->scratch->dist8 + (size_t)root * spf->fabric->n_switches;

	return dist8[spf->fabric->chan_dst[c]] == (uint8_t)(dist8[spf->fabric->chan_src[c]] - 1);
}

void osr_spf_count(struct osr_spf *spf, uint32_t d)
{
	const struct osr_fabric *fabric = spf->fabric;
	uint32_t root = fabric->dest_switch[d];

	if (fabric->term_weight[fabric->dest_term[d]])
		osr_spf_count_order(spf, spf->order + (size_t)root * fabric->n_switches,
				    spf->n_order[root], spf->hop + (size_t)d * fabric->n_switches,
				    1);
}

/*
 * Settle in order of distance: the switches a path continues through are final when it is their
 * turn. Ties go to the lowest channel, hence the same bytes everywhere.
 */
void osr_spf_settle(struct osr_spf *spf, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *fabric = spf->fabric;
	const struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	const uint64_t *weight = spf->weight;
	uint64_t *cost = scratch->cost;

	cost[root] = 0;
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint64_t best = UINT64_MAX;

		for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
			uint64_t key = weight[scratch->edge_chan[e]] + cost[scratch->edge_next[e]];

			best = key < best ? key : best;
		}
		cost[order[i]] = best & ~HOP_MASK;
		hop[order[i]] = (uint8_t)(best & HOP_MASK);
	}
}

static void spf_route_dest(struct osr_spf *spf, uint32_t root, uint32_t d)
{
	const struct osr_fabric *fabric = spf->fabric;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	bool counts = fabric->term_weight[fabric->dest_term[d]] != 0;

	if (counts && spf->n_rounds)
		osr_spf_count_order(spf, order, spf->n_order[root], hop, (uint64_t)-1);
	osr_spf_settle(spf, root, hop);
	if (counts)
		osr_spf_count_order(spf, order, spf->n_order[root], hop, 1);
}

/*
 * One group of end ports (compute nodes, I/O nodes, the rest) after the other, switch after switch;
 * port 0 is the last.
 */
static void spf_route_round(struct osr_spf *spf)
{
	const struct osr_fabric *fabric = spf->fabric;
	uint32_t last = spf->scratch->max_group + 1u;

	for (uint32_t group = 0; group <= last; group++)
		OSR_EACH_SWITCH(root, fabric) {
			bool found = false;

			for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++) {
				uint32_t d = spf->dest_list[k], t = fabric->dest_term[d];
				bool own = fabric->term_role[t] == OSR_ROLE_SP0;

				if (spf->alias[d] != OSR_NONE ||
				    group != (own ? last : fabric->term_group[t]))
					continue;
				if (!found)
					osr_spf_graph(spf, root);
				found = true;
				spf_route_dest(spf, root, d);
			}
		}
}

uint64_t osr_spf_busiest(const struct osr_spf *spf, uint64_t *sum)
{
	uint64_t most = 0;

	*sum = 0;
	for (uint32_t c = 0; c < spf->fabric->n_channels; c++) {
		uint64_t load = spf->weight[c] >> HOP_BITS;

		*sum += load;
		most = load > most ? load : most;
	}
	return most;
}

uint64_t osr_spf_load(const struct osr_spf *spf)
{
	uint64_t sum;

	return osr_spf_busiest(spf, &sum);
}

enum osr_status osr_spf_save(const struct osr_spf *spf, struct osr_arena *arena,
			     struct osr_spf_saved *saved, struct osr_diag *diag)
{
	size_t size = (size_t)spf->fabric->n_dests * spf->fabric->n_switches;

	saved->hop = osr_alloc(arena, size, 1);
	saved->weight = osr_alloc(arena, spf->fabric->n_channels, sizeof(*saved->weight));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	memcpy(saved->hop, spf->hop, size);
	memcpy(saved->weight, spf->weight, spf->fabric->n_channels * sizeof(*saved->weight));
	return OSR_OK;
}

void osr_spf_restore(struct osr_spf *spf, const struct osr_spf_saved *saved)
{
	memcpy(spf->hop, saved->hop, (size_t)spf->fabric->n_dests * spf->fabric->n_switches);
	memcpy(spf->weight, saved->weight, spf->fabric->n_channels * sizeof(*spf->weight));
}

bool osr_spf_balanced(const struct osr_spf *spf)
{
	uint64_t sum, now = osr_spf_busiest(spf, &sum);

	return (!spf->scratch->mixed && now <= spf->least) ||
	       now * spf->fabric->n_channels <= sum + sum / 50;
}

void osr_spf_share(struct osr_spf *spf)
{
	size_t n = spf->fabric->n_switches;

	for (uint32_t d = 0; d < spf->fabric->n_dests; d++)
		if (spf->alias[d] != OSR_NONE)
			memcpy(spf->hop + d * n, spf->hop + spf->alias[d] * n, n);
}

void osr_spf_first(struct osr_spf *spf)
{
	spf_route_round(spf);
	osr_spf_share(spf);
}

void osr_spf_move(struct osr_spf *spf, struct osr_moves *moves, uint64_t goal)
{
	moves->goal = moves->aim = goal;
	for (uint32_t c = 0; c < spf->fabric->n_channels; c++)
		moves->load[c] = spf->weight[c] >> HOP_BITS;
	osr_moves_run(moves);
	for (uint32_t c = 0; c < spf->fabric->n_channels; c++)
		spf->weight[c] = moves->load[c] << HOP_BITS | (spf->weight[c] & HOP_MASK);
}

void osr_spf_relieve(struct osr_spf *spf, uint64_t bound)
{
	uint64_t sum, mean;

	osr_spf_busiest(spf, &sum);
	mean = sum / spf->fabric->n_channels;
	spf->scratch->moves->place = spf->place;
	osr_spf_move(spf, spf->scratch->moves, spf->scratch->mixed || mean > bound ? mean : bound);
}

void osr_spf_refine(struct osr_spf *spf, const struct osr_spf_options *opt)
{
	while (spf->n_rounds < opt->max_rounds && !osr_spf_balanced(spf)) {
		spf->n_rounds++;
		spf_route_round(spf);
	}
	if (opt->max_rounds && !osr_spf_balanced(spf))
		osr_spf_relieve(spf, spf->least);
	osr_spf_share(spf);
}

void osr_spf_route(struct osr_spf *spf, const struct osr_spf_options *opt)
{
	osr_spf_first(spf);
	osr_spf_refine(spf, opt);
}

void osr_spf_finish(struct osr_spf *spf)
{
	osr_tables_to_ports(spf->fabric, spf->hop);
}
