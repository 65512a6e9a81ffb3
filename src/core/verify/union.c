/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For each destination: the SLs that enter at every switch, pushed along all its out ports (one for
 * each generation) until nothing changes, and a turn taken for every pair of channels in a row. Turns are
 * marked, and a cycle of them is looked for (union_loop.c); if there is one, everything is followed once more
 * to find a packet for each of its steps. Or (osr_union_rises()) each turn must rise in a certificate.
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
	struct osr_groups groups[2]; /* of the generation, or its spanning order with MLID 0 */
	uint16_t group_sls[2];       /* of their packets */
	uint16_t order_vls;          /* of those on spanning orders that have a VL, not SLs */

	uint8_t fold[16];       /* VL of an SL, if one table serves all */
	uint16_t sls;           /* if not: SLs that are followed */
	uint16_t (*entry)[16];  /* [n_ports] VLs of what end ports send out of a port; if not */
	uint16_t (*vls[2])[16]; /* [n_switches] VLs of every SL on out[g][s] */

	uint32_t *out[2]; /* [n_switches] channel of the entry, OSR_NONE; two never equal */
	uint16_t *mask;   /* [n_switches] SLs that pass; folded to VLs */
	uint32_t *n_in;
	uint32_t *queue;
	bool *queued;
	bool circles; /* entries of some LID lead around, and no loop has been looked for since */

	/* Either a cycle is looked for, or the turns are to rise in a certificate. */
	const struct osr_routing *certified;
	bool *turned; /* [n_dests] a packet meets other lanes than in the certified tables */
	bool falls;   /* a turn does not rise */

	struct osr_loop_step *step; /* to be explained */
	uint32_t n_steps, n_unexplained;

	struct osr_arena *scratch, *result;
	bool no_memory;
};

/* ---- SL2VL ---------------------------------------------------------------------------------- */

static unsigned union_map_vl(const struct run *u, uint32_t g, uint32_t s, unsigned in, unsigned out,
			     unsigned sl)
{
	const struct osr_routing *routing = u->gen[g].routing;
	size_t pair = in * ((size_t)u->f->sw_n_ports[s] + 1) + out;

	return routing->sl2vl ? routing->sl2vl[routing->sl2vl_row[s] + pair][sl] : sl;
}

/* VL15 is no data lane: a switch drops what is mapped to it. OSR_VL_UNSET adds nothing either. */
static uint16_t vl_bits(const struct run *u, uint32_t s, unsigned in, unsigned out, unsigned sl)
{
	unsigned bits = 0;

	for (uint32_t g = 0; g < u->n; g++) {
		unsigned vl = union_map_vl(u, g, s, in, out, sl);

		bits |= vl < OSR_MAX_VLS ? 1u << vl : 0;
	}
	return (uint16_t)bits;
}

static bool union_is_end_port(const struct osr_fabric *fabric, uint32_t s, unsigned port)
{
	for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
		if (fabric->term_port[t] == port)
			return true;
	return port == 0;
}

/* Do packets that leave s come by this port? */
static bool union_comes(const struct osr_fabric *fabric, uint32_t s, unsigned port)
{
	return osr_port_channel(fabric, s, port) != OSR_NONE || union_is_end_port(fabric, s, port);
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
			unsigned vl = union_map_vl(u, g, s, in, out, sl);

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
	const struct osr_fabric *fabric = u->f;
	bool tables = u->gen[0].routing->sl2vl || u->gen[u->n - 1].routing->sl2vl;

	for (unsigned sl = 0; sl < 16; sl++)
		u->fold[sl] = tables ? OSR_VL_UNSET : (uint8_t)sl;
	for (uint32_t c = 0; tables && c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_src[c];

		for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
			if (in != fabric->chan_port[c] && union_comes(fabric, s, in) &&
			    !same_table(u, s, in, fabric->chan_port[c]))
				return false;
	}
	return true;
}

/* Bit b of differ[a], b < a: some row has other VLs for SLs a and b. Most rows have one VL for all, or are as the last. */
static void note_row(uint16_t differ[16], const uint8_t row[16], const uint8_t **last)
{
	if (!memcmp(row, row + 1, 15) || (*last && !memcmp(row, *last, 16)))
		return;
	*last = row;
	for (unsigned a = 0; a < 16; a++)
		for (unsigned b = 0; b < a; b++)
			differ[a] |= (uint16_t)((row[a] != row[b]) << b);
}

