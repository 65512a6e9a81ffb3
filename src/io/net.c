/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/net.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/invariant.h>
#include <osmroutes/fabric.h>

static const uint64_t guid_base[OSR_NET_N_TYPES] = {
	[OSR_NET_CA] = 0x100000,
	[OSR_NET_SWITCH] = 0x200000,
	[OSR_NET_ROUTER] = 0x300000,
};

void osr_net_free(struct osr_net *net)
{
	free(net->nodes);
	free(net->ports);
	free(net->names);
	free(net->comment);
	*net = (struct osr_net){ 0 };
}

static bool reserve(struct osr_net *net, void **array, uint32_t n, uint32_t *room, uint32_t more,
		    size_t size)
{
	if (!net->failed && !osr_grow(array, n, more, room, size))
		net->failed = OSR_NOMEM;
	return !net->failed;
}

uint32_t osr_net_string(struct osr_net *net, const char *s, size_t len)
{
	uint32_t at = net->names_size;

	if (len >= UINT32_MAX) {
		net->failed = net->failed ? net->failed : OSR_NOMEM;
		return 0;
	}
	if (!reserve(net, (void **)&net->names, at, &net->names_room, len + 1, 1))
		return 0;
	memcpy(net->names + at, s, len);
	net->names[at + len] = '\0';
	net->names_size = at + (uint32_t)len + 1;
	return at;
}

uint32_t osr_net_description(struct osr_net *net, const char *s, size_t len)
{
	uint32_t at = osr_net_string(net, s, len);

	if (!net->failed)
		osr_name_clean(net->names + at);
	return at;
}

bool osr_net_tell_apart(struct osr_net *net)
{
	uint32_t *name = malloc(((size_t)net->n_nodes + 1) * sizeof(*name));
	bool *repeated = malloc((size_t)net->n_nodes + 1), done = false;
	char shown[512];

	if (name && repeated) {
		for (uint32_t i = 0; i < net->n_nodes; i++)
			name[i] = net->nodes[i].name;
		done = osr_names_repeated(net->names, name, net->n_nodes, repeated);
	}
	if (done)
		for (uint32_t i = 0; i < net->n_nodes; i++) {
			if (!repeated[i])
				continue;
			snprintf(shown, sizeof(shown), OSR_NAME_WITH_GUID, osr_net_name(net, i),
				 net->nodes[i].guid);
			net->nodes[i].shown = osr_net_string(net, shown, strlen(shown));
		}
	free(name);
	free(repeated);
	return done && !net->failed;
}

/* Ports of a switch share its GUID; ports of a CA count on from it. */
static void set_port_guids(struct osr_net *net, const struct osr_net_node *node)
{
	for (uint32_t i = 0; i <= node->n_ports; i++)
		net->ports[node->port_row + i].guid =
			node->guid + (node->type == OSR_NET_SWITCH ? 0 : i);
}

void osr_net_set_guid(struct osr_net *net, uint32_t node, uint64_t guid)
{
	if (node >= net->n_nodes)
		return;
	net->nodes[node].guid = guid;
	net->nodes[node].guid_from = OSR_NET_GUID_GIVEN;
	set_port_guids(net, &net->nodes[node]);
}

