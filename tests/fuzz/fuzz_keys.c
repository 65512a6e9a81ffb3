/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What comes to routing keys from outside. The first byte says what the rest is:
 *	P  lines of the control socket's protocol, to a scheduler with a tree of 8 hosts and LMC 2
 *	B  the book of applications of an earlier run; then the fabric, and all entries
 *	T  a symbolic trace
 * Lines are answered with a JSON object each. Whatever is in the scheduler afterwards, its entries
 * can be laid over tables, saved, and read again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/engine.h>

#include "control/protocol.h"
#include "fuzz.h"
#include "io/tracefile.h"

/* Two spines, four leaves with two hosts each: GUIDs 0x100 + n of hosts, LIDs 16 + 4 n. */
static void make_fabric(struct osr_arena *arena, struct osr_fabric *f)
{
	struct osr_builder *b = osr_builder_new();
	char name[8];

	for (unsigned s = 0; s < 6; s++)
		osr_builder_switch(b, &(struct osr_switch_in){ s + 1, 8, 0, NULL });
	for (unsigned leaf = 0; leaf < 4; leaf++) {
		for (unsigned spine = 0; spine < 2; spine++)
			osr_builder_link(b, &(struct osr_link_in){ .sw_a = leaf,
								   .sw_b = 4 + spine,
								   .port_a = (uint8_t)(3 + spine),
								   .port_b = (uint8_t)(1 + leaf) });
		for (unsigned h = 0; h < 2; h++) {
			snprintf(name, sizeof(name), "h%u", leaf * 2 + h);
			osr_builder_terminal(
				b, &(struct osr_terminal_in){
					   .guid = 0x100 + leaf * 2 + h,
					   .sw = leaf,
					   .port = (uint8_t)(1 + h),
					   .lmc = 2,
					   .lid = (uint16_t)(16 + 4 * (leaf * 2 + h)),
					   .name = name });
		}
	}
	insist(!osr_builder_build(b, arena, f, NULL), "the fabric", "");
	osr_builder_free(b);
}

static void lay(struct osr_sched *s, const struct osr_fabric *f)
{
	struct osr_arena scratch = { 0 }, result = { 0 };
	const struct osr_engine *e = osr_engine_find("dmodk");
	struct osr_request req = { .max_vls = 1 };
	struct osr_overlay_entry *entry;
	struct osr_routing base, out;
	struct osr_diag diag = { "" };
	struct osr_values v;
	uint32_t n;

	osr_values_default(&v, e->params);
	insist(!e->route(f, &v, &req, NULL, &scratch, &result, &base, &diag), "the base", diag.text);
	insist(!osr_sched_collect(s, &scratch, &entry, &n, &diag), "the entries", diag.text);
	/* A book may give one offset of a host to two; then it is refused with a sentence. */
	if (osr_overlay_apply(f, &base, entry, n, &scratch, &result, &out, &diag))
		insist(diag.text[0] != 0, "refused without a sentence", "");
	osr_arena_free(&scratch);
	osr_arena_free(&result);
}

static struct osr_sched *new_sched(void)
{
	struct osr_sched_limits limits = { 64, 8, 64, 4096, OSR_KEY_FINE };
	struct osr_sched *s = osr_sched_new(&limits);

	insist(s != NULL, "no memory", "");
	return s;
}

static void save_and_restore(struct osr_sched *s, const struct osr_fabric *f)
{
	json_t *book = osr__book(s), *again;
	struct osr_sched *t = new_sched();
	struct osr_diag diag = { "" };
	uint32_t n, n_wrong, n_apps = 0;

	while (osr_sched_row(s, n_apps))
		n_apps++;
	insist(!osr__book_restore(t, book, 4096, &n, &n_wrong, &diag), "its own book", diag.text);
	insist(n == n_apps && !n_wrong, "lost applications of its own book", diag.text);
	again = osr__book(t);
	insist(json_array_size(json_object_get(again, "apps")) == n_apps, "another book", "");
	insist(!osr_sched_fabric(t, f, &diag), "the fabric", diag.text);
	lay(t, f);
	json_decref(book);
	json_decref(again);
	osr_sched_free(t);
}

static void talk(const char *text, size_t size, const struct osr_fabric *f)
{
	struct osr__peer peer = { .uid = 1000 };
	struct osr_sched *s = new_sched();
	struct osr_diag diag = { "" };

	insist(!osr_sched_fabric(s, f, &diag), "the fabric", diag.text);
	while (size) {
		const char *end = memchr(text, '\n', size);
		size_t n = end ? (size_t)(end - text) : size;
		struct osr__effect effect;
		json_t *answer = osr__protocol(s, &peer, text, n, &effect);

		insist(json_is_boolean(json_object_get(answer, "ok")), "no answer", "");
		insist(json_is_true(json_object_get(answer, "ok")) ||
			       json_is_string(json_object_get(answer, "error")),
		       "no sentence", "");
		json_decref(answer);
		peer.uid ^= n % 3 == 0; /* another user from time to time */
		n += end != NULL;
		text += n;
		size -= n;
	}
	lay(s, f);
	save_and_restore(s, f);
	osr_sched_free(s);
}

static void read_book(const char *text, size_t size, const struct osr_fabric *f)
{
	json_t *book = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	struct osr_sched *s = new_sched();
	struct osr_diag diag = { "" };
	uint32_t n, n_wrong;

	if (osr__book_restore(s, book, 4096, &n, &n_wrong, &diag) || n_wrong)
		insist(diag.text[0] != 0, "refused without a sentence", "");
	insist(!osr_sched_fabric(s, f, &diag), "the fabric", diag.text);
	lay(s, f);
	save_and_restore(s, f);
	json_decref(book);
	osr_sched_free(s);
}

static void read_trace(const char *text, size_t size)
{
	struct osr_diag diag = { "" };
	struct osr_trace t;

	if (osr_trace_parse(text, size, "fuzz", &t, &diag)) {
		insist(diag.text[0] != 0, "refused without a sentence", "");
		return;
	}
	for (uint32_t k = 0; k < t.n_phases; k++)
		insist(t.phase[k].first + t.phase[k].n_sends <= t.n_sends &&
			       t.phase[k].n_sends <= t.max_sends,
		       "sends that are not there", "");
	for (uint32_t i = 0; i < t.n_sends && t.n_ranks <= 4096; i++) {
		struct osr_pair *pair = malloc(t.n_ranks * sizeof(*pair));
		uint32_t n = pair ? osr_trace_pairs(&t, &t.send[i], pair) : 0;

		for (uint32_t p = 0; p < n; p++)
			insist(pair[p].from < t.n_ranks && pair[p].to < t.n_ranks &&
				       pair[p].from != pair[p].to,
			       "a pair that is none", "");
		free(pair);
	}
	osr_trace_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osr_arena arena = { 0 };
	struct osr_fabric f;

	if (!size)
		return 0;
	if (data[0] == 'T') {
		read_trace((const char *)data + 1, size - 1);
		return 0;
	}
	make_fabric(&arena, &f);
	if (data[0] == 'P')
		talk((const char *)data + 1, size - 1, &f);
	else if (data[0] == 'B')
		read_book((const char *)data + 1, size - 1, &f);
	osr_arena_free(&arena);
	return 0;
}