/*
 * Where all senders choose any SL, the lowest of each kind of SLs is followed: packets on SLs with the same lanes in
 * every row fare alike. Else all, for only some SLs may be sent.
 */
static uint16_t followed_sls(const struct run *u)
{
	static const uint8_t same[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	const struct osr_fabric *fabric = u->f;
	uint16_t differ[16] = { 0 }, kinds = 0;
	const uint8_t *last = NULL;

	for (uint32_t g = 0; g < u->n; g++)
		if (!osr__any_sl(&u->senders, g) || u->gen[g].any_sls)
			return 0xffff;
	for (uint32_t g = 0; g < u->n; g++) {
		const struct osr_routing *routing = u->gen[g].routing;

		if (!routing->sl2vl)
			note_row(differ, same, &last);
		for (uint32_t s = 0; routing->sl2vl && s < fabric->n_switches; s++) {
			size_t n_ports = fabric->sw_n_ports[s] + (size_t)1;

			for (size_t pair = 0; pair < n_ports * n_ports; pair++)
				note_row(differ, routing->sl2vl[routing->sl2vl_row[s] + pair],
					 &last);
		}
	}
	for (unsigned sl = 0; sl < 16; sl++)
		kinds |= (uint16_t)((differ[sl] == (1u << sl) - 1) << sl);
	return kinds;
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

/* ---- turns ---------------------------------------------------------------------------------- */

/* Packets on VL v of channel c wait for channel `on` on the VLs `to`: is that a step of the loop? */
static void explain_turn(struct run *u, uint32_t c, unsigned v, uint32_t on, unsigned to,
			 uint16_t lid, unsigned sl)
{
	for (uint32_t i = 0; i < u->n_steps; i++) {
		struct osr_loop_step *step = &u->step[i];
		const struct osr_loop_step *next = &u->step[(i + 1) % u->n_steps];

		if (step->sl != OSR_NO_SL || step->channel != c || step->vl != v ||
		    next->channel != on || !(to >> next->vl & 1))
			continue;
		step->sl = (uint8_t)sl;
		step->lid = lid;
		u->n_unexplained--;
	}
}

/* VLs that the certified tables do not use have no place in their certificate. */
static bool turn_rises(const struct run *u, uint32_t c, unsigned v, uint32_t on, unsigned to)
{
	const struct osr_routing *routing = u->certified;
	size_t n = u->f->n_channels;
	bool rises = !((to | 1u << v) >> routing->n_vls);

	for (; rises && to; to &= to - 1)
		rises = routing->rank[v * n + c] < routing->rank[__builtin_ctz(to) * n + on];
	return rises;
}

/*
 * Packets for this LID, of one of these SLs, are on the VLs `from` of channel c and go on by channel `on`: on
 * the VLs `to`, or, where one table serves all, as they are.
 */
static void take_turn(struct run *u, uint32_t c, unsigned from, uint32_t on, unsigned to,
		      uint16_t lid, unsigned sls)
{
	size_t turn = u->turns.slot[c] + u->f->chan_port[on];
	bool moves = u->turns.moves;

	u->turns.used |= (uint16_t)from;
	if (!moves && !u->certified && !u->step) {
		u->turns.vls[turn] |= (uint16_t)from;
		return;
	}
	for (; from && (to || !moves); from &= from - 1) {
		unsigned v = (unsigned)__builtin_ctz(from), onto = moves ? to : 1u << v;
		unsigned sl = (unsigned)__builtin_ctz(sls);

		while (!moves && sl < 15 && u->fold[sl] != v)
			sl++;
		if (u->step)
			explain_turn(u, c, v, on, onto, lid, sl);
		else if (u->certified)
			u->falls |= !turn_rises(u, c, v, on, onto);
		else
			u->turns.vls[turn * OSR_MAX_VLS + v] |= (uint16_t)onto;
	}
}

/* ---- one destination ------------------------------------------------------------------------ */

static void union_load_entries(struct run *u, uint32_t d)
{
	const struct osr_fabric *fabric = u->f;

	for (uint32_t g = 0; g < u->n; g++) {
		const uint8_t *row = u->gen[g].routing->lft + (size_t)d * fabric->n_switches;
		uint32_t *out = u->out[g];

		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			uint32_t c = osr_port_channel(fabric, s, row[s]);

			out[s] = g && c == u->out[0][s] ? OSR_NONE : c;
		}
	}
}

/* The same VLs from everywhere, as to a host where one lane serves all: there is nothing to spread. */
static bool all_alike(const struct run *u)
{
	for (uint32_t s = 1; !u->turns.moves && s < u->f->n_switches; s++)
		if (u->mask[s] != u->mask[0])
			return false;
	return !u->turns.moves;
}

static void start_packets(struct run *u, const uint16_t *inject)
{
	const struct osr_fabric *fabric = u->f;

	for (uint32_t s = 0; !u->turns.moves && s < fabric->n_switches; s++)
		u->mask[s] = inject[s] ? fold_sls(u, inject[s]) : 0;
	for (uint32_t g = 0; u->turns.moves && g < u->n; g++)
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			uint32_t c = u->out[g][s];

			for (unsigned sls = u->sls; sls; sls &= sls - 1) {
				unsigned sl = (unsigned)__builtin_ctz(sls);

				u->vls[g][s][sl] = c != OSR_NONE && inject[s] >> sl & 1
							   ? u->entry[fabric->port_row[s] +
								      fabric->chan_port[c]][sl]
							   : 0;
			}
		}
}

