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

/* Adds one to the load of all channels of choice k. */
void osr__picks_add(struct osr__picks *picks, uint32_t pair, uint32_t k);

enum osr_status osr__genetic(struct osr__picks *picks, const struct osr_srcroutes_options *opt,
			     struct osr_arena *scratch, struct osr_srcroutes_stats *stats,
			     struct osr_diag *diag);

#endif
