/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The simulator: time goes from one event to the next. An event is the begin of a message, the end
 * of one, or the end of a phase's calculation; between events rates are constant.
 *
 * A phase keeps its messages sorted by begin and a cursor into them. The number of applications is
 * small, so the next event is found by looking at all of them and at all messages under way.
 */
#include "simulator/maxmin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ends closer together than this part of the step count as one: rounding must not split them. */
#define TOGETHER 1e-9

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
	struct osr__maxmin m;
	struct app *app; /* [n_apps] */
	/* Flow slots, [max_flows] each. */
	uint32_t *active; /* slots under way, in the order of their begin */
	uint32_t *free;   /* slots not in use */
	uint32_t *flow_app, *flow_message;
	double *left; /* bytes still to go */
	uint32_t n_active, n_free;
	double now;
	struct osr_flow_stats *stats;
	struct osr_diag *diag;
};

static enum osr_status init(struct sim *s, const struct osr_flow_net *net,
			    struct osr_arena *scratch)
{
	uint32_t n_apps = s->limits->n_apps, n = s->limits->max_messages;
	uint64_t max_flows = (uint64_t)n_apps * n;
	enum osr_status st;

	if (max_flows > UINT32_MAX / 2)
		return osr_fail(s->diag, OSR_INVAL, "%u applications of %u messages are too many",
				n_apps, n);
	st = osr__maxmin_init(&s->m, net, (uint32_t)max_flows, s->limits->max_hops, scratch,
			      s->diag);
	if (st)
		return st;
	s->app = osr_calloc(scratch, n_apps, sizeof(*s->app));
	s->active = osr_alloc(scratch, max_flows, sizeof(*s->active));
	s->free = osr_alloc(scratch, max_flows, sizeof(*s->free));
	s->flow_app = osr_alloc(scratch, max_flows, sizeof(*s->flow_app));
	s->flow_message = osr_alloc(scratch, max_flows, sizeof(*s->flow_message));
	s->left = osr_alloc(scratch, max_flows, sizeof(*s->left));
	if (!s->app || !s->active || !s->free || !s->flow_app || !s->flow_message || !s->left)
		return osr_fail(s->diag, OSR_NOMEM, "out of memory for %u messages",
				(uint32_t)max_flows);
	for (uint32_t a = 0; a < n_apps; a++) {
		s->app[a].order = osr_alloc(scratch, n, sizeof(*s->app[a].order));
		if (!s->app[a].order)
			return osr_fail(s->diag, OSR_NOMEM, "out of memory for %u messages", n);
	}
	while (s->n_free < max_flows) {
		s->free[s->n_free] = (uint32_t)max_flows - 1 - s->n_free;
		s->n_free++;
	}
	return OSR_OK;
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

static enum osr_status check_phase(const struct sim *s, uint32_t a)
{
	const struct osr_flow_phase *p = &s->app[a].phase;

	if (p->n_messages > s->limits->max_messages)
		return osr_fail(s->diag, OSR_INVAL, "a phase of %u messages, the limit is %u",
				p->n_messages, s->limits->max_messages);
	if (!(p->calc >= 0) || isinf(p->calc))
		return osr_fail(s->diag, OSR_INVAL, "application %u calculates for %g s", a,
				p->calc);
	for (uint32_t i = 0; i < p->n_messages; i++) {
		double begin = p->message[i].begin, bytes = p->message[i].bytes;

		if (!(begin >= 0) || isinf(begin) || !(bytes >= 0) || isinf(bytes))
			return osr_fail(s->diag, OSR_INVAL,
					"application %u sends %g bytes after %g s", a, bytes,
					begin);
	}
	return OSR_OK;
}

static enum osr_status begin_phase(struct sim *s, uint32_t a)
{
	struct app *app = &s->app[a];
	enum osr_status st;

