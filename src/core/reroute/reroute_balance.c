/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * After the routes that were cut have been found: where a channel carries more than it must, LIDs move
 * off it, one entry at a time, to paths as short. An entry moves only if that lowers the busiest
 * channel; entries in blocks that are sent anyway go first, for switches are sent blocks of 64 LIDs.
 *
 * How far: to 1.05 of the least that any routing of the fabric of today can have (bound.h), or to what
 * the baseline carries, whichever is more. A fault takes channels away, so no routing of today can be
 * expected to do better than the full route of before.
 */
#include "reroute_private.h"

#include <string.h>

#define MAX_TREES 256 /* looked at for one move */
#define MAX_STUCK 64  /* channels in a row of which nothing can move */
#define MAX_WORK 4096 /* trees looked at for all of them */
#define KEEP 8        /* moves that are tried, the best first */
#define BLOCK 64      /* LIDs that a switch is sent at once */

/* Switch v sends to d by channel c instead. Smaller is better. */
struct move {
	uint64_t key; /* what it costs: see move_key() */
	uint64_t flow;
	uint32_t d, v, c;
};

struct balance {
	struct osr__reroute *w;
	uint64_t goal; /* no channel above it */
	uint64_t aim;  /* what moves leave room below the goal for those that come later */
	uint8_t *sent; /* [n_switches * n_blocks] blocks that differ from those of the last sweep */
	uint32_t n_blocks;
	uint32_t *order; /* [n_switches] one tree */
	uint8_t *stuck;  /* [n_channels] nothing can move until another one has made room */
	uint8_t *hot;    /* [n_switches] sends over the channel that is relieved */
	struct move best[KEEP];
	uint32_t n_best;
	uint32_t n_work; /* trees looked at */
};

/* The busiest channel beyond the goal of which something may still move, or OSR_NONE. */
static uint32_t reroute_balance_most_loaded(const struct balance *b)
{
	const struct osr__reroute *w = b->w;
	uint64_t most = b->goal;
	uint32_t best = OSR_NONE;

	for (uint32_t c = 0; c < w->x->n_channels; c++) {
		if (w->map.chan_f[c] == OSR_NONE || w->tab.load[c] <= most ||
		    (b->stuck && b->stuck[c]))
			continue;
		best = c;
		most = w->tab.load[c];
	}
	return best;
}

static uint8_t *block_of(const struct balance *b, uint32_t d, uint32_t v)
{
	return &b->sent[(size_t)v * b->n_blocks + b->w->x->dest_lid[d] / BLOCK];
}

/* Blocks that the trees found so far have changed. */
static void mark_blocks(struct balance *b)
{
	struct osr__reroute *w = b->w;
	const struct osr_fabric *fabric = w->x;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *row = w->tab.lft + (size_t)d * fabric->n_switches;

		if (!w->tab.touched[d] || w->map.dest_f[d] == OSR_NONE)
			continue;
		osr__last_row(w, d, w->tree.last_row);
		for (uint32_t v = 0; v < fabric->n_switches; v++)
			*block_of(b, d, v) |=
				v != fabric->dest_switch[d] && row[v] != w->tree.last_row[v];
	}
}

/* Lengths, flows and lanes of the tree of d, and who sends over channel c. Its switches. */
static uint32_t lay_out(struct balance *b, uint32_t d, uint32_t c)
{
	struct osr__reroute *w = b->w;
	const struct osr_fabric *fabric = w->x;
	const uint8_t *row = w->tab.lft + (size_t)d * fabric->n_switches;
	uint32_t n = osr__order_tree(w, d, row, b->order);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = b->order[i], out = i ? osr_port_channel(fabric, v, row[v]) : OSR_NONE;

		w->tree.len[v] = i ? w->tree.len[fabric->chan_dst[out]] + 1 : 0;
		b->hot[v] = i && (out == c || b->hot[fabric->chan_dst[out]]);
		w->tree.flow[v] = w->tab.sources[v];
		w->tree.done[v] = i ? osr__need(w, d, v) : 0;
	}
	for (uint32_t i = n; i-- > 1;) {
		uint32_t v = b->order[i],
			 to = fabric->chan_dst[osr_port_channel(fabric, v, row[v])];

		w->tree.flow[to] += w->tree.flow[v];
		w->tree.done[to] |= w->tree.done[v];
	}
	return n;
}

