/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Of what is written here the fabric's part is trusted: gate_claims(), gate_fabric(), gate_lanes(), gate_levels() and
 * gate_row_of() say which fabric and which tables the arrays stand for. The certificate's part is not: a wrong rank,
 * bound or mark is refused.
 */
#include "gate.h"

#include "gate_proved.h"

#include <stdlib.h>
#include <string.h>

#define BAD INT32_MAX /* k_first: a packet that enters there is dropped */

/* Elements of a port in tab.hot, where ranks of all lanes begin at the last one, and in tab.cold, where bounds do. */
enum { H_NEXT, H_ROW, H_VLS, H_RANK };
enum { C_INTO, C_ROW, C_ENTER, C_TREE, C_HELD };

/* What each thread writes to. */
struct share {
	struct row row, old;     /* a destination; its old entries */
	uint16_t *levels, *pass; /* [n_sw] */
	int32_t *left;           /* [n_sw] hops */
	struct tab alone;        /* one lane, with ranks of its destination alone */
	uint32_t judged;         /* destinations that were looked at */
};

struct gate {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	struct tab t;
	bool any, ranked;
	bool all_send;         /* every switch has hosts */
	uint8_t kind_of[16];   /* levels that all SL2VL tables map alike are one */
	uint16_t *one, *every; /* [n_sw] sets of levels */
	uint8_t *zero;         /* [n_slot] lanes */
	struct share *share;
	uint32_t refused; /* the first destination; OSR_NONE */
	/* Mixed with these, in a certificate of `certified`; NULL. */
	const struct osr_routing *old, *certified;
	/* What it confirmed before; NULL. */
	const struct gate *before;
	uint8_t *changed;  /* [n_sw * n_port] since then */
	uint8_t *answered; /* [n_sw] answers of the switch, or to it, have changed since then */
};

/* ---- fabric ---------------------------------------------------------------------------------- */

static size_t gate_port(const struct tab *t, uint32_t s, uint32_t o)
{
	return (size_t)s * (size_t)t->n_port + o;
}

static int32_t *gate_hot(const struct tab *t, uint32_t s, uint32_t o)
{
	return t->hot + gate_port(t, s, o) * (size_t)t->width;
}

static int32_t *gate_cold(const struct tab *t, uint32_t s, uint32_t o)
{
	return t->cold + gate_port(t, s, o) * (size_t)t->more;
}

/* The row of the SL2VL tables for what comes into switch s by port i. */
static int32_t gate_row(const struct gate *g, uint32_t s, uint32_t i)
{
	const struct osr_routing *routing = g->r;

	return !routing->sl2vl ? 0
			       : (int32_t)(routing->sl2vl_row[s] + i * (g->f->sw_n_ports[s] + 1u));
}

/* Does multicast use channel c, with these tables? */
static bool gate_tree(const struct gate *g, const struct osr_routing *routing, uint32_t c)
{
	const uint32_t *up = routing->mcast_parent;

	return up[g->f->chan_src[c]] == c || up[g->f->chan_dst[c]] == g->f->chan_rev[c];
}

/*
 * Switches, cables, ports: the same in other words. Packets enter by port 0 of every switch and, where the tables tell
 * them apart, by the ports of hosts. `tree`: multicast is claimed.
 */
