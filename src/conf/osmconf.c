/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * opensm.conf, read as OpenSM reads it: a name and the rest of the line; what follows a '#' is a comment;
 * TRUE is true and every other word false; "(null)" is no string; the last line of a name counts.
 */
#include "conf/osmconf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLANKS " \t\n"
#define OSMCONF_MAX_OP_VLS 5 /* OSM_DEFAULT_MAX_OP_VLS */

void osr_osmconf_default(struct osr_osmconf *osmconf)
{
	*osmconf = (struct osr_osmconf){ .multicast = true,
					 .max_op_vls = OSMCONF_MAX_OP_VLS,
					 .partitions = "/etc/opensm/partitions.conf",
					 .qos_policy = "/etc/opensm/qos-policy.conf" };
}

static char *osmconf_clean(char *value)
{
	size_t n;

	value += strspn(value, " \t\r\n");
	n = strlen(value);
	while (n && isspace((unsigned char)value[n - 1]))
		n--;
	value[n] = '\0';
	if (n > 1 && (*value == '"' || *value == '\'') && value[n - 1] == *value) {
		value[n - 1] = '\0';
		value++;
	}
	return value;
}

static void osmconf_text(char to[OSR_OSMCONF_LINE], const char *value)
{
	snprintf(to, OSR_OSMCONF_LINE, "%s", strcmp(value, "(null)") ? value : "");
}

static void osmconf_set(struct osr_osmconf *osmconf, const char *name, const char *value)
{
	if (!strcmp(name, "routing_engine"))
		osmconf_text(osmconf->routing_engine, value);
	else if (!strcmp(name, "event_plugin_name"))
		osmconf_text(osmconf->plugin_name, value);
	else if (!strcmp(name, "event_plugin_options"))
		osmconf_text(osmconf->plugin_options, value);
	else if (!strcmp(name, "partition_config_file"))
		osmconf_text(osmconf->partitions, value);
	else if (!strcmp(name, "qos_policy_file"))
		osmconf_text(osmconf->qos_policy, value);
	else if (!strcmp(name, "qos"))
		osmconf->qos = !strcmp(value, "TRUE");
	else if (!strcmp(name, "disable_multicast"))
		osmconf->multicast = strcmp(value, "TRUE") != 0;
	else if (!strcmp(name, "max_op_vls")) {
		uint8_t *to = &osmconf->max_op_vls;
		char *end;
		unsigned long number;

		/* What does not fit leaves the option as it was. */
		errno = 0;
		number = strtoul(value, &end, 0);
		if (!errno && end != value && number <= UINT8_MAX)
			*to = (uint8_t)number;
	}
}

enum osr_status osr_osmconf_read(const char *path, struct osr_osmconf *osmconf,
				 struct osr_diag *diag)
{
	char line[OSR_OSMCONF_LINE];
	struct stat info;
	FILE *file;

	osr_osmconf_default(osmconf);
	errno = 0;
	file = stat(path, &info) || !S_ISREG(info.st_mode) ? NULL : fopen(path, "r");
	if (!file)
		return osr_fail(diag, OSR_INVAL, "%.300s: cannot be read: %s", path,
				errno ? strerror(errno) : "not a regular file");
	while (fgets(line, sizeof(line) - 1, file)) {
		char *rest, *name;

		line[strcspn(line, "#")] = '\0';
		name = strtok_r(line, BLANKS, &rest);
		if (name)
			osmconf_set(osmconf, name, osmconf_clean(rest));
	}
	fclose(file);
	return OSR_OK;
}

bool osr_osmconf_lists(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list + strspn(list, "," BLANKS); *p;) {
		size_t n = strcspn(p, "," BLANKS);

		if (n == len && !strncmp(p, name, n))
			return true;
		p += n;
		p += strspn(p, "," BLANKS);
	}
	return false;
}
