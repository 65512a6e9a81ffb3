/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever a net file holds: it is refused with a sentence, or it is a net that can be written,
 * read again with the same result, and turned into a fabric or refused as one.
 */
#include "fuzz.h"

#include "io/netfile.h"

static char *write_text(const struct osr_net *net)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	insist(out && !osr_netfile_write(net, NULL, out, NULL), "net file", "cannot write");
	fclose(out);
	return text;
}

static void write_and_read(const struct osr_net *net)
{
	struct osr_diag diag = { "" };
	char *text = write_text(net), *text2;
	struct osr_net again;

	if (osr_netfile_parse(text, strlen(text), "again", &again, &diag)) {
		fprintf(stderr, "%s\n%s", diag.text, text);
		insist(false, "net file", "does not read what it wrote");
	}
	insist(again.n_nodes == net->n_nodes && again.n_ports == net->n_ports, "net file",
	       "lost nodes");
	insist(osr_net_count(&again).cables == osr_net_count(net).cables, "net file",
	       "lost cables");
	text2 = write_text(&again);
	insist(!strcmp(text, text2), "net file", "writes something else the second time");
	free(text);
	free(text2);
	osr_net_free(&again);
}

static void build(struct osr_net *net)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_fabric f;

	if (osr_net_fabric(net, -1, &arena, &f, &diag))
		insist(diag.text[0] != 0, "net file", "refused without a sentence");
	else
		insist(f.n_switches == osr_net_count(net).switches, "net file", "lost switches");
	osr_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osr_diag diag = { "" };
	struct osr_net net;

	if (osr_netfile_parse((const char *)data, size, "fuzz", &net, &diag)) {
		insist(diag.text[0] != 0, "net file", "refused without a sentence");
		return 0;
	}
	write_and_read(&net);
	build(&net);
	osr_net_free(&net);
	return 0;
}
