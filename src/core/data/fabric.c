/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A fabric that is built: copies, comparisons, questions. */
#include <osmroutes/each.h>

#include "core/data/fabric_private.h"

#include <string.h>

struct array {
	size_t offset; /* of the pointer in struct osr_fabric */
	size_t n, size;
};

#define N_ARRAYS 32
#define N_NAME_ARRAYS 3 /* the last of them: equal names may have different offsets */

/* Strings follow one another, so the string that begins last ends the block. */
static size_t names_size(const struct osr_fabric *fabric)
{
	uint32_t last = 0;

	OSR_EACH_SWITCH(s, fabric)
		last = fabric->sw_name[s] > last ? fabric->sw_name[s] : last;
	OSR_EVERY_TERMINAL(t, fabric)
		last = fabric->term_name[t] > last ? fabric->term_name[t] : last;
	return last + strlen(fabric->names + last) + 1;
}

/* Every array, with its length. */
static void list_arrays(const struct osr_fabric *fabric, struct array list[N_ARRAYS])
{
	size_t sw = fabric->n_switches, chan = fabric->n_channels, term = fabric->n_terminals,
	       dest = fabric->n_dests;
	const struct array arrays[N_ARRAYS] = {
#define ARRAY(member, n) { offsetof(struct osr_fabric, member), n, sizeof(*fabric->member) }
		ARRAY(sw_guid, sw),
		ARRAY(sw_n_ports, sw),
		ARRAY(sw_flags, sw),
		ARRAY(sw_sources, sw),
		ARRAY(sw_component, sw),
		ARRAY(chan_row, sw + 1),
		ARRAY(term_row, sw + 1),
		ARRAY(port_row, sw + 1),
		ARRAY(port_chan, fabric->n_ports),
		ARRAY(chan_src, chan),
		ARRAY(chan_dst, chan),
		ARRAY(chan_rev, chan),
		ARRAY(chan_port, chan),
		ARRAY(chan_rate, chan),
		ARRAY(chan_vls, chan),
		ARRAY(chan_flags, chan),
		ARRAY(turn_row, chan + 1),
		ARRAY(term_switch, term),
		ARRAY(term_port, term),
		ARRAY(term_lmc, term),
		ARRAY(term_role, term),
		ARRAY(term_group, term),
		ARRAY(term_weight, term),
		ARRAY(term_lid, term),
		ARRAY(term_guid, term),
		ARRAY(dest_lid, dest),
		ARRAY(dest_term, dest),
		ARRAY(dest_switch, dest),
		ARRAY(lid_dest, (size_t)fabric->max_lid + 1),
		ARRAY(sw_name, sw),
		ARRAY(term_name, term),
		ARRAY(names, fabric->names ? names_size(fabric) : 0),
#undef ARRAY
	};

	memcpy(list, arrays, sizeof(arrays));
}

static void *array_of(const struct osr_fabric *fabric, const struct array *array)
{
	void *p;

	memcpy(&p, (const char *)fabric + array->offset, sizeof(p));
	return p;
}

enum osr_status osr_fabric_alloc(struct osr_fabric *fabric, struct osr_arena *arena,
				 struct osr_diag *diag)
{
	struct array list[N_ARRAYS];

	list_arrays(fabric, list);
	for (unsigned i = 0; i < N_ARRAYS; i++) {
		void *p = osr_calloc(arena, list[i].n, list[i].size);

		memcpy((char *)fabric + list[i].offset, &p, sizeof(p));
	}
	return osr_arena_failed(arena, diag) ? OSR_NOMEM : OSR_OK;
}

static bool same_names(const struct osr_fabric *fabric, const struct osr_fabric *other)
{
	OSR_EACH_SWITCH(s, fabric) {
		if (strcmp(fabric->names + fabric->sw_name[s], other->names + other->sw_name[s]))
			return false;
	}
	OSR_EVERY_TERMINAL(t, fabric)
		if (strcmp(fabric->names + fabric->term_name[t],
			   other->names + other->term_name[t]))
			return false;
	return true;
}

bool osr_fabric_alike(const struct osr_fabric *fabric, const struct osr_fabric *other)
{
	struct array a[N_ARRAYS], b[N_ARRAYS];

	if (fabric->n_switches != other->n_switches || fabric->n_channels != other->n_channels ||
	    fabric->n_terminals != other->n_terminals || fabric->n_dests != other->n_dests ||
	    fabric->n_components != other->n_components || fabric->max_lid != other->max_lid ||
	    fabric->n_ports != other->n_ports)
		return false;
	list_arrays(fabric, a);
	list_arrays(other, b);
	for (unsigned i = 0; i < N_ARRAYS - N_NAME_ARRAYS; i++)
		if (a[i].n != b[i].n ||
		    memcmp(array_of(fabric, &a[i]), array_of(other, &b[i]), a[i].n * a[i].size))
			return false;
	return true;
}

bool osr_fabric_equal(const struct osr_fabric *fabric, const struct osr_fabric *other)
{
	return osr_fabric_alike(fabric, other) && same_names(fabric, other);
}

enum osr_status osr_fabric_copy(const struct osr_fabric *from, struct osr_arena *arena,
				struct osr_fabric *to, struct osr_diag *diag)
{
	struct array list[N_ARRAYS];

	*to = *from;
	if (osr_fabric_alloc(to, arena, diag))
		return OSR_NOMEM;
	list_arrays(from, list);
	for (unsigned i = 0; i < N_ARRAYS; i++)
		memcpy(array_of(to, &list[i]), array_of(from, &list[i]), list[i].n * list[i].size);
	osr_invariant(osr_fabric_equal(from, to));
	return OSR_OK;
}

uint16_t osr_fabric_fastest(const struct osr_fabric *fabric)
{
	uint16_t fastest = 0;

	OSR_EVERY_CHANNEL(c, fabric)
		fastest = fabric->chan_rate[c] > fastest ? fabric->chan_rate[c] : fastest;
	return fastest;
}

uint32_t osr_fabric_switch_by_guid(const struct osr_fabric *fabric, uint64_t guid)
{
	uint32_t lo = 0, hi = fabric->n_switches;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (fabric->sw_guid[mid] < guid)
			lo = mid + 1;
		else
			hi = mid;
	}
	osr_invariant(!lo || fabric->sw_guid[lo - 1] < guid);
	return lo < fabric->n_switches && fabric->sw_guid[lo] == guid ? lo : OSR_NONE;
}

void osr_count_hosts(const struct osr_end *end, uint32_t n, uint32_t *n_hosts, uint32_t n_switches)
{
	uint32_t n_last = 0, n_only = 0, n_bare = 0;
	bool own_port;

	memset(n_hosts, 0, n_switches * sizeof(*n_hosts));
	for (uint32_t i = 0; i < n; i++) {
		osr_invariant(end[i].sw < n_switches);
		n_hosts[end[i].sw]++;
	}
	/*
	 * The CA that manages a switch is on its last port. If there are such CAs, most switches
	 * have one, and of the switches with no other end more have one than have none.
	 */
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
