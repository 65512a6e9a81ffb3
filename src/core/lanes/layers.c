/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See layers.h. A layering is one byte per unit: which layer it travels in. Units are routes
 * (dest, source switch), or in reversible mode pairs of switches; both are rows of n_switches
 * bytes, so every sweep below works on either.
 *
 * Sweeps go over a destination's tree in settling order: from the far end towards the destination
 * to count what passes an edge, from the destination outwards to hand down that a route is cut.
 */
#include <osmroutes/layers.h>

#include <string.h>

#include "core/paths/mcast.h"

#include "layers_private.h"
#include "tables.h"

/* ---- all trees, by several threads ------------------------------------------------------------ */

/* One thread's part: weights and marks of its own, and what it has counted. */
struct layer_member {
	struct layering w;
	struct osr_cdg g;
	uint8_t layer;
	uint64_t n_stay, n_cut;
};

struct layer_team {
	struct layer_member *member;
	void (*tree)(struct layer_member *member, uint32_t d);
};

/* Dests of one switch go together: with pairs they share their marks. */
static void layer_team_switch(void *ctx, uint32_t i, uint32_t root)
{
	struct layer_team *team = ctx;
	struct layer_member *member = &team->member[i];
	const struct osr_spf *spf = member->w.s;

	for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++)
		if (member->w.busy[spf->dest_list[k]])
			team->tree(member, spf->dest_list[k]);
}

static void layer_team_run(struct layering *w, uint8_t layer,
			   void (*tree)(struct layer_member *member, uint32_t d))
{
	struct layer_team team = { .member = w->member, .tree = tree };

	for (uint32_t i = 0; i < w->n_members; i++) {
		struct layer_member *member = &w->member[i];
		uint32_t *count = member->w.count;
		uint8_t *cut = member->w.cut;

		member->w = *w;
		member->w.count = count;
		member->w.cut = cut;
		member->w.g = &member->g;
		member->layer = layer;
		member->n_stay = member->n_cut = 0;
	}
	osr_threads_share(w->work->scratch, layer_team_switch, &team, w->n_members,
			  w->s->f->n_switches);
}

static bool layer_team_init(struct layering *w, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = w->s->f;

	w->n_members = osr_threads_parts(scratch, (uint64_t)fabric->n_dests * fabric->n_switches);
	w->member = osr_calloc(scratch, w->n_members, sizeof(*w->member));
	for (uint32_t i = 0; w->member && i < w->n_members; i++) {
		struct layer_member *member = &w->member[i];

		member->g = *w->g;
		member->w.count = osr_alloc(scratch, fabric->n_switches, sizeof(*w->count));
		member->w.cut = osr_alloc(scratch, fabric->n_switches, 1);
		if (i)
			member->g.weight = osr_alloc(scratch, w->g->n_slots, sizeof(*w->g->weight));
	}
	return !osr_arena_failed(scratch, w->work->diag);
}

/*
 * In the last layers few routes are left. Of a tree that has less than one in so many in this layer
 * each is followed by itself.
 */
#define SPARSE 4

/* A sample of the routes, where counting all of them for each layer would take seconds. */
#define SAMPLE_SLOTS (1u << 20) /* pairs of channels, at least: their weights fill no cache */
#define SAMPLE_ROUTES 16        /* for each of these: to judge an order by */
#define SAMPLE_STEP 5           /* of so many LIDs one at least: later layers have fewer routes */
#define SAMPLE_LEFT 10000       /* 1 in so many without a layer: all of them will not fit, either */

static bool is_sparse(const struct layering *w, uint32_t d)
{
	return (uint64_t)w->busy[d] * SPARSE < w->s->n_order[w->s->f->dest_switch[d]];
}

/* The next switch from v on whose route to d travels in this layer; n_switches: none. */
static uint32_t next_in_layer(const struct layer_member *member, uint32_t d, uint32_t v)
{
	const uint8_t *row = osr__layer_row(&member->w, d), *at;
	const struct osr_fabric *fabric = member->w.s->f;
	uint32_t n = fabric->n_switches;

	for (; (at = v < n ? memchr(row + v, member->layer, n - v) : NULL); v++) {
		v = (uint32_t)(at - row);
		if (v != fabric->dest_switch[d] && osr__is_counted(fabric, d, v))
			return v;
	}
	return n;
}

