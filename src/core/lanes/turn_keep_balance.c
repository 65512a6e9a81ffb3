/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* LIDs move off channels that carry more than they must: see turn_keep.c. */
#include "core/paths/bound.h"
#include "core/paths/moves.h"

#include "turn_keep_private.h"

/* Lanes on which packets to d come to the source of c by their entries and go on by c: from hosts, and by turns. */
static uint16_t keep_lanes_into(const struct keep *k, const uint8_t *hop, uint32_t root, uint32_t c)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t v = fabric->chan_src[c];
	uint16_t lanes = k->w.inject[c];

	for (uint32_t o = fabric->chan_row[v]; o < fabric->chan_row[v + 1]; o++) {
		uint32_t u = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (u != root && hop[u] != OSR_NO_PATH && fabric->chan_row[u] + hop[u] == in)
			lanes |= (uint16_t)(1u << k->w.lane[k->w.g.row[in] + hop[v]]);
	}
	return lanes;
}

/* May v go by c, and those who send through it: their turns into c come after the turn from c on. */
static bool keep_may(struct osr__moves *m, uint32_t d, uint32_t v, uint32_t c)
{
	struct keep *k = m->ctx;
	const struct osr_fabric *fabric = k->f;
	uint8_t *hop = m->lft + (size_t)d * fabric->n_switches, was = hop[v];
	uint32_t root = fabric->dest_switch[d];
	bool ok;

	k->n_undo = k->n_fed = 0;
	hop[v] = (uint8_t)(c - fabric->chan_row[v]);
	ok = osr__keep_enter(k, hop, root, c, k->w.inject[c]);
	for (uint32_t o = fabric->chan_row[v]; ok && o < fabric->chan_row[v + 1]; o++) {
		uint32_t u = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (u != root && hop[u] != OSR_NO_PATH && fabric->chan_row[u] + hop[u] == in)
			ok = osr__keep_enter(k, hop, root, in, keep_lanes_into(k, hop, root, in));
	}
	if (!ok)
		osr__keep_undo(k, 0);
	hop[v] = was;
	return ok;
}

/* Loads of all channels. */
static void keep_loads(const struct keep *k, uint64_t *load)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *hop = k->r.lft + (size_t)d * fabric->n_switches;
		uint32_t root = fabric->dest_switch[d];

		for (uint32_t s = 0;
		     fabric->term_weight[fabric->dest_term[d]] && s < fabric->n_switches; s++)
			for (uint32_t v = s;
			     fabric->sw_sources[s] && v != root && hop[v] != OSR_NO_PATH;) {
				uint32_t c = fabric->chan_row[v] + hop[v];

				load[c] += fabric->sw_sources[s];
				v = fabric->chan_dst[c];
			}
	}
}

static enum osr_status keep_drift(struct keep *k, const struct osr__moves *m, uint64_t expected,
				  uint32_t limit, struct osr_diag *why)
{
	uint64_t most = 0;

	for (uint32_t c = 0; c < k->f->n_channels; c++)
		most = most < m->load[c] ? m->load[c] : most;
	k->r.stable.drift = expected ? (uint32_t)(most * 1000 / expected) : 0;
	if (!limit || k->r.stable.drift <= 10 * limit)
		return OSR_OK;
	return osr_fail(why, OSR_NOT_APPLICABLE, OSR_DRIFT_TEXT, most, k->r.stable.drift / 1000,
			k->r.stable.drift % 1000 / 10, expected, limit / 100, limit % 100);
}

enum osr_status osr__keep_balance(struct keep *k, uint32_t limit, struct osr_diag *why)
{
	const struct osr_fabric *fabric = k->f;
	struct osr_arena *scratch = k->job->scratch;
	struct osr__moves m = { .f = fabric,
				.sources = fabric->sw_sources,
				.lft = k->r.lft,
				.hops = true,
				.load = osr_calloc(scratch, fabric->n_channels, sizeof(*m.load)),
				.sent = k->sent,
				.touched = k->touched,
				.ctx = k,
				.may = keep_may };
	uint64_t expected;
	enum osr_status st = osr_bound_expected(fabric, k->base, scratch, &m.aim, &expected, why);

	if (!m.load)
		return osr_fail(why, OSR_NOMEM, "out of memory for re-routing with lanes by turn");
	if (st)
		return st;
	keep_loads(k, m.load);
	osr__moves_set_goal(&m, m.aim, expected);
	/* With nothing cut these are the tables of before, whatever they carry. */
	if (k->r.stable.n_trees && osr__moves_needed(&m))
		st = osr__moves_run(&m, scratch, why);
	k->r.stable.n_moved += m.n_moved;
	k->r.stable.n_trees += m.n_trees;
	return st ? st : keep_drift(k, &m, expected, limit, why);
}
