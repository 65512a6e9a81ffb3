/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * adopt.h - a new master starts from the tables that the last one has left in the switches.
 *
 * Where any SL is safe, forwarding and SL2VL tables are all there is. After a handover both are read, by
 * OpenSM's own queue into its own copies, between discovery and routing; the sweep that follows
 * verifies them as it would its own, and routes from them as from those of a sweep before.
 */
#ifndef OSR_OSM_ADOPT_H
#define OSR_OSM_ADOPT_H

#include <stdbool.h>
#include <stdint.h>

struct plugin;
struct sweep;

bool osr__adopt_open(struct plugin *p);
void osr__adopt_close(struct plugin *p);
/* Between discovery and routing. */
void osr__adopt_read(struct plugin *p);
/*
 * The full route of this sweep is done and checked, and says how good tables can be. true: those that were
 * read take the place of the sweep before.
 */
bool osr__adopt(struct sweep *w);

#endif
