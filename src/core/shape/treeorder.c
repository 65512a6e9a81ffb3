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
#include <osmroutes/spf.h>

/*
 * o->plane, top level first. A plane goes by its lowest switch of the level it begins on, so that
 * no two have one name.
 */
static void tree_order_planes(struct osr_tree_order *order, uint32_t *set, uint32_t *name)
{
	const struct osr_fabric *fabric = order->f;

	osr_set_init(set, order->n);
	for (uint32_t l = order->h; l >= 1; l--) {
		for (uint32_t c = 0; c < fabric->n_channels; c++)
			if (order->p->sw_level[fabric->chan_src[c]] == l &&
			    osr_tree_order_is_up(order, c))
				osr_set_join(set, fabric->chan_src[c], fabric->chan_dst[c]);
		memset(name, 0xff, order->n * sizeof(*name));
		for (uint32_t s = 0; s < order->n; s++) {
			uint32_t piece = order->p->sw_level[s] == l ? osr_set_of(set, s) : 0;

			if (order->p->sw_level[s] != l)
				continue;
			if (name[piece] == OSR_NONE)
				name[piece] = s;
			order->plane[s] = name[piece];
		}
	}
}

/* The parents of s, each with its own; n_parents = NULL: without. Parallel cables count once. */
static uint32_t tree_order_ways(const struct osr_tree_order *order, uint32_t s, uint32_t *seen,
				const uint32_t *n_parents)
{
	const struct osr_fabric *fabric = order->f;
	uint32_t n = 0;

	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
		uint32_t u = fabric->chan_dst[c];

		if (!osr_tree_order_is_up(order, c) || seen[u] == s)
			continue;
		seen[u] = s;
		n += 1 + (n_parents ? n_parents[u] : 0);
	}
	return n;
}

/* Bandwidth up for each end port at leaf s, in 1/256 of the unit of rates. */
static uint32_t tree_order_spare(const struct osr_tree_order *order, uint32_t s)
{
	const struct osr_fabric *fabric = order->f;
	uint64_t rate = 0;

	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++)
		rate += osr_tree_order_is_up(order, c) ? fabric->chan_rate[c] + 1u : 0;
	return (uint32_t)((rate << 8) / (fabric->sw_sources[s] + 1));
}

/*
 * The leaf with the most ways up, with siblings that lack most parents: what those cannot reach but
 * by way of another leaf, they reach by way of the root. It carries those routes beside its own: among
 * equals the one with the most bandwidth for its end ports, at the lowest place.
 */
