/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See moves.h. From the outside in:
 *	osr__moves_run()	the busiest channel, again and again
 *	  moves_relieve()	  passes over its LIDs, what the tree of each can take off it
 *	    moves_leave()	    one switch and what sends through it
 *	  moves_return_all()	blocks that need not be sent after all
 */
#include "core/paths/moves.h"

#include <osmroutes/routing.h>

#include <stdlib.h>
#include <string.h>

/* Switches looked at: so many, and as many for each table entry. A fifth of it costs 0.2 % of EFI on 129 fabrics. */
#define MOVES_WORK 2000000
#define MOVES_WORK_ENTRY(open) ((open) ? 10 : 20) /* open: lanes change the tables again */

/* A share off the largest load is worth half of that share of all routes that share a channel. */
#define MOVES_PRICE 2

/* A channel that a switch might send by instead. */
struct way {
	int64_t others; /* load of other LIDs on the new way, less that on the old one */
	uint32_t
		n_even; /* channels that would carry as much as the hot one; a closed one counts as two */
	uint32_t c;
	bool longer; /* it has more channels */
};

/* A move, and the entry of before; LIDs and switches have 16 bits. */
struct made {
	uint16_t d, v;
	uint8_t was;
};

/* A LID. When last seen, no way of its tree had less on its channels than `least`, less `shifted` since. 0: not known. */
struct user {
	uint32_t d, least;
};

struct moves_scratch {
	/* The tree of the LID at hand. */
	uint32_t *order; /* [n_switches] those with a way, each after the one it sends to */
	uint32_t n_order;
	uint32_t *next;   /* [n_switches] where they sent to when the tree was laid out */
	uint32_t *len;    /* [n_switches] channels of that way, and one; OSR_NONE: there is none */
	uint32_t *flow;   /* [n_switches] end ports that send through */
	uint32_t *branch; /* [n_switches] those that send over the hot channel, in this order */
	uint32_t n_branch;
	uint8_t *in;   /* [n_switches] and still do */
	uint32_t *way; /* [n_switches] is on the way of the switch at hand, if this is n_ways */
	uint32_t n_ways;

	/* The pass at hand. */
	uint32_t hot;
	enum { AIM, GOAL, BELOW, EVEN } reach; /* of other channels: these, or the hot one's load */
	bool any_block, longer;
	uint32_t
		first; /* LID to begin with: after the last one that moved, which so does not move back */
	uint8_t *
		closed; /* [n_channels] since the last step that gained: has passed on a load, or cannot */
	bool passed;        /* some move only passed a load on */
	uint64_t nearest;   /* least load that some way of the tree at hand has on its channels */
	struct user *users; /* [n_dests] LIDs that are sent over the hot channel, or were */
	uint64_t shifted;   /* loads have fallen by so much at most, since these were found */
	struct made *made;  /* [max_made] without sent: moves since the best tables */
	uint32_t n_made, max_made;
	int64_t cost; /* of these */
	int64_t work; /* left */

	uint8_t *was, *was_sent; /* with sent: lft and sent when the run began */
};

static inline uint64_t moves_amount(const struct osr__moves *m, uint32_t c, uint64_t flow)
{
	return m->unit ? flow * m->unit[c] : flow;
}

/* The busiest channel beyond `most` that is not closed, or OSR_NONE. */
static uint32_t moves_busiest(const struct osr__moves *m, uint64_t most, const uint8_t *closed)
{
	uint32_t best = OSR_NONE;

	for (uint32_t c = 0; c < m->f->n_channels; c++) {
		if (m->load[c] <= most || (closed && closed[c]))
			continue;
		best = c;
		most = m->load[c];
	}
	return best;
}

static inline uint8_t *moves_row(const struct osr__moves *m, uint32_t d)
{
	return m->lft + (size_t)d * m->f->n_switches;
}

static inline uint8_t moves_entry(const struct osr__moves *m, uint32_t v, uint32_t c)
{
	return m->hops ? (uint8_t)(c - m->f->chan_row[v]) : m->f->chan_port[c];
}

/* Where v sends to in a tree; it has a way. */
static inline uint32_t moves_next(const struct osr__moves *m, const uint8_t *row, uint32_t v)
{
	return m->f->chan_dst[osr__moves_channel(m, v, row[v])];
}

