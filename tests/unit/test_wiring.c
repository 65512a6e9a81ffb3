/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Cables plugged in wrongly at random, in fabrics of all kinds of plans, against what was done to them: pairs of
 * switches that lost a cable, and pairs that got one. test_wiring N SEED KIND: N fabrics (default 56) from this seed on (default
 * 1000), of one kind if it is named, and the figures; with a SEED of all plans.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/prng.h>
#include "core/shape/wiring.h"

#include "topo/topo.h"

struct plan {
	const char *kind, *name[4], *value[4];
};

static const struct plan plans[] = {
	{ "tree", { "m", "w" }, { "4,8", "1,4" } },
	{ "tree", { "m", "w" }, { "6,6,4", "1,3,6" } },
	{ "tree", { "m", "w", "p" }, { "6,6,3", "1,6,3", "1,1,2" } },
	{ "tree", { "m", "w" }, { "4,4,4,4", "1,4,4,4" } },
	{ "kary", { "k", "n" }, { "6", "3" } },
	{ "torus", { "dims" }, { "8x8x5" } },
	{ "torus", { "dims" }, { "6x5x5" } },
	{ "torus", { "dims" }, { "5x4x4x3" } },
	{ "mesh", { "dims" }, { "9x8x5" } },
	{ "hypercube", { "n" }, { "6" } },
	{ "hyperx", { "dims" }, { "12x8" } },
	{ "hyperx", { "dims" }, { "6x6x6" } },
	{ "dragonfly", { "a", "h", "p" }, { "6", "3", "2" } },
	{ "dragonfly", { "a", "h", "p" }, { "8", "4", "2" } },
	/* Other sizes than those with which the search was written. */
	{ "tree", { "m", "w" }, { "8,12", "1,6" } },
	{ "tree", { "m", "w" }, { "5,7,3", "1,4,5" } },
	{ "tree", { "m", "w", "p" }, { "8,5,4", "1,4,2", "1,1,3" } },
	{ "tree", { "m", "w" }, { "3,4,5,3", "1,3,4,3" } },
	{ "kary", { "k", "n" }, { "8", "3" } },
	{ "torus", { "dims" }, { "10x6" } },
	{ "torus", { "dims" }, { "9x7x5" } },
	{ "torus", { "dims" }, { "6x5x4x3" } },
	{ "mesh", { "dims" }, { "7x6x6" } },
	{ "hypercube", { "n" }, { "7" } },
	{ "hyperx", { "dims" }, { "10x9" } },
	{ "hyperx", { "dims" }, { "8x5x5" } },
	{ "dragonfly", { "a", "h", "p" }, { "5", "2", "2" } },
	{ "dragonfly", { "a", "h", "p" }, { "10", "3", "4" } },
	/* With so few cables one wrong is more than a tenth; named only where nothing is. */
	{ "dragonfly", { "a", "h", "p" }, { "3", "1", "2" } },
};

#define N_PLANS (sizeof(plans) / sizeof(*plans))
#define N_USUAL 14
#define MAX_SWITCHES 700

static void make_plan(const struct plan *p, struct osr_net *net)
{
	const struct osr_topo *t = osr_topo_find(p->kind);
	const struct osr_topo_style style = { .ports = 48 };
	struct osr_diag diag = { "" };
	struct osr_values v;

	assert_non_null(t);
	osr_values_default(&v, t->params);
	for (unsigned i = 0; i < 4 && p->name[i]; i++)
		assert_int_equal(osr_values_set(&v, t->params, p->name[i], p->value[i], &diag),
				 OSR_OK);
	if (osr_topo_make(t, &v, &style, net, &diag))
		fail_msg("%s %s: %s", p->kind, p->value[0], diag.text);
}

/* ---- what is done to them ------------------------------------------------------------------- */

static bool joins_switches(const struct osr_net *net, uint32_t port)
{
	uint32_t peer = net->ports[port].peer;

	return peer != OSR_NONE && net->nodes[net->ports[port].node].type == OSR_NET_SWITCH &&
	       net->nodes[net->ports[peer].node].type == OSR_NET_SWITCH;
}

static uint32_t draw_cable(const struct osr_net *net, struct osr_prng *prng)
{
	for (;;) {
		uint32_t port = osr_prng_below(prng, net->n_ports);

		if (joins_switches(net, port))
			return port;
	}
}

