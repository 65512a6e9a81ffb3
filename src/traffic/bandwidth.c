/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "traffic/bandwidth.h"

void osr_bandwidth_fill(const struct osr_survey_sum *sum, struct osr_bandwidth *bandwidth)
{
	bandwidth->n_no_path = sum->n_no_path;
	bandwidth->max_congestion = sum->max_congestion;
	bandwidth->mean = sum->bandwidth.mean;
	bandwidth->half_width = sum->bandwidth.half_width;
	bandwidth->worst = sum->bandwidth.min;
	bandwidth->best = sum->bandwidth.max;
}

enum osr_status osr_bandwidth_prepare(const struct osr_fabric *fabric,
				      const struct osr_routing *routing, uint32_t n_patterns,
				      uint64_t seed, struct osr_arena *arena,
				      struct osr_phases *phases, struct osr_survey_in *in,
				      struct osr_bandwidth *bandwidth, struct osr_diag *diag)
{
	uint32_t *hosts = osr_alloc(arena, fabric->n_terminals, sizeof(*hosts));
	struct osr_pair *pair = osr_alloc(arena, fabric->n_terminals / 2, sizeof(*pair));
	uint32_t *row = osr_alloc(arena, 2, sizeof(*row));

	*bandwidth = (struct osr_bandwidth){ .n_patterns = n_patterns };
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	bandwidth->n_hosts = osr_survey_hosts(fabric, hosts);
	bandwidth->n_pairs = bandwidth->n_hosts / 2;
	if (!bandwidth->n_pairs)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"a bisection needs two hosts, and the fabric has %u",
				bandwidth->n_hosts);
	*in = (struct osr_survey_in){ .f = fabric,
				      .r = routing,
				      .phases = phases,
				      .hosts = hosts,
				      .n_hosts = bandwidth->n_hosts,
				      .n_runs = n_patterns,
				      .shuffle = true,
				      .bandwidth = true,
				      .seed = seed };
	row[0] = 0;
	row[1] = bandwidth->n_pairs;
	for (uint32_t i = 0; i < bandwidth->n_pairs; i++)
		pair[i] = (struct osr_pair){ i, bandwidth->n_pairs + i };
	*phases = (struct osr_phases){ bandwidth->n_hosts, 1, row, pair };
	return OSR_OK;
}
