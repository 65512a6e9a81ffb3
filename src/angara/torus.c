/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/torus.h>

#include <string.h>

static enum osr_status take_sizes(struct osr_torus *t, uint32_t n_dims, const uint32_t *size,
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
	*t = (struct osr_torus){
		.n_dims = n_dims, .n_dirs = 2 * n_dims, .n_nodes = n, .whole = true
	};
	for (uint32_t i = 0; i < n_dims; i++) {
		n /= size[i];
		t->size[i] = size[i];
		t->stride[i] = n;
		t->ring[i] = size[i] > 2 && !(lines >> i & 1);
	}
	return OSR_OK;
}

/* Where direction dir leads from node when nothing has failed. */
static uint32_t neighbour(const struct osr_torus *t, uint32_t node, uint32_t dir)
{
	uint32_t dim = osr_dir_dim(t, dir), x = osr_torus_coord(t, node, dim), size = t->size[dim];
	uint32_t y = dir < t->n_dims ? x + 1 : x + size - 1;

	if (!t->ring[dim] && (dir < t->n_dims ? y == size : x == 0))
		return OSR_NO_NODE;
	return node - x * t->stride[dim] + y % size * t->stride[dim];
}

enum osr_status osr_torus_init(struct osr_torus *t, uint32_t n_dims, const uint32_t *size,
			       uint32_t lines, struct osr_arena *arena, struct osr_diag *diag)
{
	enum osr_status st = take_sizes(t, n_dims, size, lines, diag);

	if (st)
		return st;
	t->dead = osr_calloc(arena, t->n_nodes, sizeof(*t->dead));
	t->next = osr_alloc(arena, (size_t)t->n_nodes * t->n_dirs, sizeof(*t->next));
	if (!t->dead || !t->next)
		return osr_fail(diag, OSR_NOMEM, "out of memory for a torus of %u nodes",
				t->n_nodes);
	for (uint32_t u = 0; u < t->n_nodes; u++)
		for (uint32_t d = 0; d < t->n_dirs; d++)
			t->next[u * t->n_dirs + d] = neighbour(t, u, d);
	return OSR_OK;
}

void osr_torus_fail_link(struct osr_torus *t, uint32_t node, uint32_t dir)
{
	uint32_t other = t->next[node * t->n_dirs + dir];

	if (other == OSR_NO_NODE)
		return;
	t->whole = false;
	t->next[node * t->n_dirs + dir] = OSR_NO_NODE;
	t->next[other * t->n_dirs + osr_dir_back(t, dir)] = OSR_NO_NODE;
}

void osr_torus_fail_node(struct osr_torus *t, uint32_t node)
{
	t->whole = false;
	t->dead[node] = 1;
	for (uint32_t d = 0; d < t->n_dirs; d++)
		osr_torus_fail_link(t, node, d);
}

const char *osr_dir_name(const struct osr_torus *t, uint32_t dir)
{
	static const char *const names[2][OSR_TORUS_MAX_DIMS] = {
		{ "+X", "+Y", "+Z", "+K", "+L", "+M" }, { "-X", "-Y", "-Z", "-K", "-L", "-M" }
	};

	return names[dir >= t->n_dims][osr_dir_dim(t, dir)];
}

uint32_t osr_dir_by_name(const struct osr_torus *t, const char *name)
{
	for (uint32_t d = 0; d < t->n_dirs; d++)
		if (!strcmp(name, osr_dir_name(t, d)))
			return d;
	return OSR_NO_DIR;
}

uint32_t osr_torus_distance(const struct osr_torus *t, uint32_t from, uint32_t to)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < t->n_dims; i++) {
		uint32_t a = osr_torus_coord(t, from, i), b = osr_torus_coord(t, to, i);
		uint32_t gap = a < b ? b - a : a - b;

		sum += t->ring[i] && gap > t->size[i] - gap ? t->size[i] - gap : gap;
	}
	return sum;
}
