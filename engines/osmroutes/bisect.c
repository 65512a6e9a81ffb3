/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "bisect.h"

#include <string.h>

#include <osmroutes/prng.h>

#define BISECT_PAIRS 40000 /* to be measured, about */
#define BISECT_LEAST 12    /* bisections */
#define BISECT_MOST 400

struct bisection {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint32_t *host, n_hosts;
	uint32_t *load; /* [n_channels] pairs */
	uint16_t fastest;
};

/* The channel by which a packet to dest d leaves switch s; OSR_NONE: it has arrived, or cannot. */
static uint32_t bisect_next(const struct bisection *b, uint32_t s, uint32_t d)
{
	uint8_t port = osr_lft(b->r, s, d);

	return s == b->f->dest_switch[d] || port == OSR_NO_PATH
		       ? OSR_NONE
		       : b->f->port_chan[b->f->port_row[s] + port];
}

static void bisect_add(struct bisection *b, uint32_t from, uint32_t to)
{
	uint32_t d = b->f->lid_dest[b->f->term_lid[to]], s = b->f->term_switch[from], c;

	for (; (c = bisect_next(b, s, d)) != OSR_NONE; s = b->f->chan_dst[c])
		b->load[c]++;
}

/* Millionths of the fastest link that one pair has. */
static uint32_t bisect_share(const struct bisection *b, uint32_t from, uint32_t to)
{
	uint32_t d = b->f->lid_dest[b->f->term_lid[to]], s = b->f->term_switch[from], c;
	uint32_t share = 1000000;

	for (; (c = bisect_next(b, s, d)) != OSR_NONE; s = b->f->chan_dst[c]) {
		uint32_t rate = b->f->chan_rate[c] ? b->f->chan_rate[c] : b->fastest;
		uint32_t mine = (uint32_t)(1000000ull * rate / b->fastest / b->load[c]);

		share = mine < share ? mine : share;
	}
	return share;
}

static uint64_t bisect_once(struct bisection *b)
{
	uint32_t half = b->n_hosts / 2;
	uint64_t sum = 0;

	memset(b->load, 0, b->f->n_channels * sizeof(*b->load));
	for (uint32_t i = 0; i < half; i++)
		bisect_add(b, b->host[i], b->host[half + i]);
	for (uint32_t i = 0; i < half; i++)
		sum += bisect_share(b, b->host[i], b->host[half + i]);
	return sum / half;
}

enum osr_status choose_bisect(const struct osr_fabric *fabric, const struct osr_routing *routing,
			      struct osr_arena *scratch, uint32_t *ebb, struct osr_diag *diag)
{
	struct osr_prng prng = { .state = 1 };
	struct bisection b = { .f = fabric,
			       .r = routing,
			       .host = osr_alloc(scratch, fabric->n_terminals, sizeof(*b.host)),
			       .load = osr_alloc(scratch, fabric->n_channels, sizeof(*b.load)),
			       .fastest = 1 };
	uint64_t sum = 0;
	uint32_t n;

	*ebb = 0;
	if (!b.host || !b.load)
		return osr_fail(diag, OSR_NOMEM, "out of memory for bisections of %u end ports",
				fabric->n_terminals);
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (fabric->term_weight[t])
			b.host[b.n_hosts++] = t;
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		b.fastest = fabric->chan_rate[c] > b.fastest ? fabric->chan_rate[c] : b.fastest;
	if (b.n_hosts < 2)
		return OSR_OK;
	n = BISECT_PAIRS / b.n_hosts;
	n = n < BISECT_LEAST ? BISECT_LEAST : n > BISECT_MOST ? BISECT_MOST : n;
	for (uint32_t i = 0; i < n; i++) {
		osr_prng_shuffle(&prng, b.host, b.n_hosts);
		sum += bisect_once(&b);
	}
	*ebb = (uint32_t)(sum / n);
	return OSR_OK;
}
