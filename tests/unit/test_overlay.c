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
	struct osr_fabric fabric;
	struct osr_arena tables, scratch, result;
	struct osr_routing base, out;
	struct osr_diag diag;
};

static enum osr_status apply(struct set *set, const struct osr_overlay_entry *entry, uint32_t n)
{
	enum osr_status st;

	set->diag.text[0] = 0;
	st = osr_overlay_apply(&set->fabric, &set->base, entry, n, &set->scratch, &set->result,
			       &set->out, &set->diag);
	assert_true(!st == !set->diag.text[0]);
	assert_int_equal(set->scratch.in_use, 0);
	return st;
}

static void drop(struct set *set)
{
	osr_arena_free(&set->tables);
	osr_arena_free(&set->scratch);
	osr_arena_free(&set->result);
}

static void draw(struct set *set, const char *what, int lmc, enum table_kind kind)
{
	*set = (struct set){ .diag = { "" } };
	topo_fabric(what, NULL, lmc, &set->tables, &set->fabric);
	table_make(kind, &set->fabric, &set->tables, 1, &set->base);
}

static bool is_keyed(const struct osr_fabric *fabric, uint32_t d)
{
	uint32_t t = fabric->dest_term[d];

	return fabric->term_role[t] == OSR_ROLE_CA && fabric->dest_lid[d] != fabric->term_lid[t];
}

/* Another spine for some LIDs on some leaves. */
static uint32_t random_entries(const struct set *set, uint64_t *seed,
			       struct osr_overlay_entry *entry)
{
	const struct osr_fabric *fabric = &set->fabric;
	uint32_t n = 0;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t s = 0; s < fabric->n_switches && is_keyed(fabric, d); s++) {
			uint32_t n_up = fabric->chan_row[s + 1] - fabric->chan_row[s], c;

			if (!fabric->sw_sources[s] || s == fabric->dest_switch[d] ||
			    test_random(seed) % 3)
				continue;
			c = fabric->chan_row[s] + (uint32_t)(test_random(seed) % n_up);
			entry[n++] = (struct osr_overlay_entry){ s, d, fabric->chan_port[c] };
		}
	return n;
}

static void judge(struct set *set, const struct osr_overlay_entry *entry, uint32_t n)
{
	const struct osr_fabric *fabric = &set->fabric;
	struct osr_verdict fast, slow;
	uint32_t at = 0;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			bool here = at < n && entry[at].dest == d && entry[at].sw == s;

			assert_int_equal(osr_lft(&set->out, s, d),
					 here ? entry[at].port : osr_lft(&set->base, s, d));
			at += here;
		}
	assert_int_equal(at, n);
	if (osr_check(fabric, &set->out, &set->scratch, &fast, &set->diag))
		fail_msg("%s", set->diag.text);
	assert_int_equal(fast.proven, set->base.claims);
	assert_true(table_judge(fabric, &set->out, &slow));
}

static void test_on_trees(void **state)
{
	static struct osr_overlay_entry entry[MAX_ENTRIES];
	uint64_t seed = 1;

	for (unsigned round = 0; round < 60; round++) {
		struct set set;
		char what[32];
		uint32_t n;

		snprintf(what, sizeof(what), "tree m=%u,%u w=1,%u", 1 + round % 3, 2 + round % 5,
			 1 + round % 4);
		draw(&set, what, 1 + (int)(round % 3), round % 2 ? TABLE_UPDOWN : TABLE_SHORTEST);
		n = random_entries(&set, &seed, entry);
		assert_true(n < MAX_ENTRIES);
		assert_int_equal(apply(&set, entry, n), OSR_OK);
		judge(&set, entry, n);
		drop(&set);
	}
}

/* Is there a cycle in the tables with these entries? Asked of the search in any tables. */
static bool closes_cycle(struct set *set, const struct osr_overlay_entry *entry, uint32_t n)
{
	struct osr_arena arena = { 0 };
	struct osr_routing routing;
	uint32_t length;

	table_copy(&set->fabric, &set->base, &arena, &routing);
	for (uint32_t i = 0; i < n; i++)
		routing.lft[(size_t)entry[i].dest * routing.n_switches + entry[i].sw] =
			entry[i].port;
	length = table_loop(&set->fabric, &routing, OSR_CLAIM_MULTICAST);
	osr_arena_free(&arena);
	return length > 0;
}

