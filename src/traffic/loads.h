/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * loads.h - how evenly a routing uses the channels: routes per channel, and routes by length.
 *
 * Counted are the routes from CA and router ports to the LIDs of CAs and routers, as in the edge
 * forwarding index of check.h, but of tables that nobody has checked: routes that do not arrive are
 * counted apart and load nothing.
 *
 * The deviation metric of the Angara paper (Mukosey, Semenov, Simonov; section 2):
 *
 *	sigma(k, R) = (1/|C| * sum over channels c of |perfect - load(c)|^k) ^ (1/k)
 *
 * where `perfect` is the mean load of a routing whose routes are all minimal.
 *
 * Time O(dests * switches). Loads are integers, so ranges of LIDs may be counted apart and added.
 */
#ifndef OSMROUTES_LOADS_H
#define OSMROUTES_LOADS_H

#include <osmroutes/routing.h>

#define OSR_LOADS_MAX_HOPS 63

struct osr_loads {
	uint64_t *load; /* [n_channels] */
	/* Routes by the channels between switches they cross; the last entry: that many and more. */
	uint64_t hops[OSR_LOADS_MAX_HOPS + 1];
	uint64_t n_routes;  /* that arrive */
	uint64_t n_no_path; /* that do not */
};

/* All zero, in `arena`. */
enum osr_status osr_loads_init(struct osr_loads *loads, const struct osr_fabric *fabric,
			       struct osr_arena *arena, struct osr_diag *diag);

/* Adds the routes to dests first .. end - 1. `routing` is finished and need not be checked. */
enum osr_status osr_loads_add(struct osr_loads *loads, const struct osr_fabric *fabric,
			      const struct osr_routing *routing, uint32_t first, uint32_t end,
			      struct osr_arena *scratch, struct osr_diag *diag);

/* Adds what another has counted. */
void osr_loads_join(struct osr_loads *loads, const struct osr_fabric *fabric,
		    const struct osr_loads *other);

/*
 * The sum of all loads if every route were minimal; routes between parts of the fabric that no
 * cable connects are left out. O(switches * channels).
 */
enum osr_status osr_loads_minimal(const struct osr_fabric *fabric, struct osr_arena *scratch,
				  uint64_t *sum, struct osr_diag *diag);

struct osr_balance {
	uint64_t efi, min;    /* largest and least load */
	uint32_t efi_channel; /* the first with the largest */
	double mean, perfect;
	double sigma; /* sigma(k, R) */
};

/* minimal_sum: of osr_loads_minimal(); k >= 1. Zeros for a fabric without channels. */
void osr_loads_balance(const struct osr_loads *loads, const struct osr_fabric *fabric,
		       uint64_t minimal_sum, uint32_t k, struct osr_balance *balance);

#endif
