/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): g groups of a switches, all to all within a
 * group; every switch has p hosts and h global cables. With g = a h + 1 every two groups share one
 * cable.
 *
 * Arrangement: the global cables of a group are numbered 0 .. a h - 1, switch by switch; the j-th
 * leads to the j-th of the other groups (called "absolute" in the literature). With fewer groups
 * the cables behind the last group are left out.
 */
#include "topo/helper.h"

#include <stdio.h>

struct dragonfly {
	uint32_t a, h, p, g;
};

/* Number of the cable, on group `from`, that leads to group `to`. */
static uint32_t global_cable(uint32_t from, uint32_t to)
{
	return to < from ? to : to - 1;
}

/* Ports: p hosts, a - 1 switches of the group, h global cables. */
static void group_cables(const struct dragonfly *f, uint32_t group,
			 const struct osr_topo_style *style, struct osr_net *net)
{
	uint32_t first = group * f->a;

	for (uint32_t x = 0; x < f->a; x++)
		for (uint32_t y = x + 1; y < f->a; y++)
			osr__cable(net, style, first + x, f->p + y, first + y, f->p + 1 + x);
	for (uint32_t other = group + 1; other < f->g; other++) {
		uint32_t near = global_cable(group, other), far = global_cable(other, group);

		osr__cable(net, style, first + near / f->h, f->p + f->a + near % f->h,
			   other * f->a + far / f->h, f->p + f->a + far % f->h);
	}
}

enum { DF_A, DF_H, DF_P, DF_G };

static const struct osr_param params[] = {
	[DF_A] = { "a", OSR_PARAM_UINT, "4", 1, 128, NULL, "switches of a group" },
	[DF_H] = { "h", OSR_PARAM_UINT, "2", 1, 128, NULL, "global cables of a switch" },
	[DF_P] = { "p", OSR_PARAM_UINT, "2", 0, 253, NULL, "hosts of a switch" },
	[DF_G] = { "g", OSR_PARAM_UINT, "0", 0, 16385, NULL, "groups; 0: a h + 1" },
	{ NULL },
};

static enum osr_status dragonfly_add_switches(const struct dragonfly *f,
					      const struct osr_topo_style *style,
					      struct osr_net *net, struct osr_diag *diag)
{
	uint32_t n_ports, n, factor[] = { f->a, f->g };
	enum osr_status st = osr__product(factor, 2, "switches", &n, diag);
	char name[64], group[32];

	if (!st)
		st = osr__switch_ports(style, (uint64_t)f->p + f->a - 1 + f->h, &n_ports, diag);
	for (uint32_t s = 0; s < n && !st; s++) {
		osr__name(group, sizeof(group), "g", s / f->a, f->g);
		snprintf(name, sizeof(name), "%s-s", group);
		osr__name(group, sizeof(group), name, s % f->a, f->a);
		osr__switch(net, style, n_ports, group);
		st = osr_net_status(net, diag);
	}
	return st;
}

static enum osr_status dragonfly_make(const struct osr_values *values,
				      const struct osr_topo_style *style, struct osr_net *net,
				      struct osr_diag *diag)
{
	struct dragonfly f = { .a = (uint32_t)values->num[DF_A],
			       .h = (uint32_t)values->num[DF_H],
			       .p = (uint32_t)values->num[DF_P],
			       .g = (uint32_t)values->num[DF_G] };
	enum osr_status st;

	if (f.g == 0)
		f.g = f.a * f.h + 1;
	if (f.g > f.a * f.h + 1)
		return osr_fail(diag, OSR_INVAL,
				"%u groups: a h + 1 = %u can be cabled to each other", f.g,
				f.a * f.h + 1);
	st = dragonfly_add_switches(&f, style, net, diag);
	if (st)
		return st;
	for (uint32_t group = 0; group < f.g; group++)
		group_cables(&f, group, style, net);
	return osr__hosts(net, style, f.a * f.g, f.p, diag);
}

const struct osr_topo osr__topo_dragonfly = {
	.name = "dragonfly",
	.summary = "dragonfly: groups of a switches, h global cables and p hosts each",
	.params = params,
	.make = dragonfly_make,
};
