/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What single switches can still gain when all trees are there: one switch of a tree gets another next hop,
 * and what comes through it comes along. The busiest channel loses parts of trees, as long as every channel of
 * the new way, up to where it meets the old one, carries less than the busiest. So each step leaves fewer
 * channels that carry so much, and it ends. Where that leaves the busiest channel with more than it would carry
 * on shortest paths, and a tenth, one in EASE_SPARE routes may get longer for it.
 *
 * The order stays. What is legal depends on three consecutive channels, so besides the switch itself only
 * those one and two channels further out are asked. A turn that no route takes may get another lane.
 */
#include <string.h>

#include "turn_private.h"

#define EASE_WORK (1u << 27)  /* switches of trees looked at, */
#define EASE_LOOKS 20         /* and trees for each LID, at most, */
#define EASE_FEW_LOOKS 2      /* for osr__turn_lighten() */
#define EASE_EXTRA 2          /* channels by which a route may get longer for balance, */
#define EASE_SPARE 200        /* and one in so many routes may, */
#define EASE_ENOUGH 109       /* down to so many percent of the load on shortest paths */
#define EASE_LARGE (1u << 20) /* with more routes the load on shortest paths will do */

struct ease {
	struct osr__search *w;
	uint32_t *n_used; /* [n_slots] routes of one switch to one LID that begin with this turn */
	uint32_t *count;  /* [n_switches] end ports whose routes come through, if the LID counts, */
	uint8_t *behind;  /* [n_switches] 1: the route from here takes the busiest channel */
	uint8_t *on_way;  /* [n_switches] 1: on the old way, 2: on the new one */
	uint64_t limit;   /* routes that no channel of a new way may reach */
	uint64_t target;  /* for the busiest channel; less is not needed */
	uint32_t next;    /* LID to begin with */
	uint64_t n_left;  /* trees that may still be looked at */
	uint32_t *n_through; /* [n_switches] switches whose routes come through */
	uint32_t extra;      /* channels by which a new way may be longer */
	uint64_t n_spare;    /* routes that may get longer */
	struct {
		uint32_t turn, at;
		uint8_t lane;
	} before[OSR__TURN_HOPS + 1]; /* lanes that the step at hand has changed */
	uint32_t n_before;
};

static inline uint32_t ease_channel(const struct ease *x, const uint8_t *hop, uint32_t v)
{
	return x->w->f->chan_row[v] + hop[v];
}

/* The turn from channel c into a tree; OSR_NONE: c ends at its root. */
static inline uint32_t ease_turn(const struct ease *x, const uint8_t *hop, uint32_t root,
				 uint32_t c)
{
	uint32_t u = x->w->f->chan_dst[c];

	return u == root ? OSR_NONE : x->w->g.row[c] + hop[u];
}

/* ---- what is legal --------------------------------------------------------------------------- */

/*
 * Has turn t into channel c a lane between these ranks, or can it have one? Of an unused turn the highest
 * there is, which leaves most to those further out.
 */
static bool ease_fit(struct ease *x, uint32_t t, uint32_t c, uint32_t above, uint32_t below)
{
	struct osr__search *w = x->w;
	size_t m = w->f->n_channels;
	uint32_t best = OSR_NONE;

	if (w->at[t] > above && w->at[t] < below)
		return true;
	if (x->n_used[t] || w->pinned[t])
		return false;
	for (uint32_t l = 0; l < w->n_lanes; l++)
		if (w->rank[l * m + c] > above && w->rank[l * m + c] < below &&
		    (best == OSR_NONE || w->rank[l * m + c] > w->rank[best * m + c]))
			best = l;
	if (best == OSR_NONE)
		return false;
	x->before[x->n_before].turn = t;
	x->before[x->n_before].at = w->at[t];
	x->before[x->n_before++].lane = w->lane[t];
	w->lane[t] = (uint8_t)best;
	w->at[t] = w->rank[best * m + c];
	return true;
}

static void ease_put_back(struct ease *x)
{
	while (x->n_before) {
		uint32_t i = --x->n_before;

		x->w->lane[x->before[i].turn] = x->before[i].lane;
		x->w->at[x->before[i].turn] = x->before[i].at;
	}
}

