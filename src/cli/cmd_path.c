/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The way of packets from one end port to another, switch by switch, as the tables say it: with ports, SL
 * and VL, for every LID of the receiver, and back. Or what uses a cable, or the cables that the hosts of a job share.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/endport.h"
#include "cli/source.h"
#include "traffic/crossing.h"
#include "io/lines.h"

static const struct out_field head_fields[] = { CLI_INPUT_FIELDS,
						{ "tables", NULL, OUT_TEXT, 0 },
						{ "any_sl", NULL, OUT_BOOL, 0 },
						{ "cable", NULL, OUT_TEXT, 0 },
						{ 0 } };

static const struct out_field path_fields[] = {
	{ "from", "from", OUT_TEXT, 0 },
	{ "to", "to", OUT_TEXT, 0 },
	{ "lid", "LID", OUT_COUNT, 0 },
	{ "sl", "SL", OUT_COUNT, 0 },
	{ "hops", "switches", OUT_COUNT, 0 },
	{ "minimal", NULL, OUT_COUNT, 0 },
	{ "arrives", "arrives", OUT_BOOL, 0 },
	{ "message", NULL, OUT_TEXT, 0 },
	{ 0 },
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
	{ 0 },
};

struct path_args {
	struct cli_ask ask;
	bool one_way, pairs;
	const char *via, *hosts; /* NODE:PORT; a list or a file of hosts; NULL: not asked */
	uint32_t max;            /* rows of each kind; 0: all */
};

/*
 * The hosts that send over a cable and those that receive over it, in both directions.
 */
static const struct out_field path_direction_fields[] = {
	{ "direction", "direction", OUT_COUNT, 0 },
	{ "routes", "routes", OUT_COUNT, 0 },
	{ "senders", "senders", OUT_COUNT, 0 },
	{ "receivers", "receivers", OUT_COUNT, 0 },
	CLI_CABLE_FIELDS,
	{ 0 },
};

static const struct out_field path_host_fields[] = {
	{ "direction", "direction", OUT_COUNT, 0 },
	{ "role", "role", OUT_TEXT, 0 },
	{ "routes", "routes", OUT_COUNT, 0 },
	{ "lid", "LID", OUT_COUNT, 0 },
	{ "host", "host", OUT_TEXT, 0 },
	{ 0 },
};

static const struct out_field path_pair_fields[] = {
	{ "direction", "direction", OUT_COUNT, 0 },
	{ "lid", "LID", OUT_COUNT, 0 },
	{ "from", "from", OUT_TEXT, 0 },
	{ "to", "to", OUT_TEXT, 0 },
	{ 0 },
};

/* ---- one direction -------------------------------------------------------------------------- */

struct direction {
	struct path_args *a;
	uint32_t number; /* 1, 2 */
	uint32_t sender; /* the only one, if the cable comes from an end port; else OSR_NONE */
	uint64_t *to;    /* [n_terminals] routes that the host sends over the cable */
	uint64_t *from;  /* [n_terminals] routes to it over the cable */
	uint64_t n_routes;
	uint32_t n_pairs_said;
};

static bool users_is_host(const struct osr_fabric *fabric, uint32_t t)
{
	return fabric->term_role[t] != OSR_ROLE_SP0;
}

static void users_count_pair(struct direction *d, uint32_t from, uint32_t dest)
{
	uint32_t to = d->a->ask.in.fabric.dest_term[dest];
	const struct osr_fabric *fabric;
	char x[32], y[32];

	d->n_routes++;
	d->to[from]++;
	d->from[to]++;
	/* The pair by name, if pairs are asked for. */
	fabric = &d->a->ask.in.fabric;
	if (!d->a->pairs || (d->a->max && d->n_pairs_said >= d->a->max))
		return;
	d->n_pairs_said++;
	out_row(&d->a->ask.out, "pairs");
	out_count(&d->a->ask.out, "direction", d->number);
	out_count(&d->a->ask.out, "lid", fabric->dest_lid[dest]);
	out_text(&d->a->ask.out, "from", osr_terminal_name(fabric, from, x));
	out_text(&d->a->ask.out, "to", osr_terminal_name(fabric, fabric->dest_term[dest], y));
}

