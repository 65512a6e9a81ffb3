/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See bandwidth.h. All pairs of a pattern walk in step, one channel at a time: their table entries
 * lie all over memory, and so many loads are under way at once instead of one after the other. The
 * walk is done twice, first to count, then to look for the worst channel; the second time finds
 * its entries in the cache.
 */
#include <osmroutes/bandwidth.h>

#include <math.h>
#include <string.h>

#include <osmroutes/prng.h>

struct crowd {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint32_t n_pairs;
	struct osr_pair *pairs; /* [n_pairs] */
	uint32_t *dest;         /* [n_pairs] base LID of pairs[].to */
	uint32_t *at;           /* [n_pairs] switch a pair has come to */
	uint32_t *walking;      /* [n_pairs] those not there yet */
	uint32_t *worst;        /* [n_pairs] largest congestion seen; 0: leads nowhere */
	uint32_t *load;         /* [n_channels] */
	uint32_t *sends;        /* [n_terminals] */
	uint32_t *receives;     /* [n_terminals] */
	uint32_t *n_worst;      /* [n_pairs + 1] pairs by worst[] */
};

static enum osr_status crowd_init(struct crowd *w, const struct osr_fabric *f,
				  const struct osr_routing *r, uint32_t n_pairs,
				  struct osr_arena *scratch, struct osr_diag *diag)
{
	*w = (struct crowd){ .f = f, .r = r, .n_pairs = n_pairs };
	w->pairs = osr_alloc(scratch, n_pairs, sizeof(*w->pairs));
	w->dest = osr_alloc(scratch, n_pairs, sizeof(*w->dest));
	w->at = osr_alloc(scratch, n_pairs, sizeof(*w->at));
	w->walking = osr_alloc(scratch, n_pairs, sizeof(*w->walking));
	w->worst = osr_alloc(scratch, n_pairs, sizeof(*w->worst));
	w->load = osr_alloc(scratch, f->n_channels, sizeof(*w->load));
	w->sends = osr_alloc(scratch, f->n_terminals, sizeof(*w->sends));
	w->receives = osr_alloc(scratch, f->n_terminals, sizeof(*w->receives));
	w->n_worst = osr_alloc(scratch, (size_t)n_pairs + 1, sizeof(*w->n_worst));
	if (!w->pairs || !w->dest || !w->at || !w->walking || !w->worst || !w->load || !w->sends ||
	    !w->receives || !w->n_worst)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the congestion of %u pairs",
				n_pairs);
	return OSR_OK;
}

/*
 * Every pair goes back to the switch of its sender; those that lead nowhere (worst = 0) stay out.
 */
static uint32_t line_up(struct crowd *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_pairs; i++) {
		if (!w->worst[i])
			continue;
		w->at[i] = w->f->term_switch[w->pairs[i].from];
		w->walking[n++] = i;
	}
	return n;
}

/*
 * One step of n pairs. Counting: adds to the load; otherwise looks at it. Returns how many have not
 * arrived yet.
 */
static inline uint32_t step(struct crowd *w, uint32_t n, bool counting)
{
	const struct osr_fabric *f = w->f;
	uint32_t n_left = 0;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = w->walking[k], v = w->at[i], d = w->dest[i], c;
		uint8_t port = osr_lft(w->r, v, d);

		if (v == f->dest_switch[d] && port == f->term_port[w->pairs[i].to])
			continue;
		c = osr_port_channel(f, v, port);
		if (c == OSR_NONE) {
			w->worst[i] = 0;
			continue;
		}
		if (counting)
			w->load[c]++;
		else if (w->worst[i] < w->load[c])
			w->worst[i] = w->load[c];
		w->at[i] = f->chan_dst[c];
		w->walking[n_left++] = i;
	}
	return n_left;
}

static enum osr_status loop_found(const struct crowd *w, struct osr_diag *diag)
{
	uint32_t i = w->walking[0];
	char from[32], to[32];

	return osr_fail(diag, OSR_CHECK_FAILED, "the route from %s to %s (LID %u) runs in a circle",
			osr_terminal_name(w->f, w->pairs[i].from, from),
			osr_terminal_name(w->f, w->pairs[i].to, to), w->f->dest_lid[w->dest[i]]);
}

static enum osr_status walk(struct crowd *w, bool counting, struct osr_diag *diag)
{
	uint32_t n = line_up(w);

	/* No switch is met twice. The last step only sees that everybody has arrived. */
	for (uint32_t steps = 0; n; steps++) {
		if (steps > w->f->n_switches)
			return loop_found(w, diag);
		n = counting ? step(w, n, true) : step(w, n, false);
	}
	return OSR_OK;
}

/* The cables of the two end ports. */
static void look_at_ends(struct crowd *w)
{
	for (uint32_t i = 0; i < w->n_pairs; i++) {
		uint32_t sends = w->sends[w->pairs[i].from], receives = w->receives[w->pairs[i].to];

		if (!w->worst[i])
			continue;
		if (w->worst[i] < sends)
			w->worst[i] = sends;
		if (w->worst[i] < receives)
			w->worst[i] = receives;
	}
}

