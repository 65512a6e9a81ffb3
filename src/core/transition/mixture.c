/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where one graph holds for all SLs: is the mixture of old and new tables free of credit loops by an order of the
 * channels in which all of its turns rise? The certificate of the new tables is such an order for them, and the
 * check proves that; LIDs whose entries stay have no other turns. So only LIDs that change are followed.
 */
#include <string.h>

#include "transition_private.h"

static bool mixture_is_link(const struct transition *m, uint32_t s, uint32_t c)
{
	const uint32_t *old = m->old.mcast_parent, *now = m->r->mcast_parent;
	uint32_t far = m->f->chan_dst[c], back = m->f->chan_rev[c];

	return old[s] == c || old[far] == back || now[s] == c || now[far] == back;
}

/* A copy leaves by every cable of either order but the one it came by. */
static bool mixture_follow_copies(const struct transition *m)
{
	const struct osr_fabric *fabric = m->f;
	const uint32_t *rank = m->r->rank;

	for (uint32_t s = 0; (m->modes & OSR_CLAIM_MULTICAST) && s < fabric->n_switches; s++)
		for (uint32_t a = fabric->chan_row[s]; a < fabric->chan_row[s + 1]; a++)
			for (uint32_t b = fabric->chan_row[s];
			     mixture_is_link(m, s, a) && b < fabric->chan_row[s + 1]; b++)
				if (a != b && mixture_is_link(m, s, b) &&
				    rank[fabric->chan_rev[a]] >= rank[b])
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
static bool mixture_follow_switch(const struct transition *m, const uint8_t *const row[2],
				  uint32_t root, uint32_t s)
{
	const struct osr_fabric *fabric = m->f;
	const uint32_t *rank = m->r->rank;

	for (unsigned g = 0; g < 2; g++) {
		uint32_t in = osr_port_channel(fabric, s, row[g][s]), next;

		if (in == OSR_NONE || (g && row[0][s] == row[1][s]) || fabric->chan_dst[in] == root)
			continue;
		next = fabric->chan_dst[in];
		for (unsigned h = 0; h < 2; h++) {
			uint32_t out = osr_port_channel(fabric, next, row[h][next]);

			if (out != OSR_NONE && rank[in] >= rank[out])
				return false;
		}
	}
	return true;
}

/* False: a turn falls, or memory ran out. */
static bool mixture_follow(const struct transition *m)
{
	const struct osr_fabric *fabric = m->f;
	size_t n = fabric->n_switches;
	bool *seen = osr_alloc(m->scratch, n, sizeof(*seen));
	uint32_t *stack = osr_alloc(m->scratch, n, sizeof(*stack));
	bool rises = seen && stack && mixture_follow_copies(m);

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
				mixture_follow_switch(m, row, root, s);
	}
	return rises;
}

bool osr__transition_rises(struct transition *m)
{
	struct osr_arena_mark mark = osr_arena_mark(m->scratch);
	bool rises = m->one_graph && m->r->rank && mixture_follow(m);

	osr_arena_reset(m->scratch, mark);
	return rises;
}
