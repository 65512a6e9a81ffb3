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

/*
 * Channel c can use the set of directions, and so can everything from which it can be reached. A channel that
 * has the whole set already has handed it on. queue[channels].
 */
static void add_used(const struct srcroutes *r, uint32_t c, uint16_t set, uint16_t *used,
		     uint32_t *queue)
{
	uint32_t nd = r->t.n_dirs, tail = 0;

	queue[tail++] = c;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t e = queue[head];

		if (!(set & ~used[e]))
			continue;
		used[e] |= set;
		for (uint32_t dir = 0; dir < nd; dir++) {
			uint32_t p = r->t.next[e - e % nd + torus_back(&r->t, dir)];

			if (p == NO_NODE || step_after(r, p * nd + dir, e % nd) != e)
				continue;
			p = p * nd + dir;
			if (set & ~used[p])
				queue[tail++] = p;
		}
	}
}

/*
 * The least ranks that rise along every permitted step, and stay along a ring, from zeroes on: theorem 2 says that they
 * come to rest.
 */
static void find_ranks(struct srcroutes *r)
{
	const struct torus *t = &r->t;
	uint32_t nd = t->n_dirs;
	bool changed = true;

	r->rank = room(r, (size_t)t->n_nodes * nd, sizeof(*r->rank));
	while (changed) {
		changed = false;
		for (uint32_t c = 0; c < t->n_nodes * nd; c++)
			for (uint32_t to = 0; to < nd; to++) {
				uint32_t e = step_after(r, c, to);
				bool ring = to == c % nd && t->size[to % t->n_dims] > 2;

				if (e == NO_NODE || r->rank[e] >= r->rank[c] + !ring)
					continue;
				r->rank[e] = r->rank[c] + !ring;
				assert(r->rank[e] < t->n_nodes * nd);
				changed = true;
			}
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
	uint32_t *queue = malloc((size_t)n * nd * sizeof(*queue));

	r->after = room(r, n, sizeof(*r->after));
	for (uint32_t c = 0; c < n; c++)
		if (t->next[c] != NO_NODE)
			add_used(r, c, (uint16_t)(1u << c % nd), used, queue);
	for (uint32_t c = 0; c < n; c++)
		for (uint32_t to = 0, dir = c % nd; to < dir; to++) {
			uint32_t e = t->next[c] * nd + to;

			if (t->next[c] == NO_NODE || t->next[e] == NO_NODE ||
			    (used[e] >> dir & 1) || (dir < t->n_dims) != (to < t->n_dims))
				continue;
			r->after[e - to + dir] |= (uint16_t)(1u << to);
			r->n_added++;
			add_used(r, c, used[e], used, queue);
		}
	find_ranks(r);
	free(used);
	free(queue);
}

/* ---- choices -------------------------------------------------------------------------------- */

/*
 * A first step, a last step and the directions used determine a route, so the combinations as short as the
 * distance are tried. An extra step makes a difference to the hops only if the first one is by a higher
 * direction than the body starts with, the last one by a lower one than it ends with.
 */
struct finder {
	struct srcroutes *r;
	uint32_t up[TORUS_MAX_DIMS],
		down[TORUS_MAX_DIMS];   /* hops of the shorter way, or both; 0: not this way */
	uint64_t n_choices, n_channels; /* so far */
	bool filling;                   /* or counting */
};

/* One combination: a choice, if the body makes hops and the turns to the extra steps are allowed. */
static void try_route(struct finder *w, uint32_t from, uint32_t to, struct srcroute s)
{
	struct srcroutes *r = w->r;
	const struct torus *t = &r->t;
	uint32_t n = t->n_dims, nd = t->n_dirs, low, high, at = from;
	uint32_t behind = s.last == NO_DIR ? to : t->next[to * nd + torus_back(t, s.last)];

	/* Less the hops that are made before and after. */
	if (s.first != NO_DIR && w->up[s.first] == 1)
		s.plus &= (uint8_t) ~(1u << s.first);
	if (s.last != NO_DIR && w->down[s.last - n] == 1)
		s.minus &= (uint8_t) ~(1u << (s.last - n));
	if (!(s.plus | s.minus))
		return;
	low = (uint32_t)__builtin_ctz((uint32_t)s.plus | (uint32_t)s.minus << n);
	high = 31 - (uint32_t)__builtin_clz((uint32_t)s.plus | (uint32_t)s.minus << n);
	if (s.first != NO_DIR) {
		at = t->next[from * nd + s.first];
		if (low >= s.first || !(r->after[at * nd + s.first] >> low & 1))
			return;
	}
	if (s.last != NO_DIR && (high <= s.last || !(r->after[behind * nd + high] >> s.last & 1)))
		return;
	if (w->filling) {
		uint32_t *channel = r->channel + w->n_channels;

		r->choice[w->n_choices] = s;
		if (s.first != NO_DIR)
			*channel++ = from * nd + s.first;
		for (uint32_t dir = 0; dir < nd; dir++)
			while ((dir < n ? s.plus : s.minus) >> dir % n & 1 &&
			       coord(t, at, dir % n) != coord(t, behind, dir % n)) {
				*channel++ = at * nd + dir;
				at = t->next[at * nd + dir];
			}
		if (s.last != NO_DIR)
			*channel++ = behind * nd + s.last;
	}
	w->n_choices++;
	w->n_channels += r->hops[from * t->n_nodes + to];
}

/* All choices of a pair, fewer extra steps first. */
static void try_pair(struct finder *w, uint32_t from, uint32_t to)
{
	const struct torus *t = &w->r->t;
	uint32_t n = t->n_dims, n_ways = 0, hops = 0;
	uint8_t plus[1 << TORUS_MAX_DIMS], minus[1 << TORUS_MAX_DIMS];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = coord(t, from, i), y = coord(t, to, i), side = t->size[i];
		uint32_t up = (y + side - x) % side, down = (x + side - y) % side;

		w->up[i] = side == 2 ? up * (y > x) : up <= down ? up : 0;
		w->down[i] = side == 2 ? down * (x > y) : down <= up ? down : 0;
		hops += w->up[i] ? w->up[i] : w->down[i];
	}
	w->r->hops[from * t->n_nodes + to] = (uint16_t)hops;
	/* All ways around the rings whose halves are equally long, up before down in the first dimension. */
	for (uint32_t way = 0; way < 1u << n; way++) {
		bool valid = true;

		plus[n_ways] = minus[n_ways] = 0;
		for (uint32_t i = 0; i < n; i++) {
			bool down = way >> (n - 1 - i) & 1;

			valid = valid && (down ? w->down[i] > 0 : w->up[i] || !w->down[i]);
			plus[n_ways] |= (uint8_t)((!down && w->up[i]) << i);
			minus[n_ways] |= (uint8_t)(down << i);
		}
		n_ways += valid;
	}
	for (uint32_t kind = 0; hops && kind < 4; kind++)
		for (uint32_t i = kind & 1; i < (kind & 1 ? n : 1); i++)
			for (uint32_t k = kind >> 1; k < (kind >> 1 ? n : 1); k++)
				for (uint32_t way = 0; way < n_ways; way++) {
					struct srcroute s = { NO_DIR, NO_DIR, plus[way],
							      minus[way] };

					if (i)
						s.first = (uint8_t)i;
					if (k)
						s.last = (uint8_t)(n + k - 1);
					if ((!i || s.plus >> i & 1) &&
					    (!k || s.minus >> (k - 1) & 1))
						try_route(w, from, to, s);
				}
}

