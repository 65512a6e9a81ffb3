/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See bound.h. */
#include <osmroutes/bound.h>
#include <osmroutes/each.h>
#include <osmroutes/set.h>

#include <string.h>

/* LIDs of CAs and routers on switch v. */
static uint64_t bound_lids(const struct osr_fabric *fabric, enum osr_lids which, uint32_t v)
{
	uint64_t lids = 0;

	if (which == OSR_FIRST_LIDS)
		return fabric->sw_sources[v];
	for (uint32_t t = fabric->term_row[v]; t < fabric->term_row[v + 1]; t++)
		lids += (uint64_t)fabric->term_weight[t] << fabric->term_lmc[t];
	return lids;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* Routes that come in or go out, whichever are more. */
static uint64_t cut_routes(const struct osr_cut *inside, const struct osr_cut *all)
{
	uint64_t in = inside->lids * (all->sources - inside->sources);
	uint64_t out = inside->sources * (all->lids - inside->lids);

	return in < out ? out : in;
}

static uint64_t cut_bound(const struct osr_cut *inside, const struct osr_cut *all)
{
	return inside->channels ? divide_up(cut_routes(inside, all), inside->channels) : 0;
}

/* The same where channels have a capacity: in such parts of a route for each unit of it. */
#define PARTS (1 << 20)

static uint64_t cut_bound_by_capacity(const struct osr_cut *inside, const struct osr_cut *all)
{
	return inside->channels ? cut_routes(inside, all) * PARTS / inside->channels : 0;
}

static void cut_add(const struct osr_cuts *cuts, struct osr_cut *cut, uint32_t v)
{
	cut->sources += cuts->units ? cuts->units[v] : cuts->fabric->sw_sources[v];
	cut->lids += cuts->units ? 0 : bound_lids(cuts->fabric, cuts->lids, v);
}

static uint64_t cut_weight(const struct osr_cuts *cuts, uint32_t c)
{
	return cuts->weight ? cuts->weight[c] : 1;
}

/*
 * Hops to the nearest switch with hosts; list[n_switches] has the switches from which one is
 * reached, by rising height. Returns how many.
 */
static uint32_t find_heights(const struct osr_fabric *fabric, uint32_t *height, uint32_t *list)
{
	uint32_t n = 0;

	OSR_EACH_SWITCH(v, fabric) {
		height[v] = OSR_NONE;
		if (!fabric->sw_sources[v])
			continue;
		height[v] = 0;
		list[n++] = v;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t v = list[i], c = fabric->chan_row[v]; c < fabric->chan_row[v + 1];
		     c++) {
			uint32_t u = fabric->chan_dst[c];

			if (height[u] != OSR_NONE)
				continue;
			height[u] = height[v] + 1;
			list[n++] = u;
		}
	return n;
}

/* The switches, LIDs and channels of each component; NULL without memory. */
static struct osr_cut *find_components(const struct osr_cuts *cuts, struct osr_arena *scratch)
{
	struct osr_cut *all = osr_calloc(scratch, cuts->fabric->n_components, sizeof(*all));

	if (all)
		for (uint32_t v = 0; v < cuts->fabric->n_switches; v++)
			cut_add(cuts, &all[cuts->fabric->sw_component[v]], v);
	return all;
}

/* The most that a cut gives, if that is more. */
static void cut_most(const struct osr_cuts *cuts, const struct osr_cut *inside,
		     const struct osr_cut *all, uint64_t *bound)
{
	uint64_t least = cuts->bound(inside, all);

	*bound = *bound < least ? least : *bound;
}

static void cut_join(struct osr_cut *to, const struct osr_cut *from)
{
	to->sources += from->sources;
	to->lids += from->lids;
	to->channels += from->channels;
}

/* The state of a switch in a search in depth. */
struct found {
	bool here;
	uint32_t parent;     /* from where, or OSR_NONE */
	uint32_t near;       /* cables to the switches found so far */
	struct osr_cut part; /* this switch and those found through it */
};

/*
 * Cuts around what a search in depth finds through each switch: bridges of the graph among them, as
 * what is behind one is found through it. Next is the neighbour with the most cables to what was
 * found so far, the first of equals: with this order, the maximum adjacency order of Nagamochi and
 * Ibaraki (1992) within a search, dense parts are found as a whole. All cables lead to switches
 * that were found through each other, so those around a part are all that lead from it to earlier
 * switches, but for those from it to itself. O(channels * degree).
 */
static enum osr_status bound_search(const struct osr_cuts *cuts, struct osr_arena *scratch,
				    uint64_t *bound, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = cuts->fabric;
	struct found *all = osr_calloc(scratch, fabric->n_switches, sizeof(*all));
	const struct osr_cut *component = find_components(cuts, scratch);

	if (!all || !component)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the least load");
	OSR_EACH_SWITCH(root, fabric) {
		uint32_t v = all[root].here ? OSR_NONE : root;

		all[root].parent = all[root].here ? all[root].parent : OSR_NONE;
		while (v != OSR_NONE) {
			uint32_t next = OSR_NONE, parent = all[v].parent;
			bool is_new = !all[v].here;

			all[v].here = true;
			if (is_new)
				cut_add(cuts, &all[v].part, v);
			OSR_EACH_CHANNEL(c, fabric, v) {
				uint32_t u = fabric->chan_dst[c];

				all[u].near += is_new;
				if (!all[u].here) {
					if (next == OSR_NONE || all[u].near > all[next].near)
						next = u;
				} else if (is_new) {
					all[v].part.channels += cut_weight(cuts, c);
					all[u].part.channels -= cut_weight(cuts, c);
				}
			}
			if (next != OSR_NONE) {
				all[next].parent = v;
				v = next;
				continue;
			}
			cut_most(cuts, &all[v].part, &component[fabric->sw_component[v]], bound);
			if (parent != OSR_NONE)
				cut_join(&all[parent].part, &all[v].part);
			v = parent;
		}
	}
	return OSR_OK;
}

/*
 * The most that any other cut gives: around each switch, and around the pieces that those up to
 * each height make. One switch after the other joins the pieces that it is cabled to.
 */
static enum osr_status bound_each_cut(const struct osr_cuts *cuts, struct osr_arena *scratch,
				      uint64_t *bound, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = cuts->fabric;
	uint32_t n = fabric->n_switches, *height = osr_alloc(scratch, n, sizeof(*height)),
		 *list = osr_alloc(scratch, n, sizeof(*list)),
		 *set = osr_alloc(scratch, n, sizeof(*set));
	struct osr_cut *part = osr_calloc(scratch, n, sizeof(*part));
	const struct osr_cut *all = find_components(cuts, scratch);

	*bound = 0;
	if (!height || !list || !set || !part || !all)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the least load");
	memset(set, 0xff, n * sizeof(*set));
	n = find_heights(fabric, height, list);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = list[i];

		set[v] = v;
		cut_add(cuts, &part[v], v);
		OSR_EACH_CHANNEL(c, fabric, v)
			part[v].channels += cut_weight(cuts, c);
		cut_most(cuts, &part[v], &all[fabric->sw_component[v]], bound);
		OSR_EACH_CHANNEL(c, fabric, v) {
			uint32_t a = osr_set_of(set, v), b = fabric->chan_dst[c];

			if (set[b] == OSR_NONE)
				continue;
			b = osr_set_of(set, b);
			if (osr_set_join(set, a, b))
				cut_join(&part[a < b ? a : b], &part[a < b ? b : a]);
			part[a < b ? a : b].channels -=
				cut_weight(cuts, c) + cut_weight(cuts, fabric->chan_rev[c]);
		}
		for (uint32_t k = 0; k <= i && (i + 1 == n || height[list[i + 1]] > height[v]); k++)
			if (set[list[k]] == list[k])
				cut_most(cuts, &part[list[k]], &all[fabric->sw_component[list[k]]],
					 bound);
	}
	return OSR_OK;
}

