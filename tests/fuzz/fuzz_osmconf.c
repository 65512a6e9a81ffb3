/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as an opensm.conf, partitions.conf or QoS policy: every string has an end within its array, and reading the same bytes
 * again gives the same.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "conf/osmconf.h"

static void read_again(const char *path, struct osr_osmconf *osmconf)
{
	struct osr_diag diag = { "" };

	osr_osmconf_default(osmconf);
	insist(!osr_osmconf_read(path, osmconf, &diag), "osmconf",
	       "a file that is there is refused");
	insist(memchr(osmconf->routing_engine, 0, OSR_OSMCONF_LINE) != NULL, "routing_engine",
	       "has no end");
	insist(memchr(osmconf->plugin_name, 0, OSR_OSMCONF_LINE) != NULL, "plugin_name",
	       "has no end");
	insist(memchr(osmconf->plugin_options, 0, OSR_OSMCONF_LINE) != NULL, "plugin_options",
	       "has no end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct osr_osmconf first, second;
	char path[64];
	int fd = memfd_create("opensm.conf", 0);

	insist(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "memfd", "cannot be written");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(&first, 1, sizeof(first));
	memset(&second, 2, sizeof(second));
	read_again(path, &first);
	read_again(path, &second);
	insist(!strcmp(first.routing_engine, second.routing_engine) &&
		       !strcmp(first.plugin_options, second.plugin_options) &&
		       first.qos == second.qos && first.multicast == second.multicast &&
		       first.max_op_vls == second.max_op_vls,
	       "osmconf", "two readings differ");
	osr_osmconf_lists(first.routing_engine, "dfsssp");
	first.qos = second.qos = true;
	snprintf(first.partitions, sizeof(first.partitions), "%s", path);
	second.partitions[0] = '\0';
	snprintf(second.qos_policy, sizeof(second.qos_policy), "%s", path);
	first.qos_policy[0] = '\0';
	insist(osr_osmconf_sls(&first) & osr_osmconf_sls(&second) & 1, "SLs", "SL 0 is missing");
	close(fd);
	return 0;
}
