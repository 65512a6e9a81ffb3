/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every number is one row of `numbers[]`, which feeds both files: in JSON an object of its group, for
 * Prometheus a gauge osmroutes_GROUP_NAME. The files are replaced whole (file.h); Prometheus's
 * collector looks at *.prom only, and the new file is not called that until it is complete.
 */
#include "metrics.h"

#include "file.h"
#include "plugin.h"

#include <opensm/osm_helper.h>

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAST_S 2 /* for the last files when opensm ends */

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

struct number {
	const char *group, *name;
	double value;
	const char *help;
};

#define MAX_NUMBERS 48

/* All numbers of a sweep, in list[MAX_NUMBERS]; how many there are. */
static size_t list_numbers(const struct metrics *m, struct number *list)
{
	const struct osr_verdict *v = &m->verdict;
	const struct osr_stable *stable = &m->stable;
	const struct number numbers[] = {
		{ "fabric", "switches", m->n_switches, "Switches routed." },
		{ "fabric", "channels", m->n_channels, "Directions of cables between switches." },
		{ "fabric", "hosts", m->n_hosts, "Ports of CAs and routers." },
		{ "fabric", "end_ports", m->n_terminals,
		  "CA, router and switch ports with a LID." },
		{ "fabric", "lids", m->n_dests, "LIDs routed to." },
		{ "fabric", "parts", m->n_parts,
		  "Disconnected components; 1 if the fabric is connected." },
		{ "fabric", "end_ports_left_out", m->n_left_out,
		  "End ports not routed, see OR06." },
		{ "fabric", "links_unhealthy", m->n_unhealthy, "Cables left out as unhealthy." },
		{ "fabric", "links_throttled", m->n_throttled, "Cables left out as throttled." },
		{ "fabric", "drained", m->n_drained, "Switches and cables that are drained." },
		{ "fabric", "links_held_down", m->n_held, "Links held down because they flap." },
		{ "vls", "used", m->vls, "Virtual lanes that carry routes." },
		{ "vls", "available", m->vls_available, "Virtual lanes that could be used." },
		{ "vls", "needed", m->vls_needed, "Virtual lanes needed to cut all cycles." },
		{ "vls", "needed_one_way", m->vls_one_way,
		  "The same without replies on the request's SL." },
		{ "load", "efi", v->efi,
		  "Edge forwarding index: routes on the most loaded channel." },
		{ "load", "efi_average", v->efi_mean, "Routes on a channel, on average." },
		{ "load", "efi_over_average", v->efi_mean > 0 ? v->efi / v->efi_mean : 1,
		  "Edge forwarding index over the average." },
		{ "load", "efi_bound", m->efi_bound,
		  "No routing has a lower edge forwarding index." },
		{ "load", "efi_over_bound",
		  m->efi_bound ? (double)v->efi / (double)m->efi_bound : 1,
		  "Edge forwarding index over the least possible." },
		{ "load", "efi_per_capacity", v->efi_per_capacity,
		  "Largest routes * fastest rate / own rate." },
		{ "routes", "all", v->n_routes, "Pairs of switch and LID with a route." },
		{ "routes", "unreachable", v->n_no_path,
		  "Pairs of switch and LID without a route." },
		{ "routes", "longer", v->n_longer, "Routes longer than minimal." },
		{ "routes", "max_hops", v->max_hops, "Channels of the longest route." },
		{ "lft", "entries", m->n_entries, "Entries of all forwarding tables." },
		{ "lft", "entries_changed", m->n_changed, "Of these, changed by the last sweep." },
		{ "stable", "kept", stable->kept,
		  "1 if the previous tables were re-routed incrementally." },
		{ "stable", "together", stable->together,
		  "1 if old and new tables mixed are proven deadlock-free." },
		{ "stable", "withdrawn", stable->n_withdrawn,
		  "LFT entries withdrawn in a first round; 0: one round." },
		{ "stable", "channels_lost", stable->n_channels_lost,
		  "Channels lost since the last full route." },
		{ "stable", "lids_repaired", stable->n_trees,
		  "LIDs re-routed since the last full route." },
		{ "stable", "sls_changed", stable->n_sl_changed,
		  "Pairs whose SL the last sweep changed." },
		{ "stable", "sls_lost", stable->n_sl_lost,
		  "Pairs that may still use an SL that is no longer proven." },
		{ "sl2vl", "sent", m->n_slvl_sent,
		  "MADs with SL2VL tables by port pair in the last sweep." },
		{ "sl2vl", "refused", m->n_slvl_refused,
		  "Port pairs of switches whose SL2VL table is not what was sent." },
		{ "stable", "drift", stable->drift / 1e3,
		  "Load of the busiest link over that of the last full route." },
	};

	_Static_assert(sizeof(numbers) <= MAX_NUMBERS * sizeof(*numbers), "MAX_NUMBERS");
	memcpy(list, numbers, sizeof(numbers));
	return sizeof(numbers) / sizeof(*numbers);
}

