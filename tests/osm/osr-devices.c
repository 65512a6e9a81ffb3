/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-devices: a host with several InfiniBand devices, loaded beside libumad2sim, which has one.
 *
 * OSR_DEVICES names a shell script that adds devices to the sysfs of the simulation, whose top is
 * its argument. All devices lead to the one that is simulated, but take only what such a device
 * takes: IsSMDisabled in its capability mask, and there are no subnet management packets; a name
 * that begins with "smi", and there is nothing else. Each use is a line of OSR_DEVICES_LOG: device,
 * port, management class; and the P_Key indices that are sent with. With OSR_BUSY all that the
 * subnet administrator answers is that it is busy.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/umad.h>

#define SYSFS "/sys/class/infiniband"
#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static struct {
	char name[64];
	int port;
	bool no_smi;
} opened[4096]; /* by descriptor */

static void note(const char *device, int port, const char *what, int number)
{
	FILE *log = fopen(getenv("OSR_DEVICES_LOG"), "a");

	if (log) {
		fprintf(log, "%s %d %s %d\n", device, port, what, number);
		fclose(log);
	}
}

__attribute__((constructor)) static void add_devices(void)
{
	DIR *dir = opendir(SYSFS); /* libumad2sim makes its tree */
	char command[512];

	if (!dir || !getenv("OSR_DEVICES"))
		return;
	closedir(dir);
	unsetenv("LD_PRELOAD");
	snprintf(command, sizeof(command), "sh -eu '%s' sys-%d" SYSFS, getenv("OSR_DEVICES"),
		 (int)getpid());
	if (system(command))
		_exit(120);
}

int umad_open_port(const char *name, int port)
{
	int fd = NEXT(umad_open_port)("ibsim0", 1);
	umad_port_t info;

	if (fd < 0 || fd >= 4096)
		return -EIO;
	snprintf(opened[fd].name, sizeof(opened[fd].name), "%s", name ? name : "none");
	opened[fd].port = port;
	opened[fd].no_smi = !name;
	if (name && umad_get_port(name, port, &info) >= 0) {
		opened[fd].no_smi = be32toh(info.capmask) & 1 << 10;
		umad_release_port(&info);
	}
	return fd;
}

int umad_open_smi_port(const char *name, int port)
{
	return umad_open_port(name, port);
}

int umad_register(int fd, int mgmt_class, int version, uint8_t rmpp, long mask[2])
{
	bool smp = mgmt_class == 1 || mgmt_class == 0x81;

	note(opened[fd].name, opened[fd].port, "class", mgmt_class);
	if (smp ? opened[fd].no_smi : !strncmp(opened[fd].name, "smi", 3))
		return -EINVAL;
	return NEXT(umad_register)(fd, mgmt_class, version, rmpp, mask);
}

int umad_send(int fd, int agent, void *umad, int length, int timeout_ms, int retries)
{
	if (umad_get_pkey(umad))
		note(opened[fd].name, opened[fd].port, "pkey", umad_get_pkey(umad));
	return NEXT(umad_send)(fd, agent, umad, length, timeout_ms, retries);
}

int umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
	int agent = NEXT(umad_recv)(fd, umad, length, timeout_ms);
	uint8_t *mad = umad_get_mad(umad);

	if (agent >= 0 && mad[1] == 3 && getenv("OSR_BUSY"))
		mad[5] |= 1;
	return agent;
}
