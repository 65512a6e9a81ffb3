/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wiring.c - tries the kinds of plans, takes the first that fits, and puts the differences together:
 * two cables too many and two too few that end at the same four switches are cables swapped.
 */
#include "wiring_private.h"

#include <string.h>

uint32_t osr__wiring_edge(const struct wiring_graph *graph, uint32_t u, uint32_t v)
{
	uint32_t lo = graph->row[u], hi = graph->end[u];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (graph->near[mid] == v)
			return mid;
		if (graph->near[mid] < v)
			lo = mid + 1;
		else
			hi = mid;
	}
	return OSR_NONE;
}

uint32_t osr__wiring_common(const struct wiring_graph *graph, uint32_t u, uint32_t v)
{
	uint32_t i = graph->row[u], j = graph->row[v], n = 0;

	while (i < graph->end[u] && j < graph->end[v]) {
		if (graph->near[i] == graph->near[j]) {
			n++;
			i++;
			j++;
		} else if (graph->near[i] < graph->near[j]) {
			i++;
		} else {
			j++;
		}
	}
	return n;
}

uint32_t osr__wiring_mode(const uint32_t histogram[256])
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < 256; i++)
		if (histogram[i] >= histogram[best])
			best = i;
	return histogram[best] ? best : 0;
}

/* ---- the graph ------------------------------------------------------------------------------ */

static void wiring_insert(struct wiring_graph *graph, uint32_t v, uint32_t *end, uint32_t to)
{
	uint32_t at = *end;

	for (uint32_t i = graph->row[v]; i < *end; i++)
		if (graph->near[i] == to) {
			graph->mult[i]++;
			return;
		}
	while (at > graph->row[v] && graph->near[at - 1] > to) {
		graph->near[at] = graph->near[at - 1];
		graph->mult[at] = graph->mult[at - 1];
		at--;
	}
	graph->near[at] = to;
	graph->mult[at] = 1;
	(*end)++;
}

static enum osr_status build_graph(const struct osr_fabric *fabric, struct osr_arena *scratch,
				   struct wiring_graph *graph, struct osr_diag *diag)
{
	uint32_t end = 0;

	graph->f = fabric;
	graph->n_cables = fabric->n_channels / 2;
	graph->row = osr_alloc(scratch, (size_t)fabric->n_switches + 1, sizeof(*graph->row));
	graph->end = osr_alloc(scratch, (size_t)fabric->n_switches + 1, sizeof(*graph->end));
	graph->near = osr_alloc(scratch, (size_t)fabric->n_channels + 1, sizeof(*graph->near));
	graph->mult = osr_alloc(scratch, (size_t)fabric->n_channels + 1, sizeof(*graph->mult));
	if (!graph->row || !graph->end || !graph->near || !graph->mult)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u cables", graph->n_cables);
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		graph->row[v] = end;
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++)
			wiring_insert(graph, v, &end, fabric->chan_dst[c]);
		graph->end[v] = end;
	}
	graph->row[fabric->n_switches] = end;
	return OSR_OK;
}

static void wiring_feed(const struct wiring_graph *graph, const uint8_t *keep,
			const struct wiring_pair *more, uint32_t n_more, uint8_t *port,
			struct osr_builder *builder)
{
	for (uint32_t v = 0; v < graph->f->n_switches; v++)
		for (uint32_t e = graph->row[v]; e < graph->row[v + 1]; e++) {
			uint32_t u = graph->near[e];

			if (v < u && keep[e])
				osr_builder_link(builder,
						 &(struct osr_link_in){ .sw_a = v,
									.port_a = ++port[v],
									.sw_b = u,
									.port_b = ++port[u] });
		}
	for (uint32_t i = 0; i < n_more; i++)
		osr_builder_link(builder, &(struct osr_link_in){ .sw_a = more[i].a,
								 .port_a = ++port[more[i].a],
								 .sw_b = more[i].b,
								 .port_b = ++port[more[i].b] });
}

