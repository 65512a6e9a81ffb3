/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "core/transition/transition.h"

#include "core/data/carry.h"
#include "core/proved/gate.h"
#include "core/repair/repair.h"
#include "core/verify/follow.h"

#include <stdio.h>
#include <string.h>

#include <osmroutes/set.h>

/* What is withdrawn besides what was before. */
enum attempt { WITHDRAW_CYCLES, WITHDRAW_CUT, WITHDRAW_ALL, N_ATTEMPTS };

struct transition {
	const struct osr_fabric *f; /* all that stands */
	struct osr_routing *r;      /* the new tables, on the routed fabric */
	struct osr_routing made;    /* the same on f */
	struct osr_earlier was;     /* what switches hold, on f */
	struct osr_routing old;     /* the same, as it is followed */
	struct osr_routing now;     /* the new ones, as they would be */
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
	uint8_t *first;      /* [n_dests * n_switches] the tables after the first round */
	uint64_t n, n_whole; /* entries withdrawn, and those whose old route is whole */
	bool *whole;         /* [n_switches] the old route from there leads to a LID */
	struct osr_follow w; /* entries of the old tables, and of the new ones */

	struct osr_arena *scratch;
	struct osr_arena kept; /* of what must outlive a use of scratch */
};

/* May senders choose their SL? Also if there is one lane: then SLs say nothing. */
static bool transition_any_sl(const struct osr_routing *routing)
{
	return !routing->sl || routing->n_vls <= 1 || (routing->claims & OSR_CLAIM_ANY_SL);
}

/* ---- what is asked --------------------------------------------------------------------------- */

/* A switch of f in the routed fabric; OSR_NONE: it is left out there. */
static uint32_t routed_switch(const struct transition *m, uint32_t s)
{
	return m->f == m->routed ? s : m->routed_on.map.sw[s];
}

/*
 * What switches hold: what the last tables say, if they say something of this switch and this LID, else what the switch
 * has confirmed. By an entry for a port without a cable nothing goes on. To a switch that is left out, and was before, no
 * packet comes: it has no entries here.
 */
static void old_tables(struct transition *m, const struct osr_held *held)
{
	const struct osr_fabric *fabric = m->f;
	struct osr_routing *old = &m->was.routing;
	size_t n = fabric->n_switches;
	bool all_lids = true;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		all_lids &= m->was.map.dest[d] != OSR_NONE;
	for (uint32_t s = 0; held && s < n; s++) {
		const struct osr_held_switch *sw = &held->sw[s];
		bool known = m->was.map.sw[s] != OSR_NONE;
		size_t n_ports = fabric->sw_n_ports[s] + (size_t)1;

		if (!sw->lft || (known ? all_lids : routed_switch(m, s) == OSR_NONE))
			continue;
		for (uint32_t d = 0; d < fabric->n_dests; d++) {
			uint16_t lid = fabric->dest_lid[d];
			uint8_t port = lid < sw->n_lids ? sw->lft[lid] : OSR_NO_PATH;

			if (known && m->was.map.dest[d] != OSR_NONE)
				continue;
			if (osr_port_channel(fabric, s, port) == OSR_NONE &&
			    s != fabric->dest_switch[d])
				port = OSR_NO_PATH;
			old->lft[d * n + s] = port;
		}
		if (known)
			continue;
		m->early[s] = true;
		m->n_early++;
		/* A packet that the switch drops goes on by the other tables: it waits for less. */
		for (size_t i = 0; sw->sl2vl && old->sl2vl && i < n_ports * n_ports * 16; i++) {
			uint8_t vl = sw->sl2vl[i / 16][i % 16];

			old->sl2vl[old->sl2vl_row[s] + i / 16][i % 16] =
				vl < OSR_MAX_VLS ? vl : OSR_VL_UNSET;
		}
	}
}

