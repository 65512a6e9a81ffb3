/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From pairs to a compressed key: pairs become flows from leaf to destination, flows become
 * classes.
 */
#include "keys/keys.h"

#include <osmroutes/invariant.h>

#include "level.h"

#include <stdlib.h>

int osr_by_group(const void *flow, const void *other)
{
	const struct osr_key_flow *x = flow, *y = other;

	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

uint32_t osr_join(struct osr_key_flow *flow, uint32_t n)
{
	uint32_t kept = 0;

	qsort(flow, n, sizeof(*flow), osr_by_group);
	for (uint32_t i = 0; i < n; i++)
		if (kept && !osr_by_group(&flow[kept - 1], &flow[i]))
			flow[kept - 1].weight += flow[i].weight;
		else
			flow[kept++] = flow[i];
	osr_invariant(kept <= n && (kept > 0) == (n > 0));
	return kept;
}

/* Cables that are there ------------------------------------------------------------------------ */

static bool joined(struct osr_level level, uint32_t a, uint32_t ad, uint32_t b);

/* Does plane q lead from node (t, a, b) straight up and down to node (t, ad, b), a != ad? */
static bool leads(struct osr_level level, uint32_t a, uint32_t ad, uint32_t b, uint32_t q)
{
	const struct osr_pgft_tree *tree = level.tree;
	uint32_t t = level.t, m = tree->m[t + 1], above = osr_b_above(tree, t, b, q);

	osr_invariant(a != ad && q < osr_n_planes(tree, t) && b < tree->w_product[t]);
	if (osr_up(level.pgft, osr_node(tree, t, a, b), q) == OSR_NONE ||
	    osr_up(level.pgft, osr_node(tree, t, ad, b), q) == OSR_NONE)
		return false;
	level.t++;
	return a / m == ad / m || joined(level, a / m, ad / m, above);
}

/* Does any plane lead there? */
static bool joined(struct osr_level level, uint32_t a, uint32_t ad, uint32_t b)
{
	if (level.t >= level.tree->h)
		return false;
	for (uint32_t q = 0; q < osr_n_planes(level.tree, level.t); q++)
		if (leads(level, a, ad, b, q))
			return true;
	return false;
}

enum osr_status osr_group_of(struct osr_level level, struct osr_key_flow *flow, uint32_t n,
			     struct osr_arena *scratch, struct osr_group *group)
{
	const struct osr_pgft_tree *tree = level.tree;
	uint32_t n_planes = osr_n_planes(tree, level.t), words = (n_planes + 63) / 64;
	bool all = true;
	uint64_t *may;

	osr_invariant(n && flow[0].b == flow[n - 1].b);
	*group = (struct osr_group){ .level = level,
				     .b = flow->b,
				     .flow = flow,
				     .n = n,
				     .n_nodes = tree->m_product[tree->h] / tree->m_product[level.t],
				     .n_planes = n_planes,
				     .words = words };
	if (!tree->n_missing_links && !tree->n_missing_switches)
		return OSR_OK;
	may = osr_calloc(scratch, (size_t)n * words, sizeof(*may));
	if (!may)
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t q = 0; q < n_planes; q++) {
			bool is = leads(level, flow[i].a, flow[i].ad, flow[i].b, q);

			may[(size_t)i * words + q / 64] |= (uint64_t)is << (q % 64);
			all &= is;
		}
	group->may = all ? NULL : may;
	return OSR_OK;
}

/* Pairs ---------------------------------------------------------------------------------------- */

enum osr_status osr_check_tree(const struct osr_key_job *job, const struct osr_pgft_tree *tree)
{
	const struct osr_pgft *pgft = job->pgft;
	char buf[32];

	if (!tree->merged)
		return OSR_OK;
	for (uint32_t t = 2; t < tree->h; t++) {
		uint32_t n = tree->m_product[tree->h] / tree->m_product[t] * tree->w_product[t];

		for (uint32_t i = 0; i < n; i++) {
			uint32_t s = tree->place[t][i];

			if (s != OSR_NONE &&
			    pgft->sw_a[s] * tree->w_product[t] + pgft->sw_b[s] != i)
				return osr_fail(job->diag, OSR_NOT_APPLICABLE,
						"no keys on this tree: switch %s takes the place "
						"of several switches of level %u",
						osr_switch_name(pgft->fabric, s, buf), t);
		}
	}
	return OSR_OK;
}

/* Is every pair part of a flow, on one leaf, or left out? */
static bool counts_all_pairs(const struct osr_key *key)
{
	uint64_t n = (uint64_t)key->n_local + key->n_left_out;

	for (uint32_t i = 0; i < key->n_flows; i++)
		n += key->flow[i].weight;
	return n == key->n_pairs;
}

