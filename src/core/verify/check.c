/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The breadth-first searches of 64 switches run at once, one bit each (The More the Merrier:
 * Efficient Multi-Source Graph Traversal, Then et al., VLDB 2014).
 *
 * Batches of searches do not depend on each other. Threads take them in turn, each with a checker
 * of its own; the figures of all checkers are added up. If one of them finds a fault, one thread
 * repeats the whole check, so that the fault told is the first one in the order of the switches.
 */
#include <osmroutes/each.h>

#include "check_private.h"

#include <string.h>

/* --- before the first tree -------------------------------------------------------------------- */

/* With SL2VL tables and no SLs senders choose any SL: is each of them mapped to a VL in use? */
static enum osr_status check_free_sls(const struct checker *checker)
{
	const struct osr_routing *routing = checker->routing;

	for (unsigned sl = 0; sl < 16; sl++)
		if (routing->ca_sl2vl[sl] >= routing->n_vls)
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"senders may choose any SL, but their SL2VL tables map SL "
					"%u to VL %u of %u",
					sl, routing->ca_sl2vl[sl], routing->n_vls);
	return OSR_OK;
}

/*
 * Are the tables for this fabric, and are the arrays there that their claims speak of? Refuses
 * before anything is walked.
 */
static enum osr_status check_input(const struct checker *checker)
{
	const uint32_t more = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	const uint32_t all = more | OSR_CLAIM_MINIMAL | OSR_CLAIM_DEADLOCK_FREE;
	const struct osr_routing *routing = checker->routing;
	const struct osr_fabric *fabric = checker->fabric;

	if (!routing->lft)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing has no forwarding tables");
	if (fabric->n_switches > OSR_MAX_LID)
		return osr_fail(checker->diag, OSR_CHECK_FAILED, "%u switches are more than LIDs",
				fabric->n_switches);
	if (routing->n_switches != fabric->n_switches || routing->n_dests != fabric->n_dests ||
	    routing->n_channels != fabric->n_channels)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing is for another fabric: %u switches, %u LIDs and %u "
				"channels instead of %u, %u and %u",
				routing->n_switches, routing->n_dests, routing->n_channels,
				fabric->n_switches, fabric->n_dests, fabric->n_channels);
	if (routing->n_vls < 1 || routing->n_vls > OSR_MAX_VLS)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing uses %u VLs, not 1..%u", routing->n_vls, OSR_MAX_VLS);
	if (routing->sl2vl && !routing->sl2vl_row)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the SL2VL tables belong to no switch");
	if (routing->granted && (!routing->sl || routing->sl2vl))
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"SLs of earlier sweeps are granted beside %s",
				routing->sl ? "SL2VL tables" : "none of this one");
	if (routing->sl2vl && !routing->sl && check_free_sls(checker))
		return OSR_CHECK_FAILED;
	if (routing->claims & ~all)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing makes unknown claims (0x%x)", routing->claims & ~all);
	if ((routing->claims & more) && !(routing->claims & OSR_CLAIM_DEADLOCK_FREE))
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing claims to be free of deadlock for replies, any SL or "
				"multicast (0x%x), but not for its own packets",
				routing->claims & more);
	if ((routing->claims & OSR_CLAIM_DEADLOCK_FREE) && !routing->rank &&
	    checker->fabric->n_channels)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing claims to be free of deadlock without a certificate");
	if ((routing->claims & OSR_CLAIM_MULTICAST) && !routing->mcast_parent)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing claims that multicast is free of deadlock, but has no "
				"spanning order");
	if (routing->mcast_parent &&
	    routing->mcast_vl >= (checker->shared ? OSR_MAX_VLS : routing->n_vls))
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"multicast runs on VL %u, but only %u VLs carry routes",
				routing->mcast_vl, routing->n_vls);
	return OSR_OK;
}

