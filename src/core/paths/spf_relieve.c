/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tables that an engine made by a rule of its own: branches of trees leave the busiest links. See spf.h. */
#include <string.h>

#include "spf_private.h"

/* Ports to hops. */
static void relieve_take(struct osr_spf *spf)
{
	const struct osr_fabric *fabric = spf->f;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;

		for (uint32_t v = 0; v < fabric->n_switches; v++)
			if (v == fabric->dest_switch[d])
				hop[v] = OSR_NO_PATH;
			else if (hop[v] != OSR_NO_PATH)
				hop[v] = (uint8_t)(fabric->port_chan[fabric->port_row[v] + hop[v]] -
						   fabric->chan_row[v]);
	}
}

/* Are all routes to d that somebody sends shortest ones? */
static bool relieve_is_shortest(struct osr_spf *spf, uint32_t d)
{
	const struct osr_fabric *fabric = spf->f;
	uint32_t root = fabric->dest_switch[d], *count = spf->scratch->count;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	const uint8_t *dist8 = spf->scratch->dist8 + (size_t)root * fabric->n_switches;

	memcpy(count, fabric->sw_sources, fabric->n_switches * sizeof(*count));
	for (uint32_t i = spf->n_order[root]; i-- > 1;) {
		uint32_t v = order[i], u;

		if (!count[v])
			continue;
		u = fabric->chan_dst[osr_spf_channel(spf, d, v)];
		if (dist8[u] != (uint8_t)(dist8[v] - 1))
			return false;
		count[u] += count[v];
	}
	return true;
}

/* Adds the routes to d, switch by switch that sends, however they go. */
static void relieve_walk(struct osr_spf *spf, uint32_t d)
{
	const struct osr_fabric *fabric = spf->f;
	uint32_t root = fabric->dest_switch[d];

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint64_t n = fabric->sw_sources[s];
		uint32_t v = s;

		while (n && v != root && fabric->sw_component[v] == fabric->sw_component[root]) {
			uint32_t c = osr_spf_channel(spf, d, v);

			spf->weight[c] += (n * spf->unit[c]) << HOP_BITS;
			v = fabric->chan_dst[c];
		}
	}
}

enum osr_status osr_spf_relieve(struct osr_spf *spf, uint32_t percent, uint32_t moves,
				struct osr_arena *arena, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = spf->f;
	struct osr_spf_scratch *scratch = spf->scratch;
	uint64_t bound = osr_spf_bound(fabric) * percent / 100;

	scratch->fixed = osr_calloc(arena, fabric->n_dests, 1);
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	relieve_take(spf);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t root = fabric->dest_switch[d];

		if (!fabric->term_weight[fabric->dest_term[d]])
			continue;
		scratch->fixed[d] = !relieve_is_shortest(spf, d);
		if (scratch->fixed[d])
			relieve_walk(spf, d);
		else
			osr__spf_count(spf, spf->order + (size_t)root * fabric->n_switches,
				       spf->n_order[root],
				       spf->hop + (size_t)d * fabric->n_switches, 1);
	}
	/* The limits that it tries lie closer to the bound the second time. */
	osr__spf_branches(spf, bound, moves);
	osr__spf_branches(spf, bound, moves);
	return OSR_OK;
}
