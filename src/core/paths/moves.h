/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * moves.h - finished trees, with few changes: where a channel carries more than it must, branches
 * of trees leave it. A switch, and all switches that send to a LID through it, then send by another
 * channel, over a path of the same length. The caller says whether they may: an order of the
 * switches, virtual lanes. A branch first goes where all channels stay within the aim, then the
 * goal, then below the load of the channel that it leaves. It ends when nothing can leave the
 * busiest channel.
 *
 * The cost. Packets of two routes meet where these share a channel, unless both go to one LID,
 * which gets one packet at a time. A move therefore costs its routes times the routes to other LIDs
 * on the new way, less those on the old way. The sum over all moves tells how eBB changes: on k-ary
 * n-trees one percent of all shared routes is 0.2 to 0.5 % of it. A lower load that costs more than
 * it is worth is undone. Repairs do not look at the price.
 *
 * Where all branches are of one size, an excess has to pass from channel to channel, as along the
 * alternating paths of an edge colouring, until it comes to a channel with room. So a move may also
 * make one other channel as loaded as this one was, if that channel has not passed on anything
 * itself since the last step that gained. If it leads nowhere, it is undone.
 *
 * Repairs give the blocks of 64 LIDs that switches are sent anyway. Entries in these blocks go
 * first, each LID gives one branch at a time, the largest first, and channels that nothing can
 * leave are passed over. In the end blocks that are sent for moves alone get their entries back if
 * the busiest channel carries no more by that. A repair goes to 1.05 of the least load that any
 * routing of the present fabric can have (bound.h), or to the load of the previous tables,
 * whichever is more. A fault takes channels away, so no routing of the present fabric can be
 * expected to do better than the full route before the fault.
 */
#ifndef OSMROUTES_MOVES_H
#define OSMROUTES_MOVES_H

#include <osmroutes/fabric.h>

#define OSR_MOVES_BLOCK 64 /* LIDs that a switch is sent at once */

struct osr_moves {
	const struct osr_fabric *fabric;
	uint8_t *hop; /* [n_dests * n_switches] */
	/* NULL, or osr_spf.order and n_order: trees are laid out faster by them. */
	const uint16_t *settled, *n_settled;
	uint64_t *load;       /* [n_channels] of these tables */
	const uint32_t *unit; /* [n_channels] of load for each route; NULL: 1 */
	uint64_t goal;        /* no channel above it */
	uint64_t aim;         /* what moves leave room below the goal for those that come later */
	bool open;     /* switches that no host sends through to a LID may choose first, too */
	uint8_t *sent; /* [n_switches * n_blocks] blocks that are sent anyway; NULL: none is sent */
	uint8_t *touched; /* [n_dests] with sent: the tree has changed */
	uint32_t extra;   /* channels by which routes may get longer, */
	uint64_t spare;   /* and how many may */
	uint64_t n_moved, n_trees;

	/*
	 * [n_switches] NULL, or an order of the switches, 0 the highest: all routes go up first,
	 * then down.
	 */
	const uint32_t *place;
	void *ctx;
	/*
	 * May v send to d by c, with all switches that send through v? It is about to be done.
	 * list[n] has v and those switches, at least, each after the one it sends to. NULL: yes.
	 */
	bool (*may)(struct osr_moves *m, uint32_t d, uint32_t v, uint32_t c, const uint16_t *list,
		    uint32_t n);
	struct moves_scratch *scratch;
};

/* Blocks of 64 LIDs in a table. */
static inline uint32_t osr_moves_blocks(const struct osr_fabric *fabric)
{
	return (uint32_t)fabric->max_lid / OSR_MOVES_BLOCK + 1;
}

static inline uint8_t *osr_moves_block(const struct osr_moves *moves, uint32_t d, uint32_t v)
{
	return &moves->sent[(size_t)v * osr_moves_blocks(moves->fabric) +
			    moves->fabric->dest_lid[d] / OSR_MOVES_BLOCK];
}

/* By osr_bound_expected(). */
static inline void osr_moves_set_goal(struct osr_moves *moves, uint64_t least, uint64_t expected)
{
	moves->aim = least;
	moves->goal = expected < least + least / 20 ? least + least / 20 : expected;
}

/* Memory for runs on moves->fabric, for moves->sent if that is set. Lives in `arena`. */
enum osr_status osr_moves_init(struct osr_moves *moves, struct osr_arena *arena,
			       struct osr_diag *diag);

/*
 * Nothing moves where no channel is beyond the goal. At most O(LIDs * switches), with a constant
 * that is a few dozens.
 */
void osr_moves_run(struct osr_moves *moves);

#endif
