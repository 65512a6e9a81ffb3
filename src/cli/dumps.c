/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/subject.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/data/carry.h"
#include <errno.h>
#include <stdio.h>
#include "store/store.h"
#include "conf/options.h"

enum { OPT_SA = 256 };

static const struct cli_option options[] = {
	{ .doc = "Tables:", .group = 5 },
	{ "tables", "DIR|FILE",
	  "all that is there of opensm-lfts.dump (or opensm.fdbs), opensm-sl2vl.dump, "
	  "opensm-path-sl.dump, opensm.mcfdbs; or a file of route --save",
	  CLI_TEXT(struct cli_dumps, dir) },
	{ "lft", "FILE",
	  "forwarding tables: opensm-lfts.dump, opensm.fdbs, dump_lfts, a file of route --save",
	  CLI_TEXT(struct cli_dumps, lft) },
	{ "sl2vl", "FILE", "SL2VL tables: opensm-sl2vl.dump, or ibdmchk's",
	  CLI_TEXT(struct cli_dumps, sl2vl) },
	{ "path-sl", "FILE", "SLs of paths: opensm-path-sl.dump, or ibdmchk's psl",
	  CLI_TEXT(struct cli_dumps, paths) },
	{ "sl", "N", "all senders use this SL (default: as --path-sl says)",
	  CLI_NUMBER(struct cli_dumps, sl, 0, 15) },
	{ "sa", "WORD",
	  "with --live, ask the subnet administrator for the SLs of all pairs (default), of one "
	  "host for each switch, or not at all: pairs, switches, none",
	  .key = OPT_SA },
	{ 0 },
};

static enum cli_sa take_sa(const char *word, struct argp_state *state)
{
	if (!strcmp(word, "pairs"))
		return CLI_SA_PAIRS;
	if (!strcmp(word, "switches"))
		return CLI_SA_SWITCHES;
	if (strcmp(word, "none") != 0)
		argp_error(state, "sa \"%s\": expected pairs, switches or none", word);
	return CLI_SA_NONE;
}

static error_t dumps_parse(int key, char *arg, struct argp_state *state)
{
	if (key != OPT_SA)
		return ARGP_ERR_UNKNOWN;
	((struct cli_dumps *)state->input)->sa = take_sa(arg, state);
	return 0;
}

const struct cli_spec dumps_spec = { options, dumps_parse };

static const struct cli_option groups_options[] = {
	{ "mcast", "FILE", "multicast tables: opensm.mcfdbs", CLI_TEXT(struct cli_dumps, groups) },
	{ "mcast-sl", "N", "SL of multicast (default 0)",
	  CLI_NUMBER(struct cli_dumps, mcast_sl, 0, 15) },
	{ 0 },
};

const struct cli_spec groups_spec = { groups_options };

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The name of a file in the directory if it is there and holds something, in *found. */
static const char *look_for(const char *dir, const char *name, char **found)
{
	struct stat st;

	free(*found);
	if (asprintf(found, "%s/%s", dir, name) < 0)
		*found = NULL;
	if (*found && !stat(*found, &st) && st.st_size > 0)
		return *found;
	return NULL;
}

void cli_dumps_find(struct cli_dumps *dumps, struct cli_input *in)
{
	struct stat st;

	if (dumps->dir && is_directory(dumps->dir)) {
		/* Files named one by one come before those of the directory. */
		if (!dumps->lft)
			dumps->lft = look_for(dumps->dir, "opensm-lfts.dump", &dumps->found[0]);
		if (!dumps->lft)
			dumps->lft = look_for(dumps->dir, "opensm.fdbs", &dumps->found[0]);
		if (!dumps->sl2vl)
			dumps->sl2vl = look_for(dumps->dir, "opensm-sl2vl.dump", &dumps->found[1]);
		if (!dumps->paths && dumps->sl < 0)
			dumps->paths =
				look_for(dumps->dir, "opensm-path-sl.dump", &dumps->found[2]);
		if (!dumps->groups)
			dumps->groups = look_for(dumps->dir, "opensm.mcfdbs", &dumps->found[3]);
	} else if (dumps->dir && !dumps->lft)
		dumps->lft = dumps->dir;
	/* A pipe can be read but once. */
	if (in && dumps->lft && !stat(dumps->lft, &st) && S_ISREG(st.st_mode) &&
	    !cli_stored_probe(dumps->lft))
		in->lfts = dumps->lft;
}

