/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Routes in the routing graph of the Angara interconnect.
 *
 * Source: Mukosey, Semenov, Tretiakov: Optimized Graph Based Routing Algorithm for the Angara
 * Interconnect. A packet uses the directions +X +Y ... -X -Y ... in this order and of each
 * dimension one (section 2.1). Its first step may be a positive one that breaks this, its last step
 * a negative one; turns against the order are those of theorem 2 (section 3.2).
 *
 * As an order of channels (docs/theory.md): all channels of a direction come before those of the
 * next one, but for the turns of theorem 2. A tree is built from its root outwards. What a packet
 * may have done before it comes to a switch depends on the rest of its route alone: on the next
 * direction and the directions that follow. That is the vertex of the routing graph, read
 * backwards, and the search keeps it for each switch (struct rest).
 *
 * DIFFERS from the paper:
 *   - One next hop a LID: what passes through a switch goes on as the switch's own packets do. So a
 *     first step that breaks the order is for switches through which nothing is sent.
 *   - Algorithms 1 to 4 search from a source. Here the trees of algorithm 4 are searched from the
 *     destination, one LID after the other, each by the load of all others. Unique routes first,
 *     the sort and the batches of algorithm 3 have no meaning for trees; rounds that route each
 *     tree again, and moves of branches (moves.h), take their place.
 *   - InfiniBand has no bubble rule: a whole ring is cut at place 0 on one lane and at the place
 *     opposite on another, and the SL has a digit for each ring that says which.
 */
#include <stdio.h>
#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/grid.h>
#include <osmroutes/span.h>

#include "core/route/span.h"

#include "../paths/spf_private.h"
#include "lanes_private.h"

#define GRAPH_ROUNDS 10
#define GRAPH_SLS 16
#define NOTE_SIZE 160

/* What is left of a route at a switch. */
struct rest {
	uint32_t lanes; /* two bits a dimension: lanes on which the rest is legal there */
	uint32_t used;  /* directions between the first and the last step */
	uint16_t n;     /* channels; OSR_NO_PLACE: none */
	bool first;     /* it begins with a first step: nothing comes before it */
};

struct graph {
	struct osr_lanes_job *job;
	struct osr_spf *spf;
	const struct osr_fabric *fabric;
	struct osr_grid grid;
	uint32_t n_lanes;
	uint32_t all;            /* lanes of a packet that has no rest */
	int digit[OSR_MAX_DIMS]; /* of the SL; -1: the dimension has one lane */
	uint32_t n_digits;
	struct osr_order channels;
	uint8_t *
		rises; /* [n_turns] lanes on which packets may go straight on, or 3: they may turn */

	/* Of those against the order: what find_turns() has found, all that steps could use, or none. */
	enum { TURNS_FOUND, TURNS_ALL, TURNS_NONE } turns;

	/* Of the tree at hand. */
	struct rest *rest;   /* [n_switches] */
	uint64_t *cost;      /* [n_switches] */
	uint16_t *order;     /* [n_switches] near ones first */
	uint32_t *n_through; /* [n_switches] switches that send to this one */
	uint32_t *path;      /* [n_switches] */
	uint32_t *head;      /* [n_switches + 2] */
	uint8_t *forced;     /* [n_switches] hops that it must have; OSR_NO_PATH: any */

	/* Where trees of shortest routes do not lead from everywhere: graph_force(). */
	uint8_t *all_forced;    /* [n_dests * n_switches] */
	uint8_t *wanted;        /* [n_turns] turns without which there was no route */
	bool again;             /* there are new ones */
	struct vertex *vertex;  /* [VERTICES * n_switches] */
	uint32_t *first_vertex; /* [n_switches] */
};

/* Of the routing graph: a switch, and what is left of a route there. */
struct vertex {
	struct rest rest;
	uint32_t c;      /* the next channel; OSR_NONE at the root */
	uint32_t next;   /* vertex behind it */
	uint32_t beside; /* another one of the same switch; OSR_NONE */
};

/* ---- turns ----------------------------------------------------------------------------------- */

/* Is this turn against the order, but one that a first or a last step can use? */
static bool is_added(const struct osr_grid *grid, uint32_t dir, uint32_t to)
{
	return to < dir && (dir < grid->n_dims || to >= grid->n_dims);
}

/* Does the row of channel c come back to where it begins? */
static bool is_whole_ring(const struct graph *graph, uint32_t c)
{
	const struct osr_fabric *fabric = graph->fabric;
	uint32_t start = fabric->chan_src[c], v = fabric->chan_dst[c], next = c;

	for (; v != start; v = fabric->chan_dst[next]) {
		next = OSR_NONE;
		OSR_EACH_CHANNEL(out, fabric, v)
			next = graph->grid.dir[out] == graph->grid.dir[c] ? out : next;
		if (next == OSR_NONE)
			return false;
	}
	return true;
}

