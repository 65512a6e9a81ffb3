/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The simulator: time goes from one event to the next. An event is the begin of a message, the end
 * of one, or the end of a phase's calculation; between events rates are constant.
 *
 * A phase keeps its messages sorted by begin and a cursor into them. The number of applications is
 * small, so the next event is found by looking at all of them and at all messages under way.
 *
 * Rates by progressive filling: the link that can give its flows the least fixes their rates; what they
 * take elsewhere is taken off there; then the next link. The share of a link never falls on the way, so
 * a heap of shares as they were is enough: one that has grown since goes back in.
 */
#include "simulator/flow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends closer together than this part of the step count as one: rounding must not split them. */
#define TOGETHER 1e-9

static void insist(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "simulator: %s\n", what);
	abort();
}

static void *get(struct osr_arena *arena, size_t n, size_t size)
{
	void *p = osr_calloc(arena, n, size);

	insist(p != NULL, "out of memory");
	return p;
}

/*
 * Flows live in slots 0 .. max_flows-1, those under way are listed in any order that is the same
 * every time. All arrays are allocated once; a computation touches only links that carry something.
 */
struct maxmin {
	const struct osr_flow_net *net;
	uint32_t max_flows, max_hops;
	/* Of the caller: [max_flows * max_hops] and [max_flows] */
	uint32_t *links;
	uint32_t *n_hops;
	double *rate;
	/* [n_links] */
	double *left;      /* capacity that is not given out */
	double *link_rate; /* sum of the rates; valid for links that carry something, else 0 */
	uint32_t *open;    /* flows without a rate yet */
	uint32_t *row;     /* first of its flows in `users` */
	uint32_t *fill;
	/* [max_flows * max_hops] */
	uint32_t *users;
	uint32_t *touched; /* links that carry something */
	uint32_t n_touched;
	struct share *heap;
	uint32_t n_heap;
	uint32_t max_sharing; /* ever */
};

struct share {
	double share;
	uint32_t link;
	uint32_t open; /* flows it was computed for */
};

static void init_rates(struct maxmin *m, const struct osr_flow_net *net, uint32_t max_flows,
		       uint32_t max_hops, struct osr_arena *scratch)
{
	size_t hops = (size_t)max_flows * max_hops;

	*m = (struct maxmin){ .net = net, .max_flows = max_flows, .max_hops = max_hops };
	insist(hops <= UINT32_MAX / 2, "too many messages");
	m->links = get(scratch, hops, sizeof(*m->links));
	m->n_hops = get(scratch, max_flows, sizeof(*m->n_hops));
	m->rate = get(scratch, max_flows, sizeof(*m->rate));
	m->left = get(scratch, net->n_links, sizeof(*m->left));
	m->link_rate = get(scratch, net->n_links, sizeof(*m->link_rate));
	m->open = get(scratch, net->n_links, sizeof(*m->open));
	m->row = get(scratch, net->n_links, sizeof(*m->row));
	m->fill = get(scratch, net->n_links, sizeof(*m->fill));
	m->users = get(scratch, hops, sizeof(*m->users));
	m->touched = get(scratch, hops, sizeof(*m->touched));
	m->heap = get(scratch, hops + 1, sizeof(*m->heap));
}

/* Heap ----------------------------------------------------------------------------------------- */

static bool before(const struct share *a, const struct share *b)
{
	return a->share < b->share || (a->share == b->share && a->link < b->link);
}

static void sift_down(struct maxmin *m, uint32_t i)
{
	struct share x = m->heap[i];

	for (uint32_t child; (child = 2 * i + 1) < m->n_heap; i = child) {
		if (child + 1 < m->n_heap && before(&m->heap[child + 1], &m->heap[child]))
			child++;
		if (!before(&m->heap[child], &x))
			break;
		m->heap[i] = m->heap[child];
	}
	m->heap[i] = x;
}

