/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Routes a fabric, or reads tables, and measures both: several engines and files are columns. Every
 * figure is one row of `figures[]`, which feeds the table and the JSON.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cli/analysis.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/subject.h"
#include "conf/posix_threads.h"
#include "core/paths/bound.h"
#include "store/store.h"
#include "io/osmdump.h"
#include "traffic/changes.h"

struct args {
	struct cli_input in;
	struct cli_subjects who;
	struct cli_traffic traffic;
	struct cli_worst worst;
	struct out out;
	struct osr_osmdump dump;
	const char *save, *previous;
	struct osr_threads threads;
	uint64_t bound;            /* no routing has a lower edge forwarding index */
	struct outcome *reference; /* what the others are compared with; NULL: none yet */
	struct outcome *best;      /* to be recommended */
	uint32_t n_done;           /* tables that there are */
};

/* One engine's work on the fabric, or one file's tables. */
struct outcome {
	const char *name;
	const struct osr_fabric *f;
	bool routed; /* an engine made the tables, so there are times and VLs */
	uint64_t bound;
	struct cli_stored previous;
	struct cli_tables t;
	struct cli_analysis a;
	long rss_kb; /* of the process, whose peak is that of all engines so far */
	bool compared;
	struct osr_changes changes;
	uint32_t n_users; /* free it at 0 */
};

/* ---- the figures ---------------------------------------------------------------------------- */

enum figure_of { OF_CHECK, OF_LOADS, OF_ENGINE, OF_BISECTIONS, OF_CHANGES };

struct figure {
	const char *label, *key; /* label NULL: for programs */
	enum figure_of of;       /* what must be there for it */
	int digits;              /* behind the point, in the table; 0: a whole number */
	double (*value)(const struct outcome *o);
};

#define FIGURE(name, expression)                                                                   \
	static double name(const struct outcome *o)                                                \
	{                                                                                          \
		return (double)(expression);                                                       \
	}

FIGURE(route_efi, o->a.balance.efi)
FIGURE(efi_mean, o->a.balance.mean)
FIGURE(efi_min, o->a.balance.min)
FIGURE(efi_perfect, o->a.balance.perfect)
FIGURE(sigma, o->a.balance.sigma)
FIGURE(efi_bound, o->bound)
FIGURE(route_load, o->bound ? (double)o->a.balance.efi / (double)o->bound : NAN)
FIGURE(efi_per_capacity, o->t.sweep.verdict.efi_per_capacity)
FIGURE(route_no_path, o->t.sweep.verdict.n_no_path)
FIGURE(mean_hops, cli_mean_hops(&o->a))
FIGURE(route_max_hops, o->a.max_hops)
FIGURE(host_routes, o->a.n_routes)
FIGURE(route_lost, o->a.n_lost)
FIGURE(route_routes, o->a.n_from)
FIGURE(route_longer, o->a.n_longer)
FIGURE(max_longer, o->a.max_longer)
FIGURE(vls, o->t.routing.n_vls)
FIGURE(layers, o->t.routing.n_layers)
FIGURE(layers_one_way, o->t.routing.n_layers_one_way)
FIGURE(ebb, o->a.bandwidth.mean)
FIGURE(ebb_half_width, o->a.bandwidth.half_width)
FIGURE(ebb_worst, o->a.bandwidth.worst)
FIGURE(ebb_best, o->a.bandwidth.best)
FIGURE(max_congestion, o->a.bandwidth.max_congestion)
FIGURE(pairs_lost, o->a.bandwidth.n_no_path)
FIGURE(route_cpu_ms, o->t.ms)
FIGURE(route_wall_ms, o->t.sweep.wall_route)
FIGURE(spf_ms, o->t.routing.ms_spf)
FIGURE(layers_ms, o->t.routing.ms_layers)
FIGURE(check_cpu_ms, o->a.check.cpu)
FIGURE(check_wall_ms, o->a.check.wall)
FIGURE(bandwidth_ms, o->a.bandwidth_ms)
FIGURE(memory_kb, o->t.sweep.memory >> 10)
FIGURE(route_rss_kb, o->rss_kb)
FIGURE(pairs_changed, o->changes.n_path)
FIGURE(pairs_share, o->changes.n_pairs ? (double)o->changes.n_path / (double)o->changes.n_pairs : 0)
FIGURE(route_entries_changed, o->changes.n_entries_changed)

