/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* struct osr_net: LIDs as OpenSM gives them, the way to a fabric, the OpenSM dumps. */
#include "test.h"
#include <unistd.h>

#include "io/osmdump.h"

/* Two switches, two cables between them, hosts h0 and h1 on the first, h2 (two ports) on both. */
static void small_net(struct osr_net *net)
{
	uint32_t a, b, h;

	*net = (struct osr_net){ 0 };
	a = osr_net_switch(net, 8, "a");
	b = osr_net_switch(net, 8, "b");
	osr_net_cable(net, osr_net_port(net, a, 7), osr_net_port(net, b, 7), 4, OSR_SPEED_QDR);
	osr_net_cable(net, osr_net_port(net, b, 8), osr_net_port(net, a, 8), 4, OSR_SPEED_EDR);
	h = osr_net_ca(net, 1, "h0");
	osr_net_cable(net, osr_net_port(net, a, 1), osr_net_port(net, h, 1), 0, 0);
	h = osr_net_ca(net, 1, "h1");
	osr_net_cable(net, osr_net_port(net, a, 2), osr_net_port(net, h, 1), 0, 0);
	h = osr_net_ca(net, 2, "h2");
	osr_net_cable(net, osr_net_port(net, a, 3), osr_net_port(net, h, 1), 0, 0);
	osr_net_cable(net, osr_net_port(net, b, 3), osr_net_port(net, h, 2), 0, 0);
	assert_int_equal(osr_net_status(net, NULL), OSR_OK);
}

static uint16_t lid_of(const struct osr_net *net, uint32_t node, uint32_t port)
{
	return net->ports[osr_net_port(net, node, port)].lid;
}

enum { A, B, H0, H1, H2 };

/*
 * GUIDs: a 200000, b 200001, h0 100001, h1 100003, h2 100005 and 100006. The manager's own port
 * (a) first, then by the last byte of the GUID: 100001 200001 100003 100005 100006. This is what
 * opensm 3.3.23 gave this fabric under ibsim.
 */
static void test_lids(void **state)
{
	struct osr_net net;

	small_net(&net);
	assert_int_equal(osr_net_assign_lids(&net, -1, NULL), OSR_OK);
	assert_int_equal(lid_of(&net, A, 0), 1);
	assert_int_equal(lid_of(&net, H0, 1), 2);
	assert_int_equal(lid_of(&net, B, 0), 3);
	assert_int_equal(lid_of(&net, H1, 1), 4);
	assert_int_equal(lid_of(&net, H2, 1), 5);
	assert_int_equal(lid_of(&net, H2, 2), 6);

	/* A second time nothing changes; a free LID is found for one that is missing. */
	net.ports[osr_net_port(&net, H1, 1)].lid = 0;
	net.ports[osr_net_port(&net, H0, 1)].lid = 9;
	assert_int_equal(osr_net_assign_lids(&net, -1, NULL), OSR_OK);
	assert_int_equal(lid_of(&net, H1, 1), 2);
	assert_int_equal(lid_of(&net, H0, 1), 9);
	assert_int_equal(lid_of(&net, H2, 2), 6);

	/* LMC 2: hosts get aligned fours, switches one LID. */
	assert_int_equal(osr_net_assign_lids(&net, 2, NULL), OSR_OK);
	assert_int_equal(lid_of(&net, A, 0), 1);
	assert_int_equal(lid_of(&net, H0, 1), 4);
	assert_int_equal(lid_of(&net, B, 0), 8);
	assert_int_equal(lid_of(&net, H1, 1), 12);
	assert_int_equal(net.ports[osr_net_port(&net, H1, 1)].lmc, 2);
	assert_int_equal(net.ports[osr_net_port(&net, B, 0)].lmc, 0);
	osr_net_free(&net);
}

static void test_lids_run_out(void **state)
{
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };

	for (uint32_t s = 0; s < 200; s++) {
		char name[16];

		snprintf(name, sizeof(name), "s%u", s);
		osr_net_switch(&net, 3, name);
		snprintf(name, sizeof(name), "h%u", s);
		osr_net_ca(&net, 2, name);
		osr_net_cable(&net, osr_net_port(&net, 2 * s, 1), osr_net_port(&net, 2 * s + 1, 1),
			      0, 0);
		osr_net_cable(&net, osr_net_port(&net, 2 * s, 2), osr_net_port(&net, 2 * s + 1, 2),
			      0, 0);
	}
	/* 400 ports with 128 LIDs each are 51,200. */
	assert_int_equal(osr_net_assign_lids(&net, 7, &diag), OSR_INVAL);
	assert_non_null(strstr(diag.text, "no LIDs left at h"));
	assert_int_equal(osr_net_assign_lids(&net, 6, &diag), OSR_OK);
	assert_int_equal(osr_net_assign_lids(&net, 8, &diag), OSR_INVAL);
	assert_string_equal(diag.text, "LMC 8: 0 to 7 are possible");
	osr_net_free(&net);
}

