/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * angara - tori and meshes of up to six dimensions, whole or damaged, on two virtual lanes.
 *
 * Source: Mukosey, Semenov, Tretiakov: Optimized Graph Based Routing Algorithm for the Angara
 * Interconnect: direction order, direction bits, steps in front of a route where they close no
 * cycle (section 3). The order of directions is +X -X +Y -Y ...; DIFFERS from the paper's (first
 * all positive ones, then all negative), which loads the outer rows of lines with nearly twice their
 * mean, and has no way on where a ring is interrupted. DIFFERS too: InfiniBand has no bubble rule,
 * so service levels say which datelines a route crosses (plan.h); and a route is known at every
 * switch on its way (trees.h).
 */
#include <string.h>

#include <osmroutes/check.h>
#include <osmroutes/dor.h>
#include <osmroutes/engine.h>
#include <osmroutes/lanes.h>
#include <osmroutes/spf.h>

#include "even.h"
#include "hints.h"
#include "job.h"

enum { DETOURS, HINTS };

static const struct osr_param params[] = {
	[DETOURS] = { "detours", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "with too few virtual lanes, or where too much is missing, route some pairs "
		      "over longer paths instead of giving up" },
	[HINTS] = { "hints", OSR_PARAM_STRING, "", 0, 0, NULL,
		    "a file that says what the cables leave open: sizes, coordinates, or ports" },
	{ NULL }
};

/* ---- the grid's own way ---------------------------------------------------------------------- */

static enum osr_status angara_allocate(struct job *j)
{
	size_t n = j->f->n_switches;

	j->load = osr_calloc(j->scratch, j->f->n_channels, sizeof(*j->load));
	j->flow = osr_calloc(j->scratch, n, sizeof(*j->flow));
	return osr_arena_failed(j->scratch, j->diag) ? OSR_NOMEM : OSR_OK;
}

/* Service levels that pairs may leave, if there are lanes. */
static enum osr_status prepare_aside(struct job *j)
{
	const struct osr_fabric *fabric = j->f;
	size_t n = fabric->n_switches;

	if (j->req->max_vls < 2)
		return OSR_OK;
	j->trees.sl = osr_alloc(j->scratch, fabric->n_dests * n, 1);
	if (osr_arena_failed(j->scratch, j->diag))
		return OSR_NOMEM;
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t v = 0; v < n; v++)
			j->trees.sl[d * n + v] =
				angara__sl(&j->plan, osr_grid_coord(&j->grid, v),
					   osr_grid_coord(&j->grid, fabric->dest_switch[d]));
	return OSR_OK;
}

/* The ways of the intact grid, and the order in which they rise. */
static enum osr_status route_plain(struct job *j, uint32_t n_lanes)
{
	enum osr_status st =
		angara__order(&j->order, &j->plan, j->trees.gap, n_lanes, j->scratch, j->diag);

	j->trees.o = &j->order;
	j->trees.n_detours = j->trees.n_aside = 0;
	if (!st)
		angara__trees_plain(&j->trees);
	return st;
}

static enum osr_status watch(struct job *j)
{
	size_t n = j->f->n_switches, n_dirs = 2 * j->plan.n_dims;

	j->trees.fresh = osr_alloc(j->scratch, n * n_dirs * n_dirs, sizeof(*j->trees.fresh));
	if (osr_arena_failed(j->scratch, j->diag))
		return OSR_NOMEM;
	return angara__order_watch(&j->order, j->scratch, j->diag);
}

static enum osr_status angara_depend(struct job *j)
{
	uint16_t *sls = osr_alloc(j->scratch, j->f->n_switches, sizeof(*sls));

	if (osr_arena_failed(j->scratch, j->diag))
		return OSR_NOMEM;
	angara__trees_depend(&j->trees, sls);
	return OSR_OK;
}

/* Who comes first where unicast and multicast share a lane. */
enum turn {
	ALL_STAY,        /* the ways of the intact grid, then multicast, then ways around */
	MULTICAST_FIRST, /* who does not agree with it takes another service level */
	NO_MULTICAST,
	N_TURNS
};

