/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For each destination: the SLs that enter at every switch, pushed along all its out ports (one for
 * each generation) until nothing changes, and a turn marked for every pair of channels in a row.
 * Then a search for a cycle (union_loop.c), and if there is one, everything once more to find a
 * packet for each of its steps.
 *
 * Where one SL2VL table serves the whole fabric (VL = SL, or what OpenSM programs by default) a
 * packet keeps its VL, and sets of SLs are all that has to be pushed. Otherwise the VLs of every SL
 * are kept for every channel of the destination.
 */
#include "union_private.h"

#include <string.h>

struct run {
	const struct osr_fabric *f;
	const struct osr_generation *gen;
	uint32_t n;
	uint32_t modes;
	struct turns turns;
	struct senders senders;

	uint8_t fold[16];       /* VL of an SL, if one table serves all */
	uint16_t (*entry)[16];  /* [n_ports] VLs of what end ports send out of a port; if not */
	uint16_t (*vls[2])[16]; /* [n_switches] VLs of every SL on out[g][s] */

	uint32_t *out[2]; /* [n_switches] channel of the entry, OSR_NONE; two never equal */
	uint16_t *mask;   /* [n_switches] SLs that pass; folded to VLs */
	uint32_t *n_in;
	uint32_t *queue;
	bool *queued;

	struct osr_loop_step *step; /* to be explained */
	uint32_t n_steps, n_unexplained;
};

static enum osr_status nomem(struct osr_diag *diag, const struct osr_fabric *f)
{
	return osr_fail(diag, OSR_NOMEM,
			"out of memory while looking for credit loops of %u switches and %u LIDs",
			f->n_switches, f->n_dests);
}

/* ---- SL2VL ---------------------------------------------------------------------------------- */

static unsigned map_vl(const struct run *u, uint32_t g, uint32_t s, unsigned in, unsigned out,
		       unsigned sl)
{
	const struct osr_routing *r = u->gen[g].routing;
	size_t pair = in * ((size_t)u->f->sw_n_ports[s] + 1) + out;

	return r->sl2vl ? r->sl2vl[r->sl2vl_row[s] + pair][sl] : sl;
}

/* VL15 is no data lane: a switch drops what is mapped to it. OSR_VL_UNSET adds nothing either. */
static uint16_t vl_bits(const struct run *u, uint32_t s, unsigned in, unsigned out, unsigned sl)
{
	unsigned bits = 0;

	for (uint32_t g = 0; g < u->n; g++) {
		unsigned vl = map_vl(u, g, s, in, out, sl);

		bits |= vl < OSR_MAX_VLS ? 1u << vl : 0;
	}
	return (uint16_t)bits;
}

static bool is_end_port(const struct osr_fabric *f, uint32_t s, unsigned port)
{
	for (uint32_t t = f->term_row[s]; t < f->term_row[s + 1]; t++)
		if (f->term_port[t] == port)
			return true;
	return port == 0;
}

static bool carries(const struct osr_fabric *f, uint32_t s, unsigned port)
{
	return osr_port_channel(f, s, port) != OSR_NONE || is_end_port(f, s, port);
}

/*
 * Is the table of this pair of ports u->fold, for all generations? The first one becomes it. A row
 * that no generation has is not: nothing goes on by it, whatever the other rows say.
 */
static bool same_table(struct run *u, uint32_t s, unsigned in, unsigned out)
{
	for (unsigned sl = 0; sl < 16; sl++) {
		bool known = false;

		for (uint32_t g = 0; g < u->n; g++) {
			unsigned vl = map_vl(u, g, s, in, out, sl);

			known |= vl != OSR_VL_UNSET;
			if (u->fold[sl] == OSR_VL_UNSET)
				u->fold[sl] = (uint8_t)vl;
			if (vl != u->fold[sl] && vl != OSR_VL_UNSET)
				return false;
		}
		if (!known)
			return false;
	}
	return true;
}

/* One table for all ports that packets between switches use? It becomes u->fold. */
static bool fold_tables(struct run *u)
{
	const struct osr_fabric *f = u->f;

	memset(u->fold, OSR_VL_UNSET, sizeof(u->fold));
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t s = f->chan_src[c];

		for (unsigned in = 0; in <= f->sw_n_ports[s]; in++)
			if (in != f->chan_port[c] && carries(f, s, in) &&
			    !same_table(u, s, in, f->chan_port[c]))
				return false;
	}
	return true;
}

