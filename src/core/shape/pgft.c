/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See pgft.h. For every component: try what "a leaf" may mean, from any switch with a host to those
 * with many (fit_part); take the trial that leaves the fewest holes; then number hosts and up-ports
 * (number_hosts, number_ports).
 */
#include <osmroutes/pgft.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pgft_private.h"

static enum osr_status no_memory(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for recognising a fat tree");
}

static bool is_host(const struct osr_fabric *f, uint32_t term)
{
	return f->term_role[term] == OSR_ROLE_CA || f->term_role[term] == OSR_ROLE_ROUTER;
}

/* Preparation ---------------------------------------------------------------------------------- */

static void find_neighbours(struct pgft_work *w)
{
	const struct osr_fabric *f = w->f;
	uint32_t n = 0;

	for (uint32_t s = 0; s < f->n_switches; s++) {
		w->row[s] = n;
		w->now++;
		for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++) {
			uint32_t t = f->chan_dst[c];

			if (w->stamp[t] != w->now) {
				w->stamp[t] = w->now;
				w->count[t] = n;
				w->near[n] = t;
				w->mult[n++] = 0;
			}
			w->mult[w->count[t]]++;
		}
	}
	w->row[f->n_switches] = n;
}

static void sort_members(struct pgft_work *w)
{
	const struct osr_fabric *f = w->f;

	for (uint32_t s = 0; s < f->n_switches; s++)
		w->member_row[f->sw_component[s] + 1]++;
	for (uint32_t k = 0; k < f->n_components; k++)
		w->member_row[k + 1] += w->member_row[k];
	for (uint32_t s = f->n_switches; s-- > 0;)
		w->member[--w->member_row[f->sw_component[s] + 1]] = s;
	/* Now entry k + 1 is where component k begins. */
	for (uint32_t k = 0; k < f->n_components; k++)
		w->member_row[k] = w->member_row[k + 1];
	w->member_row[f->n_components] = f->n_switches;
}

static bool has_last(const struct osr_fabric *f, uint32_t s)
{
	uint32_t last = f->term_row[s + 1];

	return last > f->term_row[s] && is_host(f, last - 1) &&
	       f->term_port[last - 1] == f->sw_n_ports[s];
}

/*
 * Hosts by switch. Where most switches, and most of those with no other CA, have a CA on their last
 * port, these are the switches' own (aggregation nodes), and service ports.
 */
static void count_hosts(struct pgft_work *w)
{
	const struct osr_fabric *f = w->f;
	uint32_t n_last = 0, n_only = 0, n_bare = 0;

	for (uint32_t s = 0; s < f->n_switches; s++) {
		for (uint32_t i = f->term_row[s]; i < f->term_row[s + 1]; i++)
			w->bare_hosts[s] += is_host(f, i);
		n_last += has_last(f, s);
		n_only += has_last(f, s) && w->bare_hosts[s] == 1;
		n_bare += w->bare_hosts[s] == 0;
	}
	w->own_port = 2 * n_last > f->n_switches && n_only > n_bare && f->n_switches > 2;
	for (uint32_t s = 0; s < f->n_switches; s++)
		w->p->sw_hosts[s] = w->bare_hosts[s] - (w->own_port && has_last(f, s));
}

static enum osr_status prepare(struct pgft_work *w)
{
	const struct osr_fabric *f = w->f;
	size_t n = f->n_switches, rows = (OSR_PGFT_MAX_LEVELS + 1) * n;
	struct osr_arena *a = w->scratch;

