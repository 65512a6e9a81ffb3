/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The proved checker and the other one, which share no code, on the same tables: right ones of
 * every kind and engine, and such with a few bytes changed, on the same fabric and on one with
 * fewer lanes or hosts on other ports. They must agree, for all that both look at.
 * OSR_GATE_MUTANTS=1000000 by hand.
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
static void assert_agree(const struct osr_fabric *fabric, const struct osr_routing *routing,
			 const struct osr_result *before, const char *name)
{
	struct osr_diag says = { "" }, proved = { "" };
	uint32_t judged;
	struct osr_routing asked = *routing;
	struct osr_verdict verdict;
	enum osr_status st, gate;

	asked.claims &= ~(uint32_t)OSR_CLAIM_MINIMAL;
	st = osr_check(fabric, &asked, &scratch, &verdict, &says);
	gate = osr_gate(fabric, &asked, &scratch, &proved);
	assert_true(gate == OSR_OK || gate == OSR_NOT_PROVEN);
	assert_int_equal(gate == OSR_OK, proved.text[0] == '\0');
	/* What has changed since tables that were confirmed: the same answer. */
	if (before->confirmed) {
		/*
		 * Had the tables of before been these, they would not be those that were confirmed.
		 */
		const struct osr_result other = { .fabric = *fabric,
						  .routing = *routing,
						  .digest = before->digest,
						  .confirmed = true };

		assert_int_equal(osr_gate_again(fabric, &asked, before, &scratch, &judged, NULL),
				 gate);
		n_judged += gate ? 0 : judged;
		n_not_judged += gate ? 0 : fabric->n_dests - judged;
		if (osr_routing_digest(fabric, routing) != before->digest)
			assert_int_equal(
				osr_gate_again(fabric, &asked, &other, &scratch, NULL, NULL), gate);
	}
	/*
	 * The proved checker follows multicast, and does not ask whom the tree reaches. Where one
	 * graph serves all lanes, it does not look at lanes.
	 */
	if (!strncmp(says.text, "multicast: the ", 15) ||
	    ((asked.claims & OSR_CLAIM_ANY_SL) && !routing->sl2vl &&
	     strstr(says.text, "but the cable")))
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

/*
 * Are there packets from this switch to this LID? The checker does not look at levels where there
 * are none.
 */
static bool sends(const struct osr_fabric *fabric, uint32_t d, size_t s)
{
	uint32_t home = fabric->dest_switch[d];

	return s != home && fabric->sw_component[s] == fabric->sw_component[home] &&
	       (fabric->sw_sources[s] || fabric->term_weight[fabric->dest_term[d]]);
}

static uint16_t *granted_of(const struct osr_routing *routing)
{
	return (uint16_t *)routing->granted;
}

/* Levels of earlier path records, of those that tables of three lanes have. */
static void grant(const struct osr_fabric *fabric, struct osr_routing *routing)
{
	size_t n = (size_t)fabric->n_dests * fabric->n_switches;

	routing->granted = osr_calloc(&arena, n, sizeof(*routing->granted));
	for (size_t at = 0; at < n; at += 1 + pick(4))
		granted_of(routing)[at] = (uint16_t)(1u << pick(3));
}

/* One entry of one of the tables, or of the certificate, becomes another. */
static void mutate(const struct osr_fabric *fabric, struct osr_routing *routing)
{
	size_t n = (size_t)fabric->n_dests * fabric->n_switches, at;

	switch (pick(7)) {
	case 0:
	case 1:
		routing->lft[pick(n)] = (uint8_t)(pick(8) ? pick(6) : OSR_NO_PATH);
		break;
	case 2:
		/*
		 * Where any level is safe the proved checker does not look at those of the tables.
		 */
		if (routing->sl && !(routing->claims & OSR_CLAIM_ANY_SL))
			routing->sl[pick(n)] = (uint8_t)pick(4);
		break;
	case 3:
		if (routing->rank && fabric->n_channels)
			routing->rank[pick((uint64_t)routing->n_vls * fabric->n_channels)] =
				routing->rank[pick((uint64_t)routing->n_vls * fabric->n_channels)];
		break;
	case 4:
		if (routing->sl2vl && fabric->n_channels) {
			/* Not towards a host: the proved checker ends at the last switch. */
			uint32_t c = (uint32_t)pick(fabric->n_channels), s = fabric->chan_src[c];
			uint64_t ports = fabric->sw_n_ports[s] + UINT64_C(1),
				 most = routing->n_vls + UINT64_C(1);

			routing->sl2vl[routing->sl2vl_row[s] + pick(ports) * ports +
				       fabric->chan_port[c]][pick(16)] = (uint8_t)pick(most);
		}
		break;
	case 5:
		/* Most tables have no VL 3. */
		at = pick(n);
		if (routing->granted &&
		    sends(fabric, (uint32_t)(at / fabric->n_switches), at % fabric->n_switches))
			granted_of(routing)[at] ^= (uint16_t)(1u << pick(4));
		break;
	default:
		if (routing->mcast_parent && fabric->n_channels)
			routing->mcast_parent[pick(fabric->n_switches)] =
				pick(4) ? (uint32_t)pick(fabric->n_channels) : OSR_NONE;
	}
}

static void swap_bytes(const void *array, size_t a, size_t b, size_t size)
{
	char *x = (char *)array + a * size, *y = (char *)array + b * size, byte;

	for (size_t i = 0; i < size; i++) {
		byte = x[i];
		x[i] = y[i];
		y[i] = byte;
	}
}

/* A cable loses lanes, or two end ports, most often of one switch, have each other's LIDs. */
static struct osr_fabric mutate_fabric(const struct osr_fabric *from)
{
	struct osr_fabric fabric;
	uint32_t c = (uint32_t)pick(from->n_channels + UINT64_C(1)),
		 a = (uint32_t)pick(from->n_terminals), b = (uint32_t)pick(from->n_terminals);

	assert_int_equal(osr_fabric_copy(from, &arena, &fabric, NULL), OSR_OK);
	if (pick(2) && c < fabric.n_channels) {
		uint8_t *vls = (uint8_t *)fabric.chan_vls;

		vls[c] = vls[fabric.chan_rev[c]] = (uint8_t)(1 + pick(4));
		return fabric;
	}
	if (pick(8))
		b = fabric.term_row[fabric.term_switch[a]] +
		    b % (fabric.term_row[fabric.term_switch[a] + 1] -
			 fabric.term_row[fabric.term_switch[a]]);
	for (uint32_t d = 0; d < fabric.n_dests; d++) {
		uint32_t term = fabric.dest_term[d];

		if (term != a && term != b)
			continue;
		term = term == a ? b : a;
		((uint32_t *)fabric.dest_term)[d] = term;
		((uint32_t *)fabric.dest_switch)[d] = fabric.term_switch[term];
	}
	swap_bytes(fabric.term_lid, a, b, sizeof(*fabric.term_lid));
	swap_bytes(fabric.term_lmc, a, b, sizeof(*fabric.term_lmc));
	return fabric;
}

static void try_mutants(const struct osr_fabric *fabric, const struct osr_routing *right,
			const char *name, unsigned n)
{
	struct osr_result before = { .fabric = *fabric, .routing = *right };

	assert_agree(fabric, right, &before, name);
	before.digest = osr_routing_digest(fabric, right);
	before.confirmed = !osr_gate(fabric, right, &scratch, NULL);
	for (unsigned i = 0; i < n; i++) {
		struct osr_arena_mark mark = osr_arena_mark(&arena);
		struct osr_fabric now = *fabric;
		struct osr_routing routing;

		table_copy(fabric, right, &arena, &routing);
		if (!pick(4))
			now = mutate_fabric(fabric);
		if ((routing.claims & OSR_CLAIM_DEADLOCK_FREE) && !pick(4))
			routing.claims ^= 1u << (2 + pick(3));
		for (uint64_t k = pick(3) + (now.dest_term == fabric->dest_term); k > 0; k--)
			mutate(&now, &routing);
		assert_agree(&now, &routing, &before, name);
		osr_arena_reset(&arena, mark);
	}
}

static void test_tables(void **state)
{
	unsigned n = test_number("OSR_GATE_MUTANTS", 20000) / (N_TABLE_KINDS * N_TEST_FABRICS);

	for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
		struct test_fabric test;

		test_fabric_named(&test, i);
		for (unsigned kind = 0; kind < N_TABLE_KINDS; kind++) {
			struct osr_routing routing;

			table_make((enum table_kind)kind, &test.fabric, &arena, i, &routing);
			if (kind == TABLE_UPDOWN_SL && i % 2)
				grant(&test.fabric, &routing);
			try_mutants(&test.fabric, &routing, test.name, n);
		}
		test_fabric_free(&test);
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
 * The proved checker and the union agree on a mixture of the tables of both generations. It takes
 * the order of the union, and of orders with another rank in one place those in which every wait
 * rises, by the judge that knows all waits.
 */
static bool compare_mixture(const struct osr_fabric *fabric, struct osr_routing *now,
			    const struct osr_generation gen[2], uint32_t modes, const char *name,
			    uint64_t n_seen[2])
{
	const struct osr_routing *old = gen[0].routing;
	struct table_waits waits = {
		.fabric = fabric, .gen = gen, .n = 2, .modes = modes, .one_lane = now->n_vls == 1
	};
	size_t n = (size_t)now->n_vls * fabric->n_channels;
	uint32_t judged;
	struct osr_loop loop;
	enum osr_status st;

	now->rank =
		osr_calloc(&arena, (size_t)OSR_MAX_VLS * fabric->n_channels, sizeof(*now->rank));
	assert_int_equal(
		osr_union_loop(fabric, gen, 2, modes, &scratch, &arena, &loop, now->rank, NULL),
		OSR_OK);
	st = osr_gate_mixed(fabric, now, old, NULL, &scratch, &judged, NULL);
	if (st != (loop.n ? OSR_NOT_PROVEN : OSR_OK))
		fail_msg("%s mixed: a loop of %u steps, the proved checker: %s", name, loop.n,
			 osr_status_str(st));
	if (!st)
		assert_int_equal(judged, fabric->n_dests);
	n_seen[loop.n > 0]++;
	if (loop.n)
		return false;
	table_wait(&waits, &arena);
	for (unsigned k = 0; n && k < 10; k++) {
		uint32_t *other = &now->rank[pick(n)], right = *other;

		*other = now->rank[pick(n)] + (uint32_t)pick(2);
		assert_int_equal(osr_gate_mixed(fabric, now, old, NULL, &scratch, NULL, NULL),
				 table_waits_rise(&waits, now->rank) ? OSR_OK : OSR_NOT_PROVEN);
		*other = right;
	}
	return true;
}

/* By levels, those of both tables and of earlier path records; their replies. */
static void mix_levels(const struct osr_fabric *fabric, const struct osr_routing *right,
		       const char *name, uint64_t n_seen[2])
{
	struct osr_arena_mark mark = osr_arena_mark(&arena);
	size_t n = (size_t)fabric->n_dests * fabric->n_switches;
	struct osr_routing old, now;
	const struct osr_generation gen[2] = { { .routing = &old }, { .routing = &now } };

	table_copy(fabric, right, &arena, &old);
	table_copy(fabric, right, &arena, &now);
	for (uint64_t k = pick(4); k > 0; k--)
		old.lft[pick(n)] = (uint8_t)(pick(8) ? pick(6) : OSR_NO_PATH);
	for (uint64_t k = pick(30); k > 0; k--)
		old.sl[pick(n)] = (uint8_t)pick(4);
	if (pick(2))
		grant(fabric, pick(2) ? &old : &now);
	now.n_vls = OSR_MAX_VLS;
	if (!pick(3))
		now.claims &= ~(uint32_t)OSR_CLAIM_REVERSIBLE;
	compare_mixture(fabric, &now, gen,
			now.claims & (OSR_CLAIM_REVERSIBLE | OSR_CLAIM_MULTICAST), name, n_seen);
	osr_arena_reset(&arena, mark);
}

/*
 * Two tables, mixed: without SL2VL tables any SL may use them, with such tables these differ, too,
 * or are new: before, VL = SL, and switches have dropped SL 15. Where the union has no order the
 * proved checker finds none in the ranks of right tables.
 */
static void mix(const struct osr_fabric *fabric, const struct osr_routing *right, const char *name,
		uint64_t n_seen[5])
{
	struct osr_arena_mark mark = osr_arena_mark(&arena);
	bool lanes = right->sl2vl, free;
	struct osr_routing old, now, certified;
	const struct osr_generation gen[2] = { { .routing = &old, .any_sls = !lanes },
					       { .routing = &now, .any_sls = !lanes } };
	uint32_t *rank, judged;
	enum osr_status st;

	table_copy(fabric, right, &arena, &old);
	table_copy(fabric, right, &arena, &now);
	for (struct osr_routing *routing = &old;; routing = &now) {
		bool change = routing == &old || pick(2);

		for (uint64_t k = pick(4); change && k > 0; k--)
			routing->lft[pick((uint64_t)fabric->n_dests * fabric->n_switches)] =
				(uint8_t)(pick(8) ? pick(6) : OSR_NO_PATH);
		for (uint64_t k = change ? pick(30) : 0; lanes && k > 0; k--)
			routing->sl2vl[pick(osr_n_sl2vl(fabric))][pick(16)] =
				(uint8_t)pick(routing->n_vls + 1u);
		if (lanes && routing == &old && !pick(3))
			routing->sl2vl = NULL;
		if (!lanes) {
			routing->sl = NULL;
			routing->granted = NULL;
			routing->claims &= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_MULTICAST;
			routing->n_vls = 1;
			routing->mcast_vl = 0;
		}
		if (routing == &now)
			break;
	}
	now.n_vls = lanes ? OSR_MAX_VLS : 1;
	free = compare_mixture(
		fabric, &now, gen,
		now.claims & (OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST), name,
		n_seen);
	rank = now.rank;
	now.rank = right->rank;
	now.n_vls = lanes ? right->n_vls : 1;
	if (!free) {
		assert_int_equal(osr_gate_mixed(fabric, &now, &old, NULL, &scratch, NULL, NULL),
				 OSR_NOT_PROVEN);
		n_seen[2] += !osr_gate_mixed(fabric, &now, &now, NULL, &scratch, NULL, NULL);
	}
	/*
	 * Where the tables of today are known to be right, their entries need no look: the same
	 * answer, also if the old ones meet a lane of any order that those of today do not use.
	 */
	certified = now;
	certified.lft = right->lft;
	if (lanes) {
		size_t n = (size_t)right->n_vls * fabric->n_channels;

		memcpy(rank, right->rank, n * sizeof(*rank));
		for (size_t i = n; n && i < n + fabric->n_channels; i++)
			rank[i] = right->rank[pick(n)];
		certified.rank = now.rank = rank;
		certified.n_vls = now.n_vls = right->n_vls + 1;
	}
	certified.sl2vl = now.sl2vl = right->sl2vl;
	if (osr_gate(fabric, &certified, &scratch, NULL))
		fail_msg("%s: right tables are refused", name);
	st = osr_gate_mixed(fabric, &now, &old, NULL, &scratch, NULL, NULL);
	judged = 0;
	assert_int_equal(osr_gate_mixed(fabric, &now, &old, &certified, &scratch, &judged, NULL),
			 st);
	n_seen[3] += !st && judged < fabric->n_dests;
	old.lft = now.lft;
	n_seen[4] += osr_gate_mixed(fabric, &certified, &old, &certified, &scratch, NULL, NULL) &&
		     !memcmp(now.lft, right->lft, (size_t)fabric->n_dests * fabric->n_switches);
	osr_arena_reset(&arena, mark);
}

static void test_mixed(void **state)
{
	uint64_t n_seen[2][5] = { { 0 } }, n_levels[2] = { 0 };

	for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
		struct test_fabric test;

		test_fabric_named(&test, i);
		for (unsigned kind = 0; kind < N_TABLE_KINDS; kind++) {
			struct osr_routing routing;

			table_make((enum table_kind)kind, &test.fabric, &arena, i, &routing);
			for (unsigned k = 0; k < 10 && routing.rank; k++)
				mix(&test.fabric, &routing, test.name,
				    n_seen[routing.sl2vl != NULL]);
			for (unsigned k = 0; k < 10 && kind == TABLE_UPDOWN_SL; k++)
				mix_levels(&test.fabric, &routing, test.name, n_levels);
		}
		test_fabric_free(&test);
		osr_arena_empty(&arena);
	}
	assert_true(n_levels[0] > 20 && n_levels[1] > 20);
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
 * A ring whose SL 1 crosses the dateline, on VL 1 by tables of today and on VL 0 by those of
 * yesterday. Each is free of deadlock; a packet that changes its lane from switch to switch goes
 * round. Only SL2VL tables differ.
 */
static void test_mixed_lanes(void **state)
{
	struct test_fabric test;
	struct osr_routing now, old, asked;
	struct osr_generation gen[2] = { { .routing = &old }, { .routing = &now } };
	struct osr_loop loop;

	test_fabric_ring(&test, 7, 1);
	table_dateline(&test.fabric, &arena, &now);
	now.claims = OSR_CLAIM_DEADLOCK_FREE;
	assert_int_equal(osr_routing_alloc_sl2vl(&now, &test.fabric, 0, &arena, NULL), OSR_OK);
	table_copy(&test.fabric, &now, &arena, &old);
	for (size_t i = 0; i < osr_n_sl2vl(&test.fabric); i++)
		now.sl2vl[i][1] = old.sl2vl[i][0] = 1;
	assert_int_equal(
		osr_union_loop(&test.fabric, gen, 2, 0, &scratch, &arena, &loop, NULL, NULL),
		OSR_OK);
	assert_true(loop.n > 0);
	assert_int_equal(osr_gate_mixed(&test.fabric, &now, &now, NULL, &scratch, NULL, NULL),
			 OSR_OK);
	assert_int_equal(osr_gate_mixed(&test.fabric, &now, &old, NULL, &scratch, NULL, NULL),
			 OSR_NOT_PROVEN);
	assert_int_equal(osr_gate_mixed(&test.fabric, &now, &old, &now, &scratch, NULL, NULL),
			 OSR_NOT_PROVEN);
	/* The other way round, and with lanes that are the SLs on one side. */
	asked = old;
	asked.rank = now.rank;
	assert_int_equal(osr_gate_mixed(&test.fabric, &asked, &now, NULL, &scratch, NULL, NULL),
			 OSR_NOT_PROVEN);
	asked = now;
	asked.sl2vl = NULL;
	assert_int_equal(osr_gate_mixed(&test.fabric, &now, &asked, NULL, &scratch, NULL, NULL),
			 OSR_OK);
	assert_int_equal(osr_gate_mixed(&test.fabric, &asked, &old, NULL, &scratch, NULL, NULL),
			 OSR_NOT_PROVEN);
	test_fabric_free(&test);
	osr_arena_empty(&arena);
}

static void test_engines(void **state)
{
	const struct osr_request req = { .max_vls = 4, .multicast = true };

	for (unsigned i = 0; i < N_TEST_FABRICS; i++)
		for (const struct osr_engine *const *engine = osr_engines; *engine; engine++) {
			struct osr_result now = { 0 };
			struct osr_diag diag = { "" };
			struct osr_sweep sweep;
			struct test_fabric test;

			test_fabric_named(&test, i);
			now.fabric = test.fabric;
			if (!test_route((*engine)->name, "", req, NULL, &arena, &now, &sweep,
					&diag))
				try_mutants(&test.fabric, &now.routing, test.name, 20);
			else if (strstr(diag.text, "checker"))
				fail_msg("%s on %s: %s", (*engine)->name, test.name, diag.text);
			test_fabric_free(&test);
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
