/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The way of packets from one end port to another, switch by switch, by the tables: with ports, SL
 * and VL, for every LID of the receiver, and back. Or the routes over a cable, or the cables that
 * the hosts of a job share.
 */

#include <osmroutes/each.h>
#include <osmroutes/grid.h>

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/source.h"
#include "io/endports.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define FEW_HOSTS 3 /* that load one of the busiest cables */

struct args {
	struct cli_run run;
	bool one_way;
	bool alone;              /* one word: a node, or none: the busiest cables */
	const char *via, *hosts; /* NODE:PORT; a list or a file of hosts; NULL: not asked */
	uint32_t max;            /* rows of each kind; 0: all */
	/* The output, unless it is a cable: */
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
	{ "lid", "LID", OUT_COUNT },
	{ "hop", "hop", OUT_COUNT },
	{ "node", "node", OUT_TEXT },
	{ "guid", NULL, OUT_GUID },
	{ "in", "in", OUT_COUNT },
	{ "out", "out", OUT_COUNT },
	{ "vl", "VL", OUT_COUNT },
	{ "step", "step", OUT_TEXT },
	{ "to", "to", OUT_TEXT },
	{ "from", NULL, OUT_TEXT },
	{ 0 },
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

/* For programs. */
static const struct out_field pair_fields[] = {
	{ "direction", NULL, OUT_COUNT },
	{ "lid", NULL, OUT_COUNT },
	{ "from", NULL, OUT_TEXT },
	{ "to", NULL, OUT_TEXT },
	{ 0 },
};

/*
 * The cables that the hosts of a job share: routes between them on each, with the SLs and virtual
 * lanes there.
 */
static const struct out_field cable_fields[] = {
	{ "routes", "routes", OUT_COUNT },
	{ "sls", "SLs", OUT_TEXT },
	{ "vls", "VLs", OUT_TEXT },
	CLI_CABLE_FIELDS,
	{ 0 },
};

/* One node at a glance. */
static const struct out_field node_fields[] = {
	{ "type", "type", OUT_TEXT },
	{ "guid", "node GUID", OUT_GUID },
	{ "lids", "LIDs", OUT_TEXT },
	{ "ports", NULL, OUT_COUNT },
	{ "cables", "cables", OUT_COUNT },
	{ "hosts", "hosts", OUT_COUNT },
	{ "state", NULL, OUT_TEXT },
	{ "node", "node", OUT_TEXT },
	{ 0 },
};

static const struct out_field port_fields[] = {
	{ "node", "node", OUT_TEXT },   { "port", "port", OUT_COUNT },
	{ "guid", NULL, OUT_GUID },     { "lids", "LIDs", OUT_TEXT },
	{ "rate", "rate", OUT_TEXT },   { "out", "out", OUT_COUNT },
	{ "in", "in", OUT_COUNT },      { "state", "state", OUT_TEXT },
	{ "to", "cable to", OUT_TEXT }, { 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields }, { "paths", OUT_ROWS, path_fields },
	{ "hops", OUT_ROWS, hop_fields },     { "directions", OUT_ROWS, direction_fields },
	{ "hosts", OUT_ROWS, host_fields },   { "pairs", OUT_ROWS, pair_fields },
	{ "cables", OUT_ROWS, cable_fields }, { "nodes", OUT_ROWS, node_fields },
	{ "ports", OUT_ROWS, port_fields },   { 0 },
};

/* ---- following a route ---------------------------------------------------------------------- */

static bool any_sl(const struct cli_run *run)
{
	return run->who.how.sl < 0 && !run->tables.gen.paths && !run->tables.gen.routing->sl;
}

/*
 * The SL of packets from a terminal to a dest; OSR_NO_SL: none is known. Any SL: that of --sl, or
 * 0.
 */
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
	const struct osr_fabric *fabric = &run->in.fabric;
	uint32_t to = fabric->dest_term[dest];
	struct hop hop = { .sw = fabric->term_switch[from], .in = fabric->term_port[from] };