static void users_visit(void *ctx, uint32_t sw, uint32_t dest)
{
	struct direction *d = ctx;
	const struct osr_fabric *fabric = &d->a->ask.in.fabric;
	uint32_t to = fabric->dest_term[dest];

	if (!users_is_host(fabric, to))
		return;
	for (uint32_t t = fabric->term_row[sw]; t < fabric->term_row[sw + 1]; t++)
		if (users_is_host(fabric, t) && t != to)
			users_count_pair(d, t, dest);
}

/* What an end port sends takes its one cable, if its switch knows the way. */
static void visit_sender(struct direction *d)
{
	const struct osr_fabric *fabric = &d->a->ask.in.fabric;

	for (uint32_t dest = 0; dest < fabric->n_dests; dest++) {
		uint32_t to = fabric->dest_term[dest];

		if (to != d->sender && users_is_host(fabric, to) &&
		    osr_lft(d->a->ask.tables.gen.routing, fabric->term_switch[d->sender], dest) !=
			    OSR_NO_PATH)
			users_count_pair(d, d->sender, dest);
	}
}

/* Those with a count, most first; how many. */
static uint32_t rank_uses(const uint64_t *count, uint32_t n, struct osr_keyed *use)
{
	uint32_t n_used = 0;

	for (uint32_t i = 0; i < n; i++)
		if (count[i])
			use[n_used++] = (struct osr_keyed){ UINT64_MAX - count[i], i };
	osr_keyed_sort(use, n_used);
	return n_used;
}

static void users_say_hosts(struct direction *d, const char *role, const struct osr_keyed *use,
			    uint32_t n)
{
	const struct osr_fabric *fabric = &d->a->ask.in.fabric;
	struct out *out = &d->a->ask.out;
	char name[32];

	for (uint32_t i = 0; i < n && (!d->a->max || i < d->a->max); i++) {
		out_row(out, "hosts");
		out_count(out, "direction", d->number);
		out_text(out, "role", role);
		out_count(out, "routes", UINT64_MAX - use[i].key);
		out_count(out, "lid", fabric->term_lid[use[i].index]);
		out_text(out, "host", osr_terminal_name(fabric, use[i].index, name));
	}
	if (d->a->max && n > d->a->max)
		out_note(out, "direction %u: %u of %u %ss are listed (--max)", d->number, d->a->max,
			 n, role);
}

static void say_direction(struct direction *d, uint32_t port, struct osr_keyed *use)
{
	const struct osr_net *net = &d->a->ask.in.net;
	struct out *out = &d->a->ask.out;
	uint32_t peer = net->ports[port].peer, n_from, n_to;

	n_to = rank_uses(d->to, d->a->ask.in.fabric.n_terminals, use);
	users_say_hosts(d, "sender", use, n_to);
	n_from = rank_uses(d->from, d->a->ask.in.fabric.n_terminals, use);
	users_say_hosts(d, "receiver", use, n_from);
	out_row(out, "directions");
	out_count(out, "direction", d->number);
	out_count(out, "routes", d->n_routes);
	out_count(out, "senders", n_to);
	out_count(out, "receivers", n_from);
	cli_say_cable(out, osr_net_shown(net, net->ports[port].node), osr_net_port_num(net, port),
		      osr_net_shown(net, net->ports[peer].node), osr_net_port_num(net, peer));
}

/* The end port of a CA's or router's port: the one that hangs on its peer. */
static uint32_t terminal_at(const struct osr_fabric *fabric, const struct osr_net *net,
			    uint32_t port)
{
	uint32_t lid = net->ports[port].lid,
		 d = lid && lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;

	return d == OSR_NONE ? OSR_NONE : fabric->dest_term[d];
}

static enum osr_status users_look(struct direction *d, uint32_t port, struct osr_arena *scratch,
				  struct osr_diag *diag)
{
	struct path_args *a = d->a;
	const struct osr_net *net = &a->ask.in.net;
	const struct osr_net_node *node = &net->nodes[net->ports[port].node];
	const struct osr_fabric *fabric = &a->ask.in.fabric;
	uint32_t sw;

