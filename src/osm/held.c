/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What switches hold before a sweep. OpenSM keeps for every switch the LFT blocks that the switch
 * has confirmed, as long as it knows the switch; it never reads them. The last tables of this
 * engine count as the old ones where switches have confirmed them, and what switches have confirmed
 * counts where those tables say nothing:
 *   - a switch that was drained or held down until now, a LID that was in no table: confirmed;
 *   - a switch that has confirmed other entries than those of the last tables (it did not answer or
 *     has refused, OpenSM has programmed it from its unicast cache, another engine has): it may
 *     hold either, and nothing is said of the transition;
 *   - a switch that OpenSM knows since this sweep holds what nobody knows. That does not matter as
 *     long as no cable of it is active, as after a reboot: then no packet passes it before it has
 *     its new tables. Else nothing is said;
 *   - after a restart switches count as holding the stored tables.
 */
#include <osmroutes/each.h>

#include "sweep.h"

#include "slvl.h"

#include <stdio.h>

#define TILE 64

/* Has this switch confirmed an LFT since OpenSM knows it? */
static bool has_confirmed(const osm_switch_t *sw)
{
	for (uint32_t lid = 0; lid < sw->lft_size; lid++)
		if (sw->lft[lid] != OSR_NO_PATH)
			return true;
	return false;
}

/* Do packets pass a cable between this switch and another one? */
static bool is_active(const osm_switch_t *sw)
{
	for (unsigned port = 1; port < sw->num_ports; port++) {
		const osm_physp_t *p = osr_port(sw, port);

		if (p && p->p_remote_physp && p->p_remote_physp->p_node->sw &&
		    ib_port_info_get_port_state(&p->port_info) == IB_LINK_ACTIVE)
			return true;
	}
	return false;
}

/*
 * A switch that has confirmed other entries than the last tables have, by its index there;
 * OSR_NONE: no switch has.
 */
static uint32_t find_other(const struct osr_result *last, const struct osr_routing *shown,
			   const struct osr_held_switch *sw)
{
	uint32_t n = last->fabric.n_switches, n_dests = last->fabric.n_dests;

	/* A tile of the tables stays in the first-level cache, as in publish.c. */
	for (uint32_t d0 = 0; d0 < n_dests; d0 += TILE)
		for (uint32_t s0 = 0; s0 < n; s0 += TILE)
			for (uint32_t s = s0; s < n && s < s0 + TILE; s++)
				for (uint32_t d = d0; sw[s].lft && d < n_dests && d < d0 + TILE;
				     d++) {
					uint16_t lid = last->fabric.dest_lid[d];

					if (lid >= sw[s].n_lids ||
					    sw[s].lft[lid] != shown->lft[(size_t)d * n + s])
						return s;
				}
	return OSR_NONE;
}

/* SL2VL tables that a switch has confirmed, as an engine has them; NULL: no memory. */
static const osr_sl2vl_t *read_sl2vl(const osm_switch_t *sw, struct osr_arena *scratch)
{
	unsigned n = sw->num_ports;
	osr_sl2vl_t *table = osr_alloc(scratch, (size_t)n * n, sizeof(*table));

	for (unsigned i = 0; table && i < n * n; i++) {
		const ib_slvl_table_t *held = osr_slvl_confirmed(sw, i / n, i % n);

		for (uint8_t sl = 0; sl < 16; sl++)
			table[i][sl] = held ? ib_slvl_table_get(held, sl) : OSR_VL_UNSET;
	}
	return table;
}

void osr_tell_held(struct sweep *sweep, const struct osr_fabric *standing)
{
	const struct engine_ctx *ctx = sweep->ctx;
	const struct osr_result *last = osr_before(ctx);
	struct osr_arena *scratch = &sweep->scratch;
	struct osr_held_switch *sw, *then;
	uint32_t unknown = OSR_NONE, other;
	char name[32];

	if (!last)
		return;
	sw = osr_calloc(scratch, standing->n_switches, sizeof(*sw));
	then = osr_calloc(scratch, last->fabric.n_switches, sizeof(*then));
	if (!sw || !then) {
		sweep->history = "out of memory";
		return;
	}
	OSR_EACH_SWITCH(s, standing) {
		const osm_switch_t *of =
			osm_get_switch_by_guid(&sweep->osm->subn, cl_hton64(standing->sw_guid[s]));
		uint32_t was = osr_fabric_switch_by_guid(&last->fabric, standing->sw_guid[s]);
		bool routed = osr_fabric_switch_by_guid(&sweep->slot->result.fabric,
							standing->sw_guid[s]) != OSR_NONE;

		if (!of || !of->lft)
			continue;
		if (has_confirmed(of)) {
			sw[s].lft = of->lft;
			sw[s].n_lids = of->lft_size;
		} else if (routed && is_active(of) && (ctx->current || was == OSR_NONE)) {
			unknown = s;
		}
		if (was != OSR_NONE)
			then[was] = sw[s];
		else if (sw[s].lft && last->routing.sl2vl)
			sw[s].sl2vl = read_sl2vl(of, scratch);
	}
	sweep->held = (struct osr_held){ .standing = standing, .sw = sw };
	other = find_other(last, ctx->current ? osr_shown(ctx->current) : &last->routing, then);
	if (unknown != OSR_NONE)
		snprintf(sweep->history_text, sizeof(sweep->history_text),
			 "OpenSM knows switch %.80s since this sweep; its cables are active, and "
			 "its tables are not known",
			 osr_switch_name(standing, unknown, name));
	else if (other != OSR_NONE)
		snprintf(sweep->history_text, sizeof(sweep->history_text),
			 "switch %.80s has confirmed other entries than those of the last tables",
			 osr_switch_name(&last->fabric, other, name));
	if (sweep->history_text[0])
		sweep->history = sweep->history_text;
}
