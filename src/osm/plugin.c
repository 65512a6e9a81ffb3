/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The plugin as OpenSM sees it: one exported symbol, osm_event_plugin.
 *
 * Engines come into OpenSM's routing engine list in two ways. osmroutes-<engine> (and <engine>
 * where OpenSM has no built-in of that name) is registered in create(), the only time it works. The
 * built-ins dfsssp and sssp are taken over in their list entries at the first heavy sweep, before
 * any routing, so that `-R dfsssp` means ours without a word changed in anybody's configuration.
 */
#include "plugin.h"

#include "confirm.h"
#include "layout.h"
#include "mcast_groups.h"
#include "storefile.h"
#include "trap.h"

#include <opensm/osm_helper.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#define PREFIX "osmroutes-" /* of an engine whose own name OpenSM has, too */

/* The engine of this name for an entry of OpenSM's list; NULL: it is not ours, or no memory. */
static struct engine_ctx *context_new(struct plugin *plugin, const char *name,
				      struct osm_routing_engine *re)
{
	struct engine_ctx *ctx;
	uint32_t e = 0;

	while (osr_engines[e] && strcmp(osr_engines[e]->name, name) != 0)
		e++;
	if (!osr_engines[e])
		return NULL;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx || !osr_store_open(ctx)) {
		osr_log(plugin->osm, OSM_LOG_ERROR,
			"ERR OR09: out of memory while setting up engine %s", name);
		free(ctx);
		return NULL;
	}
	ctx->plugin = plugin;
	ctx->engine = osr_engines[e];
	ctx->values = &plugin->options.engine[e];
	ctx->re = re;
	ctx->refuse = plugin->options.n_errors > 0;
	ctx->next = plugin->contexts;
	plugin->contexts = ctx;
	return ctx;
}

static void context_free(struct engine_ctx *ctx)
{
	osr_store_close(ctx);
	osr_arena_free(&ctx->scratch);
	osr_arena_free(&ctx->reserve);
	for (size_t i = 0; i < sizeof(ctx->slot) / sizeof(ctx->slot[0]); i++) {
		osr_arena_free(&ctx->slot[i].arena);
		osr_arena_free(&ctx->slot[i].keys_arena);
	}
	free(ctx);
}

/* Callbacks of the routing engine -------------------------------------------------------------- */

/* Everything happens in one go in ucast_build_fwd_tables; 1 would have OpenSM build hop matrices.
 */
static int build_lid_matrices(void *context)
{
	return 0;
}

static void destroy(void *context)
{
	struct engine_ctx *ctx = context, **link = &ctx->plugin->contexts;

	while (*link && *link != ctx)
		link = &(*link)->next;
	if (*link)
		*link = ctx->next;
	context_free(ctx);
}

/*
 * Every callback that a result may need, once and for good: a plugin that wraps them keeps them
 * beside the context that they belong to, and must never meet one that appeared later.
 */
static void install(struct osm_routing_engine *re, struct engine_ctx *ctx)
{
	re->context = ctx;
	re->build_lid_matrices = build_lid_matrices;
	re->ucast_build_fwd_tables = osr_sweep_callback;
	re->ucast_dump_tables = NULL;
	re->path_sl = osr_path_sl;
	re->destroy = destroy;
	re->mcast_build_stree = osr_mcast_build_stree;
	osr_qos_install(re, &ctx->plugin->osm->subn.opt);
}

/* Broken options disable our engines, unless on_error says that they refuse to route. */
static bool stays_away(const struct plugin *plugin)
{
	return plugin->options.n_errors &&
	       plugin->options.own.num[OPT_ON_ERROR] == ON_ERROR_FALLBACK;
}

static int setup(struct osm_routing_engine *re, struct osm_opensm *osm)
{
	struct plugin *plugin = re->context;
	struct engine_ctx *ctx;

	if (stays_away(plugin))
		return -1; /* create() has said why, and OpenSM names the engine */
	ctx = context_new(
		plugin, re->name + (strncmp(re->name, PREFIX, strlen(PREFIX)) ? 0 : strlen(PREFIX)),
		re);
	if (!ctx)
		return -1;
	install(re, ctx);
	return 0;
}

/* Waiting -------------------------------------------------------------------------------------- */

/*
 * OpenSM may be told to end meanwhile. Then its osm_qos_setup() releases OpenSM's lock once for
 * every request that it cannot make any more, and pthreads never grants that lock again; OpenSM
 * itself takes it no more. So every wait of ours ends when opensm does.
 */
