/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The simulator: time goes from one event to the next. An event is the begin of a message, the end
 * of one, or the end of a phase's calculation; between events rates are constant.
 *
 * The number of applications is small, so the next event is found by looking at all of them and at
 * all messages under way.
 */
#include "simulator/flow.h"

#include <assert.h>
#include <math.h>

#include <osmroutes/arena.h>

/* Ends closer together than this part of the step count as one: rounding must not split them. */
#define TOGETHER 1e-9

struct app {
	struct osr_flow_phase phase;
	uint32_t step, n_begun, n_under_way;
	double began;
	bool over;
};

struct link {
	double left;       /* capacity that is not given out */
	uint32_t open;     /* flows without a rate yet */
	uint32_t row, end; /* of its flows in `users` */
};

struct share {
	double share;
	uint32_t link;
	uint32_t open; /* flows it was computed for */
};

struct sim {
	const struct osr_flow_job *job;
	struct app *app; /* [n_apps] */
	double now;
	uint32_t n, n_touched, n_heap, max_sharing;
	struct osr_flow *flow; /* those under way, in the order of their begin */
	struct link *link;     /* [n_links] */
	double *link_rate;     /* [n_links] sum of the rates; 0 where nothing is under way */
	/* [hops of all flows] */
	uint32_t *users, *touched; /* flows, link by link; links that carry something */
	struct share *heap;
};

static void *get(struct osr_arena *arena, size_t n, size_t size)
{
	void *p = osr_calloc(arena, n, size);

	assert(p);
	return p;
}

/* ---- rates ----------------------------------------------------------------------------------- */

static bool before(const struct share *a, const struct share *b)
{
	return a->share < b->share || (a->share == b->share && a->link < b->link);
}

static void sift_down(struct sim *sim, uint32_t i)
{
	struct share share = sim->heap[i];

	for (uint32_t child; (child = 2 * i + 1) < sim->n_heap; i = child) {
		if (child + 1 < sim->n_heap && before(&sim->heap[child + 1], &sim->heap[child]))
			child++;
		if (!before(&sim->heap[child], &share))
			break;
		sim->heap[i] = sim->heap[child];
	}
	sim->heap[i] = share;
}

static struct share share_of(const struct sim *sim, uint32_t link)
{
	const struct link *l = &sim->link[link];

	return (struct share){ (l->left > 0 ? l->left : 0) / l->open, link, l->open };
}

/*
 * Progressive filling: the link that can give its flows the least fixes their rates; what they take
 * elsewhere is taken off there; then the next link. The share of a link never falls on the way, so
 * a heap of shares as they were is enough: one that has grown since goes back in. Only links that
 * carry something are touched.
 */
static void find_rates(struct sim *sim)
{
	uint32_t at = 0;

	/* Which flows cross a link. */
	for (uint32_t i = 0; i < sim->n_touched; i++)
		sim->link_rate[sim->touched[i]] = 0;
	sim->n_touched = 0;
	for (uint32_t i = 0; i < sim->n; i++)
		for (uint32_t h = 0; h < sim->flow[i].n_links; h++)
			if (sim->link[sim->flow[i].link[h]].open++ == 0)
				sim->touched[sim->n_touched++] = sim->flow[i].link[h];
	for (uint32_t i = 0; i < sim->n_touched; i++) {
		struct link *l = &sim->link[sim->touched[i]];

		l->row = l->end = at;
		at += l->open;
		l->left = sim->job->capacity[sim->touched[i]];
		sim->max_sharing = l->open > sim->max_sharing ? l->open : sim->max_sharing;
		sim->heap[i] = share_of(sim, sim->touched[i]);
	}
	for (uint32_t i = 0; i < sim->n; i++) {
		sim->flow[i].rate = -1;
		for (uint32_t h = 0; h < sim->flow[i].n_links; h++)
			sim->users[sim->link[sim->flow[i].link[h]].end++] = i;
	}
	/* The heap, and link by link. */
	sim->n_heap = sim->n_touched;
	for (uint32_t i = sim->n_heap / 2; i > 0; i--)
		sift_down(sim, i - 1);
	while (sim->n_heap) {
		struct share top = sim->heap[0];
		struct link *link = &sim->link[top.link];
		bool grown = link->open && link->open != top.open;

		sim->heap[0] = grown ? share_of(sim, top.link) : sim->heap[--sim->n_heap];
		sift_down(sim, 0);
		for (uint32_t i = link->row; !grown && i < link->end; i++) {
			struct osr_flow *flow = &sim->flow[sim->users[i]];

			if (flow->rate >= 0)
				continue;
			flow->rate = top.share;
			for (uint32_t h = 0; h < flow->n_links; h++) {
				sim->link[flow->link[h]].left -= top.share;
				sim->link[flow->link[h]].open--;
				sim->link_rate[flow->link[h]] += top.share;
			}
		}
	}
}

