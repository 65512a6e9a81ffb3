/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "observe.h"

#include "file.h"
#include "plugin.h"
#include "sweep.h"

#include <osmroutes/sweep.h>
#include "core/paths/bound.h"
#include "core/verify/verdict.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK IB_SMP_DATA_SIZE
#define MAX_PATHS                                                                                  \
	(64u << 20) /* with more (end port, LID) pairs the ports of a switch share a row */

/* Tables as they are, and what is said of them. */
struct look {
	struct osr_arena arena; /* of all below */
	struct osr_result result;
	struct snapshot snap;
	struct osr_paths paths;
	struct osr_groups groups;
	struct osr_generation gen;
	char engine[32];
	struct osr_findings found;
	struct osr_answered
		between_hosts; /* OSR_ASK_ONE_WAY, of packets between CAs and routers alone */
	uint64_t efi_bound;    /* osr_bound_load() */
	uint64_t n_entries, n_changed, n_blocks;
	const struct osr_engine *other; /* what would have routed; NULL: none could */
	struct osr_verdict verdict;     /* of its tables */
	uint8_t other_vls;
	double ms_cpu, ms_locked;
};

struct observer {
	struct plugin *plugin;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	bool stop, pending;
	uint64_t generation; /* of OpenSM's tables: counts the sweeps that began */
	struct look *last;
	bool failed; /* a file could not be written, and that has been said */
};

/* Copying -------------------------------------------------------------------------------------- */

static void copy_lfts(struct look *w)
{
	const struct osr_fabric *fabric = &w->result.fabric;
	uint8_t *lft = w->result.routing.lft;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		const osm_switch_t *sw = w->snap.sw[s];

		for (uint32_t d = 0; d < fabric->n_dests; d++)
			lft[(size_t)d * fabric->n_switches + s] =
				fabric->dest_lid[d] < sw->lft_size ? sw->lft[fabric->dest_lid[d]]
								   : OSR_NO_PATH;
	}
}

static void copy_row(const osm_switch_t *sw, unsigned in, unsigned out, uint8_t *vl)
{
	osm_physp_t *osm_physp = osm_node_get_physp_ptr(sw->p_node, (uint8_t)out);
	const ib_slvl_table_t *table = NULL;

	if (osm_physp && in < cl_ptr_vector_get_size(&osm_physp->slvl_by_port))
		table = cl_ptr_vector_get(&osm_physp->slvl_by_port, in);
	for (uint8_t sl = 0; sl < 16; sl++)
		vl[sl] = table && out ? ib_slvl_table_get(table, sl) : sl;
}

static enum osr_status observe_copy_sl2vl(struct look *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &w->result.fabric;
	struct osr_routing *routing = &w->result.routing;
	uint32_t n = 0;

	routing->sl2vl_row = osr_alloc(&w->arena, fabric->n_switches, sizeof(*routing->sl2vl_row));
	for (uint32_t s = 0; routing->sl2vl_row && s < fabric->n_switches; s++) {
		routing->sl2vl_row[s] = n;
		n += (fabric->sw_n_ports[s] + 1u) * (fabric->sw_n_ports[s] + 1u);
	}
	routing->sl2vl = osr_alloc(&w->arena, n, sizeof(*routing->sl2vl));
	if (osr_arena_failed(&w->arena, diag))
		return OSR_NOMEM;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
			for (unsigned out = 0; out <= fabric->sw_n_ports[s]; out++)
				copy_row(w->snap.sw[s], in, out,
					 routing->sl2vl[routing->sl2vl_row[s] +
							in * (fabric->sw_n_ports[s] + 1u) + out]);
	for (uint8_t sl = 0; sl < 16; sl++)
		routing->ca_sl2vl[sl] = sl;
	routing->n_vls = OSR_MAX_VLS;
	return OSR_OK;
}

static void copy_group(const struct look *w, uint16_t mlid, uint64_t (*ports)[4])
{
	for (uint32_t s = 0; s < w->result.fabric.n_switches; s++) {
		const osm_mcast_tbl_t *fwdbl = &w->snap.sw[s]->mcast_tbl;

		for (unsigned at = 0;
		     fwdbl->p_mask_tbl && mlid <= fwdbl->max_mlid_ho && at <= fwdbl->max_position;
		     at++) {
			uint64_t mask =
				cl_ntoh16((*fwdbl->p_mask_tbl)[mlid - IB_LID_MCAST_START_HO][at]);

			ports[s][at / 4] |= mask << at % 4 * 16;
		}
	}
}

