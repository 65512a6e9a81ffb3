/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Are these tables right, and as good as demanded? The verdict is that of verdict.h, with every
 * fault named. If no fault is found the checker has to agree, with the certificate found.
 */
#include <osmroutes/each.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/proved/gate.h"
#include "cli/cli.h"
#include "cli/keep.h"
#include "cli/load.h"
#include "cli/source.h"
#include "cli/verdicts.h"

struct args {
	struct cli_run run;
	struct cli_keep keep;
	uint32_t max_listed;
	const char *prom, *junit; /* files to be written, or NULL */
	/* Demands: */
	bool with_switches; /* all of it also of packets to and from port 0 of switches */
	uint32_t named; /* questions that must be proven; the others of OSR_REQUIRED not refuted */
	bool minimal;
	double max_load;    /* of the busiest channel over the least possible; 0: any */
	uint32_t min_hosts; /* end ports of CAs and routers */
};

/* One demand: a row of the output if it is on the command line, and a test case of JUnit's XML. */
struct demand {
	char name[40];
	bool asked, met;
	char message[512];
};

#define MAX_DEMANDS 32

struct outcome {
	struct cli_verdicts verdicts;
	bool checked; /* the checker was asked */
	struct osr_verdict verdict;
	enum osr_status check_st;
	uint32_t n_missing; /* switches without a table */
	struct cli_load load;
	struct cli_stamp time;
	struct demand demand[MAX_DEMANDS];
	uint32_t n_demands;
};

/* ---- the work ------------------------------------------------------------------------------- */

/* Do all pairs of ports carry these SLs to whatever is cabled, whether packets use them or not? */
static bool carries_all(const struct osr_fabric *fabric, const struct osr_tables *tables,
			uint32_t sls)
{
	for (uint32_t s = 0; tables->routing.sl2vl && s < fabric->n_switches; s++) {
		uint32_t n_channels = fabric->chan_row[s + 1] - fabric->chan_row[s];
		uint32_t n = n_channels + fabric->term_row[s + 1] - fabric->term_row[s];

		for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
			for (uint32_t i = 0; i < n; i++) {
				uint32_t c = fabric->chan_row[s] + i;
				uint32_t e = fabric->term_row[s] + i - n_channels;
				bool on = i < n_channels;
				uint8_t port = on ? fabric->chan_port[c] : fabric->term_port[e];
				uint8_t n_vls = on ? fabric->chan_vls[c] : OSR_MAX_VLS;

				for (unsigned sl = 0; port && sl < 16; sl++)
					if (sls >> sl & 1 &&
					    osr_tables_sl2vl(tables, s, in, port)[sl] >= n_vls)
						return false;
			}
	}
	return true;
}

/*
 * The checker knows SLs by switch and one SL2VL table for all CAs, and follows also the packets
 * that nobody sends, from port 0 to port 0. It must agree about tables without a fault; multicast
 * tables it does not know. It has judged an engine's already.
 */
static void ask_checker(struct args *args, struct outcome *outcome, uint32_t *rank)
{
	const struct cli_run *src = &args->run;
	struct osr_routing routing = *src->tables.gen.routing;
	const struct osr_findings *found = &outcome->verdicts.all;
	bool all = found->on[OSR_ASK_REPLIES].answer == OSR_PROVEN;
	size_t n_entries = (size_t)src->in.fabric.n_dests * src->in.fabric.n_switches;
	uint32_t sls = routing.sl ? 0 : 0xffff; /* in use */

	for (size_t i = 0; routing.sl && i < n_entries; i++)
		sls |= 1u << routing.sl[i];
	outcome->checked = src->is_engine;
	if (outcome->checked || osr_verdict_of(found, OSR_REQUIRED, NULL) != OSR_PROVEN ||
	    found->audit.n_idle || src->tables.gen.paths || !src->tables.same_ca ||
	    !carries_all(&src->in.fabric, &src->tables.tables, sls))
		return;
	routing.claims = found->audit.n_longer ? 0 : OSR_CLAIM_MINIMAL;
	routing.claims |= all ? OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE : 0;
	routing.rank = all ? rank : NULL;
	for (unsigned sl = 0; routing.sl2vl && !routing.sl && sl < 16; sl++)
		if (routing.ca_sl2vl[sl] >= routing.n_vls)
			return;
	outcome->checked = true;
	outcome->check_st = osr_check(&src->in.fabric, &routing, &args->run.scratch,
				      &outcome->verdict, &args->run.diag);
	if (!outcome->check_st)
		outcome->check_st =
			osr_gate(&src->in.fabric, &routing, &args->run.scratch, &args->run.diag);
}

