/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Digits of earlier sweeps. A spine that dies takes its GUID with it, and a leaf or host its place;
 * without memory all behind it would count differently, and most entries change. So a fabric that
 * is a part of what is remembered keeps its m, w, p and all places; only its hosts may be more, and
 * a switch that is new may stand where another is away.
 */
#include <osmroutes/each.h>
#include <osmroutes/invariant.h>
#include <osmroutes/routing.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "pgft_private.h"

/* Rows go by GUID, that of a switch before the slots on it, these by port. */
static int compare_rows(const void *x, const void *y)
{
	const struct osr_pgft_known *p = x, *q = y;

	if (p->guid != q->guid)
		return p->guid < q->guid ? -1 : 1;
	return p->port < q->port ? -1 : p->port > q->port;
}

const struct osr_pgft_known *osr_pgft_memory_find(const struct osr_pgft_memory *memory,
						  uint64_t guid, uint8_t port)
{
	const struct osr_pgft_known key = { .guid = guid, .port = port };

	return memory && memory->n_rows
		       ? bsearch(&key, memory->row, memory->n_rows, sizeof(key), compare_rows)
		       : NULL;
}

/* The remembered part of a tree. */
static struct osr_pgft_tree shape_of(const struct osr_pgft_tree *tree)
{
	struct osr_pgft_tree shape = { .h = tree->h };

	memcpy(shape.m, tree->m, sizeof(shape.m));
	memcpy(shape.w, tree->w, sizeof(shape.w));
	memcpy(shape.p, tree->p, sizeof(shape.p));
	return shape;
}

/* Do all neighbours of s that have a place see it where it is? */
static bool pgft_fits(const struct pgft_work *work, const struct osr_pgft_tree *tree, uint32_t s)
{
	const uint32_t *a = work->pgft->sw_a, *b = work->pgft->sw_b;
	uint32_t l = work->level[s];

	for (uint32_t e = work->row[s]; e < work->row[s + 1]; e++) {
		uint32_t u = work->near[e];

		if (work->level[u] &&
		    (work->level[u] == l + 1
			     ? a[u] != a[s] / tree->m[l + 1] || b[u] % tree->w_product[l] != b[s]
			     : work->level[u] + 1u != l))
			return false;
	}
	return true;
}

/* Gives s a place that is free, where all its neighbours see it. False: there is none. */
static bool pgft_takes(struct pgft_work *work, const struct osr_pgft_tree *tree, uint32_t s,
		       uint32_t l, uint32_t a, uint32_t b)
{
	uint32_t *place = osr_pgft_place(tree, l, a, b);

	work->level[s] = (uint8_t)l;
	work->pgft->sw_a[s] = a;
	work->pgft->sw_b[s] = b;
	if (*place == OSR_NONE && pgft_fits(work, tree, s)) {
		*place = s;
		return true;
	}
	work->level[s] = 0;
	return false;
}

/*
 * An unknown switch, for example one that replaces another: below or above the first neighbour that
 * is known.
 */
static void recall_new(struct pgft_work *work, const struct osr_pgft_tree *tree, uint32_t s)
{
	for (uint32_t e = work->row[s]; e < work->row[s + 1]; e++) {
		uint32_t u = work->near[e], l = work->level[u], a = work->pgft->sw_a[u],
			 b = work->pgft->sw_b[u];

		if (!l || !osr_pgft_memory_find(work->memory, work->fabric->sw_guid[u], 0))
			continue;
		for (uint32_t k = 0; l > 1 && k < tree->m[l]; k++)
			if (pgft_takes(work, tree, s, l - 1, a * tree->m[l] + k,
				       b % tree->w_product[l - 1]))
				return;
		for (uint32_t k = 0; l < tree->h && k < tree->w[l + 1]; k++)
			if (pgft_takes(work, tree, s, l + 1, a / tree->m[l + 1],
				       k * tree->w_product[l] + b))
				return;
		return;
	}
}

/*
 * A quarter of the hosts that were known away: up-ports without their share. New ones on leaves
 * with more hosts than slots: they share.
 */
