/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Digits of earlier sweeps. A spine that dies takes its GUID with it, and a leaf or host its place;
 * without memory all behind it would count differently, and most entries change. So a group gets the
 * digit that most of its switches had, and a tree keeps its m, w and p while parts of it are away.
 */
#include <osmroutes/routing.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "pgft_private.h"

/* Reading -------------------------------------------------------------------------------------- */

/* Rows go by GUID, that of a switch before the slots on it, these by port. */
static int compare_rows(const void *x, const void *y)
{
	const struct osr_pgft_known *p = x, *q = y;

	if (p->guid != q->guid)
		return p->guid < q->guid ? -1 : 1;
	if (!p->level != !q->level)
		return p->level ? -1 : 1;
	return p->level || p->a == q->a ? 0 : p->a < q->a ? -1 : 1;
}

static const struct osr_pgft_known *find_row(const struct osr_pgft_known *row, uint32_t n,
					     struct osr_pgft_known key)
{
	return n ? bsearch(&key, row, n, sizeof(key), compare_rows) : NULL;
}

enum osr_status osr__pgft_recall(struct pgft_work *pgft, const struct osr_pgft_memory *memory)
{
	pgft->memory = memory;
	pgft->known = osr_alloc(pgft->scratch, pgft->f->n_switches,
				sizeof(const struct osr_pgft_known *));
	if (osr_arena_failed(pgft->scratch, pgft->diag))
		return OSR_NOMEM;
	for (uint32_t s = 0; s < pgft->f->n_switches; s++)
		pgft->known[s] = find_row(
			memory ? memory->row : NULL, memory ? memory->n_rows : 0,
			(struct osr_pgft_known){ .guid = pgft->f->sw_guid[s], .level = 1 });
	return OSR_OK;
}

/* The tree that most of the known members were in; OSR_NONE if it had another height. */
uint32_t osr__pgft_recall_tree(const struct pgft_work *pgft, const struct pgft_part *part,
			       uint32_t h)
{
	uint32_t best = OSR_NONE, lead = 0;

	/* Boyer and Moore: the value with more than half of all votes, if there is one. */
	for (uint32_t i = 0; i < part->n; i++) {
		const struct osr_pgft_known *known = pgft->known[part->member[i]];

		if (!known)
			continue;
		if (!lead)
			best = known->tree;
		lead = known->tree == best ? lead + 1 : lead - 1;
	}
	if (best == OSR_NONE || pgft->memory->tree[best].h != h || pgft->memory->tree[best].merged)
		return OSR_NONE;
	return best;
}

static uint32_t b_digit(const struct osr_pgft_shape *pgft_shape,
			const struct osr_pgft_known *pgft_known, uint32_t l)
{
	uint32_t b = pgft_known->b;

	for (uint32_t i = 2; i < l; i++)
		b /= pgft_shape->w[i];
	return b % pgft_shape->w[l];
}

/* a_l of a switch below level l */
static uint32_t a_digit(const struct osr_pgft_shape *pgft_shape,
			const struct osr_pgft_known *pgft_known, uint32_t l)
{
	uint32_t a = pgft_known->a;

	for (uint32_t i = pgft_known->level + 1; i < l; i++)
		a /= pgft_shape->m[i];
	return a % pgft_shape->m[l];
}

uint32_t osr__pgft_recall_digit(const struct pgft_work *pgft, uint32_t s, uint32_t l, bool up)
{
	const struct osr_pgft_known *pgft_known = pgft->known[s];

	if (pgft->tree == OSR_NONE || !pgft_known || pgft_known->tree != pgft->tree ||
	    pgft_known->level != pgft->level[s])
		return OSR_NONE;
	return up ? b_digit(&pgft->memory->tree[pgft->tree], pgft_known, l)
		  : a_digit(&pgft->memory->tree[pgft->tree], pgft_known, l);
}

