/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See dimension.h. */
#include <osmroutes/dimension.h>

#include <stdlib.h>
#include <string.h>

#define UP 0
#define DOWN 1

/* ---- the plan -------------------------------------------------------------------------------- */

/*
 * Rings first, so that other dimensions behind them help to decide; of the rings those first that need such help most.
 */
static uint32_t need(const struct osr_product *product, uint32_t i)
{
	if (product->factor[i] != OSR_FACTOR_RING)
		return 0;
	if (product->size[i] % 2)
		return 1;
	return product->size[i] <= 8 ? 3 : 2;
}

bool osr_dor_plan(const struct osr_product *product, struct osr_dor_plan *plan)
{
	uint32_t weight = 1, last, n, n_states;

	*plan = (struct osr_dor_plan){ .p = product, .n_variants = 1 };
	if (product->n_rings > 4)
		return false;
	for (uint32_t i = 0; i < product->n_dims; i++) {
		for (uint32_t j = 0; j < product->n_dims; j++)
			plan->turn[i] += need(product, j) > need(product, i) ||
					 (need(product, j) == need(product, i) && j < i);
		plan->order[plan->turn[i]] = (uint8_t)i;
		plan->n_states[i] = product->factor[i] == OSR_FACTOR_RING ? 2 : 1;
	}
	/* In the last dimension a state of its own for opposite pairs 2k and 2k + 1, as far as the SLs go. */
	plan->n_sls = (uint8_t)(1u << product->n_rings);
	last = plan->order[product->n_dims - 1];
	n = product->size[last];
	n_states = 2 + (n + 3) / 4;
	if (product->factor[last] == OSR_FACTOR_RING && n % 2 == 0 &&
	    plan->n_sls / 2u * n_states <= OSR_DOR_SLS) {
		plan->n_states[last] = (uint8_t)n_states;
		plan->n_sls = (uint8_t)(plan->n_sls / 2u * n_states);
		plan->n_variants = n % 4 ? 2 : 1;
	}
	for (uint32_t i = 0; i < product->n_dims; i++) {
		plan->weight[i] = plan->n_states[i] > 1 ? (uint8_t)weight : 0;
		weight *= plan->n_states[i];
	}
	return true;
}

/* ---- ways ------------------------------------------------------------------------------------ */

/* From a place to the opposite one of a ring. */
static uint32_t way_across(const struct osr_dor_plan *plan, uint32_t i, const uint16_t *from,
			   const uint16_t *to, uint32_t variant)
{
	uint32_t half = plan->p->size[i] / 2, low = from[i] % half, sum = 0;

	if (plan->n_states[i] > 2 && half % 2 && low == half - 1)
		return variant < 2 ? variant : from[i] == low;
	if (plan->n_states[i] > 2)
		return low % 2;
	/* Seen alike from both ends, and while dimension i has its turn. */
	for (uint32_t k = plan->turn[i] + 1u; k < plan->p->n_dims; k++)
		sum += from[plan->order[k]] + to[plan->order[k]];
	return (low + sum + (from[i] >= half)) % 2;
}

static uint32_t way_around(const struct osr_dor_plan *plan, uint32_t i, const uint16_t *from,
			   const uint16_t *to, uint32_t variant)
{
	uint32_t n = plan->p->size[i], up = (to[i] + n - from[i]) % n;

	if (2 * up == n)
		return way_across(plan, i, from, to, variant);
	return 2 * up < n ? UP : DOWN;
}

/*
 * Outwards, all of an opposite plane would come to the LID by the same three links. Routes that come through a corner
 * next to its column turn off there, to the plane next to it; they load as few links of other dimensions as possible,
 * since only their last hop in each of these moves with them. With one other dimension there is no corner: then on the
 * side from which 2 of 6 come, not 3. Such a step leads towards the middle on lane 0, where it fits in front of everything.
 */
static bool turns_off_early(const struct osr_dor_plan *plan, const uint16_t *from,
			    const uint16_t *to, uint32_t variant)
{
	const struct osr_product *product = plan->p;
	uint32_t last = plan->order[product->n_dims - 1], n_beside = 0;

	for (uint32_t i = 0; i < product->n_dims; i++)
		if (product->size[i] != 6 || product->factor[i] != OSR_FACTOR_RING)
			return false;
	if (variant != 2 || product->n_dims < 2 || to[last] % 3 != 2 ||
	    from[last] != (to[last] + 3) % 6)
		return false;
	for (uint32_t k = 0; k + 1 < product->n_dims; k++) {
		uint32_t i = plan->order[k], up = (from[i] + 6u - to[i]) % 6, odd = to[i] % 2;

		n_beside += product->n_dims == 2 ? up == (odd ? 5u : 1u) : up == 1 || up == 5;
	}
	return n_beside == product->n_dims - 1;
}

