/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * carry.h - tables of before in the numbering of today's fabric: the one step from one generation
 * to the next.
 *
 * An entry stays where its port still leads somewhere, be it over another cable: the switch will
 * send packets there until it is programmed anew. Where the cable is gone, so are the packets,
 * which wait for nothing: OSR_NO_PATH. SLs and SLs given earlier stay, SL 0 is that of new LIDs and
 * switches; SL2VL tables stay port by port, new ports have OSR_VL_UNSET; the multicast order stays
 * where its cables are. The certificate and the turns of each lane (lane_deps) stay by cables: new
 * channels carry none of the old routes, so any rank does. All else is as it was, claims too, but
 * what a sweep did (stable) and its notes for the log. Whether anything still holds is for the
 * checker to say.
 *
 * O(LIDs * switches); where all switches are there, rows are copied and entries of switches that
 * have lost a cable changed.
 */
#ifndef OSR_CORE_CARRY_H
#define OSR_CORE_CARRY_H

#include <osmroutes/routing.h>

#include "core/data/fabric_map.h"

struct osr_earlier {
	struct osr_fabric_map map;     /* of today's fabric in the earlier one */
	const struct osr_routing *was; /* as it was made */
	struct osr_routing routing;    /* in today's numbering */
};

/* The map lives in `scratch`, tables in `arena`; they may be the same. OSR_NOMEM. */
enum osr_status osr_carry(const struct osr_fabric *from, const struct osr_routing *was,
			  const struct osr_fabric *to, struct osr_arena *scratch,
			  struct osr_arena *arena, struct osr_earlier *earlier,
			  struct osr_diag *diag);

/* Had switch s of today a path to d? */
static inline bool osr_carry_had_path(const struct osr_earlier *earlier, uint32_t d, uint32_t s)
{
	uint32_t dest = earlier->map.dest[d], sw = earlier->map.sw[s];

	return dest != OSR_NONE && sw != OSR_NONE && osr_lft(earlier->was, sw, dest) != OSR_NO_PATH;
}

/*
 * Checked tables on the fabric of today, to be used again if the checker accepts them. Minimality
 * is not claimed any more: a new cable may have made shorter routes than those of before.
 * OSR_CHECK_FAILED if `all` and a switch or LID is new.
 */
enum osr_status osr_carry_again(const struct osr_result *old, const struct osr_fabric *fabric,
				bool all, struct osr_arena *arena, struct osr_arena *scratch,
				struct osr_routing *routing, struct osr_diag *diag);

/* What is left of an entry of switch s of map->to, which is in both fabrics. */
uint8_t osr_carry_port(const struct osr_fabric_map *map, uint32_t s, uint8_t port);

#endif
