/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "core/transition/transition.h"

#include "core/data/carry.h"
#include "core/proved/gate.h"
#include "core/repair/repair.h"
#include "core/verify/follow.h"

#include <stdio.h>
#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/set.h>

/* Entries withdrawn besides the old ones. */
enum attempt { WITHDRAW_CYCLES, WITHDRAW_CUT, WITHDRAW_ALL, N_ATTEMPTS };

struct transition {
	const struct osr_fabric *fabric; /* the whole standing fabric */
	struct osr_routing *routing;     /* the new tables, on the routed fabric */
	struct osr_routing made;         /* the same on f */
	struct osr_earlier was;          /* the tables of the switches, on fabric */
	struct osr_routing old;          /* the same, as it is followed */
	struct osr_routing now;          /* the new ones, as they would be */
	const struct osr_fabric *routed;
	struct osr_earlier
		routed_on;     /* its map: f in the routed fabric; if they are not the same */
	const uint32_t *order; /* [n_switches] the old spanning order, if both make a ring */
	const uint32_t *routed_order; /* the same on the routed fabric */
	struct osr_generation gen[2]; /* old and now, with the SLs that senders may choose */
	uint32_t modes;
	bool one_graph; /* any SL is safe in both: one VL stands for all */
	bool by_turn;   /* any SL is safe in both by lanes by turn */

	/* The last answer. */
	bool free;
	bool refused; /* no loop was found, and the proved checker does not confirm that */
	struct osr_loop loop;
	uint32_t *rank; /* [OSR_MAX_VLS * n_channels] if all has been followed */

	bool *early; /* [n_switches] no old table leads there, and it holds tables */
	uint32_t n_early;
	uint8_t *first;           /* [n_dests * n_switches] the tables after the first round */
	uint64_t n, n_whole;      /* entries withdrawn, and those whose old route is whole */
	bool *whole;              /* [n_switches] the old route from there leads to a LID */
	struct osr_follow follow; /* entries of the old tables, and of the new ones */

	struct osr_arena *scratch;
	struct osr_arena kept; /* of data that must outlive a use of scratch */
};

/* May senders choose their SL? Also if there is one lane: then SLs say nothing. */
static bool transition_any_sl(const struct osr_routing *routing)
{
	return !routing->sl || routing->n_vls <= 1 || (routing->claims & OSR_CLAIM_ANY_SL);
}

/* ---- the question ---------------------------------------------------------------------------- */

/* A switch of f in the routed fabric; OSR_NONE: it is left out there. */
static uint32_t routed_switch(const struct transition *transition, uint32_t s)
{
	return transition->fabric == transition->routed ? s : transition->routed_on.map.sw[s];
}

/*
 * The tables of the switches: the last tables, if they have an entry for this switch and this LID,
 * else the entries that the switch has confirmed. By an entry for a port without a cable no packet
 * goes on. To a switch that is left out, and was left out before, no packet comes: it has no
 * entries here.
 */
static void old_tables(struct transition *transition, const struct osr_held *held)
{
	const struct osr_fabric *fabric = transition->fabric;
	struct osr_routing *old = &transition->was.routing;
	size_t n = fabric->n_switches;
	bool all_lids = true;

	OSR_EACH_DEST(d, fabric)
		all_lids &= transition->was.map.dest[d] != OSR_NONE;
	for (uint32_t s = 0; held && s < n; s++) {
		const struct osr_held_switch *sw = &held->sw[s];
		bool known = transition->was.map.sw[s] != OSR_NONE;
		size_t n_ports = fabric->sw_n_ports[s] + (size_t)1;

		if (!sw->lft || (known ? all_lids : routed_switch(transition, s) == OSR_NONE))
			continue;
		OSR_EACH_DEST(d, fabric) {
			uint16_t lid = fabric->dest_lid[d];
			uint8_t port = lid < sw->n_lids ? sw->lft[lid] : OSR_NO_PATH;

			if (known && transition->was.map.dest[d] != OSR_NONE)
				continue;
			if (osr_port_channel(fabric, s, port) == OSR_NONE &&
			    s != fabric->dest_switch[d])
				port = OSR_NO_PATH;
			old->lft[d * n + s] = port;
		}
		if (known)
			continue;
		transition->early[s] = true;
		transition->n_early++;
		/* A packet that the switch drops goes on by the other tables: it waits for less. */
		for (size_t i = 0; sw->sl2vl && old->sl2vl && i < n_ports * n_ports * 16; i++) {
			uint8_t vl = sw->sl2vl[i / 16][i % 16];

			old->sl2vl[old->sl2vl_row[s] + i / 16][i % 16] =
				vl < OSR_MAX_VLS ? vl : OSR_VL_UNSET;
		}
	}
}

