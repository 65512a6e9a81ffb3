/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* client.h - one connection: what it sent, what it has not read yet, what it is told of. */
#ifndef OSR_CONTROL_CLIENT_H
#define OSR_CONTROL_CLIENT_H

#include "protocol.h"

#define OSR__OUT_ENOUGH (64 * 1024) /* unread bytes from which on nothing more is answered */
#define OSR__WATCHED 64

struct osr__buffer {
	char *text;
	size_t size, room;
};

/* An application whose owner listens here, and what he was told last. */
struct osr__watched {
	uint32_t app;
	uint32_t n_notices;
	uint32_t n_keys;
	uint8_t *state; /* [n_keys] */
};

struct osr__client {
	int fd;
	struct osr__peer peer;
	struct osr__buffer in, out;
	double half_since, not_before;
	bool closing; /* once `out` is empty */
	bool gone;
	struct osr__watched watched[OSR__WATCHED];
	uint32_t n_watched;
};

void osr__client_free(struct osr__client *client);

/* What there is to read, up to a line's length; false at the end. */
bool osr__client_read(struct osr__client *client);
void osr__client_write(struct osr__client *client);

bool osr__client_has_line(const struct osr__client *client);
size_t osr__client_line(const struct osr__client *client); /* its length, if there is one */
void osr__buffer_shift(struct osr__buffer *buffer, size_t n);

/* Takes the object. */
void osr__client_say(struct osr__client *client, json_t *object);

bool osr__client_watches(const struct osr__client *client, uint32_t app);
/*
 * Tells of an application from now on; NULL is fine. The state of `key` (OSR_NONE: of none) has just
 * been said in an answer.
 */
void osr__client_watch(struct osr__client *client, const struct osr_sched_app *app, uint32_t key);
void osr__client_forget(struct osr__client *client, uint32_t app);
/* Events: what became of the keys of watched applications since the last time. */
void osr__client_tell(struct osr__client *client, const struct osr_sched *sched);

#endif
