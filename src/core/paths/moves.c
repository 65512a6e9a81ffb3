/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See moves.h. From the outside in:
 *	osr__moves_run()
 *	  moves_relieve()	one channel: what could leave it, the best first
 *	    moves_find()	  in the tree of one LID
 *	    moves_make()	  one entry
 *	  moves_return_all()	blocks that need not be sent after all
 */
#include "core/paths/moves.h"

#include <osmroutes/routing.h>

#include <stdlib.h>
#include <string.h>

#define MAX_STUCK 64 /* channels in a row of which nothing can move; where no blocks count: */
#define FEW_STUCK 4
#define MAX_WORK 16384 /* trees looked at for all of them, and so many more for each that moved: */
#define WORK_MOVED 64
#define FEW_WORK 8 /* for each LID, where no blocks count; and ways tried */
/* Moves that are tried, the best first, and as many more that are listed: virtual lanes refuse most. */
#define KEEP 2048
#define FEW_KEEP 512 /* where no blocks count */

/* Switch v sends to d by channel c instead. Smaller is better. */
struct move {
	uint64_t key; /* what it costs: see move_key() */
	uint64_t flow;
	uint32_t d, v, c;
	uint32_t number; /* in the order in which they were found */
	bool longer;     /* the way has more channels */
};

struct moves_scratch {
	uint32_t *order; /* [n_switches] the branch of a tree that sends over the channel */
	uint32_t *mark;  /* [n_switches] is in it, if this is the current epoch */
	uint32_t *len;   /* [n_switches] channels to the root */
	uint32_t *flow;  /* [n_switches] end ports that send through */
	uint32_t *way;   /* [n_switches] is on the way of the switch at hand, if this is n_ways */
	uint32_t n_ways;
	uint8_t *stuck; /* [n_channels] nothing can move until another one has made room */
	uint32_t epoch;
	uint32_t n_best, n_found;
	uint64_t n_work; /* trees looked at */
	uint32_t keep;   /* room in */
	struct move *best;
};

static inline uint64_t moves_amount(const struct osr__moves *m, uint32_t c, uint64_t flow)
{
	return m->unit ? flow * m->unit[c] : flow;
}

/* The busiest channel beyond the goal of which something may still move, or OSR_NONE. */
static uint32_t moves_busiest(const struct osr__moves *m)
{
	uint64_t most = m->goal;
	uint32_t best = OSR_NONE;

	for (uint32_t c = 0; c < m->f->n_channels; c++) {
		if (m->load[c] <= most || (m->scratch && m->scratch->stuck[c]))
			continue;
		best = c;
		most = m->load[c];
	}
	return best;
}

bool osr__moves_needed(const struct osr__moves *m)
{
	return moves_busiest(m) != OSR_NONE;
}

/* Channels from v to the root of d, OSR_NONE: more than `most`, or it leads nowhere. */
static uint32_t moves_length(const struct osr__moves *m, uint32_t d, uint32_t v, uint32_t most)
{
	const uint8_t *row = m->lft + (size_t)d * m->f->n_switches;

	for (uint32_t len = 0; len <= most; len++) {
		uint32_t c;

		if (v == m->f->dest_switch[d])
			return len;
		c = osr__moves_channel(m, v, row[v]);
		if (c == OSR_NONE)
			return OSR_NONE;
		v = m->f->chan_dst[c];
	}
	return OSR_NONE;
}

/*
 * The switches that send to d over channel hot, each after the one it sends to, with lengths and flows; how
 * many.
 */
static uint32_t moves_lay_out(struct osr__moves *m, uint32_t d, uint32_t hot)
{
	const struct osr_fabric *fabric = m->f;
	const uint8_t *row = m->lft + (size_t)d * fabric->n_switches;
	struct moves_scratch *x = m->scratch;
	uint32_t n = 1, top = fabric->chan_src[hot];

	x->epoch++;
	x->mark[top] = x->epoch;
	x->order[0] = top;
	x->len[top] = moves_length(m, d, top, fabric->n_switches);
	if (x->len[top] == OSR_NONE)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = x->order[i];

		x->flow[v] = fabric->sw_sources[v];
		for (uint32_t o = fabric->chan_row[v]; o < fabric->chan_row[v + 1]; o++) {
			uint32_t u = fabric->chan_dst[o];

			if (x->mark[u] == x->epoch || u == fabric->dest_switch[d] ||
			    osr__moves_channel(m, u, row[u]) != fabric->chan_rev[o])
				continue;
			x->mark[u] = x->epoch;
			x->len[u] = x->len[v] + 1;
			x->order[n++] = u;
		}
	}
	for (uint32_t i = n; i-- > 1;) {
		uint32_t v = x->order[i], to = fabric->chan_dst[osr__moves_channel(m, v, row[v])];

		x->flow[to] += x->flow[v];
	}
	return n;
}

