/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A cycle in the graph of turns, or a topological order of it; and how to say it. */
#include "union_private.h"

#include <stdio.h>
#include <string.h>

enum { WHITE, GREY, BLACK };

/* Vertices are v * n_channels + c; edges of one are numbered port * OSR_MAX_VLS + VL behind it. */
struct search {
	const struct turns *t;
	uint8_t *color;
	uint32_t *stack, *pos;
	uint32_t n_done;
	uint32_t *rank;
};

static uint32_t union_loop_next_vertex(struct search *g, uint32_t vertex)
{
	const struct osr_fabric *fabric = g->t->f;
	uint32_t v = vertex / fabric->n_channels, c = vertex % fabric->n_channels;
	uint32_t n_ports = fabric->sw_n_ports[fabric->chan_dst[c]];

	for (;;) {
		uint32_t port = g->pos[vertex] / OSR_MAX_VLS;
		unsigned vls;

		if (port > n_ports)
			return OSR_NONE;
		vls = turn_vls(g->t, c, v, port) >> g->pos[vertex] % OSR_MAX_VLS;
		if (vls) {
			unsigned skip = __builtin_ctz(vls);
			uint32_t to = (g->pos[vertex] + skip) % OSR_MAX_VLS;

			g->pos[vertex] += skip + 1;
			return to * fabric->n_channels +
			       osr_port_channel(fabric, fabric->chan_dst[c], port);
		}
		g->pos[vertex] = (port + 1) * OSR_MAX_VLS;
	}
}

/* Depth first from start; true for a cycle: the last *n of the *depth vertices on the stack. */
static bool union_loop_visit(struct search *g, uint32_t start, uint32_t *depth, uint32_t *n)
{
	uint32_t top = 0;

	g->stack[0] = start;
	g->pos[start] = 0;
	g->color[start] = GREY;
	for (;;) {
		uint32_t vertex = g->stack[top], next = union_loop_next_vertex(g, vertex);

		if (next == OSR_NONE) {
			g->color[vertex] = BLACK;
			if (g->rank)
				g->rank[vertex] = UINT32_MAX - 1 - g->n_done++;
			if (top-- == 0)
				return false;
		} else if (g->color[next] == GREY) {
			*depth = top + 1;
			for (*n = 1; g->stack[top] != next; top--)
				++*n;
			return true;
		} else if (g->color[next] == WHITE) {
			g->stack[++top] = next;
			g->pos[next] = 0;
			g->color[next] = GREY;
		}
	}
}

static bool keep_cycle(const struct search *g, uint32_t depth, uint32_t n, struct osr_arena *result,
		       struct osr_loop_step **step)
{
	uint32_t n_channels = g->t->f->n_channels;

	*step = osr_calloc(result, n, sizeof(**step));
	for (uint32_t i = 0; *step && i < n; i++) {
		uint32_t vertex = g->stack[depth - n + i];

		(*step)[i] = (struct osr_loop_step){ .channel = vertex % n_channels,
						     .vl = (uint8_t)(vertex / n_channels),
						     .sl = OSR_NO_SL };
	}
	return *step != NULL;
}

bool osr__union_search(const struct turns *t, struct osr_arena *scratch, struct osr_arena *result,
		       struct osr_loop_step **step, uint32_t *n, uint32_t *rank)
{
	uint32_t n_vertices = t->f->n_channels * OSR_MAX_VLS, depth;
	struct search g = {
		.t = t,
		.color = osr_calloc(scratch, n_vertices, 1),
		.stack = osr_alloc(scratch, n_vertices, sizeof(*g.stack)),
		.pos = osr_alloc(scratch, n_vertices, sizeof(*g.pos)),
		.rank = rank,
	};

	*n = 0;
	*step = NULL;
	if (!g.color || !g.stack || !g.pos)
		return false;
	for (uint32_t vertex = 0; vertex < n_vertices; vertex++) {
		if (!(t->used >> vertex / t->f->n_channels & 1))
			continue;
		if (g.color[vertex] == WHITE && union_loop_visit(&g, vertex, &depth, n))
			return keep_cycle(&g, depth, *n, result, step);
	}
	/* Nothing leads to the others. */
	for (uint32_t vertex = 0; rank && vertex < n_vertices; vertex++)
		if (g.color[vertex] == WHITE)
			rank[vertex] = UINT32_MAX - 1;
	return true;
}

static void say_step(const struct osr_fabric *fabric, const struct osr_loop_step *step, char *buf,
		     size_t size)
{
	char name[32];

	snprintf(buf, size, "switch %.60s port %u VL %u",
		 osr_switch_name(fabric, fabric->chan_src[step->channel], name),
		 fabric->chan_port[step->channel], step->vl);
}

void osr_loop_say(const struct osr_fabric *fabric, const struct osr_loop *loop,
		  struct osr_diag *diag)
{
	char a[128], b[128], what[48] = "multicast packets";

	if (!loop->n) {
		osr_fail(diag, OSR_OK, "no credit loop");
		return;
	}
	say_step(fabric, &loop->step[0], a, sizeof(a));
	say_step(fabric, &loop->step[1 % loop->n], b, sizeof(b));
	if (loop->step[0].lid)
		snprintf(what, sizeof(what), "packets for %sLID %u on SL %u",
			 loop->step[0].lid >= 0xc000 ? "M" : "", loop->step[0].lid,
			 loop->step[0].sl);
	osr_fail(diag, OSR_OK,
		 "credit loop of %u channels: %s hold %s and wait for %s, and so on back to the "
		 "first",
		 loop->n, what, a, b);
}
