/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * scheduler.h - which application has which routing keys: the book that the plugin keeps.
 *
 * Source: Samuel, Zahavi, Keslassy, Routing Keys, section III. An application is *placed* with its
 * hosts, by rank, and the patterns of its communication phases; each pattern becomes a key. At run
 * time it *requests* a key when a phase begins and says *done* when it is over. A request chooses
 * the routes in view of all keys in use (NRK); they go into the tables of one LID offset of the
 * application's hosts.
 *
 * LID offsets. MPI and UCX fix their path bits per process or endpoint, so an application is told
 * its offsets when it is placed, one unless it wants more, and its keys share them in turn: key k
 * has offset number k mod n. The entries of an offset are exchanged only between done and the next
 * request. Applications that share no host may have the same offset; on a shared host they get
 * different ones.
 *
 *	osr_sched_fabric()	whenever the fabric may have changed
 *	osr_sched_place(), osr_sched_request(), osr_sched_done(), osr_sched_release()
 *	osr_sched_collect()	entries for the tables; and when the switches have them:
 *	osr_sched_written()
 *
 * A *job* is an application with one key for all that it does (job.h). Its ranks are put in an order
 * of the tree when it is placed. Its first request says whether the first LIDs serve it, offset 0,
 * or which offset has its key.
 *
 * Nothing here sends, waits or locks; memory is the scheduler's own. The caller sees to it that
 * calls do not overlap, and the rights of users: `owner` is kept for it.
 *
 * Two threads. The functions for routing (osr_sched_fabric(), _collect(), _written(), _refuse())
 * take time linear in the entries and make no routes. osr_sched_place(), _request() and _work()
 * make routes; they take long and leave the caller's lock meanwhile. They, and _release() and
 * _done(), belong to one thread.
 */
#ifndef OSMROUTES_SCHEDULER_H
#define OSMROUTES_SCHEDULER_H

#include "keys/job.h"
#include "keys/overlay.h"

enum osr_key_state {
	OSR_KEY_PREPARED,  /* not in use */
	OSR_KEY_WAITING,   /* requested, its entries are not in the switches yet */
	OSR_KEY_ACTIVE,    /* in use */
	OSR_KEY_WITHDRAWN, /* could not be kept; the base routing serves its traffic */
};

struct osr_sched_key {
	struct osr_pair *pair; /* [n_pairs] ranks */
	uint32_t n_pairs;
	uint8_t slot; /* of the application */
	enum osr_key_state state;
	uint32_t contention; /* of the routes made last */

	struct osr_job_worth worth; /* of a job's key */

	/* The compressed key for the fabric of this stamp; its numbers are of the one made last. */
	struct osr_key key;
	struct osr_arena arena;
	uint64_t stamp;
};

/* One LID offset of an application, and the routes in its tables. */
struct osr_sched_slot {
	uint8_t offset;
	uint32_t key;                 /* OSR_NONE: the base routing */
	struct osr_key_routes routes; /* in the numbers of the present fabric */
	struct osr_arena arena;
	uint64_t change; /* number of the change that made it so */
	bool make;       /* osr_sched_work() has to make its routes */
};

struct osr_sched_app {
	struct osr_arena arena; /* of the arrays below */
	uint32_t id;            /* from 1 on, never used twice */
	uint32_t owner;
	char name[64];
	bool held; /* goes with the connection that placed it */
	bool job;  /* one key, without pairs; its flows are in OSR_LOAD_UNIT */
	bool told; /* its offset has been said: it stays */
	uint32_t n_ranks;
	uint64_t *host;  /* [n_ranks] port GUIDs */
	uint32_t *term;  /* [n_ranks] terminals of the present fabric, OSR_NONE: gone */
	uint32_t *place; /* [n_ranks] of the ranks in the list that it was placed with */
	uint32_t n_keys;
	struct osr_sched_key *key;
	uint32_t n_slots;
	struct osr_sched_slot *slot;
	/* The last change of its keys that it did not ask for, one sentence; "" if none. Kept. */
	struct osr_diag notice;
	uint32_t n_notices; /* so far */
};

/* The caller's lock, held in every call; `stops`: long work is to be given up. Or all NULL. */
struct osr_sched_lock {
	void (*take)(void *ctx);
	void (*leave)(void *ctx);
	bool (*stops)(void *ctx);
	void *ctx;
};

