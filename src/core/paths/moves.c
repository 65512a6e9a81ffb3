/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See moves.h. From the outside in:
 *	osr_moves_run()	the busiest channel, again and again
 *	  moves_relieve()	  passes over its LIDs, what the tree of each can take off it
 *	    moves_leave()	    one switch and what sends through it
 *	  moves_return_all()	blocks that need not be sent after all
 */
#include "core/paths/moves.h"
#include "core/route/tree.h"

#include <osmroutes/each.h>

#include <stdlib.h>
#include <string.h>

/*
 * Switches looked at: a fixed number, and as many for each table entry. A fifth of it costs 0.2 %
 * of EFI on 129 fabrics.
 */
#define MOVES_WORK 2000000
#define MOVES_WORK_ENTRY(open) ((open) ? 10 : 20) /* open: lanes change the tables again */

/* A share off the largest load is worth half of that share of all routes that share a channel. */
#define MOVES_PRICE 2

/* A channel that a switch might send by instead. */
struct way {
	int64_t others; /* load of other LIDs on the new way, less that on the old one */
	/* channels that would carry as much as the hot one; a closed one counts as two */
	uint32_t n_even;
	uint32_t c;
	bool longer; /* it has more channels */
};

/* A move, and the hop before it; LIDs and switches have 16 bits. */
struct made {
	uint16_t d, v;
	uint8_t was;
};

/*
 * A LID. When last seen, no way of its tree had less on its channels than `least`, less `shifted`
 * since. 0: not known.
 */
struct user {
	uint32_t d, least;
};

struct moves_scratch {
	struct osr_tree tree; /* of the LID at hand, as it was when it was laid out */
	uint32_t *flow;       /* [n_switches] end ports that send through */
	uint16_t *branch; /* [n_switches] those that send over the hot channel, near ones first */
	uint32_t n_branch;
	uint8_t *in;   /* [n_switches] and still do */
	uint32_t *way; /* [n_switches] is on the way of the switch at hand, if this is n_ways */
	uint32_t n_ways;

	/* The pass at hand. */
	uint32_t hot;
	enum { AIM, GOAL, BELOW, EVEN } reach; /* of other channels: these, or the hot one's load */
	bool any_block, longer;
	/* LID to begin with: after the last one that moved, which so does not move back */
	uint32_t first;
	/* [n_channels] since the last step that gained: has passed on a load, or cannot */
	uint8_t *closed;
	bool passed;        /* some move only passed a load on */
	uint64_t nearest;   /* least load that some way of the tree at hand has on its channels */
	struct user *users; /* [n_dests] LIDs that are sent over the hot channel, or were */
	uint64_t shifted;   /* loads have fallen by so much at most, since these were found */
	struct made *made;  /* [max_made] without sent: moves since the best tables */
	uint32_t n_made, max_made;
	int64_t cost; /* of these */
	int64_t work; /* left */

	uint8_t *was, *was_sent; /* with sent: lft and sent when the run began */
};

static inline uint64_t moves_amount(const struct osr_moves *moves, uint32_t c, uint64_t flow)
{
	return moves->unit ? flow * moves->unit[c] : flow;
}

/* The busiest channel beyond `most` that is not closed, or OSR_NONE. */
static uint32_t moves_busiest(const struct osr_moves *moves, uint64_t most, const uint8_t *closed)
{
	uint32_t best = OSR_NONE;

	for (uint32_t c = 0; c < moves->fabric->n_channels; c++) {
		if (moves->load[c] <= most || (closed && closed[c]))
			continue;
		best = c;
		most = moves->load[c];
	}
	return best;
}

static inline uint8_t *moves_row(const struct osr_moves *moves, uint32_t d)
{
	return moves->hop + (size_t)d * moves->fabric->n_switches;
}

