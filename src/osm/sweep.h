/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sweep.h - one sweep under way, for the files that drive it: sweep.c, sweep_report.c and keys.c. */
#ifndef OSR_OSM_SWEEP_H
#define OSR_OSM_SWEEP_H

#include "plugin.h"
#include "snapshot.h"

struct sweep {
	struct engine_ctx *ctx;
	struct osm_opensm *osm;
	struct sweep_slot *slot; /* being filled; of a sweep for keys the current one */
	struct osr_arena scratch;
	struct snapshot snap;
	struct osr_diag diag;
	double ms_start, ms_snapshot, ms_route, ms_check, ms_publish;
	double ms_transition; /* of the route: looking at old and new tables mixed */
	uint64_t n_entries, n_changed;
	uint64_t efi_bound; /* osr_bound_load() */
	bool reused;
	bool refused;   /* by the check: a re-route, which a full route has replaced */
	bool in_rounds; /* the tables go out in two rounds */
	bool keys_only; /* the base routing is that of the sweep before */
};

double osr__sweep_clock_ms(void);

/* sweep_report.c */

void osr__report_left_out(const struct sweep *w);
void osr__report_split(const struct sweep *w);
void osr__report_budget(const struct sweep *w);
void osr__report_config(const struct sweep *w);
/* "; proven: reachable, deadlock-free; not proven: any SL" */
void osr__proven_text(const struct sweep *w, char *text, size_t size);
/* The line in the log; `before` is what the switches had, NULL: nothing of ours. */
void osr__sweep_report(struct sweep *w, const struct osr_result *before);
/* Can no mixture of old and new tables deadlock, in the order in which they go out? */
bool osr__transition_is_free(const struct sweep *w);

/* Ports of CAs and routers. */
static inline uint64_t osr__n_hosts(const struct osr_fabric *fabric)
{
	uint64_t n = 0;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		n += fabric->sw_sources[s];
	return n;
}

#endif