static enum osr_status check_verify_tables(struct args *args, struct outcome *outcome)
{
	const struct osr_fabric *fabric = &args->run.in.fabric;
	struct cli_stamp start = cli_now();
	uint32_t *rank = osr_alloc(&args->run.result, (size_t)OSR_MAX_VLS * fabric->n_channels,
				   sizeof(*rank));
	struct osr_inquiry ask = { .fabric = fabric,
				   .gen = &args->run.tables.gen,
				   .max_listed = args->max_listed,
				   .rank = rank };
	struct cli_bounds bounds;
	enum osr_status st;

	if (osr_arena_failed(&args->run.result, &args->run.diag))
		return OSR_NOMEM;
	st = cli_verify(&ask, &args->run.scratch, &args->run.result, &outcome->verdicts,
			&args->run.diag);
	if (!st)
		ask_checker(args, outcome, rank);
	if (!st)
		st = cli_bounds_of(fabric, &args->run.scratch, &bounds, &args->run.diag);
	if (!st)
		st = cli_load_of(fabric, args->run.tables.gen.routing, &outcome->verdicts.all.audit,
				 &bounds, &args->run.scratch, &outcome->load, &args->run.diag);
	for (uint32_t s = 0; s < fabric->n_switches && !args->run.is_engine; s++)
		outcome->n_missing += !args->run.tables.tables.has_lft[s];
	outcome->time = cli_since(start);
	return st;
}

/* ---- demands -------------------------------------------------------------------------------- */

static const struct {
	const char *word;
	uint32_t bits;
} known[] = {
	{ "deadlock-free", 1u << OSR_ASK_ONE_WAY | 1u << OSR_ASK_MULTICAST },
	{ "replies", 1u << OSR_ASK_REPLIES },
	{ "any-sl", 1u << OSR_ASK_ANY_SL },
	{ "sl0", 1u << OSR_ASK_SL0 },
};

#define N_KNOWN (sizeof(known) / sizeof(known[0]))

static void __attribute__((format(printf, 5, 6)))
add_demand(struct outcome *outcome, const char *name, bool asked, bool met, const char *fmt, ...)
{
	struct demand *demand = &outcome->demand[outcome->n_demands++];
	va_list ap;

	*demand = (struct demand){ .asked = asked, .met = met };
	snprintf(demand->name, sizeof(demand->name), "%s", name);
	va_start(ap, fmt);
	vsnprintf(demand->message, sizeof(demand->message), fmt, ap);
	va_end(ap);
}

/* Of several questions the worst answer, and why. A question without a name must not be refuted. */
static void judge_answer(struct outcome *outcome, const struct osr_findings *found,
			 const char *name, uint32_t questions, bool is_named)
{
	enum osr_question which;
	enum osr_answer answer = osr_verdict_of(found, questions, &which);
	const char *why = which == OSR_N_QUESTIONS ? "" : found->on[which].why;

	if (questions & found->applies)
		add_demand(outcome, name, is_named,
			   is_named ? answer == OSR_PROVEN : answer != OSR_REFUTED, "%s%s%s",
			   osr_answer_name(answer), *why ? ": " : "", why);
}

/* Figures of a fabric that changed while it was read meet nothing. */
static void judge_unknown(const struct args *args, struct outcome *outcome)
{
	const struct {
		const char *name;
		bool asked;
	} figures[] = { { "minimal", args->minimal },
			{ "max-load", args->max_load > 0 },
			{ "min-hosts", args->min_hosts > 0 } };

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (figures[i].asked)
			add_demand(outcome, figures[i].name, true, false, "unknown: %s",
				   CLI_FABRIC_CHANGED);
}

