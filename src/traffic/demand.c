/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One LID after the other. Its entries make every switch hang on the next one; what the hosts of a switch send
 * is handed on once all that hangs on it has arrived there.
 */
#include "traffic/demand.h"

#include <string.h>

struct spread {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	struct osr_demand *d;
	double *sent, *weight;           /* [n_switches] of the hosts of a switch */
	double *sent_here, *weight_here; /* [n_switches] with all that hangs on it */
	uint32_t *n_waiting, *queue;     /* [n_switches] */
};

enum osr_status osr_demand_init(struct osr_demand *demand, const struct osr_fabric *fabric,
				struct osr_arena *arena, struct osr_diag *diag)
{
	demand->sent = osr_calloc(arena, fabric->n_terminals, sizeof(double));
	demand->received = osr_calloc(arena, fabric->n_terminals, sizeof(double));
	demand->expected = osr_calloc(arena, fabric->n_channels, sizeof(double));
	demand->most = osr_calloc(arena, fabric->n_channels, sizeof(double));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	return OSR_OK;
}

/* A host does not send to itself: its share of what the others receive. */
static void sum_by_switch(struct spread *s)
{
	double all = 0;

	for (uint32_t t = 0; t < s->f->n_terminals; t++)
		all += s->d->received[t];
	for (uint32_t t = 0; t < s->f->n_terminals; t++) {
		double others = all - s->d->received[t];
		uint32_t sw = s->f->term_switch[t];

		s->sent[sw] += s->d->sent[t];
		s->weight[sw] += others > 0 ? s->d->sent[t] / others : 0;
	}
}

static uint32_t demand_channel(const struct spread *s, uint32_t sw, uint32_t dest)
{
	return osr_port_channel(s->f, sw, osr_lft(s->r, sw, dest));
}

/* `received` is the part of what the end port receives that comes for this LID. */
static void spread_to(struct spread *s, uint32_t dest, double received)
{
	uint32_t n = s->f->n_switches, end = 0;

	memset(s->n_waiting, 0, n * sizeof(*s->n_waiting));
	memcpy(s->sent_here, s->sent, n * sizeof(*s->sent));
	memcpy(s->weight_here, s->weight, n * sizeof(*s->weight));
	for (uint32_t v = 0; v < n; v++) {
		uint32_t c = demand_channel(s, v, dest);

		if (c != OSR_NONE)
			s->n_waiting[s->f->chan_dst[c]]++;
	}
	for (uint32_t v = 0; v < n; v++)
		if (!s->n_waiting[v])
			s->queue[end++] = v;
	for (uint32_t i = 0; i < end; i++) {
		uint32_t v = s->queue[i], c = demand_channel(s, v, dest), u;

		if (c == OSR_NONE)
			continue;
		u = s->f->chan_dst[c];
		s->d->expected[c] += s->weight_here[v] * received;
		s->d->most[c] += s->sent_here[v] < received ? s->sent_here[v] : received;
		s->sent_here[u] += s->sent_here[v];
		s->weight_here[u] += s->weight_here[v];
		if (!--s->n_waiting[u])
			s->queue[end++] = u;
	}
}

static uint32_t n_lids_of(const struct osr_fabric *fabric, uint32_t dest)
{
	uint32_t n = 0, term = fabric->dest_term[dest],
		 first = fabric->lid_dest[fabric->term_lid[term]];

	while (first + n < fabric->n_dests && fabric->dest_term[first + n] == term)
		n++;
	return n;
}

enum osr_status osr_demand_spread(struct osr_demand *demand, const struct osr_fabric *fabric,
				  const struct osr_routing *routing, struct osr_arena *scratch,
				  struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct spread s = { .f = fabric, .r = routing, .d = demand };
	size_t n = fabric->n_switches;

	s.sent = osr_calloc(scratch, n, sizeof(double));
	s.weight = osr_calloc(scratch, n, sizeof(double));
	s.sent_here = osr_alloc(scratch, n, sizeof(double));
	s.weight_here = osr_alloc(scratch, n, sizeof(double));
	s.n_waiting = osr_alloc(scratch, n, sizeof(*s.n_waiting));
	s.queue = osr_alloc(scratch, n, sizeof(*s.queue));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	sum_by_switch(&s);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		double received = demand->received[fabric->dest_term[d]];

		if (received > 0)
			spread_to(&s, d, received / n_lids_of(fabric, d));
	}
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}