static void gate_fabric(struct gate *g, bool tree)
{
	const struct osr_fabric *fabric = g->f;
	const struct tab *t = &g->t;

	g->all_send = true;
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		t->sws[2 * (size_t)s] = (int32_t)fabric->sw_component[s];
		t->sws[2 * (size_t)s + 1] = fabric->sw_sources[s] > 0;
		g->all_send &= fabric->sw_sources[s] > 0;
		for (uint32_t o = 0; o < (uint32_t)t->n_port; o++) {
			gate_hot(t, s, o)[H_NEXT] = -1;
			gate_cold(t, s, o)[C_ENTER] = o == 0;
			gate_cold(t, s, o)[C_ROW] =
				o <= fabric->sw_n_ports[s] ? gate_row(g, s, o) : 0;
		}
	}
	for (uint32_t i = 0; g->r->sl2vl && i < fabric->n_terminals; i++)
		gate_cold(t, fabric->term_switch[i], fabric->term_port[i])[C_ENTER] = 1;
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_src[c], o = fabric->chan_port[c], v = fabric->chan_dst[c];
		uint32_t into = fabric->chan_port[fabric->chan_rev[c]];
		int32_t *hot = gate_hot(t, s, o), *cold = gate_cold(t, s, o);

		hot[H_NEXT] = (int32_t)v;
		hot[H_ROW] = gate_row(g, v, into);
		hot[H_VLS] = fabric->chan_vls[c] < t->n_lane ? fabric->chan_vls[c] : t->n_lane;
		cold[C_INTO] = (int32_t)into;
		cold[C_TREE] =
			tree && (gate_tree(g, g->r, c) || (g->old && gate_tree(g, g->old, c)));
	}
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
static void gate_claims(struct gate *g, uint64_t *n_slot)
{
	const struct osr_routing *routing = g->r;
	struct tab *t = &g->t;
	uint32_t claims = routing->claims;
	bool shared;

	g->any = !routing->sl || (claims & OSR_CLAIM_ANY_SL);
	shared = g->any && !routing->sl2vl;
	g->ranked = claims & OSR_CLAIM_DEADLOCK_FREE;
	t->f_replies = (claims & OSR_CLAIM_REVERSIBLE) && !g->any;
	t->f_flat = !routing->sl2vl;
	/* One graph for all lanes: the same as one lane. */
	t->n_lane = t->n_q = shared || !g->ranked ? 1 : routing->n_vls;
	t->n_port = 1;
	for (uint32_t s = 0; s < g->f->n_switches; s++)
		if (g->f->sw_n_ports[s] >= t->n_port)
			t->n_port = g->f->sw_n_ports[s] + 1;
	*n_slot = (uint64_t)t->n_port;
	if (routing->sl2vl) {
		*n_slot += gate_pairs(g);
		t->n_q = g->any ? gate_kinds(g, gate_pairs(g)) : 16;
	}
	t->m_lane = shared ? 0 : g->any ? -1 : routing->mcast_vl;
}

/* SL2VL tables; without them the lane is the level. */
static void gate_lanes(struct gate *g)
{
	const struct osr_routing *routing = g->r;
	struct tab *t = &g->t;
	size_t n_q = (size_t)t->n_q;

	for (size_t i = 0; !routing->sl2vl && i < (size_t)t->n_slot * n_q; i++)
		t->slots[i] = (uint8_t)(i % n_q < (size_t)t->n_lane ? i % n_q : 0);
	for (size_t i = 0; routing->sl2vl && i < (size_t)(t->n_slot - t->n_port); i++)
		for (unsigned sl = 0; sl < 16; sl++)
			t->slots[i * n_q + (g->any ? g->kind_of[sl] : sl)] = routing->sl2vl[i][sl];
}

/* Levels that switch s may send on to destination d. */
static uint16_t gate_levels(const struct gate *g, uint32_t d, uint32_t s)
{
	const struct osr_routing *both[2] = { g->r, g->old };
	size_t at = (size_t)d * g->f->n_switches + s;
	unsigned levels = 0;

	if (g->any)
		return *g->every;
	for (unsigned i = 0; i < 2 && both[i]; i++) {
		if (both[i]->sl[at] >= 16)
			return 0;
		levels |= 1u << both[i]->sl[at];
		levels |= both[i]->granted ? both[i]->granted[at] : 0;
	}
	return (uint16_t)levels;
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

			gate_hot(&g->t, fabric->chan_src[c], fabric->chan_port[c])[H_RANK + l] =
				(int32_t)(signed_rank < BAD ? signed_rank : BAD - 1);
		}
}

static void gate_most(int32_t *most, int32_t x)
{
	*most = x > *most ? x : *most;
}

