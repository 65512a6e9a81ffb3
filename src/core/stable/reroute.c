/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See reroute.h. From the outside in:
 *	osr_reroute()
 *	  repairable()		is there anything that speaks against it?
 *	  osr__map()		what is still there
 *	  take_tables()		home's tables, or those of the last sweep
 *	  collect_deps()	what they depend on, and what each channel carries
 *	  osr__add_last()	what is on the switches now
 *	  repair_trees()	tree by tree
 *	  osr__add_mixtures()	old and new together
 *	  hand_over()		tables, SLs and certificate in the numbering of today
 */
#include "reroute_private.h"

#include <string.h>

#include <osmroutes/spf.h>

/* Of finding room for SLs of earlier on new tables: some tenths of a second. */
#define MAX_ATTEMPTS 50000

static enum osr_status nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for re-routing");
}

static const struct osr_result *home_of(const struct osr_result *previous)
{
	return previous->home ? previous->home : previous;
}

const struct osr_result *osr_reroute_home(const struct osr_result *previous,
					  const struct osr_routing *r)
{
	return previous && r->stable.kept && !r->stable.new_home ? home_of(previous) : NULL;
}

/* ---- may it be repaired? --------------------------------------------------------------------- */

static enum osr_status repairable(const struct osr_request *req, const struct osr_result *previous,
				  struct osr_diag *diag)
{
	const struct osr_routing *r = &previous->routing;
	bool shared = !r->sl || (r->claims & OSR_CLAIM_ANY_SL);

	if (!r->lft)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "there are no earlier tables");
	if (r->sl2vl || home_of(previous)->routing.sl2vl)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the earlier tables map SLs to VLs by port pair");
	if (r->n_vls > req->max_vls)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the earlier tables use %u virtual lanes, and %u are left",
				r->n_vls, req->max_vls);
	if (!shared && (r->claims & OSR_CLAIM_MULTICAST) && req->multicast &&
	    r->mcast_vl != req->mcast_vl)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"multicast has moved from virtual lane %u to %u", r->mcast_vl,
				req->mcast_vl);
	return OSR_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Rows of `from`, whose switches are sw[] and dests dest[] of to's; what it lacks is `missing`. */
static void copy_rows(const uint8_t *from, uint32_t n_from, const uint32_t *sw,
		      const uint32_t *dest, uint32_t n_dests, uint32_t n, uint8_t missing,
		      uint8_t *to)
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

static bool same_size(const struct osr__reroute *w)
{
	return w->f->n_switches == w->x->n_switches && w->f->n_dests == w->x->n_dests;
}

/* The tables in the making, in the result at once where numbers are the same. */
static enum osr_status take_tables(struct osr__reroute *w, struct osr_arena *result,
				   struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x;
	struct osr_arena *arena = same_size(w) ? result : w->scratch;
	size_t n = x->n_switches, size;

	if (__builtin_mul_overflow((size_t)x->n_dests, n, &size))
		return nomem(diag);
	w->lft = osr_alloc(arena, size, 1);
	w->sl = w->base->sl ? osr_alloc(arena, size, 1) : NULL;
	if (!w->lft || (w->base->sl && !w->sl))
		return nomem(diag);
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
		copy_rows(w->base->sl, w->base->n_switches, w->sw_last, w->dest_last, x->n_dests,
			  x->n_switches, OSR__NO_SL, w->sl);
	return OSR_OK;
}

/* The LID itself: the port that its terminal hangs on today. */
static void set_roots(struct osr__reroute *w)
{
	for (uint32_t d = 0; d < w->f->n_dests; d++) {
		size_t to = w->dest_x[d];

		w->lft[to * w->x->n_switches + w->x->dest_switch[to]] =
			w->f->term_port[w->f->dest_term[d]];
	}
}

