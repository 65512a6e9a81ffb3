/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever a traffic file holds, it is refused with a sentence that names file and line, or all its pairs
 * are different ranks that there are, and all its hosts are end ports of the fabric.
 */
#include "fuzz.h"

#include "io/trafficfile.h"

static void look(const struct osr_traffic *t, uint32_t n_terminals)
{
	const struct osr_phases *p = &t->phases;

	insist(p->n_phases && p->row[0] == 0 && p->row[p->n_phases], "traffic", "without a pair");
	for (uint32_t i = 0; i < p->n_phases; i++)
		insist(p->row[i] <= p->row[i + 1], "traffic", "a phase that ends before it begins");
	for (uint32_t i = 0; i < p->row[p->n_phases]; i++)
		insist(p->pair[i].from < p->n_ranks && p->pair[i].to < p->n_ranks &&
			       p->pair[i].from != p->pair[i].to,
		       "traffic", "a pair of nobody");
	for (uint32_t i = 0; t->hosts && i < p->n_ranks; i++)
		insist(t->hosts[i] < n_terminals, "traffic", "a host that is not there");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_endports x;
	struct osr_traffic t;

	insist(!osr_endports_init(&x, fuzz_ring(), &arena, &diag), "end ports", diag.text);
	/* Even without end ports, as where only ranks are allowed. */
	for (int i = 0; i < 2; i++) {
		if (osr_traffic_parse((const char *)data, size, "input", i ? NULL : &x, &t, &diag))
			insist(!strncmp(diag.text, "input:", 6), "refused without a place",
			       diag.text);
		else
			look(&t, fuzz_ring()->n_terminals);
		osr_traffic_free(&t);
	}
	osr_arena_free(&arena);
	return 0;
}
