/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include <osmroutes/check.h>
#include <osmroutes/engine.h>

#include "cli/cli.h"
#include "io/netfile.h"
#include "io/osmdump.h"

#define MAX_ENGINES 32
#define MAX_SETTINGS 32

enum { OPT_VLS = 256, OPT_LMC, OPT_JSON, OPT_MCAST, OPT_DUMP, OPT_PATH_SL };

static const struct argp_option options[] = {
	{ "engine", 'e', "NAME", 0, "routing engine, may be repeated; \"all\" (default dfsssp)",
	  0 },
	{ "option", 'o', "NAME=VALUE", 0, "option of the engine (see `osmroutes engines`)", 0 },
	{ "vls", OPT_VLS, "N", 0, "data virtual lanes to be used at most, 1 to 15 (default 8)", 0 },
	{ "lmc", OPT_LMC, "N", 0, "new LIDs, 2^N for every host (default: those of the file)", 0 },
	{ "multicast", OPT_MCAST, "VL", OPTION_ARG_OPTIONAL,
	  "let multicast on this VL (default 0) be part of the deadlock proof", 0 },
	{ "dump", OPT_DUMP, "DIR", 0,
	  "write the tables as OpenSM does under -D 0x43; several engines: one folder each in DIR",
	  0 },
	{ "path-sl", OPT_PATH_SL, NULL, 0,
	  "with --dump: also the SL from every end port to every LID, which is long", 0 },
	{ "json", OPT_JSON, NULL, 0, "print JSON instead of a table", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

struct args {
	const char *input;
	const struct osr_engine *engine[MAX_ENGINES];
	uint32_t n_engines;
	const char *setting[MAX_SETTINGS];
	uint32_t n_settings;
	struct osr_request req;
	int lmc;
	bool json;
	struct osr_osmdump dump;
};

/* Milliseconds of this process's CPU time, all threads, and of the clock on the wall. */
struct stamp {
	double cpu, wall;
};

static double clock_ms(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double cpu_ms(void)
{
	return clock_ms(CLOCK_PROCESS_CPUTIME_ID);
}

static struct stamp now(void)
{
	return (struct stamp){ cpu_ms(), clock_ms(CLOCK_MONOTONIC) };
}

static struct stamp since(struct stamp start)
{
	struct stamp end = now();

	return (struct stamp){ end.cpu - start.cpu, end.wall - start.wall };
}

static long peak_rss_kb(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_maxrss;
}

/* The fabric and what it took to read it. */
struct input {
	const char *path;
	struct osr_net net; /* kept for the dumps, empty otherwise */
	struct osr_arena arena;
	struct osr_fabric fabric;
	struct stamp read;
};

/* One engine's work on it. */
struct outcome {
	const struct osr_engine *engine;
	struct osr_arena scratch, result;
	struct osr_routing routing;
	struct osr_verdict verdict;
	enum osr_status route_st, check_st;
	struct osr_diag diag;
	struct stamp route, check;
	uint64_t digest;
	long rss_kb;
};

/* The net itself is needed once more only if the tables are to be dumped. */
static enum osr_status load(const struct args *a, struct input *in, struct osr_diag *diag)
{
	struct stamp start = now();
	enum osr_status st = osr_netfile_read(a->input, &in->net, diag);

	if (!st)
		st = osr_net_fabric(&in->net, a->lmc, &in->arena, &in->fabric, diag);
	if (st || !a->dump.dir)
		osr_net_free(&in->net);
	in->path = strcmp(a->input, "-") ? a->input : "standard input";
	in->read = since(start);
	return st;
}

/* Every engine asked for must know every option given: a typo never becomes a default. */
static enum osr_status engine_values(const struct args *a, const struct osr_engine *e,
				     struct osr_values *v, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	osr_values_default(v, e->params);
	for (uint32_t i = 0; i < a->n_settings && !st; i++)
		st = cli_set(v, e->params, a->setting[i], diag);
	return st;
}

/* The way of one sweep: applies, route, check. Nothing is judged by what the engine claims. */
static void route(const struct args *a, const struct input *in, const struct osr_values *v,
		  struct outcome *o)
{
	const struct osr_engine *e = o->engine;
	struct stamp start = now();

	o->route_st = e->applies ? e->applies(&in->fabric, v, &o->diag) : OSR_OK;
	if (!o->route_st)
		o->route_st = e->route(&in->fabric, v, &a->req, NULL, &o->scratch, &o->result,
				       &o->routing, &o->diag);
	o->route = since(start);
	if (o->route_st)
		return;
	start = now();
	o->check_st = osr_check(&in->fabric, &o->routing, &o->scratch, &o->verdict, &o->diag);
	o->check = since(start);
	o->rss_kb = peak_rss_kb();
	o->digest = osr_routing_digest(&in->fabric, &o->routing);
}

static enum osr_status make_dir(const char *dir, struct osr_diag *diag)
{
	if (!mkdir(dir, 0777) || errno == EEXIST)
		return OSR_OK;
	return osr_fail(diag, OSR_INVAL, "%s: %s", dir, strerror(errno));
}

/* What the checker refused is not written: nobody shall load it. */
static enum osr_status dump(const struct args *a, const struct input *in, const struct outcome *o,
			    struct osr_diag *diag)
{
	struct osr_osmdump how = a->dump;
	char sub[4096];
	enum osr_status st;

	if (!how.dir || o->route_st || o->check_st)
		return OSR_OK;
	how.vls = a->req.max_vls;
	st = make_dir(how.dir, diag);
	if (!st && a->n_engines > 1) {
		snprintf(sub, sizeof(sub), "%s/%s", how.dir, o->engine->name);
		how.dir = sub;
		st = make_dir(how.dir, diag);
	}
	return st ? st : osr_osmdump_write(&how, &in->net, &in->fabric, &o->routing, diag);
}

/* ---- the table ------------------------------------------------------------------------------ */

/* One line of the table: what it is called, and how one engine's cell is printed. */
struct row {
	const char *label;
	void (*cell)(const struct outcome *o, char *buf, size_t size);
};

static void cell_engine(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%s", o->engine->name);
}

static void cell_route(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%.1f / %.1f", o->route.cpu, o->route.wall);
}

static void cell_spf(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%.1f", o->routing.ms_spf);
}

static void cell_layers(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%.1f", o->routing.ms_layers);
}

static void cell_check(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%.1f / %.1f", o->check.cpu, o->check.wall);
}

static void cell_rss(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%.1f", (double)o->rss_kb / 1024);
}

static void cell_vls(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%u", o->routing.n_vls);
}

static void cell_layers_needed(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%u / %u", o->routing.n_layers_one_way, o->routing.n_layers);
}

static void cell_efi(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%llu", (unsigned long long)o->verdict.efi);
}

static void cell_efi_mean(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%.1f", o->verdict.efi_mean);
}

static void cell_efi_capacity(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%.1f", o->verdict.efi_per_capacity);
}

static void cell_hops(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%u", o->verdict.max_hops);
}

static void cell_longer(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%llu of %llu", (unsigned long long)o->verdict.n_longer,
		 (unsigned long long)o->verdict.n_routes);
}

static void cell_digest(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%016llx", (unsigned long long)o->digest);
}

static bool is_good(const struct outcome *o)
{
	return !o->route_st && !o->check_st;
}

static void cell_deadlock(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%s",
		 o->verdict.proven & OSR_CLAIM_DEADLOCK_FREE ? "yes" : "not proven");
}

static void cell_reversible(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%s", o->verdict.proven & OSR_CLAIM_REVERSIBLE ? "yes" : "not proven");
}

static void cell_any_sl(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%s", o->verdict.proven & OSR_CLAIM_ANY_SL ? "yes" : "not proven");
}

static void cell_verdict(const struct outcome *o, char *buf, size_t size)
{
	snprintf(buf, size, "%s", o->check_st ? "REFUSED" : "good");
}

static const struct row rows[] = {
	{ "engine", cell_engine },
	{ "route, ms CPU / wall", cell_route },
	{ "  of it shortest paths", cell_spf },
	{ "  of it virtual lanes", cell_layers },
	{ "check, ms CPU / wall", cell_check },
	{ "peak memory, MB", cell_rss },
	{ "VLs used", cell_vls },
	{ "  needed one-way / given", cell_layers_needed },
	{ "edge forwarding index", cell_efi },
	{ "  average", cell_efi_mean },
	{ "  per capacity", cell_efi_capacity },
	{ "longest route, channels", cell_hops },
	{ "longer than minimal", cell_longer },
	{ "deadlock-free", cell_deadlock },
	{ "  also for replies", cell_reversible },
	{ "  also on any SL", cell_any_sl },
	{ "digest", cell_digest },
	{ "checker says", cell_verdict },
};

static void print_fabric(const struct input *in)
{
	const struct osr_fabric *f = &in->fabric;

	printf("%s: %u switches, %u channels, %u end ports, %u LIDs", in->path, f->n_switches,
	       f->n_channels, f->n_terminals, f->n_dests);
	if (f->n_components > 1)
		printf(", split into %u parts", f->n_components);
	printf("; read in %.1f ms\n", in->read.wall);
}

/* Properties down, engines across; below it why an engine or the checker refused. */
static void print_table(const struct input *in, const struct outcome *o, uint32_t n)
{
	char cell[64];

	print_fabric(in);
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		printf("%-26s", rows[r].label);
		for (uint32_t i = 0; i < n; i++) {
			if (!o[i].route_st)
				rows[r].cell(&o[i], cell, sizeof(cell));
			else
				snprintf(cell, sizeof(cell), "%s", r ? "-" : o[i].engine->name);
			printf(" %18s", cell);
		}
		putchar('\n');
	}
	for (uint32_t i = 0; i < n; i++)
		if (!is_good(&o[i]))
			printf("%s: %s\n", o[i].engine->name, o[i].diag.text);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *stamp_json(struct stamp s)
{
	return json_pack("{s:f, s:f}", "cpu", s.cpu, "wall", s.wall);
}

static json_t *claims_json(uint32_t claims)
{
	return json_pack("{s:b, s:b, s:b, s:b, s:b}", "minimal", !!(claims & OSR_CLAIM_MINIMAL),
			 "deadlock_free", !!(claims & OSR_CLAIM_DEADLOCK_FREE), "reversible",
			 !!(claims & OSR_CLAIM_REVERSIBLE), "any_sl", !!(claims & OSR_CLAIM_ANY_SL),
			 "multicast", !!(claims & OSR_CLAIM_MULTICAST));
}

/* An engine that refused has its message and nothing else. */
static json_t *outcome_json(const struct outcome *o)
{
	const struct osr_verdict *v = &o->verdict;
	json_t *j = json_pack("{s:s, s:s, s:s}", "engine", o->engine->name, "status",
			      osr_status_str(o->route_st ? o->route_st : o->check_st), "message",
			      o->diag.text);
	char digest[32];

	if (!j || o->route_st)
		return j;
	cell_digest(o, digest, sizeof(digest));
	json_object_set_new(j, "route_ms", stamp_json(o->route));
	json_object_set_new(j, "spf_ms", json_real(o->routing.ms_spf));
	json_object_set_new(j, "layers_ms", json_real(o->routing.ms_layers));
	json_object_set_new(j, "check_ms", stamp_json(o->check));
	json_object_set_new(j, "peak_rss_kb", json_integer(o->rss_kb));
	json_object_set_new(j, "vls", json_integer(o->routing.n_vls));
	json_object_set_new(j, "layers", json_integer(o->routing.n_layers));
	json_object_set_new(j, "layers_one_way", json_integer(o->routing.n_layers_one_way));
	json_object_set_new(j, "efi", json_integer((json_int_t)v->efi));
	json_object_set_new(j, "efi_mean", json_real(v->efi_mean));
	json_object_set_new(j, "efi_per_capacity", json_real(v->efi_per_capacity));
	json_object_set_new(j, "max_hops", json_integer(v->max_hops));
	json_object_set_new(j, "routes", json_integer((json_int_t)v->n_routes));
	json_object_set_new(j, "routes_longer", json_integer((json_int_t)v->n_longer));
	json_object_set_new(j, "no_path", json_integer((json_int_t)v->n_no_path));
	json_object_set_new(j, "claimed", claims_json(o->routing.claims));
	json_object_set_new(j, "proven", claims_json(v->proven));
	json_object_set_new(j, "digest", json_string(digest));
	return j;
}

static void print_json(const struct input *in, const struct outcome *o, uint32_t n)
{
	const struct osr_fabric *f = &in->fabric;
	json_t *root =
		json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:o}", "fabric", in->path, "switches",
			  (int)f->n_switches, "channels", (int)f->n_channels, "terminals",
			  (int)f->n_terminals, "lids", (int)f->n_dests, "components",
			  (int)f->n_components, "read_ms", stamp_json(in->read));
	json_t *engines = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(engines, outcome_json(&o[i]));
	json_object_set_new(root, "engines", engines);
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(root);
}

