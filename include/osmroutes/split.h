/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * split.h - the bandwidth of hosts that have several LIDs, by the LIDs that their peers send to.
 *
 * Measured on random bisections (Hoefler, Schneider, Lumsdaine: Multistage Switches are not
 * Crossbars, Cluster 2008): one half of the hosts sends to the other, host by host, all at once. A
 * flow is sent in parts, one to each of some LIDs of its receiver. The parts are equal, so each has
 * the share of its busiest channel, counted in flows; a sender that waits for all parts has the
 * share of the slowest one. A receiver with fewer LIDs than others gets several parts on one LID.
 * The figures are functions of the fabric and its tables alone, for tables of any origin; a part
 * that does not arrive has no share.
 */
#ifndef OSMROUTES_SPLIT_H
#define OSMROUTES_SPLIT_H

#include <osmroutes/routing.h>

/* Mean over all flows, in millionths of the fastest link. With one LID a port all are equal. */
struct osr_split {
	uint32_t n_lids; /* of a host, at most */
	uint32_t first;  /* each flow to the first LID, as most programs do */
	/* to the first two LIDs, in equal parts; the sender waits for the slower one */
	uint32_t two;
	uint32_t all;  /* to all LIDs, in equal parts; the sender waits for the slowest */
	uint32_t free; /* to all LIDs, in equal parts that do not wait for each other */
	uint32_t one;  /* to one of the LIDs, drawn for each flow */
};

/*
 * How many bisections: the same for all tables of a fabric; a higher effort goes on after the
 * bisections of a lower one.
 */
enum osr_split_effort {
	OSR_SPLIT_CHOICE, /* between planes: `first`, `all` and `free` only, from 1,000 flows */
	OSR_SPLIT_REPORT, /* for the log of a sweep: from 5,000 flows */
	OSR_SPLIT_EXACT,  /* for the choice of engines and for the command: from 20,000 flows */
};

/*
 * Hosts are the ports of CAs and routers. `routing` is finished and need not be checked. O(flows *
 * LIDs * hops). All figures are 0 with fewer than two hosts.
 */
enum osr_status osr_split_measure(const struct osr_fabric *fabric,
				  const struct osr_routing *routing, enum osr_split_effort effort,
				  struct osr_arena *scratch, struct osr_split *split,
				  struct osr_diag *diag);

#endif
