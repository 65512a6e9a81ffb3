/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Tables. Upwards, equation (1): a switch of level l sends to j through up-port
 *	q_l(j) = floor(j / (w_1 .. w_l)) mod (w_(l+1) p_(l+1))
 * which is one number for all switches of a level: one row of ports serves all dests with the same
 * q_1, q_2, ... Downwards there is one child to go to, by the cable of that number. Where a link is
 * missing, the rule is applied to what is left.
 */
#include "dmodk.h"

#include <assert.h>

#define N_ROWS 8192

/* A switch from which the dest lies downwards, and the cables that lead there. */
struct way {
	uint32_t sw;
	uint32_t first, n;
};

struct cable {
	uint32_t child;
	uint32_t slot; /* up-port of the child, OSR_NONE for a spare */
	uint8_t port;
};

struct filler {
	struct dmodk *m;
	uint8_t *up_port; /* like p->up: the port, OSR_NO_PATH if the link is missing */
	uint8_t **row;    /* [N_ROWS] rows of one tree, made when needed */
	uint32_t *code;   /* [N_ROWS] what they are for */
	uint64_t *all;    /* a row */
	uint64_t *odd;    /* rows of bits: a link towards this leaf is missing */

	struct way *way; /* [n], of the switch under way; top levels last */
	uint32_t n_ways;
	struct cable *cable;   /* [n_channels] */
	uint32_t *seen, *fill; /* [n] */
	uint32_t *candidate;   /* [256] channels */
};

/* Rows ----------------------------------------------------------------------------------------- */

static void make_row(const struct filler *g, uint32_t x, uint32_t d, uint8_t *row)
{
	const struct dmodk *m = g->m;
	const struct osr_pgft_tree *tree = tree_of(m, x);
	uint32_t slot[OSR_PGFT_MAX_LEVELS + 1] = { 0 };

	for (uint32_t l = 1; l < tree->h; l++)
		slot[l] = slot_of(m, d, l);
	memset(row, OSR_NO_PATH, m->n);
	for (uint32_t s = 0; s < m->n; s++) {
		uint32_t l = m->p->sw_level[s];

		if (l && l < tree->h && m->p->sw_tree[s] == m->p->sw_tree[x])
			row[s] = g->up_port[m->p->up_row[s] + slot[l]];
		else if (!l && m->host[s] != s && m->p->sw_tree[m->host[s]] == m->p->sw_tree[x])
			row[s] = m->f->chan_port[m->f->chan_row[s]];
	}
}

/* One row serves all dests of the same ports; of two codes with one place in the list the last one has it. */
static const uint8_t *get_row(struct filler *g, uint32_t x, uint32_t d)
{
	const struct osr_pgft_tree *tree = tree_of(g->m, x);
	uint32_t code = 0, at;

	for (uint32_t l = tree->h - 1; l >= 1; l--)
		code = code * (tree->w[l + 1] * tree->p[l + 1]) + slot_of(g->m, d, l);
	at = code % N_ROWS;
	if (!g->row[at])
		g->row[at] = osr_alloc(g->m->scratch, g->m->n, 1);
	if (g->row[at] && g->code[at] != code)
		make_row(g, x, d, g->row[at]);
	g->code[at] = code;
	return g->row[at];
}

/* Ways down ------------------------------------------------------------------------------------ */

static void note_cable(struct filler *g, uint32_t c, uint32_t slot, bool count)
{
	uint32_t u = g->m->f->chan_dst[c];

	if (count) {
		if (!g->seen[u]) {
			g->way[g->n_ways++] = (struct way){ .sw = u };
			g->seen[u] = g->n_ways;
		}
		g->way[g->seen[u] - 1].n++;
		return;
	}
	g->cable[g->fill[u]++] = (struct cable){ .child = g->m->f->chan_src[c],
						 .slot = slot,
						 .port = g->m->f->chan_port[g->m->f->chan_rev[c]] };
}

static void note_cables(struct filler *g, uint32_t s, bool count)
{
	const struct osr_pgft *pgft = g->m->p;

	for (uint32_t q = 0; q < osr_pgft_n_up(pgft, s); q++)
		if (pgft->up[pgft->up_row[s] + q] != OSR_NONE)
			note_cable(g, pgft->up[pgft->up_row[s] + q], q, count);
	for (uint32_t i = pgft->spare_row[s]; i < pgft->spare_row[s + 1]; i++)
		note_cable(g, pgft->spare[i], OSR_NONE, count);
}

/* All ancestors of x, level by level: ways[0] is x itself, without a cable. */
static void find_ways(struct filler *g, uint32_t x)
{
	uint32_t n = 0;

	g->n_ways = 1;
	g->way[0] = (struct way){ .sw = x };
	for (uint32_t i = 0; i < g->n_ways; i++)
		note_cables(g, g->way[i].sw, true);
	for (uint32_t i = 1; i < g->n_ways; i++) {
		g->way[i].first = n;
		g->fill[g->way[i].sw] = n;
		n += g->way[i].n;
	}
	for (uint32_t i = 0; i < g->n_ways; i++)
		note_cables(g, g->way[i].sw, false);
	for (uint32_t i = 0; i < g->n_ways; i++)
		g->seen[g->way[i].sw] = 0;
}

