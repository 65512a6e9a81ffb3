/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sweep.h - one sweep under way, for the files that it goes through: snapshot.c, sweep.c,
 * publish.c; sweep_report.c tells of it, keys.c and trap.c make one of their own.
 */
#ifndef OSR_OSM_SWEEP_H
#define OSR_OSM_SWEEP_H

#include "plugin.h"

#include <osmroutes/clock.h>

/* snapshot.c ----------------------------------------------------------------------------------- */

struct snapshot {
	osm_switch_t **sw;     /* [n_switches], by switch index; valid inside the callback only */
	osm_switch_t **sw_out; /* [n_sw_out] that are drained */
	uint32_t n_sw_out;
	struct osr_vl_limit limit;           /* the smallest of all links between switches */
	uint8_t link_vls;                    /* limit.vls before options and QoS lower it */
	struct qos_kind kind[QOS_MAX_KINDS]; /* of the ports of these links and of end ports */
	uint32_t n_kinds;
	uint32_t n_unhealthy; /* links left out */
	uint32_t n_throttled;
	uint32_t n_left_out; /* end ports left out */
	uint32_t n_no_lid;   /* end ports without a LID */
	uint32_t n_unknown;  /* ports of switches that are up, and OpenSM does not know to what */
	/* links and switches that are drained or held down, by what is left out of them */
	uint32_t n_out;
	char links[256];     /* some of the links left out, by name */
	char end_ports[256]; /* some of the end ports left out */
	char no_lid[256];
	char unknown[256];
};

/* Which LIDs are destinations; WHOLE: all, and with the parts that upkeep.h leaves out. */
enum snapshot_lids { SNAPSHOT_WHOLE, SNAPSHOT_ALL_LIDS, SNAPSHOT_HOST_LIDS };

/*
 * The subnet as OpenSM knows it, as a fabric in `result`; snap->sw in `scratch`. Call with OpenSM's
 * lock held exclusively (osm_switch.priv is borrowed and given back).
 */
enum osr_status osr_snapshot(const struct plugin *plugin, enum snapshot_lids lids,
			     struct osr_arena *result, struct osr_arena *scratch,
			     struct osr_fabric *fabric, struct snapshot *snap,
			     struct osr_diag *diag);

/* sweep.c -------------------------------------------------------------------------------------- */

struct sweep;
/*
 * Is the subnet unchanged since ctx->current was routed, so that the engine would be asked the same
 * question? Then sweep->snap is of it.
 */
bool osr_sweep_unchanged(struct sweep *sweep);

struct sweep {
	struct engine_ctx *ctx;
	struct osm_opensm *osm;
	struct sweep_slot *slot; /* being filled; of a sweep for keys the current one */
	struct osr_arena scratch;
	struct snapshot snap;
	struct osr_diag diag;
	double ms_start, ms_snapshot, ms_route, ms_check, ms_publish;
	double ms_transition; /* of the route: looking at old and new tables mixed */
	uint64_t n_entries, n_changed;
	double efi_bound, efi_all_bound; /* osr_bound_load() of first LIDs, and of all */
	size_t fabric_size;              /* bytes of the fabric that was read */
	struct osr_fabric standing;      /* with the parts that are left out */
	struct osr_held held;
	const char *cause;   /* history.h */
	char change[400];    /* of the fabric, since the last tables */
	const char *history; /* why the tables of switches are unknown, or NULL */
	char history_text[160];
	bool reused;
	bool refused;   /* by the check: a re-route, which a full route has replaced */
	bool in_rounds; /* the tables go out in two rounds */
	bool keys_only; /* the base routing is the previous sweep's */
};

static inline double osr_sweep_clock_ms(void)
{
	return osr_clock_ms(CLOCK_MONOTONIC);
}

/* held.c --------------------------------------------------------------------------------------- */

/*
 * The tables of switches before this sweep: sweep->held, on the whole standing fabric, or
 * sweep->history. With OpenSM's lock.
 */
void osr_tell_held(struct sweep *sweep, const struct osr_fabric *standing);

/* publish.c ------------------------------------------------------------------------------------ */

/*
 * Hop counts where somebody reads them, then the tables, or the first round of two; nothing is
 * written if something is wrong.
 */
enum osr_status osr_publish(struct sweep *sweep);
/*
 * With log flag ROUTING, beside OpenSM's dumps, which lack them: the SLs of path records
 * (io/pathsl.h). routing = NULL: other tables than ours are in use, and the previous file goes.
 */
void osr_publish_path_sl(struct osm_opensm *osm, const struct osr_fabric *fabric,
			 const struct osr_routing *routing);

/* May this sweep's tables go out in two rounds? */
bool osr_rounds_may(const struct sweep *sweep);
/*
 * Without a lock, in the thread that sweeps, when all switches have confirmed the first round:
 * sends the second one, if there is one, and waits for it. How many blocks.
 */
uint32_t osr_rounds_finish(struct plugin *plugin);
/* Blocks of all switches that differ from the present ones; with a lock. */
uint32_t osr_rounds_blocks(struct osm_opensm *osm);

/* reuse.c */

/*
 * The LFTs that OpenSM has programmed from its unicast cache, with the SLs and the certificate of
 * `old`: the tables now on the switches, to be checked.
 */
enum osr_status osr_reuse_cached(const struct osr_result *old, const struct osr_fabric *fabric,
				 const struct snapshot *snap, struct osr_arena *result,
				 struct osr_arena *scratch, struct osr_routing *routing,
				 struct osr_diag *diag);

/* sweep_report.c ------------------------------------------------------------------------------- */

/* The parts left out of the fabric, a new budget of lanes, parts that cannot reach each other. */
void osr_report_fabric(const struct sweep *sweep);
/* "; proven: reachable, deadlock-free; not proven: any SL" */
void osr_proven_text(const struct sweep *sweep, char *text, size_t size);
/* The same, while all nodes hold their tables. */
void osr_claims_text(const struct sweep *sweep, char *text, size_t size);
/* The line in the log; `before` is the previous result on the switches, NULL: not ours. */
void osr_sweep_report(struct sweep *sweep, const struct osr_result *before);
/* Can no mixture of old and new tables deadlock, in the order in which they go out? */
bool osr_transition_is_free(const struct sweep *sweep);
const char *osr_transition_answer(const struct sweep *sweep);

/* Ports of CAs and routers. */
static inline uint64_t osr_n_hosts(const struct osr_fabric *fabric)
{
	uint64_t n = 0;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		n += fabric->sw_sources[s];
	return n;
}

#endif
