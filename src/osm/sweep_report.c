/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The log's and the metrics' account of a sweep. */
#include "sweep.h"

#include <osmroutes/bound.h>

#include "confirm.h"
#include "keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEYS "the tables include entries of routing keys"
#define STORED "if the switches still hold the stored tables"

#define MAX_PARTS 8 /* of a split fabric, named in the log */

/* What the log says of the fabric -------------------------------------------------------------- */

/* Switches, end ports and one name of each part of a split fabric. */
static void report_parts(const struct sweep *sweep)
{
	const struct osr_fabric *fabric = &sweep->slot->result.fabric;
	uint16_t sm_lid = cl_ntoh16(sweep->osm->subn.sm_base_lid);
	uint32_t sm = sm_lid <= fabric->max_lid ? fabric->lid_dest[sm_lid] : OSR_NONE, part;
	char text[1200] = "", name[32];

	for (part = 0; part < fabric->n_components && part < MAX_PARTS; part++) {
		uint32_t first = OSR_NONE, n = 0, hosts = 0;
		size_t at = strlen(text);

		for (uint32_t s = fabric->n_switches; s-- > 0;) {
			if (fabric->sw_component[s] != part)
				continue;
			first = s;
			n++;
			hosts += fabric->sw_sources[s];
		}
		snprintf(text + at, sizeof(text) - at, "%s%u switch%s (%s%s) with %u end port%s%s",
			 part ? "; " : "", n, n == 1 ? "" : "es",
			 osr_switch_name(fabric, first, name), n == 1 ? "" : " ...", hosts,
			 hosts == 1 ? "" : "s",
			 sm != OSR_NONE && fabric->sw_component[fabric->dest_switch[sm]] == part
				 ? " and this SM"
				 : "");
	}
	osr_log(sweep->osm, OSM_LOG_ERROR,
		"ERR OR05: %s: the fabric is split into %u parts that cannot reach each other: "
		"%s%s",
		sweep->ctx->engine->name, fabric->n_components, text,
		part < fabric->n_components ? "; ..." : "");
}

/*
 * A cable that fails during a discovery may be seen from one end: it is an error of a port only
 * if that is left in two of them. After a trap, without a discovery, this is not known.
 */
static void report_unknown(const struct sweep *sweep)
{
	const struct snapshot *snapshot = &sweep->snap;
	char *before = sweep->ctx->unknown, now[sizeof(snapshot->unknown)], *rest = now, *name;
	bool again = false;

	if (sweep->ctx->plugin->up)
		return;
	memcpy(now, snapshot->unknown, sizeof(now));
	while ((name = strsep(&rest, ","))) {
		char key[sizeof(now)];

		snprintf(key, sizeof(key), " %s,", name + (*name == ' '));
		again |= *name && strstr(before, key);
	}
	snprintf(before, sizeof(sweep->ctx->unknown), " %s,", snapshot->unknown);
	if (snapshot->n_unknown)
		osr_log(sweep->osm, again ? OSM_LOG_ERROR : OSM_LOG_INFO,
			"%s%s: ports of switches that are up and not used: %u (%s%s); OpenSM does "
			"not know what they are connected to: a node does not answer, or answers "
			"with the GUID or the port number of another one",
			again ? "ERR OR24: " : "", sweep->ctx->engine->name, snapshot->n_unknown,
			snapshot->unknown, snapshot->n_unknown > 4 ? ", ..." : "");
}

