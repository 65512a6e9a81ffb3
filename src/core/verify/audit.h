/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * audit.h - everything that is wrong with tables that somebody else made, named entry by entry.
 *
 * The checker (check.h) refuses at the first fault, because our tables have none. Foreign tables
 * are judged here. A fault is an entry (switch, LID) that loses packets, with the kind of mistake
 * and the number of hosts that it cuts off; an SL in use that a port pair does not carry; a path
 * without an SL; a multicast group that loops or is split.
 *
 * Only faults that a packet meets count (check.h says which packets exist). Entries that only port
 * 0 would use to ask another port 0 are counted as idle; stock ftree leaves them out. union.h finds
 * credit loops.
 *
 * Time O(dests * switches + switches * channels), and O(end ports * dests) where path SLs are
 * given; memory O(channels), with SL2VL tables two bytes for each port pair.
 */
#ifndef OSMROUTES_AUDIT_H
#define OSMROUTES_AUDIT_H

#include <osmroutes/check.h>

#include "core/verify/union.h"

enum osr_fault_kind {
	OSR_FAULT_HOLE,       /* a switch has no entry for a LID that it could reach */
	OSR_FAULT_DEAD_END,   /* the entry leads out of a port without a switch behind it */
	OSR_FAULT_WRONG_PORT, /* the LID's own switch sends it out of another port than the LID's */
	OSR_FAULT_LOOP,       /* the entries of some switches lead around */
	OSR_FAULT_NO_SL,      /* a host has no SL for a path to another one */
	OSR_FAULT_SL2VL,      /* an SL in use is dropped, or on a VL that does not work there */
	OSR_FAULT_GROUP_LOOP, /* a multicast packet comes to a switch a second time */
	OSR_FAULT_GROUP_SPLIT, /* a multicast packet of one member does not reach another one */
	OSR_N_FAULTS
};

/* One fault; members that its kind does not need are OSR_NONE or 0. */
struct osr_fault {
	enum osr_fault_kind kind;
	uint32_t sw;
	uint32_t dest;
	uint32_t term;   /* the sender; the member that is not reached */
	uint8_t in, out; /* ports of sw; in = OSR_NO_PATH: any, the cable at out lacks the VL */
	uint8_t sl, vl;
	uint16_t mlid;
	uint32_t n_switches; /* around a loop */
	uint32_t n_hosts;    /* host ports that lose packets here */
};

#define OSR_AUDIT_MAX_HOPS OSR_MAX_HOPS
#define OSR_ONLY_ROUTES (1u << 17) /* with the modes: SLs are not looked at */

struct osr_audit {
	uint64_t n_entries; /* (switch, LID) pairs that are connected */
	uint64_t n_routes;  /* of these pairs, routes from another switch that arrive */
	uint64_t n_longer;  /* longer than minimal */
	uint64_t n_no_path; /* pairs in different components */
	uint64_t n_idle;    /* bad entries that no packet meets */
	uint64_t n_lost;    /* (host port, host LID) pairs that do not arrive */
	uint32_t max_hops, max_longer;

	uint64_t efi, efi_all; /* as in check.h, over the routes that arrive */
	double efi_mean, efi_per_capacity, efi_all_per_capacity;
	const uint64_t *load; /* [n_channels] of routes to first LIDs, in result */

	/* Between hosts, to all LIDs. */
	uint64_t n_host_pairs;  /* also in different components */
	uint64_t n_host_routes; /* pairs whose route arrives */
	uint64_t n_host_longer; /* of these, routes longer than minimal */
	uint64_t n_host_hops;   /* channels of all routes to first LIDs, if all were minimal */
	uint64_t hops[OSR_AUDIT_MAX_HOPS + 1]; /* routes by channels; the last: and more */

	uint64_t n_faults[OSR_N_FAULTS];
	uint32_t n_listed;
	const struct osr_fault *fault; /* [n_listed] in result; at most max_listed of each kind */
};

/*
 * `modes`: OSR_CLAIM_REVERSIBLE lets replies use the SL of their request; OSR_ONLY_HOSTS,
 * OSR_ONLY_ROUTES. OSR_OK however many faults there are; OSR_INVAL for tables of another fabric;
 * OSR_NOMEM.
 */
enum osr_status osr_audit(const struct osr_fabric *fabric, const struct osr_generation *gen,
			  uint32_t modes, uint32_t max_listed, struct osr_arena *scratch,
			  struct osr_arena *result, struct osr_audit *audit, struct osr_diag *diag);

/* "hole", "dead end", ...: stable, for programs. */
const char *osr_fault_name(enum osr_fault_kind kind);

/* One sentence with names and numbers. */
void osr_fault_say(const struct osr_fabric *fabric, const struct osr_fault *fault,
		   struct osr_diag *diag);

#endif
