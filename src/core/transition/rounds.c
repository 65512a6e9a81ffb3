/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two rounds where one would have loops; see osr_transition_rounds(). From the outside in:
 *	osr_transition_rounds()
 *	  rounds_choose()	the new tables as they are, or with something of the old ones
 *	  withdraw_more()	one attempt: what is withdrawn first, LID by LID
 *	    find_whole()	  old routes that still lead there
 *	    find_cycles()	  switches on a cycle of the first round's and the new entries, or behind one
 *	  rounds_are_free()	the attempt verified
 */
#include "transition_private.h"

#include <stdio.h>
#include <string.h>

/* What is withdrawn besides what was before. */
enum attempt { WITHDRAW_CYCLES, WITHDRAW_CUT, WITHDRAW_ALL, N_ATTEMPTS };

enum { UNKNOWN, ON_THE_WAY, WHOLE, CUT };

struct rounds {
	struct transition *m;
	uint8_t *first;           /* [n_dests * n_switches] the tables after the first round */
	uint8_t *state;           /* [n_switches] of the old route to a LID */
	uint32_t *n_in;           /* [n_switches] entries that lead to a switch */
	uint32_t *stack, n_stack; /* [n_switches] */
	bool *on_cycle;           /* [n_switches] */
	uint64_t n, n_whole;
	uint8_t kept; /* OSR_KEPT_* */
};

static uint32_t rounds_next(const struct rounds *r, const uint8_t *row, uint32_t root, uint32_t s)
{
	uint32_t c = s == root ? OSR_NONE : osr_port_channel(r->m->f, s, row[s]);

	return c == OSR_NONE ? OSR_NONE : r->m->f->chan_dst[c];
}

static void find_whole(struct rounds *r, const uint8_t *old, uint32_t root)
{
	memset(r->state, UNKNOWN, r->m->f->n_switches);
	r->state[root] = WHOLE;
	for (uint32_t v = 0; v < r->m->f->n_switches; v++) {
		uint32_t n = 0, s = v;
		uint8_t state;

		while (s != OSR_NONE && r->state[s] == UNKNOWN) {
			r->state[s] = ON_THE_WAY;
			r->stack[n++] = s;
			s = rounds_next(r, old, root, s);
		}
		state = s != OSR_NONE && r->state[s] == WHOLE ? WHOLE : CUT;
		while (n)
			r->state[r->stack[--n]] = state;
	}
}

/* Counts the entries of s, before and after, where they lead to; or takes them away again. */
static void count_in(struct rounds *r, const uint8_t *const row[2], uint32_t root, uint32_t s,
		     bool away)
{
	for (unsigned g = 0; g < 2; g++) {
		uint32_t next = rounds_next(r, row[g], root, s);

		if (next == OSR_NONE || (g && row[0][s] == row[1][s]))
			continue;
		r->n_in[next] += away ? UINT32_MAX : 1;
		if (away && !r->n_in[next])
			r->stack[r->n_stack++] = next;
	}
}

/* Switches that no packet comes to are taken out until there are none; false: none is left. */
static bool find_cycles(struct rounds *r, const uint8_t *first, const uint8_t *now, uint32_t root)
{
	const uint8_t *const row[2] = { first, now };
	uint32_t n = r->m->f->n_switches, n_left = n;

	memset(r->n_in, 0, n * sizeof(*r->n_in));
	memset(r->on_cycle, true, n * sizeof(*r->on_cycle));
	for (uint32_t s = 0; s < n; s++)
		count_in(r, row, root, s, false);
	for (uint32_t s = 0; s < n; s++)
		if (!r->n_in[s])
			r->stack[r->n_stack++] = s;
	while (r->n_stack) {
		uint32_t s = r->stack[--r->n_stack];

		r->on_cycle[s] = false;
		n_left--;
		count_in(r, row, root, s, true);
	}
	return n_left > 0;
}

static void withdraw_more(struct rounds *r, enum attempt attempt)
{
	const struct osr_fabric *fabric = r->m->f;
	size_t n = fabric->n_switches;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *old = r->m->old.lft + d * n, *now = r->m->now.lft + d * n;
		uint8_t *first = r->first + d * n;
		uint32_t root = fabric->dest_switch[d];
		bool cycles = false;

		if (!memcmp(old, now, n))
			continue;
		find_whole(r, old, root);
		for (unsigned pass = 0; pass < 2; pass++) {
			if (attempt == WITHDRAW_CYCLES)
				cycles = find_cycles(r, first, now, root);
			if (attempt == WITHDRAW_CYCLES && !cycles)
				break;
			for (uint32_t s = 0; s < n; s++)
				if (first[s] != OSR_NO_PATH && old[s] != now[s] &&
				    (!cycles || r->on_cycle[s]) &&
				    (r->state[s] == CUT || (pass && attempt != WITHDRAW_CUT))) {
					first[s] = OSR_NO_PATH;
					r->n++;
					r->n_whole += r->state[s] == WHOLE;
				}
		}
	}
}

/*
 * The first round: old entries or none, under the SLs and SL2VL tables of both. The second: what is left of
 * them, and the new ones, under the SLs of both and the new SL2VL tables. Multicast tables change after
 * that. ask: where the certificate does not show it all tables are followed.
 */
static enum osr_status rounds_are_free(struct rounds *r, bool ask, bool *are, struct osr_diag *diag)
{
	struct transition *m = r->m;
	bool first = m->one_graph, rises;
	const struct osr_routing old = m->old, now = m->now;
	enum osr_status st = OSR_OK;

