/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From pairs to a compressed key: pairs become units (leaf, destination), units become classes.
 */
#include "keys/keys.h"

#include "level.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct making {
	const struct osr_pgft *p;
	const struct osr_pgft_tree *tree;
	struct osr_key *key;
	struct osr_arena *scratch;
	struct osr_diag *diag;
};

/* The tree of the pairs, numbers that exist, and what a host sends or receives at most. */
static enum osr_status check_pairs(struct making *m, const struct osr_pair *pairs, uint32_t n_pairs)
{
	const struct osr_fabric *fabric = m->p->f;
	uint32_t *flows = osr_calloc(m->scratch, 2 * (size_t)fabric->n_terminals, sizeof(*flows));

	m->key->tree = OSR_NONE;
	if (osr_arena_failed(m->scratch, m->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n_pairs; i++) {
		uint32_t end[2] = { pairs[i].from, pairs[i].to };

		if (end[0] == end[1])
			return osr_fail(m->diag, OSR_INVAL, "pair %u sends to itself", i);
		for (unsigned k = 0; k < 2; k++) {
			uint32_t tree;

			if (end[k] >= fabric->n_terminals)
				return osr_fail(m->diag, OSR_INVAL,
						"pair %u names end port %u of %u", i, end[k],
						fabric->n_terminals);
			flows[2 * (size_t)end[k] + k]++;
			if (flows[2 * (size_t)end[k] + k] > m->key->host_degree)
				m->key->host_degree = flows[2 * (size_t)end[k] + k];
			tree = m->p->sw_tree[fabric->term_switch[end[k]]];
			if (tree == OSR_NONE || m->p->term_index[end[k]] == OSR_NONE)
				continue;
			if (m->key->tree == OSR_NONE)
				m->key->tree = tree;
			if (m->key->tree != tree)
				return osr_fail(m->diag, OSR_INVAL,
						"the pairs belong to several trees of the fabric");
		}
	}
	return OSR_OK;
}

/* Places below the top must be switches of their own: their cables up are not told apart. */
static enum osr_status key_check_tree(const struct making *m)
{
	const struct osr_pgft_tree *tree = m->tree;
	char buf[32];

	if (!tree->merged)
		return OSR_OK;
	for (uint32_t t = 2; t < tree->h; t++) {
		uint32_t n = tree->m_product[tree->h] / tree->m_product[t] * tree->w_product[t];

		for (uint32_t i = 0; i < n; i++) {
			uint32_t s = tree->place[t][i];

			if (s != OSR_NONE &&
			    m->p->sw_a[s] * tree->w_product[t] + m->p->sw_b[s] != i)
				return osr_fail(m->diag, OSR_NOT_APPLICABLE,
						"no keys on this tree: switch %s takes the place "
						"of several switches of level %u",
						osr_switch_name(m->p->f, s, buf), t);
		}
	}
	return OSR_OK;
}

static bool key_is_host(const struct making *m, uint32_t term)
{
	uint32_t s = m->p->f->term_switch[term];

	return m->p->term_index[term] != OSR_NONE && m->p->sw_tree[s] == m->key->tree &&
	       m->p->sw_level[s] == 1;
}

static int by_leaf_and_end(const void *a, const void *b)
{
	const struct osr_key_unit *key_unit = a, *unit = b;

	if (key_unit->leaf != unit->leaf)
		return key_unit->leaf < unit->leaf ? -1 : 1;
	return key_unit->to < unit->to ? -1 : key_unit->to > unit->to;
}

/* Pairs that leave their leaf, one unit each, sorted and joined. */
static enum osr_status make_units(struct making *m, const struct osr_pair *pairs, uint32_t n_pairs,
				  struct osr_arena *result)
{
	const uint32_t *sw = m->p->f->term_switch;
	struct osr_key_unit *unit = osr_alloc(result, n_pairs, sizeof(*unit));
	uint32_t n = 0, kept = 0;

