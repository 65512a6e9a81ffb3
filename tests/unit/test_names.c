/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whatever form a node is named in, it is the same node; what fits two is refused, with both. */
#include "test.h"

#include <osmroutes/names.h>

#define TWIN "Voltaire 4036 - 36 QDR ports switch"

/* Switches by GUID: 0 "MF0;core-07:MQM9700/U1", 1 and 2 TWIN, 3 "leaf-10"; terminals 0, 2, 4, 6 are their port 0, 1, 3,
 5, 7 one host each. */
static const struct {
	uint64_t guid;
	const char *name, *host;
} given[] = {
	{ 0x8f10500200b50, "MF0;core-07:MQM9700/U1", "node7 mlx5_0" },
	{ 0x8f10500200b51, TWIN, "node7 mlx5_1" },
	{ 0x8f10500200b52, TWIN, "node8.cluster" },
	{ 0x8f10500200b53, "leaf-10", "cafe:3" },
};

static void make(struct osr_arena *arena, struct osr_fabric *fabric, struct osr_names *names)
{
	struct osr_builder *builder = osr_builder_new();
	uint32_t sw[4];

	for (uint32_t i = 0; i < 4; i++) {
		sw[i] = osr_builder_switch(builder,
					   &(struct osr_switch_in){ .guid = given[i].guid,
								    .n_ports = 8,
								    .name = given[i].name });
		osr_builder_terminal(builder, &(struct osr_terminal_in){ .guid = given[i].guid,
									 .sw = sw[i],
									 .role = OSR_ROLE_SP0,
									 .lid = (uint16_t)(i + 1),
									 .name = given[i].name });
		osr_builder_terminal(builder,
				     &(struct osr_terminal_in){ .guid = 0x100 + i,
								.sw = sw[i],
								.port = 1,
								.lmc = 1,
								.lid = (uint16_t)(10 + 2 * i),
								.name = given[i].host });
	}
	assert_int_equal(osr_builder_build(builder, arena, fabric, NULL), OSR_OK);
	osr_builder_free(builder);
	assert_int_equal(osr_names_of_fabric(names, fabric, arena, NULL), OSR_OK);
}

static void test_forms(void **state)
{
	static const struct {
		const char *word;
		unsigned kinds;
		uint32_t node, port;
	} right[] = {
		{ "MF0;core-07:MQM9700/U1", OSR_NAME_SWITCH, 0, 0 },
		{ "MF0;core-07:MQM9700/U1:5", OSR_NAME_SWITCH, 0, 5 },
		{ "core-07", OSR_NAME_SWITCH, 0, 0 },
		{ "core-07:5", OSR_NAME_SWITCH, 0, 5 },
		{ "core-07:MQM9700", OSR_NAME_ANY, 0, 0 },
		{ "0x0008f10500200b50", OSR_NAME_SWITCH, 0, 0 },
		{ "0x8f10500200b50:17", OSR_NAME_SWITCH, 0, 17 },
		{ "8f10500200b50:17", OSR_NAME_SWITCH, 0, 17 },
		{ "S-0008f10500200b50:17", OSR_NAME_SWITCH, 0, 17 },
		{ "00000000000000000008f10500200b51", OSR_NAME_ANY, 1, 0 },
		{ "lid:2", OSR_NAME_SWITCH, 1, 0 },
		{ "lid:2:17", OSR_NAME_SWITCH, 1, 17 },
		{ TWIN " 0x0008f10500200b52", OSR_NAME_SWITCH, 2, 0 },
		{ TWIN " 0x0008f10500200b52:3", OSR_NAME_ANY, 2, 3 },
		{ "node7 mlx5_1", OSR_NAME_END_PORT, 4 + 3, 0 },
		{ "mlx5_1", OSR_NAME_END_PORT, 4 + 3, 0 },
		{ "lid:0xd", OSR_NAME_ANY, 4 + 3, 0 },
		{ "lid:13", OSR_NAME_END_PORT, 4 + 3, 0 },
		{ "0x101", OSR_NAME_END_PORT, 4 + 3, 0 },
		{ "node8", OSR_NAME_END_PORT, 4 + 5, 0 },
		{ "node8.cluster", OSR_NAME_ANY, 4 + 5, 0 },
		/* A name that looks like a port is a name first. */
		{ "cafe:3", OSR_NAME_ANY, 4 + 7, 0 },
		{ "cafe:3:1", OSR_NAME_ANY, 4 + 7, 1 },
	};
	struct osr_arena arena = { 0 };
	struct osr_fabric fabric;
	struct osr_names names;
	uint32_t node, port;

	make(&arena, &fabric, &names);
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		struct osr_diag diag = { "" };

		if (osr_names_find(&names, right[i].word, right[i].kinds, &node, &port, &diag))
			fail_msg("%s: %s", right[i].word, diag.text);
		if (node != right[i].node || port != right[i].port)
			fail_msg("%s: node %u port %u", right[i].word, node, port);
	}
	osr_arena_free(&arena);
}

