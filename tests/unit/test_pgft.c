/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Fat trees: recognised whole, scrambled and broken; refused with the right sentence otherwise.
 *
 * OSR_CASES=1000 OSR_SEED=500000: so many broken ones of each kind, from that seed on.
 */
#include "test.h"

#include <osmroutes/pgft.h>
#include <osmroutes/prng.h>

#include "fabrics.h"
#include "faults.h"
#include "topos.h"

static const struct osr_pgft_options options = { .max_missing = 30 };

struct tree {
	const char *what, *sentence;
};

static const struct tree trees[] = {
	{ "tree m=12,12 w=1,6 p=1,2",
	  "fat tree of 2 levels, PGFT(2;12,12;1,6;1,2), 144 of 144 hosts" },
	{ "tree m=18,18 w=1,9 p=1,2",
	  "fat tree of 2 levels, PGFT(2;18,18;1,9;1,2), 324 of 324 hosts" },
	{ "tree m=4,4 w=1,4", "fat tree of 2 levels, PGFT(2;4,4;1,4;1,1), 16 of 16 hosts" },
	{ "tree m=2,2,2,2 w=1,2,2,2",
	  "fat tree of 4 levels, PGFT(4;2,2,2,2;1,2,2,2;1,1,1,1), 16 of 16 hosts" },
	{ "tree m=6,6,12 w=1,6,3 p=1,1,2",
	  "fat tree of 3 levels, PGFT(3;6,6,12;1,6,3;1,1,2), 432 of 432 hosts" },
	{ "tree m=10,10,10 w=1,10,10",
	  "fat tree of 3 levels, PGFT(3;10,10,10;1,10,10;1,1,1), 1000 of 1000 hosts" },
	{ "tree m=18,18,6 w=1,18,6 p=1,1,3",
	  "fat tree of 3 levels, PGFT(3;18,18,6;1,18,6;1,1,3), 1944 of 1944 hosts" },
	{ "tree m=3,5,2,4 w=1,2,3,2 p=1,2,1,3",
	  "fat tree of 4 levels, PGFT(4;3,5,2,4;1,2,3,2;1,2,1,3), 120 of 120 hosts" },
	{ "tree m=20,8 w=1,3 p=1,4",
	  "fat tree of 2 levels, PGFT(2;20,8;1,3;1,4), 160 of 160 hosts" },
};

#define N_TREES (sizeof(trees) / sizeof(trees[0]))

static void make_net(const struct tree *tree, bool mgmt, struct osr_net *net)
{
	const struct osr_topo_style style = { .mgmt = mgmt };
	struct osr_diag diag = { "" };

	if (topo_net(tree->what, &style, net, &diag))
		fail_msg("%s", diag.text);
}

/* The net as a fabric with random GUIDs, LIDs and ports, fed in random order. */
static void scramble(struct osr_net *net, uint64_t seed, struct osr_arena *arena,
		     struct osr_fabric *fabric)
{
	struct osr_arena plain = { 0 };
	struct osr_diag diag = { "" };
	struct osr_fabric whole;
	struct faults faults;

	if (osr_net_fabric(net, 0, &plain, &whole, &diag))
		fail_msg("%s", diag.text);
	faults_new(&faults, &whole);
	faults.shuffle = seed + 1;
	faults_build(&faults, arena, fabric);
	faults_free(&faults);
	osr_arena_free(&plain);
}

/*
 * Every link lies where the digits of its ends say, every host where its index says; every place is
 * right about its switch.
 */
static void assert_digits(const struct osr_pgft *pgft)
{
	const struct osr_fabric *fabric = pgft->fabric;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		const struct osr_pgft_tree *tree;
		uint32_t l = pgft->sw_level[s];

		if (!l)
			continue;
		tree = &pgft->tree[pgft->sw_tree[s]];
		assert_int_equal(tree->place[l][pgft->sw_a[s] * tree->w_product[l] + pgft->sw_b[s]],
				 s);
		assert_int_equal(osr_pgft_n_up(pgft, s),
				 l == tree->h ? 0 : tree->w[l + 1] * tree->p[l + 1]);
		for (uint32_t q = 0; q < osr_pgft_n_up(pgft, s); q++) {
			uint32_t c = pgft->up[pgft->up_row[s] + q], u, b;

			if (c == OSR_NONE)
				continue;
			u = fabric->chan_dst[c];
			b = pgft->sw_b[s] + q % tree->w[l + 1] * tree->w_product[l];
			assert_int_equal(fabric->chan_src[c], s);
			assert_int_equal(pgft->sw_level[u], l + 1);
			assert_int_equal(tree->place[l + 1][pgft->sw_a[s] / tree->m[l + 1] *
								    tree->w_product[l + 1] +
							    b],
					 u);
		}
		for (uint32_t k = fabric->term_row[s]; k < fabric->term_row[s + 1]; k++)
			if (pgft->term_index[k] != OSR_NONE)
				assert_int_equal(pgft->term_index[k] / tree->m[1], pgft->sw_a[s]);
	}
}

