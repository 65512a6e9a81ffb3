/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The way of packets from one end port to another, switch by switch, as the tables say it: with ports, SL
 * and VL, for every LID of the receiver, and back. Or what uses a cable, or the cables that the hosts of a job share.
 */

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/source.h"
#include "io/endports.h"

struct args {
	struct cli_run run;
	bool one_way, pairs;
	const char *via, *hosts; /* NODE:PORT; a list or a file of hosts; NULL: not asked */
	uint32_t max;            /* rows of each kind; 0: all */
	/* What is shown, unless it is a cable: */
	struct cli_hosts ends;
	struct cli_pair *pair; /* [n_pairs] grouped by the sender */
	uint64_t n_pairs;
};

static const struct out_field head_fields[] = { CLI_INPUT_FIELDS,
						{ "tables", NULL, OUT_TEXT },
						{ "any_sl", NULL, OUT_BOOL },
						{ "cable", NULL, OUT_TEXT },
						{ 0 } };

static const struct out_field path_fields[] = {
	{ "from", "from", OUT_TEXT },      { "to", "to", OUT_TEXT },
	{ "lid", "LID", OUT_COUNT },       { "sl", "SL", OUT_COUNT },
	{ "hops", "switches", OUT_COUNT }, { "arrives", "arrives", OUT_BOOL },
	{ "message", NULL, OUT_TEXT },     { 0 },
};

static const struct out_field hop_fields[] = {
	{ "lid", "LID", OUT_COUNT },  { "hop", "hop", OUT_COUNT },
	{ "node", "node", OUT_TEXT }, { "guid", NULL, OUT_GUID },
	{ "in", "in", OUT_COUNT },    { "out", "out", OUT_COUNT },
	{ "vl", "VL", OUT_COUNT },    { "to", "to", OUT_TEXT },
	{ "from", NULL, OUT_TEXT },   { 0 },
};

static const struct out_field direction_fields[] = {
	{ "direction", "direction", OUT_COUNT },
	{ "routes", "routes", OUT_COUNT },
	{ "senders", "senders", OUT_COUNT },
	{ "receivers", "receivers", OUT_COUNT },
	CLI_CABLE_FIELDS,
	{ 0 },
};

static const struct out_field host_fields[] = {
	{ "direction", "direction", OUT_COUNT },
	{ "role", "role", OUT_TEXT },
	{ "routes", "routes", OUT_COUNT },
	{ "lid", "LID", OUT_COUNT },
	{ "host", "host", OUT_TEXT },
	{ 0 },
};

static const struct out_field pair_fields[] = {
	{ "direction", "direction", OUT_COUNT },
	{ "lid", "LID", OUT_COUNT },
	{ "from", "from", OUT_TEXT },
	{ "to", "to", OUT_TEXT },
	{ 0 },
};

/* The cables that the hosts of a job share: routes between them on each, with the SLs and virtual lanes there. */
static const struct out_field cable_fields[] = {
	{ "routes", "routes", OUT_COUNT },
	{ "sls", "SLs", OUT_TEXT },
	{ "vls", "VLs", OUT_TEXT },
	CLI_CABLE_FIELDS,
	{ 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields }, { "paths", OUT_ROWS, path_fields },
	{ "hops", OUT_ROWS, hop_fields },     { "directions", OUT_ROWS, direction_fields },
	{ "hosts", OUT_ROWS, host_fields },   { "pairs", OUT_ROWS, pair_fields },
	{ "cables", OUT_ROWS, cable_fields }, { 0 },
};

/* ---- following a route ---------------------------------------------------------------------- */

static bool any_sl(const struct cli_run *run)
{
	return run->who.how.sl < 0 && !run->tables.gen.paths && !run->tables.gen.routing->sl;
}

/* The SL of packets from a terminal to a dest; OSR_NO_SL: none is known. Any SL: that of --sl, or 0. */
static uint8_t sl_of(const struct cli_run *run, uint32_t term, uint32_t dest)
{
	if (run->who.how.sl >= 0)
		return (uint8_t)run->who.how.sl;
	return any_sl(run) ? 0 : cli_gen_sl(&run->tables.gen, &run->in.fabric, term, dest);
}

