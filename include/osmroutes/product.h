/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * product.h - fabrics that are Cartesian products: tori, meshes, hypercubes, HyperX, and mixtures.
 *
 * The switch graph of such a fabric is a product of rings, paths and cliques, one factor per
 * dimension. They are recognised from the bare graph, whatever its GUIDs, ports and cabling order:
 * two cables at a switch belong to the same dimension unless they span a square (Feder 1992;
 * Imrich and Klavzar, Product Graphs). A ring of four is the product of two single cables and is
 * reported as two dimensions of 2. Rings come first among the dimensions, then lines, then
 * cliques, each larger ones first.
 *
 * Dimension-order routing on them is minimal, balanced when hosts are, and needs virtual lanes
 * only for rings. How many: a layer may cut each ring at one switch, where no packet passes
 * through. A shortest way around a ring of n passes through fewer than n/2 switches, so a few
 * well-spaced cuts leave a layer for every route (osr_product_plan).
 */
#ifndef OSMROUTES_PRODUCT_H
#define OSMROUTES_PRODUCT_H

#include <osmroutes/fabric.h>

#define OSR_MAX_DIMS 15

enum osr_factor {
	OSR_FACTOR_CLIQUE, /* also a single cable: size 2 */
	OSR_FACTOR_PATH,   /* of 3 or more */
	OSR_FACTOR_RING,   /* of 5 or more */
};

struct osr_product {
	const struct osr_fabric *f;
	uint32_t n_dims, n_rings;
	uint32_t size[OSR_MAX_DIMS];
	enum osr_factor factor[OSR_MAX_DIMS];
	uint16_t *coord; /* [n_switches * n_dims]; along rings and paths, neighbours differ by 1 */
	uint8_t *chan_dim; /* [n_channels] */
	/*
	 * The channels of switch v that lead to coordinate x of dimension i, as hops:
	 * hop_list[chan_row[v] + k] for k from hop_row[v * (n_slots + 1) + slot[i] + x] up to the
	 * next entry.
	 */
	uint32_t slot[OSR_MAX_DIMS], n_slots;
	uint16_t *hop_row;
	uint8_t *hop_list;
};

/*
 * OSR_NOT_APPLICABLE, with the reason, for everything else; quick to say so. O(channels * degree).
 */
enum osr_status osr_product_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
				 struct osr_product *product, struct osr_diag *diag);

/* Where the layers cut the rings, and which way opposite switches of a ring take. */
struct osr_product_plan {
	uint32_t n_layers;
	bool symmetric; /* a route and its reply pass through the same switches */
	/* [layer][dim][0: rising, 1: falling coordinate] the switch nothing passes through */
	uint16_t cut[16][OSR_MAX_DIMS][2];
};

/*
 * Two cuts per ring in all combinations: 2^rings layers, symmetric; false if there are more than
 * max.
 */
bool osr_product_plan_pairs(const struct osr_product *product, uint32_t max_layers,
			    struct osr_product_plan *plan);

/*
 * n_layers cuts per ring, evenly spaced. Staggered: falling routes are cut half-way between the
 * cuts of rising ones; then four layers leave a way for every shortest route in up to three rings
 * of 8. Otherwise both directions are cut at the same switches, and osr_product_tree() suits them.
 */
void osr_product_plan_spaced(const struct osr_product *product, uint32_t n_layers, bool staggered,
			     struct osr_product_plan *plan);

/*
 * Dimension-order hops from every switch to dest d: minimal. hop[n_switches]; the own switch is
 * not set.
 */
void osr_dor(const struct osr_product *product, const struct osr_product_plan *plan, uint32_t d,
	     uint8_t *hop);

/* rank[n_channels]: the order of layer k, by dimension, then from its cut onwards. */
void osr_product_order(const struct osr_product *product, const struct osr_product_plan *plan,
		       uint32_t k, uint32_t *rank);

/*
 * A spanning tree (parent channel per switch) whose multicast turns fit the routes of layer k: its
 * root lies opposite the cuts of the rings and in the middle of lines.
 */
void osr_product_tree(const struct osr_product *product, const struct osr_product_plan *plan,
		      uint32_t k, uint32_t *parent);

#endif
