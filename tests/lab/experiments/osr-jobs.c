/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Jobs on random hosts of a fat tree, each at a random stage of a shift of its ranks:
 *
 *	osr-jobs TREE LINKS SIZES SEED DRAWS ROUTING
 *		TREE		as "m=6,6,6 w=1,6,6"
 *		LINKS		so many cables are missing, drawn by the seed
 *		SIZES		of the jobs, with commas
 *		ROUTING		dmodk: tables of the engine, first LIDs
 *				key: one key a job, asked for at its start
 *				ark, nrk: a key for each job and stage, made in turn
 *				dmodk-random, key-random: the same with ranks in random order
 *
 *	Prints the most flows on a cable between switches, means over the draws: all jobs at once; on the cables of one
 *	job while each other one communicates with 20 %; one job alone, and the most of any; then how many jobs have a
 *	key that fits, and how many the first LIDs serve.
 *
 * Flows are followed through the tables; the random numbers are those of the seed for every routing.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/scheduler.h"
#include <osmroutes/prng.h>

#include "unit/sweeps.h"
#include "unit/topos.h"

#define MAX_JOBS 64
#define OTHERS 20 /* percent of the time in which another job communicates */

struct crew {
	uint32_t n, *term; /* [n] by rank */
	uint32_t offset, shift;
	bool fits;
};

static struct hall {
	struct osr_arena arena, scratch, keys;
	struct osr_fabric fabric;
	struct osr_pgft pgft;
	struct osr_result base;
	uint8_t *lft; /* base, and entries of keys */
	struct crew crew[MAX_JOBS];
	uint32_t n_crews;
	uint32_t *load; /* [n_channels] */
	struct osr_prng prng;
	struct osr_diag diag;
} hall;

static void must(enum osr_status st, const char *what)
{
	if (!st)
		return;
	fprintf(stderr, "osr-jobs: %s: %s\n", what, hall.diag.text);
	exit(1);
}

static size_t lft_size(void)
{
	return (size_t)hall.fabric.n_dests * hall.fabric.n_switches;
}

static void build(const char *tree, uint32_t n_links, uint64_t seed)
{
	const struct osr_degrade how = { .n_links = n_links, .seed = seed, .keep_connected = true };
	const struct osr_request request = { .max_vls = 8 };
	struct osr_pgft_options options = { .max_missing = 50 };
	struct osr_sweep sweep;
	char what[200];

	snprintf(what, sizeof(what), "tree %s", tree);
	topo_broken(what, how, 1, &hall.arena, &hall.fabric);
	hall.base.fabric = hall.fabric;
	must(test_route("dmodk", "", request, NULL, &hall.arena, &hall.base, &sweep, &hall.diag),
	     "the tables");
	must(osr_pgft_find(&hall.fabric, &options, &hall.arena, &hall.pgft, &hall.diag),
	     "the tree");
	hall.lft = osr_alloc(&hall.arena, lft_size(), 1);
	hall.load = osr_calloc(&hall.arena, hall.fabric.n_channels, sizeof(*hall.load));
	memcpy(hall.lft, hall.base.routing.lft, lft_size());
}

/* Hosts are dealt out to the jobs at random. */
static void deal(const char *sizes)
{
	uint32_t *host = osr_alloc(&hall.arena, hall.pgft.n_order, sizeof(*host)), used = 0;
	char *text = strdup(sizes), *rest = NULL;

	memcpy(host, hall.pgft.order, hall.pgft.n_order * sizeof(*host));
	osr_prng_shuffle(&hall.prng, host, hall.pgft.n_order);
	for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		struct crew *crew = &hall.crew[hall.n_crews++];
		const struct osr_key_job job = { &hall.pgft, &hall.scratch, NULL, &hall.diag };
		uint32_t *place;

		crew->n = (uint32_t)atoi(word);
		assert(used + crew->n <= hall.pgft.n_order);
		crew->term = osr_alloc(&hall.arena, crew->n, sizeof(*crew->term));
		place = osr_alloc(&hall.arena, crew->n, sizeof(*place));
		must(osr_job_order(&job, host + used, crew->n, place), "the order");
		for (uint32_t i = 0; i < crew->n; i++)
			crew->term[i] = host[used + place[i]];
		used += crew->n;
	}
	free(text);
}

/* One key a job, by the scheduler. */
static void ask_keys(void)
{
	const struct osr_sched_limits limits = { .max_apps = MAX_JOBS,
						 .max_apps_of_owner = MAX_JOBS,
						 .max_keys = 1,
						 .choice = OSR_KEY_FINE };
	struct osr_sched *sched = osr_sched_new(&limits);
	struct osr_overlay_entry *entry;
	uint32_t n;

	must(osr_sched_fabric(sched, &hall.fabric, &hall.base.routing, &hall.diag), "the fabric");
	for (uint32_t i = 0; i < hall.n_crews; i++) {
		struct crew *crew = &hall.crew[i];
		uint64_t *host = calloc(crew->n, sizeof(*host));
		struct osr_sched_in in = { .n_ranks = crew->n, .host = host, .job = true };
		struct osr_sched_app *app;

		for (uint32_t r = 0; r < crew->n; r++)
			host[r] = hall.fabric.term_guid[crew->term[r]];
		must(osr_sched_place(sched, &in, &app, &hall.diag), "a job");
		must(osr_sched_request(sched, app, 0, &hall.diag), "a key");
		crew->offset = app->slot[0].offset;
		crew->fits = app->key[0].worth.fits;
		assert(!memcmp(app->term, crew->term, crew->n * sizeof(*crew->term)));
		free(host);
	}
	must(osr_sched_collect(sched, &hall.arena, &entry, &n, &hall.diag), "the entries");
	for (uint32_t i = 0; i < n; i++)
		hall.lft[(size_t)entry[i].dest * hall.fabric.n_switches + entry[i].sw] =
			entry[i].port;
	osr_sched_free(sched);
}

