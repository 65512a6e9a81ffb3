/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/endport.h"
#include "io/lines.h"

#define QUERY "ibqueryerrors --counters"

struct counter_reader {
	const struct osr_net *net;
	struct cli_counters *counters;
	uint32_t *by_guid; /* [n_nodes] nodes by GUID */
	uint32_t *by_lid;  /* [65536] ports, plus 1 */
	uint32_t port;     /* whose counters come next; OSR_NONE */
	uint64_t n;
};

static int by_guid(const void *x, const void *y, void *net)
{
	const struct osr_net_node *nodes = ((const struct osr_net *)net)->nodes;
	uint64_t a = nodes[*(const uint32_t *)x].guid, b = nodes[*(const uint32_t *)y].guid;

	return (a > b) - (a < b);
}

static uint32_t node_of_guid(const struct counter_reader *reader, uint64_t guid)
{
	uint32_t lo = 0, hi = reader->net->n_nodes;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (reader->net->nodes[reader->by_guid[mid]].guid < guid)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == reader->net->n_nodes || reader->net->nodes[reader->by_guid[lo]].guid != guid)
		return OSR_NONE;
	return reader->by_guid[lo];
}

static void choose_port(struct counter_reader *reader, uint32_t node, unsigned port)
{
	reader->port = node == OSR_NONE ? OSR_NONE : osr_net_port(reader->net, node, port);
	reader->counters->n_foreign += reader->port == OSR_NONE;
}

static void take_counter(struct counter_reader *reader, uint64_t *list, uint64_t value)
{
	if (reader->port == OSR_NONE)
		return;
	list[reader->port] = value;
	reader->n++;
}

/* "   GUID 0x200003 port 1: [PortXmitData == 1008 (3.938KB)] [PortRcvData == ..." */
static void take_ibqueryerrors(struct counter_reader *reader, const char *text)
{
	const char *sent = strstr(text, "[PortXmitData == "),
		   *received = strstr(text, "[PortRcvData == ");
	uint64_t guid, value;
	unsigned port;

	if (sscanf(text, " GUID 0x%" SCNx64 " port %u:", &guid, &port) != 2)
		return;
	choose_port(reader, node_of_guid(reader, guid), port);
	if (sent && sscanf(sent, "[PortXmitData == %" SCNu64, &value) == 1)
		take_counter(reader, reader->counters->sent, value);
	if (received && sscanf(received, "[PortRcvData == %" SCNu64, &value) == 1)
		take_counter(reader, reader->counters->received, value);
	reader->port = OSR_NONE;
}

/* "# Port extended counters: Lid 7 port 3 (CapMask: 0x1200)", then "PortXmitData:....123" */
static void take_perfquery(struct counter_reader *reader, const char *text)
{
	const char *head = strstr(text, "counters: Lid ");
	unsigned lid, port;
	uint64_t value;

	if (*text == '#' && head && sscanf(head, "counters: Lid %u port %u", &lid, &port) == 2) {
		uint32_t at = lid < 65536 ? reader->by_lid[lid] : 0;

		choose_port(reader, at ? reader->net->ports[at - 1].node : OSR_NONE, port);
	} else if (sscanf(text, "PortXmitData:%*[.]%" SCNu64, &value) == 1) {
		take_counter(reader, reader->counters->sent, value);
	} else if (sscanf(text, "PortRcvData:%*[.]%" SCNu64, &value) == 1) {
		take_counter(reader, reader->counters->received, value);
	}
}

static enum osr_status take_lines(struct counter_reader *reader, struct osr_lines *in,
				  struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;
	char *text;

	in->by_people = true;
	reader->port = OSR_NONE;
	while (!st && osr_lines_next(in, &text, diag, &st)) {
		if (*text == ' ')
			take_ibqueryerrors(reader, text);
		else
			take_perfquery(reader, text);
	}
	return st;
}

static bool index_net(struct counter_reader *reader)
{
	const struct osr_net *net = reader->net;
	size_t n = (size_t)net->n_ports + 1;

	reader->by_guid = calloc((size_t)net->n_nodes + 1, sizeof(*reader->by_guid));
	reader->by_lid = calloc(65536, sizeof(*reader->by_lid));
	reader->counters->sent = malloc(n * sizeof(*reader->counters->sent));
	reader->counters->received = malloc(n * sizeof(*reader->counters->received));
	if (!reader->by_guid || !reader->by_lid || !reader->counters->sent ||
	    !reader->counters->received)
		return false;
	memset(reader->counters->sent, 0xff, n * sizeof(*reader->counters->sent));
	memset(reader->counters->received, 0xff, n * sizeof(*reader->counters->received));
	for (uint32_t i = 0; i < net->n_nodes; i++)
		reader->by_guid[i] = i;
	qsort_r(reader->by_guid, net->n_nodes, sizeof(*reader->by_guid), by_guid, (void *)net);
	for (uint32_t p = 0; p < net->n_ports; p++)
		if (net->ports[p].lid)
			reader->by_lid[net->ports[p].lid] = p + 1;
	return true;
}

enum osr_status cli_counters_read(const char *path, const struct osr_net *net,
				  struct cli_counters *counters, struct osr_diag *diag)
{
	struct counter_reader reader = { .net = net, .counters = counters };
	struct osr_lines lines;
	enum osr_status st;

	*counters = (struct cli_counters){ 0 };
	if (!index_net(&reader)) {
		st = osr_fail(diag, OSR_NOMEM, "out of memory for the counters of %u ports",
			      net->n_ports);
	} else {
		st = path ? osr_lines_open(&lines, path, diag)
			  : osr_lines_command(&lines, QUERY, QUERY, diag);
		if (!st) {
			st = take_lines(&reader, &lines, diag);
			if (!osr_lines_close(&lines) && !st && !reader.n)
				st = osr_fail(diag, OSR_INVAL,
					      QUERY " failed; run it elsewhere and give its output "
						    "by --counters=FILE");
		}
	}
	if (!st && !reader.n)
		st = osr_fail(
			diag, OSR_INVAL,
			"%.200s: no counters of this fabric: expected what %s or perfquery print",
			path ? path : QUERY, QUERY);
	free(reader.by_guid);
	free(reader.by_lid);
	return st;
}

void cli_counters_free(struct cli_counters *counters)
{
	free(counters->sent);
	free(counters->received);
}