void osr_report_fabric(const struct sweep *sweep)
{
	struct osr_options *options = &sweep->ctx->plugin->options;
	const struct osr_vl_limit *limit = &sweep->snap.limit;
	const struct snapshot *snapshot = &sweep->snap;
	const char *name = sweep->ctx->engine->name;

	if (snapshot->n_unhealthy + snapshot->n_throttled)
		osr_log(sweep->osm, OSM_LOG_INFO,
			"%s: %u unhealthy and %u throttled links between switches are not used: "
			"%s%s",
			name, snapshot->n_unhealthy, snapshot->n_throttled, snapshot->links,
			snapshot->n_unhealthy + snapshot->n_throttled > 4 ? ", ..." : "");
	if (snapshot->n_out)
		osr_log(sweep->osm, OSM_LOG_INFO,
			"%s: %u links and switches are drained or held down, and not used; hosts "
			"on drained switches are not counted",
			name, snapshot->n_out);
	if (snapshot->n_left_out)
		osr_log(sweep->osm, OSM_LOG_ERROR,
			"ERR OR06: %s: %u end ports have LIDs that OpenSM's table assigns to "
			"others; they are not routed in this sweep: %s",
			name, snapshot->n_left_out, snapshot->end_ports);
	if (snapshot->n_no_lid)
		osr_log(sweep->osm, OSM_LOG_ERROR,
			"ERR OR23: %s: end ports without a LID: %u (%s%s); no host reaches them: "
			"OpenSM has run out of LIDs (0307), or they have not taken theirs",
			name, snapshot->n_no_lid, snapshot->no_lid,
			snapshot->n_no_lid > 4 ? ", ..." : "");
	report_unknown(sweep);
	if (sweep->ctx->vls_said != limit->vls)
		osr_log(sweep->osm, OSM_LOG_INFO, "%s: %u virtual lane%s available: %s", name,
			limit->vls, limit->vls == 1 ? "" : "s", limit->why);
	sweep->ctx->vls_said = limit->vls;
	/* OpenSM reads its options again on SIGHUP, a plugin's it does not. */
	if (osr_options_changed(options))
		osr_log(sweep->osm, OSM_LOG_INFO,
			"%s has changed; osmroutes reads it again when opensm restarts",
			options->config);
	if (sweep->slot->result.fabric.n_components > 1)
		report_parts(sweep);
}

bool osr_transition_is_free(const struct sweep *sweep)
{
	const struct osr_stable *stable = &sweep->slot->result.routing.stable;

	return stable->together || stable->transition == OSR_TRANSITION_FREE ||
	       (stable->transition == OSR_TRANSITION_ROUNDS && sweep->in_rounds);
}

const char *osr_transition_answer(const struct sweep *sweep)
{
	if (osr_transition_is_free(sweep))
		return "deadlock-free";
	return sweep->slot->result.routing.stable.transition == OSR_TRANSITION_UNASKED
		       ? "not checked"
		       : "can deadlock";
}

/* Entries of routing keys were not part of the question. */
static void mind_keys(struct sweep *sweep)
{
	struct osr_stable *stable = &sweep->slot->result.routing.stable;

	if (!sweep->slot->has_keys && !(sweep->ctx->current && sweep->ctx->current->has_keys))
		return;
	if (!stable->kept && stable->transition == OSR_TRANSITION_UNASKED &&
	    !stable->transition_why[0])
		return; /* there was nothing before */
	stable->together = false;
	stable->transition = OSR_TRANSITION_UNASKED;
	memcpy(stable->transition_why, KEYS, sizeof(KEYS));
}

/* No switch has been asked whether it still holds the stored tables. */
static void mind_stored(const struct sweep *sweep)
{
	struct osr_stable *stable = &sweep->slot->result.routing.stable;

	if (!sweep->ctx->current && osr_before(sweep->ctx) && osr_transition_is_free(sweep) &&
	    !stable->transition_why[0])
		snprintf(stable->transition_why, sizeof(stable->transition_why), "%s", STORED);
}

/* "SLs 0-3 7"; nothing if there is none. */
static void sls_text(uint16_t sls, char *text, size_t size)
{
	*text = '\0';
	for (unsigned sl = 0, end; sl < 16; sl = end + 1) {
		size_t n = strlen(text);

		for (end = sl; end < 15 && sls >> sl & 1 && sls >> (end + 1) & 1;)
			end++;
		if (sls >> sl & 1)
			snprintf(text + n, size - n, end > sl ? "%s%u-%u" : "%s%u",
				 n                 ? " "
				 : sls & (sls - 1) ? "SLs "
						   : "SL ",
				 sl, end);
	}
}