/*
 * Upwards and downwards a ring with a digit is cut at the same places, so that replies cross a cut
 * where their requests do. A ring of 4 without one is cut at place 0 upwards, at 1 downwards: then
 * two of its opposite pairs go up, two down, and all channels carry as much.
 */
static uint8_t straight_on(const struct graph *graph, uint32_t c)
{
	uint32_t dir = graph->grid.dir[c], i = osr_grid_dim(&graph->grid, dir),
		 at = graph->grid.at[(size_t)graph->fabric->chan_dst[c] * graph->grid.n_dims + i];

	if (!is_whole_ring(graph, c))
		return 3;
	if (graph->digit[i] < 0)
		return at != (dir >= graph->grid.n_dims);
	return (uint8_t)((at != 0) | (at != graph->grid.size[i] / 2) << 1);
}

/* The lane of a class of SLs, whose bits are the digits, on a channel. */
static uint32_t graph_lane(const struct graph *graph, uint32_t class, uint32_t c)
{
	int digit = graph->digit[osr_grid_dim(&graph->grid, graph->grid.dir[c])];

	return digit < 0 ? 0 : class >> digit & 1;
}

/* Packets may take the turn on the lanes in rises[]; false: that closes a cycle. */
static bool graph_add(struct graph *graph, uint32_t c, uint32_t turn)
{
	uint32_t next = osr_turn_next(graph->fabric, c, turn), n_classes = 1u << graph->n_digits;
	bool straight = graph->grid.dir[next] == graph->grid.dir[c];
	uint32_t classes = 0;

	for (uint32_t class = 0; class < n_classes; class ++)
		if (!straight || (graph->rises[turn] >> graph_lane(graph, class, c) & 1))
			classes |= 1u << class;
	osr_order_begin(&graph->channels);
	return osr_order_add(&graph->channels, c, next, (uint16_t)classes);
}

/* By direction; within a ring from place 0 on. */
static enum osr_status start_order(struct graph *graph)
{
	const struct osr_fabric *fabric = graph->fabric;
	const struct osr_grid *grid = &graph->grid;
	struct osr_arena *scratch = graph->job->scratch;
	uint32_t m = fabric->n_channels, n_classes = 1u << graph->n_digits,
		 *keys = osr_alloc(scratch, (size_t)graph->n_lanes * m, sizeof(*keys));
	uint8_t *vl = osr_alloc(scratch, (size_t)n_classes * m, 1);

	if (osr_arena_failed(scratch, graph->job->diag))
		return OSR_NOMEM;
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t dir = grid->dir[c], i = osr_grid_dim(grid, dir),
			 at = grid->at[(size_t)fabric->chan_src[c] * grid->n_dims + i];

		for (uint32_t class = 0; class < n_classes; class ++)
			vl[(size_t) class * m + c] = (uint8_t)graph_lane(graph, class, c);
		for (uint32_t lane = 0; lane < graph->n_lanes; lane++) {
			uint32_t from = lane * (grid->size[i] / 2),
				 gap = dir < grid->n_dims ? at + grid->size[i] - from
							  : from + grid->size[i] - at;

			keys[lane * m + c] = dir << 16 | gap % grid->size[i];
		}
	}
	if (osr_order_init(&graph->channels, fabric, graph->n_lanes, false, keys, GRAPH_SLS,
			   scratch, graph->job->diag))
		return OSR_NOMEM;
	graph->channels.vl = vl;
	return OSR_OK;
}

/*
 * In order of directions first; then turns against it that close no cycle, those that routes want
 * before the others, channel by channel, lower directions first.
 */
static enum osr_status find_turns(struct graph *graph)
{
	const struct osr_fabric *fabric = graph->fabric;
	const struct osr_grid *grid = &graph->grid;
	enum osr_status st = start_order(graph);
	uint64_t max_work = graph->channels.max_work;

	if (st)
		return st;
	graph->channels.max_work = UINT64_MAX;
	OSR_EVERY_CHANNEL(c, fabric)
		OSR_EACH_TURN(t, fabric, c) {
			uint32_t dir = grid->dir[c], to = grid->dir[osr_turn_next(fabric, c, t)];
			bool added;

			if (to < dir || to == osr_grid_back(grid, dir))
				continue;
			graph->rises[t] = to == dir ? straight_on(graph, c) : 3;
			added = graph_add(graph, c, t);
			osr_invariant(added);
		}
	graph->channels.max_work = max_work;
	for (uint32_t wanted = 2; wanted--;)
		OSR_EVERY_CHANNEL(c, fabric)
			for (uint32_t to = 0; to < grid->dir[c]; to++)
				OSR_EACH_TURN(t, fabric, c)
					if (graph->wanted[t] == wanted &&
					    grid->dir[osr_turn_next(fabric, c, t)] == to &&
					    is_added(grid, grid->dir[c], to))
						graph->rises[t] = graph_add(graph, c, t) ? 3 : 0;
	return OSR_OK;
}

/* ---- one tree -------------------------------------------------------------------------------- */

