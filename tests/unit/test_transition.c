/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two full routes of a fabric before and after faults, under every engine: whether the mixture can
 * deadlock must be what a judge says that follows every packet, and every copy of a multicast packet,
 * through every mixture. What is taken over from the old tables must help, change no entry, and pass
 * the checker.
 */
#include "test.h"

#include <osmroutes/check.h>
#include "core/repair/repair.h"
#include "core/transition/transition.h"
#include "core/data/carry.h"
#include "core/verify/union.h"
#include <osmroutes/sweep.h>

#include "faults.h"
#include "tables.h"

#define BOTH (OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST)

struct totals {
	unsigned n, free, order, judged, rounds, lost, rerouted, by_turn;
};

struct pair {
	const struct osr_engine *engine;
	struct osr_values values;
	bool by_sl; /* never lanes by turn */
	struct osr_request req;
	struct test_fabric t;
	struct faults faults;
	struct ledger ledger;
	struct osr_arena arena;
	struct osr_result old, now;
};

/* From nothing, or re-routed from the tables before. */
static enum osr_status route(struct pair *x, const struct osr_result *before, struct osr_result *to)
{
	struct osr_arena scratch = { 0 };
	const struct osr_job job = { .engine = x->engine,
				     .values = &x->values,
				     .request = x->req,
				     .previous = before,
				     .no_transition = "asked by the test",
				     .scratch = &scratch,
				     .arena = &x->arena };
	struct osr_sweep sweep;
	enum osr_status st;

	faults_build(&x->faults, &x->arena, &to->fabric);
	st = osr_sweep_route(&job, NULL, to, &sweep);
	osr_arena_free(&scratch);
	return st;
}

static struct osr_job job_of(const struct pair *x, struct osr_arena *scratch,
			     struct osr_arena *arena, struct osr_routing *r, struct osr_diag *diag)
{
	return (struct osr_job){ .request = x->req,
				 .previous = &x->old,
				 .scratch = scratch,
				 .arena = arena,
				 .diag = diag,
				 .fabric = &x->now.fabric,
				 .routing = r };
}

/* `plain`: as the tables were made, with nothing of the old ones. */
static void ask(struct pair *x, bool plain, struct osr_routing *r)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	const struct osr_job job = job_of(x, &scratch, &x->arena, r, &diag);

	r->stable.kept |= plain;
	if (osr_transition(&job))
		fail_msg("%s on %s: %s", x->engine->name, x->t.name, diag.text);
	assert_int_equal(scratch.in_use, 0);
	osr_arena_free(&scratch);
}

static void assert_checked(struct pair *x, const struct osr_routing *r)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct osr_verdict verdict;

	if (osr_check(&x->now.fabric, r, &scratch, &verdict, &diag))
		fail_msg("%s on %s: %s", x->engine->name, x->t.name, diag.text);
	if (!table_judge(&x->now.fabric, r, &verdict))
		fail_msg("%s on %s: the judge refuses what the checker accepts", x->engine->name,
			 x->t.name);
	osr_arena_free(&scratch);
}

/* Packets in flight have the SLs of the old tables, those to come have the new ones. */
static bool judge_says_free(struct pair *x, const struct osr_result *before,
			    const struct osr_routing *r)
{
	struct osr_result now = { .fabric = x->now.fabric, .routing = *r };
	bool safe;

	ledger_new(&x->ledger, &x->t.f);
	ledger_note(&x->ledger, &x->old);
	ledger_note(&x->ledger, &now);
	safe = ledger_safe(&x->ledger, &now, before, true);
	ledger_free(&x->ledger);
	return safe;
}

static void judge(struct pair *x, const struct osr_routing *r, struct totals *n)
{
	if (((x->old.routing.claims ^ r->claims) & BOTH) || r->sl2vl || x->old.routing.sl2vl)
		return;
	n->judged++;
	if (judge_says_free(x, &x->old, r) != (r->stable.transition == OSR_TRANSITION_FREE))
		fail_msg("%s on %s: %s", x->engine->name, x->t.name,
			 r->stable.transition == OSR_TRANSITION_FREE
				 ? "old and new tables can deadlock"
				 : r->stable.transition_why);
}

