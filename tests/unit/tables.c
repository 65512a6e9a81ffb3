/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tables.h"
#include "fabrics.h"
#include "core/verify/union.h"

#include <stdlib.h>
#include <string.h>

const char *const table_names[N_TABLE_KINDS] = {
	[TABLE_SHORTEST] = "shortest",
	[TABLE_UPDOWN] = "up/down",
	[TABLE_UPDOWN_SL] = "up/down with SLs",
	[TABLE_UPDOWN_SL2VL] = "up/down with SL2VL",
	[TABLE_UPDOWN_ANY_SL2VL] = "up/down with SL2VL, any SL",
};

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static void *make(struct osr_arena *arena, size_t n, size_t size)
{
	return must(osr_calloc(arena, n, size));
}

static uint8_t *entry(const struct osr_routing *r, uint32_t d, uint32_t s)
{
	return &r->lft[(size_t)d * r->n_switches + s];
}

static void init(struct osr_routing *r, const struct osr_fabric *f, struct osr_arena *arena)
{
	if (osr_routing_init(r, f, arena, NULL) != OSR_OK)
		abort();
	r->engine = "test";
	r->n_vls = r->n_layers = 1;
	for (uint32_t d = 0; d < f->n_dests; d++)
		*entry(r, d, f->dest_switch[d]) = f->term_port[f->dest_term[d]];
}

static void make_shortest(const struct osr_fabric *f, struct osr_arena *arena,
			  struct osr_routing *r)
{
	uint32_t *dist = make(arena, f->n_switches, sizeof(*dist));

	init(r, f, arena);
	r->claims = OSR_CLAIM_MINIMAL;
	for (uint32_t d = 0; d < f->n_dests; d++) {
		test_distances(f, f->dest_switch[d], dist);
		for (uint32_t c = f->n_channels; c-- > 0;)
			if (dist[f->chan_dst[c]] != OSR_NONE &&
			    dist[f->chan_dst[c]] + 1 == dist[f->chan_src[c]])
				*entry(r, d, f->chan_src[c]) = f->chan_port[c];
	}
}

/* 1, 2, ... by distance from the first switch of the component, then by number. */
static void number_switches(const struct osr_fabric *f, uint32_t *place)
{
	uint32_t dist[MAX_DRAFT_SWITCHES], next = 1;

	memset(place, 0, f->n_switches * sizeof(*place));
	for (uint32_t root = 0; root < f->n_switches; root++) {
		if (place[root])
			continue;
		test_distances(f, root, dist);
		for (uint32_t level = 0; level < f->n_switches; level++)
			for (uint32_t s = 0; s < f->n_switches; s++)
				if (dist[s] == level)
					place[s] = next++;
	}
}

/*
 * Once down, always down: a switch that can reach the LID downwards does, the others go up to the
 * neighbour from which it is nearest. Upper switches decide first.
 */
static void route_updown(const struct osr_fabric *f, const uint32_t *place, struct osr_routing *r,
			 uint32_t d)
{
	uint32_t down[MAX_DRAFT_SWITCHES], all[MAX_DRAFT_SWITCHES];

	memset(down, 0xff, sizeof(down));
	memset(all, 0xff, sizeof(all));
	down[f->dest_switch[d]] = all[f->dest_switch[d]] = 0;
	/* The lower a switch, the earlier all ways down from it are known. */
	for (uint32_t p = f->n_switches; p > 0; p--)
		for (uint32_t c = 0; c < f->n_channels; c++) {
			uint32_t a = f->chan_src[c], b = f->chan_dst[c];

			if (place[a] == p && place[b] > p && down[b] != OSR_NONE &&
			    down[b] + 1 < down[a]) {
				down[a] = all[a] = down[b] + 1;
				*entry(r, d, a) = f->chan_port[c];
			}
		}
	for (uint32_t p = 1; p <= f->n_switches; p++)
		for (uint32_t c = 0; c < f->n_channels; c++) {
			uint32_t a = f->chan_src[c], b = f->chan_dst[c];

			if (place[a] == p && place[b] < p && down[a] == OSR_NONE &&
			    all[b] != OSR_NONE && all[b] + 1 < all[a]) {
				all[a] = all[b] + 1;
				*entry(r, d, a) = f->chan_port[c];
			}
		}
}

