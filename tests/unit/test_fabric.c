/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "test.h"

#include <osmroutes/fabric.h>

#include "fabrics.h"
#include "faults.h"

/* Everything fabric.h promises of the arrays. */
/* Every pair of consecutive channels is one turn, and every turn is such a pair. */
static void assert_turns(const struct osr_fabric *f)
{
	uint32_t n_turns = 0;

	for (uint32_t c0 = 0; c0 < f->n_channels; c0++)
		for (uint32_t c1 = 0; c1 < f->n_channels; c1++) {
			if (f->chan_src[c1] != f->chan_dst[c0])
				continue;
			assert_int_equal(osr_turn(f, c0, c1), n_turns);
			assert_int_equal(osr_turn_next(f, c0, n_turns), c1);
			n_turns++;
		}
	assert_int_equal(osr_n_turns(f), n_turns);
}

static void assert_sound(const struct osr_fabric *f)
{
	uint32_t n_dests = 0;

	assert_turns(f);
	assert_int_equal(f->chan_row[0], 0);
	assert_int_equal(f->chan_row[f->n_switches], f->n_channels);
	assert_int_equal(f->term_row[f->n_switches], f->n_terminals);
	assert_int_equal(f->port_row[f->n_switches], f->n_ports);
	for (uint32_t s = 0; s < f->n_switches; s++) {
		uint32_t sources = 0;

		assert_true(s == 0 || f->sw_guid[s - 1] < f->sw_guid[s]);
		assert_int_equal(osr_fabric_switch_by_guid(f, f->sw_guid[s]), s);
		assert_true(f->sw_component[s] < f->n_components);
		assert_int_equal(f->port_row[s + 1] - f->port_row[s], f->sw_n_ports[s] + 1);
		for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++) {
			assert_int_equal(f->chan_src[c], s);
			assert_true(c == f->chan_row[s] || f->chan_port[c - 1] < f->chan_port[c]);
			assert_int_equal(osr_port_channel(f, s, f->chan_port[c]), c);
		}
		for (uint32_t t = f->term_row[s]; t < f->term_row[s + 1]; t++) {
			assert_int_equal(f->term_switch[t], s);
			assert_true(t == f->term_row[s] || f->term_port[t - 1] < f->term_port[t]);
			assert_int_equal(osr_port_channel(f, s, f->term_port[t]), OSR_NONE);
			assert_int_equal(f->term_weight[t], f->term_role[t] != OSR_ROLE_SP0);
			sources += f->term_weight[t];
			n_dests += 1u << f->term_lmc[t];
		}
		assert_int_equal(f->sw_sources[s], sources);
	}
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t back = f->chan_rev[c];

		assert_int_equal(f->chan_rev[back], c);
		assert_int_equal(f->chan_src[back], f->chan_dst[c]);
		assert_int_equal(f->chan_dst[back], f->chan_src[c]);
		assert_int_not_equal(f->chan_dst[c], f->chan_src[c]);
		assert_int_equal(f->chan_rate[back], f->chan_rate[c]);
		assert_true(f->chan_vls[c] >= 1 && f->chan_vls[c] <= OSR_MAX_VLS);
		assert_int_equal(f->sw_component[f->chan_src[c]], f->sw_component[f->chan_dst[c]]);
	}
	assert_int_equal(f->n_dests, n_dests);
	for (uint32_t d = 0; d < f->n_dests; d++) {
		uint32_t t = f->dest_term[d];

		assert_true(d == 0 || f->dest_lid[d - 1] < f->dest_lid[d]);
		assert_int_equal(f->lid_dest[f->dest_lid[d]], d);
		assert_int_equal(f->dest_switch[d], f->term_switch[t]);
		assert_int_equal(f->dest_lid[d] >> f->term_lmc[t],
				 f->term_lid[t] >> f->term_lmc[t]);
	}
	assert_int_equal(f->max_lid, f->n_dests ? f->dest_lid[f->n_dests - 1] : 0);
}

static void test_sound(void **state)
{
	for (unsigned i = 0; i < N_TEST_FABRICS + 200; i++) {
		unsigned seed = i - N_TEST_FABRICS;
		struct test_fabric t;

		if (i < N_TEST_FABRICS)
			test_fabric_named(&t, i);
		else
			test_fabric_random(&t, 1 + seed % 40, seed % 90, seed);
		assert_sound(&t.f);
		assert_true(i < N_TEST_FABRICS || t.f.n_components == 1);
		test_fabric_free(&t);
	}
}

