/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/status.h>

#include "cli/require.h"
#include "cli/cli.h"

/* A step back from the baseline: load and detours may be this much larger, as in a fabric that has grown. */
#define TOLERANCE 1.05
#define MAX_NAMED 5 /* of the nodes that are gone */

enum { OPT_REQUIRE = 256, OPT_MAX_LOAD };

static const struct cli_option options[] = {
	{ .doc = "Requirements:", .group = 6 },
	{ "require", "WORDS",
	  "exit code 1 unless proven: deadlock-free, replies, any-sl, sl0, minimal. Without it "
	  "only lost packets and credit loops of requests and multicast count, not replies",
	  .key = OPT_REQUIRE },
	{ "max-load", "X",
	  "exit code 1 if the busiest link carries more than X times the least possible",
	  .key = OPT_MAX_LOAD },
	{ "min-hosts", "N", "exit code 1 if the fabric has fewer end ports of CAs and routers",
	  CLI_NUMBER(struct cli_require, min_hosts, 1, 1000000) },
	{ "baseline", "FILE",
	  "exit code 1 if anything is worse than in this result of check --json, or gone",
	  CLI_TEXT(struct cli_require, baseline) },
	{ "may-shrink", NULL, "switches and hosts of the baseline may be gone",
	  CLI_FLAG(struct cli_require, may_shrink) },
	{ "junit", "FILE", "write the requirements to FILE as JUnit XML",
	  CLI_TEXT(struct cli_require, junit) },
	{ 0 },
};

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

static bool is_word(const char *word, const char *text, size_t len)
{
	return len == strlen(word) && !memcmp(word, text, len);
}

static void take_word(struct cli_require *require, const char *word, size_t len,
		      struct argp_state *state)
{
	if (is_word("minimal", word, len)) {
		require->minimal = true;
		return;
	}
	for (size_t i = 0; i < N_KNOWN; i++)
		if (is_word(known[i].word, word, len)) {
			require->named |= known[i].bits;
			return;
		}
	argp_error(state,
		   "require \"%.*s\": expected deadlock-free, replies, any-sl, sl0 or minimal",
		   (int)len, word);
}

static void take_words(struct cli_require *require, const char *words, struct argp_state *state)
{
	for (;; words++) {
		size_t len = strcspn(words, ",");

		take_word(require, words, len, state);
		words += len;
		if (!*words)
			return;
	}
}

