/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check_private.h - what the two files of the checker share: check.c walks the trees, check_lanes.c follows service
 * levels and multicast. They include check.h and this, nothing that routes.
 */
#ifndef OSR_CHECK_PRIVATE_H
#define OSR_CHECK_PRIVATE_H

#include <osmroutes/check.h>

#define BATCH 64 /* searches at once: bits of a word */

/* A port of a switch as the walk needs it. */
struct port {
	uint32_t dst;  /* switch behind it; n_switches if there is none */
	uint32_t key;  /* rank + 1 of its channel if all VLs share one certificate */
	uint64_t load; /* routes from host ports to host LIDs */
};

/* What a switch of the current tree has received from upstream. */
struct inflow {
	uint32_t sources; /* end ports that send through it, its own included */
	uint32_t key;     /* highest key of a channel that packets arrive on; 0: none */
};

/* Where a port leads, for following SLs through SL2VL tables: what one step needs lies together. */
struct passage {
	uint32_t chan; /* OSR_NONE: no switch behind the port */
	uint32_t dst;
	uint32_t pair;  /* that entry port and output port 0 of dst: an index of vl_of */
	uint16_t vl_ok; /* VLs that may leave by the port */
};

struct checker {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	struct osr_verdict *v;
	struct osr_diag *diag;
	bool shared; /* VL = SL and any SL: one dependency graph for all VLs */
	bool minimal;
	uint16_t sls; /* SLs, or VLs if there are SL2VL tables, that carry routes */

	struct port *port;   /* [n_ports], as port_chan; loads of the first LID of each port */
	struct port *beyond; /* the same with those of all other LIDs; NULL: there are none */
	uint32_t *dest_row;  /* [n_switches + 1]: the dests of switch s are */
	uint32_t *dest;      /* dest[dest_row[s]] .. dest[dest_row[s + 1] - 1] */

	/* One batch of searches. */
	uint32_t n_batch;
	uint32_t batch_sw[BATCH];
	uint32_t batch_n[BATCH]; /* switches reached */
	uint32_t *dist;          /* [BATCH * (n_switches + 1)]; the last entry stays OSR_NONE */
	uint32_t *order;         /* [BATCH * n_switches] nearest first */
	uint64_t *seen, *front, *next; /* [n_switches] */
	uint32_t *active, *reached;    /* [n_switches] */

	/* One tree. */
	struct inflow *inflow, *inflow_start; /* [n_switches] */
	uint32_t *ordered, *depth, *way;      /* [n_switches], non-minimal routings only */

	/* SLs; allocated if there are any to follow. */
	uint32_t n_kinds;    /* of SLs that all SL2VL tables map alike */
	uint8_t kind_of[16]; /* by SL */
	uint8_t *vl_of;      /* [n_kinds * n_pairs] SL2VL by kind and pair of ports */
	uint32_t n_pairs;
	struct passage *passage; /* [n_ports] */
	uint32_t *out;           /* [n_switches] port by which packets of the tree leave */
	uint16_t *mask;   /* [n_switches] SLs, or kinds, of the packets that leave the switch */
	uint16_t *vls;    /* [n_switches * n_kinds] VLs that packets of a kind leave on */
	uint16_t *inject; /* [n_ports * n_kinds] the same for hosts of the switch */
	uint16_t *reply;  /* [n_switches^2]: SLs of replies to row from column */
	uint16_t *vl_ok;  /* [n_channels] VLs that may be used */
	uint32_t *rank;   /* [n_channels * n_vls]: certificate, VL by VL of a channel */
};

/* The forwarding tree of one destination. */
struct tree {
	uint32_t dest;
	uint32_t root;         /* switch of dest */
	uint32_t n;            /* switches that reach it */
	const uint32_t *order; /* [n] the root first, parents before children */
	const uint32_t *dist;  /* [n_switches + 1] breadth first; OSR_NONE: not connected */
	const uint8_t *lft;    /* [n_switches] */
	struct port *port;     /* [n_ports] that count its routes */
};

struct name {
	char buf[32];
};

static inline const char *sw_name(const struct checker *k, uint32_t s, struct name *n)
{
	return osr_switch_name(k->f, s, n->buf);
}

static inline unsigned lid_of(const struct checker *k, const struct tree *t)
{
	return k->f->dest_lid[t->dest];
}

/* The channel of an entry that a walk has approved. */
static inline uint32_t chan_of(const struct checker *k, const struct tree *t, uint32_t s)
{
	return k->f->port_chan[k->f->port_row[s] + t->lft[s]];
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
static inline bool is_used(const struct checker *k, const struct tree *t, uint32_t s)
{
	return k->f->sw_sources[s] || k->f->term_weight[k->f->dest_term[t->dest]];
}

/* An impossible VL, like VL15, is bit 15: never among the VLs that may be used. */
static inline uint16_t vl_bit(unsigned vl)
{
	return 1u << (vl < 15 ? vl : 15);
}

static inline bool follows_sls(const struct checker *k)
{
	return !k->shared && (k->r->sl || k->r->sl2vl);
}

/* check_lanes.c */
enum osr_status osr__check_prepare_lanes(struct checker *k, struct osr_arena *scratch);
enum osr_status osr__check_follow_sls(struct checker *k, const struct tree *t);
enum osr_status osr__check_follow_vls(struct checker *k, const struct tree *t);
enum osr_status osr__check_mcast(struct checker *k, struct osr_arena *scratch);

/* check.c: the certificate is refused; dest OSR_NONE: for multicast. */
enum osr_status osr__check_fail_rank(struct checker *k, uint32_t dest, uint32_t from,
				     unsigned vl_from, uint32_t to, unsigned vl_to);

#endif
