/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Dragonflies: groups joined all to all, and as many cables between any two groups. Cables of a group close
 * triangles, cables between groups hardly any; a switch in doubt is of the group it has most cables to. Which
 * switches of two groups are to be joined no plan says: those that lack a cable.
 */
#include "wiring_private.h"

#include <stdio.h>
#include <string.h>

struct wiring_dragonfly {
	const struct wiring_graph *g;
	uint32_t *group;  /* [n_switches] first a root, then numbered */
	uint32_t *degree; /* [n_switches] cables, those too many not counted */
	uint32_t *count;  /* [n_switches + 1] */
	uint32_t n_groups, size, links,
		most;      /* groups; switches of one; cables between two; of a switch */
	uint32_t *between; /* [n_groups^2]; before, neighbours */
};

static uint32_t group_root(uint32_t *group, uint32_t v)
{
	while (group[v] != v)
		v = group[v] = group[group[v]];
	return v;
}

/* Of the switches that both ends see, most see each other; those of two groups may see the same ones elsewhere. */
static bool is_of_group(struct wiring_dragonfly *dragonfly, uint32_t u, uint32_t v, uint32_t need)
{
	const struct wiring_graph *graph = dragonfly->g;
	uint32_t n = 0, n_joined = 0;

	for (uint32_t e = graph->row[u]; e < graph->end[u]; e++)
		if (osr__wiring_edge(graph, v, graph->near[e]) != OSR_NONE)
			dragonfly->between[n++] = graph->near[e];
	for (uint32_t i = 0; i < n && n >= need; i++)
		for (uint32_t j = 0; j < i; j++)
			n_joined += osr__wiring_edge(graph, dragonfly->between[i],
						     dragonfly->between[j]) != OSR_NONE;
	return n >= need && 4 * n_joined >= n * (n - 1);
}

/*
 * How many others two switches of a group both see, mostly. Of groups of three it is one; in larger ones those who see
 * one are of two groups.
 */
static uint32_t usual_common(const struct wiring_graph *graph)
{
	uint32_t histogram[256] = { 0 }, n_one, usual;

	for (uint32_t v = 0; v < graph->f->n_switches; v++)
		for (uint32_t e = graph->row[v]; e < graph->row[v + 1]; e++) {
			uint32_t t = osr__wiring_common(graph, v, graph->near[e]);

			if (t && t < 256)
				histogram[t]++;
		}
	n_one = histogram[1];
	histogram[1] = 0;
	usual = osr__wiring_mode(histogram);
	return usual ? usual : n_one > 0;
}

static void join_groups(struct wiring_dragonfly *dragonfly, uint32_t need)
{
	const struct wiring_graph *graph = dragonfly->g;

	for (uint32_t v = 0; v < graph->f->n_switches; v++)
		dragonfly->group[v] = v;
	for (uint32_t v = 0; v < graph->f->n_switches; v++)
		for (uint32_t e = graph->row[v]; e < graph->row[v + 1]; e++) {
			uint32_t a = group_root(dragonfly->group, v),
				 b = group_root(dragonfly->group, graph->near[e]);

			if (a != b && is_of_group(dragonfly, v, graph->near[e], need))
				dragonfly->group[a > b ? a : b] = a > b ? b : a;
		}
	for (uint32_t v = 0; v < graph->f->n_switches; v++)
		dragonfly->group[v] = group_root(dragonfly->group, v);
}

/* To the group it has most cables to. */
static void wiring_dragonfly_settle(struct wiring_dragonfly *dragonfly)
{
	const struct wiring_graph *graph = dragonfly->g;

	for (uint32_t v = 0; v < graph->f->n_switches; v++) {
		uint32_t best = dragonfly->group[v];

		for (uint32_t e = graph->row[v]; e < graph->row[v + 1]; e++)
			dragonfly->count[dragonfly->group[graph->near[e]]]++;
		for (uint32_t e = graph->row[v]; e < graph->row[v + 1]; e++)
			if (dragonfly->count[dragonfly->group[graph->near[e]]] >
			    dragonfly->count[best])
				best = dragonfly->group[graph->near[e]];
		for (uint32_t e = graph->row[v]; e < graph->row[v + 1]; e++)
			dragonfly->count[dragonfly->group[graph->near[e]]] = 0;
		dragonfly->group[v] = best;
	}
}

