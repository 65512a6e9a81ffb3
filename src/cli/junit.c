/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/junit.h"

#ifdef OSR_LIBXML2

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <libxml/xmlwriter.h>

const bool cli_junit_built = true;

/* A text of the fabric's may hold bytes that XML has no way to say. */
static void write_attribute(xmlTextWriterPtr xml, const char *name, const char *text)
{
	char plain[1024];

	snprintf(plain, sizeof(plain), "%s", text ? text : "");
	for (char *c = plain; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
			*c = '?';
	xmlTextWriterWriteAttribute(xml, BAD_CAST name, BAD_CAST plain);
}

static void write_count(xmlTextWriterPtr xml, const char *name, size_t n)
{
	xmlTextWriterWriteFormatAttribute(xml, BAD_CAST name, "%zu", n);
}

static void write_case(xmlTextWriterPtr xml, const struct cli_junit *junit, const char *name,
		       const char *kind, const char *message)
{
	xmlTextWriterStartElement(xml, BAD_CAST "testcase");
	write_attribute(xml, "classname", junit->fabric);
	write_attribute(xml, "name", name);
	xmlTextWriterWriteAttribute(xml, BAD_CAST "time", BAD_CAST "0");
	if (kind) {
		xmlTextWriterStartElement(xml, BAD_CAST kind);
		write_attribute(xml, "message", message);
		xmlTextWriterEndElement(xml);
	}
	xmlTextWriterEndElement(xml);
}

static void write_suite(xmlTextWriterPtr xml, const struct cli_junit *junit)
{
	size_t n = json_array_size(junit->cases), n_failed = 0;

	for (size_t i = 0; i < n; i++)
		n_failed += !json_is_true(json_object_get(json_array_get(junit->cases, i), "met"));
	xmlTextWriterStartElement(xml, BAD_CAST "testsuites");
	xmlTextWriterStartElement(xml, BAD_CAST "testsuite");
	write_attribute(xml, "name", "osmroutes check");
	write_count(xml, "tests", n + (junit->error != NULL));
	write_count(xml, "failures", n_failed);
	write_count(xml, "errors", junit->error != NULL);
	xmlTextWriterWriteFormatAttribute(xml, BAD_CAST "time", "%.3f", junit->seconds);
	xmlTextWriterStartElement(xml, BAD_CAST "properties");
	xmlTextWriterStartElement(xml, BAD_CAST "property");
	write_attribute(xml, "name", "tables");
	write_attribute(xml, "value", junit->tables);
	xmlTextWriterEndElement(xml);
	xmlTextWriterEndElement(xml);
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(junit->cases, i);

		write_case(xml, junit, json_string_value(json_object_get(one, "name")),
			   json_is_true(json_object_get(one, "met")) ? NULL : "failure",
			   json_string_value(json_object_get(one, "message")));
	}
	if (junit->error)
		write_case(xml, junit, "tables", "error", junit->error);
}

static enum osr_status write_buffer(const char *path, const xmlBuffer *buffer,
				    struct osr_diag *diag)
{
	size_t size = (size_t)xmlBufferLength(buffer);
	FILE *out = fopen(path, "w");
	bool ok = out && fwrite(xmlBufferContent(buffer), 1, size, out) == size;

	ok = out && !fclose(out) && ok;
	return ok ? OSR_OK : osr_fail(diag, OSR_INVAL, "%.200s: %s", path, strerror(errno));
}

enum osr_status cli_junit_write(const struct cli_junit *junit, struct osr_diag *diag)
{
	xmlBufferPtr buffer = xmlBufferCreate();
	xmlTextWriterPtr xml = buffer ? xmlNewTextWriterMemory(buffer, 0) : NULL;
	bool ok = xml != NULL;
	enum osr_status st;

	if (xml) {
		xmlTextWriterSetIndent(xml, 1);
		xmlTextWriterStartDocument(xml, NULL, "UTF-8", NULL);
		write_suite(xml, junit);
		ok = xmlTextWriterEndDocument(xml) >= 0; /* closes what is open */
		xmlFreeTextWriter(xml);
	}
	st = ok ? write_buffer(junit->path, buffer, diag)
		: osr_fail(diag, OSR_NOMEM, "%.200s: out of memory", junit->path);
	if (buffer)
		xmlBufferFree(buffer);
	return st;
}

#else

const bool cli_junit_built = false;

enum osr_status cli_junit_write(const struct cli_junit *junit, struct osr_diag *diag)
{
	return osr_fail(diag, OSR_INVAL, "%.200s: built without libxml2", junit->path);
}

#endif
