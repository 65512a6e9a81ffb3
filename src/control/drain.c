/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "control/drain.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/invariant.h>
#include <osmroutes/set.h>

#include "names/names.h"

#define MAX_PARTS 1024 /* that are drained or held down */
#define MAX_ROWS (2 * MAX_PARTS)
#define MAX_TIMES 16
#define NAME_SIZE 192 /* two names of 64 with GUIDs */
#define FORMAT 1

/*
 * A switch, or the link at one of its ports: whether and why it is to be left out, and its recent
 * events.
 */
struct row {
	struct osr_part part;
	char name[NAME_SIZE], node[NAME_SIZE]; /* of the part, of its switch */
	bool drained, held;
	bool applied; /* the last sweep left it out */
	bool is_new;  /* asked by a client that has not been told the outcome yet */
	enum osr_drain_state state;
	double down[MAX_TIMES]; /* ring: when the link went down */
	uint32_t n_down;
	double last; /* event of any kind; < 0: none since the start */
};

struct osr_drains {
	pthread_mutex_t mutex;
	struct osr_hold_down hold;
	/* Of the list; of the list that the last sweep took; of the list in the tables. */
	uint64_t version, taken, done;
	uint64_t sm_port;
	struct row *row; /* [n] of MAX_ROWS, by part */
	uint32_t n;
	struct osr_part *seen; /* links of the previous watch; NULL: this is the first */
	uint32_t n_seen;
	struct osr_part out[MAX_PARTS]; /* [n_out] ascending: parts that the sweep leaves out */
	uint32_t n_out;
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
	drains->row = calloc(MAX_ROWS, sizeof(*drains->row));
	pthread_mutex_init(&drains->mutex, NULL);
	if (drains->row)
		return drains;
	osr_drains_free(drains);
	return NULL;
}

void osr_drains_free(struct osr_drains *drains)
{
	if (!drains)
		return;
	pthread_mutex_destroy(&drains->mutex);
	free(drains->row);
	free(drains->seen);
	free(drains);
}

/* The list ------------------------------------------------------------------------------------- */

static bool is_wanted(const struct row *row)
{
	return row->drained || row->held;
}

static void remove_row(struct osr_drains *drains, struct row *row)
{
	osr_invariant(row >= drains->row && row < drains->row + drains->n);
	drains->n--;
	memmove(row, row + 1, (size_t)(drains->row + drains->n - row) * sizeof(*row));
}

/* NULL: the part has no row. */
static struct row *row_of(struct osr_drains *drains, const struct osr_part *part)
{
	return bsearch(part, drains->row, drains->n, sizeof(*drains->row), compare_parts);
}

/* row_of() searches by halves. */
static bool rows_ascend(const struct osr_drains *drains)
{
	for (uint32_t i = 1; i < drains->n; i++)
		if (compare_parts(&drains->row[i - 1].part, &drains->row[i].part) >= 0)
			return false;
	return true;
}

/*
 * The row of the part, made if it has none. If there is no room, the link that was quiet for
 * longest is forgotten.
 */
static struct row *make_row(struct osr_drains *drains, const struct osr_part *part)
{
	struct row *row = row_of(drains, part), *oldest = NULL, *end;

	if (row)
		return row;
	if (drains->n == MAX_ROWS)
		for (uint32_t i = 0; i < drains->n; i++)
			if (!is_wanted(&drains->row[i]) &&
			    (!oldest || drains->row[i].last < oldest->last))
				oldest = &drains->row[i];
	if (oldest)
		remove_row(drains, oldest);
	/* Half of the rows at most are wanted. */
	osr_invariant(drains->n < MAX_ROWS);
	end = drains->row + drains->n++;
	row = drains->row;
	while (row < end && compare_parts(&row->part, part) < 0)
		row++;
	memmove(row + 1, row, (size_t)(end - row) * sizeof(*row));
	*row = (struct row){ .part = *part, .last = -1 };
	osr_invariant(rows_ascend(drains));
	return row;
}

/* Drains the part, or holds it down, with the names and the reason given in `what`. */
static enum osr_status want(struct osr_drains *drains, const struct row *what,
			    struct osr_diag *diag)
{
	struct row *row = row_of(drains, &what->part);
	uint32_t n = 0;

