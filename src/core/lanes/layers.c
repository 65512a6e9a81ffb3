/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One lane for everything: see lanes.h. */
#include <string.h>

#include "core/paths/mcast.h"

#include "lanes_private.h"

/*
 * Every dependency of counted routes with weight 1. Of end ports, to which every switch sends, switch by switch, not tree
 * by tree: the weights of a switch lie together. sends[n_switches] is overwritten.
 */
static void layers_mark(const struct osr_spf *spf, const struct osr_cdg *g, uint32_t *sends)
{
	const struct osr_fabric *fabric = spf->f;
	size_t n = fabric->n_switches;

	memset(g->weight, 0, g->n_slots * sizeof(*g->weight));
	for (uint32_t root = 0; root < n; root++) {
		const uint32_t *dest = spf->dest_list + spf->dest_row[root];
		uint32_t n_dests = spf->dest_row[root + 1] - spf->dest_row[root], slot;

		/* Port 0 comes last. Only switches with end ports send to it, and those that they send through. */
		for (; n_dests &&
		       fabric->term_role[fabric->dest_term[dest[n_dests - 1]]] == OSR_ROLE_SP0;
		     n_dests--) {
			const uint8_t *hop = spf->hop + dest[n_dests - 1] * n;

			memcpy(sends, fabric->sw_sources, n * sizeof(*sends));
			for (uint32_t i = spf->n_order[root];
			     spf->alias[dest[n_dests - 1]] == OSR_NONE && i-- > 1;) {
				uint32_t v = spf->order[root * n + i];

				slot = osr__dependency(g, hop, root, v);
				if (slot == OSR_NONE || !sends[v])
					continue;
				g->weight[slot] = 1;
				sends[osr__next_switch(fabric, hop, v)] = 1;
			}
		}
		for (uint32_t v = 0; v < n; v++)
			for (uint32_t k = 0; k < n_dests; k++) {
				const uint8_t *hop = spf->hop + dest[k] * n;

				slot = hop[v] == OSR_NO_PATH ? OSR_NONE
							     : osr__dependency(g, hop, root, v);
				if (slot != OSR_NONE)
					g->weight[slot] = 1;
			}
	}
}

enum osr_status osr_layers_single(struct osr_lanes_job *job, bool *fits)
{
	const struct osr_spf *spf = job->s;
	struct osr_routing *routing = job->r;
	struct osr_arena_mark mark = osr_arena_mark(job->scratch), before;
	bool multicast = job->req->multicast;
	uint32_t *sends = osr_alloc(job->scratch, spf->f->n_switches, sizeof(*sends)), *rank;
	struct osr_cdg g;
	enum osr_status st = osr_cdg_init(&g, spf->f, job->scratch, job->diag);

	*fits = false;
	routing->n_vls = 1;
	if (!st && multicast)
		st = osr_mcast_order(spf, job->scratch, job->result, routing, job->diag);
	if (st)
		return st;
	before = osr_arena_mark(job->result);
	rank = osr_alloc(job->result, spf->f->n_channels, sizeof(*rank));
	if (!sends || osr_arena_failed(job->result, job->diag))
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for one lane");
	layers_mark(spf, &g, sends);
	if (multicast)
		osr_mcast_depend(routing->mcast_parent, &g);
	*fits = osr_cdg_sort(&g, job->scratch, rank);
	if (osr_arena_failed(job->scratch, job->diag))
		return OSR_NOMEM;
	if (*fits) {
		/* One graph without a cycle for everything, on every VL: any packet may use any SL. */
		routing->rank = rank;
		routing->n_layers = routing->n_layers_one_way = 1;
		routing->mcast_vl = multicast ? 0 : routing->mcast_vl;
		routing->claims |= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE |
				   OSR_CLAIM_ANY_SL | (multicast ? OSR_CLAIM_MULTICAST : 0);
	} else {
		osr_arena_reset(job->result, before);
	}
	osr_arena_reset(job->scratch, mark);
	return OSR_OK;
}
