/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Stable re-routing: parts of random fabrics fail and return in any order, under every engine that
 * keeps its tables. After each step the tables must pass the checker and a judge that follows every
 * packet, on every SL that was ever given to a pair and through every mixture of old and new
 * entries; only routes that were cut may change; and with everything back the tables are the old
 * ones.
 */
#include "test.h"

#include <osmroutes/check.h>
#include "core/repair/repair.h"
#include "core/verify/union.h"

#include "faults.h"
#include "sweeps.h"
#include "tables.h"
#include "tori.h"

#define N_SLOTS 3

/* Over all lives, so that the tests cannot become empty. */
struct totals {
	uint64_t kept, anew, together, changed_sl;
};

/* One fabric's life. */
static struct life {
	const struct osr_engine *engine;
	struct osr_values values;
	struct osr_request req;
	struct test_fabric test;
	struct faults faults;
	struct ledger ledger;
	struct slot {
		struct osr_arena arena;
		struct osr_result result;
	} slot[N_SLOTS];
	struct slot *now;
	uint64_t first_digest;
	uint64_t n_lost;   /* pairs with SLs that are no longer safe, ever */
	bool prepares;     /* uses the time between */
	bool restarts;     /* the program ends and starts again, now and then */
	bool hands_over;   /* another one starts with what the switches have */
	bool always_kept;  /* nothing was worked in that the baseline did not have, */
	bool any_sl, came; /* any SL was safe on the first tables; it came later, and stays */
	struct totals *totals;
} x;

static const struct osr_result *current(void)
{
	return x.now ? &x.now->result : NULL;
}

/* A slot that neither the current result nor its baseline lives in. */
static struct slot *free_slot(void)
{
	for (unsigned i = 0; i < N_SLOTS; i++)
		if (&x.slot[i] != x.now && (!x.now || &x.slot[i].result != x.now->result.baseline))
			return &x.slot[i];
	abort();
}

static struct osr_job job_of(const struct osr_result *previous, struct osr_arena *scratch,
			     struct osr_arena *arena, struct osr_diag *diag)
{
	return (struct osr_job){ .engine = x.engine,
				 .values = &x.values,
				 .request = x.req,
				 .previous = previous,
				 .scratch = scratch,
				 .arena = arena,
				 .diag = diag };
}

#define NO_ENTRY SIZE_MAX

/* The entry of the same switch for the same LID in other tables, if it leads anywhere. */
static size_t entry_in(const struct osr_result *then, const struct osr_fabric *f, size_t at)
{
	const struct osr_fabric *g = &then->fabric;
	uint32_t d = (uint32_t)(at / f->n_switches), s = (uint32_t)(at % f->n_switches), old;
	uint32_t v = osr_fabric_switch_by_guid(g, f->sw_guid[s]);

	old = f->dest_lid[d] <= g->max_lid ? g->lid_dest[f->dest_lid[d]] : OSR_NONE;
	at = (size_t)old * g->n_switches + v;
	return v == OSR_NONE || old == OSR_NONE || s == f->dest_switch[d] ||
			       then->routing.lft[at] == OSR_NO_PATH
		       ? NO_ENTRY
		       : at;
}

/* Does the old route of this entry lead through something that is away today? */
static bool was_cut(const struct osr_result *before, const struct osr_fabric *f, size_t at)
{
	const struct osr_fabric *o = &before->fabric;
	uint32_t d = (uint32_t)(at / o->n_switches), s = (uint32_t)(at % o->n_switches);

	for (uint32_t hops = 0; s != o->dest_switch[d] && hops < o->n_switches; hops++) {
		uint32_t c = osr_port_channel(o, s, osr_lft(&before->routing, s, d));

		if (c == OSR_NONE || faults_channel_in(f, o, c) == OSR_NONE)
			return true;
		s = o->chan_dst[c];
	}
	return false;
}

/*
 * Entries that differ from the baseline's although the route of the baseline is still there: those
 * moved.
 */
static void assert_only_cut_changed(const struct osr_result *now)
{
	const struct osr_result *baseline = now->baseline;
	const struct osr_fabric *fabric = &now->fabric;
	uint64_t n = 0;

	for (size_t at = 0; at < (size_t)fabric->n_dests * fabric->n_switches; at++) {
		size_t was = entry_in(baseline, fabric, at);

		n += was != NO_ENTRY && now->routing.lft[at] != baseline->routing.lft[was] &&
		     !was_cut(baseline, fabric, was);
	}
	if (n > now->routing.stable.n_moved)
		fail_msg("%s on %s: %u entries changed whose routes were whole", x.engine->name,
			 x.test.name, (unsigned)n);
}

static void assert_right(const struct osr_result *now, const struct osr_verdict *checked)
{
	struct osr_verdict judged;

	if (!table_judge(&now->fabric, &now->routing, &judged))
		fail_msg("%s on %s: the judge refuses what the checker accepts", x.engine->name,
			 x.test.name);
	assert_int_equal(checked->efi, judged.efi);
	if (x.engine->capabilities & OSR_ENGINE_DEADLOCK_FREE)
		assert_true(checked->proven & OSR_CLAIM_DEADLOCK_FREE);
	if (x.engine->capabilities & OSR_ENGINE_MINIMAL)
		assert_true(checked->proven & OSR_CLAIM_MINIMAL);
}

