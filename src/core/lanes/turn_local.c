/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Local search for the order and the lanes of turns, on fabrics where most pairs of switches have few shortest
 * paths: see turn.h. All those paths are listed. A path is legal if all its conditions hold: its first turn is
 * above the node of the host's lane, and each turn above the one before. A pair is served if one of its paths
 * is legal.
 *
 * A step takes a pair that is not served, one of its paths and a condition of it that does not hold, and mends
 * that: a turn gets another lane, or a node goes just before or behind the other one. The step stays if it
 * leaves no more pairs unserved than there were, or a few more, at random and ever fewer. Only conditions of
 * turns that moved are looked at, so a step costs what it changes, not a search over all trees.
 *
 * Nodes have keys instead of ranks, so that one can move without the others. The turns of the escape tree are
 * pairs as well, which weigh more than any step may cost: they always rise.
 *
 * Source: picking an unmet condition and mending it is WalkSAT (Selman, Kautz, Cohen 1994).
 */
#include <stdlib.h>
#include <string.h>

#include <osmroutes/prng.h>

#include "turn_private.h"

#define LOCAL_PATHS 8               /* a pair with more shortest paths finds a legal one */
#define LOCAL_MISSED 8              /* 1 in so many pairs may have more */
#define LOCAL_LENGTH 200            /* of a path, at most */
#define LOCAL_TURNS (1u << 24)      /* of all paths, at most */
#define LOCAL_MUST (1u << 24)       /* weight of the escape tree's turns */
#define LOCAL_WORK 9                /* paths looked at for each condition of one */
#define LOCAL_NEAR (UINT32_MAX / 8) /* how far a node may move */
#define LOCAL_NOISE 12 /* pairs that a step may leave unserved at first; none in the end */

struct local_pair {
	uint32_t weight;  /* LIDs */
	uint32_t first;   /* its paths; they end where the next pair's begin */
	uint32_t n_legal; /* of them */
	uint32_t at;      /* in unserved[] */
};

struct local_path {
	uint32_t pair;
	uint32_t row; /* its turns; they end where the next path's begin */
	uint32_t first_chan, last_chan;
};

struct local {
	struct turns *w;
	struct osr_prng prng;
	uint32_t n_pairs, n_paths, n_turns, n_missed;
	uint32_t *n_lids;           /* [n_switches] */
	uint32_t *n_ways;           /* [n_switches] shortest paths from the source at hand */
	uint32_t *pair_of;          /* [n_switches] */
	struct local_pair *pair;    /* [n_pairs + 1] */
	struct local_path *path;    /* [n_paths + 1] */
	uint8_t *n_unmet;           /* [n_paths] conditions that do not hold */
	uint32_t *turn, *condition; /* [n_turns] */
	uint32_t *row, *concerned;  /* [n_conditions + 2], [n_turns] paths by condition */
	uint32_t *key;              /* [nodes] */
	uint32_t *unserved;         /* [n_pairs] */
	uint32_t n_unserved, noise;
	uint64_t cost, work; /* weight of unserved pairs; changes to paths */
};

/* ---- conditions ------------------------------------------------------------------------------ */

/* Turn t is above the lane that hosts send on. */
static inline uint32_t local_begins(const struct turns *w, uint32_t t)
{
	return w->triple_row[w->g.n_slots] + t;
}

/* Turn u, from channel c, is above turn t, which leads to c. */
static inline uint32_t local_follows(const struct turns *w, uint32_t t, uint32_t c, uint32_t u)
{
	return w->triple_row[t] + u - w->g.row[c];
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

	for (uint32_t s = 0; s < n && x->n_turns < LOCAL_TURNS; s++) {
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
			x->n_turns += x->n_ways[v] * (len - 1u);
		}
	}
	for (uint32_t c = 0; c < spf->f->n_channels; c++)
		for (uint32_t t = x->w->g.row[c]; t < x->w->g.row[c + 1]; t++) {
			uint32_t c2 = osr_cdg_target(&x->w->g, c, t);

			x->n_pairs += x->w->pinned[t];
			x->n_turns += x->w->pinned[t];
			for (uint32_t u = x->w->g.row[c2]; u < x->w->g.row[c2 + 1]; u++) {
				x->n_pairs += x->w->pinned[t] && x->w->pinned[u];
				x->n_turns += x->w->pinned[t] && x->w->pinned[u] ? 2 : 0;
			}
		}
	x->n_paths += x->n_pairs;
	return x->n_turns < LOCAL_TURNS && x->n_missed <= x->n_pairs / LOCAL_MISSED;
}

