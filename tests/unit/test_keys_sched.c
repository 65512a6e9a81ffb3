/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The scheduler: what applications may do and what they are told, and what faults of the fabric do
 * to their keys. After every step the entries collected must lead all pairs of the keys in the
 * tables from end to end.
 */
#include "test.h"

#include "keys/scheduler.h"

#include "fabrics.h"
#include "topos.h"

#define MAX_PAIRS 4096

static struct world {
	struct osr_arena arena;
	struct osr_fabric fabric;
	struct osr_sched *sched;
	struct osr_diag diag;
} w;

static const struct osr_sched_limits limits = {
	.max_apps = 8,
	.max_apps_of_owner = 3,
	.max_keys = 16,
	.max_pairs = MAX_PAIRS,
	.choice = OSR_KEY_FINE,
};

/* A tree of 4 x 4 x 4 hosts, or another; without so many cables. */
static void grow(const char *m, int lmc, uint32_t links, uint64_t seed)
{
	const struct osr_degrade how = { .n_links = links, .seed = seed, .keep_connected = true };
	char what[64] = "torus dims=5";

	osr_arena_free(&w.arena);
	if (strcmp(m, "ring"))
		snprintf(what, sizeof(what), "tree m=%s w=%s", m, strlen(m) > 3 ? "1,4,4" : "1,4");
	topo_broken(what, how, lmc, &w.arena, &w.fabric);
}

static void change(const char *m, int lmc, uint32_t links, uint64_t seed)
{
	grow(m, lmc, links, seed);
	assert_int_equal(osr_sched_fabric(w.sched, &w.fabric, NULL, &w.diag), OSR_OK);
	while (osr_sched_work(w.sched))
		;
}

static int end(void **state)
{
	osr_sched_free(w.sched);
	osr_arena_free(&w.arena);
	memset(&w, 0, sizeof(w));
	return 0;
}

/* Instead of the last one. */
static void begin_with(const struct osr_sched_limits *some, const char *m, int lmc)
{
	end(NULL);
	w.sched = osr_sched_new(some);
	assert_non_null(w.sched);
	change(m, lmc, 0, 1);
}

static void begin(const char *m, int lmc)
{
	begin_with(&limits, m, lmc);
}

/* The GUID of host number i. */
static uint64_t host(uint32_t i)
{
	for (uint32_t t = 0; t < w.fabric.n_terminals; t++)
		if (w.fabric.term_role[t] == OSR_ROLE_CA && !i--)
			return w.fabric.term_guid[t];
	return 0;
}

/* Hosts first, first + step, ...; keys are shifts by 1, 2, ... of the ranks. */
static struct osr_sched_app *place(uint32_t owner, uint32_t first, uint32_t step, uint32_t n_ranks,
				   uint32_t n_keys, uint32_t n_offsets)
{
	static struct osr_pair pair[8][64];
	const struct osr_pair *list[8];
	uint32_t n_pairs[8];
	uint64_t hosts[64];
	struct osr_sched_in in = {
		.name = "job",
		.owner = owner,
		.n_ranks = n_ranks,
		.host = hosts,
		.n_keys = n_keys,
		.pair = list,
		.n_pairs = n_pairs,
		.n_offsets = n_offsets,
	};
	struct osr_sched_app *app = NULL;
	enum osr_status st;

	for (uint32_t r = 0; r < n_ranks; r++)
		hosts[r] = host(first + r * step);
	for (uint32_t k = 0; k < n_keys; k++) {
		for (uint32_t r = 0; r < n_ranks; r++)
			pair[k][r] = (struct osr_pair){ r, (r + k + 1) % n_ranks };
		list[k] = pair[k];
		n_pairs[k] = n_ranks;
	}
	w.diag.text[0] = 0;
	st = osr_sched_place(w.sched, &in, &app, &w.diag);
	assert_true(!st == !!app && !st == !w.diag.text[0]);
	return app;
}

