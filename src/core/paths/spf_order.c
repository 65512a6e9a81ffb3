/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Shortest paths within an order of the switches: up first, then down. See spf.h.
 *
 * Down lead only those that have a shortest path down and take no other. Then whatever next hops are chosen, no route
 * turns from down to up.
 */
#include <string.h>

#include "spf_private.h"

/* PATH_DOWN: switches above may go down to it. PATH_UP: it goes up, or down, and nobody goes down to it. */
enum { PATH_NONE, PATH_DOWN, PATH_UP };
enum { PASSED = 1, SERVES = 2 };

/* May a shortest path of this kind go on from v to the closer neighbour u? */
static inline bool order_allows(const struct osr_spf *spf, const uint8_t *kind, uint32_t v,
				uint32_t u, uint8_t as)
{
	if (spf->place[u] < spf->place[v])
		return as == PATH_UP && kind[u] != PATH_NONE;
	return kind[u] == PATH_DOWN;
}

uint32_t osr__spf_graph_in_order(struct osr_spf *spf, uint32_t root)
{
	const struct osr_fabric *fabric = spf->f;
	struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint32_t *row = scratch->edge_row, *next = scratch->edge_next, n = 0, n_barred = 0;
	uint8_t *kind = scratch->kind, *role = scratch->via;

	osr__spf_graph_free(spf, root);
	/*
	 * From the farthest in: which switches routes of end ports may pass, and which of these may be asked to lead
	 * down by one above.
	 */
	memset(role, 0, fabric->n_switches);
	for (uint32_t i = spf->n_order[root]; i-- > 1;) {
		uint32_t v = order[i];

		if (!role[v] && !fabric->sw_sources[v])
			continue;
		role[v] |= PASSED;
		for (uint32_t e = row[i]; e < row[i + 1]; e++)
			role[next[e]] |= spf->place[v] < spf->place[next[e]] ? SERVES : PASSED;
	}
	kind[root] = PATH_DOWN;
	for (uint32_t i = 1, e = 0; i < spf->n_order[root]; i++) {
		uint32_t v = order[i], end = row[i + 1];
		bool up = false, down = false;

		/*
		 * With paths up and down it is there for those above, if there are any. Nothing is sent from one
		 * switch's port 0 to another's: what is not passed on the way to a bare root keeps to no order.
		 */
		for (uint32_t k = e; k < end; k++) {
			bool above = spf->place[next[k]] < spf->place[v];

			up |= above && kind[next[k]] != PATH_NONE;
			down |= !above && kind[next[k]] == PATH_DOWN;
		}
		kind[v] = !role[v] && !fabric->sw_sources[root] ? PATH_NONE
			  : down && (!up || role[v] & SERVES)   ? PATH_DOWN
			  : up                                  ? PATH_UP
								: PATH_NONE;
		n_barred += kind[v] == PATH_NONE ? fabric->sw_sources[v] : 0;
		/* What it may take stays; all, if there is nothing. */
		for (row[i] = n; e < end; e++)
			if (kind[v] == PATH_NONE || order_allows(spf, kind, v, next[e], kind[v])) {
				scratch->edge_chan[n] = scratch->edge_chan[e];
				next[n++] = next[e];
			}
	}
	row[spf->n_order[root]] = n;
	return n_barred;
}

/* All routes made so far. */
static void order_forget(struct osr_spf *spf)
{
	spf->n_rounds = 0;
	for (uint32_t c = 0; c < spf->f->n_channels; c++)
		spf->weight[c] &= HOP_MASK;
}

/* End ports whose LIDs are at v; each counts once for each of its LIDs. */
static uint64_t order_lids(const struct osr_spf *spf, uint32_t v)
{
	uint64_t n = 0;

	for (uint32_t k = spf->dest_row[v]; k < spf->dest_row[v + 1]; k++)
		n += spf->f->term_weight[spf->f->dest_term[spf->dest_list[k]]] != 0;
	return n;
}

bool osr_spf_keep_order(struct osr_spf *spf, uint32_t tolerance)
{
	const struct osr_fabric *fabric = spf->f;
	uint64_t n_barred = 0, n_routes = 0, n_sources = 0;

	for (uint32_t v = 0; v < fabric->n_switches; v++)
		n_sources += fabric->sw_sources[v];
	for (uint32_t root = 0; root < fabric->n_switches; root++) {
		uint64_t n_lids = order_lids(spf, root);

		if (n_lids)
			n_barred += n_lids * osr__spf_graph_in_order(spf, root);
		n_routes += n_lids * n_sources;
	}
	if (tolerance ? n_barred > n_routes / tolerance : n_barred)
		return false;
	order_forget(spf);
	return true;
}

void osr_spf_leave_order(struct osr_spf *spf)
{
	spf->place = spf->by_place = NULL;
	order_forget(spf);
	osr_spf_first(spf);
}

/* ---- longer paths for those without a shortest one -------------------------------------------- */

enum { BARRED_NOBODY, BARRED_PORT0, BARRED_HOSTS };

