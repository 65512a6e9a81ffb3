/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * metrics.h - the last sweep in numbers, for operators' tools: osmroutes-GUID.json and
 * osmroutes-GUID.prom in the directory `metrics_dir`, GUID being the port of this SM.
 *
 * sweep.c fills struct metrics while OpenSM holds its lock; the text is made in memory at OpenSM's event
 * UCAST_ROUTING_DONE, or after a sweep that failed, when that event may not come; a thread of its own
 * writes the files. `osmroutes status` shows the same JSON, from the control socket.
 */
#ifndef OSR_OSM_METRICS_H
#define OSR_OSM_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <osmroutes/check.h>
#include <osmroutes/routing.h>
#include <osmroutes/status.h>

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

/* Milliseconds. */
struct phases {
	double total, snapshot, route, paths, layers, transition, check, publish;
};

struct metrics {
	bool pending;       /* not written yet */
	const char *engine; /* NULL: no sweep of ours was over yet */
	time_t time;        /* when it was over */
	enum outcome outcome;
	char message[sizeof(((struct osr_diag *)0)->text)]; /* why, if something went wrong */
	struct phases ms;

	/* All below only if tables were checked: `checked`. */
	bool checked;
	const char *chosen, *strategy; /* of osr_routing, static; or NULL */
	char note[1024];               /* the same; or "" */
	bool in_rounds;
	uint32_t n_switches, n_channels, n_terminals, n_dests, n_parts;
	uint64_t n_hosts, efi_bound;
	uint32_t n_left_out, n_unhealthy, n_throttled, n_drained, n_held;
	uint8_t vls, vls_available, vls_needed, vls_one_way;
	struct osr_verdict verdict;
	char proven[200]; /* as in the line of the log */
	uint64_t n_entries, n_changed, digest;
	struct osr_stable stable;
	uint64_t n_slvl_sent, n_slvl_refused; /* of slvl.h */
};

struct plugin;
struct metrics_writer;

/* Has both files written if a directory is configured and something is pending; does not wait. */
void osr__metrics_write(struct plugin *p);
/* The same as one line of JSON in the log, a detail of the sweep. */
void osr__metrics_log(const struct plugin *p);
/* The same, with what happens beside sweeps, to the control socket if there is one. */
void osr__metrics_tell(struct plugin *p);
/* Which engine routes now; one of OpenSM's own is said in the log, once. After every routing. */
void osr__metrics_router(struct plugin *p);
/* Waits two seconds at most for what is under way. */
void osr__metrics_close(struct plugin *p);

#endif