/* *found false: not so; *again: not in this order of dests. */
static enum osr_status mend_by(struct job *j, enum turn turn, struct spread *m, bool *found,
			       bool *again)
{
	uint32_t n_lanes = j->req->max_vls < 3 ? 2 : 3;
	enum osr_status st = route_plain(j, n_lanes);

	if (!st)
		st = prepare_aside(j);
	if (!st)
		st = watch(j);
	if (!st && turn != MULTICAST_FIRST)
		st = angara_depend(j);
	if (st)
		return st;
	m->found = turn != NO_MULTICAST && angara__trees_multicast(&j->trees, 0, m->up);
	*again = (turn == NO_MULTICAST || m->found) &&
		 (turn != MULTICAST_FIRST || angara__trees_settle(&j->trees));
	*found = *again && angara__trees_mend(&j->trees);
	return OSR_OK;
}

/* How often a dest that found no way may come first. */
#define MAX_TRIES 8

static enum osr_status angara_mend(struct job *j, struct spread *m, bool *found)
{
	bool shared = m->wanted && !j->req->mcast_vl;

	angara__plan_aside(&j->plan, j->req->max_vls < 3 ? j->req->max_vls : 3);
	for (enum turn turn = shared ? ALL_STAY : NO_MULTICAST; turn < N_TURNS && !*found; turn++) {
		bool again = turn != MULTICAST_FIRST || j->req->max_vls > 1;

		for (uint32_t k = 0; k < MAX_TRIES && again && !*found; k++) {
			struct osr_arena_mark mark = osr_arena_mark(j->scratch);
			enum osr_status st = mend_by(j, turn, m, found, &again);

			if (st)
				return st;
			if (!*found)
				osr_arena_reset(j->scratch, mark);
			if (!*found && j->order.top.work > ANGARA_MAX_WORK)
				return OSR_OK;
		}
	}
	if (!*found)
		return OSR_OK;
	j->reversible = angara__trees_replies(&j->trees);
	angara__trees_measure(&j->trees);
	return OSR_OK;
}

/* Lanes in use. */
static uint8_t angara_count_lanes(const struct job *j)
{
	size_t n = (size_t)j->f->n_dests * j->f->n_switches;
	uint8_t lanes = j->plan.n_rings ? 2 : 1;

	for (size_t k = 0; k < n && j->trees.n_aside && lanes < 3; k++) {
		if (j->trees.sl[k] == j->plan.lane2_sl)
			lanes = 3;
		else if (j->trees.sl[k] == j->plan.lane1_sl)
			lanes = 2;
	}
	return lanes;
}

/* On a lane that has unicast, too, or on one of its own. */
static enum osr_status angara_spread(struct job *j, struct spread *m)
{
	uint32_t lane = j->r->n_vls == 1 ? 0 : j->req->mcast_vl;
	enum osr_status st;

	m->own = lane >= j->r->n_vls;
	if (m->found || !m->wanted)
		return OSR_OK;
	if (!m->own && lane && !j->order.used) {
		st = watch(j);
		if (!st)
			st = angara_depend(j);
		if (st)
			return st;
	}
	m->found = angara__trees_multicast(&j->trees, m->own ? NO_LANE : lane, m->up);
	return OSR_OK;
}

/* Unicast is counted way by way. *fits false: the ways are not legal in this order of channels. */
static enum osr_status even_out(struct job *j, const struct spread *m, bool *fits)
{
	uint32_t lane = j->r->n_vls == 1 ? 0 : j->req->mcast_vl;
	enum osr_status st = watch(j);

	if (st)
		return st;
	*fits = !m->found || m->own || angara__trees_keep_multicast(&j->trees, lane, m->up);
	return !*fits ? OSR_OK : angara__even_out(&j->trees, j->scratch, fits, j->diag);
}

/* Turns out of order on lanes that allow them. *fits false: there are not enough. */
static enum osr_status route_free(struct job *j, struct spread *m, uint32_t max_signs, bool *fits)
{
	enum osr_status st;

	if (!angara__plan_free(&j->plan, j->req->max_vls, max_signs))
		return OSR_OK;
	j->r->n_vls = j->plan.n_lanes;
	m->own = j->req->mcast_vl >= j->r->n_vls;
	st = route_plain(j, j->plan.n_lanes);
	if (!st && m->found)
		angara__trees_multicast(&j->trees, 0, m->up);
	return st ? st : even_out(j, m, fits);
}

/* Where end ports are spread unevenly: other ways as short, as far as lanes and turns allow. */
static enum osr_status route_uneven(struct job *j, struct spread *m, uint16_t *lane1)
{
	struct spread before = *m;
	uint8_t n_vls = j->r->n_vls;
	bool fits = false;
	enum osr_status st = OSR_OK;
	uint32_t *rank, n = j->grid.n_dead_links || j->grid.n_dead_switches ? 0 : j->plan.n_dims;

