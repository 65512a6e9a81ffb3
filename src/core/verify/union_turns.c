/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SL2VL tables, the turns of packets by them, and a loop of turns or an order of channels. */
#include "union_private.h"

#include <string.h>

const osr_sl2vl_t osr_union_vl_is_sl = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

bool osr_union_is_end_port(const struct osr_fabric *fabric, uint32_t s, unsigned port)
{
	OSR_EACH_TERMINAL(t, fabric, s)
		if (fabric->term_port[t] == port)
			return true;
	return port == 0;
}

bool osr_union_fold(struct run *run)
{
	const struct osr_generation *gen = run->follow.gen;
	const struct osr_fabric *fabric = run->follow.fabric;

	if (!gen[0].routing->sl2vl && !gen[run->follow.n - 1].routing->sl2vl) {
		run->fold = osr_union_vl_is_sl;
		return true;
	}
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t s = fabric->chan_src[c];
		unsigned out = fabric->chan_port[c];

		for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++) {
			if (in == out || (osr_port_channel(fabric, s, in) == OSR_NONE &&
					  !osr_union_is_end_port(fabric, s, in)))
				continue;
			if (!run->fold)
				run->fold = union_vls(run, 0, s, in, out);
			for (uint32_t g = 0; g < run->follow.n; g++)
				if (memcmp(union_vls(run, g, s, in, out), run->fold, 16))
					return false;
		}
	}
	return run->fold;
}

uint16_t osr_union_fold_sls(const struct run *run, unsigned sls)
{
	unsigned vls = 0;

	osr_invariant(run->fold && !run->turns.moves);
	OSR_EACH_LANE(sl, sls) {
		unsigned vl = run->fold[sl];

		vls |= vl < OSR_MAX_VLS ? 1u << vl : 0;
	}
	return vls;
}

uint16_t osr_union_sls(const struct run *run)
{
	size_t n_rows = osr_n_sl2vl(run->follow.fabric);
	uint16_t differ[16] = { 0 }, kinds = 0; /* bit b of differ[a], b < a: in some row */

	for (uint32_t g = 0; g < run->follow.n; g++)
		if (run->follow.any[g] != 0xffff)
			return 0xffff;
	for (uint32_t g = 0; g < run->follow.n; g++) {
		const osr_sl2vl_t *sl2vl = (const osr_sl2vl_t *)run->follow.gen[g].routing->sl2vl;

		if (!sl2vl)
			return 0xffff; /* VL = SL: no two SLs are alike */
		for (size_t i = 0; i < n_rows; i++) {
			const uint8_t *row = sl2vl[i];

			/* Most rows have one VL for all SLs, or equal the row before. */
			if (!memcmp(row, row + 1, 15) || (i && !memcmp(row, sl2vl[i - 1], 16)))
				continue;
			for (unsigned a = 0; a < 16; a++)
				for (unsigned b = 0; b < a; b++)
					differ[a] |= (row[a] != row[b]) << b;
		}
	}
	for (unsigned sl = 0; sl < 16; sl++)
		kinds |= (differ[sl] == (1u << sl) - 1) << sl;
	return kinds;
}

void osr_union_explain(struct run *run, uint32_t c, unsigned from, uint32_t on, unsigned to,
		       unsigned sls)
{
	for (uint32_t i = 0; i < run->found.n; i++) {
		struct osr_loop_step *step = &run->found.step[i];
		const struct osr_loop_step *next = &run->found.step[(i + 1) % run->found.n];
		unsigned sl = osr_lowest_bit(sls);

		if (step->sl != OSR_NO_SL || step->channel != c || !(from >> step->vl & 1) ||
		    next->channel != on ||
		    !((run->turns.moves ? to : 1u << step->vl) >> next->vl & 1))
			continue;
		while (!run->turns.moves && sl < 15 && run->fold[sl] != step->vl)
			sl++;
		osr_invariant(run->found.n_unexplained > 0);
		step->sl = sl;
		step->lid = run->lid;
		run->found.n_unexplained--;
	}
}

/* ---- a loop of turns, or an order of channels ------------------------------------------------ */

enum { WHITE, GREY, BLACK };

/*
 * The vertex behind the next edge of a vertex, from edge *pos on; *pos becomes the edge after it.
 * Vertices are v * n_channels + c; edges of a vertex are numbered port * OSR_MAX_VLS + VL there.
 */