/* Numbers the groups; are they of one size? */
static bool wiring_dragonfly_number_groups(struct wiring_dragonfly *dragonfly)
{
	uint32_t n = dragonfly->g->f->n_switches;

	dragonfly->n_groups = 0;
	memset(dragonfly->count, 0xff, ((size_t)n + 1) * sizeof(*dragonfly->count));
	for (uint32_t v = 0; v < n; v++) {
		if (dragonfly->count[dragonfly->group[v]] == OSR_NONE)
			dragonfly->count[dragonfly->group[v]] = dragonfly->n_groups++;
		dragonfly->group[v] = dragonfly->count[dragonfly->group[v]];
	}
	memset(dragonfly->count, 0, ((size_t)n + 1) * sizeof(*dragonfly->count));
	for (uint32_t v = 0; v < n; v++)
		dragonfly->count[dragonfly->group[v]]++;
	dragonfly->size = n / dragonfly->n_groups;
	for (uint32_t i = 0; i < dragonfly->n_groups; i++)
		if (dragonfly->count[i] != dragonfly->size)
			return false;
	return dragonfly->n_groups > 2 && dragonfly->size > 2;
}

/*
 * One cable that leads astray joins two groups for good if its ends happen to see enough in common; where that
 * spoils the groups, more is asked for. Switches that lack cables then come to their group by those they have.
 */
static bool dragonfly_find_groups(struct wiring_dragonfly *dragonfly)
{
	uint32_t n = dragonfly->g->f->n_switches, usual = usual_common(dragonfly->g);

	for (uint32_t need = usual / 2 + 1; usual && need <= usual; need++) {
		join_groups(dragonfly, need);
		memset(dragonfly->count, 0, ((size_t)n + 1) * sizeof(*dragonfly->count));
		wiring_dragonfly_settle(dragonfly);
		wiring_dragonfly_settle(dragonfly);
		if (wiring_dragonfly_number_groups(dragonfly))
			return true;
	}
	return false;
}

static void count_between(struct wiring_dragonfly *dragonfly)
{
	const struct wiring_graph *graph = dragonfly->g;
	uint32_t histogram[256] = { 0 }, degrees[256] = { 0 };

	for (uint32_t v = 0; v < graph->f->n_switches; v++) {
		uint32_t n = 0;

		for (uint32_t e = graph->row[v]; e < graph->row[v + 1]; e++) {
			n += graph->mult[e];
			dragonfly->between[dragonfly->group[v] * dragonfly->n_groups +
					   dragonfly->group[graph->near[e]]] += graph->mult[e];
		}
		dragonfly->degree[v] = n;
		degrees[n < 256 ? n : 255]++;
	}
	dragonfly->most = osr__wiring_mode(degrees);
	for (uint32_t a = 0; a < dragonfly->n_groups; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint32_t n = dragonfly->between[a * dragonfly->n_groups + b];

			histogram[n < 256 ? n : 255]++;
		}
	dragonfly->links = osr__wiring_mode(histogram);
}

static void remove_one(struct wiring_dragonfly *dragonfly, struct wiring_diff *diff, uint32_t u,
		       uint32_t v, uint32_t n)
{
	wiring_too_many(diff, u, v, n);
	dragonfly->degree[u] -= n;
	dragonfly->degree[v] -= n;
}

/* How much a switch has too many of: cables beyond the usual number, or twice to one group. */
static uint32_t suspicion(const struct wiring_dragonfly *dragonfly, uint32_t u, uint32_t group)
{
	const struct wiring_graph *graph = dragonfly->g;
	uint32_t n = dragonfly->degree[u] > dragonfly->most
			     ? 2 * (dragonfly->degree[u] - dragonfly->most)
			     : 0,
		 to_group = 0;

	for (uint32_t e = graph->row[u]; e < graph->row[u + 1]; e++)
		to_group += dragonfly->group[graph->near[e]] == group ? graph->mult[e] : 0;
	return n + (to_group > 1);
}