	if (osr_arena_failed(result, m->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n_pairs; i++) {
		uint32_t from = pairs[i].from, to = pairs[i].to;

		if (!key_is_host(m, from) || !key_is_host(m, to))
			m->key->n_left_out++;
		else if (sw[from] == sw[to])
			m->key->n_local++;
		else
			unit[n++] = (struct osr_key_unit){ sw[from], to, 1, 0 };
	}
	qsort(unit, n, sizeof(*unit), by_leaf_and_end);
	for (uint32_t i = 0; i < n; i++) {
		if (kept && !by_leaf_and_end(&unit[kept - 1], &unit[i]))
			unit[kept - 1].weight++;
		else
			unit[kept++] = unit[i];
	}
	m->key->unit = unit;
	for (uint32_t i = 0; i < kept; i++) {
		uint32_t from = m->p->sw_a[unit[i].leaf], to = m->p->sw_a[sw[unit[i].to]];

		if (osr__joined((struct osr__level){ m->p, m->tree, 1 }, from, to, 0))
			unit[m->key->n_units++] = unit[i];
		else
			m->key->n_left_out += unit[i].weight;
	}
	return OSR_OK;
}

/* What leaves a sub-tree of level t, or enters it, over the cables there are. */
static enum osr_status bound_of_level(struct making *m, uint32_t t)
{
	uint32_t n = m->tree->m_product[m->tree->h] / m->tree->m_product[t];
	uint32_t *out = osr_calloc(m->scratch, n, sizeof(*out));
	uint32_t *in = osr_calloc(m->scratch, n, sizeof(*in));
	uint32_t below = m->tree->m_product[t] / m->tree->m_product[1];

	if (osr_arena_failed(m->scratch, m->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < m->key->n_units; i++) {
		const struct osr_key_unit *key_unit = &m->key->unit[i];
		uint32_t a = m->p->sw_a[key_unit->leaf] / below;
		uint32_t ad = m->p->sw_a[m->p->f->term_switch[key_unit->to]] / below;

		if (a != ad) {
			out[a] += key_unit->weight;
			in[ad] += key_unit->weight;
		}
	}
	for (uint32_t a = 0; a < n; a++) {
		uint32_t flows = out[a] > in[a] ? out[a] : in[a], cables = 0;

		/* Upwards, of the switches with digits A. */
		for (uint32_t b = 0; b < m->tree->w_product[t]; b++) {
			uint32_t s = osr__node(m->tree, t, a, b);

			for (uint32_t q = 0; s != OSR_NONE && q < osr_pgft_n_up(m->p, s); q++)
				cables += osr__up(m->p, s, q) != OSR_NONE;
		}
		if (flows && cables && (flows + cables - 1) / cables > m->key->bound)
			m->key->bound = (flows + cables - 1) / cables;
	}
	return OSR_OK;
}

/* Units fall into classes. */
static enum osr_status classify(struct making *m)
{
	struct osr_key *key = m->key;
	struct osr__flow *flow = osr_alloc(m->scratch, key->n_units, sizeof(*flow));
	uint32_t *class_of = osr_alloc(m->scratch, key->n_units, sizeof(*class_of));
	struct osr__group group = { .level = { m->p, m->tree, 1 },
				    .flow = flow,
				    .n = key->n_units };
	struct osr__colouring colouring;

	if (osr_arena_failed(m->scratch, m->diag))
		return OSR_NOMEM;
	osr__unit_flows(m->p, key, flow);
	if (osr__demand_of(&group, m->scratch) ||
	    osr__colour(&group.demand, m->scratch, class_of, &colouring))
		return osr_fail(m->diag, OSR_NOMEM, "out of memory for a routing key");
	for (uint32_t i = 0; i < key->n_units; i++)
		key->unit[i].class = class_of[i];
	key->n_classes = colouring.n_classes;
	key->bound = colouring.bound;
	return OSR_OK;
}

enum osr_status osr_key_make(const struct osr_key_job *job, const struct osr_pair *pairs,
			     uint32_t n_pairs, struct osr_key *key)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct making m = {
		.p = job->pgft, .key = key, .scratch = job->scratch, .diag = job->diag
	};
	enum osr_status st;

	*key = (struct osr_key){ .n_pairs = n_pairs };
	st = check_pairs(&m, pairs, n_pairs);
	if (st || key->tree == OSR_NONE) {
		key->n_left_out = n_pairs;
	} else {
		m.tree = &m.p->tree[key->tree];
		st = key_check_tree(&m);
		if (!st)
			st = make_units(&m, pairs, n_pairs, job->arena);
		if (!st && key->n_units)
			st = classify(&m);
		for (uint32_t t = 2; t < m.tree->h && !st && key->n_units; t++)
			st = bound_of_level(&m, t);
	}
	osr_arena_reset(job->scratch, mark);
	return st;
}
