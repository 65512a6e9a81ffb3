/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * upkeep.h - parts that routing leaves out although they are there (control/drain.h), in the subnet
 * manager.
 *
 * Every sweep first looks at the whole fabric. Where something is to be left out snapshot.c makes a
 * second one without it, so that everything behind it, multicast included, sees a fabric in which
 * it has been pulled; nothing is left to change when it is.
 */
#ifndef OSR_OSM_UPKEEP_H
#define OSR_OSM_UPKEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "control/drain.h"

struct plugin;
struct upkeep;

/* In the sweep, with a fabric that has all parts in it: is something to be left out of it? */
bool osr_upkeep_watch(struct plugin *plugin, const struct osr_fabric *fabric,
		      struct osr_arena *scratch);
/* Is this switch (port 0), or the link at this port of it, left out? As of the last watch. */
bool osr_upkeep_out(const struct plugin *plugin, uint64_t guid, uint8_t port);
/*
 * In the thread of the control socket: something was asked; a sweep is on its way if it has to be.
 */
void osr_upkeep_turn(struct plugin *plugin);
struct osr_drains *osr_upkeep_drains(const struct plugin *plugin);

#endif
