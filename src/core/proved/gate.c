/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Three parts. "What is asked" is trusted: it says which fabric, which tables and which claims the
 * arrays stand for. "Certificate" is not: a wrong rank, bound or mark is refused. "What a fault has
 * left as it was" is trusted again.
 */
#include <osmroutes/each.h>

#include "gate.h"

#include "gate_proved.h"

#include <stdlib.h>
#include <string.h>

#define BAD INT32_MAX /* k_first: a packet that enters there is dropped */

/*
 * Elements of a port in tab.hot, where ranks by lane begin at H_RANK, and in tab.cold, where bounds
 * by level do.
 */
enum { H_NEXT, H_ROW, H_VLS, H_RANK };
enum { C_INTO, C_ROW, C_ENTER, C_TREE, C_COPIES };

/* What each thread writes to. */
struct share {
	struct row row[2];       /* a destination with the entries of each generation */
	uint16_t *levels, *pass; /* [n_sw] */
	int32_t *stack;          /* [16 * n_sw] switches whose mark has grown: 16 times at most */
	struct tab alone;        /* one lane, with ranks of its destination alone */
	uint32_t judged;         /* destinations that were looked at */
};

struct gate {
	const struct osr_fabric *fabric;
	const struct osr_routing *gen[2]; /* the tables; those that they are mixed with */
	unsigned n_gens;
	struct tab tab[2];    /* of each generation; they differ in slots alone */
	uint32_t claims;      /* of gen[0] */
	bool any, ranked;     /* any level is safe; there are ranks */
	bool all_send;        /* every switch has hosts */
	uint8_t level_of[16]; /* [n_q] the lowest SL of those that all SL2VL tables map alike */
	uint8_t flat[OSR_MAX_VLS + 1][16]; /* VL = SL on a cable with so many lanes */
	uint16_t *one, *every;             /* [n_sw] sets of levels */
	struct share *share;
	uint32_t refused; /* the first destination; OSR_NONE */
	/* What has been confirmed of this order, or is by itself; NULL. */
	const struct osr_fabric *then_f;
	const struct osr_routing *then;
	uint8_t *changed;  /* [n_sw * n_port] since then */
	uint8_t *answered; /* [n_sw] answers of the switch, or to it, have changed since then */
};

static const char who[] = "the proved checker does not confirm";

/* ---- what is asked --------------------------------------------------------------------------- */

static size_t gate_index(const struct tab *tab, uint32_t s, uint32_t o)
{
	return (size_t)s * (size_t)tab->n_port + o;
}

static int32_t *gate_hot(const struct tab *tab, uint32_t s, uint32_t o)
{
	return tab->hot + gate_index(tab, s, o) * (size_t)tab->width;
}

static int32_t *gate_cold(const struct tab *tab, uint32_t s, uint32_t o)
{
	return tab->cold + gate_index(tab, s, o) * (size_t)tab->more;
}

/* May senders choose their level in this generation? */
static bool gate_any(const struct gate *gate, unsigned x)
{
	return !gate->gen[x]->sl || (gate->claims & OSR_CLAIM_ANY_SL);
}

/*
 * The lanes, by SL, of what comes into switch s through pair `pair` of its ports, by the tables of
 * generation x. Where VL = SL and the cable has no such lane (SL 15: never), the packet is dropped:
 * there is none.
 */
static const uint8_t *gate_vls(const struct gate *gate, unsigned x, uint32_t s, uint32_t pair)
{
	const struct osr_routing *routing = gate->gen[x];
	uint32_t c;

	if (routing->sl2vl)
		return routing->sl2vl[routing->sl2vl_row[s] + pair];
	c = osr_port_channel(gate->fabric, s, pair % (gate->fabric->sw_n_ports[s] + 1u));
	return gate->flat[c == OSR_NONE ? 0 : gate->fabric->chan_vls[c]];
}