/* The rank that packets hold at most which come to z and go on by channel c. */
static uint32_t ease_highest(const struct ease *x, const uint8_t *hop, uint32_t root, uint32_t z,
			     uint32_t c)
{
	const struct osr__search *w = x->w;
	const struct osr_fabric *fabric = w->f;
	uint32_t most = w->rank[c];

	for (uint32_t o = fabric->chan_row[z]; o < fabric->chan_row[z + 1]; o++) {
		uint32_t y = fabric->chan_dst[o], in = fabric->chan_rev[o], t;

		if (y == root || ease_channel(x, hop, y) != in)
			continue;
		t = w->g.row[in] + c - fabric->chan_row[z];
		most = w->at[t] > most ? w->at[t] : most;
	}
	return most;
}

/* Legal for v, which has a new hop, and for all that send through it? Lanes of unused turns follow. */
static bool ease_legal(struct ease *x, const uint8_t *hop, uint32_t root, uint32_t v)
{
	const struct osr__search *w = x->w;
	const struct osr_fabric *fabric = w->f;
	uint32_t c = ease_channel(x, hop, v), u = fabric->chan_dst[c], top = UINT32_MAX;
	bool legal = true;

	x->n_before = 0;
	if (u != root) {
		uint32_t t = ease_turn(x, hop, root, c), next = ease_channel(x, hop, u),
			 further = ease_turn(x, hop, root, next);

		legal = ease_fit(x, t, next, w->rank[c],
				 further == OSR_NONE ? UINT32_MAX : w->at[further]);
		top = w->at[t];
	}
	for (uint32_t o = fabric->chan_row[v]; legal && o < fabric->chan_row[v + 1]; o++) {
		uint32_t z = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (z != root && ease_channel(x, hop, z) == in)
			legal = ease_fit(x, w->g.row[in] + hop[v], c,
					 ease_highest(x, hop, root, z, in), top);
	}
	if (!legal)
		ease_put_back(x);
	return legal;
}

/* ---- one step -------------------------------------------------------------------------------- */

static void ease_mark_way(const struct ease *x, const uint8_t *hop, uint32_t root, uint32_t v,
			  uint8_t mark)
{
	for (; v != root; v = x->w->f->chan_dst[ease_channel(x, hop, v)])
		x->on_way[v] = mark;
	x->on_way[root] = mark;
}

/* Along channel c until the old way is met: is there room for so many routes? */
static bool ease_has_room(const struct ease *x, const uint8_t *hop, uint32_t c, uint32_t n_routes)
{
	const struct osr_spf *spf = x->w->s;

	for (;; c = ease_channel(x, hop, spf->f->chan_dst[c])) {
		if ((spf->weight[c] >> HOP_BITS) + (uint64_t)n_routes * spf->unit[c] >= x->limit)
			return false;
		if (x->on_way[spf->f->chan_dst[c]])
			return true;
	}
}

/* Adds to the channels along c up to a switch that is marked so. */
static void ease_add(const struct ease *x, const uint8_t *hop, uint32_t c, uint8_t mark,
		     uint64_t routes)
{
	struct osr_spf *spf = x->w->s;

	for (;; c = ease_channel(x, hop, spf->f->chan_dst[c])) {
		spf->weight[c] += routes * spf->unit[c] << HOP_BITS;
		if (x->on_way[spf->f->chan_dst[c]] >= mark)
			return;
	}
}

/* Turns that the step adds to the tree (1), or takes from it (-1); hop[v] is what it was, or will be. */
static void ease_use(struct ease *x, const uint8_t *hop, uint32_t root, uint32_t v, uint32_t sign)
{
	const struct osr_fabric *fabric = x->w->f;
	uint32_t t = ease_turn(x, hop, root, ease_channel(x, hop, v));

	if (t != OSR_NONE)
		x->n_used[t] += sign;
	for (uint32_t o = fabric->chan_row[v]; o < fabric->chan_row[v + 1]; o++) {
		uint32_t z = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (z != root && ease_channel(x, hop, z) == in)
			x->n_used[x->w->g.row[in] + hop[v]] += sign;
	}
}

