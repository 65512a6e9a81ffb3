/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* job.h - one run of the engine: angara.c decides, grid_tables.c and order.c write a whole grid's tables. */
#ifndef ANGARA_JOB_H
#define ANGARA_JOB_H

#include <osmroutes/engine.h>

#include "plan.h"

#define NO_WAY 255 /* a LID of the switch itself */

struct job {
	const struct osr_fabric *f;
	const struct osr_request *req;
	struct osr_arena *scratch, *result;
	struct osr_routing *r;
	struct osr_diag *diag;
	struct osr_grid grid;
	struct plan plan;
	uint64_t *load; /* [n_channels] routes, for parallel cables */
	uint64_t *flow; /* [n_switches] end ports that send through a switch */
};

/* Everything by the plan, for a whole grid: LFTs, service levels, SL2VL, the certificate, multicast. */
enum osr_status angara__write(struct job *j);

/*
 * order.c: the certificate of lanes 0 and 1, rank[n_lanes * n_channels]. By dimension, and within rings from the
 * link that the lane does not use. Lane 0 is numbered inside out, so that steps towards the middle of a later
 * dimension may come in front of everything: a first step (angara__early()), and all of multicast.
 */
enum osr_status angara__rank(struct job *j, uint32_t n_lanes, uint32_t *rank);

#endif