/* Path `from`, or none, and then turn t out of channel c. */
static void local_append(struct local *x, uint32_t to, uint32_t from, uint32_t c, uint32_t t)
{
	const struct turns *w = x->w;
	struct local_path *path = &x->path[to];
	uint32_t n = from == OSR_NONE ? 0 : x->path[from + 1].row - x->path[from].row, below,
		 *turn = x->turn + path->row, *condition = x->condition + path->row;

	if (n) {
		memcpy(turn, x->turn + x->path[from].row, n * sizeof(*turn));
		memcpy(condition, x->condition + x->path[from].row, n * sizeof(*condition));
		x->n_unmet[to] = x->n_unmet[from];
	}
	path->first_chan = n ? x->path[from].first_chan : c;
	path->last_chan = osr_cdg_target(&w->g, c, t);
	turn[n] = t;
	condition[n] = n ? local_follows(w, turn[n - 1], c, t) : local_begins(w, t);
	below = n ? w->at[turn[n - 1]] : x->key[c];
	x->n_unmet[to] += below >= w->at[t];
	for (uint32_t i = 0; i <= n; i++)
		x->row[condition[i] + 2]++;
}

/* A pair with room for so many paths of so many turns. */
static struct local_pair *local_add_pair(struct local *x, uint32_t weight, uint32_t n_paths,
					 uint32_t n_turns)
{
	struct local_pair *pair = &x->pair[x->n_pairs];

	pair->weight = weight;
	pair->first = x->n_paths;
	for (uint32_t i = 0; i < n_paths; i++) {
		x->path[x->n_paths].pair = x->n_pairs;
		x->path[x->n_paths++].row = x->n_turns;
		x->n_turns += n_turns;
	}
	x->n_pairs++;
	x->pair[x->n_pairs].first = x->n_paths;
	x->path[x->n_paths].row = x->n_turns;
	return pair;
}

/* Paths to v are those to its neighbours nearer to the source, and one channel. */
static void local_list_pair(struct local *x, uint32_t source, uint32_t v, uint8_t len)
{
	const struct turns *w = x->w;
	const struct osr_fabric *fabric = w->t.f;
	const uint8_t *dist8 = w->t.s->scratch->dist8 + (size_t)source * fabric->n_switches;
	struct local_pair *pair = local_add_pair(x, x->n_lids[v], x->n_ways[v], len - 1u);
	uint32_t to = pair->first;

	x->pair_of[v] = (uint32_t)(pair - x->pair);
	for (uint32_t o = fabric->chan_row[v]; o < fabric->chan_row[v + 1]; o++) {
		uint32_t u = fabric->chan_dst[o], c = fabric->chan_rev[o];

		if (len == 1 && u == source)
			x->path[to++].last_chan = c;
		if (len == 1 || dist8[u] != len - 1)
			continue;
		pair = &x->pair[x->pair_of[u]];
		for (uint32_t from = pair->first; from < pair[1].first; from++) {
			uint32_t last = x->path[from].last_chan;

			local_append(x, to++, from, last, w->g.row[last] + c - fabric->chan_row[u]);
		}
	}
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
			single = local_add_pair(x, LOCAL_MUST, 1, 1)->first;
			local_append(x, single, OSR_NONE, c, t);
			for (uint32_t u = w->g.row[c2]; u < w->g.row[c2 + 1]; u++)
				if (w->pinned[u])
					local_append(x, local_add_pair(x, LOCAL_MUST, 1, 2)->first,
						     single, c2, u);
		}
}

