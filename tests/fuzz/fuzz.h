/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fuzz.h - what the targets share. Each has an LLVMFuzzerTestOneInput(): with OSR_FUZZ=ON libFuzzer
 * calls it, otherwise the main() of replay.c, with every file it is given.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Once before the inputs, in replay only: what a target tries beyond its corpus. */
void fuzz_more(void) __attribute__((weak));

static inline void insist(bool ok, const char *what, const char *said)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, said);
	abort();
}

/*
 * A ring of three switches with a host each, named "a", "b" and "c d". GUIDs 1, 2, 3 and 0x11,
 * 0x12, 0x13, LIDs 1 to 3 and 4 to 6. Ports: 1 to the next switch, 2 to the one before, 3 to the
 * host.
 */
const struct osr_fabric *fuzz_ring(void);

/* The auditor and the search for credit loops judge tables, and say a sentence of every fault. */
void fuzz_judge(const struct osr_tables *tables);

#endif
