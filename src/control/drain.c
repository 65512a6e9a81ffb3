/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "control/drain.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/hosts.h>
#include <osmroutes/names.h>
#include <osmroutes/set.h>

#define MAX_PARTS 1024
#define MAX_TIMES 16
#define NAME_SIZE 192 /* as in struct osr_drain_event: two names of 64 with GUIDs */
#define MAX_EVENTS 32 /* between two looks; more are not told of */
#define FORMAT 1
#define MAX_READINGS 4 /* of the name of a cable */

/* A part that is drained or held down. */
struct entry {
	struct osr_part part;
	char name[NAME_SIZE];
	bool held, taken, applied;
	enum osr_drain_state state;
};

/* A link that went down lately. */
struct history {
	struct osr_part part;
	double down[MAX_TIMES]; /* ring */
	uint32_t n_down;
	double last; /* event of any kind */
};

struct osr_drains {
	pthread_mutex_t mutex;
	struct osr_hold_down hold;
	uint64_t version, taken,
		done; /* of the list; of the one that the sweep took; in the tables */
	uint64_t sm_port;
	struct entry *entry; /* by part, drained ones before held ones */
	uint32_t n;
	struct history *history;
	uint32_t n_history;
	struct osr_part *seen;
	uint32_t n_seen, room_seen;
	bool watched;
	struct osr_drain_event event[MAX_EVENTS];
	uint32_t n_events;
};

static int compare_parts(const struct osr_part *a, const struct osr_part *b)
{
	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	return (int)a->port - (int)b->port;
}

struct osr_drains *osr_drains_new(const struct osr_hold_down *hold)
{
	struct osr_drains *drains = calloc(1, sizeof(*drains));

	if (!drains)
		return NULL;
	drains->hold = *hold;
	if (drains->hold.after > MAX_TIMES)
		drains->hold.after = MAX_TIMES;
	drains->entry = calloc(MAX_PARTS, sizeof(*drains->entry));
	drains->history = calloc(MAX_PARTS, sizeof(*drains->history));
	pthread_mutex_init(&drains->mutex, NULL);
	if (drains->entry && drains->history)
		return drains;
	osr_drains_free(drains);
	return NULL;
}

void osr_drains_free(struct osr_drains *drains)
{
	if (!drains)
		return;
	pthread_mutex_destroy(&drains->mutex);
	free(drains->entry);
	free(drains->history);
	free(drains->seen);
	free(drains);
}

/* The list ------------------------------------------------------------------------------------- */

static uint32_t entry_at(const struct osr_drains *drains, const struct osr_part *part, bool held)
{
	uint32_t i = 0;

	while (i < drains->n &&
	       (drains->entry[i].held != held || compare_parts(&drains->entry[i].part, part)))
		i++;
	return i;
}

static enum osr_status insert_entry(struct osr_drains *drains, const struct entry *what,
				    struct osr_diag *diag)
{
	uint32_t i = 0;

	if (entry_at(drains, &what->part, what->held) < drains->n)
		return osr_fail(diag, OSR_INVAL, "%s is drained already", what->name);
	if (drains->n == MAX_PARTS)
		return osr_fail(diag, OSR_INVAL,
				"%d switches and cables are drained already, which is the most",
				MAX_PARTS);
	while (i < drains->n && (drains->entry[i].held < what->held ||
				 (drains->entry[i].held == what->held &&
				  compare_parts(&drains->entry[i].part, &what->part) < 0)))
		i++;
	memmove(drains->entry + i + 1, drains->entry + i, (drains->n - i) * sizeof(*drains->entry));
	drains->entry[i] = *what;
	drains->n++;
	drains->version++;
	return OSR_OK;
}

static void remove_entry(struct osr_drains *drains, uint32_t i)
{
	drains->n--;
	memmove(drains->entry + i, drains->entry + i + 1, (drains->n - i) * sizeof(*drains->entry));
	drains->version++;
}

/* Hosts ---------------------------------------------------------------------------------------- */