/* What is on channel c = out[g][s] goes on to everything that leaves the next switch: is any of it new? */
static bool union_push(struct run *u, uint32_t s, uint32_t g, uint32_t c)
{
	const struct osr_fabric *fabric = u->f;
	uint32_t next = fabric->chan_dst[c];
	unsigned in = fabric->chan_port[fabric->chan_rev[c]];
	bool news = false;

	if (!u->turns.moves) {
		news = u->mask[s] & ~u->mask[next];
		u->mask[next] |= u->mask[s];
	}
	for (uint32_t h = 0; u->turns.moves && h < u->n; h++) {
		uint32_t on = u->out[h][next];

		for (unsigned sls = u->sls; on != OSR_NONE && sls; sls &= sls - 1) {
			unsigned sl = (unsigned)__builtin_ctz(sls);
			uint16_t *to = &u->vls[h][next][sl], bits;

			if (!u->vls[g][s][sl])
				continue;
			bits = vl_bits(u, next, in, fabric->chan_port[on], sl);
			news |= (*to | bits) != *to;
			*to |= bits;
		}
	}
	return news;
}

/* Upstream switches first, each when all that comes to it is there. What is left has n_in. */
static uint32_t spread_trees(struct run *u)
{
	const struct osr_fabric *fabric = u->f;
	uint32_t tail = 0;

	memset(u->n_in, 0, fabric->n_switches * sizeof(*u->n_in));
	for (uint32_t g = 0; g < u->n; g++)
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			if (u->out[g][s] != OSR_NONE)
				u->n_in[fabric->chan_dst[u->out[g][s]]]++;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (u->n_in[s] == 0)
			u->queue[tail++] = s;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t s = u->queue[head];

		for (uint32_t g = 0; g < u->n; g++) {
			uint32_t c = u->out[g][s];

			if (c == OSR_NONE)
				continue;
			union_push(u, s, g, c);
			if (--u->n_in[fabric->chan_dst[c]] == 0)
				u->queue[tail++] = fabric->chan_dst[c];
		}
	}
	return tail;
}

/* Those that are left form loops, or lie behind one: they are pushed until nothing is new. */
static void union_spread(struct run *u)
{
	const struct osr_fabric *fabric = u->f;
	uint32_t head = 0, tail = 0, n = fabric->n_switches, n_waiting;

	if (spread_trees(u) == n)
		return;
	u->circles = true;
	/* A ring buffer: nobody is in it twice. */
	for (uint32_t s = 0; s < n; s++) {
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

			if (c == OSR_NONE || !union_push(u, s, g, c) ||
			    u->queued[fabric->chan_dst[c]])
				continue;
			u->queued[fabric->chan_dst[c]] = true;
			u->queue[tail] = fabric->chan_dst[c];
			tail = (tail + 1) % n;
			n_waiting++;
		}
	}
}