static enum osr_status check_prepare(struct checker *checker, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = checker->fabric;
	size_t n = fabric->n_switches, n_places;
	bool ranked = checker->shared && (checker->routing->claims & OSR_CLAIM_DEADLOCK_FREE);

	checker->n_columns = 2;
	OSR_EACH_SWITCH(s, fabric)
		if (checker->n_columns < fabric->sw_n_ports[s] + 2u)
			checker->n_columns = fabric->sw_n_ports[s] + 2u;
	n_places = n * checker->n_columns;
	checker->port = osr_alloc(scratch, n_places, sizeof(*checker->port));
	checker->dest_row = osr_calloc(scratch, n + 2, sizeof(*checker->dest_row));
	checker->dest = osr_alloc(scratch, fabric->n_dests, sizeof(*checker->dest));
	if (osr_arena_failed(scratch, checker->diag))
		return OSR_NOMEM;
	for (size_t p = 0; p < n_places; p++)
		checker->port[p] = (struct hop){ .to = fabric->n_switches };
	OSR_EVERY_CHANNEL(c, fabric)
		checker->port[(size_t)fabric->chan_src[c] * checker->n_columns +
			      fabric->chan_port[c]] =
			(struct hop){ .to = fabric->chan_dst[c],
				      .key = ranked ? rank_key(checker->routing->rank[c]) - 1 : 0 };
	OSR_EACH_SWITCH(s, fabric)
		checker->n_sources += fabric->sw_sources[s];
	/* Counting sort of the dests by switch: every row's start becomes its end. */
	OSR_EACH_DEST(d, fabric)
		checker->dest_row[fabric->dest_switch[d] + 2]++;
	OSR_EACH_SWITCH(s, fabric)
		checker->dest_row[s + 2] += checker->dest_row[s + 1];
	OSR_EACH_DEST(d, fabric)
		checker->dest[checker->dest_row[fabric->dest_switch[d] + 1]++] = d;
	osr_invariant(checker->dest_row[0] == 0 && checker->dest_row[n] == fabric->n_dests);
	return OSR_OK;
}

/* Allocates the arrays that a walk writes. The caller asks whether there was memory. */
static void check_prepare_walk(struct checker *checker, struct osr_arena *scratch)
{
	size_t n = checker->fabric->n_switches, batch = n < BATCH ? n : BATCH;

	checker->batch.dist = osr_alloc(scratch, batch * (n + 1), sizeof(*checker->batch.dist));
	checker->batch.order = osr_alloc(scratch, batch * n, sizeof(*checker->batch.order));
	checker->batch.seen = osr_alloc(scratch, n, sizeof(*checker->batch.seen));
	checker->batch.front = osr_calloc(scratch, n, sizeof(*checker->batch.front));
	checker->batch.next = osr_calloc(scratch, n, sizeof(*checker->batch.next));
	checker->batch.active = osr_alloc(scratch, n, sizeof(*checker->batch.active));
	checker->batch.reached = osr_alloc(scratch, n, sizeof(*checker->batch.reached));
	checker->nearer = osr_alloc(scratch, n, sizeof(*checker->nearer));
	checker->row = osr_alloc(scratch, n, 1);
	checker->hop = osr_alloc(scratch, n + 1, sizeof(*checker->hop));
	checker->sources = osr_alloc(scratch, n + 1, sizeof(*checker->sources));
	checker->load[0] = osr_calloc(scratch, n * checker->n_columns, sizeof(*checker->load[0]));
	if (checker->fabric->n_dests > checker->fabric->n_terminals)
		checker->load[1] =
			osr_calloc(scratch, n * checker->n_columns, sizeof(*checker->load[1]));
	if (!checker->minimal) {
		checker->longer.order = osr_alloc(scratch, n, sizeof(*checker->longer.order));
		checker->longer.depth = osr_alloc(scratch, n, sizeof(*checker->longer.depth));
		checker->longer.way = osr_alloc(scratch, n, sizeof(*checker->longer.way));
	}
	if (follows_sls(checker))
		osr_check_prepare_follow(checker, scratch);
	/* The hop behind a port that leads to no switch leads to no switch, too. */
	if (checker->hop)
		checker->hop[n] = (struct hop){ .to = n, .key = 1 };
}

/* --- distances ------------------------------------------------------------------------------- */