uint32_t osr__pgft_recall_slot(const struct pgft_work *pgft, uint32_t s, uint8_t port)
{
	const struct osr_pgft_known *found =
		pgft->memory ? find_row(pgft->memory->row, pgft->memory->n_rows,
					(struct osr_pgft_known){ .guid = pgft->f->sw_guid[s],
								 .a = port })
			     : NULL;

	return found ? found->b : OSR_NONE;
}

/* Writing -------------------------------------------------------------------------------------- */

/* The tree of today that continues this one, OSR_NONE if there is none. */
static uint32_t heir_of(const struct osr_pgft *pgft, uint32_t tree)
{
	for (uint32_t i = 0; i < pgft->n_trees; i++)
		if (pgft->tree[i].recalled == tree)
			return i;
	return OSR_NONE;
}

/* A switch that is away: its digits in the tree of today, which may have grown. False: its place is taken. */
static bool carry_switch(const struct osr_pgft *pgft, const struct osr_pgft_memory *before,
			 const struct osr_pgft_known *was, struct osr_pgft_known *to)
{
	const struct osr_pgft_shape *shape = &before->tree[was->tree];
	uint32_t heir = heir_of(pgft, was->tree), l = was->level;
	const struct osr_pgft_tree *tree;

	if (heir == OSR_NONE)
		return false;
	tree = &pgft->tree[heir];
	*to = (struct osr_pgft_known){ .guid = was->guid, .tree = heir, .level = l };
	for (uint32_t i = tree->h; i > l; i--)
		to->a = to->a * tree->m[i] + a_digit(shape, was, i);
	for (uint32_t i = 2; i <= l; i++)
		to->b += b_digit(shape, was, i) * tree->w_product[i - 1];
	return tree->place[l][(size_t)to->a * tree->w_product[l] + to->b] == OSR_NONE;
}

/* The slot of a port that is away: has nobody taken it, and is the port still free? */
static bool is_free_slot(const struct osr_pgft *pgft, uint32_t s, const struct osr_pgft_known *was)
{
	for (uint32_t t = pgft->f->term_row[s]; t < pgft->f->term_row[s + 1]; t++)
		if (pgft->term_index[t] != OSR_NONE &&
		    (pgft->f->term_port[t] == was->a ||
		     pgft->term_index[t] % pgft->tree[pgft->sw_tree[s]].m[1] == was->b))
			return false;
	return true;
}

/* Those of today, then those of earlier that are away; returns how many. */
static uint32_t write_rows(const struct osr_pgft *pgft, const struct osr_pgft_memory *before,
			   struct osr_pgft_known *row)
{
	const struct osr_fabric *fabric = pgft->f;
	struct osr_pgft_known *to = row;
	uint64_t kept = 0;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		if (!pgft->sw_level[s])
			continue;
		*to++ = (struct osr_pgft_known){ .guid = fabric->sw_guid[s],
						 .tree = pgft->sw_tree[s],
						 .level = pgft->sw_level[s],
						 .a = pgft->sw_a[s],
						 .b = pgft->sw_b[s] };
		for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
			if (pgft->term_index[t] != OSR_NONE)
				*to++ = (struct osr_pgft_known){
					.guid = fabric->sw_guid[s],
					.tree = pgft->sw_tree[s],
					.a = fabric->term_port[t],
					.b = pgft->term_index[t] % pgft->tree[pgft->sw_tree[s]].m[1]
				};
	}
	for (uint32_t i = 0; before && i < before->n_rows; i++) {
		const struct osr_pgft_known *was = &before->row[i];
		uint32_t s = osr_fabric_switch_by_guid(fabric, was->guid);

		if (was->level && s == OSR_NONE && carry_switch(pgft, before, was, to)) {
			kept = was->guid;
			to++;
		} else if (!was->level &&
			   (s == OSR_NONE ? was->guid == kept : is_free_slot(pgft, s, was))) {
			*to = *was;
			to++->tree = 0;
		}
	}
	qsort(row, (size_t)(to - row), sizeof(*row), compare_rows);
	return (uint32_t)(to - row);
}

/* The bytes: this, then trees and rows. */
struct memory_head {
	uint32_t n_trees, n_rows;
};

