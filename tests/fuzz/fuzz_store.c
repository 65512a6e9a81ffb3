/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever stored tables hold: they are refused with a sentence, or the next sweep starts from them
 * and what it makes passes the check or is refused. A random file would never get past the
 * checksums; so an input is a list of changes to good bytes, and its first byte says whether the
 * checksums are put right afterwards.
 *
 *	input:	bit 0 of byte 0: checksums put right; bit 1: after a fault, of dfsssp with its baseline;
 *		bits 2, 3: 0, 3 dfsssp; 1 dmodk and 2 angara, which have notes
 *		bytes 1, 2: the length the bytes are cut to, if not 0
 *		then of 3 bytes each: offset (little-endian), what to XOR there
 */
#include "fuzz.h"

#include <osmroutes/check.h>
#include "core/repair/repair.h"

#include <xxhash.h>

#include "sweeps.h"

#define N_SWITCHES 6
#define HEADER_SIZE 64
#define SIZE_AT 16
#define BODY_AT 32
#define HASH_AT 56
#define KEY 5

static const char *const engines[] = { "dfsssp", "dmodk", "angara", "dfsssp" };

/*
 * For dmodk four leaves with a host, and two spines; else a ring with chords, and a host each; with
 * one chord, for angara, it is a mesh of 2x3. Or without one of the cables.
 */
static void build_fabric(struct osr_arena *arena, struct osr_fabric *fabric, const char *engine,
			 bool whole)
{
	bool tree = !strcmp(engine, "dmodk"), mesh = !strcmp(engine, "angara");
	struct osr_builder *builder = osr_builder_new();

	for (uint32_t s = 0; s < N_SWITCHES; s++)
		osr_builder_switch(builder, &(struct osr_switch_in){ .guid = 0x100 + s,
								     .n_ports = 4,
								     .name = "switch" });
	for (uint32_t s = 0; s < (tree ? 4 : N_SWITCHES); s++)
		osr_builder_terminal(
			builder, &(struct osr_terminal_in){
					 .guid = 0x200 + s, .sw = s, .port = 1, .lid = 10 + s });
	for (uint32_t s = 0; s < (tree ? 8 : N_SWITCHES); s++) {
		struct osr_link_in up = { s / 2, 4 + s % 2, .port_a = 2 + s % 2,
					  .port_b = 1 + s / 2 };
		struct osr_link_in on = { s, (s + 1) % N_SWITCHES, .port_a = 2, .port_b = 3 };

		if (whole || s != 3)
			osr_builder_link(builder, tree ? &up : &on);
	}
	for (uint32_t s = mesh; !tree && s < 2; s++)
		osr_builder_link(builder,
				 &(struct osr_link_in){
					 .sw_a = s, .port_a = 4, .sw_b = s + 3, .port_b = 4 });
	insist(!osr_builder_build(builder, arena, fabric, NULL), "store", "no fabric");
	osr_builder_free(builder);
}

/* Both fabrics of today are routed from what was read. */
static void use(const char *engine, const struct osr_result *last, const struct osr_fabric *fabric)
{
	struct osr_result now = { .fabric = *fabric };
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };

	if (test_sweep(osr_engine_find(engine), last, &arena, &now, &diag))
		insist(diag.text[0] != 0, "store", "no tables, and no sentence");
	osr_arena_free(&arena);
}

/* What is changed, of one engine. */
struct good {
	struct osr_result whole, broken;
	uint8_t *buf[2];
	size_t size[2];
};

static const struct good *good_of(unsigned kind)
{
	static struct osr_arena arena;
	static struct good all[4];
	struct good *good = &all[kind];
	const struct osr_engine *engine = osr_engine_find(engines[kind]);

	if (good->buf[0])
		return good;
	build_fabric(&arena, &good->whole.fabric, engine->name, true);
	build_fabric(&arena, &good->broken.fabric, engine->name, false);
	insist(!test_sweep(engine, NULL, &arena, &good->whole, NULL) &&
		       !test_sweep(engine, &good->whole, &arena, &good->broken, NULL),
	       "store", "no tables");
	if (good->whole.routing.notes.size == 0)
		insist(good->broken.baseline == &good->whole, "store",
		       good->broken.routing.stable.why);
	good->buf[0] = test_stored(&good->whole, KEY, &good->size[0]);
	good->buf[1] = test_stored(&good->broken, KEY, &good->size[1]);
	insist(good->buf[0] && good->buf[1], "store", "no memory");
	return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osr_arena last_arena = { 0 }, baseline_arena = { 0 }, scratch = { 0 };
	struct osr_result last, baseline;
	struct osr_diag diag = { "" };
	const struct good *good;
	const char *engine;
	uint8_t *copy;
	size_t kind;
	uint64_t n, hash;

	if (size < 3)
		return 0;
	engine = engines[data[0] >> 2 & 3];
	good = good_of(data[0] >> 2 & 3);
	kind = data[0] >> 1 & 1;
	n = data[1] | (size_t)data[2] << 8;
	n = n && n < good->size[kind] ? n : good->size[kind];
	copy = malloc(n);
	insist(copy != NULL, "store", "no memory");
	memcpy(copy, good->buf[kind], n);
	for (size_t i = 3; i + 3 <= size; i += 3)
		copy[(data[i] | (size_t)data[i + 1] << 8) % n] ^= data[i + 2];
	if (data[0] & 1 && n >= HEADER_SIZE) {
		memcpy(copy + SIZE_AT, &n, sizeof(n));
		hash = XXH3_64bits(copy + HEADER_SIZE, n - HEADER_SIZE);
		memcpy(copy + BODY_AT, &hash, sizeof(hash));
		hash = XXH3_64bits(copy, HASH_AT);
		memcpy(copy + HASH_AT, &hash, sizeof(hash));
	}
	if (osr_store_read(copy, n, "fuzz", engine, KEY, &last_arena, &baseline_arena, &scratch,
			   &last, &baseline, &diag)) {
		insist(diag.text[0] != 0, "store", "refused without a sentence");
	} else {
		use(engine, &last, &good->whole.fabric);
		use(engine, &last, &good->broken.fabric);
	}
	osr_arena_free(&last_arena);
	osr_arena_free(&baseline_arena);
	osr_arena_free(&scratch);
	free(copy);
	return 0;
}

/* Every byte changed, and cut off at every length. */
void fuzz_more(void)
{
	for (unsigned kind = 0; kind < 12; kind++)
		for (unsigned at = 0; at < 4096; at++) {
			uint8_t change[] = { kind, 0, 0, at & 255, at >> 8, 1 << at % 8 };
			uint8_t cut[] = { kind, at & 255, at >> 8 };

			LLVMFuzzerTestOneInput(change, sizeof(change));
			LLVMFuzzerTestOneInput(cut, sizeof(cut));
		}
}