/*
 * The rest of a route that begins with channel c and has `next` behind it, which begins with c1;
 * OSR_NONE: c leads to the root. False: there is none.
 */
static bool graph_join(const struct graph *graph, uint32_t c, uint32_t c1, struct rest next,
		       struct rest *rest)
{
	const struct osr_grid *grid = &graph->grid;
	uint32_t dir = grid->dir[c], to, rises, lanes, i = osr_grid_dim(grid, dir);
	bool in_order;

	*rest = (struct rest){ .lanes = graph->all, .used = 1u << dir, .n = 1 };
	if (c1 == OSR_NONE)
		return true;
	to = grid->dir[c1];
	rises = graph->rises[osr_turn(graph->fabric, c, c1)];
	if (is_added(grid, dir, to) && graph->turns != TURNS_FOUND)
		rises = graph->turns == TURNS_ALL ? 3 : 0;
	if (next.n == OSR_NO_PLACE || next.first || !rises)
		return false;
	rest->n = next.n + 1;
	rest->lanes = next.lanes;
	lanes = next.lanes >> 2 * i & rises & 3;
	if (dir == to) {
		rest->lanes = (next.lanes & ~(3u << 2 * i)) | lanes << 2 * i;
		rest->used = next.used;
		return lanes;
	}
	/* A single negative step may be the last one: then its direction is not in the bits. */
	if (next.n == 1 && to >= grid->n_dims && (dir < to || dir >= grid->n_dims))
		return true;
	in_order = dir < to && !(next.used >> osr_grid_back(grid, dir) & 1);
	rest->used |= next.used;
	rest->first = !in_order;
	return in_order || dir < grid->n_dims;
}

/* The same of a tree in which hop[] and rest[] are known from the end of c on. */
static bool graph_extend(const struct graph *graph, const uint8_t *hop, uint32_t root, uint32_t c,
			 struct rest *rest)
{
	uint32_t u = graph->fabric->chan_dst[c];

	if (u != root && graph->rest[u].n == OSR_NO_PLACE)
		return false;
	return graph_join(graph, c, u == root ? OSR_NONE : graph->fabric->chan_row[u] + hop[u],
			  graph->rest[u], rest);
}

/* Attaches v by channel c if that is possible, and shorter or lighter than what it has. */
static bool graph_attach(struct graph *graph, uint8_t *hop, uint32_t root, uint32_t v, uint32_t c,
			 bool first)
{
	uint64_t cost =
		graph->cost[graph->fabric->chan_dst[c]] + (graph->spf->weight[c] & ~HOP_MASK);
	uint8_t forced = graph->forced[v];
	struct rest rest;

	if (forced != OSR_NO_PATH && graph->fabric->chan_row[v] + forced != c)
		return false;
	if (!graph_extend(graph, hop, root, c, &rest) ||
	    (rest.first > first && forced == OSR_NO_PATH) || rest.n > graph->rest[v].n ||
	    (rest.n == graph->rest[v].n && cost >= graph->cost[v]))
		return false;
	graph->rest[v] = rest;
	graph->cost[v] = cost;
	hop[v] = (uint8_t)(c - graph->fabric->chan_row[v]);
	return true;
}

/* Where nothing is sent through a switch, a first step may be its only way, or a shorter one. */
static void graph_first_steps(struct graph *graph, uint8_t *hop, uint32_t root)
{
	const struct osr_fabric *fabric = graph->fabric;
	uint32_t n = fabric->n_switches;

	memset(graph->n_through, 0, n * sizeof(*graph->n_through));
	OSR_EACH_SWITCH(v, fabric)
		if (graph->rest[v].n && graph->rest[v].n != OSR_NO_PLACE)
			graph->n_through[osr_next_switch(fabric, hop, v)]++;
	/* Far ones first; those without a way before them. */
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = n; i-- > 0;) {
			uint32_t v = graph->order[i], was;

			if (v == root || graph->n_through[v] ||
			    (graph->rest[v].n == OSR_NO_PLACE) == pass)
				continue;
			was = pass ? osr_next_switch(fabric, hop, v) : OSR_NONE;
			OSR_EACH_CHANNEL(c, fabric, v)
				graph_attach(graph, hop, root, v, c, true);
			if (graph->rest[v].n == OSR_NO_PLACE)
				continue;
			if (was != OSR_NONE)
				graph->n_through[was]--;
			graph->n_through[osr_next_switch(fabric, hop, v)]++;
		}
}

/* The switches of the tree by the length of their routes; how many have one. */
static uint32_t graph_sort(struct graph *graph)
{
	uint32_t n = graph->fabric->n_switches, n_reached = 0;

	memset(graph->head, 0, (n + 2) * sizeof(*graph->head));
	OSR_EACH_SWITCH(v, graph->fabric) {
		bool reached = graph->rest[v].n != OSR_NO_PLACE;

		n_reached += reached;
		graph->head[(reached ? graph->rest[v].n : n) + 1]++;
	}
	for (uint32_t k = 0; k <= n; k++)
		graph->head[k + 1] += graph->head[k];
	OSR_EACH_SWITCH(v, graph->fabric) {
		uint32_t len = graph->rest[v].n == OSR_NO_PLACE ? n : graph->rest[v].n;

		graph->order[graph->head[len]++] = (uint16_t)v;
	}
	return n_reached;
}

