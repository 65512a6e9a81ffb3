/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libosr-timer.so: an event plugin that measures whatever engine routes, stock or ours alike.
 *
 *	event_plugin_name osr-timer [osmroutes osr-timer]
 *
 * OpenSM tells its plugins of an event in the order of that list. At the start of a sweep the last
 * instance of this plugin puts its own functions before the two routing callbacks of each engine.
 * Every call writes a line to the file named by OSR_TIMER_FILE:
 *
 *	ENGINE CPU_SECONDS PEAK_KB STATUS
 *
 * CPU_SECONDS is the time of all threads of the process inside build_lid_matrices and
 * ucast_build_fwd_tables; PEAK_KB is how far the peak of resident memory rose above what was resident
 * before. With an instance before and one after osmroutes in the list, "events CPU_SECONDS" is the
 * time that went into the event handlers of the plugins between them.
 */
#include "compat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ENGINES 16

struct wrapped {
	struct osm_routing_engine *engine;
	void *context;
	int (*build_lid_matrices)(void *context);
	int (*ucast_build_fwd_tables)(void *context);
	double matrices_s;
	long rss_kb;	/* resident before the first callback */
};

struct instance {
	struct osm_opensm *osm;
	bool last;
};

static struct wrapped wrapped[MAX_ENGINES];
static unsigned n_wrapped;
static struct instance *newest;	/* the last one of the list */
static unsigned n_instances;
static double event_start, events_s;

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* VmRSS or VmHWM of this process in kB. */
static long memory_kb(const char *what)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, what, strlen(what)))
			kb = strtol(line + strlen(what) + 1, NULL, 10);
	if (file)
		fclose(file);
	return kb;
}

/* The peak starts anew from what is resident now. */
static void reset_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "w");

	if (!file)
		return;
	fputs("5", file);
	fclose(file);
}

static void write_line(const char *name, double seconds, long kb, int status)
{
	const char *path = getenv("OSR_TIMER_FILE");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fprintf(file, "%s %.6f %ld %d\n", name, seconds, kb, status);
	fclose(file);
}

/* Engines are told apart by their context, the only thing a callback is given. */
static struct wrapped *find(void *context)
{
	for (unsigned i = 0; i < n_wrapped; i++)
		if (wrapped[i].context == context)
			return &wrapped[i];
	abort();
}

static int timed_matrices(void *context)
{
	struct wrapped *w = find(context);
	double start;
	int status;

	reset_peak();
	w->rss_kb = memory_kb("VmRSS");
	start = cpu_seconds();
	status = w->build_lid_matrices(context);
	w->matrices_s = cpu_seconds() - start;
	return status;
}

static int timed_tables(void *context)
{
	struct wrapped *w = find(context);
	double start = cpu_seconds(), seconds;
	int status = w->ucast_build_fwd_tables(context);

	seconds = w->matrices_s + cpu_seconds() - start;
	write_line(w->engine->name, seconds, memory_kb("VmHWM") - w->rss_kb, status);
	return status;
}

static bool is_wrapped(const struct osm_routing_engine *re)
{
	return re->ucast_build_fwd_tables == timed_tables;
}

static void wrap_engines(struct osm_opensm *osm)
{
	for (struct osm_routing_engine *re = osm->routing_engine_list; re; re = re->next) {
		if (is_wrapped(re) || n_wrapped == MAX_ENGINES || !re->build_lid_matrices)
			continue;
		wrapped[n_wrapped++] = (struct wrapped){
			.engine = re,
			.context = re->context,
			.build_lid_matrices = re->build_lid_matrices,
			.ucast_build_fwd_tables = re->ucast_build_fwd_tables,
		};
		re->build_lid_matrices = timed_matrices;
		re->ucast_build_fwd_tables = timed_tables;
	}
}

static void *create(struct osm_opensm *osm)
{
	struct instance *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->osm = osm;
	if (newest)
		newest->last = false;
	i->last = true;
	newest = i;
	n_instances++;
	return i;
}

static void delete(void *data)
{
	free(data);
}

static void report(void *data, osm_epi_event_id_t event, void *event_data)
{
	struct instance *i = data;

	if (event != OSM_EVENT_ID_HEAVY_SWEEP_START && event != OSM_EVENT_ID_UCAST_ROUTING_DONE)
		return;
	if (!i->last) {
		event_start = cpu_seconds();
		return;
	}
	if (n_instances > 1)
		events_s += cpu_seconds() - event_start;
	if (event == OSM_EVENT_ID_HEAVY_SWEEP_START) {
		wrap_engines(i->osm);
	} else {
		write_line("events", events_s, 0, 0);
		events_s = 0;
	}
}

osm_event_plugin_t osm_event_plugin __attribute__((visibility("default"))) = {
	.osm_version = OSM_VERSION,
	.create = create,
	.delete = delete,
	.report = report,
};