/* ---- one tree --------------------------------------------------------------------------------- */

/* The tree of d with its lengths and flows, and the branch of it that sends over the hot channel. */
static void moves_lay_out(struct osr__moves *m, uint32_t d)
{
	const struct osr_fabric *fabric = m->f;
	const uint8_t *row = moves_row(m, d);
	struct moves_scratch *x = m->scratch;
	uint32_t n_order = 0, *len = x->len, *next = x->next, *order = x->order, hot = x->hot;
	uint32_t root = fabric->dest_switch[d], near = fabric->chan_src[hot], *branch = x->branch;
	const uint16_t *settled =
		m->settled ? m->settled + (size_t)root * fabric->n_switches : NULL;
	uint32_t n = settled ? m->n_settled[root] : fabric->n_switches;
	uint8_t *in = x->in;

	memset(len, 0, fabric->n_switches * sizeof(*len));
	memset(in, 0, fabric->n_switches);
	len[root] = 1;
	/* A shortest way continues by a switch that was settled earlier. */
	for (uint32_t i = 1; settled && i < n; i++) {
		uint32_t v = settled[i], c = osr__moves_channel(m, v, row[v]), u;

		if (c == OSR_NONE || !len[u = fabric->chan_dst[c]])
			continue;
		next[v] = u;
		len[v] = len[u] + 1;
		in[v] = in[u] | (c == hot);
		order[n_order++] = v;
	}
	/* The others are followed to a switch whose way is known, then set on the way back. A dead end or a loop is no way. */
	for (uint32_t i = 0; i < n && n_order + 1 < n; i++) {
		uint32_t depth = 0, v = settled ? settled[i] : i, far;

		while (!len[v]) {
			uint32_t c = osr__moves_channel(m, v, row[v]);

			len[v] = OSR_NONE;
			branch[depth++] = v;
			if (c == OSR_NONE)
				break;
			in[v] = c == hot;
			next[v] = fabric->chan_dst[c];
			v = next[v];
		}
		for (far = len[v]; depth; len[v] = far) {
			v = branch[--depth];
			if (far == OSR_NONE)
				continue;
			far++;
			in[v] |= in[next[v]];
			order[n_order++] = v;
		}
	}
	x->n_order = n_order;
	x->work -= fabric->n_switches;
	x->n_branch = 0;
	if (!in[near] || len[near] == OSR_NONE)
		return;
	/* Ascending, but those before that another one sends through. */
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t depth = 0;

		for (uint32_t v = s; in[v] == 1; v = next[v], depth++)
			in[v] = 2;
		x->n_branch += depth;
		for (uint32_t v = s, i = x->n_branch; depth--; v = next[v])
			branch[--i] = v;
	}
	memcpy(x->flow, fabric->sw_sources, fabric->n_switches * sizeof(*x->flow));
	while (n_order--)
		x->flow[next[order[n_order]]] += x->flow[order[n_order]];
}

/* v reaches the root by another channel, c, without the branch, over as many channels, or over more where that is allowed. */
static bool moves_is_way(const struct osr__moves *m, uint32_t d, uint32_t v, uint32_t c,
			 bool *longer)
{
	const struct osr_fabric *fabric = m->f;
	const struct moves_scratch *x = m->scratch;
	uint32_t u = fabric->chan_dst[c], len = x->len[u];

	*longer = len >= x->len[v];
	return len != OSR_NONE && !x->in[u] && len + 1 >= x->len[v] &&
	       len + 1 <= x->len[v] + (x->longer ? m->extra : 0) &&
	       !(*longer && x->flow[v] > m->spare) &&
	       osr__moves_channel(m, v, moves_row(m, d)[v]) != c;
}

/* Marks the way of v, root included. */
static void moves_mark_way(const struct osr__moves *m, uint32_t d, uint32_t v)
{
	const uint8_t *row = moves_row(m, d);
	struct moves_scratch *x = m->scratch;

	x->way[m->f->dest_switch[d]] = ++x->n_ways;
	for (; x->way[v] != x->n_ways; v = moves_next(m, row, v))
		x->way[v] = x->n_ways;
}

