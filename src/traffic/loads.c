/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The entries of one destination are a tree. Walked from the farthest switch to the nearest, every
 * switch has heard from all that send through it when its turn comes. The order that was good for
 * one destination is good for most others on its switch, so it is tried first: it is good if every
 * switch stands before the one it sends to.
 */
#include "traffic/loads.h"

#include <math.h>
#include <string.h>

enum osr_status osr_loads_init(struct osr_loads *loads, const struct osr_fabric *fabric,
			       struct osr_arena *arena, struct osr_diag *diag)
{
	*loads = (struct osr_loads){ .load = osr_calloc(arena, fabric->n_channels,
							sizeof(*loads->load)) };
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	return OSR_OK;
}

void osr_loads_join(struct osr_loads *loads, const struct osr_fabric *fabric,
		    const struct osr_loads *other)
{
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		loads->load[c] += other->load[c];
	for (uint32_t h = 0; h <= OSR_LOADS_MAX_HOPS; h++)
		loads->hops[h] += other->hops[h];
	loads->n_routes += other->n_routes;
	loads->n_no_path += other->n_no_path;
}

/* ---- one destination after the other -------------------------------------------------------- */

struct walker {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint64_t sources;  /* end ports that send at all */
	uint32_t n_order;  /* switches from which the destination is reached, its own included */
	uint32_t *order;   /* [n_switches] the farthest first, the destination's own last */
	uint32_t *place;   /* [n_switches] in order */
	uint32_t *chan;    /* [n_switches] channel of the entry */
	uint32_t *inflow;  /* [n_switches] end ports that send through it */
	uint32_t *depth;   /* [n_switches] channels to the destination */
	uint32_t *n_depth; /* [n_switches + 2] */
	uint32_t *pathway; /* [n_switches] */
};

static enum osr_status walker_init(struct walker *w, const struct osr_fabric *fabric,
				   const struct osr_routing *routing, struct osr_arena *scratch,
				   struct osr_diag *diag)
{
	uint32_t n = fabric->n_switches;

	*w = (struct walker){ .f = fabric, .r = routing };
	w->order = osr_alloc(scratch, n, sizeof(*w->order));
	w->place = osr_alloc(scratch, n, sizeof(*w->place));
	w->chan = osr_alloc(scratch, n, sizeof(*w->chan));
	w->inflow = osr_alloc(scratch, n, sizeof(*w->inflow));
	w->depth = osr_alloc(scratch, n, sizeof(*w->depth));
	w->n_depth = osr_alloc(scratch, (size_t)n + 2, sizeof(*w->n_depth));
	w->pathway = osr_alloc(scratch, n, sizeof(*w->pathway));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t s = 0; s < n; s++)
		w->sources += fabric->sw_sources[s];
	return OSR_OK;
}

/* The channel that the tables give dest d on switch s; OSR_NONE if the entry leads nowhere. */
static inline uint32_t loads_entry(const struct walker *w, uint32_t s, const uint8_t *lft)
{
	return osr_port_channel(w->f, s, lft[s]);
}

enum { UNKNOWN = UINT32_MAX, LOST = UINT32_MAX - 1, UNDER_WAY = UINT32_MAX - 2 };

/* Follows the entries from s until the depth of a switch is known, then writes it all the way. */
static void find_depth(struct walker *w, const uint8_t *lft, uint32_t s)
{
	uint32_t n = 0, depth;

	while (w->depth[s] == UNKNOWN) {
		w->depth[s] = UNDER_WAY;
		w->pathway[n++] = s;
		w->chan[s] = loads_entry(w, s, lft);
		if (w->chan[s] == OSR_NONE)
			break;
		s = w->f->chan_dst[w->chan[s]];
	}
	depth = w->depth[s] == UNDER_WAY ? LOST : w->depth[s];
	while (n--) {
		depth = depth == LOST ? LOST : depth + 1;
		w->depth[w->pathway[n]] = depth;
	}
}

/* A new order, by depth; within it by number. */
static void make_order(struct walker *w, const uint8_t *lft, uint32_t root)
{
	uint32_t n = w->f->n_switches, most = 0, at = 0;

	for (uint32_t s = 0; s < n; s++)
		w->depth[s] = UNKNOWN;
	w->depth[root] = 0;
	for (uint32_t s = 0; s < n; s++)
		if (w->depth[s] == UNKNOWN)
			find_depth(w, lft, s);
	memset(w->n_depth, 0, ((size_t)n + 2) * sizeof(*w->n_depth));
	for (uint32_t s = 0; s < n; s++)
		if (w->depth[s] != LOST) {
			w->n_depth[w->depth[s]]++;
			most = w->depth[s] > most ? w->depth[s] : most;
		}
	for (uint32_t d = most + 1; d--;) {
		uint32_t here = w->n_depth[d];

		w->n_depth[d] = at;
		at += here;
	}
	for (uint32_t s = 0; s < n; s++) {
		if (w->depth[s] == LOST)
			continue;
		w->place[s] = w->n_depth[w->depth[s]]++;
		w->order[w->place[s]] = s;
	}
	w->n_order = at;
}