	d->sender = OSR_NONE;
	if (node->type != OSR_NET_SWITCH) {
		d->sender = terminal_at(fabric, net, port);
		if (d->sender == OSR_NONE)
			return osr_fail(diag, OSR_INVAL,
					"link \"%s\": no end port with a LID on a switch", a->via);
		visit_sender(d);
		return OSR_OK;
	}
	sw = osr_fabric_switch_by_guid(fabric, node->guid);
	if (sw == OSR_NONE)
		return osr_fail(diag, OSR_BUG, "link \"%s\": the switch is not in the fabric",
				a->via);
	return osr_crossing_each(fabric, a->ask.tables.gen.routing, sw,
				 (uint8_t)osr_net_port_num(net, port), scratch, users_visit, d,
				 diag);
}

static enum osr_status one_direction(struct path_args *a, uint32_t number, uint32_t port,
				     struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &a->ask.in.fabric;
	struct osr_arena scratch = { 0 };
	struct direction d = { .a = a, .number = number };
	struct osr_keyed *use = osr_alloc(&scratch, fabric->n_terminals, sizeof(*use));
	enum osr_status st;

	d.to = osr_calloc(&scratch, fabric->n_terminals, sizeof(*d.to));
	d.from = osr_calloc(&scratch, fabric->n_terminals, sizeof(*d.from));
	if (!use || !d.to || !d.from)
		st = osr_fail(diag, OSR_NOMEM, "out of memory for %u end ports",
			      fabric->n_terminals);
	else
		st = users_look(&d, port, &scratch, diag);
	if (!st)
		say_direction(&d, port, use);
	osr_arena_free(&scratch);
	return st;
}

/* Rows of these sections. *code is CLI_BAD where a pair of hosts has no path. */
static enum osr_status path_via(struct path_args *args, struct osr_diag *diag)
{
	const struct osr_net *net = &args->ask.in.net;
	uint32_t port = OSR_NONE;
	enum osr_status st = cli_find_cable(net, args->via, &port, diag);

	if (!st)
		st = one_direction(args, 1, port, diag);
	return st ? st : one_direction(args, 2, net->ports[port].peer, diag);
}

/* The cables that the hosts of a job share: routes between them on each, with the SLs and virtual lanes there. */
static const struct out_field path_cable_fields[] = {
	{ "routes", "routes", OUT_COUNT, 0 },
	{ "sls", "SLs", OUT_TEXT, 0 },
	{ "vls", "VLs", OUT_TEXT, 0 },
	CLI_CABLE_FIELDS,
	{ 0 },
};

struct job {
	const struct cli_ask *src;
	uint32_t *host; /* [n] terminals, in the order of the list */
	uint32_t n;
	bool *listed; /* [n_terminals] */
	/* [n_channels] of what goes over it; a bit for each SL and VL */
	uint64_t *routes;
	uint16_t *sls, *vls;
	struct osr_keyed *use;
	struct osr_diag *diag;
};

/* ---- the list ------------------------------------------------------------------------------- */

static bool path_take_host(void *context, const char *word)
{
	struct job *job = context;
	uint32_t term;

	if (cli_find_terminal(&job->src->in.net, &job->src->in.fabric, word, &term, job->diag))
		return false;
	if (!job->listed[term])
		job->host[job->n++] = term;
	job->listed[term] = true;
	return true;
}

/* ---- routes --------------------------------------------------------------------------------- */

/* Follows one route, and notes its SL and lane on each channel. False: it does not arrive. */
static bool follow(struct job *job, uint32_t from, uint32_t dest)
{
	const struct osr_fabric *fabric = &job->src->in.fabric;
	uint32_t s = fabric->term_switch[from], to = fabric->dest_term[dest];
	uint8_t in = fabric->term_port[from], sl = cli_ask_sl(job->src, from, dest);

	for (uint32_t n = 0; n < fabric->n_switches && sl != OSR_NO_SL; n++) {
		uint8_t port = osr_lft(job->src->tables.gen.routing, s, dest), vl;
		uint32_t c = port == OSR_NO_PATH ? OSR_NONE : osr_port_channel(fabric, s, port);

		if (c == OSR_NONE)
			return s == fabric->term_switch[to] && port == fabric->term_port[to];
		vl = cli_ask_switch_vl(job->src, s, in, port, sl);
		job->routes[c]++;
		job->sls[c] |= (uint16_t)(1u << sl);
		if (vl < 16)
			job->vls[c] |= (uint16_t)(1u << vl);
		s = fabric->chan_dst[c];
		in = fabric->chan_port[fabric->chan_rev[c]];
	}
	return false;
}

