/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dmodk on partly populated trees: flows of every stage of the shift, counted by following the
 * tables, against what no routing can go below and against three numberings that are counted here
 * by equation (1). Trees and hosts are drawn anew by each seed.
 *
 * OSR_SEED=N: from that draw on; OSR_LONG=1: ten times as many.
 */
#include "test.h"

#include <osmroutes/pgft.h>
#include <osmroutes/prng.h>
#include <osmroutes/sweep.h>

#include "store/store.h"
#include "sweeps.h"
#include "topos.h"

#define MAX_HOSTS 160
#define N_DRAWS 160

/* PGFT(h; m; w; p) as drawn. M: m_1 .. m_l; R: cables out of a sub-tree of l levels. */
struct shape {
	uint32_t h, m[5], w[5], p[5], M[5], R[5];
	char text[160];
	struct osr_net net;
	uint32_t first; /* node of the first host */
};

struct routed {
	struct osr_arena arena, result;
	struct osr_fabric fabric;
	struct osr_routing routing;
};

/* ---- trees and hosts ------------------------------------------------------------------------ */

static uint64_t period_of(const struct shape *shape)
{
	uint64_t period = 1;

	for (uint32_t l = 1; l < shape->h; l++) {
		uint64_t n = period;

		while (n % shape->R[l])
			n += period;
		period = n;
	}
	return period;
}

static void say(char *text, const char *name, const uint32_t *list, uint32_t h)
{
	sprintf(text + strlen(text), " %s=", name);
	for (uint32_t l = 1; l <= h; l++)
		sprintf(text + strlen(text), "%s%u", l > 1 ? "," : "", list[l]);
}

/* Two or three levels; every other tree has as many cables up as down on each switch. */
static void draw_shape(struct osr_prng *prng, struct shape *shape)
{
	struct osr_diag diag = { "" };
	bool full = osr_prng_below(prng, 2);

	do {
		*shape = (struct shape){ .h = 2 + osr_prng_below(prng, 2), .M = { 1 } };
		for (uint32_t l = 1; l <= shape->h; l++) {
			uint32_t up = l > 1 ? shape->m[l - 1] * shape->p[l - 1] : 1;

			shape->m[l] = 2 + osr_prng_below(prng, 7);
			shape->p[l] = l > 1 ? 1 + osr_prng_below(prng, 2) : 1;
			shape->w[l] = l > 1 ? 2 + osr_prng_below(prng, 4) : 1;
			if (full && l > 1 && up % shape->p[l])
				shape->p[l] = 1;
			if (full && l > 1)
				shape->w[l] = up / shape->p[l];
			shape->M[l] = shape->M[l - 1] * shape->m[l];
		}
	} while (shape->M[shape->h] > MAX_HOSTS || shape->w[2] < 2 || shape->w[shape->h] < 2);
	for (uint32_t l = 1, w = 1; l < shape->h; l++) {
		w *= shape->w[l + 1];
		shape->R[l] = w * shape->p[l + 1];
	}
	strcpy(shape->text, "tree");
	say(shape->text, "m", shape->m, shape->h);
	say(shape->text, "w", shape->w, shape->h);
	say(shape->text, "p", shape->p, shape->h);
	/* LIDs stay from here on. */
	if (topo_net(shape->text, NULL, &shape->net, &diag) ||
	    osr_net_assign_lids(&shape->net, 0, &diag))
		fail_msg("%s: %s", shape->text, diag.text);
	while (shape->net.nodes[shape->first].type != OSR_NET_CA)
		shape->first++;
}

/* n hosts at random: there[i] of the i-th host of the tree. */
static void draw_hosts(struct osr_prng *prng, uint32_t of, uint32_t n, bool *there)
{
	memset(there, 0, of);
	while (n) {
		uint32_t i = osr_prng_below(prng, of);

		n -= !there[i];
		there[i] = true;
	}
}

