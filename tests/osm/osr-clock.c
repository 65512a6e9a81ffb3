/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libosrclock.so: a plugin that makes opensm wait. Every discovery waits while the file OSR_CLOCK_GATE is there.
 * OSR_CLOCK_HOLD_MS makes what follows on the tables wait so long, but for the first; for that it has to be listed first.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "osm/compat.h"

static unsigned n_sweeps;

static void hold(void)
{
	const char *ms = getenv("OSR_CLOCK_HOLD_MS");
	long n = ms ? atol(ms) : 0;

	if (n_sweeps++ && n)
		nanosleep(&(struct timespec){ n / 1000, n % 1000 * 1000000 }, NULL);
}

static void wait_at_gate(void)
{
	const char *gate = getenv("OSR_CLOCK_GATE");

	while (gate && !access(gate, F_OK))
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
}

static void report(void *plugin_data, osm_epi_event_id_t event, void *event_data)
{
	if (event == OSM_EVENT_ID_HEAVY_SWEEP_START)
		wait_at_gate();
	else if (event == OSM_EVENT_ID_UCAST_ROUTING_DONE)
		hold();
}

static void *create(struct osm_opensm *osm)
{
	return osm;
}

static void delete (void *plugin_data)
{
}

__attribute__((visibility("default"))) osm_event_plugin_t osm_event_plugin = {
	.osm_version = OSM_VERSION,
	.create = create,
	.delete = delete,
	.report = report,
};
