/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A proof that one lane cannot carry shortest routes: see lanes_private.h. */
#include <osmroutes/cdg.h>
#include <osmroutes/spf.h>

#include "lanes_private.h"

/* The paths of two channels from v to a switch: how many, and the turn of the last one found. */
struct forced_paths {
	uint32_t n, slot;
};

/* Every packet from v to switches with hosts that have one path of two channels takes that turn. */
static void forced_turns_of(struct osr_cdg *cdg, const uint32_t *n_hosts, uint32_t v,
			    uint32_t *near, struct forced_paths *paths, uint32_t *found)
{
	const struct osr_fabric *fabric = cdg->f;
	uint32_t row = fabric->chan_row[v], end = fabric->chan_row[v + 1], n_found = 0;

	near[v] = v;
	for (uint32_t c = row; c < end; c++)
		near[fabric->chan_dst[c]] = v;
	for (uint32_t c0 = row; c0 < end; c0++) {
		uint32_t first = fabric->chan_row[fabric->chan_dst[c0]];

		for (uint32_t slot = cdg->row[c0]; slot < cdg->row[c0 + 1]; slot++) {
			uint32_t x = fabric->chan_dst[first + slot - cdg->row[c0]];

			if (near[x] == v || !n_hosts[x])
				continue;
			if (!paths[x].n++)
				found[n_found++] = x;
			paths[x].slot = slot;
		}
	}
	for (uint32_t i = 0; i < n_found; i++) {
		if (paths[found[i]].n == 1)
			cdg->weight[paths[found[i]].slot] = 1;
		paths[found[i]].n = 0;
	}
}

enum osr_status osr__lanes_one_excluded(struct osr_lanes_job *job, bool *excluded)
{
	const struct osr_fabric *fabric = job->s->f;
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	size_t n = fabric->n_switches;
	uint32_t *n_hosts = osr_calloc(job->scratch, n, sizeof(*n_hosts));
	uint32_t *near = osr_alloc(job->scratch, n, sizeof(*near));
	uint32_t *found = osr_alloc(job->scratch, n, sizeof(*found));
	struct forced_paths *paths = osr_calloc(job->scratch, n, sizeof(*paths));
	uint32_t *rank = osr_alloc(job->scratch, fabric->n_channels, sizeof(*rank));
	struct osr_cdg cdg;
	enum osr_status st = osr_cdg_init(&cdg, fabric, job->scratch, job->diag);

	*excluded = false;
	if (!st) {
		for (uint32_t d = 0; d < fabric->n_dests; d++)
			n_hosts[fabric->dest_switch[d]] +=
				fabric->term_weight[fabric->dest_term[d]] > 0;
		for (uint32_t v = 0; v < n; v++)
			near[v] = OSR_NONE;
		for (uint32_t v = 0; v < n; v++)
			forced_turns_of(&cdg, n_hosts, v, near, paths, found);
		*excluded = !osr_cdg_sort(&cdg, job->scratch, rank);
	}
	if (osr_arena_failed(job->scratch, job->diag))
		return OSR_NOMEM;
	osr_arena_reset(job->scratch, mark);
	return st;
}
