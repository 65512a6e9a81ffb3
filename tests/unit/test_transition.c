/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two full routes of a fabric before and after faults, under every engine: whether the mixture can
 * deadlock must be what a judge says that follows every packet, and every copy of a multicast
 * packet, through every mixture. What is taken over from the old tables must help, change no entry,
 * and pass the checker.
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
	struct test_fabric test;
	struct faults faults;
	struct ledger ledger;
	struct osr_arena arena;
	struct osr_result old, now;
};

/* From nothing, or re-routed from the tables before. */
static enum osr_status route(struct pair *pair, const struct osr_result *before,
			     struct osr_result *to)
{
	struct osr_arena scratch = { 0 };
	const struct osr_job job = { .engine = pair->engine,
				     .values = &pair->values,
				     .request = pair->req,
				     .previous = before,
				     .no_transition = "asked by the test",
				     .scratch = &scratch,
				     .arena = &pair->arena };
	struct osr_sweep sweep;
	enum osr_status st;

	faults_build(&pair->faults, &pair->arena, &to->fabric);
	st = osr_sweep_route(&job, NULL, to, &sweep);
	osr_arena_free(&scratch);
	return st;
}

/* May senders choose their SL, or is there one lane, where SLs say nothing? */
static bool transition_any(const struct osr_routing *routing)
{
	return !routing->sl || routing->n_vls <= 1 || (routing->claims & OSR_CLAIM_ANY_SL);
}

static struct osr_job job_of(const struct pair *pair, struct osr_arena *scratch,
			     struct osr_arena *arena, struct osr_routing *routing,
			     struct osr_diag *diag)
{
	return (struct osr_job){ .request = pair->req,
				 .previous = &pair->old,
				 .scratch = scratch,
				 .arena = arena,
				 .diag = diag,
				 .fabric = &pair->now.fabric,
				 .routing = routing };
}

/* `plain`: as the tables were made, with nothing of the old ones. */
static void ask(struct pair *pair, bool plain, struct osr_routing *routing)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	const struct osr_job job = job_of(pair, &scratch, &pair->arena, routing, &diag);

	routing->stable.kept |= plain;
	if (osr_transition(&job))
		fail_msg("%s on %s: %s", pair->engine->name, pair->test.name, diag.text);
	assert_int_equal(scratch.in_use, 0);
	osr_arena_free(&scratch);
}

static void assert_checked(struct pair *pair, const struct osr_routing *routing)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct osr_verdict verdict;

	if (osr_check(&pair->now.fabric, routing, &scratch, &verdict, &diag))
		fail_msg("%s on %s: %s", pair->engine->name, pair->test.name, diag.text);
	if (!table_judge(&pair->now.fabric, routing, &verdict))
		fail_msg("%s on %s: the judge refuses what the checker accepts", pair->engine->name,
			 pair->test.name);
	osr_arena_free(&scratch);
}

/* Packets in flight have the SLs of the old tables, those to come have the new ones. */
static bool judge_says_free(struct pair *pair, const struct osr_result *before,
			    const struct osr_routing *routing)
{
	struct osr_result now = { .fabric = pair->now.fabric, .routing = *routing };
	bool safe;

	ledger_new(&pair->ledger, &pair->test.fabric);
	ledger_note(&pair->ledger, &pair->old);
	ledger_note(&pair->ledger, &now);
	safe = ledger_safe(&pair->ledger, &now, before, true);
	ledger_free(&pair->ledger);
	return safe;
}

static void judge(struct pair *pair, const struct osr_routing *routing, struct totals *totals)
{
	if (((pair->old.routing.claims ^ routing->claims) & BOTH) || routing->sl2vl ||
	    pair->old.routing.sl2vl)
		return;
	totals->judged++;
	if (judge_says_free(pair, &pair->old, routing) !=
	    (routing->stable.transition == OSR_TRANSITION_FREE))
		fail_msg("%s on %s: %s", pair->engine->name, pair->test.name,
			 routing->stable.transition == OSR_TRANSITION_FREE
				 ? "old and new tables can deadlock"
				 : routing->stable.transition_why);
}