/*
 * v, whose way is marked, sends by this one, with `go` from now on: what it costs, and the largest load on it, up to where
 * it meets the old way. Flows to one LID end at one port and do not disturb each other, so the loads of others count.
 */
static uint64_t moves_shift(struct osr__moves *m, uint32_t d, uint32_t v, struct way *way, bool go)
{
	const struct osr_fabric *fabric = m->f;
	struct moves_scratch *x = m->scratch;
	uint8_t *row = moves_row(m, d);
	uint32_t old = osr__moves_channel(m, v, row[v]), c = way->c, flow = x->flow[v], meets;
	uint64_t most = 0, mine = 0;

	way->others = way->n_even = 0;
	for (;; c = osr__moves_channel(m, meets, row[meets])) {
		uint64_t load = m->load[c] + moves_amount(m, c, flow);

		way->others += (int64_t)(m->load[c] - mine);
		most = most < load ? load : most;
		way->n_even += load == m->load[x->hot] ? 1 + x->closed[c] : 0;
		m->load[c] = go ? load : m->load[c];
		meets = fabric->chan_dst[c];
		if (x->way[meets] == x->n_ways)
			break;
		mine = moves_amount(m, osr__moves_channel(m, meets, row[meets]), x->flow[meets]);
		x->flow[meets] += go ? flow : 0;
	}
	for (uint32_t u = v;; old = osr__moves_channel(m, u, row[u])) {
		way->others -= (int64_t)(m->load[old] - moves_amount(m, old, x->flow[u]));
		m->load[old] -= go ? moves_amount(m, old, flow) : 0;
		u = fabric->chan_dst[old];
		if (u == meets)
			break;
		x->flow[u] -= go ? flow : 0;
	}
	row[v] = go ? moves_entry(m, v, way->c) : row[v];
	return most;
}

/* Do routes by c go up, then down, and begin as the old one did, so that those through v need not be looked at? */
static bool moves_in_order(const struct osr__moves *m, uint32_t d, uint32_t v, uint32_t c)
{
	const uint8_t *row = moves_row(m, d);
	const uint32_t *place = m->place;
	uint32_t u = m->f->chan_dst[c];
	bool down = place && place[u] > place[v];

	if (place && down != (place[moves_next(m, row, v)] > place[v]))
		return false;
	for (; place && u != m->f->dest_switch[d]; u = moves_next(m, row, u)) {
		bool goes_down = place[moves_next(m, row, u)] > place[u];

		if (down && !goes_down)
			return false;
		down = goes_down;
	}
	return true;
}

/* ---- off the busiest channel ------------------------------------------------------------------ */

/* Switches on the way of u that no host sends through take the channel with least load, if it gets no longer. */
static void moves_open(struct osr__moves *m, uint32_t d, uint32_t u)
{
	const struct osr_fabric *fabric = m->f;
	struct moves_scratch *x = m->scratch;
	uint8_t *row = moves_row(m, d);

	for (; u != fabric->dest_switch[d] && !x->flow[u]; u = moves_next(m, row, u))
		for (uint32_t c = fabric->chan_row[u]; c < fabric->chan_row[u + 1]; c++) {
			uint32_t w = fabric->chan_dst[c];

			/* Undoing needs the hop of before; one place is left for the move itself. */
			if (x->n_made + 1 >= x->max_made)
				return;
			if (m->load[c] < m->load[osr__moves_channel(m, u, row[u])] && !x->in[w] &&
			    x->len[w] + 1 == x->len[u] && moves_in_order(m, d, u, c) &&
			    (!m->may || m->may(m, d, u, c, x->order, x->n_order))) {
				x->made[x->n_made++] =
					(struct made){ (uint16_t)d, (uint16_t)u, row[u] };
				row[u] = moves_entry(m, u, c);
			}
		}
}

static int moves_by_others(const void *a, const void *b)
{
	const struct way *x = a, *y = b;

	if (x->longer != y->longer)
		return x->longer ? 1 : -1;
	if (x->others != y->others)
		return x->others < y->others ? -1 : 1;
	return x->c < y->c ? -1 : 1;
}

