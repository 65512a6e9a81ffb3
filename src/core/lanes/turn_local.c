/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Local search for the order and the lanes of turns, on fabrics where most pairs of switches have few shortest
 * paths: see turn.h. All those paths are listed. A path is a row of slots: its first channel, for the node
 * that hosts send on, and its turns. It is legal if each slot is above the one before. A pair is served if one
 * of its paths is legal.
 *
 * Legal paths shall also leave the load as balanced as shortest paths can: where only some paths of a pair take
 * a channel that carries nearly as much as the busiest, there is a second demand, for one of the others.
 *
 * A step takes a demand that is not served, one of its paths and a slot that is not above the one before, and
 * mends that: a turn gets another lane, or a node goes just before or behind the other one. The step stays if
 * it leaves no more unserved than there was, or a little more, at random and ever less. Only paths through
 * slots that moved are looked at, so a step costs what it changes, not a search over all trees.
 *
 * Nodes have keys instead of ranks, so that one can move without the others. The turns of the escape tree are
 * pairs as well, which weigh more than any step may cost: they always rise.
 *
 * Source: picking an unmet demand and mending it is WalkSAT (Selman, Kautz, Cohen 1994).
 */
#include <stdlib.h>
#include <string.h>

#include <osmroutes/prng.h>

#include "turn_private.h"

#define LOCAL_PATHS 4               /* a pair with more shortest paths finds a legal one */
#define LOCAL_MISSED 2              /* 1 in so many pairs may have more */
#define LOCAL_LENGTH 200            /* of a path, at most */
#define LOCAL_PLACES (1u << 24)     /* in all paths, at most */
#define LOCAL_MUST (1u << 24)       /* weight of the escape tree's turns */
#define LOCAL_FULL 92               /* percent of the load of the busiest channel */
#define LOCAL_WORK 10               /* places looked at for each one */
#define LOCAL_NEAR (UINT32_MAX / 8) /* how far a node may move */
#define LOCAL_NOISE 16 /* pairs that a step may leave unserved at first; none in the end */

/* Of a pair: one for any path, and one for a path off full channels. */
enum { LOCAL_ANY, LOCAL_OFF_FULL, LOCAL_DEMANDS };

struct local_demand {
	uint32_t weight;  /* LIDs */
	uint32_t n_legal; /* paths that serve it */
	uint32_t at;      /* in unserved[] */
};

struct local_path {
	uint32_t row;  /* its slots; they end where the next path's begin */
	bool full;     /* takes a full channel */
	bool off_full; /* does not, where others of the pair do */
};

/* A slot of a path, and those before and behind it. */
struct local_place {
	uint32_t path, before, behind;
};

struct local {
	struct turns *w;
	struct osr_prng prng;
	uint32_t n_pairs, n_paths, n_places, n_missed;
	uint64_t full;     /* a channel is, from this load on */
	uint32_t *n_lids;  /* [n_switches] */
	uint32_t *n_ways;  /* [n_switches] shortest paths from the source at hand */
	uint32_t *pair_of; /* [n_switches] */
	uint32_t *first;   /* [n_pairs + 1] paths of a pair end where the next pair's begin */
	struct local_demand *demand; /* [n_pairs * LOCAL_DEMANDS] */
	struct local_path *path;     /* [n_paths + 1] */
	uint32_t *pair;              /* [n_paths] */
	uint8_t *n_unmet;            /* [n_paths] slots that are not above the one before */
	uint32_t n_slots;            /* of paths: turns, channels as the first ones, LOW and HIGH */
	uint32_t *at;                /* [n_slots] keys of the nodes they stand for */
	uint32_t *chan;              /* [n_slots] and their channels */
	uint32_t *slot;              /* [n_places] of paths */
	uint32_t *row;               /* [n_slots + 2] */
	struct local_place *place;   /* [n_places] by slot */
	uint32_t *changed;           /* [n_paths] that a step opens or closes */
	uint32_t *key;               /* [nodes] */
	uint32_t *unserved;          /* [n_pairs * LOCAL_DEMANDS] */
	uint32_t n_unserved, noise;
	uint64_t cost, work; /* weight of unserved demands; places looked at */
};

/* ---- slots ----------------------------------------------------------------------------------- */

