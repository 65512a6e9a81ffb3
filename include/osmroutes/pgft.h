/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pgft.h - fat trees: recognises parallel-ports generalised fat trees (PGFT), whole or broken, from
 * the bare graph.
 *
 * Source: Zahavi, Fat-Trees Routing and Node Ordering Providing Contention Free Traffic for MPI
 * Global Collectives, section IV; the broken ones follow Gliksberg et al., High-Quality Fault
 * Resiliency in Fat Trees (IEEE Micro 2020).
 *
 * A PGFT(h; m_1..m_h; w_1..w_h; p_1..p_h) has end ports on level 0 and switches on levels 1 (the
 * leaves) to h. A node of level l has m_l different children, a node of level l-1 has w_l different
 * parents, and p_l parallel cables join each two. XGFTs have all p_l = 1; k-ary n-trees m_l = k and
 * w_l = k but w_1 = 1; real life fat trees (RLFT) keep m_l p_l = w_(l+1) p_(l+1). An end port of
 * InfiniBand hangs on one switch by one cable, so w_1 = p_1 = 1 here.
 *
 * A node of level l is found by digits, A = (a_h .. a_(l+1)) and B = (b_l .. b_1), each read as one
 * mixed-radix number with the lower index varying faster:
 *	A = a_(l+1) + a_(l+2) m_(l+1) + ...	which sub-tree; 0 on level h
 *	B = b_1 + b_2 w_1 + b_3 w_1 w_2 + ...	which of its tops; 0 on level 1
 * An end port's index is slot + m_1 A(its leaf), and floor(index / (m_1 .. m_l)) is the A of its
 * ancestors on level l; the j of equation (1) is its number, which is the index where no host is
 * missing. The up-ports of a switch of level l are numbered q = b_(l+1) + k w_(l+1)
 * for the k-th cable (k < p_(l+1)) to its parent b_(l+1), whatever ports they really use.
 *
 * How: the distance from the switches with hosts gives the levels. Switches that are connected
 * within levels 1..l share the digits a_h .. a_(l+1); switches that are connected within levels
 * l..h share b_l .. b_1. Digits are numbered by node GUID, unless a memory has the previous digits;
 * cables, ports, LIDs and the order of discovery do not matter. A part that lacks links falls into
 * more pieces; pieces that fit into each other's holes are one part.
 *
 * Also recognised, because fabrics have them:
 *	- end ports on upper switches (gateways, subnet managers, aggregation CAs on every switch):
 *	  they are *service* ports without an index;
 *	- leaves with more or fewer hosts than m_1, the most common number;
 *	- upper switches that stand for several (quasi fat trees: a core cabled to several spines of
 *	  each sub-tree has several places);
 *	- more cables between two switches than p_l: *spares*;
 *	- switches that hang on the tree by one neighbour only: *outside*, as are lone switches;
 *	- several trees, one for each component (planes).
 * Not a tree, and refused: cables between switches of one level, or too many links missing.
 */
#ifndef OSMROUTES_PGFT_H
#define OSMROUTES_PGFT_H

#include <osmroutes/fabric.h>

#define OSR_PGFT_MAX_LEVELS 15

/*
 * The shift over hosts by their ranks, as equation (1) routes it where no link is missing. Sums over
 * the stages; counted are cables between switches.
 */
struct osr_pgft_shift {
	uint32_t n_stages;
	uint64_t load;  /* flows on the busiest cable, 1 at least (hot spot degree) */
	uint64_t least; /* the same, of what no routing can go below */
	uint64_t over;  /* cables with more flows than that */
	uint64_t steps; /* of counting */
};

/* Arrays by level have an entry for 0, so that indices are the paper's. */
struct osr_pgft_tree {
	uint32_t h;
	uint32_t m[OSR_PGFT_MAX_LEVELS + 1];
	uint32_t w[OSR_PGFT_MAX_LEVELS + 1];
	uint32_t p[OSR_PGFT_MAX_LEVELS + 1];
	uint32_t m_product[OSR_PGFT_MAX_LEVELS + 1]; /* m_1 .. m_l, 1 for l = 0 */
	uint32_t w_product[OSR_PGFT_MAX_LEVELS + 1]; /* w_1 .. w_l, 1 for l = 0 */
	uint32_t recalled;                           /* which tree of the memory it is */
	uint32_t n_switches;                         /* placed */
	uint32_t n_hosts;   /* end ports on leaves, service ports not counted */
	uint32_t n_service; /* end ports elsewhere, or on the port every switch has a CA on */
	uint32_t n_outside; /* switches of the component without a place */
	uint32_t n_links;   /* cables between placed switches */
	uint32_t n_spares;
	uint32_t n_missing_links;    /* between two places that are taken */
	uint32_t n_missing_switches; /* places above level 1 that a child has no parent at */
	/*
	 * The switch at place (A, B) of level l, or OSR_NONE: place[l][A w_product[l] + B].
	 * [m_h .. m_(l+1) w_product[l]]
	 */
	uint32_t *place[OSR_PGFT_MAX_LEVELS + 1];
	bool merged; /* some switches have several places */
	/* by osr_pgft_number(), of hosts of one group after the other; 0: one flow everywhere */
	struct osr_pgft_shift shift;
};

