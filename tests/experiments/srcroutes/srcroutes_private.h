/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* srcroutes_private.h - what the algorithms share; see srcroutes.h for what they promise. */
#ifndef OSR_SRCROUTES_PRIVATE_H
#define OSR_SRCROUTES_PRIVATE_H

#include "srcroutes/srcroutes.h"

/* Which choice of each pair is taken, and how many routes that puts on each channel. */
struct osr__picks {
	const struct osr_srcroutes *a;
	uint32_t n_channels; /* n_nodes * n_dirs */
	uint16_t *pick;      /* [n_pairs] */
	uint32_t *load;      /* [n_channels] */
};

/* Adds n (1 or -1) to the load of all channels of choice k. */
void osr__picks_add(struct osr__picks *picks, uint32_t pair, uint32_t k, uint32_t n);

uint32_t osr__picks_max(const struct osr__picks *picks);

/*
 * The choice with these channels: an algorithm that searches the routing graph need not know how a
 * route is written. OSR_NO_NODE if there is none.
 */
uint32_t osr__choice_of(const struct osr_srcroutes *routes, uint32_t pair, const uint32_t *channel,
			uint32_t hops);

enum osr_status osr__bfs(struct osr__picks *picks, const struct osr_srcroutes_options *opt,
			 struct osr_arena *scratch, struct osr_diag *diag);
enum osr_status osr__sssp(struct osr__picks *picks, const struct osr_srcroutes_options *opt,
			  struct osr_arena *scratch, struct osr_srcroutes_stats *stats,
			  struct osr_diag *diag);
enum osr_status osr__genetic(struct osr__picks *picks, const struct osr_srcroutes_options *opt,
			     struct osr_arena *scratch, struct osr_srcroutes_stats *stats,
			     struct osr_diag *diag);
enum osr_status osr__balance_choices(struct osr__picks *picks,
				     const struct osr_srcroutes_options *opt,
				     struct osr_arena *scratch, struct osr_srcroutes_stats *stats,
				     struct osr_diag *diag);

#endif