static const struct figure figures[] = {
	{ "edge forwarding index", "efi", OF_LOADS, 0, route_efi },
	{ "  least possible", "efi_bound", OF_LOADS, 0, efi_bound },
	{ "  times the least possible", "load", OF_LOADS, 3, route_load },
	{ "  average", "efi_mean", OF_LOADS, 1, efi_mean },
	{ "  least used channel", "efi_min", OF_LOADS, 0, efi_min },
	{ "  average if all minimal", "efi_perfect", OF_LOADS, 1, efi_perfect },
	{ "  deviation sigma(k)", "sigma", OF_LOADS, 2, sigma },
	{ "  scaled by link speed", "efi_per_capacity", OF_ENGINE, 1, efi_per_capacity },
	{ "routes between hosts", "host_routes", OF_LOADS, 0, host_routes },
	{ "  that do not arrive", "host_routes_lost", OF_LOADS, 0, route_lost },
	{ "  channels, mean", "mean_hops", OF_LOADS, 3, mean_hops },
	{ "routes from switches", "routes", OF_CHECK, 0, route_routes },
	{ "  channels of the longest", "max_hops", OF_CHECK, 0, route_max_hops },
	{ "  longer than minimal", "routes_longer", OF_CHECK, 0, route_longer },
	{ "    by channels, at most", "max_longer", OF_CHECK, 0, max_longer },
	{ "  without a path", "no_path", OF_ENGINE, 0, route_no_path },
	{ "VLs used", "vls", OF_ENGINE, 0, vls },
	{ "  needed by requests", "layers_one_way", OF_ENGINE, 0, layers_one_way },
	{ "  needed with replies", "layers", OF_ENGINE, 0, layers },
	{ "effective bisection bw", "ebb", OF_BISECTIONS, 4, ebb },
	{ "  95 % confidence, +-", "ebb_half_width", OF_BISECTIONS, 5, ebb_half_width },
	{ "  worst pattern", "ebb_worst", OF_BISECTIONS, 4, ebb_worst },
	{ "  best pattern", "ebb_best", OF_BISECTIONS, 4, ebb_best },
	{ "  largest congestion", "max_congestion", OF_BISECTIONS, 0, max_congestion },
	{ "  pairs without a path", "pairs_no_path", OF_BISECTIONS, 0, pairs_lost },
	{ "route, ms CPU", "route_ms.cpu", OF_ENGINE, 1, route_cpu_ms },
	{ "  elapsed", "route_ms.wall", OF_ENGINE, 1, route_wall_ms },
	{ "  of it shortest paths", "spf_ms", OF_ENGINE, 1, spf_ms },
	{ "  of it virtual lanes", "layers_ms", OF_ENGINE, 1, layers_ms },
	{ "check, ms CPU", "check_ms.cpu", OF_CHECK, 1, check_cpu_ms },
	{ "  elapsed", "check_ms.wall", OF_CHECK, 1, check_wall_ms },
	{ "bandwidth, ms CPU", "bandwidth_ms", OF_BISECTIONS, 1, bandwidth_ms },
	{ "memory of the engine, kB", "memory_kb", OF_ENGINE, 0, memory_kb },
	{ NULL, "peak_rss_kb", OF_ENGINE, 0, route_rss_kb },
	{ "pairs with another path", "pairs_changed", OF_CHANGES, 0, pairs_changed },
	{ "  of all", "pairs_changed_share", OF_CHANGES, 4, pairs_share },
	{ "LFT entries that differ", "entries_changed", OF_CHANGES, 0, route_entries_changed },
};

static bool route_has(const struct outcome *o, enum figure_of of)
{
	switch (of) {
	case OF_LOADS:
		return o->a.has_loads;
	case OF_BISECTIONS:
		return o->a.bandwidth.n_patterns > 0;
	case OF_ENGINE:
		return o->routed && !o->t.st;
	case OF_CHANGES:
		return o->compared;
	default:
		return !o->t.st;
	}
}

