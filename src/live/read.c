/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/fabric.h>

#include <infiniband/ibnetdisc.h>
#include <infiniband/mad.h>

#include "mad.h"

#define LFT_BLOCK 64      /* entries of one LinearForwardingTable block */
#define MFT_BLOCK 32      /* MLIDs of one MulticastForwardingTable block */
#define MFT_PORTS 16      /* ports of one position */
#define ARB_BLOCK 32      /* entries of one VLArbitrationTable block */
#define DISCOVERY_SMPS 64 /* under way at once */

struct reader {
	struct osr_live *live;
	const struct osr_live_ask *ask;
	struct osr_arena *arena;
	struct osr_device device;
	struct osr_mad *mad;
	ibnd_fabric_t *found;
	ibnd_node_t **by_guid; /* [n_nodes] libibnetdisc's nodes in our order */
};

/* The subject of a request, packed into its cookie. */
struct what {
	uint32_t node;
	uint16_t attr;
	uint8_t a, b; /* see read_store(): ports, block or position */
};

static int read_by_guid(const void *a, const void *b)
{
	uint64_t x = (*(ibnd_node_t *const *)a)->guid, y = (*(ibnd_node_t *const *)b)->guid;

	return x < y ? -1 : x > y;
}

static uint32_t node_index(const struct reader *reader, ibnd_node_t *node)
{
	ibnd_node_t **at =
		bsearch(&node, reader->by_guid, reader->live->n_nodes, sizeof(*at), read_by_guid);

	return at ? at - reader->by_guid : OSR_LIVE_NONE;
}

/* Encoded as 1, 2, 3, 4, 5 for 1, 2, 4, 8 and 15 data VLs (PortInfo.VLCap, OperationalVLs). */
static uint8_t vls_of(unsigned encoded)
{
	if (encoded == 0)
		return 0;
	return encoded >= 5 ? 15 : 1 << (encoded - 1);
}

static void copy_port(const struct reader *reader, struct osr_live_port *to, ibnd_port_t *from)
{
	uint8_t *info = from->info;

	*to = (struct osr_live_port){
		.guid = from->guid,
		.peer = OSR_LIVE_NONE,
		.known = true,
		.lid = from->base_lid,
		.lmc = from->lmc,
		.state = mad_get_field(info, 0, IB_PORT_STATE_F),
		.vl_cap = vls_of(mad_get_field(info, 0, IB_PORT_VL_CAP_F)),
		.op_vls = vls_of(mad_get_field(info, 0, IB_PORT_OPER_VLS_F)),
		.smsl = mad_get_field(info, 0, IB_PORT_SMSL_F),
		.width = mad_get_field(info, 0, IB_PORT_LINK_WIDTH_ACTIVE_F),
		.speed = mad_get_field(info, 0, IB_PORT_LINK_SPEED_ACTIVE_F),
		.speed_ext = mad_get_field(info, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F),
		.arb_low_size = mad_get_field(info, 0, IB_PORT_VL_ARBITRATION_LOW_CAP_F),
		.arb_high_size = mad_get_field(info, 0, IB_PORT_VL_ARBITRATION_HIGH_CAP_F),
	};
	if (!from->remoteport)
		return;
	to->peer = node_index(reader, from->remoteport->node);
	to->peer_port = from->remoteport->portnum;
}

