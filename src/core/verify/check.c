/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The destinations of one switch share their distances, so they are checked together, and the
 * breadth-first searches of 64 such switches run at once, one bit each (The More the Merrier:
 * Efficient Multi-Source Graph Traversal, Then et al., VLDB 2014).
 *
 * The forwarding entries of one destination form a tree. It is walked once, from the farthest
 * switch to the nearest, so that everything known of upstream switches has arrived when a switch is
 * looked at: how many sources send through it, the highest rank its packets came from, their SLs.
 *
 * A walk only says yes or no, which keeps it fast. After a no, blame_*() look again, in the order
 * of the switch numbers, for the sentence.
 *
 * Batches of searches do not depend on each other: threads take them in turn, each with a checker of its
 * own, whose figures are added up. Where one says no, all is looked at again by one thread: the first
 * fault in the order of the switches is the one told.
 */
#include "check_private.h"

#include <string.h>

/* --- distances ------------------------------------------------------------------------------- */

static void batch_start(struct checker *k)
{
	size_t n = k->f->n_switches;

	memset(k->seen, 0, n * sizeof(*k->seen));
	memset(k->dist, 0xff, k->n_batch * (n + 1) * sizeof(*k->dist));
	for (uint32_t i = 0; i < k->n_batch; i++) {
		uint32_t s = k->batch_sw[i];

		k->seen[s] = k->front[s] = 1ull << i;
		k->dist[i * (n + 1) + s] = 0;
		k->order[i * n] = s;
		k->batch_n[i] = 1;
		k->active[i] = s;
	}
}

/* Switches next to the active ones that some search sees for the first time. */
static uint32_t batch_expand(struct checker *k, uint32_t n_active)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_active; i++) {
		uint32_t s = k->active[i];
		uint64_t front = k->front[s];

		k->front[s] = 0;
		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			uint32_t to = fabric->chan_dst[c];
			uint64_t fresh = front & ~k->seen[to];

			if (!fresh)
				continue;
			if (!k->next[to])
				k->reached[n++] = to;
			k->next[to] |= fresh;
		}
	}
	return n;
}

static void batch_settle(struct checker *k, uint32_t s, uint32_t level)
{
	size_t n = k->f->n_switches;
	uint64_t fresh = k->next[s];

	k->next[s] = 0;
	k->front[s] = fresh;
	k->seen[s] |= fresh;
	for (; fresh; fresh &= fresh - 1) {
		unsigned i = __builtin_ctzll(fresh);

		k->dist[i * (n + 1) + s] = level;
		k->order[i * n + k->batch_n[i]++] = s;
	}
}

/* Distances of every switch to each of batch_sw[], and the switches in that order. */
static void batch_search(struct checker *k)
{
	uint32_t n_active = k->n_batch;

	batch_start(k);
	for (uint32_t level = 1; n_active; level++) {
		uint32_t *swap = k->active;

		n_active = batch_expand(k, n_active);
		for (uint32_t i = 0; i < n_active; i++)
			batch_settle(k, k->reached[i], level);
		k->active = k->reached;
		k->reached = swap;
	}
}

/* --- the walk -------------------------------------------------------------------------------- */

/*
 * True if every entry of the tree leads along a cable and, if `minimal`, to a switch one hop
 * nearer, which excludes loops; if `ranked`, every dependency rises in the shared certificate; if
 * `counted` (the LID of an end port, not of a port 0), the routes are added to the loads.
 */
static inline __attribute__((always_inline)) bool
check_walk(struct checker *k, const struct tree *t, bool minimal, bool ranked, bool counted)
{
	struct inflow *inflow = k->inflow;

	if (ranked || counted)
		memcpy(inflow, k->inflow_start, k->f->n_switches * sizeof(*inflow));
	for (uint32_t i = t->n - 1; i > 0; i--) {
		uint32_t s = t->order[i], out = t->lft[s];
		struct sw sw = k->sw[s];
		struct port *p;

		if (out > sw.n_ports)
			return false;
		p = &k->port[sw.row + out];
		/* No switch behind the port: dist has one entry too many for that, OSR_NONE. */
		if (minimal && t->dist[p->dst] + 1 != t->dist[s])
			return false;
		/* Nobody asks one port 0 from another: see check.h. */
		if (ranked && !counted && !inflow[s].sources)
			continue;
		if (ranked && inflow[s].key >= p->key)
			return false;
		if (ranked && inflow[p->dst].key < p->key)
			inflow[p->dst].key = p->key;
		if (ranked || counted)
			inflow[p->dst].sources += inflow[s].sources;
		if (counted)
			p->load += inflow[s].sources;
	}
	return true;
}