#define LOOK_NS 100000000L /* at osm_exit_flag, this often */

bool osr_lock(struct osm_opensm *osm, enum lock_kind kind)
{
	pthread_rwlock_t *lock = &osm->lock.lock;

	while (!osm_exit_flag) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		if (!(kind == LOCK_SHARED ? pthread_rwlock_timedrdlock(lock, &until)
					  : pthread_rwlock_timedwrlock(lock, &until)))
			return true;
	}
	return false;
}

bool osr_wait_for_answers(struct osm_opensm *osm)
{
	osm_stats_t *stats = &osm->stats;

	pthread_mutex_lock(&stats->mutex);
	while (stats->qp0_mads_outstanding && !osm_exit_flag)
		pthread_cond_wait(&stats->cond, &stats->mutex);
	pthread_mutex_unlock(&stats->mutex);
	return !osm_exit_flag;
}

static uint8_t sm_state(const struct plugin *plugin)
{
	return __atomic_load_n(&plugin->osm->subn.sm_state, __ATOMIC_RELAXED);
}

bool osr_on_standby(const struct plugin *plugin)
{
	uint8_t state = sm_state(plugin);

	return state == IB_SMINFO_STATE_STANDBY || state == IB_SMINFO_STATE_NOTACTIVE;
}

const char *osr_not_master(const struct plugin *plugin)
{
	uint8_t state = sm_state(plugin);

	return state == IB_SMINFO_STATE_MASTER ? NULL : osm_get_sm_mgr_state_str(state);
}

void osr_ask_sweep(struct plugin *plugin)
{
	/* OpenSM writes it from several threads, too. */
	__atomic_store_n(&plugin->osm->subn.force_heavy_sweep, TRUE, __ATOMIC_RELAXED);
	osm_sm_signal(&plugin->osm->sm, OSM_SIGNAL_SWEEP);
}

/* Taking over the built-ins -------------------------------------------------------------------- */

struct engine_ctx *osr_ctx_of(const struct plugin *plugin, const struct osm_routing_engine *re)
{
	struct engine_ctx *ctx = plugin->contexts;

	while (ctx && ctx->re != re)
		ctx = ctx->next;
	return ctx;
}

static void take_over(struct plugin *plugin, struct osm_routing_engine *re, const char *name)
{
	struct engine_ctx *ctx;

	if (osr_ctx_of(plugin, re) || !osr_options_takes_over(&plugin->options, name))
		return;
	ctx = context_new(plugin, name, re);
	if (!ctx)
		return;
	if (re->destroy)
		re->destroy(re->context);
	install(re, ctx);
	if (ctx->refuse)
		return; /* said in create(), and at every sweep */
	osr_log(plugin->osm, OSM_LOG_INFO,
		"-R %s is served by osmroutes (\"takeover = none\" in %s keeps "
		"OpenSM's own)",
		name, *plugin->options.config ? plugin->options.config : OSR_DEFAULT_CONFIG);
}

void osr_state_name(const struct plugin *plugin, const char *what, char *name, size_t size)
{
	snprintf(name, size, "osmroutes-%s-%016" PRIx64 ".json", what,
		 cl_ntoh64(plugin->osm->subn.sm_port_guid));
}

/* Engines as a feature: the registered engines, and their work between sweeps. */
static void engines_begin(struct plugin *plugin)
{
	/* Looked at once, when OpenSM has made the list. */
	if (!plugin->engines_known && !plugin->engines_unknown && !stays_away(plugin)) {
		const char *member = osr_layout_contradiction(plugin->osm, true);

		plugin->engines_known = !member;
		plugin->engines_unknown = member;
		if (member)
			osr_log(plugin->osm, OSM_LOG_ERROR,
				"ERR OR17: OpenSM's list of routing engines differs from that of "
				"the headers that osmroutes was built with (%s): none is taken "
				"over",
				member);
	}
	/* Path queries read engines under the shared lock. */
	if (plugin->engines_known && osr_lock(plugin->osm, LOCK_ALONE)) {
		struct osm_routing_engine *re = plugin->osm->routing_engine_list;

		for (; re; re = re->next) {
			if (re->type == OSM_ROUTING_ENGINE_TYPE_DFSSSP)
				take_over(plugin, re, "dfsssp");
			else if (re->type == OSM_ROUTING_ENGINE_TYPE_SSSP)
				take_over(plugin, re, "sssp");
		}
		cl_plock_release(&plugin->osm->lock);
	}
	for (struct engine_ctx *ctx = plugin->contexts; ctx; ctx = ctx->next) {
		ctx->routed = false;
		osr_sweep_prepare(ctx);
		osr_store_load(ctx);
	}
}

