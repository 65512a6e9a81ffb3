/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Credit loops of one generation and of two must be those of a judge that lets every packet take every
 * turn on its own, and every turn that the judge knows must rise in the certificate.
 */
#include "test.h"

#include "core/verify/union.h"

#include "fabrics.h"
#include "tables.h"

#define MAX_CHANNELS 64 /* of fabrics that the judge looks at */
#define N_VERTICES (MAX_CHANNELS * OSR_MAX_VLS)

/* ---- the judge ------------------------------------------------------------------------------ */

static struct judge {
	const struct osr_fabric *f;
	const struct osr_generation *gen;
	uint32_t n, modes;
	bool dep[N_VERTICES][N_VERTICES];
	bool been[MAX_CHANNELS][OSR_MAX_VLS];
} judge;

static unsigned vl_of(uint32_t g, uint32_t s, unsigned in, unsigned out, unsigned sl)
{
	const struct osr_routing *r = judge.gen[g].routing;

	if (!r->sl2vl)
		return sl;
	return r->sl2vl[r->sl2vl_row[s] + in * (judge.f->sw_n_ports[s] + 1u) + out][sl];
}

static uint32_t vertex(uint32_t c, unsigned vl)
{
	return c * OSR_MAX_VLS + vl;
}

/* A packet of this SL for dest d is on (c, vl): where may it go on? */
static void walk(uint32_t d, unsigned sl, uint32_t c, unsigned vl)
{
	const struct osr_fabric *f = judge.f;
	uint32_t s = f->chan_dst[c];

	if (judge.been[c][vl])
		return;
	judge.been[c][vl] = true;
	for (uint32_t g = 0; g < judge.n; g++)
		for (uint32_t h = 0; h < judge.n; h++) {
			uint32_t on = osr_port_channel(f, s, osr_lft(judge.gen[g].routing, s, d));
			unsigned to;

			if (on == OSR_NONE)
				continue;
			to = vl_of(h, s, f->chan_port[f->chan_rev[c]], f->chan_port[on], sl);
			if (to >= OSR_MAX_VLS)
				continue;
			judge.dep[vertex(c, vl)][vertex(on, to)] = true;
			walk(d, sl, on, to);
		}
}

/* An end port on switch s sends a packet of this SL to dest d. */
static void send(uint32_t d, unsigned sl, uint32_t s)
{
	const struct osr_fabric *f = judge.f;

	for (uint32_t g = 0; g < judge.n; g++)
		for (uint32_t h = 0; h < judge.n; h++) {
			uint32_t c = osr_port_channel(f, s, osr_lft(judge.gen[g].routing, s, d));

			if (c == OSR_NONE)
				continue;
			for (unsigned in = 0; in <= f->sw_n_ports[s]; in++) {
				bool end = in == 0;
				unsigned vl;

				for (uint32_t t = 0; t < f->n_terminals; t++)
					end |= f->term_switch[t] == s && f->term_port[t] == in;
				vl = vl_of(h, s, in, f->chan_port[c], sl);
				if (!end || vl >= OSR_MAX_VLS)
					continue;
				memset(judge.been, 0, sizeof(judge.been));
				walk(d, sl, c, vl);
			}
		}
}

static bool is_host(uint32_t d)
{
	return judge.f->term_weight[judge.f->dest_term[d]];
}

static void send_paths(const struct osr_paths *p, uint32_t d)
{
	const struct osr_fabric *f = judge.f;
	uint32_t a = f->dest_term[d];

	for (uint32_t b = 0; b < f->n_terminals; b++) {
		unsigned sl = p->row[b] == OSR_NONE ? OSR_NO_SL : p->sl[p->row[b] * f->n_dests + d];

		if (sl < 16 && (is_host(d) || f->term_weight[b]))
			send(d, sl, f->term_switch[b]);
	}
	if (!(judge.modes & OSR_CLAIM_REVERSIBLE) || !is_host(d) || p->row[a] == OSR_NONE)
		return;
	for (uint32_t x = 0; x < f->n_dests; x++) {
		unsigned sl = p->sl[p->row[a] * f->n_dests + x];

		if (sl < 16)
			send(d, sl, f->dest_switch[x]);
	}
}