/*
 * Old and new entries mixed: with every SL that was ever given or, once some are lost, with those
 * of both tables.
 */
static bool is_safe_together(const struct osr_result *now)
{
	struct ledger recent;
	bool safe;

	if (!x.n_lost)
		return ledger_safe(&x.ledger, now, current(), true);
	ledger_new(&recent, &x.test.fabric);
	ledger_note(&recent, current());
	ledger_note(&recent, now);
	safe = ledger_safe(&recent, now, current(), true);
	ledger_free(&recent);
	return safe;
}

/* What the result says of itself against the judge's opinion. */
static void assert_promises(const struct osr_result *now)
{
	const struct osr_stable *stable = &now->routing.stable;

	if (!(now->routing.claims & OSR_CLAIM_DEADLOCK_FREE))
		return;
	x.n_lost += stable->n_sl_lost;
	if (!x.n_lost && !ledger_safe(&x.ledger, now, NULL, false))
		fail_msg("%s on %s: SLs of earlier can deadlock", x.engine->name, x.test.name);
	if (stable->kept && !x.n_lost && !now->routing.sl2vl &&
	    stable->transition >= OSR_TRANSITION_LOOP && is_safe_together(now))
		fail_msg("%s on %s: old and new entries together have no loop, unlike \"%s\"",
			 x.engine->name, x.test.name, stable->transition_why);
	if (stable->kept && (stable->together || stable->transition == OSR_TRANSITION_FREE) &&
	    !is_safe_together(now))
		fail_msg("%s on %s: old and new entries together can deadlock", x.engine->name,
			 x.test.name);
}

/* The same sweep again, from these tables, makes the same. */
static void assert_same_again(const struct osr_result *last, const char *no_transition,
			      const struct osr_result *now)
{
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_result again = { .fabric = now->fabric };
	struct osr_job job = job_of(last, &scratch, &result, NULL);
	const struct osr_routing *r = &now->routing, *s = &again.routing;
	struct osr_sweep sweep;

	job.no_transition = no_transition;
	assert_int_equal(osr_sweep(&job, &again, &sweep), OSR_OK);
	assert_true(again.digest == now->digest);
	assert_int_equal(s->stable.kept, r->stable.kept);
	assert_int_equal(s->stable.n_sl_lost, r->stable.n_sl_lost);
	assert_int_equal(!s->rank, !r->rank);
	if (r->rank)
		assert_memory_equal(s->rank, r->rank,
				    (size_t)r->n_vls * r->n_channels * sizeof(*r->rank));
	osr_arena_free(&scratch);
	osr_arena_free(&result);
}

/* Work done in advance changes nothing. */
static void assert_same_unprepared(const struct osr_result *now)
{
	struct osr_result baseline, last = *current();

	if (last.baseline) {
		baseline = *last.baseline;
		baseline.routing.lane_deps = NULL;
		last.baseline = &baseline;
	}
	last.routing.lane_deps = NULL;
	assert_same_again(&last, NULL, now);
}

/* Of LFTs and SLs: VLs of turns that no route takes may be others. */
static uint64_t digest_of_entries(const struct osr_result *of)
{
	struct osr_routing routing = of->routing;

	routing.sl2vl = NULL;
	return osr_routing_digest(&of->fabric, &routing);
}

/* Channels of a that b does not have. */
static uint32_t count_missing(const struct osr_fabric *a, const struct osr_fabric *b)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < a->n_channels; c++)
		n += faults_channel_in(b, a, c) == OSR_NONE;
	return n;
}

/* SLs that the pair of an entry may have been given. */
static uint16_t given_sls(const struct osr_result *then, const struct osr_fabric *fabric, size_t at)
{
	size_t was = entry_in(then, fabric, at);

	if (was == NO_ENTRY)
		return 0;
	if (!then->routing.sl)
		return 1; /* the SM chose SL 0 */
	return (uint16_t)((1u << (then->routing.sl[was] & 15)) |
			  (then->routing.granted ? then->routing.granted[was] : 0));
}

/*
 * No SL is granted that nobody was given: not now, not in the last sweep (ever, if they had no
 * route then), and not in the baseline.
 */
static void assert_granted(const struct osr_result *now)
{
	const struct osr_fabric *fabric = &now->fabric;

	for (size_t at = 0;
	     now->routing.granted && at < (size_t)fabric->n_dests * fabric->n_switches; at++) {
		unsigned then = given_sls(current(), fabric, at), given = then;

		given |= 1u << (now->routing.sl[at] & 15);
		if (!then)
			given |= ledger_sls(&x.ledger, fabric, (uint32_t)(at / fabric->n_switches),
					    (uint32_t)(at % fabric->n_switches));
		if (now->baseline)
			given |= given_sls(now->baseline, fabric, at);
		assert_int_equal(now->routing.granted[at] & ~given, 0);
	}
}

