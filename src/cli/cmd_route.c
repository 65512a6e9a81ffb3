/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Routes a fabric, or reads tables, and measures both: several engines and files are columns; or
 * writes a page about them.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <osmroutes/pgft.h>
#include <osmroutes/product.h>

#include "cli/measure.h"
#include "conf/posix_threads.h"
#include "store/store.h"
#include "page_html.h"

struct args {
	struct cli_run run;
	struct cli_measure measure;
	struct cli_keep keep;
	const char *previous;
	/* `report`: a page instead of the table. */
	bool is_report;
	const char *html; /* its file; NULL: standard output */
	struct osr_threads threads;
	struct cli_measured *reference; /* what the others are compared with; NULL: none yet */
	struct offer {
		const char *name; /* NULL: nothing that can be recommended */
		enum osr_answer verdict;
		struct osr_worth worth;
	} offer[CLI_MAX_SUBJECTS];
	uint32_t n_done;         /* tables that there are */
	enum osr_status refused; /* why the page has nothing to show of the first */
};

static const struct out_field head_fields[] = {
	CLI_INPUT_FIELDS,
	CLI_SUBJECTS_FIELDS,
	{ "bisections", NULL, OUT_COUNT, 0 },
	{ "seed", NULL, OUT_COUNT, 0 },
	{ "command_line", NULL, OUT_TEXT },
	{ "date", NULL, OUT_TEXT },
	{ 0 },
};

/* ---- the page ------------------------------------------------------------------------------- */

/*
 * page.html with what `route` says in it as JSON: it draws itself, and needs no network. Its
 * pictures need these sections besides.
 */
static const struct out_field answer_fields[] = {
	{ "question", NULL, OUT_TEXT },
	{ "answer", NULL, OUT_TEXT },
	{ "why", NULL, OUT_TEXT },
	{ 0 },
};

static const struct out_field place_fields[] = {
	{ "name", NULL, OUT_TEXT },
	{ "guid", NULL, OUT_GUID },
	{ "hosts", NULL, OUT_COUNT },
	{ "tree", NULL, OUT_COUNT }, /* of a fat tree: pgft.h */
	{ "a", NULL, OUT_COUNT },
	{ "b", NULL, OUT_COUNT },
	{ "at", NULL, OUT_TEXT }, /* coordinates in a torus, mesh or HyperX */
	{ 0 },
};

static const struct out_field cable_fields[] = {
	{ "from", NULL, OUT_COUNT }, /* index of the switch */
	{ "from_port", NULL, OUT_COUNT },   { "to", NULL, OUT_COUNT },
	{ "to_port", NULL, OUT_COUNT },     { "routes", NULL, OUT_COUNT },
	{ "routes_back", NULL, OUT_COUNT }, { 0 },
};

static const struct out_field lane_fields[] = {
	{ "vl", NULL, OUT_COUNT },
	{ "routes", NULL, OUT_COUNT },
	{ 0 },
};

/* The place of each switch in a fat tree, or in a torus, mesh or HyperX; nothing elsewhere. */
static void say_switches(const struct osr_fabric *fabric, struct osr_arena *arena, struct out *out)
{
	struct osr_pgft tree;
	struct osr_product product;
	struct osr_diag diag;
	bool is_tree = !osr_pgft_find(fabric, &(struct osr_pgft_options){ .max_missing = 30 },
				      arena, &tree, &diag);
	bool is_product = !osr_product_find(fabric, arena, &product, &diag) && product.n_dims > 1 &&
			  product.n_placed == fabric->n_switches;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		char text[8 * OSR_MAX_DIMS] = "";
		size_t n = 0;

		OUT_ADD(out, "places", osr_switch_name(fabric, v, text), fabric->sw_guid[v],
			fabric->sw_sources[v]);
		if (is_tree && tree.sw_level[v]) {
			out_count(out, "tree", tree.sw_tree[v]);
			out_count(out, "a", tree.sw_a[v]);
			out_count(out, "b", tree.sw_b[v]);
		}
		for (uint32_t i = 0; is_product && i < product.n_dims; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", i ? "," : "",
					      osr_product_coord(&product, v)[i]);
		if (is_product)
			out_text(out, "at", text);
	}
}