/* The tables of before, on the fabric of today, as the first round leaves them. */
static void first_round(struct pair *x, const struct osr_routing *r, struct osr_result *first)
{
	struct osr_arena scratch = { 0 };
	size_t size = (size_t)r->n_dests * r->n_switches;
	struct osr_earlier earlier;
	uint64_t n_whole = 0;
	uint8_t *lft;

	first->fabric = x->now.fabric;
	assert_int_equal(osr_carry(&x->old.fabric, &x->old.routing, &x->now.fabric, &scratch,
				   &x->arena, &earlier, NULL),
			 OSR_OK);
	first->routing = earlier.routing;
	lft = osr_alloc(&x->arena, size, 1);
	memcpy(lft, first->routing.lft, size);
	for (uint64_t i = 0; i < r->stable.n_withdrawn; i++) {
		assert_int_not_equal(lft[r->withdrawn[i]], r->lft[r->withdrawn[i]]);
		assert_int_not_equal(lft[r->withdrawn[i]], OSR_NO_PATH);
		lft[r->withdrawn[i]] = OSR_NO_PATH;
		n_whole++;
	}
	assert_true(r->stable.n_withdrawn_whole <= n_whole);
	first->routing.lft = lft;
	osr_arena_free(&scratch);
}

/* Does some packet go in circles, old entry here and new one there? Every switch with two ways is tried. */
static bool goes_round(const struct osr_fabric *f, const struct osr_routing *a,
		       const struct osr_routing *b, uint32_t d)
{
	uint8_t *n_in = calloc(f->n_switches, 1), left = 0;
	bool again = true;

	/* What leads to no switch that is left goes, until nothing goes any more. */
	while (again) {
		again = false;
		left = 0;
		for (uint32_t s = 0; s < f->n_switches; s++) {
			bool stays = false;

			for (unsigned g = 0; g < 2 && !n_in[s] && s != f->dest_switch[d]; g++) {
				uint32_t c = osr_port_channel(
					f, s, (g ? a : b)->lft[(size_t)d * f->n_switches + s]);

				stays |= c != OSR_NONE && !n_in[f->chan_dst[c]];
			}
			again |= !n_in[s] && !stays;
			n_in[s] |= !stays;
			left |= stays;
		}
	}
	free(n_in);
	return left;
}

/*
 * What an order of the channels proves (osr_gate_mixed()), and the attempts that it makes quick, have to be what the
 * search of all tables finds, which is all there is without a certificate.
 */
static void compare_search(struct pair *x, struct totals *n)
{
	struct osr_routing quick = x->now.routing, full = quick;

	if (!quick.stable.kept || !quick.rank || (quick.sl && !(quick.claims & OSR_CLAIM_ANY_SL)))
		return;
	full.rank = NULL;
	ask(x, true, &quick);
	ask(x, true, &full);
	assert_int_equal(quick.stable.transition, full.stable.transition);
	assert_true(quick.stable.n_withdrawn >= full.stable.n_withdrawn);
	assert_int_equal(quick.stable.n_withdrawn_whole, full.stable.n_withdrawn_whole);
	n->rerouted++;
	n->by_turn += quick.sl2vl != NULL;
	assert_checked(x, &quick);
}

/* Two rounds: no packet goes round in either; and where it is said to be proven the judge finds no loop. */
static void judge_rounds(struct pair *x, struct osr_routing *r)
{
	struct osr_result first = { 0 };

	if (r->stable.transition == OSR_TRANSITION_FREE || r->sl2vl || x->old.routing.sl2vl)
		return;
	if (!r->withdrawn)
		return;
	first_round(x, r, &first);
	for (uint32_t d = 0; d < r->n_dests; d++)
		assert_false(goes_round(&x->now.fabric, &first.routing, r, d));
	if (r->stable.transition != OSR_TRANSITION_ROUNDS ||
	    ((x->old.routing.claims ^ r->claims) & BOTH))
		return;
	assert_checked(x, r);
	assert_true(judge_says_free(x, &first, r));
}