/* Counted first, then filled. */
static void find_choices(struct srcroutes *r)
{
	struct finder w = { .r = r };
	uint32_t n = r->t.n_nodes;

	r->n_pairs = n * n;
	r->row = room(r, r->n_pairs + 1, sizeof(*r->row));
	r->hops = room(r, r->n_pairs, sizeof(*r->hops));
	r->first_channel = room(r, r->n_pairs, sizeof(*r->first_channel));
	for (int pass = 0; pass < 2; pass++) {
		w.n_choices = w.n_channels = 0;
		w.filling = pass;
		for (uint32_t p = 0; p < r->n_pairs; p++) {
			r->row[p] = (uint32_t)w.n_choices;
			r->first_channel[p] = w.n_channels;
			try_pair(&w, p / n, p % n);
			r->n_unique += pass && w.n_choices == r->row[p] + 1;
		}
		r->row[r->n_pairs] = (uint32_t)w.n_choices;
		if (!pass) {
			assert(w.n_choices <= UINT32_MAX);
			r->choice = room(r, w.n_choices, sizeof(*r->choice));
			r->channel = room(r, w.n_channels, sizeof(*r->channel));
		}
	}
}

bool srcroutes_init(struct srcroutes *r, uint32_t n_dims, const uint32_t *size)
{
	*r = (struct srcroutes){ 0 };
	if (!torus_init(r, n_dims, size))
		return false;
	find_turns(r);
	find_choices(r);
	return true;
}

