/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See turn.h. From the outside in:
 *	osr_turn_route()	searches, and accepts the result or not
 *	turn_middle.c		lanes without a search, where no route has more than three channels
 *	turn_search()		one start or two, then detours
 *	turn_ease.c		lighter, hop by hop
 *	turn_rounds()		  routing and improving in turns
 *	turn_order.c		    the order of nodes and the lanes of turns
 *	legal_tree.c		    shortest routes within them, longer ones for what is left, and
 *				    single LIDs off the most loaded channel
 *	turn_tables.c		SL2VL tables and certificate
 */
#include <string.h>

#include "lanes_private.h"
#include "turn_private.h"

/* Measured on random graphs, dragonflies and tori of scripts/bench, and on fabrics of real sites. */
static const struct {
	uint32_t max_lanes; /* more lanes than these share the load; they save hardly any detour */
	uint32_t max_triples;
	uint32_t fitted_rounds; /* with the order that fits the routes, if nearly all are legal */
	uint32_t effort_share;  /* of the effort of updown.h that a start is worth, */
	uint32_t boost;         /* weight of a route without a legal way */
	uint32_t few;           /* where 1 in so many has none, */
	uint32_t few_boost;     /* they may weigh so much */
	uint32_t max_stale;     /* rounds that gain less than 1 in 20 */
	uint32_t unit;          /* a route weighs so much; what no route uses yet, but may, 1 */
	uint32_t enough;        /* percent of the load on shortest paths that costs no route */
	uint32_t max_efi;       /* percent of the load with lanes by SL that auto accepts */
	uint32_t
		sample_routes; /* where there are more, the search looks at some LIDs of a switch, */
	uint32_t sample_few;   /* and ends when 1 in so many of their routes has no legal way */
	uint32_t auto_routes;  /* auto: where there are more, it would take minutes */
} turn_tuning = {
	.max_lanes = 4,
	.max_triples = 1u << 27,
	.fitted_rounds = 4,
	.effort_share = 16,
	.boost = 4,
	.few = 700,
	.few_boost = 1024,
	.max_stale = 3,
	.unit = 16,
	.enough = 109,
	.max_efi = 110,
	.sample_routes = 1u << 22,
	.sample_few = 10000,
	.auto_routes = 1u << 26,
};

/* ---- setting up ------------------------------------------------------------------------------ */

/* Which triples lie on a shortest path between their ends. */
static void turn_find_useful(struct turns *w)
{
	const struct osr_fabric *fabric = w->t.f;
	const uint8_t *dist8 = w->t.s->scratch->dist8;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t first = fabric->chan_row[fabric->chan_dst[c]], v = fabric->chan_src[c];

		for (uint32_t t = w->g.row[c]; t < w->g.row[c + 1]; t++) {
			uint32_t x = fabric->chan_dst[first + t - w->g.row[c]];
			uint8_t *useful = w->useful + w->triple_row[t];

			for (uint32_t c2 = fabric->chan_row[x]; c2 < fabric->chan_row[x + 1]; c2++)
				*useful++ =
					dist8[(size_t)fabric->chan_dst[c2] * fabric->n_switches +
					      v] == 3;
		}
	}
}

/* Rows of triples by their first turn; false if there are too many. */
static bool turn_number_triples(struct turns *w)
{
	const struct osr_fabric *fabric = w->t.f;
	uint64_t at = 0;

	for (uint32_t c = 0; c < fabric->n_channels && at <= turn_tuning.max_triples; c++) {
		uint32_t first = fabric->chan_row[fabric->chan_dst[c]];

		for (uint32_t t = w->g.row[c]; t < w->g.row[c + 1]; t++) {
			uint32_t x = fabric->chan_dst[first + t - w->g.row[c]];

			w->triple_row[t] = (uint32_t)at;
			at += fabric->chan_row[x + 1] - fabric->chan_row[x];
		}
	}
	w->triple_row[w->g.n_slots] = (uint32_t)at;
	return at <= turn_tuning.max_triples;
}

/* ---- what is legal --------------------------------------------------------------------------- */

static inline uint8_t turn_over(const struct osr__legal *t, const uint8_t *hop, uint32_t root,
				uint32_t c)
{
	return t->mask[t->f->chan_dst[c]] && osr__turn_legal((const struct turns *)t, hop, root, c);
}