static void weigh_routes(struct layer_member *member, uint32_t d)
{
	const struct layering *w = &member->w;
	const struct osr_fabric *fabric = w->s->f;
	uint32_t n = fabric->n_switches, root = fabric->dest_switch[d], slot;
	const uint8_t *hop = w->s->hop + (size_t)d * n;

	for (uint32_t v = next_in_layer(member, d, 0); v < n; v = next_in_layer(member, d, v + 1))
		for (uint32_t u = v; (slot = osr__dependency(w, hop, root, u)) != OSR_NONE;
		     u = osr__next_switch(w, hop, u))
			w->g->weight[slot]++;
}

/* Adds up what each edge carries of a tree. */
static void weigh_tree(struct layer_member *member, uint32_t d)
{
	const struct layering *w = &member->w;
	const struct osr_spf *spf = w->s;
	const struct osr_fabric *fabric = spf->f;
	uint32_t n = fabric->n_switches, *count = w->count, root = fabric->dest_switch[d];
	const uint8_t *hop = spf->hop + (size_t)d * n, *row = osr__layer_row(w, d);
	const uint16_t *order = spf->order + (size_t)root * n;
	bool sp0 = osr__is_sp0(fabric, d);

	if (is_sparse(w, d)) {
		weigh_routes(member, d);
		return;
	}
	for (uint32_t v = 0; v < n; v++)
		count[v] = row[v] == member->layer;
	for (uint32_t v = 0; sp0 && v < n; v++)
		count[v] &= fabric->sw_sources[v] != 0;
	for (uint32_t i = spf->n_order[root]; i-- > 1;) {
		uint32_t v = order[i], slot;

		if (!count[v])
			continue;
		slot = osr__dependency(w, hop, root, v);
		if (slot == OSR_NONE)
			continue;
		w->g->weight[slot] += count[v];
		count[fabric->chan_dst[fabric->chan_row[v] + hop[v]]] += count[v];
	}
}

/* Adds up what each edge carries in this layer. */
static void weigh_layer(struct layering *w, uint8_t layer)
{
	for (uint32_t i = 0; i < w->n_members; i++)
		memset(w->member[i].g.weight, 0, w->g->n_slots * sizeof(*w->g->weight));
	layer_team_run(w, layer, weigh_tree);
	for (uint32_t i = 1; i < w->n_members; i++)
		for (uint32_t e = 0; e < w->g->n_slots; e++)
			w->g->weight[e] += w->member[i].g.weight[e];
	if (layer == 0 && w->mcast)
		osr_mcast_depend(w->mcast->mcast_parent, w->g);
}

/*
 * Which switches' routes to d have an edge that is backward in an order: cut[]. A route that travels
 * in the layer has only edges that the layer weighs.
 */
static void cut_tree(const struct layering *w, const uint32_t *rank, uint32_t d)
{
	const struct osr_fabric *fabric = w->s->f;
	const uint8_t *hop = w->s->hop + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d], *onward = w->count;
	const uint16_t *order = w->s->order + (size_t)root * fabric->n_switches;
	uint8_t *cut = w->cut;

	cut[root] = 0;
	onward[root] = UINT32_MAX; /* the rank of the channel by which a switch sends on */
	for (uint32_t i = 1; i < w->s->n_order[root]; i++) {
		uint32_t v = order[i], c = fabric->chan_row[v] + hop[v], u = fabric->chan_dst[c];

		onward[v] = rank[c];
		cut[v] = cut[u] | (onward[u] < rank[c]);
	}
}

static bool route_is_cut(const struct layering *w, const uint32_t *rank, const uint8_t *hop,
			 uint32_t root, uint32_t v)
{
	const struct osr_fabric *fabric = w->s->f;

	for (uint32_t c = fabric->chan_row[v] + hop[v], on; fabric->chan_dst[c] != root; c = on) {
		on = fabric->chan_row[fabric->chan_dst[c]] + hop[fabric->chan_dst[c]];
		if (rank[on] < rank[c])
			return true;
	}
	return false;
}

