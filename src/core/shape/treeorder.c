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

static enum osr_status tree_order_no_memory(const struct osr_tree_order *o, struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for the order of %u switches", o->n);
}

static uint32_t tree_order_set_of(uint32_t *set, uint32_t i)
{
	while (set[i] != i)
		i = set[i] = set[set[i]];
	return i;
}

/*
 * o->plane, top level first. A plane goes by its lowest switch of the level it begins on, so that
 * no two have one name.
 */
static void tree_order_planes(struct osr_tree_order *o, uint32_t *set, uint32_t *name)
{
	const struct osr_fabric *f = o->f;

	for (uint32_t s = 0; s < o->n; s++)
		set[s] = s;
	for (uint32_t l = o->h; l >= 1; l--) {
		for (uint32_t c = 0; c < f->n_channels; c++) {
			uint32_t a, b;

			if (o->p->sw_level[f->chan_src[c]] != l || !osr_tree_order_is_up(o, c))
				continue;
			a = tree_order_set_of(set, f->chan_src[c]);
			b = tree_order_set_of(set, f->chan_dst[c]);
			set[a > b ? a : b] = a > b ? b : a;
		}
		memset(name, 0xff, o->n * sizeof(*name));
		for (uint32_t s = 0; s < o->n; s++) {
			uint32_t piece = o->p->sw_level[s] == l ? tree_order_set_of(set, s) : 0;

			if (o->p->sw_level[s] != l)
				continue;
			if (name[piece] == OSR_NONE)
				name[piece] = s;
			o->plane[s] = name[piece];
		}
	}
}

/* The leaf with the most ways up two levels; the lowest place among equals. */
static uint32_t tree_order_root(const struct osr_tree_order *o, const struct osr_pgft_tree *t)
{
	const struct osr_fabric *f = o->f;
	uint32_t best = OSR_NONE, best_score = 0, n_leaves = t->m_product[t->h] / t->m[1];

	for (uint32_t a = 0; a < n_leaves; a++) {
		uint32_t s = t->place[1][a], score = 1;

		for (uint32_t c = s == OSR_NONE ? 0 : f->chan_row[s];
		     s != OSR_NONE && c < f->chan_row[s + 1]; c++) {
			uint32_t u = f->chan_dst[c];

			for (uint32_t e = f->chan_row[u]; osr_tree_order_is_up(o, c) && e < f->chan_row[u + 1];
			     e++)
				score += 1 + 255 * osr_tree_order_is_up(o, e);
		}
		if (s == OSR_NONE || score <= best_score)
			continue;
		best = s;
		best_score = score;
	}
	return best;
}

struct tree_order_growth {
	uint32_t *row, *member; /* switches by plane: member[row[plane]] .. */
	uint32_t *queue, n_queue;
	uint8_t *seen; /* [n] of the level under way: hangs on something that is held */
};

/* All switches below this plane are now connected. */
static void tree_order_see_below(struct osr_tree_order *o, struct tree_order_growth *g, uint32_t plane)
{
	const struct osr_fabric *f = o->f;

	for (uint32_t i = g->row[plane]; i < g->row[plane + 1]; i++) {
		uint32_t u = g->member[i];

		for (uint32_t c = f->chan_row[u]; c < f->chan_row[u + 1]; c++) {
			uint32_t s = f->chan_dst[c];

			if (g->seen[s] || !osr_tree_order_is_up(o, f->chan_rev[c]))
				continue;
			g->seen[s] = 1;
			g->queue[g->n_queue++] = s;
		}
	}
}

/* Switch s osr_tree_order_anchors the planes of its parents that nobody osr_tree_order_anchors yet. */
static void tree_order_anchor_parents(struct osr_tree_order *o, struct tree_order_growth *g, uint32_t s)
{
	const struct osr_fabric *f = o->f;

	for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++) {
		uint32_t plane;

		if (!osr_tree_order_is_up(o, c))
			continue;
		plane = o->plane[f->chan_dst[c]];
		if (o->mode[plane] != OSR_ANCHOR_NOT)
			continue;
		o->mode[plane] = o->entry[s] ? OSR_ANCHOR_ENTRIES : OSR_ANCHOR_ONE;
		o->anchor[plane] = s;
		tree_order_see_below(o, g, plane);
	}
}