/* How many levels and lanes there are, and which claims. */
static void gate_claims(struct gate *gate)
{
	const struct osr_routing *routing = gate->gen[0];
	struct tab *tab = &gate->tab[0];
	uint16_t differ[16] = { 0 }; /* bit b of differ[a], b < a: in some table */
	bool shared;

	gate->any = gate_any(gate, 0) && gate_any(gate, gate->n_gens - 1);
	gate->ranked = gate->claims & OSR_CLAIM_DEADLOCK_FREE;
	tab->f_flat = !routing->sl2vl && !gate->gen[gate->n_gens - 1]->sl2vl;
	tab->f_replies = (gate->claims & OSR_CLAIM_REVERSIBLE) && !gate->any;
	/* One graph for all lanes: the same as one lane. */
	shared = gate->any && tab->f_flat;
	tab->m_lane = shared ? 0 : gate->any ? -1 : routing->mcast_vl;
	tab->n_lane = tab->n_q = shared || !gate->ranked ? 1 : routing->n_vls;
	if (tab->f_flat)
		return;
	for (unsigned vls = 0; vls <= OSR_MAX_VLS; vls++)
		for (unsigned sl = 0; sl < 16; sl++)
			gate->flat[vls][sl] = sl < vls ? (uint8_t)sl : OSR_VL_UNSET;
	/*
	 * Where any level is safe those with the same lanes everywhere are one. Most tables have
	 * one lane for all.
	 */
	for (unsigned x = 0; gate->any && x < gate->n_gens; x++)
		OSR_EACH_SWITCH(s, gate->fabric) {
			uint32_t ports = gate->fabric->sw_n_ports[s] + 1u;

			for (uint32_t pair = 0; pair < ports * ports; pair++) {
				const uint8_t *vls = gate_vls(gate, x, s, pair);

				for (unsigned a = 1; memcmp(vls, vls + 1, 15) && a < 16; a++)
					for (unsigned b = 0; b < a; b++)
						differ[a] |= (uint16_t)((vls[a] != vls[b]) << b);
			}
		}
	tab->n_q = 0;
	for (unsigned sl = 0; sl < 16; sl++)
		if (!gate->any || differ[sl] == (1u << sl) - 1)
			gate->level_of[tab->n_q++] = (uint8_t)sl;
}

/*
 * Switches, cables, ports: the same in other words. Each switch has a row of SL2VL tables for each
 * of its ports, or all share one. Packets enter by port 0 of every switch and, where the tables
 * tell them apart, by the ports of hosts.
 */
static void gate_fabric(struct gate *gate, const struct tab *tab)
{
	const struct osr_fabric *fabric = gate->fabric;
	int32_t row = 0;

	gate->all_send = true;
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t n_ports = fabric->sw_n_ports[s] + 1u;

		tab->sws[2 * (size_t)s] = (int32_t)fabric->sw_component[s];
		tab->sws[2 * (size_t)s + 1] = fabric->sw_sources[s] > 0;
		gate->all_send &= fabric->sw_sources[s] > 0;
		for (uint32_t o = 0; o < (uint32_t)tab->n_port; o++) {
			gate_hot(tab, s, o)[H_NEXT] = -1;
			gate_cold(tab, s, o)[C_ENTER] = o == 0;
			gate_cold(tab, s, o)[C_ROW] = row;
			row += tab->f_flat || o >= n_ports ? 0 : (int32_t)n_ports;
		}
	}
	for (uint32_t i = 0; !tab->f_flat && i < fabric->n_terminals; i++)
		gate_cold(tab, fabric->term_switch[i], fabric->term_port[i])[C_ENTER] = 1;
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t v = fabric->chan_dst[c], into = fabric->chan_port[fabric->chan_rev[c]];
		int32_t *hot = gate_hot(tab, fabric->chan_src[c], fabric->chan_port[c]);
		int32_t *cold = gate_cold(tab, fabric->chan_src[c], fabric->chan_port[c]);

		hot[H_NEXT] = (int32_t)v;
		hot[H_ROW] = gate_cold(tab, v, into)[C_ROW];
		cold[C_INTO] = (int32_t)into;
		hot[H_VLS] = fabric->chan_vls[c] < tab->n_lane ? fabric->chan_vls[c] : tab->n_lane;
		for (unsigned x = 0; (gate->claims & OSR_CLAIM_MULTICAST) && x < gate->n_gens;
		     x++) {
			const uint32_t *up = gate->gen[x]->mcast_parent;

			cold[C_TREE] |=
				up[fabric->chan_src[c]] == c || up[v] == fabric->chan_rev[c];
		}
	}
}

/*
 * SL2VL tables of generation x. A lane that it does not have is that of the other one: packets that
 * are dropped there wait for less than those that go on.
 */