static enum osr_status copy_groups(struct look *w, const osm_subn_t *subn, struct osr_diag *diag)
{
	unsigned first = IB_LID_MCAST_START_HO;
	uint64_t(*ports)[4];
	uint16_t *mlid;

	for (unsigned m = 0; m + first <= subn->max_mcast_lid_ho; m++)
		w->groups.n += subn->mboxes[m] != NULL;
	mlid = osr_alloc(&w->arena, w->groups.n, sizeof(*mlid));
	ports = osr_calloc(&w->arena, (size_t)w->groups.n * w->result.fabric.n_switches,
			   sizeof(*ports));
	if (osr_arena_failed(&w->arena, diag))
		return OSR_NOMEM;
	w->groups.mlid = mlid;
	w->groups.ports = (const uint64_t(*)[4])ports;
	w->groups.n = 0;
	for (unsigned m = 0; m + first <= subn->max_mcast_lid_ho; m++) {
		if (!subn->mboxes[m])
			continue;
		copy_group(w, (uint16_t)(m + first),
			   ports + (size_t)w->groups.n * w->result.fabric.n_switches);
		mlid[w->groups.n++] = (uint16_t)(m + first);
	}
	return OSR_OK;
}

/* Under OpenSM's exclusive lock. */
static enum osr_status copy_tables(struct look *w, struct plugin *p, struct osr_diag *diag)
{
	struct osm_opensm *osm = p->osm;
	struct osr_fabric *fabric = &w->result.fabric;
	struct osr_routing *routing = &w->result.routing;
	enum osr_status st;
	uint8_t sl;

	snprintf(w->engine, sizeof(w->engine), "%s", osm->routing_engine_used->name);
	st = osr__snapshot(p, SNAPSHOT_ALL_LIDS, &w->arena, &w->arena, fabric, &w->snap, diag);
	if (!st)
		st = osr_routing_init(routing, fabric, &w->arena, diag);
	if (st)
		return st;
	osr__vl_budget(osm, fabric, &p->options, &w->snap.limit);
	routing->engine = "observed";
	routing->n_vls = 1;
	copy_lfts(w);
	if (osm->subn.opt.qos)
		st = observe_copy_sl2vl(w, diag);
	osr__mcast_sls(osm, &sl);
	w->groups.sl = sl;
	if (!st && !osm->subn.opt.disable_multicast)
		st = copy_groups(w, &osm->subn, diag);
	w->snap.sw = NULL;
	return st;
}

/* SLs of path records ------------------------------------------------------------------------- */

/* A row for each end port, or for each switch where that would be too much: its first end port asks. */
static uint32_t observe_count_rows(const struct look *w, uint32_t *row, uint16_t *slid)
{
	const struct osr_fabric *fabric = &w->result.fabric;
	bool each = (uint64_t)fabric->n_terminals * fabric->n_dests <= MAX_PATHS;
	uint32_t n = 0;

	for (uint32_t e = 0; e < fabric->n_terminals; e++) {
		bool same = !each && e && fabric->term_switch[e] == fabric->term_switch[e - 1] &&
			    fabric->term_role[e] == fabric->term_role[e - 1];

		if (!same)
			slid[n++] = fabric->term_lid[e];
		row[e] = n - 1;
	}
	return n;
}

/* Not when OpenSM ends: it frees its engines while this thread still runs. */
static bool still_current(struct observer *o, uint64_t generation)
{
	bool current;

	pthread_mutex_lock(&o->mutex);
	current = !o->stop && !osm_exit_flag && o->generation == generation;
	pthread_mutex_unlock(&o->mutex);
	return current;
}

/* One row at a time under the shared lock, as path queries are answered, so that nobody waits for long. */
static bool ask_path_sls(struct observer *o, struct look *w, uint64_t generation, uint8_t *sl,
			 const uint16_t *slid)
{
	const struct osr_fabric *fabric = &w->result.fabric;
	struct osm_opensm *osm = o->plugin->osm;

	for (uint32_t i = 0; i < w->paths.n_rows; i++) {
		const struct osm_routing_engine *re;

		if (!osr__lock(osm, LOCK_SHARED))
			return false;
		re = still_current(o, generation) ? osm->routing_engine_used : NULL;
		for (uint32_t d = 0; re && d < fabric->n_dests; d++)
			sl[(size_t)i * fabric->n_dests + d] =
				re->path_sl ? re->path_sl(re->context, 0, cl_hton16(slid[i]),
							  cl_hton16(fabric->dest_lid[d]))
					    : 0;
		cl_plock_release(&osm->lock);
		if (!re)
			return false;
	}
	return true;
}