	if (sl == OSR_NO_SL)
		return "there is no path record: the subnet administrator gives no SL";
	for (uint32_t n = 0; n <= fabric->n_switches; n++) {
		hop.out = osr_lft(run->tables.gen.routing, hop.sw, dest);
		hop.channel = hop.out == OSR_NO_PATH ? OSR_NONE
						     : osr_port_channel(fabric, hop.sw, hop.out);
		hop.vl = sl < 16 && hop.out && hop.out != OSR_NO_PATH
				 ? cli_gen_sl2vl(run->tables.gen.routing, fabric, hop.sw, hop.in,
						 hop.out)[sl]
				 : OSR_VL_UNSET;
		hop.right = hop.channel == OSR_NONE && hop.sw == fabric->term_switch[to] &&
			    hop.out == fabric->term_port[to];
		visit(ctx, &hop);
		if (hop.out == OSR_NO_PATH)
			return "the last switch has no entry for this LID";
		if (hop.channel == OSR_NONE)
			return hop.right ? NULL
					 : "the last switch sends it to a port that is not the "
					   "receiver's";
		hop.sw = fabric->chan_dst[hop.channel];
		hop.in = fabric->chan_port[fabric->chan_rev[hop.channel]];
	}
	return "forwarding loop: it never arrives";
}

/* ---- from A to B ---------------------------------------------------------------------------- */

struct walk {
	struct cli_run *run;
	const char *from;
	uint32_t dest, n_hops;
	/* Of a torus or mesh; NULL elsewhere: */
	const struct osr_grid *grid;
	uint8_t *dir; /* [n_switches] by which the route goes */
	uint32_t n_dirs, n_said;
	enum osr_grid_rule rule;
};

static void collect_dir(void *ctx, const struct hop *hop)
{
	struct walk *walk = ctx;

	if (hop->channel != OSR_NONE && walk->n_dirs < walk->run->in.fabric.n_switches)
		walk->dir[walk->n_dirs++] = walk->grid->dir[hop->channel];
}

/* "+X", or "-Y last": the last step, which breaks the order of directions. */
static const char *step_text(struct walk *walk, const struct hop *hop, char buf[16])
{
	static const char axes[] = "XYZKABCDEFGHIJL";
	uint32_t i = walk->n_said, dir;
	bool first, last;

	if (!walk->grid || hop->channel == OSR_NONE)
		return NULL;
	walk->n_said++;
	first = !i && (walk->rule == OSR_GRID_FIRST_STEP || walk->rule == OSR_GRID_BOTH_STEPS);
	last = i + 1 == walk->n_dirs &&
	       (walk->rule == OSR_GRID_LAST_STEP || walk->rule == OSR_GRID_BOTH_STEPS);
	dir = walk->grid->dir[hop->channel];
	snprintf(buf, 16, "%c%c%s%s", dir < walk->grid->n_dims ? '+' : '-',
		 axes[osr_grid_dim(walk->grid, dir)], first ? " first" : "", last ? " last" : "");
	return buf;
}

static void say_hop(void *ctx, const struct hop *hop)
{
	struct walk *walk = ctx;
	const struct osr_fabric *fabric = &walk->run->in.fabric;
	char name[32], to[32], step[16];
	const char *next = NULL;

	if (hop->channel != OSR_NONE)
		next = osr_switch_name(fabric, fabric->chan_dst[hop->channel], to);
	else if (hop->out != OSR_NO_PATH)
		next = hop->right ? osr_terminal_name(fabric, fabric->dest_term[walk->dest], to)
				  : "another port";
	OUT_ADD(&walk->run->out, "hops", fabric->dest_lid[walk->dest], walk->n_hops++,
		osr_switch_name(fabric, hop->sw, name), fabric->sw_guid[hop->sw], hop->in,
		hop->out == OSR_NO_PATH ? OUT_NO_COUNT : hop->out,
		hop->vl == OSR_VL_UNSET ? OUT_NO_COUNT : hop->vl, step_text(walk, hop, step), next,
		walk->from);
}

