/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever a symbolic trace holds, it is refused with a sentence that names its file, or all its sends are
 * there and go to ranks that there are.
 */
#include "fuzz.h"
#include "simulator/tracefile.h"

static void look(const struct osr_trace *t)
{
	struct osr_pair *pair = malloc(t->n_ranks * sizeof(*pair));

	insist(pair != NULL, "no memory", "");
	for (uint32_t k = 0; k < t->n_phases; k++)
		insist(t->phase[k].first + t->phase[k].n_sends <= t->n_sends &&
			       t->phase[k].n_sends <= t->max_sends,
		       "sends that are not there", "");
	for (uint32_t i = 0; i < t->n_sends && t->n_ranks <= 4096; i++) {
		uint32_t n = osr_trace_pairs(t, &t->send[i], pair);

		for (uint32_t p = 0; p < n; p++)
			insist(pair[p].from < t->n_ranks && pair[p].to < t->n_ranks &&
				       pair[p].from != pair[p].to,
			       "a pair that is none", "");
	}
	free(pair);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osr_diag diag = { "" };
	struct osr_trace t;

	if (osr_trace_parse((const char *)data, size, "input", &t, &diag))
		insist(!strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
	else
		look(&t);
	osr_trace_free(&t);
	return 0;
}
