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
 * Seen from below: a switch anchors the planes (pieces of the tree above it) of its parents;
 * anchored planes lie below their anchor, all others above. A switch with an anchored neighbour
 * below it in the tree has no other above it in the order. What cannot be anchored by the root,
 * because links are missing, is anchored by the first switch of the level that has a link to it.
 */
#include <osmroutes/treeorder.h>

#include <string.h>

#include <osmroutes/set.h>

static enum osr_status tree_order_no_memory(const struct osr_tree_order *tree_order,
					    struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for the order of %u switches",
			tree_order->n);
}

/*
 * o->plane, top level first. A plane goes by its lowest switch of the level it begins on, so that
 * no two have one name.
 */
static void tree_order_planes(struct osr_tree_order *tree_order, uint32_t *set, uint32_t *name)
{
	const struct osr_fabric *fabric = tree_order->f;

	osr_set_init(set, tree_order->n);
	for (uint32_t l = tree_order->h; l >= 1; l--) {
		for (uint32_t c = 0; c < fabric->n_channels; c++)
			if (tree_order->p->sw_level[fabric->chan_src[c]] == l &&
			    osr_tree_order_is_up(tree_order, c))
				osr_set_join(set, fabric->chan_src[c], fabric->chan_dst[c]);
		memset(name, 0xff, tree_order->n * sizeof(*name));
		for (uint32_t s = 0; s < tree_order->n; s++) {
			uint32_t piece = tree_order->p->sw_level[s] == l ? osr_set_of(set, s) : 0;

			if (tree_order->p->sw_level[s] != l)
				continue;
			if (name[piece] == OSR_NONE)
				name[piece] = s;
			tree_order->plane[s] = name[piece];
		}
	}
}

/* The parents of s, each with its own; n_parents = NULL: without. Parallel cables count once. */
static uint32_t tree_order_ways(const struct osr_tree_order *tree_order, uint32_t s, uint32_t *seen,
				const uint32_t *n_parents)
{
	const struct osr_fabric *fabric = tree_order->f;
	uint32_t n = 0;

	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
		uint32_t u = fabric->chan_dst[c];

		if (!osr_tree_order_is_up(tree_order, c) || seen[u] == s)
			continue;
		seen[u] = s;
		n += 1 + (n_parents ? n_parents[u] : 0);
	}
	return n;
}

static void tree_order_count_parents(const struct osr_tree_order *tree_order, uint32_t *seen,
				     uint32_t *n_parents)
{
	memset(seen, 0xff, tree_order->n * sizeof(*seen));
	for (uint32_t s = 0; s < tree_order->n; s++)
		n_parents[s] = tree_order_ways(tree_order, s, seen, NULL);
	memset(seen, 0xff, tree_order->n * sizeof(*seen));
}

/* Bandwidth up for each end port at leaf s, in 1/256 of the unit of rates. */
static uint32_t tree_order_spare(const struct osr_tree_order *tree_order, uint32_t s)
{
	const struct osr_fabric *fabric = tree_order->f;
	uint64_t rate = 0;

	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++)
		rate += osr_tree_order_is_up(tree_order, c) ? fabric->chan_rate[c] + 1u : 0;
	return (uint32_t)((rate << 8) / (fabric->sw_sources[s] + 1));
}

/*
 * The leaf with the most ways up, with siblings that lack most parents: what those cannot reach but
 * by way of another leaf, they reach by way of the root. It carries those routes beside its own: among
 * equals the one with the most bandwidth for its end ports, at the lowest place.
 */
static uint32_t tree_order_root(const struct osr_tree_order *tree_order,
				const struct osr_pgft_tree *pgft_tree, uint32_t *seen,
				const uint32_t *n_parents)
{
	uint32_t best = OSR_NONE, n_leaves = pgft_tree->m_product[pgft_tree->h] / pgft_tree->m[1],
		 n_siblings = pgft_tree->h > 1 ? pgft_tree->m[2] : 1,
		 w = pgft_tree->h > 1 ? pgft_tree->w[2] : 0;
	uint64_t most = 0;

	for (uint32_t first = 0; first < n_leaves; first += n_siblings) {
		const uint32_t *leaf = pgft_tree->place[1] + first;
		uint32_t n = n_leaves - first < n_siblings ? n_leaves - first : n_siblings,
			 lacks = 0;

		for (uint32_t i = 0; i < n; i++)
			if (leaf[i] != OSR_NONE && n_parents[leaf[i]] < w)
				lacks += w - n_parents[leaf[i]];
		for (uint32_t i = 0; i < n; i++) {
			uint64_t rank;

			if (leaf[i] == OSR_NONE)
				continue;
			rank = (uint64_t)tree_order_ways(tree_order, leaf[i], seen, n_parents)
				       << 48 |
			       (uint64_t)lacks << 32 | tree_order_spare(tree_order, leaf[i]);
			if (best != OSR_NONE && rank <= most)
				continue;
			best = leaf[i];
			most = rank;
		}
	}
	return best;
}