#define N_FIGURES (sizeof(figures) / sizeof(figures[0]))

static const struct out_field head_fields[] = {
	CLI_INPUT_FIELDS,
	CLI_SUBJECTS_FIELDS,
	{ "patterns", NULL, OUT_COUNT, 0 },
	{ "seed", NULL, OUT_COUNT, 0 },
	{ NULL, NULL, 0, 0 },
};

/* For programs. */
static const struct out_field hop_fields[] = {
	{ "tables", NULL, OUT_TEXT, 0 },
	{ "hops", NULL, OUT_COUNT, 0 },
	{ "routes", NULL, OUT_COUNT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field pattern_fields[] = { CLI_TRAFFIC_FIELDS, { NULL, NULL, 0, 0 } };

static const struct out_field first_fields[] = {
	{ "tables", "tables of", OUT_TEXT, 0 },
	{ "status", NULL, OUT_TEXT, 0 },
	{ "message", NULL, OUT_TEXT, 0 },
	CLI_ANSWER_FIELDS,
	CLI_WORST_FIELDS,
	{ "digest", "digest", OUT_TEXT, 0 },
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
};

#define N_FIRST (sizeof(first_fields) / sizeof(first_fields[0]))
#define N_FIELDS (N_FIRST + N_FIGURES + 1)

/* What people see of a figure where several are compared: no details but those of `shown`. */
static const char *figure_label(const struct figure *figure, bool several)
{
	static const char *const shown[] = { "efi_mean", "load", "ebb_half_width",
					     "pairs_changed_share" };

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (!strcmp(shown[i], figure->key))
			return figure->label;
	return several && figure->label && figure->label[0] == ' ' ? NULL : figure->label;
}

static void figure_fields(struct out_field fields[N_FIELDS], bool several)
{
	memcpy(fields, first_fields, sizeof(first_fields));
	for (size_t r = 0; r < N_FIGURES; r++)
		fields[N_FIRST + r] =
			(struct out_field){ figures[r].key, figure_label(&figures[r], several),
					    figures[r].digits ? OUT_REAL : OUT_COUNT,
					    figures[r].digits };
	fields[N_FIRST + N_FIGURES] = (struct out_field){ NULL, NULL, 0, 0 };
}

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

static int route_say(struct out *out, const struct outcome *o)
{
	/* That tables are refuted is their verdict; there are figures of them. */
	bool measured = !o->t.st && (!o->a.st || o->a.st == OSR_CHECK_FAILED);
	const struct osr_diag *why = o->t.st ? &o->t.diag : &o->a.diag;
	enum osr_status st = measured ? OSR_OK : o->t.st ? o->t.st : o->a.st;
	int code = CLI_OK;

	out_row(out, "results");
	out_text(out, "tables", o->name);
	out_text(out, "status", osr_status_str(st));
	out_text(out, "message", measured ? "" : why->text);
	if (st)
		out_note(out, "%s: %s", o->name, why->text);
	if (o->t.sweep.routed) {
		const struct osr_routing *routing = &o->t.routing;

		/* What an engine says of its tables, and the checker of them. */
		if (routing->note)
			out_note(out, "%s: %s", o->name, routing->note);
		out_textf(out, "digest", "%016llx", (unsigned long long)o->t.result.digest);
		say_claims(out, "claimed", routing->claims);
		say_claims(out, "proven", o->t.sweep.verdict.proven);
	}
	for (size_t r = 0; r < N_FIGURES; r++) {
		if (!route_has(o, figures[r].of))
			continue;
		if (figures[r].digits)
			out_real(out, figures[r].key, figures[r].value(o));
		else
			out_count(out, figures[r].key, (uint64_t)figures[r].value(o));
	}
	cli_worst_say(out, &o->a.worst);
	if (o->t.st)
		out_text(out, "verdict", o->t.sweep.routed ? osr_answer_name(OSR_REFUTED) : NULL);
	else
		code = cli_answers_say(out, o->name, &o->a.found, OSR_REQUIRED);
	if (!o->t.st)
		cli_answers_witness(out, o->name, o->f, &o->a.found, OSR_REQUIRED);
	/* Routes by their length. */
	for (uint32_t h = 0; o->a.has_loads && h <= OSR_LOADS_MAX_HOPS; h++) {
		if (!o->a.hops[h])
			continue;
		out_row(out, "hops");
		out_text(out, "tables", o->name);
		out_count(out, "hops", h);
		out_count(out, "routes", o->a.hops[h]);
	}
	return st ? CLI_BAD : code;
}

/* ---- what is kept for the others ------------------------------------------------------------ */

static void release(struct outcome *o)
{
	if (!o || --o->n_users)
		return;
	cli_tables_free(&o->t);
	cli_stored_free(&o->previous);
	free(o);
}

static void keep(struct outcome **place, struct outcome *o)
{
	release(*place);
	*place = o;
	o->n_users++;
}

/* Proven before unknown, nothing refuted; then bandwidth beyond its error, then the busiest channel. */
static bool route_better(const struct outcome *o, const struct outcome *than)
{
	const struct osr_bandwidth *bandwidth = &o->a.bandwidth, *y = &than->a.bandwidth;
	enum osr_answer mine = osr_verdict_of(&o->a.found, OSR_REQUIRED, NULL);
	enum osr_answer theirs = osr_verdict_of(&than->a.found, OSR_REQUIRED, NULL);
	double apart = bandwidth->half_width + y->half_width;

	if (mine != theirs)
		return mine == OSR_PROVEN;
	if (bandwidth->mean - y->mean > apart || y->mean - bandwidth->mean > apart)
		return bandwidth->mean > y->mean;
	return o->a.balance.efi < than->a.balance.efi;
}

/* ---- files ---------------------------------------------------------------------------------- */

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

	if (!how.dir || !o->routed || o->t.st)
		return OSR_OK;
	how.vls = a->who.link_vls;
	st = make_dir(how.dir, diag);
	if (!st && a->who.n > 1) {
		snprintf(sub, sizeof(sub), "%s/%s", how.dir, o->name);
		how.dir = sub;
		st = make_dir(how.dir, diag);
	}
	return st ? st : osr_osmdump_write(&how, &a->in.net, &a->in.fabric, &o->t.routing, diag);
}

/* FILE, or FILE.ENGINE where there are several. */
static const char *file_of(const struct args *a, const struct outcome *o, const char *file,
			   char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, a->who.n > 1 ? "%s.%s" : "%s", file, o->name);
	return path;
}

