/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "core/transition/transition_private.h"

#include "core/proved/gate.h"
#include "core/repair/repair.h"

#include <stdio.h>
#include <string.h>

#include <osmroutes/set.h>

/* Each attempt withdraws more entries than the attempt before it. */
enum attempt { WITHDRAW_CYCLES, WITHDRAW_CUT, WITHDRAW_ALL, N_ATTEMPTS };

/*
 * Does the proved checker agree, by these ranks: of the new tables, or of all lanes? If senders
 * choose in one generation alone, one lane stands for all, as in the union.
 */
static bool transition_confirmed(const struct transition *transition, uint32_t *rank)
{
	bool own = rank == transition->made.rank;
	struct osr_routing old = transition->old, now = transition->now;
	const struct osr_routing *certified = NULL;
	unsigned any = transition->gen[0].any_sls | transition->gen[1].any_sls;

	osr_invariant(rank);
	old.claims = 0;
	now.claims = OSR_CLAIM_DEADLOCK_FREE | transition->modes;
	now.n_vls = own ? transition->made.n_vls : OSR_MAX_VLS;
	now.rank = rank;
	if (any) {
		now.rank += (size_t)osr_lowest_bit(any) * transition->fabric->n_channels;
		now.sl = old.sl = NULL;
		now.granted = old.granted = NULL;
		now.mcast_vl = old.mcast_vl = 0;
		now.n_vls = 1;
	}
	if (own && transition->fabric == transition->routed)
		certified = &transition->made;
	return !osr_gate_mixed(transition->fabric, &now, &old, certified, transition->scratch, NULL,
			       NULL);
}

/*
 * Is every mixture of transition->old and transition->now free of loops? Mostly the certificate of
 * the new tables shows it; it knows nothing of another spanning tree. If it does not, and without
 * `quick`, all packets are followed: the answer has a loop, or ranks.
 */
static enum osr_status transition_ask(struct transition *transition, bool quick,
				      struct osr_diag *diag)
{
	bool own = transition->now.mcast_parent != transition->span || !transition->span;
	enum osr_status st = OSR_OK;

	transition->answer.loop.n = 0;
	transition->answer.refused = false;
	transition->answer.free = own && (transition->one_graph || transition->by_turn) &&
				  transition->made.rank &&
				  transition_confirmed(transition, transition->made.rank);
	if (transition->answer.free || quick)
		return OSR_OK;
	st = osr_union_loop(transition->fabric, transition->gen, 2, transition->modes,
			    transition->scratch, &transition->kept, &transition->answer.loop,
			    transition->answer.rank, diag);
	transition->answer.refused = !st && !transition->answer.loop.n &&
				     !transition_confirmed(transition, transition->answer.rank);
	transition->answer.free = !st && !transition->answer.loop.n && !transition->answer.refused;
	osr_invariant(st || transition->answer.free + transition->answer.refused +
					    (transition->answer.loop.n > 0) ==
				    1);
	return st;
}

/* A spanning tree of the standing fabric on the routed one: `up`, the channel to each parent. */
static void span_to_routed(const struct transition *transition, const uint32_t *up,
			   uint32_t *routed_up)
{
	const struct osr_fabric *fabric = transition->fabric, *routed = transition->routed;

	OSR_EACH_SWITCH(s, routed)
		routed_up[s] = OSR_NONE;
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t on = routed_channel(transition, c);

		if (on != OSR_NONE && up[fabric->chan_src[c]] == c)
			routed_up[routed->chan_src[on]] = on;
	}
}

/* And back. */
static void span_from_routed(const struct transition *transition, const uint32_t *routed_up,
			     uint32_t *up)
{
	const struct osr_fabric *fabric = transition->fabric, *routed = transition->routed;

	OSR_EACH_SWITCH(s, fabric)
		up[s] = OSR_NONE;
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t on = routed_channel(transition, c);

		if (on != OSR_NONE && routed_up[routed->chan_src[on]] == on)
			up[fabric->chan_src[c]] = c;
	}
}

