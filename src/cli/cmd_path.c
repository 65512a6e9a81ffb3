/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The way of packets from one end port to another, switch by switch, as the tables say it: with ports, SL
 * and VL, for every LID of the receiver, and back. Or what uses a cable, or the cables that the hosts of a job share.
 */
#include <argp.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/endport.h"
#include "cli/path.h"

enum { OPT_ONE_WAY = 256, OPT_VIA, OPT_HOSTS, OPT_MAX, OPT_PAIRS };

static const struct argp_option options[] = {
	{ "one-way", OPT_ONE_WAY, NULL, 0, "only from A to B, not back", 0 },
	{ "via", OPT_VIA, "NODE:PORT", 0,
	  "no A and B: the hosts that send and receive over this cable, in both directions", 0 },
	{ "hosts", OPT_HOSTS, "LIST", 0,
	  "no A and B: the cables that these hosts of a job share, with the routes on each; names "
	  "with commas or brackets, or a file of them",
	  0 },
	{ "max", OPT_MAX, "N", 0, "via, hosts: list at most N of each kind, 0 for all (default 20)",
	  0 },
	{ "pairs", OPT_PAIRS, NULL, 0, "via: list the pairs of hosts as well", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct out_field head_fields[] = { CLI_INPUT_FIELDS,
						{ "tables", NULL, OUT_TEXT, 0 },
						{ "any_sl", NULL, OUT_BOOL, 0 },
						{ "cable", NULL, OUT_TEXT, 0 },
						{ NULL, NULL, 0, 0 } };

static const struct out_field path_fields[] = {
	{ "from", "from", OUT_TEXT, 0 },
	{ "to", "to", OUT_TEXT, 0 },
	{ "lid", "LID", OUT_COUNT, 0 },
	{ "sl", "SL", OUT_COUNT, 0 },
	{ "hops", "switches", OUT_COUNT, 0 },
	{ "minimal", NULL, OUT_COUNT, 0 },
	{ "arrives", "arrives", OUT_BOOL, 0 },
	{ "message", NULL, OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field hop_fields[] = {
	{ "lid", "LID", OUT_COUNT, 0 },
	{ "hop", "hop", OUT_COUNT, 0 },
	{ "node", "node", OUT_TEXT, 0 },
	{ "guid", NULL, OUT_TEXT, 0 },
	{ "in", "in", OUT_COUNT, 0 },
	{ "out", "out", OUT_COUNT, 0 },
	{ "vl", "VL", OUT_COUNT, 0 },
	{ "to", "to", OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "paths", OUT_ROWS, path_fields },
	{ "hops", OUT_ROWS, hop_fields },
	{ "directions", OUT_ROWS, path_direction_fields },
	{ "hosts", OUT_ROWS, path_host_fields },
	{ "pairs", OUT_ROWS, path_pair_fields },
	{ "cables", OUT_ROWS, path_cable_fields },
	{ NULL, 0, NULL },
};

/* ---- one path ------------------------------------------------------------------------------- */

struct path_walk {
	const struct path_args *a;
	struct out *out;
	uint32_t term, dest; /* from, to */
	uint8_t sl;
	uint32_t hop;
	const char *end; /* why it ends; NULL: it arrives */
};

static void say_hop(struct path_walk *path, const char *node, uint64_t guid, int in, int out,
		    uint8_t vl, const char *to)
{
	out_row(path->out, "hops");
	out_count(path->out, "lid", path->a->ask.src.in.fabric.dest_lid[path->dest]);
	out_count(path->out, "hop", path->hop++);
	out_text(path->out, "node", node);
	out_textf(path->out, "guid", "0x%016llx", (unsigned long long)guid);
	if (in >= 0)
		out_count(path->out, "in", (uint64_t)in);
	if (out >= 0)
		out_count(path->out, "out", (uint64_t)out);
	if (vl != OSR_VL_UNSET)
		out_count(path->out, "vl", vl);
	out_text(path->out, "to", to);
}

/* The last switch hands the packet to an end port; is it the right one? */
static void deliver(struct path_walk *path, uint32_t s, int in, uint8_t port)
{
	const struct osr_fabric *fabric = &path->a->ask.src.in.fabric;
	uint32_t t = fabric->dest_term[path->dest];
	uint8_t vl = port ? cli_source_switch_vl(&path->a->ask.src, s, (uint8_t)in, port, path->sl)
			  : OSR_VL_UNSET;
	bool right = fabric->term_switch[t] == s && fabric->term_port[t] == port;
	char sw[32], name[32];

	say_hop(path, osr_switch_name(fabric, s, sw), fabric->sw_guid[s], in, port, vl,
		right ? osr_terminal_name(fabric, t, name) : "another port");
	if (!right)
		path->end = "the last switch sends it to a port that is not the receiver's";
}

static void path_follow(struct path_walk *path)
{
	const struct cli_source *src = &path->a->ask.src;
	const struct osr_fabric *fabric = &src->in.fabric;
	uint32_t s = fabric->term_switch[path->term];
	int in = fabric->term_port[path->term];
	char name[32], next[32];

	if (in)
		say_hop(path, osr_terminal_name(fabric, path->term, name),
			fabric->term_guid[path->term], -1, -1,
			cli_source_term_vl(src, path->term, path->sl),
			osr_switch_name(fabric, s, next));
	for (uint32_t n = 0; n <= fabric->n_switches; n++) {
		uint8_t port = osr_lft(src->gen.routing, s, path->dest);
		uint32_t c;

		if (port == OSR_NO_PATH) {
			say_hop(path, osr_switch_name(fabric, s, name), fabric->sw_guid[s], in, -1,
				OSR_VL_UNSET, NULL);
			path->end = "the last switch has no entry for this LID";
			return;
		}
		c = osr_port_channel(fabric, s, port);
		if (c == OSR_NONE) {
			deliver(path, s, in, port);
			return;
		}
		say_hop(path, osr_switch_name(fabric, s, name), fabric->sw_guid[s], in, port,
			cli_source_switch_vl(src, s, (uint8_t)in, port, path->sl),
			osr_switch_name(fabric, fabric->chan_dst[c], next));
		s = fabric->chan_dst[c];
		in = fabric->chan_port[fabric->chan_rev[c]];
	}
	path->end = "forwarding loop: it never arrives";
}

/* Switches on the shortest way, both ends counted; 0: there is none. */
static enum osr_status shortest(const struct osr_fabric *fabric, uint32_t from, uint32_t to,
				struct osr_arena *scratch, uint32_t *n, struct osr_diag *diag)
{
	uint32_t *queue = osr_alloc(scratch, fabric->n_switches, sizeof(*queue));
	uint32_t *dist = osr_calloc(scratch, fabric->n_switches, sizeof(*dist));
	uint32_t end = 0;

	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	queue[end++] = from;
	dist[from] = 1;
	for (uint32_t i = 0; i < end && !dist[to]; i++)
		for (uint32_t c = fabric->chan_row[queue[i]]; c < fabric->chan_row[queue[i] + 1];
		     c++) {
			uint32_t v = fabric->chan_dst[c];

			if (dist[v])
				continue;
			dist[v] = dist[queue[i]] + 1;
			queue[end++] = v;
		}
	*n = dist[to];
	return OSR_OK;
}

static void say_path(struct path_walk *path, uint32_t minimal)
{
	const struct osr_fabric *fabric = &path->a->ask.src.in.fabric;
	char from[32], to[32];

	path->sl = cli_source_sl(&path->a->ask.src, path->term, path->dest);
	if (path->sl == OSR_NO_SL)
		path->end = "there is no path record: the subnet administrator gives no SL";
	else
		path_follow(path);
	out_row(path->out, "paths");
	out_text(path->out, "from", osr_terminal_name(fabric, path->term, from));
	out_text(path->out, "to", osr_terminal_name(fabric, fabric->dest_term[path->dest], to));
	out_count(path->out, "lid", fabric->dest_lid[path->dest]);
	if (path->sl != OSR_NO_SL)
		out_count(path->out, "sl", path->sl);
	out_count(path->out, "hops", path->hop - (path->hop && fabric->term_port[path->term]));
	out_count(path->out, "minimal", minimal);
	out_bool(path->out, "arrives", !path->end);
	out_text(path->out, "message", path->end);
	if (path->end)
		out_note(path->out, "%s to LID %u: %s", from, fabric->dest_lid[path->dest],
			 path->end);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static enum osr_status direction(struct path_args *a, uint32_t from, uint32_t to, int *code,
				 struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &a->ask.src.in.fabric;
	struct osr_arena scratch = { 0 };
	uint32_t minimal = 0, first = fabric->lid_dest[fabric->term_lid[to]];
	enum osr_status st = shortest(fabric, fabric->term_switch[from], fabric->term_switch[to],
				      &scratch, &minimal, diag);

	for (uint32_t d = first; !st && d < fabric->n_dests && fabric->dest_term[d] == to; d++) {
		struct path_walk path = { .a = a, .out = &a->ask.out, .term = from, .dest = d };

		say_path(&path, minimal);
		if (path.end)
			*code = CLI_BAD;
	}
	osr_arena_free(&scratch);
	return st;
}

/* From A to B and back. */
static enum osr_status path_from_to(struct path_args *a, int *code, struct osr_diag *diag)
{
	const struct cli_source *src = &a->ask.src;
	uint32_t term[2] = { 0, 0 };
	enum osr_status st = OSR_OK;

	for (unsigned i = 0; i < 2 && !st; i++)
		st = cli_find_terminal(&src->in.net, &src->in.fabric, a->ask.word[i], &term[i],
				       diag);
	if (!st && term[0] == term[1])
		st = osr_fail(diag, OSR_INVAL, "\"%s\" and \"%s\" are one end port", a->ask.word[0],
			      a->ask.word[1]);
	if (!st)
		st = direction(a, term[0], term[1], code, diag);
	if (!st && !a->one_way)
		st = direction(a, term[1], term[0], code, diag);
	return st;
}

static error_t path_parse(int key, char *arg, struct argp_state *state)
{
	struct path_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->ask;
		return 0;
	case OPT_ONE_WAY:
		a->one_way = true;
		return 0;
	case OPT_VIA:
		a->via = arg;
		a->ask.n_words = 0;
		return 0;
	case OPT_HOSTS:
		a->hosts = arg;
		a->ask.n_words = 0;
		return 0;
	case OPT_MAX:
		a->max = (uint32_t)cli_take_number(arg, "max", 0, 100000000, state);
		return 0;
	case OPT_PAIRS:
		a->pairs = true;
		return 0;
	case ARGP_KEY_END:
		if (a->via && a->hosts)
			argp_error(state, "either --via or --hosts");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cli_path(int argc, char **argv)
{
	static const struct argp_child children[] = { { .argp = &ask_argp }, { NULL } };
	static const struct argp argp = {
		.options = options,
		.parser = path_parse,
		.args_doc = "A B FILE|DIR\n--via=NODE:PORT FILE|DIR\n--hosts=LIST FILE|DIR",
		.doc = "Follows packets from end port A to end port B and back through the tables: "
		       "switches, ports, SL and VL, for every LID. Or lists what uses a cable, or "
		       "the cables that the hosts of a job share. Tables are those of an engine, "
		       "of DIR or --tables, or with --live those in the switches.",
		.children = children
	};
	struct path_args a = {
		.ask = { .src = CLI_SOURCE_INIT,
			 .out = { .command = "path", .sections = sections },
			 .n_words = 2,
			 .expected = "expected two end ports, A and B: by name, 0xGUID or lid:N" },
		.max = 20
	};
	const struct cli_source *src;
	int code;
	enum osr_status st;
	struct osr_diag diag = { "" };

	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &a);
	src = &a.ask.src;
	code = CLI_OK;
	st = cli_ask_begin(&a.ask, &diag);
	if (!st) {
		out_text(&a.ask.out, "tables", cli_source_name(src));
		out_bool(&a.ask.out, "any_sl", cli_source_any_sl(src));
		out_text(&a.ask.out, "cable", a.via);
		out_head(&a.ask.out, "tables of %s%s", cli_source_name(src),
			 cli_source_any_sl(src) ? "; senders may use any SL, shown is SL 0" : "");
		st = a.via     ? path_via(&a, &diag)
		     : a.hosts ? path_hosts(&a, &code, &diag)
			       : path_from_to(&a, &code, &diag);
	}
	return cli_ask_end(&a.ask, st, &diag, code);
}
