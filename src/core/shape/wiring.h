/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wiring.h - cables that are not where the plan wants them. The plan is found from the bare graph: the whole
 * fat tree, HyperX, dragonfly, torus or mesh, in this order, that differs from it by few cables.
 *
 * How, for each kind: what is locally odd (a cable that closes no square in a grid, no triangle in a line of a
 * HyperX or a group of a dragonfly; a switch that shares few parents with the others of its sub-tree) is left
 * aside, the rest says where every switch belongs, and then every place says which cables it wants. Between two
 * levels of a PGFT the cables of a plan form separate complete bipartite graphs; that is all that is used of it.
 *
 * A plan is believed only if all it wants differs from what is there in a tenth of the cables at most, and, but
 * for trees, is recognised as whole by product.h or grid.h. Of hosts only rails are looked at.
 *
 * Where several sets of changes mend a fabric (two cables of a switch with two parents), one of them is given.
 */
#ifndef OSMROUTES_WIRING_H
#define OSMROUTES_WIRING_H

#include <osmroutes/fabric.h>

enum osr_wiring_kind {
	OSR_WIRING_MISSING, /* no cable joins a and b */
	OSR_WIRING_EXTRA,   /* the cable c joins what need not be joined */
	OSR_WIRING_MOVED,   /* the far end of c belongs at b */
	OSR_WIRING_SWAPPED, /* the far ends of c and d belong where the other one is */
};

struct osr_wiring_fault {
	enum osr_wiring_kind kind;
	uint32_t a, b; /* switches: MISSING, MOVED (a is the near end of c) */
	uint32_t c, d; /* channels, from the near to the far end */
};

/* A port of a host with several is not on the leaf where those of its rail are. */
struct osr_rail_fault {
	uint32_t term;
	uint32_t
		other; /* end port that is where this one belongs, and belongs where this one is; or OSR_NONE */
	uint32_t to; /* switch where it belongs */
};

struct osr_wiring {
	char plan[160];    /* "HyperX 12x8"; of rings of 4 "torus 4x4 (or 2x2x2x2)" */
	uint32_t n_cables; /* between switches, that are there */
	uint32_t n_faults;
	struct osr_wiring_fault *fault; /* [n_faults] swapped first, then moved, missing, extra */

	uint32_t n_rails,
		n_rail_hosts; /* 0: hosts have no rails; ports of a host, hosts with several */
	uint32_t n_rail_faults;
	struct osr_rail_fault *rail_fault; /* [n_rail_faults] */
};

/*
 * OSR_NOT_APPLICABLE with the reason if no plan fits. Arrays live in `result`. O(cables * degree^2), for trees
 * O(cables * ports of a switch).
 */
enum osr_status osr_wiring_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
				struct osr_arena *result, struct osr_wiring *wiring,
				struct osr_diag *diag);

/*
 * The rails of hosts, added to *wiring, if there are any: ports of one name before the first space are of one host,
 * what follows says which rail. O(ports * hosts of a leaf * ports of a host).
 */
enum osr_status osr_wiring_rails(const struct osr_fabric *fabric, struct osr_arena *scratch,
				 struct osr_arena *result, struct osr_wiring *wiring,
				 struct osr_diag *diag);

#endif
