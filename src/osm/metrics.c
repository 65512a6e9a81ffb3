/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A sweep is one tree, metrics->sweep; numbers of it, rows of list_numbers(), have a text of help
 * beside it. The log has its line, the JSON file and the socket add what happens beside sweeps, and
 * Prometheus's text lists what has a help. The files are replaced whole (file.h); Prometheus's
 * collector looks at *.prom only, and the new file is not called that until it is complete.
 */
#include "metrics.h"

#include "confirm.h"
#include "history.h"
#include "keys.h"
#include "upkeep.h"
#include "file.h"

#include <complib/cl_timer.h>
#include <opensm/osm_helper.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAST_S 2     /* for the last files when opensm ends */
#define LOOK_MS 1000 /* at whether this is still the master */
#define SLOW_MS 1500 /* of writing, before it is said */

struct metrics {
	pthread_mutex_t mutex;     /* of all that follows: OpenSM's thread of timers looks, too */
	cl_timer_t timer;          /* until the next look at whether this is still the master */
	bool pending;              /* not written yet */
	const char *not_master;    /* when the files were written last */
	bool confirmed, looks;     /* the same; the timer runs */
	json_t *sweep;             /* the tree; NULL: none yet, or no memory */
	json_t *sweeps;            /* {engine: {outcome: how often}} */
	json_t *help;              /* {"GROUP_NAME": text} of its numbers */
	struct osr_writer *writer; /* NULL: nothing was written yet */
	bool slow;                 /* the files are written slowly, and that has been said */
};

static const char *const outcome_names[N_OUTCOMES] = {
	[OUTCOME_ROUTED] = "routed",
	[OUTCOME_REUSED] = "reused",
	[OUTCOME_KEYS] = "keys",
	[OUTCOME_CACHED] = "cached",
	[OUTCOME_CACHED_HOSTS] = "cached_hosts",
	[OUTCOME_CACHE_BAD] = "cache_refused",
	[OUTCOME_FAILED] = "failed",
	[OUTCOME_REFUSED] = "refused",
};

static const struct {
	uint32_t claim;
	const char *name;
} claims[] = {
	{ OSR_CLAIM_MINIMAL, "minimal" },       { OSR_CLAIM_DEADLOCK_FREE, "deadlock_free" },
	{ OSR_CLAIM_REVERSIBLE, "reversible" }, { OSR_CLAIM_ANY_SL, "any_sl" },
	{ OSR_CLAIM_MULTICAST, "multicast" },
};

#define N_CLAIMS (sizeof(claims) / sizeof(*claims))

/* The last sweep ------------------------------------------------------------------------------- */

static json_t *number_json(double value)
{
	return value == (double)(json_int_t)value ? json_integer((json_int_t)value)
						  : json_real(value);
}

struct number {
	const char *name; /* GROUP_NAME */
	double value;
	const char *help;
};

static void add_number(struct metrics *metrics, const struct number *number)
{
	const char *name = strchr(number->name, '_') + 1;
	char group[16];

	snprintf(group, sizeof(group), "%.*s", (int)(name - 1 - number->name), number->name);
	if (!json_object_get(metrics->sweep, group))
		json_object_set_new(metrics->sweep, group, json_object());
	json_object_set_new(json_object_get(metrics->sweep, group), name,
			    number_json(number->value));
	if (!json_object_get(metrics->help, number->name))
		json_object_set_new(metrics->help, number->name, json_string(number->help));
}

/* Where hosts have several LIDs. */
static void list_lids(const struct sweep *sweep, struct metrics *metrics)
{
	const struct osr_verdict *verdict = &sweep->slot->verdict;
	const struct osr_split *split = &sweep->slot->split;
	const struct number numbers[] = {
		{ "load_efi_all", verdict->efi_all,
		  "Routes to all LIDs on the most loaded channel." },
		{ "load_efi_all_bound", sweep->efi_all_bound,
		  "No routing has less to all LIDs, scaled by link speed." },
		{ "split_lids", split->n_lids, "LIDs of a host, at most." },
		{ "split_first", split->first / 1e6,
		  "Effective bisection bandwidth, share of a link, to the first LID of each "
		  "host." },
		{ "split_two", split->two / 1e6,
		  "The same with flows split evenly over the first two LIDs." },
		{ "split_all", split->all / 1e6,
		  "The same with flows split evenly over all LIDs." },
		{ "split_free", split->free / 1e6,
		  "The same if no part of a flow waits for the others." },
		{ "split_one", split->one / 1e6,
		  "The same with each flow to one LID, drawn at random." },
	};

	for (size_t i = 0; split->n_lids && i < sizeof(numbers) / sizeof(*numbers); i++)
		add_number(metrics, &numbers[i]);
}

