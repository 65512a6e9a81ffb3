/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libosrclock.so: when things happen in an opensm, whatever engine routes. A plugin, listed last. To the
 * file named by OSR_CLOCK_OUT goes a line "MS WHAT" for each event, MS by CLOCK_MONOTONIC: trap, start,
 * discovered, routed, up; and for each block of an LFT that a switch has confirmed: new if it differs
 * from the one before, again if not. Every discovery waits while the file OSR_CLOCK_GATE is there. OSR_CLOCK_HOLD_MS
 * makes what follows on the tables wait so long, but for the first; for that it has to be listed first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "osm/compat.h"

#define MAX_BLOCKS 768

static struct {
	struct osm_opensm *osm;
	FILE *out;
	uint64_t *hash[65536]; /* by the LID of the switch, then by block */
	unsigned n_sweeps;
} ticks;

static void say(const char *what)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	flockfile(ticks.out);
	fprintf(ticks.out, "%.3f %s\n", (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6, what);
	funlockfile(ticks.out);
}

static uint64_t hash_of(const uint8_t *block)
{
	uint64_t hash = 1469598103934665603u;

	for (unsigned i = 0; i < IB_SMP_DATA_SIZE; i++)
		hash = (hash ^ block[i]) * 1099511628211u;
	return hash;
}

/* The blocks of the first sweep, of which OpenSM tells nothing. */
static void note_switch(cl_map_item_t *item, void *context)
{
	const osm_switch_t *sw = (osm_switch_t *)item;
	uint16_t lid = cl_ntoh16(osm_node_get_base_lid(sw->p_node, 0));

	if (!ticks.hash[lid])
		ticks.hash[lid] = calloc(MAX_BLOCKS, sizeof(**ticks.hash));
	for (unsigned b = 0;
	     ticks.hash[lid] && b < MAX_BLOCKS && (b + 1) * IB_SMP_DATA_SIZE <= sw->lft_size; b++)
		ticks.hash[lid][b] = hash_of(sw->lft + b * IB_SMP_DATA_SIZE);
}

static void say_block(const osm_epi_lft_change_event_t *change)
{
	const osm_switch_t *sw = change->p_sw;
	uint16_t lid = cl_ntoh16(osm_node_get_base_lid(sw->p_node, 0));
	uint64_t hash;

	if (!(change->flags & LFT_CHANGED_BLOCK) || change->block_num >= MAX_BLOCKS ||
	    !ticks.hash[lid])
		return;
	hash = hash_of(sw->lft + change->block_num * IB_SMP_DATA_SIZE);
	say(ticks.hash[lid][change->block_num] == hash ? "again" : "new");
	ticks.hash[lid][change->block_num] = hash;
}

static void hold(void)
{
	const char *ms = getenv("OSR_CLOCK_HOLD_MS");
	long n = ms ? atol(ms) : 0;

	if (ticks.n_sweeps++ && n)
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
	const ib_mad_notice_attr_t *notice = event_data;

	if (event == OSM_EVENT_ID_TRAP) {
		if (ib_notice_is_generic(notice) &&
		    notice->g_or_v.generic.trap_num == CL_HTON16(128))
			say("trap");
	} else if (event == OSM_EVENT_ID_LFT_CHANGE) {
		say_block(event_data);
	} else if (event == OSM_EVENT_ID_HEAVY_SWEEP_START) {
		say("start");
		fflush(ticks.out);
		wait_at_gate();
	} else if (event == OSM_EVENT_ID_HEAVY_SWEEP_DONE) {
		say("discovered");
	} else if (event == OSM_EVENT_ID_UCAST_ROUTING_DONE) {
		say("routed");
		if (!ticks.n_sweeps)
			cl_qmap_apply_func(&ticks.osm->subn.sw_guid_tbl, note_switch, NULL);
		fflush(ticks.out);
		hold();
	} else if (event == OSM_EVENT_ID_SUBNET_UP) {
		say("up");
		fflush(ticks.out);
	}
}

static void *create(struct osm_opensm *osm)
{
	const char *path = getenv("OSR_CLOCK_OUT");

	ticks.out = fopen(path ? path : "/dev/null", "a");
	ticks.osm = osm;
	return ticks.out ? osm : NULL;
}

static void delete (void *plugin_data)
{
	fclose(ticks.out);
}

__attribute__((visibility("default"))) osm_event_plugin_t osm_event_plugin = {
	.osm_version = OSM_VERSION,
	.create = create,
	.delete = delete,
	.report = report,
};
