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

/* Distances from every switch to `to`, by relaxing until nothing changes. */
static void distances(const struct osr_fabric *f, uint32_t to, uint32_t *dist)
{
	bool changed = true;

	memset(dist, 0xff, f->n_switches * sizeof(*dist));
	dist[to] = 0;
	while (changed) {
		changed = false;
		for (uint32_t c = 0; c < f->n_channels; c++) {
			uint32_t a = f->chan_src[c], b = f->chan_dst[c];

			if (dist[b] != OSR_NONE && dist[b] + 1 < dist[a]) {
				dist[a] = dist[b] + 1;
				changed = true;
			}
		}
	}
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
		distances(f, f->dest_switch[d], dist);
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
		distances(f, root, dist);
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

/* --- the judge ------------------------------------------------------------------------------- */

struct judge {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	struct osr_verdict *v;
	uint64_t *load;
	uint32_t sls; /* of all routes there are */
	bool raises;  /* ranks that are too low, instead of refusing them */
	bool changed;
};

/* May a packet go on over channel c after one of this rank? */
static bool judge_rank(struct judge *j, unsigned vl, uint32_t c, uint32_t before)
{
	uint32_t *rank = &j->r->rank[vl * j->f->n_channels + c];

	if (*rank > before || !j->raises)
		return *rank > before;
	*rank = before + 1;
	return j->changed = true;
}

static bool one_block(const struct osr_routing *r)
{
	return !r->sl2vl && (!r->sl || (r->claims & OSR_CLAIM_ANY_SL));
}

static unsigned vl_at(const struct judge *j, uint32_t s, unsigned in, unsigned out, unsigned sl)
{
	const struct osr_routing *r = j->r;

	if (one_block(r))
		return 0;
	if (!r->sl2vl)
		return sl;
	return r->sl2vl[r->sl2vl_row[s] + in * (j->f->sw_n_ports[s] + 1u) + out][sl];
}

/* One packet from port `in` of switch s to dest d, hop by hop. */
static bool judge_packet(struct judge *j, uint32_t d, uint32_t s, unsigned in, unsigned sl)
{
	const struct osr_fabric *f = j->f;
	bool ranked = j->r->claims & OSR_CLAIM_DEADLOCK_FREE;
	uint32_t last_rank = 0, hops = 0;

	for (;; hops++) {
		unsigned out = *entry(j->r, d, s), vl;
		uint32_t c;

		if (s == f->dest_switch[d])
			return !j->r->sl2vl || !out || vl_at(j, s, in, out, sl) < j->r->n_vls;
		c = osr_port_channel(f, s, out);
		if (c == OSR_NONE || hops > f->n_switches)
			return false;
		vl = vl_at(j, s, in, out, sl);
		if (vl >= j->r->n_vls || vl >= f->chan_vls[c])
			return false;
		if (ranked && hops && !judge_rank(j, vl, c, last_rank))
			return false;
		last_rank = ranked ? j->r->rank[vl * f->n_channels + c] : 0;
		s = f->chan_dst[c];
		in = f->chan_port[f->chan_rev[c]];
	}
}

static uint32_t judge_sls(struct judge *j, uint32_t d, uint32_t s)
{
	const struct osr_routing *r = j->r;
	const struct osr_fabric *f = j->f;
	uint32_t n = f->n_switches, sls;

	if (!r->sl || (r->claims & OSR_CLAIM_ANY_SL))
		return 0xffff;
	sls = 1u << (r->sl[(size_t)d * n + s] & 15) |
	      (r->granted ? r->granted[(size_t)d * n + s] : 0);
	if (!f->sw_sources[f->dest_switch[d]] || !f->term_weight[f->dest_term[d]])
		return sls;
	for (uint32_t back = 0; back < f->n_dests && (r->claims & OSR_CLAIM_REVERSIBLE); back++)
		if (f->dest_switch[back] == s) {
			size_t at = (size_t)back * n + f->dest_switch[d];

			sls |= 1u << (r->sl[at] & 15) | (r->granted ? r->granted[at] : 0);
		}
	return sls;
}

static bool sl_exists(const struct osr_routing *r, unsigned sl)
{
	return sl < 16 && (r->sl2vl ? r->ca_sl2vl[sl] : sl) < r->n_vls;
}

static bool judge_pair(struct judge *j, uint32_t d, uint32_t s)
{
	const struct osr_fabric *f = j->f;
	/* Without SL2VL tables a packet's port tells nothing; on one VL its SL does not, either. */
	uint32_t sls = one_block(j->r) ? 1 : judge_sls(j, d, s);

	/* Nobody asks one port 0 from another. */
	if (!f->sw_sources[s] && !f->term_weight[f->dest_term[d]])
		return true;
	for (unsigned sl = 0; sl < 16; sl++) {
		if (!(sls >> sl & 1))
			continue;
		if (!judge_packet(j, d, s, 0, sl))
			return false;
		for (uint32_t t = f->term_row[s]; j->r->sl2vl && t < f->term_row[s + 1]; t++)
			if (f->term_port[t] && !judge_packet(j, d, s, f->term_port[t], sl))
				return false;
	}
	return true;
}

static bool judge_arrives(struct judge *j, uint32_t d, uint32_t s)
{
	for (uint32_t hops = 0; hops <= j->f->n_switches; hops++) {
		uint32_t c;

		if (s == j->f->dest_switch[d])
			return true;
		c = osr_port_channel(j->f, s, *entry(j->r, d, s));
		if (c == OSR_NONE)
			return false;
		s = j->f->chan_dst[c];
	}
	return false;
}

/* Length of a route already followed; its sources are added to the loads. */
static uint32_t judge_load(struct judge *j, uint32_t d, uint32_t s)
{
	const struct osr_fabric *f = j->f;
	uint32_t sources = f->term_weight[f->dest_term[d]] ? f->sw_sources[s] : 0, hops = 0;

	for (; s != f->dest_switch[d]; hops++) {
		uint32_t c = osr_port_channel(f, s, *entry(j->r, d, s));

		j->load[c] += sources;
		s = f->chan_dst[c];
	}
	return hops;
}

static bool judge_length(struct judge *j, uint32_t hops, uint32_t least)
{
	struct osr_verdict *v = j->v;

	v->n_routes++;
	if (hops > v->max_hops)
		v->max_hops = hops;
	v->n_longer += hops > least;
	return hops == least || !(j->r->claims & OSR_CLAIM_MINIMAL);
}

static bool judge_dest(struct judge *j, uint32_t d)
{
	const struct osr_fabric *f = j->f;
	uint32_t dist[MAX_DRAFT_SWITCHES], root = f->dest_switch[d];

	if (*entry(j->r, d, root) != f->term_port[f->dest_term[d]])
		return false;
	distances(f, root, dist);
	/* SLs first: judge_sls() shifts by them. */
	for (uint32_t s = 0; s < f->n_switches; s++)
		if (j->r->sl && dist[s] != OSR_NONE) {
			unsigned sl = j->r->sl[(size_t)d * f->n_switches + s];

			if (!sl_exists(j->r, sl))
				return false;
			j->sls |= 1u << sl;
		}
	for (uint32_t s = 0; s < f->n_switches; s++) {
		if (dist[s] == OSR_NONE) {
			if (*entry(j->r, d, s) != OSR_NO_PATH)
				return false;
			j->v->n_no_path++;
			continue;
		}
		if (!judge_arrives(j, d, s) || !judge_pair(j, d, s))
			return false;
		if (s != root && !judge_length(j, judge_load(j, d, s), dist[s]))
			return false;
	}
	return true;
}

static uint32_t judge_root(const struct judge *j, uint32_t s)
{
	const struct osr_fabric *f = j->f;

	for (uint32_t hops = 0; hops <= f->n_switches; hops++) {
		uint32_t c = j->r->mcast_parent[s];

		if (c == OSR_NONE)
			return s;
		if (c >= f->n_channels || f->chan_src[c] != s)
			return OSR_NONE;
		s = f->chan_dst[c];
	}
	return OSR_NONE;
}

static bool on_tree(const struct judge *j, uint32_t c)
{
	const struct osr_fabric *f = j->f;

	return j->r->mcast_parent[f->chan_src[c]] == c ||
	       j->r->mcast_parent[f->chan_dst[c]] == f->chan_rev[c];
}

/*
 * Any SL, and tables by port pair: a copy of a packet of this SL that came into switch s by port `in`
 * (over channel `last` on VL last_vl; OSR_NONE: from an end port) goes on by every other tree link.
 */
static bool judge_copies(struct judge *j, uint32_t s, unsigned in, uint32_t last, unsigned last_vl,
			 unsigned sl)
{
	const struct osr_fabric *f = j->f;
	const struct osr_routing *r = j->r;

	for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++) {
		unsigned vl = r->sl2vl[r->sl2vl_row[s] + in * (f->sw_n_ports[s] + 1u) +
				       f->chan_port[c]][sl];

		if (!on_tree(j, c) || (last != OSR_NONE && c == f->chan_rev[last]))
			continue;
		if (vl >= r->n_vls || vl >= f->chan_vls[c])
			return false;
		if (last != OSR_NONE &&
		    !judge_rank(j, vl, c, r->rank[last_vl * f->n_channels + last]))
			return false;
		if (!judge_copies(j, f->chan_dst[c], f->chan_port[f->chan_rev[c]], c, vl, sl))
			return false;
	}
	return true;
}

