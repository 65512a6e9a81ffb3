/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For each destination: the SLs that enter at every switch, pushed along all its out ports (one for
 * each generation) until nothing changes, with a turn taken for every pair of channels in a row.
 * Turns are marked, and a cycle of them is looked for; if there is one, everything is followed once
 * more to find a packet for each of its steps.
 *
 * What is pushed are the VLs of each class of packets on each channel of the destination: L(turn,
 * lane) of docs/theory.md is that of the SL2VL tables for an SL, or, where one table serves the
 * whole fabric (VL = SL, or what OpenSM programs by default), the same VL, for all SLs together.
 */
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
	uint16_t order_vls;          /* of those on spanning orders that have a VL, not SLs */

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

	const uint8_t *fold; /* VL of an SL, if one table serves all */
	/*
	 * Classes of packets: an SL each, a bit each; where one table serves all there is one, of
	 * all SLs.
	 */
	uint16_t classes;
	uint32_t n_classes;    /* 1 or 16 */
	uint16_t (*entry)[16]; /* [n_ports] VLs of what end ports send out of it, if VLs change */
	uint16_t *vls[2];      /* [n_switches * n_classes] VLs of each class on out[g][s] */

	uint16_t lid; /* whose packets are followed */
	bool circles; /* entries of some LID lead around, and no loop has been looked for since */

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

/* VL15 is no data lane: a switch drops what is mapped to it. OSR_VL_UNSET adds nothing either. */
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
	for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
		if (fabric->term_port[t] == port)
			return true;
	return port == 0;
}

/*
 * One table for all ports that packets between switches use, in all generations? It becomes
 * run->fold.
 */
static bool fold_tables(struct run *run)
{
	const struct osr_generation *gen = run->follow.gen;
	const struct osr_fabric *fabric = run->follow.fabric;
	bool tables = gen[0].routing->sl2vl || gen[run->follow.n - 1].routing->sl2vl;

	run->fold = tables ? NULL : vl_is_sl;
	for (uint32_t c = 0; tables && c < fabric->n_channels; c++) {
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

/* VLs of these SLs, where one table serves all. */
static uint16_t fold_sls(const struct run *run, unsigned sls)
{
	unsigned vls = 0;

	for (; sls; sls &= sls - 1) {
		unsigned vl = run->fold[__builtin_ctz(sls)];

		vls |= vl < OSR_MAX_VLS ? 1u << vl : 0;
	}
	return (uint16_t)vls;
}

/*
 * Where all senders choose any SL, the lowest of each kind of SLs is followed: packets on SLs with
 * the same lanes in every row fare alike. Else all, for only some SLs may be sent.
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

		for (size_t i = 0; i < (sl2vl ? n_rows : 1); i++) {
			const uint8_t *row = sl2vl ? sl2vl[i] : vl_is_sl;

			/* Most rows have one VL for all, or are as the last. */
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
 * Which end ports send on the SLs of which row; and where replies count the SLs of all that a row
 * asks a switch, for on these it answers.
 */
static void find_senders(struct run *run, uint32_t g)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	const struct osr_paths *paths = run->follow.gen[g].paths;
	uint32_t n = paths ? fabric->n_terminals : fabric->n_switches;
	size_t n_sw = fabric->n_switches, n_rows = paths ? paths->n_rows : n_sw;
	struct sender *list = osr_alloc(run->scratch, n, sizeof(*list)), last = { .row = OSR_NONE };

	run->sender[g] = list;
	for (uint32_t i = 0; list && i < n; i++) {
		struct sender sender = { i, i, !paths && fabric->sw_sources[i] };

		if (paths)
			sender = (struct sender){ fabric->term_switch[i], paths->row[i],
						  fabric->term_weight[i] };
		/* Mostly neighbours are alike. */
		if (sender.row == OSR_NONE ||
		    (sender.row == last.row && sender.sw == last.sw && sender.host == last.host))
			continue;
		list[run->n_senders[g]++] = last = sender;
	}
	if (!(run->follow.modes & OSR_CLAIM_REVERSIBLE))
		return;
	run->replies[g] = osr_calloc(run->scratch, n_rows, n_sw * sizeof(*run->replies[g]));
	for (uint32_t d = 0; run->replies[g] && d < fabric->n_dests; d++)
		for (uint32_t row = 0; row < n_rows; row++)
			if (!(run->follow.modes & OSR_ONLY_HOSTS) || osr_is_host_lid(fabric, d))
				run->replies[g][row * n_sw + fabric->dest_switch[d]] |=
					osr_request_sls(&run->follow, g, row, d);
}

/* ---- turns ---------------------------------------------------------------------------------- */

/*
 * Packets of one of these SLs are on the VLs `from` of channel c and go on by channel `on`: on the
 * VLs `to`, or, where one table serves all, as they are. Such turns are marked; or, if a loop is
 * there, they may be steps of it.
 */
static void take_turn(struct run *run, uint32_t c, unsigned from, uint32_t on, unsigned to,
		      unsigned sls)
{
	size_t turn = run->slot[c] + run->follow.fabric->chan_port[on];

	run->used |= (uint16_t)from;
	if (!run->moves && !run->step)
		run->turn[turn] |= (uint16_t)from;
	for (; from && run->moves && !run->step; from &= from - 1)
		run->turn[turn * OSR_MAX_VLS + (unsigned)__builtin_ctz(from)] |= (uint16_t)to;
	for (uint32_t i = 0; run->step && i < run->n_steps; i++) {
		struct osr_loop_step *step = &run->step[i];
		const struct osr_loop_step *next = &run->step[(i + 1) % run->n_steps];
		unsigned sl = (unsigned)__builtin_ctz(sls);

		if (step->sl != OSR_NO_SL || step->channel != c || !(from >> step->vl & 1) ||
		    next->channel != on || !((run->moves ? to : 1u << step->vl) >> next->vl & 1))
			continue;
		while (!run->moves && sl < 15 && run->fold[sl] != step->vl)
			sl++;
		step->sl = (uint8_t)sl;
		step->lid = run->lid;
		run->n_unexplained--;
	}
}

/* ---- a loop of turns, or an order of channels ------------------------------------------------ */

enum { WHITE, GREY, BLACK };

/* Vertices are v * n_channels + c; edges of one are numbered port * OSR_MAX_VLS + VL behind it. */
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
			*pos += (uint32_t)__builtin_ctz(vls) + 1;
			return (*pos - 1) % OSR_MAX_VLS * fabric->n_channels +
			       osr_port_channel(fabric, fabric->chan_dst[c], port);
		}
		*pos = (port + 1) * OSR_MAX_VLS;
	}
	return OSR_NONE;
}