static const struct {
	const char *name;
	size_t offset;
} phases[] = {
	{ "total", offsetof(struct phases, total) },
	{ "snapshot", offsetof(struct phases, snapshot) },
	{ "route", offsetof(struct phases, route) },
	{ "paths", offsetof(struct phases, paths) },
	{ "layers", offsetof(struct phases, layers) },
	{ "transition", offsetof(struct phases, transition) },
	{ "check", offsetof(struct phases, check) },
	{ "publish", offsetof(struct phases, publish) },
};

#define N_PHASES (sizeof(phases) / sizeof(*phases))

static double phase(const struct metrics *m, size_t i)
{
	double ms;

	memcpy(&ms, (const char *)&m->ms + phases[i].offset, sizeof(ms));
	return ms;
}

/* What is known of the sweep besides struct metrics. */
struct report {
	const struct plugin *plugin;
	const struct metrics *m;
	uint64_t guid;
	const char *routed_by; /* OpenSM's name of the engine in use, "" if none is */
};

/* Sweeps of an engine, which may be listed under two names; false if OpenSM does not list it. */
static bool count_sweeps(const struct plugin *p, const struct osr_engine *engine, uint64_t *n)
{
	bool listed = false;

	memset(n, 0, N_OUTCOMES * sizeof(*n));
	for (const struct engine_ctx *ctx = p->contexts; ctx; ctx = ctx->next) {
		if (ctx->engine != engine)
			continue;
		listed = true;
		for (int i = 0; i < N_OUTCOMES; i++)
			n[i] += ctx->n_sweeps[i];
	}
	return listed;
}

/* JSON ----------------------------------------------------------------------------------------- */

static json_t *numbers_json(json_t *root, const struct metrics *m)
{
	struct number numbers[MAX_NUMBERS];
	size_t n = list_numbers(m, numbers);

	for (size_t i = 0; i < n; i++) {
		json_t *group = json_object_get(root, numbers[i].group);
		double value = numbers[i].value;

		if (!group) {
			group = json_object();
			json_object_set_new(root, numbers[i].group, group);
		}
		json_object_set_new(group, numbers[i].name,
				    value == (double)(json_int_t)value
					    ? json_integer((json_int_t)value)
					    : json_real(value));
	}
	return root;
}

static json_t *check_json(const struct metrics *m)
{
	json_t *proven = json_array();

	for (size_t i = 0; m->checked && i < N_CLAIMS; i++)
		if (m->verdict.proven & claims[i].claim)
			json_array_append_new(proven, json_string(claims[i].name));
	return json_pack("{s:b, s:o, s:s}", "passed", m->checked, "proven", proven, "text",
			 m->proven);
}

static json_t *sweeps_json(const struct plugin *p)
{
	json_t *sweeps = json_object();
	uint64_t n[N_OUTCOMES];

	for (uint32_t e = 0; osr_engines[e]; e++) {
		json_t *counts;

		if (!count_sweeps(p, osr_engines[e], n))
			continue;
		counts = json_object();
		for (int i = 0; i < N_OUTCOMES; i++)
			json_object_set_new(counts, outcome_names[i],
					    json_integer((json_int_t)n[i]));
		json_object_set_new(sweeps, osr_engines[e]->name, counts);
	}
	return sweeps;
}

/* How these tables came about, and whether they mix well with those before. */
static json_t *metrics_tables_json(const struct metrics *m)
{
	const struct osr_stable *stable = &m->stable;

	return json_pack("{s:s?, s:s?, s:s, s:s, s:s, s:{s:s, s:s, s:b, s:b}}", "engine", m->chosen,
			 "strategy", m->strategy, "note", m->note, "re_route",
			 stable->kept     ? "incremental"
			 : stable->why[0] ? "full"
					  : "none",
			 "why_full", stable->why, "transition", "answer",
			 stable->together                               ? "deadlock-free"
			 : stable->transition == OSR_TRANSITION_UNASKED ? "not checked"
									: "can deadlock",
			 "why", stable->transition_why, "multicast", stable->transition_mcast,
			 "two_rounds", m->in_rounds);
}

