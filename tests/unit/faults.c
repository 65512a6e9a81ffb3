/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "faults.h"
#include "tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *get(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		abort();
	return p;
}

void faults_new(struct faults *faults, const struct osr_fabric *whole)
{
	*faults = (struct faults){ .whole = whole };
	faults->chan = get(whole->n_channels, sizeof(bool));
	faults->sw = get(whole->n_switches, sizeof(bool));
	faults->term = get(whole->n_terminals, sizeof(bool));
}

void faults_free(struct faults *faults)
{
	free(faults->chan);
	free(faults->sw);
	free(faults->term);
}

void faults_cable(struct faults *faults, uint32_t chan, bool away)
{
	faults->chan[chan] = faults->chan[faults->whole->chan_rev[chan]] = away;
}

uint32_t faults_channel_in(const struct osr_fabric *g, const struct osr_fabric *f, uint32_t c)
{
	uint32_t s =
		c == OSR_NONE ? OSR_NONE : osr_fabric_switch_by_guid(g, f->sw_guid[f->chan_src[c]]);
	uint32_t there = s == OSR_NONE ? OSR_NONE : osr_port_channel(g, s, f->chan_port[c]);

	return there != OSR_NONE && g->sw_guid[g->chan_dst[there]] == f->sw_guid[f->chan_dst[c]]
		       ? there
		       : OSR_NONE;
}

/* 0 .. n-1 in an order that is drawn; as they are without a seed. To be freed. */
static uint32_t *draw_order(uint32_t n, uint64_t *seed)
{
	uint32_t *list = get(n, sizeof(*list));

	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = *seed ? (uint32_t)(test_random(seed) % (i + 1)) : i;

		list[i] = list[j];
		list[j] = i;
	}
	return list;
}

static uint64_t draw_guid(uint64_t guid, uint64_t *seed)
{
	return *seed ? test_random(seed) | 1 : guid;
}

