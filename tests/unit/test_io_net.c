/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Nets: LIDs, fabrics, dumps; the files that ibnetdiscover writes and ibsim reads. */
#include "test.h"

#include <unistd.h>

#include "io/osmdump.h"
#include "io/netfile.h"
#include "io/speed.h"

/* ---- struct osr_net: LIDs as OpenSM gives them, the way to a fabric, the OpenSM dumps. */

/* Two switches, two cables between them, hosts h0 and h1 on the first, h2 (two ports) on both. */
static void small_net(struct osr_net *net)
{
	uint32_t a, b, h;

	*net = (struct osr_net){ 0 };
	a = osr_net_node(net, OSR_NET_SWITCH, 8, "a");
	b = osr_net_node(net, OSR_NET_SWITCH, 8, "b");
	osr_net_cable(net, osr_net_port(net, a, 7), osr_net_port(net, b, 7), 4, OSR_SPEED_QDR);
	osr_net_cable(net, osr_net_port(net, b, 8), osr_net_port(net, a, 8), 4, OSR_SPEED_EDR);
	for (uint32_t port = 1; port < 3; port++) {
		h = osr_net_node(net, OSR_NET_CA, 1, port == 1 ? "h0" : "h1");
		osr_net_cable(net, osr_net_port(net, a, port), osr_net_port(net, h, 1), 0, 0);
	}
	h = osr_net_node(net, OSR_NET_CA, 2, "h2");
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
 * What OpenSM gives a new fabric, with one LID a port and more: osm.up. A free LID is found for a
 * port that has none.
 */
static void test_lids(void **state)
{
	struct osr_net net;

	small_net(&net);
	assert_int_equal(osr_net_assign_lids(&net, -1, NULL), OSR_OK);
	net.ports[osr_net_port(&net, H1, 1)].lid = 0;
	net.ports[osr_net_port(&net, H0, 1)].lid = 9;
	assert_int_equal(osr_net_assign_lids(&net, -1, NULL), OSR_OK);
	assert_int_equal(lid_of(&net, A, 0), 1);
	assert_int_equal(lid_of(&net, H1, 1), 2);
	assert_int_equal(lid_of(&net, H0, 1), 9);
	assert_int_equal(lid_of(&net, H2, 2), 6);
	osr_net_free(&net);
}

static void test_lids_run_out(void **state)
{
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };

	for (uint32_t s = 0; s < 200; s++) {
		char name[16];

		snprintf(name, sizeof(name), "s%u", s);
		osr_net_node(&net, OSR_NET_SWITCH, 3, name);
		snprintf(name, sizeof(name), "h%u", s);
		osr_net_node(&net, OSR_NET_CA, 2, name);
		for (uint32_t port = 1; port < 3; port++)
			osr_net_cable(&net, osr_net_port(&net, 2 * s, port),
				      osr_net_port(&net, 2 * s + 1, port), 0, 0);
	}
	/* 400 ports with 128 LIDs each are 51,200. */
	assert_int_equal(osr_net_assign_lids(&net, 7, &diag), OSR_INVAL);
	assert_non_null(strstr(diag.text, "no LIDs left at h"));
	assert_int_equal(osr_net_assign_lids(&net, 6, &diag), OSR_OK);
	assert_int_equal(osr_net_assign_lids(&net, 8, &diag), OSR_INVAL);
	assert_string_equal(diag.text, "LMC 8: 0 to 7 are possible");
	osr_net_free(&net);
}

