/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The order of a job's ranks, and its key beside the routes that the first LIDs have. */
#include "job_private.h"

#include <osmroutes/invariant.h>

#include <stdlib.h>
#include <string.h>

/* The order of ranks --------------------------------------------------------------------------- */

/* A host of the list, and the places of the first hosts of the sub-trees that it is in. */
struct listed {
	uint32_t leaf, tree, a; /* leaf: OSR_NONE, on none */
	uint32_t place;
	uint32_t first[OSR_PGFT_MAX_LEVELS + 1]; /* by level */
};

static int by_leaf(const void *host, const void *other)
{
	const struct listed *one = host, *two = other;

	if (one->tree != two->tree)
		return one->tree < two->tree ? -1 : 1;
	if (one->a != two->a)
		return one->a < two->a ? -1 : 1;
	return one->place < two->place ? -1 : 1;
}

static int by_first_host(const void *host, const void *other)
{
	const struct listed *one = host, *two = other;

	for (uint32_t t = OSR_PGFT_MAX_LEVELS; t > 0; t--)
		if (one->first[t] != two->first[t])
			return one->first[t] < two->first[t] ? -1 : 1;
	return one->place < two->place ? -1 : 1;
}

/* A of the sub-tree of level t that the leaf at `a` is in. */
static uint32_t ancestor(const struct osr_pgft_tree *tree, uint32_t t, uint32_t a)
{
	return a / (tree->m_product[t] / tree->m_product[1]);
}

/* Are both in one sub-tree of level t? From the top of a tree upwards, in one tree. */
static bool share(const struct osr_pgft *pgft, const struct listed *one, const struct listed *two,
		  uint32_t t)
{
	const struct osr_pgft_tree *tree;

	if (one->tree != two->tree || one->leaf == OSR_NONE)
		return one->tree == two->tree;
	tree = &pgft->tree[one->tree];
	return t >= tree->h || ancestor(tree, t, one->a) == ancestor(tree, t, two->a);
}

enum osr_status osr_job_order(const struct osr_key_job *job, const uint32_t *term, uint32_t n,
			      uint32_t *place)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct listed *listed = osr_calloc(job->scratch, n, sizeof(*listed));

	if (osr_arena_failed(job->scratch, job->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t leaf = term[i] == OSR_NONE ? OSR_NONE : osr_leaf_of(job->pgft, term[i]);

		listed[i] = (struct listed){ leaf, OSR_NONE, 0, i, { 0 } };
		if (leaf == OSR_NONE)
			continue;
		listed[i].tree = job->pgft->sw_tree[leaf];
		listed[i].a = job->pgft->sw_a[leaf];
	}
	/* Hosts of one sub-tree stand together now; the first of the list in each names it. */
	qsort(listed, n, sizeof(*listed), by_leaf);
	for (uint32_t t = 1; t <= OSR_PGFT_MAX_LEVELS; t++)
		for (uint32_t i = 0, end; i < n; i = end) {
			uint32_t first = listed[i].place;

			for (end = i + 1; end < n; end++) {
				if (!share(job->pgft, &listed[i], &listed[end], t))
					break;
				first = listed[end].place < first ? listed[end].place : first;
			}
			if (listed[i].leaf == OSR_NONE)
				first = n;
			for (uint32_t k = i; k < end; k++)
				listed[k].first[t] = first;
		}
	qsort(listed, n, sizeof(*listed), by_first_host);
	for (uint32_t i = 0; i < n; i++)
		place[i] = listed[i].place;
	osr_arena_reset(job->scratch, mark);
	return OSR_OK;
}

/* The key as a whole --------------------------------------------------------------------------- */

/* The ranks that are on leaves, their sub-trees, and the cables of these. */
static enum osr_status gather(const struct osr_key_job *job, const uint32_t *term, uint32_t n,
			      struct osr_ranks *ranks)
{
	const struct osr_pgft *pgft = job->pgft;
	uint32_t *here = osr_alloc(job->scratch, n, sizeof(*here));
	enum osr_status st;

	ranks->number = osr_alloc(job->scratch, n, sizeof(*ranks->number));
	if (osr_arena_failed(job->scratch, job->diag))
		return OSR_NOMEM;
	ranks->term = here;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t leaf = term[i] == OSR_NONE ? OSR_NONE : osr_leaf_of(pgft, term[i]);
		const struct osr_pgft_tree *tree;

