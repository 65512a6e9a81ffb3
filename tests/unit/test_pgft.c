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

static void make_net(const struct tree *t, bool mgmt, struct osr_net *net)
{
	const struct osr_topo_style style = { .mgmt = mgmt };
	struct osr_diag diag = { "" };

	if (topo_net(t->what, &style, net, &diag))
		fail_msg("%s", diag.text);
}

/* The net as a fabric with random GUIDs, LIDs and ports, fed in random order. */
static void scramble(struct osr_net *net, uint64_t seed, struct osr_arena *arena,
		     struct osr_fabric *f)
{
	struct osr_arena plain = { 0 };
	struct osr_diag diag = { "" };
	struct osr_fabric whole;
	struct faults faults;

	if (osr_net_fabric(net, 0, &plain, &whole, &diag))
		fail_msg("%s", diag.text);
	faults_new(&faults, &whole);
	faults.shuffle = seed + 1;
	faults_build(&faults, arena, f);
	faults_free(&faults);
	osr_arena_free(&plain);
}

/*
 * Every link lies where the digits of its ends say, every host where its index says; every place is
 * right about its switch.
 */
static void assert_digits(const struct osr_pgft *p)
{
	const struct osr_fabric *f = p->f;

	for (uint32_t s = 0; s < f->n_switches; s++) {
		const struct osr_pgft_tree *t;
		uint32_t l = p->sw_level[s];

		if (!l)
			continue;
		t = &p->tree[p->sw_tree[s]];
		assert_int_equal(t->place[l][p->sw_a[s] * t->w_product[l] + p->sw_b[s]], s);
		assert_int_equal(osr_pgft_n_up(p, s), l == t->h ? 0 : t->w[l + 1] * t->p[l + 1]);
		for (uint32_t q = 0; q < osr_pgft_n_up(p, s); q++) {
			uint32_t c = p->up[p->up_row[s] + q], u, b;

			if (c == OSR_NONE)
				continue;
			u = f->chan_dst[c];
			b = p->sw_b[s] + q % t->w[l + 1] * t->w_product[l];
			assert_int_equal(f->chan_src[c], s);
			assert_int_equal(p->sw_level[u], l + 1);
			assert_int_equal(
				t->place[l + 1][p->sw_a[s] / t->m[l + 1] * t->w_product[l + 1] + b],
				u);
		}
		for (uint32_t k = f->term_row[s]; k < f->term_row[s + 1]; k++)
			if (p->term_index[k] != OSR_NONE)
				assert_int_equal(p->term_index[k] / t->m[1], p->sw_a[s]);
	}
}

static void assert_sentence(const struct osr_pgft *p, const char *sentence)
{
	char buf[512];

	osr_pgft_describe(p, buf, sizeof(buf));
	assert_string_equal(buf, sentence);
}

static void assert_whole(const struct osr_pgft *p, const char *sentence)
{
	assert_sentence(p, sentence);
	assert_int_equal(p->n_order, p->tree[0].n_hosts);
	for (uint32_t k = 0; k < p->n_order; k++)
		assert_int_equal(p->term_index[p->order[k]], k);
}

/* Counts the cases in which the tree is still the tree it was. */
static unsigned n_recognised(double percent, unsigned first, unsigned n)
{
	unsigned n_same = 0;

	for (unsigned i = first; i < first + n; i++) {
		const struct tree *t = &trees[i % N_TREES];
		struct osr_arena arena = { 0 }, scratch = { 0 };
		struct osr_net net = { 0 }, broken;
		struct osr_diag diag = { "" };
		struct osr_fabric f;
		struct osr_pgft p;
		char buf[512];

		make_net(t, false, &net);
		degrade_net(&net, (struct osr_degrade){ .links_percent = percent, .seed = i },
			    &broken);
		scramble(&broken, i, &arena, &f);
		if (osr_pgft_find(&f, &options, &scratch, &p, &diag) == OSR_OK) {
			assert_digits(&p);
			osr_pgft_describe(&p, buf, sizeof(buf));
			if (!percent)
				assert_whole(&p, t->sentence);
			/* Up to and with the tuple. */
			n_same += !strncmp(buf, t->sentence, strcspn(t->sentence, ")") + 1);
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

/* 100 % of whole trees (with what seed and GUIDs ever), 99 % with 1 % of the links gone, 95 % with 5 %. */
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
		struct osr_fabric f;
		struct osr_pgft p;
		char want[256];

		make_net(&trees[i], true, &net);
		if (osr_net_fabric(&net, -1, &arena, &f, &diag) ||
		    osr_pgft_find(&f, &options, &arena, &p, &diag))
			fail_msg("%s: %s", trees[i].sentence, diag.text);
		snprintf(want, sizeof(want), "%s, %u service ports", trees[i].sentence,
			 f.n_switches);
		assert_sentence(&p, want);
		assert_digits(&p);
		osr_arena_free(&arena);
		osr_net_free(&net);
	}
}

/* 4 leaves with 4 hosts each under 2 spines: what every following fabric begins with. */
static void draft_tree(struct draft *d)
{
	draft_new(d);
	for (unsigned i = 0; i < 6; i++)
		draft_switch(d);
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned k = 0; k < 4; k++)
			draft_host(d, i);
		draft_link(d, i, 4);
		draft_link(d, i, 5);
	}
}

