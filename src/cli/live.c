/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/each.h>

#include "cli/input.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "live/live.h"

/* ---- the libraries -------------------------------------------------------------------------- */

/* It stays loaded: there is nothing to gain by letting it go. */
static enum osr_status live_load(struct cli_live *live, struct osr_diag *diag)
{
	void *handle = dlopen(OSR_LIVE_MODULE, RTLD_NOW | RTLD_LOCAL);

	if (handle)
		live->module = dlsym(handle, OSR_LIVE_MODULE_SYMBOL);
	if (!live->module)
		return osr_fail(diag, OSR_INVAL,
				"a live fabric cannot be read: %.200s (it needs libibnetdisc; "
				"without it, give the output of ibnetdiscover)",
				dlerror());
	if (strcmp(live->module->version, OSR_VERSION) != 0)
		return osr_fail(diag, OSR_INVAL,
				"a live fabric cannot be read: " OSR_LIVE_MODULE
				" is of osmroutes %s, this is " OSR_VERSION,
				live->module->version);
	return OSR_OK;
}

/* ---- nodes and cables ----------------------------------------------------------------------- */

static void add_cables(struct osr_net *net, const struct osr_live *live, uint32_t i)
{
	const struct osr_live_node *live_node = &live->nodes[i];

	for (unsigned p = live_node->type == OSR_LIVE_SWITCH ? 0 : 1; p <= live_node->n_ports;
	     p++) {
		const struct osr_live_port *port = &live_node->ports[p];
		uint32_t here = osr_net_port(net, i, p);
		struct osr_net_port *to;

		if (!port->known && p)
			continue;
		/* A port that is not up has the VLs that it could have: what the SM would find. */
		to = &net->ports[here];
		if (port->guid)
			to->guid = port->guid;
		to->lid = port->lid;
		to->lmc = port->lmc;
		to->vls = port->state == 4 ? port->op_vls : port->vl_cap;
		if (port->peer != OSR_LIVE_NONE)
			osr_net_cable(net, here, osr_net_port(net, port->peer, port->peer_port),
				      osr_lanes_of(port->width),
				      osr_speed_of(port->speed, port->speed_ext));
	}
}

enum osr_status cli_live_net(struct cli_live *live, struct osr_net *net, struct osr_diag *diag)
{
	enum osr_status st = live_load(live, diag);