void cli_dumps_live(struct cli_dumps *dumps, struct cli_input *in)
{
	dumps->is_live = true;
	in->live.ask = (struct osr_live_ask){ .lft = true,
					      .sl2vl = !dumps->sl2vl,
					      .n_mlids = dumps->groups ? 0 : UINT32_MAX };
}

enum osr_status cli_dumps_from_input(struct cli_dumps *dumps, struct cli_input *in,
				     struct osr_diag *diag)
{
	if (in->is_live && !dumps->dir && !dumps->lft)
		cli_dumps_live(dumps, in);
	if (!in->path || !is_directory(in->path)) {
		cli_dumps_find(dumps, in);
		return OSR_OK;
	}
	if (!dumps->dir)
		dumps->dir = in->path;
	if (asprintf(&in->owned, "%s/opensm-subnet.lst", in->path) < 0)
		return osr_fail(diag, OSR_NOMEM, "%s: out of memory", in->path);
	in->path = in->owned;
	cli_dumps_find(dumps, in);
	return OSR_OK;
}

/* A verdict needs the SLs; a comparison goes on without them. */
static enum osr_status dumps_read_live(struct cli_dumps *dumps, struct cli_live *live,
				       struct osr_diag *diag)
{
	enum cli_sa sa = dumps->paths || dumps->sl >= 0 ? CLI_SA_NONE : dumps->sa;
	enum osr_status st = cli_live_tables(live, sa, &dumps->t, diag);
	struct osr_diag why = *diag;

	if (st != OSR_UNREACHABLE)
		return st;
	*diag = (struct osr_diag){ 0 };
	if (!dumps->sl_optional)
		return osr_fail(diag, OSR_INVAL,
				"%.200s: give the SLs by --path-sl=FILE or --sl=N, or check for "
				"any SL by --sa=none",
				why.text);
	osr_fail(&dumps->sl_warning, st,
		 "%.200s: the SLs of the tables in its switches are unknown", why.text);
	return OSR_OK;
}

static enum osr_status dumps_read_file(struct cli_dumps *dumps, const char *path,
				       osr_tables_parse_fn *parse, struct osr_diag *diag)
{
	struct osr_lines in;

	return osr_tables_read(&dumps->t, osr_lines_open(&in, path, diag), parse);
}

/* Files that are named come before what is read from the switches. */
static enum osr_status dumps_read_all(struct cli_dumps *dumps, struct cli_live *live,
				      struct osr_diag *diag)
{
	enum osr_status st;

	if (dumps->is_live)
		st = dumps_read_live(dumps, live, diag);
	else if (cli_stored_probe(dumps->lft)) {
		struct osr_diag why = { "" };
		struct osr_arena scratch = { 0 };
		struct cli_stored stored;
		struct osr_routing routing;
		struct stat file;

		/*
		 * Of another day: its switches and LIDs have to be those of the fabric, its cables
		 * need not.
		 */
		st = cli_stored_read(dumps->lft, NULL, NULL, &stored, diag);
		if (!st && osr_carry_again(&stored.last, dumps->t.f, &dumps->arena, &scratch,
					   &routing, &why))
			st = osr_fail(diag, OSR_INVAL, "%.200s: tables of another fabric: %.200s",
				      dumps->lft, why.text);
		if (!st)
			st = osr_tables_take(&dumps->t, &routing, diag);
		if (!stat(dumps->lft, &file))
			dumps->t.bytes += (uint64_t)file.st_size;
		cli_stored_free(&stored);
		osr_arena_free(&scratch);
	} else
		st = dumps_read_file(dumps, dumps->lft, osr_tables_parse_lfts, diag);

