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
#include "union_private.h"

#include <stdio.h>
#include <string.h>

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
		osr_invariant(sender.sw < n_sw && sender.row < n_rows);
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

			if (from && run->turns.moves)
				to = vl_bits(run, next, in, fabric->chan_port[on], k);
			osr_union_take_turn(run, c, from, on, to,
					    run->turns.moves ? 1u << k : 0xffff);
			news |= to & ~(unsigned)*vls;
			*vls |= to;
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
	bool alike = !changes && !run->turns.moves, news;

	run->lid = fabric->dest_lid[d];
	osr_follow_load(&run->follow, d);
	find_inject(run, d);
	/* Packets that enter at a switch are on the channels of its own entries. */
	for (uint32_t g = 0; g < run->follow.n; g++)
		OSR_EACH_SWITCH(s, fabric) {
			uint32_t c = run->follow.out[g][s];
			unsigned sls = c == OSR_NONE ? 0 : run->inject[s];
			uint16_t *vls = run->vls[g] + (size_t)s * run->n_classes;

			if (!run->turns.moves)
				vls[0] = osr_union_fold_sls(run, sls);
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
	osr_invariant(n_order <= n);
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
	size_t n = fabric->n_switches, pause = run->turns.n_slots / (n + 1);

	OSR_EACH_DEST(d, fabric) {
		bool circled = run->circles;

		if (!memcmp(old + d * n, now + d * n, n) != changes)
			follow_lid(run, d, changes);
		if (run->found.step && !run->found.n_unexplained)
			return;
		if (run->found.step ||
		    (circled == run->circles && (changes || d < pause || d + 1 == fabric->n_dests)))
			continue;
		osr_union_search(run, NULL);
		if (run->found.n || run->st)
			return;
		pause = 4 * (d + (size_t)1);
	}
}

/*
 * Follows LIDs that change, then multicast, whose turns are few: if there is a loop, it is mostly
 * found by then, and nothing more is followed. The second call explains the loop, by unicast
 * packets if they can.
 */
static void union_follow(struct run *run)
{
	bool mcast = run->follow.modes & OSR_CLAIM_MULTICAST, explaining = run->found.step != NULL;

	if (run->follow.n == 2)
		union_follow_all(run, true);
	if (mcast && !explaining && !run->found.n && !run->st) {
		osr_union_follow_groups(run);
		osr_union_search(run, NULL);
	}
	if (explaining ? run->found.n_unexplained : !run->found.n && !run->st)
		union_follow_all(run, false);
	if (mcast && explaining && run->found.n_unexplained)
		osr_union_follow_groups(run);
}

/* ---- all together --------------------------------------------------------------------------- */

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
	run->turns.moves = !osr_union_fold(run);
	run->n_classes = run->turns.moves ? 16 : 1;
	run->classes = run->turns.moves ? osr_union_sls(run) : 1;
	run->inject = osr_alloc(run->scratch, n, sizeof(*run->inject));
	run->turns.slot = osr_alloc(run->scratch, fabric->n_channels, sizeof(*run->turns.slot));
	if (osr_arena_failed(run->scratch, run->diag))
		return OSR_NOMEM;
	OSR_EVERY_CHANNEL(c, fabric) {
		run->turns.slot[c] = run->turns.n_slots;
		run->turns.n_slots += fabric->sw_n_ports[fabric->chan_dst[c]] + 1u;
	}
	run->turns.turn =
		osr_calloc(run->scratch, run->turns.n_slots,
			   (run->turns.moves ? OSR_MAX_VLS : 1) * sizeof(*run->turns.turn));
	if (run->turns.moves)
		run->entry = osr_calloc(run->scratch, fabric->n_ports, sizeof(*run->entry));
	for (uint32_t g = 0; g < run->follow.n; g++) {
		run->vls[g] = osr_alloc(run->scratch, n * run->n_classes, sizeof(*run->vls[g]));
		if (!run->follow.any[g])
			find_senders(run, g);
		if (run->follow.modes & OSR_CLAIM_MULTICAST)
			osr_union_prepare_groups(run, g);
	}
	if (osr_arena_failed(run->scratch, run->diag))
		return OSR_NOMEM;
	if (run->turns.moves)
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
	osr_invariant(n == 1 || n == 2);
	run.st = union_prepare(&run);
	/* The first call finds a loop, the second one explains it. */
	if (!run.st)
		union_follow(&run);
	if (!run.st && !run.found.n)
		osr_union_search(&run, rank);
	if (!run.st && run.found.n)
		union_follow(&run);
	osr_invariant(run.st || !run.found.n_unexplained);
	osr_arena_reset(scratch, mark);
	osr_invariant(run.st || !run.found.n || run.found.step);
	if (!run.st)
		*loop = (struct osr_loop){ .n = run.found.n, .step = run.found.step };
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