/* The dimension in which packets leave `from`, and the coordinate there that is next. */
static uint32_t next_step(const struct osr_dor_plan *plan, const uint16_t *from, const uint16_t *to,
			  uint32_t variant, uint32_t *next)
{
	const struct osr_product *product = plan->p;
	uint32_t k = 0, i, n, a, way;

	while (from[plan->order[k]] == to[plan->order[k]])
		k++;
	i = plan->order[k];
	a = from[i];
	way = product->factor[i] == OSR_FACTOR_RING ? way_around(plan, i, from, to, variant)
						    : a > to[i];
	if (turns_off_early(plan, from, to, variant)) {
		i = plan->order[product->n_dims - 1];
		a = from[i];
		way = a == 2 ? UP : DOWN;
	}
	n = product->size[i];
	*next = product->factor[i] == OSR_FACTOR_CLIQUE ? to[i] : (a + (way == UP ? 1 : n - 1)) % n;
	return i;
}

void osr_dor_route(const struct osr_dor_plan *plan, uint32_t d, uint32_t variant, uint8_t *hop)
{
	const struct osr_fabric *fabric = plan->p->f;
	uint32_t root = fabric->dest_switch[d];
	const uint16_t *to = osr_product_coord(plan->p, root);

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t next, dim;

		if (v == root)
			continue;
		dim = next_step(plan, osr_product_coord(plan->p, v), to, variant, &next);
		hop[v] = osr_product_hop(plan->p, v, dim, next, d);
	}
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static uint32_t state(const struct osr_dor_plan *plan, uint32_t i, const uint16_t *from,
		      const uint16_t *to)
{
	uint32_t n = plan->p->size[i], a = from[i], b = to[i];

	if (a == b)
		return 0;
	if (plan->n_states[i] > 2 && (a > b ? a - b : b - a) * 2 == n)
		return 2 + a % (n / 2) / 2;
	return way_around(plan, i, from, to, 0) == UP ? a > b : a < b;
}

uint8_t osr_dor_sl(const struct osr_dor_plan *plan, uint32_t v, uint32_t root)
{
	const uint16_t *from = osr_product_coord(plan->p, v),
		       *to = osr_product_coord(plan->p, root);
	uint32_t sl = 0;

	for (uint32_t i = 0; i < plan->p->n_dims; i++)
		if (plan->weight[i])
			sl += plan->weight[i] * state(plan, i, from, to);
	return (uint8_t)sl;
}

uint32_t osr_dor_lane(const struct osr_dor_plan *plan, uint32_t c, uint32_t sl)
{
	const struct osr_product *product = plan->p;
	uint32_t i = product->chan_dim[c], n = product->size[i],
		 a = osr_product_coord(product, product->f->chan_src[c])[i],
		 b = osr_product_coord(product, product->f->chan_dst[c])[i],
		 way = (a + 1) % n == b ? UP : DOWN, low, link;

	if (sl == plan->n_sls)
		return 1;
	if (!plan->weight[i])
		return 0;
	sl = sl / plan->weight[i] % plan->n_states[i];
	if (sl < 2)
		return sl;
	/*
	 * The opposite pair of this state that goes this way; the one that is left over goes both ways. Of the two
	 * routes of a pair, the one that does not cross the dateline is on lane 0.
	 */
	low = 2 * (sl - 2) + way;
	low = low < n / 2 ? low : n / 2 - 1;
	link = way == UP ? a : b;
	return link < low || link >= low + n / 2;
}

/* ---- the order ------------------------------------------------------------------------------- */

/*
 * Keys are numbers of mixed radix, one digit for each dimension, the last one to have its turn highest. A digit holds,
 * one after the other: planes, and the channels that lead to the next plane inwards; channels outwards; lane 1.
 */
struct key {
	uint64_t key;
	uint32_t node; /* lane * n_channels + channel */
};