/* Level l: its entries first, then, breadth first, whoever hangs on what is held. */
static void tree_order_anchor_level(struct osr_tree_order *o, struct tree_order_growth *g, uint32_t l)
{
	const struct osr_fabric *f = o->f;

	g->n_queue = 0;
	for (uint32_t s = 0; s < o->n; s++)
		if (o->p->sw_level[s] == l && o->entry[s]) {
			g->seen[s] = 1;
			g->queue[g->n_queue++] = s;
		}
	for (uint32_t i = 0; i < g->n_queue; i++)
		tree_order_anchor_parents(o, g, g->queue[i]);
	for (uint32_t c = 0; c < f->n_channels; c++)
		if (o->p->sw_level[f->chan_src[c]] == l && osr_tree_order_is_up(o, c) &&
		    osr_tree_order_anchors(o, f->chan_src[c], f->chan_dst[c]))
			o->entry[f->chan_dst[c]] = 1;
}

static void tree_order_sort(struct osr_tree_order *o, struct tree_order_growth *g)
{
	for (uint32_t s = 0; s < o->n; s++)
		g->row[o->plane[s]] += o->p->sw_level[s] > 1;
	for (uint32_t s = 0; s < o->n; s++)
		g->row[s + 1] += g->row[s];
	for (uint32_t s = o->n; s-- > 0;)
		if (o->p->sw_level[s] > 1)
			g->member[--g->row[o->plane[s]]] = s;
}

/* Above in the order, for two neighbours. */
static bool tree_order_above(const struct osr_tree_order *o, uint32_t a, uint32_t b)
{
	uint8_t la = o->p->sw_level[a], lb = o->p->sw_level[b];

	if (!la || !lb)
		return la || (!lb && o->outside[a] < o->outside[b]);
	return la < lb ? osr_tree_order_anchors(o, a, b) : !osr_tree_order_anchors(o, b, a);
}

/* Outside the tree, but on a switch of it. */
static bool tree_order_hangs(const struct osr_tree_order *o, uint32_t s)
{
	uint32_t c = o->f->chan_row[s];

	return !o->p->sw_level[s] && c < o->f->chan_row[s + 1] &&
	       o->p->sw_level[o->f->chan_dst[c]];
}

/*
 * Components without a tree (service ports at most): breadth first from the lowest switch, so that
 * everybody but that one has a neighbour above.
 */
static void tree_order_search_outside(struct osr_tree_order *o, uint8_t *seen, uint32_t *queue)
{
	const struct osr_fabric *f = o->f;
	uint32_t n = 0, done = 0;

	memset(seen, 0, o->n);
	for (uint32_t s = 0; s < o->n; s++) {
		if (seen[s] || o->p->sw_level[s] || tree_order_hangs(o, s))
			continue;
		seen[s] = 1;
		queue[n++] = s;
		for (; done < n; done++) {
			uint32_t v = queue[done];

			o->outside[v] = done;
			for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
				uint32_t t = f->chan_dst[c];

				if (seen[t])
					continue;
				seen[t] = 1;
				queue[n++] = t;
			}
		}
	}
}

/* Numbers switches so that whoever is above a neighbour has a lower number. */
static enum osr_status tree_order_number(struct osr_tree_order *o, uint32_t *waits, uint32_t *queue,
					 struct osr_diag *diag)
{
	const struct osr_fabric *f = o->f;
	uint32_t n = 0;

	memset(waits, 0, o->n * sizeof(*waits));
	for (uint32_t c = 0; c < f->n_channels; c++)
		waits[f->chan_dst[c]] += tree_order_above(o, f->chan_src[c], f->chan_dst[c]);
	for (uint32_t s = 0; s < o->n; s++)
		if (!waits[s])
			queue[n++] = s;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s = queue[i];

		o->number[s] = i;
		for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++)
			if (tree_order_above(o, s, f->chan_dst[c]) && --waits[f->chan_dst[c]] == 0)
				queue[n++] = f->chan_dst[c];
	}
	if (n < o->n)
		return osr_fail(
			diag, OSR_NOT_APPLICABLE,
			"no order of the %u switches keeps all routes of this tree on one lane",
			o->n);
	return OSR_OK;
}

static enum osr_status tree_order_allocate(struct osr_tree_order *o, struct osr_arena *a,
					   struct osr_diag *diag)
{
	o->number = osr_alloc(a, o->n, sizeof(*o->number));
	o->plane = osr_alloc(a, o->n, sizeof(*o->plane));
	o->mode = osr_calloc(a, o->n, sizeof(*o->mode));
	o->anchor = osr_alloc(a, o->n, sizeof(*o->anchor));
	o->entry = osr_calloc(a, o->n, sizeof(*o->entry));
	o->outside = osr_calloc(a, o->n, sizeof(*o->outside));
	if (!o->number || !o->plane || !o->mode || !o->anchor || !o->entry || !o->outside)
		return tree_order_no_memory(o, diag);
	memset(o->anchor, 0xff, o->n * sizeof(*o->anchor));
	for (uint32_t s = 0; s < o->n; s++)
		o->plane[s] = s;
	return OSR_OK;
}

