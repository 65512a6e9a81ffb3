/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* send_rounds.h - tables in two rounds. */
#ifndef OSR_OSM_SEND_ROUNDS_H
#define OSR_OSM_SEND_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

struct osm_opensm;
struct plugin;
struct sweep;

/* May this sweep's tables go out in two rounds? */
bool osr__rounds_may(const struct sweep *w);
/* The first of them is what OpenSM sends when the sweep's callback returns. */
void osr__rounds_publish_first(const struct sweep *w);
/*
 * Without a lock, in the thread that sweeps, when all switches have confirmed the first round: sends the
 * second one, if there is one, and waits for it. How many blocks.
 */
uint32_t osr__rounds_finish(struct plugin *p);
/* Blocks of all switches that differ from what they have; with a lock. */
uint32_t osr__rounds_blocks(struct osm_opensm *osm);

#endif
