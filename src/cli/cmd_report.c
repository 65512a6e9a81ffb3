/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One self-contained HTML page about the tables of an engine or a file: see report.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/analysis.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/report.h"
#include "core/paths/bound.h"

struct args {
	struct cli_input in;
	struct cli_subjects who;
	struct cli_traffic traffic;
	struct cli_worst worst;
	struct out out;
	const char *html;
	char *command;
};

static const struct out_field fields[] = {
	CLI_INPUT_FIELDS,
	{ "tables", NULL, OUT_TEXT, 0 },
	{ "html", NULL, OUT_TEXT, 0 },
	{ "status", NULL, OUT_TEXT, 0 },
	{ "message", NULL, OUT_TEXT, 0 },
	{ 0 },
};

static const struct out_section sections[] = { { "summary", OUT_HEAD, fields }, { 0 } };

/* ---- what the page is made of ---------------------------------------------------------------- */

/*
 * Cables to the nearest switch with hosts, breadth first from all of them. A management CA or a
 * gateway on a spine does not make it a leaf: a switch with less than a quarter of the most hosts
 * counts as one without.
 */
static enum osr_status report_find_levels(struct report *p, struct osr_arena *arena)
{
	const struct osr_fabric *fabric = p->f;
	uint32_t *queue = osr_alloc(arena, fabric->n_switches, sizeof(*queue)), head = 0, tail = 0;
	uint32_t most = 0;

	p->level = osr_alloc(arena, fabric->n_switches, 1);
	if (osr_arena_failed(arena, NULL))
		return OSR_NOMEM;
	memset(p->level, 255, fabric->n_switches);
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		most = fabric->sw_sources[v] > most ? fabric->sw_sources[v] : most;
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		if (!fabric->sw_sources[v] || fabric->sw_sources[v] < most / 4)
			continue;
		p->level[v] = 0;
		queue[tail++] = v;
	}
	while (head < tail) {
		uint32_t v = queue[head++];

		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];

			if (p->level[u] != 255)
				continue;
			p->level[u] = p->level[v] < 253 ? p->level[v] + 1 : 254;
			queue[tail++] = u;
		}
	}
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		p->level[v] = p->level[v] == 255 ? 0 : p->level[v];
		if (p->level[v] >= p->n_levels)
			p->n_levels = p->level[v] + 1;
	}
	return OSR_OK;
}

/* The lane on which a packet of this SL leaves the switch of its host. */
static uint8_t first_vl(const struct osr_routing *routing, const struct osr_fabric *fabric,
			uint32_t v, uint32_t d, uint8_t sl)
{
	uint32_t port = osr_lft(routing, v, d), row = fabric->term_row[v];

	if (!routing->sl2vl)
		return sl;
	/* By the port that the first host hangs on; hosts of a switch share their lanes. */
	while (row + 1 < fabric->term_row[v + 1] && fabric->term_role[row] == OSR_ROLE_SP0)
		row++;
	return routing
		->sl2vl[routing->sl2vl_row[v] +
			fabric->term_port[row] * ((uint32_t)fabric->sw_n_ports[v] + 1) + port][sl];
}

static void report_count_lanes(struct report *p)
{
	const struct osr_fabric *fabric = p->f;
	const struct osr_routing *routing = p->r;

	for (uint32_t d = 0; routing->sl && d < fabric->n_dests; d++) {
		if (!fabric->term_weight[fabric->dest_term[d]])
			continue;
		for (uint32_t v = 0; v < fabric->n_switches; v++) {
			uint8_t vl;

			if (v == fabric->dest_switch[d] || !fabric->sw_sources[v] ||
			    osr_lft(routing, v, d) == OSR_NO_PATH)
				continue;
			vl = first_vl(routing, fabric, v, d,
				      routing->sl[(size_t)d * fabric->n_switches + v]);
			if (vl < OSR_MAX_VLS)
				p->vl_routes[vl] += fabric->sw_sources[v];
		}
	}
}

/* ---- the work -------------------------------------------------------------------------------- */

static enum osr_status write_page(const struct args *a, const struct report *p,
				  struct osr_diag *diag)
{
	FILE *out = cli_create(a->html);