/* The channel by which v sends in a tree, OSR_NONE if it does not. */
static inline uint32_t moves_channel(const struct osr_moves *moves, const uint8_t *row, uint32_t v)
{
	return osr_hop_channel(moves->fabric, v, row[v]);
}

/* Where v sends to in a tree; it has a way. */
static inline uint32_t moves_next(const struct osr_moves *moves, const uint8_t *row, uint32_t v)
{
	return moves->fabric->chan_dst[moves->fabric->chan_row[v] + row[v]];
}

/* ---- one tree -------------------------------------------------------------------------------- */

/* The switches that send over the hot channel, by number, but those before that they send through. */
static void moves_list_branch(struct osr_moves *moves, const uint8_t *row)
{
	const struct osr_fabric *fabric = moves->fabric;
	struct moves_scratch *scratch = moves->scratch;
	uint32_t near = fabric->chan_src[scratch->hot];
	uint8_t *in = scratch->in;

	scratch->n_branch = 0;
	if (!in[near])
		return;
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t depth = 0;

		for (uint32_t v = s; in[v] == 1; v = moves_next(moves, row, v)) {
			in[v] = 2;
			depth++;
		}
		scratch->n_branch += depth;
		for (uint32_t v = s, i = scratch->n_branch; depth; depth--) {
			scratch->branch[--i] = (uint16_t)v;
			v = moves_next(moves, row, v);
		}
	}
}

/* The tree of d with its flows, and the branch of it that sends over the hot channel. */
static void moves_lay_out(struct osr_moves *moves, uint32_t d)
{
	const struct osr_fabric *fabric = moves->fabric;
	const uint8_t *row = moves_row(moves, d);
	struct moves_scratch *scratch = moves->scratch;
	struct osr_tree *tree = &scratch->tree;
	uint32_t root = fabric->dest_switch[d];
	const uint16_t *settled =
		moves->settled ? moves->settled + (size_t)root * fabric->n_switches : NULL;

	osr_tree_lay_out(tree, root, row, settled, settled ? moves->n_settled[root] : 0);
	scratch->work -= fabric->n_switches;
	memset(scratch->in, 0, fabric->n_switches);
	OSR_EACH_NEAR_FIRST(v, tree->near_first, tree->n)
	{
		uint32_t c = fabric->chan_row[v] + row[v];

		scratch->in[v] = scratch->in[fabric->chan_dst[c]] | (c == scratch->hot);
	}
	moves_list_branch(moves, row);
	if (!scratch->n_branch)
		return;
	memcpy(scratch->flow, fabric->sw_sources, fabric->n_switches * sizeof(*scratch->flow));
	OSR_EACH_FAR_FIRST(v, tree->near_first, tree->n)
	scratch->flow[moves_next(moves, row, v)] += scratch->flow[v];
}

/*
 * v, whose route has this length, may send by a channel behind which the route has length `behind`:
 * over as many channels, or over more where that is allowed.
 */
static bool moves_fits(const struct osr_moves *moves, uint32_t v, uint32_t length, uint32_t behind,
		       bool *longer)
{
	const struct moves_scratch *scratch = moves->scratch;

	*longer = behind >= length;
	return behind != OSR_NONE && behind + 1 >= length &&
	       behind + 1 <= length + (scratch->longer ? moves->extra : 0) &&
	       !(*longer && scratch->flow[v] > moves->spare);
}

/* v reaches the root by another channel, c, without the branch. */
static bool moves_is_way(const struct osr_moves *moves, uint32_t d, uint32_t v, uint32_t c,
			 bool *longer)
{
	const struct moves_scratch *scratch = moves->scratch;
	uint32_t u = moves->fabric->chan_dst[c];

	return !scratch->in[u] &&
	       moves_fits(moves, v, scratch->tree.length[v], scratch->tree.length[u], longer) &&
	       moves_channel(moves, moves_row(moves, d), v) != c;
}

