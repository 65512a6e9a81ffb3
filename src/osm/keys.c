/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "keys.h"

#include "plugin.h"
#include "sweep.h"
#include "upkeep.h"

#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <osmroutes/clock.h>

#include "confirm.h"
#include "control/control.h"
#include "core/proved/gate.h"
#include "keys/overlay.h"
#include "metrics.h"

#define ASK_S 10.0   /* until a sweep that was asked for is asked for again */
#define LOOK_MS 1000 /* at whether this is still the master */
#define SWEEP_S 60.0 /* a sweep that has not said that it is over by then does not hold us up */

struct keys {
	struct plugin *plugin;
	struct osr_control *control;
	atomic_bool asked;    /* a sweep is on its way, or under way */
	atomic_bool alone;    /* and nothing else than keys was the reason */
	atomic_bool sweeping; /* with discovery */
	atomic_bool lost;     /* an engine that is not ours routes */
	atomic_llong rest;    /* ns of keys_now(): no sweep is asked for before */
	bool laid;            /* of the sweep thread */
	/* The same: the time that keys have cost the sweep, waiting included, and CPU. */
	double lay_ms, lay_cpu_ms;

	/* Of the control thread. */
	double asked_at, sweeping_at;
	bool was_sweeping, was_standby;
};

static double keys_now(void)
{
	return osr_clock_ms(CLOCK_MONOTONIC) * 1e-3;
}

/* The control thread --------------------------------------------------------------------------- */

/*
 * Sets subn.force_reroute and wakes the sweeper, unless we are not master. The flag is read and
 * cleared by the sweep thread; a sweep with discovery in between clears it, too, and has the keys.
 */
static void keys_ask(struct keys *keys)
{
	struct osm_opensm *osm = keys->plugin->osm;
	bool master;

	if (!osr_lock(osm, LOCK_ALONE))
		return;
	master = !osr_not_master(keys->plugin);
	if (master) {
		osm->subn.force_reroute = TRUE;
		atomic_store(&keys->alone, true);
		atomic_store(&keys->asked, true);
	}
	cl_plock_release(&osm->lock);
	keys->asked_at = keys_now();
	if (master)
		osm_sm_signal(&osm->sm, OSM_SIGNAL_SWEEP);
}

/* All keys; without one there is nothing to say. */
static void keys_withdraw(struct osr_sched *sched, const char *why)
{
	while (osr_sched_refuse(sched, why))
		;
}

static const char *keys_not_master(void *ctx)
{
	return osr_not_master(((struct keys *)ctx)->plugin);
}

/* No event of OpenSM tells that it hands the fabric over, so this is looked at each second. */
static void keys_look(struct keys *keys)
{
	bool standby = osr_on_standby(keys->plugin);

	if (standby && !keys->was_standby) {
		keys_withdraw(osr_control_lock(keys->control),
			      "another subnet manager is the master now");
		osr_control_unlock(keys->control);
	}
	keys->was_standby = standby;
}

static int keys_turn(void *ctx)
{
	struct keys *keys = ctx;
	bool sweeping;

	osr_upkeep_turn(keys->plugin);
	keys_look(keys);
	if (atomic_load(&keys->lost) || !osr_control_pending(keys->control))
		return LOOK_MS;
	if (keys_now() * 1e9 < (double)atomic_load(&keys->rest))
		return 1 + (int)(((double)atomic_load(&keys->rest) - keys_now() * 1e9) * 1e-6);
	/* A sweep with discovery takes the keys along, or will be over soon. */
	sweeping = atomic_load(&keys->sweeping);
	if (sweeping && !keys->was_sweeping)
		keys->sweeping_at = keys_now();
	keys->was_sweeping = sweeping;
	if ((!sweeping || keys_now() - keys->sweeping_at >= SWEEP_S) &&
	    (!atomic_load(&keys->asked) || keys_now() - keys->asked_at > ASK_S))
		keys_ask(keys);
	return LOOK_MS;
}

/* The socket ----------------------------------------------------------------------------------- */