static void gate_lanes(const struct gate *gate, unsigned x)
{
	const struct tab *tab = &gate->tab[x];
	size_t n_q = (size_t)tab->n_q;

	for (size_t i = 0; tab->f_flat && i < (size_t)tab->n_port * n_q; i++)
		tab->slots[i] = (uint8_t)(i % n_q);
	for (uint32_t s = 0; !tab->f_flat && s < gate->fabric->n_switches; s++) {
		uint8_t *slot = tab->slots + (size_t)gate_cold(tab, s, 0)[C_ROW] * n_q;
		uint32_t ports = gate->fabric->sw_n_ports[s] + 1u;

		for (uint32_t pair = 0; pair < ports * ports; pair++, slot += n_q) {
			const uint8_t *vls = gate_vls(gate, x, s, pair);
			const uint8_t *other = gate_vls(gate, gate->n_gens - 1 - x, s, pair);

			for (size_t q = 0; q < n_q; q++) {
				uint8_t vl = vls[gate->level_of[q]];

				slot[q] = vl != OSR_VL_UNSET ? vl : other[gate->level_of[q]];
			}
		}
	}
}

/* Levels that switch s may send on to destination d, by any generation. */
static uint16_t gate_levels(const struct gate *gate, uint32_t d, uint32_t s)
{
	size_t at = (size_t)d * gate->fabric->n_switches + s;
	unsigned levels = 0;

	for (unsigned x = 0; x < gate->n_gens; x++) {
		const struct osr_routing *routing = gate->gen[x];

		if (gate_any(gate, x))
			levels |= *gate->every;
		else if (routing->sl[at] >= 16)
			return 0;
		else
			levels |= 1u << routing->sl[at] |
				  (routing->granted ? routing->granted[at] : 0);
	}
	return (uint16_t)levels;
}

/* Destination d with the entries of each generation; in a mixture they go on as each other. */
static void gate_rows(const struct gate *gate, struct share *mine, uint32_t d)
{
	const struct osr_fabric *fabric = gate->fabric;
	uint32_t term = fabric->dest_term[d];

	for (uint32_t s = 0; !gate->any && s < fabric->n_switches; s++)
		mine->levels[s] = gate_levels(gate, d, s);
	for (unsigned x = 0; x < gate->n_gens; x++) {
		struct row *row = &mine->row[x];

		row->dest = (int32_t)(d + x * fabric->n_dests);
		row->r_home = (int32_t)fabric->dest_switch[d];
		row->r_exit = fabric->term_port[term];
		row->f_host = fabric->term_weight[term] > 0;
		row->f_whole = gate->n_gens == 1;
		row->lft = gate->gen[x]->lft + (size_t)d * fabric->n_switches;
		row->levels = gate->any ? gate->every : mine->levels;
		/* Certificate: everything may be anywhere, or what enters is carried along. */
		row->k_pass =
			gate->any && (row->f_host || gate->all_send) ? gate->every : mine->pass;
	}
}

/*
 * Tables of this fabric with all that the claims speak of? Multicast of a mixture is on one lane,
 * or on any.
 */
static bool gate_fits(const struct gate *gate, const struct osr_routing *routing)
{
	const uint32_t more = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	const struct osr_routing *first = gate->gen[0];
	bool ranked = gate->claims & OSR_CLAIM_DEADLOCK_FREE;

	return routing->lft && routing->n_switches == gate->fabric->n_switches &&
	       routing->n_dests == gate->fabric->n_dests &&
	       routing->n_channels == gate->fabric->n_channels &&
	       (!routing->sl2vl || routing->sl2vl_row) && (!routing->granted || routing->sl) &&
	       first->n_vls >= 1 && first->n_vls <= OSR_MAX_VLS &&
	       (ranked ? first->rank || !gate->fabric->n_channels : !(gate->claims & more)) &&
	       (!(gate->claims & OSR_CLAIM_MULTICAST) ||
		(routing->mcast_parent && routing->mcast_vl < OSR_MAX_VLS &&
		 routing->mcast_vl == first->mcast_vl && !routing->sl == !first->sl));
}

/* ---- certificate ----------------------------------------------------------------------------- */

static void gate_most(int32_t *most, int32_t x)
{
	*most = x > *most ? x : *most;
}

/* The rank of what leaves switch s by port o on this lane; BAD if it is dropped. */
static int32_t gate_rank_on(const struct tab *tab, uint32_t s, uint32_t o, int32_t lane)
{
	const int32_t *hot = gate_hot(tab, s, o);

	return lane < hot[H_VLS] ? hot[H_RANK + lane] : BAD;
}

/* The same of what comes by this row on level q. */
static int32_t gate_rank(const struct tab *tab, int32_t row, uint32_t s, uint32_t o, int32_t q)
{
	return gate_rank_on(tab, s, o, tab->slots[(row + (int64_t)o) * tab->n_q + q]);
}