/*
 * Pairs of a switch and a LID, both with a route then and now, whose SL or, with `ports`, whose
 * entry is another one.
 */
static uint64_t count_other(const struct osr_result *then, const struct osr_result *now, bool ports)
{
	const struct osr_routing *a = &now->routing, *b = &then->routing;
	uint64_t n = 0;

	for (size_t at = 0; at < (size_t)a->n_dests * a->n_switches; at++) {
		size_t was = entry_in(then, &now->fabric, at);

		if (was != NO_ENTRY && a->lft[at] != OSR_NO_PATH)
			n += ports ? a->lft[at] != b->lft[was] : a->sl[at] != b->sl[was];
	}
	return n;
}

/* What a repair says of itself, against both fabrics and both tables. */
static void assert_counts(const struct osr_result *now)
{
	const struct osr_stable *stable = &now->routing.stable;
	const struct osr_fabric *base = &now->baseline->fabric;

	assert_int_equal(stable->n_channels_lost, count_missing(base, &now->fabric));
	assert_int_equal(stable->n_channels_new, count_missing(&now->fabric, base));
	assert_true(stable->n_trees || now->routing.sl2vl ||
		    !count_other(now->baseline, now, true));
	assert_in_range(stable->n_trees, 0, now->fabric.n_dests);
}

/* Of repairs and of full routes, where lanes go by SL. */
static void assert_sls_counted(const struct osr_result *now)
{
	const struct osr_routing *routing = &now->routing, *before = &current()->routing;

	if (routing->sl && before->sl && !routing->sl2vl && !before->sl2vl &&
	    (routing->claims & OSR_CLAIM_DEADLOCK_FREE) && !(routing->claims & OSR_CLAIM_ANY_SL))
		assert_int_equal(routing->stable.n_sl_changed, count_other(current(), now, false));
}

/* Is the cable of c, in the fabric of now, part of the spanning order of before? */
static bool was_in_order(const struct osr_result *before, const struct osr_fabric *f, uint32_t c)
{
	const struct osr_fabric *g = &before->fabric;
	const uint32_t *parent = before->routing.mcast_parent;
	uint32_t was = faults_channel_in(g, f, c);

	return was != OSR_NONE &&
	       (parent[g->chan_src[was]] == was || parent[g->chan_dst[was]] == g->chan_rev[was]);
}

/* A cable joins the spanning order for somebody: there are end ports on both sides of it. */
static void assert_order_serves(const struct osr_result *now)
{
	const struct osr_fabric *fabric = &now->fabric;
	const uint32_t *parent = now->routing.mcast_parent;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		bool below = false, beside = false;

		if (parent[s] == OSR_NONE || was_in_order(current(), fabric, parent[s]))
			continue;
		for (uint32_t t = 0; t < fabric->n_switches; t++) {
			uint32_t v = t;

			while (v != s && parent[v] != OSR_NONE)
				v = fabric->chan_dst[parent[v]];
			if (fabric->sw_component[t] != fabric->sw_component[s] ||
			    !fabric->sw_sources[t])
				continue;
			below |= v == s;
			beside |= v != s;
		}
		if (!below || !beside)
			fail_msg("%s on %s: a cable of switch %u joins the spanning order for "
				 "nobody",
				 x.engine->name, x.test.name, s);
	}
}

static void step(void)
{
	struct slot *slot = free_slot();
	struct osr_result *now = &slot->result;
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	const struct osr_job job = job_of(current(), &scratch, &slot->arena, &diag);
	const struct osr_stable *stable;
	struct osr_sweep sweep;

	osr_arena_free(&slot->arena);
	memset(now, 0, sizeof(*now));
	faults_build(&x.faults, &slot->arena, &now->fabric);
	if (osr_sweep(&job, now, &sweep) != OSR_OK || sweep.refused)
		fail_msg("%s on %s: %s%s", x.engine->name, x.test.name, diag.text,
			 now->routing.stable.why);
	assert_string_equal(diag.text, "");
	assert_right(now, &sweep.verdict);
	stable = &now->routing.stable;
	x.totals->kept += stable->kept;
	x.totals->together +=
		stable->kept && (stable->together || stable->transition == OSR_TRANSITION_FREE);
	x.totals->changed_sl += stable->kept && stable->n_sl_changed;
	x.totals->anew += !stable->kept;
	x.always_kept &= !stable->new_baseline;
	x.any_sl = x.now ? x.any_sl : now->routing.claims & OSR_CLAIM_ANY_SL;
	x.came |= !x.any_sl && (now->routing.claims & OSR_CLAIM_ANY_SL);
	assert_true(stable->kept || !x.now || stable->why[0]);
	if (x.prepares && x.now)
		assert_same_unprepared(now);
	if (x.now) {
		assert_granted(now);
		assert_sls_counted(now);
	}
	ledger_note(&x.ledger, now);
	assert_promises(now);
	if (stable->kept && now->baseline && (!current() || now->digest != current()->digest))
		assert_only_cut_changed(now);
	if (stable->kept && now->baseline)
		assert_counts(now);
	if (stable->kept && now->routing.mcast_parent && current()->routing.mcast_parent)
		assert_order_serves(now);
	if (x.prepares)
		assert_int_equal(
			osr_repair_prepare(now, &scratch, &slot->arena, &now->routing, &diag),
			OSR_OK);
	osr_arena_free(&scratch);
	if (!x.now)
		x.first_digest = digest_of_entries(now);
	x.now = slot;
}