static enum osr_status take_paths(struct observer *o, struct look *w, uint64_t generation,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &w->result.fabric;
	uint32_t *row = osr_alloc(&w->arena, fabric->n_terminals, sizeof(*row));
	uint16_t *slid = osr_alloc(&w->arena, fabric->n_terminals, sizeof(*slid));
	uint8_t *sl;

	if (osr_arena_failed(&w->arena, diag))
		return OSR_NOMEM;
	w->paths.n_rows = observe_count_rows(w, row, slid);
	sl = osr_alloc(&w->arena, (size_t)w->paths.n_rows * fabric->n_dests, 1);
	if (osr_arena_failed(&w->arena, diag))
		return OSR_NOMEM;
	w->paths.row = row;
	w->paths.sl = sl;
	return ask_path_sls(o, w, generation, sl, slid) ? OSR_OK : OSR_NOT_APPLICABLE;
}

/* Judging -------------------------------------------------------------------------------------- */

/* LFT blocks of switches of both that differ, by LID. */
static uint64_t blocks_between(const struct look *was, const struct look *now)
{
	const struct osr_fabric *fabric = &was->result.fabric, *g = &now->result.fabric;
	uint64_t n = 0;

	for (uint32_t s = 0; s < g->n_switches; s++) {
		uint32_t t = osr_fabric_switch_by_guid(fabric, g->sw_guid[s]);

		for (uint32_t first = 0; t != OSR_NONE && first <= g->max_lid; first += BLOCK) {
			bool differs = false;

			for (uint32_t lid = first; lid < first + BLOCK && lid <= g->max_lid;
			     lid++) {
				uint32_t a =
					lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;
				uint32_t b = g->lid_dest[lid];

				differs |= (a == OSR_NONE ? OSR_NO_PATH
							  : osr_lft(&was->result.routing, t, a)) !=
					   (b == OSR_NONE ? OSR_NO_PATH
							  : osr_lft(&now->result.routing, s, b));
			}
			n += differs;
		}
	}
	return n;
}

/* What this engine of osmroutes would have made of the fabric. */
static bool observe_route_otherwise(struct plugin *p, struct look *w, const char *name)
{
	struct osr_arena scratch = { 0 }, arena = { 0 };
	struct osr_result result = { .fabric = w->result.fabric };
	struct osr_diag diag = { "" };
	struct osr_sweep out = { 0 };
	struct osr_job job = { .engine = osr_engine_find(name),
			       .request = { .max_vls = w->snap.limit.vls,
					    .vls_why = w->snap.limit.why,
					    .multicast = true,
					    .clock_ms = osr__sweep_clock_ms,
					    .read_file = osr_options_read_file },
			       .scratch = &scratch,
			       .arena = &arena,
			       .diag = &diag };
	enum osr_status st = OSR_INVAL;

	for (uint32_t e = 0; osr_engines[e]; e++)
		if (osr_engines[e] == job.engine)
			job.values = &p->options.engine[e];
	if (job.engine && job.values)
		st = osr_sweep(&job, &result, &out);
	if (!st) {
		w->other = job.engine;
		w->verdict = out.verdict;
		w->other_vls = result.routing.n_vls;
	}
	osr_arena_free(&scratch);
	osr_arena_free(&arena);
	return !st;
}

static enum osr_status observe_judge(struct observer *o, struct look *w, struct osr_diag *diag)
{
	struct osr_arena scratch = { 0 };
	struct osr_inquiry ask = { .f = &w->result.fabric, .gen = &w->gen };
	struct osr_findings hosts;
	enum osr_status st;

