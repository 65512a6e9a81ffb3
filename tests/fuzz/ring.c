/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fuzz.h"

static void build(struct osr_arena *arena, struct osr_fabric *f)
{
	static const char *const names[] = { "a", "b", "c d" };
	struct osr_builder *b = osr_builder_new();
	uint32_t sw[3];

	for (unsigned i = 0; i < 3; i++)
		sw[i] = osr_builder_switch(b,
					   &(struct osr_switch_in){ .guid = i + 1, .n_ports = 4 });
	for (unsigned i = 0; i < 3; i++) {
		osr_builder_link(b, &(struct osr_link_in){ .sw_a = sw[i],
							   .sw_b = sw[(i + 1) % 3],
							   .port_a = 1,
							   .port_b = 2 });
		osr_builder_terminal(b, &(struct osr_terminal_in){ .guid = i + 1,
								   .sw = sw[i],
								   .role = OSR_ROLE_SP0,
								   .lid = (uint16_t)(i + 1) });
		osr_builder_terminal(b, &(struct osr_terminal_in){ .guid = 0x11 + i,
								   .sw = sw[i],
								   .port = 3,
								   .name = names[i],
								   .lid = (uint16_t)(i + 4) });
	}
	insist(!osr_builder_build(b, arena, f, NULL), "ring", "cannot be built");
	osr_builder_free(b);
}

const struct osr_fabric *fuzz_ring(void)
{
	static struct osr_arena arena;
	static struct osr_fabric f;

	if (!f.n_switches)
		build(&arena, &f);
	return &f;
}