/*
 * Ranks as signed numbers in the same order. The two highest fall together, as in the other
 * checker.
 */
static void gate_ranks(const struct gate *gate, const struct tab *tab)
{
	const struct osr_fabric *fabric = gate->fabric;
	const uint32_t *rank = gate->gen[0]->rank;

	for (int32_t l = 0; l < tab->n_lane; l++)
		for (uint32_t c = 0; c < fabric->n_channels; c++, rank++) {
			int64_t signed_rank = (int64_t)*rank + INT32_MIN;

			gate_hot(tab, fabric->chan_src[c], fabric->chan_port[c])[H_RANK + l] =
				(int32_t)(signed_rank < BAD ? signed_rank : BAD - 1);
		}
}

/*
 * What comes by this row into switch s and leaves by port o has at most these ranks: `first` what
 * enters, `copies` multicast, which does not go back.
 */
static void gate_bound(const struct tab *tab, int32_t row, uint32_t s, bool enters, int32_t back)
{
	for (uint32_t o = 0; o < (uint32_t)tab->n_port; o++) {
		int32_t *first = gate_hot(tab, s, o) + H_RANK + tab->n_lane;
		int32_t *copies = gate_cold(tab, s, o) + C_COPIES;

		for (int32_t q = 0; gate_hot(tab, s, o)[H_NEXT] >= 0 && q < tab->n_q; q++) {
			int32_t rank = gate_rank(tab, row, s, o, q);

			if (enters)
				gate_most(&first[q], rank);
			if ((int32_t)o != back)
				gate_most(&copies[q],
					  tab->m_lane < 0 ? rank
							  : gate_rank_on(tab, s, o, tab->m_lane));
		}
	}
}

static void gate_bounds(const struct gate *gate)
{
	const struct tab *tab = &gate->tab[0];
	uint32_t n_sw = gate->fabric->n_switches, n_port = (uint32_t)tab->n_port;

	for (uint32_t i = 0; i < n_sw * n_port; i++)
		for (int32_t q = 0; q < tab->n_q; q++)
			gate_hot(tab, 0, i)[H_RANK + tab->n_lane + q] =
				gate_cold(tab, 0, i)[C_COPIES + q] = INT32_MIN;
	for (unsigned x = 0; x < gate->n_gens; x++)
		for (uint32_t s = 0; s < n_sw; s++)
			for (uint32_t o = 0; o < n_port; o++) {
				const int32_t *hot = gate_hot(tab, s, o),
					      *cold = gate_cold(tab, s, o);

				if (cold[C_ENTER])
					gate_bound(&gate->tab[x], cold[C_ROW], s, true, -1);
				if (cold[C_TREE])
					gate_bound(&gate->tab[x], hot[H_ROW], (uint32_t)hot[H_NEXT],
						   false, cold[C_INTO]);
			}
}

static bool gate_meets(const struct gate *gate, uint32_t d, uint32_t s)
{
	const struct osr_fabric *fabric = gate->fabric;
	uint32_t home = fabric->dest_switch[d];

	return s != home && fabric->sw_component[s] == fabric->sw_component[home] &&
	       (fabric->sw_sources[s] || fabric->term_weight[fabric->dest_term[d]]);
}

/* What switch h asks switch s on, s may answer h on. */
static void gate_answers(const struct gate *gate)
{
	size_t n = gate->fabric->n_switches;

	OSR_EACH_DEST(d, gate->fabric)
		for (uint32_t h = 0; h < n; h++)
			if (gate->fabric->sw_sources[h] && gate_meets(gate, d, h))
				gate->tab[0].k_answers[h * n + gate->fabric->dest_switch[d]] |=
					gate_levels(gate, d, h);
}

/* Where switch s sends on to; -1: nowhere. */
static int32_t gate_to(const struct gate *gate, const struct row *row, int32_t s)
{
	uint32_t c = osr_port_channel(gate->fabric, (uint32_t)s, row->lft[s]);

	return c == OSR_NONE ? -1 : (int32_t)gate->fabric->chan_dst[c];
}

/* Levels of packets that enter at switch s. */
static unsigned gate_own(const struct gate *gate, const struct row *row, int32_t s)
{
	const struct tab *tab = &gate->tab[0];
	unsigned own = row->levels[s];

	if (!gate_meets(gate, (uint32_t)row->dest, (uint32_t)s))
		return 0;
	if (tab->f_replies && row->f_host && tab->sws[2 * row->r_home + 1])
		own |= tab->k_answers[(size_t)row->r_home * (size_t)tab->n_sw + (size_t)s];
	return own;
}

