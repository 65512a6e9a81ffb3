/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lanes.h - routes without deadlock on the virtual lanes there are: the strategies, as a table.
 *
 * A strategy runs if the strategies before it have left the state that it starts from. It completes
 * the routing, improves a complete routing, or changes nothing. The order of the table
 * (src/core/lanes/strategies.c) is the order in which they are tried.
 *
 * An engine that has its own routes starts with osr_lanes_assign(). An engine that has none calls
 * osr_lanes_route(), which makes balanced shortest paths (spf.h) first.
 */
#ifndef OSMROUTES_LANES_H
#define OSMROUTES_LANES_H

#include <osmroutes/engine.h>
#include <osmroutes/product.h>
#include <osmroutes/spf.h>

/*
 * Virtual layers: which route travels on which virtual lane, so that none can deadlock.
 *
 * Source: Domke 2011, section IV, Algorithm 2 (offline): start with all routes in the first layer,
 * cut the cycles of its channel dependency graph by moving the routes that induce a chosen edge to
 * the next layer, go on there. Which edge to choose is an option:
 *	order		an order of the channels with little weight going backward; all routes with
 *			a backward edge move at once (default; see fit.h)
 *	weakest		the edge of a found cycle that the fewest routes induce (the paper's best)
 *	heaviest	the edge that the most routes induce
 *	first		the first edge of the cycle (the paper's pseudo-random choice)
 *	online		no edge: one route after the other goes to the first layer where it closes
 *			no cycle (the paper's first approach; LASH)
 *
 * A route is (source switch, dest): hosts of one switch share all channels. Counted routes are
 *	- from every switch to every CA and router LID (hosts send; port 0 answers requests), and
 *	- from every switch with a CA or router to every port 0.
 * Routes from port 0 to port 0 of another switch exist, but no packet travels them: port 0 answers
 * requests, and requests are sent by end ports. They are left out of the dependency graph; in a
 * tree they would be the only routes that turn from down to up.
 *
 * Reversible: replies travel on the SL of the request (management responses; connected queue pairs
 * set up by the communication manager). Then all routes between two switches, in both directions,
 * are legal on one lane, and SL(a,b) = SL(b,a); more layers are added for pairs that have none in
 * common.
 *
 * Multicast (struct osr_request) is a spanning order whose dependencies stay in the first layer.
 */
enum osr_heuristic {
	OSR_HEURISTIC_ORDER,
	OSR_HEURISTIC_WEAKEST,
	OSR_HEURISTIC_HEAVIEST,
	OSR_HEURISTIC_FIRST,
	OSR_HEURISTIC_ONLINE,
};

enum osr_reversible {
	OSR_REVERSIBLE_AUTO, /* if the budget allows, else one-way */
	OSR_REVERSIBLE_ON,   /* or OSR_NO_VL */
	OSR_REVERSIBLE_OFF,
};

struct osr_layers_options {
	enum osr_heuristic heuristic;
	enum osr_reversible reversible;
};

/* Lanes by turn (turn.h): free of deadlock whatever SL a packet carries. */
enum osr_any_sl {
	OSR_ANY_SL_OFF,
	OSR_ANY_SL_ON,
	OSR_ANY_SL_AUTO, /* where it costs little */
	OSR_ANY_SL_KEEP, /* auto, and osr_request.keep_any_sl */
};

struct osr_lanes_options {
	enum osr_any_sl any_sl;
	/* auto: percent of the routes that may be longer */
	uint32_t any_sl_cost;
	struct osr_spf_options spf;
	struct osr_layers_options layers;
	bool detours; /* longer routes where the lanes do not suffice; else OSR_NO_VL */
};

/* The state of the job so far. */
enum osr_lanes_state {
	OSR_LANES_UNROUTED, /* spf is initialised, no route yet */
	OSR_LANES_FIRST,    /* the first pass of shortest paths is done */
	OSR_LANES_ROUTED,   /* balanced shortest paths, no lanes */
	OSR_LANES_DONE,
};

/* Routes with lanes by turn that were not taken, or not yet. */
struct osr_turn_result {
	struct osr_search *search; /* NULL: none */
	struct osr_spf_saved paths;
	uint32_t n_longer;
	uint64_t load; /* of the busiest link */
};

struct osr_lanes_job {
	struct osr_spf *spf; /* osr_spf_init() has been called */
	const struct osr_request *req;
	const struct osr_lanes_options *opt;
	struct osr_arena *scratch, *result;
	struct osr_routing *routing; /* ->strategy: the name of the one whose routes these are */
	struct osr_diag *diag;

	/* The strategies' own. */
	enum osr_lanes_state state;
	uint32_t most_lanes; /* by turn; 0: any number */
	uint64_t load; /* of the busiest link on balanced shortest paths, or less; 0: not known */
	uint32_t *orders; /* [OSR_MAX_VLS * n_channels] channel orders of the layers */
	/* NULL: the fabric is not a product, or has more dimensions than dimension order is for */
	const struct osr_product *product;
	struct osr_turn_result
		turn;  /* any_sl = auto: in dimension order, to be compared with shortest paths */
	double ms_spf; /* when the shortest paths were there, by req->clock_ms; 0: never */
};

/*
 * Lanes for the routes of s; or others, as the options allow. OSR_NO_VL with a sentence if the VLs
 * do not suffice and detours are not allowed.
 */
enum osr_status osr_lanes_assign(struct osr_lanes_job *job);

/* The same from nothing: dimension order, one lane, balanced shortest paths, then as above. */
enum osr_status osr_lanes_route(struct osr_lanes_job *job);

/*
 * Routes in the routing graph of a torus or mesh (src/core/lanes/graph.c), from nothing: lanes by
 * SL and output port, multicast on a VL of its own. OSR_NOT_APPLICABLE with a sentence where the
 * graph does not lead from every switch to every LID, OSR_NO_VL where multicast has the only VL.
 */
enum osr_status osr_graph_route(struct osr_lanes_job *job);

/*
 * Only asks whether everything fits one layer (*fits), as it does in trees; for minimal routes
 * only, as osr_spf_route() leaves them, because trees are walked by distance; then the claims are
 * DEADLOCK_FREE, REVERSIBLE, ANY_SL and MULTICAST. Otherwise routing keeps no claim, rank or SL,
 * and is on one VL. job->opt is not used.
 */
enum osr_status osr_layers_single(struct osr_lanes_job *job, bool *fits);

/*
 * One lane in the order of a tree, for routes of job->spf (routed, not finished), most of which go
 * up the tree first and then down: all routes without a detour, except from one port 0 to another.
 * Makes the certificate, the claims and, if requested, the spanning tree of multicast.
 */
struct osr_tree_order;
enum osr_status osr_lanes_in_order(const struct osr_lanes_job *job,
				   const struct osr_tree_order *order);

#endif
