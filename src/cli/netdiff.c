/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/netdiff.h"

#include <stdlib.h>

#include "cli/source.h"

enum { OLD, NEW };

const struct out_field cli_node_change_fields[] = {
	{ "kind", "kind", OUT_TEXT },      { "type", "type", OUT_TEXT },
	{ "guid", "node GUID", OUT_GUID }, { "cables", "cables", OUT_COUNT },
	{ "name", "name", OUT_TEXT },      { 0 },
};

const struct out_field cli_cable_change_fields[] = {
	{ "kind", "kind", OUT_TEXT },
	CLI_CABLE_FIELDS,
	{ "now", "now", OUT_TEXT },
	{ 0 },
};

struct pair {
	const struct osr_net *net[2];
	struct osr_keyed *node[2]; /* [n_nodes] by GUID */
	struct out *out;
	struct cli_net_changes *changes;
};

static uint32_t find_key(const struct osr_keyed *list, uint32_t n, uint64_t key)
{
	uint32_t at = osr_keyed_at(list, n, key);

	return at < n && list[at].key == key ? list[at].index : OSR_NONE;
}

/* The node of the other fabric that this node of fabric `g` is; OSR_NONE: it is not there. */
static uint32_t twin_node(const struct pair *pair, unsigned g, uint32_t node)
{
	const struct osr_net *other = pair->net[1 - g];

	return find_key(pair->node[1 - g], other->n_nodes, pair->net[g]->nodes[node].guid);
}

static uint32_t twin_port(const struct pair *pair, unsigned g, uint32_t port)
{
	const struct osr_net *own = pair->net[g];
	uint32_t node = twin_node(pair, g, own->ports[port].node);

	return node == OSR_NONE ? OSR_NONE
				: osr_net_port(pair->net[1 - g], node, osr_net_port_num(own, port));
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void say_nodes(struct pair *pair, unsigned g)
{
	static const char *const types[] = {
		[OSR_NET_CA] = "host", [OSR_NET_SWITCH] = "switch", [OSR_NET_ROUTER] = "router"
	};
	const struct osr_net *own = pair->net[g];

	for (uint32_t i = 0; i < own->n_nodes; i++) {
		const struct osr_net_node *node = &own->nodes[i];
		uint32_t cables = 0;

		if (twin_node(pair, g, i) != OSR_NONE)
			continue;
		for (uint32_t p = node->port_row; p <= node->port_row + node->n_ports; p++)
			cables += own->ports[p].peer != OSR_NONE;
		OUT_ADD(pair->out, "nodes", g == OLD ? "missing" : "new", types[node->type],
			node->guid, cables, osr_net_shown(own, i));
		pair->changes->n++;
	}
}

/* LIDs that belong to other port GUIDs than before, and end ports with another LID. */
static void count_ends(const struct pair *pair, struct cli_net_changes *changes)
{
	const struct osr_net *old = pair->net[OLD], *new = pair->net[NEW];
	uint32_t *had = calloc(OSR_MAX_LID + 1, sizeof(*had));

	/* Without memory the cables are told nevertheless. */
	for (uint32_t p = 0; had && p < old->n_ports; p++)
		if (old->ports[p].lid <= OSR_MAX_LID)
			had[old->ports[p].lid] = p + 1;
	for (uint32_t p = 0; had && p < new->n_ports; p++) {
		uint16_t lid = new->ports[p].lid;
		uint32_t twin = lid ? twin_port(pair, NEW, p) : OSR_NONE;

		if (!lid || lid > OSR_MAX_LID)
			continue;
		changes->ports_renamed +=
			twin != OSR_NONE && old->ports[twin].lid && old->ports[twin].lid != lid;
		changes->lids += had[lid] != 0;
		changes->lids_moved +=
			had[lid] && old->ports[had[lid] - 1].guid != new->ports[p].guid;
	}
	free(had);
}

/* ---- cables --------------------------------------------------------------------------------- */

/*
 * A cable of fabric `g` that the other one does not have, unless one of its nodes is said to be
 * missing or new.
 */
static void say_cable(struct pair *pair, unsigned g, uint32_t port)
{
	const struct osr_net *own = pair->net[g], *other = pair->net[1 - g];
	uint32_t peer = own->ports[port].peer, moved = OSR_NONE, end[2];

	end[0] = twin_port(pair, g, port);
	end[1] = twin_port(pair, g, peer);
	if (end[0] == OSR_NONE || end[1] == OSR_NONE || other->ports[end[0]].peer == end[1])
		return;
	for (unsigned i = 0; i < 2 && moved == OSR_NONE; i++)
		if (other->ports[end[i]].peer != OSR_NONE)
			moved = end[i];
	/* The old cable at this end has said already that it is plugged in elsewhere. */
	if (g == NEW && moved != OSR_NONE)
		return;
	OUT_ADD(pair->out, "cables", g == NEW ? "new" : moved != OSR_NONE ? "moved" : "missing");
	cli_say_cable(pair->out, osr_net_shown(own, own->ports[port].node),
		      osr_net_port_num(own, port), osr_net_shown(own, own->ports[peer].node),
		      osr_net_port_num(own, peer));
	pair->changes->n++;
	if (moved == OSR_NONE)
		return;
	peer = other->ports[moved].peer;
	out_textf(pair->out, "now", "%s:%u - %s:%u", osr_net_shown(other, other->ports[moved].node),
		  osr_net_port_num(other, moved), osr_net_shown(other, other->ports[peer].node),
		  osr_net_port_num(other, peer));
}

enum osr_status cli_net_diff(const struct osr_net *old, const struct osr_net *new, struct out *out,
			     struct cli_net_changes *changes, struct osr_diag *diag)
{
	struct pair pair = { .net = { old, new }, .out = out, .changes = changes };
	bool good = true;

	*changes = (struct cli_net_changes){ 0 };
	for (unsigned g = OLD; g <= NEW; g++) {
		pair.node[g] = osr_net_by_guid(pair.net[g]);
		good &= pair.node[g] != NULL;
	}
	for (unsigned g = OLD; g <= NEW && good; g++) {
		say_nodes(&pair, g);
		for (uint32_t port = 0; port < pair.net[g]->n_ports; port++)
			if (pair.net[g]->ports[port].peer != OSR_NONE &&
			    pair.net[g]->ports[port].peer >= port)
				say_cable(&pair, g, port);
	}
	/* Of LIDs that no file says nothing has changed. */
	if (good && !old->n_lids_new && !new->n_lids_new)
		count_ends(&pair, changes);
	changes->n += changes->lids_moved + changes->ports_renamed;
	if (changes->lids_moved)
		out_head(out,
			 "%llu of %llu LIDs belong to other port GUIDs than before: what is "
			 "compared by LID below has other ends",
			 (unsigned long long)changes->lids_moved,
			 (unsigned long long)changes->lids);
	if (changes->ports_renamed)
		out_head(out, "%llu end ports have another LID than before",
			 (unsigned long long)changes->ports_renamed);
	for (unsigned g = OLD; g <= NEW; g++) {
		free(pair.node[g]);
	}
	return good ? OSR_OK : osr_fail(diag, OSR_NOMEM, "out of memory for the cables");
}
