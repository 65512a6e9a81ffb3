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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#define PREFIX "osmroutes-" /* of an engine whose own name OpenSM has, too */

/* The engine of this name for an entry of OpenSM's list; NULL: it is not ours, or no memory. */
static struct engine_ctx *context_new(struct plugin *p, const char *name,
				      struct osm_routing_engine *re)
{
	struct engine_ctx *ctx;
	uint32_t e = 0;

	while (osr_engines[e] && strcmp(osr_engines[e]->name, name) != 0)
		e++;
	if (!osr_engines[e])
		return NULL;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx || !osr__store_open(ctx)) {
		osr__log(p->osm, OSM_LOG_ERROR,
			 "ERR OR09: out of memory while setting up engine %s", name);
		free(ctx);
		return NULL;
	}
	ctx->plugin = p;
	ctx->engine = osr_engines[e];
	ctx->values = &p->options.engine[e];
	ctx->re = re;
	ctx->refuse = p->options.n_errors > 0;
	ctx->next = p->contexts;
	p->contexts = ctx;
	return ctx;
}

static void context_free(struct engine_ctx *ctx)
{
	osr__store_close(ctx);
	osr_arena_free(&ctx->scratch);
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
	re->ucast_build_fwd_tables = osr__sweep;
	re->ucast_dump_tables = NULL;
	re->path_sl = osr__path_sl;
	re->destroy = destroy;
	re->mcast_build_stree = osr__mcast_build_stree;
	osr__qos_install(re, &ctx->plugin->osm->subn.opt);
}

/* Broken options disable our engines, unless on_error says that they refuse to route. */
static bool stays_away(const struct plugin *p)
{
	return p->options.n_errors && p->options.own.num[OPT_ON_ERROR] == ON_ERROR_FALLBACK;
}

static int setup(struct osm_routing_engine *re, struct osm_opensm *osm)
{
	struct plugin *p = re->context;
	struct engine_ctx *ctx;

	if (stays_away(p))
		return -1; /* create() has said why, and OpenSM names the engine */
	ctx = context_new(
		p, re->name + (strncmp(re->name, PREFIX, strlen(PREFIX)) ? 0 : strlen(PREFIX)), re);
	if (!ctx)
		return -1;
	install(re, ctx);
	return 0;
}

/* Waiting -------------------------------------------------------------------------------------- */

/*
 * OpenSM may be told to end meanwhile. Then its osm_qos_setup() releases OpenSM's lock once for every request that it
 * cannot make any more, and pthreads never grants that lock again; OpenSM itself takes it no more. So every wait of ours
 * ends when opensm does.
 */
#define LOOK_NS 100000000L /* at osm_exit_flag, this often */

bool osr__lock(struct osm_opensm *osm, enum lock_kind kind)
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

bool osr__wait_for_answers(struct osm_opensm *osm)
{
	osm_stats_t *stats = &osm->stats;

	pthread_mutex_lock(&stats->mutex);
	while (stats->qp0_mads_outstanding && !osm_exit_flag)
		pthread_cond_wait(&stats->cond, &stats->mutex);
	pthread_mutex_unlock(&stats->mutex);
	return !osm_exit_flag;
}

static uint8_t sm_state(const struct plugin *p)
{
	return __atomic_load_n(&p->osm->subn.sm_state, __ATOMIC_RELAXED);
}

bool osr__on_standby(const struct plugin *p)
{
	uint8_t state = sm_state(p);

	return state == IB_SMINFO_STATE_STANDBY || state == IB_SMINFO_STATE_NOTACTIVE;
}

const char *osr__not_master(const struct plugin *p)
{
	uint8_t state = sm_state(p);

	return state == IB_SMINFO_STATE_MASTER ? NULL : osm_get_sm_mgr_state_str(state);
}

void osr__ask_sweep(struct plugin *p)
{
	/* OpenSM writes it from several threads, too. */
	__atomic_store_n(&p->osm->subn.force_heavy_sweep, TRUE, __ATOMIC_RELAXED);
	osm_sm_signal(&p->osm->sm, OSM_SIGNAL_SWEEP);
}

/* Taking over the built-ins -------------------------------------------------------------------- */

struct engine_ctx *osr__ctx_of(const struct plugin *p, const struct osm_routing_engine *re)
{
	struct engine_ctx *ctx = p->contexts;

	while (ctx && ctx->re != re)
		ctx = ctx->next;
	return ctx;
}