/*
 * Sets transition->span, the old spanning tree, if its cables make a ring with the cables of the
 * new one. The ring is one of dependencies, too: a copy goes round, by an old entry here and by a
 * new one there. Only where the union's certificate proves every claim.
 */
static void find_span(struct transition *transition)
{
	uint32_t provable = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	const struct osr_fabric *fabric = transition->routed;
	const uint32_t *now = transition->routing->mcast_parent;
	uint32_t *up = osr_alloc(&transition->kept, fabric->n_switches, sizeof(*up)),
		 *old = osr_alloc(&transition->kept, fabric->n_switches, sizeof(*old)),
		 *span = osr_alloc(&transition->kept, transition->fabric->n_switches,
				   sizeof(*span));
	bool ring = false;

	if ((!transition->one_graph &&
	     transition->routing->claims & provable & ~transition->modes) ||
	    !transition->routing->rank || transition->routing->sl2vl ||
	    !(transition->modes & OSR_CLAIM_MULTICAST) || !up || !old || !span)
		return;
	span_to_routed(transition, transition->old.mcast_parent, old);
	osr_set_init(up, fabric->n_switches);
	OSR_EACH_SWITCH(s, fabric)
		if (now[s] != OSR_NONE)
			osr_set_join(up, s, fabric->chan_dst[now[s]]);
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t c = old[s];

		if (c != OSR_NONE && now[s] != c && now[fabric->chan_dst[c]] != fabric->chan_rev[c])
			ring |= !osr_set_join(up, s, fabric->chan_dst[c]);
	}
	if (ring)
		transition->routed_span =
			osr_repair_keep_tree(fabric, old, transition->scratch, &transition->kept);
	if (!transition->routed_span)
		return;
	span_from_routed(transition, transition->routed_span, span);
	transition->span = span;
}

/* ---- two rounds ------------------------------------------------------------------------------ */

/* The tables before anything is withdrawn. */
static void begin_first_round(struct transition *transition)
{
	size_t n = transition->fabric->n_switches, size = transition->fabric->n_dests * n;
	struct first_round *first = &transition->first;

	first->n = first->n_whole = 0;
	memcpy(first->lft, transition->old.lft, size);
	if (!first->n_early)
		return;
	for (size_t at = 0; at < size; at++)
		if (first->early[at % n])
			first->lft[at] = transition->now.lft[at];
}

/* Sets first.whole: the switches whose entries, followed by `old`, lead to LID d. */
static void find_whole_routes(struct transition *transition, struct osr_follow *old, uint32_t d)
{
	const struct osr_fabric *fabric = transition->fabric;
	bool *whole = transition->first.whole;

	memset(whole, 0, fabric->n_switches * sizeof(*whole));
	osr_follow_load(old, d);
	/* Downstream first. A switch on a loop is not in the order: its route does not arrive. */
	for (uint32_t i = osr_follow_order(old); i-- > 0;) {
		uint32_t s = old->order[i], c = old->out[0][s];

		whole[s] = s == fabric->dest_switch[d] ||
			   (c != OSR_NONE && whole[fabric->chan_dst[c]]);
	}
}

/*
 * Entries of switches on a cycle of the first round's entries and the new ones, or behind a cycle;
 * or of all switches. Entries that lead to no host are withdrawn before the others, for that costs
 * no packet.
 */