/*
 * All numbers of a sweep whose tables were checked: in JSON an object of its group, for Prometheus
 * a gauge.
 */
static void list_numbers(const struct sweep *sweep, struct metrics *metrics)
{
	struct osr_drains *list = osr_upkeep_drains(sweep->ctx->plugin);
	const struct osr_drains_state drains =
		list ? osr_drains_state(list) : (struct osr_drains_state){ 0 };
	const struct osr_fabric *fabric = &sweep->slot->result.fabric;
	const struct osr_routing *routing = &sweep->slot->result.routing;
	const struct osr_stable *stable = &routing->stable;
	const struct osr_verdict *verdict = &sweep->slot->verdict;
	const struct number numbers[] = {
		{ "fabric_switches", fabric->n_switches, "Switches routed." },
		{ "fabric_channels", fabric->n_channels, "Directions of cables between switches." },
		{ "fabric_hosts", osr_n_hosts(fabric), "Ports of CAs and routers." },
		{ "fabric_end_ports", fabric->n_terminals,
		  "CA, router and switch ports with a LID." },
		{ "fabric_lids", fabric->n_dests, "LIDs routed to." },
		{ "fabric_parts", fabric->n_components,
		  "Disconnected components; 1 if the fabric is connected." },
		{ "fabric_end_ports_left_out", sweep->snap.n_left_out,
		  "End ports not routed, see OR06." },
		{ "fabric_end_ports_without_lid", sweep->snap.n_no_lid,
		  "End ports that have no LID, see OR23." },
		{ "fabric_ports_unknown", sweep->ctx->plugin->up ? 0 : sweep->snap.n_unknown,
		  "Switch ports that are up and lead to nothing that OpenSM knows, see OR24." },
		{ "fabric_links_unhealthy", sweep->snap.n_unhealthy,
		  "Cables left out as unhealthy." },
		{ "fabric_links_throttled", sweep->snap.n_throttled,
		  "Cables left out as throttled." },
		{ "fabric_drained", drains.n_drained, "Switches and cables that are drained." },
		{ "fabric_links_held_down", drains.n_held, "Links held down because they flap." },
		{ "vls_used", routing->n_vls, "Virtual lanes that carry routes." },
		{ "vls_available", sweep->snap.limit.vls, "Virtual lanes that could be used." },
		{ "vls_needed", routing->n_layers, "Virtual lanes needed to cut all cycles." },
		{ "vls_needed_one_way", routing->n_layers_one_way,
		  "The same without replies on the request's SL." },
		{ "load_efi", verdict->efi,
		  "Edge forwarding index: routes to first LIDs on the most loaded channel." },
		{ "load_efi_average", verdict->efi_mean, "Routes on a channel, on average." },
		{ "load_efi_over_average",
		  verdict->efi_mean > 0 ? verdict->efi / verdict->efi_mean : 1,
		  "Edge forwarding index over the average." },
		{ "load_efi_per_capacity", verdict->efi_per_capacity,
		  "Largest routes * fastest rate / own rate." },
		{ "load_efi_bound", sweep->efi_bound,
		  "No routing has less, scaled by link speed." },
		{ "load_efi_over_bound",
		  sweep->efi_bound > 0 ? verdict->efi_per_capacity / sweep->efi_bound : 1,
		  "The largest, scaled by link speed, over the least possible." },
		{ "routes_all", verdict->n_routes, "Pairs of switch and LID with a route." },
		{ "routes_unreachable", verdict->n_no_path,
		  "Pairs of switch and LID without a route." },
		{ "routes_longer", verdict->n_longer, "Routes longer than minimal." },
		{ "routes_max_hops", verdict->max_hops, "Channels of the longest route." },
		{ "lft_entries", sweep->n_entries, "Entries of all forwarding tables." },
		{ "lft_entries_changed", sweep->n_changed, "Of these, changed by the last sweep." },
		{ "stable_kept", stable->kept, "1 if the previous tables were repaired." },
		{ "stable_together", osr_transition_is_free(sweep),
		  "1 if old and new tables mixed are proven deadlock-free." },
		{ "stable_withdrawn", sweep->in_rounds ? stable->n_withdrawn : 0,
		  "LFT entries withdrawn in a first round; 0: one round." },
		{ "stable_withdrawn_whole", sweep->in_rounds ? stable->n_withdrawn_whole : 0,
		  "Of these, entries that still led to their LID." },
		{ "stable_channels_lost", stable->n_channels_lost,
		  "Channels lost since the last full route." },
		{ "stable_channels_added", stable->n_channels_new,
		  "Channels added since the last full route." },
		{ "stable_lids_repaired", stable->n_trees,
		  "LIDs re-routed since the last full route." },
		{ "stable_sls_changed", stable->n_sl_changed,
		  "Pairs whose SL the last sweep changed." },
		{ "stable_sls_lost", stable->n_sl_lost,
		  "Pairs that may still use an SL that is no longer proven." },
		{ "sl2vl_sent", 0, "MADs with SL2VL tables by port pair in the last sweep." },
		{ "stable_drift", stable->drift / 1e3,
		  "Load of the busiest link over that of the last full route." },
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		add_number(metrics, &numbers[i]);
	list_lids(sweep, metrics);
}

/* Members of "refused", which confirm.c counts. */
static const char *const refused_help[][2] = {
	{ "refused_nodes", "Nodes that do not hold the tables that they were sent, see OR19." },
	{ "refused_lft_blocks", "LFT blocks that switches do not hold." },
	{ "refused_mft_blocks", "Blocks of multicast tables that switches do not hold." },
	{ "refused_sl2vl_tables", "SL2VL tables that switches and end ports do not hold." },
	{ "refused_vlarb_blocks", "VL arbitration blocks that ports do not hold." },
};

/*
 * Nothing that a sweep has proven holds of tables that a switch has not taken: text says so, NULL
 * if all are taken.
 */
static void withhold(const char *text, json_t *sweep)
{
	json_t *check = json_object_get(sweep, "check");
	json_t *transition = json_object_get(json_object_get(sweep, "tables"), "transition");

	if (!text || !json_is_true(json_object_get(check, "passed")))
		return;
	json_object_set_new(check, "proven", json_array());
	json_object_set_new(check, "text", json_string(text));
	json_object_set_new(transition, "answer", json_string("not checked"));
	json_object_set_new(transition, "why", json_string(text));
}

/* In which order the tables go out. */
static const char *sent_text(const struct sweep *sweep)
{
	const struct osr_routing *routing = &sweep->slot->result.routing;

	if (sweep->in_rounds)
		return "in two rounds";
	if (routing->stable.transition != OSR_TRANSITION_LOOP &&
	    routing->stable.transition != OSR_TRANSITION_ROUNDS)
		return "in one round";
	return osr_routing_in_rounds(routing)
		       ? "in one round: OpenSM sends some switches all their blocks, or "
			 "what they have is not known"
		       : "in one round: two would be no better";
}

/*
 * Adds the members of a tree that is not needed any more. NULL: no memory, as is an object that
 * lacks some.
 */
static void add_members(json_t **object, json_t *members)
{
	if (json_object_update(*object, members)) {
		json_decref(*object);
		*object = NULL;
	}
	json_decref(members);
}

/* Which plugin reports. */
static json_t *head_json(const struct plugin *plugin)
{
	char port[24];

	snprintf(port, sizeof(port), "0x%016" PRIx64, cl_ntoh64(plugin->osm->subn.sm_port_guid));
	return json_pack("{s:s, s:s, s:s}", "osmroutes", OSR_VERSION, "opensm", OSM_VERSION,
			 "sm_port", port);
}

/*
 * The outcome of a sweep, in words and milliseconds: metrics->sweep, with its numbers if its tables
 * were checked.
 */
static void note_sweep(const struct sweep *sweep, enum outcome outcome, struct metrics *metrics)
{
	bool routed =
		outcome == OUTCOME_ROUTED || outcome == OUTCOME_REUSED || outcome == OUTCOME_KEYS;
	bool checked = routed || outcome == OUTCOME_CACHED || outcome == OUTCOME_CACHED_HOSTS;
	bool made = routed && !sweep->keys_only;
	const struct osr_routing *routing = &sweep->slot->result.routing;
	const struct osr_stable *stable = &routing->stable;
	json_t *proven = json_array();
	char text[200] = "", digest[24];

	for (size_t i = 0; checked && i < N_CLAIMS; i++)
		if (sweep->slot->verdict.proven & claims[i].claim)
			json_array_append_new(proven, json_string(claims[i].name));
	if (checked)
		osr_proven_text(sweep, text, sizeof(text));
	metrics->sweep = head_json(sweep->ctx->plugin);
	add_members(&metrics->sweep,
		    json_pack("{s:I, s:s, s:s, s:s, s:{s:b, s:o, s:s}}", "time",
			      (json_int_t)time(NULL), "engine", sweep->ctx->engine->name, "outcome",
			      outcome_names[outcome], "message", sweep->diag.text, "check",
			      "passed", checked, "proven", proven, "text", text));
	/* Tables that OpenSM had sent were checked, and no more. */
	add_members(
		&metrics->sweep,
		json_pack("{s:{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}}", "ms", "total",
			  osr_sweep_clock_ms() - sweep->ms_start, "snapshot",
			  routed ? sweep->ms_snapshot - sweep->ms_start : 0, "route",
			  routed ? sweep->ms_route - sweep->ms_snapshot : 0, "paths",
			  made ? routing->ms_spf : 0, "layers", made ? routing->ms_layers : 0,
			  "transition", checked ? sweep->ms_transition : 0, "check",
			  checked ? sweep->ms_check - (routed ? sweep->ms_route : sweep->ms_start)
				  : 0,
			  "publish", routed ? sweep->ms_publish - sweep->ms_check : 0));
	if (!checked)
		return;
	/* How these tables came about, and whether they mix well with those before. */
	snprintf(digest, sizeof(digest), "%016" PRIx64, sweep->slot->digest);
	add_members(
		&metrics->sweep,
		json_pack("{s:s, s:{s:s?, s:s?, s:s, s:s, s:s, s:{s:s, s:s, s:b, s:b, s:b, "
			  "s:s}}}",
			  "digest", digest, "tables", "engine", routing->chosen, "strategy",
			  routing->strategy, "note", routing->note ? routing->note : "", "re_route",
			  stable->kept     ? "incremental"
			  : stable->why[0] ? "full"
					   : "none",
			  "why_full", stable->why, "transition", "answer",
			  osr_transition_answer(sweep), "why", stable->transition_why, "multicast",
			  stable->transition_mcast, "earlier_trees", stable->transition_order,
			  "two_rounds", sweep->in_rounds, "sent", sent_text(sweep)));
	list_numbers(sweep, metrics);
}

void osr_metrics_set(struct plugin *plugin, const char *group, const char *name, double value)
{
	pthread_mutex_lock(&plugin->metrics->mutex);
	json_object_set_new(json_object_get(plugin->metrics->sweep, group), name,
			    number_json(value));
	pthread_mutex_unlock(&plugin->metrics->mutex);
}

/* Views of it ---------------------------------------------------------------------------------- */

/* The engine that routes now. Engines of plugins have types without a name: those are ours. */
static const char *engine_in_use(const struct plugin *plugin)
{
	const struct osm_routing_engine *re = plugin->osm->routing_engine_used;
	const struct engine_ctx *ctx = osr_ctx_of(plugin, re);

	return ctx ? ctx->engine->name : re ? osm_routing_engine_type_str(re->type) : "";
}

/* Sweeps of an engine that OpenSM lists, perhaps under two names. */
static json_t *count_sweeps(const struct plugin *plugin)
{
	json_t *sweeps = json_object();

	for (const struct engine_ctx *ctx = plugin->contexts; ctx; ctx = ctx->next) {
		json_t *counts = json_object_get(sweeps, ctx->engine->name);

		if (!counts) {
			json_object_set_new(sweeps, ctx->engine->name, json_object());
			counts = json_object_get(sweeps, ctx->engine->name);
		}
		for (int i = 0; i < N_OUTCOMES; i++)
			json_object_set_new(counts, outcome_names[i],
					    json_integer(json_integer_value(json_object_get(
								 counts, outcome_names[i])) +
							 (json_int_t)ctx->n_sweeps[i]));
	}
	return sweeps;
}

/* The last sweep, with events beside sweeps, for another thread to keep; NULL: no memory. */
static json_t *metrics_root(const struct plugin *plugin)
{
	struct metrics *metrics = plugin->metrics;
	json_t *root = metrics->sweep ? json_deep_copy(metrics->sweep) : head_json(plugin);

	withhold(osr_confirm_text(plugin), root);
	json_object_set_new(root, "refused", osr_confirm_json(plugin));
	json_decref(metrics->sweeps);
	metrics->sweeps = count_sweeps(plugin);
	add_members(&root, json_pack("{s:s, s:s, s:b, s:I, s:o, s:O}", "state",
				     osm_get_sm_mgr_state_str(plugin->osm->subn.sm_state),
				     "routed_by", engine_in_use(plugin), "ours",
				     osr_ctx_of(plugin, plugin->osm->routing_engine_used) != NULL,
				     "since", (json_int_t)plugin->router_since, "warnings",
				     osr_warnings(plugin), "sweeps", metrics->sweeps));
	return root;
}

/* Of a subnet manager that is not the master: its tables are not in use. From any thread. */
static json_t *standby_root(const struct plugin *plugin)
{
	const struct metrics *metrics = plugin->metrics;
	const char *engine = json_string_value(json_object_get(metrics->sweep, "engine"));
	json_t *root = head_json(plugin);

	add_members(&root,
		    json_pack("{s:s, s:s, s:s, s:b, s:o, s:O*}", "state", metrics->not_master,
			      "engine", engine ? engine : "", "routed_by", "", "ours", 0,
			      "warnings", osr_warnings(plugin), "sweeps", metrics->sweeps));
	return root;
}

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP osmroutes_%s %s\n# TYPE osmroutes_%s %s\n", name, help, name, type);
}