/* The fabric in which CAs that belong to a switch itself (hosts.h) send nothing, but for the subnet manager's. */
static enum osr_status only_hosts(const struct osr_drains *drains, const struct osr_fabric *fabric,
				  struct osr_arena *arena, struct osr_fabric *seen,
				  struct osr_diag *diag)
{
	struct osr_end *end = osr_alloc(arena, fabric->n_terminals, sizeof(*end));
	uint32_t *n_hosts = osr_alloc(arena, fabric->n_switches, sizeof(*n_hosts)), n = 0;

	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		uint32_t s = fabric->term_switch[t];

		if (fabric->term_role[t] != OSR_ROLE_SP0)
			end[n++] =
				(struct osr_end){ s, fabric->term_port[t] == fabric->sw_n_ports[s],
						  fabric->names + fabric->term_name[t] };
	}
	osr_count_hosts(end, n, n_hosts, fabric->n_switches);
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (fabric->term_guid[t] == drains->sm_port &&
		    fabric->term_role[t] != OSR_ROLE_SP0 && !n_hosts[fabric->term_switch[t]])
			n_hosts[fabric->term_switch[t]] = 1;
	*seen = *fabric;
	seen->sw_sources = n_hosts;
	return OSR_OK;
}

/* Marks a switch, or the channel at this port and its other direction. */
static void mark_part(const struct osr_fabric *fabric, const struct osr_part *part, bool *no_sw,
		      bool *no_channel)
{
	uint32_t sw = osr_fabric_switch_by_guid(fabric, part->guid);
	uint32_t channel =
		sw != OSR_NONE && part->port ? osr_port_channel(fabric, sw, part->port) : OSR_NONE;

	if (sw != OSR_NONE && !part->port)
		no_sw[sw] = true;
	if (channel != OSR_NONE)
		no_channel[channel] = no_channel[fabric->chan_rev[channel]] = true;
}

/*
 * Without the part, and without those that wait for a sweep: how many hosts lose the part of their component that has
 * the most, and one switch of them.
 */
static uint64_t count_cut(const struct osr_drains *drains, const struct osr_fabric *fabric,
			  const struct osr_part *part, uint32_t *cut, struct osr_diag *diag)
{
	uint32_t n = fabric->n_switches, *up = malloc((n + 1) * sizeof(*up));
	uint64_t *hosts = calloc(n + 1, sizeof(*hosts)), lost = 0;
	uint32_t *best = malloc((n + 1) * sizeof(*best));
	bool *no_sw = calloc(n + 1, 1), *no_channel = calloc(fabric->n_channels + 1, 1);

	if (!up || !hosts || !best || !no_sw || !no_channel) {
		osr_fail(diag, OSR_NOMEM, "out of memory");
		lost = UINT64_MAX;
		goto end;
	}
	mark_part(fabric, part, no_sw, no_channel);
	for (uint32_t i = 0; i < drains->n; i++)
		if (!drains->entry[i].held && drains->entry[i].state == OSR_DRAIN_ASKED)
			mark_part(fabric, &drains->entry[i].part, no_sw, no_channel);
	osr_set_init(up, n);
	memset(best, 0xff, n * sizeof(*best));
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (!no_channel[c] && !no_sw[fabric->chan_src[c]] && !no_sw[fabric->chan_dst[c]])
			osr_set_join(up, fabric->chan_src[c], fabric->chan_dst[c]);
	for (uint32_t s = 0; s < n; s++)
		hosts[osr_set_of(up, s)] += fabric->sw_sources[s];
	for (uint32_t s = 0; s < n; s++) {
		uint32_t root = osr_set_of(up, s), comp = fabric->sw_component[s];

		if (!no_sw[s] && (best[comp] == OSR_NONE || hosts[root] > hosts[best[comp]]))
			best[comp] = root;
	}
	for (uint32_t s = 0; s < n; s++)
		if (fabric->sw_sources[s] &&
		    (no_sw[s] || osr_set_of(up, s) != best[fabric->sw_component[s]])) {
			lost += fabric->sw_sources[s];
			*cut = s;
		}
end:
	free(up);
	free(hosts);
	free(best);
	free(no_sw);
	free(no_channel);
	return lost;
}

