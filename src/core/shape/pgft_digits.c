/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Digits. What is connected within levels l..h is a piece above l, what is within 1..l one below.
 * In a whole tree each piece above and each below one level meet in exactly one switch. Pieces that
 * fit together are joined to groups, and the number of a group within the group around it is the
 * digit of all its switches: b_l above, a_(l+1) below. Pieces and groups are numbered by
 * their lowest switch.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/set.h>

#include "pgft_private.h"

/* Grouping ------------------------------------------------------------------------------------- */

/*
 * A piece on its way into a group. Its keys are its switches on the border level, l: of the pieces
 * above l by the piece below l they belong to, of the pieces below l by their place B.
 * No group may have one of either more often than its founder has.
 */
struct piece {
	uint32_t parent; /* group around it */
	uint32_t name;   /* lowest switch */
	uint32_t n;      /* keys */
	struct pgft_key *key;
	uint32_t n_leaves;
	uint32_t width; /* how often its most frequent key occurs, at least 1 */
	uint32_t group; /* the piece whose group it is in, its own index if it founded one */
	uint32_t digit; /* of the group */
};

struct grouping {
	struct pgft_work *work;
	const struct pgft_part *part;
	uint32_t l;
	bool up;
	struct piece *piece; /* by parent, then by falling size */
	uint32_t n_pieces;
	struct pgft_key *key; /* a: piece, b: what must differ, c: switch */
	uint32_t n_keys;
	/* [n_switches] index of the piece in which this switch is; OSR_NONE: not on these levels */
	uint32_t *at;
};

static int compare_keys(const void *x, const void *y)
{
	const struct pgft_key *key = x, *pgft = y;

	if (key->a != pgft->a)
		return key->a < pgft->a ? -1 : 1;
	if (key->b != pgft->b)
		return key->b < pgft->b ? -1 : 1;
	if (key->c != pgft->c)
		return key->c < pgft->c ? -1 : 1;
	return 0;
}

static int compare_pieces(const void *x, const void *y)
{
	const struct piece *a = x, *b = y;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	return a->name < b->name ? -1 : 1;
}

/* The sets of switches that are connected within these levels. */
static void connect(struct pgft_work *work, const struct pgft_part *part, uint32_t from,
		    uint32_t to, uint32_t *set)
{
	for (uint32_t i = 0; i < part->n; i++)
		set[part->member[i]] = part->member[i];
	for (uint32_t i = 0; i < part->n; i++)
		for (uint32_t s = part->member[i], e = work->row[s];
		     work->level[s] >= from && work->level[s] <= to && e < work->row[s + 1]; e++)
			if (work->level[work->near[e]] >= from && work->level[work->near[e]] <= to)
				osr_set_join(set, s, work->near[e]);
}

/*
 * How often the most frequent key occurs among the pieces from .. to - 1: among all, or those of
 * group k and piece i, which may join it.
 */
static uint32_t most_frequent(const struct grouping *grouping, uint32_t from, uint32_t to,
			      uint32_t k, uint32_t i)
{
	struct pgft_key *key = grouping->work->key;
	uint32_t n = 0, most = 0, start = 0;

	for (uint32_t p = from; p < to; p++)
		for (uint32_t m = 0; m < grouping->piece[p].n; m++)
			if (k == OSR_NONE || grouping->piece[p].group == k || p == i)
				key[n++] = (struct pgft_key){ .b = grouping->piece[p].key[m].b };
	qsort(key, n, sizeof(*key), compare_keys);
	for (uint32_t m = 0; m < n; m++) {
		start = key[m].b == key[start].b ? start : m;
		most = m - start + 1 > most ? m - start + 1 : most;
	}
	return most;
}

static enum osr_status list_pieces(struct grouping *grouping, const uint32_t *around)
{
	uint32_t n = grouping->part->n, l = grouping->l;
	struct pgft_work *work = grouping->work;

