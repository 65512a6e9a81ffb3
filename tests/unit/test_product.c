/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where switches belong: whatever was shuffled and whatever died, coordinates must be those of the
 * torus that was drawn, up to its symmetries; and a failure must not move the others.
 */
#include "test.h"

#include <osmroutes/product.h>

#include "tori.h"

static const char *const shapes[] = {
	"8r 8r",   "16r 16r", "6r 6r 6r",    "5r 4r 3r 2",  "4r 2 2 2",     "8r 8r 8r", "7r",
	"3r 3r",   "5r 5r",   "3r 4r 5r",    "4 4",         "8 8",          "5 4 3",    "2 2 2 2",
	"9",       "8r 3",    "4r 4r 4r",    "3r 3r 3r 3r", "2 2 3r 2 2 2", "6r 2",     "12r 5",
	"5r 3r 2", "4 2",     "10r 10r 3r",  "2 2",         "6 6 6",        "2",        "4r",
	"3r",      "7r 7r 2", "5r 4r 3r 3r",
};

#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static uint32_t gap(const struct osr_product *product, const uint16_t *a, const uint16_t *b)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < product->n_dims; i++) {
		uint32_t up = (uint32_t)(b[i] + product->size[i] - a[i]) % product->size[i];
		uint32_t d = (uint32_t)abs((int)b[i] - (int)a[i]);

		sum += product->factor[i] == OSR_FACTOR_CLIQUE ? d != 0
		       : product->factor[i] == OSR_FACTOR_PATH ? d
		       : up < product->size[i] - up            ? up
							       : product->size[i] - up;
	}
	return sum;
}

static uint32_t true_gap(const struct test_torus *torus, uint32_t p, uint32_t q)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < torus->n_dims; i++) {
		uint32_t a = test_torus_coord(torus, p, i), b = test_torus_coord(torus, q, i);
		uint32_t line = a < b ? b - a : a - b, round = torus->size[i] - line;

		sum += torus->ring[i] && round < line ? round : line;
	}
	return sum;
}

/* Neighbours are neighbours, and nobody shares a place. */
static void assert_embedded(const struct test_fabric *test, const struct osr_product *product)
{
	const struct osr_fabric *fabric = &test->fabric;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (gap(product, osr_product_coord(product, fabric->chan_src[c]),
			osr_product_coord(product, fabric->chan_dst[c])) != 1)
			fail_msg("%s: channel %u is no step", test->name, c);
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		for (uint32_t u = 0; u < v; u++)
			assert_true(gap(product, osr_product_coord(product, v),
					osr_product_coord(product, u)) > 0);
}

/*
 * The same distance between any two switches: then coordinates are right, up to symmetry. A switch
 * on its last cable may be at more than one place: `percent` of the distances may differ.
 */
static void assert_same_distances(const struct test_torus *torus, const struct test_fabric *test,
				  const struct osr_product *product, unsigned percent)
{
	uint32_t step = test->fabric.n_switches > 200 ? 7 : 1, n = 0, wrong = 0;

	for (uint32_t v = 0; v < test->fabric.n_switches; v += step)
		for (uint32_t u = 0; u < test->fabric.n_switches; u++) {
			uint32_t p = test_torus_place(torus, test->fabric.sw_guid[v]);
			uint32_t q = test_torus_place(torus, test->fabric.sw_guid[u]);

			n++;
			wrong += gap(product, osr_product_coord(product, v),
				     osr_product_coord(product, u)) != true_gap(torus, p, q);
		}
	if (wrong * 100 > n * percent)
		fail_msg("%s: %u of %u distances differ", test->name, wrong, n);
}

static void test_whole(void **state)
{
	for (unsigned i = 0; i < N_SHAPES; i++)
		for (unsigned seed = 0; seed < 3; seed++) {
			struct test_torus torus = { .dims = shapes[i],
						    .hosts = 1,
						    .shuffle = seed,
						    .cables = 1 + seed / 2 };
			struct osr_arena scratch = { 0 };
			struct osr_diag diag = { "" };
			struct test_fabric test;
			struct osr_product product;

			test_torus_draw(&torus, &test);
			if (osr_product_find(&test.fabric, &scratch, &product, &diag) != OSR_OK)
				fail_msg("%s: %s", test.name, diag.text);
			assert_int_equal(product.n_places, torus.n_places);
			assert_true(osr_product_is_whole(&product));
			assert_embedded(&test, &product);
			assert_same_distances(&torus, &test, &product, 0);
			osr_arena_free(&scratch);
			test_fabric_free(&test);
		}
}

/* What became of many. */
struct tally {
	unsigned n, refused, moved;
};

static void find(struct test_torus torus, struct tally *tally)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct test_fabric test;
	struct osr_product product;

	test_torus_draw(&torus, &test);
	if (torus.n_places >= 24 && test.fabric.n_components == 1) {
		tally->n++;
		if (osr_product_find(&test.fabric, &scratch, &product, &diag) != OSR_OK) {
			tally->refused++;
			printf("%s: %s\n", test.name, diag.text);
		} else if (product.n_places != torus.n_places) {
			/* A row too many, of switches on their last cables. */
			tally->moved++;
			assert_embedded(&test, &product);
		} else {
			assert_embedded(&test, &product);
			assert_same_distances(&torus, &test, &product, 8);
		}
	}
	osr_arena_free(&scratch);
	test_fabric_free(&test);
}

/* `most` refusals of a thousand. */
static void assert_found(const struct tally *tally, unsigned most)
{
	printf("%u damaged ones, %u refused, %u otherwise\n", tally->n, tally->refused,
	       tally->moved);
	assert_true(tally->refused * 1000 <= tally->n * most);
	assert_true(tally->moved * 50 <= tally->n);
}

/*
 * With a switch, up to three cables or both missing. Of narrow ones what is left of one or two of a
 * thousand need not be enough to tell. OSR_FIRST, OSR_CASES: for campaigns.
 */
static void test_damaged(void **state)
{
	static const char *const narrow[] = { "12r 5", "5r 5r",      "4 4 4 4", "8 8",
					      "6r 6r", "5r 4r 3r 2", "8r 6r 2", "4r 2 2 2" };
	unsigned first = test_number("OSR_FIRST", 0), n_cases = test_number("OSR_CASES", 200);
	struct test_torus torus = { .hosts = 1 };
	struct tally wide = { 0 }, thin = { 0 };

	for (unsigned k = first; k < first + n_cases; k++) {
		torus.fault_seed = k;
		torus.shuffle = 1 + k;
		torus.dims = shapes[k % 18];
		torus.dead_switches = k % 2;
		torus.dead_links = k % 2 ? k % 3 : 1 + k % 3;
		find(torus, &wide);
		torus.dims = narrow[k % 8];
		torus.dead_switches = k / 8 % 3 > 0;
		torus.dead_links = k / 8 % 3 == 1 ? 0 : 3;
		find(torus, &thin);
	}
	/* One that once was not recognised. */
	torus = (struct test_torus){
		.dims = "12r 5", .hosts = 1, .shuffle = 5495, .fault_seed = 5494, .dead_links = 3
	};
	find(torus, &thin);
	assert_found(&wide, 0);
	assert_found(&thin, 2);
}

TEST_PROGRAM(test_whole, test_damaged)