	if (row && ((what->drained && row->drained) || (what->held && row->held)))
		return osr_fail(diag, OSR_INVAL, "%s is drained already", what->name);
	for (uint32_t i = 0; i < drains->n; i++)
		n += is_wanted(&drains->row[i]);
	if (n == MAX_PARTS && (!row || !is_wanted(row)))
		return osr_fail(diag, OSR_INVAL,
				"%d switches and cables are drained already, which is the most",
				MAX_PARTS);
	row = make_row(drains, &what->part);
	if (!is_wanted(row)) {
		row->applied = what->applied;
		row->state = what->state;
		row->is_new = what->is_new;
	}
	row->drained |= what->drained;
	row->held |= what->held;
	memcpy(row->name, what->name, sizeof(row->name));
	memcpy(row->node, what->node, sizeof(row->node));
	drains->version++;
	return OSR_OK;
}

/* Hosts that are cut off ----------------------------------------------------------------------- */

struct cutting {
	const struct osr_fabric *fabric;
	uint32_t *hosts; /* [n_switches] hosts that count */
	uint32_t *up;    /* [n_switches] sets of switches that are joined */
	uint64_t *sum;   /* [n_switches] hosts of a set, by its root */
	uint32_t *best;  /* [n_switches] by component: the set with most hosts */
	bool *no_sw, *no_channel;
	struct osr_part *part; /* [MAX_PARTS + 1] of the caller */
};

/* CAs that belong to a switch itself (fabric.h) do not count, but for the subnet manager's. */
static enum osr_status cutting_begin(const struct osr_drains *drains,
				     const struct osr_fabric *fabric, struct osr_arena *arena,
				     struct cutting *cutting, struct osr_diag *diag)
{
	uint32_t n_switches = fabric->n_switches, n = 0;
	struct osr_end *end = osr_alloc(arena, fabric->n_terminals, sizeof(*end));

	*cutting =
		(struct cutting){ .fabric = fabric,
				  .hosts = osr_alloc(arena, n_switches, sizeof(*cutting->hosts)),
				  .up = osr_alloc(arena, n_switches, sizeof(*cutting->up)),
				  .sum = osr_alloc(arena, n_switches, sizeof(*cutting->sum)),
				  .best = osr_alloc(arena, n_switches, sizeof(*cutting->best)),
				  .no_sw = osr_alloc(arena, n_switches, sizeof(*cutting->no_sw)),
				  .no_channel = osr_alloc(arena, fabric->n_channels,
							  sizeof(*cutting->no_channel)),
				  .part = osr_alloc(arena, MAX_PARTS + 1, sizeof(*cutting->part)) };
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		uint32_t s = fabric->term_switch[t];

		if (fabric->term_role[t] != OSR_ROLE_SP0)
			end[n++] =
				(struct osr_end){ s, fabric->term_port[t] == fabric->sw_n_ports[s],
						  fabric->names + fabric->term_name[t] };
	}
	osr_count_hosts(end, n, cutting->hosts, n_switches);
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (fabric->term_guid[t] == drains->sm_port &&
		    fabric->term_role[t] != OSR_ROLE_SP0 && !cutting->hosts[fabric->term_switch[t]])
			cutting->hosts[fabric->term_switch[t]] = 1;
	return OSR_OK;
}

/*
 * Without the first n parts of cutting->part: the number of hosts that lose the set of their
 * component with the most hosts, and the switch of one of them.
 */