uint8_t osr__turn_over(const struct osr__legal *t, const uint8_t *hop, uint32_t root, uint32_t c)
{
	return turn_over(t, hop, root, c);
}

static inline uint32_t turn_lost(const struct osr__legal *t, const uint8_t *hop, uint32_t root,
				 uint32_t c)
{
	const struct turns *w = (const struct turns *)t;
	uint32_t u = t->f->chan_dst[c];

	return 64 - (u == root ? w->first_freedom[c] : w->freedom[w->g.row[c] + hop[u]]);
}

uint32_t osr__turn_settle(struct osr__legal *t, uint32_t root, uint32_t d, uint64_t price)
{
	return osr__legal_settle(t, root, d, price, turn_over, turn_lost);
}

static bool turn_alloc_nodes(struct turns *w, struct osr_arena *scratch)
{
	size_t m = w->t.f->n_channels, n_slots = w->g.n_slots, n_nodes = w->n_lanes * m;

	w->t.mask = osr_alloc(scratch, w->t.f->n_switches, 1);
	w->saved = osr_alloc(scratch, w->t.f->n_switches, 1);
	w->rank = osr_alloc(scratch, n_nodes, sizeof(*w->rank));
	w->lane = osr_alloc(scratch, n_slots, 1);
	w->at = osr_alloc(scratch, n_slots, sizeof(*w->at));
	w->pinned = osr_alloc(scratch, n_slots, 1);
	w->freedom = osr_alloc(scratch, n_slots, 1);
	w->first_freedom = osr_alloc(scratch, m, 1);
	return osr__legal_alloc(&w->t, scratch);
}

/* What only the search needs. */
static bool turn_alloc_search(struct turns *w, struct osr_arena *scratch)
{
	size_t n_slots = w->g.n_slots, n_nodes = (size_t)w->n_lanes * w->t.f->n_channels;

	w->best_rank = osr_alloc(scratch, n_nodes, sizeof(*w->best_rank));
	w->best_lane = osr_alloc(scratch, n_slots, 1);
	w->cost = osr_alloc(scratch, w->n_lanes * OSR__TURN_HOPS, sizeof(*w->cost));
	w->triple = osr_calloc(scratch, w->triple_row[n_slots], sizeof(*w->triple));
	w->useful = osr_calloc(scratch, w->triple_row[n_slots], 1);
	return !osr_arena_failed(scratch, NULL);
}

static enum osr_status turn_init(struct turns *w, struct osr_lanes_job *job)
{
	const struct osr_fabric *fabric = job->s->f;
	uint32_t n_classes = osr__turn_classes(job->req), max_vls = job->req->max_vls / n_classes;
	enum osr_status st;

	*w = (struct turns){ .t = { .s = job->s,
				    .f = fabric,
				    .over = osr__turn_over,
				    .settle = osr__turn_settle,
				    .all = 1 },
			     .n_classes = n_classes,
			     .n_sampled = UINT32_MAX,
			     .unit = turn_tuning.unit };
	w->n_lanes = max_vls < turn_tuning.max_lanes ? max_vls : turn_tuning.max_lanes;
	st = osr_cdg_init(&w->g, fabric, job->scratch, job->diag);
	if (st)
		return st;
	osr__legal_set_mean(&w->t);
	return turn_alloc_nodes(w, job->scratch) ? OSR_OK : osr__turn_nomem(job->diag);
}

