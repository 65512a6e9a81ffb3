/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Readers of tables and of opensm-subnet.lst: what they take, what they refuse and with which
 * sentence, and that each of their allocations may fail. malloc() and the like, and those of
 * arenas, are wrapped by the linker.
 */
#include "test.h"

#include "../fuzz/fuzz.h"
#include "io/endports.h"
#include "io/netfile.h"
#include "io/tables.h"
#include "io/trafficfile.h"

static char text[1 << 16];

static size_t load(const char *path)
{
	FILE *in = fopen(path, "rb");
	size_t n;

	assert_non_null(in);
	n = fread(text, 1, sizeof(text), in);
	fclose(in);
	assert_true(n > 0 && n < sizeof(text));
	return n;
}

typedef osr_tables_parse_fn *parse_fn;

static enum osr_status read_text(parse_fn parse, const char *from, size_t n,
				 const struct osr_fabric *fabric, struct osr_arena *arena,
				 struct osr_tables *tables, struct osr_diag *diag)
{
	struct osr_lines in;
	enum osr_status st = osr_tables_init(tables, fabric, NULL, arena, diag);
	bool same;

	if (st)
		return st;
	st = osr_tables_read(tables, osr_lines_text(&in, from, n, "input", diag), parse);
	return st ? st : osr_tables_finish(tables, &same, diag);
}

/* ---- what is taken -------------------------------------------------------------------------- */

#define LFT                                                                                        \
	"Unicast lids [0-6] of switch Lid 1 guid 0x0000000000000001 ('a'):\n"                      \
	"0x0004 003 # Channel Adapter portguid 0x0000000000000011: 'h'\n"                          \
	"0x0005 001 # Channel Adapter portguid 0x0000000000000012: 'h'\n"                          \
	"0x0009 001 # nobody\n"

/*
 * What only ibdmchk reads, and LIDs that nobody has. Of all else cli.mutants compares what is read.
 */
static void test_taken(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_tables tables;
	const struct osr_fabric *fabric = fuzz_ring();
	static const char sl2vl[] =
		"Switch 0x1, base LID 1, \"a\"\n"
		"2 1 : 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"
		"0x0000000000000011 0 1 0x10 0x23 0x45 0x67 0x89 0xab 0xcd 0xef\n";
	static const char paths[] = "0x0000000000000011 5 3\n0x0000000000000011 6 4\n";

	assert_int_equal(
		read_text(osr_tables_parse_lfts, LFT, strlen(LFT), fabric, &arena, &tables, &diag),
		OSR_OK);
	assert_true(tables.has_lft[0] && !tables.has_lft[1]);
	assert_int_equal(tables.n_entries, 2);
	assert_int_equal(tables.n_foreign, 1);
	osr_tables_free(&tables);
	assert_int_equal(read_text(osr_tables_parse_sl2vl, sl2vl, strlen(sl2vl), fabric, &arena,
				   &tables, &diag),
			 OSR_OK);
	for (unsigned sl = 0; sl < 16; sl++)
		assert_int_equal(osr_tables_sl2vl(&tables, 0, 2, 1)[sl], sl);
	assert_int_equal(tables.term_sl2vl[fabric->dest_term[fabric->lid_dest[4]]][0], 1);
	assert_int_equal(tables.term_sl2vl[fabric->dest_term[fabric->lid_dest[4]]][1], 0);
	osr_tables_free(&tables);
	assert_int_equal(read_text(osr_tables_parse_paths, paths, strlen(paths), fabric, &arena,
				   &tables, &diag),
			 OSR_OK);
	assert_int_equal(tables.paths.n_rows, 1);
	assert_int_equal(tables.paths.sl[fabric->lid_dest[5]], 3);
	assert_int_equal(tables.paths.sl[fabric->lid_dest[6]], 4);
	assert_int_equal(tables.paths.sl[fabric->lid_dest[4]], OSR_NO_SL);
	osr_tables_free(&tables);
	osr_arena_free(&arena);
}