/* Once as they are, once with what the old tables have. */
static void compare(struct pair *x, bool anew, struct totals *n)
{
	static const struct osr_diag why = { "a test" };
	struct osr_routing *r = &x->now.routing, plain, prefer;
	struct osr_arena scratch = { 0 };

	struct osr_job job = { .request = x->req,
			       .previous = &x->old,
			       .scratch = &scratch,
			       .arena = &x->arena,
			       .fabric = &x->now.fabric,
			       .routing = r };

	compare_search(x, n);
	if (anew && !r->stable.kept)
		assert_int_equal(osr_repair_anew(&job, &why), OSR_OK);
	osr_arena_free(&scratch);
	plain = prefer = *r;
	ask(x, true, &plain);
	ask(x, false, &prefer);
	assert_false(plain.stable.transition_order);
	if (!(r->claims & x->old.routing.claims & OSR_CLAIM_DEADLOCK_FREE)) {
		assert_int_equal(plain.stable.transition, OSR_TRANSITION_UNASKED);
		assert_true(plain.stable.transition_why[0]);
		return;
	}
	judge(x, &plain, n);
	judge_rounds(x, &plain);
	n->n++;
	n->free += plain.stable.transition == OSR_TRANSITION_FREE;
	n->rounds += prefer.stable.transition == OSR_TRANSITION_ROUNDS;
	n->lost += prefer.stable.transition == OSR_TRANSITION_LOOP;
	n->order +=
		prefer.stable.transition_order && prefer.stable.transition == OSR_TRANSITION_FREE;
	assert_true(prefer.lft == r->lft && prefer.sl == r->sl);
	if (!prefer.stable.transition_order) {
		assert_int_equal(prefer.stable.transition, plain.stable.transition);
		assert_true(prefer.rank == r->rank);
		return;
	}
	assert_int_not_equal(plain.stable.transition, OSR_TRANSITION_FREE);
	assert_true(prefer.stable.transition >= OSR_TRANSITION_FREE &&
		    prefer.stable.transition != OSR_TRANSITION_LOOP);
	judge(x, &prefer, n);
	judge_rounds(x, &prefer);
	assert_checked(x, &prefer);
}

static void fail_some(struct pair *x, unsigned n, uint64_t *seed)
{
	const struct osr_fabric *f = x->faults.whole;

	for (unsigned i = 0; i < n && f->n_channels; i++)
		faults_cable(&x->faults, test_random(seed) % f->n_channels, true);
	if (test_random(seed) % 4 == 0 && f->n_switches > 3)
		x->faults.sw[test_random(seed) % f->n_switches] = true;
}

static void mend(struct pair *x)
{
	const struct osr_fabric *f = x->faults.whole;

	memset(x->faults.chan, 0, f->n_channels * sizeof(bool));
	memset(x->faults.sw, 0, f->n_switches * sizeof(bool));
}

/* The fabric is in x->t, and goes. */
static void both_ways(struct pair *x, uint64_t seed, struct totals *n)
{
	bool returns = test_random(&seed) % 2;

	faults_new(&x->faults, &x->t.f);
	osr_values_default(&x->values, x->engine->params);
	if (x->by_sl)
		assert_int_equal(
			osr_values_set(&x->values, x->engine->params, "any_sl", "off", NULL),
			OSR_OK);
	if (returns)
		fail_some(x, 1 + seed % 3, &seed);
	if (!route(x, NULL, &x->old)) {
		mend(x);
		if (!returns || test_random(&seed) % 3 == 0)
			fail_some(x, 1 + seed % 3, &seed);
		if (!route(x, test_random(&seed) % 2 ? &x->old : NULL, &x->now))
			compare(x, seed % 2, n);
	}
	osr_arena_free(&x->arena);
	faults_free(&x->faults);
	test_fabric_free(&x->t);
}

static void test_engine(const struct osr_engine *engine, bool by_sl, struct totals *n)
{
	for (unsigned i = 0; i < test_number("OSR_TRANSITION_CASES", 700); i++) {
		struct pair x = { .engine = engine,
				  .by_sl = by_sl,
				  .req = { .max_vls = (uint8_t)(1 + i % 8),
					   .multicast = i % 3 != 0,
					   .mcast_vl = (uint8_t)(i % 5 == 0 && i % 8 > 1) } };

		if (i % 2)
			test_fabric_named(&x.t, i / 2 % N_TEST_FABRICS);
		else
			test_fabric_random(&x.t, 3 + i % 12, 2 + i * 7 % 30, 900 + i);
		both_ways(&x, i, n);
	}
	print_message("%s%s: %u asked (%u judged), %u free as made, %u with the old order; in two "
		      "rounds %u, not %u; %u re-routed, %u by turn\n",
		      engine->name, by_sl ? " by SL" : "", n->n, n->judged, n->free, n->order,
		      n->rounds, n->lost, n->rerouted, n->by_turn);
}

static void test_engines(void **state)
{
	struct totals n;

	for (const struct osr_engine *const *e = osr_engines; *e; e++) {
		n = (struct totals){ 0 };
		test_engine(*e, false, &n);
		assert_true(n.rerouted || !((*e)->capabilities & OSR_ENGINE_REROUTE));
		assert_true(n.by_turn || strcmp((*e)->name, "dfsssp") != 0);
	}
	n = (struct totals){ 0 };
	test_engine(osr_engine_find("dfsssp"), true, &n);
	assert_true(n.judged > 500 && n.free > 100 && n.order > 20 && n.rounds > 80);
}

TEST_PROGRAM(test_engines)
