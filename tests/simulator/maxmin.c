/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Progressive filling: the link that can give its flows the least fixes their rates; what they take
 * elsewhere is taken off there; then the next link. The share of a link never falls on the way, so
 * a heap of shares as they were is enough: one that has grown since goes back in.
 */
#include "simulator/maxmin.h"

#include <math.h>
#include <string.h>

struct osr__share {
	double share;
	uint32_t link;
	uint32_t open; /* flows it was computed for */
};

enum osr_status osr__maxmin_init(struct osr__maxmin *m, const struct osr_flow_net *net,
				 uint32_t max_flows, uint32_t max_hops, struct osr_arena *scratch,
				 struct osr_diag *diag)
{
	size_t hops = (size_t)max_flows * max_hops;

	*m = (struct osr__maxmin){ .net = net, .max_flows = max_flows, .max_hops = max_hops };
	if (hops > UINT32_MAX / 2)
		return osr_fail(diag, OSR_INVAL, "%u messages of %u hops are too many to simulate",
				max_flows, max_hops);
	m->links = osr_alloc(scratch, hops, sizeof(*m->links));
	m->n_hops = osr_alloc(scratch, max_flows, sizeof(*m->n_hops));
	m->rate = osr_alloc(scratch, max_flows, sizeof(*m->rate));
	m->left = osr_alloc(scratch, net->n_links, sizeof(*m->left));
	m->link_rate = osr_calloc(scratch, net->n_links, sizeof(*m->link_rate));
	m->open = osr_calloc(scratch, net->n_links, sizeof(*m->open));
	m->row = osr_alloc(scratch, net->n_links, sizeof(*m->row));
	m->fill = osr_alloc(scratch, net->n_links, sizeof(*m->fill));
	m->users = osr_alloc(scratch, hops, sizeof(*m->users));
	m->touched = osr_alloc(scratch, hops, sizeof(*m->touched));
	m->heap = osr_alloc(scratch, hops + 1, sizeof(*m->heap));
	if (!m->links || !m->n_hops || !m->rate || !m->left || !m->link_rate || !m->open ||
	    !m->row || !m->fill || !m->users || !m->touched || !m->heap)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u messages", max_flows);
	return OSR_OK;
}

/* Heap ----------------------------------------------------------------------------------------- */

static bool before(const struct osr__share *a, const struct osr__share *b)
{
	return a->share < b->share || (a->share == b->share && a->link < b->link);
}

static void sift_down(struct osr__maxmin *m, uint32_t i)
{
	struct osr__share x = m->heap[i];

	for (uint32_t child; (child = 2 * i + 1) < m->n_heap; i = child) {
		if (child + 1 < m->n_heap && before(&m->heap[child + 1], &m->heap[child]))
			child++;
		if (!before(&m->heap[child], &x))
			break;
		m->heap[i] = m->heap[child];
	}
	m->heap[i] = x;
}

static struct osr__share share_of(const struct osr__maxmin *m, uint32_t link)
{
	double left = m->left[link] > 0 ? m->left[link] : 0;

	return (struct osr__share){ left / m->open[link], link, m->open[link] };
}

static void fill_heap(struct osr__maxmin *m)
{
	for (uint32_t i = 0; i < m->n_touched; i++)
		m->heap[i] = share_of(m, m->touched[i]);
	m->n_heap = m->n_touched;
	for (uint32_t i = m->n_heap / 2; i > 0; i--)
		sift_down(m, i - 1);
}

/* The link that can give the least now, and that; OSR_NONE when every flow has its rate. */
static uint32_t next_link(struct osr__maxmin *m, double *share)
{
	while (m->n_heap) {
		struct osr__share top = m->heap[0];

		if (m->open[top.link] == top.open) {
			*share = top.share;
			m->heap[0] = m->heap[--m->n_heap];
			sift_down(m, 0);
			return top.link;
		}
		if (m->open[top.link])
			m->heap[0] = share_of(m, top.link);
		else
			m->heap[0] = m->heap[--m->n_heap];
		sift_down(m, 0);
	}
	return OSR_NONE;
}

/* Which flows cross a link --------------------------------------------------------------------- */

static void forget(struct osr__maxmin *m)
{
	for (uint32_t i = 0; i < m->n_touched; i++) {
		m->open[m->touched[i]] = 0;
		m->link_rate[m->touched[i]] = 0;
	}
	m->n_touched = 0;
}

static void list_users(struct osr__maxmin *m, const uint32_t *active, uint32_t n)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t *l = m->links + (size_t)active[i] * m->max_hops;

		for (uint32_t h = 0; h < m->n_hops[active[i]]; h++)
			if (m->open[l[h]]++ == 0)
				m->touched[m->n_touched++] = l[h];
	}
	for (uint32_t i = 0; i < m->n_touched; i++) {
		uint32_t l = m->touched[i];

		m->row[l] = m->fill[l] = at;
		at += m->open[l];
		m->left[l] = m->net->capacity[l];
		if (m->open[l] > m->max_sharing)
			m->max_sharing = m->open[l];
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t *l = m->links + (size_t)active[i] * m->max_hops;

		for (uint32_t h = 0; h < m->n_hops[active[i]]; h++)
			m->users[m->fill[l[h]]++] = active[i];
	}
}

static void fix_rate(struct osr__maxmin *m, uint32_t flow, double rate)
{
	const uint32_t *l = m->links + (size_t)flow * m->max_hops;

	m->rate[flow] = rate;
	for (uint32_t h = 0; h < m->n_hops[flow]; h++) {
		m->left[l[h]] -= rate;
		m->link_rate[l[h]] += rate;
		m->open[l[h]]--;
	}
}

void osr__maxmin_solve(struct osr__maxmin *m, const uint32_t *active, uint32_t n)
{
	uint32_t link;
	double share;

	forget(m);
	for (uint32_t i = 0; i < n; i++)
		m->rate[active[i]] = m->n_hops[active[i]] ? -1 : INFINITY;
	list_users(m, active, n);
	fill_heap(m);
	while ((link = next_link(m, &share)) != OSR_NONE)
		for (uint32_t i = m->row[link]; i < m->fill[link]; i++)
			if (m->rate[m->users[i]] < 0)
				fix_rate(m, m->users[i], share);
}

enum osr_status osr_flow_rates(const struct osr_flow_net *net, uint32_t n, const uint32_t *row,
			       const uint32_t *link, struct osr_arena *scratch, double *rate,
			       struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__maxmin m;
	uint32_t *active, max_hops = 1;
	enum osr_status st;

	for (uint32_t i = 0; i < n; i++)
		if (row[i + 1] - row[i] > max_hops)
			max_hops = row[i + 1] - row[i];
	st = osr__maxmin_init(&m, net, n, max_hops, scratch, diag);
	active = osr_alloc(scratch, n, sizeof(*active));
	if (!st && !active)
		st = osr_fail(diag, OSR_NOMEM, "out of memory for %u messages", n);
	for (uint32_t i = 0; i < n && !st; i++) {
		active[i] = i;
		m.n_hops[i] = row[i + 1] - row[i];
		memcpy(m.links + (size_t)i * max_hops, link + row[i], m.n_hops[i] * sizeof(*link));
	}
	if (!st) {
		osr__maxmin_solve(&m, active, n);
		memcpy(rate, m.rate, n * sizeof(*rate));
	}
	osr_arena_reset(scratch, mark);
	return st;
}