/* Channel c as the first one of a path: the node that hosts send on. */
static inline uint32_t local_first_slot(const struct local *x, uint32_t c)
{
	return x->w->g.n_slots + c;
}

/* Before the first slot of a path is LOW, and behind the last one HIGH. */
static inline uint32_t local_low(const struct local *x)
{
	return x->n_slots - 2;
}

static inline uint32_t local_high(const struct local *x)
{
	return x->n_slots - 1;
}

/* ---- what is served -------------------------------------------------------------------------- */

/* A demand of weight 0 is not recorded: no LID belongs to that pair, but paths of other pairs lead through it. */
static void local_lose(struct local *x, uint32_t i)
{
	if (!x->demand[i].weight)
		return;
	x->cost += x->demand[i].weight;
	x->demand[i].at = x->n_unserved;
	x->unserved[x->n_unserved++] = i;
}

static void local_serve(struct local *x, uint32_t i)
{
	uint32_t last;

	if (!x->demand[i].weight)
		return;
	last = x->unserved[--x->n_unserved];
	x->cost -= x->demand[i].weight;
	x->unserved[x->demand[i].at] = last;
	x->demand[last].at = x->demand[i].at;
}

/* A path is legal now. */
static void local_open(struct local *x, uint32_t path)
{
	uint32_t i = x->pair[path] * LOCAL_DEMANDS;

	if (x->demand[i + LOCAL_ANY].n_legal++ == 0)
		local_serve(x, i + LOCAL_ANY);
	if (x->path[path].off_full && x->demand[i + LOCAL_OFF_FULL].n_legal++ == 0)
		local_serve(x, i + LOCAL_OFF_FULL);
}

static void local_close(struct local *x, uint32_t path)
{
	uint32_t i = x->pair[path] * LOCAL_DEMANDS;

	if (--x->demand[i + LOCAL_ANY].n_legal == 0)
		local_lose(x, i + LOCAL_ANY);
	if (x->path[path].off_full && --x->demand[i + LOCAL_OFF_FULL].n_legal == 0)
		local_lose(x, i + LOCAL_OFF_FULL);
}

/* A slot stands for a node with this key now. */
static void local_lead(struct local *x, uint32_t slot, uint32_t key)
{
	const struct local_place *place = x->place + x->row[slot],
				 *end = x->place + x->row[slot + 1];
	const uint32_t *at = x->at;
	uint32_t old = at[slot], n = 0, *changed = x->changed;
	uint8_t *n_unmet = x->n_unmet;

	x->work += (uint64_t)(end - place);
	/* Without branches on the conditions, which no processor predicts. */
	for (; place < end; place++) {
		uint32_t before = at[place->before], behind = at[place->behind];
		uint8_t was = n_unmet[place->path],
			now = (uint8_t)(was + (before >= key) + (key >= behind) - (before >= old) -
					(old >= behind));

		n_unmet[place->path] = now;
		changed[n] = place->path;
		n += !was != !now;
	}
	x->at[slot] = key;
	for (uint32_t i = 0; i < n; i++)
		if (n_unmet[changed[i]])
			local_close(x, changed[i]);
		else
			local_open(x, changed[i]);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void local_count_ways(struct local *x, uint32_t source)
{
	const struct osr_spf *spf = x->w->t.s;
	const struct osr_fabric *fabric = spf->f;
	const uint16_t *order = spf->order + (size_t)source * fabric->n_switches;
	const uint8_t *dist8 = spf->scratch->dist8 + (size_t)source * fabric->n_switches;

	x->n_ways[source] = 1;
	for (uint32_t i = 1; i < spf->n_order[source]; i++) {
		uint32_t v = order[i], n = 0;

		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++)
			if ((uint8_t)(dist8[fabric->chan_dst[c]] + 1) == dist8[v])
				n += x->n_ways[fabric->chan_dst[c]];
		x->n_ways[v] = n > LOCAL_PATHS ? LOCAL_PATHS + 1 : n;
	}
}

