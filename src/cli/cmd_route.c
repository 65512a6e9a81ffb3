/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <osmroutes/sweep.h>

#include "cli/answers.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/stored.h"
#include "cli/subject.h"
#include "cli/worst_case.h"
#include "conf/posix_threads.h"
#include "core/paths/bound.h"
#include "core/store/store.h"
#include "io/osmdump.h"

enum { OPT_DUMP = 256, OPT_PATH_SL, OPT_SAVE, OPT_PREVIOUS };

static const struct argp_option options[] = {
	{ "dump", OPT_DUMP, "DIR", 0,
	  "write the tables as OpenSM does under -D 0x43; several engines: one folder each in DIR",
	  0 },
	{ "save", OPT_SAVE, "FILE", 0,
	  "write the result into a binary file for --tables and --previous; several engines: "
	  "FILE.ENGINE each",
	  0 },
	{ "previous", OPT_PREVIOUS, "FILE", 0,
	  "the sweep after this one: stored tables of route --save or of the plugin; several "
	  "engines: FILE.ENGINE each",
	  0 },
	{ "path-sl", OPT_PATH_SL, NULL, 0,
	  "with --dump: SLs for ibdmchk, a line for each end port and LID, which is long", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

struct args {
	struct cli_input in;
	struct cli_subjects who;
	struct cli_worst worst;
	struct out out;
	struct osr_osmdump dump;
	const char *save, *previous;
	struct osr_threads threads;
};

static long peak_rss_kb(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_maxrss;
}

/* One engine's work on it. */
struct outcome {
	const struct osr_engine *engine;
	struct osr_arena scratch, arena;
	struct osr_result result;
	struct cli_stored previous;
	struct osr_sweep sweep;
	enum osr_status st;
	struct osr_diag diag;
	struct osr_findings found;
	uint64_t bound; /* no routing has a lower edge forwarding index */
	struct cli_worst_of worst;
	struct cli_stamp route, check;
	long rss_kb;
};

/* What the check of the sweep has left open. */
static enum osr_status route_answer(struct outcome *o)
{
	struct osr_generation gen = { .routing = &o->result.routing };
	struct osr_inquiry ask = { .f = &o->result.fabric,
				   .gen = &gen,
				   .checked = &o->sweep.verdict };

	return osr_verify(&ask, &o->scratch, &o->arena, &o->found, &o->diag);
}

static void route_route(struct args *a, const struct osr_job *job, struct outcome *o)
{
	struct cli_stamp answer;

	o->result.fabric = a->in.fabric;
	o->st = osr_sweep(job, &o->result, &o->sweep);
	if (!o->sweep.routed)
		return;
	answer = cli_now();
	if (!o->st)
		o->st = route_answer(o);
	answer = cli_since(answer);
	o->route.cpu = o->sweep.ms_route + o->sweep.ms_transition;
	o->route.wall = o->sweep.wall_route;
	o->check.cpu = o->sweep.ms_check + answer.cpu;
	o->check.wall = o->sweep.wall_check + answer.wall;
	o->rss_kb = peak_rss_kb();
	if (!o->st)
		o->st = osr_bound_load(&o->result.fabric, &o->scratch, &o->bound, &o->diag);
	if (!o->st)
		o->st = cli_worst_find(&a->worst, o->engine->name, &a->in.fabric,
				       &o->result.routing, &o->worst, &o->diag);
}

static enum osr_status make_dir(const char *dir, struct osr_diag *diag)
{
	if (!mkdir(dir, 0777) || errno == EEXIST)
		return OSR_OK;
	return osr_fail(diag, OSR_INVAL, "%s: %s", dir, strerror(errno));
}

/* What the checker refused is not written: nobody shall load it. */
static enum osr_status dump(const struct args *a, const struct outcome *o, struct osr_diag *diag)
{
	struct osr_osmdump how = a->dump;
	char sub[4096];
	enum osr_status st;

	if (!how.dir || o->st)
		return OSR_OK;
	how.vls = a->who.link_vls;
	st = make_dir(how.dir, diag);
	if (!st && a->who.n > 1) {
		snprintf(sub, sizeof(sub), "%s/%s", how.dir, o->engine->name);
		how.dir = sub;
		st = make_dir(how.dir, diag);
	}
	return st ? st
		  : osr_osmdump_write(&how, &a->in.net, &a->in.fabric, &o->result.routing, diag);
}

/* FILE, or FILE.ENGINE where there are several. */
static const char *file_of(const struct args *a, const struct outcome *o, const char *file,
			   char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, a->who.n > 1 ? "%s.%s" : "%s", file, o->engine->name);
	return path;
}

static enum osr_status route_save(const struct args *a, const struct osr_job *job,
				  const struct outcome *o, struct osr_diag *diag)
{
	char path[PATH_MAX];
	enum osr_status st = OSR_OK;

	if (o->st)
		return OSR_OK;
	if (a->save)
		st = cli_stored_write(file_of(a, o, a->save, path), job, &o->result, diag);
	return st;
}

static enum osr_status read_previous(const struct args *a, struct osr_job *job, struct outcome *o,
				     struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &a->in.fabric;
	char path[PATH_MAX];
	enum osr_status st;
	uint32_t n_known;

	if (!a->previous)
		return OSR_OK;
	st = cli_stored_read(file_of(a, o, a->previous, path), o->engine, job->values, &o->previous,
			     diag);
	if (!st && !osr_store_fits(&o->previous.last, fabric, &n_known))
		st = osr_fail(diag, OSR_INVAL,
			      "%.300s: tables of another fabric (%u of %u LIDs are in both)", path,
			      n_known, fabric->n_dests);
	job->previous = &o->previous.last;
	return st;
}

/* ---- what is said --------------------------------------------------------------------------- */

static const struct out_field head_fields[] = { CLI_INPUT_FIELDS,
						CLI_SUBJECTS_FIELDS,
						{ NULL, NULL, 0, 0 } };

static const struct out_field engine_fields[] = {
	{ "engine", "engine", OUT_TEXT, 0 },
	{ "status", NULL, OUT_TEXT, 0 },
	{ "message", NULL, OUT_TEXT, 0 },
	{ "route_ms.cpu", "route, ms CPU", OUT_REAL, 1 },
	{ "route_ms.wall", "  elapsed", OUT_REAL, 1 },
	{ "spf_ms", "  shortest paths", OUT_REAL, 1 },
	{ "layers_ms", "  virtual lanes", OUT_REAL, 1 },
	{ "check_ms.cpu", "check, ms CPU", OUT_REAL, 1 },
	{ "check_ms.wall", "  elapsed", OUT_REAL, 1 },
	{ "peak_rss_kb", "peak memory, kB", OUT_COUNT, 0 },
	{ "vls", "VLs used", OUT_COUNT, 0 },
	{ "layers", "VLs required", OUT_COUNT, 0 },
	{ "layers_one_way", "  by requests alone", OUT_COUNT, 0 },
	{ "efi", "edge forwarding index", OUT_COUNT, 0 },
	{ "efi_mean", "  average", OUT_REAL, 1 },
	{ "efi_bound", "  least possible", OUT_COUNT, 0 },
	{ "load", "  times the least possible", OUT_REAL, 3 },
	{ "efi_per_capacity", "  scaled by link speed", OUT_REAL, 1 },
	{ "max_hops", "longest route, channels", OUT_COUNT, 0 },
	{ "routes", "routes", OUT_COUNT, 0 },
	{ "routes_longer", "  longer than minimal", OUT_COUNT, 0 },
	{ "no_path", "  without a path", OUT_COUNT, 0 },
	{ "claimed.minimal", NULL, OUT_BOOL, 0 },
	{ "claimed.deadlock_free", NULL, OUT_BOOL, 0 },
	{ "claimed.reversible", NULL, OUT_BOOL, 0 },
	{ "claimed.any_sl", NULL, OUT_BOOL, 0 },
	{ "claimed.multicast", NULL, OUT_BOOL, 0 },
	{ "proven.minimal", NULL, OUT_BOOL, 0 },
	{ "proven.deadlock_free", NULL, OUT_BOOL, 0 },
	{ "proven.reversible", NULL, OUT_BOOL, 0 },
	{ "proven.any_sl", NULL, OUT_BOOL, 0 },
	{ "proven.multicast", NULL, OUT_BOOL, 0 },
	{ "digest", "digest", OUT_TEXT, 0 },
	CLI_ANSWER_FIELDS,
	CLI_WORST_FIELDS,
	{ NULL, NULL, 0, 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "engines", OUT_ACROSS, engine_fields },
	{ "loops", OUT_ROWS, cli_loops_fields },
	{ NULL, 0, NULL },
};

static void say_claims(struct out *out, const char *whose, uint32_t claims)
{
	static const struct {
		const char *name;
		uint32_t bit;
	} known[] = {
		{ "minimal", OSR_CLAIM_MINIMAL },
		{ "deadlock_free", OSR_CLAIM_DEADLOCK_FREE },
		{ "reversible", OSR_CLAIM_REVERSIBLE },
		{ "any_sl", OSR_CLAIM_ANY_SL },
		{ "multicast", OSR_CLAIM_MULTICAST },
	};
	char key[64];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		snprintf(key, sizeof(key), "%s.%s", whose, known[i].name);
		out_bool(out, key, claims & known[i].bit);
	}
}

