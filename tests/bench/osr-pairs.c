/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-pairs FABRIC LFTS: follows the route of every pair of hosts through forwarding tables, whoever
 * made them (opensm-lfts.dump), and prints one JSON object:
 *
 *	pairs, unreachable, longer	ordered pairs of end ports on different or the same switch; those
 *					without a route; those whose route is longer than the shortest
 *	hops, hops_minimal		channels of all routes together, and of shortest ones
 *	efi, efi_mean			routes over the most loaded channel, and over all on average
 *	efi_minimal			the average that shortest routes would have
 *	efi_capacity			as efi, of routes * fastest rate / rate of the channel
 *	rates				different rates of the channels, as the file says
 *
 * It trusts no other code of the project than the readers of the two files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/netfile.h"
#include "io/tables.h"

struct sums {
	uint64_t pairs, unreachable, longer, hops, hops_minimal;
};

struct work {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint32_t *dist;  /* [n_switches] shortest, to the switch at hand */
	uint32_t *queue; /* [n_switches] */
	uint64_t *load;  /* [n_channels] */
	struct sums sums;
};

/* Breadth first, against the direction of travel; cables work both ways. */
static void distances(struct work *w, uint32_t root)
{
	const struct osr_fabric *f = w->f;
	uint32_t n = 1;

	memset(w->dist, 0xff, f->n_switches * sizeof(*w->dist));
	w->dist[root] = 0;
	w->queue[0] = root;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s = w->queue[i];

		for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++) {
			uint32_t t = f->chan_dst[c];

			if (w->dist[t] != OSR_NONE)
				continue;
			w->dist[t] = w->dist[s] + 1;
			w->queue[n++] = t;
		}
	}
}

/* Channels from switch s to the switch of dest d; OSR_NONE if packets get lost or turn in circles. */
static uint32_t walk(struct work *w, uint32_t s, uint32_t d, uint64_t n_sources)
{
	const struct osr_fabric *f = w->f;
	uint32_t last = f->dest_switch[d], hops = 0;

	for (uint32_t at = s; at != last; hops++) {
		uint32_t c = osr_port_channel(f, at, osr_lft(w->r, at, d));

		if (c == OSR_NONE || hops == f->n_switches)
			return OSR_NONE;
		w->load[c] += n_sources;
		at = f->chan_dst[c];
	}
	return osr_lft(w->r, last, d) == f->term_port[f->dest_term[d]] ? hops : OSR_NONE;
}

static void follow(struct work *w, uint32_t d)
{
	const struct osr_fabric *f = w->f;

	for (uint32_t s = 0; s < f->n_switches; s++) {
		/* Nobody sends to himself. */
		uint64_t n = f->sw_sources[s] - (s == f->dest_switch[d]);
		uint32_t hops;

		if (!f->sw_sources[s] || !n || w->dist[s] == OSR_NONE)
			continue;
		hops = walk(w, s, d, n);
		w->sums.pairs += n;
		if (hops == OSR_NONE) {
			w->sums.unreachable += n;
			continue;
		}
		w->sums.hops += n * hops;
		w->sums.hops_minimal += n * w->dist[s];
		w->sums.longer += hops > w->dist[s] ? n : 0;
	}
}

static void follow_all(struct work *w)
{
	const struct osr_fabric *f = w->f;

	for (uint32_t s = 0; s < f->n_switches; s++) {
		if (!f->sw_sources[s])
			continue;
		distances(w, s);
		for (uint32_t d = 0; d < f->n_dests; d++)
			if (f->dest_switch[d] == s && f->term_weight[f->dest_term[d]])
				follow(w, d);
	}
}

/* Channels of unknown rate count as the fastest. */
static uint64_t per_capacity(const struct work *w, unsigned int *n_rates)
{
	const struct osr_fabric *f = w->f;
	uint16_t fastest = 1;
	double worst = 0;

	*n_rates = 0;
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t b = 0;

		while (f->chan_rate[b] != f->chan_rate[c])
			b++;
		*n_rates += b == c;
		fastest = f->chan_rate[c] > fastest ? f->chan_rate[c] : fastest;
	}
	for (uint32_t c = 0; c < f->n_channels; c++) {
		double rate = f->chan_rate[c] ? f->chan_rate[c] : fastest;
		double load = (double)w->load[c] * fastest / rate;

		worst = load > worst ? load : worst;
	}
	return (uint64_t)(worst + 0.5);
}

static void print(const struct work *w)
{
	const struct sums *s = &w->sums;
	double n = w->f->n_channels ? w->f->n_channels : 1;
	unsigned int n_rates;
	uint64_t capacity = per_capacity(w, &n_rates);
	uint64_t efi = 0;

	for (uint32_t c = 0; c < w->f->n_channels; c++)
		efi = w->load[c] > efi ? w->load[c] : efi;
	printf("{\"pairs\": %" PRIu64 ", \"unreachable\": %" PRIu64 ", \"longer\": %" PRIu64
	       ", \"hops\": %" PRIu64 ", \"hops_minimal\": %" PRIu64 ", \"efi\": %" PRIu64
	       ", \"efi_mean\": %.3f, \"efi_minimal\": %.3f, \"efi_capacity\": %" PRIu64
	       ", \"rates\": %u}\n",
	       s->pairs, s->unreachable, s->longer, s->hops, s->hops_minimal, efi,
	       (double)s->hops / n, (double)s->hops_minimal / n, capacity, n_rates);
}

static enum osr_status run(char **argv, struct osr_net *net, struct osr_arena *arena,
			   struct osr_diag *diag)
{
	struct osr_tables tables;
	struct osr_fabric f;
	struct work w = { .f = &f, .r = &tables.routing };
	enum osr_status st;

	if ((st = osr_netfile_read(argv[1], net, diag)) ||
	    (st = osr_net_fabric(net, -1, arena, &f, diag)) ||
	    (st = osr_tables_init(&tables, &f, NULL, arena, diag)) ||
	    (st = osr_tables_read_lfts(&tables, argv[2], diag)))
		return st;
	w.dist = calloc(f.n_switches, sizeof(*w.dist));
	w.queue = calloc(f.n_switches, sizeof(*w.queue));
	w.load = calloc(f.n_channels + 1, sizeof(*w.load));
	if (w.dist && w.queue && w.load) {
		follow_all(&w);
		print(&w);
	} else {
		st = osr_fail(diag, OSR_NOMEM, "out of memory");
	}
	free(w.dist);
	free(w.queue);
	free(w.load);
	return st;
}

int main(int argc, char **argv)
{
	struct osr_arena arena = { 0 };
	struct osr_net net = { 0 };
	struct osr_diag diag = { "" };
	enum osr_status st;

	if (argc != 3) {
		fprintf(stderr, "Usage: osr-pairs FABRIC LFTS\n");
		return 2;
	}
	st = run(argv, &net, &arena, &diag);
	if (st)
		fprintf(stderr, "osr-pairs: %s\n", diag.text);
	osr_net_free(&net);
	osr_arena_free(&arena);
	return st ? 1 : 0;
}