/* Clockwise around a ring, from some switches to some LIDs; behind the first all go on so. */
static uint32_t clockwise(const struct set *set, uint64_t *seed, struct osr_overlay_entry *entry)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < set->fabric.n_dests; k++) {
		uint32_t reach = (uint32_t)(test_random(seed) % 8 ? test_random(seed) % 3 : 4);

		for (uint32_t s = 0; s < 5 && is_keyed(&set->fabric, k); s++) {
			uint32_t c = set->fabric.chan_row[s];
			uint32_t away = (set->fabric.dest_switch[k] + 5 - s) % 5;

			if (!away || away > reach)
				continue;
			while (set->fabric.chan_dst[c] != (s + 1) % 5)
				c++;
			entry[n++] = (struct osr_overlay_entry){ s, k, set->fabric.chan_port[c] };
		}
	}
	return n;
}

static void test_cycles(void **state)
{
	static struct osr_overlay_entry entry[MAX_ENTRIES];
	unsigned n_cycles = 0, n_good = 0;
	uint64_t seed = 5;
	struct set set;

	draw(&set, "torus dims=5", 1, TABLE_UPDOWN);
	for (unsigned round = 0; round < 300; round++) {
		uint32_t n = clockwise(&set, &seed, entry);
		enum osr_status st = apply(&set, entry, n);

		if (closes_cycle(&set, entry, n)) {
			assert_int_equal(st, OSR_CHECK_FAILED);
			n_cycles++;
		} else {
			struct osr_verdict verdict;

			assert_int_equal(st, OSR_OK);
			st = osr_check(&set.fabric, &set.out, &set.scratch, &verdict, &set.diag);
			/* A random mix may loop; the checker says so. */
			assert_true(!st || strstr(set.diag.text, "loop"));
			n_good += !st;
		}
	}
	print_message("%u with cycles, %u without\n", n_cycles, n_good);
	assert_true(n_cycles > 20 && n_good > 20);
	drop(&set);
}

static void test_bad_entries(void **state)
{
	struct osr_overlay_entry entry[2];
	uint32_t first, keyed, leaf, own;
	struct set set;

	draw(&set, "tree m=2,3 w=1,2", 1, TABLE_UPDOWN);
	for (keyed = 0; !is_keyed(&set.fabric, keyed); keyed++)
		;
	first = keyed - 1;
	for (leaf = 0; !set.fabric.sw_sources[leaf] || leaf == set.fabric.dest_switch[keyed];
	     leaf++)
		;
	own = set.fabric.dest_switch[keyed];
	entry[0] = (struct osr_overlay_entry){ leaf, first,
					       set.fabric.chan_port[set.fabric.chan_row[leaf]] };
	assert_int_equal(apply(&set, entry, 1), OSR_INVAL); /* LID offset 0 */
	entry[0].dest = keyed;
	assert_int_equal(apply(&set, entry, 1), OSR_OK);
	entry[1] = entry[0];
	assert_int_equal(apply(&set, entry, 2), OSR_INVAL); /* twice */
	entry[0].sw = own;
	assert_int_equal(apply(&set, entry, 1), OSR_INVAL); /* at its end already */
	entry[0] = (struct osr_overlay_entry){ leaf, keyed, 1 };
	assert_int_equal(apply(&set, entry, 1), OSR_INVAL); /* to a host */
	entry[0] = (struct osr_overlay_entry){ leaf, set.fabric.n_dests, 5 };
	assert_int_equal(apply(&set, entry, 1), OSR_INVAL);
	entry[0] = (struct osr_overlay_entry){ set.fabric.n_switches, keyed, 5 };
	assert_int_equal(apply(&set, entry, 1), OSR_INVAL);
	drop(&set);
	draw(&set, "tree m=2,3 w=1,2", 1, TABLE_UPDOWN_SL);
	assert_int_equal(apply(&set, entry, 0), OSR_NOT_APPLICABLE);
	drop(&set);
}

struct overlay {
	const struct set *set;
	struct osr_overlay_entry entry[MAX_ENTRIES];
	uint32_t n;
};

static enum osr_status overlay_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				    struct osr_diag *diag)
{
	const struct overlay *overlay = ctx;
	struct osr_routing out;

	return osr_overlay_apply(&overlay->set->fabric, &overlay->set->base, overlay->entry,
				 overlay->n, scratch, result, &out, diag);
}

static void test_memory(void **state)
{
	static struct overlay overlay;
	uint64_t seed = 3;
	struct set set;

	draw(&set, "tree m=2,4 w=1,3", 2, TABLE_UPDOWN);
	overlay.set = &set;
	overlay.n = random_entries(&set, &seed, overlay.entry);
	assert_true(test_starve(overlay_once, &overlay) > 0);
	drop(&set);
}

TEST_PROGRAM(test_on_trees, test_cycles, test_bad_entries, test_memory)