void srcroutes_free(struct srcroutes *r)
{
	osr_arena_free(&r->arena);
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

void rgraph_init(struct rgraph *g, struct srcroutes *r)
{
	const struct torus *t = &r->t;
	uint32_t n = t->n_dims, nd = t->n_dirs, power = 1, n_steps = 0, end;

	for (uint32_t i = 0; i < n; i++)
		power *= 3;
	g->n_states = power + nd + 1;
	end = g->n_states - 1;
	g->last = room(r, g->n_states, 1);
	g->row = room(r, g->n_states + 1, sizeof(*g->row));
	/* A state has a step to the end, and for each direction at most two. */
	g->step = room(r, (size_t)g->n_states * (2 * nd + 1), sizeof(*g->step));
#define STEP(dir, turn, to)                                                                        \
	(g->step[n_steps++] = (struct rgraph_step){ (uint8_t)(dir), turn, (uint16_t)(to) })
	for (uint32_t state = 0; state < g->n_states; state++) {
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
		g->last[state] = (uint8_t)last;
		g->row[state] = n_steps;
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
	g->row[g->n_states] = n_steps;
}

uint32_t rgraph_next(const struct rgraph *g, const struct srcroutes *r, uint32_t node,
		     uint32_t state, struct rgraph_step step)
{
	uint32_t nd = r->t.n_dirs;
	uint32_t next = step.dir == NO_DIR ? node : r->t.next[node * nd + step.dir];

	if (next == NO_NODE)
		return NO_NODE;
	if (step.turn && !(r->after[node * nd + g->last[state]] >> step.dir & 1))
		return NO_NODE;
	return next * g->n_states + step.to;
}

/* ---- algorithms 1 and 2: breadth-first search ------------------------------------------------ */

/* Which choice of each pair is taken, and how many routes that puts on each channel. */
struct picks {
	struct srcroutes *r;
	uint16_t *pick; /* [n_pairs] */
	uint32_t *load; /* [channels] */
};

static void take(struct picks *s, uint32_t pair, uint32_t k)
{
	const uint32_t *channel = srcroutes_channels(s->r, pair, k);

	s->pick[pair] = (uint16_t)k;
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
static uint64_t outgoing_weight(const struct picks *s, const struct rgraph *g, uint32_t v)
{
	uint32_t node = v / g->n_states, state = v % g->n_states;
	uint64_t least = UINT64_MAX;

	for (uint32_t k = g->row[state]; k < g->row[state + 1]; k++) {
		struct rgraph_step step = g->step[k];
		uint64_t l;

		if (step.dir == NO_DIR || rgraph_next(g, s->r, node, state, step) == NO_NODE)
			continue;
		l = s->load[node * s->r->t.n_dirs + step.dir];
		least = l < least ? l : least;
	}
	return least == UINT64_MAX ? 0 : least;
}

/* parent[vertices]; queue[vertices], order[vertices]: for the search. */
static void build_tree(const struct picks *s, const struct rgraph *g, uint32_t source,
		       uint32_t *parent, uint32_t *queue, uint64_t *order)
{
	uint32_t head = 0, tail = 1;

	memset(parent, 0xff, (size_t)s->r->t.n_nodes * g->n_states * sizeof(*parent));
	queue[0] = source * g->n_states;
	while (head < tail) {
		uint32_t n = tail - head;

		/* Line 9 of algorithm 2: a level by ascending weight, then by the order of discovery. */
		for (uint32_t i = 0; i < n; i++)
			order[i] = outgoing_weight(s, g, queue[head + i]) << 24 | i;
		qsort(order, n, sizeof(*order), ascending);
		for (uint32_t i = 0; i < n; i++)
			order[i] = queue[head + (order[i] & 0xffffff)];
		head = tail;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t u = (uint32_t)order[i], node = u / g->n_states,
				 state = u % g->n_states;

			for (uint32_t k = g->row[state]; k < g->row[state + 1]; k++) {
				uint32_t v = rgraph_next(g, s->r, node, state, g->step[k]);

				if (v == NO_NODE || parent[v] != NO_NODE)
					continue;
				parent[v] = u;
				queue[tail++] = v;
			}
		}
	}
}

static void bfs(struct picks *s)
{
	struct srcroutes *r = s->r;
	uint32_t n = r->t.n_nodes, nd = r->t.n_dirs, source = 0;
	struct rgraph g;
	uint32_t *parent, *queue, path[SRCROUTE_MAX_HOPS];
	uint64_t *order;
	bool *done = room(r, n, sizeof(*done));

	rgraph_init(&g, r);
	parent = room(r, (size_t)n * g.n_states, sizeof(*parent));
	queue = room(r, (size_t)n * g.n_states, sizeof(*queue));
	order = room(r, (size_t)n * g.n_states, sizeof(*order));
	for (uint32_t left = n; left; left--) {
		uint32_t far = n;

		build_tree(s, &g, source, parent, queue, order);
		done[source] = true;
		/* Lines 19 to 31. A route in the routing graph is the choice with the same channels. */
		for (uint32_t j = 0; j < n; j++) {
			uint32_t pair = source * n + j, hops = r->hops[pair], h = hops, k = 0;

			for (uint32_t v = parent[j * g.n_states + g.n_states - 1];
			     j != source && parent[v] != NO_NODE; v = parent[v]) {
				assert(h);
				path[--h] = parent[v] / g.n_states * nd + g.last[v % g.n_states];
			}
			if (j == source)
				continue;
			while (memcmp(path, srcroutes_channels(r, pair, k), hops * sizeof(*path)))
				k++;
			assert(!h && k < srcroutes_n_choices(r, pair));
			take(s, pair, k);
		}
		for (uint32_t j = 0; j < n; j++)
			if (!done[j] &&
			    (far == n || r->hops[source * n + far] < r->hops[source * n + j]))
				far = j;
		source = far;
	}
}

/* ---- algorithms 3 and 4: shortest paths by load ---------------------------------------------- */

/* Turns of a pair's first choice, the one with the fewest extra steps. */
static uint32_t count_turns(const struct srcroutes *r, uint32_t pair)
{
	const uint32_t *channel = srcroutes_channels(r, pair, 0);
	uint32_t n = 0, nd = r->t.n_dirs;

	for (uint32_t h = 1; h < r->hops[pair]; h++)
		n += channel[h] % nd != channel[h - 1] % nd;
	return n;
}

/*
 * DIFFERS: algorithm 4 looks for the least weight among all shortest paths of the routing graph, and the
 * choices of a pair are these paths. So the search is a minimum over a few sums. Only ties may fall out
 * differently: to the first choice here, to the first path met there.
 */
static uint32_t cheapest_choice(const struct picks *s, uint32_t pair)
{
	uint64_t least = UINT64_MAX;
	uint32_t best = 0;

	for (uint32_t k = 0; k < srcroutes_n_choices(s->r, pair); k++) {
		const uint32_t *channel = srcroutes_channels(s->r, pair, k);
		uint64_t sum = 0;

		for (uint32_t h = 0; h < s->r->hops[pair]; h++)
			sum += s->load[channel[h]];
		if (sum < least) {
			least = sum;
			best = k;
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
	uint32_t *pair = room(r, n, sizeof(*pair)), *best = room(r, n, sizeof(*best));
	uint32_t *taken =
		room(r, n * r->t.n_dirs, sizeof(*taken)); /* stamp: on a route of this batch */

	for (uint32_t p = 0; p < r->n_pairs; p++) {
		uint32_t n_choices = srcroutes_n_choices(r, p);

		if (n_choices > 1 || (n_choices && !unique_first))
			order[n_order++] =
				(uint64_t)count_turns(r, p) << 48 | (uint64_t)r->hops[p] << 32 | p;
		else if (n_choices)
			take(s, p, 0);
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
				const uint32_t *channel = srcroutes_channels(r, pair[k], best[k]);
				bool shares = false;

				for (uint32_t h = 0; h < r->hops[pair[k]]; h++)
					shares |= taken[channel[h]] == stamp;
				if (shares) {
					pair[n_left++] = pair[k];
					continue;
				}
				for (uint32_t h = 0; h < r->hops[pair[k]]; h++)
					taken[channel[h]] = stamp;
				take(s, pair[k], best[k]);
			}
		}
	}
}

void srcroutes_route(struct srcroutes *r, enum srcroutes_algorithm algorithm,
		     struct srcroute *route)
{
	struct osr_arena_mark mark = osr_arena_mark(&r->arena);
	struct picks s = { .r = r, .pick = room(r, r->n_pairs, sizeof(*s.pick)) };

	s.load = room(r, (size_t)r->t.n_nodes * r->t.n_dirs, sizeof(*s.load));
	r->n_sssp_calls = 0;
	if (algorithm == SRCROUTES_BFS)
		bfs(&s);
	else
		sssp(&s, algorithm == SRCROUTES_SSSP);
	for (uint32_t p = 0; p < r->n_pairs; p++)
		route[p] = r->hops[p] ? r->choice[r->row[p] + s.pick[p]]
				      : (struct srcroute){ NO_DIR, NO_DIR, 0, 0 };
	osr_arena_reset(&r->arena, mark);
}