uint32_t osr_net_node(struct osr_net *net, enum osr_net_type type, uint32_t n_ports, const char *id)
{
	uint32_t at = net->n_nodes;
	struct osr_net_node *node;
	uint32_t name, shown;

	if (!net->failed && (n_ports == 0 || n_ports > OSR_NET_MAX_NODE_PORTS ||
			     net->n_ports + n_ports + 1 > OSR_NET_MAX_PORTS))
		net->failed = OSR_INVAL;
	name = osr_net_string(net, id, strlen(id));
	/* The name of a node without a description: its id, if that can be printed. */
	shown = osr_net_description(net, id, strlen(id));
	if (!net->failed && !strcmp(net->names + name, net->names + shown)) {
		net->names_size = shown;
		shown = name;
	}
	if (!reserve(net, (void **)&net->nodes, at, &net->nodes_room, 1, sizeof(*net->nodes)) ||
	    !reserve(net, (void **)&net->ports, net->n_ports, &net->ports_room, n_ports + 1,
		     sizeof(*net->ports)))
		return OSR_NONE;
	osr_invariant(at < net->nodes_room && net->n_ports + n_ports < net->ports_room);
	node = &net->nodes[at];
	*node = (struct osr_net_node){
		.guid = guid_base[type] + net->guid_used[type],
		.port_row = net->n_ports,
		.id = name,
		.name = shown,
		.type = type,
		.n_ports = n_ports,
	};
	osr_invariant(net->nodes[at].n_ports == n_ports);
	net->guid_used[type] += type == OSR_NET_SWITCH ? 1 : n_ports + 1;
	for (uint32_t i = 0; i <= n_ports; i++)
		net->ports[net->n_ports + i] =
			(struct osr_net_port){ .node = at, .peer = OSR_NONE };
	set_port_guids(net, node);
	net->n_ports += n_ports + 1;
	net->n_nodes++;
	return at;
}

uint32_t osr_net_found(struct osr_net *net, enum osr_net_type type, uint32_t n_ports, uint64_t guid,
		       const char *name, size_t len)
{
	static const char letter[] = {
		[OSR_NET_CA] = 'H', [OSR_NET_SWITCH] = 'S', [OSR_NET_ROUTER] = 'R'
	};
	char id[24];
	uint32_t node;

	snprintf(id, sizeof(id), "%c-%016" PRIx64, letter[type], guid);
	node = osr_net_node(net, type, n_ports, id);
	osr_net_set_guid(net, node, guid);
	if (node != OSR_NONE && len)
		net->nodes[node].name = osr_net_description(net, name, len);
	return node;
}

static void osr_net_uncable(struct osr_net *net, uint32_t port)
{
	uint32_t peer = net->ports[port].peer;

	osr_invariant(peer == OSR_NONE || net->ports[peer].peer == port);
	if (peer != OSR_NONE)
		net->ports[peer].peer = OSR_NONE;
	net->ports[port].peer = OSR_NONE;
}

void osr_net_cable(struct osr_net *net, uint32_t port_a, uint32_t port_b, uint8_t width,
		   uint8_t speed)
{
	struct osr_net_port *net_port, *port;

	if (net->failed)
		return;
	if (port_a >= net->n_ports || port_b >= net->n_ports) {
		net->failed = OSR_BUG;
		return;
	}
	osr_net_uncable(net, port_a);
	osr_net_uncable(net, port_b);
	net_port = &net->ports[port_a];
	port = &net->ports[port_b];
	net_port->peer = port_b;
	port->peer = port_a;
	net_port->width = port->width = width;
	net_port->speed = port->speed = speed;
}

enum osr_status osr_net_status(const struct osr_net *net, struct osr_diag *diag)
{
	switch (net->failed) {
	case OSR_OK:
		return OSR_OK;
	case OSR_INVAL:
		return osr_fail(diag, OSR_INVAL,
				"a node with 1 to %u ports was expected, and at most %" PRIu32
				" ports in all",
				OSR_NET_MAX_NODE_PORTS, OSR_NET_MAX_PORTS);
	case OSR_BUG:
		return osr_fail(diag, OSR_BUG, "a cable was given a port that does not exist");
	default:
		return osr_fail(diag, net->failed, "out of memory after %" PRIu32 " nodes",
				net->n_nodes);
	}
}

/* Is this end the first of a cable between two different switches? */
static bool joins_switches(const struct osr_net *net, uint32_t port)
{
	uint32_t peer = net->ports[port].peer, node = net->ports[port].node;

	return peer != OSR_NONE && peer > port && net->ports[peer].node != node &&
	       osr_net_is_switch(net, node) && osr_net_is_switch(net, net->ports[peer].node);
}

struct osr_net_assumed osr_net_assumed(const struct osr_net *net)
{
	struct osr_net_assumed assumed = { .lids = net->n_lids_new };

