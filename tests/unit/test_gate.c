/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The proved checker and the other one, which share no code, on the same tables: right ones of every kind and engine, and
 * such with a few bytes changed. They must agree, for all that both look at. OSR_GATE_MUTANTS=1000000 by hand.
 */
#include "test.h"

#include <osmroutes/sweep.h>

#include "core/proved/gate.h"
#include "core/verify/union.h"
#include "fabrics.h"
#include "sweeps.h"
#include "tables.h"

static struct osr_arena scratch, arena;
static uint64_t random_state = 20261123, n_both, n_neither, n_judged, n_not_judged;

/* Routes may be longer than minimal: the proved checker does not ask. */
static void assert_agree(const struct osr_fabric *f, const struct osr_routing *r,
			 const struct osr_result *before, const char *name)
{
	struct osr_diag says = { "" }, proved = { "" };
	uint32_t judged;
	struct osr_routing asked = *r;
	struct osr_verdict verdict;
	enum osr_status st, gate;

	asked.claims &= ~(uint32_t)OSR_CLAIM_MINIMAL;
	st = osr_check(f, &asked, &scratch, &verdict, &says);
	gate = osr_gate(f, &asked, &scratch, &proved);
	assert_true(gate == OSR_OK || gate == OSR_NOT_PROVEN);
	assert_int_equal(gate == OSR_OK, proved.text[0] == '\0');
	/* What has changed since tables that were confirmed: the same answer. */
	if (before->confirmed) {
		assert_int_equal(osr_gate_again(f, &asked, before, &scratch, &judged, NULL), gate);
		n_judged += gate ? 0 : judged;
		n_not_judged += gate ? 0 : f->n_dests - judged;
	}
	/* The proved checker follows multicast, and does not ask whom the tree reaches. */
	if (!strncmp(says.text, "multicast: the ", 15))
		return;
	if ((st == OSR_OK) != (gate == OSR_OK))
		fail_msg("%s, claims 0x%x: the checker: %s (%s), the proved one: %s (%s)", name,
			 asked.claims, osr_status_str(st), says.text, osr_status_str(gate),
			 proved.text);
	n_both += st == OSR_OK;
	n_neither += st != OSR_OK;
}

static uint64_t pick(uint64_t n)
{
	return test_random(&random_state) % n;
}

/* One entry of one of the tables, or of the certificate, becomes another. */
static void mutate(const struct osr_fabric *f, struct osr_routing *r)
{
	size_t n = (size_t)f->n_dests * f->n_switches;

	switch (pick(6)) {
	case 0:
	case 1:
		r->lft[pick(n)] = (uint8_t)(pick(8) ? pick(6) : OSR_NO_PATH);
		break;
	case 2:
		/* Where any level is safe the proved checker does not look at those of the tables. */
		if (r->sl && !(r->claims & OSR_CLAIM_ANY_SL))
			r->sl[pick(n)] = (uint8_t)pick(4);
		break;
	case 3:
		if (r->rank && f->n_channels)
			r->rank[pick((uint64_t)r->n_vls * f->n_channels)] =
				r->rank[pick((uint64_t)r->n_vls * f->n_channels)];
		break;
	case 4:
		if (r->sl2vl && f->n_channels) {
			/* Not towards a host: the proved checker ends at the last switch. */
			uint32_t c = (uint32_t)pick(f->n_channels), s = f->chan_src[c];
			uint64_t ports = f->sw_n_ports[s] + UINT64_C(1),
				 most = r->n_vls + UINT64_C(1);

			r->sl2vl[r->sl2vl_row[s] + pick(ports) * ports + f->chan_port[c]]
				[pick(16)] = (uint8_t)pick(most);
		}
		break;
	default:
		if (r->mcast_parent && f->n_channels)
			r->mcast_parent[pick(f->n_switches)] =
				pick(4) ? (uint32_t)pick(f->n_channels) : OSR_NONE;
	}
}

static void try_mutants(const struct osr_fabric *f, const struct osr_routing *right,
			const char *name, unsigned n)
{
	struct osr_result before = { .fabric = *f, .routing = *right };

	assert_agree(f, right, &before, name);
	before.digest = osr_routing_digest(f, right);
	before.confirmed = !osr_gate(f, right, &scratch, NULL);
	for (unsigned i = 0; i < n; i++) {
		struct osr_arena_mark mark = osr_arena_mark(&arena);
		struct osr_routing r;

		table_copy(f, right, &arena, &r);
		if ((r.claims & OSR_CLAIM_DEADLOCK_FREE) && !pick(4))
			r.claims ^= 1u << (2 + pick(3));
		for (uint64_t k = pick(3) + 1; k > 0; k--)
			mutate(f, &r);
		assert_agree(f, &r, &before, name);
		osr_arena_reset(&arena, mark);
	}
}

