/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wiring.c - tries the kinds of plans, takes the first that fits, and puts the differences together:
 * two cables too many and two too few that end at the same four switches are cables swapped.
 */
#include "wiring.h"

#include <string.h>

uint32_t osr__wiring_edge(const struct wiring_graph *g, uint32_t u, uint32_t v)
{
	uint32_t lo = g->row[u], hi = g->end[u];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (g->near[mid] == v)
			return mid;
		if (g->near[mid] < v)
			lo = mid + 1;
		else
			hi = mid;
	}
	return OSR_NONE;
}

uint32_t osr__wiring_common(const struct wiring_graph *g, uint32_t u, uint32_t v)
{
	uint32_t i = g->row[u], j = g->row[v], n = 0;

	while (i < g->end[u] && j < g->end[v]) {
		if (g->near[i] == g->near[j]) {
			n++;
			i++;
			j++;
		} else if (g->near[i] < g->near[j]) {
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

static void wiring_insert(struct wiring_graph *g, uint32_t v, uint32_t *end, uint32_t to)
{
	uint32_t at = *end;

	for (uint32_t i = g->row[v]; i < *end; i++)
		if (g->near[i] == to) {
			g->mult[i]++;
			return;
		}
	while (at > g->row[v] && g->near[at - 1] > to) {
		g->near[at] = g->near[at - 1];
		g->mult[at] = g->mult[at - 1];
		at--;
	}
	g->near[at] = to;
	g->mult[at] = 1;
	(*end)++;
}

static enum osr_status build_graph(const struct osr_fabric *f, struct osr_arena *scratch,
				   struct wiring_graph *g, struct osr_diag *diag)
{
	uint32_t end = 0;

	g->f = f;
	g->n_cables = f->n_channels / 2;
	g->row = osr_alloc(scratch, (size_t)f->n_switches + 1, sizeof(*g->row));
	g->end = osr_alloc(scratch, (size_t)f->n_switches + 1, sizeof(*g->end));
	g->near = osr_alloc(scratch, (size_t)f->n_channels + 1, sizeof(*g->near));
	g->mult = osr_alloc(scratch, (size_t)f->n_channels + 1, sizeof(*g->mult));
	if (!g->row || !g->end || !g->near || !g->mult)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u cables", g->n_cables);
	for (uint32_t v = 0; v < f->n_switches; v++) {
		g->row[v] = end;
		for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++)
			wiring_insert(g, v, &end, f->chan_dst[c]);
		g->end[v] = end;
	}
	g->row[f->n_switches] = end;
	return OSR_OK;
}

static void feed(const struct wiring_graph *g, const uint8_t *keep, const struct wiring_pair *more,
		 uint32_t n_more, uint8_t *port, struct osr_builder *b)
{
	for (uint32_t v = 0; v < g->f->n_switches; v++)
		for (uint32_t e = g->row[v]; e < g->row[v + 1]; e++) {
			uint32_t u = g->near[e];

			if (v < u && keep[e])
				osr_builder_link(b, &(struct osr_link_in){ .sw_a = v, .port_a = ++port[v],
									   .sw_b = u, .port_b = ++port[u] });
		}
	for (uint32_t i = 0; i < n_more; i++)
		osr_builder_link(b, &(struct osr_link_in){ .sw_a = more[i].a, .port_a = ++port[more[i].a],
							   .sw_b = more[i].b, .port_b = ++port[more[i].b] });
}

enum osr_status osr__wiring_subfabric(const struct wiring_graph *g, const uint8_t *keep,
				      const struct wiring_pair *more, uint32_t n_more,
				      struct osr_arena *arena, struct osr_fabric *f, struct osr_diag *diag)
{
	uint8_t *port = osr_calloc(arena, g->f->n_switches, sizeof(*port));
	struct osr_builder *b = osr_builder_new();
	enum osr_status st;

	if (!port || !b) {
		osr_builder_free(b);
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u switches", g->f->n_switches);
	}
	for (uint32_t v = 0; v < g->f->n_switches; v++)
		osr_builder_switch(b, &(struct osr_switch_in){ .guid = g->f->sw_guid[v], .n_ports = 254 });
	feed(g, keep, more, n_more, port, b);
	st = osr_builder_build(b, arena, f, diag);
	osr_builder_free(b);
	return st;
}

/* ---- faults --------------------------------------------------------------------------------- */

/* A cable too many from a to b that is not yet named: of parallel ones that with the highest port. */
static uint32_t take_channel(const struct osr_fabric *f, uint32_t a, uint32_t b, uint8_t *named)
{
	for (uint32_t c = f->chan_row[a + 1]; c-- > f->chan_row[a];)
		if (f->chan_dst[c] == b && !named[c]) {
			named[c] = named[f->chan_rev[c]] = 1;
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

static struct wiring_pair *find_missing(struct wiring_diff *d, uint32_t a, uint32_t b,
					const struct wiring_pair *but)
{
	for (uint32_t i = 0; i < d->n_missing; i++) {
		struct wiring_pair *m = &d->missing[i];

		if (!m->used && m != but && ((m->a == a && m->b == b) || (m->a == b && m->b == a)))
			return m;
	}
	return NULL;
}

static void add_fault(struct wiring_faults *x, struct osr_wiring_fault fault)
{
	x->w->fault[x->w->n_faults++] = fault;
}

/* a-b and c-d are there, a-d and c-b are wanted. */
static bool try_swap(struct wiring_faults *x, struct wiring_pair *p, struct wiring_pair *q, bool turned)
{
	uint32_t a = p->a, b = p->b, c = turned ? q->b : q->a, d = turned ? q->a : q->b;
	struct wiring_pair *one = find_missing(x->d, a, d, NULL);
	struct wiring_pair *other = one ? find_missing(x->d, c, b, one) : NULL;

	if (!other)
		return false;
	one->used = other->used = p->used = q->used = true;
	add_fault(x, (struct osr_wiring_fault){ .kind = OSR_WIRING_SWAPPED,
						.c = take_channel(x->f, a, b, x->named),
						.d = take_channel(x->f, c, d, x->named) });
	return true;
}

static void find_swaps(struct wiring_faults *x)
{
	struct wiring_diff *d = x->d;

	for (uint32_t i = 0; i < d->n_extra; i++)
		for (uint32_t j = i + 1; j < d->n_extra && !d->extra[i].used; j++)
			if (!d->extra[j].used && !try_swap(x, &d->extra[i], &d->extra[j], false))
				try_swap(x, &d->extra[i], &d->extra[j], true);
}

static bool try_move(struct wiring_faults *x, struct wiring_pair *p, uint32_t near, uint32_t far)
{
	for (uint32_t i = 0; i < x->d->n_missing; i++) {
		struct wiring_pair *m = &x->d->missing[i];

		if (m->used || (m->a != near && m->b != near))
			continue;
		m->used = p->used = true;
		add_fault(x, (struct osr_wiring_fault){ .kind = OSR_WIRING_MOVED,
							.a = near,
							.b = m->a == near ? m->b : m->a,
							.c = take_channel(x->f, near, far, x->named) });
		return true;
	}
	return false;
}

static void find_rest(struct wiring_faults *x)
{
	struct wiring_diff *d = x->d;

	for (uint32_t i = 0; i < d->n_extra; i++)
		if (!d->extra[i].used && !try_move(x, &d->extra[i], d->extra[i].a, d->extra[i].b))
			try_move(x, &d->extra[i], d->extra[i].b, d->extra[i].a);
	for (uint32_t i = 0; i < d->n_missing; i++)
		if (!d->missing[i].used)
			add_fault(x, (struct osr_wiring_fault){ .kind = OSR_WIRING_MISSING,
								.a = d->missing[i].a,
								.b = d->missing[i].b });
	for (uint32_t i = 0; i < d->n_extra; i++)
		if (!d->extra[i].used)
			add_fault(x, (struct osr_wiring_fault){
					     .kind = OSR_WIRING_EXTRA,
					     .c = take_channel(x->f, d->extra[i].a, d->extra[i].b, x->named) });
}

static enum osr_status name_faults(const struct osr_fabric *f, struct wiring_diff *d,
				   struct osr_arena *scratch, struct osr_arena *result,
				   struct osr_wiring *w, struct osr_diag *diag)
{
	struct wiring_faults x = { .f = f, .d = d, .w = w };

	x.named = osr_calloc(scratch, (size_t)f->n_channels + 1, 1);
	w->fault = osr_alloc(result, (size_t)d->n_missing + d->n_extra + 1, sizeof(*w->fault));
	if (!x.named || !w->fault)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u cables", w->n_cables);
	w->n_faults = 0;
	find_swaps(&x);
	find_rest(&x);
	return OSR_OK;
}

/* ---- all kinds ------------------------------------------------------------------------------ */

static enum osr_status new_diff(const struct wiring_graph *g, struct osr_arena *scratch,
				struct wiring_diff *d, struct osr_diag *diag)
{
	*d = (struct wiring_diff){ .room = g->n_cables / 10 + 4 };
	d->missing = osr_alloc(scratch, d->room, sizeof(*d->missing));
	d->extra = osr_alloc(scratch, d->room, sizeof(*d->extra));
	return d->missing && d->extra
		       ? OSR_OK
		       : osr_fail(diag, OSR_NOMEM, "out of memory for %u cables", g->n_cables);
}

enum osr_status osr_wiring_find(const struct osr_fabric *f, struct osr_arena *scratch,
				struct osr_arena *result, struct osr_wiring *w, struct osr_diag *diag)
{
	static wiring_find_fn *const kinds[] = { osr__wiring_tree, osr__wiring_hyperx, osr__wiring_dragonfly,
						 osr__wiring_grid };
	struct wiring_diff best = { .full = true };
	struct wiring_graph g;
	enum osr_status st = build_graph(f, scratch, &g, diag);

	*w = (struct osr_wiring){ .n_cables = f->n_channels / 2 };
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds) && !st && best.full; i++) {
		struct wiring_diff d;
		char plan[160];

		st = new_diff(&g, scratch, &d, diag);
		if (st)
			break;
		st = kinds[i](&g, scratch, &d, plan, diag);
		if (!st && !d.full) {
			best = d;
			memcpy(w->plan, plan, sizeof(plan));
		}
		st = st == OSR_NOT_APPLICABLE ? OSR_OK : st;
	}
	if (st)
		return st;
	if (best.full)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"no plan fits: this is no fat tree, torus, mesh, HyperX or dragonfly with at most a "
				"tenth of its %u cables between switches elsewhere",
				w->n_cables);
	return name_faults(f, &best, scratch, result, w, diag);
}
