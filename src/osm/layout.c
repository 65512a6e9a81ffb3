/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The layout guard: everything that can be verified when plugins are created. OpenSM has set up
 * everything but the performance manager, congestion control and the routing engines. Its
 * components point at each other, an empty map points at itself, and OpenSM writes options through
 * the same structs as here.
 */
#include "layout.h"

#include "compat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NAME 256 /* a name without an end within it is none */
#define MAX_ENGINES 64

#define AT(member) offsetof(struct osm_opensm, member)

/*
 * The targets of pointers, in the order of the members' offsets: one at each end of every structure
 * that is read. OpenSM's options come after sm_guid_tbl.
 */
static const struct anchor {
	const char *name;
	size_t at, target;
} anchors[] = {
	{ "subn.sw_guid_tbl", AT(subn.sw_guid_tbl.root.p_up), AT(subn.sw_guid_tbl.root) },
	{ "subn.prtn_pkey_tbl", AT(subn.prtn_pkey_tbl.nil.p_left), AT(subn.prtn_pkey_tbl.nil) },
	{ "subn.sm_guid_tbl", AT(subn.sm_guid_tbl.nil.p_left), AT(subn.sm_guid_tbl.nil) },
	{ "subn.mgrp_mgid_tbl", AT(subn.mgrp_mgid_tbl.nil.p_left), AT(subn.mgrp_mgid_tbl.nil) },
	{ "sm.p_subn", AT(sm.p_subn), AT(subn) },
	{ "sm.p_lock", AT(sm.p_lock), AT(lock) },
	{ "sm.mad_ctrl.p_subn", AT(sm.mad_ctrl.p_subn), AT(subn) },
	{ "sm.lid_mgr.p_subn", AT(sm.lid_mgr.p_subn), AT(subn) },
	{ "sm.ucast_mgr.sm", AT(sm.ucast_mgr.sm), AT(sm) },
	{ "sm.ucast_mgr.p_lock", AT(sm.ucast_mgr.p_lock), AT(lock) },
	{ "sa.sm", AT(sa.sm), AT(sm) },
	{ "sa.p_lock", AT(sa.p_lock), AT(lock) },
	{ "sa.mad_ctrl.sa", AT(sa.mad_ctrl.sa), AT(sa) },
	{ "vl15.p_log", AT(vl15.p_log), AT(log) },
	{ "vl15.p_stats", AT(vl15.p_stats), AT(stats) },
	{ "vl15.p_subn", AT(vl15.p_subn), AT(subn) },
};

/*
 * Options that are on or off, spread over the whole structure: a shift puts others in their places.
 * OpenSM writes them as it sees them: "NAME TRUE". A switch that it calls otherwise lies elsewhere,
 * even where a shift ends in padding.
 */
#define SWITCH(member)                                                                             \
	{                                                                                          \
#member, AT(subn.opt.member)                                                       \
	}

static const struct {
	const char *name;
	size_t at;
} switches[] = {
	SWITCH(m_key_lookup),
	SWITCH(lmc_esp0),
	SWITCH(reassign_lids),
	SWITCH(ignore_other_sm),
	SWITCH(single_thread),
	SWITCH(disable_multicast),
	SWITCH(force_heavy_sweep),
	SWITCH(no_partition_enforcement),
	SWITCH(qos),
	SWITCH(accum_log_file),
	SWITCH(port_profile_switch_nodes),
	SWITCH(sweep_on_trap),
	SWITCH(avoid_throttled_links),
	SWITCH(use_ucast_cache),
	SWITCH(connect_roots),
	SWITCH(sa_db_dump),
	SWITCH(do_mesh_analysis),
	SWITCH(daemon),
	SWITCH(babbling_port_policy),
	SWITCH(use_original_extended_sa_rates_only),
	SWITCH(fsync_high_avail_files),
	SWITCH(congestion_control),
	SWITCH(consolidate_ipv6_snm_req),
};

_Static_assert(sizeof(((osm_subn_opt_t *)0)->qos) == sizeof(uint32_t), "another boolean_t");

