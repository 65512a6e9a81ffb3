/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The flow-level simulator where the outcome can be told by hand; random cases by the definition of
 * max-min fairness (every flow has a link that is full and on which nobody is faster) at every
 * moment, and by what has to be kept: bytes.
 */
#include "test.h"

#include "simulator/flow.h"

#include <math.h>

#include "fabrics.h"

#define MAX_LINKS 12
#define MAX_MESSAGES 24
#define MAX_PHASES 5
#define MAX_APPS 7

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * (1 + fabs(a) + fabs(b));
}

/* Programs that are written down: phases of messages, each with its links as bits. */
struct program {
	uint32_t n_apps, n_phases[MAX_APPS];
	struct osr_flow_phase phase[MAX_APPS][MAX_PHASES];
	uint32_t links[MAX_APPS][MAX_PHASES][MAX_MESSAGES];
	double over[MAX_APPS][MAX_PHASES];    /* when phases ended */
	double arrived[MAX_APPS][MAX_PHASES]; /* their last message */
	double carried[MAX_LINKS];
	const double *capacity;
	double now;
	uint32_t n_arrived, max_sharing;
};

static bool next_phase(void *ctx, uint32_t app, uint32_t step, struct osr_flow_phase *phase)
{
	struct program *program = ctx;

	if (step == program->n_phases[app])
		return false;
	*phase = program->phase[app][step];
	return true;
}

static uint32_t path(void *ctx, uint32_t app, uint32_t step, uint32_t message, uint32_t *links)
{
	struct program *program = ctx;
	uint32_t n = 0;

	for (uint32_t l = 0; l < MAX_LINKS; l++)
		if (program->links[app][step][message] & (1u << l))
			links[n++] = l;
	return n;
}

static void arrived(void *ctx, uint32_t app, uint32_t step, uint32_t message, double now)
{
	struct program *program = ctx;

	assert_true(now >= program->arrived[app][step]);
	program->arrived[app][step] = now;
	program->n_arrived++;
}

static void phase_over(void *ctx, uint32_t app, uint32_t step, double began, double now)
{
	struct program *program = ctx;

	assert_true(now >= program->arrived[app][step]);
	assert_true(began == (step ? program->over[app][step - 1] : 0));
	program->over[app][step] = now;
}

static void passed(void *ctx, double seconds, const double *link_rate, const struct osr_flow *flow,
		   uint32_t n)
{
	double used[MAX_LINKS] = { 0 }, fastest[MAX_LINKS] = { 0 };
	struct program *program = ctx;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t h = 0; h < flow[i].n_links; h++) {
			used[flow[i].link[h]] += flow[i].rate;
			fastest[flow[i].link[h]] = fmax(fastest[flow[i].link[h]], flow[i].rate);
		}
	for (uint32_t i = 0; i < n; i++) {
		bool held = false;

		for (uint32_t h = 0; h < flow[i].n_links; h++) {
			uint32_t l = flow[i].link[h];

			held |= near(used[l], program->capacity[l]) &&
				near(fastest[l], flow[i].rate);
		}
		assert_true(held);
	}
	program->now += seconds;
	for (uint32_t l = 0; l < MAX_LINKS; l++) {
		assert_true(near(used[l], link_rate[l]) &&
			    used[l] <= program->capacity[l] * (1 + 1e-9));
		program->carried[l] += seconds * link_rate[l];
	}
}

static void send(struct program *program, uint32_t app, uint32_t phase, uint32_t links,
		 double begin, double bytes)
{
	struct osr_flow_phase *p = &program->phase[app][phase];

	program->links[app][phase][p->n_messages++] = links;
	p->begin = begin;
	p->bytes = bytes;
	if (app >= program->n_apps)
		program->n_apps = app + 1;
	if (phase >= program->n_phases[app])
		program->n_phases[app] = phase + 1;
}

static double run(struct program *program, const double *capacity)
{
	const struct osr_flow_job job = { MAX_LINKS,  program->n_apps, capacity, MAX_MESSAGES,
					  program,    next_phase,      path,     arrived,
					  phase_over, passed };

	program->capacity = capacity;
	return osr_flow_run(&job, &program->max_sharing);
}

static const double twos[MAX_LINKS] = { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 };

/*
 * Application 0: 4 bytes on link 0, then 4 on link 1. Application 1 calculates for 1 s, then 4
 * bytes on link 0, then 1 on link 1.
 *   0-1  0 alone at 2: 2 left.          1-3  both at 1: 0 ends its first phase at 3, 1 has 2 left.
 *   3-4  1 alone at 2, ends at 4; 0 alone on link 1 at 2: 2 left.
 *   4-5  both on link 1 at 1: 1 ends at 5, 0 has 1 left and ends at 5.5.
 */
static void test_barriers_and_two_applications(void **state)
{
	struct program program = { 0 };

	send(&program, 0, 0, 1, 0, 4);
	send(&program, 0, 1, 2, 0, 4);
	send(&program, 1, 0, 1, 1, 4);
	send(&program, 1, 1, 2, 0, 1);
	run(&program, twos);
	assert_int_equal(program.max_sharing, 2);
	assert_true(near(program.over[0][0], 3) && near(program.over[1][0], 4));
	assert_true(near(program.over[1][1], 5) && near(program.over[0][1], 5.5));
}

/* The barrier waits for the slowest: 2 of 3 messages share, and for calculation that takes longer.
 */
static void test_barrier(void **state)
{
	struct program program = { 0 };

	send(&program, 0, 0, 1 | 2, 0, 2);
	send(&program, 0, 0, 2 | 4, 0, 2);
	send(&program, 0, 0, 8, 0, 2);
	send(&program, 0, 1, 1, 0, 2);
	program.phase[0][1].calc = 7;
	send(&program, 0, 2, 0, 0, 5); /* to itself: takes no time */
	run(&program, twos);
	assert_true(near(program.over[0][0], 2) && near(program.arrived[0][1], 3));
	assert_true(near(program.over[0][1], 9) && near(program.over[0][2], 9));
}

/*
 * What every link carried is what was sent over it, and no phase is faster than alone; rates are
 * fair throughout.
 */
static void test_bytes_are_kept(void **state)
{
	uint64_t seed = 7;

	for (unsigned round = 0; round < 300; round++) {
		double capacity[MAX_LINKS], sent[MAX_LINKS] = { 0 }, end;
		struct program program = { 0 };

		for (uint32_t l = 0; l < MAX_LINKS; l++)
			capacity[l] = 1 + test_random(&seed) % 7;
		for (uint32_t i = 0; i < MAX_APPS * MAX_PHASES; i++) {
			double bytes = test_random(&seed) % 50, begin = test_random(&seed) % 4;

			for (uint32_t k = 0; k < 4; k++) {
				uint32_t links = test_random(&seed) & test_random(&seed) & 0xfff;

				send(&program, i % MAX_APPS, i / MAX_APPS, links, begin, bytes);
				for (uint32_t l = 0; l < MAX_LINKS; l++)
					sent[l] += links & (1u << l) ? bytes : 0;
			}
		}
		end = run(&program, capacity);
		assert_true(near(end, program.now));
		for (uint32_t l = 0; l < MAX_LINKS; l++) {
			assert_true(near(program.carried[l], sent[l]));
			assert_true(end >= sent[l] / capacity[l] * (1 - 1e-9));
		}
		assert_int_equal(program.n_arrived, MAX_APPS * MAX_PHASES * 4);
	}
}

TEST_PROGRAM(test_barriers_and_two_applications, test_barrier, test_bytes_are_kept)