struct tree_order_growth {
	uint32_t *row, *member; /* switches by plane: member[row[plane]] .. */
	uint32_t *queue, n_queue;
	uint8_t *seen; /* [n] of the level under way: hangs on something that is held */
};

/* All switches below this plane are now connected. */
static void tree_order_see_below(struct osr_tree_order *tree_order,
				 struct tree_order_growth *growth, uint32_t plane)
{
	const struct osr_fabric *fabric = tree_order->f;

	for (uint32_t i = growth->row[plane]; i < growth->row[plane + 1]; i++) {
		uint32_t u = growth->member[i];

		for (uint32_t c = fabric->chan_row[u]; c < fabric->chan_row[u + 1]; c++) {
			uint32_t s = fabric->chan_dst[c];

			if (growth->seen[s] ||
			    !osr_tree_order_is_up(tree_order, fabric->chan_rev[c]))
				continue;
			growth->seen[s] = 1;
			growth->queue[growth->n_queue++] = s;
		}
	}
}

/* Switch s osr_tree_order_anchors the planes of its parents that nobody osr_tree_order_anchors yet. */
static void tree_order_anchor_parents(struct osr_tree_order *tree_order,
				      struct tree_order_growth *growth, uint32_t s)
{
	const struct osr_fabric *fabric = tree_order->f;

	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
		uint32_t plane;

		if (!osr_tree_order_is_up(tree_order, c))
			continue;
		plane = tree_order->plane[fabric->chan_dst[c]];
		if (tree_order->mode[plane] != OSR_ANCHOR_NOT)
			continue;
		tree_order->mode[plane] =
			tree_order->entry[s] ? OSR_ANCHOR_ENTRIES : OSR_ANCHOR_ONE;
		tree_order->anchor[plane] = s;
		tree_order_see_below(tree_order, growth, plane);
	}
}

/* Level l: its entries first, then, breadth first, what is attached to what is held. */
static void tree_order_anchor_level(struct osr_tree_order *tree_order,
				    struct tree_order_growth *growth, uint32_t l)
{
	const struct osr_fabric *fabric = tree_order->f;

	growth->n_queue = 0;
	for (uint32_t s = 0; s < tree_order->n; s++)
		if (tree_order->p->sw_level[s] == l && tree_order->entry[s]) {
			growth->seen[s] = 1;
			growth->queue[growth->n_queue++] = s;
		}
	for (uint32_t i = 0; i < growth->n_queue; i++)
		tree_order_anchor_parents(tree_order, growth, growth->queue[i]);
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (tree_order->p->sw_level[fabric->chan_src[c]] == l &&
		    osr_tree_order_is_up(tree_order, c) &&
		    osr_tree_order_anchors(tree_order, fabric->chan_src[c], fabric->chan_dst[c]))
			tree_order->entry[fabric->chan_dst[c]] = 1;
}

static void tree_order_sort(struct osr_tree_order *tree_order, struct tree_order_growth *growth)
{
	for (uint32_t s = 0; s < tree_order->n; s++)
		growth->row[tree_order->plane[s]] += tree_order->p->sw_level[s] > 1;
	for (uint32_t s = 0; s < tree_order->n; s++)
		growth->row[s + 1] += growth->row[s];
	for (uint32_t s = tree_order->n; s-- > 0;)
		if (tree_order->p->sw_level[s] > 1)
			growth->member[--growth->row[tree_order->plane[s]]] = s;
}

/* Above in the order, for two neighbours. */
static bool tree_order_above(const struct osr_tree_order *tree_order, uint32_t a, uint32_t b)
{
	uint8_t la = tree_order->p->sw_level[a], lb = tree_order->p->sw_level[b];

	if (!la || !lb)
		return la || (!lb && tree_order->outside[a] < tree_order->outside[b]);
	return la < lb ? osr_tree_order_anchors(tree_order, a, b)
		       : !osr_tree_order_anchors(tree_order, b, a);
}

