/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * even.h - load for hosts that are spread unevenly: trees of shortest ways that leave the order of
 * dimensions where the order of channels can follow.
 *
 * Source: Mukosey, Semenov, Tretiakov, section 3.2 (turns that close no cycle) and section 4.3 (single
 * source shortest paths by load, then the pairs with a choice); the deviation metric with k = 4 is what
 * a move must lower. DIFFERS: a tree for each LID in place of a route for each pair, since a switch
 * knows nothing but the LID; turns are taken when a tree needs them and given back when none does, in
 * place of all in advance.
 */
#ifndef ANGARA_EVEN_H
#define ANGARA_EVEN_H

#include "trees.h"

/* Are there as many end ports on every switch? Then dimension order is as good as any. */
bool angara__is_even(const struct osr_fabric *fabric);

/*
 * After angara__trees_depend() and multicast: every LID of a host gets a row of its own, and its tree is
 * made again while that lowers the load. No way gets longer, and each stays on its service level.
 */
enum osr_status angara__even_out(struct trees *t, struct osr_arena *scratch, bool *fits,
				 struct osr_diag *diag);

#endif
