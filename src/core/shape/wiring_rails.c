/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hosts with several ports, each of a rail of its own: port k of every host of a group is on the same leaf. The
 * plan of a host is that of the hosts that share at least half of its leaves, if three quarters of them agree.
 */
#include "core/shape/wiring.h"

#include <stdlib.h>
#include <string.h>

/* An end port: "dgx-07 mlx5_3" is of host dgx-07, its label is mlx5_3. */
struct rail_port {
	const char *name;
	uint32_t host_len;
	uint32_t term, leaf, host;
	uint32_t to; /* leaf where it belongs; OSR_NONE: where it is, or not known */
};

struct rails {
	const struct osr_fabric *f;
	struct rail_port *port; /* [n_ports] by host, then label */
	uint32_t n_ports, n_hosts;
	uint32_t *row;                /* [n_hosts + 1] of port */
	uint32_t *leaf_row, *leaf_of; /* ports by leaf: [n_switches + 1], [n_ports] */
	uint32_t *shared, *list; /* [n_hosts] leaves shared with the host at hand; which hosts */
	uint32_t *vote;          /* [n_switches] */
};

static const char *label_of(const struct rail_port *port)
{
	return port->name + port->host_len;
}

static int by_host(const void *x, const void *y)
{
	const struct rail_port *a = x, *b = y;
	uint32_t len = a->host_len < b->host_len ? a->host_len : b->host_len;
	int c = memcmp(a->name, b->name, len);

	c = c ? c : (a->host_len > b->host_len) - (a->host_len < b->host_len);
	c = c ? c : strcmp(label_of(a), label_of(b));
	return c ? c : (a->term > b->term) - (a->term < b->term);
}

static bool same_host(const struct rail_port *a, const struct rail_port *b)
{
	return a->host_len == b->host_len && !memcmp(a->name, b->name, a->host_len);
}

/* Only hosts with ports of several labels, each label once. */
static uint32_t rails_keep(struct rails *r, uint32_t lo, uint32_t hi, uint32_t n)
{
	for (uint32_t i = lo; i + 1 < hi; i++)
		if (!strcmp(label_of(&r->port[i]), label_of(&r->port[i + 1])))
			return n;
	if (hi - lo < 2)
		return n;
	r->row[r->n_hosts] = n;
	for (uint32_t i = lo; i < hi; i++) {
		r->port[n] = r->port[i];
		r->port[n++].host = r->n_hosts;
	}
	r->row[++r->n_hosts] = n;
	return n;
}

static void find_hosts(struct rails *r)
{
	const struct osr_fabric *fabric = r->f;
	uint32_t n = 0;

	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		const char *name = fabric->names + fabric->term_name[t];
		uint32_t len = (uint32_t)strcspn(name, " ");

		if (fabric->term_role[t] != OSR_ROLE_SP0 && name[len])
			r->port[r->n_ports++] = (struct rail_port){ .name = name,
								    .host_len = len,
								    .term = t,
								    .leaf = fabric->term_switch[t],
								    .to = OSR_NONE };
	}
	if (r->n_ports)
		qsort(r->port, r->n_ports, sizeof(*r->port), by_host);
	for (uint32_t lo = 0, hi; lo < r->n_ports; lo = hi) {
		for (hi = lo + 1; hi < r->n_ports && same_host(&r->port[lo], &r->port[hi]);)
			hi++;
		n = rails_keep(r, lo, hi, n);
	}
	r->n_ports = n;
}

static void index_leaves(struct rails *r)
{
	for (uint32_t i = 0; i < r->n_ports; i++)
		r->leaf_row[r->port[i].leaf + 1]++;
	for (uint32_t s = 0; s < r->f->n_switches; s++)
		r->leaf_row[s + 1] += r->leaf_row[s];
	for (uint32_t i = r->n_ports; i-- > 0;)
		r->leaf_of[--r->leaf_row[r->port[i].leaf + 1]] = i;
	/* Each row has moved down by one place. */
	memmove(r->leaf_row, r->leaf_row + 1, r->f->n_switches * sizeof(*r->leaf_row));
	r->leaf_row[r->f->n_switches] = r->n_ports;
}