/* Another LID of the same port on this port of v: they are to differ. */
static bool moves_meets_sibling(const struct osr__moves *m, uint32_t d, uint32_t v, uint32_t c)
{
	const struct osr_fabric *fabric = m->f;
	uint32_t t = fabric->dest_term[d], first = d - (fabric->dest_lid[d] - fabric->term_lid[t]);

	for (uint32_t k = 0; k < 1u << fabric->term_lmc[t]; k++)
		if (first + k != d &&
		    osr__moves_channel(m, v,
				       m->lft[(size_t)(first + k) * fabric->n_switches + v]) == c)
			return true;
	return false;
}

/* Marks the way of v, root included. */
static void moves_mark_way(const struct osr__moves *m, uint32_t d, uint32_t v)
{
	const uint8_t *row = m->lft + (size_t)d * m->f->n_switches;
	struct moves_scratch *x = m->scratch;

	x->way[m->f->dest_switch[d]] = ++x->n_ways;
	for (; x->way[v] != x->n_ways; v = m->f->chan_dst[osr__moves_channel(m, v, row[v])])
		x->way[v] = x->n_ways;
}

/* The largest load on the new way if v, whose way is marked, sent by c: up to where it meets the old one. */
static uint64_t moves_load_after(const struct osr__moves *m, const uint8_t *row, uint32_t v,
				 uint32_t c)
{
	const struct moves_scratch *x = m->scratch;
	uint64_t most = 0;

	for (;; c = osr__moves_channel(m, m->f->chan_dst[c], row[m->f->chan_dst[c]])) {
		uint64_t load = m->load[c] + moves_amount(m, c, x->flow[v]);

		most = most < load ? load : most;
		if (x->way[m->f->chan_dst[c]] == x->n_ways)
			return most;
	}
}

/*
 * With the branch laid out: v is in it, and reaches the root by c without the branch, over as many channels, or over
 * more where that is allowed.
 */
static bool moves_is_way(const struct osr__moves *m, const uint8_t *row, struct move *way)
{
	const struct moves_scratch *x = m->scratch;
	uint32_t u = m->f->chan_dst[way->c], len;

	if (x->mark[way->v] != x->epoch || x->mark[u] == x->epoch ||
	    osr__moves_channel(m, way->v, row[way->v]) == way->c)
		return false;
	len = moves_length(m, way->d, u, x->len[way->v] - 1 + m->extra);
	way->longer = len > x->len[way->v] - 1;
	return len != OSR_NONE && len >= x->len[way->v] - 1 &&
	       (!way->longer || x->flow[way->v] <= m->spare) &&
	       !moves_meets_sibling(m, way->d, way->v, way->c);
}

#define OVER_AIM (UINT64_C(1) << 59)
#define LONGER (UINT64_C(1) << 60)

/*
 * First what gets no longer, then what stays within the goal, then what needs no more blocks, then what takes off no more than is
 * needed, or else as much as there is.
 */
static uint64_t move_key(const struct osr__moves *m, const struct move *way, uint32_t hot,
			 uint64_t most)
{
	uint64_t amount = moves_amount(m, hot, way->flow);
	uint64_t excess = m->load[hot] - m->goal;
	uint64_t rest = amount > excess ? amount - excess : excess - amount;
	uint64_t key = rest < UINT64_C(1) << 56 ? rest : UINT64_C(1) << 56;

	key |= amount < excess ? UINT64_C(1) << 57 : 0;
	key |= !m->sent || *osr__moves_block(m, way->d, way->v) ? 0 : UINT64_C(1) << 58;
	return key | (most > m->aim ? OVER_AIM : 0) | (way->longer ? LONGER : 0);
}

static int moves_by_key(const void *a, const void *b)
{
	const struct move *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Of too many moves the better half stays. */
static void moves_note(struct osr__moves *m, struct move way)
{
	struct moves_scratch *x = m->scratch;

	if (x->n_best == x->keep) {
		qsort(x->best, x->n_best, sizeof(*x->best), moves_by_key);
		x->n_best /= 2;
	}
	way.number = x->n_found++;
	x->best[x->n_best++] = way;
}

/* What could take LID d off channel hot, wholly or in part. */
static void moves_find(struct osr__moves *m, uint32_t d, uint32_t hot)
{
	const struct osr_fabric *fabric = m->f;
	const uint8_t *row = m->lft + (size_t)d * fabric->n_switches;
	struct moves_scratch *x = m->scratch;
	uint32_t n = moves_lay_out(m, d, hot);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = x->order[i];
		bool marked = false;

		if (!x->flow[v])
			continue;
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			struct move way = { .flow = x->flow[v], .d = d, .v = v, .c = c };
			uint64_t most;

			if (!moves_is_way(m, row, &way))
				continue;
			if (!marked)
				moves_mark_way(m, d, v);
			marked = true;
			most = moves_load_after(m, row, v, c);
			if (most >= m->load[hot])
				continue;
			way.key = move_key(m, &way, hot, most);
			moves_note(m, way);
		}
	}
}

