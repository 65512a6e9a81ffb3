/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/namemap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/lines.h"

#define NAME_SIZE 128

struct namemap_node {
	uint64_t guid;
	uint32_t node;
};

static int namemap_compare(const void *x, const void *y)
{
	const struct namemap_node *node = x, *namemap = y;

	if (node->guid != namemap->guid)
		return node->guid < namemap->guid ? -1 : 1;
	return node->node < namemap->node ? -1 : node->node > namemap->node;
}

static struct namemap_node *namemap_index(const struct osr_net *net)
{
	struct namemap_node *index = calloc((size_t)net->n_nodes + 1, sizeof(*index));

	for (uint32_t i = 0; index && i < net->n_nodes; i++)
		index[i] = (struct namemap_node){ net->nodes[i].guid, i };
	if (index)
		qsort(index, net->n_nodes, sizeof(*index), namemap_compare);
	return index;
}

/* All nodes with this GUID: a file may describe one twice, by mistake. */
static void namemap_set(struct osr_net *net, const struct namemap_node *index, uint64_t guid,
			const char *name)
{
	uint32_t lo = 0, hi = net->n_nodes;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (index[mid].guid < guid)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < net->n_nodes && index[lo].guid == guid; lo++)
		net->nodes[index[lo].node].name = osr_net_string(net, name, strlen(name));
}

static enum osr_status namemap_line(struct osr_net *net, const struct namemap_node *index,
				    struct osr_lines *in, const char *s, struct osr_diag *diag)
{
	char name[NAME_SIZE];
	uint64_t guid;

	osr_skip_blanks(&s);
	if (!*s || *s == '#')
		return OSR_OK;
	if (sscanf(s, "%" SCNx64 " \"%127[^\"]\"", &guid, name) != 2)
		return osr_lines_fail(in, diag, "expected 0xGUID \"name\"");
	namemap_set(net, index, guid, name);
	return OSR_OK;
}

enum osr_status osr_namemap_read(const char *path, struct osr_net *net, struct osr_diag *diag)
{
	struct namemap_node *index = namemap_index(net);
	struct osr_lines in;
	enum osr_status st;
	char *text;

	if (!index)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the names of %u nodes",
				net->n_nodes);
	st = osr_lines_open(&in, path, diag);
	if (st) {
		free(index);
		return st;
	}
	in.by_people = true;
	while (!st && osr_lines_next(&in, &text, diag, &st))
		st = namemap_line(net, index, &in, text, diag);
	osr_lines_close(&in);
	free(index);
	return st ? st : osr_net_status(net, diag);
}