/* The tables of before, on the fabric of today, as the first round leaves them. */
static void first_round(struct pair *pair, const struct osr_routing *routing,
			struct osr_result *first)
{
	struct osr_arena scratch = { 0 };
	size_t size = (size_t)routing->n_dests * routing->n_switches;
	struct osr_earlier earlier;
	uint64_t n_whole = 0;
	uint8_t *lft;

	first->fabric = pair->now.fabric;
	assert_int_equal(osr_carry(&pair->old.fabric, &pair->old.routing, &pair->now.fabric,
				   &scratch, &pair->arena, &earlier, NULL),
			 OSR_OK);
	first->routing = earlier.routing;
	lft = osr_alloc(&pair->arena, size, 1);
	memcpy(lft, first->routing.lft, size);
	for (uint64_t i = 0; i < routing->stable.n_withdrawn; i++) {
		assert_int_not_equal(lft[routing->withdrawn[i]],
				     routing->lft[routing->withdrawn[i]]);
		assert_int_not_equal(lft[routing->withdrawn[i]], OSR_NO_PATH);
		lft[routing->withdrawn[i]] = OSR_NO_PATH;
		n_whole++;
	}
	assert_true(routing->stable.n_withdrawn_whole <= n_whole);
	first->routing.lft = lft;
	osr_arena_free(&scratch);
}

/*
 * Does some packet go in circles, old entry here and new one there? Every switch with two ways is
 * tried.
 */
