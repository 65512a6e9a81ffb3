/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * product_private.h - the search for a product, in two files:
 *
 *	product_ways.c	the edges, each seen from both of its ends, directions of dimensions
 *	product.c	coordinates and places from these directions, and the check of all of it
 */
#ifndef OSR_PRODUCT_PRIVATE_H
#define OSR_PRODUCT_PRIVATE_H

#include <osmroutes/each.h>
#include <osmroutes/product.h>
#include <osmroutes/set.h>

#define NO_DIM 255

struct finder {
	const struct osr_fabric *fabric;
	struct osr_product *product;
	struct osr_arena *scratch;
	struct osr_diag *diag;
	/*
	 * Edges of v are row[v] .. row[v + 1] - 1, to near[]; parallel cables once. back: the same
	 * from the other end.
	 */
	uint32_t *row, *near, *from, *back, n_edges;
	/* [n_edges] disjoint sets: edges that go the same way, by squares and triangles */
	uint32_t *way;
	/* [n_edges * most] edges of the same switch with which it has a square or triangle */
	bool *knit;
	uint32_t most;   /* edges of a switch */
	uint32_t *code;  /* [n_edges] of each such set the direction, see way_of() */
	uint8_t *dim;    /* [n_edges] NO_DIM: not known */
	int32_t *label;  /* [n_switches * n_dims] */
	uint32_t *queue; /* [n_switches] */
	uint32_t *seen;  /* [n_switches] */
	uint32_t *owner; /* [n_places] the switch there, or OSR_NONE */
};

/* Every edge e of switch v, and every edge of the fabric. */
#define EACH_EDGE(e, finder, v) for (uint32_t e = (finder)->row[v]; e < (finder)->row[(v) + 1]; e++)
#define EVERY_EDGE(e, finder) for (uint32_t e = 0; e < (finder)->n_edges; e++)

/*
 * The direction of an edge: 2 k and 2 k + 1 belong to dimension k, 2 k alone to a clique; NO_DIM:
 * unknown.
 */
static inline uint32_t way_of(const struct finder *finder, uint32_t e)
{
	return finder->code[osr_set_of(finder->way, e)];
}

/* Have e and g, edges of the same switch, a square or triangle? */
static inline bool *knit_of(const struct finder *finder, uint32_t e, uint32_t g)
{
	osr_invariant(finder->from[e] == finder->from[g]);
	return &finder->knit[(size_t)e * finder->most + g - finder->row[finder->from[e]]];
}

static inline bool are_adjacent(const struct finder *finder, uint32_t v, uint32_t u)
{
	EACH_EDGE(e, finder, v)
		if (finder->near[e] == u)
			return true;
	return false;
}

/* OSR_NOT_APPLICABLE, with this reason. */
static inline enum osr_status product_refuse(struct finder *finder, const char *why)
{
	return osr_fail(finder->diag, OSR_NOT_APPLICABLE, "not a torus, mesh or HyperX: %s", why);
}

/* The edges, and which of them go the same way. */
enum osr_status osr_product_edges(struct finder *finder);

/*
 * The dimensions, and of each edge the dimension. If `bold`, edges that no square tells anything
 * about go straight on where they can do so in one way only. root: a switch with edges in all
 * directions.
 */
enum osr_status osr_product_ways(struct finder *finder, uint32_t root, bool bold);

#endif