static void copy_node(struct reader *reader, struct osr_live_node *to, ibnd_node_t *from)
{
	size_t length = strnlen(from->nodedesc, IB_SMP_DATA_SIZE);
	char *name = osr_calloc(reader->arena, length + 1, 1);

	*to = (struct osr_live_node){
		.guid = from->guid,
		.type = from->type,
		.n_ports = from->numports,
		.enhanced_sp0 = from->type == OSR_LIVE_SWITCH && from->smaenhsp0,
		.name = name,
		.ports = osr_calloc(reader->arena, from->numports + 1, sizeof(*to->ports)),
	};
	if (osr_arena_failed(reader->arena, NULL))
		return;
	memcpy(name, from->nodedesc, length);
	osr_name_clean(name);
	for (int p = 0; p <= from->numports; p++) {
		to->ports[p].peer = OSR_LIVE_NONE;
		if (from->ports[p])
			copy_port(reader, &to->ports[p], from->ports[p]);
	}
	if (to->type == OSR_LIVE_SWITCH) {
		/* libibnetdisc gives every port of a switch the LID, which is port 0's. */
		for (int p = 1; p <= from->numports; p++)
			to->ports[p].lid = to->ports[p].lmc = 0;
		to->ports[0].lid = from->smalid;
		to->ports[0].lmc = from->smalmc;
		to->lft_top = mad_get_field(from->switchinfo, 0, IB_SW_LINEAR_FDB_TOP_F);
		to->n_mlids = mad_get_field(from->switchinfo, 0, IB_SW_MCAST_FDB_CAP_F);
	}
}

static void count_node(ibnd_node_t *node, void *ctx)
{
	(*(uint32_t *)ctx)++;
}

static void collect_node(ibnd_node_t *node, void *ctx)
{
	struct reader *reader = ctx;

	reader->by_guid[reader->live->n_nodes++] = node;
}

static enum osr_status discover(struct reader *reader, struct osr_diag *diag)
{
	struct ibnd_config config = { .max_smps = DISCOVERY_SMPS };
	uint32_t n = 0;

	reader->found =
		ibnd_discover_fabric(reader->device.smi, reader->device.smi_port, NULL, &config);
	if (!reader->found)
		return osr_fail(diag, OSR_UNREACHABLE,
				"the fabric could not be discovered through %s, port %d",
				reader->device.smi, reader->device.smi_port);
	ibnd_iter_nodes(reader->found, count_node, &n);
	reader->by_guid = osr_calloc(reader->arena, n, sizeof(*reader->by_guid));
	reader->live->nodes = osr_calloc(reader->arena, n, sizeof(*reader->live->nodes));
	if (osr_arena_failed(reader->arena, diag))
		return OSR_NOMEM;
	ibnd_iter_nodes(reader->found, collect_node, reader);
	qsort(reader->by_guid, n, sizeof(*reader->by_guid), read_by_guid);
	for (uint32_t i = 0; i < n; i++) {
		copy_node(reader, &reader->live->nodes[i], reader->by_guid[i]);
		if (osr_arena_failed(reader->arena, diag))
			return OSR_NOMEM;
	}
	reader->live->from = node_index(reader, reader->found->from_node);
	return osr_arena_failed(reader->arena, diag) ? OSR_NOMEM : OSR_OK;
}

static void read_ask(struct reader *reader, const ib_dr_path_t *path, uint32_t mod,
		     struct what what)
{
	reader->live->n_requests++;
	osr_mad_smp(reader->mad, path, what.attr, mod,
		    (uint64_t)what.node << 32 | (uint64_t)what.attr << 16 | what.a << 8 | what.b);
}

/* Low and high priority tables, each in blocks of 32 entries numbered 1, 2 and 3, 4. */
static void ask_vlarb(struct reader *reader, uint32_t i, unsigned port, const ib_dr_path_t *path)
{
	struct osr_live_node *live_node = &reader->live->nodes[i];
	struct osr_live_port *live_port = &live_node->ports[port];
	unsigned selector = live_node->type == OSR_LIVE_SWITCH ? port : 0;

	live_port->arb_low = osr_calloc(reader->arena, live_port->arb_low_size + ARB_BLOCK, 2);
	live_port->arb_high = osr_calloc(reader->arena, live_port->arb_high_size + ARB_BLOCK, 2);
	if (osr_arena_failed(reader->arena, NULL))
		return;
	for (unsigned b = 0; b < 4; b++)
		if ((b & 1) * ARB_BLOCK <
		    (b < 2 ? live_port->arb_low_size : live_port->arb_high_size))
			read_ask(reader, path, (b + 1) << 16 | selector,
				 (struct what){ i, IB_ATTR_VL_ARBITRATION, port, b });
}