/* No place, and a sentence that says this. */
static void refuse(uint32_t owner, uint32_t first, uint32_t step, uint32_t n_ranks, uint32_t n_keys,
		   uint32_t n_offsets, const char *said)
{
	assert_null(place(owner, first, step, n_ranks, n_keys, n_offsets));
	assert_non_null(strstr(w.diag.text, said));
}

static void refuse_this(const struct osr_sched_in *in, const char *said)
{
	struct osr_sched_app *app = NULL;

	assert_int_equal(osr_sched_place(w.sched, in, &app, &w.diag), OSR_INVAL);
	assert_non_null(strstr(w.diag.text, said));
}

/* Every key in the tables leads all its pairs; nothing else has entries. */
static void judge(void)
{
	struct osr_arena arena = { 0 };
	struct osr_overlay_entry *entry;
	const struct osr_sched_app *app;
	const struct osr_fabric *fabric = &w.fabric;
	uint32_t n, i = 0, n_used = 0;
	uint8_t *port = osr_calloc(&arena, fabric->n_dests, fabric->n_switches);
	bool *used = osr_calloc(&arena, fabric->n_dests, fabric->n_switches);

	assert_int_equal(osr_sched_collect(w.sched, &arena, &entry, &n, &w.diag), OSR_OK);
	for (uint32_t e = 0; e < n; e++) {
		size_t at = (size_t)entry[e].dest * fabric->n_switches + entry[e].sw;

		assert_int_equal(port[at], 0);
		port[at] = entry[e].port;
		assert_int_not_equal(fabric->dest_lid[entry[e].dest],
				     fabric->term_lid[fabric->dest_term[entry[e].dest]]);
	}
	while ((app = osr_sched_row(w.sched, i++)))
		for (uint32_t k = 0; k < app->n_slots; k++) {
			const struct osr_sched_slot *slot = &app->slot[k];
			const struct osr_sched_key *key = &app->key[slot->key];

			for (uint32_t p = 0;
			     slot->key != OSR_NONE && !slot->make && p < key->n_pairs; p++) {
				uint32_t from = app->term[key->pair[p].from];
				uint32_t to = app->term[key->pair[p].to], at, hops = 0, d;

				if (from == OSR_NONE || to == OSR_NONE || from == to)
					continue;
				d = fabric->lid_dest[fabric->term_lid[to] + slot->offset];
				for (at = fabric->term_switch[from];
				     at != fabric->term_switch[to];) {
					size_t cell = (size_t)d * fabric->n_switches + at;

					assert_true(port[cell] && hops++ < 6);
					n_used += !used[cell];
					used[cell] = true;
					at = fabric->chan_dst[osr_port_channel(fabric, at,
									       port[cell])];
				}
			}
		}
	assert_int_equal(n_used, n);
	osr_arena_free(&arena);
}

static void request(struct osr_sched_app *app, uint32_t key, enum osr_key_state state)
{
	if (osr_sched_request(w.sched, app, key, &w.diag))
		fail_msg("%s", w.diag.text);
	assert_int_equal(app->key[key].state, state);
	judge();
}

/* The switches have the tables; what has become of a key. */
static void written(const struct osr_sched_app *app, uint32_t key, enum osr_key_state state)
{
	osr_sched_written(w.sched);
	assert_int_equal(app->key[key].state, state);
}

/* Life of a key -------------------------------------------------------------------------------- */

