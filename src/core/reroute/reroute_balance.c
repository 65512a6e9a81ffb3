/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* After the routes that were cut have been found: LIDs move off channels that carry more than they must (moves.h). */
#include "reroute_private.h"

#include "core/paths/moves.h"

/* Blocks that the trees found so far have changed. */
static void mark_blocks(const struct osr__reroute *w, struct osr__moves *m)
{
	const struct osr_fabric *fabric = w->x;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *row = w->tab.lft + (size_t)d * fabric->n_switches;

		if (!w->tab.touched[d] || w->map.dest_f[d] == OSR_NONE)
			continue;
		osr__last_row(w, d, w->tree.last_row);
		for (uint32_t v = 0; v < fabric->n_switches; v++)
			*osr__moves_block(m, d, v) |=
				v != fabric->dest_switch[d] && row[v] != w->tree.last_row[v];
	}
}

static uint16_t balance_need(void *ctx, uint32_t d, uint32_t v)
{
	return osr__need(ctx, d, v);
}

/* Are all lanes free of cycles if v sends to d by c, with all who send through v? */
static bool balance_may(struct osr__moves *m, uint32_t d, uint32_t v, uint32_t c)
{
	struct osr__reroute *w = m->ctx;
	const struct osr_fabric *fabric = w->x;
	const uint8_t *row = w->tab.lft + (size_t)d * fabric->n_switches;
	bool ok;

	if (!w->n_lanes)
		return true;
	osr__deps_begin(&w->deps);
	w->tree.epoch++; /* so that no path counts as known */
	ok = osr__add_route(w, d, row, v, c, m->lanes[v]);
	for (uint32_t o = fabric->chan_row[v]; ok && o < fabric->chan_row[v + 1]; o++) {
		uint32_t u = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (w->map.chan_f[o] != OSR_NONE && u != fabric->dest_switch[d] &&
		    row[u] == fabric->chan_port[in])
			ok = osr__deps_add(&w->deps, in, c, m->lanes[u]);
	}
	if (!ok)
		osr__deps_undo(&w->deps);
	return ok;
}

enum osr_status osr__reroute_balance(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->x;
	struct osr_arena_mark mark = osr_arena_mark(w->scratch);
	struct osr__moves m = { .f = fabric,
				.chan_f = w->map.chan_f,
				.dest_f = w->map.dest_f,
				.sources = w->tab.sources,
				.lft = w->tab.lft,
				.load = w->tab.load,
				.touched = w->tab.touched,
				.ctx = w,
				.need = balance_need,
				.may = balance_may };
	enum osr_status st =
		osr_bound_expected(w->f, w->baseline, w->scratch, &m.aim, &m.goal, diag);

	osr__moves_set_goal(&m, m.aim, m.goal);
	/* With nothing cut these are the tables of before, whatever they carry. */
	if (st || (w->same && !w->tab.cut_row[fabric->n_dests]) || !osr__moves_needed(&m))
		return st;
	m.sent = osr_calloc(w->scratch, (size_t)fabric->n_switches * osr__moves_blocks(fabric), 1);
	if (!m.sent)
		return osr__nomem(diag);
	mark_blocks(w, &m);
	st = osr__moves_run(&m, w->scratch, diag);
	w->out.stable.n_moved = m.n_moved;
	w->out.stable.n_trees += m.n_trees;
	osr_arena_reset(w->scratch, mark);
	return st;
}
