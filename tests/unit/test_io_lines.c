/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * No reader of a file passes over a line in silence. A right file of each kind is spoilt at every
 * line, as people and programs spoil files: a foreign line between two others, marks of diff, mail,
 * cat -n and grep -n before a line, two lines in one, the end cut off. The reader says what it has
 * read as text: it must refuse the file and name the line, or say the same as before, where this
 * test knows the line for a comment.
 */
#include "test.h"

#include <stdarg.h>
#include <unistd.h>

#include "../fuzz/fuzz.h"
#include "conf/options.h"
#include "io/namemap.h"
#include "io/netfile.h"
#include "io/tables.h"
#include "io/trafficfile.h"

/* ---- readers: what they have read, as text -------------------------------------------------- */

struct said {
	char *text;
	size_t size;
	FILE *out;
};

static void say_net(const struct osr_net *net, FILE *out)
{
	assert_int_equal(osr_netfile_write(net, NULL, out, NULL), OSR_OK);
	fprintf(out, "%u failures, %u at one end\n", net->n_failures, net->n_one_end);
}

static enum osr_status read_fabric(struct osr_lines *in, FILE *out, struct osr_diag *diag)
{
	struct osr_net net;
	enum osr_status st = osr_fabricfile_read(in, &net);

	if (!st)
		say_net(&net, out);
	osr_net_free(&net);
	return st;
}

static enum osr_status read_names(struct osr_lines *in, FILE *out, struct osr_diag *diag)
{
	struct osr_net net = { 0 };
	uint32_t n, n_known;
	enum osr_status st;

	for (uint64_t guid = 1; guid < 4; guid++)
		osr_net_found(&net, OSR_NET_SWITCH, 4, guid, "s", 1);
	st = osr_namemap_read(in, &net, &n, &n_known);
	if (!st)
		say_net(&net, out);
	osr_net_free(&net);
	return st;
}

static enum osr_status say_tables(osr_tables_parse_fn *parse, struct osr_lines *in, FILE *out,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = fuzz_ring();
	struct osr_arena arena = { 0 };
	struct osr_tables tables;
	bool same;
	enum osr_status st = osr_tables_init(&tables, fabric, NULL, &arena, diag);

	assert_int_equal(st, OSR_OK);
	st = osr_tables_read(&tables, in, parse);
	if (!st)
		st = osr_tables_finish(&tables, &same, diag);
	for (uint32_t i = 0; !st && i < fabric->n_dests * fabric->n_switches; i++)
		fprintf(out, "%u ", tables.routing.lft[i]);
	for (uint32_t s = 0; !st && tables.routing.sl2vl && s < fabric->n_switches; s++)
		for (unsigned i = 0; i < 25; i++)
			for (unsigned sl = 0; sl < 16; sl++)
				fprintf(out, "%u ", osr_tables_sl2vl(&tables, s, i / 5, i % 5)[sl]);
	for (uint32_t i = 0; !st && tables.term_sl2vl && i < fabric->n_terminals; i++)
		for (unsigned sl = 0; sl < 16; sl++)
			fprintf(out, "%u ", tables.term_sl2vl[i][sl]);
	for (uint32_t i = 0; !st && tables.paths.n_rows && i < fabric->n_terminals; i++)
		for (uint32_t d = 0; d < fabric->n_dests && tables.paths.row[i] != OSR_NONE; d++)
			fprintf(out, "%u ",
				tables.paths.sl[tables.paths.row[i] * fabric->n_dests + d]);
	for (uint32_t i = 0; !st && i < tables.groups.n; i++)
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			fprintf(out, "%u:%llx ", tables.groups.mlid[i],
				(unsigned long long)
					tables.groups.ports[i * fabric->n_switches + s][0]);
	osr_tables_free(&tables);
	osr_arena_free(&arena);
	return st;
}

static enum osr_status read_lfts(struct osr_lines *in, FILE *out, struct osr_diag *diag)
{
	return say_tables(osr_tables_parse_lfts, in, out, diag);
}

static enum osr_status read_sl2vl(struct osr_lines *in, FILE *out, struct osr_diag *diag)
{
	return say_tables(osr_tables_parse_sl2vl, in, out, diag);
}

static enum osr_status read_paths(struct osr_lines *in, FILE *out, struct osr_diag *diag)
{
	return say_tables(osr_tables_parse_paths, in, out, diag);
}

