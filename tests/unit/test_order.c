/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The order of the nodes (lane, channel) of src/core/order. */
#include "test.h"

#include "core/order/order.h"
#include "fabrics.h"

/*
 * ---- The order of nodes (lane, channel), against a matrix and a search for cycles in it: lanes by
 * SL, and by turn.
 */

#define MAX_CHANNELS 64
#define N_LANES 3

/* Of each turn the lanes that take it, and the lane on which they go on. */
struct model {
	const struct osr_fabric *fabric;
	bool by_turn;
	uint16_t used[MAX_CHANNELS][MAX_CHANNELS];
	uint8_t lane[MAX_CHANNELS][MAX_CHANNELS];
};

/*
 * Does a packet that holds channel c on this lane wait for (to_lane, to), over what others wait
 * for?
 */
static bool leads_to(const struct model *model, unsigned lane, uint32_t c, unsigned to_lane,
		     uint32_t to, bool *seen)
{
	if (c == to && lane == to_lane)
		return true;
	if (seen[lane * MAX_CHANNELS + c])
		return false;
	seen[lane * MAX_CHANNELS + c] = true;
	for (uint32_t next = 0; next < model->fabric->n_channels; next++)
		if (model->used[c][next] >> lane & 1 &&
		    leads_to(model, model->by_turn ? model->lane[c][next] : lane, next, to_lane, to,
			     seen))
			return true;
	return false;
}

/* All lanes, or none if one of them would close a cycle. */
static bool model_add(struct model *model, uint32_t c1, uint32_t c2, uint16_t lanes)
{
	uint16_t was = model->used[c1][c2];

	for (unsigned lane = 0; lane < N_LANES; lane++) {
		bool seen[N_LANES * MAX_CHANNELS] = { false };

		if (!(lanes >> lane & 1) || was >> lane & 1)
			continue;
		if (leads_to(model, model->by_turn ? model->lane[c1][c2] : lane, c2, lane, c1,
			     seen)) {
			model->used[c1][c2] = was;
			return false;
		}
		model->used[c1][c2] |= (uint16_t)(1u << lane);
	}
	return true;
}

