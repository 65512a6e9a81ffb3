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

static uint8_t *entry(const struct osr_routing *routing, uint32_t d, uint32_t s)
{
	return &routing->lft[(size_t)d * routing->n_switches + s];
}

static void init(struct osr_routing *routing, const struct osr_fabric *fabric,
		 struct osr_arena *arena)
{
	if (osr_routing_init(routing, fabric, arena, NULL) != OSR_OK)
		abort();
	routing->engine = "test";
	routing->n_vls = routing->n_layers = 1;
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		*entry(routing, d, fabric->dest_switch[d]) =
			fabric->term_port[fabric->dest_term[d]];
}

static void make_shortest(const struct osr_fabric *fabric, struct osr_arena *arena,
			  struct osr_routing *routing)
{
	uint32_t *dist = make(arena, fabric->n_switches, sizeof(*dist));

	init(routing, fabric, arena);
	routing->claims = OSR_CLAIM_MINIMAL;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		test_distances(fabric, fabric->dest_switch[d], dist);
		for (uint32_t c = fabric->n_channels; c-- > 0;)
			if (dist[fabric->chan_dst[c]] != OSR_NONE &&
			    dist[fabric->chan_dst[c]] + 1 == dist[fabric->chan_src[c]])
				*entry(routing, d, fabric->chan_src[c]) = fabric->chan_port[c];
	}
}

/* 1, 2, ... by distance from the first switch of the component, then by number. */
static void number_switches(const struct osr_fabric *fabric, uint32_t *place)
{
	uint32_t dist[MAX_DRAFT_SWITCHES], next = 1;

	memset(place, 0, fabric->n_switches * sizeof(*place));
	for (uint32_t root = 0; root < fabric->n_switches; root++) {
		if (place[root])
			continue;
		test_distances(fabric, root, dist);
		for (uint32_t level = 0; level < fabric->n_switches; level++)
			for (uint32_t s = 0; s < fabric->n_switches; s++)
				if (dist[s] == level)
					place[s] = next++;
	}
}

/*
 * Once down, always down: a switch that can reach the LID downwards does, the others go up to the
 * neighbour from which it is nearest. Upper switches decide first.
 */
static void route_updown(const struct osr_fabric *fabric, const uint32_t *place,
			 struct osr_routing *routing, uint32_t d)
{
	uint32_t down[MAX_DRAFT_SWITCHES], all[MAX_DRAFT_SWITCHES];

	memset(down, 0xff, sizeof(down));
	memset(all, 0xff, sizeof(all));
	down[fabric->dest_switch[d]] = all[fabric->dest_switch[d]] = 0;
	/* The lower a switch, the earlier all ways down from it are known. */
	for (uint32_t p = fabric->n_switches; p > 0; p--)
		for (uint32_t c = 0; c < fabric->n_channels; c++) {
			uint32_t a = fabric->chan_src[c], b = fabric->chan_dst[c];

			if (place[a] == p && place[b] > p && down[b] != OSR_NONE &&
			    down[b] + 1 < down[a]) {
				down[a] = all[a] = down[b] + 1;
				*entry(routing, d, a) = fabric->chan_port[c];
			}
		}
	for (uint32_t p = 1; p <= fabric->n_switches; p++)
		for (uint32_t c = 0; c < fabric->n_channels; c++) {
			uint32_t a = fabric->chan_src[c], b = fabric->chan_dst[c];

			if (place[a] == p && place[b] < p && down[a] == OSR_NONE &&
			    all[b] != OSR_NONE && all[b] + 1 < all[a]) {
				all[a] = all[b] + 1;
				*entry(routing, d, a) = fabric->chan_port[c];
			}
		}
}

static uint32_t updown_rank(const struct osr_fabric *fabric, const uint32_t *place, uint32_t c)
{
	uint32_t a = place[fabric->chan_src[c]], b = place[fabric->chan_dst[c]];

	return b < a ? fabric->n_switches - a : fabric->n_switches + b;
}

