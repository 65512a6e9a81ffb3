/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * demand.h - what the channels should carry if hosts send and receive these amounts and packets follow the
 * tables.
 *
 * Who sends to whom is not known. Two answers bracket it: the gravity model (every host sends to each other one
 * in proportion to what that one receives; Zhang, Roughan, Duffield, Greenberg 2003), and the most that any
 * traffic with these amounts can bring over a channel: for each end port the lesser of what it receives and
 * what those send whose routes to it cross the channel.
 */
#ifndef OSMROUTES_DEMAND_H
#define OSMROUTES_DEMAND_H

#include <osmroutes/routing.h>

struct osr_demand {
	double *sent, *received; /* [n_terminals] by end ports, filled by the caller */
	double *expected, *most; /* [n_channels] */
};

/* The arrays, zeroed. */
enum osr_status osr_demand_init(struct osr_demand *demand, const struct osr_fabric *fabric,
				struct osr_arena *arena, struct osr_diag *diag);

/* Fills expected and most. Entries that lead around count nothing. O(LIDs * switches). */
enum osr_status osr_demand_spread(struct osr_demand *demand, const struct osr_fabric *fabric,
				  const struct osr_routing *routing, struct osr_arena *scratch,
				  struct osr_diag *diag);

#endif