/* SLs of partitions and QoS levels whose packets do not arrive. */
static void report_lost_sls(const struct sweep *sweep)
{
	const char *name = sweep->ctx->engine->name;
	uint16_t chosen = osr_chosen_sls(sweep->osm), dropped = osr_dropped_sls(sweep);
	char sls[80];

	sls_text(chosen & dropped, sls, sizeof(sls));
	if (*sls)
		osr_log(sweep->osm, OSM_LOG_ERROR,
			"%s: warning: packets on %s of a partition or QoS level are dropped%s",
			name, sls,
			sweep->osm->subn.opt.qos
				? ": OpenSM's qos_*_sl2vl sends them to VL 15; hosts that ask for "
				  "paths on these SLs get none (1F24)"
				: ": without QoS there is no such virtual lane");
	sls_text(chosen & osr_mute_sls(sweep), sls, sizeof(sls));
	if (*sls)
		osr_log(sweep->osm, OSM_LOG_ERROR,
			"%s: warning: packets on %s of a partition or QoS level are never sent: "
			"OpenSM's qos_*_vlarb give their virtual lane no weight on some ports",
			name, sls);
}

/* Everything that is not proven and that programs may rely on, a sentence each. */
static void report_gaps(const struct sweep *sweep)
{
	const struct osr_routing *routing = &sweep->slot->result.routing;
	uint32_t proven = sweep->slot->verdict.proven;
	const struct osr_any_sl_cost *any_sl = &routing->any_sl;
	const char *name = sweep->ctx->engine->name;
	char cost[200] = "dfsssp with any_sl = on would cover them, or max_vls = 1";

	if (!sweep->slot->result.fabric.n_channels)
		return;
	report_lost_sls(sweep);
	if (!(proven & OSR_CLAIM_DEADLOCK_FREE)) {
		osr_log(sweep->osm, OSM_LOG_ERROR,
			"%s: warning: these tables are not proven free of deadlock: packets may "
			"wait for each other for ever; the engine dfsssp excludes that",
			name);
		return;
	}
	if (!osr_is_any_sl(routing, proven)) {
		/* The cost of lanes by turn, if known. */
		if (any_sl->known)
			snprintf(cost, sizeof(cost),
				 "any_sl = on would cover them, with %u of %" PRIu64
				 " routes longer than minimal and %u %% of the load on the busiest "
				 "link",
				 any_sl->n_longer, sweep->slot->verdict.n_routes, any_sl->load);
		osr_log(sweep->osm, OSM_LOG_ERROR,
			"%s: warning: only packets on the SL of their path record are proven "
			"deadlock-free, on %u virtual lanes; programs that choose an SL themselves "
			"(UCX, NCCL) are not "
			"covered: %s",
			name, routing->n_vls, cost);
	}
	if (!(proven & OSR_CLAIM_REVERSIBLE))
		osr_log(sweep->osm, OSM_LOG_ERROR,
			"%s: warning: replies on the SL of their request are not proven free of "
			"deadlock on %u virtual lanes of %u",
			name, routing->n_vls, sweep->snap.limit.vls);
}

/*
 * The line of a sweep ---------------------------------------------------------------------------
 */

/* A list of words in one string. */
static void words_add(char *list, size_t size, const char *first, const char *word)
{
	size_t n = strlen(list);

	snprintf(list + n, size - n, "%s%s", n ? ", " : first, word);
}

/* "reachable, deadlock-free, replies; not proven: any SL" */
void osr_proven_text(const struct sweep *sweep, char *text, size_t size)
{
	uint32_t proven = sweep->slot->verdict.proven;
	bool any_sl = osr_is_any_sl(&sweep->slot->result.routing, proven) &&
		      (proven & OSR_CLAIM_DEADLOCK_FREE);
	uint16_t lost = any_sl ? osr_dropped_sls(sweep) | osr_mute_sls(sweep) : 0;
	char sls[40] = "any SL";
	const struct {
		const char *word;
		bool is, asked;
	} answers[] = {
		{ "deadlock-free", proven & OSR_CLAIM_DEADLOCK_FREE, true },
		{ "replies", proven & OSR_CLAIM_REVERSIBLE, true },
		{ sls, any_sl && lost != UINT16_MAX, true },
		{ "multicast", proven & OSR_CLAIM_MULTICAST,
		  !sweep->osm->subn.opt.disable_multicast },
	};
	char lacks[80] = "";
	size_t n;

	if (lost && lost != UINT16_MAX)
		sls_text((uint16_t)~lost, sls, sizeof(sls));
	snprintf(text, size, "reachable");
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (answers[i].is)
			words_add(text, size, "", answers[i].word);
		else if (answers[i].asked)
			words_add(lacks, sizeof(lacks), "; not proven: ", answers[i].word);
	n = strlen(text);
	snprintf(text + n, size - n, "%s", lacks);
}

