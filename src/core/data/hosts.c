/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See hosts.h. */
#include <osmroutes/hosts.h>

#include <string.h>

void osr_count_hosts(const struct osr_end *end, uint32_t n, uint32_t *n_hosts, uint32_t n_switches)
{
	uint32_t n_last = 0, n_only = 0, n_bare = 0;
	bool own_port;

	memset(n_hosts, 0, n_switches * sizeof(*n_hosts));
	for (uint32_t i = 0; i < n; i++)
		n_hosts[end[i].sw]++;
	/* Do most switches, and most of those with no other end, have one on their last port? */
	for (uint32_t i = 0; i < n; i++) {
		n_last += end[i].last;
		n_only += end[i].last && n_hosts[end[i].sw] == 1;
	}
	for (uint32_t s = 0; s < n_switches; s++)
		n_bare += !n_hosts[s];
	own_port = 2 * n_last > n_switches && n_only > n_bare && n_switches > 2;
	for (uint32_t i = 0; i < n; i++)
		n_hosts[end[i].sw] -=
			(own_port && end[i].last) || strstr(end[i].name, "Aggregation Node");
}