struct hop {
	uint32_t sw, channel; /* the channel it takes; OSR_NONE: to an end port, or nowhere */
	uint8_t in, out, vl;
	bool right; /* it goes to the receiver */
};

/* Every switch on the way from a terminal to a dest. Why it ends; NULL: it arrives. */
static const char *follow(const struct cli_run *run, uint32_t from, uint32_t dest, uint8_t sl,
			  void (*visit)(void *ctx, const struct hop *hop), void *ctx)
{
	const struct osr_fabric *f = &run->in.fabric;
	uint32_t to = f->dest_term[dest];
	struct hop hop = { .sw = f->term_switch[from], .in = f->term_port[from] };

	if (sl == OSR_NO_SL)
		return "there is no path record: the subnet administrator gives no SL";
	for (uint32_t n = 0; n <= f->n_switches; n++) {
		hop.out = osr_lft(run->tables.gen.routing, hop.sw, dest);
		hop.channel =
			hop.out == OSR_NO_PATH ? OSR_NONE : osr_port_channel(f, hop.sw, hop.out);
		hop.vl = sl < 16 && hop.out && hop.out != OSR_NO_PATH
				 ? cli_gen_sl2vl(run->tables.gen.routing, f, hop.sw, hop.in,
						 hop.out)[sl]
				 : OSR_VL_UNSET;
		hop.right = hop.channel == OSR_NONE && hop.sw == f->term_switch[to] &&
			    hop.out == f->term_port[to];
		visit(ctx, &hop);
		if (hop.out == OSR_NO_PATH)
			return "the last switch has no entry for this LID";
		if (hop.channel == OSR_NONE)
			return hop.right ? NULL
					 : "the last switch sends it to a port that is not the "
					   "receiver's";
		hop.sw = f->chan_dst[hop.channel];
		hop.in = f->chan_port[f->chan_rev[hop.channel]];
	}
	return "forwarding loop: it never arrives";
}

/* ---- from A to B ---------------------------------------------------------------------------- */

struct walk {
	struct cli_run *run;
	const char *from;
	uint32_t dest, n_hops;
};

static void say_hop(void *ctx, const struct hop *hop)
{
	struct walk *w = ctx;
	const struct osr_fabric *f = &w->run->in.fabric;
	char name[32], to[32];
	const char *next = NULL;

	if (hop->channel != OSR_NONE)
		next = osr_switch_name(f, f->chan_dst[hop->channel], to);
	else if (hop->out != OSR_NO_PATH)
		next = hop->right ? osr_terminal_name(f, f->dest_term[w->dest], to)
				  : "another port";
	OUT_ADD(&w->run->out, "hops", f->dest_lid[w->dest], w->n_hops++,
		osr_switch_name(f, hop->sw, name), f->sw_guid[hop->sw], hop->in,
		hop->out == OSR_NO_PATH ? OUT_NO_COUNT : hop->out,
		hop->vl == OSR_VL_UNSET ? OUT_NO_COUNT : hop->vl, next, w->from);
}

/* False: it does not arrive. */
static bool say_path(struct cli_run *run, uint32_t from, uint32_t dest)
{
	const struct osr_fabric *f = &run->in.fabric;
	struct walk w = { .run = run, .dest = dest };
	const struct osr_generation *gen = &run->tables.gen;
	uint8_t sl = sl_of(run, from, dest), vl = OSR_VL_UNSET;
	char name[32], to[32];
	bool is_host = f->term_port[from] && sl != OSR_NO_SL;
	const char *end;

	w.from = osr_terminal_name(f, from, name);
	/* The VL on which it sends. */
	if (is_host && sl < 16)
		vl = gen->term_sl2vl       ? gen->term_sl2vl[from][sl]
		     : gen->routing->sl2vl ? gen->routing->ca_sl2vl[sl]
					   : sl;
	if (is_host)
		OUT_ADD(&run->out, "hops", f->dest_lid[dest], w.n_hops++, w.from,
			f->term_guid[from], OUT_NO_COUNT, OUT_NO_COUNT,
			vl == OSR_VL_UNSET ? OUT_NO_COUNT : vl,
			osr_switch_name(f, f->term_switch[from], to), w.from);
	end = follow(run, from, dest, sl, say_hop, &w);
	OUT_ADD(&run->out, "paths", w.from, osr_terminal_name(f, f->dest_term[dest], to),
		f->dest_lid[dest], sl == OSR_NO_SL ? OUT_NO_COUNT : sl, w.n_hops - is_host, !end,
		end);
	if (end)
		out_note(&run->out, "%s to LID %u: %s", w.from, f->dest_lid[dest], end);
	return !end;
}

