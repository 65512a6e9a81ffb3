/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Routes a fabric, or reads tables, and measures both: several engines and files are columns; or
 * writes a page about them.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/measure.h"
#include "cli/page.h"
#include "conf/posix_threads.h"
#include "store/store.h"

struct args {
	struct cli_run run;
	struct cli_measure measure;
	struct cli_keep keep;
	const char *previous;
	/* `report`: a page instead of the table. */
	bool is_report;
	const char *html; /* its file; NULL: standard output */
	struct osr_threads threads;
	/*
	 * The set of tables that the others are compared with, and its number: the first that has
	 * figures; NULL: none yet.
	 */
	struct cli_measured *reference;
	uint32_t first;
	struct offer {
		const char *name; /* NULL: nothing that can be recommended */
		enum osr_answer verdict;
		struct osr_worth worth;
	} offer[CLI_MAX_SUBJECTS];
	uint32_t n_done;         /* tables with figures */
	enum osr_status refused; /* why the page has nothing to show of the first */
};

static const struct out_field head_fields[] = {
	CLI_INPUT_FIELDS,
	CLI_SUBJECTS_FIELDS,
	{ "bisections", NULL, OUT_COUNT },
	{ "seed", NULL, OUT_COUNT },
	{ "command_line", NULL, OUT_TEXT },
	{ "date", NULL, OUT_TEXT },
	{ 0 },
};

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
	if (!st && args->is_report && measured->has_figures) {
		if (!args->reference)
			page_say_first(measured, &args->run.out);
		st = page_say_loads(measured, &args->run.out, diag);
	} else if (!st && args->is_report && !args->reference && !args->refused) {
		args->refused =
			measured->found.changed
				? osr_fail(diag, OSR_INVAL, "no page: %s", CLI_FABRIC_CHANGED)
				: osr_fail(diag, measured->st, "no page: there are no tables");
	}
	if (!st && measured->has_figures) {
		args->n_done++;
		if (!args->reference) {
			args->reference = measured;
			args->first = i;
		}
		/* Tables that the plugin would not take are not recommended. */
		if (!cli_is_refuted(&measured->found, OSR_REQUIRED))
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
				 "link, effective bisection bw %.4f on a sample of its own, by the "
				 "rule of the engine osmroutes",
				 best->name, osr_answer_name(best->verdict),
				 (unsigned long long)best->worth.efi, best->worth.ebb / 1e6);
		else
			out_note(out, "none of them can be recommended: every verdict is refuted");
	}
	if (!st && args->is_report)
		st = args->reference ? page_say_gain(&args->run, args->first, args->reference, diag)
				     : args->refused;
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
	/*
	 * The net itself is needed once more only if tables are read or dumped, or a cable is added
	 * to it.
	 */
	if (!a->keep.dump.dir && !reads && !a->is_report)
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
	{ "summary", OUT_HEAD, head_fields },
	{ "results", OUT_ACROSS, cli_result_fields },
	{ "hops", OUT_ROWS, cli_hop_fields },
	{ "patterns", OUT_ROWS, cli_traffic_fields },
	{ "loops", OUT_ROWS, cli_loops_fields },
	PAGE_SECTIONS,
	{ 0 },
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
	  "pictures of the fabric and its loads, the busiest channels by name, virtual lanes, "
	  "length of the routes; with further engines and tables beside it. The page needs no "
	  "network." },
	sections,
	CLI_ARGS(INITIAL, .is_report = true),
	.work = route_work
};