enum osr_status osr_bound_cuts(const struct osr_cuts *cuts, struct osr_arena *scratch,
			       uint64_t *bound, struct osr_diag *diag)
{
	enum osr_status st = bound_each_cut(cuts, scratch, bound, diag);

	return st ? st : bound_search(cuts, scratch, bound, diag);
}

enum osr_status osr_bound_cut(const struct osr_fabric *fabric, struct osr_arena *scratch,
			      uint64_t *bound, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	const struct osr_cuts cuts = { .fabric = fabric, .bound = cut_bound };
	enum osr_status st = osr_bound_cuts(&cuts, scratch, bound, diag);

	osr_arena_reset(scratch, mark);
	return st;
}

/* ---- the load -------------------------------------------------------------------------------- */

/*
 * Hops of all routes if each is as short as it can be. 64 switches at a time walk the fabric
 * together, a bit each: front[v] has the switches that reach v in `hops`, seen[v] the switches that
 * reach it in as many or fewer.
 */
static uint64_t shortest_hops(const struct osr_fabric *fabric, const uint64_t *lids, uint64_t *seen,
			      uint64_t *front, uint64_t *next)
{
	uint32_t n = fabric->n_switches;
	uint64_t sum = 0;

	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t some = 1;

		memset(front, 0, n * sizeof(*front));
		for (uint32_t s = first; s < n && s < first + 64; s++)
			front[s] = fabric->sw_sources[s] ? UINT64_C(1) << (s - first) : 0;
		memcpy(seen, front, n * sizeof(*seen));
		for (uint32_t hops = 1; some; hops++) {
			uint64_t *now = front;

			some = 0;
			for (uint32_t v = 0; v < n; v++) {
				uint64_t came = 0, routes = 0;

				OSR_EACH_CHANNEL(c, fabric, v)
					came |= front[fabric->chan_dst[c]];
				next[v] = came & ~seen[v];
				seen[v] |= came;
				some |= next[v];
				for (uint64_t bits = lids[v] ? next[v] : 0; bits; bits &= bits - 1)
					routes +=
						fabric->sw_sources[first +
								   (uint32_t)__builtin_ctzll(bits)];
				sum += hops * routes * lids[v];
			}
			front = next;
			next = now;
		}
	}
	return sum;
}