static void test_fabric(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_fabric f;
	struct osr_net net;

	small_net(&net);
	net.nodes[B].enhanced_sp0 = true;
	assert_int_equal(osr_net_fabric(&net, -1, &arena, &f, NULL), OSR_OK);
	assert_int_equal(f.n_switches, 2);
	assert_int_equal(f.n_channels, 4);
	assert_int_equal(f.n_terminals, 6);
	assert_int_equal(f.max_lid, 6);
	assert_int_equal(f.sw_flags[0], OSR_SW_SL2VL);
	assert_int_equal(f.sw_flags[1], OSR_SW_SL2VL | OSR_SW_ENHANCED_SP0);
	assert_int_equal(f.chan_rate[osr_port_channel(&f, 0, 7)], 32);
	assert_int_equal(f.chan_rate[osr_port_channel(&f, 1, 8)], 100);
	assert_int_equal(f.term_role[f.term_row[0]], OSR_ROLE_SP0);
	assert_int_equal(f.dest_switch[f.lid_dest[6]], 1);
	assert_int_equal(f.term_guid[f.dest_term[f.lid_dest[6]]], 0x100006);
	osr_arena_free(&arena);
	osr_net_free(&net);
}

/* Cables that a fabric does not know: a switch to itself, between CAs, into the void. */
static void test_odd_cables(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_net_counts n;
	struct osr_fabric f;
	struct osr_net net;

	small_net(&net);
	osr_net_cable(&net, osr_net_port(&net, A, 4), osr_net_port(&net, A, 5), 0, 0);
	osr_net_cable(&net, osr_net_port(&net, B, 4), osr_net_port(&net, B, 4), 0, 0);
	osr_net_ca(&net, 1, "x");
	osr_net_ca(&net, 1, "y");
	osr_net_cable(&net, osr_net_port(&net, 5, 1), osr_net_port(&net, 6, 1), 0, 0);
	n = osr_net_count(&net);
	assert_int_equal(n.cables, 9);
	assert_int_equal(n.switch_cables, 2);
	assert_int_equal(osr_net_fabric(&net, -1, &arena, &f, NULL), OSR_OK);
	assert_int_equal(f.n_channels, 4);
	assert_int_equal(f.n_terminals, 6);
	osr_arena_free(&arena);

	/* Re-plugging a port frees what it was cabled to. */
	osr_net_cable(&net, osr_net_port(&net, A, 7), osr_net_port(&net, B, 6), 0, 0);
	assert_int_equal(net.ports[osr_net_port(&net, B, 7)].peer, OSR_NONE);
	assert_int_equal(osr_net_count(&net).cables, 9);
	osr_net_free(&net);
}

static void test_misuse(void **state)
{
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };
	struct osr_net many = { 0 };

	assert_int_equal(osr_net_switch(&net, 255, "big"), OSR_NONE);
	assert_int_equal(osr_net_status(&net, &diag), OSR_INVAL);
	assert_int_equal(osr_net_switch(&net, 8, "later"), OSR_NONE);
	osr_net_cable(&net, 0, 1, 0, 0);
	assert_int_equal(net.n_nodes, 0);
	osr_net_free(&net);

	osr_net_switch(&many, 8, "a");
	osr_net_cable(&many, 0, 100, 0, 0);
	assert_int_equal(osr_net_status(&many, &diag), OSR_BUG);
	osr_net_free(&many);
}

/* ---- dumps ---------------------------------------------------------------------------------- */

static char *slurp(const char *dir, const char *name)
{
	char path[256], *text = NULL;
	size_t size = 0;
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_true(getdelim(&text, &size, '\0', in) >= 0 || feof(in));
	fclose(in);
	unlink(path);
	return text;
}

static void has(const char *dir, const char *name, const char *const *lines)
{
	char *text = slurp(dir, name);

	for (; *lines; lines++)
		if (!strstr(text, *lines))
			fail_msg("%s lacks: %s\nit is\n%s", name, *lines, text);
	free(text);
}

/* All of small_net() by hand: between a and b over port 7, but LID 6 over port 8. */
static void hand_route(const struct osr_fabric *f, struct osr_routing *r, struct osr_arena *arena)
{
	assert_int_equal(osr_routing_init(r, f, arena, NULL), OSR_OK);
	for (uint32_t d = 0; d < f->n_dests; d++) {
		uint32_t s = f->dest_switch[d];

		r->lft[d * 2 + s] = f->term_port[f->dest_term[d]];
		r->lft[d * 2 + 1 - s] = f->dest_lid[d] == 6 ? 8 : 7;
	}
	/* Nobody knows the way from b to h1 (LID 4). */
	r->lft[f->lid_dest[4] * 2 + 1] = OSR_NO_PATH;
	r->n_vls = 1;
}