/* The same as cut_tree() and what follows on it, for few routes. */
static void cut_each(struct layer_member *member, uint32_t d)
{
	struct layering *w = &member->w;
	const struct osr_fabric *fabric = w->s->f;
	const uint32_t *rank = w->rank + (size_t)member->layer * fabric->n_channels;
	uint32_t n = fabric->n_switches, root = fabric->dest_switch[d];
	const uint8_t *hop = w->s->hop + (size_t)d * n;
	uint8_t *row = osr__layer_row(w, d);

	w->more[d] = 0;
	for (uint32_t v = next_in_layer(member, d, 0); v < n; v = next_in_layer(member, d, v + 1)) {
		bool cut = route_is_cut(w, rank, hop, root, v);

		row[v] += cut;
		w->more[d] += cut;
		member->n_stay += !cut;
		member->n_cut += cut;
	}
}

/* Moves every unit with a route to d that is cut to the next layer; counts those that stay. */
static void cut_routes(struct layer_member *member, uint32_t d)
{
	struct layering *w = &member->w;
	const struct osr_spf *spf = w->s;
	const struct osr_fabric *fabric = spf->f;
	uint8_t layer = member->layer, *row = osr__layer_row(w, d), *marks;
	uint32_t n = fabric->n_switches, root = fabric->dest_switch[d];
	const uint16_t *order = spf->order + (size_t)root * n;
	bool sp0 = osr__is_sp0(fabric, d);

	if (is_sparse(w, d)) {
		cut_each(member, d);
		return;
	}
	w->more[d] = w->pairs ? n : 0;
	marks = w->pairs ? w->cut_pair + (size_t)root * n : row;
	cut_tree(w, w->rank + (size_t)layer * fabric->n_channels, d);
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint32_t v = order[i];

		if (row[v] != layer || (sp0 && !fabric->sw_sources[v]))
			continue;
		member->n_stay += !w->cut[v];
		member->n_cut += w->cut[v];
		if (!w->cut[v])
			continue;
		w->more[d] += !w->pairs;
		marks[v] = w->pairs ? 1 : layer + 1;
	}
}

static uint64_t cut_layer(struct layering *w, uint8_t layer, uint64_t *n_stay)
{
	uint64_t n_cut = 0;

	*n_stay = 0;
	if (w->pairs)
		memset(w->cut_pair, 0, (size_t)w->s->f->n_switches * w->s->f->n_switches);
	layer_team_run(w, layer, cut_routes);
	for (uint32_t i = 0; i < w->n_members; i++) {
		*n_stay += w->member[i].n_stay;
		n_cut += w->member[i].n_cut;
	}
	return n_cut;
}

/* A pair moves if a route of either direction is cut. */
static void cut_pairs(struct layering *w, uint8_t layer)
{
	uint32_t n = w->s->f->n_switches;

	for (size_t a = 0; a < n; a++) {
		for (size_t b = a + 1; b < n; b++) {
			bool moves = w->cut_pair[a * n + b] | w->cut_pair[b * n + a];

			if (moves && w->layer[a * n + b] == layer)
				w->layer[a * n + b] = w->layer[b * n + a] = layer + 1;
		}
	}
}

/*
 * Is the layer free of cycles as it is? Then its topological order is the certificate, and a finer
 * one than that of the heuristic.
 */
static bool try_sort(struct layering *w, uint8_t layer, struct osr_arena *scratch)
{
	return osr_cdg_sort(w->g, scratch, w->rank + (size_t)layer * w->s->f->n_channels);
}

/*
 * What is cut shrinks from layer to layer by a factor that changes little. If at this pace a
 * thousandth of the routes is still left after the budget, the rest of the work is not worth
 * starting: for layerings that are only tried.
 */
static bool hopeless(const struct layering *w, uint64_t n_cut, uint64_t before, uint8_t layer,
		     uint8_t limit)
{
	double left = (double)n_cut, pace = before ? left / (double)before : 0;
	uint64_t total = n_cut;

	for (uint32_t i = 0; i <= layer; i++)
		total += w->paths[i];
	for (uint32_t i = layer + 1u; i < limit; i++)
		left *= pace;
	return left * 1000 > (double)total;
}

