/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * reboots.h - switches that may have restarted although no discovery has seen their ports down.
 *
 * OpenSM sends SL2VL and VL arbitration tables to a port without comparing if the discovery found it in
 * state Initialize. If a switch restarts after its ports were read, and OpenSM then sends PortInfo to one
 * of them, the answer says Initialize; the same sweep makes the port active, and the next discovery sees an
 * active port. The tables of after power-on stay.
 *
 * SwitchInfo tells. A restart takes all ports down, so PortStateChange is set in the switch and in those at
 * the other ends of its cables. OpenSM clears that mark only where a discovery has read it, and before any
 * table of that sweep is sent. So two discoveries in a row see it in all of them, whichever SwitchInfo was
 * read before the restart and whichever after; and a cable that fails alone marks no more than its two ends.
 */
#ifndef OSR_OSM_REBOOTS_H
#define OSR_OSM_REBOOTS_H

#include <stdbool.h>

struct plugin;

bool osr__reboots_open(struct plugin *p);
/*
 * Between discovery and routing: all ports of such switches are to be sent their tables in this sweep.
 * O(ports log switches). Without memory, restarts between this discovery and the last one are not seen.
 */
void osr__reboots_find(struct plugin *p);
void osr__reboots_close(struct plugin *p);

#endif
