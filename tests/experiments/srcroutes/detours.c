/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The shortest routes where failures allow none of the torus distance: every combination of extra
 * steps, and of ways around the rings, is tried. From the outside in:
 *	osr__detours_find()	twice: for the least hops, then for all routes that have them
 *	try_extras()		no extra step, a first, a last, or both
 *	detours_choose_signs()		around each ring one way or the other
 *	try_route()		is this one legal, and new?
 */
#include "choices_private.h"

#include <string.h>

struct finder {
	struct osr__detours *s;
	const struct osr_torus *t;
	uint32_t from, to;
	bool looking;   /* for the least hops; else for all routes with so many */
	uint32_t least; /* hops asked for; looking: the least found so far */

	/* The route at hand. */
	uint32_t first, last;            /* or OSR_NO_DIR */
	uint32_t at, target;             /* between the extra steps */
	uint32_t up[OSR_TORUS_MAX_DIMS]; /* hops of the body; 0: it need not move */
	uint32_t down[OSR_TORUS_MAX_DIMS];
	uint32_t rest[OSR_TORUS_MAX_DIMS + 1]; /* least hops in this and later dimensions */
};

/* May a packet that has come to node by one direction go on by the other? */
static bool may_turn(const struct finder *w, uint32_t node, uint32_t from, uint32_t to)
{
	if (to == osr_dir_back(w->t, from) || to == from)
		return false;
	return to > from || (w->s->turns->after[node * w->t->n_dirs + from] >> to & 1);
}

static bool detours_walk(const struct finder *w, const uint8_t *dirs, uint32_t n)
{
	uint32_t node = w->from;

	for (uint32_t k = 0; k < n; k++) {
		node = w->t->next[node * w->t->n_dirs + dirs[k]];
		if (node == OSR_NO_NODE)
			return false;
	}
	return true;
}

static bool is_new(const struct osr__detours *detours, uint32_t n)
{
	for (uint32_t k = 0; k < detours->n_found; k++)
		if (!memcmp(detours->dirs + (size_t)k * n, detours->one, n))
			return false;
	return true;
}

static void try_route(struct finder *w, uint8_t plus, uint8_t minus)
{
	struct osr__detours *detours = w->s;
	struct osr_srcroute srcroute = { (uint8_t)w->first, (uint8_t)w->last, plus, minus };
	uint32_t n;

	if (!(plus | minus))
		return;
	if (w->first != OSR_NO_DIR && !may_turn(w, w->at, w->first, osr__lowest(w->t, plus, minus)))
		return;
	if (w->last != OSR_NO_DIR &&
	    !may_turn(w, w->target, osr__highest(w->t, plus, minus), w->last))
		return;
	n = osr__list_dirs(w->t, srcroute, w->up, w->down, detours->one);
	if (!detours_walk(w, detours->one, n))
		return;
	if (w->looking) {
		w->least = n;
	} else if (is_new(detours, n)) {
		memcpy(detours->dirs + (size_t)detours->n_found * n, detours->one, n);
		detours->r[detours->n_found++] = srcroute;
	}
}

/* Dimension by dimension one way or the other; `used` hops so far. */
static void detours_choose_signs(struct finder *w, uint32_t dim, uint8_t plus, uint8_t minus,
				 uint32_t used)
{
	uint32_t limit = w->looking ? w->least - 1 : w->least;

	if (used + w->rest[dim] > limit)
		return;
	while (dim < w->t->n_dims && !w->up[dim])
		dim++;
	if (dim == w->t->n_dims) {
		if (w->looking || used == w->least)
			try_route(w, plus, minus);
		return;
	}
	if (w->up[dim] != OSR__FAR)
		detours_choose_signs(w, dim + 1, plus | (uint8_t)(1u << dim), minus,
				     used + w->up[dim]);
	if (w->down[dim] != OSR__FAR)
		detours_choose_signs(w, dim + 1, plus, minus | (uint8_t)(1u << dim),
				     used + w->down[dim]);
}

static void try_extras(struct finder *w, uint32_t first, uint32_t last)
{
	const struct osr_torus *torus = w->t;

	w->first = first;
	w->last = last;
	w->at = first == OSR_NO_DIR ? w->from : torus->next[w->from * torus->n_dirs + first];
	w->target = last == OSR_NO_DIR
			    ? w->to
			    : torus->next[w->to * torus->n_dirs + osr_dir_back(torus, last)];
	if (w->at == OSR_NO_NODE || w->target == OSR_NO_NODE)
		return;
	w->rest[torus->n_dims] = 0;
	for (uint32_t i = torus->n_dims; i-- > 0;) {
		uint32_t x = w->s->coord[w->at * torus->n_dims + i];
		uint32_t y = w->s->coord[w->target * torus->n_dims + i];

		w->up[i] = w->down[i] = 0;
		if (x != y)
			osr__count_hops(torus, i, x, y, &w->up[i], &w->down[i]);
		w->rest[i] = w->rest[i + 1] + (w->up[i] < w->down[i] ? w->up[i] : w->down[i]);
	}
	detours_choose_signs(w, 0, 0, 0, (first != OSR_NO_DIR) + (last != OSR_NO_DIR));
}

/* Fewer extra steps first. */
static void try_all(struct finder *w)
{
	uint32_t n = w->t->n_dims;

	try_extras(w, OSR_NO_DIR, OSR_NO_DIR);
	for (uint32_t i = 0; i < n; i++)
		try_extras(w, i, OSR_NO_DIR);
	for (uint32_t k = n; k < 2 * n; k++)
		try_extras(w, OSR_NO_DIR, k);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = n; k < 2 * n; k++)
			try_extras(w, i, k);
}

void osr__detours_find(struct osr__detours *detours, uint32_t from, uint32_t to)
{
	struct finder w = {
		.s = detours, .t = detours->t, .from = from, .to = to, .looking = true
	};

	detours->n_found = 0;
	detours->hops = 0;
	w.least = OSR_SRCROUTE_MAX_HOPS + 1;
	try_all(&w);
	if (w.least > OSR_SRCROUTE_MAX_HOPS)
		return;
	w.looking = false;
	try_all(&w);
	detours->hops = w.least;
}

/* A body goes around no ring; there are (n + 1)^2 2^n combinations. */
enum osr_status osr__detours_init(struct osr__detours *detours, const struct osr_turns *turns,
				  const uint8_t *coord, struct osr_arena *scratch,
				  struct osr_diag *diag)
{
	const struct osr_torus *torus = turns->t;
	size_t n_most = ((size_t)torus->n_dims + 1) * (torus->n_dims + 1) << torus->n_dims,
	       hops = 2;

	*detours = (struct osr__detours){ .t = torus, .turns = turns, .coord = coord };
	for (uint32_t i = 0; i < torus->n_dims; i++)
		hops += torus->size[i] - 1;
	detours->one = osr_alloc(scratch, hops, 1);
	detours->dirs = osr_alloc(scratch, n_most, hops);
	detours->r = osr_alloc(scratch, n_most, sizeof(*detours->r));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	return OSR_OK;
}
