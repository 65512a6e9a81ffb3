/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * device.h - which devices and ports of this host management packets leave from.
 *
 * Most hosts have one device for everything. A planarised host (XDR) splits an end port: subnet
 * management packets (SMI) go through one device, all others (GSI) through another, whose
 * capability mask says IsSMDisabled; both show the same port GUID. Devices are paired by these two,
 * with any version of libibumad.
 */
#ifndef OSR_LIVE_DEVICE_H
#define OSR_LIVE_DEVICE_H

#include <stdint.h>

#include <osmroutes/status.h>

/* As options -C, -P and -Y of infiniband-diags. */
struct osr_device_want {
	const char *ca;      /* a device of the pair, or NULL: any */
	unsigned port;       /* of that device; 0: any */
	unsigned pkey_index; /* in the P_Key table of the GSI's port */
};

struct osr_device {
	char smi[32], gsi[32]; /* names; the same on most hosts */
	int smi_port, gsi_port;
	unsigned pkey_index;
	uint16_t sm_lid; /* LID of the subnet manager, as the port was told */
	uint8_t gid[16]; /* of the port */
};

/*
 * The first active pair, in the order of the GSI's names; else the first pair whose link is up,
 * else the first that is not disabled. A named port is taken as it is. OSR_INVAL and a sentence if
 * no port will do.
 */
enum osr_status osr_device_find(const struct osr_device_want *want, struct osr_device *device,
				struct osr_diag *diag);

#endif