static void ease_take(struct ease *x, uint8_t *hop, uint32_t root, uint32_t v, uint8_t before)
{
	uint8_t now = hop[v];
	uint32_t old = x->w->f->chan_row[v] + before;

	ease_use(x, hop, root, v, 1);
	hop[v] = before;
	ease_use(x, hop, root, v, (uint32_t)-1);
	hop[v] = now;
	ease_add(x, hop, ease_channel(x, hop, v), 1, x->count[v]);
	ease_mark_way(x, hop, root, v, 2);
	ease_add(x, hop, old, 2, (uint64_t)0 - x->count[v]);
}

static uint32_t ease_length(const struct ease *x, const uint8_t *hop, uint32_t root, uint32_t v)
{
	uint32_t n = 0;

	for (; v != root; v = x->w->f->chan_dst[ease_channel(x, hop, v)])
		n++;
	return n;
}

/* Another next hop for v, from which the route has at most so many channels. */
static bool ease_switch(struct ease *x, uint32_t root, uint8_t *hop, uint32_t v, uint32_t len)
{
	const struct osr_fabric *fabric = x->w->f;
	uint8_t before = hop[v];

	memset(x->on_way, 0, fabric->n_switches);
	ease_mark_way(x, hop, root, v, 1);
	for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
		uint32_t u = fabric->chan_dst[c];

		if (c == fabric->chan_row[v] + before || x->behind[u] ||
		    !ease_has_room(x, hop, c, x->count[v]) || ease_length(x, hop, root, u) > len)
			continue;
		hop[v] = (uint8_t)(c - fabric->chan_row[v]);
		if (ease_legal(x, hop, root, v)) {
			ease_take(x, hop, root, v, before);
			return true;
		}
		hop[v] = before;
	}
	return false;
}

/* ---- lighter --------------------------------------------------------------------------------- */

/* Lists v and what sends through it to d, near ones first, with what comes through each; how many there are. */
static uint32_t ease_list_behind(struct ease *x, uint32_t d, uint32_t v)
{
	const struct osr_fabric *fabric = x->w->f;
	const uint8_t *hop = x->w->s->hop + (size_t)d * fabric->n_switches;
	uint32_t n = 0, *list = x->w->waiting, weight = fabric->term_weight[fabric->dest_term[d]];

	list[n++] = v;
	for (uint32_t i = 0; i < n; i++) {
		v = list[i];
		x->behind[v] = 1;
		x->count[v] = weight * fabric->sw_sources[v];
		x->n_through[v] = 1;
		for (uint32_t o = fabric->chan_row[v]; o < fabric->chan_row[v + 1]; o++) {
			uint32_t z = fabric->chan_dst[o];

			if (z != fabric->dest_switch[d] &&
			    ease_channel(x, hop, z) == fabric->chan_rev[o])
				list[n++] = z;
		}
	}
	for (uint32_t i = n; --i;) {
		uint32_t u = fabric->chan_dst[ease_channel(x, hop, list[i])];

		x->count[u] += x->count[list[i]];
		x->n_through[u] += x->n_through[list[i]];
	}
	return n;
}

/* Some part of d's tree leaves channel `busy`: the one nearest to it that can. */
static bool ease_tree(struct ease *x, uint32_t d, uint32_t busy)
{
	const struct osr_fabric *fabric = x->w->f;
	uint8_t *hop = x->w->s->hop + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d], *list = x->w->waiting,
		 n = ease_list_behind(x, d, fabric->chan_src[busy]);
	bool found = false;

	for (uint32_t i = 0; i < n && !found; i++) {
		uint32_t v = list[i], n_through = x->n_through[v];

		if (!x->count[v] || (x->extra && n_through > x->n_spare) ||
		    !ease_switch(x, root, hop, v, ease_length(x, hop, root, v) - 1 + x->extra))
			continue;
		x->n_spare -= x->extra ? n_through : 0;
		x->w->detoured[d] |= x->extra != 0;
		found = true;
	}
	for (uint32_t i = 0; i < n; i++)
		x->behind[list[i]] = 0;
	return found;
}

