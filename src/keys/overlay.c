/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Entries are stored into a copy of the table. Then the certificate: most often the base's own
 * covers the new dependencies too, because in a tree all routes go up and then down. If not, the
 * dependencies of everything are put in order again.
 */
#include "keys/overlay.h"

#include "core/verify/union.h"

#include <string.h>

struct laying {
	const struct osr_fabric *f;
	struct osr_routing *r; /* with the entries */
	struct osr_arena *scratch;
	struct osr_diag *diag;
};

static enum osr_status check_entry(const struct laying *x, const struct osr_overlay_entry *overlay)
{
	const struct osr_fabric *fabric = x->f;
	uint32_t term;
	char buf[32];

	if (overlay->sw >= fabric->n_switches || overlay->dest >= fabric->n_dests)
		return osr_fail(x->diag, OSR_INVAL,
				"an entry for switch %u of %u, LID number %u of %u", overlay->sw,
				fabric->n_switches, overlay->dest, fabric->n_dests);
	term = fabric->dest_term[overlay->dest];
	if (fabric->term_role[term] == OSR_ROLE_SP0 ||
	    fabric->dest_lid[overlay->dest] == fabric->term_lid[term])
		return osr_fail(
			x->diag, OSR_INVAL,
			"LID %u is the first of its port or a switch's, and keeps the base routing",
			fabric->dest_lid[overlay->dest]);
	if (overlay->sw == fabric->dest_switch[overlay->dest] ||
	    osr_port_channel(fabric, overlay->sw, overlay->port) == OSR_NONE)
		return osr_fail(x->diag, OSR_INVAL, "switch %s cannot send LID %u on by port %u",
				osr_switch_name(fabric, overlay->sw, buf),
				fabric->dest_lid[overlay->dest], overlay->port);
	return OSR_OK;
}

static bool ascends(const struct osr_overlay_entry *overlay,
		    const struct osr_overlay_entry *overlay_entry)
{
	return overlay->dest < overlay_entry->dest ||
	       (overlay->dest == overlay_entry->dest && overlay->sw < overlay_entry->sw);
}

/* Stores the entries; keyed[d] for LIDs that have some. */
static enum osr_status overlay_store(const struct laying *x, const struct osr_overlay_entry *entry,
				     uint32_t n, bool *keyed)
{
	for (uint32_t i = 0; i < n; i++) {
		enum osr_status st = check_entry(x, &entry[i]);
		char buf[32];

		if (st)
			return st;
		if (i && !ascends(&entry[i - 1], &entry[i]))
			return osr_fail(x->diag, OSR_INVAL,
					"entries for LID %u on switch %s are not in order",
					x->f->dest_lid[entry[i].dest],
					osr_switch_name(x->f, entry[i].sw, buf));
		x->r->lft[(size_t)entry[i].dest * x->f->n_switches + entry[i].sw] = entry[i].port;
		keyed[entry[i].dest] = true;
	}
	return OSR_OK;
}

/* The certificate ------------------------------------------------------------------------------ */

static uint32_t channel_to(const struct laying *x, uint32_t s, uint32_t d)
{
	uint8_t port = x->r->lft[(size_t)d * x->f->n_switches + s];

	return port == OSR_NO_PATH || s == x->f->dest_switch[d] ? OSR_NONE
								: osr_port_channel(x->f, s, port);
}

/* Base and multicast are covered by the base's: does it rise along what is new, too? */
static bool base_rank_fits(const struct laying *x, const bool *keyed)
{
	const struct osr_fabric *fabric = x->f;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t s = 0; keyed[d] && s < fabric->n_switches; s++) {
			uint32_t from = channel_to(x, s, d), to = OSR_NONE;

			if (from != OSR_NONE)
				to = channel_to(x, fabric->chan_dst[from], d);
			if (to != OSR_NONE && x->r->rank[from] >= x->r->rank[to])
				return false;
		}
	return true;
}

/* Another one: the dependencies of everything are put in order again. */
static enum osr_status rank_anew(const struct laying *x, struct osr_arena *result)
{
	const uint32_t modes = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	const struct osr_generation now = { .routing = x->r };
	struct osr_loop loop;
	enum osr_status st;

	x->r->rank = osr_alloc(result, OSR_MAX_VLS * (size_t)x->f->n_channels, sizeof(*x->r->rank));
	if (osr_arena_failed(result, x->diag))
		return OSR_NOMEM;
	st = osr_union_loop(x->f, &now, 1, x->r->claims & modes, x->scratch, result, &loop,
			    x->r->rank, x->diag);
	if (!st && loop.n)
		st = osr_fail(x->diag, OSR_CHECK_FAILED,
			      "the routes of keys and base could deadlock together");
	return st;
}

static enum osr_status overlay_lay(struct laying *x, const struct osr_overlay_entry *entry,
				   uint32_t n, const struct osr_routing *base,
				   struct osr_arena *result)
{
	size_t size = (size_t)x->f->n_dests * x->f->n_switches;
	bool *keyed = osr_calloc(x->scratch, x->f->n_dests, sizeof(*keyed));
	enum osr_status st;

	x->r->lft = osr_alloc(result, size, 1);
	if (osr_arena_failed(x->scratch, x->diag) || osr_arena_failed(result, x->diag))
		return OSR_NOMEM;
	memcpy(x->r->lft, base->lft, size);
	st = overlay_store(x, entry, n, keyed);
	if (st || !(base->claims & OSR_CLAIM_DEADLOCK_FREE) || base_rank_fits(x, keyed))
		return st;
	return rank_anew(x, result);
}

enum osr_status osr_overlay_apply(const struct osr_fabric *fabric, const struct osr_routing *base,
				  const struct osr_overlay_entry *entry, uint32_t n_entries,
				  struct osr_arena *scratch, struct osr_arena *result,
				  struct osr_routing *out, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch), kept = osr_arena_mark(result);
	struct laying x = { .f = fabric, .r = out, .scratch = scratch, .diag = diag };
	enum osr_status st;

	*out = *base;
	if (base->n_vls > 1)
		return osr_fail(
			diag, OSR_NOT_APPLICABLE,
			"the base routing takes %u virtual lanes; keys need one that takes one",
			base->n_vls);
	st = overlay_lay(&x, entry, n_entries, base, result);
	osr_arena_reset(scratch, mark);
	if (st)
		osr_arena_reset(result, kept);
	return st;
}