/* False: it does not arrive. */
static bool say_path(struct cli_run *run, uint32_t from, uint32_t dest)
{
	const struct osr_fabric *fabric = &run->in.fabric;
	struct walk walk = { .run = run, .dest = dest };
	struct osr_grid grid;
	struct osr_diag why;
	const struct osr_generation *gen = &run->tables.gen;
	uint8_t sl = sl_of(run, from, dest), vl = OSR_VL_UNSET;
	char name[32], to[32];
	bool is_host = fabric->term_port[from] && sl != OSR_NO_SL;
	const char *end;

	walk.from = osr_terminal_name(fabric, from, name);
	/* The VL on which it sends. */
	if (is_host && sl < 16)
		vl = gen->term_sl2vl       ? gen->term_sl2vl[from][sl]
		     : gen->routing->sl2vl ? gen->routing->ca_sl2vl[sl]
					   : sl;
	if (is_host)
		OUT_ADD(&run->out, "hops", fabric->dest_lid[dest], walk.n_hops++, walk.from,
			fabric->term_guid[from], OUT_NO_COUNT, OUT_NO_COUNT,
			vl == OSR_VL_UNSET ? OUT_NO_COUNT : vl, OUT_NO_TEXT,
			osr_switch_name(fabric, fabric->term_switch[from], to), walk.from);
	walk.dir = osr_alloc(&run->scratch, fabric->n_switches, 1);
	if (walk.dir && !osr_grid_find(fabric, &run->scratch, &grid, &why)) {
		walk.grid = &grid;
		follow(run, from, dest, sl, collect_dir, &walk);
		walk.rule = osr_grid_judge(&grid, walk.dir, walk.n_dirs);
	}
	end = follow(run, from, dest, sl, say_hop, &walk);
	OUT_ADD(&run->out, "paths", walk.from,
		osr_terminal_name(fabric, fabric->dest_term[dest], to), fabric->dest_lid[dest],
		sl == OSR_NO_SL ? OUT_NO_COUNT : sl, walk.n_hops - is_host, !end, end);
	if (end)
		out_note(&run->out, "%s to LID %u: %s", walk.from, fabric->dest_lid[dest], end);
	return !end;
}

/* ---- routes over a cable --------------------------------------------------------------------- */

