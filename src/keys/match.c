/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Source: Hopcroft and Karp, An n^(5/2) algorithm for maximum matchings in bipartite graphs (SIAM
 * J. Comput. 2, 1973), three times over: from the left nodes that must be covered, then the right
 * ones, then all. A node that has a mate keeps one while paths are augmented; and if some matching
 * covers a set on the left and another one a set on the right, then one covers both (Mendelsohn and
 * Dulmage 1958): from a right node of its set an alternating path leads to a left node without a
 * mate, or to a right node outside the set, whose mate it may have.
 */
#include "match.h"

#include <string.h>

static void by_node(uint32_t n_nodes, const struct osr__edge *edge, uint32_t n_edges, bool right,
		    uint32_t *row, uint32_t *list)
{
	memset(row, 0, (n_nodes + 1) * sizeof(*row));
	for (uint32_t e = 0; e < n_edges; e++)
		row[right ? edge[e].right : edge[e].left]++;
	for (uint32_t v = 0, at = 0; v <= n_nodes; v++) {
		uint32_t n = v < n_nodes ? row[v] : 0;

		row[v] = at;
		at += n;
	}
	for (uint32_t e = 0; e < n_edges; e++)
		list[row[right ? edge[e].right : edge[e].left]++] = e;
	for (uint32_t v = n_nodes; v > 0; v--)
		row[v] = row[v - 1];
	row[0] = 0;
}

enum osr_status osr__match_init(struct osr__match *m, uint32_t n_nodes,
				const struct osr__edge *edge, uint32_t n_edges,
				struct osr_arena *scratch)
{
	uint32_t **lists[] = { &m->mate_l, &m->mate_r, &m->depth, &m->cursor, &m->queue };
	bool **flags[] = { &m->must_l, &m->must_r, &m->seen };

	*m = (struct osr__match){ .n_nodes = n_nodes, .n_edges = n_edges, .edge = edge };
	m->left_row = osr_alloc(scratch, n_nodes + 1, sizeof(uint32_t));
	m->right_row = osr_alloc(scratch, n_nodes + 1, sizeof(uint32_t));
	m->left_edge = osr_alloc(scratch, n_edges, sizeof(uint32_t));
	m->right_edge = osr_alloc(scratch, n_edges, sizeof(uint32_t));
	m->off = osr_calloc(scratch, n_edges, sizeof(bool));
	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (!(*lists[i] = osr_alloc(scratch, n_nodes, sizeof(uint32_t))))
			return OSR_NOMEM;
	for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!(*flags[i] = osr_calloc(scratch, n_nodes, sizeof(bool))))
			return OSR_NOMEM;
	by_node(n_nodes, edge, n_edges, false, m->left_row, m->left_edge);
	by_node(n_nodes, edge, n_edges, true, m->right_row, m->right_edge);
	return OSR_OK;
}

/* Hopcroft and Karp ---------------------------------------------------------------------------- */

static bool is_root(const struct osr__match *m, uint32_t l, bool must_only)
{
	return m->mate_l[l] == OSR_NONE && (!must_only || m->must_l[l]);
}

/* Depths of left nodes on alternating paths from the roots; is there a path to augment? */
static bool find_depths(struct osr__match *m, bool must_only)
{
	uint32_t head = 0, tail = 0;
	bool found = false;

	for (uint32_t l = 0; l < m->n_nodes; l++) {
		m->depth[l] = OSR_NONE;
		m->cursor[l] = m->left_row[l];
		if (is_root(m, l, must_only)) {
			m->depth[l] = 0;
			m->queue[tail++] = l;
		}
	}
	while (head < tail) {
		uint32_t l = m->queue[head++];

		for (uint32_t i = m->left_row[l]; i < m->left_row[l + 1]; i++) {
			uint32_t e = m->left_edge[i], mate = m->mate_r[m->edge[e].right];

			if (m->off[e])
				continue;
			if (mate == OSR_NONE) {
				found = true;
			} else if (m->depth[m->edge[mate].left] == OSR_NONE) {
				m->depth[m->edge[mate].left] = m->depth[l] + 1;
				m->queue[tail++] = m->edge[mate].left;
			}
		}
	}
	return found;
}

static bool augment(struct osr__match *m, uint32_t l)
{
	for (; m->cursor[l] < m->left_row[l + 1]; m->cursor[l]++) {
		uint32_t e = m->left_edge[m->cursor[l]], r = m->edge[e].right;
		uint32_t mate = m->mate_r[r];

		if (m->off[e])
			continue;
		if (mate != OSR_NONE && (m->depth[m->edge[mate].left] != m->depth[l] + 1 ||
					 !augment(m, m->edge[mate].left)))
			continue;
		m->mate_l[l] = m->mate_r[r] = e;
		return true;
	}
	return false;
}

static void hopcroft_karp(struct osr__match *m, bool must_only)
{
	while (find_depths(m, must_only))
		for (uint32_t l = 0; l < m->n_nodes; l++)
			if (is_root(m, l, must_only))
				augment(m, l);
}

/* Right nodes that must be covered ------------------------------------------------------------- */

static bool cover(struct osr__match *m, uint32_t r)
{
	for (uint32_t i = m->right_row[r]; i < m->right_row[r + 1]; i++) {
		uint32_t e = m->right_edge[i], l = m->edge[e].left, mate = m->mate_l[l];

		if (m->off[e] || m->seen[l])
			continue;
		m->seen[l] = true;
		if (mate != OSR_NONE) {
			uint32_t other = m->edge[mate].right;

			if (m->must_r[other] && !cover(m, other))
				continue;
			if (m->mate_r[other] == mate)
				m->mate_r[other] = OSR_NONE;
		}
		m->mate_l[l] = m->mate_r[r] = e;
		return true;
	}
	return false;
}

void osr__match_solve(struct osr__match *m)
{
	for (uint32_t v = 0; v < m->n_nodes; v++)
		m->mate_l[v] = m->mate_r[v] = OSR_NONE;
	hopcroft_karp(m, true);
	for (uint32_t r = 0; r < m->n_nodes; r++) {
		if (!m->must_r[r] || m->mate_r[r] != OSR_NONE)
			continue;
		memset(m->seen, 0, m->n_nodes * sizeof(*m->seen));
		cover(m, r);
	}
	hopcroft_karp(m, false);
}
