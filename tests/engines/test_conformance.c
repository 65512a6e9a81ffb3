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
	struct test_fabric t;
	struct osr_values values;
	struct osr_request req;
	struct osr_arena scratch, result;
	struct osr_routing r;
	struct osr_sweep sweep;
	struct osr_diag diag;
};

static enum osr_status route(struct trial *x, const struct osr_result *previous)
{
	const struct osr_engine *e = x->engine;
	const struct osr_job job = { .engine = e,
				     .values = &x->values,
				     .request = x->req,
				     .previous = previous,
				     .scratch = &x->scratch,
				     .arena = &x->result,
				     .diag = &x->diag };
	struct osr_result now = { .fabric = x->t.f };
	enum osr_status st;

	x->diag = (struct osr_diag){ 0 };
	st = osr_sweep(&job, &now, &x->sweep);
	x->r = now.routing;
	if (st == OSR_CHECK_FAILED)
		fail_msg("%s on %s, %u VLs: %s", e->name, x->t.name, x->req.max_vls, x->diag.text);
	assert_false(x->sweep.refused);
	if (st != OSR_OK && !x->diag.text[0])
		fail_msg("%s on %s: %s without a sentence", e->name, x->t.name, osr_status_str(st));
	/* These would be the fault of the engine, not of the fabric. */
	assert_true(st != OSR_BUG && st != OSR_INVAL);
	return st;
}

static void drop(struct trial *x)
{
	osr_arena_free(&x->scratch);
	osr_arena_free(&x->result);
}

static void assert_right(struct trial *x)
{
	const struct osr_verdict *checked = &x->sweep.verdict;
	struct osr_verdict judged;

	if (!table_judge(&x->t.f, &x->r, &judged))
		fail_msg("%s on %s, %u VLs: the judge refuses what the checker accepts",
			 x->engine->name, x->t.name, x->req.max_vls);
	assert_int_equal(checked->proven, x->r.claims);
	assert_int_equal(checked->efi, judged.efi);
	if (x->t.f.n_dests == x->t.f.n_terminals)
		assert_int_equal(checked->n_longer, x->r.n_longer);
}

/* The same fabric drawn and routed again gives the same bytes, whatever the memory held. */
static void assert_repeatable(struct trial *x, void (*draw)(struct test_fabric *, unsigned),
			      unsigned i)
{
	uint64_t digest = osr_routing_digest(&x->t.f, &x->r);
	struct trial again = { .engine = x->engine, .values = x->values, .req = x->req };
	size_t n_ranks = (size_t)x->r.n_vls * x->r.n_channels * sizeof(*x->r.rank);
	uint64_t *held = osr_alloc(&again.scratch, 32000, sizeof(*held));

	draw(&again.t, i);
	for (unsigned k = 0; k < 32000; k++) /* what a label of fit.c may be */
		held[k] = (uint64_t)5 << 32;
	osr_arena_reset(&again.scratch, (struct osr_arena_mark){ 0 });
	assert_int_equal(route(&again, NULL), OSR_OK);
	assert_true(osr_routing_digest(&again.t.f, &again.r) == digest);
	assert_int_equal(again.r.claims, x->r.claims);
	if (x->r.rank)
		assert_memory_equal(again.r.rank, x->r.rank, n_ranks);
	drop(&again);
	test_fabric_free(&again.t);
}

/* Routes and judges; returns the status. */
static enum osr_status try(const struct osr_engine *e, void (*draw)(struct test_fabric *, unsigned),
			   unsigned i, struct osr_request req, const char *option,
			   const char *value)
{
	struct trial x = { .engine = e, .req = req };
	enum osr_status st;

	draw(&x.t, i);
	osr_values_default(&x.values, e->params);
	if (option)
		assert_int_equal(osr_values_set(&x.values, e->params, option, value, NULL), OSR_OK);
	st = route(&x, NULL);
	if (st == OSR_OK) {
		struct osr_result previous = { .fabric = x.t.f, .routing = x.r };
		struct trial next = { .engine = e, .t = x.t, .values = x.values, .req = req };

		if (e->capabilities & OSR_ENGINE_DEADLOCK_FREE)
			assert_true(x.r.claims & OSR_CLAIM_DEADLOCK_FREE);
		if (e->capabilities & OSR_ENGINE_MINIMAL)
			assert_true(x.r.claims & OSR_CLAIM_MINIMAL);
		assert_true(x.r.n_vls >= 1 && x.r.n_vls <= req.max_vls);
		assert_true(x.r.n_layers <= x.r.n_vls);
		assert_right(&x);
		if (x.r.claims & OSR_CLAIM_DEADLOCK_FREE)
			assert_int_equal(table_loop(&x.t.f, &x.r, x.r.claims), 0);
		assert_repeatable(&x, draw, i);
		/* What an engine makes of its own last result on the same fabric must hold as well. */
		previous.digest = osr_routing_digest(&x.t.f, &x.r);
		assert_int_equal(route(&next, &previous), OSR_OK);
		assert_right(&next);
		drop(&next);
	}
	drop(&x);
	test_fabric_free(&x.t);
	return st;
}