/*
 * A switch that is left out keeps its tables. The VL of a packet that no table knows does not
 * matter, because none comes there.
 */
static void kept_tables(struct transition *transition)
{
	const struct osr_routing *old = &transition->was.routing;
	size_t n = transition->fabric->n_switches;

	for (uint32_t s = 0; transition->fabric != transition->routed && s < n; s++) {
		size_t n_ports = transition->fabric->sw_n_ports[s] + (size_t)1;
		uint8_t *vl = transition->made.sl2vl
				      ? transition->made.sl2vl[transition->made.sl2vl_row[s]]
				      : NULL;

		const uint8_t *was = old->sl2vl ? old->sl2vl[old->sl2vl_row[s]] : NULL;

		if (routed_switch(transition, s) != OSR_NONE)
			continue;
		OSR_EACH_DEST(d, transition->fabric)
			transition->made.lft[d * n + s] = old->lft[d * n + s];
		for (size_t i = 0; vl && i < n_ports * n_ports * sizeof(osr_sl2vl_t); i++) {
			vl[i] = was ? was[i] : (uint8_t)(i % 16);
			vl[i] = vl[i] == OSR_VL_UNSET ? 0 : vl[i];
		}
	}
}

/* A pair that had no route has sent on no SL; a pair that has none now sends on no other SL. */
static void sls_of_routes(struct transition *transition)
{
	uint8_t *old = transition->was.routing.sl, *now = transition->made.sl;
	uint32_t n = transition->fabric->n_switches, n_dests = transition->fabric->n_dests;
	size_t at = 0;

	for (uint32_t d = 0; old && now && d < n_dests; d++) {
		bool there = transition->fabric == transition->routed ||
			     transition->routed_on.map.dest[d] != OSR_NONE;

		for (uint32_t s = 0; s < n; s++, at++) {
			bool had = osr_carry_had_path(&transition->was, d, s);

			if (had && (!there || routed_switch(transition, s) == OSR_NONE))
				now[at] = old[at];
			if (!had)
				old[at] = now[at];
		}
	}
}

static enum osr_status transition_begin(struct transition *transition, const struct osr_job *job)
{
	const struct osr_routing *previous = &job->previous->routing;
	size_t n = transition->fabric->n_switches, size = transition->fabric->n_dests * n;
	bool tables = transition->routing->sl2vl || previous->sl2vl,
	     any_old = transition_any_sl(previous),
	     any_new = transition_any_sl(transition->routing);
	enum osr_status st =
		osr_carry(&job->previous->fabric, previous, transition->fabric, transition->scratch,
			  &transition->kept, &transition->was, job->diag);

