/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * HyperX, whose lines are joined all to all. The switches that both ends of a cable of a line of S see are the
 * S - 2 others of the line, and see each other; those of a cable that leads astray are two at most, of different
 * lines. Cables of one line are joined by the triangles between them. The result is believed if product.h
 * recognises the fabric in which every line is whole. Lines of less than five switches are not told apart.
 */
#include "wiring_private.h"

#include <stdio.h>
#include <string.h>

#include <osmroutes/product.h>

#define MAX_NEED                                                                                   \
	20 /* joined pairs asked for; a line of S switches has (S - 2)(S - 3) / 2 at every cable */

struct wiring_hyperx {
	const struct wiring_graph *g;
	uint8_t *keep;                 /* [edges] */
	uint8_t *strength;             /* [edges] of count_joined() */
	uint32_t *line;                /* [edges] union-find; both directions of a pair have one */
	uint32_t *member, *member_row; /* [edges], switches of a line, by root edge */
	uint32_t *stamp, *list;        /* [n_switches] */
};

/* Pairs of switches that u and v both see and that see each other. */
static uint8_t count_joined(struct wiring_hyperx *hyperx, uint32_t u, uint32_t v)
{
	const struct wiring_graph *graph = hyperx->g;
	uint32_t n = 0, n_joined = 0;

	for (uint32_t i = graph->row[u]; i < graph->row[u + 1]; i++)
		if (osr__wiring_edge(graph, v, graph->near[i]) != OSR_NONE)
			hyperx->list[n++] = graph->near[i];
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++)
			n_joined += osr__wiring_edge(graph, hyperx->list[i], hyperx->list[j]) !=
				    OSR_NONE;
	return n_joined < UINT8_MAX ? (uint8_t)n_joined : UINT8_MAX;
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

static void measure_cables(struct wiring_hyperx *hyperx)
{
	const struct wiring_graph *graph = hyperx->g;

	for (uint32_t u = 0; u < graph->f->n_switches; u++)
		for (uint32_t e = graph->row[u]; e < graph->row[u + 1]; e++)
			hyperx->strength[e] = count_joined(hyperx, u, graph->near[e]);
}

/* u - v and u - w are of one line if v and w see each other, all three cables having so many joined pairs. */
static void find_lines(struct wiring_hyperx *hyperx, uint32_t need)
{
	const struct wiring_graph *graph = hyperx->g;

	for (uint32_t e = 0; e < graph->row[graph->f->n_switches]; e++) {
		hyperx->keep[e] = hyperx->strength[e] >= need;
		hyperx->line[e] = e;
	}
	for (uint32_t u = 0; u < graph->f->n_switches; u++)
		for (uint32_t i = graph->row[u]; i < graph->row[u + 1]; i++) {
			if (!hyperx->keep[i])
				continue;
			line_join(hyperx->line, i, osr__wiring_edge(graph, graph->near[i], u));
			for (uint32_t j = i + 1; j < graph->row[u + 1]; j++) {
				uint32_t e = hyperx->keep[j]
						     ? osr__wiring_edge(graph, graph->near[i],
									graph->near[j])
						     : OSR_NONE;

				if (e != OSR_NONE && hyperx->keep[e])
					line_join(hyperx->line, i, j);
			}
		}
}

/* The switches of the line of this root edge, in list; how many. */
static uint32_t list_line(struct wiring_hyperx *hyperx, uint32_t root, uint32_t mark)
{
	const struct wiring_graph *graph = hyperx->g;
	uint32_t n = 0;

	for (uint32_t k = hyperx->member_row[root]; k < hyperx->member_row[root + 1]; k++) {
		uint32_t v = graph->near[hyperx->member[k]];

		if (hyperx->stamp[v] == mark)
			continue;
		hyperx->stamp[v] = mark;
		hyperx->list[n++] = v;
	}
	return n;
}

static void wiring_hyperx_sort_members(struct wiring_hyperx *hyperx)
{
	uint32_t n = hyperx->g->row[hyperx->g->f->n_switches];

	memset(hyperx->member_row, 0, ((size_t)n + 2) * sizeof(*hyperx->member_row));
	for (uint32_t e = 0; e < n; e++)
		if (hyperx->keep[e])
			hyperx->member_row[line_root(hyperx->line, e) + 2]++;
	for (uint32_t e = 0; e <= n; e++)
		hyperx->member_row[e + 1] += hyperx->member_row[e];
	for (uint32_t e = 0; e < n; e++)
		if (hyperx->keep[e])
			hyperx->member[hyperx->member_row[line_root(hyperx->line, e) + 1]++] = e;
}