/*
 * All pairs from one leaf to one end port are one flow, because forwarding tables hold one port for
 * a LID.
 */
static enum osr_status make_flows(const struct osr_key_job *job, const struct osr_pair *pairs,
				  uint32_t n_pairs, struct osr_key *key)
{
	const struct osr_pgft *pgft = job->pgft;
	struct osr_key_flow *flow = osr_alloc(job->arena, n_pairs, sizeof(*flow));
	struct osr_level level = { .pgft = pgft, .t = 1 };
	uint32_t n = 0;

	key->tree = OSR_NONE;
	if (osr_arena_failed(job->arena, job->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n_pairs; i++) {
		uint32_t from = osr_leaf_of(pgft, pairs[i].from),
			 to = osr_leaf_of(pgft, pairs[i].to);

		if (from == OSR_NONE || to == OSR_NONE) {
			key->n_left_out++;
			continue;
		}
		if (key->tree == OSR_NONE)
			key->tree = pgft->sw_tree[from];
		if (pgft->sw_tree[from] != key->tree || pgft->sw_tree[to] != key->tree)
			return osr_fail(job->diag, OSR_INVAL,
					"the pairs belong to several trees of the fabric");
		if (from == to)
			key->n_local++;
		else
			flow[n++] = (struct osr_key_flow){ .a = pgft->sw_a[from],
							   .ad = pgft->sw_a[to],
							   .to = pairs[i].to,
							   .weight = 1,
							   .next = OSR_NONE };
	}
	n = osr_join(flow, n);
	key->flow = flow;
	level.tree = n ? &pgft->tree[key->tree] : NULL;
	for (uint32_t i = 0; i < n; i++)
		if (joined(level, flow[i].a, flow[i].ad, 0))
			flow[key->n_flows++] = flow[i];
		else
			key->n_left_out += flow[i].weight;
	osr_invariant(counts_all_pairs(key));
	return OSR_OK;
}

/* Raises the bound to the flows that leave a sub-tree of level t, or enter it, over its cables. */
static enum osr_status bound_of_level(const struct osr_key_job *job,
				      const struct osr_pgft_tree *tree, uint32_t t,
				      struct osr_key *key)
{
	uint32_t n = tree->m_product[tree->h] / tree->m_product[t];
	uint32_t *out = osr_calloc(job->scratch, n, sizeof(*out));
	uint32_t *in = osr_calloc(job->scratch, n, sizeof(*in));
	uint32_t below = tree->m_product[t] / tree->m_product[1];

	if (osr_arena_failed(job->scratch, job->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < key->n_flows; i++) {
		uint32_t a = key->flow[i].a / below, ad = key->flow[i].ad / below;

		if (a != ad) {
			out[a] += key->flow[i].weight;
			in[ad] += key->flow[i].weight;
		}
	}
	for (uint32_t a = 0; a < n; a++) {
		uint32_t flows = out[a] > in[a] ? out[a] : in[a], cables = 0;

		/* Upwards, of the switches with digits A. */
		for (uint32_t b = 0; b < tree->w_product[t]; b++)
			for (uint32_t q = 0; q < osr_n_planes(tree, t); q++)
				cables += osr_up(job->pgft, osr_node(tree, t, a, b), q) != OSR_NONE;
		if (flows && cables && (flows + cables - 1) / cables > key->bound)
			key->bound = (flows + cables - 1) / cables;
	}
	return OSR_OK;
}

enum osr_status osr_key_make(const struct osr_key_job *job, const struct osr_pair *pairs,
			     uint32_t n_pairs, struct osr_key *key)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct osr_level level = { .pgft = job->pgft, .t = 1 };
	struct osr_group group;
	enum osr_status st;

	*key = (struct osr_key){ .n_pairs = n_pairs };
	st = make_flows(job, pairs, n_pairs, key);
	if (!st && key->n_flows) {
		level.tree = &job->pgft->tree[key->tree];
		st = osr_check_tree(job, level.tree);
	}
	/* Flows fall into classes. */
	if (!st && key->n_flows) {
		st = osr_group_of(level, key->flow, key->n_flows, job->scratch, &group);
		st = st ? st : osr_colour(&group, job->scratch);
		if (st)
			osr_fail(job->diag, st, "out of memory for a routing key");
		key->n_classes = group.n_classes;
		key->bound = group.bound;
	}
	if (key->n_flows)
		for (uint32_t t = 2; !st && t < level.tree->h; t++)
			st = bound_of_level(job, level.tree, t, key);
	osr_arena_reset(job->scratch, mark);
	return st;
}
