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

struct gate {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	struct tab t;
	bool ranked;
	uint8_t kind_of[16]; /* levels that all SL2VL tables map alike are one */
	uint8_t *none;       /* [n_sw * 2] zeros: no level, no earlier levels */
	struct row *row;     /* of each thread, with what it writes to */
	uint32_t refused;    /* the first destination; OSR_NONE */
};

/* ---- fabric ---------------------------------------------------------------------------------- */

static void *gate_ints(struct osr_arena *scratch, uint64_t n)
{
	return osr_calloc(scratch, n, sizeof(int32_t));
}

/* Switches, channels, ports: the same in other words. */
static void gate_fabric(struct gate *g)
{
	const struct osr_fabric *fabric = g->f;
	const osr_sl2vl_t *sl2vl = (const osr_sl2vl_t *)g->r->sl2vl;
	struct tab *t = &g->t;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		t->s_first[s] = (int32_t)fabric->port_row[s];
		t->s_ports[s] = fabric->sw_n_ports[s] + 1;
		t->s_comp[s] = (int32_t)fabric->sw_component[s];
		t->s_sends[s] = fabric->sw_sources[s] > 0;
	}
	for (uint32_t p = 0; p < fabric->n_ports; p++)
		t->p_chan[p] =
			fabric->port_chan[p] == OSR_NONE ? -1 : (int32_t)fabric->port_chan[p];
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t dst = fabric->chan_dst[c], back = fabric->chan_rev[c];
		unsigned in = fabric->chan_port[back], vls = fabric->chan_vls[c];

		t->c_src[c] = (int32_t)fabric->chan_src[c];
		t->c_dst[c] = (int32_t)dst;
		t->c_port[c] = fabric->chan_port[c];
		t->c_rev[c] = (int32_t)back;
		t->c_vls[c] = (int32_t)vls < t->n_lane ? (int32_t)vls : t->n_lane;
		t->c_col[c] = sl2vl ? fabric->chan_port[c] : 0;
		t->c_row[c] = sl2vl ? (int32_t)(g->r->sl2vl_row[dst] +
						in * (fabric->sw_n_ports[dst] + 1u))
				    : 0;
	}
}

/* Ports by which packets enter: port 0 of every switch and, where the tables tell them apart, those of hosts. */
static void gate_entries(struct gate *g)
{
	const struct osr_fabric *fabric = g->f;
	const struct osr_routing *routing = g->r;
	struct tab *t = &g->t;
	int32_t n = 0;

	for (uint32_t s = 0; s < fabric->n_switches; s++, n++) {
		t->e_sw[n] = (int32_t)s;
		t->e_row[n] = routing->sl2vl ? (int32_t)routing->sl2vl_row[s] : 0;
	}
	for (uint32_t i = 0; routing->sl2vl && i < fabric->n_terminals; i++) {
		uint32_t s = fabric->term_switch[i];

		if (!fabric->term_port[i])
			continue;
		t->e_sw[n] = (int32_t)s;
		t->e_row[n++] = (int32_t)(routing->sl2vl_row[s] +
					  fabric->term_port[i] * (fabric->sw_n_ports[s] + 1u));
	}
	t->n_entry = n;
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

	t->f_any = !routing->sl || (claims & OSR_CLAIM_ANY_SL);
	shared = t->f_any && !routing->sl2vl;
	g->ranked = claims & OSR_CLAIM_DEADLOCK_FREE;
	t->n_gen = 1;
	t->f_replies = (claims & OSR_CLAIM_REVERSIBLE) && !t->f_any;
	t->f_flat = !routing->sl2vl;
	t->f_mcast = (claims & OSR_CLAIM_MULTICAST) && routing->mcast_parent;
	/* One graph for all lanes: the same as one lane. */
	t->n_lane = shared || !g->ranked ? 1 : routing->n_vls;
	t->n_q = shared ? 1 : routing->n_vls;
	*n_slot = routing->sl2vl ? gate_pairs(g) : 1;
	if (routing->sl2vl)
		t->n_q = t->f_any ? gate_kinds(g, *n_slot) : 16;
	t->m_lane = shared ? 0 : t->f_any ? -1 : routing->mcast_vl;
}

