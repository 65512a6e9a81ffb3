/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "file.h"

#include "compat.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <osmroutes/clock.h>

#include "conf/posix_threads.h"

/* Writing -------------------------------------------------------------------------------------- */

/* Out of space may show only when the file is closed. */
static bool fill_file(int fd, const struct osr_page *page, bool sync)
{
	const char *at = page->bytes;
	ssize_t n = 1;
	bool good;

	for (size_t left = page->size; left && n > 0; left -= n > 0 ? (size_t)n : 0) {
		n = write(fd, at, left);
		at += n > 0 ? n : 0;
	}
	good = n > 0 && (!sync || !fsync(fd));
	return !close(fd) && good;
}

bool osr_file_replace(const struct osr_place *place, const struct osr_page *page,
		      struct osr_diag *diag)
{
	char path[PATH_MAX], hidden[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", place->dir, page->name) >= (int)sizeof(path) ||
	    snprintf(hidden, sizeof(hidden), "%s/.%s.new", place->dir, page->name) >=
		    (int)sizeof(hidden)) {
		osr_fail(diag, OSR_INVAL, "%.200s: the name is too long", place->dir);
		return false;
	}
	unlink(hidden);
	fd = open(hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, place->mode);
	if (fd < 0) {
		osr_fail(diag, OSR_INVAL, "%.400s: %s", hidden, strerror(errno));
		return false;
	}
	if (!fill_file(fd, page, place->sync) || rename(hidden, path)) {
		osr_fail(diag, OSR_INVAL, "%.400s: %s", path, strerror(errno));
		unlink(hidden);
		return false;
	}
	/* A directory that cannot be synced is no reason to complain. */
	fd = place->sync ? open(place->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	return true;
}

/* Reading -------------------------------------------------------------------------------------- */

/* How many of the bytes wanted there are. */
static size_t read_bytes(int fd, char *to, size_t size)
{
	size_t at = 0;
	ssize_t n;

	do {
		n = read(fd, to + at, size - at);
		at += n > 0 ? (size_t)n : 0;
	} while (at < size && (n > 0 || (n < 0 && errno == EINTR)));
	return at;
}

/* The size of the file says nothing until its beginning says the same. */
static void *read_open(int fd, size_t size, size_t (*wanted)(const void *head),
		       struct osr_diag *diag)
{
	char head[OSR_FILE_HEAD], *text;
	size_t at = 0;

	if (wanted) {
		at = size < sizeof(head) ? 0 : read_bytes(fd, head, sizeof(head));
		if (at < sizeof(head) || wanted(head) != size) {
			osr_fail(diag, OSR_INVAL, "damaged, or not what it is called, %zu bytes",
				 size);
			return NULL;
		}
	}
	text = malloc(size + 1);
	if (!text) {
		osr_fail(diag, OSR_NOMEM, "no memory for %zu bytes", size);
		return NULL;
	}
	memcpy(text, head, at);
	if (read_bytes(fd, text + at, size - at) == size - at)
		return text;
	osr_fail(diag, OSR_INVAL, "cannot be read completely");
	free(text);
	return NULL;
}

void *osr_file_read(const char *path, size_t max, size_t (*wanted)(const void *head), size_t *size,
		    struct osr_diag *diag)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	void *text = NULL;
	struct stat st;

	if (fd < 0) {
		/* O_NOFOLLOW: the words for too many links. */
		if (errno != ENOENT)
			osr_fail(diag, OSR_INVAL, "%s",
				 errno == ELOOP ? "a link, which is not followed"
						: strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)))
		osr_fail(diag, OSR_INVAL,
			 "not a file that only the user who runs opensm may write");
	else if ((size_t)st.st_size > max)
		osr_fail(diag, OSR_INVAL, "%zu bytes, where %zu are the most", (size_t)st.st_size,
			 max);
	else
		text = read_open(fd, *size = (size_t)st.st_size, wanted, diag);
	close(fd);
	return text;
}