static uint32_t next_vertex(const struct run *run, uint32_t vertex, uint32_t *pos)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t v = vertex / fabric->n_channels, c = vertex % fabric->n_channels;
	uint32_t n_ports = fabric->sw_n_ports[fabric->chan_dst[c]];

	osr_invariant(v < OSR_MAX_VLS);
	for (uint32_t port; (port = *pos / OSR_MAX_VLS) <= n_ports;) {
		size_t turn = run->turns.slot[c] + port;
		unsigned vls = run->turns.moves ? run->turns.turn[turn * OSR_MAX_VLS + v]
						: run->turns.turn[turn] & (1u << v);

		vls >>= *pos % OSR_MAX_VLS;
		if (vls) {
			*pos += osr_lowest_bit(vls) + 1;
			return (*pos - 1) % OSR_MAX_VLS * fabric->n_channels +
			       osr_port_channel(fabric, fabric->chan_dst[c], port);
		}
		*pos = (port + 1) * OSR_MAX_VLS;
	}
	return OSR_NONE;
}

/*
 * Allocates and fills run->found.step from the cycle of run->found.n vertices. Packets are not
 * known yet: OSR_NO_SL.
 */
static void keep_loop(struct run *run, const uint32_t *vertex)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t n_channels = fabric->n_channels;

	osr_invariant(run->found.n > 0 && !run->found.step);
	run->found.step = osr_calloc(run->result, run->found.n, sizeof(*run->found.step));
	if (osr_arena_failed(run->result, run->diag)) {
		run->st = OSR_NOMEM;
		return;
	}
	for (uint32_t i = 0; i < run->found.n; i++) {
		uint32_t next = vertex[(i + 1) % run->found.n] % n_channels;

		run->found.step[i] = (struct osr_loop_step){ .channel = vertex[i] % n_channels,
							     .vl = vertex[i] / n_channels,
							     .sl = OSR_NO_SL };
		osr_invariant(fabric->chan_src[next] ==
			      fabric->chan_dst[run->found.step[i].channel]);
	}
	run->found.n_unexplained = run->found.n;
}

/* Does every marked turn lead to a higher rank? */
static bool turns_rise(const struct run *run, const uint32_t *rank)
{
	uint32_t n = run->follow.fabric->n_channels * OSR_MAX_VLS;

	for (uint32_t vertex = 0; vertex < n; vertex++) {
		uint32_t pos = 0, next = next_vertex(run, vertex, &pos);

		while (next != OSR_NONE) {
			if (rank[vertex] >= rank[next])
				return false;
			next = next_vertex(run, vertex, &pos);
		}
	}
	return true;
}

void osr_union_search(struct run *run, uint32_t *rank)
{
	struct osr_arena_mark mark = osr_arena_mark(run->scratch);
	uint32_t n_channels = run->follow.fabric->n_channels, n = n_channels * OSR_MAX_VLS,
		 n_done = 0, top = OSR_NONE;
	uint8_t *color = osr_calloc(run->scratch, n, 1);
	uint32_t *stack = osr_alloc(run->scratch, n, sizeof(*stack)),
		 *pos = osr_alloc(run->scratch, n, sizeof(*pos));

	if (osr_arena_failed(run->scratch, run->diag)) {
		run->st = OSR_NOMEM;
		osr_arena_reset(run->scratch, mark);
		return;
	}
	for (uint32_t first = 0; first < n; first++) {
		if (run->found.n)
			break;
		if (rank && color[first] == WHITE)
			rank[first] = UINT32_MAX - 1;
		if (run->turns.used >> first / n_channels & 1 && color[first] == WHITE)
			stack[top = 0] = first;
		while (top != OSR_NONE && !run->found.n) {
			uint32_t vertex = stack[top], next;

			pos[vertex] = color[vertex] == WHITE ? 0 : pos[vertex];
			color[vertex] = GREY;
			next = next_vertex(run, vertex, &pos[vertex]);
			if (next == OSR_NONE) {
				color[vertex] = BLACK;
				if (rank)
					rank[vertex] = UINT32_MAX - 1 - n_done++;
				top--;
			} else if (color[next] == GREY) {
				for (run->found.n = 1; stack[top] != next; top--)
					run->found.n++;
			} else if (color[next] == WHITE) {
				stack[++top] = next;
			}
		}
	}
	if (run->found.n)
		keep_loop(run, stack + top);
	osr_invariant(run->found.n || !rank || turns_rise(run, rank));
	osr_arena_reset(run->scratch, mark);
}