static void gate_lanes(struct gate *g)
{
	const struct osr_routing *routing = g->r;
	struct tab *t = &g->t;

	for (int32_t q = 0; q < t->n_q; q++)
		t->k_lane[q] = q < t->n_lane ? q : 0;
	if (!routing->sl2vl)
		for (int32_t q = 0; q < t->n_q; q++)
			t->slot0[q] = (uint8_t)(q < t->n_lane ? q : 0);
	else
		for (int64_t i = 0; i < t->n_slot; i++)
			for (unsigned sl = 0; sl < 16; sl++)
				t->slot0[i * t->n_q + (t->f_any ? g->kind_of[sl] : sl)] =
					routing->sl2vl[i][sl];
	for (uint32_t c = 0; t->f_mcast && c < g->f->n_channels; c++)
		t->c_tree[c] = routing->mcast_parent[g->f->chan_src[c]] == c ||
			       routing->mcast_parent[g->f->chan_dst[c]] == g->f->chan_rev[c];
}

/* ---- certificate ----------------------------------------------------------------------------- */

/* As signed numbers in the same order. The two highest fall together, as in the other checker. */
static void gate_ranks(struct gate *g)
{
	const struct osr_routing *routing = g->r;
	struct tab *t = &g->t;

	for (int32_t l = 0; l < t->n_lane; l++)
		for (int32_t c = 0; c < t->n_chan; c++) {
			uint32_t rank = routing->rank[(size_t)l * routing->n_channels + (size_t)c];
			int64_t signed_rank = (int64_t)rank + INT32_MIN;

			t->k_rank[(size_t)c * t->n_lane + l] =
				(int32_t)(signed_rank < BAD ? signed_rank : BAD - 1);
		}
}

static int32_t *gate_most(int32_t *most, int32_t x)
{
	*most = x > *most ? x : *most;
	return most;
}

/* The rank of what leaves by channel c through slot row + column; BAD if it is dropped. */
static int32_t gate_rank(const struct tab *t, int32_t row, int32_t c, int32_t q)
{
	int32_t lane = t->slot0[(int64_t)(row + t->c_col[c]) * t->n_q + q];

	return lane < t->c_vls[c] ? t->k_rank[(int64_t)c * t->n_lane + lane] : BAD;
}

static void gate_bounds(struct gate *g)
{
	const struct osr_fabric *fabric = g->f;
	struct tab *t = &g->t;
	size_t n = (size_t)t->n_chan * t->n_q;

	for (size_t i = 0; i < n; i++)
		t->k_first[i] = INT32_MIN;
	for (int32_t h = 0; h < t->n_entry; h++)
		for (uint32_t c = fabric->chan_row[t->e_sw[h]];
		     c < fabric->chan_row[t->e_sw[h] + 1]; c++)
			for (int32_t q = 0; q < t->n_q; q++)
				gate_most(&t->k_first[(size_t)c * t->n_q + q],
					  gate_rank(t, t->e_row[h], (int32_t)c, q));
	if (!t->f_mcast)
		return;
	memcpy(t->k_mheld, t->k_first, n * sizeof(*t->k_mheld));
	for (int32_t c = 0; c < t->n_chan; c++)
		for (int32_t q = 0; q < t->n_q; q++) {
			int32_t *held = &t->k_mheld[(size_t)c * t->n_q + q];
			uint32_t v = (uint32_t)t->c_dst[c];

			if (t->m_lane >= 0)
				*held = t->k_rank[(size_t)c * t->n_lane + t->m_lane];
			for (uint32_t e = fabric->chan_row[v];
			     t->m_lane < 0 && t->c_tree[c] && e < fabric->chan_row[v + 1]; e++)
				if (t->c_tree[e] && (int32_t)e != t->c_rev[c])
					gate_most(&t->k_mheld[(size_t)e * t->n_q + q],
						  gate_rank(t, t->c_row[c], (int32_t)e, q));
		}
}

/* Levels that hosts of switch h send on to destination d. */
static unsigned gate_levels(const struct gate *g, uint32_t d, uint32_t h)
{
	const struct osr_routing *routing = g->r;
	size_t at = (size_t)d * routing->n_switches + h;

	return 1u << (routing->sl[at] & 15) | (routing->granted ? routing->granted[at] : 0);
}

static bool gate_meets(const struct gate *g, uint32_t d, uint32_t s)
{
	const struct osr_fabric *fabric = g->f;
	uint32_t home = fabric->dest_switch[d];

	return s != home && fabric->sw_component[s] == fabric->sw_component[home] &&
	       (fabric->sw_sources[s] || fabric->term_weight[fabric->dest_term[d]]);
}

