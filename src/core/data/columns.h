/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * columns.h - SLs that have the same lanes in every row of some SL2VL tables: what is true of packets on one of
 * them is true of packets on all. Most rows have one lane for all SLs, or are like one that was added before.
 */
#ifndef OSMROUTES_COLUMNS_H
#define OSMROUTES_COLUMNS_H

#include <stdint.h>
#include <string.h>

struct osr_columns {
	uint8_t seen[256][16]; /* the last row that began with this VL */
	uint16_t differ[16];   /* bit b of differ[a], b < a: some row has other VLs for a and b */
};

static inline void osr_columns_init(struct osr_columns *columns)
{
	memset(columns->differ, 0, sizeof(columns->differ));
	for (unsigned vl = 0; vl < 256; vl++)
		memset(columns->seen[vl], (int)vl, sizeof(columns->seen[vl]));
}

static inline void osr_columns_add(struct osr_columns *columns, const uint8_t row[16])
{
	uint8_t *like = columns->seen[row[0]];

	if (!memcmp(row, like, 16))
		return;
	memcpy(like, row, 16);
	for (unsigned a = 0; a < 16; a++)
		for (unsigned b = 0; b < a; b++)
			columns->differ[a] |= (uint16_t)((row[a] != row[b]) << b);
}

/* The lowest SL of each kind, a bit each. */
static inline uint16_t osr_columns_kinds(const struct osr_columns *columns)
{
	unsigned kinds = 0;

	/* One that differs from all before it. */
	for (unsigned sl = 0; sl < 16; sl++)
		kinds |= (unsigned)(columns->differ[sl] == (1u << sl) - 1) << sl;
	return (uint16_t)kinds;
}

#endif
