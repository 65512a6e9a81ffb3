/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/pathsl.h"

#include <inttypes.h>

#define LIDS_PER_LINE 64

static char pathsl_digit(const struct osr_fabric *f, const struct osr_routing *r, uint32_t s,
			 uint32_t lid)
{
	uint32_t d = lid <= f->max_lid ? f->lid_dest[lid] : OSR_NONE;

	if (d == OSR_NONE || osr_lft(r, s, d) == OSR_NO_PATH)
		return '-';
	return "0123456789abcdef"[r->sl ? r->sl[(size_t)d * f->n_switches + s] & 15 : 0];
}

static void pathsl_write_switch(const struct osr_fabric *f, const struct osr_routing *r, uint32_t s,
				FILE *out)
{
	char name[32], line[LIDS_PER_LINE + 1];

	fprintf(out, "Senders on switch 0x%016" PRIx64 " \"%s\"\n", f->sw_guid[s],
		osr_switch_name(f, s, name));
	for (uint32_t lid = 1; lid <= f->max_lid; lid += LIDS_PER_LINE) {
		uint32_t n = 0, used = 0;

		for (; n < LIDS_PER_LINE && lid + n <= f->max_lid; n++) {
			line[n] = pathsl_digit(f, r, s, lid + n);
			used = line[n] != '-' ? n + 1 : used;
		}
		line[used] = '\0';
		if (used)
			fprintf(out, "0x%04" PRIx32 " : %s\n", lid, line);
	}
	fputc('\n', out);
}

void osr_pathsl_write(const struct osr_fabric *f, const struct osr_routing *r, FILE *out)
{
	for (uint32_t s = 0; s < f->n_switches; s++)
		if (f->term_row[s] < f->term_row[s + 1])
			pathsl_write_switch(f, r, s, out);
}