static void find(struct draft *d, const char *sentence)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct test_fabric t;
	struct osr_pgft p;

	draft_build(d, &t, "tree");
	if (osr_pgft_find(&t.f, &options, &scratch, &p, &diag)) {
		assert_string_equal(diag.text, sentence);
	} else {
		assert_sentence(&p, sentence);
		assert_digits(&p);
	}
	osr_arena_free(&scratch);
	test_fabric_free(&t);
}

static void test_odd_places(void **state)
{
	struct draft d;
	uint32_t s;

	draft_tree(&d);
	draft_host(&d, 4);
	draft_host(&d, 5);
	draft_host(&d, 5);
	find(&d, "fat tree of 2 levels, PGFT(2;4,4;1,2;1,1), 16 of 16 hosts, 3 service ports");

	/* A leaf without hosts, one with a single host, one with one host too many. */
	draft_tree(&d);
	for (unsigned i = 0; i < 2; i++) {
		s = draft_switch(&d);
		draft_link(&d, s, 4);
		draft_link(&d, s, 5);
	}
	draft_host(&d, s);
	draft_host(&d, 0);
	find(&d, "fat tree of 2 levels, PGFT(2;4,6;1,2;1,1), 18 of 24 hosts");

	/* A 3-ary 3-tree, and nobody on one of three sub-trees. */
	draft_new(&d);
	for (s = 0; s < 27; s++)
		draft_switch(&d);
	for (s = 0; s < 27; s++) {
		draft_link(&d, s / 3, 9 + s / 9 * 3 + s % 3);
		draft_link(&d, 9 + s / 3, 18 + s / 3 % 3 * 3 + s % 3);
	}
	for (s = 0; s < 18; s++)
		draft_host(&d, s / 3);
	find(&d, "fat tree of 3 levels, PGFT(3;3,3,3;1,3,3;1,1,1), 18 of 27 hosts");

	/* A switch that hangs on a leaf. */
	draft_tree(&d);
	s = draft_switch(&d);
	draft_link(&d, s, 1);
	draft_host(&d, s);
	find(&d, "fat tree of 2 levels, PGFT(2;4,4;1,2;1,1), 16 of 16 hosts, 1 switch outside");

	/* A third cable where others have one; a lone switch; a second tree. */
	draft_tree(&d);
	draft_link(&d, 0, 4);
	draft_switch(&d);
	s = draft_switch(&d);
	draft_host(&d, s);
	find(&d, "2 trees: fat tree of 2 levels, PGFT(2;4,4;1,2;1,1), 16 of 16 hosts, 1 spare "
		 "cable; fat tree of 1 level, PGFT(1;1;1;1), 1 of 1 "
		 "hosts");
}

static void test_refused(void **state)
{
	struct draft d;

	draft_new(&d);
	draft_switch(&d);
	find(&d, "not a fat tree: no CA or router on any of 1 switches");

	/* A ring between leaves. */
	draft_tree(&d);
	for (unsigned i = 0; i < 4; i++)
		draft_link(&d, i, (i + 1) % 4);
	find(&d, "not a fat tree: sw-0 port 7 and sw-1 port 7 are cabled to "
		 "each other, but both lie next to hosts (such cables: 4)");

	/* Two leaves by three cables, and nothing above them. */
	draft_new(&d);
	for (unsigned i = 0; i < 2; i++)
		draft_host(&d, draft_switch(&d));
	for (unsigned i = 0; i < 3; i++)
		draft_link(&d, 0, 1);
	find(&d, "not a fat tree: sw-0 port 2 and sw-1 port 2 are cabled to "
		 "each other, but both lie next to hosts (such cables: 3)");

	/* Two spines cabled to each other. */
	draft_tree(&d);
	draft_link(&d, 4, 5);
	find(&d, "not a fat tree: sw-4 port 5 and sw-5 port 5 are cabled to "
		 "each other, but both lie equally far from the hosts (such cables: 1)");

	/* Leaves that see one spine each, but the first two both. */
	draft_new(&d);
	for (unsigned i = 0; i < 8; i++)
		draft_switch(&d);
	for (unsigned i = 0; i < 4; i++) {
		draft_host(&d, i);
		draft_host(&d, i);
		draft_link(&d, i, 4 + i);
		draft_link(&d, i, 4 + (i + 1) % 4);
	}
	find(&d,
	     "not a fat tree: level-1 switch sw-0 has 2 up-links, expected 4; of all 16 up-links "
	     "that make the tree whole 8 are missing, more than 30 %");
}

TEST_PROGRAM(test_broken, test_service_ports, test_odd_places, test_refused)