/* What is left out keeps its tables. The VL of a packet that no table knows does not matter: none comes there. */
static void kept_tables(struct transition *m)
{
	const struct osr_routing *old = &m->was.routing;
	size_t n = m->f->n_switches;

	for (uint32_t s = 0; m->f != m->routed && s < n; s++) {
		size_t n_ports = m->f->sw_n_ports[s] + (size_t)1;
		uint8_t *vl = m->made.sl2vl ? m->made.sl2vl[m->made.sl2vl_row[s]] : NULL;

		if (routed_switch(m, s) != OSR_NONE)
			continue;
		for (uint32_t d = 0; d < m->f->n_dests; d++)
			m->made.lft[d * n + s] = old->lft[d * n + s];
		for (size_t i = 0; vl && i < n_ports * n_ports * sizeof(osr_sl2vl_t); i++) {
			vl[i] = old->sl2vl ? old->sl2vl[old->sl2vl_row[s]][i] : (uint8_t)(i % 16);
			vl[i] = vl[i] == OSR_VL_UNSET ? 0 : vl[i];
		}
	}
}

/* A pair that had no route then has sent on no SL; one that has none now sends on no other. */
static void sls_of_routes(struct transition *m)
{
	uint8_t *old = m->was.routing.sl, *now = m->made.sl;
	uint32_t n = m->f->n_switches, n_dests = m->f->n_dests;
	size_t at = 0;

	for (uint32_t d = 0; old && now && d < n_dests; d++) {
		bool there = m->f == m->routed || m->routed_on.map.dest[d] != OSR_NONE;

		for (uint32_t s = 0; s < n; s++, at++) {
			bool had = osr_carry_had_path(&m->was, d, s);

			if (had && (!there || routed_switch(m, s) == OSR_NONE))
				now[at] = old[at];
			if (!had)
				old[at] = now[at];
		}
	}
}

static enum osr_status transition_begin(struct transition *m, const struct osr_job *job)
{
	const struct osr_routing *previous = &job->previous->routing;
	size_t n = m->f->n_switches, size = m->f->n_dests * n;
	bool tables = m->r->sl2vl || previous->sl2vl, any_old = transition_any_sl(previous),
	     any_new = transition_any_sl(m->r);
	enum osr_status st = osr_carry(&job->previous->fabric, previous, m->f, m->scratch, &m->kept,
				       &m->was, job->diag);

	m->rank = osr_alloc(&m->kept, (size_t)OSR_MAX_VLS * m->f->n_channels, sizeof(*m->rank));
	m->first = osr_alloc(&m->kept, size, 1);
	m->whole = osr_alloc(&m->kept, n, sizeof(*m->whole));
	m->early = osr_calloc(&m->kept, n, sizeof(*m->early));
	m->gen[0] = (struct osr_generation){ .routing = &m->old };
	m->gen[1] = (struct osr_generation){ .routing = &m->now };
	m->w = (struct osr_follow){ .f = m->f, .gen = m->gen, .n = 2 };
	m->made = *m->r;
	if (!st && m->f != m->routed) {
		st = osr_carry(m->routed, m->r, m->f, m->scratch, &m->kept, &m->routed_on,
			       job->diag);
		m->made = m->routed_on.routing;
	}
	if (!st && osr_arena_failed(&m->kept, NULL))
		st = OSR_NOMEM;
	if (!st) {
		old_tables(m, job->held);
		kept_tables(m);
		sls_of_routes(m);
		m->old = m->was.routing;
		m->now = m->made;
		st = osr_follow_init(&m->w, &m->kept, job->diag);
	}
	if (st)
		return osr_fail(job->diag, OSR_NOMEM,
				"out of memory for the transition from the old tables to the new "
				"ones");
	m->modes = previous->claims & m->r->claims &
		   (OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST);
	if (!m->old.mcast_parent || !m->now.mcast_parent)
		m->modes &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	m->by_turn = osr_repair_is_by_turn(previous) && osr_repair_is_by_turn(m->r);
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
		m->gen[g].any_sls =
			m->one_graph || !job->request.chosen_sls ? 1 : job->request.chosen_sls;
		routing->sl = NULL;
		routing->granted = NULL;
	}
	return OSR_OK;
}

