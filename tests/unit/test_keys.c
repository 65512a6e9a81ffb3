/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Routing keys: colourings of one level, and whole keys on whole and broken trees. */
#include "test.h"

#include <time.h>

#include "keys/keys.h"
#include "fabrics.h"
#include "topos.h"
#include "keys/level.h"

/*
 * ---- Routing keys on whole and broken trees. The judge knows the fabric and the entries, nothing
 * of trees: it follows every pair from switch to switch and counts what crosses each channel.
 */

#define MAX_HOSTS 12000

struct tree {
	struct osr_arena arena;
	struct osr_fabric fabric;
	struct osr_pgft pgft;
	uint32_t host[MAX_HOSTS]; /* terminals */
	uint32_t n_hosts;
	/* Of the judge. */
	uint8_t *port;   /* [n_terminals * n_switches], filled while a case is judged */
	uint32_t *flows; /* [n_channels] */
};

/* A tree by its numbers, without so many links (seeded) and switches. */
static void grow(struct tree *tree, const char *m, const char *w, const char *p, uint32_t links,
		 uint32_t switches, uint64_t seed)
{
	const struct osr_degrade how = {
		.n_links = links, .n_switches = switches, .seed = seed, .keep_connected = true
	};
	struct osr_pgft_options opt = { .max_missing = 30 };
	struct osr_diag diag = { "" };
	char what[100];

	memset(tree, 0, sizeof(*tree));
	snprintf(what, sizeof(what), "tree m=%s w=%s p=%s", m, w, p);
	topo_broken(what, how, 0, &tree->arena, &tree->fabric);
	if (osr_pgft_find(&tree->fabric, &opt, &tree->arena, &tree->pgft, &diag))
		fail_msg("%s", diag.text);
	for (uint32_t i = 0; i < tree->fabric.n_terminals; i++)
		if (tree->fabric.term_role[i] == OSR_ROLE_CA)
			tree->host[tree->n_hosts++] = i;
	tree->port = osr_calloc(&tree->arena, tree->fabric.n_terminals, tree->fabric.n_switches);
	tree->flows = osr_calloc(&tree->arena, tree->fabric.n_channels, sizeof(*tree->flows));
	assert_non_null(tree->port);
	assert_non_null(tree->flows);
}

/* The judge ------------------------------------------------------------------------------------ */

static void enter(struct tree *tree, const struct osr_key_routes *routes, bool in)
{
	for (uint32_t i = 0; i < routes->n_entries; i++) {
		const struct osr_key_entry *entry = &routes->entry[i];
		uint8_t *port =
			&tree->port[(size_t)entry->term * tree->fabric.n_switches + entry->sw];

		assert_int_equal(*port, in ? 0 : entry->port); /* one entry each, none twice */
		assert_int_not_equal(entry->port, 0);
		*port = in ? entry->port : 0;
	}
}

/* The largest number of pairs on one channel; every pair arrives by entries alone. */
static uint32_t judge(struct tree *tree, const struct osr_pair *pairs, uint32_t n,
		      const struct osr_key_routes *routes)
{
	uint32_t most = 0, link = 0;

	enter(tree, routes, true);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = tree->fabric.term_switch[pairs[i].from], hops = 0;

		while (at != tree->fabric.term_switch[pairs[i].to]) {
			uint8_t port =
				tree->port[(size_t)pairs[i].to * tree->fabric.n_switches + at];
			uint32_t c = port ? osr_port_channel(&tree->fabric, at, port) : OSR_NONE;

			assert_int_not_equal(c, OSR_NONE);
			assert_true(++hops < 2 * tree->pgft.tree[0].h);
			tree->flows[c]++;
			at = tree->fabric.chan_dst[c];
		}
	}
	for (uint32_t c = 0; c < tree->fabric.n_channels; c++) {
		if (tree->flows[c] > most)
			most = tree->flows[c];
		if (tree->flows[c]) {
			assert_true(link < routes->n_links);
			assert_int_equal(routes->link[link], c);
			assert_int_equal(routes->flows[link], tree->flows[c]);
			link++;
		}
		tree->flows[c] = 0;
	}
	assert_int_equal(link, routes->n_links);
	enter(tree, routes, false);
	assert_int_equal(most, routes->contention);
	return most;
}

