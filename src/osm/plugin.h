/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * plugin.h - what the files of the plugin share: the plugin, its engines, their results, the log.
 *
 * One struct plugin per OpenSM; one struct engine_ctx per entry of OpenSM's routing engine list
 * that we serve. A sweep flows one way through the files:
 *
 *	snapshot.c -> engine -> check -> publish.c      (driven by sweep.c; core/data/carry.h when that
 *	fails)
 *
 * and leaves a checked struct osr_result behind, which path_sl (qos.c) and multicast
 * (mcast_groups.c) read until the next one replaces it. Routing runs under OpenSM's exclusive lock
 * and the readers under the shared one, so replacing needs no lock of ours. No pointer into
 * OpenSM's subnet survives a callback. What else the plugin does is a feature, a row of what it
 * does at which event; what other files call of it is in a header of its own, which is not included
 * here.
 */
#ifndef OSR_OSM_PLUGIN_H
#define OSR_OSM_PLUGIN_H

#include "qos.h"

#include <jansson.h>
#include <pthread.h>

#include <osmroutes/arena.h>
#include <osmroutes/check.h>
#include <osmroutes/engine.h>
#include <osmroutes/split.h>
#include "core/repair/repair.h"

struct engine_ctx;
struct plugin;

/* Features ------------------------------------------------------------------------------------- */

/* Events of features, in OpenSM's sweep thread without a lock, in the order of a sweep. */
enum feature_event {
	ON_SWEEP_BEGINS, /* one with a discovery */
	ON_DISCOVERED,   /* and before it routes */
	ON_ROUTED,       /* the switches have the tables that OpenSM has sent */
	ON_TABLES_SENT,  /* and the tables sent from here */
	ON_SWEEP_OVER,   /* plugin.up: well */
	ON_CLOSE,        /* in the reverse order, of those that have their state */
	N_FEATURE_EVENTS,
};

struct feature {
	/*
	 * The state of the feature: bytes, all 0, and the pointer of struct plugin to them, from
	 * before open() until after ON_CLOSE.
	 */
	size_t size, state;
	bool (*open)(struct plugin *p); /* while OpenSM loads the plugin; false: no memory */
	void (*on[N_FEATURE_EVENTS])(struct plugin *p);
};

/* Each in the file of its name, with state of its own. */
extern const struct feature osr_history, osr_confirm, osr_feature_keys, osr_metrics, osr_reboots,
	osr_rounds, osr_slvl, osr_traps, osr_upkeep;

/* To all features. */
void osr_features_tell(struct plugin *plugin, enum feature_event event);

/* log.c ---------------------------------------------------------------------------------------- */

