/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/planes.h>

#include <assert.h>
#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/routing.h>

uint32_t osr_planes_count(const struct osr_fabric *fabric)
{
	uint32_t most = 0;

	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		most = fabric->term_lmc[t] > most ? fabric->term_lmc[t] : most;
	return 1u << most;
}

/* ---- the first LIDs alone -------------------------------------------------------------------- */

enum osr_status osr_planes_first_fabric(const struct osr_fabric *fabric, struct osr_arena *arena,
					struct osr_fabric *first, struct osr_diag *diag)
{
	uint32_t n = fabric->n_terminals, j = 0, max_lid = 0;
	uint8_t *lmc = osr_calloc(arena, n, sizeof(*lmc));
	uint16_t *lid = osr_alloc(arena, n, sizeof(*lid));
	uint32_t *term = osr_alloc(arena, n, sizeof(*term)), *sw = osr_alloc(arena, n, sizeof(*sw)),
		 *lid_dest = osr_alloc(arena, fabric->max_lid + 1u, sizeof(*lid_dest));

	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	memset(lid_dest, 0xff, (fabric->max_lid + 1u) * sizeof(*lid_dest));
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		if (osr_plane_of(fabric, d))
			continue;
		max_lid = fabric->dest_lid[d];
		lid[j] = fabric->dest_lid[d];
		term[j] = fabric->dest_term[d];
		sw[j] = fabric->dest_switch[d];
		lid_dest[max_lid] = j++;
	}
	assert(j == n);
	*first = *fabric;
	first->n_dests = n;
	first->max_lid = max_lid;
	first->term_lmc = lmc;
	first->dest_lid = lid;
	first->dest_term = term;
	first->dest_switch = sw;
	first->lid_dest = lid_dest;
	return OSR_OK;
}

/* The rows of the first LIDs of an array with `size` bytes for each entry; NULL of NULL. */
static void *planes_first_rows(const struct osr_fabric *fabric, const struct osr_fabric *first,
			       const void *rows, size_t size, struct osr_arena *arena)
{
	size_t bytes = fabric->n_switches * size;
	char *to = rows ? osr_alloc(arena, first->n_dests, bytes) : NULL;

	for (uint32_t j = 0; to && j < first->n_dests; j++)
		memcpy(to + j * bytes,
		       (const char *)rows + fabric->lid_dest[first->dest_lid[j]] * bytes, bytes);
	return to;
}

enum osr_status osr_planes_first_result(const struct osr_result *result, struct osr_arena *arena,
					struct osr_result *first, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &result->fabric;
	const struct osr_routing *routing = &result->routing;
	enum osr_status st;

	*first = *result;
	first->baseline = NULL;
	if (fabric->n_dests == fabric->n_terminals)
		return OSR_OK;
	st = osr_planes_first_fabric(fabric, arena, &first->fabric, diag);
	if (st)
		return st;
	first->routing.n_dests = first->fabric.n_dests;
	first->routing.withdrawn = NULL;
	first->routing.planes = (struct osr_planes){ .n = 0 };
	first->routing.lft = planes_first_rows(fabric, &first->fabric, routing->lft, 1, arena);
	first->routing.sl = planes_first_rows(fabric, &first->fabric, routing->sl, 1, arena);
	first->routing.granted = planes_first_rows(fabric, &first->fabric, routing->granted,
						   sizeof(*routing->granted), arena);
	return osr_arena_failed(arena, diag) ? OSR_NOMEM : OSR_OK;
}

/* ---- all LIDs -------------------------------------------------------------------------------- */

enum osr_status osr_planes_repeat(const struct osr_fabric *fabric, struct osr_arena *arena,
				  struct osr_planes *planes, struct osr_diag *diag)
{
	*planes = (struct osr_planes){ .n = osr_planes_count(fabric) };
	planes->kind = osr_calloc(arena, planes->n, sizeof(*planes->kind));
	planes->tree_of = osr_alloc(arena, fabric->n_dests, sizeof(*planes->tree_of));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		planes->tree_of[d] = osr_first_dest(fabric, d);
	return OSR_OK;
}

enum { WAY_UNKNOWN, WAY_PASSED, WAY_LEADS, WAY_LOST };