struct made {
	struct osr_arena scratch, result;
	struct osr_key key;
	struct osr_key_routes routes;
};

static uint32_t route(struct tree *tree, const struct osr_pair *pairs, uint32_t n,
		      const uint32_t *load, enum osr_key_choice choice, struct made *made)
{
	struct osr_diag diag = { "" };
	struct osr_key_job job = { &tree->pgft, &made->scratch, &made->result, &diag };

	memset(made, 0, sizeof(*made));
	if (osr_key_make(&job, pairs, n, &made->key) ||
	    osr_key_place(&job, &made->key, load, choice, &made->routes))
		fail_msg("%s", diag.text);
	assert_int_equal(made->scratch.in_use, 0);
	return judge(tree, pairs, n, &made->routes);
}

static void drop(struct made *made)
{
	osr_arena_free(&made->scratch);
	osr_arena_free(&made->result);
}

/* Patterns ------------------------------------------------------------------------------------- */

static void shuffle(uint32_t *list, uint32_t n, uint64_t *seed)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)(test_random(seed) % i), x = list[j];

		list[j] = list[i - 1];
		list[i - 1] = x;
	}
}

/* A random permutation of some hosts; whoever maps to himself rests. */
static uint32_t permutation(const struct tree *tree, uint32_t size, struct osr_pair *pairs,
			    uint64_t *seed)
{
	static uint32_t from[MAX_HOSTS], to[MAX_HOSTS];
	uint32_t n = 0;

	memcpy(from, tree->host, tree->n_hosts * sizeof(*from));
	shuffle(from, tree->n_hosts, seed);
	memcpy(to, from, size * sizeof(*to));
	shuffle(to, size, seed);
	for (uint32_t i = 0; i < size; i++)
		if (from[i] != to[i])
			pairs[n++] = (struct osr_pair){ from[i], to[i] };
	return n;
}

/* One direction of a stencil that wraps around, ranks mapped at random. */
static uint32_t stencil(const struct tree *tree, struct osr_pair *pairs, uint64_t *seed)
{
	static uint32_t rank[MAX_HOSTS];
	uint32_t side[3], size = 1, n = 0, dim = (uint32_t)(test_random(seed) % 3);
	bool back = test_random(seed) & 1;
	uint32_t stride = 1;

	for (unsigned k = 0; k < 3; k++) {
		side[k] = 1;
		while (size * (side[k] + 1) <= tree->n_hosts && test_random(seed) % 6)
			side[k]++;
		size *= side[k];
		stride *= k < dim ? side[k] : 1;
	}
	memcpy(rank, tree->host, tree->n_hosts * sizeof(*rank));
	shuffle(rank, tree->n_hosts, seed);
	for (uint32_t i = 0; i < size; i++) {
		uint32_t x = i / stride % side[dim];
		uint32_t y = (back ? x + side[dim] - 1 : x + 1) % side[dim];

		if (y != x)
			pairs[n++] = (struct osr_pair){ rank[i], rank[i + (y - x) * stride] };
	}
	return n;
}

