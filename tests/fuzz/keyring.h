/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* keyring.h - a fabric for the targets of routing keys, and what must be possible with any scheduler. */
#ifndef FUZZ_KEYRING_H
#define FUZZ_KEYRING_H

#include "control/protocol.h"
#include "fuzz.h"

/*
 * Two spines, four leaves with two hosts each: GUIDs 0x100 + n of hosts, LIDs 16 + 4 n, LMC 2. Made once,
 * as are its tables.
 */
const struct osr_fabric *keyring_fabric(void);

struct osr_sched *keyring_sched(void);

/*
 * Whatever is in the scheduler: its entries can be laid over tables, or that is refused with a sentence.
 */
void keyring_use(struct osr_sched *s);

#endif
