/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See split.h. */
#include <osmroutes/each.h>
#include <osmroutes/prng.h>
#include <osmroutes/split.h>

#include <string.h>

#define MOST 400      /* bisections */
#define WHOLE 1000000 /* the fastest link */

/* The LIDs of its receiver that a flow is sent to. */
enum way { FIRST, ALL, TWO, ONE, N_WAYS };

static const struct {
	uint32_t senders; /* of all bisections together */
	uint32_t least;   /* number of bisections */
	enum way n_ways;
} efforts[] = {
	[OSR_SPLIT_CHOICE] = { 2000, 4, TWO },
	[OSR_SPLIT_REPORT] = { 10000, 6, N_WAYS },
	[OSR_SPLIT_EXACT] = { 40000, 12, N_WAYS },
};

/* The route of one part of a flow: channels of splitter->route. */
struct part {
	size_t begin;
	uint32_t n;
	bool arrives; /* false: a dead end, or a loop */
};

struct splitter {
	const struct osr_fabric *fabric;
	const struct osr_routing *routing;
	uint32_t n_lids, n_ways; /* with one LID a host all ways equal FIRST: n_ways is 1 */
	uint32_t parts[N_WAYS];  /* of a flow */
	uint32_t fastest;
	bool alike; /* all channels are as fast */
	uint32_t *host, n_hosts;
	uint32_t *drawn;   /* [n_hosts / 2] the LID of way ONE */
	struct part *part; /* [n_hosts / 2 * n_lids] of the current bisection */
	uint32_t *route;   /* [room] channels, part by part */
	size_t room, n_route;
	uint32_t *load; /* [n_channels] parts */
	uint64_t sum[N_WAYS], sum_free;
	struct osr_arena *scratch;
};

/* The i-th LID of an end port; a port with fewer LIDs repeats them. */
static uint32_t split_dest(const struct splitter *splitter, uint32_t term, uint32_t i)
{
	const struct osr_fabric *fabric = splitter->fabric;

	osr_invariant(term < fabric->n_terminals && i < splitter->n_lids);
	return fabric->lid_dest[fabric->term_lid[term] + i % (1u << fabric->term_lmc[term])];
}

/* Makes room for one more route, of at most n_switches channels. False: no memory. */
static bool split_make_room(struct splitter *splitter)
{
	uint32_t *old = splitter->route;

	if (splitter->n_route + splitter->fabric->n_switches <= splitter->room)
		return true;
	splitter->room = 2 * (splitter->room + splitter->fabric->n_switches);
	splitter->route = osr_alloc(splitter->scratch, splitter->room, sizeof(*splitter->route));
	if (splitter->route && splitter->n_route)
		memcpy(splitter->route, old, splitter->n_route * sizeof(*old));
	return splitter->route;
}

static struct part split_route(struct splitter *splitter, uint32_t from, uint32_t dest)
{
	const struct osr_fabric *fabric = splitter->fabric;
	struct part part = { .begin = splitter->n_route };
	uint32_t at = fabric->term_switch[from];

	for (; part.n < fabric->n_switches; part.n++) {
		uint8_t port = osr_lft(splitter->routing, at, dest);
		uint32_t c = osr_port_channel(fabric, at, port);

		part.arrives = at == fabric->dest_switch[dest] &&
			       port == fabric->term_port[fabric->dest_term[dest]];
		if (part.arrives || c == OSR_NONE)
			break;
		osr_invariant(splitter->n_route < splitter->room);
		splitter->route[splitter->n_route++] = c;
		at = fabric->chan_dst[c];
	}
	return part;
}

/* The bandwidth of a flow if all of its parts had the share of this part. */
static uint32_t split_share(const struct splitter *splitter, enum way way, const struct part *part)
{
	uint64_t rate = splitter->alike ? splitter->fastest : 1, load = 0;

	/* The channel with the highest load / rate. */
	for (size_t k = part->begin; k < part->begin + part->n; k++) {
		uint32_t c = splitter->route[k];
		uint64_t mine;

		if (splitter->alike) {
			load = splitter->load[c] > load ? splitter->load[c] : load;
			continue;
		}
		mine = splitter->fabric->chan_rate[c] ? splitter->fabric->chan_rate[c]
						      : splitter->fastest;

		if (splitter->load[c] * rate <= load * mine)
			continue;
		load = splitter->load[c];
		rate = mine;
	}
	if (!part->arrives)
		return 0;
	if (load * splitter->fastest <= rate * splitter->parts[way])
		return WHOLE;
	return WHOLE * rate * splitter->parts[way] / (splitter->fastest * load);
}

