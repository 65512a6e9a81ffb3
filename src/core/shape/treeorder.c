/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See treeorder.h.
 *
 * In a tree nothing turns from down to up, and so nothing can deadlock: as long as all routes stay
 * on one side. But routes between tops (a CA on a spine; a core's port 0 that answers over broken
 * links) have to turn below. Up/down routing allows that if "up" means towards one root only. So
 * all switches are put into one order with a leaf as its root, such that every route up and then
 * down the tree is also one up and then down the order:
 *
 *	root leaf > its spines > their cores > all other spines > all other leaves
 *
 * A switch that is placed *anchors* the switches above it in the tree that have no place yet. All
 * other switches wait for the switches above them. Where links are missing, the root leaves some
 * switches without an anchor. Their anchor is the first switch of the highest level that is cabled
 * to them and lies below a switch with a place.
 */
#include <osmroutes/each.h>
#include <osmroutes/treeorder.h>

#include <string.h>

struct tree_growth {
	struct osr_tree_order *order;
	const uint8_t *level; /* [n_switches] 0: outside */
	uint32_t n;           /* placed */
};

static enum osr_status growth_begin(struct tree_growth *growth, const struct osr_fabric *fabric,
				    struct osr_arena *scratch, struct osr_diag *diag)
{
	uint32_t n = fabric->n_switches;

	*growth->order = (struct osr_tree_order){ fabric, osr_alloc(scratch, n, sizeof(uint32_t)),
						  osr_alloc(scratch, n, sizeof(uint32_t)) };
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	memset(growth->order->number, 0xff, n * sizeof(uint32_t));
	return OSR_OK;
}

static void place_one(struct tree_growth *growth, uint32_t v)
{
	osr_invariant(growth->order->number[v] == OSR_NONE);
	osr_invariant(growth->n < growth->order->fabric->n_switches);
	growth->order->number[v] = growth->n;
	growth->order->by_number[growth->n++] = v;
}

/*
 * Places v and, breadth first, the switches that it anchors (all that are cabled to it from above,
 * upper switches of one level too), and the switches below these that wait for no switch above them
 * any more.
 */
static void place(struct tree_growth *growth, uint32_t v)
{
	const struct osr_fabric *fabric = growth->order->fabric;
	const uint32_t *number = growth->order->number;
	uint32_t i = growth->n;

	for (place_one(growth, v); i < growth->n; i++) {
		v = growth->order->by_number[i];
		OSR_EACH_CHANNEL(c, fabric, v) {
			uint32_t u = fabric->chan_dst[c], e = fabric->chan_row[u];
			bool above = growth->level[u] > 1 && growth->level[u] >= growth->level[v];

			if (number[u] != OSR_NONE)
				continue;
			while (!above && e < fabric->chan_row[u + 1] &&
			       (growth->level[fabric->chan_dst[e]] <= growth->level[u] ||
				number[fabric->chan_dst[e]] <= i))
				e++;
			if (above || e == fabric->chan_row[u + 1])
				place_one(growth, u);
		}
	}
}

/*
 * Switches that the roots have not anchored, and switches that wait for them. Next is the first
 * switch of the highest level below a switch with a place; else the first beside a switch with a
 * place; else, in components without a tree, the first. So all switches of a component except one
 * have a neighbour above.
 */
static void place_rest(struct tree_growth *growth)
{
	const struct osr_fabric *fabric = growth->order->fabric;
	const uint32_t *number = growth->order->number;

	while (growth->n < fabric->n_switches) {
		uint32_t best = OSR_NONE, most = 0;

		OSR_EACH_SWITCH(v, fabric) {
			uint32_t rank = 1;

			if (number[v] != OSR_NONE)
				continue;
			OSR_EACH_CHANNEL(c, fabric, v) {
				uint32_t u = fabric->chan_dst[c];

				if (number[u] != OSR_NONE && growth->level[u] > growth->level[v])
					rank = 2u + growth->level[v];
				else if (number[u] != OSR_NONE && rank == 1)
					rank = 2;
			}
			if (rank > most) {
				best = v;
				most = rank;
			}
		}
		osr_invariant(best != OSR_NONE);
		place(growth, best);
	}
}