	m->loop.n = 0;
	m->refused = false;
	*are = false;
	if (!first) {
		m->now.lft = r->first;
		m->now.mcast_parent = old.mcast_parent;
		first = !r->kept && osr__transition_rises(m);
		if (!first && ask) {
			st = osr__transition_ask(m, diag);
			first = !m->loop.n && !m->refused;
		}
		m->now = now;
	}
	if (st || !first)
		return st;
	m->old.lft = r->first;
	if (now.sl2vl) {
		m->old.sl2vl = now.sl2vl;
		m->old.sl2vl_row = now.sl2vl_row;
		memcpy(m->old.ca_sl2vl, now.ca_sl2vl, sizeof(now.ca_sl2vl));
	}
	rises = !r->kept && osr__transition_rises(m);
	if (ask && !rises)
		st = osr__transition_ask(m, diag);
	m->old = old;
	*are = (ask || rises) && !st && !m->loop.n && !m->refused;
	return st;
}

static enum osr_status note_rounds(const struct rounds *r, const struct osr_job *job)
{
	size_t size = (size_t)job->fabric->n_dests * job->fabric->n_switches;
	uint64_t *withdrawn = osr_alloc(job->arena, r->n, sizeof(*withdrawn)), n = 0;
	struct osr_routing *routing = job->routing;

	if (!withdrawn)
		return osr__transition_nomem(job->diag);
	for (size_t i = 0; i < size; i++)
		if (r->first[i] != r->m->old.lft[i])
			withdrawn[n++] = i;
	routing->withdrawn = withdrawn;
	routing->stable.n_withdrawn = r->n;
	routing->stable.n_withdrawn_whole = r->n_whole;
	return OSR_OK;
}

static void rounds_begin(struct rounds *r)
{
	memcpy(r->first, r->m->old.lft, (size_t)r->m->f->n_dests * r->m->f->n_switches);
	r->n = r->n_whole = 0;
}

/*
 * Where an order may show it quickly, the entries whose route is cut are withdrawn before all tables are
 * followed: that costs no packet, and mostly suffices.
 */
static enum osr_status rounds_attempt(struct rounds *r, bool *are, struct osr_diag *diag)
{
	bool quick = (r->m->one_graph || r->m->by_turn) && r->m->r->rank && r->m->r->stable.kept;
	enum osr_status st = OSR_OK;

	rounds_begin(r);
	for (enum attempt attempt = 0; attempt < N_ATTEMPTS && !st && !*are; attempt++) {
		uint64_t had = r->n;

		withdraw_more(r, attempt);
		if (r->n > had || (quick && attempt == WITHDRAW_CUT))
			st = rounds_are_free(r, !quick || attempt != WITHDRAW_CYCLES, are, diag);
	}
	return st;
}

/* After a full route with what may be kept of the old tables, too. */
static enum osr_status rounds_choose(struct rounds *r, const struct osr_job *job)
{
	struct osr_stable *stable = &job->routing->stable;
	enum osr_status st = OSR_OK;
	struct osr_diag loop = { "" };
	uint8_t choice[3] = { 0 };
	uint32_t n = 1;
	bool are = false;

	for (uint32_t i = 0; i < n && !st && !are; i++) {
		r->kept = choice[i];
		osr__transition_keep(r->m, r->kept);
		st = rounds_attempt(r, &are, job->diag);
		if (!i && !st && !are && !stable->kept)
			n = osr__transition_choices(r->m, choice);
	}
	/* What is left of loops when as much is withdrawn as can be; but no packet goes in circles. */
	if (!st && !are) {
		if (r->m->loop.n) {
			osr_loop_say(r->m->f, &r->m->loop, &loop);
			snprintf(stable->transition_why, sizeof(stable->transition_why), "%.239s",
				 loop.text);
		}
		rounds_begin(r);
		withdraw_more(r, WITHDRAW_CYCLES);
		r->kept = 0;
	}
	if (!st && r->n)
		st = note_rounds(r, job);
	if (!st && r->kept)
		st = osr__transition_adopt(r->m, r->kept, job->arena, job->diag);
	if (st || !are)
		return st;
	stable->transition = OSR_TRANSITION_ROUNDS;
	stable->transition_kept = r->kept;
	return OSR_OK;
}

static enum osr_status rounds_alloc(struct rounds *r, struct osr_diag *diag)
{
	struct transition *m = r->m;
	size_t n = m->f->n_switches, size = m->f->n_dests * n;
	enum osr_status st = osr__transition_begin(m, diag);

	if (st)
		return st;
	r->first = osr_alloc(&m->kept, size, 1);
	r->state = osr_alloc(&m->kept, n, 1);
	r->n_in = osr_alloc(&m->kept, n, sizeof(*r->n_in));
	r->stack = osr_alloc(&m->kept, n, sizeof(*r->stack));
	r->on_cycle = osr_alloc(&m->kept, n, sizeof(*r->on_cycle));
	if (!r->first || !r->state || !r->n_in || !r->stack || !r->on_cycle)
		return osr__transition_nomem(diag);
	return OSR_OK;
}

enum osr_status osr_transition_rounds(const struct osr_job *job)
{
	struct transition m = osr__transition_of(job);
	struct rounds r = { .m = &m };
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	enum osr_status st = rounds_alloc(&r, job->diag);

	if (!st)
		st = rounds_choose(&r, job);
	osr_arena_free(&m.kept);
	osr_arena_reset(job->scratch, mark);
	return st;
}
