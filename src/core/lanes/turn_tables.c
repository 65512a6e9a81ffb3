/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SL2VL tables, the certificate and the claims: see turn.h. */
#include <string.h>

#include "core/route/span.h"

#include "turn.h"

#include <osmroutes/each.h>

void osr_turn_count_used(struct osr_search *search)
{
	memset(search->n_used, 0, osr_n_turns(search->fabric) * sizeof(*search->n_used));
	OSR_EACH_DEST(d, search->fabric)
		if (search->spf->alias[d] == OSR_NONE)
			osr_search_use(search, d, 1);
}

/*
 * The virtual lanes of packets that end ports send, on lane 0, and of the turns on each lane of the
 * search. Virtual lanes left over share the load.
 */
#define TURN_SENT 0
#define TURN_ON(lane) ((lane) + 1)

struct turn_shares {
	uint8_t first[OSR_MAX_VLS + 1], n[OSR_MAX_VLS + 1];
};

/*
 * A VL for each lane that carries something, then one for turns on lane 0, because after a fault
 * other turns can follow these where they could not follow the packets of end ports. The other VLs
 * go where a VL has the most to carry.
 */
static void turn_share(const struct osr_search *search, uint8_t n_vls, struct turn_shares *share)
{
	const struct osr_spf *spf = search->spf;
	uint64_t load[OSR_MAX_VLS + 1] = { 0 };
	uint32_t extra = n_vls;
	uint8_t at = 0;

	/* Channels that routes take, one for each (switch, LID), and turns of the escape tree. */
	for (uint32_t t = 0; t < osr_n_turns(search->fabric); t++)
		load[TURN_ON(search->order.lane[t])] +=
			(uint64_t)search->pinned[t] + search->n_used[t];
	for (uint32_t d = 0; d < spf->fabric->n_dests; d++)
		if (spf->alias[d] == OSR_NONE)
			load[TURN_SENT] += spf->n_order[spf->fabric->dest_switch[d]] - 1u;
	for (uint32_t i = 0; i <= search->order.n_lanes; i++) {
		share->n[i] = i == TURN_SENT || (i != TURN_ON(0) && load[i]);
		extra -= share->n[i];
	}
	share->n[TURN_ON(0)] = extra && load[TURN_ON(0)];
	for (extra -= share->n[TURN_ON(0)]; extra; extra--) {
		uint32_t most = 0;

		for (uint32_t i = 1; i <= search->order.n_lanes; i++)
			if (load[i] * share->n[most] > load[most] * share->n[i])
				most = i;
		share->n[most]++;
	}
	for (uint32_t i = 0; i <= search->order.n_lanes; i++) {
		share->first[i] = at;
		at += share->n[i];
	}
	if (!share->n[TURN_ON(0)]) {
		share->first[TURN_ON(0)] = share->first[TURN_SENT];
		share->n[TURN_ON(0)] = share->n[TURN_SENT];
	}
}

/* Does multicast use the cable of channel c? */
static bool turn_is_mcast(const struct osr_fabric *fabric, const uint32_t *parent, uint32_t c)
{
	return parent && (parent[fabric->chan_src[c]] == c ||
			  parent[fabric->chan_dst[c]] == fabric->chan_rev[c]);
}

/*
 * The tables of switch s for packets that come in by port `in`. A switch that takes SL2VL tables by
 * input port, for all output ports at once, needs one MAD for a row whose tables are alike and one
 * more for each table that differs. So pairs of ports that no packet takes from one link to another
 * get the VL that most others of their row have.
 */
