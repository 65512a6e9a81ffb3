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

#include <string.h>

#define MAX_STUCK 64   /* channels in a row of which nothing can move */
#define MAX_WORK 16384 /* trees looked at for all of them, and so many more for each that moved: */
#define WORK_MOVED 64
#define KEEP 1024 /* moves that are tried, the best first: virtual lanes refuse most */

/* Switch v sends to d by channel c instead. Smaller is better. */
struct move {
	uint64_t key; /* what it costs: see move_key() */
	uint64_t flow;
	uint32_t d, v, c;
};

struct moves_scratch {
	uint32_t *order; /* [n_switches] the branch of a tree that sends over the channel */
	uint32_t *mark;  /* [n_switches] is in it, if this is the current epoch */
	uint32_t *len;   /* [n_switches] channels to the root */
	uint32_t *flow;  /* [n_switches] end ports that send through */
	uint8_t *stuck;  /* [n_channels] nothing can move until another one has made room */
	uint32_t epoch;
	uint32_t n_best;
	uint64_t n_work; /* trees looked at */
	struct move best[KEEP];
};

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

/* May v send to d by channel c? With a branch of n switches laid out, by the lanes of all that comes through v. */
static bool moves_may(struct osr__moves *m, uint32_t d, uint32_t v, uint32_t c, uint32_t n)
{
	const uint8_t *row = m->lft + (size_t)d * m->f->n_switches;
	const uint32_t *order = m->scratch->order;

	for (uint32_t i = 0; i < n; i++)
		m->lanes[order[i]] = m->need(m->ctx, d, order[i]);
	for (uint32_t i = n; i-- > 1;)
		m->lanes[m->f->chan_dst[osr__moves_channel(m, order[i], row[order[i]])]] |=
			m->lanes[order[i]];
	return m->may(m, d, v, c);
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

/*
 * The largest load if v sent by c: both paths are as long, so they are followed side by side until they
 * meet.
 */
static uint64_t moves_load_after(const struct osr__moves *m, const uint8_t *row, uint32_t v,
				 uint32_t c)
{
	const struct osr_fabric *fabric = m->f;
	uint64_t flow = m->scratch->flow[v], most = m->load[c] + flow;
	uint32_t old = fabric->chan_dst[osr__moves_channel(m, v, row[v])],
		 now = fabric->chan_dst[c];

	while (old != now) {
		uint32_t next = osr__moves_channel(m, now, row[now]);

		most = most < m->load[next] + flow ? m->load[next] + flow : most;
		now = fabric->chan_dst[next];
		old = fabric->chan_dst[osr__moves_channel(m, old, row[old])];
	}
	return most;
}

/* With the branch laid out: v is in it, and reaches the root by c over as many channels without the branch. */
static bool moves_is_way(const struct osr__moves *m, const uint8_t *row, const struct move *way)
{
	const struct moves_scratch *x = m->scratch;
	uint32_t u = m->f->chan_dst[way->c];

	return x->mark[way->v] == x->epoch && x->mark[u] != x->epoch &&
	       osr__moves_channel(m, way->v, row[way->v]) != way->c &&
	       moves_length(m, way->d, u, x->len[way->v] - 1) == x->len[way->v] - 1 &&
	       !moves_meets_sibling(m, way->d, way->v, way->c);
}

#define OVER_AIM (UINT64_C(1) << 59)

/*
 * First what stays within the goal, then what needs no more blocks, then what takes off no more than is
 * needed, or else as much as there is.
 */
static uint64_t move_key(const struct osr__moves *m, const struct move *way, uint64_t most,
			 uint64_t excess)
{
	uint64_t rest = way->flow > excess ? way->flow - excess : excess - way->flow;
	uint64_t key = rest < UINT64_C(1) << 56 ? rest : UINT64_C(1) << 56;

	key |= way->flow < excess ? UINT64_C(1) << 57 : 0;
	key |= *osr__moves_block(m, way->d, way->v) ? 0 : UINT64_C(1) << 58;
	return key | (most > m->aim ? OVER_AIM : 0);
}

static void moves_note(struct moves_scratch *x, struct move way)
{
	uint32_t i = x->n_best;

	if (i == KEEP && way.key >= x->best[KEEP - 1].key)
		return;
	i = i < KEEP ? x->n_best++ : KEEP - 1;
	for (; i && x->best[i - 1].key > way.key; i--)
		x->best[i] = x->best[i - 1];
	x->best[i] = way;
}

/* What could take LID d off channel hot, wholly or in part. */
static void moves_find(struct osr__moves *m, uint32_t d, uint32_t hot)
{
	const struct osr_fabric *fabric = m->f;
	const uint8_t *row = m->lft + (size_t)d * fabric->n_switches;
	struct moves_scratch *x = m->scratch;
	uint32_t n = moves_lay_out(m, d, hot);
	uint64_t excess = m->load[hot] - m->goal;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = x->order[i];

		for (uint32_t c = fabric->chan_row[v]; x->flow[v] && c < fabric->chan_row[v + 1];
		     c++) {
			struct move way = { .flow = x->flow[v], .d = d, .v = v, .c = c };
			uint64_t most;

			if (!moves_is_way(m, row, &way))
				continue;
			most = moves_load_after(m, row, v, c);
			if (most >= m->load[hot])
				continue;
			way.key = move_key(m, &way, most, excess);
			moves_note(x, way);
		}
	}
}