/* Something fails or comes back. */
static void change(uint64_t *seed)
{
	const struct osr_fabric *fabric = x.faults.whole;
	uint64_t what = test_random(seed) % 10;
	bool away = test_random(seed) % 3 != 0;

	if (what < 6 && fabric->n_channels) {
		faults_cable(&x.faults, test_random(seed) % fabric->n_channels, away);
	} else if (what < 8) {
		uint32_t s = test_random(seed) % fabric->n_switches, left = 0;

		for (uint32_t i = 0; i < fabric->n_switches; i++)
			left += !x.faults.sw[i];
		x.faults.sw[s] = away && left > 1;
	} else {
		uint32_t t = test_random(seed) % fabric->n_terminals;

		if (fabric->term_role[t] != OSR_ROLE_SP0)
			x.faults.term[t] = away;
	}
}

/* All that is left of the results is what was stored of them. */
static void restart(void)
{
	size_t size, same;
	struct osr_arena scratch = { 0 };
	uint64_t digest = current()->digest;
	struct osr_diag diag = { "" };
	void *buf = test_stored(current(), 7, &size), *again;

	assert_non_null(buf);
	for (unsigned i = 0; i < N_SLOTS; i++) {
		osr_arena_free(&x.slot[i].arena);
		memset(&x.slot[i].result, 0, sizeof(x.slot[i].result));
	}
	if (osr_store_read(buf, size, "store", x.engine->name, 7, &x.slot[0].arena,
			   &x.slot[1].arena, &scratch, &x.slot[0].result, &x.slot[1].result, &diag))
		fail_msg("%s on %s: %s", x.engine->name, x.test.name, diag.text);
	x.now = &x.slot[0];
	assert_true(x.now->result.digest == digest);
	again = test_stored(current(), 7, &same);
	assert_non_null(again);
	assert_int_equal(same, size);
	assert_memory_equal(buf, again, size);
	osr_arena_free(&scratch);
	free(again);
	free(buf);
}

/* Tables by turn as the switches have them, and a certificate that is made of them alone. */
static void hand_over(void)
{
	struct osr_result *now = &x.now->result;
	const struct osr_generation gen = { .routing = &now->routing };
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct osr_loop loop;
	uint32_t modes = OSR_CLAIM_ANY_SL | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_MULTICAST;

	now->baseline = NULL;
	now->routing.lane_deps = NULL;
	now->routing.rank = osr_alloc(&x.now->arena, OSR_MAX_VLS * (size_t)now->fabric.n_channels,
				      sizeof(*now->routing.rank));
	assert_non_null(now->routing.rank);
	if (osr_union_loop(&now->fabric, &gen, 1, modes, &scratch, &x.now->arena, &loop,
			   now->routing.rank, &diag) ||
	    loop.n)
		fail_msg("%s: %s", x.test.name, diag.text);
	x.always_kept = false;
	osr_arena_free(&scratch);
}

static void all_back(void)
{
	const struct osr_fabric *fabric = x.faults.whole;

	memset(x.faults.chan, 0, fabric->n_channels * sizeof(bool));
	memset(x.faults.sw, 0, fabric->n_switches * sizeof(bool));
	memset(x.faults.term, 0, fabric->n_terminals * sizeof(bool));
}

static void begin(void)
{
	faults_new(&x.faults, &x.test.fabric);
	ledger_new(&x.ledger, &x.test.fabric);
}

static void live(unsigned n_steps, uint64_t seed)
{
	begin();
	x.always_kept = true;
	step();
	for (unsigned i = 0; i < n_steps; i++) {
		uint64_t digest;

		change(&seed);
		step();
		/*
		 * A sweep of a fabric in which nothing has happened changes nothing, after a
		 * restart neither.
		 */
		digest = x.now->result.digest;
		if (x.restarts && test_random(&seed) % 3 == 0)
			restart();
		if (test_random(&seed) % 3 == 0)
			step();
		assert_true(x.now->result.digest == digest);
		if (x.hands_over && test_random(&seed) % 4 == 0)
			hand_over();
	}
	all_back();
	step();
	if (x.always_kept && !x.came)
		assert_true(digest_of_entries(&x.now->result) == x.first_digest);
}

static int finish(void **state)
{
	for (unsigned i = 0; i < N_SLOTS; i++)
		osr_arena_free(&x.slot[i].arena);
	faults_free(&x.faults);
	ledger_free(&x.ledger);
	test_fabric_free(&x.test);
	return 0;
}

/* Instead of the last one. */
static void start(const char *engine, struct osr_request req, struct totals *totals)
{
	finish(NULL);
	x = (struct life){ .engine = osr_engine_find(engine), .req = req, .totals = totals };
	osr_values_default(&x.values, x.engine->params);
}