/* VLs that packets of an SL have on the first channel, which leaves switch s by `port`. */
static void fill_entry(struct run *u, uint32_t s, unsigned port)
{
	const struct osr_fabric *f = u->f;
	uint16_t *entry = u->entry[f->port_row[s] + port];

	for (unsigned sl = 0; sl < 16; sl++) {
		entry[sl] = vl_bits(u, s, 0, port, sl);
		for (uint32_t t = f->term_row[s]; t < f->term_row[s + 1]; t++)
			entry[sl] |= vl_bits(u, s, f->term_port[t], port, sl);
	}
}

static uint16_t fold_sls(const struct run *u, unsigned sls)
{
	unsigned vls = 0;

	for (; sls; sls &= sls - 1) {
		unsigned vl = u->fold[__builtin_ctz(sls)];

		vls |= vl < OSR_MAX_VLS ? 1u << vl : 0;
	}
	return (uint16_t)vls;
}

/* ---- one destination ------------------------------------------------------------------------ */

static void load_entries(struct run *u, uint32_t d)
{
	const struct osr_fabric *f = u->f;

	for (uint32_t g = 0; g < u->n; g++) {
		const uint8_t *row = u->gen[g].routing->lft + (size_t)d * f->n_switches;
		uint32_t *out = u->out[g];

		for (uint32_t s = 0; s < f->n_switches; s++) {
			uint32_t c = osr_port_channel(f, s, row[s]);

			out[s] = g && c == u->out[0][s] ? OSR_NONE : c;
		}
	}
}

static void count_in(struct run *u)
{
	const struct osr_fabric *f = u->f;

	memset(u->n_in, 0, f->n_switches * sizeof(*u->n_in));
	for (uint32_t g = 0; g < u->n; g++)
		for (uint32_t s = 0; s < f->n_switches; s++)
			if (u->out[g][s] != OSR_NONE)
				u->n_in[f->chan_dst[u->out[g][s]]]++;
}

/* The same VLs from everywhere, as to a host where one lane serves all: there is nothing to spread. */
static bool all_alike(const struct run *u)
{
	for (uint32_t s = 1; s < u->f->n_switches; s++)
		if (u->mask[s] != u->mask[0])
			return false;
	return !u->turns.moves;
}

/* What is on channel c = out[g][s] goes on to everything that leaves the next switch. */
static bool push_vls(struct run *u, uint32_t s, uint32_t g, uint32_t c)
{
	const struct osr_fabric *f = u->f;
	uint32_t next = f->chan_dst[c];
	unsigned in = f->chan_port[f->chan_rev[c]];
	bool news = false;

	for (uint32_t h = 0; h < u->n; h++) {
		uint32_t on = u->out[h][next];

		for (unsigned sl = 0; on != OSR_NONE && sl < 16; sl++) {
			uint16_t *to = &u->vls[h][next][sl], bits;

			if (!u->vls[g][s][sl])
				continue;
			bits = vl_bits(u, next, in, f->chan_port[on], sl);
			news |= (*to | bits) != *to;
			*to |= bits;
		}
	}
	return news;
}

static bool push_mask(struct run *u, uint32_t s, uint32_t next)
{
	uint16_t before = u->mask[next];

	u->mask[next] |= u->mask[s];
	return u->mask[next] != before;
}

static void start_packets(struct run *u, const uint16_t *inject)
{
	const struct osr_fabric *f = u->f;

	if (!u->turns.moves) {
		for (uint32_t s = 0; s < f->n_switches; s++)
			u->mask[s] = inject[s] ? fold_sls(u, inject[s]) : 0;
		return;
	}
	for (uint32_t g = 0; g < u->n; g++)
		for (uint32_t s = 0; s < f->n_switches; s++) {
			uint32_t c = u->out[g][s];

			for (unsigned sl = 0; sl < 16; sl++)
				u->vls[g][s][sl] =
					c != OSR_NONE && inject[s] >> sl & 1
						? u->entry[f->port_row[s] + f->chan_port[c]][sl]
						: 0;
		}
}

/* From s on; true for a next switch that has something new. */
static bool push(struct run *u, uint32_t s, uint32_t g, uint32_t c)
{
	return u->turns.moves ? push_vls(u, s, g, c) : push_mask(u, s, u->f->chan_dst[c]);
}

