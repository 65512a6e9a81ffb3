/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/each.h>

#include "history.h"

#include "file.h"
#include "upkeep.h"

#include "core/data/fabric_map.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ENTRIES 50
#define MAX_FILE (256 * 1024)
#define LAST_S 2 /* for the file when opensm ends */

struct history {
	json_t *list; /* NULL: not read yet, or no memory */
	bool pending; /* the file lacks something */
	struct osr_writer *writer;
};

/* Why -------------------------------------------------------------------------------------------- */

const char *osr_history_cause(const struct plugin *plugin, const struct engine_ctx *ctx)
{
	struct osr_drains *list = osr_upkeep_drains(plugin);
	const struct osr_drains_state drains =
		list ? osr_drains_state(list) : (struct osr_drains_state){ 0 };

	/* Without a discovery: trap.c. */
	if (plugin->up)
		return "trap";
	if (!ctx->current)
		return ctx->stored ? "restart" : "start";
	if (plugin->osm->subn.coming_out_of_standby)
		return "takeover";
	return drains.version != drains.taken ? "drain" : "discovery";
}

/* What has changed ------------------------------------------------------------------------------- */

/* Of one kind: how many, and the first by name. */
struct tally {
	uint32_t n;
	char first[96];
};

static void add_tally(char *text, size_t size, const struct tally *tally, const char *one,
		      const char *several, const char *what)
{
	size_t used = strlen(text);

	if (tally->n)
		snprintf(text + used, size - used, "%s%u %s %s (%s%s)", used ? "; " : "", tally->n,
			 tally->n == 1 ? one : several, what, tally->first,
			 tally->n > 1 ? ", ..." : "");
}

/* Parts of map->to that map->from lacks. */
static void say_missing(const struct osr_fabric_map *map, const char *what, char *text, size_t size)
{
	const struct osr_fabric *fabric = map->to;
	struct tally cables = { 0 }, hosts = { 0 };
	char name[32], far[32];

	OSR_EACH_SWITCH(s, fabric) {
		size_t used = strlen(text);
		uint32_t n = fabric->chan_row[s + 1] - fabric->chan_row[s] + fabric->sw_sources[s];

		if (map->sw[s] == OSR_NONE)
			snprintf(text + used, size - used, "%sswitch %s %s, with %u cable%s",
				 used ? "; " : "", osr_switch_name(fabric, s, name), what, n,
				 n == 1 ? "" : "s");
	}
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t rev = fabric->chan_rev[c], s = fabric->chan_src[c];
		uint32_t t = fabric->chan_dst[c];

		if (c > rev || map->chan[c] != OSR_NONE || map->sw[s] == OSR_NONE ||
		    map->sw[t] == OSR_NONE)
			continue;
		if (!cables.n++)
			snprintf(cables.first, sizeof(cables.first), "%s port %u - %s port %u",
				 osr_switch_name(fabric, s, name), fabric->chan_port[c],
				 osr_switch_name(fabric, t, far), fabric->chan_port[rev]);
	}
	OSR_EVERY_TERMINAL(t, fabric) {
		if (!fabric->term_weight[t] || map->sw[fabric->term_switch[t]] == OSR_NONE ||
		    osr_fabric_map_terminal(map, t) != OSR_NONE)
			continue;
		if (!hosts.n++)
			snprintf(hosts.first, sizeof(hosts.first), "%s",
				 osr_terminal_name(fabric, t, name));
	}
	add_tally(text, size, &cables, "cable", "cables", what);
	add_tally(text, size, &hosts, "end port", "end ports", what);
}

void osr_history_change(struct sweep *sweep, const struct osr_fabric *before)
{
	const struct osr_fabric *now = &sweep->slot->result.fabric;
	struct osr_arena_mark mark = osr_arena_mark(&sweep->scratch);
	struct osr_fabric_map map;
	struct osr_diag diag;

	if (!osr_fabric_map_init(&map, now, before, &sweep->scratch, &diag))
		say_missing(&map, "missing", sweep->change, sizeof(sweep->change));
	if (!osr_fabric_map_init(&map, before, now, &sweep->scratch, &diag))
		say_missing(&map, "new", sweep->change, sizeof(sweep->change));
	osr_arena_reset(&sweep->scratch, mark);
}

/* The list ------------------------------------------------------------------------------------------ */

/* Is everything the same but when, and how long it took? Then the later one counts the earlier ones as well. */
static bool same_entry(const json_t *last, const json_t *now)
{
	static const char *const keys[] = { "cause",  "engine", "outcome",
					    "change", "proven", "message",
					    "load",   "hosts",  "entries_changed" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!json_equal(json_object_get(last, keys[i]), json_object_get(now, keys[i])))
			return false;
	return !json_integer_value(json_object_get(now, "entries_changed"));
}

