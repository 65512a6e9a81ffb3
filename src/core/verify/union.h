/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * union.h - credit loops in tables as switches hold them: of one generation, or of the transition
 * between two, while some switches still have the old entries and others the new ones.
 *
 * Nobody can change all switches at once, so for a while every (switch, LID) entry may be old or
 * new, every packet may have the SL of an old or a new path record, and every port pair the old or
 * the new SL2VL table. For each LID the packets are followed over the union of the old and new out
 * ports of every switch; each may take every turn that either generation allows. If the
 * dependencies (channel, VL) -> (next channel, VL) of all packets have no cycle, no order in which
 * the switches are rewritten can deadlock. With a cycle they may deadlock, but need not.
 *
 * The tables may be unsound: a route that leads nowhere ends there, a route that loops is a cycle.
 * The same packets count as in check.h: to CAs and routers from every switch, to a port 0 from
 * switches with a CA or router.
 *
 * Source: Dally and Seitz 1987, for one generation; Duato, Lysne, Pang, Pinkston: A theory for
 * deadlock-free dynamic network reconfiguration, IEEE TPDS 16(5), 2005, for the union. DIFFERS:
 * that theory orders the changes; here they come in any order.
 *
 * Time O(dests * switches) for each generation, a few operations each (times the SLs in use where
 * SL2VL tables differ by port); memory two bytes for each pair of adjacent channels (times the
 * VLs).
 */
#ifndef OSMROUTES_UNION_H
#define OSMROUTES_UNION_H

#include <osmroutes/routing.h>

#include "core/data/carry.h"

/* With the modes: only packets between CAs and routers count, nothing to or from a port 0. */
#define OSR_ONLY_HOSTS (1u << 16)

#define OSR_NO_SL 255 /* osr_paths.sl: no path record */
/*
 * SLs as path records give them, by end port. End ports may share a row: most tables need one row a
 * switch, none needs more than one row a terminal.
 */
struct osr_paths {
	uint32_t n_rows;
	const uint32_t *row; /* [n_terminals]; OSR_NONE: nothing is known, it sends nothing */
	const uint8_t *sl;   /* [n_rows * n_dests] 0..15 or OSR_NO_SL: it does not send there */
};

/* Multicast tables as switches hold them. */
struct osr_groups {
	uint32_t n;
	const uint16_t *mlid;       /* [n] ascending, 0xc000 or more */
	const uint64_t (*ports)[4]; /* [n * n_switches] group by group: bit p % 64 of word p / 64 */
	uint8_t sl;                 /* of all their packets */
};

/* The tables that one sweep programs. */
struct osr_generation {
	/* lft and sl2vl; sl and granted without `paths`, mcast_parent without `groups` */
	const struct osr_routing *routing;
	const struct osr_paths *paths;   /* NULL: routing->sl; NULL as well: any SL */
	const struct osr_groups *groups; /* NULL: routing->mcast_parent on VL mcast_vl */
	const osr_sl2vl_t *term_sl2vl;   /* [n_terminals] of CAs and routers, or NULL; audit.h */
	bool sls_unknown; /* path records have SLs that we do not know; see verdict.h */
	uint16_t any_sls; /* the SLs that free senders choose from, a bit each; 0: all 16 */
};

/* A packet holds this channel on this VL and waits for the next one of the loop. */
struct osr_loop_step {
	uint32_t channel;
	uint8_t vl;
	uint8_t sl;   /* of such a packet */
	uint16_t lid; /* of its receiver; an MLID for multicast, 0 for the span */
};

/* A cycle; the last step waits for the first. n = 0: no cycle. */
struct osr_loop {
	uint32_t n;
	const struct osr_loop_step *step; /* [n] */
};

/*
 * Looks for a credit loop in the union of n (1 or 2) generations, all on fabric. `modes` are
 * OSR_CLAIM_REVERSIBLE (replies on the SL of their request), OSR_CLAIM_ANY_SL and
 * OSR_CLAIM_MULTICAST, for the dependencies these stand for, and OSR_ONLY_HOSTS. The loop's steps
 * live in `result`, another arena than `scratch`; it is the same for the same tables.
 *
 * rank: NULL, or [OSR_MAX_VLS * n_channels]. If there is no loop, it becomes a certificate as in
 * routing.h for every VL, valid for both generations and the transition.
 *
 * OSR_OK whether there is a loop or not; OSR_INVAL for tables of another fabric, or one arena for
 * both; OSR_NOMEM.
 */
enum osr_status osr_union_loop(const struct osr_fabric *fabric, const struct osr_generation *gen,
			       uint32_t n, uint32_t modes, struct osr_arena *scratch,
			       struct osr_arena *result, struct osr_loop *loop, uint32_t *rank,
			       struct osr_diag *diag);

/*
 * A whole generation in the numbering of another fabric (core/data/carry.h): routing, path SLs and
 * groups, on which credit loops depend. End ports are matched by GUID and LID. All arrays live in
 * `result`.
 */
struct osr_carried {
	struct osr_earlier tables;
	struct osr_paths paths;
	struct osr_groups groups;
	struct osr_generation gen; /* points to the three above */
};

enum osr_status osr_union_carry(const struct osr_fabric *from, const struct osr_generation *old,
				const struct osr_fabric *fabric, struct osr_arena *result,
				struct osr_carried *to, struct osr_diag *diag);

/* One sentence that names the loop's first steps, switches and ports, for a log. */
void osr_loop_say(const struct osr_fabric *fabric, const struct osr_loop *loop,
		  struct osr_diag *diag);

#endif