	grouping->piece = osr_calloc(work->scratch, n, sizeof(*grouping->piece));
	grouping->key = osr_calloc(work->scratch, n, sizeof(*grouping->key));
	grouping->at = work->count;
	if (osr_arena_failed(work->scratch, work->diag))
		return OSR_NOMEM;
	connect(work, grouping->part, grouping->up ? l : 1, grouping->up ? OSR_PGFT_MAX_LEVELS : l,
		work->set);
	if (grouping->up)
		connect(work, grouping->part, 1, l, work->below);
	/*
	 * Sizes first: pieces are sorted by them before anything points to a piece. The lowest
	 * switch comes first.
	 */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s = grouping->part->member[i], level = work->level[s],
			 lowest = osr_set_of(work->set, s);

		grouping->at[s] = OSR_NONE;
		if (grouping->up ? level < l : !level || level > l)
			continue;
		if (lowest == s)
			grouping->piece[grouping->n_pieces++] =
				(struct piece){ .parent = around[s], .name = s, .width = 1 };
		grouping->at[s] = lowest == s ? grouping->n_pieces - 1 : grouping->at[lowest];
		grouping->piece[grouping->at[s]].n += level == l;
		grouping->piece[grouping->at[s]].n_leaves += level == 1;
	}
	qsort(grouping->piece, grouping->n_pieces, sizeof(*grouping->piece), compare_pieces);
	for (uint32_t i = 0; i < grouping->n_pieces; i++)
		grouping->at[grouping->piece[i].name] = i;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s = grouping->part->member[i];

		if (grouping->at[s] == OSR_NONE)
			continue;
		grouping->at[s] = grouping->at[osr_set_of(work->set, s)];
		if (work->level[s] == l)
			grouping->key[grouping->n_keys++] = (struct pgft_key){
				.a = grouping->at[s],
				.b = grouping->up ? osr_set_of(work->below, s)
						  : work->pgft->sw_b[s],
				.c = s,
			};
	}
	qsort(grouping->key, grouping->n_keys, sizeof(*grouping->key), compare_keys);
	for (uint32_t i = 0, k = 0; i < grouping->n_pieces; k += grouping->piece[i++].n) {
		grouping->piece[i].key = grouping->key + k;
		grouping->piece[i].width = most_frequent(grouping, i, i + 1, OSR_NONE, i);
		grouping->piece[i].width += !grouping->piece[i].width;
	}
	return OSR_OK;
}

/*
 * Pieces of one parent, largest first: each that is clearly no whole one joins the first group that
 * has room for it (no key is there more often than in its founder), unless a whole tree needs more
 * groups than there are yet.
 */
static void join_pieces(struct grouping *grouping, uint32_t from, uint32_t to)
{
	uint32_t total = 0, most_leaves = 0, most = grouping->piece[from].n,
		 /* As many as one piece below l has switches of level l here. */
		wanted = grouping->up ? most_frequent(grouping, from, to, OSR_NONE, 0) : 0;

	for (uint32_t i = from; i < to; i++)
		if (grouping->piece[i].n_leaves > most_leaves)
			most_leaves = grouping->piece[i].n_leaves;
	for (uint32_t i = from; i < to; i++) {
		struct piece *piece = &grouping->piece[i], *group = piece;
		bool part = 2 * piece->n < most || (!grouping->up && !piece->n_leaves);

		piece->group = i;
		for (uint32_t k = from;
		     part && total + piece->width > wanted && k < i && group == piece; k++)
			if (grouping->piece[k].group == k &&
			    grouping->piece[k].n_leaves + piece->n_leaves <= most_leaves &&
			    most_frequent(grouping, from, i + 1, k, i) <= grouping->piece[k].width)
				group = &grouping->piece[k];
		if (group == piece) {
			total += piece->width;
			continue;
		}
		piece->group = group->group;
		group->n_leaves += piece->n_leaves;
		group->name = piece->name < group->name ? piece->name : group->name;
	}
}

/*
 * Groups of one parent, by their lowest switch; a wide group gets several digits. Returns how many
 * there are.
 */
