/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The verdict on tables whose answers are known from theory: rings and their datelines, up/down, virtual
 * lanes by port pairs; and for all kinds of tables, what the checker has proven must be what the search
 * finds, which share no code.
 */
#include "test.h"

#include "core/verify/verdict.h"

#include "fabrics.h"
#include "tables.h"

static struct osr_arena scratch, result, arena;
static struct osr_findings found;

static void verdict_ask(const struct osr_fabric *f, const struct osr_routing *r, bool sls_unknown,
			const struct osr_verdict *checked)
{
	struct osr_generation gen = { .routing = r, .sls_unknown = sls_unknown };
	struct osr_inquiry ask = { .f = f, .gen = &gen, .max_listed = 3, .checked = checked };
	struct osr_diag diag = { "" };

	assert_int_equal(osr_verify(&ask, &scratch, &result, &found, &diag), OSR_OK);
	assert_int_equal(scratch.in_use, 0);
	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++) {
		const struct osr_answered *x = &found.on[question];

		assert_int_equal(x->why[0] == '\0', x->answer == OSR_PROVEN);
		for (uint32_t i = 0; i < x->loop.n; i++)
			assert_int_equal(f->chan_dst[x->loop.step[i].channel],
					 f->chan_src[x->loop.step[(i + 1) % x->loop.n].channel]);
	}
}

/* One letter for each question: proven, refuted, unknown. */
static void assert_answers(const char *expected)
{
	char got[OSR_N_QUESTIONS + 1] = "";

	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++)
		got[question] = osr_answer_name(found.on[question].answer)[0];
	assert_string_equal(got, expected);
}

static enum osr_answer overall(void)
{
	return osr_verdict_of(&found, OSR_REQUIRED, NULL);
}

/* Shortest routes around a ring of 5 wait for each other in a circle, whatever SL all of them have. */
static void test_ring(void **state)
{
	enum osr_question which;
	struct test_fabric t;
	struct osr_routing r;

	test_fabric_ring(&t, 5, 1);
	table_make(TABLE_SHORTEST, &t.f, &arena, 0, &r);
	verdict_ask(&t.f, &r, false, NULL);
	assert_answers("pppururrr");
	assert_int_equal(found.on[OSR_ASK_ONE_WAY].loop.n, 5);
	assert_int_equal(osr_verdict_of(&found, OSR_REQUIRED, &which), OSR_REFUTED);
	assert_int_equal(which, OSR_ASK_ONE_WAY);
	/* With SLs by path they may be free of deadlock: nobody can know. */
	verdict_ask(&t.f, &r, true, NULL);
	assert_answers("pppuuuurr");
	assert_int_equal(osr_verdict_of(&found, OSR_REQUIRED, &which), OSR_UNKNOWN);
	assert_int_equal(which, OSR_ASK_ONE_WAY);
	assert_int_equal(osr_verdict_of(&found, OSR_REQUIRED | 1u << OSR_ASK_SL0, NULL),
			 OSR_REFUTED);
	test_fabric_free(&t);
}

/* A dateline makes the ring safe on the SLs given alone; for replies if it is odd. */
static void test_dateline(void **state)
{
	for (uint32_t n = 5; n < 7; n++) {
		struct test_fabric t;
		struct osr_routing r;

		test_fabric_ring(&t, n, 1);
		table_dateline(&t.f, &arena, &r);
		verdict_ask(&t.f, &r, false, NULL);
		assert_answers(n % 2 ? "pppupuprr" : "pppupurrr");
		assert_int_equal(overall(), OSR_PROVEN);
		assert_int_equal(osr_verdict_of(&found, 1u << OSR_ASK_REPLIES, NULL),
				 n % 2 ? OSR_PROVEN : OSR_REFUTED);
		r.sl = NULL;
		verdict_ask(&t.f, &r, true, NULL);
		assert_answers("pppuuuurr");
		test_fabric_free(&t);
	}
}