/* Marks the way of v, root included. */
static void moves_mark_way(const struct osr_moves *moves, uint32_t d, uint32_t v)
{
	const uint8_t *row = moves_row(moves, d);
	struct moves_scratch *scratch = moves->scratch;

	scratch->way[moves->fabric->dest_switch[d]] = ++scratch->n_ways;
	for (; scratch->way[v] != scratch->n_ways; v = moves_next(moves, row, v))
		scratch->way[v] = scratch->n_ways;
}

/*
 * v, whose way is marked, sends by this channel, with `go` from now on. Fills the cost of the way,
 * and returns the largest load on it, up to the switch where it meets the old way. Flows to one LID
 * end at one port and do not disturb each other, so the loads of other LIDs count.
 */
static uint64_t moves_shift(struct osr_moves *moves, uint32_t d, uint32_t v, struct way *way,
			    bool go)
{
	const struct osr_fabric *fabric = moves->fabric;
	struct moves_scratch *scratch = moves->scratch;
	uint8_t *row = moves_row(moves, d);
	uint32_t old = moves_channel(moves, row, v), c = way->c, flow = scratch->flow[v], meets;
	uint64_t most = 0, mine = 0;

	way->others = way->n_even = 0;
	for (;; c = moves_channel(moves, row, meets)) {
		uint64_t load = moves->load[c] + moves_amount(moves, c, flow);

		way->others += (int64_t)(moves->load[c] - mine);
		most = most < load ? load : most;
		way->n_even += load == moves->load[scratch->hot] ? 1 + scratch->closed[c] : 0;
		moves->load[c] = go ? load : moves->load[c];
		meets = fabric->chan_dst[c];
		if (scratch->way[meets] == scratch->n_ways)
			break;
		mine = moves_amount(moves, moves_channel(moves, row, meets), scratch->flow[meets]);
		scratch->flow[meets] += go ? flow : 0;
	}
	for (uint32_t u = v;; old = moves_channel(moves, row, u)) {
		way->others -=
			(int64_t)(moves->load[old] - moves_amount(moves, old, scratch->flow[u]));
		moves->load[old] -= go ? moves_amount(moves, old, flow) : 0;
		u = fabric->chan_dst[old];
		if (u == meets)
			break;
		scratch->flow[u] -= go ? flow : 0;
	}
	row[v] = go ? (uint8_t)(way->c - fabric->chan_row[v]) : row[v];
	return most;
}

/*
 * Do routes by c go up, then down, and begin as the old one did, so that those through v need not
 * be looked at?
 */
static bool moves_in_order(const struct osr_moves *moves, uint32_t d, uint32_t v, uint32_t c)
{
	const uint8_t *row = moves_row(moves, d);
	const uint32_t *place = moves->place;
	uint32_t u = moves->fabric->chan_dst[c];
	bool down = place && place[u] > place[v];

	if (place && down != (place[moves_next(moves, row, v)] > place[v]))
		return false;
	if (place)
		for (; u != moves->fabric->dest_switch[d]; u = moves_next(moves, row, u)) {
			bool goes_down = place[moves_next(moves, row, u)] > place[u];

			if (down && !goes_down)
				return false;
			down = goes_down;
		}
	return true;
}

/* ---- a glance at the branch ------------------------------------------------------------------ */

/* The load that other channels may carry in the present pass. */
static uint64_t moves_limit(const struct osr_moves *moves)
{
	const struct moves_scratch *scratch = moves->scratch;

	return scratch->reach == AIM    ? moves->aim
	       : scratch->reach == GOAL ? moves->goal
					: moves->load[scratch->hot] - (scratch->reach == BELOW);
}

/* Are the entries of v for d in a block that is sent, or may any block be sent? */
static bool moves_may_send(const struct osr_moves *moves, uint32_t d, uint32_t v)
{
	return !moves->sent || moves->scratch->any_block || *osr_moves_block(moves, d, v);
}