static void assert_sentence(const struct osr_pgft *pgft, const char *sentence)
{
	char buf[512];

	osr_pgft_describe(pgft, buf, sizeof(buf));
	assert_string_equal(buf, sentence);
}

static void assert_whole(const struct osr_pgft *pgft, const char *sentence)
{
	assert_sentence(pgft, sentence);
	assert_int_equal(pgft->n_order, pgft->tree[0].n_hosts);
	for (uint32_t k = 0; k < pgft->n_order; k++)
		assert_int_equal(pgft->term_index[pgft->order[k]], k);
}

/* Counts the cases in which the tree is still the tree it was. */
static unsigned n_recognised(double percent, unsigned first, unsigned n)
{
	unsigned n_same = 0;

	for (unsigned i = first; i < first + n; i++) {
		const struct tree *tree = &trees[i % N_TREES];
		struct osr_arena arena = { 0 }, scratch = { 0 };
		struct osr_net net = { 0 }, broken;
		struct osr_diag diag = { "" };
		struct osr_fabric fabric;
		struct osr_pgft pgft;
		char buf[512];

		make_net(tree, false, &net);
		degrade_net(&net, (struct osr_degrade){ .links_percent = percent, .seed = i },
			    &broken);
		scramble(&broken, i, &arena, &fabric);
		if (osr_pgft_find(&fabric, &options, &scratch, &pgft, &diag) == OSR_OK) {
			assert_digits(&pgft);
			osr_pgft_describe(&pgft, buf, sizeof(buf));
			if (!percent)
				assert_whole(&pgft, tree->sentence);
			/* Up to and with the tuple. */
			n_same += !strncmp(buf, tree->sentence, strcspn(tree->sentence, ")") + 1);
		} else {
			assert_true(diag.text[0]);
		}
		osr_arena_free(&arena);
		osr_arena_free(&scratch);
		osr_net_free(&net);
		osr_net_free(&broken);
	}
	return n_same;
}

/*
 * 100 % of whole trees (with what seed and GUIDs ever), 99 % with 1 % of the links gone, 95 % with
 * 5 %.
 */
static void test_broken(void **state)
{
	static const double percent[] = { 0, 0.5, 1, 2, 5 };
	unsigned first = test_number("OSR_SEED", 0);
	unsigned n = test_number("OSR_CASES", 180);

	for (unsigned i = 0; i < 5; i++) {
		unsigned same = n_recognised(percent[i], first, n);

		print_message("%g %% of the links gone, %u cases: %u recognised\n", percent[i], n,
			      same);
		assert_true(percent[i] == 0   ? same == n
			    : percent[i] <= 1 ? 100 * same >= 99 * n
					      : 100 * same >= 95 * n);
	}
}

/* A CA on every switch, spines included, is no host and makes no leaf. */
static void test_service_ports(void **state)
{
	for (unsigned i = 0; i < N_TREES; i++) {
		struct osr_arena arena = { 0 };
		struct osr_net net = { 0 };
		struct osr_diag diag = { "" };
		struct osr_fabric fabric;
		struct osr_pgft pgft;
		char want[256];

		make_net(&trees[i], true, &net);
		if (osr_net_fabric(&net, -1, &arena, &fabric, &diag) ||
		    osr_pgft_find(&fabric, &options, &arena, &pgft, &diag))
			fail_msg("%s: %s", trees[i].sentence, diag.text);
		snprintf(want, sizeof(want), "%s, %u service ports", trees[i].sentence,
			 fabric.n_switches);
		assert_sentence(&pgft, want);
		assert_digits(&pgft);
		osr_arena_free(&arena);
		osr_net_free(&net);
	}
}

/* 4 leaves with 4 hosts each under 2 spines: what every following fabric begins with. */
static void draft_tree(struct draft *draft)
{
	draft_new(draft);
	for (unsigned i = 0; i < 6; i++)
		draft_switch(draft);
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned k = 0; k < 4; k++)
			draft_host(draft, i);
		draft_link(draft, i, 4);
		draft_link(draft, i, 5);
	}
}