/* Algorithm 4, from the root outwards: the least weight among the shortest. How many are reached. */
static uint32_t graph_tree(struct graph *graph, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *fabric = graph->fabric;
	uint32_t n = fabric->n_switches, head = 0, tail = 1;

	memset(hop, OSR_NO_PATH, n);
	for (uint32_t v = 0; v < n; v++)
		graph->rest[v] = (struct rest){ .n = OSR_NO_PLACE };
	graph->rest[root] = (struct rest){ .lanes = graph->all };
	graph->cost[root] = 0;
	graph->order[0] = (uint16_t)root;
	for (; head < tail; head++) {
		uint32_t u = graph->order[head];

		OSR_EACH_CHANNEL(c, fabric, u) {
			uint32_t v = fabric->chan_dst[c];
			bool fresh = graph->rest[v].n == OSR_NO_PLACE;

			if (graph->rest[v].n > graph->rest[u].n &&
			    graph_attach(graph, hop, root, v, fabric->chan_rev[c], false) && fresh)
				graph->order[tail++] = (uint16_t)v;
		}
	}
	graph_sort(graph);
	graph_first_steps(graph, hop, root);
	return graph_sort(graph);
}

/*
 * ---- trees with longer routes -------------------------------------------------------------------
 *
 * In a damaged grid the shortest routes of some switches may leave others without a legal one. Then
 * the graph itself is searched for a route of such a switch, as the paper does, and this route is
 * forced on all switches on it: each rest of a legal route is legal. The tree is made again around
 * it, until every switch has a route, or the graph has none beside those that are forced.
 */

#define VERTICES 64    /* of a switch, on average */
#define FORCE_TRIES 16 /* of a tree, with nothing forced */

/* Is there a vertex of the switch from which at least as much can begin? */
static bool is_known(const struct graph *graph, uint32_t v, const struct vertex *other)
{
	for (uint32_t k = graph->first_vertex[v]; k != OSR_NONE; k = graph->vertex[k].beside) {
		const struct vertex *vertex = &graph->vertex[k];

		if (vertex->c == other->c && vertex->rest.first <= other->rest.first &&
		    !(vertex->rest.used & ~other->rest.used) &&
		    !(other->rest.lanes & ~vertex->rest.lanes))
			return true;
	}
	return false;
}

static bool passes(const struct graph *graph, uint32_t k, uint32_t v)
{
	for (; graph->vertex[k].c != OSR_NONE; k = graph->vertex[k].next)
		if (graph->fabric->chan_src[graph->vertex[k].c] == v)
			return true;
	return false;
}

/* The first vertex of `target` that a search from the root finds; OSR_NONE. */
static uint32_t graph_find(struct graph *graph, uint32_t root, uint32_t target)
{
	const struct osr_fabric *fabric = graph->fabric;
	uint32_t most = VERTICES * fabric->n_switches, n = 1;

	memset(graph->first_vertex, 0xff, fabric->n_switches * sizeof(*graph->first_vertex));
	graph->vertex[0] = (struct vertex){ { .lanes = graph->all }, OSR_NONE, OSR_NONE, OSR_NONE };
	for (uint32_t k = 0; k < n && n < most; k++) {
		const struct vertex *at = &graph->vertex[k];
		uint32_t u = at->c == OSR_NONE ? root : fabric->chan_src[at->c];

		OSR_EACH_CHANNEL(out, fabric, u) {
			uint32_t c = fabric->chan_rev[out], v = fabric->chan_src[c];
			struct vertex vertex = { .c = c, .next = k };

			if (v == root || n == most ||
			    (graph->forced[v] != OSR_NO_PATH &&
			     fabric->chan_row[v] + graph->forced[v] != c) ||
			    !graph_join(graph, c, at->c, at->rest, &vertex.rest) ||
			    is_known(graph, v, &vertex) || passes(graph, k, v))
				continue;
			vertex.beside = graph->first_vertex[v];
			graph->first_vertex[v] = n;
			graph->vertex[n] = vertex;
			if (v == target)
				return n;
			n++;
		}
	}
	return OSR_NONE;
}

