/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Of what is written here the fabric's part is trusted: gate_fabric(), gate_lanes() and gate_row_of() say which fabric
 * and which tables the arrays stand for. The certificate's part is not: a wrong rank, bound or mark is refused.
 */
#include "gate.h"

#include "gate_proved.h"

#include <stdlib.h>
#include <string.h>

#define BAD INT32_MAX /* k_first: a packet that enters there is dropped */

/* Elements of a channel; ranks of all lanes begin at the last one. */
enum { C_SRC, C_DST, C_ROW, C_COL, C_VLS, C_TREE, C_RANK };

struct gate {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	struct tab t;
	bool ranked;
	bool all_send;          /* every switch has hosts */
	uint8_t kind_of[16];    /* levels that all SL2VL tables map alike are one */
	uint16_t *none, *every; /* [n_sw] sets of levels */
	uint16_t *pass;         /* [n_sw] of each thread */
	struct row *row;        /* of each thread, with what it writes to */
	struct tab *alone;      /* of each thread: one lane, with ranks of its destination alone */
	int32_t **left;         /* [n_sw] of each thread */
	uint32_t refused;       /* the first destination; OSR_NONE */
	/* Mixed with these, in a certificate of `certified`; NULL. */
	const struct osr_routing *old, *certified;
	int32_t **old_next; /* [n_sw] k_next of each thread */
	uint16_t **levels;  /* [n_sw] r_more of each thread */
	/* What it confirmed before; NULL. */
	const struct gate *before;
	uint8_t *changed;  /* [n_chan] since then */
	uint8_t *answered; /* [n_sw] answers of the switch, or to it, have changed since then */
	uint32_t *judged;  /* [parts] destinations that were looked at */
};

/* ---- fabric ---------------------------------------------------------------------------------- */

/* The element of port p of switch s: what leaves by it is a channel with this number, if there is one. */
static int32_t gate_place(const struct osr_fabric *fabric, uint32_t s, uint32_t p)
{
	return (int32_t)(fabric->port_row[s] + p);
}

static int32_t *gate_chan(const struct tab *t, int32_t c)
{
	return t->chans + (size_t)c * (size_t)t->width;
}

static void gate_channel(const struct gate *g, uint32_t c)
{
	const struct osr_fabric *fabric = g->f;
	const struct osr_routing *routing = g->r;
	const uint32_t *up = routing->mcast_parent, *old = g->old ? g->old->mcast_parent : up;
	uint32_t src = fabric->chan_src[c], dst = fabric->chan_dst[c], back = fabric->chan_rev[c];
	uint32_t in = fabric->chan_port[back];
	int32_t vls = fabric->chan_vls[c], n_lane = g->t.n_lane;
	int32_t *chan = gate_chan(&g->t, gate_place(fabric, src, fabric->chan_port[c]));

	chan[C_SRC] = (int32_t)src;
	chan[C_DST] = (int32_t)dst;
	chan[C_VLS] = vls < n_lane ? vls : n_lane;
	if (g->t.f_mcast && (up[src] == c || up[dst] == back || old[src] == c || old[dst] == back))
		chan[C_TREE] = gate_place(fabric, dst, in);
	if (!routing->sl2vl)
		return;
	chan[C_ROW] = (int32_t)(routing->sl2vl_row[dst] + in * (fabric->sw_n_ports[dst] + 1u));
	chan[C_COL] = fabric->chan_port[c];
}

/* Switches, channels, ports: the same in other words. */
static void gate_fabric(struct gate *g)
{
	const struct osr_fabric *fabric = g->f;

	g->all_send = true;
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		int32_t *sw = g->t.sws + 4 * (size_t)s;

		sw[0] = gate_place(fabric, s, 0);
		sw[1] = fabric->sw_n_ports[s] + 1;
		sw[2] = (int32_t)fabric->sw_component[s];
		sw[3] = fabric->sw_sources[s] > 0;
		g->all_send &= sw[3];
	}
	for (int32_t c = 0; c < g->t.n_chan; c++)
		gate_chan(&g->t, c)[C_SRC] = gate_chan(&g->t, c)[C_TREE] = -1;
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		gate_channel(g, c);
}

