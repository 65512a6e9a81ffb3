/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * keytree.h - a tree for routing keys: leaves with two hosts each, two spines. GUIDs 1, 2, ... of
 * switches, 0x100 + n of hosts, whose LIDs begin at 16, one behind the other.
 */
#ifndef TEST_KEYTREE_H
#define TEST_KEYTREE_H

#include <stdio.h>

#include <osmroutes/fabric.h>

/* `cable` of leaf cable / 2 is left out; -1: none. */
static inline enum osr_status key_tree(unsigned leaves, uint8_t lmc, int cable,
				       struct osr_arena *arena, struct osr_fabric *f)
{
	struct osr_builder *builder = osr_builder_new();
	enum osr_status st;
	char name[8];

	for (unsigned s = 0; s < leaves + 2; s++)
		osr_builder_switch(builder, &(struct osr_switch_in){ s + 1, 8, 0, NULL });
	for (unsigned i = 0; i < 2 * leaves; i++) {
		snprintf(name, sizeof(name), "h%u", i);
		if ((int)i != cable)
			osr_builder_link(builder,
					 &(struct osr_link_in){ .sw_a = i / 2,
								.sw_b = leaves + i % 2,
								.port_a = (uint8_t)(3 + i % 2),
								.port_b = (uint8_t)(1 + i / 2) });
		osr_builder_terminal(builder,
				     &(struct osr_terminal_in){ .guid = 0x100 + i,
								.sw = i / 2,
								.port = (uint8_t)(1 + i % 2),
								.lmc = lmc,
								.lid = (uint16_t)(16 + (i << lmc)),
								.name = name });
	}
	st = osr_builder_build(builder, arena, f, NULL);
	osr_builder_free(builder);
	return st;
}

#endif