/* Another LID of the same port on this port of v: they are to differ. */
static bool used_by_sibling(const struct osr__reroute *w, uint32_t d, uint32_t v, uint8_t port)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t t = fabric->dest_term[d], first = d - (fabric->dest_lid[d] - fabric->term_lid[t]);

	for (uint32_t k = 0; k < 1u << fabric->term_lmc[t]; k++)
		if (first + k != d &&
		    w->tab.lft[(size_t)(first + k) * fabric->n_switches + v] == port)
			return true;
	return false;
}

/*
 * The largest load if v sent by c: both paths are as long, so they are followed side by side until they
 * meet.
 */
static uint64_t load_after(const struct osr__reroute *w, const uint8_t *row, uint32_t v, uint32_t c)
{
	const struct osr_fabric *fabric = w->x;
	uint64_t most = w->tab.load[c] + w->tree.flow[v];
	uint32_t old = fabric->chan_dst[osr_port_channel(fabric, v, row[v])],
		 now = fabric->chan_dst[c];

	while (old != now) {
		uint32_t next = osr_port_channel(fabric, now, row[now]);

		most = most < w->tab.load[next] + w->tree.flow[v]
			       ? w->tab.load[next] + w->tree.flow[v]
			       : most;
		now = fabric->chan_dst[next];
		old = fabric->chan_dst[osr_port_channel(fabric, old, row[old])];
	}
	return most;
}

/*
 * First what stays within the goal, then what needs no more blocks, then what takes off no more than is
 * needed, or else as much as there is.
 */
static uint64_t move_key(const struct balance *b, const struct move *m, uint64_t most,
			 uint64_t excess)
{
	uint64_t rest = m->flow > excess ? m->flow - excess : excess - m->flow;
	uint64_t key = rest < UINT64_C(1) << 56 ? rest : UINT64_C(1) << 56;

	key |= m->flow < excess ? UINT64_C(1) << 57 : 0;
	key |= *block_of(b, m->d, m->v) ? 0 : UINT64_C(1) << 58;
	return key | (most > b->aim ? UINT64_C(1) << 59 : 0);
}

static void note_move(struct balance *b, struct move m)
{
	uint32_t i = b->n_best;

	if (i == KEEP && m.key >= b->best[KEEP - 1].key)
		return;
	i = i < KEEP ? b->n_best++ : KEEP - 1;
	for (; i && b->best[i - 1].key > m.key; i--)
		b->best[i] = b->best[i - 1];
	b->best[i] = m;
}

/* What could take LID d off channel hot, wholly or in part. */
static void find_moves(struct balance *b, uint32_t d, uint32_t hot)
{
	struct osr__reroute *w = b->w;
	const struct osr_fabric *fabric = w->x;
	const uint8_t *row = w->tab.lft + (size_t)d * fabric->n_switches;
	uint32_t n = lay_out(b, d, hot);
	uint64_t excess = w->tab.load[hot] - b->goal;

	for (uint32_t i = 1; i < n; i++) {
		uint32_t v = b->order[i];

		for (uint32_t c = fabric->chan_row[v];
		     b->hot[v] && w->tree.flow[v] && c < fabric->chan_row[v + 1]; c++) {
			struct move m = { .flow = w->tree.flow[v], .d = d, .v = v, .c = c };
			uint32_t u = fabric->chan_dst[c];
			uint64_t most;

			if (w->map.chan_f[c] == OSR_NONE || row[v] == fabric->chan_port[c] ||
			    w->tree.known[u] != w->tree.epoch || b->hot[u] ||
			    w->tree.len[u] + 1 != w->tree.len[v] ||
			    used_by_sibling(w, d, v, fabric->chan_port[c]))
				continue;
			most = load_after(w, row, v, c);
			if (most >= w->tab.load[hot])
				continue;
			m.key = move_key(b, &m, most, excess);
			note_move(b, m);
		}
	}
}

/* Are all lanes free of cycles if v sends to d by c, with all who send through v? */
static bool move_is_safe(struct balance *b, const struct move *m, const uint8_t *row)
{
	struct osr__reroute *w = b->w;
	const struct osr_fabric *fabric = w->x;
	bool ok;

	if (!w->n_lanes)
		return true;
	osr__deps_begin(&w->deps);
	w->tree.epoch++; /* so that no path counts as known */
	ok = osr__add_route(w, m->d, row, m->v, m->c, w->tree.done[m->v]);
	for (uint32_t o = fabric->chan_row[m->v]; ok && o < fabric->chan_row[m->v + 1]; o++) {
		uint32_t u = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (w->map.chan_f[o] != OSR_NONE && u != fabric->dest_switch[m->d] &&
		    row[u] == fabric->chan_port[in])
			ok = osr__deps_add(&w->deps, in, m->c, w->tree.done[u]);
	}
	if (!ok)
		osr__deps_undo(&w->deps);
	return ok;
}