static enum osr_status read_groups(struct osr_lines *in, FILE *out, struct osr_diag *diag)
{
	return say_tables(osr_tables_parse_groups, in, out, diag);
}

static enum osr_status read_traffic(struct osr_lines *in, FILE *out, struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	struct osr_endports endports;
	struct osr_traffic traffic;
	enum osr_status st;

	assert_int_equal(osr_endports_init(&endports, fuzz_ring(), &arena, diag), OSR_OK);
	st = osr_traffic_read(in, &endports, &traffic);
	for (uint32_t i = 0; !st && i < traffic.phases.n_phases; i++)
		for (uint32_t k = traffic.phases.row[i]; k < traffic.phases.row[i + 1]; k++)
			fprintf(out, "%u: %u %u\n", i, traffic.phases.pair[k].from,
				traffic.phases.pair[k].to);
	for (uint32_t i = 0; !st && traffic.hosts && i < traffic.phases.n_ranks; i++)
		fprintf(out, "%u ", traffic.hosts[i]);
	osr_traffic_free(&traffic);
	osr_arena_free(&arena);
	return st;
}

static enum osr_status read_hosts(struct osr_lines *in, FILE *out, struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	uint32_t hosts[6], n;
	struct osr_endports endports;
	enum osr_status st;

	assert_int_equal(osr_endports_init(&endports, fuzz_ring(), &arena, diag), OSR_OK);
	st = osr_hostlist_read(in, &endports, hosts, &n);
	for (uint32_t i = 0; !st && i < n; i++)
		fprintf(out, "%u ", hosts[i]);
	osr_arena_free(&arena);
	return st;
}

static void say_values(const struct osr_values *values, const struct osr_param *table, FILE *out)
{
	for (unsigned row = 0; table && table[row].name; row++)
		if (table[row].type == OSR_PARAM_STRING)
			fprintf(out, "%s ", values->str[values->num[row]]);
		else
			fprintf(out, "%llu ", (unsigned long long)values->num[row]);
}

/*
 * osmroutes.conf is read from its path; the first mistake is what it would say of a refused file.
 */
static enum osr_status read_options(struct osr_lines *in, FILE *out, struct osr_diag *diag)
{
	static char path[] = "/tmp/osr-test-conf-XXXXXX";
	static FILE *file;
	struct osr_options options;
	int c;

	if (!file)
		file = fdopen(mkstemp(path), "w");
	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), 0), 0);
	rewind(file);
	while ((c = getc(in->in)) != EOF)
		putc(c, file);
	fflush(file);
	osr_lines_close(in);
	assert_true(osr_options_load(&options, path, ""));
	if (options.n_errors)
		osr_fail(diag, OSR_INVAL, "input%s", options.error[0].text + strlen(path));
	say_values(&options.own, osr_plugin_params, out);
	for (uint32_t e = 0; osr_engines[e]; e++)
		say_values(&options.engine[e], osr_engines[e]->params, out);
	c = (int)options.n_errors;
	osr_options_free(&options);
	return c ? OSR_INVAL : OSR_OK;
}

/* ---- right files ---------------------------------------------------------------------------- */

struct file {
	const char *name;
	enum osr_status (*read)(struct osr_lines *in, FILE *out, struct osr_diag *diag);
	const char *text;
	/* how its lines begin that mean nothing, besides #: a list between |, blanks left out */
	const char *comments;
	bool by_program; /* its end is known, so that it cannot be cut off unnoticed */
};

