/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dfsssp - deadlock-free SSSP: the balanced shortest paths of spf.h, put on virtual lanes by
 * layers.h. Where the lanes do not suffice, guided.h routes again under as many channel orders as
 * there are lanes, with longer routes only where nothing else is left.
 */
#include <string.h>

#include <osmroutes/engine.h>
#include <osmroutes/guided.h>
#include <osmroutes/layers.h>
#include <osmroutes/dor.h>
#include <osmroutes/reroute.h>
#include <osmroutes/spf.h>

enum {
	ROUNDS,
	MOVES,
	IGNORE_RATES,
	HEURISTIC,
	REVERSIBLE,
	MAX_VLS,
	BALANCE,
	SIFT,
	DETOURS,
	GUIDED_ROUNDS,
	EFFORT,
	DIMENSIONS,
	FEWER_VLS,
	STABLE,
	REPAIR,
	ROOM,
	REBALANCE
};

enum { REPAIR_SHORTEST, REPAIR_FEWEST };

static const struct osr_param params[] = {
	[ROUNDS] = { "rounds", OSR_PARAM_UINT, "2", 0, 1000, NULL,
		     "rip-up-and-re-route rounds after the first pass, at most" },
	[MOVES] = { "moves", OSR_PARAM_UINT, "50", 0, 1000000, NULL,
		    "then attempts to move LIDs off the most loaded link, for 100 LIDs, at most" },
	[IGNORE_RATES] = { "ignore_rates", OSR_PARAM_BOOL, "no", 0, 0, NULL,
			   "balance routes per link, not per unit of link rate" },
	[HEURISTIC] = { "heuristic", OSR_PARAM_ENUM, "order", 0, 0,
			"order|weakest|heaviest|first|online",
			"which dependencies to cut: by an order of the channels, one of each cycle "
			"found, or none "
			"(route by route)" },
	[REVERSIBLE] = { "reversible_sl", OSR_PARAM_ENUM, "auto", 0, 0, "auto|on|off",
			 "replies are safe on the SL of their request: if the VLs suffice, always, "
			 "or never" },
	[MAX_VLS] = { "max_vls", OSR_PARAM_UINT, "15", 1, 15, NULL,
		      "use no more virtual lanes than this, even if the fabric has them" },
	[BALANCE] = { "balance_vls", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "spread the routes over virtual lanes that are not needed against deadlock" },
	[SIFT] = { "sift_passes", OSR_PARAM_UINT, "3", 0, 1000, NULL,
		   "passes of local search over the channel order" },
	[DETOURS] = { "detours", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "if the VLs do not suffice, route some pairs over longer paths instead of "
		      "giving up" },
	[GUIDED_ROUNDS] = { "guided_rounds", OSR_PARAM_UINT, "10", 1, 1000, NULL,
			    "rounds of routing within channel orders, if the VLs do not suffice" },
	[EFFORT] = { "order_effort", OSR_PARAM_UINT, "80", 0, 1000000, NULL,
		     "work spent on an order of the switches, if there is one VL: more gives fewer "
		     "longer routes" },
	[DIMENSIONS] = { "dimensions", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
			 "route whole tori, meshes and HyperX in dimension order" },
	[FEWER_VLS] = { "fewer_vls", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
			"look for shortest paths that need fewer virtual lanes, where that is "
			"promising" },
	[STABLE] = { "stable", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		     "start from the tables of the last sweep and change only what must change" },
	[REPAIR] = { "repair", OSR_PARAM_ENUM, "fewest", 0, 0, "shortest|fewest",
		     "as few entries change as possible, over longer ways; or routes that were cut "
		     "take the shortest ways left" },
	[ROOM] = { "room", OSR_PARAM_BOOL, "no", 0, 0, NULL,
		   "deal SLs out over all VLs so that repairs find room: fewer pairs get another SL "
		   "after a fault, and a full route takes longer" },
	[REBALANCE] = { "rebalance", OSR_PARAM_UINT, "200", 0, 100000, NULL,
			"route anew once repairs have made the balance worse by this factor, in "
			"percent; 0: never" },
	{ NULL }
};

