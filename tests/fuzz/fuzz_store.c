/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever stored tables hold: they are refused with a sentence, or the next sweep starts from them
 * and what it makes passes the check or is refused. A random file would never get past the
 * checksums; so an input is a list of changes to good bytes, and its first byte says whether the
 * checksums are put right afterwards. Built with OSR_FUZZ=ON it is a libFuzzer target, otherwise it
 * replays the files it is given and changes of its own.
 *
 *	input:	bit 0 of byte 0: checksums put right; bit 1: last and the baseline, not one result
 *		bytes 1, 2: the length the bytes are cut to, if not 0
 *		then of 3 bytes each: offset (little-endian), what to XOR there
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/check.h>
#include "core/reroute/reroute.h"
#include "core/store/store.h"
#include <osmroutes/sweep.h>

#include <xxhash.h>

#define N_SWITCHES 6
#define HEADER_SIZE 64
#define SIZE_AT 16
#define BODY_AT 32
#define HASH_AT 56
#define KEY 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz_store: %s\n", what);
	abort();
}

/* A ring with two chords, a host each; or without one of its cables. */
static void build_fabric(struct osr_arena *arena, struct osr_fabric *f, bool whole)
{
	struct osr_builder *b = osr_builder_new();

	for (uint32_t s = 0; s < N_SWITCHES; s++) {
		osr_builder_switch(b, &(struct osr_switch_in){
					      .guid = 0x100 + s, .n_ports = 4, .name = "switch" });
		osr_builder_terminal(
			b, &(struct osr_terminal_in){
				   .guid = 0x200 + s, .sw = s, .port = 1, .lid = 10 + s });
		if (whole || s != 3)
			osr_builder_link(b, &(struct osr_link_in){ .sw_a = s,
								   .port_a = 2,
								   .sw_b = (s + 1) % N_SWITCHES,
								   .port_b = 3 });
	}
	for (uint32_t s = 0; s < 2; s++)
		osr_builder_link(b, &(struct osr_link_in){
					    .sw_a = s, .port_a = 4, .sw_b = s + 3, .port_b = 4 });
	insist(!osr_builder_build(b, arena, f, NULL), "no fabric");
	osr_builder_free(b);
}

static enum osr_status route(const struct osr_result *before, struct osr_arena *arena,
			     struct osr_result *now, struct osr_diag *diag)
{
	const struct osr_engine *e = osr_engine_find("dfsssp");
	struct osr_arena scratch = { 0 };
	struct osr_values v;
	const struct osr_job job = { .engine = e,
				     .values = &v,
				     .request = { .max_vls = 8, .multicast = true },
				     .previous = before,
				     .scratch = &scratch,
				     .arena = arena,
				     .diag = diag };
	struct osr_sweep sweep;
	enum osr_status st;

	osr_values_default(&v, e->params);
	st = osr_sweep(&job, now, &sweep);
	osr_arena_free(&scratch);
	return st;
}

static size_t make(struct osr_result *last, uint8_t **buf)
{
	size_t size = osr_store_size(last);

	*buf = malloc(size);
	insist(*buf != NULL, "no memory");
	osr_store_write(last, KEY, *buf, size);
	return size;
}

static void put_right(uint8_t *buf, size_t size)
{
	uint64_t n = size, hash;

	if (size < HEADER_SIZE)
		return;
	memcpy(buf + SIZE_AT, &n, sizeof(n));
	hash = XXH3_64bits(buf + HEADER_SIZE, size - HEADER_SIZE);
	memcpy(buf + BODY_AT, &hash, sizeof(hash));
	hash = XXH3_64bits(buf, HASH_AT);
	memcpy(buf + HASH_AT, &hash, sizeof(hash));
}

/* Both fabrics of today are routed from what was read. */
static void use(const struct osr_result *last, const struct osr_fabric *f)
{
	struct osr_result now = { .fabric = *f };
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };

	if (route(last, &arena, &now, &diag))
		insist(diag.text[0] != 0, "no tables, and no sentence");
	osr_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct osr_arena arena;
	static struct osr_result whole, broken;
	static uint8_t *good[2];
	static size_t good_size[2];
	struct osr_arena last_arena = { 0 }, baseline_arena = { 0 }, scratch = { 0 };
	struct osr_result last, baseline;
	struct osr_diag diag = { "" };
	uint8_t *copy;
	size_t n, kind;

	if (!good[0]) {
		build_fabric(&arena, &whole.fabric, true);
		build_fabric(&arena, &broken.fabric, false);
		insist(!route(NULL, &arena, &whole, NULL) && !route(&whole, &arena, &broken, NULL),
		       "no tables");
		insist(broken.baseline == &whole, broken.routing.stable.why);
		good_size[0] = make(&whole, &good[0]);
		good_size[1] = make(&broken, &good[1]);
	}
	if (size < 3)
		return 0;
	kind = data[0] >> 1 & 1;
	n = data[1] | (size_t)data[2] << 8;
	n = n && n < good_size[kind] ? n : good_size[kind];
	copy = malloc(n);
	insist(copy != NULL, "no memory");
	memcpy(copy, good[kind], n);
	for (size_t i = 3; i + 3 <= size; i += 3)
		copy[(data[i] | (size_t)data[i + 1] << 8) % n] ^= data[i + 2];
	if (data[0] & 1)
		put_right(copy, n);
	if (osr_store_read(copy, n, "fuzz", "dfsssp", KEY, &last_arena, &baseline_arena, &scratch,
			   &last, &baseline, &diag)) {
		insist(diag.text[0] != 0, "refused without a sentence");
	} else {
		use(&last, &whole.fabric);
		use(&last, &broken.fabric);
	}
	osr_arena_free(&last_arena);
	osr_arena_free(&baseline_arena);
	osr_arena_free(&scratch);
	free(copy);
	return 0;
}

#ifndef OSR_LIBFUZZER
/* Every byte changed, and cut off at every length. */
static void every_byte(void)
{
	for (unsigned kind = 0; kind < 4; kind++)
		for (unsigned at = 0; at < 4096; at++) {
			uint8_t change[] = { kind, 0, 0, at & 255, at >> 8, 1 << at % 8 };
			uint8_t cut[] = { kind, at & 255, at >> 8 };

			LLVMFuzzerTestOneInput(change, sizeof(change));
			LLVMFuzzerTestOneInput(cut, sizeof(cut));
		}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *in = fopen(argv[i], "rb");
		uint8_t buf[4096];
		size_t n;

		insist(in != NULL, argv[i]);
		n = fread(buf, 1, sizeof(buf), in);
		LLVMFuzzerTestOneInput(buf, n);
		fclose(in);
	}
	every_byte();
	printf("%d files replayed\n", argc - 1);
	return 0;
}
#endif
