/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See worst.h. Switches with hosts are numbered 0 .. n_leaves - 1, sets of them are bits in words.
 * For each channel its leaves are found, and a bound of the units that come. The channels are then
 * looked at in the order of that bound, until none can be worse than the worst one found.
 */
#include "traffic/worst.h"

#include <stdlib.h>
#include <string.h>

#include <osmroutes/invariant.h>
#include <osmroutes/bound.h>

struct leaf {
	uint32_t sw, row, n_units; /* its units of sources are numbered row .. row + n_units - 1 */
};

struct candidate {
	uint32_t channel, most; /* units, at most */
	double load;
};

struct worst {
	const struct osr_fabric *fabric;
	const struct osr_routing *routing;
	const struct osr_rates *rates;
	uint32_t n_leaves, n_words, n_units;
	struct leaf *leaf;       /* [n_leaves] */
	uint64_t *through;       /* [n_channels * n_words] leaves with a route through it */
	struct candidate *order; /* [n_channels] */
	/* Of one channel: its destinations, and which leaves reach each through it. */
	uint32_t *dest, n_dests; /* [n_terminals] */
	uint64_t *reach;         /* [n_dests * n_words] */
	/* The matching. A destination of k units is k nodes. */
	uint32_t n_nodes;
	/* [n_units] of a node: row of reach, its leaf or OSR_NONE, its place there */
	uint32_t *row, *at, *place;
	uint32_t *held; /* [n_units] by leaf.row + place: the node */
	uint32_t *used; /* [n_leaves] units of sources that are taken */
	/* One search: leaves not met yet, by which node a leaf was met, leaves to be visited. */
	uint64_t *open;
	uint32_t *met_by, *queue;
};

static uint32_t worst_dest(const struct worst *worst, uint32_t term)
{
	return worst->fabric->lid_dest[worst->fabric->term_lid[term]];
}

/* Does traffic of a switch for d come to this switch? Its own entry is not looked at there. */
static bool comes_to(const struct worst *worst, uint32_t v, uint32_t d, uint32_t goal)
{
	for (uint32_t steps = 0; v != goal; steps++) {
		uint32_t c = osr_port_channel(worst->fabric, v, osr_lft(worst->routing, v, d));

		if (c == OSR_NONE || steps == worst->fabric->n_switches)
			return false;
		v = worst->fabric->chan_dst[c];
	}
	return true;
}

static enum osr_status worst_init(struct worst *worst, struct osr_arena *scratch,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = worst->fabric;
	uint32_t *units = osr_calloc(scratch, fabric->n_switches, sizeof(*units));

	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		units[fabric->term_switch[t]] += worst->rates->units[t];
		worst->n_units += worst->rates->units[t];
	}
	worst->leaf = osr_alloc(scratch, fabric->n_switches, sizeof(*worst->leaf));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t v = 0, row = 0; v < fabric->n_switches; row += units[v++])
		if (units[v])
			worst->leaf[worst->n_leaves++] = (struct leaf){ v, row, units[v] };
	worst->n_words = (worst->n_leaves + 63) / 64;
	worst->through = osr_calloc(scratch, (size_t)fabric->n_channels * worst->n_words,
				    sizeof(*worst->through));
	worst->order = osr_calloc(scratch, fabric->n_channels, sizeof(*worst->order));
	worst->dest = osr_alloc(scratch, fabric->n_terminals, sizeof(*worst->dest));
	worst->row = osr_alloc(scratch, worst->n_units, sizeof(*worst->row));
	worst->at = osr_alloc(scratch, worst->n_units, sizeof(*worst->at));
	worst->place = osr_alloc(scratch, worst->n_units, sizeof(*worst->place));
	worst->held = osr_alloc(scratch, worst->n_units, sizeof(*worst->held));
	worst->used = osr_alloc(scratch, worst->n_leaves, sizeof(*worst->used));
	worst->open = osr_alloc(scratch, worst->n_words, sizeof(*worst->open));
	worst->met_by = osr_alloc(scratch, worst->n_leaves, sizeof(*worst->met_by));
	worst->queue = osr_alloc(scratch, worst->n_leaves, sizeof(*worst->queue));
	return osr_arena_failed(scratch, diag) ? OSR_NOMEM : OSR_OK;
}

/* ---- which channels matter ------------------------------------------------------------------- */

static int worse_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->load != y->load)
		return x->load < y->load ? 1 : -1;
	return x->channel < y->channel ? -1 : 1;
}

static double worst_load(const struct worst *worst, uint32_t channel, uint32_t flow)
{
	return (double)flow * worst->rates->unit / worst->rates->rate[channel];
}