/* Without the hosts that are not there; `before` may be NULL. `first`: hosts of the first group. */
static void route(const struct shape *shape, const bool *there, const bool *first,
		  const struct osr_result *before, struct routed *routed)
{
	bool *gone = calloc(shape->net.n_nodes, 1), *cut = calloc(shape->net.n_ports, 1);
	const struct osr_request req = { .max_vls = 1, .multicast = true };
	struct osr_net net = { 0 };
	struct osr_diag diag = { "" };
	struct osr_result now;
	struct osr_sweep sweep;

	*routed = (struct routed){ 0 };
	for (uint32_t i = 0; i < shape->M[shape->h]; i++)
		gone[shape->first + i] = !there[i];
	if (osr_topo_remove(&shape->net, gone, cut, &net, &diag) ||
	    osr_net_fabric(&net, -1, &routed->arena, &routed->fabric, &diag))
		fail_msg("%s: %s", shape->text, diag.text);
	for (uint32_t t = 0; first && t < routed->fabric.n_terminals; t++) {
		const char *name = routed->fabric.names + routed->fabric.term_name[t];

		((uint8_t *)routed->fabric.term_group)[t] =
			routed->fabric.term_role[t] != OSR_ROLE_CA || !first[atoi(name + 1)];
	}
	now.fabric = routed->fabric;
	if (test_route("dmodk", "max_missing=99", req, before, &routed->result, &now, &sweep,
		       &diag))
		fail_msg("%s: %s", shape->text, diag.text);
	routed->routing = now.routing;
	osr_net_free(&net);
	free(gone);
	free(cut);
}

static struct osr_result result_of(const struct routed *routed)
{
	return (struct osr_result){ .fabric = routed->fabric, .routing = routed->routing };
}

static void drop(struct routed *routed)
{
	osr_arena_free(&routed->arena);
	osr_arena_free(&routed->result);
}

/* ---- counting ------------------------------------------------------------------------------- */

struct counted {
	uint64_t load, least, over; /* sums over the stages, as in pgft.h */
	uint32_t n, place[MAX_HOSTS], term[MAX_HOSTS];
	uint32_t stage[MAX_HOSTS]; /* the least of each stage */
};

/* The hosts of this set by their ranks, and the least load of each stage: flows over cables. */
static void count_set(const struct shape *shape, const bool *set, struct counted *counted)
{
	*counted = (struct counted){ 0 };
	for (uint32_t i = 0; i < shape->M[shape->h]; i++)
		if (set[i])
			counted->place[counted->n++] = i;
	for (uint32_t k = 1; k < counted->n; k++) {
		counted->stage[k] = 1;
		for (uint32_t l = 1; l < shape->h; l++) {
			uint32_t flows[MAX_HOSTS] = { 0 };

			for (uint32_t i = 0; i < counted->n; i++) {
				uint32_t from = counted->place[i] / shape->M[l],
					 to = counted->place[(i + k) % counted->n] / shape->M[l];
				uint32_t least;

				if (from == to)
					continue;
				least = (++flows[from] + shape->R[l] - 1) / shape->R[l];
				if (least > counted->stage[k])
					counted->stage[k] = least;
			}
		}
		counted->least += counted->stage[k];
	}
}

/* Ranks as the engine remembers them: new hosts come last on their leaf. */
static void take_order(const struct routed *routed, struct counted *counted)
{
	struct osr_pgft_options opt = { .max_missing = 99 };
	struct osr_pgft_memory memory;
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct osr_pgft pgft;

	assert_true(osr_pgft_memory_read(&routed->routing.notes, &memory));
	opt.memory = &memory;
	assert_int_equal(osr_pgft_find(&routed->fabric, &opt, &scratch, &pgft, &diag), 0);
	assert_int_equal(osr_pgft_number(&pgft, &scratch, &diag), 0);
	assert_int_equal(pgft.n_order, counted->n);
	for (uint32_t i = 0; i < counted->n; i++)
		counted->place[i] = (uint32_t)atoi(routed->fabric.names +
						   routed->fabric.term_name[pgft.order[i]] + 1);
	osr_arena_free(&scratch);
}

/* Follows all pairs of all stages through the tables. */
static void count_tables(const struct routed *routed, struct counted *counted)
{
	const struct osr_fabric *fabric = &routed->fabric;
	uint32_t *load = malloc((fabric->n_channels + 1) * sizeof(*load));

	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		for (uint32_t i = 0; i < counted->n && fabric->term_role[t] == OSR_ROLE_CA; i++)
			if ((uint32_t)atoi(fabric->names + fabric->term_name[t] + 1) ==
			    counted->place[i])
				counted->term[i] = t;
	for (uint32_t k = 1; k < counted->n; k++) {
		uint32_t most = 1;

		memset(load, 0, fabric->n_channels * sizeof(*load));
		for (uint32_t i = 0; i < counted->n; i++) {
			uint32_t s = fabric->term_switch[counted->term[i]],
				 t = counted->term[(i + k) % counted->n],
				 d = fabric->lid_dest[fabric->term_lid[t]];

			while (s != fabric->dest_switch[d]) {
				uint32_t c = osr_port_channel(fabric, s,
							      osr_lft(&routed->routing, s, d));

				most = ++load[c] > most ? load[c] : most;
				s = fabric->chan_dst[c];
			}
		}
		for (uint32_t c = 0; c < fabric->n_channels; c++)
			counted->over += load[c] > counted->stage[k];
		counted->load += most;
	}
	free(load);
}

