/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * writer.h - files that are replaced by a thread of their own: no sweep waits for a disk, nor for a file
 * system that does not answer. What is given while older files are being written replaces what waits, so
 * the last ones count.
 */
#ifndef OSR_OSM_WRITER_H
#define OSR_OSM_WRITER_H

#include "file.h"

#include <osmroutes/arena.h>

#define OSR__MAX_PAGES 2

/* Files that go together; their bytes are in `memory`. */
struct osr__pages {
	struct osr__page page[OSR__MAX_PAGES];
	uint32_t n;
	struct osr_arena memory;
};

/* What came of it. */
struct osr__written {
	const char *wrong; /* a sentence; NULL: they are written */
	size_t size;
	double cpu_ms;
};

struct osr__writer;

/*
 * Not before OpenSM's first sweep: OpenSM may fork while it starts. said() is called by the thread when files
 * are written, and the first time that they are not; NULL: no memory, no thread. The place is copied.
 */
struct osr__writer *osr__writer_new(const struct osr__place *place,
				    void (*said)(void *ctx, const struct osr__written *what),
				    void *ctx);
/* Takes the pages, whose memory is then empty. */
void osr__writer_give(struct osr__writer *writer, struct osr__pages *pages);
/* For how many milliseconds files have been on their way to the disk; 0: none are. */
double osr__writer_busy(struct osr__writer *writer);
/* Waits for what is there, at most so many seconds, -1: until it is done; said() is not called any more. NULL is fine. */
void osr__writer_end(struct osr__writer *writer, int seconds);

#endif