/* %g becomes the GUID of the port: several opensm can have one configuration. */
static void keys_path(const struct plugin *plugin, char *path, size_t size)
{
	const struct osr_values *values = &plugin->options.own;
	const char *text = values->str[values->num[OPT_CONTROL_SOCKET]];
	const char *mark = strstr(text, "%g");

	if (mark)
		snprintf(path, size, "%.*s%016" PRIx64 "%s", (int)(mark - text), text,
			 cl_ntoh64(plugin->osm->subn.sm_port_guid), mark + 2);
	else
		snprintf(path, size, "%s", text);
}

/*
 * The directory of sockets is often created again when a machine starts; bind() says if something
 * is wrong with it.
 */
static void keys_make_dir(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 0, path);
	if (*dir && mkdir(dir, 0755))
		return;
}

/* false: a mistake is one line in the log, and there are no keys. */
static bool keys_serve(struct plugin *plugin)
{
	const struct osr_values *values = &plugin->options.own;
	const char *agent = values->str[values->num[OPT_CONTROL_AGENT]];
	const char *mode = values->str[values->num[OPT_CONTROL_MODE]];
	const struct passwd *user = *agent ? getpwnam(agent) : NULL;
	char *mode_end, *agent_end, path[PATH_MAX];
	struct osr_control_in in = {
		.path = path,
		.mode = (uint32_t)strtoul(mode, &mode_end, 8),
		/* By name or number; none is 0. */
		.agent = (uint32_t)strtoul(agent, &agent_end, 10),
		.limits = { .max_apps = 4096,
			    .max_apps_of_owner = (uint32_t)values->num[OPT_USER_APPS],
			    .max_offsets_of_owner = (uint32_t)values->num[OPT_USER_OFFSETS],
			    .max_keys = 256,
			    .max_pairs = 1u << 20,
			    .choice = (enum osr_key_choice)values->num[OPT_KEY_CHOICE],
			    /* A number given before a restart belongs to nobody. */
			    .first_id = (uint32_t)time(NULL) },
		.not_master = keys_not_master,
		.turn = keys_turn,
		.ctx = plugin->keys,
		.drains = osr_upkeep_drains(plugin),
	};
	struct osr_diag diag = { "" };

	keys_path(plugin, path, sizeof(path));
	keys_make_dir(path);
	if (user)
		in.agent = user->pw_uid;
	if (*mode < '0' || *mode > '7' || *mode_end || in.mode > 0777)
		osr_fail(&diag, OSR_INVAL, "control_mode \"%s\": expected an octal number as 0660",
			 mode);
	else if (!user && *agent && (*agent_end || !in.agent))
		osr_fail(&diag, OSR_INVAL, "control_agent \"%s\": there is no such user", agent);
	else
		plugin->keys->control = osr_control_open(&in, &diag);
	if (plugin->keys->control && osr_control_start(plugin->keys->control, &diag)) {
		osr_control_close(plugin->keys->control);
		plugin->keys->control = NULL;
	}
	if (plugin->keys->control)
		osr_log(plugin->osm, OSM_LOG_INFO,
			"status, drains and routing keys are served at %s (mode %04o)", path,
			in.mode);
	else
		osr_log(plugin->osm, OSM_LOG_ERROR,
			"ERR OR15: no status, drains or routing keys: %s", diag.text);
	return plugin->keys->control;
}

/* Sweeps --------------------------------------------------------------------------------------- */

static void keys_sweep_begins(struct plugin *plugin)
{
	/* Not earlier: OpenSM may fork while it starts, and does not know its port yet. */
	if (plugin->keys && !plugin->keys->control && !keys_serve(plugin)) {
		free(plugin->keys);
		plugin->keys = NULL;
	}
	if (!plugin->keys)
		return;
	atomic_store(&plugin->keys->sweeping, true);
	atomic_store(&plugin->keys->alone, false);
}

static void keys_sweep_over(struct plugin *plugin)
{
	if (plugin->keys && atomic_exchange(&plugin->keys->sweeping, false))
		osr_control_wake(plugin->keys->control);
}