	/* Where opposite places of a ring that comes in order close cycles, fewer classes free more rings. */
	for (; !st && !fits && n > 1;
	     n = j->plan.free ? (uint32_t)__builtin_popcount(j->plan.signs) - 1 : 0) {
		if (j->plan.free)
			angara__plan(&j->plan, &j->grid, lane1);
		st = route_free(j, m, n, &fits);
	}
	if (st || fits)
		return st;
	if (j->plan.free) {
		angara__plan(&j->plan, &j->grid, lane1);
		st = route_plain(j, 2);
		j->r->n_vls = n_vls;
		m->own = before.own;
		if (!st && m->found)
			angara__trees_multicast(&j->trees, 0, m->up);
	}
	rank = osr_alloc(j->scratch, j->order.top.n, sizeof(*rank));
	if (st || osr_arena_failed(j->scratch, j->diag))
		return st ? st : OSR_NOMEM;
	memcpy(rank, j->order.top.rank, j->order.top.n * sizeof(*rank));
	st = even_out(j, m, &fits);
	if (!st && !fits)
		memcpy(j->order.top.rank, rank, j->order.top.n * sizeof(*rank));
	return st;
}

/* *found false: not so, but perhaps otherwise. */
static enum osr_status route_grid(struct job *j, bool *found)
{
	uint16_t *lane1 = osr_alloc(j->scratch, angara__plan_size(&j->grid), sizeof(*lane1));
	struct spread m = { .wanted = j->req->multicast,
			    .up = osr_alloc(j->scratch, j->f->n_switches, 1) };
	double start = j->req->clock_ms ? j->req->clock_ms() : 0;
	enum osr_status st;

	*found = false;
	if (osr_arena_failed(j->scratch, j->diag))
		return OSR_NOMEM;
	if (j->grid.n_placed < j->f->n_switches || !angara__plan(&j->plan, &j->grid, lane1) ||
	    (j->plan.n_rings && j->req->max_vls < 2))
		return OSR_OK;
	st = angara_allocate(j);
	if (!st)
		st = angara__trees_init(&j->trees, &j->plan, j->r->lft, j->scratch, j->diag);
	if (st)
		return st;
	j->reversible = true;
	if (j->grid.n_dead_links || j->grid.n_dead_switches) {
		st = angara_mend(j, &m, found);
	} else {
		*found = true;
		st = route_plain(j, 2);
	}
	if (st || !*found)
		return st;
	j->r->n_vls = angara_count_lanes(j);
	st = angara_spread(j, &m);
	if (!st && !angara__is_even(j->f) && !j->trees.n_aside)
		st = route_uneven(j, &m, lane1);
	if (st)
		return st;
	j->r->ms_spf = j->req->clock_ms ? j->req->clock_ms() - start : 0;
	return angara__write(j, &m);
}

/* ---- otherwise ------------------------------------------------------------------------------- */

/* Dimension order; or shortest paths on layers, or within channel orders: that never fails. */
static enum osr_status angara_route_otherwise(struct job *j)
{
	struct osr_lanes_options opt = { .spf = { .max_rounds = 2 },
					 .layers = { .reversible = OSR_REVERSIBLE_OFF },
					 .detours = true };
	struct osr_spf spf;
	struct osr_lanes_job job = { .s = &spf,
				     .req = j->req,
				     .opt = &opt,
				     .scratch = j->scratch,
				     .result = j->result,
				     .r = j->r,
				     .diag = j->diag };
	struct osr_lane_work work = { &spf, j->req, j->scratch, j->result, j->r, j->diag };
	bool routed = false;
	enum osr_status st = osr_spf_init(&spf, j->f, j->r, &opt.spf, j->scratch, j->diag);

	if (!st)
		st = osr_dor_assign(&work, OSR_REVERSIBLE_AUTO, true, &routed);
	if (!st && !routed) {
		osr_spf_route(&spf, &opt.spf);
		st = osr_lanes_assign(&job);
	}
	if (st)
		return st;
	osr_spf_finish(&spf);
	j->r->engine = "angara";
	j->r->claims |= j->r->n_longer ? 0 : OSR_CLAIM_MINIMAL;
	return OSR_OK;
}

#define LAYERS_PAY 95 /* percent of the grid's own load */
#define LAYERS_MOVES 50

