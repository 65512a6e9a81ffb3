/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Layers by every heuristic satisfy the checker. The online algorithm has a single right result,
 * which is found here a second time by searching the whole graph for every route; so has algorithm
 * 2, whose cycle search begins anew here after each edge that was cut.
 */
#include "test.h"

#include <osmroutes/check.h>

#include "core/lanes/lanes_private.h"
#include "fabrics.h"

struct trial {
	struct test_fabric test;
	struct osr_arena scratch, result;
	struct osr_spf spf;
	struct osr_routing routing;
	struct osr_diag diag;
};

/* Sparse and odd ones first, then denser: up to 25 switches, so that several layers are needed. */
static void draw_of(struct trial *trial, uint32_t switches, uint32_t links, unsigned i)
{
	const struct osr_spf_options opt = { .max_rounds = i % 3 };

	*trial = (struct trial){ 0 };
	test_fabric_random(&trial->test, switches, links, 77 + i);
	assert_int_equal(osr_routing_init(&trial->routing, &trial->test.fabric, &trial->result,
					  &trial->diag),
			 OSR_OK);
	assert_int_equal(osr_spf_init(&trial->spf, &trial->test.fabric, &trial->routing, &opt,
				      &trial->scratch, &trial->diag),
			 OSR_OK);
	osr_spf_route(&trial->spf, &opt);
}

static void draw(struct trial *trial, unsigned i)
{
	draw_of(trial, 2 + i % 24, (i * 7) % 40, i);
}

static void drop(struct trial *trial)
{
	osr_arena_free(&trial->scratch);
	osr_arena_free(&trial->result);
	test_fabric_free(&trial->test);
}

static enum osr_status assign_on(struct trial *trial, const struct osr_layers_options *opt,
				 uint8_t max_vls)
{
	const struct osr_request req = { .max_vls = max_vls };
	const struct osr_lanes_options options = { .layers = *opt, .detours = max_vls < 15 };
	struct osr_lanes_job job = { .spf = &trial->spf,
				     .req = &req,
				     .opt = &options,
				     .scratch = &trial->scratch,
				     .result = &trial->result,
				     .routing = &trial->routing,
				     .diag = &trial->diag,
				     .orders = osr_alloc(&trial->scratch,
							 (size_t)OSR_MAX_VLS *
								 trial->test.fabric.n_channels,
							 sizeof(*job.orders)) };
	bool done;

	return osr_lanes_sl(&job, &done);
}

static enum osr_status assign(struct trial *trial, const struct osr_layers_options *opt)
{
	return assign_on(trial, opt, 15);
}

/* With replies and without; the paper's poorer heuristics may need more lanes than there are. */
static void test_every_heuristic(void **state)
{
	for (unsigned i = 0; i < 24 * 2 * (OSR_HEURISTIC_ONLINE + 1); i++) {
		const struct osr_layers_options opt = { .heuristic = i / 48,
							.reversible = i % 2 ? OSR_REVERSIBLE_ON
									    : OSR_REVERSIBLE_OFF };
		struct osr_verdict verdict;
		struct trial trial;

		draw(&trial, i % 48);
		if (assign(&trial, &opt)) {
			assert_non_null(strstr(trial.diag.text, "virtual lane"));
			assert_true(opt.heuristic == OSR_HEURISTIC_HEAVIEST ||
				    opt.heuristic == OSR_HEURISTIC_FIRST);
		} else {
			osr_spf_finish(&trial.spf);
			assert_int_equal(osr_check(&trial.test.fabric, &trial.routing,
						   &trial.scratch, &verdict, NULL),
					 OSR_OK);
			assert_true(!(i % 2) || verdict.proven & OSR_CLAIM_REVERSIBLE);
		}
		drop(&trial);
	}
}

/* ---- the online algorithm, as it is written down --------------------------------------------- */

struct naive {
	const struct osr_spf *spf;
	uint32_t m;                 /* channels */
	uint8_t *edge[OSR_MAX_VLS]; /* [m * m] */
	uint8_t *colour;            /* [m] 0 new, 1 on the path, 2 done */
};

static bool has_cycle_from(struct naive *naive, const uint8_t *edge, uint32_t c)
{
	naive->colour[c] = 1;
	for (uint32_t next = 0; next < naive->m; next++) {
		if (!edge[(size_t)c * naive->m + next] || naive->colour[next] == 2)
			continue;
		if (naive->colour[next] == 1 || has_cycle_from(naive, edge, next))
			return true;
	}
	naive->colour[c] = 2;
	return false;
}