/* All zero; returns how many. */
static uint32_t give_sl2vl(const struct osr_fabric *f, struct osr_routing *r)
{
	assert_int_equal(osr_routing_alloc_sl2vl(r, f, 0, &arena, NULL), OSR_OK);
	r->n_vls = 2;
	return (uint32_t)osr_n_sl2vl(f);
}

/*
 * VLs by port pair that ignore the SL: what comes from a host is on VL 0, what comes from a switch on
 * VL 1. Shortest routes of a ring of 5 have two channels, so nothing on VL 1 waits: safe on any SL, and
 * path SLs need not be known. With one VL for all, they make no difference either, and it is the ring.
 */
static void test_port_pairs(void **state)
{
	struct test_fabric t;
	struct osr_routing r;
	uint32_t n;

	test_fabric_ring(&t, 5, 1);
	table_make(TABLE_SHORTEST, &t.f, &arena, 0, &r);
	n = give_sl2vl(&t.f, &r);
	for (unsigned sls_unknown = 0; sls_unknown < 2; sls_unknown++) {
		memset(r.sl2vl, 0, n * sizeof(*r.sl2vl));
		verdict_ask(&t.f, &r, sls_unknown, NULL);
		assert_answers("pppururrr");
		for (uint32_t c = 0; c < t.f.n_channels; c++) {
			uint32_t s = t.f.chan_dst[c], ports = t.f.sw_n_ports[s] + 1u;
			uint32_t in = t.f.chan_port[t.f.chan_rev[c]];

			memset(r.sl2vl[r.sl2vl_row[s] + in * ports], 1, ports * sizeof(*r.sl2vl));
		}
		verdict_ask(&t.f, &r, sls_unknown, NULL);
		assert_answers("pppupuppp");
		assert_int_equal(overall(), OSR_PROVEN);
	}
	test_fabric_free(&t);
}

/* An SL in use that is dropped, has no row, or has no VL on a cable. */
static void test_lanes(void **state)
{
	struct test_fabric t;
	struct osr_routing r;
	uint8_t *vls;
	uint32_t n;

	test_fabric_ring(&t, 5, 1);
	table_dateline(&t.f, &arena, &r);
	vls = (uint8_t *)t.f.chan_vls;
	memset(vls, 1, t.f.n_channels);
	verdict_ask(&t.f, &r, false, NULL);
	assert_int_equal(found.on[OSR_ASK_LANES].answer, OSR_REFUTED);
	assert_int_equal(overall(), OSR_REFUTED);
	assert_int_equal(found.audit.fault[0].vl, 1);
	memset(vls, 2, t.f.n_channels);
	verdict_ask(&t.f, &r, false, NULL);
	assert_int_equal(overall(), OSR_PROVEN);

	n = give_sl2vl(&t.f, &r);
	for (uint32_t pair = 0; pair < n; pair++)
		r.sl2vl[pair][1] = 1;
	verdict_ask(&t.f, &r, false, NULL);
	assert_int_equal(overall(), OSR_PROVEN);
	for (unsigned lost = 0; lost < 2; lost++) {
		memset(r.sl2vl, lost ? OSR_VL_UNSET : 15, 16 * sizeof(*r.sl2vl));
		verdict_ask(&t.f, &r, false, NULL);
		assert_int_equal(found.on[OSR_ASK_LANES].answer, OSR_REFUTED);
		assert_int_equal(overall(), OSR_REFUTED);
	}
	test_fabric_free(&t);
}

