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
	uint16_t any
		[2]; /* senders choose one of these SLs, a bit each; 0: SLs come from path records */

	/* The LID that is loaded. */
	/* [n_switches] channel of the entry, or OSR_NONE; out[1][s] is never out[0][s] */
	uint32_t *out[2];
	uint32_t *n_in;  /* [n_switches] entries that lead here */
	uint32_t *order; /* [n_switches] upstream first */
};

/* The caller has set fabric, gen, n and modes. OSR_INVAL: tables of another fabric; OSR_NOMEM. */
enum osr_status osr_follow_init(struct osr_follow *follow, struct osr_arena *scratch,
				struct osr_diag *diag);

void osr_follow_load(struct osr_follow *follow, uint32_t d);

/*
 * Puts switches into order[], each behind all switches whose packets come to it, and returns their
 * number. A switch that is missing lies on a loop, or behind one; its n_in counts the entries that
 * lead to it from such switches.
 */
uint32_t osr_follow_order(struct osr_follow *follow);

/*
 * The row in which an end port finds its SLs: a row of path records, or else its switch. OSR_NONE:
 * it sends nothing.
 */
static inline uint32_t osr_row(const struct osr_follow *follow, uint32_t g, uint32_t term)
{
	osr_invariant(g < follow->n && term < follow->fabric->n_terminals);
	return follow->gen[g].paths ? follow->gen[g].paths->row[term]
				    : follow->fabric->term_switch[term];
}

/* The bit of an SL; 0 for OSR_NO_SL and other numbers above 15. */
static inline uint16_t osr_sl_bit(unsigned sl)
{
	return sl < 16 ? (uint16_t)(1u << sl) : 0;
}

/* SLs of a row's packets for LID d: the current SL, and granted ones. */
static inline uint16_t osr_sls(const struct osr_follow *follow, uint32_t g, uint32_t row,
			       uint32_t d)
{
	const struct osr_routing *routing = follow->gen[g].routing;
	const struct osr_paths *paths = follow->gen[g].paths;
	size_t at = (size_t)d * follow->fabric->n_switches + row;

	if (follow->any[g])
		return follow->any[g];
	osr_invariant(row < (paths ? paths->n_rows : follow->fabric->n_switches));
	if (paths)
		return osr_sl_bit(paths->sl[(size_t)row * follow->fabric->n_dests + d]);
	return osr_sl_bit(routing->sl[at]) | (routing->granted ? routing->granted[at] : 0);
}

/*
 * SLs of a row's requests to LID d, on which the replies travel. Without a path there is no
 * request. But one of two generations may have lost its path while requests are still answered.
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

/* Index of the SL2VL table of this pair of ports. */
static inline size_t osr_port_pair(const struct osr_fabric *fabric,
				   const struct osr_routing *routing, uint32_t s, unsigned in,
				   unsigned out)
{
	osr_invariant(in <= fabric->sw_n_ports[s] && out <= fabric->sw_n_ports[s]);
	return routing->sl2vl_row[s] + in * (fabric->sw_n_ports[s] + (size_t)1) + out;
}

static inline bool osr_is_host_lid(const struct osr_fabric *fabric, uint32_t d)
{
	osr_invariant(d < fabric->n_dests);
	return fabric->term_weight[fabric->dest_term[d]] != 0;
}

/* Does a host (else: a port 0) send packets to LID d that count? check.h says which packets do. */
static inline bool osr_sends(const struct osr_follow *follow, bool host, uint32_t d)
{
	if (follow->modes & OSR_ONLY_HOSTS)
		return host && osr_is_host_lid(follow->fabric, d);
	return host || osr_is_host_lid(follow->fabric, d);
}

/* Does any port on switch s send such packets? Every switch has a port 0. */
static inline bool osr_counts(const struct osr_follow *follow, uint32_t s, uint32_t d)
{
	osr_invariant(s < follow->fabric->n_switches);
	return osr_sends(follow, follow->fabric->sw_sources[s] > 0, d);
}

#endif