static void make_ranks(const struct osr_fabric *fabric, struct osr_arena *arena, uint64_t *seed,
		       const uint32_t *place, struct osr_routing *routing)
{
	routing->rank =
		make(arena, (size_t)routing->n_vls * fabric->n_channels, sizeof(*routing->rank));
	for (uint32_t i = 0; i < routing->n_vls * fabric->n_channels; i++)
		routing->rank[i] = updown_rank(fabric, place, i % fabric->n_channels) * 8 +
				   test_random(seed) % 8;
}

static void make_mcast(const struct osr_fabric *fabric, struct osr_arena *arena,
		       const uint32_t *place, struct osr_routing *routing)
{
	uint32_t *best = make(arena, fabric->n_switches, sizeof(*best));

	routing->mcast_parent = make(arena, fabric->n_switches, sizeof(*routing->mcast_parent));
	memset(routing->mcast_parent, 0xff, fabric->n_switches * sizeof(*routing->mcast_parent));
	memset(best, 0xff, fabric->n_switches * sizeof(*best));
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t a = fabric->chan_src[c], b = fabric->chan_dst[c];

		if (place[b] < place[a] && place[b] < best[a]) {
			best[a] = place[b];
			routing->mcast_parent[a] = c;
		}
	}
	routing->mcast_vl = routing->n_vls - 1;
}

static void make_sls(const struct osr_fabric *fabric, struct osr_arena *arena, uint64_t *seed,
		     unsigned n_sls, struct osr_routing *routing)
{
	size_t n = (size_t)fabric->n_dests * fabric->n_switches;

	routing->sl = make(arena, n, 1);
	for (size_t i = 0; i < n; i++)
		routing->sl[i] = test_random(seed) % n_sls;
}

static void make_sl2vl(const struct osr_fabric *fabric, struct osr_arena *arena, uint64_t *seed,
		       struct osr_routing *routing)
{
	if (osr_routing_alloc_sl2vl(routing, fabric, 0, arena, NULL))
		abort();
	for (size_t i = 0; i < osr_n_sl2vl(fabric) * 16; i++)
		routing->sl2vl[i / 16][i % 16] = test_random(seed) % routing->n_vls;
	for (unsigned sl = 0; sl < 16; sl++)
		routing->ca_sl2vl[sl] = test_random(seed) % routing->n_vls;
}

void table_make(enum table_kind kind, const struct osr_fabric *fabric, struct osr_arena *arena,
		uint64_t seed, struct osr_routing *routing)
{
	uint32_t place[MAX_DRAFT_SWITCHES];

	if (kind == TABLE_SHORTEST) {
		make_shortest(fabric, arena, routing);
		return;
	}
	init(routing, fabric, arena);
	number_switches(fabric, place);
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		route_updown(fabric, place, routing, d);
	routing->claims = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_MULTICAST;
	if (kind == TABLE_UPDOWN || kind == TABLE_UPDOWN_ANY_SL2VL)
		routing->claims |= OSR_CLAIM_ANY_SL;
	routing->n_vls = kind == TABLE_UPDOWN ? 1 : 3;
	make_ranks(fabric, arena, &seed, place, routing);
	make_mcast(fabric, arena, place, routing);
	if (kind == TABLE_UPDOWN_SL)
		make_sls(fabric, arena, &seed, 3, routing);
	if (kind == TABLE_UPDOWN_SL2VL)
		make_sls(fabric, arena, &seed, 16, routing);
	if (kind == TABLE_UPDOWN_SL2VL || kind == TABLE_UPDOWN_ANY_SL2VL)
		make_sl2vl(fabric, arena, &seed, routing);
}

void table_dateline(const struct osr_fabric *fabric, struct osr_arena *arena,
		    struct osr_routing *routing)
{
	uint32_t n = fabric->n_switches, half = n / 2;

	init(routing, fabric, arena);
	routing->claims = OSR_CLAIM_MINIMAL | OSR_CLAIM_DEADLOCK_FREE;
	routing->n_vls = 2;
	routing->sl = make(arena, (size_t)fabric->n_dests * n, 1);
	routing->rank = make(arena, 2 * fabric->n_channels, sizeof(*routing->rank));
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t from = fabric->chan_src[c], to = fabric->chan_dst[c];
		bool right = to == (from + 1) % n;
		uint32_t step = right ? from : n - 1 - from;