static uint32_t updown_rank(const struct osr_fabric *f, const uint32_t *place, uint32_t c)
{
	uint32_t a = place[f->chan_src[c]], b = place[f->chan_dst[c]];

	return b < a ? f->n_switches - a : f->n_switches + b;
}

static void make_ranks(const struct osr_fabric *f, struct osr_arena *arena, uint64_t *seed,
		       const uint32_t *place, struct osr_routing *r)
{
	r->rank = make(arena, (size_t)r->n_vls * f->n_channels, sizeof(*r->rank));
	for (uint32_t i = 0; i < r->n_vls * f->n_channels; i++)
		r->rank[i] = updown_rank(f, place, i % f->n_channels) * 8 + test_random(seed) % 8;
}

static void make_mcast(const struct osr_fabric *f, struct osr_arena *arena, const uint32_t *place,
		       struct osr_routing *r)
{
	uint32_t *best = make(arena, f->n_switches, sizeof(*best));

	r->mcast_parent = make(arena, f->n_switches, sizeof(*r->mcast_parent));
	memset(r->mcast_parent, 0xff, f->n_switches * sizeof(*r->mcast_parent));
	memset(best, 0xff, f->n_switches * sizeof(*best));
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t a = f->chan_src[c], b = f->chan_dst[c];

		if (place[b] < place[a] && place[b] < best[a]) {
			best[a] = place[b];
			r->mcast_parent[a] = c;
		}
	}
	r->mcast_vl = r->n_vls - 1;
}

static void make_sls(const struct osr_fabric *f, struct osr_arena *arena, uint64_t *seed,
		     unsigned n_sls, struct osr_routing *r)
{
	size_t n = (size_t)f->n_dests * f->n_switches;

	r->sl = make(arena, n, 1);
	for (size_t i = 0; i < n; i++)
		r->sl[i] = test_random(seed) % n_sls;
}

static void make_sl2vl(const struct osr_fabric *f, struct osr_arena *arena, uint64_t *seed,
		       struct osr_routing *r)
{
	if (osr_routing_alloc_sl2vl(r, f, 0, arena, NULL))
		abort();
	for (size_t i = 0; i < osr_n_sl2vl(f) * 16; i++)
		r->sl2vl[i / 16][i % 16] = test_random(seed) % r->n_vls;
	for (unsigned sl = 0; sl < 16; sl++)
		r->ca_sl2vl[sl] = test_random(seed) % r->n_vls;
}

void table_make(enum table_kind kind, const struct osr_fabric *f, struct osr_arena *arena,
		uint64_t seed, struct osr_routing *r)
{
	uint32_t place[MAX_DRAFT_SWITCHES];

	if (kind == TABLE_SHORTEST) {
		make_shortest(f, arena, r);
		return;
	}
	init(r, f, arena);
	number_switches(f, place);
	for (uint32_t d = 0; d < f->n_dests; d++)
		route_updown(f, place, r, d);
	r->claims = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_MULTICAST;
	if (kind == TABLE_UPDOWN || kind == TABLE_UPDOWN_ANY_SL2VL)
		r->claims |= OSR_CLAIM_ANY_SL;
	r->n_vls = kind == TABLE_UPDOWN ? 1 : 3;
	make_ranks(f, arena, &seed, place, r);
	make_mcast(f, arena, place, r);
	if (kind == TABLE_UPDOWN_SL)
		make_sls(f, arena, &seed, 3, r);
	if (kind == TABLE_UPDOWN_SL2VL)
		make_sls(f, arena, &seed, 16, r);
	if (kind == TABLE_UPDOWN_SL2VL || kind == TABLE_UPDOWN_ANY_SL2VL)
		make_sl2vl(f, arena, &seed, r);
}