/* Outside the tree, but on a switch of it. */
static bool tree_order_hangs(const struct osr_tree_order *tree_order, uint32_t s)
{
	uint32_t c = tree_order->f->chan_row[s];

	return !tree_order->p->sw_level[s] && c < tree_order->f->chan_row[s + 1] &&
	       tree_order->p->sw_level[tree_order->f->chan_dst[c]];
}

/*
 * Components without a tree (service ports at most): breadth first from the lowest switch, so that
 * everybody but that one has a neighbour above.
 */
static void tree_order_search_outside(struct osr_tree_order *tree_order, uint8_t *seen,
				      uint32_t *queue)
{
	const struct osr_fabric *fabric = tree_order->f;
	uint32_t n = 0, done = 0;

	memset(seen, 0, tree_order->n);
	for (uint32_t s = 0; s < tree_order->n; s++) {
		if (seen[s] || tree_order->p->sw_level[s] || tree_order_hangs(tree_order, s))
			continue;
		seen[s] = 1;
		queue[n++] = s;
		for (; done < n; done++) {
			uint32_t v = queue[done];

			tree_order->outside[v] = done;
			for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
				uint32_t t = fabric->chan_dst[c];

				if (seen[t])
					continue;
				seen[t] = 1;
				queue[n++] = t;
			}
		}
	}
}

/* Numbers switches so that a switch above a neighbour has a lower number. */
static enum osr_status tree_order_number(struct osr_tree_order *tree_order, uint32_t *waits,
					 uint32_t *queue, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = tree_order->f;
	uint32_t n = 0;

	memset(waits, 0, tree_order->n * sizeof(*waits));
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		waits[fabric->chan_dst[c]] +=
			tree_order_above(tree_order, fabric->chan_src[c], fabric->chan_dst[c]);
	for (uint32_t s = 0; s < tree_order->n; s++)
		if (!waits[s])
			queue[n++] = s;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s = queue[i];

		tree_order->number[s] = i;
		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++)
			if (tree_order_above(tree_order, s, fabric->chan_dst[c]) &&
			    --waits[fabric->chan_dst[c]] == 0)
				queue[n++] = fabric->chan_dst[c];
	}
	if (n < tree_order->n)
		return osr_fail(
			diag, OSR_NOT_APPLICABLE,
			"no order of the %u switches keeps all routes of this tree on one lane",
			tree_order->n);
	return OSR_OK;
}

static enum osr_status tree_order_allocate(struct osr_tree_order *tree_order,
					   struct osr_arena *arena, struct osr_diag *diag)
{
	tree_order->number = osr_alloc(arena, tree_order->n, sizeof(*tree_order->number));
	tree_order->plane = osr_alloc(arena, tree_order->n, sizeof(*tree_order->plane));
	tree_order->mode = osr_calloc(arena, tree_order->n, sizeof(*tree_order->mode));
	tree_order->anchor = osr_alloc(arena, tree_order->n, sizeof(*tree_order->anchor));
	tree_order->entry = osr_calloc(arena, tree_order->n, sizeof(*tree_order->entry));
	tree_order->outside = osr_calloc(arena, tree_order->n, sizeof(*tree_order->outside));
	if (!tree_order->number || !tree_order->plane || !tree_order->mode || !tree_order->anchor ||
	    !tree_order->entry || !tree_order->outside)
		return tree_order_no_memory(tree_order, diag);
	memset(tree_order->anchor, 0xff, tree_order->n * sizeof(*tree_order->anchor));
	for (uint32_t s = 0; s < tree_order->n; s++)
		tree_order->plane[s] = s;
	return OSR_OK;
}

enum osr_status osr_tree_order_find(const struct osr_pgft *pgft, struct osr_arena *scratch,
				    struct osr_tree_order *tree_order, struct osr_diag *diag)
{
	uint32_t n = pgft->f->n_switches;
	struct tree_order_growth growth = { .row = osr_calloc(scratch, (size_t)n + 2,
							      sizeof(*growth.row)),
					    .member = osr_alloc(scratch, n, sizeof(*growth.member)),
					    .queue = osr_alloc(scratch, n, sizeof(*growth.queue)),
					    .seen = osr_calloc(scratch, n, sizeof(*growth.seen)) };
	uint32_t *set = osr_alloc(scratch, n, sizeof(*set));
	enum osr_status st;

