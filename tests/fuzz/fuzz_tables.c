/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever a file of tables holds, it is refused with a sentence that names file and line, or it
 * becomes tables that the auditor and the search for credit loops can judge. READER is the one of
 * tables.h that is built in; each has a target of its own.
 */
#include "fuzz.h"

#include "core/verify/audit.h"

#include "io/tables.h"

static void judge(const struct osr_tables *t)
{
	struct osr_generation gen[2] = { osr_tables_generation(t), osr_tables_generation(t) };
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_diag diag = { "" };
	struct osr_audit audit;
	struct osr_loop loop;

	for (unsigned i = 0; i < 2; i++)
		insist(!osr_union_loop(t->f, gen, i + 1, OSR_CLAIM_REVERSIBLE | OSR_CLAIM_MULTICAST,
				       &scratch, &result, &loop, NULL, &diag),
		       "loops", diag.text);
	insist(!osr_audit(t->f, gen, OSR_CLAIM_REVERSIBLE, 4, &scratch, &result, &audit, &diag),
	       "audit", diag.text);
	for (uint32_t i = 0; i < audit.n_listed; i++) {
		osr_fault_say(t->f, &audit.fault[i], &diag);
		insist(diag.text[0], "a fault", "without a sentence");
	}
	osr_arena_free(&scratch);
	osr_arena_free(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_lines in;
	struct osr_tables t;
	enum osr_status st;
	bool same_ca;

	insist(!osr_lines_text(&in, (const char *)data, size, "input", &diag), "lines", diag.text);
	insist(!osr_tables_init(&t, fuzz_ring(), NULL, &arena, &diag), "init", diag.text);
	st = READER(&t, &in, &diag);
	if (!st)
		st = osr_tables_finish(&t, &same_ca, &diag);
	insist(!st || !strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
	if (!st)
		judge(&t);
	osr_tables_free(&t);
	osr_arena_free(&arena);
	osr_lines_close(&in);
	return 0;
}