static bool has_cycle(struct naive *naive, const uint8_t *edge)
{
	memset(naive->colour, 0, naive->m);
	for (uint32_t c = 0; c < naive->m; c++)
		if (naive->colour[c] == 0 && has_cycle_from(naive, edge, c))
			return true;
	return false;
}

/* Adds the route of switch v to dest d to a copy of the layer; keeps it if there is no cycle. */
static bool fits(struct naive *naive, uint8_t **edge, uint32_t d, uint32_t v)
{
	uint8_t *copy = malloc((size_t)naive->m * naive->m);
	uint32_t c = osr_spf_channel(naive->spf, d, v), next;
	bool cycle;

	assert_non_null(copy);
	memcpy(copy, *edge, (size_t)naive->m * naive->m);
	for (; naive->spf->fabric->chan_dst[c] != naive->spf->fabric->dest_switch[d]; c = next) {
		next = osr_spf_channel(naive->spf, d, naive->spf->fabric->chan_dst[c]);
		copy[(size_t)c * naive->m + next] = 1;
	}
	cycle = has_cycle(naive, copy);
	free(cycle ? copy : *edge);
	*edge = cycle ? *edge : copy;
	return !cycle;
}

static uint32_t naive_layer(struct naive *naive, uint32_t d, uint32_t v)
{
	for (uint32_t i = 0; i < OSR_MAX_VLS; i++) {
		naive->edge[i] = naive->edge[i] ? naive->edge[i] : calloc(naive->m, naive->m);
		assert_non_null(naive->edge[i]);
		if (fits(naive, &naive->edge[i], d, v))
			return i;
	}
	return OSR_MAX_VLS;
}

/* Routes from port 0 to port 0 are nobody's. */
static bool counts(const struct osr_fabric *fabric, uint32_t d, uint32_t v)
{
	return fabric->term_role[fabric->dest_term[d]] != OSR_ROLE_SP0 || fabric->sw_sources[v];
}

static void compare_online(struct trial *trial, uint32_t *most)
{
	const struct osr_fabric *fabric = &trial->test.fabric;
	struct naive naive = { .spf = &trial->spf,
			       .m = fabric->n_channels,
			       .colour = calloc(fabric->n_channels + 1, 1) };

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t root = fabric->dest_switch[d];

		for (uint32_t i = 1;
		     trial->spf.alias[d] == OSR_NONE && i < trial->spf.n_order[root]; i++) {
			uint32_t v = trial->spf.order[(size_t)root * fabric->n_switches + i], layer;

			layer = counts(fabric, d, v) ? naive_layer(&naive, d, v) : 0;
			assert_true(!counts(fabric, d, v) ||
				    trial->routing.sl[(size_t)d * fabric->n_switches + v] == layer);
			*most = layer > *most ? layer : *most;
		}
	}
	for (uint32_t i = 0; i < OSR_MAX_VLS; i++)
		free(naive.edge[i]);
	free(naive.colour);
}

static void test_online_is_first_fit(void **state)
{
	const struct osr_layers_options opt = { .heuristic = OSR_HEURISTIC_ONLINE,
						.reversible = OSR_REVERSIBLE_OFF };
	uint32_t most = 0;

	for (unsigned i = 0; i < 30; i++) {
		struct trial trial;

		draw(&trial, i);
		assert_int_equal(assign(&trial, &opt), OSR_OK);
		if (trial.routing.sl)
			compare_online(&trial, &most);
		drop(&trial);
	}
	assert_true(most >= 2);
}

/*
 * Replies are safe wherever lanes allow: where pair after pair of switches fits eight of them, with
 * all routes between both.
 */
