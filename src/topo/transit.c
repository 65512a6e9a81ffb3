/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>

#include <osmroutes/hosts.h>

#include "topo/topo.h"

bool osr_topo_transit(const struct osr_net *net, bool *transit)
{
	struct osr_end *end = calloc((size_t)net->n_ports + 1, sizeof(*end));
	uint32_t *n_hosts = calloc((size_t)net->n_nodes + 1, sizeof(*n_hosts));
	uint32_t n = 0, n_switches = 0;
	bool enough = end && n_hosts;

	for (uint32_t i = 0; enough && i < net->n_nodes; i++) {
		uint32_t first = net->nodes[i].port_row, last = first + net->nodes[i].n_ports;

		if (!osr_net_is_switch(net, i))
			continue;
		for (uint32_t p = first + 1; p <= last; p++) {
			uint32_t peer = net->ports[p].peer;
			uint32_t far = peer == OSR_NONE ? i : net->ports[peer].node;

			if (!osr_net_is_switch(net, far))
				end[n++] = (struct osr_end){ n_switches, p == last,
							     osr_net_name(net, far) };
		}
		n_switches++;
	}
	if (enough)
		osr_count_hosts(end, n, n_hosts, n_switches);
	for (uint32_t i = 0, s = 0; enough && i < net->n_nodes; i++)
		transit[i] = osr_net_is_switch(net, i) && !n_hosts[s++];
	free(end);
	free(n_hosts);
	return enough;
}
