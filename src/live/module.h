/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module.h - what the command finds in osmroutes-live.so, which it loads only when somebody wants to
 * read a live fabric: a machine without InfiniBand libraries runs all the rest.
 */
#ifndef OSR_LIVE_MODULE_H
#define OSR_LIVE_MODULE_H

#include "live/live.h"

#define OSR_LIVE_MODULE "osmroutes-live.so"
#define OSR_LIVE_MODULE_SYMBOL "osr_live_module"

struct osr_live_module {
	const char *version; /* of osmroutes: the command takes its own only */
	enum osr_status (*read)(struct osr_live *live, const struct osr_live_ask *ask,
				struct osr_arena *arena, struct osr_diag *diag);
	enum osr_status (*sls)(const struct osr_live_paths *paths, struct osr_diag *diag);
};

#endif