struct osr_sched_limits {
	uint32_t max_apps, max_apps_of_owner; /* owner 0 has no limit of his own */
	uint32_t max_keys;                    /* of one application */
	uint32_t max_pairs;                   /* of one application, all keys together */
	enum osr_key_choice choice;
	/* LID offsets of one host; owner 0 may have all, 0: so may everybody. */
	uint32_t max_offsets_of_owner;
	uint32_t first_id; /* of the first application; 0: 1 */
	struct osr_sched_lock lock;
};

/* Placing: all arrays are copied. */
struct osr_sched_in {
	const char *name;
	uint32_t owner;
	bool held;
	uint32_t n_ranks;
	const uint64_t *host; /* [n_ranks] port GUIDs; NULL: choose n_ranks hosts nobody uses */
	uint32_t n_keys;
	const struct osr_pair *const *pair; /* [n_keys] ranks; pairs of one host are left out */
	const uint32_t *n_pairs;            /* [n_keys] */
	uint32_t n_offsets;                 /* LID offsets wanted; 0 means 1 */
	bool job;                           /* a job: no keys are given */
	uint32_t offset;                    /* that its programs use already; 0: any */
};

struct osr_sched;

struct osr_sched *osr_sched_new(const struct osr_sched_limits *limits); /* NULL: no memory */
void osr_sched_free(struct osr_sched *sched);                           /* NULL is fine */

/* Take and leave the lock of osr_sched_limits, if it has one. */
void osr_sched_take(struct osr_sched *sched);
void osr_sched_leave(struct osr_sched *sched);

/*
 * The present fabric and its base tables, both copied; NULL: tables are unknown. If nothing changed
 * nothing happens. Otherwise entries whose cables
 * and ends are as they were stay; keys in use that have others, or to a host of which there is a
 * way again, wait for osr_sched_work(). No routes are made: O(fabric log fabric + entries).
 * OSR_NOMEM leaves the scheduler without a fabric: no entries until the next call succeeds. A
 * fabric that is not a fat tree is accepted without an error.
 */
enum osr_status osr_sched_fabric(struct osr_sched *sched, const struct osr_fabric *fabric,
				 const struct osr_routing *base, struct osr_diag *diag);

/*
 * One step of the work that a change of the fabric has left: a slot gets routes, or its key is
 * withdrawn, with a notice. False if no work is left.
 */
bool osr_sched_work(struct osr_sched *sched);

/*
 * OSR_INVAL with a sentence: unknown hosts, ranks that do not exist, limits, no LID offset free.
 * OSR_NOT_APPLICABLE: no fabric yet, or no fat tree.
 */
enum osr_status osr_sched_place(struct osr_sched *sched, const struct osr_sched_in *in,
				struct osr_sched_app **app, struct osr_diag *diag);

/*
 * Key `key` shall be used. Its state is ACTIVE at once if the tables have the best routes already,
 * WAITING otherwise. OSR_INVAL: no such key, it is in use, or another key of its LID offset is.
 */
enum osr_status osr_sched_request(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
				  struct osr_diag *diag);

/* It is not used any more; its routes stay in the tables until others take their place. */
enum osr_status osr_sched_done(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			       struct osr_diag *diag);

/* The application is gone, and its entries with the next collection. */
void osr_sched_release(struct osr_sched *sched, struct osr_sched_app *app);

/* By id, or NULL; the i-th of all by id, NULL behind the last. */
struct osr_sched_app *osr_sched_find(const struct osr_sched *sched, uint32_t id);
struct osr_sched_app *osr_sched_row(const struct osr_sched *sched, uint32_t i);

/* The present fabric, or NULL. */
const struct osr_fabric *osr_sched_present(const struct osr_sched *sched);

/*
 * Is there something that the tables should have and do not? True after requests, releases and
 * changes of the fabric until a collection has been written.
 */
bool osr_sched_dirty(const struct osr_sched *sched);

/*
 * The entries of all slots, in the numbers of the fabric given to osr_sched_fabric(), ordered as
 * osr_overlay_apply() wants them.
 */
enum osr_status osr_sched_collect(struct osr_sched *sched, struct osr_arena *arena,
				  struct osr_overlay_entry **entry, uint32_t *n_entries,
				  struct osr_diag *diag);

/* The switches have the last collection: keys that waited for it become active. */
void osr_sched_written(struct osr_sched *sched);

/*
 * The last collection cannot be used: waiting keys are withdrawn with this reason; if none waits,
 * all keys with routes in the tables are. Returns how many.
 */
uint32_t osr_sched_refuse(struct osr_sched *sched, const char *reason);

#endif
