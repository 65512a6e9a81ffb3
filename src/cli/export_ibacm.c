/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ibacm reads lines into 128 bytes, takes an end port from "TYPE 0xGUID, base LID N", and a path from
 * "LID : SL : MTU : RATE" (acmp_parse_osm_fullv1_paths() of rdma-core).
 */
#include "cli/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "io/speed.h"

#define NAME_MAX_BYTES                                                                             \
	64 /* of a node description; more would be cut by ibacm, and the rest taken for a line */

struct writer {
	const struct cli_ibacm *ibacm;
	const struct osr_fabric *fabric;
	FILE *out;
	uint16_t *term_gbps; /* [n_terminals] of the cable to its switch; 0: unknown */
	uint16_t
		*row_gbps; /* [n_dests] the slowest link from one switch to the LID's; 0: no path */
};

/* IBA 15.2.5.16, PathRecord.Rate, in the order of the figures: data rates here, as rate.h has them. */
static uint8_t rate_code(uint16_t gbps)
{
	static const struct {
		uint16_t gbps;
		uint8_t code;
	} rates[] = {
		{ 0, 3 },    { 2, 2 },    { 4, 5 },    { 8, 3 },    { 13, 11 },  { 16, 6 },
		{ 24, 4 },   { 25, 15 },  { 27, 19 },  { 32, 7 },   { 48, 8 },   { 50, 20 },
		{ 54, 12 },  { 64, 9 },   { 96, 10 },  { 100, 16 }, { 109, 13 }, { 163, 14 },
		{ 200, 17 }, { 300, 18 }, { 400, 21 }, { 600, 22 }, { 800, 23 }, { 1200, 24 }
	};
	size_t i = sizeof(rates) / sizeof(*rates) - 1;

	while (rates[i].gbps > gbps)
		i--;
	return rates[i].code;
}

static uint16_t slower(uint16_t a, uint16_t b)
{
	return a && (a < b || !b) ? a : b;
}

static void find_term_rates(struct writer *w, const struct osr_net *net)
{
	const struct osr_fabric *fabric = w->fabric;
	uint8_t width, speed;

	for (uint32_t i = 0; i < net->n_nodes; i++) {
		uint32_t s = net->nodes[i].type == OSR_NET_SWITCH
				     ? osr_fabric_switch_by_guid(fabric, net->nodes[i].guid)
				     : OSR_NONE;

		if (s == OSR_NONE)
			continue;
		for (uint32_t e = fabric->term_row[s]; e < fabric->term_row[s + 1]; e++) {
			if (!fabric->term_port[e])
				continue;
			osr_net_link_rate(net, osr_net_port(net, i, fabric->term_port[e]), &width,
					  &speed);
			w->term_gbps[e] = osr_rate_gbps(width, speed);
		}
	}
}

/* What the packets of one switch meet on their way to each LID. */
static void ibacm_find_row(struct writer *w, uint32_t from)
{
	const struct osr_fabric *fabric = w->fabric;
	const struct osr_routing *routing = w->ibacm->src->gen.routing;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t s = from, hops = 0;
		uint16_t gbps = UINT16_MAX;

		while (s != fabric->dest_switch[d] && hops++ < fabric->n_switches) {
			uint32_t c = osr_port_channel(fabric, s, osr_lft(routing, s, d));

			if (c == OSR_NONE)
				break;
			gbps = slower(fabric->chan_rate[c], gbps);
			s = fabric->chan_dst[c];
		}
		w->row_gbps[d] = s == fabric->dest_switch[d] ? gbps : 0;
	}
}

static void put_header(const struct writer *w, uint32_t e)
{
	static const char *const type[] = { [OSR_ROLE_CA] = "Channel Adapter",
					    [OSR_ROLE_ROUTER] = "Router",
					    [OSR_ROLE_SP0] = "Switch" };
	const struct osr_fabric *fabric = w->fabric;
	char name[32];

	fprintf(w->out, "\n%s 0x%016" PRIx64 ", base LID %u, \"%.*s\"\n",
		type[fabric->term_role[e]], fabric->term_guid[e], fabric->term_lid[e],
		NAME_MAX_BYTES, osr_terminal_name(fabric, e, name));
}

/* By hand: two thousand million lines for 45,056 hosts. */
static void put_path(FILE *out, uint16_t lid, uint8_t sl, uint8_t mtu, uint8_t rate)
{
	static const char hex[] = "0123456789abcdef";
	char line[] = "0x0000 : 00 : 0 : 00\n";

	for (unsigned i = 0; i < 4; i++)
		line[2 + i] = hex[lid >> (12 - 4 * i) & 15];
	line[9] = sl < 10 ? ' ' : '1';
	line[10] = (char)('0' + sl % 10);
	line[14] = (char)('0' + mtu);
	line[18] = (char)(rate < 10 ? ' ' : '0' + rate / 10);
	line[19] = (char)('0' + rate % 10);
	fwrite_unlocked(line, 1, sizeof(line) - 1, out);
}

static void put_paths(struct writer *w, uint32_t e)
{
	const struct osr_fabric *fabric = w->fabric;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t to = fabric->dest_term[d];
		uint8_t sl = to == e ? 0 : cli_source_sl(w->ibacm->src, e, d);
		uint16_t gbps = slower(slower(w->term_gbps[e], w->term_gbps[to]), w->row_gbps[d]);

		if (fabric->dest_lid[d] != fabric->term_lid[to] || sl == OSR_NO_SL ||
		    !w->row_gbps[d])
			continue;
		put_path(w->out, fabric->dest_lid[d], sl, w->ibacm->mtu,
			 rate_code(gbps == UINT16_MAX ? 0 : gbps));
	}
}

static bool is_sender(const struct cli_ibacm *ibacm, const struct osr_fabric *fabric, uint32_t e)
{
	for (uint32_t i = 0; i < ibacm->n_from; i++)
		if (ibacm->from[i] == e)
			return true;
	return !ibacm->n_from && fabric->term_weight[e];
}

static void ibacm_put_all(struct writer *w)
{
	const struct osr_fabric *fabric = w->fabric;

	fprintf(w->out, "# osmroutes: paths of %s\n# LID : SL : MTU : RATE\n",
		cli_source_name(w->ibacm->src));
	for (uint32_t s = 0; s < fabric->n_switches && !ferror(w->out); s++) {
		bool has_row = false;

		for (uint32_t e = fabric->term_row[s]; e < fabric->term_row[s + 1]; e++) {
			put_header(w, e);
			if (!is_sender(w->ibacm, fabric, e))
				continue;
			if (!has_row)
				ibacm_find_row(w, s);
			has_row = true;
			put_paths(w, e);
		}
	}
}

enum osr_status cli_ibacm_write(const struct cli_ibacm *ibacm, FILE *out, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &ibacm->src->in.fabric;
	struct writer w = { .ibacm = ibacm, .fabric = fabric, .out = out };
	enum osr_status st = OSR_OK;

	w.term_gbps = calloc((size_t)fabric->n_terminals + 1, sizeof(*w.term_gbps));
	w.row_gbps = calloc((size_t)fabric->n_dests + 1, sizeof(*w.row_gbps));
	if (w.term_gbps && w.row_gbps) {
		find_term_rates(&w, &ibacm->src->in.net);
		ibacm_put_all(&w);
	}
	if (!w.term_gbps || !w.row_gbps)
		st = osr_fail(diag, OSR_NOMEM, "out of memory for the paths of %" PRIu32 " LIDs",
			      fabric->n_dests);
	free(w.term_gbps);
	free(w.row_gbps);
	return st;
}