/* Rearrangeably non-blocking: m_l p_l <= w_(l+1) p_(l+1). */
static const struct {
	const char *m, *w, *p;
} non_blocking[] = {
	{ "4,4", "1,4", "1,1" },
	{ "6,12", "1,6", "1,1" },
	{ "8,8", "1,4", "1,2" },
	{ "3,5", "1,4", "1,1" },
	{ "6,6", "1,1", "1,6" },
	{ "4,4,4", "1,4,4", "1,1,1" },
	{ "6,6,6", "1,6,6", "1,1,1" },
	{ "4,4,8", "1,4,2", "1,1,2" },
	{ "6,4,5", "1,3,4", "1,2,2" },
	{ "2,3,4", "1,3,3", "1,1,1" },
	{ "2,2,2,2", "1,2,2,2", "1,1,1,1" },
	{ "12,12,12", "1,12,12", "1,1,1" },
	{ "18,18,36", "1,18,18", "1,1,1" },
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * Contention 1, always: OSR_KEYS_CASES of them; large trees have their share cut down. 20 ms for
 * 1,728 hosts, 200 ms for 11,664; the limits here leave room for sanitizers.
 */
static void test_contention_free(void **state)
{
	static struct osr_pair pairs[MAX_HOSTS];
	static struct tree tree;
	const char *wish = getenv("OSR_KEYS_CASES");
	unsigned n_trees = sizeof(non_blocking) / sizeof(*non_blocking);
	unsigned cases = wish ? (unsigned)atoi(wish) : 2400, done = 0;
	uint64_t seed = 1;

	for (unsigned k = 0; k < n_trees; k++) {
		unsigned share = cases / n_trees + 1;

		grow(&tree, non_blocking[k].m, non_blocking[k].w, non_blocking[k].p, 0, 0, 1);
		if (tree.n_hosts > 1000 && !wish)
			share = tree.n_hosts > 10000 ? 1 : 20;
		for (unsigned i = 0; i < share; i++, done++) {
			uint32_t size = 2 + (uint32_t)(test_random(&seed) % (tree.n_hosts - 1)), n;
			struct made made;
			double begin;

			if (i % 3 == 0)
				size = tree.n_hosts;
			n = i % 2 ? stencil(&tree, pairs, &seed)
				  : permutation(&tree, size, pairs, &seed);
			begin = seconds();
			route(&tree, pairs, n, NULL, i / 2 % 2 ? OSR_KEY_AS_IS : OSR_KEY_FINE,
			      &made);
			assert_true(tree.n_hosts < 1000 ||
				    seconds() - begin < (tree.n_hosts > 10000 ? 2.0 : 0.2));
			assert_true(made.routes.contention <= 1);
			assert_int_equal(made.key.n_left_out, 0);
			assert_true(made.key.bound <= 1);
			drop(&made);
		}
		osr_arena_free(&tree.arena);
	}
	print_message("%u cases\n", done);
}

/*
 * Fewer cables upwards than downwards, and broken trees: contention is the bound, flows over cables
 * rounded up, on two levels, and nearly always on more or with parts missing; and every pair that
 * can still be joined is.
 */
static void test_near_the_bound(void **state)
{
	static const struct {
		const char *m, *w, *p;
		bool breaks;
	} trees[] = {
		{ "12,8", "1,4", "1,1", false },      { "8,4,4", "1,4,4", "1,1,1", false },
		{ "4,4,6", "1,4,2", "1,1,1", false }, { "6,6,4", "1,4,2", "1,1,2", false },
		{ "6,12", "1,6", "1,1", true },       { "4,4,4", "1,4,4", "1,1,1", true },
		{ "6,6,6", "1,6,6", "1,1,1", true },
	};
	static struct osr_pair pairs[MAX_HOSTS];
	unsigned n_cases[2] = { 0 }, n_least[2] = { 0 };
	static struct tree tree;
	uint64_t seed = 5;

	for (unsigned i = 0; i < 700; i++) {
		bool breaks = trees[i % 7].breaks;
		struct made made;
		uint32_t n;

		grow(&tree, trees[i % 7].m, trees[i % 7].w, trees[i % 7].p, breaks ? 1 + i % 5 : 0,
		     breaks && i % 8 == 0, i);
		n = breaks ? tree.n_hosts : 2 + (uint32_t)(test_random(&seed) % (tree.n_hosts - 1));
		n = permutation(&tree, n, pairs, &seed);
		route(&tree, pairs, n, NULL, OSR_KEY_FINE, &made);
		assert_true(made.routes.contention <=
			    made.key.bound + (breaks || tree.pgft.tree[0].h > 2));
		assert_int_equal(made.key.n_left_out, 0);
		n_cases[breaks]++;
		n_least[breaks] += made.routes.contention == made.key.bound;
		drop(&made);
		osr_arena_free(&tree.arena);
	}
	print_message("least contention in %u of %u cases, and %u of %u on broken trees\n",
		      n_least[0], n_cases[0], n_least[1], n_cases[1]);
	assert_true(n_least[0] * 100 >= n_cases[0] * 99);
	assert_true(n_least[1] * 100 >= n_cases[1] * 98);
}

/* Many to one, one to many, everybody to everybody: no worse than the hosts' own cables. */
static void test_collectives(void **state)
{
	static struct osr_pair pairs[MAX_HOSTS];
	static const char *const trees[][3] = { { "4,4", "1,4", "1,1" },
						{ "4,4,3", "1,4,4", "1,1,1" } };
	static struct tree t;

	for (unsigned k = 0; k < 6; k++) {
		const char *const *tree = trees[k % 2];
		unsigned kind = k / 2;
		struct made made;
		uint32_t n = 0;

		grow(&t, tree[0], tree[1], tree[2], 0, 0, 1);
		for (uint32_t i = 0; i < t.n_hosts; i++)
			for (uint32_t j = 0; j < t.n_hosts; j++)
				if (i != j && (kind == 0 ? !j : kind == 1 ? !i : true))
					pairs[n++] = (struct osr_pair){ t.host[i], t.host[j] };
		route(&t, pairs, n, NULL, OSR_KEY_FINE, &made);
		assert_true(made.routes.contention <= t.n_hosts - 1);
		assert_true(kind != 1 || made.routes.contention == made.key.bound);
		drop(&made);
		osr_arena_free(&t.arena);
	}
}

/* Choice --------------------------------------------------------------------------------------- */

static void add_load(const struct osr_key_routes *routes, uint32_t *load)
{
	for (uint32_t i = 0; i < routes->n_links; i++)
		load[routes->link[i]] += routes->flows[i];
}

/*
 * One flow under random loads of others. By criterion (a) of section II-B the largest load of its
 * links decides, by (b) the variance over links: with one flow more on two of them, the sum of the
 * two. The load of the middle switch on other cables decides between equals, and what flows upwards
 * counts as what flows down.
 */
static void test_least_loaded_way(void **state)
{
	static struct tree tree;
	struct osr_pair pair;
	uint32_t *load, n_by_up = 0, n_by_plane = 0;
	uint64_t random = 7;

	grow(&tree, "4,4", "1,4", "1,1", 0, 0, 1);
	load = osr_calloc(&tree.arena, tree.fabric.n_channels, sizeof(*load));
	pair = (struct osr_pair){ tree.host[0], tree.host[4] };
	for (unsigned i = 0; i < 200; i++) {
		uint32_t best = OSR_NONE, lightest_down = OSR_NONE, lightest_plane = OSR_NONE,
			 leaf = tree.fabric.term_switch[pair.from],
			 to = tree.fabric.term_switch[pair.to];
		uint64_t least = UINT64_MAX, least_down = UINT64_MAX, least_plane = UINT64_MAX;
		struct made made;

		for (uint32_t c = 0; c < tree.fabric.n_channels; c++)
			load[c] = (uint32_t)(test_random(&random) % 4);
		for (uint32_t c = tree.fabric.chan_row[leaf]; c < tree.fabric.chan_row[leaf + 1];
		     c++) {
			uint32_t spine = tree.fabric.chan_dst[c], up = load[c], down = 0;
			uint64_t plane = 0, cost;

			for (uint32_t o = tree.fabric.chan_row[spine];
			     o < tree.fabric.chan_row[spine + 1]; o++) {
				plane += load[o] + load[tree.fabric.chan_rev[o]];
				down = tree.fabric.chan_dst[o] == to ? load[o] : down;
			}
			cost = (uint64_t)(up > down ? up : down) << 40 |
			       (uint64_t)(up + down) << 20 | plane;
			best = cost < least ? c : best;
			least = cost < least ? cost : least;
			lightest_down = down < least_down ? c : lightest_down;
			least_down = down < least_down ? down : least_down;
			lightest_plane = plane < least_plane ? c : lightest_plane;
			least_plane = plane < least_plane ? plane : least_plane;
		}
		route(&tree, &pair, 1, load, OSR_KEY_FINE, &made);
		assert_true(made.routes.link[0] == best || made.routes.link[1] == best);
		n_by_up += lightest_down != best;
		n_by_plane += lightest_plane != best;
		drop(&made);
	}
	/* Other readings would have chosen otherwise. */
	assert_true(n_by_up > 50 && n_by_plane > 50);
	osr_arena_free(&tree.arena);
}

/*
 * Two applications with one flow each, from one leaf: NRK sends the second another way (figure 2).
 */
static void test_second_application(void **state)
{
	static struct tree tree;
	struct osr_pair a, b;
	uint32_t *load;
	struct made x, y;

	grow(&tree, "4,4", "1,4", "1,1", 0, 0, 1);
	load = osr_calloc(&tree.arena, tree.fabric.n_channels, sizeof(*load));
	a = (struct osr_pair){ tree.host[0], tree.host[4] };
	b = (struct osr_pair){ tree.host[2], tree.host[12] };
	route(&tree, &a, 1, load, OSR_KEY_FINE, &x);
	add_load(&x.routes, load);
	for (int choice = OSR_KEY_AS_IS; choice <= OSR_KEY_FINE; choice++) {
		route(&tree, &b, 1, load, (enum osr_key_choice)choice, &y);
		assert_int_equal(y.routes.max_load, choice == OSR_KEY_AS_IS ? 2 : 1);
		drop(&y);
	}
	drop(&x);
	osr_arena_free(&tree.arena);
}

/*
 * ARK: every application and every group of switches has a random map of its own from classes to
 * planes. Were it one map, class 0 of all applications would meet on one cable. Two levels of four
 * planes: over many applications each of the 16 combinations is as likely as any other, and two
 * flows of one application still never meet.
 */
static void test_ark_spreads(void **state)
{
	enum { N = 4000, PLANES = 4 };
	uint32_t seen[PLANES][PLANES] = { { 0 } }, *none;
	static struct tree tree;
	struct osr_pair pair[2];

	grow(&tree, "4,4,4", "1,4,4", "1,1,1", 0, 0, 1);
	none = osr_calloc(&tree.arena, tree.fabric.n_channels, sizeof(*none));
	pair[0] = (struct osr_pair){ tree.host[0], tree.host[63] };
	pair[1] = (struct osr_pair){ tree.host[1], tree.host[62] };
	for (uint64_t app = 1; app <= N; app++) {
		uint32_t at = tree.fabric.term_switch[pair[0].from], port[2];
		struct osr_diag diag = { "" };
		struct made made = { .routes = { 0 } };
		struct osr_key_job job = { &tree.pgft, &made.scratch, &made.result, &diag };

		assert_int_equal(osr_key_make(&job, pair, 2, &made.key), OSR_OK);
		made.key.spread = app << 16;
		assert_int_equal(osr_key_place(&job, &made.key, none, OSR_KEY_AS_IS, &made.routes),
				 OSR_OK);
		assert_int_equal(judge(&tree, pair, 2, &made.routes), 1);
		enter(&tree, &made.routes, true);
		for (unsigned level = 0; level < 2; level++) {
			port[level] = tree.port[(size_t)pair[0].to * tree.fabric.n_switches + at];
			at = tree.fabric.chan_dst[osr_port_channel(&tree.fabric, at, port[level])];
		}
		enter(&tree, &made.routes, false);
		/* Ports up are the last four of eight. */
		seen[(port[0] - 1) % PLANES][(port[1] - 1) % PLANES]++;
		drop(&made);
	}
	/* A fair draw is within 6 standard deviations, 15 each. */
	for (unsigned i = 0; i < PLANES * PLANES; i++)
		if (seen[i / PLANES][i % PLANES] < 160 || seen[i / PLANES][i % PLANES] > 340)
			fail_msg("planes %u, %u: %u of %d applications", i / PLANES, i % PLANES,
				 seen[i / PLANES][i % PLANES], N);
	osr_arena_free(&tree.arena);
}

/* Bad input ------------------------------------------------------------------------------------ */

struct asked {
	const struct tree *tree;
	const struct osr_pair *pairs;
	uint32_t n;
	struct osr_key key;
};

static enum osr_status key_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				struct osr_diag *diag)
{
	struct asked *asked = ctx;
	struct osr_key_routes routes;
	struct osr_key_job job = { &asked->tree->pgft, scratch, result, diag };
	enum osr_status st = osr_key_make(&job, asked->pairs, asked->n, &asked->key);