void osr_log(struct osm_opensm *osm, osm_log_level_t level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * All lines so far into the file. osr_log() does it for its own, at the levels that are on by
 * default.
 */
void osr_log_flush(struct osm_opensm *osm);
/* The last lines at the level of errors, [{"time", "text"}], oldest first; NULL without memory. */
json_t *osr_warnings(const struct plugin *plugin);
/*
 * The name of a node in the log, with its GUID if another node has the same name. Under OpenSM's
 * lock; O(nodes).
 */
#define OSR_NODE_NAME 96
const char *osr_node_name(struct osm_opensm *osm, const osm_node_t *node, char *buf, size_t size);

/* The name of a file in OpenSM's cache directory: osmroutes-WHAT-GUID.json, by the SM's port. */
void osr_state_name(const struct plugin *plugin, const char *what, char *name, size_t size);

/* The level of messages besides the one line of a sweep: option log_details. */
osm_log_level_t osr_log_details(const struct plugin *plugin);

/* sweep.c -------------------------------------------------------------------------------------- */

struct sweep_slot {
	struct osr_arena arena; /* of everything below */
	struct osr_result result;
	struct osr_verdict verdict;
	struct osr_split
		split;       /* of the base; n_lids = 0: not measured, as there is one LID a host */
	uint32_t mcast_vls;  /* VLs on which multicast is proven, and OSR_MIXED_VLS */
	uint16_t used_vls;   /* VLs that our SLs use; 0 if senders choose */
	uint16_t spread_sls; /* osr_spread_sls() */
	uint8_t link_vls;    /* of the snapshot */
	uint8_t budget;      /* lanes that could be used */
	struct qos_tables qos;
	/*
	 * With the entries of routing keys laid over: the tables that switches get. `result` stays
	 * the base; `verdict` and `digest` are of the tables that switches get.
	 */
	bool has_keys;
	struct osr_arena keys_arena; /* of `keyed` */
	struct osr_routing keyed;
	uint32_t n_key_entries;
	struct osr_verdict base_verdict;
	uint64_t digest;
	/*
	 * Of mcast_build_stree, [n_switches] each: the order with every switch in it, and scratch;
	 * mc_below is 0.
	 */
	uint32_t *mc_parent;
	uint32_t *mc_list;
	uint32_t *mc_below;
};

/* The tables that switches get. */
static inline const struct osr_routing *osr_shown(const struct sweep_slot *slot)
{
	return slot->has_keys ? &slot->keyed : &slot->result.routing;
}

int osr_sweep_callback(void *context);
/* Work that this sweep would have to do first; without OpenSM's lock, in the thread that sweeps. */
void osr_sweep_prepare(struct engine_ctx *ctx);
/* OpenSM reused its unicast cache instead of calling us: check the tables that it programmed. */
void osr_sweep_cached(struct engine_ctx *ctx);

/* plugin.c ------------------------------------------------------------------------------------- */

/* The outcome of a sweep. */
enum outcome {
	OUTCOME_ROUTED, /* new tables, checked */
	OUTCOME_KEYS,   /* the base of the sweep before, other routing keys over it, checked */
	OUTCOME_REUSED, /* routing failed; the last checked tables fit and were used again */
	OUTCOME_CACHED, /* OpenSM used its unicast cache; those tables passed the check */
	OUTCOME_CACHED_HOSTS, /* the same, but they hold for LIDs of CAs and routers only */
	OUTCOME_CACHE_BAD,    /* the same, but they failed the check: a new sweep was asked for */
	OUTCOME_FAILED,       /* no checked tables: OpenSM's next engine had its turn */
	OUTCOME_REFUSED,      /* on_error = refuse */
	N_OUTCOMES,
};

struct store;

struct engine_ctx {
	struct plugin *plugin;
	const struct osr_engine *engine;
	const struct osr_values *values;
	struct osm_routing_engine *re; /* OpenSM's list entry; lives as long as this */
	bool refuse;                   /* broken options and on_error = refuse */
	bool routed;                   /* our callback ran since the last UCAST_ROUTING_DONE */
	struct sweep_slot slot[3];
	struct osr_arena scratch;   /* empty between sweeps */
	struct osr_arena reserve;   /* for a sweep without memory */
	struct sweep_slot *current; /* last checked result, or NULL */
	bool others_routed;         /* the last sweep failed here, or another SM was master */
	struct sweep_slot *stored;  /* of the last run, until a sweep has succeeded; or NULL */
	struct store *store;        /* storefile.h */
	uint64_t n_sweeps[N_OUTCOMES];
	uint8_t vls_said;   /* VLs available, as logged last */
	char unknown[260];  /* ports that led to nothing known, in the last sweep */
	uint32_t mc_warned; /* VLs and OSR_MIXED_VLS: reported unproven in this sweep */
	bool mc_warned_sp0; /* port 0 members outside the proven order were reported */
	bool mc_again;      /* trees that were made are made once more */
	struct engine_ctx *next;
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
	struct engine_ctx *contexts;
	const struct osm_routing_engine *router; /* which routed last, or NULL */
	time_t router_since;                     /* 0: none has yet */
	/* No discovery is under way, and the last one ended well: switches hold their tables. */
	bool up;
	/* The states of features, each in its own file. */
	struct confirm *confirm;
	struct keys *keys; /* NULL: there are none */
	struct history *history;
	struct metrics *metrics;
	struct reboots *reboots;
	struct slvl *slvl;
	struct traps *traps;
	struct upkeep *upkeep; /* NULL: nothing is left out */

	struct engine_ctx *second_round; /* whose tables have gone out by half, or NULL */
	double ms_withdrawn;             /* when its first round was ready to be sent */
	bool engines_known;   /* OpenSM's list of engines is laid out as compat.h thinks */
	bool engines_unknown; /* it is not, and that has been said */
};

enum lock_kind { LOCK_SHARED, LOCK_ALONE };
/*
 * Takes OpenSM's lock, which cl_plock_release() gives back. false: opensm ends, and the lock is not
 * taken.
 */
bool osr_lock(struct osm_opensm *osm, enum lock_kind kind);
/*
 * Without a lock, in the thread that sweeps: waits until OpenSM has an answer, or a timeout, for
 * everything under way. false: opensm ends, and there may be no answers.
 */
bool osr_wait_for_answers(struct osm_opensm *osm);

/* The present state of OpenSM; NULL: it is the master of the fabric. From any thread. */
const char *osr_not_master(const struct plugin *plugin);
/* Is another one the master? Otherwise OpenSM is, or is about to find out. */
bool osr_on_standby(const struct plugin *plugin);
/* A sweep with a discovery, soon; from any thread. */
void osr_ask_sweep(struct plugin *plugin);

/* The plugin in this OpenSM, or NULL while it is being loaded or taken down. */
struct plugin *osr_plugin_of(const struct osm_opensm *osm);
/* Ours for this entry of OpenSM's list, or NULL. */
struct engine_ctx *osr_ctx_of(const struct plugin *plugin, const struct osm_routing_engine *re);

/* The result from which the next sweep starts, or NULL. */
static inline const struct osr_result *osr_before(const struct engine_ctx *ctx)
{
	const struct sweep_slot *slot = ctx->current ? ctx->current : ctx->stored;

	return slot ? &slot->result : NULL;
}

static inline bool osr_is_any_sl(const struct osr_routing *routing, uint32_t proven)
{
	return !routing->sl || routing->n_vls <= 1 || (proven & OSR_CLAIM_ANY_SL);
}

#endif