/* Whatever was fed first, the fabric is the same. */
static void test_order_does_not_matter(void **state)
{
	for (unsigned i = 0; i < 4 * N_TEST_FABRICS; i++) {
		struct osr_arena arena = { 0 };
		struct test_fabric t;
		struct osr_fabric f;
		struct faults faults;
		char a[32], b[32];

		test_fabric_named(&t, i / 4);
		faults_new(&faults, &t.f);
		faults.order = 1 + i;
		faults_build(&faults, &arena, &f);
		assert_sound(&f);
		assert_true(osr_fabric_equal(&t.f, &f));
		assert_memory_equal(f.sw_guid, t.f.sw_guid, f.n_switches * sizeof(*f.sw_guid));
		assert_memory_equal(f.chan_dst, t.f.chan_dst, f.n_channels * sizeof(*f.chan_dst));
		assert_memory_equal(f.chan_rev, t.f.chan_rev, f.n_channels * sizeof(*f.chan_rev));
		assert_memory_equal(f.chan_port, t.f.chan_port, f.n_channels);
		assert_memory_equal(f.dest_switch, t.f.dest_switch,
				    f.n_dests * sizeof(*f.dest_switch));
		for (uint32_t s = 0; s < f.n_switches; s++)
			assert_string_equal(osr_switch_name(&f, s, a), osr_switch_name(&t.f, s, b));
		faults_free(&faults);
		osr_arena_free(&arena);
		test_fabric_free(&t);
	}
}

/* Two switches and a host that are fine, and one thing more that is not. */
struct extra {
	const char *says;
	struct osr_switch_in sw;
	struct osr_link_in link;
	struct osr_terminal_in term;
};

static void refuse(const struct extra *e)
{
	struct osr_builder *b = osr_builder_new();
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { 0 };
	struct osr_fabric f;

	for (unsigned i = 0; i < 2; i++)
		osr_builder_switch(b, &(struct osr_switch_in){ .guid = 0x10 + i, .n_ports = 8 });
	osr_builder_link(b, &(struct osr_link_in){ .sw_b = 1, .port_a = 1, .port_b = 1 });
	osr_builder_terminal(b, &(struct osr_terminal_in){ .guid = 0x20, .port = 2, .lid = 8 });
	if (e->sw.guid)
		osr_builder_switch(b, &e->sw);
	if (e->link.port_a)
		osr_builder_link(b, &e->link);
	if (e->term.guid)
		osr_builder_terminal(b, &e->term);
	assert_int_equal(osr_builder_build(b, &arena, &f, &diag), e->says ? OSR_INVAL : OSR_OK);
	if (e->says && !strstr(diag.text, e->says))
		fail_msg("\"%s\" does not say \"%s\"", diag.text, e->says);
	osr_builder_free(b);
	osr_arena_free(&arena);
}

static void test_refuse(void **state)
{
	static const struct extra extras[] = {
		{ .says = NULL, .sw = { .guid = 0x12, .n_ports = 254 } },
		{ .says = "0x0000000000000011", .sw = { .guid = 0x11, .n_ports = 8 } },
		{ .says = "254", .sw = { .guid = 0x12, .n_ports = 255 } },
		{ .says = NULL, .link = { .sw_b = 1, .port_a = 3, .port_b = 3 } },
		{ .says = NULL, .link = { .port_a = 3, .port_b = 4 } }, /* loop-back cable */
		{ .says = "twice", .link = { .sw_b = 1, .port_a = 1, .port_b = 3 } },
		{ .says = "twice", .link = { .sw_b = 1, .port_a = 2, .port_b = 3 } },
		{ .says = "port 9", .link = { .sw_b = 1, .port_a = 9, .port_b = 3 } },
		{ .says = "port 9", .link = { .sw_b = 1, .port_a = 3, .port_b = 9 } },
		{ .says = "number 7", .link = { .sw_b = 7, .port_a = 3, .port_b = 3 } },
		{ .says = NULL, .term = { .guid = 0x21, .port = 3, .lid = 0xbfff } },
		{ .says = "LID 8", .term = { .guid = 0x21, .port = 3, .lid = 8 } },
		{ .says = "LID 0", .term = { .guid = 0x21, .port = 3, .lid = 0 } },
		{ .says = "LID 8", .term = { .guid = 0x21, .port = 3, .lid = 8, .lmc = 3 } },
		{ .says = "LID 49152", .term = { .guid = 0x21, .port = 3, .lid = 0xc000 } },
		{ .says = "LID 10", .term = { .guid = 0x21, .port = 3, .lid = 10, .lmc = 2 } },
		{ .says = NULL, .term = { .guid = 0x21, .port = 3, .lid = 12, .lmc = 2 } },
		{ .says = "LMC 8", .term = { .guid = 0x21, .port = 3, .lid = 256, .lmc = 8 } },
		{ .says = "twice", .term = { .guid = 0x21, .port = 2, .lid = 9 } },
		{ .says = "port 9", .term = { .guid = 0x21, .port = 9, .lid = 9 } },
		{ .says = "number 5", .term = { .guid = 0x21, .sw = 5, .port = 3, .lid = 9 } },
	};

	struct osr_builder *empty = osr_builder_new();
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { 0 };
	struct osr_fabric f;

	for (unsigned i = 0; i < sizeof(extras) / sizeof(extras[0]); i++)
		refuse(&extras[i]);
	assert_int_equal(osr_builder_build(empty, &arena, &f, &diag), OSR_INVAL);
	assert_non_null(strstr(diag.text, "no switch"));
	osr_builder_free(empty);
	osr_builder_free(NULL);
}