	if (!st && dumps->sl2vl)
		st = dumps_read_file(dumps, dumps->sl2vl, osr_tables_parse_sl2vl, diag);
	if (!st && dumps->paths)
		st = dumps_read_file(dumps, dumps->paths, osr_tables_parse_paths, diag);
	if (!st && dumps->sl >= 0)
		st = osr_tables_one_sl(&dumps->t, (uint8_t)dumps->sl, diag);
	if (!st && dumps->groups)
		st = dumps_read_file(dumps, dumps->groups, osr_tables_parse_groups, diag);
	dumps->t.groups.sl = (uint8_t)dumps->mcast_sl;
	return st ? st : osr_tables_finish(&dumps->t, &dumps->same_ca, diag);
}

enum osr_status cli_dumps_load(struct cli_dumps *dumps, struct cli_input *in, struct osr_diag *diag)
{
	return cli_dumps_read(dumps, &in->fabric, &in->net, &in->live, diag);
}

enum osr_status cli_dumps_read(struct cli_dumps *dumps, const struct osr_fabric *fabric,
			       const struct osr_net *net, struct cli_live *live,
			       struct osr_diag *diag)
{
	struct cli_stamp start = cli_now();
	enum osr_status st;

	if (!dumps->lft && !dumps->is_live)
		return osr_fail(diag, OSR_INVAL,
				"%s%sno forwarding tables: expected opensm-lfts.dump or "
				"opensm.fdbs in --tables=DIR, --lft=FILE, or --live",
				dumps->dir ? dumps->dir : "", dumps->dir ? ": " : "");
	st = osr_tables_init(&dumps->t, fabric, net, &dumps->arena, diag);
	if (!st)
		st = dumps_read_all(dumps, live, diag);
	dumps->gen = osr_tables_generation(&dumps->t);
	dumps->gen.sls_unknown = !dumps->t.taken && !dumps->gen.paths && !dumps->gen.routing->sl;
	dumps->read = cli_since(start);
	return st;
}

void cli_dumps_free(struct cli_dumps *dumps)
{
	osr_tables_free(&dumps->t);
	osr_arena_free(&dumps->arena);
	for (unsigned i = 0; i < 4; i++)
		free(dumps->found[i]);
}

/* Where something came from: a file, or else the switches or the stored file. */
static const char *dumps_source(const struct cli_dumps *dumps, const char *file, bool there,
				const char *none)
{
	if (file)
		return file;
	if (!there)
		return none;
	return dumps->is_live ? "the switches" : dumps->lft;
}

static const char *sl_source(const struct cli_dumps *dumps)
{
	if (dumps->sl >= 0)
		return "all on one SL";
	if (dumps->is_live && !dumps->paths && dumps->t.paths.n_rows)
		return "the subnet administrator";
	return dumps_source(dumps, dumps->paths, dumps->t.taken && dumps->t.routing.sl,
			    dumps->gen.sls_unknown ? "not given" : "any SL");
}

void cli_dumps_say(const struct cli_dumps *dumps, struct out *o)
{
	static const struct out_field fields[] = { CLI_DUMPS_FIELDS, { 0 } };
	const char *lft = dumps_source(dumps, dumps->is_live ? NULL : dumps->lft, true, NULL);
	char foreign[64] = "", read[64] = "";

	if (dumps->t.n_foreign)
		snprintf(foreign, sizeof(foreign), ", %llu for LIDs that no port has",
			 (unsigned long long)dumps->t.n_foreign);
	if (dumps->t.bytes)
		snprintf(read, sizeof(read), "; read %.1f MB at %.0f MB/s",
			 (double)dumps->t.bytes / 1e6,
			 dumps->read.wall > 0 ? (double)dumps->t.bytes / 1e3 / dumps->read.wall
					      : 0);
	out_head(o, "%s: %llu entries%s; SL2VL: %s; SLs: %s; multicast: %s%s", lft,
		 (unsigned long long)dumps->t.n_entries, foreign,
		 dumps_source(dumps, dumps->sl2vl, dumps->t.routing.sl2vl, "VL = SL"),
		 sl_source(dumps),
		 dumps_source(dumps, dumps->groups,
			      dumps->t.groups.n || dumps->t.routing.mcast_parent, "none"),
		 read);
	out_text(o, "tables.lfts", lft);
	out_text(o, "tables.sl2vl",
		 dumps_source(dumps, dumps->sl2vl, dumps->t.routing.sl2vl, NULL));
	if (dumps->sl < 0 && (dumps->t.paths.n_rows || dumps->t.routing.sl))
		out_text(o, "tables.path_sls", sl_source(dumps));
	out_text(o, "tables.groups",
		 dumps_source(dumps, dumps->groups,
			      dumps->t.groups.n || dumps->t.routing.mcast_parent, NULL));
	if (dumps->sl >= 0)
		out_count(o, "tables.sl", (uint64_t)dumps->sl);
	out_members(o, fields, dumps, 0);
}