/* *small: the fabric is small enough for a search. */
static enum osr_status turn_init_search(struct turns *w, struct osr_lanes_job *job, bool *small)
{
	w->triple_row = osr_alloc(job->scratch, (size_t)w->g.n_slots + 1, sizeof(*w->triple_row));
	if (!w->triple_row)
		return osr__turn_nomem(job->diag);
	*small = turn_number_triples(w);
	if (!*small)
		return OSR_OK;
	if (!turn_alloc_search(w, job->scratch))
		return osr__turn_nomem(job->diag);
	turn_find_useful(w);
	return OSR_OK;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* What a round does with trees that are there. */
enum turn_mode {
	TURN_ALL,    /* routes all again */
	TURN_REPAIR, /* those that are not legal, if that gets them better */
	TURN_DETOUR, /* the same; then detours for what is left */
	TURN_LAST,   /* all, if that gets them no worse; then detours */
};

static void turn_route_dest(struct turns *w, uint32_t root, uint32_t d, enum turn_mode mode)
{
	const struct osr_fabric *fabric = w->t.f;
	struct osr_spf *spf = w->t.s;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	bool counts = fabric->term_weight[fabric->dest_term[d]] != 0;
	uint32_t n = spf->n_order[root], n_failed, before = UINT32_MAX, ignored = 0;

	if (mode != TURN_ALL) {
		before = osr__legal_mark(&w->t, order, n, hop, root);
		if (!before && mode != TURN_LAST)
			return;
		memcpy(w->saved, hop, fabric->n_switches);
	}
	if (counts)
		osr__spf_count(spf, order, n, hop, (uint64_t)-1);
	n_failed = osr__legal_settle_best(&w->t, root, d);
	if (n_failed > before) {
		memcpy(hop, w->saved, fabric->n_switches);
		n_failed = osr__legal_mark(&w->t, order, n, hop, root);
	}
	w->n_failed += n_failed;
	if (mode >= TURN_DETOUR && n_failed) {
		osr__legal_detour(&w->t, root, d);
		n = osr__legal_sort(&w->t, root, d, &ignored);
		order = w->t.order;
		w->t.detoured[d] = 1;
	}
	if (counts)
		osr__spf_count(spf, order, n, hop, 1);
}

uint64_t osr__turn_n_routes(const struct turns *w)
{
	const struct osr_spf *spf = w->t.s;
	uint64_t n_trees = 0;

	for (uint32_t root = 0; root < w->t.f->n_switches; root++)
		for (uint32_t k = spf->dest_row[root]; k < osr__turn_sample_end(w, root); k++)
			n_trees += spf->alias[spf->dest_list[k]] == OSR_NONE;
	return n_trees * w->t.f->n_switches;
}

static bool turn_is_sampled(const struct turns *w)
{
	return w->n_sampled != UINT32_MAX;
}

/* More routes than a search should look at. */
static bool turn_is_large(const struct osr_fabric *fabric)
{
	return (uint64_t)fabric->n_dests * fabric->n_switches > turn_tuning.sample_routes;
}

static void turn_sample(struct turns *w)
{
	uint64_t n = w->t.f->n_switches, per_switch = turn_tuning.sample_routes / (n * n);

	if (turn_is_large(w->t.f))
		w->n_sampled = per_switch ? (uint32_t)per_switch : 1;
}

static void turn_route_all(struct turns *w, enum turn_mode mode)
{
	const struct osr_spf *spf = w->t.s;

	w->n_failed = 0;
	for (uint32_t root = 0; root < w->t.f->n_switches; root++) {
		bool found = false;

		for (uint32_t k = spf->dest_row[root]; k < osr__turn_sample_end(w, root); k++) {
			if (spf->alias[spf->dest_list[k]] != OSR_NONE)
				continue;
			if (!found)
				osr__spf_graph(w->t.s, root);
			found = true;
			turn_route_dest(w, root, spf->dest_list[k], mode);
		}
	}
}

static void turn_copy(const struct turns *w, uint32_t *rank, uint8_t *lane,
		      const uint32_t *from_rank, const uint8_t *from_lane)
{
	memcpy(rank, from_rank, (size_t)w->n_lanes * w->t.f->n_channels * sizeof(*rank));
	memcpy(lane, from_lane, w->g.n_slots);
}

/* On a sample: what is left finds another way when all is routed. */
static uint64_t turn_tolerated(const struct turns *w)
{
	return turn_is_sampled(w) ? osr__turn_n_routes(w) / turn_tuning.sample_few : 0;
}

static uint64_t turn_few(const struct turns *w)
{
	return osr__turn_n_routes(w) / turn_tuning.few;
}

/*
 * Rounds of routing and improving, until every route is legal, it gets no better, or more than `most` are not
 * legal; `all`: the first routes all trees again, not only those that are not. Leaves the best order and lanes
 * seen; *least of the routes had no legal way in them.
 */
static enum osr_status turn_rounds(struct turns *w, struct osr_lanes_job *job, uint32_t max_rounds,
				   bool all, uint64_t most, uint64_t *least)
{
	uint64_t few = turn_few(w);
	uint32_t stale = 0, boost_most;
	enum osr_status st = OSR_OK;

	*least = UINT64_MAX;
	w->boost = 1;
	for (uint32_t i = 1; !st; i++) {
		turn_route_all(w, i == 1 && all ? TURN_ALL : TURN_REPAIR);
		stale = w->n_failed > *least - *least / 20 || w->n_failed == *least ? stale + 1 : 0;
		if (w->n_failed < *least) {
			*least = w->n_failed;
			turn_copy(w, w->best_rank, w->best_lane, w->rank, w->lane);
		}
		if (w->n_failed <= turn_tolerated(w) || w->n_failed > most || i >= max_rounds ||
		    stale >= turn_tuning.max_stale)
			break;
		boost_most = w->n_failed > few ? turn_tuning.boost : turn_tuning.few_boost;
		w->boost = 2 * w->boost < boost_most ? 2 * w->boost : boost_most;
		st = osr__turn_improve(w, job->scratch, job->diag);
	}
	turn_copy(w, w->rank, w->lane, w->best_rank, w->best_lane);
	osr__turn_set_reach(w);
	return st;
}

/* More routes without a legal way than auto would accept as longer ones? */
static bool turn_is_hopeless(const struct turns *w, const struct osr_lanes_job *job,
			     uint64_t failed)
{
	return job->opt->any_sl == OSR_ANY_SL_AUTO &&
	       failed * 100 > osr__turn_n_routes(w) * job->opt->any_sl_cost;
}

/* Order and lanes of an up/down order that was searched for. */
static enum osr_status turn_start_updown(struct turns *w, struct osr_lanes_job *job)
{
	struct osr_updown updown;
	enum osr_status st = osr_updown_search(w->t.s, OSR_UPDOWN_EFFORT / turn_tuning.effort_share,
					       job->scratch, &updown, job->diag);

