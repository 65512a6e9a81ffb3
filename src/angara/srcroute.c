/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/srcroute.h>

/* One hop from *node by dir; false if there is no channel. */
static bool hop(const struct osr_torus *t, uint32_t *node, uint32_t dir, uint32_t *channel,
		uint32_t *n)
{
	uint32_t c = *node * t->n_dirs + dir;

	if (t->next[c] == OSR_NO_NODE)
		return false;
	channel[(*n)++] = c;
	*node = t->next[c];
	return true;
}

/* Hops from coordinate a to b in one direction; a line's may be more than it has channels for. */
static uint32_t count(const struct osr_torus *t, uint32_t dir, uint32_t a, uint32_t b)
{
	uint32_t size = t->size[osr_dir_dim(t, dir)];

	return dir < t->n_dims ? (b + size - a) % size : (a + size - b) % size;
}

uint32_t osr_srcroute_channels(const struct osr_torus *t, uint32_t from, uint32_t to,
			       struct osr_srcroute r, uint32_t *channel)
{
	uint32_t n = 0, at = from, target = to;

	if (r.first != OSR_NO_DIR && !hop(t, &at, r.first, channel, &n))
		return 0;
	if (r.last != OSR_NO_DIR) {
		/* Channels come in pairs, so the way back tells where the last step starts. */
		target = t->next[to * t->n_dirs + osr_dir_back(t, r.last)];
		if (target == OSR_NO_NODE)
			return 0;
	}
	for (uint32_t dir = 0; dir < t->n_dirs; dir++) {
		uint32_t dim = osr_dir_dim(t, dir), hops;

		if (!((dir < t->n_dims ? r.plus : r.minus) >> dim & 1))
			continue;
		hops = count(t, dir, osr_torus_coord(t, at, dim), osr_torus_coord(t, target, dim));
		if (!hops)
			return 0;
		while (hops--)
			if (!hop(t, &at, dir, channel, &n))
				return 0;
	}
	if (at != target)
		return 0;
	if (r.last != OSR_NO_DIR)
		hop(t, &at, r.last, channel, &n);
	return n;
}
