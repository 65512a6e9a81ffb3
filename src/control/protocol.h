/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * protocol.h - declarations that the files of the control part share; private to src/control and
 * its tests.
 */
#ifndef OSR_CONTROL_PROTOCOL_H
#define OSR_CONTROL_PROTOCOL_H

#include <jansson.h>

#include "control/control.h"

#define OSR_PROTOCOL 1

/* The client of a request. */
struct osr_peer {
	uint32_t uid;
	bool master;               /* root, or the user of this process */
	bool agent;                /* that, or the agent: may touch the applications of all */
	struct osr_drains *drains; /* the parts that root may drain; NULL: none */
	json_t *const *sm;         /* state of the subnet manager; NULL: unknown */
	const char *not_master;    /* its role if it is not the master; NULL: it is */
};

/* The effect of an answer on the connection. */
struct osr_effect {
	uint32_t attach; /* application to tell about from now on, 0: none */
	uint32_t key;    /* whose state the answer says, OSR_NONE: no key's */
	uint32_t detach;
};

/*
 * One line of a client; the answer is an object, or NULL without memory. Called without the
 * scheduler's lock, which is taken once the line has been read, and held on return.
 */
json_t *osr_protocol(struct osr_sched *sched, const struct osr_peer *peer, const char *line,
		     size_t size, struct osr_effect *effect);

/*
 * Takes `value` and returns the object that it was added to; NULL, with everything freed, if memory
 * ran out now or for one of the two.
 */
json_t *osr_with(json_t *object, const char *key, json_t *value);

/* A key as answers, events and the status show it. */
json_t *osr_key_json(const struct osr_sched_app *app, uint32_t key);

/*
 * A text as JSON; bytes that are not UTF-8, which names of hosts may have, become question marks.
 */
json_t *osr_text(const char *text);

/* A refusal in the form of all answers. */
json_t *osr_refusal(enum osr_status st, const char *text);

/*
 * client.c: one connection, what it sent, what it has not read yet, what it is told of -----------
 */

#define OSR_OUT_ENOUGH (64 * 1024) /* unread bytes from which on nothing more is answered */
#define OSR_WATCHED 64

struct osr_buffer {
	char *text;
	size_t size, room;
};

/* An application whose owner listens here, and the states he was told last. */
struct osr_watched {
	uint32_t app;
	uint32_t n_notices;
	uint32_t n_keys;
	uint8_t *state; /* [n_keys] */
};

struct osr_client {
	int fd;
	struct osr_peer peer;
	struct osr_buffer in, out;
	double half_since, not_before;
	bool gone;
	struct osr_watched watched[OSR_WATCHED];
	uint32_t n_watched;
};

void osr_client_free(struct osr_client *client);

/* Reads the bytes that have arrived, up to a line's length; false at the end. */
bool osr_client_read(struct osr_client *client);
void osr_client_write(struct osr_client *client);

bool osr_client_has_line(const struct osr_client *client);
size_t osr_client_line(const struct osr_client *client); /* its length, if there is one */
void osr_buffer_shift(struct osr_buffer *buffer, size_t n);

/* Takes the object. */
void osr_client_say(struct osr_client *client, json_t *object);

bool osr_client_watches(const struct osr_client *client, uint32_t app);
/*
 * Tells of an application from now on; NULL is fine. The state of `key` (OSR_NONE: of none) has
 * just been said in an answer.
 */
void osr_client_watch(struct osr_client *client, const struct osr_sched_app *app, uint32_t key);
void osr_client_forget(struct osr_client *client, uint32_t app);
/* Events: new states of the keys of watched applications since the last time. */
void osr_client_tell(struct osr_client *client, const struct osr_sched *sched);

#endif
