/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Dragonflies: groups joined all to all, and as many cables between any two groups. Cables of a group close
 * triangles, cables between groups hardly any; a switch in doubt is of the group it has most cables to. Which
 * switches of two groups are to be joined no plan says: those that lack a cable.
 */
#include "wiring.h"

#include <stdio.h>
#include <string.h>

struct wiring_dragonfly {
	const struct wiring_graph *g;
	uint32_t *group;  /* [n_switches] first a root, then numbered */
	uint32_t *degree; /* [n_switches] cables, those too many not counted */
	uint32_t *count;  /* [n_switches + 1] */
	uint32_t n_groups, size, links, most; /* groups; switches of one; cables between two; of a switch */
	uint32_t *between; /* [n_groups^2]; before, neighbours */
};

static uint32_t group_root(uint32_t *group, uint32_t v)
{
	while (group[v] != v)
		v = group[v] = group[group[v]];
	return v;
}

/* Of the switches that both ends see, most see each other; those of two groups may see the same ones elsewhere. */
static bool is_of_group(struct wiring_dragonfly *x, uint32_t u, uint32_t v, uint32_t usual)
{
	const struct wiring_graph *g = x->g;
	uint32_t n = 0, n_joined = 0;

	for (uint32_t e = g->row[u]; e < g->end[u]; e++)
		if (osr__wiring_edge(g, v, g->near[e]) != OSR_NONE)
			x->between[n++] = g->near[e];
	for (uint32_t i = 0; i < n && 2 * n > usual; i++)
		for (uint32_t j = 0; j < i; j++)
			n_joined += osr__wiring_edge(g, x->between[i], x->between[j]) != OSR_NONE;
	return 2 * n > usual && 4 * n_joined >= n * (n - 1);
}

static void join_groups(struct wiring_dragonfly *x)
{
	const struct wiring_graph *g = x->g;
	uint32_t histogram[256] = { 0 }, usual;

	for (uint32_t v = 0; v < g->f->n_switches; v++) {
		x->group[v] = v;
		for (uint32_t e = g->row[v]; e < g->row[v + 1]; e++) {
			uint32_t t = osr__wiring_common(g, v, g->near[e]);

			if (t > 1 && t < 256)
				histogram[t]++;
		}
	}
	usual = osr__wiring_mode(histogram);
	for (uint32_t v = 0; v < g->f->n_switches && usual; v++)
		for (uint32_t e = g->row[v]; e < g->row[v + 1]; e++) {
			uint32_t a = group_root(x->group, v), b = group_root(x->group, g->near[e]);

			if (a != b && is_of_group(x, v, g->near[e], usual))
				x->group[a > b ? a : b] = a > b ? b : a;
		}
	for (uint32_t v = 0; v < g->f->n_switches; v++)
		x->group[v] = group_root(x->group, v);
}

/* To the group it has most cables to. */
static void settle(struct wiring_dragonfly *x)
{
	const struct wiring_graph *g = x->g;

	for (uint32_t v = 0; v < g->f->n_switches; v++) {
		uint32_t best = x->group[v];

		for (uint32_t e = g->row[v]; e < g->row[v + 1]; e++)
			x->count[x->group[g->near[e]]]++;
		for (uint32_t e = g->row[v]; e < g->row[v + 1]; e++)
			if (x->count[x->group[g->near[e]]] > x->count[best])
				best = x->group[g->near[e]];
		for (uint32_t e = g->row[v]; e < g->row[v + 1]; e++)
			x->count[x->group[g->near[e]]] = 0;
		x->group[v] = best;
	}
}

/* Numbers the groups; are they of one size? */
static bool number_groups(struct wiring_dragonfly *x)
{
	uint32_t n = x->g->f->n_switches;

	memset(x->count, 0xff, ((size_t)n + 1) * sizeof(*x->count));
	for (uint32_t v = 0; v < n; v++) {
		if (x->count[x->group[v]] == OSR_NONE)
			x->count[x->group[v]] = x->n_groups++;
		x->group[v] = x->count[x->group[v]];
	}
	memset(x->count, 0, ((size_t)n + 1) * sizeof(*x->count));
	for (uint32_t v = 0; v < n; v++)
		x->count[x->group[v]]++;
	x->size = n / x->n_groups;
	for (uint32_t i = 0; i < x->n_groups; i++)
		if (x->count[i] != x->size)
			return false;
	return x->n_groups > 2 && x->size > 2;
}

