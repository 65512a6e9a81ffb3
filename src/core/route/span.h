/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* span.h - spanning trees inside the core; see osmroutes/span.h. */
#ifndef OSR_CORE_SPAN_H
#define OSR_CORE_SPAN_H

#include <osmroutes/span.h>
#include <osmroutes/spf.h>

#include "core/order/fit.h"

/*
 * Breadth first from the center of each component (spf.h), nothing left out. On a fat tree the
 * center is a top switch, so that multicast turns from up to down only, as unicast does. OSR_NOMEM
 * only.
 */
enum osr_status osr_span_from_centers(const struct osr_spf *spf, struct osr_arena *scratch,
				      uint32_t *parent, struct osr_diag *diag);

/*
 * out[n_switches]: the channel by which each switch sends to root along the span; OSR_NONE for the
 * root, and for switches that are not in its tree. queue[n_switches] is overwritten. O(channels).
 */
void osr_span_towards(const struct osr_fabric *fabric, const uint32_t *parent, uint32_t root,
		      uint32_t *out, uint32_t *queue);

/* Every turn of the span gets the weight UINT32_MAX. */
void osr_span_weigh(const uint32_t *parent, struct osr_weights *weights);

#endif
