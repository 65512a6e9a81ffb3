/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the files of pgft.c. */
#ifndef OSR_CORE_PGFT_PRIVATE_H
#define OSR_CORE_PGFT_PRIVATE_H

#include <osmroutes/pgft.h>

struct pgft_work {
	const struct osr_fabric *fabric;
	struct osr_pgft *pgft;
	struct osr_arena *scratch;
	struct osr_diag *diag;

	/*
	 * Distinct neighbours: near[row[s]] .. near[row[s + 1] - 1], by first channel; mult[]
	 * cables each.
	 */
	uint32_t *row, *near, *mult;
	uint32_t *member; /* switches of the component at hand, ascending */

	uint8_t *level;                  /* [n_switches] of the present trial */
	uint32_t *depth;                 /* [n_switches] as the search finds it */
	uint32_t *queue, *stamp, *count; /* [n_switches] */
	uint32_t now;                    /* of stamp[] */

	/*
	 * Of pgft_digits.c, [n_switches]: sets above or below a level; groups around; digits of the
	 * last grouping.
	 */
	uint32_t *set, *below, *above, *digit;
	struct pgft_key *key; /* [n_switches] */
	const struct osr_pgft_memory *memory;
};

struct pgft_key {
	uint32_t a, b, c;
};

/* One component of the fabric, under way. */
struct pgft_part {
	const uint32_t *member;
	uint32_t n;
	uint32_t bad_from, bad_to; /* the first two switches of one level with a cable */
	uint32_t n_bad;            /* channels of such cables */
};

/*
 * Levels of a component if switches with at least `strong` hosts are leaves. With `strip`, switches
 * with a single neighbour are looked at last. False if cables join switches of one level; part->bad
 * tells which.
 */
bool osr_pgft_levels(struct pgft_work *pgft, struct pgft_part *part, uint32_t strong, bool strip);

/*
 * Digits, given levels: fills the tree's m, w, p and the rows of digits. OSR_NOT_APPLICABLE if this
 * leads to more places than make sense.
 */
enum osr_status osr_pgft_digits(struct pgft_work *pgft, const struct pgft_part *part,
				struct osr_pgft_tree *tree);

/* From the levels: the tree's m_1 and p. */
void osr_pgft_count(struct pgft_work *pgft, const struct pgft_part *part,
		    struct osr_pgft_tree *tree);

/*
 * From m, w and h: their products, and all places, free. OSR_NOT_APPLICABLE if they are more than
 * make sense.
 */
enum osr_status osr_pgft_places(struct pgft_work *pgft, const struct pgft_part *part,
				struct osr_pgft_tree *tree);

static inline uint32_t *osr_pgft_place(const struct osr_pgft_tree *tree, uint32_t l, uint32_t a,
				       uint32_t b)
{
	return &tree->place[l][(size_t)a * tree->w_product[l] + b];
}

/*
 * pgft_memory.c: the remembered levels, digits, places and shape of the tree. OSR_NOT_APPLICABLE if
 * this component does not fit them.
 */
enum osr_status osr_pgft_recall(struct pgft_work *pgft, const struct pgft_part *part,
				struct osr_pgft_tree *tree);
/* The memory of a switch, or of a port of it; NULL: none. */
const struct osr_pgft_known *osr_pgft_memory_find(const struct osr_pgft_memory *memory,
						  uint64_t guid, uint8_t port);

#endif
