/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * storefile.h - the last checked tables in OpenSM's cache directory, for the next start.
 *
 * One file per engine and port of the SM. It is read before the first sweep, and written after each
 * sweep that changed something: from the sweep's thread, without OpenSM's lock, into memory, and from
 * there to the disk by a thread of our own, so that no sweep waits for a disk. If sweeps are faster
 * than the disk, those in between are not written.
 */
#ifndef OSR_OSM_STOREFILE_H
#define OSR_OSM_STOREFILE_H

#include "writer.h"

struct engine_ctx;

struct store {
	bool tried;              /* to read it */
	bool pending;            /* the current result was not stored yet */
	uint64_t digest;         /* of what was written or read last */
	struct osr_arena memory; /* for the next bytes, empty */
	struct osr__writer *writer;
};

/* Once, before the first sweep: ctx->stored, or nothing and one line in the log. */
void osr__store_load(struct engine_ctx *ctx);
/* If something is pending. Call in the thread that sweeps, without OpenSM's lock. */
void osr__store_save(struct engine_ctx *ctx);
/* What is under way is finished first. */
void osr__store_close(struct engine_ctx *ctx);

#endif