/* Cables that a fabric does not know: a switch to itself, between CAs, into the void. */
static void test_fabric(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_net_counts net_counts;
	struct osr_fabric fabric;
	struct osr_net net;

	small_net(&net);
	net.nodes[B].enhanced_sp0 = true;
	osr_net_cable(&net, osr_net_port(&net, A, 4), osr_net_port(&net, A, 5), 0, 0);
	osr_net_cable(&net, osr_net_port(&net, B, 4), osr_net_port(&net, B, 4), 0, 0);
	osr_net_node(&net, OSR_NET_CA, 1, "x");
	osr_net_node(&net, OSR_NET_CA, 1, "y");
	osr_net_cable(&net, osr_net_port(&net, 5, 1), osr_net_port(&net, 6, 1), 0, 0);
	net_counts = osr_net_count(&net);
	assert_int_equal(net_counts.cables, 9);
	assert_int_equal(net_counts.switch_cables, 2);
	assert_int_equal(osr_net_fabric(&net, -1, &arena, &fabric, NULL), OSR_OK);
	assert_int_equal(fabric.n_switches, 2);
	assert_int_equal(fabric.n_channels, 4);
	assert_int_equal(fabric.n_terminals, 6);
	assert_int_equal(fabric.max_lid, 6);
	assert_int_equal(fabric.sw_flags[0], OSR_SW_SL2VL);
	assert_int_equal(fabric.sw_flags[1], OSR_SW_SL2VL | OSR_SW_ENHANCED_SP0);
	assert_int_equal(fabric.chan_rate[osr_port_channel(&fabric, 0, 7)], 32);
	assert_int_equal(fabric.chan_rate[osr_port_channel(&fabric, 1, 8)], 100);
	assert_int_equal(fabric.term_role[fabric.term_row[0]], OSR_ROLE_SP0);
	assert_int_equal(fabric.dest_switch[fabric.lid_dest[6]], 1);
	assert_int_equal(fabric.term_guid[fabric.dest_term[fabric.lid_dest[6]]], 0x100006);
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
	struct osr_net net = { 0 }, many = { 0 };

	assert_int_equal(osr_net_node(&net, OSR_NET_SWITCH, 255, "big"), OSR_NONE);
	assert_int_equal(osr_net_status(&net, &diag), OSR_INVAL);
	assert_int_equal(osr_net_node(&net, OSR_NET_SWITCH, 8, "later"), OSR_NONE);
	osr_net_cable(&net, 0, 1, 0, 0);
	assert_int_equal(net.n_nodes, 0);
	osr_net_free(&net);

	osr_net_node(&many, OSR_NET_SWITCH, 8, "a");
	osr_net_cable(&many, 0, 100, 0, 0);
	assert_int_equal(osr_net_status(&many, &diag), OSR_BUG);
	osr_net_free(&many);
}

/* ---- dumps ---------------------------------------------------------------------------------- */

/* The file lacks this, or is not there; it goes. */
static void has(const char *dir, const char *name, const char *line)
{
	char path[256], *text = NULL;
	size_t size = 0;
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_true(getdelim(&text, &size, '\0', in) >= 0 || feof(in));
	if (!strstr(text, line))
		fail_msg("%s lacks: %s\nit is\n%s", name, line, text);
	fclose(in);
	unlink(path);
	free(text);
}

/*
 * Holes, and a table that goes round in circles, which is dumped without going along. What OpenSM
 * writes of right ones: osm.up.
 */
static void test_dumps(void **state)
{
	char dir[] = "/tmp/osr-test-XXXXXX";
	const struct osr_osmdump how = { dir, 8, false };
	struct osr_arena arena = { 0 };
	struct osr_routing routing = { 0 };
	const struct osr_generation gen = { .routing = &routing };
	struct osr_diag diag = { "" };
	struct osr_fabric fabric;
	struct osr_net net;

	assert_non_null(mkdtemp(dir));
	small_net(&net);
	assert_int_equal(osr_net_fabric(&net, -1, &arena, &fabric, NULL), OSR_OK);
	assert_int_equal(osr_routing_init(&routing, &fabric, &arena, NULL), OSR_OK);
	/*
	 * Between a and b over port 7; LIDs 2 and 5 hang on a, and both send the one to each other.
	 */
	for (uint32_t d = 0; d < fabric.n_dests; d++)
		for (uint32_t s = 0; s < 2; s++)
			routing.lft[d * 2 + s] = fabric.dest_switch[d] == s
							 ? fabric.term_port[fabric.dest_term[d]]
							 : 7;
	routing.lft[fabric.lid_dest[4] * 2 + 1] = OSR_NO_PATH;
	routing.lft[fabric.lid_dest[5] * 2] = 7;
	routing.lft[fabric.lid_dest[2] * 2] = 99;
	routing.n_vls = 1;
	assert_int_equal(osr_osmdump_write(&how, &net, &fabric, &gen, NULL), OSR_OK);
	has(dir, "opensm.fdbs", "0x0004 : UNREACHABLE\n0x0005 : 007");
	has(dir, "opensm-lfts.dump",
	    "0x0003 000 # Switch portguid 0x0000000000200001: 'b'\n0x0005 007");
	has(dir, "opensm-sl2vl.dump", "");
	has(dir, "opensm-subnet.lst", "");
	has(dir, "opensm.mcfdbs", "");
	has(dir, "opensm-path-sl.dump", "Senders on switch 0x0000000000200000 \"a\"\n0x0001 : 00");
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(osr_osmdump_write(&how, &net, &fabric, &gen, &diag), OSR_INVAL);
	assert_non_null(strstr(diag.text, "opensm-lfts.dump: No such file or directory"));
	osr_arena_free(&arena);
	osr_net_free(&net);
}

