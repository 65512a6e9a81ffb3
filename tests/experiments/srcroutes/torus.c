/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "srcroutes/torus.h"

#include <string.h>

static enum osr_status take_sizes(struct osr_torus *torus, uint32_t n_dims, const uint32_t *size,
				  uint32_t lines, struct osr_diag *diag)
{
	uint32_t n = 1;

	if (n_dims < 1 || n_dims > OSR_TORUS_MAX_DIMS)
		return osr_fail(diag, OSR_INVAL, "a torus of %u dimensions: expected 1 to %u",
				n_dims, OSR_TORUS_MAX_DIMS);
	for (uint32_t i = 0; i < n_dims; i++) {
		if (size[i] < 2 || size[i] > OSR_TORUS_MAX_SIDE)
			return osr_fail(diag, OSR_INVAL,
					"dimension %u of the torus has %u nodes: expected 2 to %u",
					i + 1, size[i], OSR_TORUS_MAX_SIDE);
		n *= size[i];
		if (n > OSR_TORUS_MAX_NODES)
			return osr_fail(diag, OSR_INVAL, "the torus has more than %u nodes",
					OSR_TORUS_MAX_NODES);
	}
	*torus = (struct osr_torus){
		.n_dims = n_dims, .n_dirs = 2 * n_dims, .n_nodes = n, .whole = true
	};
	for (uint32_t i = 0; i < n_dims; i++) {
		n /= size[i];
		torus->size[i] = size[i];
		torus->stride[i] = n;
		torus->ring[i] = size[i] > 2 && !(lines >> i & 1);
	}
	return OSR_OK;
}

/* Where direction dir leads from node when nothing has failed. */
static uint32_t torus_neighbour(const struct osr_torus *torus, uint32_t node, uint32_t dir)
{
	uint32_t dim = osr_dir_dim(torus, dir), x = osr_torus_coord(torus, node, dim),
		 size = torus->size[dim];
	uint32_t y = dir < torus->n_dims ? x + 1 : x + size - 1;

	if (!torus->ring[dim] && (dir < torus->n_dims ? y == size : x == 0))
		return OSR_NO_NODE;
	return node - x * torus->stride[dim] + y % size * torus->stride[dim];
}

enum osr_status osr_torus_init(struct osr_torus *torus, uint32_t n_dims, const uint32_t *size,
			       uint32_t lines, struct osr_arena *arena, struct osr_diag *diag)
{
	enum osr_status st = take_sizes(torus, n_dims, size, lines, diag);

	if (st)
		return st;
	torus->dead = osr_calloc(arena, torus->n_nodes, sizeof(*torus->dead));
	torus->next =
		osr_alloc(arena, (size_t)torus->n_nodes * torus->n_dirs, sizeof(*torus->next));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t u = 0; u < torus->n_nodes; u++)
		for (uint32_t d = 0; d < torus->n_dirs; d++)
			torus->next[u * torus->n_dirs + d] = torus_neighbour(torus, u, d);
	return OSR_OK;
}

void osr_torus_fail_link(struct osr_torus *torus, uint32_t node, uint32_t dir)
{
	uint32_t other = torus->next[node * torus->n_dirs + dir];

	if (other == OSR_NO_NODE)
		return;
	torus->whole = false;
	torus->next[node * torus->n_dirs + dir] = OSR_NO_NODE;
	torus->next[other * torus->n_dirs + osr_dir_back(torus, dir)] = OSR_NO_NODE;
}

void osr_torus_fail_node(struct osr_torus *torus, uint32_t node)
{
	torus->whole = false;
	torus->dead[node] = 1;
	for (uint32_t d = 0; d < torus->n_dirs; d++)
		osr_torus_fail_link(torus, node, d);
}

const char *osr_dir_name(const struct osr_torus *torus, uint32_t dir)
{
	static const char *const names[2][OSR_TORUS_MAX_DIMS] = {
		{ "+X", "+Y", "+Z", "+K", "+L", "+M" }, { "-X", "-Y", "-Z", "-K", "-L", "-M" }
	};

	return names[dir >= torus->n_dims][osr_dir_dim(torus, dir)];
}

uint32_t osr_dir_by_name(const struct osr_torus *torus, const char *name)
{
	for (uint32_t d = 0; d < torus->n_dirs; d++)
		if (!strcmp(name, osr_dir_name(torus, d)))
			return d;
	return OSR_NO_DIR;
}
