/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/namemap.h"

#include <osmroutes/invariant.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/keyed.h"

struct namemap {
	struct osr_lines *in;
	struct osr_net *net;
	struct osr_keyed *by_guid; /* [n_nodes] */
	uint64_t *line; /* [n_nodes] where the name of the node stands, 0: nowhere so far */
	uint32_t n_names, n_known;
};

/* All nodes with this GUID: a file may describe one twice, by mistake. */
static enum osr_status namemap_name(struct namemap *map, uint64_t guid, const char *name, size_t n)
{
	struct osr_net *net = map->net;
	uint32_t at = osr_keyed_at(map->by_guid, net->n_nodes, guid), first = at;

	for (; at < net->n_nodes; at++) {
		uint32_t node = map->by_guid[at].index;

		if (map->by_guid[at].key != guid)
			break;
		if (map->line[node])
			return osr_lines_fail(
				map->in, "0x%016" PRIx64 " has a name already, in line %" PRIu64,
				guid, map->line[node]);
		map->line[node] = map->in->number;
		net->nodes[node].name = osr_net_description(net, name, n);
	}
	osr_invariant(first == net->n_nodes || map->by_guid[first].key >= guid);
	map->n_names++;
	map->n_known += at > first;
	return net->failed ? osr_lines_nomem(map->in) : OSR_OK;
}

static enum osr_status namemap_line(struct namemap *map, const char *at)
{
	const char *close;
	uint64_t guid;
	bool good;

	osr_skip_blanks(&at);
	if (!*at || *at == '#')
		return OSR_OK;
	good = osr_scan(&at, "%x \"", &guid);
	close = good ? strchr(at, '"') : NULL;
	if (close && close > at) {
		const char *rest = close + 1;

		osr_skip_blanks(&rest);
		if (!*rest || *rest == '#')
			return namemap_name(map, guid, at, (size_t)(close - at));
	}
	return osr_lines_fail(map->in, "expected 0xGUID \"name\"");
}

enum osr_status osr_namemap_read(struct osr_lines *in, struct osr_net *net, uint32_t *n_names,
				 uint32_t *n_known)
{
	struct namemap map = { .in = in,
			       .net = net,
			       .by_guid = osr_net_by_guid(net),
			       .line = calloc((size_t)net->n_nodes + 1, sizeof(*map.line)) };
	enum osr_status st = map.by_guid && map.line ? OSR_OK : osr_lines_nomem(in);
	char *text;

	in->by_people = true;
	while (!st && osr_lines_next(in, &text, &st))
		st = namemap_line(&map, text);
	osr_lines_close(in);
	free(map.by_guid);
	free(map.line);
	*n_names = map.n_names;
	*n_known = map.n_known;
	return st;
}