	w->gen = (struct osr_generation){ .routing = &w->result.routing, .paths = &w->paths };
	if (w->groups.n)
		w->gen.groups = &w->groups;
	st = osr_verify(&ask, &scratch, &w->arena, &w->found, diag);
	ask.scope = OSR_ONLY_HOSTS;
	ask.questions = 1u << OSR_ASK_ONE_WAY;
	if (!st)
		st = osr_verify(&ask, &scratch, &w->arena, &hosts, diag);
	if (!st)
		w->between_hosts = hosts.on[OSR_ASK_ONE_WAY];
	if (!st)
		st = osr_bound_load(&w->result.fabric, &scratch, &w->efi_bound, diag);
	osr_arena_free(&scratch);
	if (st)
		return st;
	if (o->last) {
		w->n_changed = osr_routing_changed(&o->last->result, &w->result.fabric,
						   &w->result.routing, &w->n_entries);
		w->n_blocks = blocks_between(o->last, w);
	}
	if (!observe_route_otherwise(o->plugin, w, "dmodk"))
		observe_route_otherwise(o->plugin, w, "dfsssp");
	return OSR_OK;
}

/* What is said --------------------------------------------------------------------------------- */

static const struct {
	enum osr_question ask;
	const char *words, *name;
} questions[] = {
	{ OSR_ASK_REACH, "reach", "reach" },
	{ OSR_ASK_NO_LOOPS, "forwarding loops", "no_loops" },
	{ OSR_ASK_ONE_WAY, "credit loops on the SLs of path records", "path_records" },
	{ OSR_ASK_MULTICAST, "with multicast", "multicast" },
	{ OSR_ASK_REPLIES, "with replies", "replies" },
	{ OSR_ASK_SL0, "on SL 0", "sl0" },
	{ OSR_ASK_ANY_SL, "on any SL", "any_sl" },
};

#define N_QUESTIONS (sizeof(questions) / sizeof(*questions))

/* All questions but one ask for loops, and proven is that there are none. */
static const char *observe_answer(enum osr_question ask, enum osr_answer answer)
{
	if (ask == OSR_ASK_REACH || answer == OSR_UNKNOWN)
		return osr_answer_name(answer);
	return answer == OSR_PROVEN ? "none (proven)" : "found";
}

static void observe_say(struct observer *o, const struct look *w)
{
	struct osm_opensm *osm = o->plugin->osm;
	const struct osr_audit *audit = &w->found.audit;
	const char *said = "";
	char answers[400] = "", change[96] = "first look",
	     other[128] = "no engine of osmroutes fits";

	for (size_t i = 0; i < N_QUESTIONS; i++) {
		size_t at = strlen(answers);

		if (w->found.applies & 1u << questions[i].ask)
			snprintf(answers + at, sizeof(answers) - at, "%s%s: %s", at ? ", " : "",
				 questions[i].words,
				 observe_answer(questions[i].ask,
						w->found.on[questions[i].ask].answer));
	}
	if (w->found.on[OSR_ASK_ONE_WAY].answer != w->between_hosts.answer)
		snprintf(answers + strlen(answers), sizeof(answers) - strlen(answers),
			 ", path records between hosts only: %s",
			 observe_answer(OSR_ASK_ONE_WAY, w->between_hosts.answer));
	if (o->last)
		snprintf(change, sizeof(change),
			 "%" PRIu64 " of %" PRIu64 " LFT entries changed in %" PRIu64 " blocks",
			 w->n_changed, w->n_entries, w->n_blocks);
	if (w->other)
		snprintf(other, sizeof(other),
			 "%s of osmroutes would have %" PRIu64 " on %u VL%s, any SL %s",
			 w->other->name, w->verdict.efi, w->other_vls, w->other_vls == 1 ? "" : "s",
			 w->verdict.proven & OSR_CLAIM_ANY_SL ? "proven" : "not proven");
	osr__log(osm, OSM_LOG_INFO,
		 "observe: %s: %" PRIu64
		 " routes on the busiest link (no routing has fewer than %" PRIu64 "), %" PRIu64
		 " of %" PRIu64 " longer than minimal; %s; %s; %s (%.0f ms of CPU, %.1f under "
		 "OpenSM's lock)",
		 w->engine, audit->efi, w->efi_bound, audit->n_longer, audit->n_routes, answers,
		 change, other, w->ms_cpu, w->ms_locked);
	for (size_t i = 0; i < N_QUESTIONS; i++) {
		const struct osr_answered *on = &w->found.on[questions[i].ask];

		/* A loop of packets is one with multicast and with replies, too. */
		if (on->answer == OSR_REFUTED && strcmp(on->why, said) != 0)
			osr__log(osm, OSM_LOG_INFO, "observe: %s: %s: %s: %s", w->engine,
				 questions[i].words, observe_answer(questions[i].ask, on->answer),
				 on->why);
		if (on->answer == OSR_REFUTED)
			said = on->why;
	}
}