void table_dateline(const struct osr_fabric *f, struct osr_arena *arena, struct osr_routing *r)
{
	uint32_t n = f->n_switches, half = n / 2;

	init(r, f, arena);
	r->claims = OSR_CLAIM_MINIMAL | OSR_CLAIM_DEADLOCK_FREE;
	r->n_vls = 2;
	r->sl = make(arena, (size_t)f->n_dests * n, 1);
	r->rank = make(arena, 2 * f->n_channels, sizeof(*r->rank));
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t from = f->chan_src[c], to = f->chan_dst[c];
		bool right = to == (from + 1) % n;
		uint32_t step = right ? from : n - 1 - from;

		r->rank[c] = step;
		r->rank[f->n_channels + c] = (step + n - half) % n;
		for (uint32_t d = 0; d < f->n_dests; d++) {
			uint32_t root = f->dest_switch[d];
			uint32_t ahead = right ? (root + n - from) % n : (from + n - root) % n;

			/* Where both ways are equal, all turn right. */
			if (from == root || ahead > half || (!right && 2 * ahead == n))
				continue;
			*entry(r, d, from) = f->chan_port[c];
			r->sl[(size_t)d * n + from] = right ? root < from : root > from;
		}
	}
}

static void *dup(struct osr_arena *arena, const void *from, size_t n, size_t size)
{
	return from ? memcpy(make(arena, n, size), from, n * size) : NULL;
}

void table_copy(const struct osr_fabric *f, const struct osr_routing *from, struct osr_arena *arena,
		struct osr_routing *to)
{
	size_t n = f->n_switches, pairs = n * f->n_dests;

	*to = *from;
	to->lft = dup(arena, from->lft, pairs, 1);
	to->sl = dup(arena, from->sl, pairs, 1);
	to->granted = dup(arena, from->granted, pairs, sizeof(*to->granted));
	to->sl2vl = dup(arena, from->sl2vl, osr_n_sl2vl(f), sizeof(*to->sl2vl));
	to->sl2vl_row = dup(arena, from->sl2vl_row, n, sizeof(*to->sl2vl_row));
	to->rank = dup(arena, from->rank, (size_t)from->n_vls * f->n_channels, sizeof(*to->rank));
	to->mcast_parent = dup(arena, from->mcast_parent, n, sizeof(*to->mcast_parent));
}

uint32_t table_loop(const struct osr_fabric *f, const struct osr_routing *r, uint32_t modes)
{
	const struct osr_generation gen = { .routing = r };
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_loop loop;

	if (osr_union_loop(f, &gen, 1, modes, &scratch, &result, &loop, NULL, NULL))
		abort();
	/* A ring of channels, each with its end where the next one begins. */
	for (uint32_t i = 0; i < loop.n; i++)
		if (f->chan_dst[loop.step[i].channel] !=
		    f->chan_src[loop.step[(i + 1) % loop.n].channel])
			abort();
	osr_arena_free(&scratch);
	osr_arena_free(&result);
	return loop.n;
}

/* --- what packets wait for ------------------------------------------------------------------- */

/* A bit for each VL; that of OSR_MAX_VLS for all that do not exist. */
static uint16_t vl_bit(unsigned vl)
{
	return (uint16_t)(1u << (vl < OSR_MAX_VLS ? vl : OSR_MAX_VLS));
}

static unsigned vl_of(const struct table_waits *w, uint32_t g, uint32_t s, unsigned in,
		      unsigned out, unsigned sl)
{
	const struct osr_routing *r = w->gen[g].routing;

	if (!r->sl2vl)
		return sl;
	return r->sl2vl[r->sl2vl_row[s] + in * (w->f->sw_n_ports[s] + 1u) + out][sl];
}

static void wait_for(struct table_waits *w, uint32_t c, unsigned vl, uint32_t on, unsigned to)
{
	if (vl < OSR_MAX_VLS && to < OSR_MAX_VLS)
		w->next[w->turn[c] + on - w->f->chan_row[w->f->chan_dst[c]]][vl] |= vl_bit(to);
}

