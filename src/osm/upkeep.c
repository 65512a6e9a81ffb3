/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "upkeep.h"

#include "file.h"
#include "plugin.h"
#include "sweep.h"

#include <complib/cl_timer.h>

#include <pthread.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BOOK (1024 * 1024)

struct upkeep {
	struct osr_drains *drains;
	struct osr_hold_down hold;
	cl_timer_t timer;       /* until a link may return */
	pthread_mutex_t saving; /* of the file and the three below: two threads write it */
	uint64_t saved;         /* version of the file */
	bool loaded, told, save_failed;
	uint64_t asked; /* version that a sweep was asked for */
};

struct osr_drains *osr_upkeep_drains(const struct plugin *plugin)
{
	return plugin->upkeep ? plugin->upkeep->drains : NULL;
}

/* The list in a file --------------------------------------------------------------------------- */

/*
 * In the thread of the control socket, or in the one that sweeps: the file is replaced as a whole.
 */
static void upkeep_save(struct plugin *plugin)
{
	struct upkeep *upkeep = plugin->upkeep;
	const struct osr_place place = { .dir = osr_cache_dir(), .mode = 0600 };
	struct osr_diag diag = { "out of memory" };
	struct osr_page page;
	uint64_t version;
	char *text;
	bool failed;

	pthread_mutex_lock(&upkeep->saving);
	version = osr_drains_state(upkeep->drains).version;
	if (upkeep->loaded && version != upkeep->saved) {
		osr_state_name(plugin, "drained", page.name, sizeof(page.name));
		page.bytes = text = osr_drains_save(upkeep->drains);
		page.size = text ? strlen(text) : 0;
		failed = !text || !osr_file_replace(&place, &page, &diag);
		free(text);
		if (failed && !upkeep->save_failed)
			osr_log(plugin->osm, OSM_LOG_ERROR,
				"ERR OR20: drained parts cannot be stored and would not survive a "
				"restart: %s",
				diag.text);
		upkeep->save_failed = failed;
		upkeep->saved = version;
	}
	pthread_mutex_unlock(&upkeep->saving);
}

/* What is left out ----------------------------------------------------------------------------- */

bool osr_upkeep_out(const struct plugin *plugin, uint64_t guid, uint8_t port)
{
	return plugin->upkeep && osr_drains_out(plugin->upkeep->drains, guid, port);
}

static void upkeep_say(void *ctx, enum osr_drain_news news, const char *name, const char *cut)
{
	struct plugin *plugin = ctx;
	const struct osr_hold_down *hold = &plugin->upkeep->hold;

	if (news == OSR_DRAIN_KEPT)
		osr_log(plugin->osm, OSM_LOG_ERROR,
			"ERR OR20: %s is not left out: without it end ports of switch %s would be "
			"cut off",
			name, cut);
	else if (news == OSR_DRAIN_HELD)
		osr_log(plugin->osm, OSM_LOG_ERROR,
			"ERR OR21: link %s went down %u times within %u s: it is held down until "
			"nothing happens to it for %u s",
			name, hold->after, hold->within, hold->calm);
	else
		osr_log(plugin->osm, OSM_LOG_INFO,
			"link %s has been calm for %u s: it is routed again", name, hold->calm);
}

bool osr_upkeep_watch(struct plugin *plugin, const struct osr_fabric *fabric,
		      struct osr_arena *scratch)
{
	struct upkeep *upkeep = plugin->upkeep;
	struct osr_drains_look look = { .fabric = fabric,
					.sm_port = cl_ntoh64(plugin->osm->subn.sm_port_guid),
					.now = osr_sweep_clock_ms() * 1e-3,
					.say = upkeep_say,
					.ctx = plugin };
	struct osr_drains_state state;

	if (!upkeep)
		return false;
	/*
	 * Parts of the last run: said when a sweep of ours leaves them out, not where another
	 * engine routes by them.
	 */
	state = osr_drains_state(upkeep->drains);
	if (!upkeep->told && state.n_drained + state.n_held)
		osr_log(plugin->osm, OSM_LOG_INFO,
			"still left out: %u drained part%s, %u link%s held down", state.n_drained,
			state.n_drained == 1 ? "" : "s", state.n_held,
			state.n_held == 1 ? "" : "s");
	upkeep->told = true;
	/* Out of memory: the sweep is about to say it. */
	if (!osr_drains_watch(upkeep->drains, &look, scratch)) {
		double calm_at = osr_drains_state(upkeep->drains).calm_at;

		if (calm_at >= 0)
			cl_timer_start(&upkeep->timer,
				       (uint32_t)(fmax(calm_at - look.now, 0) * 1e3) + 100);
	}
	return osr_drains_n_out(upkeep->drains);
}

