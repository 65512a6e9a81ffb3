/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The spanning order of multicast among lanes by turn that stay: see turn_keep.c. */
#include <string.h>

#include "turn_keep_private.h"

#define KEEP_SORTS 64 /* cables that are tried with another order */

void osr__keep_set_lane(struct keep *k, uint32_t c0, uint32_t c1, uint32_t lane)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t t = k->w.g.row[c0] + c1 - fabric->chan_row[fabric->chan_dst[c0]];

	k->used[t] = 1;
	k->w.lane[t] = (uint8_t)lane;
	k->w.at[t] = k->w.rank[(size_t)lane * fabric->n_channels + c1];
}

/* The lane of turn t into c that comes next after `rank`; of a turn in use its own, or none. */
static uint32_t keep_next_lane(const struct keep *k, uint32_t t, uint32_t c, uint32_t rank)
{
	const struct turns *w = &k->w;
	uint32_t best = UINT32_MAX, lane = OSR_NONE;

	if (k->used[t])
		return w->at[t] > rank ? w->lane[t] : OSR_NONE;
	for (uint32_t l = 0; l < w->n_lanes; l++) {
		uint32_t at = w->rank[(size_t)l * k->f->n_channels + c];

		if (at <= rank || at >= best)
			continue;
		best = at;
		lane = l;
	}
	return lane;
}

/*
 * One pass over the turns of the spanning order, which raises highest[c], the highest rank that a copy
 * holds on c; `set`: it has been found, and the turns get their lanes. False: a turn has none that rises.
 */
static bool keep_spread_pass(struct keep *k, bool set, bool *changed)
{
	const struct osr_fabric *fabric = k->f;

	*changed = false;
	for (uint32_t a = 0; a < fabric->n_channels; a++) {
		uint32_t u = fabric->chan_dst[a];

		for (uint32_t b = fabric->chan_row[u];
		     osr__keep_on_tree(k, a) && b < fabric->chan_row[u + 1]; b++) {
			uint32_t lane, at;

			if (b == fabric->chan_rev[a] || !osr__keep_on_tree(k, b))
				continue;
			lane = keep_next_lane(k, k->w.g.row[a] + b - fabric->chan_row[u], b,
					      k->highest[a]);
			if (lane == OSR_NONE)
				return false;
			at = k->w.rank[(size_t)lane * fabric->n_channels + b];
			*changed |= at > k->highest[b];
			k->highest[b] = at > k->highest[b] ? at : k->highest[b];
			if (set)
				osr__keep_set_lane(k, a, b, lane);
		}
	}
	return true;
}

/*
 * Do all turns of the spanning order rise, from hosts and from each other, if those that nothing else takes
 * get the lowest lanes they can? Then they have them.
 */
static bool keep_spread_fits(struct keep *k)
{
	bool changed = true;

	for (uint32_t c = 0; c < k->f->n_channels; c++)
		k->highest[c] = osr__turn_first_rank(&k->w, c);
	while (changed)
		if (!keep_spread_pass(k, false, &changed))
			return false;
	if (!keep_spread_pass(k, true, &changed))
		return false;
	osr__keep_write_lanes(k);
	return true;
}

/*
 * Multicast needs no switches beyond those that lie between hosts; to go along its spanning order, they
 * hang on it, where that rises.
 */
void osr__keep_extend(struct keep *k)
{
	const struct osr_fabric *fabric = k->f;

	memcpy(k->everywhere, k->r.mcast_parent, fabric->n_switches * sizeof(*k->everywhere));
	k->w.t.escape = k->everywhere;
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t *up = &k->everywhere[v], c = fabric->chan_row[v];
		bool away = *up == OSR_NONE && !fabric->sw_sources[v];

		for (uint32_t o = c; away && o < fabric->chan_row[v + 1]; o++)
			away = k->everywhere[fabric->chan_dst[o]] != fabric->chan_rev[o];
		for (; away && c < fabric->chan_row[v + 1]; c++) {
			*up = c;
			away = !keep_spread_fits(k);
			*up = away ? OSR_NONE : c;
		}
	}
}

static uint32_t keep_top(const uint32_t *parent, const struct osr_fabric *fabric, uint32_t v)
{
	while (parent[v] != OSR_NONE)
		v = fabric->chan_dst[parent[v]];
	return v;
}

/* Turns the way from v up to its root around and hangs v on channel c. `was` keeps what it was. */
static void keep_hang(uint32_t *parent, const struct osr_fabric *fabric, uint32_t v, uint32_t c)
{
	while (c != OSR_NONE) {
		uint32_t up = parent[v];

		parent[v] = c;
		if (up == OSR_NONE)
			return;
		c = fabric->chan_rev[up];
		v = fabric->chan_dst[up];
	}
}

