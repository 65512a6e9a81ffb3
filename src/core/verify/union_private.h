/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * union_private.h - one search of union.h, as its files share it:
 *
 *	union.c		who sends on which SLs, and the entries of each LID
 *	union_groups.c	multicast
 *	union_turns.c	the turns that packets take by the SL2VL tables, and a loop of them
 */
#ifndef OSR_UNION_PRIVATE_H
#define OSR_UNION_PRIVATE_H

#include <osmroutes/each.h>

#include "follow.h"

/* End ports on one switch that find their SLs in the same row. */
struct sender {
	uint32_t sw, row;
	bool host;
};

/*
 * A turn leads from channel c to the channel that leaves chan_dst[c] by a port: turn t is slot[c] +
 * port. Bit v of turn[t] says that packets on VL v take it and stay on v. If VLs change on the way
 * (`moves`), bit w of turn[t * OSR_MAX_VLS + v] says that packets on v go on as w.
 */
struct turns {
	bool moves;
	size_t *slot; /* [n_channels] */
	size_t n_slots;
	uint16_t *turn;
	uint16_t used; /* VLs that turns begin on */
};

/* The loop that was found, once there is one. */
struct found {
	struct osr_loop_step *step; /* to be explained */
	uint32_t n, n_unexplained;
};

struct run {
	struct osr_follow follow;
	struct sender *sender[2]; /* [n_senders] where senders have rows */
	uint32_t n_senders[2];
	uint16_t *replies[2]; /* [rows * n_switches] SLs of a row's requests to a switch, or NULL */
	uint16_t *inject;     /* [n_switches] SLs that enter for the current LID */

	struct osr_groups groups[2]; /* of the generation, or its spanning order with MLID 0 */
	uint16_t group_sls[2];       /* of their packets */
	uint16_t order_vls; /* VLs of spans whose packets stay on one VL, whatever the SL */

	struct turns turns;
	const uint8_t *fold; /* VL of an SL, if one table serves all ports; else NULL */
	/* Classes of packets, a bit each: SLs; with `fold` there is one class, of all SLs. */
	uint16_t classes;
	uint32_t n_classes;    /* 1 or 16 */
	uint16_t (*entry)[16]; /* [n_ports] by SL: VLs of packets of end ports; only with `moves` */
	uint16_t *vls[2];      /* [n_switches * n_classes] VLs of each class on out[g][s] */

	uint16_t lid; /* whose packets are followed */
	bool circles; /* the entries of some LID have led around */

	struct found found;
	struct osr_arena *scratch, *result;
	struct osr_diag *diag;
	enum osr_status st;
};

extern const osr_sl2vl_t osr_union_vl_is_sl; /* VL = SL */

/* The VLs, by SL, of packets that leave s by this pair of ports. */
static inline const uint8_t *union_vls(const struct run *run, uint32_t g, uint32_t s, unsigned in,
				       unsigned out)
{
	const struct osr_routing *routing = run->follow.gen[g].routing;

	if (!routing->sl2vl)
		return osr_union_vl_is_sl;
	return routing->sl2vl[osr_port_pair(run->follow.fabric, routing, s, in, out)];
}

/* A switch drops packets that are mapped to VL 15. OSR_VL_UNSET adds no VL either. */
static inline uint16_t vl_bits(const struct run *run, uint32_t s, unsigned in, unsigned out,
			       unsigned sl)
{
	unsigned bits = 0;

	for (uint32_t g = 0; g < run->follow.n; g++) {
		unsigned vl = union_vls(run, g, s, in, out)[sl];

		if (vl < OSR_MAX_VLS)
			bits |= 1u << vl;
	}
	return (uint16_t)bits;
}

/* Is this port 0, or a port with an end port? */
bool osr_union_is_end_port(const struct osr_fabric *fabric, uint32_t s, unsigned port);

/*
 * Do all port pairs that packets between switches use have one and the same table, in all
 * generations? It becomes run->fold.
 */
bool osr_union_fold(struct run *run);
/* VLs of these SLs by the one table. */
uint16_t osr_union_fold_sls(const struct run *run, unsigned sls);
/*
 * SLs to be followed. SLs that every row maps alike are a kind. If all senders choose any SL, the
 * lowest SL of each kind stands for the kind; else all SLs are followed, for some may not be sent.
 */
uint16_t osr_union_sls(const struct run *run);

/* A packet for the steps of the loop that are this turn; see osr_union_take_turn(). */
void osr_union_explain(struct run *run, uint32_t c, unsigned from, uint32_t on, unsigned to,
		       unsigned sls);

/*
 * Packets of one of these SLs are on the VLs `from` of channel c and go on by channel `on`: with
 * `moves` on the VLs `to`, else on the VL that they have. Marks such turns; once a loop has been
 * found, looks whether they are steps of it.
 */
static inline void osr_union_take_turn(struct run *run, uint32_t c, unsigned from, uint32_t on,
				       unsigned to, unsigned sls)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	size_t turn = run->turns.slot[c] + fabric->chan_port[on];

	osr_invariant(fabric->chan_src[on] == fabric->chan_dst[c]);
	osr_invariant(from >> OSR_MAX_VLS == 0 && to >> OSR_MAX_VLS == 0);
	run->turns.used |= (uint16_t)from;
	if (run->found.step)
		osr_union_explain(run, c, from, on, to, sls);
	else if (!run->turns.moves)
		run->turns.turn[turn] |= (uint16_t)from;
	else
		OSR_EACH_LANE(vl, from)
			run->turns.turn[turn * OSR_MAX_VLS + vl] |= (uint16_t)to;
}

/*
 * A depth-first search of the turns marked so far. Finds a cycle (found.n > 0), or fills rank, if
 * it is not NULL, with an order. A vertex that is not visited ends no turn.
 */
void osr_union_search(struct run *run, uint32_t *rank);

/* The groups of both generations in the order of their MLIDs, with the SLs of both. */
void osr_union_follow_groups(struct run *run);
/*
 * The groups of a generation; or its span as one group of MLID 0, of which every switch is a
 * member. Without memory it leaves none.
 */
void osr_union_prepare_groups(struct run *run, uint32_t g);

#endif