/* ---- the command line ----------------------------------------------------------------------- */

static void take_engine(struct args *a, const char *name, struct argp_state *state)
{
	const struct osr_engine *e = osr_engine_find(name);

	if (!strcmp(name, "all")) {
		for (uint32_t i = 0; osr_engines[i] && a->n_engines < MAX_ENGINES; i++)
			a->engine[a->n_engines++] = osr_engines[i];
		return;
	}
	if (!e)
		argp_error(state, "no engine \"%s\"; `osmroutes engines` lists them", name);
	if (a->n_engines == MAX_ENGINES)
		argp_error(state, "at most %d engines at a time", MAX_ENGINES);
	a->engine[a->n_engines++] = e;
}

static long take_number(const char *text, const char *what, long lo, long hi,
			struct argp_state *state)
{
	long n = 0;

	if (!cli_number(text, lo, hi, &n))
		argp_error(state, "%s \"%s\": expected %ld to %ld", what, text, lo, hi);
	return n;
}

static void finish(struct args *a, struct argp_state *state)
{
	if (!a->input)
		argp_error(state, "which FILE? \"-\" is standard input");
	if (a->n_engines == 0)
		take_engine(a, "dfsssp", state);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'e':
		take_engine(a, arg, state);
		return 0;
	case 'o':
		if (a->n_settings == MAX_SETTINGS)
			argp_error(state, "at most %d options", MAX_SETTINGS);
		a->setting[a->n_settings++] = arg;
		return 0;
	case OPT_VLS:
		a->req.max_vls = (uint8_t)take_number(arg, "vls", 1, OSR_MAX_VLS, state);
		return 0;
	case OPT_LMC:
		a->lmc = (int)take_number(arg, "lmc", 0, 7, state);
		return 0;
	case OPT_MCAST:
		a->req.multicast = true;
		a->req.mcast_vl = arg ? (uint8_t)take_number(arg, "VL", 0, 14, state) : 0;
		return 0;
	case OPT_DUMP:
		a->dump.dir = arg;
		return 0;
	case OPT_PATH_SL:
		a->dump.path_sl = true;
		return 0;
	case OPT_JSON:
		a->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->input)
			argp_error(state, "one FILE, please");
		a->input = arg;
		return 0;
	case ARGP_KEY_END:
		finish(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/*
 * One engine after the other, each with arenas of its own. The peak of memory is the process's:
 * that of a later engine includes the tables of those before it.
 */
static int route_all(const struct args *a, const struct input *in)
{
	struct outcome *o = calloc(a->n_engines, sizeof(*o));
	struct osr_values v;
	int code = CLI_OK;

	for (uint32_t i = 0; o && i < a->n_engines; i++) {
		o[i].engine = a->engine[i];
		if (engine_values(a, o[i].engine, &v, &o[i].diag)) {
			code = cli_fail(OSR_INVAL, &o[i].diag);
			break;
		}
		route(a, in, &v, &o[i]);
		osr_arena_free(&o[i].scratch);
		if (dump(a, in, &o[i], &o[i].diag)) {
			code = cli_fail(OSR_INVAL, &o[i].diag);
			break;
		}
		if (!is_good(&o[i]))
			code = CLI_BAD;
	}
	if (!o)
		code = cli_fail(OSR_NOMEM, &(struct osr_diag){ "" });
	else if (code != CLI_USAGE)
		(a->json ? print_json : print_table)(in, o, a->n_engines);
	for (uint32_t i = 0; o && i < a->n_engines; i++) {
		osr_arena_free(&o[i].scratch);
		osr_arena_free(&o[i].result);
	}
	free(o);
	return code;
}

int cli_route(int argc, char **argv)
{
	static const struct argp argp = { options,
					  parse,
					  "FILE",
					  "Routes the fabric of FILE (ibnetdiscover or ibsim net "
					  "file), checks the tables and says "
					  "how good they are.",
					  NULL,
					  NULL,
					  NULL };
	struct args a = { .lmc = -1, .req = { .max_vls = 8, .clock_ms = cpu_ms } };
	struct osr_diag diag = { "" };
	struct input in = { 0 };
	enum osr_status st;
	int code;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	st = load(&a, &in, &diag);
	code = st ? cli_fail(st, &diag) : route_all(&a, &in);
	osr_arena_free(&in.arena);
	osr_net_free(&in.net);
	return code;
}
