/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * bound.h - the least load that the busiest channel of any minimal routing must carry.
 *
 * Load is counted as check.h does: a route for each end port of a CA or router that sends, and each
 * LID of another one. A routing is minimal if every route is as short as the graph allows.
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
#ifndef OSMROUTES_BOUND_H
#define OSMROUTES_BOUND_H

#include <osmroutes/routing.h>

#include <inttypes.h>

/*
 * Cuts, in both directions: around single switches, and around the pieces that are left if the switches
 * from some distance to all hosts on are removed (in trees: the pods of every level). Good for any
 * routing, not only minimal ones. O(levels * (switches + channels)).
 */
enum osr_status osr_bound_cut(const struct osr_fabric *fabric, struct osr_arena *scratch,
			      uint64_t *bound, struct osr_diag *diag);

/*
 * The best of `rounds` sets of weights, and of the cuts; with rounds = 1 all weights are alike, which
 * is the average load. O(rounds * switches with hosts * channels).
 */
enum osr_status osr_bound_minimal(const struct osr_fabric *fabric, uint32_t rounds,
				  struct osr_arena *scratch, uint64_t *bound,
				  struct osr_diag *diag);

/*
 * What a full route of fabric can be expected to reach, by one of another fabric, mostly of this one before a
 * fault: no better than that was against its own bound; then->load may be unknown. *least is
 * osr_bound_cut() of fabric.
 */
enum osr_status osr_bound_expected(const struct osr_fabric *fabric, const struct osr_result *then,
				   struct osr_arena *scratch, uint64_t *least, uint64_t *expected,
				   struct osr_diag *diag);

/* Why there is a full route: load, drift / 1000 and % 1000 / 10, what is expected, the limit. */
#define OSR_DRIFT_TEXT                                                                             \
	"the busiest channel would carry %" PRIu64 " routes, %u.%02u times what a full route may " \
	"need (%" PRIu64 "), and the limit is %u.%02u"

#endif