/* The longer paths to one LID. */
struct order_detour {
	struct osr_spf *spf;
	uint8_t *hop;    /* [n_switches] of those without a shortest path in the order */
	uint8_t *was;    /* [n_switches] kinds of the shortest paths */
	uint8_t *on;     /* [n_switches] takes its longer path */
	uint8_t *barred; /* [n_switches] by root: switches without a shortest path to it */
	bool failed;     /* somebody has no path at all */
};

/* Length and weight of v's path, if it goes on over c; true: better than what v has. */
static bool order_improves(struct osr_spf *spf, uint32_t v, uint32_t c, bool first)
{
	struct osr_spf_scratch *scratch = spf->scratch;
	uint32_t u = spf->f->chan_dst[c], len = scratch->count[u] + 1;
	uint64_t cost = scratch->cost[u] + (spf->weight[c] & ~HOP_MASK);

	if (!first &&
	    (len > scratch->count[v] || (len == scratch->count[v] && cost >= scratch->cost[v])))
		return false;
	scratch->count[v] = len;
	scratch->cost[v] = cost;
	return true;
}

/*
 * The shortest paths down of switches that have none yet, the lightest of equals, breadth first from those
 * that go down anyhow.
 */
static void order_extend_down(struct osr_spf *spf, uint32_t root, uint32_t d,
			      struct order_detour *detour)
{
	const struct osr_fabric *fabric = spf->f;
	struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	const uint8_t *to = spf->hop + (size_t)d * fabric->n_switches;
	uint32_t *queue = scratch->active, n = 0;

	scratch->count[root] = 0;
	scratch->cost[root] = 0;
	for (uint32_t i = 0; i < spf->n_order[root]; i++) {
		uint32_t v = order[i];

		if (i && scratch->kind[v] != PATH_NONE)
			order_improves(spf, v, fabric->chan_row[v] + to[v], true);
		if (scratch->kind[v] == PATH_DOWN)
			queue[n++] = v;
	}
	/* Not strictly by length where a longer path meets shorter ones; legal it is. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = queue[i];

		for (uint32_t o = fabric->chan_row[u]; o < fabric->chan_row[u + 1]; o++) {
			uint32_t v = fabric->chan_dst[o], c = fabric->chan_rev[o];
			bool first = scratch->kind[v] == PATH_NONE;

			if (detour->was[v] != PATH_NONE || spf->place[v] > spf->place[u] ||
			    !order_improves(spf, v, c, first))
				continue;
			scratch->kind[v] = PATH_DOWN;
			detour->hop[v] = (uint8_t)(c - fabric->chan_row[v]);
			if (first)
				queue[n++] = v;
		}
	}
}

/* All others go up, to the neighbour with the shortest path; from the top of the order down. */
static bool order_extend_up(struct osr_spf *spf, uint32_t root, struct order_detour *detour)
{
	const struct osr_fabric *fabric = spf->f;
	uint8_t *kind = spf->scratch->kind;
	bool all = true;

	for (uint32_t i = 0; i < fabric->n_switches; i++) {
		uint32_t v = spf->by_place[i];
		bool found = false;

		if (kind[v] != PATH_NONE || fabric->sw_component[v] != fabric->sw_component[root])
			continue;
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];

			if (spf->place[u] > spf->place[v] || kind[u] == PATH_NONE ||
			    !order_improves(spf, v, c, !found))
				continue;
			found = true;
			detour->hop[v] = (uint8_t)(c - fabric->chan_row[v]);
		}
		kind[v] = found ? PATH_UP : PATH_NONE;
		all &= found;
	}
	return all;
}

/*
 * Marks the switches whose routes to root are asked for and have no shortest path in the order. Nothing
 * is sent from one switch's port 0 to another's: such routes keep their shortest path.
 */
static uint8_t order_mark_asked(const struct osr_spf *spf, uint32_t root, uint8_t *on)
{
	const struct osr_fabric *fabric = spf->f;
	uint8_t barred = BARRED_NOBODY;

	memset(on, 0, fabric->n_switches);
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		on[v] = fabric->sw_component[v] == fabric->sw_component[root] &&
			spf->scratch->kind[v] == PATH_NONE &&
			(fabric->sw_sources[root] || fabric->sw_sources[v]);
		if (on[v] && barred != BARRED_HOSTS)
			barred = fabric->sw_sources[v] ? BARRED_HOSTS : BARRED_PORT0;
	}
	return barred;
}

/* And those that their longer paths pass. */
static void order_mark_passed(struct osr_spf *spf, const struct order_detour *detour)
{
	const struct osr_fabric *fabric = spf->f;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t v = s;

		while (detour->on[s] && detour->was[v] == PATH_NONE) {
			v = fabric->chan_dst[fabric->chan_row[v] + detour->hop[v]];
			if (detour->was[v] != PATH_NONE || detour->on[v])
				break;
			detour->on[v] = 1;
		}
	}
}