	transition->rank =
		osr_alloc(&transition->kept, (size_t)OSR_MAX_VLS * transition->fabric->n_channels,
			  sizeof(*transition->rank));
	transition->first = osr_alloc(&transition->kept, size, 1);
	transition->whole = osr_alloc(&transition->kept, n, sizeof(*transition->whole));
	transition->early = osr_calloc(&transition->kept, n, sizeof(*transition->early));
	transition->gen[0] = (struct osr_generation){ .routing = &transition->old };
	transition->gen[1] = (struct osr_generation){ .routing = &transition->now };
	transition->follow =
		(struct osr_follow){ .fabric = transition->fabric, .gen = transition->gen, .n = 2 };
	transition->made = *transition->routing;
	if (!st && transition->fabric != transition->routed) {
		st = osr_carry(transition->routed, transition->routing, transition->fabric,
			       transition->scratch, &transition->kept, &transition->routed_on,
			       job->diag);
		transition->made = transition->routed_on.routing;
	}
	if (!st && osr_arena_failed(&transition->kept, NULL))
		st = OSR_NOMEM;
	if (!st) {
		old_tables(transition, job->held);
		kept_tables(transition);
		sls_of_routes(transition);
		transition->old = transition->was.routing;
		transition->now = transition->made;
		st = osr_follow_init(&transition->follow, &transition->kept, job->diag);
	}
	if (st)
		return osr_fail(job->diag, OSR_NOMEM,
				"out of memory for the transition from the old tables to the new "
				"ones");
	transition->modes = previous->claims & transition->routing->claims &
			    (OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST);
	if (!transition->old.mcast_parent || !transition->now.mcast_parent)
		transition->modes &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	transition->by_turn =
		osr_repair_is_by_turn(previous) && osr_repair_is_by_turn(transition->routing);
	transition->one_graph = !tables && any_old && any_new;
	if (transition->one_graph) {
		transition->modes &= OSR_CLAIM_MULTICAST;
		transition->old.mcast_vl = transition->now.mcast_vl = 0;
	}
	/*
	 * Any one SL stands for all: where all pairs send on it, no lane has a dependency that its
	 * lane lacks.
	 */
	for (unsigned g = 0; !tables && g < 2; g++) {
		struct osr_routing *routing = g ? &transition->now : &transition->old;

		if (!(g ? any_new : any_old))
			continue;
		transition->gen[g].any_sls = transition->one_graph || !job->request.chosen_sls
						     ? 1
						     : job->request.chosen_sls;
		routing->sl = NULL;
		routing->granted = NULL;
	}
	return OSR_OK;
}

/*
 * Does the proved checker agree, by this order: the order of the new tables, or one of all lanes?
 * If senders choose in one generation alone, one lane stands for all, as in the union.
 */
static bool transition_confirmed(const struct transition *transition, uint32_t *rank)
{
	bool own = rank == transition->made.rank;
	struct osr_routing old = transition->old, now = transition->now;
	uint16_t any = transition->gen[0].any_sls | transition->gen[1].any_sls;

	old.claims = 0;
	now.claims = OSR_CLAIM_DEADLOCK_FREE | transition->modes;
	now.n_vls = own ? transition->made.n_vls : OSR_MAX_VLS;
	now.rank = rank;
	if (any) {
		now.rank += (size_t)__builtin_ctz(any) * transition->fabric->n_channels;
		now.sl = old.sl = NULL;
		now.granted = old.granted = NULL;
		now.mcast_vl = old.mcast_vl = 0;
		now.n_vls = 1;
	}
	return !osr_gate_mixed(transition->fabric, &now, &old,
			       own && transition->fabric == transition->routed ? &transition->made
									       : NULL,
			       transition->scratch, NULL, NULL);
}

/*
 * Is every mixture of transition->old and transition->now free of loops? Mostly the certificate of
 * the new tables, which knows nothing of another spanning order, shows it; else, but if `quick`,
 * all packets are followed: transition->loop, or transition->rank.
 */
static enum osr_status transition_ask(struct transition *transition, bool quick,
				      struct osr_diag *diag)
{
	bool own = transition->now.mcast_parent != transition->order || !transition->order;
	enum osr_status st = OSR_OK;

	transition->loop.n = 0;
	transition->refused = false;
	transition->free = own && (transition->one_graph || transition->by_turn) &&
			   transition->made.rank &&
			   transition_confirmed(transition, transition->made.rank);
	if (transition->free || quick)
		return OSR_OK;
	st = osr_union_loop(transition->fabric, transition->gen, 2, transition->modes,
			    transition->scratch, &transition->kept, &transition->loop,
			    transition->rank, diag);
	transition->refused =
		!st && !transition->loop.n && !transition_confirmed(transition, transition->rank);
	transition->free = !st && !transition->loop.n && !transition->refused;
	return st;
}

