/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * plugin.h - what the files of the plugin share.
 *
 * One struct plugin per OpenSM; one struct engine_ctx per entry of OpenSM's routing engine list
 * that we serve. A sweep flows one way through the files:
 *
 *	snapshot.c -> engine -> check -> publish.c	(driven by sweep.c; core/data/carry.h when that fails)
 *
 * and leaves a checked struct osr_result behind, which path_sl (qos.c) and multicast (mcast_groups.c) read
 * until the next one replaces it. Routing runs under OpenSM's exclusive lock and the readers under
 * the shared one, so replacing needs no lock of ours. No pointer into OpenSM's subnet survives a
 * callback.
 */
#ifndef OSR_OSM_PLUGIN_H
#define OSR_OSM_PLUGIN_H

#include "adopt.h"
#include "compat.h"
#include "keys.h"
#include "metrics.h"
#include "reboots.h"
#include "slvl.h"
#include "storefile.h"
#include "trap.h"
#include "upkeep.h"

#include "conf/options.h"

#include <jansson.h>
#include <pthread.h>

#include <osmroutes/arena.h>
#include <osmroutes/check.h>
#include <osmroutes/engine.h>
#include <osmroutes/params.h>
#include "core/repair/repair.h"
#include <osmroutes/routing.h>

struct engine_ctx;
struct plugin;

/* log.c ---------------------------------------------------------------------------------------- */

