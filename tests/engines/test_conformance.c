/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What engine.h promises of every engine, on every small fabric: right or refused with a sentence,
 * never in between. Claims are judged by the checker and by following every packet.
 */
#include "test.h"

#include <osmroutes/sweep.h>

#include "fabrics.h"
#include "tables.h"

#define N_RANDOM 40

/* One engine on one fabric. */
struct trial {
	const struct osr_engine *engine;
	struct test_fabric test;
	struct osr_values values;
	struct osr_request req;
	struct osr_arena scratch, result;
	struct osr_routing routing;
	struct osr_sweep sweep;
	struct osr_diag diag;
};

static enum osr_status route(struct trial *trial, const struct osr_result *previous)
{
	const struct osr_engine *engine = trial->engine;
	const struct osr_job job = { .engine = engine,
				     .values = &trial->values,
				     .request = trial->req,
				     .previous = previous,
				     .scratch = &trial->scratch,
				     .arena = &trial->result,
				     .diag = &trial->diag };
	struct osr_result now = { .fabric = trial->test.fabric };
	enum osr_status st;

	trial->diag = (struct osr_diag){ 0 };
	st = osr_sweep(&job, &now, &trial->sweep);
	trial->routing = now.routing;
	if (st == OSR_CHECK_FAILED)
		fail_msg("%s on %s, %u VLs: %s", engine->name, trial->test.name, trial->req.max_vls,
			 trial->diag.text);
	assert_false(trial->sweep.refused);
	if (st != OSR_OK && !trial->diag.text[0])
		fail_msg("%s on %s: %s without a sentence", engine->name, trial->test.name,
			 osr_status_str(st));
	/* These would be the fault of the engine, not of the fabric. */
	assert_true(st != OSR_BUG && st != OSR_INVAL);
	return st;
}

static void drop(struct trial *trial)
{
	osr_arena_free(&trial->scratch);
	osr_arena_free(&trial->result);
}

static void assert_right(struct trial *trial)
{
	const struct osr_verdict *checked = &trial->sweep.verdict;
	struct osr_verdict judged;

	if (!table_judge(&trial->test.fabric, &trial->routing, &judged))
		fail_msg("%s on %s, %u VLs: the judge refuses what the checker accepts",
			 trial->engine->name, trial->test.name, trial->req.max_vls);
	assert_int_equal(checked->proven, trial->routing.claims);
	assert_int_equal(checked->efi, judged.efi);
	if (trial->test.fabric.n_dests == trial->test.fabric.n_terminals)
		assert_int_equal(checked->n_longer, trial->routing.n_longer);
}

/* The same fabric drawn and routed again gives the same bytes, whatever the memory held. */
static void assert_repeatable(struct trial *trial, void (*draw)(struct test_fabric *, unsigned),
			      unsigned i)
{
	uint64_t digest = osr_routing_digest(&trial->test.fabric, &trial->routing);
	struct trial again = { .engine = trial->engine,
			       .values = trial->values,
			       .req = trial->req };
	size_t n_ranks = (size_t)trial->routing.n_vls * trial->routing.n_channels *
			 sizeof(*trial->routing.rank);
	uint64_t *held = osr_alloc(&again.scratch, 32000, sizeof(*held));

	draw(&again.test, i);
	for (unsigned k = 0; k < 32000; k++) /* what a label of fit.c may be */
		held[k] = (uint64_t)5 << 32;
	osr_arena_reset(&again.scratch, (struct osr_arena_mark){ 0 });
	assert_int_equal(route(&again, NULL), OSR_OK);
	assert_true(osr_routing_digest(&again.test.fabric, &again.routing) == digest);
	assert_int_equal(again.routing.claims, trial->routing.claims);
	if (trial->routing.rank)
		assert_memory_equal(again.routing.rank, trial->routing.rank, n_ranks);
	drop(&again);
	test_fabric_free(&again.test);
}

/* Routes and judges; returns the status. */
static enum osr_status try(const struct osr_engine *engine,
			   void (*draw)(struct test_fabric *, unsigned), unsigned i,
			   struct osr_request req, const char *option, const char *value)
{
	struct trial trial = { .engine = engine, .req = req };
	enum osr_status st;

