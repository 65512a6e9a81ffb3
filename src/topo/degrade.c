/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Candidates are shuffled once and taken from the front until enough have gone. To keep the fabric
 * connected, each removal is tried, and undone if a walk over the switches no longer reaches all.
 */
#include "topo/topo.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/prng.h>
#include <osmroutes/set.h>

struct work {
	const struct osr_net *net;
	const struct osr_degrade *how;
	struct osr_prng prng;
	bool *gone;            /* [n_nodes] */
	bool *cut;             /* [n_ports] the cable at this port */
	uint32_t *list;        /* [n_ports] candidates */
	uint32_t *set;         /* [n_nodes] switches that hang together */
	bool *transit;         /* [n_nodes] */
	uint32_t n_components; /* of the switches that are left */
};

/* The switch at the other end of a cable that is still there, or OSR_NONE. */
static uint32_t degrade_neighbour(const struct work *work, uint32_t port)
{
	uint32_t peer = work->net->ports[port].peer;
	uint32_t node;

	if (peer == OSR_NONE || work->cut[port])
		return OSR_NONE;
	node = work->net->ports[peer].node;
	return osr_net_is_switch(work->net, node) && !work->gone[node] ? node : OSR_NONE;
}

static uint32_t count_components(struct work *work)
{
	const struct osr_net *net = work->net;
	uint32_t n = 0;

	osr_set_init(work->set, net->n_nodes);
	for (uint32_t i = 0; i < net->n_nodes; i++)
		n += osr_net_is_switch(net, i) && !work->gone[i];
	for (uint32_t p = 0; p < net->n_ports; p++) {
		uint32_t node = net->ports[p].node, t = degrade_neighbour(work, p);

		if (t != OSR_NONE && osr_net_is_switch(net, node) && !work->gone[node])
			n -= osr_set_join(work->set, node, t);
	}
	return n;
}

/* Is the net in more pieces than before this part went? Pieces from the start are allowed. */
static bool falls_apart(struct work *work)
{
	uint32_t n = work->how->keep_connected ? count_components(work) : 0,
		 before = work->n_components;

	osr_invariant(n <= work->net->n_nodes);
	work->n_components = n < before ? n : before;
	return n > before;
}

/* The hair added keeps 5 % of 100 from being 4 where 5.0 is not representable. */
static uint32_t degrade_share(uint32_t n, double percent, uint32_t more)
{
	return (uint32_t)floor(n * percent / 100.0 + 1e-9) + more;
}

/* With room for end[n_ports + 1] and n_hosts[n_nodes + 1]. */
static void find_transit(const struct osr_net *net, struct osr_end *end, uint32_t *n_hosts,
			 bool *transit)
{
	uint32_t n = 0, n_switches = 0;

	for (uint32_t i = 0; i < net->n_nodes; i++) {
		uint32_t first = net->nodes[i].port_row, last = first + net->nodes[i].n_ports;

		if (!osr_net_is_switch(net, i))
			continue;
		for (uint32_t p = first + 1; p <= last; p++) {
			uint32_t peer = net->ports[p].peer;
			uint32_t far = peer == OSR_NONE ? i : net->ports[peer].node;

			if (!osr_net_is_switch(net, far))
				end[n++] = (struct osr_end){ n_switches, p == last,
							     osr_net_name(net, far) };
		}
		n_switches++;
	}
	osr_count_hosts(end, n, n_hosts, n_switches);
	for (uint32_t i = 0, s = 0; i < net->n_nodes; i++)
		transit[i] = osr_net_is_switch(net, i) && !n_hosts[s++];
}

bool osr_topo_transit(const struct osr_net *net, bool *transit)
{
	struct osr_end *end = calloc((size_t)net->n_ports + 1, sizeof(*end));
	uint32_t *n_hosts = calloc((size_t)net->n_nodes + 1, sizeof(*n_hosts));
	bool enough = end && n_hosts;

	if (enough)
		find_transit(net, end, n_hosts, transit);
	free(end);
	free(n_hosts);
	return enough;
}

/*
 * Switches go first: their links are no candidates any more. Where no switch is asked for, as many
 * random numbers are drawn as ever since the first version, so that a seed names the same links.
 */
static uint32_t take_switches(struct work *work, uint32_t *wanted)
{
	const struct osr_net *net = work->net;
	uint32_t n = 0, n_bare = 0, want, done = 0;

	for (uint32_t i = 0; i < net->n_nodes; i++) {
		uint32_t p = net->nodes[i].port_row + 1, end = p + net->nodes[i].n_ports;

		if (!osr_net_is_switch(net, i))
			continue;
		if (work->how->hosts_too || work->transit[i])
			work->list[n++] = i;
		/* Without a CA, service CAs included. */
		while (p < end && (net->ports[p].peer == OSR_NONE ||
				   osr_net_is_switch(net, net->ports[net->ports[p].peer].node)))
			p++;
		n_bare += p == end;
	}
	*wanted = want = degrade_share(n, work->how->switches_percent, work->how->n_switches);
	if (!want && !work->how->hosts_too)
		n = n_bare;
	osr_prng_shuffle(&work->prng, work->list, n);
	for (uint32_t i = 0; i < n; i++) {
		if (done == want)
			break;
		work->gone[work->list[i]] = true;
		if (falls_apart(work))
			work->gone[work->list[i]] = false;
		else
			done++;
	}
	return done;
}