static void test_default_vl(void **state)
{
	static const unsigned rows[][3] = { { 0, 15, 0 }, { 14, 15, 14 }, { 15, 15, 7 },
					    { 9, 8, 1 },  { 15, 8, 7 },   { 7, 4, 3 },
					    { 7, 2, 1 },  { 7, 1, 0 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(osr_osmdump_default_vl((uint8_t)rows[i][0], (uint8_t)rows[i][1]),
				 rows[i][2]);
}

/*
 * ---- Reading net files: dialects, what is refused and how it is said. Whatever a file holds, and
 * the way back: tests/fuzz/fuzz_files.c.
 */

static enum osr_status parse(const char *text, struct osr_net *net, struct osr_diag *diag)
{
	struct osr_lines in;

	diag->text[0] = '\0';
	return osr_fabricfile_read(osr_lines_text(&in, text, strlen(text), "t", diag), net);
}

static void parse_ok(const char *text, struct osr_net *net)
{
	struct osr_diag diag;

	if (parse(text, net, &diag))
		fail_msg("refused: %s", diag.text);
}

/* The text is refused with exactly this sentence, and nothing is left behind. */
static void refused(const char *text, const char *sentence)
{
	struct osr_diag diag;
	struct osr_net net;

	assert_int_equal(parse(text, &net, &diag), OSR_INVAL);
	assert_string_equal(diag.text, sentence);
	assert_null(net.nodes);
	assert_null(net.ports);
	assert_null(net.names);
}

static uint32_t node_of(const struct osr_net *net, const char *id)
{
	for (uint32_t i = 0; i < net->n_nodes; i++)
		if (!strcmp(osr_net_id(net, i), id))
			return i;
	fail_msg("no node %s", id);
	return 0;
}

static const char discover[] =
	"#\n# Topology file: generated on Tue Jun  5 14:15:10 2007\n#\n"
	"src/query_smp.c:195; umad: a stray line\n"
	"Non-Chassis Nodes\n\n"
	"vendid=0x8f1\ndevid=0x5a06\nsysimgguid=0x5442ba00003000\n"
	"switchguid=0x5442ba00003080(5442ba00003080)\n"
	"Switch  24 \"S-005442ba00003080\"         # \"ISR9024 # x\" enhanced port 0 lid 8 lmc 2\n"
	"[22][ext 5]    \"H-0008f10403961354\"[1](8f10403961355) # \"MT23108\" lid 4 4xSDR\n"
	"[12]    \"R-10\"[1](11)         # \"gw\" lid 10 1xFDR10\n"
	"[3]\t\"S-005442ba00003080\"[4]\t\t# \"ISR9024 # x\" lid 6 4xQDR\n"
	"[4]\t\"S-005442ba00003080\"[3]\t\t# \"ISR9024 # x\" lid 6 4xQDR\n"
	" \n"
	"caguid=0x8f10403961354\n"
	"Ca\t2 \"H-0008f10403961354\"\t# \"MT23108\"\r\n"
	"[1](8f10403961355)     \"S-005442ba00003080\"[22][ext 3]  # lid 4 lmc 1 \"ISR\" lid 6 "
	"12xSDR\n\n"
	"rtguid=0x10\nRt\t1 \"R-10\"\t# gw\n"
	"[1](11)\t\"S-005442ba00003080\"[12]\t# lid 10 lmc 0 \"ISR\" lid 6 4xFDR10\n";

static void test_ibnetdiscover(void **state)
{
	const struct osr_net_port *port;
	struct osr_net net;
	uint8_t width, speed;
	uint32_t s, h, r;

	parse_ok(discover, &net);
	assert_int_equal(net.n_nodes, 3);
	assert_string_equal(net.comment,
			    "\nTopology file: generated on Tue Jun  5 14:15:10 2007\n\n");
	s = node_of(&net, "S-005442ba00003080");
	h = node_of(&net, "H-0008f10403961354");
	r = node_of(&net, "R-10");
	assert_int_equal(net.nodes[s].type, OSR_NET_SWITCH);
	assert_int_equal(net.nodes[s].n_ports, 24);
	assert_true(net.nodes[s].enhanced_sp0);
	assert_int_equal(net.nodes[s].vendid, 0x8f1);
	assert_int_equal(net.nodes[s].devid, 0x5a06);
	assert_int_equal(net.nodes[s].sysimg_guid, 0x5442ba00003000);
	assert_int_equal(net.nodes[s].guid, 0x5442ba00003080);
	assert_string_equal(osr_net_name(&net, s), "ISR9024 # x");
	assert_int_equal(net.n_failures, 1);
	assert_string_equal(net.names + net.failure,
			    "4: \"src/query_smp.c:195; umad: a stray line\"");
	assert_int_equal(net.ports[osr_net_port(&net, s, 0)].lid, 8);
	assert_int_equal(net.ports[osr_net_port(&net, s, 0)].lmc, 2);
	assert_int_equal(net.ports[osr_net_port(&net, s, 3)].peer, osr_net_port(&net, s, 4));

	port = &net.ports[osr_net_port(&net, h, 1)];
	assert_int_equal(port->peer, osr_net_port(&net, s, 22));
	assert_int_equal(port->guid, 0x8f10403961355);
	assert_int_equal(port->lid, 4);
	assert_int_equal(port->lmc, 1);
	assert_int_equal(net.ports[osr_net_port(&net, h, 2)].peer, OSR_NONE);
	osr_net_link_rate(&net, osr_net_port(&net, h, 1), &width, &speed);
	assert_int_equal(width, 4);
	assert_int_equal(speed, OSR_SPEED_SDR);

	assert_int_equal(net.nodes[r].type, OSR_NET_ROUTER);
	assert_string_equal(osr_net_name(&net, r), "gw");
	osr_net_link_rate(&net, osr_net_port(&net, s, 12), &width, &speed);
	assert_int_equal(width, 1);
	assert_int_equal(speed, OSR_SPEED_FDR10);
	osr_net_free(&net);
}

static void test_ibsim(void **state)
{
	struct osr_net net;

	parse_ok("Switch 8 \"Switch1\"\n"
		 "# a comment does not end the block\n"
		 "[1]\t\"Hca1\"[1]\tw=1 s=1\n"
		 "[2]\t\"Hca2\"\n"
		 "\n"
		 "hcaguids=0x700\nspeed=2\nwidth=8\n"
		 "Hca\t2 \"Hca1\"\n"
		 "[1]\t\"Switch1\"[1]\te=2\n"
		 "\n"
		 "Hca 1 \"Hca2\"\n"
		 "[1] \"Switch1\"[2]\n"
		 "\n"
		 "caguid+0x30\n"
		 "Ca 1 \"Hca3\"\n"
		 "module=\"box\"\n"
		 "Switch 4 \"leaf\"\n"
		 "[1] \"leaf\"[1]\n"
		 "[2] \"spine\"[1]\n\n"
		 "Switch 4 \"spine\"\n"
		 "[1] \"leaf\"[2]\n",
		 &net);
	assert_int_equal(net.n_nodes, 6);
	/* GUIDs as ibsim counts them: own bases, a CA takes one more than its ports. */
	assert_int_equal(net.nodes[0].guid, 0x200000);
	assert_int_equal(net.nodes[0].guid_from, OSR_NET_GUID_COUNTED);
	assert_int_equal(net.nodes[node_of(&net, "Hca1")].guid, 0x700);
	assert_int_equal(net.nodes[node_of(&net, "Hca2")].guid, 0x703);
	assert_int_equal(net.nodes[node_of(&net, "Hca3")].guid, 0x730);
	assert_int_equal(net.nodes[node_of(&net, "box#leaf")].guid, 0x200001);
	assert_int_equal(net.ports[osr_net_port(&net, 0, 1)].width, 1);
	assert_int_equal(net.ports[osr_net_port(&net, 0, 1)].speed, OSR_SPEED_SDR);
	assert_int_equal(net.ports[osr_net_port(&net, 1, 1)].width, 12);
	assert_int_equal(net.ports[osr_net_port(&net, 1, 1)].speed, OSR_SPEED_EDR);
	/* A plug that leads a port back to itself. */
	assert_int_equal(net.ports[osr_net_port(&net, 4, 1)].peer, osr_net_port(&net, 4, 1));
	assert_int_equal(net.ports[osr_net_port(&net, 4, 2)].peer, osr_net_port(&net, 5, 1));
	osr_net_free(&net);
}

#define SWITCH_A "Switch 4 \"a\"\n"

static void test_refusals(void **state)
{
	refused("", "t: no Switch, Ca or Rt in it: expected the output of ibnetdiscover or an "
		    "ibsim net file");
	refused("# hello\n",
		"t: no Switch, Ca or Rt in it: expected the output of ibnetdiscover or "
		"an ibsim net file");
	refused("hello\n", "t:1: neither a node, nor a port, a setting or a comment: \"hello\"");
	refused("Switch 0 \"a\"\n", "t:1: a node has 1 to 254 ports");
	refused("Switch 99999999999999999999 \"a\"\n", "t:1: a node has 1 to 254 ports");
	refused("\nSwitch 4 \"a\n", "t:2: expected the node's id in double quotes");
	refused("Switch 4 \"\"\n", "t:1: a node id has 1 to 64 characters");
	refused("Switch 4 \"0123456789012345678901234567890123456789012345678901234567890123x\"\n",
		"t:1: a node id has 1 to 64 characters");
	refused(SWITCH_A "\nCa 1 \"a\"\n", "t:3: node \"a\" was already described in line 1");
	refused("[1] \"a\"[1]\n", "t:1: a port outside of the block of a Switch, Ca or Rt");
	refused(SWITCH_A "\n[1] \"a\"[1]\n",
		"t:3: a port outside of the block of a Switch, Ca or Rt");
	refused(SWITCH_A "[5] \"a\"[1]\n", "t:2: port 5 of \"a\": it has ports 1 to 4");
	refused(SWITCH_A "[0] \"a\"[1]\n", "t:2: port 0 of \"a\": it has ports 1 to 4");
	refused(SWITCH_A "[x] \"a\"[1]\n", "t:2: expected a port number, as in [7]");
	refused(SWITCH_A "[1](zz) \"a\"[1]\n", "t:2: expected a port GUID in parentheses");
	refused(SWITCH_A "[1](10000000000000000) \"a\"[1]\n",
		"t:2: expected a port GUID in parentheses");
	refused(SWITCH_A "[1] a[1]\n", "t:2: expected the id of the far end in double quotes");
	refused(SWITCH_A "[1] \"a\"[\n", "t:2: expected the port number of the far end, as in [7]");
	refused(SWITCH_A "[1] \"a\"[0]\n", "t:2: port 0 at the far end: 1 to 254 are possible");
	refused(SWITCH_A "[1] \"a\"[900]\n", "t:2: port 900 at the far end: 1 to 254 are possible");
	refused(SWITCH_A "[1] \"\"[1]\n", "t:2: the far end of port 1 has an empty node id");
	refused(SWITCH_A "[1] \"a\"[2](\n", "t:2: expected the far end's port GUID in parentheses");
	refused(SWITCH_A "[1] \"a\"[2] s=q\n", "t:2: expected a number after \"s=\"");
	refused(SWITCH_A "[1] \"a\"[2]\n[1] \"a\"[2]\n",
		"t:3: port 1 of \"a\" was already described in line 2");
	refused("Switch 4 \"a\" # \"a\" base port 0 lid 49152 lmc 0\n",
		"t:1: a LID is a number up to 49151");
	refused("Switch 4 \"a\" # \"a\" base port 0 lid 5 lmc 8\n",
		"t:1: an LMC is a number up to 7");
	refused("Switch 4 \"a\" # lid 7 lmc 2\n",
		"t:1: LID 7 cannot have LMC 2: it is no multiple of 4");
	refused("Ca 1 \"a\"\n[1] \"a\"[1] # lid 6 lmc 2 \"a\" lid 6\n",
		"t:2: LID 6 cannot have LMC 2: it is no multiple of 4");
	refused("Switch 4 \"a\" base port 0\n",
		"t:1: unexpected text behind the node's id: \" base port 0\"");
	refused(SWITCH_A "[1] \"a\"[2] 4xQDR\n",
		"t:2: unexpected text behind the far end: \"4xQDR\"");
	refused(SWITCH_A "[1] \"a\"[2][3] \"a\"[4]\n",
		"t:2: unexpected text behind the far end: \"[3] \"a\"[4]\"");
	refused(SWITCH_A "[1] \"a\"[2] # lid 3 4xQDR s=4 w=2 v=6\n",
		"t:2: \"v=6\": VLCap is a number up to 5");
	refused("vendid=0x2c9 devid=0x1\n",
		"t:1: vendid: unexpected text behind the number: \" devid=0x1\"");
	refused("switchguid=0x7(7) Switch\n",
		"t:1: switchguid: unexpected text behind the number: \" Switch\"");
	refused("Switch 4 \"a\"\n[1] \"h\"[1](21)\n\nCa 1 \"h\"\n[1](22) \"a\"[1]\n",
		"t:5: the port has the GUID 0x0000000000000022, but line 2 says "
		"0x0000000000000021");
	refused("switchguid=x\n", "t:1: switchguid: expected a number up to 18446744073709551615");
	refused("switchguid=0x12345678901234567\n",
		"t:1: switchguid: expected a number up to 18446744073709551615");
	refused("vendid=0x123456789\n", "t:1: vendid: expected a number up to 4294967295");
	refused("module=box\n", "t:1: expected module=\"name\" of at most 20 characters");
	refused("include \"other\"\n",
		"t:1: include is not supported, a fabric is one file: \"include \"other\"\"");
	refused("do Link \"a\"\n",
		"t:1: do is not supported, a fabric is one file: \"do Link \"a\"\"");
	refused("@[1] \"x\"\n",
		"t:1: aliases (@) are not supported, name nodes by their ids: \"@[1] \"x\"\"");
	refused("ibnetdiscover: iberror: failed: discover failed\n",
		"t:1: the discovery ended with an error here: "
		"\"ibnetdiscover: iberror: failed: discover failed\"");
	refused(SWITCH_A "\x01\x02\n", "t:2: byte 0x01: this is not a text file");
	refused("switchguid=7\nSwitch 4 \"a\"\n\nswitchguid=7\nSwitch 4 \"b\"\n",
		"t:5: \"b\" has the GUID 0x0000000000000007 of \"a\" in line 2");
	refused(SWITCH_A "[1] \"b\"[2]\n",
		"t:2: the cable goes to \"b\", which the file does not describe (is it cut off?)");
	refused(SWITCH_A "[1] \"b\"[2]\n\nSwitch 4 \"b\"\n",
		"t:2: the cable goes to \"b\"[2], but the block of \"b\" in line 4 does not "
		"mention that port (is the file cut off?)");
	refused(SWITCH_A "[1] \"b\"[7]\n\nSwitch 4 \"b\"\n",
		"t:2: the cable goes to port 7 of \"b\", which has 4 ports");
	refused(SWITCH_A "[1] \"b\"[2]\n\nSwitch 4 \"b\"\n[2] \"a\"[3]\n",
		"t:2: the cable goes to \"b\"[2], but line 5 says that \"a\"[3] is at its other "
		"end");
	refused(SWITCH_A "[1] \"b\"[2]\n[3] \"b\"[2]\n\nSwitch 4 \"b\"\n[2] \"a\"[1]\n",
		"t:3: the cable goes to \"b\"[2], but line 6 says that \"a\"[1] is at its other "
		"end");
}

/* A file of another kind is called by its name: what is given is in the first word of the hint. */
static void test_other_kinds(void **state)
{
	static const struct {
		const char *text, *said;
	} files[] = {
		{ "Ca\t: 0x0000000000002000 ports 1 devid 0x6274 vendid 0x2c9 \"n1 HCA-1\"\n",
		  "t:1: this is a list of nodes" },
		{ "Switch\t : 0x0000000000001000 ports 24 devid 0x5a30 vendid 0x8f1 \"leaf-1\"\n",
		  "t:1: this is a list of nodes" },
		{ "Switch\t: 0x0000000000001000 ports 24 \"leaf-1\" base port 0 lid 1 lmc 0\n",
		  "t:1: this is a list of nodes" },
		{ "src/query_smp.c:199; umad (DR path slid 0) bad status 110; Connection timed "
		  "out\nCA    12  1 0x0002c90300a1b2c3 4x SDR - SW     2 11 0x0002c90109fb0000 ( "
		  "'a' - "
		  "'b' )\n",
		  "t:2: this is a list of ports" },
		{ "SW     2 36 0x0002c90109fb0000 4x ???                                     'b'\n",
		  "t:1: this is a list of ports" },
		{ "CA: n1 HCA-1:\n      0x0002c9030002da23      1    1[  ] ==( 4X 10.0 Gbps "
		  "Active/  LinkUp)==>\n",
		  "t:1: this is the output of iblinkinfo" },
		{ "Switch: 0x0002c902004885b8 MF0;sw:SX6036/U1:\n",
		  "t:1: this is the output of iblinkinfo" },
		{ "0x0002c902004885b8 \"          sw\"      4    1[  ] ==( 4X  10.0 Gbps Active/  "
		  "LinkUp)==>\n",
		  "t:1: this is the output of iblinkinfo" },
		{ "# This database file was automatically generated by IBDIAG\n\n"
		  "\"Infiniscale-IV Mellanox Technologies\", Mellanox, 0x0002c902004885b8, LID 7\n",
		  "t:3: this is a net_dump of ibdiagnet" },
		{ "START_NODES\nNodeDesc,NumPorts,NodeType\n",
		  "t:1: this is a db_csv of ibdiagnet" },
		{ "Unicast lids [0x0-0x8f] of switch Lid 4 guid 0x0002c9020040b0e0 (x):\n",
		  "t:1: this is a file of tables" },
		{ "dump_ucast_routes: Switch 0x0002c90109fb0000\n",
		  "t:1: this is a file of tables" },
		{ "Switch 0x0002c902004050f8, base LID 13, \"x\"\n",
		  "t:1: this is a file of tables" },
		{ "\x2b\x83\xe7\x8f\x01\n", "t:1: this is a cache of ibnetdiscover" },
		{ "< [3]\t\"S-0002c902004885b8\"[1]\n", "t:1: a mark of a diff or of quoted mail" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct osr_diag diag;
		struct osr_net net;

		assert_int_equal(parse(files[i].text, &net, &diag), OSR_INVAL);
		if (strncmp(diag.text, files[i].said, strlen(files[i].said)) != 0)
			fail_msg("\"%s\" for %s", diag.text, files[i].text);
	}
}

/* What ibnetdiscover -g, -s and -f print, blanks before lines, and quotes within names. */
static void test_all_is_read(void **state)
{
	struct osr_net net;
	uint32_t s;

	parse_ok("DR path slid 0; dlid 0; 0,1 -> new Switch {0000000000001000} portnum 0 lid 1-1 "
		 "\"x\"\nLid 5 -> known Ca {0000000000002000} portnum 1 lid 2-2\"n1\"\n"
		 "  #\n"
		 "\n"
		 "Chassis 1 (guid 0x8f10400411f54)\n"
		 "Hostname: [2] what it is called\n"
		 "\n"
		 "# Spine Nodes\n"
		 "  vendid=0x2c9\n"
		 "\tswitchguid=0x1000(1000)\t# ISR9288 Spine 1 Chip 2\n"
		 "  Switch\t4 \"S-0000000000001000\"\t\t# \"the \"best\" leaf\" base port 0 lid 1 "
		 "lmc 0\n  [1]\t\"H-0000000000002000\"[1](2001) \t\t# \"n \"1\" HCA-1\" lid 2 "
		 "4xHDR s=4 w=2 v=2\n   \n"
		 "Non-Chassis Nodes\n"
		 "\n"
		 "caguid=0x2000\n"
		 "Ca\t1 \"H-0000000000002000\"\t\t# \"n \"1\" HCA-1\" (scp)\n"
		 " [1](2001) \t\"S-0000000000001000\"[1]\t\t# lid 2 lmc 0 \"the \"best\" leaf\" "
		 "lid 1 4xHDR s=4 w=2 v=0\n",
		 &net);
	s = node_of(&net, "S-0000000000001000");
	assert_string_equal(osr_net_name(&net, s), "the \"best\" leaf");
	assert_string_equal(osr_net_name(&net, node_of(&net, "H-0000000000002000")),
			    "n \"1\" HCA-1");
	assert_int_equal(net.ports[osr_net_port(&net, s, 0)].lid, 1);
	assert_int_equal(net.ports[osr_net_port(&net, s, 1)].vls, 2);
	assert_int_equal(osr_net_link_vls(&net, osr_net_port(&net, s, 1)), 2);
	assert_int_equal(net.ports[osr_net_port(&net, s, 1)].speed, OSR_SPEED_HDR);
	assert_int_equal(net.ports[osr_net_port(&net, 1, 1)].lid, 2);
	assert_int_equal(net.n_failures, 0);
	osr_net_free(&net);
}

/* Node and port GUIDs, from the first of: the node's own line, its id, the next of ibsim's. */
static void test_guids(void **state)
{
	struct osr_net net;

	parse_ok("Switch 2 \"S-0000000000001000\"\n"
		 "[1] \"H-0000000000002000\"[1](2005)\n"
		 "[2] \"H-0000000000003000\"[1]\n\n"
		 "Ca 1 \"H-0000000000002000\"\n[1] \"S-0000000000001000\"[1]\n\n"
		 "caguid=0x77\nCa 1 \"H-0000000000003000\"\n[1] \"S-0000000000001000\"[2]\n\n"
		 "Ca 1 \"0x4000\"\n\nCa 1 \"H-12\"\n\nCa 1 \"H-0000000000000000\"\n\n"
		 "Rt 1 \"R-00000000000000fe\"\n",
		 &net);
	assert_int_equal(net.nodes[0].guid, 0x1000);
	assert_int_equal(net.ports[osr_net_port(&net, 0, 2)].guid, 0x1000);
	assert_int_equal(net.nodes[1].guid, 0x2000);
	assert_int_equal(net.ports[osr_net_port(&net, 1, 1)].guid, 0x2005);
	assert_int_equal(net.nodes[2].guid, 0x77);
	assert_int_equal(net.ports[osr_net_port(&net, 2, 1)].guid, 0x78);
	assert_int_equal(net.nodes[3].guid, 0x4000);
	/* The two without one: behind the last line of a CA. */
	assert_int_equal(net.nodes[4].guid, 0x79);
	assert_int_equal(net.nodes[5].guid, 0x7b);
	assert_int_equal(net.nodes[6].guid, 0xfe);
	assert_int_equal(osr_net_assumed(&net).guids_of_ids, 4);
	assert_int_equal(osr_net_assumed(&net).guids, 0);
	osr_net_free(&net);
	/* Names that are no GUIDs, for two have one: all are as if the ids said nothing. */
	parse_ok("Switch 2 \"S-0000000000000001\"\n[1] \"H-0000000000000001\"[1](9)\n\n"
		 "Ca 1 \"H-0000000000000001\"\n[1] \"S-0000000000000001\"[1]\n",
		 &net);
	assert_int_equal(net.nodes[0].guid, 0x200000);
	assert_int_equal(net.nodes[1].guid, 0x100000);
	assert_int_equal(net.ports[osr_net_port(&net, 1, 1)].guid, 9);
	assert_int_equal(osr_net_assumed(&net).guids, 2);
	assert_int_equal(osr_net_assumed(&net).guids_of_ids, 0);
	osr_net_free(&net);
}

static void test_speeds(void **state)
{
	static const struct {
		const char *word;
		uint16_t gbps;
	} known[] = {
		{ "1xSDR", 2 },    { "4xSDR", 8 },     { "4xDDR", 16 },  { "4xQDR", 32 },
		{ "4xFDR10", 40 }, { "4xFDR", 54 },    { "4xEDR", 100 }, { "4xHDR", 200 },
		{ "2xHDR", 100 },  { "4xNDR", 400 },   { "12xSDR", 24 }, { "8xQDR", 64 },
		{ "4xXDR", 800 },  { "12xXDR", 2400 },
	};
	static const char *const unknown[] = { "",     "4x",     "xSDR",  "3xSDR", "4xsdr",
					       "4xFD", "4xFDR1", "4 SDR", "4x?",   "44xSDR" };
	uint8_t width = 77, speed = 77;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_true(osr_speed_parse(known[i].word, strlen(known[i].word), &width, &speed));
		assert_int_equal(osr_rate_gbps(width, speed), known[i].gbps);
	}
	width = speed = 77;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_false(osr_speed_parse(unknown[i], strlen(unknown[i]), &width, &speed));
	assert_int_equal(width, 77);
	assert_int_equal(speed, 77);
	assert_int_equal(osr_rate_gbps(4, OSR_SPEED_UNKNOWN), 0);
	assert_int_equal(osr_rate_gbps(0, OSR_SPEED_HDR), 0);
	assert_int_equal(osr_rate_gbps(4, 200), 0);
}

static void test_missing_file(void **state)
{
	struct osr_diag diag = { "" };
	struct osr_lines in;
	struct osr_net net;

	osr_lines_open(&in, "/nonexistent/x.net", &diag);
	assert_int_equal(osr_fabricfile_read(&in, &net), OSR_INVAL);
	assert_string_equal(diag.text, "/nonexistent/x.net: No such file or directory");
	osr_lines_open(&in, "/", &diag);
	assert_int_equal(osr_fabricfile_read(&in, &net), OSR_INVAL);
	assert_non_null(strstr(diag.text, "Is a directory"));
}

TEST_PROGRAM(test_lids, test_lids_run_out, test_fabric, test_misuse, test_dumps, test_default_vl,
	     test_ibnetdiscover, test_ibsim, test_refusals, test_other_kinds, test_all_is_read,
	     test_guids, test_speeds, test_missing_file)
