/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For each destination the SLs that enter at every switch are pushed along all its out ports (one
 * for each generation) until nothing changes. Each pair of consecutive channels is a turn and is
 * marked. Then a cycle of marked turns is looked for. If there is one, everything is followed once
 * more to find a packet for each of its steps.
 *
 * Pushed are the VLs of each class of packets on each channel towards the destination. L(turn,
 * lane) of docs/theory.md is given by the SL2VL tables, and each SL is a class. If one table serves
 * the whole fabric (VL = SL, or the default of OpenSM), packets stay on their VL, and all SLs are
 * one class.
 */
#include <osmroutes/each.h>

#include "follow.h"

#include <stdio.h>
#include <string.h>

/* End ports on one switch that find their SLs in the same row. */
struct sender {
	uint32_t sw, row;
	bool host;
};

struct run {
	struct osr_follow follow;
	struct sender *sender[2]; /* [n_senders] where senders have rows */
	uint32_t n_senders[2];
	uint16_t *replies[2]; /* [rows * n_switches] SLs of what a row asks of a switch, or NULL */
	uint16_t *inject;     /* [n_switches] SLs that enter for the current LID */

	struct osr_groups groups[2]; /* of the generation, or its spanning order with MLID 0 */
	uint16_t group_sls[2];       /* of their packets */
	uint16_t order_vls; /* VLs of spans whose packets stay on one VL, whatever the SL */

	/*
	 * A turn leads from channel c to the channel that leaves chan_dst[c] by a port: slot[c] +
	 * port. Bit v of turn[that] says that packets on VL v take it and stay on v. If VLs change
	 * on the way (`moves`), bit w of turn[that * OSR_MAX_VLS + v] says that packets on v go on
	 * as w.
	 */
	bool moves;
	size_t *slot; /* [n_channels] */
	size_t n_slots;
	uint16_t *turn;
	uint16_t used; /* VLs that turns begin on */

	const uint8_t *fold; /* VL of an SL, if one table serves all ports; else NULL */
	/* Classes of packets, a bit each: SLs; with `fold` there is one class, of all SLs. */
	uint16_t classes;
	uint32_t n_classes;    /* 1 or 16 */
	uint16_t (*entry)[16]; /* [n_ports] by SL: VLs of packets of end ports; only with `moves` */
	uint16_t *vls[2];      /* [n_switches * n_classes] VLs of each class on out[g][s] */

	uint16_t lid; /* whose packets are followed */
	bool circles; /* the entries of some LID have led around */

	struct osr_loop_step *step; /* to be explained */
	uint32_t n_steps, n_unexplained;

	struct osr_arena *scratch, *result;
	struct osr_diag *diag;
	enum osr_status st;
};

/* ---- SL2VL ---------------------------------------------------------------------------------- */

static const osr_sl2vl_t vl_is_sl = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* The VLs, by SL, of packets that leave s by this pair of ports. */
static const uint8_t *union_vls(const struct run *run, uint32_t g, uint32_t s, unsigned in,
				unsigned out)
{
	const struct osr_routing *routing = run->follow.gen[g].routing;

	return routing->sl2vl
		       ? routing->sl2vl[osr_port_pair(run->follow.fabric, routing, s, in, out)]
		       : vl_is_sl;
}

/* A switch drops packets that are mapped to VL 15. OSR_VL_UNSET adds no VL either. */
static uint16_t vl_bits(const struct run *run, uint32_t s, unsigned in, unsigned out, unsigned sl)
{
	unsigned bits = 0;

	for (uint32_t g = 0; g < run->follow.n; g++) {
		unsigned vl = union_vls(run, g, s, in, out)[sl];

		bits |= vl < OSR_MAX_VLS ? 1u << vl : 0;
	}
	return (uint16_t)bits;
}

static bool union_is_end_port(const struct osr_fabric *fabric, uint32_t s, unsigned port)
{
	OSR_EACH_TERMINAL(t, fabric, s)
		if (fabric->term_port[t] == port)
			return true;
	return port == 0;
}

