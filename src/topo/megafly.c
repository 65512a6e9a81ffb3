/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Megafly, also called Dragonfly+ (Flajslik et al., ISC 2018; Shpiner et al., HiPINEB 2017): g groups of
 * l leaves with p hosts each and s spines with h global cables each; every leaf of a group is cabled
 * to every spine of it. With g = s h + 1 every two groups share one cable. Global cables are
 * arranged as those of the dragonfly.
 */
#include "topo/helper.h"

#include <stdio.h>

struct megafly {
	uint32_t l, s, h, p, g;
};

enum { MF_L, MF_S, MF_H, MF_P, MF_G };

static const struct osr_param params[] = {
	[MF_L] = { "l", OSR_PARAM_UINT, "4", 1, 253, NULL, "leaves of a group" },
	[MF_S] = { "s", OSR_PARAM_UINT, "4", 1, 253, NULL, "spines of a group" },
	[MF_H] = { "h", OSR_PARAM_UINT, "2", 1, 253, NULL, "global cables of a spine" },
	[MF_P] = { "p", OSR_PARAM_UINT, "4", 0, 253, NULL, "hosts of a leaf" },
	[MF_G] = { "g", OSR_PARAM_UINT, "0", 0, 64010, NULL, "groups; 0: s h + 1" },
	{ NULL },
};

/* All leaves, which have the hosts, then all spines. */
static enum osr_status megafly_switches(const struct megafly *f, const struct osr_topo_style *style,
					struct osr_net *net, struct osr_diag *diag)
{
	uint32_t n_ports[2], n, factor[] = { f->l + f->s, f->g };
	enum osr_status st = osr__product(factor, 2, "switches", &n, diag);
	char name[64], part[32];

	if (!st)
		st = osr__switch_ports(style, (uint64_t)f->p + f->s, &n_ports[0], diag);
	if (!st)
		st = osr__switch_ports(style, (uint64_t)f->l + f->h, &n_ports[1], diag);
	for (uint32_t i = 0; i < n && !st; i++) {
		bool spine = i >= f->l * f->g;
		uint32_t each = spine ? f->s : f->l, at = spine ? i - f->l * f->g : i;

		osr__name(part, sizeof(part), "g", at / each, f->g);
		snprintf(name, sizeof(name), "%s-%s", part, spine ? "spine-" : "leaf-");
		osr__name(part, sizeof(part), name, at % each, each);
		osr__switch(net, style, n_ports[spine], part);
		st = osr_net_status(net, diag);
	}
	return st;
}

/* Ports of a leaf: hosts, spines; of a spine: leaves, global cables. */
static void megafly_cables(const struct megafly *f, uint32_t group,
			   const struct osr_topo_style *style, struct osr_net *net)
{
	uint32_t spines = f->l * f->g, first = spines + group * f->s;

	for (uint32_t x = 0; x < f->l; x++)
		for (uint32_t y = 0; y < f->s; y++)
			osr__cable(net, style, group * f->l + x, f->p + 1 + y, first + y, 1 + x);
	for (uint32_t other = group + 1; other < f->g; other++)
		osr__cable(net, style, first + (other - 1) / f->h, f->l + 1 + (other - 1) % f->h,
			   spines + other * f->s + group / f->h, f->l + 1 + group % f->h);
}

static enum osr_status megafly_make(const struct osr_values *values,
				    const struct osr_topo_style *style, struct osr_net *net,
				    struct osr_diag *diag)
{
	struct megafly f = { .l = (uint32_t)values->num[MF_L],
			     .s = (uint32_t)values->num[MF_S],
			     .h = (uint32_t)values->num[MF_H],
			     .p = (uint32_t)values->num[MF_P],
			     .g = (uint32_t)values->num[MF_G] };
	enum osr_status st;

	if (f.g == 0)
		f.g = f.s * f.h + 1;
	if (f.g > f.s * f.h + 1)
		return osr_fail(diag, OSR_INVAL,
				"%u groups: s h + 1 = %u can be cabled to each other", f.g,
				f.s * f.h + 1);
	st = megafly_switches(&f, style, net, diag);
	if (st)
		return st;
	for (uint32_t group = 0; group < f.g; group++)
		megafly_cables(&f, group, style, net);
	return osr__hosts(net, style, f.l * f.g, f.p, diag);
}

const struct osr_topo osr__topo_megafly = {
	.name = "megafly",
	.summary = "Megafly (Dragonfly+): groups of l leaves with p hosts and s spines with h "
		   "global cables",
	.params = params,
	.make = megafly_make,
};