/* How much there is to list; false: too much, or too little of all. */
static bool local_measure(struct local *x)
{
	const struct osr_spf *spf = x->w->t.s;
	size_t n = spf->f->n_switches;

	for (uint32_t s = 0; s < n && x->n_places < LOCAL_PLACES; s++) {
		local_count_ways(x, s);
		for (uint32_t i = 1; i < spf->n_order[s]; i++) {
			uint32_t v = spf->order[s * n + i];
			uint8_t len = spf->scratch->dist8[s * n + v];

			x->n_missed += x->n_ways[v] > LOCAL_PATHS;
			if (len > LOCAL_LENGTH)
				return false;
			if (x->n_ways[v] > LOCAL_PATHS)
				continue;
			x->n_pairs++;
			x->n_paths += x->n_ways[v];
			x->n_places += x->n_ways[v] * len;
		}
	}
	for (uint32_t c = 0; c < spf->f->n_channels; c++)
		for (uint32_t t = x->w->g.row[c]; t < x->w->g.row[c + 1]; t++) {
			uint32_t c2 = osr_cdg_target(&x->w->g, c, t);

			x->n_pairs += x->w->pinned[t];
			x->n_places += x->w->pinned[t] ? 2 : 0;
			for (uint32_t u = x->w->g.row[c2]; u < x->w->g.row[c2 + 1]; u++) {
				x->n_pairs += x->w->pinned[t] && x->w->pinned[u];
				x->n_places += x->w->pinned[t] && x->w->pinned[u] ? 3 : 0;
			}
		}
	x->n_paths += x->n_pairs;
	return x->n_places < LOCAL_PLACES && x->n_missed <= x->n_pairs / LOCAL_MISSED;
}

static bool local_is_full(const struct local *x, uint32_t c)
{
	return x->w->t.s->weight[c] >> HOP_BITS >= x->full;
}

/* One more slot, behind the n that the path has. */
static void local_append(struct local *x, uint32_t path, uint32_t n, uint32_t slot)
{
	uint32_t *at = x->slot + x->path[path].row + n;

	*at = slot;
	x->n_unmet[path] += n && x->at[at[-1]] >= x->at[slot];
	x->path[path].full |= local_is_full(x, x->chan[slot]);
}

/* Path `to` begins as path `from`, which has n slots. */
static void local_copy(struct local *x, uint32_t to, uint32_t from, uint32_t n)
{
	memcpy(x->slot + x->path[to].row, x->slot + x->path[from].row, n * sizeof(*x->slot));
	x->n_unmet[to] = x->n_unmet[from];
	x->path[to].full = x->path[from].full;
}

static uint32_t local_last_chan(const struct local *x, uint32_t path)
{
	return x->chan[x->slot[x->path[path + 1].row - 1]];
}

/* A pair with room for so many paths of this length; its first path. */
static uint32_t local_add_pair(struct local *x, uint32_t weight, uint32_t n_paths, uint32_t len)
{
	uint32_t first = x->n_paths;

	x->demand[x->n_pairs * LOCAL_DEMANDS + LOCAL_ANY].weight = weight;
	for (uint32_t i = 0; i < n_paths; i++) {
		x->pair[x->n_paths] = x->n_pairs;
		x->path[x->n_paths++].row = x->n_places;
		x->n_places += len;
	}
	x->first[++x->n_pairs] = x->n_paths;
	x->path[x->n_paths].row = x->n_places;
	return first;
}

/* Where only some paths of the pair listed last take a full channel, there is a demand for the others. */
static void local_find_off_full(struct local *x)
{
	uint32_t pair = x->n_pairs - 1, first = x->first[pair], end = x->first[pair + 1],
		 n_full = 0;

	for (uint32_t p = first; p < end; p++)
		n_full += x->path[p].full;
	if (!n_full || n_full == end - first)
		return;
	for (uint32_t p = first; p < end; p++)
		x->path[p].off_full = !x->path[p].full;
	x->demand[pair * LOCAL_DEMANDS + LOCAL_OFF_FULL].weight = 1;
}

/* Paths to v are those to its neighbours nearer to the source, and one channel. */
static void local_list_pair(struct local *x, uint32_t source, uint32_t v, uint8_t len)
{
	const struct turns *w = x->w;
	const struct osr_fabric *fabric = w->t.f;
	const uint8_t *dist8 = w->t.s->scratch->dist8 + (size_t)source * fabric->n_switches;
	uint32_t to = local_add_pair(x, x->n_lids[v], x->n_ways[v], len);

	x->pair_of[v] = x->n_pairs - 1;
	for (uint32_t o = fabric->chan_row[v]; o < fabric->chan_row[v + 1]; o++) {
		uint32_t u = fabric->chan_dst[o], c = fabric->chan_rev[o],
			 hop = c - fabric->chan_row[u];

		if (dist8[u] != len - 1)
			continue;
		if (len == 1)
			local_append(x, to++, 0, local_first_slot(x, c));
		else
			for (uint32_t from = x->first[x->pair_of[u]];
			     from < x->first[x->pair_of[u] + 1]; from++) {
				local_copy(x, to, from, len - 1u);
				local_append(x, to++, len - 1u,
					     w->g.row[local_last_chan(x, from)] + hop);
			}
	}
	if (fabric->sw_sources[source])
		local_find_off_full(x);
}

