/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * LMCs, which an opensm-subnet.lst does not say, out of an opensm-lfts.dump, which says whose each LID is:
 *
 *	0x0004 003 # Channel Adapter portguid 0x0000000000100001: 'h0000'
 *	0x0005 003 # Channel Adapter portguid 0x0000000000100001: 'h0000'
 */
#include "io/tables_private.h"

#include <stdlib.h>
#include <string.h>

/* A line's LID and owner; false for any other line. */
static bool take_lid(const char *text, struct osr_keyed *l)
{
	const char *guid = strstr(text, " portguid ");
	uint64_t lid;

	if (!guid || text[0] != '0' || !osr_take_0x(&text, OSR_MAX_LID, &lid) || !lid)
		return false;
	guid += strlen(" portguid ");
	l->index = (uint32_t)lid;
	return osr_take_0x(&guid, UINT64_MAX, &l->key);
}

/* 2^LMC LIDs from a multiple of their number on: what a LID and an LMC can be. */
static bool can_be_lmc(uint32_t lid, uint8_t lmc, uint32_t last)
{
	return lmc <= 7 && lid % (1u << lmc) == 0 && last < lid + (1u << lmc);
}

/* The least LMC with which the port has all the LIDs that it has entries for; some may lack one. */
static uint8_t least_lmc(uint16_t lid, const struct osr_keyed *l, uint32_t first, uint32_t end)
{
	uint8_t lmc = 0;

	if (first == end || l[first].index < lid)
		return 0;
	while (lmc < 7 && l[end - 1].index >= lid + (1u << lmc))
		lmc++;
	return can_be_lmc(lid, lmc, l[end - 1].index) ? lmc : 0;
}

/* Has nobody else an entry for a LID of this range? */
static bool range_is_free(const uint64_t *owner, uint64_t guid, uint16_t lid, uint8_t lmc)
{
	for (uint32_t i = lid; i < lid + (1u << lmc); i++)
		if (i > OSR_MAX_LID || (owner[i] && owner[i] != guid))
			return false;
	return true;
}

static bool tables_lmc_is_end_port(const struct osr_net *net, uint32_t port)
{
	return net->nodes[net->ports[port].node].type != OSR_NET_SWITCH && net->ports[port].lid;
}

enum osr_status osr_tables_lmcs(struct osr_lines *in, struct osr_net *net)
{
	struct osr_keyed *l = malloc((OSR_MAX_LID + 1) * sizeof(*l));
	uint64_t *owner = calloc(OSR_MAX_LID + 1, sizeof(*owner)); /* GUIDs by LID */
	enum osr_status st = OSR_OK;
	uint32_t n = 0, n_heads = 0;
	char *text;

	if (!l || !owner)
		st = osr_lines_nomem(in);
	/* One switch knows all of them; a LID that was given twice is reported later, with its line. */
	while (n_heads < 2 && n <= OSR_MAX_LID && osr_lines_next(in, &text, &st)) {
		n_heads += !strncmp(text, "Unicast lids", 12);
		n += take_lid(text, &l[n]);
	}
	if (!st) {
		uint32_t n_with[8] = { 0 }, first, end;
		uint8_t usual = 0;

		/*
		 * A LID may lack its entries on all switches, which must not make it nobody's LID:
		 * a port has at least the LMC that most have, if the LIDs are there to be had.
		 */
		osr_keyed_sort(l, n);
		for (uint32_t i = 0; i < n; i++)
			owner[l[i].index] = l[i].key;
		for (uint32_t port = 0; port < net->n_ports; port++) {
			struct osr_net_port *net_port = &net->ports[port];

			if (!tables_lmc_is_end_port(net, port))
				continue;
			for (end = first = osr_keyed_at(l, n, net_port->guid);
			     end < n && l[end].key == net_port->guid;)
				end++;
			if (end > first)
				net_port->lmc = least_lmc(net_port->lid, l, first, end);
			n_with[net_port->lmc & 7]++;
		}
		for (uint8_t lmc = 1; lmc <= 7; lmc++)
			usual = n_with[lmc] > n_with[usual] ? lmc : usual;
		for (uint32_t port = 0; port < net->n_ports; port++) {
			struct osr_net_port *net_port = &net->ports[port];

			if (tables_lmc_is_end_port(net, port) && net_port->lmc < usual &&
			    can_be_lmc(net_port->lid, usual, net_port->lid) &&
			    range_is_free(owner, net_port->guid, net_port->lid, usual))
				net_port->lmc = usual;
		}
	}
	free(l);
	free(owner);
	osr_lines_close(in);
	return st;
}
