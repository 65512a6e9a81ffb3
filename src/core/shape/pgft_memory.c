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

static enum osr_status pgft_memory_no_memory(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for the digits of earlier sweeps");
}

/* Reading -------------------------------------------------------------------------------------- */

/* Both lists go by GUID. */
enum osr_status osr__pgft_recall(struct pgft_work *pgft, const struct osr_pgft_memory *memory)
{
	uint32_t n = pgft->f->n_switches;

	pgft->memory = memory;
	pgft->known = osr_alloc(pgft->scratch, n, sizeof(*pgft->known));
	if (!pgft->known)
		return pgft_memory_no_memory(pgft->diag);
	for (uint32_t s = 0, i = 0; s < n; s++) {
		while (memory && i < memory->n_switches && memory->sw[i].guid < pgft->f->sw_guid[s])
			i++;
		pgft->known[s] = memory && i < memory->n_switches &&
						 memory->sw[i].guid == pgft->f->sw_guid[s]
					 ? i
					 : OSR_NONE;
	}
	return OSR_OK;
}

/* The tree that most of the known members were in; OSR_NONE if it had another height. */
uint32_t osr__pgft_recall_tree(const struct pgft_work *pgft, const struct pgft_part *part,
			       uint32_t h)
{
	uint32_t best = OSR_NONE, lead = 0;

	/* Boyer and Moore: the value with more than half of all votes, if there is one. */
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t known = pgft->known[part->member[i]], tree;

		if (known == OSR_NONE)
			continue;
		tree = pgft->memory->sw[known].tree;
		if (!lead)
			best = tree;
		lead = tree == best ? lead + 1 : lead - 1;
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
	const struct osr_pgft_known *pgft_known;

	if (pgft->tree == OSR_NONE || pgft->known[s] == OSR_NONE)
		return OSR_NONE;
	pgft_known = &pgft->memory->sw[pgft->known[s]];
	if (pgft_known->tree != pgft->tree || pgft_known->level != pgft->level[s])
		return OSR_NONE;
	return up ? b_digit(&pgft->memory->tree[pgft->tree], pgft_known, l)
		  : a_digit(&pgft->memory->tree[pgft->tree], pgft_known, l);
}

static int compare_slots(const void *x, const void *y)
{
	const struct osr_pgft_slot *pgft_slot = x, *slot = y;

	if (pgft_slot->guid != slot->guid)
		return pgft_slot->guid < slot->guid ? -1 : 1;
	return pgft_slot->port < slot->port ? -1 : pgft_slot->port > slot->port;
}

uint32_t osr__pgft_recall_slot(const struct pgft_work *pgft, uint32_t s, uint8_t port)
{
	const struct osr_pgft_slot key = { .guid = pgft->f->sw_guid[s], .port = port }, *found;

	if (!pgft->memory || !pgft->memory->n_slots)
		return OSR_NONE;
	found = bsearch(&key, pgft->memory->slot, pgft->memory->n_slots, sizeof(key),
			compare_slots);
	return found ? found->slot : OSR_NONE;
}

/* Writing -------------------------------------------------------------------------------------- */

struct writer {
	const struct osr_pgft *p;
	const struct osr_pgft_memory *before;
	struct osr_pgft_shape *tree;
	struct osr_pgft_known *sw;
	struct osr_pgft_slot *slot;
	uint32_t n_switches, n_slots;
};

/* The tree of today that continues this one, OSR_NONE if there is none. */
static uint32_t heir_of(const struct osr_pgft *pgft, uint32_t tree)
{
	for (uint32_t i = 0; i < pgft->n_trees; i++)
		if (pgft->tree[i].recalled == tree)
			return i;
	return OSR_NONE;
}

/* A switch that is away: its digits in the tree of today, which may have grown. */
static bool carry_switch(const struct writer *o, const struct osr_pgft_known *pgft_known,
			 struct osr_pgft_known *to)
{
	const struct osr_pgft_shape *was = &o->before->tree[pgft_known->tree];
	uint32_t heir = heir_of(o->p, pgft_known->tree);
	const struct osr_pgft_tree *pgft_tree;