static bool recall_hosts(const struct pgft_work *work, const struct pgft_part *part, uint32_t tree,
			 bool more)
{
	const struct osr_fabric *fabric = work->fabric;
	const struct osr_pgft_memory *memory = work->memory;
	uint64_t n_was = 0, n_now = 0, n_new = 0;
	const struct osr_pgft_known *on = NULL;

	/* The rows of ports follow that of their switch, which another may have taken. */
	for (uint32_t i = 0; i < memory->n_rows; i++) {
		if (!memory->row[i].port)
			on = &memory->row[i];
		n_was += memory->row[i].port && on && on->guid == memory->row[i].guid &&
			 on->level && on->tree == tree;
	}
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], n = 0;

		for (uint32_t t = fabric->term_row[s];
		     work->level[s] == 1 && n < work->pgft->sw_hosts[s]; t++) {
			if (fabric->term_role[t] == OSR_ROLE_SP0)
				continue;
			n++;
			n_new += !osr_pgft_memory_find(memory, fabric->sw_guid[s],
						       fabric->term_port[t]);
		}
		n_now += n;
	}
	return 4 * n_now >= 3 * n_was && !(n_new && more);
}

enum osr_status osr_pgft_recall(struct pgft_work *work, const struct pgft_part *part,
				struct osr_pgft_tree *tree)
{
	const struct osr_pgft_known *known = NULL;
	struct osr_pgft_tree now;
	enum osr_status st;

	for (uint32_t i = 0; i < part->n && (!known || !known->level); i++)
		known = osr_pgft_memory_find(work->memory, work->fabric->sw_guid[part->member[i]],
					     0);
	if (!known || !known->level)
		return OSR_NOT_APPLICABLE;
	*tree = shape_of(&work->memory->tree[known->tree]);
	tree->recalled = known->tree;
	st = osr_pgft_places(work, part, tree);
	if (st)
		return st;
	/* All known switches were in one tree, and have places of their own. */
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], l, *place;
		const struct osr_pgft_known *was =
			osr_pgft_memory_find(work->memory, work->fabric->sw_guid[s], 0);

		work->level[s] = 0;
		if (!was)
			continue;
		if (was->level && was->tree != known->tree)
			return OSR_NOT_APPLICABLE;
		work->level[s] = (uint8_t)(l = was->level);
		work->pgft->sw_a[s] = was->a;
		work->pgft->sw_b[s] = was->b;
		if (!l)
			continue;
		if (was->a >= tree->m_product[tree->h] / tree->m_product[l] ||
		    was->b >= tree->w_product[l])
			return OSR_NOT_APPLICABLE;
		place = osr_pgft_place(tree, l, was->a, was->b);
		if (*place != OSR_NONE)
			return OSR_NOT_APPLICABLE;
		*place = s;
	}
	for (uint32_t i = 0; i < part->n; i++)
		if (!osr_pgft_memory_find(work->memory, work->fabric->sw_guid[part->member[i]], 0))
			recall_new(work, tree, part->member[i]);
	/*
	 * Nothing was assumed of the others' cables so far. A switch without a place hangs on one
	 * switch.
	 */
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i];

		if (work->level[s] ? !pgft_fits(work, tree, s)
				   : work->row[s + 1] - work->row[s] > 1)
			return OSR_NOT_APPLICABLE;
	}
	now = *tree;
	osr_pgft_count(work, part, &now);
	for (uint32_t l = 1; l <= tree->h; l++)
		if (now.p[l] > tree->p[l])
			return OSR_NOT_APPLICABLE;
	return recall_hosts(work, part, known->tree, now.m[1] > tree->m[1]) ? OSR_OK
									    : OSR_NOT_APPLICABLE;
}

/*
 * The numbers of hosts. If one of them is new, or has another number now, hosts that are away have
 * none: their old ones may belong to others.
 */
static void remember_numbers(const struct osr_pgft *pgft, struct osr_pgft_known *row, size_t n_rows)
{
	const struct osr_fabric *fabric = pgft->fabric;
	struct osr_pgft_known key = { 0 };
	bool anew = false;

	for (uint32_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; pass && anew && i < n_rows; i++)
			row[i].a = row[i].port ? 0 : row[i].a;
		for (uint32_t i = 0; i < pgft->n_order; i++) {
			uint32_t t = pgft->order[i], a = pgft->term_number[t] + 1;
			struct osr_pgft_known *known;

			key.guid = fabric->sw_guid[fabric->term_switch[t]];
			key.port = fabric->term_port[t];
			known = bsearch(&key, row, n_rows, sizeof(key), compare_rows);
			anew |= known->a != a;
			known->a = pass ? a : known->a;
		}
	}
}

/* The bytes: this, then trees and rows. */
struct memory_head {
	uint32_t n_trees, n_rows;
};

static_assert(sizeof(struct memory_head) % 8 == 0 && sizeof(struct osr_pgft_tree) % 8 == 0 &&
		      sizeof(struct osr_pgft_known) == 24,
	      "no holes");

