/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The names that nodes give themselves, and how messages show them. */
#include <osmroutes/fabric.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

/* Bytes of the UTF-8 character at `at`; 0: not UTF-8, or a control character. */
static unsigned printable(const unsigned char *at)
{
	unsigned n = 4;

	if (*at < 0x80)
		n = 1;
	else if (*at >= 0xc2 && *at < 0xe0)
		n = 2;
	else if ((*at & 0xf0) == 0xe0)
		n = 3;
	if (*at < ' ' || *at == 0x7f || (n == 4 && (*at < 0xf0 || *at > 0xf4)) ||
	    (*at == 0xc2 && at[1] < 0xa0))
		return 0;
	for (unsigned i = 1; i < n; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

void osr_name_clean(char *name)
{
	for (unsigned char *at = (unsigned char *)name; *at;) {
		unsigned n = printable(at);

		if (!n)
			*at = '?';
		at += n ? n : 1;
	}
}

bool osr_names_repeated(const char *names, const uint32_t *text, uint32_t n, bool *repeated)
{
	uint32_t room = 64, *first;

	while (room < 2 * (uint64_t)n)
		room *= 2;
	osr_invariant(room >= 2 * (uint64_t)n && (room & (room - 1)) == 0);
	/* An open hash table: the number of the first occurrence of each text, plus 1. */
	first = calloc(room, sizeof(*first));
	if (!first)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const char *own = names + text[i];
		uint32_t at = XXH3_64bits(own, strlen(own)) & (room - 1);

		repeated[i] = false;
		if (!text[i])
			continue;
		while (first[at] && strcmp(names + text[first[at] - 1], own) != 0)
			at = (at + 1) & (room - 1);
		if (first[at])
			repeated[i] = repeated[first[at] - 1] = true;
		else
			first[at] = i + 1;
	}
	free(first);
	return true;
}

static const char *name_or_guid(const struct osr_fabric *fabric, uint32_t name, uint64_t guid,
				char buf[32])
{
	if (name)
		return fabric->names + name;
	snprintf(buf, 32, "0x%016" PRIx64, guid);
	return buf;
}

const char *osr_switch_name(const struct osr_fabric *fabric, uint32_t sw, char buf[32])
{
	return name_or_guid(fabric, fabric->sw_name[sw], fabric->sw_guid[sw], buf);
}

const char *osr_terminal_name(const struct osr_fabric *fabric, uint32_t term, char buf[32])
{
	return name_or_guid(fabric, fabric->term_name[term], fabric->term_guid[term], buf);
}