static void judge(const struct args *args, struct outcome *outcome)
{
	const struct osr_fabric *fabric = &args->run.in.fabric;
	const struct osr_audit *audit = &outcome->verdicts.all.audit;
	uint32_t n = 0;

	outcome->n_demands = 0;
	for (unsigned q = OSR_ASK_REACH; q <= OSR_ASK_GROUPS; q++)
		judge_answer(outcome, &outcome->verdicts.hosts,
			     osr_question_name((enum osr_question)q), 1u << q, false);
	for (size_t i = 0; i < N_KNOWN; i++)
		if ((OSR_REQUIRED | args->named) & known[i].bits)
			judge_answer(outcome, &outcome->verdicts.hosts, known[i].word,
				     known[i].bits, (args->named & known[i].bits) != 0);
	if (args->with_switches)
		judge_answer(outcome, &outcome->verdicts.all, "switches",
			     OSR_REQUIRED | args->named, true);
	if (outcome->verdicts.changed) {
		judge_unknown(args, outcome);
		return;
	}
	if (args->minimal)
		add_demand(outcome, "minimal", true, !audit->n_longer,
			   "%" PRIu64 " of %" PRIu64 " routes are longer than minimal",
			   audit->n_longer, audit->n_routes);
	if (args->max_load > 0)
		add_demand(outcome, "max-load", true, !(outcome->load.first > args->max_load),
			   "the busiest link carries %.3f times the least possible (%.10g of "
			   "%.10g routes); at most %g is allowed",
			   isnan(outcome->load.first) ? 1 : outcome->load.first,
			   audit->efi_per_capacity, outcome->load.bound.first, args->max_load);
	OSR_EVERY_TERMINAL(t, fabric)
		n += fabric->term_role[t] != OSR_ROLE_SP0;
	if (args->min_hosts)
		add_demand(outcome, "min-hosts", true, n >= args->min_hosts,
			   "%u end ports of CAs and routers; at least %u are required", n,
			   args->min_hosts);
}

/* ---- JUnit's XML ---------------------------------------------------------------------------- */