/* Two hosts have all four LIDs; of the others some entries are missing on all switches. */
static void test_lmcs_with_holes(void **state)
{
	static const struct {
		uint16_t lid;
		uint8_t first, n, lmc; /* entries there are; LMC expected */
	} hosts[] = { { 4, 0, 4, 2 },  { 8, 0, 4, 2 },  { 12, 0, 3, 2 }, { 16, 0, 1, 2 },
		      { 20, 1, 3, 2 }, { 24, 0, 1, 0 }, { 25, 0, 2, 0 } /* not aligned */ };
	struct osr_net net = { 0 };
	struct osr_diag diag = { "" };
	char dump[4096] = "Unicast lids [0-12] of switch Lid 1 guid 0x1 ('a'):\n";
	struct osr_lines in;
	uint32_t s = osr_net_node(&net, OSR_NET_SWITCH, 4, "s"), p[7];

	for (uint32_t i = 0; i < 7; i++) {
		p[i] = osr_net_port(&net, osr_net_node(&net, OSR_NET_CA, 1, "h"), 1);
		net.ports[p[i]].guid = 0x11 + i;
		net.ports[p[i]].lid = hosts[i].lid;
		for (unsigned k = hosts[i].first; k < hosts[i].first + hosts[i].n; k++)
			sprintf(dump + strlen(dump),
				"0x%04x 001 # Channel Adapter portguid 0x%x: 'h'\n",
				hosts[i].lid + k, 0x11 + i);
	}
	/* Of the first switch alone. */
	strcat(dump, "Unicast lids [0-12] of switch Lid 1 guid 0x2 ('b'):\n"
		     "0x0019 001 # Channel Adapter portguid 0x16: 'not looked at'\n");
	net.ports[net.nodes[s].port_row].lid = 1;
	osr_lines_text(&in, dump, strlen(dump), "input", &diag);
	assert_int_equal(osr_tables_lmcs(&in, &net), OSR_OK);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(net.ports[p[i]].lmc, hosts[i].lmc);
	osr_net_free(&net);
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void test_refused(void **state)
{
	static const struct {
		parse_fn parse;
		const char *text, *said;
	} cases[] = {
		{ osr_tables_parse_lfts, "", "input: holds no table" },
		{ osr_tables_parse_lfts, "0x0004 003\n", "input:1: expected \"0xLID PORT\"" },
		{ osr_tables_parse_lfts, LFT "0x0004 002\n",
		  "input:5: port 2 for LID 4, which had port 3" },
		{ osr_tables_parse_lfts, LFT "0x0006 009\n",
		  "input:5: port 9 exceeds the 4 ports" },
		{ osr_tables_parse_lfts, LFT "0x0006 00", "input:5: " },
		{ osr_tables_parse_lfts, LFT "0xc000 001\n", "input:5: LID 0xc000 is not unicast" },
		{ osr_tables_parse_lfts, LFT LFT, "input:5: a second table" },
		{ osr_tables_parse_lfts, "Unicast lids [0-6] of switch Lid 1 guid 0x77 ('a'):\n",
		  "input:1: the fabric has no switch" },
		{ osr_tables_parse_lfts,
		  LFT "0x0006 001 # Channel Adapter portguid 0x0000000000000012: 'h'\n",
		  "input:5: LID 6 belongs to" },
		{ osr_tables_parse_sl2vl, "# nothing\n", "input: holds no SL2VL table" },
		{ osr_tables_parse_sl2vl, "Switch 0x1, x\n0 1 : 0 1 2\n", "input:2: expected" },
		{ osr_tables_parse_sl2vl, "Switch 0x1, x\n0 5 : 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		  "input:2: port 5" },
		{ osr_tables_parse_sl2vl, "Switch 0x9, x\n", "input:1: no port in the fabric" },
		{ osr_tables_parse_paths, "\n", "input: holds no SL" },
		{ osr_tables_parse_paths, "0x11 5 16\n", "input:1: expected" },
		{ osr_tables_parse_paths, "0x11 5 1\n0x11 5 2\n", "input:2: SL 2 to LID 5" },
		{ osr_tables_parse_paths, "0x99 5 1\n", "input:1: no port in the fabric" },
		{ osr_tables_parse_groups, "0xC000 : 0x1\n", "input:1: expected" },
		{ osr_tables_parse_groups, "Switch 0x1\n0x0004 : 0x1\n",
		  "input:2: expected a multicast" },
		{ osr_tables_parse_groups, "Switch 0x1\n0xC000 : 0x5\n",
		  "input:2: port 5 exceeds" },
	};
	struct osr_arena arena = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct osr_diag diag = { "" };
		struct osr_tables tables;

		assert_int_equal(read_text(cases[i].parse, cases[i].text, strlen(cases[i].text),
					   fuzz_ring(), &arena, &tables, &diag),
				 OSR_INVAL);
		if (strncmp(diag.text, cases[i].said, strlen(cases[i].said)) != 0)
			fail_msg("case %zu: said \"%s\", not \"%s\"", i, diag.text, cases[i].said);
		osr_tables_free(&tables);
	}
	osr_arena_free(&arena);
}

static enum osr_status take_name(void *ctx, struct osr_lines *in, const char *name, uint32_t slots)
{
	strcat(strcat(ctx, name), " ");
	return OSR_OK;
}

/*
 * Lists as Slurm writes them; each part of one that is none is refused, and stands for no host in
 * silence.
 */
static void test_hostlists(void **state)
{
	static const struct {
		const char *list, *hosts; /* NULL: none */
	} lists[] = {
		{ "n1", "n1 " },
		{ "n[1-3,7]-ib,m2", "n1-ib n2-ib n3-ib n7-ib m2 " },
		{ "n[08-10]", "n08 n09 n10 " },
		{ "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2 " },
		{ "n[]", NULL },
		{ "n[1-2][]", NULL },
		{ "n[1x]", NULL },
		{ "n[1-2x,3]", NULL },
		{ "n[1,]", NULL },
		{ "n[,1]", NULL },
		{ "n[3-1]", NULL },
		{ "n[1-]", NULL },
		{ "n[1-+2]", NULL },
		{ "n[1--2]", NULL },
		{ "n[99999999999999999999999]", NULL },
		{ "n[18446744073709551615]", NULL },
		{ "n[0-1000000]", NULL },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct osr_diag diag = { "" };
		char hosts[200] = "", line[100];
		struct osr_lines in;
		enum osr_status st;

		snprintf(line, sizeof(line), "%s\n", lists[i].list);
		osr_lines_text(&in, line, strlen(line), "input", &diag);
		st = osr_hostlist_each(&in, take_name, hosts);
		assert_int_equal(st, lists[i].hosts ? OSR_OK : OSR_INVAL);
		if (lists[i].hosts)
			assert_string_equal(hosts, lists[i].hosts);
		else
			assert_non_null(strstr(diag.text, "is no list of hosts"));
	}
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Fails the first, the second ... allocation until none is left to fail; how many there were. */
static size_t one_by_one(enum osr_status (*once)(const void *ctx, struct osr_diag *diag),
			 const void *ctx)
{
	for (size_t n = 1;; n++) {
		struct osr_diag diag = { "" };
		enum osr_status st;
		bool all;

		fail_at = n;
		st = once(ctx, &diag);
		all = fail_at > 0;
		fail_at = 0;
		if (all) {
			assert_int_equal(st, OSR_OK);
			return n - 1;
		}
		if (st != OSR_NOMEM || !diag.text[0])
			fail_msg("allocation %zu: %s, \"%s\"", n, osr_status_str(st), diag.text);
	}
}

struct what {
	parse_fn parse;
	const struct osr_fabric *fabric;
	size_t n;
};

static enum osr_status once_tables(const void *ctx, struct osr_diag *diag)
{
	const struct what *what = ctx;
	struct osr_arena arena = { 0 };
	struct osr_tables tables = { 0 };
	enum osr_status st =
		read_text(what->parse, text, what->n, what->fabric, &arena, &tables, diag);

	osr_tables_free(&tables);
	osr_arena_free(&arena);
	return st;
}

static enum osr_status once_subnet(const void *ctx, struct osr_diag *diag)
{
	const struct what *what = ctx;
	struct osr_arena arena = { 0 };
	struct osr_net net = { 0 };
	struct osr_lines in;
	struct osr_fabric fabric;
	enum osr_status st =
		osr_fabricfile_read(osr_lines_text(&in, text, what->n, "input", diag), &net);

	if (!st)
		st = osr_net_fabric(&net, -1, &arena, &fabric, diag);
	osr_net_free(&net);
	osr_arena_free(&arena);
	return st;
}

static enum osr_status once_traffic(const void *ctx, struct osr_diag *diag)
{
	const struct what *what = ctx;
	struct osr_traffic traffic = { .hosts = NULL };
	struct osr_arena arena = { 0 };
	struct osr_endports endports;
	struct osr_lines in;
	enum osr_status st = osr_endports_init(&endports, what->fabric, &arena, diag);

	if (!st)
		st = osr_traffic_read(osr_lines_text(&in, text, what->n, "input", diag), &endports,
				      &traffic);
	osr_traffic_free(&traffic);
	osr_arena_free(&arena);
	return st;
}

static enum osr_status once_hosts(const void *ctx, struct osr_diag *diag)
{
	const struct what *what = ctx;
	struct osr_arena arena = { 0 };
	struct osr_endports endports;
	uint32_t hosts[6], n;
	struct osr_lines in;
	enum osr_status st = osr_endports_init(&endports, what->fabric, &arena, diag);

	if (!st)
		st = osr_hostlist_read(osr_lines_text(&in, text, what->n, "input", diag), &endports,
				       hosts, &n);
	osr_arena_free(&arena);
	return st;
}

static size_t copy(const char *from)
{
	strcpy(text, from);
	return strlen(from);
}

static void test_memory(void **state)
{
	struct what what = { .fabric = fuzz_ring() };
	static const struct {
		const char *path;
		parse_fn parse;
	} tables[] = {
		{ OSR_CORPUS_DIR "/lfts/lfts", osr_tables_parse_lfts },
		{ OSR_CORPUS_DIR "/fdbs/fdbs", osr_tables_parse_lfts },
		{ OSR_CORPUS_DIR "/sl2vl/sl2vl", osr_tables_parse_sl2vl },
		{ OSR_CORPUS_DIR "/paths/path-sl", osr_tables_parse_paths },
		{ OSR_CORPUS_DIR "/mcfdbs/mcfdbs", osr_tables_parse_groups },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		what.parse = tables[i].parse;
		what.n = load(tables[i].path);
		assert_true(one_by_one(once_tables, &what) >= 5);
	}
	what.n = load(OSR_CORPUS_DIR "/subnet/subnet");
	assert_true(one_by_one(once_subnet, &what) >= 4);
	what.n = copy("lid:4 lid:5\nphase\n0x13 0x11\n");
	assert_true(one_by_one(once_traffic, &what) >= 3);
	what.n = copy("lid:4\n0x13\n");
	assert_true(one_by_one(once_hosts, &what) >= 2);
}

TEST_PROGRAM(test_taken, test_lmcs_with_holes, test_refused, test_hostlists, test_memory)