/* The way of v is marked. */
static void moves_shift(struct osr__moves *m, const struct move *way, uint8_t *row)
{
	const struct osr_fabric *fabric = m->f;
	const struct moves_scratch *x = m->scratch;
	uint32_t old = osr__moves_channel(m, way->v, row[way->v]), c = way->c, meets;

	row[way->v] = m->hops ? (uint8_t)(c - fabric->chan_row[way->v]) : fabric->chan_port[c];
	for (;; c = osr__moves_channel(m, meets, row[meets])) {
		m->load[c] += moves_amount(m, c, way->flow);
		meets = fabric->chan_dst[c];
		if (x->way[meets] == x->n_ways)
			break;
	}
	for (c = old;; c = osr__moves_channel(m, fabric->chan_dst[c], row[fabric->chan_dst[c]])) {
		m->load[c] -= moves_amount(m, c, way->flow);
		if (fabric->chan_dst[c] == meets)
			return;
	}
}

/* If it still is what it was when it was found: others were made since then. */
static bool moves_make(struct osr__moves *m, struct move *way, uint32_t hot)
{
	uint8_t *row = m->lft + (size_t)way->d * m->f->n_switches;
	uint64_t most;
	uint32_t n;

	if (osr__moves_channel(m, m->f->chan_src[hot], row[m->f->chan_src[hot]]) != hot)
		return false;
	m->scratch->n_work += !m->sent;
	n = moves_lay_out(m, way->d, hot);
	if (!n || !moves_is_way(m, row, way) || m->scratch->flow[way->v] != way->flow)
		return false;
	moves_mark_way(m, way->d, way->v);
	most = moves_load_after(m, row, way->v, way->c);
	if (most >= m->load[hot] || (most > m->aim && !(way->key & OVER_AIM)) ||
	    !m->may(m, way->d, way->v, way->c, m->scratch->order, n))
		return false;
	moves_shift(m, way, row);
	m->spare -= way->longer ? way->flow : 0;
	m->n_moved++;
	if (!m->sent)
		return true;
	*osr__moves_block(m, way->d, way->v) = 1;
	m->n_trees += !m->touched[way->d];
	m->touched[way->d] = 1;
	return true;
}

/* Less on the most loaded channel; false if nothing can move. */
static bool moves_relieve(struct osr__moves *m, uint32_t hot)
{
	const struct osr_fabric *fabric = m->f;
	struct moves_scratch *x = m->scratch;
	uint32_t v = fabric->chan_src[hot];
	uint64_t n_moved = m->n_moved;

	x->n_best = x->n_found = 0;
	/* Where no blocks count the first ways will do. */
	for (uint32_t d = 0; d < fabric->n_dests && (m->sent || 2 * x->n_best < x->keep); d++) {
		if (!fabric->term_weight[fabric->dest_term[d]] || v == fabric->dest_switch[d] ||
		    osr__moves_channel(m, v, m->lft[(size_t)d * fabric->n_switches + v]) != hot)
			continue;
		moves_find(m, d, hot);
		x->n_work++;
	}
	qsort(x->best, x->n_best, sizeof(*x->best), moves_by_key);
	for (uint32_t i = 0; i < x->n_best && m->load[hot] > m->goal; i++)
		moves_make(m, &x->best[i], hot);
	return m->n_moved != n_moved;
}

/* ---- what need not have moved ----------------------------------------------------------------- */

#define ANY_LOAD UINT64_MAX /* when a move is undone: that is always allowed */

/* Switch v sends to d by the channel of this entry again, if that puts no more than `most` on any channel. */
static bool moves_return(struct osr__moves *m, uint32_t d, uint32_t v, uint8_t entry, uint64_t most)
{
	uint8_t *row = m->lft + (size_t)d * m->f->n_switches;
	struct move way = { .d = d, .v = v, .c = osr__moves_channel(m, v, entry) };
	uint32_t n = way.c == OSR_NONE ? 0 : moves_lay_out(m, d, osr__moves_channel(m, v, row[v]));

	if (!n)
		return false;
	way.flow = m->scratch->flow[v];
	moves_mark_way(m, d, v);
	if (most != ANY_LOAD &&
	    (!moves_is_way(m, row, &way) || moves_load_after(m, row, v, way.c) > most ||
	     !m->may(m, d, v, way.c, m->scratch->order, n)))
		return false;
	moves_shift(m, &way, row);
	return true;
}

