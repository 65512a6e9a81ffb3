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

struct splitter {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint32_t n_lids, n_ways; /* with one LID a host all ways are the first */
	uint32_t parts[N_WAYS];  /* of a flow */
	uint32_t fastest;
	uint32_t *host, n_hosts;
	uint32_t *drawn;        /* [n_hosts / 2] the LID of way ONE */
	uint32_t *load[N_WAYS]; /* [n_channels] parts */
	uint32_t *route;        /* [n_switches] channels of the route at hand */
	uint64_t sum[N_WAYS], sum_free;
};

/* The i-th LID of an end port, or the one that stands for it. */
static uint32_t split_dest(const struct splitter *s, uint32_t term, uint32_t i)
{
	const struct osr_fabric *fabric = s->f;

	return fabric->lid_dest[fabric->term_lid[term] + i % (1u << fabric->term_lmc[term])];
}

/* How many channels the route to `dest` has, into s->route; *arrives is false for a dead end and for a loop. */
static uint32_t split_route(struct splitter *s, uint32_t from, uint32_t dest, bool *arrives)
{
	const struct osr_fabric *fabric = s->f;
	uint32_t at = fabric->term_switch[from], n = 0;

	*arrives = false;
	while (n < fabric->n_switches) {
		uint8_t port = osr_lft(s->r, at, dest);
		uint32_t c = osr_port_channel(fabric, at, port);

		if (at == fabric->dest_switch[dest] &&
		    port == fabric->term_port[fabric->dest_term[dest]]) {
			*arrives = true;
			return n;
		}
		if (c == OSR_NONE)
			return n;
		s->route[n++] = c;
		at = fabric->chan_dst[c];
	}
	return n;
}

/* Is the i-th part of the flow of a pair sent this way? */
static bool split_sends(const struct splitter *s, enum way way, uint32_t pair, uint32_t i)
{
	return way == ONE ? i == s->drawn[pair] : i < s->parts[way];
}

static void split_load(struct splitter *s, uint32_t pair, uint32_t i)
{
	uint32_t half = s->n_hosts / 2, from = s->host[pair], to = s->host[half + pair];
	bool arrives;
	uint32_t n = split_route(s, from, split_dest(s, to, i), &arrives);

	for (unsigned way = 0; way < s->n_ways; way++)
		for (uint32_t k = 0; split_sends(s, way, pair, i) && k < n; k++)
			s->load[way][s->route[k]]++;
}

/* What each flow of one way would have if this part's share were the share of all its parts. */
static uint32_t split_share(const struct splitter *s, enum way way, uint32_t n, bool arrives)
{
	uint64_t rate = 1, load = 0;

	/* The busiest channel for its rate. */
	for (uint32_t k = 0; k < n; k++) {
		uint32_t c = s->route[k];
		uint64_t mine = s->f->chan_rate[c] ? s->f->chan_rate[c] : s->fastest;

		if (s->load[way][c] * rate <= load * mine)
			continue;
		load = s->load[way][c];
		rate = mine;
	}
	if (!arrives)
		return 0;
	if (load * s->fastest <= rate * s->parts[way])
		return WHOLE;
	return (uint32_t)(WHOLE * rate * s->parts[way] / (s->fastest * load));
}

static void split_pair(struct splitter *s, uint32_t pair)
{
	uint32_t half = s->n_hosts / 2, from = s->host[pair], to = s->host[half + pair];
	uint32_t least[N_WAYS];

	for (unsigned way = 0; way < s->n_ways; way++)
		least[way] = WHOLE;
	for (uint32_t i = 0; i < s->n_lids; i++) {
		bool arrives;
		uint32_t n = split_route(s, from, split_dest(s, to, i), &arrives);

		for (unsigned way = 0; way < s->n_ways; way++) {
			uint32_t share;

			if (!split_sends(s, way, pair, i))
				continue;
			share = split_share(s, way, n, arrives);
			least[way] = share < least[way] ? share : least[way];
			s->sum_free += way == ALL ? share : 0;
		}
	}
	for (unsigned way = 0; way < s->n_ways; way++)
		s->sum[way] += least[way];
}

static void split_bisection(struct splitter *s, struct osr_prng *draws)
{
	uint32_t half = s->n_hosts / 2;

	for (unsigned way = 0; way < s->n_ways; way++)
		memset(s->load[way], 0, s->f->n_channels * sizeof(*s->load[way]));
	for (uint32_t pair = 0; pair < half; pair++) {
		s->drawn[pair] = osr_prng_below(draws, s->n_lids);
		for (uint32_t i = 0; i < s->n_lids; i++)
			split_load(s, pair, i);
	}
	for (uint32_t pair = 0; pair < half; pair++)
		split_pair(s, pair);
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
			      .fastest = 1 };
	struct osr_prng order = { .state = 1 }, draws = { .state = 2 };
	uint64_t flows;
	uint32_t n;

	s.host = osr_alloc(scratch, fabric->n_terminals, sizeof(*s.host));
	s.drawn = osr_alloc(scratch, fabric->n_terminals, sizeof(*s.drawn));
	s.route = osr_alloc(scratch, fabric->n_switches, sizeof(*s.route));
	for (unsigned way = 0; way < N_WAYS; way++)
		s.load[way] = osr_alloc(scratch, fabric->n_channels, sizeof(*s.load[way]));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	split_hosts(&s);
	n = s.n_hosts ? efforts[effort].senders / s.n_hosts : 0;
	n = n < efforts[effort].least ? efforts[effort].least : n;
	n = n > MOST ? MOST : n;
	for (uint32_t i = 0; s.n_hosts > 1 && i < n; i++) {
		osr_prng_shuffle(&order, s.host, s.n_hosts);
		split_bisection(&s, &draws);
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
