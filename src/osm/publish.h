/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* publish.h - results into OpenSM's buffers, from which it sends them. */
#ifndef OSR_OSM_PUBLISH_H
#define OSR_OSM_PUBLISH_H

#include "snapshot.h"

#include <osmroutes/routing.h>

struct plugin;
struct sweep;

/* Hop counts where somebody reads them, then the tables, or the first round of two; nothing is written if something is wrong. */
enum osr_status osr__publish(struct sweep *w);
/*
 * With log flag ROUTING, beside OpenSM's dumps, which lack them: the SLs of path records (io/pathsl.h).
 * routing = NULL: other tables than ours are in use, and the file of earlier goes.
 */
void osr__publish_path_sl(struct osm_opensm *osm, const struct osr_fabric *fabric,
			  const struct osr_routing *routing);

/* May this sweep's tables go out in two rounds? */
bool osr__rounds_may(const struct sweep *w);
/*
 * Without a lock, in the thread that sweeps, when all switches have confirmed the first round: sends the
 * second one, if there is one, and waits for it. How many blocks.
 */
uint32_t osr__rounds_finish(struct plugin *p);
/* Blocks of all switches that differ from what they have; with a lock. */
uint32_t osr__rounds_blocks(struct osm_opensm *osm);

/* reuse.c */

/*
 * The LFTs that OpenSM has programmed from its unicast cache, with the SLs and the certificate of
 * `old`: what is on the switches now, to be checked.
 */
enum osr_status osr__reuse_cached(const struct osr_result *old, const struct osr_fabric *fabric,
				  const struct snapshot *snap, struct osr_arena *result,
				  struct osr_arena *scratch, struct osr_routing *routing,
				  struct osr_diag *diag);

#endif