void osr_claims_text(const struct sweep *sweep, char *text, size_t size)
{
	const char *refused = osr_confirm_doubt(sweep->ctx->plugin);

	osr_proven_text(sweep, text, size);
	osr_confirm_claims(sweep->ctx->plugin, text);
	if (refused)
		snprintf(text, size, "%s", refused);
}

/* "; 12 of 36486 LFT entries changed by an incremental re-route, transition deadlock-free" */
static void change_text(const struct sweep *sweep, bool first, char *text, size_t size)
{
	const struct osr_stable *stable = &sweep->slot->result.routing.stable;
	const char *how = "", *more = "";

	if (first) {
		const struct engine_ctx *holder = sweep->ctx->plugin->contexts;

		/* The engine of the list whose tables are in the switches. */
		while (holder && (holder == sweep->ctx || !holder->current))
			holder = holder->next;
		if (holder)
			snprintf(text, size,
				 "; first tables of %s; the switches still hold %s's: transition "
				 "not checked",
				 sweep->ctx->engine->name, holder->engine->name);
		else
			snprintf(text, size, "; first tables");
		return;
	}
	if (!sweep->n_changed) {
		snprintf(text, size, "; no LFT entry changed");
		return;
	}
	if (sweep->keys_only) {
		snprintf(text, size, "; %" PRIu64 " of %" PRIu64 " LFT entries changed",
			 sweep->n_changed, sweep->n_entries);
		return;
	}
	if (stable->kept)
		how = " by an incremental re-route";
	else if (stable->why[0])
		how = " by a full re-route";
	if (stable->transition_unicast)
		more = " by multicast alone";
	else if (osr_transition_is_free(sweep) && sweep->in_rounds)
		more = " in two rounds";
	else if (osr_transition_is_free(sweep) && !sweep->ctx->current)
		more = " " STORED;
	snprintf(text, size, "; %" PRIu64 " of %" PRIu64 " LFT entries changed%s, transition %s%s",
		 sweep->n_changed, sweep->n_entries, how, osr_transition_answer(sweep), more);
}

/* Without memory nothing is said of it. */
static void measure_loads(struct sweep *sweep)
{
	const struct osr_fabric *fabric = &sweep->slot->result.fabric;
	struct osr_split *split = &sweep->slot->split;
	bool several = false;

	sweep->efi_bound = sweep->efi_all_bound = 0;
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		several |= fabric->term_weight[t] && fabric->term_lmc[t];
	if (osr_bound_load(fabric, OSR_FIRST_LIDS, &sweep->scratch, &sweep->efi_bound,
			   &sweep->diag))
		sweep->efi_bound = 0;
	if (several && osr_bound_load(fabric, OSR_ALL_LIDS, &sweep->scratch, &sweep->efi_all_bound,
				      &sweep->diag))
		sweep->efi_all_bound = 0;
	/* Keys leave the base as it is. */
	if (sweep->keys_only)
		return;
	split->n_lids = 0;
	if (several && osr_split_measure(fabric, &sweep->slot->result.routing, OSR_SPLIT_REPORT,
					 &sweep->scratch, split, &sweep->diag))
		split->n_lids = 0;
}

/*
 * "; busiest link 1.06 times the least possible (504 routes; 1.00 times with all 4 LIDs of hosts)"
 */
static void load_text(const struct sweep *sweep, char *text, size_t size)
{
	const struct osr_verdict *verdict = &sweep->slot->verdict;
	char all[80] = "";

	if (!(sweep->efi_bound > 0))
		return;
	if (sweep->slot->split.n_lids && sweep->efi_all_bound > 0)
		snprintf(all, sizeof(all), " to first LIDs; %.2f times with all %u LIDs of a host",
			 verdict->efi_all_per_capacity / sweep->efi_all_bound,
			 sweep->slot->split.n_lids);
	snprintf(text, size, "; busiest link %.2f times the least possible (%.0f routes%s)",
		 verdict->efi_per_capacity / sweep->efi_bound, verdict->efi_per_capacity, all);
}

