/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which end ports of a switch are mates: see planes.h.
 *
 * A flow that is split over planes waits for its slowest part. If two flows share a channel in
 * plane 0, and the channels that stand for it in plane k are shared by the same two, all parts of a
 * flow meet the same load, and nobody waits. So the channels that stand for one another are to be
 * the same for all end ports, like the cables of a trunk.
 *
 * The end ports of each switch are matched into pairs, the pairs into fours, and so on. Routes from
 * a few switches are looked at. For each two channels it is counted how often they were at the same
 * place of routes to end ports that have been matched. Two units fit as well as their channels have
 * been together so far; a channel that both use takes off a little.
 */
#include <osmroutes/planes.h>

#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/routing.h>

/*
 * Switches with senders whose routes are looked at. With all of them, or in more rounds, flows fare
 * no better.
 */
#define MATES_SOURCES 16
#define MATES_HOPS 16   /* of a route; what lies behind is not looked at */
#define MATES_ROUNDS 20 /* of exchanges; mostly two */
#define MATES_SINGLY 4  /* pairs at first, each of which is counted before the next is chosen */

/*
 * A channel that both use takes off 1/1000 of the largest count, and up to 20/1000 more by its
 * load.
 */
#define MATES_SHARED 1000
#define MATES_LOADED 20
#define MATES_ONCE 1024 /* what a route counts, so that a thousandth of it is something */

struct mates_port {
	uint32_t term;
	uint32_t kind; /* of its group: ports of one kind have the same routes */
};

/* One place of the routes from a switch; or from several, where the channels are the same. */
struct mates_place {
	uint32_t *channel; /* [n_kinds of the group] OSR_NONE: behind the end */
	uint32_t n_senders;
};

/*
 * The end ports of a switch with as many LIDs: port[first] .. port[first + n - 1], in the order of
 * their blocks.
 */
struct mates_group {
	uint32_t first, n;
	uint32_t n_kinds, n_places;
	struct mates_place *place;
	uint8_t lmc;
};

/* How often two channels have been at the same place of two routes. */
struct mates_trunk {
	/* the lower one in the upper half; 0: free, for no channel is a trunk with itself */
	uint64_t pair;
	uint64_t count;
};

struct mates {
	const struct osr_fabric *fabric, *first;
	const struct osr_routing *routing; /* on `first` */
	struct osr_arena *scratch;
	struct mates_port *port, *sorted; /* [n_terminals] */
	struct mates_group *group;
	uint32_t n_groups, n_ports, largest;

	uint32_t source[MATES_SOURCES], n_sources;
	uint32_t n_hops; /* of the longest route so far */
	uint32_t *route; /* [largest * n_sources * MATES_HOPS] of the kinds of one group */
	uint64_t *load;  /* [n_channels] of these routes */
	uint64_t busiest;

	/* One level. */
	uint32_t size;             /* ports of a unit */
	uint32_t n_pairs;          /* that have been matched */
	struct mates_trunk *trunk; /* [1 << bits], open addressing */
	size_t n_trunks;
	unsigned bits;
	uint64_t most; /* the largest count */

	/* One group; [x * largest + y]. */
	int64_t *kind_fit, *fit; /* of two kinds; of two units */
	uint32_t *mate;          /* [largest] of a unit; OSR_NONE: none yet */
};

/* ---- channels that stand for one another ----------------------------------------------------- */