/* A spanning order of f on the routed fabric, or back. */
static void carry_order(const struct transition *transition, const uint32_t *from, bool back,
			uint32_t *to)
{
	const struct osr_fabric *fabric = transition->fabric;
	uint32_t n = back ? fabric->n_switches : transition->routed->n_switches;

	for (uint32_t s = 0; s < n; s++)
		to[s] = OSR_NONE;
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t on = transition->fabric == transition->routed
				      ? c
				      : transition->routed_on.map.chan[c],
			 s = fabric->chan_src[c];

		if (on == OSR_NONE)
			continue;
		if (back && from[transition->routed->chan_src[on]] == on)
			to[s] = c;
		else if (!back && from[s] == c)
			to[transition->routed->chan_src[on]] = on;
	}
}

/*
 * The old spanning order, if its cables and those of the new one make a ring, which is one of
 * dependencies, too: a copy goes round, old entry here and new one there. Only where the union's
 * certificate proves every claim.
 */
static void find_order(struct transition *transition)
{
	uint32_t provable = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	const struct osr_fabric *fabric = transition->routed;
	const uint32_t *now = transition->routing->mcast_parent;
	uint32_t *up = osr_alloc(&transition->kept, fabric->n_switches, sizeof(*up)),
		 *old = osr_alloc(&transition->kept, fabric->n_switches, sizeof(*old)),
		 *order = osr_alloc(&transition->kept, transition->fabric->n_switches,
				    sizeof(*order));
	bool ring = false;

	if ((!transition->one_graph &&
	     transition->routing->claims & provable & ~transition->modes) ||
	    !transition->routing->rank || transition->routing->sl2vl ||
	    !(transition->modes & OSR_CLAIM_MULTICAST) || !up || !old || !order)
		return;
	carry_order(transition, transition->old.mcast_parent, false, old);
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
		transition->routed_order =
			osr_repair_keep_tree(fabric, old, transition->scratch, &transition->kept);
	if (!transition->routed_order)
		return;
	carry_order(transition, transition->routed_order, true, order);
	transition->order = order;
}

/* ---- two rounds ------------------------------------------------------------------------------ */

/*
 * First what leads to no host, for that costs no packet, then what does: of the switches on a cycle
 * of the first round's and the new entries, or behind one; or of all.
 */
static void withdraw_more(struct transition *transition, enum attempt attempt)
{
	const struct osr_fabric *fabric = transition->fabric;
	size_t n = fabric->n_switches;
	struct osr_routing round = transition->old;
	const struct osr_generation mixed[2] = { { .routing = &round },
						 { .routing = &transition->now } };
	struct osr_follow old = transition->follow, mix = transition->follow;

	if (attempt == WITHDRAW_CYCLES) {
		memcpy(transition->first, transition->old.lft, fabric->n_dests * n);
		for (size_t at = 0; transition->n_early && at < fabric->n_dests * n; at++)
			transition->first[at] = transition->early[at % n] ? transition->now.lft[at]
									  : transition->first[at];
		transition->n = transition->n_whole = 0;
	}
	round.lft = transition->first;
	old.n = 1;
	mix.gen = mixed;
	OSR_EACH_DEST(d, fabric) {
		const uint8_t *was = transition->old.lft + d * n,
			      *now = transition->now.lft + d * n;
		uint8_t *first = transition->first + d * n;

		/*
		 * A LID of a switch that is left out has no new entries: nothing of it is
		 * withdrawn.
		 */
		if (!memcmp(was, now, n) ||
		    (fabric != transition->routed && transition->routed_on.map.dest[d] == OSR_NONE))
			continue;
		/*
		 * Downstream first. Switches on a loop are not in the order: their routes do not
		 * arrive.
		 */
		memset(transition->whole, 0, n * sizeof(*transition->whole));
		osr_follow_load(&old, d);
		for (uint32_t i = osr_follow_order(&old); i-- > 0;) {
			uint32_t s = old.order[i], c = old.out[0][s];

			transition->whole[s] =
				s == fabric->dest_switch[d] ||
				(c != OSR_NONE && transition->whole[fabric->chan_dst[c]]);
		}
		for (unsigned pass = 0; pass < 2; pass++) {
			if (attempt == WITHDRAW_CYCLES)
				osr_follow_load(&mix, d);
			if (attempt == WITHDRAW_CYCLES && osr_follow_order(&mix) == n)
				break;
			OSR_EACH_SWITCH(s, fabric)
				if (first[s] != OSR_NO_PATH && first[s] != now[s] &&
				    (attempt != WITHDRAW_CYCLES || mix.n_in[s]) &&
				    (!transition->whole[s] || (pass && attempt != WITHDRAW_CUT))) {
					first[s] = OSR_NO_PATH;
					transition->n++;
					transition->n_whole += transition->whole[s];
				}
		}
	}
}

