/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "upkeep.h"

#include "file.h"
#include "plugin.h"
#include "sweep.h"

#include <complib/cl_timer.h>

#include <inttypes.h>
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

struct osr_drains *osr__upkeep_drains(const struct plugin *p)
{
	return p->upkeep ? p->upkeep->drains : NULL;
}

/* The list in a file --------------------------------------------------------------------------- */

static void upkeep_name(const struct plugin *p, char name[OSR__FILE_NAME])
{
	snprintf(name, OSR__FILE_NAME, "osmroutes-drained-%016" PRIx64 ".json",
		 cl_ntoh64(p->osm->subn.sm_port_guid));
}

/* In the thread of the control socket, or in the one that sweeps: the file is replaced as a whole. */
static void upkeep_save(struct plugin *p)
{
	struct upkeep *u = p->upkeep;
	const struct osr__place place = { .dir = osr__cache_dir(), .mode = 0600 };
	struct osr_diag diag = { "out of memory" };
	struct osr__page page;
	uint64_t version;
	char *text;
	bool failed;

	pthread_mutex_lock(&u->saving);
	version = osr_drains_state(u->drains).version;
	if (u->loaded && version != u->saved) {
		upkeep_name(p, page.name);
		page.bytes = text = osr_drains_save(u->drains);
		page.size = text ? strlen(text) : 0;
		failed = !text || !osr__file_replace(&place, &page, &diag);
		free(text);
		if (failed && !u->save_failed)
			osr__log(p->osm, OSM_LOG_ERROR,
				 "ERR OR20: drained parts cannot be stored and would not survive a "
				 "restart: %s",
				 diag.text);
		u->save_failed = failed;
		u->saved = version;
	}
	pthread_mutex_unlock(&u->saving);
}

/* What is left out ----------------------------------------------------------------------------- */

bool osr__upkeep_out(const struct plugin *p, uint64_t guid, uint8_t port)
{
	return p->upkeep && osr_drains_out(p->upkeep->drains, guid, port);
}

static void upkeep_say(void *ctx, enum osr_drain_news news, const char *name, const char *cut)
{
	struct plugin *p = ctx;
	const struct osr_hold_down *hold = &p->upkeep->hold;

	if (news == OSR_DRAIN_KEPT)
		osr__log(p->osm, OSM_LOG_ERROR,
			 "ERR OR20: %s is not left out: without it end ports of switch %s would be "
			 "cut off",
			 name, cut);
	else if (news == OSR_DRAIN_HELD)
		osr__log(p->osm, OSM_LOG_ERROR,
			 "ERR OR21: link %s went down %u times within %u s: it is held down until "
			 "nothing happens to it for %u s",
			 name, hold->after, hold->within, hold->calm);
	else
		osr__log(p->osm, OSM_LOG_INFO, "link %s has been calm for %u s: it is routed again",
			 name, hold->calm);
}

bool osr__upkeep_watch(struct plugin *p, const struct osr_fabric *fabric, struct osr_arena *scratch)
{
	struct upkeep *u = p->upkeep;
	struct osr_drains_look look = { .fabric = fabric,
					.sm_port = cl_ntoh64(p->osm->subn.sm_port_guid),
					.now = osr__sweep_clock_ms() * 1e-3,
					.say = upkeep_say,
					.ctx = p };
	struct osr_drains_state state;

	if (!u)
		return false;
	/* Parts of the last run: said when a sweep of ours leaves them out, not where another engine routes by them. */
	state = osr_drains_state(u->drains);
	if (!u->told && state.n_drained + state.n_held)
		osr__log(p->osm, OSM_LOG_INFO,
			 "still left out: %u drained part%s, %u link%s held down", state.n_drained,
			 state.n_drained == 1 ? "" : "s", state.n_held,
			 state.n_held == 1 ? "" : "s");
	u->told = true;
	/* Out of memory: the sweep is about to say it. */
	if (!osr_drains_watch(u->drains, &look, scratch)) {
		double calm_at = osr_drains_state(u->drains).calm_at;

		if (calm_at >= 0)
			cl_timer_start(&u->timer,
				       (uint32_t)(fmax(calm_at - look.now, 0) * 1e3) + 100);
	}
	return osr_drains_n_out(u->drains);
}

