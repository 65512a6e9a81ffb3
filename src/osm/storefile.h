/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * storefile.h - the last checked tables in OpenSM's cache directory, for the next start.
 *
 * One file per engine and port of the SM. It is read before the first sweep, and written after each
 * sweep that changed something: from the sweep's thread, without OpenSM's lock, into memory, and
 * from there to the disk by a thread of our own, so that no sweep waits for a disk. If sweeps are
 * faster than the disk, those in between are not written.
 */
#ifndef OSR_OSM_STOREFILE_H
#define OSR_OSM_STOREFILE_H

#include <stdbool.h>

struct engine_ctx;

bool osr_store_open(struct engine_ctx *ctx);
/* Writing under way is finished first. */
void osr_store_close(struct engine_ctx *ctx);
/* Before the first sweep: ctx->stored, if there is something. */
void osr_store_load(struct engine_ctx *ctx);
/* Without a lock: writes the tables that are due. */
void osr_store_save(struct engine_ctx *ctx);
/* The current result is not stored yet. */
void osr_store_due(struct engine_ctx *ctx);

#endif