static void gauge(FILE *out, const char *labels, const char *name, double value, const char *help)
{
	head(out, name, "gauge", help);
	fprintf(out, "osmroutes_%s{%s} %.12g\n", name, labels, value);
}

/* Prometheus's text format. */
static void print_prom(const json_t *root, const json_t *help, FILE *out)
{
	json_t *check = json_object_get(root, "check"), *members, *member;
	bool passed = json_is_true(json_object_get(check, "passed"));
	const char *group, *name, *version, *opensm, *routed_by, *port, *engine;
	char labels[128], full[64];
	size_t at;

	if (json_unpack((json_t *)root, "{s:s, s:s, s:s, s:s, s:s}", "osmroutes", &version,
			"opensm", &opensm, "routed_by", &routed_by, "sm_port", &port, "engine",
			&engine))
		return;
	snprintf(labels, sizeof(labels), "sm_port=\"%s\",engine=\"%.60s\"", port, engine);
	head(out, "info", "gauge", "Versions, and the engine that routes now.");
	fprintf(out, "osmroutes_info{%s,version=\"%s\",opensm=\"%s\",routed_by=\"%s\"} 1\n", labels,
		version, opensm, routed_by);
	gauge(out, labels, "master", check != NULL,
	      "1 if this subnet manager is the master, else 0.");
	if (json_object_size(json_object_get(root, "sweeps")))
		head(out, "sweeps_total", "counter", "Sweeps by outcome, since OpenSM started.");
	json_object_foreach(json_object_get(root, "sweeps"), group, members)
		json_object_foreach(members, name, member)
			fprintf(out,
				"osmroutes_sweeps_total{sm_port=\"%s\",engine=\"%s\","
				"outcome=\"%s\"} %" JSON_INTEGER_FORMAT "\n",
				port, group, name, json_integer_value(member));
	if (!check)
		return;
	gauge(out, labels, "last_sweep_timestamp_seconds",
	      json_number_value(json_object_get(root, "time")), "When the last sweep was over.");
	gauge(out, labels, "check_passed", passed,
	      "1 if the tables of the last sweep passed the check.");
	head(out, "sweep_duration_seconds", "gauge", "Time of the last sweep by phase.");
	json_object_foreach(json_object_get(root, "ms"), name, member)
		fprintf(out, "osmroutes_sweep_duration_seconds{%s,phase=\"%s\"} %.9g\n", labels,
			name, json_real_value(member) * 1e-3);
	if (passed)
		head(out, "proven", "gauge",
		     "1 for what the check has proven of the tables, else 0.");
	for (size_t i = 0; passed && i < N_CLAIMS; i++) {
		int is = 0;

		json_array_foreach(json_object_get(check, "proven"), at, member) is |=
			!strcmp(json_string_value(member), claims[i].name);
		fprintf(out, "osmroutes_proven{%s,claim=\"%s\"} %d\n", labels, claims[i].name, is);
	}
	json_object_foreach((json_t *)root, group, members)
		json_object_foreach(members, name, member)
	{
		json_t *text;

		snprintf(full, sizeof(full), "%s_%s", group, name);
		text = json_object_get(help, full);
		if (text)
			gauge(out, labels, full, json_number_value(member),
			      json_string_value(text));
	}
}

