/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A new application: its hosts, the LID offsets that are free on them, and its keys.
 */
#include "sched_private.h"

#include <osmroutes/invariant.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OFFSETS 128 /* 2^7 */

/* Hosts and LID offsets ------------------------------------------------------------------------ */

/* LID offsets of a host, a bit each. */
struct offsets {
	uint64_t bit[2];
};

static uint32_t offsets_count(const struct offsets *offsets)
{
	return (uint32_t)(__builtin_popcountll(offsets->bit[0]) +
			  __builtin_popcountll(offsets->bit[1]));
}

/* The first hosts, in the order of the tree, that no application has. Returns how many. */
static uint32_t choose_hosts(const struct osr_pgft *pgft, const struct offsets *taken,
			     struct osr_sched_app *app)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < pgft->n_order; i++) {
		uint32_t t = pgft->order[i];

		osr_invariant(t < pgft->fabric->n_terminals);
		if (n == app->n_ranks)
			break;
		if (offsets_count(&taken[t]))
			continue;
		app->term[n] = t;
		app->host[n++] = pgft->fabric->term_guid[t];
	}
	return n;
}

/*
 * Gives the application hosts, if it names none, and the lowest LID offsets that are free on all of
 * its hosts, or the one that is wanted. A user gets at most his quota of LID offsets on a host.
 */