static void compare_lines(struct wiring_hyperx *hyperx, struct wiring_diff *diff)
{
	const struct wiring_graph *graph = hyperx->g;
	uint32_t n = graph->row[graph->f->n_switches];

	for (uint32_t root = 0; root < n && !diff->full; root++) {
		uint32_t n_line = list_line(hyperx, root, root + 1);

		for (uint32_t i = 0; i < n_line; i++)
			for (uint32_t j = i + 1; j < n_line; j++) {
				uint32_t has = wiring_mult(graph, hyperx->list[i], hyperx->list[j]);

				if (!has)
					wiring_lacks(diff, hyperx->list[i], hyperx->list[j], 1);
				else
					wiring_too_many(diff, hyperx->list[i], hyperx->list[j],
							has - 1);
			}
	}
	for (uint32_t u = 0; u < graph->f->n_switches; u++)
		for (uint32_t e = graph->row[u]; e < graph->row[u + 1]; e++)
			if (u < graph->near[e] && !hyperx->keep[e])
				wiring_too_many(diff, u, graph->near[e], graph->mult[e]);
}

static enum osr_status verify_hyperx(struct wiring_hyperx *hyperx, const struct wiring_diff *diff,
				     struct osr_arena *scratch, char plan[160],
				     struct osr_diag *diag)
{
	struct osr_fabric fabric;
	struct osr_product product;
	enum osr_status st = osr__wiring_subfabric(hyperx->g, hyperx->keep, diff->missing,
						   diff->n_missing, scratch, &fabric, diag);
	size_t used;

	if (!st)
		st = osr_product_find(&fabric, scratch, &product, diag);
	if (st)
		return st;
	used = (size_t)snprintf(plan, 160, "HyperX ");
	for (uint32_t i = 0; i < product.n_dims && used < 160; i++) {
		used += (size_t)snprintf(plan + used, 160 - used, "%s%u", i ? "x" : "",
					 product.size[i]);
		if (product.factor[i] != OSR_FACTOR_CLIQUE)
			return osr_fail(diag, OSR_NOT_APPLICABLE,
					"no HyperX: a dimension is no clique");
	}
	return OSR_OK;
}

enum osr_status osr__wiring_hyperx(const struct wiring_graph *graph, struct osr_arena *scratch,
				   struct wiring_diff *diff, char plan[160], struct osr_diag *diag)
{
	size_t n = graph->f->n_switches, n_edges = (size_t)graph->row[n] + 2;
	struct wiring_hyperx hyperx = { .g = graph };
	enum osr_status st = OSR_NOT_APPLICABLE;

	hyperx.keep = osr_calloc(scratch, n_edges, sizeof(*hyperx.keep));
	hyperx.strength = osr_alloc(scratch, n_edges, sizeof(*hyperx.strength));
	hyperx.line = osr_alloc(scratch, n_edges, sizeof(*hyperx.line));
	hyperx.member = osr_alloc(scratch, n_edges, sizeof(*hyperx.member));
	hyperx.member_row = osr_alloc(scratch, n_edges + 1, sizeof(*hyperx.member_row));
	hyperx.stamp = osr_calloc(scratch, n, sizeof(*hyperx.stamp));
	hyperx.list = osr_alloc(scratch, n, sizeof(*hyperx.list));
	if (!hyperx.keep || !hyperx.strength || !hyperx.line || !hyperx.member ||
	    !hyperx.member_row || !hyperx.stamp || !hyperx.list)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u cables", graph->n_cables);
	measure_cables(&hyperx);
	/*
	 * Cables that lead astray may have each other as a joined pair, along the diagonals of a square or from one
	 * switch to a line; those of long lines have many more, those of short ones one beside a missing cable.
	 */
	for (uint32_t need = 1; need <= MAX_NEED && st == OSR_NOT_APPLICABLE;
	     need += 1 + need / 2) {
		struct osr_arena_mark mark = osr_arena_mark(scratch);

		diff->n_missing = diff->n_extra = 0;
		diff->full = false;
		find_lines(&hyperx, need);
		wiring_hyperx_sort_members(&hyperx);
		memset(hyperx.stamp, 0, n * sizeof(*hyperx.stamp));
		compare_lines(&hyperx, diff);
		st = diff->full ? osr_fail(diag, OSR_NOT_APPLICABLE,
					   "no HyperX: too many cables are elsewhere")
				: verify_hyperx(&hyperx, diff, scratch, plan, diag);
		osr_arena_reset(scratch, mark);
	}
	return st;
}