/* From how many switches a row does not lead to the switch of d; way[n_switches] tells which. */
static uint32_t planes_lost(const struct osr_fabric *fabric, const uint8_t *row, uint32_t d,
			    uint8_t *way)
{
	uint32_t root = fabric->dest_switch[d], n_lost = 0;

	memset(way, WAY_UNKNOWN, fabric->n_switches);
	way[root] = WAY_LEADS;
	OSR_EACH_SWITCH(from, fabric) {
		uint32_t s = from, c = OSR_NONE;
		uint8_t found;

		if (fabric->sw_component[from] != fabric->sw_component[root])
			continue;
		while (way[s] == WAY_UNKNOWN &&
		       (c = osr_port_channel(fabric, s, row[s])) != OSR_NONE) {
			way[s] = WAY_PASSED;
			s = fabric->chan_dst[c];
		}
		/* A dead end, or a loop. */
		found = way[s] == WAY_LEADS ? WAY_LEADS : WAY_LOST;
		if (way[s] == WAY_UNKNOWN)
			way[s] = WAY_PASSED;
		for (s = from; way[s] == WAY_PASSED;) {
			way[s] = found;
			n_lost += found == WAY_LOST;
			c = osr_port_channel(fabric, s, row[s]);
			s = c == OSR_NONE ? s : fabric->chan_dst[c];
		}
	}
	return n_lost;
}

enum osr_status osr_planes_mend(const struct osr_fabric *fabric,
				const struct osr_fabric *first_fabric,
				const struct osr_routing *first_routing, struct osr_planes *planes,
				struct osr_routing *own, struct osr_arena *scratch,
				struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n = fabric->n_switches;
	bool one_lane = !first_routing->sl && !first_routing->sl2vl;
	uint8_t *way = osr_alloc(scratch, n, 1);

	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	OSR_EACH_DEST(d, fabric) {
		uint32_t first = osr_first_dest(fabric, d);
		size_t from = first_fabric->lid_dest[fabric->dest_lid[first]] * n;
		uint8_t *row = own->lft + d * n;

		if (planes->tree_of[d] != d || d == first || !planes_lost(fabric, row, d, way))
			continue;
		if (!one_lane)
			planes->tree_of[d] = first;
		OSR_EACH_SWITCH(s, fabric)
			row[s] = way[s] == WAY_LOST ? first_routing->lft[from + s] : row[s];
	}
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

/*
 * Row `was` of `from` becomes that of d, with the entry of d's own switch; between components there
 * is none.
 */
static void planes_take_row(const struct osr_fabric *fabric, const struct osr_routing *from,
			    size_t was, uint32_t d, struct osr_routing *to, uint16_t *granted)
{
	size_t n = fabric->n_switches, row = d * n, at = was * n;
	uint32_t root = fabric->dest_switch[d];

	memcpy(to->lft + row, from->lft + at, n);
	for (uint32_t s = 0; fabric->n_components > 1 && s < n; s++)
		if (fabric->sw_component[s] != fabric->sw_component[root])
			to->lft[row + s] = OSR_NO_PATH;
	to->lft[row + root] = fabric->term_port[fabric->dest_term[d]];
	if (to->sl && from->sl)
		memcpy(to->sl + row, from->sl + at, n);
	if (granted && from->granted)
		memcpy(granted + row, from->granted + at, n * sizeof(*granted));
}

enum osr_status osr_planes_expand(const struct osr_fabric *fabric,
				  const struct osr_fabric *first_fabric,
				  const struct osr_routing *first_routing,
				  const struct osr_planes *planes, const struct osr_routing *own,
				  struct osr_arena *arena, struct osr_routing *routing,
				  struct osr_diag *diag)
{
	size_t n = fabric->n_switches, n_dests = fabric->n_dests;
	uint32_t *tree_of = osr_alloc(arena, n_dests, sizeof(*tree_of));
	uint8_t *kind = osr_alloc(arena, planes->n, sizeof(*kind));
	uint16_t *granted = NULL;

	if (first_routing->granted)
		granted = osr_calloc(arena, n_dests * n, sizeof(*granted));
	*routing = *first_routing;
	routing->n_dests = fabric->n_dests;
	routing->lft = osr_alloc(arena, n_dests * n, 1);
	routing->sl = first_routing->sl ? osr_calloc(arena, n_dests * n, 1) : NULL;
	routing->granted = granted;
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	memcpy(tree_of, planes->tree_of, n_dests * sizeof(*tree_of));
	memcpy(kind, planes->kind, planes->n * sizeof(*kind));
	routing->planes = (struct osr_planes){ .n = planes->n, .kind = kind, .tree_of = tree_of };
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		bool has_own = tree_of[d] == d && osr_plane_of(fabric, d);

		if (has_own && own) {
			planes_take_row(fabric, own, d, d, routing, granted);
			continue;
		}
		if (has_own)
			tree_of[d] = osr_first_dest(fabric, d);
		planes_take_row(fabric, first_routing,
				first_fabric->lid_dest[fabric->dest_lid[tree_of[d]]], d, routing,
				granted);
	}
	return OSR_OK;
}