/* A packet on this SL for dest d is in switch s, over channel c (OSR_NONE: from port `in` of the switch): where may it go? */
static void walk(struct table_waits *w, uint32_t d, unsigned sl, uint32_t s, unsigned in,
		 uint32_t c, unsigned vl)
{
	const struct osr_fabric *f = w->f;

	for (uint32_t g = 0; g < w->n; g++) {
		const struct osr_routing *r = w->gen[g].routing;
		unsigned out = osr_lft(r, s, d);
		uint32_t on = osr_port_channel(f, s, out);

		for (uint32_t h = 0; h < w->n_lanes && out <= f->sw_n_ports[s]; h++) {
			unsigned to = vl_of(w, h, s, in, out, sl);

			if (on == OSR_NONE) {
				w->last |= out && w->gen[h].routing->sl2vl ? vl_bit(to) : 0;
				continue;
			}
			w->vls[on] |= vl_bit(to);
			if (c != OSR_NONE)
				wait_for(w, c, vl, on, to);
			if (to >= OSR_MAX_VLS || w->been[on * OSR_MAX_VLS + to] == w->round)
				continue;
			w->been[on * OSR_MAX_VLS + to] = w->round;
			walk(w, d, sl, f->chan_dst[on], f->chan_port[f->chan_rev[on]], on, to);
		}
	}
}

static bool sends_any_sl(const struct table_waits *w, uint32_t g)
{
	return (w->modes & OSR_CLAIM_ANY_SL) || (!w->gen[g].paths && !w->gen[g].routing->sl);
}

static uint16_t sl_bit(unsigned sl)
{
	return sl < 16 ? (uint16_t)(1u << sl) : 0;
}

/* Of a pair: its SL, and those that path records gave earlier. */
static uint16_t pair_sls(const struct osr_routing *r, size_t pair)
{
	return (uint16_t)(sl_bit(r->sl[pair]) | (r->granted ? r->granted[pair] : 0));
}

/* SLs on which packets for d leave the switches: a generation's requests, and answers on the SL of a request. */
static void add_sls(const struct table_waits *w, uint32_t g, uint32_t d, uint16_t *sls)
{
	const struct osr_fabric *f = w->f;
	const struct osr_routing *r = w->gen[g].routing;
	const struct osr_paths *p = w->gen[g].paths;
	uint32_t n = f->n_switches, root = f->dest_switch[d], term = f->dest_term[d];
	bool host = f->term_weight[term], answers = host && (w->modes & OSR_CLAIM_REVERSIBLE);

	if (sends_any_sl(w, g)) {
		for (uint32_t s = 0; s < n; s++)
			if (host || f->sw_sources[s])
				sls[s] = w->one_lane ? 1 : UINT16_MAX;
	} else if (p) {
		for (uint32_t t = 0; t < f->n_terminals; t++)
			if (p->row[t] != OSR_NONE && (host || f->term_weight[t]))
				sls[f->term_switch[t]] |= sl_bit(p->sl[p->row[t] * f->n_dests + d]);
		for (uint32_t x = 0; answers && p->row[term] != OSR_NONE && x < f->n_dests; x++)
			sls[f->dest_switch[x]] |= sl_bit(p->sl[p->row[term] * f->n_dests + x]);
	} else {
		for (uint32_t s = 0; s < n; s++)
			if (host || f->sw_sources[s])
				sls[s] |= pair_sls(r, (size_t)d * n + s);
		for (uint32_t x = 0; answers && f->sw_sources[root] && x < f->n_dests; x++)
			if (w->n > 1 || osr_lft(r, root, x) != OSR_NO_PATH)
				sls[f->dest_switch[x]] |= pair_sls(r, (size_t)x * n + root);
	}
}