/* Other hosts that have a port on at least half of the leaves of h, each in list[]; how many. */
static uint32_t find_alike(struct rails *r, uint32_t h)
{
	uint32_t n = 0, n_alike = 0, size = r->row[h + 1] - r->row[h];

	for (uint32_t i = r->row[h]; i < r->row[h + 1]; i++) {
		uint32_t leaf = r->port[i].leaf, last = h;

		for (uint32_t k = r->leaf_row[leaf]; k < r->leaf_row[leaf + 1]; k++) {
			uint32_t other = r->port[r->leaf_of[k]].host;

			/* Ports of a leaf are by host: each host counts once. */
			if (other == h || other == last)
				continue;
			last = other;
			if (!r->shared[other]++)
				r->list[n++] = other;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t other = r->list[i];

		if (2 * r->shared[other] >= size)
			r->list[n_alike++] = other;
		r->shared[other] = 0;
	}
	return n_alike;
}

static uint32_t find_label(const struct rails *r, uint32_t h, const char *label)
{
	for (uint32_t i = r->row[h]; i < r->row[h + 1]; i++)
		if (!strcmp(label_of(&r->port[i]), label))
			return i;
	return OSR_NONE;
}

/* Where three quarters of the hosts in list[] have this label; OSR_NONE: there is no such leaf. */
static uint32_t rails_vote(struct rails *r, uint32_t n_alike, const char *label)
{
	uint32_t n = 0, best = OSR_NONE, most = 0;

	for (uint32_t k = 0; k < n_alike; k++) {
		uint32_t i = find_label(r, r->list[k], label), leaf;

		if (i == OSR_NONE)
			continue;
		leaf = r->port[i].leaf;
		n++;
		if (++r->vote[leaf] > most) {
			most = r->vote[leaf];
			best = leaf;
		}
	}
	for (uint32_t k = 0; k < n_alike; k++) {
		uint32_t i = find_label(r, r->list[k], label);

		if (i != OSR_NONE)
			r->vote[r->port[i].leaf] = 0;
	}
	return n >= 3 && 4 * most >= 3 * n ? best : OSR_NONE;
}

/* How many ports of all hosts have a place; those elsewhere are told where. */
static uint32_t find_plan(struct rails *r, uint32_t *n_wrong)
{
	uint32_t n_known = 0;

	*n_wrong = 0;
	for (uint32_t h = 0; h < r->n_hosts; h++) {
		uint32_t n_alike = find_alike(r, h);

		for (uint32_t i = r->row[h]; i < r->row[h + 1]; i++) {
			uint32_t leaf = rails_vote(r, n_alike, label_of(&r->port[i]));

			n_known += leaf != OSR_NONE;
			if (leaf == OSR_NONE || leaf == r->port[i].leaf)
				continue;
			r->port[i].to = leaf;
			(*n_wrong)++;
		}
	}
	return n_known;
}

/* The other port of a swap: of this host, or else the first anywhere. */
static uint32_t find_partner(const struct rails *r, uint32_t i)
{
	const struct rail_port *port = &r->port[i];
	uint32_t found = OSR_NONE;

	for (uint32_t k = i + 1; k < r->n_ports; k++) {
		if (r->port[k].to != port->leaf || r->port[k].leaf != port->to)
			continue;
		if (r->port[k].host == port->host)
			return k;
		found = found == OSR_NONE ? k : found;
	}
	return found;
}

static void name_rail_faults(struct rails *r, struct osr_wiring *wiring)
{
	for (uint32_t i = 0; i < r->n_ports; i++) {
		struct rail_port *port = &r->port[i];
		uint32_t k = port->to == OSR_NONE ? OSR_NONE : find_partner(r, i);

		if (port->to == OSR_NONE)
			continue;
		wiring->rail_fault[wiring->n_rail_faults++] =
			(struct osr_rail_fault){ .term = port->term,
						 .other =
							 k == OSR_NONE ? OSR_NONE : r->port[k].term,
						 .to = port->to };
		if (k != OSR_NONE)
			r->port[k].to = OSR_NONE;
	}
}

/* Do two ports of one host differ in their leaves anywhere? Else a host is on one leaf, and has no rails. */
static bool has_rails(const struct rails *r)
{
	uint32_t n = 0;

	for (uint32_t h = 0; h < r->n_hosts; h++)
		n += r->port[r->row[h]].leaf != r->port[r->row[h + 1] - 1].leaf;
	return 2 * n > r->n_hosts;
}

static bool rails_alloc(struct rails *r, struct osr_arena *scratch)
{
	size_t n = (size_t)r->f->n_terminals + 1, n_switches = (size_t)r->f->n_switches + 2;

	r->port = osr_alloc(scratch, n, sizeof(*r->port));
	r->row = osr_alloc(scratch, n, sizeof(*r->row));
	r->leaf_of = osr_alloc(scratch, n, sizeof(*r->leaf_of));
	r->shared = osr_calloc(scratch, n, sizeof(*r->shared));
	r->list = osr_alloc(scratch, n, sizeof(*r->list));
	r->leaf_row = osr_calloc(scratch, n_switches, sizeof(*r->leaf_row));
	r->vote = osr_calloc(scratch, n_switches, sizeof(*r->vote));
	return r->port && r->row && r->leaf_of && r->shared && r->list && r->leaf_row && r->vote;
}

enum osr_status osr_wiring_rails(const struct osr_fabric *fabric, struct osr_arena *scratch,
				 struct osr_arena *result, struct osr_wiring *wiring,
				 struct osr_diag *diag)
{
	struct rails r = { .f = fabric };
	uint32_t n_known, n_wrong;

	if (!rails_alloc(&r, scratch))
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u end ports",
				fabric->n_terminals);
	find_hosts(&r);
	if (!r.n_hosts || !has_rails(&r))
		return OSR_OK;
	index_leaves(&r);
	n_known = find_plan(&r, &n_wrong);
	if (2 * n_known < r.n_ports || 10 * n_wrong > n_known)
		return OSR_OK;
	wiring->rail_fault = osr_alloc(result, (size_t)n_wrong + 1, sizeof(*wiring->rail_fault));
	if (!wiring->rail_fault)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u end ports", n_wrong);
	wiring->n_rail_hosts = r.n_hosts;
	wiring->n_rails = r.n_ports / r.n_hosts;
	name_rail_faults(&r, wiring);
	return OSR_OK;
}