	if (!st)
		st = osr_key_place(&job, &asked->key, NULL, OSR_KEY_FINE, &routes);
	assert_true(!st == !diag->text[0]);
	assert_int_equal(scratch->in_use, 0);
	return st;
}

static void test_bad_input(void **state)
{
	static struct osr_pair pairs[MAX_HOSTS];
	static struct tree tree;
	struct asked asked = { .tree = &tree, .pairs = pairs };
	uint64_t seed = 17;
	uint32_t port0 = 0;

	grow(&tree, "4,4,4", "1,4,4", "1,1,1", 1, 0, 1);
	assert_true(test_starve(key_once, &asked) > 0);
	assert_int_equal(asked.key.n_flows, 0);
	/*
	 * A switch's own port is no host: left to the base routing. Two hosts of one leaf need no
	 * key.
	 */
	while (tree.fabric.term_port[port0])
		port0++;
	pairs[0] = (struct osr_pair){ tree.host[0], port0 };
	pairs[1] = (struct osr_pair){ tree.host[0], tree.host[1] };
	asked.n = 2;
	assert_true(test_starve(key_once, &asked) > 0);
	assert_int_equal(asked.key.n_left_out, 1);
	assert_int_equal(asked.key.n_local, 1);
	/* With a cable missing and without. */
	for (uint32_t missing = 2; missing--;) {
		asked.n = permutation(&tree, tree.n_hosts, pairs, &seed);
		assert_true(test_starve(key_once, &asked) > 20);
		osr_arena_free(&tree.arena);
		if (missing)
			grow(&tree, "4,4,4", "1,4,4", "1,1,1", 0, 0, 1);
	}
}