/*
 * Memory that may not be there: write() to a pipe says EFAULT where a read by us would be a
 * SIGSEGV.
 */
static bool probe_byte(const int probe[2], const char *p)
{
	char byte;

	return write(probe[1], p, 1) == 1 && read(probe[0], &byte, 1) == 1;
}

static bool probe_bytes(const int probe[2], const void *p, size_t n)
{
	for (size_t i = 0; i < n; i += 256)
		if (!probe_byte(probe, (const char *)p + i))
			return false;
	return probe_byte(probe, (const char *)p + n - 1);
}

static bool probe_text(const int probe[2], const char *text)
{
	for (size_t i = 0; i < MAX_NAME && probe_byte(probe, text + i); i++) {
		if (!text[i])
			return true;
		if ((unsigned char)text[i] < ' ')
			break;
	}
	return false;
}

static const char *check_options(const struct osm_opensm *osm)
{
	const char *member = NULL;
	char *text = NULL, *rest, *line;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	osm_subn_output_conf(out, (osm_subn_opt_t *)&osm->subn.opt);
	rest = fclose(out) ? NULL : text;
	while (!member && (line = strsep(&rest, "\n"))) {
		char *name = strsep(&line, " ");

		for (size_t i = 0; line && i < sizeof(switches) / sizeof(*switches); i++) {
			uint32_t value;

			if (strcmp(switches[i].name, name) != 0)
				continue;
			memcpy(&value, (const char *)osm + switches[i].at, sizeof(value));
			if (value > 1 || strcmp(line, value ? "TRUE" : "FALSE") != 0)
				member = switches[i].name;
		}
	}
	free(text);
	return member;
}

static const char *contradiction(const struct osm_opensm *osm, const int probe[2])
{
	if (!probe_bytes(probe, osm, sizeof(osm->osm_version) + sizeof(osm->subn.p_osm)) ||
	    !probe_text(probe, osm->osm_version) || strcmp(osm->osm_version, OSM_VERSION) != 0)
		return "osm_version";
	if (osm->subn.p_osm != osm)
		return "subn.p_osm";
	for (size_t i = 0; i < sizeof(anchors) / sizeof(*anchors); i++) {
		const char *at = (const char *)osm + anchors[i].at, *target;

		if (!probe_bytes(probe, at, sizeof(target)))
			return anchors[i].name;
		memcpy(&target, at, sizeof(target));
		if (target != (const char *)osm + anchors[i].target)
			return anchors[i].name;
	}
	if (osm->sm.p_vendor != osm->p_vendor || osm->sa.p_vendor != osm->p_vendor ||
	    osm->vl15.p_vend != osm->p_vendor)
		return "p_vendor";
	if (osm->plugin_list.state != CL_INITIALIZED)
		return "plugin_list";
	if (osm->mad_pool_constructed != TRUE || osm->vl15_constructed != TRUE)
		return "mad_pool_constructed";
	if (osm->routing_engine_list || osm->routing_engine_used)
		return "routing_engine_list";
	return check_options(osm);
}

/*
 * The list of engines: as long as it is, each of a name and the type that OpenSM gives that name.
 */
static const char *contradiction_of_engines(const struct osm_opensm *osm, const int probe[2])
{
	const struct osm_routing_engine *re = osm->routing_engine_list;

	for (unsigned n = 0; re; re = re->next, n++) {
		if (n == MAX_ENGINES || !probe_bytes(probe, re, sizeof(*re)))
			return "next";
		if (!probe_text(probe, re->name))
			return "name";
		if (osm_routing_engine_type(re->name) != re->type)
			return "type";
	}
	return NULL;
}

const char *osr_layout_contradiction(const struct osm_opensm *osm, bool engines)
{
	int probe[2];
	const char *member;

	if (pipe(probe))
		return "nothing: no pipe could be opened to look";
	member = engines ? contradiction_of_engines(osm, probe) : contradiction(osm, probe);
	close(probe[0]);
	close(probe[1]);
	/* The name of a member, which is constant. */
	/* cppcheck-suppress returnDanglingLifetime */
	return member;
}