/* A text of the fabric's may hold bytes that XML has no way to say: they are written as "?". */
static void write_attribute(FILE *out, const char *name, const char *text)
{
	static const char marks[] = "&<>\"";
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;" };

	fprintf(out, " %s=\"", name);
	for (const char *c = text ? text : ""; *c; c++) {
		const char *mark = strchr(marks, *c);

		if (mark)
			fputs(entities[mark - marks], out);
		else
			putc((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f ? '?' : *c, out);
	}
	putc('"', out);
}

/* kind: "failure" or "error", NULL if all is well. */
static void write_case(FILE *out, const char *fabric, const char *name, const char *kind,
		       const char *message)
{
	fputs("  <testcase", out);
	write_attribute(out, "classname", fabric);
	write_attribute(out, "name", name);
	fprintf(out, " time=\"0\"%s", kind ? ">\n   <" : "/>\n");
	if (!kind)
		return;
	fputs(kind, out);
	write_attribute(out, "message", message);
	fputs("/>\n  </testcase>\n", out);
}

/*
 * All demands as JUnit's XML; `kind` of one that is not met: "failure", or "error" where nothing
 * could be judged, and there may be neither a fabric nor tables. OSR_INVAL: it cannot be written.
 */
static enum osr_status write_junit(const struct args *args, const struct outcome *outcome,
				   double seconds, const char *kind, struct osr_diag *diag)
{
	const char *fabric = cli_input_name(&args->run.in);
	FILE *out = fopen(args->junit, "w");
	bool is_error = *kind == 'e';
	uint32_t n_failed = 0;

	for (uint32_t i = 0; i < outcome->n_demands; i++)
		n_failed += !outcome->demand[i].met;
	if (out) {
		fprintf(out,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n <testsuite "
			"name=\"osmroutes check\" tests=\"%u\" failures=\"%u\" errors=\"%u\" "
			"time=\"%.3f\">\n",
			outcome->n_demands, is_error ? 0 : n_failed, is_error ? n_failed : 0,
			seconds);
		if (!is_error) {
			fputs("  <properties>\n   <property name=\"tables\"", out);
			write_attribute(out, "value", cli_run_name(&args->run));
			fputs("/>\n  </properties>\n", out);
		}
		for (uint32_t i = 0; i < outcome->n_demands; i++)
			write_case(out, fabric, outcome->demand[i].name,
				   outcome->demand[i].met ? NULL : kind,
				   outcome->demand[i].message);
		fputs(" </testsuite>\n</testsuites>\n", out);
	}
	return cli_written(out, args->junit, diag);
}

/* ---- output ---------------------------------------------------------------------------------- */

static const struct out_field head_fields[] = {
	CLI_INPUT_FIELDS,
	CLI_SUBJECTS_FIELDS,
	{ "engine", NULL, OUT_TEXT },
	CLI_TABLES_FIELDS,
	{ "check_ms.cpu", NULL, OUT_REAL, 1 },
	{ "check_ms.wall", NULL, OUT_REAL, 1 },
	{ 0 },
};

#define OF(member) OUT_OF(struct outcome, member)

/* Beside the bits of questions. */
enum { SEVERAL_LIDS = 1 << OSR_N_QUESTIONS };

static const struct out_field verdict_fields[] = {
	CLI_ANSWER_FIELDS,
	{ "checker", "independent checker", OUT_TEXT },
	{ "entries", "entries (switch, LID)", OUT_COUNT, 0, OF(verdicts.all.audit.n_entries) },
	{ "routes", "routes that arrive", OUT_COUNT, 0, OF(verdicts.all.audit.n_routes) },
	{ "routes_longer", "  longer than minimal", OUT_COUNT, 0, OF(verdicts.all.audit.n_longer) },
	{ "max_longer", "    by channels, at most", OUT_COUNT, 0,
	  OF(verdicts.all.audit.max_longer) },
	{ "max_hops", "  longest, channels", OUT_COUNT, 0, OF(verdicts.all.audit.max_hops) },
	{ "no_path", "in disconnected parts", OUT_COUNT, 0, OF(verdicts.all.audit.n_no_path) },
	{ "idle", "invalid, unused by traffic", OUT_COUNT, 0, OF(verdicts.all.audit.n_idle) },
	{ "lost", "pairs of hosts cut off", OUT_COUNT, 0, OF(verdicts.all.audit.n_lost) },
	{ "efi", "edge forwarding index", OUT_COUNT, 0, OF(verdicts.all.audit.efi) },
	{ "efi_mean", "  average", OUT_REAL, 1, OF(verdicts.all.audit.efi_mean) },
	{ "efi_per_capacity", "  scaled by link speed", OUT_REAL, 1,
	  OF(verdicts.all.audit.efi_per_capacity) },
	{ "efi_bound", "    least possible", OUT_REAL, 1, OF(load.bound.first) },
	{ "load", "    times the least possible", OUT_REAL, 3, OF(load.first) },
	CLI_LOAD_ALL_FIELDS(struct outcome, verdicts.all.audit, SEVERAL_LIDS),
	CLI_SPLIT_FIELDS(struct outcome, SEVERAL_LIDS),
	{ "faults.no_table", "switches without a table", OUT_COUNT, 0, OF(n_missing) },
	{ "faults.hole", "holes", OUT_COUNT, 0, OF(verdicts.all.audit.n_faults[OSR_FAULT_HOLE]) },
	{ "faults.dead_end", "dead ends", OUT_COUNT, 0,
	  OF(verdicts.all.audit.n_faults[OSR_FAULT_DEAD_END]) },
	{ "faults.wrong_port", "wrong ports", OUT_COUNT, 0,
	  OF(verdicts.all.audit.n_faults[OSR_FAULT_WRONG_PORT]) },
	{ "faults.loop", "loops", OUT_COUNT, 0, OF(verdicts.all.audit.n_faults[OSR_FAULT_LOOP]) },
	{ "faults.no_sl", "paths without an SL", OUT_COUNT, 0,
	  OF(verdicts.all.audit.n_faults[OSR_FAULT_NO_SL]) },
	{ "faults.sl2vl", "wrong SL2VL entries", OUT_COUNT, 0,
	  OF(verdicts.all.audit.n_faults[OSR_FAULT_SL2VL]) },
	{ "faults.multicast_loop", "multicast groups that loop", OUT_COUNT, 0,
	  OF(verdicts.all.audit.n_faults[OSR_FAULT_GROUP_LOOP]), 1u << OSR_ASK_GROUPS },
	{ "faults.multicast_split", "multicast members cut off", OUT_COUNT, 0,
	  OF(verdicts.all.audit.n_faults[OSR_FAULT_GROUP_SPLIT]), 1u << OSR_ASK_GROUPS },
	{ 0 },
};

static const struct out_field fault_fields[] = {
	{ "kind", "fault", OUT_TEXT },
	{ "switch", NULL, OUT_TEXT },
	{ "guid", NULL, OUT_GUID },
	{ "in", NULL, OUT_COUNT },
	{ "out", NULL, OUT_COUNT },
	{ "lid", NULL, OUT_COUNT },
	{ "end_port", NULL, OUT_TEXT },
	{ "sl", NULL, OUT_COUNT },
	{ "vl", NULL, OUT_COUNT },
	{ "hosts", NULL, OUT_COUNT },
	{ "message", "what is wrong", OUT_TEXT },
	{ 0 },
};

static const struct out_field demand_fields[] = {
	{ "name", "requirement", OUT_TEXT },
	{ "met", "met", OUT_BOOL },
	{ "message", "found", OUT_TEXT },
	{ 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },        { "verdict", OUT_ONE, verdict_fields },
	{ "requirements", OUT_ROWS, demand_fields }, { "faults", OUT_ROWS, fault_fields },
	{ "loop", OUT_ROWS, cli_loop_fields },       { 0 },
};

static void check_say_fault(const struct osr_fabric *fabric, struct out *out,
			    const struct osr_fault *fault)
{
	bool of_sl = fault->kind == OSR_FAULT_SL2VL;
	uint32_t sw = fault->sw;
	struct osr_diag diag;
	char buf[32], end[32];

	osr_fault_say(fabric, fault, &diag);
	OUT_ADD(out, "faults", osr_fault_name(fault->kind),
		sw == OSR_NONE ? OUT_NO_TEXT : osr_switch_name(fabric, sw, buf),
		sw == OSR_NONE ? OUT_NO_COUNT : fabric->sw_guid[sw],
		sw == OSR_NONE || fault->in == OSR_NO_PATH ? OUT_NO_COUNT : fault->in,
		sw == OSR_NONE ? OUT_NO_COUNT : fault->out,
		fault->dest != OSR_NONE ? fabric->dest_lid[fault->dest]
		: fault->mlid           ? fault->mlid
					: OUT_NO_COUNT,
		fault->term == OSR_NONE ? OUT_NO_TEXT : osr_terminal_name(fabric, fault->term, end),
		of_sl ? fault->sl : OUT_NO_COUNT, of_sl ? fault->vl : OUT_NO_COUNT, fault->n_hosts,
		diag.text);
}

static int check_say(struct args *args, struct outcome *outcome)
{
	struct cli_run *src = &args->run;
	struct out *out = &args->run.out;
	const struct osr_audit *audit = &outcome->verdicts.all.audit;
	uint32_t required = OSR_REQUIRED | args->named;
	int code;

	if (src->is_engine) {
		cli_subjects_say(&src->who, out);
		out_text(out, "engine", cli_run_name(src));
	} else {
		cli_tables_say(&src->who.how, &src->tables, out);
	}
	out_real(out, "check_ms.cpu", outcome->time.cpu);
	out_real(out, "check_ms.wall", outcome->time.wall);
	out_row(out, "verdict");
	code = cli_verdicts_say(out, NULL, &outcome->verdicts, required);
	out_text(out, "checker",
		 !outcome->checked   ? "not asked"
		 : outcome->check_st ? "REFUSES"
				     : "agrees");
	if (outcome->check_st) {
		out_note(out, "the checker: %s", args->run.diag.text);
		code = CLI_BAD;
	}
	if (!outcome->verdicts.changed)
		out_members(out, verdict_fields, outcome,
			    outcome->verdicts.all.applies |
				    (outcome->load.n_lids > 1 ? SEVERAL_LIDS : 0));
	for (unsigned i = 0; i < OSR_N_FAULTS && !outcome->verdicts.changed; i++)
		if (audit->n_faults[i] > args->max_listed)
			out_note(out, "%s: %u of %" PRIu64 " are listed (--max)", osr_fault_name(i),
				 args->max_listed, audit->n_faults[i]);
	for (uint32_t i = 0; i < outcome->n_demands; i++) {
		code |= outcome->demand[i].met ? CLI_OK : CLI_BAD;
		if (!outcome->demand[i].asked)
			continue;
		OUT_ADD(out, "requirements", outcome->demand[i].name, outcome->demand[i].met,
			outcome->demand[i].message);
	}
	for (uint32_t i = 0; i < audit->n_listed && !outcome->verdicts.changed; i++)
		check_say_fault(&src->in.fabric, out, &audit->fault[i]);
	cli_verdicts_witness(out, NULL, &src->in.fabric, &outcome->verdicts, required);
	return code;
}

/* ---- for Prometheus -------------------------------------------------------------------------- */

static void write_answers(FILE *out, const char *name, const char *help,
			  const struct osr_findings *found)
{
	fprintf(out,
		"# HELP osmroutes_check_%s %s: 1 proven, 0 unknown, -1 refuted.\n"
		"# TYPE osmroutes_check_%s gauge\n",
		name, help, name);
	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++)
		if (found->applies >> question & 1)
			fprintf(out, "osmroutes_check_%s{question=\"%s\"} %d\n", name,
				osr_question_name(question),
				(found->on[question].answer == OSR_PROVEN) -
					(found->on[question].answer == OSR_REFUTED));
}

