/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "plugin.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <osmroutes/fabric.h>

void osr__log_flush(struct osm_opensm *osm)
{
	/* OpenSM may be opening the file anew (SIGUSR1). */
	cl_spinlock_acquire(&osm->log.lock);
	if (osm->log.out_port)
		fflush(osm->log.out_port);
	cl_spinlock_release(&osm->log.lock);
}

json_t *osr__warnings(const struct plugin *p)
{
	struct warnings *w = (struct warnings *)&p->warnings;
	json_t *list = json_array();

	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < w->n; i++)
		json_array_append_new(list,
				      json_pack("{s:I, s:s}", "time", (json_int_t)w->line[i].time,
						"text", w->line[i].text));
	pthread_mutex_unlock(&w->lock);
	return list;
}

/* OpenSM's own log functions truncate at 4 kB; our sentences stay far below, and JSON below. */
void osr__log(struct osm_opensm *osm, osm_log_level_t level, const char *fmt, ...)
{
	char text[4000];
	struct plugin *p;
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
	p = level == OSM_LOG_ERROR ? osr__plugin_of(osm) : NULL;
	if (p) {
		struct warning now = { .time = time(NULL) };
		uint32_t i = 0;

		snprintf(now.text, sizeof(now.text), "%.*s", (int)sizeof(now.text) - 1, text);
		osr_name_clean(now.text);
		pthread_mutex_lock(&p->warnings.lock);
		while (i < p->warnings.n && strcmp(p->warnings.line[i].text, now.text) != 0)
			i++;
		/* What is said again is the last one again; else the oldest makes room. */
		if (i == p->warnings.n && p->warnings.n < MAX_WARNINGS)
			p->warnings.n++;
		else if (i == p->warnings.n)
			i = 0;
		memmove(&p->warnings.line[i], &p->warnings.line[i + 1],
			(p->warnings.n - i - 1) * sizeof(now));
		p->warnings.line[p->warnings.n - 1] = now;
		pthread_mutex_unlock(&p->warnings.lock);
	}
}

const char *osr__node_name(struct osm_opensm *osm, const osm_node_t *node, char *buf, size_t size)
{
	const cl_qmap_t *nodes = &osm->subn.node_guid_tbl;

	for (const cl_map_item_t *at = cl_qmap_head(nodes); at != cl_qmap_end(nodes);
	     at = cl_qmap_next(at)) {
		const osm_node_t *other = (const osm_node_t *)at;

		if (other == node || strcmp(other->print_desc, node->print_desc) != 0)
			continue;
		snprintf(buf, size, OSR_NAME_WITH_GUID, node->print_desc, osr__guid(node));
		return buf;
	}
	return node->print_desc;
}

osm_log_level_t osr__log_details(const struct plugin *p)
{
	return p->options.own.num[OPT_LOG_DETAILS] ? OSM_LOG_INFO : OSM_LOG_VERBOSE;
}