struct direction {
	struct args *args;
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

static void count_pair(struct direction *direction, uint32_t from, uint32_t dest)
{
	const struct osr_fabric *fabric = &direction->args->run.in.fabric;
	uint32_t to = fabric->dest_term[dest];
	char x[32], y[32];

	direction->n_routes++;
	direction->to[from]++;
	direction->from[to]++;
	if (direction->args->max && direction->n_pairs_said >= direction->args->max)
		return;
	direction->n_pairs_said++;
	OUT_ADD(&direction->args->run.out, "pairs", direction->number, fabric->dest_lid[dest],
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

static uint32_t say_hosts(struct direction *direction, const char *role, const uint64_t *count,
			  struct osr_keyed *use)
{
	const struct osr_fabric *fabric = &direction->args->run.in.fabric;
	uint32_t n = rank_uses(count, fabric->n_terminals, use), max = direction->args->max;
	bool few = direction->args->alone;
	char name[32];

	max = few ? FEW_HOSTS : max;

	for (uint32_t i = 0; i < n && (!max || i < max); i++)
		OUT_ADD(&direction->args->run.out, "hosts", direction->number, role,
			count[use[i].index], fabric->term_lid[use[i].index],
			osr_terminal_name(fabric, use[i].index, name));
	if (max && n > max && !few)
		out_note(&direction->args->run.out, "direction %u: %u of %u %ss are listed (--max)",
			 direction->number, max, n, role);
	return n;
}

/* Routes that leave the node of this port of the net by it. */
static enum osr_status look(struct direction *direction, uint32_t port, struct osr_diag *diag)
{
	const struct cli_run *run = &direction->args->run;
	const struct osr_net *net = &run->in.net;
	const struct osr_fabric *fabric = &run->in.fabric;
	const struct osr_routing *routing = run->tables.gen.routing;
	const struct osr_net_node *node = &net->nodes[net->ports[port].node];
	uint32_t sw = osr_fabric_switch_by_guid(fabric, node->guid);
	uint32_t lid = net->ports[port].lid,
		 own = lid && lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;

	if (node->type == OSR_NET_SWITCH && sw == OSR_NONE)
		return osr_fail(diag, OSR_BUG, "link \"%s\": the switch is not in the fabric",
				direction->args->via);
	if (node->type != OSR_NET_SWITCH && own == OSR_NONE)
		return osr_fail(diag, OSR_INVAL, "link \"%s\": no end port with a LID on a switch",
				direction->args->via);
	/*
	 * Hosts whose packets leave the switch by the port, LID by LID. A packet that does not
	 * arrive crosses it too.
	 */
	OSR_EACH_DEST(dest, fabric) {
		uint32_t to = fabric->dest_term[dest];

		if (!is_host(fabric, to) ||
		    (sw != OSR_NONE && osr_lft(routing, sw, dest) != osr_net_port_num(net, port)))
			continue;
		OSR_EVERY_TERMINAL(t, fabric) {
			uint32_t v = fabric->term_switch[t], n = 0, c;

			if (!is_host(fabric, t) || t == to)
				continue;
			/*
			 * Packets of an end port take its one cable, if its switch knows the way.
			 */
			if (sw == OSR_NONE) {
				if (t == fabric->dest_term[own] &&
				    osr_lft(routing, v, dest) != OSR_NO_PATH)
					count_pair(direction, t, dest);
				continue;
			}
			while (v != OSR_NONE && v != sw && n++ < fabric->n_switches) {
				c = osr_port_channel(fabric, v, osr_lft(routing, v, dest));
				v = c == OSR_NONE ? OSR_NONE : fabric->chan_dst[c];
			}
			if (v == sw)
				count_pair(direction, t, dest);
		}
	}
	return OSR_OK;
}

static enum osr_status one_direction(struct args *args, uint32_t number, uint32_t port)
{
	struct osr_arena *scratch = &args->run.scratch;
	struct osr_diag *diag = &args->run.diag;
	const struct osr_net *net = &args->run.in.net;
	uint32_t n = args->run.in.fabric.n_terminals, peer = net->ports[port].peer, n_to;
	struct direction direction = { .args = args,
				       .number = number,
				       .to = osr_calloc(scratch, n, sizeof(*direction.to)),
				       .from = osr_calloc(scratch, n, sizeof(*direction.from)) };
	struct osr_keyed *use = osr_alloc(scratch, n, sizeof(*use));
	enum osr_status st =
		osr_arena_failed(scratch, diag) ? OSR_NOMEM : look(&direction, port, diag);

	if (st)
		return st;
	n_to = say_hosts(&direction, "sender", direction.to, use);
	OUT_ADD(&args->run.out, "directions", number, direction.n_routes, n_to,
		say_hosts(&direction, "receiver", direction.from, use));
	cli_say_cable(&args->run.out, osr_net_shown(net, net->ports[port].node),
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

static enum osr_status path_hosts(struct args *args)
{
	struct osr_arena *scratch = &args->run.scratch;
	const struct osr_fabric *fabric = &args->run.in.fabric;
	size_t n_channels = fabric->n_channels;
	struct job job = { .routes = osr_calloc(scratch, n_channels, sizeof(*job.routes)),
			   .sls = osr_calloc(scratch, n_channels, sizeof(*job.sls)),
			   .vls = osr_calloc(scratch, n_channels, sizeof(*job.vls)) };
	struct osr_keyed *use = osr_alloc(scratch, n_channels, sizeof(*use));
	uint64_t n_lost = 0;
	uint32_t n;
	char x[64], y[64];

	if (osr_arena_failed(scratch, &args->run.diag))
		return OSR_NOMEM;
	for (uint64_t i = 0; i < args->n_pairs; i++) {
		uint32_t from = args->pair[i].term, dest = args->pair[i].dest;

		job.sl = sl_of(&args->run, from, dest);
		n_lost += follow(&args->run, from, dest, job.sl, note_hop, &job) != NULL;
	}
	n = rank_uses(job.routes, fabric->n_channels, use);
	for (uint32_t i = 0; i < n && (!args->max || i < args->max); i++) {
		uint32_t c = use[i].index;

		OUT_ADD(&args->run.out, "cables", job.routes[c], bits_text(job.sls[c], x),
			bits_text(job.vls[c], y));
		cli_say_cable(&args->run.out, osr_switch_name(fabric, fabric->chan_src[c], x),
			      fabric->chan_port[c], osr_switch_name(fabric, fabric->chan_dst[c], y),
			      fabric->chan_port[fabric->chan_rev[c]]);
	}
	if (args->max && n > args->max)
		out_note(&args->run.out, "%u of %u channels are listed (--max)", args->max, n);
	out_head(&args->run.out, "%u hosts, %u end port%s, %llu routes between them", args->ends.n,
		 args->ends.n_rails, args->ends.n_rails == 1 ? "" : "s",
		 (unsigned long long)args->n_pairs);
	if (!n)
		out_note(&args->run.out, "no cable between switches is shared, or used at all");
	if (n_lost) {
		out_note(&args->run.out, "%llu routes between these hosts do not arrive",
			 (unsigned long long)n_lost);
		args->run.code = CLI_BAD;
	}
	return OSR_OK;
}

/* ---- one node, and the busiest cables --------------------------------------------------------- */

/* Routes between hosts, to all their LIDs, on every channel, and by the cable of every end port. */
struct loads {
	uint64_t *channel, *out, *in;
};

static void count_loads(const struct cli_run *run, struct loads *loads)
{
	const struct osr_fabric *fabric = &run->in.fabric;
	const struct osr_routing *routing = run->tables.gen.routing;

	for (uint64_t i = 0; i < (uint64_t)fabric->n_dests * fabric->n_switches; i++) {
		uint32_t d = (uint32_t)(i / fabric->n_switches), to = fabric->dest_term[d];
		uint32_t s = (uint32_t)(i % fabric->n_switches), v = s, c, n = 0;
		bool goes = is_host(fabric, to) && osr_lft(routing, s, d) != OSR_NO_PATH;

		for (uint32_t t = fabric->term_row[s]; goes && t < fabric->term_row[s + 1]; t++) {
			loads->out[t] += is_host(fabric, t) && t != to;
			n += is_host(fabric, t) && t != to;
		}
		for (uint32_t hops = 0; n && hops <= fabric->n_switches; hops++) {
			uint8_t port = osr_lft(routing, v, d);

			c = port == OSR_NO_PATH ? OSR_NONE : osr_port_channel(fabric, v, port);
			if (c == OSR_NONE) {
				loads->in[to] +=
					v == fabric->dest_switch[d] && port == fabric->term_port[to]
						? n
						: 0;
				break;
			}
			loads->channel[c] += n;
			v = fabric->chan_dst[c];
		}
	}
}

/* "17", or "16-19"; NULL: none. */
static const char *lids_text(const struct osr_net_port *port, char buf[32])
{
	snprintf(buf, 32, port->lmc ? "%u-%u" : "%u", port->lid, port->lid + (1u << port->lmc) - 1);
	return port->lid ? buf : NULL;
}

/* "drained", "held down", or NULL: of a switch (port 0) or a cable of it. */
static const char *state_of(const json_t *parts, uint64_t guid, uint32_t port)
{
	for (size_t i = 0; i < json_array_size(parts); i++) {
		const json_t *part = json_array_get(parts, i);
		const char *at = json_string_value(json_object_get(part, "guid"));

		if (at && strtoull(at, NULL, 16) == guid &&
		    json_integer_value(json_object_get(part, "port")) == port)
			return json_string_value(json_object_get(part, "why"));
	}
	return NULL;
}

static void say_port(struct args *args, const struct loads *loads, const json_t *parts, uint32_t p)
{
	const struct osr_net *net = &args->run.in.net;
	const struct osr_fabric *fabric = &args->run.in.fabric;
	uint32_t peer = net->ports[p].peer, node = net->ports[p].node, far = net->ports[peer].node;
	uint64_t guid = net->nodes[node].guid, there = net->nodes[far].guid;
	uint32_t s = osr_fabric_switch_by_guid(fabric, guid), n = osr_net_port_num(net, p);
	uint32_t c = s == OSR_NONE ? OSR_NONE : osr_port_channel(fabric, s, n);
	uint32_t end = s == OSR_NONE ? p : peer, lid = net->ports[end].lid;
	uint32_t d = lid && lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;
	uint32_t t = d == OSR_NONE ? OSR_NONE : fabric->dest_term[d];
	const char *own = state_of(parts, guid, n);
	char lids[32], rate[32] = "", to[160];
	uint8_t width, speed;
	uint64_t use[2] = { OUT_NO_COUNT, OUT_NO_COUNT };

	osr_net_link_rate(net, p, &width, &speed);
	if (width && speed)
		snprintf(rate, sizeof(rate), "%ux%s", width, osr_speed_name(speed));
	if (c != OSR_NONE) {
		use[0] = loads->channel[c];
		use[1] = loads->channel[fabric->chan_rev[c]];
	} else if (t != OSR_NONE) {
		use[s != OSR_NONE] = loads->out[t];
		use[s == OSR_NONE] = loads->in[t];
	}
	snprintf(to, sizeof(to), "%.128s:%u", osr_net_shown(net, far), osr_net_port_num(net, peer));
	OUT_ADD(&args->run.out, "ports", osr_net_shown(net, node), n,
		s == OSR_NONE ? net->ports[p].guid : OUT_NO_COUNT,
		s == OSR_NONE ? lids_text(&net->ports[p], lids) : NULL, *rate ? rate : NULL, use[0],
		use[1], own ? own : state_of(parts, there, osr_net_port_num(net, peer)), to);
}

static void say_node(struct args *args, const struct loads *loads, const json_t *parts,
		     uint32_t node)
{
	static const char *const types[] = { "host", "switch", "router" };
	const struct osr_net *net = &args->run.in.net;
	const struct osr_net_node *is = &net->nodes[node];
	uint32_t s = osr_fabric_switch_by_guid(&args->run.in.fabric, is->guid), n_cables = 0;
	const char *state = state_of(parts, is->guid, 0);
	char lids[32];

	for (uint32_t p = is->port_row + 1; p <= is->port_row + is->n_ports; p++) {
		if (net->ports[p].peer == OSR_NONE)
			continue;
		n_cables++;
		say_port(args, loads, parts, p);
	}
	OUT_ADD(&args->run.out, "nodes", types[is->type], is->guid,
		lids_text(&net->ports[is->port_row], lids), is->n_ports, n_cables,
		s == OSR_NONE ? OUT_NO_COUNT : args->run.in.fabric.sw_sources[s], state,
		osr_net_shown(net, node));
	if (state)
		out_note(&args->run.out, "%s is %s", osr_net_shown(net, node), state);
}

/* Each with a few of the hosts that load it. */
static enum osr_status say_busiest(struct args *args, const struct loads *loads)
{
	const struct osr_fabric *fabric = &args->run.in.fabric;
	const struct osr_net *net = &args->run.in.net;
	struct osr_keyed *use = osr_alloc(&args->run.scratch, fabric->n_channels, sizeof(*use));
	struct osr_keyed *node = osr_net_by_guid(net);
	enum osr_status st =
		osr_arena_failed(&args->run.scratch, &args->run.diag) || !node ? OSR_NOMEM : OSR_OK;
	uint32_t n = st ? 0 : rank_uses(loads->channel, fabric->n_channels, use), i;

	for (i = 0; i < n && (!args->max || i < args->max) && !st; i++) {
		uint64_t guid = fabric->sw_guid[fabric->chan_src[use[i].index]];
		uint32_t at = osr_keyed_at(node, net->n_nodes, guid);

		st = one_direction(
			args, i + 1,
			osr_net_port(net, node[at].index, fabric->chan_port[use[i].index]));
	}
	if (i < n)
		out_note(&args->run.out, "%u of %u channels are listed (--max)", i, n);
	free(node);
	return st;
}

/* One node with all its rails, or the busiest cables. */
static enum osr_status say_alone(struct args *args)
{
	const struct osr_fabric *fabric = &args->run.in.fabric;
	struct osr_arena *scratch = &args->run.scratch;
	struct loads loads = { .channel = osr_calloc(scratch, fabric->n_channels,
						     sizeof(*loads.channel)),
			       .out = osr_calloc(scratch, fabric->n_terminals, sizeof(*loads.out)),
			       .in = osr_calloc(scratch, fabric->n_terminals, sizeof(*loads.in)) };
	json_t *parts;

	if (osr_arena_failed(scratch, &args->run.diag))
		return OSR_NOMEM;
	count_loads(&args->run, &loads);
	if (!args->run.word[0])
		return say_busiest(args, &loads);
	out_head(&args->run.out, "routes between hosts by each cable, out of the node and in");
	/* Of the subnet manager on this machine, if that is the one. */
	parts = args->run.in.is_live ? cli_sm_parts() : NULL;
	for (uint32_t i = 0; i < args->ends.names.n_hits; i++)
		say_node(args, &loads, parts, args->ends.names.hit[i]->node);
	json_decref(parts);
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
	{ CLI_PART(ask_spec, struct args, run) },
	{ 0 },
};

static enum osr_status path_parse(int key, const char *arg, void *args, const struct cli_line *line)
{
	struct args *a = args;
	uint32_t words;

	(void)arg;
	if (key == CLI_ALL_OPTIONS && a->via && a->hosts)
		return osr_fail(line->diag, OSR_INVAL, "either --via or --hosts");
	if (key != CLI_ALL_OPTIONS)
		return OSR_NOT_APPLICABLE;
	/* Without two words before FILE: a node, or nothing. */
	words = line->n_words - !a->run.in.is_live;
	a->alone = !a->via && !a->hosts && words < 2;
	if (a->via || a->hosts || !line->n_words)
		a->run.n_words = 0;
	else if (a->alone)
		a->run.n_words = words;
	return OSR_NOT_APPLICABLE;
}

/* ---- questions ------------------------------------------------------------------------------- */

static enum osr_status take_host(void *ctx, struct osr_lines *in, const char *word, uint32_t slots)
{
	(void)slots;
	return cli_hosts_add(ctx, word, in->diag);
}

/*
 * Of one end port to another: for every LID, or for the base LID as programs send without
 * multipathing.
 */
static void add_pairs(struct args *args, const struct cli_rail *from, const struct cli_rail *to)
{
	const struct osr_fabric *fabric = &args->run.in.fabric;

	for (uint32_t d = fabric->lid_dest[fabric->term_lid[to->term]];
	     d < fabric->n_dests && fabric->dest_term[d] == to->term; d++) {
		if (args->pair)
			args->pair[args->n_pairs] = (struct cli_pair){ from->term, d };
		args->n_pairs++;
		if (args->hosts)
			break;
	}
}

/* Counts them, or fills args->pair. */
static void list_pairs(struct args *args)
{
	const struct cli_hosts *ends = &args->ends;
	uint32_t n_senders = args->one_way ? ends->row[1] : ends->n_rails;

	args->n_pairs = 0;
	for (uint32_t i = 0; i < n_senders; i++)
		for (uint32_t k = 0; k < ends->n_rails; k++)
			if (cli_rails_meet(ends, &ends->rail[i], &ends->rail[k]))
				add_pairs(args, &ends->rail[i], &ends->rail[k]);
}

/* A and B, or the hosts of a job: all their end ports, and who of them sends to whom. */
static enum osr_status name_ends(struct args *args)
{
	struct osr_arena *scratch = &args->run.scratch;
	struct osr_diag *diag = &args->run.diag;
	enum osr_status st = cli_hosts_init(&args->ends, &args->run.in, scratch, diag);
	struct osr_lines in;

	if (!st && args->hosts)
		st = osr_hostlist_each(cli_hostlist_open(&in, args->hosts, diag), take_host,
				       &args->ends);
	for (unsigned i = 0; i < 2 && !st && !args->hosts; i++)
		st = cli_hosts_add(&args->ends, args->run.word[i], diag);
	if (!st && args->ends.n < 2)
		st = args->hosts ? osr_fail(diag, OSR_INVAL, "--hosts: expected two hosts or more")
				 : osr_fail(diag, OSR_INVAL, "\"%s\" and \"%s\" are one end port",
					    args->run.word[0], args->run.word[1]);
	if (st)
		return st;
	list_pairs(args);
	args->pair = osr_alloc(scratch, args->n_pairs, sizeof(*args->pair));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	list_pairs(args);
	return OSR_OK;
}

/* A node with all its rails, or the cable NODE:PORT. */
static enum osr_status name_one(struct args *args)
{
	const char *word = args->run.word[0], *colon = word ? strrchr(word, ':') : NULL;
	enum osr_status st =
		cli_hosts_init(&args->ends, &args->run.in, &args->run.scratch, &args->run.diag);
	uint32_t port;

	if (!st && word)
		st = osr_names_host(&args->ends.names, word, OSR_NAME_ANY, &port, &args->run.diag);
	if (!st && colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")] &&
	    strncmp(word, "lid:", 4) != 0) {
		args->via = word;
		args->alone = false;
	}
	return st;
}

/* A path that does not arrive may be half of an old and half of a new one. */
static enum osr_status confirm(struct args *args)
{
	bool changed = false;
	enum osr_status st = args->run.code == CLI_BAD && args->run.tables.is_live
				     ? cli_live_again(&args->run.in.live, &changed, &args->run.diag)
				     : OSR_OK;

	return changed ? osr_fail(&args->run.diag, OSR_INVAL, "%s: ask again", CLI_FABRIC_CHANGED)
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

	/* Names first: the subnet administrator is asked only about the shown paths. */
	if (!st && a->alone)
		st = name_one(a);
	else if (!st && !a->via)
		st = name_ends(a);
	if (!st && a->via)
		st = cli_find_cable(&a->run.in.net, a->via, &port, &a->run.diag);
	sls->pair = a->pair;
	sls->n_pairs = a->n_pairs;
	if (a->via || a->alone)
		sls->sa = CLI_SA_NONE;
	if (!st)
		st = cli_run_tables(&a->run);
	if (st)
		return st;
	is_any = any_sl(&a->run) && !a->alone && !(a->via && a->run.tables.is_live);
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
	if (!st && a->alone)
		st = say_alone(a);
	for (uint64_t i = 0; i < a->n_pairs && !a->hosts; i++)
		if (!say_path(&a->run, a->pair[i].term, a->pair[i].dest))
			a->run.code = CLI_BAD;
	return st ? st : confirm(a);
}

const struct cli_command cli_path = {
	"path",
	"follow packets from A to B; what uses a cable; cables of a job",
	CLI_LOOK,
	{ options, path_parse,
	  "A B FILE|DIR\n[NODE[:PORT]] FILE|DIR\n--via=NODE:PORT FILE|DIR\n--hosts=LIST FILE|DIR",
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
