/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever the devices of a live fabric and its subnet administrator answer: it is refused with a
 * sentence, or becomes tables that the auditor and the search for credit loops can judge. Here the
 * wire is an input: its first bytes are the nodes, as libibnetdisc found them, and what stands
 * behind them are the answers to our requests, one after the other; some are missing or refusals.
 *
 *	input:	byte 0: what is asked for; byte 1: cables drawn; bytes 2..: ports and types of four nodes
 *		then 8 bytes for every node and port; then answers, 64 bytes of data each at most
 */
#include "fuzz.h"

#include <dlfcn.h>
#include <infiniband/ibnetdisc.h>
#include <infiniband/mad.h>

#include "live/mad.h"
#include "live/live.h"

#define OSR_VERSION "fuzz"
static struct osr_live_module wired;
#define dlopen(name, flags) ((void *)&wired)
#define dlsym(handle, symbol) ((void *)(handle))
#include "cli/live.c"
#undef dlopen
#undef dlsym

#define N_NODES 4

static struct wire {
	const uint8_t *data;
	size_t n, at;
	struct osr_live_ask ask;
	ibnd_fabric_t fabric;
	ibnd_node_t node[N_NODES];
	ibnd_port_t port[N_NODES][256];
	ibnd_port_t *ports[N_NODES][256];
} wire;

