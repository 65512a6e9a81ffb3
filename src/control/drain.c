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
	bool held, applied; /* applied: what the last sweep left out */
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
	struct osr_part out[MAX_PARTS]; /* [n_out] ascending: what the sweep leaves out */
	uint32_t n_out;
	struct osr_drain_event event[MAX_EVENTS];
	uint32_t n_events;
};

static int compare_parts(const void *x, const void *y)
{
	const struct osr_part *a = x, *b = y;

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

/* What is cut off ------------------------------------------------------------------------------ */

struct cutting {
	const struct osr_fabric *f;
	uint32_t *hosts; /* [n_switches], those that count */
	uint32_t *up;    /* [n_switches] sets of switches that are joined */
	uint64_t *sum;   /* [n_switches] hosts of a set, by its root */
	uint32_t *best;  /* [n_switches] by component: the set with most hosts */
	bool *no_sw, *no_channel;
	struct osr_part *part; /* [MAX_PARTS + 1] of the caller */
};

/* CAs that belong to a switch itself (hosts.h) do not count, but for the subnet manager's. */
static enum osr_status cutting_begin(const struct osr_drains *drains,
				     const struct osr_fabric *fabric, struct osr_arena *arena,
				     struct cutting *x, struct osr_diag *diag)
{
	uint32_t n_switches = fabric->n_switches, n = 0;
	struct osr_end *end = osr_alloc(arena, fabric->n_terminals, sizeof(*end));

	*x = (struct cutting){ .f = fabric,
			       .hosts = osr_alloc(arena, n_switches, sizeof(*x->hosts)),
			       .up = osr_alloc(arena, n_switches, sizeof(*x->up)),
			       .sum = osr_alloc(arena, n_switches, sizeof(*x->sum)),
			       .best = osr_alloc(arena, n_switches, sizeof(*x->best)),
			       .no_sw = osr_alloc(arena, n_switches, sizeof(*x->no_sw)),
			       .no_channel =
				       osr_alloc(arena, fabric->n_channels, sizeof(*x->no_channel)),
			       .part = osr_alloc(arena, MAX_PARTS + 1, sizeof(*x->part)) };
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		uint32_t s = fabric->term_switch[t];

		if (fabric->term_role[t] != OSR_ROLE_SP0)
			end[n++] =
				(struct osr_end){ s, fabric->term_port[t] == fabric->sw_n_ports[s],
						  fabric->names + fabric->term_name[t] };
	}
	osr_count_hosts(end, n, x->hosts, n_switches);
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (fabric->term_guid[t] == drains->sm_port &&
		    fabric->term_role[t] != OSR_ROLE_SP0 && !x->hosts[fabric->term_switch[t]])
			x->hosts[fabric->term_switch[t]] = 1;
	return OSR_OK;
}

/* Marks a switch, or the channel at this port and its other direction. */
static void mark_part(const struct cutting *x, const struct osr_part *part)
{
	uint32_t sw = osr_fabric_switch_by_guid(x->f, part->guid);
	uint32_t channel =
		sw != OSR_NONE && part->port ? osr_port_channel(x->f, sw, part->port) : OSR_NONE;

	if (sw != OSR_NONE && !part->port)
		x->no_sw[sw] = true;
	if (channel != OSR_NONE)
		x->no_channel[channel] = x->no_channel[x->f->chan_rev[channel]] = true;
}

/* Without the first n of x->part: how many hosts lose the set of their component that has the most, and one switch of them. */
static uint64_t count_cut(const struct cutting *x, uint32_t n, uint32_t *cut)
{
	const struct osr_fabric *fabric = x->f;
	uint32_t n_switches = fabric->n_switches;
	uint64_t lost = 0;

	memset(x->no_sw, 0, n_switches * sizeof(*x->no_sw));
	memset(x->no_channel, 0, fabric->n_channels * sizeof(*x->no_channel));
	memset(x->sum, 0, n_switches * sizeof(*x->sum));
	memset(x->best, 0xff, n_switches * sizeof(*x->best));
	for (uint32_t i = 0; i < n; i++)
		mark_part(x, &x->part[i]);
	osr_set_init(x->up, n_switches);
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (!x->no_channel[c] && !x->no_sw[fabric->chan_src[c]] &&
		    !x->no_sw[fabric->chan_dst[c]])
			osr_set_join(x->up, fabric->chan_src[c], fabric->chan_dst[c]);
	for (uint32_t s = 0; s < n_switches; s++)
		x->sum[osr_set_of(x->up, s)] += x->hosts[s];
	for (uint32_t s = 0; s < n_switches; s++) {
		uint32_t root = osr_set_of(x->up, s), *best = &x->best[fabric->sw_component[s]];

		if (!x->no_sw[s] && (*best == OSR_NONE || x->sum[root] > x->sum[*best]))
			*best = root;
	}
	for (uint32_t s = 0; s < n_switches; s++)
		if (x->hosts[s] &&
		    (x->no_sw[s] || osr_set_of(x->up, s) != x->best[fabric->sw_component[s]])) {
			lost += x->hosts[s];
			*cut = s;
		}
	return lost;
}