	if (heir == OSR_NONE)
		return false;
	pgft_tree = &o->p->tree[heir];
	*to = (struct osr_pgft_known){ .guid = pgft_known->guid,
				       .tree = heir,
				       .level = pgft_known->level };
	for (uint32_t l = pgft_tree->h; l > pgft_known->level; l--)
		to->a = to->a * pgft_tree->m[l] + a_digit(was, pgft_known, l);
	for (uint32_t l = 2; l <= pgft_known->level; l++)
		to->b += b_digit(was, pgft_known, l) * pgft_tree->w_product[l - 1];
	return pgft_tree->place[pgft_known->level]
			       [(size_t)to->a * pgft_tree->w_product[pgft_known->level] + to->b] ==
	       OSR_NONE;
}

static void write_switches(struct writer *o)
{
	const struct osr_pgft *pgft = o->p;
	uint32_t n_before = o->before ? o->before->n_switches : 0, i = 0;
	struct osr_pgft_known *to = o->sw;

	for (uint32_t s = 0; s <= pgft->f->n_switches; s++) {
		uint64_t guid = s < pgft->f->n_switches ? pgft->f->sw_guid[s] : UINT64_MAX;

		for (; i < n_before && o->before->sw[i].guid < guid; i++)
			to += carry_switch(o, &o->before->sw[i], to);
		i += i < n_before && o->before->sw[i].guid == guid;
		if (s < pgft->f->n_switches && pgft->sw_level[s])
			*to++ = (struct osr_pgft_known){ .guid = guid,
							 .tree = pgft->sw_tree[s],
							 .level = pgft->sw_level[s],
							 .a = pgft->sw_a[s],
							 .b = pgft->sw_b[s] };
	}
	o->n_switches = (uint32_t)(to - o->sw);
}