/*
 * Do all port pairs that packets between switches use have one and the same table, in all
 * generations? It becomes run->fold.
 */
static bool fold_tables(struct run *run)
{
	const struct osr_generation *gen = run->follow.gen;
	const struct osr_fabric *fabric = run->follow.fabric;

	if (!gen[0].routing->sl2vl && !gen[run->follow.n - 1].routing->sl2vl) {
		run->fold = vl_is_sl;
		return true;
	}
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t s = fabric->chan_src[c];
		unsigned out = fabric->chan_port[c];

		for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++) {
			if (in == out || (osr_port_channel(fabric, s, in) == OSR_NONE &&
					  !union_is_end_port(fabric, s, in)))
				continue;
			if (!run->fold)
				run->fold = union_vls(run, 0, s, in, out);
			for (uint32_t g = 0; g < run->follow.n; g++)
				if (memcmp(union_vls(run, g, s, in, out), run->fold, 16))
					return false;
		}
	}
	return run->fold;
}

/* VLs of these SLs by the one table. */
static uint16_t fold_sls(const struct run *run, unsigned sls)
{
	unsigned vls = 0;

	osr_invariant(run->fold && !run->moves);
	OSR_EACH_LANE(sl, sls) {
		unsigned vl = run->fold[sl];

		vls |= vl < OSR_MAX_VLS ? 1u << vl : 0;
	}
	return (uint16_t)vls;
}

/*
 * SLs to be followed. SLs that every row maps alike are a kind. If all senders choose any SL, the
 * lowest SL of each kind stands for the kind; else all SLs are followed, for some may not be sent.
 */
static uint16_t followed_sls(const struct run *run)
{
	size_t n_rows = osr_n_sl2vl(run->follow.fabric);
	uint16_t differ[16] = { 0 }, kinds = 0; /* bit b of differ[a], b < a: in some row */

	for (uint32_t g = 0; g < run->follow.n; g++)
		if (run->follow.any[g] != 0xffff)
			return 0xffff;
	for (uint32_t g = 0; g < run->follow.n; g++) {
		const osr_sl2vl_t *sl2vl = (const osr_sl2vl_t *)run->follow.gen[g].routing->sl2vl;

		if (!sl2vl)
			return 0xffff; /* VL = SL: no two SLs are alike */
		for (size_t i = 0; i < n_rows; i++) {
			const uint8_t *row = sl2vl[i];

			/* Most rows have one VL for all SLs, or equal the row before. */
			if (!memcmp(row, row + 1, 15) || (i && !memcmp(row, sl2vl[i - 1], 16)))
				continue;
			for (unsigned a = 0; a < 16; a++)
				for (unsigned b = 0; b < a; b++)
					differ[a] |= (uint16_t)((row[a] != row[b]) << b);
		}
	}
	for (unsigned sl = 0; sl < 16; sl++)
		kinds |= (uint16_t)((differ[sl] == (1u << sl) - 1) << sl);
	return kinds;
}

/* ---- who sends ------------------------------------------------------------------------------ */

/*
 * Lists the end ports that send on the SLs of each row. If replies count, also notes the SLs of all
 * requests of a row to a switch, for the switch answers on these.
 */
