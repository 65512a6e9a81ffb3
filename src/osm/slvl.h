/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * slvl.h - SL2VL tables of switches: their sender, the fewest MADs, and whether switches hold them.
 *
 * OpenSM sends one MAD for each pair of ports, and to all pairs of a port that came up, once an
 * engine has tables by port pair. So these tables are sent from here: only the tables that the
 * switch does not hold, whole rows by wildcards where the switch and use_optimized_slvl allow it.
 * OpenSM leaves a switch alone whose port 0 has no IB_PORT_CAP_HAS_SL_MAP; that bit is taken out
 * from the end of routing to UCAST_ROUTING_DONE.
 */
#ifndef OSR_OSM_SLVL_H
#define OSR_OSM_SLVL_H

#include "plugin.h"

/*
 * With the exclusive lock, when the result of this context is in OpenSM's buffers: before LFTs are
 * sent, the tables that differ are, unless wildcards are worth it.
 */
void osr_slvl_routed(struct engine_ctx *ctx);
/* Without a lock: sends the remaining tables, reads back, and sends wrong ones once more. */
void osr_slvl_settle(struct plugin *plugin);
/*
 * With a lock, after that: how many tables of this switch are wrong; `where` names the first. 0 for
 * switches that came since.
 */
uint32_t osr_slvl_lacks(struct plugin *plugin, osm_switch_t *sw, char *where, size_t size);
/*
 * The table that a switch has confirmed for this pair of ports; NULL: unknown. With OpenSM's lock.
 */
const ib_slvl_table_t *osr_slvl_confirmed(const osm_switch_t *sw, unsigned in, unsigned out);
/* Gives switches their bit back and forgets the tables that were to be sent. */
void osr_slvl_drop(struct plugin *plugin);

#endif