/* Adds the flows of a job's stage to the load. */
static void add_stage(const struct crew *crew)
{
	for (uint32_t r = 0; r < crew->n; r++) {
		uint32_t to = crew->term[(r + crew->shift) % crew->n];
		uint32_t at = hall.fabric.term_switch[crew->term[r]];
		uint32_t d = hall.fabric.lid_dest[hall.fabric.term_lid[to] + crew->offset];

		while (at != hall.fabric.term_switch[to]) {
			uint32_t c =
				osr_port_channel(&hall.fabric, at,
						 hall.lft[(size_t)d * hall.fabric.n_switches + at]);

			assert(c != OSR_NONE);
			hall.load[c]++;
			at = hall.fabric.chan_dst[c];
		}
	}
}

static void forget_load(void)
{
	memset(hall.load, 0, hall.fabric.n_channels * sizeof(*hall.load));
}

static uint32_t most_loaded(void)
{
	uint32_t most = 0;

	for (uint32_t c = 0; c < hall.fabric.n_channels; c++)
		most = hall.load[c] > most ? hall.load[c] : most;
	return most;
}

/* The most on the cables of one job. */
static uint32_t most_of(const struct crew *crew)
{
	uint32_t *all = malloc(hall.fabric.n_channels * sizeof(*all)), most = 0;

	memcpy(all, hall.load, hall.fabric.n_channels * sizeof(*all));
	forget_load();
	add_stage(crew);
	for (uint32_t c = 0; c < hall.fabric.n_channels; c++)
		if (hall.load[c] && all[c] > most)
			most = all[c];
	memcpy(hall.load, all, hall.fabric.n_channels * sizeof(*all));
	free(all);
	return most;
}

/* A key for the stage of each job, in turn. */
static void make_stage_keys(enum osr_key_choice choice)
{
	const struct osr_key_job job = { &hall.pgft, &hall.scratch, &hall.keys, &hall.diag };

	memcpy(hall.lft, hall.base.routing.lft, lft_size());
	forget_load();
	for (uint32_t i = 0; i < hall.n_crews; i++) {
		const struct crew *crew = &hall.crew[i];
		struct osr_pair *pair = calloc(crew->n, sizeof(*pair));
		struct osr_key_routes routes;
		struct osr_key key;

		for (uint32_t r = 0; r < crew->n; r++)
			pair[r] = (struct osr_pair){ crew->term[r],
						     crew->term[(r + crew->shift) % crew->n] };
		must(osr_key_make(&job, pair, crew->n, &key), "a key");
		key.spread = i + 1;
		must(osr_key_place(&job, &key, hall.load, choice, &routes), "a key");
		for (uint32_t e = 0; e < routes.n_entries; e++) {
			uint32_t lid = hall.fabric.term_lid[routes.entry[e].term];

			hall.lft[(size_t)hall.fabric.lid_dest[lid] * hall.fabric.n_switches +
				 routes.entry[e].sw] = routes.entry[e].port;
		}
		add_stage(crew);
		free(pair);
		osr_arena_free(&hall.keys);
	}
}

static void draw_stages(const char *routing, uint32_t draws)
{
	double all = 0, one = 0, alone = 0;
	uint32_t worst = 0;

	for (uint32_t k = 0; k < draws; k++) {
		const struct crew *me = &hall.crew[k % hall.n_crews];
		uint32_t most;

		for (uint32_t i = 0; i < hall.n_crews; i++)
			hall.crew[i].shift = 1 + osr_prng_below(&hall.prng, hall.crew[i].n - 1);
		if (!strcmp(routing, "ark") || !strcmp(routing, "nrk"))
			make_stage_keys(*routing == 'a' ? OSR_KEY_AS_IS : OSR_KEY_FINE);
		forget_load();
		for (uint32_t i = 0; i < hall.n_crews; i++)
			add_stage(&hall.crew[i]);
		all += most_loaded();
		forget_load();
		for (uint32_t i = 0; i < hall.n_crews; i++)
			if (osr_prng_below(&hall.prng, 100) < OTHERS || &hall.crew[i] == me)
				add_stage(&hall.crew[i]);
		one += most_of(me);
		forget_load();
		add_stage(me);
		most = most_loaded();
		alone += most;
		worst = most > worst ? most : worst;
	}
	printf("%.2f %.2f %.2f %u", all / draws, one / draws, alone / draws, worst);
}

int main(int argc, char **argv)
{
	uint32_t n_fit = 0, n_base = 0;

	if (argc != 7) {
		fprintf(stderr, "usage: osr-jobs TREE LINKS SIZES SEED DRAWS ROUTING\n");
		return 2;
	}
	hall.prng.state = strtoull(argv[4], NULL, 10);
	build(argv[1], (uint32_t)atoi(argv[2]), hall.prng.state);
	deal(argv[3]);
	if (!strncmp(argv[6], "key", 3))
		ask_keys();
	for (uint32_t i = 0; i < hall.n_crews; i++) {
		n_fit += hall.crew[i].fits;
		n_base += !hall.crew[i].offset;
		if (strstr(argv[6], "random")) {
			struct osr_prng prng = { i + 1 };

			osr_prng_shuffle(&prng, hall.crew[i].term, hall.crew[i].n);
		}
	}
	draw_stages(argv[6], (uint32_t)atoi(argv[5]));
	printf(" %u %u\n", n_fit, n_base);
	return 0;
}
