/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * core/data/carry.h and osm/reuse.c, the plugin's last resort: the tables of before on a fabric that has lost a cable, and what they may
 * still claim; and the tables that OpenSM holds in its switches after a repair of its own.
 */
#include "test.h"

#include "core/data/carry.h"
#include "osm/sweep.h"

#include "faults.h"
#include "tables.h"

struct reuse_trial {
	struct test_fabric t;
	struct faults faults;
	struct osr_arena arena;
	struct osr_result old;
	struct osr_fabric now;
};

/* A fabric, right tables for it, and the same fabric without one cable. */
static void trial_start(struct reuse_trial *x, unsigned fabric, enum table_kind kind, uint32_t dead)
{
	memset(x, 0, sizeof(*x));
	test_fabric_named(&x->t, fabric);
	x->old.fabric = x->t.f;
	table_make(kind, &x->t.f, &x->arena, 1, &x->old.routing);
	faults_new(&x->faults, &x->t.f);
	if (dead != OSR_NONE)
		faults_cable(&x->faults, dead, true);
	faults_build(&x->faults, &x->arena, &x->now);
}

static void trial_drop(struct reuse_trial *x)
{
	faults_free(&x->faults);
	osr_arena_free(&x->arena);
	test_fabric_free(&x->t);
}

static uint32_t count_channels(unsigned fabric)
{
	struct test_fabric t;
	uint32_t n;

	test_fabric_named(&t, fabric);
	n = t.f.n_channels;
	test_fabric_free(&t);
	return n;
}

static bool in_tree(const struct reuse_trial *x, uint32_t c)
{
	const uint32_t *parent = x->old.routing.mcast_parent;

	return parent[x->t.f.chan_src[c]] == c || parent[x->t.f.chan_dst[c]] == x->t.f.chan_rev[c];
}

/* Each cable in turn: every entry is the old one, or none where its cable is gone. */
static void test_cables(void **state)
{
	uint32_t n_lost = 0, n_kept = 0;

	for (unsigned i = 0; i < N_TEST_FABRICS; i++)
		for (uint32_t dead = 0; dead < count_channels(i); dead++) {
			struct osr_arena scratch = { 0 };
			struct osr_diag diag = { "" };
			struct osr_routing r;
			struct reuse_trial x;

			trial_start(&x, i, TABLE_UPDOWN, dead);
			assert_int_equal(osr_carry_again(&x.old, &x.now, true, &x.arena, &scratch,
							 &r, &diag),
					 OSR_OK);
			for (uint32_t d = 0; d < x.now.n_dests; d++)
				for (uint32_t s = 0; s < x.now.n_switches; s++) {
					uint8_t was = osr_lft(&x.old.routing, s, d);
					uint32_t c = osr_port_channel(&x.t.f, s, was);

					if (c == dead ||
					    (c != OSR_NONE && x.t.f.chan_rev[c] == dead))
						was = OSR_NO_PATH;
					assert_int_equal(osr_lft(&r, s, d), was);
				}
			/* The order of multicast spans as long as it is whole. */
			assert_int_equal(!!(r.claims & OSR_CLAIM_MULTICAST), !in_tree(&x, dead));
			assert_int_equal(!!r.mcast_parent, !in_tree(&x, dead));
			n_lost += !r.mcast_parent;
			n_kept += !!r.mcast_parent;
			assert_int_equal(r.claims & OSR_CLAIM_MINIMAL, 0);
			assert_int_equal(r.claims | OSR_CLAIM_MULTICAST | OSR_CLAIM_MINIMAL,
					 x.old.routing.claims | OSR_CLAIM_MULTICAST |
						 OSR_CLAIM_MINIMAL);
			assert_int_equal(r.n_layers, x.old.routing.n_layers);
			osr_arena_free(&scratch);
			trial_drop(&x);
		}
	assert_true(n_lost && n_kept);
}

/* From a fabric that lacked something: what is new has no tables of before. */
static void test_new(void **state)
{
	for (unsigned what = 0; what < 2; what++) {
		struct osr_arena scratch = { 0 };
		struct osr_diag diag = { "" };
		struct osr_result part = { 0 };
		struct osr_routing r;
		struct reuse_trial x;
		uint32_t host = 0;

		trial_start(&x, 4, TABLE_UPDOWN, OSR_NONE);
		while (x.t.f.term_role[host] == OSR_ROLE_SP0)
			host++;
		if (what)
			x.faults.sw[x.t.f.n_switches - 1] = true;
		else
			x.faults.term[host] = true;
		faults_build(&x.faults, &x.arena, &part.fabric);
		table_make(TABLE_UPDOWN, &part.fabric, &x.arena, 1, &part.routing);
		assert_int_not_equal(
			osr_carry_again(&part, &x.t.f, true, &x.arena, &scratch, &r, &diag),
			OSR_OK);
		assert_non_null(strstr(diag.text, what ? "switch " : "LID "));
		assert_non_null(strstr(diag.text, "is new"));
		osr_arena_free(&scratch);
		trial_drop(&x);
	}
}

/* OpenSM's cache has routed: what counts is in the switches' tables, new ones before those that are programmed. */
static void test_cached(void **state)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct osr_routing r;
	struct reuse_trial x;
	struct snapshot snap = { 0 };
	osm_switch_t *sw;
	uint8_t *lft;
	uint32_t n, last;

	trial_start(&x, 7, TABLE_UPDOWN, OSR_NONE);
	n = x.now.n_switches;
	sw = calloc(n, sizeof(*sw));
	lft = calloc(2 * (size_t)n, x.now.max_lid + 1);
	snap.sw = calloc(n, sizeof(*snap.sw));
	last = x.now.max_lid - 1; /* the last LID is beyond what the switches know */
	for (uint32_t s = 0; s < n; s++) {
		snap.sw[s] = &sw[s];
		sw[s].max_lid_ho = (uint16_t)last;
		sw[s].lft = lft + 2 * (size_t)s * (x.now.max_lid + 1);
		if (s % 2)
			sw[s].new_lft = sw[s].lft + x.now.max_lid + 1;
		for (uint32_t lid = 0; lid <= x.now.max_lid; lid++) {
			sw[s].lft[lid] = (uint8_t)(1 + (s + lid) % 7);
			sw[s].lft[x.now.max_lid + 1 + lid] = (uint8_t)(11 + (s + lid) % 7);
		}
	}
	sw[2].lft = NULL; /* says nothing */
	assert_int_equal(osr__reuse_cached(&x.old, &x.now, &snap, &x.arena, &scratch, &r, &diag),
			 OSR_OK);
	for (uint32_t d = 0; d < x.now.n_dests; d++)
		for (uint32_t s = 0; s < n; s++) {
			uint32_t lid = x.now.dest_lid[d];
			uint32_t port = (s % 2 ? 11 : 1) + (s + lid) % 7;

			assert_int_equal(osr_lft(&r, s, d),
					 lid > last || s == 2 ? OSR_NO_PATH : port);
		}
	free(snap.sw);
	free(lft);
	free(sw);
	osr_arena_free(&scratch);
	trial_drop(&x);
}

TEST_PROGRAM(test_cables, test_new, test_cached)