/*
 * Replaces the file in one step, so that no reader sees half of it: it is written as .NAME.new
 * beside it first. OSR_INVAL names the file that could not be written; the old one then stays.
 */
static enum osr_status write_prom(const char *path, const struct outcome *outcome, double seconds,
				  struct osr_diag *diag)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;
	char hidden[PATH_MAX];
	FILE *out;
	bool bad;
	struct stat there;
	const struct osr_audit *audit = &outcome->verdicts.all.audit;
	const struct {
		const char *name, *help;
		double value;
	} gauges[] = {
		{ "time_seconds", "When the tables were verified.", (double)time(NULL) },
		{ "duration_seconds", "Time to read and verify the tables.", seconds },
		{ "routes_busiest", "Routes between end ports on the busiest link.",
		  (double)audit->efi },
		{ "efi_per_capacity", "The same, scaled by link speed.", audit->efi_per_capacity },
		{ "efi_bound", "No routing has less on its busiest link, scaled by link speed.",
		  outcome->load.bound.first },
		{ "routes", "Routes from switches to LIDs that arrive.", (double)audit->n_routes },
		{ "routes_longer", "Routes longer than minimal.", (double)audit->n_longer },
		{ "pairs_lost", "Pairs of hosts that are cut off.", (double)audit->n_lost },
	};

	/* Not a device, a pipe or a link. */
	if (!lstat(path, &there) && !S_ISREG(there.st_mode))
		return osr_fail(diag, OSR_INVAL, "%.300s is no regular file", path);
	if (snprintf(hidden, sizeof(hidden), "%.*s.%s.new", (int)n, path, path + n) >=
	    (int)sizeof(hidden))
		return osr_fail(diag, OSR_INVAL, "%.200s: the name is too long", path);
	out = fopen(hidden, "w");
	if (!out)
		return osr_fail(diag, OSR_INVAL, "%.300s: %s", hidden, strerror(errno));
	errno = 0;
	/*
	 * Of a fabric that changed while it was read there are no figures, but for the first two.
	 */
	for (size_t i = 0; i < (outcome->verdicts.changed ? 2 : sizeof(gauges) / sizeof(gauges[0]));
	     i++)
		fprintf(out,
			"# HELP osmroutes_check_%s %s\n# TYPE osmroutes_check_%s gauge\n"
			"osmroutes_check_%s %.17g\n",
			gauges[i].name, gauges[i].help, gauges[i].name, gauges[i].name,
			gauges[i].value);
	write_answers(out, "answer", "Of packets between hosts", &outcome->verdicts.hosts);
	write_answers(out, "answer_with_switches",
		      "Of all packets, also to and from port 0 of switches",
		      &outcome->verdicts.all);
	bad = ferror(out) != 0;
	/* A full disk may show only when the file is closed. */
	if (!fclose(out) && !bad && !rename(hidden, path))
		return OSR_OK;
	osr_fail(diag, OSR_INVAL, "%.300s: %s", path, errno ? strerror(errno) : "cannot write");
	unlink(hidden);
	return OSR_INVAL;
}

