/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/namemap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/lines.h"

#define NAME_SIZE 128

static enum osr_status namemap_line(struct osr_net *net, const uint32_t *by_guid,
				    struct osr_lines *in, const char *s, struct osr_diag *diag)
{
	char name[NAME_SIZE];
	uint64_t guid;

	osr_skip_blanks(&s);
	if (!*s || *s == '#')
		return OSR_OK;
	if (sscanf(s, "%" SCNx64 " \"%127[^\"]\"", &guid, name) != 2)
		return osr_lines_fail(in, diag, "expected 0xGUID \"name\"");
	/* All nodes with this GUID: a file may describe one twice, by mistake. */
	for (uint32_t at = osr_net_guid_at(net, by_guid, guid);
	     at < net->n_nodes && net->nodes[by_guid[at]].guid == guid; at++)
		net->nodes[by_guid[at]].name = osr_net_string(net, name, strlen(name));
	return OSR_OK;
}

enum osr_status osr_namemap_read(const char *path, struct osr_net *net, struct osr_diag *diag)
{
	uint32_t *by_guid = osr_net_by_guid(net);
	struct osr_lines in;
	enum osr_status st;
	char *text;

	if (!by_guid)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the names of %u nodes",
				net->n_nodes);
	st = osr_lines_open(&in, path, diag);
	if (st) {
		free(by_guid);
		return st;
	}
	in.by_people = true;
	while (!st && osr_lines_next(&in, &text, diag, &st))
		st = namemap_line(net, by_guid, &in, text, diag);
	osr_lines_close(&in);
	free(by_guid);
	return st ? st : osr_net_status(net, diag);
}
