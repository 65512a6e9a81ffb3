/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * crossing.h - which routes leave a switch by one of its ports: senders and LIDs.
 *
 * Any tables will do: a route that does not arrive, because it ends or loops, crosses what it crosses.
 *
 * Time O(channels around the switches that send this way) for each LID that does, and O(1) for the others;
 * memory 5 bytes for each switch.
 */
#ifndef OSMROUTES_CROSSING_H
#define OSMROUTES_CROSSING_H

#include <osmroutes/routing.h>

/*
 * Calls visit() for every switch and LID whose route leaves switch sw by this port, to another switch or to
 * an end port: LIDs in ascending order, for each of them the switches from sw backwards. OSR_NOMEM.
 */
enum osr_status osr_crossing_each(const struct osr_fabric *fabric,
				  const struct osr_routing *routing, uint32_t sw, uint8_t port,
				  struct osr_arena *scratch,
				  void (*visit)(void *ctx, uint32_t from, uint32_t dest), void *ctx,
				  struct osr_diag *diag);

#endif