/* Which levels pass where: those that enter, carried along the entries of all generations. */
static void gate_pass(const struct gate *gate, struct share *mine)
{
	const struct row *row = &mine->row[0];
	uint16_t *pass = row->k_pass;
	int32_t *top = mine->stack;

	memset(pass, 0, (size_t)gate->tab[0].n_sw * sizeof(*pass));
	for (int32_t s = 0; s < gate->tab[0].n_sw; s++) {
		unsigned own = gate_own(gate, row, s);

		if (own & ~pass[s])
			*top++ = s;
		pass[s] |= (uint16_t)own;
		while (top > mine->stack) {
			int32_t at = *--top;

			for (unsigned x = 0; x < gate->n_gens; x++) {
				int32_t to = gate_to(gate, &mine->row[x], at);

				if (to < 0 || !(pass[at] & ~pass[to]))
					continue;
				pass[to] |= pass[at];
				*top++ = to;
			}
		}
	}
}

/*
 * The highest rank of what packets hold that leave each switch by the entries of each generation:
 * what enters there, and what comes from others by those of any.
 */
static void gate_held(const struct gate *gate, const struct share *mine)
{
	const struct tab *tab = &gate->tab[0];
	const struct row *row = mine->row;

	for (unsigned x = 0; x < gate->n_gens; x++)
		for (int64_t i = 0; i < (int64_t)tab->n_q * tab->n_sw; i++)
			row[x].k_held[i] = INT32_MIN;
	for (int32_t s = 0; s < tab->n_sw; s++) {
		unsigned own = row->k_pass == gate->every ? ~0u : gate_own(gate, row, s);

		for (unsigned y = 0; y < gate->n_gens; y++) {
			int32_t v = gate_to(gate, &row[y], s);
			const int32_t *hot;

			if (v < 0)
				continue;
			hot = gate_hot(tab, (uint32_t)s, row[y].lft[s]);
			for (int32_t q = 0; q < tab->n_q; q++)
				if (own >> q & 1)
					gate_most(&row[y].k_held[(int64_t)q * tab->n_sw + s],
						  hot[H_RANK + tab->n_lane + q]);
			for (unsigned x = 0; x < gate->n_gens; x++) {
				uint32_t o = row[x].lft[v];
				bool on = gate_to(gate, &row[x], v) >= 0;

				for (int32_t q = 0; on && q < tab->n_q; q++)
					if (row->k_pass[s] >> q & 1)
						gate_most(
							&row[x].k_held[(int64_t)q * tab->n_sw + v],
							gate_rank(&gate->tab[x], hot[H_ROW],
								  (uint32_t)v, o, q));
			}
		}
	}
}

/*
 * dest_check() where something is known of the tables: the compiler leaves out what they do not
 * need. No value changes, for each is what was asked for.
 */
static __attribute__((noinline)) bool gate_check(struct tab tab, struct row r, struct row o)
{
	if (r.dest != o.dest)
		return dest_check(tab, r, o);
	if (tab.n_q > 1 || tab.f_replies)
		return dest_check(tab, r, r);
	tab.n_q = 1;
	tab.f_replies = 0;
	if (!tab.f_flat || tab.n_lane > 1 || tab.width != H_RANK + 2)
		return dest_check(tab, r, r);
	tab.f_flat = tab.n_lane = 1;
	tab.width = H_RANK + 2;
	return dest_check(tab, r, r);
}

/*
 * Do its entries lead home from everywhere, whatever else is claimed? The same program, asked about
 * a fabric with one lane where all send to this destination: a port's rank is the higher the fewer
 * hops are left, and 0 at least.
 */
static bool gate_delivers(const struct gate *gate, struct share *mine)
{
	struct row all = mine->row[0];

	all.f_host = true;
	all.k_pass = all.levels = gate->one;
	for (int32_t s = 0; s < gate->tab[0].n_sw; s++) {
		int32_t hops = 0;

		for (int32_t at = s; at >= 0 && at != all.r_home && hops <= gate->tab[0].n_sw;
		     hops++)
			at = gate_to(gate, &all, at);
		if (all.lft[s] < mine->alone.n_port)
			gate_hot(&mine->alone, (uint32_t)s, all.lft[s])[H_RANK] =
				mine->alone.n_sw - hops;
	}
	return gate_check(mine->alone, all, all);
}

/* ---- what a fault has left as it was --------------------------------------------------------- */

