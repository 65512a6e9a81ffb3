/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "srcroutes/rgraph.h"

#include <string.h>

/* Digit of dimension i in the number of a dirbit state. */
static uint32_t power3(uint32_t i)
{
	uint32_t p = 1;

	while (i--)
		p *= 3;
	return p;
}

static uint32_t first_state(uint32_t dir)
{
	return 1 + dir;
}

/* dirbit_k stands behind begin and the first steps. */
static uint32_t dirbit_state(const struct osr_rgraph *rgraph, uint32_t k)
{
	return rgraph->t->n_dims + k;
}

static uint32_t last_state(const struct osr_rgraph *rgraph, uint32_t dir)
{
	return rgraph->n_states - 1 - rgraph->t->n_dims + (dir - rgraph->t->n_dims);
}

/* dirbit_k with direction dir used, too; 0 if its opposite is in use already. */
static uint32_t with_dir(const struct osr_rgraph *rgraph, uint32_t k, uint32_t dir)
{
	uint32_t p = power3(osr_dir_dim(rgraph->t, dir)), digit = k / p % 3;
	uint32_t wanted = dir < rgraph->t->n_dims ? 1 : 2;

	if (digit && digit != wanted)
		return 0;
	return digit ? k : k + wanted * p;
}

static void add_step(struct osr_rgraph *rgraph, uint32_t *n, uint32_t dir, bool turn, uint32_t to)
{
	rgraph->step[(*n)++] = (struct osr_rg_step){ (uint8_t)dir, turn, (uint16_t)to };
}

/* Rule 1 of section 3.1; its step to the own end vertex is no route and is left out. */
static void steps_of_begin(struct osr_rgraph *rgraph, uint32_t *n)
{
	for (uint32_t dir = 0; dir < rgraph->t->n_dirs; dir++) {
		if (dir < rgraph->t->n_dims)
			add_step(rgraph, n, dir, false, first_state(dir));
		add_step(rgraph, n, dir, false, dirbit_state(rgraph, with_dir(rgraph, 0, dir)));
	}
}

/* Rule 2, and the edges that section 3.2 adds: to a positive direction below that of the step. */
static void steps_of_first(struct osr_rgraph *rgraph, uint32_t *n, uint32_t first)
{
	add_step(rgraph, n, OSR_NO_DIR, false, osr_rg_end(rgraph));
	for (uint32_t dir = 0; dir < rgraph->t->n_dirs; dir++)
		if (dir != first && dir != osr_dir_back(rgraph->t, first))
			add_step(rgraph, n, dir, dir < first,
				 dirbit_state(rgraph, with_dir(rgraph, 0, dir)));
}

/* Rule 3, and the last steps that section 3.2 adds: to a negative direction below the last one. */
static void steps_of_dirbit(struct osr_rgraph *rgraph, uint32_t *n, uint32_t k, uint32_t last)
{
	const struct osr_torus *torus = rgraph->t;

	add_step(rgraph, n, OSR_NO_DIR, false, osr_rg_end(rgraph));
	for (uint32_t dir = 0; dir < torus->n_dirs; dir++) {
		uint32_t next = with_dir(rgraph, k, dir);

		if (dir >= last && next)
			add_step(rgraph, n, dir, false, dirbit_state(rgraph, next));
		if (dir < torus->n_dims || dir == last || dir == osr_dir_back(torus, last))
			continue;
		if (dir > last || last >= torus->n_dims)
			add_step(rgraph, n, dir, dir < last, last_state(rgraph, dir));
	}
}

static void fill_state(struct osr_rgraph *rgraph, uint32_t state, uint32_t *n)
{
	const struct osr_torus *torus = rgraph->t;
	uint32_t last = OSR_NO_DIR, k;

	rgraph->row[state] = *n;
	if (!state) {
		steps_of_begin(rgraph, n);
	} else if (osr_rg_is_first(rgraph, state)) {
		last = state - 1;
		steps_of_first(rgraph, n, last);
	} else if (osr_rg_is_last(rgraph, state)) {
		last = state + 1 + 2 * torus->n_dims - rgraph->n_states;
		add_step(rgraph, n, OSR_NO_DIR, false, osr_rg_end(rgraph)); /* rule 4 */
	} else if (state != osr_rg_end(rgraph)) {
		k = state - torus->n_dims;
		for (uint32_t i = 0; i < torus->n_dims; i++) {
			uint32_t digit = k / power3(i) % 3;

			rgraph->plus[state] |= (uint8_t)((digit == 1) << i);
			rgraph->minus[state] |= (uint8_t)((digit == 2) << i);
		}
		for (uint32_t dir = 0; dir < torus->n_dirs; dir++)
			if (with_dir(rgraph, k, dir) == k)
				last = dir;
		steps_of_dirbit(rgraph, n, k, last);
	}
	rgraph->last[state] = (uint8_t)last;
}