static bool pairs_fit(struct trial *trial)
{
	const struct osr_fabric *fabric = &trial->test.fabric;
	struct naive naive = { .spf = &trial->spf,
			       .m = fabric->n_channels,
			       .colour = calloc(fabric->n_channels + 1, 1) };
	uint32_t most = 0;

	for (uint32_t a = 0; a < fabric->n_switches; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint8_t *before[OSR_MAX_VLS];
			uint32_t layer = 0;
			bool fit = false;

			for (; !fit && layer < OSR_MAX_VLS; layer++) {
				uint8_t *copy = calloc(naive.m + 1, naive.m + 1);

				if (naive.edge[layer])
					memcpy(copy, naive.edge[layer], (size_t)naive.m * naive.m);
				before[layer] = naive.edge[layer];
				naive.edge[layer] = copy;
				fit = true;
				for (uint32_t d = 0; d < fabric->n_dests; d++) {
					uint32_t root = fabric->dest_switch[d],
						 v = root == a ? b : a;

					if ((root == a || root == b) && fit &&
					    trial->spf.alias[d] == OSR_NONE && counts(fabric, d, v))
						fit = fits(&naive, &naive.edge[layer], d, v);
				}
				free(fit ? before[layer] : naive.edge[layer]);
				naive.edge[layer] = fit ? naive.edge[layer] : before[layer];
			}
			most = layer > most ? layer : most;
		}
	for (uint32_t i = 0; i < OSR_MAX_VLS; i++)
		free(naive.edge[i]);
	free(naive.colour);
	return most <= 8;
}

static void test_replies_wherever_lanes_allow(void **state)
{
	const struct osr_layers_options opt = { .reversible = OSR_REVERSIBLE_AUTO };
	unsigned n_lanes_with_replies = 0;

	for (unsigned i = 0; i < 8; i++) {
		struct osr_verdict verdict;
		struct trial trial;
		bool fit;

		/* Sparse: the orders for what is left of the pairs miss most of these. */
		draw_of(&trial, 44, 56 + i, i);
		assert_int_equal(assign_on(&trial, &opt, 8), OSR_OK);
		fit = pairs_fit(&trial);
		osr_spf_finish(&trial.spf);
		assert_int_equal(osr_check(&trial.test.fabric, &trial.routing, &trial.scratch,
					   &verdict, NULL),
				 OSR_OK);
		assert_true(!fit || verdict.proven & OSR_CLAIM_REVERSIBLE);
		n_lanes_with_replies += fit ? trial.routing.n_layers : 0;
		drop(&trial);
	}
	assert_true(n_lanes_with_replies >= 24);
}

/* ---- algorithm 2, as it is written down ------------------------------------------------------ */

struct offline {
	const struct osr_spf *spf;
	enum osr_heuristic heuristic;
	uint32_t *n_routes; /* [n_turns] that induce the edge */
	uint8_t *moved;     /* [n_dests * n_switches] to the next layer */
	uint8_t *colour;    /* [n_channels] 0 new, 1 on the path, 2 done */
	uint32_t *path;     /* [n_channels] turns */
	uint32_t depth;
};

/* Adds `sign` to each edge that the route of v to d induces; does it induce this one? */
static bool induce(struct offline *offline, uint32_t d, uint32_t v, uint32_t sign, uint32_t turn)
{
	const struct osr_fabric *fabric = offline->spf->fabric;
	uint32_t c = osr_spf_channel(offline->spf, d, v), next;
	bool found = false;

	for (; fabric->chan_dst[c] != fabric->dest_switch[d]; c = next) {
		next = osr_spf_channel(offline->spf, d, fabric->chan_dst[c]);
		offline->n_routes[osr_turn(fabric, c, next)] += sign;
		found |= osr_turn(fabric, c, next) == turn;
	}
	return found;
}

/* The edge to cut of the cycle path[from ..]: the first one where several are as good. */
static uint32_t choose(const struct offline *offline, uint32_t from)
{
	uint32_t best = offline->path[from];

	for (uint32_t i = from; i < offline->depth; i++) {
		uint32_t mine = offline->n_routes[offline->path[i]],
			 theirs = offline->n_routes[best];

		if ((offline->heuristic == OSR_HEURISTIC_WEAKEST && mine < theirs) ||
		    (offline->heuristic == OSR_HEURISTIC_HEAVIEST && mine > theirs))
			best = offline->path[i];
	}
	return best;
}

