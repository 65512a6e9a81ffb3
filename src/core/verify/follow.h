/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* follow.h - entries and packets of one LID at a time, over tables from anywhere. */
#ifndef OSR_FOLLOW_H
#define OSR_FOLLOW_H

#include "core/verify/union.h"

struct osr_follow {
	const struct osr_fabric *fabric;
	const struct osr_generation *gen; /* [n], 1 or 2 */
	uint32_t n;
	uint32_t modes;
	uint16_t any[2]; /* senders choose one of these SLs, a bit each; 0: they have rows of SLs */

	/* The LID that is loaded. */
	uint32_t *out[2]; /* [n_switches] channel of the entry, OSR_NONE; two never equal */
	uint32_t *n_in;   /* [n_switches] entries that lead here */
	uint32_t *order;  /* [n_switches] upstream first */
};

/* f, gen, n and modes are set. OSR_INVAL: the tables are of another fabric; OSR_NOMEM. */
enum osr_status osr_follow_init(struct osr_follow *follow, struct osr_arena *scratch,
				struct osr_diag *diag);

void osr_follow_load(struct osr_follow *follow, uint32_t d);

/*
 * Puts the switches into order[], each behind all from which packets come to it, and gives their
 * number. Those that are missing lie on a loop, or behind one, and have n_in left: entries that
 * lead here from such switches.
 */
uint32_t osr_follow_order(struct osr_follow *follow);

/*
 * The row by which an end port finds its SLs: of path records, or its switch; OSR_NONE: it sends
 * nothing.
 */
static inline uint32_t osr_row(const struct osr_follow *follow, uint32_t g, uint32_t term)
{
	return follow->gen[g].paths ? follow->gen[g].paths->row[term]
				    : follow->fabric->term_switch[term];
}

/* OSR_NO_SL, and what is none, is no bit. */
static inline uint16_t osr_sl_bit(unsigned sl)
{
	return sl < 16 ? (uint16_t)(1u << sl) : 0;
}

/* SLs of a row's packets for LID d: that of today, and those of earlier. */
static inline uint16_t osr_sls(const struct osr_follow *follow, uint32_t g, uint32_t row,
			       uint32_t d)
{
	const struct osr_routing *routing = follow->gen[g].routing;
	const struct osr_paths *paths = follow->gen[g].paths;
	size_t at = (size_t)d * follow->fabric->n_switches + row;

	if (follow->any[g])
		return follow->any[g];
	if (paths)
		return osr_sl_bit(paths->sl[(size_t)row * follow->fabric->n_dests + d]);
	return osr_sl_bit(routing->sl[at]) | (routing->granted ? routing->granted[at] : 0);
}

/*
 * The same of requests, on whose SLs the replies travel. Where no path leads nobody asks; but of
 * two generations one may have lost its path since, and what was asked before is answered all the
 * same.
 */
static inline uint16_t osr_request_sls(const struct osr_follow *follow, uint32_t g, uint32_t row,
				       uint32_t d)
{
	const struct osr_fabric *fabric = follow->fabric;
	bool asks = true;

	if (!follow->gen[g].paths && follow->n > 1)
		asks = fabric->sw_component[row] == fabric->sw_component[fabric->dest_switch[d]];
	else if (!follow->gen[g].paths)
		asks = osr_lft(follow->gen[g].routing, row, d) != OSR_NO_PATH;
	return asks ? osr_sls(follow, g, row, d) : 0;
}

/* Where the SL2VL table of this pair of ports is. */
static inline size_t osr_port_pair(const struct osr_fabric *fabric,
				   const struct osr_routing *routing, uint32_t s, unsigned in,
				   unsigned out)
{
	return routing->sl2vl_row[s] + in * (fabric->sw_n_ports[s] + (size_t)1) + out;
}

static inline bool osr_is_host_lid(const struct osr_fabric *fabric, uint32_t d)
{
	return fabric->term_weight[fabric->dest_term[d]] != 0;
}

/* Does a host (or else a port 0) send packets that count to LID d? check.h says which do. */
static inline bool osr_sends(const struct osr_follow *follow, bool host, uint32_t d)
{
	if (follow->modes & OSR_ONLY_HOSTS)
		return host && osr_is_host_lid(follow->fabric, d);
	return host || osr_is_host_lid(follow->fabric, d);
}

/* Does anybody on switch s? Every switch has a port 0. */
static inline bool osr_counts(const struct osr_follow *follow, uint32_t s, uint32_t d)
{
	return osr_sends(follow, follow->fabric->sw_sources[s] > 0, d);
}

#endif
