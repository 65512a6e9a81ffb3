/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pathsl.h - opensm-path-sl.dump, which OpenSM does not write: the SLs that path records give,
 * compactly.
 *
 *	Senders on switch 0x0000000000200000 "s-0"
 *	0x0001 : 0010-11f
 *
 * A digit for each LID from the one named on, hexadecimal; "-": the LID is not in use or there is
 * no path. The end ports of a switch, port 0 among them, send alike. Used by the plugin and the
 * command; tables.h reads it.
 */
#ifndef OSR_IO_PATHSL_H
#define OSR_IO_PATHSL_H

#include <stdio.h>

#include <osmroutes/routing.h>

/* A switch without a cable: a subnet manager does not see it, and no dump names it. */
static inline bool osr_pathsl_alone(const struct osr_fabric *fabric, uint32_t s)
{
	return fabric->chan_row[s] == fabric->chan_row[s + 1] && !fabric->sw_sources[s];
}

/*
 * Where routing->sl is NULL it is the default, SL 0. Errors of the stream are the caller's to look for.
 */
void osr_pathsl_write(const struct osr_fabric *fabric, const struct osr_routing *routing,
		      FILE *out);

#endif
