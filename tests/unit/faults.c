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

void faults_new(struct faults *x, const struct osr_fabric *whole)
{
	*x = (struct faults){ .whole = whole };
	x->chan = get(whole->n_channels, sizeof(bool));
	x->sw = get(whole->n_switches, sizeof(bool));
	x->term = get(whole->n_terminals, sizeof(bool));
}

void faults_free(struct faults *x)
{
	free(x->chan);
	free(x->sw);
	free(x->term);
}

void faults_cable(struct faults *x, uint32_t chan, bool away)
{
	x->chan[chan] = x->chan[x->whole->chan_rev[chan]] = away;
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

void faults_build(const struct faults *x, struct osr_arena *arena, struct osr_fabric *out)
{
	const struct osr_fabric *f = x->whole;
	struct osr_builder *b = osr_builder_new();
	uint64_t seed = x->shuffle, feed = seed ? seed : x->order;
	uint32_t *sw = draw_order(f->n_switches, &feed), *chan = draw_order(f->n_channels, &feed);
	uint32_t *term = draw_order(f->n_terminals, &feed),
		 *lid = draw_order(f->n_terminals, &seed);
	uint32_t *handle = get(f->n_switches, sizeof(*handle)),
		 *port = get(f->n_ports, sizeof(*port));
	struct osr_diag diag = { "" };

	for (uint32_t i = 0; i < f->n_switches; i++) {
		uint32_t s = sw[i], *ports = draw_order(f->sw_n_ports[s], &seed);

		for (uint32_t p = 1; p <= f->sw_n_ports[s]; p++)
			port[f->port_row[s] + p] = ports[p - 1] + 1;
		free(ports);
		if (!x->sw[s])
			handle[s] = osr_builder_switch(
				b, &(struct osr_switch_in){ .guid = draw_guid(f->sw_guid[s], &seed),
							    .n_ports = f->sw_n_ports[s],
							    .flags = f->sw_flags[s],
							    .name = f->names + f->sw_name[s] });
	}
	for (uint32_t i = 0; i < f->n_channels; i++) {
		/* Of the two channels of a cable one is taken. */
		uint32_t c = chan[i], r = f->chan_rev[c];
		bool other = feed ? (c ^ r ^ feed) & 1 : 0;

		if ((r < c) != other || x->chan[c] || x->sw[f->chan_src[c]] ||
		    x->sw[f->chan_dst[c]])
			continue;
		osr_builder_link(
			b, &(struct osr_link_in){
				   .sw_a = handle[f->chan_src[c]],
				   .sw_b = handle[f->chan_dst[c]],
				   .port_a = (uint8_t)
					   port[f->port_row[f->chan_src[c]] + f->chan_port[c]],
				   .port_b = (uint8_t)
					   port[f->port_row[f->chan_dst[c]] + f->chan_port[r]],
				   .vls = f->chan_vls[c],
				   .flags_a = f->chan_flags[c],
				   .flags_b = f->chan_flags[r],
				   .rate = f->chan_rate[c] });
	}
	for (uint32_t i = 0; i < f->n_terminals; i++) {
		uint32_t t = term[i], s = f->term_switch[t];

		if (!x->sw[s] && !x->term[t])
			osr_builder_terminal(
				b, &(struct osr_terminal_in){
					   .guid = draw_guid(f->term_guid[t], &seed),
					   .sw = handle[s],
					   .port = (uint8_t)port[f->port_row[s] + f->term_port[t]],
					   .lmc = f->term_lmc[t],
					   .role = f->term_role[t],
					   .group = f->term_group[t],
					   .lid = f->term_lid[lid[t]],
					   .name = f->names + f->term_name[t] });
	}
	if (osr_builder_build(b, arena, out, &diag) != OSR_OK) {
		fprintf(stderr, "a fabric with faults: %s\n", diag.text);
		abort();
	}
	osr_builder_free(b);
	free(handle);
	free(port);
	free(lid);
	free(term);
	free(chan);
	free(sw);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

void ledger_new(struct ledger *l, const struct osr_fabric *whole)
{
	l->whole = whole;
	l->sls = get((size_t)whole->n_dests * whole->n_switches, sizeof(*l->sls));
}

void ledger_free(struct ledger *l)
{
	free(l->sls);
}

static uint32_t dest_of(const struct osr_fabric *f, uint16_t lid)
{
	return f->n_dests && lid <= f->max_lid ? f->lid_dest[lid] : OSR_NONE;
}

static uint16_t *entry(const struct ledger *l, const struct osr_fabric *f, uint32_t d, uint32_t s)
{
	uint32_t wd = dest_of(l->whole, f->dest_lid[d]);
	uint32_t ws = osr_fabric_switch_by_guid(l->whole, f->sw_guid[s]);

	return &l->sls[(size_t)wd * l->whole->n_switches + ws];
}

uint16_t ledger_sls(const struct ledger *l, const struct osr_fabric *f, uint32_t d, uint32_t s)
{
	return *entry(l, f, d, s);
}

void ledger_note(struct ledger *l, const struct osr_result *now)
{
	const struct osr_fabric *f = &now->fabric;
	const struct osr_routing *r = &now->routing;

	for (uint32_t d = 0; d < f->n_dests; d++)
		for (uint32_t s = 0; s < f->n_switches; s++)
			if (osr_lft(r, s, d) != OSR_NO_PATH && s != f->dest_switch[d] && r->sl)
				*entry(l, f, d, s) |=
					(uint16_t)(1u << r->sl[(size_t)d * f->n_switches + s]);
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

bool ledger_safe(const struct ledger *l, const struct osr_result *now,
		 const struct osr_result *before, bool mixed)
{
	const struct osr_fabric *f = &now->fabric;
	size_t n_pairs = (size_t)f->n_dests * f->n_switches;
	struct osr_arena arena = { 0 };
	struct osr_routing sent = now->routing, old;
	const struct osr_generation gen[2] = { { .routing = &sent }, { .routing = &old } };
	struct table_waits w = { .f = f, .gen = gen, .n = 2, .modes = sent.claims };
	uint16_t *sls = osr_alloc(&arena, n_pairs, sizeof(*sls));
	bool safe;

	/* The SLs of the ledger, and no others. */
	w.one_lane = !sent.sl2vl && (!sent.sl || (sent.claims & OSR_CLAIM_ANY_SL));
	for (size_t at = 0; at < n_pairs; at++)
		sls[at] = *entry(l, f, (uint32_t)(at / f->n_switches),
				 (uint32_t)(at % f->n_switches));
	sent.granted = sls;
	if (sent.sl)
		sent.sl = memset(osr_alloc(&arena, n_pairs, 1), OSR_NO_SL, n_pairs);
	old = sent;
	if (mixed)
		take_over(now, before, &arena, &old);
	table_wait(&w, &arena);
	safe = table_waits_end(&w);
	osr_arena_free(&arena);
	return safe;
}