static void engines_sent(struct plugin *plugin)
{
	for (struct engine_ctx *ctx = plugin->contexts; ctx; ctx = ctx->next) {
		if (!ctx->routed && plugin->osm->routing_engine_used == ctx->re)
			osr_sweep_cached(ctx);
		ctx->routed = false;
		osr_store_save(ctx);
	}
}

/* Work that the next sweep would have to do before it can route: there is time now. */
static void engines_over(struct plugin *plugin)
{
	for (struct engine_ctx *ctx = plugin->contexts; ctx; ctx = ctx->next)
		osr_sweep_prepare(ctx);
}

static const struct feature engines = { .on = { [ON_SWEEP_BEGINS] = engines_begin,
						[ON_TABLES_SENT] = engines_sent,
						[ON_SWEEP_OVER] = engines_over } };

/* In the order in which they are told. */
static const struct feature *const features[] = {
	&osr_confirm, &osr_upkeep, &osr_feature_keys, &engines,     &osr_traps,
	&osr_reboots, &osr_slvl,   &osr_rounds,       &osr_history, &osr_metrics,
};

#define N_FEATURES (sizeof(features) / sizeof(*features))

static void **state_of(const struct feature *feature, struct plugin *plugin)
{
	return (void **)((char *)plugin + feature->state);
}

void osr_features_tell(struct plugin *plugin, enum feature_event event)
{
	for (size_t i = 0; i < N_FEATURES; i++) {
		const struct feature *feature =
			features[event == ON_CLOSE ? N_FEATURES - 1 - i : i];

		if (feature->on[event] && (!feature->size || *state_of(feature, plugin)))
			feature->on[event](plugin);
		if (event == ON_CLOSE && feature->size)
			free(*state_of(feature, plugin));
	}
}

static void report(void *plugin_data, osm_epi_event_id_t event, void *event_data)
{
	struct plugin *plugin = plugin_data;

	switch (event) {
	case OSM_EVENT_ID_TRAP:
		osr_traps_note(plugin, event_data);
		break;
	case OSM_EVENT_ID_HEAVY_SWEEP_START:
		osr_features_tell(plugin, ON_SWEEP_BEGINS);
		plugin->up = false;
		break;
	case OSM_EVENT_ID_HEAVY_SWEEP_DONE:
		osr_features_tell(plugin, ON_DISCOVERED);
		break;
	case OSM_EVENT_ID_UCAST_ROUTING_DONE:
		osr_features_tell(plugin, ON_ROUTED);
		osr_confirm_unicast(plugin, false);
		osr_features_tell(plugin, ON_TABLES_SENT);
		break;
	case OSM_EVENT_ID_SUBNET_UP:
	case OSM_EVENT_ID_STATE_CHANGE:
		if (event == OSM_EVENT_ID_SUBNET_UP)
			osr_confirm_multicast(plugin);
		plugin->up = event == OSM_EVENT_ID_SUBNET_UP &&
			     !plugin->osm->subn.subnet_initialization_error &&
			     osr_confirmed(plugin);
		osr_features_tell(plugin, ON_SWEEP_OVER);
		osr_log_flush(plugin->osm); /* OpenSM's own "SUBNET UP" */
		break;
	default:
		break; /* other events come from other threads and do not concern us */
	}
}

extern osm_event_plugin_t osm_event_plugin;

/* Life of the plugin --------------------------------------------------------------------------- */

static void register_engines(struct plugin *plugin)
{
	if (!OSR_REGISTERS)
		osr_log(plugin->osm, OSM_LOG_INFO,
			OSM_VERSION " takes no engines from plugins: dfsssp and sssp are served "
				    "under their own names, others not at all");
	/* Each as osmroutes-NAME, and as NAME where OpenSM has no engine of that name. */
	for (uint32_t e = 0; OSR_REGISTERS && osr_engines[e]; e++)
		for (int own = 0; own < 2; own++) {
			const char *engine = osr_engines[e]->name;
			char name[64];
			external_routing_engine_module_t module = { .name = name,
								    .setup = setup,
								    .context = plugin };

			if (own &&
			    osm_routing_engine_type(engine) != OSM_ROUTING_ENGINE_TYPE_UNKNOWN)
				continue;
			snprintf(name, sizeof(name), "%s%s", own ? "" : PREFIX, engine);
			if (osm_register_external_routing_engine(plugin->osm, &module,
								 module.context) != CL_SUCCESS)
				osr_log(plugin->osm, OSM_LOG_ERROR,
					"ERR OR11: OpenSM does not accept the routing engine name "
					"%s",
					name);
		}
}

