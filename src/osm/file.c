/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "file.h"

#include "compat.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool osr__file_replace(const char *dir, const char *name, mode_t mode,
		       bool (*print)(const void *arg, FILE *out), const void *arg,
		       struct osr_diag *diag)
{
	char path[PATH_MAX], hidden[PATH_MAX];
	FILE *out;
	int fd;
	bool ok;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path) ||
	    snprintf(hidden, sizeof(hidden), "%s/.%s.new", dir, name) >= (int)sizeof(hidden)) {
		osr_fail(diag, OSR_INVAL, "%.200s: the name is too long", dir);
		return false;
	}
	unlink(hidden);
	fd = open(hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		osr_fail(diag, OSR_INVAL, "%.400s: %s", hidden, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	errno = 0;
	ok = print(arg, out);
	ok &= !ferror(out);
	/* Out of space may show only when the file is closed. */
	if (fclose(out) || !ok || rename(hidden, path)) {
		osr_fail(diag, OSR_INVAL, "%.400s: %s", path,
			 errno ? strerror(errno) : "cannot write");
		unlink(hidden);
		return false;
	}
	return true;
}

bool osr__print_text(const void *text, FILE *out)
{
	return fputs(text, out) >= 0;
}

char *osr__file_read(const char *path, size_t max, size_t *size, struct osr_diag *diag)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	char *text = NULL;
	struct stat st;
	ssize_t n = 0;

	if (fd < 0) {
		if (errno != ENOENT)
			osr_fail(diag, OSR_INVAL, "%s", strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) || (size_t)st.st_size > max)
		osr_fail(diag, OSR_INVAL,
			 "not a file of this user that only they may write, of at most %zu bytes",
			 max);
	else
		text = malloc((size_t)st.st_size + 1);
	for (*size = 0; text && *size < (size_t)st.st_size; *size += (size_t)n) {
		n = read(fd, text + *size, (size_t)st.st_size - *size);
		if (n <= 0)
			break;
	}
	close(fd);
	return text;
}

const char *osr__cache_dir(void)
{
	const char *dir = getenv("OSM_CACHE_DIR");

	return dir && *dir ? dir : OSM_DEFAULT_CACHE_DIR;
}
