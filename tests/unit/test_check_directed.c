/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Tables with one flaw each, made for one line of the checker or of the search for credit loops: without
 * that line they would pass, and random changes (test_check.c) seldom find it. Each table is shown to be right first,
 * without its flaw.
 */
#include "test.h"

#include <osmroutes/check.h>
#include "core/verify/union.h"

#include "fabrics.h"
#include "tables.h"

static struct osr_arena arena, scratch;

static enum osr_status check(const struct osr_fabric *f, const struct osr_routing *r,
			     struct osr_diag *diag)
{
	struct osr_verdict verdict;

	*diag = (struct osr_diag){ "" };
	return osr_check(f, r, &scratch, &verdict, diag);
}

static void accept(const struct osr_fabric *f, const struct osr_routing *r)
{
	struct osr_diag diag;

	if (check(f, r, &diag))
		fail_msg("refused: %s", diag.text);
}

static void refuse(const struct osr_fabric *f, const struct osr_routing *r, const char *says)
{
	struct osr_diag diag;

	assert_int_equal(check(f, r, &diag), OSR_CHECK_FAILED);
	if (!strstr(diag.text, says))
		fail_msg("\"%s\" does not say \"%s\"", diag.text, says);
}

static uint32_t channel(const struct osr_fabric *f, uint32_t from, uint32_t to)
{
	for (uint32_t c = f->chan_row[from]; c < f->chan_row[from + 1]; c++)
		if (f->chan_dst[c] == to)
			return c;
	fail();
	return OSR_NONE;
}

/* The LID of a host on switch s. */
static uint32_t host_dest(const struct osr_fabric *f, uint32_t s)
{
	for (uint32_t d = 0; d < f->n_dests; d++)
		if (f->dest_switch[d] == s && f->term_weight[f->dest_term[d]])
			return d;
	fail();
	return OSR_NONE;
}

/* ---- a funnel: A and B to C, on to D and R; hosts on A, B and R ------------------------------ */

enum { A, B, C, D, R };

static void funnel(struct test_fabric *t)
{
	struct draft d;

	draft_new(&d);
	for (unsigned s = 0; s < 5; s++)
		draft_switch(&d);
	draft_link(&d, A, C);
	draft_link(&d, B, C);
	draft_link(&d, C, D);
	draft_link(&d, D, R);
	draft_host(&d, A);
	draft_host(&d, B);
	draft_host(&d, R);
	draft_build(&d, t, "funnel");
}

/* Up/down on 3 VLs, all on SL 0, and nothing claimed but freedom of deadlock. */
static void funnel_routing(const struct test_fabric *t, struct osr_routing *r)
{
	table_make(TABLE_UPDOWN_SL, &t->f, &arena, 1, r);
	memset(r->sl, 0, (size_t)r->n_dests * r->n_switches);
	r->claims = OSR_CLAIM_DEADLOCK_FREE;
	r->mcast_parent = NULL;
}

static uint32_t *rank_of(const struct osr_fabric *f, struct osr_routing *r, unsigned vl,
			 uint32_t from, uint32_t to)
{
	return &r->rank[vl * f->n_channels + channel(f, from, to)];
}

/* On VL 1 packets must not go on from D to R. */
static void bar_vl1(const struct osr_fabric *f, struct osr_routing *r)
{
	uint32_t *near = rank_of(f, r, 1, C, D), *far = rank_of(f, r, 1, D, R), rank = *near;

	*near = *far;
	*far = rank;
}

/* SLs of all that arrive are followed on, not of the last one. */
static void test_sls_gather(void **state)
{
	for (unsigned from = A; from <= B; from++) {
		struct test_fabric t;
		struct osr_routing r;

		funnel(&t);
		funnel_routing(&t, &r);
		bar_vl1(&t.f, &r);
		accept(&t.f, &r);
		r.sl[(size_t)host_dest(&t.f, R) * 5 + from] = 1;
		refuse(&t.f, &r, "certificate");
		test_fabric_free(&t);
	}
}