static uint64_t count_cut(const struct cutting *cutting, uint32_t n, uint32_t *cut)
{
	const struct osr_fabric *fabric = cutting->fabric;
	uint32_t n_switches = fabric->n_switches;
	uint64_t lost = 0;

	memset(cutting->no_sw, 0, n_switches * sizeof(*cutting->no_sw));
	memset(cutting->no_channel, 0, fabric->n_channels * sizeof(*cutting->no_channel));
	memset(cutting->sum, 0, n_switches * sizeof(*cutting->sum));
	memset(cutting->best, 0xff, n_switches * sizeof(*cutting->best));
	/* Without a switch, or both directions of a cable. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t sw = osr_fabric_switch_by_guid(fabric, cutting->part[i].guid),
			 c = OSR_NONE;

		if (sw != OSR_NONE && cutting->part[i].port)
			c = osr_port_channel(fabric, sw, cutting->part[i].port);
		else if (sw != OSR_NONE)
			cutting->no_sw[sw] = true;
		if (c != OSR_NONE)
			cutting->no_channel[c] = cutting->no_channel[fabric->chan_rev[c]] = true;
	}
	osr_set_init(cutting->up, n_switches);
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (!cutting->no_channel[c] && !cutting->no_sw[fabric->chan_src[c]] &&
		    !cutting->no_sw[fabric->chan_dst[c]])
			osr_set_join(cutting->up, fabric->chan_src[c], fabric->chan_dst[c]);
	for (uint32_t s = 0; s < n_switches; s++)
		cutting->sum[osr_set_of(cutting->up, s)] += cutting->hosts[s];
	for (uint32_t s = 0; s < n_switches; s++) {
		uint32_t root = osr_set_of(cutting->up, s),
			 *best = &cutting->best[fabric->sw_component[s]];

		if (!cutting->no_sw[s] &&
		    (*best == OSR_NONE || cutting->sum[root] > cutting->sum[*best]))
			*best = root;
	}
	for (uint32_t s = 0; s < n_switches; s++)
		if (cutting->hosts[s] &&
		    (cutting->no_sw[s] ||
		     osr_set_of(cutting->up, s) != cutting->best[fabric->sw_component[s]])) {
			lost += cutting->hosts[s];
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

/* Refuses a part that would cut hosts off, together with all parts that wait for a sweep. */
static enum osr_status check_part(const struct osr_drains *drains, const struct cutting *cutting,
				  const char *what, uint32_t sw, uint8_t port,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = cutting->fabric;
	uint32_t cut = 0, n = 0;
	char all[128];
	uint64_t lost;

	for (uint32_t t = fabric->term_row[sw]; t < fabric->term_row[sw + 1]; t++)
		if (port && fabric->term_port[t] == port)
			return refuse_cut(fabric, what, 1, sw, diag);
		else if (!port && fabric->term_role[t] == OSR_ROLE_SP0 &&
			 fabric->term_guid[t] == drains->sm_port)
			return osr_fail(diag, OSR_NOT_APPLICABLE,
					"the subnet manager runs on switch %.80s, which cannot be "
					"drained",
					what);
	if (port && osr_port_channel(fabric, sw, port) == OSR_NONE)
		return osr_fail(diag, OSR_INVAL, "%.80s: no cable to a switch is in use there",
				what);
	cutting->part[n++] = (struct osr_part){ fabric->sw_guid[sw], port };
	for (uint32_t i = 0; i < drains->n; i++)
		if (drains->row[i].drained && drains->row[i].state == OSR_DRAIN_ASKED)
			cutting->part[n++] = drains->row[i].part;
	lost = count_cut(cutting, n, &cut);
	if (!lost)
		return OSR_OK;
	snprintf(all, sizeof(all), "%.80s%s", what,
		 n > 1 ? " and what was asked for before it" : "");
	return refuse_cut(fabric, all, lost, cut, diag);
}

/* "leaf-1 port 3 - spine-2 port 1"; names may be cut within a letter, and OpenSM's be no UTF-8. */
static void name_part(const struct osr_fabric *fabric, uint32_t sw, struct row *row)
{
	uint8_t port = row->part.port;
	uint32_t c = port ? osr_port_channel(fabric, sw, port) : OSR_NONE;
	char buf[32], far[32];

	snprintf(row->node, NAME_SIZE, "%.84s", osr_switch_name(fabric, sw, buf));
	osr_name_clean(row->node);
	if (c == OSR_NONE)
		snprintf(row->name, NAME_SIZE, "switch %.84s", row->node);
	else
		snprintf(row->name, NAME_SIZE, "%.84s port %u - %.84s port %u", row->node, port,
			 osr_switch_name(fabric, fabric->chan_dst[c], far),
			 fabric->chan_port[fabric->chan_rev[c]]);
	osr_name_clean(row->name);
}

enum osr_status osr_drains_add(struct osr_drains *drains, const struct osr_fabric *fabric,
			       const char *what, struct osr_diag *diag)
{
	struct row row = { .drained = true, .state = OSR_DRAIN_ASKED, .is_new = true };
	struct osr_arena arena = { 0 };
	struct osr_names names;
	struct cutting cutting;
	enum osr_status st;
	uint32_t sw, port;

	if (!fabric)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "no fabric has been routed yet");
	st = osr_names_of_fabric(&names, fabric, &arena, diag);
	if (!st)
		st = osr_names_find(&names, what, OSR_NAME_SWITCH, &sw, &port, diag);
	if (!st) {
		row.part = (struct osr_part){ fabric->sw_guid[sw], (uint8_t)port };
		name_part(fabric, sw, &row);
		pthread_mutex_lock(&drains->mutex);
		st = cutting_begin(drains, fabric, &arena, &cutting, diag);
		if (!st)
			st = check_part(drains, &cutting, what, sw, row.part.port, diag);
		if (!st)
			st = want(drains, &row, diag);
		pthread_mutex_unlock(&drains->mutex);
	}
	osr_arena_free(&arena);
	return st;
}

