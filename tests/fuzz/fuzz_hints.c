/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever a file of hints for angara holds, it is refused with a sentence that names file and line, or
 * every switch in it has a place of its own within the shape.
 */
#include "fuzz.h"

#include "angara/hints.h"

static void look(const struct hints *h)
{
	const struct osr_grid_frame *f = &h->frame;
	uint32_t n_dims = f->shape.n_dims;

	insist(n_dims && n_dims <= OSR_GRID_MAX_DIMS, "hints", "without a shape");
	for (uint32_t i = 0; i < n_dims; i++)
		insist(f->shape.size[i] >= 2, "hints", "a dimension of less than two");
	for (uint32_t k = 0; k < f->n; k++) {
		const uint16_t *x = f->coord + (size_t)k * n_dims;

		insist(!k || f->guid[k - 1] < f->guid[k], "hints", "not in the order of GUIDs");
		for (uint32_t i = 0; i < n_dims; i++)
			insist(x[i] < f->shape.size[i], "hints", "a place outside of the shape");
		for (uint32_t m = 0; m < k; m++)
			insist(memcmp(x, f->coord + (size_t)m * n_dims, n_dims * sizeof(*x)) != 0,
			       "hints", "two switches in one place");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	char *text = calloc(size + 1, 1);
	struct hints h;

	insist(text != NULL, "hints", "out of memory");
	if (size)
		memcpy(text, data, size);
	if (angara__hints("input", text, &arena, &h, &diag))
		insist(!strncmp(diag.text, "hints input:", 12), "refused without a place",
		       diag.text);
	else
		look(&h);
	free(text);
	osr_arena_free(&arena);
	return 0;
}