static const struct file files[] = {
	{ "ibnetdiscover", read_fabric,
	  "#\n# Topology file: generated on Tue Jun  5 14:15:10 2007\n#\n"
	  "# Initiated from node 0008f10403960558 port 0008f10403960559\n\n"
	  "Chassis 1 (guid 0x8f10400411f54)\n\n# Spine Nodes\n"
	  "vendid=0x8f1\ndevid=0x5a06\nsysimgguid=0x5442ba00003000\t\t# Chassis 1\n"
	  "switchguid=0x5442ba00003080(5442ba00003080)\t# ISR9288 Spine 1 Chip 1\n"
	  "Switch\t24 \"S-005442ba00003080\"\t\t# \"ISR9024 # x\" enhanced port 0 lid 8 lmc 2\n"
	  "[22][ext 5]\t\"H-0008f10403961354\"[1](8f10403961355) \t\t# \"MT \"1\"\" lid 4 4xSDR "
	  "s=1 w=2 v=4\n[12]\t\"R-0000000000000010\"[1](11) \t\t# \"gw\" lid 10 1xFDR10 s=4 w=1 "
	  "v=1\n"
	  "[3]\t\"S-005442ba00003080\"[4]\t\t# \"ISR9024 # x\" lid 8 4xQDR s=4 w=2 v=4\n"
	  "[4]\t\"S-005442ba00003080\"[3]\t\t# \"ISR9024 # x\" lid 8 4xQDR s=4 w=2 v=4\n\n"
	  "Non-Chassis Nodes\n\n"
	  "caguid=0x8f10403961354\n"
	  "Ca\t2 \"H-0008f10403961354\"\t\t# \"MT \"1\"\" (scp)\n"
	  "[1](8f10403961355) \t\"S-005442ba00003080\"[22][ext 3]\t\t# lid 4 lmc 1 \"ISR\" lid 8 "
	  "4xSDR s=1 w=2 v=4\n\nrtguid=0x10\nRt\t1 \"R-0000000000000010\"\t\t# \"gw\"\n"
	  "[1](11) \t\"S-005442ba00003080\"[12]\t\t# lid 10 lmc 0 \"ISR\" lid 8 4xFDR10 s=4 w=2 "
	  "v=1\n",
	  "Chassis 1|Non-Chassis|", true },
	{ "ibsim", read_fabric,
	  "switchguid=0x100\nspeed=2\nwidth=8\n"
	  "Switch 8 \"Switch1\"\n# a comment does not end the block\n"
	  "[1]\t\"Hca1\"[1]\tw=1 s=1\n[2]\t\"Hca2\"\n\n"
	  "hcaguids=0x700\nHca\t2 \"Hca1\"\n[1]\t\"Switch1\"[1]\te=2\n\n"
	  "Hca 1 \"Hca2\"\n[1] \"Switch1\"[2] # lid 5\n\n"
	  "caguid+0x30\nCa 1 \"Hca3\"\nmodule=\"box\"\nSwitch 4 \"leaf\"\n[1] \"leaf\"[1]\n",
	  "", false },
	{ "opensm-subnet.lst", read_fabric,
	  "{ CA-SM Ports:01 SystemGUID:0000000000003000 NodeGUID:0000000000003000 "
	  "PortGUID:0000000000003001 VenID:0002C9 DevID:D2F2 "
	  "Rev:000000A0 {h0} LID:0064 PN:01 } { SW Ports:40 SystemGUID:0000000000001000 "
	  "NodeGUID:0000000000001000 PortGUID:0000000000001000 VenID:000002C9 DevID:D2F2 "
	  "Rev:000000A0 {leaf} 0} LID:000A "
	  "PN:01 } PHY=4x LOG=ACT SPD=100\n"
	  "{ SW Ports:40 SystemGUID:0000000000001000 NodeGUID:0000000000001000 "
	  "PortGUID:0000000000001000 VenID:000002C9 DevID:D2F2 "
	  "Rev:000000A0 {leaf} 0} LID:000A PN:01 } { CA-SM Ports:01 SystemGUID:0000000000003000 "
	  "NodeGUID:0000000000003000 PortGUID:0000000000003001 VenID:0002C9 DevID:D2F2 "
	  "Rev:000000A0 {h0} LID:0064 PN:01 } "
	  "PHY=4x LOG=ACT SPD=100\n",
	  "", true },
	{ "opensm-lfts.dump", read_lfts,
	  "Unicast lids [0-6] of switch Lid 1 guid 0x0000000000000001 ('a'):\n"
	  "0x0001 000 # Switch portguid 0x0000000000000001: 'a'\n"
	  "0x0004 003 # Channel Adapter portguid 0x0000000000000011: 'h'\n"
	  "0x0005 001 # Channel Adapter portguid 0x0000000000000012: 'h'\n6 lids dumped\n"
	  "Unicast lids [0-6] of switch Lid 2 guid 0x0000000000000002 ('b'):\n"
	  "0x0004 002 # Channel Adapter portguid 0x0000000000000011: 'h'\n6 lids dumped\n",
	  "6 lids dumped|", false },
	{ "dump_lfts", read_lfts,
	  "Unicast lids [0x0-0x6] of switch DR path slid 0; dlid 0; 0,1 guid 0x0000000000000001 "
	  "(a):\n  Lid  Out   Destination\n       Port     Info \n"
	  "0x0004 003 : (Channel Adapter portguid 0x0000000000000011: 'h')\n"
	  "0x0005 001 : (path #2 out of 2: portguid 0x0000000000000012)\n"
	  "0x0006 001 : (unknown node and type)\n3 valid lids dumped \n",
	  "Lid  Out   Destination|Port     Info|3 valid lids dumped|", false },
	{ "opensm.fdbs", read_lfts,
	  "osm_ucast_mgr_dump_ucast_routes: Switch 0x0000000000000001\nLID    : Port : Hops : "
	  "Optimal\n0x0001 : 000  : 00   : yes\n0x0004 : 003  : 01   : yes\n"
	  "0x0005 : 001  : 03   : No 2 hop path possible via port 2!\n"
	  "0x0006 : UNREACHABLE\n\ndump_ucast_routes: Switch 0x0000000000000002\n"
	  "LID    : Port : Hops : Optimal\n0x0004 : 002  : HOPS UNKNOWN\n",
	  "LID    : Port|", false },
	{ "opensm-sl2vl.dump", read_sl2vl,
	  "Switch 0x0000000000000001, base LID 1, \"a\"\n"
	  "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n"
	  "#--------------------------------------------------------\n"
	  "0   1   : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 7 \n"
	  "2   1   : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 8 \n\n"
	  "Channel Adapter 0x0000000000000011, base LID 4, \"h\"\n"
	  "0   0   : 0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0 \n",
	  "", false },
	{ "sl2vl of ibdmchk", read_sl2vl,
	  "0x0000000000000001 2 1 0x01 0x23 0x45 0x67 0x89 0xab 0xcd 0xe7\n"
	  "0x0000000000000011 0 1 0x10 0x23 0x45 0x67 0x89 0xab 0xcd 0xef\n",
	  "", false },
	{ "opensm-path-sl.dump", read_paths,
	  "Senders on switch 0x0000000000000001 \"a\"\n0x0001 : 0010-11\n\n"
	  "Senders on switch 0x0000000000000002 \"b\"\n0x0001 : 010\n0x0005 : f\n",
	  "", false },
	{ "path SLs of end ports", read_paths,
	  "Channel Adapter 0x0000000000000011, base LID 4, \"h\"\n0x0005 : 3\n0x0006 : 4\n\n"
	  "Switch 0x0000000000000001, base LID 1, \"a\"\n0x0006 : 1\n",
	  "", false },
	{ "psl of ibdmchk", read_paths, "0x0000000000000011 5 3\n0x0000000000000011 6 4\n", "",
	  false },
	{ "opensm.mcfdbs", read_groups,
	  "\nSwitch 0x0000000000000001\nLID    : Out Port(s)\n0xC000 : 0x001  0x003 \n0xC001 : "
	  "0x002 \n\nSwitch 0x0000000000000002\nLID    : Out Port(s)\n0xC000 : 0x002  0x003 \n",
	  "LID    : Out|", false },
	{ "traffic", read_traffic,
	  "# of end ports\nphase one\na b\nlid:4 lid:6\nphase\n0x11 \"c d\" # back\n", "", false },
	{ "ranks", read_traffic, "ranks 4\nphase right\n0 1\n2 3\nphase left\n1 0\n", "", false },
	{ "hosts", read_hosts, "lid:4 slots=1\n\"c d\" # the third\n0x12\n", "", false },
	{ "node name map", read_names,
	  "# names\n0x0000000000000001 \"core-01\"\n\n0x2 \"leaf 2\" # in rack 7\n0x99 "
	  "\"elsewhere\"\n",
	  "", false },
	{ "osmroutes.conf", read_options,
	  "# ours\nmax_vls = 3\n\n[dfsssp]\n; a comment, too\nany_sl_cost = 7 # dear\n[dmodk]\n",
	  ";|", false },
};

