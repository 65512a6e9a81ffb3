/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * After a full route: can the mixture of old and new tables deadlock, and if so, can it not with what
 * the old tables have? From the outside in:
 *	osr_transition_check()
 *	  osr__transition_begin()	the tables of before, in the numbering of today
 *	  osr__transition_rises()	no loop, by the certificate of the new tables
 *	  transition_choose()	the new ones as they are, or with the old order, or with the old SLs, too
 *	    osr__transition_ask()	  one question to union.h
 *	  osr__transition_adopt()	what was chosen, with the union's certificate
 */
#include "transition_private.h"

#include "core/data/carry.h"
#include "core/proved/gate.h"
#include "core/repair/repair.h"

#include <stdio.h>
#include <string.h>

#include <osmroutes/set.h>

enum osr_status osr__transition_nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM,
			"out of memory for the transition from the old tables to the new ones");
}

/* May senders choose their SL? Also if there is one lane: then SLs say nothing. */
static bool transition_any_sl(const struct osr_routing *routing)
{
	return !routing->sl || routing->n_vls <= 1 || (routing->claims & OSR_CLAIM_ANY_SL);
}

/* ---- what is asked --------------------------------------------------------------------------- */

static enum osr_status transition_carry(struct transition *m, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(m->scratch);
	size_t n = m->f->n_switches, size = m->f->n_dests * n;
	struct osr_earlier earlier;
	enum osr_status st = osr_carry(&m->previous->fabric, &m->previous->routing, m->f,
				       m->scratch, &m->kept, &earlier, diag);

	if (!st)
		m->old = earlier.routing;
	/* A pair that had no route then has sent on no SL. */
	for (size_t at = 0; !st && m->old.sl && m->r->sl && at < size; at++)
		if (!osr_carry_had_path(&earlier, (uint32_t)(at / n), (uint32_t)(at % n)))
			m->old.sl[at] = m->r->sl[at];
	osr_arena_reset(m->scratch, mark);
	return st;
}

enum osr_status osr__transition_begin(struct transition *m, struct osr_diag *diag)
{
	uint32_t both = m->previous->routing.claims & m->r->claims;
	bool tables = m->r->sl2vl || m->previous->routing.sl2vl;
	bool any_old = transition_any_sl(&m->previous->routing), any_new = transition_any_sl(m->r);
	enum osr_status st = OSR_OK;

	m->rank = osr_alloc(&m->kept, (size_t)OSR_MAX_VLS * m->f->n_channels, sizeof(*m->rank));
	if (!m->rank)
		return osr__transition_nomem(diag);
	m->gen[0] = (struct osr_generation){ .routing = &m->old };
	m->gen[1] = (struct osr_generation){ .routing = &m->now };
	m->old = m->previous->routing;
	if (!osr_fabric_equal(&m->previous->fabric, m->f))
		st = transition_carry(m, diag);
	if (st)
		return st;
	m->now = *m->r;
	m->modes = both & (OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST);
	if (!m->old.mcast_parent || !m->now.mcast_parent)
		m->modes &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	m->by_turn = osr_repair_is_by_turn(&m->previous->routing) && osr_repair_is_by_turn(m->r);
	m->one_graph = !tables && any_old && any_new;
	if (m->one_graph) {
		m->modes &= OSR_CLAIM_MULTICAST;
		m->old.mcast_vl = m->now.mcast_vl = 0;
	}
	/* Any one SL stands for all: where all pairs send on it, no lane has a dependency that its lane lacks. */
	for (unsigned g = 0; !tables && g < 2; g++) {
		struct osr_routing *routing = g ? &m->now : &m->old;

		if (!(g ? any_new : any_old))
			continue;
		m->gen[g].any_sls = m->one_graph || !m->req->chosen_sls ? 1 : m->req->chosen_sls;
		routing->sl = NULL;
		routing->granted = NULL;
	}
	return OSR_OK;
}

/*
 * Does the proved checker say so, too? It is not asked with SL2VL tables. Where senders choose in one generation alone,
 * one lane stands for all, as in the union.
 */
static bool transition_confirmed(const struct transition *m, uint32_t *rank,
				 const struct osr_routing *certified)
{
	struct osr_routing old = m->old, now = m->now;
	uint16_t any = m->gen[0].any_sls | m->gen[1].any_sls;

	if (now.sl2vl || old.sl2vl)
		return true;
	old.claims = 0;
	now.claims = OSR_CLAIM_DEADLOCK_FREE | m->modes;
	now.n_vls = OSR_MAX_VLS;
	now.rank = rank;
	if (any) {
		now.rank += (size_t)__builtin_ctz(any) * m->f->n_channels;
		now.sl = old.sl = NULL;
		now.granted = old.granted = NULL;
		now.mcast_vl = old.mcast_vl = 0;
		now.n_vls = 1;
	}
	return !osr_gate_mixed(m->f, &now, &old, certified, m->scratch, NULL, NULL);
}

