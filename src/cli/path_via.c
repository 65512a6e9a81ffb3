/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The hosts that send over a cable and those that receive over it, in both directions.
 */
#include <stdlib.h>
#include <string.h>

#include "traffic/crossing.h"

#include "cli/endport.h"
#include "cli/path.h"

const struct out_field path_direction_fields[] = {
	{ "direction", "direction", OUT_COUNT, 0 },
	{ "routes", "routes", OUT_COUNT, 0 },
	{ "senders", "senders", OUT_COUNT, 0 },
	{ "receivers", "receivers", OUT_COUNT, 0 },
	CLI_CABLE_FIELDS,
	{ NULL, NULL, 0, 0 },
};

const struct out_field path_host_fields[] = {
	{ "direction", "direction", OUT_COUNT, 0 },
	{ "role", "role", OUT_TEXT, 0 },
	{ "routes", "routes", OUT_COUNT, 0 },
	{ "lid", "LID", OUT_COUNT, 0 },
	{ "host", "host", OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
};

const struct out_field path_pair_fields[] = {
	{ "direction", "direction", OUT_COUNT, 0 },
	{ "lid", "LID", OUT_COUNT, 0 },
	{ "from", "from", OUT_TEXT, 0 },
	{ "to", "to", OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
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
	uint32_t to = d->a->ask.src.in.fabric.dest_term[dest];
	const struct osr_fabric *fabric;
	char x[32], y[32];

	d->n_routes++;
	d->to[from]++;
	d->from[to]++;
	/* The pair by name, if pairs are asked for. */
	fabric = &d->a->ask.src.in.fabric;
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
	const struct osr_fabric *fabric = &d->a->ask.src.in.fabric;
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
	const struct osr_fabric *fabric = &d->a->ask.src.in.fabric;

	for (uint32_t dest = 0; dest < fabric->n_dests; dest++) {
		uint32_t to = fabric->dest_term[dest];

		if (to != d->sender && users_is_host(fabric, to) &&
		    osr_lft(d->a->ask.src.gen.routing, fabric->term_switch[d->sender], dest) !=
			    OSR_NO_PATH)
			users_count_pair(d, d->sender, dest);
	}
}

struct use {
	uint64_t n;
	uint32_t what;
};

static int by_use(const void *x, const void *y)
{
	const struct use *a = x, *b = y;

	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	return (a->what > b->what) - (a->what < b->what);
}

/* Those with a count, most first; how many. */
static uint32_t rank_uses(const uint64_t *count, uint32_t n, struct use *use)
{
	uint32_t n_used = 0;

	for (uint32_t i = 0; i < n; i++)
		if (count[i])
			use[n_used++] = (struct use){ count[i], i };
	qsort(use, n_used, sizeof(*use), by_use);
	return n_used;
}

static void users_say_hosts(struct direction *d, const char *role, const struct use *use,
			    uint32_t n)
{
	const struct osr_fabric *fabric = &d->a->ask.src.in.fabric;
	struct out *out = &d->a->ask.out;
	char name[32];

	for (uint32_t i = 0; i < n && (!d->a->max || i < d->a->max); i++) {
		out_row(out, "hosts");
		out_count(out, "direction", d->number);
		out_text(out, "role", role);
		out_count(out, "routes", use[i].n);
		out_count(out, "lid", fabric->term_lid[use[i].what]);
		out_text(out, "host", osr_terminal_name(fabric, use[i].what, name));
	}
	if (d->a->max && n > d->a->max)
		out_note(out, "direction %u: %u of %u %ss are listed (--max)", d->number, d->a->max,
			 n, role);
}

static void say_direction(struct direction *d, uint32_t port, struct use *use)
{
	const struct osr_net *net = &d->a->ask.src.in.net;
	struct out *out = &d->a->ask.out;
	uint32_t peer = net->ports[port].peer, n_from, n_to;

	n_to = rank_uses(d->to, d->a->ask.src.in.fabric.n_terminals, use);
	users_say_hosts(d, "sender", use, n_to);
	n_from = rank_uses(d->from, d->a->ask.src.in.fabric.n_terminals, use);
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
	const struct osr_net *net = &a->ask.src.in.net;
	const struct osr_net_node *node = &net->nodes[net->ports[port].node];
	const struct osr_fabric *fabric = &a->ask.src.in.fabric;
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
	return osr_crossing_each(fabric, a->ask.src.gen.routing, sw,
				 (uint8_t)osr_net_port_num(net, port), scratch, users_visit, d,
				 diag);
}

static enum osr_status one_direction(struct path_args *a, uint32_t number, uint32_t port,
				     struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &a->ask.src.in.fabric;
	struct osr_arena scratch = { 0 };
	struct direction d = { .a = a, .number = number };
	struct use *use = osr_alloc(&scratch, fabric->n_terminals, sizeof(*use));
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

enum osr_status path_via(struct path_args *args, struct osr_diag *diag)
{
	const struct osr_net *net = &args->ask.src.in.net;
	uint32_t port = OSR_NONE;
	enum osr_status st = cli_find_cable(net, args->via, &port, diag);

	if (!st)
		st = one_direction(args, 1, port, diag);
	return st ? st : one_direction(args, 2, net->ports[port].peer, diag);
}
