/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Are these tables right, and as good as is demanded? The verdict is that of verdict.h, with every fault
 * named; where nothing is wrong the checker has to agree, with the certificate found.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/paths/bound.h"
#include "core/proved/gate.h"
#include "core/verify/verdict.h"
#include "cli/answers.h"
#include "cli/cli.h"
#include "cli/require.h"
#include "cli/subject.h"

struct args {
	struct cli_ask ask;
	struct cli_require require;
	uint32_t max_listed;
	const char *prom;
	bool only_hosts;
};

struct outcome {
	struct osr_arena scratch, result;
	struct osr_findings found;
	bool checked; /* the checker was asked */
	struct osr_verdict verdict;
	enum osr_status check_st;
	struct osr_diag diag;
	uint32_t n_missing; /* switches without a table */
	uint64_t bound;     /* no routing has a lower edge forwarding index */
	struct cli_stamp time;
};

/* ---- the work ------------------------------------------------------------------------------- */

static uint32_t sls_in_use(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	uint32_t sls = 0;

	for (size_t i = 0; routing->sl && i < (size_t)fabric->n_dests * fabric->n_switches; i++)
		sls |= 1u << routing->sl[i];
	return routing->sl ? sls : 0xffff;
}

static bool check_carries(const uint8_t *table, uint32_t sls, unsigned n_vls)
{
	for (; sls; sls &= sls - 1)
		if (table[__builtin_ctz(sls)] >= n_vls)
			return false;
	return true;
}

/* Do all pairs of ports carry these SLs to whatever is cabled, whether packets use them or not? */
static bool carries_all(const struct args *a, uint32_t sls)
{
	const struct osr_fabric *fabric = &a->ask.src.in.fabric;
	const struct osr_tables *tables = &a->ask.src.dumps.t;

	for (uint32_t s = 0; tables->routing.sl2vl && s < fabric->n_switches; s++)
		for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++) {
			for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++)
				if (!check_carries(
					    osr_tables_sl2vl(tables, s, in, fabric->chan_port[c]),
					    sls, fabric->chan_vls[c]))
					return false;
			for (uint32_t e = fabric->term_row[s]; e < fabric->term_row[s + 1]; e++)
				if (fabric->term_port[e] &&
				    !check_carries(
					    osr_tables_sl2vl(tables, s, in, fabric->term_port[e]),
					    sls, OSR_MAX_VLS))
					return false;
		}
	return true;
}

/*
 * The checker knows SLs by switch and one SL2VL table for all CAs, and follows also the packets that
 * nobody sends, from port 0 to port 0. It must agree about tables without
 * a fault; multicast tables it does not know. It has judged an engine's already.
 */
static void ask_checker(struct args *a, struct outcome *o, uint32_t *rank)
{
	const struct cli_source *src = &a->ask.src;
	struct osr_routing routing = *src->gen.routing;
	const struct osr_findings *found = &o->found;
	bool all = found->on[OSR_ASK_REPLIES].answer == OSR_PROVEN;

	o->checked = src->is_engine;
	if (o->checked || osr_verdict_of(found, OSR_REQUIRED, NULL) != OSR_PROVEN ||
	    a->only_hosts || found->audit.n_idle || src->gen.paths || !src->dumps.same_ca ||
	    !carries_all(a, sls_in_use(&src->in.fabric, &routing)))
		return;
	routing.claims = found->audit.n_longer ? 0 : OSR_CLAIM_MINIMAL;
	routing.claims |= all ? OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE : 0;
	routing.rank = all ? rank : NULL;
	for (unsigned sl = 0; routing.sl2vl && !routing.sl && sl < 16; sl++)
		if (routing.ca_sl2vl[sl] >= routing.n_vls)
			return;
	o->checked = true;
	o->check_st = osr_check(&src->in.fabric, &routing, &o->scratch, &o->verdict, &o->diag);
	if (!o->check_st)
		o->check_st = osr_gate(&src->in.fabric, &routing, &o->scratch, &o->diag);
}

static enum osr_status check_verify_tables(struct args *a, struct outcome *o)
{
	const struct osr_fabric *fabric = &a->ask.src.in.fabric;
	struct cli_stamp start = cli_now();
	uint32_t *rank =
		osr_alloc(&o->result, (size_t)OSR_MAX_VLS * fabric->n_channels, sizeof(*rank));
	struct osr_inquiry ask = { .f = fabric,
				   .gen = &a->ask.src.gen,
				   .scope = a->only_hosts ? OSR_ONLY_HOSTS : 0,
				   .max_listed = a->max_listed,
				   .rank = rank };
	enum osr_status st;

