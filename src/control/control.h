/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * control.h - a Unix socket through which applications ask for routing keys: the scheduler of
 * scheduler.h with clients. docs/routing-keys.md has the protocol.
 *
 * One thread serves all clients. A thread that makes tables locks the scheduler meanwhile and goes
 * before all clients:
 *
 *	c = osr_control_open(&in, &diag);		// the socket is there
 *	osr_control_start(c, &diag);			// and answers
 *	s = osr_control_lock(c);			// in the subnet manager's thread
 *	... osr_sched_fabric(s, ...), osr_sched_collect(s, ...) ...
 *	osr_control_unlock(c);				// clients are told what became of their keys
 *	osr_control_close(c);
 *
 * Clients are limited: their number, in all and of a user; a line; lines that wait; what has not
 * been read by them; and the share of time that a user's requests take. Users are known by
 * SO_PEERCRED and touch their own applications only; root, the user of this process and the agent
 * touch all.
 */
#ifndef OSMROUTES_CONTROL_H
#define OSMROUTES_CONTROL_H

#include "control/drain.h"
#include "keys/scheduler.h"

#define OSR_CONTROL_MAX_LINE (2 * 1024 * 1024)

struct osr_control_in {
	const char *path; /* a socket nobody serves there is replaced, anything else is not */
	uint32_t mode;    /* of the socket: write permission is permission to connect */
	uint32_t agent;   /* its owner; 0: the user of this process */
	struct osr_sched_limits limits;
	struct osr_drains *drains; /* the parts that root may drain; NULL: none */
	/*
	 * The role of a subnet manager that is not the master of its fabric, as "STANDBY"; NULL: it
	 * is the master. At the time of the call, in the thread; then nothing is placed, requested,
	 * drained or undrained.
	 */
	const char *(*not_master)(void *ctx);
	/*
	 * Called by the thread after everything that clients did, and when woken; no lock is held.
	 * Returns after how many milliseconds it wants to be called again, -1: no matter when.
	 */
	int (*turn)(void *ctx);
	void *ctx;
};

struct osr_control;

struct osr_control *osr_control_open(const struct osr_control_in *in, struct osr_diag *diag);
enum osr_status osr_control_start(struct osr_control *control, struct osr_diag *diag);
void osr_control_close(struct osr_control *control); /* NULL is fine */

struct osr_sched *osr_control_lock(struct osr_control *control);
void osr_control_unlock(struct osr_control *control);

/*
 * The answer of `status` about the subnet manager, besides keys and drained parts; taken, may be
 * NULL.
 */
void osr_control_tell(struct osr_control *control, json_t *sm);

/* Its thread has a turn soon. */
void osr_control_wake(struct osr_control *control);
/* Should the tables of the present fabric have something that they do not have? */
bool osr_control_pending(struct osr_control *control);

#endif