/* Ports by which packets enter: port 0 of every switch and, where the tables tell them apart, those of hosts. */
static void gate_entries(struct gate *g)
{
	const struct osr_fabric *fabric = g->f;
	const struct osr_routing *routing = g->r;
	int32_t *entry = g->t.ents;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		*entry++ = (int32_t)s;
		*entry++ = routing->sl2vl ? (int32_t)routing->sl2vl_row[s] : 0;
	}
	for (uint32_t i = 0; routing->sl2vl && i < fabric->n_terminals; i++) {
		uint32_t s = fabric->term_switch[i];

		if (!fabric->term_port[i])
			continue;
		*entry++ = (int32_t)s;
		*entry++ = (int32_t)(routing->sl2vl_row[s] +
				     fabric->term_port[i] * (fabric->sw_n_ports[s] + 1u));
	}
	g->t.n_entry = (int32_t)((entry - g->t.ents) / 2);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* Splits the levels into those that all tables map alike; returns how many kinds there are. */
static int32_t gate_kinds(struct gate *g, uint64_t n_pairs)
{
	osr_sl2vl_t *table = g->r->sl2vl;
	uint8_t first[16] = { 0 };
	int32_t n = 0;

	for (uint64_t pair = 0; pair < n_pairs; pair++)
		for (unsigned sl = 1; sl < 16; sl++) {
			unsigned old = first[sl], to;

			if (table[pair][sl] == table[pair][old])
				continue;
			/* The lowest one of the same kind so far that has this lane here. */
			for (to = old + 1; first[to] != old || table[pair][to] != table[pair][sl];)
				to++;
			for (unsigned x = to; x < 16; x++)
				if (first[x] == old && table[pair][x] == table[pair][to])
					first[x] = (uint8_t)to;
		}
	for (unsigned sl = 0; sl < 16; sl++)
		g->kind_of[sl] = first[sl] == sl ? (uint8_t)n++ : g->kind_of[first[sl]];
	return n;
}

/* Pairs of ports of all switches. */
static uint64_t gate_pairs(const struct gate *g)
{
	uint64_t n = 0;

	for (uint32_t s = 0; s < g->f->n_switches; s++) {
		uint64_t ports = g->f->sw_n_ports[s] + 1u, end = g->r->sl2vl_row[s] + ports * ports;

		n = end > n ? end : n;
	}
	return n;
}

/* How many levels and lanes there are, and which claims. */
static void gate_claims(struct gate *g, uint64_t *n_pair)
{
	const struct osr_routing *routing = g->r;
	struct tab *t = &g->t;
	uint32_t claims = routing->claims;
	bool shared;

	t->f_any = !routing->sl || (claims & OSR_CLAIM_ANY_SL);
	shared = t->f_any && !routing->sl2vl;
	g->ranked = claims & OSR_CLAIM_DEADLOCK_FREE;
	t->f_replies = (claims & OSR_CLAIM_REVERSIBLE) && !t->f_any;
	t->f_flat = !routing->sl2vl;
	t->f_mcast = (claims & OSR_CLAIM_MULTICAST) && routing->mcast_parent;
	/* One graph for all lanes: the same as one lane. */
	t->n_lane = shared || !g->ranked ? 1 : routing->n_vls;
	t->n_q = shared || !g->ranked ? 1 : routing->n_vls;
	*n_pair = routing->sl2vl ? gate_pairs(g) : 1;
	if (routing->sl2vl)
		t->n_q = t->f_any ? gate_kinds(g, *n_pair) : 16;
	t->m_lane = shared ? 0 : t->f_any ? -1 : routing->mcast_vl;
}

static void gate_lanes(struct gate *g, uint64_t n_pair)
{
	const struct osr_routing *routing = g->r;
	struct tab *t = &g->t;

	if (!routing->sl2vl)
		for (int32_t q = 0; q < t->n_q; q++)
			t->slots[q] = (uint8_t)(q < t->n_lane ? q : 0);
	else
		for (uint64_t i = 0; i < n_pair; i++)
			for (unsigned sl = 0; sl < 16; sl++)
				t->slots[i * (unsigned)t->n_q + (t->f_any ? g->kind_of[sl] : sl)] =
					routing->sl2vl[i][sl];
}

/* ---- certificate ----------------------------------------------------------------------------- */

/* As signed numbers in the same order. The two highest fall together, as in the other checker. */
static void gate_ranks(struct gate *g)
{
	const struct osr_fabric *fabric = g->f;
	const uint32_t *rank = g->r->rank;

	for (int32_t l = 0; l < g->t.n_lane; l++)
		for (uint32_t c = 0; c < fabric->n_channels; c++, rank++) {
			int64_t signed_rank = (int64_t)*rank + INT32_MIN;
			int32_t at = gate_place(fabric, fabric->chan_src[c], fabric->chan_port[c]);

			gate_chan(&g->t, at)[C_RANK + l] =
				(int32_t)(signed_rank < BAD ? signed_rank : BAD - 1);
		}
}

static void gate_most(int32_t *most, int32_t x)
{
	*most = x > *most ? x : *most;
}