/* "Search for a cycle", depth first; the edge to cut, or OSR_NONE. */
static uint32_t find_cycle(struct offline *offline, uint32_t c)
{
	const struct osr_fabric *fabric = offline->spf->fabric;
	uint32_t at = offline->depth++, cut = OSR_NONE;

	offline->colour[c] = 1;
	for (uint32_t t = fabric->turn_row[c]; t < fabric->turn_row[c + 1] && cut == OSR_NONE;
	     t++) {
		uint32_t next = osr_turn_next(fabric, c, t), from = at;

		offline->path[at] = t;
		if (!offline->n_routes[t] || offline->colour[next] == 2)
			continue;
		if (offline->colour[next] == 0) {
			cut = find_cycle(offline, next);
			continue;
		}
		/* The cycle begins with the turn of the path that leaves `next`. */
		while (offline->path[from] < fabric->turn_row[next] ||
		       offline->path[from] >= fabric->turn_row[next + 1])
			from--;
		cut = choose(offline, from);
	}
	offline->colour[c] = 2;
	offline->depth = cut == OSR_NONE ? at : offline->depth;
	return cut;
}

static void compare_offline(struct trial *trial, enum osr_heuristic heuristic, unsigned *n_moved)
{
	const struct osr_fabric *fabric = &trial->test.fabric;
	size_t n = fabric->n_switches, n_routes = fabric->n_dests * n;
	struct offline offline = { .spf = &trial->spf,
				   .heuristic = heuristic,
				   .n_routes = calloc(osr_n_turns(fabric) + 1, 4),
				   .moved = calloc(n_routes, 1),
				   .colour = calloc(fabric->n_channels + 1, 1),
				   .path = calloc(fabric->n_channels + 1, 4) };
	struct osr_search search = { .spf = &trial->spf,
				     .fabric = fabric,
				     .scratch = &trial->scratch,
				     .diag = &trial->diag,
				     .order = { .n_lanes = 1 },
				     .masks = osr_calloc(&trial->scratch, n_routes, 1) };
	uint32_t cut;

	for (size_t i = 0; i < n_routes; i++) {
		/* Nobody's routes, and those that share another LID's tree, are in no layer. */
		offline.moved[i] = i % n == fabric->dest_switch[i / n] ||
				   trial->spf.alias[i / n] != OSR_NONE ||
				   !counts(fabric, i / n, i % n) ||
				   osr_spf_channel(&trial->spf, i / n, i % n) == OSR_NONE;
		if (!offline.moved[i])
			induce(&offline, i / n, i % n, 1, OSR_NONE);
		offline.moved[i] *= 2;
	}
	assert_int_equal(osr_search_init(&search, false), OSR_OK);
	memcpy(search.weights.weight, offline.n_routes,
	       osr_n_turns(fabric) * sizeof(*offline.n_routes));
	assert_int_equal(osr_break_cycles(&search, heuristic), OSR_OK);
	do {
		cut = OSR_NONE;
		memset(offline.colour, 0, fabric->n_channels);
		offline.depth = 0;
		for (uint32_t c = 0; c < fabric->n_channels && cut == OSR_NONE; c++)
			cut = offline.colour[c] ? OSR_NONE : find_cycle(&offline, c);
		for (size_t i = 0; i < n_routes && cut != OSR_NONE; i++) {
			if (offline.moved[i] || !induce(&offline, i / n, i % n, 0, cut))
				continue;
			offline.moved[i] = 1;
			induce(&offline, i / n, i % n, UINT32_MAX, OSR_NONE);
			++*n_moved;
		}
	} while (cut != OSR_NONE);
	for (size_t i = 0; i < n_routes; i++)
		assert_int_equal(search.masks[i], offline.moved[i] == 1);
	free(offline.n_routes);
	free(offline.moved);
	free(offline.colour);
	free(offline.path);
}

/* The three ways to choose an edge cut different ones. */
static void test_algorithm_2(void **state)
{
	static const enum osr_heuristic heuristics[] = { OSR_HEURISTIC_WEAKEST,
							 OSR_HEURISTIC_HEAVIEST,
							 OSR_HEURISTIC_FIRST };
	unsigned n_moved[3] = { 0 };

	for (unsigned i = 0; i < 48 * 3; i++) {
		struct trial trial;

		draw(&trial, i / 3);
		compare_offline(&trial, heuristics[i % 3], &n_moved[i % 3]);
		drop(&trial);
	}
	printf("routes that leave the first layer: weakest %u, heaviest %u, first %u\n", n_moved[0],
	       n_moved[1], n_moved[2]);
	/* Section V-A: the weakest edge moves the fewest. */
	assert_true(n_moved[0] < n_moved[2] && n_moved[2] < n_moved[1]);
}

TEST_PROGRAM(test_every_heuristic, test_online_is_first_fit, test_replies_wherever_lanes_allow,
	     test_algorithm_2)
