/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Entries are stored into a copy of the table. Then the certificate: most often the base's own
 * covers the new dependencies too, because in a tree all routes go up and then down. If not, the
 * dependencies of everything are put in order again.
 */
#include "keys/overlay.h"

#include "core/verify/follow.h"

#include <string.h>

/* The base's certificate covers the base and multicast. Does it rise along the new entries, too? */
static bool base_rank_fits(struct osr_follow *follow, const uint32_t *rank, const bool *keyed)
{
	const uint32_t *out = follow->out[0], *to = follow->fabric->chan_dst;

	for (uint32_t d = 0; d < follow->fabric->n_dests; d++) {
		if (!keyed[d])
			continue;
		osr_follow_load(follow, d);
		for (uint32_t s = 0; s < follow->fabric->n_switches; s++)
			if (out[s] != OSR_NONE && out[to[out[s]]] != OSR_NONE &&
			    rank[out[s]] >= rank[out[to[out[s]]]])
				return false;
	}
	return true;
}

enum osr_status osr_overlay_apply(const struct osr_fabric *fabric, const struct osr_routing *base,
				  const struct osr_overlay_entry *entry, uint32_t n_entries,
				  struct osr_arena *scratch, struct osr_arena *result,
				  struct osr_routing *out, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch), kept = osr_arena_mark(result);
	const uint32_t modes = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	size_t size = (size_t)fabric->n_dests * fabric->n_switches;
	const struct osr_generation now = { .routing = out };
	struct osr_follow follow = { .fabric = fabric, .gen = &now, .n = 1 };
	bool *keyed = osr_calloc(scratch, fabric->n_dests, sizeof(*keyed));
	struct osr_loop loop;
	enum osr_status st;

	*out = *base;
	if (base->n_vls > 1) {
		osr_arena_reset(scratch, mark);
		return osr_fail(
			diag, OSR_NOT_APPLICABLE,
			"the base routing takes %u virtual lanes; keys need one that takes one",
			base->n_vls);
	}
	out->lft = osr_alloc(result, size, 1);
	st = osr_arena_failed(result, diag) ? OSR_NOMEM : osr_follow_init(&follow, scratch, diag);
	if (!st) {
		memcpy(out->lft, base->lft, size);
		/* keyed[d]: LIDs that have some. */
		for (uint32_t i = 0; i < n_entries; i++) {
			const struct osr_overlay_entry *e = &entry[i];
			uint32_t term =
				e->dest < fabric->n_dests ? fabric->dest_term[e->dest] : OSR_NONE;

			/*
			 * An entry is of a LID that is not its port's first, from a switch that is
			 * not its last to another one.
			 */
			if (e->sw >= fabric->n_switches || term == OSR_NONE ||
			    fabric->term_role[term] == OSR_ROLE_SP0 ||
			    fabric->dest_lid[e->dest] == fabric->term_lid[term] ||
			    e->sw == fabric->dest_switch[e->dest] ||
			    osr_port_channel(fabric, e->sw, e->port) == OSR_NONE ||
			    (i && (e[-1].dest > e->dest ||
				   (e[-1].dest == e->dest && e[-1].sw >= e->sw)))) {
				st = osr_fail(diag, OSR_INVAL,
					      "entry %u: LID number %u on switch %u by port %u is "
					      "none of a key, or not in order",
					      i, e->dest, e->sw, e->port);
				break;
			}
			out->lft[(size_t)e->dest * fabric->n_switches + e->sw] = e->port;
			keyed[e->dest] = true;
		}
	}
	/* Another certificate: the dependencies of everything are put in order again. */
	if (!st && (base->claims & OSR_CLAIM_DEADLOCK_FREE) &&
	    !base_rank_fits(&follow, out->rank, keyed)) {
		out->rank = osr_alloc(result, OSR_MAX_VLS * (size_t)fabric->n_channels,
				      sizeof(*out->rank));
		st = osr_arena_failed(result, diag)
			     ? OSR_NOMEM
			     : osr_union_loop(fabric, &now, 1, out->claims & modes, scratch, result,
					      &loop, out->rank, diag);
		if (!st && loop.n)
			st = osr_fail(diag, OSR_CHECK_FAILED,
				      "the routes of keys and base could deadlock together");
	}
	osr_arena_reset(scratch, mark);
	if (st)
		osr_arena_reset(result, kept);
	return st;
}