enum osr_status osr__wiring_subfabric(const struct wiring_graph *graph, const uint8_t *keep,
				      const struct wiring_pair *more, uint32_t n_more,
				      struct osr_arena *arena, struct osr_fabric *fabric,
				      struct osr_diag *diag)
{
	uint8_t *port = osr_calloc(arena, graph->f->n_switches, sizeof(*port));
	struct osr_builder *builder = osr_builder_new();
	enum osr_status st;

	if (!port || !builder) {
		osr_builder_free(builder);
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u switches",
				graph->f->n_switches);
	}
	for (uint32_t v = 0; v < graph->f->n_switches; v++)
		osr_builder_switch(builder, &(struct osr_switch_in){ .guid = graph->f->sw_guid[v],
								     .n_ports = 254 });
	wiring_feed(graph, keep, more, n_more, port, builder);
	st = osr_builder_build(builder, arena, fabric, diag);
	osr_builder_free(builder);
	return st;
}

/* ---- faults --------------------------------------------------------------------------------- */

/* A cable too many from a to b that is not yet named: of parallel ones that with the highest port. */
static uint32_t take_channel(const struct osr_fabric *fabric, uint32_t a, uint32_t b,
			     uint8_t *named)
{
	for (uint32_t c = fabric->chan_row[a + 1]; c-- > fabric->chan_row[a];)
		if (fabric->chan_dst[c] == b && !named[c]) {
			named[c] = named[fabric->chan_rev[c]] = 1;
			return c;
		}
	return OSR_NONE;
}

struct wiring_faults {
	const struct osr_fabric *f;
	struct wiring_diff *d;
	struct osr_wiring *w;
	uint8_t *named; /* [n_channels] */
};

static struct wiring_pair *find_missing(struct wiring_diff *diff, uint32_t a, uint32_t b,
					const struct wiring_pair *but)
{
	for (uint32_t i = 0; i < diff->n_missing; i++) {
		struct wiring_pair *pair = &diff->missing[i];

		if (pair == but || pair->used)
			continue;
		if ((pair->a == a && pair->b == b) || (pair->a == b && pair->b == a))
			return pair;
	}
	return NULL;
}

static void add_fault(struct wiring_faults *faults, struct osr_wiring_fault fault)
{
	faults->w->fault[faults->w->n_faults++] = fault;
}

/* a-b and c-d are there, a-d and c-b are wanted. */
static bool try_swap(struct wiring_faults *faults, struct wiring_pair *pair,
		     struct wiring_pair *wiring, bool turned)
{
	uint32_t a = pair->a, b = pair->b, c = turned ? wiring->b : wiring->a,
		 d = turned ? wiring->a : wiring->b;
	struct wiring_pair *one = find_missing(faults->d, a, d, NULL);
	struct wiring_pair *other = one ? find_missing(faults->d, c, b, one) : NULL;

	if (!other)
		return false;
	one->used = other->used = pair->used = wiring->used = true;
	add_fault(faults,
		  (struct osr_wiring_fault){ .kind = OSR_WIRING_SWAPPED,
					     .c = take_channel(faults->f, a, b, faults->named),
					     .d = take_channel(faults->f, c, d, faults->named) });
	return true;
}

static void find_swaps(struct wiring_faults *faults)
{
	struct wiring_diff *diff = faults->d;

	for (uint32_t i = 0; i < diff->n_extra; i++)
		for (uint32_t j = i + 1; j < diff->n_extra && !diff->extra[i].used; j++)
			if (!diff->extra[j].used &&
			    !try_swap(faults, &diff->extra[i], &diff->extra[j], false))
				try_swap(faults, &diff->extra[i], &diff->extra[j], true);
}

static bool wiring_try_move(struct wiring_faults *faults, struct wiring_pair *wiring, uint32_t near,
			    uint32_t far)
{
	for (uint32_t i = 0; i < faults->d->n_missing; i++) {
		struct wiring_pair *pair = &faults->d->missing[i];

		if (pair->used || (pair->a != near && pair->b != near))
			continue;
		pair->used = wiring->used = true;
		add_fault(faults, (struct osr_wiring_fault){
					  .kind = OSR_WIRING_MOVED,
					  .a = near,
					  .b = pair->a == near ? pair->b : pair->a,
					  .c = take_channel(faults->f, near, far, faults->named) });
		return true;
	}
	return false;
}