static uint32_t n_asked(const struct osr_drains *drains)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < drains->n; i++)
		n += !drains->entry[i].held && drains->entry[i].state == OSR_DRAIN_ASKED;
	return n;
}

static enum osr_status refuse_cut(const struct osr_fabric *fabric, const char *what, uint64_t lost,
				  uint32_t cut, struct osr_diag *diag)
{
	char sw[32], host[32];

	if (lost == UINT64_MAX)
		return OSR_NOMEM;
	for (uint32_t t = fabric->term_row[cut]; t < fabric->term_row[cut + 1]; t++)
		if (fabric->term_role[t] != OSR_ROLE_SP0)
			return osr_fail(
				diag, OSR_NOT_APPLICABLE,
				"without %s %" PRIu64
				" end ports would be cut off, among them %.60s on switch %.60s",
				what, lost, osr_terminal_name(fabric, t, host),
				osr_switch_name(fabric, cut, sw));
	return OSR_BUG;
}

static bool holds_sm(const struct osr_drains *drains, const struct osr_fabric *fabric, uint32_t sw)
{
	for (uint32_t t = fabric->term_row[sw]; t < fabric->term_row[sw + 1]; t++)
		if (fabric->term_role[t] == OSR_ROLE_SP0 && fabric->term_guid[t] == drains->sm_port)
			return true;
	return false;
}

static enum osr_status check_part(const struct osr_drains *drains, const struct osr_fabric *fabric,
				  const char *what, uint32_t sw, uint8_t port,
				  struct osr_diag *diag)
{
	const struct osr_part part = { fabric->sw_guid[sw], port };
	uint32_t cut = 0;
	char all[128];
	uint64_t lost;

	for (uint32_t t = fabric->term_row[sw]; port && t < fabric->term_row[sw + 1]; t++)
		if (fabric->term_port[t] == port)
			return refuse_cut(fabric, what, 1, sw, diag);
	if (port && osr_port_channel(fabric, sw, port) == OSR_NONE)
		return osr_fail(diag, OSR_INVAL, "%.80s: no cable to a switch is in use there",
				what);
	if (!port && holds_sm(drains, fabric, sw))
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the subnet manager runs on switch %.80s, which cannot be drained",
				what);
	lost = count_cut(drains, fabric, &part, &cut, diag);
	if (!lost)
		return OSR_OK;
	snprintf(all, sizeof(all), "%.80s%s", what,
		 n_asked(drains) ? " and what was asked for before it" : "");
	return refuse_cut(fabric, all, lost, cut, diag);
}

/* "leaf-1 port 3 - spine-2 port 1"; names may be cut within a letter, and OpenSM's be no UTF-8. */
static void name_link(char *name, const char *near, uint8_t port, const char *far, uint8_t far_port)
{
	snprintf(name, NAME_SIZE, "%.84s port %u - %.84s port %u", near, port, far, far_port);
	osr_name_clean(name);
}

static void name_part(const struct osr_fabric *fabric, uint32_t sw, uint8_t port, char *name)
{
	uint32_t c = port ? osr_port_channel(fabric, sw, port) : OSR_NONE;
	char buf[32], far[32];

	if (c == OSR_NONE) {
		snprintf(name, NAME_SIZE, "switch %.84s", osr_switch_name(fabric, sw, buf));
		osr_name_clean(name);
	} else {
		name_link(name, osr_switch_name(fabric, sw, buf), port,
			  osr_switch_name(fabric, fabric->chan_dst[c], far),
			  fabric->chan_port[fabric->chan_rev[c]]);
	}
}

