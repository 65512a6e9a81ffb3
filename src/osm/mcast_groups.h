/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mcast_groups.h - OpenSM's multicast groups on our spanning order. */
#ifndef OSR_OSM_MCAST_GROUPS_H
#define OSR_OSM_MCAST_GROUPS_H

#include "compat.h"

#include <osmroutes/status.h>

struct engine_ctx;
struct sweep_slot;

/* SLs of the groups that exist and of the partitions, as a bit per SL; *most_used of them. */
uint16_t osr_mcast_sls(const struct osm_opensm *osm, uint8_t *most_used);
/*
 * Memory for mcast_build_stree, allocated with the result so that it need not allocate. OSR_OK also
 * if the engine leaves multicast to OpenSM.
 */
enum osr_status osr_mcast_prepare(struct sweep_slot *slot, struct osr_diag *diag);
/*
 * With the exclusive lock: OpenSM's tables are again the ones that it has sent, for all groups but
 * those whose members have changed since.
 */
void osr_mcast_again(struct engine_ctx *ctx);

ib_api_status_t osr_mcast_build_stree(void *context, osm_mgrp_box_t *box);

#endif
