/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dmodk against the paper: theorems 1, 2 and 3 and the least EFI on real life fat trees, distinct
 * spines for the LIDs of a port; and broken trees, which have to pass the checker whatever is gone.
 *
 * OSR_LONG=1: theorems on every tree of at most 4,096 hosts that 8- to 64-port switches build, and
 * ten times as many broken ones, all deaths of a switch. OSR_ONLY=test_deaths: one test alone;
 * OSR_HOSTS=N: theorems on trees of at most so many; OSR_SEED=N: broken trees from that number on.
 */
#include "test.h"

#include <osmroutes/check.h>
#include <osmroutes/pgft.h>
#include <osmroutes/prng.h>
#include <osmroutes/sweep.h>

#include "sweeps.h"
#include "topos.h"

struct routed {
	struct osr_arena arena, scratch, result;
	struct osr_fabric fabric;
	struct osr_pgft pgft;
	struct osr_routing routing;
	struct osr_verdict verdict;
};

static void make_net(const char *tree, bool mgmt, struct osr_net *net)
{
	const struct osr_topo_style style = { .mgmt = mgmt };
	char what[256];
	struct osr_diag diag = { "" };

	snprintf(what, sizeof(what), "tree %s", tree);
	if (topo_net(what, &style, net, &diag))
		fail_msg("%s", diag.text);
}

/* `previous` may be NULL. */
static void route_after(struct osr_net *net, int lmc, const struct osr_result *previous,
			const char *options, struct routed *routed)
{
	const struct osr_request req = { .max_vls = 1, .multicast = true };
	struct osr_pgft_options opt = { .max_missing = 99 };
	struct osr_diag diag = { "" };
	struct osr_result now;
	struct osr_sweep sweep;

	*routed = (struct routed){ 0 };
	if (osr_net_fabric(net, lmc, &routed->arena, &routed->fabric, &diag) ||
	    osr_pgft_find(&routed->fabric, &opt, &routed->scratch, &routed->pgft, &diag))
		fail_msg("%s", diag.text);
	now.fabric = routed->fabric;
	if (test_route("dmodk", options, req, previous, &routed->result, &now, &sweep, &diag))
		fail_msg("%s", diag.text);
	routed->routing = now.routing;
	routed->verdict = sweep.verdict;
	assert_int_equal(routed->verdict.proven, routed->routing.claims);
	/* The verdict counts all LIDs, the engine the first ones. */
	assert_true(lmc > 0 || routed->verdict.n_longer == routed->routing.n_longer);
	assert_true(routed->routing.claims & OSR_CLAIM_ANY_SL);
	assert_true(routed->routing.claims & OSR_CLAIM_MULTICAST);
}

static void route_net(struct osr_net *net, int lmc, struct routed *routed)
{
	route_after(net, lmc, NULL, "max_missing=99", routed);
}

static void drop(struct routed *routed)
{
	osr_arena_free(&routed->arena);
	osr_arena_free(&routed->scratch);
	osr_arena_free(&routed->result);
}

static uint32_t dest_of(const struct routed *routed, uint32_t rank)
{
	return routed->fabric.lid_dest[routed->fabric.term_lid[routed->pgft.order[rank]]];
}

/* Adds the route from the host of one rank to another to load[]; returns the largest on its way. */
static uint32_t add_route(const struct routed *routed, uint32_t from, uint32_t to, uint32_t *load)
{
	uint32_t d = dest_of(routed, to), s = routed->fabric.term_switch[routed->pgft.order[from]],
		 most = 0;

	while (s != routed->fabric.dest_switch[d]) {
		uint32_t c = osr_port_channel(&routed->fabric, s, osr_lft(&routed->routing, s, d));

		assert_true(c != OSR_NONE);
		if (++load[c] > most)
			most = load[c];
		s = routed->fabric.chan_dst[c];
	}
	return most;
}

/* Theorem 1: in every stage of the shift no link has more than one flow. */
static void assert_shifts(const struct routed *routed)
{
	uint32_t n = routed->pgft.n_order,
		 *load = calloc(routed->fabric.n_channels + 1, sizeof(*load));

	for (uint32_t stage = 1; stage < n; stage++) {
		memset(load, 0, routed->fabric.n_channels * sizeof(*load));
		for (uint32_t i = 0; i < n; i++)
			assert_true(add_route(routed, i, (i + stage) % n, load) <= 1);
	}
	free(load);
}

