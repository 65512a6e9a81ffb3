/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * trap.h - from a trap to tables without a discovery.
 *
 * A switch whose link changes its state sends trap 128, and OpenSM discovers the whole fabric anew
 * before it routes. What is lost is known after a few MADs: the switch is asked for the state of its
 * ports, dead cables leave OpenSM's subnet as its own PortInfo receiver would have them leave, the
 * engine routes, and the blocks that changed are sent. OpenSM's discovery follows as always and
 * finds a fabric that is routed already.
 *
 * That is done for cables between switches that the switch itself calls down, and for nothing else:
 * a new or another link, a host that goes, an answer that does not come, a part of the fabric that is
 * cut off, all are left to the discovery.
 */
#ifndef OSR_OSM_TRAP_H
#define OSR_OSM_TRAP_H

#include "compat.h"

#include <pthread.h>

#define TRAP_MAX_SWITCHES 64

/* Port GUIDs of switches that sent trap 128 since the last sweep began. */
struct traps {
	pthread_mutex_t mutex;
	ib_net64_t guid[TRAP_MAX_SWITCHES];
	uint32_t n;
	bool overflow;
	double ms_first;
	bool settled;     /* the last sweep ended with SUBNET_UP and no error */
	bool was_settled; /* the same, before the sweep that is under way */
};

struct plugin;

void osr__traps_init(struct traps *traps);
/* OpenSM's event, from any thread, with the shared lock held. */
void osr__traps_note(struct plugin *p, const ib_mad_notice_attr_t *notice);
/* A sweep is over, or has not come to its end. */
void osr__traps_settled(struct plugin *p, bool settled);
/* At HEAVY_SWEEP_START, without a lock: true if new tables have been sent. */
bool osr__traps_route(struct plugin *p);

#endif