static void delete (void *plugin_data)
{
	struct plugin *plugin = plugin_data;

	osr_features_tell(plugin, ON_CLOSE);
	/*
	 * Before 3.3.23 OpenSM closes plugins first, and engines after; since then this list is
	 * empty.
	 */
	for (struct osm_routing_engine *re = plugin->osm->routing_engine_list; re; re = re->next)
		if (re->destroy == destroy)
			re->destroy = NULL;
	/* OpenSM has destroyed its engines by now; whatever a wrapper kept from us goes here. */
	while (plugin->contexts) {
		struct engine_ctx *ctx = plugin->contexts;

		plugin->contexts = ctx->next;
		context_free(ctx);
	}
	osr_options_free(&plugin->options);
	free(plugin);
}

struct plugin *osr_plugin_of(const struct osm_opensm *osm)
{
	const cl_qlist_t *list = &osm->plugin_list;

	for (cl_list_item_t *item = cl_qlist_head(list); item != cl_qlist_end(list);
	     item = cl_qlist_next(item)) {
		const osm_epi_plugin_t *other = cl_item_obj(item, other, list);

		if (other->impl == &osm_event_plugin)
			return other->plugin_data;
	}
	return NULL;
}

static bool may_load(struct osm_opensm *osm)
{
	static const char wrong[] = "osmroutes is not loaded: this " OSM_VERSION
				    " does not match the headers that the plugin was built with "
				    "(%s); build it for this OpenSM: "
				    "scripts/build-for PREFIX\n";
	const char *member = osr_layout_contradiction(osm, false);

	if (member) {
		/* osm->log itself may not be where we think: nothing of it can be used. */
		fprintf(stderr, wrong, member);
		syslog(LOG_DAEMON | LOG_ERR, wrong, member);
		return false;
	}
	/* Both would take the engines from each other. */
	if (osr_plugin_of(osm)) {
		osr_log(osm, OSM_LOG_ERROR,
			"ERR OR17: event_plugin_name lists osmroutes twice; the second entry is "
			"ignored");
		return false;
	}
	return true;
}

static void *create(struct osm_opensm *osm)
{
	struct plugin *plugin;
	bool good;

	if (!may_load(osm))
		return NULL;
	plugin = calloc(1, sizeof(*plugin));
	if (!plugin) {
		osr_log(osm, OSM_LOG_ERROR, "ERR OR09: out of memory while loading");
		return NULL;
	}
	plugin->osm = osm;
	pthread_mutex_init(&plugin->warnings.lock, NULL);
	good = osr_options_load(&plugin->options, NULL, osm->subn.opt.event_plugin_options);
	if (good) {
		const struct osr_options *options = &plugin->options;

		if (options->n_errors)
			osr_log(plugin->osm, OSM_LOG_ERROR, "ERR OR01: %s; %s",
				options->error[0].text,
				stays_away(plugin) ? "osmroutes is disabled until opensm restarts; "
						     "OpenSM falls back to its "
						     "own engines"
						   : "on_error = refuse: the engines of osmroutes "
						     "refuse to route");
		else
			osr_log(plugin->osm, OSM_LOG_INFO, "ready, %s%s and event_plugin_options",
				osr_options_origin(options), options->config);
	}
	for (size_t i = 0; good && i < N_FEATURES; i++) {
		const struct feature *feature = features[i];

		if (feature->size)
			*state_of(feature, plugin) = calloc(1, feature->size);
		good = (!feature->size || *state_of(feature, plugin)) &&
		       (!feature->open || feature->open(plugin));
	}
	if (!good) {
		osr_log(osm, OSM_LOG_ERROR, "ERR OR09: out of memory while loading");
		delete (plugin);
		return NULL;
	}
	/* Last, because OpenSM keeps the names and their setup() for good. */
	register_engines(plugin);
	return plugin;
}

__attribute__((visibility("default"))) osm_event_plugin_t osm_event_plugin = {
	.osm_version = OSM_VERSION,
	.create = create,
	.delete = delete,
	.report = report,
};
