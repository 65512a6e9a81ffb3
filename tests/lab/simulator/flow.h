/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * flow.h - how long traffic takes: a simulator of flows that share links fairly.
 *
 * Messages are fluids. At every moment the messages under way share the links max-min fairly: no
 * message could go faster without slowing one that is not faster (Bertsekas and Gallager, Data
 * Networks, 6.5.2). Rates change when a message begins or ends, and at no other time. There are no
 * packets, credits or buffers: congestion does not spread backwards, and latency is nothing.
 *
 * Applications run phases. In a phase messages of one size begin when their senders have
 * calculated, and a barrier ends it: the next phase begins when the last message has arrived, and
 * not before phase.calc seconds have passed. Applications do not wait for each other, but their
 * messages meet on the links.
 *
 * Times are seconds, sizes bytes, rates and capacities bytes per second, all double; every sum is
 * taken in an order that the input fixes, so the results are the same on every machine. Messages
 * that end within a billionth of a time step of each other end together.
 *
 * A message that ends or begins costs O(h log h), h the hops of all messages under way.
 */
#ifndef OSMROUTES_FLOW_H
#define OSMROUTES_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#define OSR_FLOW_HOPS 32 /* no message crosses more links */

struct osr_flow_phase {
	uint32_t n_messages;
	double begin; /* of all messages, after the phase began, >= 0 */
	double bytes; /* of each, >= 0 */
	double calc;  /* the phase takes no less */
};

/* A message under way. */
struct osr_flow {
	uint32_t app, message, n_links, link[OSR_FLOW_HOPS]; /* each link once */
	double left, rate;                                   /* bytes; bytes per second */
};

struct osr_flow_job {
	uint32_t n_links, n_apps;
	const double *capacity; /* [n_links] > 0 */
	uint32_t max_messages;  /* of one phase of one application, the largest */
	void *ctx;

	/*
	 * Phase number `step` of an application begins; false: it is over. Called for step 0 of all
	 * applications by index at time 0.
	 */
	bool (*phase)(void *ctx, uint32_t app, uint32_t step, struct osr_flow_phase *p);
	/* A message begins: its links; returns how many. None: the message arrives at once. */
	uint32_t (*path)(void *ctx, uint32_t app, uint32_t step, uint32_t message, uint32_t *links);

	/* The rest may be NULL. A message has arrived; a phase that began then is over. */
	void (*arrived)(void *ctx, uint32_t app, uint32_t step, uint32_t message, double now);
	void (*phase_over)(void *ctx, uint32_t app, uint32_t step, double began, double now);
	/*
	 * So much time has passed with these n flows, and these rates [n_links] on the links;
	 * before what ends it.
	 */
	void (*passed)(void *ctx, double seconds, const double *link_rate,
		       const struct osr_flow *flow, uint32_t n);
};

/*
 * Until every application is over. Returns when; max_sharing receives the most messages on one link
 * at one time.
 */
double osr_flow_run(const struct osr_flow_job *job, uint32_t *max_sharing);

#endif
