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

/* Writing -------------------------------------------------------------------------------------- */

/* Out of space may show only when the file is closed. */
static bool fill_file(int fd, const struct osr__page *page, bool sync)
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

/* A directory that cannot be synced is no reason to complain. */
static void sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

bool osr__file_replace(const struct osr__place *place, const struct osr__page *page,
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
	if (place->sync)
		sync_dir(place->dir);
	return true;
}

bool osr__file_keep(const char *name, char *text, struct osr_diag *diag)
{
	const struct osr__place place = { .dir = osr__cache_dir(), .mode = 0600 };
	struct osr__page page = { .bytes = text, .size = text ? strlen(text) : 0 };
	bool good;

	snprintf(page.name, sizeof(page.name), "%s", name);
	if (text)
		good = osr__file_replace(&place, &page, diag);
	else
		good = !osr_fail(diag, OSR_NOMEM, "out of memory");
	free(text);
	return good;
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
	char head[OSR__FILE_HEAD], *text;
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

void *osr__file_read(const char *path, size_t max, size_t (*wanted)(const void *head), size_t *size,
		     struct osr_diag *diag)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	void *text = NULL;
	struct stat st;

	if (fd < 0) {
		if (errno != ENOENT)
			osr_fail(diag, OSR_INVAL, "%s", strerror(errno));
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

const char *osr__cache_dir(void)
{
	const char *dir = getenv("OSM_CACHE_DIR");

	return dir && *dir ? dir : OSM_DEFAULT_CACHE_DIR;
}

void osr__cache_path(const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", osr__cache_dir(), name);
}