/* The numbers of both files. */
static json_t *numbers(const struct look *w)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}",
			 "routes_busiest", (json_int_t)w->found.audit.efi, "efi_bound",
			 (json_int_t)w->efi_bound, "routes", (json_int_t)w->found.audit.n_routes,
			 "routes_longer", (json_int_t)w->found.audit.n_longer, "lft_entries",
			 (json_int_t)w->n_entries, "lft_changed", (json_int_t)w->n_changed,
			 "lft_blocks_changed", (json_int_t)w->n_blocks, "other_routes_busiest",
			 (json_int_t)(w->other ? w->verdict.efi : 0), "other_vls",
			 (json_int_t)w->other_vls, "cpu_seconds", w->ms_cpu / 1e3, "locked_seconds",
			 w->ms_locked / 1e3);
}

static bool observe_print_json(const void *arg, FILE *out)
{
	const struct look *w = arg;
	json_t *root = numbers(w), *answers = json_object();
	bool ok;

	for (size_t i = 0; i < N_QUESTIONS; i++)
		if (w->found.applies & 1u << questions[i].ask)
			json_object_set_new(
				answers, questions[i].name,
				json_string(osr_answer_name(w->found.on[questions[i].ask].answer)));
	json_object_set_new(answers, "path_records_hosts",
			    json_string(osr_answer_name(w->between_hosts.answer)));
	json_object_set_new(root, "engine", json_string(w->engine));
	json_object_set_new(root, "other", w->other ? json_string(w->other->name) : json_null());
	json_object_set_new(root, "answers", answers);
	ok = root && answers && !json_dumpf(root, out, JSON_INDENT(1) | JSON_SORT_KEYS);
	json_decref(root);
	return ok && fputc('\n', out) != EOF;
}

static bool observe_print_prom(const void *arg, FILE *out)
{
	const struct look *w = arg;
	json_t *root = numbers(w), *value;
	const char *name;

	json_object_foreach(root, name, value)
	{
		fprintf(out, "# HELP osmroutes_observed_%s Of the tables that %s has programmed.\n",
			name, w->engine);
		fprintf(out, "# TYPE osmroutes_observed_%s gauge\n", name);
		fprintf(out, "osmroutes_observed_%s{engine=\"%s\"} %.9g\n", name, w->engine,
			json_number_value(value));
	}
	json_decref(root);
	fputs("# HELP osmroutes_observed_answer 1 proven, 0 unknown, -1 refuted.\n"
	      "# TYPE osmroutes_observed_answer gauge\n",
	      out);
	for (size_t i = 0; i < N_QUESTIONS; i++) {
		enum osr_answer a = w->found.on[questions[i].ask].answer;

		if (w->found.applies & 1u << questions[i].ask)
			fprintf(out,
				"osmroutes_observed_answer{engine=\"%s\",question=\"%s\"} %d\n",
				w->engine, questions[i].name,
				a == OSR_PROVEN    ? 1
				: a == OSR_REFUTED ? -1
						   : 0);
	}
	fprintf(out,
		"osmroutes_observed_answer{engine=\"%s\",question=\"path_records_hosts\"} %d\n",
		w->engine,
		w->between_hosts.answer == OSR_PROVEN    ? 1
		: w->between_hosts.answer == OSR_REFUTED ? -1
							 : 0);
	return !ferror(out);
}

static void write_files(struct observer *o, const struct look *w)
{
	const struct osr_options *options = &o->plugin->options;
	const char *dir = options->own.str[options->own.num[OPT_METRICS_DIR]];
	uint64_t guid = cl_ntoh64(o->plugin->osm->subn.sm_port_guid);
	struct osr_diag diag = { "" };
	char json[64], prom[64];
	bool failed;

	if (!*dir)
		return;
	snprintf(json, sizeof(json), "osmroutes-%016" PRIx64 "-observed.json", guid);
	snprintf(prom, sizeof(prom), "osmroutes-%016" PRIx64 "-observed.prom", guid);
	failed = !osr__file_replace(dir, json, 0644, observe_print_json, w, &diag) ||
		 !osr__file_replace(dir, prom, 0644, observe_print_prom, w, &diag);
	if (failed && !o->failed)
		osr__log(o->plugin->osm, OSM_LOG_ERROR, "ERR OR12: cannot write metrics: %s",
			 diag.text);
	o->failed = failed;
}

