/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whole fabrics: equal, and copied. One table of the arrays serves both. */
#include <osmroutes/fabric.h>

#include <string.h>

struct array {
	size_t offset; /* of the pointer in struct osr_fabric */
	size_t n, size;
};

#define N_ARRAYS 31
#define N_NAME_ARRAYS 3 /* the last ones: where a string lies says nothing */

/* Strings follow one another, so the one that begins last ends the block. */
static size_t names_size(const struct osr_fabric *fabric)
{
	uint32_t last = 0;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		last = fabric->sw_name[s] > last ? fabric->sw_name[s] : last;
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
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
		ARRAY(names, names_size(fabric)),
#undef ARRAY
	};

	memcpy(list, arrays, sizeof(arrays));
}

static const void *array_of(const struct osr_fabric *fabric, const struct array *a)
{
	const void *p;

	memcpy(&p, (const char *)fabric + a->offset, sizeof(p));
	return p;
}

static bool same_names(const struct osr_fabric *fabric, const struct osr_fabric *g)
{
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (strcmp(fabric->names + fabric->sw_name[s], g->names + g->sw_name[s]))
			return false;
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (strcmp(fabric->names + fabric->term_name[t], g->names + g->term_name[t]))
			return false;
	return true;
}

bool osr_fabric_alike(const struct osr_fabric *fabric, const struct osr_fabric *g)
{
	struct array a[N_ARRAYS], b[N_ARRAYS];

	if (fabric->n_switches != g->n_switches || fabric->n_channels != g->n_channels ||
	    fabric->n_terminals != g->n_terminals || fabric->n_dests != g->n_dests ||
	    fabric->n_components != g->n_components || fabric->max_lid != g->max_lid ||
	    fabric->n_ports != g->n_ports)
		return false;
	list_arrays(fabric, a);
	list_arrays(g, b);
	for (unsigned i = 0; i < N_ARRAYS - N_NAME_ARRAYS; i++)
		if (a[i].n != b[i].n ||
		    memcmp(array_of(fabric, &a[i]), array_of(g, &b[i]), a[i].n * a[i].size))
			return false;
	return true;
}

bool osr_fabric_equal(const struct osr_fabric *fabric, const struct osr_fabric *g)
{
	return osr_fabric_alike(fabric, g) && same_names(fabric, g);
}

enum osr_status osr_fabric_copy(const struct osr_fabric *from, struct osr_arena *arena,
				struct osr_fabric *to, struct osr_diag *diag)
{
	struct array list[N_ARRAYS];

	*to = *from;
	list_arrays(from, list);
	for (unsigned i = 0; i < N_ARRAYS; i++) {
		void *copy = osr_alloc(arena, list[i].n, list[i].size);

		if (osr_arena_failed(arena, diag))
			return OSR_NOMEM;
		memcpy(copy, array_of(from, &list[i]), list[i].n * list[i].size);
		memcpy((char *)to + list[i].offset, &copy, sizeof(copy));
	}
	return OSR_OK;
}