/* A hole and a loop, each by its own name. */
static void test_lost(void **state)
{
	struct test_fabric t;
	struct osr_routing r;
	uint32_t d = 0;
	uint8_t right;

	test_fabric_ring(&t, 5, 1);
	table_make(TABLE_UPDOWN, &t.f, &arena, 0, &r);
	verdict_ask(&t.f, &r, false, NULL);
	/* A spanning order is no table: the checker alone knows whether it reaches all. */
	assert_answers("pppuppppp");
	while (t.f.dest_switch[d] != 3 || !t.f.term_weight[t.f.dest_term[d]])
		d++;
	right = r.lft[d * 5 + 1];
	r.lft[d * 5 + 1] = OSR_NO_PATH;
	verdict_ask(&t.f, &r, false, NULL);
	assert_int_equal(found.on[OSR_ASK_REACH].answer, OSR_REFUTED);
	assert_int_equal(found.on[OSR_ASK_NO_LOOPS].answer, OSR_PROVEN);
	assert_int_equal(overall(), OSR_REFUTED);
	r.lft[d * 5 + 1] = right;
	for (uint32_t c = t.f.chan_row[1]; c < t.f.chan_row[2]; c++)
		if (t.f.chan_dst[c] == 2)
			r.lft[d * 5 + 1] = t.f.chan_port[c];
	for (uint32_t c = t.f.chan_row[2]; c < t.f.chan_row[3]; c++)
		if (t.f.chan_dst[c] == 1)
			r.lft[d * 5 + 2] = t.f.chan_port[c];
	verdict_ask(&t.f, &r, false, NULL);
	assert_int_equal(found.on[OSR_ASK_NO_LOOPS].answer, OSR_REFUTED);
	assert_int_equal(overall(), OSR_REFUTED);
	test_fabric_free(&t);
}

/* What the checker has proven, and what is found without it, must be the same. */
static void test_both_ways(void **state)
{
	unsigned n_refuted = 0;

	for (unsigned i = 0; i < N_TEST_FABRICS * N_TABLE_KINDS; i++) {
		enum osr_answer with[OSR_N_QUESTIONS];
		struct osr_verdict checked;
		struct test_fabric t;
		struct osr_routing r;

		test_fabric_named(&t, i / N_TABLE_KINDS);
		table_make(i % N_TABLE_KINDS, &t.f, &arena, i, &r);
		assert_int_equal(osr_check(&t.f, &r, &scratch, &checked, NULL), OSR_OK);
		verdict_ask(&t.f, &r, false, &checked);
		for (unsigned question = 0; question < OSR_N_QUESTIONS; question++)
			with[question] = found.on[question].answer;
		verdict_ask(&t.f, &r, false, NULL);
		for (unsigned question = 0; question < OSR_N_QUESTIONS; question++) {
			if (question != OSR_ASK_GROUPS &&
			    with[question] != found.on[question].answer)
				fail_msg("%s, %s: %s: %s with the checker, %s without", t.name,
					 table_names[i % N_TABLE_KINDS],
					 osr_question_name(question),
					 osr_answer_name(with[question]),
					 osr_answer_name(found.on[question].answer));
			n_refuted += with[question] == OSR_REFUTED;
		}
		test_fabric_free(&t);
	}
	assert_true(n_refuted > 0);
}

static enum osr_status verify_once(void *ctx, struct osr_arena *s, struct osr_arena *o,
				   struct osr_diag *diag)
{
	return osr_verify(ctx, s, o, &found, diag);
}

static void test_memory(void **state)
{
	struct test_fabric t;
	struct osr_routing r;

	test_fabric_ring(&t, 5, 1);
	table_make(TABLE_SHORTEST, &t.f, &arena, 0, &r);
	for (unsigned unknown = 0; unknown < 2; unknown++) {
		struct osr_generation gen = { .routing = &r, .sls_unknown = unknown };
		struct osr_inquiry ask = { .f = &t.f, .gen = &gen };

		assert_true(test_starve(verify_once, &ask) > 10);
	}
	test_fabric_free(&t);
}

static int tear_down(void **state)
{
	osr_arena_free(&scratch);
	osr_arena_free(&result);
	osr_arena_free(&arena);
	return 0;
}

TEST_PROGRAM_THEN(tear_down, test_ring, test_dateline, test_port_pairs, test_lanes, test_lost,
		  test_both_ways, test_memory)