/*
 * One stage of section VI: from rank i to the one that differs in the digit of its level, if there
 * is one.
 */
static void assert_stage(const struct routed *routed, const uint32_t *to, bool back, uint32_t *load)
{
	memset(load, 0, routed->fabric.n_channels * sizeof(*load));
	for (uint32_t i = 0; i < routed->pgft.n_order; i++)
		if (to[i] != i && to[i] < routed->pgft.n_order)
			assert_true(add_route(routed, back ? to[i] : i, back ? i : to[i], load) <=
				    1);
}

/*
 * Theorem 3: in no stage of the doubling that follows the tree has a link more than one flow. With
 * 2^L the largest power of two up to m_l, equations 3 to 7: ranks with a digit from 2^L on send to
 * the one 2^L below (and at last back), the others exchange with digit xor 2^s for s < L.
 */
static void assert_doubling(const struct routed *routed, const char *m)
{
	uint32_t n = routed->pgft.n_order, below = 1;
	uint32_t *load = malloc((routed->fabric.n_channels + 1) * sizeof(*load)),
		 *to = malloc(n * sizeof(*to));

	for (const char *at = m; *at; at += strspn(at, ",")) {
		uint32_t digits = (uint32_t)strtoul(at, (char **)&at, 10), power = 1;

		while (2 * power <= digits)
			power *= 2;
		for (uint32_t step = 1; step < power; step *= 2) {
			for (uint32_t i = 0; i < n; i++) {
				uint32_t digit = i / below % digits;

				to[i] = digit < power ? i + ((digit ^ step) - digit) * below : i;
			}
			assert_stage(routed, to, false, load);
		}
		for (uint32_t i = 0; i < n; i++)
			to[i] = i / below % digits < power ? i : i - power * below;
		assert_stage(routed, to, false, load);
		assert_stage(routed, to, true, load);
		below *= digits;
	}
	free(to);
	free(load);
}

/* Theorem 2: downwards each link leads to at most one host. */
static void assert_one_dest_down(const struct routed *routed)
{
	uint32_t n = routed->pgft.n_order,
		 *only = malloc((routed->fabric.n_channels + 1) * sizeof(*only));

	memset(only, 0xff, routed->fabric.n_channels * sizeof(*only));
	for (uint32_t s = 0; s < routed->fabric.n_switches; s++)
		for (uint32_t i = 0; i < n; i++) {
			uint32_t d = dest_of(routed, i), c, t;

			if (s == routed->fabric.dest_switch[d] || !routed->fabric.sw_sources[s])
				continue;
			for (t = s; t != routed->fabric.dest_switch[d];
			     t = routed->fabric.chan_dst[c]) {
				c = osr_port_channel(&routed->fabric, t,
						     osr_lft(&routed->routing, t, d));
				if (routed->pgft.sw_level[routed->fabric.chan_dst[c]] >
				    routed->pgft.sw_level[t])
					continue;
				assert_true(only[c] == OSR_NONE || only[c] == d);
				only[c] = d;
			}
		}
	free(only);
}

static void check_rlft(const char *m, const char *w, const char *p)
{
	struct osr_net net = { 0 };
	struct routed routed;
	char tree[256];

	snprintf(tree, sizeof(tree), "m=%s w=%s p=%s", m, w, p);
	make_net(tree, false, &net);
	route_net(&net, -1, &routed);
	assert_int_equal(routed.routing.n_longer, 0);
	/* As many links up as hosts on a leaf: the least of any routing. */
	assert_int_equal(routed.verdict.efi, routed.pgft.n_order - routed.pgft.tree[0].m[1]);
	assert_shifts(&routed);
	assert_one_dest_down(&routed);
	assert_doubling(&routed, m);
	drop(&routed);
	osr_net_free(&net);
}

struct rlft {
	uint32_t k, most, n;
	char m[64], w[64], p[64];
};

