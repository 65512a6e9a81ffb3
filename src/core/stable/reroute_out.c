/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a repair hands over: tables, SLs and certificate in the numbering of today. */
#include "reroute_private.h"

#include <string.h>

#include <osmroutes/spf.h>

static enum osr_status hand_over_tables(struct osr__reroute *w, struct osr_arena *result,
					struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_fabric *f = w->f;
	size_t size = (size_t)f->n_dests * f->n_switches;

	r->lft = w->lft;
	r->sl = w->sl;
	if (!osr__same_size(w)) {
		r->lft = osr_alloc(result, size, 1);
		r->sl = w->sl ? osr_alloc(result, size, 1) : NULL;
		if (!r->lft || (w->sl && !r->sl))
			return osr__nomem(diag);
		osr__copy_rows(w->lft, w->x->n_switches, w->sw_x, w->dest_x, f->n_dests,
			       f->n_switches, OSR_NO_PATH, r->lft);
		if (w->sl)
			osr__copy_rows(w->sl, w->x->n_switches, w->sw_x, w->dest_x, f->n_dests,
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
		return osr__nomem(diag);
	if (osr__same_size(w))
		memcpy(granted, w->grants, size * sizeof(*granted));
	for (uint32_t d = 0; !osr__same_size(w) && d < f->n_dests; d++)
		for (uint32_t s = 0; s < f->n_switches; s++)
			granted[(size_t)d * f->n_switches + s] =
				w->grants[w->dest_x[d] * n + w->sw_x[s]];
	if (at_home)
		memcpy(at_home, w->grants, size * sizeof(*at_home));
	r->granted = granted;
	r->granted_home = at_home;
	return OSR_OK;
}

enum osr_status osr__hand_over_ranks(struct osr__reroute *w, struct osr_arena *result,
				     struct osr_routing *r, struct osr_diag *diag)
{
	size_t m = w->f->n_channels;

	if (!w->n_lanes)
		return OSR_OK;
	r->rank = osr_alloc(result, r->n_vls * m, sizeof(*r->rank));
	if (!r->rank)
		return osr__nomem(diag);
	for (uint32_t k = 0; k < r->n_vls; k++) {
		const uint32_t *pos = w->deps.pos + (w->shared ? 0 : k * (size_t)w->x->n_channels);

		for (uint32_t c = 0; c < m; c++)
			r->rank[k * m + c] = pos[w->chan_x[c]];
	}
	return OSR_OK;
}

static void count_sl_changes(struct osr__reroute *w)
{
	const struct osr_fabric *x = w->x;
	const struct osr_routing *last = &w->last->routing;
	size_t n = x->n_switches;

	if (!w->sl || !last->sl)
		return;
	for (uint32_t d = 0; d < x->n_dests; d++) {
		uint32_t old = w->sw_last ? w->dest_last[d] : d;

		if (old == OSR_NONE || w->dest_f[d] == OSR_NONE)
			continue;
		if (!w->sw_last && !memcmp(last->sl + (size_t)old * n, w->sl + d * n, n))
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
void osr__begin_result(const struct osr__reroute *w, struct osr_routing *r)
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
	uint16_t granted = 0;
	uint8_t n = w->base->n_vls;

	if (w->n_lanes <= n)
		return n;
	for (size_t i = 0; i < size; i++)
		n = w->sl[i] != OSR__NO_SL && w->sl[i] >= n ? w->sl[i] + 1 : n;
	for (size_t i = 0; w->grants && i < size; i++)
		granted |= w->grants[i];
	while (n < w->n_lanes && granted >> n)
		n++;
	return n;
}

enum osr_status osr__hand_over(struct osr__reroute *w, struct osr_arena *result,
			       struct osr_routing *r, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	r->n_longer = w->base->n_longer + (uint32_t)w->n_longer;
	r->n_vls = lanes_used(w);
	if (!w->minimal || w->n_longer)
		r->claims &= ~(uint32_t)OSR_CLAIM_MINIMAL;
	osr__add_mixtures(w, r);
	count_sl_changes(w);
	if ((st = measure_drift(w, diag)) || (st = hand_over_tables(w, result, r, diag)) ||
	    (st = hand_over_grants(w, result, r, diag)) ||
	    (st = osr__hand_over_ranks(w, result, r, diag)))
		return st;
	w->stable.kept = true;
	w->stable.new_home = !w->same;
	if (!w->n_lanes)
		w->stable.together = false;
	r->stable = w->stable;
	return OSR_OK;
}