static enum osr_status build_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				  struct osr_diag *diag)
{
	struct osr_builder *b = osr_builder_new();
	enum osr_status st;
	struct osr_fabric f;

	for (unsigned i = 0; i < 3; i++) {
		osr_builder_switch(b, &(struct osr_switch_in){ .guid = 1 + i, .n_ports = 8 });
		osr_builder_terminal(b, &(struct osr_terminal_in){
						.guid = 9 + i, .sw = i, .port = 8, .lid = 1 + i });
	}
	osr_builder_link(b, &(struct osr_link_in){ .sw_b = 1, .port_a = 1, .port_b = 1 });
	st = osr_builder_build(b, result, &f, diag);
	osr_builder_free(b);
	return st;
}

static enum osr_status copy_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				 struct osr_diag *diag)
{
	struct osr_fabric copy;

	return osr_fabric_copy(ctx, result, &copy, diag);
}

static void test_out_of_memory(void **state)
{
	struct test_fabric t;

	test_fabric_named(&t, 1);
	assert_true(test_starve(build_once, NULL) > 20);
	assert_int_equal(test_starve(copy_once, &t.f), 32);
	test_fabric_free(&t);
}

/* A copy is equal and lives on its own; one link, LID or name more or less is not equal. */
static void test_copy_and_equal(void **state)
{
	for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
		struct osr_arena arena = { 0 };
		struct test_fabric t, other;
		struct osr_fabric copy;
		struct osr_diag diag;

		test_fabric_named(&t, i);
		test_fabric_named(&other, (i + 1) % N_TEST_FABRICS);
		assert_int_equal(osr_fabric_copy(&t.f, &arena, &copy, &diag), OSR_OK);
		assert_true(copy.chan_dst != t.f.chan_dst || !copy.n_channels);
		assert_true(osr_fabric_equal(&t.f, &copy));
		assert_false(osr_fabric_equal(&t.f, &other.f));
		assert_true(osr_fabric_alike(&t.f, &copy));
		assert_false(osr_fabric_alike(&t.f, &other.f));
		test_fabric_free(&t);
		if (copy.n_channels) {
			struct osr_fabric changed = copy;
			uint8_t *port = osr_alloc(&arena, copy.n_channels, 1);

			memcpy(port, copy.chan_port, copy.n_channels);
			port[copy.n_channels - 1]++;
			changed.chan_port = port;
			assert_false(osr_fabric_equal(&copy, &changed));
			assert_false(osr_fabric_alike(&copy, &changed));
		}
		osr_arena_free(&arena);
		test_fabric_free(&other);
	}
}

static void test_clean_names(void **state)
{
	static const char *const names[][2] = {
		{ "plain-7 HCA-1", "plain-7 HCA-1" },
		{ "\x1b[31mred", "?[31mred" },
		{ "tab\there\x7f\n", "tab?here??" },
		{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "latin \xe9", "latin ?" },
		{ "csi \xc2\x9b 8 bits \x9b", "csi ?? 8 bits ?" },
		{ "cut \xe2\x82", "cut ??" },
		{ "\xff\xfe\xc0\x80\xf8", "?????" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char text[64];

		strcpy(text, names[i][0]);
		osr_name_clean(text);
		assert_string_equal(text, names[i][1]);
	}
}

TEST_PROGRAM(test_sound, test_copy_and_equal, test_order_does_not_matter, test_clean_names,
	     test_refuse, test_out_of_memory)