static void set(const char *name, const char *value)
{
	assert_int_equal(osr_values_set(&x.values, x.engine->params, name, value, NULL), OSR_OK);
}

/* What became of all lives of an engine; at least so many repairs for each full route. */
static void sum_up(const char *what, const struct totals *totals, unsigned kept,
		   unsigned percent_together)
{
	print_message("%s: %u kept, %u anew, %u safe together, %u with other SLs\n", what,
		      (unsigned)totals->kept, (unsigned)totals->anew, (unsigned)totals->together,
		      (unsigned)totals->changed_sl);
	assert_true(totals->kept > kept * totals->anew);
	assert_true(totals->together * 100 > totals->kept * percent_together);
}

/*
 * Named fabrics, and random ones. In the last of these a part comes back whose pairs had no route,
 * and so no SL.
 */
static void test_lives(void **state)
{
	unsigned lives = test_number("OSR_REROUTE_LIVES", 60);

	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++) {
		struct totals random = { 0 }, named = { 0 };

		if (!((*engine)->capabilities & OSR_ENGINE_REROUTE) ||
		    !strcmp((*engine)->name, "angara"))
			continue; /* that one takes grids only */
		for (unsigned k = 0; k <= lives; k++) {
			unsigned i = k < lives ? k : 127;

			start((*engine)->name,
			      (struct osr_request){ .max_vls = 1 + i % 8, .multicast = i % 2 },
			      &random);
			test_fabric_random(&x.test, 2 + i % 15, 1 + i * 7 % 40, 500 + i);
			if (!strcmp((*engine)->name, "dfsssp")) {
				set("reversible_sl", i % 3 ? "auto" : "off");
				set("rebalance", "0");
			}
			x.prepares = i % 3 == 0;
			x.restarts = i % 4 == 1;
			live(12, i);
		}
		sum_up((*engine)->name, &random, 10, 70);
		for (unsigned i = 0; i < 4 * N_TEST_FABRICS; i++) {

			start((*engine)->name,
			      (struct osr_request){ .max_vls = 8, .multicast = i % 2 }, &named);
			test_fabric_named(&x.test, i / 4);
			x.prepares = i % 2;
			x.restarts = i % 4 >= 2;
			live(10, 1000 + 10 * (i / 4) + i % 4);
		}
		sum_up((*engine)->name, &named, 7, 40);
	}
}

/* Lanes by SL and output port: tori by angara. */
static void test_grid_lives(void **state)
{
	static const char *const dims[] = { "6r 6r", "5r 4r", "5r 5r", "8r 3r", "5r 3r 3r", "4 3" };
	struct totals totals = { 0 };

	for (unsigned i = 0; i < test_number("OSR_GRID_LIVES", 24); i++) {
		struct test_torus torus = { .dims = dims[i % 6], .hosts = 1 + i % 2, .shuffle = i };

		start("angara",
		      (struct osr_request){ .max_vls = (uint8_t)(2 + i % 3), .multicast = i % 2 },
		      &totals);
		test_torus_draw(&torus, &x.test);
		x.prepares = i % 3 == 0;
		x.restarts = i % 4 == 1;
		live(8, 77 + i);
	}
	sum_up("angara", &totals, 2, 0);
}

/*
 * Lanes by SL, no more than a full route needs, or one: repairs give pairs other SLs, and lose
 * some.
 */
static void scarce_life(unsigned i, struct totals *totals)
{

	start("dfsssp", (struct osr_request){ .max_vls = 2 + i % 3, .multicast = i % 4 < 2 },
	      totals);
	test_fabric_random(&x.test, 16 + i % 9, 28 + 2 * (i % 9), 900 + i);
	set("any_sl", "off");
	set("reversible_sl", i % 2 ? "auto" : "off");
	set("rebalance", "0");
	x.prepares = i % 3 == 0;
	x.restarts = i % 4 == 1;
	live(12, 7 * i);
}

