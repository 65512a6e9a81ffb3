/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-spoil: changes one entry of a switch behind the subnet manager's back, by a management packet.
 *
 *	osr-spoil GUID lft LID PORT		forwarding table
 *	osr-spoil GUID sl2vl IN OUT SL VL	SL2VL table of a pair of ports
 *	osr-spoil GUID mft MLID PORT		multicast table: the other value of this port's bit
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/ibnetdisc.h>
#include <infiniband/mad.h>

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

int main(int argc, char **argv)
{
	int classes[] = { IB_SMI_DIRECT_CLASS, IB_SMI_CLASS };
	struct ibnd_config config = { 0 };
	struct ibmad_port *port;
	ibnd_fabric_t *fabric;
	ibnd_node_t *node;
	struct block b;

	if (find(&b, argc, argv))
		return 2;
	fabric = ibnd_discover_fabric(NULL, 0, NULL, &config);
	node = fabric ? ibnd_find_node_guid(fabric, strtoull(argv[1], NULL, 0)) : NULL;
	if (!node)
		return fail("no such node");
	port = mad_rpc_open_port(NULL, 0, classes, 2);
	if (!port)
		return fail("no port");
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
