/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Fat trees, whole or broken, and fabrics of two tiers, such as Megafly: balanced shortest paths that go up the tree first and then down need
 * one lane. Taken where that makes no route between hosts longer, nor the busiest link much busier.
 */
#include <osmroutes/treeorder.h>

#include "../paths/spf_private.h"
#include "lanes_private.h"
#include "updown.h"

#define TREE_LANE_MISSING 30 /* percent of the links that may be missing from a tree */

/* OSR_NOT_APPLICABLE: the fabric is no tree. */
static enum osr_status tree_lane_order(struct osr_lanes_job *job, struct osr_tree_order *order,
				       struct osr_pgft *tree, struct osr_diag *why)
{
	struct osr_pgft_options opt = { .max_missing = TREE_LANE_MISSING };
	enum osr_status st = osr_pgft_find(job->s->f, &opt, job->scratch, tree, why);

	return st ? st : osr_tree_order_find(tree, job->scratch, order, why);
}

#define TREE_LANE_LOAD                                                                             \
	105 /* percent of what others carry that one lane may, where there are more lanes */

#define TREE_LANE_CROWD 110 /* the same of the mean square of all loads */

/* Loads of all channels: where few cables join two trees, their load says nothing of the rest. */
struct tree_lane_loads {
	uint64_t most, square; /* of the busiest; mean square */
};

static struct tree_lane_loads tree_lane_measure(const struct osr_spf *spf)
{
	unsigned __int128 sum = 0;

	for (uint32_t c = 0; c < spf->f->n_channels; c++)
		sum += (unsigned __int128)(spf->weight[c] >> HOP_BITS) *
		       (spf->weight[c] >> HOP_BITS);
	return (struct tree_lane_loads){
		osr_spf_load(spf), (uint64_t)(sum / (spf->f->n_channels + !spf->f->n_channels))
	};
}

/* One lane is no gain over several that are better balanced already before they are refined. */
static bool tree_lane_is_worse(const struct osr_lanes_job *job, const struct tree_lane_loads *free)
{
	struct tree_lane_loads now = tree_lane_measure(job->s);

	return job->req->max_vls > 1 && (now.most * 100 > free->most * TREE_LANE_LOAD ||
					 now.square * 100 > free->square * TREE_LANE_CROWD);
}

#define TREE_LANE_TOLERANCE 20 /* on one VL, 1 in so many routes between end ports may get longer */

/* With more VLs those routes have two lanes by turn, and keep their length. */
static uint32_t tree_lane_tolerance(const struct osr_lanes_job *job)
{
	return job->req->max_vls == 1 && job->opt->detours ? TREE_LANE_TOLERANCE : 0;
}

/*
 * Is one lane worth the load, when shortest paths that may take any lanes are balanced as well? Where it is near
 * the bound that need not be asked. If it is not, those paths are the job's.
 */
static enum osr_status tree_lane_weigh(struct osr_lanes_job *job, bool *fits)
{
	uint64_t load = osr_spf_load(job->s);
	struct osr_spf_saved saved;
	enum osr_status st;

	if (job->req->max_vls == 1 || load * 100 <= osr_spf_bound(job->s->f) * TREE_LANE_LOAD)
		return OSR_OK;
	st = osr_spf_save(job->s, job->scratch, &saved, job->diag);
	if (st)
		return st;
	osr_spf_leave_order(job->s);
	osr_spf_refine(job->s, &job->opt->spf);
	*fits = load * 100 <= osr_spf_load(job->s) * TREE_LANE_LOAD;
	if (*fits)
		osr_spf_restore(job->s, &saved);
	else
		job->state = OSR_LANES_ROUTED;
	return OSR_OK;
}

static enum osr_status tree_lane_route(struct osr_lanes_job *job,
				       const struct osr_tree_order *order, bool *fits)
{
	uint32_t n = job->s->f->n_switches, n_longer = 0;
	uint32_t *by_place = osr_alloc(job->scratch, n, sizeof(*by_place));
	struct tree_lane_loads free = tree_lane_measure(job->s);
	enum osr_status st;

	if (!by_place)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for the order of %u switches",
				n);

	job->s->place = order->number;
	job->s->by_place = by_place;
	for (uint32_t v = 0; v < n; v++)
		by_place[order->number[v]] = v;
	*fits = osr_spf_keep_order(job->s, tree_lane_tolerance(job));
	if (!*fits)
		return OSR_OK;
	osr_spf_route(job->s, &job->opt->spf);
	st = osr_spf_complete_order(job->s, job->scratch, fits, &n_longer, job->diag);
	if (st)
		return st;
	*fits &= !tree_lane_is_worse(job, &free);
	if (!*fits) {
		osr_spf_leave_order(job->s);
		return OSR_OK;
	}
	st = tree_lane_weigh(job, fits);
	if (st || !*fits)
		return st;
	job->r->n_longer = n_longer;
	return osr_tree_order_certify(order, job->req, job->scratch, job->result, job->r,
				      job->diag);
}

enum osr_status osr__lanes_tree_updown(struct osr_lanes_job *job, struct osr_updown *updown,
				       bool *found)
{
	uint32_t n = job->s->f->n_switches;
	uint32_t *by_place = osr_alloc(job->scratch, n, sizeof(*by_place));
	uint32_t *depth = osr_alloc(job->scratch, n, sizeof(*depth));
	struct osr_tree_order order;
	struct osr_diag why = { "" };
	struct osr_pgft tree;
	enum osr_status st;

	updown->place = osr_alloc(job->scratch, n, sizeof(*updown->place));
	updown->parent = osr_alloc(job->scratch, n, sizeof(*updown->parent));
	*found = false;
	if (!by_place || !depth || !updown->place || !updown->parent)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for the order of %u switches",
				n);
	st = tree_lane_order(job, &order, &tree, &why);
	for (uint32_t v = 0; !st && v < n; v++)
		updown->place[v] = (uint16_t)order.number[v];
	*found = !st && osr_tree_order_parents(&order, by_place, depth, updown->parent) == 1;
	return st == OSR_NOMEM ? osr_fail(job->diag, st, "%s", why.text) : OSR_OK;
}

enum osr_status osr__lanes_tree(struct osr_lanes_job *job, bool *fits)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct osr_tree_order order;
	struct osr_diag why = { "" };
	struct osr_pgft tree;
	enum osr_status st = tree_lane_order(job, &order, &tree, &why);

	*fits = false;
	if (st == OSR_NOT_APPLICABLE)
		st = osr_tree_order_tiers(job->s->f, job->scratch, &order, &why);
	if (st == OSR_NOMEM)
		return osr_fail(job->diag, st, "%s", why.text);
	if (!st)
		st = tree_lane_route(job, &order, fits);
	job->s->place = job->s->by_place = NULL;
	osr_arena_reset(job->scratch, mark);
	return st == OSR_NOT_APPLICABLE ? OSR_OK : st;
}
