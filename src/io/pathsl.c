/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/pathsl.h"

#include <inttypes.h>

#define LIDS_PER_LINE 64

/* The SLs from switch s to the LIDs from this one on, a digit each; without "-" at the end. */
static void pathsl_line(const struct osr_fabric *fabric, const struct osr_routing *routing,
			uint32_t s, uint32_t lid, char line[LIDS_PER_LINE + 1])
{
	uint32_t used = 0;

	for (uint32_t n = 0; n < LIDS_PER_LINE; n++) {
		uint32_t d = lid + n <= fabric->max_lid ? fabric->lid_dest[lid + n] : OSR_NONE;
		uint8_t sl = 0;

		line[n] = '-';
		if (d == OSR_NONE || osr_lft(routing, s, d) == OSR_NO_PATH)
			continue;
		if (routing->sl)
			sl = routing->sl[(size_t)d * fabric->n_switches + s] & 15;
		line[n] = "0123456789abcdef"[sl];
		used = n + 1;
	}
	osr_invariant(used <= LIDS_PER_LINE);
	line[used] = '\0';
}

void osr_pathsl_write(const struct osr_fabric *fabric, const struct osr_routing *routing, FILE *out)
{
	/* Tables have a fabric. */
	/* cppcheck-suppress ctunullpointer */
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		char name[32], line[LIDS_PER_LINE + 1];

		if (fabric->term_row[s] == fabric->term_row[s + 1] || osr_pathsl_alone(fabric, s))
			continue;
		fprintf(out, "Senders on switch 0x%016" PRIx64 " \"%s\"\n", fabric->sw_guid[s],
			osr_switch_name(fabric, s, name));
		for (uint32_t lid = 1; lid <= fabric->max_lid; lid += LIDS_PER_LINE) {
			pathsl_line(fabric, routing, s, lid, line);
			if (*line)
				fprintf(out, "0x%04" PRIx32 " : %s\n", lid, line);
		}
		fputc('\n', out);
	}
}