/* ---- the command line ----------------------------------------------------------------------- */

enum { OPT_REQUIRE = 256, OPT_MAX_LOAD };

static const struct cli_option options[] = {
	{ "max", "N", "list at most N faults of each kind (default 10)",
	  CLI_NUMBER(struct args, max_listed, 0, 1000000) },
	{ "prom", "FILE", "write the verdict to FILE for the textfile collector of Prometheus",
	  CLI_TEXT(struct args, prom) },
	{ .doc = "Requirements:" },
	{ "require", "WORDS",
	  "exit code 1 unless proven: deadlock-free, replies, any-sl, sl0, minimal, switches (all "
	  "of it also for packets to and from port 0 of switches). Without it only lost packets "
	  "and "
	  "credit loops of requests and multicast between hosts count, not replies",
	  .words = "deadlock-free|replies|any-sl|sl0|minimal|switches", .key = OPT_REQUIRE },
	{ "max-load", "X",
	  "exit code 1 if the busiest link carries more than X times the least possible",
	  .key = OPT_MAX_LOAD },
	{ "min-hosts", "N", "exit code 1 if the fabric has fewer end ports of CAs and routers",
	  CLI_NUMBER(struct args, min_hosts, 1, 1000000) },
	{ "junit", "FILE", "write the requirements to FILE as JUnit XML",
	  CLI_TEXT(struct args, junit) },
	{ CLI_PART(keep_spec, struct args, keep) },
	{ CLI_PART(ask_spec, struct args, run) },
	{ 0 },
};

