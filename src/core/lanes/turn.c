/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See turn.h. From the outside in:
 *	osr_turn_route()	searches, and accepts the result or not
 *	turn_search()		a start, rounds where it leaves something illegal, then detours
 *	osr_search_ease()	lighter, entry by entry
 *	search.c		  routing and improving in turns
 *	turn_order.c		    the order of nodes and the lanes of turns
 *	search_tree.c		    shortest routes within them, longer ones for what is left
 *	turn_tables.c		SL2VL tables and certificate
 */
#include <string.h>

#include "lanes_private.h"
#include "turn.h"

#include <osmroutes/each.h>

/*
 * Measured on random graphs, dragonflies and tori of scripts/study bench, and on fabrics of real sites.
 */
static const struct {
	uint32_t max_lanes; /* more lanes than these share the load; they save hardly any detour */
	uint32_t max_triples;
	uint32_t rounds;      /* of routing and of improving the order, */
	uint32_t tree_rounds; /* and in the order of a tree */
	/*
	 * auto: if the fitted order leaves more than 1 route in this many without a legal
	 * way, it gives up
	 */
	uint32_t hopeless;
	/* on two lanes: if it leaves more than 1 in this many, an up/down order is searched */
	uint32_t unfit;
	uint32_t effort_share; /* with such a part of the effort of updown.h */
	uint32_t max_efi;      /* percent of the load of shortest paths that auto accepts */
	uint32_t auto_routes;  /* auto: where there are more, it would take minutes */
	/* with this percentage of the load of shortest paths no route gets longer */
	uint32_t ease_enough;
	uint32_t grid_routes; /* of a grid: where there are more, a search costs too much */
} turn_tuning = {
	.max_lanes = 3,
	.max_triples = 1u << 27,
	.rounds = 5,
	.tree_rounds = 2,
	.hopeless = 4,
	.unfit = 15,
	.effort_share = 16,
	.max_efi = 110,
	.auto_routes = 1u << 26,
	.ease_enough = 109,
	.grid_routes = 1u << 16,
};

/* ---- setting up ------------------------------------------------------------------------------ */

/*
 * Does turn t of channel c begin a shortest path of three channels? row[]: 1 for each that may be
 * the third.
 */
static bool turn_begins(const struct osr_search *search, uint32_t c, uint32_t t, uint32_t *row)
{
	const struct osr_fabric *fabric = search->fabric;
	const uint8_t *dist8 =
		search->spf->scratch->dist8 + (size_t)fabric->chan_src[c] * fabric->n_switches;
	uint32_t x = fabric->chan_dst[osr_turn_next(search->fabric, c, t)],
		 first = fabric->chan_row[x];
	bool any = false;

	if (dist8[x] == 2)
		for (uint32_t c2 = first; c2 < fabric->chan_row[x + 1]; c2++) {
			if (dist8[fabric->chan_dst[c2]] != 3)
				continue;
			any = true;
			if (row)
				row[c2 - first] = 1;
		}
	return any;
}

/*
 * Memory for a better order. *small: the fabric is small enough for one. Only turns that begin
 * triples have a row of them.
 */
static enum osr_status turn_init_triples(struct osr_search *search, bool *small)
{
	const struct osr_fabric *fabric = search->fabric;
	struct osr_arena *scratch = search->scratch;
	uint64_t at = 0;

