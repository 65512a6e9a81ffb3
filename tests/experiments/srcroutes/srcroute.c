/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "srcroutes/srcroute.h"

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