/* Load of the busiest link; UINT64_MAX: the checker refuses these tables. */
static uint64_t angara_measure(const struct job *j, const struct osr_routing *routing)
{
	struct osr_arena_mark mark = osr_arena_mark(j->scratch);
	struct osr_verdict verdict;
	struct osr_diag diag;
	enum osr_status st = osr_check(j->f, routing, j->scratch, &verdict, &diag);

	osr_arena_reset(j->scratch, mark);
	return st ? UINT64_MAX : (uint64_t)(verdict.efi_per_capacity + 0.5);
}

/*
 * Uneven hosts where lanes by class of directions are more than there are: shortest paths by load, on layers found by
 * their dependencies, if they promise as much and carry less on the busiest link.
 */
static enum osr_status angara_try_layers(struct job *j)
{
	struct osr_lanes_options opt = { .spf = { .max_rounds = 2, .max_moves = LAYERS_MOVES },
					 .layers = { .heuristic = OSR_HEURISTIC_ONLINE,
						     .reversible = OSR_REVERSIBLE_ON } };
	struct osr_spf spf;
	struct osr_routing other;
	struct osr_lanes_job job = { .s = &spf,
				     .req = j->req,
				     .opt = &opt,
				     .scratch = j->scratch,
				     .result = j->result,
				     .r = &other,
				     .diag = j->diag };
	struct osr_arena_mark mark = osr_arena_mark(j->result);
	uint64_t own = angara_measure(j, j->r), load = UINT64_MAX;
	enum osr_status st;

	if (own == UINT64_MAX || own * LAYERS_PAY <= osr_spf_bound(j->f) * 100)
		return OSR_OK;
	st = osr_routing_init(&other, j->f, j->result, j->diag);
	if (!st)
		st = osr_spf_init(&spf, j->f, &other, &opt.spf, j->scratch, j->diag);
	if (!st) {
		osr_spf_route(&spf, &opt.spf);
		st = osr_lanes_assign(&job);
	}
	if (st && st != OSR_NO_VL)
		return st;
	if (!st) {
		osr_spf_finish(&spf);
		other.engine = "angara";
		other.claims |= other.n_longer ? 0 : OSR_CLAIM_MINIMAL;
		load = angara_measure(j, &other);
	}
	if (load == UINT64_MAX || load * 100 > own * LAYERS_PAY || (j->r->claims & ~other.claims)) {
		osr_arena_reset(j->result, mark);
		return OSR_OK;
	}
	other.notes = j->r->notes;
	other.ms_spf = j->r->ms_spf;
	*j->r = other;
	return OSR_OK;
}

/* Why the grid's own way is not taken. */
static enum osr_status angara_refuse(struct job *j)
{
	char name[64];

	osr_grid_name(&j->grid.shape, name);
	if (j->grid.n_placed < j->f->n_switches)
		return osr_fail(j->diag, OSR_NOT_APPLICABLE,
				"%s: %u switches are cut off from the others, and detours = no",
				name, j->f->n_switches - j->grid.n_placed);
	if (j->plan.n_rings > 4)
		return osr_fail(j->diag, OSR_NOT_APPLICABLE,
				"%s: %u rings of 5 or more switches, but 16 service levels are "
				"enough for the datelines of 4 rings; and detours = no",
				name, j->plan.n_rings);
	if (j->req->max_vls < 2)
		return osr_fail(j->diag, OSR_NO_VL,
				"%s: its rings need 2 virtual lanes, there is 1, and detours = no",
				name);
	return osr_fail(j->diag, OSR_NOT_APPLICABLE,
			"%s, %u switches and %u cables missing: no legal path for some pair, and "
			"detours = no",
			name, j->grid.n_dead_switches, j->grid.n_dead_links);
}

/* ---- where switches belong ------------------------------------------------------------------- */

/* Is every switch where the list says? */
static bool agrees(const struct osr_grid *grid, const struct osr_grid_frame *list)
{
	uint32_t n_dims = grid->shape.n_dims, n = 0;

	for (uint32_t k = 0; k < list->n; k++) {
		uint32_t v = osr_fabric_switch_by_guid(grid->f, list->guid[k]);

		n += v != OSR_NONE;
		if (list->shape.n_dims != n_dims ||
		    (v != OSR_NONE && memcmp(osr_grid_coord(grid, v), list->coord + k * n_dims,
					     n_dims * sizeof(*list->coord)) != 0))
			return false;
	}
	return n > 0;
}

/* Some coordinates pin what the cables tell; where cables do not, the list must. */
static enum osr_status place_listed(struct job *j, const struct hints *h)
{
	enum osr_status st =
		osr_grid_find(j->f, &h->frame, j->scratch, j->result, &j->grid, j->diag);

