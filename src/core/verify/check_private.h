/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check_private.h - the checker, as its files share it. They include check.h and this, nothing that
 * routes.
 *
 *	check.c		the input, distances, threads, the verdict
 *	check_tree.c	walks the entries of one destination: yes or no
 *	check_lanes.c	follows service levels
 *	check_mcast.c	the span of multicast
 *	check_blame.c	after a no, walks again and writes the sentence
 */
#ifndef OSR_CHECK_PRIVATE_H
#define OSR_CHECK_PRIVATE_H

#include <osmroutes/check.h>

#define BATCH 64 /* searches at once: bits of a word */

/* The channel of an entry. */
struct hop {
	uint32_t to;  /* the switch that it leads to; n_switches: none */
	uint32_t key; /* rank of the channel if all VLs share one certificate, else 0 */
};

/* The cable of a port, for following SLs through SL2VL tables. */
struct passage {
	uint32_t to;   /* the switch behind the port; n_switches: none */
	uint32_t pair; /* index of vl_of: the port pair (entry port there, output port 0) */
};

/* Packets that enter the fabric at a switch, on the SLs of one kind, and leave it by one port. */
struct entry {
	uint32_t key; /* the highest key of their VLs; 0: one of the VLs may not be used */
	uint16_t vls;
};

/* The breadth-first searches of up to BATCH switches. */
struct batch {
	uint32_t n;
	uint32_t sw[BATCH];
	uint32_t n_reached[BATCH];     /* switches */
	uint16_t *dist;                /* [BATCH * (n_switches + 1)] */
	uint16_t *order;               /* [BATCH * n_switches] nearest first */
	uint64_t *seen, *front, *next; /* [n_switches] */
	uint32_t *active, *reached;    /* [n_switches] */
};

/* Allocated only if follows_sls(). A kind: SLs that every SL2VL table maps alike. */
struct lanes {
	uint32_t n_kinds;
	uint8_t kind_of[16]; /* by SL */
	uint8_t *vl_of;      /* [n_kinds * n_pairs] SL2VL by kind and pair of ports */
	uint32_t n_pairs;
	struct passage *passage; /* [n_ports] */
	struct entry *entry;     /* [n_ports * n_kinds] */
	uint16_t *mask;          /* [n_switches] SLs of packets that arrive */
	uint32_t *held;  /* [n_switches * n_kinds] the highest key that packets hold; 0: none */
	uint16_t *reply; /* [n_switches^2] reply[a * n_switches + b]: SLs of replies of b to a */
	uint32_t *rank;  /* [n_ports * (n_vls + 1)] keys of the certificate; 0: may not be used */
};

/* A tree with routes that are longer than the shortest; [n_switches] each. */
struct longer {
	uint16_t *order; /* the root first, parents before children */
	uint16_t *depth; /* hops to the root; FAR: not followed yet */
	uint16_t *way;   /* switches of the route that is followed */
};

struct checker {
	const struct osr_fabric *fabric;
	const struct osr_routing *routing;
	struct osr_verdict *verdict;
	struct osr_diag *diag;
	bool shared; /* VL = SL, and any SL is safe: one dependency graph for all VLs */
	bool minimal;
	uint16_t sls; /* SLs, or VLs if there are SL2VL tables, that carry routes */

	/* most ports of a switch + 1; the last column is a port without cable */
	uint32_t n_columns;
	struct hop *port;   /* [n_switches * n_columns] */
	uint32_t *dest_row; /* [n_switches + 1]: the dests of switch s are */
	uint32_t *dest;     /* dest[dest_row[s]] .. dest[dest_row[s + 1] - 1] */
	uint64_t n_sources; /* of all switches */

	struct batch batch;

	/* One tree, and the loads that it adds to. */
	uint16_t *nearer;  /* [n_switches] distance behind a shortest hop; AWAY for the root */
	uint8_t *row;      /* [n_switches] the entries, if some are for ports that no switch has */
	struct hop *hop;   /* [n_switches + 1] of each entry */
	uint32_t *sources; /* [n_switches + 1] end ports that send through the switch */
	/*
	 * [n_switches * n_columns] routes from host ports to host LIDs, fewer than LIDs^2.
	 * load[0]: to first LIDs; load[1]: to the other LIDs of ports, NULL if each port has one.
	 */
	uint32_t *load[2];
	struct longer longer; /* NULL if all routes must be shortest */
	struct lanes lanes;
};