static void take_by_tables(struct run *u, uint32_t g, uint32_t c, uint32_t on, uint16_t lid)
{
	const struct osr_fabric *fabric = u->f;
	unsigned in = fabric->chan_port[fabric->chan_rev[c]];

	for (unsigned sls = u->sls; sls; sls &= sls - 1) {
		unsigned sl = (unsigned)__builtin_ctz(sls);
		unsigned from = u->vls[g][fabric->chan_src[c]][sl];

		if (from)
			take_turn(u, c, from, on,
				  vl_bits(u, fabric->chan_dst[c], in, fabric->chan_port[on], sl),
				  lid, 1u << sl);
	}
}

/* By each entry of a switch on by each one of the next. */
static void take_turns(struct run *u, uint32_t d)
{
	const struct osr_fabric *fabric = u->f;
	uint16_t lid = fabric->dest_lid[d];

	for (uint32_t g = 0; g < u->n; g++)
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			uint32_t c = u->out[g][s];

			for (uint32_t h = 0; c != OSR_NONE && h < u->n; h++) {
				uint32_t on = u->out[h][fabric->chan_dst[c]];

				if (on != OSR_NONE && u->turns.moves)
					take_by_tables(u, g, c, on, lid);
				else if (on != OSR_NONE)
					take_turn(u, c, u->mask[s], on, 0, lid, 0xffff);
			}
		}
}

/* A cycle of the turns marked so far: its channels and VLs in step[]. */
static void search_turns(struct run *u, uint32_t *rank)
{
	struct osr_arena_mark mark = osr_arena_mark(u->scratch);

	u->no_memory =
		!osr__union_search(&u->turns, u->scratch, u->result, &u->step, &u->n_steps, rank);
	u->n_unexplained = u->n_steps;
	osr_arena_reset(u->scratch, mark);
}

static bool rows_differ(const struct run *u, const struct osr_routing *a,
			const struct osr_routing *b, uint32_t d)
{
	size_t n = u->f->n_switches;

	return memcmp(a->lft + d * n, b->lft + d * n, n) != 0;
}

/*
 * First the LIDs whose entries change from one generation to the other, for there mostly is the loop, if there is
 * one; then the others. Entries and lanes that are the certified ones in every generation have no other turns.
 */
static bool is_to_follow(const struct run *u, uint32_t d, bool changes)
{
	const struct osr_routing *old = u->gen[0].routing, *now = u->gen[u->n - 1].routing;

	return rows_differ(u, old, now, d) == changes &&
	       (!u->certified || u->turned[d] || changes || rows_differ(u, now, u->certified, d));
}

/*
 * A cycle in the turns of some LIDs is one in those of all, so it is looked for on the way: first when
 * as many entries have been followed as there are turns to search, then after four times as many; and where
 * entries lead around for the first time.
 */
static void union_follow_all(struct run *u, bool changes)
{
	const struct osr_fabric *fabric = u->f;
	size_t pause = u->turns.n_slots / (fabric->n_switches + (size_t)1);
	uint32_t batch = changes || u->certified ? 1 : SENDERS_BATCH;

	for (uint32_t first = 0; first < fabric->n_dests; first += batch) {
		uint32_t n = fabric->n_dests - first < batch ? fabric->n_dests - first : batch;
		bool circled = u->circles;

		if (batch > 1 || is_to_follow(u, first, changes))
			osr__senders_collect(&u->senders, first, n);
		for (uint32_t j = 0; j < n; j++) {
			if (!is_to_follow(u, first + j, changes))
				continue;
			union_load_entries(u, first + j);
			start_packets(u, u->senders.inject + (size_t)j * fabric->n_switches);
			if (changes || !all_alike(u))
				union_spread(u);
			take_turns(u, first + j);
			if (u->falls || (u->step && !u->n_unexplained))
				return;
		}
		if (u->step || u->certified ||
		    (circled == u->circles &&
		     (changes || first + n <= pause || first + n == fabric->n_dests)))
			continue;
		search_turns(u, NULL);
		if (u->n_steps || u->no_memory)
			return;
		pause = 4 * (first + (size_t)n);
	}
}

/* ---- multicast ------------------------------------------------------------------------------ */

static void send_by(const struct osr_fabric *fabric, uint64_t (*ports)[4], uint32_t c)
{
	unsigned port = fabric->chan_port[c];

	ports[fabric->chan_src[c]][port / 64] |= UINT64_C(1) << port % 64;
}