/* The rank of what leaves switch s by port o through this row; BAD if it is dropped. */
static int32_t gate_rank(const struct tab *t, int32_t row, uint32_t s, uint32_t o, int32_t q)
{
	int32_t lane = t->slots[(int64_t)(row + (int32_t)o) * t->n_q + q];
	const int32_t *hot = gate_hot(t, s, o);

	return lane < hot[H_VLS] ? hot[H_RANK + lane] : BAD;
}

/* What comes by this row into switch s, and leaves by another port than `back`, has at most these ranks. */
static void gate_bound(const struct tab *t, int32_t row, uint32_t s, int32_t back, bool copies)
{
	for (uint32_t o = 0; o < (uint32_t)t->n_port; o++) {
		int32_t *first = gate_hot(t, s, o) + H_RANK + t->n_lane;
		int32_t *most = copies ? gate_cold(t, s, o) + C_HELD : first;

		for (int32_t q = 0;
		     gate_hot(t, s, o)[H_NEXT] >= 0 && (int32_t)o != back && q < t->n_q; q++)
			gate_most(&most[q], gate_rank(t, row, s, o, q));
	}
}

static void gate_bounds(const struct gate *g)
{
	const struct tab *t = &g->t;
	uint32_t n_sw = g->f->n_switches, n_port = (uint32_t)t->n_port;
	bool own = t->m_lane < 0 || t->m_lane >= t->n_lane;
	int32_t held = H_RANK + (own ? t->n_lane : t->m_lane);

	for (uint32_t s = 0; s < n_sw; s++) {
		for (uint32_t o = 0; o < n_port; o++)
			for (int32_t q = 0; q < t->n_q; q++)
				gate_hot(t, s, o)[H_RANK + t->n_lane + q] = INT32_MIN;
		for (uint32_t i = 0; i < n_port; i++)
			if (gate_cold(t, s, i)[C_ENTER])
				gate_bound(t, gate_cold(t, s, i)[C_ROW], s, -1, false);
	}
	for (uint32_t s = 0; s < n_sw; s++)
		for (uint32_t o = 0; o < n_port; o++)
			for (int32_t q = 0; q < t->n_q; q++)
				gate_cold(t, s, o)[C_HELD + q] =
					gate_hot(t, s, o)[held + (own ? q : 0)];
	for (uint32_t c = 0; t->m_lane < 0 && c < g->f->n_channels; c++) {
		uint32_t s = g->f->chan_src[c], o = g->f->chan_port[c];
		const int32_t *cold = gate_cold(t, s, o);

		if (cold[C_TREE])
			gate_bound(t, gate_hot(t, s, o)[H_ROW], g->f->chan_dst[c], cold[C_INTO],
				   true);
	}
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
					gate_levels(g, d, h);
}

/* ---- one destination ------------------------------------------------------------------------- */

/* Where switch s sends on to; -1: nowhere. */
static int32_t gate_to(const struct gate *g, const struct row *r, int32_t s)
{
	uint32_t c = osr_port_channel(g->f, (uint32_t)s, r->lft[s]);

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
	if (t.n_q > 1 || t.f_replies)
		return dest_check(t, r, r);
	t.n_q = 1;
	t.f_replies = 0;
	if (!t.f_flat || t.n_lane > 1 || t.width != H_RANK + 2)
		return dest_check(t, r, r);
	t.f_flat = t.n_lane = 1;
	t.width = H_RANK + 2;
	return dest_check(t, r, r);
}

/*
 * Do its entries lead home from everywhere, whatever else is claimed? The same program, asked about a fabric with one
 * lane where all send to this destination: a port's rank is the higher the fewer hops are left.
 */