static bool ease_channel_off(struct ease *x, uint32_t busy)
{
	const struct osr_fabric *fabric = x->w->f;
	const struct osr_spf *spf = x->w->s;
	uint32_t v = fabric->chan_src[busy];

	for (uint32_t i = 0; i < fabric->n_dests && x->n_left; i++) {
		uint32_t d = (x->next + i) % fabric->n_dests, term = fabric->dest_term[d];

		if (spf->alias[d] != OSR_NONE || !fabric->term_weight[term] ||
		    fabric->term_lmc[term] || osr_spf_channel(spf, d, v) != busy)
			continue;
		x->n_left--;
		if (ease_tree(x, d, busy)) {
			x->next = d;
			return true;
		}
	}
	return false;
}

/* The first of the busiest channels. `busy` was it before a step, which leaves none before it as busy. */
static uint32_t ease_next_busiest(const struct ease *x, uint32_t busy)
{
	const struct osr_spf *spf = x->w->s;
	uint64_t sum;

	for (; busy < spf->f->n_channels; busy++)
		if (spf->weight[busy] >> HOP_BITS == x->limit)
			return busy;
	return osr__spf_busiest(spf, &sum);
}

/* `enough`: a load on the busiest channel for which no route gets longer. */
static void ease_lighten(struct ease *x, uint64_t enough)
{
	const struct osr_spf *spf = x->w->s;
	bool again = spf->f->n_channels && !spf->scratch->mixed;
	uint32_t busy = spf->f->n_channels;

	while (again && x->n_left) {
		busy = ease_next_busiest(x, busy);
		x->limit = spf->weight[busy] >> HOP_BITS;
		if (x->limit <= x->target)
			break;
		x->extra = 0;
		again = ease_channel_off(x, busy);
		if (again || x->limit <= enough)
			continue;
		x->extra = EASE_EXTRA;
		again = ease_channel_off(x, busy);
	}
}

/* ---------------------------------------------------------------------------------------------- */

static enum osr_status ease_start(struct ease *x, struct osr__search *w, uint32_t looks)
{
	struct osr_arena *scratch = w->scratch;
	size_t n = w->f->n_switches;

	*x = (struct ease){ .w = w,
			    .n_used =
				    w->n_used ? w->n_used : osr__turn_count_used(w, OSR__TURN_OWN),
			    .count = osr_alloc(scratch, n, sizeof(*x->count)),
			    .n_through = osr_alloc(scratch, n, sizeof(*x->n_through)),
			    .behind = osr_calloc(scratch, n, 1),
			    .on_way = osr_alloc(scratch, n, 1),
			    .n_left = (uint64_t)w->f->n_dests * looks,
			    .n_spare = osr__search_n_routes(w) / EASE_SPARE };
	if (x->n_left > (uint64_t)EASE_WORK / EASE_LOOKS * looks / (n + 1))
		x->n_left = (uint64_t)EASE_WORK / EASE_LOOKS * looks / (n + 1);
	return x->n_used && x->count && x->n_through && x->behind && x->on_way
		       ? OSR_OK
		       : osr__turn_nomem(w->diag);
}

enum osr_status osr__turn_ease(struct osr__search *w, uint64_t load, uint32_t *n_longer)
{
	struct osr_arena_mark mark = osr_arena_mark(w->scratch);
	struct ease x;
	enum osr_status st = ease_start(&x, w, EASE_LOOKS);
	uint64_t sum;

	if (st)
		return st;
	osr__spf_busiest(w->s, &sum);
	/* As for shortest paths: that is near enough to the mean. */
	x.target = (sum + sum / 25) / (w->f->n_channels + !w->f->n_channels);
	if ((uint64_t)w->f->n_dests * w->f->n_switches > EASE_LARGE && x.target < load)
		x.target = load;
	ease_lighten(&x, load * EASE_ENOUGH / 100);
	*n_longer = osr__search_count_longer(w);
	osr_arena_reset(w->scratch, mark);
	return OSR_OK;
}

enum osr_status osr__turn_lighten(struct osr__search *w, uint64_t target)
{
	struct osr_arena_mark mark = osr_arena_mark(w->scratch);
	struct ease x;
	enum osr_status st = ease_start(&x, w, EASE_FEW_LOOKS);

	x.target = target;
	if (!st)
		ease_lighten(&x, UINT64_MAX);
	osr_arena_reset(w->scratch, mark);
	return st;
}
