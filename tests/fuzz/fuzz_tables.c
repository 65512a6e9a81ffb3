/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever a file of tables holds, it is refused with a sentence that names file and line, or it
 * becomes tables that the auditor and the search for credit loops can judge. The first byte says which
 * reader: F (fdbs and LFTs), V (SL2VL), P (paths), M (multicast), S (opensm-subnet.lst).
 *
 * The fabric is always the same: a ring of three switches with a host each, GUIDs 0x1, 0x2, 0x3 and
 * 0x11, 0x12, 0x13, LIDs 1 to 3 and 4 to 6. Built with OSR_FUZZ=ON it is a libFuzzer target, otherwise
 * it replays the files it is given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/audit.h>

#include "io/subnetfile.h"
#include "io/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool ok, const char *what, const char *said)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz_tables: %s: %s\n", what, said);
	abort();
}

static void make_fabric(struct osr_arena *arena, struct osr_fabric *f)
{
	struct osr_builder *b = osr_builder_new();
	uint32_t sw[3];

	for (unsigned i = 0; i < 3; i++)
		sw[i] = osr_builder_switch(b, &(struct osr_switch_in){ i + 1, 4, 0, NULL });
	for (unsigned i = 0; i < 3; i++) {
		osr_builder_link(b, &(struct osr_link_in){ .sw_a = sw[i],
							   .sw_b = sw[(i + 1) % 3],
							   .port_a = 1,
							   .port_b = 2 });
		osr_builder_terminal(b, &(struct osr_terminal_in){ .guid = i + 1,
								   .sw = sw[i],
								   .role = OSR_ROLE_SP0,
								   .lid = (uint16_t)(i + 1) });
		osr_builder_terminal(b, &(struct osr_terminal_in){ .guid = 0x11 + i,
								   .sw = sw[i],
								   .port = 3,
								   .lid = (uint16_t)(i + 4) });
	}
	insist(!osr_builder_build(b, arena, f, NULL), "the fabric", "");
	osr_builder_free(b);
}

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
		insist(diag.text[0], "a fault without a sentence", "");
	}
	osr_arena_free(&scratch);
	osr_arena_free(&result);
}

static void read_tables(char kind, struct osr_lines *in)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_fabric f;
	struct osr_tables t;
	enum osr_status st;
	bool same_ca;

	make_fabric(&arena, &f);
	insist(!osr_tables_init(&t, &f, NULL, &arena, &diag), "init", diag.text);
	st = kind == 'F'   ? osr_tables_parse_lfts(&t, in, &diag)
	     : kind == 'V' ? osr_tables_parse_sl2vl(&t, in, &diag)
	     : kind == 'P' ? osr_tables_parse_paths(&t, in, &diag)
			   : osr_tables_parse_groups(&t, in, &diag);
	if (!st)
		st = osr_tables_finish(&t, &same_ca, &diag);
	insist(!st || !strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
	if (!st)
		judge(&t);
	osr_tables_free(&t);
	osr_arena_free(&arena);
}

static void read_subnet(struct osr_lines *in)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_net net;
	struct osr_fabric f;
	enum osr_status st = osr_subnetfile_parse(in, &net, &diag);

	insist(!st || !strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
	if (!st && osr_net_fabric(&net, -1, &arena, &f, &diag))
		insist(diag.text[0], "refused without a sentence", "");
	osr_net_free(&net);
	osr_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osr_lines in;

	if (!size)
		return 0;
	insist(!osr_lines_text(&in, (const char *)data + 1, size - 1, "input", NULL), "memory", "");
	if (*data == 'S')
		read_subnet(&in);
	else
		read_tables((char)*data, &in);
	osr_lines_close(&in);
	return 0;
}

#ifndef OSR_LIBFUZZER
static void replay(const char *path)
{
	static uint8_t buf[1 << 20];
	FILE *in = fopen(path, "rb");
	size_t size;

	insist(in != NULL, "cannot open", path);
	size = fread(buf, 1, sizeof(buf), in);
	fclose(in);
	LLVMFuzzerTestOneInput(buf, size);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("%d inputs\n", argc - 1);
	return argc < 2;
}
#endif