/*
 * Upstream switches first. Those that are left form loops, or lie behind one: they are pushed until
 * nothing is new.
 */
static void spread(struct run *u)
{
	const struct osr_fabric *f = u->f;
	uint32_t head = 0, tail = 0, n = f->n_switches, n_waiting;

	for (uint32_t s = 0; s < n; s++)
		if (u->n_in[s] == 0)
			u->queue[tail++] = s;
	while (head < tail) {
		uint32_t s = u->queue[head++];

		for (uint32_t g = 0; g < u->n; g++) {
			uint32_t c = u->out[g][s];

			if (c == OSR_NONE)
				continue;
			push(u, s, g, c);
			if (--u->n_in[f->chan_dst[c]] == 0)
				u->queue[tail++] = f->chan_dst[c];
		}
	}
	if (tail == n)
		return;
	/* A ring buffer: nobody is in it twice. */
	for (uint32_t s = head = tail = 0; s < n; s++) {
		u->queued[s] = u->n_in[s] != 0;
		if (u->queued[s])
			u->queue[tail++] = s;
	}
	for (n_waiting = tail, tail %= n; n_waiting; n_waiting--) {
		uint32_t s = u->queue[head];

		head = (head + 1) % n;
		u->queued[s] = false;
		for (uint32_t g = 0; g < u->n; g++) {
			uint32_t c = u->out[g][s];

			if (c == OSR_NONE || !push(u, s, g, c) || u->queued[f->chan_dst[c]])
				continue;
			u->queued[f->chan_dst[c]] = true;
			u->queue[tail] = f->chan_dst[c];
			tail = (tail + 1) % n;
			n_waiting++;
		}
	}
}

static void mark_vls(struct run *u, uint32_t g, uint32_t c, uint32_t on)
{
	const struct osr_fabric *f = u->f;
	uint32_t s = f->chan_src[c], next = f->chan_dst[c];
	size_t turn = u->turns.slot[c] + f->chan_port[on];

	for (unsigned sl = 0; sl < 16; sl++) {
		unsigned from = u->vls[g][s][sl], to;

		if (!from)
			continue;
		to = vl_bits(u, next, f->chan_port[f->chan_rev[c]], f->chan_port[on], sl);
		for (; from && to; from &= from - 1)
			u->turns.vls[turn * OSR_MAX_VLS + __builtin_ctz(from)] |= to;
	}
}

static void mark_turns(struct run *u)
{
	const struct osr_fabric *f = u->f;

	for (uint32_t g = 0; g < u->n; g++)
		for (uint32_t s = 0; s < f->n_switches; s++) {
			uint32_t c = u->out[g][s];

			for (uint32_t h = 0; c != OSR_NONE && h < u->n; h++) {
				uint32_t on = u->out[h][f->chan_dst[c]];

				if (on == OSR_NONE)
					continue;
				if (u->turns.moves)
					mark_vls(u, g, c, on);
				else
					u->turns.vls[u->turns.slot[c] + f->chan_port[on]] |=
						u->mask[s];
			}
		}
}

/* ---- a packet for each step of a loop ------------------------------------------------------- */

/* The SL on which packets of the current destination hold `a` and wait for `b`, or 16. */
static unsigned sl_of_step(const struct run *u, const struct osr_loop_step *a,
			   const struct osr_loop_step *b)
{
	const struct osr_fabric *f = u->f;
	uint32_t s = f->chan_src[a->channel], next = f->chan_dst[a->channel];
	unsigned in = f->chan_port[f->chan_rev[a->channel]], sl;
	uint32_t g = 0, h = 0;

	while (g < u->n && u->out[g][s] != a->channel)
		g++;
	while (h < u->n && u->out[h][next] != b->channel)
		h++;
	if (g == u->n || h == u->n)
		return 16;
	for (sl = 0; sl < 16; sl++) {
		if (!u->turns.moves && u->fold[sl] == a->vl && u->mask[s] >> a->vl & 1)
			break;
		if (u->turns.moves && u->vls[g][s][sl] >> a->vl & 1 &&
		    vl_bits(u, next, in, f->chan_port[b->channel], sl) >> b->vl & 1)
			break;
	}
	return sl;
}

static void explain(struct run *u, uint32_t d)
{
	for (uint32_t i = 0; i < u->n_steps; i++) {
		struct osr_loop_step *step = &u->step[i];
		unsigned sl;

		if (step->lid)
			continue;
		sl = sl_of_step(u, step, &u->step[(i + 1) % u->n_steps]);
		if (sl == 16)
			continue;
		step->sl = (uint8_t)sl;
		step->lid = u->f->dest_lid[d];
		u->n_unexplained--;
	}
}