	*small = search->triple != NULL;
	if (*small)
		return OSR_OK;
	search->triple_row = osr_alloc(scratch, (size_t)osr_n_turns(search->fabric) + 1,
				       sizeof(*search->triple_row));
	search->cost =
		osr_alloc(scratch, turn_tuning.max_lanes * OSR_TURN_HOPS, sizeof(*search->cost));
	if (osr_arena_failed(scratch, NULL))
		return osr_turn_nomem(search->diag);
	OSR_EVERY_CHANNEL(c, fabric) {
		if (at > turn_tuning.max_triples)
			break;
		for (uint32_t t = search->fabric->turn_row[c]; t < search->fabric->turn_row[c + 1];
		     t++) {
			uint32_t x = fabric->chan_dst[osr_turn_next(search->fabric, c, t)];

			search->triple_row[t] = (uint32_t)at;
			if (turn_begins(search, c, t, NULL))
				at += fabric->chan_row[x + 1] - fabric->chan_row[x];
		}
	}
	search->triple_row[osr_n_turns(search->fabric)] = (uint32_t)at;
	*small = at <= turn_tuning.max_triples;
	if (!*small)
		return OSR_OK;
	search->triple = osr_calloc(scratch, at + 1, sizeof(*search->triple));
	if (!search->triple)
		return osr_turn_nomem(search->diag);
	OSR_EVERY_CHANNEL(c, fabric)
		for (uint32_t t = search->fabric->turn_row[c]; t < search->fabric->turn_row[c + 1];
		     t++)
			if (search->triple_row[t] < search->triple_row[t + 1])
				turn_begins(search, c, t, search->triple + search->triple_row[t]);
	return OSR_OK;
}

