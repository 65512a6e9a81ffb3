/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the files of this engine; dmodk.c says how they fit together. */
#ifndef ENGINES_DMODK_DMODK_H
#define ENGINES_DMODK_DMODK_H

#include <string.h>

#include <osmroutes/engine.h>
#include <osmroutes/pgft.h>
#include <osmroutes/treeorder.h>

#define MAX_BALLS 64

struct dmodk {
	const struct osr_fabric *f;
	const struct osr_pgft *p;
	struct osr_arena *scratch;
	struct osr_diag *diag;
	struct osr_routing *r;
	uint32_t n; /* switches */

	struct osr_tree_order o; /* the total order of the switches that all routes keep to */
	uint32_t *host; /* [n] of switches outside: the one they hang on; itself for all others */

	/*
	 * reach.c: sets of destination switches, [words] each, bit D for switch D.
	 *	reach[k] + s * words: D is reached from s within levels up to k, up and then down
	 *	ball[d] + s * words: D is at most d links away from s
	 */
	size_t words;
	uint32_t h; /* of the tallest tree */
	uint64_t *reach[OSR_PGFT_MAX_LEVELS + 1];
	uint64_t *barred; /* [n] rows: what a switch may not be asked for by those that hold it */
	uint64_t *ball[MAX_BALLS];
	uint32_t n_balls;

	/* Dests by the placed switch that they are routed to, dest_list[dest_row[X]] .. */
	uint32_t *dest_row, *dest_list;
	uint32_t *index; /* [n_dests] the j that the modulo rule takes */

	/* digits.c: [d * stride + l] the up-port on level l towards dest d, l = 1 .. h-1 */
	uint16_t *slot;
	uint32_t stride;
	uint32_t *below; /* [n] switches that hang on it from outside, and itself */

	/* escape.c: where no way up and then down leads: [D * n + s] port, OSR_NO_PATH: no need. */
	uint8_t *escape;
	uint8_t *walk; /* [n] routes to X may be longer than the shortest */
};

/* A bit of row s of a family of sets. */
static inline bool has(const struct dmodk *m, const uint64_t *sets, uint32_t s, uint32_t d)
{
	return sets[(size_t)s * m->words + d / 64] >> (d % 64) & 1;
}

static inline uint64_t *row_of(const struct dmodk *m, uint64_t *sets, uint32_t s)
{
	return sets + (size_t)s * m->words;
}

static inline const struct osr_pgft_tree *tree_of(const struct dmodk *m, uint32_t s)
{
	return &m->p->tree[m->p->sw_tree[s]];
}

static inline bool is_whole(const struct osr_pgft_tree *tree)
{
	return !tree->n_missing_links && !tree->n_missing_switches && !tree->merged &&
	       !tree->n_spares;
}

/* May packets to D go up from s to its parent u, to turn on level k at most? */
static inline bool may_go_up(const struct dmodk *m, uint32_t s, uint32_t u, uint32_t k, uint32_t d)
{
	return has(m, m->reach[k], u, d) &&
	       !(osr_tree_order_anchors(&m->o, s, u) && has(m, m->barred, u, d));
}

/* The lowest level on which packets from s to D can turn, 0 if none. */
static inline uint32_t turn_level(const struct dmodk *m, uint32_t s, uint32_t d)
{
	uint32_t h = tree_of(m, s)->h;

	for (uint32_t k = m->p->sw_level[s]; k <= h; k++)
		if (has(m, m->reach[k], s, d))
			return k;
	return 0;
}

/* reach.c */
enum osr_status find_reach(struct dmodk *m);
enum osr_status find_balls(struct dmodk *m);

/* escape.c; the second counts (switch, dest) routes once the tables are filled. */
enum osr_status find_escapes(struct dmodk *m);
enum osr_status count_longer(struct dmodk *m, uint64_t *n_longer);

/* digits.c */
enum osr_status list_dests(struct dmodk *m);
enum osr_status find_slots(struct dmodk *m);
uint32_t next_rule(const struct osr_pgft_tree *tree, uint32_t index, uint32_t l);
void default_slots(const struct dmodk *m, uint32_t x, uint32_t index, uint16_t *slot);

/* part.c; after the tables are filled. `limit`: routes between hosts that a link may carry; *even: none has more. */
enum osr_status part_flows(struct dmodk *m, uint64_t limit, bool *even);

/* Of the LIDs of one end port. */
static inline uint32_t lid_offset(const struct dmodk *m, uint32_t d)
{
	return m->f->dest_lid[d] - m->f->term_lid[m->f->dest_term[d]];
}

static inline uint32_t slot_of(const struct dmodk *m, uint32_t d, uint32_t l)
{
	return m->slot[(size_t)d * m->stride + l];
}

/* table.c */
enum osr_status fill_tables(struct dmodk *m);

#endif
