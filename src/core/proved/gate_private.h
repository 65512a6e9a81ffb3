/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * gate_private.h - the arrays of the proved program, and the three files that know them:
 *
 *	gate_question.c		trusted: the fabric, the tables and the claims as these arrays
 *	gate_certificate.c	not trusted: ranks, bounds and marks; the program refuses wrong ones
 *	gate.c			asks the program about each destination. Trusted is which
 *				destinations it leaves out, because they were confirmed before.
 *
 * A level is an SL, or several SLs that every SL2VL table maps to the same lanes. A mixture has two
 * generations of tables, gen[0] and gen[1]; else there is one.
 */
#ifndef OSR_GATE_PRIVATE_H
#define OSR_GATE_PRIVATE_H

#include <osmroutes/each.h>

#include "gate.h"

#include "gate_proved.h"

/* A rank above all others (k_first: a packet that enters here is dropped). */
#define GATE_DROPPED INT32_MAX

#define GATE_SLS 16

/*
 * Elements of a port in tab.hot, where ranks by lane begin at H_RANK, and in tab.cold, where bounds
 * by level begin at C_COPIES.
 */
enum { H_NEXT, H_ROW, H_VLS, H_RANK };
enum { C_INTO, C_ROW, C_ENTER, C_TREE, C_COPIES };

/* The arrays that each thread writes to. */
struct share {
	struct row row[2];       /* a destination with the entries of each generation */
	uint16_t *levels, *pass; /* [n_sw] */
	uint32_t *stack;         /* [16 * n_sw] switches whose mark has grown: 16 times at most */
	struct tab alone;        /* one lane, with ranks of its destination alone */
	uint32_t judged;         /* destinations that were judged */
};

struct gate {
	const struct osr_fabric *fabric;
	const struct osr_routing *gen[2]; /* the tables, and the tables that are mixed with them */
	unsigned n_gens;
	struct tab tab[2]; /* of each generation; they differ in slots alone */
	uint32_t claims;   /* of gen[0] */
	bool any, ranked;  /* any level is safe; there are ranks */
	bool all_send;     /* every switch has hosts */
	/* [n_q] the lowest SL of each level */
	uint8_t level_of[GATE_SLS];
	/* by the VLs of a cable: VL = SL; OSR_VL_UNSET where the cable lacks the VL */
	uint8_t flat[OSR_MAX_VLS + 1][GATE_SLS];
	uint16_t *one, *every; /* [n_sw] sets of levels: level 0, and all */
	struct share *share;   /* one a thread */
	uint32_t refused;      /* the first destination that is refused; OSR_NONE */
	/*
	 * Tables with this order that have been confirmed, or are judged by themselves; NULL: no
	 * destination is left out.
	 */
	const struct osr_fabric *then_f;
	const struct osr_routing *then;
	uint8_t *changed;  /* [n_sw * n_port] since then */
	uint8_t *answered; /* [n_sw] answers of the switch, or to it, have changed since then */
};

static inline size_t gate_index(const struct tab *tab, uint32_t s, uint32_t o)
{
	return (size_t)s * (size_t)tab->n_port + o;
}

static inline int32_t *gate_hot(const struct tab *tab, uint32_t s, uint32_t o)
{
	return tab->hot + gate_index(tab, s, o) * (size_t)tab->width;
}

static inline int32_t *gate_cold(const struct tab *tab, uint32_t s, uint32_t o)
{
	return tab->cold + gate_index(tab, s, o) * (size_t)tab->more;
}

/* The lanes by level of packets that come by a row of SL2VL tables and leave by port o. */
static inline uint8_t *gate_slot(const struct tab *tab, int32_t row, uint32_t o)
{
	osr_invariant(row >= 0 && row + (int64_t)o < tab->n_slot);
	return tab->slots + ((size_t)row + o) * (size_t)tab->n_q;
}

/* The switch that s sends packets of this row to; OSR_NONE: it sends them to no switch. */
static inline uint32_t gate_to(const struct gate *gate, const struct row *row, uint32_t s)
{
	uint32_t c = osr_port_channel(gate->fabric, s, row->lft[s]);

	return c == OSR_NONE ? OSR_NONE : gate->fabric->chan_dst[c];
}

/* Do routes from switch s to destination d count, as packets or as replies? */
static inline bool gate_meets(const struct gate *gate, uint32_t d, uint32_t s)
{
	const struct osr_fabric *fabric = gate->fabric;
	uint32_t home = fabric->dest_switch[d];

	return s != home && fabric->sw_component[s] == fabric->sw_component[home] &&
	       (fabric->sw_sources[s] || fabric->term_weight[fabric->dest_term[d]]);
}

/* ---- the question ---------------------------------------------------------------------------- */

/*
 * Are these tables of this fabric, with every array that the claims need? Multicast of a mixture
 * is on one lane, or on any.
 */
bool osr_gate_fits(const struct gate *gate, const struct osr_routing *routing);

/* How many levels and lanes there are, and which claims are made: members of gate and tab[0]. */
void osr_gate_claims(struct gate *gate);

/*
 * Switches, cables and ports, into `tab`. Each switch has a row of SL2VL tables for each of its
 * ports, or all share one. Packets enter by port 0 of every switch and, where the tables tell them
 * apart, by the ports of hosts.
 */
void osr_gate_fabric(struct gate *gate, const struct tab *tab);

/* SL2VL tables of generation x, into tab[x]. */
void osr_gate_lanes(const struct gate *gate, unsigned x);

/* Levels that switch s may send on to destination d, by any generation. */
uint16_t osr_gate_levels(const struct gate *gate, uint32_t d, uint32_t s);

/* Destination d with the entries of each generation, into mine->row. */
void osr_gate_rows(const struct gate *gate, struct share *mine, uint32_t d);

/* ---- the certificate ------------------------------------------------------------------------- */

/* Ranks of channels, the bounds of packets that enter and of copies, and the levels of answers. */
void osr_gate_ranks(const struct gate *gate, const struct tab *tab);
void osr_gate_bounds(const struct gate *gate);
void osr_gate_answers(const struct gate *gate);

/* For the destination of mine->row: the levels that pass each switch, and the ranks held there. */
void osr_gate_pass(const struct gate *gate, struct share *mine);
void osr_gate_held(const struct gate *gate, const struct share *mine);

#endif
