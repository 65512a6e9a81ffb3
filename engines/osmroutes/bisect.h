/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Effective bisection bandwidth, as far as a choice between tables needs it. */
#ifndef ENGINES_OSMROUTES_BISECT_H
#define ENGINES_OSMROUTES_BISECT_H

#include <osmroutes/routing.h>

/*
 * The mean bandwidth of pairs over random bisections (Hoefler, Schneider, Lumsdaine: Multistage
 * Switches are not Crossbars, Cluster 2008), in millionths of the fastest link. One half sends to the
 * other, host by host; a pair shares its busiest link with all others that cross it. The same
 * bisections for any tables of one fabric. 0 without a pair.
 */
enum osr_status choose_bisect(const struct osr_fabric *fabric, const struct osr_routing *routing,
			      struct osr_arena *scratch, uint32_t *ebb, struct osr_diag *diag);

#endif