/* On the SL of this pair, and on those that path records gave earlier. */
static void send_pair(const struct osr_routing *r, size_t pair, uint32_t d, uint32_t s)
{
	send(d, r->sl[pair], s);
	for (unsigned sl = 0; r->granted && sl < 16; sl++)
		if (r->granted[pair] >> sl & 1)
			send(d, sl, s);
}

static void send_by_switch(const struct osr_routing *r, uint32_t d)
{
	const struct osr_fabric *f = judge.f;
	uint32_t n = f->n_switches;

	for (uint32_t s = 0; s < n; s++) {
		if (is_host(d) || f->sw_sources[s])
			send_pair(r, d * n + s, d, s);
		/* What d's switch asks of switch s is answered on the same SL. */
		for (uint32_t x = 0; (judge.modes & OSR_CLAIM_REVERSIBLE) && x < f->n_dests; x++)
			if (is_host(d) && f->dest_switch[x] == s &&
			    f->sw_sources[f->dest_switch[d]] &&
			    (judge.n > 1 || osr_lft(r, f->dest_switch[d], x) != OSR_NO_PATH))
				send_pair(r, x * n + f->dest_switch[d], d, s);
	}
}

/* Does this generation send the group's packets out of this port? The tables of a group, by MLID. */
static bool group_has(uint32_t g, uint16_t mlid, uint32_t s, unsigned port)
{
	const struct osr_groups *m = judge.gen[g].groups;

	for (uint32_t i = 0; m && i < m->n; i++)
		if (m->mlid[i] == mlid)
			return m->ports[i * judge.f->n_switches + s][port / 64] >> port % 64 & 1;
	return false;
}

static bool in_group(uint16_t mlid, uint32_t c)
{
	bool in = false;

	for (uint32_t g = 0; g < judge.n; g++)
		in |= group_has(g, mlid, judge.f->chan_src[c], judge.f->chan_port[c]);
	return in;
}

/* Is this a link of the generation's spanning order, which counts where it has no groups? */
static bool in_order(uint32_t g, uint32_t c)
{
	const uint32_t *parent = judge.gen[g].routing->mcast_parent;

	return parent && !judge.gen[g].groups &&
	       (parent[judge.f->chan_src[c]] == c ||
		parent[judge.f->chan_dst[c]] == judge.f->chan_rev[c]);
}

/* One link of the trees: mlid 0 means the spanning orders. */
static bool in_tree(uint16_t mlid, uint32_t c)
{
	bool in = false;

	for (uint32_t g = 0; g < judge.n && !mlid; g++)
		in |= in_order(g, c);
	return in || (mlid && in_group(mlid, c));
}

static bool end_port(uint32_t s, unsigned port)
{
	for (uint32_t t = 0; t < judge.f->n_terminals; t++)
		if (judge.f->term_switch[t] == s && judge.f->term_port[t] == port)
			return true;
	return port == 0;
}

/* A packet that came by port `in` leaves switch s by channel c, and by another link at the next switch. */
static void copy_on(uint16_t mlid, unsigned sl, unsigned in, uint32_t c, uint32_t on)
{
	const struct osr_fabric *f = judge.f;
	uint32_t s = f->chan_src[c], next = f->chan_dst[c];

	for (uint32_t g = 0; g < judge.n; g++)
		for (uint32_t h = 0; h < judge.n; h++) {
			unsigned vl = vl_of(g, s, in, f->chan_port[c], sl);
			unsigned to =
				vl_of(h, next, f->chan_port[f->chan_rev[c]], f->chan_port[on], sl);

			if (vl < OSR_MAX_VLS && to < OSR_MAX_VLS)
				judge.dep[vertex(c, vl)][vertex(on, to)] = true;
		}
}

