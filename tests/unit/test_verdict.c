/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The auditor names what is wrong; the verdict answers questions. */
#include "test.h"

#include "core/verify/audit.h"
#include "fabrics.h"
#include "tables.h"
#include "core/verify/verdict.h"

/*
 * ---- The auditor. tests/cli/mutants.py and chance.py send every packet through tables that are
 * wrong, and compare what is named.
 */

static struct osr_arena scratch, result, arena;
static struct osr_audit audit;
static struct test_fabric t;
static struct osr_routing r;

static int tear_down(void **state)
{
	osr_arena_free(&scratch);
	osr_arena_free(&result);
	osr_arena_free(&arena);
	test_fabric_free(&t);
	return 0;
}

/* A ring and its tables, instead of the last ones. */
static void on_ring(uint32_t n, uint32_t hosts, enum table_kind kind)
{
	tear_down(NULL);
	test_fabric_ring(&t, n, hosts);
	table_make(kind, &t.fabric, &arena, 1, &r);
}

static void look(const struct osr_generation *gen)
{
	struct osr_diag diag = { "" };

	assert_int_equal(osr_audit(&t.fabric, gen, OSR_CLAIM_REVERSIBLE, 100, &scratch, &result,
				   &audit, &diag),
			 OSR_OK);
	for (uint32_t i = 0; i < audit.n_listed; i++) {
		diag.text[0] = 0;
		osr_fault_say(&t.fabric, &audit.fault[i], &diag);
		assert_true(diag.text[0] != 0);
	}
}

static uint64_t n_faults(void)
{
	uint64_t n = 0;

	for (unsigned kind = 0; kind < OSR_N_FAULTS; kind++)
		n += audit.n_faults[kind];
	return n;
}

/* A LID of a host of another switch, so that packets pass from s to it. */
static uint32_t far_dest(uint32_t s)
{
	for (uint32_t d = 0; d < t.fabric.n_dests; d++)
		if (t.fabric.dest_switch[d] != s && t.fabric.term_weight[t.fabric.dest_term[d]])
			return d;
	return OSR_NONE;
}

/* Tables of many end ports: the last host's drops what it sends. */
static void test_senders(void **state)
{
	struct osr_generation gen = { .routing = &r };
	osr_sl2vl_t *table;
	uint32_t last;

	on_ring(5, 20, TABLE_UPDOWN_SL2VL);
	table = osr_calloc(&arena, t.fabric.n_terminals, sizeof(*table));
	gen.term_sl2vl = table;
	look(&gen);
	assert_int_equal(n_faults(), 0);
	for (last = t.fabric.n_terminals - 1; !t.fabric.term_weight[last]; last--)
		;
	memset(table[last], 15, sizeof(*table));
	look(&gen);
	assert_true(audit.n_faults[OSR_FAULT_SL2VL] > 0);
	assert_int_equal(audit.n_faults[OSR_FAULT_SL2VL], n_faults());
	for (uint32_t i = 0; i < audit.n_listed; i++)
		assert_int_equal(audit.fault[i].term, last);
}

/*
 * A fault of each kind is said with its own switch, ports, LID and figures. On a ring of 4
 * destination 7 is LID 8, of the host of sw-3 at its port 3, and destination 3 is LID 4, of sw-3
 * itself; end port 1 is the host of sw-0.
 */
