/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * layers.h - virtual layers: which route travels on which virtual lane, so that none can deadlock.
 *
 * Source: Domke 2011, section IV, Algorithm 2 (offline): start with all routes in the first layer,
 * cut the cycles of its channel dependency graph by moving the routes that induce a chosen edge to
 * the next layer, go on there. Which edge to choose is an option:
 *	order		an order of the channels with little weight going backward; all routes with a
 *			backward edge move at once (default; see cdg.h)
 *	weakest		the edge of a found cycle that the fewest routes induce (the paper's best)
 *	heaviest	the one that the most routes induce
 *	first		the first edge of the cycle (the paper's pseudo-random choice)
 *	online		no edge: one route after the other goes to the first layer where it closes no cycle
 *			(the paper's first approach; LASH)
 *
 * A route is (source switch, dest): hosts of one switch share all channels. Counted routes are
 *	- from every switch to every CA and router LID (hosts send; port 0 answers requests), and
 *	- from every switch with a CA or router to every port 0.
 * Routes from port 0 to port 0 of another switch exist, but no packet travels them: port 0 answers
 * requests, and requests are sent by end ports. They are left out of the dependency graph; in a
 * tree they would be the only routes that turn from down to up.
 *
 * Reversible: replies travel on the SL of the request (management responses; connected queue pairs
 * set up by the communication manager). Then all routes between two switches, in both directions, are legal on
 * one lane, and SL(a,b) = SL(b,a); more layers are added for pairs that have none in common.
 *
 * Multicast (struct osr_request) is a spanning order whose dependencies stay in the first layer.
 */
#ifndef OSMROUTES_LAYERS_H
#define OSMROUTES_LAYERS_H

#include <osmroutes/engine.h>
#include <osmroutes/spf.h>

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

/* What gives routes their lanes works on: the routes, their senders, and where memory comes from. */
struct osr_lane_work {
	struct osr_spf *s; /* routed, not finished */
	const struct osr_request *req;
	struct osr_arena *scratch, *result;
	struct osr_routing *r;
	struct osr_diag *diag;
};

struct osr_layers_options {
	enum osr_heuristic heuristic;
	enum osr_reversible reversible;
};

/*
 * Only asks whether everything fits one layer (*fits), as it does in trees; for minimal routes
 * only, as osr_spf_route() leaves them, because trees are walked by distance; then the claims are
 * DEADLOCK_FREE, REVERSIBLE, ANY_SL and MULTICAST. Otherwise routing keeps no claim, rank or SL.
 */
enum osr_status osr_layers_single(const struct osr_lane_work *work, bool *fits);

#endif