/* SLs of earlier count, for packets and for replies to them, and must have a VL. */
static void test_granted(void **state)
{
	struct test_fabric t;
	struct osr_routing r;
	uint16_t *granted;
	uint32_t to_r, to_a;

	funnel(&t);
	funnel_routing(&t, &r);
	bar_vl1(&t.f, &r);
	to_r = host_dest(&t.f, R) * 5;
	to_a = host_dest(&t.f, A) * 5;
	granted = osr_calloc(&arena, (size_t)r.n_dests * 5, sizeof(*granted));
	r.granted = granted;
	accept(&t.f, &r);
	granted[to_r + A] = 1 << 1;
	refuse(&t.f, &r, "certificate");
	granted[to_r + A] = 0;

	granted[to_a + R] = 1 << 1;
	accept(&t.f, &r);
	r.claims |= OSR_CLAIM_REVERSIBLE;
	refuse(&t.f, &r, "certificate");
	granted[to_a + R] = 0;
	accept(&t.f, &r);

	granted[to_r + A] = 1 << 7;
	r.claims = 0;
	refuse(&t.f, &r, "beyond the 3 VLs");
	r.sl = NULL;
	refuse(&t.f, &r, "granted");
	test_fabric_free(&t);
}

static void funnel_sl2vl(const struct test_fabric *t, struct osr_routing *r)
{
	funnel_routing(t, r);
	r->n_vls = 2;
	memcpy(r->rank + t->f.n_channels, r->rank, t->f.n_channels * sizeof(*r->rank));
	assert_int_equal(osr_routing_alloc_sl2vl(r, &t->f, 0, &arena, NULL), OSR_OK);
}

/* The table of C for what comes from `from` and goes to D. */
static uint8_t *table_of_c(const struct osr_fabric *f, struct osr_routing *r, uint32_t from)
{
	uint32_t in = f->chan_port[channel(f, C, from)], out = f->chan_port[channel(f, C, D)];

	return r->sl2vl[r->sl2vl_row[C] + in * (f->sw_n_ports[C] + 1u) + out];
}

/* With SL2VL tables: all VLs that an SL comes on, all SLs that come by, equal ranks, and the sentence. */
static void test_sl2vl_gathers(void **state)
{
	for (unsigned from = A; from <= B; from++)
		for (unsigned by_sl = 0; by_sl < 2; by_sl++) {
			struct test_fabric t;
			struct osr_routing r;
			char says[80];

			funnel(&t);
			funnel_sl2vl(&t, &r);
			/* VL 1 from C to D may not be followed by VL 0 from D on. */
			*rank_of(&t.f, &r, 1, C, D) = *rank_of(&t.f, &r, 0, D, R);
			accept(&t.f, &r);
			if (by_sl) {
				table_of_c(&t.f, &r, A)[1] = table_of_c(&t.f, &r, B)[1] = 1;
				r.sl[(size_t)host_dest(&t.f, R) * 5 + from] = 1;
			} else {
				table_of_c(&t.f, &r, from)[0] = 1;
			}
			/* To the host, or to port 0 of its switch, whose LID comes before. */
			snprintf(says, sizeof(says), "LID %u: VL 1 from switch sw-%u port",
				 t.f.dest_lid[host_dest(&t.f, R)] - (by_sl ? 0 : 3), C);
			refuse(&t.f, &r, says);
			test_fabric_free(&t);
		}
}

/* SLs that one table tells apart stay so, whatever a later table says of them. */
static void test_sl2vl_kinds(void **state)
{
	struct test_fabric t;
	struct osr_routing r;
	uint32_t n_ports;
	uint8_t *unused;

	funnel(&t);
	funnel_sl2vl(&t, &r);
	*rank_of(&t.f, &r, 1, C, D) = *rank_of(&t.f, &r, 0, D, R);
	/* There SL 3 is as SL 0 is, and not as SL 1; between ports that nobody takes it is as SL 1. */
	for (unsigned from = A; from <= B; from++)
		table_of_c(&t.f, &r, from)[0] = table_of_c(&t.f, &r, from)[3] = 1;
	n_ports = t.f.sw_n_ports[4] + 1u;
	unused = r.sl2vl[r.sl2vl_row[4] + n_ports * n_ports - 1];
	unused[1] = unused[3] = 1;
	memset(r.sl, 1, (size_t)t.f.n_dests * 5);
	accept(&t.f, &r);
	r.sl[(size_t)host_dest(&t.f, R) * 5 + A] = 3;
	refuse(&t.f, &r, "VL 1 from switch sw-2 port");
	test_fabric_free(&t);
}

