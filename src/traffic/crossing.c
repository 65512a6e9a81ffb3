/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The entries of one LID form a tree, or a graph in which every switch has one successor. What leaves a
 * switch by its entry is what hangs on that switch, found by going backwards.
 */
#include <osmroutes/crossing.h>

#include <string.h>

struct crossing_walk {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint32_t *queue; /* [n_switches] */
	uint8_t *seen;   /* [n_switches] */
};

/* The switches that send LIDs of dest d by way of `first`, itself among them, into the queue; how many. */
static uint32_t crossing_collect(struct crossing_walk *w, uint32_t first, uint32_t d)
{
	const struct osr_fabric *f = w->f;
	uint32_t n = 0;

	w->queue[n++] = first;
	w->seen[first] = 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = w->queue[i];

		for (uint32_t out = f->chan_row[v]; out < f->chan_row[v + 1]; out++) {
			uint32_t in = f->chan_rev[out], u = f->chan_src[in];

			if (w->seen[u] || osr_lft(w->r, u, d) != f->chan_port[in])
				continue;
			w->seen[u] = 1;
			w->queue[n++] = u;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		w->seen[w->queue[i]] = 0;
	return n;
}

enum osr_status osr_crossing_each(const struct osr_fabric *f, const struct osr_routing *r, uint32_t sw,
				  uint8_t port, struct osr_arena *scratch,
				  void (*visit)(void *ctx, uint32_t from, uint32_t dest), void *ctx,
				  struct osr_diag *diag)
{
	struct crossing_walk w = { .f = f, .r = r };

	w.queue = osr_alloc(scratch, f->n_switches, sizeof(*w.queue));
	w.seen = osr_calloc(scratch, f->n_switches, sizeof(*w.seen));
	if (!w.queue || !w.seen)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u switches", f->n_switches);
	for (uint32_t d = 0; d < f->n_dests; d++) {
		uint32_t n;

		if (osr_lft(r, sw, d) != port)
			continue;
		n = crossing_collect(&w, sw, d);
		for (uint32_t i = 0; i < n; i++)
			visit(ctx, w.queue[i], d);
	}
	return OSR_OK;
}