static int route_say_verdict(struct out *out, const struct outcome *o)
{
	const struct osr_verdict *verdict = &o->sweep.verdict;

	out_real(out, "check_ms.cpu", o->check.cpu);
	out_real(out, "check_ms.wall", o->check.wall);
	out_count(out, "efi", verdict->efi);
	out_real(out, "efi_mean", verdict->efi_mean);
	out_count(out, "efi_bound", o->bound);
	if (o->bound)
		out_real(out, "load", (double)verdict->efi / (double)o->bound);
	out_real(out, "efi_per_capacity", verdict->efi_per_capacity);
	out_count(out, "max_hops", verdict->max_hops);
	out_count(out, "routes", verdict->n_routes);
	out_count(out, "routes_longer", verdict->n_longer);
	out_count(out, "no_path", verdict->n_no_path);
	say_claims(out, "proven", verdict->proven);
	if (!o->st)
		return cli_answers_say(out, o->engine->name, &o->found, OSR_REQUIRED);
	out_text(out, "verdict", osr_answer_name(OSR_REFUTED));
	return CLI_BAD;
}

/* An engine that refused has its message and nothing else. */
static int route_say(struct out *out, const struct osr_fabric *fabric, const struct outcome *o)
{
	const struct osr_routing *routing = &o->result.routing;
	int code;

	out_row(out, "engines");
	out_text(out, "engine", o->engine->name);
	out_text(out, "status", osr_status_str(o->st));
	out_text(out, "message", o->diag.text);
	if (o->st)
		out_note(out, "%s: %s", o->engine->name, o->diag.text);
	if (!o->sweep.routed)
		return CLI_BAD;
	if (routing->note)
		out_note(out, "%s: %s", o->engine->name, routing->note);
	out_real(out, "route_ms.cpu", o->route.cpu);
	out_real(out, "route_ms.wall", o->route.wall);
	out_real(out, "spf_ms", routing->ms_spf);
	out_real(out, "layers_ms", routing->ms_layers);
	out_count(out, "peak_rss_kb", (uint64_t)o->rss_kb);
	out_count(out, "vls", routing->n_vls);
	out_count(out, "layers", routing->n_layers);
	out_count(out, "layers_one_way", routing->n_layers_one_way);
	out_textf(out, "digest", "%016llx", (unsigned long long)o->result.digest);
	say_claims(out, "claimed", routing->claims);
	cli_worst_say(out, &o->worst);
	code = route_say_verdict(out, o);
	cli_answers_witness(out, o->engine->name, fabric, &o->found, OSR_REQUIRED);
	return code;
}

