/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * core/data/fabric_map.h and carry.h: a fabric loses switches, cables and hosts, cables are
 * swapped, HCAs exchanged and LIDs given anew. What is the same is looked up by name, one element
 * against all others.
 */
#include "test.h"

#include "core/data/carry.h"
#include "core/verify/union.h"

#include "fabrics.h"
#include "tables.h"

enum { ROUNDS = 60 };

static bool one_in(uint64_t *seed, unsigned n)
{
	return test_random(seed) % n == 0;
}

static void add_links(const struct osr_fabric *fabric, struct osr_builder *builder,
		      const uint32_t *handle, uint64_t *seed)
{
	uint32_t list[1024], n = 0;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (c < fabric->chan_rev[c] && handle[fabric->chan_src[c]] != OSR_NONE &&
		    handle[fabric->chan_dst[c]] != OSR_NONE && !one_in(seed, 8) && n < 1024)
			list[n++] = c;
	for (uint32_t i = 0; i < n; i++) {
		/* The far ends of two cables are exchanged: i and its neighbour in the list. */
		uint32_t pair = i ^ 1, c = list[i], far;
		bool swap = pair < n && (list[i & ~1u] * 2654435761u >> 8) % 4 == 0 &&
			    fabric->chan_src[c] != fabric->chan_dst[list[pair]] &&
			    fabric->chan_src[list[pair]] != fabric->chan_dst[c];

		far = fabric->chan_rev[swap ? list[pair] : c];
		osr_builder_link(builder,
				 &(struct osr_link_in){ .sw_a = handle[fabric->chan_src[c]],
							.sw_b = handle[fabric->chan_src[far]],
							.port_a = fabric->chan_port[c],
							.port_b = fabric->chan_port[far] });
	}
}

static void perturb(const struct osr_fabric *fabric, struct osr_arena *arena, uint64_t *seed,
		    struct osr_fabric *to)
{
	struct osr_builder *builder = osr_builder_new();
	struct osr_diag diag = { "" };
	uint32_t handle[256];

	assert_true(fabric->n_switches < 256);
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		handle[s] = s && one_in(seed, 8)
				    ? OSR_NONE
				    : osr_builder_switch(builder,
							 &(struct osr_switch_in){
								 fabric->sw_guid[s],
								 fabric->sw_n_ports[s], 0, NULL });
	add_links(fabric, builder, handle, seed);
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		struct osr_terminal_in in = { .guid = fabric->term_guid[t],
					      .port = fabric->term_port[t],
					      .role = fabric->term_role[t],
					      .lid = fabric->term_lid[t] };

		if (handle[fabric->term_switch[t]] == OSR_NONE || one_in(seed, 8))
			continue;
		in.sw = handle[fabric->term_switch[t]];
		in.guid += one_in(seed, 8) ? 0x100000 : 0; /* another HCA in its place */
		in.lid += one_in(seed, 8) ? 1000 : 0;
		osr_builder_terminal(builder, &in);
	}
	assert_int_equal(osr_builder_build(builder, arena, to, &diag), OSR_OK);
	osr_builder_free(builder);
}

static bool same_channel(const struct osr_fabric *f, uint32_t c, const struct osr_fabric *g,
			 uint32_t x)
{
	return f->sw_guid[f->chan_src[c]] == g->sw_guid[g->chan_src[x]] &&
	       f->sw_guid[f->chan_dst[c]] == g->sw_guid[g->chan_dst[x]] &&
	       f->chan_port[c] == g->chan_port[x] &&
	       f->chan_port[f->chan_rev[c]] == g->chan_port[g->chan_rev[x]];
}

static bool same_dest(const struct osr_fabric *f, uint32_t d, const struct osr_fabric *g,
		      uint32_t x)
{
	uint32_t t = f->dest_term[d], u = g->dest_term[x];

	return f->dest_lid[d] == g->dest_lid[x] && f->term_guid[t] == g->term_guid[u] &&
	       f->term_role[t] == g->term_role[u];
}

