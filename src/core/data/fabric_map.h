/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_map.h - the switches, LIDs and cables of one fabric that are also in another one: before
 * and after a fault, a restart, an extension.
 *
 *	switch		the same node GUID
 *	destination	the same LID on the same port GUID and role; it may be on another switch
 *	channel		the same cable: both switches and both ports are the same
 *
 * O(switches * log switches + LIDs + channels).
 */
#ifndef OSR_CORE_FABRIC_MAP_H
#define OSR_CORE_FABRIC_MAP_H

#include <osmroutes/fabric.h>

/* For each index of `to` the index of the same thing in `from`, or OSR_NONE. */
struct osr_fabric_map {
	const struct osr_fabric *from, *to;
	uint32_t *sw;   /* [to->n_switches] */
	uint32_t *dest; /* [to->n_dests] */
	uint32_t *chan; /* [to->n_channels] */
};

/* The arrays live in `arena`. OSR_NOMEM. */
enum osr_status osr_fabric_map_init(struct osr_fabric_map *map, const struct osr_fabric *from,
				    const struct osr_fabric *to, struct osr_arena *arena,
				    struct osr_diag *diag);

/* Is the destination in both fabrics, on the same switch? */
bool osr_fabric_map_dest_stays(const struct osr_fabric_map *map, uint32_t d);

/* The end port of `from` with the LID, GUID and role of this one, or OSR_NONE. */
uint32_t osr_fabric_map_terminal(const struct osr_fabric_map *map, uint32_t t);

#endif