/* The rank of what leaves by channel c through slot row + column; BAD if it is dropped. */
static int32_t gate_rank(const struct tab *t, int32_t row, const int32_t *chan, int32_t q)
{
	int32_t lane = t->slots[(int64_t)(row + chan[C_COL]) * t->n_q + q];

	return lane < chan[C_VLS] ? chan[C_RANK + lane] : BAD;
}

/* What comes by slots of this row to switch s has at most this rank, by level from this element of the channel on. */
static void gate_bound(const struct tab *t, int32_t row, int32_t s, int32_t element, int32_t back)
{
	const int32_t *sw = t->sws + 4 * (size_t)s;

	for (int32_t c = sw[0]; c < sw[0] + sw[1]; c++) {
		int32_t *chan = gate_chan(t, c);

		for (int32_t q = 0; chan[C_SRC] >= 0 && c != back && q < t->n_q; q++)
			gate_most(&chan[element + q], gate_rank(t, row, chan, q));
	}
}

static void gate_bounds(struct gate *g)
{
	const struct tab *t = &g->t;
	int32_t first = C_RANK + t->n_lane, held = first + t->n_q;

	for (int32_t c = 0; c < t->n_chan; c++)
		for (int32_t q = 0; q < t->n_q; q++)
			gate_chan(t, c)[first + q] = INT32_MIN;
	for (int32_t h = 0; h < t->n_entry; h++)
		gate_bound(t, t->ents[2 * h + 1], t->ents[2 * h], first, -1);
	for (int32_t c = 0; t->f_mcast && c < t->n_chan; c++)
		for (int32_t q = 0; q < t->n_q; q++) {
			int32_t *chan = gate_chan(t, c);

			chan[held + q] = t->m_lane < 0 ? chan[first + q] : chan[C_RANK + t->m_lane];
		}
	for (int32_t c = 0; t->f_mcast && t->m_lane < 0 && c < t->n_chan; c++) {
		const int32_t *chan = gate_chan(t, c);

		if (chan[C_TREE] >= 0)
			gate_bound(t, chan[C_ROW], chan[C_DST], held, chan[C_TREE]);
	}
}

/* Levels that hosts of switch h send on to destination d. */
static unsigned gate_levels(const struct gate *g, uint32_t d, uint32_t h)
{
	const struct osr_routing *routing = g->r;
	size_t at = (size_t)d * routing->n_switches + h;

	unsigned levels =
		1u << (routing->sl[at] & 15) | (routing->granted ? routing->granted[at] : 0);

	if (g->old)
		levels |= 1u << (g->old->sl[at] & 15) | (g->old->granted ? g->old->granted[at] : 0);
	return levels;
}

static bool gate_meets(const struct gate *g, uint32_t d, uint32_t s)
{
	const struct osr_fabric *fabric = g->f;
	uint32_t home = fabric->dest_switch[d];

	return s != home && fabric->sw_component[s] == fabric->sw_component[home] &&
	       (fabric->sw_sources[s] || fabric->term_weight[fabric->dest_term[d]]);
}

/* What switch h asks switch s on, s may answer h on. */
static void gate_answers(struct gate *g)
{
	size_t n = g->f->n_switches;

	for (uint32_t d = 0; d < g->f->n_dests; d++)
		for (uint32_t h = 0; h < n; h++)
			if (g->f->sw_sources[h] && gate_meets(g, d, h))
				g->t.k_answers[h * n + g->f->dest_switch[d]] |=
					(uint16_t)gate_levels(g, d, h);
}

/* ---- one destination ------------------------------------------------------------------------- */

/* By which channel every switch sends on; -1: by none. */
static void gate_next(const struct gate *g, const struct row *r)
{
	const struct osr_fabric *fabric = g->f;

	for (int32_t s = 0; s < g->t.n_sw; s++) {
		uint32_t at = fabric->port_row[s] + r->lft[s];

		r->k_next[s] =
			r->lft[s] <= fabric->sw_n_ports[s] && fabric->port_chan[at] != OSR_NONE
				? (int32_t)at
				: -1;
	}
}

/* Where switch s sends on to; -1: nowhere. */
static int32_t gate_to(const struct gate *g, const struct row *r, int32_t s)
{
	uint32_t c = r->k_next[s] < 0 ? OSR_NONE : g->f->port_chan[r->k_next[s]];

	return c == OSR_NONE ? -1 : (int32_t)g->f->chan_dst[c];
}

