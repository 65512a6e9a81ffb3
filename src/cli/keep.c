/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The notes of a live routing (routing.h) are texts, each with a zero byte at its end: MARK, the
 * fabric as ibnetdiscover prints it, and the multicast groups as opensm.mcfdbs has them.
 */
#include "cli/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store.h"

#define MARK "fabric and groups of a live fabric"

static const struct cli_option options[] = {
	{ "dump", "DIR",
	  "write the tables as OpenSM does under -D 0x43; several: one folder each in DIR",
	  CLI_TEXT(struct cli_keep, dump.dir) },
	{ "save", "FILE",
	  "write the tables into a binary file, for --tables, diff and, of engines, route "
	  "--previous; of a live fabric with the fabric itself; several: FILE.NAME each",
	  CLI_TEXT(struct cli_keep, save) },
	{ 0 },
};

const struct cli_spec keep_spec = { options };

/* ---- writing -------------------------------------------------------------------------------- */

static bool is_kept(const struct cli_subjects *who, uint32_t i)
{
	return who->item[i].engine || (who->in->is_live && !strcmp(who->item[i].file, "live"));
}

enum osr_status cli_keep_ready(const struct cli_keep *keep, const struct cli_subjects *who,
			       struct osr_diag *diag)
{
	bool any = false;

	for (uint32_t i = 0; i < who->n; i++)
		any |= is_kept(who, i);
	if (!any && (keep->dump.dir || keep->save))
		return osr_fail(diag, OSR_INVAL,
				"--dump and --save are for tables of engines and of --live; these "
				"are in files");
	if (keep->save && !strcmp(keep->save, "-"))
		return osr_fail(diag, OSR_INVAL, "--save: stored tables need a file of their own");
	return OSR_OK;
}

const char *cli_keep_path(const struct cli_subjects *who, uint32_t i, const char *file,
			  char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, who->n > 1 ? "%s.%s" : "%s", file,
		 cli_subject_name(&who->item[i]));
	return path;
}

static enum osr_status keep_dump(const struct osr_osmdump *dump, const struct cli_subjects *who,
				 uint32_t i, const struct cli_tables *tables, struct osr_diag *diag)
{
	struct osr_osmdump how = *dump;
	char sub[PATH_MAX];
	enum osr_status st = OSR_OK;

	how.vls = who->link_vls;
	snprintf(sub, sizeof(sub), "%s/%s", how.dir, cli_subject_name(&who->item[i]));
	for (int deep = 0; deep < 2 && !st; deep++) {
		if (deep && who->n > 1)
			how.dir = sub;
		if (mkdir(how.dir, 0777) && errno != EEXIST)
			st = osr_fail(diag, OSR_INVAL, "%s: %s", how.dir, strerror(errno));
	}
	return st ? st
		  : osr_osmdump_write(&how, &who->in->net, &who->in->fabric, &tables->gen, diag);
}

/* MARK and the texts behind it; NULL: no memory. */
static char *live_notes(const struct cli_input *in, const struct osr_groups *groups, size_t *size)
{
	struct osr_diag diag;
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	bool good;

	if (!out)
		return NULL;
	fwrite(MARK, 1, sizeof(MARK), out);
	good = !osr_netfile_write(&in->net, NULL, out, &diag);
	fputc('\0', out);
	osr_osmdump_groups(&in->fabric, groups, out);
	fputc('\0', out);
	good &= !ferror(out);
	if (!fclose(out) && good)
		return text;
	free(text);
	return NULL;
}

static enum osr_status write_store(const struct osr_result *result, uint64_t key, const char *path,
				   struct osr_diag *diag)
{
	size_t size = osr_store_size(result);
	void *buf = size ? malloc(size) : NULL;
	FILE *out;

	if (!size)
		return OSR_OK;
	if (!buf)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the file of --save");
	out = fopen(path, "wb");
	osr_store_write(result, key, buf, size);
	if (out)
		fwrite(buf, 1, size, out);
	free(buf);
	return cli_written(out, path, diag);
}

static enum osr_status keep_live(const struct cli_input *in, const struct cli_tables *tables,
				 const char *path, struct out *out, struct osr_diag *diag)
{
	struct osr_result now = { .fabric = in->fabric, .routing = tables->routing };
	const struct osr_generation *gen = &tables->gen;
	enum osr_status st;
	char *notes;

	/*
	 * A file has the SLs of a switch, not of its hosts one by one, and one SL2VL table of all
	 * hosts.
	 */
	if (!tables->same_ca)
		return osr_fail(diag, OSR_INVAL,
				"%.200s: hosts differ in their SL2VL tables: --dump=DIR keeps them",
				path);
	if (gen->paths) {
		now.routing.sl = NULL;
		out_note(out,
			 "%.200s lacks the SLs, for hosts of one switch differ: --dump=DIR keeps "
			 "them",
			 path);
	}
	notes = live_notes(in, gen->groups, &now.routing.notes.size);
	if (!notes)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the file of --save");
	now.routing.engine = "live";
	now.routing.notes.data = notes;
	st = write_store(&now, 0, path, diag);
	free(notes);
	return st;
}

