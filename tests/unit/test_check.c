/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The checker against a judge that follows every packet by itself: on right tables, and on tables changed at
 * random, and spoilt by hand. All small tables: test_check_all.c; a second checker: test_gate.c.
 */
#include "test.h"

#include <osmroutes/check.h>
#include <osmroutes/sweep.h>

#include "core/verify/union.h"

#include "fabrics.h"
#include "tables.h"

static void assert_same_verdict(const struct osr_verdict *a, const struct osr_verdict *b)
{
	assert_int_equal(a->proven, b->proven);
	assert_int_equal(a->n_routes, b->n_routes);
	assert_int_equal(a->n_longer, b->n_longer);
	assert_int_equal(a->n_no_path, b->n_no_path);
	assert_int_equal(a->max_hops, b->max_hops);
	assert_int_equal(a->efi, b->efi);
	assert_int_equal(a->efi_all, b->efi_all);
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
		assert_int_equal(verdict.proven, 0);
	}
	osr_arena_free(&scratch);
	return right;
}

/* --- changes at random ------------------------------------------------------------------------ */

struct patient {
	struct test_fabric *t;
	struct osr_fabric f; /* may be changed, arrays copied */
	struct osr_routing r;
	struct osr_arena *arena;
	uint64_t seed;
	bool tight; /* ranks are as low as can be */
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

/* A random change of anything, right or wrong. */
static void change(struct patient *p)
{
	size_t pairs = (size_t)p->f.n_dests * p->f.n_switches;
	uint32_t d, s, c;

	switch (pick(p, 11)) {
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
			p->r.sl[pick(p, pairs)] = pick(p, 8) ? pick(p, 17) : 255;
		break;
	case 3:
		if (p->r.rank && p->f.n_channels)
			p->r.rank[pick(p, p->r.n_vls * p->f.n_channels)] +=
				p->tight ? 2 * pick(p, 2) - 1 : pick(p, 31) - 15;
		break;
	case 4:
		if (!p->r.sl2vl || !p->f.n_channels)
			break;
		if (!pick(p, 4)) {
			p->r.ca_sl2vl[pick(p, 16)] = pick(p, p->r.n_vls + 1u);
			break;
		}
		/* What comes by this cable, and goes to a LID of this switch or to any port. */
		c = pick(p, p->f.n_channels);
		s = p->f.chan_dst[c];
		d = pick(p, p->f.n_dests);
		p->r.sl2vl[p->r.sl2vl_row[s] +
			   p->f.chan_port[p->f.chan_rev[c]] * (p->f.sw_n_ports[s] + 1u) +
			   (p->f.dest_switch[d] == s ? p->f.term_port[p->f.dest_term[d]]
						     : pick(p, p->f.sw_n_ports[s] + 1u))]
			  [pick(p, 16)] = pick(p, pick(p, 2) ? 16 : p->r.n_vls + 1u);
		break;
	case 5:
		if (p->r.mcast_parent)
			p->r.mcast_parent[pick(p, p->f.n_switches)] =
				pick(p, 9) ? pick(p, p->f.n_channels + 1) : OSR_NONE;
		break;
	case 6:
		p->r.claims ^= 1u << pick(p, 6);
		break;
	case 7: /* a cable with fewer VLs */
		if (p->f.n_channels)
			((uint8_t *)p->f.chan_vls)[pick(p, p->f.n_channels)] = 1 + pick(p, 3);
		break;
	case 8:
		p->r.n_vls = pick(p, p->r.n_vls + 1u);
		break;
	case 9:
		p->r.mcast_vl = pick(p, p->r.n_vls + 2u);
		break;
	case 10: /* SLs of earlier, which belong to tables with SLs alone */
		if (!p->r.granted && (p->r.sl || !pick(p, 4)))
			p->r.granted = osr_calloc(p->arena, pairs + 1, sizeof(*p->r.granted));
		if (p->r.granted && pairs)
			((uint16_t *)p->r.granted)[pick(p, pairs)] |=
				(uint16_t)(1u << pick(p, p->r.n_vls + 1u));
		break;
	}
}

/*
 * Named and random fabrics, rings with datelines, and some of more than one batch of 64 searches; tables of every kind,
 * as they are or with up to three changes. Of every other one ranks are as low as can be: each line of the checker
 * that compares them is decisive somewhere.
 */
static void draw_case(struct patient *p, unsigned i)
{
	struct test_fabric *t = p->t;
	size_t n_pairs;

	if (i % 50 < N_TEST_FABRICS)
		test_fabric_named(t, i % 50);
	else if (i % 50 == 49)
		test_fabric_ring(t, 3 + i / 50 % 9, 1);
	else if (i % 1000 == 997)
		test_fabric_random(t, 150, 260, i);
	else
		test_fabric_random(t, 2 + i % 9, 1 + i % 17, i);
	p->f = t->f;
	n_pairs = (size_t)p->f.n_dests * p->f.n_switches;
	if (i % 50 == 49)
		table_dateline(&t->f, p->arena, &p->r);
	else
		table_make(i % N_TABLE_KINDS, &t->f, p->arena, i, &p->r);
	/* SLs that most tables do not tell apart; few packets that are not on VL 0: what brings them together matters. */
	for (size_t k = 0; p->r.sl2vl && k < osr_n_sl2vl(&t->f) * 16; k++) {
		if (i / 100 % 2 && k % 16 > 1)
			p->r.sl2vl[k / 16][k % 16] = p->r.sl2vl[k / 16][k % 2];
		if (i / 200 % 2 && pick(p, 8))
			p->r.sl2vl[k / 16][k % 16] = 0;
	}
	/* The same with SL 0. */
	for (size_t k = 0; p->r.sl && i / 200 % 2 && i % 50 != 49 && k < n_pairs; k++)
		p->r.sl[k] = pick(p, 8) ? 0 : p->r.sl[k];
	/* An SL of earlier, which nothing else has but replies. */
	if (i % N_TABLE_KINDS == TABLE_UPDOWN_SL && i / 400 % 2 && i % 50 != 49) {
		uint16_t *granted = osr_calloc(p->arena, n_pairs + 1, sizeof(*granted));

		for (size_t k = 0; k < n_pairs; k++) {
			p->r.sl[k] %= 2;
			granted[k] = pick(p, 8) ? 0 : 1 << 2;
		}
		p->r.granted = granted;
	}
	/* One graph for all lanes, although there are SLs. */
	if (i % N_TABLE_KINDS == TABLE_UPDOWN_SL && i / 50 % 4 == 3)
		p->r.claims |= OSR_CLAIM_ANY_SL;
	p->tight = i / 50 % 2 && p->r.rank;
	if (p->tight)
		table_tighten(&t->f, &p->r);
}

/* Of ranks that are as low as can be none may be one less: each dependency that the judge knows is looked at. */
static void refuse_one_less(const struct patient *p)
{
	struct osr_arena scratch = { 0 };
	struct osr_verdict verdict;

	for (uint32_t i = 0; i < p->r.n_vls * p->f.n_channels; i++)
		if (p->r.rank[i]) {
			p->r.rank[i]--;
			if (!osr_check(&p->f, &p->r, &scratch, &verdict, NULL))
				fail_msg("%s: channel %u of VL %u may be one less", p->t->name,
					 i % p->f.n_channels, i / p->f.n_channels);
			p->r.rank[i]++;
		}
	osr_arena_free(&scratch);
}

static void test_agree(void **state)
{
	unsigned n_right = 0, n_wrong = 0;

	for (unsigned i = 0; i < test_number("OSR_CASES", 14000); i++) {
		unsigned n_changes = test_random(&(uint64_t){ i }) % 4;
		struct osr_arena arena = { 0 };
		struct test_fabric t;
		struct patient p = { .t = &t, .arena = &arena, .seed = i };

		draw_case(&p, i);
		if (p.tight && p.f.n_channels < 40 && i % (p.r.sl2vl ? 3 : 8) == 0)
			refuse_one_less(&p);
		for (unsigned k = 0; t.f.n_dests && k < n_changes; k++)
			change(&p);
		if (agree(&t, &p.r, "changed at random"))
			n_right++;
		else
			n_wrong++;
		assert_true(n_changes || n_right);
		osr_arena_free(&arena);
		test_fabric_free(&t);
	}
	print_message("%u right, %u wrong\n", n_right, n_wrong);
	assert_true(n_right > 200 && n_wrong > 200);
}

/* What the engine osmroutes had checked, and then spoilt in one of these ways. */
static enum { SPOILT_NOT, SPOILT_ENTRY, SPOILT_CLAIMS, SPOILT_N } spoilt;

static enum osr_status spoiling_route(const struct osr_job *job)
{
	enum osr_status st = osr_engine_find("osmroutes")->route(job);

