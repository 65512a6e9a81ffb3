/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Entries laid over tables: nothing but they changes, and the certificate proves both together, or
 * there is none. The judges are osr_check() and the brute force of tables.c.
 */
#include "test.h"

#include "keys/overlay.h"

#include "fabrics.h"
#include "tables.h"
#include "topos.h"

#define MAX_ENTRIES 4096

struct set {
	struct osr_fabric f;
	struct osr_arena tables, scratch, result;
	struct osr_routing base, out;
	struct osr_diag diag;
};

static enum osr_status apply(struct set *x, const struct osr_overlay_entry *e, uint32_t n)
{
	enum osr_status st;

	x->diag.text[0] = 0;
	st = osr_overlay_apply(&x->f, &x->base, e, n, &x->scratch, &x->result, &x->out, &x->diag);
	assert_true(!st == !x->diag.text[0]);
	assert_int_equal(x->scratch.in_use, 0);
	return st;
}

static void drop(struct set *x)
{
	osr_arena_free(&x->tables);
	osr_arena_free(&x->scratch);
	osr_arena_free(&x->result);
}

static void draw(struct set *x, const char *what, int lmc, enum table_kind kind)
{
	*x = (struct set){ .diag = { "" } };
	topo_fabric(what, NULL, lmc, &x->tables, &x->f);
	table_make(kind, &x->f, &x->tables, 1, &x->base);
}

static bool is_keyed(const struct osr_fabric *f, uint32_t d)
{
	uint32_t t = f->dest_term[d];

	return f->term_role[t] == OSR_ROLE_CA && f->dest_lid[d] != f->term_lid[t];
}

/* Another spine for some LIDs on some leaves. */
static uint32_t random_entries(const struct set *x, uint64_t *seed, struct osr_overlay_entry *e)
{
	const struct osr_fabric *f = &x->f;
	uint32_t n = 0;

	for (uint32_t d = 0; d < f->n_dests; d++)
		for (uint32_t s = 0; s < f->n_switches && is_keyed(f, d); s++) {
			uint32_t n_up = f->chan_row[s + 1] - f->chan_row[s], c;

			if (!f->sw_sources[s] || s == f->dest_switch[d] || test_random(seed) % 3)
				continue;
			c = f->chan_row[s] + (uint32_t)(test_random(seed) % n_up);
			e[n++] = (struct osr_overlay_entry){ s, d, f->chan_port[c] };
		}
	return n;
}

static void judge(struct set *x, const struct osr_overlay_entry *e, uint32_t n)
{
	const struct osr_fabric *f = &x->f;
	struct osr_verdict fast, slow;
	uint32_t at = 0;

	for (uint32_t d = 0; d < f->n_dests; d++)
		for (uint32_t s = 0; s < f->n_switches; s++) {
			bool here = at < n && e[at].dest == d && e[at].sw == s;

			assert_int_equal(osr_lft(&x->out, s, d),
					 here ? e[at].port : osr_lft(&x->base, s, d));
			at += here;
		}
	assert_int_equal(at, n);
	if (osr_check(f, &x->out, &x->scratch, &fast, &x->diag))
		fail_msg("%s", x->diag.text);
	assert_int_equal(fast.proven, x->base.claims);
	assert_true(table_judge(f, &x->out, &slow));
}

static void test_on_trees(void **state)
{
	static struct osr_overlay_entry e[MAX_ENTRIES];
	uint64_t seed = 1;

	for (unsigned round = 0; round < 60; round++) {
		struct set x;
		char what[32];
		uint32_t n;

		snprintf(what, sizeof(what), "tree m=%u,%u w=1,%u", 1 + round % 3, 2 + round % 5,
			 1 + round % 4);
		draw(&x, what, 1 + (int)(round % 3), round % 2 ? TABLE_UPDOWN : TABLE_SHORTEST);
		n = random_entries(&x, &seed, e);
		assert_true(n < MAX_ENTRIES);
		assert_int_equal(apply(&x, e, n), OSR_OK);
		judge(&x, e, n);
		drop(&x);
	}
}

/* Is there a cycle in the tables with these entries? Asked of the search in any tables. */
static bool closes_cycle(struct set *x, const struct osr_overlay_entry *e, uint32_t n)
{
	struct osr_arena arena = { 0 };
	struct osr_routing r;
	uint32_t length;

	table_copy(&x->f, &x->base, &arena, &r);
	for (uint32_t i = 0; i < n; i++)
		r.lft[(size_t)e[i].dest * r.n_switches + e[i].sw] = e[i].port;
	length = table_loop(&x->f, &r, OSR_CLAIM_MULTICAST);
	osr_arena_free(&arena);
	return length > 0;
}