/* Hops left to home; INT32_MIN where entries lead around or nowhere. */
static void gate_left(const struct gate *g, const struct row *r, int32_t *to_go)
{
	const struct tab *t = &g->t;

	for (int32_t s = 0; s < t->n_sw; s++)
		to_go[s] = -1;
	to_go[r->r_home] = 0;
	for (int32_t s = 0; s < t->n_sw; s++) {
		int32_t at = s, hops = 0, left;

		for (; at >= 0 && to_go[at] == -1 && hops <= t->n_sw; hops++)
			at = gate_to(g, r, at);
		left = at < 0 || to_go[at] < 0 ? INT32_MIN : to_go[at] + hops;
		for (at = s; at >= 0 && to_go[at] == -1; at = gate_to(g, r, at))
			to_go[at] = left < 0 ? left : left--;
	}
}

/*
 * dest_check() where something is known of the tables: the compiler leaves out what they do not need. No value changes,
 * for each is what was asked for.
 */
static __attribute__((noinline)) bool gate_check(struct tab t, struct row r)
{
	if (!t.f_any) {
		t.f_any = 0;
		return dest_check(t, r, r);
	}
	t.f_any = 1;
	if (t.f_replies || t.n_q > 1)
		return dest_check(t, r, r);
	t.f_replies = 0;
	t.n_q = 1;
	if (!t.f_flat) {
		t.f_flat = 0;
		return dest_check(t, r, r);
	}
	t.f_flat = 1;
	return dest_check(t, r, r);
}

/*
 * Do its entries lead home from everywhere, whatever else is claimed? The same program, asked about a fabric with one
 * lane where all send to this destination: a channel's rank is the higher the fewer hops are left.
 */
static bool gate_delivers(const struct gate *g, uint32_t i, const struct row *r)
{
	const struct tab *t = &g->alone[i];
	struct row all = *r;

	all.f_asks = true;
	all.k_pass = g->every;
	gate_left(g, r, g->left[i]);
	for (int32_t s = 0; s < t->n_sw; s++)
		if (r->k_next[s] >= 0)
			gate_chan(t, r->k_next[s])[C_RANK] = g->left[i][s] < 0 ? 0 : -g->left[i][s];
	return gate_check(*t, all);
}

/* The fabric of g for that. */
static void gate_alone(const struct gate *g, uint32_t i)
{
	struct tab *t = &g->alone[i];

	for (int32_t c = 0; c < t->n_chan; c++) {
		const int32_t *from = gate_chan(&g->t, c);
		int32_t *to = gate_chan(t, c);

		to[C_SRC] = from[C_SRC];
		to[C_DST] = from[C_DST];
		to[C_VLS] = from[C_VLS] > 0;
		to[C_TREE] = -1;
		to[C_RANK + 1] = INT32_MIN;
	}
}

/* Levels of packets that enter at switch s. */
static unsigned gate_own(const struct gate *g, const struct row *r, int32_t s)
{
	const struct tab *t = &g->t;
	unsigned own = (1u << t->n_q) - 1;

	if (!gate_meets(g, (uint32_t)r->dest, (uint32_t)s))
		return 0;
	if (!t->f_any)
		own = gate_levels(g, (uint32_t)r->dest, (uint32_t)s);
	if (t->f_replies && r->f_asks && t->sws[4 * r->r_home + 3])
		own |= t->k_answers[(size_t)r->r_home * (size_t)t->n_sw + (size_t)s];
	return own;
}

/* Which levels pass where: those that enter, carried along. */
static void gate_pass(const struct gate *g, struct row *r)
{
	const struct tab *t = &g->t;

	memset(r->k_pass, 0, (size_t)t->n_sw * sizeof(*r->k_pass));
	for (int32_t s = 0; s < t->n_sw; s++) {
		unsigned own = gate_own(g, r, s);

		for (int32_t at = s; at >= 0 && at != r->r_home && (own & ~r->k_pass[at]);
		     at = gate_to(g, r, at))
			r->k_pass[at] |= (uint16_t)own;
	}
}

/* The highest rank of what packets hold that leave each switch: what enters there, and what comes from others. */
static void gate_held(const struct gate *g, const struct row *r)
{
	const struct tab *t = &g->t;
	int32_t first = C_RANK + t->n_lane;

	for (int64_t i = 0; i < (int64_t)t->n_q * t->n_sw; i++)
		r->k_held[i] = INT32_MIN;
	for (int32_t s = 0; s < t->n_sw; s++) {
		int32_t to = s == r->r_home ? -1 : gate_to(g, r, s);
		int32_t next = to < 0 || to == r->r_home ? -1 : r->k_next[to];
		unsigned own = to < 0 ? 0 : r->k_pass == g->every ? ~0u : gate_own(g, r, s);

		for (int32_t q = 0; to >= 0 && q < t->n_q; q++) {
			const int32_t *c = gate_chan(t, r->k_next[s]);
			int32_t *held = r->k_held + (int64_t)q * t->n_sw;

			if (own >> q & 1)
				gate_most(&held[s], c[first + q]);
			if (next >= 0 && (r->k_pass[s] >> q & 1))
				gate_most(&held[to], gate_rank(t, c[C_ROW], gate_chan(t, next), q));
		}
	}
}