/*
 * Does the proved checker say so, too, by this order: that of the new tables, or one of all lanes? Where senders choose in
 * one generation alone, one lane stands for all, as in the union.
 */
static bool transition_confirmed(const struct transition *m, uint32_t *rank)
{
	bool own = rank == m->made.rank;
	struct osr_routing old = m->old, now = m->now;
	uint16_t any = m->gen[0].any_sls | m->gen[1].any_sls;

	old.claims = 0;
	now.claims = OSR_CLAIM_DEADLOCK_FREE | m->modes;
	now.n_vls = own ? m->made.n_vls : OSR_MAX_VLS;
	now.rank = rank;
	if (any) {
		now.rank += (size_t)__builtin_ctz(any) * m->f->n_channels;
		now.sl = old.sl = NULL;
		now.granted = old.granted = NULL;
		now.mcast_vl = old.mcast_vl = 0;
		now.n_vls = 1;
	}
	return !osr_gate_mixed(m->f, &now, &old, own && m->f == m->routed ? &m->made : NULL,
			       m->scratch, NULL, NULL);
}

/*
 * Is every mixture of m->old and m->now free of loops? Mostly the certificate of the new tables, which knows nothing
 * of another spanning order, shows it; else, but if `quick`, all packets are followed: m->loop, or m->rank.
 */
static enum osr_status transition_ask(struct transition *m, bool quick, struct osr_diag *diag)
{
	bool own = m->now.mcast_parent != m->order || !m->order;
	enum osr_status st = OSR_OK;

	m->loop.n = 0;
	m->refused = false;
	m->free = own && (m->one_graph || m->by_turn) && m->made.rank &&
		  transition_confirmed(m, m->made.rank);
	if (m->free || quick)
		return OSR_OK;
	st = osr_union_loop(m->f, m->gen, 2, m->modes, m->scratch, &m->kept, &m->loop, m->rank,
			    diag);
	m->refused = !st && !m->loop.n && !transition_confirmed(m, m->rank);
	m->free = !st && !m->loop.n && !m->refused;
	return st;
}

/* A spanning order of f on the routed fabric, or back. */
static void carry_order(const struct transition *m, const uint32_t *from, bool back, uint32_t *to)
{
	const struct osr_fabric *fabric = m->f;
	uint32_t n = back ? fabric->n_switches : m->routed->n_switches;

	for (uint32_t s = 0; s < n; s++)
		to[s] = OSR_NONE;
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t on = m->f == m->routed ? c : m->routed_on.map.chan[c],
			 s = fabric->chan_src[c];

		if (on == OSR_NONE)
			continue;
		if (back && from[m->routed->chan_src[on]] == on)
			to[s] = c;
		else if (!back && from[s] == c)
			to[m->routed->chan_src[on]] = on;
	}
}

/*
 * The old spanning order where its cables and those of the new one make a ring, which is one of dependencies, too:
 * a copy goes round, old entry here and new one there. Only where the union's certificate proves all that is claimed.
 */
static void find_order(struct transition *m)
{
	uint32_t provable = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	const struct osr_fabric *fabric = m->routed;
	const uint32_t *now = m->r->mcast_parent;
	uint32_t *up = osr_alloc(&m->kept, fabric->n_switches, sizeof(*up)),
		 *old = osr_alloc(&m->kept, fabric->n_switches, sizeof(*old)),
		 *order = osr_alloc(&m->kept, m->f->n_switches, sizeof(*order));
	bool ring = false;

	if ((!m->one_graph && m->r->claims & provable & ~m->modes) || !m->r->rank || m->r->sl2vl ||
	    !(m->modes & OSR_CLAIM_MULTICAST) || !up || !old || !order)
		return;
	carry_order(m, m->old.mcast_parent, false, old);
	osr_set_init(up, fabric->n_switches);
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (now[s] != OSR_NONE)
			osr_set_join(up, s, fabric->chan_dst[now[s]]);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t c = old[s];

		if (c != OSR_NONE && now[s] != c && now[fabric->chan_dst[c]] != fabric->chan_rev[c])
			ring |= !osr_set_join(up, s, fabric->chan_dst[c]);
	}
	if (ring)
		m->routed_order = osr_repair_keep_tree(fabric, old, m->scratch, &m->kept);
	if (!m->routed_order)
		return;
	carry_order(m, m->routed_order, true, order);
	m->order = order;
}