static void draw_random(struct test_fabric *t, unsigned i)
{
	test_fabric_random(t, 1 + i % 23, i % 53, 1000 + i);
}

static void draw_sparse(struct test_fabric *t, unsigned i)
{
	test_fabric_random(t, 30 + i % 30, 30 + i % 50, 1000 + i);
}

static void test_named(void **state)
{
	for (const struct osr_engine *const *e = osr_engines; *e; e++)
		for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
			unsigned n_ok = 0;

			for (uint8_t vls = 1; vls <= OSR_MAX_VLS; vls += 2)
				for (unsigned mcast = 0; mcast < 2; mcast++)
					n_ok += try(*e, test_fabric_named, i,
						    (struct osr_request){ .max_vls = vls,
									  .multicast = mcast },
						    NULL, NULL) == OSR_OK;
			/* 15 VLs are enough for what is drawn here, unless the engine says which
			 * fabrics it is for. */
			assert_true(n_ok > 0 || (*e)->applies);
		}
}

static void test_random_fabrics(void **state)
{
	for (const struct osr_engine *const *e = osr_engines; *e; e++)
		for (unsigned i = 0; i < N_RANDOM; i++)
			try(*e, draw_random, i,
			    (struct osr_request){ .max_vls = 1 + i % 15, .multicast = i % 2 }, NULL,
			    NULL);
}

static bool has_option(const struct osr_engine *e, const char *name)
{
	const struct osr_param *p = e->params;

	while (p && p->name && strcmp(p->name, name))
		p++;
	return p && p->name;
}

/* Graphs in which channels carry nothing: an order of them was that of memory. */
static void test_sparse(void **state)
{
	for (const struct osr_engine *const *e = osr_engines; *e; e++)
		for (unsigned i = 68; i < 100 && has_option(*e, "any_sl"); i += 5)
			for (uint8_t vls = 2; vls <= 3; vls++)
				try(*e, draw_sparse, i,
				    (struct osr_request){ .max_vls = vls, .multicast = true },
				    "any_sl", "on");
}

/* Few lanes, and SLs given by pair: what is tried last. */
static void test_lanes_by_sl(void **state)
{
	for (const struct osr_engine *const *e = osr_engines; *e; e++)
		for (unsigned i = 0; has_option(*e, "any_sl") && i < 3 * N_RANDOM; i++)
			try(*e, draw_random, i,
			    (struct osr_request){ .max_vls = 1 + i % 4, .multicast = i % 2 },
			    "any_sl", "off");
}

/* Every word of every enumeration, both sides of every switch, both ends of every range. */
static void test_options(void **state)
{
	static const unsigned some[] = { 3, 5, 6, 8, 9, 13 };
	const struct osr_request req = { .max_vls = 15, .multicast = true };

	for (const struct osr_engine *const *e = osr_engines; *e; e++)
		for (const struct osr_param *p = (*e)->params; p && p->name; p++) {
			char values[128] = "", *rest = values, *value;

			if (p->type == OSR_PARAM_UINT)
				snprintf(values, sizeof(values), "%u|%u", (unsigned)p->min,
					 (unsigned)(p->max < 50 ? p->max : 50));
			else if (p->type != OSR_PARAM_STRING)
				snprintf(values, sizeof(values), "%s",
					 p->type == OSR_PARAM_BOOL ? "yes|no" : p->words);
			while (*values && (value = strsep(&rest, "|")))
				for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++)
					try(*e, test_fabric_named, some[i], req, p->name, value);
		}
}

/*
 * Each allocation fails in turn: a sentence, or the tables that there are without the failure; and nothing is lost (the
 * sanitizers see to that).
 */
