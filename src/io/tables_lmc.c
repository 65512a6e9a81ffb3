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

struct lid {
	uint64_t guid;
	uint16_t lid;
};

static int by_guid(const void *a, const void *b)
{
	const struct lid *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return (x->lid > y->lid) - (x->lid < y->lid);
}

/* A line's LID and owner; false for any other line. */
static bool take_lid(const char *text, struct lid *l)
{
	const char *guid = strstr(text, " portguid ");
	uint64_t lid;

	if (!guid || text[0] != '0' || !osr_take_0x(&text, OSR_MAX_LID, &lid) || !lid)
		return false;
	guid += strlen(" portguid ");
	l->lid = (uint16_t)lid;
	return osr_take_0x(&guid, UINT64_MAX, &l->guid);
}

/* 2^LMC LIDs without a gap, the first a multiple of their number: what a LID and an LMC can be. */
static void set_lmc(struct osr_net *net, uint32_t port, const struct lid *l, uint32_t n)
{
	struct osr_net_port *p = &net->ports[port];
	uint8_t lmc = (uint8_t)__builtin_ctz(n);

	if (n < 2 || n > 128 || n & (n - 1) || p->lid != l[0].lid || l[0].lid % n ||
	    l[n - 1].lid != l[0].lid + n - 1)
		return;
	p->lmc = lmc;
}

static void set_lmcs(struct osr_net *net, struct lid *l, uint32_t n)
{
	struct lid key = { 0 };

	qsort(l, n, sizeof(*l), by_guid);
	for (uint32_t port = 0; port < net->n_ports; port++) {
		uint32_t low = 0, high = n, end;

		if (net->nodes[net->ports[port].node].type == OSR_NET_SWITCH || !net->ports[port].lid)
			continue;
		key.guid = net->ports[port].guid;
		while (low < high) {
			uint32_t mid = low + (high - low) / 2;

			if (by_guid(&l[mid], &key) < 0)
				low = mid + 1;
			else
				high = mid;
		}
		for (end = low; end < n && l[end].guid == key.guid; end++)
			;
		if (end > low)
			set_lmc(net, port, l + low, end - low);
	}
}

enum osr_status osr_tables_lmcs(struct osr_lines *in, struct osr_net *net, struct osr_diag *diag)
{
	struct lid *l = malloc((OSR_MAX_LID + 1) * sizeof(*l));
	enum osr_status st = OSR_OK;
	uint32_t n = 0, n_heads = 0;
	char *text;

	if (!l)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the LIDs of %s", in->label);
	/* One switch knows all of them; who gave a LID twice is told later, with its line. */
	while (n_heads < 2 && n <= OSR_MAX_LID && osr_lines_next(in, &text, diag, &st)) {
		n_heads += !strncmp(text, "Unicast lids", 12);
		n += take_lid(text, &l[n]);
	}
	if (!st)
		set_lmcs(net, l, n);
	free(l);
	return st;
}

enum osr_status osr_tables_read_lmcs(const char *path, struct osr_net *net, struct osr_diag *diag)
{
	struct osr_lines in;
	enum osr_status st = osr_lines_open(&in, path, diag);

	if (st)
		return st;
	st = osr_tables_lmcs(&in, net, diag);
	osr_lines_close(&in);
	return st;
}
