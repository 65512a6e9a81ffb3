/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * metrics.h - the last sweep in numbers, for operators' tools: osmroutes-GUID.json and
 * osmroutes-GUID.prom in the directory `metrics_dir`, GUID being the port of this SM.
 *
 * A sweep is noted while OpenSM holds its lock, as a tree of names, words and numbers; JSON,
 * Prometheus's text and the line of JSON in the log are views of it. The files are written at
 * OpenSM's event UCAST_ROUTING_DONE, or after a sweep that failed, when that event may not come, by
 * a thread (file.h). `osmroutes status` shows the same JSON, from the control socket.
 */
#ifndef OSR_OSM_METRICS_H
#define OSR_OSM_METRICS_H

#include "sweep.h"

/*
 * The outcome of a sweep: counted, kept for the files and the socket, and in the log as one line of
 * JSON.
 */
void osr_metrics_note(const struct sweep *sweep, enum outcome outcome);
/* A number that is known later. */
void osr_metrics_set(struct plugin *plugin, const char *group, const char *name, double value);

#endif
