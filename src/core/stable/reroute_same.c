/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A fabric that is what it was in the last sweep keeps the tables of the last sweep, byte for byte. To repair
 * them from home once more can give others: pairs that lost an SL have left room since. What was counted
 * on the way (drift, LIDs repaired) stays.
 */
#include "reroute_private.h"

#include <string.h>

bool osr__nothing_changed(const struct osr_fabric *f, const struct osr_request *req,
			  const struct osr_result *previous)
{
	const struct osr_routing *r = &previous->routing;

	/* A full route that is repaired by nothing is the same without this. */
	return previous->home && (r->mcast_parent != NULL) == req->multicast &&
	       (!req->multicast || r->mcast_vl == req->mcast_vl) &&
	       osr_fabric_alike(f, &previous->fabric);
}

static void *copy(struct osr_arena *arena, const void *from, size_t n, size_t size, bool *ok)
{
	void *to = from ? osr_alloc(arena, n, size) : NULL;

	*ok &= !from || to;
	return to ? memcpy(to, from, n * size) : NULL;
}

enum osr_status osr__keep_result(const struct osr_result *previous, struct osr_arena *result,
				 struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_routing *p = &previous->routing;
	const struct osr_fabric *home = &previous->home->fabric;
	size_t size = (size_t)p->n_dests * p->n_switches;
	bool ok = true;

	r->claims = p->claims;
	r->n_vls = p->n_vls;
	r->n_longer = p->n_longer;
	r->lft = copy(result, p->lft, size, sizeof(*p->lft), &ok);
	r->sl = copy(result, p->sl, size, sizeof(*p->sl), &ok);
	r->granted = copy(result, p->granted, size, sizeof(*p->granted), &ok);
	r->granted_home = copy(result, p->granted_home, (size_t)home->n_dests * home->n_switches,
			       sizeof(*p->granted_home), &ok);
	r->rank = copy(result, p->rank, (size_t)p->n_vls * p->n_channels, sizeof(*p->rank), &ok);
	r->mcast_parent =
		copy(result, p->mcast_parent, p->n_switches, sizeof(*p->mcast_parent), &ok);
	r->mcast_vl = p->mcast_vl;
	r->stable.new_home = false;
	r->stable.together = (p->claims & OSR_CLAIM_DEADLOCK_FREE) && p->rank;
	r->stable.moment = OSR_MOMENT_UNASKED;
	r->stable.moment_why[0] = '\0';
	r->stable.n_sl_changed = 0;
	r->stable.n_sl_lost = 0;
	return ok ? OSR_OK : osr__nomem(diag);
}
