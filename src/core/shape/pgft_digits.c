/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Digits. Rows of the work arrays, [l * n_switches + s]:
 *	below	piece of s among the switches of levels 1..l	(level of s <= l)
 *	above	piece of s among the switches of levels l..h	(level of s >= l)
 *	a_group, b_group	the same after pieces that fit together were joined
 *	a_digit, b_digit	number of the group within the group around it: a_(l+1), b_l
 * Pieces and groups go by their lowest switch. In a whole tree each below-piece and above-piece of
 * one level meet in exactly one switch.
 */
#include <stdlib.h>
#include <string.h>

#include <osmroutes/set.h>

#include "pgft_private.h"

static size_t row(const struct pgft_work *pgft, uint32_t l)
{
	return (size_t)l * pgft->f->n_switches;
}

/* Joins the members of level l with their neighbours of level `other`. */
static void join_level(struct pgft_work *pgft, const struct pgft_part *part, uint32_t l,
		       uint32_t other)
{
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i];

		if (pgft->level[s] != l)
			continue;
		for (uint32_t e = pgft->row[s]; e < pgft->row[s + 1]; e++)
			if (pgft->level[pgft->near[e]] == other)
				osr_set_join(pgft->set, s, pgft->near[e]);
	}
}

static void pgft_digits_find_pieces(struct pgft_work *pgft, const struct pgft_part *part,
				    uint32_t h)
{
	for (uint32_t i = 0; i < part->n; i++)
		pgft->set[part->member[i]] = part->member[i];
	for (uint32_t l = 1; l <= h; l++) {
		if (l > 1)
			join_level(pgft, part, l, l - 1);
		for (uint32_t i = 0; i < part->n; i++)
			pgft->below[row(pgft, l) + part->member[i]] =
				osr_set_of(pgft->set, part->member[i]);
	}
	for (uint32_t i = 0; i < part->n; i++)
		pgft->set[part->member[i]] = part->member[i];
	for (uint32_t l = h; l >= 1; l--) {
		join_level(pgft, part, l, l + 1);
		for (uint32_t i = 0; i < part->n; i++)
			pgft->above[row(pgft, l) + part->member[i]] =
				osr_set_of(pgft->set, part->member[i]);
	}
}

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
	struct pgft_work *w;
	const struct pgft_part *part;
	uint32_t l;
	bool up;
	struct piece *piece; /* by parent, then by falling size */
	uint32_t n_pieces;
	struct pgft_key *key; /* a: piece, b: what must differ, c: switch */
	uint32_t n_keys;
	uint32_t *at; /* [n_switches] index of the piece that goes by this switch */
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

static bool takes_part(const struct grouping *g, uint32_t s)
{
	uint32_t level = g->w->level[s];

	return g->up ? level >= g->l : level && level <= g->l;
}

static uint32_t piece_of(const struct grouping *g, uint32_t s)
{
	const uint32_t *pieces = g->up ? g->w->above : g->w->below;

	return pieces[row(g->w, g->l) + s];
}

/* Sizes first: pieces are sorted by them before anything points to a piece. */
static enum osr_status list_pieces(struct grouping *g)
{
	struct pgft_work *pgft = g->w;
	const uint32_t *around =
		g->up ? pgft->b_group + row(pgft, g->l - 1) : pgft->a_group + row(pgft, g->l + 1);