/* Channels from u to the root; OSR_NONE: it has no route, or its route passes a marked switch. */
static uint32_t moves_length(const struct osr_moves *moves, const uint8_t *row, uint32_t root,
			     uint32_t u)
{
	const struct moves_scratch *scratch = moves->scratch;
	uint32_t length = 0;

	for (; u != root; u = moves_next(moves, row, u)) {
		if (row[u] == OSR_NO_PATH || scratch->way[u] == scratch->n_ways ||
		    length > moves->fabric->n_switches)
			return OSR_NONE;
		length++;
	}
	return length;
}

/* Appends the switches that send to v to the branch, and marks them. */
static void moves_list_senders(const struct osr_moves *moves, const uint8_t *row, uint32_t root,
			       uint32_t v)
{
	const struct osr_fabric *fabric = moves->fabric;
	struct moves_scratch *scratch = moves->scratch;

	OSR_EACH_CHANNEL(c, fabric, v) {
		uint32_t u = fabric->chan_dst[c];

		if (u == root || moves_channel(moves, row, u) != fabric->chan_rev[c])
			continue;
		scratch->way[u] = scratch->n_ways;
		scratch->tree.length[u] = scratch->tree.length[v] + 1;
		scratch->branch[scratch->n_branch++] = (uint16_t)u;
	}
}

/*
 * Could a switch of the branch that sends to d over the hot channel leave it? By the loads of the
 * first channels of its ways alone, so that the tree need not be laid out where the answer is no:
 * then scratch->nearest is the least of these loads. A tree without loops. Branches of more than a
 * quarter of all switches are not looked at: perhaps.
 */
static bool moves_may_leave(struct osr_moves *moves, uint32_t d)
{
	const struct osr_fabric *fabric = moves->fabric;
	struct moves_scratch *scratch = moves->scratch;
	const uint8_t *row = moves_row(moves, d);
	uint32_t root = fabric->dest_switch[d], near = fabric->chan_src[scratch->hot];
	uint64_t limit = moves_limit(moves);

	scratch->n_ways++;
	scratch->nearest = UINT32_MAX - scratch->shifted;
	scratch->tree.length[near] = moves_length(moves, row, root, near);
	if (scratch->tree.length[near] == OSR_NONE)
		return true;
	scratch->way[near] = scratch->n_ways;
	scratch->branch[0] = (uint16_t)near;
	scratch->n_branch = 1;
	for (uint32_t i = 0; i < scratch->n_branch; i++) {
		if (4 * scratch->n_branch > fabric->n_switches)
			return true;
		moves_list_senders(moves, row, root, scratch->branch[i]);
	}
	for (uint32_t i = 0; i < scratch->n_branch; i++)
		scratch->flow[scratch->branch[i]] = fabric->sw_sources[scratch->branch[i]];
	OSR_EACH_FAR_FIRST(v, scratch->branch, scratch->n_branch)
	scratch->flow[moves_next(moves, row, v)] += scratch->flow[v];
	for (uint32_t i = 0; i < scratch->n_branch; i++) {
		uint32_t v = scratch->branch[i];

		if (!scratch->flow[v] || !moves_may_send(moves, d, v))
			continue;
		OSR_EACH_CHANNEL(c, fabric, v) {
			uint64_t load = moves->load[c] + moves_amount(moves, c, scratch->flow[v]);
			uint32_t behind;
			bool longer;

			if (load > limit && load >= scratch->nearest)
				continue;
			behind = moves_length(moves, row, root, fabric->chan_dst[c]);
			if (behind == OSR_NONE || moves_channel(moves, row, v) == c)
				continue;
			if (!moves_fits(moves, v, scratch->tree.length[v], behind, &longer))
				continue;
			if (load <= limit)
				return true;
			scratch->nearest = load;
		}
	}
	return false;
}