	if (out)
		report_page(p, out);
	return cli_written(out, a->html, diag);
}

/* The second tables that were named, and what changes from them to the first. */
static enum osr_status compare_other(struct args *a, const struct cli_tables *tables,
				     struct cli_tables *others, struct report_other *other,
				     struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &a->in.fabric;
	struct osr_arena scratch = { 0 };
	enum osr_status st;

	cli_tables_make(&a->who, 1, fabric, NULL, others);
	if (others->st)
		return osr_fail(diag, others->st, "%.400s", others->diag.text);
	other->name = cli_subject_name(&a->who.item[1]);
	other->r = &others->routing;
	cli_analyze_tables(&a->traffic, &a->worst, other->name, fabric, others, &other->a);
	if (!other->a.has_loads)
		return osr_fail(diag, other->a.st, "%.400s", other->a.diag.text);
	st = osr_changes(fabric, &others->routing, fabric, &tables->routing, &scratch,
			 &other->changes, diag);
	osr_arena_free(&scratch);
	return st;
}

static enum osr_status report_tables(struct args *a, struct cli_tables *tables,
				     struct cli_analysis *analysis, struct report_other *other,
				     struct osr_diag *diag)
{
	struct report p = { .fabric_name = cli_input_name(&a->in),
			    .tables_name = cli_subject_name(&a->who.item[0]),
			    .f = &a->in.fabric,
			    .r = &tables->routing,
			    .a = analysis,
			    .other = other,
			    .command = a->command ? a->command : "" };
	struct osr_arena arena = { 0 };
	enum osr_status st;

	cli_analyze_tables(&a->traffic, &a->worst, p.tables_name, p.f, tables, analysis);
	st = analysis->has_loads ? osr_loads_init(&p.loads, p.f, &arena, diag) : analysis->st;
	if (st && !diag->text[0])
		*diag = analysis->diag;
	if (!st)
		st = osr_loads_add(&p.loads, p.f, p.r, 0, p.f->n_dests, &arena, diag);
	if (!st)
		st = osr_bound_load(p.f, &arena, &p.bound, diag);
	if (!st && report_find_levels(&p, &arena))
		st = osr_fail(diag, OSR_NOMEM, "out of memory for the levels of the fabric");
	if (!st) {
		size_t size = sizeof(p.date);
		const char *epoch = getenv("SOURCE_DATE_EPOCH");
		time_t now = epoch ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
		struct tm utc;

		/* UTC; of SOURCE_DATE_EPOCH, where pages are to be the same byte by byte. */
		p.date[0] = '\0';
		if (gmtime_r(&now, &utc))
			strftime(p.date, size, "%Y-%m-%d %H:%M UTC", &utc);
		report_count_lanes(&p);
		/* The busiest channels, the first of equals first. */
		for (uint32_t c = 0; c < p.f->n_channels; c++) {
			uint32_t i = p.n_worst < REPORT_WORST ? p.n_worst++ : REPORT_WORST;

			if (i == REPORT_WORST) {
				if (p.loads.load[p.worst[i - 1]] >= p.loads.load[c])
					continue;
				i--;
			}
			for (; i && p.loads.load[p.worst[i - 1]] < p.loads.load[c]; i--)
				p.worst[i] = p.worst[i - 1];
			p.worst[i] = c;
		}
		for (uint32_t q = 0; q < OSR_N_QUESTIONS && !p.loop; q++)
			if ((OSR_REQUIRED >> q & 1) && analysis->found.on[q].loop.n)
				p.loop = &analysis->found.on[q].loop;
		st = write_page(a, &p, diag);
	}
	osr_arena_free(&arena);
	return st;
}

/* All of it is large. */
struct report_work {
	struct cli_tables tables, others;
	struct cli_analysis analysis;
	struct report_other other;
};

static enum osr_status report_work(struct args *a, struct report_work *w, struct osr_diag *diag)
{
	bool compares = a->who.n > 1;
	enum osr_status st;

