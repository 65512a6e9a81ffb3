/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One pass over the lines fills nodes and ports and notes the other end of each port; a second pass
 * over the ports ties the ends together.
 *
 * A line that is passed over is in the lists of headings, progress and failures below, or a
 * comment. All others are understood to their end, or refused: a line that vanished would be a
 * cable or a host that vanished.
 */
#include "netfile_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <search.h>

#define GIVE_NETDISCOVER ": give the output of ibnetdiscover without options"
#define GIVE_LST "of ibdiagnet: give its ibdiagnet2.lst, or the output of ibnetdiscover"
#define GIVE_TABLES "a file of tables, not of a fabric: give it by --tables"
#define NODE_LIST "a list of nodes (ibnetdiscover -l, ibswitches, ibhosts)" GIVE_NETDISCOVER
#define PORT_LIST "a list of ports (ibnetdiscover -p)" GIVE_NETDISCOVER
#define LINK_LIST "the output of iblinkinfo" GIVE_NETDISCOVER

enum line_kind {
	PASSED, /* headings, progress */
	COUNTED,
	REFUSED,
	OTHER_FILE,
};

/*
 * Lines outside of blocks: how they begin, a text that they hold, and the message if they are
 * refused.
 */
static const struct line {
	const char *begin, *holds;
	enum line_kind kind;
	const char *said;
} lines[] = {
	/* Of ibnetdiscover -g and -s. */
	{ "Hostname: ", "", PASSED, NULL },
	{ "Chassis %d", "", PASSED, NULL },
	{ "Non-Chassis Nodes", "", PASSED, NULL },
	{ "DR path slid ", " portnum ", PASSED, NULL },
	{ "Lid %d -> ", " portnum ", PASSED, NULL },
	/*
	 * Of the libraries below it, where standard error went into the file: that it ended, and of
	 * a port that did not answer, which the file may lack:
	 *	src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,1,31 Attr 0x11:0) bad status
	 *	110; Connection timed out
	 *	ibwarn: [4321] _do_madrpc: recv failed: Connection timed out
	 */
	{ "", "iberror: ", REFUSED, "the discovery ended with an error here" },
	{ "", "ibpanic: ", REFUSED, "the discovery ended with an error here" },
	{ "ibwarn: [%d]", "", COUNTED, NULL },
	{ "", ".c:", COUNTED, NULL },
	{ "", "timed out", COUNTED, NULL },
	/* Of ibsim. */
	{ "@", "", REFUSED, "aliases (@) are not supported, name nodes by their ids" },
	{ "include ", "", REFUSED, "include is not supported, a fabric is one file" },
	{ "do ", "", REFUSED, "do is not supported, a fabric is one file" },
	/* Files that are taken for a fabric, by their first line that counts. */
	{ "Switch : %x ", "ports", OTHER_FILE, NODE_LIST },
	{ "Ca : %x ", "ports", OTHER_FILE, NODE_LIST },
	{ "Router : %x ", "ports", OTHER_FILE, NODE_LIST },
	{ "SW %d %d %x ", "", OTHER_FILE, PORT_LIST },
	{ "CA %d %d %x ", "", OTHER_FILE, PORT_LIST },
	{ "RT %d %d %x ", "", OTHER_FILE, PORT_LIST },
	{ "Switch: %x ", ":", OTHER_FILE, LINK_LIST },
	{ "CA: ", ":", OTHER_FILE, LINK_LIST },
	{ "%x \"", "==(", OTHER_FILE, LINK_LIST },
	{ "\"", ", LID ", OTHER_FILE, "a net_dump " GIVE_LST },
	{ "START_", "", OTHER_FILE, "a db_csv " GIVE_LST },
	{ "Unicast lids ", "", OTHER_FILE, GIVE_TABLES },
	{ "dump_ucast_routes: ", "", OTHER_FILE, GIVE_TABLES },
	{ "Senders on switch %x", "", OTHER_FILE, GIVE_TABLES },
	{ "Switch %x", "", OTHER_FILE, GIVE_TABLES },
	{ "Channel Adapter %x", "", OTHER_FILE, GIVE_TABLES },
	{ "\x2b\x83\xe7\x8f", "", OTHER_FILE,
	  "a cache of ibnetdiscover: give what `ibnetdiscover --load-cache FILE` prints" },
};

/*
 * NULL: none of them. Nor is a line with the far end of a cable, which another one was written
 * into.
 */
static const struct line *find_line(const char *text, bool other_file)
{
	uint64_t number[3];

	if (strstr(text, "\"["))
		return NULL;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *at = text;

		if ((lines[i].kind == OTHER_FILE) == other_file &&
		    osr_scan(&at, lines[i].begin, &number[0], &number[1], &number[2]) &&
		    strstr(at, lines[i].holds))
			return &lines[i];
	}
	return NULL;
}