static void moves_shift(struct osr__moves *m, const struct move *way, uint8_t *row)
{
	const struct osr_fabric *fabric = m->f;
	uint32_t old = osr__moves_channel(m, way->v, row[way->v]), now = way->c;

	row[way->v] = fabric->chan_port[now];
	for (;;) {
		m->load[old] -= way->flow;
		m->load[now] += way->flow;
		if (fabric->chan_dst[old] == fabric->chan_dst[now])
			return;
		old = osr__moves_channel(m, fabric->chan_dst[old], row[fabric->chan_dst[old]]);
		now = osr__moves_channel(m, fabric->chan_dst[now], row[fabric->chan_dst[now]]);
	}
}

/* If it still is what it was when it was found: others were made since then. */
static bool moves_make(struct osr__moves *m, const struct move *way, uint32_t hot)
{
	uint8_t *row = m->lft + (size_t)way->d * m->f->n_switches;
	uint64_t most;
	uint32_t n;

	if (osr__moves_channel(m, m->f->chan_src[hot], row[m->f->chan_src[hot]]) != hot)
		return false;
	n = moves_lay_out(m, way->d, hot);
	if (!n || !moves_is_way(m, row, way) || m->scratch->flow[way->v] != way->flow)
		return false;
	most = moves_load_after(m, row, way->v, way->c);
	if (most >= m->load[hot] || (most > m->aim && !(way->key & OVER_AIM)) ||
	    !moves_may(m, way->d, way->v, way->c, n))
		return false;
	moves_shift(m, way, row);
	*osr__moves_block(m, way->d, way->v) = 1;
	m->n_trees += !m->touched[way->d];
	m->touched[way->d] = 1;
	m->n_moved++;
	return true;
}

/* Less on the most loaded channel; false if nothing can move. */
static bool moves_relieve(struct osr__moves *m, uint32_t hot)
{
	const struct osr_fabric *fabric = m->f;
	struct moves_scratch *x = m->scratch;
	uint32_t v = fabric->chan_src[hot];
	uint64_t n_moved = m->n_moved;

	x->n_best = 0;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		if (!fabric->term_weight[fabric->dest_term[d]] || v == fabric->dest_switch[d] ||
		    osr__moves_channel(m, v, m->lft[(size_t)d * fabric->n_switches + v]) != hot)
			continue;
		moves_find(m, d, hot);
		x->n_work++;
	}
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
	if (most != ANY_LOAD &&
	    (!moves_is_way(m, row, &way) || moves_load_after(m, row, v, way.c) > most ||
	     !moves_may(m, d, v, way.c, n)))
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

	m->lanes = osr_alloc(scratch, n, sizeof(*m->lanes));
	if (x) {
		x->order = osr_alloc(scratch, n, sizeof(*x->order));
		x->mark = osr_calloc(scratch, n, sizeof(*x->mark));
		x->len = osr_alloc(scratch, n, sizeof(*x->len));
		x->flow = osr_alloc(scratch, n, sizeof(*x->flow));
		x->stuck = osr_calloc(scratch, m->f->n_channels, 1);
	}
	if (!m->lanes || !x || !x->order || !x->mark || !x->len || !x->flow || !x->stuck)
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
	uint8_t *was = osr_alloc(scratch, n_entries, 1), *sent = osr_alloc(scratch, n_sent, 1);
	uint32_t hot = st ? OSR_NONE : moves_busiest(m), left = 4 * m->f->n_switches, n_stuck = 0;

	if (!st && (!was || !sent))
		st = osr_fail(diag, OSR_NOMEM, "out of memory for balancing tables");
	if (!st) {
		memcpy(was, m->lft, n_entries);
		memcpy(sent, m->sent, n_sent);
	}
	for (; !st && left-- && hot != OSR_NONE && n_stuck < MAX_STUCK &&
	       m->scratch->n_work < MAX_WORK + WORK_MOVED * m->n_moved;
	     hot = moves_busiest(m)) {
		m->scratch->stuck[hot] = !moves_relieve(m, hot);
		if (m->scratch->stuck[hot]) {
			n_stuck++;
		} else if (n_stuck) {
			memset(m->scratch->stuck, 0, m->f->n_channels);
			n_stuck = 0;
		}
	}
	if (!st)
		moves_return_all(m, was, sent);
	m->scratch = NULL;
	osr_arena_reset(scratch, mark);
	return st;
}