/* Asking for sweeps ---------------------------------------------------------------------------- */

static void timer_rings(void *context)
{
	struct plugin *plugin = context;

	if (!osr_not_master(plugin))
		osr_ask_sweep(plugin);
}

void osr_upkeep_turn(struct plugin *plugin)
{
	struct upkeep *upkeep = plugin->upkeep;
	struct osr_drains_state state;

	if (!upkeep || !upkeep->loaded)
		return;
	if (osr_on_standby(plugin))
		osr_drains_forget(upkeep->drains);
	upkeep_save(plugin);
	state = osr_drains_state(upkeep->drains);
	if (state.version == upkeep->asked || state.version == state.taken)
		return;
	upkeep->asked = state.version;
	/* With a discovery: only then OpenSM makes multicast tables again. */
	osr_ask_sweep(plugin);
}

static void upkeep_begins(struct plugin *plugin)
{
	struct upkeep *upkeep = plugin->upkeep;
	struct osr_diag diag = { "" };
	char name[OSR_FILE_NAME], path[PATH_MAX], *text;
	struct osr_drains_state state;
	size_t size = 0;

	if (!upkeep)
		return;
	/*
	 * OpenSM's unicast cache knows nothing of drained parts: while some are new, it has to ask
	 * the engine.
	 */
	state = osr_drains_state(upkeep->drains);
	if (state.version != state.taken && osr_lock(plugin->osm, LOCK_ALONE)) {
		osm_ucast_cache_invalidate(&plugin->osm->sm.ucast_mgr);
		cl_plock_release(&plugin->osm->lock);
	}
	if (upkeep->loaded)
		return;
	/* The parts drained before a restart. */
	upkeep->loaded = true;
	osr_state_name(plugin, "drained", name, sizeof(name));
	osr_cache_path(name, path, sizeof(path));
	text = osr_file_read(path, MAX_BOOK, NULL, &size, &diag);
	if (text)
		osr_drains_load(upkeep->drains, text, size, &diag);
	if (diag.text[0])
		osr_log(plugin->osm, OSM_LOG_ERROR, "ERR OR20: stored drained parts, %s: %s", path,
			diag.text);
	free(text);
	upkeep->saved = upkeep->asked = osr_drains_state(upkeep->drains).version;
}

static void upkeep_over(struct plugin *plugin)
{
	if (!plugin->upkeep)
		return;
	/* Another engine, asked after ours has refused the fabric, uses drained parts. */
	if (plugin->up && osr_ctx_of(plugin, plugin->osm->routing_engine_used))
		osr_drains_done(plugin->upkeep->drains);
	upkeep_save(plugin);
}

/* Without memory one line in the log, and plugin->upkeep is NULL: nothing is left out. */
static bool upkeep_open(struct plugin *plugin)
{
	const struct osr_values *values = &plugin->options.own;
	struct upkeep *upkeep = calloc(1, sizeof(*upkeep));

	if (plugin->options.n_errors || !upkeep) {
		free(upkeep);
		return true;
	}
	upkeep->hold = (struct osr_hold_down){ .after = (uint32_t)values->num[OPT_HOLD_AFTER],
					       .within = (uint32_t)values->num[OPT_HOLD_WITHIN],
					       .calm = (uint32_t)values->num[OPT_HOLD_CALM] };
	upkeep->drains = osr_drains_new(&upkeep->hold);
	cl_timer_construct(&upkeep->timer);
	if (!upkeep->drains || cl_timer_init(&upkeep->timer, timer_rings, plugin) != CL_SUCCESS) {
		osr_log(plugin->osm, OSM_LOG_ERROR,
			"ERR OR20: out of memory: nothing can be drained, no link is held down");
		osr_drains_free(upkeep->drains);
		free(upkeep);
		return true;
	}
	pthread_mutex_init(&upkeep->saving, NULL);
	plugin->upkeep = upkeep;
	return true;
}

static void upkeep_close(struct plugin *plugin)
{
	if (!plugin->upkeep)
		return;
	cl_timer_destroy(&plugin->upkeep->timer);
	upkeep_save(plugin);
	osr_drains_free(plugin->upkeep->drains);
	pthread_mutex_destroy(&plugin->upkeep->saving);
	free(plugin->upkeep);
	plugin->upkeep = NULL;
}

const struct feature osr_upkeep = {
	.open = upkeep_open,
	.on = { [ON_SWEEP_BEGINS] = upkeep_begins,
		[ON_SWEEP_OVER] = upkeep_over,
		[ON_CLOSE] = upkeep_close },
};