/* What other channels may carry in the pass at hand. */
static uint64_t moves_limit(const struct osr__moves *m)
{
	const struct moves_scratch *x = m->scratch;

	return x->reach == AIM    ? m->aim
	       : x->reach == GOAL ? m->goal
				  : m->load[x->hot] - (x->reach == BELOW);
}

/*
 * v, and all that send through it, leave the hot channel by the best way that there is. False: lengths and branch have
 * to be found again.
 */
static bool moves_leave(struct osr__moves *m, uint32_t d, uint32_t v)
{
	const struct osr_fabric *fabric = m->f;
	struct moves_scratch *x = m->scratch;
	uint64_t limit = moves_limit(m);
	uint32_t n = 0, flow = x->flow[v];
	struct way list[256];

	if (m->sent && !x->any_block && !*osr__moves_block(m, d, v))
		return true;
	if (!m->sent && x->n_made == x->max_made)
		return true;
	moves_mark_way(m, d, v);
	for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
		uint64_t load = m->load[c] + moves_amount(m, c, flow), most = load;
		struct way way = { .c = c };

		if ((load > limit && load >= x->nearest) || !moves_is_way(m, d, v, c, &way.longer))
			continue;
		if (load <= limit) {
			x->work--;
			if (m->open)
				moves_open(m, d, fabric->chan_dst[c]);
			most = moves_shift(m, d, v, &way, false);
			if (most <= limit && way.n_even <= 1)
				list[n++] = way;
			/* moves_open() may lighten this way beyond its first channel: only that one bounds it. */
			most = m->open && !x->flow[fabric->chan_dst[c]] ? load : most;
		}
		x->nearest = most < x->nearest ? most : x->nearest;
	}
	qsort(list, n, sizeof(*list), moves_by_others);
	for (uint32_t i = 0; i < n; i++) {
		x->work -= x->n_branch;
		if (!moves_in_order(m, d, v, list[i].c) ||
		    (m->may && !m->may(m, d, v, list[i].c, x->branch, x->n_branch)))
			continue;
		if (!m->sent) {
			x->made[x->n_made++] =
				(struct made){ (uint16_t)d, (uint16_t)v, moves_row(m, d)[v] };
			x->cost += (int64_t)flow * list[i].others;
		}
		x->passed |= x->reach == EVEN;
		moves_shift(m, d, v, &list[i], true);
		x->shifted += flow;
		/* What sends through it has left as well. */
		x->in[v] = 0;
		for (uint32_t k = 1; k < x->n_branch; k++)
			x->in[x->branch[k]] &= x->in[moves_next(m, moves_row(m, d), x->branch[k])];
		m->spare -= list[i].longer ? flow : 0;
		m->n_moved++;
		if (m->sent) {
			*osr__moves_block(m, d, v) = 1;
			m->n_trees += !m->touched[d];
			m->touched[d] = 1;
		}
		return !list[i].longer && x->reach != EVEN && !m->sent;
	}
	return true;
}

/*
 * Less on the hot channel; false if nothing can leave it. Takes branches of each LID off it, from its near end outwards:
 * those that it has too much, then one that is more than enough. Where blocks are sent it is the other way round, for one
 * move sends fewer.
 */