static bool judge_mcast_tables(struct judge *j)
{
	const struct osr_fabric *f = j->f;

	for (uint32_t s = 0; s < f->n_switches; s++)
		for (unsigned sl = 0; sl < 16; sl++) {
			if (!judge_copies(j, s, 0, OSR_NONE, 0, sl))
				return false;
			for (uint32_t t = f->term_row[s]; t < f->term_row[s + 1]; t++)
				if (!judge_copies(j, s, f->term_port[t], OSR_NONE, 0, sl))
					return false;
		}
	return true;
}

static bool judge_mcast(struct judge *j)
{
	const struct osr_fabric *f = j->f;
	const struct osr_routing *r = j->r;
	unsigned vl = one_block(r) ? 0 : r->mcast_vl;

	if (r->mcast_vl >= (one_block(r) ? OSR_MAX_VLS : r->n_vls))
		return false;
	for (uint32_t s = 0; s < f->n_switches; s++)
		if (judge_root(j, s) == OSR_NONE)
			return false;
	for (uint32_t a = 0; a < f->n_switches; a++)
		for (uint32_t b = 0; b < f->n_switches; b++)
			if (f->sw_sources[a] && f->sw_sources[b] &&
			    f->sw_component[a] == f->sw_component[b] &&
			    judge_root(j, a) != judge_root(j, b))
				return false;
	if (!(r->claims & OSR_CLAIM_MULTICAST))
		return true;
	if (r->sl2vl && (!r->sl || (r->claims & OSR_CLAIM_ANY_SL)))
		return judge_mcast_tables(j);
	for (uint32_t c = 0; c < f->n_channels; c++)
		if (on_tree(j, c) && f->chan_vls[c] <= vl)
			return false;
	for (uint32_t in = 0; in < f->n_channels; in++)
		for (uint32_t out = 0; out < f->n_channels; out++)
			if (f->chan_dst[in] == f->chan_src[out] && f->chan_rev[in] != out &&
			    on_tree(j, in) && on_tree(j, out) &&
			    !judge_rank(j, vl, out, r->rank[vl * f->n_channels + in]))
				return false;
	return true;
}

