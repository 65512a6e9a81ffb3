/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/diff_cables.h"

#include <stdlib.h>

#include "cli/source.h"

const struct out_field cli_diff_cable_fields[] = {
	{ "kind", "kind", OUT_TEXT, 0 },
	CLI_CABLE_FIELDS,
	{ "now", "now", OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
};

/* The nodes of a fabric by GUID. */
struct node_index {
	const struct osr_net *net;
	uint32_t *by_guid; /* [n_nodes] */
};

/* The port with the same node GUID and number, or OSR_NONE. */
static uint32_t same_port(const struct node_index *in, const struct osr_net *of, uint32_t port)
{
	uint64_t guid = of->nodes[of->ports[port].node].guid;
	uint32_t at = osr_net_guid_at(in->net, in->by_guid, guid);

	if (at == in->net->n_nodes || in->net->nodes[in->by_guid[at]].guid != guid)
		return OSR_NONE;
	return osr_net_port(in->net, in->by_guid[at], osr_net_port_num(of, port));
}

static uint32_t peer_of(const struct osr_net *net, uint32_t port)
{
	return port == OSR_NONE ? OSR_NONE : net->ports[port].peer;
}

static void say_end(struct out *out, const struct osr_net *net, uint32_t port)
{
	uint32_t peer = net->ports[port].peer;

	out_textf(out, "now", "%s:%u - %s:%u", osr_net_shown(net, net->ports[port].node),
		  osr_net_port_num(net, port), osr_net_shown(net, net->ports[peer].node),
		  osr_net_port_num(net, peer));
}

/* Cables of `net` that `other` does not have. `is_old`: moved where an end has another cable in `other`. */
static uint64_t say_cables(const struct osr_net *net, const struct node_index *other, bool is_old,
			   struct out *out)
{
	uint64_t n = 0;

	for (uint32_t port = 0; port < net->n_ports; port++) {
		uint32_t peer = net->ports[port].peer, end[2], moved = OSR_NONE;

		if (peer == OSR_NONE || peer < port)
			continue;
		end[0] = same_port(other, net, port);
		end[1] = same_port(other, net, peer);
		if (end[0] != OSR_NONE && end[1] != OSR_NONE &&
		    peer_of(other->net, end[0]) == end[1])
			continue;
		for (unsigned i = 0; i < 2 && moved == OSR_NONE; i++)
			if (peer_of(other->net, end[i]) != OSR_NONE)
				moved = end[i];
		/* The old cable at this end has said already that it is plugged in elsewhere. */
		if (!is_old && moved != OSR_NONE)
			continue;
		out_row(out, "cables");
		out_text(out, "kind", !is_old ? "new" : moved != OSR_NONE ? "moved" : "missing");
		cli_say_cable(
			out, osr_net_shown(net, net->ports[port].node), osr_net_port_num(net, port),
			osr_net_shown(net, net->ports[peer].node), osr_net_port_num(net, peer));
		if (moved != OSR_NONE)
			say_end(out, other->net, moved);
		n++;
	}
	return n;
}

enum osr_status cli_diff_cables(const struct osr_net *old, const struct osr_net *now,
				struct out *out, uint64_t *n, struct osr_diag *diag)
{
	struct node_index of_old = { old, osr_net_by_guid(old) };
	struct node_index of_now = { now, osr_net_by_guid(now) };
	bool good = of_old.by_guid && of_now.by_guid;

	if (good) {
		*n = say_cables(old, &of_now, true, out);
		*n += say_cables(now, &of_old, false, out);
	}
	free(of_old.by_guid);
	free(of_now.by_guid);
	return good ? OSR_OK : osr_fail(diag, OSR_NOMEM, "out of memory for the cables");
}