/* Sends all flows in one way: first all parts load their channels, then each part has its share. */
static void split_way(struct splitter *splitter, enum way way)
{
	uint32_t half = splitter->n_hosts / 2, n = splitter->parts[way];

	memset(splitter->load, 0, splitter->fabric->n_channels * sizeof(*splitter->load));
	for (uint32_t pair = 0; pair < half; pair++) {
		const struct part *part = splitter->part + (size_t)pair * splitter->n_lids;

		part += way == ONE ? splitter->drawn[pair] : 0;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < part[i].n; k++)
				splitter->load[splitter->route[part[i].begin + k]]++;
	}
	for (uint32_t pair = 0; pair < half; pair++) {
		const struct part *part = splitter->part + (size_t)pair * splitter->n_lids;
		uint32_t least = WHOLE;

		part += way == ONE ? splitter->drawn[pair] : 0;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t share = split_share(splitter, way, &part[i]);

			least = share < least ? share : least;
			splitter->sum_free += way == ALL ? share : 0;
		}
		osr_invariant(least <= WHOLE);
		splitter->sum[way] += least;
	}
}

/* False: no memory. */
static bool split_bisection(struct splitter *splitter, struct osr_prng *draws)
{
	uint32_t half = splitter->n_hosts / 2;

	splitter->n_route = 0;
	for (uint32_t pair = 0; pair < half; pair++) {
		splitter->drawn[pair] = osr_prng_below(draws, splitter->n_lids);
		for (uint32_t i = 0; i < splitter->n_lids; i++) {
			uint32_t dest = split_dest(splitter, splitter->host[half + pair], i);

			if (!split_make_room(splitter))
				return false;
			splitter->part[(size_t)pair * splitter->n_lids + i] =
				split_route(splitter, splitter->host[pair], dest);
		}
	}
	for (unsigned way = 0; way < splitter->n_ways; way++)
		split_way(splitter, way);
	return true;
}

static void split_hosts(struct splitter *splitter)
{
	const struct osr_fabric *fabric = splitter->fabric;

	OSR_EVERY_TERMINAL(t, fabric) {
		uint32_t n = 1u << fabric->term_lmc[t];

		if (!fabric->term_weight[t])
			continue;
		splitter->host[splitter->n_hosts++] = t;
		splitter->n_lids = n > splitter->n_lids ? n : splitter->n_lids;
	}
	splitter->fastest = osr_fabric_fastest(fabric);
	splitter->fastest += !splitter->fastest;
	splitter->alike = true;
	OSR_EVERY_CHANNEL(c, fabric)
		splitter->alike &=
			!fabric->chan_rate[c] || fabric->chan_rate[c] == splitter->fastest;
	splitter->parts[FIRST] = splitter->parts[ONE] = 1;
	splitter->parts[TWO] = splitter->n_lids > 1 ? 2 : 1;
	splitter->parts[ALL] = splitter->n_lids;
	splitter->n_ways = splitter->n_lids > 1 ? splitter->n_ways : 1;
}

enum osr_status osr_split_measure(const struct osr_fabric *fabric,
				  const struct osr_routing *routing, enum osr_split_effort effort,
				  struct osr_arena *scratch, struct osr_split *split,
				  struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct splitter splitter = { .fabric = fabric,
				     .routing = routing,
				     .n_lids = 1,
				     .n_ways = efforts[effort].n_ways,
				     .scratch = scratch };
	struct osr_prng order = { .state = 1 }, draws = { .state = 2 };
	uint64_t flows;
	uint32_t n;

	splitter.host = osr_alloc(scratch, fabric->n_terminals, sizeof(*splitter.host));
	splitter.drawn = osr_alloc(scratch, fabric->n_terminals, sizeof(*splitter.drawn));
	splitter.load = osr_alloc(scratch, fabric->n_channels, sizeof(*splitter.load));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	split_hosts(&splitter);
	splitter.part =
		osr_alloc(scratch, splitter.n_hosts / 2, splitter.n_lids * sizeof(*splitter.part));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	n = splitter.n_hosts ? efforts[effort].senders / splitter.n_hosts : 0;
	n = n < efforts[effort].least ? efforts[effort].least : n;
	n = n > MOST ? MOST : n;
	if (splitter.n_hosts < 2)
		n = 0;
	for (uint32_t i = 0; i < n; i++) {
		osr_prng_shuffle(&order, splitter.host, splitter.n_hosts);
		if (!split_bisection(&splitter, &draws))
			return osr_fail(diag, OSR_NOMEM, "out of memory for %u routes",
					splitter.n_hosts);
	}
	flows = (uint64_t)(splitter.n_hosts / 2) * n;
	flows = flows ? flows : 1;
	if (splitter.n_lids == 1) {
		splitter.sum_free = splitter.sum[FIRST];
		for (unsigned way = 0; way < N_WAYS; way++)
			splitter.sum[way] = splitter.sum[FIRST];
	}
	/* Parts that do not wait for each other have at least the share of the slowest. */
	osr_invariant(splitter.n_ways < N_WAYS || splitter.n_lids == 1 ||
		      splitter.sum[ALL] * splitter.n_lids <= splitter.sum_free);
	for (unsigned way = 0; way < N_WAYS; way++)
		osr_invariant(splitter.sum[way] <= flows * WHOLE);
	*split = (struct osr_split){ .n_lids = splitter.n_lids,
				     .first = splitter.sum[FIRST] / flows,
				     .two = splitter.sum[TWO] / flows,
				     .all = splitter.sum[ALL] / flows,
				     .free = splitter.sum_free / (flows * splitter.n_lids),
				     .one = (splitter.sum[ONE] / flows) };
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}