/* Copies on this SL that come to c from anywhere and go on by `on`. */
static void copy_from_all(uint16_t mlid, unsigned sl, uint32_t c, uint32_t on)
{
	const struct osr_fabric *f = judge.f;
	uint32_t s = f->chan_src[c];

	for (unsigned in = 0; in <= f->sw_n_ports[s]; in++) {
		uint32_t back = osr_port_channel(f, s, in);

		if (in != f->chan_port[c] &&
		    (back == OSR_NONE ? end_port(s, in) : in_tree(mlid, f->chan_rev[back])))
			copy_on(mlid, sl, in, c, on);
	}
}

static bool judge_any_sl(uint32_t g)
{
	return (judge.modes & OSR_CLAIM_ANY_SL) ||
	       (!judge.gen[g].paths && !judge.gen[g].routing->sl);
}

/* Where lanes do not change, nothing changes them at the border of two generations. */
static bool lanes_stay(void)
{
	return !judge.gen[0].routing->sl2vl && !judge.gen[judge.n - 1].routing->sl2vl;
}

/* Is multicast of this generation on a VL of its own? */
static bool has_vl(uint32_t g)
{
	const struct osr_generation *gen = &judge.gen[g];

	return !gen->groups && gen->routing->mcast_parent && !judge_any_sl(g);
}

static void send_copies(void)
{
	const struct osr_fabric *f = judge.f;

	for (uint32_t c = 0; c < f->n_channels; c++)
		for (uint32_t on = f->chan_row[f->chan_dst[c]];
		     on < f->chan_row[f->chan_dst[c] + 1]; on++) {
			if (on == f->chan_rev[c])
				continue;
			for (uint32_t g = 0; g < judge.n; g++) {
				const struct osr_groups *m = judge.gen[g].groups;
				const struct osr_routing *r = judge.gen[g].routing;

				for (uint32_t i = 0; m && i < m->n; i++)
					if (in_group(m->mlid[i], c) && in_group(m->mlid[i], on))
						copy_from_all(m->mlid[i], m->sl, c, on);
				/* The spanning order, on its VL or on any SL. */
				if (m || !r->mcast_parent || !in_tree(0, c) || !in_tree(0, on))
					continue;
				for (unsigned sl = 0; judge_any_sl(g) && sl < 16; sl++)
					copy_from_all(0, sl, c, on);
				for (uint32_t h = 0; !judge_any_sl(g) && h < judge.n; h++)
					if (has_vl(h) && (h == g || !lanes_stay()))
						judge.dep[vertex(c, r->mcast_vl)][vertex(
							on, judge.gen[h].routing->mcast_vl)] = true;
			}
		}
}

static void send_all(void)
{
	const struct osr_fabric *f = judge.f;

	for (uint32_t g = 0; g < judge.n; g++)
		for (uint32_t d = 0; d < f->n_dests; d++) {
			const struct osr_generation *gen = &judge.gen[g];

			if (!(judge.modes & OSR_CLAIM_ANY_SL) && gen->paths) {
				send_paths(gen->paths, d);
				continue;
			}
			if (!(judge.modes & OSR_CLAIM_ANY_SL) && gen->routing->sl) {
				send_by_switch(gen->routing, d);
				continue;
			}
			for (uint32_t s = 0; s < f->n_switches; s++)
				for (unsigned sl = 0; sl < 16; sl++)
					if (is_host(d) || f->sw_sources[s])
						send(d, sl, s);
		}
}

/* Vertices that nothing waits for go, until none is left or a cycle is. */
static bool judge_has_cycle(void)
{
	static bool gone[N_VERTICES];
	uint32_t n = judge.f->n_channels * OSR_MAX_VLS, left = n;
	bool changed = true;

	memset(gone, 0, sizeof(gone));
	while (changed) {
		changed = false;
		for (uint32_t v = 0; v < n; v++) {
			bool waited_for = false;

			for (uint32_t w = 0; !gone[v] && w < n && !waited_for; w++)
				waited_for = !gone[w] && judge.dep[w][v];
			if (gone[v] || waited_for)
				continue;
			gone[v] = changed = true;
			left--;
		}
	}
	return left > 0;
}

