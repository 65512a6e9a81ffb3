/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * planes.h - several LIDs a port (LMC): the LIDs base + k of all ports are plane k.
 *
 * Engines and repairs route one LID a port, the first: plane 0. Planes 1 and up are made of plane
 * 0: by a renaming, or with routes that are as long. After a full route the first LIDs have the
 * tables of LMC 0, row for row. After a repair they have tables as good, but perhaps other ones. A repair
 * that has to balance sends few blocks of 64 LIDs, and the LMC decides which LIDs share a block. A
 * repair also keeps clear of the turns of reverse planes.
 *
 * A *tree* is the row of a LID in struct osr_routing: the entries of all switches, and the SLs on
 * the way. Plane k gives a port the tree of
 *	repeat		its own first LID
 *	mates		the first LID of another end port of the same switch: the last hop differs
 *	exchange	its own first LID, after switches above the leaves have changed places
 *	reverse		its own first LID, with the dimensions of a product in the reverse order
 *	ways		no first LID: routes as long as to its own first LID, which share few
 *			channels with the routes to other LIDs of the port
 * The first two copy rows of plane 0. In a plane of mates the end ports of a switch are permuted,
 * so the set of trees to this switch is the same. Each channel then carries as many routes as in
 * plane 0, no turn is new, and all claims of plane 0 hold. The others make rows of their own;
 * reverse takes a second or third lane. docs/theory.md has the proofs.
 *
 * Between sweeps tables keep in `tree_of` whose tree each LID has. Repairs change plane 0 alone,
 * and carry tree_of into the current fabric. If the first LID of a tree is gone, the other LIDs
 * with this tree keep it as their own row.
 */
#ifndef OSMROUTES_PLANES_H
#define OSMROUTES_PLANES_H

#include <osmroutes/fabric.h>

#define OSR_MAX_PLANES 128 /* LMC 7 */

struct osr_request;
struct osr_routing;
struct osr_result;

enum osr_plane {
	OSR_PLANE_REPEAT,
	OSR_PLANE_MATES,
	OSR_PLANE_EXCHANGE,
	OSR_PLANE_REVERSE,
	OSR_PLANE_WAYS,
};

/*
 * Belongs to tables (osr_routing.planes) and lives as long. All zero: one LID a port, or tables
 * from elsewhere.
 */
struct osr_planes {
	uint32_t n;    /* planes, 2^(largest LMC); 0: not known */
	uint8_t *kind; /* [n] enum osr_plane; of plane 0 it says nothing */
	/*
	 * [n_dests] the first LID, as a dest of an end port of the same switch, whose tree this LID
	 * has; the LID itself: a row of its own. First LIDs have their own, so tree_of[tree_of[d]]
	 * == tree_of[d].
	 */
	uint32_t *tree_of;
};

/* Which plane the LID belongs to: its number beyond the first LID of its port. */
static inline uint32_t osr_plane_of(const struct osr_fabric *fabric, uint32_t d)
{
	osr_invariant(d < fabric->n_dests);
	return fabric->dest_lid[d] - (uint32_t)fabric->term_lid[fabric->dest_term[d]];
}

/* The first LID of the port that has LID d. */
static inline uint32_t osr_first_dest(const struct osr_fabric *fabric, uint32_t d)
{
	osr_invariant(d < fabric->n_dests);
	osr_invariant(fabric->lid_dest[fabric->term_lid[fabric->dest_term[d]]] <= d);
	return fabric->lid_dest[fabric->term_lid[fabric->dest_term[d]]];
}

/* Planes of this fabric; 1: one LID a port. O(terminals). */
uint32_t osr_planes_count(const struct osr_fabric *fabric);

/*
 * The same fabric with the first LID of each port alone, which engines and repairs route.
 * Terminals, switches and channels keep their numbers; the dest of a LID is first->lid_dest[LID].
 * New arrays lie in `arena`; other arrays are shared with `fabric`. O(terminals + LIDs).
 */