/* ---- what uses a cable ---------------------------------------------------------------------- */

struct direction {
	struct args *a;
	uint32_t number; /* 1, 2 */
	uint64_t *to;    /* [n_terminals] routes that the host sends over the cable */
	uint64_t *from;  /* [n_terminals] routes to it over the cable */
	uint64_t n_routes;
	uint32_t n_pairs_said;
};

static bool is_host(const struct osr_fabric *fabric, uint32_t t)
{
	return fabric->term_role[t] != OSR_ROLE_SP0;
}

static void count_pair(struct direction *d, uint32_t from, uint32_t dest)
{
	const struct osr_fabric *fabric = &d->a->run.in.fabric;
	uint32_t to = fabric->dest_term[dest];
	char x[32], y[32];

	d->n_routes++;
	d->to[from]++;
	d->from[to]++;
	if (!d->a->pairs || (d->a->max && d->n_pairs_said >= d->a->max))
		return;
	d->n_pairs_said++;
	OUT_ADD(&d->a->run.out, "pairs", d->number, fabric->dest_lid[dest],
		osr_terminal_name(fabric, from, x), osr_terminal_name(fabric, to, y));
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

static uint32_t say_hosts(struct direction *d, const char *role, const uint64_t *count,
			  struct osr_keyed *use)
{
	const struct osr_fabric *fabric = &d->a->run.in.fabric;
	uint32_t n = rank_uses(count, fabric->n_terminals, use), max = d->a->max;
	char name[32];

	for (uint32_t i = 0; i < n && (!max || i < max); i++)
		OUT_ADD(&d->a->run.out, "hosts", d->number, role, count[use[i].index],
			fabric->term_lid[use[i].index],
			osr_terminal_name(fabric, use[i].index, name));
	if (max && n > max)
		out_note(&d->a->run.out, "direction %u: %u of %u %ss are listed (--max)", d->number,
			 max, n, role);
	return n;
}

/* What leaves the node of this port of the net by it. */
static enum osr_status look(struct direction *d, uint32_t port, struct osr_diag *diag)
{
	const struct cli_run *run = &d->a->run;
	const struct osr_net *net = &run->in.net;
	const struct osr_fabric *fabric = &run->in.fabric;
	const struct osr_routing *routing = run->tables.gen.routing;
	const struct osr_net_node *node = &net->nodes[net->ports[port].node];
	uint32_t sw = osr_fabric_switch_by_guid(fabric, node->guid);
	uint32_t lid = net->ports[port].lid,
		 own = lid && lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;

	if (node->type == OSR_NET_SWITCH && sw == OSR_NONE)
		return osr_fail(diag, OSR_BUG, "link \"%s\": the switch is not in the fabric",
				d->a->via);
	if (node->type != OSR_NET_SWITCH && own == OSR_NONE)
		return osr_fail(diag, OSR_INVAL, "link \"%s\": no end port with a LID on a switch",
				d->a->via);
	/* Hosts whose packets leave the switch by the port, LID by LID. What does not arrive crosses it all the same. */
	for (uint32_t dest = 0; dest < fabric->n_dests; dest++) {
		uint32_t to = fabric->dest_term[dest];

		if (!is_host(fabric, to) ||
		    (sw != OSR_NONE && osr_lft(routing, sw, dest) != osr_net_port_num(net, port)))
			continue;
		for (uint32_t t = 0; t < fabric->n_terminals; t++) {
			uint32_t v = fabric->term_switch[t], n = 0, c;

			if (!is_host(fabric, t) || t == to)
				continue;
			/* What an end port sends takes its one cable, if its switch knows the way. */
			if (sw == OSR_NONE) {
				if (t == fabric->dest_term[own] &&
				    osr_lft(routing, v, dest) != OSR_NO_PATH)
					count_pair(d, t, dest);
				continue;
			}
			while (v != OSR_NONE && v != sw && n++ < fabric->n_switches) {
				c = osr_port_channel(fabric, v, osr_lft(routing, v, dest));
				v = c == OSR_NONE ? OSR_NONE : fabric->chan_dst[c];
			}
			if (v == sw)
				count_pair(d, t, dest);
		}
	}
	return OSR_OK;
}

static enum osr_status one_direction(struct args *a, uint32_t number, uint32_t port)
{
	struct osr_arena *scratch = &a->run.scratch;
	struct osr_diag *diag = &a->run.diag;
	const struct osr_net *net = &a->run.in.net;
	uint32_t n = a->run.in.fabric.n_terminals, peer = net->ports[port].peer, n_to;
	struct direction d = { .a = a,
			       .number = number,
			       .to = osr_calloc(scratch, n, sizeof(*d.to)),
			       .from = osr_calloc(scratch, n, sizeof(*d.from)) };
	struct osr_keyed *use = osr_alloc(scratch, n, sizeof(*use));
	enum osr_status st = osr_arena_failed(scratch, diag) ? OSR_NOMEM : look(&d, port, diag);

	if (st)
		return st;
	n_to = say_hosts(&d, "sender", d.to, use);
	OUT_ADD(&a->run.out, "directions", number, d.n_routes, n_to,
		say_hosts(&d, "receiver", d.from, use));
	cli_say_cable(&a->run.out, osr_net_shown(net, net->ports[port].node),
		      osr_net_port_num(net, port), osr_net_shown(net, net->ports[peer].node),
		      osr_net_port_num(net, peer));
	return OSR_OK;
}

/* ---- the cables of a job -------------------------------------------------------------------- */

struct job {
	uint8_t sl; /* of the route that is followed */
	/* [n_channels] of what goes over it; a bit for each SL and VL */
	uint64_t *routes;
	uint16_t *sls, *vls;
};

static void note_hop(void *ctx, const struct hop *hop)
{
	struct job *job = ctx;

	if (hop->channel == OSR_NONE)
		return;
	job->routes[hop->channel]++;
	job->sls[hop->channel] |= (uint16_t)(1u << job->sl);
	if (hop->vl < 16)
		job->vls[hop->channel] |= (uint16_t)(1u << hop->vl);
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

static enum osr_status path_hosts(struct args *a)
{
	struct osr_arena *scratch = &a->run.scratch;
	const struct osr_fabric *fabric = &a->run.in.fabric;
	size_t n_channels = fabric->n_channels;
	struct job job = { .routes = osr_calloc(scratch, n_channels, sizeof(*job.routes)),
			   .sls = osr_calloc(scratch, n_channels, sizeof(*job.sls)),
			   .vls = osr_calloc(scratch, n_channels, sizeof(*job.vls)) };
	struct osr_keyed *use = osr_alloc(scratch, n_channels, sizeof(*use));
	uint64_t n_lost = 0;
	uint32_t n;
	char x[64], y[64];

	if (osr_arena_failed(scratch, &a->run.diag))
		return OSR_NOMEM;
	for (uint64_t i = 0; i < a->n_pairs; i++) {
		uint32_t from = a->pair[i].term, dest = a->pair[i].dest;

		job.sl = sl_of(&a->run, from, dest);
		n_lost += follow(&a->run, from, dest, job.sl, note_hop, &job) != NULL;
	}
	n = rank_uses(job.routes, fabric->n_channels, use);
	for (uint32_t i = 0; i < n && (!a->max || i < a->max); i++) {
		uint32_t c = use[i].index;

		OUT_ADD(&a->run.out, "cables", job.routes[c], bits_text(job.sls[c], x),
			bits_text(job.vls[c], y));
		cli_say_cable(&a->run.out, osr_switch_name(fabric, fabric->chan_src[c], x),
			      fabric->chan_port[c], osr_switch_name(fabric, fabric->chan_dst[c], y),
			      fabric->chan_port[fabric->chan_rev[c]]);
	}
	if (a->max && n > a->max)
		out_note(&a->run.out, "%u of %u channels are listed (--max)", a->max, n);
	out_head(&a->run.out, "%u hosts, %u end port%s, %llu routes between them", a->ends.n,
		 a->ends.n_rails, a->ends.n_rails == 1 ? "" : "s", (unsigned long long)a->n_pairs);
	if (!n)
		out_note(&a->run.out, "no cable between switches is shared, or used at all");
	if (n_lost) {
		out_note(&a->run.out, "%llu routes between these hosts do not arrive",
			 (unsigned long long)n_lost);
		a->run.code = CLI_BAD;
	}
	return OSR_OK;
}

/* ---- the command line ----------------------------------------------------------------------- */

static const struct cli_option options[] = {
	{ "one-way", NULL, "only from A to B, not back", CLI_FLAG(struct args, one_way) },
	{ "via", "NODE:PORT",
	  "no A and B: the hosts that send and receive over this cable, in both directions",
	  CLI_TEXT(struct args, via) },
	{ "hosts", "LIST",
	  "no A and B: the cables that these hosts of a job share, with the routes on each; names "
	  "with commas or brackets, or a file of them",
	  CLI_TEXT(struct args, hosts) },
	{ "max", "N", "via, hosts: list at most N of each kind, 0 for all (default 20)",
	  CLI_NUMBER(struct args, max, 0, 100000000) },
	{ "pairs", NULL, "via: list the pairs of hosts as well", CLI_FLAG(struct args, pairs) },
	{ CLI_PART(ask_spec, struct args, run) },
	{ 0 },
};

static enum osr_status path_parse(int key, const char *arg, void *args, const struct cli_line *line)
{
	struct args *a = args;

	(void)arg;
	if (key == CLI_ALL_OPTIONS && a->via && a->hosts)
		return osr_fail(line->diag, OSR_INVAL, "either --via or --hosts");
	if (key == CLI_ALL_OPTIONS && (a->via || a->hosts))
		a->run.n_words = 0;
	return OSR_NOT_APPLICABLE;
}

/* ---- what is asked for ---------------------------------------------------------------------- */

static enum osr_status take_host(void *ctx, struct osr_lines *in, const char *word, uint32_t slots)
{
	(void)slots;
	return cli_hosts_add(ctx, word, in->diag);
}

/* Of one end port to another: for every LID, or for the base LID as programs send without multipathing. */
static void add_pairs(struct args *a, const struct cli_rail *from, const struct cli_rail *to)
{
	const struct osr_fabric *f = &a->run.in.fabric;

	for (uint32_t d = f->lid_dest[f->term_lid[to->term]];
	     d < f->n_dests && f->dest_term[d] == to->term; d++) {
		if (a->pair)
			a->pair[a->n_pairs] = (struct cli_pair){ from->term, d };
		a->n_pairs++;
		if (a->hosts)
			break;
	}
}

/* Counts them, or fills a->pair. */
static void list_pairs(struct args *a)
{
	const struct cli_hosts *ends = &a->ends;
	uint32_t n_senders = a->one_way ? ends->row[1] : ends->n_rails;

	a->n_pairs = 0;
	for (uint32_t i = 0; i < n_senders; i++)
		for (uint32_t k = 0; k < ends->n_rails; k++)
			if (cli_rails_meet(ends, &ends->rail[i], &ends->rail[k]))
				add_pairs(a, &ends->rail[i], &ends->rail[k]);
}

/* A and B, or the hosts of a job: all their end ports, and who of them sends to whom. */
static enum osr_status name_ends(struct args *a)
{
	struct osr_arena *scratch = &a->run.scratch;
	struct osr_diag *diag = &a->run.diag;
	enum osr_status st = cli_hosts_init(&a->ends, &a->run.in, scratch, diag);
	struct osr_lines in;

	if (!st && a->hosts)
		st = osr_hostlist_each(cli_hostlist_open(&in, a->hosts, diag), take_host, &a->ends);
	for (unsigned i = 0; i < 2 && !st && !a->hosts; i++)
		st = cli_hosts_add(&a->ends, a->run.word[i], diag);
	if (!st && a->ends.n < 2)
		st = a->hosts ? osr_fail(diag, OSR_INVAL, "--hosts: expected two hosts or more")
			      : osr_fail(diag, OSR_INVAL, "\"%s\" and \"%s\" are one end port",
					 a->run.word[0], a->run.word[1]);
	if (st)
		return st;
	list_pairs(a);
	a->pair = osr_alloc(scratch, a->n_pairs, sizeof(*a->pair));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	list_pairs(a);
	return OSR_OK;
}

/* A path that does not arrive may be half of an old and half of a new one. */
static enum osr_status confirm(struct args *a)
{
	bool changed = false;
	enum osr_status st = a->run.code == CLI_BAD && a->run.tables.is_live
				     ? cli_live_again(&a->run.in.live, &changed, &a->run.diag)
				     : OSR_OK;

	return changed ? osr_fail(&a->run.diag, OSR_INVAL, "%s: ask again", CLI_FABRIC_CHANGED)
		       : st;
}

static enum osr_status path_work(void *args)
{
	struct args *a = args;
	struct out *out = &a->run.out;
	struct cli_sls *sls = &a->run.who.how.sls;
	enum osr_status st = cli_run_fabric(&a->run);
	uint32_t port = OSR_NONE;
	bool is_any;

	/* Names first: the subnet administrator is asked for what is shown alone. */
	if (!st)
		st = a->via ? cli_find_cable(&a->run.in.net, a->via, &port, &a->run.diag)
			    : name_ends(a);
	sls->pair = a->pair;
	sls->n_pairs = a->n_pairs;
	if (a->via)
		sls->sa = CLI_SA_NONE;
	if (!st)
		st = cli_run_tables(&a->run);
	if (st)
		return st;
	is_any = any_sl(&a->run) && !(a->via && a->run.tables.is_live);
	out_text(out, "tables", cli_run_name(&a->run));
	out_bool(out, "any_sl", is_any);
	out_text(out, "cable", a->via);
	out_head(out, "tables of %s%s", cli_run_name(&a->run),
		 is_any ? "; senders may use any SL, shown is SL 0" : "");
	if (a->via)
		st = one_direction(a, 1, port);
	if (!st && a->via)
		st = one_direction(a, 2, a->run.in.net.ports[port].peer);
	if (!st && a->hosts)
		st = path_hosts(a);
	for (uint64_t i = 0; i < a->n_pairs && !a->hosts; i++)
		if (!say_path(&a->run, a->pair[i].term, a->pair[i].dest))
			a->run.code = CLI_BAD;
	return st ? st : confirm(a);
}

const struct cli_command cli_path = {
	"path",
	"follow packets from A to B; what uses a cable; cables of a job",
	CLI_LOOK,
	{ options, path_parse, "A B FILE|DIR\n--via=NODE:PORT FILE|DIR\n--hosts=LIST FILE|DIR",
	  "Follows packets from end port A to end port B and back through the tables: "
	  "switches, ports, SL and VL, for every LID. Or lists what uses a cable, or the "
	  "cables that the hosts of a job share. Tables are those of an engine, of DIR or "
	  "--tables, or with --live those in the switches." },
	sections,
	CLI_ARGS(.run = { CLI_RUN_VERDICT, .n_words = 2,
			  .expected = "expected two end ports, A and B (by name, 0xGUID or lid:N), "
				      "and FILE" },
		 .max = 20),
	.work = path_work
};