static void test_life(void **state)
{
	struct osr_sched_app *app;

	begin("4,4,4", 2);
	app = place(7, 0, 1, 64, 3, 0);
	assert_non_null(app);
	assert_int_equal(app->n_slots, 1);
	assert_int_equal(app->slot[0].offset, 1);
	assert_false(osr_sched_dirty(w.sched));
	request(app, 0, OSR_KEY_WAITING);
	assert_int_equal(app->key[0].contention, 1);
	assert_true(osr_sched_dirty(w.sched));
	/* The offset is taken, and the key too. */
	assert_int_equal(osr_sched_request(w.sched, app, 1, &w.diag), OSR_INVAL);
	assert_int_equal(osr_sched_request(w.sched, app, 0, &w.diag), OSR_INVAL);
	assert_int_equal(osr_sched_request(w.sched, app, 3, &w.diag), OSR_INVAL);
	written(app, 0, OSR_KEY_ACTIVE);
	assert_false(osr_sched_dirty(w.sched));
	assert_int_equal(osr_sched_done(w.sched, app, 0, &w.diag), OSR_OK);
	assert_int_equal(osr_sched_done(w.sched, app, 0, &w.diag), OSR_INVAL);
	assert_false(osr_sched_dirty(w.sched));
	/* Still in the tables: at once. Another one: written first. */
	request(app, 0, OSR_KEY_ACTIVE);
	assert_int_equal(osr_sched_done(w.sched, app, 0, &w.diag), OSR_OK);
	request(app, 1, OSR_KEY_WAITING);
	osr_sched_written(w.sched);
	osr_sched_release(w.sched, app);
	assert_true(osr_sched_dirty(w.sched));
	judge();
	osr_sched_written(w.sched);
	assert_false(osr_sched_dirty(w.sched));
	assert_null(osr_sched_row(w.sched, 0));
}

/* What is asked for while the tables are written is not in them yet. */
static void test_request_while_writing(void **state)
{
	struct osr_sched_app *a, *b;

	begin("4,4,4", 1);
	a = place(7, 0, 2, 32, 1, 0);
	b = place(7, 1, 2, 32, 1, 0);
	request(a, 0, OSR_KEY_WAITING); /* and collected */
	assert_int_equal(osr_sched_request(w.sched, b, 0, &w.diag), OSR_OK);
	written(a, 0, OSR_KEY_ACTIVE);
	assert_int_equal(b->key[0].state, OSR_KEY_WAITING);
	assert_true(osr_sched_dirty(w.sched));
	judge();
	written(b, 0, OSR_KEY_ACTIVE);
}

static void test_offsets(void **state)
{
	struct osr_sched_app *a, *b, *c;

	begin("4,4,4", 2);
	a = place(1, 0, 1, 32, 6, 2);
	assert_non_null(a);
	assert_true(a->slot[0].offset == 1 && a->slot[1].offset == 2);
	assert_true(a->key[2].slot == 0 && a->key[5].slot == 1);
	b = place(2, 32, 1, 32, 1, 0); /* other hosts, the same offset */
	assert_int_equal(b->slot[0].offset, 1);
	c = place(3, 0, 1, 64, 1, 0); /* hosts of both */
	assert_int_equal(c->slot[0].offset, 3);
	refuse(4, 31, 1, 2, 1, 0, "3 beside the first LID, 3 taken");
	request(a, 0, OSR_KEY_WAITING);
	request(a, 1, OSR_KEY_WAITING);
	request(b, 0, OSR_KEY_WAITING);
	request(c, 0, OSR_KEY_WAITING);
	osr_sched_release(w.sched, a);
	assert_non_null(place(4, 30, 1, 2, 1, 0));
}

static void test_refusals(void **state)
{
	struct osr_pair pair = { 0, 2 };
	const struct osr_pair *list = &pair;
	uint32_t n = 1;
	uint64_t hosts[2];
	struct osr_sched_in in = {
		.n_ranks = 2, .host = hosts, .n_keys = 1, .pair = &list, .n_pairs = &n
	};

	begin("4,4,4", 0);
	refuse(1, 0, 1, 8, 1, 0, "0 beside the first LID"); /* one LID a host */
	begin("4,4,4", 1);
	refuse(1, 0, 1, 8, 2, 2, ""); /* more keys at once than LIDs */
	hosts[0] = host(0);
	hosts[1] = 0xdead;
	refuse_this(&in, "ranks 0 and 2");
	pair.to = 1;
	refuse_this(&in, "0x000000000000dead");
	hosts[1] = w.fabric.term_guid[0]; /* a switch */
	assert_int_equal(w.fabric.term_role[0], OSR_ROLE_SP0);
	refuse_this(&in, "");
	n = MAX_PAIRS + 1;
	refuse_this(&in, "");
	n = 1;
	in.n_keys = 0;
	refuse_this(&in, "");
	in.n_keys = 1;
	in.host = NULL;
	in.n_ranks = 65;
	refuse_this(&in, "");
	for (uint32_t i = 0; i < 3; i++)
		assert_non_null(place(5, i * 4, 1, 4, 1, 0));
	refuse(5, 12, 1, 4, 1, 0, ""); /* a fourth of one owner */
	for (uint32_t i = 3; i < 8; i++)
		assert_non_null(place(10 + i, i * 4, 1, 4, 1, 0));
	refuse(0, 40, 1, 4, 1, 0, ""); /* a ninth */
	begin("ring", 1);
	refuse(1, 0, 1, 2, 1, 0, "");
}