	if (osr_arena_failed(&o->result, &o->diag))
		return OSR_NOMEM;
	st = osr_verify(&ask, &o->scratch, &o->result, &o->found, &o->diag);
	if (!st)
		ask_checker(a, o, rank);
	if (!st)
		st = osr_bound_load(fabric, &o->scratch, &o->bound, &o->diag);
	for (uint32_t s = 0; s < fabric->n_switches && !a->ask.src.is_engine; s++)
		o->n_missing += !a->ask.src.dumps.t.has_lft[s];
	o->time = cli_since(start);
	return st;
}

/* ---- what is said --------------------------------------------------------------------------- */

static const struct out_field head_fields[] = {
	CLI_INPUT_FIELDS,
	CLI_SUBJECTS_FIELDS,
	{ "engine", NULL, OUT_TEXT, 0 },
	CLI_DUMPS_FIELDS,
	{ "check_ms.cpu", NULL, OUT_REAL, 1 },
	{ "check_ms.wall", NULL, OUT_REAL, 1 },
	{ 0 },
};

#define OF(member) OUT_OF(struct outcome, member)

static const struct out_field verdict_fields[] = {
	CLI_ANSWER_FIELDS,
	{ "checker", "independent checker", OUT_TEXT },
	{ "entries", "entries (switch, LID)", OUT_COUNT, 0, OF(found.audit.n_entries) },
	{ "routes", "routes that arrive", OUT_COUNT, 0, OF(found.audit.n_routes) },
	{ "routes_longer", "  longer than minimal", OUT_COUNT, 0, OF(found.audit.n_longer) },
	{ "max_longer", "    by channels, at most", OUT_COUNT, 0, OF(found.audit.max_longer) },
	{ "max_hops", "  longest, channels", OUT_COUNT, 0, OF(found.audit.max_hops) },
	{ "no_path", "in disconnected parts", OUT_COUNT, 0, OF(found.audit.n_no_path) },
	{ "idle", "invalid, unused by traffic", OUT_COUNT, 0, OF(found.audit.n_idle) },
	{ "lost", "pairs of hosts cut off", OUT_COUNT, 0, OF(found.audit.n_lost) },
	{ "efi", "edge forwarding index", OUT_COUNT, 0, OF(found.audit.efi) },
	{ "efi_mean", "  average", OUT_REAL, 1, OF(found.audit.efi_mean) },
	{ "efi_bound", "  least possible", OUT_COUNT, 0, OF(bound) },
	{ "load", "  times the least possible", OUT_REAL, 3 },
	{ "faults.no_table", "switches without a table", OUT_COUNT, 0, OF(n_missing) },
	{ "faults.hole", "holes", OUT_COUNT, 0, OF(found.audit.n_faults[OSR_FAULT_HOLE]) },
	{ "faults.dead_end", "dead ends", OUT_COUNT, 0,
	  OF(found.audit.n_faults[OSR_FAULT_DEAD_END]) },
	{ "faults.wrong_port", "wrong ports", OUT_COUNT, 0,
	  OF(found.audit.n_faults[OSR_FAULT_WRONG_PORT]) },
	{ "faults.loop", "loops", OUT_COUNT, 0, OF(found.audit.n_faults[OSR_FAULT_LOOP]) },
	{ "faults.no_sl", "paths without an SL", OUT_COUNT, 0,
	  OF(found.audit.n_faults[OSR_FAULT_NO_SL]) },
	{ "faults.sl2vl", "wrong SL2VL entries", OUT_COUNT, 0,
	  OF(found.audit.n_faults[OSR_FAULT_SL2VL]) },
	{ "faults.multicast_loop", "multicast groups that loop", OUT_COUNT, 0,
	  OF(found.audit.n_faults[OSR_FAULT_GROUP_LOOP]) },
	{ "faults.multicast_split", "multicast members cut off", OUT_COUNT, 0,
	  OF(found.audit.n_faults[OSR_FAULT_GROUP_SPLIT]) },
	{ 0 },
};

static const struct out_field fault_fields[] = {
	{ "kind", "fault", OUT_TEXT, 0 },
	{ "switch", NULL, OUT_TEXT, 0 },
	{ "guid", NULL, OUT_TEXT, 0 },
	{ "in", NULL, OUT_COUNT, 0 },
	{ "out", NULL, OUT_COUNT, 0 },
	{ "lid", NULL, OUT_COUNT, 0 },
	{ "end_port", NULL, OUT_TEXT, 0 },
	{ "sl", NULL, OUT_COUNT, 0 },
	{ "vl", NULL, OUT_COUNT, 0 },
	{ "hosts", NULL, OUT_COUNT, 0 },
	{ "message", "what is wrong", OUT_TEXT, 0 },
	{ 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "verdict", OUT_ONE, verdict_fields },
	{ "requirements", OUT_ROWS, cli_require_fields },
	{ "faults", OUT_ROWS, fault_fields },
	{ "loop", OUT_ROWS, cli_loop_fields },
	{ "nodes", OUT_ROWS, cli_nodes_fields },
	{ 0 },
};

