/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topo/helper.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum osr_status osr_list(const char *text, const char *what, uint32_t *list, uint32_t *n,
			 struct osr_diag *diag)
{
	const char *at = text;

	*n = 0;
	for (;;) {
		char *end = NULL;
		unsigned long v = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;

		if (!v || v > OSR_MAX_NODES || *n == OSR_TOPO_MAX_DIMS ||
		    (*end && !strchr(",x", *end)))
			return osr_fail(diag, OSR_INVAL,
					"%s = \"%s\": expected 1 to %d numbers from 1 on, as in "
					"8x8x4 or 8,8,4",
					what, text, OSR_TOPO_MAX_DIMS);
		list[(*n)++] = v;
		if (!*end)
			return OSR_OK;
		at = end + 1;
	}
}

enum osr_status osr_topo_product(const uint32_t *factor, uint32_t n, const char *what,
				 uint32_t *product, struct osr_diag *diag)
{
	uint64_t p = 1;

	for (uint32_t i = 0; i < n; i++) {
		p *= factor[i];
		if (p > OSR_MAX_NODES)
			return osr_fail(diag, OSR_INVAL, "more than %u %s: too large for a subnet",
					OSR_MAX_NODES, what);
	}
	osr_invariant(p <= OSR_MAX_NODES);
	*product = p;
	return OSR_OK;
}

void osr_topo_name(char *buf, size_t size, const char *prefix, uint32_t i, uint32_t count)
{
	char number[16];
	const char *first = number + 9; /* of ten digits */

	snprintf(number, sizeof(number), "%010" PRIu32, i);
	for (uint32_t last = count ? count - 1 : 0; last >= 10; last /= 10)
		first--;
	osr_invariant(first >= number && (!count || i < count));
	snprintf(buf, size, "%s%s", prefix, first);
}

enum osr_status osr_switch_ports(const struct osr_topo_job *job, uint64_t needed, uint32_t *n_ports)
{
	const struct osr_topo_style *style = job->style;

	needed += style->mgmt;
	if (needed == 0)
		needed = 1;
	if (style->ports && needed > style->ports)
		return osr_fail(job->diag, OSR_INVAL,
				"a switch of this fabric needs %" PRIu64 " ports, not %u", needed,
				style->ports);
	if (needed > OSR_NET_MAX_NODE_PORTS)
		return osr_fail(job->diag, OSR_INVAL,
				"a switch of this fabric needs %" PRIu64 " ports, %d are possible",
				needed, OSR_NET_MAX_NODE_PORTS);
	*n_ports = style->ports ? style->ports : needed;
	return OSR_OK;
}

uint32_t osr_switch(const struct osr_topo_job *job, uint32_t n_ports, const char *name)
{
	uint32_t s = osr_net_node(job->net, OSR_NET_SWITCH, n_ports, name);

	if (s != OSR_NONE)
		job->net->nodes[s].enhanced_sp0 = job->style->enhanced_sp0;
	return s;
}

void osr_cable(const struct osr_topo_job *job, uint32_t node_a, uint32_t port_a, uint32_t node_b,
	       uint32_t port_b)
{
	osr_invariant(job->net->failed ||
		      (node_a < job->net->n_nodes && node_b < job->net->n_nodes));
	/* No generator uses a port twice, or one that the switch does not have. */
	osr_invariant(job->net->failed ||
		      osr_topo_is_free(job->net, osr_net_port(job->net, node_a, port_a)));
	osr_invariant(job->net->failed ||
		      osr_topo_is_free(job->net, osr_net_port(job->net, node_b, port_b)));
	osr_net_cable(job->net, osr_net_port(job->net, node_a, port_a),
		      osr_net_port(job->net, node_b, port_b), job->style->width, job->style->speed);
}

enum osr_status osr_hosts(const struct osr_topo_job *job, uint32_t n_switches, uint32_t each)
{
	uint64_t n = (uint64_t)n_switches * each;
	char name[32];

	if (n > OSR_MAX_NODES)
		return osr_fail(job->diag, OSR_INVAL, "%" PRIu64 " hosts: too many for a subnet",
				n);
	for (uint32_t i = 0; i < n; i++) {
		osr_topo_name(name, sizeof(name), "h", i, n);
		osr_cable(job, i / each, 1 + i % each, osr_net_node(job->net, OSR_NET_CA, 1, name),
			  1);
	}
	return osr_net_status(job->net, job->diag);
}