struct osr_pgft {
	const struct osr_fabric *fabric;
	const struct osr_pgft_memory *recalled; /* whose digits these are; NULL: by GUID */
	uint32_t n_trees;
	/* [n_trees] by component; components without a host have none */
	struct osr_pgft_tree *tree;

	/* [n_switches] */
	uint32_t *sw_tree;  /* OSR_NONE: outside */
	uint8_t *sw_level;  /* 1..h; 0: outside */
	uint32_t *sw_a;     /* A */
	uint32_t *sw_b;     /* B; of a switch with several places the lowest */
	uint32_t *sw_hosts; /* CAs and routers on it, service ports not counted */

	/*
	 * Up-ports: up[up_row[s] + q] is the channel, or OSR_NONE where a link is missing, for
	 * q < w_(l+1) p_(l+1). Spare cables have none.
	 */
	uint32_t *up_row; /* [n_switches + 1] */
	uint32_t *up;

	/*
	 * [n_terminals] the index j within its tree, OSR_NONE for service ports, switches' own
	 * ports and end ports outside. Of more than m_1 hosts on one leaf the last share indices.
	 */
	uint32_t *term_index;
	uint32_t *term_number; /* [n_terminals] by osr_pgft_number(); OSR_NONE where the index is */
	/* Hosts in routing order: by tree, then by leaf, then by port. [n_order] terminals. */
	uint32_t *order;
	uint32_t n_order;
};

struct osr_notes;

/*
 * The digits of previous sweeps. When a switch fails, returns or is replaced, all other switches
 * keep their digits. If all cables fit, each tree keeps m, w and p, each switch its place and each
 * host its slot; new switches and hosts take free ones. Otherwise digits are assigned by GUID
 * again. A switch that is missing keeps its place, and its links do not count as missing.
 */
struct osr_pgft_memory {
	uint32_t n_trees, n_rows;
	const struct osr_pgft_tree *tree; /* [n_trees] h, m, w and p */
	/*
	 * A switch, port 0, and level 0 if it is outside; or the slot b of a port of the leaf with
	 * this GUID, and in a its number + 1, or 0: it has none.
	 */
	const struct osr_pgft_known {
		uint64_t guid;
		uint16_t port, level;
		uint32_t tree, a, b;
	} * row; /* [n_rows] by GUID, the switch first, then ports */
};

struct osr_pgft_options {
	uint32_t max_missing; /* percent of the links that may be missing; see memory */
	const struct osr_pgft_memory *memory; /* NULL: digits by GUID alone */
};

/*
 * OSR_NOT_APPLICABLE with one sentence that names the switch or cable in the way, if the fabric is
 * not a tree or has no host. Everything lives in `scratch`. Time O(channels * levels) and, for
 * each switch above level 2, the square of its degree.
 */
enum osr_status osr_pgft_find(const struct osr_fabric *fabric, const struct osr_pgft_options *opt,
			      struct osr_arena *scratch, struct osr_pgft *pgft,
			      struct osr_diag *diag);

/*
 * Numbers of the hosts, for equation (1): those of the memory, or the ones of place, rank and
 * stretched rank by which shifts load their links least. Ranks are of the hosts of one group
 * (osr_fabric.term_group), and follow the tree. Hosts that are new count by their place, unless that
 * is worse than new numbers for all. Everything lives in `scratch`. Time O(hosts * sub-trees) a
 * trial.
 */
enum osr_status osr_pgft_number(struct osr_pgft *pgft, struct osr_arena *scratch,
				struct osr_diag *diag);
/* What these numbers are worth: [n] hosts of one tree, whose places rise. */
enum osr_status osr_pgft_shift(const struct osr_pgft_tree *tree, const uint32_t *place,
			       const uint32_t *number, uint32_t n, struct osr_arena *scratch,
			       struct osr_pgft_shift *shift, struct osr_diag *diag);

/* The digits of pgft, and the digits it recalled, for the next sweep, as bytes in `arena`. */
enum osr_status osr_pgft_remember(const struct osr_pgft *pgft, struct osr_arena *arena,
				  struct osr_notes *notes, struct osr_diag *diag);
/* The digits in such bytes, in place. False: the bytes are not digits of osr_pgft_remember(). */
bool osr_pgft_memory_read(const struct osr_notes *notes, struct osr_pgft_memory *memory);

/*
 * One sentence without a full stop: "PGFT(3; 18,18,6; 1,18,6; 1,1,3), 1944 of 1944 hosts, 3 links
 * missing". Cut off at size.
 */
void osr_pgft_describe(const struct osr_pgft *pgft, char *buf, size_t size);

/* The up-ports of a switch: w_(l+1) p_(l+1), 0 on the top level and outside. */
static inline uint32_t osr_pgft_n_up(const struct osr_pgft *pgft, uint32_t sw)
{
	osr_invariant(sw < pgft->fabric->n_switches);
	return pgft->up_row[sw + 1] - pgft->up_row[sw];
}

#endif