	return st ? st : osr__turn_start_updown(w, &updown, job->scratch, job->diag);
}

static enum osr_status turn_start_again(struct turns *w, struct osr_lanes_job *job, uint64_t *least)
{
	enum osr_status st = turn_start_updown(w, job);

	return st ? st : turn_rounds(w, job, OSR_ORDERED_ROUNDS, true, UINT64_MAX, least);
}

uint64_t osr__turn_count_failed(struct turns *w)
{
	const struct osr_spf *spf = w->t.s;
	size_t n = w->t.f->n_switches;
	uint64_t n_failed = 0;

	for (uint32_t k = 0; k < spf->dest_row[n]; k++) {
		uint32_t d = spf->dest_list[k], root = w->t.f->dest_switch[d];

		if (spf->alias[d] == OSR_NONE && k < osr__turn_sample_end(w, root))
			n_failed += osr__legal_mark(&w->t, spf->order + root * n,
						    spf->n_order[root], spf->hop + d * n, root);
	}
	return n_failed;
}

/*
 * Lanes by the place of channels in a route, from the paths that are there; those that are not legal
 * are routed again. *serves: nearly all are.
 */
static enum osr_status turn_try_middle(struct turns *w, struct osr_lanes_job *job, bool *serves)
{
	uint64_t enough = osr_spf_load(job->s) * turn_tuning.enough / 100;
	uint32_t n_lanes = w->n_lanes;
	enum osr_status st = osr__turn_start_middle(w, job->scratch, serves, job->diag);