static bool goes_round(const struct osr_fabric *fabric, const struct osr_routing *a,
		       const struct osr_routing *b, uint32_t d)
{
	uint8_t *n_in = calloc(fabric->n_switches, 1), left = 0;
	bool again = true;

	/* What leads to no switch that is left goes, until nothing goes any more. */
	while (again) {
		again = false;
		left = 0;
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			bool stays = false;

			for (unsigned g = 0; g < 2 && !n_in[s] && s != fabric->dest_switch[d];
			     g++) {
				uint32_t c = osr_port_channel(
					fabric, s,
					(g ? a : b)->lft[(size_t)d * fabric->n_switches + s]);

				stays |= c != OSR_NONE && !n_in[fabric->chan_dst[c]];
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
 * What an order of the channels proves (osr_gate_mixed()), and the attempts that it makes quick,
 * have to be what the search of all tables finds, which is all there is without a certificate.
 */
static void compare_search(struct pair *pair, struct totals *totals)
{
	struct osr_routing quick = pair->now.routing, full = quick;

	if (!quick.stable.kept || !quick.rank || (quick.sl && !(quick.claims & OSR_CLAIM_ANY_SL)))
		return;
	full.rank = NULL;
	ask(pair, true, &quick);
	ask(pair, true, &full);
	assert_int_equal(quick.stable.transition, full.stable.transition);
	assert_true(quick.stable.n_withdrawn >= full.stable.n_withdrawn);
	assert_int_equal(quick.stable.n_withdrawn_whole, full.stable.n_withdrawn_whole);
	totals->rerouted++;
	totals->by_turn += quick.sl2vl != NULL;
	assert_checked(pair, &quick);
}

/*
 * Two rounds: no packet goes round in either; and where it is said to be proven the judge finds no
 * loop.
 */
static void judge_rounds(struct pair *pair, struct osr_routing *routing)
{
	struct osr_result first = { 0 };

	if (routing->stable.transition == OSR_TRANSITION_FREE || routing->sl2vl ||
	    pair->old.routing.sl2vl)
		return;
	if (!routing->withdrawn)
		return;
	first_round(pair, routing, &first);
	for (uint32_t d = 0; d < routing->n_dests; d++)
		assert_false(goes_round(&pair->now.fabric, &first.routing, routing, d));
	if (routing->stable.transition != OSR_TRANSITION_ROUNDS ||
	    ((pair->old.routing.claims ^ routing->claims) & BOTH))
		return;
	assert_checked(pair, routing);
	assert_true(judge_says_free(pair, &first, routing));
}

/* Once as they are, once with what the old tables have. */
static void compare(struct pair *pair, bool anew, struct totals *totals)
{
	static const struct osr_diag why = { "a test" };
	struct osr_routing *routing = &pair->now.routing, plain, prefer;
	struct osr_arena scratch = { 0 };

	struct osr_job job = { .request = pair->req,
			       .previous = &pair->old,
			       .scratch = &scratch,
			       .arena = &pair->arena,
			       .fabric = &pair->now.fabric,
			       .routing = routing };

	compare_search(pair, totals);
	if (anew && !routing->stable.kept)
		assert_int_equal(osr_repair_anew(&job, &why), OSR_OK);
	osr_arena_free(&scratch);
	plain = prefer = *routing;
	ask(pair, true, &plain);
	ask(pair, false, &prefer);
	assert_false(plain.stable.transition_order);
	if (!(routing->claims & pair->old.routing.claims & OSR_CLAIM_DEADLOCK_FREE)) {
		assert_int_equal(plain.stable.transition, OSR_TRANSITION_UNASKED);
		assert_true(plain.stable.transition_why[0]);
		return;
	}
	judge(pair, &plain, totals);
	judge_rounds(pair, &plain);
	totals->n++;
	totals->free += plain.stable.transition == OSR_TRANSITION_FREE;
	totals->rounds += prefer.stable.transition == OSR_TRANSITION_ROUNDS;
	totals->lost += prefer.stable.transition == OSR_TRANSITION_LOOP;
	totals->order +=
		prefer.stable.transition_order && prefer.stable.transition == OSR_TRANSITION_FREE;
	assert_true(prefer.lft == routing->lft && prefer.sl == routing->sl);
	if (!prefer.stable.transition_order) {
		assert_int_equal(prefer.stable.transition, plain.stable.transition);
		assert_true(prefer.rank == routing->rank);
		return;
	}
	assert_int_not_equal(plain.stable.transition, OSR_TRANSITION_FREE);
	assert_true(prefer.stable.transition >= OSR_TRANSITION_FREE &&
		    prefer.stable.transition != OSR_TRANSITION_LOOP);
	judge(pair, &prefer, totals);
	judge_rounds(pair, &prefer);
	assert_checked(pair, &prefer);
}

static void fail_some(struct pair *pair, unsigned n, uint64_t *seed)
{
	const struct osr_fabric *fabric = pair->faults.whole;

	for (unsigned i = 0; i < n && fabric->n_channels; i++)
		faults_cable(&pair->faults, test_random(seed) % fabric->n_channels, true);
	if (test_random(seed) % 4 == 0 && fabric->n_switches > 3)
		pair->faults.sw[test_random(seed) % fabric->n_switches] = true;
}

static void mend(struct pair *pair)
{
	const struct osr_fabric *fabric = pair->faults.whole;

	memset(pair->faults.chan, 0, fabric->n_channels * sizeof(bool));
	memset(pair->faults.sw, 0, fabric->n_switches * sizeof(bool));
}

/* The fabric is in x->t, and goes. */
static void both_ways(struct pair *pair, uint64_t seed, struct totals *totals)
{
	bool returns = test_random(&seed) % 2;

	faults_new(&pair->faults, &pair->test.fabric);
	osr_values_default(&pair->values, pair->engine->params);
	if (pair->by_sl)
		assert_int_equal(
			osr_values_set(&pair->values, pair->engine->params, "any_sl", "off", NULL),
			OSR_OK);
	if (returns)
		fail_some(pair, 1 + seed % 3, &seed);
	if (!route(pair, NULL, &pair->old)) {
		mend(pair);
		if (!returns || test_random(&seed) % 3 == 0)
			fail_some(pair, 1 + seed % 3, &seed);
		if (!route(pair, test_random(&seed) % 2 ? &pair->old : NULL, &pair->now))
			compare(pair, seed % 2, totals);
	}
	osr_arena_free(&pair->arena);
	faults_free(&pair->faults);
	test_fabric_free(&pair->test);
}

static void test_engine(const struct osr_engine *engine, bool by_sl, struct totals *totals)
{
	for (unsigned i = 0; i < test_number("OSR_TRANSITION_CASES", 700); i++) {
		struct pair pair = { .engine = engine,
				     .by_sl = by_sl,
				     .req = { .max_vls = (uint8_t)(1 + i % 8),
					      .multicast = i % 3 != 0,
					      .mcast_vl = (uint8_t)(i % 5 == 0 && i % 8 > 1) } };

		if (i % 2)
			test_fabric_named(&pair.test, i / 2 % N_TEST_FABRICS);
		else
			test_fabric_random(&pair.test, 3 + i % 12, 2 + i * 7 % 30, 900 + i);
		both_ways(&pair, i, totals);
	}
	print_message("%s%s: %u asked (%u judged), %u free as made, %u with the old order; in two "
		      "rounds %u, not %u; %u re-routed, %u by turn\n",
		      engine->name, by_sl ? " by SL" : "", totals->n, totals->judged, totals->free,
		      totals->order, totals->rounds, totals->lost, totals->rerouted,
		      totals->by_turn);
}

static void test_engines(void **state)
{
	struct totals totals;

	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++) {
		totals = (struct totals){ 0 };
		test_engine(*engine, false, &totals);
		assert_true(totals.rerouted || !((*engine)->capabilities & OSR_ENGINE_REROUTE));
		assert_true(totals.by_turn || strcmp((*engine)->name, "dfsssp") != 0);
	}
	totals = (struct totals){ 0 };
	test_engine(osr_engine_find("dfsssp"), true, &totals);
	assert_true(totals.judged > 500 && totals.free > 100 && totals.order > 20 &&
		    totals.rounds > 80);
}

/* ---- parts that are left out and come back --------------------------------------------------- */

#define LIFE_STEPS 8

/*
 * A fabric under sweeps, and what is in its switches: entries and SL2VL tables as they were sent
 * last. Parts die and are mended; others, without hosts, are drained: they stand, keep their
 * tables, and no route uses them.
 */
struct life {
	const struct osr_engine *engine;
	struct osr_values values;
	struct osr_request req;
	struct test_fabric test;
	struct faults gone, out; /* out: drained parts; built, it has those that are gone, too */
	struct osr_arena arena;
	struct osr_result result[LIFE_STEPS];
	uint32_t n;
	uint32_t n_lids;
	uint8_t *lft[MAX_DRAFT_SWITCHES];     /* of the whole fabric, [n_lids] */
	uint8_t *round[MAX_DRAFT_SWITCHES];   /* the same between two rounds */
	osr_sl2vl_t *vls[MAX_DRAFT_SWITCHES]; /* rows by input port */
	bool by_turn[2]; /* the last tables, and the new ones, have SL2VL tables */
};

/* What the switches hold at one time, with the SLs and the spanning order of a sweep. */
struct moment {
	uint8_t **lft;
	const struct osr_result *of;
	osr_sl2vl_t *vls; /* all rows of the standing fabric; NULL: VL = SL */
	uint32_t *vls_row;
};

static uint32_t whole_switch(const struct life *life, const struct osr_fabric *fabric, uint32_t s)
{
	return osr_fabric_switch_by_guid(&life->test.fabric, fabric->sw_guid[s]);
}

static uint32_t lid_in(const struct osr_fabric *fabric, uint16_t lid)
{
	return fabric->n_dests && lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;
}

/* Of the parts of a life some are left out: does that cut off a host, or another switch? */
static bool stays_whole(const struct life *life)
{
	struct osr_arena arena = { 0 };
	struct osr_fabric fabric;
	bool whole;

	faults_build(&life->out, &arena, &fabric);
	whole = fabric.n_components == 1;
	for (uint32_t t = 0; t < life->test.fabric.n_terminals; t++)
		whole &= !life->test.fabric.term_weight[t] || life->out.term[t] ||
			 lid_in(&fabric, life->test.fabric.term_lid[t]) != OSR_NONE;
	osr_arena_free(&arena);
	return whole;
}

/* What is gone is out, too. */
static void put_together(struct life *life, const bool *chan, const bool *sw)
{
	for (uint32_t c = 0; c < life->test.fabric.n_channels; c++)
		life->out.chan[c] = life->gone.chan[c] | chan[c];
	for (uint32_t s = 0; s < life->test.fabric.n_switches; s++)
		life->out.sw[s] = life->gone.sw[s] | sw[s];
}

/*
 * Some cables die or are mended; some switches without hosts, or cables, are drained or come back.
 */
static void change_parts(struct life *life, bool *chan, bool *sw, uint64_t *seed)
{
	const struct osr_fabric *fabric = &life->test.fabric;

	for (unsigned tries = 0, n = (unsigned)(1 + test_random(seed) % 4); n && tries < 60;
	     tries++) {
		uint32_t c = (uint32_t)(test_random(seed) % fabric->n_channels),
			 s = (uint32_t)(test_random(seed) % fabric->n_switches);
		unsigned what = (unsigned)(test_random(seed) % 4);
		bool away = test_random(seed) % 2;

		if (what == 0)
			sw[s] = !sw[s];
		else if (what == 1)
			chan[c] = chan[fabric->chan_rev[c]] = !chan[c];
		else
			faults_cable(&life->gone, c, away);
		put_together(life, chan, sw);
		if (stays_whole(life)) {
			n--;
			continue;
		}
		if (what == 0)
			sw[s] = !sw[s];
		else if (what == 1)
			chan[c] = chan[fabric->chan_rev[c]] = !chan[c];
		else
			faults_cable(&life->gone, c, !away);
		put_together(life, chan, sw);
	}
}

/* One generation on the fabric of what stands. */
static void set_moment(const struct life *life, const struct osr_fabric *stands,
		       struct moment *moment, struct osr_arena *arena, struct osr_routing *routing)
{
	const struct osr_fabric *fabric = &moment->of->fabric;
	const struct osr_routing *of = &moment->of->routing;
	size_t n = stands->n_switches;

	*routing = *of;
	routing->n_switches = stands->n_switches;
	routing->n_dests = stands->n_dests;
	routing->n_channels = stands->n_channels;
	routing->rank = NULL;
	routing->lft = osr_alloc(arena, stands->n_dests * n, 1);
	routing->sl = transition_any(of) ? NULL : osr_alloc(arena, stands->n_dests * n, 1);
	routing->granted = routing->sl && of->granted ? osr_calloc(arena, stands->n_dests * n,
								   sizeof(*routing->granted))
						      : NULL;
	routing->sl2vl = moment->vls;
	routing->sl2vl_row = moment->vls_row;
	routing->mcast_parent =
		of->mcast_parent ? osr_alloc(arena, n, sizeof(*routing->mcast_parent)) : NULL;
	for (uint32_t s = 0; s < n; s++) {
		uint32_t there = osr_fabric_switch_by_guid(fabric, stands->sw_guid[s]);
		uint32_t all = whole_switch(life, stands, s);
		/*
		 * No packet comes to a switch that is left out, and was before, nor does it send
		 * one.
		 */
		bool asleep = life->out.sw[all] &&
			      osr_fabric_switch_by_guid(&life->result[life->n - 1].fabric,
							stands->sw_guid[s]) == OSR_NONE;

		if (routing->mcast_parent)
			routing->mcast_parent[s] =
				there == OSR_NONE ? OSR_NONE
						  : faults_channel_in(stands, fabric,
								      of->mcast_parent[there]);
		for (uint32_t d = 0; d < stands->n_dests; d++) {
			uint32_t is = lid_in(fabric, stands->dest_lid[d]);
			size_t at = d * n + s;

			routing->lft[at] =
				asleep ? OSR_NO_PATH : moment->lft[all][stands->dest_lid[d]];
			if (!routing->sl)
				continue;
			routing->sl[at] = OSR_NO_SL;
			if (there == OSR_NONE || is == OSR_NONE ||
			    osr_lft(of, there, is) == OSR_NO_PATH)
				continue;
			routing->sl[at] = of->sl[(size_t)is * fabric->n_switches + there];
			if (routing->granted)
				((uint16_t *)routing->granted)[at] =
					of->granted[(size_t)is * fabric->n_switches + there];
		}
	}
}

/* All SL2VL tables on the fabric of what stands. */
static void set_vls(const struct life *life, const struct osr_fabric *stands,
		    struct osr_arena *arena, struct moment *moment)
{
	struct osr_routing routing = { 0 };

	moment->vls = NULL;
	moment->vls_row = NULL;
	if (!life->by_turn[0] && !life->by_turn[1])
		return;
	assert_int_equal(osr_routing_alloc_sl2vl(&routing, stands, 0, arena, NULL), OSR_OK);
	for (uint32_t s = 0; s < stands->n_switches; s++) {
		size_t ports = stands->sw_n_ports[s] + (size_t)1;

		memcpy(routing.sl2vl + routing.sl2vl_row[s],
		       life->vls[whole_switch(life, stands, s)],
		       ports * ports * sizeof(*routing.sl2vl));
	}
	moment->vls = routing.sl2vl;
	moment->vls_row = routing.sl2vl_row;
}

/* Can packets that meet both deadlock? */
static bool moments_are_safe(const struct life *life, const struct osr_fabric *stands,
			     struct moment *a, struct moment *b, uint32_t modes)
{
	struct osr_arena arena = { 0 };
	struct osr_routing old, now;
	const struct osr_generation gen[2] = { { .routing = &now }, { .routing = &old } };
	struct table_waits waits = { .fabric = stands, .gen = gen, .n = 2 };
	bool safe;

	set_moment(life, stands, a, &arena, &old);
	set_moment(life, stands, b, &arena, &now);
	waits.modes = a->of->routing.claims & b->of->routing.claims & modes;
	if (!old.mcast_parent || !now.mcast_parent)
		waits.modes &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	waits.one_lane = !a->vls && !b->vls && !old.sl && !now.sl;
	table_wait(&waits, &arena);
	safe = table_waits_end(&waits);
	osr_arena_free(&arena);
	return safe;
}

/* What is sent to a switch of the routed fabric. */
static void send_tables(struct life *life, const struct osr_result *result, uint32_t s,
			uint8_t **lft)
{
	const struct osr_fabric *fabric = &result->fabric;
	uint8_t *to = lft[whole_switch(life, fabric, s)];

	memset(to, OSR_NO_PATH, life->n_lids);
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		to[fabric->dest_lid[d]] = osr_lft(&result->routing, s, d);
}

static void send_vls(struct life *life, const struct osr_result *result)
{
	for (uint32_t s = 0; s < result->fabric.n_switches; s++) {
		size_t ports = result->fabric.sw_n_ports[s] + (size_t)1;
		osr_sl2vl_t *to = life->vls[whole_switch(life, &result->fabric, s)];

		for (size_t i = 0; i < ports * ports; i++)
			for (uint8_t sl = 0; sl < 16; sl++)
				to[i][sl] = result->routing.sl2vl
						    ? result->routing
							      .sl2vl[result->routing.sl2vl_row[s] +
								     i][sl]
						    : sl;
	}
}

/* The sweep of a life; held: what the switches of all that stands hold. */
static enum osr_status sweep_of_life(struct life *life, const struct osr_fabric *stands)
{
	struct osr_arena scratch = { 0 };
	struct osr_held_switch *sw = osr_calloc(&scratch, stands->n_switches, sizeof(*sw));
	struct osr_held held = { .standing = stands, .sw = sw };
	struct osr_result *to = &life->result[life->n];
	const struct osr_result *last = life->n ? to - 1 : NULL;
	struct osr_job job = { .engine = life->engine,
			       .values = &life->values,
			       .request = life->req,
			       .previous = last,
			       .held = &held,
			       .scratch = &scratch,
			       .arena = &life->arena };
	struct osr_sweep sweep;
	enum osr_status st;

	for (uint32_t s = 0; s < stands->n_switches; s++) {
		uint32_t all = whole_switch(life, stands, s);
		bool known = last && osr_fabric_switch_by_guid(&last->fabric, stands->sw_guid[s]) !=
					     OSR_NONE;

		sw[s] = (struct osr_held_switch){ .lft = life->lft[all], .n_lids = life->n_lids };
		if (!known)
			sw[s].sl2vl = (const osr_sl2vl_t *)life->vls[all];
	}
	faults_build(&life->out, &life->arena, &to->fabric);
	st = osr_sweep(&job, to, &sweep);
	osr_arena_free(&scratch);
	return st;
}

struct words {
	unsigned n, free, rounds, lost, early, unicast, by_sl, by_turn, compared;
};

/*
 * Is what the sweep says of the transition true of what is in the switches, and of what they are
 * sent?
 */
static void judge_life(struct life *life, const struct osr_fabric *stands, struct words *words)
{
	const struct osr_result *last = &life->result[life->n - 1], *now = last + 1;
	const struct osr_stable *stable = &now->routing.stable;
	struct moment before = { .lft = life->lft, .of = last },
		      first = { .lft = life->round, .of = last }, after = { .of = now };
	struct osr_arena arena = { 0 };
	uint8_t *sent[MAX_DRAFT_SWITCHES];
	uint32_t modes = BOTH;
	bool one, any = transition_any(&now->routing) && transition_any(&last->routing),
		  alike = transition_any(&now->routing) == transition_any(&last->routing);

	set_vls(life, stands, &arena, &before);
	for (uint32_t s = 0; s < life->test.fabric.n_switches; s++) {
		memcpy(life->round[s], life->lft[s], life->n_lids);
		sent[s] = osr_alloc(&arena, life->n_lids, 1);
		memcpy(sent[s], life->lft[s], life->n_lids);
	}
	for (uint64_t i = 0; i < stable->n_withdrawn; i++) {
		uint32_t s = (uint32_t)(now->routing.withdrawn[i] % now->fabric.n_switches),
			 d = (uint32_t)(now->routing.withdrawn[i] / now->fabric.n_switches);

		life->round[whole_switch(life, &now->fabric, s)][now->fabric.dest_lid[d]] =
			OSR_NO_PATH;
	}
	for (uint32_t i = 0; i < now->routing.n_early; i++)
		send_tables(life, now, now->routing.early[i], life->round);
	for (uint32_t s = 0; s < now->fabric.n_switches; s++)
		send_tables(life, now, s, sent);
	send_vls(life, now);
	after.lft = sent;
	set_vls(life, stands, &arena, &after);
	words->n++;
	words->early += now->routing.n_early > 0;
	words->by_turn += now->routing.sl2vl && last->routing.sl2vl;
	words->by_sl += !any && alike;
	words->free += stable->transition == OSR_TRANSITION_FREE;
	words->rounds += stable->transition == OSR_TRANSITION_ROUNDS;
	words->lost += stable->transition == OSR_TRANSITION_LOOP;
	if (stable->transition != OSR_TRANSITION_UNASKED && alike &&
	    !((last->routing.claims ^ now->routing.claims) & (any ? OSR_CLAIM_MULTICAST : BOTH))) {
		words->compared++;
		one = moments_are_safe(life, stands, &before, &after, BOTH);
		if (one != (stable->transition == OSR_TRANSITION_FREE))
			fail_msg("%s on %s: old and new tables %s: %s", life->engine->name,
				 life->test.name, one ? "have no loop" : "can deadlock",
				 stable->transition_why);
		/* SL2VL tables change in the first round, the trees of multicast in the second. */
		first.vls = after.vls;
		first.vls_row = after.vls_row;
		if (stable->transition_unicast)
			modes &= ~(uint32_t)OSR_CLAIM_MULTICAST;
		if (stable->transition_unicast && !osr_routing_in_rounds(&now->routing))
			assert_true(moments_are_safe(life, stands, &before, &after, modes));
		else if (stable->transition_unicast || stable->transition == OSR_TRANSITION_ROUNDS)
			assert_true(moments_are_safe(life, stands, &before, &first, modes) &&
				    moments_are_safe(life, stands, &first, &after, modes));
		words->unicast += stable->transition_unicast;
	}
	for (uint32_t s = 0; s < life->test.fabric.n_switches; s++)
		memcpy(life->lft[s], sent[s], life->n_lids);
	osr_arena_free(&arena);
}

static void live(struct life *life, uint64_t seed, struct words *words)
{
	const struct osr_fabric *fabric = &life->test.fabric;
	bool *chan = calloc(fabric->n_channels + 1, sizeof(*chan)),
	     *sw = calloc(fabric->n_switches, sizeof(*sw));

	faults_new(&life->gone, fabric);
	faults_new(&life->out, fabric);
	life->n_lids = fabric->max_lid + 1;
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		size_t ports = fabric->sw_n_ports[s] + (size_t)1;

		life->lft[s] = malloc(life->n_lids);
		life->round[s] = malloc(life->n_lids);
		life->vls[s] = calloc(ports * ports, sizeof(*life->vls[s]));
		memset(life->lft[s], OSR_NO_PATH, life->n_lids);
	}
	/* Every third switch has no hosts, and can be drained. */
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		life->gone.term[t] = life->out.term[t] =
			fabric->term_weight[t] && fabric->term_switch[t] % 3 == 1;
	for (life->n = 0; life->n < LIFE_STEPS; life->n++) {
		struct osr_fabric stands;

		if (life->n)
			change_parts(life, chan, sw, &seed);
		faults_build(&life->gone, &life->arena, &stands);
		if (sweep_of_life(life, &stands))
			break;
		life->by_turn[0] = life->by_turn[1];
		life->by_turn[1] = life->result[life->n].routing.sl2vl;
		if (life->n) {
			judge_life(life, &stands, words);
			continue;
		}
		for (uint32_t s = 0; s < life->result[0].fabric.n_switches; s++)
			send_tables(life, &life->result[0], s, life->lft);
		send_vls(life, &life->result[0]);
	}
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		free(life->lft[s]);
		free(life->round[s]);
		free(life->vls[s]);
	}
	free(chan);
	free(sw);
	osr_arena_free(&life->arena);
	faults_free(&life->gone);
	faults_free(&life->out);
	test_fabric_free(&life->test);
}