static void check_map(const struct osr_fabric_map *map)
{
	const struct osr_fabric *to = map->to, *from = map->from;

	for (uint32_t s = 0; s < to->n_switches; s++) {
		uint32_t x = 0;

		while (x < from->n_switches && from->sw_guid[x] != to->sw_guid[s])
			x++;
		assert_int_equal(map->sw[s], x < from->n_switches ? x : OSR_NONE);
	}
	for (uint32_t d = 0; d < to->n_dests; d++) {
		uint32_t x = 0;

		while (x < from->n_dests && !same_dest(to, d, from, x))
			x++;
		assert_int_equal(map->dest[d], x < from->n_dests ? x : OSR_NONE);
	}
	for (uint32_t c = 0; c < to->n_channels; c++) {
		uint32_t x = 0;

		while (x < from->n_channels && !same_channel(to, c, from, x))
			x++;
		assert_int_equal(map->chan[c], x < from->n_channels ? x : OSR_NONE);
	}
}

/* 1 + the place of a turn among all of a fabric. */
static uint32_t slot(const struct osr_fabric *fabric, uint32_t c, uint32_t out)
{
	uint32_t n = 1;

	for (uint32_t a = 0; a < fabric->n_channels; a++)
		for (uint32_t b = 0; b < fabric->n_channels; b++) {
			if (a == c && b == out)
				return n;
			n += fabric->chan_src[b] == fabric->chan_dst[a];
		}
	return 0;
}

static bool has_cable(const struct osr_fabric *fabric, uint32_t s, uint8_t port)
{
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (fabric->chan_src[c] == s && fabric->chan_port[c] == port)
			return true;
	return false;
}

static void check_tables(const struct osr_fabric_map *map, const struct osr_routing *old,
			 const struct osr_routing *now)
{
	for (uint32_t d = 0; d < map->to->n_dests; d++)
		for (uint32_t s = 0; s < map->to->n_switches; s++) {
			uint32_t x = map->dest[d], u = map->sw[s];
			uint8_t port = OSR_NO_PATH;

			if (x != OSR_NONE && u != OSR_NONE) {
				port = osr_lft(old, u, x);
				if (has_cable(map->from, u, port) && !has_cable(map->to, s, port))
					port = OSR_NO_PATH;
				assert_int_equal(now->sl[(size_t)d * map->to->n_switches + s],
						 old->sl[(size_t)x * map->from->n_switches + u]);
			}
			assert_int_equal(osr_lft(now, s, d), port);
		}
}

/* A certificate, turns and a spanning order that mean nothing. */
static void random_channels(const struct osr_fabric *fabric, struct osr_arena *arena,
			    uint64_t *seed, struct osr_routing *routing)
{
	uint16_t *deps =
		osr_alloc(arena, (size_t)fabric->n_channels * fabric->n_channels, sizeof(*deps));

	routing->rank = osr_alloc(arena, (size_t)routing->n_vls * fabric->n_channels,
				  sizeof(*routing->rank));
	routing->mcast_parent =
		osr_alloc(arena, fabric->n_switches, sizeof(*routing->mcast_parent));
	for (uint32_t i = 0; i < routing->n_vls * fabric->n_channels; i++)
		routing->rank[i] = 1 + test_random(seed) % 1000;
	for (uint32_t i = 0; i < fabric->n_channels * fabric->n_channels; i++)
		deps[i] = (uint16_t)test_random(seed);
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		routing->mcast_parent[s] =
			fabric->chan_row[s] +
			test_random(seed) % (fabric->chan_row[s + 1] - fabric->chan_row[s]);
	routing->lane_deps = deps;
}