/* No matching is larger than its sources, or than its destinations. */
static void bound_channels(struct worst *worst)
{
	const struct osr_fabric *fabric = worst->fabric;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		worst->order[c].channel = OSR_NONE;
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		uint32_t d = worst_dest(worst, t);

		if (!worst->rates->units[t])
			continue;
		for (uint32_t l = 0; l < worst->n_leaves; l++)
			for (uint32_t v = worst->leaf[l].sw, steps = 0; steps < fabric->n_switches;
			     steps++) {
				uint32_t c =
					osr_port_channel(fabric, v, osr_lft(worst->routing, v, d));

				if (c == OSR_NONE)
					break;
				/* Here the last destination that was counted. */
				worst->order[c].most +=
					worst->order[c].channel == t ? 0 : worst->rates->units[t];
				worst->order[c].channel = t;
				worst->through[(size_t)c * worst->n_words + l / 64] |= UINT64_C(1)
										       << l % 64;
				v = fabric->chan_dst[c];
			}
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		const uint64_t *leaves = worst->through + (size_t)c * worst->n_words;
		uint32_t sources = 0;

		for (uint32_t l = 0; l < worst->n_leaves; l++)
			sources += leaves[l / 64] >> l % 64 & 1 ? worst->leaf[l].n_units : 0;
		worst->order[c].channel = c;
		worst->order[c].most =
			sources < worst->order[c].most ? sources : worst->order[c].most;
		worst->order[c].load = worst_load(worst, c, worst->order[c].most);
	}
	qsort(worst->order, fabric->n_channels, sizeof(*worst->order), worse_first);
}

/* The pairs whose route crosses channel c, as rows of bits. */
static enum osr_status worst_pairs(struct worst *worst, uint32_t c, struct osr_arena *scratch,
				   struct osr_diag *diag)
{
	const struct osr_fabric *fabric = worst->fabric;
	const uint64_t *leaves = worst->through + (size_t)c * worst->n_words;
	uint32_t tail = fabric->chan_src[c], n = 0;

	worst->n_dests = worst->n_nodes = 0;
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		uint32_t d = worst_dest(worst, t), root = fabric->dest_switch[d];

		if (worst->rates->units[t] &&
		    osr_lft(worst->routing, tail, d) == fabric->chan_port[c] &&
		    osr_lft(worst->routing, root, d) == fabric->term_port[fabric->dest_term[d]] &&
		    comes_to(worst, tail, d, root))
			worst->dest[n++] = t;
	}
	worst->reach = osr_calloc(scratch, (size_t)n * worst->n_words, sizeof(*worst->reach));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *row = worst->reach + (size_t)i * worst->n_words;
		uint32_t d = worst_dest(worst, worst->dest[i]);

		for (uint32_t l = 0; l < worst->n_leaves; l++)
			if (leaves[l / 64] >> l % 64 & 1 &&
			    comes_to(worst, worst->leaf[l].sw, d, tail))
				row[l / 64] |= UINT64_C(1) << l % 64;
		for (uint32_t k = 0; k < worst->rates->units[worst->dest[i]]; k++)
			worst->row[worst->n_nodes++] = i;
	}
	osr_invariant(worst->n_nodes <= worst->n_units);
	worst->n_dests = n;
	return OSR_OK;
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Leaves in reach of a node that were not met yet into the queue; one with a free unit ends it. */
static uint32_t worst_meet(struct worst *worst, uint32_t node, uint32_t *n_queue)
{
	const uint64_t *reach = worst->reach + (size_t)worst->row[node] * worst->n_words;

	for (uint32_t k = 0; k < worst->n_words; k++)
		for (uint64_t found; (found = reach[k] & worst->open[k]);) {
			uint32_t l = k * 64 + (uint32_t)__builtin_ctzll(found);

			worst->open[k] &= ~(found & -found);
			worst->met_by[l] = node;
			if (worst->used[l] < worst->leaf[l].n_units)
				return l;
			osr_invariant(*n_queue < worst->n_leaves);
			worst->queue[(*n_queue)++] = l;
		}
	return OSR_NONE;
}

/* From all nodes that hold a unit of a leaf; the first free unit ends it. */
static uint32_t meet_from_leaf(struct worst *worst, const struct leaf *leaf, uint32_t *n_queue)
{
	for (uint32_t k = 0; k < leaf->n_units; k++) {
		uint32_t end = worst_meet(worst, worst->held[leaf->row + k], n_queue);

		if (end != OSR_NONE)
			return end;
	}
	return OSR_NONE;
}

/*
 * The leaf with a free unit at the end of a shortest augmenting path from a node, or OSR_NONE.
 * Without one, none of the leaves that were met leads to a free unit ever after: they stay closed.
 * Otherwise they are opened again.
 */
