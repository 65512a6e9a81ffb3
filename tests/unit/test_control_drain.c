/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Drained parts and links held down, without a subnet manager: what is refused, hours in no time,
 * the file.
 */
#include "test.h"

#include "control/drain.h"

static const struct osr_hold_down defaults = { .after = 2, .within = 600, .calm = 300 };

static struct osr_arena arena, scratch;
static struct osr_fabric f;

static int tear_down(void **state)
{
	osr_arena_free(&arena);
	osr_arena_free(&scratch);
	return 0;
}

/* As long as a node description may be, with a word of our own in it. */
#define LEAF "MF0;rack port 3 - the leaf in the lower row:MCS7520/L01/U1......"

/* Two leaves with a host each, two spines; leaf-1 has one cable more, to leaf-2 with a host. */
static void make_fabric_without(unsigned dead)
{
	static const char *const names[] = { LEAF, "leaf-1", "spine-0", "spine-1", "leaf-2" };
	struct osr_builder *builder = osr_builder_new();
	struct osr_terminal_in host = { .lid = 1 };

	for (unsigned s = 0; s < 5; s++)
		osr_builder_switch(builder, &(struct osr_switch_in){ s + 1, 8, 0, names[s] });
	for (unsigned i = 0; i < 4; i++)
		if (i != dead)
			osr_builder_link(builder,
					 &(struct osr_link_in){ .sw_a = i / 2,
								.sw_b = 2 + i % 2,
								.port_a = (uint8_t)(3 + i % 2),
								.port_b = (uint8_t)(1 + i / 2) });
	osr_builder_link(builder,
			 &(struct osr_link_in){ .sw_a = 1, .sw_b = 4, .port_a = 5, .port_b = 2 });
	for (unsigned s = 0; s < 5; s++) {
		host.role = s == 2 || s == 3 ? OSR_ROLE_SP0 : OSR_ROLE_CA;
		host.guid = 0x100 + s;
		host.sw = s;
		host.port = host.role == OSR_ROLE_CA;
		host.name = "host";
		osr_builder_terminal(builder, &host);
		host.lid++;
	}
	assert_int_equal(osr_builder_build(builder, &arena, &f, NULL), OSR_OK);
	osr_builder_free(builder);
}

/* The last news. */
static struct {
	unsigned n;
	enum osr_drain_news news;
	char name[192], cut[96];
} said;

static void say(void *ctx, enum osr_drain_news news, const char *name, const char *cut)
{
	said.n++;
	said.news = news;
	snprintf(said.name, sizeof(said.name), "%s", name);
	snprintf(said.cut, sizeof(said.cut), "%s", cut);
}

static enum osr_status see(struct osr_drains *drains, const struct osr_fabric *seen, double now)
{
	const struct osr_drains_look look = { seen, 0x103, now, say, NULL };

	said.n = 0;
	return osr_drains_watch(drains, &look, &scratch);
}

static void refused(struct osr_drains *drains, const struct osr_fabric *known, const char *what,
		    const char *because)
{
	struct osr_diag diag = { "" };

	assert_int_not_equal(osr_drains_add(drains, known, what, &diag), OSR_OK);
	if (!strstr(diag.text, because))
		fail_msg("%s: %s", what, diag.text);
}

