/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * file.h - files of the plugin that others read, or that outlive it: written whole or not at all.
 */
#ifndef OSR_OSM_FILE_H
#define OSR_OSM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <osmroutes/arena.h>

#define OSR_FILE_NAME 64
#define OSR_FILE_HEAD 64 /* bytes that a file may be recognised by */

/* Where files go, and how. */
struct osr_place {
	const char *dir;
	mode_t mode;
	bool sync; /* on the disk before the name is */
};

/* One file: its name and its content. */
struct osr_page {
	char name[OSR_FILE_NAME];
	const void *bytes;
	size_t size;
};

/*
 * DIR/NAME becomes these bytes, by way of a hidden file beside it that is renamed: a reader sees
 * the old one or the new one. false with a sentence if anything went wrong; the old one stays.
 */
bool osr_file_replace(const struct osr_place *place, const struct osr_page *page,
		      struct osr_diag *diag);
/*
 * A file of at most `max` bytes, to be freed; NULL if there is none, and with a sentence if it
 * cannot be read. A file that somebody else could have written counts as unreadable. wanted(), if
 * set, computes the size of the file from its first OSR_FILE_HEAD bytes; no more memory is taken
 * for a file of another size.
 */
void *osr_file_read(const char *path, size_t max, size_t (*wanted)(const void *head), size_t *size,
		    struct osr_diag *diag);

/* The directory for files of OpenSM that outlive it. */
const char *osr_cache_dir(void);
/* A file there, in path[size]. */
void osr_cache_path(const char *name, char *path, size_t size);

/*
 * A thread of its own ---------------------------------------------------------------------------
 */

/*
 * Files that a thread of their own replaces: no sweep waits for a disk, nor for a file system that
 * does not answer. Content given while older files are being written replaces content that waits,
 * so the last one counts.
 */
#define OSR_MAX_PAGES 2

/* Files that go together; their bytes are in `memory`. */
struct osr_pages {
	struct osr_page page[OSR_MAX_PAGES];
	uint32_t n;
	struct osr_arena memory;
};

/* The outcome. */
struct osr_written {
	const char *wrong; /* a sentence; NULL: they are written */
	size_t size;
	double cpu_ms;
};

struct osr_writer;

/*
 * Not before OpenSM's first sweep: OpenSM may fork while it starts. said() is called by the thread
 * when files are written, and the first time that they are not; NULL: no memory, no thread. The
 * place is copied.
 */
struct osr_writer *osr_writer_new(const struct osr_place *place,
				  void (*said)(void *ctx, const struct osr_written *what),
				  void *ctx);
/* Takes the pages, whose memory is then empty. */
void osr_writer_give(struct osr_writer *writer, struct osr_pages *pages);
/* For how many milliseconds files have been on their way to the disk; 0: none are. */
double osr_writer_busy(struct osr_writer *writer);
/*
 * Waits for what is there, at most so many seconds, -1: until it is done; said() is not called any
 * more. NULL is fine.
 */
void osr_writer_end(struct osr_writer *writer, int seconds);

#endif