static void ask_end_node(struct reader *reader, uint32_t i)
{
	struct osr_live_node *live_node = &reader->live->nodes[i];

	if (reader->ask->sl2vl)
		live_node->sl2vl = osr_calloc(reader->arena, live_node->n_ports + 1,
					      sizeof(*live_node->sl2vl));
	for (unsigned p = 1; p <= live_node->n_ports; p++) {
		ibnd_node_t *own = reader->by_guid[i];
		ibnd_port_t *peer;
		ib_dr_path_t path = own->path_portid.drpath;
		bool is_known =
			own == reader->found->from_node && (int)p == reader->found->from_portnum;

		if (osr_arena_failed(reader->arena, NULL))
			return;
		if (!osr_live_port_up(live_node, p))
			continue;
		peer = own->ports[p]->remoteport;
		/*
		 * libibnetdisc keeps one route per node, which reaches only one of the ports of a
		 * dual-port CA: go through the switch the port hangs on instead.
		 */
		if (!is_known && peer && peer->node->type == OSR_LIVE_SWITCH &&
		    peer->node->path_portid.drpath.cnt + 1 < (int)sizeof(path.p)) {
			path = peer->node->path_portid.drpath;
			path.p[++path.cnt] = peer->portnum;
		}
		if (reader->ask->sl2vl)
			read_ask(reader, &path, 0, (struct what){ i, IB_ATTR_SLVL_TABLE, 0, p });
		if (reader->ask->vlarb)
			ask_vlarb(reader, i, p, &path);
	}
}

static void read_store(void *ctx, uint64_t cookie, const uint8_t *answer)
{
	struct reader *reader = ctx;
	struct what what = { cookie >> 32, cookie >> 16, cookie >> 8, cookie };
	struct osr_live_node *live_node = &reader->live->nodes[what.node];
	struct osr_live_port *live_port;
	uint8_t(*table)[2];
	const uint8_t *data;

	if (!answer || mad_get_field((void *)answer, 0, IB_DRSMP_STATUS_F)) {
		if (reader->live->n_failed++ == 0)
			snprintf(reader->live->first_failure, sizeof(reader->live->first_failure),
				 "attribute 0x%x (%u, %u) of \"%.64s\" was %s", what.attr, what.a,
				 what.b, live_node->name, answer ? "refused" : "not answered");
		return;
	}
	data = answer + IB_SMP_DATA_OFFS;
	switch (what.attr) {
	case IB_ATTR_LINEARFORWTBL:
		memcpy(live_node->lft + (what.a << 8 | what.b) * LFT_BLOCK, data, LFT_BLOCK);
		break;
	case IB_ATTR_MULTICASTFORWTBL:
		for (unsigned i = 0; i < MFT_BLOCK; i++) {
			uint64_t mask = (uint64_t)data[2 * i] << 8 | data[2 * i + 1];

			live_node->mft[what.a * MFT_BLOCK + i][what.b / 4] |=
				mask << (what.b % 4 * MFT_PORTS);
		}
		break;
	case IB_ATTR_SLVL_TABLE:
		memcpy(live_node->sl2vl[what.a * (live_node->n_ports + 1) + what.b], data,
		       sizeof(*live_node->sl2vl));
		break;
	case IB_ATTR_VL_ARBITRATION:
		live_port = &live_node->ports[what.a];
		table = (what.b < 2 ? live_port->arb_low : live_port->arb_high) +
			(what.b & 1) * ARB_BLOCK;
		/* There is room for a whole block. */
		for (unsigned i = 0; i < ARB_BLOCK; i++) {
			table[i][0] = data[2 * i] & 0xf;
			table[i][1] = data[2 * i + 1];
		}
		break;
	}
}