enum osr_status osr_turn_init(struct osr_search *search, const struct osr_lanes_job *job,
			      uint32_t max_lanes)
{
	uint32_t n_classes = osr_turn_classes(job->req), n_lanes = job->req->max_vls / n_classes;

	if (job->most_lanes && job->most_lanes < max_lanes)
		max_lanes = job->most_lanes;
	*search = (struct osr_search){ .spf = job->spf,
				       .fabric = job->spf->fabric,
				       .scratch = job->scratch,
				       .diag = job->diag,
				       .order.n_lanes = n_lanes < max_lanes ? n_lanes : max_lanes,
				       .n_classes = n_classes };
	return osr_search_init(search, true);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* The shortest paths as they were, and their load. */
static void turn_restore(struct osr_search *search, struct osr_lanes_job *job,
			 const struct osr_turn_result *turn, const struct osr_routing *kept)
{
	*job->routing = *kept;
	osr_spf_restore(job->spf, &turn->paths);
	memset(search->detoured, 0, search->fabric->n_dests);
}

/* A better order, in rounds of this kind; then all are routed in it. */
struct turn_rounds {
	uint32_t n_sampled; /* LIDs of each switch that rounds look at */
	uint32_t n;
	bool all; /* the first one routes all trees again */
};

static enum osr_status turn_improve(struct osr_search *search, struct osr_lanes_job *job,
				    const struct turn_rounds *rounds, bool *hopeless)
{
	uint64_t least = 0, most, rounds_end;
	bool small = true;
	enum osr_status st = turn_init_triples(search, &small);

	osr_turn_count_used(search);
	search->n_sampled = rounds->n_sampled;
	/* Of routes without a legal way, auto would accept no more as longer ones. */
	most = rounds_end = UINT64_MAX;
	if (job->opt->any_sl == OSR_ANY_SL_AUTO) {
		most = osr_search_n_routes(search) * job->opt->any_sl_cost / 100;
		rounds_end = 2 * most;
	}
	if (!st)
		st = osr_search_rounds(search, small ? rounds->n : 1, rounds->all, rounds_end,
				       &least);
	*hopeless = least > most;
	search->n_sampled = UINT32_MAX;
	if (!st && !*hopeless)
		osr_search_route_all(search, OSR_SEARCH_DETOUR);
	return st;
}

uint64_t osr_turn_spare(const struct osr_search *search, const struct osr_lanes_options *opt,
			uint64_t n_longer)
{
	uint64_t n_routes = (uint64_t)search->fabric->n_dests * search->fabric->n_switches,
		 most = n_routes * opt->any_sl_cost / 100, n_sent = 0;

	OSR_EACH_SWITCH(v, search->fabric)
		n_sent += search->fabric->sw_sources[v];
	return most > n_longer ? n_sent * n_sent * (most - n_longer) / n_routes : 0;
}

/*
 * To `load`, the load of shortest paths; routes get longer for it within any_sl_cost. Of 240
 * searches none succeeded by a second run, and none where seven eighths of these routes were longer
 * before the first.
 */
static void turn_ease(struct osr_search *search, struct osr_lanes_job *job, uint64_t load)
{
	uint64_t enough = load * turn_tuning.ease_enough / 100, spare;

	osr_search_ease(search, load, 0);
	job->routing->n_longer = osr_search_count_longer(search);
	spare = osr_turn_spare(search, job->opt, job->routing->n_longer);
	if (osr_spf_load(search->spf) <= enough || spare <= osr_turn_spare(search, job->opt, 0) / 8)
		return;
	osr_search_ease(search, enough, spare);
	job->routing->n_longer = osr_search_count_longer(search);
}

/*
 * The paths that are there keep their balance where the lanes of turns make them legal. The search
 * starts from the fitted order; from an up/down order if that fits badly on two lanes, or with
 * updown_first.
 */
static enum osr_status turn_search(struct osr_search *search, struct osr_lanes_job *job,
				   bool updown_first, bool *hopeless)
{
	struct turn_rounds rounds = { .n_sampled = 1, .n = turn_tuning.rounds };
	uint64_t load = osr_spf_load(job->spf), n_routes = osr_search_n_routes(search), failed = 0;
	struct osr_updown updown;
	enum osr_status st = updown_first ? OSR_OK : osr_turn_start_fitted(search);

	if (!st && !updown_first)
		failed = osr_search_count_failed(search);
	*hopeless = job->opt->any_sl == OSR_ANY_SL_AUTO && failed * turn_tuning.hopeless > n_routes;
	if (st || *hopeless)
		return st;
	/* An up/down order that was searched for has use for the first lane, too. */
	rounds.all = updown_first ||
		     (search->order.n_lanes == 2 && failed * turn_tuning.unfit > n_routes);
	if (rounds.all)
		st = osr_updown_search(search->spf, OSR_UPDOWN_EFFORT / turn_tuning.effort_share,
				       job->scratch, &updown, job->diag);
	if (!st && rounds.all)
		st = osr_turn_start_updown(search, &updown);
	if (!st && (failed || rounds.all))
		st = turn_improve(search, job, &rounds, hopeless);
	if (!st && !*hopeless)
		turn_ease(search, job, load);
	return st;
}

/* ---- the cost -------------------------------------------------------------------------------- */

/*
 * auto: few routes longer, and little more than `load` on the busiest link. Else job->r says what
 * it would cost.
 */
static bool turn_accepts(const struct osr_lanes_job *job, const struct osr_turn_result *turn,
			 uint64_t load)
{
	uint64_t n_routes = (uint64_t)job->spf->fabric->n_dests * job->spf->fabric->n_switches;

	if (job->opt->any_sl != OSR_ANY_SL_AUTO ||
	    ((uint64_t)turn->n_longer * 100 <= n_routes * job->opt->any_sl_cost &&
	     turn->load * 100 <= load * turn_tuning.max_efi))
		return true;
	job->routing->any_sl = (struct osr_any_sl_cost){
		.known = true,
		.n_longer = turn->n_longer,
		.load = load ? (uint32_t)((turn->load * 100 + load - 1) / load) : 100,
	};
	return false;
}

/*
 * Fat trees with end ports on switches above the leaves: in the order of the tree the shortest
 * paths between leaves are legal as they are, and keep their balance; only the others are routed
 * again. Two lanes do.
 */
static enum osr_status turn_search_tree(struct osr_search *search, struct osr_lanes_job *job,
					const struct osr_turn_result *before, bool *tree,
					bool *fits)
{
	struct osr_routing kept = *job->routing;
	struct turn_rounds rounds = { .n_sampled = UINT32_MAX, .n = turn_tuning.tree_rounds };
	uint64_t load = osr_spf_load(job->spf);
	uint32_t n_lanes = search->order.n_lanes;
	bool hopeless = false;
	struct osr_updown updown;
	enum osr_status st = osr_lanes_tree_updown(job, &updown, tree);

	*fits = false;
	if (st || !*tree)
		return st;
	search->order.n_lanes = 2;
	st = osr_turn_start_updown(search, &updown);
	if (!st)
		st = turn_improve(search, job, &rounds, &hopeless);
	*fits = !hopeless;
	if (!st && *fits)
		turn_ease(search, job, load);
	*fits = *fits && !st && osr_spf_load(search->spf) * 100 <= load * turn_tuning.max_efi;
	if (!*fits) {
		turn_restore(search, job, before, &kept);
		search->order.n_lanes = n_lanes;
	}
	return st;
}

static enum osr_status turn_find(struct osr_search *search, struct osr_lanes_job *job,
				 struct osr_turn_result *turn, bool *routed)
{
	struct osr_routing kept = *job->routing;
	uint64_t before = osr_spf_load(job->spf);
	bool hopeless = false, tree = false, fits = false;
	enum osr_status st = OSR_OK;

	if (job->opt->any_sl != OSR_ANY_SL_ON &&
	    (uint64_t)search->fabric->n_dests * search->fabric->n_switches >
		    turn_tuning.auto_routes)
		return OSR_OK;
	st = turn_search_tree(search, job, turn, &tree, &fits);
	/*
	 * Of 8 trees among 317 random ones where that is too dear, no other search found less, at
	 * twice its time.
	 */
	if (tree && !fits && job->opt->any_sl == OSR_ANY_SL_AUTO)
		return st;
	if (!st && !fits)
		st = turn_search(search, job, false, &hopeless);
	/* From an up/down order more routes get longer, but the load may be low enough. */
	if (!st && !fits && !hopeless && search->order.n_lanes > 2 &&
	    osr_spf_load(job->spf) * 100 > before * turn_tuning.max_efi) {
		turn_restore(search, job, turn, &kept);
		st = turn_search(search, job, true, &hopeless);
	}
	turn->n_longer = job->routing->n_longer;
	turn->load = osr_spf_load(job->spf);
	*routed = !st && !hopeless && turn_accepts(job, turn, before);
	if (st || *routed)
		return st;
	kept.any_sl = job->routing->any_sl;
	turn_restore(search, job, turn, &kept);
	return OSR_OK;
}

enum osr_status osr_turn_route(struct osr_lanes_job *job, bool *routed)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct osr_search *search = osr_alloc(job->scratch, 1, sizeof(*search));
	struct osr_turn_result turn = { .search = search };
	enum osr_status st = osr_spf_save(job->spf, job->scratch, &turn.paths, job->diag);

	*routed = false;
	if (!st)
		st = osr_turn_init(search, job, turn_tuning.max_lanes);
	if (!st)
		st = turn_find(search, job, &turn, routed);
	if (!st && *routed)
		st = osr_turn_finish(search, job);
	osr_arena_reset(job->scratch, mark);
	return st;
}

enum osr_status osr_turn_take(struct osr_lanes_job *job)
{
	osr_spf_restore(job->spf, &job->turn.paths);
	job->routing->n_longer = job->turn.n_longer;
	return osr_turn_finish(job->turn.search, job);
}

enum osr_status osr_turn_compare(struct osr_lanes_job *job, bool last, bool *routed)
{
	uint64_t n_routes = (uint64_t)job->spf->fabric->n_dests * job->spf->fabric->n_switches;
	bool small = n_routes <= turn_tuning.grid_routes;

	*routed = job->turn.search && turn_accepts(job, &job->turn, osr_spf_load(job->spf));
	if (*routed)
		return osr_turn_take(job);
	if (small && !last)
		job->turn.search = NULL;
	return OSR_OK;
}