/* The branch of d that may leave the hot channel; none where a glance says that nothing can. */
static void moves_look(struct osr_moves *moves, uint32_t d)
{
	struct moves_scratch *scratch = moves->scratch;

	if (moves_may_leave(moves, d)) {
		scratch->nearest = UINT32_MAX - scratch->shifted;
		moves_lay_out(moves, d);
	} else {
		scratch->n_branch = 0;
		scratch->work -= moves->fabric->n_switches;
	}
}

/* ---- off the busiest channel ----------------------------------------------------------------- */

/*
 * Switches on the way of u that no host sends through take the channel with least load, if it gets
 * no longer.
 */
static void moves_open(struct osr_moves *moves, uint32_t d, uint32_t u)
{
	const struct osr_fabric *fabric = moves->fabric;
	struct moves_scratch *scratch = moves->scratch;
	uint8_t *row = moves_row(moves, d);

	for (; u != fabric->dest_switch[d]; u = moves_next(moves, row, u)) {
		if (scratch->flow[u])
			break;
		OSR_EACH_CHANNEL(c, fabric, u) {
			uint32_t w = fabric->chan_dst[c];

			/* Undoing needs the previous hop; one place is left for the move itself. */
			if (scratch->n_made + 1 >= scratch->max_made)
				return;
			if (moves->load[c] < moves->load[moves_channel(moves, row, u)] &&
			    !scratch->in[w] &&
			    scratch->tree.length[w] + 1 == scratch->tree.length[u] &&
			    moves_in_order(moves, d, u, c) &&
			    (!moves->may || moves->may(moves, d, u, c, scratch->tree.near_first + 1,
						       scratch->tree.n - 1))) {
				scratch->made[scratch->n_made++] =
					(struct made){ (uint16_t)d, (uint16_t)u, row[u] };
				row[u] = (uint8_t)(c - fabric->chan_row[u]);
			}
		}
	}
}

static int moves_by_others(const void *a, const void *b)
{
	const struct way *x = a, *y = b;

	if (x->longer != y->longer)
		return x->longer ? 1 : -1;
	if (x->others != y->others)
		return x->others < y->others ? -1 : 1;
	return x->c < y->c ? -1 : 1;
}

/*
 * v, and all switches that send through it, leave the hot channel by the best way. False: lengths
 * and branch have to be found again.
 */
static bool moves_leave(struct osr_moves *moves, uint32_t d, uint32_t v)
{
	const struct osr_fabric *fabric = moves->fabric;
	struct moves_scratch *scratch = moves->scratch;
	uint64_t limit = moves_limit(moves);
	uint32_t n = 0, flow = scratch->flow[v];
	struct way list[256];

	if (!moves_may_send(moves, d, v))
		return true;
	if (!moves->sent && scratch->n_made == scratch->max_made)
		return true;
	moves_mark_way(moves, d, v);
	OSR_EACH_CHANNEL(c, fabric, v) {
		uint64_t load = moves->load[c] + moves_amount(moves, c, flow), most = load;
		struct way way = { .c = c };

		if ((load > limit && load >= scratch->nearest) ||
		    !moves_is_way(moves, d, v, c, &way.longer))
			continue;
		if (load <= limit) {
			scratch->work--;
			if (moves->open)
				moves_open(moves, d, fabric->chan_dst[c]);
			most = moves_shift(moves, d, v, &way, false);
			if (most <= limit && way.n_even <= 1)
				list[n++] = way;
			/*
			 * moves_open() may lighten this way beyond its first channel: only that one
			 * bounds it.
			 */
			most = moves->open && !scratch->flow[fabric->chan_dst[c]] ? load : most;
		}
		scratch->nearest = most < scratch->nearest ? most : scratch->nearest;
	}
	qsort(list, n, sizeof(*list), moves_by_others);
	for (uint32_t i = 0; i < n; i++) {
		scratch->work -= scratch->n_branch;
		if (!moves_in_order(moves, d, v, list[i].c) ||
		    (moves->may &&
		     !moves->may(moves, d, v, list[i].c, scratch->branch, scratch->n_branch)))
			continue;
		if (!moves->sent) {
			scratch->made[scratch->n_made++] =
				(struct made){ (uint16_t)d, (uint16_t)v, moves_row(moves, d)[v] };
			scratch->cost += (int64_t)flow * list[i].others;
		}
		scratch->passed |= scratch->reach == EVEN;
		moves_shift(moves, d, v, &list[i], true);
		scratch->shifted += flow;
		/* Switches that send through v have left as well. */
		scratch->in[v] = 0;
		for (uint32_t k = 1; k < scratch->n_branch; k++)
			scratch->in[scratch->branch[k]] &= scratch->in[moves_next(
				moves, moves_row(moves, d), scratch->branch[k])];
		moves->spare -= list[i].longer ? flow : 0;
		moves->n_moved++;
		if (moves->sent) {
			*osr_moves_block(moves, d, v) = 1;
			moves->n_trees += !moves->touched[d];
			moves->touched[d] = 1;
		}
		return !list[i].longer && scratch->reach != EVEN && !moves->sent;
	}
	return true;
}