static void test_asked(void **state)
{
	struct osr_drains *drains = osr_drains_new(&defaults), *again = osr_drains_new(&defaults);
	struct osr_drains_state now;
	char *text, *copy;

	make_fabric_without(4);
	refused(drains, NULL, "spine-0", "no fabric");
	assert_int_equal(see(drains, &f, 0), OSR_OK);
	refused(drains, &f, LEAF, "cut off");
	refused(drains, &f, "leaf-1:5", "cut off");
	refused(drains, &f, "leaf-1:1", "cut off");
	refused(drains, &f, LEAF ":7", "no cable");
	refused(drains, &f, "spine-1", "subnet manager");
	refused(drains, &f, "host", "end port");
	refused(drains, &f, "spine-9", "no switch");
	assert_int_equal(osr_drains_add(drains, &f, "spine-0", NULL), OSR_OK);
	assert_int_equal(osr_drains_add(drains, &f, "0x0000000000000001:3", NULL), OSR_OK);
	refused(drains, &f, LEAF ":3", "already");
	refused(drains, &f, LEAF ":4", "asked for before it 1 end ports would be cut off");
	assert_int_equal(see(drains, &f, 1), OSR_OK);
	assert_int_equal(osr_drains_n_out(drains), 2);
	assert_true(osr_drains_out(drains, 1, 3) && osr_drains_out(drains, 3, 0) &&
		    !osr_drains_out(drains, 3, 1));
	text = osr_drains_save(drains);
	assert_int_equal(osr_drains_load(again, text, strlen(text), NULL), OSR_OK);
	copy = osr_drains_save(again);
	assert_string_equal(text, copy);
	/* Whatever comes instead of a part is left out. */
	for (size_t i = 0; text[i]; i++) {
		struct osr_drains *bad = osr_drains_new(&defaults);

		text[i] = (char)(text[i] ^ 5);
		osr_drains_load(bad, text, strlen(text), NULL);
		osr_drains_remove(bad, "all", NULL);
		text[i] = (char)(text[i] ^ 5);
		osr_drains_free(bad);
	}
	assert_int_equal(osr_drains_remove(again, LEAF ":3", NULL), OSR_OK);
	assert_int_not_equal(osr_drains_remove(again, LEAF ":3", NULL), OSR_OK);
	assert_int_equal(osr_drains_remove(again, "spine-0", NULL), OSR_OK);
	now = osr_drains_state(again);
	assert_int_equal(now.n_drained + now.n_held, 0);

	/* The other cable of the leaf dies: without either part its host would be cut off. */
	make_fabric_without(1);
	assert_int_equal(see(drains, &f, 2), OSR_OK);
	assert_int_equal(osr_drains_n_out(drains), 0);
	assert_true(said.n == 2 && said.news == OSR_DRAIN_KEPT);
	assert_string_equal(said.name, "switch spine-0");
	assert_string_equal(said.cut, LEAF);
	/* Said once; and as it was when the cable is back. */
	assert_int_equal(see(drains, &f, 3), OSR_OK);
	assert_int_equal(said.n, 0);
	make_fabric_without(4);
	assert_int_equal(see(drains, &f, 4), OSR_OK);
	assert_int_equal(osr_drains_n_out(drains), 2);
	free(text);
	free(copy);
	osr_drains_free(drains);
	osr_drains_free(again);
}

/* A sweep in which two switches of such names have a cable, or have none. */
static void watch(struct osr_drains *drains, const char *name, const char *far, bool there,
		  double now)
{
	size_t left = fail_at;
	struct osr_arena mine = { 0 };
	struct osr_builder *builder;
	struct osr_fabric two;

	fail_at = 0; /* not of the fabric */
	builder = osr_builder_new();
	osr_builder_switch(builder, &(struct osr_switch_in){ 1, 8, 0, name });
	osr_builder_switch(builder, &(struct osr_switch_in){ 2, 8, 0, far });
	if (there)
		osr_builder_link(builder, &(struct osr_link_in){
						  .sw_a = 0, .sw_b = 1, .port_a = 3, .port_b = 4 });
	assert_int_equal(osr_builder_build(builder, &mine, &two, NULL), OSR_OK);
	fail_at = left;
	see(drains, &two, now);
	osr_builder_free(builder);
	osr_arena_free(&mine);
}

/* Is it in the tables? */
static bool is_used(struct osr_drains *drains, bool there, double now)
{
	watch(drains, "a", "b", there, now);
	return there && !osr_drains_n_out(drains);
}

/*
 * One cable that goes down and comes back n times, evenly; how often tables would change in two
 * hours.
 */
static unsigned count_changes(const struct osr_hold_down *hold, unsigned n, double period)
{
	struct osr_drains *drains = osr_drains_new(hold);
	unsigned changes = 0;
	bool used = is_used(drains, true, 0);

	for (unsigned i = 0; i < n; i++)
		for (unsigned half = 0; half < 2; half++) {
			bool now_used = is_used(drains, half, 1000 + (i + half * 0.5) * period);

			changes += now_used != used;
			used = now_used;
		}
	for (double now = 1000 + n * period; !used && now < 10000; now += 10) {
		double calm_at = osr_drains_state(drains).calm_at;

		assert_true(calm_at >= 0 && calm_at <= now + hold->calm);
		used = is_used(drains, true, now);
		changes += used;
	}
	assert_true(used);
	osr_drains_free(drains);
	return changes;
}

static void test_flaps(void **state)
{
	static const struct osr_hold_down off = { .after = 0, .within = 600, .calm = 300 };

	assert_int_equal(count_changes(&off, 100, 36), 200);
	assert_int_equal(count_changes(&defaults, 100, 36), 4);
	assert_int_equal(count_changes(&defaults, 1, 36), 2);
	assert_int_equal(count_changes(&defaults, 1000, 1), 4);
	/* Twice in an hour is no flapping. */
	assert_int_equal(count_changes(&defaults, 2, 1800), 4);
}

/* What is held stays held in a restart, and its calm time begins anew. */
static void test_restart(void **state)
{
	struct osr_drains *drains = osr_drains_new(&defaults), *again = osr_drains_new(&defaults);
	char *text;

	is_used(drains, true, 0);
	for (unsigned i = 1; i < 5; i++)
		is_used(drains, i % 2 == 0, i);
	assert_false(is_used(drains, true, 5));
	assert_true(said.n == 0 && said.news == OSR_DRAIN_HELD);
	assert_string_equal(said.name, "a port 3 - b port 4");
	text = osr_drains_save(drains);
	osr_drains_load(again, text, strlen(text), NULL);
	assert_false(is_used(again, true, 7000));
	assert_false(is_used(again, true, 7299));
	assert_true(is_used(again, true, 7301));
	assert_true(said.n == 1 && said.news == OSR_DRAIN_CALM);
	free(text);
	osr_drains_free(drains);
	osr_drains_free(again);
}