static void test_tables(void **state)
{
	unsigned n = test_number("OSR_GATE_MUTANTS", 20000) / (N_TABLE_KINDS * N_TEST_FABRICS);

	for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
		struct test_fabric t;

		test_fabric_named(&t, i);
		for (unsigned kind = 0; kind < N_TABLE_KINDS; kind++) {
			struct osr_routing r;

			table_make((enum table_kind)kind, &t.f, &arena, i, &r);
			try_mutants(&t.f, &r, t.name, n);
		}
		test_fabric_free(&t);
		osr_arena_empty(&arena);
	}
	print_message("%llu tables accepted by both, %llu refused by both\n",
		      (unsigned long long)n_both, (unsigned long long)n_neither);
	print_message("after a change %llu LIDs judged again, %llu not\n",
		      (unsigned long long)n_judged, (unsigned long long)n_not_judged);
	assert_true(n_both > 1000 && n_neither > 1000);
	assert_true(n_judged > 1000 && n_not_judged > 1000);
}

/*
 * Two tables, mixed: without SL2VL tables any SL may use them, with such tables these differ, too, or are new: before,
 * VL = SL, and switches have dropped SL 15. The proved checker finds an order in the union's ranks where there is one,
 * and none in those of right tables where there is none.
 */
static void mix(const struct osr_fabric *f, const struct osr_routing *right, const char *name,
		uint64_t n_seen[5])
{
	struct osr_arena_mark mark = osr_arena_mark(&arena);
	bool lanes = right->sl2vl;
	struct osr_routing old, now, certified;
	const struct osr_generation gen[2] = { { .routing = &old, .any_sls = !lanes },
					       { .routing = &now, .any_sls = !lanes } };
	uint32_t *rank = osr_calloc(&arena, (size_t)OSR_MAX_VLS * f->n_channels, sizeof(*rank)),
		 judged, modes;
	struct osr_loop loop;
	enum osr_status st;

	table_copy(f, right, &arena, &old);
	table_copy(f, right, &arena, &now);
	for (struct osr_routing *r = &old;; r = &now) {
		bool change = r == &old || pick(2);

		for (uint64_t k = pick(4); change && k > 0; k--)
			r->lft[pick((uint64_t)f->n_dests * f->n_switches)] =
				(uint8_t)(pick(8) ? pick(6) : OSR_NO_PATH);
		for (uint64_t k = change ? pick(30) : 0; lanes && k > 0; k--)
			r->sl2vl[pick(osr_n_sl2vl(f))][pick(16)] = (uint8_t)pick(r->n_vls + 1u);
		if (lanes && r == &old && !pick(3))
			r->sl2vl = NULL;
		if (!lanes) {
			r->sl = NULL;
			r->granted = NULL;
			r->claims &= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_MULTICAST;
			r->n_vls = 1;
			r->mcast_vl = 0;
		}
		if (r == &now)
			break;
	}
	modes = now.claims & (OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST);
	assert_int_equal(osr_union_loop(f, gen, 2, modes, &scratch, &arena, &loop, rank, NULL),
			 OSR_OK);
	now.rank = rank;
	now.n_vls = lanes ? OSR_MAX_VLS : 1;
	st = osr_gate_mixed(f, &now, &old, NULL, &scratch, &judged, NULL);
	if (st != (loop.n ? OSR_NOT_PROVEN : OSR_OK))
		fail_msg("%s mixed: a loop of %u steps, the proved checker: %s", name, loop.n,
			 osr_status_str(st));
	n_seen[loop.n > 0]++;
	if (!st)
		assert_int_equal(judged, f->n_dests);
	now.rank = right->rank;
	now.n_vls = lanes ? right->n_vls : 1;
	if (loop.n) {
		assert_int_equal(osr_gate_mixed(f, &now, &old, NULL, &scratch, NULL, NULL),
				 OSR_NOT_PROVEN);
		n_seen[2] += !osr_gate_mixed(f, &now, &now, NULL, &scratch, NULL, NULL);
	}
	/*
	 * Where the tables of today are known to be right, their entries need no look: the same answer, also if the old
	 * ones meet a lane of any order that those of today do not use.
	 */
	certified = now;
	certified.lft = right->lft;
	if (lanes) {
		size_t n = (size_t)right->n_vls * f->n_channels;

		memcpy(rank, right->rank, n * sizeof(*rank));
		for (size_t i = n; n && i < n + f->n_channels; i++)
			rank[i] = right->rank[pick(n)];
		certified.rank = now.rank = rank;
		certified.n_vls = now.n_vls = right->n_vls + 1;
	}
	certified.sl2vl = now.sl2vl = right->sl2vl;
	if (osr_gate(f, &certified, &scratch, NULL))
		fail_msg("%s: right tables are refused", name);
	st = osr_gate_mixed(f, &now, &old, NULL, &scratch, NULL, NULL);
	judged = 0;
	assert_int_equal(osr_gate_mixed(f, &now, &old, &certified, &scratch, &judged, NULL), st);
	n_seen[3] += !st && judged < f->n_dests;
	old.lft = now.lft;
	n_seen[4] += osr_gate_mixed(f, &certified, &old, &certified, &scratch, NULL, NULL) &&
		     !memcmp(now.lft, right->lft, (size_t)f->n_dests * f->n_switches);
	osr_arena_reset(&arena, mark);
}

