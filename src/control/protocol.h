/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* protocol.h - what the files of the control part share; private to src/control and its tests. */
#ifndef OSR_CONTROL_PROTOCOL_H
#define OSR_CONTROL_PROTOCOL_H

#include <jansson.h>

#include "control/control.h"

#define OSR__PROTOCOL 1

/* The client of a request. */
struct osr__peer {
	uint32_t uid;
	bool master;               /* root, or the user of this process */
	bool agent;                /* that, or the agent: may touch the applications of all */
	struct osr_drains *drains; /* what such a one may drain; NULL: nothing */
	json_t *const *sm;         /* what is known of the subnet manager; NULL: nothing */
};

/* What an answer means for the connection. */
struct osr__effect {
	uint32_t attach; /* application to tell about from now on, 0: none */
	uint32_t key;    /* whose state the answer says, OSR_NONE: no key's */
	uint32_t detach;
};

/*
 * One line of a client; the answer is an object, or NULL without memory. Called without the scheduler's
 * lock, which is taken once the line has been read, and held on return.
 */
json_t *osr__protocol(struct osr_sched *sched, const struct osr__peer *peer, const char *line,
		      size_t size, struct osr__effect *effect);

/*
 * Take `value` and give back what it was added to; NULL, with everything freed, if there is no memory, or
 * was none for one of the two.
 */
json_t *osr__with(json_t *object, const char *key, json_t *value);

/* A key as answers, events and the status show it. */
json_t *osr__key_json(const struct osr_sched_app *app, uint32_t key);

/* A text as JSON; what is not UTF-8, as names of hosts may be, has question marks. */
json_t *osr__text(const char *text);

/*
 * As json_dumps(), which may leave out a piece when memory is short (jansson 2.14): here that is NULL.
 * *size is its length.
 */
char *osr__dump(const json_t *json, size_t flags, size_t *size);

/* A refusal in the form of all answers. */
json_t *osr__refusal(enum osr_status st, const char *text);

#endif
