/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "test.h"

#include <osmroutes/fabric.h>

#include "fabrics.h"
#include "faults.h"

/* Everything fabric.h promises of the arrays. */
/* Every pair of consecutive channels is one turn, and every turn is such a pair. */
static void assert_turns(const struct osr_fabric *fabric)
{
	uint32_t n_turns = 0;

	for (uint32_t c0 = 0; c0 < fabric->n_channels; c0++)
		for (uint32_t c1 = 0; c1 < fabric->n_channels; c1++) {
			if (fabric->chan_src[c1] != fabric->chan_dst[c0])
				continue;
			assert_int_equal(osr_turn(fabric, c0, c1), n_turns);
			assert_int_equal(osr_turn_next(fabric, c0, n_turns), c1);
			n_turns++;
		}
	assert_int_equal(osr_n_turns(fabric), n_turns);
}

static void assert_sound(const struct osr_fabric *fabric)
{
	uint32_t n_dests = 0;

	assert_turns(fabric);
	assert_int_equal(fabric->chan_row[0], 0);
	assert_int_equal(fabric->chan_row[fabric->n_switches], fabric->n_channels);
	assert_int_equal(fabric->term_row[fabric->n_switches], fabric->n_terminals);
	assert_int_equal(fabric->port_row[fabric->n_switches], fabric->n_ports);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t sources = 0;

		assert_true(s == 0 || fabric->sw_guid[s - 1] < fabric->sw_guid[s]);
		assert_int_equal(osr_fabric_switch_by_guid(fabric, fabric->sw_guid[s]), s);
		assert_true(fabric->sw_component[s] < fabric->n_components);
		assert_int_equal(fabric->port_row[s + 1] - fabric->port_row[s],
				 fabric->sw_n_ports[s] + 1);
		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			assert_int_equal(fabric->chan_src[c], s);
			assert_true(c == fabric->chan_row[s] ||
				    fabric->chan_port[c - 1] < fabric->chan_port[c]);
			assert_int_equal(osr_port_channel(fabric, s, fabric->chan_port[c]), c);
		}
		for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++) {
			assert_int_equal(fabric->term_switch[t], s);
			assert_true(t == fabric->term_row[s] ||
				    fabric->term_port[t - 1] < fabric->term_port[t]);
			assert_int_equal(osr_port_channel(fabric, s, fabric->term_port[t]),
					 OSR_NONE);
			assert_int_equal(fabric->term_weight[t],
					 fabric->term_role[t] != OSR_ROLE_SP0);
			sources += fabric->term_weight[t];
			n_dests += 1u << fabric->term_lmc[t];
		}
		assert_int_equal(fabric->sw_sources[s], sources);
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t back = fabric->chan_rev[c];

		assert_int_equal(fabric->chan_rev[back], c);
		assert_int_equal(fabric->chan_src[back], fabric->chan_dst[c]);
		assert_int_equal(fabric->chan_dst[back], fabric->chan_src[c]);
		assert_int_not_equal(fabric->chan_dst[c], fabric->chan_src[c]);
		assert_int_equal(fabric->chan_rate[back], fabric->chan_rate[c]);
		assert_true(fabric->chan_vls[c] >= 1 && fabric->chan_vls[c] <= OSR_MAX_VLS);
		assert_int_equal(fabric->sw_component[fabric->chan_src[c]],
				 fabric->sw_component[fabric->chan_dst[c]]);
	}
	assert_int_equal(fabric->n_dests, n_dests);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t t = fabric->dest_term[d];

		assert_true(d == 0 || fabric->dest_lid[d - 1] < fabric->dest_lid[d]);
		assert_int_equal(fabric->lid_dest[fabric->dest_lid[d]], d);
		assert_int_equal(fabric->dest_switch[d], fabric->term_switch[t]);
		assert_int_equal(fabric->dest_lid[d] >> fabric->term_lmc[t],
				 fabric->term_lid[t] >> fabric->term_lmc[t]);
	}
	assert_int_equal(fabric->max_lid,
			 fabric->n_dests ? fabric->dest_lid[fabric->n_dests - 1] : 0);
}

static void test_sound(void **state)
{
	for (unsigned i = 0; i < N_TEST_FABRICS + 200; i++) {
		unsigned seed = i - N_TEST_FABRICS;
		struct test_fabric test;

		if (i < N_TEST_FABRICS)
			test_fabric_named(&test, i);
		else
			test_fabric_random(&test, 1 + seed % 40, seed % 90, seed);
		assert_sound(&test.fabric);
		assert_true(i < N_TEST_FABRICS || test.fabric.n_components == 1);
		test_fabric_free(&test);
	}
}