enum osr_status osr_planes_first_fabric(const struct osr_fabric *fabric, struct osr_arena *arena,
					struct osr_fabric *first, struct osr_diag *diag);

/*
 * A result on that fabric: rows of the first LIDs, all else as it is; without a baseline. Without
 * several LIDs it is *result itself. O(terminals * switches).
 */
enum osr_status osr_planes_first_result(const struct osr_result *result, struct osr_arena *arena,
					struct osr_result *first, struct osr_diag *diag);

/* Every plane repeats plane 0. Arrays in `arena`. O(LIDs). */
enum osr_status osr_planes_repeat(const struct osr_fabric *fabric, struct osr_arena *arena,
				  struct osr_planes *planes, struct osr_diag *diag);

/*
 * Makes every plane of *planes beyond plane 0 a plane of mates; osr_planes_repeat() comes first.
 *
 * The CAs and routers of a switch with the same number of LIDs are put into blocks. The size of a
 * block is a power of two, up to the number of LIDs. In a block of n, plane k of the i-th end port
 * is the tree of the (i xor (k mod n))-th. Because of xor, planes 0 and 1 do not depend on the LMC.
 * Blocks are chosen so that the same channels stand for one another in all of them (mates.c). An
 * end port without a mate repeats its first LID, as port 0 of switches does. `routing`: tables of
 * first_fabric. O(LIDs * end ports of a switch * hops), a constant of 16 to 32.
 */
enum osr_status osr_planes_mates(const struct osr_fabric *fabric,
				 const struct osr_fabric *first_fabric,
				 const struct osr_routing *routing, struct osr_arena *scratch,
				 struct osr_planes *planes, struct osr_diag *diag);

/*
 * The certificate of expanded tables on one lane in which some LIDs have rows of their own. Those
 * whose turns close a cycle with the others repeat the first LID instead. Channels begin in the
 * order of keys[n_channels]. O(LIDs * switches).
 */
enum osr_status osr_planes_certify(const struct osr_fabric *fabric, const uint32_t *keys,
				   struct osr_routing *routing, struct osr_arena *scratch,
				   struct osr_diag *diag);

/*
 * Tables of all LIDs from the tables of the first ones, plane0, for a full route: the planes that
 * give flows split evenly over all LIDs the most bandwidth. In `arena`.
 */
enum osr_status osr_planes_choose(const struct osr_fabric *fabric, const struct osr_fabric *first,
				  const struct osr_routing *plane0,
				  const struct osr_request *request, struct osr_arena *scratch,
				  struct osr_arena *arena, struct osr_routing *routing,
				  struct osr_diag *diag);

/*
 * Mends rows of their own that were carried from the previous fabric. Where such a row no longer
 * leads to the LID, packets take the route of the first LID if there is one lane; with more lanes
 * the LID repeats its first LID. *own: tables of `fabric`. O(LIDs * switches).
 */
enum osr_status osr_planes_mend(const struct osr_fabric *fabric,
				const struct osr_fabric *first_fabric,
				const struct osr_routing *first_routing, struct osr_planes *planes,
				struct osr_routing *own, struct osr_arena *scratch,
				struct osr_diag *diag);

/*
 * Tables of all LIDs of `fabric` from tables of the first ones: rows (lft, sl, granted) by
 * planes->tree_of, in `arena` as is the copy of *planes, with the entry of the LID's own switch
 * set; all else is first_routing's. A LID beyond the first with a row of its own has it from *own,
 * tables of `fabric` in which that row leads to the LID; where own is NULL, it repeats its first
 * one from now on. O(LIDs * switches).
 */
enum osr_status osr_planes_expand(const struct osr_fabric *fabric,
				  const struct osr_fabric *first_fabric,
				  const struct osr_routing *first_routing,
				  const struct osr_planes *planes, const struct osr_routing *own,
				  struct osr_arena *arena, struct osr_routing *routing,
				  struct osr_diag *diag);

#endif