/* ---- the command line ----------------------------------------------------------------------- */

static error_t route_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case OPT_DUMP:
		a->dump.dir = arg;
		return 0;
	case OPT_SAVE:
		a->save = arg;
		return 0;
	case OPT_PREVIOUS:
		a->previous = arg;
		return 0;
	case OPT_PATH_SL:
		a->dump.long_sl = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->in;
		state->child_inputs[1] = &a->who;
		state->child_inputs[2] = &a->worst;
		state->child_inputs[3] = &a->out;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/*
 * One engine after the other, each with arenas of its own. The peak of memory is the process's:
 * that of a later engine is at least that of those before it.
 */
static enum osr_status route_one(struct args *a, uint32_t i, int *code, struct osr_diag *diag)
{
	struct outcome o = { .engine = a->who.item[i].engine, .scratch.threads = &a->threads };
	struct osr_job job = { .engine = o.engine,
			       .values = &a->who.values[i],
			       .request = a->who.req,
			       .scratch = &o.scratch,
			       .arena = &o.arena,
			       .diag = &o.diag };
	enum osr_status st = read_previous(a, &job, &o, diag);

	job.request.clock_ms = cli_cpu_ms;
	job.request.wall_ms = cli_wall_ms;
	if (st)
		goto out;
	route_route(a, &job, &o);
	osr_arena_free(&o.scratch);
	st = dump(a, &o, diag);
	if (!st)
		st = route_save(a, &job, &o, diag);
	/* Asked for all, an engine for another kind of fabric gets no column. */
	if (!st && a->who.all && o.st == OSR_NOT_APPLICABLE) {
		out_note(&a->out, "%s: %s", o.engine->name, o.diag.text);
	} else if (!st) {
		int said = route_say(&a->out, &a->in.fabric, &o);

		if (said && cli_subjects_counts(&a->who, i, o.st))
			*code = said;
	}
out:
	osr_arena_free(&o.arena);
	cli_stored_free(&o.previous);
	return st;
}

