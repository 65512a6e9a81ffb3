/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* stored.h - the bytes that are stored of a result. */
#ifndef TEST_STORED_H
#define TEST_STORED_H

#include "store/store.h"

#include "sweeps.h"

/* To be freed; NULL: no memory. */
static inline uint8_t *test_stored(const struct osr_result *last, uint64_t key, size_t *size)
{
	uint8_t *buf = malloc(*size = osr_store_size(last));

	if (buf)
		osr_store_write(last, key, buf, *size);
	return buf;
}

#endif
