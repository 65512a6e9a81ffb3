/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * HyperX, whose lines are joined all to all. The switches that both ends of a cable of a line of S see are the
 * S - 2 others of the line, and see each other; those of a cable that leads astray are two at most, of different
 * lines. Cables of one line are joined by the triangles between them. The result is believed if product.h
 * recognises the fabric in which every line is whole. Lines of less than five switches are not told apart.
 */
#include "wiring.h"

#include <stdio.h>
#include <string.h>

#include <osmroutes/product.h>

struct wiring_hyperx {
	const struct wiring_graph *g;
	uint8_t *keep;  /* [edges] */
	uint32_t *line; /* [edges] union-find; both directions of a pair have one */
	uint32_t *member, *member_row; /* [edges], switches of a line, by root edge */
	uint32_t *stamp, *list;        /* [n_switches] */
};

/* Do two of the switches that u and v both see, see each other? */
static bool is_of_line(struct wiring_hyperx *x, uint32_t u, uint32_t v)
{
	const struct wiring_graph *g = x->g;
	uint32_t n = 0, n_joined = 0;

	for (uint32_t i = g->row[u]; i < g->row[u + 1]; i++)
		if (osr__wiring_edge(g, v, g->near[i]) != OSR_NONE)
			x->list[n++] = g->near[i];
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++)
			n_joined += osr__wiring_edge(g, x->list[i], x->list[j]) != OSR_NONE;
	return n_joined > 0;
}

static uint32_t line_root(uint32_t *line, uint32_t e)
{
	while (line[e] != e)
		e = line[e] = line[line[e]];
	return e;
}

static void line_join(uint32_t *line, uint32_t a, uint32_t b)
{
	a = line_root(line, a);
	b = line_root(line, b);
	if (a < b)
		line[b] = a;
	else
		line[a] = b;
}

/* u - v and u - w are of one line if v and w see each other, all three cables being good ones. */
static void find_lines(struct wiring_hyperx *x)
{
	const struct wiring_graph *g = x->g;

	for (uint32_t u = 0; u < g->f->n_switches; u++)
		for (uint32_t e = g->row[u]; e < g->row[u + 1]; e++) {
			x->keep[e] = is_of_line(x, u, g->near[e]);
			x->line[e] = e;
		}
	for (uint32_t u = 0; u < g->f->n_switches; u++)
		for (uint32_t i = g->row[u]; i < g->row[u + 1]; i++) {
			if (!x->keep[i])
				continue;
			line_join(x->line, i, osr__wiring_edge(g, g->near[i], u));
			for (uint32_t j = i + 1; j < g->row[u + 1]; j++) {
				uint32_t e = x->keep[j] ? osr__wiring_edge(g, g->near[i], g->near[j]) : OSR_NONE;

				if (e != OSR_NONE && x->keep[e])
					line_join(x->line, i, j);
			}
		}
}

/* The switches of the line of this root edge, in list; how many. */
static uint32_t list_line(struct wiring_hyperx *x, uint32_t root, uint32_t mark)
{
	const struct wiring_graph *g = x->g;
	uint32_t n = 0;

	for (uint32_t k = x->member_row[root]; k < x->member_row[root + 1]; k++) {
		uint32_t v = g->near[x->member[k]];

		if (x->stamp[v] == mark)
			continue;
		x->stamp[v] = mark;
		x->list[n++] = v;
	}
	return n;
}

static void sort_members(struct wiring_hyperx *x)
{
	uint32_t n = x->g->row[x->g->f->n_switches];

	memset(x->member_row, 0, ((size_t)n + 2) * sizeof(*x->member_row));
	for (uint32_t e = 0; e < n; e++)
		if (x->keep[e])
			x->member_row[line_root(x->line, e) + 2]++;
	for (uint32_t e = 0; e <= n; e++)
		x->member_row[e + 1] += x->member_row[e];
	for (uint32_t e = 0; e < n; e++)
		if (x->keep[e])
			x->member[x->member_row[line_root(x->line, e) + 1]++] = e;
}

static void compare_lines(struct wiring_hyperx *x, struct wiring_diff *d)
{
	const struct wiring_graph *g = x->g;
	uint32_t n = g->row[g->f->n_switches];

	for (uint32_t root = 0; root < n && !d->full; root++) {
		uint32_t n_line = list_line(x, root, root + 1);

		for (uint32_t i = 0; i < n_line; i++)
			for (uint32_t j = i + 1; j < n_line; j++) {
				uint32_t has = wiring_mult(g, x->list[i], x->list[j]);

				if (!has)
					wiring_lacks(d, x->list[i], x->list[j], 1);
				else
					wiring_too_many(d, x->list[i], x->list[j], has - 1);
			}
	}
	for (uint32_t u = 0; u < g->f->n_switches; u++)
		for (uint32_t e = g->row[u]; e < g->row[u + 1]; e++)
			if (u < g->near[e] && !x->keep[e])
				wiring_too_many(d, u, g->near[e], g->mult[e]);
}

static enum osr_status verify_hyperx(struct wiring_hyperx *x, const struct wiring_diff *d,
				     struct osr_arena *scratch, char plan[160], struct osr_diag *diag)
{
	struct osr_fabric f;
	struct osr_product p;
	enum osr_status st =
		osr__wiring_subfabric(x->g, x->keep, d->missing, d->n_missing, scratch, &f, diag);
	size_t used;

	if (!st)
		st = osr_product_find(&f, scratch, &p, diag);
	if (st)
		return st;
	used = (size_t)snprintf(plan, 160, "HyperX ");
	for (uint32_t i = 0; i < p.n_dims && used < 160; i++) {
		used += (size_t)snprintf(plan + used, 160 - used, "%s%u", i ? "x" : "", p.size[i]);
		if (p.factor[i] != OSR_FACTOR_CLIQUE)
			return osr_fail(diag, OSR_NOT_APPLICABLE, "no HyperX: a dimension is no clique");
	}
	return OSR_OK;
}

enum osr_status osr__wiring_hyperx(const struct wiring_graph *g, struct osr_arena *scratch,
				   struct wiring_diff *d, char plan[160], struct osr_diag *diag)
{
	size_t n = g->f->n_switches, n_edges = (size_t)g->row[n] + 2;
	struct wiring_hyperx x = { .g = g };

	x.keep = osr_calloc(scratch, n_edges, sizeof(*x.keep));
	x.line = osr_alloc(scratch, n_edges, sizeof(*x.line));
	x.member = osr_alloc(scratch, n_edges, sizeof(*x.member));
	x.member_row = osr_alloc(scratch, n_edges + 1, sizeof(*x.member_row));
	x.stamp = osr_calloc(scratch, n, sizeof(*x.stamp));
	x.list = osr_alloc(scratch, n, sizeof(*x.list));
	if (!x.keep || !x.line || !x.member || !x.member_row || !x.stamp || !x.list)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u cables", g->n_cables);
	find_lines(&x);
	sort_members(&x);
	compare_lines(&x, d);
	if (d->full)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "no HyperX: too many cables are elsewhere");
	return verify_hyperx(&x, d, scratch, plan, diag);
}