	draw(&trial.test, i);
	osr_values_default(&trial.values, engine->params);
	if (option)
		assert_int_equal(osr_values_set(&trial.values, engine->params, option, value, NULL),
				 OSR_OK);
	st = route(&trial, NULL);
	if (st == OSR_OK) {
		struct osr_result previous = { .fabric = trial.test.fabric,
					       .routing = trial.routing };
		struct trial next = {
			.engine = engine, .test = trial.test, .values = trial.values, .req = req
		};

		if (engine->capabilities & OSR_ENGINE_DEADLOCK_FREE)
			assert_true(trial.routing.claims & OSR_CLAIM_DEADLOCK_FREE);
		if (engine->capabilities & OSR_ENGINE_MINIMAL)
			assert_true(trial.routing.claims & OSR_CLAIM_MINIMAL);
		assert_true(trial.routing.n_vls >= 1 && trial.routing.n_vls <= req.max_vls);
		assert_true(trial.routing.n_layers <= trial.routing.n_vls);
		assert_right(&trial);
		if (trial.routing.claims & OSR_CLAIM_DEADLOCK_FREE)
			assert_int_equal(table_loop(&trial.test.fabric, &trial.routing,
						    trial.routing.claims),
					 0);
		assert_repeatable(&trial, draw, i);
		/*
		 * What an engine makes of its own last result on the same fabric must hold as well.
		 */
		previous.digest = osr_routing_digest(&trial.test.fabric, &trial.routing);
		assert_int_equal(route(&next, &previous), OSR_OK);
		assert_right(&next);
		drop(&next);
	}
	drop(&trial);
	test_fabric_free(&trial.test);
	return st;
}

static void draw_random(struct test_fabric *test, unsigned i)
{
	test_fabric_random(test, 1 + i % 23, i % 53, 1000 + i);
}

static void draw_sparse(struct test_fabric *test, unsigned i)
{
	test_fabric_random(test, 30 + i % 30, 30 + i % 50, 1000 + i);
}

static void test_named(void **state)
{
	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++)
		for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
			unsigned n_ok = 0;

			for (uint8_t vls = 1; vls <= OSR_MAX_VLS; vls += 2)
				for (unsigned mcast = 0; mcast < 2; mcast++)
					n_ok += try(*engine, test_fabric_named, i,
						    (struct osr_request){ .max_vls = vls,
									  .multicast = mcast },
						    NULL, NULL) == OSR_OK;
			/* 15 VLs are enough for what is drawn here, unless the engine says which
			 * fabrics it is for. */
			assert_true(n_ok > 0 || (*engine)->applies);
		}
}

static void test_random_fabrics(void **state)
{
	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++)
		for (unsigned i = 0; i < N_RANDOM; i++)
			try(*engine, draw_random, i,
			    (struct osr_request){ .max_vls = 1 + i % 15, .multicast = i % 2 }, NULL,
			    NULL);
}

static bool has_option(const struct osr_engine *engine, const char *name)
{
	const struct osr_param *param = engine->params;

	while (param && param->name && strcmp(param->name, name))
		param++;
	return param && param->name;
}

/* Graphs in which channels carry nothing: an order of them was that of memory. */
static void test_sparse(void **state)
{
	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++)
		for (unsigned i = 68; i < 100 && has_option(*engine, "any_sl"); i += 5)
			for (uint8_t vls = 2; vls <= 3; vls++)
				try(*engine, draw_sparse, i,
				    (struct osr_request){ .max_vls = vls, .multicast = true },
				    "any_sl", "on");
}

/* Few lanes, and SLs given by pair: what is tried last. */
static void test_lanes_by_sl(void **state)
{
	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++)
		for (unsigned i = 0; has_option(*engine, "any_sl") && i < 3 * N_RANDOM; i++)
			try(*engine, draw_random, i,
			    (struct osr_request){ .max_vls = 1 + i % 4, .multicast = i % 2 },
			    "any_sl", "off");
}

/* Every word of every enumeration, both sides of every switch, both ends of every range. */
static void test_options(void **state)
{
	static const unsigned some[] = { 3, 5, 6, 8, 9, 13 };
	const struct osr_request req = { .max_vls = 15, .multicast = true };

	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++)
		for (const struct osr_param *param = (*engine)->params; param && param->name;
		     param++) {
			char values[128] = "", *rest = values, *value;

			if (param->type == OSR_PARAM_UINT)
				snprintf(values, sizeof(values), "%u|%u", (unsigned)param->min,
					 (unsigned)(param->max < 50 ? param->max : 50));
			else if (param->type != OSR_PARAM_STRING)
				snprintf(values, sizeof(values), "%s",
					 param->type == OSR_PARAM_BOOL ? "yes|no" : param->words);
			while (*values && (value = strsep(&rest, "|")))
				for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++)
					try(*engine, test_fabric_named, some[i], req, param->name,
					    value);
		}
}

/*
 * Each allocation fails in turn: a sentence, or the tables that there are without the failure; and
 * nothing is lost (the sanitizers see to that).
 */
static void fail_allocations(struct trial *trial, struct osr_arena *arena, uint64_t digest)
{
	bool failed = true;

	for (size_t n = 1; failed; n++) {
		enum osr_status st;

		arena->fail_after = n;
		st = route(trial, NULL);
		failed = !arena->fail_after;
		arena->fail_after = 0;
		assert_true(st == OSR_OK || (failed && st == OSR_NOMEM));
		assert_true(n < 10000);
		if (st == OSR_OK) {
			assert_right(trial);
			assert_true(osr_routing_digest(&trial->test.fabric, &trial->routing) ==
				    digest);
		}
		drop(trial);
	}
}