/* The files ------------------------------------------------------------------------------------ */

/* Once, not at every sweep. */
static void metrics_written(void *context, const struct osr_written *what)
{
	struct osm_opensm *osm = context;

	if (what->wrong)
		osr_log(osm, OSM_LOG_ERROR, "ERR OR12: cannot write metrics: %s", what->wrong);
}

/* The views of `root` as pages. */
static bool add_pages(const struct plugin *plugin, const json_t *root, struct osr_pages *pages)
{
	static const char *const extensions[] = { "json", "prom" };

	for (bool prom = false; root; prom = true) {
		struct osr_page *page = &pages->page[pages->n++];
		char *text = NULL, *bytes = NULL;
		FILE *out = open_memstream(&text, &page->size);
		bool good = out;

		if (out && prom)
			print_prom(root, plugin->metrics->help, out);
		else if (out)
			good = !json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) &&
			       fputc('\n', out) != EOF;
		good &= out && !fclose(out) && page->size;
		if (good)
			bytes = osr_alloc(&pages->memory, page->size + 1, 1);
		if (bytes)
			memcpy(bytes, text, page->size + 1);
		free(text);
		snprintf(page->name, sizeof(page->name), "osmroutes-%016" PRIx64 ".%s",
			 cl_ntoh64(plugin->osm->subn.sm_port_guid), extensions[prom]);
		page->bytes = bytes;
		if (!bytes || prom)
			return bytes;
	}
	return false;
}

