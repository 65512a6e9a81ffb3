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

/* May senders choose their SL, or is there one lane, where SLs say nothing? */
static bool transition_any(const struct osr_routing *r)
{
	return !r->sl || r->n_vls <= 1 || (r->claims & OSR_CLAIM_ANY_SL);
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

/* ---- parts that are left out and come back ------------------------------------------------------ */

#define LIFE_STEPS 8

/*
 * A fabric under sweeps, and what is in its switches: entries and SL2VL tables as they were sent last. Parts die and are
 * mended; others, without hosts, are drained: they stand, keep their tables, and no route uses them.
 */
struct life {
	const struct osr_engine *engine;
	struct osr_values values;
	struct osr_request req;
	struct test_fabric t;
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

static uint32_t whole_switch(const struct life *x, const struct osr_fabric *f, uint32_t s)
{
	return osr_fabric_switch_by_guid(&x->t.f, f->sw_guid[s]);
}

static uint32_t lid_in(const struct osr_fabric *f, uint16_t lid)
{
	return f->n_dests && lid <= f->max_lid ? f->lid_dest[lid] : OSR_NONE;
}

/* Of the parts of a life some are left out: does that cut off a host, or another switch? */
static bool stays_whole(const struct life *x)
{
	struct osr_arena arena = { 0 };
	struct osr_fabric f;
	bool whole;

	faults_build(&x->out, &arena, &f);
	whole = f.n_components == 1;
	for (uint32_t t = 0; t < x->t.f.n_terminals; t++)
		whole &= !x->t.f.term_weight[t] || x->out.term[t] ||
			 lid_in(&f, x->t.f.term_lid[t]) != OSR_NONE;
	osr_arena_free(&arena);
	return whole;
}

/* What is gone is out, too. */
static void put_together(struct life *x, const bool *chan, const bool *sw)
{
	for (uint32_t c = 0; c < x->t.f.n_channels; c++)
		x->out.chan[c] = x->gone.chan[c] | chan[c];
	for (uint32_t s = 0; s < x->t.f.n_switches; s++)
		x->out.sw[s] = x->gone.sw[s] | sw[s];
}

/* Some cables die or are mended; some switches without hosts, or cables, are drained or come back. */
static void change_parts(struct life *x, bool *chan, bool *sw, uint64_t *seed)
{
	const struct osr_fabric *f = &x->t.f;

	for (unsigned tries = 0, n = (unsigned)(1 + test_random(seed) % 4); n && tries < 60;
	     tries++) {
		uint32_t c = (uint32_t)(test_random(seed) % f->n_channels),
			 s = (uint32_t)(test_random(seed) % f->n_switches);
		unsigned what = (unsigned)(test_random(seed) % 4);
		bool away = test_random(seed) % 2;

		if (what == 0)
			sw[s] = !sw[s];
		else if (what == 1)
			chan[c] = chan[f->chan_rev[c]] = !chan[c];
		else
			faults_cable(&x->gone, c, away);
		put_together(x, chan, sw);
		if (stays_whole(x)) {
			n--;
			continue;
		}
		if (what == 0)
			sw[s] = !sw[s];
		else if (what == 1)
			chan[c] = chan[f->chan_rev[c]] = !chan[c];
		else
			faults_cable(&x->gone, c, !away);
		put_together(x, chan, sw);
	}
}

/* One generation on the fabric of what stands. */
static void set_moment(const struct life *x, const struct osr_fabric *stands, struct moment *m,
		       struct osr_arena *arena, struct osr_routing *r)
{
	const struct osr_fabric *f = &m->of->fabric;
	const struct osr_routing *of = &m->of->routing;
	size_t n = stands->n_switches;

	*r = *of;
	r->n_switches = stands->n_switches;
	r->n_dests = stands->n_dests;
	r->n_channels = stands->n_channels;
	r->rank = NULL;
	r->lft = osr_alloc(arena, stands->n_dests * n, 1);
	r->sl = transition_any(of) ? NULL : osr_alloc(arena, stands->n_dests * n, 1);
	r->granted = r->sl && of->granted
			     ? osr_calloc(arena, stands->n_dests * n, sizeof(*r->granted))
			     : NULL;
	r->sl2vl = m->vls;
	r->sl2vl_row = m->vls_row;
	r->mcast_parent = of->mcast_parent ? osr_alloc(arena, n, sizeof(*r->mcast_parent)) : NULL;
	for (uint32_t s = 0; s < n; s++) {
		uint32_t there = osr_fabric_switch_by_guid(f, stands->sw_guid[s]);
		uint32_t all = whole_switch(x, stands, s);
		/* No packet comes to a switch that is left out, and was before, nor does it send one. */
		bool asleep =
			x->out.sw[all] && osr_fabric_switch_by_guid(&x->result[x->n - 1].fabric,
								    stands->sw_guid[s]) == OSR_NONE;

		if (r->mcast_parent)
			r->mcast_parent[s] =
				there == OSR_NONE
					? OSR_NONE
					: faults_channel_in(stands, f, of->mcast_parent[there]);
		for (uint32_t d = 0; d < stands->n_dests; d++) {
			uint32_t is = lid_in(f, stands->dest_lid[d]);
			size_t at = d * n + s;

			r->lft[at] = asleep ? OSR_NO_PATH : m->lft[all][stands->dest_lid[d]];
			if (!r->sl)
				continue;
			r->sl[at] = OSR_NO_SL;
			if (there == OSR_NONE || is == OSR_NONE ||
			    osr_lft(of, there, is) == OSR_NO_PATH)
				continue;
			r->sl[at] = of->sl[(size_t)is * f->n_switches + there];
			if (r->granted)
				((uint16_t *)r->granted)[at] =
					of->granted[(size_t)is * f->n_switches + there];
		}
	}
}

/* All SL2VL tables on the fabric of what stands. */
static void set_vls(const struct life *x, const struct osr_fabric *stands, struct osr_arena *arena,
		    struct moment *m)
{
	struct osr_routing r = { 0 };

	m->vls = NULL;
	m->vls_row = NULL;
	if (!x->by_turn[0] && !x->by_turn[1])
		return;
	assert_int_equal(osr_routing_alloc_sl2vl(&r, stands, 0, arena, NULL), OSR_OK);
	for (uint32_t s = 0; s < stands->n_switches; s++) {
		size_t ports = stands->sw_n_ports[s] + (size_t)1;

		memcpy(r.sl2vl + r.sl2vl_row[s], x->vls[whole_switch(x, stands, s)],
		       ports * ports * sizeof(*r.sl2vl));
	}
	m->vls = r.sl2vl;
	m->vls_row = r.sl2vl_row;
}

/* Can packets that meet both deadlock? */
static bool moments_are_safe(const struct life *x, const struct osr_fabric *stands,
			     struct moment *a, struct moment *b, uint32_t modes)
{
	struct osr_arena arena = { 0 };
	struct osr_routing old, now;
	const struct osr_generation gen[2] = { { .routing = &now }, { .routing = &old } };
	struct table_waits w = { .f = stands, .gen = gen, .n = 2 };
	bool safe;

	set_moment(x, stands, a, &arena, &old);
	set_moment(x, stands, b, &arena, &now);
	w.modes = a->of->routing.claims & b->of->routing.claims & modes;
	if (!old.mcast_parent || !now.mcast_parent)
		w.modes &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	w.one_lane = !a->vls && !b->vls && !old.sl && !now.sl;
	table_wait(&w, &arena);
	safe = table_waits_end(&w);
	osr_arena_free(&arena);
	return safe;
}

/* What is sent to a switch of the routed fabric. */
static void send_tables(struct life *x, const struct osr_result *r, uint32_t s, uint8_t **lft)
{
	const struct osr_fabric *f = &r->fabric;
	uint8_t *to = lft[whole_switch(x, f, s)];

	memset(to, OSR_NO_PATH, x->n_lids);
	for (uint32_t d = 0; d < f->n_dests; d++)
		to[f->dest_lid[d]] = osr_lft(&r->routing, s, d);
}

static void send_vls(struct life *x, const struct osr_result *r)
{
	for (uint32_t s = 0; s < r->fabric.n_switches; s++) {
		size_t ports = r->fabric.sw_n_ports[s] + (size_t)1;
		osr_sl2vl_t *to = x->vls[whole_switch(x, &r->fabric, s)];

		for (size_t i = 0; i < ports * ports; i++)
			for (uint8_t sl = 0; sl < 16; sl++)
				to[i][sl] =
					r->routing.sl2vl
						? r->routing.sl2vl[r->routing.sl2vl_row[s] + i][sl]
						: sl;
	}
}

/* The sweep of a life; held: what the switches of all that stands hold. */
static enum osr_status sweep_of_life(struct life *x, const struct osr_fabric *stands)
{
	struct osr_arena scratch = { 0 };
	struct osr_held_switch *sw = osr_calloc(&scratch, stands->n_switches, sizeof(*sw));
	struct osr_held held = { .standing = stands, .sw = sw };
	struct osr_result *to = &x->result[x->n];
	const struct osr_result *last = x->n ? to - 1 : NULL;
	struct osr_job job = { .engine = x->engine,
			       .values = &x->values,
			       .request = x->req,
			       .previous = last,
			       .held = &held,
			       .scratch = &scratch,
			       .arena = &x->arena };
	struct osr_sweep sweep;
	enum osr_status st;

	for (uint32_t s = 0; s < stands->n_switches; s++) {
		uint32_t all = whole_switch(x, stands, s);
		bool known = last && osr_fabric_switch_by_guid(&last->fabric, stands->sw_guid[s]) !=
					     OSR_NONE;

		sw[s] = (struct osr_held_switch){ .lft = x->lft[all], .n_lids = x->n_lids };
		if (!known)
			sw[s].sl2vl = (const osr_sl2vl_t *)x->vls[all];
	}
	faults_build(&x->out, &x->arena, &to->fabric);
	st = osr_sweep(&job, to, &sweep);
	osr_arena_free(&scratch);
	return st;
}

struct words {
	unsigned n, free, rounds, lost, early, unicast, by_sl, by_turn, compared;
};

/* Is what the sweep says of the transition true of what is in the switches, and of what they are sent? */
static void judge_life(struct life *x, const struct osr_fabric *stands, struct words *n)
{
	const struct osr_result *last = &x->result[x->n - 1], *now = last + 1;
	const struct osr_stable *stable = &now->routing.stable;
	struct moment before = { .lft = x->lft, .of = last },
		      first = { .lft = x->round, .of = last }, after = { .of = now };
	struct osr_arena arena = { 0 };
	uint8_t *sent[MAX_DRAFT_SWITCHES];
	uint32_t modes = BOTH;
	bool one, any = transition_any(&now->routing) && transition_any(&last->routing),
		  alike = transition_any(&now->routing) == transition_any(&last->routing);

	set_vls(x, stands, &arena, &before);
	for (uint32_t s = 0; s < x->t.f.n_switches; s++) {
		memcpy(x->round[s], x->lft[s], x->n_lids);
		sent[s] = osr_alloc(&arena, x->n_lids, 1);
		memcpy(sent[s], x->lft[s], x->n_lids);
	}
	for (uint64_t i = 0; i < stable->n_withdrawn; i++) {
		uint32_t s = (uint32_t)(now->routing.withdrawn[i] % now->fabric.n_switches),
			 d = (uint32_t)(now->routing.withdrawn[i] / now->fabric.n_switches);

		x->round[whole_switch(x, &now->fabric, s)][now->fabric.dest_lid[d]] = OSR_NO_PATH;
	}
	for (uint32_t i = 0; i < now->routing.n_early; i++)
		send_tables(x, now, now->routing.early[i], x->round);
	for (uint32_t s = 0; s < now->fabric.n_switches; s++)
		send_tables(x, now, s, sent);
	send_vls(x, now);
	after.lft = sent;
	set_vls(x, stands, &arena, &after);
	n->n++;
	n->early += now->routing.n_early > 0;
	n->by_turn += now->routing.sl2vl && last->routing.sl2vl;
	n->by_sl += !any && alike;
	n->free += stable->transition == OSR_TRANSITION_FREE;
	n->rounds += stable->transition == OSR_TRANSITION_ROUNDS;
	n->lost += stable->transition == OSR_TRANSITION_LOOP;
	if (stable->transition != OSR_TRANSITION_UNASKED && alike &&
	    !((last->routing.claims ^ now->routing.claims) & (any ? OSR_CLAIM_MULTICAST : BOTH))) {
		n->compared++;
		one = moments_are_safe(x, stands, &before, &after, BOTH);
		if (one != (stable->transition == OSR_TRANSITION_FREE))
			fail_msg("%s on %s: old and new tables %s: %s", x->engine->name, x->t.name,
				 one ? "have no loop" : "can deadlock", stable->transition_why);
		/* SL2VL tables change in the first round, the trees of multicast in the second. */
		first.vls = after.vls;
		first.vls_row = after.vls_row;
		if (stable->transition_unicast)
			modes &= ~(uint32_t)OSR_CLAIM_MULTICAST;
		if (stable->transition_unicast && !osr_routing_in_rounds(&now->routing))
			assert_true(moments_are_safe(x, stands, &before, &after, modes));
		else if (stable->transition_unicast || stable->transition == OSR_TRANSITION_ROUNDS)
			assert_true(moments_are_safe(x, stands, &before, &first, modes) &&
				    moments_are_safe(x, stands, &first, &after, modes));
		n->unicast += stable->transition_unicast;
	}
	for (uint32_t s = 0; s < x->t.f.n_switches; s++)
		memcpy(x->lft[s], sent[s], x->n_lids);
	osr_arena_free(&arena);
}

static void live(struct life *x, uint64_t seed, struct words *n)
{
	const struct osr_fabric *f = &x->t.f;
	bool *chan = calloc(f->n_channels + 1, sizeof(*chan)),
	     *sw = calloc(f->n_switches, sizeof(*sw));

	faults_new(&x->gone, f);
	faults_new(&x->out, f);
	x->n_lids = f->max_lid + 1;
	for (uint32_t s = 0; s < f->n_switches; s++) {
		size_t ports = f->sw_n_ports[s] + (size_t)1;

		x->lft[s] = malloc(x->n_lids);
		x->round[s] = malloc(x->n_lids);
		x->vls[s] = calloc(ports * ports, sizeof(*x->vls[s]));
		memset(x->lft[s], OSR_NO_PATH, x->n_lids);
	}
	/* Every third switch has no hosts, and can be drained. */
	for (uint32_t t = 0; t < f->n_terminals; t++)
		x->gone.term[t] = x->out.term[t] = f->term_weight[t] && f->term_switch[t] % 3 == 1;
	for (x->n = 0; x->n < LIFE_STEPS; x->n++) {
		struct osr_fabric stands;

		if (x->n)
			change_parts(x, chan, sw, &seed);
		faults_build(&x->gone, &x->arena, &stands);
		if (sweep_of_life(x, &stands))
			break;
		x->by_turn[0] = x->by_turn[1];
		x->by_turn[1] = x->result[x->n].routing.sl2vl;
		if (x->n) {
			judge_life(x, &stands, n);
			continue;
		}
		for (uint32_t s = 0; s < x->result[0].fabric.n_switches; s++)
			send_tables(x, &x->result[0], s, x->lft);
		send_vls(x, &x->result[0]);
	}
	for (uint32_t s = 0; s < f->n_switches; s++) {
		free(x->lft[s]);
		free(x->round[s]);
		free(x->vls[s]);
	}
	free(chan);
	free(sw);
	osr_arena_free(&x->arena);
	faults_free(&x->gone);
	faults_free(&x->out);
	test_fabric_free(&x->t);
}

static void test_left_out(void **state)
{
	static const struct {
		const char *engine, *any_sl;
	} ways[] = {
		{ "dfsssp", "auto" }, { "dfsssp", "on" }, { "dfsssp", "off" }, { "osmroutes", NULL }
	};

	for (size_t way = 0; way < sizeof(ways) / sizeof(*ways); way++) {
		struct words n = { 0 };

		for (unsigned i = 0; i < test_number("OSR_LIVES", 60); i++) {
			struct life x = { .engine = osr_engine_find(ways[way].engine),
					  .req = { .max_vls = (uint8_t)(1 + i % 4),
						   .multicast = i % 3 != 0 } };

			osr_values_default(&x.values, x.engine->params);
			if (ways[way].any_sl)
				assert_int_equal(osr_values_set(&x.values, x.engine->params,
								"any_sl", ways[way].any_sl, NULL),
						 OSR_OK);
			if (i % 4 == 0)
				test_fabric_named(&x.t, i % 16 ? 6 : 7); /* tori */
			else
				test_fabric_random(&x.t, 6 + i % 9, 10 + i * 7 % 20, 70 + i);
			live(&x, i, &n);
		}
		print_message("%s %s: %u transitions (%u by SL, %u by turn), %u free, in two "
			      "rounds %u (%u "
			      "with switches that come back first), not %u (%u for multicast "
			      "alone); %u judged\n",
			      ways[way].engine, ways[way].any_sl ? ways[way].any_sl : "", n.n,
			      n.by_sl, n.by_turn, n.free, n.rounds, n.early, n.lost, n.unicast,
			      n.compared);
		assert_true(n.compared > n.n / 2 && n.free && n.rounds && n.early && n.unicast);
	}
}

TEST_PROGRAM(test_engines, test_left_out)
