/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where one graph holds for all SLs: is the mixture of old and new tables free of credit loops by an order of the
 * channels in which all of its turns rise? The certificate of the new tables is such an order for them, and the
 * check proves that; LIDs whose entries stay have no other turns. So only LIDs that change are followed.
 *
 * If a turn of theirs falls there may be another order. It is sorted from what the re-route says that old and
 * new tables depend on (osr_routing.deps) and from the turns of the mixture. Nothing relies on that being all: the
 * order becomes the certificate, which the check proves like any other. From the outside in:
 *	osr__transition_rises()
 *	  mixture_follow()	every turn of the mixture: does it rise, or is it noted?
 *	  mixture_find()	another order
 */
#include <string.h>

#include <osmroutes/cdg.h>

#include "transition_private.h"

/* What is done with the turns of the mixture. */
struct mixture {
	const struct osr_fabric *f;
	const uint32_t *rank; /* do they rise in it? If NULL, they are noted: */
	struct osr_cdg deps;
};

static inline bool mixture_turn(const struct mixture *t, uint32_t in, uint32_t out)
{
	if (t->rank)
		return t->rank[in] < t->rank[out];
	t->deps.weight[t->deps.row[in] + out - t->f->chan_row[t->f->chan_dst[in]]] = 1;
	return true;
}

/* ---- what the mixture has -------------------------------------------------------------------- */

static bool mixture_is_link(const struct transition *m, uint32_t s, uint32_t c)
{
	const uint32_t *old = m->old.mcast_parent, *now = m->r->mcast_parent;
	uint32_t far = m->f->chan_dst[c], back = m->f->chan_rev[c];

	return old[s] == c || old[far] == back || now[s] == c || now[far] == back;
}

/* A copy leaves by every cable of either order but the one it came by. */
static bool mixture_follow_copies(const struct transition *m, const struct mixture *t)
{
	const struct osr_fabric *fabric = m->f;

	for (uint32_t s = 0; (m->modes & OSR_CLAIM_MULTICAST) && s < fabric->n_switches; s++)
		for (uint32_t a = fabric->chan_row[s]; a < fabric->chan_row[s + 1]; a++)
			for (uint32_t b = fabric->chan_row[s];
			     mixture_is_link(m, s, a) && b < fabric->chan_row[s + 1]; b++)
				if (a != b && mixture_is_link(m, s, b) &&
				    !mixture_turn(t, fabric->chan_rev[a], b))
					return false;
	return true;
}

/* Switches that packets to a port 0 come to: only those that have hosts ask it. */
static void mixture_reach(const struct transition *m, const uint8_t *const row[2], uint32_t root,
			  bool *seen, uint32_t *stack)
{
	const struct osr_fabric *fabric = m->f;
	uint32_t n = 0;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		seen[s] = fabric->sw_sources[s] != 0;
		if (seen[s])
			stack[n++] = s;
	}
	while (n) {
		uint32_t s = stack[--n];

		for (unsigned g = 0; g < 2 && s != root; g++) {
			uint32_t c = osr_port_channel(fabric, s, row[g][s]);

			if (c == OSR_NONE || seen[fabric->chan_dst[c]])
				continue;
			seen[fabric->chan_dst[c]] = true;
			stack[n++] = fabric->chan_dst[c];
		}
	}
}

/* To where both entries of the next switch lead, from where both of s do. */
static bool mixture_follow_switch(const struct mixture *t, const uint8_t *const row[2],
				  uint32_t root, uint32_t s)
{
	const struct osr_fabric *fabric = t->f;

	for (unsigned g = 0; g < 2; g++) {
		uint32_t in = osr_port_channel(fabric, s, row[g][s]), next;

		if (in == OSR_NONE || (g && row[0][s] == row[1][s]) || fabric->chan_dst[in] == root)
			continue;
		next = fabric->chan_dst[in];
		for (unsigned h = 0; h < 2; h++) {
			uint32_t out = osr_port_channel(fabric, next, row[h][next]);

			if (out != OSR_NONE && !mixture_turn(t, in, out))
				return false;
		}
	}
	return true;
}

/* False: a turn falls, or memory ran out. */
static bool mixture_follow(const struct transition *m, const struct mixture *t)
{
	const struct osr_fabric *fabric = m->f;
	size_t n = fabric->n_switches;
	bool *seen = osr_alloc(m->scratch, n, sizeof(*seen));
	uint32_t *stack = osr_alloc(m->scratch, n, sizeof(*stack));
	bool rises = seen && stack && mixture_follow_copies(m, t);

	for (uint32_t d = 0; rises && d < fabric->n_dests; d++) {
		const uint8_t *const row[] = { m->old.lft + d * n, m->now.lft + d * n };
		uint32_t root = fabric->dest_switch[d];
		bool host = fabric->term_weight[fabric->dest_term[d]];

		if (!memcmp(row[0], row[1], n))
			continue;
		if (!host)
			mixture_reach(m, row, root, seen, stack);
		for (uint32_t s = 0; rises && s < n; s++)
			rises = s == root || (!host && !seen[s]) ||
				mixture_follow_switch(t, row, root, s);
	}
	return rises;
}

/* ---- another order --------------------------------------------------------------------------- */

/* An order in which what the tables depend on and the mixture rise, into m->rank. False: none, or memory ran out. */
static bool mixture_find(struct transition *m)
{
	struct mixture t = { .f = m->f };
	struct osr_diag diag;

	if (osr_cdg_init(&t.deps, m->f, m->scratch, &diag))
		return false;
	for (uint32_t slot = 0; slot < t.deps.n_slots; slot++)
		t.deps.weight[slot] = m->r->deps[slot / 64] >> slot % 64 & 1;
	return mixture_follow(m, &t) && osr_cdg_sort(&t.deps, m->scratch, m->rank);
}

bool osr__transition_has_order(const struct transition *m)
{
	return m->one_graph && m->r->rank && m->r->stable.kept && m->r->deps;
}

bool osr__transition_rises(struct transition *m)
{
	const struct mixture t = { .f = m->f, .rank = m->r->rank };
	struct osr_arena_mark mark = osr_arena_mark(m->scratch);
	bool rises = m->one_graph && m->r->rank && mixture_follow(m, &t);

	m->sorted = !rises && osr__transition_has_order(m) && mixture_find(m);
	osr_arena_reset(m->scratch, mark);
	return rises || m->sorted;
}