	if (!st && *serves && w->n_failed) {
		turn_route_all(w, TURN_REPAIR);
		*serves = osr__turn_middle_serves(w);
		if (*serves && w->n_failed)
			turn_route_all(w, TURN_DETOUR);
	}
	if (!st && *serves)
		return osr__turn_ease(w, enough, job->scratch, &job->r->n_longer, job->diag);
	w->n_lanes = n_lanes;
	return st;
}

/* The shortest paths as they were, and their load. */
static void turn_restore(struct turns *w, struct osr_lanes_job *job,
			 const struct osr_turn_result *turn, const struct osr_routing *kept)
{
	*job->r = *kept;
	osr_spf_restore(job->s, &turn->paths);
	memset(w->t.detoured, 0, w->t.f->n_dests);
}

/* Detours for what has no legal shortest path, and then what single switches can gain. */
static enum osr_status turn_complete(struct turns *w, struct osr_lanes_job *job, uint64_t n_failed)
{
	if (n_failed)
		turn_route_all(w, TURN_LAST);
	return osr__turn_ease(w, w->enough, job->scratch, &job->r->n_longer, job->diag);
}

/*
 * An order fitted to the trees that are there, and lanes. The first try is kept if it makes every route legal;
 * else a second one, which leaves the turns at the ends of routes more room, is improved.
 */
static enum osr_status turn_start(struct turns *w, struct osr_lanes_job *job)
{
	enum osr_status st = osr__turn_start_fitted(w, true, job->scratch, job->diag);

	w->boost = 1;
	if (st || !osr__turn_count_failed(w))
		return st;
	st = osr__turn_start_fitted(w, false, job->scratch, job->diag);
	return st ? st : osr__turn_improve(w, job->scratch, job->diag);
}

static void turn_search_begin(struct turns *w, const struct osr_lanes_job *job)
{
	w->enough = osr_spf_load(job->s) * turn_tuning.enough / 100;
	turn_sample(w);
}

/* From an order in which so many of the sampled routes are not legal to all routes. */
static enum osr_status turn_search_end(struct turns *w, struct osr_lanes_job *job, uint64_t least,
				       bool *hopeless)
{
	*hopeless = turn_is_hopeless(w, job, least);
	if (*hopeless)
		return OSR_OK;
	if (turn_is_sampled(w)) {
		w->n_sampled = UINT32_MAX;
		turn_route_all(w, TURN_DETOUR);
		least = 0;
	}
	return turn_complete(w, job, least);
}

/*
 * The paths that are there keep their balance where the lanes of turns make them legal: they get their
 * lanes before any tree is routed again. Where that does not make nearly all legal, it starts again.
 */
static enum osr_status turn_search(struct turns *w, struct osr_lanes_job *job, bool *hopeless)
{
	uint64_t least = 0;
	enum osr_status st;

	turn_search_begin(w, job);
	st = turn_start(w, job);
	if (!st)
		st = turn_rounds(w, job, turn_tuning.fitted_rounds, false, turn_few(w), &least);
	if (!st && least && !turn_is_sampled(w))
		st = turn_start_again(w, job, &least);
	return st ? st : turn_search_end(w, job, least, hopeless);
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* Against so many longer routes, and so much load on the busiest link. */
static bool turn_is_cheap(const struct osr_lanes_job *job, const struct osr_turn_result *turn,
			  uint32_t n_longer, uint64_t load)
{
	uint64_t n_routes = (uint64_t)job->s->f->n_dests * job->s->f->n_switches;
	uint32_t n_more = turn->n_longer > n_longer ? turn->n_longer - n_longer : 0;

	return (uint64_t)n_more * 100 <= n_routes * job->opt->any_sl_cost &&
	       turn->load * 100 <= load * turn_tuning.max_efi;
}

/* Large fabrics only: a search leaves more freedom for what has to be routed again after a fault. */
static enum osr_status turn_find_middle(struct turns *w, struct osr_lanes_job *job,
					const struct osr_turn_result *before, bool *routed)
{
	struct osr_routing kept = *job->r;
	uint64_t load = osr_spf_load(job->s);
	struct osr_turn_result now;
	enum osr_status st;

	*routed = false;
	if (!turn_is_large(w->t.f))
		return OSR_OK;
	st = turn_try_middle(w, job, routed);
	now = (struct osr_turn_result){ .n_longer = job->r->n_longer,
					.load = osr_spf_load(job->s) };
	*routed = !st && *routed && turn_is_cheap(job, &now, 0, load);
	if (!*routed)
		turn_restore(w, job, before, &kept);
	return st;
}

/* More than it may be, against so many routes on the busiest link? */
static bool turn_is_loaded(const struct turns *w, uint64_t load)
{
	return osr_spf_load(w->t.s) * 100 > load * turn_tuning.max_efi;
}

/*
 * Fat trees with end ports on switches above the leaves: in the order of the tree the shortest paths between leaves
 * are legal as they are, and keep their balance; only the others are routed again. Two lanes do.
 */
static enum osr_status turn_search_tree(struct turns *w, struct osr_lanes_job *job,
					const struct osr_turn_result *before, bool *tree,
					bool *fits)
{
	struct osr_routing kept = *job->r;
	uint64_t load = osr_spf_load(job->s), least = 0;
	uint32_t n_lanes = w->n_lanes;
	struct osr_updown updown;
	bool hopeless = true;
	enum osr_status st = osr__lanes_tree_updown(job, &updown, tree);

	*fits = false;
	if (st || !*tree)
		return st;
	turn_search_begin(w, job);
	w->n_lanes = 2;
	st = osr__turn_start_updown(w, &updown, job->scratch, job->diag);
	if (!st)
		st = turn_rounds(w, job, OSR_ORDERED_ROUNDS, false, UINT64_MAX, &least);
	if (!st)
		st = turn_search_end(w, job, least, &hopeless);
	*fits = !st && !hopeless && !turn_is_loaded(w, load);
	if (!*fits) {
		turn_restore(w, job, before, &kept);
		w->n_lanes = n_lanes;
	}
	return st;
}

static enum osr_status turn_find(struct turns *w, struct osr_lanes_job *job,
				 struct osr_turn_result *turn, bool *routed)
{
	struct osr_routing kept = *job->r;
	uint64_t before = osr_spf_load(job->s);
	bool small = false, hopeless = false, tree = false, fits = false;
	enum osr_status st = turn_find_middle(w, job, turn, routed);