static bool judge_loop(const struct osr_fabric *f, const struct osr_generation *gen, uint32_t n,
		       uint32_t modes)
{
	judge.f = f;
	judge.gen = gen;
	judge.n = n;
	judge.modes = modes;
	memset(judge.dep, 0, sizeof(judge.dep));
	send_all();
	if (modes & OSR_CLAIM_MULTICAST)
		send_copies();
	return judge_has_cycle();
}

/* ---- material ------------------------------------------------------------------------------- */

static void random_sls(const struct osr_fabric *f, struct osr_routing *r, struct osr_arena *arena,
		       unsigned n_sls, uint64_t *seed)
{
	size_t n = (size_t)f->n_dests * f->n_switches;
	uint16_t *granted;

	r->sl = osr_alloc(arena, n, 1);
	for (size_t i = 0; i < n; i++)
		r->sl[i] = (uint8_t)(test_random(seed) % n_sls);
	r->n_vls = OSR_MAX_VLS;
	if (test_random(seed) % 2)
		return;
	granted = osr_calloc(arena, n, sizeof(*granted));
	for (size_t i = 0; i < n; i += 1 + test_random(seed) % 8)
		granted[i] = (uint16_t)(1u << test_random(seed) % 3);
	r->granted = granted;
}

static struct osr_paths random_paths(const struct osr_fabric *f, struct osr_arena *arena,
				     unsigned n_sls, uint64_t *seed)
{
	uint32_t n_rows = f->n_terminals / 2 + 1;
	uint32_t *row = osr_alloc(arena, f->n_terminals, sizeof(*row));
	uint8_t *sl = osr_alloc(arena, (size_t)n_rows * f->n_dests, 1);

	for (uint32_t t = 0; t < f->n_terminals; t++)
		row[t] = test_random(seed) % 8 ? (uint32_t)(test_random(seed) % n_rows) : OSR_NONE;
	for (uint32_t i = 0; i < n_rows * f->n_dests; i++)
		sl[i] = test_random(seed) % 8 ? (uint8_t)(test_random(seed) % n_sls) : OSR_NO_SL;
	return (struct osr_paths){ n_rows, row, sl };
}

/* Some entries go elsewhere: ports of all kinds, no path, loops. */
static void spoil(const struct osr_fabric *f, struct osr_routing *r, unsigned n, uint64_t *seed)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t s = (uint32_t)(test_random(seed) % f->n_switches);
		uint32_t d = (uint32_t)(test_random(seed) % f->n_dests);
		unsigned port = (unsigned)(test_random(seed) % (f->sw_n_ports[s] + 2u));

		r->lft[(size_t)d * f->n_switches + s] =
			port > f->sw_n_ports[s] ? OSR_NO_PATH : (uint8_t)port;
	}
}

/* A step of a loop must be a turn that the judge knows. */
static void check_steps(const struct osr_loop *loop, uint32_t modes)
{
	for (uint32_t i = 0; i < loop->n; i++) {
		const struct osr_loop_step *a = &loop->step[i], *b = &loop->step[(i + 1) % loop->n];

		assert_true(judge.dep[vertex(a->channel, a->vl)][vertex(b->channel, b->vl)]);
		assert_true(a->lid || (modes & OSR_CLAIM_MULTICAST));
		assert_int_equal(judge.f->chan_dst[a->channel], judge.f->chan_src[b->channel]);
	}
}

/* Every turn that the judge knows must rise in the certificate. */
static void check_order(const struct osr_fabric *f, const uint32_t *rank)
{
	uint32_t n = f->n_channels;

	for (uint32_t v = 0; v < n * OSR_MAX_VLS; v++)
		for (uint32_t w = 0; w < n * OSR_MAX_VLS; w++)
			if (judge.dep[v][w])
				assert_true(rank[v % OSR_MAX_VLS * n + v / OSR_MAX_VLS] <
					    rank[w % OSR_MAX_VLS * n + w / OSR_MAX_VLS]);
}

