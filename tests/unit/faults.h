/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * faults.h - a fabric with parts of it away, and the promises of stable re-routing, by brute force.
 */
#ifndef TEST_FAULTS_H
#define TEST_FAULTS_H

#include <osmroutes/engine.h>

#include "fabrics.h"

/* Parts of a whole fabric that are away, in its numbering. */
struct faults {
	const struct osr_fabric *whole;
	bool *chan; /* [n_channels] both directions of a cable alike */
	bool *sw;   /* [n_switches] */
	bool *term; /* [n_terminals] CAs and routers */
	/* not 0: seed of the order in which all is fed, and of the ends of cables */
	uint64_t order;
	uint64_t shuffle; /* not 0: seed of GUIDs, LIDs (where each port has one) and ports, too */
};

void faults_new(struct faults *faults, const struct osr_fabric *whole);
void faults_free(struct faults *faults);
void faults_cable(struct faults *faults, uint32_t chan, bool away);
/* The same cable in another fabric: by the switches at both ends, and the port. */
uint32_t faults_channel_in(const struct osr_fabric *g, const struct osr_fabric *f, uint32_t c);
/* What is left, as a fabric of its own, in `arena`. */
void faults_build(const struct faults *faults, struct osr_arena *arena, struct osr_fabric *fabric);

/*
 * Every SL that a (switch, LID) pair was ever given, by GUID and LID; and whether they are safe.
 * Knows nothing of re-routing: it follows every packet, with every SL, through every mixture of old
 * and new entries.
 */
struct ledger {
	const struct osr_fabric *whole;
	uint16_t *sls; /* [n_dests * n_switches] of the whole fabric, a bit each */
};

void ledger_new(struct ledger *ledger, const struct osr_fabric *whole);
void ledger_free(struct ledger *ledger);
void ledger_note(struct ledger *ledger, const struct osr_result *now);
/* Of switch s of f to its destination d. */
uint16_t ledger_sls(const struct ledger *ledger, const struct osr_fabric *fabric, uint32_t d,
		    uint32_t s);
/*
 * Is no VL of `now` cyclic for packets on any SL of the ledger (with `mixed`, while every switch
 * may still have the entry, and the multicast table, of `before`)? Replies and multicast count if
 * `now` claims that they are safe. Pairs of port 0 as in check.h.
 */
bool ledger_safe(const struct ledger *ledger, const struct osr_result *now,
		 const struct osr_result *before, bool mixed);

#endif
