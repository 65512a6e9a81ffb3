/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* order.h - the hosts of a fat tree in routing order, for those who print them. */
#ifndef OSR_CLI_ORDER_H
#define OSR_CLI_ORDER_H

#include <osmroutes/pgft.h>

#define CLI_PLACE_NAME_SIZE 128

struct cli_place {
	uint32_t term;
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

enum osr_status cli_slurm_print(const struct cli_order *order, enum cli_slurm form,
				struct osr_diag *diag);

#endif