static void test_scarce_lives(void **state)
{
	/*
	 * Nothing happens, and what was repaired cannot be repaired again; a pair with another SL
	 * is cut off; LID 1 moves.
	 */
	static const unsigned odd[] = { 103, 222, 245, 78, 240 };
	struct totals totals = { 0 }, n_odd = { 0 };

	for (unsigned i = 0; i < test_number("OSR_SCARCE_LIVES", 16); i++)
		scarce_life(i, &totals);
	for (unsigned i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		scarce_life(odd[i], &n_odd);
	sum_up("scarce lanes", &totals, 10, 60);
	assert_true(totals.changed_sl * 10 > totals.kept && totals.changed_sl * 4 < totals.kept);
}

/* Lanes by turn: lanes that nothing takes share the certificate of others. */
static void test_any_sl_lives(void **state)
{
	struct totals totals = { 0 };

	for (unsigned i = 0; i < test_number("OSR_ANY_SL_LIVES", 30); i++) {

		start("dfsssp",
		      (struct osr_request){ .max_vls = 3 + i % 6,
					    .multicast = true,
					    .chosen_sls = i % 5 == 4 && i % 4 != 2 ? 0x21 : 0 },
		      &totals);
		set("any_sl", "on");
		set("rebalance", "0");
		if (i % 3)
			test_fabric_random(&x.test, 10 + i % 9, 14 + i * 5 % 17, 1700 + i);
		else
			test_fabric_dragonfly(&x.test, 4);
		x.restarts = i % 4 == 1;
		x.hands_over = i % 4 == 2;
		live(20, 31 * i);
	}
	sum_up("any SL", &totals, 4, 0);
}

/* Lanes by SL, with more of them than are needed. */
static void start_by_sl(struct totals *totals)
{
	start("dfsssp", (struct osr_request){ .max_vls = 8, .multicast = true }, totals);
	set("any_sl", "off");
	set("rebalance", "0");
}

/* Its hosts, its cables, or both go. */
static void strip_switch(uint32_t s, bool hosts, bool cables)
{
	const struct osr_fabric *fabric = &x.test.fabric;

	for (uint32_t t = fabric->term_row[s]; hosts && t < fabric->term_row[s + 1]; t++)
		x.faults.term[t] |= fabric->term_role[t] != OSR_ROLE_SP0;
	for (uint32_t c = fabric->chan_row[s]; cables && c < fabric->chan_row[s + 1]; c++)
		faults_cable(&x.faults, c, true);
}

/*
 * A cable of the spanning order dies. Where unicast on its lane leaves no other cable to tie it
 * with, unicast moves to one of the lanes that nobody uses: there is always room, so every repair
 * keeps the tables.
 */
static void test_makes_room(void **state)
{
	static const uint32_t shape[][3] = { { 16, 22, 90 }, { 12, 16, 102 }, { 16, 20, 130 } };

	for (unsigned i = 0; i < 3; i++)
		for (uint32_t s = 0; s < shape[i][0]; s++) {
			struct totals totals = { 0 };
			uint32_t up;

			start_by_sl(&totals);
			test_fabric_random(&x.test, shape[i][0], shape[i][1], shape[i][2]);
			begin();
			step();
			assert_non_null(current()->routing.sl);
			up = current()->routing.mcast_parent[s];
			if (up != OSR_NONE)
				faults_cable(&x.faults, up, true);
			step();
			assert_int_equal(totals.kept, 1);
		}
}

/*
 * SLs of earlier, and a switch that is alone, has cables, goes, and comes back alone when a host is
 * new.
 */
static void test_back_alone(void **state)
{
	struct totals totals = { 0 };

	start_by_sl(&totals);
	test_fabric_dragonfly(&x.test, 3);
	begin();
	strip_switch(5, true, false);
	strip_switch(9, false, true);
	step();
	memset(x.faults.chan, 0, x.test.fabric.n_channels * sizeof(bool));
	step();
	assert_non_null(current()->routing.granted);
	strip_switch(9, true, true);
	x.faults.sw[9] = true;
	step();
	x.faults.sw[9] = false;
	for (uint32_t t = x.test.fabric.term_row[5]; t < x.test.fabric.term_row[6]; t++)
		x.faults.term[t] = false;
	step();
	assert_int_equal(totals.kept, 2);
}

/*
 * A certificate that does not hold, as a bug would leave it: the same sweep routes from nothing,
 * and says why.
 */
static void test_refused(void **state)
{
	struct osr_arena scratch = { 0 }, arena = { 0 };
	struct osr_diag diag = { "" };
	struct totals totals = { 0 };
	struct osr_result now = { 0 };
	struct osr_verdict judged;
	struct osr_sweep sweep;
	struct osr_job job;

	start("dfsssp", (struct osr_request){ .max_vls = 4, .multicast = true }, &totals);
	set("any_sl", "on");
	test_fabric_dragonfly(&x.test, 4);
	begin();
	step();
	faults_cable(&x.faults, 0, true);
	step();
	assert_true(current()->routing.stable.kept);
	memset(x.now->result.routing.rank, 0,
	       (size_t)x.now->result.routing.n_vls * x.now->result.routing.n_channels *
		       sizeof(*x.now->result.routing.rank));
	faults_build(&x.faults, &arena, &now.fabric);
	job = job_of(current(), &scratch, &arena, &diag);
	assert_int_equal(osr_sweep(&job, &now, &sweep), OSR_OK);
	assert_true(sweep.refused && !now.routing.stable.kept);
	assert_non_null(strstr(now.routing.stable.why, "the check refused"));
	assert_string_equal(diag.text, "");
	assert_true(table_judge(&now.fabric, &now.routing, &judged));
	osr_arena_free(&scratch);
	osr_arena_free(&arena);
}

static enum osr_status sweep_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = ctx;
	struct osr_result now = { .fabric = *fabric };
	const struct osr_job job = job_of(current(), scratch, result, diag);
	struct osr_verdict judged;
	struct osr_sweep sweep;
	enum osr_status st = osr_sweep(&job, &now, &sweep);
	const struct osr_stable *stable = &now.routing.stable;

	assert_true(st || table_judge(fabric, &now.routing, &judged));
	/* A transition without memory leaves the tables and their certificate as they were. */
	if (!st && strstr(stable->transition_why, "out of memory")) {
		assert_int_equal(stable->transition, OSR_TRANSITION_UNASKED);
		assert_true(!now.routing.withdrawn && !stable->n_withdrawn);
		assert_same_again(current(), "asked by the test", &now);
	}
	return st;
}