/* A link of the tree of a group in any generation, or, for MLID 0, of the spanning orders of those without groups. */
static bool in_tree(const struct table_waits *w, uint16_t mlid, uint32_t c)
{
	const struct osr_fabric *f = w->f;
	uint32_t s = f->chan_src[c];

	for (uint32_t g = 0; g < w->n; g++) {
		const struct osr_groups *m = w->gen[g].groups;
		const uint32_t *parent = w->gen[g].routing->mcast_parent;

		if (!mlid && parent && !m &&
		    (parent[s] == c || parent[f->chan_dst[c]] == f->chan_rev[c]))
			return true;
		for (uint32_t i = 0; mlid && m && i < m->n; i++)
			if (m->mlid[i] == mlid &&
			    m->ports[i * f->n_switches + s][f->chan_port[c] / 64] >>
					    f->chan_port[c] % 64 &
				    1)
				return true;
	}
	return false;
}

/* Copies on this SL that come to channel c of a tree by port `in`, and go on by every other link of the tree. */
static void copy_on(struct table_waits *w, uint16_t mlid, unsigned sl, unsigned in, uint32_t c)
{
	const struct osr_fabric *f = w->f;
	uint32_t next = f->chan_dst[c];

	for (uint32_t g = 0; g < w->n_lanes; g++) {
		unsigned vl = vl_of(w, g, f->chan_src[c], in, f->chan_port[c], sl);

		w->vls[c] |= vl_bit(vl);
		for (uint32_t on = f->chan_row[next]; on < f->chan_row[next + 1]; on++)
			for (uint32_t h = 0; h < w->n_lanes; h++)
				if (on != f->chan_rev[c] && in_tree(w, mlid, on))
					wait_for(w, c, vl, on,
						 vl_of(w, h, next, f->chan_port[f->chan_rev[c]],
						       f->chan_port[on], sl));
	}
}

/* From end ports of the switch and from the other links of the tree. */
static void copy_from_all(struct table_waits *w, uint16_t mlid, unsigned sl, uint32_t c)
{
	const struct osr_fabric *f = w->f;
	uint32_t s = f->chan_src[c];

	if (!in_tree(w, mlid, c))
		return;
	copy_on(w, mlid, sl, 0, c);
	for (uint32_t t = f->term_row[s]; t < f->term_row[s + 1]; t++)
		copy_on(w, mlid, sl, f->term_port[t], c);
	for (uint32_t back = f->chan_row[s]; back < f->chan_row[s + 1]; back++)
		if (back != c && in_tree(w, mlid, f->chan_rev[back]))
			copy_on(w, mlid, sl, f->chan_port[back], c);
}

/* Is multicast of this generation on a VL of its own? */
static bool has_mcast_vl(const struct table_waits *w, uint32_t g)
{
	return !w->gen[g].groups && w->gen[g].routing->mcast_parent && !sends_any_sl(w, g);
}

/* On the VL of the spanning order; where lanes stay, nothing changes them at the border of two generations. */
static void copy_on_vl(struct table_waits *w, uint32_t g, uint32_t c)
{
	const struct osr_fabric *f = w->f;
	bool lanes_stay = w->n_lanes == 1 && !w->gen[0].routing->sl2vl;
	unsigned vl = w->gen[g].routing->mcast_vl;
	uint32_t next = f->chan_dst[c];

	if (!in_tree(w, 0, c))
		return;
	w->vls[c] |= vl_bit(vl);
	for (uint32_t on = f->chan_row[next]; on < f->chan_row[next + 1]; on++)
		for (uint32_t h = 0; h < w->n; h++)
			if (on != f->chan_rev[c] && in_tree(w, 0, on) && has_mcast_vl(w, h) &&
			    (h == g || !lanes_stay))
				wait_for(w, c, vl, on, w->gen[h].routing->mcast_vl);
}

static void send_copies(struct table_waits *w)
{
	for (uint32_t c = 0; c < w->f->n_channels; c++)
		for (uint32_t g = 0; g < w->n; g++) {
			const struct osr_groups *m = w->gen[g].groups;

			for (uint32_t i = 0; m && i < m->n; i++)
				copy_from_all(w, m->mlid[i], m->sl, c);
			if (m || !w->gen[g].routing->mcast_parent)
				continue;
			for (unsigned sl = 0; sends_any_sl(w, g) && sl < (w->one_lane ? 1 : 16);
			     sl++)
				copy_from_all(w, 0, sl, c);
			if (has_mcast_vl(w, g))
				copy_on_vl(w, g, c);
		}
}

