/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* planes_private.h - what several LIDs a port may have, to be chosen from (choose.c). */
#ifndef OSR_PLANES_PRIVATE_H
#define OSR_PLANES_PRIVATE_H

#include <osmroutes/engine.h>
#include <osmroutes/planes.h>
#include <osmroutes/routing.h>

/* Everything that a renaming is made of. */
struct planes_in {
	const struct osr_fabric *fabric;  /* with all LIDs */
	const struct osr_fabric *first;   /* with the first ones alone, */
	const struct osr_routing *plane0; /* and their tables */
	struct osr_planes mates;          /* those repeated, until mates have been asked for */
	bool has_mates;
	const struct osr_request *request;
	struct osr_arena *scratch;
};

/* Tables that a renaming offers, for osr_planes_expand(). */
struct planes_offer {
	struct osr_routing first; /* plane 0, with another certificate or more lanes, if need be */
	struct osr_planes planes;
	struct osr_routing own; /* rows of LIDs with trees of their own; lft NULL: there are none */
	bool whole;             /* a fat tree, of which each plane is an automorphic image */
};

/* Mates, the first time. */
enum osr_status osr_planes_find_mates(struct planes_in *in, struct osr_diag *diag);
/* Planes of this kind, with room for rows of their own; as yet there are none. */
enum osr_status osr_planes_offer(const struct planes_in *in, enum osr_plane kind,
				 struct planes_offer *offer, struct osr_diag *diag);
/* The LID has this row: the tree of an end port of the same switch, or its own. */
void osr_planes_own(const struct planes_in *in, uint32_t lid, const uint8_t *row,
		    struct planes_offer *offer);
/*
 * The LID of plane k of the port that has the first LID d, or OSR_NONE: there is none, or it is no
 * host's.
 */
uint32_t osr_planes_lid(const struct planes_in *in, uint32_t d, uint32_t k);
/* The row of the tree that a LID has in the plane of mates. */
const uint8_t *osr_planes_mate(const struct planes_in *in, uint32_t lid);

/* places.c: fat trees in which switches above the leaves change places; see there. */
struct planes_places {
	const uint8_t *level; /* [n_switches] 1: leaves; 0: outside */
	uint32_t n;           /* planes that differ by places: plane k has those of plane k % n */
	uint32_t *to; /* [n * n_switches] whose place a switch takes; OSR_NONE: nobody is there */
	/* [n * n_channels] the channel in the place; OSR_NONE: there is no such cable */
	uint32_t *image;
};
/* `round`: in pairs around the tree, else in blocks. */
enum osr_status osr_planes_places(const struct planes_in *in, bool round,
				  struct planes_places *places, struct osr_diag *why);

/*
 * grow.c: trees of their own, from their images by these places, or NULL.
 */
enum osr_status osr_planes_grow(const struct planes_in *in, const struct planes_places *places,
				struct planes_offer *offer, struct osr_diag *why);

/*
 * What there is to choose from. OSR_NOT_APPLICABLE, with the reason, or "" where nobody would expect
 * it: it cannot serve this fabric, or this plane 0.
 */
enum osr_status osr_planes_exchange(struct planes_in *in, struct planes_offer *offer,
				    struct osr_diag *why);
enum osr_status osr_planes_exchange_round(struct planes_in *in, struct planes_offer *offer,
					  struct osr_diag *why);
enum osr_status osr_planes_ways(struct planes_in *in, struct planes_offer *offer,
				struct osr_diag *why);
enum osr_status osr_planes_reverse(struct planes_in *in, struct planes_offer *offer,
				   struct osr_diag *why);

#endif