/* ---- phases and messages --------------------------------------------------------------------- */

static void begin_phase(struct sim *sim, uint32_t a)
{
	struct app *app = &sim->app[a];
	struct osr_flow_phase *phase = &app->phase;

	*phase = (struct osr_flow_phase){ 0 };
	app->n_begun = 0;
	app->began = sim->now;
	app->over = !sim->job->phase(sim->job->ctx, a, app->step, phase);
	assert(phase->n_messages <= sim->job->max_messages && isfinite(phase->calc));
	assert(phase->begin >= 0 && isfinite(phase->begin) && phase->bytes >= 0 &&
	       isfinite(phase->bytes));
}

/* When something of this application happens that is no arrival; INFINITY if nothing will. */
static double next_of_app(const struct app *app)
{
	if (app->over)
		return INFINITY;
	if (app->n_begun < app->phase.n_messages)
		return app->began + app->phase.begin;
	return app->n_under_way ? INFINITY : app->began + app->phase.calc;
}

static void arrive(struct sim *sim, uint32_t a, uint32_t message)
{
	if (sim->job->arrived)
		sim->job->arrived(sim->job->ctx, a, sim->app[a].step, message, sim->now);
}

/* Whatever of the applications is due now; has a message begun? */
static bool begin_due(struct sim *sim)
{
	const struct osr_flow_job *job = sim->job;
	bool begun = false;

	for (uint32_t a = 0; a < job->n_apps; a++) {
		struct app *app = &sim->app[a];

		while (next_of_app(app) <= sim->now) {
			struct osr_flow *flow = &sim->flow[sim->n];

			if (app->n_begun == app->phase.n_messages) {
				if (job->phase_over)
					job->phase_over(job->ctx, a, app->step, app->began,
							sim->now);
				app->step++;
				begin_phase(sim, a);
				continue;
			}
			flow->app = a;
			flow->message = app->n_begun++;
			flow->left = app->phase.bytes;
			flow->n_links =
				job->path(job->ctx, a, app->step, flow->message, flow->link);
			assert(flow->n_links <= OSR_FLOW_HOPS);
			if (flow->n_links && flow->left > 0) {
				sim->n++;
				app->n_under_way++;
				begun = true;
			} else {
				arrive(sim, a, flow->message);
			}
		}
	}
	return begun;
}

double osr_flow_run(const struct osr_flow_job *job, uint32_t *max_sharing)
{
	struct osr_arena arena = { 0 };
	struct sim sim = { .job = job }, *s = &sim;
	size_t most = (size_t)job->n_apps * job->max_messages + 1;

	s->app = get(&arena, job->n_apps, sizeof(*s->app));
	s->flow = get(&arena, most, sizeof(*s->flow));
	s->link = get(&arena, job->n_links, sizeof(*s->link));
	s->link_rate = get(&arena, job->n_links, sizeof(*s->link_rate));
	s->users = get(&arena, most * OSR_FLOW_HOPS, sizeof(*s->users));
	s->touched = get(&arena, job->n_links, sizeof(*s->touched));
	s->heap = get(&arena, job->n_links + 1, sizeof(*s->heap));
	for (uint32_t a = 0; a < job->n_apps; a++)
		begin_phase(s, a);
	for (bool changed = begin_due(s);;) {
		double event = INFINITY, arrival = INFINITY, seconds, limit;
		uint32_t kept = 0;

		if (changed)
			find_rates(s);
		for (uint32_t a = 0; a < job->n_apps; a++)
			event = fmin(event, next_of_app(&s->app[a]));
		for (uint32_t i = 0; i < s->n; i++)
			arrival = fmin(arrival, s->flow[i].left / s->flow[i].rate);
		if (isinf(event) && isinf(arrival))
			break;
		seconds = fmin(event - s->now, arrival);
		limit = seconds * (1 + TOGETHER);
		if (job->passed)
			job->passed(job->ctx, seconds, s->link_rate, s->flow, s->n);
		s->now = arrival < event - s->now ? s->now + arrival : event;
		/* Messages that end leave; the order of the others stays. */
		for (uint32_t i = 0; i < s->n; i++) {
			struct osr_flow *flow = &s->flow[i];

			if (flow->left > flow->rate * limit) {
				flow->left -= flow->rate * seconds;
				if (kept++ < i)
					s->flow[kept - 1] = *flow;
				continue;
			}
			s->app[flow->app].n_under_way--;
			arrive(s, flow->app, flow->message);
		}
		changed = kept < s->n;
		s->n = kept;
		changed |= begin_due(s);
	}
	*max_sharing = s->max_sharing;
	osr_arena_free(&arena);
	return s->now;
}