void osr_history_note(const struct sweep *sweep, const char *outcome, bool checked)
{
	struct history *history = sweep->ctx->plugin->history;
	const struct osr_verdict *verdict = &sweep->slot->verdict;
	json_t *entry, *last;
	char text[200] = "";
	json_int_t times = 1;

	if (checked)
		osr_claims_text(sweep, text, sizeof(text));
	if (!history->list)
		history->list = json_array();
	entry = json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:f}", "time",
			  (json_int_t)time(NULL), "cause", sweep->keys_only ? "keys" : sweep->cause,
			  "engine", sweep->ctx->engine->name, "outcome", outcome, "change",
			  sweep->change, "proven", text, "message", sweep->diag.text, "ms",
			  osr_sweep_clock_ms() - sweep->ms_start);
	if (checked) {
		json_object_set_new(entry, "entries_changed",
				    json_integer((json_int_t)sweep->n_changed));
		json_object_set_new(entry, "load", json_integer((json_int_t)verdict->efi));
		if (sweep->efi_bound > 0)
			json_object_set_new(
				entry, "load_over_bound",
				json_real(verdict->efi_per_capacity / sweep->efi_bound));
		json_object_set_new(
			entry, "hosts",
			json_integer((json_int_t)osr_n_hosts(&sweep->slot->result.fabric)));
	}
	last = json_array_get(history->list, json_array_size(history->list) - 1);
	if (last && same_entry(last, entry)) {
		times += json_integer_value(json_object_get(last, "times"));
		json_array_remove(history->list, json_array_size(history->list) - 1);
	}
	json_object_set_new(entry, "times", json_integer(times));
	json_array_append_new(history->list, entry);
	while (json_array_size(history->list) > MAX_ENTRIES)
		json_array_remove(history->list, 0);
	history->pending = true;
}

json_t *osr_history_json(const struct plugin *plugin)
{
	return json_deep_copy(plugin->history->list);
}

/* The file ------------------------------------------------------------------------------------------- */

/* Sweeps before a restart: the content of the file is shown, and used for nothing else. */
static void history_begins(struct plugin *plugin)
{
	struct history *history = plugin->history;
	struct osr_diag diag = { "" };
	char name[OSR_FILE_NAME], path[PATH_MAX], *text;
	size_t size = 0;

	if (history->list)
		return;
	osr_state_name(plugin, "history", name, sizeof(name));
	osr_cache_path(name, path, sizeof(path));
	text = osr_file_read(path, MAX_FILE, NULL, &size, &diag);
	history->list = text ? json_loadb(text, size, 0, NULL) : NULL;
	free(text);
	if (!json_is_array(history->list)) {
		json_decref(history->list);
		history->list = json_array();
	}
	for (size_t i = json_array_size(history->list); i-- > 0;)
		if (!json_is_object(json_array_get(history->list, i)))
			json_array_remove(history->list, i);
	while (json_array_size(history->list) > MAX_ENTRIES)
		json_array_remove(history->list, 0);
}

/* Where it cannot be written the tables cannot be stored either, and that is said. */
static void history_written(void *ctx, const struct osr_written *what)
{
	(void)ctx;
	(void)what;
}

static void history_over(struct plugin *plugin)
{
	const struct osr_place place = { .dir = osr_cache_dir(), .mode = 0600 };
	struct osr_pages pages = { .n = 1 };
	struct history *history = plugin->history;
	bool due = history->pending && plugin->options.own.num[OPT_STORE];
	char *text = due ? json_dumps(history->list, JSON_COMPACT) : NULL;
	void *bytes = NULL;

	if (text && !history->writer)
		history->writer = osr_writer_new(&place, history_written, NULL);
	if (text && history->writer)
		bytes = osr_alloc(&pages.memory, strlen(text), 1);
	if (bytes) {
		pages.page[0].size = strlen(text);
		pages.page[0].bytes = memcpy(bytes, text, pages.page[0].size);
		osr_state_name(plugin, "history", pages.page[0].name, sizeof(pages.page[0].name));
		osr_writer_give(history->writer, &pages);
		history->pending = false;
	}
	free(text);
}

static void history_close(struct plugin *plugin)
{
	osr_writer_end(plugin->history->writer, LAST_S);
	json_decref(plugin->history->list);
}

const struct feature osr_history = {
	.size = sizeof(struct history),
	.state = offsetof(struct plugin, history),
	.on = { [ON_SWEEP_BEGINS] = history_begins,
		[ON_SWEEP_OVER] = history_over,
		[ON_CLOSE] = history_close },
};