static int check_say_verdict(struct args *a, struct out *out, const struct outcome *o)
{
	const struct osr_audit *audit = &o->found.audit;
	int code;

	out_row(out, "verdict");
	code = cli_answers_say(out, NULL, &o->found, cli_require_questions(&a->require));
	out_text(out, "checker", !o->checked ? "not asked" : o->check_st ? "REFUSES" : "agrees");
	if (o->check_st)
		out_note(out, "the checker: %s", o->diag.text);
	out_members(out, verdict_fields, o, 0);
	if (o->bound)
		out_real(out, "load", (double)audit->efi / (double)o->bound);
	for (unsigned kind = 0; kind < OSR_N_FAULTS; kind++)
		if (audit->n_faults[kind] > a->max_listed)
			out_note(out, "%s: %u of %" PRIu64 " are listed (--max)",
				 osr_fault_name(kind), a->max_listed, audit->n_faults[kind]);
	return o->check_st ? CLI_BAD : code;
}

static void check_say_fault(const struct osr_fabric *fabric, struct out *out,
			    const struct osr_fault *fault)
{
	struct osr_diag diag;
	char buf[32];

	osr_fault_say(fabric, fault, &diag);
	out_row(out, "faults");
	out_text(out, "kind", osr_fault_name(fault->kind));
	if (fault->sw != OSR_NONE) {
		out_text(out, "switch", osr_switch_name(fabric, fault->sw, buf));
		out_textf(out, "guid", "0x%016llx", (unsigned long long)fabric->sw_guid[fault->sw]);
		if (fault->in != OSR_NO_PATH)
			out_count(out, "in", fault->in);
		out_count(out, "out", fault->out);
	}
	if (fault->dest != OSR_NONE)
		out_count(out, "lid", fabric->dest_lid[fault->dest]);
	else if (fault->mlid)
		out_count(out, "lid", fault->mlid);
	if (fault->term != OSR_NONE)
		out_text(out, "end_port", osr_terminal_name(fabric, fault->term, buf));
	if (fault->kind == OSR_FAULT_SL2VL) {
		out_count(out, "sl", fault->sl);
		out_count(out, "vl", fault->vl);
	}
	out_count(out, "hosts", fault->n_hosts);
	out_text(out, "message", diag.text);
}

static int check_say(struct args *a, const struct outcome *o)
{
	struct cli_source *src = &a->ask.src;
	const struct cli_measured measured = { .found = &o->found,
					       .bound = o->bound,
					       .f = &src->in.fabric };
	struct out *out = &a->ask.out;
	int code, required;

	if (src->is_engine) {
		cli_subjects_say(&src->who, out);
		cli_subjects_fields(&src->who, out);
		out_text(out, "engine", cli_source_name(src));
	} else {
		cli_dumps_say(&src->dumps, out);
	}
	out_real(out, "check_ms.cpu", o->time.cpu);
	out_real(out, "check_ms.wall", o->time.wall);
	code = check_say_verdict(a, out, o);
	required = cli_require_judge(&a->require, &measured, out);
	for (uint32_t i = 0; i < o->found.audit.n_listed; i++)
		check_say_fault(&src->in.fabric, out, &o->found.audit.fault[i]);
	if (out->format == OUT_JSON)
		cli_nodes_say(&src->in.fabric, out);
	cli_answers_witness(out, NULL, &src->in.fabric, &o->found,
			    cli_require_questions(&a->require));
	return code ? code : required;
}

/* ---- for Prometheus ----------------------------------------------------------------------------- */

struct prom {
	const struct osr_findings *found;
	uint64_t bound; /* no routing has a lower edge forwarding index */
	double seconds; /* of the wall clock, for reading and judging */
};

static void prom_gauge(FILE *out, const char *name, const char *help, double value)
{
	fprintf(out, "# HELP osmroutes_check_%s %s\n# TYPE osmroutes_check_%s gauge\n", name, help,
		name);
	fprintf(out, "osmroutes_check_%s %.17g\n", name, value);
}

/*
 * Replaces the file in one step, so that no reader sees half of it: it is written as .NAME.new beside it first.
 * OSR_INVAL names the file that could not be written; the old one then stays.
 */