/* Which digit the child has on its own level. */
static uint32_t digit_of(const struct dmodk *m, uint32_t s)
{
	const struct osr_pgft_tree *tree = tree_of(m, s);
	uint32_t l = m->p->sw_level[s];

	return m->p->sw_b[s] / tree->w_product[l - 1] % tree->w[l];
}

/*
 * The cable that a packet to this dest would take in the other direction, if the way up were here:
 * the same child where there are several, the same k. What is missing is replaced by the rule.
 */
static uint8_t choose_down(const struct filler *g, const struct way *way, uint32_t x, uint32_t d)
{
	const struct dmodk *m = g->m;
	const struct osr_pgft_tree *tree = tree_of(m, x);
	uint32_t l = m->p->sw_level[way->sw], lx = m->p->sw_level[x];
	uint32_t w = tree->w[l], k = slot_of(m, d, l - 1) / w, digit = OSR_NONE, n = 0;
	const struct cable *cable = g->cable + way->first;
	uint32_t pick = m->index[d] / tree->w_product[l - 1];

	if (way->n == 1)
		return cable->port;
	if (l > lx + 1)
		digit = slot_of(m, d, l - 2) % tree->w[l - 1];
	for (uint32_t i = 0; i < way->n; i++)
		n += digit != OSR_NONE && digit_of(m, cable[i].child) == digit;
	if (!n)
		digit = OSR_NONE;
	n = 0;
	for (uint32_t i = 0; i < way->n; i++) {
		if (digit != OSR_NONE && digit_of(m, cable[i].child) != digit)
			continue;
		if (cable[i].slot != OSR_NONE && cable[i].slot / w == k)
			return cable[i].port;
		n++;
	}
	assert(n);
	n = (pick / (w * tree->p[l]) + pick) % n;
	for (uint32_t i = 0; i < way->n; i++) {
		if (digit != OSR_NONE && digit_of(m, cable[i].child) != digit)
			continue;
		if (n-- == 0)
			return cable[i].port;
	}
	return OSR_NO_PATH;
}

/* What is left --------------------------------------------------------------------------------- */

/* Leaves towards which switch s lacks a link, its own or one further on: a row of bits. */
static void find_odd(struct filler *g, uint32_t s)
{
	uint64_t *all = g->all;
	struct dmodk *m = g->m;
	const struct osr_pgft *pgft = m->p;
	uint64_t *odd = row_of(m, g->odd, s);
	uint32_t l = pgft->sw_level[s], h = tree_of(m, s)->h;

	for (uint32_t k = l + 1; k <= h; k++) {
		const uint64_t *now = row_of(m, m->reach[k], s);
		const uint64_t *before = row_of(m, m->reach[k - 1], s);

		memset(all, 0xff, m->words * sizeof(*all));
		for (uint32_t q = 0; q < osr_pgft_n_up(pgft, s); q++) {
			uint32_t c = pgft->up[pgft->up_row[s] + q], u;

			if (c == OSR_NONE) {
				memset(all, 0, m->words * sizeof(*all));
				break;
			}
			u = m->f->chan_dst[c];
			for (size_t i = 0; i < m->words; i++)
				all[i] &= row_of(m, m->reach[k], u)[i];
			for (size_t i = 0; osr_tree_order_anchors(&m->o, s, u) && i < m->words; i++)
				all[i] &= ~row_of(m, m->barred, u)[i];
		}
		for (size_t i = 0; i < m->words; i++)
			odd[i] |= now[i] & ~before[i] & ~all[i];
	}
}

/* Channels up from s that lead to x by way of level k: in the order of up-ports, then spares. */
static uint32_t table_list_candidates(struct filler *g, uint32_t s, uint32_t x, uint32_t k)
{
	const struct osr_pgft *pgft = g->m->p;
	uint32_t n = 0;

	for (uint32_t q = 0; q < osr_pgft_n_up(pgft, s); q++) {
		uint32_t c = pgft->up[pgft->up_row[s] + q];

		if (c != OSR_NONE && may_go_up(g->m, s, g->m->f->chan_dst[c], k, x))
			g->candidate[n++] = c;
	}
	for (uint32_t i = pgft->spare_row[s]; i < pgft->spare_row[s + 1]; i++)
		if (may_go_up(g->m, s, g->m->f->chan_dst[pgft->spare[i]], k, x))
			g->candidate[n++] = pgft->spare[i];
	return n;
}

/*
 * Dests of x from s by what is left. A switch that can keep its up-port keeps it, so that few entries change.
 * For the others the rule's next digit says which cable.
 */
