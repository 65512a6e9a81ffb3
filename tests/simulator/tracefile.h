/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tracefile.h - what one application computes and sends, as a symbolic trace.
 *
 * Source: Samuel, Zahavi, Keslassy, Routing Keys, figure 5: a trace collapsed into what all ranks do,
 * with neighbours by Cartesian coordinates, and the two route-on-demand commands. DIFFERS: the words
 * are ours (the figure shows an example, not a grammar); receives are checked, they take no time.
 *
 *	CART 4 3 2			# ranks on a grid that wraps around, X fastest; first line
 *	LOOP 10				# to its END, so many times; may be nested
 *	CALC 0.001 STD 0.0005		# seconds, uniform between mean - STD and mean + STD
 *	RODREQUEST 0			# the routing key of this pattern, from now on
 *	SEND +X 65536 TAG 7		# bytes, to the neighbour upwards along X
 *	RECV -X 65536 TAG 7		# what the neighbour downwards sends
 *	BARRIER ALL			# ends the phase
 *	RODDONE 0			# the key is not needed any more
 *	END
 *
 * Words may be in small letters, TAG and STD with their numbers and ALL left out; what stands behind #
 * does not count. A phase is what happens up to a BARRIER: its sends go at once when the calculation is
 * over. A key stands for one pattern: every phase that uses it must send in the same directions.
 */
#ifndef OSR_IO_TRACEFILE_H
#define OSR_IO_TRACEFILE_H

#include <stddef.h>

#include "traffic/phases.h"

#define OSR_TRACE_DIMS 4 /* X Y Z W */

struct osr_trace_send {
	uint8_t dim;
	bool down;
	double bytes;
	uint32_t tag;
};

struct osr_trace_phase {
	uint32_t first, n_sends; /* of send[] */
	double calc, std;
	uint32_t key; /* that was requested, or UINT32_MAX */
};

struct osr_trace {
	uint32_t n_dims, side[OSR_TRACE_DIMS], n_ranks;
	uint32_t n_phases, n_sends, n_keys; /* keys 0 .. n_keys - 1 */
	uint32_t max_sends;                 /* of one phase */
	struct osr_trace_phase *phase;      /* [n_phases], loops unrolled */
	struct osr_trace_send *send;        /* [n_sends] */
};

/*
 * "-" is standard input. OSR_INVAL, with file and line: a word that is none, a RECV nobody sends or a
 * SEND nobody receives, loops without an end, more than a million phases, a key with two patterns.
 */
enum osr_status osr_trace_read(const char *path, struct osr_trace *t, struct osr_diag *diag);
enum osr_status osr_trace_parse(const char *text, size_t size, const char *label,
				struct osr_trace *t, struct osr_diag *diag);
void osr_trace_free(struct osr_trace *t); /* zero is fine */

/* Who sends to whom by a send: pair[n_ranks], by rank; returns how many, none along a side of 1. */
uint32_t osr_trace_pairs(const struct osr_trace *t, const struct osr_trace_send *send,
			 struct osr_pair *pair);

#endif