/*
 * The theorem `stays` of proved.mlw: a destination that was confirmed, and of which nothing has
 * changed that is looked at, is confirmed, with the marks and bounds of then. What is looked at:
 * switches, the entries, levels and answers of the destination, and the channels that its entries
 * use, with their ranks and the lanes of what comes by them.
 */

static bool gate_same(const void *now, size_t d, const void *then, size_t d_then, size_t size)
{
	return !now ||
	       !memcmp((const char *)now + d * size, (const char *)then + d_then * size, size);
}

/* Port 0 is asked again by itself: whether its entries lead home is more than the order says. */
static bool gate_stays(const struct gate *gate, uint32_t d)
{
	const struct osr_fabric *now = gate->fabric, *then = gate->then_f;
	const struct osr_routing *b = gate->then;
	uint32_t lid = now->dest_lid[d], was, term = now->dest_term[d], home = now->dest_switch[d];
	size_t n = now->n_switches;

	was = lid <= then->max_lid ? then->lid_dest[lid] : OSR_NONE;
	if (was == OSR_NONE || (gate->n_gens == 1 && !now->term_weight[term]) ||
	    now->term_weight[term] != then->term_weight[then->dest_term[was]] ||
	    home != then->dest_switch[was] ||
	    now->term_port[term] != then->term_port[then->dest_term[was]])
		return false;
	for (unsigned x = 0; x < gate->n_gens; x++) {
		const struct osr_routing *a = gate->gen[x];

		if (!gate_same(a->lft, d, b->lft, was, n) ||
		    (!gate->any &&
		     (!gate_same(a->sl, d, b->sl, was, n) ||
		      !gate_same(a->granted, d, b->granted, was, n * sizeof(*a->granted)))))
			return false;
	}
	for (uint32_t s = 0; s < n; s++) {
		uint8_t port = b->lft[was * n + s];

		if (port < gate->tab[0].n_port && gate->changed[gate_index(&gate->tab[0], s, port)])
			return false;
	}
	return !gate->answered[home];
}

/* ---- all together ---------------------------------------------------------------------------- */