static struct share share_of(const struct maxmin *m, uint32_t link)
{
	double left = m->left[link] > 0 ? m->left[link] : 0;

	return (struct share){ left / m->open[link], link, m->open[link] };
}

static void fill_heap(struct maxmin *m)
{
	for (uint32_t i = 0; i < m->n_touched; i++)
		m->heap[i] = share_of(m, m->touched[i]);
	m->n_heap = m->n_touched;
	for (uint32_t i = m->n_heap / 2; i > 0; i--)
		sift_down(m, i - 1);
}

/* The link that can give the least now, and that; OSR_NONE when every flow has its rate. */
static uint32_t next_link(struct maxmin *m, double *share)
{
	while (m->n_heap) {
		struct share top = m->heap[0];

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

static void forget(struct maxmin *m)
{
	for (uint32_t i = 0; i < m->n_touched; i++) {
		m->open[m->touched[i]] = 0;
		m->link_rate[m->touched[i]] = 0;
	}
	m->n_touched = 0;
}

static void list_users(struct maxmin *m, const uint32_t *active, uint32_t n)
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

static void fix_rate(struct maxmin *m, uint32_t flow, double rate)
{
	const uint32_t *l = m->links + (size_t)flow * m->max_hops;

	m->rate[flow] = rate;
	for (uint32_t h = 0; h < m->n_hops[flow]; h++) {
		m->left[l[h]] -= rate;
		m->link_rate[l[h]] += rate;
		m->open[l[h]]--;
	}
}

static void solve(struct maxmin *m, const uint32_t *active, uint32_t n)
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

void osr_flow_rates(const struct osr_flow_net *net, uint32_t n, const uint32_t *row,
		    const uint32_t *link, double *rate)
{
	struct osr_arena scratch = { 0 };
	uint32_t *active = get(&scratch, n, sizeof(*active)), max_hops = 1;
	struct maxmin m;

	for (uint32_t i = 0; i < n; i++)
		if (row[i + 1] - row[i] > max_hops)
			max_hops = row[i + 1] - row[i];
	init_rates(&m, net, n, max_hops, &scratch);
	for (uint32_t i = 0; i < n; i++) {
		active[i] = i;
		m.n_hops[i] = row[i + 1] - row[i];
		memcpy(m.links + (size_t)i * max_hops, link + row[i], m.n_hops[i] * sizeof(*link));
	}
	solve(&m, active, n);
	memcpy(rate, m.rate, n * sizeof(*rate));
	osr_arena_free(&scratch);
}

/* Applications --------------------------------------------------------------------------------- */

struct app {
	struct osr_flow_phase phase;
	uint32_t *order; /* [max_messages] messages by begin */
	uint32_t step, next, n_under_way;
	double began;
	bool over;
};

struct sim {
	const struct osr_flow_ops *ops;
	void *ctx;
	const struct osr_flow_limits *limits;
	struct maxmin m;
	struct app *app; /* [n_apps] */
	/* Flow slots, [max_flows] each. */
	uint32_t *active; /* slots under way, in the order of their begin */
	uint32_t *free;   /* slots not in use */
	uint32_t *flow_app, *flow_message;
	double *left; /* bytes still to go */
	uint32_t n_active, n_free;
	double now;
	struct osr_flow_stats *stats;
};

static void init(struct sim *s, const struct osr_flow_net *net, struct osr_arena *scratch)
{
	uint32_t n_apps = s->limits->n_apps, n = s->limits->max_messages;
	uint64_t max_flows = (uint64_t)n_apps * n;

	insist(max_flows <= UINT32_MAX / 2, "too many messages");
	init_rates(&s->m, net, (uint32_t)max_flows, s->limits->max_hops, scratch);
	s->app = get(scratch, n_apps, sizeof(*s->app));
	s->active = get(scratch, max_flows, sizeof(*s->active));
	s->free = get(scratch, max_flows, sizeof(*s->free));
	s->flow_app = get(scratch, max_flows, sizeof(*s->flow_app));
	s->flow_message = get(scratch, max_flows, sizeof(*s->flow_message));
	s->left = get(scratch, max_flows, sizeof(*s->left));
	for (uint32_t a = 0; a < n_apps; a++)
		s->app[a].order = get(scratch, n, sizeof(*s->app[a].order));
	while (s->n_free < max_flows) {
		s->free[s->n_free] = (uint32_t)max_flows - 1 - s->n_free;
		s->n_free++;
	}
}

/* Phases --------------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b, void *messages)
{
	const struct osr_flow_message *m = messages;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	if (m[i].begin != m[j].begin)
		return m[i].begin < m[j].begin ? -1 : 1;
	return i < j ? -1 : 1;
}

static void begin_phase(struct sim *s, uint32_t a)
{
	struct app *app = &s->app[a];
	struct osr_flow_phase *p = &app->phase;

	*p = (struct osr_flow_phase){ 0 };
	app->next = 0;
	app->began = s->now;
	if (!s->ops->phase(s->ctx, a, app->step, s->now, p)) {
		app->over = true;
		return;
	}
	insist(p->n_messages <= s->limits->max_messages, "a phase with too many messages");
	insist(p->calc >= 0 && !isinf(p->calc), "a calculation without a length");
	for (uint32_t i = 0; i < p->n_messages; i++) {
		double begin = p->message[i].begin, bytes = p->message[i].bytes;

		insist(begin >= 0 && !isinf(begin) && bytes >= 0 && !isinf(bytes),
		       "a message without a size or a time");
		app->order[i] = i;
	}
	qsort_r(app->order, p->n_messages, sizeof(*app->order), by_begin, (void *)p->message);
}

/* When something of this application happens that is no arrival; INFINITY if nothing will. */
static double next_of_app(const struct app *app)
{
	if (app->over)
		return INFINITY;
	if (app->next < app->phase.n_messages)
		return app->began + app->phase.message[app->order[app->next]].begin;
	return app->n_under_way ? INFINITY : app->began + app->phase.calc;
}

/* Messages ------------------------------------------------------------------------------------- */

static void arrived(struct sim *s, uint32_t a, uint32_t message)
{
	s->stats->n_messages++;
	if (s->ops->arrived)
		s->ops->arrived(s->ctx, a, s->app[a].step, message, s->now);
}

static void begin_message(struct sim *s, uint32_t a)
{
	struct app *app = &s->app[a];
	uint32_t message = app->order[app->next++];
	uint32_t slot = s->free[s->n_free - 1];
	uint32_t *links = s->m.links + (size_t)slot * s->limits->max_hops;
	uint32_t n = s->ops->path(s->ctx, a, app->step, message, s->now, links);

	insist(n <= s->limits->max_hops, "a path of too many links");
	for (uint32_t h = 0; h < n; h++)
		insist(links[h] < s->m.net->n_links, "a path over no link");
	if (!n || app->phase.message[message].bytes == 0) {
		arrived(s, a, message);
		return;
	}
	s->n_free--;
	s->m.n_hops[slot] = n;
	s->left[slot] = app->phase.message[message].bytes;
	s->flow_app[slot] = a;
	s->flow_message[slot] = message;
	s->active[s->n_active++] = slot;
	app->n_under_way++;
}

/* Whatever of the applications is due now; has a message begun? */
static bool begin_due(struct sim *s)
{
	bool begun = false;

	for (uint32_t a = 0; a < s->limits->n_apps; a++) {
		struct app *app = &s->app[a];

		while (next_of_app(app) <= s->now) {
			if (app->next < app->phase.n_messages) {
				begun = true;
				begin_message(s, a);
				continue;
			}
			if (s->ops->phase_over)
				s->ops->phase_over(s->ctx, a, app->step, app->began, s->now);
			app->step++;
			begin_phase(s, a);
		}
	}
	return begun;
}

/* Messages that end by `limit` seconds from now leave; the order of the others stays. */
static bool end_messages(struct sim *s, double seconds, double limit)
{
	uint32_t kept = 0, n = s->n_active;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = s->active[i], a = s->flow_app[slot];

		if (s->left[slot] > s->m.rate[slot] * limit) {
			s->left[slot] -= s->m.rate[slot] * seconds;
			s->active[kept++] = slot;
			continue;
		}
		s->free[s->n_free++] = slot;
		s->app[a].n_under_way--;
		arrived(s, a, s->flow_message[slot]);
	}
	s->n_active = kept;
	return kept < n;
}

/* Time ----------------------------------------------------------------------------------------- */

static double next_event(const struct sim *s)
{
	double t = INFINITY;

	for (uint32_t a = 0; a < s->limits->n_apps; a++)
		t = fmin(t, next_of_app(&s->app[a]));
	return t;
}

static double next_arrival(const struct sim *s)
{
	double seconds = INFINITY;

	for (uint32_t i = 0; i < s->n_active; i++)
		seconds = fmin(seconds, s->left[s->active[i]] / s->m.rate[s->active[i]]);
	return seconds;
}

static void simulate(struct sim *s)
{
	bool changed;

	for (uint32_t a = 0; a < s->limits->n_apps; a++)
		begin_phase(s, a);
	changed = begin_due(s);
	for (;;) {
		double event, arrival, seconds;

		if (changed) {
			solve(&s->m, s->active, s->n_active);
			s->stats->n_events++;
		}
		event = next_event(s);
		arrival = next_arrival(s);
		if (isinf(event) && isinf(arrival))
			break;
		seconds = fmin(event - s->now, arrival);
		if (s->ops->passed)
			s->ops->passed(s->ctx, seconds, s->m.link_rate);
		s->now = arrival < event - s->now ? s->now + arrival : event;
		changed = end_messages(s, seconds, seconds * (1 + TOGETHER));
		changed |= begin_due(s);
	}
	s->stats->end = s->now;
	s->stats->max_sharing = s->m.max_sharing;
}

struct osr_flow_stats osr_flow_run(const struct osr_flow_net *net, const struct osr_flow_ops *ops,
				   void *ctx, const struct osr_flow_limits *limits)
{
	struct osr_arena scratch = { 0 };
	struct osr_flow_stats stats = { 0 };
	struct sim s = { .ops = ops, .ctx = ctx, .limits = limits, .stats = &stats };

	init(&s, net, &scratch);
	simulate(&s);
	osr_arena_free(&scratch);
	return stats;
}

/* Links of a fabric ---------------------------------------------------------------------------- */

struct osr_flow_net osr_flow_fabric(const struct osr_fabric *f, double link_rate, double host_rate,
				    struct osr_arena *arena)
{
	uint32_t n = f->n_channels + 2 * f->n_terminals;
	double *capacity = get(arena, n, sizeof(*capacity));

	for (uint32_t l = 0; l < n; l++)
		capacity[l] = l < f->n_channels ? link_rate : host_rate;
	return (struct osr_flow_net){ n, capacity };
}

uint32_t osr_flow_links(const struct osr_fabric *f, const struct osr_routing *r, uint32_t from,
			uint32_t d, uint32_t *links)
{
	uint32_t to = f->dest_term[d], at = f->term_switch[from], n = 0;

	if (from == to)
		return 0;
	if (f->term_port[from])
		links[n++] = f->n_channels + from;
	while (at != f->dest_switch[d]) {
		uint8_t port = osr_lft(r, at, d);
		uint32_t c = port == OSR_NO_PATH ? OSR_NONE : osr_port_channel(f, at, port);

		if (c == OSR_NONE || n > f->n_switches)
			return 0;
		links[n++] = c;
		at = f->chan_dst[c];
	}
	if (f->term_port[to])
		links[n++] = f->n_channels + f->n_terminals + to;
	return n;
}
