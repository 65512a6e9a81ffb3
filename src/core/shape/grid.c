/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/grid.h>

#include <osmroutes/each.h>

/* Around a ring of 4, which is two lines of 2. */
static uint16_t place_around(uint16_t a, uint16_t b)
{
	return a ? (uint16_t)(3 - b) : b;
}

/* The dimensions of a product, and the lines of 2 among them in pairs: pair[i] or OSR_NONE. */
static enum osr_status grid_dims(const struct osr_product *product, struct osr_grid *grid,
				 uint32_t *first, uint32_t *second, struct osr_diag *diag)
{
	uint32_t line = OSR_NONE; /* of 2, without its pair */

	for (uint32_t i = 0; i < product->n_dims; i++) {
		bool clique = product->factor[i] == OSR_FACTOR_CLIQUE;
		uint32_t k = grid->n_dims;

		if (clique && product->size[i] > 3)
			return osr_fail(diag, OSR_NOT_APPLICABLE,
					"not a torus or mesh: a dimension is a full mesh of %u",
					product->size[i]);
		if (product->size[i] == 2 && line != OSR_NONE) {
			second[line] = i;
			grid->size[line] = 4;
			grid->ring[line] = true;
			line = OSR_NONE;
			continue;
		}
		if (product->size[i] == 2)
			line = k;
		first[k] = i;
		second[k] = OSR_NONE;
		grid->size[k] = product->size[i];
		grid->ring[k] = product->factor[i] == OSR_FACTOR_RING || product->size[i] == 3;
		if (product->factor[i] == OSR_FACTOR_PATH)
			grid->ring[k] = false;
		grid->n_dims++;
	}
	grid->n_dirs = 2 * grid->n_dims;
	return OSR_OK;
}

static uint8_t grid_dir(const struct osr_grid *grid, const uint16_t *from, const uint16_t *to)
{
	uint32_t i = 0;

	while (i + 1 < grid->n_dims && from[i] == to[i])
		i++;
	/* A line of 2 has one step up; in a ring of 3 and more 0 comes after the last place. */
	if (grid->ring[i] ? (from[i] + 1u) % grid->size[i] == to[i] : to[i] > from[i])
		return (uint8_t)i;
	return (uint8_t)(i + grid->n_dims);
}

enum osr_status osr_grid_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
			      struct osr_grid *grid, struct osr_diag *diag)
{
	uint32_t first[OSR_MAX_DIMS], second[OSR_MAX_DIMS];
	struct osr_product product;
	enum osr_status st = osr_product_find(fabric, scratch, &product, diag);

	*grid = (struct osr_grid){ .n_dims = 0 };
	if (!st && product.n_placed != fabric->n_switches)
		st = osr_fail(diag, OSR_NOT_APPLICABLE,
			      "not a torus or mesh: %u of %u switches are beside it",
			      fabric->n_switches - product.n_placed, fabric->n_switches);
	if (!st)
		st = grid_dims(&product, grid, first, second, diag);
	if (st)
		return st;
	grid->at = osr_alloc(scratch, (size_t)fabric->n_switches * grid->n_dims, sizeof(*grid->at));
	grid->dir = osr_alloc(scratch, fabric->n_channels, 1);
	if (osr_arena_failed(scratch, diag))
		return osr_fail(diag, OSR_NOMEM, "out of memory for a grid");
	OSR_EACH_SWITCH(v, fabric) {
		const uint16_t *coord = osr_product_coord(&product, v);

		for (uint32_t k = 0; k < grid->n_dims; k++)
			grid->at[(size_t)v * grid->n_dims + k] =
				second[k] == OSR_NONE
					? coord[first[k]]
					: place_around(coord[first[k]], coord[second[k]]);
	}
	OSR_EVERY_CHANNEL(c, fabric)
		grid->dir[c] = grid_dir(grid, grid->at + (size_t)fabric->chan_src[c] * grid->n_dims,
					grid->at + (size_t)fabric->chan_dst[c] * grid->n_dims);
	return OSR_OK;
}

/* Are these steps in order, and of each dimension in one direction? */
static bool in_order(const struct osr_grid *grid, const uint8_t *dir, uint32_t n)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < n; i++) {
		if ((i && dir[i] < dir[i - 1]) || (used >> osr_grid_back(grid, dir[i]) & 1))
			return false;
		used |= 1u << dir[i];
	}
	return true;
}

enum osr_grid_rule osr_grid_judge(const struct osr_grid *grid, const uint8_t *dir, uint32_t n)
{
	bool first = n > 1 && dir[0]<grid->n_dims, last = n> 1 && dir[n - 1] >= grid->n_dims;

	if (in_order(grid, dir, n))
		return OSR_GRID_IN_ORDER;
	if (first && in_order(grid, dir + 1, n - 1))
		return OSR_GRID_FIRST_STEP;
	if (last && in_order(grid, dir, n - 1))
		return OSR_GRID_LAST_STEP;
	return n > 2 && first && last && in_order(grid, dir + 1, n - 2) ? OSR_GRID_BOTH_STEPS
									: OSR_GRID_AGAINST;
}