enum osr_status osr_tree_order_find(const struct osr_pgft *p, struct osr_arena *scratch,
				    struct osr_tree_order *o, struct osr_diag *diag)
{
	uint32_t n = p->f->n_switches;
	struct tree_order_growth g = { .row = osr_calloc(scratch, (size_t)n + 2, sizeof(*g.row)),
				       .member = osr_alloc(scratch, n, sizeof(*g.member)),
				       .queue = osr_alloc(scratch, n, sizeof(*g.queue)),
				       .seen = osr_calloc(scratch, n, sizeof(*g.seen)) };
	uint32_t *set = osr_alloc(scratch, n, sizeof(*set));
	enum osr_status st;

	*o = (struct osr_tree_order){ .f = p->f, .p = p, .n = n };
	st = tree_order_allocate(o, scratch, diag);
	if (st)
		return st;
	if (!set || !g.row || !g.member || !g.queue || !g.seen)
		return tree_order_no_memory(o, diag);
	for (uint32_t i = 0; i < p->n_trees; i++)
		o->h = p->tree[i].h > o->h ? p->tree[i].h : o->h;
	tree_order_planes(o, set, g.queue);
	tree_order_sort(o, &g);
	for (uint32_t i = 0; i < p->n_trees; i++)
		o->entry[tree_order_root(o, &p->tree[i])] = 1;
	for (uint32_t l = 1; l < o->h; l++)
		tree_order_anchor_level(o, &g, l);
	tree_order_search_outside(o, g.seen, g.queue);
	return tree_order_number(o, set, g.queue, diag);
}

/*
 * Multicast: everybody's parent is a neighbour above in the order, as close to the root as possible
 * and as high as possible, so that all choose the same; cut down to what lies between end ports.
 */
static enum osr_status tree_order_mcast(const struct osr_tree_order *o, struct osr_arena *scratch,
					struct osr_arena *result, struct osr_routing *r,
					struct osr_diag *diag)
{
	const struct osr_fabric *f = o->f;
	uint32_t *by_number = osr_alloc(scratch, o->n, sizeof(*by_number));
	uint32_t *depth = osr_calloc(scratch, o->n, sizeof(*depth));
	uint8_t *keep = osr_calloc(scratch, o->n, 1);

	r->mcast_parent = osr_alloc(result, o->n, sizeof(*r->mcast_parent));
	if (!by_number || !depth || !keep || !r->mcast_parent)
		return tree_order_no_memory(o, diag);
	for (uint32_t s = 0; s < o->n; s++)
		by_number[o->number[s]] = s;
	for (uint32_t i = 0; i < o->n; i++) {
		uint32_t s = by_number[i], best = OSR_NONE;

		for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++) {
			uint32_t t = f->chan_dst[c], b = best == OSR_NONE ? 0 : f->chan_dst[best];

			if (o->number[t] > i)
				continue;
			if (best == OSR_NONE || depth[t] < depth[b] ||
			    (depth[t] == depth[b] && o->number[t] < o->number[b]))
				best = c;
		}
		r->mcast_parent[s] = best;
		depth[s] = best == OSR_NONE ? 0 : depth[f->chan_dst[best]] + 1;
	}
	for (uint32_t i = o->n; i-- > 0;) {
		uint32_t s = by_number[i], up = r->mcast_parent[s];

		keep[s] |= f->sw_sources[s] > 0;
		if (!keep[s])
			r->mcast_parent[s] = OSR_NONE;
		else if (up != OSR_NONE)
			keep[f->chan_dst[up]] = 1;
	}
	r->claims |= OSR_CLAIM_MULTICAST;
	return OSR_OK;
}

enum osr_status osr_tree_order_certify(const struct osr_tree_order *o,
				       const struct osr_request *req, struct osr_arena *scratch,
				       struct osr_arena *result, struct osr_routing *r,
				       struct osr_diag *diag)
{
	r->rank = osr_alloc(result, o->f->n_channels, sizeof(*r->rank));
	if (!r->rank)
		return tree_order_no_memory(o, diag);
	/* Up the order by falling numbers, then down by rising ones: packets travel to higher ranks. */
	for (uint32_t c = 0; c < o->f->n_channels; c++) {
		uint32_t from = o->number[o->f->chan_src[c]], to = o->number[o->f->chan_dst[c]];

		r->rank[c] = to < from ? o->n - from : o->n + to;
	}
	r->n_vls = r->n_layers = r->n_layers_one_way = 1;
	r->claims |= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	return req->multicast ? tree_order_mcast(o, scratch, result, r, diag) : OSR_OK;
}
