/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/bandwidth.h>

#include <string.h>

void osr_bandwidth_fill(const struct osr_survey_sum *sum, struct osr_bandwidth *b)
{
	b->n_no_path = sum->n_no_path;
	b->max_congestion = sum->max_congestion;
	b->mean = sum->bandwidth.mean;
	b->half_width = sum->bandwidth.half_width;
	b->worst = sum->bandwidth.min;
	b->best = sum->bandwidth.max;
}

enum osr_status osr_bandwidth_prepare(const struct osr_fabric *f, const struct osr_routing *r,
				      uint32_t n_patterns, uint64_t seed, struct osr_arena *arena,
				      struct osr_sequence *q, struct osr_survey_in *in,
				      struct osr_bandwidth *b, struct osr_diag *diag)
{
	uint32_t *hosts = osr_alloc(arena, f->n_terminals, sizeof(*hosts));

	*b = (struct osr_bandwidth){ .n_patterns = n_patterns };
	if (!hosts)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u bisections", n_patterns);
	b->n_hosts = osr_survey_hosts(f, hosts);
	b->n_pairs = b->n_hosts / 2;
	if (!b->n_pairs)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"a bisection needs two hosts, and the fabric has %u", b->n_hosts);
	*in = (struct osr_survey_in){ .f = f,
				      .r = r,
				      .sequence = q,
				      .hosts = hosts,
				      .n_hosts = b->n_hosts,
				      .n_runs = n_patterns,
				      .shuffle = true,
				      .bandwidth = true,
				      .seed = seed };
	return osr_sequence_make(osr_pattern_find("halves"), b->n_hosts, NULL, 0, q, diag);
}

enum osr_status osr_bandwidth_bisect(const struct osr_fabric *f, const struct osr_routing *r,
				     uint32_t n_patterns, uint64_t seed, struct osr_arena *scratch,
				     struct osr_bandwidth *b, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr_survey_sum sum;
	struct osr_survey_in in;
	struct osr_sequence q;
	enum osr_status st;

	st = osr_bandwidth_prepare(f, r, n_patterns, seed, scratch, &q, &in, b, diag);
	if (!st)
		st = osr_survey_run(&in, scratch, &sum, diag);
	if (!st)
		osr_bandwidth_fill(&sum, b);
	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_bandwidth_pairs(const struct osr_fabric *f, const struct osr_routing *r,
				    const struct osr_pair *pairs, uint32_t n_pairs,
				    struct osr_arena *scratch, struct osr_bandwidth *b,
				    struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr_crossing c;
	struct osr_meter m;
	enum osr_status st;

	*b = (struct osr_bandwidth){ .n_patterns = 1, .n_pairs = n_pairs };
	for (uint32_t t = 0; t < f->n_terminals; t++)
		b->n_hosts += f->term_role[t] == OSR_ROLE_CA;
	st = osr_meter_init(&m, f, r, n_pairs, scratch, diag);
	if (!st)
		st = osr_meter_phase(&m, pairs, NULL, n_pairs, true, &c, diag);
	if (!st) {
		b->n_no_path = c.n_no_path;
		b->max_congestion = c.hsd;
		b->mean = b->worst = b->best = c.bandwidth / n_pairs;
	}
	osr_arena_reset(scratch, mark);
	return st;
}
