/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * opensm.conf, read as OpenSM reads it: a name and the rest of the line; a '#' begins a comment;
 * TRUE is true and every other word false; "(null)" is not a string; the last line of a name
 * counts.
 */
#include "conf/osmconf.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
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

char *osr_trim(char *text)
{
	size_t n;

	text += strspn(text, " \t\r\n");
	n = strlen(text);
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	text[n] = '\0';
	return text;
}

static FILE *open_regular(const char *path)
{
	struct stat info;

	errno = 0;
	return stat(path, &info) || !S_ISREG(info.st_mode) ? NULL : fopen(path, "r");
}

const char *const osr_osmconf_unread[OSR_OSMCONF_N_UNREAD] = { "cn_guid_file", "io_guid_file",
							       "port_prof_ignore_file" };

/* A place in one of the files. */
struct place {
	const char *path;
	unsigned line;
};

__attribute__((format(printf, 3, 4))) static void
osmconf_note(struct osr_osmconf *osmconf, const struct place *at, const char *format, ...)
{
	char text[180];
	va_list ap;

	if (!osmconf || osmconf->n_odd++)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	snprintf(osmconf->odd, sizeof(osmconf->odd), "%.200s:%u: %s", at->path, at->line, text);
}

/* True for TRUE alone, as in OpenSM; a word other than FALSE is noted. */
static bool osmconf_true(struct osr_osmconf *osmconf, const struct place *at, const char *name,
			 const char *value)
{
	bool is_true = !strcmp(value, "TRUE");

	if (!is_true && strcmp(value, "FALSE") != 0)
		osmconf_note(osmconf, at, "\"%.40s %.20s\": to OpenSM all but TRUE is FALSE", name,
			     value);
	return is_true;
}

static void osmconf_set(struct osr_osmconf *osmconf, const struct place *at, const char *name,
			const char *value)
{
	static const struct {
		const char *name;
		size_t at;
	} texts[] = {
		{ "routing_engine", offsetof(struct osr_osmconf, routing_engine) },
		{ "event_plugin_name", offsetof(struct osr_osmconf, plugin_name) },
		{ "event_plugin_options", offsetof(struct osr_osmconf, plugin_options) },
		{ "partition_config_file", offsetof(struct osr_osmconf, partitions) },
		{ "qos_policy_file", offsetof(struct osr_osmconf, qos_policy) },
	};
	unsigned long number;
	char *end;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(name, texts[i].name))
			snprintf((char *)osmconf + texts[i].at, OSR_OSMCONF_LINE, "%s",
				 strcmp(value, "(null)") ? value : "");
	for (size_t i = 0; i < OSR_OSMCONF_N_UNREAD; i++)
		if (!strcmp(name, osr_osmconf_unread[i]))
			osmconf->unread[i] = *value && strcmp(value, "(null)") != 0;
	if (!strcmp(name, "qos"))
		osmconf->qos = osmconf_true(osmconf, at, name, value);
	else if (!strcmp(name, "disable_multicast"))
		osmconf->multicast = !osmconf_true(osmconf, at, name, value);
	else if (!strcmp(name, "max_op_vls")) {
		/* A value that does not fit leaves the option unchanged. */
		errno = 0;
		number = strtoul(value, &end, 0);
		if (!errno && end != value && number <= UINT8_MAX)
			osmconf->max_op_vls = number;
		else
			osmconf_note(osmconf, at, "\"max_op_vls %.20s\": no number for OpenSM",
				     value);
	}
}

enum osr_status osr_osmconf_read(const char *path, struct osr_osmconf *osmconf,
				 struct osr_diag *diag)
{
	struct place at = { path, 0 };
	char line[OSR_OSMCONF_LINE];
	FILE *file = open_regular(path);
	bool whole = true; /* the last one: OpenSM, too, takes a long line for several */

	osr_osmconf_default(osmconf);
	if (!file)
		return osr_fail(diag, OSR_INVAL, "%.300s: cannot be read: %s", path,
				errno ? strerror(errno) : "not a regular file");
	while (fgets(line, sizeof(line) - 1, file)) {
		char *rest, *name, *value;
		size_t n;

		at.line += whole;
		whole = strchr(line, '\n') != NULL;
		line[strcspn(line, "#")] = '\0';
		name = strtok_r(line, BLANKS, &rest);
		if (!name)
			continue;
		value = osr_trim(rest);
		n = strlen(value);
		if (n > 1 && (*value == '"' || *value == '\'') && value[n - 1] == *value) {
			value[n - 1] = '\0';
			value++;
		}
		/* No name begins like this; the mark of a diff does. */
		if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789")])
			osmconf_note(osmconf, &at,
				     "\"%.60s\" is no option: OpenSM passes over the line", name);
		osmconf_set(osmconf, &at, name, value);
	}
	fclose(file);
	return OSR_OK;
}

bool osr_words_have(const char *list, const char *between, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list + strspn(list, between); *p; p += strspn(p, between)) {
		size_t n = strcspn(p, between);

		if (n == len && !strncmp(p, word, n))
			return true;
		p += n;
	}
	return false;
}

bool osr_osmconf_lists(const char *list, const char *name)
{
	return osr_words_have(list, "," BLANKS, name);
}

