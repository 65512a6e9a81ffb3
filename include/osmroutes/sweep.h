/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sweep.h - one sweep: from a fabric, an engine and the last checked result to the next one.
 *
 *	applies()	may the engine route this fabric?
 *	re-route	incrementally, from the previous result (repair.h), if the engine has
 *			OSR_ENGINE_REROUTE and its options say so
 *	route()		else, or where that is not possible: the engine, from nothing
 *	transition	can packets that meet old and new tables mixed deadlock?
 *	check		all claims, with the routes on every channel (check.h); if it refuses a
 *			re-route: route() and the steps after it
 *	promises	the VL budget, and the engine's capabilities
 *	baseline	the tables that the next re-route starts from (osr_result.baseline)
 *
 * The plugin, the command, tests and benches all call this function; nothing else calls an engine
 * (but the unit tests of one).
 */
#ifndef OSMROUTES_SWEEP_H
#define OSMROUTES_SWEEP_H

#include <osmroutes/check.h>
#include <osmroutes/engine.h>

struct osr_sweep {
	/*
	 * For osr_sweep_check(): tables of an earlier sweep on the current fabric, in which routes
	 * may be longer than the shortest ones.
	 */
	bool reused;
	bool routed;  /* there are tables: a later failure is one of the check or of a promise */
	bool refused; /* the check refused a re-route, and the engine has routed from nothing */
	struct osr_verdict verdict;
	struct osr_checked checked;               /* by the engine, between both halves */
	double ms_route, ms_transition, ms_check; /* by request.clock_ms; 0 without it */
	double wall_route, wall_check; /* the transition among the first; by request.wall_ms */
	/* bytes of both arenas of the job at their peak until the tables were there */
	size_t memory;
};

/*
 * The caller has filled result->fabric; the other members are filled on OSR_OK, with arrays in
 * job->arena. Of `job` only the members above the line in engine.h are read. OSR_CHECK_FAILED if
 * the check refuses the tables or a promise does not hold; otherwise the status of the engine.
 * job->scratch is reset.
 */
enum osr_status osr_sweep(const struct osr_job *job, struct osr_result *result,
			  struct osr_sweep *sweep);

/*
 * Both halves of a sweep: up to the transition (refused: the checker's reason against a re-route on
 * the same fabric, or NULL), and from the check on (of tables from elsewhere, too).
 */
enum osr_status osr_sweep_route(const struct osr_job *job, const struct osr_diag *refused,
				struct osr_result *result, struct osr_sweep *sweep);
enum osr_status osr_sweep_check(const struct osr_job *job, struct osr_result *result,
				struct osr_sweep *sweep);

/* The price by which the engine osmroutes chooses tables, and `osmroutes route` recommends. */
struct osr_worth {
	uint64_t efi;    /* edge forwarding index, in routes on a link of the fastest rate */
	uint64_t cable;  /* routes on the cable of an end port */
	uint64_t longer; /* routes between hosts */
	/*
	 * Effective bisection bandwidth to first LIDs, and split evenly over all: `first` and `all`
	 * of split.h.
	 */
	uint32_t ebb, ebb_all;
	uint32_t permille; /* of the bandwidth, after deductions */
	uint8_t lanes;
	enum {
		OSR_SAFE_ONE_WAY,
		OSR_SAFE_REPLIES,
		OSR_SAFE_ANY_SL
	} safe; /* for packets that are not on the SL of their path record */
};

enum osr_status osr_worth_of(const struct osr_fabric *fabric, const struct osr_routing *routing,
			     const struct osr_verdict *verdict, struct osr_arena *scratch,
			     struct osr_worth *worth, struct osr_diag *diag);
/* Is the later candidate better by 1 %? Both are of the same fabric. */
bool osr_worth_more(const struct osr_worth *later, const struct osr_worth *earlier);

/*
 * Options that the sweep reads by name, if the engine has them. An engine with OSR_ENGINE_REROUTE
 * has STABLE. Without MAX_VLS lanes are not capped; without REBALANCE the load of repairs has no
 * limit, without ANY_SL_COST their length has none.
 */
#define OSR_SWEEP_MAX_VLS                                                                          \
	{                                                                                          \
		"max_vls", OSR_PARAM_UINT, "15", 1, 15, NULL,                                      \
			"use no more virtual lanes than this, even if the fabric has them"         \
	}
#define OSR_SWEEP_STABLE                                                                           \
	{                                                                                          \
		"stable", OSR_PARAM_BOOL, "yes", 0, 0, NULL,                                       \
			"start from the tables of the last sweep and change only what must change" \
	}
#define OSR_SWEEP_REBALANCE                                                                        \
	{                                                                                          \
		"rebalance", OSR_PARAM_UINT, "120", 0, 100000, NULL,                               \
			"full route where a re-route would load the busiest link with more than "  \
			"this percentage of what a full route does; 0: never"                      \
	}
#define OSR_SWEEP_ANY_SL                                                                           \
	{                                                                                          \
		"any_sl", OSR_PARAM_ENUM, "auto", 0, 0, "off|on|auto",                             \
			"no deadlock whatever SL programs use (UCX and NCCL choose it "            \
			"themselves), by virtual lanes that depend on the turn: never, always, "   \
			"or where that costs little"                                               \
	}
#define OSR_SWEEP_ANY_SL_COST                                                                      \
	{                                                                                          \
		"any_sl_cost", OSR_PARAM_UINT, "8", 0, 100, NULL,                                  \
			"any_sl = auto: percent of the routes that may be longer than minimal; "   \
			"the busiest link may carry a tenth more than on shortest paths"           \
	}

#endif