static void count_between(struct wiring_dragonfly *x)
{
	const struct wiring_graph *g = x->g;
	uint32_t histogram[256] = { 0 }, degrees[256] = { 0 };

	for (uint32_t v = 0; v < g->f->n_switches; v++) {
		uint32_t n = 0;

		for (uint32_t e = g->row[v]; e < g->row[v + 1]; e++) {
			n += g->mult[e];
			x->between[x->group[v] * x->n_groups + x->group[g->near[e]]] += g->mult[e];
		}
		x->degree[v] = n;
		degrees[n < 256 ? n : 255]++;
	}
	x->most = osr__wiring_mode(degrees);
	for (uint32_t a = 0; a < x->n_groups; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint32_t n = x->between[a * x->n_groups + b];

			histogram[n < 256 ? n : 255]++;
		}
	x->links = osr__wiring_mode(histogram);
}

static void remove_one(struct wiring_dragonfly *x, struct wiring_diff *d, uint32_t u, uint32_t v, uint32_t n)
{
	wiring_too_many(d, u, v, n);
	x->degree[u] -= n;
	x->degree[v] -= n;
}

/* How much a switch has too many of: cables beyond the usual number, or twice to one group. */
static uint32_t suspicion(const struct wiring_dragonfly *x, uint32_t u, uint32_t group)
{
	const struct wiring_graph *g = x->g;
	uint32_t n = x->degree[u] > x->most ? 2 * (x->degree[u] - x->most) : 0, to_group = 0;

	for (uint32_t e = g->row[u]; e < g->row[u + 1]; e++)
		to_group += x->group[g->near[e]] == group ? g->mult[e] : 0;
	return n + (to_group > 1);
}

/* Too many cables between two groups: the most suspicious go. */
static void thin_out(struct wiring_dragonfly *x, struct wiring_diff *d, uint32_t a, uint32_t b)
{
	const struct wiring_graph *g = x->g;
	uint32_t *n = &x->between[a * x->n_groups + b];

	for (; *n > x->links && !d->full; (*n)--) {
		uint32_t from = OSR_NONE, to = OSR_NONE, most = 0;

		for (uint32_t u = 0; u < g->f->n_switches; u++)
			for (uint32_t e = g->row[u]; e < g->row[u + 1] && x->group[u] == a; e++) {
				uint32_t v = g->near[e], s;
				bool known = false;

				for (uint32_t i = 0; i < d->n_extra; i++)
					known |= d->extra[i].a == u && d->extra[i].b == v;
				if (x->group[v] != b || known)
					continue;
				s = 1 + suspicion(x, u, b) + suspicion(x, v, a);
				if (s > most) {
					most = s;
					from = u;
					to = v;
				}
			}
		if (from == OSR_NONE)
			return;
		remove_one(x, d, from, to, 1);
	}
}

static void compare_groups(struct wiring_dragonfly *x, struct wiring_diff *d)
{
	const struct wiring_graph *g = x->g;
	uint32_t n = g->f->n_switches;

	for (uint32_t u = 0; u < n && !d->full; u++)
		for (uint32_t v = u + 1; v < n; v++) {
			uint32_t has;

			if (x->group[u] != x->group[v])
				continue;
			has = wiring_mult(g, u, v);
			if (!has) {
				wiring_lacks(d, u, v, 1);
				x->degree[u]++;
				x->degree[v]++;
			} else if (has > 1) {
				remove_one(x, d, u, v, has - 1);
			}
		}
}

static void thin_groups(struct wiring_dragonfly *x, struct wiring_diff *d)
{
	for (uint32_t a = 0; a < x->n_groups && !d->full; a++)
		for (uint32_t b = 0; b < a; b++)
			thin_out(x, d, a, b);
}

/* The switch of a group that lacks most cables. */
static uint32_t needy(const struct wiring_dragonfly *x, uint32_t group)
{
	uint32_t best = OSR_NONE;

	for (uint32_t v = 0; v < x->g->f->n_switches; v++)
		if (x->group[v] == group && (best == OSR_NONE || x->degree[v] < x->degree[best]))
			best = v;
	return best;
}