/* The thread ----------------------------------------------------------------------------------- */

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void look_free(struct look *w)
{
	if (w)
		osr_arena_free(&w->arena);
	free(w);
}

/* OSR_NOT_APPLICABLE: a sweep has begun meanwhile, or nobody has routed. */
static enum osr_status observe_take(struct observer *o, struct look *w, uint64_t generation,
				    struct osr_diag *diag)
{
	struct osm_opensm *osm = o->plugin->osm;
	enum osr_status st = OSR_NOT_APPLICABLE;
	double start;

	if (!osr__lock(osm, LOCK_ALONE))
		return st;
	start = osr__sweep_clock_ms();
	if (still_current(o, generation) && osm->routing_engine_used &&
	    cl_qmap_count(&osm->subn.sw_guid_tbl))
		st = copy_tables(w, o->plugin, diag);
	w->ms_locked = osr__sweep_clock_ms() - start;
	cl_plock_release(&osm->lock);
	return st ? st : take_paths(o, w, generation, diag);
}

static void observe(struct observer *o, uint64_t generation)
{
	struct look *w = calloc(1, sizeof(*w));
	struct osr_diag diag = { "" };
	double start = cpu_ms();
	enum osr_status st = OSR_NOMEM;

	if (w)
		st = observe_take(o, w, generation, &diag);
	else
		osr_fail(&diag, st, "out of memory");
	if (!st && still_current(o, generation))
		st = observe_judge(o, w, &diag);
	if (!st && still_current(o, generation)) {
		w->ms_cpu = cpu_ms() - start;
		observe_say(o, w);
		write_files(o, w);
		look_free(o->last);
		o->last = w;
		return;
	}
	if (st && st != OSR_NOT_APPLICABLE)
		osr__log(o->plugin->osm, OSM_LOG_ERROR, "ERR OR18: observe: %s", diag.text);
	look_free(w);
}

static void *observer_thread(void *arg)
{
	struct observer *o = arg;

	pthread_mutex_lock(&o->mutex);
	while (!o->stop) {
		uint64_t generation = o->generation;

		if (!o->pending) {
			pthread_cond_wait(&o->wake, &o->mutex);
			continue;
		}
		o->pending = false;
		pthread_mutex_unlock(&o->mutex);
		observe(o, generation);
		pthread_mutex_lock(&o->mutex);
	}
	pthread_mutex_unlock(&o->mutex);
	return NULL;
}

void osr__observe_open(struct plugin *p)
{
	struct observer *o;
	sigset_t all, before;
	int failed;

	if (!p->options.own.num[OPT_OBSERVE] || p->options.broken)
		return;
	o = calloc(1, sizeof(*o));
	if (o) {
		o->plugin = p;
		pthread_mutex_init(&o->mutex, NULL);
		pthread_cond_init(&o->wake, NULL);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		failed = pthread_create(&o->thread, NULL, observer_thread, o);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		if (!failed) {
			p->observer = o;
			return;
		}
		free(o);
	}
	osr__log(p->osm, OSM_LOG_ERROR,
		 "ERR OR18: observe: no memory or no thread: nothing is observed");
}

void osr__observe_close(struct plugin *p)
{
	struct observer *o = p->observer;

	if (!o)
		return;
	pthread_mutex_lock(&o->mutex);
	o->stop = true;
	pthread_cond_signal(&o->wake);
	pthread_mutex_unlock(&o->mutex);
	pthread_join(o->thread, NULL);
	look_free(o->last);
	pthread_cond_destroy(&o->wake);
	pthread_mutex_destroy(&o->mutex);
	free(o);
	p->observer = NULL;
}

static void observer_tell(struct plugin *p, bool begins)
{
	struct observer *o = p->observer;

	if (!o)
		return;
	pthread_mutex_lock(&o->mutex);
	o->generation += begins;
	o->pending = !begins;
	pthread_cond_signal(&o->wake);
	pthread_mutex_unlock(&o->mutex);
}

void osr__observe_stale(struct plugin *p)
{
	observer_tell(p, true);
}

void osr__observe_wake(struct plugin *p)
{
	observer_tell(p, false);
}
