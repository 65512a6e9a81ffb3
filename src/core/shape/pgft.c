/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See pgft.h. For every component: try what "a leaf" may mean, from any switch with a host to those
 * with many (fit_part); take the trial that leaves the fewest holes; then number hosts and up-ports
 * (number_hosts, number_ports).
 */
#include <osmroutes/each.h>
#include <osmroutes/pgft.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "neighbours.h"
#include "pgft_private.h"

static bool pgft_is_host(const struct osr_fabric *fabric, uint32_t term)
{
	return fabric->term_role[term] == OSR_ROLE_CA || fabric->term_role[term] == OSR_ROLE_ROUTER;
}

/* Preparation ---------------------------------------------------------------------------------- */

static enum osr_status pgft_prepare(struct pgft_work *work)
{
	const struct osr_fabric *fabric = work->fabric;
	size_t n = fabric->n_switches, n_terms = fabric->n_terminals;
	struct osr_arena *arena = work->scratch;
	struct osr_pgft *pgft = work->pgft;
	struct osr_end *end = osr_alloc(arena, n_terms, sizeof(*end));
	uint32_t n_ends = 0;

	*pgft = (struct osr_pgft){ .fabric = fabric, .recalled = work->memory };
	pgft->tree = osr_calloc(arena, fabric->n_components, sizeof(*pgft->tree));
	pgft->sw_tree = osr_alloc(arena, n, sizeof(*pgft->sw_tree));
	pgft->sw_level = osr_calloc(arena, n, sizeof(*pgft->sw_level));
	pgft->sw_a = osr_calloc(arena, n, sizeof(*pgft->sw_a));
	pgft->sw_b = osr_calloc(arena, n, sizeof(*pgft->sw_b));
	pgft->sw_hosts = osr_calloc(arena, n, sizeof(*pgft->sw_hosts));
	pgft->up_row = osr_alloc(arena, n + 1, sizeof(*pgft->up_row));
	pgft->term_index = osr_alloc(arena, n_terms, sizeof(*pgft->term_index));
	pgft->order = osr_alloc(arena, n_terms, sizeof(*pgft->order));
	work->row = osr_alloc(arena, n + 1, sizeof(*work->row));
	work->near = osr_alloc(arena, fabric->n_channels, sizeof(*work->near));
	work->mult = osr_alloc(arena, fabric->n_channels, sizeof(*work->mult));
	work->member = osr_alloc(arena, n, sizeof(*work->member));
	work->level = osr_calloc(arena, n, sizeof(*work->level));
	work->depth = osr_alloc(arena, n, sizeof(*work->depth));
	work->queue = osr_alloc(arena, n, sizeof(*work->queue));
	work->stamp = osr_calloc(arena, n, sizeof(*work->stamp));
	work->count = osr_calloc(arena, n, sizeof(*work->count));
	work->below = osr_alloc(arena, n, sizeof(*work->below));
	work->above = osr_alloc(arena, n, sizeof(*work->above));
	work->digit = osr_alloc(arena, n, sizeof(*work->digit));
	work->set = osr_alloc(arena, n, sizeof(*work->set));
	work->key = osr_alloc(arena, n, sizeof(*work->key));
	if (osr_arena_failed(arena, work->diag))
		return OSR_NOMEM;
	memset(pgft->sw_tree, 0xff, n * sizeof(*pgft->sw_tree));
	memset(pgft->term_index, 0xff, n_terms * sizeof(*pgft->term_index));
	osr_neighbours(fabric, work->row, work->near, work->mult, work->count);
	for (uint32_t t = 0; t < n_terms; t++)
		if (pgft_is_host(fabric, t))
			end[n_ends++] = (struct osr_end){
				.sw = fabric->term_switch[t],
				.last = fabric->term_port[t] ==
					fabric->sw_n_ports[fabric->term_switch[t]],
				.name = fabric->names + fabric->term_name[t],
			};
	osr_count_hosts(end, n_ends, pgft->sw_hosts, fabric->n_switches);
	return OSR_OK;
}

/* One component -------------------------------------------------------------------------------- */

static enum osr_status refuse_cable(struct pgft_work *pgft, const struct pgft_part *part)
{
	const struct osr_fabric *fabric = pgft->fabric;
	uint32_t a = part->bad_from, b = part->bad_to, c = fabric->chan_row[a];
	char x[32], y[32];

