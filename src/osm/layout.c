/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The layout guard. What can be known when plugins are created: OpenSM has set up everything but the
 * performance manager, congestion control and the routing engines. Its components point at each
 * other, an empty map points at itself, and OpenSM writes options as they are seen here.
 */
#include "layout.h"

#include "compat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer than a path may be; a string without an end within it is none. */
#define MAX_TEXT 4096
#define MAX_ENGINES 64

/* A member of struct osm_opensm or below, and what it must point at. */
struct anchor {
	const char *name;
	size_t at;
	size_t target;
};

#define AT(member) offsetof(struct osm_opensm, member)
#define ANCHOR(member, target)                                                                     \
	{                                                                                          \
#member, AT(member), AT(target)                                                    \
	}
#define MAP(member) ANCHOR(member.root.p_up, member.root), ANCHOR(member.nil.p_left, member.nil)

/* In the order of their offsets; OpenSM's options come after sm_guid_tbl. */
static const struct anchor anchors[] = {
	MAP(subn.sw_guid_tbl),
	MAP(subn.node_guid_tbl),
	MAP(subn.port_guid_tbl),
	MAP(subn.rtr_guid_tbl),
	MAP(subn.prtn_pkey_tbl),
	MAP(subn.sm_guid_tbl),
	MAP(subn.mgrp_mgid_tbl),
	ANCHOR(sm.p_subn, subn),
	ANCHOR(sm.p_db, db),
	ANCHOR(sm.p_log, log),
	ANCHOR(sm.p_mad_pool, mad_pool),
	ANCHOR(sm.p_vl15, vl15),
	ANCHOR(sm.p_disp, disp),
	ANCHOR(sm.p_lock, lock),
	ANCHOR(sm.mad_ctrl.p_subn, subn),
	ANCHOR(sm.lid_mgr.p_subn, subn),
	ANCHOR(sm.ucast_mgr.sm, sm),
	ANCHOR(sm.ucast_mgr.p_subn, subn),
	ANCHOR(sm.ucast_mgr.p_log, log),
	ANCHOR(sm.ucast_mgr.p_lock, lock),
	ANCHOR(sa.sm, sm),
	ANCHOR(sa.p_subn, subn),
	ANCHOR(sa.p_log, log),
	ANCHOR(sa.p_mad_pool, mad_pool),
	ANCHOR(sa.p_disp, disp),
	ANCHOR(sa.p_lock, lock),
	ANCHOR(sa.mad_ctrl.sa, sa),
	ANCHOR(vl15.p_log, log),
	ANCHOR(vl15.p_stats, stats),
	ANCHOR(vl15.p_subn, subn),
};

/* Options that are on or off, spread over the whole structure: a shift puts others in their places. */
struct switch_option {
	const char *name;
	size_t at;
};

#define SWITCH(member)                                                                             \
	{                                                                                          \
#member, AT(subn.opt.member)                                                       \
	}

static const struct switch_option switch_options[] = {
	SWITCH(m_key_lookup),
	SWITCH(lmc_esp0),
	SWITCH(reassign_lids),
	SWITCH(ignore_other_sm),
	SWITCH(single_thread),
	SWITCH(disable_multicast),
	SWITCH(force_log_flush),
	SWITCH(use_mfttop),
	SWITCH(force_heavy_sweep),
	SWITCH(no_partition_enforcement),
	SWITCH(allow_both_pkeys),
	SWITCH(qos),
	SWITCH(accum_log_file),
	SWITCH(port_profile_switch_nodes),
	SWITCH(sweep_on_trap),
	SWITCH(avoid_throttled_links),
	SWITCH(use_ucast_cache),
	SWITCH(connect_roots),
	SWITCH(port_shifting),
	SWITCH(sa_db_dump),
	SWITCH(do_mesh_analysis),
	SWITCH(exit_on_fatal),
	SWITCH(daemon),
	SWITCH(babbling_port_policy),
	SWITCH(use_original_extended_sa_rates_only),
	SWITCH(fsync_high_avail_files),
	SWITCH(congestion_control),
	SWITCH(no_clients_rereg),
	SWITCH(consolidate_ipv6_snm_req),
};

_Static_assert(sizeof(((osm_subn_opt_t *)0)->qos) == sizeof(uint32_t), "another boolean_t");

/* Memory that may not be there ----------------------------------------------------------------- */

struct probe {
	int pipe[2];
};

/* write() says EFAULT where a read by us would be a SIGSEGV. */
static bool probe_readable(const struct probe *probe, const void *p)
{
	char byte;

	return write(probe->pipe[1], p, 1) == 1 && read(probe->pipe[0], &byte, 1) == 1;
}

