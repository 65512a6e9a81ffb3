/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From routes within orders to SLs and a certificate: see search_sl.c. */
#include <string.h>

#include "core/route/span.h"

#include "lanes_private.h"

#include <osmroutes/each.h>

bool osr_tables_join(const struct osr_search *search, uint8_t *both)
{
	const struct osr_fabric *fabric = search->fabric;
	size_t n = fabric->n_switches;
	bool all = true;

	memset(both, search->order.all, n * n);
	OSR_EACH_DEST(d, fabric) {
		const uint8_t *mask = search->masks + d * n;
		uint8_t *row = both + fabric->dest_switch[d] * n;

		for (size_t v = 0; v < n && search->spf->alias[d] == OSR_NONE; v++)
			if (osr_search_counts(search, d, (uint32_t)v))
				row[v] &= mask[v];
	}
	for (size_t a = 0; a < n; a++) {
		for (size_t b = a; b < n; b++) {
			both[a * n + b] &= both[b * n + a];
			both[b * n + a] = both[a * n + b];
			all &= both[a * n + b] != 0 ||
			       fabric->sw_component[a] != fabric->sw_component[b];
		}
	}
	return all;
}

/* VLs 0 and `swap` trade places. */
static uint8_t tables_vl(uint8_t lane, uint8_t swap)
{
	if (lane == 0)
		return swap;
	return lane == swap ? 0 : lane;
}

enum osr_status osr_tables_sl(struct osr_search *search, const struct osr_lanes_job *job,
			      const uint8_t *both)
{
	const struct osr_request *req = job->req;
	struct osr_routing *routing = job->routing;
	size_t n = search->fabric->n_switches, m = search->fabric->n_channels;
	uint8_t n_lanes = (uint8_t)search->order.n_lanes, swap;
	bool beyond = req->multicast && n_lanes > 1 && req->mcast_vl >= n_lanes;

	osr_spf_share(search->spf);
	/*
	 * Multicast, which rises in the first order, has its VL; beyond the others its order is
	 * that, too.
	 */
	swap = req->multicast && n_lanes > 1 && !beyond ? req->mcast_vl : 0;
	routing->n_vls = beyond ? req->mcast_vl + 1 : n_lanes;
	routing->rank = osr_calloc(job->result, routing->n_vls * m, sizeof(*routing->rank));
	if (osr_arena_failed(search->scratch, search->diag) ||
	    osr_arena_failed(job->result, search->diag))
		return OSR_NOMEM;
	for (uint8_t k = 0; k < n_lanes; k++)
		memcpy(routing->rank + tables_vl(k, swap) * m, search->order.rank + k * m,
		       m * sizeof(*search->order.rank));
	if (beyond)
		memcpy(routing->rank + req->mcast_vl * m, search->order.rank,
		       m * sizeof(*search->order.rank));
	routing->claims |= OSR_CLAIM_DEADLOCK_FREE | (req->multicast ? OSR_CLAIM_MULTICAST : 0);
	routing->n_layers = routing->n_layers_one_way = n_lanes;
	routing->mcast_vl = n_lanes > 1 && (req->multicast || req->mcast_vl < routing->n_vls)
				    ? req->mcast_vl
				    : 0;
	if (n_lanes == 1) {
		routing->sl = NULL;
		routing->claims |= OSR_CLAIM_ANY_SL | OSR_CLAIM_REVERSIBLE;
		return OSR_OK;
	}
	routing->claims |= both ? OSR_CLAIM_REVERSIBLE : 0;
	/*
	 * Masks become SLs in place; the same for both directions, spread over the pairs. One-way
	 * the first lane that takes a route is its layer. LIDs that ride along have the SLs of
	 * those whose routes they share.
	 */
	OSR_EACH_DEST(d, search->fabric) {
		uint32_t root = search->fabric->dest_switch[d];
		uint8_t *sl = search->masks + d * n;
		const uint8_t *row = both ? both + root * n : sl;

		for (uint32_t v = 0; v < n && search->spf->alias[d] == OSR_NONE; v++) {
			uint32_t mask = row[v] ? row[v] : 1;

			for (uint32_t k = (v + root) % (uint32_t)__builtin_popcount(mask);
			     k-- && job->opt->layers.reversible != OSR_REVERSIBLE_OFF;)
				mask &= mask - 1;
			sl[v] = tables_vl((uint8_t)__builtin_ctz(mask), swap);
		}
	}
	OSR_EACH_DEST(d, search->fabric)
		if (search->spf->alias[d] != OSR_NONE)
			memcpy(search->masks + d * n, search->masks + search->spf->alias[d] * n, n);
	return OSR_OK;
}

/*
 * Lanes that no strategy needs take a share of the lanes that carry most. A lane's routes are free
 * of deadlock by its order, and so is each part of them. The part to which a route belongs depends
 * on its two switches alone, in both directions alike, so replies stay on the SL of their request.
 */
enum osr_status osr_lanes_spread(struct osr_lanes_job *job)
{
	const struct osr_fabric *fabric = job->spf->fabric;
	struct osr_routing *routing = job->routing;
	size_t n = fabric->n_switches, m = fabric->n_channels;
	uint8_t n_vls = job->req->max_vls, *sl = routing->sl;
	uint64_t load[OSR_MAX_VLS] = { 0 }; /* routes of each lane */
	uint8_t part[OSR_MAX_VLS][OSR_MAX_VLS] = { { 0 } }, n_parts[OSR_MAX_VLS] = { 0 };
	uint32_t *rank;

	if (!sl || routing->sl2vl || n_vls < routing->n_vls)
		return OSR_OK;
	rank = osr_calloc(job->result, n_vls * m, sizeof(*rank));
	if (!rank)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for the lanes that are left");
	memcpy(rank, routing->rank, routing->n_vls * m * sizeof(*rank));
	OSR_EACH_DEST(d, fabric)
		for (uint32_t v = 0; v < n; v++)
			if (v != fabric->dest_switch[d] && job->spf->hop[d * n + v] != OSR_NO_PATH)
				load[sl[d * n + v]]++;
	for (uint8_t vl = 0; vl < n_vls; vl++) {
		part[vl][0] = vl;
		n_parts[vl] = load[vl] != 0;
	}
	/*
	 * Lanes without a route go, one by one, to the one with the most routes for each of its
	 * lanes.
	 */
	for (uint8_t idle = 0; idle < n_vls; idle++) {
		uint8_t most = OSR_MAX_VLS;

		if (load[idle] || (job->req->multicast && idle == routing->mcast_vl))
			continue;
		for (uint8_t vl = 0; vl < n_vls; vl++)
			if (n_parts[vl] && (most == OSR_MAX_VLS ||
					    load[vl] * n_parts[most] > load[most] * n_parts[vl]))
				most = vl;
		if (most == OSR_MAX_VLS)
			break;
		part[most][n_parts[most]++] = idle;
		memcpy(rank + idle * m, rank + most * m, m * sizeof(*rank));
	}
	/* The lowest bit may have chosen the lane, where there was a choice. */
	OSR_EACH_DEST(d, fabric)
		for (uint32_t v = 0; v < n; v++, sl++)
			if (n_parts[*sl] > 1)
				*sl = part[*sl][(v + fabric->dest_switch[d]) / 2 % n_parts[*sl]];
	routing->rank = rank;
	routing->n_vls = n_vls;
	return OSR_OK;
}