/*
 * m_l p_l = w_(l+1) p_(l+1) = k below the top and m_h p_h = 2k on it: every choice of p_2 .. p_h.
 * `hosts` is m_1 .. m_(l-1); level l may be the top or not.
 */
static void add_level(const struct rlft *x, uint32_t hosts, struct rlft *all)
{
	for (uint32_t p = 1; p <= x->k; p++) {
		uint32_t n = 2 * x->k / p;
		struct rlft y = *x;

		if (x->k % p)
			continue;
		sprintf(y.w + strlen(y.w), ",%u", x->k / p);
		sprintf(y.p + strlen(y.p), ",%u", p);
		if (hosts * n <= x->most) {
			struct rlft top = y;

			sprintf(top.m + strlen(top.m), ",%u", n);
			check_rlft(top.m, top.w, top.p);
			all->n++;
		}
		/* With one child each, more levels would never end. */
		if (p == x->k || hosts * (x->k / p) * 2 > x->most)
			continue;
		sprintf(y.m + strlen(y.m), ",%u", x->k / p);
		add_level(&y, hosts * (x->k / p), all);
	}
}

static void test_theorems(void **state)
{
	const char *most = getenv("OSR_HOSTS");
	struct rlft all = { .most = most ? (uint32_t)atoi(most) : getenv("OSR_LONG") ? 4096 : 200 };

	for (uint32_t k = 4; k <= 32; k++) {
		struct rlft rlft = { .k = k, .most = all.most };

		sprintf(rlft.m, "%u", k);
		strcpy(rlft.w, "1");
		strcpy(rlft.p, "1");
		add_level(&rlft, k, &all);
	}
	print_message("%u real life fat trees\n", all.n);
	assert_true(all.n > 50);
}

/*
 * Equation (1) deals the hosts behind a switch over the parallel cables to it, from every switch
 * above, whether or not a host's own way passes there (port 0 of any switch sends, too).
 */
static void test_parallel_cables(void **state)
{
	static const char *const trees[] = { "m=6,8 w=1,3 p=1,2", "m=6,6,12 w=1,6,3 p=1,1,2",
					     "m=12,12 w=1,6 p=1,2", "m=6,6,4 w=1,2,6 p=1,3,1" };

	for (uint32_t k = 0; k < 4; k++) {
		struct osr_net net = { 0 };
		struct routed routed;
		uint32_t *hosts, n_parallel = 0;

		make_net(trees[k], k % 2, &net);
		route_net(&net, -1, &routed);
		hosts = calloc(routed.fabric.n_channels, sizeof(*hosts));
		for (uint32_t v = 0; v < routed.fabric.n_switches; v++)
			for (uint32_t i = 0; i < routed.pgft.n_order; i++) {
				uint32_t c = osr_port_channel(
					&routed.fabric, v,
					osr_lft(&routed.routing, v, dest_of(&routed, i)));

				if (c != OSR_NONE)
					hosts[c]++;
			}
		for (uint32_t c = 0; c < routed.fabric.n_channels; c++)
			for (uint32_t e = 0; e < routed.fabric.n_channels; e++) {
				if (e == c ||
				    routed.fabric.chan_src[c] != routed.fabric.chan_src[e] ||
				    routed.fabric.chan_dst[c] != routed.fabric.chan_dst[e])
					continue;
				assert_int_equal(hosts[c], hosts[e]);
				n_parallel++;
			}
		assert_true(n_parallel > 0);
		free(hosts);
		drop(&routed);
		osr_net_free(&net);
	}
}

