/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which switches carry no hosts. CAs that belong to the switch itself are no hosts: SHARP aggregation
 * nodes, by their node description, and the CA that most switches have on their last port (the rule of
 * src/core/shape/pgft.c, so that what dmodk takes for a spine is one here too).
 */
#include <string.h>

#include "topo/topo.h"

/* The CA or router on this port, or OSR_NONE. */
static uint32_t end_node(const struct osr_net *net, uint32_t port)
{
	uint32_t peer = net->ports[port].peer;
	uint32_t node = peer == OSR_NONE ? OSR_NONE : net->ports[peer].node;

	return node == OSR_NONE || osr_net_is_switch(net, node) ? OSR_NONE : node;
}

static uint32_t count_ends(const struct osr_net *net, uint32_t sw)
{
	uint32_t row = net->nodes[sw].port_row, n = 0;

	for (uint32_t p = row + 1; p <= row + net->nodes[sw].n_ports; p++)
		n += end_node(net, p) != OSR_NONE;
	return n;
}

static uint32_t last_port(const struct osr_net *net, uint32_t sw)
{
	return net->nodes[sw].port_row + net->nodes[sw].n_ports;
}

/* Do most switches, and most of those with no other CA, have a CA on their last port? */
static bool have_own_port(const struct osr_net *net)
{
	uint32_t n_switches = 0, n_last = 0, n_only = 0, n_bare = 0;

	for (uint32_t s = 0; s < net->n_nodes; s++) {
		uint32_t n_ends;
		bool last;

		if (!osr_net_is_switch(net, s))
			continue;
		n_ends = count_ends(net, s);
		last = end_node(net, last_port(net, s)) != OSR_NONE;
		n_switches++;
		n_last += last;
		n_only += last && n_ends == 1;
		n_bare += n_ends == 0;
	}
	return 2 * n_last > n_switches && n_only > n_bare && n_switches > 2;
}

static bool is_aggregation(const struct osr_net *net, uint32_t node)
{
	return strstr(osr_net_name(net, node), "Aggregation Node") != NULL;
}

static bool has_host(const struct osr_net *net, uint32_t sw, bool own_port)
{
	uint32_t last = last_port(net, sw);

	for (uint32_t p = net->nodes[sw].port_row + 1; p <= last; p++) {
		uint32_t node = end_node(net, p);

		if (node != OSR_NONE && !(own_port && p == last) && !is_aggregation(net, node))
			return true;
	}
	return false;
}

void osr_topo_transit(const struct osr_net *net, bool *transit)
{
	bool own_port = have_own_port(net);

	for (uint32_t s = 0; s < net->n_nodes; s++)
		transit[s] = osr_net_is_switch(net, s) && !has_host(net, s, own_port);
}