/*
 * The first round: old entries or none, and new ones on switches to which no old table leads, under
 * the SLs and SL2VL tables of both. The second: what is left of them, and the new ones, under the
 * SLs of both and the new SL2VL tables. Multicast tables change after that.
 */
static enum osr_status rounds_ask(struct transition *transition, bool quick, struct osr_diag *diag)
{
	const struct osr_routing old = transition->old, now = transition->now;
	enum osr_status st = OSR_OK;

	transition->free = transition->one_graph && !transition->n_early;
	if (!transition->free) {
		transition->now.lft = transition->first;
		transition->now.mcast_parent = old.mcast_parent;
		st = transition_ask(transition, quick, diag);
		transition->now = now;
	}
	if (st || !transition->free)
		return st;
	transition->old.lft = transition->first;
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
	size_t n_switches = transition->fabric->n_switches,
	       size = transition->fabric->n_dests * n_switches;
	uint64_t *withdrawn = osr_alloc(result, transition->n, sizeof(*withdrawn)), n = 0;
	uint32_t *early = osr_alloc(result, transition->n_early, sizeof(*early)), n_early = 0;

	if (!withdrawn || !early)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the entries of two rounds");
	for (size_t at = 0; at < size; at++) {
		uint32_t s = (uint32_t)(at % n_switches), d = (uint32_t)(at / n_switches);

		if (transition->first[at] == transition->old.lft[at] || transition->early[s])
			continue;
		if (transition->fabric != transition->routed)
			d = transition->routed_on.map.dest[d];
		withdrawn[n++] =
			(uint64_t)d * transition->routed->n_switches + routed_switch(transition, s);
	}
	for (uint32_t s = 0; s < n_switches; s++)
		if (transition->early[s])
			early[n_early++] = routed_switch(transition, s);
	transition->routing->withdrawn = n ? withdrawn : NULL;
	transition->routing->early = n_early ? early : NULL;
	transition->routing->n_early = n_early;
	transition->routing->stable.n_withdrawn = transition->n;
	transition->routing->stable.n_withdrawn_whole = transition->n_whole;
	if (transition->free)
		transition->routing->stable.transition = OSR_TRANSITION_ROUNDS;
	return OSR_OK;
}

/*
 * As they are, and with the old spanning order. Where a certificate may show it quickly, the
 * entries whose route is cut are withdrawn before all tables are followed: that costs no packet,
 * and mostly suffices.
 */
static enum osr_status transition_rounds(struct transition *transition, struct osr_arena *result,
					 struct osr_diag *diag)
{
	bool certified = (transition->one_graph || transition->by_turn) &&
			 transition->routing->rank && transition->routing->stable.kept;
	struct osr_stable *stable = &transition->routing->stable;
	struct osr_diag why = { "" };
	enum osr_status st = OSR_OK;