static bool gate_delivers(const struct gate *g, struct share *mine)
{
	struct row all = mine->row;

	all.f_host = true;
	all.k_pass = all.levels = g->one;
	gate_left(g, &all, mine->left);
	for (uint32_t s = 0; s < g->f->n_switches; s++)
		if (all.lft[s] < g->t.n_port)
			gate_hot(&mine->alone, s, all.lft[s])[H_RANK] =
				mine->left[s] < 0 ? 0 : -mine->left[s];
	return gate_check(mine->alone, all);
}

/* The fabric of g for that. */
static void gate_alone(const struct gate *g, struct tab *t)
{
	for (uint32_t s = 0; s < g->f->n_switches; s++)
		for (uint32_t o = 0; o < (uint32_t)t->n_port; o++) {
			const int32_t *from = gate_hot(&g->t, s, o);
			int32_t *to = gate_hot(t, s, o);

			to[H_NEXT] = from[H_NEXT];
			to[H_ROW] = from[H_ROW];
			to[H_VLS] = from[H_VLS] > 0;
			to[H_RANK + 1] = INT32_MIN;
		}
}

/* Levels of packets that enter at switch s. */
static unsigned gate_own(const struct gate *g, const struct row *r, int32_t s)
{
	const struct tab *t = &g->t;
	unsigned own = r->levels[s];

	if (!gate_meets(g, (uint32_t)r->dest % g->f->n_dests, (uint32_t)s))
		return 0;
	if (t->f_replies && r->f_host && t->sws[2 * r->r_home + 1])
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

	for (int64_t i = 0; i < (int64_t)t->n_q * t->n_sw; i++)
		r->k_held[i] = INT32_MIN;
	for (int32_t s = 0; s < t->n_sw; s++) {
		int32_t v = s == r->r_home ? -1 : gate_to(g, r, s);
		bool on = v >= 0 && v != r->r_home && gate_to(g, r, v) >= 0;
		unsigned own = v < 0 ? 0 : r->k_pass == g->every ? ~0u : gate_own(g, r, s);
		const int32_t *hot = v < 0 ? NULL : gate_hot(t, (uint32_t)s, r->lft[s]);

		for (int32_t q = 0; v >= 0 && q < t->n_q; q++) {
			int32_t *held = r->k_held + (int64_t)q * t->n_sw;

			if (own >> q & 1)
				gate_most(&held[s], hot[H_RANK + t->n_lane + q]);
			if (on && (r->k_pass[s] >> q & 1))
				gate_most(&held[v],
					  gate_rank(t, hot[H_ROW], (uint32_t)v, r->lft[v], q));
		}
	}
}

static void gate_row_of(const struct gate *g, struct share *mine, uint32_t d)
{
	const struct osr_fabric *fabric = g->f;
	uint32_t term = fabric->dest_term[d];
	struct row *r = &mine->row;

	r->dest = (int32_t)d;
	r->r_home = (int32_t)fabric->dest_switch[d];
	r->r_exit = fabric->term_port[term];
	r->f_host = fabric->term_weight[term] > 0;
	r->f_whole = true;
	r->lft = g->r->lft + (size_t)d * fabric->n_switches;
	r->levels = g->any ? g->every : mine->levels;
	for (uint32_t s = 0; !g->any && s < fabric->n_switches; s++)
		mine->levels[s] = gate_levels(g, d, s);
	/* Everything may be anywhere, or what enters is carried along. */
	r->k_pass = g->any && (r->f_host || g->all_send) ? g->every : mine->pass;
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

	return before->ranked && now->n_sw == then->n_sw && now->n_port == then->n_port &&
	       now->n_slot == then->n_slot && now->n_lane == then->n_lane &&
	       now->n_q == then->n_q && g->any == before->any &&
	       now->f_replies == then->f_replies && now->f_flat == then->f_flat &&
	       !g->r->granted == !before->r->granted &&
	       !memcmp(g->f->sw_guid, before->f->sw_guid,
		       (size_t)now->n_sw * sizeof(*g->f->sw_guid)) &&
	       !memcmp(now->sws, then->sws, (size_t)now->n_sw * 2 * sizeof(*now->sws));
}

