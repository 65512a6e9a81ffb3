/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * maxmin.h - rates of the messages under way; private to src/traffic.
 *
 * Flows live in slots 0 .. max_flows-1, those under way are listed in any order that is the same
 * every time. All arrays are allocated once; a computation touches only links that carry something.
 */
#ifndef OSR_TRAFFIC_MAXMIN_H
#define OSR_TRAFFIC_MAXMIN_H

#include "simulator/flow.h"

struct osr__maxmin {
	const struct osr_flow_net *net;
	uint32_t max_flows, max_hops;
	/* Of the caller: [max_flows * max_hops] and [max_flows] */
	uint32_t *links;
	uint32_t *n_hops;
	double *rate;
	/* [n_links] */
	double *left;      /* capacity that is not given out */
	double *link_rate; /* sum of the rates; valid for links that carry something, else 0 */
	uint32_t *open;    /* flows without a rate yet */
	uint32_t *row;     /* first of its flows in `users` */
	uint32_t *fill;
	/* [max_flows * max_hops] */
	uint32_t *users;
	uint32_t *touched; /* links that carry something */
	uint32_t n_touched;
	struct osr__share *heap;
	uint32_t n_heap;
	uint32_t max_sharing; /* ever */
};

enum osr_status osr__maxmin_init(struct osr__maxmin *m, const struct osr_flow_net *net,
				 uint32_t max_flows, uint32_t max_hops, struct osr_arena *scratch,
				 struct osr_diag *diag);

/* Rates of flows active[0 .. n-1], and of the links they cross. */
void osr__maxmin_solve(struct osr__maxmin *m, const uint32_t *active, uint32_t n);

#endif
