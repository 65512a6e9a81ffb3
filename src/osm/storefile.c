/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The content of the file is the business of store/store.h, the writing of file.h. */
#include "storefile.h"

#include "plugin.h"
#include "file.h"

#include "store/store.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/clock.h>

/* The largest fabric there can be has tables of some hundred megabytes. */
#define MAX_SIZE (UINT64_C(1) << 33)

_Static_assert(OSR_STORE_HEAD == OSR_FILE_HEAD, "another head");

struct store {
	bool tried;              /* to read it */
	bool pending;            /* the current result was not stored yet */
	uint64_t digest;         /* of the file written or read last */
	struct osr_arena memory; /* for the next bytes, empty */
	struct osr_writer *writer;
};

static void file_name(const struct engine_ctx *ctx, char name[OSR_FILE_NAME])
{
	snprintf(name, OSR_FILE_NAME, "osmroutes-%016" PRIx64 "-%s.store",
		 cl_ntoh64(ctx->plugin->osm->subn.sm_port_guid), ctx->engine->name);
}

static bool is_on(const struct engine_ctx *ctx)
{
	return ctx->plugin->options.own.num[OPT_STORE] && !ctx->refuse;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The thread tells how it went. */
static void store_written(void *context, const struct osr_written *what)
{
	struct engine_ctx *ctx = context;

	if (what->wrong)
		osr_log(ctx->plugin->osm, OSM_LOG_ERROR,
			"ERR OR14: %s: the tables cannot be stored for the next start: %s",
			ctx->engine->name, what->wrong);
	else
		osr_log(ctx->plugin->osm, osr_log_details(ctx->plugin),
			"%s: tables stored in %s: %zu bytes, %.3f ms of CPU", ctx->engine->name,
			osr_cache_dir(), what->size, what->cpu_ms);
}

static bool store_has_writer(struct engine_ctx *ctx)
{
	const struct osr_place place = { .dir = osr_cache_dir(), .mode = 0600, .sync = true };

	if (!ctx->store->writer)
		ctx->store->writer = osr_writer_new(&place, store_written, ctx);
	return ctx->store->writer;
}

void osr_store_load(struct engine_ctx *ctx)
{
	struct osm_opensm *osm = ctx->plugin->osm;
	struct sweep_slot *last = &ctx->slot[0], *baseline = &ctx->slot[1];
	struct osr_diag diag = { "" }, why = { "" };
	struct osr_arena scratch = { 0 };
	double start = osr_clock_ms(CLOCK_MONOTONIC);
	char name[OSR_FILE_NAME], path[PATH_MAX];
	size_t size = 0;
	void *buf;

	if (ctx->store->tried || ctx->current || !is_on(ctx) || !osm->subn.sm_port_guid)
		return;
	ctx->store->tried = true;
	if (ctx->re == osm->routing_engine_list)
		store_has_writer(
			ctx); /* before discovery fills malloc()'s lists; others if they route */
	file_name(ctx, name);
	osr_cache_path(name, path, sizeof(path));
	buf = osr_file_read(path, MAX_SIZE, osr_store_wanted, &size, &why);
	if (why.text[0])
		osr_fail(&diag, OSR_INVAL, "%s: %s", path, why.text);
	/* Into the first two slots: nothing is in them before the first sweep. */
	if (buf &&
	    !osr_store_read(buf, size, path, ctx->engine->name,
			    osr_options_key(ctx->engine, ctx->values), &last->arena,
			    &baseline->arena, &scratch, &last->result, &baseline->result, &diag)) {
		ctx->stored = last;
		ctx->store->digest = osr_store_digest(buf);
	} else if (buf) {
		osr_arena_free(&last->arena);
		osr_arena_free(&baseline->arena);
		memset(last, 0, sizeof(*last));
		memset(baseline, 0, sizeof(*baseline));
	}
	osr_arena_free(&scratch);
	free(buf);
	if (ctx->stored)
		osr_log(osm, OSM_LOG_INFO,
			"%s: tables of the last run read from %s and checked in %.1f ms: %u "
			"switches, %u LIDs, digest %016" PRIx64
			"; the first sweep starts from them",
			ctx->engine->name, path, osr_clock_ms(CLOCK_MONOTONIC) - start,
			ctx->stored->result.fabric.n_switches, ctx->stored->result.fabric.n_dests,
			ctx->stored->result.digest);
	else if (diag.text[0])
		osr_log(osm, OSM_LOG_ERROR,
			"ERR OR13: %s: the stored tables are not used, and the first sweep is a "
			"full route: %s",
			ctx->engine->name, diag.text);
	else if (ctx->re == osm->routing_engine_list)
		osr_log(osm, OSM_LOG_INFO,
			"%s: there are no stored tables %s: the first sweep is a full route",
			ctx->engine->name, path);
}

/* ---- writing --------------------------------------------------------------------------------- */

void osr_store_save(struct engine_ctx *ctx)
{
	/*
	 * From the system: OpenSM has just freed the MADs of a sweep, and malloc() would sort all
	 * of them first.
	 */
	struct osr_pages pages = { .n = 1, .memory = ctx->store->memory };
	size_t size;
	void *buf = NULL;

	if (!ctx->store->pending || !ctx->current || !is_on(ctx))
		return;
	ctx->store->pending = false;
	ctx->store->memory = (struct osr_arena){ 0 };
	size = osr_store_size(&ctx->current->result);
	if (size)
		buf = osr_alloc(&pages.memory, size, 1);
	if (!buf || !store_has_writer(ctx)) {
		osr_arena_free(&pages.memory);
		osr_log(ctx->plugin->osm, OSM_LOG_ERROR,
			"ERR OR14: %s: the tables cannot be stored for the next start: no memory "
			"for %zu bytes and a thread",
			ctx->engine->name, size);
		return;
	}
	osr_store_write(&ctx->current->result, osr_options_key(ctx->engine, ctx->values), buf,
			size);
	if (osr_store_digest(buf) == ctx->store->digest) {
		osr_arena_empty(&pages.memory);
		ctx->store->memory = pages.memory;
		return;
	}
	ctx->store->digest = osr_store_digest(buf);
	pages.page[0].bytes = buf;
	pages.page[0].size = size;
	file_name(ctx, pages.page[0].name);
	osr_writer_give(ctx->store->writer, &pages);
}

void osr_store_due(struct engine_ctx *ctx)
{
	ctx->store->pending = true;
}

bool osr_store_open(struct engine_ctx *ctx)
{
	ctx->store = calloc(1, sizeof(*ctx->store));
	return ctx->store;
}

void osr_store_close(struct engine_ctx *ctx)
{
	osr_arena_free(&ctx->store->memory);
	osr_writer_end(ctx->store->writer, -1);
	free(ctx->store);
}