static uint32_t draw_free(const struct osr_net *net, struct osr_prng *prng)
{
	for (;;) {
		uint32_t port = osr_prng_below(prng, net->n_ports), node = net->ports[port].node;

		if (net->nodes[node].type == OSR_NET_SWITCH && port > net->nodes[node].port_row &&
		    net->ports[port].peer == OSR_NONE)
			return port;
	}
}

static void miswire(struct osr_net *net, struct osr_prng *prng)
{
	uint32_t a = draw_cable(net, prng), b = net->ports[a].peer, c, d;

	switch (osr_prng_below(prng, 5)) {
	case 0:
		osr_net_uncable(net, a);
		return;
	case 1:
		c = draw_free(net, prng);
		do
			d = draw_free(net, prng);
		while (net->ports[c].node == net->ports[d].node);
		osr_net_cable(net, c, d, 4, 0);
		return;
	case 2:
		do
			c = draw_free(net, prng);
		while (net->ports[c].node == net->ports[a].node);
		osr_net_cable(net, a, c, 4, 0);
		return;
	default: /* as often as all others: this is what happens */
		do {
			c = draw_cable(net, prng);
			d = net->ports[c].peer;
		} while (net->ports[a].node == net->ports[d].node ||
			 net->ports[c].node == net->ports[b].node);
		osr_net_cable(net, a, d, 4, 0);
		osr_net_cable(net, c, b, 4, 0);
	}
}

/* ---- what there is -------------------------------------------------------------------------- */

/* Cables by pair of switches, less those of the plan. */
static int8_t matrix[MAX_SWITCHES][MAX_SWITCHES];

static void count_cables(const struct osr_fabric *f, int8_t by)
{
	assert_true(f->n_switches <= MAX_SWITCHES);
	for (uint32_t c = 0; c < f->n_channels; c++)
		matrix[f->chan_src[c]][f->chan_dst[c]] =
			(int8_t)(matrix[f->chan_src[c]][f->chan_dst[c]] + by);
}

static void change(uint32_t a, uint32_t b, int by)
{
	matrix[a][b] = (int8_t)(matrix[a][b] + by);
	matrix[b][a] = (int8_t)(matrix[b][a] + by);
}

static uint32_t count_differences(uint32_t n)
{
	uint32_t sum = 0;

	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < a; b++)
			sum += (uint32_t)abs(matrix[a][b]);
	return sum;
}

/* As `osmroutes wiring` says it: what an administrator would unplug and plug in. */
static void mend(const struct osr_fabric *f, const struct osr_wiring_fault *x)
{
	switch (x->kind) {
	case OSR_WIRING_MISSING:
		change(x->a, x->b, 1);
		return;
	case OSR_WIRING_EXTRA:
		change(f->chan_src[x->c], f->chan_dst[x->c], -1);
		return;
	case OSR_WIRING_MOVED:
		assert_int_equal(x->a, f->chan_src[x->c]);
		change(f->chan_src[x->c], f->chan_dst[x->c], -1);
		change(x->a, x->b, 1);
		return;
	case OSR_WIRING_SWAPPED:
		change(f->chan_src[x->c], f->chan_dst[x->c], -1);
		change(f->chan_src[x->d], f->chan_dst[x->d], -1);
		change(f->chan_src[x->c], f->chan_dst[x->d], 1);
		change(f->chan_src[x->d], f->chan_dst[x->c], 1);
		return;
	}
}

/* ---- another fabric that the answer makes may be the plan as well ---------------------------- */

static uint32_t node_of(const struct osr_net *net, uint64_t guid)
{
	for (uint32_t i = 0; i < net->n_nodes; i++)
		if (net->nodes[i].type == OSR_NET_SWITCH && net->nodes[i].guid == guid)
			return i;
	fail_msg("no switch has this GUID");
	return OSR_NONE;
}

static uint32_t port_to(const struct osr_net *net, uint32_t node, uint32_t peer)
{
	for (uint32_t p = net->nodes[node].port_row + 1;
	     p < net->n_ports && net->ports[p].node == node; p++)
		if (peer == OSR_NONE ? net->ports[p].peer == OSR_NONE
				     : net->ports[p].peer != OSR_NONE &&
					       net->ports[net->ports[p].peer].node == peer)
			return p;
	fail_msg("no such port");
	return OSR_NONE;
}