/*
 * Depth first: a cycle of the turns marked so far, on OSR_NO_SL so far; or *n_steps = 0, and rank
 * (if not NULL) an order. Nothing leads to vertices that are not visited.
 */
static void search_turns(struct run *run, uint32_t *rank)
{
	struct osr_arena_mark mark = osr_arena_mark(run->scratch);
	uint32_t n_channels = run->follow.fabric->n_channels, n = n_channels * OSR_MAX_VLS,
		 n_done = 0, top = OSR_NONE;
	uint8_t *color = osr_calloc(run->scratch, n, 1);
	uint32_t *stack = osr_alloc(run->scratch, n, sizeof(*stack)),
		 *pos = osr_alloc(run->scratch, n, sizeof(*pos));

	if (osr_arena_failed(run->scratch, run->diag))
		run->st = OSR_NOMEM;
	for (uint32_t first = 0; !run->st && !run->n_steps && first < n; first++) {
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
	if (run->n_steps) {
		run->step = osr_calloc(run->result, run->n_steps, sizeof(*run->step));
		if (osr_arena_failed(run->result, run->diag))
			run->st = OSR_NOMEM;
	}
	for (uint32_t i = 0; !run->st && i < run->n_steps; i++)
		run->step[i] = (struct osr_loop_step){ .channel = stack[top + i] % n_channels,
						       .vl = (uint8_t)(stack[top + i] / n_channels),
						       .sl = OSR_NO_SL };
	run->n_unexplained = run->n_steps;
	osr_arena_reset(run->scratch, mark);
}

/* ---- one destination ------------------------------------------------------------------------ */

/*
 * What is on channel out[g][s] takes a turn to each entry of the next switch: is any of it new
 * there?
 */
static bool union_push(struct run *run, uint32_t s, uint32_t g)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t c = run->follow.out[g][s], next = fabric->chan_dst[c];
	unsigned in = fabric->chan_port[fabric->chan_rev[c]], news = 0;

	for (uint32_t h = 0; h < run->follow.n; h++) {
		uint32_t on = run->follow.out[h][next];

		for (unsigned left = on == OSR_NONE ? 0 : run->classes; left; left &= left - 1) {
			unsigned k = (unsigned)__builtin_ctz(left),
				 from = run->vls[g][(size_t)s * run->n_classes + k], to = from;
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

/* `changes`: its entries are not the same in both generations. */
static void follow_lid(struct run *run, uint32_t d, bool changes)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t n = fabric->n_switches, n_order = n;
	bool alike = !changes && !run->moves, news;

	run->lid = fabric->dest_lid[d];
	osr_follow_load(&run->follow, d);
	/*
	 * Of end ports that choose, of those with rows of SLs, and of replies to what the owner of
	 * the LID asks.
	 */
	memset(run->inject, 0, n * sizeof(*run->inject));
	for (uint32_t g = 0; g < run->follow.n; g++) {
		uint32_t owner = osr_row(&run->follow, g, fabric->dest_term[d]);

		for (uint32_t s = 0; run->follow.any[g] && s < n; s++)
			run->inject[s] |= osr_counts(&run->follow, s, d) ? run->follow.any[g] : 0;
		for (uint32_t i = 0; i < run->n_senders[g]; i++) {
			const struct sender *sender = &run->sender[g][i];

			if (osr_sends(&run->follow, sender->host, d))
				run->inject[sender->sw] |= osr_sls(&run->follow, g, sender->row, d);
		}
		if (!run->replies[g] || owner == OSR_NONE || !osr_is_host_lid(fabric, d))
			continue;
		for (uint32_t s = 0; s < n; s++)
			run->inject[s] |= run->replies[g][(size_t)owner * n + s];
	}
	/* What enters at each switch is on its own channels. */
	for (uint32_t g = 0; g < run->follow.n; g++)
		for (uint32_t s = 0; s < n; s++) {
			uint32_t c = run->follow.out[g][s];
			unsigned sls = c == OSR_NONE ? 0 : run->inject[s];
			uint16_t *vls = run->vls[g] + (size_t)s * run->n_classes;

			if (!run->moves)
				vls[0] = fold_sls(run, sls);
			for (unsigned k = run->moves ? run->classes : 0; k; k &= k - 1) {
				unsigned sl = (unsigned)__builtin_ctz(k);

				vls[sl] = sls >> sl & 1 ? run->entry[fabric->port_row[s] +
								     fabric->chan_port[c]][sl]
							: 0;
			}
			alike &= run->inject[s] == run->inject[0];
		}
	/*
	 * The same SLs from everywhere, as to a host where one lane serves all: there is nothing to
	 * spread.
	 */
	if (!alike)
		n_order = osr_follow_order(&run->follow);
	for (uint32_t i = 0; i < n_order; i++) {
		uint32_t s = alike ? i : run->follow.order[i];

		for (uint32_t g = 0; g < run->follow.n; g++)
			if (run->follow.out[g][s] != OSR_NONE)
				union_push(run, s, g);
	}
	/*
	 * Those that are left in n_in form loops, or lie behind one: they are pushed until nothing
	 * is new.
	 */
	run->circles |= n_order < n;
	for (news = n_order < n; news;) {
		news = false;
		for (uint32_t s = 0; s < n; s++)
			for (uint32_t g = 0; run->follow.n_in[s] && g < run->follow.n; g++)
				news |= run->follow.out[g][s] != OSR_NONE && union_push(run, s, g);
	}
}

/*
 * First the LIDs whose entries change from one generation to the other, for there mostly is the
 * loop, if there is one; then the others. A cycle in the turns of some LIDs is one in those of all,
 * so it is looked for on the way: first when as many entries have been followed as there are turns
 * to search, then after four times as many; and where entries lead around for the first time.
 */
static void union_follow_all(struct run *run, bool changes)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	const uint8_t *old = run->follow.gen[0].routing->lft,
		      *now = run->follow.gen[run->follow.n - 1].routing->lft;
	size_t n = fabric->n_switches, pause = run->n_slots / (n + 1);

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
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
 * A copy leaves by every port of the group, in any generation, but the one the packet came by: from
 * the VLs `from` of channel c, on one of these SLs; 0: it keeps its VL.
 */
static void copy_on(struct run *run, const uint32_t at[2], uint32_t c, unsigned from, unsigned sls)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t next = fabric->chan_dst[c];
	unsigned in = fabric->chan_port[fabric->chan_rev[c]];

	for (uint32_t on = fabric->chan_row[next]; on < fabric->chan_row[next + 1]; on++) {
		unsigned port = fabric->chan_port[on];

		if (port != in && sends_to(run, at, next, port))
			take_turn(run, c, from, on,
				  sls ? vl_bits(run, next, in, port, (unsigned)__builtin_ctz(sls))
				      : from,
				  sls ? sls : 0xffff);
	}
}

static void follow_group(struct run *run, const uint32_t at[2], uint16_t sls)
{
	const struct osr_fabric *fabric = run->follow.fabric;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_src[c];
		unsigned port = fabric->chan_port[c];

		if (!sends_to(run, at, s, port))
			continue;
		if (!run->lid && run->order_vls)
			copy_on(run, at, c, run->order_vls, 0);
		/* Where one table serves all, all SLs at once. */
		if (!run->moves && sls)
			copy_on(run, at, c, fold_sls(run, sls), sls);
		for (unsigned left = run->moves ? sls : 0; left; left &= left - 1) {
			unsigned vls = 0;

			/*
			 * What leaves by this port comes from end ports, or by channels of the
			 * tree.
			 */
			for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++) {
				uint32_t back = osr_port_channel(fabric, s, in);

				if (in != port &&
				    (back == OSR_NONE
					     ? union_is_end_port(fabric, s, in)
					     : sends_to(run, at, fabric->chan_dst[back],
							fabric->chan_port[fabric->chan_rev[back]])))
					vls |= vl_bits(run, s, in, port,
						       (unsigned)__builtin_ctz(left));
			}
			copy_on(run, at, c, vls, left & -left);
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
 * Changes first, then multicast, whose turns are few: mostly a loop is found there, and nothing
 * more is followed. Once more to explain it: by unicast packets as far as they go.
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

static enum osr_status union_prepare(struct run *run)
{
	static const uint16_t mlid = 0;
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
	for (uint32_t c = 0; run->slot && c < fabric->n_channels; c++) {
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
	}
	/*
	 * The groups of a generation; or its spanning order as one of MLID 0, of which every switch
	 * is a member.
	 */
	for (uint32_t g = 0; run->follow.modes & OSR_CLAIM_MULTICAST && g < run->follow.n; g++) {
		const struct osr_groups *groups = run->follow.gen[g].groups;
		const uint32_t *parent = run->follow.gen[g].routing->mcast_parent;
		uint64_t(*ports)[4];

		if (groups) {
			run->groups[g] = *groups;
			run->group_sls[g] = (uint16_t)(1u << groups->sl);
		}
		if (groups || !parent)
			continue;
		ports = osr_calloc(run->scratch, n, sizeof(*ports));
		if (!ports)
			continue;
		for (uint32_t c = 0; c < fabric->n_channels; c++) {
			uint32_t s = fabric->chan_src[c], port = fabric->chan_port[c];

			if (parent[s] == c || parent[fabric->chan_dst[c]] == fabric->chan_rev[c])
				ports[s][port / 64] |= UINT64_C(1) << port % 64;
		}
		run->groups[g] = (struct osr_groups){ 1, &mlid, (const uint64_t(*)[4])ports, 0 };
		/* Where senders choose any SL, those of multicast may, too. */
		if (run->follow.any[g] == 0xffff)
			run->group_sls[g] = 0xffff;
		else
			run->order_vls |= (uint16_t)(1u << run->follow.gen[g].routing->mcast_vl);
	}
	if (osr_arena_failed(run->scratch, run->diag))
		return OSR_NOMEM;
	/*
	 * VLs that packets of every SL have on the first channel: of those from port 0 and from
	 * hosts.
	 */
	for (uint32_t c = 0; run->moves && c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_src[c];
		unsigned port = fabric->chan_port[c];
		uint16_t *entry = run->entry[fabric->port_row[s] + port];

		for (unsigned sls = run->classes; sls; sls &= sls - 1) {
			unsigned sl = (unsigned)__builtin_ctz(sls);

			entry[sl] = vl_bits(run, s, 0, port, sl);
			for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
				entry[sl] |= vl_bits(run, s, fabric->term_port[t], port, sl);
		}
	}
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
	/* Once to find a loop, and once more to explain it. */
	if (!run.st)
		union_follow(&run);
	if (!run.st && !run.n_steps)
		search_turns(&run, rank);
	if (!run.st && run.n_steps)
		union_follow(&run);
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
