/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Strategies of the table in strategies.c that have a file of their own. */
#ifndef OSR_LANES_PRIVATE_H
#define OSR_LANES_PRIVATE_H

#include <osmroutes/lanes.h>

/*
 * One lane by the order of a fat tree. *fits: complete. Otherwise the routes of s are undefined if
 * s->n_rounds was reset, and as before if the fabric is no tree or a route would get longer.
 */
enum osr_status osr__lanes_tree(struct osr_lanes_job *job, bool *fits);

#endif