/*
 * rate[n_channels] of all channels, an unknown one as the fastest. Returns their sum, or 0 where all
 * channels are alike.
 */
static uint64_t find_rates(const struct osr_fabric *fabric, uint64_t fastest, uint64_t *rate)
{
	uint64_t sum = 0;

	OSR_EVERY_CHANNEL(c, fabric) {
		rate[c] = fabric->chan_rate[c] ? fabric->chan_rate[c] : fastest;
		sum += rate[c];
	}
	return sum == fastest * fabric->n_channels ? 0 : sum;
}

enum osr_status osr_bound_load(const struct osr_fabric *fabric, enum osr_lids which,
			       struct osr_arena *scratch, double *bound, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n = fabric->n_switches;
	uint64_t *lids = osr_alloc(scratch, n, sizeof(*lids)), hops, mean, most = 0, sum;
	uint64_t *bits = osr_alloc(scratch, 3 * (size_t)n, sizeof(*bits));
	uint64_t *rate = osr_alloc(scratch, fabric->n_channels, sizeof(*rate));
	struct osr_cuts cuts = { .fabric = fabric, .lids = which, .bound = cut_bound };
	uint16_t fastest = osr_fabric_fastest(fabric);
	enum osr_status st;

	*bound = 0;
	if (!lids || !bits || !rate) {
		osr_arena_reset(scratch, mark);
		return osr_fail(diag, OSR_NOMEM, "out of memory for the least load");
	}
	sum = find_rates(fabric, fastest, rate);
	if (sum) {
		cuts.weight = rate;
		cuts.bound = cut_bound_by_capacity;
	}
	st = osr_bound_cuts(&cuts, scratch, &most, diag);
	OSR_EACH_SWITCH(v, fabric)
		lids[v] = bound_lids(fabric, which, v);
	if (!st && fabric->n_channels) {
		hops = shortest_hops(fabric, lids, bits, bits + n, bits + 2 * (size_t)n);
		mean = sum ? hops * PARTS / sum : divide_up(hops, fabric->n_channels);
		most = most < mean ? mean : most;
	}
	*bound = sum ? (double)most * fastest / PARTS : (double)most;
	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_bound_expected(const struct osr_fabric *fabric, const struct osr_result *then,
				   struct osr_arena *scratch, uint64_t *least, uint64_t *expected,
				   struct osr_diag *diag)
{
	const struct osr_cuts cuts = { .fabric = fabric, .bound = cut_bound },
			      before = { .fabric = &then->fabric, .bound = cut_bound };
	uint64_t least_then = 0, most = 0;
	enum osr_status st = bound_each_cut(&cuts, scratch, least, diag);

	if (!st)
		st = bound_each_cut(&before, scratch, &least_then, diag);
	if (then->load)
		for (uint32_t c = 0; c < then->fabric.n_channels; c++)
			most = most < then->load[c] ? then->load[c] : most;
	/*
	 * With fewer hosts than then it is less; a fault takes channels away, so it is never
	 * better.
	 */
	if (least_then > *least)
		most = (uint64_t)((double)most * (double)*least / (double)least_then);
	*expected = most < *least ? *least : most;
	return st;
}
