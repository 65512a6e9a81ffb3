/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever an opensm-subnet.lst holds, it is refused with a sentence that names file and line, or it is
 * a net, which is a fabric or refused as one.
 */
#include "fuzz.h"

#include "io/subnetfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_lines in;
	struct osr_fabric f;
	struct osr_net net;
	enum osr_status st;

	insist(!osr_lines_text(&in, (const char *)data, size, "input", &diag), "lines", diag.text);
	st = osr_subnetfile_parse(&in, &net, &diag);
	insist(!st || !strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
	if (!st && osr_net_fabric(&net, -1, &arena, &f, &diag))
		insist(diag.text[0], "subnet file", "refused without a sentence");
	osr_net_free(&net);
	osr_arena_free(&arena);
	osr_lines_close(&in);
	return 0;
}