static void find_rest(struct wiring_faults *faults)
{
	struct wiring_diff *diff = faults->d;

	for (uint32_t i = 0; i < diff->n_extra; i++)
		if (!diff->extra[i].used &&
		    !wiring_try_move(faults, &diff->extra[i], diff->extra[i].a, diff->extra[i].b))
			wiring_try_move(faults, &diff->extra[i], diff->extra[i].b,
					diff->extra[i].a);
	for (uint32_t i = 0; i < diff->n_missing; i++)
		if (!diff->missing[i].used)
			add_fault(faults, (struct osr_wiring_fault){ .kind = OSR_WIRING_MISSING,
								     .a = diff->missing[i].a,
								     .b = diff->missing[i].b });
	for (uint32_t i = 0; i < diff->n_extra; i++)
		if (!diff->extra[i].used)
			add_fault(faults,
				  (struct osr_wiring_fault){
					  .kind = OSR_WIRING_EXTRA,
					  .c = take_channel(faults->f, diff->extra[i].a,
							    diff->extra[i].b, faults->named) });
}

static enum osr_status name_faults(const struct osr_fabric *fabric, struct wiring_diff *diff,
				   struct osr_arena *scratch, struct osr_arena *result,
				   struct osr_wiring *wiring, struct osr_diag *diag)
{
	struct wiring_faults faults = { .f = fabric, .d = diff, .w = wiring };

	faults.named = osr_calloc(scratch, (size_t)fabric->n_channels + 1, 1);
	wiring->fault = osr_alloc(result, (size_t)diff->n_missing + diff->n_extra + 1,
				  sizeof(*wiring->fault));
	if (!faults.named || !wiring->fault)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u cables", wiring->n_cables);
	wiring->n_faults = 0;
	find_swaps(&faults);
	find_rest(&faults);
	return OSR_OK;
}

/* ---- all kinds ------------------------------------------------------------------------------ */

static enum osr_status wiring_new_diff(const struct wiring_graph *graph, struct osr_arena *scratch,
				       struct wiring_diff *diff, struct osr_diag *diag)
{
	*diff = (struct wiring_diff){ .room = graph->n_cables / 10 + 4 };
	diff->missing = osr_alloc(scratch, diff->room, sizeof(*diff->missing));
	diff->extra = osr_alloc(scratch, diff->room, sizeof(*diff->extra));
	return diff->missing && diff->extra
		       ? OSR_OK
		       : osr_fail(diag, OSR_NOMEM, "out of memory for %u cables", graph->n_cables);
}

enum osr_status osr_wiring_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
				struct osr_arena *result, struct osr_wiring *wiring,
				struct osr_diag *diag)
{
	static wiring_find_fn *const kinds[] = { osr__wiring_tree, osr__wiring_hyperx,
						 osr__wiring_dragonfly, osr__wiring_grid };
	struct wiring_diff best = { .full = true };
	struct wiring_graph graph;
	enum osr_status st = build_graph(fabric, scratch, &graph, diag);

	*wiring = (struct osr_wiring){ .n_cables = fabric->n_channels / 2 };
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds) && !st && best.full; i++) {
		struct wiring_diff diff;
		char plan[160];

		st = wiring_new_diff(&graph, scratch, &diff, diag);
		if (st)
			break;
		st = kinds[i](&graph, scratch, &diff, plan, diag);
		if (!st && !diff.full) {
			best = diff;
			memcpy(wiring->plan, plan, sizeof(plan));
		}
		st = st == OSR_NOT_APPLICABLE ? OSR_OK : st;
	}
	if (st)
		return st;
	if (!wiring->n_cables)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "no cables between switches");
	if (best.full)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"no plan recognised: fat tree, torus, mesh, HyperX and dragonfly "
				"were tried, with at most a tenth of the %u cables between "
				"switches elsewhere",
				wiring->n_cables);
	return name_faults(fabric, &best, scratch, result, wiring, diag);
}