enum osr_status osr_drains_add(struct osr_drains *drains, const struct osr_fabric *fabric,
			       const char *what, struct osr_diag *diag)
{
	struct entry entry = { .state = OSR_DRAIN_ASKED };
	struct osr_arena arena = { 0 };
	struct osr_fabric seen;
	struct osr_names names;
	enum osr_status st;
	uint32_t sw, port;

	if (!fabric)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "no fabric has been routed yet");
	st = osr_names_of_fabric(&names, fabric, &arena, diag);
	if (!st)
		st = osr_names_find(&names, what, OSR_NAME_SWITCH, &sw, &port, diag);
	if (!st) {
		entry.part.port = (uint8_t)port;
		entry.part.guid = fabric->sw_guid[sw];
		name_part(fabric, sw, entry.part.port, entry.name);
		pthread_mutex_lock(&drains->mutex);
		st = only_hosts(drains, fabric, &arena, &seen, diag);
		if (!st)
			st = check_part(drains, &seen, what, sw, entry.part.port, diag);
		if (!st)
			st = insert_entry(drains, &entry, diag);
		pthread_mutex_unlock(&drains->mutex);
	}
	osr_arena_free(&arena);
	return st;
}

/*
 * What may be the name of an entry's switch, in name[MAX_READINGS]; how many there are. "NAME port 3 - FAR port 1"
 * has two if the name itself holds " port 3 - ".
 */
static uint32_t read_name(const struct entry *entry, char (*name)[NAME_SIZE])
{
	char tail[32];
	uint32_t n = 0;

	snprintf(tail, sizeof(tail), " port %u - ", entry->part.port);
	if (!entry->part.port)
		snprintf(name[n++], NAME_SIZE, "%s", entry->name + strlen("switch "));
	for (const char *at = entry->part.port ? strstr(entry->name, tail) : NULL;
	     at && n < MAX_READINGS; at = strstr(at + 1, tail))
		snprintf(name[n++], NAME_SIZE, "%.*s", (int)(at - entry->name), entry->name);
	return n;
}

/* The part that is called so among those that are drained: its switch may be in no fabric. */
static enum osr_status find_drained(const struct osr_drains *drains, const char *what,
				    struct osr_part *part, struct osr_diag *diag)
{
	size_t room = ((size_t)drains->n + 1) * MAX_READINGS;
	struct osr_arena arena = { 0 };
	struct osr_name *row = osr_alloc(&arena, room, sizeof(*row));
	char(*name)[NAME_SIZE] = osr_alloc(&arena, room, sizeof(*name));
	uint32_t n = 0, n_switches = 0, node, port;
	enum osr_status st = osr_arena_failed(&arena, diag) ? OSR_NOMEM : OSR_OK;
	struct osr_names names;

	/* Entries are by GUID, those that are held behind the others. */
	for (uint32_t i = 0; !st && i < drains->n && !drains->entry[i].held; i++) {
		const struct entry *entry = &drains->entry[i];

		n_switches += i && entry->part.guid != entry[-1].part.guid;
		for (uint32_t left = read_name(entry, name + n); left--; n++)
			row[n] = (struct osr_name){ .text = name[n],
						    .guid = entry->part.guid,
						    .node = n_switches,
						    .kind = OSR_NAME_SWITCH };
	}
	if (!st)
		st = osr_names_build(&names, row, n, &arena, diag);
	if (!st)
		st = osr_names_find(&names, what, OSR_NAME_SWITCH, &node, &port, diag);
	if (!st)
		*part = (struct osr_part){ names.hit[0]->guid, (uint8_t)port };
	osr_arena_free(&arena);
	return st;
}

enum osr_status osr_drains_remove(struct osr_drains *drains, const char *what,
				  struct osr_diag *diag)
{
	bool all = !strcmp(what, "all"), found = all;
	enum osr_status st = OSR_OK;
	struct osr_part part;

	pthread_mutex_lock(&drains->mutex);
	if (!all)
		st = find_drained(drains, what, &part, diag);
	for (uint32_t i = drains->n; !st && i-- > 0;)
		if (!drains->entry[i].held &&
		    (all || !compare_parts(&drains->entry[i].part, &part))) {
			remove_entry(drains, i);
			found = true;
		}
	pthread_mutex_unlock(&drains->mutex);
	return st || found ? st : osr_fail(diag, OSR_INVAL, "\"%.80s\" is not drained", what);
}