/* What the last sweep came to. */
static void sweep_json(json_t *root, const struct metrics *m)
{
	json_t *ms = json_object();
	char digest[24];

	for (size_t i = 0; i < N_PHASES; i++)
		json_object_set_new(ms, phases[i].name, json_real(phase(m, i)));
	json_object_set_new(root, "time", json_integer((json_int_t)m->time));
	json_object_set_new(root, "engine", json_string(m->engine));
	json_object_set_new(root, "outcome", json_string(outcome_names[m->outcome]));
	json_object_set_new(root, "message", json_string(m->message));
	json_object_set_new(root, "check", check_json(m));
	json_object_set_new(root, "ms", ms);
	if (!m->checked)
		return;
	numbers_json(root, m);
	snprintf(digest, sizeof(digest), "%016" PRIx64, m->digest);
	json_object_set_new(root, "digest", json_string(digest));
	json_object_set_new(root, "tables", metrics_tables_json(m));
}

/* What happens beside it. */
static json_t *metrics_root(const struct report *r)
{
	const struct plugin *p = r->plugin;
	json_t *root;
	char port[24];

	snprintf(port, sizeof(port), "0x%016" PRIx64, r->guid);
	root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:o, s:o}", "osmroutes", OSR_VERSION,
			 "opensm", OSM_VERSION, "sm_port", port, "state",
			 osm_get_sm_mgr_state_str(p->osm->subn.sm_state), "routed_by", r->routed_by,
			 "ours", osr__is_ours(p, p->osm->routing_engine_used), "since",
			 (json_int_t)p->router_since, "warnings", osr__warnings(p), "sweeps",
			 sweeps_json(p));
	if (root && r->m->engine)
		sweep_json(root, r->m);
	return root;
}

static bool metrics_print_json(const void *report, FILE *out)
{
	json_t *root = metrics_root(report);
	bool ok;

	if (!root)
		return false;
	ok = !json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	fputc('\n', out);
	json_decref(root);
	return ok;
}

/* Prometheus's text format --------------------------------------------------------------------- */

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP osmroutes_%s %s\n# TYPE osmroutes_%s %s\n", name, help, name, type);
}

static void print_sweeps(const struct report *r, FILE *out)
{
	uint64_t n[N_OUTCOMES];

	head(out, "sweeps_total", "counter", "Sweeps by outcome, since OpenSM started.");
	for (uint32_t e = 0; osr_engines[e]; e++)
		for (int i = 0; count_sweeps(r->plugin, osr_engines[e], n) && i < N_OUTCOMES; i++)
			fprintf(out,
				"osmroutes_sweeps_total{sm_port=\"0x%016" PRIx64
				"\",engine=\"%s\",outcome=\"%s\"} %" PRIu64 "\n",
				r->guid, osr_engines[e]->name, outcome_names[i], n[i]);
}

static void print_phases(const struct report *r, const char *labels, FILE *out)
{
	head(out, "sweep_duration_seconds", "gauge", "Time of the last sweep by phase.");
	for (size_t i = 0; i < N_PHASES; i++)
		fprintf(out, "osmroutes_sweep_duration_seconds{%s,phase=\"%s\"} %.9g\n", labels,
			phases[i].name, phase(r->m, i) * 1e-3);
}

static void print_checked(const struct report *r, const char *labels, FILE *out)
{
	const struct metrics *m = r->m;
	struct number numbers[MAX_NUMBERS];
	size_t n = list_numbers(m, numbers);
	char name[64];

	head(out, "proven", "gauge", "1 for what the check has proven of the tables, else 0.");
	for (size_t i = 0; i < N_CLAIMS; i++)
		fprintf(out, "osmroutes_proven{%s,claim=\"%s\"} %d\n", labels, claims[i].name,
			!!(m->verdict.proven & claims[i].claim));
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s_%s", numbers[i].group, numbers[i].name);
		head(out, name, "gauge", numbers[i].help);
		fprintf(out, "osmroutes_%s{%s} %.12g\n", name, labels, numbers[i].value);
	}
}

static bool metrics_print_prom(const void *report, FILE *out)
{
	const struct report *r = report;
	char labels[128];

	snprintf(labels, sizeof(labels), "sm_port=\"0x%016" PRIx64 "\",engine=\"%.60s\"", r->guid,
		 r->m->engine);
	head(out, "info", "gauge", "Versions, and who routes now.");
	fprintf(out, "osmroutes_info{%s,version=\"%s\",opensm=\"%s\",routed_by=\"%s\"} 1\n", labels,
		OSR_VERSION, OSM_VERSION, r->routed_by);
	head(out, "last_sweep_timestamp_seconds", "gauge", "When the last sweep was over.");
	fprintf(out, "osmroutes_last_sweep_timestamp_seconds{%s} %lld\n", labels,
		(long long)r->m->time);
	head(out, "check_passed", "gauge", "1 if the tables of the last sweep passed the check.");
	fprintf(out, "osmroutes_check_passed{%s} %d\n", labels, r->m->checked);
	print_sweeps(r, out);
	print_phases(r, labels, out);
	if (r->m->checked)
		print_checked(r, labels, out);
	return true;
}