/* Which LIDs programs should use, in shares of a link. */
static void report_split(const struct sweep *sweep)
{
	const struct osr_split *split = &sweep->slot->split;

	if (split->n_lids)
		osr_log(sweep->osm, OSM_LOG_INFO,
			"%s: effective bisection bandwidth by the LIDs that programs use, in "
			"shares of a link: the first %.4f; the first two, split evenly, %.4f; "
			"all %u, split evenly, %.4f (%.4f if no part waits for the others); one "
			"at random %.4f",
			sweep->ctx->engine->name, split->first / 1e6, split->two / 1e6,
			split->n_lids, split->all / 1e6, split->free / 1e6, split->one / 1e6);
}

void osr_sweep_report(struct sweep *sweep, const struct osr_result *before)
{
	const struct osr_fabric *fabric = &sweep->slot->result.fabric;
	const struct osr_routing *routing = osr_shown(sweep->slot),
				 *base = &sweep->slot->result.routing;
	const struct osr_verdict *verdict = &sweep->slot->verdict;
	const char *name = sweep->ctx->engine->name;
	char proven[200], load[240] = "", change[160];
	uint64_t n_hosts = osr_n_hosts(fabric);
	size_t n;

	sweep->n_entries = sweep->n_changed = (uint64_t)fabric->n_switches * fabric->n_dests;
	if (before)
		sweep->n_changed = osr_routing_changed(before, fabric, routing, &sweep->n_entries);
	measure_loads(sweep);
	if (!sweep->keys_only)
		mind_keys(sweep);
	mind_stored(sweep);
	osr_claims_text(sweep, proven, sizeof(proven));
	load_text(sweep, load, sizeof(load));
	n = strlen(load);
	if (verdict->n_longer)
		snprintf(load + n, sizeof(load) - n,
			 "; %" PRIu64 " of %" PRIu64 " routes not minimal (%" PRIu64 " of %" PRIu64
			 " between hosts)",
			 verdict->n_longer, verdict->n_routes, verdict->n_host_longer,
			 verdict->n_host_routes);
	change_text(sweep, !before, change, sizeof(change));
	osr_log(sweep->osm, OSM_LOG_INFO,
		"%s%s%s%s%s: %" PRIu64
		" host%s on %u switch%s, %u of %u VLs; proven: %s%s%s; %.1f ms",
		name, base->chosen ? " (" : "", base->chosen ? base->chosen : "",
		base->chosen ? ")" : "",
		sweep->reused      ? " (last checked tables)"
		: sweep->keys_only ? " (base as before)"
				   : "",
		n_hosts, n_hosts == 1 ? "" : "s", fabric->n_switches,
		fabric->n_switches == 1 ? "" : "es", base->n_vls, sweep->snap.limit.vls, proven,
		load, change, sweep->ms_publish - sweep->ms_start);
	osr_keys_report(sweep);
	if (sweep->keys_only)
		return;
	report_split(sweep);
	if (routing->note)
		osr_log(sweep->osm, osr_log_details(sweep->ctx->plugin), "%s: %s",
			sweep->ctx->engine->name, routing->note);
	report_gaps(sweep);
	if (sweep->refused)
		osr_log(sweep->osm, OSM_LOG_ERROR, "ERR OR22: %s: full re-route: %s",
			sweep->ctx->engine->name, routing->stable.why);
	if ((verdict->proven & OSR_CLAIM_DEADLOCK_FREE) &&
	    !(verdict->proven & OSR_CLAIM_MULTICAST) && !sweep->osm->subn.opt.disable_multicast)
		osr_log(sweep->osm, OSM_LOG_ERROR,
			"ERR OR07: %s: multicast is not proven free of deadlock together with "
			"unicast on VL %u",
			sweep->ctx->engine->name, routing->mcast_vl);
}