/* Path SLs in rows shared by two terminals, two groups of random ports. */
static void random_rest(const struct osr_fabric *fabric, struct osr_arena *arena, uint64_t *seed,
			struct osr_generation *gen)
{
	static const uint16_t mlid[2] = { 0xc001, 0xc007 };
	uint32_t n_rows = fabric->n_terminals / 2 + 1;
	struct osr_paths *paths = osr_alloc(arena, 1, sizeof(*paths));
	struct osr_groups *groups = osr_alloc(arena, 1, sizeof(*groups));
	uint64_t(*ports)[4] = osr_calloc(arena, 2 * fabric->n_switches, sizeof(*ports));
	uint32_t *row = osr_alloc(arena, fabric->n_terminals, sizeof(*row));
	uint8_t *sl = osr_alloc(arena, (size_t)n_rows * fabric->n_dests, 1);

	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		row[t] = one_in(seed, 6) ? OSR_NONE : (uint32_t)(test_random(seed) % n_rows);
	for (uint32_t i = 0; i < n_rows * fabric->n_dests; i++)
		sl[i] = (uint8_t)(test_random(seed) % 16);
	for (uint32_t i = 0; i < 2 * fabric->n_switches; i++)
		ports[i][0] = test_random(seed) &
			      ((2ull << fabric->sw_n_ports[i % fabric->n_switches]) - 1);
	*paths = (struct osr_paths){ n_rows, row, sl };
	*groups = (struct osr_groups){ 2, mlid, (const uint64_t(*)[4])ports, 3 };
	gen->paths = paths;
	gen->groups = groups;
	gen->sls_unknown = one_in(seed, 2);
}

/* The same port with the same LID. */
static uint32_t terminal_before(const struct osr_fabric_map *map, uint32_t t)
{
	uint32_t x = 0;

	while (x < map->from->n_terminals && (map->from->term_guid[x] != map->to->term_guid[t] ||
					      map->from->term_lid[x] != map->to->term_lid[t] ||
					      map->from->term_role[x] != map->to->term_role[t]))
		x++;
	return x < map->from->n_terminals ? x : OSR_NONE;
}

static void check_rest(const struct osr_fabric_map *map, const struct osr_generation *old,
		       const struct osr_carried *now)
{
	const struct osr_fabric *to = map->to, *from = map->from;

	assert_ptr_equal(now->gen.routing, &now->tables.routing);
	assert_ptr_equal(now->gen.paths, &now->paths);
	assert_ptr_equal(now->gen.groups, &now->groups);
	assert_int_equal(now->gen.sls_unknown, old->sls_unknown);
	assert_int_equal(now->groups.sl, old->groups->sl);
	for (uint32_t t = 0; t < to->n_terminals; t++) {
		uint32_t x = terminal_before(map, t);

		assert_int_equal(now->paths.row[t], x == OSR_NONE ? OSR_NONE : old->paths->row[x]);
		for (uint32_t d = 0;
		     x != OSR_NONE && old->paths->row[x] != OSR_NONE && d < to->n_dests; d++)
			assert_int_equal(
				now->paths.sl[now->paths.row[t] * to->n_dests + d],
				map->dest[d] == OSR_NONE
					? OSR_NO_SL
					: old->paths->sl[old->paths->row[x] * from->n_dests +
							 map->dest[d]]);
	}
	for (uint32_t g = 0; g < now->groups.n; g++) {
		assert_int_equal(now->groups.mlid[g], old->groups->mlid[g]);
		for (uint32_t s = 0; s < to->n_switches; s++)
			for (uint8_t p = 0; p <= to->sw_n_ports[s]; p++) {
				uint32_t u = map->sw[s];
				bool had =
					u != OSR_NONE &&
					old->groups->ports[g * from->n_switches + u][0] >> p & 1 &&
					(!has_cable(from, u, p) || has_cable(to, s, p));

				assert_int_equal(
					now->groups.ports[g * to->n_switches + s][0] >> p & 1, had);
			}
	}
}

