/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/rgraph.h>

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
static uint32_t dirbit_state(const struct osr_rgraph *g, uint32_t k)
{
	return g->t->n_dims + k;
}

static uint32_t last_state(const struct osr_rgraph *g, uint32_t dir)
{
	return g->n_states - 1 - g->t->n_dims + (dir - g->t->n_dims);
}

/* dirbit_k with direction dir used, too; 0 if its opposite is in use already. */
static uint32_t with_dir(const struct osr_rgraph *g, uint32_t k, uint32_t dir)
{
	uint32_t p = power3(osr_dir_dim(g->t, dir)), digit = k / p % 3;
	uint32_t wanted = dir < g->t->n_dims ? 1 : 2;

	if (digit && digit != wanted)
		return 0;
	return digit ? k : k + wanted * p;
}

static void add_step(struct osr_rgraph *g, uint32_t *n, uint32_t dir, bool turn, uint32_t to)
{
	g->step[(*n)++] = (struct osr_rg_step){ (uint8_t)dir, turn, (uint16_t)to };
}

/* Rule 1 of section 3.1; its step to the own end vertex is no route and is left out. */
static void steps_of_begin(struct osr_rgraph *g, uint32_t *n)
{
	for (uint32_t dir = 0; dir < g->t->n_dirs; dir++) {
		if (dir < g->t->n_dims)
			add_step(g, n, dir, false, first_state(dir));
		add_step(g, n, dir, false, dirbit_state(g, with_dir(g, 0, dir)));
	}
}

/* Rule 2, and the edges that section 3.2 adds: to a positive direction below that of the step. */
static void steps_of_first(struct osr_rgraph *g, uint32_t *n, uint32_t first)
{
	add_step(g, n, OSR_NO_DIR, false, osr_rg_end(g));
	for (uint32_t dir = 0; dir < g->t->n_dirs; dir++)
		if (dir != first && dir != osr_dir_back(g->t, first))
			add_step(g, n, dir, dir < first, dirbit_state(g, with_dir(g, 0, dir)));
}

/* Rule 3, and the last steps that section 3.2 adds: to a negative direction below the last one. */
static void steps_of_dirbit(struct osr_rgraph *g, uint32_t *n, uint32_t k, uint32_t last)
{
	const struct osr_torus *t = g->t;

	add_step(g, n, OSR_NO_DIR, false, osr_rg_end(g));
	for (uint32_t dir = 0; dir < t->n_dirs; dir++) {
		uint32_t next = with_dir(g, k, dir);

		if (dir >= last && next)
			add_step(g, n, dir, false, dirbit_state(g, next));
		if (dir < t->n_dims || dir == last || dir == osr_dir_back(t, last))
			continue;
		if (dir > last || last >= t->n_dims)
			add_step(g, n, dir, dir < last, last_state(g, dir));
	}
}

static void fill_state(struct osr_rgraph *g, uint32_t state, uint32_t *n)
{
	const struct osr_torus *t = g->t;
	uint32_t last = OSR_NO_DIR, k;

	g->row[state] = *n;
	if (!state) {
		steps_of_begin(g, n);
	} else if (osr_rg_is_first(g, state)) {
		last = state - 1;
		steps_of_first(g, n, last);
	} else if (osr_rg_is_last(g, state)) {
		last = state + 1 + 2 * t->n_dims - g->n_states;
		add_step(g, n, OSR_NO_DIR, false, osr_rg_end(g)); /* rule 4 */
	} else if (state != osr_rg_end(g)) {
		k = state - t->n_dims;
		for (uint32_t i = 0; i < t->n_dims; i++) {
			uint32_t digit = k / power3(i) % 3;

			g->plus[state] |= (uint8_t)((digit == 1) << i);
			g->minus[state] |= (uint8_t)((digit == 2) << i);
		}
		for (uint32_t dir = 0; dir < t->n_dirs; dir++)
			if (with_dir(g, k, dir) == k)
				last = dir;
		steps_of_dirbit(g, n, k, last);
	}
	g->last[state] = (uint8_t)last;
}