/* The drained part of this name. Its switch need not be in the fabric. */
static enum osr_status find_drained(const struct osr_drains *drains, const char *what,
				    struct osr_part *part, struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	struct osr_name *name = osr_alloc(&arena, drains->n, sizeof(*name));
	uint32_t n = 0, n_switches = 0, node, port;
	enum osr_status st = osr_arena_failed(&arena, diag) ? OSR_NOMEM : OSR_OK;
	struct osr_names names;

	for (uint32_t i = 0; !st && i < drains->n; i++) {
		const struct row *row = &drains->row[i];

		if (!row->drained)
			continue;
		n_switches += n && row->part.guid != name[n - 1].guid;
		name[n++] = (struct osr_name){ .text = row->node,
					       .guid = row->part.guid,
					       .node = n_switches,
					       .kind = OSR_NAME_SWITCH };
	}
	if (!st)
		st = osr_names_build(&names, name, n, &arena, diag);
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
	for (uint32_t i = st ? 0 : drains->n; i-- > 0;) {
		struct row *row = &drains->row[i];

		if (!row->drained || (!all && compare_parts(&row->part, &part) != 0))
			continue;
		found = true;
		drains->version++;
		row->drained = false;
		if (!row->held && row->last < 0)
			remove_row(drains, row);
	}
	pthread_mutex_unlock(&drains->mutex);
	return st || found ? st : osr_fail(diag, OSR_INVAL, "\"%.80s\" is not drained", what);
}

void osr_drains_forget(struct osr_drains *drains)
{
	pthread_mutex_lock(&drains->mutex);
	for (uint32_t i = drains->n; i-- > 0;) {
		struct row *row = &drains->row[i];

		if (!row->drained || !row->is_new)
			continue;
		drains->version++;
		row->drained = row->is_new = false;
		if (!row->held && row->last < 0)
			remove_row(drains, row);
	}
	pthread_mutex_unlock(&drains->mutex);
}

/* Adds a row to the list; false: no memory. */
static bool add_json(json_t *list, const struct row *row, const char *why)
{
	static const char *const states[] = { "asked", "out", "suspended" };
	char guid[24];

	snprintf(guid, sizeof(guid), "0x%016" PRIx64, row->part.guid);
	return !json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i, s:s, s:s}", "what",
						      row->name, "switch", row->node, "guid", guid,
						      "port", row->part.port, "why", why, "state",
						      states[row->state]));
}

json_t *osr_drains_json(struct osr_drains *drains)
{
	json_t *list = json_array();
	bool good = list;

	pthread_mutex_lock(&drains->mutex);
	for (uint32_t i = 0; i < drains->n; i++)
		if (drains->row[i].drained)
			good &= add_json(list, &drains->row[i], "drained");
	for (uint32_t i = 0; i < drains->n; i++)
		if (drains->row[i].held)
			good &= add_json(list, &drains->row[i], "held");
	pthread_mutex_unlock(&drains->mutex);
	if (good)
		return list;
	json_decref(list);
	return NULL;
}

struct osr_drains_state osr_drains_state(struct osr_drains *drains)
{
	struct osr_drains_state state;