/* The mean bandwidth: counted first, so that the sum has one order. */
static double sum_up(struct crowd *w, struct osr_bandwidth *b)
{
	double sum = 0;

	memset(w->n_worst, 0, ((size_t)w->n_pairs + 1) * sizeof(*w->n_worst));
	for (uint32_t i = 0; i < w->n_pairs; i++)
		w->n_worst[w->worst[i]]++;
	b->n_no_path += w->n_worst[0];
	for (uint32_t worst = 1; worst <= w->n_pairs; worst++) {
		if (!w->n_worst[worst])
			continue;
		sum += (double)w->n_worst[worst] / worst;
		if (b->max_congestion < worst)
			b->max_congestion = worst;
	}
	return sum / w->n_pairs;
}

static enum osr_status run_pattern(struct crowd *w, struct osr_bandwidth *b, double *mean,
				   struct osr_diag *diag)
{
	const struct osr_fabric *f = w->f;
	enum osr_status st;

	memset(w->load, 0, f->n_channels * sizeof(*w->load));
	memset(w->sends, 0, f->n_terminals * sizeof(*w->sends));
	memset(w->receives, 0, f->n_terminals * sizeof(*w->receives));
	for (uint32_t i = 0; i < w->n_pairs; i++) {
		w->dest[i] = f->lid_dest[f->term_lid[w->pairs[i].to]];
		w->worst[i] = 1;
		w->sends[w->pairs[i].from]++;
		w->receives[w->pairs[i].to]++;
	}
	st = walk(w, true, diag);
	if (!st)
		st = walk(w, false, diag);
	if (st)
		return st;
	look_at_ends(w);
	*mean = sum_up(w, b);
	return OSR_OK;
}

static void statistics(struct osr_bandwidth *b, const double *means)
{
	double sum = 0, squares = 0;

	b->worst = b->best = means[0];
	for (uint32_t k = 0; k < b->n_patterns; k++) {
		sum += means[k];
		b->worst = means[k] < b->worst ? means[k] : b->worst;
		b->best = means[k] > b->best ? means[k] : b->best;
	}
	b->mean = sum / b->n_patterns;
	for (uint32_t k = 0; k < b->n_patterns; k++)
		squares += (means[k] - b->mean) * (means[k] - b->mean);
	if (b->n_patterns > 1)
		b->half_width = 1.96 * sqrt(squares / (b->n_patterns - 1.0) / b->n_patterns);
}

static uint32_t list_hosts(const struct osr_fabric *f, uint32_t *hosts)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < f->n_terminals; t++)
		if (f->term_role[t] == OSR_ROLE_CA)
			hosts[n++] = t;
	return n;
}

static enum osr_status run_bisections(struct crowd *w, uint32_t *hosts, uint64_t seed,
				      double *means, struct osr_bandwidth *b, struct osr_diag *diag)
{
	struct osr_prng prng = { seed };
	enum osr_status st = OSR_OK;

	for (uint32_t k = 0; k < b->n_patterns && !st; k++) {
		osr_prng_shuffle(&prng, hosts, b->n_hosts);
		for (uint32_t i = 0; i < w->n_pairs; i++)
			w->pairs[i] = (struct osr_pair){ hosts[i], hosts[w->n_pairs + i] };
		st = run_pattern(w, b, &means[k], diag);
	}
	return st;
}

enum osr_status osr_bandwidth_bisect(const struct osr_fabric *f, const struct osr_routing *r,
				     uint32_t n_patterns, uint64_t seed, struct osr_arena *scratch,
				     struct osr_bandwidth *b, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t *hosts = osr_alloc(scratch, f->n_terminals, sizeof(*hosts));
	double *means = osr_alloc(scratch, n_patterns, sizeof(*means));
	struct crowd w;
	enum osr_status st;

	*b = (struct osr_bandwidth){ .n_patterns = n_patterns };
	if (!hosts || !means) {
		st = osr_fail(diag, OSR_NOMEM, "out of memory for %u bisections", n_patterns);
		goto out;
	}
	b->n_hosts = list_hosts(f, hosts);
	b->n_pairs = b->n_hosts / 2;
	if (!b->n_pairs) {
		st = osr_fail(diag, OSR_NOT_APPLICABLE,
			      "a bisection needs two hosts, and the fabric has %u", b->n_hosts);
		goto out;
	}
	st = crowd_init(&w, f, r, b->n_pairs, scratch, diag);
	if (!st)
		st = run_bisections(&w, hosts, seed, means, b, diag);
	if (!st)
		statistics(b, means);
out:
	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_bandwidth_pairs(const struct osr_fabric *f, const struct osr_routing *r,
				    const struct osr_pair *pairs, uint32_t n_pairs,
				    struct osr_arena *scratch, struct osr_bandwidth *b,
				    struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct crowd w;
	enum osr_status st;
	double mean;

	*b = (struct osr_bandwidth){ .n_patterns = 1, .n_pairs = n_pairs };
	for (uint32_t t = 0; t < f->n_terminals; t++)
		b->n_hosts += f->term_role[t] == OSR_ROLE_CA;
	st = crowd_init(&w, f, r, n_pairs, scratch, diag);
	if (!st) {
		memcpy(w.pairs, pairs, n_pairs * sizeof(*pairs));
		st = run_pattern(&w, b, &mean, diag);
	}
	if (!st)
		statistics(b, &mean);
	osr_arena_reset(scratch, mark);
	return st;
}