static void test_sentences(void **state)
{
	static const struct {
		enum osr_fault_kind kind;
		uint32_t dest, n_hosts, term;
		uint8_t in, vl;
		const char *says;
	} cases[] = {
		{ OSR_FAULT_HOLE, 7, 7, OSR_NONE, 3, 9,
		  "switch sw-2 has no entry for LID 8 (host-1007): 7 hosts cut off" },
		{ OSR_FAULT_DEAD_END, 7, 7, OSR_NONE, 3, 9,
		  "switch sw-2 sends LID 8 (host-1007) out of port 1, which leads to no switch: 7 "
		  "hosts cut off" },
		{ OSR_FAULT_WRONG_PORT, 7, 7, OSR_NONE, 3, 9,
		  "switch sw-2 sends LID 8 (host-1007) out of port 1, but it is attached to port "
		  "3: 7 hosts cut off" },
		{ OSR_FAULT_LOOP, 7, 7, OSR_NONE, 3, 9,
		  "LID 8 (host-1007) is forwarded in a loop of 4 switches, through switch sw-2 "
		  "port 1: 7 hosts cut off" },
		{ OSR_FAULT_LOOP, 7, 1, OSR_NONE, 3, 9,
		  "LID 8 (host-1007) is forwarded in a loop of 4 switches, through switch sw-2 "
		  "port 1: 1 host cut off" },
		/* No packet between hosts is addressed to port 0 of a switch. */
		{ OSR_FAULT_HOLE, 3, 7, OSR_NONE, 3, 9,
		  "switch sw-2 has no entry for LID 4 (sw-3): 7 hosts cannot reach this switch by "
		  "its LID; traffic between hosts is not affected" },
		{ OSR_FAULT_SL2VL, 7, 7, OSR_NONE, 3, 9,
		  "SL 6 is in use, but switch sw-2 from port 3 to port 1 maps it to VL 9, which "
		  "does not work there" },
		{ OSR_FAULT_SL2VL, 7, 7, OSR_NONE, 3, 15,
		  "SL 6 is in use, but switch sw-2 from port 3 to port 1 drops it (VL 15)" },
		{ OSR_FAULT_SL2VL, 7, 7, OSR_NONE, 3, OSR_VL_UNSET,
		  "SL 6 is in use, but switch sw-2 from port 3 to port 1 has no SL2VL table" },
		{ OSR_FAULT_SL2VL, 7, 7, OSR_NONE, OSR_NO_PATH, 9,
		  "SL 6 is in use, but the cable at switch sw-2 port 1 has no VL 9" },
		{ OSR_FAULT_SL2VL, 7, 7, 1, OSR_NO_PATH, 9,
		  "SL 6 is in use, but end port host-1004 has no VL 9" },
		{ OSR_FAULT_SL2VL, 7, 7, 1, 3, 15,
		  "SL 6 is in use, but end port host-1004 drops it (VL 15)" },
		{ OSR_FAULT_NO_SL, 7, 7, 1, 3, 15,
		  "no SL is known from host-1004 to LID 8 (host-1007)" },
		{ OSR_FAULT_GROUP_LOOP, 7, 7, 1, 3, 15,
		  "a packet for MLID 0xc0ab comes to switch sw-2 a second time, by port 3" },
		{ OSR_FAULT_GROUP_SPLIT, 7, 7, 1, 3, 15,
		  "a packet for MLID 0xc0ab from switch sw-2 port 3 does not reach host-1004" },
	};

	on_ring(4, 1, TABLE_SHORTEST);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct osr_fault fault = { .kind = cases[i].kind,
						 .sw = 2,
						 .dest = cases[i].dest,
						 .term = cases[i].term,
						 .in = cases[i].in,
						 .out = 1,
						 .sl = 6,
						 .vl = cases[i].vl,
						 .mlid = 0xc0ab,
						 .n_hosts = cases[i].n_hosts,
						 .n_switches = 4 };
		struct osr_diag diag = { "" };

		osr_fault_say(&t.fabric, &fault, &diag);
		assert_string_equal(diag.text, cases[i].says);
	}
}

/*
 * ---- The verdict on tables whose answers are known from theory: rings and their datelines,
 * up/down, virtual lanes by port pairs; and for all kinds of tables, what the checker has proven
 * must be what the search finds, which share no code.
 */

static struct osr_findings found;

/* The answer to all that stock routings promise. */
static enum osr_answer verdict_ask(bool sls_unknown, const struct osr_checked *checked)
{
	struct osr_generation gen = { .routing = &r, .sls_unknown = sls_unknown };
	struct osr_inquiry ask = {
		.fabric = &t.fabric, .gen = &gen, .max_listed = 3, .checked = checked
	};
	struct osr_diag diag = { "" };

	assert_int_equal(osr_verify(&ask, &scratch, &result, &found, &diag), OSR_OK);
	assert_int_equal(scratch.in_use, 0);
	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++) {
		const struct osr_answered *answered = &found.on[question];

		assert_int_equal(answered->why[0] == '\0', answered->answer == OSR_PROVEN);
		for (uint32_t i = 0; i < answered->loop.n; i++)
			assert_int_equal(
				t.fabric.chan_dst[answered->loop.step[i].channel],
				t.fabric.chan_src[answered->loop.step[(i + 1) % answered->loop.n]
							  .channel]);
	}
	return osr_verdict_of(&found, OSR_REQUIRED, NULL);
}

/* One letter for each question: proven, refuted, unknown. */
static void assert_answers(const char *expected)
{
	char got[OSR_N_QUESTIONS + 1] = "";

	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++)
		got[question] = osr_answer_name(found.on[question].answer)[0];
	assert_string_equal(got, expected);
}

/*
 * Shortest routes around a ring of 5 wait for each other in a circle, whatever SL all of them have.
 */