/* Turns of the escape tree, and two that follow each other. */
static void local_list_pinned(struct local *x)
{
	const struct turns *w = x->w;

	for (uint32_t c = 0; c < w->t.f->n_channels; c++)
		for (uint32_t t = w->g.row[c]; t < w->g.row[c + 1]; t++) {
			uint32_t c2 = osr_cdg_target(&w->g, c, t), single;

			if (!w->pinned[t])
				continue;
			single = local_add_pair(x, LOCAL_MUST, 1, 2);
			local_append(x, single, 0, local_first_slot(x, c));
			local_append(x, single, 1, t);
			for (uint32_t u = w->g.row[c2]; u < w->g.row[c2 + 1]; u++) {
				uint32_t path;

				if (!w->pinned[u])
					continue;
				path = local_add_pair(x, LOCAL_MUST, 1, 3);
				local_copy(x, path, single, 2);
				local_append(x, path, 2, u);
			}
		}
}

/* The places of each slot. */
static void local_sort_places(struct local *x)
{
	for (uint32_t i = 0; i < x->n_places; i++)
		x->row[x->slot[i] + 2]++;
	for (uint32_t i = 0; i < x->n_slots; i++)
		x->row[i + 2] += x->row[i + 1];
	for (uint32_t p = 0; p < x->n_paths; p++)
		for (uint32_t i = x->path[p].row, end = x->path[p + 1].row; i < end; i++)
			x->place[x->row[x->slot[i] + 1]++] = (struct local_place){
				.path = p,
				.before = i == x->path[p].row ? local_low(x) : x->slot[i - 1],
				.behind = i + 1 == end ? local_high(x) : x->slot[i + 1],
			};
}