static bool same_as_judge(const struct osr_fabric *f, const struct osr_generation *gen, uint32_t n,
			  uint32_t modes)
{
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_diag diag = { "" };
	struct osr_loop loop;
	bool expected = judge_loop(f, gen, n, modes);
	uint32_t *rank = osr_calloc(&result, (size_t)OSR_MAX_VLS * f->n_channels, sizeof(*rank));

	assert_int_equal(osr_union_loop(f, gen, n, modes, &scratch, &result, &loop, rank, &diag),
			 0);
	assert_int_equal(loop.n > 0, expected);
	assert_int_equal(scratch.in_use, 0);
	check_steps(&loop, modes);
	if (!expected)
		check_order(f, rank);
	osr_loop_say(f, &loop, &diag);
	assert_string_not_equal(diag.text, "");
	osr_arena_free(&scratch);
	osr_arena_free(&result);
	return expected;
}

static const uint32_t all_modes[] = { 0, OSR_CLAIM_REVERSIBLE, OSR_CLAIM_ANY_SL,
				      OSR_CLAIM_MULTICAST };

/* ---- any number of them against the judge --------------------------------------------------- */

static void small_fabric(struct test_fabric *t, uint64_t seed)
{
	if (seed % 3 == 0)
		test_fabric_ring(t, 3 + (uint32_t)(seed / 3 % 4), 1);
	else
		test_fabric_random(t, 5 + (uint32_t)(seed % 3), 8 + (uint32_t)(seed % 4), seed);
}

/* Two generations on a small fabric, and what they are asked so far over all of them. */
struct two {
	struct osr_arena arena;
	struct osr_routing r[2];
	struct osr_generation gen[2];
	struct test_fabric t;
	uint64_t seed;
};

static struct two *two_begin(struct two *x, uint64_t i)
{
	*x = (struct two){ .gen = { { .routing = &x->r[0] }, { .routing = &x->r[1] } }, .seed = i };
	small_fabric(&x->t, i);
	return x;
}

static void two_end(struct two *x)
{
	osr_arena_free(&x->arena);
	test_fabric_free(&x->t);
}

static bool two_loop(struct two *x, uint32_t n, uint32_t modes, uint32_t counts[2])
{
	bool loop = same_as_judge(&x->t.f, x->gen, n, modes);

	counts[loop]++;
	return loop;
}

static void random_generation(const struct osr_fabric *f, struct osr_arena *arena, uint64_t *seed,
			      struct osr_routing *r, struct osr_paths *p,
			      struct osr_generation *gen)
{
	static const enum table_kind kinds[] = { TABLE_SHORTEST, TABLE_UPDOWN, TABLE_UPDOWN_SL,
						 TABLE_UPDOWN_SL2VL };

	table_make(kinds[test_random(seed) % 4], f, arena, test_random(seed), r);
	if (test_random(seed) % 3 == 0)
		spoil(f, r, 3, seed);
	if (!r->sl && test_random(seed) % 2)
		random_sls(f, r, arena, 4, seed);
	*gen = (struct osr_generation){ .routing = r };
	if (test_random(seed) % 2) {
		*p = random_paths(f, arena, 3, seed);
		gen->paths = p;
	}
}

/* Groups of random ports, or a spanning order of random links, on one of two lanes. */
static void random_mcast(const struct osr_fabric *f, struct osr_arena *arena, uint64_t *seed,
			 struct osr_routing *r, struct osr_groups *m, struct osr_generation *gen)
{
	static const uint16_t mlids[2][2] = { { 0xc000, 0xc005 }, { 0xc005, 0xc009 } };
	uint64_t(*ports)[4] = osr_calloc(arena, 2 * f->n_switches, sizeof(*ports));
	uint32_t *parent = osr_alloc(arena, f->n_switches, sizeof(*parent));