	app->phase = (struct osr_flow_phase){ 0 };
	app->next = 0;
	app->began = s->now;
	if (!s->ops->phase(s->ctx, a, app->step, s->now, &app->phase)) {
		app->over = true;
		return OSR_OK;
	}
	st = check_phase(s, a);
	if (st)
		return st;
	for (uint32_t i = 0; i < app->phase.n_messages; i++)
		app->order[i] = i;
	qsort_r(app->order, app->phase.n_messages, sizeof(*app->order), by_begin,
		(void *)app->phase.message);
	return OSR_OK;
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

static enum osr_status begin_message(struct sim *s, uint32_t a)
{
	struct app *app = &s->app[a];
	uint32_t message = app->order[app->next++];
	uint32_t slot = s->free[s->n_free - 1];
	uint32_t *links = s->m.links + (size_t)slot * s->limits->max_hops;
	uint32_t n = s->ops->path(s->ctx, a, app->step, message, s->now, links);

	if (n > s->limits->max_hops)
		return osr_fail(s->diag, OSR_INVAL, "a path of %u links, the limit is %u", n,
				s->limits->max_hops);
	for (uint32_t h = 0; h < n; h++)
		if (links[h] >= s->m.net->n_links)
			return osr_fail(s->diag, OSR_INVAL, "a path over link %u of %u", links[h],
					s->m.net->n_links);
	if (!n || app->phase.message[message].bytes == 0) {
		arrived(s, a, message);
		return OSR_OK;
	}
	s->n_free--;
	s->m.n_hops[slot] = n;
	s->left[slot] = app->phase.message[message].bytes;
	s->flow_app[slot] = a;
	s->flow_message[slot] = message;
	s->active[s->n_active++] = slot;
	app->n_under_way++;
	return OSR_OK;
}

/* Whatever of the applications is due now; *changed if a message began. */
static enum osr_status begin_due(struct sim *s, bool *changed)
{
	enum osr_status st = OSR_OK;

	for (uint32_t a = 0; a < s->limits->n_apps && !st; a++) {
		struct app *app = &s->app[a];

		while (!st && next_of_app(app) <= s->now) {
			if (app->next < app->phase.n_messages) {
				*changed = true;
				st = begin_message(s, a);
				continue;
			}
			if (s->ops->phase_over)
				s->ops->phase_over(s->ctx, a, app->step, app->began, s->now);
			app->step++;
			st = begin_phase(s, a);
		}
	}
	return st;
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

static enum osr_status simulate(struct sim *s)
{
	enum osr_status st = OSR_OK;
	bool changed = false;

	for (uint32_t a = 0; a < s->limits->n_apps && !st; a++)
		st = begin_phase(s, a);
	if (!st)
		st = begin_due(s, &changed);
	while (!st) {
		double event, arrival, seconds;

		if (changed) {
			osr__maxmin_solve(&s->m, s->active, s->n_active);
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
		st = begin_due(s, &changed);
	}
	s->stats->end = s->now;
	s->stats->max_sharing = s->m.max_sharing;
	return st;
}

enum osr_status osr_flow_run(const struct osr_flow_net *net, const struct osr_flow_ops *ops,
			     void *ctx, const struct osr_flow_limits *limits,
			     struct osr_arena *scratch, struct osr_flow_stats *stats,
			     struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct sim s = { .ops = ops, .ctx = ctx, .limits = limits, .stats = stats, .diag = diag };
	enum osr_status st;

	*stats = (struct osr_flow_stats){ 0 };
	st = init(&s, net, scratch);
	if (!st)
		st = simulate(&s);
	osr_arena_reset(scratch, mark);
	return st;
}

/* Links of a fabric ---------------------------------------------------------------------------- */

enum osr_status osr_flow_fabric(const struct osr_fabric *f, uint16_t default_gbps,
				struct osr_arena *arena, struct osr_flow_net *net,
				struct osr_diag *diag)
{
	uint32_t n = f->n_channels + 2 * f->n_terminals;
	double *capacity = osr_alloc(arena, n, sizeof(*capacity));

	if (!default_gbps)
		return osr_fail(diag, OSR_INVAL, "links cannot run at 0 Gb/s");
	if (!capacity)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the links of a fabric");
	for (uint32_t l = 0; l < n; l++) {
		uint16_t gbps =
			l < f->n_channels && f->chan_rate[l] ? f->chan_rate[l] : default_gbps;

		capacity[l] = gbps * 1e9 / 8;
	}
	*net = (struct osr_flow_net){ n, capacity };
	return OSR_OK;
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