/*
 * The VLs do not suffice for the shortest paths as they are; or, where r has lanes already, for
 * replies on the SL of their request, which must be.
 */
static enum osr_status route_guided(struct osr_spf *s, const struct osr_values *v,
				    const struct osr_request *req, uint32_t *orders,
				    struct osr_arena *scratch, struct osr_arena *result,
				    struct osr_routing *r, struct osr_diag *diag)
{
	struct osr_guided_options opt = { .rounds = (uint32_t)v->num[GUIDED_ROUNDS],
					  .sift_passes = (uint32_t)v->num[SIFT],
					  .moves = (uint32_t)v->num[MOVES],
					  .effort = (uint32_t)v->num[EFFORT],
					  .reversible = v->num[REVERSIBLE] != OSR_REVERSIBLE_OFF };
	struct osr_request one_vl = *req;
	size_t size = (size_t)s->f->n_dests * s->f->n_switches, m = s->f->n_channels;
	enum osr_status st;

	if (diag)
		diag->text[0] = 0;
	if (!r->n_layers) {
		uint8_t *hop = osr_alloc(scratch, size, 1);
		uint64_t *weight = osr_alloc(scratch, m, sizeof(*weight));

		if (!hop || !weight)
			return osr_fail(diag, OSR_NOMEM,
					"out of memory for a second try on one lane");
		memcpy(hop, s->hop, size);
		memcpy(weight, s->weight, m * sizeof(*weight));
		st = osr_guided_route(s, req, &opt, orders, scratch, result, r, diag);
		if (st || v->num[REVERSIBLE] != OSR_REVERSIBLE_ON ||
		    (r->claims & OSR_CLAIM_REVERSIBLE))
			return st;
		/*
		 * osr_guided_route() starts from shortest paths, and these may be detours by now.
		 */
		memcpy(s->hop, hop, size);
		memcpy(s->weight, weight, m * sizeof(*weight));
	}
	/* On one VL everything is safe for everyone, replies included. */
	one_vl.max_vls = 1;
	r->claims = 0;
	r->n_longer = 0;
	return osr_guided_route(s, &one_vl, &opt, orders, scratch, result, r, diag);
}

#define MANY_LIDS 8 /* for each switch */

/* Rounds of repair: for fewer lanes than there are; and for shortest routes on those there are. */
#define FEW_ROUNDS 4
#define PATIENT_ROUNDS 16

/*
 * Are fewer lanes to be had for routes as short? Cheap to try where few routes stand in the way:
 * from one lane nothing needs an SL at all. Where more than half of eight lanes are taken, it is
 * worth more.
 */
static enum osr_status reduce(struct osr_spf *s, const struct osr_values *v,
			      const struct osr_request *req, const uint32_t *orders,
			      struct osr_arena *scratch, struct osr_arena *result,
			      struct osr_routing *r, bool *fits, struct osr_diag *diag)
{
	bool crowded = s->f->n_dests >= MANY_LIDS * s->f->n_switches;
	struct osr_guided_options opt = { .rounds = FEW_ROUNDS,
					  .sift_passes = (uint32_t)v->num[SIFT],
					  .moves = (uint32_t)v->num[MOVES],
					  .reversible = v->num[REVERSIBLE] != OSR_REVERSIBLE_OFF };
	enum osr_status st =
		osr_guided_reduce(s, req, &opt, 1, 100, orders, scratch, result, r, fits, diag);

	/*
	 * Several lanes found this way may not serve replies, which then must wait for their own
	 * search. Where few end ports hang on a switch, routing costs little, and more than two
	 * tries would be most of it.
	 */
	for (uint32_t n = 4;
	     !st && !*fits && n < r->n_layers && v->num[REVERSIBLE] != OSR_REVERSIBLE_ON;
	     n = crowded || n > 4 || r->n_layers < 7 ? n + 1 : r->n_layers - 1u)
		st = osr_guided_reduce(s, req, &opt, n, 5, orders, scratch, result, r, fits, diag);
	return st;
}