bool osr__transition_rises(const struct transition *m)
{
	return (m->one_graph || m->by_turn) && m->r->rank &&
	       osr_union_rises(m->f, m->gen, m->modes, m->r, m->scratch) &&
	       transition_confirmed(m, m->r->rank, m->r);
}

enum osr_status osr__transition_ask(struct transition *m, struct osr_diag *diag)
{
	enum osr_status st = osr_union_loop(m->f, m->gen, 2, m->modes, m->scratch, &m->kept,
					    &m->loop, m->rank, diag);

	m->refused = !st && !m->loop.n && !transition_confirmed(m, m->rank, NULL);
	return st;
}

/* ---- what the old tables have ---------------------------------------------------------------- */

/*
 * Do the cables of both orders make a ring? It is one of dependencies, too: a copy goes round, old
 * entry here and new one there.
 */
static bool is_ring(const struct transition *m)
{
	const struct osr_fabric *fabric = m->f;
	const uint32_t *old = m->old.mcast_parent, *now = m->r->mcast_parent;
	struct osr_arena_mark mark = osr_arena_mark(m->scratch);
	uint32_t *up = osr_alloc(m->scratch, fabric->n_switches, sizeof(*up));
	bool ring = false;

	if (!(m->modes & OSR_CLAIM_MULTICAST) || !up)
		return false;
	osr_set_init(up, fabric->n_switches);
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (now[s] != OSR_NONE)
			osr_set_join(up, s, fabric->chan_dst[now[s]]);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t c = old[s];

		if (c == OSR_NONE || now[s] == c || now[fabric->chan_dst[c]] == fabric->chan_rev[c])
			continue;
		ring |= !osr_set_join(up, s, fabric->chan_dst[c]);
	}
	osr_arena_reset(m->scratch, mark);
	return ring;
}

/* Old SLs of pairs that have one; where they are lanes that are left. */
static void find_sls(struct transition *m)
{
	size_t size = (size_t)m->f->n_dests * m->f->n_switches;
	uint16_t used = 0;

	if (transition_any_sl(m->r) || transition_any_sl(&m->previous->routing) || m->r->sl2vl ||
	    m->previous->routing.sl2vl)
		return;
	m->sl = osr_alloc(&m->kept, size, 1);
	for (size_t i = 0; m->sl && i < size; i++) {
		bool known = m->old.lft[i] != OSR_NO_PATH;

		m->sl[i] = known ? m->old.sl[i] : m->r->sl[i];
		if (m->r->lft[i] != OSR_NO_PATH)
			used |= (uint16_t)(1u << (m->sl[i] & 15));
		if (m->r->granted)
			used |= m->r->granted[i];
	}
	while (used >> m->sl_vls)
		m->sl_vls++;
	if (m->sl_vls > m->req->max_vls)
		m->sl = NULL;
	else if (m->sl_vls < m->r->n_vls)
		m->sl_vls = m->r->n_vls;
}

/* ---- choosing -------------------------------------------------------------------------------- */

void osr__transition_keep(struct transition *m, uint8_t kept)
{
	m->now.mcast_parent = kept & OSR_KEPT_ORDER ? m->order : m->r->mcast_parent;
	if (m->now.sl)
		m->now.sl = kept & OSR_KEPT_SLS ? m->sl : m->r->sl;
}

uint32_t osr__transition_choices(struct transition *m, uint8_t kept[3])
{
	uint32_t provable = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST, n = 1;

	/* The union's certificate has to prove all that is claimed. */
	kept[0] = 0;
	if ((!m->one_graph && m->r->claims & provable & ~m->modes) || !m->r->rank || m->r->sl2vl)
		return n;
	if (is_ring(m))
		m->order = osr_repair_keep_tree(m->f, m->old.mcast_parent, m->scratch, &m->kept);
	if (m->order)
		kept[n++] = OSR_KEPT_ORDER;
	find_sls(m);
	if (m->sl)
		kept[n++] = OSR_KEPT_SLS | (m->order ? OSR_KEPT_ORDER : 0);
	return n;
}

/*
 * The new tables as they are, unless that is a ring of multicast for sure; then what is kept of the old
 * ones, the least first. If nothing helps m->loop is that of the new tables as they are.
 */
static enum osr_status transition_choose(struct transition *m, bool prefer, uint8_t *kept,
					 struct osr_diag *diag)
{
	uint8_t choice[3] = { 0 };
	uint32_t n = 1;
	enum osr_status st = OSR_OK;