/* The same load by equation (1): up by cable j mod R_l, and down by its reverse. */
static uint64_t count_rule(const struct shape *shape, const struct counted *counted,
			   const uint32_t *number)
{
	uint64_t sum = 0;

	for (uint32_t k = 1; k < counted->n; k++) {
		uint32_t most = 1;

		for (uint32_t l = 1; l < shape->h; l++) {
			static uint32_t flows[2][MAX_HOSTS][1024];

			memset(flows, 0, sizeof(flows));
			for (uint32_t i = 0; i < counted->n; i++) {
				uint32_t to = (i + k) % counted->n, c = number[to] % shape->R[l],
					 s = counted->place[i] / shape->M[l],
					 d = counted->place[to] / shape->M[l];

				if (s == d)
					continue;
				assert_true(c < 1024);
				most = ++flows[0][s][c] > most ? flows[0][s][c] : most;
				most = ++flows[1][d][c] > most ? flows[1][d][c] : most;
			}
		}
		sum += most;
	}
	return sum;
}

/* Slots without holes on each leaf, m_1 the most common number of hosts. */
static void number_places(const struct shape *shape, const struct counted *counted,
			  uint32_t *number)
{
	uint32_t on[MAX_HOSTS] = { 0 }, seen[MAX_HOSTS] = { 0 }, m = 0;

	for (uint32_t i = 0; i < counted->n; i++)
		on[counted->place[i] / shape->m[1]]++;
	for (uint32_t leaf = 0; leaf < shape->M[shape->h] / shape->m[1]; leaf++)
		seen[on[leaf]]++;
	for (uint32_t k = 1; k <= shape->m[1]; k++)
		m = seen[k] && (!m || seen[k] >= seen[m]) ? k : m;
	for (uint32_t i = 0, nth = 0; i < counted->n; i++) {
		uint32_t leaf = counted->place[i] / shape->m[1];

		nth = i && counted->place[i - 1] / shape->m[1] == leaf ? nth + 1 : 0;
		number[i] = leaf * m + nth % m;
	}
}

/* Ranks in `c` even blocks, each of which begins at a multiple of R_1. */
static uint64_t count_stretched(const struct shape *shape, const struct counted *counted,
				uint32_t c)
{
	uint32_t number[MAX_HOSTS];

	for (uint32_t i = 0, b = 0; i < counted->n; i++) {
		b += b + 1 < c && i >= (b + 1) * counted->n / c;
		number[i] = b * shape->R[1] + i - b * counted->n / c;
	}
	return count_rule(shape, counted, number);
}

/* The least load of place, rank and, with two levels, stretched. */
static uint64_t best_of_three(const struct shape *shape, const struct counted *counted)
{
	uint32_t number[MAX_HOSTS], most = 0, on[MAX_HOSTS] = { 0 };
	uint64_t best, next;

	number_places(shape, counted, number);
	best = count_rule(shape, counted, number);
	for (uint32_t i = 0; i < counted->n; i++) {
		uint32_t *leaf = &on[counted->place[i] / shape->m[1]];

		number[i] = i;
		most = ++*leaf > most ? *leaf : most;
	}
	next = count_rule(shape, counted, number);
	best = next < best ? next : best;
	for (uint32_t c = 1; shape->h == 2 && c * most <= counted->n; c++) {
		if (counted->n > c * shape->R[1])
			continue;
		next = count_stretched(shape, counted, c);
		best = next < best ? next : best;
	}
	return best;
}

/* Entries of switches for hosts of both results that differ. */
static uint64_t count_changed(const struct routed *was, const struct routed *is)
{
	const struct osr_fabric *fabric = &was->fabric, *now = &is->fabric;
	uint64_t n = 0;

	assert_int_equal(fabric->n_switches, now->n_switches);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t lid = fabric->dest_lid[d],
			 to = lid <= now->max_lid ? now->lid_dest[lid] : OSR_NONE;

		if (to == OSR_NONE || fabric->term_role[fabric->dest_term[d]] == OSR_ROLE_SP0)
			continue;
		assert_true(fabric->term_guid[fabric->dest_term[d]] ==
			    now->term_guid[now->dest_term[to]]);
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			n += osr_lft(&was->routing, s, d) != osr_lft(&is->routing, s, to);
	}
	return n;
}

