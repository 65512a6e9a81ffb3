/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * gate.h - the last gate before tables are sent: a checker of certificates whose source is proved.
 *
 * proved.mlw states the promises and proves that the program at its end keeps them; gate_proved.h
 * is this program in C, as Why3 extracts it. gate_question.c and gate_certificate.c lay the fabric,
 * the tables and the certificate out in its arrays, and gate.c calls it for every destination.
 * docs/proof.md lists the goals, and the parts that are trusted.
 *
 * It shares no code with the checker (check.h) and is asked after it: both must say yes. From the
 * tables it confirms
 *   - that entries lead every packet home, and none to another part of the fabric;
 *   - with OSR_CLAIM_DEADLOCK_FREE: that every pair has a level, no packet is dropped for its lane,
 *     and no chain of waits closes, for every kind of packet that is claimed: on levels of the
 *     tables, on granted levels, on any level, replies, multicast.
 * It does not ask whether routes are minimal, nor whether the multicast tree reaches every member.
 *
 * Time O(dests * switches * levels in use), divided among the threads of `scratch`; memory
 * O(channels * lanes), and two bytes for each pair of switches twice where replies are claimed.
 */
#ifndef OSR_GATE_H
#define OSR_GATE_H

#include <osmroutes/routing.h>

/*
 * OSR_OK; OSR_NOT_PROVEN with a sentence that names the part or the first LID that is refused, or
 * the size that is beyond 31 bits; OSR_NOMEM.
 */
enum osr_status osr_gate(const struct osr_fabric *fabric, const struct osr_routing *routing,
			 struct osr_arena *scratch, struct osr_diag *diag);

/*
 * The same after osr_gate() has confirmed `before` (before->confirmed; else it counts for nothing):
 * LIDs of hosts are not judged again where neither their entries and levels nor the channels and
 * lanes that they use have changed, with the ranks of the certificate. Port 0 of switches is judged
 * always, and everything if switches have come or gone. *n_judged: how many LIDs were judged; may be NULL.
 */
enum osr_status osr_gate_again(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       const struct osr_result *before, struct osr_arena *scratch,
			       uint32_t *n_judged, struct osr_diag *diag);

/*
 * While switches are programmed: every packet meets, at every switch again, an entry of `routing`
 * or one of `old`, on the same fabric. Confirms that no chain of waits closes in any mixture, with
 * the levels, replies and multicast of both, by the order routing->rank; so no packet goes in
 * circles either. An entry may drop. The claims are routing->claims.
 *
 * SL2VL tables may differ. A packet that VL = SL drops, because the cable has no such lane, counts
 * as going on by the other tables.
 *
 * certified: NULL, or tables with the order and the SL2VL tables of `routing` that osr_gate()
 * judges by themselves. A LID that has their entries in both generations is not judged again if the
 * old lanes are equal, too. *n_judged: LIDs that were judged; may be NULL.
 */
enum osr_status osr_gate_mixed(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       const struct osr_routing *old, const struct osr_routing *certified,
			       struct osr_arena *scratch, uint32_t *n_judged,
			       struct osr_diag *diag);

#endif