static void break_tree(uint32_t i)
{
	static const char *const trees[] = { "m=6,8 w=1,3 p=1,2",
					     "m=4,4 w=1,4",
					     "m=2,2,2,2 w=1,2,2,2",
					     "m=4,4,4 w=1,4,4",
					     "m=3,5,2,4 w=1,2,3,2 p=1,2,1,3",
					     "m=2,3,2 w=1,1,2 p=1,2,1",
					     "m=4,6 w=1,1 p=1,3",
					     "m=6,6,12 w=1,6,3 p=1,1,2" };
	struct osr_degrade how = { .links_percent = i / 8 % 7 * 3,
				   .switches_percent = i / 56 % 4 * 4,
				   .hosts_too = i % 5 == 0,
				   .seed = i };
	struct osr_net net = { 0 }, broken;
	struct osr_result before;
	struct routed x, y, z;

	make_net(trees[i % 8], i % 3 == 0, &net);
	degrade_net(&net, how, &broken);
	route_net(&broken, i % 11 == 0 ? 1 : -1, &x);
	/* With the memory of the whole one, and the whole one with the memory of the broken one. */
	route_net(&net, -1, &y);
	before = (struct osr_result){ .fabric = y.fabric, .routing = y.routing };
	route_after(&broken, i % 11 == 0 ? 1 : -1, &before, "max_missing=99", &z);
	before = (struct osr_result){ .fabric = x.fabric, .routing = x.routing };
	drop(&y);
	route_after(&net, -1, &before, "max_missing=99", &y);
	drop(&x);
	drop(&y);
	drop(&z);
	osr_net_free(&net);
	osr_net_free(&broken);
}

static void test_broken(void **state)
{
	/* Two of each tree and each share of dead links and switches. */
	uint32_t n = getenv("OSR_LONG") ? 10000 : 448;
	uint32_t first = getenv("OSR_SEED") ? (uint32_t)atoi(getenv("OSR_SEED")) : 0;

	for (uint32_t i = first; i < first + n; i++)
		break_tree(i);
}

/* Mean over the stages of the largest load, against hosts / live up-links of the worst leaf. */
static void test_faults(void **state)
{
	unsigned n_seeds = getenv("OSR_LONG") ? 100 : 4;
	double sum = 0, bounds = 0;

	for (unsigned seed = 1; seed <= n_seeds; seed++) {
		struct osr_net net = { 0 }, broken;
		struct osr_prng prng = { .state = seed };
		uint32_t n, bound = 1, *load;
		struct routed routed;

		make_net("m=18,18,6 w=1,18,6 p=1,1,3", false, &net);
		degrade_net(&net, (struct osr_degrade){ .links_percent = 1, .seed = seed },
			    &broken);
		route_net(&broken, -1, &routed);
		load = calloc(routed.fabric.n_channels, sizeof(*load));
		n = routed.pgft.n_order;
		for (uint32_t s = 0; s < routed.fabric.n_switches; s++) {
			uint32_t up = routed.fabric.chan_row[s + 1] - routed.fabric.chan_row[s];

			if (routed.pgft.sw_hosts[s] &&
			    (routed.pgft.sw_hosts[s] + up - 1) / up > bound)
				bound = (routed.pgft.sw_hosts[s] + up - 1) / up;
		}
		bounds += bound;
		for (unsigned k = 0; k < 100; k++) {
			uint32_t stage = 1 + osr_prng_below(&prng, n - 1), most = 0;

			memset(load, 0, routed.fabric.n_channels * sizeof(*load));
			for (uint32_t i = 0; i < n; i++) {
				uint32_t here = add_route(&routed, i, (i + stage) % n, load);

				most = here > most ? here : most;
			}
			sum += most / 100.0;
		}
		free(load);
		drop(&routed);
		osr_net_free(&net);
		osr_net_free(&broken);
	}
	print_message("mean of the largest load %.3f, bound %.3f\n", sum / n_seeds,
		      bounds / n_seeds);
	assert_true(sum <= 1.1 * bounds);
}

struct deaths {
	uint64_t entries, with; /* changed, sums */
	uint64_t over; /* entries that led to the dead switch, or for port 0 beside the dead host */
};

/* Entries for others that lead to switch s. */
static uint64_t n_over(const struct routed *routed, uint32_t s)
{
	uint64_t n = 0;

	for (uint32_t c = 0; s != OSR_NONE && c < routed->fabric.n_channels; c++)
		for (uint32_t d = 0; routed->fabric.chan_dst[c] == s && d < routed->fabric.n_dests;
		     d++)
			n += routed->fabric.dest_switch[d] != s &&
			     osr_lft(&routed->routing, routed->fabric.chan_src[c], d) ==
				     routed->fabric.chan_port[c];
	return n;
}