/* Clockwise around a ring, from some switches to some LIDs; behind the first all go on so. */
static uint32_t clockwise(const struct set *x, uint64_t *seed, struct osr_overlay_entry *e)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < x->f.n_dests; k++) {
		uint32_t reach = (uint32_t)(test_random(seed) % 8 ? test_random(seed) % 3 : 4);

		for (uint32_t s = 0; s < 5 && is_keyed(&x->f, k); s++) {
			uint32_t c = x->f.chan_row[s];
			uint32_t away = (x->f.dest_switch[k] + 5 - s) % 5;

			if (!away || away > reach)
				continue;
			while (x->f.chan_dst[c] != (s + 1) % 5)
				c++;
			e[n++] = (struct osr_overlay_entry){ s, k, x->f.chan_port[c] };
		}
	}
	return n;
}

static void test_cycles(void **state)
{
	static struct osr_overlay_entry e[MAX_ENTRIES];
	unsigned n_cycles = 0, n_good = 0;
	uint64_t seed = 5;
	struct set x;

	draw(&x, "torus dims=5", 1, TABLE_UPDOWN);
	for (unsigned round = 0; round < 300; round++) {
		uint32_t n = clockwise(&x, &seed, e);
		enum osr_status st = apply(&x, e, n);

		if (closes_cycle(&x, e, n)) {
			assert_int_equal(st, OSR_CHECK_FAILED);
			n_cycles++;
		} else {
			struct osr_verdict v;

			assert_int_equal(st, OSR_OK);
			st = osr_check(&x.f, &x.out, &x.scratch, &v, &x.diag);
			/* A random mix may loop; the checker says so. */
			assert_true(!st || strstr(x.diag.text, "loop"));
			n_good += !st;
		}
	}
	print_message("%u with cycles, %u without\n", n_cycles, n_good);
	assert_true(n_cycles > 20 && n_good > 20);
	drop(&x);
}

static void test_bad_entries(void **state)
{
	struct osr_overlay_entry e[2];
	uint32_t first, keyed, leaf, own;
	struct set x;

	draw(&x, "tree m=2,3 w=1,2", 1, TABLE_UPDOWN);
	for (keyed = 0; !is_keyed(&x.f, keyed); keyed++)
		;
	first = keyed - 1;
	for (leaf = 0; !x.f.sw_sources[leaf] || leaf == x.f.dest_switch[keyed]; leaf++)
		;
	own = x.f.dest_switch[keyed];
	e[0] = (struct osr_overlay_entry){ leaf, first, x.f.chan_port[x.f.chan_row[leaf]] };
	assert_int_equal(apply(&x, e, 1), OSR_INVAL); /* LID offset 0 */
	e[0].dest = keyed;
	assert_int_equal(apply(&x, e, 1), OSR_OK);
	e[1] = e[0];
	assert_int_equal(apply(&x, e, 2), OSR_INVAL); /* twice */
	e[0].sw = own;
	assert_int_equal(apply(&x, e, 1), OSR_INVAL); /* at its end already */
	e[0] = (struct osr_overlay_entry){ leaf, keyed, 1 };
	assert_int_equal(apply(&x, e, 1), OSR_INVAL); /* to a host */
	e[0] = (struct osr_overlay_entry){ leaf, x.f.n_dests, 5 };
	assert_int_equal(apply(&x, e, 1), OSR_INVAL);
	e[0] = (struct osr_overlay_entry){ x.f.n_switches, keyed, 5 };
	assert_int_equal(apply(&x, e, 1), OSR_INVAL);
	drop(&x);
	draw(&x, "tree m=2,3 w=1,2", 1, TABLE_UPDOWN_SL);
	assert_int_equal(apply(&x, e, 0), OSR_NOT_APPLICABLE);
	drop(&x);
}

struct overlay {
	const struct set *x;
	struct osr_overlay_entry e[MAX_ENTRIES];
	uint32_t n;
};

static enum osr_status overlay_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				    struct osr_diag *diag)
{
	const struct overlay *o = ctx;
	struct osr_routing out;

	return osr_overlay_apply(&o->x->f, &o->x->base, o->e, o->n, scratch, result, &out, diag);
}

static void test_memory(void **state)
{
	static struct overlay o;
	uint64_t seed = 3;
	struct set x;

	draw(&x, "tree m=2,4 w=1,3", 2, TABLE_UPDOWN);
	o.x = &x;
	o.n = random_entries(&x, &seed, o.e);
	assert_true(test_starve(overlay_once, &o) > 0);
	drop(&x);
}

TEST_PROGRAM(test_on_trees, test_cycles, test_bad_entries, test_memory)