static void local_list(struct local *x)
{
	const struct osr_spf *spf = x->w->t.s;
	size_t n = spf->f->n_switches;
	uint32_t n_conditions = local_begins(x->w, x->w->g.n_slots);

	x->n_pairs = x->n_paths = x->n_turns = 0;
	for (uint32_t s = 0; s < n; s++) {
		local_count_ways(x, s);
		for (uint32_t i = 1; i < spf->n_order[s]; i++) {
			uint32_t v = spf->order[s * n + i];

			if (x->n_ways[v] <= LOCAL_PATHS)
				local_list_pair(x, s, v, spf->scratch->dist8[s * n + v]);
		}
	}
	local_list_pinned(x);
	for (uint32_t i = 0; i < n_conditions; i++)
		x->row[i + 2] += x->row[i + 1];
	for (uint32_t p = 0; p < x->n_paths; p++)
		for (uint32_t i = x->path[p].row; i < x->path[p + 1].row; i++)
			x->concerned[x->row[x->condition[i] + 1]++] = p;
	for (uint32_t p = 0; p < x->n_paths; p++)
		x->pair[x->path[p].pair].n_legal += !x->n_unmet[p];
	for (uint32_t i = 0; i < x->n_pairs; i++)
		if (!x->pair[i].n_legal) {
			x->pair[i].at = x->n_unserved;
			x->unserved[x->n_unserved++] = i;
			x->cost += x->pair[i].weight;
		}
}

/* ---- what moves ------------------------------------------------------------------------------ */

static void local_lose(struct local *x, uint32_t i)
{
	x->cost += x->pair[i].weight;
	x->pair[i].at = x->n_unserved;
	x->unserved[x->n_unserved++] = i;
}

static void local_serve(struct local *x, uint32_t i)
{
	uint32_t last = x->unserved[--x->n_unserved];

	x->cost -= x->pair[i].weight;
	x->unserved[x->pair[i].at] = last;
	x->pair[last].at = x->pair[i].at;
}

static void local_change(struct local *x, uint32_t condition, bool holds)
{
	uint32_t begin = x->row[condition], end = x->row[condition + 1];

	for (uint32_t i = begin; i < end; i++) {
		uint32_t path = x->concerned[i];

		if (holds) {
			if (--x->n_unmet[path] == 0 && x->pair[x->path[path].pair].n_legal++ == 0)
				local_serve(x, x->path[path].pair);
		} else if (x->n_unmet[path]++ == 0 && --x->pair[x->path[path].pair].n_legal == 0) {
			local_lose(x, x->path[path].pair);
		}
	}
	x->work += end - begin;
}

/* Turn t, from channel p to c, leads to this key now. */
static void local_lead(struct local *x, uint32_t t, uint32_t p, uint32_t c, uint32_t key)
{
	struct turns *w = x->w;
	const struct osr_fabric *fabric = w->t.f;
	uint32_t before = w->at[t], v = fabric->chan_src[p], row = fabric->chan_row[v];

	if ((x->key[p] < before) != (x->key[p] < key))
		local_change(x, local_begins(w, t), x->key[p] < key);
	for (uint32_t o = row; o < fabric->chan_row[v + 1]; o++) {
		uint32_t t0 = w->g.row[fabric->chan_rev[o]] + p - row;

		if ((w->at[t0] < before) != (w->at[t0] < key))
			local_change(x, local_follows(w, t0, p, t), w->at[t0] < key);
	}
	for (uint32_t u = w->g.row[c]; u < w->g.row[c + 1]; u++)
		if ((before < w->at[u]) != (key < w->at[u]))
			local_change(x, local_follows(w, t, c, u), key < w->at[u]);
	w->at[t] = key;
}