static int compare_keys(const void *p, const void *q)
{
	const struct key *a = p, *b = q;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static uint32_t from_middle(const struct osr_product *product, uint32_t i, uint32_t a)
{
	uint32_t middle = product->size[i] / 2;

	return a < middle ? middle - a : a - middle;
}

static uint32_t plane_digit(const struct osr_product *product, uint32_t i, uint32_t a)
{
	return 2 * (product->size[i] / 2 - from_middle(product, i, a));
}

/* Of a channel from a to b; `crosses`: on the lane of routes across the dateline. In a clique only multicast goes on. */
static uint32_t own_digit(const struct osr_product *product, uint32_t i, uint32_t a, uint32_t b,
			  bool crosses)
{
	uint32_t n = product->size[i], out = 2 * (n / 2) + 2;

	/* From the link between n/2 - 1 and n/2 on, which no route across the dateline uses. */
	if (crosses)
		return out + n + 1 +
		       ((a + 1) % n == b ? (a + n - n / 2) % n : (n / 2 - 1 + n - a) % n);
	/* Across the dateline: what comes there goes on in other dimensions only. */
	if (product->factor[i] == OSR_FACTOR_RING && (a > b ? a - b : b - a) > 1)
		return out + n;
	if (from_middle(product, i, b) < from_middle(product, i, a))
		return plane_digit(product, i, a) + 1;
	return out + from_middle(product, i, a);
}

enum osr_status osr_dor_rank(const struct osr_dor_plan *plan, uint32_t n_lanes,
			     struct osr_arena *scratch, uint32_t *rank, struct osr_diag *diag)
{
	const struct osr_product *product = plan->p;
	const struct osr_fabric *fabric = product->f;
	uint32_t m = fabric->n_channels, n_nodes = n_lanes * m;
	struct key *list = osr_alloc(scratch, n_nodes, sizeof(*list));

	if (!list)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the order of %u channels", m);
	for (uint32_t node = 0; node < n_nodes; node++) {
		uint32_t c = node % m, i = product->chan_dim[c];
		const uint16_t *from = osr_product_coord(product, fabric->chan_src[c]),
			       *to = osr_product_coord(product, fabric->chan_dst[c]);
		uint64_t key = 0;

		for (uint32_t k = product->n_dims; k-- > plan->turn[i];) {
			uint32_t j = plan->order[k], n = product->size[j];

			key = key * (4 * n + 4) +
			      (j != i ? plane_digit(product, j, from[j])
				      : own_digit(product, i, from[i], to[i],
						  node >= m && plan->weight[i]));
		}
		for (uint32_t k = plan->turn[i]; k-- > 0;)
			key *= 4 * product->size[plan->order[k]] + 4;
		list[node] = (struct key){ key, node };
	}
	qsort(list, n_nodes, sizeof(*list), compare_keys);
	for (uint32_t k = 0; k < n_nodes; k++)
		rank[list[k].node] = k;
	return OSR_OK;
}

void osr_dor_ring_order(const struct osr_dor_plan *plan, uint32_t *rank)
{
	const struct osr_product *product = plan->p;
	const struct osr_fabric *fabric = product->f;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t i = product->chan_dim[c], n = product->size[i],
			 a = osr_product_coord(product, fabric->chan_src[c])[i],
			 b = osr_product_coord(product, fabric->chan_dst[c])[i];

		rank[c] = 0;
		for (uint32_t k = 0; k < plan->turn[i]; k++)
			rank[c] += product->size[plan->order[k]];
		if (product->factor[i] == OSR_FACTOR_CLIQUE)
			continue;
		rank[c] += (a + 1) % n == b                        ? a
			   : product->factor[i] == OSR_FACTOR_RING ? (n - a) % n
								   : n - 1 - a;
	}
}

void osr_dor_tree(const struct osr_dor_plan *plan, uint32_t *parent)
{
	const struct osr_product *product = plan->p;
	const struct osr_fabric *fabric = product->f;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		const uint16_t *at = osr_product_coord(product, v);

		parent[v] = OSR_NONE;
		for (uint32_t k = product->n_dims; k-- > 0 && parent[v] == OSR_NONE;) {
			uint32_t i = plan->order[k], middle = product->size[i] / 2, a = at[i];
			uint32_t next = product->factor[i] == OSR_FACTOR_CLIQUE ? middle
					: a < middle                            ? a + 1
										: a - 1;

			if (a != middle)
				parent[v] = fabric->chan_row[v] +
					    osr_product_hop(product, v, i, next, 0);
		}
	}
}