/* What switches are asked on, and so answer on; the second table is the first one transposed. */
static void gate_answers(struct gate *g)
{
	size_t n = g->f->n_switches, block = 64;
	struct tab *t = &g->t;

	for (uint32_t d = 0; d < g->f->n_dests; d++)
		for (uint32_t h = 0; h < n; h++)
			if (g->f->sw_sources[h] && gate_meets(g, d, h))
				t->k_asked[g->f->dest_switch[d] * n + h] |=
					(uint16_t)gate_levels(g, d, h);
	for (size_t s0 = 0; s0 < n; s0 += block)
		for (size_t h = 0; h < n; h++)
			for (size_t s = s0; s < s0 + block && s < n; s++)
				t->k_answers[h * n + s] = t->k_asked[s * n + h];
}

/* ---- one destination ------------------------------------------------------------------------- */

/* The channel by which switch s sends on; -1: none. */
static int32_t gate_next(const struct tab *t, const struct row *r, int32_t s)
{
	return r->lft0[s] < t->s_ports[s] ? t->p_chan[t->s_first[s] + r->lft0[s]] : -1;
}

/* Hops left to home; INT32_MIN where entries lead around or nowhere. */
static void gate_left(const struct tab *t, struct row *r)
{
	for (int32_t s = 0; s < t->n_sw; s++)
		r->k_left[s] = -1;
	r->k_left[r->r_home] = 0;
	for (int32_t s = 0; s < t->n_sw; s++) {
		int32_t at = s, c, hops = 0, left;

		for (; r->k_left[at] == -1 && hops <= t->n_sw; hops++, at = t->c_dst[c])
			if ((c = gate_next(t, r, at)) < 0)
				break;
		left = r->k_left[at] < 0 ? INT32_MIN : r->k_left[at] + hops;
		for (at = s; r->k_left[at] == -1; at = t->c_dst[c]) {
			r->k_left[at] = left < 0 ? left : left--;
			if ((c = gate_next(t, r, at)) < 0)
				break;
		}
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
	if (t->f_replies && r->f_asks && t->s_sends[r->r_home])
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

		for (int32_t at = s, c; at != r->r_home && (own & ~r->k_pass[at]);
		     at = t->c_dst[c]) {
			r->k_pass[at] |= (uint16_t)own;
			if ((c = gate_next(t, r, at)) < 0)
				break;
		}
	}
}

/* The highest rank of what packets hold that leave each switch: what enters there, and what comes from others. */
static void gate_held(const struct gate *g, struct row *r)
{
	const struct tab *t = &g->t;

	for (int64_t i = 0; i < (int64_t)t->n_q * t->n_sw; i++)
		r->k_held[i] = INT32_MIN;
	for (int32_t s = 0; s < t->n_sw; s++) {
		int32_t c = gate_next(t, r, s), v = c < 0 ? s : t->c_dst[c], e = gate_next(t, r, v);
		unsigned own = gate_own(g, r, s), pass = r->f_all ? own : r->k_pass[s];

		for (int32_t q = 0; c >= 0 && s != r->r_home && q < t->n_q; q++) {
			int32_t *held = r->k_held + (int64_t)q * t->n_sw;

			if (own >> q & 1)
				gate_most(&held[s], t->k_first[(int64_t)c * t->n_q + q]);
			if (e >= 0 && (pass >> q & 1))
				gate_most(&held[v], gate_rank(t, t->c_row[c], e, q));
		}
	}
}

static void gate_row_of(const struct gate *g, uint32_t d, struct row *r)
{
	const struct osr_fabric *fabric = g->f;
	const struct osr_routing *routing = g->r;
	uint32_t term = fabric->dest_term[d];
	size_t at = (size_t)d * fabric->n_switches;

	r->dest = (int32_t)d;
	r->r_home = (int32_t)fabric->dest_switch[d];
	r->r_exit = fabric->term_port[term];
	r->f_asks = fabric->term_weight[term] > 0;
	r->lft0 = r->lft1 = routing->lft + at;
	r->r_sl = routing->sl ? routing->sl + at : g->none;
	r->f_more = routing->granted != NULL;
	r->r_more = routing->granted ? (uint16_t *)routing->granted + at : (uint16_t *)g->none;
	r->f_all = g->ranked && g->t.f_any && r->f_asks;
}