/* The parents of s, each with its own; n_parents = NULL: without. Parallel cables count once. */
static uint32_t n_ways(const struct osr_pgft *pgft, uint32_t s, uint32_t *seen,
		       const uint32_t *n_parents)
{
	const struct osr_fabric *fabric = pgft->fabric;
	uint32_t n = 0;

	OSR_EACH_CHANNEL(c, fabric, s) {
		uint32_t u = fabric->chan_dst[c];

		if (pgft->sw_level[u] != pgft->sw_level[s] + 1 || seen[u] == s)
			continue;
		seen[u] = s;
		n += 1 + (n_parents ? n_parents[u] : 0);
	}
	return n;
}

/*
 * The leaf with the most ways up, whose siblings lack most parents: a sibling reaches by way of the
 * root the switches that it can only reach by way of another leaf. The root carries these routes
 * beside its own. So of equals the leaf with the most bandwidth up for each of its end ports wins,
 * then the lowest place.
 */
static uint32_t tree_root(const struct osr_pgft *pgft, const struct osr_pgft_tree *tree,
			  uint32_t *seen, const uint32_t *n_parents)
{
	uint32_t best = OSR_NONE, n_leaves = tree->m_product[tree->h] / tree->m[1], n_siblings = 1,
		 w = 0;
	const struct osr_fabric *fabric = pgft->fabric;
	uint64_t most = 0;

	if (tree->h > 1) {
		n_siblings = tree->m[2];
		w = tree->w[2];
	}
	for (uint32_t first = 0; first < n_leaves; first += n_siblings) {
		const uint32_t *leaf = tree->place[1] + first;
		uint32_t n = n_leaves - first < n_siblings ? n_leaves - first : n_siblings,
			 lacks = 0;

		for (uint32_t i = 0; i < n; i++)
			if (leaf[i] != OSR_NONE && n_parents[leaf[i]] < w)
				lacks += w - n_parents[leaf[i]];
		for (uint32_t i = 0; i < n; i++) {
			uint64_t rank, rate = 0;
			uint32_t s = leaf[i];

			if (s == OSR_NONE)
				continue;
			OSR_EACH_CHANNEL(c, fabric, s)
				if (pgft->sw_level[fabric->chan_dst[c]] == 2)
					rate += fabric->chan_rate[c] + 1u;
			rank = (uint64_t)n_ways(pgft, s, seen, n_parents) << 48 |
			       (uint64_t)lacks << 32 |
			       (uint32_t)((rate << 8) / (fabric->sw_sources[s] + 1));
			if (best != OSR_NONE && rank <= most)
				continue;
			best = s;
			most = rank;
		}
	}
	return best;
}

enum osr_status osr_tree_order_find(const struct osr_pgft *pgft, struct osr_arena *scratch,
				    struct osr_tree_order *order, struct osr_diag *diag)
{
	uint32_t n = pgft->fabric->n_switches, *seen = osr_alloc(scratch, n, sizeof(*seen)),
		 *n_parents = osr_alloc(scratch, n, sizeof(*n_parents));
	struct tree_growth growth = { .order = order, .level = pgft->sw_level };
	enum osr_status st = growth_begin(&growth, pgft->fabric, scratch, diag);

	if (st)
		return st;
	memset(seen, 0xff, n * sizeof(*seen));
	for (uint32_t s = 0; s < n; s++)
		n_parents[s] = n_ways(pgft, s, seen, NULL);
	memset(seen, 0xff, n * sizeof(*seen));
	for (uint32_t i = 0; i < pgft->n_trees; i++) {
		uint32_t root = tree_root(pgft, &pgft->tree[i], seen, n_parents);

		/* All leaves of a part that is cut off may be away. */
		if (root != OSR_NONE)
			place(&growth, root);
	}
	place_rest(&growth);
	return OSR_OK;
}

enum osr_status osr_tree_order_tiers(const struct osr_fabric *fabric, struct osr_arena *scratch,
				     struct osr_tree_order *order, struct osr_diag *diag)
{
	uint32_t n = fabric->n_switches, n_leaves = 0, root = 0;
	uint8_t *level = osr_alloc(scratch, n, 1);
	struct tree_growth growth = { .order = order, .level = level };
	enum osr_status st = growth_begin(&growth, fabric, scratch, diag);

	if (st)
		return st;
	for (uint32_t v = n; v-- > 0;) {
		level[v] = fabric->sw_sources[v] ? 1 : 2;
		if (level[v] != 1)
			continue;
		n_leaves++;
		root = v;
	}
	if (!n_leaves || n_leaves == n || fabric->n_components > 1)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "not two tiers of switches");
	osr_invariant(level[root] == 1);
	place(&growth, root);
	place_rest(&growth);
	return OSR_OK;
}