/* How many switches have a route in the end. */
static uint32_t graph_force(struct graph *graph, uint32_t root, uint32_t d, uint32_t n_reached)
{
	const struct osr_fabric *fabric = graph->fabric;
	uint32_t n = fabric->n_switches, n_tries = FORCE_TRIES;

	while (n_reached < n) {
		uint32_t v = graph->order[n_reached], k = graph_find(graph, root, v);

		/* Perhaps another one can have its way around this one's. */
		if (k == OSR_NONE && n_tries) {
			n_tries--;
			memset(graph->forced, OSR_NO_PATH, n);
			k = graph_find(graph, root, v);
		}
		if (k == OSR_NONE)
			break;
		for (; graph->vertex[k].c != OSR_NONE; k = graph->vertex[k].next) {
			uint32_t c = graph->vertex[k].c, from = fabric->chan_src[c];

			graph->forced[from] = (uint8_t)(c - fabric->chan_row[from]);
		}
		n_reached = graph_tree(graph, root, graph->spf->hop + (size_t)d * n);
	}
	return n_reached;
}

/* The rests of a tree as it is, all of which are legal. */
static void graph_lay(struct graph *graph, uint32_t d)
{
	const struct osr_fabric *fabric = graph->fabric;
	const uint8_t *hop = graph->spf->hop + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d];

	OSR_EACH_SWITCH(v, fabric)
		graph->rest[v] = (struct rest){ .n = OSR_NO_PLACE };
	graph->rest[root] = (struct rest){ .lanes = graph->all };
	OSR_EACH_SWITCH(v, fabric) {
		uint32_t depth = 0;

		for (uint32_t u = v; graph->rest[u].n == OSR_NO_PLACE;
		     u = osr_next_switch(fabric, hop, u))
			graph->path[depth++] = u;
		while (depth--) {
			uint32_t u = graph->path[depth];
			struct rest rest;

			graph_extend(graph, hop, root, fabric->chan_row[u] + hop[u], &rest);
			graph->rest[u] = rest;
		}
	}
}

/* The turns of a route from v that are not there. False: none would help. */
static bool graph_want(struct graph *graph, uint32_t root, uint32_t v)
{
	const struct osr_fabric *fabric = graph->fabric;
	uint32_t k, next;
	bool wants = false;

	memset(graph->forced, OSR_NO_PATH, fabric->n_switches);
	graph->turns = TURNS_ALL;
	k = graph_find(graph, root, v);
	graph->turns = TURNS_FOUND;
	for (; k != OSR_NONE && graph->vertex[k].next != OSR_NONE; k = next) {
		uint32_t turn;

		next = graph->vertex[k].next;
		if (graph->vertex[next].c == OSR_NONE)
			break;
		turn = osr_turn(fabric, graph->vertex[k].c, graph->vertex[next].c);
		wants |= !graph->rises[turn] && !graph->wanted[turn];
		graph->wanted[turn] |= !graph->rises[turn];
	}
	return wants;
}

/* ---- balance --------------------------------------------------------------------------------- */

/* The tree of a LID, with all others in place. */
static enum osr_status graph_route(struct graph *graph, uint32_t root, uint32_t d, bool again)
{
	const struct osr_fabric *fabric = graph->fabric;
	struct osr_spf *spf = graph->spf;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	bool counts = fabric->term_weight[fabric->dest_term[d]];
	uint32_t n_reached;
	char name[32];

	if (again && counts) {
		graph_lay(graph, d);
		osr_spf_count_order(spf, graph->order, graph_sort(graph), hop, UINT64_MAX);
	}
	graph->forced = graph->all_forced + (size_t)d * fabric->n_switches;
	n_reached = graph_tree(graph, root, hop);
	if (graph->turns == TURNS_NONE && n_reached < fabric->n_switches)
		return OSR_NOT_APPLICABLE;
	n_reached = graph_force(graph, root, d, n_reached);
	for (uint32_t i = n_reached; i < fabric->n_switches; i++)
		graph->again |= graph_want(graph, root, graph->order[i]);
	if (n_reached < fabric->n_switches)
		return osr_fail(graph->job->diag, OSR_NOT_APPLICABLE,
				"the routing graph has no route from switch %s to LID %u",
				osr_switch_name(fabric, graph->order[n_reached], name),
				fabric->dest_lid[d]);
	if (counts)
		osr_spf_count_order(spf, graph->order, n_reached, hop, 1);
	return OSR_OK;
}

static enum osr_status graph_rounds(struct graph *graph)
{
	struct osr_spf *spf = graph->spf;
	enum osr_status st = OSR_OK;

	osr_spf_forget(spf);
	for (uint32_t round = 0; round < GRAPH_ROUNDS; round++) {
		if (st || (round && osr_spf_balanced(spf)))
			break;
		for (uint32_t root = 0; root < graph->fabric->n_switches; root++)
			for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++)
				if (!st && spf->alias[spf->dest_list[k]] == OSR_NONE)
					st = graph_route(graph, root, spf->dest_list[k], round);
	}
	return st;
}