/*
 * The lanes do not suffice for the shortest paths as they are: do they for others just as short? What
 * follows otherwise takes longer than this, so there is time.
 */
static enum osr_status squeeze(struct osr_spf *s, const struct osr_values *v,
			       const struct osr_request *req, const uint32_t *orders,
			       struct osr_arena *scratch, struct osr_arena *result,
			       struct osr_routing *r, bool *fits, struct osr_diag *diag)
{
	struct osr_guided_options opt = { .sift_passes = (uint32_t)v->num[SIFT],
					  .moves = 4 * (uint32_t)v->num[MOVES],
					  .rounds = PATIENT_ROUNDS,
					  .reversible = v->num[REVERSIBLE] != OSR_REVERSIBLE_OFF };

	if (diag)
		diag->text[0] = 0;
	return osr_guided_reduce(s, req, &opt, req->max_vls, 5, orders, scratch, result, r, fits,
				 diag);
}

static enum osr_status assign_lanes(struct osr_spf *s, const struct osr_values *v,
				    const struct osr_request *req,
				    const struct osr_layers_options *opt, struct osr_arena *scratch,
				    struct osr_arena *result, struct osr_routing *r,
				    struct osr_diag *diag)
{
	uint32_t *orders =
		osr_alloc(scratch, (size_t)OSR_MAX_VLS * s->f->n_channels, sizeof(*orders));
	enum osr_status st;
	bool fits = false;

	if (!orders)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the orders of %u channels",
				s->f->n_channels);
	st = osr_layers_assign(s, req, opt, scratch, result, r, orders, diag);
	if (st == OSR_NO_VL && v->num[DETOURS] && req->max_vls > 2 && v->num[FEWER_VLS] &&
	    opt->heuristic == OSR_HEURISTIC_ORDER && v->num[REVERSIBLE] != OSR_REVERSIBLE_ON) {
		st = squeeze(s, v, req, orders, scratch, result, r, &fits, diag);
		if (st || fits)
			return st;
		st = OSR_NO_VL;
	}
	if (st == OSR_NO_VL && v->num[DETOURS])
		return route_guided(s, v, req, orders, scratch, result, r, diag);
	if (st || r->n_layers == 1)
		return st;
	if (v->num[FEWER_VLS] && opt->heuristic == OSR_HEURISTIC_ORDER)
		st = reduce(s, v, req, orders, scratch, result, r, &fits, diag);
	if (st || opt->reversible == OSR_REVERSIBLE_OFF || (r->claims & OSR_CLAIM_REVERSIBLE))
		return st;
	if (fits)
		return st;
	st = osr_layers_pair(s, req, opt, orders, scratch, result, r, diag);
	if (st == OSR_NO_VL && opt->reversible == OSR_REVERSIBLE_AUTO) {
		if (diag)
			diag->text[0] = 0;
		return OSR_OK;
	}
	if (st == OSR_NO_VL && v->num[DETOURS])
		st = route_guided(s, v, req, orders, scratch, result, r, diag);
	return st;
}

/*
 * Trees, and what is nearly one: the first pass needs one lane. Then balancing goes on within the
 * order that proves it, instead of giving the lane away for balance.
 */
static enum osr_status try_one_lane(struct osr_spf *s, const struct osr_request *req,
				    const struct osr_spf_options *opt, struct osr_arena *scratch,
				    struct osr_arena *result, struct osr_routing *r, bool *fits,
				    struct osr_diag *diag)
{
	enum osr_status st = osr_layers_single(s, req, scratch, result, r, fits, diag);

	if (st || !*fits || !opt->max_rounds || osr_spf_balanced(s))
		return st;
	return osr_guided_refine(s, req, opt, r->rank, scratch, result, r, diag);
}

