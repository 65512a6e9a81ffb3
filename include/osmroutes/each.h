/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * each.h - the loops of this program: over the index spaces of a fabric (fabric.h), and over masks
 * of lanes.
 *
 * Each macro is a `for` header that declares its variable, so `break` and `continue` work as usual.
 */
#ifndef OSMROUTES_EACH_H
#define OSMROUTES_EACH_H

#include <osmroutes/fabric.h>

/* Every switch v of the fabric, ascending. */
#define OSR_EACH_SWITCH(v, fabric) for (uint32_t v = 0; v < (fabric)->n_switches; v++)

/* Every channel c that leaves switch v, by port. */
#define OSR_EACH_CHANNEL(c, fabric, v)                                                             \
	for (uint32_t c = (fabric)->chan_row[v]; c < (fabric)->chan_row[(v) + 1]; c++)

/* Every turn t that begins with channel c, in the order of its second channels. */
#define OSR_EACH_TURN(t, fabric, c)                                                                \
	for (uint32_t t = (fabric)->turn_row[c]; t < (fabric)->turn_row[(c) + 1]; t++)

/* Every terminal t at switch v, by port. */
#define OSR_EACH_TERMINAL(t, fabric, v)                                                            \
	for (uint32_t t = (fabric)->term_row[v]; t < (fabric)->term_row[(v) + 1]; t++)

/* Every channel c of the fabric. */
#define OSR_EVERY_CHANNEL(c, fabric) for (uint32_t c = 0; c < (fabric)->n_channels; c++)

/* Every terminal t of the fabric. */
#define OSR_EVERY_TERMINAL(t, fabric) for (uint32_t t = 0; t < (fabric)->n_terminals; t++)

/* Every destination d of the fabric, by LID. */
#define OSR_EACH_DEST(d, fabric) for (uint32_t d = 0; d < (fabric)->n_dests; d++)

/* The number of the lowest bit of a mask that is set. */
static inline uint32_t osr_lowest_bit(uint32_t mask)
{
	osr_invariant(mask);
	return (uint32_t)__builtin_ctz(mask);
}

/* Every lane (or SL) l whose bit is set in `mask`, ascending. */
#define OSR_EACH_LANE(l, mask)                                                                     \
	for (uint32_t l##_left = (mask), l; l##_left && (l = osr_lowest_bit(l##_left), true);      \
	     l##_left &= l##_left - 1)

#endif