static void find_senders(struct run *run, uint32_t g)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	const struct osr_paths *paths = run->follow.gen[g].paths;
	uint32_t n = paths ? fabric->n_terminals : fabric->n_switches;
	size_t n_sw = fabric->n_switches, n_rows = paths ? paths->n_rows : n_sw;
	struct sender *list = osr_alloc(run->scratch, n, sizeof(*list)), last = { .row = OSR_NONE };

	run->sender[g] = list;
	if (!list)
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct sender sender = { i, i, !paths && fabric->sw_sources[i] };

		if (paths)
			sender = (struct sender){ fabric->term_switch[i], paths->row[i],
						  fabric->term_weight[i] };
		/* Mostly neighbours share a row: one sender stands for them. */
		if (sender.row == OSR_NONE ||
		    (sender.row == last.row && sender.sw == last.sw && sender.host == last.host))
			continue;
		list[run->n_senders[g]++] = last = sender;
	}
	if (!(run->follow.modes & OSR_CLAIM_REVERSIBLE))
		return;
	run->replies[g] = osr_calloc(run->scratch, n_rows, n_sw * sizeof(*run->replies[g]));
	if (!run->replies[g])
		return;
	OSR_EACH_DEST(d, fabric) {
		if ((run->follow.modes & OSR_ONLY_HOSTS) && !osr_is_host_lid(fabric, d))
			continue;
		for (uint32_t row = 0; row < n_rows; row++)
			run->replies[g][row * n_sw + fabric->dest_switch[d]] |=
				osr_request_sls(&run->follow, g, row, d);
	}
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* A packet for the steps of the loop that are this turn; see take_turn(). */
static void explain_turn(struct run *run, uint32_t c, unsigned from, uint32_t on, unsigned to,
			 unsigned sls)
{
	for (uint32_t i = 0; i < run->n_steps; i++) {
		struct osr_loop_step *step = &run->step[i];
		const struct osr_loop_step *next = &run->step[(i + 1) % run->n_steps];
		unsigned sl = osr_lowest_bit(sls);

		if (step->sl != OSR_NO_SL || step->channel != c || !(from >> step->vl & 1) ||
		    next->channel != on || !((run->moves ? to : 1u << step->vl) >> next->vl & 1))
			continue;
		while (!run->moves && sl < 15 && run->fold[sl] != step->vl)
			sl++;
		osr_invariant(run->n_unexplained > 0);
		step->sl = (uint8_t)sl;
		step->lid = run->lid;
		run->n_unexplained--;
	}
}

/*
 * Packets of one of these SLs are on the VLs `from` of channel c and go on by channel `on`: with
 * `moves` on the VLs `to`, else on the VL that they have. Marks such turns; once a loop has been
 * found, looks whether they are steps of it.
 */
static void take_turn(struct run *run, uint32_t c, unsigned from, uint32_t on, unsigned to,
		      unsigned sls)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	size_t turn = run->slot[c] + fabric->chan_port[on];

	osr_invariant(fabric->chan_src[on] == fabric->chan_dst[c]);
	osr_invariant(from >> OSR_MAX_VLS == 0 && to >> OSR_MAX_VLS == 0);
	run->used |= (uint16_t)from;
	if (run->step)
		explain_turn(run, c, from, on, to, sls);
	else if (!run->moves)
		run->turn[turn] |= (uint16_t)from;
	else
		OSR_EACH_LANE(vl, from)
			run->turn[turn * OSR_MAX_VLS + vl] |= (uint16_t)to;
}

/* ---- a loop of turns, or an order of channels ------------------------------------------------ */

enum { WHITE, GREY, BLACK };

/*
 * The vertex behind the next edge of a vertex, from edge *pos on; *pos becomes the edge after it.
 * Vertices are v * n_channels + c; edges of a vertex are numbered port * OSR_MAX_VLS + VL there.
 */
static uint32_t next_vertex(const struct run *run, uint32_t vertex, uint32_t *pos)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t v = vertex / fabric->n_channels, c = vertex % fabric->n_channels;
	uint32_t n_ports = fabric->sw_n_ports[fabric->chan_dst[c]];

	for (uint32_t port; (port = *pos / OSR_MAX_VLS) <= n_ports;) {
		size_t turn = run->slot[c] + port;
		unsigned vls = run->moves ? run->turn[turn * OSR_MAX_VLS + v]
					  : run->turn[turn] & (1u << v);

		vls >>= *pos % OSR_MAX_VLS;
		if (vls) {
			*pos += osr_lowest_bit(vls) + 1;
			return (*pos - 1) % OSR_MAX_VLS * fabric->n_channels +
			       osr_port_channel(fabric, fabric->chan_dst[c], port);
		}
		*pos = (port + 1) * OSR_MAX_VLS;
	}
	return OSR_NONE;
}

