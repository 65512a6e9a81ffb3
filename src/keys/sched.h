/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sched.h - what the files of the scheduler share; private to src/keys. */
#ifndef OSR_KEYS_SCHED_H
#define OSR_KEYS_SCHED_H

#include "keys/scheduler.h"

struct osr__port {
	uint64_t guid;
	uint32_t term;
};

struct osr_sched {
	struct osr_sched_limits limits;
	struct osr_sched_app **app; /* [n_apps] of limits.max_apps, by id */
	uint32_t n_apps, next_id;

	/* The present fabric and what hangs on it; all of it in `arena`. */
	struct osr_arena arena;
	bool has_fabric, is_tree;
	struct osr_fabric f;
	struct osr_pgft p;
	struct osr_diag no_tree; /* why not */
	struct osr__port *port;  /* [f.n_terminals] by GUID */
	uint32_t *load;          /* [f.n_channels] of all keys in use */
	uint64_t stamp;          /* of this fabric */

	uint64_t change, collected, written; /* numbers of changes */
	struct osr_arena scratch;

	/* Of the thread that makes routes; `held` is the fabric it looks at, if that has been replaced. */
	struct osr_sched_lock lock;
	struct osr_arena work, held;
	uint64_t viewed; /* stamp, 0: none */
};

static inline bool osr__sched_stops(const struct osr_sched *sched)
{
	return sched->lock.stops && sched->lock.stops(sched->lock.ctx);
}

static inline bool osr__in_use(const struct osr_sched_key *sched_key)
{
	return sched_key->state == OSR_KEY_ACTIVE || sched_key->state == OSR_KEY_WAITING;
}

/* Adds the routes of a slot to the load, or takes them off. */
void osr__sched_load(struct osr_sched *sched, const struct osr_sched_slot *slot, bool add);

/* The slot holds the base routing again. */
void osr__sched_clear(struct osr_sched *sched, struct osr_sched_slot *slot);

/* Takes the key out of use; its slot, if it is in it, holds the base routing again. */
void osr__sched_withdraw(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			 const char *reason);

void osr__sched_notice(struct osr_sched_app *app, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The compressed key for the present fabric, unless there is one. OSR_NOT_APPLICABLE, here and below,
 * if the fabric has changed meanwhile (s->stamp is another one then), or the caller stops.
 */
enum osr_status osr__sched_make(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
				struct osr_diag *diag);

/* Routes for the key in view of what others load, into its slot, unless those that are there are as good. */
enum osr_status osr__sched_put(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			       struct osr_diag *diag);

/* Terminals of the ranks in the present fabric. */
void osr__sched_resolve(const struct osr_sched *sched, struct osr_sched_app *app);

#endif