json_t *osr_drains_json(struct osr_drains *drains)
{
	static const char *const states[] = { "asked", "out", "suspended" };
	json_t *list = json_array();
	char guid[24];

	pthread_mutex_lock(&drains->mutex);
	for (uint32_t i = 0; list && i < drains->n; i++) {
		const struct entry *entry = &drains->entry[i];

		snprintf(guid, sizeof(guid), "0x%016" PRIx64, entry->part.guid);
		if (json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:s, s:s}", "what",
							  entry->name, "guid", guid, "port",
							  entry->part.port, "why",
							  entry->held ? "held" : "drained", "state",
							  states[entry->state]))) {
			json_decref(list);
			list = NULL;
		}
	}
	pthread_mutex_unlock(&drains->mutex);
	return list;
}

uint64_t osr_drains_version(struct osr_drains *drains)
{
	uint64_t version;

	pthread_mutex_lock(&drains->mutex);
	version = drains->version;
	pthread_mutex_unlock(&drains->mutex);
	return version;
}

uint64_t osr_drains_taken(struct osr_drains *drains)
{
	uint64_t taken;

	pthread_mutex_lock(&drains->mutex);
	taken = drains->taken;
	pthread_mutex_unlock(&drains->mutex);
	return taken;
}

bool osr_drains_pending(struct osr_drains *drains)
{
	bool pending;

	pthread_mutex_lock(&drains->mutex);
	pending = drains->done != drains->version;
	pthread_mutex_unlock(&drains->mutex);
	return pending;
}

/* On disk -------------------------------------------------------------------------------------- */

char *osr_drains_save(struct osr_drains *drains)
{
	json_t *list = osr_drains_json(drains), *book;
	char *text = NULL;

	book = list ? json_pack("{s:i, s:o}", "format", FORMAT, "parts", list) : NULL;
	if (book)
		text = json_dumps(book, JSON_INDENT(1));
	json_decref(book);
	return text;
}

static bool load_entry(const json_t *json, struct entry *entry)
{
	const char *name = json_string_value(json_object_get(json, "what"));
	const char *guid = json_string_value(json_object_get(json, "guid"));
	const char *why = json_string_value(json_object_get(json, "why"));
	const char *state = json_string_value(json_object_get(json, "state"));
	const json_t *port = json_object_get(json, "port");
	char *end;

	if (!name || !guid || !why || !json_is_integer(port) || json_integer_value(port) < 0 ||
	    json_integer_value(port) > 254 || strlen(name) >= NAME_SIZE)
		return false;
	*entry = (struct entry){ .held = !strcmp(why, "held"),
				 .applied = state && !strcmp(state, "out") };
	entry->part.guid = strtoull(guid, &end, 16);
	entry->part.port = (uint8_t)json_integer_value(port);
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	osr_name_clean(entry->name);
	/* near_name() relies on the form. */
	return !*end && *guid && (entry->part.port || !strncmp(name, "switch ", 7));
}

void osr_drains_load(struct osr_drains *drains, const char *text, size_t size)
{
	json_t *book = json_loadb(text, size, 0, NULL);
	const json_t *parts = json_object_get(book, "parts");
	struct entry entry;

	pthread_mutex_lock(&drains->mutex);
	for (size_t i = 0; i < json_array_size(parts); i++)
		if (load_entry(json_array_get(parts, i), &entry) &&
		    (!entry.held || drains->hold.after))
			insert_entry(drains, &entry, NULL);
	pthread_mutex_unlock(&drains->mutex);
	json_decref(book);
}

/* Links that flap ------------------------------------------------------------------------------ */

static struct history *history_of(struct osr_drains *drains, const struct osr_part *part, bool make)
{
	uint32_t i = 0, oldest = 0;