		routing->rank[c] = step;
		routing->rank[fabric->n_channels + c] = (step + n - half) % n;
		for (uint32_t d = 0; d < fabric->n_dests; d++) {
			uint32_t root = fabric->dest_switch[d];
			uint32_t ahead = right ? (root + n - from) % n : (from + n - root) % n;

			/* Where both ways are equal, all turn right. */
			if (from == root || ahead > half || (!right && 2 * ahead == n))
				continue;
			*entry(routing, d, from) = fabric->chan_port[c];
			routing->sl[(size_t)d * n + from] = right ? root < from : root > from;
		}
	}
}

static void *dup(struct osr_arena *arena, const void *from, size_t n, size_t size)
{
	return from ? memcpy(make(arena, n, size), from, n * size) : NULL;
}

void table_copy(const struct osr_fabric *fabric, const struct osr_routing *from,
		struct osr_arena *arena, struct osr_routing *to)
{
	size_t n = fabric->n_switches, pairs = n * fabric->n_dests;

	*to = *from;
	to->lft = dup(arena, from->lft, pairs, 1);
	to->sl = dup(arena, from->sl, pairs, 1);
	to->granted = dup(arena, from->granted, pairs, sizeof(*to->granted));
	to->sl2vl = dup(arena, from->sl2vl, osr_n_sl2vl(fabric), sizeof(*to->sl2vl));
	to->sl2vl_row = dup(arena, from->sl2vl_row, n, sizeof(*to->sl2vl_row));
	to->rank =
		dup(arena, from->rank, (size_t)from->n_vls * fabric->n_channels, sizeof(*to->rank));
	to->mcast_parent = dup(arena, from->mcast_parent, n, sizeof(*to->mcast_parent));
}