/* May v send to d by c, with all that send through it? */
static bool graph_may(struct osr_moves *moves, uint32_t d, uint32_t v, uint32_t c,
		      const uint16_t *list, uint32_t n)
{
	struct graph *graph = moves->ctx;
	const struct osr_fabric *fabric = graph->fabric;
	uint8_t *hop = graph->spf->hop + (size_t)d * fabric->n_switches, was = hop[v];
	uint32_t root = fabric->dest_switch[d], depth = 0, *path = graph->path;
	struct rest rest;
	bool legal = true;

	OSR_EACH_SWITCH(u, fabric)
		graph->rest[u] = (struct rest){ .n = OSR_NO_PLACE };
	graph->rest[root] = (struct rest){ .lanes = graph->all };
	hop[v] = (uint8_t)(c - fabric->chan_row[v]);
	for (uint32_t u = v; u != root; u = osr_next_switch(fabric, hop, u))
		path[depth++] = u;
	while (depth-- && legal) {
		uint32_t u = path[depth];

		legal = graph_extend(graph, hop, root, fabric->chan_row[u] + hop[u], &rest);
		graph->rest[u] = rest;
	}
	/* Of the switches in the list, those that send through v. */
	for (uint32_t i = 0; i < n && legal; i++) {
		uint32_t u = list[i];

		if (u == root || graph->rest[u].n != OSR_NO_PLACE ||
		    graph->rest[osr_next_switch(fabric, hop, u)].n == OSR_NO_PLACE)
			continue;
		legal = graph_extend(graph, hop, root, fabric->chan_row[u] + hop[u], &rest);
		graph->rest[u] = rest;
	}
	hop[v] = was;
	return legal;
}

static void graph_ease(struct graph *graph)
{
	struct osr_moves moves = *graph->spf->scratch->moves;
	uint64_t sum;

	osr_spf_busiest(graph->spf, &sum);
	moves.settled = moves.n_settled = NULL;
	moves.open = true;
	moves.place = NULL;
	moves.ctx = graph;
	moves.may = graph_may;
	osr_spf_move(graph->spf, &moves, sum / graph->fabric->n_channels);
}

/*
 * Where hosts and cables are even, directions in order load all channels alike, and steps against
 * it would only disturb that. So these may come last: the better of both stays.
 */
static enum osr_status graph_in_order(struct graph *graph)
{
	struct osr_spf_saved saved;
	uint64_t load = osr_spf_load(graph->spf);
	enum osr_status st =
		osr_spf_save(graph->spf, graph->job->scratch, &saved, graph->job->diag);

	if (st)
		return st;
	graph->turns = TURNS_NONE;
	st = graph_rounds(graph);
	graph->turns = TURNS_FOUND;
	if (!st)
		graph_ease(graph);
	if (st || osr_spf_load(graph->spf) > load)
		osr_spf_restore(graph->spf, &saved);
	return OSR_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The n-th VL that multicast does not have for itself. */
static uint8_t graph_vl(const struct osr_request *req, uint32_t lane)
{
	return (uint8_t)(lane + (req->multicast && lane >= req->mcast_vl));
}

/* The same of SLs: multicast is sent on the SL of its VL. */
static uint8_t graph_sl(const struct graph *graph, uint32_t lanes)
{
	const struct osr_request *req = graph->job->req;
	uint32_t sl = 0;

	for (uint32_t i = 0; i < graph->grid.n_dims; i++)
		if (graph->digit[i] >= 0 && !(lanes >> 2 * i & 1))
			sl |= 1u << graph->digit[i];
	return (uint8_t)(sl + (req->multicast && sl >= req->mcast_vl));
}

/* The lanes on which a request and its reply are legal, where there are such, else those of one. */
static uint32_t join(const struct graph *graph, uint32_t mine, uint32_t both, bool *all)
{
	uint32_t joined = 0;

	for (uint32_t i = 0; i < graph->grid.n_dims; i++) {
		uint32_t lanes = both & 3u << 2 * i;

		*all &= lanes != 0;
		joined |= lanes ? lanes : mine & 3u << 2 * i;
	}
	return joined;
}

static enum osr_status graph_sls(struct graph *graph, bool *replies)
{
	const struct osr_fabric *fabric = graph->fabric;
	struct osr_routing *routing = graph->job->routing;
	size_t n = fabric->n_switches;
	uint32_t *both = osr_alloc(graph->job->scratch, n * n, sizeof(*both));

	routing->sl = osr_alloc(graph->job->result, fabric->n_dests * n, 1);
	if (!both || !routing->sl)
		return osr_fail(graph->job->diag, OSR_NOMEM, "out of memory for SLs of %u LIDs",
				fabric->n_dests);
	memset(both, 0xff, n * n * sizeof(*both));
	OSR_EACH_DEST(d, fabric) {
		uint32_t root = fabric->dest_switch[d];

		graph_lay(graph, d);
		OSR_EACH_SWITCH(v, fabric) {
			both[v * n + root] &= graph->rest[v].lanes;
			both[root * n + v] &= graph->rest[v].lanes;
			routing->n_longer +=
				v != root && (graph->rest[v].n & 0xff) !=
						     graph->spf->scratch->dist8[root * n + v];
		}
	}
	*replies = true;
	OSR_EACH_DEST(d, fabric) {
		graph_lay(graph, d);
		OSR_EACH_SWITCH(v, fabric)
			routing->sl[d * n + v] = graph_sl(
				graph, join(graph, graph->rest[v].lanes,
					    both[v * n + fabric->dest_switch[d]], replies));
	}
	return OSR_OK;
}

static enum osr_status graph_sl2vl(const struct graph *graph)
{
	const struct osr_lanes_job *job = graph->job;
	const struct osr_fabric *fabric = graph->fabric;
	struct osr_routing *routing = job->routing;
	bool shift = job->req->multicast;