	w->row = osr_alloc(a, n + 1, sizeof(*w->row));
	w->near = osr_alloc(a, f->n_channels, sizeof(*w->near));
	w->mult = osr_alloc(a, f->n_channels, sizeof(*w->mult));
	w->member = osr_alloc(a, n, sizeof(*w->member));
	w->member_row = osr_calloc(a, (size_t)f->n_components + 2, sizeof(*w->member_row));
	w->bare_hosts = osr_calloc(a, n, sizeof(*w->bare_hosts));
	w->level = osr_calloc(a, n, sizeof(*w->level));
	w->depth = osr_alloc(a, n, sizeof(*w->depth));
	w->queue = osr_alloc(a, n, sizeof(*w->queue));
	w->stamp = osr_calloc(a, n, sizeof(*w->stamp));
	w->count = osr_calloc(a, n, sizeof(*w->count));
	w->below = osr_alloc(a, rows, sizeof(*w->below));
	w->above = osr_alloc(a, rows, sizeof(*w->above));
	w->a_group = osr_alloc(a, rows, sizeof(*w->a_group));
	w->b_group = osr_alloc(a, rows, sizeof(*w->b_group));
	w->a_digit = osr_alloc(a, rows, sizeof(*w->a_digit));
	w->b_digit = osr_alloc(a, rows, sizeof(*w->b_digit));
	w->set = osr_alloc(a, n, sizeof(*w->set));
	w->key = osr_alloc(a, n, sizeof(*w->key));
	if (!w->row || !w->near || !w->mult || !w->member || !w->member_row || !w->bare_hosts ||
	    !w->level || !w->depth || !w->queue || !w->stamp || !w->count || !w->below ||
	    !w->above || !w->a_group || !w->b_group || !w->a_digit || !w->b_digit || !w->set ||
	    !w->key)
		return no_memory(w->diag);
	find_neighbours(w);
	sort_members(w);
	count_hosts(w);
	return OSR_OK;
}

static enum osr_status allocate(struct pgft_work *w)
{
	struct osr_pgft *p = w->p;
	const struct osr_fabric *f = w->f;
	size_t n = f->n_switches;

	*p = (struct osr_pgft){ .f = f };
	p->tree = osr_calloc(w->scratch, f->n_components, sizeof(*p->tree));
	p->sw_tree = osr_alloc(w->scratch, n, sizeof(*p->sw_tree));
	p->sw_level = osr_calloc(w->scratch, n, sizeof(*p->sw_level));
	p->sw_a = osr_calloc(w->scratch, n, sizeof(*p->sw_a));
	p->sw_b = osr_calloc(w->scratch, n, sizeof(*p->sw_b));
	p->sw_hosts = osr_calloc(w->scratch, n, sizeof(*p->sw_hosts));
	p->up_row = osr_alloc(w->scratch, n + 1, sizeof(*p->up_row));
	p->spare_row = osr_alloc(w->scratch, n + 1, sizeof(*p->spare_row));
	p->spare = osr_alloc(w->scratch, f->n_channels, sizeof(*p->spare));
	p->term_index = osr_alloc(w->scratch, f->n_terminals, sizeof(*p->term_index));
	p->order = osr_alloc(w->scratch, f->n_terminals, sizeof(*p->order));
	if (!p->tree || !p->sw_tree || !p->sw_level || !p->sw_a || !p->sw_b || !p->sw_hosts ||
	    !p->up_row || !p->spare_row || !p->spare || !p->term_index || !p->order)
		return no_memory(w->diag);
	memset(p->sw_tree, 0xff, n * sizeof(*p->sw_tree));
	memset(p->term_index, 0xff, f->n_terminals * sizeof(*p->term_index));
	return OSR_OK;
}

/* One component -------------------------------------------------------------------------------- */

/* One channel from a to b; there is one. */
static uint32_t channel_between(const struct osr_fabric *f, uint32_t a, uint32_t b)
{
	uint32_t c = f->chan_row[a];

	while (f->chan_dst[c] != b)
		c++;
	return c;
}

static enum osr_status refuse_cable(struct pgft_work *w, const struct pgft_part *part)
{
	const struct osr_fabric *f = w->f;
	uint32_t a = part->bad_from, b = part->bad_to, c = channel_between(f, a, b);
	char x[32], y[32];

	return osr_fail(
		w->diag, OSR_NOT_APPLICABLE,
		"not a fat tree: %s port %u and %s port %u are cabled to each other, but both "
		"lie %s (such cables: %u)",
		osr_switch_name(f, a, x), f->chan_port[c], osr_switch_name(f, b, y),
		f->chan_port[f->chan_rev[c]],
		w->p->sw_hosts[a] && w->p->sw_hosts[b] ? "next to hosts"
						       : "equally far from the hosts",
		part->n_bad / 2);
}

struct fit {
	bool found;
	uint64_t n_missing, n_ports;
	uint32_t strong;
	bool strip;
	bool cable; /* bad.bad_from and so on are set */
	struct pgft_part bad;
};

/* Fewer holes for the number of ports; the first of equals. */
static bool is_better(uint64_t missing, uint64_t ports, const struct fit *best)
{
	return !best->found || missing * (best->n_ports + 1) < best->n_missing * (ports + 1);
}