static void withdraw_more(struct transition *transition, enum attempt attempt)
{
	const struct osr_fabric *fabric = transition->fabric;
	struct first_round *round_1 = &transition->first;
	size_t n = fabric->n_switches;
	struct osr_routing round = transition->old;
	const struct osr_generation mixed[2] = { { .routing = &round },
						 { .routing = &transition->now } };
	struct osr_follow old = transition->follow, mix = transition->follow;

	if (attempt == WITHDRAW_CYCLES)
		begin_first_round(transition);
	round.lft = round_1->lft;
	old.n = 1;
	mix.gen = mixed;
	OSR_EACH_DEST(d, fabric) {
		const uint8_t *was = transition->old.lft + d * n,
			      *now = transition->now.lft + d * n;
		uint8_t *first = round_1->lft + d * n;

		/* A LID of a switch that is left out has no new entries: none is withdrawn. */
		if (!memcmp(was, now, n) || routed_dest(transition, d) == OSR_NONE)
			continue;
		find_whole_routes(transition, &old, d);
		for (unsigned pass = 0; pass < 2; pass++) {
			if (attempt == WITHDRAW_CYCLES) {
				osr_follow_load(&mix, d);
				if (osr_follow_order(&mix) == n)
					break;
			}
			OSR_EACH_SWITCH(s, fabric) {
				if (first[s] == OSR_NO_PATH || first[s] == now[s])
					continue;
				if (attempt == WITHDRAW_CYCLES && !mix.n_in[s])
					continue;
				if (round_1->whole[s] && (!pass || attempt == WITHDRAW_CUT))
					continue;
				first[s] = OSR_NO_PATH;
				round_1->n++;
				round_1->n_whole += round_1->whole[s];
			}
		}
	}
}

/*
 * The mixtures of both rounds. The first has old entries or none, and new ones on switches to which
 * no old table leads, under the SLs and SL2VL tables of both. The second has the entries that the
 * first leaves, and the new ones, under the SLs of both and the new SL2VL tables. Multicast tables
 * change after the second.
 */
static enum osr_status rounds_ask(struct transition *transition, bool quick, struct osr_diag *diag)
{
	const struct osr_routing old = transition->old, now = transition->now;
	enum osr_status st = OSR_OK;

	transition->answer.free = transition->one_graph && !transition->first.n_early;
	if (!transition->answer.free) {
		transition->now.lft = transition->first.lft;
		transition->now.mcast_parent = old.mcast_parent;
		st = transition_ask(transition, quick, diag);
		transition->now = now;
	}
	if (st || !transition->answer.free)
		return st;
	transition->old.lft = transition->first.lft;
	if (now.sl2vl) {
		transition->old.sl2vl = now.sl2vl;
		transition->old.sl2vl_row = now.sl2vl_row;
		memcpy(transition->old.ca_sl2vl, now.ca_sl2vl, sizeof(now.ca_sl2vl));
	}
	st = transition_ask(transition, quick, diag);
	transition->old = old;
	return st;
}

static void forget_first_round(struct transition *transition)
{
	transition->routing->stable.n_withdrawn = transition->routing->stable.n_withdrawn_whole = 0;
	transition->routing->withdrawn = NULL;
	transition->routing->early = NULL;
	transition->routing->n_early = 0;
}

/* The entries of the first round, in the numbering of the routed fabric. */
static enum osr_status name_first_round(struct transition *transition, struct osr_arena *result,
					struct osr_diag *diag)
{
	const struct first_round *first = &transition->first;
	struct osr_routing *routing = transition->routing;
	size_t at = 0;
	uint64_t *withdrawn = osr_alloc(result, first->n, sizeof(*withdrawn)), n = 0;
	uint32_t *early = osr_alloc(result, first->n_early, sizeof(*early)), n_early = 0;

	if (!withdrawn || !early)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the entries of two rounds");
	OSR_EACH_DEST(d, transition->fabric) {
		uint64_t row =
			(uint64_t)routed_dest(transition, d) * transition->routed->n_switches;

		OSR_EACH_SWITCH(s, transition->fabric) {
			if (first->lft[at] != transition->old.lft[at] && !first->early[s])
				withdrawn[n++] = row + routed_switch(transition, s);
			at++;
		}
	}
	OSR_EACH_SWITCH(s, transition->fabric)
		if (first->early[s])
			early[n_early++] = routed_switch(transition, s);
	osr_invariant(n == first->n && n_early == first->n_early && first->n_whole <= n);
	routing->withdrawn = n ? withdrawn : NULL;
	routing->early = n_early ? early : NULL;
	routing->n_early = n_early;
	routing->stable.n_withdrawn = first->n;
	routing->stable.n_withdrawn_whole = first->n_whole;
	if (transition->answer.free)
		routing->stable.transition = OSR_TRANSITION_ROUNDS;
	return OSR_OK;
}