/* The plan, changed by matrix[][]: is it this plan again, with other switches in each other's place? */
static bool is_plan(const struct plan *p, const struct osr_fabric *whole)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };
	struct osr_fabric f;
	struct osr_wiring w;
	bool good;

	make_plan(p, &net);
	for (int add = 0; add < 2; add++)
		for (uint32_t a = 0; a < whole->n_switches; a++)
			for (uint32_t b = 0; b < a; b++)
				for (int n = add ? matrix[a][b] : -matrix[a][b]; n > 0; n--) {
					uint32_t x = node_of(&net, whole->sw_guid[a]),
						 y = node_of(&net, whole->sw_guid[b]);

					if (add)
						osr_net_cable(&net, port_to(&net, x, OSR_NONE),
							      port_to(&net, y, OSR_NONE), 4, 0);
					else
						osr_net_uncable(&net, port_to(&net, x, y));
				}
	assert_int_equal(osr_net_fabric(&net, 0, &arena, &f, &diag), OSR_OK);
	good = !osr_wiring_find(&f, &arena, &arena, &w, &diag) && !w.n_faults;
	osr_arena_free(&arena);
	osr_net_free(&net);
	return good;
}

struct score {
	uint64_t wrong; /* cables that are somewhere else, or missing, or too many */
	uint64_t left;  /* of those, not mended */
	uint64_t made;  /* changes that were not asked for */
	uint64_t other; /* differences that are the plan as well, see is_plan() */
	uint64_t fabrics, unknown;
};

/* Changes of a cable in the answer: how many. */
static uint32_t n_changes(const struct osr_wiring_fault *x)
{
	return x->kind == OSR_WIRING_SWAPPED ? 4 : x->kind == OSR_WIRING_MOVED ? 2 : 1;
}

static void one_fabric(const struct plan *p, uint64_t seed, struct score *score)
{
	struct osr_prng prng = { .state = seed };
	struct osr_arena arena = { 0 }, scratch = { 0 };
	struct osr_net net = { 0 };
	struct osr_fabric whole, f;
	struct osr_wiring w;
	struct osr_diag diag = { "" };
	uint32_t n_faults, wrong, left, changes = 0;

	make_plan(p, &net);
	memset(matrix, 0, sizeof(matrix));
	assert_int_equal(osr_net_fabric(&net, 0, &arena, &whole, &diag), OSR_OK);
	/* Up to one in fifty cables, and four at most. */
	n_faults = whole.n_channels / 100;
	n_faults = 1 + osr_prng_below(&prng, n_faults < 1 ? 1 : n_faults > 4 ? 4 : n_faults);
	for (uint32_t i = 0; i < n_faults; i++)
		miswire(&net, &prng);
	assert_int_equal(osr_net_fabric(&net, 0, &arena, &f, &diag), OSR_OK);
	count_cables(&f, 1);
	count_cables(&whole, -1);
	wrong = count_differences(f.n_switches);
	score->fabrics++;
	score->wrong += wrong;
	if (osr_wiring_find(&f, &scratch, &arena, &w, &diag)) {
		score->unknown++;
		if (getenv("OSR_VERBOSE"))
			printf("%s %s seed %llu: %u wrong, %s\n", p->kind, p->value[0],
			       (unsigned long long)seed, wrong, diag.text);
		score->left += wrong;
	} else {
		for (uint32_t i = 0; i < w.n_faults; i++) {
			mend(&f, &w.fault[i]);
			changes += n_changes(&w.fault[i]);
		}
		/* Each change mends one difference, or makes one. */
		left = count_differences(f.n_switches);
		assert_true((changes + left - wrong) % 2 == 0);
		/* As good an answer: no more changes than cables were moved, and the plan is whole. */
		if (left && changes <= wrong && is_plan(p, &whole)) {
			score->other += left;
			left = 0;
			changes = wrong;
		}
		score->made += (changes + left - wrong) / 2;
		score->left += left - (changes + left - wrong) / 2;
		if (left && getenv("OSR_VERBOSE"))
			printf("%s %s seed %llu: %u wrong, %u left, %u changes; %s\n", p->kind,
			       p->value[0], (unsigned long long)seed, wrong, left, changes, w.plan);
	}
	osr_arena_free(&arena);
	osr_arena_free(&scratch);
	osr_net_free(&net);
}

static uint32_t n_wanted = 56;
static uint64_t first_seed = 1000;
static const char *only;
static uint32_t n_plans;

