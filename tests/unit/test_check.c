/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The checker against right tables, against tables broken on purpose, and against a judge that
 * follows every packet by itself.
 */
#include "test.h"

#include <osmroutes/check.h>
#include <osmroutes/sweep.h>

#include "fabrics.h"
#include "tables.h"

static void assert_same_verdict(const struct osr_verdict *a, const struct osr_verdict *b)
{
	assert_int_equal(a->proven, b->proven);
	assert_int_equal(a->n_routes, b->n_routes);
	assert_int_equal(a->n_longer, b->n_longer);
	assert_int_equal(a->n_no_path, b->n_no_path);
	assert_int_equal(a->max_hops, b->max_hops);
	assert_int_equal(a->max_longer, b->max_longer);
	assert_int_equal(a->efi, b->efi);
	assert_int_equal(a->efi_chan, b->efi_chan);
	assert_true(a->efi_mean - b->efi_mean < 1e-6 && b->efi_mean - a->efi_mean < 1e-6);
	assert_true(a->efi_per_capacity - b->efi_per_capacity < 1e-6 &&
		    b->efi_per_capacity - a->efi_per_capacity < 1e-6);
}

/* The checker and the judge must say the same. Returns whether the tables are right. */
static bool agree(const struct test_fabric *t, const struct osr_routing *r, const char *what)
{
	struct osr_arena scratch = { 0 };
	struct osr_verdict verdict, judged;
	struct osr_diag diag = { 0 };
	enum osr_status st = osr_check(&t->f, r, &scratch, &verdict, &diag);
	bool right = table_judge(&t->f, r, &judged);

	if (st != (right ? OSR_OK : OSR_CHECK_FAILED))
		fail_msg("%s, %s: the judge says %s, the checker: %s (%s)", t->name, what,
			 right ? "right" : "wrong", osr_status_str(st), diag.text);
	assert_int_equal(scratch.in_use, 0);
	if (right) {
		assert_same_verdict(&verdict, &judged);
		assert_string_equal(diag.text, "");
	} else {
		assert_string_not_equal(diag.text, "");
	}
	osr_arena_free(&scratch);
	return right;
}

static void test_right_tables(void **state)
{
	for (unsigned i = 0; i < N_TEST_FABRICS; i++)
		for (unsigned kind = 0; kind < N_TABLE_KINDS; kind++) {
			struct osr_arena arena = { 0 };
			struct test_fabric t;
			struct osr_routing r;

			test_fabric_named(&t, i);
			table_make(kind, &t.f, &arena, i, &r);
			assert_true(agree(&t, &r, table_names[kind]));
			if (r.claims & OSR_CLAIM_DEADLOCK_FREE)
				assert_int_equal(table_loop(&t.f, &r, r.claims), 0);
			osr_arena_free(&arena);
			test_fabric_free(&t);
		}
}

static void test_random_fabrics(void **state)
{
	for (uint64_t seed = 100; seed < 160; seed++) {
		struct osr_arena arena = { 0 };
		struct test_fabric t;
		struct osr_routing r;
		unsigned kind = seed % N_TABLE_KINDS;

		test_fabric_random(&t, 2 + seed % 31, 2 + seed % 31 * 2, seed);
		table_make(kind, &t.f, &arena, seed, &r);
		assert_true(agree(&t, &r, table_names[kind]));
		osr_arena_free(&arena);
		test_fabric_free(&t);
	}
}

