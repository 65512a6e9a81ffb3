/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * core/data/carry.h and osm/reuse.c, the plugin's last resort: the tables of before on a fabric
 * that has lost a cable, and what they may still claim; and the tables that OpenSM holds in its
 * switches after a repair of its own.
 */
#include "test.h"

#include "core/data/carry.h"
#include "osm/sweep.h"

#include "faults.h"
#include "tables.h"

struct reuse_trial {
	struct test_fabric test;
	struct faults faults;
	struct osr_arena arena;
	struct osr_result old;
	struct osr_fabric now;
};

/* A fabric, right tables for it, and the same fabric without one cable. */
static void trial_start(struct reuse_trial *trial, unsigned fabric, enum table_kind kind,
			uint32_t dead)
{
	memset(trial, 0, sizeof(*trial));
	test_fabric_named(&trial->test, fabric);
	trial->old.fabric = trial->test.fabric;
	table_make(kind, &trial->test.fabric, &trial->arena, 1, &trial->old.routing);
	faults_new(&trial->faults, &trial->test.fabric);
	if (dead != OSR_NONE)
		faults_cable(&trial->faults, dead, true);
	faults_build(&trial->faults, &trial->arena, &trial->now);
}

static void trial_drop(struct reuse_trial *trial)
{
	faults_free(&trial->faults);
	osr_arena_free(&trial->arena);
	test_fabric_free(&trial->test);
}

static uint32_t count_channels(unsigned fabric)
{
	struct test_fabric test;
	uint32_t n;

	test_fabric_named(&test, fabric);
	n = test.fabric.n_channels;
	test_fabric_free(&test);
	return n;
}

static bool in_tree(const struct reuse_trial *trial, uint32_t c)
{
	const uint32_t *parent = trial->old.routing.mcast_parent;

	return parent[trial->test.fabric.chan_src[c]] == c ||
	       parent[trial->test.fabric.chan_dst[c]] == trial->test.fabric.chan_rev[c];
}

/* Each cable in turn: every entry is the old one, or none where its cable is gone. */
static void test_cables(void **state)
{
	uint32_t n_lost = 0, n_kept = 0;

	for (unsigned i = 0; i < N_TEST_FABRICS; i++)
		for (uint32_t dead = 0; dead < count_channels(i); dead++) {
			struct osr_arena scratch = { 0 };
			struct osr_diag diag = { "" };
			struct osr_routing routing;
			struct reuse_trial trial;

			trial_start(&trial, i, TABLE_UPDOWN, dead);
			assert_int_equal(osr_carry_again(&trial.old, &trial.now, true, &trial.arena,
							 &scratch, &routing, &diag),
					 OSR_OK);
			for (uint32_t d = 0; d < trial.now.n_dests; d++)
				for (uint32_t s = 0; s < trial.now.n_switches; s++) {
					uint8_t was = osr_lft(&trial.old.routing, s, d);
					uint32_t c = osr_port_channel(&trial.test.fabric, s, was);

					if (c == dead || (c != OSR_NONE &&
							  trial.test.fabric.chan_rev[c] == dead))
						was = OSR_NO_PATH;
					assert_int_equal(osr_lft(&routing, s, d), was);
				}
			/* The order of multicast spans as long as it is whole. */
			assert_int_equal(!!(routing.claims & OSR_CLAIM_MULTICAST),
					 !in_tree(&trial, dead));
			assert_int_equal(!!routing.mcast_parent, !in_tree(&trial, dead));
			n_lost += !routing.mcast_parent;
			n_kept += !!routing.mcast_parent;
			assert_int_equal(routing.claims & OSR_CLAIM_MINIMAL, 0);
			assert_int_equal(routing.claims | OSR_CLAIM_MULTICAST | OSR_CLAIM_MINIMAL,
					 trial.old.routing.claims | OSR_CLAIM_MULTICAST |
						 OSR_CLAIM_MINIMAL);
			assert_int_equal(routing.n_layers, trial.old.routing.n_layers);
			osr_arena_free(&scratch);
			trial_drop(&trial);
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
		struct osr_routing routing;
		struct reuse_trial trial;
		uint32_t host = 0;

		trial_start(&trial, 4, TABLE_UPDOWN, OSR_NONE);
		while (trial.test.fabric.term_role[host] == OSR_ROLE_SP0)
			host++;
		if (what)
			trial.faults.sw[trial.test.fabric.n_switches - 1] = true;
		else
			trial.faults.term[host] = true;
		faults_build(&trial.faults, &trial.arena, &part.fabric);
		table_make(TABLE_UPDOWN, &part.fabric, &trial.arena, 1, &part.routing);
		assert_int_not_equal(osr_carry_again(&part, &trial.test.fabric, true, &trial.arena,
						     &scratch, &routing, &diag),
				     OSR_OK);
		assert_non_null(strstr(diag.text, what ? "switch " : "LID "));
		assert_non_null(strstr(diag.text, "is new"));
		osr_arena_free(&scratch);
		trial_drop(&trial);
	}
}

/*
 * OpenSM's cache has routed: what counts is in the switches' tables, new ones before those that are
 * programmed.
 */
static void test_cached(void **state)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct osr_routing routing;
	struct reuse_trial trial;
	struct snapshot snap = { 0 };
	osm_switch_t *sw;
	uint8_t *lft;
	uint32_t n, last;

	trial_start(&trial, 7, TABLE_UPDOWN, OSR_NONE);
	n = trial.now.n_switches;
	sw = calloc(n, sizeof(*sw));
	lft = calloc(2 * (size_t)n, trial.now.max_lid + 1);
	snap.sw = calloc(n, sizeof(*snap.sw));
	last = trial.now.max_lid - 1; /* the last LID is beyond what the switches know */
	for (uint32_t s = 0; s < n; s++) {
		snap.sw[s] = &sw[s];
		sw[s].max_lid_ho = (uint16_t)last;
		sw[s].lft = lft + 2 * (size_t)s * (trial.now.max_lid + 1);
		if (s % 2)
			sw[s].new_lft = sw[s].lft + trial.now.max_lid + 1;
		for (uint32_t lid = 0; lid <= trial.now.max_lid; lid++) {
			sw[s].lft[lid] = (uint8_t)(1 + (s + lid) % 7);
			sw[s].lft[trial.now.max_lid + 1 + lid] = (uint8_t)(11 + (s + lid) % 7);
		}
	}
	sw[2].lft = NULL; /* says nothing */
	assert_int_equal(osr_reuse_cached(&trial.old, &trial.now, &snap, &trial.arena, &scratch,
					  &routing, &diag),
			 OSR_OK);
	for (uint32_t d = 0; d < trial.now.n_dests; d++)
		for (uint32_t s = 0; s < n; s++) {
			uint32_t lid = trial.now.dest_lid[d];
			uint32_t port = (s % 2 ? 11 : 1) + (s + lid) % 7;

			assert_int_equal(osr_lft(&routing, s, d),
					 lid > last || s == 2 ? OSR_NO_PATH : port);
		}
	free(snap.sw);
	free(lft);
	free(sw);
	osr_arena_free(&scratch);
	trial_drop(&trial);
}

TEST_PROGRAM(test_cables, test_new, test_cached)