/* The files ------------------------------------------------------------------------------------ */

/* Who routes now. Engines of plugins have types that no name belongs to: those are ours. */
static const char *engine_in_use(const struct plugin *p)
{
	const struct osm_routing_engine *re = p->osm->routing_engine_used;

	for (const struct engine_ctx *ctx = p->contexts; re && ctx; ctx = ctx->next)
		if (ctx->re == re)
			return ctx->engine->name;
	return re ? osm_routing_engine_type_str(re->type) : "";
}

/*
 * A thread of its own: a directory may be on a file system that does not answer, and then neither a
 * sweep nor the end of opensm may wait for it. Between two sweeps the last one counts.
 */
struct metrics_writer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct osm_opensm *osm; /* NULL: it is gone, say nothing */
	const char *dir;
	uint64_t guid;
	struct text {
		char *text;
		size_t size;
	} next[2]; /* JSON and Prometheus, or NULL: nothing to write */
	bool stop, writes;
	struct timespec since; /* it writes */
	bool failed, slow;     /* and that has been said */
};

static const char *const extensions[] = { "json", "prom" };

static bool print_text(const void *arg, FILE *out)
{
	const struct text *t = arg;

	return fwrite(t->text, 1, t->size, out) == t->size;
}

/* DIR/osmroutes-GUID.EXT */
static bool write_both(const struct metrics_writer *metrics, const struct text page[2],
		       struct osr_diag *diag)
{
	bool good = true;

	for (int i = 0; i < 2 && good; i++) {
		char name[64];

		snprintf(name, sizeof(name), "osmroutes-%016" PRIx64 ".%s", metrics->guid,
			 extensions[i]);
		good = osr__file_replace(metrics->dir, name, 0644, print_text, &page[i], diag);
	}
	return good;
}

static void free_pages(struct text page[2])
{
	for (int i = 0; i < 2; i++)
		free(page[i].text);
	memset(page, 0, 2 * sizeof(*page));
}

/* With the lock, which is left while the file system has its time. */
static void write_next(struct metrics_writer *metrics)
{
	struct text page[2] = { metrics->next[0], metrics->next[1] };
	struct osr_diag diag = { "" };
	bool failed;

	memset(metrics->next, 0, sizeof(metrics->next));
	metrics->writes = true;
	clock_gettime(CLOCK_MONOTONIC, &metrics->since);
	pthread_mutex_unlock(&metrics->lock);
	failed = !write_both(metrics, page, &diag);
	free_pages(page);
	pthread_mutex_lock(&metrics->lock);
	metrics->writes = metrics->slow = false;
	/* Once, not at every sweep. */
	if (failed && !metrics->failed && metrics->osm)
		osr__log(metrics->osm, OSM_LOG_ERROR, "ERR OR12: cannot write metrics: %s",
			 diag.text);
	metrics->failed = failed;
}

static void *metrics_thread(void *arg)
{
	struct metrics_writer *metrics = arg;

	pthread_mutex_lock(&metrics->lock);
	while (metrics->next[0].text || !metrics->stop) {
		if (metrics->next[0].text)
			write_next(metrics);
		else
			pthread_cond_wait(&metrics->wake, &metrics->lock);
	}
	pthread_mutex_unlock(&metrics->lock);
	return NULL;
}

/* Signals are OpenSM's. Not before there is something to write: OpenSM may fork while it starts. */
static struct metrics_writer *writer_of(struct plugin *p, const char *dir)
{
	struct metrics_writer *metrics = p->metrics_writer;
	sigset_t all, before;
	bool runs;

	if (metrics)
		return metrics;
	metrics = calloc(1, sizeof(*metrics));
	if (!metrics)
		return NULL;
	pthread_mutex_init(&metrics->lock, NULL);
	pthread_cond_init(&metrics->wake, NULL);
	metrics->osm = p->osm;
	metrics->dir = dir;
	metrics->guid = cl_ntoh64(p->osm->subn.sm_port_guid);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	runs = !pthread_create(&metrics->thread, NULL, metrics_thread, metrics);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (runs)
		return p->metrics_writer = metrics;
	free(metrics);
	return NULL;
}