/* The order of this layer, which is its certificate: routes that go backward in it are cut. */
static enum osr_status plan_layer(struct layering *w, uint8_t layer, struct osr_arena *scratch,
				  struct osr_diag *diag)
{
	size_t m = w->s->f->n_channels;

	/*
	 * The first layer of pairs starts with the routes that the first layer of routes started
	 * with; the same of all routes and a sample.
	 */
	if (layer == 0 && w->first) {
		memmove(w->rank, w->first, m * sizeof(*w->rank));
		return OSR_OK;
	}
	weigh_layer(w, layer);
	if (try_sort(w, layer, scratch))
		return OSR_OK;
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	return osr_cdg_order(w->g, w->s->center, scratch, w->rank + layer * m, diag);
}

/* All routes with an edge that is backward in an order move at once. */
static enum osr_status cut_by_order(struct layering *w, uint8_t layer, struct osr_arena *scratch,
				    uint64_t *n_cut, struct osr_diag *diag)
{
	enum osr_status st = plan_layer(w, layer, scratch, diag);

	if (st)
		return st;
	*n_cut = cut_layer(w, layer, &w->paths[layer]);
	if (w->pairs)
		cut_pairs(w, layer);
	return OSR_OK;
}

/* Routes that travel in this layer. */
static uint64_t count_layer(const struct layering *w, uint8_t layer)
{
	const struct osr_spf *spf = w->s;
	uint64_t n = 0;

	for (uint32_t d = 0; d < spf->f->n_dests; d++) {
		const uint8_t *row = osr__layer_row(w, d);
		uint32_t root = spf->f->dest_switch[d];
		const uint16_t *order = spf->order + (size_t)root * spf->f->n_switches;

		for (uint32_t i = 1; w->busy[d] && i < spf->n_order[root]; i++)
			n += row[order[i]] == layer && osr__is_counted(spf->f, d, order[i]);
	}
	return n;
}

/* The paper's way; the certificate of what stays is the topological order of its dependencies. */
static enum osr_status cut_by_cycles(struct layering *w, uint8_t layer, struct osr_arena *scratch,
				     uint64_t *n_cut, struct osr_diag *diag)
{
	enum osr_status st;

	weigh_layer(w, layer);
	st = osr__break_cycles(w, layer, scratch, n_cut, diag);
	if (st)
		return st;
	w->paths[layer] = count_layer(w, layer);
	if (try_sort(w, layer, scratch))
		return OSR_OK;
	return osr_arena_failed(scratch, diag)
		       ? OSR_NOMEM
		       : osr_fail(diag, OSR_BUG, "layer %u kept a cycle", layer);
}

enum osr_status osr__no_vl(const struct layering *w, uint8_t limit, struct osr_diag *diag)
{
	return osr_fail(
		diag, OSR_NO_VL,
		"more than the %u virtual lane%s of the budget are needed to break all cycles%s",
		limit, limit == 1 ? "" : "s",
		w->pairs ? " with replies on the SL of their request" : "");
}

static enum osr_status layer_by_layer(struct layering *w, uint8_t limit, struct osr_arena *scratch,
				      struct osr_diag *diag)
{
	/* The paper has no pairs: these are cut by an order. */
	bool by_order = w->pairs || w->opt->heuristic == OSR_HEURISTIC_ORDER;
	uint64_t before = 0;

	for (uint8_t layer = 0; layer < limit; layer++) {
		uint64_t n_cut = 0;
		enum osr_status st =
			(by_order ? cut_by_order : cut_by_cycles)(w, layer, scratch, &n_cut, diag);

		if (st)
			return st;
		w->n_layers = layer + 1u;
		w->n_left = n_cut;
		if (!n_cut)
			return OSR_OK;
		if (w->may_give_up && hopeless(w, n_cut, before, layer, limit))
			break;
		before = n_cut;
		for (uint32_t d = 0; d < w->s->f->n_dests; d++)
			w->busy[d] = w->busy[d] ? w->more[d] : 0;
	}
	return osr__no_vl(w, limit, diag);
}