void osr__log(struct osm_opensm *osm, osm_log_level_t level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* All lines so far into the file. osr__log() does it for its own, at the levels that are on by default. */
void osr__log_flush(struct osm_opensm *osm);
/* The last lines at the level of errors, [{"time", "text"}], oldest first; NULL without memory. */
json_t *osr__warnings(const struct plugin *p);
/* The level of what is said besides the one line of a sweep: option log_details. */
/* What a node is called in the log, with its GUID if another one is called so. Under OpenSM's lock; O(nodes). */
#define OSR__NODE_NAME 96
const char *osr__node_name(struct osm_opensm *osm, const osm_node_t *node, char *buf, size_t size);

osm_log_level_t osr__log_details(const struct plugin *p);

/* wait.c --------------------------------------------------------------------------------------- */

enum lock_kind { LOCK_SHARED, LOCK_ALONE };
/* Takes OpenSM's lock, which cl_plock_release() gives back. false: opensm ends, and the lock is not taken. */
bool osr__lock(struct osm_opensm *osm, enum lock_kind kind);
/*
 * Without a lock, in the thread that sweeps: until OpenSM has an answer, or none, to all that is under way.
 * false: opensm ends, and there may be no answers.
 */
bool osr__wait_for_answers(struct osm_opensm *osm);

/* snapshot.c ----------------------------------------------------------------------------------- */

/* Kinds of ports that OpenSM configures apart: qos_ca_*, qos_sw0_*, qos_swe_*, qos_rtr_*. */
enum { QOS_CA, QOS_SW0, QOS_SWE, QOS_RTR, QOS_N_TYPES };

struct snapshot {
	osm_switch_t **sw;     /* [n_switches], by switch index; valid inside the callback only */
	osm_switch_t **sw_out; /* [n_sw_out] that are drained */
	uint32_t n_sw_out;
	struct osr_vl_limit limit;      /* the smallest of all links between switches */
	uint8_t link_vls;               /* limit.vls before options and QoS lower it */
	uint8_t vlarb_low[QOS_N_TYPES]; /* entries of the smallest VLArb tables */
	uint8_t vlarb_high[QOS_N_TYPES];
	uint32_t n_unhealthy; /* links left out */
	uint32_t n_throttled;
	uint32_t n_left_out; /* end ports left out */
	uint32_t
		n_out; /* links and switches that are drained or held down, by what is left out of them */
	char links[256];     /* some of the links left out, by name */
	char end_ports[256]; /* some of the end ports left out */
};

/* Which LIDs are destinations; WHOLE: all, and with the parts that upkeep.h leaves out. */
enum snapshot_lids { SNAPSHOT_WHOLE, SNAPSHOT_ALL_LIDS, SNAPSHOT_HOST_LIDS };

/*
 * The subnet as OpenSM knows it, as a fabric in `result`; snap->sw in `scratch`. Call with OpenSM's
 * lock held exclusively (osm_switch.priv is borrowed and given back).
 */
enum osr_status osr__snapshot(const struct plugin *p, enum snapshot_lids lids,
			      struct osr_arena *result, struct osr_arena *scratch,
			      struct osr_fabric *fabric, struct snapshot *snap,
			      struct osr_diag *diag);

/* qos.c ---------------------------------------------------------------------------------------- */

/* OpenSM's configured tables, parsed the way osm_qos.c does. */
struct qos_tables {
	uint8_t sl2vl[QOS_N_TYPES][16];
	uint16_t weighted[QOS_N_TYPES]; /* bit per VL with a weight in a table that is programmed */
};

void osr__qos_tables(const struct osm_opensm *osm, const struct snapshot *snap,
		     struct qos_tables *tables);

/* The VL that multicast of this SL travels on between switches; 15 if it is dropped. */
uint8_t osr__mcast_vl_of(const struct osm_opensm *osm, const struct qos_tables *tables,
			 uint16_t used_vls, uint8_t link_vls, uint8_t sl);

/*
 * The same of a finished result, by its own SL2VL tables if it has any: OSR_MIXED_VLS, no VL, if by these
 * packets change their VL on the way.
 */
#define OSR_MIXED_VLS 16
struct sweep_slot;
uint8_t osr__mcast_vl(const struct osm_opensm *osm, const struct sweep_slot *slot, uint8_t sl);

/* Lowers snap->limit to what QoS and our options allow. */
static inline void osr__vl_budget(const struct osm_opensm *osm, const struct osr_fabric *fabric,
				  const struct osr_options *o, struct osr_vl_limit *limit)
{
	osr_options_vl_budget(o, osm->subn.opt.qos, fabric, limit);
}

struct sweep;
/* SLs whose packets a switch or an end port drops, with the tables that it has; a bit each. */
uint16_t osr__dropped_sls(const struct sweep *w);

/* SLs that path records may have where every one is safe: of partitions and QoS levels; a bit each. */
uint16_t osr__chosen_sls(const struct osm_opensm *osm);

/* What a port of a switch gets, with a current result. */
void osr__qos_table(const struct engine_ctx *ctx, osm_physp_t *osm_physp, uint8_t in,
		    ib_slvl_table_t *table);

/* Puts update_sl2vl and update_vlarb into an entry of ours. */
void osr__qos_install(struct osm_routing_engine *re, const osm_subn_opt_t *opt);
/* For the current result: says what they are going to do, and if they come and go lets them. */
void osr__qos_renew(struct engine_ctx *ctx);

uint8_t osr__path_sl(void *context, uint8_t hint, const ib_net16_t slid, const ib_net16_t dlid);

/* mcast_groups.c ----------------------------------------------------------------------------- */

/* SLs of the groups that exist and of the partitions, as a bit per SL; *most_used of them. */
uint16_t osr__mcast_sls(const struct osm_opensm *osm, uint8_t *most_used);
/*
 * What mcast_build_stree needs, allocated with the result so that it need not allocate. OSR_OK also
 * if the engine leaves multicast to OpenSM.
 */
struct sweep_slot;
enum osr_status osr__mcast_prepare(struct sweep_slot *slot, struct osr_diag *diag);
ib_api_status_t osr__mcast_build_stree(void *context, osm_mgrp_box_t *box);

/* publish.c ------------------------------------------------------------------------------------ */

/* Are all of OpenSM's buffers there and large enough? Nothing is written. */
enum osr_status osr__publish_ready(const struct osr_fabric *fabric, const struct snapshot *snap,
				   struct osr_diag *diag);
/* What they have. Packets that are on their way through a drained switch still find it. */
void osr__publish_same(osm_switch_t *const *sw, uint32_t n);
/* Cannot fail after osr__publish_ready(). */
void osr__publish(const struct osr_fabric *fabric, const struct osr_routing *routing,
		  const struct snapshot *snap);
/*
 * slot->changes: entries (dest * n_switches + switch) that differ from the tables before, which every switch
 * has. Not set: a discovery wants all sent anew, there are other switches or LIDs, or many changes.
 */
void osr__publish_changes(const struct osr_result *before, const struct snapshot *snap,
			  struct sweep_slot *slot);
/* Writes these entries; the others stay as they are. */
void osr__publish_entries(const struct sweep_slot *slot, const struct snapshot *snap,
			  const uint64_t *entries, uint64_t n);
/* Hop counts, for OpenSM's dumps and its own multicast only. */
enum osr_status osr__publish_hops(struct osm_opensm *osm, const struct osr_fabric *fabric,
				  const struct osr_routing *routing, const struct snapshot *snap,
				  struct osr_arena *scratch, struct osr_diag *diag);
/*
 * With log flag ROUTING, beside OpenSM's dumps, which lack them: the SLs of path records (io/pathsl.h).
 * routing = NULL: other tables than ours are in use, and the file of earlier goes.
 */
void osr__publish_path_sl(struct osm_opensm *osm, const struct osr_fabric *fabric,
			  const struct osr_routing *routing);

/* send_rounds.c -------------------------------------------------------------------------------- */

/* May this sweep's tables go out in two rounds? */
bool osr__rounds_may(const struct sweep *w);
/* The first of them is what OpenSM sends when the sweep's callback returns. */
void osr__rounds_publish_first(const struct sweep *w);
/*
 * Without a lock, in the thread that sweeps, when all switches have confirmed the first round: sends the
 * second one, if there is one, and waits for it. How many blocks.
 */
uint32_t osr__rounds_finish(struct plugin *p);
/* Blocks of all switches that differ from what they have; with a lock. */
uint32_t osr__rounds_blocks(struct osm_opensm *osm);

/* reuse.c -------------------------------------------------------------------------------------- */

/*
 * The LFTs that OpenSM has programmed from its unicast cache, with the SLs and the certificate of
 * `old`: what is on the switches now, to be checked.
 */
enum osr_status osr__reuse_cached(const struct osr_result *old, const struct osr_fabric *fabric,
				  const struct snapshot *snap, struct osr_arena *result,
				  struct osr_arena *scratch, struct osr_routing *routing,
				  struct osr_diag *diag);

/* sweep.c -------------------------------------------------------------------------------------- */

struct sweep_slot {
	struct osr_arena arena; /* of everything below */
	struct osr_result result;
	struct osr_verdict verdict;
	uint32_t mcast_vls; /* VLs on which multicast is proven, and OSR_MIXED_VLS */
	uint16_t used_vls;  /* VLs that our SLs use; 0 if senders choose */
	uint8_t link_vls;   /* of the snapshot */
	uint8_t budget;     /* lanes that could be used */
	uint64_t *changes;  /* [n_changes] osr__publish_changes() */
	uint64_t n_changes;
	struct qos_tables qos;
	/*
	 * With the entries of routing keys laid over: what the switches get. `result` stays the
	 * base, `verdict` and `digest` are of what they get.
	 */
	bool has_keys;
	struct osr_arena keys_arena; /* of `keyed` */
	struct osr_routing keyed;
	uint32_t n_key_entries;
	struct osr_verdict base_verdict;
	uint64_t digest;
	/* Of mcast_build_stree, [n_switches] each: the order with every switch in it, and scratch.
	 */
	uint32_t *mc_parent;
	uint32_t *mc_stamp;
	uint32_t *mc_list;
	uint32_t *mc_child;
	uint8_t *mc_n_child;
	uint8_t *mc_member;
};

/* What the switches get. */
static inline const struct osr_routing *osr__shown(const struct sweep_slot *slot)
{
	return slot->has_keys ? &slot->keyed : &slot->result.routing;
}

int osr__sweep(void *context);
/* What this sweep would have to do first; without OpenSM's lock, in the thread that sweeps. */
void osr__sweep_prepare(struct engine_ctx *ctx);
/* OpenSM reused its unicast cache instead of calling us: check what it programmed. */
void osr__sweep_cached(struct engine_ctx *ctx);

/* plugin.c ------------------------------------------------------------------------------------- */

struct engine_ctx {
	struct plugin *plugin;
	const struct osr_engine *engine;
	const struct osr_values *values;
	struct osm_routing_engine *re; /* OpenSM's list entry; lives as long as this */
	bool refuse;                   /* broken options and on_error = refuse */
	bool routed;                   /* our callback ran since the last UCAST_ROUTING_DONE */
	struct sweep_slot slot[4];
	struct osr_arena scratch;   /* empty between sweeps */
	struct sweep_slot *current; /* last checked result, or NULL */
	bool others_routed;         /* the last sweep failed here */
	struct sweep_slot *stored;  /* of the last run, until a sweep has succeeded; or NULL */
	struct store store;
	uint64_t n_sweeps[N_OUTCOMES];
	uint32_t mc_stamp;
	uint8_t vls_said;   /* VLs available, as logged last */
	uint32_t mc_warned; /* VLs and OSR_MIXED_VLS: reported unproven in this sweep */
	bool mc_warned_sp0; /* port 0 members outside the proven order were reported */
	struct engine_ctx *next;
};

struct registration {
	struct plugin *plugin;
	const struct osr_engine *engine;
	const struct osr_values *values;
};

/* The last lines of ours at the level of errors, each text once. */
#define MAX_WARNINGS 8
struct warnings {
	pthread_mutex_t lock;
	uint32_t n;
	struct warning {
		time_t time;
		char text[480];
	} line[MAX_WARNINGS];
};

struct plugin {
	struct osm_opensm *osm;
	struct warnings warnings;
	struct osr_options options;
	struct registration *registrations; /* one per row of osr_engines[] */
	struct engine_ctx *contexts;
	struct metrics metrics;                  /* of the last sweep */
	const struct osm_routing_engine *router; /* which routed last, or NULL */
	time_t router_since;                     /* 0: none has yet */
	struct keys *keys;                       /* NULL: there are none */
	struct traps traps;
	struct slvl slvl;
	struct reboots reboots;
	struct adopt_state adopt;
	struct upkeep *upkeep;           /* NULL: nothing is left out */
	struct engine_ctx *second_round; /* whose tables have gone out by half, or NULL */
	double ms_withdrawn;             /* when its first round was ready to be sent */
	bool engines_known;   /* OpenSM's list of engines is laid out as compat.h thinks */
	bool engines_unknown; /* it is not, and that has been said */
};

/* The plugin in this OpenSM, or NULL while it is being loaded or taken down. */
struct plugin *osr__plugin_of(const struct osm_opensm *osm);
bool osr__is_ours(const struct plugin *p, const struct osm_routing_engine *re);

/* What the next sweep starts from, or NULL. */
static inline const struct osr_result *osr__before(const struct engine_ctx *ctx)
{
	const struct sweep_slot *slot = ctx->current ? ctx->current : ctx->stored;

	return slot ? &slot->result : NULL;
}

static inline bool osr__any_sl(const struct osr_routing *routing, uint32_t proven)
{
	return !routing->sl || routing->n_vls <= 1 || (proven & OSR_CLAIM_ANY_SL);
}

#endif
