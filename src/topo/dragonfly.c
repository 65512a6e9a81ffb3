/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Groups that are cabled to each other.
 *
 * Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): g groups of a switches, all to all within a
 * group; every switch has p hosts and h global cables. With g = a h + 1 every two groups share one
 * cable.
 *
 * Megafly, also called Dragonfly+ (Flajslik et al., ISC 2018; Shpiner et al., HiPINEB 2017): g
 * groups of l leaves with p hosts each and s spines with h global cables each; every leaf of a
 * group is cabled to every spine of it. With g = s h + 1 every two groups share one cable.
 *
 * Arrangement: the global cables of a group are numbered 0 .. g - 2, switch by switch; the j-th
 * leads to the j-th of the other groups (called "absolute" in the literature). With fewer groups
 * the cables behind the last group are left out.
 */
#include "topo/helper.h"

#include <stdio.h>

/* `cables`: global ones of a group, as `formula` says; `switches` of a group. */
static enum osr_status groups_check(const struct osr_topo_job *job, uint32_t *g, uint32_t cables,
				    const char *formula, uint32_t switches)
{
	uint32_t n;

	if (*g == 0)
		*g = cables + 1;
	if (*g > cables + 1)
		return osr_fail(job->diag, OSR_INVAL,
				"%u groups: %s + 1 = %u can be cabled to each other", *g, formula,
				cables + 1);
	return osr_topo_product((uint32_t[]){ switches, *g }, 2, "switches", &n, job->diag);
}

/* `each` switches of every group, g0-LABEL0 and so on. */
static enum osr_status groups_add_switches(const struct osr_topo_job *job, uint32_t g,
					   const char *label, uint32_t each, uint64_t ports)
{
	uint32_t n_ports;
	enum osr_status st = osr_switch_ports(job, ports, &n_ports);
	char name[64], part[32];

	for (uint32_t s = 0; !st && s < each * g; s++) {
		osr_topo_name(part, sizeof(part), "g", s / each, g);
		snprintf(name, sizeof(name), "%s-%s", part, label);
		osr_topo_name(part, sizeof(part), name, s % each, each);
		osr_switch(job, n_ports, part);
		st = osr_net_status(job->net, job->diag);
	}
	return st;
}

/* From port `port` on of switches first + `each` group, h a switch. */
static void groups_add_cables(const struct osr_topo_job *job, uint32_t g, uint32_t first,
			      uint32_t each, uint32_t h, uint32_t port)
{
	for (uint32_t group = 0; group < g; group++)
		for (uint32_t other = group + 1; other < g; other++) {
			/* There are as many global cables as other groups. */
			osr_invariant((other - 1) / h < each && group / h < each);
			osr_cable(job, first + group * each + (other - 1) / h,
				  port + (other - 1) % h, first + other * each + group / h,
				  port + group % h);
		}
}

enum { DF_A, DF_H, DF_P, DF_G };

static const struct osr_param dragonfly_params[] = {
	[DF_A] = { "a", OSR_PARAM_UINT, "4", 1, 128, NULL, "switches of a group" },
	[DF_H] = { "h", OSR_PARAM_UINT, "2", 1, 128, NULL, "global cables of a switch" },
	[DF_P] = { "p", OSR_PARAM_UINT, "2", 0, 253, NULL, "hosts of a switch" },
	[DF_G] = { "g", OSR_PARAM_UINT, "0", 0, 16385, NULL, "groups; 0: a h + 1" },
	{ 0 },
};

/* Ports: p hosts, a - 1 switches of the group, h global cables. */
static enum osr_status dragonfly_make(const struct osr_topo_job *job)
{
	uint32_t a = job->num[DF_A], h = job->num[DF_H], p = job->num[DF_P];
	uint32_t g = job->num[DF_G];
	enum osr_status st = groups_check(job, &g, a * h, "a h", a);

	if (!st)
		st = groups_add_switches(job, g, "s", a, (uint64_t)p + a - 1 + h);
	if (st)
		return st;
	for (uint32_t first = 0; first < a * g; first += a)
		for (uint32_t x = 0; x < a; x++)
			for (uint32_t y = x + 1; y < a; y++)
				osr_cable(job, first + x, p + y, first + y, p + 1 + x);
	groups_add_cables(job, g, 0, a, h, p + a);
	return osr_hosts(job, a * g, p);
}

const struct osr_topo osr_topo_dragonfly = {
	.name = "dragonfly",
	.summary = "dragonfly: groups of a switches, h global cables and p hosts each",
	.params = dragonfly_params,
	.make = dragonfly_make,
};

enum { MF_L, MF_S, MF_H, MF_P, MF_G };

static const struct osr_param megafly_params[] = {
	[MF_L] = { "l", OSR_PARAM_UINT, "4", 1, 253, NULL, "leaves of a group" },
	[MF_S] = { "s", OSR_PARAM_UINT, "4", 1, 253, NULL, "spines of a group" },
	[MF_H] = { "h", OSR_PARAM_UINT, "2", 1, 253, NULL, "global cables of a spine" },
	[MF_P] = { "p", OSR_PARAM_UINT, "4", 0, 253, NULL, "hosts of a leaf" },
	[MF_G] = { "g", OSR_PARAM_UINT, "0", 0, 64010, NULL, "groups; 0: s h + 1" },
	{ 0 },
};

/*
 * All leaves, then all spines. Ports of a leaf: hosts, spines; of a spine: leaves, global cables.
 */
static enum osr_status megafly_make(const struct osr_topo_job *job)
{
	uint32_t l = job->num[MF_L], s = job->num[MF_S], h = job->num[MF_H], p = job->num[MF_P];
	uint32_t g = job->num[MF_G];
	enum osr_status st = groups_check(job, &g, s * h, "s h", l + s);

	if (!st)
		st = groups_add_switches(job, g, "leaf-", l, (uint64_t)p + s);
	if (!st)
		st = groups_add_switches(job, g, "spine-", s, (uint64_t)l + h);
	if (st)
		return st;
	for (uint32_t x = 0; x < l * g; x++)
		for (uint32_t y = 0; y < s; y++)
			osr_cable(job, x, p + 1 + y, l * g + x / l * s + y, 1 + x % l);
	groups_add_cables(job, g, l * g, s, h, l + 1);
	return osr_hosts(job, l * g, p);
}

const struct osr_topo osr_topo_megafly = {
	.name = "megafly",
	.summary = "Megafly (Dragonfly+): groups of l leaves with p hosts, s spines with h cables",
	.params = megafly_params,
	.make = megafly_make,
};
