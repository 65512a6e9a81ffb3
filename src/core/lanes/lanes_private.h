/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Strategies of the table in strategies.c that have a file of their own. */
#ifndef OSR_LANES_PRIVATE_H
#define OSR_LANES_PRIVATE_H

#include <osmroutes/lanes.h>
#include <osmroutes/product.h>

/*
 * One lane by the order of a fat tree. *fits: complete. Otherwise the routes of s are undefined if
 * s->n_rounds was reset, and as before if the fabric is no tree or a route would get longer.
 */
enum osr_status osr__lanes_tree(struct osr_lanes_job *job, bool *fits);

/*
 * That order as one of updown.h, in job->scratch; *found: the fabric is a tree, whole or broken, in one piece. Two
 * lanes by turn in it also serve end ports on switches above the leaves, whose routes go down first or up last.
 */
struct osr_updown;
enum osr_status osr__lanes_tree_updown(struct osr_lanes_job *job, struct osr_updown *updown,
				       bool *found);

/*
 * Lanes by SL for the paths there are, or for others where the VLs do not suffice and the options allow it; OSR_NO_VL with a
 * sentence where they do not. With replies on the SL of their request if the options want them.
 */
enum osr_status osr__lanes_sl(struct osr_lanes_job *job, bool *done);

/*
 * Routes of lanes by SL are dealt over the lanes of the budget that have none; the proof of the
 * lane that they share holds for each.
 */
enum osr_status osr__lanes_spread(struct osr_lanes_job *job);

/*
 * Is the fabric a product, whole or damaged, in one piece? Then job->product, else OSR_OK, too. Dimension order is for
 * one LID a port, and one rate.
 */
enum osr_status osr__dor_find(struct osr_lanes_job *job);

/* No routing can keep the channels of a dimension below their mean load, or that of a line's middle. */
uint64_t osr__dor_least(const struct osr_spf *spf, const struct osr_product *product);

/* No load on any channel. */
void osr__dor_clear(struct osr_spf *spf);

/*
 * Lanes by turn, in dimension order, for products with rings: see turn_rings.c. *routed with any_sl = on, and
 * with auto where they cost next to nothing; otherwise they are left in job->turn, to be compared.
 */
enum osr_status osr__turn_rings(struct osr_lanes_job *job, bool *routed);

#endif
