/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever a table file holds: it is refused with a sentence, or its tables can be checked and
 * measured. A random file would never get past the checksums; so an input is a list of changes to a
 * good file, and its first byte says whether the checksums are put right afterwards.
 *
 *	input:	bit 0 of byte 0: checksums put right; bit 1: tables with SLs and SL2VL tables
 *		bytes 1, 2: the length the file is cut to, if not 0
 *		then of 3 bytes each: offset (little-endian), what to XOR there
 */
#include "fuzz.h"

#include <unistd.h>

#include "traffic/bandwidth.h"
#include <osmroutes/check.h>
#include "traffic/loads.h"
#include <osmroutes/sweep.h>
#include "core/verify/union.h"

#include <xxhash.h>

#include "io/tablefile.h"

#include "survey.h"

#define N_SWITCHES 5
#define HEADER_HASH 16
#define SECTIONS 112
#define N_SECTIONS 8
#define HEADER_SIZE (SECTIONS + 24 * N_SECTIONS)

/* A ring of five, with a chord, a host each. */
static void build_fabric(struct osr_arena *arena, struct osr_fabric *f)
{
	struct osr_builder *b = osr_builder_new();

	for (uint32_t s = 0; s < N_SWITCHES; s++) {
		osr_builder_switch(b, &(struct osr_switch_in){ .guid = 0x100 + s, .n_ports = 4 });
		osr_builder_terminal(
			b, &(struct osr_terminal_in){
				   .guid = 0x200 + s, .sw = s, .port = 1, .lid = 10 + s });
		osr_builder_terminal(b, &(struct osr_terminal_in){ .guid = 0x100 + s,
								   .sw = s,
								   .role = OSR_ROLE_SP0,
								   .lid = 20 + s });
	}
	for (uint32_t s = 0; s < N_SWITCHES; s++)
		osr_builder_link(b, &(struct osr_link_in){ .sw_a = s,
							   .port_a = 2,
							   .sw_b = (s + 1) % N_SWITCHES,
							   .port_b = 3 });
	osr_builder_link(b,
			 &(struct osr_link_in){ .sw_a = 0, .port_a = 4, .sw_b = 2, .port_b = 4 });
	insist(!osr_builder_build(b, arena, f, NULL), "table file", "no fabric");
	osr_builder_free(b);
}

/* SL2VL tables that say what none would say: VL = SL. */
static void add_sl2vl(const struct osr_fabric *f, struct osr_arena *arena, struct osr_routing *r)
{
	uint32_t n = N_SWITCHES * 25;

	r->sl2vl = osr_alloc(arena, n, sizeof(*r->sl2vl));
	r->sl2vl_row = osr_alloc(arena, N_SWITCHES, sizeof(*r->sl2vl_row));
	for (uint32_t i = 0; i < n * 16; i++)
		r->sl2vl[i / 16][i % 16] = i % 16 < 15 ? i % 16 : 14;
	for (uint32_t s = 0; s < N_SWITCHES; s++)
		r->sl2vl_row[s] = s * 25;
	memcpy(r->ca_sl2vl, r->sl2vl[0], 16);
}

static size_t make_file(const struct osr_fabric *f, bool sl2vl, uint8_t **data)
{
	const struct osr_engine *e = osr_engine_find("dfsssp");
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_result now = { .fabric = *f };
	char path[] = "/tmp/osr-fuzz-XXXXXX";
	struct osr_routing *r = &now.routing;
	struct osr_values v;
	const struct osr_job job = { .engine = e,
				     .values = &v,
				     .request = { .max_vls = 8, .multicast = true },
				     .scratch = &scratch,
				     .arena = &result };
	struct osr_sweep sweep;
	int fd = mkstemp(path);
	long size;
	FILE *in;

	osr_values_default(&v, e->params);
	insist(fd >= 0 && !osr_sweep(&job, &now, &sweep), "table file", "no tables");
	if (sl2vl)
		add_sl2vl(f, &result, r);
	insist(!osr_tablefile_write(path, f, r, NULL), "table file", "cannot write");
	in = fdopen(fd, "rb");
	insist(in && !fseek(in, 0, SEEK_END) && (size = ftell(in)) > 0, "table file", path);
	rewind(in);
	*data = aligned_alloc(64, (size_t)size);
	insist(*data && fread(*data, 1, (size_t)size, in) == (size_t)size, "table file", path);
	fclose(in);
	unlink(path);
	osr_arena_free(&scratch);
	osr_arena_free(&result);
	return (size_t)size;
}