static void test_ring(void **state)
{
	enum osr_question which;

	on_ring(5, 1, TABLE_SHORTEST);
	verdict_ask(false, NULL);
	assert_answers("pppururrr");
	assert_int_equal(found.on[OSR_ASK_ONE_WAY].loop.n, 5);
	assert_int_equal(osr_verdict_of(&found, OSR_REQUIRED, &which), OSR_REFUTED);
	assert_int_equal(which, OSR_ASK_ONE_WAY);
	/* With SLs by path they may be free of deadlock: nobody can know. */
	verdict_ask(true, NULL);
	assert_answers("pppuuuurr");
	assert_int_equal(osr_verdict_of(&found, OSR_REQUIRED, &which), OSR_UNKNOWN);
	assert_int_equal(which, OSR_ASK_ONE_WAY);
	assert_int_equal(osr_verdict_of(&found, OSR_REQUIRED | 1u << OSR_ASK_SL0, NULL),
			 OSR_REFUTED);
}

/* A dateline makes the ring safe on the SLs given alone; for replies if it is odd. */
static void test_dateline(void **state)
{
	for (uint32_t n = 5; n < 7; n++) {

		on_ring(n, 1, TABLE_SHORTEST);
		table_dateline(&t.fabric, &arena, &r);
		assert_int_equal(verdict_ask(false, NULL), OSR_PROVEN);
		assert_answers(n % 2 ? "pppupuprr" : "pppupurrr");
		assert_int_equal(osr_verdict_of(&found, 1u << OSR_ASK_REPLIES, NULL),
				 n % 2 ? OSR_PROVEN : OSR_REFUTED);
		r.sl = NULL;
		verdict_ask(true, NULL);
		assert_answers("pppuuuurr");
	}
}

/* All zero; returns how many. */
static uint32_t give_sl2vl(void)
{
	assert_int_equal(osr_routing_alloc_sl2vl(&r, &t.fabric, 0, &arena, NULL), OSR_OK);
	r.n_vls = 2;
	return (uint32_t)osr_n_sl2vl(&t.fabric);
}

/*
 * VLs by port pair that ignore the SL: what comes from a host is on VL 0, what comes from a switch
 * on VL 1. Shortest routes of a ring of 5 have two channels, so nothing on VL 1 waits: safe on any
 * SL, and path SLs need not be known. With one VL for all, they make no difference either, and it
 * is the ring.
 */
static void test_port_pairs(void **state)
{
	uint32_t n;

	on_ring(5, 1, TABLE_SHORTEST);
	n = give_sl2vl();
	for (unsigned sls_unknown = 0; sls_unknown < 2; sls_unknown++) {
		memset(r.sl2vl, 0, n * sizeof(*r.sl2vl));
		verdict_ask(sls_unknown, NULL);
		assert_answers("pppururrr");
		for (uint32_t c = 0; c < t.fabric.n_channels; c++) {
			uint32_t s = t.fabric.chan_dst[c], ports = t.fabric.sw_n_ports[s] + 1u;
			uint32_t in = t.fabric.chan_port[t.fabric.chan_rev[c]];

			memset(r.sl2vl[r.sl2vl_row[s] + in * ports], 1, ports * sizeof(*r.sl2vl));
		}
		assert_int_equal(verdict_ask(sls_unknown, NULL), OSR_PROVEN);
		assert_answers("pppupuppp");
	}
}

/* An SL in use that is dropped, has no row, or has no VL on a cable. */
static void test_lanes(void **state)
{
	uint8_t *vls;
	uint32_t n;

	on_ring(5, 1, TABLE_SHORTEST);
	table_dateline(&t.fabric, &arena, &r);
	vls = (uint8_t *)t.fabric.chan_vls;
	memset(vls, 1, t.fabric.n_channels);
	assert_int_equal(verdict_ask(false, NULL), OSR_REFUTED);
	assert_int_equal(found.on[OSR_ASK_LANES].answer, OSR_REFUTED);
	assert_int_equal(found.audit.fault[0].vl, 1);
	memset(vls, 2, t.fabric.n_channels);
	assert_int_equal(verdict_ask(false, NULL), OSR_PROVEN);

	n = give_sl2vl();
	for (uint32_t pair = 0; pair < n; pair++)
		r.sl2vl[pair][1] = 1;
	assert_int_equal(verdict_ask(false, NULL), OSR_PROVEN);
	for (unsigned lost = 0; lost < 2; lost++) {
		memset(r.sl2vl, lost ? OSR_VL_UNSET : 15, 16 * sizeof(*r.sl2vl));
		assert_int_equal(verdict_ask(false, NULL), OSR_REFUTED);
		assert_int_equal(found.on[OSR_ASK_LANES].answer, OSR_REFUTED);
	}
}