void faults_build(const struct faults *faults, struct osr_arena *arena, struct osr_fabric *out)
{
	const struct osr_fabric *fabric = faults->whole;
	struct osr_builder *builder = osr_builder_new();
	uint64_t seed = faults->shuffle, feed = seed ? seed : faults->order;
	uint32_t *sw = draw_order(fabric->n_switches, &feed),
		 *chan = draw_order(fabric->n_channels, &feed);
	uint32_t *term = draw_order(fabric->n_terminals, &feed),
		 *lid = draw_order(fabric->n_terminals, &seed);
	uint32_t *handle = get(fabric->n_switches, sizeof(*handle)),
		 *port = get(fabric->n_ports, sizeof(*port));
	struct osr_diag diag = { "" };

	for (uint32_t i = 0; i < fabric->n_switches; i++) {
		uint32_t s = sw[i], *ports = draw_order(fabric->sw_n_ports[s], &seed);

		for (uint32_t p = 1; p <= fabric->sw_n_ports[s]; p++)
			port[fabric->port_row[s] + p] = ports[p - 1] + 1;
		free(ports);
		if (!faults->sw[s])
			handle[s] = osr_builder_switch(
				builder, &(struct osr_switch_in){
						 .guid = draw_guid(fabric->sw_guid[s], &seed),
						 .n_ports = fabric->sw_n_ports[s],
						 .flags = fabric->sw_flags[s],
						 .name = fabric->names + fabric->sw_name[s] });
	}
	for (uint32_t i = 0; i < fabric->n_channels; i++) {
		/* Of the two channels of a cable one is taken. */
		uint32_t c = chan[i], r = fabric->chan_rev[c];
		bool other = feed ? (c ^ r ^ feed) & 1 : 0;

		if ((r < c) != other || faults->chan[c] || faults->sw[fabric->chan_src[c]] ||
		    faults->sw[fabric->chan_dst[c]])
			continue;
		osr_builder_link(
			builder,
			&(struct osr_link_in){
				.sw_a = handle[fabric->chan_src[c]],
				.sw_b = handle[fabric->chan_dst[c]],
				.port_a = (uint8_t)port[fabric->port_row[fabric->chan_src[c]] +
							fabric->chan_port[c]],
				.port_b = (uint8_t)port[fabric->port_row[fabric->chan_dst[c]] +
							fabric->chan_port[r]],
				.vls = fabric->chan_vls[c],
				.flags_a = fabric->chan_flags[c],
				.flags_b = fabric->chan_flags[r],
				.rate = fabric->chan_rate[c] });
	}
	for (uint32_t i = 0; i < fabric->n_terminals; i++) {
		uint32_t t = term[i], s = fabric->term_switch[t];

		if (!faults->sw[s] && !faults->term[t])
			osr_builder_terminal(
				builder,
				&(struct osr_terminal_in){
					.guid = draw_guid(fabric->term_guid[t], &seed),
					.sw = handle[s],
					.port = (uint8_t)
						port[fabric->port_row[s] + fabric->term_port[t]],
					.lmc = fabric->term_lmc[t],
					.role = fabric->term_role[t],
					.group = fabric->term_group[t],
					.lid = fabric->term_lid[lid[t]],
					.name = fabric->names + fabric->term_name[t] });
	}
	if (osr_builder_build(builder, arena, out, &diag) != OSR_OK) {
		fprintf(stderr, "a fabric with faults: %s\n", diag.text);
		abort();
	}
	osr_builder_free(builder);
	free(handle);
	free(port);
	free(lid);
	free(term);
	free(chan);
	free(sw);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

void ledger_new(struct ledger *ledger, const struct osr_fabric *whole)
{
	ledger->whole = whole;
	ledger->sls = get((size_t)whole->n_dests * whole->n_switches, sizeof(*ledger->sls));
}

void ledger_free(struct ledger *ledger)
{
	free(ledger->sls);
}

static uint32_t dest_of(const struct osr_fabric *fabric, uint16_t lid)
{
	return fabric->n_dests && lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;
}

static uint16_t *entry(const struct ledger *ledger, const struct osr_fabric *fabric, uint32_t d,
		       uint32_t s)
{
	uint32_t wd = dest_of(ledger->whole, fabric->dest_lid[d]);
	uint32_t ws = osr_fabric_switch_by_guid(ledger->whole, fabric->sw_guid[s]);

	return &ledger->sls[(size_t)wd * ledger->whole->n_switches + ws];
}

uint16_t ledger_sls(const struct ledger *ledger, const struct osr_fabric *fabric, uint32_t d,
		    uint32_t s)
{
	return *entry(ledger, fabric, d, s);
}

void ledger_note(struct ledger *ledger, const struct osr_result *now)
{
	const struct osr_fabric *fabric = &now->fabric;
	const struct osr_routing *routing = &now->routing;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			if (osr_lft(routing, s, d) != OSR_NO_PATH && s != fabric->dest_switch[d] &&
			    routing->sl)
				*entry(ledger, fabric, d, s) |=
					(uint16_t)(1u
						   << routing->sl[(size_t)d * fabric->n_switches +
								  s]);
}

/* Entries and spanning order of before, as far as they lead over cables of today. */
static void take_over(const struct osr_result *now, const struct osr_result *before,
		      struct osr_arena *arena, struct osr_routing *old)
{
	const struct osr_fabric *f = &now->fabric, *o = &before->fabric;
	bool mcast = before->routing.claims & OSR_CLAIM_MULTICAST;
	size_t n = f->n_switches;

	old->lft = osr_alloc(arena, f->n_dests * n, 1);
	memset(old->lft, OSR_NO_PATH, f->n_dests * n);
	old->mcast_parent = mcast ? osr_alloc(arena, n, sizeof(*old->mcast_parent)) : NULL;
	for (uint32_t s = 0; s < n; s++) {
		uint32_t os = osr_fabric_switch_by_guid(o, f->sw_guid[s]);

		if (mcast)
			old->mcast_parent[s] =
				os == OSR_NONE
					? OSR_NONE
					: faults_channel_in(f, o, before->routing.mcast_parent[os]);
		for (uint32_t d = 0; os != OSR_NONE && d < f->n_dests; d++) {
			uint32_t od = dest_of(o, f->dest_lid[d]), c = OSR_NONE;

			if (od != OSR_NONE &&
			    o->term_guid[o->dest_term[od]] == f->term_guid[f->dest_term[d]])
				c = faults_channel_in(
					f, o,
					osr_port_channel(o, os, osr_lft(&before->routing, os, od)));
			if (c != OSR_NONE)
				old->lft[d * n + s] = f->chan_port[c];
		}
	}
}

bool ledger_safe(const struct ledger *ledger, const struct osr_result *now,
		 const struct osr_result *before, bool mixed)
{
	const struct osr_fabric *fabric = &now->fabric;
	size_t n_pairs = (size_t)fabric->n_dests * fabric->n_switches;
	struct osr_arena arena = { 0 };
	struct osr_routing sent = now->routing, old;
	const struct osr_generation gen[2] = { { .routing = &sent }, { .routing = &old } };
	struct table_waits waits = { .fabric = fabric, .gen = gen, .n = 2, .modes = sent.claims };
	uint16_t *sls = osr_alloc(&arena, n_pairs, sizeof(*sls));
	bool safe;

	/* The SLs of the ledger, and no others. */
	waits.one_lane = !sent.sl2vl && (!sent.sl || (sent.claims & OSR_CLAIM_ANY_SL));
	for (size_t at = 0; at < n_pairs; at++)
		sls[at] = *entry(ledger, fabric, (uint32_t)(at / fabric->n_switches),
				 (uint32_t)(at % fabric->n_switches));
	sent.granted = sls;
	if (sent.sl)
		sent.sl = memset(osr_alloc(&arena, n_pairs, 1), OSR_NO_SL, n_pairs);
	old = sent;
	if (mixed)
		take_over(now, before, &arena, &old);
	table_wait(&waits, &arena);
	safe = table_waits_end(&waits);
	osr_arena_free(&arena);
	return safe;
}