/* What port 0 of a switch answers joins what passes by. To port 0 of others it sends nothing: they are on SL 1. */
static void test_sl2vl_enters(void **state)
{
	struct test_fabric t;
	struct osr_routing r;

	funnel(&t);
	funnel_sl2vl(&t, &r);
	for (uint32_t d = 0; d < t.f.n_dests; d++)
		if (!t.f.term_weight[t.f.dest_term[d]])
			memset(r.sl + (size_t)d * 5, 1, 5);
	*rank_of(&t.f, &r, 1, C, D) = *rank_of(&t.f, &r, 0, D, R);
	accept(&t.f, &r);
	table_of_c(&t.f, &r, A)[0] = 1;
	refuse(&t.f, &r, "VL 1 from switch sw-2 port");
	table_of_c(&t.f, &r, A)[0] = 0;
	accept(&t.f, &r);
	/* On the last hop, to the host, there are no more lanes than elsewhere. */
	r.sl2vl[r.sl2vl_row[R] + t.f.chan_port[channel(&t.f, R, D)] * (t.f.sw_n_ports[R] + 1u) +
		osr_lft(&r, R, host_dest(&t.f, R))][0] = 2;
	refuse(&t.f, &r, "on VL 2, beyond the 2 VLs");
	test_fabric_free(&t);
}

/* What does not belong to the fabric, or lacks what it needs. */
static void test_shape(void **state)
{
	struct osr_generation gen = { .routing = NULL };
	struct test_fabric t;
	struct osr_routing r, bad;
	struct osr_loop loop;

	funnel(&t);
	funnel_sl2vl(&t, &r);
	r.claims = 0;
	accept(&t.f, &r);
	bad = r;
	bad.n_switches--;
	refuse(&t.f, &bad, "another fabric");
	gen.routing = &bad;
	assert_int_equal(osr_union_loop(&t.f, &gen, 1, 0, &scratch, &arena, &loop, NULL, NULL),
			 OSR_INVAL);
	bad = r;
	bad.n_channels--;
	refuse(&t.f, &bad, "another fabric");
	bad = r;
	bad.sl2vl_row = NULL;
	refuse(&t.f, &bad, "belong to no switch");
	bad = r;
	bad.granted = osr_calloc(&arena, (size_t)r.n_dests * 5, sizeof(*bad.granted));
	refuse(&t.f, &bad, "granted");
	for (unsigned sl = 0; sl < 16; sl += 15) {
		bad = r;
		bad.sl = NULL;
		accept(&t.f, &bad);
		bad.ca_sl2vl[sl] = 2;
		refuse(&t.f, &bad, "their SL2VL tables map");
	}
	r.sl[(size_t)host_dest(&t.f, R) * 5 + A] = 255;
	refuse(&t.f, &r, "SL 255");
	test_fabric_free(&t);
}

/* ---- multicast, on a VL of its own ---------------------------------------------------------- */

/* Unicast on VL 0, multicast on VL 1, everybody's parent the next switch towards `root`. */
static void mcast_routing(const struct test_fabric *t, uint32_t root, struct osr_routing *r)
{
	const struct osr_fabric *f = &t->f;

	funnel_routing(t, r);
	r->claims |= OSR_CLAIM_MULTICAST;
	r->mcast_vl = 1;
	r->mcast_parent = osr_alloc(&arena, f->n_switches, sizeof(*r->mcast_parent));
	for (uint32_t s = 0; s < f->n_switches; s++)
		r->mcast_parent[s] =
			s == root ? OSR_NONE
				  : osr_port_channel(f, s, osr_lft(r, s, host_dest(f, root)));
}

/*
 * Three links meet at the root. Copies leave by each of them below what comes by the others: by the link
 * of the highest arrival the second highest counts, in whatever order they are looked at.
 */
static void test_mcast_arrivals(void **state)
{
	static const uint32_t order[6][3] = { { 10, 11, 12 }, { 10, 12, 11 }, { 11, 10, 12 },
					      { 11, 12, 10 }, { 12, 10, 11 }, { 12, 11, 10 } };

	for (unsigned i = 0; i < 6; i++) {
		struct test_fabric t;
		struct osr_routing r;
		struct draft d;

		draft_new(&d);
		for (unsigned s = 0; s < 4; s++)
			draft_switch(&d);
		for (unsigned s = 1; s < 4; s++)
			draft_link(&d, 0, s);
		for (unsigned s = 0; s < 4; s++)
			draft_host(&d, s);
		draft_build(&d, &t, "star");
		mcast_routing(&t, 0, &r);
		for (unsigned s = 1; s < 4; s++) {
			*rank_of(&t.f, &r, 1, s, 0) = order[i][s - 1];
			*rank_of(&t.f, &r, 1, 0, s) = 20 + s;
		}
		accept(&t.f, &r);
		for (unsigned s = 1; s < 4; s++) {
			uint32_t *down = rank_of(&t.f, &r, 1, 0, s);

			/* The highest that comes by another link. */
			*down = order[i][s - 1] == 12 ? 11 : 12;
			refuse(&t.f, &r, "certificate");
			*down += 1;
			accept(&t.f, &r);
			*down = 20 + s;
		}
		test_fabric_free(&t);
	}
}

