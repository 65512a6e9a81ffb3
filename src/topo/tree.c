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
	uint32_t m[OSR__MAX_DIMS + 1], w[OSR__MAX_DIMS + 1], p[OSR__MAX_DIMS + 1];
	uint32_t n_nodes[OSR__MAX_DIMS + 1]; /* of each level */
	uint32_t n_b[OSR__MAX_DIMS + 1];     /* product of w_1 .. w_l */
	uint32_t first[OSR__MAX_DIMS + 1];   /* node index in the net */
};

static uint64_t down_ports(const struct pgft *t, uint32_t l)
{
	return l ? (uint64_t)t->m[l] * t->p[l] : 0;
}

/* Hosts are level 0: as many ports as they have parents, and no style but the cable's. */
static enum osr_status add_level(struct pgft *t, uint32_t l, const struct osr_topo_job *job)
{
	const struct osr_topo_job plain = { .style = &(struct osr_topo_style){ 0 },
					    .diag = job->diag };
	uint64_t up = l < t->h ? (uint64_t)t->w[l + 1] * t->p[l + 1] : 0;
	/* Names of the trade for up to three levels; beyond that nobody agrees on any. */
	static const char *const names[] = { "h", "leaf-", "spine-", "core-" };
	bool is_named = l < 2 || (t->h <= 3 && l <= 3);
	char prefix[16], name[32];
	uint32_t n_ports;
	enum osr_status st = osr__switch_ports(l ? job : &plain, up + down_ports(t, l), &n_ports);

	if (st)
		return st;
	if (is_named)
		snprintf(prefix, sizeof(prefix), "%s", names[l]);
	else
		snprintf(prefix, sizeof(prefix), "l%u-", l);
	t->first[l] = job->net->n_nodes;
	for (uint32_t i = 0; i < t->n_nodes[l]; i++) {
		osr__name(name, sizeof(name), prefix, i, t->n_nodes[l]);
		if (l)
			osr__switch(job, n_ports, name);
		else
			osr_net_node(job->net, OSR_NET_CA, n_ports, name);
	}
	return osr_net_status(job->net, job->diag);
}

static enum osr_status make_pgft(struct pgft *t, const struct osr_topo_job *job)
{
	enum osr_status st = OSR_OK;

	/* Level l: one node per choice of a_h .. a_{l+1} and b_l .. b_1. */
	for (uint32_t l = 0; l <= t->h && !st; l++) {
		uint32_t factor[2 * OSR__MAX_DIMS], n = 0;

		for (uint32_t i = 1; i <= t->h; i++)
			factor[n++] = i <= l ? t->w[i] : t->m[i];
		st = osr__product(factor, n, l ? "switches of one level" : "hosts", &t->n_nodes[l],
				  job->diag);
		t->n_b[l] = l ? t->n_b[l - 1] * t->w[l] : 1;
	}
	for (uint32_t l = 1; l <= t->h && !st; l++)
		st = add_level(t, l, job);
	if (!st)
		st = add_level(t, 0, job);
	for (uint32_t l = 0; l < t->h && !st; l++)
		for (uint32_t i = 0; i < t->n_nodes[l]; i++) {
			uint32_t m = t->m[l + 1], w = t->w[l + 1];
			uint32_t a = i / t->n_b[l] % m, rest = i / t->n_b[l] / m;

			/* To all parents. */
			for (uint32_t b = 0; b < w; b++) {
				uint32_t parent =
					rest * t->n_b[l + 1] + b * t->n_b[l] + i % t->n_b[l];

				for (uint32_t k = 0; k < t->p[l + 1]; k++)
					osr__cable(job, t->first[l] + i,
						   1 + (uint32_t)down_ports(t, l) + b + k * w,
						   t->first[l + 1] + parent, 1 + a + k * m);
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

static enum osr_status tree_make_tree(const struct osr_topo_job *job)
{
	const char *p = job->values->str[job->num[TREE_P]];
	struct pgft t = { 0 };
	uint32_t n_w, n_p;
	enum osr_status st =
		osr__list(job->values->str[job->num[TREE_M]], "m", t.m + 1, &t.h, job->diag);

	if (!st)
		st = osr__list(job->values->str[job->num[TREE_W]], "w", t.w + 1, &n_w, job->diag);
	if (st)
		return st;
	n_p = t.h;
	for (uint32_t l = 1; l <= t.h; l++)
		t.p[l] = 1;
	if (*p)
		st = osr__list(p, "p", t.p + 1, &n_p, job->diag);
	if (st)
		return st;
	if (n_w != t.h || n_p != t.h)
		return osr_fail(job->diag, OSR_INVAL,
				"m has %u numbers, %s %u: one per level, as many in each", t.h,
				n_w != t.h ? "w" : "p", n_w != t.h ? n_w : n_p);
	return make_pgft(&t, job);
}

const struct osr_topo osr__topo_tree = {
	.name = "tree",
	.summary = "fat tree PGFT(h; m; w; p), XGFT where p is 1",
	.params = tree_params,
	.make = tree_make_tree,
};

enum { KARY_K, KARY_N };

static const struct osr_param kary_params[] = {
	[KARY_K] = { "k", OSR_PARAM_UINT, "4", 1, 127, NULL, "children and parents of a switch" },
	[KARY_N] = { "n", OSR_PARAM_UINT, "2", 1, OSR__MAX_DIMS, NULL, "levels of switches" },
	{ 0 },
};

static enum osr_status make_kary(const struct osr_topo_job *job)
{
	struct pgft t = { .h = (uint32_t)job->num[KARY_N] };

	for (uint32_t l = 1; l <= t.h; l++) {
		t.m[l] = (uint32_t)job->num[KARY_K];
		t.w[l] = l == 1 ? 1 : t.m[l];
		t.p[l] = 1;
	}
	return make_pgft(&t, job);
}

const struct osr_topo osr__topo_kary = {
	.name = "kary",
	.summary = "k-ary n-tree: k^n hosts, n k^(n-1) switches",
	.params = kary_params,
	.make = make_kary,
};