static inline uint64_t mates_pair_of(uint32_t a, uint32_t b)
{
	return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* The entry of a pair of channels, or the free one that is to hold it. */
static struct mates_trunk *mates_trunk_at(const struct mates *mates, uint64_t pair)
{
	size_t at = (size_t)(pair * UINT64_C(0x9e3779b97f4a7c15) >> (64 - mates->bits));

	while (mates->trunk[at].pair != pair && mates->trunk[at].pair)
		at = (at + 1) & (((size_t)1 << mates->bits) - 1);
	return &mates->trunk[at];
}

/* Room for n entries more. */
static bool mates_make_room(struct mates *mates, size_t n)
{
	struct mates_trunk *old = mates->trunk;
	size_t n_old = (size_t)1 << mates->bits;

	if (2 * (mates->n_trunks + n) <= n_old)
		return true;
	while ((size_t)1 << mates->bits < 2 * (mates->n_trunks + n))
		mates->bits++;
	mates->trunk = osr_calloc(mates->scratch, (size_t)1 << mates->bits, sizeof(*mates->trunk));
	for (size_t i = 0; mates->trunk && i < n_old; i++)
		if (old[i].pair)
			*mates_trunk_at(mates, old[i].pair) = old[i];
	return mates->trunk;
}

/* Two kinds: channels at the same place have been together once more. */
static void mates_count(struct mates *mates, const struct mates_group *group, uint32_t x,
			uint32_t y)
{
	for (uint32_t i = 0; i < group->n_places; i++) {
		const struct mates_place *place = &group->place[i];
		uint32_t a = place->channel[x], b = place->channel[y];
		struct mates_trunk *trunk;

		if (a == b || a == OSR_NONE || b == OSR_NONE)
			continue;
		trunk = mates_trunk_at(mates, mates_pair_of(a, b));
		mates->n_trunks += !trunk->pair;
		trunk->pair = mates_pair_of(a, b);
		trunk->count += (uint64_t)MATES_ONCE * place->n_senders;
		mates->most = trunk->count > mates->most ? trunk->count : mates->most;
	}
}

/* The fit of each two kinds: that of the channels at each place, for each sender. */
static void mates_compare_kinds(struct mates *mates, const struct mates_group *group)
{
	uint64_t step = mates->most / MATES_SHARED;

	for (uint32_t x = 0; x < group->n_kinds; x++)
		memset(mates->kind_fit + x * mates->largest, 0,
		       group->n_kinds * sizeof(*mates->kind_fit));
	for (uint32_t i = 0; i < group->n_places; i++) {
		const struct mates_place *place = &group->place[i];
		const uint32_t *channel = place->channel;

		for (uint32_t x = 0; x < group->n_kinds; x++) {
			uint32_t a = channel[x];
			int64_t *fit = mates->kind_fit + x * mates->largest;
			uint64_t shared;

			if (a == OSR_NONE)
				continue;
			shared = step + step * MATES_LOADED * mates->load[a] / mates->busiest;
			for (uint32_t y = x; y < group->n_kinds; y++) {
				uint32_t b = channel[y];

				if (a == b)
					fit[y] -= (int64_t)(shared * place->n_senders);
				else if (b != OSR_NONE)
					fit[y] +=
						(int64_t)(mates_trunk_at(mates, mates_pair_of(a, b))
								  ->count *
							  place->n_senders);
			}
		}
	}
	for (uint32_t x = 0; x < group->n_kinds; x++)
		for (uint32_t y = 0; y < x; y++)
			mates->kind_fit[x * mates->largest + y] =
				mates->kind_fit[y * mates->largest + x];
}

/* ---- one group ------------------------------------------------------------------------------- */

/* The fit of each two units, from that of each two kinds. */
static void mates_compare(struct mates *mates, const struct mates_group *group)
{
	const struct mates_port *port = mates->port + group->first;
	uint32_t n_units = group->n / mates->size, size = mates->size;

	mates_compare_kinds(mates, group);
	for (uint32_t x = 0; x < n_units; x++)
		for (uint32_t y = x + 1; y < n_units; y++) {
			int64_t fit = 0;

			for (uint32_t i = x * size; i < (x + 1) * size; i++)
				for (uint32_t k = y * size; k < (y + 1) * size; k++)
					fit += mates->kind_fit[port[i].kind * mates->largest +
							       port[k].kind];
			mates->fit[x * mates->largest + y] = mates->fit[y * mates->largest + x] =
				fit;
		}
}

/* The two units without a mate that fit best become mates; the first ones of equal pairs. */
static void mates_take_best(struct mates *mates, uint32_t n_units, uint32_t *x, uint32_t *y)
{
	*x = *y = OSR_NONE;
	for (uint32_t i = 0; i < n_units; i++)
		for (uint32_t k = i + 1; mates->mate[i] == OSR_NONE && k < n_units; k++) {
			if (mates->mate[k] != OSR_NONE ||
			    (*x != OSR_NONE && mates->fit[i * mates->largest + k] <=
						       mates->fit[*x * mates->largest + *y]))
				continue;
			*x = i;
			*y = k;
		}
	mates->mate[*x] = *y;
	mates->mate[*y] = *x;
}

/*
 * x and y become mates, and what were their mates; y may have been left over. Only where the sum of
 * fits grows.
 */
static bool mates_exchange(struct mates *mates, uint32_t x, uint32_t y)
{
	uint32_t p = mates->mate[x], q = mates->mate[y];
	int64_t now, then;

	if (p == OSR_NONE || x == y || p == y)
		return false;
	now = mates->fit[x * mates->largest + p];
	then = mates->fit[x * mates->largest + y];
	if (q != OSR_NONE) {
		now += mates->fit[y * mates->largest + q];
		then += mates->fit[p * mates->largest + q];
		if (then > now)
			mates->mate[q] = p;
	}
	if (then <= now)
		return false;
	mates->mate[x] = y;
	mates->mate[y] = x;
	mates->mate[p] = q;
	return true;
}

static bool mates_count_units(struct mates *mates, const struct mates_group *group, uint32_t x,
			      uint32_t y)
{
	const struct mates_port *port = mates->port + group->first;
	uint32_t size = mates->size;

	if (!mates_make_room(mates, (size_t)size * size * group->n_places))
		return false;
	for (uint32_t i = x * size; i < (x + 1) * size; i++)
		for (uint32_t k = y * size; k < (y + 1) * size; k++)
			mates_count(mates, group, port[i].kind, port[k].kind);
	mates->n_pairs++;
	return true;
}

/*
 * Pairs of units, the best first. At first each pair is counted before the next is chosen; later
 * the pairs of a group are chosen together, and exchange units. False: no memory.
 */
static bool mates_match(struct mates *mates, const struct mates_group *group)
{
	uint32_t n_units = group->n / mates->size, x, y;
	bool singly = mates->n_pairs < MATES_SINGLY, good = true, changed = true;

	memset(mates->mate, 0xff, n_units * sizeof(*mates->mate));
	for (uint32_t n = 0; good && n < n_units / 2; n++) {
		if (!n || singly)
			mates_compare(mates, group);
		mates_take_best(mates, n_units, &x, &y);
		if (singly)
			good = mates_count_units(mates, group, x, y);
	}
	for (uint32_t round = 0; !singly && changed && round < MATES_ROUNDS; round++) {
		changed = false;
		for (x = 0; x < n_units; x++)
			for (y = 0; y < n_units; y++)
				changed |= mates_exchange(mates, x, y);
	}
	for (x = 0; !singly && good && x < n_units; x++)
		if (mates->mate[x] != OSR_NONE && mates->mate[x] > x)
			good = mates_count_units(mates, group, x, mates->mate[x]);
	return good;
}

/* Ports in a new order: two mates beside each other, a unit that is left over behind all pairs. */
static void mates_join(struct mates *mates, const struct mates_group *group)
{
	struct mates_port *port = mates->port + group->first;
	uint32_t n_units = group->n / mates->size, n = 0, left = OSR_NONE;
	size_t bytes = mates->size * sizeof(*port);

	for (uint32_t x = 0; x < n_units; x++) {
		uint32_t y = mates->mate[x];

		left = y == OSR_NONE ? x : left;
		if (y == OSR_NONE || y < x)
			continue;
		memcpy(mates->sorted + n, port + x * mates->size, bytes);
		memcpy(mates->sorted + n + mates->size, port + y * mates->size, bytes);
		n += 2 * mates->size;
	}
	if (left != OSR_NONE)
		memcpy(mates->sorted + n, port + left * mates->size, bytes);
	memcpy(port, mates->sorted, n_units * bytes);
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* Switches with senders, at equal distances in the list of all that have some. */
static void mates_choose_sources(struct mates *mates)
{
	uint32_t n_all = 0, i = 0;

	OSR_EACH_SWITCH(s, mates->fabric) {
		n_all += mates->fabric->sw_sources[s] != 0;
	}
	mates->n_sources = n_all < MATES_SOURCES ? n_all : MATES_SOURCES;
	OSR_EACH_SWITCH(s, mates->fabric) {
		uint64_t k = (uint64_t)i * mates->n_sources / n_all;

		if (!mates->fabric->sw_sources[s])
			continue;
		/* The first one of each of n_sources parts of the list. */
		if (!i || k != (uint64_t)(i - 1) * mates->n_sources / n_all)
			mates->source[k] = s;
		i++;
	}
}

/*
 * The first channels of the route from a switch to a port, OSR_NONE behind the last; they carry its
 * senders.
 */
static void mates_walk(struct mates *mates, uint32_t from, uint32_t term,
		       uint32_t route[MATES_HOPS])
{
	uint32_t d = mates->first->lid_dest[mates->fabric->term_lid[term]], s = from;
	const uint8_t *row = mates->routing->lft + (size_t)d * mates->fabric->n_switches;

	memset(route, 0xff, MATES_HOPS * sizeof(*route));
	for (uint32_t hop = 0; s != mates->fabric->term_switch[term] && hop < MATES_HOPS; hop++) {
		uint32_t c = osr_port_channel(mates->fabric, s, row[s]);

		if (c == OSR_NONE)
			break;
		route[hop] = c;
		mates->n_hops = hop < mates->n_hops ? mates->n_hops : hop + 1;
		mates->load[c] += mates->fabric->sw_sources[from];
		s = mates->fabric->chan_dst[c];
	}
}

/* Routes from all sources to a port, behind those of the group's kinds; then its kind is known. */
static void mates_trace(struct mates *mates, struct mates_group *group, struct mates_port *port)
{
	size_t n = (size_t)mates->n_sources * MATES_HOPS;
	uint32_t *mine = mates->route + group->n_kinds * n;

	for (uint32_t i = 0; i < mates->n_sources; i++)
		mates_walk(mates, mates->source[i], port->term, mine + (size_t)i * MATES_HOPS);
	for (port->kind = 0; port->kind < group->n_kinds; port->kind++)
		if (!memcmp(mates->route + port->kind * n, mine, n * sizeof(*mine)))
			return;
	group->n_kinds++;
}

/*
 * The places of these routes, hop by hop; what one source has as the one before is one place.
 * False: no memory.
 */
static bool mates_find_places(struct mates *mates, struct mates_group *group)
{
	size_t n = (size_t)mates->n_sources * MATES_HOPS,
	       most = (size_t)mates->n_sources * mates->n_hops,
	       bytes = group->n_kinds * sizeof(uint32_t);
	uint32_t *channel = osr_alloc(mates->scratch, most, bytes);

	group->place = osr_alloc(mates->scratch, most, sizeof(*group->place));
	if (!channel || !group->place)
		return false;
	for (uint32_t hop = 0; hop < mates->n_hops; hop++) {
		bool any = false;

		for (uint32_t i = 0; i < mates->n_sources; i++) {
			struct mates_place *place = group->place + group->n_places;
			bool here = false;

			for (uint32_t kind = 0; kind < group->n_kinds; kind++) {
				channel[kind] = mates->route[kind * n + i * MATES_HOPS + hop];
				here |= channel[kind] != OSR_NONE;
			}
			if (!here)
				continue;
			if (any && !memcmp(place[-1].channel, channel, bytes)) {
				place[-1].n_senders += mates->fabric->sw_sources[mates->source[i]];
				continue;
			}
			any = true;
			*place =
				(struct mates_place){ channel,
						      mates->fabric->sw_sources[mates->source[i]] };
			group->n_places++;
			channel += group->n_kinds;
		}
	}
	return true;
}

static enum osr_status mates_trace_all(struct mates *mates, struct osr_diag *diag)
{
	bool good;

	mates->route = osr_alloc(mates->scratch, mates->largest + 1u,
				 sizeof(*mates->route) * mates->n_sources * MATES_HOPS);
	good = mates->route;
	for (uint32_t g = 0; good && g < mates->n_groups; g++) {
		struct mates_group *group = &mates->group[g];

		for (uint32_t i = 0; i < group->n; i++)
			mates_trace(mates, group, &mates->port[group->first + i]);
		good = mates_find_places(mates, group);
	}
	mates->busiest = 1;
	for (uint32_t c = 0; c < mates->fabric->n_channels; c++)
		mates->busiest = mates->load[c] > mates->busiest ? mates->load[c] : mates->busiest;
	return osr_arena_failed(mates->scratch, diag) ? OSR_NOMEM : OSR_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

/*
 * Ports by switch and number of LIDs; one that is alone has nobody to choose from, and needs no
 * group.
 */
static void mates_group(struct mates *mates, uint32_t n_planes)
{
	const struct osr_fabric *fabric = mates->fabric;

	OSR_EACH_SWITCH(s, fabric) {
		for (uint8_t lmc = 1; 1u << lmc <= n_planes; lmc++) {
			struct mates_group group = { .first = mates->n_ports, .lmc = lmc };

			OSR_EACH_TERMINAL(t, fabric, s) {
				if (fabric->term_lmc[t] == lmc && fabric->term_weight[t])
					mates->port[group.first + group.n++].term = t;
			}
			if (group.n < 2)
				continue;
			mates->n_ports += group.n;
			mates->group[mates->n_groups++] = group;
			mates->largest = group.n > mates->largest ? group.n : mates->largest;
		}
	}
}

/* Units of `size` ports of all groups become units of twice as many. False: no memory. */
static bool mates_level(struct mates *mates, uint32_t size)
{
	bool good = true;

	mates->size = size;
	mates->n_trunks = mates->n_pairs = 0;
	mates->most = MATES_ONCE;
	memset(mates->trunk, 0, sizeof(*mates->trunk) << mates->bits);
	for (uint32_t g = 0; good && g < mates->n_groups; g++) {
		const struct mates_group *group = &mates->group[g];

		if (1u << group->lmc <= size || group->n / size < 2)
			continue;
		good = mates_match(mates, group);
		if (good)
			mates_join(mates, group);
	}
	return good;
}

/*
 * Plane k of the i-th of a block of n is the tree of its (i xor (k mod n))-th. What is left of a
 * group is a smaller block.
 */
static void mates_fill(const struct mates *mates, const struct mates_group *group,
		       struct osr_planes *planes)
{
	const struct osr_fabric *fabric = mates->fabric;
	const struct mates_port *port = mates->port + group->first, *end = port + group->n;
	uint32_t n_planes = 1u << group->lmc;

	for (uint32_t n = n_planes; port < end; port += n) {
		while (port + n > end)
			n /= 2;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 1; k < n_planes; k++) {
				uint32_t lid = fabric->term_lid[port[i].term] + k,
					 mate = port[i ^ (k % n)].term;

				planes->tree_of[fabric->lid_dest[lid]] =
					fabric->lid_dest[fabric->term_lid[mate]];
			}
	}
}

enum osr_status osr_planes_mates(const struct osr_fabric *fabric,
				 const struct osr_fabric *first_fabric,
				 const struct osr_routing *routing, struct osr_arena *scratch,
				 struct osr_planes *planes, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n = fabric->n_terminals;
	struct mates mates = { .fabric = fabric,
			       .first = first_fabric,
			       .routing = routing,
			       .scratch = scratch,
			       .port = osr_alloc(scratch, n, sizeof(*mates.port)),
			       .sorted = osr_alloc(scratch, n, sizeof(*mates.sorted)),
			       .group = osr_alloc(scratch, n, sizeof(*mates.group)),
			       .load = osr_calloc(scratch, fabric->n_channels, sizeof(*mates.load)),
			       .bits = 10 };
	bool good = true;

	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	mates_group(&mates, planes->n);
	mates_choose_sources(&mates);
	if (mates_trace_all(&mates, diag))
		return OSR_NOMEM;
	mates.trunk = osr_alloc(scratch, (size_t)1 << mates.bits, sizeof(*mates.trunk));
	mates.kind_fit =
		osr_alloc(scratch, (size_t)mates.largest * mates.largest, sizeof(*mates.kind_fit));
	mates.fit = osr_alloc(scratch, (size_t)mates.largest * mates.largest, sizeof(*mates.fit));
	mates.mate = osr_alloc(scratch, mates.largest, sizeof(*mates.mate));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t size = 1; good && size < planes->n; size *= 2)
		good = mates_level(&mates, size);
	if (!good)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the mates of %zu end ports", n);
	for (uint32_t k = 1; k < planes->n; k++)
		planes->kind[k] = OSR_PLANE_MATES;
	for (uint32_t g = 0; g < mates.n_groups; g++)
		mates_fill(&mates, &mates.group[g], planes);
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}