	*tree_order = (struct osr_tree_order){ .f = pgft->f, .p = pgft, .n = n };
	st = tree_order_allocate(tree_order, scratch, diag);
	if (st)
		return st;
	if (!set || !growth.row || !growth.member || !growth.queue || !growth.seen)
		return tree_order_no_memory(tree_order, diag);
	for (uint32_t i = 0; i < pgft->n_trees; i++)
		tree_order->h = pgft->tree[i].h > tree_order->h ? pgft->tree[i].h : tree_order->h;
	tree_order_planes(tree_order, set, growth.queue);
	tree_order_sort(tree_order, &growth);
	tree_order_count_parents(tree_order, growth.queue, set);
	for (uint32_t i = 0; i < pgft->n_trees; i++)
		tree_order->entry[tree_order_root(tree_order, &pgft->tree[i], growth.queue, set)] =
			1;
	for (uint32_t l = 1; l < tree_order->h; l++)
		tree_order_anchor_level(tree_order, &growth, l);
	tree_order_search_outside(tree_order, growth.seen, growth.queue);
	return tree_order_number(tree_order, set, growth.queue, diag);
}

/*
 * Multicast: everybody's parent is a neighbour above in the order, as close to the root as possible
 * and as high as possible, so that all choose the same; cut down to what lies between end ports.
 */
static enum osr_status tree_order_mcast(const struct osr_tree_order *tree_order,
					struct osr_arena *scratch, struct osr_arena *result,
					struct osr_routing *routing, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = tree_order->f;
	uint32_t *by_number = osr_alloc(scratch, tree_order->n, sizeof(*by_number));
	uint32_t *depth = osr_calloc(scratch, tree_order->n, sizeof(*depth));
	uint8_t *keep = osr_calloc(scratch, tree_order->n, 1);

	routing->mcast_parent = osr_alloc(result, tree_order->n, sizeof(*routing->mcast_parent));
	if (!by_number || !depth || !keep || !routing->mcast_parent)
		return tree_order_no_memory(tree_order, diag);
	for (uint32_t s = 0; s < tree_order->n; s++)
		by_number[tree_order->number[s]] = s;
	for (uint32_t i = 0; i < tree_order->n; i++) {
		uint32_t s = by_number[i], best = OSR_NONE;

		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			uint32_t t = fabric->chan_dst[c],
				 b = best == OSR_NONE ? 0 : fabric->chan_dst[best];

			if (tree_order->number[t] > i)
				continue;
			if (best == OSR_NONE || depth[t] < depth[b] ||
			    (depth[t] == depth[b] && tree_order->number[t] < tree_order->number[b]))
				best = c;
		}
		routing->mcast_parent[s] = best;
		depth[s] = best == OSR_NONE ? 0 : depth[fabric->chan_dst[best]] + 1;
	}
	for (uint32_t i = tree_order->n; i-- > 0;) {
		uint32_t s = by_number[i], up = routing->mcast_parent[s];

		keep[s] |= fabric->sw_sources[s] > 0;
		if (!keep[s])
			routing->mcast_parent[s] = OSR_NONE;
		else if (up != OSR_NONE)
			keep[fabric->chan_dst[up]] = 1;
	}
	routing->claims |= OSR_CLAIM_MULTICAST;
	return OSR_OK;
}

enum osr_status osr_tree_order_certify(const struct osr_tree_order *tree_order,
				       const struct osr_request *req, struct osr_arena *scratch,
				       struct osr_arena *result, struct osr_routing *routing,
				       struct osr_diag *diag)
{
	routing->rank = osr_alloc(result, tree_order->f->n_channels, sizeof(*routing->rank));
	if (!routing->rank)
		return tree_order_no_memory(tree_order, diag);
	/* Up the order by falling numbers, then down by rising ones: packets travel to higher ranks. */
	for (uint32_t c = 0; c < tree_order->f->n_channels; c++) {
		uint32_t from = tree_order->number[tree_order->f->chan_src[c]],
			 to = tree_order->number[tree_order->f->chan_dst[c]];

		routing->rank[c] = to < from ? tree_order->n - from : tree_order->n + to;
	}
	routing->n_vls = routing->n_layers = routing->n_layers_one_way = 1;
	routing->claims |= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	return req->multicast ? tree_order_mcast(tree_order, scratch, result, routing, diag)
			      : OSR_OK;
}