/* Asking --------------------------------------------------------------------------------------- */

static enum osr_status refuse_cut(const struct osr_fabric *fabric, const char *what, uint64_t lost,
				  uint32_t cut, struct osr_diag *diag)
{
	char sw[32], host[32];

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

/* Together with what waits for a sweep. */
static enum osr_status check_part(const struct osr_drains *drains, const struct cutting *x,
				  const char *what, uint32_t sw, uint8_t port,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = x->f;
	uint32_t cut = 0, n = 0;
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
	x->part[n++] = (struct osr_part){ fabric->sw_guid[sw], port };
	for (uint32_t i = 0; i < drains->n; i++)
		if (!drains->entry[i].held && drains->entry[i].state == OSR_DRAIN_ASKED)
			x->part[n++] = drains->entry[i].part;
	lost = count_cut(x, n, &cut);
	if (!lost)
		return OSR_OK;
	snprintf(all, sizeof(all), "%.80s%s", what,
		 n > 1 ? " and what was asked for before it" : "");
	return refuse_cut(fabric, all, lost, cut, diag);
}

/* "leaf-1 port 3 - spine-2 port 1"; names may be cut within a letter, and OpenSM's be no UTF-8. */
static void name_part(const struct osr_fabric *fabric, uint32_t sw, uint8_t port, char *name)
{
	uint32_t c = port ? osr_port_channel(fabric, sw, port) : OSR_NONE;
	char buf[32], far[32];

	if (c == OSR_NONE)
		snprintf(name, NAME_SIZE, "switch %.84s", osr_switch_name(fabric, sw, buf));
	else
		snprintf(name, NAME_SIZE, "%.84s port %u - %.84s port %u",
			 osr_switch_name(fabric, sw, buf), port,
			 osr_switch_name(fabric, fabric->chan_dst[c], far),
			 fabric->chan_port[fabric->chan_rev[c]]);
	osr_name_clean(name);
}

enum osr_status osr_drains_add(struct osr_drains *drains, const struct osr_fabric *fabric,
			       const char *what, struct osr_diag *diag)
{
	struct entry entry = { .state = OSR_DRAIN_ASKED };
	struct osr_arena arena = { 0 };
	struct osr_names names;
	struct cutting x;
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
		st = cutting_begin(drains, fabric, &arena, &x, diag);
		if (!st)
			st = check_part(drains, &x, what, sw, entry.part.port, diag);
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

struct osr_drains_state osr_drains_state(struct osr_drains *drains)
{
	struct osr_drains_state state;

	pthread_mutex_lock(&drains->mutex);
	state = (struct osr_drains_state){ .version = drains->version,
					   .taken = drains->taken,
					   .done = drains->done };
	for (uint32_t i = 0; i < drains->n; i++)
		*(drains->entry[i].held ? &state.n_held : &state.n_drained) += 1;
	pthread_mutex_unlock(&drains->mutex);
	return state;
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

static void note_event(struct osr_drains *drains, const struct entry *entry,
		       enum osr_drain_news news, const char *cut)
{
	struct osr_drain_event *event = &drains->event[drains->n_events];

	if (drains->n_events == MAX_EVENTS)
		return;
	drains->n_events++;
	memcpy(event->name, entry->name, sizeof(event->name));
	snprintf(event->cut, sizeof(event->cut), "%s", cut);
	event->news = news;
}

static void came_up(struct osr_drains *drains, const struct osr_fabric *fabric,
		    const struct osr_part *part, double now)
{
	struct history *h = history_of(drains, part, false);
	struct entry entry = { .part = *part, .held = true };
	uint32_t n = 0;

	if (!h)
		return;
	h->last = now;
	for (uint32_t i = 0; i < h->n_down && i < MAX_TIMES; i++)
		n += now - h->down[i] <= drains->hold.within;
	if (n < drains->hold.after || entry_at(drains, part, true) < drains->n)
		return;
	name_part(fabric, osr_fabric_switch_by_guid(fabric, part->guid), part->port, entry.name);
	if (!insert_entry(drains, &entry, NULL))
		note_event(drains, &entry, OSR_DRAIN_HELD, "");
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
		note_event(drains, entry, OSR_DRAIN_CALM, "");
		remove_entry(drains, i);
	}
}

static bool keep_seen(struct osr_drains *drains, const struct osr_part *seen, uint32_t n)
{
	if (n > drains->room_seen) {
		struct osr_part *more = realloc(drains->seen, n * sizeof(*more));

		if (!more)
			return false;
		drains->seen = more;
		drains->room_seen = n;
	}
	if (n)
		memcpy(drains->seen, seen, n * sizeof(*seen));
	drains->n_seen = n;
	return true;
}

static enum osr_status look_for_flaps(struct osr_drains *drains, const struct osr_fabric *fabric,
				      double now, struct osr_arena *scratch)
{
	struct osr_part *link = osr_alloc(scratch, fabric->n_channels, sizeof(*link));
	uint32_t i = 0, j = 0, n;

	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	/*
	 * Links by their end at the switch with the lower GUID, in ascending order: so switches and
	 * channels are numbered.
	 */
	n = 0;
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (fabric->chan_src[c] < fabric->chan_dst[c])
			link[n++] = (struct osr_part){ fabric->sw_guid[fabric->chan_src[c]],
						       fabric->chan_port[c] };
	while (drains->watched && (i < drains->n_seen || j < n)) {
		int order = i == drains->n_seen ? 1
			    : j == n            ? -1
						: compare_parts(&drains->seen[i], &link[j]);

		if (order < 0)
			went_down(drains, &drains->seen[i], now);
		else if (order > 0)
			came_up(drains, fabric, &link[j], now);
		i += order <= 0;
		j += order >= 0;
	}
	let_calm_return(drains, now);
	drains->watched = keep_seen(drains, link, n);
	return OSR_OK;
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

/* What is to be left out, in the order in which it is tried: what comes first stays out rather than what follows. */
struct choosing {
	struct osr_drains *drains;
	struct cutting cut;
	struct entry *wish[MAX_PARTS];
	uint32_t n;
};

/* Without all that is applied and the wishes from first to end: what does that cut off? */
static uint64_t try_without(struct choosing *x, uint32_t first, uint32_t end, uint32_t *cut)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->n; i++) {
		if (i >= first && i < end)
			x->wish[i]->applied = true;
		if (x->wish[i]->applied)
			x->cut.part[n++] = x->wish[i]->part;
	}
	return count_cut(&x->cut, n, cut);
}

static void stay_in_use(struct choosing *x, struct entry *entry, uint32_t cut)
{
	char name[32];

	if (entry->state != OSR_DRAIN_SUSPENDED)
		note_event(x->drains, entry, OSR_DRAIN_KEPT, osr_switch_name(x->cut.f, cut, name));
	entry->state = OSR_DRAIN_SUSPENDED;
}

/*
 * Of the wishes from first to end, each that cuts nothing off together with those before it. The more is out the more
 * is cut off, so halves are tried where all of them are too much.
 */
static void choose_some(struct choosing *x, uint32_t first, uint32_t end)
{
	uint32_t middle = first + (end - first) / 2, cut;

	if (!try_without(x, first, end, &cut))
		return;
	for (uint32_t i = first; i < end; i++)
		x->wish[i]->applied = false;
	if (end - first == 1) {
		stay_in_use(x, x->wish[first], cut);
		return;
	}
	choose_some(x, first, middle);
	choose_some(x, middle, end);
}

enum osr_status osr_drains_watch(struct osr_drains *drains, const struct osr_fabric *fabric,
				 double now, struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	enum osr_status st = OSR_OK;

	pthread_mutex_lock(&drains->mutex);
	if (drains->hold.after)
		st = look_for_flaps(drains, fabric, now, scratch);
	if (!st) {
		struct choosing x = { .drains = drains };

		/* What is out from now on: drained parts, then held links. */
		st = cutting_begin(drains, fabric, scratch, &x.cut, NULL);
		if (!st) {
			/* Drained parts before held ones; of both, those that are left out already first. */
			for (unsigned turn = 0; turn < 4; turn++)
				for (uint32_t i = 0; i < drains->n; i++)
					if (drains->entry[i].held == (turn >= 2) &&
					    drains->entry[i].applied == !(turn & 1))
						x.wish[x.n++] = &drains->entry[i];
			for (uint32_t i = 0; i < drains->n; i++)
				drains->entry[i].applied = false;
			if (x.n)
				choose_some(&x, 0, x.n);
			drains->n_out = 0;
			for (uint32_t i = 0; i < drains->n; i++)
				if (drains->entry[i].applied)
					drains->out[drains->n_out++] = drains->entry[i].part;
			qsort(drains->out, drains->n_out, sizeof(*drains->out), compare_parts);
			drains->taken = drains->version;
		}
	}
	pthread_mutex_unlock(&drains->mutex);
	osr_arena_reset(scratch, mark);
	return st;
}

uint32_t osr_drains_n_out(const struct osr_drains *drains)
{
	return drains->n_out;
}

bool osr_drains_out(const struct osr_drains *drains, uint64_t guid, uint8_t port)
{
	const struct osr_part part = { guid, port };

	return drains->n_out &&
	       bsearch(&part, drains->out, drains->n_out, sizeof(part), compare_parts);
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

void osr_drains_sm(struct osr_drains *drains, uint64_t port_guid)
{
	pthread_mutex_lock(&drains->mutex);
	drains->sm_port = port_guid;
	pthread_mutex_unlock(&drains->mutex);
}