static void test_mixed(void **state)
{
	uint64_t n_seen[2][5] = { { 0 } };

	for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
		struct test_fabric t;

		test_fabric_named(&t, i);
		for (unsigned kind = 0; kind < N_TABLE_KINDS; kind++) {
			struct osr_routing r;

			table_make((enum table_kind)kind, &t.f, &arena, i, &r);
			for (unsigned k = 0; k < 10 && r.rank; k++)
				mix(&t.f, &r, t.name, n_seen[r.sl2vl != NULL]);
		}
		test_fabric_free(&t);
		osr_arena_empty(&arena);
	}
	for (unsigned lanes = 0; lanes < 2; lanes++) {
		print_message(
			"of mixtures %s SL2VL tables %llu confirmed, %llu refused, of these "
			"%llu for the old ones; %llu with some LIDs skipped, %llu refused for "
			"their lanes\n",
			lanes ? "with" : "without", (unsigned long long)n_seen[lanes][0],
			(unsigned long long)n_seen[lanes][1], (unsigned long long)n_seen[lanes][2],
			(unsigned long long)n_seen[lanes][3], (unsigned long long)n_seen[lanes][4]);
		assert_true(n_seen[lanes][0] > 20 && n_seen[lanes][1] > 20 && n_seen[lanes][2] > 5);
		assert_true(n_seen[lanes][3] > 20 && (!lanes || n_seen[lanes][4] > 20));
	}
}

/*
 * A ring whose SL 1 crosses the dateline, on VL 1 by tables of today and on VL 0 by those of yesterday. Each is free of
 * deadlock; a packet that changes its lane from switch to switch goes round. Only SL2VL tables differ.
 */
static void test_mixed_lanes(void **state)
{
	struct test_fabric t;
	struct osr_routing now, old, asked;
	struct osr_generation gen[2] = { { .routing = &old }, { .routing = &now } };
	struct osr_loop loop;

	test_fabric_ring(&t, 7, 1);
	table_dateline(&t.f, &arena, &now);
	now.claims = OSR_CLAIM_DEADLOCK_FREE;
	assert_int_equal(osr_routing_alloc_sl2vl(&now, &t.f, 0, &arena, NULL), OSR_OK);
	table_copy(&t.f, &now, &arena, &old);
	for (size_t i = 0; i < osr_n_sl2vl(&t.f); i++)
		now.sl2vl[i][1] = old.sl2vl[i][0] = 1;
	assert_int_equal(osr_union_loop(&t.f, gen, 2, 0, &scratch, &arena, &loop, NULL, NULL),
			 OSR_OK);
	assert_true(loop.n > 0);
	assert_int_equal(osr_gate_mixed(&t.f, &now, &now, NULL, &scratch, NULL, NULL), OSR_OK);
	assert_int_equal(osr_gate_mixed(&t.f, &now, &old, NULL, &scratch, NULL, NULL),
			 OSR_NOT_PROVEN);
	assert_int_equal(osr_gate_mixed(&t.f, &now, &old, &now, &scratch, NULL, NULL),
			 OSR_NOT_PROVEN);
	/* The other way round, and with lanes that are the SLs on one side. */
	asked = old;
	asked.rank = now.rank;
	assert_int_equal(osr_gate_mixed(&t.f, &asked, &now, NULL, &scratch, NULL, NULL),
			 OSR_NOT_PROVEN);
	asked = now;
	asked.sl2vl = NULL;
	assert_int_equal(osr_gate_mixed(&t.f, &now, &asked, NULL, &scratch, NULL, NULL), OSR_OK);
	assert_int_equal(osr_gate_mixed(&t.f, &asked, &old, NULL, &scratch, NULL, NULL),
			 OSR_NOT_PROVEN);
	test_fabric_free(&t);
	osr_arena_empty(&arena);
}

static void test_engines(void **state)
{
	const struct osr_request req = { .max_vls = 4, .multicast = true };

	for (unsigned i = 0; i < N_TEST_FABRICS; i++)
		for (const struct osr_engine *const *e = osr_engines; *e; e++) {
			struct osr_result now = { 0 };
			struct osr_diag diag = { "" };
			struct osr_sweep sweep;
			struct test_fabric t;

			test_fabric_named(&t, i);
			now.fabric = t.f;
			if (!test_route((*e)->name, "", req, NULL, &arena, &now, &sweep, &diag))
				try_mutants(&t.f, &now.routing, t.name, 20);
			else if (strstr(diag.text, "checker"))
				fail_msg("%s on %s: %s", (*e)->name, t.name, diag.text);
			test_fabric_free(&t);
			osr_arena_empty(&arena);
		}
}

static int tear_down(void **state)
{
	osr_arena_free(&scratch);
	osr_arena_free(&arena);
	return 0;
}

TEST_PROGRAM_THEN(tear_down, test_tables, test_mixed, test_mixed_lanes, test_engines)