/* The switches have their tables; where we route they are the tables of the last osr_keys_lay(). */
static void keys_sent(struct plugin *plugin)
{
	bool ours = osr_ctx_of(plugin, plugin->osm->routing_engine_used);
	struct keys *keys = plugin->keys;
	struct osr_sched *sched;

	if (!keys)
		return;
	sched = osr_control_lock(keys->control);
	if (ours && keys->laid && !plugin->osm->subn.subnet_initialization_error &&
	    osr_confirmed(plugin))
		osr_sched_written(sched);
	if (!ours)
		keys_withdraw(sched, "an engine of OpenSM routes now");
	keys->laid = false;
	atomic_store(&keys->lost, !ours);
	atomic_store(&keys->asked, false);
	osr_control_unlock(keys->control);
}

void osr_keys_tell(struct plugin *plugin, json_t *sm)
{
	if (plugin->keys->control)
		osr_control_tell(plugin->keys->control, sm);
	else
		json_decref(sm);
}

void osr_keys_fabric(struct plugin *plugin, const struct osr_fabric *fabric)
{
	struct osr_diag diag = { "" };

	if (!plugin->keys)
		return;
	if (osr_sched_fabric(osr_control_lock(plugin->keys->control), fabric, NULL, &diag))
		osr_log(plugin->osm, OSM_LOG_ERROR, "ERR OR15: no routing keys in this sweep: %s",
			diag.text);
	osr_control_unlock(plugin->keys->control);
}

/* The wanted entries over the base routing, and the checker's verdict. */
static enum osr_status keys_lay(struct osr_sched *sched, struct sweep_slot *slot,
				struct osr_arena *scratch, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	const struct osr_fabric *fabric = &slot->result.fabric;
	struct osr_overlay_entry *entry;
	struct osr_verdict verdict = { 0 };
	enum osr_status st;

	st = osr_sched_collect(sched, scratch, &entry, &slot->n_key_entries, diag);
	if (!st && slot->n_key_entries) {
		st = osr_overlay_apply(fabric, &slot->result.routing, entry, slot->n_key_entries,
				       scratch, &slot->keys_arena, &slot->keyed, diag);
		if (!st)
			st = osr_check(fabric, &slot->keyed, scratch, &verdict, diag);
		if (!st)
			st = osr_gate(fabric, &slot->keyed, scratch, diag);
		if (!st &&
		    (verdict.proven & slot->base_verdict.proven) != slot->base_verdict.proven)
			st = osr_fail(diag, OSR_CHECK_FAILED, "less is proven than without keys");
		if (!st) {
			slot->has_keys = true;
			slot->verdict = verdict;
			slot->digest = osr_routing_digest(fabric, &slot->keyed);
		}
	}
	osr_arena_reset(scratch, mark);
	return st;
}

static void keys_clear(struct sweep_slot *slot)
{
	osr_arena_free(&slot->keys_arena);
	memset(&slot->keyed, 0, sizeof(slot->keyed));
	slot->has_keys = false;
	slot->n_key_entries = 0;
	slot->verdict = slot->base_verdict;
	slot->digest = slot->result.digest;
}

void osr_keys_lay(struct plugin *plugin, struct sweep_slot *slot, struct osr_arena *scratch)
{
	struct osr_diag diag = { "" };
	enum osr_status st;
	struct osr_sched *sched;

	slot->base_verdict = slot->verdict;
	keys_clear(slot);
	if (!plugin->keys)
		return;
	plugin->keys->lay_ms = keys_now() * -1e3;
	plugin->keys->lay_cpu_ms = osr_clock_ms(CLOCK_THREAD_CPUTIME_ID) * 1e-3 * -1e3;
	sched = osr_control_lock(plugin->keys->control);
	st = osr_sched_fabric(sched, &slot->result.fabric, &slot->result.routing, &diag);
	/* Waiting requests go first, then all: the base routing alone is always right. */
	while (!st && keys_lay(sched, slot, scratch, &diag)) {
		uint32_t n = osr_sched_refuse(sched, diag.text);

		keys_clear(slot);
		osr_log(plugin->osm, OSM_LOG_ERROR, "ERR OR15: %u routing key%s withdrawn: %s", n,
			n == 1 ? " is" : "s are", diag.text);
		if (!n)
			st = OSR_BUG;
	}
	if (st)
		osr_log(plugin->osm, OSM_LOG_ERROR, "ERR OR15: no routing keys in this sweep: %s",
			diag.text);
	plugin->keys->laid = !st;
	osr_control_unlock(plugin->keys->control);
	plugin->keys->lay_ms += keys_now() * 1e3;
	plugin->keys->lay_cpu_ms += osr_clock_ms(CLOCK_THREAD_CPUTIME_ID) * 1e-3 * 1e3;
}

