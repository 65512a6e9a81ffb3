/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Symbolic traces: what is read is what was written, and what makes no sense is named with its line. */
#include "test.h"

#include "simulator/tracefile.h"

static enum osr_status parse(const char *text, struct osr_trace *t, struct osr_diag *diag)
{
	*diag = (struct osr_diag){ "" };
	return osr_trace_parse(text, strlen(text), "trace", t, diag);
}

static void whole_trace(void **state)
{
	static const char text[] = "# figure 5\n"
				   "cart 4 3 2\n"
				   "LOOP 3\n"
				   "CALC 0.001 STD 0.0005\n"
				   "RODREQUEST 1\n"
				   "SEND +X 65536 TAG 7\n"
				   "RECV -X 65536 TAG 7\n"
				   "BARRIER ALL\n"
				   "RODDONE 1\n"
				   "LOOP 2\n"
				   "send -z 100\n"
				   "send +z 200 # both ways\n"
				   "recv -z 200\n"
				   "recv +z 100\n"
				   "BARRIER\n"
				   "END\n"
				   "END\n";
	struct osr_pair pair[24];
	struct osr_trace t;
	struct osr_diag diag;

	assert_int_equal(parse(text, &t, &diag), OSR_OK);
	assert_int_equal(t.n_ranks, 24);
	assert_int_equal(t.n_phases, 3 * (1 + 2));
	assert_int_equal(t.n_keys, 2);
	assert_int_equal(t.max_sends, 2);
	for (uint32_t k = 0; k < t.n_phases; k++) {
		const struct osr_trace_phase *p = &t.phase[k];

		assert_int_equal(p->n_sends, k % 3 ? 2 : 1);
		assert_int_equal(p->key, k % 3 ? UINT32_MAX : 1);
		assert_true(k % 3 ? p->calc == 0 : p->calc == 0.001 && p->std == 0.0005);
		assert_true(t.send[p->first].bytes == (k % 3 ? 100 : 65536));
	}
	assert_int_equal(osr_trace_pairs(&t, &t.send[t.phase[0].first], pair), 24);
	for (uint32_t i = 0; i < 24;
	     i++) { /* to the right, around the corner at the end of a row */
		assert_int_equal(pair[i].from, i);
		assert_int_equal(pair[i].to, i % 4 == 3 ? i - 3 : i + 1);
	}
	assert_int_equal(osr_trace_pairs(&t, &t.send[t.phase[1].first], pair), 24);
	for (uint32_t i = 0; i < 24; i++)
		assert_int_equal(pair[i].to, (i + 12) % 24);
	osr_trace_free(&t);
}

static void mistakes(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{ "", "no phase" },
		{ "CALC 1\n", "trace:1: expected CART first" },
		{ "CART 1\n", "trace:1: CART has two ranks" },
		{ "CART 2 2 2 2 2\n", "trace:1: expected CART" },
		{ "CART 4096 4096\n", "trace:1: CART has two ranks" },
		{ "CART 2\nCART 2\n", "trace:2: CART stands once" },
		{ "CART 2\nSEND +Y 1\n", "trace:2: expected a neighbour" },
		{ "CART 2\nSEND X 1\n", "trace:2: expected a neighbour" },
		{ "CART 2\nSEND +X one\n", "trace:2: expected bytes" },
		{ "CART 2\nSEND +X 1 TAG\n", "trace:2: expected bytes" },
		{ "CART 2\nSEND +X nan\n", "trace:2: expected bytes" },
		{ "CART 2\nCALC 1 STD 2\n", "trace:2: expected CALC" },
		{ "CART 2\nSEND +X 1\nBARRIER\n", "trace:3: the sends and receives" },
		{ "CART 2\nSEND +X 1\nRECV +X 1\nBARRIER\n", "trace:4: the sends and receives" },
		{ "CART 2\nSEND +X 1\nRECV -X 2\nBARRIER\n", "trace:4: the sends and receives" },
		{ "CART 2\nSEND +X 1 TAG 1\nRECV -X 1\nBARRIER\n", "trace:4: the sends and" },
		{ "CART 2\nSEND +X 1\n", "the last phase has no BARRIER" },
		{ "CART 2\nLOOP 2\nBARRIER\n", "a loop no END" },
		{ "CART 2\nEND\n", "trace:2: END stands behind" },
		{ "CART 2\nLOOP 1000000\nBARRIER\nBARRIER\nEND\n", "trace:5: more than a million" },
		{ "CART 2\nRODDONE 0\n", "trace:2: RODDONE stands" },
		{ "CART 2\nRODREQUEST 0\nRODREQUEST 1\n", "trace:3: RODREQUEST stands" },
		{ "CART 2 2\nRODREQUEST 0\nSEND +X 1\nRECV -X 1\nBARRIER\nSEND +Y 1\nRECV -Y 1\n"
		  "BARRIER\n",
		  "trace:8: the key was requested for other directions" },
		{ "CART 2\nDANCE\n", "trace:2: \"DANCE\": expected" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct osr_trace t;
		struct osr_diag diag;

		assert_int_equal(parse(cases[i].text, &t, &diag), OSR_INVAL);
		if (!strstr(diag.text, cases[i].said))
			fail_msg("\"%s\" gives \"%s\", not \"%s\"", cases[i].text, diag.text,
				 cases[i].said);
		assert_null(t.phase);
	}
}

TEST_PROGRAM(whole_trace, mistakes)