/* ---- two rounds ------------------------------------------------------------------------------ */

/*
 * First what leads to no host, for that costs no packet, then what does: of the switches on a cycle of the first round's
 * and the new entries, or behind one; or of all.
 */
static void withdraw_more(struct transition *m, enum attempt attempt)
{
	const struct osr_fabric *fabric = m->f;
	size_t n = fabric->n_switches;
	struct osr_routing round = m->old;
	const struct osr_generation mixed[2] = { { .routing = &round }, { .routing = &m->now } };
	struct osr_follow old = m->w, mix = m->w;

	if (attempt == WITHDRAW_CYCLES) {
		memcpy(m->first, m->old.lft, fabric->n_dests * n);
		for (size_t at = 0; m->n_early && at < fabric->n_dests * n; at++)
			m->first[at] = m->early[at % n] ? m->now.lft[at] : m->first[at];
		m->n = m->n_whole = 0;
	}
	round.lft = m->first;
	old.n = 1;
	mix.gen = mixed;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *was = m->old.lft + d * n, *now = m->now.lft + d * n;
		uint8_t *first = m->first + d * n;

		/* A LID of a switch that is left out has no new entries: nothing of it is withdrawn. */
		if (!memcmp(was, now, n) ||
		    (fabric != m->routed && m->routed_on.map.dest[d] == OSR_NONE))
			continue;
		/* Downstream first. Switches on a loop are not in the order: their routes do not arrive. */
		memset(m->whole, 0, n * sizeof(*m->whole));
		osr_follow_load(&old, d);
		for (uint32_t i = osr_follow_order(&old); i-- > 0;) {
			uint32_t s = old.order[i], c = old.out[0][s];

			m->whole[s] = s == fabric->dest_switch[d] ||
				      (c != OSR_NONE && m->whole[fabric->chan_dst[c]]);
		}
		for (unsigned pass = 0; pass < 2; pass++) {
			if (attempt == WITHDRAW_CYCLES)
				osr_follow_load(&mix, d);
			if (attempt == WITHDRAW_CYCLES && osr_follow_order(&mix) == n)
				break;
			for (uint32_t s = 0; s < n; s++)
				if (first[s] != OSR_NO_PATH && first[s] != now[s] &&
				    (attempt != WITHDRAW_CYCLES || mix.n_in[s]) &&
				    (!m->whole[s] || (pass && attempt != WITHDRAW_CUT))) {
					first[s] = OSR_NO_PATH;
					m->n++;
					m->n_whole += m->whole[s];
				}
		}
	}
}

/*
 * The first round: old entries or none, and new ones on switches to which no old table leads, under the SLs and SL2VL
 * tables of both. The second: what is left of them, and the new ones, under the SLs of both and the new SL2VL tables.
 * Multicast tables change after that.
 */
static enum osr_status rounds_ask(struct transition *m, bool quick, struct osr_diag *diag)
{
	const struct osr_routing old = m->old, now = m->now;
	enum osr_status st = OSR_OK;

	m->free = m->one_graph && !m->n_early;
	if (!m->free) {
		m->now.lft = m->first;
		m->now.mcast_parent = old.mcast_parent;
		st = transition_ask(m, quick, diag);
		m->now = now;
	}
	if (st || !m->free)
		return st;
	m->old.lft = m->first;
	if (now.sl2vl) {
		m->old.sl2vl = now.sl2vl;
		m->old.sl2vl_row = now.sl2vl_row;
		memcpy(m->old.ca_sl2vl, now.ca_sl2vl, sizeof(now.ca_sl2vl));
	}
	st = transition_ask(m, quick, diag);
	m->old = old;
	return st;
}

