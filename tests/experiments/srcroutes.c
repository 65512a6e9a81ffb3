/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "srcroutes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *room(struct srcroutes *r, size_t n, size_t size)
{
	void *p = osr_calloc(&r->arena, n, size);

	assert(p || !n);
	return p;
}

/* ---- torus ---------------------------------------------------------------------------------- */

static uint32_t coord(const struct torus *t, uint32_t node, uint32_t dim)
{
	return node / t->stride[dim] % t->size[dim];
}

static bool torus_init(struct srcroutes *r, uint32_t n_dims, const uint32_t *size)
{
	struct torus *t = &r->t;
	uint32_t n = 1;

	if (n_dims < 1 || n_dims > TORUS_MAX_DIMS)
		return false;
	for (uint32_t i = 0; i < n_dims; i++) {
		n *= size[i];
		if (size[i] < 2 || size[i] > TORUS_MAX_SIDE || n > TORUS_MAX_NODES)
			return false;
	}
	*t = (struct torus){ .n_dims = n_dims, .n_dirs = 2 * n_dims, .n_nodes = n };
	for (uint32_t i = 0; i < n_dims; i++) {
		n /= size[i];
		t->size[i] = size[i];
		t->stride[i] = n;
	}
	t->next = room(r, (size_t)t->n_nodes * t->n_dirs, sizeof(*t->next));
	for (uint32_t c = 0; c < t->n_nodes * t->n_dirs; c++) {
		uint32_t node = c / t->n_dirs, dir = c % t->n_dirs, dim = dir % n_dims;
		uint32_t x = coord(t, node, dim), side = size[dim];
		uint32_t y = (dir < n_dims ? x + 1 : x + side - 1) % side;
		bool end = side == 2 && x != (dir >= n_dims);

		t->next[c] = end ? NO_NODE : node + (y - x) * t->stride[dim];
	}
	return true;
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* The channel that a packet reaches from channel c by direction `to`; NO_NODE: it may not. */
static uint32_t step_after(const struct srcroutes *r, uint32_t c, uint32_t to)
{
	uint32_t nd = r->t.n_dirs, dir = c % nd, e = r->t.next[c] * nd + to;

	if (r->t.next[c] == NO_NODE || r->t.next[e] == NO_NODE || to == torus_back(&r->t, dir))
		return NO_NODE;
	return to >= dir || (r->after[e - to + dir] >> to & 1) ? e : NO_NODE;
}

/* Channel c can use the set of directions, and so can everything from which it can be reached. */
static void add_used(const struct srcroutes *r, uint32_t c, uint16_t set, uint16_t *used)
{
	uint32_t nd = r->t.n_dirs, node = c / nd;

	if (!(set & ~used[c]))
		return;
	used[c] |= set;
	for (uint32_t dir = 0; dir < nd; dir++) {
		uint32_t p = r->t.next[node * nd + torus_back(&r->t, dir)];

		if (p != NO_NODE && step_after(r, p * nd + dir, c % nd) == c)
			add_used(r, p * nd + dir, set, used);
	}
}

/*
 * Section 3.2. Stage one: the sets in direction order. Stage two: channels have their turn in the order of
 * their numbers; for each, lower target directions come first.
 */
static void find_turns(struct srcroutes *r)
{
	const struct torus *t = &r->t;
	uint32_t nd = t->n_dirs, n = t->n_nodes * nd;
	uint16_t *used = calloc(n, sizeof(*used));
	bool changed = true;

	r->after = room(r, n, sizeof(*r->after));
	for (uint32_t c = 0; c < n; c++)
		if (t->next[c] != NO_NODE)
			add_used(r, c, (uint16_t)(1u << c % nd), used);
	for (uint32_t c = 0; c < n; c++)
		for (uint32_t to = 0, dir = c % nd; to < dir; to++) {
			uint32_t e = t->next[c] * nd + to;

			if (t->next[c] == NO_NODE || t->next[e] == NO_NODE ||
			    (used[e] >> dir & 1) || (dir < t->n_dims) != (to < t->n_dims))
				continue;
			r->after[e - to + dir] |= (uint16_t)(1u << to);
			r->n_added++;
			add_used(r, c, used[e], used);
		}
	free(used);
	/*
	 * The least ranks that rise along every permitted step, and stay along a ring, from zeroes on: theorem 2 says that
	 * they come to rest.
	 */
	r->rank = room(r, n, sizeof(*r->rank));
	while (changed) {
		changed = false;
		for (uint32_t c = 0; c < n; c++)
			for (uint32_t to = 0; to < nd; to++) {
				uint32_t e = step_after(r, c, to);
				bool ring = to == c % nd && t->size[to % t->n_dims] > 2;

				if (e == NO_NODE || r->rank[e] >= r->rank[c] + !ring)
					continue;
				r->rank[e] = r->rank[c] + !ring;
				assert(r->rank[e] < n);
				changed = true;
			}
	}
}

/* ---- routing graph -------------------------------------------------------------------------- */

/* dirbit_k with direction dir used, too; 0 if its opposite is in use already. */
static uint32_t with_dir(const struct torus *t, uint32_t k, uint32_t dir)
{
	uint32_t power = 1, wanted = dir < t->n_dims ? 1 : 2, digit;

	for (uint32_t i = dir % t->n_dims; i; i--)
		power *= 3;
	digit = k / power % 3;
	return digit == wanted ? k : digit ? 0 : k + wanted * power;
}

static void make_graph(struct srcroutes *r)
{
	const struct torus *t = &r->t;
	uint32_t n = t->n_dims, nd = t->n_dirs, power = 1, n_steps = 0, end;

	for (uint32_t i = 0; i < n; i++)
		power *= 3;
	r->n_states = power + nd + 1;
	end = r->n_states - 1;
	r->last = room(r, r->n_states, 1);
	r->step_row = room(r, r->n_states + 1, sizeof(*r->step_row));
	/* A state has a step to the end, and for each direction at most two. */
	r->step = room(r, (size_t)r->n_states * (2 * nd + 1), sizeof(*r->step));
#define STEP(dir, turn, to)                                                                        \
	(r->step[n_steps++] = (struct srcroutes_step){ (uint8_t)(dir), turn, (uint16_t)(to) })
	for (uint32_t state = 0; state < r->n_states; state++) {
		bool first = state && state <= n, behind = state + n >= end,
		     body = !behind && state > n;
		uint32_t k = body ? state - n : 0, last = NO_DIR;

		if (first)
			last = state - 1;
		else if (behind && state != end)
			last = state + nd - end;
		for (uint32_t dir = 0; body && dir < nd; dir++)
			if (with_dir(t, k, dir) == k)
				last = dir;
		r->last[state] = (uint8_t)last;
		r->step_row[state] = n_steps;
		/* The begin's step to the own end is no route and is left out (rule 1); rule 4. */
		if (state && state != end)
			STEP(NO_DIR, false, end);
		for (uint32_t dir = 0; !behind && dir < nd; dir++) {
			uint32_t next = with_dir(t, k, dir);
			bool straight = dir != last && dir != torus_back(t, last);

			/* Rule 1. */
			if (!state && dir < n)
				STEP(dir, false, 1 + dir);
			/*
			 * Rules 1 to 3; section 3.2 adds from a first step the positive directions below
			 * it, and last steps to a negative direction below the last one.
			 */
			if (!state || (first && straight) || (body && dir >= last && next))
				STEP(dir, first && dir < last, n + next);
			if (body && dir >= n && straight && (dir > last || last >= n))
				STEP(dir, dir < last, end + dir - nd);
		}
	}
#undef STEP
	r->step_row[r->n_states] = n_steps;
}

/* The vertex that a step leads to from vertex v; NO_NODE if it is not possible. */
static uint32_t step_to(const struct srcroutes *r, uint32_t v, struct srcroutes_step step)
{
	uint32_t nd = r->t.n_dirs, node = v / r->n_states;
	uint32_t next = step.dir == NO_DIR ? node : r->t.next[node * nd + step.dir];

	if (next == NO_NODE ||
	    (step.turn && !(r->after[node * nd + r->last[v % r->n_states]] >> step.dir & 1)))
		return NO_NODE;
	return next * r->n_states + step.to;
}

/* ---- choices -------------------------------------------------------------------------------- */

#define MAX_CHOICES ((TORUS_MAX_DIMS + 1) * (TORUS_MAX_DIMS + 1) << TORUS_MAX_DIMS)

/* What the sender writes for a path. */
static struct srcroute header_of(const struct torus *t, const uint32_t *path, uint32_t hops)
{
	struct srcroute s = { NO_DIR, NO_DIR, 0, 0 };
	uint32_t n = t->n_dims, nd = t->n_dirs;

	for (uint32_t h = 0; h < hops; h++) {
		uint32_t dir = path[h] % nd;

		if (!h && hops > 1 && dir < n && path[1] % nd < dir)
			s.first = (uint8_t)dir;
		else if (h && h == hops - 1 && dir >= n && path[h - 1] % nd > dir)
			s.last = (uint8_t)dir;
		else if (dir < n)
			s.plus |= (uint8_t)(1u << dir);
		else
			s.minus |= (uint8_t)(1u << (dir - n));
	}
	return s;
}

struct finder {
	struct srcroutes *r;
	uint32_t to, pair, n;        /* choices so far */
	uint32_t up[TORUS_MAX_DIMS]; /* hops to the receiver in the positive direction */
	uint32_t key[MAX_CHOICES];
	uint32_t path[SRCROUTE_MAX_HOPS];
};

/* Fewer extra steps come first, then the lower ones, then the way up before that down in the first dimension. */
static void add_choice(struct finder *w)
{
	struct srcroutes *r = w->r;
	uint32_t hops = r->hops[w->pair], k = w->n++, nd = r->t.n_dirs, key = 0;
	uint32_t *choice = r->channel + r->row[w->pair];
	struct srcroute s = header_of(&r->t, w->path, hops);

	for (uint32_t h = 0; h < hops; h++)
		if (w->path[h] % nd >= r->t.n_dims)
			key |= 1u << (nd - 1 - w->path[h] % nd);
	if (s.last != NO_DIR)
		key |= 2u << 24 | (uint32_t)s.last << 8;
	if (s.first != NO_DIR)
		key |= 1u << 24 | (uint32_t)s.first << 16;
	for (; k && w->key[k - 1] > key; k--) {
		w->key[k] = w->key[k - 1];
		memcpy(choice + k * hops, choice + (k - 1) * hops, hops * sizeof(*choice));
	}
	w->key[k] = key;
	memcpy(choice + k * hops, w->path, hops * sizeof(*choice));
}

/*
 * Every path of the graph from vertex v on that comes nearer with each hop. An extra step without a turn is the same
 * hops as the body with one more of them.
 */
static void follow_paths(struct finder *w, uint32_t v, uint32_t h)
{
	const struct srcroutes *r = w->r;
	const struct torus *t = &r->t;
	uint32_t node = v / r->n_states, state = v % r->n_states, n = t->n_dims, nearer = 0;
	bool first = state && state <= n;

	if (node == w->to) {
		if (!first)
			add_choice(w);
		return;
	}
	/* Directions; both of a ring, if half of it lies between. */
	for (uint32_t i = 0; i < n; i++) {
		nearer |= (uint32_t)(w->up[i] && 2 * w->up[i] <= t->size[i]) << i;
		nearer |= (uint32_t)(2 * w->up[i] >= t->size[i]) << (n + i);
	}
	for (uint32_t k = r->step_row[state]; k < r->step_row[state + 1]; k++) {
		struct srcroutes_step step = r->step[k];
		bool extra = first || step.to + n + 1 >= r->n_states;
		uint32_t *up = &w->up[step.dir % n], was = *up, next;
		uint32_t up_alone = nearer & ~(nearer >> n) & ((1u << n) - 1);

		if (step.dir == NO_DIR || !(nearer >> step.dir & 1) || (extra && !step.turn))
			continue;
		/* A positive direction that is passed over does not come again. */
		if (step.to > n && up_alone & ((1u << step.dir) - 1))
			continue;
		next = step_to(r, v, step);
		if (next == NO_NODE)
			continue;
		w->path[h] = node * t->n_dirs + step.dir;
		*up = (was + (step.dir < n ? t->size[step.dir] - 1 : 1)) % t->size[step.dir % n];
		follow_paths(w, next, h + 1);
		*up = was;
	}
}

static void find_choices(struct srcroutes *r)
{
	const struct torus *t = &r->t;
	struct finder *w = room(r, 1, sizeof(*w));
	uint64_t size = 0;

	w->r = r;
	r->n_pairs = t->n_nodes * t->n_nodes;
	r->row = room(r, r->n_pairs + (size_t)1, sizeof(*r->row));
	r->hops = room(r, r->n_pairs, sizeof(*r->hops));
	for (uint32_t p = 0; p < r->n_pairs; p++) {
		uint32_t from = p / t->n_nodes;

		w->pair = p;
		w->to = p % t->n_nodes;
		w->n = 0;
		for (uint32_t i = 0; i < t->n_dims; i++) {
			uint32_t side = t->size[i],
				 up = (coord(t, w->to, i) + side - coord(t, from, i)) % side;

			w->up[i] = up;
			r->hops[p] += (uint16_t)(2 * up <= side ? up : side - up);
		}
		if (size < r->row[p] + (uint64_t)MAX_CHOICES * r->hops[p]) {
			size = 2 * size + (uint64_t)MAX_CHOICES * r->hops[p];
			r->channel = realloc(r->channel, size * sizeof(*r->channel));
			assert(r->channel);
		}
		if (r->hops[p])
			follow_paths(w, from * r->n_states, 0);
		r->row[p + 1] = r->row[p] + (uint64_t)w->n * r->hops[p];
		r->n_unique += w->n == 1;
	}
}

bool srcroutes_init(struct srcroutes *r, uint32_t n_dims, const uint32_t *size)
{
	*r = (struct srcroutes){ 0 };
	if (!torus_init(r, n_dims, size))
		return false;
	find_turns(r);
	make_graph(r);
	find_choices(r);
	return true;
}

void srcroutes_free(struct srcroutes *r)
{
	free(r->channel);
	osr_arena_free(&r->arena);
}

/* ---- algorithms 1 and 2: breadth-first search ------------------------------------------------ */

/* The routes that are taken, and how many of them are on each channel. */
struct picks {
	struct srcroutes *r;
	struct srcroute *route; /* [n_pairs] */
	uint32_t *load;         /* [channels] */
};

static void take(struct picks *s, uint32_t pair, const uint32_t *channel)
{
	s->route[pair] = header_of(&s->r->t, channel, s->r->hops[pair]);
	for (uint32_t h = 0; h < s->r->hops[pair]; h++)
		s->load[channel[h]]++;
}

static int ascending(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

/*
 * A source's routes form a tree in the routing graph; a vertex belongs to the first one of the level before
 * that leads to it, and vertices with little weight on their outgoing edges come first.
 *
 * What the paper leaves open: the weight of a vertex with several outgoing edges is that of the lightest one,
 * which comes closest to its table 2; edges to the end vertex cross no link and do not count; of equal
 * vertices the one discovered first comes first; edges are followed in the order of directions. Length in
 * GET_MAX_REMOTE is that of the routes from the last source.
 */
static uint64_t outgoing_weight(const struct picks *s, uint32_t v)
{
	const struct srcroutes *r = s->r;
	uint32_t node = v / r->n_states, state = v % r->n_states, least = UINT32_MAX;

	for (uint32_t k = r->step_row[state]; k < r->step_row[state + 1]; k++) {
		struct srcroutes_step step = r->step[k];

		if (step.dir == NO_DIR || step_to(r, v, step) == NO_NODE)
			continue;
		if (s->load[node * r->t.n_dirs + step.dir] < least)
			least = s->load[node * r->t.n_dirs + step.dir];
	}
	return least == UINT32_MAX ? 0 : least;
}

static void bfs(struct picks *s)
{
	struct srcroutes *r = s->r;
	uint32_t n = r->t.n_nodes, n_states = r->n_states, source = 0, path[SRCROUTE_MAX_HOPS];
	size_t n_vertices = (size_t)n * n_states;
	uint32_t *parent = room(r, n_vertices, sizeof(*parent));
	uint32_t *queue = room(r, n_vertices, sizeof(*queue));
	uint64_t *order = room(r, n_vertices, sizeof(*order));
	bool *done = room(r, n, sizeof(*done));

	for (uint32_t left = n; left; left--) {
		uint32_t far = n, head = 0, tail = 1;

		memset(parent, 0xff, n_vertices * sizeof(*parent));
		queue[0] = source * n_states;
		done[source] = true;
		while (head < tail) {
			const uint32_t *level = queue + head;
			uint32_t size = tail - head;

			/* Line 9 of algorithm 2: a level by ascending weight, then by the order of discovery. */
			for (uint32_t i = 0; i < size; i++)
				order[i] = (uint64_t)outgoing_weight(s, level[i]) << 32 | i;
			qsort(order, size, sizeof(*order), ascending);
			head = tail;
			for (uint32_t i = 0; i < size; i++) {
				uint32_t u = level[(uint32_t)order[i]], state = u % n_states;

				for (uint32_t k = r->step_row[state]; k < r->step_row[state + 1];
				     k++) {
					uint32_t v = step_to(r, u, r->step[k]);

					if (v == NO_NODE || parent[v] != NO_NODE)
						continue;
					parent[v] = u;
					queue[tail++] = v;
				}
			}
		}
		/* Lines 19 to 31. */
		for (uint32_t j = 0; j < n; j++) {
			uint32_t h = r->hops[source * n + j], v = parent[(j + 1) * n_states - 1];

			if (j == source)
				continue;
			for (; parent[v] != NO_NODE; v = parent[v])
				path[--h] =
					parent[v] / n_states * r->t.n_dirs + r->last[v % n_states];
			take(s, source * n + j, path);
		}
		for (uint32_t j = 0; j < n; j++)
			if (!done[j] &&
			    (far == n || r->hops[source * n + far] < r->hops[source * n + j]))
				far = j;
		source = far;
	}
}

/* ---- algorithms 3 and 4: shortest paths by load ---------------------------------------------- */

/*
 * DIFFERS: algorithm 4 looks for the least weight among all shortest paths of the routing graph, and the
 * choices of a pair are these paths. So the search is a minimum over a few sums. Only ties may fall out
 * differently: to the first choice here, to the first path met there.
 */
static const uint32_t *cheapest_choice(const struct picks *s, uint32_t pair)
{
	const uint32_t *best = NULL;
	uint64_t least = UINT64_MAX;

	for (uint32_t k = 0; k < srcroutes_n_choices(s->r, pair); k++) {
		const uint32_t *channel = srcroutes_channels(s->r, pair, k);
		uint64_t sum = 0;

		for (uint32_t h = 0; h < s->r->hops[pair]; h++)
			sum += s->load[channel[h]];
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
 *	11-18	shortest paths for what is left of the group; those that share no channel with each other are
 *		taken, the others are searched again
 */
static void sssp(struct picks *s, bool unique_first)
{
	struct srcroutes *r = s->r;
	uint32_t n = r->t.n_nodes, n_order = 0, n_left, stamp = 0, size;
	uint64_t *order = room(r, r->n_pairs, sizeof(*order));
	uint32_t *pair = room(r, n, sizeof(*pair));
	const uint32_t **best = room(r, n, sizeof(*best));
	uint32_t *taken =
		room(r, n * r->t.n_dirs, sizeof(*taken)); /* stamp: on a route of this batch */

	for (uint32_t p = 0; p < r->n_pairs; p++) {
		const uint32_t *channel = srcroutes_channels(r, p, 0);
		uint32_t n_choices = srcroutes_n_choices(r, p), nd = r->t.n_dirs;
		uint64_t n_turns = 0; /* of the choice with the fewest extra steps */

		for (uint32_t h = 1; h < r->hops[p]; h++)
			n_turns += channel[h] % nd != channel[h - 1] % nd;
		if (n_choices > 1 || (n_choices && !unique_first))
			order[n_order++] = n_turns << 48 | (uint64_t)r->hops[p] << 32 | p;
		else if (n_choices)
			take(s, p, srcroutes_channels(r, p, 0));
	}
	qsort(order, n_order, sizeof(*order), ascending);
	for (uint32_t i = 0; i < n_order; i += size) {
		uint32_t source = (uint32_t)order[i] / n;

		for (size = 0; i + size < n_order && order[i + size] >> 32 == order[i] >> 32 &&
			       (uint32_t)order[i + size] / n == source;
		     size++)
			pair[size] = (uint32_t)order[i + size];
		for (uint32_t left = size; left; left = n_left) {
			r->n_sssp_calls++;
			stamp++;
			n_left = 0;
			for (uint32_t k = 0; k < left; k++)
				best[k] = cheapest_choice(s, pair[k]);
			for (uint32_t k = 0; k < left; k++) {
				uint32_t hops = r->hops[pair[k]];
				bool shares = false;

				for (uint32_t h = 0; h < hops; h++)
					shares |= taken[best[k][h]] == stamp;
				if (shares) {
					pair[n_left++] = pair[k];
					continue;
				}
				for (uint32_t h = 0; h < hops; h++)
					taken[best[k][h]] = stamp;
				take(s, pair[k], best[k]);
			}
		}
	}
}

void srcroutes_route(struct srcroutes *r, enum srcroutes_algorithm algorithm,
		     struct srcroute *route)
{
	struct osr_arena_mark mark = osr_arena_mark(&r->arena);
	struct picks s = { .r = r, .route = route };

	s.load = room(r, (size_t)r->t.n_nodes * r->t.n_dirs, sizeof(*s.load));
	r->n_sssp_calls = 0;
	if (algorithm == SRCROUTES_BFS)
		bfs(&s);
	else
		sssp(&s, algorithm == SRCROUTES_SSSP);
	osr_arena_reset(&r->arena, mark);
}