/*
 * Routes between hosts, by the VL of the first cable: as the first host of each switch sends, for
 * they share their lanes.
 */
static void say_lanes(const struct osr_fabric *fabric, const struct osr_routing *routing,
		      struct out *out)
{
	uint64_t routes[OSR_MAX_VLS] = { 0 };

	for (uint32_t v = 0; routing->sl && v < fabric->n_switches; v++) {
		uint32_t row = fabric->term_row[v];

		while (row + 1 < fabric->term_row[v + 1] && fabric->term_role[row] == OSR_ROLE_SP0)
			row++;
		for (uint32_t d = 0; d < fabric->n_dests && fabric->sw_sources[v]; d++) {
			uint8_t port = osr_lft(routing, v, d), vl;

			if (v == fabric->dest_switch[d] || port == OSR_NO_PATH ||
			    !fabric->term_weight[fabric->dest_term[d]])
				continue;
			vl = cli_gen_sl2vl(routing, fabric, v, fabric->term_port[row],
					   port)[routing->sl[(size_t)d * fabric->n_switches + v]];
			if (vl < OSR_MAX_VLS)
				routes[vl] += fabric->sw_sources[v];
		}
	}
	for (uint32_t vl = 0; routing->sl && vl < routing->n_vls; vl++)
		OUT_ADD(out, "lanes", vl, routes[vl]);
}

/* Rows of these sections. */
static void page_say(const struct osr_fabric *fabric, const struct osr_routing *routing,
		     const struct cli_verdicts *verdicts, struct out *out)
{
	const struct osr_findings *found = &verdicts->hosts;
	const uint64_t *load = verdicts->all.audit.load;
	struct osr_arena arena = { 0 };

	for (unsigned q = 0; q < OSR_N_QUESTIONS; q++)
		if (found->applies >> q & 1)
			OUT_ADD(out, "answers", osr_question_name((enum osr_question)q),
				osr_answer_name(found->on[q].answer), found->on[q].why);
	say_switches(fabric, &arena, out);
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (c <= fabric->chan_rev[c])
			OUT_ADD(out, "cables", fabric->chan_src[c], fabric->chan_port[c],
				fabric->chan_dst[c], fabric->chan_port[fabric->chan_rev[c]],
				load[c], load[fabric->chan_rev[c]]);
	say_lanes(fabric, routing, out);
	osr_arena_free(&arena);
}

/* Everything that `out` has been told, in the page; OSR_INVAL: it cannot be written. */
static enum osr_status page_write(const struct out *out, const char *path, struct osr_diag *diag)
{
	const char *place = strstr(page, "@;");
	char *json = out_json(out);
	FILE *file = cli_create(path);

	if (!json)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the page");
	if (file) {
		fwrite(page, 1, (size_t)(place - page), file);
		/* Names are data: none of them can end the script. */
		for (const char *c = json; *c; c++)
			if (*c == '<')
				fputs("\\u003c", file);
			else
				fputc(*c, file);
		fputs(place + 1, file);
	}
	free(json);
	return cli_written(file, path, diag);
}

/* ---- which is best --------------------------------------------------------------------------- */

/*
 * As the engine osmroutes chooses, in the order in which it tries engines, then files; but proven
 * before unknown.
 */
static const struct offer *find_best(const struct args *args)
{
	const struct offer *best = NULL;

	for (const struct osr_engine *const *engine = osr_engines;; engine++) {
		for (uint32_t i = 0; i < args->run.who.n; i++) {
			const struct offer *own = &args->offer[i];

			if (!own->name || args->run.who.item[i].engine != *engine)
				continue;
			if (!best || (own->verdict != best->verdict
					      ? own->verdict == OSR_PROVEN
					      : osr_worth_more(&own->worth, &best->worth)))
				best = own;
		}
		if (!*engine)
			return best;
	}
}

/* ---- files ---------------------------------------------------------------------------------- */

