/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A sweep is one tree, m->sweep; numbers of it, rows of list_numbers(), have a text of help beside it. The log has its
 * line, the JSON file and the socket add what happens beside sweeps, and Prometheus's text lists what has a help. The files
 * are replaced whole (file.h); Prometheus's collector looks at *.prom only, and the new file is not called that until
 * it is complete.
 */
#include "metrics.h"

#include "confirm.h"
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
	pthread_mutex_t mutex;      /* of all that follows: OpenSM's thread of timers looks, too */
	cl_timer_t timer;           /* until the next look at whether this is still the master */
	bool pending;               /* not written yet */
	const char *not_master;     /* when the files were written last */
	bool confirmed, looks;      /* the same; the timer runs */
	json_t *sweep;              /* the tree; NULL: none yet, or no memory */
	json_t *sweeps;             /* {engine: {outcome: how often}} */
	json_t *help;               /* {"GROUP_NAME": text} of its numbers */
	struct osr__writer *writer; /* NULL: nothing was written yet */
	bool slow;                  /* the files are written slowly, and that has been said */
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

static void add_number(struct metrics *m, const struct number *number)
{
	const char *name = strchr(number->name, '_') + 1;
	char group[16];

	snprintf(group, sizeof(group), "%.*s", (int)(name - 1 - number->name), number->name);
	if (!json_object_get(m->sweep, group))
		json_object_set_new(m->sweep, group, json_object());
	json_object_set_new(json_object_get(m->sweep, group), name, number_json(number->value));
	if (!json_object_get(m->help, number->name))
		json_object_set_new(m->help, number->name, json_string(number->help));
}