/* The forwarding tree of one destination. */
struct tree {
	uint32_t dest;
	uint32_t root;         /* switch of dest */
	uint32_t n;            /* switches that reach it */
	const uint16_t *order; /* [n] the root first, parents before children */
	/* [n_switches + 1] shortest distance to the root; FAR: none; AWAY for "no switch" */
	const uint16_t *dist;
	const uint8_t *lft; /* [n_switches] */
	bool host;          /* the LID of an end port, not of a port 0 */
	bool later;         /* not the first LID of its port */
};

/*
 * FAR: the switch is in another component. AWAY: no switch at all. AWAY + 1 = FAR lets
 * find_hops() accept an entry without a cable on a switch of another component.
 */
#define FAR 0xffff
#define AWAY 0xfffe

struct name {
	char buf[32];
};

static inline const char *sw_name(const struct checker *checker, uint32_t s, struct name *name)
{
	return osr_switch_name(checker->fabric, s, name->buf);
}

static inline unsigned lid_of(const struct checker *checker, const struct tree *tree)
{
	osr_invariant(checker->fabric->dest_switch[tree->dest] == tree->root);
	return checker->fabric->dest_lid[tree->dest];
}

/* The channel of an entry that a walk has approved. */
static inline uint32_t chan_of(const struct checker *checker, const struct tree *tree, uint32_t s)
{
	osr_invariant(osr_port_channel(checker->fabric, s, tree->lft[s]) != OSR_NONE);
	return checker->fabric->port_chan[checker->fabric->port_row[s] + tree->lft[s]];
}

/*
 * Ranks are compared as rank + 1, so that 0 is free to mean "nothing arrived". The two highest
 * ranks fall together: a certificate that needs both is refused although it may be right.
 */
static inline uint32_t rank_key(uint32_t rank)
{
	return rank < UINT32_MAX ? rank + 1 : UINT32_MAX;
}

/* Does any packet travel from switch s to this LID? check.h says which packets exist. */
static inline bool is_used(const struct checker *checker, const struct tree *tree, uint32_t s)
{
	return tree->host || checker->fabric->sw_sources[s];
}

/* An impossible VL, like VL15, is bit 15: never among the VLs that may be used. */
static inline uint16_t vl_bit(unsigned vl)
{
	return 1u << (vl < 15 ? vl : 15);
}

static inline bool follows_sls(const struct checker *checker)
{
	return !checker->shared && (checker->routing->sl || checker->routing->sl2vl);
}

static inline const uint8_t *table_of(const struct checker *checker, uint32_t s, unsigned in,
				      unsigned out)
{
	osr_invariant(in <= checker->fabric->sw_n_ports[s] &&
		      out <= checker->fabric->sw_n_ports[s]);
	return checker->routing->sl2vl[checker->routing->sl2vl_row[s] +
				       in * (checker->fabric->sw_n_ports[s] + 1u) + out];
}

/* check_tree.c. Checks all LIDs of the switch tree.root, and adds their routes to the verdict. */
enum osr_status osr_check_switch(struct checker *checker, struct tree tree);

/* check_lanes.c. osr_check_follow() says yes or no. */
enum osr_status osr_check_prepare_lanes(struct checker *checker, struct osr_arena *scratch);
void osr_check_prepare_follow(struct checker *checker, struct osr_arena *scratch);
bool osr_check_follow(struct checker *checker, const struct tree *tree);
/*
 * The key of the certificate for a VL at port `out` of a switch; 0 if the VL may not be used there.
 * Without a certificate, and behind ports to end ports, every usable VL has key 1. Packets for
 * port 0 leave the switch on no VL.
 */
uint32_t osr_check_key(const struct checker *checker, uint32_t s, unsigned out, unsigned vl);
/* SLs, by the claims, that packets to the root may have when they leave switch s. */
uint16_t osr_check_sls(const struct checker *checker, const struct tree *tree, uint32_t s);

/* check_mcast.c. */
enum osr_status osr_check_mcast(struct checker *checker, struct osr_arena *scratch);

/*
 * check_blame.c. Why was this tree refused? If all entries lead somewhere, a route loops, is longer
 * than claimed, or breaks the certificate.
 */
enum osr_status osr_check_blame(struct checker *checker, const struct tree *tree);
/* The sentence for a certificate that is refused. dest == OSR_NONE: for multicast. */
enum osr_status osr_check_fail_rank(struct checker *checker, uint32_t dest, uint32_t from,
				    unsigned vl_from, uint32_t to, unsigned vl_to);

#endif