	if (!st && spoilt == SPOILT_ENTRY &&
	    job->fabric->n_channels) /* a switch beside that of the LID drops its packets */
		job->routing->lft[job->fabric->chan_dst
					  [job->fabric->chan_row[job->fabric->dest_switch[0]]]] =
			OSR_NO_PATH;
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

/* --- by hand ---------------------------------------------------------------------------------- */

static struct osr_arena arena, scratch;

static void refuse(const struct osr_fabric *f, const struct osr_routing *r, const char *says)
{
	struct osr_diag diag = { "" };
	struct osr_verdict verdict;

	assert_int_equal(osr_check(f, r, &scratch, &verdict, &diag),
			 *says ? OSR_CHECK_FAILED : OSR_OK);
	if (*says && !strstr(diag.text, says))
		fail_msg("\"%s\" does not say \"%s\"", diag.text, says);
}

static void accept(const struct osr_fabric *f, const struct osr_routing *r)
{
	refuse(f, r, "");
}

static uint32_t channel(const struct osr_fabric *f, uint32_t from, uint32_t to)
{
	for (uint32_t c = f->chan_row[from]; c < f->chan_row[from + 1]; c++)
		if (f->chan_dst[c] == to)
			return c;
	fail();
	return OSR_NONE;
}

/*
 * Three switches in a row, hosts at both ends: packets for the LIDs of the last one alone wait in sw-1 for the cable to it.
 * The sentence names the first of these LIDs, the VL and both cables. By SL, and by SL2VL tables.
 */
static void test_sentence(void **state)
{
	for (unsigned kind = TABLE_UPDOWN_SL; kind <= TABLE_UPDOWN_SL2VL; kind++) {
		struct test_fabric t;
		struct osr_routing r;
		struct draft d;
		char says[80];

		draft_new(&d);
		for (unsigned s = 0; s < 3; s++)
			draft_switch(&d);
		draft_link(&d, 0, 1);
		draft_link(&d, 1, 2);
		draft_host(&d, 0);
		draft_host(&d, 2);
		draft_build(&d, &t, "row of 3");
		table_make(kind, &t.f, &arena, 1, &r);
		memset(r.sl, 0, (size_t)r.n_dests * 3);
		for (size_t i = 0; r.sl2vl && i < osr_n_sl2vl(&t.f); i++)
			r.sl2vl[i][0] = 1;
		accept(&t.f, &r);
		for (unsigned vl = 0; vl < r.n_vls; vl++)
			r.rank[vl * t.f.n_channels + channel(&t.f, 1, 2)] = 0;
		snprintf(says, sizeof(says),
			 "LID 3: VL %u from switch sw-0 port 1 goes on as VL %u from switch sw-1 "
			 "port 2",
			 kind == TABLE_UPDOWN_SL2VL, kind == TABLE_UPDOWN_SL2VL);
		refuse(&t.f, &r, says);
		test_fabric_free(&t);
	}
}

/* What does not belong to the fabric, or lacks what it needs. */
static void test_shape(void **state)
{
	struct osr_generation gen = { .routing = NULL };
	struct osr_routing r, bad;
	struct test_fabric t;
	struct osr_loop loop;

	test_fabric_ring(&t, 5, 1);
	table_make(TABLE_UPDOWN_SL2VL, &t.f, &arena, 1, &r);
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
		bad.ca_sl2vl[sl] = 3;
		refuse(&t.f, &bad, "their SL2VL tables map");
	}
	memset(r.sl, 255, (size_t)r.n_dests * 5);
	refuse(&t.f, &r, "SL 255");
	test_fabric_free(&t);
}

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

TEST_PROGRAM_THEN(tear_down, test_agree, test_check_stands, test_sentence, test_shape,
		  test_last_switch)