	for (uint32_t i = 0; i < net->n_nodes; i++) {
		assumed.guids += net->nodes[i].guid_from == OSR_NET_GUID_COUNTED;
		assumed.guids_of_ids += net->nodes[i].guid_from == OSR_NET_GUID_OF_ID;
	}
	for (uint32_t i = 0; i < net->n_ports; i++) {
		uint8_t width, speed;

		if (!joins_switches(net, i))
			continue;
		osr_net_link_rate(net, i, &width, &speed);
		assumed.switch_cables++;
		assumed.rates += !osr_rate_gbps(width, speed);
		assumed.vls += !osr_net_link_vls(net, i);
	}
	return assumed;
}

struct osr_net_counts osr_net_count(const struct osr_net *net)
{
	struct osr_net_counts net_counts = { 0 };

	for (uint32_t i = 0; i < net->n_nodes; i++) {
		net_counts.switches += net->nodes[i].type == OSR_NET_SWITCH;
		net_counts.cas += net->nodes[i].type == OSR_NET_CA;
		net_counts.routers += net->nodes[i].type == OSR_NET_ROUTER;
	}
	for (uint32_t i = 0; i < net->n_ports; i++) {
		uint32_t peer = net->ports[i].peer;

		net_counts.cables += peer != OSR_NONE && peer >= i;
		net_counts.switch_cables += joins_switches(net, i);
	}
	return net_counts;
}

/* A link runs at the lower value of its ends; an end with an unknown value, 0, cannot lower it. */
static uint8_t lower_known(uint8_t a, uint8_t b)
{
	if (!a || !b)
		return a | b;
	return a < b ? a : b;
}

void osr_net_link_rate(const struct osr_net *net, uint32_t port, uint8_t *width, uint8_t *speed)
{
	const struct osr_net_port *net_port = &net->ports[port];
	const struct osr_net_port *b =
		net_port->peer == OSR_NONE ? net_port : &net->ports[net_port->peer];

	osr_invariant(b == net_port || b->peer == port);
	*width = lower_known(net_port->width, b->width);
	*speed = lower_known(net_port->speed, b->speed);
}

uint8_t osr_net_link_vls(const struct osr_net *net, uint32_t port)
{
	uint32_t peer = net->ports[port].peer;

	return lower_known(net->ports[port].vls, peer == OSR_NONE ? 0 : net->ports[peer].vls);
}

uint32_t osr_net_fewest_vls(const struct osr_net *net)
{
	uint32_t least = OSR_NONE;

	for (uint32_t i = 0; i < net->n_ports; i++) {
		uint8_t vls = osr_net_link_vls(net, i);

		if (joins_switches(net, i) && vls &&
		    (least == OSR_NONE || vls < net->ports[least].vls))
			least = net->ports[i].vls == vls ? i : net->ports[i].peer;
	}
	return least;
}

/*
 * The end ports in the order in which OpenSM visits them; the key is the GUID as its map of ports
 * compares it.
 */
static uint32_t list_end_ports(const struct osr_net *net, struct osr_keyed *list)
{
	struct osr_keyed own;
	uint32_t n = 0, first = 0;

	/*
	 * The ports that a subnet manager sees: port 0 of a switch, a cabled port of a CA or
	 * router.
	 */
	for (uint32_t i = 0; i < net->n_ports; i++) {
		const struct osr_net_port *port = &net->ports[i];

		if (osr_net_is_switch(net, port->node) ? !osr_net_port_num(net, i)
						       : port->peer != OSR_NONE)
			list[n++] = (struct osr_keyed){ __builtin_bswap64(port->guid), i };
	}
	if (n == 0)
		return 0;
	osr_invariant(n <= net->n_ports);
	osr_keyed_sort(list, n);
	/* OpenSM serves the port it runs on first: the first end port of the file. */
	for (uint32_t i = 1; i < n; i++)
		if (list[i].index < list[first].index)
			first = i;
	own = list[first];
	memmove(list + 1, list, first * sizeof(*list));
	list[0] = own;
	return n;
}

