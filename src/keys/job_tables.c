/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The tables of a job: up by the number of the receiver outside the sub-trees above it, down
 * inside. Where the port up is gone another takes its place, with a look at what it carries.
 */
#include "job_private.h"

#include <osmroutes/invariant.h>

#include <string.h>

enum usable { UNKNOWN, USABLE, DEAD };

struct filling {
	const struct osr_ranks *ranks;
	uint8_t *port;   /* [n * n_switches] */
	bool *passed;    /* [n * n_switches] do flows to this rank pass this switch? */
	uint8_t *usable; /* [n * n_switches] enum usable; NULL: the tree is whole */
};

static size_t at_of(const struct filling *filling, uint32_t sw, uint32_t rank)
{
	return (size_t)rank * filling->ranks->pgft->fabric->n_switches + sw;
}

/* Cables that are there ------------------------------------------------------------------------ */

/* The channel down from place (t, A of the rank, b) to the rank's sub-tree below, or OSR_NONE. */
static uint32_t down_from(const struct osr_ranks *ranks, uint32_t t, uint32_t b, uint32_t rank)
{
	const struct osr_pgft_tree *tree = ranks->tree;
	uint32_t below = b % tree->w_product[t - 1], parent = b / tree->w_product[t - 1];
	uint32_t child = osr_node(tree, t - 1, ranks->a[t - 1][rank], below);
	uint32_t first = (uint32_t)(ranks->number[rank] % ranks->cables[t - 1] /
				    tree->w_product[t - 1] / tree->w[t]);

	for (uint32_t k = 0; k < tree->p[t]; k++) {
		uint32_t up =
			osr_up(ranks->pgft, child, parent + (first + k) % tree->p[t] * tree->w[t]);

		if (up != OSR_NONE)
			return ranks->pgft->fabric->chan_rev[up];
	}
	return OSR_NONE;
}

static bool leads_down(const struct osr_ranks *ranks, uint32_t t, uint32_t b, uint32_t rank)
{
	for (; t > 1; t--) {
		if (down_from(ranks, t, b, rank) == OSR_NONE)
			return false;
		b %= ranks->tree->w_product[t - 1];
	}
	return true;
}

static bool is_usable(const struct filling *filling, uint32_t t, uint32_t a, uint32_t b,
		      uint32_t rank);

/* Does up-port q of place (t, a, b) lead to the rank? */
static bool leads_up(const struct filling *filling, uint32_t t, uint32_t a, uint32_t b, uint32_t q,
		     uint32_t rank)
{
	const struct osr_pgft_tree *tree = filling->ranks->tree;

	if (osr_up(filling->ranks->pgft, osr_node(tree, t, a, b), q) == OSR_NONE)
		return false;
	return is_usable(filling, t + 1, a / tree->m[t + 1], osr_b_above(tree, t, b, q), rank);
}

/* Is there a way straight up and down from this place? */
static bool is_usable(const struct filling *filling, uint32_t t, uint32_t a, uint32_t b,
		      uint32_t rank)
{
	const struct osr_ranks *ranks = filling->ranks;
	uint32_t sw = osr_node(ranks->tree, t, a, b);
	uint8_t *known;

	if (!filling->usable)
		return true;
	if (sw == OSR_NONE)
		return false;
	if (a == ranks->a[t][rank])
		return leads_down(ranks, t, b, rank);
	known = &filling->usable[at_of(filling, sw, rank)];
	if (*known != UNKNOWN)
		return *known == USABLE;
	*known = DEAD;
	for (uint32_t q = 0; q < osr_n_planes(ranks->tree, t); q++)
		if (leads_up(filling, t, a, b, q, rank)) {
			*known = USABLE;
			break;
		}
	return *known == USABLE;
}

/* Ports up ------------------------------------------------------------------------------------- */

/* One place on the way up, and the ranks that leave it by each of its ports. */
struct place {
	uint32_t t, a, b, sw;
	uint32_t window; /* ranks in its sub-tree */
	uint8_t *out;    /* [n] up-port + 1, 0: none */
	uint32_t *sent;  /* [ports] */
};

/* What a rank costs at a port that is not its own: ranks in one window, shared cables down. */
static uint64_t detour_cost(const struct filling *filling, const struct place *place, uint32_t q,
			    uint32_t rank)
{
	const struct osr_ranks *ranks = filling->ranks;
	uint32_t n = ranks->n, sub = ranks->a[place->t][rank];
	uint64_t cable = place->b + (uint64_t)q * ranks->tree->w_product[place->t];
	uint64_t shared = 0;

	for (uint32_t near = 1; near < place->window; near++) {
		shared += place->out[(rank + near) % n] == q + 1;
		shared += place->out[(rank + n - near) % n] == q + 1;
	}
	for (uint32_t i = rank; i < n; i++) {
		if (ranks->a[place->t][i] != sub)
			break;
		shared += ranks->number[i] % ranks->cables[place->t] == cable;
	}
	for (uint32_t i = rank; i > 0; i--) {
		if (ranks->a[place->t][i - 1] != sub)
			break;
		shared += ranks->number[i - 1] % ranks->cables[place->t] == cable;
	}
	return shared * n + place->sent[q];
}