enum osr_status cli_keep_tables(const struct cli_keep *keep, const struct cli_subjects *who,
				uint32_t i, const struct cli_tables *tables, struct out *out,
				struct osr_diag *diag)
{
	const struct osr_engine *engine = who->item[i].engine;
	char path[PATH_MAX];
	enum osr_status st = OSR_OK;

	/* Tables that the checker refused are not written: nobody shall load them. */
	if (!is_kept(who, i) || tables->st || (engine && !tables->sweep.routed))
		return OSR_OK;
	if (keep->dump.dir)
		st = keep_dump(&keep->dump, who, i, tables, diag);
	if (st || !keep->save)
		return st;
	cli_keep_path(who, i, keep->save, path);
	return engine ? write_store(&tables->result, osr_options_key(engine, &who->values[i]), path,
				    diag)
		      : keep_live(who->in, tables, path, out, diag);
}

/* ---- reading -------------------------------------------------------------------------------- */

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
	FILE *in = fopen(path, "rb");
	enum osr_status st = OSR_INVAL;
	struct stat file;
	void *buf = NULL;
	size_t size = 0;

	*stored = (struct cli_stored){ .last.digest = 0 };
	if (!in || fstat(fileno(in), &file))
		osr_fail(diag, st, "%.300s: %s", path, strerror(errno));
	else if (!cli_stored_probe(path))
		osr_fail(diag, st, "%.300s: not a file of stored tables, as route --save writes it",
			 path);
	else if (!(buf = malloc(size = (size_t)file.st_size)))
		st = osr_fail(diag, OSR_NOMEM, "%.300s: no memory for %zu bytes", path, size);
	else if (fread(buf, 1, size, in) != size)
		osr_fail(diag, st, "%.300s: cannot be read completely", path);
	else
		st = osr_store_read(buf, size, path, engine ? engine->name : NULL,
				    engine ? osr_options_key(engine, values) : 0, &stored->arena,
				    &stored->baseline_arena, &scratch, &stored->last,
				    &stored->baseline, diag);
	if (in)
		fclose(in);
	osr_arena_free(&scratch);
	free(buf);
	return st;
}

void cli_stored_free(struct cli_stored *stored)
{
	osr_arena_free(&stored->arena);
	osr_arena_free(&stored->baseline_arena);
}

/*
 * The first text behind MARK, the fabric; NULL: other notes. What is in there has been told by the
 * checksum.
 */
static const char *kept_text(const struct osr_routing *routing)
{
	const char *text = routing->notes.data;

	return routing->notes.size > sizeof(MARK) && !memcmp(text, MARK, sizeof(MARK)) &&
			       !text[routing->notes.size - 1]
		       ? text + sizeof(MARK)
		       : NULL;
}

const char *cli_kept_groups(const struct osr_routing *routing)
{
	const char *net = kept_text(routing);
	const char *groups = net ? net + strlen(net) + 1 : NULL;
	const char *end = (const char *)routing->notes.data + routing->notes.size;

	return groups && groups < end ? groups : NULL;
}

bool cli_kept_probe(const char *path)
{
	struct cli_stored stored;
	struct osr_diag diag;
	bool kept;

	if (!cli_stored_probe(path))
		return false;
	kept = !cli_stored_read(path, NULL, NULL, &stored, &diag) &&
	       kept_text(&stored.last.routing);
	cli_stored_free(&stored);
	return kept;
}

enum osr_status cli_kept_net(const char *path, struct osr_net *net, struct osr_diag *diag)
{
	struct cli_stored stored;
	struct osr_lines lines;
	enum osr_status st = cli_stored_read(path, NULL, NULL, &stored, diag);
	const char *text = st ? NULL : kept_text(&stored.last.routing);

	if (text)
		st = osr_fabricfile_read(osr_lines_text(&lines, text, strlen(text), path, diag),
					 net);
	else if (!st)
		st = osr_fail(diag, OSR_INVAL,
			      "%.200s: stored tables of an engine, which do not hold their fabric: "
			      "FABRIC --tables=FILE, or diff --fabric=FABRIC",
			      path);
	cli_stored_free(&stored);
	return st;
}
