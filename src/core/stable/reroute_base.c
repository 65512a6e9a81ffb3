/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where a repair starts: the tables of home or of the last sweep in the numbering of today, what they
 * depend on, what each channel carries, and the SLs of earlier.
 */
#include "reroute_private.h"

#include <string.h>

/* ---- tables ---------------------------------------------------------------------------------- */

/* Rows of `from`, whose switches are sw[] and dests dest[] of to's; what it lacks is `missing`. */
void osr__copy_rows(const uint8_t *from, uint32_t n_from, const uint32_t *sw, const uint32_t *dest,
		    uint32_t n_dests, uint32_t n, uint8_t missing, uint8_t *to)
{
	for (uint32_t d = 0; d < n_dests; d++) {
		uint8_t *out = to + (size_t)d * n;
		const uint8_t *row;

		if (dest[d] == OSR_NONE) {
			memset(out, missing, n);
			continue;
		}
		row = from + (size_t)dest[d] * n_from;
		for (uint32_t s = 0; s < n;) {
			uint32_t run = 1;

			while (sw[s] != OSR_NONE && s + run < n && sw[s + run] == sw[s] + run)
				run++;
			if (sw[s] == OSR_NONE)
				out[s] = missing;
			else
				memcpy(out + s, row + sw[s], run);
			s += run;
		}
	}
}

bool osr__same_size(const struct osr__reroute *w)
{
	return w->f->n_switches == w->x->n_switches && w->f->n_dests == w->x->n_dests;
}

/* The tables in the making, in the result at once where numbers are the same. */
enum osr_status osr__take_tables(struct osr__reroute *w, struct osr_arena *result,
				 struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x;
	struct osr_arena *arena = osr__same_size(w) ? result : w->scratch;
	size_t n = x->n_switches, size;

	if (__builtin_mul_overflow((size_t)x->n_dests, n, &size))
		return osr__nomem(diag);
	w->lft = osr_alloc(arena, size, 1);
	w->sl = w->base->sl ? osr_alloc(arena, size, 1) : NULL;
	if (!w->lft || (w->base->sl && !w->sl))
		return osr__nomem(diag);
	if (w->same) {
		memcpy(w->lft, w->base->lft, size);
		if (w->sl)
			memcpy(w->sl, w->base->sl, size);
		return OSR_OK;
	}
	for (uint32_t d = 0; d < x->n_dests; d++) {
		uint32_t part = x->sw_component[x->dest_switch[d]];
		uint8_t *row = w->lft + d * n;

		osr__last_row(w, d, row);
		/* What led there may be whole up to where the fabric has come apart. */
		for (uint32_t v = 0; v < n; v++)
			if (x->sw_component[v] != part)
				row[v] = OSR_NO_PATH;
	}
	if (w->sl)
		osr__copy_rows(w->base->sl, w->base->n_switches, w->sw_last, w->dest_last,
			       x->n_dests, x->n_switches, OSR__NO_SL, w->sl);
	return OSR_OK;
}

/* The LID itself: the port that its terminal hangs on today. */
void osr__set_roots(struct osr__reroute *w)
{
	for (uint32_t d = 0; d < w->f->n_dests; d++) {
		size_t to = w->dest_x[d];

		w->lft[to * w->x->n_switches + w->x->dest_switch[to]] =
			w->f->term_port[w->f->dest_term[d]];
	}
}

enum osr_status osr__sort_dests(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x;

	w->dest_row = osr_calloc(w->scratch, (size_t)x->n_switches + 2, sizeof(*w->dest_row));
	w->dest_list = osr_alloc(w->scratch, x->n_dests, sizeof(*w->dest_list));
	if (!w->dest_row || !w->dest_list)
		return osr__nomem(diag);
	for (uint32_t d = 0; d < x->n_dests; d++)
		w->dest_row[x->dest_switch[d] + 2]++;
	for (uint32_t s = 0; s < x->n_switches; s++)
		w->dest_row[s + 2] += w->dest_row[s + 1];
	for (uint32_t d = 0; d < x->n_dests; d++)
		w->dest_list[w->dest_row[x->dest_switch[d] + 1]++] = d;
	return OSR_OK;
}

enum osr_status osr__alloc_tree(struct osr__reroute *w, struct osr_diag *diag)
{
	size_t n = w->x->n_switches, m = w->x->n_channels;