static bool probe_bytes(const struct probe *probe, const void *p, size_t n)
{
	const char *c = p;

	for (size_t i = 0; i < n; i += 256)
		if (!probe_readable(probe, c + i))
			return false;
	return probe_readable(probe, c + n - 1);
}

/* NULL is a text, too: an option that is not set. */
static bool probe_text(const struct probe *probe, const char *text)
{
	for (size_t i = 0; text && i < MAX_TEXT; i++) {
		if ((!i || !((uintptr_t)(text + i) & 63)) && !probe_readable(probe, text + i))
			return false;
		if (!text[i])
			return true;
		if ((unsigned char)text[i] < ' ' && text[i] != '\t')
			return false;
	}
	return !text;
}

/* The checks ----------------------------------------------------------------------------------- */

static const void *pointer_at(const struct osm_opensm *osm, size_t at)
{
	const void *p;

	memcpy(&p, (const char *)osm + at, sizeof(p));
	return p;
}

static const char *check_anchors(const struct osm_opensm *osm, const struct probe *probe)
{
	for (size_t i = 0; i < sizeof(anchors) / sizeof(*anchors); i++)
		if (!probe_bytes(probe, (const char *)osm + anchors[i].at, sizeof(void *)) ||
		    pointer_at(osm, anchors[i].at) != (const char *)osm + anchors[i].target)
			return anchors[i].name;
	return NULL;
}

/*
 * OpenSM writes its options as it sees them: "NAME TRUE". A switch that it calls otherwise lies elsewhere,
 * even where a shift ends in padding. Options that it does not write are left alone.
 */
static const char *check_printed(const struct osm_opensm *osm, char *text)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *name = strsep(&line, " ");

		for (size_t i = 0; line && i < sizeof(switch_options) / sizeof(*switch_options);
		     i++) {
			uint32_t value;

			if (strcmp(switch_options[i].name, name) != 0)
				continue;
			memcpy(&value, (const char *)osm + switch_options[i].at, sizeof(value));
			if (value > 1 || strcmp(line, value ? "TRUE" : "FALSE") != 0)
				return switch_options[i].name;
		}
	}
	return NULL;
}

static const char *check_as_written(const struct osm_opensm *osm)
{
	const char *member = NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	osm_subn_output_conf(out, (osm_subn_opt_t *)&osm->subn.opt);
	if (!fclose(out))
		member = check_printed(osm, text);
	free(text);
	return member;
}

static const char *check_state(const struct osm_opensm *osm)
{
	if (osm->sm.p_vendor != osm->p_vendor || osm->sa.p_vendor != osm->p_vendor ||
	    osm->vl15.p_vend != osm->p_vendor)
		return "p_vendor";
	if (osm->plugin_list.state != CL_INITIALIZED)
		return "plugin_list";
	if (osm->mad_pool_constructed != TRUE || osm->vl15_constructed != TRUE)
		return "mad_pool_constructed";
	if (osm->routing_engine_list || osm->routing_engine_used)
		return "routing_engine_list";
	return NULL;
}

static const char *contradiction(const struct osm_opensm *osm, const struct probe *probe)
{
	const char *member;

	if (!probe_bytes(probe, osm, sizeof(osm->osm_version) + sizeof(osm->subn.p_osm)) ||
	    !probe_text(probe, osm->osm_version) || strcmp(osm->osm_version, OSM_VERSION) != 0)
		return "osm_version";
	if (osm->subn.p_osm != osm)
		return "subn.p_osm";
	member = check_anchors(osm, probe);
	if (!member)
		member = check_state(osm);
	return member ? member : check_as_written(osm);
}

const char *osr__layout_contradiction(const struct osm_opensm *osm)
{
	struct probe probe;
	const char *member;

	if (pipe(probe.pipe))
		return "nothing: no pipe could be opened to look";
	member = contradiction(osm, &probe);
	close(probe.pipe[0]);
	close(probe.pipe[1]);
	return member;
}

/* The list of engines -------------------------------------------------------------------------- */

static const char *check_engine(const struct probe *probe, const struct osm_routing_engine *re)
{
	if (!probe_bytes(probe, re, sizeof(*re)))
		return "next";
	if (!re->name || !probe_text(probe, re->name))
		return "name";
	return osm_routing_engine_type(re->name) == re->type ? NULL : "type";
}

const char *osr__layout_engines(const struct osm_opensm *osm)
{
	const struct osm_routing_engine *re = osm->routing_engine_list;
	const char *member = NULL;
	struct probe probe;
	unsigned n = 0;

	if (pipe(probe.pipe))
		return "nothing: no pipe could be opened to look";
	for (; re && !member && n < MAX_ENGINES; n++) {
		member = check_engine(&probe, re);
		if (!member)
			re = re->next;
	}
	close(probe.pipe[0]);
	close(probe.pipe[1]);
	return !member && re ? "next" : member;
}