uint32_t table_loop(const struct osr_fabric *fabric, const struct osr_routing *routing,
		    uint32_t modes)
{
	const struct osr_generation gen = { .routing = routing };
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_loop loop;

	if (osr_union_loop(fabric, &gen, 1, modes, &scratch, &result, &loop, NULL, NULL))
		abort();
	/* A ring of channels, each with its end where the next one begins. */
	for (uint32_t i = 0; i < loop.n; i++)
		if (fabric->chan_dst[loop.step[i].channel] !=
		    fabric->chan_src[loop.step[(i + 1) % loop.n].channel])
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

static unsigned vl_of(const struct table_waits *waits, uint32_t g, uint32_t s, unsigned in,
		      unsigned out, unsigned sl)
{
	const struct osr_routing *routing = waits->gen[g].routing;

	if (!routing->sl2vl)
		return sl;
	return routing
		->sl2vl[routing->sl2vl_row[s] + in * (waits->fabric->sw_n_ports[s] + 1u) + out][sl];
}

static void wait_for(struct table_waits *waits, uint32_t c, unsigned vl, uint32_t on, unsigned to)
{
	if (vl < OSR_MAX_VLS && to < OSR_MAX_VLS)
		waits->next[waits->turn[c] + on -
			    waits->fabric->chan_row[waits->fabric->chan_dst[c]]][vl] |= vl_bit(to);
}

/*
 * A packet on this SL for dest d is in switch s, over channel c (OSR_NONE: from port `in` of the
 * switch): where may it go?
 */
static void walk(struct table_waits *waits, uint32_t d, unsigned sl, uint32_t s, unsigned in,
		 uint32_t c, unsigned vl)
{
	const struct osr_fabric *fabric = waits->fabric;

	for (uint32_t g = 0; g < waits->n; g++) {
		const struct osr_routing *routing = waits->gen[g].routing;
		unsigned out = osr_lft(routing, s, d);
		uint32_t on = osr_port_channel(fabric, s, out);

		for (uint32_t h = 0; h < waits->n_lanes && out <= fabric->sw_n_ports[s]; h++) {
			unsigned to = vl_of(waits, h, s, in, out, sl);

			if (on == OSR_NONE) {
				waits->last |= out && waits->gen[h].routing->sl2vl ? vl_bit(to) : 0;
				continue;
			}
			waits->vls[on] |= vl_bit(to);
			if (c != OSR_NONE)
				wait_for(waits, c, vl, on, to);
			if (to >= OSR_MAX_VLS || waits->been[on * OSR_MAX_VLS + to] == waits->round)
				continue;
			waits->been[on * OSR_MAX_VLS + to] = waits->round;
			walk(waits, d, sl, fabric->chan_dst[on],
			     fabric->chan_port[fabric->chan_rev[on]], on, to);
		}
	}
}

static bool sends_any_sl(const struct table_waits *waits, uint32_t g)
{
	return (waits->modes & OSR_CLAIM_ANY_SL) ||
	       (!waits->gen[g].paths && !waits->gen[g].routing->sl);
}

static uint16_t sl_bit(unsigned sl)
{
	return sl < 16 ? (uint16_t)(1u << sl) : 0;
}

/* Of a pair: its SL, and those that path records gave earlier. */
static uint16_t pair_sls(const struct osr_routing *routing, size_t pair)
{
	return (uint16_t)(sl_bit(routing->sl[pair]) |
			  (routing->granted ? routing->granted[pair] : 0));
}

/*
 * SLs on which packets for d leave the switches: a generation's requests, and answers on the SL of
 * a request.
 */
static void add_sls(const struct table_waits *waits, uint32_t g, uint32_t d, uint16_t *sls)
{
	const struct osr_fabric *fabric = waits->fabric;
	const struct osr_routing *routing = waits->gen[g].routing;
	const struct osr_paths *paths = waits->gen[g].paths;
	uint32_t n = fabric->n_switches, root = fabric->dest_switch[d], term = fabric->dest_term[d];
	bool host = fabric->term_weight[term],
	     answers = host && (waits->modes & OSR_CLAIM_REVERSIBLE);

	if (sends_any_sl(waits, g)) {
		for (uint32_t s = 0; s < n; s++)
			if (host || fabric->sw_sources[s])
				sls[s] = waits->one_lane ? 1 : UINT16_MAX;
	} else if (paths) {
		for (uint32_t t = 0; t < fabric->n_terminals; t++)
			if (paths->row[t] != OSR_NONE && (host || fabric->term_weight[t]))
				sls[fabric->term_switch[t]] |=
					sl_bit(paths->sl[paths->row[t] * fabric->n_dests + d]);
		for (uint32_t x = 0; answers && paths->row[term] != OSR_NONE && x < fabric->n_dests;
		     x++)
			sls[fabric->dest_switch[x]] |=
				sl_bit(paths->sl[paths->row[term] * fabric->n_dests + x]);
	} else {
		for (uint32_t s = 0; s < n; s++)
			if (host || fabric->sw_sources[s])
				sls[s] |= pair_sls(routing, (size_t)d * n + s);
		for (uint32_t x = 0; answers && fabric->sw_sources[root] && x < fabric->n_dests;
		     x++)
			if (waits->n > 1 || osr_lft(routing, root, x) != OSR_NO_PATH)
				sls[fabric->dest_switch[x]] |=
					pair_sls(routing, (size_t)x * n + root);
	}
}

/*
 * A link of the tree of a group in any generation, or, for MLID 0, of the spanning orders of those
 * without groups.
 */
static bool in_tree(const struct table_waits *waits, uint16_t mlid, uint32_t c)
{
	const struct osr_fabric *fabric = waits->fabric;
	uint32_t s = fabric->chan_src[c];

	for (uint32_t g = 0; g < waits->n; g++) {
		const struct osr_groups *groups = waits->gen[g].groups;
		const uint32_t *parent = waits->gen[g].routing->mcast_parent;

		if (!mlid && parent && !groups &&
		    (parent[s] == c || parent[fabric->chan_dst[c]] == fabric->chan_rev[c]))
			return true;
		for (uint32_t i = 0; mlid && groups && i < groups->n; i++)
			if (groups->mlid[i] == mlid &&
			    groups->ports[i * fabric->n_switches + s][fabric->chan_port[c] / 64] >>
					    fabric->chan_port[c] % 64 &
				    1)
				return true;
	}
	return false;
}

/*
 * Copies on this SL that come to channel c of a tree by port `in`, and go on by every other link of
 * the tree.
 */
static void copy_on(struct table_waits *waits, uint16_t mlid, unsigned sl, unsigned in, uint32_t c)
{
	const struct osr_fabric *fabric = waits->fabric;
	uint32_t next = fabric->chan_dst[c];

	for (uint32_t g = 0; g < waits->n_lanes; g++) {
		unsigned vl = vl_of(waits, g, fabric->chan_src[c], in, fabric->chan_port[c], sl);

		waits->vls[c] |= vl_bit(vl);
		for (uint32_t on = fabric->chan_row[next]; on < fabric->chan_row[next + 1]; on++)
			for (uint32_t h = 0; h < waits->n_lanes; h++)
				if (on != fabric->chan_rev[c] && in_tree(waits, mlid, on))
					wait_for(waits, c, vl, on,
						 vl_of(waits, h, next,
						       fabric->chan_port[fabric->chan_rev[c]],
						       fabric->chan_port[on], sl));
	}
}

/* From end ports of the switch and from the other links of the tree. */
static void copy_from_all(struct table_waits *waits, uint16_t mlid, unsigned sl, uint32_t c)
{
	const struct osr_fabric *fabric = waits->fabric;
	uint32_t s = fabric->chan_src[c];

	if (!in_tree(waits, mlid, c))
		return;
	copy_on(waits, mlid, sl, 0, c);
	for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
		copy_on(waits, mlid, sl, fabric->term_port[t], c);
	for (uint32_t back = fabric->chan_row[s]; back < fabric->chan_row[s + 1]; back++)
		if (back != c && in_tree(waits, mlid, fabric->chan_rev[back]))
			copy_on(waits, mlid, sl, fabric->chan_port[back], c);
}

/* Is multicast of this generation on a VL of its own? */
static bool has_mcast_vl(const struct table_waits *waits, uint32_t g)
{
	return !waits->gen[g].groups && waits->gen[g].routing->mcast_parent &&
	       !sends_any_sl(waits, g);
}

/*
 * On the VL of the spanning order; where lanes stay, nothing changes them at the border of two
 * generations.
 */
static void copy_on_vl(struct table_waits *waits, uint32_t g, uint32_t c)
{
	const struct osr_fabric *fabric = waits->fabric;
	bool lanes_stay = waits->n_lanes == 1 && !waits->gen[0].routing->sl2vl;
	unsigned vl = waits->gen[g].routing->mcast_vl;
	uint32_t next = fabric->chan_dst[c];

	if (!in_tree(waits, 0, c))
		return;
	waits->vls[c] |= vl_bit(vl);
	for (uint32_t on = fabric->chan_row[next]; on < fabric->chan_row[next + 1]; on++)
		for (uint32_t h = 0; h < waits->n; h++)
			if (on != fabric->chan_rev[c] && in_tree(waits, 0, on) &&
			    has_mcast_vl(waits, h) && (h == g || !lanes_stay))
				wait_for(waits, c, vl, on, waits->gen[h].routing->mcast_vl);
}

static void send_copies(struct table_waits *waits)
{
	for (uint32_t c = 0; c < waits->fabric->n_channels; c++)
		for (uint32_t g = 0; g < waits->n; g++) {
			const struct osr_groups *groups = waits->gen[g].groups;

			for (uint32_t i = 0; groups && i < groups->n; i++)
				copy_from_all(waits, groups->mlid[i], groups->sl, c);
			if (groups || !waits->gen[g].routing->mcast_parent)
				continue;
			for (unsigned sl = 0;
			     sends_any_sl(waits, g) && sl < (waits->one_lane ? 1 : 16); sl++)
				copy_from_all(waits, 0, sl, c);
			if (has_mcast_vl(waits, g))
				copy_on_vl(waits, g, c);
		}
}

void table_wait(struct table_waits *waits, struct osr_arena *arena)
{
	const struct osr_fabric *fabric = waits->fabric;
	uint16_t *sls = make(arena, fabric->n_switches, sizeof(*sls));
	uint32_t n_turns = 0;

	waits->n_lanes = waits->gen[0].routing->sl2vl == waits->gen[waits->n - 1].routing->sl2vl
				 ? 1
				 : waits->n;
	waits->turn = make(arena, fabric->n_channels, sizeof(*waits->turn));
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		waits->turn[c] = n_turns;
		n_turns += fabric->chan_row[fabric->chan_dst[c] + 1] -
			   fabric->chan_row[fabric->chan_dst[c]];
	}
	waits->next = make(arena, n_turns, sizeof(*waits->next));
	waits->vls = make(arena, fabric->n_channels, sizeof(*waits->vls));
	waits->been = make(arena, (size_t)fabric->n_channels * OSR_MAX_VLS, sizeof(*waits->been));
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		memset(sls, 0, fabric->n_switches * sizeof(*sls));
		for (uint32_t g = 0; g < waits->n; g++)
			add_sls(waits, g, d, sls);
		for (unsigned sl = 0; sl < 16; sl++) {
			waits->round++;
			for (uint32_t s = 0; s < fabric->n_switches; s++) {
				if (!(sls[s] >> sl & 1))
					continue;
				walk(waits, d, sl, s, 0, OSR_NONE, 0);
				for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1];
				     t++)
					walk(waits, d, sl, s, fabric->term_port[t], OSR_NONE, 0);
			}
		}
	}
	if (waits->modes & OSR_CLAIM_MULTICAST)
		send_copies(waits);
}

