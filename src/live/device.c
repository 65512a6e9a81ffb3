/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "device.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/umad.h>

#define IS_SM_DISABLED (1u << 10) /* of PortInfo.CapabilityMask */

enum { PORT_ACTIVE = 4, PHYS_DISABLED = 3, PHYS_LINK_UP = 5 };

/* A port of a device. */
struct end {
	char ca[UMAD_CA_NAME_LEN];
	int port;
	uint64_t guid, gid_prefix; /* big endian */
	bool smi;                  /* takes subnet management packets */
	unsigned state, phys_state, n_pkeys;
	uint16_t sm_lid;
};

struct ends {
	struct end *end; /* [n], by name and port */
	size_t n;
};

static int compare_ends(const void *x, const void *y)
{
	const struct end *a = x, *b = y;
	int c = strverscmp(a->ca, b->ca);

	return c ? c : a->port - b->port;
}

static void device_add_ports(struct ends *ends, const char *name)
{
	umad_ca_t ca;

	if (umad_get_ca(name, &ca) < 0)
		return;
	for (int p = 0; p < UMAD_CA_MAX_PORTS; p++) {
		const umad_port_t *port = ca.ports[p];

		if (p > ca.numports)
			break;
		if (!port ||
		    (strcmp(port->link_layer, "InfiniBand") && strcmp(port->link_layer, "IB")))
			continue;
		ends->end[ends->n] =
			(struct end){ .port = p,
				      .guid = port->port_guid,
				      .gid_prefix = port->gid_prefix,
				      .smi = !(be32toh(port->capmask) & IS_SM_DISABLED),
				      .state = port->state,
				      .phys_state = port->phys_state,
				      .n_pkeys = port->pkeys_size,
				      .sm_lid = port->sm_lid };
		snprintf(ends->end[ends->n].ca, sizeof(ends->end->ca), "%s", name);
		ends->n++;
	}
	umad_release_ca(&ca);
}

static enum osr_status list_ends(struct ends *ends, struct osr_diag *diag)
{
	struct umad_device_node *list, *node;
	size_t n_devices = 0;

	*ends = (struct ends){ 0 };
	if (umad_init() < 0)
		return osr_fail(diag, OSR_INVAL, "no InfiniBand management device (libibumad): %s",
				strerror(errno));
	list = umad_get_ca_device_list();
	for (node = list; node; node = node->next)
		n_devices++;
	ends->end = calloc(n_devices * UMAD_CA_MAX_PORTS + 1, sizeof(*ends->end));
	if (ends->end)
		for (node = list; node; node = node->next)
			device_add_ports(ends, node->ca_name);
	umad_free_ca_device_list(list);
	if (!ends->end)
		return osr_fail(diag, OSR_NOMEM, "out of memory for InfiniBand devices");
	qsort(ends->end, ends->n, sizeof(*ends->end), compare_ends);
	return OSR_OK;
}

/*
 * Is this the device for everything else beside that SMI: a GSI of the same port, or the same
 * device if the port has no GSI?
 */
static bool is_pair(const struct ends *ends, const struct end *smi, const struct end *gsi)
{
	if (gsi != smi)
		return !gsi->smi && gsi->guid && gsi->guid == smi->guid;
	for (size_t i = 0; i < ends->n; i++)
		if (&ends->end[i] != smi && is_pair(ends, smi, &ends->end[i]))
			return false;
	return true;
}

static bool is_wanted(const struct osr_device_want *want, const struct end *smi,
		      const struct end *gsi)
{
	const struct end *named = want->ca && !strcmp(want->ca, gsi->ca) ? gsi : smi;

	return (!want->ca || !strcmp(want->ca, named->ca)) &&
	       (!want->port || (int)want->port == named->port);
}

/* The higher the better; 0: not to be used. */
static unsigned rank_of(const struct end *end)
{
	if (end->state == PORT_ACTIVE)
		return 3;
	if (end->phys_state == PHYS_LINK_UP)
		return 2;
	return end->phys_state != PHYS_DISABLED;
}

/* No pair will do: lists the ports, and why each will not. */
static enum osr_status device_refuse(const struct ends *ends, const struct osr_device_want *want,
				     struct osr_diag *diag)
{
	char list[360] = "", port[64] = "";

	for (size_t i = 0; i < ends->n; i++) {
		const struct end *end = &ends->end[i];
		size_t length = strlen(list), k = 0;
		const char *flaw = "";

		while (k < ends->n && !(ends->end[k].smi && ends->end[k].guid == end->guid))
			k++;
		if (k == ends->n)
			flaw = " (no SMI has its port GUID)";
		else if (!rank_of(end))
			flaw = " (disabled)";
		snprintf(list + length, sizeof(list) - length, "%s%s:%d%s", i ? ", " : "", end->ca,
			 end->port, flaw);
	}
	if (want->ca)
		snprintf(port, sizeof(port), " %.40s", want->ca);
	if (want->port)
		snprintf(port + strlen(port), sizeof(port) - strlen(port), ":%u", want->port);
	return osr_fail(diag, OSR_INVAL,
			"this machine has no InfiniBand port%s that could be used%s%s", port,
			*list ? "; it has " : "", list);
}

static enum osr_status device_choose(const struct ends *ends, const struct osr_device_want *want,
				     struct osr_device *device, struct osr_diag *diag)
{
	unsigned best = 0, n_pkeys = 0;

	for (size_t i = 0; i < ends->n; i++) {
		const struct end *gsi = &ends->end[i];

		for (size_t k = 0; k < ends->n; k++) {
			const struct end *smi = &ends->end[k];
			unsigned rank = rank_of(smi) < rank_of(gsi) ? rank_of(smi) : rank_of(gsi);

			if (!smi->smi || !is_pair(ends, smi, gsi) || !is_wanted(want, smi, gsi))
				continue;
			if (want->ca && want->port)
				rank++;
			if (rank > best) {
				snprintf(device->smi, sizeof(device->smi), "%s", smi->ca);
				snprintf(device->gsi, sizeof(device->gsi), "%s", gsi->ca);
				device->smi_port = smi->port;
				device->gsi_port = gsi->port;
				device->sm_lid = gsi->sm_lid;
				memcpy(device->gid, &gsi->gid_prefix, 8);
				memcpy(device->gid + 8, &gsi->guid, 8);
				n_pkeys = gsi->n_pkeys;
				best = rank;
			}
		}
	}
	if (!best)
		return device_refuse(ends, want, diag);
	if (want->pkey_index >= (n_pkeys ? n_pkeys : 1))
		return osr_fail(diag, OSR_INVAL,
				"P_Key index %u: %s, port %d, has a table of %u entries",
				want->pkey_index, device->gsi, device->gsi_port, n_pkeys);
	device->pkey_index = want->pkey_index;
	return OSR_OK;
}

enum osr_status osr_device_find(const struct osr_device_want *want, struct osr_device *device,
				struct osr_diag *diag)
{
	struct ends ends;
	enum osr_status st = list_ends(&ends, diag);

	if (!st)
		st = device_choose(&ends, want, device, diag);
	free(ends.end);
	return st;
}