static uint32_t pgft_digits_number_groups(struct grouping *grouping, uint32_t from, uint32_t to)
{
	struct pgft_key *order = grouping->work->key;
	uint32_t n = 0, next = 0;

	for (uint32_t i = from; i < to; i++)
		if (grouping->piece[i].group == i)
			order[n++] = (struct pgft_key){ .a = grouping->piece[i].name, .c = i };
	qsort(order, n, sizeof(*order), compare_keys);
	for (uint32_t i = 0; i < n; i++) {
		grouping->piece[order[i].c].digit = next;
		next += grouping->piece[order[i].c].width;
	}
	return next;
}

/*
 * Groups above or below level l, within those around; around[] gets them, digit[] their numbers,
 * OSR_NONE elsewhere. *most: the largest number of digits within one parent.
 */
static enum osr_status group(struct pgft_work *work, const struct pgft_part *part, uint32_t l,
			     bool up, uint32_t *around, uint32_t *digit, uint32_t *most)
{
	struct grouping grouping = { .work = work, .part = part, .l = l, .up = up };
	enum osr_status st = list_pieces(&grouping, around);
	uint32_t n = 0;

	if (st)
		return st;
	*most = 0;
	for (uint32_t from = 0, to; from < grouping.n_pieces; from = to) {
		for (to = from; to < grouping.n_pieces &&
				grouping.piece[to].parent == grouping.piece[from].parent;)
			to++;
		join_pieces(&grouping, from, to);
		n = pgft_digits_number_groups(&grouping, from, to);
		*most = n > *most ? n : *most;
	}
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i];
		const struct piece *piece =
			grouping.at[s] == OSR_NONE
				? NULL
				: &grouping.piece[grouping.piece[grouping.at[s]].group];

		digit[s] = piece ? piece->digit : OSR_NONE;
		around[s] = piece ? piece->name : around[s];
	}
	/*
	 * In a wide group, switches of the border level take consecutive digits within their
	 * sub-tree.
	 */
	n = 0;
	for (uint32_t i = 0; i < grouping.n_keys; i++) {
		uint32_t k = grouping.piece[grouping.key[i].a].group;

		if (grouping.piece[k].width > 1)
			work->key[n++] =
				(struct pgft_key){ k, grouping.key[i].b, grouping.key[i].c };
	}
	qsort(work->key, n, sizeof(*work->key), compare_keys);
	for (uint32_t i = 1, run = 0; i < n; i++) {
		run = work->key[i].a == work->key[i - 1].a && work->key[i].b == work->key[i - 1].b
			      ? run + 1
			      : 0;
		digit[work->key[i].c] += run;
	}
	return OSR_OK;
}

/* The tree ------------------------------------------------------------------------------------- */

/* The most common of numbers from 1 to 255, the largest of equals; 1 if there is none. */
static uint32_t most_common(const uint32_t seen[256])
{
	uint32_t best = 1;

	for (uint32_t k = 1; k < 256; k++)
		if (seen[k] >= seen[best])
			best = k;
	return seen[best] ? best : 1;
}

/*
 * More places than the switches could take by far: no tree, whatever else it is. Also keeps the
 * products from overflowing.
 */
static enum osr_status check_size(struct pgft_work *pgft, const struct pgft_part *part, uint64_t n,
				  const char *what)
{
	if (n <= 64 * (uint64_t)part->n + 4096)
		return OSR_OK;
	return osr_fail(
		pgft->diag, OSR_NOT_APPLICABLE,
		"not a fat tree: its %u switches would fill only a small part of a tree with "
		"more than %u %s",
		part->n, 64 * part->n + 4096, what);
}

enum osr_status osr_pgft_places(struct pgft_work *pgft, const struct pgft_part *part,
				struct osr_pgft_tree *tree)
{
	enum osr_status st = OSR_OK;
	uint64_t m = 1, w = 1;