static void gate_row_of(const struct gate *g, uint32_t i, uint32_t d, struct row *r)
{
	const struct osr_fabric *fabric = g->f;
	const struct osr_routing *routing = g->r;
	uint32_t term = fabric->dest_term[d];
	size_t at = (size_t)d * fabric->n_switches;

	r->dest = (int32_t)d;
	r->r_home = (int32_t)fabric->dest_switch[d];
	r->r_exit = fabric->term_port[term];
	r->f_asks = fabric->term_weight[term] > 0;
	r->f_whole = true;
	r->lft = routing->lft + at;
	r->r_sl = routing->sl ? routing->sl + at : (uint8_t *)g->none;
	r->f_more = routing->granted != NULL;
	r->r_more = routing->granted ? (uint16_t *)routing->granted + at : g->none;
	/* Everything may be anywhere, or what enters is carried along. */
	r->k_pass = g->t.f_any && (r->f_asks || g->all_send) ? g->every
							     : g->pass + (size_t)g->t.n_sw * i;
}

/* ---- what a fault has left as it was ----------------------------------------------------------- */

/*
 * The theorem `stays` of proved.mlw: a destination that was confirmed, and of which nothing has changed that is looked
 * at, is confirmed, with the marks and bounds of then. What is looked at: switches, the entries, levels and answers of
 * the destination, and the channels that its entries use, with their ranks and the lanes of what comes by them.
 */

/* Switches, levels, lanes and claims are those of before: then channels and rows compare. */
static bool gate_comparable(const struct gate *g)
{
	const struct gate *before = g->before;
	const struct tab *now = &g->t, *then = &before->t;

	return before->ranked && now->n_sw == then->n_sw && now->n_chan == then->n_chan &&
	       now->n_slot == then->n_slot && now->n_lane == then->n_lane &&
	       now->n_q == then->n_q && now->f_any == then->f_any &&
	       now->f_replies == then->f_replies && now->f_flat == then->f_flat &&
	       !g->r->granted == !before->r->granted &&
	       !memcmp(g->f->sw_guid, before->f->sw_guid,
		       (size_t)now->n_sw * sizeof(*g->f->sw_guid)) &&
	       !memcmp(now->sws, then->sws, (size_t)now->n_sw * 4 * sizeof(*now->sws));
}

static bool gate_channel_changed(const struct gate *g, int32_t c)
{
	const struct tab *now = &g->t, *then = &g->before->t;
	const int32_t *a = gate_chan(now, c), *b = gate_chan(then, c);
	size_t slot = (size_t)a[C_ROW] * (size_t)now->n_q,
	       size = (size_t)now->n_q * (g->r->sl2vl ? (size_t)now->sws[4 * a[C_DST] + 1] : 1);

	return memcmp(a, b, (C_VLS + 1) * sizeof(*a)) ||
	       memcmp(a + C_RANK, b + C_RANK, (size_t)(now->n_lane + now->n_q) * sizeof(*a)) ||
	       memcmp(now->slots + slot, then->slots + slot, size);
}

static void gate_compare(struct gate *g)
{
	const struct tab *t = &g->t;
	size_t n = (size_t)t->n_sw;

	for (int32_t c = 0; c < t->n_chan; c++)
		g->changed[c] = gate_channel_changed(g, c);
	for (size_t h = 0; t->f_replies && h < n; h++)
		for (size_t s = 0; s < n; s++)
			if (t->k_answers[h * n + s] != g->before->t.k_answers[h * n + s])
				g->answered[h] = g->answered[s] = 1;
}

static bool gate_same(const void *now, size_t d, const void *then, size_t d_then, size_t size)
{
	return !now ||
	       !memcmp((const char *)now + d * size, (const char *)then + d_then * size, size);
}