/* The up-ports of all ranks that pass: their own first, then those whose own is gone. */
static void choose_ports(const struct filling *filling, struct place *place)
{
	const struct osr_ranks *ranks = filling->ranks;
	uint32_t n_ports = osr_n_planes(ranks->tree, place->t), t = place->t;
	bool gone = false;

	memset(place->out, 0, ranks->n);
	memset(place->sent, 0, n_ports * sizeof(*place->sent));
	for (uint32_t i = 0; i < ranks->n; i++) {
		uint32_t q =
			(uint32_t)(ranks->number[i] % ranks->cables[t] / ranks->tree->w_product[t]);

		if (!filling->passed[at_of(filling, place->sw, i)] || ranks->a[t][i] == place->a)
			continue;
		if (leads_up(filling, t, place->a, place->b, q, i)) {
			place->out[i] = (uint8_t)(q + 1);
			place->sent[q]++;
		} else {
			gone = true;
		}
	}
	for (uint32_t i = 0; gone && i < ranks->n; i++) {
		uint64_t least = UINT64_MAX;
		uint32_t best = OSR_NONE;

		if (place->out[i] || !filling->passed[at_of(filling, place->sw, i)] ||
		    ranks->a[t][i] == place->a)
			continue;
		for (uint32_t q = 0; q < n_ports; q++) {
			uint64_t cost;

			if (!leads_up(filling, t, place->a, place->b, q, i))
				continue;
			cost = detour_cost(filling, place, q, i);
			if (cost < least) {
				least = cost;
				best = q;
			}
		}
		if (best == OSR_NONE)
			continue;
		place->out[i] = (uint8_t)(best + 1);
		place->sent[best]++;
	}
}

/* A step of the flows to a rank. */
static void pass_on(const struct filling *filling, uint32_t channel, uint32_t rank)
{
	const struct osr_fabric *fabric = filling->ranks->pgft->fabric;

	filling->port[at_of(filling, fabric->chan_src[channel], rank)] =
		(uint8_t)fabric->chan_port[channel];
	filling->passed[at_of(filling, fabric->chan_dst[channel], rank)] = true;
}

/* The places of level t pass the flows on that go up. */
static void climb(const struct filling *filling, uint32_t t, struct place *place)
{
	const struct osr_ranks *ranks = filling->ranks;
	const struct osr_pgft_tree *tree = ranks->tree;

	place->t = t;
	for (uint32_t i = 0, end; i < ranks->n; i = end) {
		end = osr_run_end(ranks, t, i);
		place->a = ranks->a[t][i];
		place->window = end - i;
		for (place->b = 0; place->b < tree->w_product[t]; place->b++) {
			place->sw = osr_node(tree, t, place->a, place->b);
			if (place->sw == OSR_NONE)
				continue;
			choose_ports(filling, place);
			for (uint32_t to = 0; to < ranks->n; to++)
				if (place->out[to])
					pass_on(filling,
						osr_up(ranks->pgft, place->sw, place->out[to] - 1u),
						to);
		}
	}
}

/* And those above the ranks the flows that go down. A switch of several places has one port. */
static void descend(const struct filling *filling, uint32_t t)
{
	const struct osr_ranks *ranks = filling->ranks;
	const struct osr_pgft_tree *tree = ranks->tree;

	for (uint32_t i = 0; i < ranks->n; i++) {
		uint32_t own = (uint32_t)(ranks->number[i] % tree->w_product[t]);

		for (uint32_t n = 0; n < tree->w_product[t]; n++) {
			uint32_t b = (own + n) % tree->w_product[t], c;
			uint32_t sw = osr_node(tree, t, ranks->a[t][i], b);

			if (sw == OSR_NONE || !filling->passed[at_of(filling, sw, i)] ||
			    filling->port[at_of(filling, sw, i)] || !leads_down(ranks, t, b, i))
				continue;
			c = down_from(ranks, t, b, i);
			pass_on(filling, c, i);
		}
	}
}

enum osr_status osr_job_tables(const struct osr_ranks *ranks, uint8_t *port)
{
	struct osr_arena_mark mark = osr_arena_mark(ranks->scratch);
	size_t size = (size_t)ranks->n * ranks->pgft->fabric->n_switches;
	struct filling filling = { .ranks = ranks, .port = port };
	struct place place = { 0 };
	uint32_t n_ports = 0;