static enum osr_status try_part(struct pgft_work *w, struct pgft_part *part, uint32_t strong,
				bool strip, struct osr_pgft_tree *t, struct fit *fit)
{
	uint64_t n_missing, n_ports;
	enum osr_status st;

	if (!osr__pgft_levels(w, part, strong, strip)) {
		if (part->n_bad != OSR_NONE && (!fit->cable || part->n_bad < fit->bad.n_bad)) {
			fit->cable = true;
			fit->bad = *part;
		}
		return OSR_OK;
	}
	st = osr__pgft_digits(w, part, t);
	if (st)
		return st == OSR_NOT_APPLICABLE ? OSR_OK : st;
	osr__pgft_missing(w, part, t, &n_missing, &n_ports);
	if (is_better(n_missing, n_ports, fit)) {
		fit->found = true;
		fit->n_missing = n_missing;
		fit->n_ports = n_ports;
		fit->strong = strong;
		fit->strip = strip;
	}
	return OSR_OK;
}

static uint32_t n_strong(const struct pgft_work *w, const struct pgft_part *part, uint32_t strong)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < part->n; i++)
		n += w->p->sw_hosts[part->member[i]] >= strong;
	return n;
}

static bool has_pendant(const struct pgft_work *w, const struct pgft_part *part)
{
	for (uint32_t i = 0; i < part->n; i++)
		if (w->row[part->member[i] + 1] - w->row[part->member[i]] == 1)
			return true;
	return false;
}

/*
 * From any host to many, 1, 2, 3, 5, 9, 17, ..., as long as that changes anything and there is
 * something to improve.
 */
static enum osr_status fit_thresholds(struct pgft_work *w, struct pgft_part *part, bool strip,
				      struct osr_pgft_tree *t, struct fit *fit)
{
	uint32_t last = OSR_NONE, n;

	for (uint32_t strong = 1; (n = n_strong(w, part, strong)) > 0;
	     strong = strong < 3 ? strong + 1 : 2 * strong - 1) {
		enum osr_status st = n == last ? OSR_OK : try_part(w, part, strong, strip, t, fit);

		if (st || (fit->found && fit->n_missing == 0))
			return st;
		last = n;
	}
	return OSR_OK;
}

static enum osr_status fit_part(struct pgft_work *w, struct pgft_part *part,
				struct osr_pgft_tree *t, struct fit *fit)
{
	enum osr_status st;

	*fit = (struct fit){ 0 };
	st = fit_thresholds(w, part, false, t, fit);
	if (!st && (!fit->found || fit->n_missing) && has_pendant(w, part))
		st = fit_thresholds(w, part, true, t, fit);
	if (st || !fit->found)
		return st;
	osr__pgft_levels(w, part, fit->strong, fit->strip);
	return osr__pgft_digits(w, part, t);
}

/* Places and ports ----------------------------------------------------------------------------- */

static enum osr_status allocate_places(struct pgft_work *w, struct osr_pgft_tree *t)
{
	for (uint32_t l = 1; l <= t->h; l++) {
		size_t n = (size_t)(t->m_product[t->h] / t->m_product[l]) * t->w_product[l];

		if (n > 64 * (size_t)w->f->n_switches + 4096)
			return osr_fail(w->diag, OSR_NOT_APPLICABLE,
					"not a fat tree: it would have %zu switches on level %u", n,
					l);
		t->place[l] = osr_alloc(w->scratch, n, sizeof(*t->place[l]));
		if (!t->place[l])
			return no_memory(w->diag);
		memset(t->place[l], 0xff, n * sizeof(*t->place[l]));
	}
	return OSR_OK;
}

static uint32_t *place(const struct osr_pgft_tree *t, uint32_t l, uint32_t a, uint32_t b)
{
	return &t->place[l][(size_t)a * t->w_product[l] + b];
}