#define N_FILES (sizeof(files) / sizeof(files[0]))

static char *read_text(const struct file *file, const char *text, struct osr_diag *diag)
{
	struct said said = { .text = NULL };
	struct osr_lines in;
	enum osr_status st;

	diag->text[0] = '\0';
	said.out = open_memstream(&said.text, &said.size);
	assert_non_null(said.out);
	osr_lines_text(&in, text, strlen(text), "input", diag);
	st = file->read(&in, said.out, diag);
	fclose(said.out);
	if (st) {
		free(said.text);
		said.text = NULL;
		if (st != OSR_INVAL || strncmp(diag->text, "input:", 6) != 0)
			fail_msg("%s: refused without a place: %s\n%s", file->name, diag->text,
				 text);
	}
	return said.text;
}

/* The line of the file that begins at `at`, counted from 1. */
static unsigned line_number(const struct file *file, const char *at)
{
	unsigned n = 1;

	for (const char *p = file->text; p < at; p++)
		n += *p == '\n';
	return n;
}

/* A line that this test knows to mean nothing in such a file. */
static bool is_comment(const struct file *file, const char *line, size_t n)
{
	const char *end = line + n;

	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	if (line == end || *line == '#')
		return true;
	for (const char *word = file->comments; *word;) {
		size_t len = strcspn(word, "|");

		if ((size_t)(end - line) >= len && !memcmp(line, word, len))
			return true;
		word += len + 1;
	}
	return false;
}