/* The tables of a generation; or its spanning order as a group of MLID 0, of which every switch is a member. */
static bool load_groups(struct run *u, uint32_t g)
{
	static const uint16_t mlid = 0;
	const struct osr_fabric *fabric = u->f;
	const struct osr_generation *gen = &u->gen[g];
	const uint32_t *parent = gen->routing->mcast_parent;
	uint64_t(*ports)[4];

	if (gen->groups) {
		u->groups[g] = *gen->groups;
		u->group_sls[g] = (uint16_t)(1u << gen->groups->sl);
	}
	if (gen->groups || !parent)
		return true;
	ports = osr_calloc(u->scratch, fabric->n_switches, sizeof(*ports));
	for (uint32_t s = 0; ports && s < fabric->n_switches; s++) {
		uint32_t c = parent[s];

		if (c >= fabric->n_channels || fabric->chan_src[c] != s)
			continue;
		send_by(fabric, ports, c);
		send_by(fabric, ports, fabric->chan_rev[c]);
	}
	u->groups[g] = (struct osr_groups){ 1, &mlid, (const uint64_t(*)[4])ports, 0 };
	/* Where senders choose any SL, those of multicast may, too. */
	if (osr__any_sl(&u->senders, g) && !gen->any_sls)
		u->group_sls[g] = 0xffff;
	else
		u->order_vls |= (uint16_t)(1u << gen->routing->mcast_vl);
	return ports;
}

/* Does any generation send this group's packets out of this port? */
static bool sends_to(const struct run *u, const uint32_t at[2], uint32_t s, unsigned port)
{
	for (uint32_t g = 0; g < u->n; g++)
		if (at[g] != OSR_NONE &&
		    u->groups[g].ports[(size_t)at[g] * u->f->n_switches + s][port / 64] >>
				    port % 64 &
			    1)
			return true;
	return false;
}

/* VLs of the group's packets that leave switch s by `port`: from end ports and tree channels. */
static unsigned group_vls(const struct run *u, const uint32_t at[2], uint32_t s, unsigned port,
			  unsigned sl)
{
	const struct osr_fabric *fabric = u->f;
	unsigned vls = 0;

	for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++) {
		uint32_t c = osr_port_channel(fabric, s, in);

		if (in != port &&
		    (c == OSR_NONE ? union_is_end_port(fabric, s, in)
				   : sends_to(u, at, fabric->chan_dst[c],
					      fabric->chan_port[fabric->chan_rev[c]])))
			vls |= vl_bits(u, s, in, port, sl);
	}
	return vls;
}

/*
 * A copy leaves by every port of the group, in any generation, but the one the packet came by: from the VLs
 * `from` of channel c, on one of these SLs; 0: it keeps its VL.
 */
static void copy_on(struct run *u, const uint32_t at[2], uint16_t mlid, uint32_t c, unsigned from,
		    unsigned sls)
{
	const struct osr_fabric *fabric = u->f;
	uint32_t next = fabric->chan_dst[c];
	unsigned in = fabric->chan_port[fabric->chan_rev[c]];

	for (uint32_t on = fabric->chan_row[next]; on < fabric->chan_row[next + 1]; on++) {
		unsigned port = fabric->chan_port[on];

		if (port != in && sends_to(u, at, next, port))
			take_turn(u, c, from, on,
				  sls ? vl_bits(u, next, in, port, (unsigned)__builtin_ctz(sls))
				      : from,
				  mlid, sls ? sls : 0xffff);
	}
}

static void follow_group(struct run *u, const uint32_t at[2], uint16_t mlid, uint16_t sls)
{
	const struct osr_fabric *fabric = u->f;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_src[c];
		unsigned port = fabric->chan_port[c];

		if (!sends_to(u, at, s, port))
			continue;
		if (!mlid && u->order_vls)
			copy_on(u, at, mlid, c, u->order_vls, 0);
		/* Where one table serves all, all SLs at once. */
		if (!u->turns.moves && sls)
			copy_on(u, at, mlid, c, fold_sls(u, sls), sls);
		for (unsigned left = u->turns.moves ? sls : 0; left; left &= left - 1)
			copy_on(u, at, mlid, c,
				group_vls(u, at, s, port, (unsigned)__builtin_ctz(left)),
				left & -left);
	}
}