static void mend_up(struct filler *g, uint32_t s, uint32_t x)
{
	struct dmodk *m = g->m;
	const struct osr_fabric *fabric = m->f;
	uint32_t l = m->p->sw_level[s], k = turn_level(m, s, x);
	uint32_t n = table_list_candidates(g, s, x, k);

	for (uint32_t i = m->dest_row[x]; i < m->dest_row[x + 1]; i++) {
		uint32_t d = m->dest_list[i];
		uint32_t c = m->p->up[m->p->up_row[s] + slot_of(m, d, l)];

		if (c == OSR_NONE || !may_go_up(m, s, fabric->chan_dst[c], k, x))
			c = g->candidate[next_rule(tree_of(m, x), m->index[d], l) % n];
		m->r->lft[(size_t)d * m->n + s] = fabric->chan_port[c];
	}
}

static enum osr_status table_allocate(struct filler *g)
{
	struct dmodk *m = g->m;
	uint32_t n_up = m->p->up_row[m->n];

	g->up_port = osr_alloc(m->scratch, n_up, 1);
	g->row = osr_calloc(m->scratch, N_ROWS, sizeof(*g->row));
	g->code = osr_alloc(m->scratch, N_ROWS, sizeof(*g->code));
	g->odd = osr_calloc(m->scratch, m->n * m->words, sizeof(*g->odd));
	g->all = osr_alloc(m->scratch, m->words, sizeof(*g->all));
	g->way = osr_alloc(m->scratch, m->n, sizeof(*g->way));
	g->cable = osr_alloc(m->scratch, m->f->n_channels, sizeof(*g->cable));
	g->seen = osr_calloc(m->scratch, m->n, sizeof(*g->seen));
	g->fill = osr_alloc(m->scratch, m->n, sizeof(*g->fill));
	g->candidate = osr_alloc(m->scratch, 256, sizeof(*g->candidate));
	if (osr_arena_failed(m->scratch, m->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n_up; i++)
		g->up_port[i] =
			m->p->up[i] == OSR_NONE ? OSR_NO_PATH : m->f->chan_port[m->p->up[i]];
	return OSR_OK;
}

/* Dests of x: the row of their ports, and on the switches above x the way down. */
static enum osr_status fill_switch(struct filler *g, uint32_t x)
{
	struct dmodk *m = g->m;

	find_ways(g, x);
	for (uint32_t i = m->dest_row[x]; i < m->dest_row[x + 1]; i++) {
		uint32_t d = m->dest_list[i];
		uint8_t *to = m->r->lft + (size_t)d * m->n;
		const uint8_t *row = get_row(g, x, d);

		if (osr_arena_failed(m->scratch, m->diag))
			return OSR_NOMEM;
		memcpy(to, row, m->n);
		for (uint32_t k = 1; k < g->n_ways; k++)
			to[g->way[k].sw] = choose_down(g, &g->way[k], x, d);
	}
	return OSR_OK;
}

/* From the top down, so that each switch sees the choices of those above. */
static void mend_tree(struct filler *g, uint32_t tree)
{
	const struct dmodk *m = g->m;

	for (uint32_t l = m->p->tree[tree].h - 1; l >= 1; l--)
		for (uint32_t x = 0; x < m->n; x++) {
			bool leaf = m->p->sw_level[x] == 1;

			if (m->p->sw_tree[x] != tree || m->dest_row[x] == m->dest_row[x + 1])
				continue;
			for (uint32_t s = 0; s < m->n; s++)
				if (m->p->sw_level[s] == l && m->p->sw_tree[s] == tree &&
				    (leaf ? has(m, g->odd, s, x)
					  : !has(m, m->reach[l], s, x) && turn_level(m, s, x)))
					mend_up(g, s, x);
		}
}

enum osr_status fill_tables(struct dmodk *m)
{
	const struct osr_fabric *fabric = m->f;
	struct filler g = { .m = m };
	enum osr_status st = table_allocate(&g);

	for (uint32_t s = 0; s < m->n && !st; s++)
		if (m->p->sw_level[s] && !is_whole(tree_of(m, s)))
			find_odd(&g, s);
	for (uint32_t i = 0; i < m->p->n_trees && !st; i++) {
		memset(g.code, 0xff, N_ROWS * sizeof(*g.code));
		for (uint32_t x = 0; x < m->n && !st; x++)
			if (m->p->sw_level[x] && m->p->sw_tree[x] == i)
				st = fill_switch(&g, x);
		if (!st && !is_whole(&m->p->tree[i]))
			mend_tree(&g, i);
	}
	for (uint32_t d = 0; d < fabric->n_dests && !st; d++) {
		uint32_t s = fabric->dest_switch[d], x = m->host[s];
		const uint8_t *escape = m->escape + (size_t)x * m->n;
		uint8_t *row = m->r->lft + (size_t)d * m->n;

		for (uint32_t v = 0; v < m->n; v++)
			if (escape[v] != OSR_NO_PATH)
				row[v] = escape[v];
		/* The switch that has the LID, and the one it hangs on. */
		row[s] = fabric->term_port[fabric->dest_term[d]];
		if (s != x)
			row[x] = fabric->chan_port[fabric->chan_rev[fabric->chan_row[s]]];
	}
	return st;
}