static enum osr_status route_save(const struct args *a, uint32_t i, const struct outcome *o,
				  struct osr_diag *diag)
{
	struct osr_job job = { .engine = a->who.item[i].engine, .values = &a->who.values[i] };
	char path[PATH_MAX];

	if (!a->save || !o->routed || o->t.st)
		return OSR_OK;
	return cli_stored_write(file_of(a, o, a->save, path), &job, &o->t.result, diag);
}

static enum osr_status read_previous(const struct args *a, uint32_t i, struct outcome *o,
				     struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &a->in.fabric;
	char path[PATH_MAX];
	enum osr_status st;
	uint32_t n_known;

	if (!a->previous || !o->routed)
		return OSR_OK;
	st = cli_stored_read(file_of(a, o, a->previous, path), a->who.item[i].engine,
			     &a->who.values[i], &o->previous, diag);
	if (!st && !osr_store_fits(&o->previous.last, fabric, &n_known))
		st = osr_fail(diag, OSR_INVAL,
			      "%.300s: tables of another fabric (%u of %u LIDs are in both)", path,
			      n_known, fabric->n_dests);
	return st;
}

/* ---- the work ------------------------------------------------------------------------------- */

static long peak_rss_kb(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_maxrss;
}

static enum osr_status route_measure(struct args *a, uint32_t i, struct outcome *o,
				     struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &a->in.fabric;
	struct osr_arena scratch = { 0 };
	enum osr_status st = read_previous(a, i, o, diag);

	if (st)
		return st;
	cli_busy("tables of", o->name);
	cli_tables_make(&a->who, i, fabric, a->previous && o->routed ? &o->previous.last : NULL,
			&o->t);
	cli_busy(NULL, NULL);
	o->rss_kb = peak_rss_kb();
	if (o->t.st == OSR_INVAL || o->t.st == OSR_NOMEM) {
		*diag = o->t.diag;
		return o->t.st;
	}
	if (o->t.st)
		return OSR_OK;
	st = dump(a, o, diag);
	if (!st)
		st = route_save(a, i, o, diag);
	if (st)
		return st;
	cli_analyze_tables(&a->traffic, &a->worst, o->name, fabric, &o->t, &o->a);
	o->compared = a->reference != NULL;
	if (o->compared)
		st = osr_changes(fabric, &a->reference->t.routing, fabric, &o->t.routing, &scratch,
				 &o->changes, diag);
	osr_arena_free(&scratch);
	if (!st)
		st = cli_traffic_measure(&a->traffic, fabric, &o->t.routing, o->name, &a->out,
					 diag);
	return st == OSR_CHECK_FAILED && o->a.st ? OSR_OK : st; /* said already */
}

