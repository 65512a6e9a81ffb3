/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* order.h - the hosts of a fat tree in routing order, for printing. */
#ifndef OSR_CLI_ORDER_H
#define OSR_CLI_ORDER_H

#include <osmroutes/pgft.h>

#include "io/net.h"

#define CLI_PLACE_NAME_SIZE 128

struct cli_place {
	uint32_t term;
	uint32_t ranks;                 /* processes on it */
	char name[CLI_PLACE_NAME_SIZE]; /* of the host */
};

struct cli_order {
	const struct osr_fabric *f;
	struct osr_pgft p;
	struct cli_place *place; /* [n_places] hosts, each once, leaf by leaf */
	uint32_t n_places;
};

enum cli_slurm {
	CLI_SLURM_TREE,   /* topology.conf of topology/tree: leaves, sub-trees, the whole */
	CLI_SLURM_BLOCKS, /* topology.conf of topology/block: a block for each leaf */
	CLI_SLURM_YAML,   /* topology.yaml of Slurm 25.05, with both */
};

/*
 * Keeps the hosts of a job. `list` is a file, "-" or the list itself: NAME, NAME:RANKS or NAME slots=RANKS, several
 * with commas, n[01-16] as Slurm writes it; names as order has them or up to their first dot, or GUIDs. Ranks of a
 * host that stands there twice add up. OSR_INVAL: a host that the order does not have, or what is none of these.
 */
enum osr_status cli_order_keep(struct cli_order *order, const char *list, uint32_t ranks,
			       struct osr_diag *diag);

/*
 * What the paper's rule on the size of a job (section V-B) says of these hosts, in one sentence; "" if it says
 * nothing: a broken tree, or hosts of several.
 */
void cli_order_judge(const struct cli_order *order, char *buf, size_t size);

enum osr_status cli_slurm_print(const struct cli_order *order, enum cli_slurm form,
				struct osr_diag *diag);

#endif