static bool make_move(struct balance *b, const struct move *m)
{
	struct osr__reroute *w = b->w;
	const struct osr_fabric *fabric = w->x;
	uint8_t *row = w->tab.lft + (size_t)m->d * fabric->n_switches;
	uint32_t old = osr_port_channel(fabric, m->v, row[m->v]), now = m->c;

	lay_out(b, m->d, old);
	if (!move_is_safe(b, m, row))
		return false;
	row[m->v] = fabric->chan_port[m->c];
	for (;;) {
		w->tab.load[old] -= m->flow;
		w->tab.load[now] += m->flow;
		if (fabric->chan_dst[old] == fabric->chan_dst[now])
			break;
		old = osr_port_channel(fabric, fabric->chan_dst[old], row[fabric->chan_dst[old]]);
		now = osr_port_channel(fabric, fabric->chan_dst[now], row[fabric->chan_dst[now]]);
	}
	*block_of(b, m->d, m->v) = 1;
	w->out.stable.n_trees += !w->tab.touched[m->d];
	w->tab.touched[m->d] = 1;
	w->out.stable.n_moved++;
	return true;
}

/* One entry less on the most loaded channel; false if none can move. */
static bool relieve(struct balance *b, uint32_t hot)
{
	struct osr__reroute *w = b->w;
	const struct osr_fabric *fabric = w->x;
	uint32_t v = fabric->chan_src[hot], n = 0;

	b->n_best = 0;
	/* Trees that have changed already come first. */
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t d = 0; d < fabric->n_dests && n < MAX_TREES; d++) {
			if ((w->tab.touched[d] != 0) != !pass || w->map.dest_f[d] == OSR_NONE ||
			    !fabric->term_weight[fabric->dest_term[d]] ||
			    v == fabric->dest_switch[d] ||
			    w->tab.lft[(size_t)d * fabric->n_switches + v] !=
				    fabric->chan_port[hot])
				continue;
			find_moves(b, d, hot);
			n++;
			b->n_work++;
		}
	for (uint32_t i = 0; i < b->n_best; i++)
		if (make_move(b, &b->best[i]))
			return true;
	return false;
}

enum osr_status osr__reroute_balance(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->x;
	struct osr_arena_mark mark = osr_arena_mark(w->scratch);
	struct balance b = { .w = w, .n_blocks = (uint32_t)fabric->max_lid / BLOCK + 1 };
	uint32_t hot, left = 4 * fabric->n_switches, n_stuck = 0;
	enum osr_status st = osr__expected_load(w, &b.aim, &b.goal, diag);

	b.goal = b.goal < b.aim + b.aim / 20 ? b.aim + b.aim / 20 : b.goal;

	hot = st ? OSR_NONE : reroute_balance_most_loaded(&b);
	if (hot == OSR_NONE)
		return st;
	b.sent = osr_calloc(w->scratch, (size_t)fabric->n_switches * b.n_blocks, 1);
	b.order = osr_alloc(w->scratch, fabric->n_switches, sizeof(*b.order));
	b.hot = osr_alloc(w->scratch, fabric->n_switches, 1);
	b.stuck = osr_calloc(w->scratch, fabric->n_channels, 1);
	if (!b.sent || !b.order || !b.hot || !b.stuck)
		return osr__nomem(diag);
	mark_blocks(&b);
	for (; left-- && hot != OSR_NONE && n_stuck < MAX_STUCK &&
	       b.n_work < MAX_WORK + 64 * b.w->out.stable.n_moved;
	     hot = reroute_balance_most_loaded(&b)) {
		b.stuck[hot] = !relieve(&b, hot);
		if (b.stuck[hot]) {
			n_stuck++;
		} else if (n_stuck) {
			memset(b.stuck, 0, fabric->n_channels);
			n_stuck = 0;
		}
	}
	osr_arena_reset(w->scratch, mark);
	return OSR_OK;
}