static enum osr_status read_previous(const struct args *args, uint32_t i,
				     struct cli_measured *measured, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &args->run.in.fabric;
	char path[PATH_MAX];
	enum osr_status st;
	uint32_t n_known;

	if (!args->previous || !args->run.who.item[i].engine)
		return OSR_OK;
	st = cli_stored_read(cli_keep_path(&args->run.who, i, args->previous, path),
			     args->run.who.item[i].engine, &args->run.who.values[i],
			     &measured->previous, diag);
	if (!st && !osr_store_fits(&measured->previous.last, fabric, &n_known))
		st = osr_fail(diag, OSR_INVAL,
			      "%.300s: tables of another fabric (%u of %u LIDs are in both)", path,
			      n_known, fabric->n_dests);
	return st;
}

/* ---- the work ------------------------------------------------------------------------------- */

static void measured_free(struct cli_measured *measured)
{
	if (!measured)
		return;
	cli_tables_free(&measured->tables);
	cli_stored_free(&measured->previous);
	free(measured);
}

/* One engine's work on the fabric, or one file's tables: made, written, measured, said. */
static enum osr_status route_one(struct args *args, uint32_t i, struct osr_diag *diag)
{
	const struct cli_subject *subject = &args->run.who.item[i];
	struct cli_measured *measured = calloc(1, sizeof(*measured));
	enum osr_status st;

	if (!measured)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the figures");
	measured->name = cli_subject_name(subject);
	st = read_previous(args, i, measured, diag);
	if (!st) {
		cli_tables_make(&args->run.who, i, &args->run.in.fabric,
				args->previous && subject->engine ? &measured->previous.last : NULL,
				&measured->tables);
		if (measured->tables.st == OSR_INVAL || measured->tables.st == OSR_NOMEM) {
			*diag = measured->tables.diag;
			st = measured->tables.st;
		}
	}
	if (!st)
		st = cli_keep_tables(&args->keep, &args->run.who, i, &measured->tables,
				     &args->run.out, diag);
	if (!st)
		st = cli_measure(&args->measure, args->reference, measured, &args->run.out, diag);
	/* Asked for all, an engine for another kind of fabric gets no column. */
	if (!st && cli_subjects_skip(&args->run.who, i, &measured->tables)) {
		out_note(&args->run.out, "%s: %s", measured->name, measured->tables.diag.text);
	} else if (!st) {
		int said = cli_measured_say(&args->run.out, measured);

		/*
		 * One of all engines that promises no freedom from deadlock is there for
		 * comparison.
		 */
		if (said && (!args->run.who.all || !subject->engine || measured->tables.st ||
			     subject->engine->capabilities & OSR_ENGINE_DEADLOCK_FREE))
			args->run.code = said;
		if (args->is_report && measured->tables.st)
			fprintf(stderr, "osmroutes: %s: %s\n", measured->name,
				measured->tables.diag.text);
	}
	/* A page is about the first tables that there are. */
	if (!st && args->is_report && !args->reference && measured->has_figures)
		page_say(measured->fabric, &measured->tables.routing, &measured->found,
			 &args->run.out);
	else if (!st && args->is_report && !args->reference && !args->refused)
		args->refused =
			measured->found.changed
				? osr_fail(diag, OSR_INVAL, "no page: %s", CLI_FABRIC_CHANGED)
				: osr_fail(diag, measured->st, "no page: there are no tables");
	if (!st && !measured->tables.st) {
		args->n_done++;
		if (!args->reference)
			args->reference = measured;
		/* What the plugin would not take is not recommended. */
		if (measured->has_figures && !cli_is_refuted(&measured->found, OSR_REQUIRED))
			args->offer[i] = (struct offer){
				.name = measured->name,
				.verdict = osr_verdict_of(&measured->found.all, OSR_REQUIRED, NULL),
				.worth = measured->worth,
			};
	}
	if (measured != args->reference)
		measured_free(measured);
	return st;
}

