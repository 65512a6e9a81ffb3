/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * metrics.h - the last sweep in numbers, for operators' tools: osmroutes-GUID.json and
 * osmroutes-GUID.prom in the directory `metrics_dir`, GUID being the port of this SM.
 *
 * A sweep is noted while OpenSM holds its lock, as a tree of names, words and numbers; JSON, Prometheus's
 * text and the line of JSON in the log are views of it. The files are written at OpenSM's event
 * UCAST_ROUTING_DONE, or after a sweep that failed, when that event may not come, by a thread (writer.h).
 * `osmroutes status` shows the same JSON, from the control socket.
 */
#ifndef OSR_OSM_METRICS_H
#define OSR_OSM_METRICS_H

#include "writer.h"

#include <jansson.h>

/* What came of a sweep. */
enum outcome {
	OUTCOME_ROUTED, /* new tables, checked */
	OUTCOME_KEYS,   /* the base of the sweep before, other routing keys over it, checked */
	OUTCOME_REUSED, /* routing failed; the last checked tables fit and were used again */
	OUTCOME_CACHED, /* OpenSM used its unicast cache; those tables passed the check */
	OUTCOME_CACHED_HOSTS, /* the same, but they hold for LIDs of CAs and routers only */
	OUTCOME_CACHE_BAD,    /* the same, but they failed the check: a new sweep was asked for */
	OUTCOME_FAILED,       /* no checked tables: OpenSM's next engine had its turn */
	OUTCOME_REFUSED,      /* on_error = refuse */
	N_OUTCOMES,
};

/* A number of the last sweep: in JSON an object of its group, for Prometheus a gauge osmroutes_GROUP_NAME. */
struct metrics_number {
	const char *group, *name;
	double value;
	const char *help;
};

#define OSR__MAX_NUMBERS 48

struct metrics {
	bool pending;       /* not written yet */
	const char *engine; /* NULL: no sweep of ours was over yet */
	json_t *sweep;      /* what came of it, in words and milliseconds; NULL: no memory */
	struct metrics_number number[OSR__MAX_NUMBERS];
	size_t n_numbers;           /* 0: no tables were checked */
	struct osr__writer *writer; /* NULL: nothing was written yet */
	bool slow;                  /* the files are written slowly, and that has been said */
};

struct plugin;
struct sweep;

/* What has come of a sweep: counted, kept for the files and the socket, and in the log as one line of JSON. */
void osr__metrics_note(const struct sweep *w, enum outcome outcome);
/* A number that is known later. */
void osr__metrics_set(struct metrics *metrics, const char *group, const char *name, double value);
/* Has both files written if a directory is configured and something is pending; does not wait. */
void osr__metrics_write(struct plugin *p);
/* The same, with what happens beside sweeps, to the control socket if there is one. */
void osr__metrics_tell(struct plugin *p);
/* Which engine routes now; one of OpenSM's own is said in the log, once. After every routing. */
void osr__metrics_router(struct plugin *p);
/* Files that are on their way have two seconds. */
void osr__metrics_close(struct plugin *p);

#endif
