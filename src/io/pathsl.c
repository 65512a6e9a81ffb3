/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/pathsl.h"

#include <inttypes.h>

#define LIDS_PER_LINE 64

void osr_pathsl_write(const struct osr_fabric *fabric, const struct osr_routing *routing, FILE *out)
{
	/* Tables have a fabric. */
	/* cppcheck-suppress ctunullpointer */
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (fabric->term_row[s] < fabric->term_row[s + 1] && !osr_pathsl_alone(fabric, s)) {
			char name[32], line[LIDS_PER_LINE + 1];

			fprintf(out, "Senders on switch 0x%016" PRIx64 " \"%s\"\n",
				fabric->sw_guid[s], osr_switch_name(fabric, s, name));
			for (uint32_t lid = 1; lid <= fabric->max_lid; lid += LIDS_PER_LINE) {
				uint32_t n = 0, used = 0;

				for (; n < LIDS_PER_LINE && lid + n <= fabric->max_lid; n++) {
					uint32_t d = fabric->lid_dest[lid + n];
					bool way = d != OSR_NONE &&
						   osr_lft(routing, s, d) != OSR_NO_PATH;
					size_t at = (size_t)d * fabric->n_switches + s;
					uint8_t sl = way && routing->sl ? routing->sl[at] & 15 : 0;

					line[n] = way ? "0123456789abcdef"[sl] : '-';
					used = line[n] != '-' ? n + 1 : used;
				}
				line[used] = '\0';
				if (used)
					fprintf(out, "0x%04" PRIx32 " : %s\n", lid, line);
			}
			fputc('\n', out);
		}
}