/*
 * Allocates and fills run->step from the cycle of run->n_steps vertices. Packets are not known yet:
 * OSR_NO_SL.
 */
static void keep_loop(struct run *run, const uint32_t *vertex)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t n_channels = fabric->n_channels;

	run->step = osr_calloc(run->result, run->n_steps, sizeof(*run->step));
	if (osr_arena_failed(run->result, run->diag)) {
		run->st = OSR_NOMEM;
		return;
	}
	for (uint32_t i = 0; i < run->n_steps; i++) {
		uint32_t next = vertex[(i + 1) % run->n_steps] % n_channels;

		run->step[i] = (struct osr_loop_step){ .channel = vertex[i] % n_channels,
						       .vl = (uint8_t)(vertex[i] / n_channels),
						       .sl = OSR_NO_SL };
		osr_invariant(fabric->chan_src[next] == fabric->chan_dst[run->step[i].channel]);
	}
	run->n_unexplained = run->n_steps;
}

/* Does every marked turn lead to a higher rank? */
static bool turns_rise(const struct run *run, const uint32_t *rank)
{
	uint32_t n = run->follow.fabric->n_channels * OSR_MAX_VLS;

	for (uint32_t vertex = 0; vertex < n; vertex++) {
		uint32_t pos = 0, next = next_vertex(run, vertex, &pos);

		while (next != OSR_NONE) {
			if (rank[vertex] >= rank[next])
				return false;
			next = next_vertex(run, vertex, &pos);
		}
	}
	return true;
}

/*
 * A depth-first search of the turns marked so far. Finds a cycle (n_steps > 0, see keep_loop()), or
 * fills rank, if it is not NULL, with an order. A vertex that is not visited ends no turn.
 */
static void search_turns(struct run *run, uint32_t *rank)
{
	struct osr_arena_mark mark = osr_arena_mark(run->scratch);
	uint32_t n_channels = run->follow.fabric->n_channels, n = n_channels * OSR_MAX_VLS,
		 n_done = 0, top = OSR_NONE;
	uint8_t *color = osr_calloc(run->scratch, n, 1);
	uint32_t *stack = osr_alloc(run->scratch, n, sizeof(*stack)),
		 *pos = osr_alloc(run->scratch, n, sizeof(*pos));

	if (osr_arena_failed(run->scratch, run->diag)) {
		run->st = OSR_NOMEM;
		osr_arena_reset(run->scratch, mark);
		return;
	}
	for (uint32_t first = 0; first < n; first++) {
		if (run->n_steps)
			break;
		if (rank && color[first] == WHITE)
			rank[first] = UINT32_MAX - 1;
		if (run->used >> first / n_channels & 1 && color[first] == WHITE)
			stack[top = 0] = first;
		while (top != OSR_NONE && !run->n_steps) {
			uint32_t vertex = stack[top], next;

			pos[vertex] = color[vertex] == WHITE ? 0 : pos[vertex];
			color[vertex] = GREY;
			next = next_vertex(run, vertex, &pos[vertex]);
			if (next == OSR_NONE) {
				color[vertex] = BLACK;
				if (rank)
					rank[vertex] = UINT32_MAX - 1 - n_done++;
				top--;
			} else if (color[next] == GREY) {
				for (run->n_steps = 1; stack[top] != next; top--)
					run->n_steps++;
			} else if (color[next] == WHITE) {
				stack[++top] = next;
			}
		}
	}
	if (run->n_steps)
		keep_loop(run, stack + top);
	osr_invariant(run->n_steps || !rank || turns_rise(run, rank));
	osr_arena_reset(run->scratch, mark);
}

/* ---- one destination ------------------------------------------------------------------------ */