/* Lanes of the spanning order's turns that nothing else takes, and what packets on it do then. */
static void keep_feed_spread(struct keep *k, uint32_t lane)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t *lanes_in = k->work; /* [n_channels] on which copies arrive */

	memcpy(k->feed_all, k->feed, k->w.g.n_slots * sizeof(*k->feed_all));
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		lanes_in[c] = k->w.inject[c];
	for (int feed = 0; feed <= 1; feed++)
		for (uint32_t a = 0; a < fabric->n_channels; a++)
			for (uint32_t t = k->w.g.row[a];
			     osr__keep_on_tree(k, a) && t < k->w.g.row[a + 1]; t++) {
				uint32_t b = osr_cdg_target(&k->w.g, a, t);

				if (b == fabric->chan_rev[a] || !osr__keep_on_tree(k, b))
					continue;
				if (!k->used[t])
					k->w.lane[t] = (uint8_t)lane;
				if (feed)
					k->feed_all[t] |= (uint16_t)lanes_in[a];
				else
					lanes_in[b] |= 1u << k->w.lane[t];
			}
}

void osr__keep_feed_order(struct keep *k)
{
	keep_feed_spread(k, 0);
	memcpy(k->feed, k->feed_all, k->w.g.n_slots * sizeof(*k->feed));
}

/* Another order for what is there: all lanes that are in use stay. Turns of multicast alone share a lane. */
static bool keep_sort(struct keep *k)
{
	size_t m = k->f->n_channels;

	for (uint32_t lane = k->w.n_lanes; lane--;) {
		keep_feed_spread(k, lane);
		if (!osr__turn_sort(&k->w, k->feed_all, k->w.rank, k->work, k->sorted))
			continue;
		memcpy(k->w.rank, k->sorted, k->w.n_lanes * m * sizeof(*k->sorted));
		osr__keep_read_lanes(k);
		osr__turn_set_reach(&k->w);
		return true;
	}
	osr__keep_read_lanes(k);
	return false;
}

/* Joins the part of `top` to that of another switch with hosts; in the order there is, or in another one. */
static bool keep_join(struct keep *k, uint32_t top, uint32_t *was)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t *parent = k->r.mcast_parent, n_sorts = 0;

	memcpy(was, parent, fabric->n_switches * sizeof(*was));
	for (int sort = 0; sort <= 1; sort++)
		for (uint32_t c = 0; c < fabric->n_channels && n_sorts < KEEP_SORTS; c++) {
			uint32_t v = fabric->chan_src[c], u = fabric->chan_dst[c];
			bool hosts = fabric->sw_sources[u] || parent[u] != OSR_NONE;

			if (keep_top(parent, fabric, v) != top ||
			    keep_top(parent, fabric, u) == top || !hosts)
				continue;
			n_sorts += sort;
			keep_hang(parent, fabric, v, c);
			if ((!sort || keep_sort(k)) && keep_spread_fits(k))
				return true;
			memcpy(parent, was, fabric->n_switches * sizeof(*was));
		}
	return false;
}

/* Of the two parts that are apart, the smaller one is the one that moves. */
static uint32_t keep_smaller(const struct keep *k, uint32_t a, uint32_t b)
{
	uint32_t n[2] = { 0, 0 };

	for (uint32_t v = 0; v < k->f->n_switches; v++) {
		uint32_t top = keep_top(k->r.mcast_parent, k->f, v);

		n[0] += top == a;
		n[1] += top == b;
	}
	return n[1] < n[0] ? b : a;
}

/* Roots of two parts with hosts that should be one. */
static bool keep_apart(const struct keep *k, uint32_t *a, uint32_t *b)
{
	const struct osr_fabric *fabric = k->f;
	const uint32_t *parent = k->r.mcast_parent;

	for (uint32_t v = 0, first; v < fabric->n_switches; v++) {
		if (!fabric->sw_sources[v])
			continue;
		for (first = 0; !fabric->sw_sources[first] ||
				fabric->sw_component[first] != fabric->sw_component[v];
		     first++)
			;
		*a = keep_top(parent, fabric, first);
		*b = keep_top(parent, fabric, v);
		if (*a != *b)
			return true;
	}
	return false;
}

enum osr_status osr__keep_spread(struct keep *k, struct osr_diag *why)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t *was = osr_alloc(k->job->scratch, fabric->n_switches, sizeof(*was));
	uint32_t a, b;

	if (!k->job->request.multicast)
		return OSR_OK;
	if (!was)
		return osr_fail(why, OSR_NOMEM, "out of memory for the spanning order");
	while (keep_apart(k, &a, &b))
		if (!keep_join(k, keep_smaller(k, a, b), was))
			return osr__keep_not(why,
					     "the spanning order of multicast has no path that "
					     "respects the previous VLs by turn");
	return keep_spread_fits(k) || (keep_sort(k) && keep_spread_fits(k))
		       ? OSR_OK
		       : osr__keep_not(why, "the spanning order of multicast does not keep "
					    "to the previous VLs by turn");
}