static void local_list(struct local *x)
{
	const struct osr_spf *spf = x->w->t.s;
	size_t n = spf->f->n_switches;

	x->n_pairs = x->n_paths = x->n_places = 0;
	for (uint32_t s = 0; s < n; s++) {
		local_count_ways(x, s);
		for (uint32_t i = 1; i < spf->n_order[s]; i++) {
			uint32_t v = spf->order[s * n + i];

			if (x->n_ways[v] <= LOCAL_PATHS)
				local_list_pair(x, s, v, spf->scratch->dist8[s * n + v]);
		}
	}
	local_list_pinned(x);
	local_sort_places(x);
	for (uint32_t i = 0; i < x->n_pairs * LOCAL_DEMANDS; i++)
		local_lose(x, i);
	for (uint32_t p = 0; p < x->n_paths; p++)
		if (!x->n_unmet[p])
			local_open(x, p);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* A turn gets lane `to`, or, if it is OSR_NONE, a node the key `to`. */
struct local_step {
	uint32_t turn, node, to;
};

static void local_move(struct local *x, uint32_t node, uint32_t key)
{
	const struct turns *w = x->w;
	const struct osr_fabric *fabric = w->t.f;
	uint32_t m = fabric->n_channels, c = node % m, lane = node / m,
		 row = fabric->chan_row[fabric->chan_src[c]],
		 end = fabric->chan_row[fabric->chan_src[c] + 1];

	for (uint32_t o = row; o < end; o++) {
		uint32_t t = w->g.row[fabric->chan_rev[o]] + c - row;

		if (w->lane[t] == lane)
			local_lead(x, t, key);
	}
	if (lane == 0)
		local_lead(x, local_first_slot(x, c), key);
	x->key[node] = key;
}

/* Done twice, it is undone. */
static void local_take(struct local *x, struct local_step *step)
{
	struct turns *w = x->w;
	uint32_t before;

	if (step->turn == OSR_NONE) {
		before = x->key[step->node];
		local_move(x, step->node, step->to);
	} else {
		before = w->lane[step->turn];
		local_lead(x, step->turn,
			   x->key[step->to * w->t.f->n_channels + x->chan[step->turn]]);
		w->lane[step->turn] = (uint8_t)step->to;
	}
	step->to = before;
}

static uint32_t local_node(const struct local *x, uint32_t slot)
{
	uint32_t lane = slot < x->w->g.n_slots ? x->w->lane[slot] : 0;

	return lane * x->w->t.f->n_channels + x->chan[slot];
}

/* What could mend one of the slots of a path that are not above the one before. */
static uint32_t local_find_steps(struct local *x, uint32_t path, struct local_step *step)
{
	const struct turns *w = x->w;
	const uint32_t *slot = x->slot + x->path[path].row + 1;
	uint32_t m = w->t.f->n_channels, n = 0, lower, upper, below, above,
		 away = 1 + osr_prng_below(&x->prng, UINT32_MAX / (w->n_lanes * m)),
		 skip = osr_prng_below(&x->prng, x->n_unmet[path]);

	while (x->at[slot[-1]] < x->at[slot[0]] || skip--)
		slot++;
	lower = slot[-1];
	upper = slot[0];
	below = x->at[lower];
	above = x->at[upper];
	for (uint32_t l = 0; l < w->n_lanes; l++) {
		if (x->key[l * m + x->chan[upper]] > below)
			step[n++] = (struct local_step){ upper, .to = l };
		if (lower < w->g.n_slots && x->key[l * m + x->chan[lower]] < above)
			step[n++] = (struct local_step){ lower, .to = l };
	}
	if (below - above > LOCAL_NEAR)
		return n;
	if (above > away)
		step[n++] = (struct local_step){ OSR_NONE, local_node(x, lower), above - away };
	if (below < UINT32_MAX - away)
		step[n++] = (struct local_step){ OSR_NONE, local_node(x, upper), below + away };
	return n;
}

/* One that would serve the demand. */
static uint32_t local_pick_path(struct local *x, uint32_t demand)
{
	uint32_t first = x->first[demand / LOCAL_DEMANDS],
		 n = x->first[demand / LOCAL_DEMANDS + 1] - first, i = osr_prng_below(&x->prng, n);

	while (demand % LOCAL_DEMANDS == LOCAL_OFF_FULL && !x->path[first + i].off_full)
		i = (i + 1) % n;
	return first + i;
}

static void local_mend_one(struct local *x)
{
	struct local_step step[2 * OSR_MAX_VLS + 2];
	uint32_t demand = x->unserved[osr_prng_below(&x->prng, x->n_unserved)],
		 n = local_find_steps(x, local_pick_path(x, demand), step);
	uint64_t most = x->cost + osr_prng_below(&x->prng, x->noise + 1);

	x->work++;
	while (n) {
		uint32_t i = osr_prng_below(&x->prng, n);

		local_take(x, &step[i]);
		if (x->cost <= most)
			return;
		local_take(x, &step[i]);
		step[i] = step[--n];
	}
}

/* ---- from ranks, and back -------------------------------------------------------------------- */

static void local_set_keys(struct local *x)
{
	struct turns *w = x->w;
	uint32_t m = w->t.f->n_channels, n_nodes = w->n_lanes * m, gap = UINT32_MAX / (n_nodes + 1);

	for (uint32_t i = 0; i < n_nodes; i++)
		x->key[i] = (w->rank[i] + 1) * gap;
	for (uint32_t c = 0; c < m; c++) {
		for (uint32_t t = w->g.row[c]; t < w->g.row[c + 1]; t++)
			x->chan[t] = osr_cdg_target(&w->g, c, t);
		x->chan[local_first_slot(x, c)] = c;
	}
	for (uint32_t i = 0; i < local_low(x); i++)
		x->at[i] = x->key[local_node(x, i)];
	x->at[local_low(x)] = 0;
	x->at[local_high(x)] = UINT32_MAX;
}

static int local_by_key(const void *a, const void *b)
{
	const uint64_t *key = a, *other = b;

	return *key < *other ? -1 : *key > *other;
}

static void local_set_ranks(struct local *x, uint64_t *sorted)
{
	struct turns *w = x->w;
	uint32_t n_nodes = w->n_lanes * w->t.f->n_channels;

	for (uint32_t i = 0; i < n_nodes; i++)
		sorted[i] = (uint64_t)x->key[i] << 32 | i;
	qsort(sorted, n_nodes, sizeof(*sorted), local_by_key);
	for (uint32_t i = 0; i < n_nodes; i++)
		w->rank[(uint32_t)sorted[i]] = i;
	memset(w->n_unserved, 0, w->t.f->n_switches * sizeof(*w->n_unserved));
	for (uint32_t i = 0; i < x->n_unserved; i++) {
		uint32_t path = x->first[x->unserved[i] / LOCAL_DEMANDS];

		w->n_unserved[w->t.f->chan_dst[local_last_chan(x, path)]] +=
			x->unserved[i] % LOCAL_DEMANDS == LOCAL_ANY;
	}
	osr__turn_set_reach(w);
}

static bool local_alloc(struct local *x, struct osr_arena *scratch)
{
	size_t n_nodes = (size_t)x->w->n_lanes * x->w->t.f->n_channels;

	x->n_slots = x->w->g.n_slots + x->w->t.f->n_channels + 2;
	x->first = osr_calloc(scratch, x->n_pairs + 1u, sizeof(*x->first));
	x->demand = osr_calloc(scratch, (size_t)x->n_pairs * LOCAL_DEMANDS, sizeof(*x->demand));
	x->pair = osr_alloc(scratch, x->n_paths, sizeof(*x->pair));
	x->path = osr_calloc(scratch, x->n_paths + 1u, sizeof(*x->path));
	x->n_unmet = osr_calloc(scratch, x->n_paths, 1);
	x->at = osr_alloc(scratch, x->n_slots, sizeof(*x->at));
	x->chan = osr_alloc(scratch, x->n_slots, sizeof(*x->chan));
	x->slot = osr_alloc(scratch, x->n_places, sizeof(*x->slot));
	x->row = osr_calloc(scratch, x->n_slots + 2u, sizeof(*x->row));
	x->place = osr_alloc(scratch, x->n_places, sizeof(*x->place));
	x->changed = osr_alloc(scratch, x->n_paths, sizeof(*x->changed));
	x->key = osr_alloc(scratch, n_nodes, sizeof(*x->key));
	x->unserved = osr_alloc(scratch, (size_t)x->n_pairs * LOCAL_DEMANDS, sizeof(*x->unserved));
	return x->first && x->demand && x->pair && x->path && x->n_unmet && x->at && x->chan &&
	       x->slot && x->row && x->place && x->changed && x->key && x->unserved;
}

static bool local_init(struct local *x, struct turns *w, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = w->t.f;
	size_t n = fabric->n_switches;

	*x = (struct local){ .w = w,
			     .prng = { .state = 7 },
			     .full = osr__turn_most_loaded(w->t.s) * LOCAL_FULL / 100 };
	x->n_lids = osr_calloc(scratch, n, sizeof(*x->n_lids));
	x->n_ways = osr_calloc(scratch, n, sizeof(*x->n_ways));
	x->pair_of = osr_alloc(scratch, n, sizeof(*x->pair_of));
	if (!x->n_lids || !x->n_ways || !x->pair_of)
		return false;
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		x->n_lids[fabric->dest_switch[d]]++;
	return true;
}

enum osr_status osr__turn_local(struct turns *w, struct osr_arena *scratch, bool *fits,
				struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n_nodes = (size_t)w->n_lanes * w->t.f->n_channels;
	uint64_t *sorted = osr_alloc(scratch, n_nodes, sizeof(*sorted)), limit, noise;
	struct local x;

	if (!sorted || !local_init(&x, w, scratch))
		return osr__turn_nomem(diag);
	*fits = local_measure(&x);
	if (*fits) {
		if (!local_alloc(&x, scratch))
			return osr__turn_nomem(diag);
		local_set_keys(&x);
		local_list(&x);
		limit = (uint64_t)x.n_places * LOCAL_WORK;
		noise = (uint64_t)LOCAL_NOISE * w->t.f->n_dests / w->t.f->n_switches;
		while (x.work < limit && x.n_unserved) {
			x.noise = (uint32_t)(noise * (limit - x.work) / limit);
			local_mend_one(&x);
		}
		local_set_ranks(&x, sorted);
	}
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}