/*
 * Packets on channel out[g][s] take a turn to each entry of the next switch. Does one of them bring
 * a VL that is new there?
 */
static bool union_push(struct run *run, uint32_t s, uint32_t g)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t c = run->follow.out[g][s], next = fabric->chan_dst[c];
	unsigned in = fabric->chan_port[fabric->chan_rev[c]], news = 0;

	for (uint32_t h = 0; h < run->follow.n; h++) {
		uint32_t on = run->follow.out[h][next];

		if (on == OSR_NONE)
			continue;
		OSR_EACH_LANE(k, run->classes) {
			unsigned from = run->vls[g][(size_t)s * run->n_classes + k], to = from;
			uint16_t *vls = &run->vls[h][(size_t)next * run->n_classes + k];

			if (from && run->moves)
				to = vl_bits(run, next, in, fabric->chan_port[on], k);
			take_turn(run, c, from, on, to, run->moves ? 1u << k : 0xffff);
			news |= to & ~(unsigned)*vls;
			*vls |= (uint16_t)to;
		}
	}
	return news != 0;
}

/*
 * run->inject for LID d: the SLs of end ports that choose, of end ports with rows of SLs, and of
 * replies to the requests of the owner of the LID.
 */
static void find_inject(struct run *run, uint32_t d)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t n = fabric->n_switches;

	memset(run->inject, 0, n * sizeof(*run->inject));
	for (uint32_t g = 0; g < run->follow.n; g++) {
		uint32_t owner = osr_row(&run->follow, g, fabric->dest_term[d]);

		if (run->follow.any[g])
			OSR_EACH_SWITCH(s, fabric)
				run->inject[s] |=
					osr_counts(&run->follow, s, d) ? run->follow.any[g] : 0;
		for (uint32_t i = 0; i < run->n_senders[g]; i++) {
			const struct sender *sender = &run->sender[g][i];

			if (osr_sends(&run->follow, sender->host, d))
				run->inject[sender->sw] |= osr_sls(&run->follow, g, sender->row, d);
		}
		if (!run->replies[g] || owner == OSR_NONE || !osr_is_host_lid(fabric, d))
			continue;
		OSR_EACH_SWITCH(s, fabric)
			run->inject[s] |= run->replies[g][(size_t)owner * n + s];
	}
}

/* `changes`: its entries are not the same in both generations. */
static void follow_lid(struct run *run, uint32_t d, bool changes)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t n = fabric->n_switches, n_order = n;
	bool alike = !changes && !run->moves, news;

	run->lid = fabric->dest_lid[d];
	osr_follow_load(&run->follow, d);
	find_inject(run, d);
	/* Packets that enter at a switch are on the channels of its own entries. */
	for (uint32_t g = 0; g < run->follow.n; g++)
		OSR_EACH_SWITCH(s, fabric) {
			uint32_t c = run->follow.out[g][s];
			unsigned sls = c == OSR_NONE ? 0 : run->inject[s];
			uint16_t *vls = run->vls[g] + (size_t)s * run->n_classes;

			if (!run->moves)
				vls[0] = fold_sls(run, sls);
			else
				OSR_EACH_LANE(sl, run->classes)
					vls[sl] = sls >> sl & 1
							  ? run->entry[fabric->port_row[s] +
								       fabric->chan_port[c]][sl]
							  : 0;
			alike &= run->inject[s] == run->inject[0];
		}
	/* If the same SLs enter everywhere, every channel has its VLs already: any order does. */
	if (!alike)
		n_order = osr_follow_order(&run->follow);
	for (uint32_t i = 0; i < n_order; i++) {
		uint32_t s = alike ? i : run->follow.order[i];

		for (uint32_t g = 0; g < run->follow.n; g++)
			if (run->follow.out[g][s] != OSR_NONE)
				union_push(run, s, g);
	}
	/* Switches with n_in left form loops, or lie behind one: they push until nothing is new. */
	run->circles |= n_order < n;
	news = n_order < n;
	while (news) {
		news = false;
		OSR_EACH_SWITCH(s, fabric) {
			if (!run->follow.n_in[s])
				continue;
			for (uint32_t g = 0; g < run->follow.n; g++)
				news |= run->follow.out[g][s] != OSR_NONE && union_push(run, s, g);
		}
	}
}