bool table_waits_for(const struct table_waits *waits, uint32_t c, unsigned vl, uint32_t on,
		     unsigned to)
{
	return waits->fabric->chan_dst[c] == waits->fabric->chan_src[on] &&
	       waits->next[waits->turn[c] + on -
			   waits->fabric->chan_row[waits->fabric->chan_src[on]]][vl] >>
			       to &
		       1;
}

/*
 * Does every wait rise in these ranks, [vl * n_channels + channel]? With `raises` they are lifted,
 * as far as needed.
 */
static bool waits_rise(const struct table_waits *waits, uint32_t *rank, bool raises)
{
	uint32_t n = waits->fabric->n_channels;
	bool rises = true;

	for (uint32_t v = 0; v < n * OSR_MAX_VLS; v++) {
		uint32_t c = v % n, vl = v / n, s = waits->fabric->chan_dst[c];

		for (uint32_t on = waits->fabric->chan_row[s]; on < waits->fabric->chan_row[s + 1];
		     on++)
			for (unsigned to = 0;
			     waits->next[waits->turn[c] + on - waits->fabric->chan_row[s]][vl] >>
			     to;
			     to++) {
				if (!table_waits_for(waits, c, vl, on, to) ||
				    rank[to * n + on] > rank[v])
					continue;
				rises = false;
				if (raises)
					rank[to * n + on] = rank[v] + 1;
			}
	}
	return rises;
}