/* The groups of both generations in the order of their MLIDs, with the SLs of both. */
static void follow_groups(struct run *u)
{
	uint32_t next[2] = { 0, 0 };

	for (;;) {
		uint32_t at[2] = { OSR_NONE, OSR_NONE }, mlid = UINT32_MAX;
		uint16_t sls = 0;

		for (uint32_t g = 0; g < u->n; g++)
			if (next[g] < u->groups[g].n && u->groups[g].mlid[next[g]] < mlid)
				mlid = u->groups[g].mlid[next[g]];
		if (mlid == UINT32_MAX)
			return;
		for (uint32_t g = 0; g < u->n; g++)
			if (next[g] < u->groups[g].n && u->groups[g].mlid[next[g]] == mlid) {
				at[g] = next[g]++;
				sls |= u->group_sls[g];
			}
		follow_group(u, at, (uint16_t)mlid, sls);
	}
}

/* Is there no loop yet, no turn that falls; or a step of the loop that is not explained? */
static bool is_open(const struct run *u, bool explaining)
{
	return (u->n_unexplained > 0) == explaining && !u->falls && !u->no_memory;
}

/*
 * Changes first, then multicast, whose turns are few: mostly a loop is found there. It is explained by unicast packets
 * as far as they go.
 */
static void union_follow(struct run *u)
{
	bool mcast = u->modes & OSR_CLAIM_MULTICAST, explaining = u->step != NULL;

	if (u->n == 2)
		union_follow_all(u, true);
	if (mcast && !explaining && is_open(u, explaining)) {
		follow_groups(u);
		if (!u->certified)
			search_turns(u, NULL);
	}
	if (is_open(u, explaining))
		union_follow_all(u, false);
	if (mcast && explaining && is_open(u, explaining))
		follow_groups(u);
}

/* ---- all together --------------------------------------------------------------------------- */

/* LIDs whose packets, by the certified tables, come by port `in` of s and leave by `out`. */
static void mark_turned(struct run *u, uint32_t s, unsigned in, unsigned out)
{
	const struct osr_fabric *fabric = u->f;
	uint32_t c = osr_port_channel(fabric, s, in);
	uint32_t before = c == OSR_NONE ? OSR_NONE : fabric->chan_dst[c];

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *row = u->certified->lft + (size_t)d * fabric->n_switches;

		if (row[s] == out &&
		    (before == OSR_NONE || row[before] == fabric->chan_port[fabric->chan_rev[c]]))
			u->turned[d] = true;
	}
}

/*
 * LIDs whose packets meet other lanes than in the certified tables: all, if it is more work to tell. Where
 * one table serves all, in every generation, it is theirs.
 */
static void find_turned(struct run *u)
{
	const struct osr_fabric *fabric = u->f;
	uint32_t n = 0;

	for (uint32_t s = 0; u->turns.moves && s < fabric->n_switches; s++)
		for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
			for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
				unsigned out = fabric->chan_port[c];
				size_t pair = in * (fabric->sw_n_ports[s] + (size_t)1) + out;
				bool differ = false;

				for (uint32_t g = 0; g < u->n; g++) {
					const struct osr_routing *a = u->gen[g].routing,
								 *b = u->certified;

					differ |= memcmp(a->sl2vl[a->sl2vl_row[s] + pair],
							 b->sl2vl[b->sl2vl_row[s] + pair], 16) != 0;
				}
				if (!differ || !union_comes(fabric, s, in))
					continue;
				if (n++ < fabric->n_switches)
					mark_turned(u, s, in, out);
			}
	if (n > fabric->n_switches)
		memset(u->turned, true, fabric->n_dests);
}

static bool alloc_turns(struct run *u)
{
	const struct osr_fabric *fabric = u->f;
	struct turns *t = &u->turns;

	t->f = fabric;
	t->moves = !fold_tables(u);
	t->slot = osr_alloc(u->scratch, fabric->n_channels, sizeof(*t->slot));
	for (uint32_t c = 0; t->slot && c < fabric->n_channels; c++) {
		t->slot[c] = t->n_slots;
		t->n_slots += fabric->sw_n_ports[fabric->chan_dst[c]] + 1u;
	}
	if (u->certified) {
		u->turned = osr_calloc(u->scratch, fabric->n_dests, sizeof(*u->turned));
		return t->slot && u->turned;
	}
	t->vls = osr_calloc(u->scratch, t->n_slots, (t->moves ? OSR_MAX_VLS : 1) * sizeof(*t->vls));
	return t->slot && t->vls;
}