	while (fabric->chan_dst[c] != b)
		c++;
	return osr_fail(
		pgft->diag, OSR_NOT_APPLICABLE,
		"not a fat tree: %s port %u and %s port %u are cabled to each other, but both "
		"lie %s (such cables: %u)",
		osr_switch_name(fabric, a, x), fabric->chan_port[c], osr_switch_name(fabric, b, y),
		fabric->chan_port[fabric->chan_rev[c]],
		pgft->pgft->sw_hosts[a] && pgft->pgft->sw_hosts[b] ? "next to hosts"
								   : "equally far from the hosts",
		part->n_bad / 2);
}

/*
 * Up-ports that lack their link, of how many; and the worst switch, with how many it has and lacks.
 */
struct holes {
	uint64_t n_missing, n_ports;
	uint32_t worst, has, lacks;
};

static struct holes count_holes(const struct pgft_work *pgft, const struct pgft_part *part,
				const struct osr_pgft_tree *tree)
{
	struct holes holes = { .worst = part->member[0] };

	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], l = pgft->level[s], ports, there = 0;

		/* Whatever has no place counts as a hole as well. */
		holes.n_missing += l == 0;
		if (!l || l == tree->h)
			continue;
		ports = tree->w[l + 1] * tree->p[l + 1];
		for (uint32_t e = pgft->row[s]; e < pgft->row[s + 1]; e++)
			if (pgft->level[pgft->near[e]] == l + 1)
				there += pgft->mult[e] < tree->p[l + 1] ? pgft->mult[e]
									: tree->p[l + 1];
		holes.n_ports += ports;
		holes.n_missing += there < ports ? ports - there : 0;
		if (there + holes.lacks < ports) {
			holes.worst = s;
			holes.has = there;
			holes.lacks = ports - there;
		}
	}
	return holes;
}

struct fit {
	bool found;
	struct holes holes;
	uint32_t strong;
	bool strip;
	bool cable; /* bad.bad_from and so on are set */
	struct pgft_part bad;
};

static enum osr_status try_part(struct pgft_work *pgft, struct pgft_part *part, uint32_t strong,
				bool strip, struct osr_pgft_tree *tree, struct fit *fit)
{
	struct holes holes;
	enum osr_status st;

	if (!osr_pgft_levels(pgft, part, strong, strip)) {
		if (part->n_bad != OSR_NONE && (!fit->cable || part->n_bad < fit->bad.n_bad)) {
			fit->cable = true;
			fit->bad = *part;
		}
		return OSR_OK;
	}
	st = osr_pgft_digits(pgft, part, tree);
	if (st)
		return st == OSR_NOT_APPLICABLE ? OSR_OK : st;
	holes = count_holes(pgft, part, tree);
	/* Fewer holes for the number of ports; the first of equals. */
	if (!fit->found || holes.n_missing * (fit->holes.n_ports + 1) <
				   fit->holes.n_missing * (holes.n_ports + 1)) {
		fit->found = true;
		fit->holes = holes;
		fit->strong = strong;
		fit->strip = strip;
	}
	return OSR_OK;
}

static uint32_t n_strong(const struct pgft_work *pgft, const struct pgft_part *part,
			 uint32_t strong)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < part->n; i++)
		n += pgft->pgft->sw_hosts[part->member[i]] >= strong;
	return n;
}

/*
 * From any host to many, 1, 2, 3, 5, 9, 17, ..., as long as that changes anything and there is
 * something to improve; then the same without switches that hang on one other, if there are any.
 */
static enum osr_status fit_part(struct pgft_work *pgft, struct pgft_part *part,
				struct osr_pgft_tree *tree, struct fit *fit)
{
	uint32_t pendant = 0;

	*fit = (struct fit){ 0 };
	for (uint32_t i = 0; i < part->n; i++)
		pendant |= pgft->row[part->member[i] + 1] - pgft->row[part->member[i]] == 1;
	for (uint32_t strip = 0; strip <= pendant && (!fit->found || fit->holes.n_missing);
	     strip++) {
		uint32_t last = OSR_NONE, n;

		for (uint32_t strong = 1; (n = n_strong(pgft, part, strong)) > 0 &&
					  (!fit->found || fit->holes.n_missing);
		     strong = strong < 3 ? strong + 1 : 2 * strong - 1) {
			enum osr_status st =
				n == last ? OSR_OK : try_part(pgft, part, strong, strip, tree, fit);

			if (st)
				return st;
			last = n;
		}
	}
	if (!fit->found)
		return OSR_OK;
	osr_pgft_levels(pgft, part, fit->strong, fit->strip);
	return osr_pgft_digits(pgft, part, tree);
}

/* Places and ports ----------------------------------------------------------------------------- */

