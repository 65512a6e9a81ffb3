/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * overlay.h - entries of a few LIDs that replace an engine's own: the part of routing keys in the
 * tables.
 *
 * With LMC > 0 a host has 2^LMC LIDs. The first, LID offset 0, always keeps the engine's routes;
 * any other offset can carry routes made for one application (keys.h). An engine knows nothing of
 * it: it routes all LIDs, and the caller lays the entries over its result, before the check. So the
 * base result is the same, byte for byte, with and without entries.
 *
 *	osr_check()  <-  osr_overlay_apply()  <-  route()
 */
#ifndef OSMROUTES_OVERLAY_H
#define OSMROUTES_OVERLAY_H

#include <osmroutes/routing.h>

struct osr_overlay_entry {
	uint32_t sw;
	uint32_t dest; /* a LID of a CA or router that is not its port's first */
	uint8_t port;  /* of sw */
};

/*
 * `out` becomes the base with these entries: a table and, where the base claims to be free of
 * deadlock, a certificate of its own in `result`, everything else shared with the base, which stays
 * as it is. The certificate covers the base's claims for both together.
 *
 * Entries ascend by LID number, then switch. OSR_INVAL: they do not, or one names no LID of that
 * kind or no channel. OSR_NOT_APPLICABLE: the base takes several virtual lanes; only where all
 * packets share one dependency graph can routes be exchanged one by one. OSR_CHECK_FAILED: together
 * they would have a cycle of dependencies; or an entry leads nowhere. Loops are left to
 * osr_check().
 *
 * Time O(LIDs with entries * switches); if the base's certificate does not fit, O(LIDs * switches).
 */
enum osr_status osr_overlay_apply(const struct osr_fabric *fabric, const struct osr_routing *base,
				  const struct osr_overlay_entry *entry, uint32_t n_entries,
				  struct osr_arena *scratch, struct osr_arena *result,
				  struct osr_routing *out, struct osr_diag *diag);

#endif