/* VLs that packets of every SL have on the first channel: of those from port 0 and from hosts. */
static bool alloc_entries(struct run *u)
{
	const struct osr_fabric *fabric = u->f;

	u->sls = followed_sls(u);
	u->entry = osr_calloc(u->scratch, fabric->n_ports, sizeof(*u->entry));
	for (uint32_t c = 0; u->entry && c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_src[c];
		unsigned port = fabric->chan_port[c];
		uint16_t *entry = u->entry[fabric->port_row[s] + port];

		for (unsigned sls = u->sls; sls; sls &= sls - 1) {
			unsigned sl = (unsigned)__builtin_ctz(sls);

			entry[sl] = vl_bits(u, s, 0, port, sl);
			for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
				entry[sl] |= vl_bits(u, s, fabric->term_port[t], port, sl);
		}
	}
	for (uint32_t g = 0; g < u->n; g++)
		u->vls[g] = osr_alloc(u->scratch, fabric->n_switches, sizeof(*u->vls[g]));
	return u->entry && u->vls[0] && u->vls[u->n - 1];
}

static bool union_prepare(struct run *u)
{
	size_t n = u->f->n_switches;
	bool ok = alloc_turns(u) && osr__senders_init(&u->senders, u->scratch) &&
		  (!u->turns.moves || alloc_entries(u));

	for (uint32_t g = 0; ok && g < u->n; g++) {
		u->out[g] = osr_alloc(u->scratch, n, sizeof(*u->out[g]));
		ok = u->out[g] && (!(u->modes & OSR_CLAIM_MULTICAST) || load_groups(u, g));
	}
	u->mask = osr_alloc(u->scratch, n, sizeof(*u->mask));
	u->n_in = osr_alloc(u->scratch, n, sizeof(*u->n_in));
	u->queue = osr_alloc(u->scratch, n, sizeof(*u->queue));
	u->queued = osr_alloc(u->scratch, n, sizeof(*u->queued));
	return ok && u->mask && u->n_in && u->queue && u->queued;
}

static bool union_fits(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	return routing->lft && routing->n_switches == fabric->n_switches &&
	       routing->n_dests == fabric->n_dests && routing->n_channels == fabric->n_channels &&
	       (!routing->sl2vl || routing->sl2vl_row);
}

enum osr_status osr_union_loop(const struct osr_fabric *fabric, const struct osr_generation *gen,
			       uint32_t n, uint32_t modes, struct osr_arena *scratch,
			       struct osr_arena *result, struct osr_loop *loop, uint32_t *rank,
			       struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct run u = { .f = fabric,
			 .gen = gen,
			 .n = n,
			 .modes = modes,
			 .scratch = scratch,
			 .result = result,
			 .senders = { .f = fabric, .gen = gen, .n = n, .modes = modes } };

	*loop = (struct osr_loop){ 0 };
	if (scratch == result)
		return osr_fail(diag, OSR_INVAL, "a loop cannot be kept in the scratch arena");
	for (uint32_t g = 0; g < n; g++)
		if (!union_fits(fabric, gen[g].routing))
			return osr_fail(diag, OSR_INVAL, "the tables are for another fabric");
	u.no_memory = !union_prepare(&u);
	/* Once to find a loop, and once more to explain it. */
	if (!u.no_memory)
		union_follow(&u);
	if (!u.no_memory && !u.n_steps)
		search_turns(&u, rank);
	if (!u.no_memory && u.n_steps)
		union_follow(&u);
	osr_arena_reset(scratch, mark);
	if (u.no_memory)
		return osr_fail(diag, OSR_NOMEM,
				"out of memory while looking for credit loops of %u switches and "
				"%u LIDs",
				fabric->n_switches, fabric->n_dests);
	*loop = (struct osr_loop){ .n = u.n_steps, .step = u.step };
	return OSR_OK;
}

bool osr_union_rises(const struct osr_fabric *fabric, const struct osr_generation gen[2],
		     uint32_t modes, const struct osr_routing *certified, struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct run u = { .f = fabric,
			 .gen = gen,
			 .n = 2,
			 .modes = modes,
			 .certified = certified,
			 .scratch = scratch,
			 .senders = { .f = fabric, .gen = gen, .n = 2, .modes = modes } };
	bool rises = union_prepare(&u);

	if (rises) {
		find_turned(&u);
		union_follow(&u);
	}
	osr_arena_reset(scratch, mark);
	return rises && !u.falls;
}