/*
 * From nothing, after a cable has died, when it returns, and when a host comes: by turn, by SL, on
 * one lane; by full routes.
 */
static void test_out_of_memory(void **state)
{
	static const struct {
		unsigned fabric, vls;
		const char *any_sl;
	} cases[] = { { 6, 2, "on" }, { 6, 2, "off" }, { 11, 2, "on" }, { 11, 2, "off" },
		      { 0, 3, "on" }, { 0, 1, "on" },  { 9, 8, "on" } };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct totals totals = { 0 };
		uint32_t late = 0;

		start("dfsssp",
		      (struct osr_request){ .max_vls = (uint8_t)cases[i].vls, .multicast = true },
		      &totals);
		set("any_sl", cases[i].any_sl);
		if (cases[i].fabric)
			test_fabric_named(&x.test, cases[i].fabric);
		else
			test_fabric_random(&x.test, 20, 25, 7);
		begin();
		for (uint32_t t = 0; t < x.test.fabric.n_terminals; t++)
			late = x.test.fabric.term_role[t] == OSR_ROLE_CA ? t : late;
		for (unsigned k = 0; k < 4; k++) {
			struct osr_arena arena = { 0 };
			struct osr_fabric fabric;

			if (k)
				step();
			x.faults.term[late] = k < 3;
			faults_cable(&x.faults, 3, k == 1);
			faults_build(&x.faults, &arena, &fabric);
			set("stable", cases[i].vls == 8 ? "no" : "yes");
			assert_true(test_starve(sweep_once, &fabric) > 20);
			set("stable", "yes");
			osr_arena_free(&arena);
		}
	}
}

/* Tables that cannot be kept, and what is said of it. */
static void assert_anew(const struct osr_result *before, struct osr_request req, const char *word)
{
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_diag diag = { "" };
	struct osr_routing routing;
	struct osr_job job = { .request = req,
			       .previous = before,
			       .scratch = &scratch,
			       .arena = &result,
			       .fabric = &before->fabric,
			       .routing = &routing };

	assert_int_equal(osr_repair(&job, false, &diag), OSR_NOT_APPLICABLE);
	if (!strstr(diag.text, word))
		fail_msg("\"%s\" does not speak of %s", diag.text, word);
	osr_arena_free(&scratch);
	osr_arena_free(&result);
}

static void test_refusals(void **state)
{
	const struct osr_request req = { .max_vls = 15 };
	struct totals totals = { 0 };
	struct osr_arena arena = { 0 };
	struct osr_result other;

	start("dfsssp", req, &totals);
	set("any_sl", "off"); /* lanes by SL */
	test_fabric_named(&x.test, 13);
	begin();
	step();
	assert_true(current()->routing.n_vls > 1);
	assert_anew(current(), (struct osr_request){ .max_vls = 1 }, "virtual lanes");
	other = *current();
	/* By input port: a repair follows SLs and output ports alone. */
	assert_int_equal(osr_routing_alloc_sl2vl(&other.routing, &other.fabric, 0, &arena, NULL),
			 OSR_OK);
	other.routing.sl2vl[other.fabric.sw_n_ports[0] + 1][0] = 1;
	assert_anew(&other, req, "SLs to VLs");
	osr_arena_free(&arena);
	other.routing = (struct osr_routing){ 0 };
	assert_anew(&other, req, "no earlier tables");
	/*
	 * An engine that promises minimal routes, and earlier tables that are not proven minimal.
	 */
	start("sssp", req, &totals);
	test_fabric_named(&x.test, 13);
	begin();
	step();
	x.now->result.routing.claims &= ~(uint32_t)OSR_CLAIM_MINIMAL;
	step();
	assert_non_null(strstr(current()->routing.stable.why, "minimal"));
}

/* ---- lanes that come and go ------------------------------------------------------------------ */

static const struct osr_engine *counted;
static unsigned n_full; /* full routes */

static enum osr_status count_route(const struct osr_job *job)
{
	n_full++;
	return counted->route(job);
}

/* A sweep with so many lanes; how many full routes it took. */
static unsigned step_with(uint8_t max_vls)
{
	unsigned before = n_full;

	x.req.max_vls = max_vls;
	step();
	return n_full - before;
}

/* What the checker says of the tables of now, or of a route from nothing with the same lanes. */
static struct osr_verdict verdict_of(bool from_nothing)
{
	struct osr_arena scratch = { 0 }, arena = { 0 };
	struct osr_result fresh = { .fabric = current()->fabric };
	const struct osr_job job = job_of(NULL, &scratch, &arena, NULL);
	struct osr_sweep sweep = { .routed = false };