static void follow_all(struct run *u)
{
	const struct osr_fabric *f = u->f;

	for (uint32_t first = 0; first < f->n_dests; first += SENDERS_BATCH) {
		uint32_t n =
			f->n_dests - first < SENDERS_BATCH ? f->n_dests - first : SENDERS_BATCH;

		osr__senders_collect(&u->senders, first, n);
		for (uint32_t j = 0; j < n; j++) {
			load_entries(u, first + j);
			start_packets(u, u->senders.inject + (size_t)j * f->n_switches);
			if (!all_alike(u)) {
				count_in(u);
				spread(u);
			}
			if (!u->step)
				mark_turns(u);
			else
				explain(u, first + j);
			if (u->step && !u->n_unexplained)
				return;
		}
	}
}

/* ---- multicast ------------------------------------------------------------------------------ */

static void add_turn(struct run *u, uint32_t c, unsigned from, uint32_t on, unsigned to)
{
	size_t turn = u->turns.slot[c] + u->f->chan_port[on];

	if (!u->turns.moves) {
		u->turns.vls[turn] |= (uint16_t)from;
		return;
	}
	for (; from; from &= from - 1)
		u->turns.vls[turn * OSR_MAX_VLS + __builtin_ctz(from)] |= (uint16_t)to;
}

/*
 * Where the loop has this turn and no unicast packet takes it, it is for multicast. lid 0 is left to
 * the spanning order, which has no MLID.
 */
static void explain_mcast(struct run *u, uint32_t c, unsigned from, uint32_t on, unsigned to,
			  uint16_t mlid, uint8_t sl)
{
	for (uint32_t i = 0; i < u->n_steps; i++) {
		struct osr_loop_step *a = &u->step[i], *b = &u->step[(i + 1) % u->n_steps];

		if (a->lid || a->channel != c || b->channel != on || !(from >> a->vl & 1) ||
		    !(to >> b->vl & 1))
			continue;
		a->lid = mlid;
		a->sl = sl;
		u->n_unexplained--;
	}
}

static void turn_mcast(struct run *u, uint32_t c, unsigned from, uint32_t on, unsigned to,
		       uint16_t mlid, uint8_t sl)
{
	if (u->step)
		explain_mcast(u, c, from, on, to, mlid, sl);
	else
		add_turn(u, c, from, on, to);
}

static bool in_order(const struct osr_generation *gen, const struct osr_fabric *f, uint32_t c)
{
	const uint32_t *parent = gen->routing->mcast_parent;

	return !gen->groups && parent &&
	       (parent[f->chan_src[c]] == c || parent[f->chan_dst[c]] == f->chan_rev[c]);
}

/* VLs of the packets of an SL on tree link c: from end ports, and from the other tree links. */
static unsigned order_vls(const struct run *u, uint32_t c, unsigned sl)
{
	const struct osr_fabric *f = u->f;
	uint32_t s = f->chan_src[c];
	unsigned vls = 0;

	for (unsigned in = 0; in <= f->sw_n_ports[s]; in++) {
		uint32_t from = osr_port_channel(f, s, in);
		bool sends = from == OSR_NONE && is_end_port(f, s, in);

		for (uint32_t g = 0; from != OSR_NONE && from != c && g < u->n; g++)
			sends |= in_order(&u->gen[g], f, f->chan_rev[from]);
		vls |= sends ? vl_bits(u, s, in, f->chan_port[c], sl) : 0;
	}
	return vls;
}

/* The same where the lane of the next hop depends on the turn, and senders choose the SL. */
static void follow_link_by_tables(struct run *u, uint32_t in, uint32_t on)
{
	const struct osr_fabric *f = u->f;

	for (uint8_t sl = 0; sl < 16; sl++)
		turn_mcast(u, in, order_vls(u, in, sl), on,
			   vl_bits(u, f->chan_src[on], f->chan_port[f->chan_rev[in]],
				   f->chan_port[on], sl),
			   0, sl);
}

/*
 * A packet on tree link `in` of one generation goes on by tree link `on` of any. Where senders choose
 * any SL, those of multicast may, too.
 */
