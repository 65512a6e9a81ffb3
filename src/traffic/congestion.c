/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See congestion.h. All pairs of a phase walk in step, one channel at a time: their table entries
 * lie all over memory, and so many loads are under way at once instead of one after the other. The
 * walk is done a second time if bandwidths are asked for, to look for the worst channel; then it
 * finds its entries in the cache.
 */
#include "traffic/congestion.h"

#include <string.h>

enum osr_status osr_meter_init(struct osr_meter *meter, const struct osr_fabric *fabric,
			       const struct osr_routing *routing, uint32_t max_pairs,
			       struct osr_arena *arena, struct osr_diag *diag)
{
	*meter = (struct osr_meter){ .f = fabric, .r = routing, .max_pairs = max_pairs };
	meter->load = osr_calloc(arena, fabric->n_channels, sizeof(*meter->load));
	meter->crossed = osr_alloc(arena, (size_t)fabric->n_channels + 1, sizeof(*meter->crossed));
	meter->sends = osr_calloc(arena, fabric->n_terminals, sizeof(*meter->sends));
	meter->receives = osr_calloc(arena, fabric->n_terminals, sizeof(*meter->receives));
	meter->from = osr_alloc(arena, max_pairs, sizeof(*meter->from));
	meter->worst = osr_alloc(arena, max_pairs, sizeof(*meter->worst));
	meter->dest = osr_alloc(arena, max_pairs, sizeof(*meter->dest));
	meter->at = osr_alloc(arena, max_pairs, sizeof(*meter->at));
	meter->walking = osr_alloc(arena, max_pairs, sizeof(*meter->walking));
	meter->n_worst = osr_alloc(arena, (size_t)max_pairs + 1, sizeof(*meter->n_worst));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	return OSR_OK;
}

/*
 * One step of n pairs. Counting: adds to the load; otherwise looks at it. Returns how many have not
 * arrived yet.
 */
static inline uint32_t congestion_step(struct osr_meter *meter, uint32_t n, bool counting)
{
	const struct osr_fabric *fabric = meter->f;
	uint32_t n_left = 0;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = meter->walking[k], v = meter->at[i], d = meter->dest[i], c;
		uint8_t port = osr_lft(meter->r, v, d);

		if (v == fabric->dest_switch[d] && port == fabric->term_port[fabric->dest_term[d]])
			continue;
		c = osr_port_channel(fabric, v, port);
		if (c == OSR_NONE) {
			meter->worst[i] = 0;
			continue;
		}
		if (counting) {
			meter->crossed[meter->n_crossed] = c;
			meter->n_crossed += !meter->load[c]++;
		} else if (meter->worst[i] < meter->load[c]) {
			meter->worst[i] = meter->load[c];
		}
		meter->at[i] = fabric->chan_dst[c];
		meter->walking[n_left++] = i;
	}
	return n_left;
}

static enum osr_status congestion_walk(struct osr_meter *meter, bool counting,
				       struct osr_diag *diag)
{
	const struct osr_fabric *fabric = meter->f;
	char from[32], to[32];
	uint32_t n = 0, i;

	/* Every pair goes back to the switch of its sender; those that lead nowhere (worst = 0) stay out. */
	for (i = 0; i < meter->n_pairs; i++) {
		if (!meter->worst[i])
			continue;
		meter->at[i] = fabric->term_switch[meter->from[i]];
		meter->walking[n++] = i;
	}
	/* No switch is met twice. The last step only sees that everybody has arrived. */
	for (uint32_t steps = 0; n && steps <= fabric->n_switches; steps++)
		n = counting ? congestion_step(meter, n, true) : congestion_step(meter, n, false);
	if (!n)
		return OSR_OK;
	i = meter->walking[0];
	return osr_fail(diag, OSR_CHECK_FAILED,
			"the route from %s to %s (LID %u) is a forwarding loop",
			osr_terminal_name(fabric, meter->from[i], from),
			osr_terminal_name(fabric, fabric->dest_term[meter->dest[i]], to),
			fabric->dest_lid[meter->dest[i]]);
}

/* How many use the busier of the cables of the two end ports. */
static uint32_t busier_end(const struct osr_meter *meter, uint32_t i)
{
	uint32_t sends = meter->sends[meter->from[i]];
	uint32_t receives = meter->receives[meter->f->dest_term[meter->dest[i]]];

	return sends > receives ? sends : receives;
}

static void start_phase(struct osr_meter *meter, const struct osr_pair *pairs, uint32_t n_pairs)
{
	const struct osr_fabric *fabric = meter->f;

	/* Only what the phase before has touched: there are sequences of many phases with one pair each. */
	for (uint32_t k = 0; k < meter->n_crossed; k++)
		meter->load[meter->crossed[k]] = 0;
	for (uint32_t i = 0; i < meter->n_pairs; i++) {
		meter->sends[meter->from[i]] = 0;
		meter->receives[fabric->dest_term[meter->dest[i]]] = 0;
	}
	meter->n_crossed = 0;
	meter->n_pairs = n_pairs;
	for (uint32_t i = 0; i < n_pairs; i++) {
		meter->from[i] = pairs[i].from;
		meter->dest[i] = fabric->lid_dest[fabric->term_lid[pairs[i].to]];
		meter->worst[i] = 1;
		meter->sends[pairs[i].from]++;
		meter->receives[pairs[i].to]++;
	}
}

enum osr_status osr_meter_phase(struct osr_meter *meter, const struct osr_pair *pairs,
				uint32_t n_pairs, bool bandwidth, struct osr_crossing *crossing,
				struct osr_diag *diag)
{
	enum osr_status st;

	*crossing = (struct osr_crossing){ .n_pairs = n_pairs };
	start_phase(meter, pairs, n_pairs);
	st = congestion_walk(meter, true, diag);
	if (st)
		return st;
	/* Over all channels, those of end ports included. */
	for (uint32_t k = 0; k < meter->n_crossed; k++)
		if (meter->load[meter->crossed[k]] > crossing->hsd)
			crossing->hsd = meter->load[meter->crossed[k]];
	for (uint32_t i = 0; i < n_pairs; i++) {
		crossing->n_no_path += !meter->worst[i];
		if (busier_end(meter, i) > crossing->hsd)
			crossing->hsd = busier_end(meter, i);
	}
	if (!bandwidth)
		return OSR_OK;
	st = congestion_walk(meter, false, diag);
	if (st)
		return st;
	for (uint32_t i = 0; i < n_pairs; i++)
		if (meter->worst[i] && meter->worst[i] < busier_end(meter, i))
			meter->worst[i] = busier_end(meter, i);
	/* Counted by congestion first, so that the sum has one order. */
	memset(meter->n_worst, 0, ((size_t)n_pairs + 1) * sizeof(*meter->n_worst));
	for (uint32_t i = 0; i < n_pairs; i++)
		meter->n_worst[meter->worst[i]]++;
	for (uint32_t worst = 1; worst <= n_pairs; worst++)
		if (meter->n_worst[worst])
			crossing->bandwidth += (double)meter->n_worst[worst] / worst;
	return OSR_OK;
}