static void take_over(struct plugin *p, struct osm_routing_engine *re, const char *name)
{
	struct engine_ctx *ctx;

	if (osr__ctx_of(p, re) || !osr_options_takes_over(&p->options, name))
		return;
	ctx = context_new(p, name, re);
	if (!ctx)
		return;
	if (re->destroy)
		re->destroy(re->context);
	install(re, ctx);
	if (ctx->refuse)
		return; /* said in create(), and at every sweep */
	osr__log(p->osm, OSM_LOG_INFO,
		 "-R %s is served by osmroutes (\"takeover = none\" in %s keeps "
		 "OpenSM's own)",
		 name, *p->options.config ? p->options.config : OSR_DEFAULT_CONFIG);
}

/* Engines as a feature: those that are there, and what each has to do between sweeps. */
static void engines_begin(struct plugin *p)
{
	/* Looked at once, when OpenSM has made the list. */
	if (!p->engines_known && !p->engines_unknown && !stays_away(p)) {
		const char *member = osr__layout_contradiction(p->osm, true);

		p->engines_known = !member;
		p->engines_unknown = member;
		if (member)
			osr__log(p->osm, OSM_LOG_ERROR,
				 "ERR OR17: OpenSM's list of routing engines differs from that of "
				 "the headers that osmroutes was built with (%s): none is taken "
				 "over",
				 member);
	}
	/* Path queries read engines under the shared lock. */
	if (p->engines_known && osr__lock(p->osm, LOCK_ALONE)) {
		struct osm_routing_engine *re = p->osm->routing_engine_list;

		for (; re; re = re->next) {
			if (re->type == OSM_ROUTING_ENGINE_TYPE_DFSSSP)
				take_over(p, re, "dfsssp");
			else if (re->type == OSM_ROUTING_ENGINE_TYPE_SSSP)
				take_over(p, re, "sssp");
		}
		cl_plock_release(&p->osm->lock);
	}
	for (struct engine_ctx *ctx = p->contexts; ctx; ctx = ctx->next) {
		ctx->routed = false;
		osr__sweep_prepare(ctx);
		osr__store_load(ctx);
	}
}

static void engines_sent(struct plugin *p)
{
	for (struct engine_ctx *ctx = p->contexts; ctx; ctx = ctx->next) {
		if (!ctx->routed && p->osm->routing_engine_used == ctx->re)
			osr__sweep_cached(ctx);
		ctx->routed = false;
		osr__store_save(ctx);
	}
}

/* What the next sweep would have to do before it can route: there is time now. */
static void engines_over(struct plugin *p)
{
	for (struct engine_ctx *ctx = p->contexts; ctx; ctx = ctx->next)
		osr__sweep_prepare(ctx);
}

static const struct feature engines = { .on = { [ON_SWEEP_BEGINS] = engines_begin,
						[ON_TABLES_SENT] = engines_sent,
						[ON_SWEEP_OVER] = engines_over } };

/* In the order in which they are told. */
static const struct feature *const features[] = {
	&osr__confirm, &osr__upkeep, &osr__keys,   &engines,      &osr__traps,
	&osr__reboots, &osr__slvl,   &osr__rounds, &osr__metrics,
};

#define N_FEATURES (sizeof(features) / sizeof(*features))

static void **state_of(const struct feature *f, struct plugin *p)
{
	return (void **)((char *)p + f->state);
}

void osr__features_tell(struct plugin *p, enum feature_event event)
{
	for (size_t i = 0; i < N_FEATURES; i++) {
		const struct feature *f = features[event == ON_CLOSE ? N_FEATURES - 1 - i : i];

		if (f->on[event] && (!f->size || *state_of(f, p)))
			f->on[event](p);
		if (event == ON_CLOSE && f->size)
			free(*state_of(f, p));
	}
}

static void report(void *plugin_data, osm_epi_event_id_t event, void *event_data)
{
	struct plugin *p = plugin_data;

	switch (event) {
	case OSM_EVENT_ID_TRAP:
		osr__traps_note(p, event_data);
		break;
	case OSM_EVENT_ID_HEAVY_SWEEP_START:
		osr__features_tell(p, ON_SWEEP_BEGINS);
		p->up = false;
		break;
	case OSM_EVENT_ID_HEAVY_SWEEP_DONE:
		osr__features_tell(p, ON_DISCOVERED);
		break;
	case OSM_EVENT_ID_UCAST_ROUTING_DONE:
		osr__features_tell(p, ON_ROUTED);
		osr__confirm_unicast(p, false);
		osr__features_tell(p, ON_TABLES_SENT);
		break;
	case OSM_EVENT_ID_SUBNET_UP:
	case OSM_EVENT_ID_STATE_CHANGE:
		if (event == OSM_EVENT_ID_SUBNET_UP)
			osr__confirm_multicast(p);
		p->up = event == OSM_EVENT_ID_SUBNET_UP &&
			!p->osm->subn.subnet_initialization_error && osr__confirmed(p);
		osr__features_tell(p, ON_SWEEP_OVER);
		osr__log_flush(p->osm); /* OpenSM's own "SUBNET UP" */
		break;
	default:
		break; /* other events come from other threads and do not concern us */
	}
}