	for (uint32_t i = 0; i < 2 * f->n_channels; i++)
		if (test_random(seed) % 5 < 2) {
			uint32_t c = i / 2;

			ports[i % 2 * f->n_switches + f->chan_src[c]][0] |= 1ull << f->chan_port[c];
		}
	for (uint32_t s = 0; s < f->n_switches; s++)
		parent[s] =
			test_random(seed) % 3
				? f->chan_row[s] + (uint32_t)(test_random(seed) %
							      (f->chan_row[s + 1] - f->chan_row[s]))
				: OSR_NONE;
	*m = (struct osr_groups){ 2, mlids[test_random(seed) % 2], (const uint64_t(*)[4])ports,
				  (uint8_t)(test_random(seed) % 2) };
	r->mcast_parent = parent;
	r->mcast_vl = (uint8_t)(test_random(seed) % 2);
	if (test_random(seed) % 2)
		gen->groups = m;
}

/* Unicast that seldom loops, so that multicast decides: shortest routes of a tree of the fabric's. */
static void test_mcast_against_judge(void **state)
{
	uint32_t n[2] = { 0 };
	struct two x;

	for (uint64_t i = 0; i < 400; i++) {
		struct osr_groups m[2];
		uint64_t *seed = &two_begin(&x, i)->seed, kind = test_random(seed) % 3;

		for (uint32_t g = 0; g < 2; g++) {
			table_make(kind ? TABLE_UPDOWN_SL2VL : TABLE_UPDOWN, &x.t.f, &x.arena, i,
				   &x.r[g]);
			if (kind < 2 && test_random(seed) % 4)
				random_sls(&x.t.f, &x.r[g], &x.arena, 2, seed);
			random_mcast(&x.t.f, &x.arena, seed, &x.r[g], &m[g], &x.gen[g]);
		}
		two_loop(&x, 1, OSR_CLAIM_MULTICAST, n);
		two_loop(&x, 2, OSR_CLAIM_MULTICAST, n);
		two_end(&x);
	}
	assert_true(n[true] > 50 && n[false] > 50);
}

static void test_against_judge(void **state)
{
	uint32_t n[2] = { 0 };
	struct two x;

	for (uint64_t i = 0; i < 160; i++) {
		struct osr_paths p[2];

		two_begin(&x, i);
		assert_true(x.t.f.n_channels <= MAX_CHANNELS);
		for (uint32_t g = 0; g < 2; g++)
			random_generation(&x.t.f, &x.arena, &x.seed, &x.r[g], &p[g], &x.gen[g]);
		for (unsigned m = 0; m < 3; m++) {
			two_loop(&x, 1, all_modes[m], n);
			two_loop(&x, 2, all_modes[m], n);
		}
		two_end(&x);
	}
	/* The seeds must give both kinds, or the test says little. */
	assert_true(n[true] > 100 && n[false] > 100);
}

/*
 * Hosts answer what port 0 asks, and are asked by hosts; nobody answers to a port 0 on the SL of a request to
 * himself. Up/down to hosts, so that what is sent to port 0 decides.
 */
static void test_port0_is_answered(void **state)
{
	uint32_t counts[2] = { 0 };
	struct two x;

	for (uint64_t i = 0; i < 300; i++) {
		const struct osr_fabric *f = &two_begin(&x, i)->t.f;
		struct osr_routing *r = &x.r[0];

		table_make(TABLE_UPDOWN, f, &x.arena, i, r);
		table_make(TABLE_SHORTEST, f, &x.arena, i, &x.r[1]);
		random_sls(f, r, &x.arena, 3, &x.seed);
		r->granted = NULL;
		for (size_t at = 0; at < (size_t)f->n_dests * f->n_switches; at++)
			if (!f->term_weight[f->dest_term[at / f->n_switches]]) {
				r->lft[at] = x.r[1].lft[at];
				r->sl[at] = r->sl[at] * 5 % 4;
			}
		two_loop(&x, 1, OSR_CLAIM_REVERSIBLE, counts);
		two_end(&x);
	}
	assert_true(counts[true] > 10 && counts[false] > 10);
}

