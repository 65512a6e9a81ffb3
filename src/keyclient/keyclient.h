/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * keyclient.h - libosrkeys: routing keys for an application, asked of the subnet manager that runs
 * osmroutes with `control_socket`. Needs neither OpenSM nor InfiniBand libraries; link -losrkeys.
 *
 *	struct osrk *k = osrk_open(NULL);
 *	struct osrk_place in = { .name = "job 17", .hosts = hosts, .n_ranks = n,
 *				 .patterns = patterns, .n_patterns = 2 };
 *	uint32_t app;
 *
 *	if (!osrk_ok(k) || osrk_place(k, &in, &app))
 *		fprintf(stderr, "%s\n", osrk_error(k));
 *	osrk_offset(k, app, 0)		path bits of phase 0: send to LID + offset
 *	osrk_request(k, app, 0, 5000);	phase 0 begins: waits until the switches have its routes
 *	osrk_done(k, app, 0);		phase 0 is over
 *	osrk_close(k);
 *
 * The offset is the low bits of the LIDs: ah_attr.dlid = LID of the other host + offset and
 * ah_attr.src_path_bits = offset in verbs, UCX_IB_LID_PATH_BITS=offset for UCX, before the endpoints
 * are made.
 *
 * Nothing that fails here is a reason to stop: the base routing leads every packet at any offset.
 *
 * A struct osrk is one connection and belongs to one thread at a time. Functions return 0, or -1
 * with a sentence in osrk_error(). The socket is `path`, or what OSMROUTES_KEYS names, or
 * OSRK_SOCKET.
 */
#ifndef OSMROUTES_KEYCLIENT_H
#define OSMROUTES_KEYCLIENT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OSRK_SOCKET "/run/osmroutes/keys.sock"
#define OSRK_API __attribute__((visibility("default")))

struct osrk;

struct osrk_place {
	const char *name; /* for people, or NULL */
	const char *const
		*hosts; /* [n_ranks] port GUID "0x..." or host name; NULL: any free hosts */
	uint32_t n_ranks;
	const char *const *patterns; /* [n_patterns] pairs of ranks, sender first: "0>1 1>0" */
	uint32_t n_patterns;
	uint32_t n_offsets;    /* LID offsets for the patterns to share in turn; 0 means 1 */
	bool hold;             /* withdraw it when this connection ends */
	const uint32_t *owner; /* root places for another user; NULL: for oneself */
};

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
OSRK_API void osrk_close(struct osrk *k); /* NULL is fine */
OSRK_API bool osrk_ok(const struct osrk *k);
OSRK_API const char *osrk_error(const struct osrk *k);

OSRK_API int osrk_place(struct osrk *k, const struct osrk_place *in, uint32_t *app);

/* After osrk_place(): the hosts by rank, as port GUID and base LID. Valid until the next placing. */
OSRK_API uint64_t osrk_host(const struct osrk *k, uint32_t rank);
OSRK_API uint32_t osrk_lid(const struct osrk *k, uint32_t rank);

/* Whose keys this connection does not know: after osrk_place() of another process. */
OSRK_API int osrk_attach(struct osrk *k, uint32_t app);
/* As it was last heard of; false if nothing was. */
OSRK_API bool osrk_key(const struct osrk *k, uint32_t app, uint32_t key, struct osrk_key *what);
OSRK_API uint32_t osrk_offset(const struct osrk *k, uint32_t app, uint32_t key); /* 0: unknown */

/*
 * Waits at most so many milliseconds until the switches have the routes; 0 does not wait, -1 without
 * an end. -1 with a sentence if the key was withdrawn or time is up; then it is still asked for.
 */
OSRK_API int osrk_request(struct osrk *k, uint32_t app, uint32_t key, int ms);
OSRK_API int osrk_done(struct osrk *k, uint32_t app, uint32_t key);
OSRK_API int osrk_withdraw(struct osrk *k, uint32_t app);

/* One line of the protocol (docs/routing-keys.md) and its answer, to be freed; NULL: osrk_error(). */
OSRK_API char *osrk_ask(struct osrk *k, const char *line);

#ifdef __cplusplus
}
#endif
#endif