static void metrics_write(struct plugin *plugin)
{
	const struct osr_place place = {
		.dir = plugin->options.own.str[plugin->options.own.num[OPT_METRICS_DIR]],
		.mode = 0644
	};
	struct osr_pages pages = { .n = 0 };
	struct metrics *metrics = plugin->metrics;
	json_t *root;
	bool slow, good;

	if (!metrics->pending)
		return;
	metrics->pending = false;
	if (!*place.dir)
		return;
	if (!metrics->writer)
		metrics->writer = osr_writer_new(&place, metrics_written, plugin->osm);
	metrics->not_master = osr_not_master(plugin);
	metrics->confirmed = osr_confirmed(plugin);
	root = metrics->not_master ? standby_root(plugin) : metrics_root(plugin);
	good = metrics->writer && add_pages(plugin, root, &pages);
	json_decref(root);
	if (!good) {
		osr_arena_free(&pages.memory);
		osr_log(plugin->osm, OSM_LOG_ERROR,
			"ERR OR12: cannot write metrics: out of memory");
		return;
	}
	osr_writer_give(metrics->writer, &pages);
	/* A busy machine is no reason to complain. */
	slow = osr_writer_busy(metrics->writer) > SLOW_MS;
	if (slow && !metrics->slow)
		osr_log(plugin->osm, OSM_LOG_ERROR,
			"ERR OR12: cannot write metrics: those of an earlier sweep are still "
			"being written to %s",
			place.dir);
	metrics->slow = slow;
}