/* Of two generations the first has lost some entries: what was asked by them is answered on its old SL all the same. */
static void test_withdrawn(void **state)
{
	uint32_t counts[2] = { 0 };
	struct two x;

	for (uint64_t i = 0; i < 150; i++) {
		const struct osr_fabric *f = &two_begin(&x, i)->t.f;

		for (uint32_t g = 0; g < 2; g++) {
			table_make(TABLE_SHORTEST, f, &x.arena, i, &x.r[g]);
			random_sls(f, &x.r[g], &x.arena, 8, &x.seed);
			x.r[g].granted = NULL;
		}
		for (size_t at = 0; at < (size_t)f->n_dests * f->n_switches; at++)
			if (test_random(&x.seed) % 4)
				x.r[0].lft[at] = OSR_NO_PATH;
		two_loop(&x, 2, OSR_CLAIM_REVERSIBLE, counts);
		two_end(&x);
	}
	assert_true(counts[true] > 10 && counts[false] > 10);
}

/*
 * Ring of 5, all clockwise but for what would cross one cable: free of loops. Cut elsewhere: free as
 * well. While some switches have the one and some the other, nothing is cut.
 */
static void cut_ring(const struct osr_fabric *f, uint32_t cut, struct osr_arena *arena,
		     struct osr_routing *r)
{
	osr_routing_init(r, f, arena, NULL);
	r->n_vls = 1;
	for (uint32_t d = 0; d < f->n_dests; d++)
		for (uint32_t s = 0; s < f->n_switches; s++) {
			uint32_t to = f->dest_switch[d], n = f->n_switches, next = (s + 1) % n;
			bool crosses = (cut - s + n) % n < (to - s + n) % n;

			if (crosses)
				next = (s + n - 1) % n;
			for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++)
				if (f->chan_dst[c] == next)
					r->lft[(size_t)d * n + s] = f->chan_port[c];
			if (s == to)
				r->lft[(size_t)d * n + s] = f->term_port[f->dest_term[d]];
		}
}

/*
 * Each of two routings of a ring is free of loops, their mixture is not: one switch sends a packet on, the next one
 * back. And so many LIDs that a loop is looked for before all have been followed. It is there from the first LID on,
 * closed only by the last ones, or not there.
 */