static uint32_t worst_search(struct worst *worst, uint32_t node)
{
	uint32_t n = 0, end = worst_meet(worst, node, &n);

	/* The queue grows while it is worked off. */
	for (uint32_t i = 0; i < n; i++) {
		if (end != OSR_NONE)
			break;
		end = meet_from_leaf(worst, &worst->leaf[worst->queue[i]], &n);
	}
	if (end == OSR_NONE)
		return OSR_NONE;
	worst->open[end / 64] |= UINT64_C(1) << end % 64;
	for (uint32_t i = 0; i < n; i++)
		worst->open[worst->queue[i] / 64] |= UINT64_C(1) << worst->queue[i] % 64;
	return end;
}

/* The largest matching; it may stop early where that cannot be more than `enough`. */
static uint32_t worst_match(struct worst *worst, uint32_t most, uint32_t enough)
{
	uint32_t flow = 0;

	memset(worst->open, 0xff, worst->n_words * sizeof(*worst->open));
	memset(worst->used, 0, worst->n_leaves * sizeof(*worst->used));
	memset(worst->at, 0xff, worst->n_nodes * sizeof(*worst->at));
	for (uint32_t node = 0; node < worst->n_nodes; node++) {
		uint32_t end, place;

		if (flow == most || flow + worst->n_nodes - node <= enough)
			return flow;
		end = worst_search(worst, node);
		if (end == OSR_NONE)
			continue;
		flow++;
		/*
		 * A free unit for the node by which the leaf was met; that leaves its own place to
		 * the node before.
		 */
		osr_invariant(worst->used[end] < worst->leaf[end].n_units);
		place = worst->used[end]++;
		while (end != OSR_NONE) {
			uint32_t met = worst->met_by[end], last = worst->at[met],
				 its = worst->place[met];

			osr_invariant(met < worst->n_nodes && place < worst->leaf[end].n_units);
			worst->at[met] = end;
			worst->place[met] = place;
			worst->held[worst->leaf[end].row + place] = met;
			end = last;
			place = its;
		}
	}
	/* bound_channels() says that no matching is larger. */
	osr_invariant(flow <= most && flow <= worst->n_nodes);
	return flow;
}

/* ---- the answer ------------------------------------------------------------------------------ */

enum osr_status osr_worst_find(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       const struct osr_rates *rates, struct osr_arena *arena,
			       struct osr_arena *scratch, struct osr_worst *worst,
			       struct osr_diag *diag)
{
	struct osr_arena_mark all = osr_arena_mark(scratch);
	struct worst w = { .fabric = fabric, .routing = routing, .rates = rates };
	enum osr_status st = worst_init(&w, scratch, diag);

	*worst = (struct osr_worst){ .channel = OSR_NONE };
	if (!st) {
		worst->pairs = osr_alloc(arena, w.n_units, sizeof(*worst->pairs));
		st = osr_arena_failed(arena, diag) ? OSR_NOMEM : OSR_OK;
	}
	if (!st)
		bound_channels(&w);
	for (uint32_t i = 0; !st && i < fabric->n_channels; i++) {
		const struct candidate *next = &w.order[i];
		struct osr_arena_mark mark = osr_arena_mark(scratch);
		uint32_t enough, flow, n = 0;
		double load;

		if (!next->most || next->load <= worst->load)
			break;
		/*
		 * This many units on this channel would be no worse than the worst channel so far.
		 */
		enough = worst->load * rates->rate[next->channel] / rates->unit;
		st = worst_pairs(&w, next->channel, scratch, diag);
		flow = st ? 0 : worst_match(&w, next->most, enough);
		load = flow ? worst_load(&w, next->channel, flow) : 0;
		if (load > worst->load) {
			worst->channel = next->channel;
			worst->flow = flow;
			worst->load = load;
			for (uint32_t node = 0; node < w.n_nodes; node++) {
				uint32_t place = w.place[node], t;

				if (w.at[node] == OSR_NONE)
					continue;
				/*
				 * The unit of a leaf at this place: the end ports of its switch in
				 * order.
				 */
				t = fabric->term_row[w.leaf[w.at[node]].sw];
				while (place >= rates->units[t])
					place -= rates->units[t++];
				worst->pairs[n++] = (struct osr_pair){ t, w.dest[w.row[node]] };
			}
		}
		osr_arena_reset(scratch, mark);
	}
	osr_arena_reset(scratch, all);
	return st;
}

/* ---- a bound for all routings ---------------------------------------------------------------- */

struct permutation {
	const struct osr_fabric *fabric;
	uint64_t *units;  /* [n_switches] that its end ports send, and receive */
	uint64_t *within; /* [n_switches] the same of its component */
	uint64_t *most;   /* [n_channels] W of worst.h: units at the load in question */
	uint64_t *around; /* [n_switches] of the channels that leave it, and that enter it */
};

