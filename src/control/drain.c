/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "control/drain.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS 1024
#define MAX_TIMES 16
#define NAME_SIZE 192 /* as in struct osr_drain_event: two names of 80 */
#define MAX_EVENTS 32 /* between two looks; more are not told of */
#define FORMAT 1

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

/* What is asked -------------------------------------------------------------------------------- */

static bool switch_is_called(const struct osr_fabric *fabric, uint32_t s, const char *text)
{
	char guid[32], buf[32];

	snprintf(guid, sizeof(guid), "0x%016" PRIx64, fabric->sw_guid[s]);
	return !strcmp(text, guid) || !strcmp(text, osr_switch_name(fabric, s, buf));
}

/* How many switches are called that, and the last of them. */
static uint32_t drain_find_switch(const struct osr_fabric *fabric, const char *text, uint32_t *sw)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (switch_is_called(fabric, s, text)) {
			*sw = s;
			n++;
		}
	return n;
}

/* NODE:PORT in two: false if the text does not end like that. */
static bool split_port(const char *what, char *node, size_t size, uint8_t *port)
{
	const char *colon = strrchr(what, ':');
	unsigned long n;
	char *end;

	if (!colon || colon[1] < '0' || colon[1] > '9')
		return false;
	n = strtoul(colon + 1, &end, 10);
	if (*end || !n || n > 254 || (size_t)(colon - what) >= size)
		return false;
	memcpy(node, what, (size_t)(colon - what));
	node[colon - what] = '\0';
	*port = (uint8_t)n;
	return true;
}

static enum osr_status drain_find_part(const struct osr_fabric *fabric, const char *what,
				       uint32_t *sw, uint8_t *port, struct osr_diag *diag)
{
	char node[128] = "";
	uint32_t n = drain_find_switch(fabric, what, sw);

	*port = 0;
	if (!n && split_port(what, node, sizeof(node), port))
		n = drain_find_switch(fabric, node, sw);
	if (n == 1)
		return OSR_OK;
	if (n)
		return osr_fail(diag, OSR_INVAL,
				"%u switches are called \"%.80s\"; name one by its GUID", n, what);
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (fabric->term_role[t] != OSR_ROLE_SP0 &&
		    (!strcmp(fabric->names + fabric->term_name[t], what) ||
		     !strcmp(fabric->names + fabric->term_name[t], node)))
			return osr_fail(diag, OSR_INVAL,
					"\"%.80s\" is an end port, and would be cut off: switches "
					"and cables between switches can be drained",
					what);
	return osr_fail(diag, OSR_INVAL,
			"no switch in use is called \"%.80s\"; expected NODE or NODE:PORT, a "
			"switch by its name or GUID",
			what);
}

/* Hosts ---------------------------------------------------------------------------------------- */

static uint32_t drain_root(uint32_t *up, uint32_t s)
{
	while (up[s] != s)
		s = up[s] = up[up[s]];
	return s;
}

/*
 * Without the switch, or the channel and its other direction: how many hosts lose the part of their
 * component that has the most, and one switch of them.
 */
static uint64_t count_cut(const struct osr_fabric *fabric, uint32_t sw, uint32_t channel,
			  uint32_t *cut, struct osr_diag *diag)
{
	uint32_t n = fabric->n_switches, *up = malloc((n + 1) * sizeof(*up));
	uint64_t *hosts = calloc(n + 1, sizeof(*hosts)), lost = 0;
	uint32_t *best = malloc((n + 1) * sizeof(*best));

	if (!up || !hosts || !best) {
		osr_fail(diag, OSR_NOMEM, "out of memory");
		lost = UINT64_MAX;
		goto end;
	}
	for (uint32_t s = 0; s < n; s++) {
		up[s] = s;
		best[s] = OSR_NONE;
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (c != channel && fabric->chan_rev[c] != channel && fabric->chan_src[c] != sw &&
		    fabric->chan_dst[c] != sw)
			up[drain_root(up, fabric->chan_src[c])] =
				drain_root(up, fabric->chan_dst[c]);
	for (uint32_t s = 0; s < n; s++)
		hosts[drain_root(up, s)] += fabric->sw_sources[s];
	for (uint32_t s = 0; s < n; s++) {
		uint32_t root = drain_root(up, s), comp = fabric->sw_component[s];

		if (s != sw && (best[comp] == OSR_NONE || hosts[root] > hosts[best[comp]]))
			best[comp] = root;
	}
	for (uint32_t s = 0; s < n; s++)
		if (fabric->sw_sources[s] &&
		    (s == sw || drain_root(up, s) != best[fabric->sw_component[s]])) {
			lost += fabric->sw_sources[s];
			*cut = s;
		}
end:
	free(up);
	free(hosts);
	free(best);
	return lost;
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
				"without %.80s %" PRIu64
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
	uint32_t channel = port ? osr_port_channel(fabric, sw, port) : OSR_NONE, cut = 0;
	uint64_t lost;

	for (uint32_t t = fabric->term_row[sw]; port && t < fabric->term_row[sw + 1]; t++)
		if (fabric->term_port[t] == port)
			return refuse_cut(fabric, what, 1, sw, diag);
	if (port && channel == OSR_NONE)
		return osr_fail(diag, OSR_INVAL, "%.80s: no cable to a switch is in use there",
				what);
	if (!port && holds_sm(drains, fabric, sw))
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the subnet manager runs on switch %.80s, which cannot be drained",
				what);
	lost = count_cut(fabric, port ? OSR_NONE : sw, channel, &cut, diag);
	return lost ? refuse_cut(fabric, what, lost, cut, diag) : OSR_OK;
}