void table_wait(struct table_waits *w, struct osr_arena *arena)
{
	const struct osr_fabric *f = w->f;
	uint16_t *sls = make(arena, f->n_switches, sizeof(*sls));
	uint32_t n_turns = 0;

	w->n_lanes = w->gen[0].routing->sl2vl == w->gen[w->n - 1].routing->sl2vl ? 1 : w->n;
	w->turn = make(arena, f->n_channels, sizeof(*w->turn));
	for (uint32_t c = 0; c < f->n_channels; c++) {
		w->turn[c] = n_turns;
		n_turns += f->chan_row[f->chan_dst[c] + 1] - f->chan_row[f->chan_dst[c]];
	}
	w->next = make(arena, n_turns, sizeof(*w->next));
	w->vls = make(arena, f->n_channels, sizeof(*w->vls));
	w->been = make(arena, (size_t)f->n_channels * OSR_MAX_VLS, sizeof(*w->been));
	for (uint32_t d = 0; d < f->n_dests; d++) {
		memset(sls, 0, f->n_switches * sizeof(*sls));
		for (uint32_t g = 0; g < w->n; g++)
			add_sls(w, g, d, sls);
		for (unsigned sl = 0; sl < 16; sl++) {
			w->round++;
			for (uint32_t s = 0; s < f->n_switches; s++) {
				if (!(sls[s] >> sl & 1))
					continue;
				walk(w, d, sl, s, 0, OSR_NONE, 0);
				for (uint32_t t = f->term_row[s]; t < f->term_row[s + 1]; t++)
					walk(w, d, sl, s, f->term_port[t], OSR_NONE, 0);
			}
		}
	}
	if (w->modes & OSR_CLAIM_MULTICAST)
		send_copies(w);
}

bool table_waits_for(const struct table_waits *w, uint32_t c, unsigned vl, uint32_t on, unsigned to)
{
	return w->f->chan_dst[c] == w->f->chan_src[on] &&
	       w->next[w->turn[c] + on - w->f->chan_row[w->f->chan_src[on]]][vl] >> to & 1;
}

/* Does every wait rise in these ranks, [vl * n_channels + channel]? With `raises` they are lifted, as far as needed. */
static bool waits_rise(const struct table_waits *w, uint32_t *rank, bool raises)
{
	uint32_t n = w->f->n_channels;
	bool rises = true;

	for (uint32_t v = 0; v < n * OSR_MAX_VLS; v++) {
		uint32_t c = v % n, vl = v / n, s = w->f->chan_dst[c];

		for (uint32_t on = w->f->chan_row[s]; on < w->f->chan_row[s + 1]; on++)
			for (unsigned to = 0;
			     w->next[w->turn[c] + on - w->f->chan_row[s]][vl] >> to; to++) {
				if (!table_waits_for(w, c, vl, on, to) ||
				    rank[to * n + on] > rank[v])
					continue;
				rises = false;
				if (raises)
					rank[to * n + on] = rank[v] + 1;
			}
	}
	return rises;
}

bool table_waits_rise(const struct table_waits *w, const uint32_t *rank)
{
	return waits_rise(w, (uint32_t *)rank, false);
}

/* Of all that (channel, VL) number v waits for, one more or one less is waited for; what nobody waits for any more is to do. */
static void count_waits(const struct table_waits *w, uint32_t v, bool more, uint32_t *n_before,
			uint32_t *todo, uint32_t *n_todo)
{
	uint32_t n = w->f->n_channels, c = v % n, s = w->f->chan_dst[c];

	for (uint32_t on = w->f->chan_row[s]; on < w->f->chan_row[s + 1]; on++)
		for (unsigned to = 0; to < OSR_MAX_VLS; to++) {
			uint32_t *before = &n_before[to * n + on];

			if (!table_waits_for(w, c, v / n, on, to))
				continue;
			*before += more ? 1 : -1;
			if (!*before)
				todo[(*n_todo)++] = to * n + on;
		}
}