/* A switch has the place its digits say, and those its children see it at. */
static void take_places(struct pgft_work *w, const struct pgft_part *part, struct osr_pgft_tree *t)
{
	struct osr_pgft *p = w->p;

	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], l = w->level[s];

		if (!l)
			continue;
		p->sw_level[s] = (uint8_t)l;
		p->sw_tree[s] = p->n_trees;
		t->n_switches++;
		t->n_upper[l]++;
		if (*place(t, l, p->sw_a[s], p->sw_b[s]) == OSR_NONE)
			*place(t, l, p->sw_a[s], p->sw_b[s]) = s;
	}
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], l = w->level[s];

		for (uint32_t e = w->row[s]; l && e < w->row[s + 1]; e++) {
			uint32_t u = w->near[e], b, *at;

			if (w->level[u] != l + 1)
				continue;
			b = w->b_digit[(size_t)(l + 1) * w->f->n_switches + u];
			at = place(t, l + 1, p->sw_a[s] / t->m[l + 1],
				   p->sw_b[s] + b * t->w_product[l]);
			if (*at == OSR_NONE)
				*at = u;
			t->merged |= p->sw_b[s] + b * t->w_product[l] != p->sw_b[u];
		}
	}
	t->n_leaves = t->n_upper[1];
}

/* Rows of up-ports for all switches, before they are filled tree by tree. */
static enum osr_status allocate_ports(struct pgft_work *w)
{
	struct osr_pgft *p = w->p;
	uint32_t n = 0, n_spare = 0;

	for (uint32_t s = 0; s < w->f->n_switches; s++) {
		uint32_t l = p->sw_level[s], c;

		p->up_row[s] = n;
		p->spare_row[s] = n_spare;
		if (!l)
			continue;
		for (c = w->f->chan_row[s]; c < w->f->chan_row[s + 1]; c++)
			n_spare += p->sw_level[w->f->chan_dst[c]] == l + 1;
		if (l < p->tree[p->sw_tree[s]].h)
			n += p->tree[p->sw_tree[s]].w[l + 1] * p->tree[p->sw_tree[s]].p[l + 1];
	}
	p->up_row[w->f->n_switches] = n;
	p->up = osr_alloc(w->scratch, n, sizeof(*p->up));
	if (!p->up)
		return no_memory(w->diag);
	memset(p->up, 0xff, n * sizeof(*p->up));
	return OSR_OK;
}

/* Up-port q = b + k w; cables beyond p, or to a second switch with the same digit, are spares. */
static void number_ports(struct pgft_work *w)
{
	struct osr_pgft *p = w->p;
	const struct osr_fabric *f = w->f;
	uint32_t n_spare = 0;

	for (uint32_t s = 0; s < f->n_switches; s++) {
		struct osr_pgft_tree *t = p->sw_level[s] ? &p->tree[p->sw_tree[s]] : NULL;
		uint32_t l = p->sw_level[s], *up = p->up + p->up_row[s];

		p->spare_row[s] = n_spare;
		if (!t)
			continue;
		for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++) {
			uint32_t u = f->chan_dst[c], q, k = 0;

			if (p->sw_level[u] != l + 1)
				continue;
			t->n_links++;
			q = w->b_digit[(size_t)(l + 1) * f->n_switches + u];
			while (k < t->p[l + 1] && up[q + k * t->w[l + 1]] != OSR_NONE &&
			       f->chan_dst[up[q]] == u)
				k++;
			if (k < t->p[l + 1] && up[q + k * t->w[l + 1]] == OSR_NONE)
				up[q + k * t->w[l + 1]] = c;
			else
				p->spare[n_spare++] = c;
		}
		t->n_spares += n_spare - p->spare_row[s];
	}
	p->spare_row[f->n_switches] = n_spare;
}

/* Ports without a link, by whether there is a switch for it to lead to. */
static void count_missing(struct pgft_work *w)
{
	struct osr_pgft *p = w->p;

	for (uint32_t s = 0; s < w->f->n_switches; s++) {
		uint32_t l = p->sw_level[s];
		struct osr_pgft_tree *t;

		if (!l || l == p->tree[p->sw_tree[s]].h)
			continue;
		t = &p->tree[p->sw_tree[s]];
		for (uint32_t q = 0; q < osr_pgft_n_up(p, s); q++) {
			uint32_t *at = place(t, l + 1, p->sw_a[s] / t->m[l + 1],
					     p->sw_b[s] + q % t->w[l + 1] * t->w_product[l]);

			if (p->up[p->up_row[s] + q] != OSR_NONE)
				continue;
			if (*at == OSR_NONE) {
				/* Counted once, however many children miss it. */
				*at = OSR_NONE - 1;
				t->n_missing_switches++;
			}
			t->n_missing_links += *at < OSR_NONE - 1;
		}
	}
	for (uint32_t i = 0; i < p->n_trees; i++)
		for (uint32_t l = 1; l <= p->tree[i].h; l++) {
			struct osr_pgft_tree *t = &p->tree[i];
			size_t n = (size_t)(t->m_product[t->h] / t->m_product[l]) * t->w_product[l];

			for (size_t k = 0; k < n; k++)
				if (t->place[l][k] == OSR_NONE - 1)
					t->place[l][k] = OSR_NONE;
		}
}