static enum osr_status route_one(struct args *a, uint32_t i, int *code, struct osr_diag *diag)
{
	struct outcome *o = calloc(1, sizeof(*o));
	enum osr_status st;

	if (!o)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the figures");
	o->n_users = 1;
	o->f = &a->in.fabric;
	o->bound = a->bound;
	o->name = cli_subject_name(&a->who.item[i]);
	o->routed = a->who.item[i].engine != NULL;
	st = route_measure(a, i, o, diag);
	/* Asked for all, an engine for another kind of fabric gets no column. */
	if (!st && cli_subjects_skip(&a->who, i, &o->t)) {
		out_note(&a->out, "%s: %s", o->name, o->t.diag.text);
	} else if (!st) {
		int said = route_say(&a->out, o);

		if (said && cli_subjects_counts(&a->who, i, o->t.st))
			*code = said;
	}
	if (!st && !o->t.st) {
		a->n_done++;
		if (!a->reference)
			keep(&a->reference, o);
		if (o->a.has_loads && o->a.st != OSR_CHECK_FAILED &&
		    (!a->best || route_better(o, a->best)))
			keep(&a->best, o);
	}
	release(o);
	return st;
}

/*
 * What the others are compared with: the first that was named; if no engine was, the first file or the
 * live tables, or else dfsssp.
 */
static uint32_t reference_of(const struct cli_subjects *who)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < who->n && who->all; i++) {
		if (!who->item[i].engine)
			return i;
		if (!strcmp(who->item[i].engine->name, "dfsssp"))
			found = i;
	}
	return found;
}

static void say_best(struct args *a)
{
	const struct outcome *o = a->best;

	if (a->n_done < 2)
		return;
	out_head(&a->out, "paths and entries against %s", a->reference->name);
	if (!o) {
		out_note(&a->out, "none of them can be recommended: every verdict is refuted");
		return;
	}
	out_note(&a->out,
		 "recommended here: %s, verdict %s, %llu routes on the busiest channel, effective "
		 "bisection bandwidth %.3f",
		 o->name, osr_answer_name(osr_verdict_of(&o->a.found, OSR_REQUIRED, NULL)),
		 (unsigned long long)o->a.balance.efi, o->a.bandwidth.mean);
}

static int route_all(struct args *a)
{
	uint32_t first = reference_of(&a->who);
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	int code = CLI_OK;
	enum osr_status st;

	out_row(&a->out, "summary");
	cli_input_say(&a->in, &a->out);
	cli_subjects_say(&a->who, &a->out);
	cli_subjects_fields(&a->who, &a->out);
	out_count(&a->out, "patterns", a->traffic.n_bisections);
	out_count(&a->out, "seed", a->traffic.seed);
	out_head(&a->out, "%u random bisections from seed %llu", a->traffic.n_bisections,
		 (unsigned long long)a->traffic.seed);
	st = osr_bound_load(&a->in.fabric, &scratch, &a->bound, &diag);
	osr_arena_free(&scratch);
	if (!st)
		st = route_one(a, first, &code, &diag);
	for (uint32_t i = 0; i < a->who.n && !st; i++)
		if (i != first)
			st = route_one(a, i, &code, &diag);
	if (!st)
		say_best(a);
	release(a->reference);
	release(a->best);
	if (!st)
		return out_end(&a->out, code);
	out_drop(&a->out);
	return cli_fail(st, &diag);
}