void osr_metrics_note(const struct sweep *sweep, enum outcome outcome)
{
	struct plugin *plugin = sweep->ctx->plugin;
	osm_log_level_t level = osr_log_details(plugin);
	struct metrics *metrics = plugin->metrics;
	char *text = NULL;
	json_t *shown;

	pthread_mutex_lock(&metrics->mutex);
	sweep->ctx->n_sweeps[outcome]++;
	json_decref(metrics->sweep);
	note_sweep(sweep, outcome, metrics);
	osr_history_note(
		sweep, outcome_names[outcome],
		json_is_true(json_object_get(json_object_get(metrics->sweep, "check"), "passed")));
	metrics->pending = true;
	/* In the log: neither which engine routes, nor how often, is known yet. */
	if (osm_log_is_active(&plugin->osm->log, level) && metrics->sweep) {
		shown = json_deep_copy(metrics->sweep);
		withhold(osr_confirm_doubt(plugin), shown);
		text = json_dumps(shown, JSON_COMPACT | JSON_REAL_PRECISION(9));
		json_decref(shown);
	}
	if (text)
		osr_log(plugin->osm, level, "sweep: %s", text);
	free(text);
	if (!json_is_true(json_object_get(json_object_get(metrics->sweep, "check"), "passed"))) {
		metrics_write(plugin); /* now: if no engine routes, no later step writes them */
		metrics->pending = true;
	}
	pthread_mutex_unlock(&metrics->mutex);
}

