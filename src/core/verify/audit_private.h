/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* audit_private.h - what audit.c shares with audit_groups.c, which follows multicast. */
#ifndef OSR_AUDIT_PRIVATE_H
#define OSR_AUDIT_PRIVATE_H

#include "core/verify/audit.h"

#include "union_private.h"

struct auditor {
	const struct osr_fabric *f;
	const struct osr_generation *gen;
	uint32_t modes;
	uint32_t max_listed;
	struct osr_audit *a;
	struct osr_fault *list; /* [OSR_N_FAULTS * max_listed] by kind */

	uint32_t *dist; /* [n_switches] to the switch of the current LID */
	uint64_t *load; /* [n_channels] */

	/* One LID. */
	uint32_t dest, root;
	uint32_t *next;  /* [n_switches] channel of the entry, or OSR_NONE */
	uint32_t *n_in;  /* [n_switches] entries that lead here */
	uint32_t *order; /* [n_order] upstream first; those in loops are missing */
	uint32_t n_order;
	uint32_t *hops;  /* [n_switches] OSR_NONE: does not arrive */
	uint32_t *hosts; /* [n_switches] host ports whose packets come by */
	bool *counted;   /* [n_switches] some packet that exists comes by */

	/* SLs; mask is NULL if VL = SL and only SL 0 is known to be in use. */
	struct senders senders;
	uint16_t *mask;  /* [n_switches] SLs that come by */
	uint16_t *chan;  /* VL = SL: [n_channels] SLs on it; or else: */
	uint16_t *turn;  /* as routing->sl2vl: SLs that pass this pair of ports */
	uint16_t *sends; /* [n_terminals] SLs that it sends on */
};

/* Counts a fault, and lists it if there is room. */
void osr__audit_fault(struct auditor *k, const struct osr_fault *fault);

/* False if memory ran out. */
bool osr__audit_groups(struct auditor *k, struct osr_arena *scratch);

#endif
