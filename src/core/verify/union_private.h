/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* union_private.h - what union.c shares with union_loop.c (the graph) and union_senders.c (SLs). */
#ifndef OSR_UNION_PRIVATE_H
#define OSR_UNION_PRIVATE_H

#include "core/verify/union.h"

/*
 * A turn leads from channel c to the channel that leaves chan_dst[c] by a port: slot[c] + port.
 * Bit v of vls[turn] says that packets on VL v take it and stay on v. If VLs change on the way
 * (`moves`), bit w of vls[turn * OSR_MAX_VLS + v] says that packets on v go on as w.
 */
struct turns {
	const struct osr_fabric *f;
	bool moves;
	size_t *slot; /* [n_channels] */
	size_t n_slots;
	uint16_t *vls;
	uint16_t used; /* VLs that turns begin on */
};

/* VLs that channel c of VL v goes on with by this port. */
static inline unsigned turn_vls(const struct turns *t, uint32_t c, unsigned v, unsigned port)
{
	size_t turn = t->slot[c] + port;

	if (!t->moves)
		return t->vls[turn] & (1u << v);
	return t->vls[turn * OSR_MAX_VLS + v];
}

/*
 * A cycle, its channels and VLs in step[] (in result), on OSR_NO_SL so far; or *n = 0 and rank (if not
 * NULL) a topological order. False if memory ran out.
 */
bool osr__union_search(const struct turns *t, struct osr_arena *scratch, struct osr_arena *result,
		       struct osr_loop_step **step, uint32_t *n, uint32_t *rank);

#define SENDERS_BATCH 64 /* destinations at once: a cache line of a row of path SLs */

/* End ports on one switch that use the same row of path SLs. */
struct sender {
	uint32_t sw, row;
	bool host;
};

/* Which packets exist; audit.c follows the same ones. */
struct senders {
	const struct osr_fabric *f;
	const struct osr_generation *gen;
	uint32_t n;
	uint32_t modes;

	struct sender *sender[2]; /* [n_senders] of generations with paths */
	uint32_t n_senders[2];
	uint16_t *requests
		[2];      /* [n_switches^2] SLs used to row from column; routing->sl and replies */
	uint16_t *inject; /* [SENDERS_BATCH * n_switches] */
};

/* f, gen, n and modes are set. False if memory ran out. */
bool osr__senders_init(struct senders *u, struct osr_arena *scratch);

/* inject[j * n_switches + s]: SLs of packets for dest first + j that enter at s; n <= SENDERS_BATCH. */
void osr__senders_collect(struct senders *u, uint32_t first, uint32_t n);

/* May senders of this generation choose their SL? */
bool osr__any_sl(const struct senders *u, uint32_t g);

/* OSR_NO_SL, and what is none, is no bit. */
static inline uint16_t osr__sl_bit(unsigned sl)
{
	return sl < 16 ? (uint16_t)(1u << sl) : 0;
}

static inline bool osr__is_host_lid(const struct osr_fabric *fabric, uint32_t d)
{
	return fabric->term_weight[fabric->dest_term[d]] != 0;
}

/* Does a host (or else a port 0) send packets that count to dest d? check.h says which do. */
static inline bool osr__sends(const struct senders *u, bool host, uint32_t d)
{
	if (u->modes & OSR_ONLY_HOSTS)
		return host && osr__is_host_lid(u->f, d);
	return host || osr__is_host_lid(u->f, d);
}

/* Does anybody on switch s? Every switch has a port 0. */
static inline bool osr__counts(const struct senders *u, uint32_t s, uint32_t d)
{
	return osr__sends(u, u->f->sw_sources[s] > 0, d);
}

#endif
