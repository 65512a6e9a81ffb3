/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * history.h - the last sweeps, for `osmroutes status --log`: when, why, what had changed, with
 * which outcome.
 *
 * The list outlives opensm, in OpenSM's cache directory. A sweep with the same findings as the
 * previous one is counted there, and has no entry of its own.
 */
#ifndef OSR_OSM_HISTORY_H
#define OSR_OSM_HISTORY_H

#include "sweep.h"

/* At the beginning of a sweep, with OpenSM's lock: why it comes. A constant. */
const char *osr_history_cause(const struct plugin *plugin, const struct engine_ctx *ctx);

/*
 * sweep->change: what the fabric has or lacks against `before`: "switch s-3 missing, with 4 cables; 2 cables missing
 * (s-1 port 3 - s-2 port 1, ...)"; empty: nothing, or no memory.
 */
void osr_history_change(struct sweep *sweep, const struct osr_fabric *before);

/* The sweep is over, and its row in metrics made. */
void osr_history_note(const struct sweep *sweep, const char *outcome, bool checked);
/* A copy of the list, oldest first; NULL: no memory. From the thread that sweeps. */
json_t *osr_history_json(const struct plugin *plugin);

#endif
