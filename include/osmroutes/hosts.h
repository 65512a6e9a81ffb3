/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hosts.h - which switches have hosts. End ports that belong to a switch itself are none: SHARP aggregation nodes, known by
 * their node description, and the CA that most switches have on their last port, which manages the switch (the rule
 * of osmroutes/pgft.h, so that what dmodk takes for a spine is one here too).
 */
#ifndef OSMROUTES_HOSTS_H
#define OSMROUTES_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

/* A port of a CA or router. */
struct osr_end {
	uint32_t sw;      /* where it is */
	bool last;        /* at the last port of that switch */
	const char *name; /* node description */
};

/* n_hosts[n_switches]: how many of the n ends at each switch are hosts. O(n + n_switches). */
void osr_count_hosts(const struct osr_end *end, uint32_t n, uint32_t *n_hosts, uint32_t n_switches);

#endif