extern osm_event_plugin_t osm_event_plugin;

/* Life of the plugin --------------------------------------------------------------------------- */

static void register_engines(struct plugin *p)
{
	if (!OSR__REGISTERS)
		osr__log(p->osm, OSM_LOG_INFO,
			 OSM_VERSION " takes no engines from plugins: dfsssp and sssp are served "
				     "under their own names, others not at all");
	/* Each as osmroutes-NAME, and as NAME where OpenSM has no engine of that name. */
	for (uint32_t e = 0; OSR__REGISTERS && osr_engines[e]; e++)
		for (int own = 0; own < 2; own++) {
			const char *engine = osr_engines[e]->name;
			char name[64];
			external_routing_engine_module_t module = { .name = name,
								    .setup = setup,
								    .context = p };

			if (own &&
			    osm_routing_engine_type(engine) != OSM_ROUTING_ENGINE_TYPE_UNKNOWN)
				continue;
			snprintf(name, sizeof(name), "%s%s", own ? "" : PREFIX, engine);
			if (osm_register_external_routing_engine(p->osm, &module, module.context) !=
			    CL_SUCCESS)
				osr__log(p->osm, OSM_LOG_ERROR,
					 "ERR OR11: OpenSM does not accept the routing engine name "
					 "%s",
					 name);
		}
}

static void delete (void *plugin_data)
{
	struct plugin *p = plugin_data;

	osr__features_tell(p, ON_CLOSE);
	/* Before 3.3.23 OpenSM closes plugins first, and engines after; since then this list is empty. */
	for (struct osm_routing_engine *re = p->osm->routing_engine_list; re; re = re->next)
		if (re->destroy == destroy)
			re->destroy = NULL;
	/* OpenSM has destroyed its engines by now; whatever a wrapper kept from us goes here. */
	while (p->contexts) {
		struct engine_ctx *ctx = p->contexts;

		p->contexts = ctx->next;
		context_free(ctx);
	}
	osr_options_free(&p->options);
	free(p);
}

struct plugin *osr__plugin_of(const struct osm_opensm *osm)
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
	const char *member = osr__layout_contradiction(osm, false);

	if (member) {
		/* osm->log itself may not be where we think: nothing of it can be used. */
		fprintf(stderr, wrong, member);
		syslog(LOG_DAEMON | LOG_ERR, wrong, member);
		return false;
	}
	/* Both would take the engines from each other. */
	if (osr__plugin_of(osm)) {
		osr__log(osm, OSM_LOG_ERROR,
			 "ERR OR17: event_plugin_name lists osmroutes twice; the second entry is "
			 "ignored");
		return false;
	}
	return true;
}

static void *create(struct osm_opensm *osm)
{
	struct plugin *p;
	bool good;

	if (!may_load(osm))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p) {
		osr__log(osm, OSM_LOG_ERROR, "ERR OR09: out of memory while loading");
		return NULL;
	}
	p->osm = osm;
	pthread_mutex_init(&p->warnings.lock, NULL);
	good = osr_options_load(&p->options, NULL, osm->subn.opt.event_plugin_options);
	if (good) {
		const struct osr_options *o = &p->options;

		if (o->n_errors)
			osr__log(p->osm, OSM_LOG_ERROR, "ERR OR01: %s; %s", o->error[0].text,
				 stays_away(p) ? "osmroutes is disabled until opensm restarts; "
						 "OpenSM falls back "
						 "to its "
						 "own engines"
					       : "on_error = refuse: the engines of osmroutes "
						 "refuse to route");
		else
			osr__log(p->osm, OSM_LOG_INFO, "ready, %s%s and event_plugin_options",
				 osr_options_origin(o), o->config);
	}
	for (size_t i = 0; good && i < N_FEATURES; i++) {
		const struct feature *f = features[i];

		if (f->size)
			*state_of(f, p) = calloc(1, f->size);
		good = (!f->size || *state_of(f, p)) && (!f->open || f->open(p));
	}
	if (!good) {
		osr__log(osm, OSM_LOG_ERROR, "ERR OR09: out of memory while loading");
		delete (p);
		return NULL;
	}
	/* Last, because OpenSM keeps the names and their setup() for good. */
	register_engines(p);
	return p;
}

__attribute__((visibility("default"))) osm_event_plugin_t osm_event_plugin = {
	.osm_version = OSM_VERSION,
	.create = create,
	.delete = delete,
	.report = report,
};