/* A switch has the place its digits say, and those its children see it at. */
static void take_places(struct pgft_work *work, const struct pgft_part *part,
			struct osr_pgft_tree *tree)
{
	struct osr_pgft *pgft = work->pgft;

	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], l = work->level[s];

		if (!l)
			continue;
		pgft->sw_level[s] = (uint8_t)l;
		pgft->sw_tree[s] = pgft->n_trees;
		tree->n_switches++;
		if (*osr_pgft_place(tree, l, pgft->sw_a[s], pgft->sw_b[s]) == OSR_NONE)
			*osr_pgft_place(tree, l, pgft->sw_a[s], pgft->sw_b[s]) = s;
	}
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], l = work->level[s];

		for (uint32_t e = work->row[s]; l && e < work->row[s + 1]; e++) {
			uint32_t u = work->near[e], b, *at;

			if (work->level[u] != l + 1)
				continue;
			b = pgft->sw_b[u] / tree->w_product[l];
			at = osr_pgft_place(tree, l + 1, pgft->sw_a[s] / tree->m[l + 1],
					    pgft->sw_b[s] + b * tree->w_product[l]);
			if (*at == OSR_NONE)
				*at = u;
			tree->merged |= pgft->sw_b[s] + b * tree->w_product[l] != pgft->sw_b[u];
		}
	}
}

/*
 * Up-port q = b + k w of all switches; cables beyond p, or to a second switch with the same digit,
 * are spares.
 */
static enum osr_status number_ports(struct pgft_work *work)
{
	const struct osr_fabric *fabric = work->fabric;
	struct osr_pgft *pgft = work->pgft;
	uint32_t n = 0;

	OSR_EACH_SWITCH(s, fabric) {
		uint32_t l = pgft->sw_level[s];
		const struct osr_pgft_tree *tree = l ? &pgft->tree[pgft->sw_tree[s]] : NULL;

		pgft->up_row[s] = n;
		n += tree && l < tree->h ? tree->w[l + 1] * tree->p[l + 1] : 0;
	}
	pgft->up_row[fabric->n_switches] = n;
	pgft->up = osr_alloc(work->scratch, n, sizeof(*pgft->up));
	if (osr_arena_failed(work->scratch, work->diag))
		return OSR_NOMEM;
	memset(pgft->up, 0xff, n * sizeof(*pgft->up));
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t s = fabric->chan_src[c], u = fabric->chan_dst[c], l = pgft->sw_level[s],
			 k = 0, *up;
		struct osr_pgft_tree *tree;

		if (!l || pgft->sw_level[u] != l + 1)
			continue;
		tree = &pgft->tree[pgft->sw_tree[s]];
		tree->n_links++;
		up = pgft->up + pgft->up_row[s] + pgft->sw_b[u] / tree->w_product[l];
		while (k < tree->p[l + 1] && up[k * tree->w[l + 1]] != OSR_NONE &&
		       fabric->chan_dst[up[0]] == u)
			k++;
		if (k < tree->p[l + 1] && up[k * tree->w[l + 1]] == OSR_NONE)
			up[k * tree->w[l + 1]] = c;
		else
			tree->n_spares++;
	}
	return OSR_OK;
}

/*
 * Ports without a link, by whether there is a switch for it to lead to. Such a switch is missed by
 * its first child.
 */
static void pgft_count_missing(struct pgft_work *work)
{
	struct osr_pgft *pgft = work->pgft;

	OSR_EACH_SWITCH(s, work->fabric)
		for (uint32_t l = pgft->sw_level[s], q = 0; q < osr_pgft_n_up(pgft, s); q++) {
			struct osr_pgft_tree *tree = &pgft->tree[pgft->sw_tree[s]];
			uint32_t a = pgft->sw_a[s] / tree->m[l + 1], first = a * tree->m[l + 1],
				 b = pgft->sw_b[s],
				 up = b + q % tree->w[l + 1] * tree->w_product[l];

			if (pgft->up[pgft->up_row[s] + q] != OSR_NONE)
				continue;
			tree->n_missing_links += *osr_pgft_place(tree, l + 1, a, up) != OSR_NONE;
			while (*osr_pgft_place(tree, l, first, b) == OSR_NONE)
				first++;
			tree->n_missing_switches +=
				*osr_pgft_place(tree, l + 1, a, up) == OSR_NONE &&
				*osr_pgft_place(tree, l, first, b) == s && q < tree->w[l + 1];
		}
}

/*
 * Slots by port, but for hosts whose slot is remembered; more than m_1 share them. Ranks go by
 * slot, those that share one come last.
 */
