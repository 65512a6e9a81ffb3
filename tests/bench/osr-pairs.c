/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-pairs FABRIC LFTS [BISECTIONS]: follows the route of every pair of hosts through forwarding tables, whoever
 * made them (opensm-lfts.dump), and prints one JSON object:
 *
 *	pairs, unreachable, longer	ordered pairs of end ports on different or the same switch; those
 *					without a route; those whose route is longer than the shortest
 *	hops, hops_minimal		channels of all routes together, and of shortest ones
 *	efi, efi_mean			routes over the most loaded channel, and over all on average
 *	efi_minimal			the average that shortest routes would have
 *	efi_capacity			as efi, of routes * fastest rate / rate of the channel
 *	rates				different rates of the channels, as the file says
 *	ebb				effective bisection bandwidth, of the fastest rate: half of the end
 *					ports send to the other half, a pair gets the least rate / load
 *
 * It trusts no other code of the project than the readers of the two files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/prng.h>

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
	uint32_t *host;  /* [n_terminals] */
	uint64_t *load;  /* [n_channels] */
	uint16_t fastest;
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

static unsigned int count_rates(struct work *w)
{
	const struct osr_fabric *f = w->f;
	unsigned int n = 0;

	w->fastest = 1;
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t b = 0;

		while (f->chan_rate[b] != f->chan_rate[c])
			b++;
		n += b == c;
		w->fastest = f->chan_rate[c] > w->fastest ? f->chan_rate[c] : w->fastest;
	}
	return n;
}

/* Routes over the channel, of the fastest rate. Channels of unknown rate count as the fastest. */
static double scaled_load(const struct work *w, uint32_t c)
{
	uint16_t rate = w->f->chan_rate[c] ? w->f->chan_rate[c] : w->fastest;

	return (double)w->load[c] * w->fastest / rate;
}

static uint64_t per_capacity(const struct work *w)
{
	double worst = 0;

	for (uint32_t c = 0; c < w->f->n_channels; c++)
		worst = scaled_load(w, c) > worst ? scaled_load(w, c) : worst;
	return (uint64_t)(worst + 0.5);
}

/* The share of the fastest rate that the pair gets. */
static double share(const struct work *w, uint32_t from, uint32_t d)
{
	const struct osr_fabric *f = w->f;
	double worst = 1;

	for (uint32_t at = f->term_switch[from]; at != f->dest_switch[d];) {
		uint32_t c = osr_port_channel(f, at, osr_lft(w->r, at, d));

		worst = scaled_load(w, c) > worst ? scaled_load(w, c) : worst;
		at = f->chan_dst[c];
	}
	return 1 / worst;
}

/* Source: Hoefler, Schneider, Lumsdaine 2008. Only of tables that lose nothing. */
static double bisect(struct work *w, uint32_t n_bisections)
{
	const struct osr_fabric *f = w->f;
	struct osr_prng prng = { .state = 7 };
	uint32_t n = 0, half;
	double sum = 0;

	for (uint32_t t = 0; t < f->n_terminals; t++)
		if (f->term_weight[t])
			w->host[n++] = t;
	half = n / 2;
	for (uint32_t i = 0; i < n_bisections; i++) {
		osr_prng_shuffle(&prng, w->host, n);
		memset(w->load, 0, f->n_channels * sizeof(*w->load));
		for (uint32_t k = 0; k < half; k++)
			walk(w, f->term_switch[w->host[k]],
			     f->lid_dest[f->term_lid[w->host[half + k]]], 1);
		for (uint32_t k = 0; k < half; k++)
			sum += share(w, w->host[k], f->lid_dest[f->term_lid[w->host[half + k]]]);
	}
	return half && n_bisections ? sum / half / n_bisections : 0;
}

static void print(struct work *w, uint32_t n_bisections)
{
	const struct sums *s = &w->sums;
	double n = w->f->n_channels ? w->f->n_channels : 1;
	unsigned int n_rates = count_rates(w);
	uint64_t capacity = per_capacity(w);
	uint64_t efi = 0;

	for (uint32_t c = 0; c < w->f->n_channels; c++)
		efi = w->load[c] > efi ? w->load[c] : efi;
	printf("{\"pairs\": %" PRIu64 ", \"unreachable\": %" PRIu64 ", \"longer\": %" PRIu64
	       ", \"hops\": %" PRIu64 ", \"hops_minimal\": %" PRIu64 ", \"efi\": %" PRIu64
	       ", \"efi_mean\": %.3f, \"efi_minimal\": %.3f, \"efi_capacity\": %" PRIu64
	       ", \"rates\": %u",
	       s->pairs, s->unreachable, s->longer, s->hops, s->hops_minimal, efi,
	       (double)s->hops / n, (double)s->hops_minimal / n, capacity, n_rates);
	if (n_bisections && !s->unreachable)
		printf(", \"ebb\": %.4f", bisect(w, n_bisections));
	printf("}\n");
}

static enum osr_status run(char **argv, struct osr_net *net, struct osr_arena *arena,
			   struct osr_diag *diag)
{
	struct osr_tables tables;
	struct osr_fabric f;
	struct work w = { .f = &f, .r = &tables.routing };
	struct osr_lines in;
	enum osr_status st;

	if ((st = osr_fabricfile_read(osr_lines_open(&in, argv[1], diag), net)) ||
	    (st = osr_net_fabric(net, -1, arena, &f, diag)) ||
	    (st = osr_tables_init(&tables, &f, NULL, arena, diag)) ||
	    (st = osr_tables_read(&tables, osr_lines_open(&in, argv[2], diag),
				  osr_tables_parse_lfts)))
		return st;
	w.dist = calloc(f.n_switches, sizeof(*w.dist));
	w.queue = calloc(f.n_switches, sizeof(*w.queue));
	w.load = calloc(f.n_channels + 1, sizeof(*w.load));
	w.host = calloc(f.n_terminals + 1, sizeof(*w.host));
	if (w.dist && w.queue && w.load && w.host) {
		follow_all(&w);
		print(&w, argv[3] ? (uint32_t)strtoul(argv[3], NULL, 10) : 0);
	} else {
		st = osr_fail(diag, OSR_NOMEM, "out of memory");
	}
	free(w.dist);
	free(w.queue);
	free(w.load);
	free(w.host);
	return st;
}

int main(int argc, char **argv)
{
	struct osr_arena arena = { 0 };
	struct osr_net net = { 0 };
	struct osr_diag diag = { "" };
	enum osr_status st;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "Usage: osr-pairs FABRIC LFTS [BISECTIONS]\n");
		return 2;
	}
	st = run(argv, &net, &arena, &diag);
	if (st)
		fprintf(stderr, "osr-pairs: %s\n", diag.text);
	osr_net_free(&net);
	osr_arena_free(&arena);
	return st ? 1 : 0;
}
