/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A file is replaced by rename() after fsync(), so that a crash leaves the old one or the new one.
 * What is in it is the business of core/store/store.h: here are files, the thread and the log.
 */
#include "plugin.h"

#include "file.h"

#include "core/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <osmroutes/clock.h>

/* The largest fabric there can be has tables of some hundred megabytes. */
#define MAX_SIZE (UINT64_C(1) << 33)

#define NAME_SIZE 64

static void file_name(const struct engine_ctx *ctx, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "osmroutes-%016" PRIx64 "-%s.store",
		 cl_ntoh64(ctx->plugin->osm->subn.sm_port_guid), ctx->engine->name);
}

static bool is_on(const struct engine_ctx *ctx)
{
	return ctx->plugin->options.own.num[OPT_STORE] && !ctx->refuse;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool osm_store_read_all(int fd, uint8_t *to, size_t size)
{
	while (size) {
		ssize_t n = read(fd, to, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		size -= (size_t)n;
	}
	return true;
}

/* Its size says nothing until its beginning, which has a checksum, says the same. */
static void *read_stored(int fd, const char *path, size_t size, struct osr_diag *diag)
{
	uint8_t head[OSR_STORE_HEAD], *buf;

	if (size < sizeof(head) || !osm_store_read_all(fd, head, sizeof(head)) ||
	    osr_store_wanted(head) != size) {
		osr_fail(diag, OSR_INVAL,
			 "%s: damaged, or no stored tables of osmroutes, %zu bytes", path, size);
		return NULL;
	}
	buf = malloc(size);
	if (!buf) {
		osr_fail(diag, OSR_NOMEM, "%s: no memory for %zu bytes", path, size);
		return NULL;
	}
	memcpy(buf, head, sizeof(head));
	if (!osm_store_read_all(fd, buf + sizeof(head), size - sizeof(head))) {
		osr_fail(diag, OSR_INVAL, "%s: cannot be read completely", path);
		free(buf);
		return NULL;
	}
	return buf;
}

/* The whole file, to be freed; NULL with a sentence, or without one if there is none. */
static void *osm_store_read_file(const char *path, size_t *size, struct osr_diag *diag)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	void *buf = NULL;
	struct stat st;

	if (fd < 0) {
		if (errno != ENOENT)
			osr_fail(diag, OSR_INVAL, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st))
		osr_fail(diag, OSR_INVAL, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		 (st.st_mode & (S_IWGRP | S_IWOTH)))
		osr_fail(diag, OSR_INVAL,
			 "%s: not a file that only the user who runs opensm may write", path);
	else if (st.st_size <= 0 || (uint64_t)st.st_size > MAX_SIZE)
		osr_fail(diag, OSR_INVAL, "%s: %lld bytes cannot be stored tables", path,
			 (long long)st.st_size);
	else
		buf = read_stored(fd, path, *size = (size_t)st.st_size, diag);
	close(fd);
	return buf;
}

/* Into the first two slots: nothing is in them before the first sweep. */
static enum osr_status osm_store_parse(struct engine_ctx *ctx, const char *path, const void *buf,
				       size_t size, struct osr_diag *diag)
{
	struct sweep_slot *last = &ctx->slot[0], *baseline = &ctx->slot[1];
	struct osr_arena scratch = { 0 };
	enum osr_status st;

	st = osr_store_read(buf, size, path, ctx->engine->name,
			    osr_options_key(ctx->engine, ctx->values), &last->arena,
			    &baseline->arena, &scratch, &last->result, &baseline->result, diag);
	osr_arena_free(&scratch);
	if (!st) {
		ctx->stored = last;
		ctx->store.digest = osr_store_digest(buf);
		return OSR_OK;
	}
	osr_arena_free(&last->arena);
	osr_arena_free(&baseline->arena);
	memset(last, 0, sizeof(*last));
	memset(baseline, 0, sizeof(*baseline));
	return st;
}

static bool osm_store_start(struct engine_ctx *ctx);

void osr__store_load(struct engine_ctx *ctx)
{
	struct osm_opensm *osm = ctx->plugin->osm;
	struct osr_diag diag = { "" };
	double start = osr_clock_ms(CLOCK_MONOTONIC);
	char name[NAME_SIZE], path[PATH_MAX];
	size_t size = 0;
	void *buf;

	if (ctx->store.tried || ctx->current || !is_on(ctx) || !osm->subn.sm_port_guid)
		return;
	ctx->store.tried = true;
	if (ctx->re == osm->routing_engine_list)
		osm_store_start(
			ctx); /* before discovery fills malloc()'s lists; others if they route */
	file_name(ctx, name);
	snprintf(path, sizeof(path), "%s/%s", osr__cache_dir(), name);
	buf = osm_store_read_file(path, &size, &diag);
	if (buf)
		osm_store_parse(ctx, path, buf, size, &diag);
	free(buf);
	if (ctx->stored)
		osr__log(osm, OSM_LOG_INFO,
			 "%s: tables of the last run read from %s and checked in %.1f ms: %u "
			 "switches, "
			 "%u LIDs, digest %016" PRIx64 "; the first sweep starts from them",
			 ctx->engine->name, path, osr_clock_ms(CLOCK_MONOTONIC) - start,
			 ctx->stored->result.fabric.n_switches, ctx->stored->result.fabric.n_dests,
			 ctx->stored->result.digest);
	else if (diag.text[0])
		osr__log(osm, OSM_LOG_ERROR,
			 "ERR OR13: %s: the stored tables are not used, and the first sweep is a "
			 "full "
			 "route: %s",
			 ctx->engine->name, diag.text);
	else if (ctx->re == osm->routing_engine_list)
		osr__log(osm, OSM_LOG_INFO,
			 "%s: there are no stored tables %s: the first sweep is a full route",
			 ctx->engine->name, path);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct bytes {
	const void *buf;
	size_t size;
};

/* Onto the disk before the new name is. */
static bool osm_store_print(const void *arg, FILE *out)
{
	const struct bytes *b = arg;

	return fwrite(b->buf, 1, b->size, out) == b->size && !fflush(out) && !fsync(fileno(out));
}

/* The new name is on the disk, too. A directory that cannot be synced is no reason to complain. */
static void sync_dir(void)
{
	int fd = open(osr__cache_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

static bool osm_store_write_file(const struct engine_ctx *ctx, const void *buf, size_t size,
				 struct osr_diag *diag)
{
	const struct bytes bytes = { buf, size };
	char name[NAME_SIZE];

	file_name(ctx, name);
	if (!osr__file_replace(osr__cache_dir(), name, 0600, osm_store_print, &bytes, diag))
		return false;
	sync_dir();
	return true;
}

static void *writer(void *context)
{
	struct engine_ctx *ctx = context;
	struct store *s = &ctx->store;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct osr_diag diag = { "" };
		struct osr_arena memory = s->next_memory;
		void *buf = s->next;
		size_t size = s->next_size;
		double start;
		bool failed;

		if (!buf && s->stop)
			break;
		if (!buf) {
			pthread_cond_wait(&s->wake, &s->lock);
			continue;
		}
		s->next = NULL;
		s->next_memory = (struct osr_arena){ 0 };
		pthread_mutex_unlock(&s->lock);
		start = osr_clock_ms(CLOCK_THREAD_CPUTIME_ID);
		failed = !osm_store_write_file(ctx, buf, size, &diag);
		osr_arena_free(&memory);
		if (!failed)
			osr__log(ctx->plugin->osm, osr__log_details(ctx->plugin),
				 "%s: tables stored in %s: %zu bytes, %.3f ms of CPU",
				 ctx->engine->name, osr__cache_dir(), size,
				 osr_clock_ms(CLOCK_THREAD_CPUTIME_ID) - start);
		/* Once, not at every sweep. */
		if (failed && !s->failed)
			osr__log(ctx->plugin->osm, OSM_LOG_ERROR,
				 "ERR OR14: %s: the tables cannot be stored for the next start: %s",
				 ctx->engine->name, diag.text);
		s->failed = failed;
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Signals are OpenSM's. Not before the first sweep: OpenSM may fork while it starts. */
static bool osm_store_start(struct engine_ctx *ctx)
{
	struct store *s = &ctx->store;
	sigset_t all, before;

	if (s->running)
		return true;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s->running = !pthread_create(&s->thread, NULL, writer, ctx);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s->running;
}

void osr__store_save(struct engine_ctx *ctx)
{
	struct store *s = &ctx->store;
	/* From the system: OpenSM has just freed the MADs of a sweep, and malloc() would sort all of them first. */
	struct osr_arena memory = s->memory;
	void *buf = NULL;
	size_t size;

	if (!s->pending || !ctx->current || !is_on(ctx))
		return;
	s->pending = false;
	s->memory = (struct osr_arena){ 0 };
	size = osr_store_size(&ctx->current->result);
	if (size)
		buf = osr_alloc(&memory, size, 1);
	if (!buf || !osm_store_start(ctx)) {
		osr_arena_free(&memory);
		osr__log(ctx->plugin->osm, OSM_LOG_ERROR,
			 "ERR OR14: %s: the tables cannot be stored for the next start: no memory "
			 "for %zu bytes and a thread",
			 ctx->engine->name, size);
		return;
	}
	osr_store_write(&ctx->current->result, osr_options_key(ctx->engine, ctx->values), buf,
			size);
	if (osr_store_digest(buf) == s->digest) {
		osr_arena_empty(&memory);
		s->memory = memory;
		return;
	}
	s->digest = osr_store_digest(buf);
	pthread_mutex_lock(&s->lock);
	osr_arena_free(&s->next_memory);
	s->next_memory = memory;
	s->next = buf;
	s->next_size = size;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

void osr__store_close(struct engine_ctx *ctx)
{
	struct store *s = &ctx->store;

	osr_arena_free(&s->memory);
	if (!s->running)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	s->running = false;
}