/* All entries of a block that moves alone have changed are again what they were; else none. */
static uint32_t moves_return_block(struct osr__moves *m, const uint8_t *was, uint32_t v,
				   uint32_t block, uint64_t most)
{
	const struct osr_fabric *fabric = m->f;
	uint32_t n = 0, back[OSR__MOVES_BLOCK];
	uint8_t moved[OSR__MOVES_BLOCK];

	for (uint32_t lid = block * OSR__MOVES_BLOCK;
	     lid < (block + 1) * OSR__MOVES_BLOCK && lid <= fabric->max_lid; lid++) {
		uint32_t d = fabric->lid_dest[lid];
		size_t at = (size_t)d * fabric->n_switches + v;

		if (d == OSR_NONE || m->lft[at] == was[at])
			continue;
		back[n] = d;
		moved[n] = m->lft[at];
		if (moves_return(m, d, v, was[at], most)) {
			n++;
			continue;
		}
		while (n--)
			moves_return(m, back[n], v, moved[n], ANY_LOAD);
		return 0;
	}
	return n;
}

/* Blocks that are sent for moves alone, and need not be: the busiest channel carries no more without them. */
static void moves_return_all(struct osr__moves *m, const uint8_t *was, const uint8_t *sent)
{
	uint32_t n_blocks = osr__moves_blocks(m->f), n = 1;
	uint64_t most = m->goal;

	for (uint32_t c = 0; c < m->f->n_channels; c++)
		if (m->load[c] > most)
			most = m->load[c];
	for (int pass = 0; n && pass < 3; pass++) {
		n = 0;
		for (size_t at = 0; at < (size_t)m->f->n_switches * n_blocks; at++) {
			uint32_t back;

			if (!m->sent[at] || sent[at])
				continue;
			back = moves_return_block(m, was, (uint32_t)(at / n_blocks),
						  (uint32_t)(at % n_blocks), most);
			m->sent[at] = !back;
			m->n_moved -= back;
			n += back;
		}
	}
}

static enum osr_status moves_alloc(struct osr__moves *m, struct osr_arena *scratch,
				   struct osr_diag *diag)
{
	size_t n = m->f->n_switches;
	struct moves_scratch *x = osr_calloc(scratch, 1, sizeof(*x));

	if (x) {
		x->order = osr_alloc(scratch, n, sizeof(*x->order));
		x->mark = osr_calloc(scratch, n, sizeof(*x->mark));
		x->len = osr_alloc(scratch, n, sizeof(*x->len));
		x->flow = osr_alloc(scratch, n, sizeof(*x->flow));
		x->way = osr_calloc(scratch, n, sizeof(*x->way));
		x->keep = m->sent ? KEEP : FEW_KEEP;
		x->best = osr_alloc(scratch, x->keep, sizeof(*x->best));
		x->stuck = osr_calloc(scratch, m->f->n_channels, 1);
	}
	if (!x || !x->order || !x->mark || !x->len || !x->flow || !x->way || !x->best || !x->stuck)
		return osr_fail(diag, OSR_NOMEM, "out of memory for balancing tables");
	m->scratch = x;
	return OSR_OK;
}

enum osr_status osr__moves_run(struct osr__moves *m, struct osr_arena *scratch,
			       struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	enum osr_status st = moves_alloc(m, scratch, diag);
	size_t n = m->f->n_switches, n_entries = m->f->n_dests * n,
	       n_sent = osr__moves_blocks(m->f) * n;
	uint8_t *was = m->sent ? osr_alloc(scratch, n_entries, 1) : NULL;
	uint8_t *sent = m->sent ? osr_alloc(scratch, n_sent, 1) : NULL;
	uint32_t hot = st ? OSR_NONE : moves_busiest(m), left = 4 * m->f->n_switches, n_stuck = 0;

	if (!st && m->sent && (!was || !sent))
		st = osr_fail(diag, OSR_NOMEM, "out of memory for balancing tables");
	if (!st && m->sent) {
		memcpy(was, m->lft, n_entries);
		memcpy(sent, m->sent, n_sent);
	}
	for (; !st && left-- && hot != OSR_NONE && n_stuck < (m->sent ? MAX_STUCK : FEW_STUCK) &&
	       m->scratch->n_work <
		       (m->sent ? MAX_WORK : FEW_WORK * m->f->n_dests) + WORK_MOVED * m->n_moved;
	     hot = moves_busiest(m)) {
		m->scratch->stuck[hot] = !moves_relieve(m, hot);
		if (m->scratch->stuck[hot]) {
			n_stuck++;
		} else if (n_stuck) {
			memset(m->scratch->stuck, 0, m->f->n_channels);
			n_stuck = 0;
		}
	}
	if (!st && m->sent)
		moves_return_all(m, was, sent);
	m->scratch = NULL;
	osr_arena_reset(scratch, mark);
	return st;
}
