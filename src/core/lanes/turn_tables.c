/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SL2VL tables, the certificate and the claims: see turn.h. */
#include <string.h>

#include "core/paths/mcast.h"

#include "turn_private.h"

/*
 * The virtual lanes of what end ports send, on lane 0, and of the turns on each lane of the search: those left
 * over share the load.
 */
#define TURN_SENT 0
#define TURN_ON(lane) ((lane) + 1)

struct turn_shares {
	uint8_t first[OSR_MAX_VLS + 1], n[OSR_MAX_VLS + 1];
};

/* Channels that routes take, one for each (switch, LID), and turns of the escape tree. */
static void turn_share_loads(const struct osr__search *w, uint64_t load[OSR_MAX_VLS + 1])
{
	const struct osr_spf *spf = w->s;

	memset(load, 0, (OSR_MAX_VLS + 1) * sizeof(*load));
	for (uint32_t t = 0; t < w->g.n_slots; t++)
		load[TURN_ON(w->lane[t])] += (uint64_t)w->pinned[t] + w->n_used[t];
	for (uint32_t d = 0; d < spf->f->n_dests; d++)
		if (spf->alias[d] == OSR_NONE)
			load[TURN_SENT] += spf->n_order[spf->f->dest_switch[d]] - 1u;
}

/*
 * A VL for each lane that carries something, then one for turns on lane 0: after a fault other turns can follow
 * these where they could not follow what end ports send. The others go where a VL has the most to carry.
 */
static void turn_share(const struct osr__search *w, uint8_t n_vls, struct turn_shares *share)
{
	uint64_t load[OSR_MAX_VLS + 1];
	uint32_t extra = n_vls;
	uint8_t at = 0;

	turn_share_loads(w, load);
	for (uint32_t i = 0; i <= w->n_lanes; i++) {
		share->n[i] = i == TURN_SENT || (i != TURN_ON(0) && load[i]);
		extra -= share->n[i];
	}
	share->n[TURN_ON(0)] = extra && load[TURN_ON(0)];
	for (extra -= share->n[TURN_ON(0)]; extra; extra--) {
		uint32_t most = 0;

		for (uint32_t i = 1; i <= w->n_lanes; i++)
			if (load[i] * share->n[most] > load[most] * share->n[i])
				most = i;
		share->n[most]++;
	}
	for (uint32_t i = 0; i <= w->n_lanes; i++) {
		share->first[i] = at;
		at += share->n[i];
	}
	if (!share->n[TURN_ON(0)]) {
		share->first[TURN_ON(0)] = share->first[TURN_SENT];
		share->n[TURN_ON(0)] = share->n[TURN_SENT];
	}
}

/* What leaves for an end port or an unused port is on VL 0, as what end ports send is. */
static void turn_write_sl2vl(const struct osr__search *w, const struct turn_shares *share,
			     struct osr_routing *routing)
{
	const struct osr_fabric *fabric = w->f;

	for (uint32_t out = 0; out < fabric->n_channels; out++) {
		uint32_t s = fabric->chan_src[out];

		for (uint32_t in = 0; in <= fabric->sw_n_ports[s]; in++) {
			uint32_t back = osr_port_channel(fabric, s, in);
			uint32_t c = back == OSR_NONE ? OSR_NONE : fabric->chan_rev[back];
			uint32_t of =
				c == OSR_NONE
					? TURN_SENT
					: TURN_ON(w->lane[w->g.row[c] + out - fabric->chan_row[s]]);

			uint32_t vl = share->first[of];
			size_t pair = in * (fabric->sw_n_ports[s] + 1u) + fabric->chan_port[out];

			/* A lane without a VL is that of turns which nothing takes. */
			vl = share->n[of] ? vl + (in + s) % share->n[of] : 0;
			memset(routing->sl2vl[routing->sl2vl_row[s] + pair], (int)vl,
			       sizeof(*routing->sl2vl));
		}
	}
	memset(routing->ca_sl2vl, 0, sizeof(routing->ca_sl2vl));
}

uint32_t osr__turn_classes(const struct osr_request *req)
{
	uint32_t n = (uint32_t)__builtin_popcount(req->chosen_sls);

	return n > 1 && req->max_vls / n >= 2 ? n : 1;
}

/*
 * Each SL that somebody chooses has VLs of its own, in its order, and the same certificate on them; the
 * others are with the lowest of those. Tables so far say the VL of that one.
 */
static void turn_write_classes(const struct osr__search *w, const struct osr_request *req,
			       uint8_t n_vls, struct osr_routing *routing)
{
	uint32_t last = w->f->n_switches - 1, n_ports = w->f->sw_n_ports[last] + 1u;
	size_t n_pairs = routing->sl2vl_row[last] + (size_t)n_ports * n_ports;

	for (uint32_t sl = 0, class = 0; sl < 16 && w->n_classes > 1; sl++) {
		if (!(req->chosen_sls >> sl & 1))
			continue;
		for (size_t pair = 0; pair < n_pairs; pair++)
			routing->sl2vl[pair][sl] =
				(uint8_t)(routing->sl2vl[pair][sl] + class * n_vls);
		routing->ca_sl2vl[sl] = (uint8_t)(class * n_vls);
		class ++;
	}
}

enum osr_status osr__turn_finish(struct osr__search *w, struct osr_lanes_job *job)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	size_t m = w->f->n_channels;
	uint8_t n_vls = (uint8_t)(job->req->max_vls / w->n_classes); /* of each class */
	struct osr_routing *routing = job->r;
	struct turn_shares share;
	enum osr_status st;

	osr__spf_share(w->s);
	w->n_used = osr__turn_count_used(w);
	if (!w->n_used)
		return osr__turn_nomem(job->diag);
	turn_share(w, n_vls, &share);
	st = osr_routing_alloc_sl2vl(routing, w->f, 0, job->result, job->diag);
	routing->sl = NULL;
	routing->rank = osr_alloc(job->result, w->n_classes * n_vls * m, sizeof(*routing->rank));
	if (job->req->multicast)
		routing->mcast_parent =
			osr_alloc(job->result, w->f->n_switches, sizeof(*routing->mcast_parent));
	if (st || !routing->rank || (job->req->multicast && !routing->mcast_parent))
		return osr__turn_nomem(job->diag);
	turn_write_sl2vl(w, &share, routing);
	for (uint32_t i = 0; i <= w->n_lanes; i++)
		for (uint32_t vl = share.first[i]; vl < (uint32_t)share.first[i] + share.n[i]; vl++)
			memcpy(routing->rank + vl * m, w->rank + (i ? i - 1 : 0) * m,
			       m * sizeof(*routing->rank));
	for (uint32_t class = 1; class < w->n_classes; class ++)
		memcpy(routing->rank + class * n_vls * m, routing->rank,
		       n_vls * m * sizeof(*routing->rank));
	routing->n_vls = (uint8_t)(w->n_classes * n_vls);
	routing->n_layers = routing->n_layers_one_way = (uint8_t)w->n_lanes;
	routing->claims = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	routing->mcast_vl = 0;
	if (job->req->multicast) {
		routing->claims |= OSR_CLAIM_MULTICAST;
		st = osr_mcast_take(w->f, w->escape, job->scratch, routing->mcast_parent,
				    job->diag);
	}
	if (!st && osr__turn_rows(w, job->scratch, routing))
		st = osr__turn_nomem(job->diag);
	if (!st)
		turn_write_classes(w, job->req, n_vls, routing);
	osr_arena_reset(job->scratch, mark);
	return st;
}