/* The files but for what stands between two places of it, where there is this instead. */
static char *spoilt(const struct file *file, const char *from, const char *to, const char *instead)
{
	char *text;

	assert_true(asprintf(&text, "%.*s%s%s", (int)(from - file->text), file->text, instead, to) >
		    0);
	return text;
}

/* Refused in this line, or read with the same result as the right file where that is allowed. */
static void expect_named(const struct file *file, const char *base, char *text, unsigned line,
			 bool may_be_same, const char *how)
{
	struct osr_diag diag;
	char *said = read_text(file, text, &diag), place[32];

	snprintf(place, sizeof(place), "input:%u: ", line);
	if (said && (!may_be_same || strcmp(said, base) != 0))
		fail_msg("%s: %s line %u: nothing is said of it\n%s", file->name, how, line, text);
	if (!said && strncmp(diag.text, place, strlen(place)) != 0)
		fail_msg("%s: %s line %u: another line is named: %s\n%s", file->name, how, line,
			 diag.text, text);
	free(said);
	free(text);
}

/* ---- the properties ------------------------------------------------------------------------- */

static const char *const foreign[] = {
	"hello world\n",
	"...\n",
	"Traceback (most recent call last):\n",
	"<pre>\n",
	"```\n",
	"@@ -1,7 +1,7 @@\n",
	"--- a/fabric.topo\n",
	"+++ b/fabric.topo\n",
	"<<<<<<< HEAD\n",
	"On Tue, 5 Jun 2007, A. Nyone wrote:\n",
	"$ ibnetdiscover | tee fabric.topo\n",
	"ibnetdiscover: iberror: failed: discover failed\n",
	"ibwarn: [4321] \"S-005442ba00003080\"[3]\n",
	"SubnGet() failed; MAD status 0x110 AM 0x3\n",
	"Segmentation fault (core dumped)\n",
	"Killed\n",
	"-- More --\n",
	"77\n",
	"0x\n",
	"+[1]\t\"S-005442ba00003080\"[22]\n",
	"> [1]\t\"S-005442ba00003080\"[22]\n",
	"[1] [2]\n",
	"numports = 24\n",
	"{ }\n",
	"} {\n",
	"{\"nodes\": []}\n",
	"//\n",
	"--\tcomment\n",
	"Switch\n",
	"Ca\n",
	"SW     2 36 0x0002c90109fb0000 4x SDR\n",
	"Switch\t: 0x0000000000001000 ports 24 \"leaf-1\" base port 0 lid 1 lmc 0\n",
	"CA: n1 HCA-1:\n",
	"Lid  Out   Destination 0x0004 001\n",
	"LID    : Port : Hops : Optimal 5\n",
	"6 lids dumped, 0x0004 001\n",
	"Unicast lids\n",
	"dump_ucast_routes: Switch\n",
	"0x0004 : \n",
	"0x0004 001 0x0005 002\n",
	"0x0004 : 001  : 02   : perhaps\n",
	"0xC000 0x001\n",
	"[no such engine]\n",
	"[dfsssp] max_vls = 2\n",
};