static uint32_t tree_order_root(const struct osr_tree_order *order,
				const struct osr_pgft_tree *tree, uint32_t *seen,
				const uint32_t *n_parents)
{
	uint32_t best = OSR_NONE, n_leaves = tree->m_product[tree->h] / tree->m[1],
		 n_siblings = tree->h > 1 ? tree->m[2] : 1, w = tree->h > 1 ? tree->w[2] : 0;
	uint64_t most = 0;

	for (uint32_t first = 0; first < n_leaves; first += n_siblings) {
		const uint32_t *leaf = tree->place[1] + first;
		uint32_t n = n_leaves - first < n_siblings ? n_leaves - first : n_siblings,
			 lacks = 0;

		for (uint32_t i = 0; i < n; i++)
			if (leaf[i] != OSR_NONE && n_parents[leaf[i]] < w)
				lacks += w - n_parents[leaf[i]];
		for (uint32_t i = 0; i < n; i++) {
			uint64_t rank;

			if (leaf[i] == OSR_NONE)
				continue;
			rank = (uint64_t)tree_order_ways(order, leaf[i], seen, n_parents) << 48 |
			       (uint64_t)lacks << 32 | tree_order_spare(order, leaf[i]);
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
static void tree_order_see_below(struct osr_tree_order *order, struct tree_order_growth *growth,
				 uint32_t plane)
{
	const struct osr_fabric *fabric = order->f;

	for (uint32_t i = growth->row[plane]; i < growth->row[plane + 1]; i++) {
		uint32_t u = growth->member[i];

		for (uint32_t c = fabric->chan_row[u]; c < fabric->chan_row[u + 1]; c++) {
			uint32_t s = fabric->chan_dst[c];

			if (growth->seen[s] || !osr_tree_order_is_up(order, fabric->chan_rev[c]))
				continue;
			growth->seen[s] = 1;
			growth->queue[growth->n_queue++] = s;
		}
	}
}

/* Switch s anchors the planes of its parents that nothing anchors yet. */
static void tree_order_anchor_parents(struct osr_tree_order *order,
				      struct tree_order_growth *growth, uint32_t s)
{
	const struct osr_fabric *fabric = order->f;

	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
		uint32_t plane;

		if (!osr_tree_order_is_up(order, c))
			continue;
		plane = order->plane[fabric->chan_dst[c]];
		if (order->mode[plane] != OSR_ANCHOR_NOT)
			continue;
		order->mode[plane] = order->entry[s] ? OSR_ANCHOR_ENTRIES : OSR_ANCHOR_ONE;
		order->anchor[plane] = s;
		tree_order_see_below(order, growth, plane);
	}
}

/* Level l: its entries first, then, breadth first, what is attached to what is held. */
static void tree_order_anchor_level(struct osr_tree_order *order, struct tree_order_growth *growth,
				    uint32_t l)
{
	const struct osr_fabric *fabric = order->f;

	growth->n_queue = 0;
	for (uint32_t s = 0; s < order->n; s++)
		if (order->p->sw_level[s] == l && order->entry[s]) {
			growth->seen[s] = 1;
			growth->queue[growth->n_queue++] = s;
		}
	for (uint32_t i = 0; i < growth->n_queue; i++)
		tree_order_anchor_parents(order, growth, growth->queue[i]);
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (order->p->sw_level[fabric->chan_src[c]] == l &&
		    osr_tree_order_is_up(order, c) &&
		    osr_tree_order_anchors(order, fabric->chan_src[c], fabric->chan_dst[c]))
			order->entry[fabric->chan_dst[c]] = 1;
}

static void tree_order_sort(struct osr_tree_order *order, struct tree_order_growth *growth)
{
	for (uint32_t s = 0; s < order->n; s++)
		growth->row[order->plane[s]] += order->p->sw_level[s] > 1;
	for (uint32_t s = 0; s < order->n; s++)
		growth->row[s + 1] += growth->row[s];
	for (uint32_t s = order->n; s-- > 0;)
		if (order->p->sw_level[s] > 1)
			growth->member[--growth->row[order->plane[s]]] = s;
}

/* Above in the order, for two neighbours. */
static bool tree_order_above(const struct osr_tree_order *order, uint32_t a, uint32_t b)
{
	uint8_t la = order->p->sw_level[a], lb = order->p->sw_level[b];

	if (!la || !lb)
		return la || (!lb && order->outside[a] < order->outside[b]);
	return la < lb ? osr_tree_order_anchors(order, a, b) : !osr_tree_order_anchors(order, b, a);
}

/*
 * Components without a tree (service ports at most): breadth first from the lowest switch, so that
 * everybody but that one has a neighbour above.
 */
static void tree_order_search_outside(struct osr_tree_order *order, uint8_t *seen, uint32_t *queue)
{
	const struct osr_fabric *fabric = order->f;
	uint32_t n = 0, done = 0;

	memset(seen, 0, order->n);
	for (uint32_t s = 0; s < order->n; s++) {
		uint32_t first = fabric->chan_row[s];

		/* What hangs on a switch of a tree is no component of its own. */
		if (seen[s] || order->p->sw_level[s] ||
		    (first < fabric->chan_row[s + 1] &&
		     order->p->sw_level[fabric->chan_dst[first]]))
			continue;
		seen[s] = 1;
		queue[n++] = s;
		for (; done < n; done++) {
			uint32_t v = queue[done];

			order->outside[v] = done;
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
static enum osr_status tree_order_number(struct osr_tree_order *order, uint32_t *waits,
					 uint32_t *queue, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = order->f;
	uint32_t n = 0;

	memset(waits, 0, order->n * sizeof(*waits));
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		waits[fabric->chan_dst[c]] +=
			tree_order_above(order, fabric->chan_src[c], fabric->chan_dst[c]);
	for (uint32_t s = 0; s < order->n; s++)
		if (!waits[s])
			queue[n++] = s;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s = queue[i];

		order->number[s] = i;
		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++)
			if (tree_order_above(order, s, fabric->chan_dst[c]) &&
			    --waits[fabric->chan_dst[c]] == 0)
				queue[n++] = fabric->chan_dst[c];
	}
	if (n < order->n)
		return osr_fail(
			diag, OSR_NOT_APPLICABLE,
			"no order of the %u switches keeps all routes of this tree on one lane",
			order->n);
	return OSR_OK;
}

static enum osr_status tree_order_allocate(struct osr_tree_order *order, struct osr_arena *arena,
					   struct osr_diag *diag)
{
	order->number = osr_alloc(arena, order->n, sizeof(*order->number));
	order->plane = osr_alloc(arena, order->n, sizeof(*order->plane));
	order->mode = osr_calloc(arena, order->n, sizeof(*order->mode));
	order->anchor = osr_alloc(arena, order->n, sizeof(*order->anchor));
	order->entry = osr_calloc(arena, order->n, sizeof(*order->entry));
	order->outside = osr_calloc(arena, order->n, sizeof(*order->outside));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	memset(order->anchor, 0xff, order->n * sizeof(*order->anchor));
	for (uint32_t s = 0; s < order->n; s++)
		order->plane[s] = s;
	return OSR_OK;
}

enum osr_status osr_tree_order_find(const struct osr_pgft *pgft, struct osr_arena *scratch,
				    struct osr_tree_order *order, struct osr_diag *diag)
{
	uint32_t n = pgft->f->n_switches;
	struct tree_order_growth growth = { .row = osr_calloc(scratch, (size_t)n + 2,
							      sizeof(*growth.row)),
					    .member = osr_alloc(scratch, n, sizeof(*growth.member)),
					    .queue = osr_alloc(scratch, n, sizeof(*growth.queue)),
					    .seen = osr_calloc(scratch, n, sizeof(*growth.seen)) };
	uint32_t *set = osr_alloc(scratch, n, sizeof(*set));
	enum osr_status st;

	*order = (struct osr_tree_order){ .f = pgft->f, .p = pgft, .n = n };
	st = tree_order_allocate(order, scratch, diag);
	if (st)
		return st;
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < pgft->n_trees; i++)
		order->h = pgft->tree[i].h > order->h ? pgft->tree[i].h : order->h;
	tree_order_planes(order, set, growth.queue);
	tree_order_sort(order, &growth);
	/* set[]: how many parents each switch has. */
	memset(growth.queue, 0xff, n * sizeof(*growth.queue));
	for (uint32_t s = 0; s < n; s++)
		set[s] = tree_order_ways(order, s, growth.queue, NULL);
	memset(growth.queue, 0xff, n * sizeof(*growth.queue));
	for (uint32_t i = 0; i < pgft->n_trees; i++)
		order->entry[tree_order_root(order, &pgft->tree[i], growth.queue, set)] = 1;
	for (uint32_t l = 1; l < order->h; l++)
		tree_order_anchor_level(order, &growth, l);
	tree_order_search_outside(order, growth.seen, growth.queue);
	return tree_order_number(order, set, growth.queue, diag);
}

uint32_t osr_tree_order_parents(const struct osr_tree_order *order, uint32_t *by_number,
				uint32_t *depth, uint32_t *parent)
{
	const struct osr_fabric *fabric = order->f;
	uint32_t n_roots = 0;

	for (uint32_t s = 0; s < order->n; s++)
		by_number[order->number[s]] = s;
	for (uint32_t i = 0; i < order->n; i++) {
		uint32_t s = by_number[i], best = OSR_NONE;

		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			uint32_t t = fabric->chan_dst[c],
				 b = best == OSR_NONE ? 0 : fabric->chan_dst[best];

			if (order->number[t] > i)
				continue;
			if (best == OSR_NONE || depth[t] < depth[b] ||
			    (depth[t] == depth[b] && order->number[t] < order->number[b]))
				best = c;
		}
		parent[s] = best;
		depth[s] = best == OSR_NONE ? 0 : depth[fabric->chan_dst[best]] + 1;
		n_roots += best == OSR_NONE;
	}
	return n_roots;
}

/* Multicast: up to the parents, cut down to what lies between end ports. */
static enum osr_status tree_order_mcast(const struct osr_tree_order *order,
					struct osr_arena *scratch, struct osr_arena *result,
					struct osr_routing *routing, struct osr_diag *diag)
{
	uint32_t *by_number = osr_alloc(scratch, order->n, sizeof(*by_number));
	uint32_t *depth = osr_calloc(scratch, order->n, sizeof(*depth));
	uint32_t *tree = osr_alloc(scratch, order->n, sizeof(*tree));

	routing->mcast_parent = osr_alloc(result, order->n, sizeof(*routing->mcast_parent));
	if (osr_arena_failed(scratch, diag) || osr_arena_failed(result, diag))
		return OSR_NOMEM;
	osr_tree_order_parents(order, by_number, depth, tree);
	routing->claims |= OSR_CLAIM_MULTICAST;
	return osr_mcast_take(order->f, tree, scratch, routing->mcast_parent, diag);
}

enum osr_status osr_tree_order_certify(const struct osr_tree_order *order,
				       const struct osr_request *req, struct osr_arena *scratch,
				       struct osr_arena *result, struct osr_routing *routing,
				       struct osr_diag *diag)
{
	routing->rank = osr_alloc(result, order->f->n_channels, sizeof(*routing->rank));
	if (osr_arena_failed(result, diag))
		return OSR_NOMEM;
	/* Up the order by falling numbers, then down by rising ones: packets travel to higher ranks. */
	for (uint32_t c = 0; c < order->f->n_channels; c++) {
		uint32_t from = order->number[order->f->chan_src[c]],
			 to = order->number[order->f->chan_dst[c]];

		routing->rank[c] = to < from ? order->n - from : order->n + to;
	}
	routing->n_vls = routing->n_layers = routing->n_layers_one_way = 1;
	routing->claims |= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	return req->multicast ? tree_order_mcast(order, scratch, result, routing, diag) : OSR_OK;
}