/*
 * Follows the LIDs whose entries change from one generation to the other (`changes`), or all
 * others. Called for the former first, for a loop is mostly there. A cycle in the turns of some
 * LIDs is a cycle in the turns of all LIDs, so it is looked for on the way: when as many entries
 * have been followed as there are turns to search, then after four times as many, and when the
 * entries of a LID lead around for the first time.
 */
static void union_follow_all(struct run *run, bool changes)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	const uint8_t *old = run->follow.gen[0].routing->lft,
		      *now = run->follow.gen[run->follow.n - 1].routing->lft;
	size_t n = fabric->n_switches, pause = run->n_slots / (n + 1);

	OSR_EACH_DEST(d, fabric) {
		bool circled = run->circles;

		if (!memcmp(old + d * n, now + d * n, n) != changes)
			follow_lid(run, d, changes);
		if (run->step && !run->n_unexplained)
			return;
		if (run->step ||
		    (circled == run->circles && (changes || d < pause || d + 1 == fabric->n_dests)))
			continue;
		search_turns(run, NULL);
		if (run->n_steps || run->st)
			return;
		pause = 4 * (d + (size_t)1);
	}
}

/* ---- multicast ------------------------------------------------------------------------------ */

/* Does any generation send this group's packets out of this port? */
static bool sends_to(const struct run *run, const uint32_t at[2], uint32_t s, unsigned port)
{
	for (uint32_t g = 0; g < run->follow.n; g++)
		if (at[g] != OSR_NONE &&
		    run->groups[g].ports[(size_t)at[g] * run->follow.fabric->n_switches + s]
					[port / 64] >>
				    port % 64 &
			    1)
			return true;
	return false;
}

/*
 * Copies of a packet on the VLs `from` of channel c leave by every port of the group, in any
 * generation, except the port that the packet came by. The packet is on one of these SLs; sls == 0:
 * it keeps its VL, whatever its SL.
 */
static void copy_on(struct run *run, const uint32_t at[2], uint32_t c, unsigned from, unsigned sls)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t next = fabric->chan_dst[c];
	unsigned in = fabric->chan_port[fabric->chan_rev[c]];

	OSR_EACH_CHANNEL(on, fabric, next) {
		unsigned port = fabric->chan_port[on];

		if (port != in && sends_to(run, at, next, port))
			take_turn(run, c, from, on,
				  sls ? vl_bits(run, next, in, port, osr_lowest_bit(sls)) : from,
				  sls ? sls : 0xffff);
	}
}

/* Do packets of this group come into switch s by port `in`, from an end port or another switch? */
static bool group_comes_by(const struct run *run, const uint32_t at[2], uint32_t s, unsigned in)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t back = osr_port_channel(fabric, s, in);

	if (back == OSR_NONE)
		return union_is_end_port(fabric, s, in);
	return sends_to(run, at, fabric->chan_dst[back], fabric->chan_port[fabric->chan_rev[back]]);
}

static void follow_group(struct run *run, const uint32_t at[2], uint16_t sls)
{
	const struct osr_fabric *fabric = run->follow.fabric;

	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t s = fabric->chan_src[c];
		unsigned port = fabric->chan_port[c];

		if (!sends_to(run, at, s, port))
			continue;
		if (!run->lid && run->order_vls)
			copy_on(run, at, c, run->order_vls, 0);
		/* With one table for all ports all SLs are followed at once. */
		if (!run->moves) {
			if (sls)
				copy_on(run, at, c, fold_sls(run, sls), sls);
			continue;
		}
		OSR_EACH_LANE(sl, sls) {
			unsigned vls = 0;

			for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
				if (in != port && group_comes_by(run, at, s, in))
					vls |= vl_bits(run, s, in, port, sl);
			copy_on(run, at, c, vls, 1u << sl);
		}
	}
}