bool table_waits_rise(const struct table_waits *waits, const uint32_t *rank)
{
	return waits_rise(waits, (uint32_t *)rank, false);
}

/*
 * Of all that (channel, VL) number v waits for, one more or one less is waited for; what nobody
 * waits for any more is to do.
 */
static void count_waits(const struct table_waits *waits, uint32_t v, bool more, uint32_t *n_before,
			uint32_t *todo, uint32_t *n_todo)
{
	uint32_t n = waits->fabric->n_channels, c = v % n, s = waits->fabric->chan_dst[c];

	for (uint32_t on = waits->fabric->chan_row[s]; on < waits->fabric->chan_row[s + 1]; on++)
		for (unsigned to = 0; to < OSR_MAX_VLS; to++) {
			uint32_t *before = &n_before[to * n + on];

			if (!table_waits_for(waits, c, v / n, on, to))
				continue;
			*before += more ? 1 : -1;
			if (!*before)
				todo[(*n_todo)++] = to * n + on;
		}
}

/* What nobody waits for goes, until nothing is left or nothing can go. */
bool table_waits_end(const struct table_waits *waits)
{
	uint32_t n = waits->fabric->n_channels * OSR_MAX_VLS, n_todo = 0;
	struct osr_arena arena = { 0 };
	uint32_t *n_before = make(&arena, n, sizeof(*n_before));
	uint32_t *todo = make(&arena, n, sizeof(*todo));

	for (uint32_t v = 0; v < n; v++)
		count_waits(waits, v, true, n_before, todo, &n_todo);
	for (uint32_t v = 0; v < n; v++)
		if (!n_before[v])
			todo[n_todo++] = v;
	for (uint32_t i = 0; i < n_todo; i++)
		count_waits(waits, todo[i], false, n_before, todo, &n_todo);
	osr_arena_free(&arena);
	return n_todo == n;
}

