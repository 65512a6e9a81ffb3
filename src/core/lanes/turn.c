/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See turn.h. From the outside in:
 *	osr_turn_route()	searches, and accepts the result or not
 *	turn_middle.c		lanes without a search, where no route has more than three channels
 *	turn_search()		one start or two, then detours
 *	turn_ease.c		lighter, hop by hop
 *	search.c		  routing and improving in turns
 *	turn_order.c		    the order of nodes and the lanes of turns
 *	search_tree.c		    shortest routes within them, longer ones for what is left
 *	turn_tables.c		SL2VL tables and certificate
 */
#include <string.h>

#include "lanes_private.h"
#include "turn_private.h"

/* Measured on random graphs, dragonflies and tori of scripts/bench, and on fabrics of real sites. */
static const struct {
	uint32_t max_lanes; /* more lanes than these share the load; they save hardly any detour */
	uint32_t max_triples;
	uint32_t fitted_rounds; /* with the order that fits the routes, if nearly all are legal: */
	uint32_t few;           /* all but 1 in so many */
	uint32_t effort_share;  /* of the effort of updown.h that a start is worth, */
	uint32_t enough;        /* percent of the load on shortest paths that costs no route */
	uint32_t max_efi;       /* percent of the load with lanes by SL that auto accepts */
	uint32_t auto_routes;   /* auto: where there are more, it would take minutes */
	uint32_t grid_routes;   /* of a grid: where there are more, a search costs too much and */
	uint32_t grid_efi;      /* dimension order may have so many percent of that load */
} turn_tuning = {
	.max_lanes = 4,
	.max_triples = 1u << 27,
	.fitted_rounds = 4,
	.few = 700,
	.effort_share = 16,
	.enough = 109,
	.max_efi = 110,
	.auto_routes = 1u << 26,
	.grid_routes = 1u << 16,
	.grid_efi = 120,
};

/* ---- setting up ------------------------------------------------------------------------------ */