static bool moves_relieve(struct osr__moves *m)
{
	const struct osr_fabric *fabric = m->f;
	struct moves_scratch *x = m->scratch;
	uint32_t hot = x->hot, near = fabric->chan_src[hot], n_users = 0;
	uint64_t before = m->load[hot];

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		if (fabric->term_weight[fabric->dest_term[d]] && near != fabric->dest_switch[d] &&
		    osr__moves_channel(m, near, moves_row(m, d)[near]) == hot)
			x->users[n_users++] = (struct user){ .d = d };
	x->shifted = 0;
	for (x->reach = m->aim < m->goal ? AIM : GOAL; x->reach <= (m->sent ? BELOW : EVEN);
	     x->reach++)
		for (int pass = m->sent ? 0 : 1; pass <= 1 + (m->extra != 0); pass++) {
			uint32_t start = 0;

			x->any_block = pass > 0;
			x->longer = pass > 1;
			while (start < n_users && x->users[start].d < x->first)
				start++;
			for (uint32_t k = 0; k < n_users && m->load[hot] > m->goal && x->work > 0 &&
					     (x->reach < EVEN || m->load[hot] == before);
			     k++) {
				struct user *user = &x->users[(start + k) % n_users];
				uint64_t n_moved = m->n_moved;
				uint32_t d = user->d;
				bool go_on = true;

				if (osr__moves_channel(m, near, moves_row(m, d)[near]) != hot)
					continue;
				/* Did an earlier pass find no way within this limit? */
				if (!x->longer && user->least > moves_limit(m) + x->shifted) {
					x->work -= fabric->n_switches;
					continue;
				}
				x->nearest = UINT32_MAX - x->shifted;
				moves_lay_out(m, d);
				for (uint32_t i = 0;
				     go_on && i < 2 * x->n_branch && m->load[hot] > m->goal; i++) {
					bool more = (i < x->n_branch) == (m->sent != NULL);
					uint32_t at = i < x->n_branch ? i : i - x->n_branch,
						 v = x->branch[more ? x->n_branch - 1 - at : at];
					uint64_t amount = moves_amount(m, hot, x->flow[v]);

					if (x->in[v] && amount &&
					    (amount > m->load[hot] - m->goal) == more)
						go_on = moves_leave(m, d, v);
				}
				if (m->n_moved != n_moved && !m->sent)
					x->first = d + 1;
				user->least = 0;
				if (m->n_moved == n_moved && !m->sent && !m->unit)
					user->least = (uint32_t)(x->nearest + x->shifted);
			}
		}
	return m->load[hot] != before;
}

/* ---- what need not have moved ----------------------------------------------------------------- */

#define ANY_LOAD UINT64_MAX /* when a move is undone: that is always allowed */

/* Switch v sends to d by the channel of this entry again, if that puts no more than `most` on any channel. */
static bool moves_return(struct osr__moves *m, uint32_t d, uint32_t v, uint8_t entry, uint64_t most)
{
	struct moves_scratch *x = m->scratch;
	uint32_t c = osr__moves_channel(m, v, entry);
	struct way way = { .c = c };

	x->hot = osr__moves_channel(m, v, moves_row(m, d)[v]);
	if (c == OSR_NONE || x->hot == OSR_NONE)
		return false;
	moves_lay_out(m, d);
	if (!x->n_branch)
		return false;
	moves_mark_way(m, d, v);
	if (most != ANY_LOAD &&
	    (!moves_is_way(m, d, v, c, &way.longer) || moves_shift(m, d, v, &way, false) > most))
		return false;
	/* That of before was allowed, and the caller keeps count of what is made. */
	if (!moves_in_order(m, d, v, c) || (m->may && !m->may(m, d, v, c, x->branch, x->n_branch)))
		return false;
	moves_shift(m, d, v, &way, true);
	return true;
}

/*
 * Blocks that are sent for moves alone, and need not be: all their entries are again what they were, if the busiest channel
 * carries no more without the moves; else none.
 */
static void moves_return_all(struct osr__moves *m)
{
	const struct osr_fabric *fabric = m->f;
	const uint8_t *was = m->scratch->was;
	uint32_t n_blocks = osr__moves_blocks(fabric), hot = moves_busiest(m, m->goal, NULL),
		 n_all = 1, back[OSR__MOVES_BLOCK];
	uint64_t most = hot == OSR_NONE ? m->goal : m->load[hot];
	uint8_t moved[OSR__MOVES_BLOCK];

	for (int pass = 0; n_all && pass < 3; pass++) {
		n_all = 0;
		for (size_t at = 0; at < (size_t)fabric->n_switches * n_blocks; at++) {
			uint32_t v = (uint32_t)(at / n_blocks), n = 0,
				 lid = (uint32_t)(at % n_blocks) * OSR__MOVES_BLOCK,
				 end = lid + OSR__MOVES_BLOCK;

			if (!m->sent[at] || m->scratch->was_sent[at])
				continue;
			for (; lid < end && lid <= fabric->max_lid; lid++) {
				uint32_t d = fabric->lid_dest[lid];
				size_t entry = (size_t)d * fabric->n_switches + v;

				if (d == OSR_NONE || m->lft[entry] == was[entry])
					continue;
				back[n] = d;
				moved[n] = m->lft[entry];
				if (!moves_return(m, d, v, was[entry], most))
					break;
				n++;
			}
			/* One that cannot: the others move once more. */
			if (lid < end && lid <= fabric->max_lid)
				for (; n; n--)
					moves_return(m, back[n - 1], v, moved[n - 1], ANY_LOAD);
			m->sent[at] = !n;
			m->n_moved -= n;
			n_all += n;
		}
	}
}