enum osr_status osr_rgraph_init(struct osr_rgraph *g, const struct osr_turns *turns,
				struct osr_arena *arena, struct osr_diag *diag)
{
	const struct osr_torus *t = turns->t;
	uint32_t n = 0;

	*g = (struct osr_rgraph){ .t = t, .turns = turns };
	g->n_states = power3(t->n_dims) + 2 * t->n_dims + 1;
	g->last = osr_alloc(arena, g->n_states, 1);
	g->plus = osr_calloc(arena, g->n_states, 1);
	g->minus = osr_calloc(arena, g->n_states, 1);
	g->row = osr_alloc(arena, g->n_states + 1, sizeof(*g->row));
	/* A state has a step to the end, and for each direction at most two. */
	g->step = osr_alloc(arena, (size_t)g->n_states * (2 * t->n_dirs + 1), sizeof(*g->step));
	if (!g->last || !g->plus || !g->minus || !g->row || !g->step)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the routing graph");
	for (uint32_t state = 0; state < g->n_states; state++)
		fill_state(g, state, &n);
	g->row[g->n_states] = n;
	return OSR_OK;
}

enum osr_status osr_rg_search_init(struct osr_rg_search *s, const struct osr_rgraph *g,
				   struct osr_arena *arena, struct osr_diag *diag)
{
	size_t n = (size_t)g->t->n_nodes * g->n_states;

	s->distance = osr_alloc(arena, n, sizeof(*s->distance));
	s->parent = osr_alloc(arena, n, sizeof(*s->parent));
	s->queue[0] = osr_alloc(arena, n, sizeof(*s->queue[0]));
	s->queue[1] = osr_alloc(arena, n, sizeof(*s->queue[1]));
	if (!s->distance || !s->parent || !s->queue[0] || !s->queue[1])
		return osr_fail(diag, OSR_NOMEM,
				"out of memory for a routing graph of %zu vertices", n);
	return OSR_OK;
}

/* One level of algorithm 4. Returns the size of the next queue; *found counts wanted ends. */
static uint32_t relax_level(const struct osr_rgraph *g, const uint64_t *weight, const uint8_t *want,
			    struct osr_rg_search *s, uint32_t n, uint32_t *found)
{
	uint32_t n_next = 0, nd = g->t->n_dirs;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = s->queue[0][i], node = u / g->n_states, state = u % g->n_states;

		for (uint32_t k = g->row[state]; k < g->row[state + 1]; k++) {
			struct osr_rg_step step = g->step[k];
			uint32_t v = osr_rg_next(g, node, state, step);
			uint64_t far = s->distance[u];

			if (v == OSR_NO_NODE)
				continue;
			far += step.dir == OSR_NO_DIR ? 0 : weight[node * nd + step.dir];
			if (far >= s->distance[v])
				continue;
			/*
			 * A vertex is reached for the first time in the level of its least
			 * hops, so it is in the next queue exactly if it was not reached.
			 */
			if (s->distance[v] == UINT64_MAX) {
				s->queue[1][n_next++] = v;
				*found += step.dir == OSR_NO_DIR && (!want || want[node]);
			}
			s->distance[v] = far;
			s->parent[v] = u;
		}
	}
	return n_next;
}

void osr_rgraph_sssp(const struct osr_rgraph *g, uint32_t source, const uint64_t *weight,
		     const uint8_t *want, uint32_t wanted, struct osr_rg_search *s)
{
	size_t n_vertices = (size_t)g->t->n_nodes * g->n_states;
	uint32_t n = 1, found = 0;

	memset(s->distance, 0xff, n_vertices * sizeof(*s->distance));
	memset(s->parent, 0xff, n_vertices * sizeof(*s->parent));
	s->queue[0][0] = source * g->n_states;
	s->distance[source * g->n_states] = 0;
	while (n && (!want || found < wanted)) {
		uint32_t *queue = s->queue[0];

		n = relax_level(g, weight, want, s, n, &found);
		s->queue[0] = s->queue[1];
		s->queue[1] = queue;
	}
}