	transition->free = false;
	for (unsigned keep = 0; keep <= (transition->order ? 1u : 0u) && !st && !transition->free;
	     keep++) {
		transition->now.mcast_parent =
			keep ? (uint32_t *)transition->order : transition->made.mcast_parent;
		for (enum attempt attempt = 0; attempt < N_ATTEMPTS && !st && !transition->free;
		     attempt++) {
			uint64_t had = attempt ? transition->n : 0;
			bool more = attempt ? certified && attempt == WITHDRAW_CUT
					    : transition->n_early;

			withdraw_more(transition, attempt);
			if (transition->n > had || more)
				st = rounds_ask(transition, certified && attempt == WITHDRAW_CYCLES,
						diag);
		}
	}
	if (st)
		return st;
	/*
	 * The loops left when as many entries are withdrawn as possible; but no packet goes in
	 * circles.
	 */
	if (!transition->free) {
		if (transition->loop.n) {
			osr_loop_say(transition->fabric, &transition->loop, &why);
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

	for (uint32_t i = 0; i < transition->loop.n; i++)
		copies |= !transition->loop.step[i].lid;
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
	transition->order = NULL;
	forget_first_round(transition);
	st = transition_ask(transition, false, diag);
	if (!st && !transition->free)
		st = transition_rounds(transition, result, diag);
	stable->transition_unicast = transition->free;
	stable->transition = OSR_TRANSITION_LOOP;
	memcpy(stable->transition_why, asked.transition_why, sizeof(asked.transition_why));
	return st;
}

/* The new tables get the old spanning order, and the certificate of all mixtures. */
static enum osr_status take_order(struct transition *transition, struct osr_arena *result,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = transition->fabric;
	size_t n = transition->routed->n_channels, n_vls = transition->routing->n_vls;
	uint32_t *rank = osr_alloc(result, n_vls * n, sizeof(*rank)),
		 *order = osr_alloc(result, transition->routed->n_switches, sizeof(*order));

	if (!rank || !order)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the old spanning order");
	for (size_t vl = 0; vl < n_vls; vl++) {
		const uint32_t *all =
			transition->rank + (transition->one_graph ? 0 : vl) * fabric->n_channels;

		OSR_EVERY_CHANNEL(c, fabric) {
			uint32_t on = fabric == transition->routed
					      ? c
					      : transition->routed_on.map.chan[c];

			if (on != OSR_NONE)
				rank[vl * n + on] = all[c];
		}
	}
	memcpy(order, transition->routed_order, transition->routed->n_switches * sizeof(*order));
	transition->routing->rank = rank;
	transition->routing->mcast_parent = order;
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
	st = transition_begin(&transition, job);
	if (!st)
		st = transition_ask(&transition, false, job->diag);
	stable->transition_mcast = transition.modes & OSR_CLAIM_MULTICAST;
	/*
	 * In one round as they are; else after a full route with the old spanning order; else in
	 * two rounds.
	 */
	if (!st && !transition.free) {
		osr_fail(&why, OSR_OK, "the proved checker does not confirm that it cannot");
		if (transition.loop.n)
			osr_loop_say(fabric, &transition.loop, &why);
		if (!stable->kept)
			find_order(&transition);
		if (transition.order) {
			transition.now.mcast_parent = (uint32_t *)transition.order;
			st = transition_ask(&transition, false, job->diag);
		}
	}
	if (!st && !transition.free)
		memcpy(stable->transition_why, why.text, sizeof(stable->transition_why) - 1);
	if (!st)
		stable->transition = transition.free ? OSR_TRANSITION_FREE : OSR_TRANSITION_LOOP;
	if (!st && !transition.free)
		st = transition_rounds(&transition, job->arena, job->diag);
	if (!st && !transition.free && loop_has_copies(&transition))
		st = transition_unicast(&transition, job->arena, job->diag);
	if (!st && transition.free && transition.order &&
	    transition.now.mcast_parent == transition.order)
		st = take_order(&transition, job->arena, job->diag);
	if (st) {
		stable->transition = OSR_TRANSITION_UNASKED;
		forget_first_round(&transition);
	}
	osr_arena_free(&transition.kept);
	osr_arena_reset(job->scratch, mark);
	return st;
}