static void follow_link(struct run *u, uint32_t in, uint32_t on)
{
	for (uint32_t g = 0; g < u->n; g++)
		for (uint32_t h = 0; h < u->n; h++) {
			uint8_t from = u->gen[g].routing->mcast_vl,
				to = u->gen[h].routing->mcast_vl;

			if (!in_order(&u->gen[g], u->f, in) || !in_order(&u->gen[h], u->f, on))
				continue;
			if (u->turns.moves && osr__any_sl(&u->senders, g))
				follow_link_by_tables(u, in, on);
			else if (!u->turns.moves && osr__any_sl(&u->senders, g))
				turn_mcast(u, in, fold_sls(u, 0xffff), on, fold_sls(u, 0xffff), 0,
					   0);
			else if (u->turns.moves || from == to)
				turn_mcast(u, in, 1u << from, on, 1u << to, 0, from);
		}
}

/* A copy leaves by every tree link, of either generation, but the one the packet came by. */
static void follow_order(struct run *u)
{
	const struct osr_fabric *f = u->f;

	for (uint32_t s = 0; s < f->n_switches; s++)
		for (uint32_t a = f->chan_row[s]; a < f->chan_row[s + 1]; a++)
			for (uint32_t b = f->chan_row[s]; b < f->chan_row[s + 1]; b++)
				if (a != b)
					follow_link(u, f->chan_rev[a], b);
}

/* Does any generation send this group's packets out of this port? */
static bool sends_to(const struct run *u, const uint32_t at[2], uint32_t s, unsigned port)
{
	for (uint32_t g = 0; g < u->n; g++) {
		const struct osr_groups *m = u->gen[g].groups;

		if (at[g] != OSR_NONE &&
		    m->ports[(size_t)at[g] * u->f->n_switches + s][port / 64] >> port % 64 & 1)
			return true;
	}
	return false;
}

/* VLs of the group's packets that leave switch s by `port`: from end ports and tree channels. */
static unsigned group_vls(const struct run *u, const uint32_t at[2], uint32_t s, unsigned port,
			  unsigned sl)
{
	const struct osr_fabric *f = u->f;
	unsigned vls = 0;

	if (!u->turns.moves)
		return fold_sls(u, 1u << sl);
	for (unsigned in = 0; in <= f->sw_n_ports[s]; in++) {
		uint32_t c = osr_port_channel(f, s, in);

		if (in != port &&
		    (c == OSR_NONE ? is_end_port(f, s, in)
				   : sends_to(u, at, f->chan_dst[c], f->chan_port[f->chan_rev[c]])))
			vls |= vl_bits(u, s, in, port, sl);
	}
	return vls;
}

static void follow_group(struct run *u, const uint32_t at[2], uint16_t mlid, uint8_t sl)
{
	const struct osr_fabric *f = u->f;

	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t next = f->chan_dst[c];
		unsigned in = f->chan_port[f->chan_rev[c]], from;

		if (!sends_to(u, at, f->chan_src[c], f->chan_port[c]))
			continue;
		from = group_vls(u, at, f->chan_src[c], f->chan_port[c], sl);
		for (uint32_t on = f->chan_row[next]; on < f->chan_row[next + 1]; on++) {
			unsigned port = f->chan_port[on];

			if (port == in || !sends_to(u, at, next, port))
				continue;
			turn_mcast(u, c, from, on,
				   u->turns.moves ? vl_bits(u, next, in, port, sl) : from, mlid,
				   sl);
		}
	}
}

/* The groups of both generations in the order of their MLIDs. */
static void follow_groups(struct run *u)
{
	uint32_t next[2] = { 0, 0 };

	for (;;) {
		uint32_t at[2] = { OSR_NONE, OSR_NONE };
		uint16_t mlid = UINT16_MAX;
		bool some = false;

		for (uint32_t g = 0; g < u->n; g++) {
			const struct osr_groups *m = u->gen[g].groups;

			if (!m || next[g] == m->n || (some && m->mlid[next[g]] >= mlid))
				continue;
			mlid = m->mlid[next[g]];
			some = true;
		}
		if (!some)
			return;
		for (uint32_t g = 0; g < u->n; g++) {
			const struct osr_groups *m = u->gen[g].groups;

			if (m && next[g] < m->n && m->mlid[next[g]] == mlid)
				at[g] = next[g]++;
		}
		for (uint32_t g = 0; g < u->n; g++)
			if (at[g] != OSR_NONE && (g == 0 || at[0] == OSR_NONE ||
						  u->gen[0].groups->sl != u->gen[1].groups->sl))
				follow_group(u, at, mlid, u->gen[g].groups->sl);
	}
}