	g->piece = osr_calloc(pgft->scratch, g->part->n, sizeof(*g->piece));
	g->key = osr_calloc(pgft->scratch, g->part->n, sizeof(*g->key));
	g->at = pgft->count;
	if (osr_arena_failed(pgft->scratch, pgft->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < g->part->n; i++) {
		uint32_t s = g->part->member[i];

		if (!takes_part(g, s) || piece_of(g, s) != s)
			continue;
		g->at[s] = g->n_pieces;
		g->piece[g->n_pieces++] =
			(struct piece){ .parent = around[s], .name = s, .width = 1 };
	}
	for (uint32_t i = 0; i < g->part->n; i++) {
		uint32_t s = g->part->member[i];

		if (!takes_part(g, s))
			continue;
		g->piece[g->at[piece_of(g, s)]].n += pgft->level[s] == g->l;
		g->piece[g->at[piece_of(g, s)]].n_leaves += pgft->level[s] == 1;
	}
	qsort(g->piece, g->n_pieces, sizeof(*g->piece), compare_pieces);
	for (uint32_t i = 0; i < g->n_pieces; i++)
		g->at[g->piece[i].name] = i;
	return OSR_OK;
}

static uint32_t longest_run(const struct pgft_key *key, uint32_t n)
{
	uint32_t longest = 0;

	for (uint32_t i = 0, start = 0; i < n; i++) {
		if (key[i].b != key[start].b)
			start = i;
		if (i - start + 1 > longest)
			longest = i - start + 1;
	}
	return longest;
}

static void list_keys(struct grouping *g)
{
	struct pgft_work *pgft = g->w;

	for (uint32_t i = 0; i < g->part->n; i++) {
		uint32_t s = g->part->member[i];

		if (pgft->level[s] != g->l)
			continue;
		g->key[g->n_keys++] = (struct pgft_key){
			.a = g->at[piece_of(g, s)],
			.b = g->up ? pgft->below[row(pgft, g->l) + s] : pgft->p->sw_b[s],
			.c = s,
		};
	}
	qsort(g->key, g->n_keys, sizeof(*g->key), compare_keys);
	for (uint32_t i = 0, k = 0; i < g->n_pieces; i++) {
		struct piece *p = &g->piece[i];

		p->key = g->key + k;
		k += p->n;
		if (longest_run(p->key, p->n) > 1)
			p->width = longest_run(p->key, p->n);
	}
}

/* Two ascending lists; together no key may occur more than `width` times. */
static bool pgft_digits_fits(const struct piece *a, const struct piece *b, uint32_t width)
{
	uint32_t i = 0, run = 0, last = OSR_NONE;

	for (uint32_t k = 0; k < b->n; k++) {
		if (b->key[k].b != last) {
			last = b->key[k].b;
			run = 0;
			while (i < a->n && a->key[i].b < last)
				i++;
			for (; i < a->n && a->key[i].b == last; i++)
				run++;
		}
		if (++run > width)
			return false;
	}
	return true;
}

static enum osr_status merge(struct grouping *g, struct piece *a, const struct piece *b)
{
	struct pgft_key *to = osr_alloc(g->w->scratch, (size_t)a->n + b->n, sizeof(*to));
	uint32_t i = 0, k = 0;

	if (osr_arena_failed(g->w->scratch, g->w->diag))
		return OSR_NOMEM;
	while (i < a->n || k < b->n) {
		bool left = k == b->n || (i < a->n && a->key[i].b <= b->key[k].b);

		to[i + k] = left ? a->key[i] : b->key[k];
		if (left)
			i++;
		else
			k++;
	}
	a->key = to;
	a->n += b->n;
	a->n_leaves += b->n_leaves;
	if (b->name < a->name)
		a->name = b->name;
	return OSR_OK;
}

/*
 * Pieces of one parent, largest first: each that is clearly no whole one joins the first group that
 * has room for it, unless a whole tree needs more groups than there are yet.
 */
static enum osr_status join_pieces(struct grouping *g, uint32_t from, uint32_t to, uint32_t wanted)
{
	uint32_t total = 0, most_leaves = 0, most = g->piece[from].n;
	enum osr_status st = OSR_OK;

	for (uint32_t i = from; i < to; i++)
		if (g->piece[i].n_leaves > most_leaves)
			most_leaves = g->piece[i].n_leaves;
	for (uint32_t i = from; i < to && !st; i++) {
		struct piece *p = &g->piece[i];
		bool part = 2 * p->n < most || (!g->up && !p->n_leaves);
		uint32_t k = to;

		if (part && total + p->width > wanted)
			for (k = from; k < i; k++)
				if (g->piece[k].group == k &&
				    g->piece[k].n_leaves + p->n_leaves <= most_leaves &&
				    pgft_digits_fits(&g->piece[k], p, g->piece[k].width))
					break;
		p->group = part && k < i ? k : i;
		if (p->group == i)
			total += p->width;
		else
			st = merge(g, &g->piece[k], p);
	}
	return st;
}

/* The most switches of level l that one below-piece has within one group around. */
static uint32_t most_tops(struct grouping *g, uint32_t from, uint32_t to)
{
	struct pgft_key *key = g->w->key;
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i++)
		for (uint32_t k = 0; k < g->piece[i].n; k++)
			key[n++] = (struct pgft_key){ .b = g->piece[i].key[k].b };
	qsort(key, n, sizeof(*key), compare_keys);
	return longest_run(key, n);
}

