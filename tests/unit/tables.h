/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tables.h - right tables made by simple means, and a judge that knows only brute force.
 *
 * The tables live in the arena given and are right for any fabric (table_dateline: for rings of at
 * least 3). The judge follows every packet of every source, port and SL on its own: slow, but with
 * nothing to get wrong. osr_check() must agree with it about everything.
 */
#ifndef TEST_TABLES_H
#define TEST_TABLES_H

#include <osmroutes/check.h>

#include "core/verify/union.h"

enum table_kind {
	TABLE_SHORTEST,         /* breadth-first, first port; minimal, claims nothing else */
	TABLE_UPDOWN,           /* up-star/down-star from switch 0, any SL, multicast */
	TABLE_UPDOWN_SL,        /* the same with random SLs on 3 VLs */
	TABLE_UPDOWN_SL2VL,     /* the same with random SL2VL tables */
	TABLE_UPDOWN_ANY_SL2VL, /* the same for any SL */
	N_TABLE_KINDS
};

extern const char *const table_names[N_TABLE_KINDS];

void table_make(enum table_kind kind, const struct osr_fabric *fabric, struct osr_arena *arena,
		uint64_t seed, struct osr_routing *routing);

/*
 * Shortest routes around a ring, SL 1 for those that cross between switch n-1 and switch 0.
 * Deadlock-free on 2 VLs; for replies on the request's SL only if n is odd.
 */
void table_dateline(const struct osr_fabric *fabric, struct osr_arena *arena,
		    struct osr_routing *routing);

/* Deep copy, to break something in it. */
void table_copy(const struct osr_fabric *fabric, const struct osr_routing *from,
		struct osr_arena *arena, struct osr_routing *to);

/* Channels of a credit loop that osr_union_loop() finds in these tables; 0 if there is none. */
uint32_t table_loop(const struct osr_fabric *fabric, const struct osr_routing *routing,
		    uint32_t modes);

/*
 * What packets wait for while every switch may have the tables of any of the generations: each
 * packet, on each SL that it may have, takes every turn that one of them allows, on the VL that one
 * of them gives it. Every copy of a multicast packet, too. Modes as in osr_union_loop(); one_lane:
 * one graph stands for those of all SLs.
 */
struct table_waits {
	const struct osr_fabric *fabric;
	const struct osr_generation *gen; /* [n] */
	uint32_t n, modes;
	bool one_lane;

	/* Filled. VLs are a bit each, one for all that do not exist. */
	uint32_t n_lanes; /* generations whose SL2VL tables differ */
	/* [n_channels] first of a channel's turns, to the channels of the switch it leads to */
	uint32_t *turn;
	uint16_t (*next)[OSR_MAX_VLS]; /* [turns] of each VL those on which its packets go on */
	uint16_t *vls;                 /* [n_channels] of all packets */
	uint16_t last;                 /* out of the last switch, by SL2VL tables */
	uint32_t *been, round;
};

void table_wait(struct table_waits *waits, struct osr_arena *arena);
/* Does a packet on channel c and this VL wait for (on, to)? */
bool table_waits_for(const struct table_waits *waits, uint32_t c, unsigned vl, uint32_t on,
		     unsigned to);
/* Do all rise in rank, [vl * n_channels + channel]; is there no cycle? */
bool table_waits_rise(const struct table_waits *waits, const uint32_t *rank);
bool table_waits_end(const struct table_waits *waits);

/* Are all claims true? Then v holds everything that osr_check() reports. */
bool table_judge(const struct osr_fabric *fabric, const struct osr_routing *routing,
		 struct osr_verdict *verdict);

/*
 * The least ranks with which the claims of right tables are true: one less anywhere, and they are
 * not.
 */
void table_tighten(const struct osr_fabric *fabric, struct osr_routing *routing);

/*
 * The least load that the busiest channel of any minimal routing must carry: a bound for tests that
 * takes longer than osr_bound_load() and is higher. A routing is minimal if every route is as short
 * as the graph allows.
 *
 * Source: duality of linear programs. For any weights y >= 0 of the channels, a minimal routing
 * cannot do better than to send every route along its lightest minimal path; so
 *
 *	max load  >=  sum over routes of the weight of the lightest minimal path / sum of y
 *
 * The weights of a cut are 1 on its channels and 0 elsewhere. The best weights give the least
 * fractional load. Rounds come close to them: each sends all routes along the lightest paths, and
 * the weight of a channel grows by the load it gets (multiplicative weights; Plotkin, Shmoys,
 * Tardos 1995). A routing by destination, one path for each LID, can only be worse, so this is a
 * lower bound for it.
 *
 * The best of `rounds` sets of weights, and of the cuts; with rounds = 1 all weights are alike,
 * which is the average load. O(rounds * switches with hosts * channels).
 */
enum osr_status test_bound_minimal(const struct osr_fabric *fabric, uint32_t rounds,
				   struct osr_arena *scratch, uint64_t *bound,
				   struct osr_diag *diag);

#endif