/* --- the judge ------------------------------------------------------------------------------- */

static bool one_block(const struct osr_routing *routing)
{
	return !routing->sl2vl && (!routing->sl || (routing->claims & OSR_CLAIM_ANY_SL));
}

static bool sl_exists(const struct osr_routing *routing, unsigned sl)
{
	return sl < 16 && (routing->sl2vl ? routing->ca_sl2vl[sl] : sl) < routing->n_vls;
}

/*
 * Every route to a LID: its SL is there, it arrives, is as short as claimed, and loads what it
 * crosses.
 */
static bool judge_dest(const struct osr_fabric *fabric, const struct osr_routing *routing,
		       uint32_t d, struct osr_verdict *verdict, uint64_t *load, uint64_t *load_all,
		       uint32_t *sls)
{
	bool first = fabric->dest_lid[d] == fabric->term_lid[fabric->dest_term[d]];
	uint32_t dist[MAX_DRAFT_SWITCHES], path[MAX_DRAFT_SWITCHES + 1],
		root = fabric->dest_switch[d];

	if (*entry(routing, d, root) != fabric->term_port[fabric->dest_term[d]])
		return false;
	test_distances(fabric, root, dist);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t at = s, hops = 0, c;

		if (dist[s] == OSR_NONE) {
			if (*entry(routing, d, s) != OSR_NO_PATH)
				return false;
			verdict->n_no_path++;
			continue;
		}
		if (routing->sl) {
			unsigned sl = routing->sl[(size_t)d * fabric->n_switches + s];

			if (!sl_exists(routing, sl))
				return false;
			*sls |= 1u << sl;
		}
		while (at != root && hops <= fabric->n_switches) {
			c = osr_port_channel(fabric, at, *entry(routing, d, at));
			if (c == OSR_NONE)
				return false;
			path[hops++] = c;
			at = fabric->chan_dst[c];
		}
		if (at != root || ((routing->claims & OSR_CLAIM_MINIMAL) && hops != dist[s]))
			return false;
		for (uint32_t i = 0; i < hops && fabric->term_weight[fabric->dest_term[d]]; i++) {
			load[path[i]] += first ? fabric->sw_sources[s] : 0;
			load_all[path[i]] += fabric->sw_sources[s];
		}
		verdict->n_routes += s != root;
		verdict->n_longer += hops > dist[s];
		verdict->max_hops = hops > verdict->max_hops ? hops : verdict->max_hops;
	}
	return true;
}

static uint32_t judge_root(const struct osr_fabric *fabric, const struct osr_routing *routing,
			   uint32_t s)
{
	for (uint32_t hops = 0; hops <= fabric->n_switches; hops++) {
		uint32_t c = routing->mcast_parent[s];

		if (c == OSR_NONE)
			return s;
		if (c >= fabric->n_channels || fabric->chan_src[c] != s)
			return OSR_NONE;
		s = fabric->chan_dst[c];
	}
	return OSR_NONE;
}

/* All that reach end ports have one root, and multicast has a VL. */
static bool judge_mcast(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	if (routing->mcast_vl >= (one_block(routing) ? OSR_MAX_VLS : routing->n_vls))
		return false;
	for (uint32_t a = 0; a < fabric->n_switches; a++) {
		if (judge_root(fabric, routing, a) == OSR_NONE)
			return false;
		for (uint32_t b = 0; b < a; b++)
			if (fabric->sw_sources[a] && fabric->sw_sources[b] &&
			    fabric->sw_component[a] == fabric->sw_component[b] &&
			    judge_root(fabric, routing, a) != judge_root(fabric, routing, b))
				return false;
	}
	return true;
}