	for (; i < drains->n_history; i++) {
		if (!compare_parts(&drains->history[i].part, part))
			return &drains->history[i];
		if (drains->history[i].last < drains->history[oldest].last)
			oldest = i;
	}
	if (!make)
		return NULL;
	if (drains->n_history < MAX_PARTS)
		oldest = drains->n_history++;
	drains->history[oldest] = (struct history){ .part = *part };
	return &drains->history[oldest];
}

static void went_down(struct osr_drains *drains, const struct osr_part *part, double now)
{
	struct history *h = history_of(drains, part, true);

	h->down[h->n_down++ % MAX_TIMES] = now;
	h->last = now;
}

static void note_event(struct osr_drains *drains, const struct entry *entry)
{
	struct osr_drain_event *event = &drains->event[drains->n_events];

	if (drains->n_events == MAX_EVENTS)
		return;
	drains->n_events++;
	memcpy(event->name, entry->name, sizeof(event->name));
	event->held = entry->held;
}

/* With its GUID, if other switches among those that are seen are called so. */
static const char *seen_name(const struct osr_seen *all, uint32_t n, const char *name,
			     uint64_t guid, char buf[NAME_SIZE])
{
	for (uint32_t i = 0; i < n; i++) {
		if ((all[i].part.guid == guid || strcmp(all[i].name, name) != 0) &&
		    (all[i].far_guid == guid || strcmp(all[i].far_name, name) != 0))
			continue;
		snprintf(buf, NAME_SIZE, OSR_NAME_WITH_GUID, name, guid);
		return buf;
	}
	return name;
}

static void came_up(struct osr_drains *drains, const struct osr_seen *all, uint32_t n_seen,
		    const struct osr_seen *seen, double now)
{
	char near[NAME_SIZE], far[NAME_SIZE];
	struct history *h = history_of(drains, &seen->part, false);
	struct entry entry = { .part = seen->part, .held = true };
	uint32_t n = 0;

	if (!h)
		return;
	h->last = now;
	for (uint32_t i = 0; i < h->n_down && i < MAX_TIMES; i++)
		n += now - h->down[i] <= drains->hold.within;
	if (n < drains->hold.after || entry_at(drains, &seen->part, true) < drains->n)
		return;
	name_link(entry.name, seen_name(all, n_seen, seen->name, seen->part.guid, near),
		  seen->part.port, seen_name(all, n_seen, seen->far_name, seen->far_guid, far),
		  seen->far_port);
	if (!insert_entry(drains, &entry, NULL))
		note_event(drains, &entry);
}

/* Links that were held before a restart have no history yet: their calm time begins now. */
static void let_calm_return(struct osr_drains *drains, double now)
{
	for (uint32_t i = drains->n; i-- > 0;) {
		struct entry *entry = &drains->entry[i];
		struct history *h;

		if (!entry->held)
			continue;
		h = history_of(drains, &entry->part, false);
		if (!h) {
			h = history_of(drains, &entry->part, true);
			h->last = now;
		}
		if (now - h->last < drains->hold.calm)
			continue;
		h->n_down = 0;
		entry->held = false; /* as the event tells */
		note_event(drains, entry);
		remove_entry(drains, i);
	}
}

static bool keep_seen(struct osr_drains *drains, const struct osr_seen *seen, uint32_t n)
{
	if (n > drains->room_seen) {
		struct osr_part *more = realloc(drains->seen, n * sizeof(*more));

		if (!more)
			return false;
		drains->seen = more;
		drains->room_seen = n;
	}
	for (uint32_t i = 0; i < n; i++)
		drains->seen[i] = seen[i].part;
	drains->n_seen = n;
	return true;
}