static bool gate_port_changed(const struct gate *g, uint32_t s, uint32_t o)
{
	const struct tab *now = &g->t, *then = &g->before->t;
	const int32_t *a = gate_hot(now, s, o), *b = gate_hot(then, s, o);
	size_t slot = (size_t)a[H_ROW] * (size_t)now->n_q;

	return memcmp(a, b, (size_t)now->width * sizeof(*a)) ||
	       memcmp(now->slots + slot, then->slots + slot,
		      (size_t)now->n_port * (size_t)now->n_q);
}

static void gate_compare(struct gate *g)
{
	const struct tab *t = &g->t;
	size_t n = (size_t)t->n_sw;

	for (uint32_t s = 0; s < n; s++)
		for (uint32_t o = 0; o < (uint32_t)t->n_port; o++)
			g->changed[gate_port(t, s, o)] = gate_port_changed(g, s, o);
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
	    (!g->any && (!gate_same(a->sl, d, b->sl, was, n) ||
			 !gate_same(a->granted, d, b->granted, was, n * sizeof(*a->granted)))))
		return false;
	for (uint32_t s = 0; s < n; s++) {
		uint8_t port = a->lft[d * n + s];

		if (port < g->t.n_port && g->changed[gate_port(&g->t, s, port)])
			return false;
	}
	return true;
}

static void gate_dest(void *ctx, uint32_t i, uint32_t d)
{
	struct gate *g = ctx;
	struct share *mine = &g->share[i];
	struct row *r = &mine->row;
	uint32_t seen = __atomic_load_n(&g->refused, __ATOMIC_RELAXED);
	bool proven;

	if (d > seen || (g->before && gate_stays(g, d)))
		return;
	mine->judged++;
	gate_row_of(g, mine, d);
	if (g->ranked && r->k_pass != g->every)
		gate_pass(g, r);
	if (g->ranked && !g->t.f_flat)
		gate_held(g, r);
	proven = (!g->ranked || gate_check(g->t, *r)) &&
		 ((g->ranked && r->f_host) || gate_delivers(g, mine));
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
	struct share *mine = &g->share[i];
	struct row *r = &mine->row, *o = &mine->old;
	size_t n = (size_t)g->t.n_sw, at = d * n;
	const uint8_t *now = g->r->lft + at, *old = g->old->lft + at;
	bool same = !memcmp(now, old, n);

	if (__atomic_load_n(&g->refused, __ATOMIC_RELAXED) != OSR_NONE)
		return;
	if (same && g->certified && !memcmp(now, g->certified->lft + at, n))
		return;
	mine->judged++;
	gate_row_of(g, mine, d);
	r->f_whole = false;
	*o = *r;
	o->dest += (int32_t)g->f->n_dests;
	o->lft = (uint8_t *)g->old->lft + at;
	if (r->k_pass != g->every)
		gate_mixed_pass(g, r, o);
	if (!dest_check(g->t, *r, *r) ||
	    (!same &&
	     !(dest_check(g->t, *r, *o) && dest_check(g->t, *o, *r) && dest_check(g->t, *o, *o))))
		__atomic_store_n(&g->refused, d, __ATOMIC_RELAXED);
}

/* ---- all together ---------------------------------------------------------------------------- */

