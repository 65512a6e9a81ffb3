/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/netfile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <osmroutes/invariant.h>

#include "io/speed.h"

static void write_ids(const struct osr_net_node *node, bool with_guid, FILE *out)
{
	static const char *const guid_key[OSR_NET_N_TYPES] = {
		[OSR_NET_CA] = "caguid",
		[OSR_NET_SWITCH] = "switchguid",
		[OSR_NET_ROUTER] = "rtguid",
	};

	if (node->vendid)
		fprintf(out, "vendid=0x%" PRIx32 "\n", node->vendid);
	if (node->devid)
		fprintf(out, "devid=0x%" PRIx32 "\n", node->devid);
	if (node->sysimg_guid)
		fprintf(out, "sysimgguid=0x%" PRIx64 "\n", node->sysimg_guid);
	if (!with_guid)
		return;
	fprintf(out, "%s=0x%" PRIx64, guid_key[node->type], node->guid);
	if (node->type == OSR_NET_SWITCH)
		fprintf(out, "(%" PRIx64 ")", node->guid);
	fputc('\n', out);
}

static void write_header(const struct osr_net *net, uint32_t i, FILE *out)
{
	static const char *const word[OSR_NET_N_TYPES] = {
		[OSR_NET_CA] = "Ca",
		[OSR_NET_SWITCH] = "Switch",
		[OSR_NET_ROUTER] = "Rt",
	};
	const struct osr_net_node *node = &net->nodes[i];
	const struct osr_net_port *sp0 = &net->ports[node->port_row];

	fprintf(out, "%s\t%u \"%s\"", word[node->type], node->n_ports, osr_net_id(net, i));
	if (node->type != OSR_NET_SWITCH) {
		if (node->name != node->id)
			fprintf(out, "\t\t# \"%s\"", osr_net_name(net, i));
	} else if (node->name != node->id || node->enhanced_sp0 || sp0->lid) {
		fprintf(out, "\t\t# \"%s\" %s port 0", osr_net_name(net, i),
			node->enhanced_sp0 ? "enhanced" : "base");
		if (sp0->lid)
			fprintf(out, " lid %u lmc %u", sp0->lid, sp0->lmc);
	}
	fputc('\n', out);
}

/*
 * ibsim takes a rate only from `lid N WxSPEED` at the end of the line, so a rate without LIDs comes
 * with lid 0, which means none.
 */
static void write_port_comment(const struct osr_net *net, uint32_t i, FILE *out)
{
	const struct osr_net_port *net_port = &net->ports[i];
	const struct osr_net_node *node = &net->nodes[net_port->node];
	uint32_t peer_node = net->ports[net_port->peer].node;
	bool named = net->nodes[peer_node].name != net->nodes[peer_node].id;
	uint16_t far_lid = osr_net_lid(net, net_port->peer);
	bool own = node->type != OSR_NET_SWITCH && net_port->lid;
	unsigned code = 1;

	if (!own && !far_lid && !named && !net_port->vls && !(net_port->speed && net_port->width))
		return;
	fputs("\t\t#", out);
	if (own)
		fprintf(out, " lid %u lmc %u", net_port->lid, net_port->lmc);
	if (own || named || far_lid)
		fprintf(out, " \"%s\"", osr_net_name(net, peer_node));
	fprintf(out, " lid %u", far_lid);
	if (net_port->speed && net_port->width)
		fprintf(out, " %ux%s", net_port->width, osr_speed_name(net_port->speed));
	while (osr_vls_of_code(code) < net_port->vls)
		code++;
	if (net_port->vls)
		fprintf(out, " v=%u", code);
}

/* "(2c902002789ad)" where the reader would not guess it. */
static void write_port_guid(const struct osr_net *net, uint32_t port, FILE *out)
{
	const struct osr_net_port *net_port = &net->ports[port];
	const struct osr_net_node *node = &net->nodes[net_port->node];

	if (node->type == OSR_NET_SWITCH)
		return;
	if (node->guid_from != OSR_NET_GUID_COUNTED ||
	    net_port->guid != node->guid + osr_net_port_num(net, port))
		fprintf(out, "(%" PRIx64 ")", net_port->guid);
}

enum osr_status osr_netfile_write(const struct osr_net *net, const char *comment, FILE *out,
				  struct osr_diag *diag)
{
	/* Behind the line of one node the next one of its type would count on from it. */
	bool with_guid[OSR_NET_N_TYPES] = { false };

	osr_invariant(!net->failed);
	if (comment) {
		for (const char *at = comment; *at;) {
			size_t len = strcspn(at, "\n");

			fprintf(out, len ? "# %.*s\n" : "#%.*s\n", (int)len, at);
			at += len + (at[len] == '\n');
		}
		fputc('\n', out);
	}
	for (uint32_t i = 0; i < net->n_nodes; i++) {
		const struct osr_net_node *node = &net->nodes[i];

		if (i)
			fputc('\n', out);
		with_guid[node->type] |= node->guid_from != OSR_NET_GUID_COUNTED;
		write_ids(node, with_guid[node->type], out);
		write_header(net, i, out);
		for (uint32_t p = node->port_row + 1; p <= node->port_row + node->n_ports; p++) {
			uint32_t peer = net->ports[p].peer;

			if (peer == OSR_NONE)
				continue;
			fprintf(out, "[%" PRIu32 "]", osr_net_port_num(net, p));
			write_port_guid(net, p, out);
			fprintf(out, "\t\"%s\"[%" PRIu32 "]",
				osr_net_id(net, net->ports[peer].node),
				osr_net_port_num(net, peer));
			write_port_guid(net, peer, out);
			write_port_comment(net, p, out);
			fputc('\n', out);
		}
	}
	if (fflush(out) || ferror(out))
		return osr_fail(diag, OSR_INVAL, "cannot write the net file: %s", strerror(errno));
	return OSR_OK;
}