static bool gate_stays(const struct gate *g, uint32_t d)
{
	const struct osr_fabric *now = g->f, *then = g->before->f;
	const struct osr_routing *a = g->r, *b = g->before->r;
	uint32_t lid = now->dest_lid[d], was, term = now->dest_term[d], home = now->dest_switch[d];
	size_t n = now->n_switches;

	was = lid <= then->max_lid ? then->lid_dest[lid] : OSR_NONE;
	if (was == OSR_NONE || !now->term_weight[term] ||
	    !then->term_weight[then->dest_term[was]] || home != then->dest_switch[was] ||
	    now->term_port[term] != then->term_port[then->dest_term[was]] || g->answered[home] ||
	    !gate_same(a->lft, d, b->lft, was, n) ||
	    (!g->t.f_any && (!gate_same(a->sl, d, b->sl, was, n) ||
			     !gate_same(a->granted, d, b->granted, was, n * sizeof(*a->granted)))))
		return false;
	for (size_t s = 0; s < n; s++) {
		const int32_t *sw = g->t.sws + 4 * s;
		uint8_t port = a->lft[d * n + s];

		if (port < sw[1] && g->changed[sw[0] + port])
			return false;
	}
	return true;
}

static void gate_dest(void *ctx, uint32_t i, uint32_t d)
{
	struct gate *g = ctx;
	struct row *r = &g->row[i];
	uint32_t seen = __atomic_load_n(&g->refused, __ATOMIC_RELAXED);
	bool proven;

	if (d > seen || (g->before && gate_stays(g, d)))
		return;
	g->judged[i]++;
	gate_row_of(g, i, d, r);
	gate_next(g, r);
	if (g->ranked && r->k_pass != g->every)
		gate_pass(g, r);
	if (g->ranked && !g->t.f_flat)
		gate_held(g, r);
	proven = (!g->ranked || gate_check(g->t, *r)) &&
		 ((g->ranked && r->f_asks) || gate_delivers(g, i, r));
	while (!proven && d < seen &&
	       !__atomic_compare_exchange_n(&g->refused, &seen, d, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

/* ---- old and new tables mixed ------------------------------------------------------------------ */

/* Which levels pass where, along the entries of both. */
static void gate_mixed_pass(const struct gate *g, const struct row *r, const struct row *o)
{
	const struct row *const row[2] = { r, o };
	bool more = true;

	for (int32_t s = 0; s < g->t.n_sw; s++)
		r->k_pass[s] = (uint16_t)gate_own(g, r, s);
	while (more) {
		more = false;
		for (int32_t s = 0; s < g->t.n_sw; s++)
			for (unsigned x = 0; x < 2 && s != r->r_home; x++) {
				int32_t to = gate_to(g, row[x], s);

				if (to < 0 || to == r->r_home || !(r->k_pass[s] & ~r->k_pass[to]))
					continue;
				r->k_pass[to] |= r->k_pass[s];
				more = true;
			}
	}
}

/*
 * A LID is two destinations that go on as each other: its new entries and its old ones. Where both are the entries of
 * the certified tables nothing is asked: those are judged by themselves.
 */
static void gate_mixed_dest(void *ctx, uint32_t i, uint32_t d)
{
	struct gate *g = ctx;
	struct row *r = &g->row[i], o;
	size_t n = (size_t)g->t.n_sw, at = d * n;
	const uint8_t *now = g->r->lft + at, *old = g->old->lft + at;
	bool same = !memcmp(now, old, n);

	if (__atomic_load_n(&g->refused, __ATOMIC_RELAXED) != OSR_NONE)
		return;
	if (same && g->certified && !memcmp(now, g->certified->lft + at, n))
		return;
	g->judged[i]++;
	gate_row_of(g, i, d, r);
	r->f_whole = false;
	for (uint32_t s = 0; !g->t.f_any && s < n; s++)
		g->levels[i][s] = (uint16_t)gate_levels(g, d, s);
	r->f_more = true;
	r->r_more = g->levels[i];
	o = *r;
	o.dest += (int32_t)g->f->n_dests;
	o.lft = (uint8_t *)g->old->lft + at;
	o.k_next = g->old_next[i];
	gate_next(g, r);
	gate_next(g, &o);
	if (r->k_pass != g->every)
		gate_mixed_pass(g, r, &o);
	if (!dest_check(g->t, *r, *r) ||
	    (!same &&
	     !(dest_check(g->t, *r, o) && dest_check(g->t, o, *r) && dest_check(g->t, o, o))))
		__atomic_store_n(&g->refused, d, __ATOMIC_RELAXED);
}

/* ---- all together ---------------------------------------------------------------------------- */

/* The arrays; false if one would be too large for 32 bits, or there is no memory. */
static bool gate_alloc(struct gate *g, uint64_t n_pair, uint32_t n_parts, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = g->f;
	struct tab *t = &g->t;
	uint64_t n = fabric->n_switches, n_q = (uint64_t)t->n_q, n_slot = n_pair + 255,
		 width = C_RANK + (uint64_t)t->n_lane + 2 * n_q,
		 entries = n + (g->r->sl2vl ? fabric->n_terminals : 0);

	if (n * n > BAD || n * n_q > BAD || 2 * (uint64_t)fabric->n_dests > BAD ||
	    fabric->n_ports * width > BAD || 2 * entries > BAD || n_slot * n_q > BAD)
		return false;
	t->n_sw = (int32_t)n;
	t->n_dest = (int32_t)fabric->n_dests * (g->old ? 2 : 1);
	t->n_chan = (int32_t)fabric->n_ports;
	t->n_slot = (int32_t)n_slot;
	t->width = (int32_t)width;
	t->chans = osr_calloc(scratch, fabric->n_ports, width * sizeof(*t->chans));
	t->sws = osr_calloc(scratch, n, 4 * sizeof(*t->sws));
	t->ents = osr_calloc(scratch, entries, 2 * sizeof(*t->ents));
	t->slots = osr_calloc(scratch, n_slot, n_q);
	t->k_answers = osr_calloc(scratch, t->f_replies ? n * n : 0, sizeof(*t->k_answers));
	g->none = osr_calloc(scratch, n, sizeof(*g->none));
	g->every = osr_calloc(scratch, n, sizeof(*g->every));
	g->pass = osr_calloc(scratch, n * n_parts, sizeof(*g->pass));
	if (g->every)
		memset(g->every, 0xff, n * sizeof(*g->every));
	g->row = osr_calloc(scratch, n_parts, sizeof(*g->row));
	g->judged = osr_calloc(scratch, n_parts, sizeof(*g->judged));
	g->alone = osr_calloc(scratch, n_parts, sizeof(*g->alone));
	g->left = osr_calloc(scratch, n_parts, sizeof(*g->left));
	for (uint32_t i = 0; g->row && g->alone && g->left && i < n_parts; i++) {
		g->row[i].k_next = osr_calloc(scratch, n, sizeof(*g->row->k_next));
		g->row[i].k_held = osr_calloc(scratch, n * n_q, sizeof(*g->row->k_held));
		g->left[i] = osr_calloc(scratch, n, sizeof(*g->left[i]));
		g->alone[i] = (struct tab){ .n_sw = t->n_sw,
					    .n_dest = t->n_dest,
					    .n_chan = t->n_chan,
					    .n_slot = 256,
					    .n_lane = 1,
					    .n_q = 1,
					    .width = C_RANK + 3,
					    .sws = t->sws,
					    .f_any = true,
					    .f_flat = true };
		g->alone[i].chans =
			osr_calloc(scratch, fabric->n_ports, (C_RANK + 3) * sizeof(*t->chans));
		g->alone[i].slots = osr_calloc(scratch, 256, 1);
	}
	return true;
}

/* Tables of this fabric, and claims with all that they speak of? */
static bool gate_fits(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	const uint32_t more = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;

	return routing->lft && routing->n_switches == fabric->n_switches &&
	       routing->n_dests == fabric->n_dests && routing->n_channels == fabric->n_channels &&
	       routing->n_vls >= 1 && routing->n_vls <= OSR_MAX_VLS &&
	       (!routing->sl2vl || routing->sl2vl_row) && (!routing->granted || routing->sl) &&
	       (!(routing->claims & more) || (routing->claims & OSR_CLAIM_DEADLOCK_FREE)) &&
	       (!(routing->claims & OSR_CLAIM_DEADLOCK_FREE) || routing->rank ||
		!fabric->n_channels) &&
	       (!(routing->claims & OSR_CLAIM_MULTICAST) || routing->mcast_parent);
}

static const char who[] = "the proved checker does not confirm";

/* The arrays, filled. */
static enum osr_status gate_lay(struct gate *g, uint32_t n_parts, struct osr_arena *scratch,
				struct osr_diag *diag)
{
	uint64_t n_pair;

	if (!gate_fits(g->f, g->r))
		return osr_fail(diag, OSR_NOT_PROVEN, "%s tables of another fabric or half a claim",
				who);
	gate_claims(g, &n_pair);
	if (!gate_alloc(g, n_pair, n_parts, scratch))
		return osr_fail(diag, OSR_NOT_PROVEN,
				"%s tables of %u switches, %u channels and %llu port pairs: they "
				"are too large for it",
				who, g->f->n_switches, g->f->n_channels,
				(unsigned long long)n_pair);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	gate_fabric(g);
	gate_entries(g);
	gate_lanes(g, n_pair);
	if (g->ranked) {
		gate_ranks(g);
		gate_bounds(g);
	}
	if (g->t.f_replies)
		gate_answers(g);
	return OSR_OK;
}

static enum osr_status gate_ask(struct gate *g, uint32_t n_parts, struct osr_arena *scratch,
				struct osr_diag *diag)
{
	bool wired = wired_check(g->t) && (!g->ranked || fabric_check(g->t));

	for (uint32_t i = 0; wired && i < n_parts; i++) {
		gate_alone(g, i);
		wired = wired_check(g->alone[i]);
	}
	if (!wired)
		return osr_fail(diag, OSR_NOT_PROVEN, "%s %s", who,
				g->t.f_mcast ? "multicast, or how the fabric is wired"
					     : "how the fabric is wired");
	osr_threads_share(scratch, g->old ? gate_mixed_dest : gate_dest, g, n_parts, g->f->n_dests);
	if (g->refused != OSR_NONE)
		return osr_fail(diag, OSR_NOT_PROVEN, "%s the routes to LID %u", who,
				g->f->dest_lid[g->refused]);
	return OSR_OK;
}

/* Lays out what was confirmed before; g->before stays NULL where it does not help. */
static void gate_remember(struct gate *g, const struct osr_result *result, struct gate *before,
			  struct osr_arena *scratch)
{
	struct osr_diag unsaid;

	if (!g->ranked || !result || !result->confirmed ||
	    osr_routing_digest(&result->fabric, &result->routing) != result->digest)
		return;
	*before = (struct gate){ .f = &result->fabric, .r = &result->routing };
	g->changed = osr_calloc(scratch, (size_t)g->t.n_chan, 1);
	g->answered = osr_calloc(scratch, (size_t)g->t.n_sw, 1);
	if (gate_lay(before, 0, scratch, &unsaid) || osr_arena_failed(scratch, &unsaid))
		return;
	g->before = before;
	if (gate_comparable(g))
		gate_compare(g);
	else
		g->before = NULL;
}

enum osr_status osr_gate_again(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       const struct osr_result *result, struct osr_arena *scratch,
			       uint32_t *n_judged, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct gate g = { .f = fabric, .r = routing, .refused = OSR_NONE }, before;
	uint32_t n_parts =
		osr_threads_parts(scratch, (uint64_t)fabric->n_dests * fabric->n_switches);
	enum osr_status st = gate_lay(&g, n_parts, scratch, diag);

	if (!st)
		gate_remember(&g, result, &before, scratch);
	if (!st)
		st = osr_arena_failed(scratch, diag) ? OSR_NOMEM
						     : gate_ask(&g, n_parts, scratch, diag);
	for (uint32_t i = 0; n_judged && !st && i < n_parts; i++)
		*n_judged = (i ? *n_judged : 0) + g.judged[i];
	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_gate(const struct osr_fabric *fabric, const struct osr_routing *routing,
			 struct osr_arena *scratch, struct osr_diag *diag)
{
	return osr_gate_again(fabric, routing, NULL, scratch, NULL, diag);
}

enum osr_status osr_gate_mixed(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       const struct osr_routing *old, const struct osr_routing *certified,
			       struct osr_arena *scratch, uint32_t *n_judged, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct gate g = {
		.f = fabric, .r = routing, .old = old, .certified = certified, .refused = OSR_NONE
	};
	uint32_t n_parts =
		osr_threads_parts(scratch, (uint64_t)fabric->n_dests * fabric->n_switches);
	enum osr_status st = OSR_OK;

	if (routing->sl2vl || old->sl2vl || !old->sl != !routing->sl || !gate_fits(fabric, old) ||
	    ((routing->claims & OSR_CLAIM_MULTICAST) &&
	     (!old->mcast_parent || old->mcast_vl != routing->mcast_vl)))
		return osr_fail(diag, OSR_NOT_PROVEN, "%s mixtures of these tables", who);
	st = gate_lay(&g, n_parts, scratch, diag);
	g.old_next = osr_calloc(scratch, n_parts, sizeof(*g.old_next));
	g.levels = osr_calloc(scratch, n_parts, sizeof(*g.levels));
	for (uint32_t i = 0; g.old_next && g.levels && i < n_parts; i++) {
		g.old_next[i] = osr_calloc(scratch, fabric->n_switches, sizeof(**g.old_next));
		g.levels[i] = osr_calloc(scratch, fabric->n_switches, sizeof(**g.levels));
	}
	if (!st)
		st = osr_arena_failed(scratch, diag) ? OSR_NOMEM
						     : gate_ask(&g, n_parts, scratch, diag);
	for (uint32_t i = 0; n_judged && !st && i < n_parts; i++)
		*n_judged = (i ? *n_judged : 0) + g.judged[i];
	osr_arena_reset(scratch, mark);
	return st;
}