/* Asking for sweeps ---------------------------------------------------------------------------- */

static void timer_rings(void *context)
{
	struct plugin *p = context;

	if (!osr__not_master(p))
		osr__ask_sweep(p);
}

void osr__upkeep_turn(struct plugin *p)
{
	struct upkeep *u = p->upkeep;
	struct osr_drains_state state;

	if (!u || !u->loaded)
		return;
	if (osr__on_standby(p))
		osr_drains_forget(u->drains);
	upkeep_save(p);
	state = osr_drains_state(u->drains);
	if (state.version == u->asked || state.version == state.taken)
		return;
	u->asked = state.version;
	/* With a discovery: only then OpenSM makes multicast tables anew. */
	osr__ask_sweep(p);
}

static void upkeep_begins(struct plugin *p)
{
	struct upkeep *u = p->upkeep;
	struct osr_diag diag = { "" };
	char name[OSR__FILE_NAME], path[PATH_MAX], *text;
	struct osr_drains_state state;
	size_t size = 0;

	if (!u)
		return;
	/* OpenSM's unicast cache knows nothing of drained parts: while some are new, it has to ask the engine. */
	state = osr_drains_state(u->drains);
	if (state.version != state.taken && osr__lock(p->osm, LOCK_ALONE)) {
		osm_ucast_cache_invalidate(&p->osm->sm.ucast_mgr);
		cl_plock_release(&p->osm->lock);
	}
	if (u->loaded)
		return;
	/* What was drained before a restart. */
	u->loaded = true;
	upkeep_name(p, name);
	osr__cache_path(name, path, sizeof(path));
	text = osr__file_read(path, MAX_BOOK, NULL, &size, &diag);
	if (text)
		osr_drains_load(u->drains, text, size, &diag);
	if (diag.text[0])
		osr__log(p->osm, OSM_LOG_ERROR, "ERR OR20: stored drained parts, %s: %s", path,
			 diag.text);
	free(text);
	u->saved = u->asked = osr_drains_state(u->drains).version;
}

static void upkeep_over(struct plugin *p)
{
	if (!p->upkeep)
		return;
	/* Another engine, asked after ours has refused the fabric, uses what is drained. */
	if (p->up && osr__ctx_of(p, p->osm->routing_engine_used))
		osr_drains_done(p->upkeep->drains);
	upkeep_save(p);
}

/* Without memory one line in the log, and p->upkeep is NULL: nothing is left out. */
static bool upkeep_open(struct plugin *p)
{
	const struct osr_values *values = &p->options.own;
	struct upkeep *u = calloc(1, sizeof(*u));

	if (p->options.n_errors || !u) {
		free(u);
		return true;
	}
	u->hold = (struct osr_hold_down){ .after = (uint32_t)values->num[OPT_HOLD_AFTER],
					  .within = (uint32_t)values->num[OPT_HOLD_WITHIN],
					  .calm = (uint32_t)values->num[OPT_HOLD_CALM] };
	u->drains = osr_drains_new(&u->hold);
	cl_timer_construct(&u->timer);
	if (!u->drains || cl_timer_init(&u->timer, timer_rings, p) != CL_SUCCESS) {
		osr__log(p->osm, OSM_LOG_ERROR,
			 "ERR OR20: out of memory: nothing can be drained, no link is held down");
		osr_drains_free(u->drains);
		free(u);
		return true;
	}
	pthread_mutex_init(&u->saving, NULL);
	p->upkeep = u;
	return true;
}

static void upkeep_close(struct plugin *p)
{
	if (!p->upkeep)
		return;
	cl_timer_destroy(&p->upkeep->timer);
	upkeep_save(p);
	osr_drains_free(p->upkeep->drains);
	pthread_mutex_destroy(&p->upkeep->saving);
	free(p->upkeep);
	p->upkeep = NULL;
}

const struct feature osr__upkeep = {
	.open = upkeep_open,
	.on = { [ON_SWEEP_BEGINS] = upkeep_begins,
		[ON_SWEEP_OVER] = upkeep_over,
		[ON_CLOSE] = upkeep_close },
};