/* Every how many-th LID of a switch has enough routes to tell what an order costs. */
static uint32_t sample_step(const struct layering *w)
{
	const struct osr_fabric *fabric = w->s->f;
	uint64_t n_routes = (uint64_t)fabric->n_dests * fabric->n_switches,
		 enough = (uint64_t)SAMPLE_ROUTES * w->g->n_slots;

	if (w->pairs || w->opt->heuristic != OSR_HEURISTIC_ORDER || w->g->n_slots < SAMPLE_SLOTS ||
	    n_routes < 2 * enough)
		return 1;
	return n_routes / enough < SAMPLE_STEP ? (uint32_t)(n_routes / enough) : SAMPLE_STEP;
}

/* All routes are in the first layer, those to one in `step` LIDs of a switch are looked at. */
static void start_layers(struct layering *w, uint32_t step)
{
	const struct osr_spf *spf = w->s;
	size_t n = spf->f->n_switches, n_rows = w->pairs ? n : spf->f->n_dests;

	memset(w->layer, 0, n_rows * n);
	for (uint32_t v = 0; v < n; v++)
		for (uint32_t k = spf->dest_row[v]; k < spf->dest_row[v + 1]; k++)
			w->busy[spf->dest_list[k]] =
				spf->alias[spf->dest_list[k]] == OSR_NONE && k % step == 0 ? n : 0;
}

/* Is so much of a sample left without a layer that nothing is to be hoped for from all routes? */
static bool sample_decides(const struct layering *w)
{
	uint64_t n_fit = 0;

	for (uint32_t i = 0; i < w->n_layers; i++)
		n_fit += w->paths[i];
	return w->n_left > n_fit / SAMPLE_LEFT;
}

/*
 * Where there are many routes for each dependency, a part of them is tried first: lanes that do not
 * suffice for these do not for all, and their orders serve for what is tried next.
 */
static enum osr_status find_layers(struct layering *w)
{
	const struct osr_lane_work *work = w->work;
	uint8_t limit = work->req->max_vls < OSR_MAX_VLS ? work->req->max_vls : OSR_MAX_VLS;
	uint32_t step = sample_step(w);
	enum osr_status st;

	start_layers(w, step);
	if (w->opt->heuristic == OSR_HEURISTIC_ONLINE)
		return osr__add_online(w, limit, work->scratch, work->diag);
	st = layer_by_layer(w, limit, work->scratch, work->diag);
	if (step == 1 || (st && st != OSR_NO_VL) || (st && sample_decides(w)))
		return st;
	if (work->diag)
		work->diag->text[0] = 0;
	w->first = w->rank;
	start_layers(w, 1);
	return layer_by_layer(w, limit, work->scratch, work->diag);
}

/* layer[]: rows of pairs, or of LIDs. Of *w, work, the graph and the options are there. */
static enum osr_status layering_init(struct layering *w, bool pairs, uint8_t *layer, uint32_t *rank)
{
	struct osr_arena *scratch = w->work->scratch;
	const struct osr_spf *spf = w->s;
	const struct osr_fabric *fabric = spf->f;
	size_t n = fabric->n_switches;

	w->pairs = pairs;
	w->layer = layer;
	w->rank = rank;
	w->cut = osr_alloc(scratch, n, 1);
	if (!rank)
		w->rank = osr_alloc(scratch, (size_t)OSR_MAX_VLS * fabric->n_channels,
				    sizeof(*w->rank));
	w->busy = osr_alloc(scratch, fabric->n_dests, sizeof(*w->busy));
	w->more = osr_alloc(scratch, fabric->n_dests, sizeof(*w->more));
	if (pairs)
		w->cut_pair = osr_alloc(scratch, n * n, 1);
	if (!layer_team_init(w, scratch))
		return OSR_NOMEM;
	return OSR_OK;
}

/* ---- VLs ------------------------------------------------------------------------------------- */

