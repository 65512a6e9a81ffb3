/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "faults.h"

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
	x->whole = whole;
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

static void add_links(const struct faults *x, struct osr_builder *b, const uint32_t *handle)
{
	const struct osr_fabric *f = x->whole;

	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t r = f->chan_rev[c];

		if (r < c || x->chan[c] || x->sw[f->chan_src[c]] || x->sw[f->chan_dst[c]])
			continue;
		osr_builder_link(b, &(struct osr_link_in){ .sw_a = handle[f->chan_src[c]],
							   .sw_b = handle[f->chan_dst[c]],
							   .port_a = f->chan_port[c],
							   .port_b = f->chan_port[r],
							   .vls = f->chan_vls[c],
							   .flags_a = f->chan_flags[c],
							   .flags_b = f->chan_flags[r],
							   .rate = f->chan_rate[c] });
	}
}

void faults_build(const struct faults *x, struct osr_arena *arena, struct osr_fabric *out)
{
	const struct osr_fabric *f = x->whole;
	struct osr_builder *b = osr_builder_new();
	uint32_t *handle = get(f->n_switches, sizeof(*handle));
	struct osr_diag diag = { "" };

	for (uint32_t s = 0; s < f->n_switches; s++)
		if (!x->sw[s])
			handle[s] = osr_builder_switch(
				b, &(struct osr_switch_in){ .guid = f->sw_guid[s],
							    .n_ports = f->sw_n_ports[s],
							    .flags = f->sw_flags[s],
							    .name = f->names + f->sw_name[s] });
	add_links(x, b, handle);
	for (uint32_t t = 0; t < f->n_terminals; t++)
		if (!x->sw[f->term_switch[t]] && !x->term[t])
			osr_builder_terminal(
				b, &(struct osr_terminal_in){ .guid = f->term_guid[t],
							      .sw = handle[f->term_switch[t]],
							      .port = f->term_port[t],
							      .lmc = f->term_lmc[t],
							      .role = f->term_role[t],
							      .group = f->term_group[t],
							      .lid = f->term_lid[t],
							      .name = f->names + f->term_name[t] });
	if (osr_builder_build(b, arena, out, &diag) != OSR_OK) {
		fprintf(stderr, "a fabric with faults: %s\n", diag.text);
		abort();
	}
	osr_builder_free(b);
	free(handle);
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

/*
 * Dependencies of one VL of today's fabric, as a matrix; with SL2VL tables by port pair those of all VLs,
 * between nodes vl * n_channels + channel.
 */
struct depend {
	const struct osr_result *now, *before;
	bool mixed;
	size_t n_nodes;
	unsigned sl;       /* of the packets that are followed */
	uint8_t *matrix;   /* [n_nodes^2] */
	uint32_t *visited; /* [n_nodes] */
	uint32_t *todo;    /* [2 * n_nodes + 2] */
	uint32_t round;
	uint32_t *sw_before; /* [n_switches] */
};

/* The channel of an old entry on today's fabric. */
static uint32_t old_channel(const struct depend *g, uint32_t s, uint32_t d)
{
	const struct osr_fabric *f = &g->now->fabric, *o = &g->before->fabric;
	uint32_t os = g->sw_before[s], od = dest_of(o, f->dest_lid[d]), c, oc;
	uint8_t port;

	if (os == OSR_NONE || od == OSR_NONE ||
	    o->term_guid[o->dest_term[od]] != f->term_guid[f->dest_term[d]])
		return OSR_NONE;
	port = osr_lft(&g->before->routing, os, od);
	c = osr_port_channel(f, s, port);
	oc = osr_port_channel(o, os, port);
	if (c == OSR_NONE || oc == OSR_NONE ||
	    o->sw_guid[o->chan_dst[oc]] != f->sw_guid[f->chan_dst[c]])
		return OSR_NONE;
	return c;
}

static uint32_t ways(const struct depend *g, uint32_t s, uint32_t d, uint32_t way[2])
{
	const struct osr_fabric *f = &g->now->fabric;
	uint32_t n = 0, c;

	if (s == f->dest_switch[d])
		return 0;
	c = osr_port_channel(f, s, osr_lft(&g->now->routing, s, d));
	if (c != OSR_NONE)
		way[n++] = c;
	c = g->mixed ? old_channel(g, s, d) : OSR_NONE;
	if (c != OSR_NONE)
		way[n++] = c;
	return n;
}

/* The node of a packet that came in by this port and leaves over c. */
static uint32_t node_after(const struct depend *g, uint32_t in, uint32_t c)
{
	const struct osr_fabric *f = &g->now->fabric;
	const struct osr_routing *r = &g->now->routing;
	uint32_t m = f->n_channels, s = f->chan_src[c];

	if (!r->sl2vl)
		return c;
	return r->sl2vl[r->sl2vl_row[s] + in * (f->sw_n_ports[s] + 1u) + f->chan_port[c]][g->sl] *
		       m +
	       c;
}

static void visit(struct depend *g, uint32_t node, uint32_t *n_todo)
{
	if (g->visited[node] == g->round)
		return;
	g->visited[node] = g->round;
	g->todo[(*n_todo)++] = node;
}

/* A packet in `node` waits for c; where it is then is followed, once. */
static void wait_for(struct depend *g, uint32_t node, uint32_t c, uint32_t *n_todo)
{
	const struct osr_fabric *f = &g->now->fabric;
	uint32_t next = node_after(g, f->chan_port[f->chan_rev[node % f->n_channels]], c);

	g->matrix[node * g->n_nodes + next] = 1;
	visit(g, next, n_todo);
}

/* End ports of the source of c, and its port 0, send over c. */
static void send(struct depend *g, uint32_t c, uint32_t *n_todo)
{
	const struct osr_fabric *f = &g->now->fabric;
	uint32_t s = f->chan_src[c];

	visit(g, node_after(g, 0, c), n_todo);
	for (uint32_t t = f->term_row[s]; t < f->term_row[s + 1]; t++)
		visit(g, node_after(g, f->term_port[t], c), n_todo);
}

/* Everywhere a packet from s to d may come, from channel to channel. */
static void follow(struct depend *g, uint32_t s, uint32_t d)
{
	const struct osr_fabric *f = &g->now->fabric;
	uint32_t way[2], n = ways(g, s, d, way), n_todo = 0;

	g->round++;
	for (uint32_t i = 0; i < n; i++)
		send(g, way[i], &n_todo);
	while (n_todo) {
		uint32_t node = g->todo[--n_todo];

		n = ways(g, f->chan_dst[node % f->n_channels], d, way);
		for (uint32_t i = 0; i < n; i++)
			wait_for(g, node, way[i], &n_todo);
	}
}

/* The cable of c in the spanning order of multicast, old or new; c is a channel of today's fabric. */
static bool in_new_order(const struct depend *g, uint32_t c)
{
	const struct osr_fabric *f = &g->now->fabric;
	const uint32_t *parent = g->now->routing.mcast_parent;

	return parent[f->chan_src[c]] == c || parent[f->chan_dst[c]] == f->chan_rev[c];
}

static bool in_old_order(const struct depend *g, uint32_t c)
{
	const struct osr_fabric *f = &g->now->fabric, *o = &g->before->fabric;
	const uint32_t *parent = g->before->routing.mcast_parent;
	uint32_t a = g->sw_before[f->chan_src[c]], b = g->sw_before[f->chan_dst[c]], was;

	if (a == OSR_NONE || b == OSR_NONE)
		return false;
	was = osr_port_channel(o, a, f->chan_port[c]);
	if (was == OSR_NONE || o->chan_dst[was] != b)
		return false;
	return parent[a] == was || parent[b] == o->chan_rev[was];
}

/*
 * A group of everybody: packets from every switch, of which a copy leaves by every cable that is in
 * the switch's table, the old or the new one, but not where it came from.
 */
static void follow_group(struct depend *g)
{
	const struct osr_fabric *f = &g->now->fabric;
	bool mixed = g->mixed && (g->before->routing.claims & OSR_CLAIM_MULTICAST);

	if (!(g->now->routing.claims & OSR_CLAIM_MULTICAST))
		return;
	for (uint32_t s = 0; s < f->n_switches; s++) {
		uint32_t n_todo = 0;

		g->round++;
		for (uint32_t c = 0; c < f->n_channels; c++)
			if (f->chan_src[c] == s &&
			    (in_new_order(g, c) || (mixed && in_old_order(g, c))))
				send(g, c, &n_todo);
		while (n_todo) {
			uint32_t node = g->todo[--n_todo], c = node % f->n_channels;

			for (uint32_t e = 0; e < f->n_channels; e++)
				if (f->chan_src[e] == f->chan_dst[c] && e != f->chan_rev[c] &&
				    (in_new_order(g, e) || (mixed && in_old_order(g, e))))
					wait_for(g, node, e, &n_todo);
		}
	}
}

/* Channels without a predecessor go, until none is left or none can go. */
static bool acyclic(const struct depend *g)
{
	size_t m = g->n_nodes;
	uint32_t *in = get(m, sizeof(*in)), n_todo = 0, n_gone = 0;

	for (size_t a = 0; a < m; a++)
		for (size_t b = 0; b < m; b++)
			in[b] += g->matrix[a * m + b];
	for (uint32_t c = 0; c < m; c++)
		if (!in[c])
			g->todo[n_todo++] = c;
	while (n_todo) {
		uint32_t c = g->todo[--n_todo];

		n_gone++;
		for (uint32_t b = 0; b < m; b++)
			if (g->matrix[c * m + b] && --in[b] == 0)
				g->todo[n_todo++] = b;
	}
	free(in);
	return n_gone == m;
}

/* SLs that packets from s to d may carry: those of the pair, and those of requests they answer. */
static uint16_t sls_of(const struct ledger *l, const struct osr_result *now, uint32_t s, uint32_t d)
{
	const struct osr_fabric *f = &now->fabric;
	bool port0 = !f->term_weight[f->dest_term[d]];
	uint32_t root = f->dest_switch[d];
	uint16_t sls;

	if (port0 && !f->sw_sources[s])
		return 0;
	if (!now->routing.sl || (now->routing.claims & OSR_CLAIM_ANY_SL))
		return 1;
	sls = *entry(l, f, d, s);
	if (port0 || !(now->routing.claims & OSR_CLAIM_REVERSIBLE) || !f->sw_sources[root])
		return sls;
	for (uint32_t e = 0; e < f->n_dests; e++)
		if (f->dest_switch[e] == s)
			sls |= *entry(l, f, e, root);
	return sls;
}

bool ledger_safe(const struct ledger *l, const struct osr_result *now,
		 const struct osr_result *before, bool mixed)
{
	const struct osr_fabric *f = &now->fabric;
	size_t m = f->n_channels * (now->routing.sl2vl ? (size_t)now->routing.n_vls : 1);
	struct depend g = { .now = now, .before = before, .mixed = mixed, .n_nodes = m };
	bool any = !now->routing.sl || (now->routing.claims & OSR_CLAIM_ANY_SL), safe = true;
	bool tables = now->routing.sl2vl;

	g.matrix = get(m * m, 1);
	g.visited = get(m, sizeof(uint32_t));
	g.todo = get(2 * m + 2, sizeof(uint32_t));
	g.sw_before = get(f->n_switches, sizeof(uint32_t));
	for (uint32_t s = 0; before && s < f->n_switches; s++)
		g.sw_before[s] = osr_fabric_switch_by_guid(&before->fabric, f->sw_guid[s]);
	/* Any SL: with one graph for all, or with tables that say where each of them goes. */
	for (g.sl = 0; safe && g.sl < (any && !tables ? 1u : 16u); g.sl++) {
		if (!tables)
			memset(g.matrix, 0, m * m);
		for (uint32_t d = 0; d < f->n_dests; d++)
			for (uint32_t s = 0; s < f->n_switches; s++)
				if (s != f->dest_switch[d] &&
				    (sls_of(l, now, s, d) >> (any ? 0 : g.sl) & 1))
					follow(&g, s, d);
		if (any || g.sl == now->routing.mcast_vl)
			follow_group(&g);
		safe = (tables && g.sl < 15) || acyclic(&g);
	}
	free(g.matrix);
	free(g.visited);
	free(g.todo);
	free(g.sw_before);
	return safe;
}
