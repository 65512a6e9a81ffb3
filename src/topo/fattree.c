/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Parallel-port generalised fat trees: PGFT(h; m_1..m_h; w_1..w_h; p_1..p_h) as Zahavi defines them
 * ("D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees",
 * CCIT report 776, 2010). A node of level l has m_l different children, a node of level l-1 has w_l
 * different parents, p_l cables run between each two. Hosts are level 0. XGFTs are those with all
 * p_l = 1, k-ary n-trees those with m_l = k, w_1 = 1, w_l = k.
 *
 * A node of level l is a vector of digits (a_h .. a_{l+1}, b_l .. b_1), a_i < m_i, b_i < w_i; we
 * number it by its a digits, then its b digits, the lower index varying faster. Cables follow the
 * paper's port rule: the k-th cable between a node and its parent runs from up port
 * b_{l+1} + k w_{l+1} to down port a_{l+1} + k m_{l+1}. On a switch, down ports come first.
 */
#include "topo/helper.h"

#include <stdio.h>

struct pgft {
	uint32_t h;
	uint32_t m[OSR_TOPO_MAX_DIMS + 1], w[OSR_TOPO_MAX_DIMS + 1], p[OSR_TOPO_MAX_DIMS + 1];
	uint32_t n_nodes[OSR_TOPO_MAX_DIMS + 1]; /* of each level */
	uint32_t n_b[OSR_TOPO_MAX_DIMS + 1];     /* product of w_1 .. w_l */
	uint32_t first[OSR_TOPO_MAX_DIMS + 1];   /* node index in the net */
};

static uint64_t down_ports(const struct pgft *pgft, uint32_t l)
{
	return l ? (uint64_t)pgft->m[l] * pgft->p[l] : 0;
}

/* Hosts are level 0: as many ports as they have parents, and no style but the cable's. */
static enum osr_status add_level(struct pgft *pgft, uint32_t l, const struct osr_topo_job *job)
{
	const struct osr_topo_job plain = { .style = &(struct osr_topo_style){ 0 },
					    .diag = job->diag };
	uint64_t up = l < pgft->h ? (uint64_t)pgft->w[l + 1] * pgft->p[l + 1] : 0;
	/* Names of the trade for up to three levels; beyond that nobody agrees on any. */
	static const char *const names[] = { "h", "leaf-", "spine-", "core-" };
	bool is_named = l < 2 || (pgft->h <= 3 && l <= 3);
	char prefix[16], name[32];
	uint32_t n_ports;
	enum osr_status st = osr_switch_ports(l ? job : &plain, up + down_ports(pgft, l), &n_ports);

	if (st)
		return st;
	if (is_named)
		snprintf(prefix, sizeof(prefix), "%s", names[l]);
	else
		snprintf(prefix, sizeof(prefix), "l%u-", l);
	pgft->first[l] = job->net->n_nodes;
	for (uint32_t i = 0; i < pgft->n_nodes[l]; i++) {
		osr_topo_name(name, sizeof(name), prefix, i, pgft->n_nodes[l]);
		if (l)
			osr_switch(job, n_ports, name);
		else
			osr_net_node(job->net, OSR_NET_CA, n_ports, name);
	}
	return osr_net_status(job->net, job->diag);
}

static enum osr_status make_pgft(struct pgft *pgft, const struct osr_topo_job *job)
{
	enum osr_status st = OSR_OK;