const char *osr_cache_dir(void)
{
	const char *dir = getenv("OSM_CACHE_DIR");

	return dir && *dir ? dir : OSM_DEFAULT_CACHE_DIR;
}

void osr_cache_path(const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", osr_cache_dir(), name);
}

/*
 * A thread of its own ---------------------------------------------------------------------------
 */

struct osr_writer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct osr_place place; /* of `dir` */
	char dir[PATH_MAX];
	void (*said)(void *ctx, const struct osr_written *what); /* NULL: nobody listens any more */
	void *ctx;
	struct osr_pages next; /* n = 0: nothing waits */
	double since;          /* it writes; 0: it does not */
	bool stop, failed;     /* failed: and that has been said */
};

static void *write_all(void *arg)
{
	struct osr_writer *writer = arg;

	pthread_mutex_lock(&writer->lock);
	while (writer->next.n || !writer->stop) {
		if (writer->next.n) {
			struct osr_pages pages = writer->next;
			struct osr_written what = { .wrong = NULL };
			struct osr_diag diag = { "" };
			bool again;

			/* With the lock, which is left while the file system takes its time. */
			writer->next = (struct osr_pages){ .n = 0 };
			writer->since = osr_clock_ms(CLOCK_MONOTONIC);
			pthread_mutex_unlock(&writer->lock);
			what.cpu_ms = -osr_clock_ms(CLOCK_THREAD_CPUTIME_ID);
			for (uint32_t i = 0; i < pages.n && !what.wrong; i++) {
				what.size += pages.page[i].size;
				if (!osr_file_replace(&writer->place, &pages.page[i], &diag))
					what.wrong = diag.text;
			}
			what.cpu_ms += osr_clock_ms(CLOCK_THREAD_CPUTIME_ID);
			osr_arena_free(&pages.memory);
			pthread_mutex_lock(&writer->lock);
			again = what.wrong && writer->failed;
			writer->failed = what.wrong;
			writer->since = 0;
			if (writer->said && !again)
				writer->said(writer->ctx, &what);
		} else
			pthread_cond_wait(&writer->wake, &writer->lock);
	}
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

struct osr_writer *osr_writer_new(const struct osr_place *place,
				  void (*said)(void *ctx, const struct osr_written *what),
				  void *ctx)
{
	struct osr_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	snprintf(writer->dir, sizeof(writer->dir), "%s", place->dir);
	writer->place = *place;
	writer->place.dir = writer->dir;
	writer->said = said;
	writer->ctx = ctx;
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->wake, NULL);
	if (osr_thread_start(&writer->thread, "osr-file", write_all, writer))
		return writer;
	free(writer);
	return NULL;
}

void osr_writer_give(struct osr_writer *writer, struct osr_pages *pages)
{
	pthread_mutex_lock(&writer->lock);
	osr_arena_free(&writer->next.memory);
	writer->next = *pages;
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
	*pages = (struct osr_pages){ .n = 0 };
}

double osr_writer_busy(struct osr_writer *writer)
{
	double ms;

	pthread_mutex_lock(&writer->lock);
	ms = writer->since > 0 ? osr_clock_ms(CLOCK_MONOTONIC) - writer->since : 0;
	pthread_mutex_unlock(&writer->lock);
	return ms;
}

void osr_writer_end(struct osr_writer *writer, int seconds)
{
	struct timespec until;

	if (!writer)
		return;
	pthread_mutex_lock(&writer->lock);
	writer->stop = true;
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	if (seconds < 0 ? pthread_join(writer->thread, NULL)
			: pthread_timedjoin_np(writer->thread, NULL, &until)) {
		/* It has what it needs, and the library is never unloaded. */
		pthread_mutex_lock(&writer->lock);
		writer->said = NULL;
		pthread_mutex_unlock(&writer->lock);
		pthread_detach(writer->thread);
		return;
	}
	pthread_cond_destroy(&writer->wake);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}