/* What nobody waits for goes, until nothing is left or nothing can go. */
bool table_waits_end(const struct table_waits *w)
{
	uint32_t n = w->f->n_channels * OSR_MAX_VLS, n_todo = 0;
	struct osr_arena arena = { 0 };
	uint32_t *n_before = make(&arena, n, sizeof(*n_before));
	uint32_t *todo = make(&arena, n, sizeof(*todo));

	for (uint32_t v = 0; v < n; v++)
		count_waits(w, v, true, n_before, todo, &n_todo);
	for (uint32_t v = 0; v < n; v++)
		if (!n_before[v])
			todo[n_todo++] = v;
	for (uint32_t i = 0; i < n_todo; i++)
		count_waits(w, todo[i], false, n_before, todo, &n_todo);
	osr_arena_free(&arena);
	return n_todo == n;
}

/* --- the judge ------------------------------------------------------------------------------- */

static bool one_block(const struct osr_routing *r)
{
	return !r->sl2vl && (!r->sl || (r->claims & OSR_CLAIM_ANY_SL));
}

static bool sl_exists(const struct osr_routing *r, unsigned sl)
{
	return sl < 16 && (r->sl2vl ? r->ca_sl2vl[sl] : sl) < r->n_vls;
}

/* Every route to a LID: its SL is there, it arrives, is as short as claimed, and loads what it crosses. */
static bool judge_dest(const struct osr_fabric *f, const struct osr_routing *r, uint32_t d,
		       struct osr_verdict *v, uint64_t *load, uint64_t *load_all, uint32_t *sls)
{
	bool first = f->dest_lid[d] == f->term_lid[f->dest_term[d]];
	uint32_t dist[MAX_DRAFT_SWITCHES], path[MAX_DRAFT_SWITCHES + 1], root = f->dest_switch[d];

	if (*entry(r, d, root) != f->term_port[f->dest_term[d]])
		return false;
	test_distances(f, root, dist);
	for (uint32_t s = 0; s < f->n_switches; s++) {
		uint32_t at = s, hops = 0, c;

		if (dist[s] == OSR_NONE) {
			if (*entry(r, d, s) != OSR_NO_PATH)
				return false;
			v->n_no_path++;
			continue;
		}
		if (r->sl) {
			unsigned sl = r->sl[(size_t)d * f->n_switches + s];

			if (!sl_exists(r, sl))
				return false;
			*sls |= 1u << sl;
		}
		while (at != root && hops <= f->n_switches) {
			c = osr_port_channel(f, at, *entry(r, d, at));
			if (c == OSR_NONE)
				return false;
			path[hops++] = c;
			at = f->chan_dst[c];
		}
		if (at != root || ((r->claims & OSR_CLAIM_MINIMAL) && hops != dist[s]))
			return false;
		for (uint32_t i = 0; i < hops && f->term_weight[f->dest_term[d]]; i++) {
			load[path[i]] += first ? f->sw_sources[s] : 0;
			load_all[path[i]] += f->sw_sources[s];
		}
		v->n_routes += s != root;
		v->n_longer += hops > dist[s];
		v->max_hops = hops > v->max_hops ? hops : v->max_hops;
	}
	return true;
}

static uint32_t judge_root(const struct osr_fabric *f, const struct osr_routing *r, uint32_t s)
{
	for (uint32_t hops = 0; hops <= f->n_switches; hops++) {
		uint32_t c = r->mcast_parent[s];

		if (c == OSR_NONE)
			return s;
		if (c >= f->n_channels || f->chan_src[c] != s)
			return OSR_NONE;
		s = f->chan_dst[c];
	}
	return OSR_NONE;
}

/* All that reach end ports have one root, and multicast has a VL. */
static bool judge_mcast(const struct osr_fabric *f, const struct osr_routing *r)
{
	if (r->mcast_vl >= (one_block(r) ? OSR_MAX_VLS : r->n_vls))
		return false;
	for (uint32_t a = 0; a < f->n_switches; a++) {
		if (judge_root(f, r, a) == OSR_NONE)
			return false;
		for (uint32_t b = 0; b < a; b++)
			if (f->sw_sources[a] && f->sw_sources[b] &&
			    f->sw_component[a] == f->sw_component[b] &&
			    judge_root(f, r, a) != judge_root(f, r, b))
				return false;
	}
	return true;
}

