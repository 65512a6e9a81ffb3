/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "plugin.h"

#include <stdarg.h>
#include <stdio.h>

void osr__log_flush(struct osm_opensm *osm)
{
	/* OpenSM may be opening the file anew (SIGUSR1). */
	cl_spinlock_acquire(&osm->log.lock);
	if (osm->log.out_port)
		fflush(osm->log.out_port);
	cl_spinlock_release(&osm->log.lock);
}

/* OpenSM's own log functions truncate at 4 kB; our sentences stay far below, and JSON below. */
void osr__log(struct osm_opensm *osm, osm_log_level_t level, const char *fmt, ...)
{
	char text[4000];
	va_list ap;

	if (!osm_log_is_active(&osm->log, level))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	osm_log(&osm->log, level, "osmroutes: %s\n", text);
	/* An administrator waits for it; OpenSM by default leaves all but errors in a buffer. */
	if (level == OSM_LOG_INFO)
		osr__log_flush(osm);
}

osm_log_level_t osr__log_details(const struct plugin *p)
{
	return p->options.own.num[OPT_LOG_DETAILS] ? OSM_LOG_INFO : OSM_LOG_VERBOSE;
}