/* The first of n rows, which go by the GUID each begins with, whose GUID is not below this one. */
static uint32_t first_row(const void *rows, size_t size, uint32_t n, uint64_t guid)
{
	uint32_t from = 0, to = n;

	while (from < to) {
		uint32_t mid = (from + to) / 2;
		const uint64_t *at = (const uint64_t *)((const char *)rows + mid * size);

		if (*at < guid)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Ports of one leaf: those of today, and of those that are away whose slot nobody has taken. */
static struct osr_pgft_slot *write_leaf(const struct writer *o, uint32_t s,
					struct osr_pgft_slot *to)
{
	const struct osr_pgft *pgft = o->p;
	const struct osr_fabric *fabric = pgft->f;
	uint32_t m = pgft->sw_level[s] ? pgft->tree[pgft->sw_tree[s]].m[1] : 0;
	bool taken[256] = { false }, live[256] = { false };
	struct osr_pgft_slot key = { .guid = fabric->sw_guid[s] };
	uint32_t i = o->before ? first_row(o->before->slot, sizeof(*o->before->slot),
					   o->before->n_slots, key.guid)
			       : 0;

	for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++) {
		if (pgft->term_index[t] == OSR_NONE)
			continue;
		key.port = fabric->term_port[t];
		key.slot = (uint8_t)(pgft->term_index[t] % m);
		taken[key.slot] = live[key.port] = true;
		*to++ = key;
	}
	for (; o->before && i < o->before->n_slots && o->before->slot[i].guid == key.guid; i++) {
		const struct osr_pgft_slot *pgft_slot = &o->before->slot[i];

		if (live[pgft_slot->port] || taken[pgft_slot->slot])
			continue;
		taken[pgft_slot->slot] = true;
		*to++ = *pgft_slot;
	}
	return to;
}

static bool is_known(const struct writer *o, uint64_t guid)
{
	uint32_t i = first_row(o->sw, sizeof(*o->sw), o->n_switches, guid);

	return i < o->n_switches && o->sw[i].guid == guid;
}

static void write_slots(struct writer *o)
{
	const struct osr_fabric *fabric = o->p->f;
	uint32_t n_before = o->before ? o->before->n_slots : 0;
	struct osr_pgft_slot *to = o->slot;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		to = write_leaf(o, s, to);
	/* Of leaves that are away, but not forgotten. */
	for (uint32_t i = 0; i < n_before; i++)
		if (osr_fabric_switch_by_guid(fabric, o->before->slot[i].guid) == OSR_NONE &&
		    is_known(o, o->before->slot[i].guid))
			*to++ = o->before->slot[i];
	o->n_slots = (uint32_t)(to - o->slot);
	qsort(o->slot, o->n_slots, sizeof(*to), compare_slots);
}

static void write_trees(const struct writer *o)
{
	const struct osr_pgft *pgft = o->p;

	for (uint32_t i = 0; i < pgft->n_trees; i++) {
		struct osr_pgft_shape *to = &o->tree[i];
		const struct osr_pgft_tree *pgft_tree = &pgft->tree[i];

		*to = (struct osr_pgft_shape){ .h = pgft_tree->h, .merged = pgft_tree->merged };
		memcpy(to->m + 1, pgft_tree->m + 1, pgft_tree->h * sizeof(*to->m));
		memcpy(to->w + 1, pgft_tree->w + 1, pgft_tree->h * sizeof(*to->w));
		memcpy(to->p + 1, pgft_tree->p + 1, pgft_tree->h * sizeof(*to->p));
	}
}

/* The bytes: this, then trees, switches and slots. */
struct memory_head {
	uint32_t n_trees, n_switches, n_slots, zero;
};

static_assert(sizeof(struct memory_head) % 8 == 0 &&
		      sizeof(struct osr_pgft_shape) == 4 * (2 + 3 * (OSR_PGFT_MAX_LEVELS + 1)) &&
		      sizeof(struct osr_pgft_shape) % 8 == 0 &&
		      sizeof(struct osr_pgft_known) == 24 && sizeof(struct osr_pgft_slot) == 16,
	      "no holes");

enum osr_status osr_pgft_remember(const struct osr_pgft *pgft, const struct osr_pgft_memory *before,
				  struct osr_arena *arena, struct osr_notes *notes,
				  struct osr_diag *diag)
{
	struct writer o = { .p = pgft, .before = before };
	/* One more: carry_switch() writes first and then decides. */
	size_t n_switches = (size_t)pgft->f->n_switches + (before ? before->n_switches : 0) + 1,
	       n_slots = (size_t)pgft->f->n_terminals + (before ? before->n_slots : 0);
	struct memory_head *head =
		osr_alloc(arena,
			  sizeof(*head) + pgft->n_trees * sizeof(*o.tree) +
				  n_switches * sizeof(*o.sw) + n_slots * sizeof(*o.slot),
			  1);

	if (!head)
		return pgft_memory_no_memory(diag);
	o.tree = (struct osr_pgft_shape *)(head + 1);
	o.sw = (struct osr_pgft_known *)(o.tree + pgft->n_trees);
	write_trees(&o);
	write_switches(&o);
	o.slot = (struct osr_pgft_slot *)(o.sw + o.n_switches);
	write_slots(&o);
	*head = (struct memory_head){ pgft->n_trees, o.n_switches, o.n_slots, 0 };
	*notes = (struct osr_notes){ head, (size_t)((char *)(o.slot + o.n_slots) - (char *)head) };
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
static bool memory_is_valid(const struct osr_pgft_memory *memory)
{
	for (uint32_t i = 0; i < memory->n_trees; i++)
		if (!memory_shape_is_valid(&memory->tree[i]))
			return false;
	for (uint32_t i = 0; i < memory->n_switches; i++)
		if ((i && memory->sw[i - 1].guid >= memory->sw[i].guid) ||
		    memory->sw[i].tree >= memory->n_trees || !memory->sw[i].level ||
		    memory->sw[i].level > memory->tree[memory->sw[i].tree].h)
			return false;
	for (uint32_t i = 1; i < memory->n_slots; i++)
		if (compare_slots(&memory->slot[i - 1], &memory->slot[i]) >= 0)
			return false;
	return true;
}

bool osr_pgft_memory_read(const struct osr_notes *notes, struct osr_pgft_memory *memory)
{
	const struct memory_head *head = notes->data;
	uint64_t size;

	if (notes->size < sizeof(*head))
		return false;
	size = sizeof(*head) + (uint64_t)head->n_trees * sizeof(*memory->tree) +
	       (uint64_t)head->n_switches * sizeof(*memory->sw) +
	       (uint64_t)head->n_slots * sizeof(*memory->slot);
	if (size != notes->size)
		return false;
	*memory = (struct osr_pgft_memory){ .n_trees = head->n_trees,
					    .n_switches = head->n_switches,
					    .n_slots = head->n_slots };
	memory->tree = (const struct osr_pgft_shape *)(head + 1);
	memory->sw = (const struct osr_pgft_known *)(memory->tree + memory->n_trees);
	memory->slot = (const struct osr_pgft_slot *)(memory->sw + memory->n_switches);
	return memory_is_valid(memory);
}