static enum osr_status check_parse(int key, const char *arg, void *args,
				   const struct cli_line *line)
{
	struct args *a = args;
	char *end;

	switch (key) {
	case OPT_REQUIRE:
		if (!*arg)
			return osr_fail(line->diag, OSR_INVAL, "require \"\": no requirement");
		for (size_t n; *arg; arg += n + (arg[n] == ',')) {
			uint32_t bits = 0;

			n = strcspn(arg, ",");
			for (size_t i = 0; i < N_KNOWN; i++)
				if (n == strlen(known[i].word) && !memcmp(known[i].word, arg, n))
					bits = known[i].bits;
			if (n == strlen("minimal") && !memcmp("minimal", arg, n))
				a->minimal = true;
			else if (n == strlen("switches") && !memcmp("switches", arg, n))
				a->with_switches = true;
			else if (!bits)
				return osr_fail(
					line->diag, OSR_INVAL,
					"require \"%.*s\": expected deadlock-free, replies, "
					"any-sl, sl0, minimal or switches",
					(int)n, arg);
			a->named |= bits;
		}
		return OSR_OK;
	case OPT_MAX_LOAD:
		a->max_load = strtod(arg, &end);
		if (end == arg || *end || !(a->max_load >= 1 && a->max_load <= 1e6))
			return osr_fail(line->diag, OSR_INVAL,
					"max-load \"%s\": expected a number from 1 on, as in 1.2",
					arg);
		return OSR_OK;
	default:
		return OSR_NOT_APPLICABLE;
	}
}