/* More than 64 switches: more than one batch of searches. */
static void test_large(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric t;
	struct osr_routing r;

	test_fabric_random(&t, 150, 260, 7);
	table_make(TABLE_SHORTEST, &t.f, &arena, 0, &r);
	assert_true(agree(&t, &r, "150 switches"));
	r.lft[(size_t)(t.f.n_dests - 1) * t.f.n_switches + 3] ^= 1;
	assert_false(agree(&t, &r, "150 switches, one entry wrong"));
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

static void test_dateline(void **state)
{
	for (uint32_t n = 3; n < 12; n++) {
		struct osr_arena arena = { 0 };
		struct test_fabric t;
		struct osr_routing r;

		test_fabric_ring(&t, n, 1);
		table_dateline(&t.f, &arena, &r);
		assert_true(agree(&t, &r, "dateline"));
		assert_int_equal(table_loop(&t.f, &r, r.claims), 0);
		r.claims |= OSR_CLAIM_REVERSIBLE;
		assert_int_equal(agree(&t, &r, "dateline, replies"), n % 2);
		osr_arena_free(&arena);
		test_fabric_free(&t);
	}
}

/* The classic: shortest routes around a ring of 5 wait for each other in a circle. */
static void test_ring_cycle(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric t;
	struct osr_routing r;

	test_fabric_ring(&t, 5, 1);
	table_make(TABLE_SHORTEST, &t.f, &arena, 0, &r);
	assert_int_equal(table_loop(&t.f, &r, 0), 5);
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

/* What the search finds with one mode, it must not find without. */
static void test_cycle_modes(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric t;
	struct osr_routing r;

	test_fabric_ring(&t, 6, 1);
	table_dateline(&t.f, &arena, &r);
	assert_int_equal(table_loop(&t.f, &r, 0), 0);
	assert_int_equal(table_loop(&t.f, &r, OSR_CLAIM_ANY_SL), 6);
	/* Both of VL 0 and VL 1 together are the ring: with one SL it closes. */
	memset(r.sl, 0, (size_t)r.n_dests * r.n_switches);
	assert_int_equal(table_loop(&t.f, &r, 0), 6);
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

/* A cycle that runs through two VLs: an SL2VL table that changes the VL halfway. */
static void test_cycle_across_vls(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric t;
	struct osr_routing r, sl2vl;

	test_fabric_ring(&t, 5, 1);
	table_make(TABLE_SHORTEST, &t.f, &arena, 0, &r);
	table_make(TABLE_UPDOWN_SL2VL, &t.f, &arena, 0, &sl2vl);
	assert_int_equal(table_loop(&t.f, &sl2vl, 0), 0);
	sl2vl.lft = r.lft;
	for (uint32_t s = 0; s < t.f.n_switches; s++) {
		size_t ports = t.f.sw_n_ports[s] + 1u;

		for (size_t pair = 0; pair < ports * ports; pair++)
			memset(sl2vl.sl2vl[sl2vl.sl2vl_row[s] + pair], s % 2, 16);
	}
	assert_true(table_loop(&t.f, &sl2vl, 0) >= 5);
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

/* --- mutants --------------------------------------------------------------------------------- */

struct patient {
	struct test_fabric *t;
	struct osr_fabric f; /* may be changed, arrays copied */
	struct osr_routing r;
	struct osr_arena *arena;
	uint64_t seed;
};

static uint32_t pick(struct patient *p, uint32_t n)
{
	return n ? test_random(&p->seed) % n : 0;
}

static uint8_t *lft(struct patient *p, uint32_t d, uint32_t s)
{
	return &p->r.lft[(size_t)d * p->r.n_switches + s];
}

/* A random pair of a dest and a switch elsewhere that sends to it. */
static bool pick_pair(struct patient *p, uint32_t *d, uint32_t *s)
{
	for (unsigned tries = 0; tries < 1000; tries++) {
		*d = pick(p, p->f.n_dests);
		*s = pick(p, p->f.n_switches);
		if (*s != p->f.dest_switch[*d] && *lft(p, *d, *s) != OSR_NO_PATH &&
		    (p->f.sw_sources[*s] || p->f.term_weight[p->f.dest_term[*d]]))
			return true;
	}
	return false;
}

static uint32_t next_chan(struct patient *p, uint32_t d, uint32_t s)
{
	return osr_port_channel(&p->f, s, *lft(p, d, s));
}

/* A random pair of channels that a route uses one after the other. */
static bool pick_dependency(struct patient *p, uint32_t *from, uint32_t *to, uint32_t *d)
{
	for (unsigned tries = 0; tries < 1000; tries++) {
		uint32_t s;

		if (!pick_pair(p, d, &s))
			return false;
		*from = next_chan(p, *d, s);
		s = p->f.chan_dst[*from];
		if (s == p->f.dest_switch[*d])
			continue;
		*to = next_chan(p, *d, s);
		return true;
	}
	return false;
}

static bool hole(struct patient *p)
{
	uint32_t d, s;

	if (!pick_pair(p, &d, &s))
		return false;
	*lft(p, d, s) = OSR_NO_PATH;
	return true;
}

static bool own_port_0(struct patient *p)
{
	uint32_t d, s;

	if (!pick_pair(p, &d, &s))
		return false;
	*lft(p, d, s) = 0;
	return true;
}

static bool beyond_ports(struct patient *p)
{
	uint32_t d, s;

	if (!pick_pair(p, &d, &s))
		return false;
	*lft(p, d, s) = p->f.sw_n_ports[s] + 1;
	return true;
}

static bool other_hosts_port(struct patient *p)
{
	uint32_t d, s, term;

	if (!pick_pair(p, &d, &s) || !p->f.sw_sources[s])
		return false;
	term = p->f.term_row[s + 1] - 1;
	*lft(p, d, s) = p->f.term_port[term];
	return true;
}

static bool unplugged_port(struct patient *p)
{
	uint32_t d, s;

	if (!pick_pair(p, &d, &s))
		return false;
	*lft(p, d, s) = p->f.sw_n_ports[s]; /* the fabrics never fill a switch */
	return osr_port_channel(&p->f, s, p->f.sw_n_ports[s]) == OSR_NONE;
}

static bool wrong_host(struct patient *p)
{
	uint32_t d = pick(p, p->f.n_dests);

	*lft(p, d, p->f.dest_switch[d]) ^= 1;
	return true;
}

static bool hole_at_the_end(struct patient *p)
{
	uint32_t d = pick(p, p->f.n_dests);

	*lft(p, d, p->f.dest_switch[d]) = OSR_NO_PATH;
	return true;
}

static bool loop(struct patient *p)
{
	uint32_t d, s, c;

	if (!pick_pair(p, &d, &s))
		return false;
	c = next_chan(p, d, s);
	if (p->f.chan_dst[c] == p->f.dest_switch[d])
		return false;
	*lft(p, d, p->f.chan_dst[c]) = p->f.chan_port[p->f.chan_rev[c]];
	return true;
}

static bool detour(struct patient *p)
{
	uint32_t d, s, c;

	if (!(p->r.claims & OSR_CLAIM_MINIMAL) || !pick_pair(p, &d, &s))
		return false;
	c = p->f.chan_row[s] + pick(p, p->f.chan_row[s + 1] - p->f.chan_row[s]);
	if (next_chan(p, d, p->f.chan_dst[c]) == p->f.chan_rev[c] ||
	    p->f.chan_dst[c] == p->f.chan_dst[next_chan(p, d, s)] || p->f.n_switches != 5)
		return false;
	*lft(p, d, s) = p->f.chan_port[c]; /* around a ring of 5: the long way */
	return true;
}

static bool path_to_elsewhere(struct patient *p)
{
	uint32_t d = pick(p, p->f.n_dests), s = pick(p, p->f.n_switches);

	if (*lft(p, d, s) != OSR_NO_PATH)
		return false;
	*lft(p, d, s) = 1;
	return true;
}

static uint8_t *sl(struct patient *p)
{
	uint32_t d, s;

	if (!p->r.sl || !pick_pair(p, &d, &s))
		return NULL;
	return &p->r.sl[(size_t)d * p->r.n_switches + s];
}

static bool no_such_sl(struct patient *p)
{
	uint8_t *x = sl(p);

	if (x)
		*x = 16 + pick(p, 240);
	return x;
}

static bool sl_without_vl(struct patient *p)
{
	uint8_t *x = p->r.sl2vl ? NULL : sl(p);

	if (x)
		*x = p->r.n_vls;
	return x;
}

static bool equal_ranks(struct patient *p)
{
	uint32_t from, to, d;

	if (!p->r.rank || p->r.sl || p->r.sl2vl || !pick_dependency(p, &from, &to, &d))
		return false;
	p->r.rank[from] = p->r.rank[to];
	return true;
}

static bool swapped_ranks(struct patient *p)
{
	uint32_t from, to, d, rank;

	if (!p->r.rank || p->r.sl || p->r.sl2vl || !pick_dependency(p, &from, &to, &d))
		return false;
	rank = p->r.rank[from];
	p->r.rank[from] = p->r.rank[to];
	p->r.rank[to] = rank;
	return true;
}

/* On the VL of a packet that really goes that way. */
static bool rank_of_one_vl(struct patient *p)
{
	uint32_t d, s, c, to, n = p->f.n_channels;
	unsigned vl;

	if (!p->r.rank || !p->r.sl || p->r.sl2vl || !pick_pair(p, &d, &s))
		return false;
	c = next_chan(p, d, s);
	if (p->f.chan_dst[c] == p->f.dest_switch[d])
		return false;
	to = next_chan(p, d, p->f.chan_dst[c]);
	vl = p->r.sl[(size_t)d * p->r.n_switches + s];
	p->r.rank[vl * n + c] = p->r.rank[vl * n + to] + pick(p, 2);
	return true;
}

static bool no_certificate(struct patient *p)
{
	bool was = p->r.rank && p->f.n_channels;

	p->r.rank = NULL;
	return was;
}

static bool too_few_vls(struct patient *p)
{
	if (p->r.n_vls == 1 || !p->f.n_channels)
		return false;
	/* The random SLs and SL2VL tables make use of the highest VL. */
	p->r.n_vls--;
	return true;
}

static bool no_vls(struct patient *p)
{
	p->r.n_vls = pick(p, 2) ? 0 : 16;
	return true;
}

static bool no_tables(struct patient *p)
{
	p->r.lft = NULL;
	return true;
}

static bool other_fabric(struct patient *p)
{
	p->r.n_dests--;
	return true;
}

static bool unfounded_claim(struct patient *p)
{
	p->r.claims &= ~OSR_CLAIM_DEADLOCK_FREE;
	p->r.claims |= OSR_CLAIM_ANY_SL << pick(p, 2);
	return true;
}

static bool unknown_claim(struct patient *p)
{
	p->r.claims |= 1u << 30;
	return true;
}

static bool no_mcast_order(struct patient *p)
{
	p->r.mcast_parent = NULL;
	return p->r.claims & OSR_CLAIM_MULTICAST;
}

static bool mcast_vl_too_high(struct patient *p)
{
	p->r.mcast_vl = p->r.claims & OSR_CLAIM_ANY_SL && !p->r.sl2vl ? 15 : p->r.n_vls;
	return p->r.mcast_parent;
}

/* A switch that has a parent in the spanning order, or OSR_NONE. */
static uint32_t pick_child(struct patient *p)
{
	for (unsigned tries = 0; tries < 1000 && p->r.mcast_parent; tries++) {
		uint32_t s = pick(p, p->f.n_switches);

		if (p->r.mcast_parent[s] != OSR_NONE)
			return s;
	}
	return OSR_NONE;
}

static bool mcast_loop(struct patient *p)
{
	uint32_t s = pick_child(p);

	if (s == OSR_NONE)
		return false;
	p->r.mcast_parent[p->f.chan_dst[p->r.mcast_parent[s]]] =
		p->f.chan_rev[p->r.mcast_parent[s]];
	return true;
}

static bool mcast_foreign_channel(struct patient *p)
{
	uint32_t s = pick_child(p);

	if (s == OSR_NONE)
		return false;
	p->r.mcast_parent[s] = pick(p, 2) ? p->f.n_channels : p->f.chan_rev[p->r.mcast_parent[s]];
	return true;
}

static bool mcast_torn(struct patient *p)
{
	uint32_t s = pick_child(p);

	if (s == OSR_NONE || !p->f.sw_sources[s] || !p->f.sw_sources[0] || p->f.sw_component[s])
		return false;
	p->r.mcast_parent[s] = OSR_NONE;
	return true;
}

static bool mcast_rank(struct patient *p)
{
	uint32_t a = pick_child(p), b = pick_child(p), in, out, base;

	if (a == OSR_NONE || a == b ||
	    p->f.chan_dst[p->r.mcast_parent[a]] != p->f.chan_dst[p->r.mcast_parent[b]])
		return false;
	/* From child a through the parent to child b, on the VL of multicast. */
	in = p->r.mcast_parent[a];
	out = p->f.chan_rev[p->r.mcast_parent[b]];
	base = p->r.n_vls == 1 ? 0 : p->r.mcast_vl * p->f.n_channels;
	p->r.rank[base + in] = p->r.rank[base + out];
	return p->r.claims & OSR_CLAIM_MULTICAST;
}

static uint8_t *sl2vl_used(struct patient *p)
{
	uint32_t d, s, c, next;

	if (!p->r.sl2vl || !pick_pair(p, &d, &s))
		return NULL;
	c = next_chan(p, d, s);
	next = p->f.chan_dst[c];
	if (next == p->f.dest_switch[d] && !*lft(p, d, next))
		return NULL; /* what stays at port 0 needs no VL */
	return &p->r.sl2vl[p->r.sl2vl_row[next] +
			   p->f.chan_port[p->f.chan_rev[c]] * (p->f.sw_n_ports[next] + 1u) +
			   *lft(p, d, next)]
			  [p->r.sl ? p->r.sl[(size_t)d * p->r.n_switches + s] : pick(p, 16)];
}

static bool sl2vl_drops(struct patient *p)
{
	uint8_t *vl = sl2vl_used(p);

	if (vl)
		*vl = 15;
	return vl;
}

static bool sl2vl_too_high(struct patient *p)
{
	uint8_t *vl = sl2vl_used(p);

	if (vl)
		*vl = p->r.n_vls + pick(p, 255 - p->r.n_vls);
	return vl;
}

static bool sl2vl_of_a_host(struct patient *p)
{
	uint32_t d, s, term;

	if (!p->r.sl2vl || !pick_pair(p, &d, &s) || !p->f.sw_sources[s])
		return false;
	term = p->f.term_row[s + 1] - 1 - pick(p, p->f.sw_sources[s]);
	p->r.sl2vl[p->r.sl2vl_row[s] + p->f.term_port[term] * (p->f.sw_n_ports[s] + 1u) +
		   *lft(p, d, s)][p->r.sl ? p->r.sl[(size_t)d * p->r.n_switches + s] : 3] = 15;
	return true;
}

static bool ca_drops(struct patient *p)
{
	uint32_t d, s;

	if (!p->r.sl2vl || !pick_pair(p, &d, &s))
		return false;
	p->r.ca_sl2vl[p->r.sl ? p->r.sl[(size_t)d * p->r.n_switches + s] : 5] = 15;
	return true;
}

/* One cable on the way has only the VLs below the one needed. */
static bool cable_of_few_vls(struct patient *p)
{
	uint8_t *vls = osr_alloc(p->arena, p->f.n_channels, 1);
	uint32_t d, s;

	if (!p->r.sl || p->r.sl2vl || !pick_pair(p, &d, &s))
		return false;
	memcpy(vls, p->f.chan_vls, p->f.n_channels);
	vls[next_chan(p, d, s)] = p->r.sl[(size_t)d * p->r.n_switches + s];
	p->f.chan_vls = vls;
	return true;
}

/* A table right for requests whose replies close a circle: VL 1 must be the one that is cut there.
 */
static bool reply_of_the_other_side(struct patient *p)
{
	if (strcmp(p->t->name, "ring of 6") || !(p->r.claims & OSR_CLAIM_MINIMAL) || !p->r.rank)
		return false;
	p->r.claims |= OSR_CLAIM_REVERSIBLE;
	return true;
}

static const struct {
	const char *name;
	bool (*apply)(struct patient *p);
	const char *says; /* part of every sentence it causes */
} mutators[] = {
	{ "hole", hole, "LID" },
	{ "own port 0", own_port_0, "LID" },
	{ "port beyond the last", beyond_ports, "LID" },
	{ "port of another host", other_hosts_port, "LID" },
	{ "port without cable", unplugged_port, "LID" },
	{ "wrong host port", wrong_host, "is attached to its port" },
	{ "hole at the last switch", hole_at_the_end, "is attached to its port" },
	{ "loop", loop, "loops through switch" },
	{ "detour", detour, "hops" },
	{ "path into another component", path_to_elsewhere, "no cable connects" },
	{ "SL beyond 15", no_such_sl, "SL" },
	{ "SL without VL", sl_without_vl, "SL" },
	{ "equal ranks", equal_ranks, "certificate" },
	{ "swapped ranks", swapped_ranks, "certificate" },
	{ "wrong rank on one VL", rank_of_one_vl, "certificate" },
	{ "no certificate", no_certificate, "certificate" },
	{ "n_vls too small", too_few_vls, "VL" },
	{ "n_vls impossible", no_vls, "VLs" },
	{ "no tables", no_tables, "tables" },
	{ "other fabric", other_fabric, "another fabric" },
	{ "claim without deadlock freedom", unfounded_claim, "claims" },
	{ "unknown claim", unknown_claim, "claims" },
	{ "no spanning order", no_mcast_order, "multicast" },
	{ "multicast VL too high", mcast_vl_too_high, "multicast" },
	{ "multicast loop", mcast_loop, "multicast" },
	{ "multicast by a foreign channel", mcast_foreign_channel, "multicast" },
	{ "multicast torn apart", mcast_torn, "multicast" },
	{ "multicast against the ranks", mcast_rank, "certificate" },
	{ "SL2VL drops", sl2vl_drops, "VL 15" },
	{ "SL2VL beyond n_vls", sl2vl_too_high, "VL" },
	{ "SL2VL of a host port", sl2vl_of_a_host, "VL 15" },
	{ "CA drops", ca_drops, "SL" },
	{ "cable with few VLs", cable_of_few_vls, "VL" },
	{ "reply on the other side", reply_of_the_other_side, "certificate" },
};

#define N_MUTATORS (sizeof(mutators) / sizeof(mutators[0]))

/* Whether there was a mutant to try. */
static bool must_be_found(struct test_fabric *t, const struct osr_routing *right, unsigned m,
			  uint64_t seed)
{
	struct osr_arena arena = { 0 };
	struct patient p = { .t = t, .f = t->f, .arena = &arena, .seed = seed };
	struct osr_verdict verdict;
	struct osr_diag diag = { 0 };
	bool applied;

	table_copy(&t->f, right, &arena, &p.r);
	applied = mutators[m].apply(&p);
	if (applied) {
		enum osr_status st = osr_check(&p.f, &p.r, &arena, &verdict, &diag);

		if (st != OSR_CHECK_FAILED || !strstr(diag.text, mutators[m].says))
			fail_msg("%s, %s, seed %u: %s (%s)", t->name, mutators[m].name,
				 (unsigned)seed, osr_status_str(st), diag.text);
		assert_int_equal(verdict.proven, 0);
	}
	osr_arena_free(&arena);
	return applied;
}

static void mutate_all(struct test_fabric *t, const struct osr_routing *right, unsigned *n_found)
{
	for (unsigned m = 0; m < N_MUTATORS; m++)
		for (uint64_t seed = 0; seed < 4; seed++)
			n_found[m] += must_be_found(t, right, m, seed);
}

static void test_mutants(void **state)
{
	unsigned n_found[N_MUTATORS] = { 0 }, total = 0;

	for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
		struct osr_arena arena = { 0 };
		struct test_fabric t;
		struct osr_routing r;

		test_fabric_named(&t, i);
		for (unsigned kind = 0; kind < N_TABLE_KINDS; kind++) {
			table_make(kind, &t.f, &arena, i, &r);
			mutate_all(&t, &r, n_found);
		}
		if (!strncmp(t.name, "ring", 4)) {
			table_dateline(&t.f, &arena, &r);
			mutate_all(&t, &r, n_found);
		}
		osr_arena_free(&arena);
		test_fabric_free(&t);
	}
	for (unsigned m = 0; m < N_MUTATORS; m++) {
		if (!n_found[m])
			fail_msg("no fabric has a mutant \"%s\"", mutators[m].name);
		total += n_found[m];
	}
	print_message("%u mutants found\n", total);
	assert_true(total >= 200);
}

/* A random change of anything, right or wrong. */
static void change(struct patient *p)
{
	size_t pairs = (size_t)p->f.n_dests * p->f.n_switches;
	uint32_t d, s, c;

	switch (pick(p, 7)) {
	case 0:
		p->r.lft[pick(p, pairs)] = pick(p, 8) ? pick(p, 8) : 255;
		break;
	case 1: /* to a neighbour: often right */
		if (!pick_pair(p, &d, &s))
			break;
		c = p->f.chan_row[s] + pick(p, p->f.chan_row[s + 1] - p->f.chan_row[s]);
		*lft(p, d, s) = p->f.chan_port[c];
		break;
	case 2:
		if (p->r.sl)
			p->r.sl[pick(p, pairs)] = pick(p, 17);
		break;
	case 3:
		if (p->r.rank && p->f.n_channels)
			p->r.rank[pick(p, p->r.n_vls * p->f.n_channels)] += pick(p, 31) - 15;
		break;
	case 4:
		if (p->r.sl2vl)
			p->r.sl2vl[p->r.sl2vl_row[pick(p, p->f.n_switches)] + pick(p, 25 * 25)]
				  [pick(p, 16)] = pick(p, 16);
		break;
	case 5:
		if (p->r.mcast_parent)
			p->r.mcast_parent[pick(p, p->f.n_switches)] =
				pick(p, 9) ? pick(p, p->f.n_channels + 1) : OSR_NONE;
		break;
	case 6:
		p->r.claims ^= 1u << pick(p, 3);
		if (!(p->r.claims & OSR_CLAIM_DEADLOCK_FREE) || !p->r.rank)
			p->r.claims &= OSR_CLAIM_MINIMAL;
		break;
	}
}

static void test_random_changes(void **state)
{
	unsigned n_right = 0, n_wrong = 0;

	for (uint64_t seed = 0; seed < 4000; seed++) {
		struct osr_arena arena = { 0 };
		struct test_fabric t;
		struct patient p = { .t = &t, .arena = &arena, .seed = seed };

		test_fabric_random(&t, 2 + seed % 9, 1 + seed % 17, seed);
		p.f = t.f;
		table_make(seed % N_TABLE_KINDS, &t.f, &arena, seed, &p.r);
		for (unsigned i = seed % 3; t.f.n_dests && i < 3; i++)
			change(&p);
		if (agree(&t, &p.r, "changed at random"))
			n_right++;
		else
			n_wrong++;
		osr_arena_free(&arena);
		test_fabric_free(&t);
	}
	print_message("%u right, %u wrong\n", n_right, n_wrong);
	assert_true(n_right > 200 && n_wrong > 200);
}

/* Every allocation fails once: a sentence each time, and nothing stays behind. */
static void test_out_of_memory(void **state)
{
	for (unsigned kind = 0; kind < N_TABLE_KINDS; kind++) {
		struct osr_arena arena = { 0 }, scratch = { 0 };
		struct test_fabric t;
		struct osr_routing r;
		struct osr_verdict verdict;
		enum osr_status st = OSR_NOMEM;
		size_t n = 0;

		test_fabric_ring(&t, 6, 2);
		table_make(kind, &t.f, &arena, 1, &r);
		for (; st != OSR_OK; n++) {
			struct osr_diag diag = { 0 };

			scratch.fail_after = n + 1;
			st = osr_check(&t.f, &r, &scratch, &verdict, &diag);
			assert_true(st == OSR_OK || (st == OSR_NOMEM && diag.text[0]));
			assert_int_equal(scratch.in_use, 0);
			assert_true(n < 100);
		}
		assert_true(n > 10);
		osr_arena_free(&scratch);
		osr_arena_free(&arena);
		test_fabric_free(&t);
	}
}

/* What the engine osmroutes had checked, and then spoilt in one of these ways. */
static enum { SPOILT_NOT, SPOILT_ENTRY, SPOILT_CLAIMS, SPOILT_N } spoilt;

static enum osr_status spoiling_route(const struct osr_job *job)
{
	enum osr_status st = osr_engine_find("osmroutes")->route(job);

	if (!st && spoilt == SPOILT_ENTRY) /* a packet that has arrived leaves again */
		job->routing->lft[job->fabric->dest_switch[0]] =
			job->fabric->chan_port[job->fabric->chan_row[job->fabric->dest_switch[0]]];
	if (!st && spoilt == SPOILT_CLAIMS)
		job->routing->claims = 0;
	return st;
}

/* The sweep takes over what an engine has had checked, and notices when that is not what it gets. */
static void test_check_stands(void **state)
{
	struct osr_engine engine = *osr_engine_find("osmroutes");
	struct osr_values values;
	unsigned n_stand = 0;

	osr_values_default(&values, engine.params);
	engine.route = spoiling_route;
	for (unsigned i = 0; i < N_TEST_FABRICS; i++)
		for (spoilt = SPOILT_NOT; spoilt < SPOILT_N; spoilt++) {
			struct osr_arena scratch = { 0 }, arena = { 0 };
			struct osr_diag diag = { "" };
			struct osr_sweep sweep = { .routed = false };
			struct osr_result result;
			struct osr_verdict verdict;
			struct test_fabric t;
			struct osr_job job = { .engine = &engine,
					       .values = &values,
					       .request = { .max_vls = 8, .multicast = true },
					       .scratch = &scratch,
					       .arena = &arena,
					       .diag = &diag };
			enum osr_status st;

			test_fabric_named(&t, i);
			result = (struct osr_result){ .fabric = t.f };
			st = osr_sweep(&job, &result, &sweep);
			assert_true(st == OSR_OK || spoilt != SPOILT_NOT || !t.f.n_channels);
			if (t.f.n_channels && spoilt != SPOILT_NOT)
				assert_int_equal(st, OSR_CHECK_FAILED);
			if (!st && sweep.checked.load) {
				assert_int_equal(
					osr_check(&t.f, &result.routing, &scratch, &verdict, &diag),
					OSR_OK);
				assert_same_verdict(&verdict, &sweep.verdict);
				n_stand += result.load == sweep.checked.load;
			}
			osr_arena_free(&scratch);
			osr_arena_free(&arena);
			test_fabric_free(&t);
		}
	assert_true(n_stand > N_TEST_FABRICS / 2);
}

TEST_PROGRAM(test_right_tables, test_random_fabrics, test_large, test_dateline, test_ring_cycle,
	     test_cycle_modes, test_cycle_across_vls, test_mutants, test_random_changes,
	     test_out_of_memory, test_check_stands)