enum osr_status osr_rgraph_init(struct osr_rgraph *rgraph, const struct osr_turns *turns,
				struct osr_arena *arena, struct osr_diag *diag)
{
	const struct osr_torus *torus = turns->t;
	uint32_t n = 0;

	*rgraph = (struct osr_rgraph){ .t = torus, .turns = turns };
	rgraph->n_states = power3(torus->n_dims) + 2 * torus->n_dims + 1;
	rgraph->last = osr_alloc(arena, rgraph->n_states, 1);
	rgraph->plus = osr_calloc(arena, rgraph->n_states, 1);
	rgraph->minus = osr_calloc(arena, rgraph->n_states, 1);
	rgraph->row = osr_alloc(arena, rgraph->n_states + 1, sizeof(*rgraph->row));
	/* A state has a step to the end, and for each direction at most two. */
	rgraph->step = osr_alloc(arena, (size_t)rgraph->n_states * (2 * torus->n_dirs + 1),
				 sizeof(*rgraph->step));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t state = 0; state < rgraph->n_states; state++)
		fill_state(rgraph, state, &n);
	rgraph->row[rgraph->n_states] = n;
	return OSR_OK;
}

enum osr_status osr_rg_search_init(struct osr_rg_search *rg_search, const struct osr_rgraph *rgraph,
				   struct osr_arena *arena, struct osr_diag *diag)
{
	size_t n = (size_t)rgraph->t->n_nodes * rgraph->n_states;

	rg_search->distance = osr_alloc(arena, n, sizeof(*rg_search->distance));
	rg_search->parent = osr_alloc(arena, n, sizeof(*rg_search->parent));
	rg_search->queue[0] = osr_alloc(arena, n, sizeof(*rg_search->queue[0]));
	rg_search->queue[1] = osr_alloc(arena, n, sizeof(*rg_search->queue[1]));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	return OSR_OK;
}

/* One level of algorithm 4. Returns the size of the next queue. */
static uint32_t relax_level(const struct osr_rgraph *rgraph, const uint64_t *weight,
			    struct osr_rg_search *rg_search, uint32_t n)
{
	uint32_t n_next = 0, nd = rgraph->t->n_dirs;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = rg_search->queue[0][i], node = u / rgraph->n_states,
			 state = u % rgraph->n_states;

		for (uint32_t k = rgraph->row[state]; k < rgraph->row[state + 1]; k++) {
			struct osr_rg_step step = rgraph->step[k];
			uint32_t v = osr_rg_next(rgraph, node, state, step);
			uint64_t far = rg_search->distance[u];

			if (v == OSR_NO_NODE)
				continue;
			far += step.dir == OSR_NO_DIR ? 0 : weight[node * nd + step.dir];
			if (far >= rg_search->distance[v])
				continue;
			/*
			 * A vertex is reached for the first time in the level of its least
			 * hops, so it is in the next queue exactly if it was not reached.
			 */
			if (rg_search->distance[v] == UINT64_MAX)
				rg_search->queue[1][n_next++] = v;
			rg_search->distance[v] = far;
			rg_search->parent[v] = u;
		}
	}
	return n_next;
}

void osr_rgraph_sssp(const struct osr_rgraph *rgraph, uint32_t source, const uint64_t *weight,
		     struct osr_rg_search *rg_search)
{
	size_t n_vertices = (size_t)rgraph->t->n_nodes * rgraph->n_states;
	uint32_t n = 1;

	memset(rg_search->distance, 0xff, n_vertices * sizeof(*rg_search->distance));
	memset(rg_search->parent, 0xff, n_vertices * sizeof(*rg_search->parent));
	rg_search->queue[0][0] = source * rgraph->n_states;
	rg_search->distance[source * rgraph->n_states] = 0;
	while (n) {
		uint32_t *queue = rg_search->queue[0];

		n = relax_level(rgraph, weight, rg_search, n);
		rg_search->queue[0] = rg_search->queue[1];
		rg_search->queue[1] = queue;
	}
}

uint32_t osr_rgraph_trace(const struct osr_rgraph *rgraph, const uint32_t *parent, uint32_t node,
			  uint32_t *channel)
{
	uint32_t v = parent[node * rgraph->n_states + osr_rg_end(rgraph)], n = 0;

	for (; v != OSR_NO_NODE && parent[v] != OSR_NO_NODE; v = parent[v])
		channel[n++] = parent[v] / rgraph->n_states * rgraph->t->n_dirs +
			       rgraph->last[v % rgraph->n_states];
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t c = channel[i];

		channel[i] = channel[n - 1 - i];
		channel[n - 1 - i] = c;
	}
	return n;
}