	*net = (struct osr_net){ 0 };
	live->ask.from = live->from;
	if (!st)
		st = live->module->read(&live->read, &live->ask, &live->arena, diag);
	/* A fabric that does not answer is no verdict about one. */
	if (st)
		return st == OSR_UNREACHABLE ? OSR_INVAL : st;
	for (uint32_t i = 0; i < live->read.n_nodes; i++) {
		const struct osr_live_node *from = &live->read.nodes[i];
		enum osr_net_type type = from->type == OSR_LIVE_SWITCH   ? OSR_NET_SWITCH
					 : from->type == OSR_LIVE_ROUTER ? OSR_NET_ROUTER
									 : OSR_NET_CA;
		uint32_t node = osr_net_found(net, type, from->n_ports, from->guid, from->name,
					      strlen(from->name));

		if (node != OSR_NONE)
			net->nodes[node].enhanced_sp0 = from->enhanced_sp0;
	}
	st = osr_net_status(net, diag);
	for (uint32_t i = 0; i < live->read.n_nodes && !st; i++)
		add_cables(net, &live->read, i);
	return st ? st : osr_net_status(net, diag);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void take_lft(struct osr_tables *tables, const struct osr_live_node *live_node, uint32_t s)
{
	const struct osr_fabric *fabric = tables->fabric;

	tables->has_lft[s] = true;
	for (uint32_t lid = 1; lid <= live_node->lft_top; lid++) {
		uint32_t d = lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;

		if (live_node->lft[lid] == OSR_NO_PATH)
			continue;
		if (d == OSR_NONE) {
			tables->n_foreign++;
			continue;
		}
		tables->routing.lft[(size_t)d * fabric->n_switches + s] = live_node->lft[lid];
		tables->n_entries++;
	}
}

static void live_unpack(uint8_t vl[16], const uint8_t packed[8])
{
	for (unsigned sl = 0; sl < 16; sl++)
		vl[sl] = osr_live_vl(packed, sl);
}

/* Of a switch s, or of end ports: OSR_NONE. */
static void take_sl2vl(struct osr_tables *tables, const struct osr_live_node *live_node, uint32_t s)
{
	unsigned width = live_node->n_ports + 1u;
	uint32_t count;

	for (unsigned in = 0; s != OSR_NONE && in < width; in++)
		for (unsigned out = 0; out < width; out++)
			if (osr_live_port_up(live_node, in) && osr_live_port_up(live_node, out))
				live_unpack(osr_tables_sl2vl(tables, s, in, out),
					    live_node->sl2vl[in * width + out]);
	for (unsigned p = 1; s == OSR_NONE && p < width; p++) {
		const struct osr_keyed *owner =
			osr_tables_owner(tables, live_node->ports[p].guid, false, &count);

		for (uint32_t i = 0; osr_live_port_up(live_node, p) && i < count; i++)
			if (owner[i].index != OSR_NONE)
				live_unpack(tables->term_sl2vl[owner[i].index],
					    live_node->sl2vl[p]);
	}
}

/* A table that is empty on all switches is none. */
static bool take_groups(struct osr_tables *tables, const struct osr_live_node *live_node,
			uint32_t s)
{
	static const uint64_t none[4];
	uint64_t *ports;

	for (uint32_t m = 0; m < live_node->n_mlids && m < OSR_N_MLIDS; m++) {
		if (!memcmp(live_node->mft[m], none, sizeof(none)))
			continue;
		ports = osr_tables_group(tables, OSR_MLID_FIRST + m, s);
		if (!ports)
			return false;
		memcpy(ports, live_node->mft[m], sizeof(none));
	}
	return true;
}

/* Of these pairs alone: a row for each end port that sends. */
static enum osr_status take_pairs(struct cli_live *live, const struct cli_sls *sls,
				  struct osr_tables *tables, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = tables->fabric;
	uint32_t *row = osr_alloc(tables->arena, fabric->n_terminals, sizeof(*row)), n_rows = 0;
	uint16_t *dlid = osr_alloc(tables->arena, fabric->n_dests, sizeof(*dlid));
	uint8_t *answer = osr_alloc(tables->arena, fabric->n_dests, 1), *sl;
	enum osr_status st = OSR_OK;

	if (osr_arena_failed(tables->arena, diag))
		return OSR_NOMEM;
	OSR_EVERY_TERMINAL(t, fabric)
		row[t] = OSR_NONE;
	for (uint64_t i = 0; i < sls->n_pairs; i++)
		if (row[sls->pair[i].term] == OSR_NONE)
			row[sls->pair[i].term] = n_rows++;
	sl = malloc((size_t)n_rows * fabric->n_dests + 1);
	if (!sl)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the SLs of %u hosts", n_rows);
	memset(sl, OSR_NO_SL, (size_t)n_rows * fabric->n_dests);
	for (uint64_t first = 0, end = 0; first < sls->n_pairs && !st; first = end) {
		uint32_t term = sls->pair[first].term;
		struct osr_live_paths paths = { .from = live->from,
						.slid = &fabric->term_lid[term],
						.dlid = dlid,
						.n_slids = 1,
						.tell = live->ask.tell,
						.sl = answer };

		for (; end < sls->n_pairs && sls->pair[end].term == term; end++)
			dlid[paths.n_dlids++] = fabric->dest_lid[sls->pair[end].dest];
		st = live->module->sls(&paths, diag);
		for (uint64_t i = first; i < end; i++)
			sl[(size_t)row[term] * fabric->n_dests + sls->pair[i].dest] =
				answer[i - first];
	}
	tables->paths = (struct osr_paths){ .n_rows = n_rows, .row = row, .sl = sl };
	return st;
}

static enum osr_status take_sls(struct cli_live *live, enum cli_sa sa, struct osr_tables *tables,
				struct osr_diag *diag)
{
	const struct osr_fabric *fabric = tables->fabric;
	uint32_t *row = osr_alloc(tables->arena, fabric->n_terminals, sizeof(*row));
	uint16_t *slid = osr_alloc(tables->arena, fabric->n_terminals, sizeof(*slid));
	struct osr_live_paths live_paths = { .from = live->from,
					     .slid = slid,
					     .dlid = fabric->dest_lid,
					     .n_dlids = fabric->n_dests,
					     .tell = live->ask.tell };
	enum osr_status st;
	uint64_t n;

	if (osr_arena_failed(tables->arena, diag))
		return OSR_NOMEM;
	n = (uint64_t)fabric->n_terminals * fabric->n_dests;
	if (sa == CLI_SA_AUTO)
		sa = n > CLI_SA_FEW_PAIRS ? CLI_SA_SWITCHES : CLI_SA_PAIRS;
	/* The end ports that ask, and the row that every end port has in the answers. */
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t of_hosts = OSR_NONE;