static void fail_allocations(struct trial *x, struct osr_arena *arena, uint64_t digest)
{
	bool failed = true;

	for (size_t n = 1; failed; n++) {
		enum osr_status st;

		arena->fail_after = n;
		st = route(x, NULL);
		failed = !arena->fail_after;
		arena->fail_after = 0;
		assert_true(st == OSR_OK || (failed && st == OSR_NOMEM));
		assert_true(n < 10000);
		if (st == OSR_OK) {
			assert_right(x);
			assert_true(osr_routing_digest(&x->t.f, &x->r) == digest);
		}
		drop(x);
	}
}

static void starve(const struct osr_engine *e, unsigned fabric, const char *any_sl)
{
	struct trial x = { .engine = e, .req = { .max_vls = 15, .multicast = true } };

	osr_values_default(&x.values, e->params);
	/* Engines without this option have no lanes of this kind. */
	if (any_sl && !has_option(e, "any_sl"))
		return;
	if (any_sl)
		assert_int_equal(osr_values_set(&x.values, e->params, "any_sl", any_sl, NULL),
				 OSR_OK);
	test_fabric_named(&x.t, fabric);
	if (route(&x, NULL) == OSR_OK) {
		uint64_t digest = osr_routing_digest(&x.t.f, &x.r);

		drop(&x);
		fail_allocations(&x, &x.scratch, digest);
		fail_allocations(&x, &x.result, digest);
	}
	drop(&x);
	test_fabric_free(&x.t);
}

static void test_out_of_memory(void **state)
{
	static const unsigned some[] = { 0, 2, 5, 8, 13 };

	for (const struct osr_engine *const *e = osr_engines; *e; e++)
		for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
			starve(*e, some[i], NULL);
			starve(*e, some[i], "off");
			starve(*e, some[i], "on");
		}
}

/* On trees the plain paths suffice: one layer, any SL, and the least EFI there is. */
static void test_trees_need_one_layer(void **state)
{
	for (const struct osr_engine *const *e = osr_engines; *e; e++) {
		struct trial x = { .engine = *e, .req = { .max_vls = 8, .multicast = true } };

		if (!((*e)->capabilities & OSR_ENGINE_DEADLOCK_FREE) || (*e)->applies)
			continue;
		test_fabric_named(&x.t, 4); /* two-level tree */
		osr_values_default(&x.values, (*e)->params);
		assert_int_equal(route(&x, NULL), OSR_OK);
		assert_int_equal(x.r.n_layers, 1);
		assert_true(x.r.claims & OSR_CLAIM_MULTICAST);
		drop(&x);
		test_fabric_free(&x.t);
	}
}

/* The LIDs of a port, which are neighbours in the list of destinations, leave some switch by different ports. */
static bool spreads_lids(const struct trial *x)
{
	const struct osr_fabric *f = &x->t.f;

	for (uint32_t d = 1; d < f->n_dests; d++)
		if (f->dest_term[d] == f->dest_term[d - 1] &&
		    memcmp(x->r.lft + (size_t)d * f->n_switches,
			   x->r.lft + (size_t)(d - 1) * f->n_switches, f->n_switches) != 0)
			return true;
	return false;
}

/* Two leaves below four spines, and hosts with four LIDs each. */
static void test_lids_are_spread(void **state)
{
	for (const struct osr_engine *const *e = osr_engines; *e; e++) {
		struct trial x = { .engine = *e, .req = { .max_vls = 8, .multicast = true } };

		struct draft d;

		draft_new(&d);
		d.lmc = 2;
		for (uint32_t leaf = 0; leaf < 2; leaf++) {
			draft_switch(&d);
			for (uint32_t host = 0; host < 4; host++)
				draft_host(&d, leaf);
		}
		for (uint32_t spine = 2; spine < 6; spine++) {
			draft_switch(&d);
			draft_link(&d, 0, spine);
			draft_link(&d, 1, spine);
		}
		draft_build(&d, &x.t, "two leaves, four spines, LMC 2");
		osr_values_default(&x.values, (*e)->params);
		if (route(&x, NULL) == OSR_OK && !spreads_lids(&x))
			fail_msg("%s on %s: all LIDs of each port take the same routes", (*e)->name,
				 x.t.name);
		drop(&x);
		test_fabric_free(&x.t);
	}
}

static void test_registry(void **state)
{
	for (const struct osr_engine *const *e = osr_engines; *e; e++) {
		assert_ptr_equal(osr_engine_find((*e)->name), *e);
		assert_true((*e)->summary[0] && (*e)->reference[0]);
		assert_non_null((*e)->params);
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