/*
 * ---- Colourings by their definition, on small graphs against all there are. With Koenig's theorem
 * there are as many classes as the largest degree, no more. On large graphs: test_contention_free.
 */

#define MAX_NODES 8
#define MAX_EDGES 16

static uint64_t draws;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(test_random(&draws) % n);
}

/* Colourings ----------------------------------------------------------------------------------- */

struct demand {
	struct osr_group group;
	struct osr_key_flow flow[MAX_EDGES];
	uint64_t may[2 * MAX_EDGES];
	uint32_t degree; /* the largest */
	bool is_plain;   /* no cable is missing, all weights are 1 */
};

static void draw(struct demand *demand, uint32_t n_nodes, uint32_t n_planes, uint32_t n)
{
	demand->group = (struct osr_group){ .flow = demand->flow,
					    .n = n,
					    .n_nodes = n_nodes,
					    .n_planes = n_planes,
					    .words = (n_planes + 63) / 64 };
}

/* Colours it. The largest load, from the classes alone; every edge has one that it may have. */
static uint32_t colour(struct demand *demand)
{
	static uint32_t cable[2][MAX_NODES][128];
	uint32_t size[128] = { 0 }, degree[2][MAX_NODES] = { { 0 } }, most = 0;
	struct osr_arena scratch = { 0 };

	assert_int_equal(osr_colour(&demand->group, &scratch), OSR_OK);
	assert_int_equal(scratch.in_use, 0);
	osr_arena_free(&scratch);
	memset(cable, 0, sizeof(cable));
	demand->degree = 0;
	for (uint32_t e = 0; e < demand->group.n; e++) {
		const struct osr_key_flow *flow = &demand->flow[e];

		assert_true(flow->q < demand->group.n_classes &&
			    demand->group.n_classes <= demand->group.n_planes);
		assert_true(osr_may(&demand->group, e, flow->q));
		for (unsigned down = 0; down < 2; down++) {
			uint32_t v = down ? flow->ad : flow->a,
				 load = cable[down][v][flow->q] += flow->weight;

			most = load > most ? load : most;
			demand->degree = ++degree[down][v] > demand->degree ? degree[down][v]
									    : demand->degree;
		}
		size[flow->q] += flow->weight;
	}
	assert_true(most >= demand->group.bound);
	if (demand->is_plain && demand->degree <= demand->group.n_planes)
		assert_int_equal(demand->group.n_classes, demand->degree);
	for (uint32_t q = 1; !demand->group.may && q < demand->group.n_classes; q++)
		assert_true(size[q] && size[q] <= size[q - 1]);
	return most;
}