/*
 * Slots by port, but for hosts whose slot is remembered; more than m_1 share them. Ranks go by slot,
 * those that share one come last.
 */
static void number_leaf(struct pgft_work *w, struct osr_pgft_tree *t, uint32_t s)
{
	uint32_t host[256], n = 0, n_extra = 0, next = 0, m = t->m[1];
	const struct osr_fabric *f = w->f;
	struct osr_pgft *p = w->p;

	memset(host, 0xff, sizeof(host));
	for (uint32_t k = f->term_row[s]; k < f->term_row[s + 1] && n < p->sw_hosts[s]; k++) {
		uint32_t slot = is_host(f, k) && t->recalled != OSR_NONE
					? osr__pgft_recall_slot(w, s, f->term_port[k])
					: OSR_NONE;

		n += is_host(f, k);
		if (slot < m && slot < 256 && host[slot] == OSR_NONE) {
			host[slot] = k;
			p->term_index[k] = p->sw_a[s] * m + slot;
		}
	}
	n = 0;
	for (uint32_t k = f->term_row[s]; k < f->term_row[s + 1] && n < p->sw_hosts[s]; k++) {
		n += is_host(f, k);
		if (!is_host(f, k) || p->term_index[k] != OSR_NONE)
			continue;
		while (next < m && next < 256 && host[next] != OSR_NONE)
			next++;
		if (next < m && next < 256)
			host[next] = k;
		p->term_index[k] = p->sw_a[s] * m + (next < m ? next : n_extra++ % m);
	}
	for (uint32_t slot = 0; slot < m && slot < 256; slot++)
		if (host[slot] != OSR_NONE)
			p->order[p->n_order++] = host[slot];
	for (uint32_t k = f->term_row[s]; n_extra && k < f->term_row[s + 1]; k++)
		if (p->term_index[k] != OSR_NONE && host[p->term_index[k] % m] != k)
			p->order[p->n_order++] = k;
	t->n_hosts += p->sw_hosts[s];
}

/* Leaves come in the order of A, which is that of their places. */
static void number_hosts(struct pgft_work *w)
{
	const struct osr_fabric *f = w->f;
	struct osr_pgft *p = w->p;

	for (uint32_t i = 0; i < p->n_trees; i++) {
		struct osr_pgft_tree *t = &p->tree[i];
		uint32_t n_leaves = t->m_product[t->h] / t->m[1];

		for (uint32_t a = 0; a < n_leaves; a++)
			if (t->place[1][a] != OSR_NONE)
				number_leaf(w, t, t->place[1][a]);
	}
	for (uint32_t s = 0; s < f->n_switches; s++)
		for (uint32_t k = f->term_row[s]; k < f->term_row[s + 1]; k++)
			if (is_host(f, k) && p->sw_tree[s] != OSR_NONE)
				p->tree[p->sw_tree[s]].n_service += p->term_index[k] == OSR_NONE;
}

/* The worst switch of the tree with too many holes. */
static enum osr_status refuse_holes(struct pgft_work *w, const struct pgft_part *part,
				    const struct osr_pgft_tree *t, const struct fit *fit,
				    uint32_t max_missing)
{
	uint32_t worst = part->member[0], most = 0, has = 0;
	char name[32];

	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], l = w->level[s], there = 0, ports;

		if (!l || l == t->h)
			continue;
		for (uint32_t e = w->row[s]; e < w->row[s + 1]; e++)
			there += w->level[w->near[e]] == l + 1 ? w->mult[e] : 0;
		ports = t->w[l + 1] * t->p[l + 1];
		if (there >= ports || ports - there <= most)
			continue;
		most = ports - there;
		worst = s;
		has = there;
	}
	return osr_fail(
		w->diag, OSR_NOT_APPLICABLE,
		"not a fat tree: level-%u switch %s has %u up-links, expected %u; of all %llu "
		"up-links that make the tree whole %llu are missing, more than %u %%",
		w->level[worst], osr_switch_name(w->f, worst, name), has, has + most,
		(unsigned long long)fit->n_ports, (unsigned long long)fit->n_missing, max_missing);
}