static enum osr_status route_all(struct args *args)
{
	struct osr_diag *diag = &args->run.diag;
	struct out *out = &args->run.out;
	const struct cli_subjects *who = &args->run.who;
	uint32_t first = 0;
	/* UTC; of SOURCE_DATE_EPOCH, where pages are to be the same byte by byte. */
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	time_t now = epoch ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
	enum osr_status st;
	char date[32] = "";
	struct tm utc;

	if (args->is_report && gmtime_r(&now, &utc))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &utc);
	cli_run_say(&args->run, true);
	out_count(out, "bisections", args->measure.n_bisections);
	out_count(out, "seed", args->measure.seed);
	out_text(out, "command_line", args->is_report ? args->run.line : NULL);
	out_text(out, "date", args->is_report ? date : NULL);
	out_head(out, "%u random bisections from seed %llu", args->measure.n_bisections,
		 (unsigned long long)args->measure.seed);
	/*
	 * What the others are compared with: the first that was named; if no engine was, the first
	 * file or the live tables, or else dfsssp.
	 */
	for (uint32_t i = 0; i < who->n && who->all; i++)
		if (!who->item[i].engine) {
			first = i;
			break;
		} else if (!strcmp(who->item[i].engine->name, "dfsssp"))
			first = i;
	args->measure.compares = who->n > 1;
	st = route_one(args, first, diag);
	for (uint32_t i = 0; i < who->n && !st; i++)
		if (i != first)
			st = route_one(args, i, diag);
	if (!st && args->n_done > 1) {
		const struct offer *best = find_best(args);

		out_head(out, "paths and entries against %s", args->reference->name);
		if (best)
			out_note(out,
				 "recommended here: %s, verdict %s, %llu routes on the busiest "
				 "link, %u.%u %% effective bisection bandwidth on a sample of its "
				 "own, by the rule of the engine osmroutes",
				 best->name, osr_answer_name(best->verdict),
				 (unsigned long long)best->worth.efi, best->worth.ebb / 10000,
				 best->worth.ebb / 1000 % 10);
		else
			out_note(out, "none of them can be recommended: every verdict is refuted");
	}
	if (!st && args->is_report && !args->reference)
		st = args->refused;
	measured_free(args->reference);
	return st;
}

/* ---- the command line ----------------------------------------------------------------------- */

static const struct cli_option both_options[] = {
	{ CLI_PART(measure_spec, struct args, measure) },
	{ CLI_PART(input_spec, struct args, run.in) },
	{ CLI_PART(subjects_spec, struct args, run.who) },
	{ 0 },
};

static const struct cli_spec both_spec = { both_options };

static const struct cli_option options[] = {
	{ CLI_PART(keep_spec, struct args, keep) },
	{ "previous", "FILE",
	  "the sweep after this one: stored tables of route --save or of the plugin; several "
	  "engines: FILE.ENGINE each",
	  CLI_TEXT(struct args, previous) },
	{ "ibdmchk", NULL,
	  "with --dump: SLs for ibdmchk, a line for each end port and LID, which is long",
	  CLI_FLAG(struct args, keep.dump.long_sl) },
	{ "traffic", "FILE", "phases of a traffic file, may be repeated",
	  CLI_LIST(struct args, measure.path, measure.n_flows) },
	{ "hosts", "FILE",
	  "hosts of the ranks, one a line, rank 0 first (default: all, in the order of the fabric)",
	  CLI_TEXT(struct args, measure.hosts_path) },
	{ "runs", "N",
	  "random orders of the ranks on the hosts, besides the one given (default 25)",
	  CLI_NUMBER(struct args, measure.n_runs, 0, 1000000) },
	{ "seed", "N", "start of all random numbers (default 1)",
	  CLI_NUMBER(struct args, measure.seed, 0, INT64_MAX) },
	{ .part = &both_spec },
	{ 0 },
};

static const struct cli_option report_options[] = {
	{ "html", "FILE",
	  "write the page to FILE instead of standard output, if that is no terminal",
	  CLI_TEXT(struct args, html) },
	{ .part = &both_spec },
	{ 0 },
};