/* Hosts nobody has are chosen, leaf by leaf. */
static void test_chosen_hosts(void **state)
{
	struct osr_pair pair = { 0, 1 };
	const struct osr_pair *list = &pair;
	uint32_t n = 1;
	struct osr_sched_in in = { .n_ranks = 30, .n_keys = 1, .pair = &list, .n_pairs = &n };
	struct osr_sched_app *a, *b;

	begin("4,4,4", 1);
	assert_int_equal(osr_sched_place(w.sched, &in, &a, &w.diag), OSR_OK);
	assert_int_equal(osr_sched_place(w.sched, &in, &b, &w.diag), OSR_OK);
	for (uint32_t i = 0; i < 30; i++)
		for (uint32_t k = 0; k < 30; k++)
			assert_true(a->host[i] != b->host[k] &&
				    (i == k || a->host[i] != a->host[k]));
	refuse_this(&in, "4 are without");
}

/* Two applications at once: the second sees the first (NRK). */
static void test_two_applications(void **state)
{
	struct osr_sched_app *a, *b;
	uint32_t busiest = 0;

	begin("4,4", 1);
	a = place(1, 0, 4, 4, 1, 0); /* the first host of each leaf */
	b = place(2, 1, 4, 4, 1, 0); /* the second */
	request(a, 0, OSR_KEY_WAITING);
	request(b, 0, OSR_KEY_WAITING);
	/* ARK's map from classes to planes is another one for each. */
	assert_true(a->key[0].key.spread && a->key[0].key.spread != b->key[0].key.spread);
	for (uint32_t i = 0; i < a->slot[0].routes.n_links; i++)
		for (uint32_t k = 0; k < b->slot[0].routes.n_links; k++)
			busiest += a->slot[0].routes.link[i] == b->slot[0].routes.link[k];
	assert_int_equal(busiest, 0);
}

/* Faults --------------------------------------------------------------------------------------- */

/* Cables go and come back, at random: keys stay, are made anew, or are withdrawn, and say so. */
static void test_faults(void **state)
{
	unsigned n_anew = 0, n_kept = 0;

	begin("4,4,4", 1);
	for (unsigned round = 0; round < 60; round++) {
		struct osr_sched_app *a = place(1, 0, 2, 32, 2, 0);
		struct osr_sched_app *b = place(2, 1, 2, 32, 1, 0);
		uint32_t before;

		request(a, round % 2, OSR_KEY_WAITING);
		request(b, 0, OSR_KEY_WAITING);
		osr_sched_written(w.sched);
		before = a->n_notices + b->n_notices;
		change("4,4,4", 1, 1 + round % 6, round);
		n_anew += a->n_notices + b->n_notices - before;
		n_kept += 2 - (a->n_notices + b->n_notices - before);
		assert_true(osr_sched_dirty(w.sched) == (a->n_notices + b->n_notices > before));
		judge();
		written(a, round % 2, OSR_KEY_ACTIVE);
		assert_int_equal(b->key[0].state, OSR_KEY_ACTIVE);
		change("4,4,4", 1, 0, 1); /* routes that still lead stay */
		judge();
		assert_int_equal(osr_sched_done(w.sched, a, round % 2, &w.diag), OSR_OK);
		osr_sched_release(w.sched, a);
		osr_sched_release(w.sched, b);
		judge();
		osr_sched_written(w.sched);
	}
	assert_true(n_anew > 10 && n_kept > 10);
}