	if (osr__transition_rises(m))
		return OSR_OK;
	if (prefer)
		n = osr__transition_choices(m, choice);
	/* With an order to keep the tables as they are have a ring. */
	for (uint32_t i = m->order ? 1 : 0; i < n; i++) {
		*kept = choice[i];
		osr__transition_keep(m, *kept);
		st = osr__transition_ask(m, diag);
		if (st || (!m->loop.n && !m->refused))
			return st;
	}
	if (!*kept)
		return OSR_OK;
	*kept = 0;
	osr__transition_keep(m, 0);
	return osr__transition_ask(m, diag);
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Pairs whose SL of the last sweep, or an earlier one, is not proven any more. */
static void count_sls(struct transition *m)
{
	const struct osr_routing *routing = m->r;
	size_t size = (size_t)m->f->n_dests * m->f->n_switches;

	m->r->stable.n_sl_changed = m->r->stable.n_sl_lost = 0;
	for (size_t i = 0; i < size; i++) {
		uint16_t safe = (uint16_t)(1u << (routing->sl[i] & 15)), had;

		if (m->old.lft[i] == OSR_NO_PATH || routing->lft[i] == OSR_NO_PATH)
			continue;
		had = (uint16_t)(1u << (m->old.sl[i] & 15));
		if (m->old.granted)
			had |= m->old.granted[i];
		if (routing->granted)
			safe |= routing->granted[i];
		m->r->stable.n_sl_changed += m->old.sl[i] != routing->sl[i];
		m->r->stable.n_sl_lost += (unsigned)__builtin_popcount(had & (unsigned)~safe);
	}
}

enum osr_status osr__transition_adopt(struct transition *m, uint8_t kept, struct osr_arena *result,
				      struct osr_diag *diag)
{
	size_t n = m->f->n_channels, size = (size_t)m->f->n_dests * m->f->n_switches;
	struct osr_routing *routing = m->r;
	uint8_t n_vls = kept & OSR_KEPT_SLS ? m->sl_vls : routing->n_vls;
	uint32_t *rank = osr_alloc(result, n_vls * n, sizeof(*rank)), *order = NULL;
	uint8_t *sl = NULL;

	if (kept & OSR_KEPT_ORDER)
		order = osr_alloc(result, m->f->n_switches, sizeof(*order));
	if (kept & OSR_KEPT_SLS)
		sl = osr_alloc(result, size, 1);
	if (!rank || (kept & OSR_KEPT_ORDER && !order) || (kept & OSR_KEPT_SLS && !sl))
		return osr__transition_nomem(diag);
	for (uint8_t vl = 0; vl < n_vls; vl++)
		memcpy(rank + vl * n, m->rank + (m->one_graph ? 0 : vl * n), n * sizeof(*rank));
	routing->rank = rank;
	routing->n_vls = n_vls;
	if (order)
		routing->mcast_parent = memcpy(order, m->order, m->f->n_switches * sizeof(*order));
	if (sl) {
		routing->sl = memcpy(sl, m->sl, size);
		count_sls(m);
	}
	return OSR_OK;
}

static enum osr_status unasked(struct osr_routing *routing, const char *why)
{
	snprintf(routing->stable.transition_why, sizeof(routing->stable.transition_why), "%s", why);
	return OSR_OK;
}

static enum osr_status decide(struct transition *m, bool prefer, struct osr_arena *result,
			      struct osr_diag *diag)
{
	struct osr_stable *stable = &m->r->stable;
	struct osr_diag loop = { "" };
	enum osr_status st = osr__transition_begin(m, diag);
	uint8_t kept = 0;

	if (!st)
		st = transition_choose(m, prefer, &kept, diag);
	if (!st && kept && !m->loop.n && !m->refused)
		st = osr__transition_adopt(m, kept, result, diag);
	if (st)
		return st;
	stable->transition = m->loop.n || m->refused ? OSR_TRANSITION_LOOP : OSR_TRANSITION_FREE;
	stable->transition_mcast = m->modes & OSR_CLAIM_MULTICAST;
	stable->transition_kept = kept;
	if (m->refused)
		unasked(m->r, "the proved checker does not confirm that it cannot");
	if (m->loop.n) {
		osr_loop_say(m->f, &m->loop, &loop);
		memcpy(stable->transition_why, loop.text, sizeof(stable->transition_why) - 1);
	}
	return OSR_OK;
}

struct transition osr__transition_of(const struct osr_job *job)
{
	return (struct transition){ .f = job->fabric,
				    .req = &job->request,
				    .previous = job->previous,
				    .r = job->routing,
				    .scratch = job->scratch };
}

enum osr_status osr_transition_check(const struct osr_job *job, bool prefer)
{
	const struct osr_fabric *fabric = job->fabric;
	struct transition m = osr__transition_of(job);
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct osr_stable *stable = &job->routing->stable;
	enum osr_status st;

	stable->transition = OSR_TRANSITION_UNASKED;
	if (!m.previous->routing.lft || !(m.previous->routing.claims & OSR_CLAIM_DEADLOCK_FREE))
		return unasked(m.r, "the old tables are not proven free of deadlock by themselves");
	if (!(m.r->claims & OSR_CLAIM_DEADLOCK_FREE))
		return unasked(m.r, "the new tables are not proven free of deadlock by themselves");
	if ((uint64_t)fabric->n_dests * fabric->n_switches > OSR_TRANSITION_ENTRIES) {
		snprintf(stable->transition_why, sizeof(stable->transition_why),
			 "%u switches and %u LIDs would take too long", fabric->n_switches,
			 fabric->n_dests);
		return OSR_OK;
	}
	st = decide(&m, prefer, job->arena, job->diag);
	osr_arena_free(&m.kept);
	osr_arena_reset(job->scratch, mark);
	return st;
}