/* Is something refuted, or not met? */
static bool has_alarm(const struct args *args, const struct outcome *outcome)
{
	bool met = !cli_is_refuted(&outcome->verdicts, OSR_REQUIRED | args->named);

	for (uint32_t i = 0; i < outcome->n_demands; i++)
		met &= outcome->demand[i].met;
	return !met;
}

/*
 * The subnet administrator has to serve a whole fabric: it is asked for SLs only where some answer is not proven for
 * all of them, or they are to be kept.
 */
static enum osr_status verify_live(struct args *args, struct outcome *outcome)
{
	const uint32_t all = OSR_REQUIRED | 1u << OSR_ASK_REPLIES | 1u << OSR_ASK_ANY_SL;
	struct cli_run *run = &args->run;
	struct cli_reading *how = &run->who.how;
	bool is_first = run->in.is_live && !run->is_engine && how->sls.sa == CLI_SA_AUTO &&
			how->sl < 0 && !args->keep.save && !args->keep.dump.dir;
	enum osr_status st;

	if (is_first)
		how->sls.sa = CLI_SA_NONE;
	st = cli_run_tables(run);
	if (!st)
		st = check_verify_tables(args, outcome);
	if (st || !is_first || osr_verdict_of(&outcome->verdicts.all, all, NULL) == OSR_PROVEN)
		return st;
	how->sls.sa = CLI_SA_AUTO;
	cli_tables_free(&run->tables);
	cli_tables_make(&run->who, 0, &run->in.fabric, NULL, &run->tables);
	run->diag = run->tables.diag;
	return run->tables.st ? run->tables.st : check_verify_tables(args, outcome);
}

static enum osr_status check_work(void *args)
{
	struct args *a = args;
	struct cli_stamp start = cli_now();
	struct outcome outcome = { 0 };
	struct osr_diag *diag = &a->run.diag;
	enum osr_status st = cli_run_fabric(&a->run);
	double seconds;

	if (!st)
		st = cli_keep_ready(&a->keep, &a->run.who, diag);
	if (!st && a->run.is_engine && a->run.who.how.sl >= 0)
		st = osr_fail(diag, OSR_INVAL,
			      "--sl is for tables that are read: route --save=FILE "
			      "and check --tables=FILE");
	if (!st)
		st = verify_live(a, &outcome);
	if (!st)
		st = cli_keep_tables(&a->keep, &a->run.who, 0, &a->run.tables, &a->run.out, diag);
	if (st)
		return st;
	judge(a, &outcome);
	if (has_alarm(a, &outcome)) {
		st = cli_verdicts_confirm(&outcome.verdicts, &a->run.tables, &a->run.in, diag);
		judge(a, &outcome);
	}
	if (st)
		return st;
	a->run.code = check_say(a, &outcome);
	seconds = cli_since(start).wall / 1e3;
	if (a->prom)
		st = write_prom(a->prom, &outcome, seconds, diag);
	if (!st && a->junit)
		st = write_junit(a, &outcome, seconds, "failure", diag);
	return st;
}

/* A build that gets no verdict gets the reason, in place of an XML of an earlier run. */
static enum osr_status check_failed(void *args, const char *why, struct osr_diag *diag)
{
	const struct args *a = args;
	struct outcome outcome = { 0 };

	add_demand(&outcome, "tables", true, false, "%s", why);
	return a->junit ? write_junit(a, &outcome, 0, "error", diag) : OSR_OK;
}

const struct cli_command cli_check = {
	"check",
	"verify tables: OpenSM's dumps, the live fabric, an engine's",
	CLI_LOOK,
	{ options, check_parse, "FILE|DIR",
	  "Verifies the tables of a fabric, from any source: reach, loops, lengths, SLs and "
	  "VLs, multicast, credit loops. FILE is the fabric; DIR holds OpenSM's dumps, fabric "
	  "and tables; -e verifies what an engine makes." },
	sections,
	CLI_ARGS(.run = { CLI_RUN_VERDICT, .needs_tables = true }, .max_listed = 10),
	.work = check_work,
	.failed = check_failed
};
