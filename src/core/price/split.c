/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See split.h. */
#include <osmroutes/prng.h>
#include <osmroutes/split.h>

#include <string.h>

#define MOST 400      /* bisections */
#define WHOLE 1000000 /* the fastest link */

/* The LIDs that the flows of a bisection are sent to. */
enum way { FIRST, ALL, TWO, ONE, N_WAYS };

static const struct {
	uint32_t senders, least; /* over all bisections; bisections at least */
	enum way n_ways;
} efforts[] = {
	[OSR_SPLIT_CHOICE] = { 6000, 4, TWO },
	[OSR_SPLIT_REPORT] = { 10000, 6, N_WAYS },
	[OSR_SPLIT_EXACT] = { 40000, 12, N_WAYS },
};

/* Where a part goes: channels of s->route. */
struct part {
	size_t begin;
	uint32_t n;
	bool arrives; /* not at a dead end, nor in a loop */
};

struct splitter {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint32_t n_lids, n_ways; /* with one LID a host all ways are the first */
	uint32_t parts[N_WAYS];  /* of a flow */
	uint32_t fastest;
	uint32_t *host, n_hosts;
	uint32_t *drawn;   /* [n_hosts / 2] the LID of way ONE */
	struct part *part; /* [n_hosts / 2 * n_lids] of the bisection at hand */
	uint32_t *route;   /* [room] channels, part by part */
	size_t room, n_route;
	uint32_t *load; /* [n_channels] parts */
	uint64_t sum[N_WAYS], sum_free;
	struct osr_arena *scratch;
};

/* The i-th LID of an end port, or the one that stands for it. */
static uint32_t split_dest(const struct splitter *s, uint32_t term, uint32_t i)
{
	const struct osr_fabric *fabric = s->f;

	return fabric->lid_dest[fabric->term_lid[term] + i % (1u << fabric->term_lmc[term])];
}

/* Room for one more route, of as many channels as there are switches. False: no memory. */
static bool split_make_room(struct splitter *s)
{
	uint32_t *old = s->route;

	if (s->n_route + s->f->n_switches <= s->room)
		return true;
	s->room = 2 * (s->room + s->f->n_switches);
	s->route = osr_alloc(s->scratch, s->room, sizeof(*s->route));
	if (s->route && s->n_route)
		memcpy(s->route, old, s->n_route * sizeof(*old));
	return s->route;
}

static struct part split_route(struct splitter *s, uint32_t from, uint32_t dest)
{
	const struct osr_fabric *fabric = s->f;
	struct part part = { .begin = s->n_route };
	uint32_t at = fabric->term_switch[from];

	for (; part.n < fabric->n_switches; part.n++) {
		uint8_t port = osr_lft(s->r, at, dest);
		uint32_t c = osr_port_channel(fabric, at, port);

		part.arrives = at == fabric->dest_switch[dest] &&
			       port == fabric->term_port[fabric->dest_term[dest]];
		if (part.arrives || c == OSR_NONE)
			break;
		s->route[s->n_route++] = c;
		at = fabric->chan_dst[c];
	}
	return part;
}

/* What each flow of one way would have if this part's share were the share of all its parts. */
static uint32_t split_share(const struct splitter *s, enum way way, const struct part *part)
{
	uint64_t rate = 1, load = 0;

	/* The busiest channel for its rate. */
	for (size_t k = part->begin; k < part->begin + part->n; k++) {
		uint32_t c = s->route[k];
		uint64_t mine = s->f->chan_rate[c] ? s->f->chan_rate[c] : s->fastest;

		if (s->load[c] * rate <= load * mine)
			continue;
		load = s->load[c];
		rate = mine;
	}
	if (!part->arrives)
		return 0;
	if (load * s->fastest <= rate * s->parts[way])
		return WHOLE;
	return (uint32_t)(WHOLE * rate * s->parts[way] / (s->fastest * load));
}