	for (uint32_t t = 1; t < ranks->tree->h; t++)
		if (osr_n_planes(ranks->tree, t) > n_ports)
			n_ports = osr_n_planes(ranks->tree, t);
	memset(port, 0, size);
	filling.passed = osr_calloc(ranks->scratch, size, sizeof(*filling.passed));
	place.out = osr_alloc(ranks->scratch, ranks->n, sizeof(*place.out));
	place.sent = osr_alloc(ranks->scratch, n_ports, sizeof(*place.sent));
	if (!ranks->whole)
		filling.usable = osr_calloc(ranks->scratch, size, sizeof(*filling.usable));
	if (osr_arena_failed(ranks->scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < ranks->n; i = osr_run_end(ranks, 1, i)) {
		uint32_t leaf = osr_node(ranks->tree, 1, ranks->a[1][i], 0);

		for (uint32_t to = 0; to < ranks->n; to++)
			filling.passed[at_of(&filling, leaf, to)] = true;
	}
	for (uint32_t t = 1; t < ranks->tree->h; t++)
		climb(&filling, t, &place);
	for (uint32_t t = ranks->tree->h; t > 1; t--)
		descend(&filling, t);
	osr_arena_reset(ranks->scratch, mark);
	return OSR_OK;
}

/* Flows ---------------------------------------------------------------------------------------- */

struct walk {
	const struct osr_ranks *ranks;
	struct osr_job_rows rows;
	uint32_t *count; /* [n_channels] */
};

/* Adds to each cable on the way from a leaf; the most there. A flow without a way stops. */
static uint32_t walk_to(const struct walk *walk, uint32_t sw, uint32_t rank, uint32_t flows)
{
	const struct osr_fabric *fabric = walk->ranks->pgft->fabric;
	size_t row = walk->rows.row ? walk->rows.row[rank] : rank;
	uint32_t end = fabric->term_switch[walk->ranks->term[rank]], most = 0;

	for (uint32_t steps = 0; sw != end && steps < fabric->n_switches; steps++) {
		uint32_t c = osr_port_channel(fabric, sw,
					      walk->rows.port[row * fabric->n_switches + sw]);

		if (c == OSR_NONE)
			return most;
		walk->count[c] += flows;
		most = walk->count[c] > most ? walk->count[c] : most;
		sw = fabric->chan_dst[c];
	}
	return most;
}

uint32_t osr_job_contention(const struct osr_ranks *ranks, struct osr_job_rows rows,
			    enum osr_job_stages stages, uint32_t enough, uint64_t *sum)
{
	struct osr_arena_mark mark = osr_arena_mark(ranks->scratch);
	const struct osr_fabric *fabric = ranks->pgft->fabric;
	struct walk walk = { ranks, rows,
			     osr_calloc(ranks->scratch, fabric->n_channels, sizeof(*walk.count)) };
	uint32_t most = 0, n_stages = ranks->n;

	/* i xor k is below n for some k that are not. */
	while (stages == OSR_EXCHANGES && n_stages & (n_stages - 1))
		n_stages++;
	*sum = 0;
	if (!walk.count)
		return UINT32_MAX;
	for (uint32_t by = 1; by < n_stages && most <= enough; by++) {
		uint32_t of_stage = 0;

		memset(walk.count, 0, fabric->n_channels * sizeof(*walk.count));
		for (uint32_t i = 0; i < ranks->n; i++) {
			uint32_t to = stages == OSR_SHIFTS ? (i + by) % ranks->n : i ^ by, flows;

			if (to >= ranks->n)
				continue;
			flows = walk_to(&walk, fabric->term_switch[ranks->term[i]], to, 1);
			of_stage = flows > of_stage ? flows : of_stage;
		}
		most = of_stage > most ? of_stage : most;
		*sum += of_stage;
	}
	osr_arena_reset(ranks->scratch, mark);
	return most;
}

enum osr_status osr_job_loads(const struct osr_ranks *ranks, struct osr_job_rows rows,
			      struct osr_arena *arena, struct osr_job_worth *worth,
			      struct osr_key_routes *routes)
{
	struct osr_arena_mark mark = osr_arena_mark(ranks->scratch);
	const struct osr_fabric *fabric = ranks->pgft->fabric;
	struct walk walk = { ranks, rows,
			     osr_calloc(ranks->scratch, fabric->n_channels, sizeof(*walk.count)) };
	uint64_t stages = ranks->n - 1;

	if (!walk.count)
		return OSR_NOMEM;
	for (uint32_t i = 0, end; i < ranks->n; i = end) {
		end = osr_run_end(ranks, 1, i);
		for (uint32_t to = 0; to < ranks->n; to++)
			walk_to(&walk, fabric->term_switch[ranks->term[i]], to, end - i);
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		routes->n_links += walk.count[c] > 0;
	routes->link = osr_alloc(arena, routes->n_links, sizeof(*routes->link));
	routes->flows = osr_alloc(arena, routes->n_links, sizeof(*routes->flows));
	if (osr_arena_failed(arena, NULL))
		return OSR_NOMEM;
	worth->meets = 0;
	for (uint32_t c = 0, at = 0; c < fabric->n_channels; c++) {
		uint64_t flows = (uint64_t)walk.count[c] * OSR_LOAD_UNIT;
		uint32_t mean = (uint32_t)((flows + stages - 1) / stages);
		uint32_t others = ranks->load ? ranks->load[c] : 0;

		if (!mean)
			continue;
		routes->link[at] = c;
		routes->flows[at++] = mean;
		if (mean + others > routes->max_load)
			routes->max_load = mean + others;
		worth->meets += (uint64_t)mean * others;
	}
	osr_arena_reset(ranks->scratch, mark);
	return OSR_OK;
}