static void local_move(struct local *x, uint32_t node, uint32_t key)
{
	struct turns *w = x->w;
	const struct osr_fabric *fabric = w->t.f;
	uint32_t m = fabric->n_channels, c = node % m, lane = node / m, v = fabric->chan_src[c],
		 row = fabric->chan_row[v];

	for (uint32_t o = row; o < fabric->chan_row[v + 1]; o++) {
		uint32_t p = fabric->chan_rev[o], t = w->g.row[p] + c - row;

		if (w->lane[t] == lane)
			local_lead(x, t, p, c, key);
	}
	for (uint32_t u = w->g.row[c]; lane == 0 && u < w->g.row[c + 1]; u++)
		if ((x->key[c] < w->at[u]) != (key < w->at[u]))
			local_change(x, local_begins(w, u), key < w->at[u]);
	x->key[node] = key;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Turn t from p to c gets lane `to`, or, if t is OSR_NONE, a node the key `to`. */
struct local_step {
	uint32_t t, p, c, node, to;
};

/* Done twice, it is undone. */
static void local_take(struct local *x, struct local_step *step)
{
	struct turns *w = x->w;
	uint32_t before;

	if (step->t == OSR_NONE) {
		before = x->key[step->node];
		local_move(x, step->node, step->to);
	} else {
		before = w->lane[step->t];
		local_lead(x, step->t, step->p, step->c,
			   x->key[step->to * w->t.f->n_channels + step->c]);
		w->lane[step->t] = (uint8_t)step->to;
	}
	step->to = before;
}

/* What could mend one of the conditions of a path that do not hold. */
static uint32_t local_find_steps(struct local *x, uint32_t at, struct local_step *step)
{
	const struct turns *w = x->w;
	const struct local_path *path = &x->path[at];
	uint32_t m = w->t.f->n_channels, n = 0, i = path->row, o = OSR_NONE, t = OSR_NONE,
		 p = path->first_chan, lower, below, u = x->turn[i], c,
		 away = 1 + osr_prng_below(&x->prng, UINT32_MAX / (w->n_lanes * m)),
		 skip = osr_prng_below(&x->prng, x->n_unmet[at]);

	/* The host's lane of p, or turn t from o to p, is not below turn u from p to c. */
	for (;; t = u, u = x->turn[++i], o = p, p = c) {
		c = osr_cdg_target(&w->g, p, u);
		lower = t == OSR_NONE ? p : w->lane[t] * m + p;
		below = x->key[lower];
		if (below >= w->at[u] && !skip--)
			break;
	}
	for (uint32_t l = 0; l < w->n_lanes; l++) {
		if (x->key[l * m + c] > below)
			step[n++] = (struct local_step){ .t = u, .p = p, .c = c, .to = l };
		if (t != OSR_NONE && x->key[l * m + p] < w->at[u])
			step[n++] = (struct local_step){ .t = t, .p = o, .c = p, .to = l };
	}
	if (below - w->at[u] > LOCAL_NEAR)
		return n;
	if (w->at[u] > away)
		step[n++] = (struct local_step){ OSR_NONE, .node = lower, .to = w->at[u] - away };
	if (below < UINT32_MAX - away)
		step[n++] = (struct local_step){ OSR_NONE, .node = w->lane[u] * m + c,
						 .to = below + away };
	return n;
}

static void local_mend_one(struct local *x)
{
	struct local_step step[2 * OSR_MAX_VLS + 2];
	const struct local_pair *pair =
		&x->pair[x->unserved[osr_prng_below(&x->prng, x->n_unserved)]];
	uint32_t n_paths = pair[1].first - pair->first, n;
	uint64_t most = x->cost + osr_prng_below(&x->prng, x->noise + 1);

	x->work++;
	n = local_find_steps(x, pair->first + osr_prng_below(&x->prng, n_paths), step);
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
	for (uint32_t c = 0; c < m; c++)
		for (uint32_t t = w->g.row[c]; t < w->g.row[c + 1]; t++)
			w->at[t] = x->key[w->lane[t] * m + osr_cdg_target(&w->g, c, t)];
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
		uint32_t path = x->pair[x->unserved[i]].first;

		w->n_unserved[w->t.f->chan_dst[x->path[path].last_chan]]++;
	}
	osr__turn_set_reach(w);
}

static bool local_alloc(struct local *x, struct osr_arena *scratch)
{
	size_t n_nodes = (size_t)x->w->n_lanes * x->w->t.f->n_channels,
	       n_conditions = local_begins(x->w, x->w->g.n_slots);

	x->pair = osr_calloc(scratch, x->n_pairs + 1u, sizeof(*x->pair));
	x->path = osr_calloc(scratch, x->n_paths + 1u, sizeof(*x->path));
	x->n_unmet = osr_calloc(scratch, x->n_paths, 1);
	x->turn = osr_alloc(scratch, x->n_turns, sizeof(*x->turn));
	x->condition = osr_alloc(scratch, x->n_turns, sizeof(*x->condition));
	x->row = osr_calloc(scratch, n_conditions + 2, sizeof(*x->row));
	x->concerned = osr_alloc(scratch, x->n_turns, sizeof(*x->concerned));
	x->key = osr_alloc(scratch, n_nodes, sizeof(*x->key));
	x->unserved = osr_alloc(scratch, x->n_pairs, sizeof(*x->unserved));
	return x->pair && x->path && x->n_unmet && x->turn && x->condition && x->row &&
	       x->concerned && x->key && x->unserved;
}

static bool local_init(struct local *x, struct turns *w, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = w->t.f;
	size_t n = fabric->n_switches;

	*x = (struct local){ .w = w, .prng = { .state = 7 } };
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
		limit = (uint64_t)x.n_turns * LOCAL_WORK;
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