		ranks->n_elsewhere += term[i] != OSR_NONE && leaf == OSR_NONE;
		if (leaf == OSR_NONE)
			continue;
		tree = &pgft->tree[pgft->sw_tree[leaf]];
		if (ranks->tree && ranks->tree != tree)
			return osr_fail(job->diag, OSR_INVAL,
					"the hosts belong to several trees of the fabric");
		ranks->tree = tree;
		here[ranks->n++] = term[i];
	}
	if (!ranks->tree)
		return OSR_OK;
	st = osr_check_tree(job, ranks->tree);
	ranks->whole = !ranks->tree->n_missing_links && !ranks->tree->n_missing_switches;
	for (uint32_t t = 1; !st && t < ranks->tree->h; t++) {
		uint32_t run = 0, *a = osr_alloc(job->scratch, ranks->n, sizeof(*a));

		if (osr_arena_failed(job->scratch, job->diag))
			return OSR_NOMEM;
		ranks->a[t] = a;
		ranks->cables[t] =
			(uint64_t)ranks->tree->w_product[t] * osr_n_planes(ranks->tree, t);
		for (uint32_t i = 0; i < ranks->n; i++) {
			a[i] = ancestor(ranks->tree, t, pgft->sw_a[osr_leaf_of(pgft, here[i])]);
			run = i && a[i] == a[i - 1] ? run + 1 : 1;
			ranks->most[t] = run > ranks->most[t] ? run : ranks->most[t];
		}
	}
	if (st || ranks->tree->h == 0)
		return st;
	ranks->a[ranks->tree->h] = osr_calloc(job->scratch, ranks->n, sizeof(uint32_t));
	return osr_arena_failed(job->scratch, job->diag) ? OSR_NOMEM : OSR_OK;
}

/* In one stage all ranks of a sub-tree send out of it, or as many as there are others. */
static uint32_t bound_of(const struct osr_ranks *ranks)
{
	uint32_t bound = 1;

	for (uint32_t t = 1; t < ranks->tree->h; t++)
		for (uint32_t i = 0, end; i < ranks->n; i = end) {
			uint32_t size, cables = 0;

			end = osr_run_end(ranks, t, i);
			size = end - i < ranks->n - end + i ? end - i : ranks->n - end + i;
			for (uint64_t c = 0; c < ranks->cables[t]; c++)
				cables += osr_cable(ranks, t, ranks->a[t][i], c) != OSR_NONE;
			if (cables && (size + cables - 1) / cables > bound)
				bound = (size + cables - 1) / cables;
		}
	return bound;
}

static int by_terminal(const void *one, const void *two)
{
	const struct osr_key_entry *a = one, *b = two;

	return a->term < b->term ? -1 : a->term > b->term;
}