/* Groups of one parent, by their lowest switch; a wide group gets several digits. Returns how many there are. */
static uint32_t pgft_digits_number_groups(struct grouping *g, uint32_t from, uint32_t to)
{
	struct pgft_key *order = g->w->key;
	uint32_t n = 0, next = 0;

	for (uint32_t i = from; i < to; i++)
		if (g->piece[i].group == i)
			order[n++] = (struct pgft_key){ .a = g->piece[i].name, .c = i };
	qsort(order, n, sizeof(*order), compare_keys);
	for (uint32_t i = 0; i < n; i++) {
		g->piece[order[i].c].digit = next;
		next += g->piece[order[i].c].width;
	}
	return next;
}

/* In a wide group, switches of the border level take consecutive digits within their sub-tree. */
static void spread_wide(struct grouping *g, uint32_t *digit)
{
	struct pgft_key *key = g->w->key;
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_keys; i++) {
		uint32_t k = g->piece[g->key[i].a].group;

		if (g->piece[k].width > 1)
			key[n++] = (struct pgft_key){ k, g->key[i].b, g->key[i].c };
	}
	qsort(key, n, sizeof(*key), compare_keys);
	for (uint32_t i = 1, run = 0; i < n; i++) {
		run = key[i].a == key[i - 1].a && key[i].b == key[i - 1].b ? run + 1 : 0;
		digit[key[i].c] += run;
	}
}

static uint32_t end_of_parent(const struct grouping *g, uint32_t from)
{
	uint32_t to = from;

	while (to < g->n_pieces && g->piece[to].parent == g->piece[from].parent)
		to++;
	return to;
}

/* *most: the largest number of digits within one parent. */
static enum osr_status group(struct pgft_work *pgft, const struct pgft_part *part, uint32_t l,
			     bool up, uint32_t *most)
{
	struct grouping g = { .w = pgft, .part = part, .l = l, .up = up };
	uint32_t *group = (up ? pgft->b_group : pgft->a_group) + row(pgft, l);
	uint32_t *digit = (up ? pgft->b_digit : pgft->a_digit) + row(pgft, l);
	enum osr_status st = list_pieces(&g);

	if (st)
		return st;
	list_keys(&g);
	*most = 0;
	for (uint32_t from = 0, to, n; from < g.n_pieces; from = to) {
		to = end_of_parent(&g, from);
		st = join_pieces(&g, from, to, up ? most_tops(&g, from, to) : 0);
		if (st)
			return st;
		n = pgft_digits_number_groups(&g, from, to);
		if (n > *most)
			*most = n;
	}
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], k;

		if (!takes_part(&g, s))
			continue;
		k = g.piece[g.at[piece_of(&g, s)]].group;
		group[s] = g.piece[k].name;
		digit[s] = g.piece[k].digit;
	}
	spread_wide(&g, digit);
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

static enum osr_status find_ups(struct pgft_work *pgft, const struct pgft_part *part,
				struct osr_pgft_tree *tree)
{
	enum osr_status st = OSR_OK;
	uint64_t n = 1;

	for (uint32_t i = 0; i < part->n; i++)
		pgft->b_group[row(pgft, 1) + part->member[i]] = pgft->p->sw_b[part->member[i]] = 0;
	tree->w[1] = 1;
	for (uint32_t l = 2; l <= tree->h && !st; l++) {
		st = group(pgft, part, l, true, &tree->w[l]);
		for (uint32_t i = 0; i < part->n && !st; i++) {
			uint32_t s = part->member[i];

			if (pgft->level[s] >= l)
				pgft->p->sw_b[s] += pgft->b_digit[row(pgft, l) + s] * (uint32_t)n;
		}
		n *= tree->w[l];
		st = st ? st : check_size(pgft, part, n, "top switches");
	}
	return st;
}