static void test_refused(void **state)
{
	static const struct {
		const char *word;
		unsigned kinds;
		const char *said;
	} wrong[] = {
		{ TWIN, OSR_NAME_SWITCH,
		  "2 switches are called \"" TWIN "\", among them \"" TWIN
		  " 0x0008f10500200b51\" and \"" TWIN " 0x0008f10500200b52\"" },
		{ "Voltaire:3", OSR_NAME_SWITCH, "2 switches are called \"Voltaire\"" },
		{ "node7", OSR_NAME_END_PORT, "2 end ports are called \"node7\"" },
		/* No part of a word is taken for the whole: leaf-1 is gone, and leaf-10 stays. */
		{ "leaf-1", OSR_NAME_SWITCH,
		  "no switch is called \"leaf-1\": did you mean \"leaf-10\"?" },
		{ "CORE-07", OSR_NAME_SWITCH, "did you mean \"MF0;core-07:MQM9700/U1\"?" },
		{ "laef-10:2", OSR_NAME_SWITCH,
		  "no switch is called \"laef-10\": did you mean \"leaf-10\"?" },
		{ "node8.other", OSR_NAME_ANY, "no node is called" },
		{ "node8", OSR_NAME_SWITCH, "\"node8\" is an end port: a switch was expected" },
		{ "lid:1", OSR_NAME_END_PORT, "\"lid:1\" is a switch: an end port was expected" },
		{ "lid:9", OSR_NAME_ANY, "no node has the LID 9" },
		{ "lid:", OSR_NAME_ANY, "no node is called" },
		{ "lid:99999999999", OSR_NAME_ANY, "no node has the LID 99999999999" },
		{ "0x77:1", OSR_NAME_ANY, "no node has the GUID 0x77" },
		{ "leaf-10:255", OSR_NAME_ANY, "no node is called" },
		{ "0x", OSR_NAME_ANY, "no node has the GUID 0x" },
		{ "-1", OSR_NAME_ANY, "no node is called" },
		{ "", OSR_NAME_ANY, "no node is called" },
		{ ":3", OSR_NAME_ANY, "no node is called" },
	};
	struct osr_arena arena = { 0 };
	struct osr_fabric fabric;
	struct osr_names names;
	uint32_t node, port;

	make(&arena, &fabric, &names);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct osr_diag diag = { "" };

		assert_int_equal(
			osr_names_find(&names, wrong[i].word, wrong[i].kinds, &node, &port, &diag),
			OSR_INVAL);
		if (!strstr(diag.text, wrong[i].said))
			fail_msg("%s: %s", wrong[i].word, diag.text);
	}
	osr_arena_free(&arena);
}

/* Names that several nodes have are shown with the GUID, all others as they are. */
static void test_repeated(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_fabric fabric;
	struct osr_names names;
	char buf[32];

	make(&arena, &fabric, &names);
	assert_string_equal(osr_switch_name(&fabric, 0, buf), given[0].name);
	assert_string_equal(osr_switch_name(&fabric, 1, buf), TWIN " 0x0008f10500200b51");
	assert_string_equal(osr_switch_name(&fabric, 2, buf), TWIN " 0x0008f10500200b52");
	for (uint32_t t = 0; t < fabric.n_terminals; t++)
		assert_string_equal(osr_terminal_name(&fabric, t, buf),
				    fabric.term_role[t] == OSR_ROLE_SP0
					    ? fabric.names + fabric.sw_name[fabric.term_switch[t]]
					    : given[fabric.term_switch[t]].host);
	assert_int_equal(osr_name_own(TWIN " 0x0008f10500200b51", given[1].guid), strlen(TWIN));
	assert_int_equal(osr_name_own(TWIN, given[1].guid), strlen(TWIN));
	assert_int_equal(osr_names_all(&names, "Voltaire", OSR_NAME_SWITCH), 2);
	osr_arena_free(&arena);
}

TEST_PROGRAM(test_forms, test_refused, test_repeated)