/* Of a switch all tables that were asked for. */
static void ask_switch(struct reader *reader, uint32_t i)
{
	struct osr_live_node *live_node = &reader->live->nodes[i];
	ib_dr_path_t path = reader->by_guid[i]->path_portid.drpath;
	unsigned n_blocks = live_node->lft_top / LFT_BLOCK + 1, width = live_node->n_ports + 1;

	if (reader->ask->lft)
		live_node->lft = osr_calloc(reader->arena, n_blocks, LFT_BLOCK);
	if (live_node->lft) {
		memset(live_node->lft, 0xff, n_blocks * LFT_BLOCK);
		for (unsigned b = 0; b < n_blocks; b++)
			read_ask(reader, &path, b,
				 (struct what){ i, IB_ATTR_LINEARFORWTBL, b >> 8, b });
	}
	if (live_node->n_mlids > reader->ask->n_mlids)
		live_node->n_mlids = reader->ask->n_mlids;
	/* Whole blocks, and no more than a cookie's byte can number. */
	if ((live_node->n_mlids + MFT_BLOCK - 1) / MFT_BLOCK > 255)
		live_node->n_mlids = 255 * MFT_BLOCK;
	if (reader->ask->n_mlids)
		live_node->mft = osr_calloc(reader->arena, live_node->n_mlids + MFT_BLOCK,
					    sizeof(*live_node->mft));
	if (live_node->mft)
		for (unsigned b = 0; b * MFT_BLOCK < live_node->n_mlids; b++)
			for (unsigned p = 0; p <= live_node->n_ports / MFT_PORTS; p++)
				read_ask(reader, &path, p << 28 | b,
					 (struct what){ i, IB_ATTR_MULTICASTFORWTBL, b, p });
	if (reader->ask->sl2vl)
		live_node->sl2vl =
			osr_calloc(reader->arena, width * width, sizeof(*live_node->sl2vl));
	if (live_node->sl2vl)
		for (unsigned in = 0; in < width; in++)
			for (unsigned out = 0; out < width; out++)
				if (osr_live_port_up(live_node, in) &&
				    osr_live_port_up(live_node, out))
					read_ask(reader, &path, in << 8 | out,
						 (struct what){ i, IB_ATTR_SLVL_TABLE, in, out });
	if (reader->ask->vlarb)
		for (unsigned p = 1; p <= live_node->n_ports; p++)
			if (osr_live_port_up(live_node, p))
				ask_vlarb(reader, i, p, &path);
}

static enum osr_status live_read_tables(struct reader *reader, struct osr_diag *diag)
{
	enum osr_status st =
		osr_mad_open(&reader->mad,
			     &(struct osr_mad_client){ .device = &reader->device,
						       .mgmt_class = IB_SMI_DIRECT_CLASS,
						       .class_version = 1,
						       .fn = read_store,
						       .ctx = reader },
			     diag);

	if (st)
		return st;
	for (uint32_t i = 0; i < reader->live->n_nodes; i++) {
		if (osr_arena_failed(reader->arena, NULL))
			break;
		if (reader->ask->tell)
			reader->ask->tell("tables of the fabric", i, reader->live->n_nodes);
		if (reader->live->nodes[i].type == OSR_LIVE_SWITCH)
			ask_switch(reader, i);
		else
			ask_end_node(reader, i);
	}
	osr_mad_drain(reader->mad);
	osr_mad_close(reader->mad);
	if (reader->ask->tell)
		reader->ask->tell("tables of the fabric", 1, 1);
	return osr_arena_failed(reader->arena, diag) ? OSR_NOMEM : OSR_OK;
}

enum osr_status osr_live_read(struct osr_live *live, const struct osr_live_ask *what,
			      struct osr_arena *arena, struct osr_diag *diag)
{
	struct reader reader = { .live = live, .ask = what, .arena = arena };
	enum osr_status st;

	*live = (struct osr_live){ 0 };
	st = osr_device_find(&what->from, &reader.device, diag);
	if (!st)
		st = discover(&reader, diag);
	if (!st)
		st = live_read_tables(&reader, diag);
	if (reader.found)
		ibnd_destroy_fabric(reader.found);
	return st;
}