/*
 * Takes load off the hot channel; false if nothing can leave it. Branches of each LID leave it from
 * its near end outwards: first branches of no more than the excess, then one that is larger. Where
 * blocks are sent it is the other way round, because one move sends fewer blocks.
 */
static bool moves_relieve(struct osr_moves *moves)
{
	const struct osr_fabric *fabric = moves->fabric;
	struct moves_scratch *scratch = moves->scratch;
	uint32_t hot = scratch->hot, near = fabric->chan_src[hot], n_users = 0;
	uint64_t before = moves->load[hot];

	OSR_EACH_DEST(d, fabric)
		if (fabric->term_weight[fabric->dest_term[d]] && near != fabric->dest_switch[d] &&
		    moves_channel(moves, moves_row(moves, d), near) == hot)
			scratch->users[n_users++] = (struct user){ .d = d };
	scratch->shifted = 0;
	for (scratch->reach = moves->aim < moves->goal ? AIM : GOAL;
	     scratch->reach <= (moves->sent ? BELOW : EVEN); scratch->reach++)
		for (int pass = moves->sent ? 0 : 1; pass <= 1 + (moves->extra != 0); pass++) {
			uint32_t start = 0;

			scratch->any_block = pass > 0;
			scratch->longer = pass > 1;
			while (start < n_users && scratch->users[start].d < scratch->first)
				start++;
			for (uint32_t k = 0;
			     k < n_users && moves->load[hot] > moves->goal && scratch->work > 0 &&
			     (scratch->reach < EVEN || moves->load[hot] == before);
			     k++) {
				struct user *user = &scratch->users[(start + k) % n_users];
				uint64_t n_moved = moves->n_moved;
				uint32_t d = user->d;
				bool go_on = true;

				if (moves_channel(moves, moves_row(moves, d), near) != hot)
					continue;
				/* Did an earlier pass find no way within this limit? */
				if (!scratch->longer &&
				    user->least > moves_limit(moves) + scratch->shifted) {
					scratch->work -= fabric->n_switches;
					continue;
				}
				moves_look(moves, d);
				for (uint32_t i = 0; go_on && i < 2 * scratch->n_branch &&
						     moves->load[hot] > moves->goal;
				     i++) {
					bool more =
						(i < scratch->n_branch) == (moves->sent != NULL);
					uint32_t at = i < scratch->n_branch ? i
									    : i - scratch->n_branch,
						 v = scratch->branch[more ? scratch->n_branch - 1 -
										     at
									  : at];
					uint64_t amount =
						moves_amount(moves, hot, scratch->flow[v]);

					if (scratch->in[v] && amount &&
					    (amount > moves->load[hot] - moves->goal) == more)
						go_on = moves_leave(moves, d, v);
				}
				if (moves->n_moved != n_moved && !moves->sent)
					scratch->first = d + 1;
				user->least = 0;
				if (moves->n_moved == n_moved && scratch->any_block && !moves->unit)
					user->least =
						(uint32_t)(scratch->nearest + scratch->shifted);
			}
		}
	return moves->load[hot] != before;
}