/* What needs a certificate, and a spanning order, has one; there are no other claims. */
static bool judge_claims(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	uint32_t more = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;

	if (routing->claims & ~(more | OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_MINIMAL))
		return false;
	if ((routing->claims & OSR_CLAIM_MULTICAST) && !routing->mcast_parent)
		return false;
	/* Who may send on any SL must not have one dropped. */
	for (unsigned sl = 0; routing->sl2vl && !routing->sl && sl < 16; sl++)
		if (!sl_exists(routing, sl))
			return false;
	return routing->claims & OSR_CLAIM_DEADLOCK_FREE ? routing->rank || !fabric->n_channels
							 : !(routing->claims & more);
}

/* Packets find their VLs on every cable, and where the claims say so every wait rises in rank. */
static bool judge_waits(const struct osr_fabric *fabric, const struct osr_routing *routing,
			bool raises)
{
	const struct osr_generation gen = { .routing = routing };
	struct osr_arena arena = { 0 };
	struct table_waits waits = { .fabric = fabric,
				     .gen = &gen,
				     .n = 1,
				     .modes = routing->claims,
				     .one_lane = one_block(routing) };
	bool ok;

	table_wait(&waits, &arena);
	ok = !(waits.last >> routing->n_vls);
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		ok = ok && !(waits.vls[c] >> routing->n_vls) &&
		     !(waits.vls[c] >> fabric->chan_vls[c]);
	if (ok && (routing->claims & OSR_CLAIM_DEADLOCK_FREE))
		while (!(ok = waits_rise(&waits, routing->rank, raises)) && raises)
			;
	osr_arena_free(&arena);
	return ok;
}

bool table_judge(const struct osr_fabric *fabric, const struct osr_routing *routing,
		 struct osr_verdict *verdict)
{
	struct osr_arena arena = { 0 };
	uint64_t *load = make(&arena, fabric->n_channels, sizeof(*load));
	uint64_t *load_all = make(&arena, fabric->n_channels, sizeof(*load_all));
	uint32_t sls = 0; /* of all routes there are */
	double fastest = 0;
	bool ok = routing->n_vls >= 1 && routing->n_vls <= OSR_MAX_VLS &&
		  (!routing->granted || (routing->sl && !routing->sl2vl)) &&
		  judge_claims(fabric, routing);

	*verdict = (struct osr_verdict){ 0 };
	for (uint32_t d = 0; d < fabric->n_dests && ok; d++)
		ok = judge_dest(fabric, routing, d, verdict, load, load_all, &sls);
	/* Where VL = SL and one graph serves all, every cable has the VLs of all SLs. */
	for (uint32_t c = 0; c < fabric->n_channels && one_block(routing); c++)
		ok = ok && !(sls >> fabric->chan_vls[c]);
	ok = ok && (!routing->mcast_parent || judge_mcast(fabric, routing)) &&
	     judge_waits(fabric, routing, false);
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		fastest = fabric->chan_rate[c] > fastest ? fabric->chan_rate[c] : fastest;
	for (uint32_t c = 0; c < fabric->n_channels && ok; c++) {
		double scaled = load[c];

		if (fabric->chan_rate[c])
			scaled = scaled * fastest / fabric->chan_rate[c];
		verdict->efi_mean += (double)load[c] / fabric->n_channels;
		verdict->efi = load[c] > verdict->efi ? load[c] : verdict->efi;
		verdict->efi_all = load_all[c] > verdict->efi_all ? load_all[c] : verdict->efi_all;
		if (scaled > verdict->efi_per_capacity)
			verdict->efi_per_capacity = scaled;
	}
	verdict->proven = ok ? routing->claims : 0;
	osr_arena_free(&arena);
	return ok;
}

void table_tighten(const struct osr_fabric *fabric, struct osr_routing *routing)
{
	memset(routing->rank, 0,
	       (size_t)routing->n_vls * fabric->n_channels * sizeof(*routing->rank));
	if (!judge_waits(fabric, routing, true))
		abort();
}
