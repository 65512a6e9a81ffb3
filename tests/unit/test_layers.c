/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Layers by every heuristic satisfy the checker. The online algorithm has a single right result, which is found here a
 * second time by searching the whole graph for every route.
 */
#include "test.h"

#include <osmroutes/check.h>

#include "core/lanes/lanes_private.h"
#include "fabrics.h"

struct trial {
	struct test_fabric t;
	struct osr_arena scratch, result;
	struct osr_spf s;
	struct osr_routing r;
	struct osr_diag diag;
};

/* Sparse and odd ones first, then denser: up to 25 switches, so that several layers are needed. */
static void draw(struct trial *x, unsigned i)
{
	const struct osr_spf_options opt = { .max_rounds = i % 3 };

	*x = (struct trial){ 0 };
	test_fabric_random(&x->t, 2 + i % 24, (i * 7) % 40, 77 + i);
	assert_int_equal(osr_routing_init(&x->r, &x->t.f, &x->result, &x->diag), OSR_OK);
	assert_int_equal(osr_spf_init(&x->s, &x->t.f, &x->r, &opt, &x->scratch, &x->diag), OSR_OK);
	osr_spf_route(&x->s, &opt);
}

static void drop(struct trial *x)
{
	osr_arena_free(&x->scratch);
	osr_arena_free(&x->result);
	test_fabric_free(&x->t);
}

static enum osr_status assign(struct trial *x, const struct osr_layers_options *opt)
{
	const struct osr_request req = { .max_vls = 15 };
	const struct osr_lanes_options options = { .layers = *opt };
	struct osr_lanes_job job = { .s = &x->s,
				     .req = &req,
				     .opt = &options,
				     .scratch = &x->scratch,
				     .result = &x->result,
				     .r = &x->r,
				     .diag = &x->diag,
				     .orders = osr_alloc(&x->scratch,
							 (size_t)OSR_MAX_VLS * x->t.f.n_channels,
							 sizeof(*job.orders)) };
	bool done;

	return osr__lanes_sl(&job, &done);
}

/* With replies and without; the paper's poorer heuristics may need more lanes than there are. */
static void test_every_heuristic(void **state)
{
	for (unsigned i = 0; i < 24 * 2 * (OSR_HEURISTIC_ONLINE + 1); i++) {
		const struct osr_layers_options opt = { .heuristic = i / 48,
							.reversible = i % 2 ? OSR_REVERSIBLE_ON
									    : OSR_REVERSIBLE_OFF };
		struct osr_verdict v;
		struct trial x;

		draw(&x, i % 48);
		if (assign(&x, &opt)) {
			assert_non_null(strstr(x.diag.text, "virtual lane"));
			assert_true(opt.heuristic == OSR_HEURISTIC_HEAVIEST ||
				    opt.heuristic == OSR_HEURISTIC_FIRST);
		} else {
			osr_spf_finish(&x.s);
			assert_int_equal(osr_check(&x.t.f, &x.r, &x.scratch, &v, NULL), OSR_OK);
			assert_true(!(i % 2) || v.proven & OSR_CLAIM_REVERSIBLE);
		}
		drop(&x);
	}
}

/* ---- the online algorithm, as it is written down --------------------------------------------- */

struct naive {
	const struct osr_spf *s;
	uint32_t m;                 /* channels */
	uint8_t *edge[OSR_MAX_VLS]; /* [m * m] */
	uint8_t *colour;            /* [m] 0 new, 1 on the path, 2 done */
};

static bool has_cycle_from(struct naive *n, const uint8_t *edge, uint32_t c)
{
	n->colour[c] = 1;
	for (uint32_t next = 0; next < n->m; next++) {
		if (!edge[(size_t)c * n->m + next] || n->colour[next] == 2)
			continue;
		if (n->colour[next] == 1 || has_cycle_from(n, edge, next))
			return true;
	}
	n->colour[c] = 2;
	return false;
}

static bool has_cycle(struct naive *n, const uint8_t *edge)
{
	memset(n->colour, 0, n->m);
	for (uint32_t c = 0; c < n->m; c++)
		if (n->colour[c] == 0 && has_cycle_from(n, edge, c))
			return true;
	return false;
}

/* Adds the route of switch v to dest d to a copy of the layer; keeps it if there is no cycle. */
static bool fits(struct naive *n, uint8_t **edge, uint32_t d, uint32_t v)
{
	uint8_t *copy = malloc((size_t)n->m * n->m);
	uint32_t c = osr_spf_channel(n->s, d, v), next;
	bool cycle;

	assert_non_null(copy);
	memcpy(copy, *edge, (size_t)n->m * n->m);
	for (; n->s->f->chan_dst[c] != n->s->f->dest_switch[d]; c = next) {
		next = osr_spf_channel(n->s, d, n->s->f->chan_dst[c]);
		copy[(size_t)c * n->m + next] = 1;
	}
	cycle = has_cycle(n, copy);
	free(cycle ? copy : *edge);
	*edge = cycle ? *edge : copy;
	return !cycle;
}

static uint32_t naive_layer(struct naive *n, uint32_t d, uint32_t v)
{
	for (uint32_t i = 0; i < OSR_MAX_VLS; i++) {
		n->edge[i] = n->edge[i] ? n->edge[i] : calloc(n->m, n->m);
		assert_non_null(n->edge[i]);
		if (fits(n, &n->edge[i], d, v))
			return i;
	}
	return OSR_MAX_VLS;
}

/* Routes from port 0 to port 0 are nobody's. */
static bool counts(const struct osr_fabric *f, uint32_t d, uint32_t v)
{
	return f->term_role[f->dest_term[d]] != OSR_ROLE_SP0 || f->sw_sources[v];
}

static void compare_online(struct trial *x, uint32_t *most)
{
	const struct osr_fabric *f = &x->t.f;
	struct naive n = { .s = &x->s, .m = f->n_channels, .colour = calloc(f->n_channels + 1, 1) };

	for (uint32_t d = 0; d < f->n_dests; d++) {
		uint32_t root = f->dest_switch[d];

		for (uint32_t i = 1; x->s.alias[d] == OSR_NONE && i < x->s.n_order[root]; i++) {
			uint32_t v = x->s.order[(size_t)root * f->n_switches + i], layer;

			layer = counts(f, d, v) ? naive_layer(&n, d, v) : 0;
			assert_true(!counts(f, d, v) ||
				    x->r.sl[(size_t)d * f->n_switches + v] == layer);
			*most = layer > *most ? layer : *most;
		}
	}
	for (uint32_t i = 0; i < OSR_MAX_VLS; i++)
		free(n.edge[i]);
	free(n.colour);
}

static void test_online_is_first_fit(void **state)
{
	const struct osr_layers_options opt = { .heuristic = OSR_HEURISTIC_ONLINE,
						.reversible = OSR_REVERSIBLE_OFF };
	uint32_t most = 0;

	for (unsigned i = 0; i < 30; i++) {
		struct trial x;

		draw(&x, i);
		assert_int_equal(assign(&x, &opt), OSR_OK);
		if (x.r.sl)
			compare_online(&x, &most);
		drop(&x);
	}
	assert_true(most >= 2);
}

TEST_PROGRAM(test_every_heuristic, test_online_is_first_fit)
