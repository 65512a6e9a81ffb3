/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which part of today is which part of yesterday: switches by GUID, channels by switch and port as
 * long as they lead to the same switch, destinations by LID and GUID as long as they hang on the
 * same switch.
 */
#include "reroute_private.h"

#include <string.h>

static enum osr_status nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM,
			"out of memory while comparing the fabric with the last one");
}

/* Both fabrics have their switches in the order of their GUIDs. */
static void map_switches(const struct osr_fabric *a, const struct osr_fabric *b, uint32_t *map)
{
	uint32_t o = 0;

	for (uint32_t s = 0; s < a->n_switches; s++) {
		while (o < b->n_switches && b->sw_guid[o] < a->sw_guid[s])
			o++;
		map[s] = o < b->n_switches && b->sw_guid[o] == a->sw_guid[s] ? o : OSR_NONE;
	}
}

static uint32_t map_dest(const struct osr_fabric *a, const struct osr_fabric *b, const uint32_t *sw,
			 uint32_t d)
{
	uint16_t lid = a->dest_lid[d];
	uint32_t o = b->n_dests && lid <= b->max_lid ? b->lid_dest[lid] : OSR_NONE;
	uint32_t t = a->dest_term[d], u;

	if (o == OSR_NONE)
		return OSR_NONE;
	u = b->dest_term[o];
	return a->term_guid[t] == b->term_guid[u] && a->term_role[t] == b->term_role[u] &&
			       sw[a->dest_switch[d]] == b->dest_switch[o]
		       ? o
		       : OSR_NONE;
}

static uint32_t map_channel(const struct osr_fabric *a, const struct osr_fabric *b,
			    const uint32_t *sw, uint32_t c)
{
	uint32_t s = sw[a->chan_src[c]], o;

	if (s == OSR_NONE)
		return OSR_NONE;
	o = osr_port_channel(b, s, a->chan_port[c]);
	if (o == OSR_NONE || b->chan_dst[o] != sw[a->chan_dst[c]] ||
	    b->chan_port[b->chan_rev[o]] != a->chan_port[a->chan_rev[c]])
		return OSR_NONE;
	return o;
}

/* f to x; how many of f's have no place in x. */
static uint32_t map_to(const struct osr_fabric *f, const struct osr_fabric *x, uint32_t *sw,
		       uint32_t *dest, uint32_t *chan, uint32_t *new_channels)
{
	uint32_t unknown = 0;

	*new_channels = 0;
	map_switches(f, x, sw);
	for (uint32_t s = 0; s < f->n_switches; s++)
		unknown += sw[s] == OSR_NONE;
	for (uint32_t d = 0; d < f->n_dests; d++) {
		dest[d] = map_dest(f, x, sw, d);
		unknown += dest[d] == OSR_NONE;
	}
	for (uint32_t c = 0; c < f->n_channels; c++) {
		chan[c] = map_channel(f, x, sw, c);
		*new_channels += chan[c] == OSR_NONE;
	}
	return unknown + *new_channels;
}

static void invert(const uint32_t *map, uint32_t n, uint32_t *back, uint32_t n_back)
{
	memset(back, 0xff, n_back * sizeof(*back));
	for (uint32_t i = 0; i < n; i++)
		if (map[i] != OSR_NONE)
			back[map[i]] = i;
}

static enum osr_status map_last(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x, *last = &w->last->fabric;

	w->sw_last = osr_alloc(w->scratch, x->n_switches, sizeof(*w->sw_last));
	w->dest_last = osr_alloc(w->scratch, x->n_dests, sizeof(*w->dest_last));
	if (!w->sw_last || !w->dest_last)
		return nomem(diag);
	map_switches(x, last, w->sw_last);
	for (uint32_t d = 0; d < x->n_dests; d++)
		w->dest_last[d] = map_dest(x, last, w->sw_last, d);
	for (uint32_t c = 0; !w->same && c < x->n_channels; c++)
		w->new_ways |= map_channel(x, last, w->sw_last, c) == OSR_NONE;
	return OSR_OK;
}

enum osr_status osr__map(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *f = w->f, *x = &w->home->fabric;
	uint32_t unknown;

	w->sw_x = osr_alloc(w->scratch, f->n_switches, sizeof(*w->sw_x));
	w->dest_x = osr_alloc(w->scratch, f->n_dests, sizeof(*w->dest_x));
	w->chan_x = osr_alloc(w->scratch, f->n_channels, sizeof(*w->chan_x));
	if (!w->sw_x || !w->dest_x || !w->chan_x)
		return nomem(diag);
	unknown = map_to(f, x, w->sw_x, w->dest_x, w->chan_x, &w->stable.n_channels_new);
	w->stable.n_channels_lost = x->n_channels - (f->n_channels - w->stable.n_channels_new);
	for (uint32_t c = 0; c < f->n_channels; c++)
		if (w->chan_x[c] != OSR_NONE && x->chan_rate[w->chan_x[c]] &&
		    x->chan_rate[w->chan_x[c]] < f->chan_rate[c])
			w->new_ways = true; /* as good as a new cable */
	w->same = !unknown;
	if (!w->same) {
		/* Home cannot hold it: the last tables move to the fabric of today. */
		x = f;
		for (uint32_t s = 0; s < f->n_switches; s++)
			w->sw_x[s] = s;
		for (uint32_t d = 0; d < f->n_dests; d++)
			w->dest_x[d] = d;
		for (uint32_t c = 0; c < f->n_channels; c++)
			w->chan_x[c] = c;
	}
	w->x = x;
	w->base = w->same ? &w->home->routing : &w->last->routing;
	w->sw_f = osr_alloc(w->scratch, x->n_switches, sizeof(*w->sw_f));
	w->dest_f = osr_alloc(w->scratch, x->n_dests, sizeof(*w->dest_f));
	w->chan_f = osr_alloc(w->scratch, x->n_channels, sizeof(*w->chan_f));
	if (!w->sw_f || !w->dest_f || !w->chan_f)
		return nomem(diag);
	invert(w->sw_x, f->n_switches, w->sw_f, x->n_switches);
	invert(w->dest_x, f->n_dests, w->dest_f, x->n_dests);
	invert(w->chan_x, f->n_channels, w->chan_f, x->n_channels);
	return w->same && w->last == w->home ? OSR_OK : map_last(w, diag);
}