static enum osr_status find_downs(struct pgft_work *pgft, const struct pgft_part *part,
				  struct osr_pgft_tree *tree)
{
	enum osr_status st = OSR_OK;
	uint64_t n = 1;

	for (uint32_t i = 0; i < part->n; i++)
		pgft->a_group[row(pgft, tree->h) + part->member[i]] =
			pgft->p->sw_a[part->member[i]] = 0;
	for (uint32_t l = tree->h; l >= 2 && !st; l--) {
		st = group(pgft, part, l - 1, false, &tree->m[l]);
		for (uint32_t i = 0; i < part->n && !st; i++) {
			uint32_t s = part->member[i], *a = &pgft->p->sw_a[s];

			if (pgft->level[s] && pgft->level[s] < l)
				*a = *a * tree->m[l] + pgft->a_digit[row(pgft, l - 1) + s];
		}
		n *= tree->m[l];
		st = st ? st : check_size(pgft, part, n, "leaves");
	}
	return st;
}

enum osr_status osr__pgft_places(struct pgft_work *pgft, const struct pgft_part *part,
				 struct osr_pgft_tree *tree)
{
	enum osr_status st = OSR_OK;
	uint64_t m = 1, w = 1;

	tree->m_product[0] = tree->w_product[0] = 1;
	for (uint32_t l = 1; l <= tree->h && !st; l++) {
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

void osr__pgft_count(struct pgft_work *pgft, const struct pgft_part *part,
		     struct osr_pgft_tree *tree)
{
	for (uint32_t l = 0; l <= tree->h; l++) {
		uint32_t seen[256] = { 0 };

		/* Hosts of leaves, for l = 0; or cables between a switch of level l - 1 and one of its parents. */
		for (uint32_t i = 0; i < part->n; i++) {
			uint32_t s = part->member[i];

			if (l == 0 && pgft->level[s] == 1)
				seen[pgft->p->sw_hosts[s]]++;
			for (uint32_t e = pgft->row[s];
			     l > 1 && pgft->level[s] == l && e < pgft->row[s + 1]; e++)
				seen[pgft->mult[e]] += pgft->level[pgft->near[e]] + 1u == l;
		}
		*(l ? &tree->p[l] : &tree->m[1]) = most_common(seen);
	}
}

enum osr_status osr__pgft_digits(struct pgft_work *pgft, const struct pgft_part *part,
				 struct osr_pgft_tree *tree)
{
	enum osr_status st;

	tree->h = 0;
	for (uint32_t i = 0; i < part->n; i++)
		if (pgft->level[part->member[i]] > tree->h)
			tree->h = pgft->level[part->member[i]];
	pgft_digits_find_pieces(pgft, part, tree->h);
	st = find_ups(pgft, part, tree);
	st = st ? st : find_downs(pgft, part, tree);
	osr__pgft_count(pgft, part, tree);
	return st;
}

void osr__pgft_missing(struct pgft_work *pgft, const struct pgft_part *part,
		       const struct osr_pgft_tree *tree, uint64_t *n_missing, uint64_t *n_ports)
{
	*n_missing = *n_ports = 0;
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], l = pgft->level[s], ports, there = 0;

		/* Whatever has no place counts as a hole as well. */
		*n_missing += l == 0;
		if (!l || l == tree->h)
			continue;
		ports = tree->w[l + 1] * tree->p[l + 1];
		for (uint32_t e = pgft->row[s]; e < pgft->row[s + 1]; e++)
			if (pgft->level[pgft->near[e]] == l + 1)
				there += pgft->mult[e] < tree->p[l + 1] ? pgft->mult[e]
									: tree->p[l + 1];
		*n_ports += ports;
		*n_missing += there < ports ? ports - there : 0;
	}
}