static_assert(sizeof(struct memory_head) % 8 == 0 &&
		      sizeof(struct osr_pgft_shape) == 4 * (2 + 3 * (OSR_PGFT_MAX_LEVELS + 1)) &&
		      sizeof(struct osr_pgft_shape) % 8 == 0 && sizeof(struct osr_pgft_known) == 24,
	      "no holes");

enum osr_status osr_pgft_remember(const struct osr_pgft *pgft, const struct osr_pgft_memory *before,
				  struct osr_arena *arena, struct osr_notes *notes,
				  struct osr_diag *diag)
{
	/* One more: carry_switch() writes first and then decides. */
	size_t n = (size_t)pgft->f->n_switches + pgft->f->n_terminals +
		   (before ? before->n_rows : 0) + 1;
	struct osr_pgft_shape *tree;
	struct memory_head *head;

	head = osr_alloc(arena,
			 sizeof(*head) + pgft->n_trees * sizeof(*tree) +
				 n * sizeof(struct osr_pgft_known),
			 1);
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	tree = (struct osr_pgft_shape *)(head + 1);
	for (uint32_t i = 0; i < pgft->n_trees; i++) {
		const struct osr_pgft_tree *from = &pgft->tree[i];

		tree[i] = (struct osr_pgft_shape){ .h = from->h, .merged = from->merged };
		memcpy(tree[i].m + 1, from->m + 1, from->h * sizeof(*from->m));
		memcpy(tree[i].w + 1, from->w + 1, from->h * sizeof(*from->w));
		memcpy(tree[i].p + 1, from->p + 1, from->h * sizeof(*from->p));
	}
	head->n_trees = pgft->n_trees;
	head->n_rows = write_rows(pgft, before, (struct osr_pgft_known *)(tree + pgft->n_trees));
	*notes = (struct osr_notes){ head, sizeof(*head) + pgft->n_trees * sizeof(*tree) +
						   head->n_rows * sizeof(struct osr_pgft_known) };
	return OSR_OK;
}

/* Checking ------------------------------------------------------------------------------------- */

#define MAX_HOSTS 255 /* of a leaf, as ports are */
#define MAX_PARALLEL 255
#define MAX_UP_PORTS 4096 /* of a switch, those that are missing included */

static bool memory_shape_is_valid(const struct osr_pgft_shape *shape)
{
	if (shape->h < 1 || shape->h > OSR_PGFT_MAX_LEVELS || shape->merged > 1 ||
	    shape->m[1] > MAX_HOSTS)
		return false;
	for (uint32_t l = 1; l <= shape->h; l++)
		if (!shape->m[l] || !shape->w[l] || !shape->p[l] || shape->p[l] > MAX_PARALLEL ||
		    shape->w[l] > MAX_UP_PORTS / shape->p[l])
			return false;
	return true;
}

/* Digits are taken modulo w and m, so a and b may be anything. */
bool osr_pgft_memory_read(const struct osr_notes *notes, struct osr_pgft_memory *memory)
{
	const struct memory_head *head = notes->data;

	if (notes->size < sizeof(*head) ||
	    notes->size != sizeof(*head) + (uint64_t)head->n_trees * sizeof(*memory->tree) +
				   (uint64_t)head->n_rows * sizeof(*memory->row))
		return false;
	*memory = (struct osr_pgft_memory){ .n_trees = head->n_trees, .n_rows = head->n_rows };
	memory->tree = (const struct osr_pgft_shape *)(head + 1);
	memory->row = (const struct osr_pgft_known *)(memory->tree + memory->n_trees);
	for (uint32_t i = 0; i < memory->n_trees; i++)
		if (!memory_shape_is_valid(&memory->tree[i]))
			return false;
	for (uint32_t i = 0; i < memory->n_rows; i++)
		if ((i && compare_rows(&memory->row[i - 1], &memory->row[i]) >= 0) ||
		    memory->row[i].tree >= memory->n_trees ||
		    memory->row[i].level > memory->tree[memory->row[i].tree].h)
			return false;
	return true;
}
