/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "keyring.h"

#include <osmroutes/sweep.h>

static void make_fabric(struct osr_arena *arena, struct osr_fabric *f)
{
	struct osr_builder *b = osr_builder_new();
	char name[8];

	for (unsigned s = 0; s < 6; s++)
		osr_builder_switch(b, &(struct osr_switch_in){ s + 1, 8, 0, NULL });
	for (unsigned leaf = 0; leaf < 4; leaf++) {
		for (unsigned spine = 0; spine < 2; spine++)
			osr_builder_link(b, &(struct osr_link_in){ .sw_a = leaf,
								   .sw_b = 4 + spine,
								   .port_a = (uint8_t)(3 + spine),
								   .port_b = (uint8_t)(1 + leaf) });
		for (unsigned h = 0; h < 2; h++) {
			snprintf(name, sizeof(name), "h%u", leaf * 2 + h);
			osr_builder_terminal(b, &(struct osr_terminal_in){
							.guid = 0x100 + leaf * 2 + h,
							.sw = leaf,
							.port = (uint8_t)(1 + h),
							.lmc = 2,
							.lid = (uint16_t)(16 + 4 * (leaf * 2 + h)),
							.name = name });
		}
	}
	insist(!osr_builder_build(b, arena, f, NULL), "the fabric", "");
	osr_builder_free(b);
}

const struct osr_fabric *keyring_fabric(void)
{
	static struct osr_arena arena;
	static struct osr_fabric f;

	if (!f.n_switches)
		make_fabric(&arena, &f);
	return &f;
}

static const struct osr_routing *base_tables(void)
{
	static struct osr_arena arena;
	static struct osr_result base;
	const struct osr_engine *e = osr_engine_find("dmodk");
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct osr_values v;
	const struct osr_job job = { .engine = e,
				     .values = &v,
				     .request = { .max_vls = 1 },
				     .scratch = &scratch,
				     .arena = &arena,
				     .diag = &diag };
	struct osr_sweep sweep;

	if (base.routing.lft)
		return &base.routing;
	osr_values_default(&v, e->params);
	base.fabric = *keyring_fabric();
	insist(!osr_sweep(&job, &base, &sweep), "the base", diag.text);
	osr_arena_free(&scratch);
	return &base.routing;
}

struct osr_sched *keyring_sched(void)
{
	struct osr_sched_limits limits = { 64, 8, 64, 4096, OSR_KEY_FINE, 0, 0 };
	struct osr_sched *s = osr_sched_new(&limits);

	insist(s != NULL, "no memory", "");
	return s;
}

void keyring_use(struct osr_sched *s)
{
	struct osr_arena scratch = { 0 }, result = { 0 };
	const struct osr_fabric *f = keyring_fabric();
	struct osr_overlay_entry *entry;
	struct osr_diag diag = { "" };
	struct osr_routing out;
	uint32_t n;

	insist(!osr_sched_collect(s, &scratch, &entry, &n, &diag), "the entries", diag.text);
	if (osr_overlay_apply(f, base_tables(), entry, n, &scratch, &result, &out, &diag))
		insist(diag.text[0] != 0, "refused without a sentence", "");
	osr_arena_free(&scratch);
	osr_arena_free(&result);
}