static void test_left_out(void **state)
{
	static const struct {
		const char *engine, *any_sl;
	} ways[] = {
		{ "dfsssp", "auto" }, { "dfsssp", "on" }, { "dfsssp", "off" }, { "osmroutes", NULL }
	};

	for (size_t way = 0; way < sizeof(ways) / sizeof(*ways); way++) {
		struct words words = { 0 };

		for (unsigned i = 0; i < test_number("OSR_LIVES", 60); i++) {
			struct life life = { .engine = osr_engine_find(ways[way].engine),
					     .req = { .max_vls = (uint8_t)(1 + i % 4),
						      .multicast = i % 3 != 0 } };

			osr_values_default(&life.values, life.engine->params);
			if (ways[way].any_sl)
				assert_int_equal(osr_values_set(&life.values, life.engine->params,
								"any_sl", ways[way].any_sl, NULL),
						 OSR_OK);
			if (i % 4 == 0)
				test_fabric_named(&life.test, i % 16 ? 6 : 7); /* tori */
			else
				test_fabric_random(&life.test, 6 + i % 9, 10 + i * 7 % 20, 70 + i);
			live(&life, i, &words);
		}
		print_message(
			"%s %s: %u transitions (%u by SL, %u by turn), %u free, in two rounds %u "
			"(%u with switches that come back first), not %u (%u for multicast "
			"alone); %u judged\n",
			ways[way].engine, ways[way].any_sl ? ways[way].any_sl : "", words.n,
			words.by_sl, words.by_turn, words.free, words.rounds, words.early,
			words.lost, words.unicast, words.compared);
		assert_true(words.compared > words.n / 2 && words.free && words.rounds &&
			    words.early && words.unicast);
	}
}

TEST_PROGRAM(test_engines, test_left_out)