/* ---- moves that were not needed -------------------------------------------------------------- */

#define ANY_LOAD UINT64_MAX /* when a move is undone: that is always allowed */

/*
 * Switch v sends to d by the channel of this entry again, if that puts no more than `most` on any
 * channel.
 */
static bool moves_return(struct osr_moves *moves, uint32_t d, uint32_t v, uint8_t entry,
			 uint64_t most)
{
	struct moves_scratch *scratch = moves->scratch;
	uint32_t c = osr_hop_channel(moves->fabric, v, entry);
	struct way way = { .c = c };

	scratch->hot = moves_channel(moves, moves_row(moves, d), v);
	if (c == OSR_NONE || scratch->hot == OSR_NONE)
		return false;
	moves_lay_out(moves, d);
	if (!scratch->n_branch)
		return false;
	moves_mark_way(moves, d, v);
	if (most != ANY_LOAD && (!moves_is_way(moves, d, v, c, &way.longer) ||
				 moves_shift(moves, d, v, &way, false) > most))
		return false;
	/* The previous way was allowed, and the caller counts the moves. */
	if (!moves_in_order(moves, d, v, c) ||
	    (moves->may && !moves->may(moves, d, v, c, scratch->branch, scratch->n_branch)))
		return false;
	moves_shift(moves, d, v, &way, true);
	return true;
}

/*
 * Blocks that are sent for moves alone, and need not be. All their entries are taken back if the
 * busiest channel carries no more without the moves; otherwise none.
 */
static void moves_return_all(struct osr_moves *moves)
{
	const struct osr_fabric *fabric = moves->fabric;
	const uint8_t *was = moves->scratch->was;
	uint32_t n_blocks = osr_moves_blocks(fabric), hot = moves_busiest(moves, moves->goal, NULL),
		 n_all = 1, back[OSR_MOVES_BLOCK];
	uint64_t most = hot == OSR_NONE ? moves->goal : moves->load[hot];
	uint8_t moved[OSR_MOVES_BLOCK];

	for (int pass = 0; pass < 3; pass++) {
		if (!n_all)
			break;

		n_all = 0;
		for (size_t at = 0; at < (size_t)fabric->n_switches * n_blocks; at++) {
			uint32_t v = (uint32_t)(at / n_blocks), n = 0,
				 lid = (uint32_t)(at % n_blocks) * OSR_MOVES_BLOCK,
				 end = lid + OSR_MOVES_BLOCK;

			if (!moves->sent[at] || moves->scratch->was_sent[at])
				continue;
			for (; lid < end && lid <= fabric->max_lid; lid++) {
				uint32_t d = fabric->lid_dest[lid];
				size_t entry = (size_t)d * fabric->n_switches + v;

				if (d == OSR_NONE || moves->hop[entry] == was[entry])
					continue;
				back[n] = d;
				moved[n] = moves->hop[entry];
				if (!moves_return(moves, d, v, was[entry], most))
					break;
				n++;
			}
			/* One entry cannot go back: the others move once more. */
			if (lid < end && lid <= fabric->max_lid)
				for (; n; n--)
					moves_return(moves, back[n - 1], v, moved[n - 1], ANY_LOAD);
			moves->sent[at] = !n;
			moves->n_moved -= n;
			n_all += n;
		}
	}
}

/* ---- all ------------------------------------------------------------------------------------- */

enum osr_status osr_moves_init(struct osr_moves *moves, struct osr_arena *arena,
			       struct osr_diag *diag)
{
	size_t n = moves->fabric->n_switches;
	struct moves_scratch *scratch = osr_calloc(arena, 1, sizeof(*scratch));