/* A line: packets come from below and from above, and it may be long. */
static void test_mcast_line(void **state)
{
	enum { N = 12 };
	struct test_fabric t;
	struct osr_routing r;
	struct draft d;
	uint32_t rank;

	draft_new(&d);
	for (unsigned s = 0; s < N; s++) {
		draft_switch(&d);
		if (s)
			draft_link(&d, s - 1, s);
	}
	for (unsigned s = 0; s < N; s++)
		draft_host(&d, s);
	draft_build(&d, &t, "line");
	mcast_routing(&t, N - 1, &r);
	for (unsigned s = 0; s + 1 < N; s++) {
		*rank_of(&t.f, &r, 1, s, s + 1) = s;
		*rank_of(&t.f, &r, 1, s + 1, s) = 2 * N - s;
	}
	accept(&t.f, &r);
	rank = *rank_of(&t.f, &r, 1, 4, 5);
	*rank_of(&t.f, &r, 1, 4, 5) = *rank_of(&t.f, &r, 1, 3, 4); /* up */
	refuse(&t.f, &r, "certificate");
	*rank_of(&t.f, &r, 1, 4, 5) = rank;
	*rank_of(&t.f, &r, 1, 4, 3) = *rank_of(&t.f, &r, 1, 5, 4); /* down */
	refuse(&t.f, &r, "certificate");
	test_fabric_free(&t);
}

static uint8_t *turn(const struct osr_fabric *f, struct osr_routing *r, uint32_t from, uint32_t at,
		     uint32_t to)
{
	uint32_t in = f->chan_port[channel(f, at, from)], out = f->chan_port[channel(f, at, to)];

	return r->sl2vl[r->sl2vl_row[at] + in * (f->sw_n_ports[at] + 1u) + out];
}

/*
 * A ring of four, any SL: unicast turns at switches 0 and 3 alone, on VL 0; multicast runs along 0-1-2-3
 * and turns at 1 and 2, to VL 1.
 */
static void any_sl_ring(struct test_fabric *t, struct osr_routing *r)
{
	static const uint32_t way[4][4] = {
		{ 0, 1, 3, 3 }, { 0, 1, 2, 0 }, { 3, 1, 2, 3 }, { 0, 0, 2, 3 }
	};
	static const uint32_t rank[4][3] = { { 1, 0, 1 }, { 0, 3, 2 }, { 3, 2, 3 }, { 2, 3, 1 } };

	test_fabric_ring(t, 4, 1);
	table_make(TABLE_SHORTEST, &t->f, &arena, 1, r);
	r->n_vls = 2;
	r->claims = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	r->rank = osr_calloc(&arena, 2 * (size_t)t->f.n_channels, sizeof(*r->rank));
	r->mcast_parent = osr_alloc(&arena, 4, sizeof(*r->mcast_parent));
	assert_int_equal(osr_routing_alloc_sl2vl(r, &t->f, 0, &arena, NULL), OSR_OK);
	for (uint32_t s = 0; s < 4; s++) {
		r->mcast_parent[s] = s ? channel(&t->f, s, s - 1) : OSR_NONE;
		*rank_of(&t->f, r, 0, rank[s][0], rank[s][1]) = rank[s][2];
		for (uint32_t d = 0; d < t->f.n_dests; d++)
			if (t->f.dest_switch[d] != s)
				r->lft[(size_t)d * 4 + s] = t->f.chan_port[channel(
					&t->f, s, way[s][t->f.dest_switch[d]])];
	}
	*rank_of(&t->f, r, 0, 3, 0) = 2;
	*rank_of(&t->f, r, 0, 0, 1) = 3;
	*rank_of(&t->f, r, 0, 1, 2) = *rank_of(&t->f, r, 0, 2, 1) = 1;
	*rank_of(&t->f, r, 1, 2, 1) = *rank_of(&t->f, r, 1, 1, 2) = 10;
	*rank_of(&t->f, r, 1, 1, 0) = *rank_of(&t->f, r, 1, 2, 3) = 20;
	memset(turn(&t->f, r, 0, 1, 2), 1, 16);
	memset(turn(&t->f, r, 2, 1, 0), 1, 16);
	memset(turn(&t->f, r, 1, 2, 3), 1, 16);
	memset(turn(&t->f, r, 3, 2, 1), 1, 16);
}