/* A line outside of blocks. */
static enum osr_status netfile_other_line(struct osr_netfile *netfile, const char *text)
{
	const struct line *line = find_line(text, false);
	const char *said = strchr("+-<>|", *text)
				   ? "a mark of a diff or of quoted mail begins the line"
				   : "neither a node, nor a port, a setting or a comment";
	char first[200];

	if (!line || line->kind == REFUSED)
		return osr_lines_fail(netfile->in, "%s: \"%.60s\"", line ? line->said : said, text);
	if (line->kind == COUNTED && !netfile->net->n_failures++) {
		snprintf(first, sizeof(first), "%" PRIu64 ": \"%.150s\"", netfile->in->number,
			 text);
		netfile->net->failure = osr_net_description(netfile->net, first, strlen(first));
	}
	return OSR_OK;
}

/* Nine of ten lines are ports: those first. An empty line ends a block, a comment does not. */
static enum osr_status netfile_take_line(struct osr_netfile *netfile, const char *text)
{
	const char *rest;
	enum osr_net_type type;
	bool known;
	enum osr_status st;

	/*
	 * Bytes that no text has. Escape, form feed and the 8-bit range are allowed, as host names
	 * may have them.
	 */
	for (const char *at = text; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if ((c < ' ' && !strchr("\t\r\f\v\x1b", c)) || c == 0x7f)
			return osr_lines_fail(netfile->in, "byte 0x%02x: this is not a text file",
					      c);
	}
	text += strspn(text, " \t\r");
	netfile->in_head &= *text == '#';
	if (*text == '[')
		return osr_netfile_port(netfile, text);
	/*
	 * The head says where a fabric comes from; a file made from it can repeat that. If a
	 * program wrote the file, its last line has an end: without one it may be half a line.
	 */
	if (netfile->in_head)
		fprintf(netfile->head, "%s\n", text + 1 + (text[1] == ' '));
	netfile->discovered |= !strncmp(text, "# Topology file: generated", 26);
	if (netfile->discovered || !strncmp(text, "# osmroutes ", 12))
		netfile->in->by_people = false;
	if (*text == '#')
		return OSR_OK;
	if (!*text) {
		netfile->node = OSR_NONE;
		return OSR_OK;
	}
	rest = text;
	if (osr_netfile_node_type(&rest, &type))
		return osr_netfile_header(netfile, type, rest);
	st = osr_netfile_setting(netfile, text, &known);
	if (st || known) {
		netfile->node = OSR_NONE;
		return st;
	}
	return netfile_other_line(netfile, text);
}

enum osr_status osr_netfile_read(struct osr_lines *in, struct osr_net *net)
{
	struct osr_netfile netfile = { .in = in, .net = net, .node = OSR_NONE, .in_head = true };
	const struct line *line;
	enum osr_status st = OSR_OK;
	size_t size;
	char *text;

	*net = (struct osr_net){ 0 };
	in->by_people = true;
	netfile.head = open_memstream(&net->comment, &size);
	if (!netfile.head)
		st = osr_lines_nomem(in);
	while (!st && osr_lines_next(in, &text, &st)) {
		st = netfile_take_line(&netfile, text);
		if (!st && net->failed)
			st = osr_lines_nomem(in);
	}
	if (netfile.head && (ferror(netfile.head) | fclose(netfile.head)) && !st)
		st = osr_lines_nomem(in);
	if (!st && net->n_nodes == 0)
		st = osr_fail(in->diag, OSR_INVAL,
			      "%s: no Switch, Ca or Rt in it: expected the output of ibnetdiscover "
			      "or an ibsim net file",
			      in->label);
	if (!st && netfile.discovered && !netfile.n_said)
		st = osr_lines_fail(in, "no node has a cable: is the file cut off?");
	if (!st)
		st = osr_netfile_guids(&netfile, true);
	if (!st)
		st = osr_netfile_tie(&netfile);
	free(netfile.said);
	tdestroy(netfile.ids, free);
	line = find_line(in->text + strspn(in->text, " \t"), true);
	if (st == OSR_INVAL && in->number && !net->n_nodes && line)
		osr_lines_fail(in, "this is %s", line->said);
	if (st)
		osr_net_free(net);
	return st;
}

enum osr_status osr_fabricfile_read(struct osr_lines *in, struct osr_net *net)
{
	enum osr_status st = osr_lines_peek(in) == '{' ? osr_subnetfile_read(in, net)
						       : osr_netfile_read(in, net);

	osr_lines_close(in);
	return st;
}
