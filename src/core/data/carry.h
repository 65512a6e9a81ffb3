/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * carry.h - the tables of a fabric that has changed since, in the numbering of today's.
 *
 * An entry stays where its port still leads somewhere, be it over another cable: the switch will send
 * packets there until it is programmed anew. Where the cable is gone, so are the packets, which wait
 * for nothing: OSR_NO_PATH. SLs and SLs given earlier stay, SL 0 is that of new LIDs and switches;
 * SL2VL tables stay port by port, new ports have OSR_VL_UNSET; the multicast order stays where its
 * cables are. Claims and certificate are left out: nothing is proven of the new fabric.
 *
 * O(LIDs * switches).
 */
#ifndef OSR_CORE_CARRY_H
#define OSR_CORE_CARRY_H

#include <osmroutes/routing.h>

#include "core/data/fabric_map.h"

/* `routing` is allocated in `arena`. OSR_NOMEM. */
enum osr_status osr_carry_routing(const struct osr_fabric_map *map, const struct osr_routing *old,
				  struct osr_arena *arena, struct osr_routing *routing,
				  struct osr_diag *diag);

/*
 * The certificate as well: new channels carry none of the old routes, so any rank does. Whether it
 * still proves the tables is for the check to say.
 */
enum osr_status osr_carry_rank(const struct osr_fabric_map *map, const struct osr_routing *old,
			       struct osr_arena *arena, struct osr_routing *routing,
			       struct osr_diag *diag);

/*
 * Checked tables on the fabric of today, with their certificate. Whether they fit is not decided here but by the
 * checker. Minimality is not claimed any more: a new cable may have made shorter routes than those of before.
 */
enum osr_status osr_carry_checked(const struct osr_fabric_map *map, const struct osr_routing *old,
				  struct osr_arena *arena, struct osr_routing *routing,
				  struct osr_diag *diag);

/* The same if everything that is there today was there before: otherwise OSR_CHECK_FAILED. */
enum osr_status osr_carry_again(const struct osr_result *old, const struct osr_fabric *fabric,
				struct osr_arena *arena, struct osr_arena *scratch,
				struct osr_routing *routing, struct osr_diag *diag);

/* What is left of an entry of switch s of map->to, which is in both fabrics. */
uint8_t osr_carry_port(const struct osr_fabric_map *map, uint32_t s, uint8_t port);

#endif