	if (osr_routing_alloc_sl2vl(routing, fabric, OSR_VL_UNSET, job->result, job->diag))
		return OSR_NOMEM;
	OSR_EACH_SWITCH(v, fabric) {
		uint32_t n_ports = fabric->sw_n_ports[v] + 1u;
		osr_sl2vl_t *table = routing->sl2vl + routing->sl2vl_row[v];

		for (uint32_t out = 0; out < n_ports; out++) {
			uint32_t c = osr_port_channel(fabric, v, out);
			int digit = c == OSR_NONE ? -1
						  : graph->digit[osr_grid_dim(&graph->grid,
									      graph->grid.dir[c])];

			for (uint32_t sl = 0; sl < GRAPH_SLS; sl++) {
				uint32_t own = sl - (shift && sl > job->req->mcast_vl);

				if (shift && sl == job->req->mcast_vl)
					table[out][sl] = job->req->mcast_vl;
				else
					table[out][sl] = graph_vl(
						job->req, digit >= 0 ? own >> digit & 1 : 0);
			}
		}
		for (uint32_t in = 1; in < n_ports; in++)
			memcpy(table + in * n_ports, table, n_ports * sizeof(*table));
	}
	memset(routing->ca_sl2vl, 0, sizeof(routing->ca_sl2vl));
	return OSR_OK;
}

/* Multicast has a VL of its own, and up*down* order there. */
static enum osr_status graph_multicast(const struct graph *graph, uint32_t *rank)
{
	const struct osr_lanes_job *job = graph->job;
	uint32_t n = graph->fabric->n_switches, *place = osr_alloc(job->scratch, n, sizeof(*place)),
		 *by_place = osr_alloc(job->scratch, n, sizeof(*by_place)),
		 *depth = osr_alloc(job->scratch, n, sizeof(*depth)),
		 *parent = osr_alloc(job->scratch, n, sizeof(*parent));

	if (osr_arena_failed(job->scratch, job->diag))
		return OSR_NOMEM;
	osr_order_number(graph->fabric, graph->spf->center, place, by_place);
	osr_span_in_order(graph->fabric, place, by_place, depth, parent);
	osr_span_rank(graph->fabric, place, rank);
	return osr_span_take(graph->fabric, parent, job->scratch, job->result, job->routing,
			     job->diag);
}

/* How many routes broke the order of directions, for the log. */
static enum osr_status graph_note(struct graph *graph)
{
	const struct osr_fabric *fabric = graph->fabric;
	struct osr_routing *routing = graph->job->routing;
	char *note = osr_alloc(graph->job->result, NOTE_SIZE, 1);
	uint8_t *dir = osr_alloc(graph->job->scratch, fabric->n_switches, 1);
	uint64_t n_by[OSR_GRID_AGAINST + 1] = { 0 };

	if (!note || !dir)
		return osr_fail(graph->job->diag, OSR_NOMEM, "out of memory for a note");
	OSR_EACH_DEST(d, fabric)
		OSR_EACH_SWITCH(v, fabric) {
			const uint8_t *hop = graph->spf->hop + (size_t)d * fabric->n_switches;
			uint32_t n = 0;

			for (uint32_t u = v; u != fabric->dest_switch[d];
			     u = osr_next_switch(fabric, hop, u))
				dir[n++] = graph->grid.dir[fabric->chan_row[u] + hop[u]];
			n_by[osr_grid_judge(&graph->grid, dir, n)]++;
		}
	osr_invariant(!n_by[OSR_GRID_AGAINST]);
	snprintf(note, NOTE_SIZE,
		 "routing graph: the order of directions is broken by the first step of %llu "
		 "routes, "
		 "by the last step of %llu",
		 (unsigned long long)(n_by[OSR_GRID_FIRST_STEP] + n_by[OSR_GRID_BOTH_STEPS]),
		 (unsigned long long)(n_by[OSR_GRID_LAST_STEP] + n_by[OSR_GRID_BOTH_STEPS]));
	routing->note = note;
	return OSR_OK;
}

static enum osr_status graph_finish(struct graph *graph)
{
	const struct osr_lanes_job *job = graph->job;
	const struct osr_request *req = job->req;
	struct osr_routing *routing = job->routing;
	size_t m = graph->fabric->n_channels;
	bool replies;
	enum osr_status st = OSR_OK;