static void test_dumps(void **state)
{
	char dir[] = "/tmp/osr-test-XXXXXX";
	struct osr_arena arena = { 0 };
	struct osr_routing r = { 0 };
	struct osr_fabric f;
	struct osr_net net;
	char *text;

	assert_non_null(mkdtemp(dir));
	small_net(&net);
	assert_int_equal(osr_net_fabric(&net, -1, &arena, &f, NULL), OSR_OK);
	hand_route(&f, &r, &arena);
	assert_int_equal(
		osr_osmdump_write(&(struct osr_osmdump){ dir, 8, true }, &net, &f, &r, NULL),
		OSR_OK);
	has(dir, "opensm-lfts.dump",
	    (const char *[]){ "Unicast lids [0-6] of switch Lid 1 guid 0x0000000000200000 ('a'):\n"
			      "0x0001 000 # Switch portguid 0x0000000000200000: 'a'\n"
			      "0x0002 001 # Channel Adapter portguid 0x0000000000100001: 'h0'\n"
			      "0x0003 007 # Switch portguid 0x0000000000200001: 'b'\n",
			      "0x0006 008 # Channel Adapter portguid 0x0000000000100006: 'h2'\n6 "
			      "lids dumped\n",
			      "0x0003 000 # Switch portguid 0x0000000000200001: 'b'\n0x0005 007",
			      NULL });
	has(dir, "opensm.fdbs",
	    (const char *[]){ "dump_ucast_routes: Switch 0x0000000000200000\n"
			      "LID    : Port : Hops : Optimal\n"
			      "0x0001 : 000  : 00   : yes\n0x0002 : 001  : 01   : yes\n"
			      "0x0003 : 007  : 01   : yes\n",
			      "0x0006 : 008  : 02   : yes\n", "0x0004 : UNREACHABLE\n", NULL });
	has(dir, "opensm-sl2vl.dump",
	    (const char *[]){ "Switch 0x0000000000200000, base LID 1, \"a\"\n#in out :",
			      "8   7   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7 \n",
			      "Channel Adapter 0x0000000000100006, base LID 6, \"h2\"\n",
			      "0   0   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7 \n",
			      NULL });
	has(dir, "opensm-subnet.lst",
	    (const char *[]){
		    "{ SW-SM Ports:08 SystemGUID:0000000000200000 NodeGUID:0000000000200000 "
		    "PortGUID:0000000000200000 VenID:000000 DevID:0000 Rev:000000A1 {a} "
		    "LID:0001 PN:08 } { SW Ports:08 ",
		    "{b} LID:0003 PN:08 } PHY=4x LOG=ACT SPD=25\n", "{h2} LID:0006 PN:02 } { SW ",
		    NULL });
	has(dir, "opensm-path-sl.dump",
	    (const char *[]){
		    "Channel Adapter 0x0000000000100001, base LID 2, \"h0\"\n0x0001 : 0\n", NULL });
	text = slurp(dir, "opensm.mcfdbs");
	free(text);
	assert_int_equal(rmdir(dir), 0);
	osr_arena_free(&arena);
	osr_net_free(&net);
}

/* A table that goes round in circles is dumped without going along. */
static void test_dump_of_a_loop(void **state)
{
	char dir[] = "/tmp/osr-test-XXXXXX";
	struct osr_arena arena = { 0 };
	struct osr_routing r = { 0 };
	struct osr_diag diag = { "" };
	struct osr_fabric f;
	struct osr_net net;

	assert_non_null(mkdtemp(dir));
	small_net(&net);
	assert_int_equal(osr_net_fabric(&net, -1, &arena, &f, NULL), OSR_OK);
	hand_route(&f, &r, &arena);
	/* LID 5 hangs on a; let both send it to each other. */
	r.lft[f.lid_dest[5] * 2] = 7;
	r.lft[f.lid_dest[2] * 2] = 99;
	assert_int_equal(
		osr_osmdump_write(&(struct osr_osmdump){ dir, 8, false }, &net, &f, &r, NULL),
		OSR_OK);
	has(dir, "opensm.fdbs", (const char *[]){ "0x0005 : 007", NULL });
	free(slurp(dir, "opensm-lfts.dump"));
	free(slurp(dir, "opensm-sl2vl.dump"));
	free(slurp(dir, "opensm-subnet.lst"));
	free(slurp(dir, "opensm.mcfdbs"));
	has(dir, "opensm-path-sl.dump",
	    (const char *[]){ "Senders on switch 0x0000000000200000 \"a\"\n0x0001 : 00", NULL });
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(
		osr_osmdump_write(&(struct osr_osmdump){ dir, 8, false }, &net, &f, &r, &diag),
		OSR_INVAL);
	assert_non_null(strstr(diag.text, "opensm-lfts.dump: No such file or directory"));
	osr_arena_free(&arena);
	osr_net_free(&net);
}

static void test_default_vl(void **state)
{
	assert_int_equal(osr_osmdump_default_vl(0, 15), 0);
	assert_int_equal(osr_osmdump_default_vl(14, 15), 14);
	assert_int_equal(osr_osmdump_default_vl(15, 15), 7);
	assert_int_equal(osr_osmdump_default_vl(9, 8), 1);
	assert_int_equal(osr_osmdump_default_vl(15, 8), 7);
	assert_int_equal(osr_osmdump_default_vl(7, 4), 3);
	assert_int_equal(osr_osmdump_default_vl(7, 2), 1);
	assert_int_equal(osr_osmdump_default_vl(7, 1), 0);
}

TEST_PROGRAM(test_lids, test_lids_run_out, test_fabric, test_odd_cables, test_misuse, test_dumps,
	     test_dump_of_a_loop, test_default_vl)
