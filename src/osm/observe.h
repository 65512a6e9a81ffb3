/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * observe.h - a verdict on what the switches have, whatever engine routed; nothing is changed.
 *
 * With `observe = yes` every sweep that ends well wakes a thread. It copies what OpenSM has programmed
 * (LFTs, SL2VL and multicast tables, path SLs as OpenSM's engine says them), and then works on the
 * copy alone: verdict, load against the least possible, what has changed since the last time, and
 * what an engine of osmroutes would have made of the same fabric. One line in the log for each sweep,
 * osmroutes-GUID-observed.json and .prom in metrics_dir. A sweep that begins makes it drop its work.
 */
#ifndef OSR_OSM_OBSERVE_H
#define OSR_OSM_OBSERVE_H

#include <stdbool.h>

struct observer;
struct plugin;

/* Starts the thread if it is wanted; without memory or a thread one line in the log, and there is none. */
void osr__observe_open(struct plugin *p);
/* Ends it: between two phases of its work, a second or two on a large fabric. */
void osr__observe_close(struct plugin *p);
/* OpenSM's events: a sweep begins; one has ended well. */
void osr__observe_stale(struct plugin *p);
void osr__observe_wake(struct plugin *p);

#endif
