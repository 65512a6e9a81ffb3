/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "srcroutes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *room(struct srcroutes *srcroutes, size_t n, size_t size)
{
	void *p = osr_calloc(&srcroutes->arena, n, size);

	assert(p || !n);
	return p;
}

/* ---- torus ---------------------------------------------------------------------------------- */

static uint32_t coord(const struct torus *torus, uint32_t node, uint32_t dim)
{
	return node / torus->stride[dim] % torus->size[dim];
}

static bool torus_init(struct srcroutes *srcroutes, uint32_t n_dims, const uint32_t *size)
{
	struct torus *torus = &srcroutes->torus;
	uint32_t n = 1;

	if (n_dims < 1 || n_dims > TORUS_MAX_DIMS)
		return false;
	for (uint32_t i = 0; i < n_dims; i++) {
		n *= size[i];
		if (size[i] < 2 || size[i] > TORUS_MAX_SIDE || n > TORUS_MAX_NODES)
			return false;
	}
	*torus = (struct torus){ .n_dims = n_dims, .n_dirs = 2 * n_dims, .n_nodes = n };
	for (uint32_t i = 0; i < n_dims; i++) {
		n /= size[i];
		torus->size[i] = size[i];
		torus->stride[i] = n;
	}
	torus->next = room(srcroutes, (size_t)torus->n_nodes * torus->n_dirs, sizeof(*torus->next));
	for (uint32_t c = 0; c < torus->n_nodes * torus->n_dirs; c++) {
		uint32_t node = c / torus->n_dirs, dir = c % torus->n_dirs, dim = dir % n_dims;
		uint32_t x = coord(torus, node, dim), side = size[dim];
		uint32_t y = (dir < n_dims ? x + 1 : x + side - 1) % side;
		bool end = side == 2 && x != (dir >= n_dims);

		torus->next[c] = end ? NO_NODE : node + (y - x) * torus->stride[dim];
	}
	return true;
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* The channel that a packet reaches from channel c by direction `to`; NO_NODE: it may not. */
static uint32_t step_after(const struct srcroutes *srcroutes, uint32_t c, uint32_t to)
{
	uint32_t nd = srcroutes->torus.n_dirs, dir = c % nd, e = srcroutes->torus.next[c] * nd + to;

	if (srcroutes->torus.next[c] == NO_NODE || srcroutes->torus.next[e] == NO_NODE ||
	    to == torus_back(&srcroutes->torus, dir))
		return NO_NODE;
	return to >= dir || (srcroutes->after[e - to + dir] >> to & 1) ? e : NO_NODE;
}

/* Channel c can use the set of directions, and so can everything from which it can be reached. */
static void add_used(const struct srcroutes *srcroutes, uint32_t c, uint16_t set, uint16_t *used)
{
	uint32_t nd = srcroutes->torus.n_dirs, node = c / nd;

	if (!(set & ~used[c]))
		return;
	used[c] |= set;
	for (uint32_t dir = 0; dir < nd; dir++) {
		uint32_t p = srcroutes->torus.next[node * nd + torus_back(&srcroutes->torus, dir)];

		if (p != NO_NODE && step_after(srcroutes, p * nd + dir, c % nd) == c)
			add_used(srcroutes, p * nd + dir, set, used);
	}
}

/*
 * Section 3.2. Stage one: the sets in direction order. Stage two: channels have their turn in the
 * order of their numbers; for each, lower target directions come first.
 */
static void find_turns(struct srcroutes *srcroutes)
{
	const struct torus *torus = &srcroutes->torus;
	uint32_t nd = torus->n_dirs, n = torus->n_nodes * nd;
	uint16_t *used = calloc(n, sizeof(*used));
	bool changed = true;

	srcroutes->after = room(srcroutes, n, sizeof(*srcroutes->after));
	for (uint32_t c = 0; c < n; c++)
		if (torus->next[c] != NO_NODE)
			add_used(srcroutes, c, (uint16_t)(1u << c % nd), used);
	for (uint32_t c = 0; c < n; c++)
		for (uint32_t to = 0, dir = c % nd; to < dir; to++) {
			uint32_t e = torus->next[c] * nd + to;

			if (torus->next[c] == NO_NODE || torus->next[e] == NO_NODE ||
			    (used[e] >> dir & 1) || (dir < torus->n_dims) != (to < torus->n_dims))
				continue;
			srcroutes->after[e - to + dir] |= (uint16_t)(1u << to);
			srcroutes->n_added++;
			add_used(srcroutes, c, used[e], used);
		}
	free(used);
	/*
	 * The least ranks that rise along every permitted step, and stay along a ring, from zeroes
	 * on: theorem 2 says that they come to rest.
	 */
	srcroutes->rank = room(srcroutes, n, sizeof(*srcroutes->rank));
	while (changed) {
		changed = false;
		for (uint32_t c = 0; c < n; c++)
			for (uint32_t to = 0; to < nd; to++) {
				uint32_t e = step_after(srcroutes, c, to);
				bool ring = to == c % nd && torus->size[to % torus->n_dims] > 2;

				if (e == NO_NODE ||
				    srcroutes->rank[e] >= srcroutes->rank[c] + !ring)
					continue;
				srcroutes->rank[e] = srcroutes->rank[c] + !ring;
				assert(srcroutes->rank[e] < n);
				changed = true;
			}
	}
}

/* ---- routing graph -------------------------------------------------------------------------- */

/* dirbit_k with direction dir used, too; 0 if its opposite is in use already. */
static uint32_t with_dir(const struct torus *torus, uint32_t k, uint32_t dir)
{
	uint32_t power = 1, wanted = dir < torus->n_dims ? 1 : 2, digit;

	for (uint32_t i = dir % torus->n_dims; i; i--)
		power *= 3;
	digit = k / power % 3;
	return digit == wanted ? k : digit ? 0 : k + wanted * power;
}

static void make_graph(struct srcroutes *srcroutes)
{
	const struct torus *torus = &srcroutes->torus;
	uint32_t n = torus->n_dims, nd = torus->n_dirs, power = 1, n_steps = 0, end;

	for (uint32_t i = 0; i < n; i++)
		power *= 3;
	srcroutes->n_states = power + nd + 1;
	end = srcroutes->n_states - 1;
	srcroutes->last = room(srcroutes, srcroutes->n_states, 1);
	srcroutes->step_row =
		room(srcroutes, srcroutes->n_states + 1, sizeof(*srcroutes->step_row));
	/* A state has a step to the end, and for each direction at most two. */
	srcroutes->step = room(srcroutes, (size_t)srcroutes->n_states * (2 * nd + 1),
			       sizeof(*srcroutes->step));
#define STEP(dir, turn, to)                                                                        \
	(srcroutes->step[n_steps++] =                                                              \
		 (struct srcroutes_step){ (uint8_t)(dir), turn, (uint16_t)(to) })
	for (uint32_t state = 0; state < srcroutes->n_states; state++) {
		bool first = state && state <= n, behind = state + n >= end,
		     body = !behind && state > n;
		uint32_t k = body ? state - n : 0, last = NO_DIR;

		if (first)
			last = state - 1;
		else if (behind && state != end)
			last = state + nd - end;
		for (uint32_t dir = 0; body && dir < nd; dir++)
			if (with_dir(torus, k, dir) == k)
				last = dir;
		srcroutes->last[state] = (uint8_t)last;
		srcroutes->step_row[state] = n_steps;
		/* The begin's step to the own end is no route and is left out (rule 1); rule 4. */
		if (state && state != end)
			STEP(NO_DIR, false, end);
		for (uint32_t dir = 0; !behind && dir < nd; dir++) {
			uint32_t next = with_dir(torus, k, dir);
			bool straight = dir != last && dir != torus_back(torus, last);

			/* Rule 1. */
			if (!state && dir < n)
				STEP(dir, false, 1 + dir);
			/*
			 * Rules 1 to 3; section 3.2 adds from a first step the positive directions
			 * below it, and last steps to a negative direction below the last one.
			 */
			if (!state || (first && straight) || (body && dir >= last && next))
				STEP(dir, first && dir < last, n + next);
			if (body && dir >= n && straight && (dir > last || last >= n))
				STEP(dir, dir < last, end + dir - nd);
		}
	}
#undef STEP
	srcroutes->step_row[srcroutes->n_states] = n_steps;
}

/* The vertex that a step leads to from vertex v; NO_NODE if it is not possible. */
static uint32_t step_to(const struct srcroutes *srcroutes, uint32_t v, struct srcroutes_step step)
{
	uint32_t nd = srcroutes->torus.n_dirs, node = v / srcroutes->n_states;
	uint32_t next = step.dir == NO_DIR ? node : srcroutes->torus.next[node * nd + step.dir];

	if (next == NO_NODE ||
	    (step.turn &&
	     !(srcroutes->after[node * nd + srcroutes->last[v % srcroutes->n_states]] >> step.dir &
	       1)))
		return NO_NODE;
	return next * srcroutes->n_states + step.to;
}

/* ---- choices -------------------------------------------------------------------------------- */

#define MAX_CHOICES ((TORUS_MAX_DIMS + 1) * (TORUS_MAX_DIMS + 1) << TORUS_MAX_DIMS)

/* What the sender writes for a path. */
static struct srcroute header_of(const struct torus *torus, const uint32_t *path, uint32_t hops)
{
	struct srcroute srcroute = { NO_DIR, NO_DIR, 0, 0 };
	uint32_t n = torus->n_dims, nd = torus->n_dirs;

	for (uint32_t h = 0; h < hops; h++) {
		uint32_t dir = path[h] % nd;

		if (!h && hops > 1 && dir < n && path[1] % nd < dir)
			srcroute.first = (uint8_t)dir;
		else if (h && h == hops - 1 && dir >= n && path[h - 1] % nd > dir)
			srcroute.last = (uint8_t)dir;
		else if (dir < n)
			srcroute.plus |= (uint8_t)(1u << dir);
		else
			srcroute.minus |= (uint8_t)(1u << (dir - n));
	}
	return srcroute;
}

struct finder {
	struct srcroutes *srcroutes;
	uint32_t to, pair, n;        /* choices so far */
	uint32_t up[TORUS_MAX_DIMS]; /* hops to the receiver in the positive direction */
	uint32_t key[MAX_CHOICES];
	uint32_t path[SRCROUTE_MAX_HOPS];
};

/*
 * Fewer extra steps come first, then the lower ones, then the way up before that down in the first
 * dimension.
 */
static void add_choice(struct finder *finder)
{
	struct srcroutes *srcroutes = finder->srcroutes;
	uint32_t hops = srcroutes->hops[finder->pair], k = finder->n++,
		 nd = srcroutes->torus.n_dirs, key = 0;
	uint32_t *choice = srcroutes->channel + srcroutes->row[finder->pair];
	struct srcroute srcroute = header_of(&srcroutes->torus, finder->path, hops);

	for (uint32_t h = 0; h < hops; h++)
		if (finder->path[h] % nd >= srcroutes->torus.n_dims)
			key |= 1u << (nd - 1 - finder->path[h] % nd);
	if (srcroute.last != NO_DIR)
		key |= 2u << 24 | (uint32_t)srcroute.last << 8;
	if (srcroute.first != NO_DIR)
		key |= 1u << 24 | (uint32_t)srcroute.first << 16;
	for (; k && finder->key[k - 1] > key; k--) {
		finder->key[k] = finder->key[k - 1];
		memcpy(choice + k * hops, choice + (k - 1) * hops, hops * sizeof(*choice));
	}
	finder->key[k] = key;
	memcpy(choice + k * hops, finder->path, hops * sizeof(*choice));
}

/*
 * Every path of the graph from vertex v on that comes nearer with each hop. An extra step without a
 * turn is the same hops as the body with one more of them.
 */
static void follow_paths(struct finder *finder, uint32_t v, uint32_t h)
{
	const struct srcroutes *srcroutes = finder->srcroutes;
	const struct torus *torus = &srcroutes->torus;
	uint32_t node = v / srcroutes->n_states, state = v % srcroutes->n_states, n = torus->n_dims,
		 nearer = 0;
	bool first = state && state <= n;

	if (node == finder->to) {
		if (!first)
			add_choice(finder);
		return;
	}
	/* Directions; both of a ring, if half of it lies between. */
	for (uint32_t i = 0; i < n; i++) {
		nearer |= (uint32_t)(finder->up[i] && 2 * finder->up[i] <= torus->size[i]) << i;
		nearer |= (uint32_t)(2 * finder->up[i] >= torus->size[i]) << (n + i);
	}
	for (uint32_t k = srcroutes->step_row[state]; k < srcroutes->step_row[state + 1]; k++) {
		struct srcroutes_step step = srcroutes->step[k];
		bool extra = first || step.to + n + 1 >= srcroutes->n_states;
		uint32_t *up = &finder->up[step.dir % n], was = *up, next;
		uint32_t up_alone = nearer & ~(nearer >> n) & ((1u << n) - 1);

		if (step.dir == NO_DIR || !(nearer >> step.dir & 1) || (extra && !step.turn))
			continue;
		/* A positive direction that is passed over does not come again. */
		if (step.to > n && up_alone & ((1u << step.dir) - 1))
			continue;
		next = step_to(srcroutes, v, step);
		if (next == NO_NODE)
			continue;
		finder->path[h] = node * torus->n_dirs + step.dir;
		*up = (was + (step.dir < n ? torus->size[step.dir] - 1 : 1)) %
		      torus->size[step.dir % n];
		follow_paths(finder, next, h + 1);
		*up = was;
	}
}

static void find_choices(struct srcroutes *srcroutes)
{
	const struct torus *torus = &srcroutes->torus;
	struct finder *finder = room(srcroutes, 1, sizeof(*finder));
	uint64_t size = 0;

	finder->srcroutes = srcroutes;
	srcroutes->n_pairs = torus->n_nodes * torus->n_nodes;
	srcroutes->row = room(srcroutes, srcroutes->n_pairs + (size_t)1, sizeof(*srcroutes->row));
	srcroutes->hops = room(srcroutes, srcroutes->n_pairs, sizeof(*srcroutes->hops));
	for (uint32_t p = 0; p < srcroutes->n_pairs; p++) {
		uint32_t from = p / torus->n_nodes;

		finder->pair = p;
		finder->to = p % torus->n_nodes;
		finder->n = 0;
		for (uint32_t i = 0; i < torus->n_dims; i++) {
			uint32_t side = torus->size[i],
				 up = (coord(torus, finder->to, i) + side - coord(torus, from, i)) %
				      side;

			finder->up[i] = up;
			srcroutes->hops[p] += (uint16_t)(2 * up <= side ? up : side - up);
		}
		if (size < srcroutes->row[p] + (uint64_t)MAX_CHOICES * srcroutes->hops[p]) {
			size = 2 * size + (uint64_t)MAX_CHOICES * srcroutes->hops[p];
			srcroutes->channel =
				realloc(srcroutes->channel, size * sizeof(*srcroutes->channel));
			assert(srcroutes->channel);
		}
		if (srcroutes->hops[p])
			follow_paths(finder, from * srcroutes->n_states, 0);
		srcroutes->row[p + 1] =
			srcroutes->row[p] + (uint64_t)finder->n * srcroutes->hops[p];
		srcroutes->n_unique += finder->n == 1;
	}
}

bool srcroutes_init(struct srcroutes *srcroutes, uint32_t n_dims, const uint32_t *size)
{
	*srcroutes = (struct srcroutes){ 0 };
	if (!torus_init(srcroutes, n_dims, size))
		return false;
	find_turns(srcroutes);
	make_graph(srcroutes);
	find_choices(srcroutes);
	return true;
}

void srcroutes_free(struct srcroutes *srcroutes)
{
	free(srcroutes->channel);
	osr_arena_free(&srcroutes->arena);
}

/* ---- algorithms 1 and 2: breadth-first search ------------------------------------------------ */

/* The routes that are taken, and how many of them are on each channel. */
struct picks {
	struct srcroutes *srcroutes;
	struct srcroute *route; /* [n_pairs] */
	uint32_t *load;         /* [channels] */
};

static void take(struct picks *picks, uint32_t pair, const uint32_t *channel)
{
	struct srcroutes *srcroutes = picks->srcroutes;
	uint32_t n = srcroutes->torus.n_nodes, amount = 1;

	if (srcroutes->hosts)
		amount = srcroutes->hosts[pair / n] * srcroutes->hosts[pair % n];
	picks->route[pair] = header_of(&srcroutes->torus, channel, srcroutes->hops[pair]);
	for (uint32_t h = 0; h < srcroutes->hops[pair]; h++) {
		uint32_t *load = &picks->load[channel[h]];

		*load += amount;
		srcroutes->max_load = *load > srcroutes->max_load ? *load : srcroutes->max_load;
	}
}

static int ascending(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

/*
 * A source's routes form a tree in the routing graph; a vertex belongs to the first one of the
 * level before that leads to it, and vertices with little weight on their outgoing edges come
 * first.
 *
 * What the paper leaves open: the weight of a vertex with several outgoing edges is that of the
 * lightest one, which comes closest to its table 2; edges to the end vertex cross no link and do
 * not count; of equal vertices the one discovered first comes first; edges are followed in the
 * order of directions. Length in GET_MAX_REMOTE is that of the routes from the last source.
 */
static uint64_t outgoing_weight(const struct picks *picks, uint32_t v)
{
	const struct srcroutes *srcroutes = picks->srcroutes;
	uint32_t node = v / srcroutes->n_states, state = v % srcroutes->n_states,
		 least = UINT32_MAX;

	for (uint32_t k = srcroutes->step_row[state]; k < srcroutes->step_row[state + 1]; k++) {
		struct srcroutes_step step = srcroutes->step[k];

		if (step.dir == NO_DIR || step_to(srcroutes, v, step) == NO_NODE)
			continue;
		if (picks->load[node * srcroutes->torus.n_dirs + step.dir] < least)
			least = picks->load[node * srcroutes->torus.n_dirs + step.dir];
	}
	return least == UINT32_MAX ? 0 : least;
}

static void bfs(struct picks *picks)
{
	struct srcroutes *srcroutes = picks->srcroutes;
	uint32_t n = srcroutes->torus.n_nodes, n_states = srcroutes->n_states, source = 0,
		 path[SRCROUTE_MAX_HOPS];
	size_t n_vertices = (size_t)n * n_states;
	uint32_t *parent = room(srcroutes, n_vertices, sizeof(*parent));
	uint32_t *queue = room(srcroutes, n_vertices, sizeof(*queue));
	uint64_t *order = room(srcroutes, n_vertices, sizeof(*order));
	bool *done = room(srcroutes, n, sizeof(*done));

	for (uint32_t left = n; left; left--) {
		uint32_t far = n, head = 0, tail = 1;

		memset(parent, 0xff, n_vertices * sizeof(*parent));
		queue[0] = source * n_states;
		done[source] = true;
		while (head < tail) {
			const uint32_t *level = queue + head;
			uint32_t size = tail - head;

			/*
			 * Line 9 of algorithm 2: a level by ascending weight, then by the order of
			 * discovery.
			 */
			for (uint32_t i = 0; i < size; i++)
				order[i] = (uint64_t)outgoing_weight(picks, level[i]) << 32 | i;
			qsort(order, size, sizeof(*order), ascending);
			head = tail;
			for (uint32_t i = 0; i < size; i++) {
				uint32_t u = level[(uint32_t)order[i]], state = u % n_states;

				for (uint32_t k = srcroutes->step_row[state];
				     k < srcroutes->step_row[state + 1]; k++) {
					uint32_t v = step_to(srcroutes, u, srcroutes->step[k]);

					if (v == NO_NODE || parent[v] != NO_NODE)
						continue;
					parent[v] = u;
					queue[tail++] = v;
				}
			}
		}
		/* Lines 19 to 31. */
		for (uint32_t j = 0; j < n; j++) {
			uint32_t h = srcroutes->hops[source * n + j],
				 v = parent[(j + 1) * n_states - 1];

			if (j == source)
				continue;
			for (; parent[v] != NO_NODE; v = parent[v])
				path[--h] = parent[v] / n_states * srcroutes->torus.n_dirs +
					    srcroutes->last[v % n_states];
			take(picks, source * n + j, path);
		}
		for (uint32_t j = 0; j < n; j++)
			if (!done[j] && (far == n || srcroutes->hops[source * n + far] <
							     srcroutes->hops[source * n + j]))
				far = j;
		source = far;
	}
}

/* ---- algorithms 3 and 4: shortest paths by load ---------------------------------------------- */

/*
 * DIFFERS: algorithm 4 looks for the least weight among all shortest paths of the routing graph,
 * and the choices of a pair are these paths. So the search is a minimum over a few sums. Only ties
 * may fall out differently: to the first choice here, to the first path met there.
 */
static const uint32_t *cheapest_choice(const struct picks *picks, uint32_t pair)
{
	const uint32_t *best = NULL;
	uint64_t least = UINT64_MAX;

	for (uint32_t k = 0; k < srcroutes_n_choices(picks->srcroutes, pair); k++) {
		const uint32_t *channel = srcroutes_channels(picks->srcroutes, pair, k);
		uint64_t sum = 0;

		for (uint32_t h = 0; h < picks->srcroutes->hops[pair]; h++)
			sum += picks->load[channel[h]];
		if (sum < least) {
			least = sum;
			best = channel;
		}
	}
	return best;
}

/*
 * Lines of algorithm 3 as printed:
 *	2-8	unique routes are settled first
 *	10	pairs are sorted and grouped by turns, hops and source
 *	11-18   shortest paths for what is left of the group; those that share no channel with each
 *	other are
 *		taken, the others are searched again
 */
static void sssp(struct picks *picks, bool unique_first)
{
	struct srcroutes *srcroutes = picks->srcroutes;
	uint32_t n = srcroutes->torus.n_nodes, n_order = 0, n_left, stamp = 0, size;
	uint64_t *order = room(srcroutes, srcroutes->n_pairs, sizeof(*order));
	uint32_t *pair = room(srcroutes, n, sizeof(*pair));
	const uint32_t **best = room(srcroutes, n, sizeof(*best));
	uint32_t *taken = room(srcroutes, n * srcroutes->torus.n_dirs,
			       sizeof(*taken)); /* stamp: on a route of this batch */

	for (uint32_t p = 0; p < srcroutes->n_pairs; p++) {
		const uint32_t *channel = srcroutes_channels(srcroutes, p, 0);
		uint32_t n_choices = srcroutes_n_choices(srcroutes, p),
			 nd = srcroutes->torus.n_dirs;
		uint64_t n_turns = 0; /* of the choice with the fewest extra steps */

		for (uint32_t h = 1; h < srcroutes->hops[p]; h++)
			n_turns += channel[h] % nd != channel[h - 1] % nd;
		if (n_choices > 1 || (n_choices && !unique_first))
			order[n_order++] = n_turns << 48 | (uint64_t)srcroutes->hops[p] << 32 | p;
		else if (n_choices)
			take(picks, p, srcroutes_channels(srcroutes, p, 0));
	}
	qsort(order, n_order, sizeof(*order), ascending);
	for (uint32_t i = 0; i < n_order; i += size) {
		uint32_t source = (uint32_t)order[i] / n;

		for (size = 0; i + size < n_order && order[i + size] >> 32 == order[i] >> 32 &&
			       (uint32_t)order[i + size] / n == source;
		     size++)
			pair[size] = (uint32_t)order[i + size];
		for (uint32_t left = size; left; left = n_left) {
			srcroutes->n_sssp_calls++;
			stamp++;
			n_left = 0;
			for (uint32_t k = 0; k < left; k++)
				best[k] = cheapest_choice(picks, pair[k]);
			for (uint32_t k = 0; k < left; k++) {
				uint32_t hops = srcroutes->hops[pair[k]];
				bool shares = false;

				for (uint32_t h = 0; h < hops; h++)
					shares |= taken[best[k][h]] == stamp;
				if (shares) {
					pair[n_left++] = pair[k];
					continue;
				}
				for (uint32_t h = 0; h < hops; h++)
					taken[best[k][h]] = stamp;
				take(picks, pair[k], best[k]);
			}
		}
	}
}

void srcroutes_route(struct srcroutes *srcroutes, enum srcroutes_algorithm algorithm,
		     struct srcroute *route)
{
	struct osr_arena_mark mark = osr_arena_mark(&srcroutes->arena);
	struct picks picks = { .srcroutes = srcroutes, .route = route };

	picks.load = room(srcroutes, (size_t)srcroutes->torus.n_nodes * srcroutes->torus.n_dirs,
			  sizeof(*picks.load));
	srcroutes->n_sssp_calls = srcroutes->max_load = 0;
	if (algorithm == SRCROUTES_BFS)
		bfs(&picks);
	else
		sssp(&picks, algorithm == SRCROUTES_SSSP);
	osr_arena_reset(&srcroutes->arena, mark);
}