/* No tree any more, fewer LIDs, hosts that are gone. */
static void test_withdrawn(void **state)
{
	struct osr_sched_app *app;

	begin("4,4,4", 2);
	app = place(1, 0, 1, 64, 2, 2);
	request(app, 0, OSR_KEY_WAITING);
	request(app, 1, OSR_KEY_WAITING);
	osr_sched_written(w.sched);
	change("4,4,4", 1, 0, 1); /* offset 2 is no more */
	judge();
	written(app, 0, OSR_KEY_ACTIVE);
	assert_int_equal(app->key[1].state, OSR_KEY_WITHDRAWN);
	assert_non_null(strstr(app->notice.text, "fewer LIDs"));
	change("ring", 1, 0, 1);
	judge();
	assert_int_equal(app->key[0].state, OSR_KEY_WITHDRAWN);
	assert_int_equal(osr_sched_request(w.sched, app, 0, &w.diag), OSR_NOT_APPLICABLE);
	assert_int_equal(osr_sched_done(w.sched, app, 0, &w.diag), OSR_OK);
	change("4,4,4", 2, 0, 1);
	request(app, 0, OSR_KEY_WAITING);
	osr_sched_written(w.sched);
	change("4,4", 2, 0, 1); /* a quarter of the hosts, on other switches */
	judge();
	written(app, 0, OSR_KEY_ACTIVE);
}

/* Nothing is made in a sweep: what leads stays, what does not leaves the tables and waits. */
static void test_sweep_makes_nothing(void **state)
{
	struct osr_sched_app *a, *b;
	uint32_t n, lost;

	begin("4,4,4", 1);
	a = place(1, 0, 2, 32, 1, 0);
	b = place(2, 1, 2, 2, 1, 0); /* two hosts of one leaf: no cable */
	request(a, 0, OSR_KEY_WAITING);
	request(b, 0, OSR_KEY_ACTIVE);
	osr_sched_written(w.sched);
	n = a->slot[0].routes.n_entries;
	assert_true(n > 0);
	for (lost = 1; a->slot[0].routes.n_entries; lost++) {
		assert_true(lost < 64);
		assert_int_equal(a->key[0].state, OSR_KEY_ACTIVE);
		grow("4,4,4", 1, lost, 1);
		assert_int_equal(osr_sched_fabric(w.sched, &w.fabric, NULL, &w.diag), OSR_OK);
		judge();
	}
	assert_int_equal(a->key[0].state, OSR_KEY_WAITING);
	assert_int_equal(b->key[0].state, OSR_KEY_ACTIVE);
	written(a, 0, OSR_KEY_WAITING); /* the base routing serves it */
	assert_true(a->slot[0].make);
	assert_true(osr_sched_work(w.sched) && !osr_sched_work(w.sched));
	assert_true(osr_sched_dirty(w.sched));
	assert_non_null(strstr(a->notice.text, "new routes"));
	judge();
	written(a, 0, OSR_KEY_ACTIVE);
}

/* Sweeps that come while routes are made without the lock. */
struct rival {
	int n_left,
		n_changes; /* how often the lock was left; changes of the fabric still to come */
	int stops_at;
	bool refuses;
};

static void rival_leave(void *ctx)
{
	struct rival *rival = ctx;
	struct osr_arena arena = { 0 };
	struct osr_overlay_entry *entry;
	uint32_t n;

	rival->n_left++;
	if (rival->n_changes-- > 0)
		grow("4,4,4", 1, (uint32_t)rival->n_left, 7);
	assert_int_equal(osr_sched_fabric(w.sched, &w.fabric, NULL, &w.diag), OSR_OK);
	if (rival->refuses)
		osr_sched_refuse(w.sched, "a rival");
	assert_int_equal(osr_sched_collect(w.sched, &arena, &entry, &n, &w.diag), OSR_OK);
	osr_sched_written(w.sched);
	osr_arena_free(&arena);
}

