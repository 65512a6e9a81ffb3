/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dmodk - D-Mod-K routing for parallel-ports generalised fat trees, whole and broken.
 *
 * Source: Zahavi, Fat-Trees Routing and Node Ordering Providing Contention Free Traffic for MPI
 * Global Collectives, equation (1); for broken trees the idea of Gliksberg et al., High-Quality
 * Fault Resiliency in Fat Trees (Dmodc), to apply the rule to the switches that are left.
 *
 *	pgft.h		the tree, its digits, the hosts' indices
 *	treeorder.h	an order of all switches that makes one lane enough
 *	reach.c		which switches are reached by going up and then down
 *	escape.c	what is not
 *	digits.c	which top switch a dest belongs to, where links are missing
 *	table.c		equation (1), and what is left of it where links are missing
 *	part.c		flows that left their ways do not meet
 *
 * DIFFERS from Dmodc: an entry changes only if its own way is gone. There the rule is applied to
 * whatever choice is left at a switch, and a missing link moves most dests of it.
 */
#include <osmroutes/spf.h>

#include "dmodk.h"

#define NOTE_SIZE 512

enum { MISSING };

static const struct osr_param params[] = {
	[MISSING] = { "max_missing", OSR_PARAM_UINT, "30", 0, 99, NULL,
		      "percent of the links between switches that may be missing from the tree" },
	{ NULL }
};

static enum osr_status dmodk_applies(const struct osr_job *job)
{
	const struct osr_fabric *fabric = job->fabric;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (fabric->sw_sources[s])
			return OSR_OK;
	return osr_fail(job->diag, OSR_NOT_APPLICABLE,
			"not a fat tree: no CA or router on any of %u switches",
			fabric->n_switches);
}

/* What was recognised, for the log. */
static enum osr_status dmodk_describe(const struct osr_pgft *pgft, struct osr_arena *result,
				      struct osr_routing *routing, struct osr_diag *diag)
{
	char *text = osr_alloc(result, NOTE_SIZE, 1);

	if (osr_arena_failed(result, diag))
		return OSR_NOMEM;
	osr_pgft_describe(pgft, text, NOTE_SIZE);
	routing->note = text;
	return OSR_OK;
}

static enum osr_status route_tree(struct dmodk *m, uint64_t *n_longer)
{
	enum osr_status st;

	for (uint32_t i = 0; i < m->p->n_trees; i++)
		if (m->p->tree[i].h > m->h)
			m->h = m->p->tree[i].h;
	st = list_dests(m);
	if (!st)
		st = find_slots(m);
	if (!st)
		st = osr_tree_order_find(m->p, m->scratch, &m->o, m->diag);
	if (!st)
		st = find_reach(m);
	if (!st)
		st = find_balls(m);
	if (!st)
		st = find_escapes(m);
	if (!st)
		st = fill_tables(m);
	return st ? st : count_longer(m, n_longer);
}

/*
 * With the digits of the last sweep, if the tree is one with them too; what is to be remembered of
 * this one goes into the notes.
 */
static enum osr_status find_tree(const struct dmodk *m, const struct osr_job *job,
				 struct osr_pgft *pgft)
{
	struct osr_pgft_options opt = { .max_missing = (uint32_t)job->values->num[MISSING] };
	struct osr_pgft_memory memory;
	enum osr_status st = OSR_NOT_APPLICABLE;

	if (osr_pgft_memory_read(&job->notes, &memory)) {
		opt.memory = &memory;
		st = osr_pgft_find(m->f, &opt, m->scratch, pgft, m->diag);
	}
	if (st == OSR_NOT_APPLICABLE) {
		opt.memory = NULL;
		st = osr_pgft_find(m->f, &opt, m->scratch, pgft, m->diag);
	}
	if (!st)
		st = osr_routing_init(m->r, m->f, job->arena, m->diag);
	if (!st)
		st = osr_pgft_remember(pgft, opt.memory, job->arena, &m->r->notes, m->diag);
	return st;
}

#define BALANCE 110 /* percent of the least possible load, or as near as possible */

/* What the rule makes uneven where links are missing: first for shifts, then, if that is not enough, for all. */
static enum osr_status dmodk_balance(struct dmodk *m)
{
	uint64_t limit = osr_spf_bound(m->f) * BALANCE / 100;
	uint32_t n_missing = 0;
	enum osr_status st;
	bool even;

	for (uint32_t i = 0; i < m->p->n_trees; i++)
		n_missing += m->p->tree[i].n_missing_links + m->p->tree[i].n_missing_switches;
	if (!n_missing)
		return OSR_OK;
	st = part_flows(m, limit, &even);
	return st || even ? st
			  : osr_spf_relieve(m->f, m->r, m->o.number, limit, m->scratch, m->diag);
}

static enum osr_status dmodk_route(const struct osr_job *job)
{
	const struct osr_fabric *fabric = job->fabric;
	const struct osr_request *req = &job->request;
	struct osr_routing *routing = job->routing;
	double start = req->clock_ms ? req->clock_ms() : 0;
	struct osr_pgft pgft;
	struct dmodk m = { .f = fabric,
			   .p = &pgft,
			   .scratch = job->scratch,
			   .diag = job->diag,
			   .r = routing,
			   .n = fabric->n_switches };
	uint64_t n_longer;
	enum osr_status st;

	st = find_tree(&m, job, &pgft);
	if (!st)
		st = dmodk_describe(&pgft, job->arena, routing, job->diag);
	if (!st)
		st = route_tree(&m, &n_longer);
	if (!st)
		st = dmodk_balance(&m);
	if (!st)
		st = osr_tree_order_certify(&m.o, req, m.scratch, job->arena, routing, m.diag);
	if (st)
		return st;
	routing->engine = "dmodk";
	routing->n_longer = (uint32_t)n_longer;
	routing->claims |= n_longer ? 0 : OSR_CLAIM_MINIMAL;
	routing->ms_spf = req->clock_ms ? req->clock_ms() - start : 0;
	return OSR_OK;
}

const struct osr_engine osr_engine_dmodk = {
	.name = "dmodk",
	.summary =
		"D-Mod-K for fat trees, whole and broken: no contention for shifts in node order, "
		"one virtual lane",
	.reference =
		"Zahavi: Fat-Trees Routing and Node Ordering Providing Contention Free Traffic "
		"for MPI Global Collectives",
	.params = params,
	.capabilities = OSR_ENGINE_DEADLOCK_FREE | OSR_ENGINE_LMC,
	.applies = dmodk_applies,
	.route = dmodk_route,
};