static void assert_same(const struct osr_order *order, const struct model *model)
{
	const struct osr_fabric *fabric = order->fabric;
	const uint32_t *rank = order->rank;
	bool taken[N_LANES * MAX_CHANNELS] = { false };

	for (uint32_t i = 0; i < N_LANES * fabric->n_channels; i++) {
		assert_true(rank[i] < N_LANES * fabric->n_channels && !taken[rank[i]]);
		taken[rank[i]] = true;
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		for (uint32_t o = fabric->chan_row[fabric->chan_dst[c]];
		     o < fabric->chan_row[fabric->chan_dst[c] + 1]; o++) {
			uint32_t turn = osr_turn(order->fabric, c, o);

			assert_int_equal(order->used[turn], model->used[c][o]);
			assert_true(!model->by_turn || order->lane[turn] == model->lane[c][o]);
			for (unsigned lane = 0; lane < N_LANES; lane++)
				if (order->used[turn] >> lane & 1)
					assert_true(
						rank[lane * fabric->n_channels + c] <
						rank[(model->by_turn ? model->lane[c][o] : lane) *
							     fabric->n_channels +
						     o]);
		}
}

/* Places 0 .. n-1 that rise with the keys, then with the nodes. */
static void assert_placed(const struct osr_order *order, const uint32_t *keys)
{
	uint32_t n = N_LANES * order->fabric->n_channels;

	for (uint32_t c = 0; c < n; c++) {
		uint32_t before = 0;

		for (uint32_t o = 0; o < n; o++)
			before += keys[o] < keys[c] || (keys[o] == keys[c] && o < c);
		assert_int_equal(order->rank[c], before);
	}
}

/* Does the turn rise on all these lanes as things are? */
static bool turn_rises(const struct osr_order *order, uint32_t c1, uint32_t c2, uint16_t lanes)
{
	uint32_t turn = osr_turn(order->fabric, c1, c2), m = order->fabric->n_channels;

	lanes &= (uint16_t)~order->used[turn];
	for (uint32_t l = 0; l < order->n_lanes; l++)
		if (lanes >> l & 1 &&
		    order->rank[l * m + c1] >=
			    order->rank[(order->lane ? order->lane[turn] : l) * m + c2])
			return false;
	return true;
}

/*
 * What rises already is not searched; a cycle is found without a second search; what is ranked
 * beyond the two ends is not looked at. Told of one lane: another one moves nodes before.
 */
static uint64_t most_work(const struct osr_order *order, uint32_t c1, uint32_t c2, uint16_t lanes,
			  bool fits)
{
	uint32_t turn = osr_turn(order->fabric, c1, c2), m = order->fabric->n_channels, lane = 0,
		 to;

	if (turn_rises(order, c1, c2, lanes))
		return 0;
	if (lanes & (lanes - 1))
		return UINT64_MAX;
	while (!(lanes >> lane & 1))
		lane++;
	to = order->rank[(order->lane ? order->lane[turn] : lane) * m + c2];
	return (uint64_t)(order->rank[lane * m + c1] - to + 1) * (fits ? 2 : 1);
}

/* One transaction; what its first half has added stays, or nothing, or all. */
static void transaction(struct osr_order *order, struct model *model, uint64_t *seed,
			unsigned *n_refused)
{
	const struct osr_fabric *fabric = order->fabric;
	struct model *before = malloc(sizeof(*model)), *half = malloc(sizeof(*model));
	unsigned n_adds = 1 + test_random(seed) % 6, what = test_random(seed) % 3;
	uint32_t n_log = 0;

	memcpy(before, model, sizeof(*model));
	osr_order_begin(order);
	for (unsigned i = 0; i < n_adds; i++) {
		uint32_t c1 = (uint32_t)(test_random(seed) % fabric->n_channels),
			 s = fabric->chan_dst[c1];
		uint32_t degree = fabric->chan_row[s + 1] - fabric->chan_row[s];
		uint32_t c2 = fabric->chan_row[s] + (uint32_t)(test_random(seed) % degree);
		uint16_t lanes = (uint16_t)(1 + test_random(seed) % ((1 << N_LANES) - 1));
		uint64_t before_work = order->work, most;
		bool fits, rises;

		if (model->by_turn && !model->used[c1][c2]) {
			model->lane[c1][c2] = (uint8_t)(test_random(seed) % N_LANES);
			assert_true(osr_order_set_lane(order, osr_turn(order->fabric, c1, c2),
						       model->lane[c1][c2]));
		}
		fits = model_add(model, c1, c2, lanes);
		rises = turn_rises(order, c1, c2, lanes);
		assert_true(fits || !rises);
		most = most_work(order, c1, c2, lanes, fits);
		assert_int_equal(osr_order_add(order, c1, c2, lanes), fits);
		assert_true(order->work - before_work <= most);
		*n_refused += !fits;
		if (i == n_adds / 2) {
			memcpy(half, model, sizeof(*model));
			n_log = order->n_log;
		}
	}
	if (what == 0)
		osr_order_undo(order, 0);
	else if (what == 1)
		osr_order_undo(order, n_log);
	if (what < 2)
		memcpy(model, what ? half : before, sizeof(*model));
	assert_same(order, model);
	free(before);
	free(half);
}

static void test_transactions(void **state)
{
	unsigned n_refused = 0, n = 0;

	for (unsigned i = 0; i < 80; i++) {
		struct osr_arena scratch = { 0 };
		struct test_fabric test;
		struct model *model = calloc(1, sizeof(*model));
		uint64_t seed = i;
		uint32_t keys[N_LANES * MAX_CHANNELS];
		struct osr_order order;

		test_fabric_random(&test, 4 + i % 6, 8 + i % 20, 70 + i);
		model->fabric = &test.fabric;
		model->by_turn = i >= 40;
		assert_in_range(test.fabric.n_channels, 1, MAX_CHANNELS);
		/* Of all sizes, and some alike. */
		for (size_t k = 0; k < (size_t)N_LANES * test.fabric.n_channels; k++)
			keys[k] =
				test_random(&seed) % 2
					? (uint32_t)(test_random(&seed) >> test_random(&seed) % 64)
					: (uint32_t)(k % 5);
		assert_int_equal(osr_order_init(&order, &test.fabric, N_LANES, model->by_turn, keys,
						20, &scratch, NULL),
				 OSR_OK);
		assert_placed(&order, keys);
		for (unsigned k = 0; k < 150; k++, n++)
			transaction(&order, model, &seed, &n_refused);
		osr_arena_free(&scratch);
		test_fabric_free(&test);
		free(model);
	}
	assert_true(n_refused > n / 4);
}

TEST_PROGRAM(test_transactions)