/* One way of all flows: the parts of a pair that are sent load their channels; then each has its share. */
static void split_way(struct splitter *s, enum way way)
{
	uint32_t half = s->n_hosts / 2, n = s->parts[way];

	memset(s->load, 0, s->f->n_channels * sizeof(*s->load));
	for (uint32_t pair = 0; pair < half; pair++) {
		const struct part *part = s->part + (size_t)pair * s->n_lids;

		part += way == ONE ? s->drawn[pair] : 0;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < part[i].n; k++)
				s->load[s->route[part[i].begin + k]]++;
	}
	for (uint32_t pair = 0; pair < half; pair++) {
		const struct part *part = s->part + (size_t)pair * s->n_lids;
		uint32_t least = WHOLE;

		part += way == ONE ? s->drawn[pair] : 0;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t share = split_share(s, way, &part[i]);

			least = share < least ? share : least;
			s->sum_free += way == ALL ? share : 0;
		}
		s->sum[way] += least;
	}
}

/* False: no memory. */
static bool split_bisection(struct splitter *s, struct osr_prng *draws)
{
	uint32_t half = s->n_hosts / 2;

	s->n_route = 0;
	for (uint32_t pair = 0; pair < half; pair++) {
		s->drawn[pair] = osr_prng_below(draws, s->n_lids);
		for (uint32_t i = 0; i < s->n_lids; i++) {
			uint32_t dest = split_dest(s, s->host[half + pair], i);

			if (!split_make_room(s))
				return false;
			s->part[(size_t)pair * s->n_lids + i] =
				split_route(s, s->host[pair], dest);
		}
	}
	for (unsigned way = 0; way < s->n_ways; way++)
		split_way(s, way);
	return true;
}

static void split_hosts(struct splitter *s)
{
	const struct osr_fabric *fabric = s->f;

	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		uint32_t n = 1u << fabric->term_lmc[t];

		if (!fabric->term_weight[t])
			continue;
		s->host[s->n_hosts++] = t;
		s->n_lids = n > s->n_lids ? n : s->n_lids;
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		s->fastest = fabric->chan_rate[c] > s->fastest ? fabric->chan_rate[c] : s->fastest;
	s->parts[FIRST] = s->parts[ONE] = 1;
	s->parts[TWO] = s->n_lids > 1 ? 2 : 1;
	s->parts[ALL] = s->n_lids;
	s->n_ways = s->n_lids > 1 ? s->n_ways : 1;
}

enum osr_status osr_split_measure(const struct osr_fabric *fabric,
				  const struct osr_routing *routing, enum osr_split_effort effort,
				  struct osr_arena *scratch, struct osr_split *split,
				  struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct splitter s = { .f = fabric,
			      .r = routing,
			      .n_lids = 1,
			      .n_ways = efforts[effort].n_ways,
			      .fastest = 1,
			      .scratch = scratch };
	struct osr_prng order = { .state = 1 }, draws = { .state = 2 };
	uint64_t flows;
	uint32_t n;

	s.host = osr_alloc(scratch, fabric->n_terminals, sizeof(*s.host));
	s.drawn = osr_alloc(scratch, fabric->n_terminals, sizeof(*s.drawn));
	s.load = osr_alloc(scratch, fabric->n_channels, sizeof(*s.load));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	split_hosts(&s);
	s.part = osr_alloc(scratch, s.n_hosts / 2, s.n_lids * sizeof(*s.part));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	n = s.n_hosts ? efforts[effort].senders / s.n_hosts : 0;
	n = n < efforts[effort].least ? efforts[effort].least : n;
	n = n > MOST ? MOST : n;
	for (uint32_t i = 0; s.n_hosts > 1 && i < n; i++) {
		osr_prng_shuffle(&order, s.host, s.n_hosts);
		if (!split_bisection(&s, &draws))
			return osr_fail(diag, OSR_NOMEM, "out of memory for %u routes", s.n_hosts);
	}
	flows = (uint64_t)(s.n_hosts / 2) * n;
	flows = flows ? flows : 1;
	for (unsigned way = 0; way < N_WAYS && s.n_lids == 1; way++)
		s.sum_free = s.sum[way] = s.sum[FIRST];
	*split = (struct osr_split){ .n_lids = s.n_lids,
				     .first = (uint32_t)(s.sum[FIRST] / flows),
				     .two = (uint32_t)(s.sum[TWO] / flows),
				     .all = (uint32_t)(s.sum[ALL] / flows),
				     .free = (uint32_t)(s.sum_free / (flows * s.n_lids)),
				     .one = (uint32_t)(s.sum[ONE] / flows) };
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}