/* Distances of every switch to each of batch_sw[], and the switches in that order. */
static void batch_search(struct checker *checker)
{
	const struct osr_fabric *fabric = checker->fabric;
	size_t n = fabric->n_switches;
	uint32_t n_active = checker->batch.n;

	memset(checker->batch.seen, 0, n * sizeof(*checker->batch.seen));
	memset(checker->batch.dist, 0xff,
	       checker->batch.n * (n + 1) * sizeof(*checker->batch.dist));
	for (uint32_t i = 0; i < checker->batch.n; i++) {
		uint32_t s = checker->batch.sw[i];

		checker->batch.dist[i * (n + 1) + n] = AWAY;
		checker->batch.seen[s] = checker->batch.front[s] = 1ull << i;
		checker->batch.dist[i * (n + 1) + s] = 0;
		checker->batch.order[i * n] = s;
		checker->batch.n_reached[i] = 1;
		checker->batch.active[i] = s;
	}
	for (uint32_t level = 1; n_active; level++) {
		uint32_t *swap = checker->batch.active, n_reached = 0;

		osr_invariant(level <= n && n_active <= n);
		/* Neighbours of active switches that some search sees for the first time. */
		for (uint32_t i = 0; i < n_active; i++) {
			uint32_t s = checker->batch.active[i];
			uint64_t front = checker->batch.front[s];

			checker->batch.front[s] = 0;
			OSR_EACH_CHANNEL(c, fabric, s) {
				uint32_t to = fabric->chan_dst[c];
				uint64_t fresh = front & ~checker->batch.seen[to];

				if (fresh && !checker->batch.next[to])
					checker->batch.reached[n_reached++] = to;
				checker->batch.next[to] |= fresh;
			}
		}
		/* They are `level` channels away from the start of those searches. */
		for (uint32_t i = 0; i < n_reached; i++) {
			uint32_t s = checker->batch.reached[i];
			uint64_t fresh = checker->batch.next[s];

			checker->batch.next[s] = 0;
			checker->batch.front[s] = fresh;
			checker->batch.seen[s] |= fresh;
			for (; fresh; fresh &= fresh - 1) {
				unsigned b = __builtin_ctzll(fresh);

				osr_invariant(checker->batch.dist[b * (n + 1) + s] == FAR);
				osr_invariant(checker->batch.n_reached[b] < n);
				checker->batch.dist[b * (n + 1) + s] = level;
				checker->batch.order[b * n + checker->batch.n_reached[b]++] = s;
			}
		}
		checker->batch.active = checker->batch.reached;
		checker->batch.reached = swap;
		n_active = n_reached;
	}
}

/* --- several checkers ------------------------------------------------------------------------ */

struct team {
	struct checker *member;
	struct osr_verdict *verdict;
	enum osr_status st;
};

/* The i-th checker checks the destinations of a batch of switches. */
static void team_check(void *ctx, uint32_t i, uint32_t batch)
{
	struct team *team = ctx;
	struct checker *checker = &team->member[i];
	uint32_t n = checker->fabric->n_switches, first = batch * BATCH;
	uint32_t end = n - first < BATCH ? n : first + BATCH;
	enum osr_status st = OSR_OK;

	if (__atomic_load_n(&team->st, __ATOMIC_RELAXED))
		return;
	checker->batch.n = 0;
	for (uint32_t s = first; s < end; s++)
		if (checker->dest_row[s] < checker->dest_row[s + 1])
			checker->batch.sw[checker->batch.n++] = s;
	batch_search(checker);
	for (size_t b = 0; !st && b < checker->batch.n; b++)
		st = osr_check_switch(checker, (struct tree){ .root = checker->batch.sw[b],
							      .n = checker->batch.n_reached[b],
							      .order = checker->batch.order + b * n,
							      .dist = checker->batch.dist +
								      b * (n + (size_t)1) });
	if (st != OSR_OK)
		__atomic_store_n(&team->st, st, __ATOMIC_RELAXED);
}