static void join_apart(struct wiring_dragonfly *x, struct wiring_diff *d)
{
	for (uint32_t a = 0; a < x->n_groups && !d->full; a++)
		for (uint32_t b = 0; b < a; b++)
			for (uint32_t n = x->between[a * x->n_groups + b]; n < x->links; n++) {
				uint32_t u = needy(x, a), v = needy(x, b);

				wiring_lacks(d, u, v, 1);
				x->degree[u]++;
				x->degree[v]++;
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

static uint32_t joint_of(const struct wiring_dragonfly *x, const uint32_t *member, arrangement_fn *arranged,
			 uint32_t from, uint32_t to)
{
	uint32_t per_switch = x->most - (x->size - 1);
	uint32_t i = arranged(from, to, x->n_groups) / (per_switch ? per_switch : 1);

	return member[from * x->size + (i < x->size ? i : x->size - 1)];
}

static uint32_t count_fits(const struct wiring_dragonfly *x, const uint32_t *member, arrangement_fn *arranged)
{
	uint32_t n = 0;

	for (uint32_t a = 0; a < x->n_groups; a++)
		for (uint32_t b = 0; b < a; b++)
			n += osr__wiring_edge(x->g, joint_of(x, member, arranged, a, b),
					      joint_of(x, member, arranged, b, a)) != OSR_NONE;
	return n;
}

static void compare_joints(struct wiring_dragonfly *x, const uint32_t *member, arrangement_fn *arranged,
			   struct wiring_diff *d)
{
	const struct wiring_graph *g = x->g;

	for (uint32_t a = 0; a < x->n_groups && !d->full; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint32_t u = joint_of(x, member, arranged, a, b), v = joint_of(x, member, arranged, b, a);

			wiring_lacks(d, u, v, osr__wiring_edge(g, u, v) == OSR_NONE);
		}
	for (uint32_t u = 0; u < g->f->n_switches && !d->full; u++)
		for (uint32_t e = g->row[u]; e < g->row[u + 1]; e++) {
			uint32_t v = g->near[e], a = x->group[u], b = x->group[v];

			if (u > v || a == b)
				continue;
			wiring_too_many(d, u, v,
					g->mult[e] - (joint_of(x, member, arranged, a, b) == u &&
						      joint_of(x, member, arranged, b, a) == v));
		}
}

/* One cable between two groups, nine of ten where an arrangement has it: then it says where all are. */
static bool find_arrangement(struct wiring_dragonfly *x, const uint32_t *member, struct wiring_diff *d)
{
	static arrangement_fn *const all[] = { absolute_cable, circulant_cable, palmtree_cable };
	uint32_t n_pairs = x->n_groups * (x->n_groups - 1) / 2;

	for (unsigned i = 0; i < 3 && x->links == 1 && x->most >= x->size; i++)
		if (10 * count_fits(x, member, all[i]) >= 9 * n_pairs) {
			compare_joints(x, member, all[i], d);
			return true;
		}
	return false;
}

/* Switches by group, those of one in ascending order. */
static uint32_t *list_members(struct wiring_dragonfly *x, struct osr_arena *scratch)
{
	uint32_t n = x->g->f->n_switches;
	uint32_t *member = osr_alloc(scratch, n, sizeof(*member));

	memset(x->count, 0, ((size_t)n + 1) * sizeof(*x->count));
	for (uint32_t v = 0; v < n && member; v++)
		member[x->group[v] * x->size + x->count[x->group[v]]++] = v;
	return member;
}

enum osr_status osr__wiring_dragonfly(const struct wiring_graph *g, struct osr_arena *scratch,
				      struct wiring_diff *d, char plan[160], struct osr_diag *diag)
{
	size_t n = g->f->n_switches;
	struct wiring_dragonfly x = { .g = g };
	uint32_t *member;

	x.group = osr_alloc(scratch, n, sizeof(*x.group));
	x.degree = osr_alloc(scratch, n, sizeof(*x.degree));
	x.count = osr_calloc(scratch, n + 1, sizeof(*x.count));
	x.between = osr_alloc(scratch, n, sizeof(*x.between));
	if (!x.group || !x.degree || !x.count || !x.between)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %zu switches", n);
	join_groups(&x);
	settle(&x);
	settle(&x);
	if (!number_groups(&x))
		return osr_fail(diag, OSR_NOT_APPLICABLE, "no dragonfly: no groups of one size");
	x.between = osr_calloc(scratch, (size_t)x.n_groups * x.n_groups, sizeof(*x.between));
	if (!x.between)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u groups", x.n_groups);
	count_between(&x);
	if (!x.links)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "no dragonfly: groups are not joined to each other");
	member = list_members(&x, scratch);
	if (!member)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %zu switches", n);
	compare_groups(&x, d);
	if (!find_arrangement(&x, member, d)) {
		thin_groups(&x, d);
		join_apart(&x, d);
	}
	snprintf(plan, 160, "dragonfly: %u groups of %u switches, %u cable%s between two groups", x.n_groups,
		 x.size, x.links, x.links > 1 ? "s" : "");
	return OSR_OK;
}
