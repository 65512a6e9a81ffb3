/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fuzz.h"

#include "core/verify/audit.h"

static void build(struct osr_arena *arena, struct osr_fabric *fabric)
{
	static const char *const names[] = { "a", "b", "c d" };
	struct osr_builder *builder = osr_builder_new();
	uint32_t sw[3];

	for (unsigned i = 0; i < 3; i++)
		sw[i] = osr_builder_switch(builder,
					   &(struct osr_switch_in){ .guid = i + 1, .n_ports = 4 });
	for (unsigned i = 0; i < 3; i++) {
		osr_builder_link(builder, &(struct osr_link_in){ .sw_a = sw[i],
								 .sw_b = sw[(i + 1) % 3],
								 .port_a = 1,
								 .port_b = 2 });
		osr_builder_terminal(builder,
				     &(struct osr_terminal_in){ .guid = i + 1,
								.sw = sw[i],
								.role = OSR_ROLE_SP0,
								.lid = (uint16_t)(i + 1) });
		osr_builder_terminal(builder,
				     &(struct osr_terminal_in){ .guid = 0x11 + i,
								.sw = sw[i],
								.port = 3,
								.name = names[i],
								.lid = (uint16_t)(i + 4) });
	}
	insist(!osr_builder_build(builder, arena, fabric, NULL), "ring", "cannot be built");
	osr_builder_free(builder);
}

const struct osr_fabric *fuzz_ring(void)
{
	static struct osr_arena arena;
	static struct osr_fabric fabric;

	if (!fabric.n_switches)
		build(&arena, &fabric);
	return &fabric;
}

void fuzz_judge(const struct osr_tables *tables)
{
	struct osr_generation gen[2] = { osr_tables_generation(tables),
					 osr_tables_generation(tables) };
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_diag diag = { "" };
	struct osr_audit audit;
	struct osr_loop loop;

	for (unsigned i = 0; i < 2; i++)
		insist(!osr_union_loop(tables->fabric, gen, i + 1,
				       OSR_CLAIM_REVERSIBLE | OSR_CLAIM_MULTICAST, &scratch,
				       &result, &loop, NULL, &diag),
		       "loops", diag.text);
	insist(!osr_audit(tables->fabric, gen, OSR_CLAIM_REVERSIBLE, 4, &scratch, &result, &audit,
			  &diag),
	       "audit", diag.text);
	for (uint32_t i = 0; i < audit.n_listed; i++) {
		osr_fault_say(tables->fabric, &audit.fault[i], &diag);
		insist(diag.text[0], "a fault", "without a sentence");
	}
	osr_arena_free(&scratch);
	osr_arena_free(&result);
}

#ifdef OSR_FUZZ
/*
 * Memory that was freed stays poisoned for the next 4 MB, which is more than most executions take,
 * and not for 256 MB, which would be fresh pages for ever.
 */
const char *__asan_default_options(void);
__attribute__((visibility("default"), used)) const char *__asan_default_options(void)
{
	return "quarantine_size_mb=4:malloc_context_size=3";
}
#endif