/* Whatever was fed first, the fabric is the same. */
static void test_order_does_not_matter(void **state)
{
	for (unsigned i = 0; i < 4 * N_TEST_FABRICS; i++) {
		struct osr_arena arena = { 0 };
		struct test_fabric test;
		struct osr_fabric fabric;
		struct faults faults;
		char a[32], b[32];

		test_fabric_named(&test, i / 4);
		faults_new(&faults, &test.fabric);
		faults.order = 1 + i;
		faults_build(&faults, &arena, &fabric);
		assert_sound(&fabric);
		assert_true(osr_fabric_equal(&test.fabric, &fabric));
		assert_memory_equal(fabric.sw_guid, test.fabric.sw_guid,
				    fabric.n_switches * sizeof(*fabric.sw_guid));
		assert_memory_equal(fabric.chan_dst, test.fabric.chan_dst,
				    fabric.n_channels * sizeof(*fabric.chan_dst));
		assert_memory_equal(fabric.chan_rev, test.fabric.chan_rev,
				    fabric.n_channels * sizeof(*fabric.chan_rev));
		assert_memory_equal(fabric.chan_port, test.fabric.chan_port, fabric.n_channels);
		assert_memory_equal(fabric.dest_switch, test.fabric.dest_switch,
				    fabric.n_dests * sizeof(*fabric.dest_switch));
		for (uint32_t s = 0; s < fabric.n_switches; s++)
			assert_string_equal(osr_switch_name(&fabric, s, a),
					    osr_switch_name(&test.fabric, s, b));
		faults_free(&faults);
		osr_arena_free(&arena);
		test_fabric_free(&test);
	}
}

/* Two switches and a host that are fine, and one thing more that is not. */
struct extra {
	const char *says;
	struct osr_switch_in sw;
	struct osr_link_in link;
	struct osr_terminal_in term;
};

static void refuse(const struct extra *extra)
{
	struct osr_builder *builder = osr_builder_new();
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { 0 };
	struct osr_fabric fabric;

	for (unsigned i = 0; i < 2; i++)
		osr_builder_switch(builder,
				   &(struct osr_switch_in){ .guid = 0x10 + i, .n_ports = 8 });
	osr_builder_link(builder, &(struct osr_link_in){ .sw_b = 1, .port_a = 1, .port_b = 1 });
	osr_builder_terminal(builder,
			     &(struct osr_terminal_in){ .guid = 0x20, .port = 2, .lid = 8 });
	if (extra->sw.guid)
		osr_builder_switch(builder, &extra->sw);
	if (extra->link.port_a)
		osr_builder_link(builder, &extra->link);
	if (extra->term.guid)
		osr_builder_terminal(builder, &extra->term);
	assert_int_equal(osr_builder_build(builder, &arena, &fabric, &diag),
			 extra->says ? OSR_INVAL : OSR_OK);
	if (extra->says && !strstr(diag.text, extra->says))
		fail_msg("\"%s\" does not say \"%s\"", diag.text, extra->says);
	osr_builder_free(builder);
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
	struct osr_fabric fabric;

	for (unsigned i = 0; i < sizeof(extras) / sizeof(extras[0]); i++)
		refuse(&extras[i]);
	assert_int_equal(osr_builder_build(empty, &arena, &fabric, &diag), OSR_INVAL);
	assert_non_null(strstr(diag.text, "no switch"));
	osr_builder_free(empty);
	osr_builder_free(NULL);
}

static enum osr_status build_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				  struct osr_diag *diag)
{
	struct osr_builder *builder = osr_builder_new();
	enum osr_status st;
	struct osr_fabric fabric;

	for (unsigned i = 0; i < 3; i++) {
		osr_builder_switch(builder, &(struct osr_switch_in){ .guid = 1 + i, .n_ports = 8 });
		osr_builder_terminal(builder,
				     &(struct osr_terminal_in){
					     .guid = 9 + i, .sw = i, .port = 8, .lid = 1 + i });
	}
	osr_builder_link(builder, &(struct osr_link_in){ .sw_b = 1, .port_a = 1, .port_b = 1 });
	st = osr_builder_build(builder, result, &fabric, diag);
	osr_builder_free(builder);
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
	struct test_fabric test;

	test_fabric_named(&test, 1);
	assert_true(test_starve(build_once, NULL) > 20);
	assert_int_equal(test_starve(copy_once, &test.fabric), 32);
	test_fabric_free(&test);
}

/* A copy is equal and lives on its own; one link, LID or name more or less is not equal. */
static void test_copy_and_equal(void **state)
{
	for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
		struct osr_arena arena = { 0 };
		struct test_fabric test, other;
		struct osr_fabric copy;
		struct osr_diag diag;

		test_fabric_named(&test, i);
		test_fabric_named(&other, (i + 1) % N_TEST_FABRICS);
		assert_int_equal(osr_fabric_copy(&test.fabric, &arena, &copy, &diag), OSR_OK);
		assert_true(copy.chan_dst != test.fabric.chan_dst || !copy.n_channels);
		assert_true(osr_fabric_equal(&test.fabric, &copy));
		assert_false(osr_fabric_equal(&test.fabric, &other.fabric));
		assert_true(osr_fabric_alike(&test.fabric, &copy));
		assert_false(osr_fabric_alike(&test.fabric, &other.fabric));
		test_fabric_free(&test);
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