	if ((st && st != OSR_NOT_APPLICABLE) || (!st && agrees(&j->grid, &h->frame)))
		return st;
	return osr_grid_place(j->f, &h->frame, h->port_dir, j->scratch, j->result, &j->grid,
			      j->diag);
}

/* As the administrator says; a contradiction is for him to mend, and the next engine's turn. */
static enum osr_status obey_hints(struct job *j, const char *path)
{
	char *text, said[64], found[64];
	struct hints h;
	enum osr_status st;

	if (!j->req->read_file)
		return osr_fail(j->diag, OSR_NOT_APPLICABLE, "hints %s: there are no files here",
				path);
	text = j->req->read_file(path, j->scratch, j->diag);
	if (!text)
		return OSR_NOT_APPLICABLE;
	st = angara__hints(path, text, j->scratch, &h, j->diag);
	if (st)
		return st;
	if (h.frame.n)
		return place_listed(j, &h);
	if (h.ports)
		return osr_grid_place(j->f, &h.frame, h.port_dir, j->scratch, j->result, &j->grid,
				      j->diag);
	st = osr_grid_find(j->f, NULL, j->scratch, j->result, &j->grid, j->diag);
	if (st || angara__same_shape(&h.frame.shape, &j->grid.shape))
		return st;
	return osr_fail(j->diag, OSR_NOT_APPLICABLE, "hints %s: it says %s, the cables make a %s",
			path, osr_grid_name(&h.frame.shape, said),
			osr_grid_name(&j->grid.shape, found));
}

/*
 * As in the last sweep if that still fits the cables; else by the cables alone. Coordinates are kept for the next sweep,
 * so that a failure moves nothing.
 */
static enum osr_status find_grid(struct job *j, const struct osr_values *values,
				 const struct osr_notes *notes)
{
	struct osr_grid_frame last, *frame = osr_grid_frame_read(notes, &last) ? &last : NULL;
	const char *hints = values->str[values->num[HINTS]];
	enum osr_status st = OSR_NOT_APPLICABLE;

	if (*hints)
		st = obey_hints(j, hints);
	else if (frame)
		st = osr_grid_place(j->f, frame, NULL, j->scratch, j->result, &j->grid, j->diag);
	if (st == OSR_NOT_APPLICABLE && !*hints)
		st = osr_grid_find(j->f, frame, j->scratch, j->result, &j->grid, j->diag);
	/* What is left of a grid may be a smaller one, of which nothing is missing. */
	if (st == OSR_NOT_APPLICABLE && !*hints && frame)
		st = osr_grid_find(j->f, NULL, j->scratch, j->result, &j->grid, j->diag);
	return st ? st : osr_grid_remember(&j->grid, j->result, &j->r->notes, j->diag);
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* Only what can be told at a glance: whether it is a grid, angara_route() finds out. */
static enum osr_status angara_applies(const struct osr_job *job)
{
	return job->fabric->n_channels
		       ? OSR_OK
		       : osr_fail(job->diag, OSR_NOT_APPLICABLE,
				  "not a torus or mesh: there is no cable between switches");
}

static enum osr_status angara_route(const struct osr_job *job)
{
	const struct osr_fabric *fabric = job->fabric;
	struct osr_routing *routing = job->routing;
	struct job j = { .f = fabric,
			 .req = &job->request,
			 .scratch = job->scratch,
			 .result = job->arena,
			 .r = routing,
			 .diag = job->diag };
	enum osr_status st = osr_routing_init(routing, fabric, job->arena, job->diag);
	bool found = false;

	if (!st)
		st = find_grid(&j, job->values, &job->notes);
	if (!st)
		st = route_grid(&j, &found);
	if (!st && found && !j.grid.n_dead_links && !j.grid.n_dead_switches &&
	    !angara__is_even(fabric))
		st = angara_try_layers(&j);
	if (st || found)
		return st;
	if (!job->values->num[DETOURS])
		return angara_refuse(&j);
	memset(routing->lft, OSR_NO_PATH, (size_t)fabric->n_dests * fabric->n_switches);
	return angara_route_otherwise(&j);
}

const struct osr_engine osr_engine_angara = {
	.name = "angara",
	.summary =
		"tori and meshes of up to six dimensions, whole or damaged, on two virtual lanes",
	.reference = "Mukosey, Semenov, Tretiakov: Optimized Graph Based Routing Algorithm for the "
		     "Angara Interconnect",
	.params = params,
	.capabilities = OSR_ENGINE_DEADLOCK_FREE,
	.applies = angara_applies,
	.route = angara_route,
};