static void gate_dest(void *ctx, uint32_t i, uint32_t d)
{
	struct gate *gate = ctx;
	struct share *mine = &gate->share[i];
	uint32_t seen = __atomic_load_n(&gate->refused, __ATOMIC_RELAXED);
	bool proven = true;

	if (d > seen || (gate->then && gate_stays(gate, d)))
		return;
	mine->judged++;
	gate_rows(gate, mine, d);
	if (gate->ranked && mine->row->k_pass != gate->every)
		gate_pass(gate, mine);
	if (gate->ranked && !gate->tab->f_flat)
		gate_held(gate, mine);
	for (unsigned y = 0; gate->ranked && y < gate->n_gens; y++)
		for (unsigned x = 0; proven && x < gate->n_gens; x++)
			proven = gate_check(gate->tab[x], mine->row[y], mine->row[x]);
	if (gate->n_gens == 1 && proven && !(gate->ranked && mine->row->f_host))
		proven = gate_delivers(gate, mine);
	while (!proven && d < seen &&
	       !__atomic_compare_exchange_n(&gate->refused, &seen, d, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

/* The arrays, filled, for n_parts threads. */
static enum osr_status gate_lay(struct gate *gate, uint32_t n_parts, struct osr_arena *scratch,
				struct osr_diag *diag)
{
	const struct osr_fabric *fabric = gate->fabric;
	struct tab *tab = &gate->tab[0];
	uint64_t n = fabric->n_switches, n_slot, n_q, ports, width;

	gate_claims(gate);
	n_q = (uint64_t)tab->n_q;
	tab->n_port = 1;
	OSR_EACH_SWITCH(s, fabric)
		if (fabric->sw_n_ports[s] >= tab->n_port)
			tab->n_port = fabric->sw_n_ports[s] + 1;
	ports = n * (uint64_t)tab->n_port;
	width = H_RANK + (uint64_t)tab->n_lane + n_q;
	n_slot = (uint64_t)tab->n_port + (tab->f_flat ? 0 : osr_n_sl2vl(fabric));
	if (n * n > BAD || n * n_q > BAD || 2 * (uint64_t)fabric->n_dests > BAD ||
	    ports * width > BAD || ports * (C_COPIES + n_q) > BAD || n_slot * n_q > BAD)
		return osr_fail(diag, OSR_NOT_PROVEN,
				"%s tables of %u switches, %u channels and %llu port pairs: they "
				"are too large for it",
				who, fabric->n_switches, fabric->n_channels,
				(unsigned long long)n_slot);
	tab->n_sw = (int32_t)n;
	tab->n_dest = (int32_t)(fabric->n_dests * gate->n_gens);
	tab->n_slot = (int32_t)n_slot;
	tab->width = (int32_t)width;
	tab->more = C_COPIES + tab->n_q;
	tab->hot = osr_calloc(scratch, ports, width * sizeof(*tab->hot));
	tab->cold = osr_calloc(scratch, ports, (size_t)tab->more * sizeof(*tab->cold));
	tab->sws = osr_calloc(scratch, n, 2 * sizeof(*tab->sws));
	tab->k_answers = osr_calloc(scratch, tab->f_replies ? n * n : 0, sizeof(*tab->k_answers));
	gate->tab[1] = *tab;
	for (unsigned x = 0; x < gate->n_gens; x++)
		gate->tab[x].slots = osr_calloc(scratch, n_slot, n_q);
	gate->one = osr_calloc(scratch, n, sizeof(*gate->one));
	gate->every = osr_calloc(scratch, n, sizeof(*gate->every));
	gate->share = osr_calloc(scratch, n_parts, sizeof(*gate->share));
	for (uint32_t i = 0; gate->share && i < n_parts; i++) {
		struct share *mine = &gate->share[i];

		mine->levels = osr_calloc(scratch, n, sizeof(*mine->levels));
		mine->pass = osr_calloc(scratch, n, sizeof(*mine->pass));
		mine->stack = osr_calloc(scratch, 16 * n, sizeof(*mine->stack));
		for (unsigned x = 0; x < gate->n_gens; x++)
			mine->row[x].k_held = osr_calloc(scratch, tab->f_flat ? 0 : n * n_q,
							 sizeof(*mine->row->k_held));
		mine->alone = *tab;
		mine->alone.f_replies = false;
		mine->alone.f_flat = true;
		mine->alone.n_lane = mine->alone.n_q = 1;
		mine->alone.m_lane = 0;
		mine->alone.width = H_RANK + 2;
		mine->alone.slots = osr_calloc(scratch, n_slot, 1);
		mine->alone.hot = osr_calloc(scratch, ports, (H_RANK + 2) * sizeof(*tab->hot));
		mine->alone.cold =
			osr_calloc(scratch, ports, (size_t)tab->more * sizeof(*tab->cold));
	}
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	OSR_EACH_SWITCH(s, fabric) {
		gate->one[s] = 1;
		gate->every[s] = (uint16_t)((1u << n_q) - 1);
	}
	gate_fabric(gate, tab);
	for (uint32_t i = 0; gate->share && i < n_parts; i++)
		gate_fabric(gate, &gate->share[i].alone);
	for (unsigned x = 0; x < gate->n_gens; x++)
		gate_lanes(gate, x);
	if (gate->ranked) {
		gate_ranks(gate, tab);
		gate_bounds(gate);
	}
	if (tab->f_replies)
		gate_answers(gate);
	return OSR_OK;
}

/* Are switches, levels, lanes and claims those of before? Then ports and rows compare. */
static bool gate_compares(const struct gate *gate, const struct gate *before)
{
	const struct tab *now = &gate->tab[0], *then = &before->tab[0];
	size_t n = gate->fabric->n_switches;

	return before->ranked && now->n_sw == then->n_sw && now->n_port == then->n_port &&
	       now->n_slot == then->n_slot && now->n_lane == then->n_lane &&
	       now->n_q == then->n_q && gate->any == before->any &&
	       now->f_replies == then->f_replies && now->f_flat == then->f_flat &&
	       !gate->gen[0]->granted == !before->gen[0]->granted &&
	       !memcmp(gate->fabric->sw_guid, before->fabric->sw_guid,
		       n * sizeof(*gate->fabric->sw_guid)) &&
	       !memcmp(now->sws, then->sws, n * 2 * sizeof(*now->sws));
}

/*
 * What is known of the same order: of one generation what was confirmed before, laid out the same
 * way; of a mixture what its tables of today say by themselves, with the lanes of today. gate->then
 * is NULL where it does not help.
 */
static enum osr_status gate_remember(struct gate *gate, const struct osr_result *result,
				     struct osr_arena *scratch, struct osr_diag *diag)
{
	const struct tab *now = &gate->tab[0], *then = &gate->tab[1];
	size_t n = gate->fabric->n_switches, n_port = (size_t)now->n_port, n_q = (size_t)now->n_q;
	struct gate before;
	enum osr_status st;

	gate->changed = osr_calloc(scratch, n * n_port, 1);
	gate->answered = osr_calloc(scratch, n, 1);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	if (gate->n_gens > 1 && !gate->any)
		gate->then = NULL;
	if (gate->n_gens == 1 && gate->ranked && result && result->confirmed &&
	    osr_routing_digest(&result->fabric, &result->routing) == result->digest) {
		before = (struct gate){ .fabric = &result->fabric,
					.gen = { &result->routing },
					.n_gens = 1,
					.claims = result->routing.claims };
		st = gate_lay(&before, 0, scratch, diag);
		if (st == OSR_NOMEM)
			return st;
		if (!st && gate_compares(gate, &before)) {
			gate->then_f = before.fabric;
			gate->then = before.gen[0];
			then = &before.tab[0];
		}
		for (size_t i = 0; gate->then && now->f_replies && i < n * n; i++)
			if (now->k_answers[i] != then->k_answers[i])
				gate->answered[i / n] = gate->answered[i % n] = 1;
	}
	/* Which ports have another rank or bound, or lead to other lanes? */
	for (size_t i = 0; gate->then && i < n * n_port; i++) {
		const int32_t *hot = now->hot + i * (size_t)now->width;
		size_t slot = (size_t)hot[H_ROW] * n_q;

		gate->changed[i] = memcmp(hot, then->hot + i * (size_t)now->width,
					  (size_t)now->width * sizeof(*hot)) ||
				   memcmp(now->slots + slot, then->slots + slot, n_port * n_q);
	}
	/* And on which does something enter on other lanes? */
	for (size_t i = 0; gate->then && !now->f_flat && i < n * n_port * n_port; i++) {
		const int32_t *cold = now->cold + i / n_port * (size_t)now->more;
		size_t slot = ((size_t)cold[C_ROW] + i % n_port) * n_q;

		if (cold[C_ENTER] && memcmp(now->slots + slot, then->slots + slot, n_q))
			gate->changed[i / n_port / n_port * n_port + i % n_port] = 1;
	}
	return OSR_OK;
}

static enum osr_status gate_ask(struct gate *gate, const struct osr_result *result,
				struct osr_arena *scratch, uint32_t *n_judged,
				struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n_parts = osr_threads_parts(scratch, (uint64_t)gate->fabric->n_dests *
							      gate->fabric->n_switches);
	enum osr_status st = OSR_OK;
	bool wired = true;

	gate->refused = OSR_NONE;
	gate->claims = gate->gen[0]->claims;
	for (unsigned x = 0; x < gate->n_gens; x++)
		if (!gate_fits(gate, gate->gen[x]))
			st = osr_fail(diag, OSR_NOT_PROVEN,
				      "%s tables of another fabric or half a claim", who);
	if (!st)
		st = gate_lay(gate, n_parts, scratch, diag);
	if (!st)
		st = gate_remember(gate, result, scratch, diag);
	for (unsigned x = 0; !st && x < gate->n_gens; x++)
		wired &= wired_check(gate->tab[x]) && (!gate->ranked || fabric_check(gate->tab[x]));
	for (uint32_t i = 0; !st && i < n_parts; i++)
		wired &= wired_check(gate->share[i].alone);
	if (!st && !wired)
		st = osr_fail(diag, OSR_NOT_PROVEN, "%s %s", who,
			      gate->claims & OSR_CLAIM_MULTICAST
				      ? "multicast, or how the fabric is wired"
				      : "how the fabric is wired");
	if (!st)
		osr_threads_share(scratch, gate_dest, gate, n_parts, gate->fabric->n_dests);
	if (!st && gate->refused != OSR_NONE)
		st = osr_fail(diag, OSR_NOT_PROVEN, "%s the routes to LID %u", who,
			      gate->fabric->dest_lid[gate->refused]);
	for (uint32_t i = 0; n_judged && !st && i < n_parts; i++)
		*n_judged = (i ? *n_judged : 0) + gate->share[i].judged;
	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_gate_again(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       const struct osr_result *result, struct osr_arena *scratch,
			       uint32_t *n_judged, struct osr_diag *diag)
{
	struct gate gate = { .fabric = fabric, .gen = { routing }, .n_gens = 1 };

	return gate_ask(&gate, result, scratch, n_judged, diag);
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
	struct gate gate = { .fabric = fabric,
			     .gen = { routing, old },
			     .n_gens = 2,
			     .then_f = fabric,
			     .then = certified };

	return gate_ask(&gate, NULL, scratch, n_judged, diag);
}
