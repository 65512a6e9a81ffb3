/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What spf.c shares with spf_order.c and with the searches of core/lanes, which route the same trees. */
#ifndef OSR_SPF_PRIVATE_H
#define OSR_SPF_PRIVATE_H

#include <osmroutes/spf.h>

#include "core/paths/moves.h"

/*
 * A weight as the inner loop wants it: routes * unit in the upper bits, the hop below. The least
 * sum of weight and cost is then the best path, with ties to the lowest hop, and carries its hop
 * along.
 */
#define HOP_BITS 8
#define HOP_MASK (((uint64_t)1 << HOP_BITS) - 1)

/* The shortest-path graph towards one switch. Rows follow the settling order. */
struct osr_spf_scratch {
	uint8_t *dist8;      /* [n_switches * n_switches] row D: distance to D mod 256 */
	uint32_t *edge_row;  /* [n_switches + 1] by position in the order */
	uint32_t *edge_chan; /* [n_channels + 1] */
	uint32_t *edge_next; /* [n_channels + 1] where it leads */
	uint64_t *cost;      /* [n_switches] weight of the best path so far, hop bits zero */
	uint32_t *count;     /* [n_switches] end ports whose route passes here */
	uint8_t *kind;       /* [n_switches] of the shortest paths within an order */
	uint8_t *via;        /* [n_switches] routes from here pass a certain switch */
	struct osr_moves *moves;
	uint8_t max_group;
	bool mixed; /* units differ from 1 */
	bool cut;   /* after osr_spf_keep_order(): it leaves out some shortest path */
};

/*
 * Fills edge_row, edge_chan, edge_next with the shortest-path graph towards root, whatever the
 * order.
 */
void osr_spf_graph(struct osr_spf *spf, uint32_t root);
void osr_spf_graph_free(struct osr_spf *spf, uint32_t root);

/*
 * The same with spf->place: only steps of paths up the order first, then down. Switches without such
 * a path have all their edges; returns how many of them have hosts.
 */
uint32_t osr_spf_graph_in_order(struct osr_spf *spf, uint32_t root);

/* Fills hop[] with the lightest shortest paths to root; osr_spf_graph() of root comes first. */
void osr_spf_settle(struct osr_spf *spf, uint32_t root, uint8_t *hop);

/*
 * Adds (sign = 1) or takes out (sign = -1) the routes of one tree. order[n] holds its switches,
 * the root first, each after the switch it sends to.
 */
void osr_spf_count_order(struct osr_spf *spf, const uint16_t *order, uint32_t n, const uint8_t *hop,
			 uint64_t sign);

/* osr_moves_run() on routes and loads of spf; `moves` is spf->scratch->moves, or has been made of it. */
void osr_spf_move(struct osr_spf *spf, struct osr_moves *moves, uint64_t goal);

/* The loads of all routes made so far. */
void osr_spf_forget(struct osr_spf *spf);

/* The load of the busiest channel, and the sum over all channels. */
uint64_t osr_spf_busiest(const struct osr_spf *spf, uint64_t *sum);

/* Copies the trees of dests to those that ride along (alias). */
void osr_spf_share(struct osr_spf *spf);

#endif