static enum osr_status report_parse(int key, const char *arg, void *args,
				    const struct cli_line *line)
{
	const struct args *a = args;

	(void)arg;
	if (key != CLI_ALL_WORDS)
		return OSR_NOT_APPLICABLE;
	if (a->run.out.format != OUT_PEOPLE && !a->html)
		return osr_fail(line->diag, OSR_INVAL,
				"--json and --csv need --html=FILE: the page would be on "
				"standard output as well");
	if (!a->html && isatty(STDOUT_FILENO))
		return osr_fail(line->diag, OSR_INVAL,
				"the report is an HTML page, not for a terminal: --html=FILE "
				"writes it to a file");
	return OSR_OK;
}

static enum osr_status route_work(void *args)
{
	struct args *a = args;
	struct cli_subjects *who = &a->run.who;
	struct cli_input *in = &a->run.in;
	struct osr_diag *diag = &a->run.diag, why;
	enum osr_status st, written;
	bool routes = false, reads = false;

	who->req.clock_ms = cli_cpu_ms;
	who->req.wall_ms = cli_wall_ms;
	a->run.out.terse = who->n > 1;
	st = cli_subjects_load(who, in, diag);
	for (uint32_t i = 0; i < who->n; i++)
		*(who->item[i].engine ? &routes : &reads) = true;
	if (!st)
		st = cli_keep_ready(&a->keep, who, diag);
	if (!st && !routes && a->previous)
		st = osr_fail(diag, OSR_INVAL,
			      "--previous is for tables of engines; there are none");
	if (!st)
		st = cli_measure_load(&a->measure, in, diag);
	if (!st && ((a->keep.dump.long_sl && !a->keep.dump.dir) ||
		    (a->measure.hosts_path && !a->measure.n_flows)))
		st = osr_fail(diag, OSR_INVAL,
			      "--ibdmchk is for --dump, and --hosts for --traffic");
	a->threads = osr_threads_of((uint32_t)who->options.own.num[OPT_THREADS]);
	who->threads = &a->threads;
	/* The net itself is needed once more only if tables are read or dumped. */
	if (!a->keep.dump.dir && !reads)
		osr_net_free(&in->net);
	if (!st)
		st = route_all(a);
	written = cli_measure_free(&a->measure, st ? &why : diag);
	st = st ? st : written;
	/* The page, if all other files are written. */
	if (!st && a->is_report)
		st = page_write(&a->run.out, a->html, diag);
	if (a->is_report && a->run.out.format == OUT_PEOPLE)
		out_drop(&a->run.out);
	return st;
}

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },    { "results", OUT_ACROSS, cli_result_fields },
	{ "hops", OUT_ROWS, cli_hop_fields },    { "patterns", OUT_ROWS, cli_traffic_fields },
	{ "loops", OUT_ROWS, cli_loops_fields }, { "answers", OUT_ROWS, answer_fields },
	{ "places", OUT_ROWS, place_fields },    { "cables", OUT_ROWS, cable_fields },
	{ "lanes", OUT_ROWS, lane_fields },      { 0 },
};

#define INITIAL .run = { CLI_RUN }, .measure = CLI_MEASURE_INIT

const struct cli_command cli_route = {
	"route",
	"route a fabric, check and measure the tables; compare several",
	CLI_LOOK,
	{ options, NULL, "FILE",
	  "Routes the fabric of FILE (of ibnetdiscover or ibsim, or an opensm-subnet.lst), or "
	  "reads its tables, checks them and measures them: verdict, load of the channels, "
	  "length of the routes, effective bisection bandwidth, traffic, virtual lanes, CPU "
	  "time. Several engines and tables are columns, compared with the first." },
	sections,
	CLI_ARGS(INITIAL),
	.work = route_work
};

const struct cli_command cli_report = {
	"report",
	"one HTML page about a routing, with pictures",
	CLI_LOOK,
	{ report_options, report_parse, "FILE",
	  "Writes one HTML page about a routing of the fabric of FILE: verdicts, what to do, "
	  "a picture of the fabric and its loads, the busiest channels by name, virtual lanes, "
	  "length of the routes; with further engines and tables beside it. The page needs no "
	  "network." },
	sections,
	CLI_ARGS(INITIAL, .is_report = true),
	.work = route_work
};