static enum osr_status route(const struct osr_fabric *f, const struct osr_values *v,
			     const struct osr_request *req, const struct osr_result *previous,
			     struct osr_arena *scratch, struct osr_arena *result,
			     struct osr_routing *r, struct osr_diag *diag)
{
	struct osr_spf_options spf_opt = { .max_rounds = (uint32_t)v->num[ROUNDS],
					   .max_moves = (uint32_t)v->num[MOVES],
					   .ignore_rates = v->num[IGNORE_RATES] };
	struct osr_layers_options layers_opt = { .heuristic = (enum osr_heuristic)v->num[HEURISTIC],
						 .reversible =
							 (enum osr_reversible)v->num[REVERSIBLE],
						 .sift_passes = (uint32_t)v->num[SIFT],
						 .balance = v->num[BALANCE] };
	struct osr_reroute_options stable_opt = { .fewest = v->num[REPAIR] == REPAIR_FEWEST,
						  .drift = (uint32_t)v->num[REBALANCE] };
	struct osr_request capped = *req;
	double start = req->clock_ms ? req->clock_ms() : 0;
	bool stable = previous && v->num[STABLE];
	struct osr_diag why = { "" };
	struct osr_spf s;
	enum osr_status st;
	bool routed = false;

	if (capped.max_vls > v->num[MAX_VLS])
		capped.max_vls = (uint8_t)v->num[MAX_VLS];
	if (stable) {
		st = osr_reroute(f, &capped, previous, &stable_opt, scratch, result, r, &why);
		if (!st)
			r->ms_spf = req->clock_ms ? req->clock_ms() - start : 0;
		if (st == OSR_NOMEM)
			return osr_fail(diag, st, "%s", why.text);
		if (!st)
			return OSR_OK;
	}
	st = osr_routing_init(r, f, result, diag);
	if (st)
		return st;
	st = osr_spf_init(&s, f, r, &spf_opt, scratch, diag);
	if (st)
		return st;
	if (v->num[DIMENSIONS]) {
		st = osr_dor_assign(&s, &capped, layers_opt.reversible, v->num[DETOURS], scratch,
				    result, r, &routed, diag);
		if (st)
			return st;
	}
	r->ms_spf = req->clock_ms ? req->clock_ms() - start : 0;
	if (routed)
		goto out;

	osr_spf_first(&s);
	st = try_one_lane(&s, &capped, &spf_opt, scratch, result, r, &routed, diag);
	if (st)
		return st;
	if (!routed)
		osr_spf_refine(&s, &spf_opt);
	r->ms_spf = req->clock_ms ? req->clock_ms() - start : 0;
	if (routed)
		goto out;
	st = assign_lanes(&s, v, &capped, &layers_opt, scratch, result, r, diag);
	if (st)
		return st;
	r->ms_layers = req->clock_ms ? req->clock_ms() - start - r->ms_spf : 0;
out:
	osr_spf_finish(&s);
	r->engine = "dfsssp";
	r->n_rounds = s.n_rounds;
	r->claims |= r->n_longer ? 0 : OSR_CLAIM_MINIMAL;
	if (v->num[STABLE] && v->num[ROOM]) {
		st = osr_reroute_room(f, capped.max_vls, scratch, result, r, diag);
		if (st)
			return st;
	}
	return stable ? osr_reroute_anew(f, &capped, previous, &why, scratch, result, r, diag)
		      : OSR_OK;
}

const struct osr_engine osr_engine_dfsssp = {
	.name = "dfsssp",
	.summary = "balanced shortest paths on virtual lanes; deadlock-free on every fabric",
	.reference =
		"Domke, Hoefler, Nagel: Deadlock-Free Oblivious Routing for Arbitrary Topologies, "
		"IPDPS 2011",
	.params = params,
	.capabilities = OSR_ENGINE_DEADLOCK_FREE | OSR_ENGINE_LMC,
	.route = route,
};
