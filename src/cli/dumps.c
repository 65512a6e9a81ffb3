/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tables that are read: from dumps, the switches of a live fabric, or a file of stored ones. */
#include "cli/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "conf/options.h"
#include "core/data/carry.h"
#include "store/store.h"

enum { LFTS, SL2VL, PATHS, GROUPS };

/* What a directory of dumps may hold; the first of a kind counts. */
static const struct {
	unsigned kind;
	const char *name;
	osr_tables_parse_fn *parse;
} dumps[] = {
	{ LFTS, "opensm-lfts.dump", osr_tables_parse_lfts },
	{ LFTS, "opensm.fdbs", osr_tables_parse_lfts },
	{ SL2VL, "opensm-sl2vl.dump", osr_tables_parse_sl2vl },
	{ PATHS, "opensm-path-sl.dump", osr_tables_parse_paths },
	{ GROUPS, "opensm.mcfdbs", osr_tables_parse_groups },
};

#define N_DUMPS (sizeof(dumps) / sizeof(dumps[0]))

/* The files of a directory; a file is one of forwarding tables. */
static void find_files(const char *path, char *file[4])
{
	struct stat st;

	if (!cli_is_directory(path)) {
		file[LFTS] = strdup(path);
		return;
	}
	for (size_t i = 0; i < N_DUMPS; i++) {
		char **found = &file[dumps[i].kind];

		if (!*found && asprintf(found, "%s/%s", path, dumps[i].name) < 0)
			*found = NULL;
		else if (*found && !strcmp(*found + strlen(path) + 1, dumps[i].name) &&
			 stat(*found, &st)) {
			free(*found);
			*found = NULL;
		}
	}
}

static bool says_live(const char *path, const struct cli_input *in)
{
	return in->is_live && !strcmp(path, "live");
}

void cli_tables_prepare(const char *path, struct cli_input *in)
{
	char *file[4] = { NULL };
	struct stat st;

	if (says_live(path, in)) {
		in->live.ask =
			(struct osr_live_ask){ .lft = true, .sl2vl = true, .n_mlids = UINT32_MAX };
		return;
	}
	find_files(path, file);
	/* A pipe can be read but once. */
	if (!in->lfts && file[LFTS] && !stat(file[LFTS], &st) && S_ISREG(st.st_mode) &&
	    !cli_stored_probe(file[LFTS])) {
		in->lfts = file[LFTS];
		file[LFTS] = NULL;
	}
	for (unsigned i = 0; i < 4; i++)
		free(file[i]);
}

/* A verdict needs the SLs; a comparison goes on without them. */
static enum osr_status read_live(const struct cli_reading *how, struct cli_live *live,
				 struct osr_tables *t, struct osr_diag *diag)
{
	enum osr_status st = cli_live_tables(live, how->sl >= 0 ? CLI_SA_NONE : how->sa, t, diag);
	struct osr_diag why = *diag;

	if (st != OSR_UNREACHABLE)
		return st;
	if (how->sls_needed)
		return osr_fail(diag, OSR_INVAL,
				"%.200s: give the SLs by --sl=N, or check for any SL by --sa=none",
				why.text);
	fprintf(stderr,
		"osmroutes: warning: %.200s: the SLs of the tables in its switches are unknown\n",
		why.text);
	*diag = (struct osr_diag){ 0 };
	return OSR_OK;
}

/* Of another day: its switches and LIDs have to be those of the fabric, its cables need not. */
static enum osr_status read_stored(const char *path, struct cli_tables *tables,
				   struct osr_diag *diag)
{
	struct osr_diag why = { "" };
	struct osr_arena scratch = { 0 };
	struct cli_stored stored;
	struct osr_routing routing;
	struct stat file;
	enum osr_status st = cli_stored_read(path, NULL, NULL, &stored, diag);

	if (!st && osr_carry_again(&stored.last, tables->t.f, true, &tables->arena, &scratch,
				   &routing, &why))
		st = osr_fail(diag, OSR_INVAL, "%.200s: tables of another fabric: %.200s", path,
			      why.text);
	if (!st)
		st = osr_tables_take(&tables->t, &routing, diag);
	if (!stat(path, &file))
		tables->t.bytes += (uint64_t)file.st_size;
	cli_stored_free(&stored);
	osr_arena_free(&scratch);
	return st;
}