	tree->m_product[0] = tree->w_product[0] = 1;
	for (uint32_t l = 1; l <= tree->h && !st; l++) {
		assert(tree->m[l] && tree->w[l]);
		m *= l > 1 ? tree->m[l] : 1;
		w *= tree->w[l];
		tree->m_product[l] = (uint32_t)m * tree->m[1];
		tree->w_product[l] = (uint32_t)w;
		st = check_size(pgft, part, m > w ? m : w, "places");
	}
	for (uint32_t l = 1; l <= tree->h && !st; l++) {
		uint64_t n = (uint64_t)(tree->m_product[tree->h] / tree->m_product[l]) *
			     tree->w_product[l];

		st = check_size(pgft, part, n, "switches of one level");
		if (st)
			break;
		tree->place[l] = osr_alloc(pgft->scratch, n, sizeof(*tree->place[l]));
		if (osr_arena_failed(pgft->scratch, pgft->diag))
			return OSR_NOMEM;
		memset(tree->place[l], 0xff, n * sizeof(*tree->place[l]));
	}
	return st;
}

void osr_pgft_count(struct pgft_work *pgft, const struct pgft_part *part,
		    struct osr_pgft_tree *tree)
{
	for (uint32_t l = 0; l <= tree->h; l++) {
		uint32_t seen[256] = { 0 };

		/*
		 * Hosts of leaves, for l = 0; or cables between a switch of level l - 1 and one of
		 * its parents.
		 */
		for (uint32_t i = 0; i < part->n; i++) {
			uint32_t s = part->member[i];

			if (l == 0 && pgft->level[s] == 1)
				seen[pgft->pgft->sw_hosts[s]]++;
			for (uint32_t e = pgft->row[s];
			     l > 1 && pgft->level[s] == l && e < pgft->row[s + 1]; e++)
				seen[pgft->mult[e]] += pgft->level[pgft->near[e]] + 1u == l;
		}
		*(l ? &tree->p[l] : &tree->m[1]) = most_common(seen);
	}
}

enum osr_status osr_pgft_digits(struct pgft_work *pgft, const struct pgft_part *part,
				struct osr_pgft_tree *tree)
{
	uint32_t *around = pgft->above, *digit = pgft->digit;
	uint64_t n_ups = 1, n_downs = 1;
	enum osr_status st = OSR_OK;

	tree->h = 0;
	for (uint32_t i = 0; i < part->n; i++)
		if (pgft->level[part->member[i]] > tree->h)
			tree->h = pgft->level[part->member[i]];
	for (uint32_t i = 0; i < part->n; i++)
		around[part->member[i]] = pgft->pgft->sw_a[part->member[i]] =
			pgft->pgft->sw_b[part->member[i]] = 0;
	tree->w[1] = 1;
	for (uint32_t l = 2; l <= tree->h && !st; l++) {
		st = group(pgft, part, l, true, around, digit, &tree->w[l]);
		for (uint32_t i = 0; i < part->n && !st; i++)
			if (digit[part->member[i]] != OSR_NONE)
				pgft->pgft->sw_b[part->member[i]] +=
					digit[part->member[i]] * (uint32_t)n_ups;
		n_ups *= tree->w[l];
		st = st ? st : check_size(pgft, part, n_ups, "top switches");
	}
	for (uint32_t i = 0; i < part->n; i++)
		around[part->member[i]] = 0;
	for (uint32_t l = tree->h; l >= 2 && !st; l--) {
		st = group(pgft, part, l - 1, false, around, digit, &tree->m[l]);
		for (uint32_t i = 0; i < part->n && !st; i++) {
			uint32_t s = part->member[i], *a = &pgft->pgft->sw_a[s];

			*a = digit[s] == OSR_NONE ? *a : *a * tree->m[l] + digit[s];
		}
		n_downs *= tree->m[l];
		st = st ? st : check_size(pgft, part, n_downs, "leaves");
	}
	osr_pgft_count(pgft, part, tree);
	return st;
}