static void number_leaf(struct pgft_work *work, struct osr_pgft_tree *tree, uint32_t s)
{
	uint32_t host[256], n = 0, n_extra = 0, next = 0, m = tree->m[1];
	const struct osr_fabric *fabric = work->fabric;
	struct osr_pgft *pgft = work->pgft;

	memset(host, 0xff, sizeof(host));
	for (unsigned pass = 0; pass < 2; pass++) {
		n = 0;
		for (uint32_t k = fabric->term_row[s];
		     k < fabric->term_row[s + 1] && n < pgft->sw_hosts[s]; k++) {
			const struct osr_pgft_known *known = NULL;
			uint32_t slot;

			if (!pgft_is_host(fabric, k))
				continue;
			n++;
			if (!pass)
				known = osr_pgft_memory_find(work->memory, fabric->sw_guid[s],
							     fabric->term_port[k]);
			while (pass && next < m && next < 256 && host[next] != OSR_NONE)
				next++;
			slot = m;
			if (pass)
				slot = next;
			else if (known)
				slot = known->b;
			if (pgft->term_index[k] != OSR_NONE ||
			    (!pass && (slot >= m || host[slot] != OSR_NONE)))
				continue;
			if (slot < m && slot < 256)
				host[slot] = k;
			pgft->term_index[k] = pgft->sw_a[s] * m + (slot < m ? slot : n_extra++ % m);
		}
	}
	for (uint32_t slot = 0; slot < m && slot < 256; slot++)
		if (host[slot] != OSR_NONE)
			pgft->order[pgft->n_order++] = host[slot];
	for (uint32_t k = fabric->term_row[s]; n_extra && k < fabric->term_row[s + 1]; k++)
		if (pgft->term_index[k] != OSR_NONE && host[pgft->term_index[k] % m] != k)
			pgft->order[pgft->n_order++] = k;
	tree->n_hosts += pgft->sw_hosts[s];
}

/* Leaves come in the order of A, which is that of their places. */
static void number_hosts(struct pgft_work *work)
{
	const struct osr_fabric *fabric = work->fabric;
	struct osr_pgft *pgft = work->pgft;

	for (uint32_t i = 0; i < pgft->n_trees; i++) {
		struct osr_pgft_tree *tree = &pgft->tree[i];
		uint32_t n_leaves = tree->m_product[tree->h] / tree->m[1];

		for (uint32_t a = 0; a < n_leaves; a++)
			if (tree->place[1][a] != OSR_NONE)
				number_leaf(work, tree, tree->place[1][a]);
	}
	OSR_EACH_SWITCH(s, fabric)
		OSR_EACH_TERMINAL(k, fabric, s)
			if (pgft_is_host(fabric, k) && pgft->sw_tree[s] != OSR_NONE)
				pgft->tree[pgft->sw_tree[s]].n_service +=
					pgft->term_index[k] == OSR_NONE;
}

static enum osr_status find_part(struct pgft_work *pgft, struct pgft_part *part,
				 uint32_t max_missing)
{
	struct osr_pgft_tree *tree = &pgft->pgft->tree[pgft->pgft->n_trees];
	enum osr_status st;
	struct fit fit;

	if (pgft->memory) {
		st = osr_pgft_recall(pgft, part, tree);
	} else {
		const struct holes *holes = &fit.holes;
		char name[32];
		bool many;

		st = fit_part(pgft, part, tree, &fit);
		if (st)
			return st;
		many = holes->n_missing * 100 > holes->n_ports * max_missing;
		if (fit.cable && (!fit.found || many))
			return refuse_cable(pgft, &fit.bad);
		if (!fit.found)
			return osr_fail(pgft->diag, OSR_NOT_APPLICABLE,
					"not a fat tree: no levels and digits fit its %u switches",
					part->n);
		if (many)
			return osr_fail(pgft->diag, OSR_NOT_APPLICABLE,
					"not a fat tree: level-%u switch %s has %u up-links, "
					"expected %u; of all %llu up-links that make the tree "
					"whole %llu are missing, more "
					"than %u %%",
					pgft->level[holes->worst],
					osr_switch_name(pgft->fabric, holes->worst, name),
					holes->has, holes->has + holes->lacks,
					(unsigned long long)holes->n_ports,
					(unsigned long long)holes->n_missing, max_missing);
		st = osr_pgft_places(pgft, part, tree);
	}
	if (st)
		return st;
	take_places(pgft, part, tree);
	tree->n_outside = part->n - tree->n_switches;
	pgft->pgft->n_trees++;
	return OSR_OK;
}