	osr_spf_share(graph->spf);
	routing->n_layers = routing->n_layers_one_way = (uint8_t)graph->n_lanes;
	routing->n_vls = graph_vl(req, graph->n_lanes - 1) + 1;
	routing->mcast_vl = 0;
	if (req->multicast) {
		routing->mcast_vl = req->mcast_vl;
		routing->n_vls =
			req->mcast_vl >= routing->n_vls ? req->mcast_vl + 1 : routing->n_vls;
	}
	routing->rank = osr_calloc(job->result, routing->n_vls * m, sizeof(*routing->rank));
	if (!routing->rank)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for an order of %zu channels",
				m);
	for (uint32_t lane = 0; lane < graph->n_lanes; lane++)
		memcpy(routing->rank + graph_vl(req, lane) * m, graph->channels.rank + lane * m,
		       m * sizeof(*routing->rank));
	if (req->multicast)
		st = graph_multicast(graph, routing->rank + req->mcast_vl * m);
	if (!st)
		st = graph_sls(graph, &replies);
	if (!st)
		st = graph_sl2vl(graph);
	if (!st)
		st = graph_note(graph);
	routing->claims |= OSR_CLAIM_DEADLOCK_FREE | (req->multicast ? OSR_CLAIM_MULTICAST : 0);
	if (!st && replies)
		routing->claims |= OSR_CLAIM_REVERSIBLE;
	routing->strategy = "routing graph";
	return st;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The longest rings of 4 or more have a digit of the SL each; of 16 SLs one is multicast's. */
static void graph_digits(struct graph *graph)
{
	uint32_t most = graph->job->req->multicast ? 3 : 4;

	memset(graph->digit, 0xff, sizeof(graph->digit));
	for (graph->n_digits = 0; graph->n_lanes > 1 && graph->n_digits < most; graph->n_digits++) {
		uint32_t longest = OSR_NONE;

		for (uint32_t i = 0; i < graph->grid.n_dims; i++)
			if (graph->grid.ring[i] && graph->grid.size[i] > 3 && graph->digit[i] < 0 &&
			    (longest == OSR_NONE ||
			     graph->grid.size[i] > graph->grid.size[longest]))
				longest = i;
		if (longest == OSR_NONE)
			break;
		graph->digit[longest] = (int)graph->n_digits;
	}
	graph->n_lanes = graph->n_digits ? 2 : 1;
	for (uint32_t i = 0; i < graph->grid.n_dims; i++)
		graph->all |= (graph->digit[i] < 0 ? 1u : 3u) << 2 * i;
}

enum osr_status osr_graph_route(struct osr_lanes_job *job)
{
	const struct osr_fabric *fabric = job->spf->fabric;
	struct osr_arena *scratch = job->scratch;
	uint32_t n = fabric->n_switches, n_vls = job->req->max_vls - job->req->multicast;
	struct graph graph = { .job = job, .spf = job->spf, .fabric = fabric };
	enum osr_status st;

	if (!n_vls)
		return osr_fail(job->diag, OSR_NO_VL,
				"the routing graph needs a virtual lane beside that of multicast");
	st = osr_grid_find(fabric, scratch, &graph.grid, job->diag);
	if (st)
		return st;
	graph.n_lanes = n_vls > 1 ? 2 : 1;
	graph_digits(&graph);
	graph.rises = osr_calloc(scratch, osr_n_turns(fabric), 1);
	graph.rest = osr_alloc(scratch, n, sizeof(*graph.rest));
	graph.cost = osr_alloc(scratch, n, sizeof(*graph.cost));
	graph.order = osr_alloc(scratch, n, sizeof(*graph.order));
	graph.n_through = osr_alloc(scratch, n, sizeof(*graph.n_through));
	graph.path = osr_alloc(scratch, n, sizeof(*graph.path));
	graph.head = osr_alloc(scratch, n + 2, sizeof(*graph.head));
	graph.all_forced = osr_alloc(scratch, (size_t)fabric->n_dests * n, 1);
	graph.vertex = osr_alloc(scratch, (size_t)n * VERTICES, sizeof(*graph.vertex));
	graph.first_vertex = osr_alloc(scratch, n, sizeof(*graph.first_vertex));
	graph.wanted = osr_calloc(scratch, osr_n_turns(fabric), 1);
	if (osr_arena_failed(scratch, job->diag))
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for a routing graph");
	do {
		struct osr_arena_mark mark = osr_arena_mark(scratch);

		graph.again = false;
		memset(graph.rises, 0, osr_n_turns(fabric));
		memset(graph.all_forced, OSR_NO_PATH, (size_t)fabric->n_dests * n);
		st = find_turns(&graph);
		if (!st)
			st = graph_rounds(&graph);
		if (graph.again)
			osr_arena_reset(scratch, mark);
	} while (graph.again);
	if (st)
		return st;
	graph_ease(&graph);
	st = graph_in_order(&graph);
	return st ? st : graph_finish(&graph);
}