/* false: nothing was published, and OpenSM's buffers hold no tables yet. */
static bool lay_over_base(struct sweep *sweep)
{
	struct sweep_slot *slot = sweep->slot;
	struct osr_result before = slot->result;
	struct osr_arena had = slot->keys_arena;
	enum osr_status st;

	before.routing = *osr_shown(slot);
	/*
	 * The present tables of the switches are compared with the new ones, so they live a little
	 * longer.
	 */
	slot->keys_arena = (struct osr_arena){ 0 };
	slot->verdict = slot->base_verdict;
	sweep->ms_route = osr_sweep_clock_ms();
	osr_keys_lay(sweep->ctx->plugin, slot, &sweep->scratch);
	sweep->ms_check = osr_sweep_clock_ms();
	st = osr_publish(sweep);
	/*
	 * OpenSM sends a switch that was new or reported a change all of its blocks until the next
	 * discovery. If the last one ended well the switches have them.
	 */
	for (uint32_t s = 0; !st && sweep->ctx->plugin->up && s < slot->result.fabric.n_switches;
	     s++)
		sweep->snap.sw[s]->need_update = 0;
	if (!st) {
		sweep->ms_publish = osr_sweep_clock_ms();
		osr_sweep_report(sweep, &before);
		osr_metrics_note(sweep, OUTCOME_KEYS);
		/*
		 * Path queries wait while a sweep lays keys; for as long as they have waited none
		 * is asked for.
		 */
		atomic_store(&sweep->ctx->plugin->keys->rest,
			     (long long)(keys_now() * 1e9 +
					 (sweep->ms_publish - sweep->ms_start) * 1e6));
	}
	osr_arena_free(&had);
	return !st;
}

/* The subnet must be unchanged since the base was routed; then the base stays, byte for byte. */
bool osr_keys_sweep(struct sweep *sweep)
{
	struct engine_ctx *ctx = sweep->ctx;
	struct keys *keys = ctx->plugin->keys;
	struct sweep_slot *empty = sweep->slot;

	if (!keys || !atomic_exchange(&keys->alone, false) || !ctx->current || ctx->refuse ||
	    !osr_sweep_unchanged(sweep))
		return false;
	sweep->slot = ctx->current;
	sweep->keys_only = true;
	sweep->keys_only = lay_over_base(sweep);
	sweep->slot = sweep->keys_only ? ctx->current : empty;
	return sweep->keys_only;
}

void osr_keys_report(const struct sweep *sweep)
{
	const struct sweep_slot *slot = sweep->slot;
	const struct keys *keys = sweep->ctx->plugin->keys;

	if (slot->has_keys)
		osr_log(sweep->osm, osr_log_details(sweep->ctx->plugin),
			"%s: routing keys: %u entries added to the base tables (digest %016" PRIx64
			") and checked in %.1f ms, %.1f ms of CPU",
			sweep->ctx->engine->name, slot->n_key_entries, slot->result.digest,
			keys->lay_ms, keys->lay_cpu_ms);
}

/* Opening and closing -------------------------------------------------------------------------- */

/* There is a socket: then it is opened when the first sweep begins. */
static bool keys_open(struct plugin *plugin)
{
	const struct osr_values *values = &plugin->options.own;

	if (!*values->str[values->num[OPT_CONTROL_SOCKET]] || plugin->options.n_errors)
		return true;
	plugin->keys = calloc(1, sizeof(*plugin->keys));
	if (!plugin->keys)
		return false;
	plugin->keys->plugin = plugin;
	return true;
}

static void keys_close(struct plugin *plugin)
{
	if (!plugin->keys)
		return;
	osr_control_close(plugin->keys->control);
	free(plugin->keys);
	plugin->keys = NULL;
}

const struct feature osr_feature_keys = {
	.open = keys_open,
	.on = { [ON_SWEEP_BEGINS] = keys_sweep_begins,
		[ON_TABLES_SENT] = keys_sent,
		[ON_SWEEP_OVER] = keys_sweep_over,
		[ON_CLOSE] = keys_close },
};