static void forget_first_round(struct transition *m)
{
	m->r->stable.n_withdrawn = m->r->stable.n_withdrawn_whole = 0;
	m->r->withdrawn = NULL;
	m->r->early = NULL;
	m->r->n_early = 0;
}

/* What the first round does, in the numbering of the routed fabric. */
static enum osr_status name_first_round(struct transition *m, struct osr_arena *result,
					struct osr_diag *diag)
{
	size_t n_switches = m->f->n_switches, size = m->f->n_dests * n_switches;
	uint64_t *withdrawn = osr_alloc(result, m->n, sizeof(*withdrawn)), n = 0;
	uint32_t *early = osr_alloc(result, m->n_early, sizeof(*early)), n_early = 0;

	if (!withdrawn || !early)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the entries of two rounds");
	for (size_t at = 0; at < size; at++) {
		uint32_t s = (uint32_t)(at % n_switches), d = (uint32_t)(at / n_switches);

		if (m->first[at] == m->old.lft[at] || m->early[s])
			continue;
		if (m->f != m->routed)
			d = m->routed_on.map.dest[d];
		withdrawn[n++] = (uint64_t)d * m->routed->n_switches + routed_switch(m, s);
	}
	for (uint32_t s = 0; s < n_switches; s++)
		if (m->early[s])
			early[n_early++] = routed_switch(m, s);
	m->r->withdrawn = n ? withdrawn : NULL;
	m->r->early = n_early ? early : NULL;
	m->r->n_early = n_early;
	m->r->stable.n_withdrawn = m->n;
	m->r->stable.n_withdrawn_whole = m->n_whole;
	if (m->free)
		m->r->stable.transition = OSR_TRANSITION_ROUNDS;
	return OSR_OK;
}

/*
 * As they are, and with the old spanning order. Where a certificate may show it quickly, the entries whose route is
 * cut are withdrawn before all tables are followed: that costs no packet, and mostly suffices.
 */
static enum osr_status transition_rounds(struct transition *m, struct osr_arena *result,
					 struct osr_diag *diag)
{
	bool certified = (m->one_graph || m->by_turn) && m->r->rank && m->r->stable.kept;
	struct osr_stable *stable = &m->r->stable;
	struct osr_diag why = { "" };
	enum osr_status st = OSR_OK;

	m->free = false;
	for (unsigned keep = 0; keep <= (m->order ? 1u : 0u) && !st && !m->free; keep++) {
		m->now.mcast_parent = keep ? (uint32_t *)m->order : m->made.mcast_parent;
		for (enum attempt attempt = 0; attempt < N_ATTEMPTS && !st && !m->free; attempt++) {
			uint64_t had = attempt ? m->n : 0;
			bool more = attempt ? certified && attempt == WITHDRAW_CUT : m->n_early;

			withdraw_more(m, attempt);
			if (m->n > had || more)
				st = rounds_ask(m, certified && attempt == WITHDRAW_CYCLES, diag);
		}
	}
	if (st)
		return st;
	/* What is left of loops when as much is withdrawn as can be; but no packet goes in circles. */
	if (!m->free) {
		if (m->loop.n) {
			osr_loop_say(m->f, &m->loop, &why);
			memcpy(stable->transition_why, why.text,
			       sizeof(stable->transition_why) - 1);
		}
		withdraw_more(m, WITHDRAW_CYCLES);
	}
	return name_first_round(m, result, diag);
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Does a copy of a multicast packet wait in the loop that was found? */
static bool loop_has_copies(const struct transition *m)
{
	bool copies = false;

	for (uint32_t i = 0; i < m->loop.n; i++)
		copies |= !m->loop.step[i].lid;
	return copies;
}

/* What holds for unicast where multicast alone makes loops: in one round, or in the first round that it wants. */
static enum osr_status transition_unicast(struct transition *m, struct osr_arena *result,
					  struct osr_diag *diag)
{
	struct osr_stable *stable = &m->r->stable;
	const struct osr_stable asked = *stable;
	enum osr_status st;