static uint32_t take_links(struct work *work, uint32_t *wanted)
{
	const struct osr_net *net = work->net;
	uint32_t n = 0, want, done = 0;

	for (uint32_t p = 0; p < net->n_ports; p++) {
		uint32_t t = degrade_neighbour(work, p);

		if (t != OSR_NONE && !work->gone[net->ports[p].node] &&
		    osr_net_is_switch(net, net->ports[p].node) && t != net->ports[p].node &&
		    p < net->ports[p].peer)
			work->list[n++] = p;
	}
	*wanted = want = degrade_share(n, work->how->links_percent, work->how->n_links);
	osr_prng_shuffle(&work->prng, work->list, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t p = work->list[i], peer = net->ports[p].peer;

		if (done == want)
			break;
		work->cut[p] = work->cut[peer] = true;
		if (falls_apart(work))
			work->cut[p] = work->cut[peer] = false;
		else
			done++;
	}
	return done;
}

/* CAs and routers whose every cable led to a switch that is gone. */
static void drop_orphans(struct work *work)
{
	const struct osr_net *net = work->net;

	for (uint32_t i = 0; i < net->n_nodes; i++) {
		const struct osr_net_node *node = &net->nodes[i];
		uint32_t had = 0, has = 0;

		if (osr_net_is_switch(net, i))
			continue;
		for (uint32_t p = node->port_row + 1; p <= node->port_row + node->n_ports; p++) {
			uint32_t peer = net->ports[p].peer;

			if (peer == OSR_NONE)
				continue;
			had++;
			has += !work->gone[net->ports[peer].node];
		}
		work->gone[i] |= had && !has;
	}
}

/* Copies the rest. `where` maps ports of `from` to ports of `to`. */
static enum osr_status copy_left(const struct work *work, struct osr_net *to, struct osr_diag *diag)
{
	const struct osr_net *from = work->net;
	uint32_t *where = work->list;

	for (uint32_t i = 0; i < from->n_nodes; i++) {
		const struct osr_net_node *node = &from->nodes[i];
		uint32_t t, name;

		for (uint32_t p = 0; p <= node->n_ports; p++)
			where[node->port_row + p] = OSR_NONE;
		if (work->gone[i])
			continue;
		t = osr_net_node(to, node->type, node->n_ports, osr_net_id(from, i));
		name = node->name == node->id ? 0
					      : osr_net_string(to, osr_net_name(from, i),
							       strlen(osr_net_name(from, i)));
		if (t == OSR_NONE || to->failed)
			break;
		osr_net_set_guid(to, t, node->guid);
		to->nodes[t].name = name ? name : to->nodes[t].id;
		to->nodes[t].sysimg_guid = node->sysimg_guid;
		to->nodes[t].vendid = node->vendid;
		to->nodes[t].devid = node->devid;
		to->nodes[t].enhanced_sp0 = node->enhanced_sp0;
		for (uint32_t p = 0; p <= node->n_ports; p++) {
			uint32_t at = to->nodes[t].port_row + p;

			where[node->port_row + p] = at;
			to->ports[at] = from->ports[node->port_row + p];
			to->ports[at].node = t;
			to->ports[at].peer = OSR_NONE;
		}
	}
	if (to->failed)
		return osr_net_status(to, diag);
	for (uint32_t p = 0; p < from->n_ports; p++) {
		uint32_t peer = from->ports[p].peer;

		if (peer == OSR_NONE || work->cut[p] || where[p] == OSR_NONE ||
		    where[peer] == OSR_NONE)
			continue;
		osr_invariant(where[p] < to->n_ports && where[peer] < to->n_ports);
		to->ports[where[p]].peer = where[peer];
	}
	return osr_net_status(to, diag);
}

enum osr_status osr_topo_remove(const struct osr_net *from, const bool *gone, const bool *cut,
				struct osr_net *to, struct osr_diag *diag)
{
	struct work work = { .net = from };
	enum osr_status st = OSR_NOMEM;

	*to = (struct osr_net){ 0 };
	work.gone = malloc((size_t)from->n_nodes + 1);
	work.cut = malloc((size_t)from->n_ports + 1);
	work.list = calloc((size_t)from->n_ports + 1, sizeof(*work.list));
	if (work.gone && work.cut && work.list) {
		memcpy(work.gone, gone, from->n_nodes);
		for (uint32_t p = 0; p < from->n_ports; p++) {
			uint32_t peer = from->ports[p].peer;

			work.cut[p] = cut[p] || (peer != OSR_NONE && cut[peer]);
		}
		drop_orphans(&work);
		st = copy_left(&work, to, diag);
	} else {
		osr_fail(diag, st, "out of memory for %" PRIu32 " nodes", from->n_nodes);
	}
	free(work.gone);
	free(work.cut);
	free(work.list);
	if (st)
		osr_net_free(to);
	return st;
}

enum osr_status osr_topo_choose(const struct osr_net *from, const struct osr_degrade *how,
				bool *gone, bool *cut, struct osr_degraded *done,
				struct osr_diag *diag)
{
	struct work work = {
		.net = from, .how = how, .prng.state = how->seed, .gone = gone, .cut = cut
	};
	bool enough;

	memset(gone, 0, from->n_nodes);
	memset(cut, 0, from->n_ports);
	work.list = calloc((size_t)from->n_ports + 1, sizeof(*work.list));
	work.set = calloc((size_t)from->n_nodes + 1, sizeof(*work.set));
	work.transit = calloc((size_t)from->n_nodes + 1, sizeof(*work.transit));
	enough = work.list && work.set && work.transit;
	if (enough) {
		work.n_components = count_components(&work);
		enough = osr_topo_transit(from, work.transit);
	}
	if (enough) {
		done->n_switches = take_switches(&work, &done->switches_wanted);
		done->n_links = take_links(&work, &done->links_wanted);
	}
	free(work.list);
	free(work.set);
	free(work.transit);
	return enough ? OSR_OK
		      : osr_fail(diag, OSR_NOMEM, "out of memory for %" PRIu32 " nodes",
				 from->n_nodes);
}
