/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* publish.h - results into OpenSM's buffers, from which it sends them. */
#ifndef OSR_OSM_PUBLISH_H
#define OSR_OSM_PUBLISH_H

#include "snapshot.h"

#include <osmroutes/routing.h>

/* Are all of OpenSM's buffers there and large enough? Nothing is written. */
enum osr_status osr__publish_ready(const struct osr_fabric *fabric, const struct snapshot *snap,
				   struct osr_diag *diag);
/* What they have. Packets that are on their way through a drained switch still find it. */
void osr__publish_same(osm_switch_t *const *sw, uint32_t n);
/* Cannot fail after osr__publish_ready(). */
void osr__publish(const struct osr_fabric *fabric, const struct osr_routing *routing,
		  const struct snapshot *snap);
/* Hop counts, for OpenSM's dumps and its own multicast only. */
enum osr_status osr__publish_hops(struct osm_opensm *osm, const struct osr_fabric *fabric,
				  const struct osr_routing *routing, const struct snapshot *snap,
				  struct osr_arena *scratch, struct osr_diag *diag);
/*
 * With log flag ROUTING, beside OpenSM's dumps, which lack them: the SLs of path records (io/pathsl.h).
 * routing = NULL: other tables than ours are in use, and the file of earlier goes.
 */
void osr__publish_path_sl(struct osm_opensm *osm, const struct osr_fabric *fabric,
			  const struct osr_routing *routing);

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