static bool print_page(const struct report *r, bool (*print)(const void *report, FILE *out),
		       struct text *page)
{
	FILE *out = open_memstream(&page->text, &page->size);
	bool good = out && print(r, out) && !ferror(out);

	if (out && fclose(out))
		good = false;
	return good;
}

/* A busy machine is no reason to complain. */
static bool is_late(const struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - since->tv_sec > 1;
}

static void hand_over(struct metrics_writer *metrics, struct text page[2])
{
	pthread_mutex_lock(&metrics->lock);
	free_pages(metrics->next);
	memcpy(metrics->next, page, sizeof(metrics->next));
	if (metrics->writes && !metrics->slow && is_late(&metrics->since)) {
		osr__log(metrics->osm, OSM_LOG_ERROR,
			 "ERR OR12: cannot write metrics: those of an earlier sweep are still "
			 "being written to %s",
			 metrics->dir);
		metrics->slow = true;
	}
	pthread_cond_signal(&metrics->wake);
	pthread_mutex_unlock(&metrics->lock);
}

static struct report metrics_report(const struct plugin *p)
{
	return (struct report){
		.plugin = p,
		.m = &p->metrics,
		.guid = cl_ntoh64(p->osm->subn.sm_port_guid),
		.routed_by = engine_in_use(p),
	};
}

void osr__metrics_log(const struct plugin *p)
{
	static const char *const later[] = { "state", "routed_by", "ours",
					     "since", "warnings",  "sweeps" };
	osm_log_level_t level = osr__log_details(p);
	struct report r = metrics_report(p);
	json_t *root;
	char *text;

	if (!osm_log_is_active(&p->osm->log, level))
		return;
	root = metrics_root(&r);
	/* Not over yet: which engine routes, and how often. */
	for (size_t i = 0; root && i < sizeof(later) / sizeof(*later); i++)
		json_object_del(root, later[i]);
	text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	if (text)
		osr__log(p->osm, level, "sweep: %s", text);
	free(text);
	json_decref(root);
}

void osr__metrics_tell(struct plugin *p)
{
	struct report r = metrics_report(p);

	if (p->keys)
		osr__keys_tell(p, metrics_root(&r));
}

void osr__metrics_router(struct plugin *p)
{
	const struct osm_routing_engine *re = p->osm->routing_engine_used;
	const char *name = engine_in_use(p), *list = p->osm->subn.opt.routing_engine_names;

	if (p->router_since && p->router == re)
		return;
	p->router = re;
	p->router_since = time(NULL);
	if (osr__is_ours(p, re))
		return;
	osr__log(p->osm, OSM_LOG_INFO, "loaded, but routes nothing: %s%s%s%s%s",
		 re ? "OpenSM's " : "", re ? name : "neither does OpenSM", re ? " routes" : "",
		 p->contexts ? "" : "; osmroutes serves no engine of routing_engine ",
		 p->contexts ? ""
		 : list      ? list
			     : "(none)");
}

void osr__metrics_write(struct plugin *p)
{
	const char *dir = p->options.own.str[p->options.own.num[OPT_METRICS_DIR]];
	struct report r = metrics_report(p);
	struct text page[2] = { { NULL, 0 } };

	if (!p->metrics.pending)
		return;
	p->metrics.pending = false;
	if (!*dir)
		return;
	if (print_page(&r, metrics_print_json, &page[0]) &&
	    print_page(&r, metrics_print_prom, &page[1]) && writer_of(p, dir)) {
		hand_over(p->metrics_writer, page);
		return;
	}
	free_pages(page);
	osr__log(p->osm, OSM_LOG_ERROR, "ERR OR12: cannot write metrics: out of memory");
}

void osr__metrics_close(struct plugin *p)
{
	struct metrics_writer *metrics = p->metrics_writer;
	struct timespec until;

	if (!metrics)
		return;
	pthread_mutex_lock(&metrics->lock);
	metrics->stop = true;
	pthread_cond_signal(&metrics->wake);
	pthread_mutex_unlock(&metrics->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LAST_S;
	p->metrics_writer = NULL;
	if (pthread_timedjoin_np(metrics->thread, NULL, &until)) {
		/* It has what it needs, and the library is never unloaded. */
		pthread_mutex_lock(&metrics->lock);
		metrics->osm = NULL;
		pthread_mutex_unlock(&metrics->lock);
		pthread_detach(metrics->thread);
		return;
	}
	pthread_cond_destroy(&metrics->wake);
	pthread_mutex_destroy(&metrics->lock);
	free(metrics);
}