/* A hole and a loop, each by its own name. */
static void test_lost(void **state)
{
	uint32_t d = 0;
	uint8_t right;

	on_ring(5, 1, TABLE_UPDOWN);
	verdict_ask(false, NULL);
	/* A spanning order is no table: the checker alone knows whether it reaches all. */
	assert_answers("pppuppppp");
	while (t.fabric.dest_switch[d] != 3 || !t.fabric.term_weight[t.fabric.dest_term[d]])
		d++;
	right = r.lft[d * 5 + 1];
	r.lft[d * 5 + 1] = OSR_NO_PATH;
	assert_int_equal(verdict_ask(false, NULL), OSR_REFUTED);
	assert_int_equal(found.on[OSR_ASK_REACH].answer, OSR_REFUTED);
	assert_int_equal(found.on[OSR_ASK_NO_LOOPS].answer, OSR_PROVEN);
	r.lft[d * 5 + 1] = right;
	/* Switches 1 and 2 send it to each other. */
	for (uint32_t c = 0; c < t.fabric.n_channels; c++)
		if (t.fabric.chan_src[c] + t.fabric.chan_dst[c] == 1 + 2)
			r.lft[d * 5 + t.fabric.chan_src[c]] = t.fabric.chan_port[c];
	assert_int_equal(verdict_ask(false, NULL), OSR_REFUTED);
	assert_int_equal(found.on[OSR_ASK_NO_LOOPS].answer, OSR_REFUTED);
}

/* What the checker has proven, and what is found without it, must be the same. */
static void test_both_ways(void **state)
{
	unsigned n_refuted = 0;

	for (unsigned i = 0; i < N_TEST_FABRICS * N_TABLE_KINDS; i++) {
		enum osr_answer with[OSR_N_QUESTIONS];
		struct osr_checked checked;
		struct osr_audit by_checker;

		tear_down(state);
		test_fabric_named(&t, i / N_TABLE_KINDS);
		table_make(i % N_TABLE_KINDS, &t.fabric, &arena, i, &r);
		assert_int_equal(osr_check_keep(&t.fabric, &r, &arena, &scratch, &checked, NULL),
				 OSR_OK);
		verdict_ask(false, &checked);
		by_checker = found.audit;
		for (unsigned question = 0; question < OSR_N_QUESTIONS; question++)
			with[question] = found.on[question].answer;
		verdict_ask(false, NULL);
		/* Nothing is wrong, and the auditor counts as the checker does. */
		for (unsigned kind = 0; kind < OSR_N_FAULTS; kind++)
			assert_int_equal(found.audit.n_faults[kind], 0);
		assert_int_equal(found.audit.n_lost, 0);
		assert_memory_equal(found.audit.load, by_checker.load,
				    t.fabric.n_channels * sizeof(*by_checker.load));
		found.audit.load = by_checker.load = NULL;
		assert_memory_equal(&found.audit, &by_checker,
				    offsetof(struct osr_audit, n_faults));
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
	}
	assert_true(n_refuted > 0);
}

static enum osr_status verify_once(void *ctx, struct osr_arena *s, struct osr_arena *o,
				   struct osr_diag *diag)
{
	return osr_verify(ctx, s, o, &found, diag);
}

/*
 * With groups, without SLs, with loops, and with path records of one host alone: nothing is read of
 * those that are not there.
 */
static void test_memory(void **state)
{
	static const uint64_t ports[5][4] = { { UINT64_MAX }, { UINT64_MAX } };
	const uint16_t mlid = 0xc000;
	const struct osr_groups groups = { 1, &mlid, ports, 0 };
	struct osr_generation gen = { .routing = &r, .groups = &groups };
	struct osr_inquiry ask = { .fabric = &t.fabric, .gen = &gen, .max_listed = 10 };
	struct osr_paths paths = { .n_rows = 1 };
	uint32_t *row;

	on_ring(5, 2, TABLE_UPDOWN_SL2VL);
	r.lft[(size_t)far_dest(1) * r.n_switches + 1] = OSR_NO_PATH;
	row = osr_alloc(&arena, t.fabric.n_terminals, sizeof(*row));
	memset(row, 0xff, t.fabric.n_terminals * sizeof(*row));
	row[t.fabric.dest_term[far_dest(4)]] = 0;
	paths.row = row;
	paths.sl = osr_calloc(&arena, t.fabric.n_dests, 1);
	for (unsigned k = 0; k < 4; k++) {
		gen.sls_unknown = k == 1;
		gen.paths = k == 3 ? &paths : NULL;
		if (k == 2)
			table_make(TABLE_SHORTEST, &t.fabric, &arena, 1, &r);
		assert_true(test_starve(verify_once, &ask) > 20);
	}
	assert_true(found.audit.n_faults[OSR_FAULT_NO_SL] > 0);
}

TEST_PROGRAM_THEN(tear_down, test_senders, test_sentences, test_ring, test_dateline,
		  test_port_pairs, test_lanes, test_lost, test_both_ways, test_memory)