static enum osr_status read_files(const struct cli_reading *how, struct cli_tables *tables,
				  struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (unsigned kind = LFTS; kind <= GROUPS && !st; kind++) {
		const char *path = tables->file[kind];
		struct osr_lines in;
		size_t row = 0;

		while (dumps[row].kind != kind)
			row++;
		if (kind == LFTS && cli_stored_probe(path))
			st = read_stored(path, tables, diag);
		else if (path && !(kind == PATHS && how->sl >= 0))
			st = osr_tables_read(&tables->t, osr_lines_open(&in, path, diag),
					     dumps[row].parse);
	}
	return st;
}

enum osr_status cli_tables_read(const struct cli_reading *how, const char *path,
				struct cli_input *in, struct cli_tables *tables,
				struct osr_diag *diag)
{
	struct cli_stamp start = cli_now();
	enum osr_status st;

	tables->is_live = says_live(path, in);
	if (!tables->is_live && !strcmp(path, "live") && access(path, F_OK))
		return osr_fail(diag, OSR_INVAL,
				"--tables=live: the switches are those of --live, and there is "
				"FILE instead");
	if (!tables->is_live)
		find_files(path, tables->file);
	if (!tables->is_live && !tables->file[LFTS])
		return osr_fail(
			diag, OSR_INVAL,
			"%s: no forwarding tables: expected opensm-lfts.dump or opensm.fdbs "
			"in there",
			path);
	st = osr_tables_init(&tables->t, &in->fabric, &in->net, &tables->arena, diag);
	if (!st && tables->is_live)
		st = read_live(how, &in->live, &tables->t, diag);
	else if (!st)
		st = read_files(how, tables, diag);
	if (!st && how->sl >= 0)
		st = osr_tables_one_sl(&tables->t, (uint8_t)how->sl, diag);
	tables->t.groups.sl = (uint8_t)how->mcast_sl;
	if (!st)
		st = osr_tables_finish(&tables->t, &tables->same_ca, diag);
	tables->gen = osr_tables_generation(&tables->t);
	tables->gen.sls_unknown =
		!tables->t.taken && !tables->gen.paths && !tables->gen.routing->sl;
	tables->routing = tables->t.routing;
	tables->read = cli_since(start);
	return st;
}

const char *cli_tables_lft(const struct cli_tables *tables)
{
	return tables->is_live ? "the switches" : tables->file[LFTS];
}

/* Where something came from: a file, or else the switches or the stored file. */
static const char *origin(const struct cli_tables *tables, unsigned kind, bool there,
			  const char *none)
{
	return tables->file[kind] ? tables->file[kind] : there ? cli_tables_lft(tables) : none;
}

void cli_tables_say(const struct cli_reading *how, const struct cli_tables *tables, struct out *out)
{
	static const struct out_field fields[] = { CLI_TABLES_FIELDS, { 0 } };
	const struct osr_tables *t = &tables->t;
	bool has_groups = t->groups.n || t->routing.mcast_parent;
	const char *lft = cli_tables_lft(tables), *sls;
	char foreign[64] = "", read[64] = "";

	if (how->sl >= 0)
		sls = "all on one SL";
	else if (tables->is_live && t->paths.n_rows)
		sls = "the subnet administrator";
	else
		sls = origin(tables, PATHS, t->taken && t->routing.sl,
			     tables->gen.sls_unknown ? "not given" : "any SL");
	if (t->n_foreign)
		snprintf(foreign, sizeof(foreign), ", %llu for LIDs that no port has",
			 (unsigned long long)t->n_foreign);
	if (t->bytes)
		snprintf(read, sizeof(read), "; read %.1f MB at %.0f MB/s", (double)t->bytes / 1e6,
			 tables->read.wall > 0 ? (double)t->bytes / 1e3 / tables->read.wall : 0);
	out_head(out, "%s: %llu entries%s; SL2VL: %s; SLs: %s; multicast: %s%s", lft,
		 (unsigned long long)t->n_entries, foreign,
		 origin(tables, SL2VL, t->routing.sl2vl, "VL = SL"), sls,
		 origin(tables, GROUPS, has_groups, "none"), read);
	out_text(out, "tables.lfts", lft);
	out_text(out, "tables.sl2vl", origin(tables, SL2VL, t->routing.sl2vl, NULL));
	if (how->sl < 0 && (t->paths.n_rows || t->routing.sl))
		out_text(out, "tables.path_sls", sls);
	out_text(out, "tables.groups", origin(tables, GROUPS, has_groups, NULL));
	if (how->sl >= 0)
		out_count(out, "tables.sl", (uint64_t)how->sl);
	out_members(out, fields, tables, 0);
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