static enum osr_status take_hosts(struct osr_sched *sched, struct osr_sched_app *app, bool choose,
				  uint32_t wanted, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &sched->now->fabric;
	struct offsets *taken = osr_calloc(&sched->scratch, fabric->n_terminals, sizeof(*taken));
	struct offsets *own = osr_calloc(&sched->scratch, fabric->n_terminals, sizeof(*own));
	uint32_t quota = app->owner ? sched->limits.max_offsets_of_owner : 0;
	uint32_t n_lids = MAX_OFFSETS, n = 0;
	struct offsets used = { { 1 } };
	char buf[32];

	if (osr_arena_failed(&sched->scratch, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < sched->n_apps; i++)
		for (uint32_t k = 0; k < sched->app[i]->n_slots; k++)
			for (uint32_t r = 0; r < sched->app[i]->n_ranks; r++) {
				uint32_t t = sched->app[i]->term[r],
					 o = sched->app[i]->slot[k].offset;

				if (t == OSR_NONE)
					continue;
				taken[t].bit[o / 64] |= UINT64_C(1) << o % 64;
				if (sched->app[i]->owner == app->owner)
					own[t].bit[o / 64] |= UINT64_C(1) << o % 64;
			}
	if (choose) {
		n = choose_hosts(&sched->now->pgft, taken, app);
		if (n < app->n_ranks)
			return osr_fail(diag, OSR_INVAL,
					"%u hosts wanted, %u are without an application",
					app->n_ranks, n);
	}
	for (uint32_t i = 0; i < app->n_ranks; i++) {
		uint32_t t = app->term[i];

		if (t == OSR_NONE || fabric->term_role[t] == OSR_ROLE_SP0)
			return osr_fail(diag, OSR_INVAL,
					"rank %u: the fabric has no host port 0x%016llx", i,
					(unsigned long long)app->host[i]);
		if (quota && offsets_count(&own[t]) + app->n_slots > quota)
			return osr_fail(diag, OSR_INVAL,
					"%u LID offset%s wanted; user %u has %u on host %s "
					"already, and at most %u are given to a user",
					app->n_slots, app->n_slots == 1 ? "" : "s", app->owner,
					offsets_count(&own[t]), osr_terminal_name(fabric, t, buf),
					quota);
		used.bit[0] |= taken[t].bit[0];
		used.bit[1] |= taken[t].bit[1];
		if (1u << fabric->term_lmc[t] < n_lids)
			n_lids = 1u << fabric->term_lmc[t];
	}
	n = 0;
	for (uint32_t o = 1; o < n_lids; o++) {
		if (n == app->n_slots)
			break;
		if (!(used.bit[o / 64] >> o % 64 & 1) && (!wanted || o == wanted))
			app->slot[n++].offset = o;
	}
	if (wanted && !n)
		return osr_fail(diag, OSR_INVAL,
				"LID offset %u is not free on all hosts of the job", wanted);
	/* The first LIDs may serve a job; its request knows. */
	if (n < app->n_slots && !app->job)
		return osr_fail(diag, OSR_INVAL,
				"%u LID offset%s wanted; the hosts have %u beside the first LID, "
				"%u taken by other applications on them",
				app->n_slots, app->n_slots == 1 ? "" : "s", n_lids - 1,
				n_lids - 1 - n);
	/* Keys share them in turn. */
	for (uint32_t k = 0; k < app->n_keys; k++)
		app->key[k].slot = k % app->n_slots;
	return OSR_OK;
}

/* Placing -------------------------------------------------------------------------------------- */

/* The ranks of a job in an order of the tree. */
static enum osr_status order_ranks(struct osr_sched *sched, struct osr_sched_app *app,
				   struct osr_diag *diag)
{
	const struct osr_key_job job = { &sched->now->pgft, &sched->scratch, NULL, diag };
	uint64_t *host = osr_alloc(&sched->scratch, app->n_ranks, sizeof(*host));
	bool *seen = osr_calloc(&sched->scratch, sched->now->fabric.n_terminals, sizeof(*seen));
	enum osr_status st;
	char buf[32];

	if (osr_arena_failed(&sched->scratch, diag))
		return OSR_NOMEM;
	for (uint32_t r = 0; r < app->n_ranks; r++) {
		if (seen[app->term[r]])
			return osr_fail(diag, OSR_INVAL, "host %s is in the list twice",
					osr_terminal_name(&sched->now->fabric, app->term[r], buf));
		seen[app->term[r]] = true;
	}
	st = osr_job_order(&job, app->term, app->n_ranks, app->place);
	if (st)
		return st;
	memcpy(host, app->host, app->n_ranks * sizeof(*host));
	for (uint32_t r = 0; r < app->n_ranks; r++)
		app->host[r] = host[app->place[r]];
	osr_sched_resolve(sched, app);
	return OSR_OK;
}

/* Its patterns as keys, its hosts and its offsets. */
static enum osr_status fill_app(struct osr_sched *sched, struct osr_sched_app *app,
				const struct osr_sched_in *in, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(&sched->scratch);
	enum osr_status st;

	*app = (struct osr_sched_app){ .id = sched->next_id,
				       .owner = in->owner,
				       .held = in->held,
				       .job = in->job,
				       .told = in->offset,
				       .n_ranks = in->n_ranks,
				       .n_keys = in->job ? 1 : in->n_keys,
				       .n_slots = in->n_offsets ? in->n_offsets : 1 };
	snprintf(app->name, sizeof(app->name), "%s", in->name ? in->name : "");
	app->host = osr_calloc(&app->arena, app->n_ranks, sizeof(*app->host));
	app->term = osr_calloc(&app->arena, app->n_ranks, sizeof(*app->term));
	app->place = osr_calloc(&app->arena, app->n_ranks, sizeof(*app->place));
	app->key = osr_calloc(&app->arena, app->n_keys, sizeof(*app->key));
	app->slot = osr_calloc(&app->arena, app->n_slots, sizeof(*app->slot));
	if (osr_arena_failed(&app->arena, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < app->n_slots; i++)
		app->slot[i].key = OSR_NONE;
	for (uint32_t r = 0; r < app->n_ranks; r++)
		app->place[r] = r;
	for (uint32_t k = 0; k < in->n_keys; k++) {
		uint32_t n = app->key[k].n_pairs = in->n_pairs[k];

		for (uint32_t i = 0; i < n; i++)
			if (in->pair[k][i].from >= in->n_ranks || in->pair[k][i].to >= in->n_ranks)
				return osr_fail(diag, OSR_INVAL,
						"pattern %u: pair %u names ranks %u and %u, but "
						"there are only %u ranks, from 0",
						k, i, in->pair[k][i].from, in->pair[k][i].to,
						in->n_ranks);
		app->key[k].pair = osr_alloc(&app->arena, n, sizeof(*app->key[k].pair));
		if (osr_arena_failed(&app->arena, diag))
			return OSR_NOMEM;
		if (n)
			memcpy(app->key[k].pair, in->pair[k], n * sizeof(*app->key[k].pair));
	}
	if (in->host) {
		memcpy(app->host, in->host, app->n_ranks * sizeof(*in->host));
		osr_sched_resolve(sched, app);
	}
	st = take_hosts(sched, app, !in->host, in->offset, diag);
	if (!st && app->job)
		st = order_ranks(sched, app, diag);
	osr_arena_reset(&sched->scratch, mark);
	for (uint32_t k = 0; !st && k < in->n_keys; k++)
		st = osr_sched_put(sched, app, k, false, diag);
	return st;
}

enum osr_status osr_sched_place(struct osr_sched *sched, const struct osr_sched_in *in,
				struct osr_sched_app **app, struct osr_diag *diag)
{
	enum osr_status st = osr_sched_check_base(sched, diag);
	uint32_t n_of_owner = 0;
	uint64_t n_pairs = 0;

	*app = NULL;
	if (st)
		return st;
	/* Are its numbers within the limits? */
	for (uint32_t i = 0; i < sched->n_apps; i++)
		n_of_owner += sched->app[i]->owner == in->owner;
	if (sched->n_apps >= sched->limits.max_apps ||
	    (in->owner && n_of_owner >= sched->limits.max_apps_of_owner))
		return osr_fail(
			diag, OSR_INVAL,
			"%u applications have keys, %u of them of user %u: no more are taken",
			sched->n_apps, n_of_owner, in->owner);
	if (!in->n_ranks || !in->job == !in->n_keys || in->n_keys > sched->limits.max_keys)
		return osr_fail(
			diag, OSR_INVAL,
			"%u hosts and %u patterns: expected 1 host or more, and 1 to %u patterns",
			in->n_ranks, in->n_keys, sched->limits.max_keys);
	if (in->n_offsets > in->n_keys)
		return osr_fail(
			diag, OSR_INVAL,
			"%u LID offsets requested for %u patterns: one per pattern is the most",
			in->n_offsets, in->n_keys);
	for (uint32_t k = 0; k < in->n_keys; k++)
		n_pairs += in->n_pairs[k];
	if (n_pairs > sched->limits.max_pairs)
		return osr_fail(diag, OSR_INVAL, "%llu pairs of ranks: at most %u are accepted",
				(unsigned long long)n_pairs, sched->limits.max_pairs);
	*app = malloc(sizeof(**app));
	if (!*app)
		return osr_fail(diag, OSR_NOMEM, "out of memory for an application's keys");
	st = fill_app(sched, *app, in, diag);
	if (st) {
		osr_sched_free_app(*app);
		*app = NULL;
		return st;
	}
	/* Ids grow. */
	sched->app[sched->n_apps++] = *app;
	sched->next_id = (*app)->id + 1;
	osr_invariant(osr_sched_holds(sched));
	return OSR_OK;
}