static enum osr_status sort_dests(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x;

	w->dest_row = osr_calloc(w->scratch, (size_t)x->n_switches + 2, sizeof(*w->dest_row));
	w->dest_list = osr_alloc(w->scratch, x->n_dests, sizeof(*w->dest_list));
	if (!w->dest_row || !w->dest_list)
		return nomem(diag);
	for (uint32_t d = 0; d < x->n_dests; d++)
		w->dest_row[x->dest_switch[d] + 2]++;
	for (uint32_t s = 0; s < x->n_switches; s++)
		w->dest_row[s + 2] += w->dest_row[s + 1];
	for (uint32_t d = 0; d < x->n_dests; d++)
		w->dest_list[w->dest_row[x->dest_switch[d] + 1]++] = d;
	return OSR_OK;
}

static enum osr_status alloc_tree(struct osr__reroute *w, struct osr_diag *diag)
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
	w->head = osr_alloc(w->scratch, n + 2, sizeof(*w->head));
	w->node_sw = osr_alloc(w->scratch, m + n, sizeof(*w->node_sw));
	w->node_next = osr_alloc(w->scratch, m + n, sizeof(*w->node_next));
	w->sources = osr_calloc(w->scratch, n, sizeof(*w->sources));
	w->touched = osr_calloc(w->scratch, w->x->n_dests, 1);
	w->load = osr_calloc(w->scratch, m, sizeof(*w->load));
	w->expected = osr_calloc(w->scratch, m, sizeof(*w->expected));
	w->flow = osr_alloc(w->scratch, n, sizeof(*w->flow));
	if (!w->in_u || !w->known || !w->mark || !w->len || !w->done || !w->u || !w->place ||
	    !w->stack || !w->old || !w->last_row || !w->relaxed || !w->head || !w->node_sw ||
	    !w->node_next || !w->sources || !w->touched || !w->load || !w->expected || !w->flow)
		return nomem(diag);
	memset(w->head, 0xff, (n + 2) * sizeof(*w->head));
	for (uint32_t s = 0; s < w->f->n_switches; s++)
		w->sources[w->sw_x[s]] = w->f->sw_sources[s];
	return OSR_OK;
}

/* ---- what the tables depend on --------------------------------------------------------------- */