	pthread_mutex_lock(&drains->mutex);
	state = (struct osr_drains_state){ .version = drains->version,
					   .taken = drains->taken,
					   .done = drains->done,
					   .calm_at = -1 };
	for (uint32_t i = 0; i < drains->n; i++) {
		const struct row *row = &drains->row[i];
		double calm_at = row->last + drains->hold.calm;

		state.n_drained += row->drained;
		state.n_held += row->held;
		if (row->held && row->last >= 0 && (state.calm_at < 0 || calm_at < state.calm_at))
			state.calm_at = calm_at;
	}
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

static bool load_row(const json_t *json, struct row *row)
{
	const char *name = json_string_value(json_object_get(json, "what"));
	const char *node = json_string_value(json_object_get(json, "switch"));
	const char *guid = json_string_value(json_object_get(json, "guid"));
	const char *why = json_string_value(json_object_get(json, "why"));
	const char *state = json_string_value(json_object_get(json, "state"));
	const json_t *port = json_object_get(json, "port");
	char *end;

	if (!name || !guid || !why || !json_is_integer(port) || json_integer_value(port) < 0 ||
	    json_integer_value(port) > 254 || strlen(name) >= NAME_SIZE)
		return false;
	*row = (struct row){ .held = !strcmp(why, "held"),
			     .applied = state && !strcmp(state, "out") };
	row->drained = !row->held;
	row->part =
		(struct osr_part){ strtoull(guid, &end, 16), (uint8_t)json_integer_value(port) };
	/* Old files lack the name of the switch: its GUID stands for it. */
	snprintf(row->name, NAME_SIZE, "%s", name);
	snprintf(row->node, NAME_SIZE, "%s", node ? node : guid);
	osr_name_clean(row->name);
	osr_name_clean(row->node);
	return !*end && *guid;
}

enum osr_status osr_drains_load(struct osr_drains *drains, const char *text, size_t size,
				struct osr_diag *diag)
{
	json_t *book = json_loadb(text, size, 0, NULL);
	const json_t *parts = json_object_get(book, "parts");
	size_t n = json_array_size(parts), n_lost = 0;
	enum osr_status st = OSR_OK;
	struct row row;

	if (!json_is_array(parts))
		st = osr_fail(diag, OSR_INVAL, "not a list of parts: none is drained any more");
	pthread_mutex_lock(&drains->mutex);
	for (size_t i = 0; i < n; i++)
		if (!load_row(json_array_get(parts, i), &row))
			n_lost++;
		else if (row.drained || drains->hold.after)
			want(drains, &row, NULL);
	pthread_mutex_unlock(&drains->mutex);
	if (n_lost)
		st = osr_fail(diag, OSR_INVAL,
			      "%zu of %zu parts cannot be understood, and are not drained any more",
			      n_lost, n);
	json_decref(book);
	return st;
}

/* Links that flap ------------------------------------------------------------------------------ */

/* How often the link of the row went down within the time that counts. */
static uint32_t count_down(const struct osr_drains *drains, const struct row *row, double now)
{
	uint32_t n = row->n_down < MAX_TIMES ? row->n_down : MAX_TIMES, n_down = 0;

	for (uint32_t k = 0; k < n; k++)
		n_down += now - row->down[k] <= drains->hold.within;
	return n_down;
}

/* Holds the link down if it went down too often. Links without a row never went down. */
static void link_came_up(struct osr_drains *drains, const struct osr_drains_look *look,
			 const struct osr_part *link)
{
	struct row held = { .part = *link, .held = true };
	struct row *row = row_of(drains, link);

	if (!row)
		return;
	row->last = look->now;
	if (row->held || count_down(drains, row, look->now) < drains->hold.after)
		return;
	name_part(look->fabric, osr_fabric_switch_by_guid(look->fabric, link->guid), &held);
	if (!want(drains, &held, NULL))
		look->say(look->ctx, OSR_DRAIN_HELD, held.name, "");
}

static enum osr_status look_for_flaps(struct osr_drains *drains, const struct osr_drains_look *look)
{
	const struct osr_fabric *fabric = look->fabric;
	struct osr_part *link = malloc((fabric->n_channels + 1) * sizeof(*link)),
			*seen = drains->seen;
	uint32_t i = 0, j = 0, n = 0;