static void rival_take(void *ctx)
{
}

static bool rival_stops(void *ctx)
{
	const struct rival *rival = ctx;

	return rival->stops_at && rival->n_left >= rival->stops_at;
}

static void test_sweeps_meanwhile(void **state)
{
	struct osr_sched_app *app;
	struct rival rival = { 0 };
	struct osr_sched_limits some = limits;

	some.lock = (struct osr_sched_lock){ rival_take, rival_leave, rival_stops, &rival };
	begin_with(&some, "4,4,4", 1);
	rival.n_changes = 1; /* placed and requested at the second try */
	app = place(1, 0, 2, 32, 2, 0);
	assert_non_null(app);
	rival.n_changes = 1;
	request(app, 0, OSR_KEY_WAITING);
	written(app, 0, OSR_KEY_ACTIVE);
	rival.n_changes =
		100; /* never two sweeps with one fabric: refused, and nothing is left behind */
	refuse(1, 1, 2, 32, 1, 0, "changed meanwhile");
	assert_null(osr_sched_row(w.sched, 1));
	for (int i = 0; i < 20; i++)
		osr_sched_work(w.sched);
	rival.n_changes = 0;
	while (osr_sched_work(w.sched))
		;
	judge();
	/* All keys are withdrawn while one of them is made again. */
	rival.refuses = true;
	grow("4,4,4", 1, 40, 3);
	assert_int_equal(osr_sched_fabric(w.sched, &w.fabric, NULL, &w.diag), OSR_OK);
	while (osr_sched_work(w.sched))
		;
	judge();
	rival.refuses = false;
	rival.stops_at = rival.n_left + 1;
	refuse(1, 1, 2, 32, 8, 0, "ends");
}

/* A user leaves LID offsets on every host to others; root does not have to. */
static void test_quota(void **state)
{
	struct osr_sched_limits some = limits;

	some.max_offsets_of_owner = 2;
	begin_with(&some, "4,4,4", 2);
	refuse(7, 0, 1, 64, 3, 3, "at most 2");
	assert_non_null(place(7, 0, 1, 64, 1, 0));
	assert_non_null(place(7, 0, 1, 32, 1, 0));
	refuse(7, 31, 1, 2, 1, 0, "user 7 has 2"); /* one of the hosts has two */
	assert_non_null(place(7, 32, 1, 2, 1, 0));
	assert_non_null(place(8, 0, 1, 32, 1, 0)); /* there is one left */
	osr_sched_release(w.sched, osr_sched_row(w.sched, 3));
	assert_non_null(place(0, 0, 1, 32, 1, 0));
}

static void test_refused_tables(void **state)
{
	struct osr_sched_app *a, *b;

	begin("4,4,4", 1);
	a = place(1, 0, 2, 32, 1, 0);
	b = place(2, 1, 2, 32, 1, 0);
	request(a, 0, OSR_KEY_WAITING);
	osr_sched_written(w.sched);
	request(b, 0, OSR_KEY_WAITING);
	assert_int_equal(osr_sched_refuse(w.sched, "a test"), 1);
	assert_int_equal(a->key[0].state, OSR_KEY_ACTIVE);
	assert_int_equal(b->key[0].state, OSR_KEY_WITHDRAWN);
	assert_non_null(strstr(b->notice.text, "a test"));
	judge();
	assert_int_equal(osr_sched_refuse(w.sched, "again"), 1);
	assert_int_equal(a->key[0].state, OSR_KEY_WITHDRAWN);
	judge();
	assert_int_equal(osr_sched_refuse(w.sched, "nobody"), 0);
}

TEST_PROGRAM_THEN(end, test_life, test_request_while_writing, test_offsets, test_refusals,
		  test_chosen_hosts, test_two_applications, test_faults, test_withdrawn,
		  test_refused_tables, test_sweep_makes_nothing, test_quota, test_sweeps_meanwhile)