/* Ranks of the base as sorting keys, by lane; channels it does not know come last. */
static enum osr_status start_deps(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x, *g = &w->last->fabric;
	size_t m = x->n_channels;
	uint64_t *keys = osr_alloc(w->scratch, w->n_lanes * m, sizeof(*keys));

	if (!keys)
		return nomem(diag);
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
static void add_newly_used(struct osr__reroute *w)
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
		return nomem(diag);
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

static enum osr_status collect_deps(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x;
	struct osr_arena_mark mark;
	bool deps = w->n_lanes != 0, loads = !w->same || !w->home->load, walk = false;
	enum osr_status st = OSR_OK;
	uint16_t *lanes;
	uint32_t *flow;

	if (deps)
		st = start_deps(w, diag);
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
		return nomem(diag);
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
static enum osr_status take_base_grants(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x;
	const uint16_t *then = w->base->granted;
	size_t n = x->n_switches, size = x->n_dests * n;

	if (w->shared || !w->n_lanes || !then)
		return OSR_OK;
	w->grants = osr_calloc(w->scratch, size, sizeof(*w->grants));
	if (!w->grants)
		return nomem(diag);
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
static enum osr_status take_later_grants(struct osr__reroute *w, struct osr_diag *diag)
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
		return nomem(diag);
	if (then)
		memcpy(w->grants, then, size * sizeof(*w->grants));
	return OSR_OK;
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* Entries that lead nowhere today, in two passes: count, then list. */
static void find_cut(struct osr__reroute *w, bool list)
{
	const struct osr_fabric *x = w->x;
	size_t n = x->n_switches;

	for (uint32_t c = 0; w->same && c < x->n_channels; c++) {
		uint32_t s = x->chan_src[c];

		if (w->chan_f[c] != OSR_NONE || w->sw_f[s] == OSR_NONE)
			continue;
		for (uint32_t d = 0; d < x->n_dests; d++) {
			if (w->lft[d * n + s] != x->chan_port[c] || w->dest_f[d] == OSR_NONE ||
			    x->dest_switch[d] == s)
				continue;
			if (list)
				w->cut[w->cut_row[d + 1]] = s;
			w->cut_row[d + (list ? 1 : 2)]++;
		}
	}
	for (uint32_t d = 0; !w->same && d < x->n_dests; d++) {
		uint32_t root = x->dest_switch[d];

		for (uint32_t s = 0; s < n; s++) {
			if (w->lft[d * n + s] != OSR_NO_PATH || s == root ||
			    x->sw_component[s] != x->sw_component[root])
				continue;
			if (list)
				w->cut[w->cut_row[d + 1]] = s;
			w->cut_row[d + (list ? 1 : 2)]++;
		}
	}
}

static enum osr_status list_cut(struct osr__reroute *w, struct osr_diag *diag)
{
	w->cut_row = osr_calloc(w->scratch, (size_t)w->x->n_dests + 2, sizeof(*w->cut_row));
	if (!w->cut_row)
		return nomem(diag);
	find_cut(w, false);
	for (uint32_t d = 0; d < w->x->n_dests; d++)
		w->cut_row[d + 2] += w->cut_row[d + 1];
	w->cut = osr_alloc(w->scratch, w->cut_row[w->x->n_dests + 1], sizeof(*w->cut));
	if (!w->cut)
		return nomem(diag);
	find_cut(w, true);
	return OSR_OK;
}

static enum osr_status repair_trees(struct osr__reroute *w, struct osr_diag *diag)
{
	enum osr_status st = list_cut(w, diag);

	for (uint32_t d = 0; !st && d < w->x->n_dests; d++) {
		if (w->dest_f[d] == OSR_NONE)
			continue;
		if (w->cut_row[d] == w->cut_row[d + 1]) {
			w->epoch++;
			if (w->grants)
				osr__keep_grants(w, d);
			continue;
		}
		st = osr__repair_tree(w, d, diag);
		w->touched[d] = 1;
		w->stable.n_trees++;
	}
	return st;
}

/* ---- the result ------------------------------------------------------------------------------ */

static enum osr_status hand_over_tables(struct osr__reroute *w, struct osr_arena *result,
					struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_fabric *f = w->f;
	size_t size = (size_t)f->n_dests * f->n_switches;

	r->lft = w->lft;
	r->sl = w->sl;
	if (!same_size(w)) {
		r->lft = osr_alloc(result, size, 1);
		r->sl = w->sl ? osr_alloc(result, size, 1) : NULL;
		if (!r->lft || (w->sl && !r->sl))
			return nomem(diag);
		copy_rows(w->lft, w->x->n_switches, w->sw_x, w->dest_x, f->n_dests, f->n_switches,
			  OSR_NO_PATH, r->lft);
		if (w->sl)
			copy_rows(w->sl, w->x->n_switches, w->sw_x, w->dest_x, f->n_dests,
				  f->n_switches, 0, r->sl);
	}
	/* Pairs that send nothing have no SL of their own. */
	for (size_t i = 0; !w->same && w->sl && i < size; i++)
		r->sl[i] = r->sl[i] == OSR__NO_SL ? 0 : r->sl[i];
	return OSR_OK;
}

static enum osr_status hand_over_grants(struct osr__reroute *w, struct osr_arena *result,
					struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_fabric *f = w->f;
	size_t n = w->x->n_switches, size = w->x->n_dests * n;
	uint16_t *granted, *at_home;

	if (!w->grants)
		return OSR_OK;
	granted = osr_alloc(result, (size_t)f->n_dests * f->n_switches, sizeof(*granted));
	at_home = w->same ? osr_alloc(result, size, sizeof(*at_home)) : NULL;
	if (!granted || (w->same && !at_home))
		return nomem(diag);
	for (uint32_t d = 0; d < f->n_dests; d++)
		for (uint32_t s = 0; s < f->n_switches; s++)
			granted[(size_t)d * f->n_switches + s] =
				w->grants[w->dest_x[d] * n + w->sw_x[s]];
	if (at_home)
		memcpy(at_home, w->grants, size * sizeof(*at_home));
	r->granted = granted;
	r->granted_home = at_home;
	return OSR_OK;
}

static enum osr_status hand_over_ranks(struct osr__reroute *w, struct osr_arena *result,
				       struct osr_routing *r, struct osr_diag *diag)
{
	size_t m = w->f->n_channels;

	if (!w->n_lanes)
		return OSR_OK;
	r->rank = osr_alloc(result, r->n_vls * m, sizeof(*r->rank));
	if (!r->rank)
		return nomem(diag);
	for (uint32_t k = 0; k < r->n_vls; k++) {
		const uint32_t *pos = w->deps.pos + (w->shared ? 0 : k * (size_t)w->x->n_channels);

		for (uint32_t c = 0; c < m; c++)
			r->rank[k * m + c] = pos[w->chan_x[c]];
	}
	return OSR_OK;
}

static void count_sl_changes(struct osr__reroute *w, const struct osr_routing *r)
{
	const struct osr_fabric *x = w->x;
	const struct osr_routing *last = &w->last->routing;
	size_t n = x->n_switches;

	(void)r;
	if (!w->sl || !last->sl)
		return;
	for (uint32_t d = 0; d < x->n_dests; d++) {
		uint32_t old = w->sw_last ? w->dest_last[d] : d;

		if (old == OSR_NONE || w->dest_f[d] == OSR_NONE)
			continue;
		for (uint32_t v = 0; v < n; v++) {
			uint32_t s = w->sw_last ? w->sw_last[v] : v;

			if (s == OSR_NONE || w->sw_f[v] == OSR_NONE || v == x->dest_switch[d] ||
			    w->sl[d * n + v] == OSR__NO_SL)
				continue;
			w->stable.n_sl_changed +=
				last->sl[(size_t)old * last->n_switches + s] != w->sl[d * n + v];
		}
	}
}

/* Largest load over the least that any routing could have, in thousandths; 0: nothing to compare. */
static uint64_t imbalance(const struct osr_fabric *f, const uint64_t *load, uint32_t n_loads,
			  const uint32_t *chan_f)
{
	uint64_t most = 0, sum = 0, least;

	for (uint32_t c = 0; c < n_loads; c++) {
		if (chan_f && chan_f[c] == OSR_NONE)
			continue;
		sum += load[c];
		most = most < load[c] ? load[c] : most;
	}
	least = f->n_channels ? (sum + f->n_channels - 1) / f->n_channels : 0;
	if (least < osr_spf_bound(f))
		least = osr_spf_bound(f);
	return least ? most * 1000 / least : 0;
}

static enum osr_status measure_drift(struct osr__reroute *w, struct osr_diag *diag)
{
	uint64_t now = imbalance(w->f, w->load, w->x->n_channels, w->chan_f), then = 0;

	if (w->home->load)
		then = imbalance(&w->home->fabric, w->home->load, w->home->fabric.n_channels, NULL);
	w->stable.drift = then ? (uint32_t)(now * 1000 / then) : 0;
	if (!w->opt->drift || w->stable.drift <= 10 * w->opt->drift)
		return OSR_OK;
	return osr_fail(diag, OSR_NOT_APPLICABLE,
			"the repaired tables would be balanced %u.%02u times worse than those they "
			"were made from, and the limit is %u.%02u",
			w->stable.drift / 1000, w->stable.drift % 1000 / 10, w->opt->drift / 100,
			w->opt->drift % 100);
}

/* What is taken over as it is. */
static void begin_result(const struct osr__reroute *w, struct osr_routing *r)
{
	const struct osr_routing *base = w->base;

	*r = (struct osr_routing){ .engine = base->engine,
				   .claims = base->claims,
				   .n_switches = w->f->n_switches,
				   .n_dests = w->f->n_dests,
				   .n_channels = w->f->n_channels,
				   .n_vls = base->n_vls,
				   .n_layers = base->n_layers,
				   .n_layers_one_way = base->n_layers_one_way,
				   .n_rounds = base->n_rounds };
	memcpy(r->ca_sl2vl, base->ca_sl2vl, sizeof(r->ca_sl2vl));
}

/* Lanes of the base, and spare ones that pairs have moved to. */
static uint8_t lanes_used(const struct osr__reroute *w)
{
	size_t size = (size_t)w->x->n_dests * w->x->n_switches;
	uint8_t n = w->base->n_vls;

	for (size_t i = 0; w->n_lanes > n && i < size; i++) {
		if (w->sl[i] != OSR__NO_SL && w->sl[i] >= n)
			n = w->sl[i] + 1;
		while (w->grants && n < w->n_lanes && w->grants[i] >> n)
			n++;
	}
	return n;
}

static enum osr_status hand_over(struct osr__reroute *w, struct osr_arena *result,
				 struct osr_routing *r, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	r->n_longer = w->base->n_longer + (uint32_t)w->n_longer;
	r->n_vls = lanes_used(w);
	if (!w->minimal || w->n_longer)
		r->claims &= ~(uint32_t)OSR_CLAIM_MINIMAL;
	osr__add_mixtures(w, r);
	count_sl_changes(w, r);
	if ((st = measure_drift(w, diag)) || (st = hand_over_tables(w, result, r, diag)) ||
	    (st = hand_over_grants(w, result, r, diag)) ||
	    (st = hand_over_ranks(w, result, r, diag)))
		return st;
	w->stable.kept = true;
	w->stable.new_home = !w->same;
	if (!w->n_lanes)
		w->stable.together = false;
	r->stable = w->stable;
	return OSR_OK;
}

static enum osr_status reroute(struct osr__reroute *w, struct osr_arena *result,
			       struct osr_routing *r, struct osr_diag *diag)
{
	enum osr_status st = osr__map(w, diag);

	if (st)
		return st;
	w->shared = !w->base->sl || (w->base->claims & OSR_CLAIM_ANY_SL);
	if ((w->base->claims & OSR_CLAIM_DEADLOCK_FREE) && w->base->rank)
		w->n_lanes = w->shared ? 1 : w->max_vls;
	w->minimal = w->base->claims & OSR_CLAIM_MINIMAL;
	/* Also what brings back the tables of before where home could not hold a fault. */
	if (w->stable.n_channels_new || w->new_ways)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"there are cables that the tables of the last full route do not "
				"use, or that were slower then");
	if ((st = alloc_tree(w, diag)) || (st = sort_dests(w, diag)) ||
	    (st = take_tables(w, result, diag)) || (st = take_base_grants(w, diag)))
		return st;
	set_roots(w);
	if ((st = collect_deps(w, diag)) || (st = take_later_grants(w, diag)))
		return st;
	begin_result(w, r);
	st = osr__repair_mcast(w, result, r, diag);
	if (st)
		return st;
	add_newly_used(w);
	osr__add_last(w);
	st = repair_trees(w, diag);
	return st ? st : hand_over(w, result, r, diag);
}

enum osr_status osr_reroute(const struct osr_fabric *f, const struct osr_request *req,
			    const struct osr_result *previous,
			    const struct osr_reroute_options *opt, struct osr_arena *scratch,
			    struct osr_arena *result, struct osr_routing *r, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch), before = osr_arena_mark(result);
	struct osr__reroute w = { .f = f,
				  .opt = opt,
				  .last = previous,
				  .max_vls =
					  req->max_vls < OSR_MAX_VLS ? req->max_vls : OSR_MAX_VLS,
				  .attempts = UINT64_MAX,
				  .scratch = scratch,
				  .stable = { .together = true } };
	enum osr_status st = repairable(req, previous, diag);

	if (st)
		return st;
	w.home = home_of(previous);
	st = reroute(&w, result, r, diag);
	osr_arena_reset(scratch, mark);
	if (st)
		osr_arena_reset(result, before);
	return st;
}

/* ---- when there is time ---------------------------------------------------------------------- */

enum osr_status osr_reroute_prepare(const struct osr_result *x, struct osr_arena *scratch,
				    struct osr_arena *result, struct osr_routing *r,
				    struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__reroute w = { .f = &x->fabric, .home = x, .last = x, .scratch = scratch };
	enum osr_status st = OSR_OK;
	uint16_t *deps;
	uint32_t n;

	if (x->home || r->lane_deps || r->deps || !r->rank || r->sl2vl ||
	    !(r->claims & OSR_CLAIM_DEADLOCK_FREE))
		return OSR_OK;
	if (!(st = osr__map(&w, diag))) {
		w.shared = !r->sl || (r->claims & OSR_CLAIM_ANY_SL);
		w.n_lanes = w.shared ? 1 : r->n_vls;
		w.lft = r->lft;
		w.sl = r->sl;
		st = alloc_tree(&w, diag);
	}
	if (!st && !(st = sort_dests(&w, diag)) && !(st = take_base_grants(&w, diag)) &&
	    !(st = collect_deps(&w, diag))) {
		n = w.deps.row[w.x->n_channels];
		deps = osr_alloc(result, n, sizeof(*deps));
		if (deps)
			r->lane_deps = memcpy(deps, w.deps.dep, n * sizeof(*deps));
		else
			st = nomem(diag);
	}
	osr_arena_reset(scratch, mark);
	return st;
}

/* ---- after a full route ---------------------------------------------------------------------- */

/* SLs that pairs had in the last sweep or before, in the numbering of f. */
static void collect_grants(struct osr__reroute *w, const struct osr_request *req)
{
	const struct osr_routing *then = &w->last->routing;
	uint16_t chosen = req->chosen_sls ? req->chosen_sls : 1;
	size_t n = w->x->n_switches;

	for (uint32_t d = 0; d < w->x->n_dests; d++) {
		if (w->dest_last[d] == OSR_NONE)
			continue;
		for (uint32_t v = 0; v < n; v++) {
			size_t old = (size_t)w->dest_last[d] * then->n_switches + w->sw_last[v];

			if (w->sw_last[v] == OSR_NONE || then->lft[old] == OSR_NO_PATH)
				continue;
			w->grants[d * n + v] =
				then->sl ? (uint16_t)(1u << (then->sl[old] & 15)) : chosen;
			if (then->granted)
				w->grants[d * n + v] |= then->granted[old];
			w->stable.n_sl_changed += then->sl && then->sl[old] != w->sl[d * n + v];
		}
	}
}

static enum osr_status grant_earlier(struct osr__reroute *w, const struct osr_request *req,
				     struct osr_arena *result, struct osr_routing *r,
				     struct osr_diag *diag)
{
	size_t n = w->f->n_switches, size = w->f->n_dests * n;
	uint16_t *grants = osr_calloc(result, size, sizeof(*grants));
	enum osr_status st = grants ? osr__map(w, diag) : nomem(diag);

	if (st)
		return st;
	w->n_lanes = r->n_vls;
	w->lft = r->lft;
	w->sl = r->sl;
	if ((st = alloc_tree(w, diag)) || (st = sort_dests(w, diag)) ||
	    (st = collect_deps(w, diag)))
		return st;
	osr__add_order(w);
	w->grants = grants;
	collect_grants(w, req);
	w->attempts = MAX_ATTEMPTS;
	w->epoch++;
	for (uint32_t d = 0; d < w->f->n_dests; d++)
		osr__keep_grants(w, d);
	r->granted = grants;
	/* The order has moved to make room for them. */
	return hand_over_ranks(w, result, r, diag);
}

enum osr_status osr_reroute_anew(const struct osr_fabric *f, const struct osr_request *req,
				 const struct osr_result *previous, const struct osr_diag *why,
				 struct osr_arena *scratch, struct osr_arena *result,
				 struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_result now = { .fabric = *f, .routing = *r };
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__reroute w = { .f = f, .home = &now, .last = previous, .scratch = scratch };
	enum osr_status st = OSR_OK;

	if (!r->sl2vl && r->sl && r->rank && (r->claims & OSR_CLAIM_DEADLOCK_FREE) &&
	    !(r->claims & OSR_CLAIM_ANY_SL) && previous->routing.lft && !previous->routing.sl2vl)
		st = grant_earlier(&w, req, result, r, diag);
	osr_arena_reset(scratch, mark);
	r->stable = (struct osr_stable){ .n_sl_changed = w.stable.n_sl_changed,
					 .n_sl_lost = w.stable.n_sl_lost };
	memcpy(r->stable.why, why->text, sizeof(r->stable.why) - 1);
	return st;
}
