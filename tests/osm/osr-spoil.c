/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-spoil: changes one entry of a switch behind the subnet manager's back, by a management packet.
 *
 *	osr-spoil GUID lft LID PORT		forwarding table
 *	osr-spoil GUID sl2vl IN OUT SL VL	SL2VL table of a pair of ports
 *	osr-spoil GUID mft MLID PORT		multicast table: the other value of this port's bit
 *	osr-spoil GUID[,GUID...] reset		all of these tables as after power-on
 *	osr-spoil GUID[,GUID...] foreign SEED	as another SM might have left them
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/ibnetdisc.h>
#include <infiniband/mad.h>

#define SPARSE 24 /* one SL2VL table in so many is another SM's */

struct block {
	unsigned attr;
	uint32_t mod;
	uint8_t data[IB_SMP_DATA_SIZE];
};

static int fail(const char *what)
{
	fprintf(stderr, "osr-spoil: %s\n", what);
	return 2;
}

static unsigned number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 0);
}

/* Where the entry is. */
static int find(struct block *b, int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "";

	memset(b, 0, sizeof(*b));
	if (!strcmp(kind, "lft") && argc == 5) {
		b->attr = IB_ATTR_LINEARFORWTBL;
		b->mod = number(argv[3]) / 64;
	} else if (!strcmp(kind, "sl2vl") && argc == 7) {
		b->attr = IB_ATTR_SLVL_TABLE;
		b->mod = number(argv[3]) << 8 | number(argv[4]);
	} else if (!strcmp(kind, "mft") && argc == 5) {
		b->attr = IB_ATTR_MULTICASTFORWTBL;
		b->mod = (number(argv[4]) / 16) << 28 | (number(argv[3]) - 0xc000) / 32;
	} else {
		return fail("expected GUID lft LID PORT, sl2vl IN OUT SL VL or mft MLID PORT");
	}
	return 0;
}

static void change(struct block *b, char **argv)
{
	unsigned x = number(argv[3]), y = number(argv[4]);

	if (b->attr == IB_ATTR_LINEARFORWTBL) {
		b->data[x % 64] = (uint8_t)y;
	} else if (b->attr == IB_ATTR_SLVL_TABLE) {
		unsigned sl = number(argv[5]), vl = number(argv[6]);
		uint8_t *at = &b->data[sl / 2];

		*at = sl & 1 ? (*at & 0xf0) | vl : (*at & 0x0f) | vl << 4;
	} else {
		uint8_t *at = &b->data[(x - 0xc000) % 32 * 2];

		at[y % 16 / 8 ? 0 : 1] ^= 1 << y % 8;
	}
}

static void fill(struct block *b, unsigned attr, uint32_t mod, bool foreign)
{
	b->attr = attr;
	b->mod = mod;
	memset(b->data, attr == IB_ATTR_LINEARFORWTBL ? 0xff : 0, sizeof(b->data));
	for (unsigned i = 0; i < 8 && attr == IB_ATTR_SLVL_TABLE; i++)
		b->data[i] = (uint8_t)(foreign ? 0x11u * ((unsigned)rand() % 3) : 0x22 * i + 1);
	for (unsigned i = 0; i < 8 && attr == IB_ATTR_MULTICASTFORWTBL && foreign; i++)
		b->data[i] = (uint8_t)(rand() & rand());
}

/*
 * All tables of one switch. Of another SM, only a few SL2VL tables differ, so that reading a part of them back does
 * not find them at once; and no LFT does, for OpenSM compares these itself.
 */
static int rewrite(ibnd_node_t *node, struct ibmad_port *port, bool foreign)
{
	unsigned n = (unsigned)node->numports, top;
	struct block b;
	ib_portid_t at = node->path_portid;
	bool good = true;

	top = mad_get_field(node->switchinfo, 0, IB_SW_LINEAR_FDB_TOP_F);
	for (unsigned in = 0; in <= n; in++)
		for (unsigned out = 0; out <= n; out++) {
			if (foreign && rand() % SPARSE)
				continue;
			fill(&b, IB_ATTR_SLVL_TABLE, in << 8 | out, foreign);
			good &= smp_set_via(b.data, &at, b.attr, b.mod, 0, port) != NULL;
		}
	for (unsigned i = 0; i <= n / 16; i++) {
		fill(&b, IB_ATTR_MULTICASTFORWTBL, i << 28, foreign);
		good &= smp_set_via(b.data, &at, b.attr, b.mod, 0, port) != NULL;
	}
	for (unsigned i = 0; i <= top / 64 && !foreign; i++) {
		fill(&b, IB_ATTR_LINEARFORWTBL, i, foreign);
		good &= smp_set_via(b.data, &at, b.attr, b.mod, 0, port) != NULL;
	}
	return good ? 0 : fail("a table cannot be written");
}

static int rewrite_all(ibnd_fabric_t *fabric, struct ibmad_port *port, char **argv)
{
	bool foreign = !strcmp(argv[2], "foreign");
	int st = 0;

	srand(foreign && argv[3] ? number(argv[3]) : 1);
	for (char *guid = strtok(argv[1], ","); guid && !st; guid = strtok(NULL, ",")) {
		ibnd_node_t *node = ibnd_find_node_guid(fabric, strtoull(guid, NULL, 0));

		st = node ? rewrite(node, port, foreign) : fail("no such node");
	}
	return st;
}

int main(int argc, char **argv)
{
	int classes[] = { IB_SMI_DIRECT_CLASS, IB_SMI_CLASS };
	struct ibnd_config config = { 0 };
	struct ibmad_port *port;
	ibnd_fabric_t *fabric;
	ibnd_node_t *node;
	struct block b;

	bool all = argc > 2 && (!strcmp(argv[2], "reset") || !strcmp(argv[2], "foreign"));

	if (!all && find(&b, argc, argv))
		return 2;
	fabric = ibnd_discover_fabric(NULL, 0, NULL, &config);
	port = mad_rpc_open_port(NULL, 0, classes, 2);
	if (!fabric || !port)
		return fail("no fabric, or no port");
	if (all)
		return rewrite_all(fabric, port, argv);
	node = ibnd_find_node_guid(fabric, strtoull(argv[1], NULL, 0));
	if (!node)
		return fail("no such node");
	mad_rpc_set_timeout(port, 10000);
	if (!smp_query_via(b.data, &node->path_portid, b.attr, b.mod, 0, port))
		return fail("the table cannot be read");
	change(&b, argv);
	if (!smp_set_via(b.data, &node->path_portid, b.attr, b.mod, 0, port))
		return fail("the table cannot be written");
	mad_rpc_close_port(port);
	ibnd_destroy_fabric(fabric);
	return 0;
}