static void judge_efi(struct judge *j)
{
	const struct osr_fabric *f = j->f;
	struct osr_verdict *v = j->v;
	double fastest = 0;

	for (uint32_t c = 0; c < f->n_channels; c++)
		fastest = f->chan_rate[c] > fastest ? f->chan_rate[c] : fastest;
	for (uint32_t c = 0; c < f->n_channels; c++) {
		double scaled = j->load[c];

		if (f->chan_rate[c])
			scaled = scaled * fastest / f->chan_rate[c];
		v->efi_mean += (double)j->load[c] / f->n_channels;
		if (j->load[c] > v->efi)
			v->efi = j->load[c];
		if (scaled > v->efi_per_capacity)
			v->efi_per_capacity = scaled;
	}
}

/* What needs a certificate, and a spanning order, has one; there are no other claims. */
static bool judge_claims(const struct judge *j)
{
	uint32_t claims = j->r->claims,
		 more = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	bool free = claims & OSR_CLAIM_DEADLOCK_FREE;

	if (claims & ~(more | OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_MINIMAL))
		return false;
	if ((claims & OSR_CLAIM_MULTICAST) && !j->r->mcast_parent)
		return false;
	/* Who may send on any SL must not have one dropped. */
	for (unsigned sl = 0; j->r->sl2vl && !j->r->sl && sl < 16; sl++)
		if (!sl_exists(j->r, sl))
			return false;
	return free ? j->r->rank || !j->f->n_channels : !(claims & more);
}

/* Where VL = SL and one graph serves all, every cable has the VLs of all SLs. */
static bool judge_shared(const struct judge *j)
{
	for (uint32_t c = 0; c < j->f->n_channels; c++)
		if (j->sls >> j->f->chan_vls[c])
			return false;
	return true;
}

static bool judge_all(struct judge j)
{
	const struct osr_fabric *f = j.f;
	const struct osr_routing *r = j.r;
	struct osr_verdict *v = j.v;
	struct osr_arena arena = { 0 };
	bool ok = r->n_vls >= 1 && r->n_vls <= OSR_MAX_VLS &&
		  (!r->granted || (r->sl && !r->sl2vl)) && judge_claims(&j);

	*v = (struct osr_verdict){ 0 };
	j.load = make(&arena, f->n_channels, sizeof(*j.load));
	for (uint32_t d = 0; d < f->n_dests && ok; d++)
		ok = judge_dest(&j, d);
	ok = ok && (!one_block(r) || judge_shared(&j));
	if (ok && r->mcast_parent)
		ok = judge_mcast(&j);
	if (ok) {
		judge_efi(&j);
		v->proven = r->claims;
	}
	osr_arena_free(&arena);
	return ok && !j.changed;
}

bool table_judge(const struct osr_fabric *f, const struct osr_routing *r, struct osr_verdict *v)
{
	return judge_all((struct judge){ .f = f, .r = r, .v = v });
}

void table_tighten(const struct osr_fabric *f, struct osr_routing *r)
{
	struct osr_verdict v;

	memset(r->rank, 0, (size_t)r->n_vls * f->n_channels * sizeof(*r->rank));
	while (!judge_all((struct judge){ .f = f, .r = r, .v = &v, .raises = true }))
		;
}