static void random_miswirings(void **state)
{
	struct score all = { 0 };

	(void)state;
	for (uint32_t p = 0; p < n_plans; p++) {
		struct score s = { 0 };

		if (only && strcmp(only, plans[p].kind))
			continue;
		for (uint32_t i = p; i < n_wanted; i += n_plans)
			one_fabric(&plans[p], first_seed + i, &s);
		if (getenv("OSR_VERBOSE"))
			printf("%-10s %-10s %5llu fabrics, %3llu without a plan: %6llu cables "
			       "wrong, %4llu not "
			       "named, %4llu falsely named\n",
			       plans[p].kind, plans[p].value[0], (unsigned long long)s.fabrics,
			       (unsigned long long)s.unknown, (unsigned long long)s.wrong,
			       (unsigned long long)s.left, (unsigned long long)s.made);
		all.fabrics += s.fabrics;
		all.unknown += s.unknown;
		all.wrong += s.wrong;
		all.left += s.left;
		all.made += s.made;
		all.other += s.other;
	}
	printf("%llu fabrics: %llu cables wrong, %.3f %% named, %.3f %% false, %llu mended in "
	       "another way\n",
	       (unsigned long long)all.fabrics, (unsigned long long)all.wrong,
	       100.0 * (double)(all.wrong - all.left) / (double)all.wrong,
	       100.0 * (double)all.made / (double)all.wrong, (unsigned long long)all.other);
	assert_true(all.left * 100 < all.wrong);
	assert_true(all.made * 1000 < all.wrong);
}

/* Nothing is wrong with a plan; and a random graph is none. */
static void nothing_to_say(void **state)
{
	static const struct plan random = { "random",
					    { "switches", "links", "hosts" },
					    { "40", "120", "2" } };
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };
	struct osr_fabric f;
	struct osr_wiring w;

	(void)state;
	for (uint32_t p = 0; p < N_PLANS; p++) {
		make_plan(&plans[p], &net);
		assert_int_equal(osr_net_fabric(&net, 0, &arena, &f, &diag), OSR_OK);
		if (osr_wiring_find(&f, &arena, &arena, &w, &diag))
			fail_msg("%s %s: %s", plans[p].kind, plans[p].value[0], diag.text);
		if (w.n_faults)
			fail_msg("%s %s: %u faults, \"%s\"", plans[p].kind, plans[p].value[0],
				 w.n_faults, w.plan);
		osr_net_free(&net);
		net = (struct osr_net){ 0 };
	}
	make_plan(&random, &net);
	assert_int_equal(osr_net_fabric(&net, 0, &arena, &f, &diag), OSR_OK);
	assert_int_equal(osr_wiring_find(&f, &arena, &arena, &w, &diag), OSR_NOT_APPLICABLE);
	osr_net_free(&net);
	osr_arena_free(&arena);
}

/* A ring of 4 is two cables of 2 by 2: plans of both kinds have both names, that of a torus first. */
static void names_of_grids(void **state)
{
	static const struct {
		struct plan plan;
		const char *name;
	} cases[] = {
		{ { "torus", { "dims" }, { "4x4" } }, "torus 4x4 (or 2x2x2x2)" },
		{ { "hypercube", { "n" }, { "4" } }, "torus 4x4 (or 2x2x2x2)" },
		{ { "torus", { "dims" }, { "4x4x4" } }, "torus 4x4x4 (or 2x2x2x2x2x2)" },
		{ { "hypercube", { "n" }, { "5" } }, "torus 4x4x2 (or 2x2x2x2x2)" },
		{ { "torus", { "dims" }, { "5x4" } }, "torus 5x4 (or 5x2x2)" },
		{ { "torus", { "dims" }, { "4x7x4" } }, "torus 7x4x4 (or 7x2x2x2x2)" },
		{ { "torus", { "dims" }, { "6x5" } }, "torus 6x5" },
		{ { "mesh", { "dims" }, { "6x5" } }, "mesh 6x5" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct osr_arena arena = { 0 };
		struct osr_net net = { 0 };
		struct osr_diag diag;
		struct osr_wiring w;
		struct osr_fabric f;

		make_plan(&cases[i].plan, &net);
		assert_int_equal(osr_net_fabric(&net, 0, &arena, &f, &diag), OSR_OK);
		assert_int_equal(osr_wiring_find(&f, &arena, &arena, &w, &diag), OSR_OK);
		assert_string_equal(w.plan, cases[i].name);
		osr_net_free(&net);
		osr_arena_free(&arena);
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_say),
		cmocka_unit_test(names_of_grids),
		cmocka_unit_test(random_miswirings),
	};

	if (argc > 1)
		n_wanted = (uint32_t)atol(argv[1]);
	if (argc > 2)
		first_seed = (uint64_t)atoll(argv[2]);
	n_plans = argc > 2 ? N_PLANS - 1 : N_USUAL;
	only = argc > 3 ? argv[3] : NULL;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