	cli_tables_make(&a->who, 0, &a->in.fabric, NULL, &w->tables);
	if (w->tables.st)
		return osr_fail(diag, w->tables.st, "%.400s", w->tables.diag.text);
	st = compares ? compare_other(a, &w->tables, &w->others, &w->other, diag) : OSR_OK;
	return st ? st
		  : report_tables(a, &w->tables, &w->analysis, compares ? &w->other : NULL, diag);
}

static int report_run(struct args *a)
{
	struct report_work *w = calloc(1, sizeof(*w));
	struct osr_diag diag = { "out of memory for a report" };
	enum osr_status st;
	int code;

	if (!w)
		return cli_fail(OSR_NOMEM, &diag);
	diag.text[0] = '\0';
	st = report_work(a, w, &diag);
	if (!st && a->out.format != OUT_PEOPLE) {
		out_row(&a->out, "summary");
		cli_input_say(&a->in, &a->out);
		cli_subjects_say(&a->who, &a->out);
		out_text(&a->out, "tables", cli_subject_name(&a->who.item[0]));
		out_text(&a->out, "html", a->html);
		out_text(&a->out, "status", osr_status_str(w->analysis.st));
		out_text(&a->out, "message", w->analysis.diag.text);
	}
	code = st ? cli_fail(st, &diag) : w->analysis.st ? CLI_BAD : CLI_OK;
	if (!st && a->out.format != OUT_PEOPLE)
		code = out_end(&a->out, code);
	cli_tables_free(&w->tables);
	cli_tables_free(&w->others);
	free(w);
	return code;
}

static const struct cli_option options[] = {
	{ "html", "FILE",
	  "write the page to FILE instead of standard output, if that is no terminal",
	  CLI_TEXT(struct args, html) },
	{ 0 }
};

static error_t report_parse(int key, char *arg, struct argp_state *state)
{
	const struct args *a = state->input;

	if (key != ARGP_KEY_SUCCESS)
		return ARGP_ERR_UNKNOWN;
	if (a->who.n > 2)
		argp_error(state, "report takes one engine or set of tables, and at most one more "
				  "to compare it with");
	if (a->out.format != OUT_PEOPLE && !a->html)
		argp_error(state, "--json and --csv need --html FILE: the page would be on "
				  "standard output as well");
	if (!a->html && isatty(STDOUT_FILENO))
		argp_error(state, "the report is an HTML page, not for a terminal: --html FILE "
				  "writes it to a file");
	return 0;
}

static const struct cli_part parts[] = { { &input_spec, offsetof(struct args, in) },
					 { &subjects_spec, offsetof(struct args, who) },
					 { &bisections_spec, offsetof(struct args, traffic) },
					 { &worst_spec, offsetof(struct args, worst) },
					 { &out_spec, offsetof(struct args, out) },
					 { 0 } };

static const struct cli_spec spec = {
	.options = options,
	.parse = report_parse,
	.parts = parts,
	.args_doc = "FILE",
	.doc = "Writes one HTML page about a routing of the fabric of FILE: verdicts, a picture of "
	       "the fabric, load of the channels, the busiest ones by name, virtual lanes, length "
	       "of the routes. The page needs no network.",
};

int cli_report(int argc, char **argv)
{
	struct args a = { .in = CLI_INPUT_INIT,
			  .who = CLI_SUBJECTS_INIT,
			  .traffic = CLI_TRAFFIC_INIT,
			  .out = { .command = "report", .sections = sections },
			  .command = cli_command_line(argc, argv) };
	struct osr_diag diag = { "" };
	enum osr_status st;
	int code;

	cli_parse(&spec, argc, argv, &a);
	st = cli_subjects_load(&a.who, &a.in, &diag);
	if (!st)
		st = cli_worst_load(&a.worst, &a.in, &diag);
	cli_subjects_drop_net(&a.who, &a.in);
	if (!st)
		st = cli_traffic_load(&a.traffic, &a.in.fabric, &diag);
	code = st ? cli_fail(st, &diag) : report_run(&a);
	st = cli_worst_free(&a.worst, &diag);
	code = st ? cli_fail(st, &diag) : code;
	free(a.command);
	cli_traffic_free(&a.traffic);
	cli_subjects_free(&a.who);
	cli_input_free(&a.in);
	return code;
}
