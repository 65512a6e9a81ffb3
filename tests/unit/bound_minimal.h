/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * bound_minimal.h - the least load that the busiest channel of any minimal routing must carry: a bound for tests that
 * takes longer than osr_bound_load() and is higher. A routing is minimal if every route is as short as the
 * graph allows.
 *
 * Source: duality of linear programs. For any weights y >= 0 of the channels, a minimal routing
 * cannot do better than to send every route along its lightest minimal path; so
 *
 *	max load  >=  sum over routes of the weight of the lightest minimal path / sum of y
 *
 * The weights of a cut are 1 on its channels and 0 elsewhere. The best weights give the least
 * fractional load. Rounds come close to them: each sends all routes along the lightest paths, and the
 * weight of a channel grows by the load it gets (multiplicative weights; Plotkin, Shmoys, Tardos 1995). A
 * routing by
 * destination, one path for each LID, can only be worse, so this is a lower bound for it.
 */
#ifndef OSR_TEST_BOUND_MINIMAL_H
#define OSR_TEST_BOUND_MINIMAL_H

#include <osmroutes/arena.h>
#include <osmroutes/fabric.h>

/*
 * The best of `rounds` sets of weights, and of the cuts; with rounds = 1 all weights are alike, which
 * is the average load. O(rounds * switches with hosts * channels).
 */
enum osr_status test_bound_minimal(const struct osr_fabric *fabric, uint32_t rounds,
				   struct osr_arena *scratch, uint64_t *bound,
				   struct osr_diag *diag);

#endif