/* The groups of both generations in the order of their MLIDs, with the SLs of both. */
static void follow_groups(struct run *run)
{
	uint32_t next[2] = { 0, 0 };

	for (;;) {
		uint32_t at[2] = { OSR_NONE, OSR_NONE }, mlid = UINT32_MAX;
		uint16_t sls = 0;

		for (uint32_t g = 0; g < run->follow.n; g++)
			if (next[g] < run->groups[g].n && run->groups[g].mlid[next[g]] < mlid)
				mlid = run->groups[g].mlid[next[g]];
		if (mlid == UINT32_MAX)
			return;
		for (uint32_t g = 0; g < run->follow.n; g++)
			if (next[g] < run->groups[g].n && run->groups[g].mlid[next[g]] == mlid) {
				at[g] = next[g]++;
				sls |= run->group_sls[g];
			}
		run->lid = (uint16_t)mlid;
		follow_group(run, at, sls);
	}
}

/*
 * Follows LIDs that change, then multicast, whose turns are few: if there is a loop, it is mostly
 * found by then, and nothing more is followed. The second call explains the loop, by unicast
 * packets if they can.
 */
static void union_follow(struct run *run)
{
	bool mcast = run->follow.modes & OSR_CLAIM_MULTICAST, explaining = run->step != NULL;

	if (run->follow.n == 2)
		union_follow_all(run, true);
	if (mcast && !explaining && !run->n_steps && !run->st) {
		follow_groups(run);
		search_turns(run, NULL);
	}
	if (explaining ? run->n_unexplained : !run->n_steps && !run->st)
		union_follow_all(run, false);
	if (mcast && explaining && run->n_unexplained)
		follow_groups(run);
}

/* ---- all together --------------------------------------------------------------------------- */

/*
 * The groups of a generation; or its span as one group of MLID 0, of which every switch is a
 * member. Without memory it leaves none.
 */
static void prepare_groups(struct run *run, uint32_t g)
{
	static const uint16_t mlid = 0;
	const struct osr_fabric *fabric = run->follow.fabric;
	const struct osr_groups *groups = run->follow.gen[g].groups;
	const uint32_t *parent = run->follow.gen[g].routing->mcast_parent;
	uint64_t(*ports)[4];

	if (groups) {
		run->groups[g] = *groups;
		run->group_sls[g] = (uint16_t)(1u << groups->sl);
		return;
	}
	ports = parent ? osr_calloc(run->scratch, fabric->n_switches, sizeof(*ports)) : NULL;
	if (!ports)
		return;
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t s = fabric->chan_src[c], port = fabric->chan_port[c];

		if (parent[s] == c || parent[fabric->chan_dst[c]] == fabric->chan_rev[c])
			ports[s][port / 64] |= UINT64_C(1) << port % 64;
	}
	run->groups[g] = (struct osr_groups){ 1, &mlid, (const uint64_t(*)[4])ports, 0 };
	/* If senders choose any SL, multicast may be on any SL, too. */
	if (run->follow.any[g] == 0xffff)
		run->group_sls[g] = 0xffff;
	else
		run->order_vls |= (uint16_t)(1u << run->follow.gen[g].routing->mcast_vl);
}

/* run->entry: the VLs of packets of every SL on their first channel, from port 0 and from hosts. */
static void prepare_entries(struct run *run)
{
	const struct osr_fabric *fabric = run->follow.fabric;

	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t s = fabric->chan_src[c];
		unsigned port = fabric->chan_port[c];
		uint16_t *entry = run->entry[fabric->port_row[s] + port];

		OSR_EACH_LANE(sl, run->classes) {
			entry[sl] = vl_bits(run, s, 0, port, sl);
			OSR_EACH_TERMINAL(t, fabric, s)
				entry[sl] |= vl_bits(run, s, fabric->term_port[t], port, sl);
		}
	}
}