	m->modes &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	m->now.mcast_parent = m->made.mcast_parent;
	m->order = NULL;
	forget_first_round(m);
	st = transition_ask(m, false, diag);
	if (!st && !m->free)
		st = transition_rounds(m, result, diag);
	stable->transition_unicast = m->free;
	stable->transition = OSR_TRANSITION_LOOP;
	memcpy(stable->transition_why, asked.transition_why, sizeof(asked.transition_why));
	return st;
}

/* The new tables get the old spanning order, and the certificate of all mixtures. */
static enum osr_status take_order(struct transition *m, struct osr_arena *result,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = m->f;
	size_t n = m->routed->n_channels, n_vls = m->r->n_vls;
	uint32_t *rank = osr_alloc(result, n_vls * n, sizeof(*rank)),
		 *order = osr_alloc(result, m->routed->n_switches, sizeof(*order));

	if (!rank || !order)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the old spanning order");
	for (size_t vl = 0; vl < n_vls; vl++) {
		const uint32_t *all = m->rank + (m->one_graph ? 0 : vl) * fabric->n_channels;

		for (uint32_t c = 0; c < fabric->n_channels; c++) {
			uint32_t on = fabric == m->routed ? c : m->routed_on.map.chan[c];

			if (on != OSR_NONE)
				rank[vl * n + on] = all[c];
		}
	}
	memcpy(order, m->routed_order, m->routed->n_switches * sizeof(*order));
	m->r->rank = rank;
	m->r->mcast_parent = order;
	m->r->stable.transition_order = true;
	return OSR_OK;
}

enum osr_status osr_transition(const struct osr_job *job)
{
	const struct osr_fabric *fabric = job->held ? job->held->standing : job->fabric;
	struct transition m = {
		.f = fabric, .r = job->routing, .routed = job->fabric, .scratch = job->scratch
	};
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
	else if (!(m.r->claims & OSR_CLAIM_DEADLOCK_FREE))
		osr_fail(&why, OSR_OK,
			 "the new tables are not proven free of deadlock by themselves");
	if (large)
		osr_fail(&why, OSR_OK, "%u switches and %u LIDs would take too long",
			 fabric->n_switches, fabric->n_dests);
	memcpy(stable->transition_why, why.text, sizeof(stable->transition_why) - 1);
	if (why.text[0])
		return OSR_OK;
	st = transition_begin(&m, job);
	if (!st)
		st = transition_ask(&m, false, job->diag);
	stable->transition_mcast = m.modes & OSR_CLAIM_MULTICAST;
	/* In one round as they are; else after a full route with the old spanning order; else in two rounds. */
	if (!st && !m.free) {
		osr_fail(&why, OSR_OK, "the proved checker does not confirm that it cannot");
		if (m.loop.n)
			osr_loop_say(fabric, &m.loop, &why);
		if (!stable->kept)
			find_order(&m);
		if (m.order) {
			m.now.mcast_parent = (uint32_t *)m.order;
			st = transition_ask(&m, false, job->diag);
		}
	}
	if (!st && !m.free)
		memcpy(stable->transition_why, why.text, sizeof(stable->transition_why) - 1);
	if (!st)
		stable->transition = m.free ? OSR_TRANSITION_FREE : OSR_TRANSITION_LOOP;
	if (!st && !m.free)
		st = transition_rounds(&m, job->arena, job->diag);
	if (!st && !m.free && loop_has_copies(&m))
		st = transition_unicast(&m, job->arena, job->diag);
	if (!st && m.free && m.order && m.now.mcast_parent == m.order)
		st = take_order(&m, job->arena, job->diag);
	if (st) {
		stable->transition = OSR_TRANSITION_UNASKED;
		forget_first_round(&m);
	}
	osr_arena_free(&m.kept);
	osr_arena_reset(job->scratch, mark);
	return st;
}