/* ---- the command line ----------------------------------------------------------------------- */

static const struct cli_option options[] = {
	{ "dump", "DIR",
	  "write the tables as OpenSM does under -D 0x43; several engines: one folder each in DIR",
	  CLI_TEXT(struct args, dump.dir) },
	{ "save", "FILE",
	  "write the result into a binary file for --tables and --previous; several engines: "
	  "FILE.ENGINE each",
	  CLI_TEXT(struct args, save) },
	{ "previous", "FILE",
	  "the sweep after this one: stored tables of route --save or of the plugin; several "
	  "engines: FILE.ENGINE each",
	  CLI_TEXT(struct args, previous) },
	{ "ibdmchk", NULL,
	  "with --dump: SLs for ibdmchk, a line for each end port and LID, which is long",
	  CLI_FLAG(struct args, dump.long_sl) },
	{ 0 },
};

static const struct cli_part parts[] = { { &input_spec, offsetof(struct args, in) },
					 { &subjects_spec, offsetof(struct args, who) },
					 { &traffic_spec, offsetof(struct args, traffic) },
					 { &worst_spec, offsetof(struct args, worst) },
					 { &out_spec, offsetof(struct args, out) },
					 { 0 } };

static const struct cli_spec spec = {
	.options = options,
	.parts = parts,
	.args_doc = "FILE",
	.doc = "Routes the fabric of FILE (of ibnetdiscover or ibsim, or an opensm-subnet.lst), or "
	       "reads its tables, checks them and measures them: verdict, load of the channels, "
	       "length of the routes, effective bisection bandwidth, traffic, virtual lanes, CPU "
	       "time. Several engines and tables are columns, compared with the first.",
};

/* The net itself is needed once more only if tables are read or dumped. */
static enum osr_status route_prepare(struct args *a, struct osr_diag *diag)
{
	enum osr_status st = cli_subjects_load(&a->who, &a->in, diag);

	if (!st)
		st = cli_worst_load(&a->worst, &a->in, diag);
	a->threads = osr_threads_of((uint32_t)a->who.options.own.num[OPT_THREADS]);
	a->who.threads = &a->threads;
	if (!a->dump.dir)
		cli_subjects_drop_net(&a->who, &a->in);
	return st ? st : cli_traffic_load(&a->traffic, &a->in.fabric, diag);
}

int cli_route(int argc, char **argv)
{
	struct out_field fields[N_FIELDS];
	const struct out_section sections[] = {
		{ "summary", OUT_HEAD, head_fields },    { "results", OUT_ACROSS, fields },
		{ "hops", OUT_ROWS, hop_fields },        { "patterns", OUT_ROWS, pattern_fields },
		{ "loops", OUT_ROWS, cli_loops_fields }, { NULL, 0, NULL }
	};
	struct args a = { .in = CLI_INPUT_INIT,
			  .who = CLI_SUBJECTS_INIT,
			  .traffic = CLI_TRAFFIC_INIT,
			  .out = { .command = "route", .sections = sections } };
	struct osr_diag diag = { "" };
	enum osr_status st;
	int code;

	a.who.req.clock_ms = cli_cpu_ms;
	a.who.req.wall_ms = cli_wall_ms;
	figure_fields(fields, false);
	cli_parse(&spec, argc, argv, &a);
	figure_fields(fields, a.who.n > 1);
	st = route_prepare(&a, &diag);
	code = st ? cli_fail(st, &diag) : route_all(&a);
	st = cli_worst_free(&a.worst, &diag);
	code = st ? cli_fail(st, &diag) : code;
	cli_traffic_free(&a.traffic);
	cli_subjects_free(&a.who);
	cli_input_free(&a.in);
	return code;
}