static uint8_t next(void)
{
	return wire.at < wire.n ? wire.data[wire.at++] : 0;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* What libibnetdisc sees to itself: types 1 to 3, ports up to NumPorts, cables with two ends. */
static void draw_node(unsigned i)
{
	ibnd_node_t *n = &wire.node[i];
	uint8_t type = next(), ports = next();

	*n = (ibnd_node_t){ .guid = i / 3 ? 0x100u + type % 4 : 0x100u + i,
			    .type = i && type % 4 ? (int)IB_NODE_SWITCH : 1 + type / 4 % 3,
			    .numports = ports % 16 ? 1 + ports % 5 : ports,
			    .next = i + 1 < N_NODES ? &wire.node[i + 1] : NULL,
			    .ports = wire.ports[i] };
	n->path_portid.drpath.cnt = (int)i;
	n->smalid = next();
	n->smalmc = next() & 7;
	n->smaenhsp0 = type >> 7;
	for (unsigned k = 0; k < 4; k++)
		n->nodedesc[k] = (char)next();
	mad_set_field(n->switchinfo, 0, IB_SW_LINEAR_FDB_TOP_F,
		      (uint32_t)next() << (type >> 6 & 1 ? 8 : 0));
	mad_set_field(n->switchinfo, 0, IB_SW_MCAST_FDB_CAP_F,
		      (uint32_t)next() << (type >> 5 & 1 ? 8 : 0));
}

static void draw_port(unsigned i, unsigned p)
{
	ibnd_port_t *port = &wire.port[i][p];
	uint8_t kind = next();

	*port = (ibnd_port_t){ .guid = wire.node[i].guid + (kind & 1 ? p : 0x1000 + p),
			       .portnum = (int)p,
			       .node = &wire.node[i],
			       .base_lid = next(),
			       .lmc = kind >> 4 & 7 };
	mad_set_field(port->info, 0, IB_PORT_STATE_F, kind >> 1 & 7);
	mad_set_field(port->info, 0, IB_PORT_VL_CAP_F, next());
	mad_set_field(port->info, 0, IB_PORT_OPER_VLS_F, kind & 1 ? next() : 4);
	mad_set_field(port->info, 0, IB_PORT_LINK_WIDTH_ACTIVE_F, next());
	mad_set_field(port->info, 0, IB_PORT_LINK_SPEED_ACTIVE_F, next());
	mad_set_field(port->info, 0, IB_PORT_VL_ARBITRATION_LOW_CAP_F, next());
	mad_set_field(port->info, 0, IB_PORT_VL_ARBITRATION_HIGH_CAP_F, next());
	wire.ports[i][p] = kind == 255 ? NULL : port;
}

ibnd_fabric_t *ibnd_discover_fabric(char *ca, int ca_port, ib_portid_t *from,
				    struct ibnd_config *config)
{
	unsigned n_cables = next() % 12;

	memset(wire.ports, 0, sizeof(wire.ports));
	for (unsigned i = 0; i < N_NODES; i++)
		draw_node(i);
	for (unsigned i = 0; i < N_NODES; i++)
		for (int p = wire.node[i].type != IB_NODE_SWITCH; p <= wire.node[i].numports; p++)
			draw_port(i, (unsigned)p);
	while (n_cables--) {
		unsigned a = next() % N_NODES, b = next() % N_NODES, p = next(), q = next();
		ibnd_port_t *end = wire.ports[a][1 + p % (unsigned)(wire.node[a].numports ?: 1)];
		ibnd_port_t *to = wire.ports[b][1 + q % (unsigned)(wire.node[b].numports ?: 1)];

		if (!end || !to || end == to || end->remoteport || to->remoteport)
			continue;
		end->remoteport = to;
		to->remoteport = end;
	}
	wire.fabric = (ibnd_fabric_t){ .from_node = &wire.node[0],
				       .from_portnum = 1,
				       .nodes = wire.node };
	return &wire.fabric;
}

void ibnd_destroy_fabric(ibnd_fabric_t *fabric)
{
}

void ibnd_iter_nodes(ibnd_fabric_t *fabric, ibnd_iter_node_func_t each, void *ctx)
{
	for (ibnd_node_t *n = fabric->nodes; n; n = n->next)
		each(n, ctx);
}

/* ---- answers -------------------------------------------------------------------------------- */

struct osr_mad {
	osr_mad_fn fn;
	void *ctx;
};

enum osr_status osr_device_find(const struct osr_device_want *want, struct osr_device *device,
				struct osr_diag *diag)
{
	*device = (struct osr_device){ .sm_lid = 1 };
	return OSR_OK;
}

enum osr_status osr_mad_open(struct osr_mad **mad, const struct osr_mad_client *client,
			     struct osr_diag *diag)
{
	*mad = malloc(sizeof(**mad));
	insist(*mad != NULL, "no memory", "");
	**mad = (struct osr_mad){ client->fn, client->ctx };
	return OSR_OK;
}

void osr_mad_close(struct osr_mad *mad)
{
	free(mad);
}

/*
 * The next byte says how: 255 not at all, 254 with a status, else with so many bytes, then zeroes.
 */
static void answer(struct osr_mad *mad, uint64_t cookie, size_t offset)
{
	uint8_t bytes[IB_MAD_SIZE] = { 0 }, how = next();

	if (how == 254)
		mad_set_field(bytes, 0, IB_MAD_STATUS_F, 4);
	for (size_t i = 0; i < how % 65u && offset + i < sizeof(bytes); i++)
		bytes[offset + i] = next();
	mad->fn(mad->ctx, cookie, how == 255 ? NULL : bytes);
}

void osr_mad_smp(struct osr_mad *mad, const ib_dr_path_t *path, unsigned attr, uint32_t mod,
		 uint64_t cookie)
{
	insist(path->cnt >= 0 && path->cnt < (int)sizeof(path->p), "path", "too long");
	answer(mad, cookie, IB_SMP_DATA_OFFS);
}

void osr_mad_gmp(struct osr_mad *mad, const uint8_t *request, uint16_t lid, uint64_t cookie)
{
	answer(mad, cookie, 56);
}

void osr_mad_drain(struct osr_mad *mad)
{
}

/* ---- what becomes of them ------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };
	struct cli_live live = { 0 };
	struct osr_tables tables = { 0 };
	struct osr_fabric fabric;
	struct cli_pair pair[4];
	struct cli_sls sls = { .sa = CLI_SA_NONE };
	enum osr_status st;
	uint8_t what;
	bool same_ca;

	wired = (struct osr_live_module){ OSR_VERSION, osr_live_read, osr_live_sls };
	wire.data = data;
	wire.n = size;
	wire.at = 0;
	what = next();
	sls.sa = (enum cli_sa)((what >> 5) % 3);
	live.ask = (struct osr_live_ask){ .lft = what & 1,
					  .sl2vl = what & 2,
					  .vlarb = what & 4,
					  .n_mlids = what & 8 ? what & 16 ? UINT32_MAX : 40 : 0 };
	st = cli_live_net(&live, &net, &diag);
	if (!st)
		st = osr_net_fabric(&net, -1, &arena, &fabric, &diag);
	if (!st)
		st = osr_tables_init(&tables, &fabric, &net, &arena, &diag);
	/* All pairs, or those of the first and the last end port and LID. */
	for (uint32_t i = 0; !st && i < 4 && fabric.n_terminals && fabric.n_dests; i++)
		pair[i] = (struct cli_pair){ i < 2 ? 0 : fabric.n_terminals - 1,
					     i & 1 ? fabric.n_dests - 1 : 0 };
	if (!st && what & 0x10 && fabric.n_terminals && fabric.n_dests) {
		sls.pair = pair;
		sls.n_pairs = 4;
	}
	if (!st)
		st = cli_live_tables(&live, &sls, &tables, &diag);
	if (!st)
		st = osr_tables_finish(&tables, &same_ca, &diag);
	insist(!st || diag.text[0], "refused without a sentence", "");
	if (!st)
		fuzz_judge(&tables);
	osr_tables_free(&tables);
	osr_arena_free(&live.arena);
	osr_net_free(&net);
	osr_arena_free(&arena);
	return 0;
}