/* Marks the LIDs of the port. The builder complains of one beyond the unicast range. */
static void mark_lids(const struct osr_net_port *port, bool *used)
{
	uint32_t end = port->lid + (1u << port->lmc);

	if (!port->lid)
		return;
	osr_invariant(port->lmc <= 7);
	for (uint32_t lid = port->lid; lid < end; lid++)
		if (lid <= OSR_MAX_LID)
			used[lid] = true;
}

/* LMC -1: as the port has it. */
static uint32_t lids_of(const struct osr_net *net, const struct osr_net_port *port, int lmc)
{
	if (lmc < 0)
		return 1u << port->lmc;
	return osr_net_is_switch(net, port->node) ? 1 : 1u << lmc;
}

/*
 * `next` only grows, as OpenSM's ranges of free LIDs do: LIDs that an aligned range skips stay
 * unused. The gaps matter, since OpenSM must give the same LIDs.
 */
enum osr_status osr_net_assign_lids(struct osr_net *net, int lmc, struct osr_diag *diag)
{
	struct osr_keyed *list = calloc((size_t)net->n_ports + 1, sizeof(*list));
	bool *used = calloc(OSR_MAX_LID + 1, sizeof(*used));
	enum osr_status st = OSR_OK;
	uint32_t next = 1, n_wanted = 0, n = list && used ? list_end_ports(net, list) : 0;

	if (lmc > 7)
		st = osr_fail(diag, OSR_INVAL, "LMC %d: 0 to 7 are possible", lmc);
	else if (!list || !used)
		st = osr_fail(diag, OSR_NOMEM, "out of memory for the LIDs of %" PRIu32 " ports",
			      net->n_ports);
	if (lmc < 0)
		for (uint32_t i = 0; i < n; i++)
			mark_lids(&net->ports[list[i].index], used);
	for (uint32_t i = 0; i < n; i++)
		n_wanted += lids_of(net, &net->ports[list[i].index], lmc);
	for (uint32_t i = 0; !st && i < n; i++) {
		struct osr_net_port *port = &net->ports[list[i].index];
		char gaps[120] = "";
		uint32_t n_lids = lids_of(net, port, lmc < 0 ? 0 : lmc);

		if (lmc < 0 && port->lid)
			continue;
		next = (next + n_lids - 1) & ~(n_lids - 1);
		while (next <= OSR_MAX_LID && used[next])
			next++;
		if (next + n_lids - 1 > OSR_MAX_LID) {
			if (n_wanted <= OSR_MAX_LID)
				snprintf(gaps, sizeof(gaps),
					 ", but OpenSM gives LIDs out in the order of GUIDs, and "
					 "skips some before blocks of %" PRIu32,
					 n_lids);
			st = osr_fail(diag, OSR_INVAL,
				      "no LIDs left at %s port %" PRIu32
				      ": the fabric needs %" PRIu32 " of %u%s",
				      osr_net_name(net, port->node),
				      osr_net_port_num(net, list[i].index), n_wanted, OSR_MAX_LID,
				      gaps);
			break;
		}
		osr_invariant(next && next % n_lids == 0);
		port->lid = next;
		port->lmc = n_lids > 1 ? lmc : 0;
		net->n_lids_new += lmc < 0;
		next += n_lids;
	}
	free(list);
	free(used);
	return st;
}

/* End ports without a LID take no part in routing; fabric.h leaves them out, so do we. */
static void feed_terminal(const struct osr_net *net, struct osr_builder *builder, uint32_t port,
			  uint32_t sw, uint32_t sw_port, enum osr_role role)
{
	const struct osr_net_port *net_port = &net->ports[port];

	if (net_port->lid == 0)
		return;
	osr_builder_terminal(builder, &(struct osr_terminal_in){
					      .guid = net_port->guid,
					      .sw = sw,
					      .port = sw_port,
					      .lmc = net_port->lmc,
					      .role = role,
					      .lid = net_port->lid,
					      .name = osr_net_name(net, net_port->node),
				      });
}

