/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "core/route/tree.h"

#include <string.h>

#include <osmroutes/each.h>

void osr_tree_alloc(struct osr_tree *tree, const struct osr_fabric *fabric, struct osr_arena *arena)
{
	size_t n = fabric->n_switches;

	tree->fabric = fabric;
	tree->near_first = osr_alloc(arena, n, sizeof(*tree->near_first));
	tree->length = osr_alloc(arena, n, sizeof(*tree->length));
	tree->path = osr_alloc(arena, n, sizeof(*tree->path));
}

void osr_tree_lay_out(struct osr_tree *tree, uint32_t root, const uint8_t *hop,
		      const uint16_t *start, uint32_t n_start)
{
	const struct osr_fabric *fabric = tree->fabric;
	uint32_t n_switches = fabric->n_switches, *length = tree->length, n = 0;
	uint16_t *path = tree->path, *near_first = tree->near_first;

	if (!start)
		n_start = n_switches;
	memset(length, 0xff, n_switches * sizeof(*length));
	length[root] = 0;
	near_first[n++] = (uint16_t)root;
	for (uint32_t i = 0; i < n_start; i++) {
		uint32_t v = start ? start[i] : i, depth = 0, far;

		/* To a switch whose route is known; a walk as long as there are switches goes round. */
		while (length[v] == OSR_NONE && hop[v] != OSR_NO_PATH && depth < n_switches) {
			path[depth++] = (uint16_t)v;
			v = fabric->chan_dst[fabric->chan_row[v] + hop[v]];
		}
		far = length[v];
		if (far == OSR_NONE)
			continue;
		/* And back. */
		while (depth) {
			v = path[--depth];
			length[v] = ++far;
			near_first[n++] = (uint16_t)v;
		}
	}
	tree->root = root;
	tree->n = n;
}

void osr_tables_to_hops(const struct osr_fabric *fabric, uint8_t *table)
{
	OSR_EACH_DEST(d, fabric) {
		uint8_t *row = table + (size_t)d * fabric->n_switches;

		OSR_EACH_SWITCH(v, fabric) {
			uint32_t c = row[v] == OSR_NO_PATH ? OSR_NONE
							   : osr_port_channel(fabric, v, row[v]);

			row[v] = c == OSR_NONE ? OSR_NO_PATH : (uint8_t)(c - fabric->chan_row[v]);
		}
	}
}

void osr_tables_to_ports(const struct osr_fabric *fabric, uint8_t *table)
{
	OSR_EACH_DEST(d, fabric) {
		uint8_t *row = table + (size_t)d * fabric->n_switches;

		OSR_EACH_SWITCH(v, fabric)
			if (row[v] != OSR_NO_PATH)
				row[v] = fabric->chan_port[fabric->chan_row[v] + row[v]];
		row[fabric->dest_switch[d]] = fabric->term_port[fabric->dest_term[d]];
	}
}
