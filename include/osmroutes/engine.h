/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * engine.h - the contract of a routing engine.
 *
 * An engine is one `const struct osr_engine`, the last thing in its file, and a pure function:
 * same fabric, options and request give the same bytes. It keeps no state, does no input or output,
 * reads no clock and starts no thread that outlives the call. Its folder is engines/<name>/; it may
 * include <osmroutes/...> and its own folder, nothing else. Code that two engines share belongs in
 * src/core.
 *
 * To add one: the folder, one word in engines/CMakeLists.txt (the registry is generated from it),
 * one page in docs/. The conformance tests pick it up from the registry.
 *
 * Its caller is osr_sweep() (sweep.h), which also re-routes from an earlier result, plans the
 * transition from the earlier tables, and checks: no engine does this for itself.
 */
#ifndef OSMROUTES_ENGINE_H
#define OSMROUTES_ENGINE_H

#include <osmroutes/fabric.h>
#include <osmroutes/params.h>
#include <osmroutes/routing.h>

/* The demands of the caller, beyond options. */
struct osr_request {
	uint8_t max_vls;     /* VL budget, 1..15: the caller took the minimum over the fabric */
	const char *vls_why; /* the reason for max_vls, for error messages; NULL: not known */
	bool multicast;      /* include multicast on VL mcast_vl in the dependency graph */
	uint8_t mcast_vl;    /* 0..14 */
	/*
	 * If any SL is safe, senders choose these SLs (of partitions and QoS levels), a bit each;
	 * 0: unknown, taken as SL 0. For connections that outlive such tables.
	 */
	uint16_t chosen_sls;
	/*
	 * The previous tables were free of deadlock on any SL, and programs may rely on it. So the
	 * new tables must be, too, at any cost, unless any_sl = off. Set by osr_sweep().
	 */
	bool keep_any_sl;
	/*
	 * Milliseconds since some epoch, for the phase times of the log only; NULL: no times. The
	 * core never reads a clock itself. clock_ms is CPU time, wall_ms the time on the wall.
	 */
	double (*clock_ms)(void);
	double (*wall_ms)(void);
};

enum {
	OSR_ENGINE_DEADLOCK_FREE = 1 << 0, /* never returns OSR_OK without that claim */
	OSR_ENGINE_MINIMAL = 1 << 1,       /* never returns OSR_OK without that claim */
	/*
	 * Its tables may be re-routed incrementally, by repair.h: then it has the options of
	 * OSR_SWEEP_STABLE (sweep.h), at least.
	 */
	OSR_ENGINE_REROUTE = 1 << 2,
};

/*
 * For the transition: where packets can be while switches are programmed, and entries of switches
 * that `previous` does not have. A switch outside `previous` holds its own LFT if it was drained
 * until now, and so does every switch for a LID outside `previous`.
 */
struct osr_held {
	/*
	 * The whole standing fabric: the routed fabric, and the drained or held down parts that
	 * routing leaves out. The routed fabric itself if nothing is left out.
	 */
	const struct osr_fabric *standing;
	/* [standing->n_switches] */
	const struct osr_held_switch {
		const uint8_t *lft; /* [n_lids] port by LID; NULL: not known */
		uint32_t n_lids;
		/*
		 * [(sw_n_ports + 1)^2] row by input port, of a switch outside `previous`; NULL: not
		 * known
		 */
		const osr_sl2vl_t *sl2vl;
	} * sw;
};

/*
 * The arguments of one call of an engine. The sweep adds the members below the line to the job of
 * its caller.
 */
struct osr_job {
	const struct osr_engine *engine;
	const struct osr_values *values; /* of engine->params */
	struct osr_request request;
	/* the last checked result; NULL: none. Not for engines */
	const struct osr_result *previous;
	/*
	 * Why the switches do not change from the tables of `previous` to the tables of this sweep,
	 * for the log; NULL: they do.
	 */
	const char *no_transition;
	/* NULL: switches hold the tables of `previous`, and no part is left out */
	const struct osr_held *held;
	struct osr_arena *scratch;
	struct osr_arena *arena; /* of the result */
	struct osr_diag *diag;   /* may be NULL */
	/* ---- */
	const struct osr_fabric *fabric; /* with the first LID of each port alone: planes.h */
	struct osr_notes notes;          /* osr_routing.notes of this engine's previous call */
	struct osr_routing *routing;
	struct osr_checked *checked; /* for an engine that has had *routing checked (check.h) */
};

struct osr_engine {
	const char *name;      /* as typed after -R */
	const char *summary;   /* one line, for lists */
	const char *reference; /* the paper */
	const struct osr_param *params;
	uint32_t capabilities; /* OSR_ENGINE_* */

	/*
	 * May this engine route this fabric? OSR_OK, or OSR_NOT_APPLICABLE with one sentence an
	 * administrator can act on. NULL: every fabric.
	 */
	enum osr_status (*applies)(const struct osr_job *job);

	/*
	 * Routes job->fabric from nothing; the same job, but for arenas, gives the same bytes.
	 * *job->routing is allocated in job->arena and complete on OSR_OK; on any other status its
	 * content is undefined, job->diag holds the sentence, and both arenas may be reset by the
	 * caller. Every (switch, dest) of one component gets a path; between components entries
	 * stay OSR_NO_PATH.
	 */
	enum osr_status (*route)(const struct osr_job *job);
};

/* All engines, NULL-terminated, in the order of engines/CMakeLists.txt. */
extern const struct osr_engine *const osr_engines[];

/* By exact name, or NULL. */
const struct osr_engine *osr_engine_find(const char *name);

#endif