/* The arrays; false if one would be too large for 32 bits, or there is no memory. */
static bool gate_alloc(struct gate *g, uint64_t n_slot, uint32_t n_parts, struct osr_arena *scratch)
{
	struct tab *t = &g->t;
	uint64_t n = g->f->n_switches, n_q = (uint64_t)t->n_q, ports = n * (uint64_t)t->n_port;
	uint64_t width = H_RANK + (uint64_t)t->n_lane + n_q, more = C_HELD + n_q;

	if (n * n > BAD || n * n_q > BAD || 2 * (uint64_t)g->f->n_dests > BAD ||
	    ports * width > BAD || ports * more > BAD || n_slot * n_q > BAD)
		return false;
	t->n_sw = (int32_t)n;
	t->n_dest = (int32_t)g->f->n_dests * (g->old ? 2 : 1);
	t->n_slot = (int32_t)n_slot;
	t->width = (int32_t)width;
	t->more = (int32_t)more;
	t->hot = osr_calloc(scratch, ports, width * sizeof(*t->hot));
	t->cold = osr_calloc(scratch, ports, more * sizeof(*t->cold));
	t->sws = osr_calloc(scratch, n, 2 * sizeof(*t->sws));
	t->slots = osr_calloc(scratch, n_slot, n_q);
	t->k_answers = osr_calloc(scratch, t->f_replies ? n * n : 0, sizeof(*t->k_answers));
	g->zero = osr_calloc(scratch, n_slot, 1);
	g->one = osr_calloc(scratch, n, sizeof(*g->one));
	g->every = osr_calloc(scratch, n, sizeof(*g->every));
	for (size_t s = 0; g->one && g->every && s < n; s++) {
		g->one[s] = 1;
		g->every[s] = (uint16_t)((1u << n_q) - 1);
	}
	g->share = osr_calloc(scratch, n_parts, sizeof(*g->share));
	for (uint32_t i = 0; g->share && i < n_parts; i++) {
		struct share *mine = &g->share[i];

		mine->levels = osr_calloc(scratch, n, sizeof(*mine->levels));
		mine->pass = osr_calloc(scratch, n, sizeof(*mine->pass));
		mine->left = osr_calloc(scratch, n, sizeof(*mine->left));
		mine->row.k_held = osr_calloc(scratch, n * n_q, sizeof(*mine->row.k_held));
		mine->alone = *t;
		mine->alone.f_replies = false;
		mine->alone.f_flat = true;
		mine->alone.n_lane = mine->alone.n_q = 1;
		mine->alone.width = H_RANK + 2;
		mine->alone.slots = g->zero;
		mine->alone.hot = osr_calloc(scratch, ports, (H_RANK + 2) * sizeof(*t->hot));
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
	       (!(routing->claims & OSR_CLAIM_MULTICAST) ||
		(routing->mcast_parent && routing->mcast_vl < OSR_MAX_VLS));
}

static const char who[] = "the proved checker does not confirm";

/* The arrays, filled. */
static enum osr_status gate_lay(struct gate *g, uint32_t n_parts, struct osr_arena *scratch,
				struct osr_diag *diag)
{
	uint64_t n_slot;

	if (!gate_fits(g->f, g->r))
		return osr_fail(diag, OSR_NOT_PROVEN, "%s tables of another fabric or half a claim",
				who);
	gate_claims(g, &n_slot);
	if (!gate_alloc(g, n_slot, n_parts, scratch))
		return osr_fail(diag, OSR_NOT_PROVEN,
				"%s tables of %u switches, %u channels and %llu port pairs: they "
				"are too large for it",
				who, g->f->n_switches, g->f->n_channels,
				(unsigned long long)n_slot);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	gate_fabric(g, g->r->claims & OSR_CLAIM_MULTICAST);
	gate_lanes(g);
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
		gate_alone(g, &g->share[i].alone);
		wired = wired_check(g->share[i].alone);
	}
	if (!wired)
		return osr_fail(diag, OSR_NOT_PROVEN, "%s %s", who,
				g->r->claims & OSR_CLAIM_MULTICAST
					? "multicast, or how the fabric is wired"
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
	g->changed = osr_calloc(scratch, gate_port(&g->t, g->f->n_switches, 0), 1);
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
		*n_judged = (i ? *n_judged : 0) + g.share[i].judged;
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
	if (!st)
		st = osr_arena_failed(scratch, diag) ? OSR_NOMEM
						     : gate_ask(&g, n_parts, scratch, diag);
	for (uint32_t i = 0; n_judged && !st && i < n_parts; i++)
		*n_judged = (i ? *n_judged : 0) + g.share[i].judged;
	osr_arena_reset(scratch, mark);
	return st;
}