void osr_drains_watch(struct osr_drains *drains, const struct osr_seen *seen, uint32_t n,
		      double now)
{
	uint32_t i = 0, j = 0;

	if (!drains->hold.after)
		return;
	pthread_mutex_lock(&drains->mutex);
	while (drains->watched && (i < drains->n_seen || j < n)) {
		int order = i == drains->n_seen ? 1
			    : j == n            ? -1
						: compare_parts(&drains->seen[i], &seen[j].part);

		if (order < 0)
			went_down(drains, &drains->seen[i], now);
		else if (order > 0)
			came_up(drains, seen, n, &seen[j], now);
		i += order <= 0;
		j += order >= 0;
	}
	let_calm_return(drains, now);
	drains->watched = keep_seen(drains, seen, n);
	pthread_mutex_unlock(&drains->mutex);
}

bool osr_drains_event(struct osr_drains *drains, struct osr_drain_event *event)
{
	bool found;

	pthread_mutex_lock(&drains->mutex);
	found = drains->n_events;
	if (found)
		*event = drains->event[--drains->n_events];
	pthread_mutex_unlock(&drains->mutex);
	return found;
}

double osr_drains_next(struct osr_drains *drains, double now)
{
	double next = -1;

	pthread_mutex_lock(&drains->mutex);
	for (uint32_t i = 0; i < drains->n; i++) {
		const struct history *h = history_of(drains, &drains->entry[i].part, false);
		double left;

		if (!drains->entry[i].held || !h)
			continue;
		left = h->last + drains->hold.calm - now;
		if (next < 0 || left < next)
			next = left > 0 ? left : 0;
	}
	pthread_mutex_unlock(&drains->mutex);
	return next;
}

/* Sweeps --------------------------------------------------------------------------------------- */

uint32_t osr_drains_parts(struct osr_drains *drains, struct osr_part *part, uint32_t max)
{
	uint32_t n = 0;

	pthread_mutex_lock(&drains->mutex);
	/* Drained parts before held ones; of both, those that are left out already first. */
	for (unsigned turn = 0; turn < 4; turn++)
		for (uint32_t i = 0; i < drains->n; i++) {
			struct entry *entry = &drains->entry[i];

			if (entry->held != (turn >= 2) || entry->applied != !(turn & 1))
				continue;
			entry->taken = n < max;
			if (entry->taken)
				part[n++] = entry->part;
		}
	for (uint32_t i = 0; i < drains->n; i++)
		drains->entry[i].applied = drains->entry[i].taken;
	drains->taken = drains->version;
	pthread_mutex_unlock(&drains->mutex);
	return n;
}

bool osr_drains_suspend(struct osr_drains *drains, const struct osr_part *part, char *name)
{
	bool is_new = false;

	pthread_mutex_lock(&drains->mutex);
	for (uint32_t i = 0; i < drains->n; i++) {
		struct entry *entry = &drains->entry[i];

		if (compare_parts(&entry->part, part) || !entry->taken)
			continue;
		is_new |= entry->state != OSR_DRAIN_SUSPENDED;
		entry->applied = false;
		entry->state = OSR_DRAIN_SUSPENDED;
		memcpy(name, entry->name, sizeof(entry->name));
	}
	pthread_mutex_unlock(&drains->mutex);
	return is_new;
}

void osr_drains_done(struct osr_drains *drains)
{
	pthread_mutex_lock(&drains->mutex);
	for (uint32_t i = 0; i < drains->n; i++)
		if (drains->entry[i].applied)
			drains->entry[i].state = OSR_DRAIN_OUT;
	drains->done = drains->taken;
	pthread_mutex_unlock(&drains->mutex);
}

void osr_drains_count(struct osr_drains *drains, uint32_t *n_drained, uint32_t *n_held)
{
	*n_drained = *n_held = 0;
	pthread_mutex_lock(&drains->mutex);
	for (uint32_t i = 0; i < drains->n; i++)
		*(drains->entry[i].held ? n_held : n_drained) += 1;
	pthread_mutex_unlock(&drains->mutex);
}

void osr_drains_sm(struct osr_drains *drains, uint64_t port_guid)
{
	pthread_mutex_lock(&drains->mutex);
	drains->sm_port = port_guid;
	pthread_mutex_unlock(&drains->mutex);
}
