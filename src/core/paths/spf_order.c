/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Shortest paths within an order of the switches: up first, then down. See spf.h.
 *
 * Down lead only those that have a shortest path down and take no other. Then whatever next hops
 * are chosen, no route turns from down to up.
 */
#include <string.h>

#include "spf_private.h"

#include <osmroutes/each.h>

/*
 * PATH_DOWN: switches above may go down to it. PATH_UP: it goes up, or down, and nobody goes down
 * to it.
 */
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

uint32_t osr_spf_graph_in_order(struct osr_spf *spf, uint32_t root)
{
	const struct osr_fabric *fabric = spf->fabric;
	struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint32_t *row = scratch->edge_row, *next = scratch->edge_next, n = 0, n_barred = 0;
	uint8_t *kind = scratch->kind, *role = scratch->via;

	osr_spf_graph_free(spf, root);
	/*
	 * From the farthest in: which switches routes of end ports may pass, and which of these may
	 * be asked to lead down by one above.
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
		 * A switch with paths up and down is there for switches above it, if any exist.
		 * Nothing is sent from one switch's port 0 to another's, so a switch that no route
		 * to a bare root passes keeps to no order.
		 */
		for (uint32_t k = e; k < end; k++) {
			bool above = spf->place[next[k]] < spf->place[v];

			up |= above && kind[next[k]] != PATH_NONE;
			down |= !above && kind[next[k]] == PATH_DOWN;
		}
		if (!role[v] && !fabric->sw_sources[root])
			kind[v] = PATH_NONE;
		else if (down && (!up || role[v] & SERVES))
			kind[v] = PATH_DOWN;
		else
			kind[v] = up ? PATH_UP : PATH_NONE;
		n_barred += kind[v] == PATH_NONE ? fabric->sw_sources[v] : 0;
		/* Allowed edges stay; all of them, if none is allowed. */
		for (row[i] = n; e < end; e++)
			if (kind[v] == PATH_NONE || order_allows(spf, kind, v, next[e], kind[v])) {
				scratch->edge_chan[n] = scratch->edge_chan[e];
				next[n++] = next[e];
			} else {
				scratch->cut = true;
			}
	}
	row[spf->n_order[root]] = n;
	return n_barred;
}

void osr_spf_forget(struct osr_spf *spf)
{
	spf->n_rounds = 0;
	for (uint32_t c = 0; c < spf->fabric->n_channels; c++)
		spf->weight[c] &= HOP_MASK;
}

bool osr_spf_keep_order(struct osr_spf *spf, uint32_t tolerance)
{
	const struct osr_fabric *fabric = spf->fabric;
	uint64_t n_barred = 0, n_routes = 0, n_sources = 0;

	OSR_EACH_SWITCH(v, fabric)
		n_sources += fabric->sw_sources[v];
	spf->scratch->cut = false;
	OSR_EACH_SWITCH(root, fabric) {
		uint64_t n_lids = 0; /* of end ports */

		for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++)
			n_lids += fabric->term_weight[fabric->dest_term[spf->dest_list[k]]] != 0;
		if (n_lids)
			n_barred += n_lids * osr_spf_graph_in_order(spf, root);
		n_routes += n_lids * n_sources;
	}
	if (tolerance ? n_barred > n_routes / tolerance : n_barred)
		return false;
	osr_spf_forget(spf);
	return true;
}

void osr_spf_leave_order(struct osr_spf *spf)
{
	spf->place = NULL;
	osr_spf_forget(spf);
	osr_spf_first(spf);
}
