/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* When all lines are read: which port is at the other end of which, and do both say so? */
#include "io/netfile_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The port at the other end according to `port`'s own line. */
static enum osr_status find_far_port(const struct osr__netfile *netfile, uint32_t port,
				     uint32_t *far_port)
{
	const struct osr__far_end *far = &netfile->far[port];
	char full[OSR__MAX_ID + 1];
	uint32_t node = OSR_NONE;

	if (osr__netfile_full_id(netfile, far->prefix, far->id, far->id_len, full))
		node = *osr__netfile_slot(netfile, full, strlen(full));
	if (node == OSR_NONE)
		return osr__netfile_fail(
			netfile, far->line,
			"the cable goes to \"%.*s\", which the file does not describe (is it cut "
			"off?)",
			(int)(far->id_len < OSR__MAX_ID ? far->id_len : OSR__MAX_ID), far->id);
	*far_port = osr_net_port(netfile->net, node, far->port);
	if (*far_port == OSR_NONE)
		return osr__netfile_fail(netfile, far->line,
					 "the cable goes to port %u of \"%s\", which has %u ports",
					 far->port, full, netfile->net->nodes[node].n_ports);
	return OSR_OK;
}

/* Names both ends and their lines; the likeliest cause, a file that was cut off, is offered. */
static enum osr_status disagree(const struct osr__netfile *netfile, uint32_t port,
				uint32_t far_port)
{
	const struct osr_net *net = netfile->net;
	const struct osr__far_end *other = &netfile->far[far_port];
	uint32_t far_node = net->ports[far_port].node;
	uint32_t far_num = osr_net_port_num(net, far_port);

	if (!other->id)
		return osr__netfile_fail(netfile, netfile->far[port].line,
					 "the cable goes to \"%s\"[%" PRIu32
					 "], but the block of \"%s\" in line %" PRIu32
					 " does not mention that port (is the file cut off?)",
					 osr_net_id(net, far_node), far_num,
					 osr_net_id(net, far_node), netfile->node_line[far_node]);
	return osr__netfile_fail(netfile, netfile->far[port].line,
				 "the cable goes to \"%s\"[%" PRIu32 "], but line %" PRIu32
				 " says that \"%.*s\"[%u] is at its other end",
				 osr_net_id(net, far_node), far_num, other->line,
				 (int)(other->id_len < OSR__MAX_ID ? other->id_len : OSR__MAX_ID),
				 other->id, other->port);
}

/*
 * Both ends of every cable, then whether they mean each other. Two passes, because the peer of a
 * port is only known once its own line is resolved.
 */
enum osr_status osr__netfile_tie(struct osr__netfile *netfile)
{
	struct osr_net *net = netfile->net;

	for (uint32_t p = 0; p < net->n_ports; p++) {
		enum osr_status st;

		if (!netfile->far[p].id)
			continue;
		st = find_far_port(netfile, p, &net->ports[p].peer);
		if (st)
			return st;
	}
	for (uint32_t p = 0; p < net->n_ports; p++) {
		uint32_t peer = net->ports[p].peer;

		if (peer != OSR_NONE && net->ports[peer].peer != p)
			return disagree(netfile, p, peer);
	}
	return OSR_OK;
}

/* OpenSM and ibsim know nodes by their GUIDs: two with one GUID cannot be told apart. */
enum osr_status osr__netfile_check_guids(const struct osr__netfile *netfile)
{
	const struct osr_net *net = netfile->net;
	const struct osr_net_node *node = net->nodes;
	uint32_t *list = osr_net_by_guid(net);
	enum osr_status st = OSR_OK;

	if (!list)
		return osr__netfile_nomem(netfile);
	for (uint32_t i = 1; i < net->n_nodes && !st; i++)
		if (node[list[i]].guid == node[list[i - 1]].guid)
			st = osr__netfile_fail(
				netfile, netfile->node_line[list[i]],
				"\"%s\" has the GUID 0x%016" PRIx64 " of \"%s\" in line %" PRIu32,
				osr_net_id(net, list[i]), node[list[i]].guid,
				osr_net_id(net, list[i - 1]), netfile->node_line[list[i - 1]]);
	free(list);
	return st;
}