/* The net itself is needed once more only if the tables are to be dumped. */
static int route_run(struct args *a)
{
	struct osr_diag diag = { "" };
	enum osr_status st = cli_subjects_load(&a->who, &a->in, &diag);
	int code = CLI_OK;

	if (!st)
		st = cli_worst_load(&a->worst, &a->in, &diag);
	a->threads = osr_threads_of((uint32_t)a->who.options.own.num[OPT_THREADS]);
	if (!a->dump.dir)
		osr_net_free(&a->in.net);
	if (!st) {
		out_row(&a->out, "summary");
		cli_input_say(&a->in, &a->out);
		cli_subjects_say(&a->who, &a->out);
		cli_subjects_fields(&a->who, &a->out);
	}
	for (uint32_t i = 0; i < a->who.n && !st; i++)
		st = route_one(a, i, &code, &diag);
	if (!st)
		return out_end(&a->out, code);
	out_drop(&a->out);
	return cli_fail(st, &diag);
}

int cli_route(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ .argp = &input_argp },
		{ .argp = &engines_argp },
		{ .argp = &worst_argp },
		{ .argp = &out_argp },
		{ NULL },
	};
	static const struct argp argp = { .options = options,
					  .parser = route_parse,
					  .args_doc = "FILE",
					  .doc = "Routes the fabric of FILE (of ibnetdiscover or "
						 "ibsim, or an opensm-subnet.lst), "
						 "checks the tables and measures them.",
					  .children = children };
	struct args a = { .in = CLI_INPUT_INIT,
			  .who = CLI_SUBJECTS_INIT,
			  .out = { .command = "route", .sections = sections } };
	struct osr_diag diag = { "" };
	int code;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	code = route_run(&a);
	if (cli_worst_free(&a.worst, &diag))
		code = cli_fail(OSR_INVAL, &diag);
	cli_subjects_free(&a.who);
	cli_input_free(&a.in);
	return code;
}
