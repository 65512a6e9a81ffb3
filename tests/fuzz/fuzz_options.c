/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever OpenSM's event_plugin_options (the first line of an input) and osmroutes.conf (the rest of it)
 * hold: options are in their ranges, and if there was a mistake, there is a sentence about it.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "conf/options.h"

static void in_range(const struct osr_values *v, const struct osr_param *table)
{
	for (unsigned row = 0; table && table[row].name; row++) {
		const struct osr_param *p = &table[row];
		unsigned n_words = 1;

		for (const char *w = p->words; w && *w; w++)
			n_words += *w == '|';
		if (p->type == OSR_PARAM_UINT)
			insist(v->num[row] >= p->min && v->num[row] <= p->max, p->name,
			       "out of range");
		else if (p->type == OSR_PARAM_ENUM)
			insist(v->num[row] < n_words, p->name, "no word of it");
		else if (p->type == OSR_PARAM_BOOL)
			insist(v->num[row] < 2, p->name, "neither true nor false");
		else
			insist(memchr(v->str[v->num[row]], 0, OSR_STRING_SIZE) != NULL, p->name,
			       "has no end");
	}
}

static int file_of(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("osmroutes.conf", 0);
	insist(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size, "memfd",
	       "cannot be written");
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t n = end ? (size_t)(end - data) : size, rest = end ? size - n - 1 : 0;
	struct osr_options o;
	char *words;

	/* The last config= counts. */
	insist(asprintf(&words, "%.*s osmroutes.config=/proc/self/fd/%d", (int)n,
			size ? (const char *)data : "", file_of(data + size - rest, rest)) > 0,
	       "options", "out of memory");
	insist(osr_options_load(&o, NULL, words), "options", "out of memory");
	insist(!o.broken || o.error.text[0], "options", "a mistake without a sentence");
	in_range(&o.own, osr_plugin_params);
	for (uint32_t e = 0; osr_engines[e]; e++)
		in_range(&o.engine[e], osr_engines[e]->params);
	osr_options_free(&o);
	free(words);
	return 0;
}
