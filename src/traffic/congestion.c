/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See congestion.h. All pairs of a phase walk in step, one channel at a time: their table entries
 * lie all over memory, and so many loads are under way at once instead of one after the other. The
 * walk is done a second time if bandwidths are asked for, to look for the worst channel; then it
 * finds its entries in the cache.
 */
#include <osmroutes/congestion.h>

#include <string.h>

enum osr_status osr_meter_init(struct osr_meter *m, const struct osr_fabric *f,
			       const struct osr_routing *r, uint32_t max_pairs,
			       struct osr_arena *arena, struct osr_diag *diag)
{
	*m = (struct osr_meter){ .f = f, .r = r, .max_pairs = max_pairs };
	m->load = osr_calloc(arena, f->n_channels, sizeof(*m->load));
	m->crossed = osr_alloc(arena, (size_t)f->n_channels + 1, sizeof(*m->crossed));
	m->sends = osr_calloc(arena, f->n_terminals, sizeof(*m->sends));
	m->receives = osr_calloc(arena, f->n_terminals, sizeof(*m->receives));
	m->from = osr_alloc(arena, max_pairs, sizeof(*m->from));
	m->worst = osr_alloc(arena, max_pairs, sizeof(*m->worst));
	m->dest = osr_alloc(arena, max_pairs, sizeof(*m->dest));
	m->at = osr_alloc(arena, max_pairs, sizeof(*m->at));
	m->walking = osr_alloc(arena, max_pairs, sizeof(*m->walking));
	m->n_worst = osr_alloc(arena, (size_t)max_pairs + 1, sizeof(*m->n_worst));
	if (!m->load || !m->crossed || !m->sends || !m->receives || !m->from || !m->worst ||
	    !m->dest || !m->at || !m->walking || !m->n_worst)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the congestion of %u pairs",
				max_pairs);
	return OSR_OK;
}

/*
 * Every pair goes back to the switch of its sender; those that lead nowhere (worst = 0) stay out.
 */
static uint32_t line_up(struct osr_meter *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_pairs; i++) {
		if (!m->worst[i])
			continue;
		m->at[i] = m->f->term_switch[m->from[i]];
		m->walking[n++] = i;
	}
	return n;
}

/*
 * One step of n pairs. Counting: adds to the load; otherwise looks at it. Returns how many have not
 * arrived yet.
 */
static inline uint32_t step(struct osr_meter *m, uint32_t n, bool counting)
{
	const struct osr_fabric *f = m->f;
	uint32_t n_left = 0;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = m->walking[k], v = m->at[i], d = m->dest[i], c;
		uint8_t port = osr_lft(m->r, v, d);

		if (v == f->dest_switch[d] && port == f->term_port[f->dest_term[d]])
			continue;
		c = osr_port_channel(f, v, port);
		if (c == OSR_NONE) {
			m->worst[i] = 0;
			continue;
		}
		if (counting) {
			m->crossed[m->n_crossed] = c;
			m->n_crossed += !m->load[c]++;
		} else if (m->worst[i] < m->load[c]) {
			m->worst[i] = m->load[c];
		}
		m->at[i] = f->chan_dst[c];
		m->walking[n_left++] = i;
	}
	return n_left;
}

static enum osr_status loop_found(const struct osr_meter *m, struct osr_diag *diag)
{
	uint32_t i = m->walking[0];
	char from[32], to[32];

	return osr_fail(diag, OSR_CHECK_FAILED, "the route from %s to %s (LID %u) runs in a circle",
			osr_terminal_name(m->f, m->from[i], from),
			osr_terminal_name(m->f, m->f->dest_term[m->dest[i]], to),
			m->f->dest_lid[m->dest[i]]);
}

static enum osr_status walk(struct osr_meter *m, bool counting, struct osr_diag *diag)
{
	uint32_t n = line_up(m);

	/* No switch is met twice. The last step only sees that everybody has arrived. */
	for (uint32_t steps = 0; n; steps++) {
		if (steps > m->f->n_switches)
			return loop_found(m, diag);
		n = counting ? step(m, n, true) : step(m, n, false);
	}
	return OSR_OK;
}

/* The cables of the two end ports. */
static void look_at_ends(struct osr_meter *m)
{
	for (uint32_t i = 0; i < m->n_pairs; i++) {
		uint32_t sends = m->sends[m->from[i]];
		uint32_t receives = m->receives[m->f->dest_term[m->dest[i]]];

		if (!m->worst[i])
			continue;
		if (m->worst[i] < sends)
			m->worst[i] = sends;
		if (m->worst[i] < receives)
			m->worst[i] = receives;
	}
}

/* Counted by congestion first, so that the sum has one order. */
static double sum_bandwidth(struct osr_meter *m)
{
	double sum = 0;

	memset(m->n_worst, 0, ((size_t)m->n_pairs + 1) * sizeof(*m->n_worst));
	for (uint32_t i = 0; i < m->n_pairs; i++)
		m->n_worst[m->worst[i]]++;
	for (uint32_t worst = 1; worst <= m->n_pairs; worst++)
		if (m->n_worst[worst])
			sum += (double)m->n_worst[worst] / worst;
	return sum;
}

/* Only what the phase before has touched: there are sequences of many phases with one pair each. */
static void clear(struct osr_meter *m)
{
	for (uint32_t k = 0; k < m->n_crossed; k++)
		m->load[m->crossed[k]] = 0;
	for (uint32_t i = 0; i < m->n_pairs; i++) {
		m->sends[m->from[i]] = 0;
		m->receives[m->f->dest_term[m->dest[i]]] = 0;
	}
	m->n_crossed = m->n_pairs = 0;
}

static void start_phase(struct osr_meter *m, const struct osr_pair *pairs, const uint32_t *dests,
			uint32_t n_pairs)
{
	const struct osr_fabric *f = m->f;

	clear(m);
	m->n_pairs = n_pairs;
	for (uint32_t i = 0; i < n_pairs; i++) {
		m->from[i] = pairs[i].from;
		m->dest[i] = dests ? dests[i] : f->lid_dest[f->term_lid[pairs[i].to]];
		m->worst[i] = 1;
		m->sends[pairs[i].from]++;
		m->receives[pairs[i].to]++;
	}
}

/* Over all channels, those of end ports included. */
static uint32_t hot_spot(const struct osr_meter *m)
{
	uint32_t most = 0;

	for (uint32_t k = 0; k < m->n_crossed; k++)
		most = m->load[m->crossed[k]] > most ? m->load[m->crossed[k]] : most;
	for (uint32_t i = 0; i < m->n_pairs; i++) {
		uint32_t sends = m->sends[m->from[i]];
		uint32_t receives = m->receives[m->f->dest_term[m->dest[i]]];

		most = sends > most ? sends : most;
		most = receives > most ? receives : most;
	}
	return most;
}

enum osr_status osr_meter_phase(struct osr_meter *m, const struct osr_pair *pairs,
				const uint32_t *dests, uint32_t n_pairs, bool bandwidth,
				struct osr_crossing *c, struct osr_diag *diag)
{
	enum osr_status st;

	*c = (struct osr_crossing){ .n_pairs = n_pairs };
	start_phase(m, pairs, dests, n_pairs);
	st = walk(m, true, diag);
	if (st)
		return st;
	for (uint32_t i = 0; i < n_pairs; i++)
		c->n_no_path += !m->worst[i];
	c->hsd = hot_spot(m);
	if (!bandwidth)
		return OSR_OK;
	st = walk(m, false, diag);
	if (st)
		return st;
	look_at_ends(m);
	c->bandwidth = sum_bandwidth(m);
	return OSR_OK;
}