/* How much more than the cut can take half of the traffic may bring. */
static uint64_t cut_excess(const struct osr_cut *inside, const struct osr_cut *all)
{
	uint64_t out = all->sources - inside->sources;
	uint64_t most = out < inside->sources ? out : inside->sources;

	return most > inside->channels ? most - inside->channels : 0;
}

/* May there be a routing with no more than `load`? */
static enum osr_status permutation_fits(const struct permutation *permutation, double load,
					uint32_t unit, const uint32_t *rate,
					struct osr_arena *scratch, bool *fits,
					struct osr_diag *diag)
{
	const struct osr_fabric *fabric = permutation->fabric;
	const struct osr_cuts cuts = { .fabric = fabric,
				       .units = permutation->units,
				       .weight = permutation->most,
				       .bound = cut_excess };
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	double pairs = 0,
	       room = 0; /* doubles, for squares of sums; a little in favour of the routing */
	bool injects = true;
	uint64_t excess;
	enum osr_status st;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint64_t widest = 0;

		permutation->around[v] = 0;
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			permutation->most[c] = (uint64_t)(load * rate[c] / unit * (1 + 1e-12));
			permutation->around[v] += permutation->most[c];
			widest = widest < permutation->most[c] ? permutation->most[c] : widest;
		}
		/*
		 * Condition 2: the units of one switch go to each destination by the same channel.
		 */
		injects &= widest >= permutation->units[v] ||
			   permutation->around[v] >= permutation->within[v] - permutation->units[v];
		pairs += (double)permutation->units[v] * (double)permutation->within[v];
		room += (double)permutation->units[v] * (double)permutation->units[v];
	}
	/* Condition 3. */
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		double side[2];

		for (int i = 0; i < 2; i++) {
			uint32_t v = i ? fabric->chan_dst[c] : fabric->chan_src[c];
			uint64_t most = permutation->within[v] - permutation->units[v];

			most = permutation->around[v] < most ? permutation->around[v] : most;
			side[i] = (double)permutation->units[v] + (double)most / 2;
		}
		room += (double)permutation->most[c] * (side[0] > side[1] ? side[0] : side[1]);
	}
	st = osr_bound_cuts(&cuts, scratch, &excess, diag);
	*fits = !st && !excess && injects && room * (1 + 1e-9) >= pairs;
	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_worst_bound(const struct osr_fabric *fabric, const struct osr_rates *rates,
				struct osr_arena *scratch, double *bound, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n = fabric->n_switches, m = fabric->n_channels;
	struct permutation permutation = { .fabric = fabric,
					   .units = osr_calloc(scratch, n, sizeof(uint64_t)),
					   .within = osr_alloc(scratch, n, sizeof(uint64_t)),
					   .most = osr_alloc(scratch, m, sizeof(uint64_t)),
					   .around = osr_alloc(scratch, n, sizeof(uint64_t)) };
	uint64_t *all = osr_calloc(scratch, fabric->n_components, sizeof(*all)), low = 0, high = 0;
	enum osr_status st = osr_arena_failed(scratch, diag) ? OSR_NOMEM : OSR_OK;
	const uint32_t *units = rates->units, unit = rates->unit, *rate = rates->rate;
	uint32_t fastest = 1;

	*bound = 0;
	for (uint32_t t = 0; !st && t < fabric->n_terminals; t++) {
		permutation.units[fabric->term_switch[t]] += units[t];
		all[fabric->sw_component[fabric->term_switch[t]]] += units[t];
		high += units[t];
	}
	for (uint32_t v = 0; !st && v < n; v++)
		permutation.within[v] = all[fabric->sw_component[v]];
	for (uint32_t c = 0; c < m; c++)
		fastest = rate[c] > fastest ? rate[c] : fastest;
	/* The highest step of one unit on the fastest channel that no routing can keep to. */
	while (!st && low < high) {
		uint64_t middle = (low + high) / 2;
		bool fits;

		st = permutation_fits(&permutation, (double)middle * unit / fastest, unit, rate,
				      scratch, &fits, diag);
		if (fits)
			high = middle;
		else
			low = middle + 1;
	}
	if (st || !low) {
		osr_arena_reset(scratch, mark);
		return st;
	}
	/* So it needs more: the least that any channel can have above that step. */
	for (uint32_t c = 0; c < m; c++) {
		uint64_t whole = (low - 1) * rate[c] / fastest; /* flows that fit the step */
		double load = ((double)whole + 1) * unit / rate[c];

		*bound = !*bound || load < *bound ? load : *bound;
	}
	osr_arena_reset(scratch, mark);
	return st;
}