/* Where hosts have several LIDs. */
static void list_lids(const struct sweep *w, struct metrics *m)
{
	const struct osr_verdict *v = &w->slot->verdict;
	const struct osr_split *split = &w->slot->split;
	const struct number numbers[] = {
		{ "load_efi_all", v->efi_all, "Routes to all LIDs on the most loaded channel." },
		{ "load_efi_all_bound", w->efi_all_bound,
		  "No routing has fewer routes to all LIDs on its most loaded channel." },
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
		add_number(m, &numbers[i]);
}

/* All numbers of a sweep whose tables were checked: in JSON an object of its group, for Prometheus a gauge. */
static void list_numbers(const struct sweep *w, struct metrics *m)
{
	struct osr_drains *list = osr__upkeep_drains(w->ctx->plugin);
	const struct osr_drains_state drains =
		list ? osr_drains_state(list) : (struct osr_drains_state){ 0 };
	const struct osr_fabric *fabric = &w->slot->result.fabric;
	const struct osr_routing *routing = &w->slot->result.routing;
	const struct osr_stable *stable = &routing->stable;
	const struct osr_verdict *v = &w->slot->verdict;
	const struct number numbers[] = {
		{ "fabric_switches", fabric->n_switches, "Switches routed." },
		{ "fabric_channels", fabric->n_channels, "Directions of cables between switches." },
		{ "fabric_hosts", osr__n_hosts(fabric), "Ports of CAs and routers." },
		{ "fabric_end_ports", fabric->n_terminals,
		  "CA, router and switch ports with a LID." },
		{ "fabric_lids", fabric->n_dests, "LIDs routed to." },
		{ "fabric_parts", fabric->n_components,
		  "Disconnected components; 1 if the fabric is connected." },
		{ "fabric_end_ports_left_out", w->snap.n_left_out,
		  "End ports not routed, see OR06." },
		{ "fabric_end_ports_without_lid", w->snap.n_no_lid,
		  "End ports that have no LID, see OR23." },
		{ "fabric_ports_unknown", w->ctx->plugin->up ? 0 : w->snap.n_unknown,
		  "Ports of switches that are up and lead to nothing that OpenSM knows, see "
		  "OR24." },
		{ "fabric_links_unhealthy", w->snap.n_unhealthy, "Cables left out as unhealthy." },
		{ "fabric_links_throttled", w->snap.n_throttled, "Cables left out as throttled." },
		{ "fabric_drained", drains.n_drained, "Switches and cables that are drained." },
		{ "fabric_links_held_down", drains.n_held, "Links held down because they flap." },
		{ "vls_used", routing->n_vls, "Virtual lanes that carry routes." },
		{ "vls_available", w->snap.limit.vls, "Virtual lanes that could be used." },
		{ "vls_needed", routing->n_layers, "Virtual lanes needed to cut all cycles." },
		{ "vls_needed_one_way", routing->n_layers_one_way,
		  "The same without replies on the request's SL." },
		{ "load_efi", v->efi,
		  "Edge forwarding index: routes to first LIDs on the most loaded channel." },
		{ "load_efi_average", v->efi_mean, "Routes on a channel, on average." },
		{ "load_efi_over_average", v->efi_mean > 0 ? v->efi / v->efi_mean : 1,
		  "Edge forwarding index over the average." },
		{ "load_efi_bound", w->efi_bound, "No routing has a lower edge forwarding index." },
		{ "load_efi_over_bound", w->efi_bound ? (double)v->efi / (double)w->efi_bound : 1,
		  "Edge forwarding index over the least possible." },
		{ "load_efi_per_capacity", v->efi_per_capacity,
		  "Largest routes * fastest rate / own rate." },
		{ "routes_all", v->n_routes, "Pairs of switch and LID with a route." },
		{ "routes_unreachable", v->n_no_path, "Pairs of switch and LID without a route." },
		{ "routes_longer", v->n_longer, "Routes longer than minimal." },
		{ "routes_max_hops", v->max_hops, "Channels of the longest route." },
		{ "lft_entries", w->n_entries, "Entries of all forwarding tables." },
		{ "lft_entries_changed", w->n_changed, "Of these, changed by the last sweep." },
		{ "stable_kept", stable->kept,
		  "1 if the previous tables were re-routed incrementally." },
		{ "stable_together", osr__transition_is_free(w),
		  "1 if old and new tables mixed are proven deadlock-free." },
		{ "stable_withdrawn", w->in_rounds ? stable->n_withdrawn : 0,
		  "LFT entries withdrawn in a first round; 0: one round." },
		{ "stable_withdrawn_whole", w->in_rounds ? stable->n_withdrawn_whole : 0,
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
		add_number(m, &numbers[i]);
	list_lids(w, m);
}

/* Members of "refused", which confirm.c counts. */
static const char *const refused_help[][2] = {
	{ "refused_nodes", "Nodes that do not hold the tables that they were sent, see OR19." },
	{ "refused_lft_blocks", "LFT blocks that switches do not hold." },
	{ "refused_mft_blocks", "Blocks of multicast tables that switches do not hold." },
	{ "refused_sl2vl_tables", "SL2VL tables that switches and end ports do not hold." },
	{ "refused_vlarb_blocks", "VL arbitration blocks that ports do not hold." },
};

/* Nothing that a sweep has proven holds of tables that a switch has not taken: text says so, NULL if all are taken. */
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
static const char *sent_text(const struct sweep *w)
{
	const struct osr_routing *routing = &w->slot->result.routing;

	if (w->in_rounds)
		return "in two rounds";
	if (routing->stable.transition != OSR_TRANSITION_LOOP &&
	    routing->stable.transition != OSR_TRANSITION_ROUNDS)
		return "in one round";
	return osr_routing_in_rounds(routing)
		       ? "in one round: OpenSM sends some switches all their blocks, or "
			 "what they have is not known"
		       : "in one round: two would be no better";
}

/* Adds the members of a tree that is not needed any more. NULL: no memory, as is an object that lacks some. */
static void add_members(json_t **object, json_t *members)
{
	if (json_object_update(*object, members)) {
		json_decref(*object);
		*object = NULL;
	}
	json_decref(members);
}

/* Which plugin reports. */
static json_t *head_json(const struct plugin *p)
{
	char port[24];

	snprintf(port, sizeof(port), "0x%016" PRIx64, cl_ntoh64(p->osm->subn.sm_port_guid));
	return json_pack("{s:s, s:s, s:s}", "osmroutes", OSR_VERSION, "opensm", OSM_VERSION,
			 "sm_port", port);
}

/* What came of a sweep, in words and milliseconds: m->sweep, with its numbers if its tables were checked. */
static void note_sweep(const struct sweep *w, enum outcome outcome, struct metrics *m)
{
	bool routed =
		outcome == OUTCOME_ROUTED || outcome == OUTCOME_REUSED || outcome == OUTCOME_KEYS;
	bool checked = routed || outcome == OUTCOME_CACHED || outcome == OUTCOME_CACHED_HOSTS;
	bool made = routed && !w->keys_only;
	const struct osr_routing *routing = &w->slot->result.routing;
	const struct osr_stable *stable = &routing->stable;
	json_t *proven = json_array();
	char text[200] = "", digest[24];

	for (size_t i = 0; checked && i < N_CLAIMS; i++)
		if (w->slot->verdict.proven & claims[i].claim)
			json_array_append_new(proven, json_string(claims[i].name));
	if (checked)
		osr__proven_text(w, text, sizeof(text));
	m->sweep = head_json(w->ctx->plugin);
	add_members(&m->sweep,
		    json_pack("{s:I, s:s, s:s, s:s, s:{s:b, s:o, s:s}}", "time",
			      (json_int_t)time(NULL), "engine", w->ctx->engine->name, "outcome",
			      outcome_names[outcome], "message", w->diag.text, "check", "passed",
			      checked, "proven", proven, "text", text));
	/* Tables that OpenSM had sent were checked, and no more. */
	add_members(&m->sweep,
		    json_pack("{s:{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}}", "ms", "total",
			      osr__sweep_clock_ms() - w->ms_start, "snapshot",
			      routed ? w->ms_snapshot - w->ms_start : 0, "route",
			      routed ? w->ms_route - w->ms_snapshot : 0, "paths",
			      made ? routing->ms_spf : 0, "layers", made ? routing->ms_layers : 0,
			      "transition", checked ? w->ms_transition : 0, "check",
			      checked ? w->ms_check - (routed ? w->ms_route : w->ms_start) : 0,
			      "publish", routed ? w->ms_publish - w->ms_check : 0));
	if (!checked)
		return;
	/* How these tables came about, and whether they mix well with those before. */
	snprintf(digest, sizeof(digest), "%016" PRIx64, w->slot->digest);
	add_members(&m->sweep,
		    json_pack("{s:s, s:{s:s?, s:s?, s:s, s:s, s:s, s:{s:s, s:s, s:b, s:b, s:b, "
			      "s:s}}}",
			      "digest", digest, "tables", "engine", routing->chosen, "strategy",
			      routing->strategy, "note", routing->note ? routing->note : "",
			      "re_route",
			      stable->kept     ? "incremental"
			      : stable->why[0] ? "full"
					       : "none",
			      "why_full", stable->why, "transition", "answer",
			      osr__transition_answer(w), "why", stable->transition_why, "multicast",
			      stable->transition_mcast, "earlier_trees", stable->transition_order,
			      "two_rounds", w->in_rounds, "sent", sent_text(w)));
	list_numbers(w, m);
}

void osr__metrics_set(struct plugin *p, const char *group, const char *name, double value)
{
	pthread_mutex_lock(&p->metrics->mutex);
	json_object_set_new(json_object_get(p->metrics->sweep, group), name, number_json(value));
	pthread_mutex_unlock(&p->metrics->mutex);
}

/* Views of it ---------------------------------------------------------------------------------- */

/* The engine that routes now. Engines of plugins have types without a name: those are ours. */
static const char *engine_in_use(const struct plugin *p)
{
	const struct osm_routing_engine *re = p->osm->routing_engine_used;
	const struct engine_ctx *ctx = osr__ctx_of(p, re);

	return ctx ? ctx->engine->name : re ? osm_routing_engine_type_str(re->type) : "";
}

/* Sweeps of an engine that OpenSM lists, perhaps under two names. */
static json_t *count_sweeps(const struct plugin *p)
{
	json_t *sweeps = json_object();

	for (const struct engine_ctx *ctx = p->contexts; ctx; ctx = ctx->next) {
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

/* The last sweep, with what happens beside sweeps, for another thread to keep; NULL: no memory. */
static json_t *metrics_root(const struct plugin *p)
{
	struct metrics *m = p->metrics;
	json_t *root = m->sweep ? json_deep_copy(m->sweep) : head_json(p);

	withhold(osr__confirm_text(p), root);
	json_object_set_new(root, "refused", osr__confirm_json(p));
	json_decref(m->sweeps);
	m->sweeps = count_sweeps(p);
	add_members(&root, json_pack("{s:s, s:s, s:b, s:I, s:o, s:O}", "state",
				     osm_get_sm_mgr_state_str(p->osm->subn.sm_state), "routed_by",
				     engine_in_use(p), "ours",
				     osr__ctx_of(p, p->osm->routing_engine_used) != NULL, "since",
				     (json_int_t)p->router_since, "warnings", osr__warnings(p),
				     "sweeps", m->sweeps));
	return root;
}

/* Of a subnet manager that is not the master: its tables are not in use. From any thread. */
static json_t *standby_root(const struct plugin *p)
{
	const struct metrics *m = p->metrics;
	const char *engine = json_string_value(json_object_get(m->sweep, "engine"));
	json_t *root = head_json(p);

	add_members(&root, json_pack("{s:s, s:s, s:s, s:b, s:o, s:O*}", "state", m->not_master,
				     "engine", engine ? engine : "", "routed_by", "", "ours", 0,
				     "warnings", osr__warnings(p), "sweeps", m->sweeps));
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
static void metrics_written(void *context, const struct osr__written *what)
{
	struct osm_opensm *osm = context;

	if (what->wrong)
		osr__log(osm, OSM_LOG_ERROR, "ERR OR12: cannot write metrics: %s", what->wrong);
}

/* The views of `root` as pages. */
static bool add_pages(const struct plugin *p, const json_t *root, struct osr__pages *pages)
{
	static const char *const extensions[] = { "json", "prom" };

	for (bool prom = false; root; prom = true) {
		struct osr__page *page = &pages->page[pages->n++];
		char *text = NULL, *bytes = NULL;
		FILE *out = open_memstream(&text, &page->size);
		bool good = out;

		if (out && prom)
			print_prom(root, p->metrics->help, out);
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
			 cl_ntoh64(p->osm->subn.sm_port_guid), extensions[prom]);
		page->bytes = bytes;
		if (!bytes || prom)
			return bytes;
	}
	return false;
}

static void metrics_write(struct plugin *p)
{
	const struct osr__place place = {
		.dir = p->options.own.str[p->options.own.num[OPT_METRICS_DIR]], .mode = 0644
	};
	struct osr__pages pages = { .n = 0 };
	struct metrics *m = p->metrics;
	json_t *root;
	bool slow, good;

	if (!m->pending)
		return;
	m->pending = false;
	if (!*place.dir)
		return;
	if (!m->writer)
		m->writer = osr__writer_new(&place, metrics_written, p->osm);
	m->not_master = osr__not_master(p);
	m->confirmed = osr__confirmed(p);
	root = m->not_master ? standby_root(p) : metrics_root(p);
	good = m->writer && add_pages(p, root, &pages);
	json_decref(root);
	if (!good) {
		osr_arena_free(&pages.memory);
		osr__log(p->osm, OSM_LOG_ERROR, "ERR OR12: cannot write metrics: out of memory");
		return;
	}
	osr__writer_give(m->writer, &pages);
	/* A busy machine is no reason to complain. */
	slow = osr__writer_busy(m->writer) > SLOW_MS;
	if (slow && !m->slow)
		osr__log(p->osm, OSM_LOG_ERROR,
			 "ERR OR12: cannot write metrics: those of an earlier sweep are still "
			 "being written to %s",
			 place.dir);
	m->slow = slow;
}

void osr__metrics_note(const struct sweep *w, enum outcome outcome)
{
	struct plugin *p = w->ctx->plugin;
	osm_log_level_t level = osr__log_details(p);
	struct metrics *m = p->metrics;
	char *text = NULL;
	json_t *shown;

	pthread_mutex_lock(&m->mutex);
	w->ctx->n_sweeps[outcome]++;
	json_decref(m->sweep);
	note_sweep(w, outcome, m);
	m->pending = true;
	/* In the log: neither which engine routes, nor how often, is known yet. */
	if (osm_log_is_active(&p->osm->log, level) && m->sweep) {
		shown = json_deep_copy(m->sweep);
		withhold(osr__confirm_doubt(p), shown);
		text = json_dumps(shown, JSON_COMPACT | JSON_REAL_PRECISION(9));
		json_decref(shown);
	}
	if (text)
		osr__log(p->osm, level, "sweep: %s", text);
	free(text);
	if (!json_is_true(json_object_get(json_object_get(m->sweep, "check"), "passed"))) {
		metrics_write(p); /* now: if no engine routes, no later step writes them */
		m->pending = true;
	}
	pthread_mutex_unlock(&m->mutex);
}

/* For the socket, and once more for the files if what they say is not true any more. */
static void metrics_over(struct plugin *p)
{
	struct metrics *m = p->metrics;

	pthread_mutex_lock(&m->mutex);
	m->pending |= m->sweep && (m->confirmed != osr__confirmed(p) || m->not_master);
	metrics_write(p);
	if (p->keys)
		osr__keys_tell(p, metrics_root(p));
	pthread_mutex_unlock(&m->mutex);
}

/* No event of OpenSM tells that it hands the fabric over. */
static void metrics_look(void *context)
{
	struct plugin *p = context;
	struct metrics *m = p->metrics;

	pthread_mutex_lock(&m->mutex);
	m->pending |= osr__on_standby(p) && !m->not_master;
	if (osr__on_standby(p))
		metrics_write(p);
	pthread_mutex_unlock(&m->mutex);
	cl_timer_start(&m->timer, LOOK_MS);
}

/* Not earlier: OpenSM may fork while it starts. */
static void metrics_begin(struct plugin *p)
{
	if (!p->metrics->looks && *p->options.own.str[p->options.own.num[OPT_METRICS_DIR]])
		cl_timer_start(&p->metrics->timer, LOOK_MS);
	p->metrics->looks = true;
}

/* Which engine routes now; one of OpenSM's own is said in the log, once. Then files and control socket. */
static void metrics_sent(struct plugin *p)
{
	const struct osm_routing_engine *re = p->osm->routing_engine_used;
	const char *name = engine_in_use(p), *list = p->osm->subn.opt.routing_engine_names;
	bool is_new = !p->router_since || p->router != re;

	if (is_new) {
		p->router = re;
		p->router_since = time(NULL);
	}
	if (is_new && !osr__ctx_of(p, re))
		osr__log(p->osm, OSM_LOG_INFO, "loaded, but routes nothing: %s%s%s%s%s",
			 re ? "OpenSM's " : "", re ? name : "neither does OpenSM",
			 re ? " routes" : "",
			 p->contexts ? "" : "; osmroutes serves no engine of routing_engine ",
			 p->contexts ? ""
			 : list      ? list
				     : "(none)");
	metrics_over(p);
}

static bool metrics_open(struct plugin *p)
{
	cl_timer_construct(&p->metrics->timer);
	pthread_mutex_init(&p->metrics->mutex, NULL);
	p->metrics->help = json_object();
	for (size_t i = 0; i < sizeof(refused_help) / sizeof(*refused_help); i++)
		json_object_set_new(p->metrics->help, refused_help[i][0],
				    json_string(refused_help[i][1]));
	return cl_timer_init(&p->metrics->timer, metrics_look, p) == CL_SUCCESS;
}

static void metrics_close(struct plugin *p)
{
	cl_timer_destroy(&p->metrics->timer);
	osr__writer_end(p->metrics->writer, LAST_S);
	json_decref(p->metrics->sweep);
	json_decref(p->metrics->sweeps);
	json_decref(p->metrics->help);
}

const struct feature osr__metrics = {
	.size = sizeof(struct metrics),
	.state = offsetof(struct plugin, metrics),
	.open = metrics_open,
	.on = { [ON_SWEEP_BEGINS] = metrics_begin,
		[ON_TABLES_SENT] = metrics_sent,
		[ON_SWEEP_OVER] = metrics_over,
		[ON_CLOSE] = metrics_close },
};