enum osr_status osr_pgft_remember(const struct osr_pgft *pgft, struct osr_arena *arena,
				  struct osr_notes *notes, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = pgft->fabric;
	const struct osr_pgft_memory *before = pgft->recalled;
	uint32_t n_trees = before ? before->n_trees : pgft->n_trees, n_before = 0;
	struct osr_pgft_tree *tree;
	struct osr_pgft_known *row, *to;
	struct memory_head *head;
	size_t n = (before ? before->n_rows : 0) + (size_t)fabric->n_switches + fabric->n_terminals;

	head = osr_calloc(arena, sizeof(*head) + n_trees * sizeof(*tree) + n * sizeof(*row), 1);
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	tree = (struct osr_pgft_tree *)(head + 1);
	row = to = (struct osr_pgft_known *)(tree + n_trees);
	for (uint32_t i = 0; i < n_trees; i++)
		tree[i] = shape_of(before ? &before->tree[i] : &pgft->tree[i]);
	if (before)
		memcpy(row, before->row, (n_before = before->n_rows) * sizeof(*row));
	to += n_before;
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t i = pgft->sw_tree[s];
		struct osr_pgft_known known = { .guid = fabric->sw_guid[s],
						.level = pgft->sw_level[s],
						.a = pgft->sw_a[s],
						.b = pgft->sw_b[s] },
				      *at = to;

		if (i != OSR_NONE)
			known.tree = before ? pgft->tree[i].recalled : i;
		/*
		 * A switch that was unknown takes the row of the switch at whose place it stands
		 * now, or else a new one.
		 */
		if (!osr_pgft_memory_find(before, known.guid, 0)) {
			for (uint32_t k = 0; k < n_before && known.level; k++)
				if (!row[k].port && row[k].tree == known.tree &&
				    row[k].level == known.level && row[k].a == known.a &&
				    row[k].b == known.b)
					at = row + k;
			to += at == to;
			*at = known;
		}
		OSR_EACH_TERMINAL(t, fabric, s) {
			known.port = fabric->term_port[t];
			if (pgft->term_index[t] == OSR_NONE ||
			    osr_pgft_memory_find(before, known.guid, (uint8_t)known.port))
				continue;
			known.tree = known.level = known.a = 0;
			known.b = pgft->term_index[t] % pgft->tree[i].m[1];
			*to++ = known;
		}
	}
	head->n_trees = n_trees;
	head->n_rows = (uint32_t)(to - row);
	qsort(row, head->n_rows, sizeof(*row), compare_rows);
	if (pgft->term_number)
		remember_numbers(pgft, row, head->n_rows);
	*notes = (struct osr_notes){ head, (size_t)((char *)to - (char *)head) };
	return OSR_OK;
}

/* Checking ------------------------------------------------------------------------------------- */

#define MAX_HOSTS 255 /* of a leaf, as ports are */
#define MAX_PARALLEL 255
#define MAX_UP_PORTS 4096 /* of a switch, missing ones included */

static bool memory_tree_is_valid(const struct osr_pgft_tree *tree)
{
	if (tree->h < 1 || tree->h > OSR_PGFT_MAX_LEVELS || tree->m[1] > MAX_HOSTS)
		return false;
	for (uint32_t l = 1; l <= tree->h; l++)
		if (!tree->m[l] || !tree->w[l] || !tree->p[l] || tree->p[l] > MAX_PARALLEL ||
		    tree->w[l] > MAX_UP_PORTS / tree->p[l])
			return false;
	return true;
}

/* Places are looked at when they are taken. */
bool osr_pgft_memory_read(const struct osr_notes *notes, struct osr_pgft_memory *memory)
{
	const struct memory_head *head = notes->data;

	if (notes->size < sizeof(*head) ||
	    notes->size != sizeof(*head) + (uint64_t)head->n_trees * sizeof(*memory->tree) +
				   (uint64_t)head->n_rows * sizeof(*memory->row))
		return false;
	*memory = (struct osr_pgft_memory){ .n_trees = head->n_trees, .n_rows = head->n_rows };
	memory->tree = (const struct osr_pgft_tree *)(head + 1);
	memory->row = (const struct osr_pgft_known *)(memory->tree + memory->n_trees);
	for (uint32_t i = 0; i < memory->n_trees; i++)
		if (!memory_tree_is_valid(&memory->tree[i]))
			return false;
	for (uint32_t i = 0; i < memory->n_rows; i++)
		if ((i && compare_rows(&memory->row[i - 1], &memory->row[i]) >= 0) ||
		    memory->row[i].tree >= memory->n_trees ||
		    memory->row[i].level > memory->tree[memory->row[i].tree].h)
			return false;
	return true;
}
