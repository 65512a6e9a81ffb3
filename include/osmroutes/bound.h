/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * bound.h - the least load that the busiest channel carries in any routing.
 *
 * Load is counted as check.h does: a route for each end port of a CA or router that sends, and each
 * LID of another one, or its first LID alone.
 */
#ifndef OSMROUTES_BOUND_H
#define OSMROUTES_BOUND_H

#include <osmroutes/routing.h>

/*
 * Cuts, in both directions: around single switches, around the pieces that are left if the switches
 * from some distance to all hosts on are removed (in trees: the pods of every level), and around
 * parts that a search finds: bridges, the chassis of large switches. Good for any routing, not only
 * minimal ones. O(levels * (switches + channels) + channels * degree).
 */
enum osr_status osr_bound_cut(const struct osr_fabric *fabric, struct osr_arena *scratch,
			      uint64_t *bound, struct osr_diag *diag);

/* Which LIDs of an end port are sent to. */
enum osr_lids { OSR_FIRST_LIDS, OSR_ALL_LIDS };

/* One set of switches, and the cables around it. */
struct osr_cut {
	uint64_t sources, lids; /* of the switches inside */
	uint64_t channels;      /* that lead out, which are as many as lead in */
};

/* All cuts of a fabric, and the function that gives the bound of each. */
struct osr_cuts {
	const struct osr_fabric *fabric;
	enum osr_lids lids;
	/* [n_switches] units that its end ports send, and also receive; NULL: routes */
	const uint64_t *units;
	const uint64_t *weight; /* [n_channels] capacity, as a number of channels; NULL: 1 each */
	uint64_t (*bound)(const struct osr_cut *inside, const struct osr_cut *all);
};

/* The highest bound of all cuts. */
enum osr_status osr_bound_cuts(const struct osr_cuts *cuts, struct osr_arena *scratch,
			       uint64_t *bound, struct osr_diag *diag);

/*
 * The bound that all output shows: efi_bound in JSON, "the least possible" for people. No routing
 * has a lower efi_per_capacity (check.h), whose unit it has: routes on a channel of the fastest
 * rate. It is the highest of the bounds of the cuts, by the capacity of their channels, and of the
 * mean load if every route were minimal, so it holds for any routing, also with longer routes. A
 * whole number where all channels have one rate. O(switches^2 + diameter * switches * channels /
 * 64), beside the cuts.
 */
enum osr_status osr_bound_load(const struct osr_fabric *fabric, enum osr_lids which,
			       struct osr_arena *scratch, double *bound, struct osr_diag *diag);

/*
 * The load that a full route of `fabric` can be expected to reach. It is estimated from `then`, the
 * full route of another fabric, mostly of this one before a fault, by the same ratio of load to
 * bound. then->load may be unknown. *least is the bound of the cuts around switches and pieces,
 * without the search: a higher goal would replace more repairs by full routes.
 */
enum osr_status osr_bound_expected(const struct osr_fabric *fabric, const struct osr_result *then,
				   struct osr_arena *scratch, uint64_t *least, uint64_t *expected,
				   struct osr_diag *diag);

#endif
