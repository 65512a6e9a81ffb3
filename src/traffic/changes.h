/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * changes.h - the fate of the routes between hosts when a fabric and its tables changed.
 *
 * Two fabrics with their tables, old and new; their common part is found by core/data/fabric_map.h.
 * Counted are pairs: an end port of a CA or router, and a LID of another one. Hosts on one switch
 * share their routes, so this costs O(LIDs * switches).
 */
#ifndef OSMROUTES_CHANGES_H
#define OSMROUTES_CHANGES_H

#include <osmroutes/routing.h>

struct osr_changes {
	uint64_t n_entries; /* LFT entries (switch, LID) that both have */
	uint64_t n_entries_changed;
	uint64_t n_blocks; /* of 64 LIDs of a switch, which OpenSM sends at a time, with an entry
			      changed or of a LID that is not there any more */

	uint64_t n_pairs; /* of the old fabric that had a path */
	uint64_t n_gone;  /* one of the ends is not there any more, or on another switch */
	/* Of those with both ends there: */
	uint64_t n_cut;   /* the old path crosses a cable or switch that is not there any more */
	uint64_t n_lost;  /* no path now */
	uint64_t n_path;  /* another path: not the same ports on the same switches */
	uint64_t n_sl;    /* another SL, on whatever path; without SLs it is 0 */
	uint64_t n_found; /* a path now, and none before; not in n_pairs */
};

/* Both routings are finished, and need not be checked. */
enum osr_status osr_changes(const struct osr_fabric *fabric, const struct osr_routing *routing,
			    const struct osr_fabric *f_new, const struct osr_routing *r_new,
			    struct osr_arena *scratch, struct osr_changes *changes,
			    struct osr_diag *diag);

#endif