	if (scratch) {
		osr_tree_alloc(&scratch->tree, moves->fabric, arena);
		scratch->flow = osr_alloc(arena, n, sizeof(*scratch->flow));
		scratch->branch = osr_alloc(arena, n, sizeof(*scratch->branch));
		scratch->in = osr_alloc(arena, n, 1);
		scratch->way = osr_calloc(arena, n, sizeof(*scratch->way));
		scratch->closed = osr_calloc(arena, moves->fabric->n_channels, 1);
		scratch->max_made = moves->sent ? 0 : 4 * moves->fabric->n_channels;
		scratch->made = osr_alloc(arena, scratch->max_made, sizeof(*scratch->made));
		scratch->users = osr_alloc(arena, moves->fabric->n_dests, sizeof(*scratch->users));
		scratch->was = moves->sent ? osr_alloc(arena, moves->fabric->n_dests * n, 1) : NULL;
		scratch->was_sent =
			moves->sent ? osr_alloc(arena, osr_moves_blocks(moves->fabric) * n, 1)
				    : NULL;
	}
	moves->scratch = scratch;
	return osr_arena_failed(arena, diag) ? OSR_NOMEM : OSR_OK;
}

/* Is it worth its cost that the largest load falls from `most` to this? */
static bool moves_pays(int64_t cost, double shared, uint64_t most, uint64_t now)
{
	return now < most &&
	       (double)cost * MOVES_PRICE * (double)most <= shared * (double)(most - now);
}

void osr_moves_run(struct osr_moves *moves)
{
	struct moves_scratch *scratch = moves->scratch;
	size_t n = moves->fabric->n_switches, n_entries = moves->fabric->n_dests * n;
	uint32_t hot = moves_busiest(moves, 0, NULL);
	uint64_t most = hot == OSR_NONE ? 0 : moves->load[hot];
	double shared = 0;

	for (uint32_t c = 0; c < moves->fabric->n_channels; c++)
		if (moves->load[c])
			shared += (double)moves->load[c] * (double)moves->load[c] /
				  (double)moves_amount(moves, c, 1);
	scratch->work = MOVES_WORK + MOVES_WORK_ENTRY(moves->open) * (int64_t)n_entries;
	scratch->first = 0;
	scratch->n_made = 0;
	scratch->cost = 0;
	if (moves->sent) {
		memcpy(scratch->was, moves->hop, n_entries);
		memcpy(scratch->was_sent, moves->sent, osr_moves_blocks(moves->fabric) * n);
	}
	memset(scratch->closed, 0, moves->fabric->n_channels);
	while (scratch->work > 0 && moves_pays(scratch->cost, shared, most, moves->goal) &&
	       (scratch->hot = moves_busiest(moves, moves->goal, scratch->closed)) != OSR_NONE) {
		bool lighter;
		uint64_t now;

		scratch->passed = false;
		lighter = moves_relieve(moves);
		if (!lighter && !moves->sent)
			break;
		/*
		 * A load that is passed on comes to each channel once at most before something is
		 * gained.
		 */
		scratch->closed[scratch->hot] = !lighter || scratch->passed;
		if (scratch->closed[scratch->hot])
			continue;
		memset(scratch->closed, 0, moves->fabric->n_channels);
		/* All may be on channels that do not count. */
		hot = moves_busiest(moves, 0, NULL);
		now = hot == OSR_NONE ? 0 : moves->load[hot];
		if (moves_pays(scratch->cost, shared, most, now)) {
			most = now;
			scratch->n_made = 0;
			scratch->cost = 0;
		}
	}
	/* Back to the best tables. */
	while (scratch->n_made) {
		const struct made *last = &scratch->made[--scratch->n_made];

		moves_return(moves, last->d, last->v, last->was, ANY_LOAD);
	}
	if (moves->sent)
		moves_return_all(moves);
}