	if (from_nothing)
		assert_int_equal(osr_sweep(&job, &fresh, &sweep), OSR_OK);
	else
		assert_int_equal(osr_check(&current()->fabric, &current()->routing, &scratch,
					   &sweep.verdict, NULL),
				 OSR_OK);
	osr_arena_free(&scratch);
	osr_arena_free(&arena);
	return sweep.verdict;
}

/*
 * Where lanes have come, tables are as good as a full route would make them, but for what a repair
 * is allowed.
 */
static void assert_no_better(void)
{
	struct osr_verdict now = verdict_of(false), full = verdict_of(true);
	bool proves = !(now.proven & ~full.proven & ~(uint32_t)OSR_CLAIM_MINIMAL);

	if (proves && full.n_longer <= now.n_longer && full.efi * 105 < now.efi * 100)
		fail_msg("%s on %s: load %u, and a full route has %u", x.engine->name, x.test.name,
			 (unsigned)now.efi, (unsigned)full.efi);
	if (proves && full.n_longer < now.n_longer && full.efi <= now.efi)
		fail_msg("%s on %s: %u routes longer, and a full route has %u", x.engine->name,
			 x.test.name, (unsigned)now.n_longer, (unsigned)full.n_longer);
}

static void start_counted(const char *any_sl, uint8_t max_vls, struct totals *totals)
{
	static struct osr_engine engine;

	start("dfsssp", (struct osr_request){ .max_vls = max_vls, .multicast = true }, totals);
	set("any_sl", any_sl);
	counted = x.engine;
	engine = *counted;
	engine.route = count_route;
	x.engine = &engine;
}

/*
 * Four lanes, one for two sweeps, four again, and what was on the first four is back, also through
 * the store.
 */
static void test_lanes_back(void **state)
{
	struct totals totals = { 0 };

	for (unsigned stored = 0; stored < 2; stored++) {
		struct test_torus torus = { .dims = "5r 5r", .hosts = 1 };
		struct osr_verdict first, then;

		start_counted("auto", 4, &totals);
		test_torus_draw(&torus, &x.test);
		begin();
		step();
		first = verdict_of(false);
		assert_int_equal(step_with(1), 1);
		assert_int_equal(step_with(1), 0);
		then = verdict_of(false);
		assert_true(then.n_longer > first.n_longer || then.efi > first.efi);
		if (stored)
			restart();
		assert_int_equal(step_with(4), 1);
		then = verdict_of(false);
		assert_true(then.n_longer == first.n_longer && then.efi == first.efi);
		assert_true(then.proven == first.proven);
		if (stored)
			restart();
		assert_int_equal(step_with(4), 0);
		/*
		 * Fewer lanes than there were, but enough, and the first number again: nothing was
		 * lost.
		 */
		x.first_digest = current()->digest;
		assert_int_equal(step_with(8), 0);
		assert_int_equal(step_with(4), 0);
		assert_true(current()->digest == x.first_digest);
	}
}

/*
 * Lanes come and go by chance, between faults and restarts: at most one full route for each time
 * that more come.
 */
static void test_lanes_by_chance(void **state)
{
	static const char *const any_sl[] = { "auto", "on", "off" };
	unsigned n_gains = 0, n_asked = 0;
	struct totals totals = { 0 };

	for (unsigned i = 0; i < test_number("OSR_LANES_LIVES", 60); i++) {
		uint64_t seed = i;
		uint8_t lanes = 8, most;

		start_counted(any_sl[i % 3], lanes, &totals);
		if (i % 4)
			test_fabric_random(&x.test, 6 + i % 9, 12 + i * 7 % 20, 300 + i);
		else
			test_fabric_named(&x.test, 6 + i / 4 % 2);
		begin();
		step();
		for (unsigned k = 0; k < 8; k++) {
			bool grows, faulty = test_random(&seed) % 3 == 0;
			unsigned full;

			if (test_random(&seed) % 4 == 0)
				restart();
			if (faulty)
				change(&seed);
			most = current()->routing.n_vls_tried;
			lanes = (uint8_t)(1 + test_random(&seed) % 8);
			grows = lanes > most;
			full = step_with(lanes);
			n_asked += grows;
			n_gains += grows && !current()->routing.stable.kept && !faulty;
			if (grows && !faulty) {
				assert_true(full <= 1);
				assert_no_better();
			}
			/*
			 * Nothing has changed: nothing changes. Where repairs have drifted full
			 * routes are compared.
			 */
			if (current()->routing.stable.drift > 1200)
				continue;
			x.first_digest = current()->digest;
			assert_int_equal(step_with(lanes), 0);
			assert_true(current()->digest == x.first_digest);
		}
	}
	print_message("lanes have come %u times, and %u times with a full route\n", n_asked,
		      n_gains);
	assert_true(n_asked > 15 && n_gains > 4 && n_gains < n_asked);
}

TEST_PROGRAM_THEN(finish, test_lives, test_scarce_lives, test_grid_lives, test_any_sl_lives,
		  test_out_of_memory, test_refusals, test_refused, test_makes_room, test_back_alone,
		  test_lanes_back, test_lanes_by_chance)