/* One loop for each kind of tree, so that no loop asks what kind it is in. */
static bool check_walk_tree(struct checker *k, const struct tree *t)
{
	bool ranked = k->shared && (k->r->claims & OSR_CLAIM_DEADLOCK_FREE);
	bool counted = k->f->term_weight[k->f->dest_term[t->dest]] > 0;

	if (k->minimal && ranked)
		return counted ? check_walk(k, t, true, true, true)
			       : check_walk(k, t, true, true, false);
	if (k->minimal)
		return counted ? check_walk(k, t, true, false, true)
			       : check_walk(k, t, true, false, false);
	if (ranked)
		return counted ? check_walk(k, t, false, true, true)
			       : check_walk(k, t, false, true, false);
	return counted ? check_walk(k, t, false, false, true)
		       : check_walk(k, t, false, false, false);
}

/*
 * Without a promise of shortest routes the order must come from the tree itself: switches nobody
 * sends through first, then those that only these send through, ... What remains is a loop, or
 * sends into one. False if anything remains or an entry leads nowhere; else t->order is the order
 * found.
 */
static bool peel_tree(struct checker *k, struct tree *t)
{
	uint32_t n = t->n, done = n;

	memset(k->n_children, 0, k->f->n_switches * sizeof(*k->n_children));
	for (uint32_t i = 1; i < n; i++) {
		uint32_t s = t->order[i], c = osr_port_channel(k->f, s, t->lft[s]);

		if (c == OSR_NONE)
			return false;
		k->n_children[k->f->chan_dst[c]]++;
	}
	for (uint32_t i = 1; i < n; i++)
		if (!k->n_children[t->order[i]])
			k->peel[--done] = t->order[i];
	for (uint32_t i = n; i-- > done && done > 0;) {
		uint32_t next = k->f->chan_dst[chan_of(k, t, k->peel[i])];

		if (--k->n_children[next] == 0 && next != t->root)
			k->peel[--done] = next;
	}
	k->peel[0] = t->root;
	t->order = k->peel;
	return done <= 1;
}

/* How long the routes of a peeled tree are. */
static void measure_tree(struct checker *k, const struct tree *t)
{
	struct osr_verdict *verdict = k->v;
	bool host = k->f->term_weight[k->f->dest_term[t->dest]];

	k->depth[t->root] = 0;
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t s = t->order[i];
		uint32_t depth = k->depth[k->f->chan_dst[chan_of(k, t, s)]] + 1;

		k->depth[s] = depth;
		if (depth > verdict->max_hops)
			verdict->max_hops = depth;
		if (depth > t->dist[s]) {
			verdict->n_longer++;
			verdict->n_host_longer += host && k->f->sw_sources[s];
			if (depth - t->dist[s] > verdict->max_longer)
				verdict->max_longer = depth - t->dist[s];
		}
	}
}

/* --- tree by tree ---------------------------------------------------------------------------- */

static enum osr_status verify_check_tree(struct checker *k, struct tree *t)
{
	enum osr_status st = osr__check_blame_root(k, t);
	bool host = k->f->term_weight[k->f->dest_term[t->dest]];