	w->in_u = osr_calloc(w->scratch, n, sizeof(*w->in_u));
	w->known = osr_calloc(w->scratch, n, sizeof(*w->known));
	w->mark = osr_calloc(w->scratch, n, sizeof(*w->mark));
	w->len = osr_alloc(w->scratch, n, sizeof(*w->len));
	w->done = osr_alloc(w->scratch, n, sizeof(*w->done));
	w->u = osr_alloc(w->scratch, n, sizeof(*w->u));
	w->place = osr_alloc(w->scratch, n, sizeof(*w->place));
	w->stack = osr_alloc(w->scratch, n, sizeof(*w->stack));
	w->old = osr_alloc(w->scratch, n, 1);
	w->last_row = osr_alloc(w->scratch, n, 1);
	w->relaxed = osr_calloc(w->scratch, n, 1);
	w->busy = osr_calloc(w->scratch, n, 1);
	w->settled = osr_alloc(w->scratch, n, sizeof(*w->settled));
	w->head = osr_alloc(w->scratch, n + 2, sizeof(*w->head));
	w->node_sw = osr_alloc(w->scratch, m + n, sizeof(*w->node_sw));
	w->node_next = osr_alloc(w->scratch, m + n, sizeof(*w->node_next));
	w->sources = osr_calloc(w->scratch, n, sizeof(*w->sources));
	w->touched = osr_calloc(w->scratch, w->x->n_dests, 1);
	w->load = osr_calloc(w->scratch, m, sizeof(*w->load));
	w->expected = osr_calloc(w->scratch, m, sizeof(*w->expected));
	w->flow = osr_alloc(w->scratch, n, sizeof(*w->flow));
	if (!w->in_u || !w->known || !w->mark || !w->len || !w->done || !w->u || !w->place ||
	    !w->stack || !w->old || !w->last_row || !w->relaxed || !w->busy || !w->settled ||
	    !w->head || !w->node_sw || !w->node_next || !w->sources || !w->touched || !w->load ||
	    !w->expected || !w->flow)
		return osr__nomem(diag);
	memset(w->head, 0xff, (n + 2) * sizeof(*w->head));
	for (uint32_t s = 0; s < w->f->n_switches; s++)
		w->sources[w->sw_x[s]] = w->f->sw_sources[s];
	return OSR_OK;
}

/* ---- what the tables depend on --------------------------------------------------------------- */

/* Ranks of the base as sorting keys, by lane; channels it does not know come last. */
enum osr_status osr__start_deps(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x, *g = &w->last->fabric;
	size_t m = x->n_channels;
	uint64_t *keys = osr_alloc(w->scratch, w->n_lanes * m, sizeof(*keys));

	if (!keys)
		return osr__nomem(diag);
	for (uint32_t c = 0; c < m; c++) {
		uint32_t old = c;

		if (!w->same) {
			uint32_t s = w->sw_last[x->chan_src[c]];

			old = s == OSR_NONE ? OSR_NONE : osr_port_channel(g, s, x->chan_port[c]);
			if (old != OSR_NONE && g->chan_dst[old] != w->sw_last[x->chan_dst[c]])
				old = OSR_NONE;
		}
		for (uint32_t k = 0; k < w->n_lanes; k++)
			keys[k * m + c] =
				old == OSR_NONE
					? UINT32_MAX + UINT64_C(1)
					: w->base->rank[(k < w->base->n_vls ? k : (size_t)0) *
								w->base->n_channels +
							old];
	}
	return osr__deps_init(&w->deps, x, w->n_lanes, keys, w->scratch, diag);
}

/* The bits that the engine left, one graph for all lanes. */
static void take_deps(struct osr__reroute *w)
{
	const uint64_t *bits = w->base->deps;
	uint32_t n_slots = w->deps.row[w->x->n_channels];

	for (uint32_t i = 0; i < n_slots; i += 64)
		for (uint64_t left = bits[i / 64]; left; left &= left - 1)
			w->deps.dep[i + (uint32_t)__builtin_ctzll(left)] = 1;
}

uint32_t osr__order_tree(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t *order)
{
	const struct osr_fabric *x = w->x;
	uint32_t root = x->dest_switch[d], n = 0;

	w->epoch++;
	w->known[root] = w->epoch;
	order[n++] = root;
	for (uint32_t s = 0; s < x->n_switches; s++) {
		uint32_t depth = 0, v = s;

		for (; w->known[v] != w->epoch && depth < x->n_switches;) {
			uint32_t c = osr_port_channel(x, v, row[v]);

			if (c == OSR_NONE)
				break;
			w->stack[depth++] = v;
			v = x->chan_dst[c];
		}
		if (w->known[v] != w->epoch)
			continue;
		while (depth--) {
			w->known[w->stack[depth]] = w->epoch;
			order[n++] = w->stack[depth];
		}
	}
	return n;
}