static void test_generation(void **state)
{
	uint64_t seed = 21;
	uint32_t n_gone = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct osr_arena arena = { 0 };
		struct osr_generation gen = { 0 };
		struct osr_carried now;
		struct osr_routing old;
		struct osr_diag diag = { "" };
		struct test_fabric test;
		struct osr_fabric to;

		test_fabric_ring(&test, 4 + i % 7, 2);
		table_make(TABLE_UPDOWN_SL2VL, &test.fabric, &arena, 1, &old);
		gen.routing = &old;
		random_rest(&test.fabric, &arena, &seed, &gen);
		perturb(&test.fabric, &arena, &seed, &to);
		assert_int_equal(osr_union_carry(&test.fabric, &gen, &to, &arena, &now, &diag),
				 OSR_OK);
		check_rest(&now.tables.map, &gen, &now);
		for (uint32_t x = 0; x < to.n_terminals; x++)
			n_gone += terminal_before(&now.tables.map, x) == OSR_NONE;
		/* What there is not is not made. */
		gen = (struct osr_generation){ .routing = &old };
		assert_int_equal(osr_union_carry(&test.fabric, &gen, &to, &arena, &now, &diag),
				 OSR_OK);
		assert_null(now.gen.paths);
		assert_null(now.gen.groups);
		osr_arena_free(&arena);
		test_fabric_free(&test);
	}
	assert_true(n_gone > 0);
}

/* Certificate, turns of each lane and spanning order, channel by channel. */
static void check_channels(const struct osr_earlier *now)
{
	const struct osr_fabric *to = now->map.to, *from = now->map.from;
	const struct osr_routing *routing = &now->routing, *was = now->was;

	for (uint32_t c = 0; c < to->n_channels; c++) {
		uint32_t x = now->map.chan[c];

		for (uint8_t vl = 0; vl < was->n_vls; vl++)
			assert_int_equal(routing->rank[vl * to->n_channels + c],
					 x == OSR_NONE ? 0 : was->rank[vl * from->n_channels + x]);
		assert_int_equal(routing->mcast_parent[to->chan_src[c]] == c,
				 x != OSR_NONE && was->mcast_parent[from->chan_src[x]] == x);
	}
	for (uint32_t c = 0, turn = 0; c < to->n_channels; c++)
		for (uint32_t o = 0; o < to->n_channels; o++) {
			uint32_t at = 0;

			if (to->chan_src[o] != to->chan_dst[c])
				continue;
			if (now->map.chan[c] != OSR_NONE && now->map.chan[o] != OSR_NONE)
				at = slot(from, now->map.chan[c], now->map.chan[o]);
			assert_int_equal(routing->lane_deps[turn++],
					 at ? was->lane_deps[at - 1] : 0);
		}
}

static void test_perturbed(void **state)
{
	uint64_t seed = 20;
	uint32_t n_moved = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct osr_arena arena = { 0 };
		struct osr_earlier now;
		struct osr_routing old;
		struct osr_diag diag = { "" };
		struct test_fabric test;
		struct osr_fabric to;

		test_fabric_ring(&test, 4 + i % 7, 2);
		table_make(TABLE_UPDOWN_SL2VL, &test.fabric, &arena, 1, &old);
		random_channels(&test.fabric, &arena, &seed, &old);
		perturb(&test.fabric, &arena, &seed, &to);
		assert_int_equal(osr_carry(&test.fabric, &old, &to, &arena, &arena, &now, &diag),
				 OSR_OK);
		check_map(&now.map);
		check_tables(&now.map, &old, &now.routing);
		check_channels(&now);
		for (uint32_t c = 0; c < to.n_channels; c++)
			n_moved += now.map.chan[c] == OSR_NONE;
		osr_arena_free(&arena);
		test_fabric_free(&test);
	}
	assert_true(n_moved > 0); /* swapped cables were among them */
}

TEST_PROGRAM(test_perturbed, test_generation)