/* What needs a certificate, and a spanning order, has one; there are no other claims. */
static bool judge_claims(const struct osr_fabric *f, const struct osr_routing *r)
{
	uint32_t more = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;

	if (r->claims & ~(more | OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_MINIMAL))
		return false;
	if ((r->claims & OSR_CLAIM_MULTICAST) && !r->mcast_parent)
		return false;
	/* Who may send on any SL must not have one dropped. */
	for (unsigned sl = 0; r->sl2vl && !r->sl && sl < 16; sl++)
		if (!sl_exists(r, sl))
			return false;
	return r->claims & OSR_CLAIM_DEADLOCK_FREE ? r->rank || !f->n_channels
						   : !(r->claims & more);
}

/* Packets find their VLs on every cable, and where the claims say so every wait rises in rank. */
static bool judge_waits(const struct osr_fabric *f, const struct osr_routing *r, bool raises)
{
	const struct osr_generation gen = { .routing = r };
	struct osr_arena arena = { 0 };
	struct table_waits w = {
		.f = f, .gen = &gen, .n = 1, .modes = r->claims, .one_lane = one_block(r)
	};
	bool ok;

	table_wait(&w, &arena);
	ok = !(w.last >> r->n_vls);
	for (uint32_t c = 0; c < f->n_channels; c++)
		ok = ok && !(w.vls[c] >> r->n_vls) && !(w.vls[c] >> f->chan_vls[c]);
	if (ok && (r->claims & OSR_CLAIM_DEADLOCK_FREE))
		while (!(ok = waits_rise(&w, r->rank, raises)) && raises)
			;
	osr_arena_free(&arena);
	return ok;
}

bool table_judge(const struct osr_fabric *f, const struct osr_routing *r, struct osr_verdict *v)
{
	struct osr_arena arena = { 0 };
	uint64_t *load = make(&arena, f->n_channels, sizeof(*load));
	uint64_t *load_all = make(&arena, f->n_channels, sizeof(*load_all));
	uint32_t sls = 0; /* of all routes there are */
	double fastest = 0;
	bool ok = r->n_vls >= 1 && r->n_vls <= OSR_MAX_VLS &&
		  (!r->granted || (r->sl && !r->sl2vl)) && judge_claims(f, r);

	*v = (struct osr_verdict){ 0 };
	for (uint32_t d = 0; d < f->n_dests && ok; d++)
		ok = judge_dest(f, r, d, v, load, load_all, &sls);
	/* Where VL = SL and one graph serves all, every cable has the VLs of all SLs. */
	for (uint32_t c = 0; c < f->n_channels && one_block(r); c++)
		ok = ok && !(sls >> f->chan_vls[c]);
	ok = ok && (!r->mcast_parent || judge_mcast(f, r)) && judge_waits(f, r, false);
	for (uint32_t c = 0; c < f->n_channels; c++)
		fastest = f->chan_rate[c] > fastest ? f->chan_rate[c] : fastest;
	for (uint32_t c = 0; c < f->n_channels && ok; c++) {
		double scaled = load[c];

		if (f->chan_rate[c])
			scaled = scaled * fastest / f->chan_rate[c];
		v->efi_mean += (double)load[c] / f->n_channels;
		v->efi = load[c] > v->efi ? load[c] : v->efi;
		v->efi_all = load_all[c] > v->efi_all ? load_all[c] : v->efi_all;
		if (scaled > v->efi_per_capacity)
			v->efi_per_capacity = scaled;
	}
	v->proven = ok ? r->claims : 0;
	osr_arena_free(&arena);
	return ok;
}

void table_tighten(const struct osr_fabric *f, struct osr_routing *r)
{
	memset(r->rank, 0, (size_t)r->n_vls * f->n_channels * sizeof(*r->rank));
	if (!judge_waits(f, r, true))
		abort();
}