		OSR_EACH_TERMINAL(e, fabric, s) {
			bool host = fabric->term_weight[e] > 0;

			if (host && sa == CLI_SA_SWITCHES && of_hosts != OSR_NONE) {
				row[e] = of_hosts;
				continue;
			}
			row[e] = live_paths.n_slids;
			of_hosts = host ? row[e] : of_hosts;
			slid[live_paths.n_slids++] = fabric->term_lid[e];
		}
	}
	n = (uint64_t)live_paths.n_slids * live_paths.n_dlids;
	if (n > CLI_SA_MAX_PAIRS)
		return osr_fail(diag, OSR_INVAL,
				"%" PRIu64 " pairs are too many to ask the subnet administrator "
				"for their SLs: --sa=switches",
				n);
	live_paths.sl = malloc(n + 1);
	if (!live_paths.sl)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the SLs of %" PRIu64 " pairs",
				n);
	st = live->module->sls(&live_paths, diag);
	if (st) {
		free(live_paths.sl);
		return st;
	}
	tables->paths =
		(struct osr_paths){ .n_rows = live_paths.n_slids, .row = row, .sl = live_paths.sl };
	return OSR_OK;
}

enum osr_status cli_live_tables(struct cli_live *l, const struct cli_sls *sls,
				struct osr_tables *tables, struct osr_diag *diag)
{
	const struct osr_live *live = &l->read;
	enum osr_status st = l->ask.sl2vl ? osr_tables_alloc_sl2vl(tables, diag) : OSR_OK;

	if (live->n_failed)
		return osr_fail(diag, OSR_INVAL,
				"%" PRIu64 " of %" PRIu64 " requests for tables failed, first: %s",
				live->n_failed, live->n_requests, live->first_failure);
	for (uint32_t i = 0; i < live->n_nodes && !st; i++) {
		const struct osr_live_node *live_node = &live->nodes[i];
		uint32_t s = osr_fabric_switch_by_guid(tables->fabric, live_node->guid);

		if (live_node->type == OSR_LIVE_SWITCH && s != OSR_NONE && live_node->lft)
			take_lft(tables, live_node, s);
		if (live_node->mft && s != OSR_NONE && !take_groups(tables, live_node, s))
			st = osr_fail(diag, OSR_NOMEM, "out of memory for multicast tables");
		if (live_node->sl2vl)
			take_sl2vl(tables, live_node,
				   live_node->type == OSR_LIVE_SWITCH ? s : OSR_NONE);
	}
	if (st || sls->sa == CLI_SA_NONE)
		return st;
	return sls->pair ? take_pairs(l, sls, tables, diag) : take_sls(l, sls->sa, tables, diag);
}

/* ---- a second reading ----------------------------------------------------------------------- */

#define AGAIN_SECONDS 2

static bool same_bytes(const void *x, const void *y, size_t n)
{
	return !x == !y && (!x || !memcmp(x, y, n));
}

static bool same_port(const struct osr_live_port *x, const struct osr_live_port *y)
{
	return x->guid == y->guid && x->peer == y->peer && x->peer_port == y->peer_port &&
	       x->known == y->known && x->lid == y->lid && x->lmc == y->lmc &&
	       x->state == y->state && x->vl_cap == y->vl_cap && x->op_vls == y->op_vls &&
	       x->width == y->width && x->speed == y->speed && x->speed_ext == y->speed_ext;
}

static bool same_node(const struct osr_live_node *x, const struct osr_live_node *y)
{
	size_t n_ports = x->n_ports + (size_t)1;
	bool is_switch = x->type == OSR_LIVE_SWITCH;
	bool same = x->guid == y->guid && x->type == y->type && x->n_ports == y->n_ports &&
		    x->enhanced_sp0 == y->enhanced_sp0 && x->lft_top == y->lft_top &&
		    x->n_mlids == y->n_mlids;

	for (size_t p = 0; p < n_ports && same; p++)
		same = same_port(&x->ports[p], &y->ports[p]);
	return same && same_bytes(x->lft, y->lft, x->lft_top + (size_t)1) &&
	       same_bytes(x->mft, y->mft, x->n_mlids * sizeof(*x->mft)) &&
	       same_bytes(x->sl2vl, y->sl2vl,
			  (is_switch ? n_ports * n_ports : n_ports) * sizeof(*x->sl2vl));
}

enum osr_status cli_live_again(const struct cli_live *live, bool *changed, struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	struct osr_live now;
	enum osr_status st;

	nanosleep(&(struct timespec){ .tv_sec = AGAIN_SECONDS }, NULL);
	st = live->module->read(&now, &live->ask, &arena, diag);
	*changed =
		!st && (now.n_nodes != live->read.n_nodes || now.n_failed != live->read.n_failed);
	for (uint32_t i = 0; !st && !*changed && i < now.n_nodes; i++)
		*changed = !same_node(&live->read.nodes[i], &now.nodes[i]);
	osr_arena_free(&arena);
	return st == OSR_UNREACHABLE ? OSR_INVAL : st;
}