/* Adds (1) or removes (-1) the routes to d. */
static void order_count(struct order_detour *detour, uint32_t d, uint64_t sign)
{
	struct osr_spf *spf = detour->spf;
	const struct osr_fabric *fabric = spf->f;
	const uint8_t *to = spf->hop + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d], n = spf->n_order[root];
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;

	if (!fabric->term_weight[fabric->dest_term[d]])
		return;
	if (detour->barred[root] != BARRED_HOSTS) {
		osr__spf_count(spf, order, n, to, sign);
		return;
	}
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t v = order[i]; fabric->sw_sources[order[i]] && v != root;) {
			uint32_t c = fabric->chan_row[v] + to[v];

			spf->weight[c] += (sign * fabric->sw_sources[order[i]] * spf->unit[c])
					  << HOP_BITS;
			v = fabric->chan_dst[c];
		}
}

/*
 * How many routes to d are longer than they need be: some switch on them sends to one no closer. `detour`: what no route
 * of an end port passes evades these, where it can.
 */
static uint32_t order_count_longer(const struct osr_spf *spf, uint32_t d,
				   const struct order_detour *detour)
{
	const struct osr_fabric *fabric = spf->f;
	uint8_t *to = spf->hop + (size_t)d * fabric->n_switches, *longer = spf->scratch->via;
	uint32_t root = fabric->dest_switch[d], n = 0;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	const uint8_t *dist8 = spf->scratch->dist8 + (size_t)root * fabric->n_switches;

	longer[root] = 0;
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint32_t v = order[i], first = fabric->chan_row[v], c = first + to[v];
		bool is_free = detour && detour->was[v] == PATH_NONE && !detour->on[v];

		longer[v] = dist8[fabric->chan_dst[c]] != (uint8_t)(dist8[v] - 1) ||
			    longer[fabric->chan_dst[c]];
		for (c = first; is_free && longer[v] && c < fabric->chan_row[v + 1]; c++)
			if (osr_spf_is_closer(spf, root, c) && !longer[fabric->chan_dst[c]]) {
				to[v] = (uint8_t)(c - first);
				longer[v] = 0;
			}
		n += longer[v];
	}
	return n;
}

static void order_apply(struct order_detour *detour, uint32_t d)
{
	uint32_t n = detour->spf->f->n_switches;
	uint8_t *to = detour->spf->hop + (size_t)d * n;

	for (uint32_t v = 0; v < n; v++)
		if (detour->on[v])
			to[v] = detour->hop[v];
}

/* Finds longer paths to d, whose tree has been taken out of the weights, as far as asked for. */
static void order_detour_dest(struct order_detour *detour, uint32_t d)
{
	struct osr_spf *spf = detour->spf;
	uint32_t root = spf->f->dest_switch[d];
	size_t n = spf->f->n_switches;

	order_mark_asked(spf, root, detour->on);
	memcpy(detour->was, spf->scratch->kind, n);
	order_extend_down(spf, root, d, detour);
	detour->failed |= !order_extend_up(spf, root, detour);
	if (!detour->failed) {
		order_mark_passed(spf, detour);
		order_apply(detour, d);
		if (!spf->f->sw_sources[root])
			order_count_longer(spf, d, detour);
	}
	memcpy(spf->scratch->kind, detour->was, n);
}

/* To the LIDs of one switch; where only port 0 needs them they are the same for all. */
static void order_detour_switch(struct order_detour *detour, uint32_t root)
{
	struct osr_spf *spf = detour->spf;
	uint8_t barred;

	osr__spf_graph_in_order(spf, root);
	barred = order_mark_asked(spf, root, detour->on);
	for (uint32_t k = spf->dest_row[root]; barred && k < spf->dest_row[root + 1]; k++) {
		uint32_t d = spf->dest_list[k];

		if (spf->alias[d] != OSR_NONE)
			continue;
		if (barred == BARRED_PORT0 && k > spf->dest_row[root]) {
			order_apply(detour, d);
			continue;
		}
		detour->barred[root] = BARRED_NOBODY;
		order_count(detour, d, (uint64_t)-1);
		order_detour_dest(detour, d);
		if (detour->failed)
			return;
		detour->barred[root] = barred;
		order_count(detour, d, 1);
	}
}

enum osr_status osr_spf_complete_order(struct osr_spf *spf, struct osr_arena *arena, bool *complete,
				       uint32_t *n_longer, struct osr_diag *diag)
{
	size_t n = spf->f->n_switches;
	struct order_detour detour = { .spf = spf,
				       .hop = osr_alloc(arena, n, 1),
				       .was = osr_alloc(arena, n, 1),
				       .on = osr_alloc(arena, n, 1),
				       .barred = osr_calloc(arena, n, 1) };

	*complete = true;
	*n_longer = 0;
	if (!detour.hop || !detour.was || !detour.on || !detour.barred)
		return osr_fail(diag, OSR_NOMEM, "out of memory for longer paths");
	for (uint32_t root = 0; root < n && *complete; root++) {
		order_detour_switch(&detour, root);
		*complete = !detour.failed;
	}
	if (!*complete)
		return OSR_OK;
	osr__spf_share(spf);
	for (uint32_t d = 0; d < spf->f->n_dests; d++)
		if (detour.barred[spf->f->dest_switch[d]])
			*n_longer += order_count_longer(spf, d, NULL);
	return OSR_OK;
}