/* "leaf-1 port 3 - spine-2 port 1"; names may be cut within a letter, and OpenSM's be no UTF-8. */
static void name_link(char *name, const char *near, uint8_t port, const char *far, uint8_t far_port)
{
	snprintf(name, NAME_SIZE, "%.80s port %u - %.80s port %u", near, port, far, far_port);
	osr_name_clean(name);
}

static void name_part(const struct osr_fabric *fabric, uint32_t sw, uint8_t port, char *name)
{
	uint32_t c = port ? osr_port_channel(fabric, sw, port) : OSR_NONE;
	char buf[32], far[32];

	if (c == OSR_NONE) {
		snprintf(name, NAME_SIZE, "switch %.80s", osr_switch_name(fabric, sw, buf));
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
	enum osr_status st;
	uint32_t sw;

	if (!fabric)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "no fabric has been routed yet");
	st = drain_find_part(fabric, what, &sw, &entry.part.port, diag);
	if (st)
		return st;
	entry.part.guid = fabric->sw_guid[sw];
	name_part(fabric, sw, entry.part.port, entry.name);
	pthread_mutex_lock(&drains->mutex);
	st = check_part(drains, fabric, what, sw, entry.part.port, diag);
	if (!st)
		st = insert_entry(drains, &entry, diag);
	pthread_mutex_unlock(&drains->mutex);
	return st;
}

/* Is it this entry that the text names? Its switch may be in no fabric. */
static bool entry_is_called(const struct entry *entry, const char *what)
{
	char text[NAME_SIZE], node[128];
	const char *name = entry->name;
	uint8_t port;

	snprintf(text, sizeof(text), entry->part.port ? "0x%016" PRIx64 ":%u" : "0x%016" PRIx64,
		 entry->part.guid, entry->part.port);
	if (!strcmp(what, text) || !strcmp(what, name))
		return true;
	if (!entry->part.port)
		return !strcmp(what, name + strlen("switch "));
	if (!split_port(what, node, sizeof(node), &port) || port != entry->part.port)
		return false;
	snprintf(text, sizeof(text), "%.80s port %u - ", node, port);
	return !strncmp(name, text, strlen(text));
}

enum osr_status osr_drains_remove(struct osr_drains *drains, const char *what,
				  struct osr_diag *diag)
{
	bool all = !strcmp(what, "all"), found = false;

	pthread_mutex_lock(&drains->mutex);
	for (uint32_t i = drains->n; i-- > 0;)
		if (!drains->entry[i].held && (all || entry_is_called(&drains->entry[i], what))) {
			remove_entry(drains, i);
			found = true;
		}
	pthread_mutex_unlock(&drains->mutex);
	return found || all ? OSR_OK : osr_fail(diag, OSR_INVAL, "\"%.80s\" is not drained", what);
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
	const json_t *port = json_object_get(json, "port");
	char *end;

	if (!name || !guid || !why || !json_is_integer(port) || json_integer_value(port) < 0 ||
	    json_integer_value(port) > 254 || strlen(name) >= NAME_SIZE)
		return false;
	*entry = (struct entry){ .held = !strcmp(why, "held") };
	entry->part.guid = strtoull(guid, &end, 16);
	entry->part.port = (uint8_t)json_integer_value(port);
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	osr_name_clean(entry->name);
	/* entry_is_called() relies on the form. */
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

static void came_up(struct osr_drains *drains, const struct osr_seen *seen, double now)
{
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
	name_link(entry.name, seen->name, seen->part.port, seen->far_name, seen->far_port);
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
			came_up(drains, &seen[j], now);
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

uint32_t osr_drains_parts(struct osr_drains *drains, bool held, struct osr_part *part, uint32_t max)
{
	uint32_t n = 0;

	pthread_mutex_lock(&drains->mutex);
	for (uint32_t i = 0; i < drains->n; i++) {
		struct entry *entry = &drains->entry[i];

		if (entry->held != held)
			continue;
		entry->taken = n < max;
		if (entry->taken)
			part[n++] = entry->part;
	}
	drains->taken = drains->version;
	pthread_mutex_unlock(&drains->mutex);
	return n;
}

void osr_drains_applied(struct osr_drains *drains, bool held, bool left_out)
{
	pthread_mutex_lock(&drains->mutex);
	for (uint32_t i = 0; i < drains->n; i++)
		if (drains->entry[i].held == held && drains->entry[i].taken) {
			drains->entry[i].applied = left_out;
			if (!left_out)
				drains->entry[i].state = OSR_DRAIN_SUSPENDED;
		}
	pthread_mutex_unlock(&drains->mutex);
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