	/* Where no cable leads there must be no entry. */
	k->v->n_no_path += k->f->n_switches - t->n;
	for (uint32_t s = 0; s < k->f->n_switches && t->n < k->f->n_switches && !st; s++)
		if (t->dist[s] == OSR_NONE && t->lft[s] != OSR_NO_PATH)
			st = osr__check_blame_tree(k, t);
	if (st != OSR_OK)
		return st;
	if (k->minimal && t->dist[t->order[t->n - 1]] > k->v->max_hops)
		k->v->max_hops = t->dist[t->order[t->n - 1]];
	if (!k->minimal) {
		if (!peel_tree(k, t))
			return osr__check_blame_tree(k, t);
		measure_tree(k, t);
	}
	if (!check_walk_tree(k, t))
		return osr__check_blame_tree(k, t);
	/* Switches of the tree, but its root, that have CAs or routers send to hosts. */
	for (uint32_t i = 1; host && i < t->n; i++)
		k->v->n_host_routes += k->f->sw_sources[t->order[i]] != 0;
	k->v->n_routes += t->n - 1;
	if (!follows_sls(k))
		return OSR_OK;
	return k->r->sl2vl ? osr__check_follow_vls(k, t) : osr__check_follow_sls(k, t);
}

/* The destinations of the switches from `first` on. */
static enum osr_status check_batch(struct checker *k, uint32_t first)
{
	size_t n = k->f->n_switches;

	k->n_batch = 0;
	for (uint32_t s = first; s < n && s - first < BATCH; s++)
		if (k->dest_row[s] < k->dest_row[s + 1])
			k->batch_sw[k->n_batch++] = s;
	batch_search(k);
	for (uint32_t i = 0; i < k->n_batch; i++) {
		uint32_t s = k->batch_sw[i];

		for (uint32_t j = k->dest_row[s]; j < k->dest_row[s + 1]; j++) {
			struct tree t = { .dest = k->dest[j],
					  .root = s,
					  .n = k->batch_n[i],
					  .order = k->order + i * n,
					  .dist = k->dist + i * (n + 1),
					  .lft = k->r->lft + k->dest[j] * n };
			enum osr_status st = verify_check_tree(k, &t);

			if (st != OSR_OK)
				return st;
		}
	}
	return OSR_OK;
}

/* --- several checkers ------------------------------------------------------------------------ */

struct team {
	struct checker *member;
	struct osr_verdict *verdict;
	uint32_t next; /* switch of the next batch */
	enum osr_status st;
};

static void team_check(void *ctx, uint32_t i)
{
	struct team *team = ctx;
	struct checker *k = &team->member[i];

	while (!__atomic_load_n(&team->st, __ATOMIC_RELAXED)) {
		uint32_t first = __atomic_fetch_add(&team->next, BATCH, __ATOMIC_RELAXED);
		enum osr_status st = first < k->f->n_switches ? check_batch(k, first) : OSR_OK;

		if (st != OSR_OK)
			__atomic_store_n(&team->st, st, __ATOMIC_RELAXED);
		if (first >= k->f->n_switches)
			return;
	}
}

static void team_add(struct checker *k, const struct checker *member)
{
	const struct osr_verdict *part = member->v;
	struct osr_verdict *sum = k->v;

	for (uint32_t p = 0; p < k->f->n_ports; p++)
		k->port[p].load += member->port[p].load;
	k->sls |= member->sls;
	sum->n_routes += part->n_routes;
	sum->n_longer += part->n_longer;
	sum->n_host_routes += part->n_host_routes;
	sum->n_host_longer += part->n_host_longer;
	sum->n_no_path += part->n_no_path;
	sum->max_hops = sum->max_hops < part->max_hops ? part->max_hops : sum->max_hops;
	sum->max_longer = sum->max_longer < part->max_longer ? part->max_longer : sum->max_longer;
}

/* By n checkers; if they find a fault, by one. */
static enum osr_status check_trees(struct checker *k, uint32_t n, struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct team team = { .member = osr_alloc(scratch, n, sizeof(*team.member)),
			     .verdict = osr_calloc(scratch, n, sizeof(*team.verdict)) };

	for (uint32_t i = 0; i < n && !osr_arena_failed(scratch, k->diag); i++) {
		team.member[i] = *k;
		team.member[i].v = &team.verdict[i];
		team.member[i].diag = n > 1 ? NULL : k->diag;
		osr__check_prepare_walk(&team.member[i], scratch);
	}
	if (osr_arena_failed(scratch, k->diag))
		return OSR_NOMEM;
	osr_threads_run(scratch, team_check, &team, n);
	if (team.st != OSR_OK && n > 1) {
		osr_arena_reset(scratch, mark);
		return check_trees(k, 1, scratch);
	}
	for (uint32_t i = 0; i < n; i++)
		team_add(k, &team.member[i]);
	return team.st;
}