/* Too many cables between two groups: the most suspicious go. */
static void thin_out(struct wiring_dragonfly *dragonfly, struct wiring_diff *diff, uint32_t a,
		     uint32_t b)
{
	const struct wiring_graph *graph = dragonfly->g;
	uint32_t *n = &dragonfly->between[a * dragonfly->n_groups + b];

	for (; *n > dragonfly->links && !diff->full; (*n)--) {
		uint32_t from = OSR_NONE, to = OSR_NONE, most = 0;

		for (uint32_t u = 0; u < graph->f->n_switches; u++)
			for (uint32_t e = graph->row[u];
			     e < graph->row[u + 1] && dragonfly->group[u] == a; e++) {
				uint32_t v = graph->near[e], s;
				bool known = false;

				for (uint32_t i = 0; i < diff->n_extra; i++)
					known |= diff->extra[i].a == u && diff->extra[i].b == v;
				if (dragonfly->group[v] != b || known)
					continue;
				s = 1 + suspicion(dragonfly, u, b) + suspicion(dragonfly, v, a);
				if (s > most) {
					most = s;
					from = u;
					to = v;
				}
			}
		if (from == OSR_NONE)
			return;
		remove_one(dragonfly, diff, from, to, 1);
	}
}

static void compare_groups(struct wiring_dragonfly *dragonfly, struct wiring_diff *diff)
{
	const struct wiring_graph *graph = dragonfly->g;
	uint32_t n = graph->f->n_switches;

	for (uint32_t u = 0; u < n && !diff->full; u++)
		for (uint32_t v = u + 1; v < n; v++) {
			uint32_t has;

			if (dragonfly->group[u] != dragonfly->group[v])
				continue;
			has = wiring_mult(graph, u, v);
			if (!has) {
				wiring_lacks(diff, u, v, 1);
				dragonfly->degree[u]++;
				dragonfly->degree[v]++;
			} else if (has > 1) {
				remove_one(dragonfly, diff, u, v, has - 1);
			}
		}
}

static void thin_groups(struct wiring_dragonfly *dragonfly, struct wiring_diff *diff)
{
	for (uint32_t a = 0; a < dragonfly->n_groups && !diff->full; a++)
		for (uint32_t b = 0; b < a; b++)
			thin_out(dragonfly, diff, a, b);
}

/* The switch of a group that lacks most cables. */
static uint32_t needy(const struct wiring_dragonfly *dragonfly, uint32_t group)
{
	uint32_t best = OSR_NONE;

	for (uint32_t v = 0; v < dragonfly->g->f->n_switches; v++)
		if (dragonfly->group[v] == group &&
		    (best == OSR_NONE || dragonfly->degree[v] < dragonfly->degree[best]))
			best = v;
	return best;
}

static void join_apart(struct wiring_dragonfly *dragonfly, struct wiring_diff *diff)
{
	for (uint32_t a = 0; a < dragonfly->n_groups && !diff->full; a++)
		for (uint32_t b = 0; b < a; b++)
			for (uint32_t n = dragonfly->between[a * dragonfly->n_groups + b];
			     n < dragonfly->links; n++) {
				uint32_t u = needy(dragonfly, a), v = needy(dragonfly, b);

				wiring_lacks(diff, u, v, 1);
				dragonfly->degree[u]++;
				dragonfly->degree[v]++;
			}
}

/* ---- arrangements --------------------------------------------------------------------------- */

/* Which of its cables between groups group `from` has to group `to`, by the arrangements that are built. */
static uint32_t absolute_cable(uint32_t from, uint32_t to, uint32_t n)
{
	(void)n;
	return to < from ? to : to - 1;
}

static uint32_t circulant_cable(uint32_t from, uint32_t to, uint32_t n)
{
	return (to + n - from - 1) % n;
}

static uint32_t palmtree_cable(uint32_t from, uint32_t to, uint32_t n)
{
	return (from + n - to - 1) % n;
}

typedef uint32_t arrangement_fn(uint32_t from, uint32_t to, uint32_t n);

static uint32_t joint_of(const struct wiring_dragonfly *dragonfly, const uint32_t *member,
			 arrangement_fn *arranged, uint32_t from, uint32_t to)
{
	uint32_t per_switch = dragonfly->most - (dragonfly->size - 1);
	uint32_t i = arranged(from, to, dragonfly->n_groups) / (per_switch ? per_switch : 1);

	return member[from * dragonfly->size + (i < dragonfly->size ? i : dragonfly->size - 1)];
}

static uint32_t count_fits(const struct wiring_dragonfly *dragonfly, const uint32_t *member,
			   arrangement_fn *arranged)
{
	uint32_t n = 0;

	for (uint32_t a = 0; a < dragonfly->n_groups; a++)
		for (uint32_t b = 0; b < a; b++)
			n += osr__wiring_edge(
				     dragonfly->g, joint_of(dragonfly, member, arranged, a, b),
				     joint_of(dragonfly, member, arranged, b, a)) != OSR_NONE;
	return n;
}