static bool too_many(const struct fit *fit, const struct osr_pgft_options *opt)
{
	return fit->n_missing * 100 > fit->n_ports * opt->max_missing;
}

static enum osr_status find_part(struct pgft_work *w, struct pgft_part *part,
				 const struct osr_pgft_options *opt)
{
	struct osr_pgft_tree *t = &w->p->tree[w->p->n_trees];
	enum osr_status st;
	struct fit fit;

	t->component = part->component;
	st = fit_part(w, part, t, &fit);
	if (st)
		return st;
	if (fit.cable && (!fit.found || too_many(&fit, opt)))
		return refuse_cable(w, &fit.bad);
	if (!fit.found)
		return osr_fail(w->diag, OSR_NOT_APPLICABLE,
				"not a fat tree: no levels and digits fit its %u switches",
				part->n);
	if (too_many(&fit, opt))
		return refuse_holes(w, part, t, &fit, opt->max_missing);
	st = allocate_places(w, t);
	if (st)
		return st;
	take_places(w, part, t);
	t->n_outside = part->n - t->n_switches;
	w->p->n_trees++;
	return OSR_OK;
}

enum osr_status osr_pgft_find(const struct osr_fabric *f, const struct osr_pgft_options *opt,
			      struct osr_arena *scratch, struct osr_pgft *p, struct osr_diag *diag)
{
	struct pgft_work w = { .f = f, .p = p, .scratch = scratch, .diag = diag };
	enum osr_status st = allocate(&w);

	if (!st)
		st = prepare(&w);
	if (!st)
		st = osr__pgft_recall(&w, opt->memory);
	for (uint32_t k = 0; k < f->n_components && !st; k++) {
		struct pgft_part part = { .component = k,
					  .member = w.member + w.member_row[k],
					  .n = w.member_row[k + 1] - w.member_row[k] };

		if (n_strong(&w, &part, 1))
			st = find_part(&w, &part, opt);
	}
	if (st)
		return st;
	if (!p->n_trees)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"not a fat tree: no CA or router on any of %u switches",
				f->n_switches);
	st = allocate_ports(&w);
	if (st)
		return st;
	number_ports(&w);
	count_missing(&w);
	number_hosts(&w);
	return OSR_OK;
}

/* The sentence --------------------------------------------------------------------------------- */

struct text {
	char *buf;
	size_t size, n;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->n < t->size ? t->buf + t->n : NULL, t->n < t->size ? t->size - t->n : 0,
		      fmt, ap);
	va_end(ap);
	t->n += n > 0 ? (size_t)n : 0;
}

static void add_list(struct text *x, const uint32_t *list, uint32_t h)
{
	for (uint32_t l = 1; l <= h; l++)
		add(x, "%s%u", l > 1 ? "," : "", list[l]);
}

static void add_count(struct text *x, uint32_t n, const char *what, const char *rest)
{
	if (n)
		add(x, ", %u %s%s%s", n, what,
		    n == 1                          ? ""
		    : what[strlen(what) - 1] == 'h' ? "es"
						    : "s",
		    rest);
}

static void add_tree(struct text *x, const struct osr_pgft_tree *t)
{
	add(x, "PGFT(%u;", t->h);
	add_list(x, t->m, t->h);
	add(x, ";");
	add_list(x, t->w, t->h);
	add(x, ";");
	add_list(x, t->p, t->h);
	add(x, "), %u of %u hosts", t->n_hosts, t->m_product[t->h]);
	add_count(x, t->n_missing_links, "link", " missing");
	add_count(x, t->n_missing_switches, "upper switch", " missing");
	add_count(x, t->n_spares, "spare cable", "");
	add_count(x, t->n_service, "service port", "");
	add_count(x, t->n_outside, "switch", " outside");
	if (t->merged)
		add(x, ", upper switches in several places");
}

void osr_pgft_describe(const struct osr_pgft *p, char *buf, size_t size)
{
	struct text x = { buf, size, 0 };

	if (size)
		buf[0] = 0;
	if (p->n_trees > 1)
		add(&x, "%u trees: ", p->n_trees);
	for (uint32_t i = 0; i < p->n_trees; i++) {
		add(&x, "%s", i ? "; " : "");
		add_tree(&x, &p->tree[i]);
	}
}
