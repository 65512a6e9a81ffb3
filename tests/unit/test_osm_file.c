/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osm/file.h: a file of the plugin is read whole, however little read() gives at a time, or refused
 * with a sentence.
 */
#include "test.h"

#include "osm/file.h"

#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t asked; /* the most bytes that a read() was to give */

ssize_t __real_read(int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size);

/* Three bytes at a time. */
ssize_t __wrap_read(int fd, void *buf, size_t size)
{
	asked = size > asked ? size : asked;
	return __real_read(fd, buf, size < 3 ? size : 3);
}

static bool put(const char *dir, const char *name, const char *words, struct osr_diag *diag)
{
	const struct osr_place place = { .dir = dir, .mode = 0600, .sync = true };
	struct osr_page page = { .bytes = words, .size = strlen(words) };

	snprintf(page.name, sizeof(page.name), "%s", name);
	return osr_file_replace(&place, &page, diag);
}

static void assert_holds(const char *path, const char *words)
{
	struct osr_diag diag = { "" };
	size_t size = 0;
	char *text = osr_file_read(path, 100, NULL, &size, &diag);

	assert_non_null(text);
	assert_int_equal(size, strlen(words));
	assert_memory_equal(text, words, size);
	assert_string_equal(diag.text, "");
	free(text);
}

static void assert_refused(const char *path, size_t max)
{
	struct osr_diag diag = { "" };
	size_t size = 0;

	assert_null(osr_file_read(path, max, NULL, &size, &diag));
	assert_true(diag.text[0]);
}

static size_t wants_99(const void *head)
{
	return *(const char *)head == 'x' ? 99 : 0;
}

static void test_files(void **state)
{
	static const char words[] = "ten bytes."; /* with no line end */
	char long_words[100] = { 0 };
	char dir[] = "/tmp/osr-file-XXXXXX", path[64], link[64], hidden[64], name[PATH_MAX];
	struct osr_diag diag = { "" };
	struct stat st;
	size_t size;

	assert_non_null(mkdtemp(dir));
	signal(SIGXFSZ, SIG_IGN);
	snprintf(path, sizeof(path), "%s/book", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	snprintf(hidden, sizeof(hidden), "%s/.book.new", dir);

	/* There is none: nothing to be said. */
	assert_null(osr_file_read(path, 100, NULL, &size, &diag));
	assert_string_equal(diag.text, "");

	assert_true(put(dir, "book", words, &diag));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	asked = 0;
	assert_holds(path, words);
	assert_int_equal(asked, strlen(words)); /* never more than there is room for */
	assert_refused(path, strlen(words) - 1);

	/* What fails leaves the old one, and nothing beside it. */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 4, RLIM_INFINITY }), 0);
	assert_false(put(dir, "book", words, &diag));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }),
			 0);
	assert_true(diag.text[0]);
	assert_int_not_equal(access(hidden, F_OK), 0);
	assert_holds(path, words);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_false(put(name, "book", words, &diag));
	assert_false(put("/nowhere", "book", words, &diag));

	/*
	 * A link laid in the place of the hidden file is not followed, nor one in that of the file.
	 */
	assert_int_equal(symlink("/dev/full", hidden), 0);
	assert_true(put(dir, "book", "new", &diag));
	assert_holds(path, "new");
	assert_int_equal(symlink(path, link), 0);
	assert_refused(link, 100);

	/* Its beginning says how long it is; of another size no memory is taken. */
	memset(long_words, 'x', sizeof(long_words) - 1);
	assert_true(put(dir, "book", long_words, &diag));
	free(osr_file_read(path, 100, wants_99, &size, &diag));
	assert_int_equal(size, 99);
	assert_true(put(dir, "book", long_words + 1, &diag));
	assert_null(osr_file_read(path, 100, wants_99, &size, &diag));
	assert_true(put(dir, "book", words, &diag));
	assert_null(osr_file_read(path, 100, wants_99, &size, &diag));

	/* Others may write it; no file at all. */
	assert_int_equal(chmod(path, 0620), 0);
	assert_refused(path, 100);
	assert_int_equal(chmod(path, 0602), 0);
	assert_refused(path, 100);
	assert_refused(dir, 1 << 20);

	assert_int_equal(unlink(path) | unlink(link) | rmdir(dir), 0);
}

static void test_cache_dir(void **state)
{
	assert_int_equal(setenv("OSM_CACHE_DIR", "/somewhere", 1), 0);
	assert_string_equal(osr_cache_dir(), "/somewhere");
	assert_int_equal(setenv("OSM_CACHE_DIR", "", 1), 0);
	assert_int_equal(osr_cache_dir()[0], '/'); /* OpenSM's own */
	assert_string_not_equal(osr_cache_dir(), "/somewhere");
}

TEST_PROGRAM(test_files, test_cache_dir)