static bool at_bound(const struct counted *counted)
{
	return counted->load == counted->least && !counted->over;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static uint32_t n_draws(uint32_t *first)
{
	*first = getenv("OSR_SEED") ? (uint32_t)atoi(getenv("OSR_SEED")) : 1;
	return N_DRAWS * (getenv("OSR_LONG") ? 10 : 1);
}

/* Every other draw has a multiple of the cables of every sub-tree, where the tree has so many. */
static uint32_t draw_number(struct osr_prng *prng, const struct shape *shape, bool multiple)
{
	uint32_t all = shape->M[shape->h], n = all / 3 + osr_prng_below(prng, all - all / 3);
	uint64_t period = period_of(shape);

	if (multiple && period <= all)
		n = n < period ? (uint32_t)period : n - (uint32_t)(n % period);
	return n > 1 ? n : 2;
}

/*
 * A multiple: the bound in every stage. Other numbers: never above the best of three. The sums that
 * osr_pgft_number() states are those of the tables.
 */
static void test_subsets(void **state)
{
	uint32_t first, n = n_draws(&first), n_multiple = 0, n_better = 0;

	for (uint32_t seed = first; seed < first + n; seed++) {
		struct osr_prng prng = { .state = seed };
		struct osr_pgft_options opt = { .max_missing = 99 };
		struct osr_arena scratch = { 0 };
		struct osr_diag diag = { "" };
		bool there[MAX_HOSTS];
		struct counted counted;
		struct routed routed;
		struct osr_pgft pgft;
		struct shape shape;
		uint32_t hosts;
		uint64_t best;

		draw_shape(&prng, &shape);
		hosts = draw_number(&prng, &shape, seed % 2);
		draw_hosts(&prng, shape.M[shape.h], hosts, there);
		route(&shape, there, NULL, NULL, &routed);
		count_set(&shape, there, &counted);
		count_tables(&routed, &counted);
		best = best_of_three(&shape, &counted);
		if (hosts % period_of(&shape) == 0 && !at_bound(&counted))
			fail_msg("seed %u, %s, %u hosts: %lu flows, %lu over, bound %lu", seed,
				 shape.text, hosts, counted.load, counted.over, counted.least);
		if (counted.load > best)
			fail_msg("seed %u, %s, %u hosts: %lu flows, best of three %lu", seed,
				 shape.text, hosts, counted.load, best);
		assert_int_equal(osr_pgft_find(&routed.fabric, &opt, &scratch, &pgft, &diag), 0);
		assert_int_equal(osr_pgft_number(&pgft, &scratch, &diag), 0);
		if (pgft.tree[0].shift.n_stages && (pgft.tree[0].shift.load != counted.load ||
						    pgft.tree[0].shift.least != counted.least ||
						    pgft.tree[0].shift.over != counted.over))
			fail_msg("seed %u, %s, %u hosts: said %lu, %lu over, bound %lu; is "
				 "%lu, %lu over, bound %lu",
				 seed, shape.text, hosts, pgft.tree[0].shift.load,
				 pgft.tree[0].shift.over, pgft.tree[0].shift.least, counted.load,
				 counted.over, counted.least);
		n_multiple += hosts % period_of(&shape) == 0;
		n_better += hosts < shape.M[shape.h] && at_bound(&counted);
		osr_arena_free(&scratch);
		osr_net_free(&shape.net);
		drop(&routed);
	}
	print_message("%u of %u draws are a multiple, %u with holes at the bound\n", n_multiple, n,
		      n_better);
	assert_true(4 * n_multiple > n && 4 * n_better > n);
}

/*
 * Hosts die and return, also over the stored bytes of a restart: no entry of others changes. New
 * ones bring the bound back where they make a multiple.
 */
static void test_numbers_stay(void **state)
{
	uint32_t first, n = n_draws(&first) / 4;
	uint64_t changed_anew = 0;

	for (uint32_t seed = first; seed < first + n; seed++) {
		struct osr_prng prng = { .state = seed };
		struct osr_arena arena[3] = { { 0 }, { 0 }, { 0 } };
		struct routed x, less, back, anew, most, more;
		struct osr_result was, then, stored;
		bool there[MAX_HOSTS], fewer[MAX_HOSTS];
		struct osr_diag diag = { "" };
		struct counted counted;
		struct shape shape;
		uint32_t all, i, n_away = 0;
		uint8_t *bytes;
		size_t size;

		draw_shape(&prng, &shape);
		all = shape.M[shape.h];
		draw_hosts(&prng, all, draw_number(&prng, &shape, seed % 2), there);
		memcpy(fewer, there, sizeof(fewer));
		count_set(&shape, there, &counted);
		for (i = 0; i < all; i++)
			if (osr_prng_below(&prng, 8) == 0 && 4 * ++n_away <= counted.n)
				fewer[i] = false;
		route(&shape, there, NULL, NULL, &x);
		was = result_of(&x);
		bytes = test_stored(&was, 1, &size);
		assert_non_null(bytes);
		if (osr_store_read(bytes, size, "x", "dmodk", 1, &arena[0], &arena[1], &arena[2],
				   &stored, &then, &diag))
			fail_msg("%s", diag.text);
		route(&shape, fewer, NULL, &stored, &less);
		route(&shape, fewer, NULL, NULL, &anew);
		changed_anew += count_changed(&x, &anew);
		if (count_changed(&x, &less))
			fail_msg("seed %u, %s: entries change when hosts die", seed, shape.text);
		then = result_of(&less);
		route(&shape, there, NULL, &then, &back);
		if (count_changed(&x, &back))
			fail_msg("seed %u, %s: entries change when hosts return", seed, shape.text);
		/*
		 * From what has never seen the others: they are new. One that is away at that time
		 * comes last.
		 */
		for (i = osr_prng_below(&prng, all); !fewer[i];)
			i = (i + 1) % all;
		memcpy(fewer, there, sizeof(fewer));
		fewer[i] = false;
		then = result_of(&anew);
		route(&shape, fewer, NULL, &then, &most);
		then = result_of(&most);
		route(&shape, there, NULL, &then, &more);
		count_set(&shape, there, &counted);
		take_order(&more, &counted);
		count_tables(&more, &counted);
		if (counted.n % period_of(&shape) == 0 && !at_bound(&counted))
			fail_msg("seed %u, %s: not at the bound with new hosts", seed, shape.text);
		free(bytes);
		for (i = 0; i < 3; i++)
			osr_arena_free(&arena[i]);
		drop(&x);
		drop(&less);
		drop(&back);
		drop(&anew);
		drop(&most);
		drop(&more);
		osr_net_free(&shape.net);
	}
	assert_true(changed_anew > 0);
}

/* The hosts that count first are at the bound by themselves, whichever others there are. */
static void test_first_hosts(void **state)
{
	uint32_t first, n = n_draws(&first) / 2, n_worse = 0, n_multiple = 0;

	for (uint32_t seed = first; seed < first + n; seed++) {
		struct osr_prng prng = { .state = seed };
		bool there[MAX_HOSTS], compute[MAX_HOSTS];
		struct counted counted, plain;
		struct routed routed;
		struct shape shape;
		uint32_t all, hosts;

		draw_shape(&prng, &shape);
		all = shape.M[shape.h];
		hosts = draw_number(&prng, &shape, true);
		draw_hosts(&prng, all, hosts, compute);
		for (uint32_t i = 0; i < all; i++)
			there[i] = compute[i] || osr_prng_below(&prng, 2);
		count_set(&shape, compute, &counted);
		plain = counted;
		route(&shape, there, compute, NULL, &routed);
		count_tables(&routed, &counted);
		drop(&routed);
		route(&shape, there, NULL, NULL, &routed);
		count_tables(&routed, &plain);
		drop(&routed);
		if (hosts % period_of(&shape) == 0 && !at_bound(&counted))
			fail_msg("seed %u, %s: %u compute nodes have %lu flows, bound %lu", seed,
				 shape.text, hosts, counted.load, counted.least);
		n_multiple += hosts % period_of(&shape) == 0;
		n_worse += hosts % period_of(&shape) == 0 && !at_bound(&plain);
		osr_net_free(&shape.net);
	}
	/* Without the list they mostly are not. */
	assert_true(2 * n_multiple > n && 4 * n_worse > n_multiple);
}

TEST_PROGRAM(test_subsets, test_numbers_stay, test_first_hosts)