/* Which triples lie on a shortest path between their ends. */
static void turn_find_useful(struct osr__search *w)
{
	const struct osr_fabric *fabric = w->f;
	const uint8_t *dist8 = w->s->scratch->dist8;

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
static bool turn_number_triples(struct osr__search *w)
{
	const struct osr_fabric *fabric = w->f;
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

/* What only the search needs. */
static bool turn_alloc_search(struct osr__search *w, struct osr_arena *scratch)
{
	size_t n_slots = w->g.n_slots, n_nodes = (size_t)w->n_lanes * w->f->n_channels;

	w->best_rank = osr_alloc(scratch, n_nodes, sizeof(*w->best_rank));
	w->best_lane = osr_alloc(scratch, n_slots, 1);
	w->cost = osr_alloc(scratch, w->n_lanes * OSR__TURN_HOPS, sizeof(*w->cost));
	w->triple = osr_calloc(scratch, w->triple_row[n_slots], sizeof(*w->triple));
	w->useful = osr_calloc(scratch, w->triple_row[n_slots], 1);
	return !osr_arena_failed(scratch, NULL);
}

enum osr_status osr__turn_init(struct osr__search *w, const struct osr_lanes_job *job,
			       uint32_t max_lanes)
{
	uint32_t n_classes = osr__turn_classes(job->req), n_lanes = job->req->max_vls / n_classes;

	*w = (struct osr__search){ .s = job->s,
				   .f = job->s->f,
				   .scratch = job->scratch,
				   .diag = job->diag,
				   .n_lanes = n_lanes < max_lanes ? n_lanes : max_lanes,
				   .n_classes = n_classes };
	return osr__search_init(w, true);
}

/* *small: the fabric is small enough for a search. */
static enum osr_status turn_init_search(struct osr__search *w, struct osr_lanes_job *job,
					bool *small)
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

/* ---- starts ---------------------------------------------------------------------------------- */

/* More routes without a legal way than auto would accept as longer ones? */
static bool turn_is_hopeless(const struct osr__search *w, const struct osr_lanes_job *job,
			     uint64_t failed)
{
	return job->opt->any_sl == OSR_ANY_SL_AUTO &&
	       failed * 100 > osr__search_n_routes(w) * job->opt->any_sl_cost;
}

/* Order and lanes of an up/down order that was searched for. */
static enum osr_status turn_start_updown(struct osr__search *w, struct osr_lanes_job *job)
{
	struct osr_updown updown;
	enum osr_status st = osr_updown_search(w->s, OSR_UPDOWN_EFFORT / turn_tuning.effort_share,
					       job->scratch, &updown, job->diag);

	return st ? st : osr__turn_start_updown(w, &updown);
}

static enum osr_status turn_start_again(struct osr__search *w, struct osr_lanes_job *job,
					uint64_t *least)
{
	enum osr_status st = turn_start_updown(w, job);

	return st ? st : osr__search_rounds(w, OSR__SEARCH_ROUNDS, true, UINT64_MAX, least);
}

/*
 * Lanes by the place of channels in a route, from the paths that are there; those that are not legal
 * are routed again. *serves: nearly all are.
 */
static enum osr_status turn_try_middle(struct osr__search *w, struct osr_lanes_job *job,
				       bool *serves)
{
	uint64_t enough = osr_spf_load(job->s) * turn_tuning.enough / 100;
	uint32_t n_lanes = w->n_lanes;
	enum osr_status st = osr__turn_start_middle(w, serves);

	if (!st && *serves && w->n_failed) {
		osr__search_route_all(w, OSR__SEARCH_REPAIR);
		*serves = osr__turn_middle_serves(w);
		if (*serves && w->n_failed)
			osr__search_route_all(w, OSR__SEARCH_DETOUR);
	}
	if (!st && *serves)
		return osr__turn_ease(w, enough, &job->r->n_longer);
	w->n_lanes = n_lanes;
	return st;
}

/* The shortest paths as they were, and their load. */
static void turn_restore(struct osr__search *w, struct osr_lanes_job *job,
			 const struct osr_turn_result *turn, const struct osr_routing *kept)
{
	*job->r = *kept;
	osr_spf_restore(job->s, &turn->paths);
	memset(w->detoured, 0, w->f->n_dests);
}

/* Detours for what has no legal shortest path, and then what single switches can gain. */
static enum osr_status turn_complete(struct osr__search *w, struct osr_lanes_job *job,
				     uint64_t n_failed)
{
	if (n_failed)
		osr__search_route_all(w, OSR__SEARCH_LAST);
	return osr__turn_ease(w, w->enough, &job->r->n_longer);
}

/*
 * An order fitted to the trees that are there, and lanes. The first try is kept if it makes every route legal;
 * else a second one, which leaves the turns at the ends of routes more room, is improved.
 */
static enum osr_status turn_start(struct osr__search *w, struct osr_lanes_job *job)
{
	enum osr_status st = osr__turn_start_fitted(w, true);

	w->boost = 1;
	if (st || !osr__search_count_failed(w))
		return st;
	st = osr__turn_start_fitted(w, false);
	return st ? st : osr__search_improve_turn(w);
}

static void turn_search_begin(struct osr__search *w, const struct osr_lanes_job *job)
{
	w->enough = osr_spf_load(job->s) * turn_tuning.enough / 100;
	osr__search_sample(w);
}

/* From an order in which so many of the sampled routes are not legal to all routes. */
static enum osr_status turn_search_end(struct osr__search *w, struct osr_lanes_job *job,
				       uint64_t least, bool *hopeless)
{
	*hopeless = turn_is_hopeless(w, job, least);
	if (*hopeless)
		return OSR_OK;
	if (w->n_sampled != UINT32_MAX) {
		w->n_sampled = UINT32_MAX;
		osr__search_route_all(w, OSR__SEARCH_DETOUR);
		least = 0;
	}
	return turn_complete(w, job, least);
}

/*
 * The paths that are there keep their balance where the lanes of turns make them legal: they get their
 * lanes before any tree is routed again. Where that does not make nearly all legal, it starts again.
 */
static enum osr_status turn_search(struct osr__search *w, struct osr_lanes_job *job, bool *hopeless)
{
	uint64_t least = 0;
	enum osr_status st;

	turn_search_begin(w, job);
	st = turn_start(w, job);
	if (!st)
		st = osr__search_rounds(w, turn_tuning.fitted_rounds, false,
					osr__search_n_routes(w) / turn_tuning.few, &least);
	if (!st && least && w->n_sampled == UINT32_MAX)
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
static enum osr_status turn_find_middle(struct osr__search *w, struct osr_lanes_job *job,
					const struct osr_turn_result *before, bool *routed)
{
	struct osr_routing kept = *job->r;
	uint64_t load = osr_spf_load(job->s);
	struct osr_turn_result now;
	enum osr_status st;

	*routed = false;
	if (!osr__search_is_large(w->f))
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
static bool turn_is_loaded(const struct osr__search *w, uint64_t load)
{
	return osr_spf_load(w->s) * 100 > load * turn_tuning.max_efi;
}

/*
 * Fat trees with end ports on switches above the leaves: in the order of the tree the shortest paths between leaves
 * are legal as they are, and keep their balance; only the others are routed again. Two lanes do.
 */
static enum osr_status turn_search_tree(struct osr__search *w, struct osr_lanes_job *job,
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
	st = osr__turn_start_updown(w, &updown);
	if (!st)
		st = osr__search_rounds(w, OSR__SEARCH_ROUNDS, false, UINT64_MAX, &least);
	if (!st)
		st = turn_search_end(w, job, least, &hopeless);
	*fits = !st && !hopeless && !turn_is_loaded(w, load);
	if (!*fits) {
		turn_restore(w, job, before, &kept);
		w->n_lanes = n_lanes;
	}
	return st;
}

static enum osr_status turn_find(struct osr__search *w, struct osr_lanes_job *job,
				 struct osr_turn_result *turn, bool *routed)
{
	struct osr_routing kept = *job->r;
	uint64_t before = osr_spf_load(job->s);
	bool small = false, hopeless = false, tree = false, fits = false;
	enum osr_status st = turn_find_middle(w, job, turn, routed);

	if (st || *routed)
		return st;
	if (job->opt->any_sl != OSR_ANY_SL_ON &&
	    (uint64_t)w->f->n_dests * w->f->n_switches > turn_tuning.auto_routes)
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
	struct osr__search *w = osr_alloc(job->scratch, 1, sizeof(*w));
	struct osr_turn_result turn = { .w = w };
	enum osr_status st = osr_spf_save(job->s, job->scratch, &turn.paths, job->diag);

	*routed = false;
	if (!st)
		st = osr__turn_init(w, job, turn_tuning.max_lanes);
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

enum osr_status osr_turn_compare(struct osr_lanes_job *job, bool *routed)
{
	uint64_t n_routes = (uint64_t)job->s->f->n_dests * job->s->f->n_switches,
		 load = osr_spf_load(job->s);
	bool large;

	if (!job->turn.w)
		return OSR_OK;
	large = n_routes > turn_tuning.grid_routes;
	*routed = turn_is_cheap(job, &job->turn, 0,
				load * (large ? turn_tuning.grid_efi : turn_tuning.max_efi) /
					turn_tuning.max_efi);
	if (*routed)
		return osr__turn_take(job);
	if (!large)
		job->turn.w = NULL;
	return OSR_OK;
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
