/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/stored.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/store.h"

#include "conf/options.h"

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
	FILE *out = NULL;
	bool bad = !buf;

	if (buf) {
		osr_store_write(last, osr_options_key(job->engine, job->values), buf, size);
		out = fopen(path, "wb");
		bad = !out || fwrite(buf, 1, size, out) != size;
	}
	if (out)
		bad |= fclose(out) != 0;
	free(buf);
	return bad ? osr_fail(diag, OSR_INVAL, "%.300s: the result cannot be written: %s", path,
			      strerror(errno))
		   : OSR_OK;
}