	/* Level l: one node per choice of a_h .. a_{l+1} and b_l .. b_1. */
	for (uint32_t l = 0; !st && l <= pgft->h; l++) {
		uint32_t factor[2 * OSR_TOPO_MAX_DIMS], n = 0;

		for (uint32_t i = 1; i <= pgft->h; i++)
			factor[n++] = i <= l ? pgft->w[i] : pgft->m[i];
		st = osr_topo_product(factor, n, l ? "switches of one level" : "hosts",
				      &pgft->n_nodes[l], job->diag);
		pgft->n_b[l] = l ? pgft->n_b[l - 1] * pgft->w[l] : 1;
	}
	for (uint32_t l = 1; !st && l <= pgft->h; l++)
		st = add_level(pgft, l, job);
	if (!st)
		st = add_level(pgft, 0, job);
	for (uint32_t l = 0; !st && l < pgft->h; l++)
		for (uint32_t i = 0; i < pgft->n_nodes[l]; i++) {
			uint32_t m = pgft->m[l + 1], w = pgft->w[l + 1];
			uint32_t a = i / pgft->n_b[l] % m, rest = i / pgft->n_b[l] / m;

			/* To all parents. */
			for (uint32_t b = 0; b < w; b++) {
				uint32_t parent = rest * pgft->n_b[l + 1] + b * pgft->n_b[l] +
						  i % pgft->n_b[l];

				osr_invariant(parent < pgft->n_nodes[l + 1]);
				for (uint32_t k = 0; k < pgft->p[l + 1]; k++)
					osr_cable(job, pgft->first[l] + i,
						  1 + (uint32_t)down_ports(pgft, l) + b + k * w,
						  pgft->first[l + 1] + parent, 1 + a + k * m);
			}
		}
	return st;
}

enum { TREE_M, TREE_W, TREE_P };

static const struct osr_param tree_params[] = {
	[TREE_M] = { "m", OSR_PARAM_STRING, "4,4", 0, 0, NULL,
		     "children of a node, by level from 1" },
	[TREE_W] = { "w", OSR_PARAM_STRING, "1,4", 0, 0, NULL,
		     "parents of a node of the level below" },
	[TREE_P] = { "p", OSR_PARAM_STRING, "", 0, 0, NULL,
		     "parallel cables to each parent; empty: 1 everywhere" },
	{ 0 },
};

static enum osr_status fail_count(const struct osr_topo_job *job, uint32_t n_m, const char *other,
				  uint32_t n_other)
{
	return osr_fail(job->diag, OSR_INVAL,
			"m has %u numbers, %s %u: one per level, as many in each", n_m, other,
			n_other);
}

static enum osr_status tree_make_tree(const struct osr_topo_job *job)
{
	const char *p = job->values->str[job->num[TREE_P]];
	struct pgft pgft = { 0 };
	uint32_t n_w, n_p;
	enum osr_status st =
		osr_list(job->values->str[job->num[TREE_M]], "m", pgft.m + 1, &pgft.h, job->diag);

	if (!st)
		st = osr_list(job->values->str[job->num[TREE_W]], "w", pgft.w + 1, &n_w, job->diag);
	if (st)
		return st;
	n_p = pgft.h;
	for (uint32_t l = 1; l <= pgft.h; l++)
		pgft.p[l] = 1;
	if (*p)
		st = osr_list(p, "p", pgft.p + 1, &n_p, job->diag);
	if (st)
		return st;
	if (n_w != pgft.h)
		return fail_count(job, pgft.h, "w", n_w);
	if (n_p != pgft.h)
		return fail_count(job, pgft.h, "p", n_p);
	return make_pgft(&pgft, job);
}

const struct osr_topo osr_topo_tree = {
	.name = "tree",
	.summary = "fat tree PGFT(h; m; w; p), XGFT where p is 1",
	.params = tree_params,
	.make = tree_make_tree,
};

enum { KARY_K, KARY_N };

static const struct osr_param kary_params[] = {
	[KARY_K] = { "k", OSR_PARAM_UINT, "4", 1, 127, NULL, "children and parents of a switch" },
	[KARY_N] = { "n", OSR_PARAM_UINT, "2", 1, OSR_TOPO_MAX_DIMS, NULL, "levels of switches" },
	{ 0 },
};

static enum osr_status make_kary(const struct osr_topo_job *job)
{
	struct pgft pgft = { .h = job->num[KARY_N] };

	for (uint32_t l = 1; l <= pgft.h; l++) {
		pgft.m[l] = job->num[KARY_K];
		pgft.w[l] = l == 1 ? 1 : pgft.m[l];
		pgft.p[l] = 1;
	}
	return make_pgft(&pgft, job);
}

const struct osr_topo osr_topo_kary = {
	.name = "kary",
	.summary = "k-ary n-tree: k^n hosts, n k^(n-1) switches",
	.params = kary_params,
	.make = make_kary,
};