static void test_many_lids(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_routing r[2];
	struct osr_generation gen[2] = { { .routing = &r[0] }, { .routing = &r[1] } };
	struct test_fabric t;
	size_t last = 10;

	test_fabric_ring(&t, 32, 5);
	cut_ring(&t.f, 4, &arena, &r[0]);
	cut_ring(&t.f, 2, &arena, &r[1]);
	last *= t.f.n_switches;
	assert_true(t.f.n_dests > 180);
	assert_true(same_as_judge(&t.f, gen, 2, 0));
	assert_false(same_as_judge(&t.f, &gen[0], 1, 0));
	assert_false(same_as_judge(&t.f, &gen[1], 1, 0));
	memcpy(r[0].lft + t.f.n_dests * t.f.n_switches - last,
	       r[1].lft + t.f.n_dests * t.f.n_switches - last, last);
	assert_true(same_as_judge(&t.f, &gen[0], 1, 0));
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

/* Entries of one LID lead around, against the order of the switches, and each switch sends on an SL of its own. */
static void test_circle(void **state)
{
	uint32_t counts[2] = { 0 };
	struct two x;
	const struct osr_fabric *f = &two_begin(&x, 6)->t.f;
	uint32_t n = f->n_switches;

	table_make(TABLE_UPDOWN, f, &x.arena, 6, &x.r[0]);
	random_sls(f, &x.r[0], &x.arena, 1, &x.seed);
	x.r[0].granted = NULL;
	for (size_t i = 0; i < (size_t)f->n_dests * n; i++)
		x.r[0].sl[i] = (uint8_t)(i % n);
	assert_false(two_loop(&x, 1, 0, counts));
	for (uint32_t c = 0; c < f->n_channels; c++)
		if (f->chan_dst[c] == (f->chan_src[c] + n - 1) % n)
			x.r[0].lft[f->chan_src[c]] = f->chan_port[c];
	assert_true(two_loop(&x, 1, 0, counts));
	two_end(&x);
}

/* ---- rows that nobody has programmed --------------------------------------------------------- */

/* VL = SL by tables, of which some rows are missing in a dump. */
static void identity_tables(const struct osr_fabric *f, struct osr_arena *arena,
			    struct osr_routing *r)
{
	assert_int_equal(osr_routing_alloc_sl2vl(r, f, 0, arena, NULL), OSR_OK);
	for (uint32_t i = 0; i < osr_n_sl2vl(f); i++)
		for (unsigned sl = 0; sl < 16; sl++)
			r->sl2vl[i][sl] = (uint8_t)sl;
	r->n_vls = OSR_MAX_VLS;
}

/* What a switch does with such a row is not known; no loop is made of it, on any VL. */
static void test_missing_rows(void **state)
{
	uint32_t counts[2] = { 0 }, n_opened = 0;
	struct two x;

	for (uint64_t i = 0; i < 40; i++) {
		const struct osr_fabric *f = &two_begin(&x, i)->t.f;
		bool whole;

		for (unsigned g = 0; g < 2; g++) {
			table_make(TABLE_SHORTEST, f, &x.arena, i, &x.r[g]);
			random_sls(f, &x.r[g], &x.arena, 1, &x.seed);
			identity_tables(f, &x.arena, &x.r[g]);
		}
		whole = two_loop(&x, 1, 0, counts);
		/* All that one channel hands on, or any other one. */
		for (unsigned k = 0; k < 3; k++) {
			uint32_t c = (uint32_t)(test_random(&x.seed) % f->n_channels),
				 s = f->chan_dst[c];
			unsigned in = f->chan_port[f->chan_rev[c]], n = f->sw_n_ports[s] + 1u;

			memset(x.r[0].sl2vl[x.r[0].sl2vl_row[s] + in * n], OSR_VL_UNSET, n * 16);
		}
		n_opened += whole && !same_as_judge(f, x.gen, 1, 0);
		/* With another generation that has the rows nothing is missing. */
		assert_int_equal(same_as_judge(f, x.gen, 2, 0), whole);
		two_end(&x);
	}
	assert_true(counts[true] > 5 && n_opened > 2);
}

struct generations {
	const struct osr_fabric *f;
	struct osr_generation gen[2];
};

static enum osr_status union_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				  struct osr_diag *diag)
{
	struct generations *x = ctx;
	struct osr_loop loop;

	return osr_union_loop(x->f, x->gen, 2, OSR_CLAIM_REVERSIBLE, scratch, result, &loop, NULL,
			      diag);
}

static void test_memory(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_routing r[2];
	struct osr_paths p;
	struct test_fabric t;
	struct generations x = { &t.f,
				 { { .routing = &r[0], .paths = &p }, { .routing = &r[1] } } };
	struct osr_loop loop;
	uint64_t seed = 3;

	test_fabric_ring(&t, 5, 2);
	table_make(TABLE_UPDOWN_SL2VL, &t.f, &arena, 1, &r[0]);
	table_make(TABLE_SHORTEST, &t.f, &arena, 2, &r[1]);
	p = random_paths(&t.f, &arena, 3, &seed);
	assert_int_equal(osr_union_loop(&t.f, x.gen, 2, 0, &arena, &arena, &loop, NULL, NULL),
			 OSR_INVAL);
	assert_true(test_starve(union_once, &x) > 10);
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

TEST_PROGRAM(test_against_judge, test_circle, test_many_lids, test_missing_rows, test_memory,
	     test_mcast_against_judge, test_port0_is_answered, test_withdrawn)