static enum osr_status union_prepare(struct run *run)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	size_t n = fabric->n_switches;
	enum osr_status st = osr_follow_init(&run->follow, run->scratch, run->diag);

	if (st)
		return st;
	run->moves = !fold_tables(run);
	run->n_classes = run->moves ? 16 : 1;
	run->classes = run->moves ? followed_sls(run) : 1;
	run->inject = osr_alloc(run->scratch, n, sizeof(*run->inject));
	run->slot = osr_alloc(run->scratch, fabric->n_channels, sizeof(*run->slot));
	if (osr_arena_failed(run->scratch, run->diag))
		return OSR_NOMEM;
	OSR_EVERY_CHANNEL(c, fabric) {
		run->slot[c] = run->n_slots;
		run->n_slots += fabric->sw_n_ports[fabric->chan_dst[c]] + 1u;
	}
	run->turn = osr_calloc(run->scratch, run->n_slots,
			       (run->moves ? OSR_MAX_VLS : 1) * sizeof(*run->turn));
	if (run->moves)
		run->entry = osr_calloc(run->scratch, fabric->n_ports, sizeof(*run->entry));
	for (uint32_t g = 0; g < run->follow.n; g++) {
		run->vls[g] = osr_alloc(run->scratch, n * run->n_classes, sizeof(*run->vls[g]));
		if (!run->follow.any[g])
			find_senders(run, g);
		if (run->follow.modes & OSR_CLAIM_MULTICAST)
			prepare_groups(run, g);
	}
	if (osr_arena_failed(run->scratch, run->diag))
		return OSR_NOMEM;
	if (run->moves)
		prepare_entries(run);
	return OSR_OK;
}

enum osr_status osr_union_loop(const struct osr_fabric *fabric, const struct osr_generation *gen,
			       uint32_t n, uint32_t modes, struct osr_arena *scratch,
			       struct osr_arena *result, struct osr_loop *loop, uint32_t *rank,
			       struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct run run = { .follow = { .fabric = fabric, .gen = gen, .n = n, .modes = modes },
			   .scratch = scratch,
			   .result = result,
			   .diag = diag };

	*loop = (struct osr_loop){ 0 };
	if (scratch == result)
		return osr_fail(diag, OSR_INVAL, "a loop cannot be kept in the scratch arena");
	run.st = union_prepare(&run);
	/* The first call finds a loop, the second one explains it. */
	if (!run.st)
		union_follow(&run);
	if (!run.st && !run.n_steps)
		search_turns(&run, rank);
	if (!run.st && run.n_steps)
		union_follow(&run);
	osr_invariant(run.st || !run.n_unexplained);
	osr_arena_reset(scratch, mark);
	if (!run.st)
		*loop = (struct osr_loop){ .n = run.n_steps, .step = run.step };
	return run.st;
}

void osr_loop_say(const struct osr_fabric *fabric, const struct osr_loop *loop,
		  struct osr_diag *diag)
{
	char step[2][128], name[32], what[48] = "multicast packets";

	if (!loop->n) {
		osr_fail(diag, OSR_OK, "no credit loop");
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		const struct osr_loop_step *at = &loop->step[i % loop->n];

		snprintf(step[i], sizeof(step[i]), "switch %.60s port %u VL %u",
			 osr_switch_name(fabric, fabric->chan_src[at->channel], name),
			 fabric->chan_port[at->channel], at->vl);
	}
	if (loop->step[0].lid)
		snprintf(what, sizeof(what), "packets for %sLID %u on SL %u",
			 loop->step[0].lid >= 0xc000 ? "M" : "", loop->step[0].lid,
			 loop->step[0].sl);
	osr_fail(diag, OSR_OK,
		 "credit loop of %u channels: %s hold %s and wait for %s, and so on back to the "
		 "first",
		 loop->n, what, step[0], step[1]);
}
