/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topo/topo.h"

#include <stdio.h>
#include <string.h>

#include "topo/helper.h"

static const struct osr_topo *const rows[] = {
	&osr_topo_tree,      &osr_topo_kary,    &osr_topo_torus,   &osr_topo_mesh,
	&osr_topo_hypercube, &osr_topo_hyperx,  &osr_topo_kautz,   &osr_topo_random,
	&osr_topo_dragonfly, &osr_topo_slimfly, &osr_topo_megafly,
};

const struct osr_topo *osr_topo_row(uint32_t i)
{
	return i < sizeof(rows) / sizeof(rows[0]) ? rows[i] : NULL;
}

const struct osr_topo *osr_topo_find(const char *name)
{
	const struct osr_topo *topo;

	for (uint32_t i = 0; (topo = osr_topo_row(i)); i++)
		if (!strcmp(topo->name, name))
			return topo;
	return NULL;
}

enum osr_status osr_topo_make(const struct osr_topo *topo, const struct osr_values *values,
			      const struct osr_topo_style *style, struct osr_net *net,
			      struct osr_diag *diag)
{
	const struct osr_topo_job job = { values, values->num, style, net, diag };
	enum osr_status st;
	uint32_t n;
	char name[96];

	*net = (struct osr_net){ 0 };
	st = topo->make(&job);
	/* A CA on the last port of every switch, as aggregation nodes of modern switches sit. */
	n = st || !style->mgmt ? 0 : net->n_nodes;
	for (uint32_t i = 0; i < n; i++) {
		if (!osr_net_is_switch(net, i))
			continue;
		snprintf(name, sizeof(name), "mgmt-%s", osr_net_id(net, i));
		osr_cable(&job, i, net->nodes[i].n_ports, osr_net_node(net, OSR_NET_CA, 1, name),
			  1);
	}
	if (!st)
		st = osr_net_status(net, diag);
	if (st)
		osr_net_free(net);
	return st;
}