static void starve(const struct osr_engine *engine, unsigned fabric, const char *any_sl)
{
	struct trial trial = { .engine = engine, .req = { .max_vls = 15, .multicast = true } };

	osr_values_default(&trial.values, engine->params);
	/* Engines without this option have no lanes of this kind. */
	if (any_sl && !has_option(engine, "any_sl"))
		return;
	if (any_sl)
		assert_int_equal(
			osr_values_set(&trial.values, engine->params, "any_sl", any_sl, NULL),
			OSR_OK);
	test_fabric_named(&trial.test, fabric);
	if (route(&trial, NULL) == OSR_OK) {
		uint64_t digest = osr_routing_digest(&trial.test.fabric, &trial.routing);

		drop(&trial);
		fail_allocations(&trial, &trial.scratch, digest);
		fail_allocations(&trial, &trial.result, digest);
	}
	drop(&trial);
	test_fabric_free(&trial.test);
}

static void test_out_of_memory(void **state)
{
	static const unsigned some[] = { 0, 2, 5, 8, 13 };

	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++)
		for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
			starve(*engine, some[i], NULL);
			starve(*engine, some[i], "off");
			starve(*engine, some[i], "on");
		}
}

/* On trees the plain paths suffice: one layer, any SL, and the least EFI there is. */
static void test_trees_need_one_layer(void **state)
{
	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++) {
		struct trial trial = { .engine = *engine,
				       .req = { .max_vls = 8, .multicast = true } };

		if (!((*engine)->capabilities & OSR_ENGINE_DEADLOCK_FREE) || (*engine)->applies)
			continue;
		test_fabric_named(&trial.test, 4); /* two-level tree */
		osr_values_default(&trial.values, (*engine)->params);
		assert_int_equal(route(&trial, NULL), OSR_OK);
		assert_int_equal(trial.routing.n_layers, 1);
		assert_true(trial.routing.claims & OSR_CLAIM_MULTICAST);
		drop(&trial);
		test_fabric_free(&trial.test);
	}
}

/*
 * The LIDs of a port, which are neighbours in the list of destinations, leave some switch by
 * different ports.
 */
static bool spreads_lids(const struct trial *trial)
{
	const struct osr_fabric *fabric = &trial->test.fabric;

	for (uint32_t d = 1; d < fabric->n_dests; d++)
		if (fabric->dest_term[d] == fabric->dest_term[d - 1] &&
		    memcmp(trial->routing.lft + (size_t)d * fabric->n_switches,
			   trial->routing.lft + (size_t)(d - 1) * fabric->n_switches,
			   fabric->n_switches) != 0)
			return true;
	return false;
}

/* Two leaves below four spines, and hosts with four LIDs each. */
static void test_lids_are_spread(void **state)
{
	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++) {
		struct trial trial = { .engine = *engine,
				       .req = { .max_vls = 8, .multicast = true } };

		struct draft draft;

		draft_new(&draft);
		draft.lmc = 2;
		for (uint32_t leaf = 0; leaf < 2; leaf++) {
			draft_switch(&draft);
			for (uint32_t host = 0; host < 4; host++)
				draft_host(&draft, leaf);
		}
		for (uint32_t spine = 2; spine < 6; spine++) {
			draft_switch(&draft);
			draft_link(&draft, 0, spine);
			draft_link(&draft, 1, spine);
		}
		draft_build(&draft, &trial.test, "two leaves, four spines, LMC 2");
		osr_values_default(&trial.values, (*engine)->params);
		if (route(&trial, NULL) == OSR_OK && !spreads_lids(&trial))
			fail_msg("%s on %s: all LIDs of each port take the same routes",
				 (*engine)->name, trial.test.name);
		drop(&trial);
		test_fabric_free(&trial.test);
	}
}

static void test_registry(void **state)
{
	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++) {
		assert_ptr_equal(osr_engine_find((*engine)->name), *engine);
		assert_true((*engine)->summary[0] && (*engine)->reference[0]);
		assert_non_null((*engine)->params);
	}
#ifndef OSR_OTHER_REGISTRY
	assert_non_null(osr_engine_find("sssp"));
	assert_non_null(osr_engine_find("dfsssp"));
#endif
	assert_null(osr_engine_find("minhop"));
	assert_null(osr_engine_find(""));
}

TEST_PROGRAM(test_registry, test_named, test_random_fabrics, test_sparse, test_lanes_by_sl,
	     test_options, test_out_of_memory, test_trees_need_one_layer, test_lids_are_spread)