/*
 * Port 0 is asked by switches with end ports only. One that got its first since the last sweep asks
 * on routes that the certificate did not cover.
 */
static bool newly_used(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	uint32_t old;

	if (w->same || w->x->term_weight[w->x->dest_term[d]] || !w->x->sw_sources[v])
		return false;
	old = w->sw_last[v];
	return old == OSR_NONE || !w->last->fabric.sw_sources[old];
}

/* What cannot be added as it is is cut, to be found anew. */
void osr__add_newly_used(struct osr__reroute *w)
{
	const struct osr_fabric *x = w->x;

	w->epoch++;
	for (uint32_t d = 0; !w->same && w->n_lanes && d < x->n_dests; d++) {
		uint8_t *row = w->lft + (size_t)d * x->n_switches;

		for (uint32_t v = 0; v < x->n_switches; v++) {
			uint32_t c = osr__alive(w, v, row[v]);

			if (!newly_used(w, d, v) || c == OSR_NONE || v == x->dest_switch[d])
				continue;
			osr__deps_begin(&w->deps);
			if (osr__add_route(w, d, row, v, c, osr__need(w, d, v)))
				continue;
			osr__deps_undo(&w->deps);
			row[v] = OSR_NO_PATH;
		}
	}
}

/* Dependencies and loads of one tree. */
static void walk_tree(struct osr__reroute *w, uint32_t d, uint16_t *lanes, uint32_t *flow,
		      bool deps, bool loads)
{
	const struct osr_fabric *x = w->x;
	const uint8_t *row = w->lft + (size_t)d * x->n_switches;
	uint32_t n = osr__order_tree(w, d, row, w->u), root = x->dest_switch[d];

	loads &= x->term_weight[x->dest_term[d]] != 0 && w->dest_f[d] != OSR_NONE;
	for (uint32_t i = 0; i < n; i++) {
		lanes[w->u[i]] = deps && !newly_used(w, d, w->u[i]) ? osr__need(w, d, w->u[i]) : 0;
		flow[w->u[i]] = w->sources[w->u[i]];
	}
	for (uint32_t i = n; i-- > 1;) {
		uint32_t v = w->u[i], c = osr_port_channel(x, v, row[v]), next = x->chan_dst[c];

		if (loads)
			w->load[c] += flow[v];
		flow[next] += flow[v];
		lanes[next] |= lanes[v];
		if (deps && next != root)
			w->deps.dep[osr__deps_slot(
				&w->deps, c, osr_port_channel(x, next, row[next]))] |= lanes[v];
	}
}

/* What v answers to whom on which SL; see check.h. */
static enum osr_status fill_reply(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x;
	size_t n = x->n_switches;

	if (w->shared || !w->n_lanes || !(w->base->claims & OSR_CLAIM_REVERSIBLE))
		return OSR_OK;
	w->reply = osr_calloc(w->scratch, n * n, sizeof(*w->reply));
	if (!w->reply)
		return osr__nomem(diag);
	for (uint32_t d = 0; d < x->n_dests; d++) {
		uint16_t *row = w->reply + x->dest_switch[d] * n;

		for (size_t v = 0; v < n; v++) {
			size_t at = d * n + v;

			if (!x->sw_sources[v] || w->lft[at] == OSR_NO_PATH ||
			    w->sl[at] == OSR__NO_SL)
				continue;
			row[v] |= (uint16_t)(1u << w->sl[at]);
			if (w->grants)
				row[v] |= w->grants[at];
		}
	}
	return OSR_OK;
}

/* Takes the routes of some end ports of switch s to d out of the loads. */
static void discount(struct osr__reroute *w, uint32_t d, uint32_t s, uint64_t n_ports)
{
	const struct osr_fabric *x = w->x;
	const uint8_t *row = w->lft + (size_t)d * x->n_switches;

	while (n_ports && s != x->dest_switch[d]) {
		uint32_t c = osr_port_channel(x, s, row[s]);

		if (c == OSR_NONE)
			return;
		w->load[c] -= n_ports;
		s = x->chan_dst[c];
	}
}

/* Home's loads without the end ports that are away today. */
static void correct_loads(struct osr__reroute *w)
{
	const struct osr_fabric *x = w->x;
	uint32_t n = 0, *fewer = w->u;

	memcpy(w->load, w->home->load, x->n_channels * sizeof(*w->load));
	for (uint32_t s = 0; s < x->n_switches; s++)
		if (w->sources[s] != x->sw_sources[s])
			fewer[n++] = s;
	for (uint32_t d = 0; d < x->n_dests; d++) {
		bool away = w->dest_f[d] == OSR_NONE;

		if (!x->term_weight[x->dest_term[d]])
			continue;
		for (uint32_t s = 0; away && s < x->n_switches; s++)
			discount(w, d, s, x->sw_sources[s]);
		for (uint32_t i = 0; !away && i < n; i++)
			discount(w, d, fewer[i], x->sw_sources[fewer[i]] - w->sources[fewer[i]]);
	}
}