static void test_foreign_lines(void **state)
{
	struct osr_diag diag;

	for (size_t i = 0; i < N_FILES; i++) {
		const struct file *file = &files[i];
		char *base = read_text(file, file->text, &diag);

		if (!base)
			fail_msg("%s: a right file is refused: %s", file->name, diag.text);
		for (const char *at = file->text;; at = strchr(at, '\n') + 1) {
			for (size_t k = 0; k < sizeof(foreign) / sizeof(foreign[0]); k++)
				expect_named(file, base, spoilt(file, at, at, foreign[k]),
					     line_number(file, at), false, foreign[k]);
			if (!*at)
				break;
		}
		free(base);
	}
}

/* What people put before lines; the first three are blanks, which may be understood. */
static void test_marks(void **state)
{
	static const char *const marks[] = { " ",   "\t",       "    ",     "+",  "-",
					     "> ",  "< ",       ">> ",      "| ", "* ",
					     "12:", "file:12:", "    12\t", "$ ", "\xc2\xa0" };
	struct osr_diag diag;

	for (size_t i = 0; i < N_FILES; i++) {
		const struct file *file = &files[i];
		char *base = read_text(file, file->text, &diag);

		for (const char *at = file->text, *end; *at; at = end + 1) {
			end = strchr(at, '\n');
			for (size_t k = 0; k < sizeof(marks) / sizeof(marks[0]); k++)
				expect_named(file, base, spoilt(file, at, at, marks[k]),
					     line_number(file, at),
					     k < 3 || (is_comment(file, at, (size_t)(end - at)) &&
						       strchr(marks[k], '#')),
					     marks[k]);
		}
		free(base);
	}
}

/*
 * Two lines in one, the end cut off, and a line that is missing: refused, or nothing is lost. Which
 * line is named is open.
 */
static void test_lost_text(void **state)
{
	struct osr_diag diag;

	for (size_t i = 0; i < N_FILES; i++) {
		const struct file *file = &files[i];
		char *base = read_text(file, file->text, &diag);

		for (const char *at = file->text; *at && file->by_program; at++) {
			char *cut = strndup(file->text, (size_t)(at - file->text)), *said;

			said = read_text(file, cut, &diag);
			/*
			 * Of an opensm-subnet.lst a line may be missing: then the other end's
			 * stands alone, and that is said.
			 */
			if (said && strcmp(said, base) != 0 && !strstr(said, " 1 at one end"))
				fail_msg("%s: cut off without a word:\n%s", file->name, cut);
			free(said);
			free(cut);
		}
		for (const char *at = file->text, *end; file->read == read_fabric && *at;
		     at = end + 1) {
			char *joined, *said;

			end = strchr(at, '\n');
			joined = spoilt(file, end, end + 1, "");
			said = read_text(file, joined, &diag);
			if (said && strcmp(said, base) != 0 &&
			    !is_comment(file, at, (size_t)(end - at)) &&
			    !is_comment(file, end + 1, strcspn(end + 1, "\n")))
				fail_msg("%s: two lines in one without a word:\n%s", file->name,
					 joined);
			free(said);
			free(joined);
		}
		free(base);
	}
}

/*
 * Messages of ports that did not answer do not stop the reader, and are counted wherever they
 * stand.
 */
static void test_failures(void **state)
{
	static const char *const messages[] = {
		"src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,1,31 Attr 0x11:0) bad "
		"status 110; Connection timed out\n",
		"/var/tmp/OFED_topdir/BUILD/rdma-core/libibnetdisc/ibnetdisc.c:802; can't open MAD "
		"port ((null):0)\n",
		"ibwarn: [4321] _do_madrpc: recv failed: Connection timed out\n",
		"recv failed: Connection timed out\n",
	};
	struct osr_diag diag;

	for (size_t k = 0; k < sizeof(messages) / sizeof(messages[0]); k++)
		for (const char *at = files[0].text;; at = strchr(at, '\n') + 1) {
			char *text = spoilt(&files[0], at, at, messages[k]);
			char *said = read_text(&files[0], text, &diag);

			if (!said || !strstr(said, "1 failures, 0 at one end"))
				fail_msg("%s: %s\n%s", messages[k],
					 said ? "not counted" : diag.text, text);
			free(said);
			free(text);
			if (!*at)
				break;
		}
}

TEST_PROGRAM(test_foreign_lines, test_marks, test_lost_text, test_failures)
