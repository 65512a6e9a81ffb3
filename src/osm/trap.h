/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * trap.h - from a trap to tables without a discovery.
 *
 * A switch whose link changes its state sends trap 128, and OpenSM discovers the whole fabric anew
 * before it routes. What is lost is known after a few MADs: the switch is asked for the state of
 * its ports, dead cables leave OpenSM's subnet as its own PortInfo receiver would have them leave,
 * the engine routes, and the blocks that changed are sent. OpenSM's discovery follows as always and
 * finds a fabric that is routed already.
 *
 * That is done for cables between switches that the switch itself calls down, and for nothing else:
 * a new or another link, a host that goes, an answer that does not come, a part of the fabric that
 * is cut off, all are left to the discovery.
 */
#ifndef OSR_OSM_TRAP_H
#define OSR_OSM_TRAP_H

#include "compat.h"

struct plugin;

/* OpenSM's event, from any thread, with the shared lock held. */
void osr_traps_note(struct plugin *plugin, const ib_mad_notice_attr_t *notice);
/*
 * Did the sweep before the one under way end well, so that switches hold OpenSM's copy of their
 * tables?
 */
bool osr_traps_were_settled(const struct plugin *plugin);

#endif