static enum osr_status write_prom(const char *path, const struct prom *prom, struct osr_diag *diag)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;
	char hidden[PATH_MAX];
	FILE *out;
	bool bad;
	const struct osr_audit *audit;
	const struct osr_findings *found = prom->found;

	if (snprintf(hidden, sizeof(hidden), "%.*s.%s.new", (int)n, path, path + n) >=
	    (int)sizeof(hidden))
		return osr_fail(diag, OSR_INVAL, "%.200s: the name is too long", path);
	out = fopen(hidden, "w");
	if (!out)
		return osr_fail(diag, OSR_INVAL, "%.300s: %s", hidden, strerror(errno));
	errno = 0;
	audit = &found->audit;
	prom_gauge(out, "time_seconds", "When the tables were verified.", (double)time(NULL));
	prom_gauge(out, "duration_seconds", "Time to read and verify the tables.", prom->seconds);
	prom_gauge(out, "routes_busiest", "Routes between end ports on the busiest link.",
		   (double)audit->efi);
	prom_gauge(out, "efi_bound", "No routing has fewer routes on its busiest link.",
		   (double)prom->bound);
	prom_gauge(out, "routes", "Routes from switches to LIDs that arrive.",
		   (double)audit->n_routes);
	prom_gauge(out, "routes_longer", "Routes longer than minimal.", (double)audit->n_longer);
	prom_gauge(out, "pairs_lost", "Pairs of hosts that are cut off.", (double)audit->n_lost);
	fputs("# HELP osmroutes_check_answer 1 proven, 0 unknown, -1 refuted.\n"
	      "# TYPE osmroutes_check_answer gauge\n",
	      out);
	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++) {
		enum osr_answer answer = found->on[question].answer;

		if (found->applies >> question & 1)
			fprintf(out, "osmroutes_check_answer{question=\"%s\"} %d\n",
				osr_question_name(question),
				answer == OSR_PROVEN    ? 1
				: answer == OSR_REFUTED ? -1
							: 0);
	}
	bad = ferror(out) != 0;
	/* A full disk may show only when the file is closed. */
	if (!fclose(out) && !bad && !rename(hidden, path))
		return OSR_OK;
	osr_fail(diag, OSR_INVAL, "%.300s: %s", path, errno ? strerror(errno) : "cannot write");
	unlink(hidden);
	return OSR_INVAL;
}

/* ---- the command line ----------------------------------------------------------------------- */

static const struct cli_option options[] = {
	{ "only-hosts", NULL,
	  "only packets between hosts count, none to or from port 0 of a switch",
	  CLI_FLAG(struct args, only_hosts) },
	{ "max", "N", "list at most N faults of each kind (default 10)",
	  CLI_NUMBER(struct args, max_listed, 0, 1000000) },
	{ "prom", "FILE", "write the verdict to FILE for the textfile collector of Prometheus",
	  CLI_TEXT(struct args, prom) },
	{ 0 },
};

static const struct cli_part parts[] = { { &ask_spec, offsetof(struct args, ask) },
					 { &require_spec, offsetof(struct args, require) },
					 { &groups_spec, offsetof(struct args, ask.src.dumps),
					   "Tables of multicast:", 5 },
					 { 0 } };

static const struct cli_spec spec = {
	.options = options,
	.parts = parts,
	.args_doc = "FILE|DIR",
	.doc = "Verifies the tables of a fabric, from any source: reach, loops, lengths, SLs and "
	       "VLs, multicast, credit loops. FILE is the fabric; DIR holds OpenSM's dumps, fabric "
	       "and tables; -e verifies what an engine makes.",
};

static int check_run(struct args *a)
{
	struct cli_source *src = &a->ask.src;
	struct cli_stamp start = cli_now();
	struct cli_measured about = { .fabric = cli_input_name(&src->in) };
	struct outcome o = { 0 };
	enum osr_status st = cli_require_load(&a->require, &o.diag), written;
	int code = CLI_OK;

	if (!st)
		st = cli_ask_begin(&a->ask, &o.diag);
	if (!st)
		st = check_verify_tables(a, &o);
	if (!st)
		code = check_say(a, &o);
	about.tables = cli_source_name(src);
	about.seconds = cli_since(start).wall / 1e3;
	if (!st && a->prom)
		st = write_prom(a->prom,
				&(struct prom){ .found = &o.found,
						.bound = o.bound,
						.seconds = about.seconds },
				&o.diag);
	written = cli_require_junit(&a->require, &about, st, &o.diag);
	code = cli_ask_end(&a->ask, st ? st : written, &o.diag, code);
	cli_require_free(&a->require);
	osr_arena_free(&o.scratch);
	osr_arena_free(&o.result);
	return code;
}

int cli_check(int argc, char **argv)
{
	struct args a = { .ask = { .src = CLI_SOURCE_INIT,
				   .out = { .command = "check", .sections = sections } },
			  .max_listed = 10 };

	a.ask.src.needs_tables = true;
	cli_parse(&spec, argc, argv, &a);
	return check_run(&a);
}
