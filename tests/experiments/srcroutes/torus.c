/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "srcroutes/torus.h"

static enum osr_status take_sizes(struct osr_torus *torus, uint32_t n_dims, const uint32_t *size,
				  struct osr_diag *diag)
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
	*torus = (struct osr_torus){ .n_dims = n_dims, .n_dirs = 2 * n_dims, .n_nodes = n };
	for (uint32_t i = 0; i < n_dims; i++) {
		n /= size[i];
		torus->size[i] = size[i];
		torus->stride[i] = n;
		torus->ring[i] = size[i] > 2;
	}
	return OSR_OK;
}

/* Where direction dir leads from node. */
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
			       struct osr_arena *arena, struct osr_diag *diag)
{
	enum osr_status st = take_sizes(torus, n_dims, size, diag);

	if (st)
		return st;
	torus->next =
		osr_alloc(arena, (size_t)torus->n_nodes * torus->n_dirs, sizeof(*torus->next));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t u = 0; u < torus->n_nodes; u++)
		for (uint32_t d = 0; d < torus->n_dirs; d++)
			torus->next[u * torus->n_dirs + d] = torus_neighbour(torus, u, d);
	return OSR_OK;
}

/* One hop from *node by dir; false if there is no channel. */
static bool srcroute_hop(const struct osr_torus *torus, uint32_t *node, uint32_t dir,
			 uint32_t *channel, uint32_t *n)
{
	uint32_t c = *node * torus->n_dirs + dir;

	if (torus->next[c] == OSR_NO_NODE)
		return false;
	channel[(*n)++] = c;
	*node = torus->next[c];
	return true;
}

/* Hops from coordinate a to b in one direction; a line's may be more than it has channels for. */
static uint32_t srcroute_count(const struct osr_torus *torus, uint32_t dir, uint32_t a, uint32_t b)
{
	uint32_t size = torus->size[osr_dir_dim(torus, dir)];

	return dir < torus->n_dims ? (b + size - a) % size : (a + size - b) % size;
}

uint32_t osr_srcroute_channels(const struct osr_torus *torus, uint32_t from, uint32_t to,
			       struct osr_srcroute srcroute, uint32_t *channel)
{
	uint32_t n = 0, at = from, target = to;

	if (srcroute.first != OSR_NO_DIR && !srcroute_hop(torus, &at, srcroute.first, channel, &n))
		return 0;
	if (srcroute.last != OSR_NO_DIR) {
		/* Channels come in pairs, so the way back tells where the last step starts. */
		target = torus->next[to * torus->n_dirs + osr_dir_back(torus, srcroute.last)];
		if (target == OSR_NO_NODE)
			return 0;
	}
	for (uint32_t dir = 0; dir < torus->n_dirs; dir++) {
		uint32_t dim = osr_dir_dim(torus, dir), hops;

		if (!((dir < torus->n_dims ? srcroute.plus : srcroute.minus) >> dim & 1))
			continue;
		hops = srcroute_count(torus, dir, osr_torus_coord(torus, at, dim),
				      osr_torus_coord(torus, target, dim));
		if (!hops)
			return 0;
		while (hops--)
			if (!srcroute_hop(torus, &at, dir, channel, &n))
				return 0;
	}
	if (at != target)
		return 0;
	if (srcroute.last != OSR_NO_DIR)
		srcroute_hop(torus, &at, srcroute.last, channel, &n);
	return n;
}
