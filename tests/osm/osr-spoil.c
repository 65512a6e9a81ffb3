/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-spoil: changes one entry of a switch behind the subnet manager's back, by a management
 * packet.
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

static struct ibmad_port *port;

static int fail(const char *what)
{
	fprintf(stderr, "osr-spoil: %s\n", what);
	return 2;
}

static unsigned number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 0);
}

static int put(const ibnd_node_t *node, unsigned attr, uint32_t mod, const uint8_t *data)
{
	uint8_t sent[IB_SMP_DATA_SIZE]; /* and the answer */
	ib_portid_t at = node->path_portid;

	memcpy(sent, data, sizeof(sent));
	return smp_set_via(sent, &at, attr, mod, 0, port) ? 0 : fail("a table cannot be written");
}

/* One entry: its block is read, changed and written. */
static int change(ibnd_node_t *node, int argc, char **argv)
{
	unsigned x = argc > 3 ? number(argv[3]) : 0, y = argc > 4 ? number(argv[4]) : 0, attr;
	uint8_t data[IB_SMP_DATA_SIZE] = { 0 }, *at;
	uint32_t mod;

	if (!strcmp(argv[2], "lft") && argc == 5) {
		attr = IB_ATTR_LINEARFORWTBL;
		mod = x / 64;
	} else if (!strcmp(argv[2], "sl2vl") && argc == 7) {
		attr = IB_ATTR_SLVL_TABLE;
		mod = x << 8 | y;
	} else if (!strcmp(argv[2], "mft") && argc == 5) {
		attr = IB_ATTR_MULTICASTFORWTBL;
		mod = (y / 16) << 28 | (x - 0xc000) / 32;
	} else {
		return fail("expected GUID lft LID PORT, sl2vl IN OUT SL VL or mft MLID PORT");
	}
	if (!smp_query_via(data, &node->path_portid, attr, mod, 0, port))
		return fail("the table cannot be read");
	if (attr == IB_ATTR_LINEARFORWTBL) {
		data[x % 64] = (uint8_t)y;
	} else if (attr == IB_ATTR_SLVL_TABLE) {
		unsigned sl = number(argv[5]), vl = number(argv[6]);

		at = &data[sl / 2];
		*at = sl & 1 ? (*at & 0xf0) | vl : (*at & 0x0f) | vl << 4;
	} else {
		at = &data[(x - 0xc000) % 32 * 2];
		at[y % 16 / 8 ? 0 : 1] ^= 1 << y % 8;
	}
	return put(node, attr, mod, data);
}

/*
 * All tables of one switch. Of another SM, only a few SL2VL tables differ, so that reading a part
 * of them back does not find them at once; and no LFT does, for OpenSM compares these itself.
 */
static int rewrite(const ibnd_node_t *node, bool foreign)
{
	uint32_t n = (uint32_t)node->numports, top;
	uint8_t data[IB_SMP_DATA_SIZE] = { 0 };
	int st = 0;

	top = mad_get_field((void *)node->switchinfo, 0, IB_SW_LINEAR_FDB_TOP_F);
	for (uint32_t pair = 0; pair < (n + 1) * (n + 1); pair++) {
		if (foreign && rand() % SPARSE)
			continue;
		for (unsigned i = 0; i < 8; i++)
			data[i] =
				(uint8_t)(foreign ? 0x11u * ((unsigned)rand() % 3) : 0x22 * i + 1);
		st |= put(node, IB_ATTR_SLVL_TABLE, pair / (n + 1) << 8 | pair % (n + 1), data);
	}
	for (uint32_t i = 0; i <= n / 16; i++) {
		for (unsigned k = 0; k < 8; k++)
			data[k] = foreign ? (uint8_t)(rand() & rand()) : 0;
		st |= put(node, IB_ATTR_MULTICASTFORWTBL, i << 28, data);
	}
	memset(data, 0xff, sizeof(data));
	for (uint32_t i = 0; i <= top / 64 && !foreign; i++)
		st |= put(node, IB_ATTR_LINEARFORWTBL, i, data);
	return st;
}

int main(int argc, char **argv)
{
	int classes[] = { IB_SMI_DIRECT_CLASS, IB_SMI_CLASS }, st = 0;
	const char *what = argc > 2 ? argv[2] : "";
	struct ibnd_config config = { 0 };
	bool foreign = !strcmp(what, "foreign");
	ibnd_fabric_t *fabric;

	if (argc < 3)
		return fail("expected GUID[,GUID...] and what to change");
	fabric = ibnd_discover_fabric(NULL, 0, NULL, &config);
	port = mad_rpc_open_port(NULL, 0, classes, 2);
	if (!fabric || !port)
		return fail("no fabric, or no port");
	mad_rpc_set_timeout(port, 10000);
	srand(foreign && argc > 3 ? number(argv[3]) : 1);
	for (char *guid = strtok(argv[1], ","); guid && !st; guid = strtok(NULL, ",")) {
		ibnd_node_t *node = ibnd_find_node_guid(fabric, strtoull(guid, NULL, 0));

		if (!node)
			return fail("no such node");
		st = foreign || !strcmp(what, "reset") ? rewrite(node, foreign)
						       : change(node, argc, argv);
	}
	mad_rpc_close_port(port);
	ibnd_destroy_fabric(fabric);
	return st;
}