/* "0,3" */
static const char *bits_text(uint16_t bits, char buf[64])
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < 16; i++)
		if (bits >> i & 1)
			used += (size_t)snprintf(buf + used, 64 - used, "%s%u", used ? "," : "", i);
	return buf;
}

static void say_shared(const struct job *job, uint32_t max, struct out *out)
{
	const struct osr_fabric *fabric = &job->src->in.fabric;
	char x[64], y[64];
	uint32_t n = rank_uses(job->routes, fabric->n_channels, job->use);

	for (uint32_t i = 0; i < n && (!max || i < max); i++) {
		uint32_t c = job->use[i].index;

		out_row(out, "cables");
		out_count(out, "routes", job->routes[c]);
		out_text(out, "sls", bits_text(job->sls[c], x));
		out_text(out, "vls", bits_text(job->vls[c], y));
		cli_say_cable(out, osr_switch_name(fabric, fabric->chan_src[c], x),
			      fabric->chan_port[c], osr_switch_name(fabric, fabric->chan_dst[c], y),
			      fabric->chan_port[fabric->chan_rev[c]]);
	}
	if (max && n > max)
		out_note(out, "%u of %u channels are listed (--max)", max, n);
}

static enum osr_status path_hosts(struct path_args *args, int *code, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &args->ask.in.fabric;
	struct osr_arena arena = { 0 };
	struct job job = { .src = &args->ask, .diag = diag };
	uint64_t n_lost = 0;
	enum osr_status st = OSR_OK;

	job.host = osr_alloc(&arena, fabric->n_terminals, sizeof(*job.host));
	job.listed = osr_calloc(&arena, fabric->n_terminals, sizeof(*job.listed));
	job.routes = osr_calloc(&arena, fabric->n_channels, sizeof(*job.routes));
	job.sls = osr_calloc(&arena, fabric->n_channels, sizeof(*job.sls));
	job.vls = osr_calloc(&arena, fabric->n_channels, sizeof(*job.vls));
	job.use = osr_alloc(&arena, fabric->n_channels, sizeof(*job.use));
	if (osr_arena_failed(&arena, diag))
		st = OSR_NOMEM;
	if (!st) {
		struct osr_lines in;
		char *text;

		/* A host or a list of hosts on each line. */
		cli_hostlist_open(&in, args->hosts, job.diag);
		while (!st && osr_lines_next(&in, &text, &st))
			if (!cli_each_name(text, path_take_host, &job))
				st = *job.diag->text
					     ? OSR_INVAL
					     : osr_lines_fail(&in, "\"%.80s\" is no list of hosts",
							      text);
		osr_lines_close(&in);
	}
	if (!st && job.n < 2)
		st = osr_fail(diag, OSR_INVAL, "--hosts: expected two hosts or more");
	/* By the base LID of each receiver, as programs send without multipathing. */
	for (uint32_t i = 0; i < job.n && !st; i++)
		for (uint32_t k = 0; k < job.n; k++)
			if (k != i)
				n_lost += !follow(&job, job.host[i],
						  fabric->lid_dest[fabric->term_lid[job.host[k]]]);
	if (!st) {
		say_shared(&job, args->max, &args->ask.out);
		out_head(&args->ask.out, "%u hosts, %llu routes between them", job.n,
			 (unsigned long long)job.n * (job.n - 1));
	}
	if (n_lost) {
		out_note(&args->ask.out, "%llu routes between these hosts do not arrive",
			 (unsigned long long)n_lost);
		*code = CLI_BAD;
	}
	osr_arena_free(&arena);
	return st;
}

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "paths", OUT_ROWS, path_fields },
	{ "hops", OUT_ROWS, hop_fields },
	{ "directions", OUT_ROWS, path_direction_fields },
	{ "hosts", OUT_ROWS, path_host_fields },
	{ "pairs", OUT_ROWS, path_pair_fields },
	{ "cables", OUT_ROWS, path_cable_fields },
	{ 0 },
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
	out_count(path->out, "lid", path->a->ask.in.fabric.dest_lid[path->dest]);
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
	const struct osr_fabric *fabric = &path->a->ask.in.fabric;
	uint32_t t = fabric->dest_term[path->dest];
	uint8_t vl = port ? cli_ask_switch_vl(&path->a->ask, s, (uint8_t)in, port, path->sl)
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
	const struct cli_ask *src = &path->a->ask;
	const struct osr_fabric *fabric = &src->in.fabric;
	uint32_t s = fabric->term_switch[path->term];
	int in = fabric->term_port[path->term];
	char name[32], next[32];

	if (in)
		say_hop(path, osr_terminal_name(fabric, path->term, name),
			fabric->term_guid[path->term], -1, -1,
			cli_ask_term_vl(src, path->term, path->sl),
			osr_switch_name(fabric, s, next));
	for (uint32_t n = 0; n <= fabric->n_switches; n++) {
		uint8_t port = osr_lft(src->tables.gen.routing, s, path->dest);
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
			cli_ask_switch_vl(src, s, (uint8_t)in, port, path->sl),
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
	const struct osr_fabric *fabric = &path->a->ask.in.fabric;
	char from[32], to[32];

	path->sl = cli_ask_sl(&path->a->ask, path->term, path->dest);
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
	const struct osr_fabric *fabric = &a->ask.in.fabric;
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
	const struct cli_ask *src = &a->ask;
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

enum { OPT_VIA = 256, OPT_HOSTS };

static const struct cli_option options[] = {
	{ "one-way", NULL, "only from A to B, not back", CLI_FLAG(struct path_args, one_way) },
	{ "via", "NODE:PORT",
	  "no A and B: the hosts that send and receive over this cable, in both directions",
	  .key = OPT_VIA },
	{ "hosts", "LIST",
	  "no A and B: the cables that these hosts of a job share, with the routes on each; names "
	  "with commas or brackets, or a file of them",
	  .key = OPT_HOSTS },
	{ "max", "N", "via, hosts: list at most N of each kind, 0 for all (default 20)",
	  CLI_NUMBER(struct path_args, max, 0, 100000000) },
	{ "pairs", NULL, "via: list the pairs of hosts as well",
	  CLI_FLAG(struct path_args, pairs) },
	{ 0 },
};

static error_t path_parse(int key, char *arg, struct argp_state *state)
{
	struct path_args *a = state->input;

	if (key == ARGP_KEY_END && a->via && a->hosts)
		argp_error(state, "either --via or --hosts");
	if (key != OPT_VIA && key != OPT_HOSTS)
		return ARGP_ERR_UNKNOWN;
	*(key == OPT_VIA ? &a->via : &a->hosts) = arg;
	a->ask.n_words = 0;
	return 0;
}

static const struct cli_part parts[] = { { &ask_spec, offsetof(struct path_args, ask) }, { 0 } };

static const struct cli_spec spec = {
	.options = options,
	.parse = path_parse,
	.parts = parts,
	.args_doc = "A B FILE|DIR\n--via=NODE:PORT FILE|DIR\n--hosts=LIST FILE|DIR",
	.doc = "Follows packets from end port A to end port B and back through the tables: "
	       "switches, ports, SL and VL, for every LID. Or lists what uses a cable, or the "
	       "cables that the hosts of a job share. Tables are those of an engine, of DIR or "
	       "--tables, or with --live those in the switches.",
};

int cli_path(int argc, char **argv)
{
	struct path_args a = {
		.ask = { CLI_ASK_INIT("path", sections), .n_words = 2,
			 .expected = "expected two end ports, A and B: by name, 0xGUID or lid:N" },
		.max = 20
	};
	const struct cli_ask *src;
	int code;
	enum osr_status st;
	struct osr_diag diag = { "" };

	cli_parse(&spec, argc, argv, &a);
	src = &a.ask;
	code = CLI_OK;
	st = cli_ask_begin(&a.ask, &diag);
	if (!st) {
		out_text(&a.ask.out, "tables", cli_ask_name(src));
		out_bool(&a.ask.out, "any_sl", cli_ask_any_sl(src));
		out_text(&a.ask.out, "cable", a.via);
		out_head(&a.ask.out, "tables of %s%s", cli_ask_name(src),
			 cli_ask_any_sl(src) ? "; senders may use any SL, shown is SL 0" : "");
		st = a.via     ? path_via(&a, &diag)
		     : a.hosts ? path_hosts(&a, &code, &diag)
			       : path_from_to(&a, &code, &diag);
	}
	return cli_ask_end(&a.ask, st, &diag, code);
}