	if (!link)
		return OSR_NOMEM;
	/*
	 * Links by their end at the switch with the lower GUID, in ascending order: so switches and
	 * channels are numbered.
	 */
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (fabric->chan_src[c] < fabric->chan_dst[c])
			link[n++] = (struct osr_part){ fabric->sw_guid[fabric->chan_src[c]],
						       fabric->chan_port[c] };
	while (seen && (i < drains->n_seen || j < n)) {
		int order;

		if (i == drains->n_seen)
			order = 1;
		else if (j == n)
			order = -1;
		else
			order = compare_parts(&seen[i], &link[j]);
		if (order < 0) {
			struct row *row = make_row(drains, &seen[i]);

			row->down[row->n_down++ % MAX_TIMES] = row->last = look->now;
		} else if (order > 0) {
			link_came_up(drains, look, &link[j]);
		}
		i += order <= 0;
		j += order >= 0;
	}
	free(seen);
	drains->seen = link;
	drains->n_seen = n;
	/* Links that were held before a restart have no history yet: their calm time begins now. */
	for (i = 0; i < drains->n; i++) {
		struct row *row = &drains->row[i];

		if (row->held && row->last < 0)
			row->last = look->now;
		if (!row->held || look->now - row->last < drains->hold.calm)
			continue;
		row->n_down = 0;
		row->held = false;
		drains->version++;
		look->say(look->ctx, OSR_DRAIN_CALM, row->name, "");
	}
	return OSR_OK;
}

/* Sweeps --------------------------------------------------------------------------------------- */

/*
 * Parts to be left out, in the order in which they are tried: earlier parts stay out rather than
 * later ones.
 */
struct choosing {
	const struct osr_drains_look *look;
	struct cutting cut;
	struct row *wish[MAX_PARTS];
	uint32_t n;
};

/*
 * Applies each wish from first to end that cuts no host off together with the earlier ones. Leaving
 * out more never cuts off less, so halves are tried where all together cut hosts off.
 */
static void choose_some(struct choosing *choosing, uint32_t first, uint32_t end)
{
	uint32_t middle = first + (end - first) / 2, cut, n = 0;
	struct row *row = choosing->wish[first];
	char name[32];

	osr_invariant(first < end && end <= choosing->n);
	/* Are hosts cut off without the applied parts and these? */
	for (uint32_t i = 0; i < choosing->n; i++) {
		choosing->wish[i]->applied |= i >= first && i < end;
		if (choosing->wish[i]->applied)
			choosing->cut.part[n++] = choosing->wish[i]->part;
	}
	if (!count_cut(&choosing->cut, n, &cut))
		return;
	for (uint32_t i = first; i < end; i++)
		choosing->wish[i]->applied = false;
	if (end - first > 1) {
		choose_some(choosing, first, middle);
		choose_some(choosing, middle, end);
		return;
	}
	/* It stays in use. */
	if (row->state != OSR_DRAIN_SUSPENDED)
		choosing->look->say(choosing->look->ctx, OSR_DRAIN_KEPT, row->name,
				    osr_switch_name(choosing->cut.fabric, cut, name));
	row->state = OSR_DRAIN_SUSPENDED;
	row->is_new = false;
}

enum osr_status osr_drains_watch(struct osr_drains *drains, const struct osr_drains_look *look,
				 struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct choosing choosing = { .look = look };
	enum osr_status st = OSR_OK;

	pthread_mutex_lock(&drains->mutex);
	drains->sm_port = look->sm_port;
	if (drains->hold.after)
		st = look_for_flaps(drains, look);
	if (!st)
		st = cutting_begin(drains, look->fabric, scratch, &choosing.cut, NULL);
	if (!st) {
		/*
		 * Drained parts before held ones; within both, parts that are left out already
		 * first.
		 */
		for (unsigned turn = 0; turn < 4; turn++)
			for (uint32_t i = 0; i < drains->n; i++)
				if (is_wanted(&drains->row[i]) &&
				    drains->row[i].drained == (turn < 2) &&
				    drains->row[i].applied == !(turn & 1))
					choosing.wish[choosing.n++] = &drains->row[i];
		for (uint32_t i = 0; i < drains->n; i++)
			drains->row[i].applied = false;
		if (choosing.n)
			choose_some(&choosing, 0, choosing.n);
		drains->n_out = 0;
		for (uint32_t i = 0; i < drains->n; i++)
			if (drains->row[i].applied)
				drains->out[drains->n_out++] = drains->row[i].part;
		osr_invariant(drains->n_out <= choosing.n);
		drains->taken = drains->version;
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
		if (drains->row[i].applied) {
			drains->row[i].state = OSR_DRAIN_OUT;
			drains->row[i].is_new = false;
		}
	osr_invariant(drains->done <= drains->taken && drains->taken <= drains->version);
	drains->done = drains->taken;
	pthread_mutex_unlock(&drains->mutex);
}
