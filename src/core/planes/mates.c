/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/planes.h>

#include <assert.h>

/* Terminals of a block; each is the mate of every other in some plane. */
struct mates_block {
	uint32_t term[OSR_MAX_PLANES];
	uint32_t n, most; /* how many there are, and can be */
};

/* The block is complete; the next one is empty. */
static void mates_close(const struct osr_fabric *fabric, struct mates_block *block,
			struct osr_planes *planes)
{
	for (uint32_t i = 0; i < block->n; i++) {
		uint32_t lid = fabric->term_lid[block->term[i]];

		for (uint32_t k = 1; k < block->most; k++) {
			uint32_t mate = block->term[i ^ (k % block->n)];

			planes->tree_of[fabric->lid_dest[lid + k]] =
				fabric->lid_dest[fabric->term_lid[mate]];
		}
	}
	block->n = 0;
}

/* The end ports of a switch with 2^lmc LIDs, in blocks that are as large as those left over can fill. */
static void mates_of_switch(const struct osr_fabric *fabric, uint32_t sw, uint8_t lmc,
			    struct osr_planes *planes)
{
	struct mates_block block = { .most = 1u << lmc };
	uint32_t left = 0, size = block.most;

	for (uint32_t t = fabric->term_row[sw]; t < fabric->term_row[sw + 1]; t++)
		left += fabric->term_lmc[t] == lmc && fabric->term_weight[t];
	for (uint32_t t = fabric->term_row[sw]; t < fabric->term_row[sw + 1]; t++) {
		if (fabric->term_lmc[t] != lmc || !fabric->term_weight[t])
			continue;
		while (!block.n && size > left)
			size /= 2;
		block.term[block.n++] = t;
		left--;
		if (block.n == size)
			mates_close(fabric, &block, planes);
	}
	assert(!block.n);
}

void osr_planes_mates(const struct osr_fabric *fabric, struct osr_planes *planes)
{
	for (uint32_t k = 1; k < planes->n; k++)
		planes->kind[k] = OSR_PLANE_MATES;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (uint8_t lmc = 1; 1u << lmc <= planes->n; lmc++)
			mates_of_switch(fabric, s, lmc, planes);
}