/* One switch port: a link when the other end is a switch and not yet fed, else a terminal. */
static void feed_port(const struct osr_net *net, struct osr_builder *builder,
		      const uint32_t *handle, uint32_t port)
{
	const struct osr_net_port *net_port = &net->ports[port];
	const struct osr_net_port *peer = &net->ports[net_port->peer];
	uint8_t width, speed;

	if (net->nodes[peer->node].type != OSR_NET_SWITCH) {
		feed_terminal(net, builder, net_port->peer, handle[net_port->node],
			      osr_net_port_num(net, port),
			      net->nodes[peer->node].type == OSR_NET_CA ? OSR_ROLE_CA
									: OSR_ROLE_ROUTER);
		return;
	}
	if (peer->node == net_port->node || net_port->peer < port)
		return;
	osr_net_link_rate(net, port, &width, &speed);
	osr_builder_link(builder, &(struct osr_link_in){
					  .sw_a = handle[net_port->node],
					  .sw_b = handle[peer->node],
					  .port_a = osr_net_port_num(net, port),
					  .port_b = osr_net_port_num(net, net_port->peer),
					  .vls = osr_net_link_vls(net, port),
					  .rate = osr_rate_gbps(width, speed),
				  });
}

/* Does each port lie within its node, and is it the peer of its peer? */
static bool net_holds(const struct osr_net *net)
{
	for (uint32_t p = 0; p < net->n_ports; p++) {
		const struct osr_net_port *port = &net->ports[p];
		const struct osr_net_node *node = &net->nodes[port->node];

		if (port->node >= net->n_nodes || p < node->port_row ||
		    p > node->port_row + node->n_ports)
			return false;
		if (port->peer != OSR_NONE &&
		    (port->peer >= net->n_ports || net->ports[port->peer].peer != p))
			return false;
	}
	return true;
}

enum osr_status osr_net_fabric(struct osr_net *net, int lmc, struct osr_arena *arena,
			       struct osr_fabric *fabric, struct osr_diag *diag)
{
	enum osr_status st = osr_net_assign_lids(net, lmc, diag);
	struct osr_builder *builder;
	uint32_t *handle;

	osr_invariant(net_holds(net));
	if (st)
		return st;
	builder = osr_builder_new();
	handle = calloc((size_t)net->n_nodes + 1, sizeof(*handle));
	if (builder && handle) {
		/* All switches before the first link: a link needs the handles of both. */
		for (uint32_t i = 0; i < net->n_nodes; i++) {
			const struct osr_net_node *node = &net->nodes[i];

			if (node->type != OSR_NET_SWITCH)
				continue;
			handle[i] = osr_builder_switch(
				builder,
				&(struct osr_switch_in){
					.guid = node->guid,
					.n_ports = node->n_ports,
					.flags = OSR_SW_SL2VL |
						 (node->enhanced_sp0 ? OSR_SW_ENHANCED_SP0 : 0),
					.name = osr_net_name(net, i),
				});
		}
		for (uint32_t i = 0; i < net->n_nodes; i++) {
			const struct osr_net_node *node = &net->nodes[i];

			if (node->type != OSR_NET_SWITCH)
				continue;
			feed_terminal(net, builder, node->port_row, handle[i], 0, OSR_ROLE_SP0);
			for (uint32_t p = node->port_row + 1; p <= node->port_row + node->n_ports;
			     p++)
				if (net->ports[p].peer != OSR_NONE)
					feed_port(net, builder, handle, p);
		}
		st = osr_builder_build(builder, arena, fabric, diag);
	} else {
		st = osr_fail(diag, OSR_NOMEM,
			      "out of memory for the %" PRIu32 " nodes of a fabric", net->n_nodes);
	}
	osr_builder_free(builder);
	free(handle);
	return st;
}

struct osr_keyed *osr_net_by_guid(const struct osr_net *net)
{
	struct osr_keyed *by_guid = calloc((size_t)net->n_nodes + 1, sizeof(*by_guid));

	if (!by_guid)
		return NULL;
	for (uint32_t i = 0; i < net->n_nodes; i++)
		by_guid[i] = (struct osr_keyed){ net->nodes[i].guid, i };
	osr_keyed_sort(by_guid, net->n_nodes);
	return by_guid;
}