static bool same_sources(const struct osr__reroute *w)
{
	if (w->f->n_dests != w->x->n_dests)
		return false;
	return !memcmp(w->sources, w->x->sw_sources, w->x->n_switches * sizeof(*w->sources));
}

enum osr_status osr__collect_deps(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x;
	struct osr_arena_mark mark;
	bool deps = w->n_lanes != 0, loads = !w->same || !w->home->load, walk = false;
	enum osr_status st = OSR_OK;
	uint16_t *lanes;
	uint32_t *flow;

	if (deps)
		st = osr__start_deps(w, diag);
	if (!st)
		st = fill_reply(w, diag);
	if (st)
		return st;
	if (deps && w->same && w->base->lane_deps)
		memcpy(w->deps.dep, w->base->lane_deps,
		       w->deps.row[x->n_channels] * sizeof(*w->deps.dep));
	else if (deps && w->same && w->shared && w->base->deps)
		take_deps(w);
	else
		walk = deps;
	if (!loads && same_sources(w))
		memcpy(w->load, w->home->load, x->n_channels * sizeof(*w->load));
	else if (!loads)
		correct_loads(w);
	mark = osr_arena_mark(w->scratch);
	lanes = osr_alloc(w->scratch, x->n_switches, sizeof(*lanes));
	flow = osr_alloc(w->scratch, x->n_switches, sizeof(*flow));
	if (!lanes || !flow)
		return osr__nomem(diag);
	for (uint32_t d = 0; (walk || loads) && d < x->n_dests; d++)
		walk_tree(w, d, lanes, flow, walk, loads);
	osr_arena_reset(w->scratch, mark);
	return OSR_OK;
}

/* ---- SLs of earlier -------------------------------------------------------------------------- */

/* Did the last sweep use an SL that home does not? */
static bool differs_from_home(const struct osr__reroute *w)
{
	const struct osr_routing *last = &w->last->routing;
	const struct osr_fabric *x = w->x;
	size_t n = x->n_switches;

	for (uint32_t d = 0; d < x->n_dests; d++) {
		const uint8_t *row;

		if (w->dest_last[d] == OSR_NONE)
			continue;
		row = last->sl + (size_t)w->dest_last[d] * last->n_switches;
		for (size_t v = 0; v < n; v++)
			if (w->sw_last[v] != OSR_NONE && row[w->sw_last[v]] != w->sl[d * n + v])
				return true;
	}
	return false;
}

/* The SLs of earlier that the base's own certificate covers: part of its tables. */
enum osr_status osr__take_base_grants(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x;
	const uint16_t *then = w->base->granted;
	size_t n = x->n_switches, size = x->n_dests * n;

	if (w->shared || !w->n_lanes || !then)
		return OSR_OK;
	w->grants = osr_calloc(w->scratch, size, sizeof(*w->grants));
	if (!w->grants)
		return osr__nomem(diag);
	if (w->same) {
		memcpy(w->grants, then, size * sizeof(*w->grants));
		return OSR_OK;
	}
	for (uint32_t d = 0; d < x->n_dests; d++)
		for (uint32_t v = 0; v < n; v++)
			if (w->dest_last[d] != OSR_NONE && w->sw_last[v] != OSR_NONE)
				w->grants[d * n + v] =
					then[(size_t)w->dest_last[d] * w->last->fabric.n_switches +
					     w->sw_last[v]];
	return OSR_OK;
}

/* Those given out since then; osr__keep_grants() adds what they depend on. */
enum osr_status osr__take_later_grants(struct osr__reroute *w, struct osr_diag *diag)
{
	size_t size = (size_t)w->x->n_dests * w->x->n_switches;
	const uint16_t *then = w->last->routing.granted_home;

	if (w->shared || !w->n_lanes || !w->same || w->last == w->home)
		return OSR_OK;
	w->deviates = w->last->routing.sl && differs_from_home(w);
	if (!then && !w->deviates)
		return OSR_OK;
	if (!w->grants)
		w->grants = osr_calloc(w->scratch, size, sizeof(*w->grants));
	if (!w->grants)
		return osr__nomem(diag);
	if (then)
		memcpy(w->grants, then, size * sizeof(*w->grants));
	return OSR_OK;
}