static void turn_write_row(const struct osr_search *search, const struct turn_shares *share,
			   const uint32_t *mcast, uint32_t s, uint32_t in, osr_sl2vl_t *row)
{
	const struct osr_fabric *fabric = search->fabric;
	uint32_t back = osr_port_channel(fabric, s, in), count[16] = { 0 };
	uint8_t used[256] = { 0 }, most = 0;

	OSR_EACH_CHANNEL(out, fabric, s) {
		uint32_t t = 0, of = TURN_SENT;
		uint8_t vl, *mine = &used[fabric->chan_port[out]];

		*mine = back == OSR_NONE;
		if (back != OSR_NONE) {
			t = search->fabric->turn_row[fabric->chan_rev[back]] + out -
			    fabric->chan_row[s];
			of = TURN_ON(search->order.lane[t]);
			*mine = search->n_used[t] ||
				(back != out && turn_is_mcast(fabric, mcast, back) &&
				 turn_is_mcast(fabric, mcast, out));
		}
		/* A lane without a VL belongs to turns that no packet takes. */
		vl = share->n[of] ? (uint8_t)(share->first[of] + (in + s) % share->n[of]) : 0;
		memset(row[fabric->chan_port[out]], vl, sizeof(*row));
		count[vl] += *mine;
	}
	for (uint8_t vl = 1; vl < 16; vl++)
		if (count[vl] > count[most])
			most = vl;
	for (uint32_t out = 0; out <= fabric->sw_n_ports[s]; out++)
		if (!used[out])
			memset(row[out], most, sizeof(*row));
}

uint32_t osr_turn_classes(const struct osr_request *req)
{
	uint32_t n = (uint32_t)__builtin_popcount(req->chosen_sls);

	return n > 1 && req->max_vls / n >= 2 ? n : 1;
}

enum osr_status osr_turn_finish(struct osr_search *search, struct osr_lanes_job *job)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	const struct osr_fabric *fabric = search->fabric;
	uint32_t last = fabric->n_switches - 1, n_ports = fabric->sw_n_ports[last] + 1u;
	size_t m = fabric->n_channels, n_pairs;
	uint8_t n_vls = (uint8_t)(job->req->max_vls / search->n_classes); /* of each class */
	struct osr_routing *routing = job->routing;
	struct turn_shares share;
	enum osr_status st;

	osr_spf_share(search->spf);
	osr_turn_count_used(search);
	turn_share(search, n_vls, &share);
	st = osr_routing_alloc_sl2vl(routing, fabric, 0, job->result, job->diag);
	routing->sl = NULL;
	routing->rank =
		osr_alloc(job->result, search->n_classes * n_vls * m, sizeof(*routing->rank));
	if (st || !routing->rank)
		return osr_turn_nomem(job->diag);
	if (job->req->multicast)
		st = osr_span_take(fabric, search->escape, job->scratch, job->result, routing,
				   job->diag);
	OSR_EACH_SWITCH(s, fabric)
		for (uint32_t in = 0; in <= fabric->sw_n_ports[s]; in++)
			turn_write_row(search, &share, routing->mcast_parent, s, in,
				       routing->sl2vl + routing->sl2vl_row[s] +
					       in * (fabric->sw_n_ports[s] + (size_t)1));
	n_pairs = routing->sl2vl_row[last] + (size_t)n_ports * n_ports;
	memset(routing->ca_sl2vl, 0, sizeof(routing->ca_sl2vl));
	for (uint32_t i = 0; i <= search->order.n_lanes; i++)
		for (uint32_t vl = share.first[i]; vl < (uint32_t)share.first[i] + share.n[i]; vl++)
			memcpy(routing->rank + vl * m, search->order.rank + (i ? i - 1 : 0) * m,
			       m * sizeof(*routing->rank));
	/*
	 * Each SL of partitions and QoS levels has its own VLs, with the same orders and
	 * certificate; all other SLs use the VLs of the lowest of these. The tables made so far
	 * have the VLs of that one.
	 */
	if (search->n_classes > 1)
		for (uint32_t sl = 0, class = 0; sl < 16; sl++) {
			uint32_t first = class * n_vls;

			if (!(job->req->chosen_sls >> sl & 1))
				continue;
			for (size_t pair = 0; pair < n_pairs; pair++)
				routing->sl2vl[pair][sl] =
					(uint8_t)(routing->sl2vl[pair][sl] + first);
			routing->ca_sl2vl[sl] = (uint8_t)first;
			if (class ++)
				memcpy(routing->rank + first * m, routing->rank,
				       n_vls * m * sizeof(*routing->rank));
		}
	routing->n_vls = (uint8_t)(search->n_classes * n_vls);
	routing->n_layers = routing->n_layers_one_way = (uint8_t)search->order.n_lanes;
	routing->claims = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL |
			  (job->req->multicast ? OSR_CLAIM_MULTICAST : 0);
	routing->mcast_vl = 0;
	osr_arena_reset(job->scratch, mark);
	return st;
}