	if (st || *routed)
		return st;
	if (job->opt->any_sl != OSR_ANY_SL_ON &&
	    (uint64_t)w->t.f->n_dests * w->t.f->n_switches > turn_tuning.auto_routes)
		return OSR_OK;
	st = turn_init_search(w, job, &small);
	if (!st && small)
		st = turn_search_tree(w, job, turn, &tree, &fits);
	/* Of 8 trees among 317 random ones where that is too dear, no other search found less, at twice its time. */
	if (tree && !fits && job->opt->any_sl == OSR_ANY_SL_AUTO)
		return st;
	if (!st && small && !fits)
		st = turn_search(w, job, &hopeless);
	if (st || !small)
		return st;
	turn->n_longer = job->r->n_longer;
	turn->load = osr_spf_load(job->s);
	*routed = job->opt->any_sl != OSR_ANY_SL_AUTO ||
		  (!hopeless && turn_is_cheap(job, turn, 0, before));
	if (*routed)
		return OSR_OK;
	*job->r = kept;
	osr_spf_swap(job->s, &turn->paths);
	if (!hopeless)
		job->turn = *turn;
	return OSR_OK;
}

enum osr_status osr_turn_route(struct osr_lanes_job *job, bool *routed)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct turns *w = osr_alloc(job->scratch, 1, sizeof(*w));
	struct osr_turn_result turn = { .w = w };
	enum osr_status st = osr_spf_save(job->s, job->scratch, &turn.paths, job->diag);

	*routed = false;
	if (!st)
		st = turn_init(w, job);
	if (!st)
		st = turn_find(w, job, &turn, routed);
	if (!st && *routed)
		st = osr__turn_finish(w, job);
	if (!job->turn.w)
		osr_arena_reset(job->scratch, mark);
	return st;
}

enum osr_status osr__turn_take(struct osr_lanes_job *job)
{
	osr_spf_swap(job->s, &job->turn.paths);
	job->r->n_longer = job->turn.n_longer;
	return osr__turn_finish(job->turn.w, job);
}

enum osr_status osr_turn_reconsider(struct osr_lanes_job *job, bool *routed)
{
	struct osr_turn_result *turn = &job->turn;
	uint64_t load = osr_spf_load(job->s);

	*routed = turn->w && turn_is_cheap(job, turn, job->r->n_longer, load);
	if (*routed)
		return osr__turn_take(job);
	if (turn->w)
		job->r->any_sl = (struct osr_any_sl_cost){
			.known = true,
			.n_longer = turn->n_longer,
			.load = load ? (uint32_t)((turn->load * 100 + load - 1) / load) : 100,
		};
	return OSR_OK;
}
