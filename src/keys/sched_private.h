/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sched_private.h - the scheduler's book, and the operations that its files share; private to
 * src/keys.
 *
 *	sched.c		the book: the fabric, applications, slots, and the entries that follow from them
 *	sched_make.c	routes for the keys, made while the caller's lock is left
 *	sched_place.c	a new application: its hosts, its LID offsets, its keys
 *	sched_fabric.c	a new fabric: which entries stay
 */
#ifndef OSMROUTES_SCHED_PRIVATE_H
#define OSMROUTES_SCHED_PRIVATE_H

#include "keys/scheduler.h"

struct osr_sched_port {
	uint64_t guid;
	uint32_t term;
};

/* A fabric, its tree, and its ports by GUID. */
struct osr_base {
	struct osr_arena arena; /* of all below */
	struct osr_fabric fabric;
	struct osr_pgft pgft;
	bool is_tree;
	struct osr_diag no_tree;     /* why not */
	struct osr_sched_port *port; /* [f.n_terminals] by GUID */
	/* Ports to the first LID, by terminal, then switch; NULL: not known. */
	uint8_t *first;
	uint64_t stamp;   /* no other one has it */
	unsigned n_users; /* the scheduler, and the thread that makes routes without its lock */
};

struct osr_sched {
	struct osr_sched_limits limits;
	struct osr_sched_app **app; /* [n_apps] of limits.max_apps, by id */
	uint32_t n_apps, next_id;
	struct osr_base *now;                /* the present fabric, or NULL */
	uint64_t stamp;                      /* of the last one */
	uint64_t change, collected, written; /* numbers of changes */
	struct osr_arena scratch;
	struct osr_arena work; /* of the thread that makes routes */
};

/* One user less; the last one frees the base. NULL is fine. */
void osr_base_leave(struct osr_base *base);
/* NULL: no memory. */
struct osr_base *osr_base_new(const struct osr_fabric *fabric, const struct osr_routing *routing,
			      struct osr_diag *diag);
/* Are they of this fabric and these tables? */
bool osr_base_equal(const struct osr_base *base, const struct osr_fabric *fabric,
		    const struct osr_routing *routing);

/* The terminal of this port GUID, or OSR_NONE. */
uint32_t osr_sched_terminal(const struct osr_base *base, uint64_t guid);
/* OSR_NOT_APPLICABLE with a sentence unless keys can be made for the present fabric. */
enum osr_status osr_sched_check_base(const struct osr_sched *sched, struct osr_diag *diag);
/* OSR_INVAL with a sentence unless the application has this key. */
enum osr_status osr_sched_check_key(const struct osr_sched_app *app, uint32_t key,
				    struct osr_diag *diag);
/* Writes the terminals of the ranks in the present fabric. */
void osr_sched_resolve(const struct osr_sched *sched, struct osr_sched_app *app);
/* Has the slot a LID offset that the LMC of some host of the present fabric does not have? */
bool osr_sched_lacks_lids(const struct osr_sched *sched, const struct osr_sched_app *app,
			  const struct osr_sched_slot *slot);
/* Does the caller want long work to be given up? */
bool osr_sched_stops(const struct osr_sched *sched);
/*
 * For invariants: ids ascend, a slot and its key name each other, only keys in use wait for routes,
 * and no number of a change is from the future.
 */
bool osr_sched_holds(const struct osr_sched *sched);
void osr_sched_free_app(struct osr_sched_app *app);

inline bool osr_key_in_use(const struct osr_sched_key *sched_key)
{
	return sched_key->state == OSR_KEY_ACTIVE || sched_key->state == OSR_KEY_WAITING;
}

/* Do the switches have the present routes of the slot? */
inline bool osr_slot_is_written(const struct osr_sched *sched, const struct osr_sched_slot *slot)
{
	return slot->change <= sched->written;
}

/* Is the key of the slot in use, so that its routes load the cables? */
inline bool osr_slot_is_loaded(const struct osr_sched_app *app, const struct osr_sched_slot *slot)
{
	return slot->key != OSR_NONE && osr_key_in_use(&app->key[slot->key]);
}

/* The slot holds the base routing again. */
void osr_sched_clear(struct osr_sched *sched, struct osr_sched_slot *slot);
/* Takes the key out of use. If its slot holds its routes, the slot holds the base routing again. */
void osr_sched_withdraw(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			const char *reason);
/*
 * Makes the compressed key for the present fabric, unless it exists. With `place`, also makes
 * routes for it, in view of the present load of others, and puts them into its slot unless the slot
 * has routes as good. The lock is left while routes are made; if the fabric changes meanwhile they
 * are made again. OSR_NOT_APPLICABLE, with another stamp than before, if it changes again and
 * again, or if the caller stops.
 */
enum osr_status osr_sched_put(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			      bool place, struct osr_diag *diag);

#endif