/* The ports as entries, by terminal, then switch. */
static enum osr_status write_job(const struct osr_key_job *job, const struct osr_ranks *ranks,
				 const uint8_t *port, struct osr_key_routes *routes)
{
	uint32_t n_switches = job->pgft->fabric->n_switches;
	size_t size = (size_t)ranks->n * n_switches, n = 0;
	/* `sw` is the rank here. */
	struct osr_key_entry *order = osr_alloc(job->scratch, ranks->n, sizeof(*order));

	for (size_t i = 0; i < size; i++)
		n += port[i] != 0;
	routes->entry = osr_alloc(job->arena, n, sizeof(*routes->entry));
	if (osr_arena_failed(job->scratch, job->diag) || osr_arena_failed(job->arena, job->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < ranks->n; i++)
		order[i] = (struct osr_key_entry){ i, ranks->term[i], 0 };
	qsort(order, ranks->n, sizeof(*order), by_terminal);
	for (uint32_t i = 0; i < ranks->n; i++)
		for (uint32_t s = 0; s < n_switches; s++) {
			uint8_t out = port[(size_t)order[i].sw * n_switches + s];

			if (out)
				routes->entry[routes->n_entries++] =
					(struct osr_key_entry){ s, order[i].term, out };
		}
	return OSR_OK;
}

/* Ranks that some leaf has no port to. */
static uint32_t count_left_out(const struct osr_ranks *ranks, const uint8_t *port)
{
	const struct osr_fabric *fabric = ranks->pgft->fabric;
	uint32_t n = 0;

	for (uint32_t to = 0; to < ranks->n; to++) {
		bool lacks = false;

		for (uint32_t i = 0; i < ranks->n; i++)
			lacks |= ranks->a[1][i] != ranks->a[1][to] &&
				 !port[(size_t)to * fabric->n_switches +
				       fabric->term_switch[ranks->term[i]]];
		n += lacks;
	}
	return n;
}

/* The stages of these tables, as far as the most in one is no more than `enough`. */
static enum osr_status judge_stages(const struct osr_ranks *ranks, struct osr_job_rows rows,
				    uint32_t enough, struct osr_job_worth *worth)
{
	uint32_t most = osr_job_contention(ranks, rows, OSR_SHIFTS, enough, &worth->sum);
	uint64_t sum;

	worth->contention = most;
	worth->fits = !worth->n_left_out && most <= 1;
	worth->exchanges =
		worth->fits && osr_job_contention(ranks, rows, OSR_EXCHANGES, 1, &sum) <= 1;
	return most == UINT32_MAX ? OSR_NOMEM : OSR_OK;
}

/*
 * Takes the routes of the first LIDs, without a key whatever they are worth. With one, if they
 * serve the job as well and meet other jobs no more than the key does.
 */
static enum osr_status take_first(const struct osr_ranks *ranks, const uint8_t *first, bool has_key,
				  struct osr_arena *arena, struct osr_job_worth *worth,
				  struct osr_key_routes *routes)
{
	struct osr_job_rows rows = { first, ranks->term };
	struct osr_job_worth of_first = *worth;
	struct osr_key_routes first_routes = { 0 };
	enum osr_status st;

	of_first.n_left_out = ranks->n_elsewhere;
	of_first.base = true;
	st = judge_stages(ranks, rows, has_key ? worth->contention : UINT32_MAX, &of_first);
	if (st || (has_key && (of_first.contention > worth->contention ||
			       of_first.sum > worth->sum || of_first.exchanges < worth->exchanges)))
		return st;
	st = osr_job_loads(ranks, rows, arena, &of_first, &first_routes);
	if (st || (has_key && of_first.meets > worth->meets))
		return st;
	*routes = first_routes;
	*worth = of_first;
	return OSR_OK;
}

/* Routes by numbers: ports, and what they are worth. On a whole tree the windows say it. */
static enum osr_status take_key(struct osr_ranks *ranks, uint8_t *port, struct osr_arena *arena,
				struct osr_job_worth *worth, struct osr_key_routes *routes)
{
	struct osr_job_rows rows = { port, NULL };
	bool windows, powers;
	enum osr_status st = osr_job_numbers(ranks, &windows, &powers);

	if (!st)
		st = osr_job_tables(ranks, port);
	if (!st)
		st = osr_job_loads(ranks, rows, arena, worth, routes);
	if (st)
		return st;
	worth->n_left_out = ranks->n_elsewhere;
	if (!ranks->whole)
		worth->n_left_out += count_left_out(ranks, port);
	if (!ranks->whole || !windows)
		return judge_stages(ranks, rows, UINT32_MAX, worth);
	worth->contention = 1;
	worth->sum = ranks->n - 1;
	worth->fits = !worth->n_left_out;
	worth->exchanges = powers && worth->fits;
	return OSR_OK;
}

enum osr_status osr_job_place(const struct osr_key_job *job, const uint32_t *term, uint32_t n,
			      const uint32_t *load, const uint8_t *first,
			      enum osr_job_choice choice, struct osr_job_worth *worth,
			      struct osr_key_routes *routes)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct osr_ranks ranks = { .pgft = job->pgft, .load = load, .scratch = job->scratch };
	bool has_key = choice != OSR_JOB_FIRST, stays;
	enum osr_status st;
	uint8_t *port = NULL;

	*routes = (struct osr_key_routes){ 0 };
	*worth = (struct osr_job_worth){ .base = choice == OSR_JOB_FIRST };
	st = gather(job, term, n, &ranks);
	/* On one leaf no cable between switches is used. */
	stays = !st && (!ranks.tree || ranks.tree->h < 2 || ranks.most[1] == ranks.n);
	if (stays) {
		worth->base |= choice == OSR_JOB_EITHER;
		worth->n_left_out = ranks.n_elsewhere;
		worth->fits = worth->exchanges = !worth->n_left_out;
	}
	if (!st && !stays) {
		worth->bound = bound_of(&ranks);
		port = osr_alloc(job->scratch, ranks.n, job->pgft->fabric->n_switches);
		if (has_key)
			st = port ? take_key(&ranks, port, job->arena, worth, routes) : OSR_NOMEM;
		if (!st && first && choice != OSR_JOB_KEY)
			st = take_first(&ranks, first, has_key, job->arena, worth, routes);
		if (!st && !worth->base)
			st = write_job(job, &ranks, port, routes);
	}
	routes->contention = worth->contention;
	osr_arena_reset(job->scratch, mark);
	return st == OSR_NOMEM ? osr_fail(job->diag, st, "out of memory for the key of a job") : st;
}