static void put_right(uint8_t *file, size_t size)
{
	uint64_t place[3], hash = 0;

	if (size < HEADER_SIZE)
		return;
	for (uint32_t i = 0; i < N_SECTIONS; i++) {
		uint8_t *at = file + SECTIONS + 24 * i;

		memcpy(place, at, sizeof(place));
		if (!place[0] || place[0] > size || place[1] > size - place[0])
			continue;
		place[2] = XXH3_64bits(file + place[0], place[1]);
		memcpy(at, place, sizeof(place));
	}
	memcpy(file + HEADER_HASH, &hash, sizeof(hash));
	hash = XXH3_64bits(file, HEADER_SIZE);
	memcpy(file + HEADER_HASH, &hash, sizeof(hash));
}

/* All that reads tables. Verdicts are their own; here nothing may break. */
static void use(const struct osr_fabric *f, const struct osr_routing *r)
{
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_bandwidth bandwidth;
	struct osr_sequence sequence;
	struct osr_survey_in in;
	struct osr_survey_sum sum;
	struct osr_verdict verdict;
	struct osr_diag diag;
	struct osr_loads loads;
	struct osr_generation gen = { .routing = r };
	struct osr_loop loop;

	osr_check(f, r, &scratch, &verdict, &diag);
	osr_union_loop(f, &gen, 1, 0, &scratch, &result, &loop, NULL, &diag);
	if (!osr_bandwidth_prepare(f, r, 2, 1, &scratch, &sequence, &in, &bandwidth, &diag))
		test_survey(&in, &scratch, &sum, &diag);
	if (!osr_loads_init(&loads, f, &scratch, &diag))
		osr_loads_add(&loads, f, r, 0, f->n_dests, &scratch, &diag);
	osr_routing_digest(f, r);
	osr_arena_free(&result);
	osr_arena_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct osr_arena arena;
	static struct osr_fabric f;
	static uint8_t *good[2];
	static size_t good_size[2];
	struct osr_tablefile file = { 0 };
	struct osr_diag diag = { "" };
	struct osr_routing r;
	size_t n, kind;
	uint8_t *copy;

	if (!good[0]) {
		build_fabric(&arena, &f);
		good_size[0] = make_file(&f, false, &good[0]);
		good_size[1] = make_file(&f, true, &good[1]);
	}
	if (size < 3)
		return 0;
	kind = data[0] >> 1 & 1;
	n = data[1] | (size_t)data[2] << 8;
	n = n && n < good_size[kind] ? n : good_size[kind];
	copy = aligned_alloc(64, good_size[kind]);
	insist(copy != NULL, "table file", "no memory");
	memcpy(copy, good[kind], good_size[kind]);
	for (size_t i = 3; i + 3 <= size; i += 3)
		copy[(data[i] | (size_t)data[i + 1] << 8) % n] ^= data[i + 2];
	if (data[0] & 1)
		put_right(copy, n);
	if (osr_tablefile_parse(copy, n, "fuzz", &f, &file, &r, &diag))
		insist(diag.text[0] != 0, "table file", "refused without a sentence");
	else
		use(&f, &r);
	free(copy);
	return 0;
}

/* Besides the files: every byte of the file changed, and cut off at every length. */
void fuzz_more(void)
{
	for (uint32_t kind = 0; kind < 4; kind++)
		for (uint32_t at = 0; at < 2048; at++) {
			uint8_t change[] = { kind, 0, 0, at & 255, at >> 8, 1 + at % 255 };
			uint8_t cut[] = { kind, at & 255, at >> 8 };

			LLVMFuzzerTestOneInput(change, sizeof(change));
			LLVMFuzzerTestOneInput(cut, sizeof(cut));
		}
}
