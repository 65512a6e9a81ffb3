/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * carry.h - the previous tables in the numbering of the current fabric: the one step from one
 * generation to the next.
 *
 *	LFT entries	stay if their port still leads to a switch or end port, be it over another
 *			cable: the switch sends packets there until it is programmed again. If the
 *			cable is gone, packets are dropped and wait for nothing: OSR_NO_PATH.
 *	SLs		stay, granted SLs too. New LIDs and switches have SL 0.
 *	SL2VL tables	stay port by port. New ports have OSR_VL_UNSET.
 *	multicast	the link of a switch to its parent stays if its cable does.
 *	certificate	ranks and lane_deps stay cable by cable. New channels have rank 0: no old
 *			route uses them, so any rank is right.
 *
 * All other members stay, claims too, except the report of the sweep (`stable`) and its notes for
 * the log. The checker decides whether the claims still hold.
 *
 * O(LIDs * switches). If the switches are the same, rows are copied, and only switches that have
 * lost a cable get new entries.
 */
#ifndef OSR_CORE_CARRY_H
#define OSR_CORE_CARRY_H

#include <osmroutes/routing.h>

#include "core/data/fabric_map.h"

struct osr_earlier {
	struct osr_fabric_map map;     /* from the previous fabric to the current one */
	const struct osr_routing *was; /* the previous tables, in their own numbering */
	struct osr_routing routing;    /* the same tables in the current numbering */
};

/* The map lives in `scratch`, tables in `arena`; they may be the same. OSR_NOMEM. */
enum osr_status osr_carry(const struct osr_fabric *from, const struct osr_routing *was,
			  const struct osr_fabric *to, struct osr_arena *scratch,
			  struct osr_arena *arena, struct osr_earlier *earlier,
			  struct osr_diag *diag);

/* Did the previous tables have a path from switch s to LID d, both of the current fabric? */
static inline bool osr_carry_had_path(const struct osr_earlier *earlier, uint32_t d, uint32_t s)
{
	uint32_t dest = earlier->map.dest[d], sw = earlier->map.sw[s];

	return dest != OSR_NONE && sw != OSR_NONE && osr_lft(earlier->was, sw, dest) != OSR_NO_PATH;
}

/*
 * Checked tables on the current fabric, to be used again if the checker accepts them. They no
 * longer claim to be minimal, for a new cable may allow shorter routes. With `all` a new switch or
 * LID is refused with OSR_CHECK_FAILED.
 */
enum osr_status osr_carry_again(const struct osr_result *old, const struct osr_fabric *fabric,
				bool all, struct osr_arena *arena, struct osr_arena *scratch,
				struct osr_routing *routing, struct osr_diag *diag);

/* The carried entry of switch s of map->to, a switch of both fabrics: `port` or OSR_NO_PATH. */
uint8_t osr_carry_port(const struct osr_fabric_map *map, uint32_t s, uint8_t port);

#endif