static enum osr_status set_lanes(const struct layering *w)
{
	uint8_t swap, *sl = w->work->r->sl;
	uint32_t n = w->s->f->n_switches;
	enum osr_status st =
		osr__tables_certify(w->work, w->rank, w->n_layers, w->mcast != NULL, &swap);

	if (st)
		return st;
	for (uint32_t d = 0; d < w->s->f->n_dests; d++) {
		const uint8_t *row = osr__layer_row(w, d); /* may be sl itself */

		for (uint32_t v = 0; w->s->alias[d] == OSR_NONE && v < n; v++)
			sl[(size_t)d * n + v] = osr__tables_vl(row[v], swap);
	}
	osr__tables_share_sls(w->s, sl);
	return OSR_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/*
 * Marks the dependencies of the trees of n end ports of a switch, from every switch. Switch by switch, not tree by
 * tree: the weights of a switch lie together.
 */
static void mark_trees(const struct layering *w, uint32_t root, const uint32_t *dest, uint32_t n)
{
	const struct osr_spf *spf = w->s;
	const struct osr_fabric *fabric = spf->f;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		for (uint32_t k = 0; k < n; k++) {
			const uint8_t *hop = spf->hop + (size_t)dest[k] * fabric->n_switches;
			uint32_t slot =
				hop[v] == OSR_NO_PATH ? OSR_NONE : osr__dependency(w, hop, root, v);

			if (slot != OSR_NONE)
				w->g->weight[slot] = 1;
		}
	}
}

/* The same for a port 0, which only switches with end ports send to. sends[n_switches] is overwritten. */
static void mark_sp0_tree(const struct layering *w, uint32_t d, uint32_t *sends)
{
	const struct osr_spf *spf = w->s;
	const struct osr_fabric *fabric = spf->f;
	uint32_t n = fabric->n_switches, root = fabric->dest_switch[d];
	const uint8_t *hop = spf->hop + (size_t)d * n;
	const uint16_t *order = spf->order + (size_t)root * n;

	memcpy(sends, fabric->sw_sources, n * sizeof(*sends));
	for (uint32_t i = spf->n_order[root]; i-- > 1;) {
		uint32_t v = order[i], slot = osr__dependency(w, hop, root, v);

		if (slot == OSR_NONE || !sends[v])
			continue;
		w->g->weight[slot] = 1;
		sends[osr__next_switch(w, hop, v)] = 1;
	}
}

/* Every dependency of counted routes with weight 1: enough to know whether a cycle exists at all. */
static bool mark_all(const struct layering *w)
{
	const struct osr_spf *spf = w->s;
	const struct osr_fabric *fabric = spf->f;
	uint32_t *sends = osr_alloc(w->work->scratch, fabric->n_switches, sizeof(*sends));

	if (osr_arena_failed(w->work->scratch, w->work->diag))
		return false;
	memset(w->g->weight, 0, w->g->n_slots * sizeof(*w->g->weight));
	for (uint32_t root = 0; root < fabric->n_switches; root++) {
		const uint32_t *dest = spf->dest_list + spf->dest_row[root];
		uint32_t n = spf->dest_row[root + 1] - spf->dest_row[root];

		/* Port 0 comes last. */
		for (; n && osr__is_sp0(fabric, dest[n - 1]); n--)
			if (spf->alias[dest[n - 1]] == OSR_NONE)
				mark_sp0_tree(w, dest[n - 1], sends);
		mark_trees(w, root, dest, n);
	}
	if (w->mcast)
		osr_mcast_depend(w->mcast->mcast_parent, w->g);
	return true;
}

/* One acyclic graph for everything: any packet may use any SL. */
static enum osr_status one_layer(struct layering *w, bool *fits)
{
	struct osr_arena *scratch = w->work->scratch;
	struct osr_routing *routing = w->work->r;
	struct osr_diag *diag = w->work->diag;
	uint32_t *rank = osr_alloc(w->work->result, w->s->f->n_channels, sizeof(*rank));