/* --- the verdict ----------------------------------------------------------------------------- */

/* Links of unknown rate count as the fastest. */
static void check_sum_loads(struct checker *k)
{
	const struct osr_fabric *fabric = k->f;
	struct osr_verdict *verdict = k->v;
	uint16_t fastest = 0;
	double sum = 0;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (fabric->chan_rate[c] > fastest)
			fastest = fabric->chan_rate[c];
	verdict->efi_chan = fabric->n_channels ? 0 : OSR_NONE;
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint64_t load =
			k->port[fabric->port_row[fabric->chan_src[c]] + fabric->chan_port[c]].load;
		uint16_t rate = fabric->chan_rate[c];
		double scaled = rate ? (double)load * fastest / rate : (double)load;

		sum += (double)load;
		if (load > verdict->efi) {
			verdict->efi = load;
			verdict->efi_chan = c;
		}
		if (scaled > verdict->efi_per_capacity)
			verdict->efi_per_capacity = scaled;
	}
	if (fabric->n_channels)
		verdict->efi_mean = sum / fabric->n_channels;
}

/* Where VL = SL and any SL is safe, nothing has been followed: only that the VLs exist is open. */
static enum osr_status check_shared_vls(struct checker *k)
{
	const struct osr_fabric *fabric = k->f;
	unsigned highest = k->sls ? 31 - __builtin_clz(k->sls) : 0;
	struct name a;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (fabric->chan_vls[c] <= highest)
			return osr_fail(
				k->diag, OSR_CHECK_FAILED,
				"the routing uses VL %u, but the cable at switch %s port %u "
				"has only %u VLs",
				highest, sw_name(k, fabric->chan_src[c], &a), fabric->chan_port[c],
				fabric->chan_vls[c]);
	return OSR_OK;
}

static enum osr_status check_all(struct checker *k, struct osr_arena *scratch)
{
	enum osr_status st = osr__check_dimensions(k);

	if (st == OSR_OK)
		st = osr__check_claims(k);
	if (st == OSR_OK)
		st = osr__check_prepare(k, scratch);
	if (st == OSR_OK && k->r->sl)
		st = osr__check_sl_values(k);
	if (st == OSR_OK)
		st = osr__check_prepare_sls(k, scratch);
	if (st != OSR_OK)
		return st;
	st = check_trees(k, osr_threads_parts(scratch, (uint64_t)k->f->n_dests * k->f->n_switches),
			 scratch);
	check_sum_loads(k);
	if (st == OSR_OK && k->shared)
		st = check_shared_vls(k);
	if (st == OSR_OK && k->r->mcast_parent)
		st = osr__check_mcast(k, scratch);
	return st;
}

enum osr_status osr_check_loads(const struct osr_fabric *fabric, const struct osr_routing *routing,
				struct osr_arena *scratch, struct osr_verdict *verdict,
				uint64_t *load, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct checker k = {
		.f = fabric,
		.r = routing,
		.v = verdict,
		.diag = diag,
		.minimal = routing->claims & OSR_CLAIM_MINIMAL,
		.shared = !routing->sl2vl && (!routing->sl || (routing->claims & OSR_CLAIM_ANY_SL)),
	};
	enum osr_status st;

	*verdict = (struct osr_verdict){ .efi_chan = OSR_NONE };
	st = check_all(&k, scratch);
	verdict->n_vls = k.sls ? __builtin_popcount(k.sls) : routing->n_vls;
	if (st == OSR_OK)
		verdict->proven = routing->claims;
	for (uint32_t c = 0; st == OSR_OK && load && c < fabric->n_channels; c++)
		load[c] = k.port[fabric->port_row[fabric->chan_src[c]] + fabric->chan_port[c]].load;
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
	st = osr_check_loads(fabric, routing, scratch, &checked->verdict, load, diag);
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
	return osr_check_loads(fabric, routing, scratch, verdict, NULL, diag);
}