/* The whole file, to be freed; NULL with a sentence. */
static void *stored_bytes(const char *path, size_t *size, struct osr_diag *diag)
{
	FILE *in = fopen(path, "rb");
	struct stat st;
	void *buf = NULL;

	errno = 0;
	if (!in || fstat(fileno(in), &st))
		osr_fail(diag, OSR_INVAL, "%.300s: %s", path, strerror(errno ? errno : ENOENT));
	else if (!S_ISREG(st.st_mode) || !st.st_size)
		osr_fail(diag, OSR_INVAL, "%.300s: not a file of stored tables", path);
	else if (!(buf = malloc((size_t)st.st_size)))
		osr_fail(diag, OSR_NOMEM, "%.300s: no memory for %lld bytes", path,
			 (long long)st.st_size);
	else if (fread(buf, 1, (size_t)st.st_size, in) != (size_t)st.st_size) {
		osr_fail(diag, OSR_INVAL, "%.300s: cannot be read completely", path);
		free(buf);
		buf = NULL;
	} else
		*size = (size_t)st.st_size;
	if (in)
		fclose(in);
	return buf;
}

bool cli_stored_probe(const char *path)
{
	char head[OSR_STORE_HEAD];
	struct stat file;
	FILE *in = !stat(path, &file) && S_ISREG(file.st_mode) ? fopen(path, "rb") : NULL;
	bool begins = in && fread(head, 1, sizeof(head), in) == sizeof(head);

	/* A pipe can be read but once. */
	if (in)
		fclose(in);
	return begins && !memcmp(head, OSR_STORE_MAGIC, strlen(OSR_STORE_MAGIC));
}

enum osr_status cli_stored_read(const char *path, const struct osr_engine *engine,
				const struct osr_values *values, struct cli_stored *stored,
				struct osr_diag *diag)
{
	struct osr_arena scratch = { 0 };
	size_t size = 0;
	void *buf = stored_bytes(path, &size, diag);
	enum osr_status st = OSR_INVAL;

	*stored = (struct cli_stored){ .last.digest = 0 };
	if (buf)
		st = osr_store_read(buf, size, path, engine ? engine->name : NULL,
				    engine ? osr_options_key(engine, values) : 0, &stored->arena,
				    &stored->baseline_arena, &scratch, &stored->last,
				    &stored->baseline, diag);
	osr_arena_free(&scratch);
	free(buf);
	return st;
}

void cli_stored_free(struct cli_stored *stored)
{
	osr_arena_free(&stored->arena);
	osr_arena_free(&stored->baseline_arena);
}

enum osr_status cli_stored_write(const char *path, const struct osr_job *job,
				 const struct osr_result *last, struct osr_diag *diag)
{
	size_t size = osr_store_size(last);
	void *buf = size ? malloc(size) : NULL;
	FILE *out = buf ? fopen(path, "wb") : NULL;

	if (out) {
		osr_store_write(last, osr_options_key(job->engine, job->values), buf, size);
		fwrite(buf, 1, size, out);
	}
	free(buf);
	return cli_written(out, path, diag);
}
