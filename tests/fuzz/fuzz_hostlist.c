/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever a list of hosts holds, it is refused with a sentence that names file and line, or all of it are
 * different end ports of CAs.
 */
#include "fuzz.h"

#include "io/endports.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct osr_fabric *f = fuzz_ring();
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	bool seen[6] = { false };
	struct osr_endports x;
	uint32_t hosts[6], n;

	insist(f->n_terminals == 6, "ring", "has six end ports");
	insist(!osr_endports_init(&x, f, &arena, &diag), "end ports", diag.text);
	if (osr_hostlist_parse((const char *)data, size, "input", &x, hosts, &n, &diag)) {
		insist(!strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
		n = 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		insist(hosts[i] < 6 && !seen[hosts[i]] && f->term_role[hosts[i]] != OSR_ROLE_SP0,
		       "hosts", "one twice, or none");
		seen[hosts[i]] = true;
	}
	osr_arena_free(&arena);
	return 0;
}