/*
 * The SLs that partitions and QoS levels choose, from the files that OpenSM reads them from. As
 * lenient as osm_prtn_config.c: a definition is a line up to ':'; its members follow up to ';'.
 */
#define SLS_LINE 4096  /* bytes that OpenSM reads of a line */
#define N_PKEYS 0x8000 /* without the bit of full membership */
#define SL_UNSET 16
#define SL_DEFAULT 1 /* SL 0, a bit */

/* Without comment, and without blanks at its ends. */
static char *sls_clean(char *line)
{
	line[strcspn(line, "#")] = '\0';
	return osr_trim(line);
}

/* SL_UNSET: the text is not an SL. */
static uint8_t sls_number(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 0);

	return end != text && (!*end || isspace((unsigned char)*end)) && number < SL_UNSET
		       ? number
		       : SL_UNSET;
}

/* "name = value" in place; value "" if the line has none. */
static char *sls_split(char *text, char **value)
{
	char *equals = strchr(text, '=');

	*value = equals ? equals + 1 : text + strlen(text);
	if (equals)
		*equals = '\0';
	*value = sls_clean(*value);
	return sls_clean(text);
}

/*
 * [name][=pkey][, flag[=value]]...: false if OpenSM does not take it. A pkey that is not said is a
 * new one.
 */
static bool sls_define(char *head, uint8_t sl_of[N_PKEYS], uint16_t *others)
{
	char *rest, *value, *word = strtok_r(head, ",", &rest), *name = word ? word : head, *end;
	unsigned long pkey;
	uint8_t sl = 0;

	name = sls_split(name, &value);
	if (!*value && isdigit((unsigned char)*name))
		value = name;
	pkey = strtoul(value, &end, 0) & (N_PKEYS - 1);
	if (*end)
		return false;
	while ((word = strtok_r(NULL, ",", &rest))) {
		char *flag = sls_split(word, &value);

		if (!strcmp(flag, "sl") && sls_number(value) != SL_UNSET)
			sl = sls_number(value);
	}
	if (pkey)
		sl_of[pkey] = sl;
	else
		*others |= 1u << sl;
	return true;
}

/* Where OpenSM cannot read the file it has the default partition alone. */
static uint16_t sls_of_partitions(struct osr_osmconf *osmconf)
{
	struct place place = { osmconf->partitions, 0 };
	char line[SLS_LINE];
	uint8_t sl_of[N_PKEYS];
	uint16_t sls = SL_DEFAULT;
	bool open = false, good = true;
	FILE *file = open_regular(osmconf->partitions);

	memset(sl_of, SL_UNSET, sizeof(sl_of));
	while (file && good && fgets(line, sizeof(line) - 1, file)) {
		place.line++;
		line[strcspn(line, "#")] = '\0';
		for (char *at = line, *end, *colon; at; at = end) {
			end = strchr(at, ';');
			if (end)
				*end++ = '\0';
			at = sls_clean(at);
			colon = strchr(at, ':');
			/*
			 * The text up to ';' or the end of the line; open: a definition has begun
			 * and not ended.
			 */
			if (*at && !open) {
				good = colon;
				open = good;
				if (good)
					*colon = '\0';
				good = good && sls_define(at, sl_of, &sls);
			}
			open &= !end;
			if (!good)
				break;
		}
	}
	if (file)
		fclose(file);
	if (!good)
		osmconf_note(osmconf, &place,
			     "no partition is defined here: OpenSM takes nothing of the file");
	for (uint32_t i = 0; i < N_PKEYS; i++)
		if (sl_of[i] != SL_UNSET)
			sls |= 1u << sl_of[i];
	return good ? sls : SL_DEFAULT;
}

/* Of levels, and of the short form, "ulp, ... : sl". */
uint16_t osr_osmconf_policy_sls(const char *path, struct osr_osmconf *osmconf)
{
	struct place place = { path, 0 };
	char line[SLS_LINE];
	uint16_t sls = 0;
	bool ulps = false, level = false;
	FILE *file = open_regular(path);

	while (file && fgets(line, sizeof(line) - 1, file)) {
		char *text = sls_clean(line), *colon = strrchr(text, ':');
		uint8_t sl;

		place.line++;
		if (*text && !isalnum((unsigned char)*text))
			osmconf_note(osmconf, &place,
				     "\"%.60s\": no line of a QoS policy begins so", text);
		ulps = ulps ? strcmp(text, "end-qos-ulps") != 0 : !strcmp(text, "qos-ulps");
		level = level ? strcmp(text, "end-qos-level") != 0 : !strcmp(text, "qos-level");
		if (!colon)
			continue;
		*colon = '\0';
		sl = sls_number(sls_clean(colon + 1));
		if (sl != SL_UNSET && (ulps || (level && !strcmp(sls_clean(text), "sl"))))
			sls |= 1u << sl;
	}
	if (file)
		fclose(file);
	return sls;
}

uint16_t osr_osmconf_sls(struct osr_osmconf *osmconf)
{
	if (!osmconf->qos)
		return SL_DEFAULT;
	return sls_of_partitions(osmconf) | osr_osmconf_policy_sls(osmconf->qos_policy, osmconf);
}
