/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lanes that no strategy needs share the load of those that have most of it. */
#include <string.h>

#include "lanes_private.h"

struct lanes_spread {
	uint64_t load[OSR_MAX_VLS]; /* routes of each lane */
	uint8_t n[OSR_MAX_VLS];     /* lanes that share it; 0: it is needed, or shares another's */
	uint8_t share[OSR_MAX_VLS][OSR_MAX_VLS];
};

static void spread_count(struct lanes_spread *spread, const struct osr_lanes_job *job)
{
	const struct osr_fabric *fabric = job->s->f;
	size_t n = fabric->n_switches;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t v = 0; v < n; v++)
			if (v != fabric->dest_switch[d] && job->s->hop[d * n + v] != OSR_NO_PATH)
				spread->load[job->r->sl[d * n + v]]++;
}

/* Lanes without a route go, one by one, to the one with the most routes for each of its lanes. */
static void spread_share(struct lanes_spread *spread, const struct osr_lanes_job *job)
{
	for (uint8_t vl = 0; vl < job->req->max_vls; vl++) {
		spread->share[vl][0] = vl;
		spread->n[vl] = spread->load[vl] != 0;
	}
	for (uint8_t idle = 0; idle < job->req->max_vls; idle++) {
		uint8_t most = OSR_MAX_VLS;

		if (spread->load[idle] || (job->req->multicast && idle == job->r->mcast_vl))
			continue;
		for (uint8_t vl = 0; vl < job->req->max_vls; vl++)
			if (spread->n[vl] &&
			    (most == OSR_MAX_VLS || spread->load[vl] * spread->n[most] >
							    spread->load[most] * spread->n[vl]))
				most = vl;
		if (most < OSR_MAX_VLS)
			spread->share[most][spread->n[most]++] = idle;
	}
}

/*
 * What a lane carries is free of deadlock by its order; so is each part of it. Which part a route belongs
 * to depends on its two switches alone, alike in both directions: replies stay on the SL of their request.
 */
enum osr_status osr__lanes_spread(struct osr_lanes_job *job)
{
	const struct osr_fabric *fabric = job->s->f;
	struct osr_routing *routing = job->r;
	size_t n = fabric->n_switches, m = fabric->n_channels;
	uint8_t n_vls = job->req->max_vls;
	struct lanes_spread spread = { .n = { 0 } };
	uint32_t *rank;

	if (!routing->sl || routing->sl2vl || n_vls < routing->n_vls)
		return OSR_OK;
	rank = osr_calloc(job->result, n_vls * m, sizeof(*rank));
	if (!rank)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for the lanes that are left");
	memcpy(rank, routing->rank, routing->n_vls * m * sizeof(*rank));
	spread_count(&spread, job);
	spread_share(&spread, job);
	for (uint8_t vl = 0; vl < n_vls; vl++)
		for (uint8_t i = 1; i < spread.n[vl]; i++)
			memcpy(rank + spread.share[vl][i] * m, rank + vl * m, m * sizeof(*rank));
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t v = 0; v < n; v++) {
			uint8_t *sl = &routing->sl[d * n + v];

			/* The lowest bit may have chosen the lane, where there was a choice. */
			if (spread.n[*sl] > 1)
				*sl = spread.share[*sl][(v + fabric->dest_switch[d]) / 2 %
							spread.n[*sl]];
		}
	routing->rank = rank;
	routing->n_vls = n_vls;
	return OSR_OK;
}