/* Takes one node out and puts it back. What the tables remember has to bring all entries back. */
static void kill_node(const struct osr_net *whole, const struct routed *routed, uint32_t node,
		      struct deaths *sum)
{
	bool *gone = calloc(whole->n_nodes, sizeof(*gone)), *cut = calloc(whole->n_ports, 1);
	struct osr_result before = { .fabric = routed->fabric, .routing = routed->routing }, middle;
	struct osr_diag diag = { "" };
	struct routed with, back;
	struct osr_net broken = { 0 };
	uint32_t s = osr_fabric_switch_by_guid(&routed->fabric, whole->nodes[node].guid);
	uint64_t n;

	gone[node] = true;
	assert_int_equal(osr_topo_remove(whole, gone, cut, &broken, &diag), OSR_OK);
	route_after(&broken, -1, &before, "", &with);
	sum->with += osr_routing_changed(&before, &with.fabric, &with.routing, &n);
	sum->entries += n;
	sum->over += s == OSR_NONE ? routed->fabric.n_switches : n_over(routed, s);
	middle = (struct osr_result){ .fabric = with.fabric, .routing = with.routing };
	route_after((struct osr_net *)whole, -1, &middle, "", &back);
	assert_int_equal(osr_routing_changed(&before, &back.fabric, &back.routing, &n), 0);
	drop(&with);
	drop(&back);
	osr_net_free(&broken);
	free(gone);
	free(cut);
}

/*
 * A switch that replaces another by the same cables has its GUID alone anew: nobody else's entries
 * change, twice over.
 */
static void replace_switch(struct osr_net *whole, const struct routed *x, uint32_t node)
{
	const uint64_t guid = whole->nodes[node].guid;
	struct osr_result before = { .fabric = x->fabric, .routing = x->routing };
	struct routed y[2];

	for (unsigned again = 0; again < 2; again++) {
		uint64_t n;

		whole->nodes[node].guid = again ? 1 : UINT64_MAX;
		route_after(whole, -1, &before, "", &y[again]);
		/* Its own entries count as new. */
		assert_int_equal(
			osr_routing_changed(&before, &y[again].fabric, &y[again].routing, &n),
			x->fabric.n_dests);
		before = (struct osr_result){ .fabric = y[again].fabric,
					      .routing = y[again].routing };
	}
	whole->nodes[node].guid = guid;
	drop(&y[0]);
	drop(&y[1]);
}

/*
 * Digits stay what they were, whichever switch or host dies and returns, whichever switch is
 * replaced.
 */
static void test_deaths(void **state)
{
	static const char *const shapes[] = { "m=6,6,4 w=1,6,2 p=1,1,3", "m=6,8 w=1,3 p=1,2",
					      "m=6,8 w=1,2 p=1,3", "m=4,4,4 w=1,2,2",
					      "m=18,18,6 w=1,18,6 p=1,1,3" };

	for (unsigned i = 0; i < 5; i++) {
		struct deaths upper = { 0 }, leaves = { 0 }, hosts = { 0 };
		uint32_t step = i < 4 || getenv("OSR_LONG") ? 1 : 40;
		struct osr_net whole = { 0 };
		struct routed routed;

		make_net(shapes[i], false, &whole);
		route_net(&whole, 0, &routed); /* LIDs stay from here on */
		for (uint32_t node = 0; node < whole.n_nodes; node += step) {
			uint32_t s =
				osr_fabric_switch_by_guid(&routed.fabric, whole.nodes[node].guid);

			if (s == OSR_NONE && node % (i < 4 ? 7 : 40))
				continue;
			kill_node(&whole, &routed, node,
				  s == OSR_NONE                  ? &hosts
				  : routed.pgft.sw_level[s] == 1 ? &leaves
								 : &upper);
			if (s != OSR_NONE && i < 4)
				replace_switch(&whole, &routed, node);
		}
		/* What went over the dead one has to change; little else does. */
		assert_true(upper.with <= 3 * upper.over);
		assert_true(leaves.with * 100 <= leaves.entries);
		/* Port 0 of a leaf shares the tree of one of its hosts. */
		assert_true(hosts.with <= hosts.over);
		drop(&routed);
		osr_net_free(&whole);
	}
}

TEST_PROGRAM(test_theorems, test_parallel_cables, test_broken, test_faults, test_deaths)
