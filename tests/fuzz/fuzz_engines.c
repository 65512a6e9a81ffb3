/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes are a fabric and a request; every engine must refuse with a sentence or give tables
 *that the checker proves and the judge confirms. Aborts otherwise.
 *
 * With libFuzzer (OSR_LIBFUZZER) it is a target; otherwise a program that makes up its bytes:
 *	fuzz_engines [FIRST_SEED [N_SEEDS]]
 */
#include <osmroutes/check.h>
#include <osmroutes/engine.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabrics.h"
#include "tables.h"

/* The bytes, read one after the other; zeroes when they are used up. */
struct bytes {
	const uint8_t *data;
	size_t n, at;
};

static unsigned next(struct bytes *b, unsigned below)
{
	return (b->at < b->n ? b->data[b->at++] : 0) % below;
}

static void draw(struct bytes *b, struct test_fabric *t)
{
	unsigned n = 1 + next(b, 12), n_links = next(b, 40), n_hosts = next(b, 24);
	static const uint16_t rates[] = { 0, 8, 32, 97 };
	struct draft d;

	draft_new(&d);
	for (unsigned i = 0; i < n; i++) {
		d.no_sp0_lid = next(b, 4) == 0;
		draft_switch(&d);
	}
	/* Nothing makes it whole: what falls apart is routed part by part. */
	for (unsigned i = 0; i < n_links; i++) {
		unsigned from = next(b, n), to = next(b, n);

		d.rate = rates[next(b, 4)];
		if (from != to && d.n_used[from] < 18 && d.n_used[to] < 18)
			draft_link(&d, from, to);
	}
	for (unsigned i = 0; i < n_hosts; i++) {
		unsigned s = next(b, n);

		d.lmc = next(b, 8) == 0 ? next(b, 4) : 0;
		if (d.n_used[s] < 24)
			draft_host(&d, s);
	}
	draft_build(&d, t, "fuzzed");
}

static void set_options(struct bytes *b, const struct osr_param *table, struct osr_values *v)
{
	osr_values_default(v, table);
	for (unsigned row = 0; table[row].name; row++) {
		const struct osr_param *p = &table[row];
		unsigned x = next(b, 256), n_words = 1;

		if (x % 2)
			continue;
		for (const char *w = p->words; w && *w; w++)
			n_words += *w == '|';
		if (p->type == OSR_PARAM_BOOL)
			v->num[row] = x / 2 % 2;
		else if (p->type == OSR_PARAM_ENUM)
			v->num[row] = x / 2 % n_words;
		else if (p->type == OSR_PARAM_UINT)
			v->num[row] = p->min + x / 2 % ((p->max < 12 ? p->max : 12) - p->min + 1);
	}
}

static void die(const struct osr_engine *e, const char *what, const char *sentence)
{
	fprintf(stderr, "%s: %s: %s\n", e->name, what, sentence);
	abort();
}

static void judge(const struct osr_engine *e, const struct osr_fabric *f,
		  const struct osr_routing *r, struct osr_arena *scratch)
{
	struct osr_verdict checked, judged;
	struct osr_diag diag = { 0 };

	if (osr_check(f, r, scratch, &checked, &diag) != OSR_OK)
		die(e, "check", diag.text);
	if (!table_judge(f, r, &judged))
		die(e, "judge", "refuses what the checker accepts");
	if (checked.efi != judged.efi || checked.n_routes != judged.n_routes)
		die(e, "verdict", "the judge counts otherwise");
}

static void try(struct bytes b, const struct osr_engine *e, const struct osr_fabric *f)
{
	struct osr_request req = { .max_vls = 1 + next(&b, 15), .multicast = next(&b, 2) };
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_diag diag = { 0 };
	struct osr_values values;
	struct osr_routing r;
	enum osr_status st = OSR_OK;

	set_options(&b, e->params, &values);
	if (e->applies)
		st = e->applies(f, &values, &diag);
	if (st == OSR_OK)
		st = e->route(f, &values, &req, NULL, &scratch, &result, &r, &diag);
	if (st == OSR_OK)
		judge(e, f, &r, &scratch);
	else if (st != OSR_NO_VL && st != OSR_NOT_APPLICABLE)
		die(e, osr_status_str(st), diag.text);
	else if (!diag.text[0])
		die(e, osr_status_str(st), "without a sentence");
	osr_arena_free(&scratch);
	osr_arena_free(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { .data = data, .n = size };
	struct test_fabric t;

	draw(&b, &t);
	for (const struct osr_engine *const *e = osr_engines; *e; e++)
		try(b, *e, &t.f);
	test_fabric_free(&t);
	return 0;
}

#ifndef OSR_LIBFUZZER
int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : 2000;

	for (uint64_t seed = first; seed < first + n; seed++) {
		uint64_t state = seed;
		uint8_t data[256];

		for (size_t i = 0; i < sizeof(data); i++)
			data[i] = test_random(&state) >> 56;
		LLVMFuzzerTestOneInput(data, sizeof(data));
	}
	printf("%llu fabrics, every engine right or refused\n", (unsigned long long)n);
	return 0;
}
#endif
