/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A switch that takes SL2VL tables by input port, for all output ports at once, needs one MAD for a row
 * whose tables are alike and one more for each that is not. Pairs of ports that no packet takes from one
 * link to another are free: they get the VL that most others of their row have.
 */
#include <string.h>

#include "turn_private.h"

struct rows {
	const struct osr_fabric *f;
	struct osr_routing *r;
	uint8_t *used; /* by index of r->sl2vl */
};

static size_t rows_pair(const struct rows *w, uint32_t s, uint32_t in, uint32_t out)
{
	return w->r->sl2vl_row[s] + in * (w->f->sw_n_ports[s] + (size_t)1) + out;
}

static void rows_use(struct rows *w, uint32_t c0, uint32_t c1)
{
	w->used[rows_pair(w, w->f->chan_dst[c0], w->f->chan_port[w->f->chan_rev[c0]],
			  w->f->chan_port[c1])] = 1;
}

static void rows_mark_routes(struct rows *w, const struct osr__search *turns)
{
	const struct osr_fabric *fabric = w->f;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		for (uint32_t t = turns->g.row[c]; t < turns->g.row[c + 1]; t++)
			if (turns->n_used[t])
				rows_use(w, c, osr_cdg_target(&turns->g, c, t));
}

static bool rows_on_order(const struct rows *w, uint32_t c)
{
	const struct osr_fabric *fabric = w->f;
	const uint32_t *parent = w->r->mcast_parent;

	return parent && (parent[fabric->chan_src[c]] == c ||
			  parent[fabric->chan_dst[c]] == fabric->chan_rev[c]);
}

/* What hosts send, and the turns of the spanning order. */
static void rows_mark_others(struct rows *w)
{
	const struct osr_fabric *fabric = w->f;

	for (uint32_t out = 0; out < fabric->n_channels; out++) {
		uint32_t s = fabric->chan_src[out];

		for (uint32_t in = 0; in <= fabric->sw_n_ports[s]; in++) {
			uint32_t back = osr_port_channel(fabric, s, in);

			if (back == OSR_NONE)
				w->used[rows_pair(w, s, in, fabric->chan_port[out])] = 1;
			else if (back != out && rows_on_order(w, back) && rows_on_order(w, out))
				rows_use(w, fabric->chan_rev[back], out);
		}
	}
}

static void rows_fill(struct rows *w, uint32_t s, uint32_t in)
{
	uint32_t n = w->f->sw_n_ports[s] + 1u, count[16] = { 0 };
	uint8_t most = 0;
	size_t at = rows_pair(w, s, in, 0);

	for (uint32_t out = 0; out < n; out++)
		if (w->used[at + out])
			count[w->r->sl2vl[at + out][0]]++;
	for (uint8_t vl = 1; vl < 16; vl++)
		if (count[vl] > count[most])
			most = vl;
	for (uint32_t out = 0; out < n; out++)
		if (!w->used[at + out])
			memset(w->r->sl2vl[at + out], most, sizeof(*w->r->sl2vl));
}

enum osr_status osr__turn_rows(const struct osr__search *turns, struct osr_arena *scratch,
			       struct osr_routing *routing)
{
	const struct osr_fabric *fabric = turns->f;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct rows w = { .f = fabric, .r = routing };
	uint32_t last = fabric->n_switches - 1;

	w.used = osr_calloc(
		scratch,
		rows_pair(&w, last, fabric->sw_n_ports[last], fabric->sw_n_ports[last]) + 1, 1);
	if (!w.used)
		return OSR_NOMEM;
	rows_mark_routes(&w, turns);
	rows_mark_others(&w);
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (uint32_t in = 0; in <= fabric->sw_n_ports[s]; in++)
			rows_fill(&w, s, in);
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}