static void follow(struct run *u)
{
	follow_all(u);
	if (!(u->modes & OSR_CLAIM_MULTICAST) || (u->step && !u->n_unexplained))
		return;
	follow_groups(u);
	follow_order(u);
}

/* ---- all together --------------------------------------------------------------------------- */

static bool alloc_turns(struct run *u, struct osr_arena *scratch)
{
	const struct osr_fabric *f = u->f;
	struct turns *t = &u->turns;

	t->f = f;
	t->moves = !fold_tables(u);
	t->slot = osr_alloc(scratch, f->n_channels, sizeof(*t->slot));
	for (uint32_t c = 0; t->slot && c < f->n_channels; c++) {
		t->slot[c] = t->n_slots;
		t->n_slots += f->sw_n_ports[f->chan_dst[c]] + 1u;
	}
	t->vls = osr_calloc(scratch, t->n_slots, (t->moves ? OSR_MAX_VLS : 1) * sizeof(*t->vls));
	return t->slot && t->vls;
}

static bool alloc_entries(struct run *u, struct osr_arena *scratch)
{
	const struct osr_fabric *f = u->f;

	u->entry = osr_alloc(scratch, f->n_ports, sizeof(*u->entry));
	for (uint32_t s = 0; u->entry && s < f->n_switches; s++)
		for (unsigned port = 0; port <= f->sw_n_ports[s]; port++)
			fill_entry(u, s, port);
	for (uint32_t g = 0; g < u->n; g++) {
		u->vls[g] = osr_alloc(scratch, f->n_switches, sizeof(*u->vls[g]));
		if (!u->vls[g])
			return false;
	}
	return u->entry != NULL;
}

static bool prepare(struct run *u, struct osr_arena *scratch)
{
	size_t n = u->f->n_switches;

	if (!alloc_turns(u, scratch) || !osr__senders_init(&u->senders, scratch) ||
	    (u->turns.moves && !alloc_entries(u, scratch)))
		return false;
	for (uint32_t g = 0; g < u->n; g++) {
		u->out[g] = osr_alloc(scratch, n, sizeof(*u->out[g]));
		if (!u->out[g])
			return false;
	}
	u->mask = osr_alloc(scratch, n, sizeof(*u->mask));
	u->n_in = osr_alloc(scratch, n, sizeof(*u->n_in));
	u->queue = osr_alloc(scratch, n, sizeof(*u->queue));
	u->queued = osr_alloc(scratch, n, sizeof(*u->queued));
	return u->mask && u->n_in && u->queue && u->queued;
}

static bool fits(const struct osr_fabric *f, const struct osr_routing *r)
{
	return r->lft && r->n_switches == f->n_switches && r->n_dests == f->n_dests &&
	       r->n_channels == f->n_channels && (!r->sl2vl || r->sl2vl_row);
}

static bool run(struct run *u, struct osr_arena *scratch, struct osr_arena *result,
		struct osr_loop *loop, uint32_t *rank)
{
	if (!prepare(u, scratch))
		return false;
	follow(u);
	if (!osr__union_search(&u->turns, scratch, result, &u->step, &u->n_steps, rank))
		return false;
	u->n_unexplained = u->n_steps;
	if (u->n_steps)
		follow(u);
	loop->n = u->n_steps;
	loop->step = u->step;
	return true;
}

enum osr_status osr_union_loop(const struct osr_fabric *f, const struct osr_generation *gen,
			       uint32_t n, uint32_t modes, struct osr_arena *scratch,
			       struct osr_arena *result, struct osr_loop *loop, uint32_t *rank,
			       struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct run u = { .f = f,
			 .gen = gen,
			 .n = n,
			 .modes = modes,
			 .senders = { .f = f, .gen = gen, .n = n, .modes = modes } };
	bool ok;

	*loop = (struct osr_loop){ 0 };
	for (uint32_t g = 0; g < n; g++)
		if (!fits(f, gen[g].routing))
			return osr_fail(diag, OSR_INVAL, "the tables are for another fabric");
	ok = run(&u, scratch, result, loop, rank);
	osr_arena_reset(scratch, mark);
	return ok ? OSR_OK : nomem(diag, f);
}