static void find(struct draft *draft, const char *sentence)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct test_fabric test;
	struct osr_pgft pgft;

	draft_build(draft, &test, "tree");
	if (osr_pgft_find(&test.fabric, &options, &scratch, &pgft, &diag)) {
		assert_string_equal(diag.text, sentence);
	} else {
		assert_sentence(&pgft, sentence);
		assert_digits(&pgft);
	}
	osr_arena_free(&scratch);
	test_fabric_free(&test);
}

static void test_odd_places(void **state)
{
	struct draft draft;
	uint32_t s;

	draft_tree(&draft);
	draft_host(&draft, 4);
	draft_host(&draft, 5);
	draft_host(&draft, 5);
	find(&draft, "fat tree of 2 levels, PGFT(2;4,4;1,2;1,1), 16 of 16 hosts, 3 service ports");

	/* A leaf without hosts, one with a single host, one with one host too many. */
	draft_tree(&draft);
	for (unsigned i = 0; i < 2; i++) {
		s = draft_switch(&draft);
		draft_link(&draft, s, 4);
		draft_link(&draft, s, 5);
	}
	draft_host(&draft, s);
	draft_host(&draft, 0);
	find(&draft, "fat tree of 2 levels, PGFT(2;4,6;1,2;1,1), 18 of 24 hosts");

	/* A 3-ary 3-tree, and nobody on one of three sub-trees. */
	draft_new(&draft);
	for (s = 0; s < 27; s++)
		draft_switch(&draft);
	for (s = 0; s < 27; s++) {
		draft_link(&draft, s / 3, 9 + s / 9 * 3 + s % 3);
		draft_link(&draft, 9 + s / 3, 18 + s / 3 % 3 * 3 + s % 3);
	}
	for (s = 0; s < 18; s++)
		draft_host(&draft, s / 3);
	find(&draft, "fat tree of 3 levels, PGFT(3;3,3,3;1,3,3;1,1,1), 18 of 27 hosts");

	/* A switch that hangs on a leaf. */
	draft_tree(&draft);
	s = draft_switch(&draft);
	draft_link(&draft, s, 1);
	draft_host(&draft, s);
	find(&draft, "fat tree of 2 levels, PGFT(2;4,4;1,2;1,1), 16 of 16 hosts, 1 switch outside");

	/* A third cable where others have one; a lone switch; a second tree. */
	draft_tree(&draft);
	draft_link(&draft, 0, 4);
	draft_switch(&draft);
	s = draft_switch(&draft);
	draft_host(&draft, s);
	find(&draft, "2 trees: fat tree of 2 levels, PGFT(2;4,4;1,2;1,1), 16 of 16 hosts, 1 spare "
		     "cable; fat tree of 1 level, PGFT(1;1;1;1), 1 of 1 "
		     "hosts");
}

static void test_refused(void **state)
{
	struct draft draft;

	draft_new(&draft);
	draft_switch(&draft);
	find(&draft, "not a fat tree: no CA or router on any of 1 switches");

	/* A ring between leaves. */
	draft_tree(&draft);
	for (unsigned i = 0; i < 4; i++)
		draft_link(&draft, i, (i + 1) % 4);
	find(&draft, "not a fat tree: sw-0 port 7 and sw-1 port 7 are cabled to "
		     "each other, but both lie next to hosts (such cables: 4)");

	/* Two leaves by three cables, and nothing above them. */
	draft_new(&draft);
	for (unsigned i = 0; i < 2; i++)
		draft_host(&draft, draft_switch(&draft));
	for (unsigned i = 0; i < 3; i++)
		draft_link(&draft, 0, 1);
	find(&draft, "not a fat tree: sw-0 port 2 and sw-1 port 2 are cabled to "
		     "each other, but both lie next to hosts (such cables: 3)");

	/* Two spines cabled to each other. */
	draft_tree(&draft);
	draft_link(&draft, 4, 5);
	find(&draft, "not a fat tree: sw-4 port 5 and sw-5 port 5 are cabled to "
		     "each other, but both lie equally far from the hosts (such cables: 1)");

	/* Leaves that see one spine each, but the first two both. */
	draft_new(&draft);
	for (unsigned i = 0; i < 8; i++)
		draft_switch(&draft);
	for (unsigned i = 0; i < 4; i++) {
		draft_host(&draft, i);
		draft_host(&draft, i);
		draft_link(&draft, i, 4 + i);
		draft_link(&draft, i, 4 + (i + 1) % 4);
	}
	find(&draft,
	     "not a fat tree: level-1 switch sw-0 has 2 up-links, expected 4; of all 16 up-links "
	     "that make the tree whole 8 are missing, more than 30 %");
}

TEST_PROGRAM(test_broken, test_service_ports, test_odd_places, test_refused)
