/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * drain.h - cables and switches that routing leaves out although they are there: drained by an
 * administrator, or held down because they flap. No OpenSM; the plugin tells what it sees (upkeep.c), the
 * control socket what is asked (protocol.c).
 *
 * A part is a switch, or one port of it and so the cable there. Drained parts stay so until they are
 * undrained; a link that went down `after` times within `within` seconds stays out until nothing has
 * happened to it for `calm` seconds. All of it survives a restart: held links begin their calm time anew.
 *
 * One mutex, taken by every function.
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

/* The text of what an administrator asks: NODE or NODE:PORT, as names.h reads a switch. */
enum osr_status osr_drains_add(struct osr_drains *drains, const struct osr_fabric *fabric,
			       const char *what, struct osr_diag *diag);
/* The same, or "all". */
enum osr_status osr_drains_remove(struct osr_drains *drains, const char *what,
				  struct osr_diag *diag);
/* An array of {"what", "guid", "port", "why": drained|held, "state"}, or NULL without memory. */
json_t *osr_drains_json(struct osr_drains *drains);

/* Is there something that is asked for and not in the tables, or undrained and not in them? */
bool osr_drains_pending(struct osr_drains *drains);

/* Grows with all that is asked; and as it was when the last sweep took the parts. */
uint64_t osr_drains_version(struct osr_drains *drains);
uint64_t osr_drains_taken(struct osr_drains *drains);

/* The same as text, to be freed, and back; what makes no sense is left out. */
char *osr_drains_save(struct osr_drains *drains);
void osr_drains_load(struct osr_drains *drains, const char *text, size_t size);

/* What the sweep sees: links by their end with the lower GUID, in ascending order. */
struct osr_seen {
	struct osr_part part;
	const char *name, *far_name; /* of the switches at both ends */
	uint64_t far_guid;
	uint8_t far_port;
};
void osr_drains_watch(struct osr_drains *drains, const struct osr_seen *seen, uint32_t n,
		      double now);

/* A link that is held down since the last osr_drains_watch(), or is not any more; false: no further one. */
struct osr_drain_event {
	char name[192];
	bool held;
};
bool osr_drains_event(struct osr_drains *drains, struct osr_drain_event *event);

/* Seconds until a link that is held down may return, -1: none does. */
double osr_drains_next(struct osr_drains *drains, double now);

/*
 * The parts that are to be left out of this sweep, at most `max`; how many there are. They are, but for those that
 * are suspended before the next call. What comes first is to be left out rather than what follows.
 */
uint32_t osr_drains_parts(struct osr_drains *drains, struct osr_part *part, uint32_t max);
/* It is not left out, because hosts would be cut off. true: it was until now, or was asked for, and is called that [192]. */
bool osr_drains_suspend(struct osr_drains *drains, const struct osr_part *part, char *name);
/* That sweep has ended well. */
void osr_drains_done(struct osr_drains *drains);
void osr_drains_count(struct osr_drains *drains, uint32_t *n_drained, uint32_t *n_held);
/* The port of the subnet manager, whose switch is not drained. */
void osr_drains_sm(struct osr_drains *drains, uint64_t port_guid);

#endif