static void gate_dest(void *ctx, uint32_t i, uint32_t d)
{
	struct gate *g = ctx;
	struct row *r = &g->row[i];
	uint32_t seen = __atomic_load_n(&g->refused, __ATOMIC_RELAXED);
	bool proven;

	if (d > seen)
		return;
	gate_row_of(g, d, r);
	if (!r->f_all)
		gate_left(&g->t, r);
	if (g->ranked && !r->f_all)
		gate_pass(g, r);
	if (g->ranked && !g->t.f_flat)
		gate_held(g, r);
	proven = g->ranked ? dest_check(g->t, *r) : reach_check(g->t, *r);
	while (!proven && d < seen &&
	       !__atomic_compare_exchange_n(&g->refused, &seen, d, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

/* ---- all together ---------------------------------------------------------------------------- */

/* The arrays; false if one would be too large for 32 bits, or there is no memory. */
static bool gate_alloc(struct gate *g, uint64_t n_slot, uint32_t n_parts, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = g->f;
	struct tab *t = &g->t;
	uint64_t n = fabric->n_switches, m = fabric->n_channels,
		 entries = n + (g->r->sl2vl ? fabric->n_terminals : 0);

	if (n * n > BAD || fabric->n_dests > BAD || m * 16 > BAD || fabric->n_ports > BAD ||
	    entries > BAD || n_slot * (uint64_t)t->n_q > BAD)
		return false;
	t->n_sw = (int32_t)n;
	t->n_dest = (int32_t)fabric->n_dests;
	t->n_chan = (int32_t)m;
	t->n_port = (int32_t)fabric->n_ports;
	t->n_slot = (int32_t)n_slot;
	t->c_src = gate_ints(scratch, m);
	t->c_dst = gate_ints(scratch, m);
	t->c_port = gate_ints(scratch, m);
	t->c_row = gate_ints(scratch, m);
	t->c_col = gate_ints(scratch, m);
	t->c_rev = gate_ints(scratch, m);
	t->c_vls = gate_ints(scratch, m);
	t->c_tree = gate_ints(scratch, m);
	t->s_first = gate_ints(scratch, n);
	t->s_ports = gate_ints(scratch, n);
	t->s_comp = gate_ints(scratch, n);
	t->s_sends = gate_ints(scratch, n);
	t->p_chan = gate_ints(scratch, fabric->n_ports);
	t->e_sw = gate_ints(scratch, entries);
	t->e_row = gate_ints(scratch, entries);
	t->slot0 = t->slot1 = osr_calloc(scratch, n_slot, (size_t)t->n_q);
	t->k_rank = gate_ints(scratch, m * (uint64_t)t->n_lane);
	t->k_first = gate_ints(scratch, m * (uint64_t)t->n_q);
	t->k_mheld = gate_ints(scratch, m * (uint64_t)t->n_q);
	t->k_lane = gate_ints(scratch, (uint64_t)t->n_q);
	t->k_answers = osr_calloc(scratch, t->f_replies ? n * n : 0, sizeof(*t->k_answers));
	t->k_asked = osr_calloc(scratch, t->f_replies ? n * n : 0, sizeof(*t->k_asked));
	g->none = osr_calloc(scratch, n, sizeof(uint16_t));
	g->row = osr_calloc(scratch, n_parts, sizeof(*g->row));
	for (uint32_t i = 0; g->row && i < n_parts; i++) {
		g->row[i].k_pass = osr_calloc(scratch, n, sizeof(*g->row->k_pass));
		g->row[i].k_left = gate_ints(scratch, n);
		g->row[i].k_held = gate_ints(scratch, n * (uint64_t)t->n_q);
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

static enum osr_status gate_ask(struct gate *g, struct osr_arena *scratch, struct osr_diag *diag)
{
	static const char who[] = "the proved checker does not confirm";
	uint64_t n_slot;
	uint32_t n_parts = osr_threads_parts(scratch, (uint64_t)g->f->n_dests * g->f->n_switches);

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
	gate_fabric(g);
	gate_entries(g);
	gate_lanes(g);
	if (g->ranked) {
		gate_ranks(g);
		gate_bounds(g);
	}
	if (g->t.f_replies)
		gate_answers(g);
	if (!wired_check(g->t) || (g->ranked && !fabric_check(g->t)))
		return osr_fail(diag, OSR_NOT_PROVEN, "%s %s", who,
				g->t.f_mcast ? "multicast, or how the fabric is wired"
					     : "how the fabric is wired");
	osr_threads_share(scratch, gate_dest, g, n_parts, g->f->n_dests);
	if (g->refused != OSR_NONE)
		return osr_fail(diag, OSR_NOT_PROVEN, "%s the routes to LID %u", who,
				g->f->dest_lid[g->refused]);
	return OSR_OK;
}

enum osr_status osr_gate(const struct osr_fabric *fabric, const struct osr_routing *routing,
			 struct osr_arena *scratch, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct gate g = { .f = fabric, .r = routing, .refused = OSR_NONE };
	enum osr_status st = gate_ask(&g, scratch, diag);

	osr_arena_reset(scratch, mark);
	return st;
}
