/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * trafficfile.h - traffic as text: phases, and the senders and receivers of each.
 *
 *	# a halo exchange of four processes
 *	ranks 4
 *	phase right
 *	0 1
 *	2 3
 *	phase left
 *	1 0
 *	3 2
 *
 * The pairs of a phase send at once; the next phase begins when all have arrived. `phase` begins
 * one; words behind it are for people. Pairs before the first `phase` are a phase of their own.
 * With `ranks N` on the first line numbers 0 .. N-1 are processes, and somebody else says where
 * they run. Without it both ends are end ports, as endports.h writes them. Empty lines, and what
 * stands behind #, do not count.
 */
#ifndef OSR_IO_TRAFFICFILE_H
#define OSR_IO_TRAFFICFILE_H

#include "traffic/survey.h"

#include "io/endports.h"

struct osr_traffic {
	struct osr_phases phases;
	/*
	 * The end ports of the file as ranks: hosts[rank], by index of the terminal; NULL if the
	 * file speaks of ranks itself.
	 */
	uint32_t *hosts; /* [phases.n_ranks] */
};

/*
 * All lines of a file, which is closed. `endports` may be NULL: then only files of ranks are read.
 * OSR_INVAL, with file and line: an end port or rank that does not exist, a pair of one and the
 * same, a line that is neither, no pair at all.
 */
enum osr_status osr_traffic_read(struct osr_lines *in, struct osr_endports *endports,
				 struct osr_traffic *traffic);

/* Zero is fine. */
void osr_traffic_free(struct osr_traffic *traffic);

#endif
