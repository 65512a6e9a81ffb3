/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The tables that switches hold, and the tables that they get, on the whole standing fabric. */
#include "core/transition/transition_private.h"

#include "core/repair/repair.h"

/* May senders choose their SL? Also if there is one lane: then SLs say nothing. */
static bool transition_any_sl(const struct osr_routing *routing)
{
	return !routing->sl || routing->n_vls <= 1 || (routing->claims & OSR_CLAIM_ANY_SL);
}

/* Bytes of the SL2VL tables of switch s. */
static size_t sl2vl_size(const struct osr_fabric *fabric, uint32_t s)
{
	size_t n_ports = fabric->sw_n_ports[s] + (size_t)1;

	return n_ports * n_ports * sizeof(osr_sl2vl_t);
}

/*
 * SL2VL tables that switch s has confirmed. Where they name no VL the switch drops the packet; then
 * the lane of the other generation stands, because a packet that is dropped waits for less.
 */
static void add_held_sl2vl(const struct osr_fabric *fabric, uint32_t s, const uint8_t *held,
			   uint8_t *old)
{
	for (size_t i = 0; i < sl2vl_size(fabric, s); i++)
		old[i] = held[i] < OSR_MAX_VLS ? held[i] : OSR_VL_UNSET;
}

/*
 * Adds the entries that switches have confirmed to the tables of the last sweep, for switches and
 * LIDs that these lack. No packet goes on by an entry for a port without a cable. No packet comes
 * to a switch that is left out now and was left out before: it has no entries here.
 */
static void add_held_tables(struct transition *transition, const struct osr_held *held)
{
	const struct osr_fabric *fabric = transition->fabric;
	struct osr_routing *old = &transition->was.routing;
	size_t n = fabric->n_switches;
	bool all_lids = true;

	OSR_EACH_DEST(d, fabric)
		all_lids &= transition->was.map.dest[d] != OSR_NONE;
	OSR_EACH_SWITCH(s, fabric) {
		const struct osr_held_switch *sw = &held->sw[s];
		bool known = transition->was.map.sw[s] != OSR_NONE;

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
		transition->first.early[s] = true;
		transition->first.n_early++;
		if (sw->sl2vl && old->sl2vl)
			add_held_sl2vl(fabric, s, *sw->sl2vl, old->sl2vl[old->sl2vl_row[s]]);
	}
}

/* A switch that is left out keeps its tables. */
static void keep_tables(struct transition *transition)
{
	const struct osr_routing *old = &transition->was.routing, *made = &transition->made;
	size_t n = transition->fabric->n_switches;

	OSR_EACH_SWITCH(s, transition->fabric) {
		uint8_t *vl;

		if (routed_switch(transition, s) != OSR_NONE)
			continue;
		OSR_EACH_DEST(d, transition->fabric)
			made->lft[d * n + s] = old->lft[d * n + s];
		if (!made->sl2vl)
			continue;
		vl = made->sl2vl[made->sl2vl_row[s]];
		for (size_t i = 0; i < sl2vl_size(transition->fabric, s); i++) {
			vl[i] = i % sizeof(osr_sl2vl_t);
			if (old->sl2vl)
				vl[i] = old->sl2vl[old->sl2vl_row[s]][i];
			/* No packet comes on a VL that the old tables do not know. */
			if (vl[i] == OSR_VL_UNSET)
				vl[i] = 0;
		}
	}
}

/* A pair that had no route has sent on no SL; a pair that has none now sends on no other SL. */
static void match_sls(struct transition *transition)
{
	uint8_t *old = transition->was.routing.sl, *now = transition->made.sl;
	size_t at = 0;

	if (!old || !now)
		return;
	OSR_EACH_DEST(d, transition->fabric) {
		OSR_EACH_SWITCH(s, transition->fabric) {
			if (!osr_carry_had_path(&transition->was, d, s))
				old[at] = now[at];
			else if (routed_dest(transition, d) == OSR_NONE ||
				 routed_switch(transition, s) == OSR_NONE)
				now[at] = old[at];
			at++;
		}
	}
}

/* Senders choose among these SLs, so no path record counts. */
static void let_senders_choose(struct osr_generation *gen, struct osr_routing *routing,
			       uint16_t sls)
{
	gen->any_sls = sls;
	routing->sl = NULL;
	routing->granted = NULL;
}

enum osr_status osr_transition_begin(struct transition *transition, const struct osr_job *job)
{
	const struct osr_routing *previous = &job->previous->routing;
	size_t n = transition->fabric->n_switches, size = transition->fabric->n_dests * n;
	bool tables = transition->routing->sl2vl || previous->sl2vl,
	     any_old = transition_any_sl(previous),
	     any_new = transition_any_sl(transition->routing);
	uint16_t sls = 1;
	enum osr_status st =
		osr_carry(&job->previous->fabric, previous, transition->fabric, transition->scratch,
			  &transition->kept, &transition->was, job->diag);

	transition->answer.rank =
		osr_alloc(&transition->kept, (size_t)OSR_MAX_VLS * transition->fabric->n_channels,
			  sizeof(*transition->answer.rank));
	transition->first.lft = osr_alloc(&transition->kept, size, 1);
	transition->first.whole = osr_alloc(&transition->kept, n, sizeof(*transition->first.whole));
	transition->first.early =
		osr_calloc(&transition->kept, n, sizeof(*transition->first.early));
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
		if (job->held)
			add_held_tables(transition, job->held);
		if (transition->fabric != transition->routed)
			keep_tables(transition);
		match_sls(transition);
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
	if (tables)
		return OSR_OK;
	/*
	 * One SL, 0, stands for all SLs: if all pairs send on it, its lane has every dependency
	 * that another lane can have.
	 */
	if (!transition->one_graph && job->request.chosen_sls)
		sls = job->request.chosen_sls;
	if (any_old)
		let_senders_choose(&transition->gen[0], &transition->old, sls);
	if (any_new)
		let_senders_choose(&transition->gen[1], &transition->now, sls);
	return OSR_OK;
}