/* Everything but the loads; false if the order is not good for this destination. */
static bool flow_down(struct walker *w, const uint8_t *lft, uint32_t root)
{
	const struct osr_fabric *fabric = w->f;

	if (w->n_order == 0 || w->order[w->n_order - 1] != root)
		return false;
	memcpy(w->inflow, fabric->sw_sources, fabric->n_switches * sizeof(*w->inflow));
	for (uint32_t k = 0; k + 1 < w->n_order; k++) {
		uint32_t s = w->order[k], c = loads_entry(w, s, lft), to;

		if (c == OSR_NONE)
			return false;
		to = fabric->chan_dst[c];
		if (w->place[to] <= k)
			return false;
		w->chan[s] = c;
		w->inflow[to] += w->inflow[s];
	}
	return true;
}

static void loads_count(struct walker *w, struct osr_loads *loads, uint32_t root)
{
	const struct osr_fabric *fabric = w->f;
	uint64_t arrived = w->inflow[root] - 1;

	w->depth[root] = 0;
	loads->hops[0] += fabric->sw_sources[root] - 1;
	for (uint32_t k = w->n_order - 1; k--;) {
		uint32_t s = w->order[k], c = w->chan[s], h = w->depth[fabric->chan_dst[c]] + 1;

		w->depth[s] = h;
		loads->hops[h < OSR_LOADS_MAX_HOPS ? h : OSR_LOADS_MAX_HOPS] +=
			fabric->sw_sources[s];
		loads->load[c] += w->inflow[s];
	}
	loads->n_routes += arrived;
	loads->n_no_path += w->sources - 1 - arrived;
}

static void add_dest(struct walker *w, struct osr_loads *loads, uint32_t d)
{
	const struct osr_fabric *fabric = w->f;
	const uint8_t *lft = w->r->lft + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d], term = fabric->dest_term[d];

	if (!fabric->term_weight[term])
		return;
	if (lft[root] != fabric->term_port[term]) { /* nobody arrives, not even from there */
		loads->n_no_path += w->sources - 1;
		return;
	}
	/* A switch that is not in the order may have a path to this destination. */
	if (w->n_order < fabric->n_switches || !flow_down(w, lft, root)) {
		make_order(w, lft, root);
		flow_down(w, lft, root);
	}
	loads_count(w, loads, root);
}

enum osr_status osr_loads_add(struct osr_loads *loads, const struct osr_fabric *fabric,
			      const struct osr_routing *routing, uint32_t first, uint32_t end,
			      struct osr_arena *scratch, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct walker w;
	enum osr_status st = walker_init(&w, fabric, routing, scratch, diag);

	for (uint32_t d = first; d < end && !st; d++)
		add_dest(&w, loads, d);
	osr_arena_reset(scratch, mark);
	return st;
}

/* ---- balance -------------------------------------------------------------------------------- */

/* Sum of (sources of s) * (distance from s to root), by a breadth-first search from root. */
static uint64_t distances(const struct osr_fabric *fabric, uint32_t root, uint32_t *dist,
			  uint32_t *queue)
{
	uint32_t head = 0, tail = 0;
	uint64_t sum = 0;

	memset(dist, 0xff, fabric->n_switches * sizeof(*dist));
	dist[root] = 0;
	queue[tail++] = root;
	while (head < tail) {
		uint32_t s = queue[head++];

		sum += (uint64_t)fabric->sw_sources[s] * dist[s];
		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			uint32_t to = fabric->chan_dst[c];

			if (dist[to] != UINT32_MAX)
				continue;
			dist[to] = dist[s] + 1;
			queue[tail++] = to;
		}
	}
	return sum;
}

enum osr_status osr_loads_minimal(const struct osr_fabric *fabric, struct osr_arena *scratch,
				  uint64_t *sum, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t *dist = osr_alloc(scratch, fabric->n_switches, sizeof(*dist));
	uint32_t *queue = osr_alloc(scratch, fabric->n_switches, sizeof(*queue));
	enum osr_status st = OSR_OK;

	*sum = 0;
	if (osr_arena_failed(scratch, diag))
		st = OSR_NOMEM;
	for (uint32_t s = 0; s < fabric->n_switches && !st; s++) {
		uint64_t lids = 0;

		for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
			lids += (uint64_t)fabric->term_weight[t] << fabric->term_lmc[t];
		if (lids)
			*sum += lids * distances(fabric, s, dist, queue);
	}
	osr_arena_reset(scratch, mark);
	return st;
}

static double power(double x, uint32_t k)
{
	double y = 1;

	while (k--)
		y *= x;
	return y;
}

void osr_loads_balance(const struct osr_loads *loads, const struct osr_fabric *fabric,
		       uint64_t minimal_sum, uint32_t k, struct osr_balance *balance)
{
	uint64_t total = 0;
	double sum = 0;

	*balance = (struct osr_balance){ .efi_channel = OSR_NONE };
	if (!fabric->n_channels)
		return;
	balance->min = UINT64_MAX;
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		total += loads->load[c];
		balance->min = loads->load[c] < balance->min ? loads->load[c] : balance->min;
		if (balance->efi_channel == OSR_NONE || loads->load[c] > balance->efi) {
			balance->efi = loads->load[c];
			balance->efi_channel = c;
		}
	}
	balance->mean = (double)total / fabric->n_channels;
	balance->perfect = (double)minimal_sum / fabric->n_channels;
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		sum += power(fabs(balance->perfect - (double)loads->load[c]), k);
	balance->sigma = pow(sum / fabric->n_channels, 1.0 / k);
}