/* ---- all -------------------------------------------------------------------------------------- */

enum osr_status osr__moves_init(struct osr__moves *m, struct osr_arena *arena,
				struct osr_diag *diag)
{
	size_t n = m->f->n_switches;
	struct moves_scratch *x = osr_calloc(arena, 1, sizeof(*x));

	if (x) {
		x->order = osr_alloc(arena, n, sizeof(*x->order));
		x->next = osr_alloc(arena, n, sizeof(*x->next));
		x->len = osr_alloc(arena, n, sizeof(*x->len));
		x->flow = osr_alloc(arena, n, sizeof(*x->flow));
		x->branch = osr_alloc(arena, n, sizeof(*x->branch));
		x->in = osr_alloc(arena, n, 1);
		x->way = osr_calloc(arena, n, sizeof(*x->way));
		x->closed = osr_calloc(arena, m->f->n_channels, 1);
		x->max_made = m->sent ? 0 : 4 * m->f->n_channels;
		x->made = osr_alloc(arena, x->max_made, sizeof(*x->made));
		x->users = osr_alloc(arena, m->f->n_dests, sizeof(*x->users));
		x->was = m->sent ? osr_alloc(arena, m->f->n_dests * n, 1) : NULL;
		x->was_sent = m->sent ? osr_alloc(arena, osr__moves_blocks(m->f) * n, 1) : NULL;
	}
	m->scratch = x;
	return osr_arena_failed(arena, diag) ? OSR_NOMEM : OSR_OK;
}

/* Is it worth its cost that the largest load falls from `most` to this? */
static bool moves_pays(int64_t cost, double shared, uint64_t most, uint64_t now)
{
	return now < most &&
	       (double)cost * MOVES_PRICE * (double)most <= shared * (double)(most - now);
}

void osr__moves_run(struct osr__moves *m)
{
	struct moves_scratch *x = m->scratch;
	size_t n = m->f->n_switches, n_entries = m->f->n_dests * n;
	uint32_t hot = moves_busiest(m, 0, NULL);
	uint64_t most = hot == OSR_NONE ? 0 : m->load[hot];
	double shared = 0;

	for (uint32_t c = 0; c < m->f->n_channels; c++)
		if (m->load[c])
			shared += (double)m->load[c] * (double)m->load[c] /
				  (double)moves_amount(m, c, 1);
	x->work = MOVES_WORK + MOVES_WORK_ENTRY(m->open) * (int64_t)n_entries;
	x->first = 0;
	x->n_made = 0;
	x->cost = 0;
	if (m->sent) {
		memcpy(x->was, m->lft, n_entries);
		memcpy(x->was_sent, m->sent, osr__moves_blocks(m->f) * n);
	}
	memset(x->closed, 0, m->f->n_channels);
	while (x->work > 0 && moves_pays(x->cost, shared, most, m->goal) &&
	       (x->hot = moves_busiest(m, m->goal, x->closed)) != OSR_NONE) {
		bool lighter;
		uint64_t now;

		x->passed = false;
		lighter = moves_relieve(m);
		if (!lighter && !m->sent)
			break;
		/* A load that is passed on comes to each channel once at most before something is gained. */
		x->closed[x->hot] = !lighter || x->passed;
		if (x->closed[x->hot])
			continue;
		memset(x->closed, 0, m->f->n_channels);
		/* All may be on channels that do not count. */
		hot = moves_busiest(m, 0, NULL);
		now = hot == OSR_NONE ? 0 : m->load[hot];
		if (moves_pays(x->cost, shared, most, now)) {
			most = now;
			x->n_made = 0;
			x->cost = 0;
		}
	}
	/* Back to the best tables. */
	while (x->n_made) {
		const struct made *last = &x->made[--x->n_made];

		moves_return(m, last->d, last->v, last->was, ANY_LOAD);
	}
	if (m->sent)
		moves_return_all(m);
}
