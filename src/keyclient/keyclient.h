/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * keyclient.h - libosrkeys: routing keys for an application, asked of the subnet manager that runs
 * osmroutes with `control_socket`. Needs neither OpenSM nor InfiniBand libraries; link -losrkeys.
 *
 *	struct osrk *k = osrk_open(NULL);
 *
 *	if (!osrk_ok(k) || osrk_attach(k, app))
 *		fprintf(stderr, "%s\n", osrk_error(k));
 *	osrk_request(k, app, 0, 5000);	phase 0 begins: waits until the switches have its routes
 *	osrk_done(k, app, 0);		phase 0 is over
 *	osrk_close(k);
 *
 * The application is placed by `osmroutes key place`, or here by osrk_ask(). Or one key serves a
 * whole job, from one request at its start to its end:
 *
 *	osrk_job(k, hosts, n, 0, 5000, &job, place);	ranks go on the hosts in this order
 *	... job.offset ...
 *	osrk_withdraw(k, job.app);
 *
 * The offset is the low bits of the LIDs: ah_attr.dlid = LID of the other host + offset and
 * ah_attr.src_path_bits = offset in verbs, UCX_IB_LID_PATH_BITS=offset for UCX, before the
 * endpoints are made.
 *
 * Nothing that fails here is a reason to stop: the base routing leads every packet at any offset.
 *
 * A struct osrk is one connection and belongs to one thread at a time. Functions return 0, or -1
 * with a sentence in osrk_error(). The socket is `path`, or what OSMROUTES_KEYS names, or
 * OSRK_SOCKET. A directory stands for the socket in it at which an opensm answers.
 */
#ifndef OSMROUTES_KEYCLIENT_H
#define OSMROUTES_KEYCLIENT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OSRK_SOCKET "/run/osmroutes"
#define OSRK_API __attribute__((visibility("default")))

struct osrk;

enum osrk_state { OSRK_PREPARED, OSRK_WAITING, OSRK_ACTIVE, OSRK_WITHDRAWN };

struct osrk_key {
	enum osrk_state state;
	uint32_t offset;     /* of LIDs */
	uint32_t contention; /* most of its flows on one cable, 0 before the first request */
	uint32_t bound;      /* no routing has less */
	uint32_t left_out;   /* pairs that stay with the base routing */
};

/* Never NULL but without memory; osrk_ok() tells whether there is a connection. */
OSRK_API struct osrk *osrk_open(const char *path);
/*
 * Calls found() for every socket in a directory, by name, or for `path` itself where that is none.
 * Whether anybody answers there is not asked.
 */
OSRK_API void osrk_each_socket(const char *path, void (*found)(void *ctx, const char *path),
			       void *ctx);
OSRK_API void osrk_close(struct osrk *client); /* NULL is fine */
OSRK_API bool osrk_ok(const struct osrk *client);
OSRK_API const char *osrk_error(const struct osrk *client);

/* Its keys become known to this connection, as they do to the one that has placed it. */
OSRK_API int osrk_attach(struct osrk *client, uint32_t app);
/* As it was last heard of; false if nothing was. */
OSRK_API bool osrk_key(const struct osrk *client, uint32_t app, uint32_t key,
		       struct osrk_key *what);

/*
 * Waits at most so many milliseconds until the switches have the routes; 0 does not wait, -1
 * without an end. -1 with a sentence if the key was withdrawn or time is up; then it is still asked
 * for.
 */
OSRK_API int osrk_request(struct osrk *client, uint32_t app, uint32_t key, int ms);
/* The same for a key that is asked for already. */
OSRK_API int osrk_wait(struct osrk *client, uint32_t app, uint32_t key, int ms);
OSRK_API int osrk_done(struct osrk *client, uint32_t app, uint32_t key);
OSRK_API int osrk_withdraw(struct osrk *client, uint32_t app);

/* The key of a job. Its flows are those of a stage of a shift of all ranks. */
struct osrk_job {
	uint32_t app;
	uint32_t offset;     /* 0: the base routing serves it */
	uint32_t contention; /* most flows on one cable in any stage */
	uint32_t bound;      /* no routing has less */
	bool fits;           /* every stage of every shift is free of contention */
	bool exchanges;      /* every exchange of ranks i and i xor k is, too */
};

/*
 * A key for all that a job on these hosts (port GUIDs or names) does. place[i] is the place in the
 * list of the host that has rank i: with other ranks no key helps. `offset` is what the program
 * uses already; 0: any. Waits as osrk_request(); if time is up it has the key all the same, and
 * job->app is not 0.
 */
OSRK_API int osrk_job(struct osrk *client, const char *const *hosts, uint32_t n, uint32_t offset,
		      int ms, struct osrk_job *job, uint32_t *place);

/*
 * One line of the protocol (docs/routing-keys.md) and its answer, to be freed; NULL: osrk_error().
 */
OSRK_API char *osrk_ask(struct osrk *client, const char *line);

#ifdef __cplusplus
}
#endif
#endif