/* For the socket, and once more for the files if they are not true any more. */
static void metrics_over(struct plugin *plugin)
{
	struct metrics *metrics = plugin->metrics;
	json_t *root;

	pthread_mutex_lock(&metrics->mutex);
	metrics->pending |= metrics->sweep &&
			    (metrics->confirmed != osr_confirmed(plugin) || metrics->not_master);
	metrics_write(plugin);
	if (plugin->keys) {
		root = metrics_root(plugin);
		add_members(&root, json_pack("{s:o}", "history", osr_history_json(plugin)));
		osr_keys_tell(plugin, root);
	}
	pthread_mutex_unlock(&metrics->mutex);
}

/* No event of OpenSM tells that it hands the fabric over. */
static void metrics_look(void *context)
{
	struct plugin *plugin = context;
	struct metrics *metrics = plugin->metrics;

	pthread_mutex_lock(&metrics->mutex);
	metrics->pending |= osr_on_standby(plugin) && !metrics->not_master;
	if (osr_on_standby(plugin))
		metrics_write(plugin);
	pthread_mutex_unlock(&metrics->mutex);
	cl_timer_start(&metrics->timer, LOOK_MS);
}

/* Not earlier: OpenSM may fork while it starts. */
static void metrics_begin(struct plugin *plugin)
{
	if (!plugin->metrics->looks &&
	    *plugin->options.own.str[plugin->options.own.num[OPT_METRICS_DIR]])
		cl_timer_start(&plugin->metrics->timer, LOOK_MS);
	plugin->metrics->looks = true;
}

/*
 * Which engine routes now; one of OpenSM's own is said in the log, once. Then files and control
 * socket.
 */
static void metrics_sent(struct plugin *plugin)
{
	const struct osm_routing_engine *re = plugin->osm->routing_engine_used;
	const char *name = engine_in_use(plugin),
		   *list = plugin->osm->subn.opt.routing_engine_names;
	bool is_new = !plugin->router_since || plugin->router != re;

	if (is_new) {
		plugin->router = re;
		plugin->router_since = time(NULL);
	}
	if (is_new && !osr_ctx_of(plugin, re))
		osr_log(plugin->osm, OSM_LOG_INFO, "loaded, but routes nothing: %s%s%s%s%s",
			re ? "OpenSM's " : "", re ? name : "neither does OpenSM",
			re ? " routes" : "",
			plugin->contexts ? "" : "; osmroutes serves no engine of routing_engine ",
			plugin->contexts ? ""
			: list           ? list
					 : "(none)");
	metrics_over(plugin);
}

static bool metrics_open(struct plugin *plugin)
{
	cl_timer_construct(&plugin->metrics->timer);
	pthread_mutex_init(&plugin->metrics->mutex, NULL);
	plugin->metrics->help = json_object();
	for (size_t i = 0; i < sizeof(refused_help) / sizeof(*refused_help); i++)
		json_object_set_new(plugin->metrics->help, refused_help[i][0],
				    json_string(refused_help[i][1]));
	return cl_timer_init(&plugin->metrics->timer, metrics_look, plugin) == CL_SUCCESS;
}

static void metrics_close(struct plugin *plugin)
{
	cl_timer_destroy(&plugin->metrics->timer);
	osr_writer_end(plugin->metrics->writer, LAST_S);
	json_decref(plugin->metrics->sweep);
	json_decref(plugin->metrics->sweeps);
	json_decref(plugin->metrics->help);
}

const struct feature osr_metrics = {
	.size = sizeof(struct metrics),
	.state = offsetof(struct plugin, metrics),
	.open = metrics_open,
	.on = { [ON_SWEEP_BEGINS] = metrics_begin,
		[ON_TABLES_SENT] = metrics_sent,
		[ON_SWEEP_OVER] = metrics_over,
		[ON_CLOSE] = metrics_close },
};
