/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bytes.h - what every binary file of tables asks of its bytes. */
#ifndef OSMROUTES_STORE_BYTES_H
#define OSMROUTES_STORE_BYTES_H

#include <stdbool.h>
#include <stdint.h>

static inline bool osr__little_endian(void)
{
	const uint16_t one = 1;

	return *(const uint8_t *)&one == 1;
}

static inline bool osr__all_below(const uint8_t *list, uint64_t n, uint8_t limit)
{
	uint8_t most = 0;

	for (uint64_t i = 0; i < n; i++)
		most = list[i] > most ? list[i] : most;
	return n == 0 || most < limit;
}

#endif