/*
 * One attempt after the other, with this spanning tree, until both rounds are free of loops. If a
 * certificate may show that quickly, entries whose route is cut are withdrawn before all packets
 * are followed: that costs no packet, and mostly suffices.
 */
static enum osr_status attempt_rounds(struct transition *transition, bool certified, uint32_t *span,
				      struct osr_diag *diag)
{
	transition->now.mcast_parent = span;
	for (enum attempt attempt = WITHDRAW_CYCLES; attempt < N_ATTEMPTS; attempt++) {
		uint64_t had = attempt == WITHDRAW_CYCLES ? 0 : transition->first.n;
		bool more = attempt == WITHDRAW_CUT && certified;
		enum osr_status st;

		if (attempt == WITHDRAW_CYCLES)
			more = transition->first.n_early;
		withdraw_more(transition, attempt);
		osr_invariant(transition->first.n >= had);
		if (transition->first.n == had && !more)
			continue;
		st = rounds_ask(transition, certified && attempt == WITHDRAW_CYCLES, diag);
		if (st || transition->answer.free)
			return st;
	}
	return OSR_OK;
}

/* Two rounds with the new spanning tree, or else with the old one. */
static enum osr_status transition_rounds(struct transition *transition, struct osr_arena *result,
					 struct osr_diag *diag)
{
	bool certified = (transition->one_graph || transition->by_turn) &&
			 transition->routing->rank && transition->routing->stable.kept;
	struct osr_stable *stable = &transition->routing->stable;
	struct osr_diag why = { "" };
	enum osr_status st;

	transition->answer.free = false;
	st = attempt_rounds(transition, certified, transition->made.mcast_parent, diag);
	if (!st && !transition->answer.free && transition->span)
		st = attempt_rounds(transition, certified, (uint32_t *)transition->span, diag);
	if (st)
		return st;
	/*
	 * Say which loop is left when as many entries are withdrawn as possible. The first attempt
	 * goes out: with it at least no packet goes in circles.
	 */
	if (!transition->answer.free) {
		if (transition->answer.loop.n) {
			osr_loop_say(transition->fabric, &transition->answer.loop, &why);
			memcpy(stable->transition_why, why.text,
			       sizeof(stable->transition_why) - 1);
		}
		withdraw_more(transition, WITHDRAW_CYCLES);
	}
	return name_first_round(transition, result, diag);
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Does a copy of a multicast packet wait in the loop that was found? */
static bool loop_has_copies(const struct transition *transition)
{
	bool copies = false;

	for (uint32_t i = 0; i < transition->answer.loop.n; i++)
		copies |= !transition->answer.loop.step[i].lid;
	return copies;
}

/*
 * The answer for unicast where multicast alone makes loops: in one round, or in the first round
 * that it needs.
 */
static enum osr_status transition_unicast(struct transition *transition, struct osr_arena *result,
					  struct osr_diag *diag)
{
	struct osr_stable *stable = &transition->routing->stable;
	const struct osr_stable asked = *stable;
	enum osr_status st;

	transition->modes &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	transition->now.mcast_parent = transition->made.mcast_parent;
	transition->span = NULL;
	forget_first_round(transition);
	st = transition_ask(transition, false, diag);
	if (!st && !transition->answer.free)
		st = transition_rounds(transition, result, diag);
	stable->transition_unicast = transition->answer.free;
	stable->transition = OSR_TRANSITION_LOOP;
	memcpy(stable->transition_why, asked.transition_why, sizeof(asked.transition_why));
	return st;
}

/* The new tables get the old spanning tree, and the certificate of all mixtures. */
static enum osr_status take_span(struct transition *transition, struct osr_arena *result,
				 struct osr_diag *diag)
{
	const struct osr_fabric *fabric = transition->fabric;
	size_t n = transition->routed->n_channels, n_vls = transition->routing->n_vls;
	uint32_t *rank = osr_alloc(result, n_vls * n, sizeof(*rank)),
		 *span = osr_alloc(result, transition->routed->n_switches, sizeof(*span));