/* What is stored and cannot be understood is counted: it would be in use again without a word. */
static void test_damaged(void **state)
{
	static const struct {
		const char *text, *said;
		uint32_t n_drained;
	} books[] = {
		{ "", "not a list of parts", 0 },
		{ "{\"format\": 1}", "not a list of parts", 0 },
		{ "{\"parts\": 3}", "not a list of parts", 0 },
		{ "{\"parts\": [{\"what\": \"a:3\", \"guid\": \"0x1\", \"port\": 3, \"why\": "
		  "\"drained\"}, 7, {\"what\": \"a:3\", \"guid\": \"0x1\", \"port\": 300, \"why\": "
		  "\"drained\"}, "
		  "{\"what\": \"b\", \"guid\": \"0xg\", \"port\": 0, \"why\": \"drained\"}]}",
		  "3 of 4 parts cannot be understood", 1 },
	};

	for (size_t i = 0; i < sizeof(books) / sizeof(books[0]); i++) {
		struct osr_drains *drains = osr_drains_new(&defaults);
		struct osr_diag diag = { "" };

		assert_int_equal(
			osr_drains_load(drains, books[i].text, strlen(books[i].text), &diag),
			OSR_INVAL);
		assert_non_null(strstr(diag.text, books[i].said));
		assert_int_equal(osr_drains_state(drains).n_drained, books[i].n_drained);
		osr_drains_free(drains);
	}
}

/*
 * Of a node_name_map in Latin-1, and one that is cut within a letter: what is listed and stored
 * stays JSON.
 */
static void test_odd_names(void **state)
{
	char cut[96] = "a";
	const char *const names[] = { "Raum \xfc", cut };

	for (unsigned i = 0; i < 40; i++)
		strcat(cut, "\xc3\xbc");
	for (unsigned k = 0; k < 2; k++) {
		struct osr_drains *drains = osr_drains_new(&defaults);
		json_t *book;
		char *text;

		for (unsigned i = 0; i < 5; i++)
			watch(drains, names[k], "b", i % 2 == 0, i);
		text = osr_drains_save(drains);
		assert_non_null(text);
		book = json_loads(text, 0, NULL);
		assert_int_equal(json_array_size(json_object_get(book, "parts")), 1);
		json_decref(book);
		free(text);
		osr_drains_free(drains);
	}
}

/* A drained switch and a link that is held down. */
static bool fill(struct osr_drains *drains, struct osr_diag *diag)
{
	bool drained = osr_drains_add(drains, &f, "spine-0", diag) == OSR_OK;

	for (unsigned i = 0; i < 5; i++)
		watch(drains, "a", "b", i % 2 == 0, i);
	return drained;
}

/*
 * All of it with one allocation failing, but for jansson's reader, which does not look at all of
 * its own.
 */
static void live(const char *text)
{
	struct osr_drains *drains = osr_drains_new(&defaults), *again = osr_drains_new(&defaults);
	struct osr_diag diag = { "" };
	struct osr_drains_state state;
	json_t *list;

	if (drains && again) {
		bool drained = fill(drains, &diag);
		size_t left = fail_at;

		assert_true(drained || diag.text[0]);
		state = osr_drains_state(drains);
		assert_int_equal(state.n_drained, drained);
		fail_at = 0;
		osr_drains_load(again, text, strlen(text), NULL);
		fail_at = left;
		list = osr_drains_json(again);
		assert_true(!list || json_array_size(list) == 2);
		json_decref(list);
	}
	osr_drains_free(drains);
	osr_drains_free(again);
}

/* Each allocation fails in turn; what is saved is whole. */
static void test_memory(void **state)
{
	struct osr_drains *drains = osr_drains_new(&defaults);
	char *text, *saved;
	size_t n_live = 0, n_saved = 0;

	json_set_alloc_funcs(malloc, free);
	make_fabric_without(4);
	assert_true(fill(drains, NULL));
	text = osr_drains_save(drains);
	assert_non_null(text);
	do {
		fail_at = ++n_live;
		live(text);
	} while (!fail_at);
	do {
		fail_at = ++n_saved;
		saved = osr_drains_save(drains);
		if (saved)
			assert_string_equal(saved, text);
		free(saved);
	} while (!fail_at);
	fail_at = 0;
	assert_true(n_live > 20 && n_saved > 20);
	free(text);
	osr_drains_free(drains);
}

TEST_PROGRAM_THEN(tear_down, test_asked, test_flaps, test_restart, test_damaged, test_odd_names,
		  test_memory)
