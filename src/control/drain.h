/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * drain.h - cables and switches that routing leaves out although they are there: drained by an
 * administrator, or held down because they flap. No OpenSM; the plugin reports the links
 * (upkeep.c), and the control socket the requests (protocol.c).
 *
 * A part is a switch, or one port of it and so the cable there. Drained parts stay so until they
 * are undrained; a link that went down `after` times within `within` seconds stays out until
 * nothing has happened to it for `calm` seconds. All of it survives a restart: held links begin
 * their calm time again.
 *
 * One mutex, taken by every function but osr_drains_out() and osr_drains_n_out().
 */
#ifndef OSMROUTES_DRAIN_H
#define OSMROUTES_DRAIN_H

#include <osmroutes/fabric.h>

#include <jansson.h>

struct osr_drains;

struct osr_hold_down {
	uint32_t after;        /* times down; 0: nothing is held down */
	uint32_t within, calm; /* seconds */
};

enum osr_drain_state {
	OSR_DRAIN_ASKED,     /* not in the tables yet */
	OSR_DRAIN_OUT,       /* no route and no multicast tree uses it */
	OSR_DRAIN_SUSPENDED, /* in use: without it hosts would be cut off */
};

/* A switch (port 0), or the link at this port of it. */
struct osr_part {
	uint64_t guid;
	uint8_t port;
};

struct osr_drains *osr_drains_new(const struct osr_hold_down *hold);
void osr_drains_free(struct osr_drains *drains); /* NULL is fine */

/* Drains a part that an administrator names: NODE or NODE:PORT, as names.h reads a switch. */
enum osr_status osr_drains_add(struct osr_drains *drains, const struct osr_fabric *fabric,
			       const char *what, struct osr_diag *diag);
/* The same, or "all". */
enum osr_status osr_drains_remove(struct osr_drains *drains, const char *what,
				  struct osr_diag *diag);
/* Forgets requests that are in no tables yet, as no sweep of this subnet manager follows. */
void osr_drains_forget(struct osr_drains *drains);
/* An array of {"what", "guid", "port", "why": drained|held, "state"}, or NULL without memory. */
json_t *osr_drains_json(struct osr_drains *drains);

struct osr_drains_state {
	/*
	 * Grows with every request; its value in the last sweep, and in the last sweep that ended
	 * well.
	 */
	uint64_t version, taken, done;
	uint32_t n_drained, n_held;
	double calm_at; /* when the first link that is held down may return, -1: none does */
};
struct osr_drains_state osr_drains_state(struct osr_drains *drains);

/*
 * The same as text, to be freed, and back. OSR_INVAL: parts that cannot be understood are left out,
 * and the sentence counts them.
 */
char *osr_drains_save(struct osr_drains *drains);
enum osr_status osr_drains_load(struct osr_drains *drains, const char *text, size_t size,
				struct osr_diag *diag);

enum osr_drain_news {
	OSR_DRAIN_HELD, /* a link is held down since the last watch */
	OSR_DRAIN_CALM, /* and is not any more */
	OSR_DRAIN_KEPT, /* a part is not left out any more, or was never: it is suspended */
};

/* The fabric and the time of a sweep. */
struct osr_drains_look {
	const struct osr_fabric *fabric; /* with all parts in it */
	uint64_t sm_port;                /* of the subnet manager, whose switch is not drained */
	double now;                      /* seconds */
	/*
	 * Told of a part by its name; `cut`, of KEPT: a switch whose hosts would be cut off. With
	 * the mutex.
	 */
	void (*say)(void *ctx, enum osr_drain_news news, const char *name, const char *cut);
	void *ctx;
};

/*
 * Holds flapping links down, and decides which parts are left out: all drained and held parts
 * except those that would cut hosts off. Drained parts come first, and within both the parts that
 * are out already. OSR_NOMEM: the previous parts stay out. O(channels) for each try; halving finds
 * the parts that would cut hosts off.
 */
enum osr_status osr_drains_watch(struct osr_drains *drains, const struct osr_drains_look *look,
				 struct osr_arena *scratch);
/*
 * As of the last watch, in its thread: is this switch (port 0), or the link at this port of it,
 * left out? How many are?
 */
bool osr_drains_out(const struct osr_drains *drains, uint64_t guid, uint8_t port);
uint32_t osr_drains_n_out(const struct osr_drains *drains);

/* That sweep has ended well. */
void osr_drains_done(struct osr_drains *drains);

#endif
