/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * product.h - fabrics that are Cartesian products: tori, meshes, hypercubes, HyperX, and mixtures;
 * damaged ones too.
 *
 * The switch graph of such a fabric is a product of rings, paths and cliques, one factor per
 * dimension. They are recognised from the bare graph, whatever its GUIDs, ports and cabling order:
 * two cables at a switch belong to the same dimension unless they span a square (Feder 1992; Imrich
 * and Klavzar, Product Graphs). Switches and cables may be missing. Taking something out makes no
 * new squares, so opposite sides of a square still run along the same dimension. In cliques of 4 or
 * more no cable may be missing.
 *
 * Nothing is believed that is not checked at the end: every cable joins neighbours, no place is
 * taken twice, and at least three quarters of all places and cables are there.
 *
 * A ring of four is the product of two single cables and is reported as two dimensions of 2; one of
 * three is a clique. Rings come first among the dimensions, then lines, then cliques, each larger
 * ones first. Parallel cables count once. Switches of a component that is not the largest have no
 * place.
 */
#ifndef OSMROUTES_PRODUCT_H
#define OSMROUTES_PRODUCT_H

#include <osmroutes/fabric.h>

#define OSR_MAX_DIMS 15
#define OSR_NO_PLACE UINT16_MAX /* in the first dimension of a switch without coordinates */

enum osr_factor {
	OSR_FACTOR_CLIQUE, /* also a single cable: size 2 */
	OSR_FACTOR_PATH,   /* of 3 or more */
	OSR_FACTOR_RING,   /* of 5 or more */
};

struct osr_product {
	const struct osr_fabric *fabric;
	uint32_t n_dims, n_rings;
	uint32_t size[OSR_MAX_DIMS];
	enum osr_factor factor[OSR_MAX_DIMS];
	uint32_t n_places;     /* product of the sizes */
	uint32_t n_placed;     /* switches with a place */
	uint32_t n_dead_links; /* between places that are taken */
	uint16_t *coord; /* [n_switches * n_dims]; along rings and paths, neighbours differ by 1 */
	uint8_t *chan_dim; /* [n_channels] */
};

/*
 * OSR_NOT_APPLICABLE, with the reason, for everything else; quick to say so. All lives in
 * `scratch`. O(channels * degree) for each switch of the longest row, and as many bytes.
 */
enum osr_status osr_product_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
				 struct osr_product *product, struct osr_diag *diag);

static inline bool osr_product_is_whole(const struct osr_product *product)
{
	osr_invariant(product->n_placed <= product->n_places);
	return product->n_places == product->fabric->n_switches && !product->n_dead_links &&
	       product->n_placed == product->n_places;
}

static inline const uint16_t *osr_product_coord(const struct osr_product *product, uint32_t sw)
{
	osr_invariant(sw < product->fabric->n_switches);
	return product->coord + (size_t)sw * product->n_dims;
}

#endif