static void compare_joints(struct wiring_dragonfly *dragonfly, const uint32_t *member,
			   arrangement_fn *arranged, struct wiring_diff *diff)
{
	const struct wiring_graph *graph = dragonfly->g;

	for (uint32_t a = 0; a < dragonfly->n_groups && !diff->full; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint32_t u = joint_of(dragonfly, member, arranged, a, b),
				 v = joint_of(dragonfly, member, arranged, b, a);

			wiring_lacks(diff, u, v, osr__wiring_edge(graph, u, v) == OSR_NONE);
		}
	for (uint32_t u = 0; u < graph->f->n_switches && !diff->full; u++)
		for (uint32_t e = graph->row[u]; e < graph->row[u + 1]; e++) {
			uint32_t v = graph->near[e], a = dragonfly->group[u],
				 b = dragonfly->group[v];

			if (u > v || a == b)
				continue;
			wiring_too_many(diff, u, v,
					graph->mult[e] -
						(joint_of(dragonfly, member, arranged, a, b) == u &&
						 joint_of(dragonfly, member, arranged, b, a) == v));
		}
}

/* One cable between two groups, nine of ten where an arrangement has it: then it says where all are. */
static bool find_arrangement(struct wiring_dragonfly *dragonfly, const uint32_t *member,
			     struct wiring_diff *diff)
{
	static arrangement_fn *const all[] = { absolute_cable, circulant_cable, palmtree_cable };
	uint32_t n_pairs = dragonfly->n_groups * (dragonfly->n_groups - 1) / 2;

	for (unsigned i = 0; i < 3 && dragonfly->links == 1 && dragonfly->most >= dragonfly->size;
	     i++)
		if (10 * count_fits(dragonfly, member, all[i]) >= 9 * n_pairs) {
			compare_joints(dragonfly, member, all[i], diff);
			return true;
		}
	return false;
}

/* Switches by group, those of one in ascending order. */
static uint32_t *list_members(struct wiring_dragonfly *dragonfly, struct osr_arena *scratch)
{
	uint32_t n = dragonfly->g->f->n_switches;
	uint32_t *member = osr_alloc(scratch, n, sizeof(*member));

	memset(dragonfly->count, 0, ((size_t)n + 1) * sizeof(*dragonfly->count));
	for (uint32_t v = 0; v < n && member; v++)
		member[dragonfly->group[v] * dragonfly->size +
		       dragonfly->count[dragonfly->group[v]]++] = v;
	return member;
}

enum osr_status osr__wiring_dragonfly(const struct wiring_graph *graph, struct osr_arena *scratch,
				      struct wiring_diff *diff, char plan[160],
				      struct osr_diag *diag)
{
	size_t n = graph->f->n_switches;
	struct wiring_dragonfly dragonfly = { .g = graph };
	uint32_t *member;

	dragonfly.group = osr_alloc(scratch, n, sizeof(*dragonfly.group));
	dragonfly.degree = osr_alloc(scratch, n, sizeof(*dragonfly.degree));
	dragonfly.count = osr_calloc(scratch, n + 1, sizeof(*dragonfly.count));
	dragonfly.between = osr_alloc(scratch, n, sizeof(*dragonfly.between));
	if (!dragonfly.group || !dragonfly.degree || !dragonfly.count || !dragonfly.between)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %zu switches", n);
	if (!dragonfly_find_groups(&dragonfly))
		return osr_fail(diag, OSR_NOT_APPLICABLE, "no dragonfly: no groups of one size");
	dragonfly.between = osr_calloc(scratch, (size_t)dragonfly.n_groups * dragonfly.n_groups,
				       sizeof(*dragonfly.between));
	if (!dragonfly.between)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u groups", dragonfly.n_groups);
	count_between(&dragonfly);
	if (!dragonfly.links)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"no dragonfly: groups are not joined to each other");
	member = list_members(&dragonfly, scratch);
	if (!member)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %zu switches", n);
	compare_groups(&dragonfly, diff);
	if (!find_arrangement(&dragonfly, member, diff)) {
		thin_groups(&dragonfly, diff);
		join_apart(&dragonfly, diff);
	}
	snprintf(plan, 160, "dragonfly: %u groups of %u switches, %u cable%s between two groups",
		 dragonfly.n_groups, dragonfly.size, dragonfly.links,
		 dragonfly.links > 1 ? "s" : "");
	return OSR_OK;
}