/* Checks all trees by n checkers; if they find a fault, again by one. */
static enum osr_status check_trees(struct checker *checker, uint32_t n, uint64_t *const load[2],
				   struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct team team = { .member = osr_alloc(scratch, n, sizeof(*team.member)),
			     .verdict = osr_calloc(scratch, n, sizeof(*team.verdict)) };
	struct osr_verdict *sum = checker->verdict;

	for (uint32_t i = 0; i < n; i++) {
		if (osr_arena_failed(scratch, checker->diag))
			return OSR_NOMEM;
		team.member[i] = *checker;
		team.member[i].verdict = &team.verdict[i];
		team.member[i].diag = n > 1 ? NULL : checker->diag;
		check_prepare_walk(&team.member[i], scratch);
	}
	if (osr_arena_failed(scratch, checker->diag))
		return OSR_NOMEM;
	osr_threads_share(scratch, team_check, &team, n,
			  (checker->fabric->n_switches + BATCH - 1) / BATCH);
	if (team.st != OSR_OK && n > 1) {
		osr_arena_reset(scratch, mark);
		return check_trees(checker, 1, load, scratch);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct osr_verdict *part = &team.verdict[i];

		OSR_EVERY_CHANNEL(c, checker->fabric) {
			size_t at = (size_t)checker->fabric->chan_src[c] * checker->n_columns +
				    checker->fabric->chan_port[c];

			load[0][c] += team.member[i].load[0][at];
			if (team.member[i].load[1])
				load[1][c] += team.member[i].load[1][at];
		}
		checker->sls |= team.member[i].sls;
		sum->n_routes += part->n_routes;
		sum->n_longer += part->n_longer;
		sum->n_host_routes += part->n_host_routes;
		sum->n_host_longer += part->n_host_longer;
		sum->n_no_path += part->n_no_path;
		sum->max_hops = sum->max_hops < part->max_hops ? part->max_hops : sum->max_hops;
		if (sum->max_longer < part->max_longer)
			sum->max_longer = part->max_longer;
		sum->hosts.n_longer += part->hosts.n_longer;
		sum->hosts.least += part->hosts.least;
		for (uint32_t hops = 0; hops <= OSR_MAX_HOPS; hops++)
			sum->hosts.hops[hops] += part->hosts.hops[hops];
	}
	return team.st;
}

/* --- the verdict ----------------------------------------------------------------------------- */

void osr_verdict_loads(const struct osr_fabric *fabric, const uint64_t *first,
		       const uint64_t *later, struct osr_verdict *verdict)
{
	uint16_t fastest = osr_fabric_fastest(fabric);
	double sum = 0;

	verdict->efi = verdict->efi_all = 0;
	verdict->efi_mean = verdict->efi_per_capacity = verdict->efi_all_per_capacity = 0;
	OSR_EVERY_CHANNEL(c, fabric) {
		uint16_t rate = fabric->chan_rate[c];
		double scale = rate ? (double)fastest / rate : 1, scaled = (double)first[c] * scale,
		       scaled_all = (double)(first[c] + later[c]) * scale;

		sum += (double)first[c];
		if (first[c] > verdict->efi)
			verdict->efi = first[c];
		if (first[c] + later[c] > verdict->efi_all)
			verdict->efi_all = first[c] + later[c];
		if (scaled > verdict->efi_per_capacity)
			verdict->efi_per_capacity = scaled;
		if (scaled_all > verdict->efi_all_per_capacity)
			verdict->efi_all_per_capacity = scaled_all;
	}
	if (fabric->n_channels)
		verdict->efi_mean = sum / fabric->n_channels;
}

/* Figures of accepted tables agree with each other. */
static void check_figures(const struct osr_fabric *fabric, const struct osr_verdict *verdict,
			  uint64_t *const load[2])
{
	const struct osr_lengths *hosts = &verdict->hosts;
	uint64_t n_loads = 0, n_hops = 0;

	OSR_EVERY_CHANNEL(c, fabric)
		n_loads += load[0][c] + load[1][c];
	for (uint32_t hops = 0; hops <= OSR_MAX_HOPS; hops++)
		n_hops += hosts->hops[hops] * hops;
	/* Every route loads each of its channels once. */
	osr_invariant(hosts->hops[OSR_MAX_HOPS] || n_loads == n_hops);
	osr_invariant(verdict->n_longer <= verdict->n_routes);
	osr_invariant(verdict->n_host_routes <= verdict->n_routes);
	osr_invariant(verdict->n_host_longer <= verdict->n_host_routes);
	osr_invariant(hosts->n_routes <= hosts->n_pairs && hosts->n_longer <= hosts->n_routes);
	osr_invariant(verdict->efi <= verdict->efi_all);
	osr_invariant(verdict->max_longer <= verdict->max_hops);
	osr_invariant(verdict->n_routes + verdict->n_no_path ==
		      (uint64_t)fabric->n_dests * (fabric->n_switches - 1u));
}

/* Is every VL in use there on every cable? For tables in which VL = SL and any SL is safe. */
static enum osr_status check_cables(const struct checker *checker)
{
	const struct osr_fabric *fabric = checker->fabric;
	unsigned highest = checker->sls ? 31 - __builtin_clz(checker->sls) : 0;
	struct name name;