static enum osr_status find_trees(struct pgft_work *work, uint32_t max_missing)
{
	const struct osr_fabric *fabric = work->fabric;
	struct osr_pgft *pgft = work->pgft;
	enum osr_status st = pgft_prepare(work);

	for (uint32_t k = 0; k < fabric->n_components && !st; k++) {
		struct pgft_part part = { .member = work->member };

		OSR_EACH_SWITCH(s, fabric)
			if (fabric->sw_component[s] == k)
				work->member[part.n++] = s;
		if (n_strong(work, &part, 1))
			st = find_part(work, &part, max_missing);
	}
	if (st)
		return st;
	if (!pgft->n_trees)
		return osr_fail(work->diag, OSR_NOT_APPLICABLE,
				"not a fat tree: no CA or router on any of %u switches",
				fabric->n_switches);
	st = number_ports(work);
	if (st)
		return st;
	pgft_count_missing(work);
	number_hosts(work);
	/*
	 * Of trees that keep their digits, links to switches that are away are not missing: one of
	 * two spines may die.
	 */
	for (uint32_t i = 0; i < pgft->n_trees && work->memory && !st; i++) {
		uint64_t missing = pgft->tree[i].n_missing_links, n = pgft->tree[i].n_links;

		st = missing * 100 > (missing + n) * max_missing ? OSR_NOT_APPLICABLE : OSR_OK;
	}
	return st;
}

enum osr_status osr_pgft_find(const struct osr_fabric *fabric, const struct osr_pgft_options *opt,
			      struct osr_arena *scratch, struct osr_pgft *pgft,
			      struct osr_diag *diag)
{
	struct pgft_work none = { .fabric = fabric,
				  .pgft = pgft,
				  .scratch = scratch,
				  .diag = diag },
			 work = none;
	enum osr_status st = OSR_NOT_APPLICABLE;

	work.memory = opt->memory;
	if (work.memory)
		st = find_trees(&work, opt->max_missing);
	return st == OSR_NOT_APPLICABLE ? find_trees(&none, opt->max_missing) : st;
}

/* The sentence --------------------------------------------------------------------------------- */

static void __attribute__((format(printf, 3, 4)))
pgft_add(char *buf, size_t size, const char *fmt, ...)
{
	size_t n = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + n, size - n, fmt, ap);
	va_end(ap);
}

static void pgft_add_tree(char *buf, size_t size, const struct osr_pgft_tree *tree)
{
	const uint32_t *list[] = { tree->m, tree->w, tree->p };
	const struct {
		uint32_t n;
		const char *one, *many, *rest;
	} count[] = { { tree->n_missing_links, "link", "links", " missing" },
		      { tree->n_missing_switches, "upper switch", "upper switches", " missing" },
		      { tree->n_spares, "spare cable", "spare cables", "" },
		      { tree->n_service, "service port", "service ports", "" },
		      { tree->n_outside, "switch", "switches", " outside" } };

	pgft_add(buf, size, "fat tree of %u level%s, PGFT(%u", tree->h, tree->h == 1 ? "" : "s",
		 tree->h);
	for (uint32_t i = 0; i < 3 * tree->h; i++)
		pgft_add(buf, size, "%c%u", i % tree->h ? ',' : ';',
			 list[i / tree->h][1 + i % tree->h]);
	pgft_add(buf, size,
		 tree->n_hosts > tree->m_product[tree->h] ? "), %u hosts on %u places"
							  : "), %u of %u hosts",
		 tree->n_hosts, tree->m_product[tree->h]);
	for (uint32_t i = 0; i < sizeof(count) / sizeof(count[0]); i++)
		if (count[i].n)
			pgft_add(buf, size, ", %u %s%s", count[i].n,
				 count[i].n == 1 ? count[i].one : count[i].many, count[i].rest);
	if (tree->merged)
		pgft_add(buf, size, ", upper switches in several places");
	if (tree->shift.n_stages && !tree->n_missing_links && !tree->n_missing_switches)
		pgft_add(buf, size, ", mean HSD of shifts %.2f, %.2f links above the bound",
			 (double)tree->shift.load / tree->shift.n_stages,
			 (double)tree->shift.over / tree->shift.n_stages);
}

void osr_pgft_describe(const struct osr_pgft *pgft, char *buf, size_t size)
{
	buf[0] = 0;
	if (pgft->n_trees > 1)
		pgft_add(buf, size, "%u trees: ", pgft->n_trees);
	for (uint32_t i = 0; i < pgft->n_trees; i++) {
		pgft_add(buf, size, "%s", i ? "; " : "");
		pgft_add_tree(buf, size, &pgft->tree[i]);
	}
}