/* Is there a colouring with at most this load? All of them are tried. */
static bool exists(const struct demand *demand, uint32_t load, uint32_t e, uint32_t up[][8],
		   uint32_t down[][8])
{
	if (e == demand->group.n)
		return true;
	for (uint32_t q = 0; q < demand->group.n_planes; q++) {
		uint32_t *u = &up[demand->flow[e].a][q], *v = &down[demand->flow[e].ad][q];
		uint32_t w = demand->flow[e].weight;
		bool found;

		if (!osr_may(&demand->group, e, q) || *u + w > load || *v + w > load)
			continue;
		*u += w;
		*v += w;
		found = exists(demand, load, e + 1, up, down);
		*u -= w;
		*v -= w;
		if (found)
			return true;
	}
	return false;
}

/* Small cases with missing cables, or weights: how often is the least load reached? */
static void small_cases(uint32_t max_weight, bool missing, unsigned *n, unsigned *n_least)
{
	static struct demand demand;

	for (unsigned round = 0; round < 3000; round++) {
		uint32_t nodes = 2 + below(4), n_planes = 2 + below(3), cut[8], load;
		uint32_t up[8][8] = { { 0 } }, down[8][8] = { { 0 } };

		draw(&demand, nodes, n_planes, 1 + below(9));
		demand.group.may = missing ? demand.may : NULL;
		demand.is_plain = !missing && max_weight == 1;
		for (uint32_t v = 0; v < nodes; v++)
			cut[v] = below(2) ? 0 : 1u << below(n_planes);
		for (uint32_t e = 0; e < demand.group.n; e++) {
			demand.flow[e] = (struct osr_key_flow){ .a = below(nodes),
								.ad = below(nodes),
								.weight = 1 + below(max_weight) };
			demand.may[e] = ((1u << n_planes) - 1) & ~cut[demand.flow[e].a] &
					~cut[demand.flow[e].ad];
			if (!demand.may[e])
				demand.may[e] = 1;
		}
		load = colour(&demand);
		*n_least += load == demand.group.bound || !exists(&demand, load - 1, 0, up, down);
		(*n)++;
	}
}

static void test_small_cases(void **state)
{
	unsigned n = 0, n_least = 0;

	draws = 3;
	small_cases(1, true, &n, &n_least);
	assert_true(n_least * 1000 >= n * 997);
	n = n_least = 0;
	small_cases(4, false, &n, &n_least);
	assert_true(n_least * 100 >= n * 95);
	n = n_least = 0;
	small_cases(3, true, &n, &n_least);
	assert_true(n_least * 100 >= n * 95);
	n = n_least = 0;
	small_cases(1, false, &n, &n_least);
	assert_int_equal(n_least, n);
}

TEST_PROGRAM(test_contention_free, test_near_the_bound, test_collectives, test_least_loaded_way,
	     test_second_application, test_ark_spreads, test_bad_input, test_small_cases)