	OSR_EVERY_CHANNEL(c, fabric)
		if (fabric->chan_vls[c] <= highest)
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"the routing uses VL %u, but the cable at switch %s port "
					"%u has only %u VLs",
					highest, sw_name(checker, fabric->chan_src[c], &name),
					fabric->chan_port[c], fabric->chan_vls[c]);
	return OSR_OK;
}

/* load: NULL, or [n_channels]. */
static enum osr_status check_all(const struct osr_fabric *fabric, const struct osr_routing *routing,
				 struct osr_arena *scratch, struct osr_verdict *verdict,
				 uint64_t *load, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct checker checker = {
		.fabric = fabric,
		.routing = routing,
		.verdict = verdict,
		.diag = diag,
		.minimal = routing->claims & OSR_CLAIM_MINIMAL,
		.shared = !routing->sl2vl && (!routing->sl || (routing->claims & OSR_CLAIM_ANY_SL)),
	};
	uint64_t *loads[2] = { load, osr_calloc(scratch, fabric->n_channels, sizeof(*load)) };
	enum osr_status st = check_input(&checker);

	*verdict = (struct osr_verdict){ 0 };
	if (!load)
		loads[0] = osr_alloc(scratch, fabric->n_channels, sizeof(*load));
	if (st == OSR_OK)
		st = check_prepare(&checker, scratch);
	if (st == OSR_OK)
		st = osr_check_prepare_lanes(&checker, scratch);
	if (st == OSR_OK) {
		uint64_t work = (uint64_t)fabric->n_dests * fabric->n_switches;

		memset(loads[0], 0, fabric->n_channels * sizeof(*load));
		st = check_trees(&checker, osr_threads_parts(scratch, work), loads, scratch);
		osr_verdict_loads(fabric, loads[0], loads[1], verdict);
		for (uint32_t hops = 0; hops <= OSR_MAX_HOPS; hops++)
			verdict->hosts.n_routes += verdict->hosts.hops[hops];
		OSR_EACH_DEST(d, fabric)
			if (fabric->term_weight[fabric->dest_term[d]])
				verdict->hosts.n_pairs += checker.n_sources - 1;
		if (st == OSR_OK)
			check_figures(fabric, verdict, loads);
	}
	/* The walk of tables with one graph for all VLs has not followed any VL. */
	if (st == OSR_OK && checker.shared)
		st = check_cables(&checker);
	if (st == OSR_OK && routing->mcast_parent)
		st = osr_check_mcast(&checker, scratch);
	verdict->n_vls = checker.sls ? __builtin_popcount(checker.sls) : routing->n_vls;
	if (st == OSR_OK)
		verdict->proven = routing->claims;
	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_check_keep(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       struct osr_arena *arena, struct osr_arena *scratch,
			       struct osr_checked *checked, struct osr_diag *diag)
{
	uint64_t *load = osr_alloc(arena, fabric->n_channels, sizeof(*load));
	enum osr_status st;

	*checked = (struct osr_checked){ .routing = *routing };
	if (!load)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the loads of %u channels",
				fabric->n_channels);
	st = check_all(fabric, routing, scratch, &checked->verdict, load, diag);
	if (st)
		return st;
	checked->load = load;
	checked->digest = osr_routing_digest(fabric, routing);
	return OSR_OK;
}

bool osr_check_stands(const struct osr_checked *checked, const struct osr_routing *routing,
		      uint64_t digest)
{
	const struct osr_routing *then = &checked->routing;

	return checked->load && checked->digest == digest && then->claims == routing->claims &&
	       then->lft == routing->lft && then->sl == routing->sl &&
	       then->granted == routing->granted && then->sl2vl == routing->sl2vl &&
	       !memcmp(then->ca_sl2vl, routing->ca_sl2vl, sizeof(then->ca_sl2vl)) &&
	       then->n_vls == routing->n_vls && then->rank == routing->rank &&
	       then->mcast_parent == routing->mcast_parent && then->mcast_vl == routing->mcast_vl;
}

enum osr_status osr_check(const struct osr_fabric *fabric, const struct osr_routing *routing,
			  struct osr_arena *scratch, struct osr_verdict *verdict,
			  struct osr_diag *diag)
{
	return check_all(fabric, routing, scratch, verdict, NULL, diag);
}