/* Multicast's VLs on a link are those it has by the tables of the switch behind, and must exist. */
static void test_mcast_tables(void **state)
{
	struct test_fabric t;
	struct osr_routing r;

	any_sl_ring(&t, &r);
	accept(&t.f, &r);
	*rank_of(&t.f, &r, 1, 2, 1) = 20;
	refuse(&t.f, &r, "multicast: VL 1 from switch");
	*rank_of(&t.f, &r, 1, 2, 1) = 10;
	turn(&t.f, &r, 2, 1, 0)[7] = 2;
	refuse(&t.f, &r, "multicast on SL 7 leaves");
	turn(&t.f, &r, 2, 1, 0)[7] = 1;
	/* One SL alone that comes on VL 1 from the switch before. */
	*rank_of(&t.f, &r, 0, 2, 1) = 10;
	for (unsigned sl = 0; sl < 16; sl++) {
		memset(turn(&t.f, &r, 3, 2, 1), 0, 16);
		turn(&t.f, &r, 3, 2, 1)[sl] = 1;
		accept(&t.f, &r);
		*rank_of(&t.f, &r, 1, 2, 1) = 20;
		refuse(&t.f, &r, "multicast: VL 1 from switch");
		*rank_of(&t.f, &r, 1, 2, 1) = 10;
	}
	test_fabric_free(&t);
}

/* ---- credit loops --------------------------------------------------------------------------- */

enum { RING = 4, LAST = 2 * RING };

static void set_route(const struct osr_fabric *f, struct osr_routing *r, uint32_t d, uint32_t s,
		      uint32_t next)
{
	r->lft[(size_t)d * f->n_switches + s] = f->chan_port[channel(f, s, next)];
}

/*
 * The switch numbered last enters a ring of four by four switches without hosts. On the SLs of the others
 * each LID is alone, so none of them closes the ring; what the last switch sends does, once it has been
 * followed past its first two channels.
 */
static void test_last_switch(void **state)
{
	struct osr_generation gen;
	struct test_fabric t;
	struct osr_routing r;
	struct osr_loop loop;
	struct draft draft;

	draft_new(&draft);
	for (unsigned s = 0; s <= LAST; s++)
		draft_switch(&draft);
	for (unsigned i = 0; i < RING; i++) {
		draft_link(&draft, i, (i + 1) % RING);
		draft_link(&draft, i, RING + i);
		draft_link(&draft, RING + i, LAST);
		draft_host(&draft, i);
	}
	draft_host(&draft, LAST);
	draft_build(&draft, &t, "ring with a late sender");
	table_make(TABLE_UPDOWN_SL, &t.f, &arena, 1, &r);
	for (uint32_t d = 0; d < t.f.n_dests; d++) {
		uint32_t to = t.f.dest_switch[d];
		bool ring = to < RING && t.f.term_weight[t.f.dest_term[d]];

		memset(r.sl + (size_t)d * t.f.n_switches, ring ? to : 6, t.f.n_switches);
		for (uint32_t i = 0; i < RING; i++) {
			if (i != to)
				set_route(&t.f, &r, d, i, RING + i);
			if (RING + i != to)
				set_route(&t.f, &r, d, RING + i, i == to ? i : (uint32_t)LAST);
		}
		if (to != LAST)
			set_route(&t.f, &r, d, LAST, to < RING ? RING + to : to);
		if (!ring)
			continue;
		r.sl[(size_t)d * t.f.n_switches + LAST] = 5;
		set_route(&t.f, &r, d, LAST, RING + (to + 2) % RING);
		for (uint32_t i = 0; i < RING; i++)
			set_route(&t.f, &r, d, RING + i, i);
		set_route(&t.f, &r, d, (to + 2) % RING, (to + 3) % RING);
		set_route(&t.f, &r, d, (to + 3) % RING, to);
		set_route(&t.f, &r, d, (to + 1) % RING, to);
	}
	gen = (struct osr_generation){ .routing = &r };
	assert_int_equal(osr_union_loop(&t.f, &gen, 1, 0, &scratch, &arena, &loop, NULL, NULL),
			 OSR_OK);
	assert_int_equal(loop.n, RING);
	for (uint32_t i = 0; i < loop.n; i++)
		assert_int_equal(loop.step[i].vl, 5);
	test_fabric_free(&t);
}

static int tear_down(void **state)
{
	osr_arena_free(&arena);
	osr_arena_free(&scratch);
	return 0;
}

TEST_PROGRAM_THEN(tear_down, test_sls_gather, test_granted, test_sl2vl_gathers, test_sl2vl_kinds,
		  test_sl2vl_enters, test_shape, test_mcast_arrivals, test_mcast_line,
		  test_mcast_tables, test_last_switch)
