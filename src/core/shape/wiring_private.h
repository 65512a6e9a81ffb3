/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* wiring.h - what the kinds of plans share: the graph of switches, and the list of differences. */
#ifndef OSR_CORE_SHAPE_WIRING_H
#define OSR_CORE_SHAPE_WIRING_H

#include "core/shape/wiring.h"

/* Neighbours of switch v, ascending, each once: near[row[v]] .. near[end[v] - 1], with the cables there. */
struct wiring_graph {
	const struct osr_fabric *f;
	uint32_t *row;  /* [n_switches + 1] */
	uint32_t *end;  /* [n_switches] row[v + 1], or less where cables were left out */
	uint32_t *near; /* [n_channels] */
	uint32_t *mult; /* [n_channels] */
	uint32_t n_cables;
};

/* Differences, cable by cable: pairs of switches that lack one, and pairs that have one too many. */
struct wiring_pair {
	uint32_t a, b;
	bool used;
};

struct wiring_diff {
	struct wiring_pair *missing, *extra; /* [room] */
	uint32_t n_missing, n_extra, room;
	bool full; /* more than room: the plan does not fit */
};

static inline void wiring_lacks(struct wiring_diff *diff, uint32_t a, uint32_t b, uint32_t n)
{
	for (; n; n--) {
		if (diff->n_missing == diff->room)
			diff->full = true;
		else
			diff->missing[diff->n_missing++] = (struct wiring_pair){ a, b, false };
	}
}

static inline void wiring_too_many(struct wiring_diff *diff, uint32_t a, uint32_t b, uint32_t n)
{
	for (; n; n--) {
		if (diff->n_extra == diff->room)
			diff->full = true;
		else
			diff->extra[diff->n_extra++] = (struct wiring_pair){ a, b, false };
	}
}

/* Position of v among the neighbours of u, or OSR_NONE. */
uint32_t osr__wiring_edge(const struct wiring_graph *graph, uint32_t u, uint32_t v);

/* Cables between u and v. */
static inline uint32_t wiring_mult(const struct wiring_graph *graph, uint32_t u, uint32_t v)
{
	uint32_t e = osr__wiring_edge(graph, u, v);

	return e == OSR_NONE ? 0 : graph->mult[e];
}

/* Neighbours that u and v share. */
uint32_t osr__wiring_common(const struct wiring_graph *graph, uint32_t u, uint32_t v);

/* The most frequent value below 256 of the counts; the larger one of equals. */
uint32_t osr__wiring_mode(const uint32_t histogram[256]);

/*
 * Each fills `d` and `plan`; OSR_NOT_APPLICABLE: it is none of these. What they say is believed only if d is
 * not full.
 */
typedef enum osr_status wiring_find_fn(const struct wiring_graph *g, struct osr_arena *scratch,
				       struct wiring_diff *d, char plan[160],
				       struct osr_diag *diag);
wiring_find_fn osr__wiring_tree, osr__wiring_grid, osr__wiring_hyperx, osr__wiring_dragonfly;

/* The fabric of the switches alone, with the cables for which keep[near index] is set, each pair once. */
enum osr_status osr__wiring_subfabric(const struct wiring_graph *graph, const uint8_t *keep,
				      const struct wiring_pair *more, uint32_t n_more,
				      struct osr_arena *arena, struct osr_fabric *fabric,
				      struct osr_diag *diag);

#endif
