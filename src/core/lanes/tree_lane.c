/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Fat trees, whole or broken, and fabrics of two tiers, such as Megafly: balanced shortest paths
 * that go up the tree first and then down need one lane. Taken where that makes no route between
 * hosts longer, nor the busiest link much busier.
 */
#include <osmroutes/span.h>
#include <osmroutes/treeorder.h>

#include "../paths/spf_private.h"
#include "lanes_private.h"
#include "updown.h"

#define TREE_LANE_MISSING 30 /* percent of the links that may be missing from a tree */

/*
 * The order of a fat tree, or of two tiers if those will do; OSR_NOT_APPLICABLE: the fabric is
 * none.
 */
static enum osr_status tree_lane_find(struct osr_lanes_job *job, bool tiers,
				      struct osr_tree_order *order)
{
	struct osr_pgft_options opt = { .max_missing = TREE_LANE_MISSING };
	struct osr_pgft *tree = osr_alloc(job->scratch, 1, sizeof(*tree));
	struct osr_diag why = { "" };
	enum osr_status st;

	if (!tree)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for a tree");
	st = osr_pgft_find(job->spf->fabric, &opt, job->scratch, tree, &why);
	if (!st)
		st = osr_tree_order_find(tree, job->scratch, order, &why);
	if (st == OSR_NOT_APPLICABLE && tiers)
		st = osr_tree_order_tiers(job->spf->fabric, job->scratch, order, &why);
	return st == OSR_NOMEM ? osr_fail(job->diag, st, "%s", why.text) : st;
}

enum osr_status osr_lanes_in_order(const struct osr_lanes_job *job,
				   const struct osr_tree_order *order)
{
	const struct osr_fabric *fabric = order->fabric;
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	uint32_t n = fabric->n_switches, *parent = osr_alloc(job->scratch, n, sizeof(*parent)),
		 *depth = osr_alloc(job->scratch, n, sizeof(*depth)),
		 *rank = osr_alloc(job->scratch, fabric->n_channels, sizeof(*rank));
	enum osr_status st;

	if (osr_arena_failed(job->scratch, job->diag))
		return OSR_NOMEM;
	osr_span_in_order(fabric, order->number, order->by_number, depth, parent);
	osr_span_rank(fabric, order->number, rank);
	st = osr_lanes_mend(job, rank, parent, UINT64_MAX);
	osr_arena_reset(job->scratch, mark);
	return st;
}

/* percent of the load of several lanes that one lane may have, where there are more lanes */
#define TREE_LANE_LOAD 105

#define TREE_LANE_CROWD 107 /* the same of the mean square of all loads */

/* Loads of all channels: where few cables join two trees, their load says nothing of the rest. */
struct tree_lane_loads {
	uint64_t most, square; /* of the busiest; mean square */
};

static struct tree_lane_loads tree_lane_measure(const struct osr_spf *spf)
{
	unsigned __int128 sum = 0;

	for (uint32_t c = 0; c < spf->fabric->n_channels; c++)
		sum += (unsigned __int128)(spf->weight[c] >> HOP_BITS) *
		       (spf->weight[c] >> HOP_BITS);
	return (struct tree_lane_loads){ osr_spf_load(spf),
					 (uint64_t)(sum / (spf->fabric->n_channels +
							   !spf->fabric->n_channels)) };
}

/*
 * On one VL 1 route in this many between end ports may get longer. With more VLs such routes have
 * two lanes by turn.
 */
#define TREE_LANE_TOLERANCE 20

/*
 * Is one lane worth the load, when shortest paths that may take any lanes are balanced as well?
 * Where it is near the bound, and where these are the same paths, that need not be asked. If it is
 * not, those paths are the job's.
 */
static enum osr_status tree_lane_weigh(struct osr_lanes_job *job, bool cut, bool *fits)
{
	uint64_t load = osr_spf_load(job->spf);
	struct osr_spf_saved saved;
	enum osr_status st;

	if (job->req->max_vls == 1 || !cut || load * 100 <= job->spf->least * TREE_LANE_LOAD)
		return OSR_OK;
	st = osr_spf_save(job->spf, job->scratch, &saved, job->diag);
	if (st)
		return st;
	osr_spf_leave_order(job->spf);
	osr_spf_refine(job->spf, &job->opt->spf);
	*fits = load * 100 <= osr_spf_load(job->spf) * TREE_LANE_LOAD;
	if (*fits)
		osr_spf_restore(job->spf, &saved);
	else
		job->state = OSR_LANES_ROUTED;
	return OSR_OK;
}

enum osr_status osr_lanes_tree_updown(struct osr_lanes_job *job, struct osr_updown *updown,
				      bool *found)
{
	struct osr_tree_order order;
	uint32_t *depth;
	enum osr_status st = job->spf->fabric->n_components == 1
				     ? tree_lane_find(job, false, &order)
				     : OSR_NOT_APPLICABLE;

	*found = !st;
	if (st)
		return st == OSR_NOT_APPLICABLE ? OSR_OK : st;
	updown->place = order.number;
	updown->parent =
		osr_alloc(job->scratch, job->spf->fabric->n_switches, sizeof(*updown->parent));
	depth = osr_alloc(job->scratch, job->spf->fabric->n_switches, sizeof(*depth));
	if (osr_arena_failed(job->scratch, job->diag))
		return OSR_NOMEM;
	osr_span_in_order(job->spf->fabric, order.number, order.by_number, depth, updown->parent);
	return OSR_OK;
}

enum osr_status osr_lanes_tree(struct osr_lanes_job *job, bool *fits)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct tree_lane_loads free = tree_lane_measure(job->spf);
	struct osr_tree_order order;
	enum osr_status st = tree_lane_find(job, true, &order);

	*fits = false;
	if (!st) {
		job->spf->place = order.number;
		*fits = osr_spf_keep_order(job->spf, job->req->max_vls == 1 && job->opt->detours
							     ? TREE_LANE_TOLERANCE
							     : 0);
	}
	if (*fits) {
		bool cut = job->spf->scratch->cut;
		struct tree_lane_loads now;

		osr_spf_route(job->spf, &job->opt->spf);
		now = tree_lane_measure(job->spf);
		/*
		 * One lane is no gain over several lanes that are better balanced even before they
		 * are refined.
		 */
		*fits = job->req->max_vls == 1 ||
			(now.most * 100 <= free.most * TREE_LANE_LOAD &&
			 now.square * 100 <= free.square * TREE_LANE_CROWD);
		if (*fits)
			st = tree_lane_weigh(job, cut, fits);
		else
			osr_spf_leave_order(job->spf);
	}
	job->spf->place = NULL;
	if (!st && *fits)
		st = osr_lanes_in_order(job, &order);
	osr_arena_reset(job->scratch, mark);
	return st == OSR_NOT_APPLICABLE ? OSR_OK : st;
}