	if (!rank || !span)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the old spanning order");
	for (size_t vl = 0; vl < n_vls; vl++) {
		const uint32_t *all = transition->answer.rank +
				      (transition->one_graph ? 0 : vl) * fabric->n_channels;

		OSR_EVERY_CHANNEL(c, fabric) {
			uint32_t on = routed_channel(transition, c);

			if (on != OSR_NONE)
				rank[vl * n + on] = all[c];
		}
	}
	memcpy(span, transition->routed_span, transition->routed->n_switches * sizeof(*span));
	transition->routing->rank = rank;
	transition->routing->mcast_parent = span;
	transition->routing->stable.transition_order = true;
	return OSR_OK;
}

enum osr_status osr_transition(const struct osr_job *job)
{
	const struct osr_fabric *fabric = job->held ? job->held->standing : job->fabric;
	struct transition transition = { .fabric = fabric,
					 .routing = job->routing,
					 .routed = job->fabric,
					 .scratch = job->scratch };
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct osr_stable *stable = &job->routing->stable;
	const struct osr_routing *previous = &job->previous->routing;
	bool large = (uint64_t)fabric->n_dests * fabric->n_switches > OSR_TRANSITION_ENTRIES;
	struct osr_diag why = { "" };
	enum osr_status st;

	stable->transition = OSR_TRANSITION_UNASKED;
	if (!previous->lft || !(previous->claims & OSR_CLAIM_DEADLOCK_FREE))
		osr_fail(&why, OSR_OK,
			 "the old tables are not proven free of deadlock by themselves");
	else if (!(transition.routing->claims & OSR_CLAIM_DEADLOCK_FREE))
		osr_fail(&why, OSR_OK,
			 "the new tables are not proven free of deadlock by themselves");
	if (large)
		osr_fail(&why, OSR_OK, "%u switches and %u LIDs would take too long",
			 fabric->n_switches, fabric->n_dests);
	memcpy(stable->transition_why, why.text, sizeof(stable->transition_why) - 1);
	if (why.text[0])
		return OSR_OK;
	st = osr_transition_begin(&transition, job);
	if (!st)
		st = transition_ask(&transition, false, job->diag);
	stable->transition_mcast = transition.modes & OSR_CLAIM_MULTICAST;
	/*
	 * In one round as they are; else after a full route with the old spanning tree; else in two
	 * rounds.
	 */
	if (!st && !transition.answer.free) {
		osr_fail(&why, OSR_OK, "the proved checker does not confirm that it cannot");
		if (transition.answer.loop.n)
			osr_loop_say(fabric, &transition.answer.loop, &why);
		if (!stable->kept)
			find_span(&transition);
		if (transition.span) {
			transition.now.mcast_parent = (uint32_t *)transition.span;
			st = transition_ask(&transition, false, job->diag);
		}
	}
	if (!st && !transition.answer.free)
		memcpy(stable->transition_why, why.text, sizeof(stable->transition_why) - 1);
	if (!st)
		stable->transition =
			transition.answer.free ? OSR_TRANSITION_FREE : OSR_TRANSITION_LOOP;
	if (!st && !transition.answer.free)
		st = transition_rounds(&transition, job->arena, job->diag);
	if (!st && !transition.answer.free && loop_has_copies(&transition))
		st = transition_unicast(&transition, job->arena, job->diag);
	if (!st && transition.answer.free && transition.span &&
	    transition.now.mcast_parent == transition.span)
		st = take_span(&transition, job->arena, job->diag);
	if (st) {
		stable->transition = OSR_TRANSITION_UNASKED;
		forget_first_round(&transition);
	}
	osr_arena_free(&transition.kept);
	osr_arena_reset(job->scratch, mark);
	return st;
}
