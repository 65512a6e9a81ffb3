/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* job.h - one run of the engine: angara.c decides, grid_tables.c writes them down. */
#ifndef ANGARA_JOB_H
#define ANGARA_JOB_H

#include <osmroutes/engine.h>

#include "trees.h"

struct job {
	const struct osr_fabric *f;
	const struct osr_request *req;
	struct osr_arena *scratch, *result;
	struct osr_routing *r;
	struct osr_diag *diag;
	struct osr_grid grid;
	struct plan plan;
	struct order order;
	struct trees trees;
	bool reversible;
	uint64_t *load; /* [n_channels] routes, for parallel cables */
	uint64_t *flow; /* [n_switches] end ports that send through a switch */
};

/* Multicast: wanted, found, and on a lane of its own? */
struct spread {
	bool wanted, found, own;
	uint8_t *up; /* [n_switches] directions towards the root */
};

/* Everything from the trees: LFTs, service levels, SL2VL, the certificate, multicast. */
enum osr_status angara__write(struct job *j, const struct spread *m);

#endif