	if (osr_arena_failed(w->work->result, diag) || !mark_all(w))
		return OSR_NOMEM;
	*fits = osr_cdg_sort(w->g, scratch, rank);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	if (!*fits)
		return OSR_OK;
	routing->rank = rank;
	routing->n_vls = routing->n_layers = routing->n_layers_one_way = 1;
	routing->claims |= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	if (w->mcast) {
		routing->claims |= OSR_CLAIM_MULTICAST;
		routing->mcast_vl = 0; /* every VL carries the same graph */
	}
	return OSR_OK;
}

/* What single and multi-layer assignment share: the graph, the spanning order, and one_layer(). */
static enum osr_status layers_begin(struct layering *w, bool *fits)
{
	const struct osr_lane_work *work = w->work;
	const struct osr_fabric *fabric = w->s->f;
	struct osr_arena_mark before;
	enum osr_status st;

	*fits = false;
	st = osr_cdg_init(w->g, fabric, work->scratch, work->diag);
	if (st)
		return st;
	if (work->req->multicast) {
		st = osr_mcast_order(w->s, work->scratch, work->result, work->r, work->diag);
		if (st)
			return st;
		w->mcast = work->r;
	}
	before = osr_arena_mark(work->result);
	st = one_layer(w, fits);
	if (!*fits)
		osr_arena_reset(work->result, before);
	return st;
}

enum osr_status osr_layers_single(const struct osr_lane_work *work, bool *fits)
{
	struct osr_arena_mark mark = osr_arena_mark(work->scratch);
	struct osr_cdg cdg;
	struct layering w = { .work = work, .s = work->s, .g = &cdg };
	enum osr_status st = layers_begin(&w, fits);

	osr_arena_reset(work->scratch, mark);
	return st;
}

static enum osr_status layers_assign(struct layering *w, uint32_t *orders)
{
	const struct osr_fabric *fabric = w->s->f;
	const struct osr_lane_work *work = w->work;
	struct osr_routing *routing = work->r;
	bool fits;
	enum osr_status st = layers_begin(w, &fits);

	if (st || fits)
		return st;
	routing->sl = osr_alloc(work->result, (size_t)fabric->n_dests * fabric->n_switches, 1);
	if (osr_arena_failed(work->result, work->diag))
		return OSR_NOMEM;
	st = layering_init(w, false, routing->sl, orders);
	if (!st)
		st = find_layers(w);
	if (st)
		return st;
	routing->n_layers = routing->n_layers_one_way = (uint8_t)w->n_layers;
	routing->mcast_vl = work->req->mcast_vl;
	return set_lanes(w);
}

enum osr_status osr_layers_assign(const struct osr_lane_work *work,
				  const struct osr_layers_options *opt, uint32_t *orders)
{
	struct osr_arena_mark mark = osr_arena_mark(work->scratch);
	struct osr_cdg cdg;
	struct layering w = { .work = work, .s = work->s, .opt = opt, .g = &cdg };
	enum osr_status st = layers_assign(&w, orders);

	osr_arena_reset(work->scratch, mark);
	return st;
}

enum osr_status osr_layers_pair(const struct osr_lane_work *work,
				const struct osr_layers_options *opt, const uint32_t *orders)
{
	const struct osr_fabric *fabric = work->s->f;
	struct osr_arena_mark mark = osr_arena_mark(work->scratch);
	uint8_t *layer =
		osr_alloc(work->scratch, (size_t)fabric->n_switches * fabric->n_switches, 1);
	struct osr_cdg cdg;
	struct layering w = { .work = work, .s = work->s, .opt = opt, .g = &cdg };
	enum osr_status st = osr_cdg_init(&cdg, fabric, work->scratch, work->diag);

	if (!st)
		st = layering_init(&w, true, layer, NULL);
	if (!st) {
		w.mcast = work->req->multicast ? work->r : NULL;
		w.first = opt->heuristic == OSR_HEURISTIC_ORDER ? orders : NULL;
		w.may_give_up = opt->reversible == OSR_REVERSIBLE_AUTO;
		st = find_layers(&w);
	}
	if (!st) {
		work->r->claims |= OSR_CLAIM_REVERSIBLE;
		work->r->n_layers = (uint8_t)w.n_layers;
		st = set_lanes(&w);
	}
	osr_arena_reset(work->scratch, mark);
	return st;
}
