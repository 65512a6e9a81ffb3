/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "plugin.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <osmroutes/fabric.h>

void osr_log_flush(struct osm_opensm *osm)
{
	/* OpenSM may be reopening the file (SIGUSR1). */
	cl_spinlock_acquire(&osm->log.lock);
	if (osm->log.out_port)
		fflush(osm->log.out_port);
	cl_spinlock_release(&osm->log.lock);
}

json_t *osr_warnings(const struct plugin *plugin)
{
	struct warnings *warnings = (struct warnings *)&plugin->warnings;
	json_t *list = json_array();

	pthread_mutex_lock(&warnings->lock);
	for (uint32_t i = 0; i < warnings->n; i++)
		json_array_append_new(list, json_pack("{s:I, s:s}", "time",
						      (json_int_t)warnings->line[i].time, "text",
						      warnings->line[i].text));
	pthread_mutex_unlock(&warnings->lock);
	return list;
}

/* OpenSM's own log functions truncate at 4 kB; our sentences stay far below, and JSON below. */
void osr_log(struct osm_opensm *osm, osm_log_level_t level, const char *fmt, ...)
{
	char text[4000];
	struct plugin *plugin;
	va_list ap;

	if (!osm_log_is_active(&osm->log, level))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	osm_log(&osm->log, level, "osmroutes: %s\n", text);
	/* An administrator waits for it; OpenSM by default leaves all but errors in a buffer. */
	if (level == OSM_LOG_INFO)
		osr_log_flush(osm);
	plugin = level == OSM_LOG_ERROR ? osr_plugin_of(osm) : NULL;
	if (plugin) {
		struct warning now = { .time = time(NULL) };
		uint32_t i = 0;

		snprintf(now.text, sizeof(now.text), "%.*s", (int)sizeof(now.text) - 1, text);
		osr_name_clean(now.text);
		pthread_mutex_lock(&plugin->warnings.lock);
		while (i < plugin->warnings.n &&
		       strcmp(plugin->warnings.line[i].text, now.text) != 0)
			i++;
		/* A repeated text becomes the newest one; otherwise the oldest makes room. */
		if (i == plugin->warnings.n && plugin->warnings.n < MAX_WARNINGS)
			plugin->warnings.n++;
		else if (i == plugin->warnings.n)
			i = 0;
		memmove(&plugin->warnings.line[i], &plugin->warnings.line[i + 1],
			(plugin->warnings.n - i - 1) * sizeof(now));
		plugin->warnings.line[plugin->warnings.n - 1] = now;
		pthread_mutex_unlock(&plugin->warnings.lock);
	}
}

const char *osr_node_name(struct osm_opensm *osm, const osm_node_t *node, char *buf, size_t size)
{
	const cl_qmap_t *nodes = &osm->subn.node_guid_tbl;

	for (const cl_map_item_t *at = cl_qmap_head(nodes); at != cl_qmap_end(nodes);
	     at = cl_qmap_next(at)) {
		const osm_node_t *other = (const osm_node_t *)at;

		if (other == node || strcmp(other->print_desc, node->print_desc) != 0)
			continue;
		snprintf(buf, size, OSR_NAME_WITH_GUID, node->print_desc, osr_guid(node));
		return buf;
	}
	return node->print_desc;
}

osm_log_level_t osr_log_details(const struct plugin *plugin)
{
	return plugin->options.own.num[OPT_LOG_DETAILS] ? OSM_LOG_INFO : OSM_LOG_VERBOSE;
}