static error_t require_parse(int key, char *arg, struct argp_state *state)
{
	struct cli_require *require = state->input;
	char *end;

	switch (key) {
	case OPT_REQUIRE:
		take_words(require, arg, state);
		return 0;
	case OPT_MAX_LOAD:
		require->max_load = strtod(arg, &end);
		if (end == arg || *end || !(require->max_load >= 1 && require->max_load <= 1e6))
			argp_error(state, "max-load \"%s\": expected a number from 1 on, as in 1.2",
				   arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct cli_spec require_spec = { options, require_parse };

uint32_t cli_require_questions(const struct cli_require *require)
{
	return OSR_REQUIRED | require->named;
}

enum osr_status cli_require_load(struct cli_require *require, struct osr_diag *diag)
{
	json_error_t error;
	const char *command;

	if (!require->baseline)
		return OSR_OK;
	require->base = json_load_file(require->baseline, 0, &error);
	if (!require->base && error.line > 0)
		return osr_fail(diag, OSR_INVAL, "%.200s:%d: not valid JSON: %.200s",
				require->baseline, error.line, error.text);
	if (!require->base)
		return osr_fail(diag, OSR_INVAL, "%.400s", error.text);
	command = json_string_value(json_object_get(require->base, "command"));
	if (!command || strcmp(command, "check") != 0 ||
	    !json_is_object(json_object_get(require->base, "verdict")) ||
	    !json_is_array(json_object_get(require->base, "nodes")))
		return osr_fail(
			diag, OSR_INVAL,
			"%.200s: a baseline has to be the output of osmroutes check --json, of "
			"version " OSR_VERSION " or later",
			require->baseline);
	return OSR_OK;
}

/* ---- the demands ---------------------------------------------------------------------------- */

const struct out_field cli_require_fields[] = {
	{ "name", "requirement", OUT_TEXT, 0 },
	{ "met", "met", OUT_BOOL, 0 },
	{ "message", "found", OUT_TEXT, 0 },
	{ 0 },
};

/* Demands of the command line are said; all are test cases. */
struct judge {
	struct cli_require *require;
	const struct cli_measured *m;
	struct out *out;
	bool bad;
};

static void __attribute__((format(printf, 5, 6)))
judge_add(struct judge *j, const char *name, bool is_asked, bool met, const char *fmt, ...)
{
	char message[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	j->bad |= !met;
	j->out->failed |= json_array_append_new(j->require->cases,
						json_pack("{s:s, s:b, s:s}", "name", name, "met",
							  met, "message", message)) != 0;
	if (!is_asked)
		return;
	out_row(j->out, "requirements");
	out_text(j->out, "name", name);
	out_bool(j->out, "met", met);
	out_text(j->out, "message", message);
}

/* Of several questions the worst answer, and why. */
static enum osr_answer worst_of(const struct osr_findings *found, uint32_t questions,
				const char **why)
{
	enum osr_question which;
	enum osr_answer answer = osr_verdict_of(found, questions, &which);

	*why = which == OSR_N_QUESTIONS ? "" : found->on[which].why;
	return answer;
}

static void judge_answer(struct judge *j, const char *name, uint32_t questions, bool is_named)
{
	const char *why;
	enum osr_answer answer = worst_of(j->m->found, questions, &why);

	if (questions & j->m->found->applies)
		judge_add(j, name, is_named,
			  is_named ? answer == OSR_PROVEN : answer != OSR_REFUTED, "%s%s%s",
			  osr_answer_name(answer), *why ? ": " : "", why);
}

static double load_of(const struct cli_measured *m)
{
	return m->bound ? (double)m->found->audit.efi / (double)m->bound : NAN;
}

/* ---- the XML of JUnit --------------------------------------------------------------------------- */

struct junit {
	const char *path; /* "-" is no name of standard output: that has the result */
	const char *fabric, *tables;
	double seconds;
	const json_t *cases; /* [{name, met, message}]; NULL: none */
	const char *error;   /* why nothing could be judged, or NULL */
};

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

static void write_case(FILE *out, const struct junit *junit, const char *name, const char *kind,
		       const char *message)
{
	fputs("  <testcase", out);
	write_attribute(out, "classname", junit->fabric);
	write_attribute(out, "name", name);
	fputs(" time=\"0\"", out);
	if (kind) {
		fprintf(out, ">\n   <%s", kind);
		write_attribute(out, "message", message);
		fputs("/>\n  </testcase>\n", out);
	} else {
		fputs("/>\n", out);
	}
}

/* OSR_INVAL: the file cannot be written. */
static enum osr_status write_junit(const struct junit *junit, struct osr_diag *diag)
{
	FILE *out = fopen(junit->path, "w");

	if (out) {
		size_t n = json_array_size(junit->cases), n_failed = 0;
		unsigned n_errors = junit->error != NULL;

		/* One suite: its figures, then each case. */
		for (size_t i = 0; i < n; i++)
			n_failed += !json_is_true(
				json_object_get(json_array_get(junit->cases, i), "met"));
		fprintf(out,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n <testsuite "
			"name=\"osmroutes check\" tests=\"%zu\" failures=\"%zu\" errors=\"%u\" "
			"time=\"%.3f\">\n  <properties>\n   <property name=\"tables\"",
			n + n_errors, n_failed, n_errors, junit->seconds);
		write_attribute(out, "value", junit->tables);
		fputs("/>\n  </properties>\n", out);
		for (size_t i = 0; i < n; i++) {
			const json_t *one = json_array_get(junit->cases, i);

			write_case(out, junit, json_string_value(json_object_get(one, "name")),
				   json_is_true(json_object_get(one, "met")) ? NULL : "failure",
				   json_string_value(json_object_get(one, "message")));
		}
		if (junit->error)
			write_case(out, junit, "tables", "error", junit->error);
		fputs(" </testsuite>\n</testsuites>\n", out);
	}
	return cli_written(out, junit->path, diag);
}

/* ---- the baseline --------------------------------------------------------------------------- */

/* Shares and ratios, which a fabric that grows can keep. */
static void compare_figures(struct judge *j, const json_t *verdict)
{
	const struct osr_audit *audit = &j->m->found->audit;
	double load = load_of(j->m), load_then, longer, longer_then, routes_then;
	json_int_t lost_then = json_integer_value(json_object_get(verdict, "lost"));

	load_then = json_number_value(json_object_get(verdict, "load"));
	if (load_then > 0 && !isnan(load))
		judge_add(j, "baseline.load", true, load <= load_then * TOLERANCE,
			  "the busiest link carries %.3f times the least possible, was %.3f", load,
			  load_then);
	routes_then = json_number_value(json_object_get(verdict, "routes"));
	longer_then = json_number_value(json_object_get(verdict, "routes_longer"));
	longer_then = routes_then > 0 ? longer_then / routes_then : 0;
	longer = audit->n_routes ? (double)audit->n_longer / (double)audit->n_routes : 0;
	judge_add(j, "baseline.minimal", true, longer <= longer_then * TOLERANCE,
		  "%.3f %% of the routes are longer than minimal, was %.3f %%", 100 * longer,
		  100 * longer_then);
	judge_add(j, "baseline.lost", true, audit->n_lost <= (uint64_t)lost_then,
		  "%llu pairs of hosts are cut off, was %llu", (unsigned long long)audit->n_lost,
		  (unsigned long long)lost_then);
}

const struct out_field cli_nodes_fields[] = {
	{ "kind", NULL, OUT_TEXT, 0 },
	{ "guid", NULL, OUT_TEXT, 0 },
	{ "name", NULL, OUT_TEXT, 0 },
	{ 0 },
};

static const char *node_guid(uint64_t guid, char text[24])
{
	snprintf(text, 24, "0x%016llx", (unsigned long long)guid);
	return text;
}

void cli_nodes_say(const struct osr_fabric *fabric, struct out *out)
{
	char text[32];

	for (uint32_t i = 0; i < fabric->n_switches + fabric->n_terminals; i++) {
		uint32_t t = i - fabric->n_switches;
		bool is_switch = i < fabric->n_switches;

		if (!is_switch && fabric->term_role[t] == OSR_ROLE_SP0)
			continue;
		out_row(out, "nodes");
		out_text(out, "kind", is_switch ? "switch" : "host");
		out_text(out, "guid",
			 node_guid(is_switch ? fabric->sw_guid[i] : fabric->term_guid[t], text));
		out_text(out, "name",
			 is_switch ? osr_switch_name(fabric, i, text)
				   : osr_terminal_name(fabric, t, text));
	}
}

/* Nodes of the baseline that are not there, by GUID; `kind` as in its rows. */
static void compare_nodes(struct judge *j, const char *kind, const char *label)
{
	const struct osr_fabric *fabric = j->m->f;
	json_t *gone = json_object(), *row, *name;
	char names[640] = "", text[24];
	size_t i, at = 0, n_then, n_named = 0;
	const char *guid;

	json_array_foreach(json_object_get(j->require->base, "nodes"), i, row)
	{
		const char *is = json_string_value(json_object_get(row, "kind"));

		guid = json_string_value(json_object_get(row, "guid"));
		if (is && guid && !strcmp(is, kind))
			json_object_set(gone, guid, json_object_get(row, "name"));
	}
	n_then = json_object_size(gone);
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		json_object_del(gone, node_guid(fabric->sw_guid[s], text));
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (fabric->term_role[t] != OSR_ROLE_SP0)
			json_object_del(gone, node_guid(fabric->term_guid[t], text));
	json_object_foreach(gone, guid, name)
	{
		if (n_named++ == MAX_NAMED)
			break;
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%.80s (%.18s)",
				       n_named > 1 ? ", " : ": ", json_string_value(name), guid);
	}
	judge_add(j, label, true, j->require->may_shrink || !json_object_size(gone),
		  "%zu of %zu in the baseline are gone%s%s", json_object_size(gone), n_then, names,
		  n_named > MAX_NAMED ? ", ..." : "");
	json_decref(gone);
}

int cli_require_judge(struct cli_require *require, const struct cli_measured *measured,
		      struct out *out)
{
	struct judge j = { .require = require, .m = measured, .out = out };
	const json_t *verdict = json_object_get(require->base, "verdict");
	uint32_t n, named;
	double load;
	const struct osr_findings *found;

	require->cases = json_array();
	out->failed |= !require->cases;
	/* What was named is proven. */
	found = j.m->found;
	named = j.require->named;
	for (unsigned question = OSR_ASK_REACH; question <= OSR_ASK_GROUPS; question++)
		if (found->applies >> question & 1)
			judge_answer(&j, osr_question_name((enum osr_question)question),
				     1u << question, false);
	for (size_t i = 0; i < N_KNOWN; i++)
		if ((OSR_REQUIRED | named) & known[i].bits)
			judge_answer(&j, known[i].word, known[i].bits,
				     (named & known[i].bits) != 0);
	if (j.require->minimal)
		judge_add(&j, "minimal", true, !found->audit.n_longer,
			  "%llu of %llu routes are longer than minimal",
			  (unsigned long long)found->audit.n_longer,
			  (unsigned long long)found->audit.n_routes);
	/* The busiest channel carries no more than is allowed. */
	load = load_of(j.m);
	if (j.require->max_load > 0)
		judge_add(&j, "max-load", true, !(load > j.require->max_load),
			  "the busiest link carries %.3f times the least possible (%llu of %llu "
			  "routes); at most %g is allowed",
			  isnan(load) ? 1 : load, (unsigned long long)j.m->found->audit.efi,
			  (unsigned long long)j.m->bound, j.require->max_load);
	/* The fabric has enough hosts. */
	n = 0;
	for (uint32_t t = 0; t < j.m->f->n_terminals; t++)
		n += j.m->f->term_role[t] != OSR_ROLE_SP0;
	if (j.require->min_hosts)
		judge_add(&j, "min-hosts", true, n >= j.require->min_hosts,
			  "%u end ports of CAs and routers; at least %u are required", n,
			  j.require->min_hosts);
	if (verdict) {
		const json_t *answers = json_object_get(verdict, "answers");

		/* No answer is worse than in the baseline. */
		for (unsigned question = 0; question < OSR_N_QUESTIONS; question++) {
			const char *name = osr_question_name((enum osr_question)question);
			const char *then = json_string_value(json_object_get(answers, name));
			const struct osr_answered *now = &j.m->found->on[question];
			char label[64];

			if (!then || !(j.m->found->applies >> question & 1))
				continue;
			snprintf(label, sizeof(label), "baseline.%s", name);
			judge_add(&j, label, true,
				  now->answer == OSR_PROVEN || (strcmp(then, "proven") != 0 &&
								(now->answer == OSR_UNKNOWN ||
								 !strcmp(then, "refuted"))),
				  "%s, was %s%s%s", osr_answer_name(now->answer), then,
				  *now->why ? ": " : "", now->why);
		}
		compare_figures(&j, verdict);
		compare_nodes(&j, "switch", "baseline.switches");
		compare_nodes(&j, "host", "baseline.hosts");
	}
	return j.bad ? CLI_BAD : CLI_OK;
}

enum osr_status cli_require_junit(const struct cli_require *require,
				  const struct cli_measured *measured, enum osr_status st,
				  struct osr_diag *diag)
{
	const struct junit junit = { .path = require->junit,
				     .fabric = measured->fabric,
				     .tables = measured->tables,
				     .seconds = measured->seconds,
				     .cases = require->cases,
				     .error = st ? diag->text : NULL };

	return require->junit ? write_junit(&junit, diag) : OSR_OK;
}

void cli_require_free(struct cli_require *require)
{
	json_decref(require->base);
	json_decref(require->cases);
}
