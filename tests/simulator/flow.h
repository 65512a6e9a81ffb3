/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * flow.h - how long traffic takes: a simulator of flows that share links fairly.
 *
 * Messages are fluids. At every moment the messages under way share the links max-min fairly: no
 * message could go faster without slowing one that is not faster (Bertsekas and Gallager, Data
 * Networks, 6.5.2). Rates change when a message begins or ends, and at no other time. There are no
 * packets, credits or buffers: congestion does not spread backwards, and latency is nothing.
 *
 * Applications run phases. In a phase each message begins at its own time (when its sender has
 * calculated), and a barrier ends it: the next phase begins when the last message has arrived, and
 * not before phase.calc seconds have passed. Applications do not wait for each other, but their
 * messages meet on the links.
 *
 *	static bool phase(void *ctx, uint32_t app, uint32_t step, double now,
 *			  struct osr_flow_phase *p) { ... }
 *	static uint32_t path(void *ctx, uint32_t app, uint32_t step, uint32_t message, double now,
 *			     uint32_t *links) { ... }
 *	static const struct osr_flow_ops ops = { .phase = phase, .path = path };
 *
 *	stats = osr_flow_run(&net, &ops, ctx, &limits);
 *
 * Times are seconds, sizes bytes, rates and capacities bytes per second, all double; every sum is
 * taken in an order that the input fixes, so the results are the same on every machine. Messages
 * that end within a billionth of a time step of each other end together.
 *
 * A message that ends or begins costs O(h log h), h the hops of all messages under way.
 */
#ifndef OSMROUTES_FLOW_H
#define OSMROUTES_FLOW_H

#include <osmroutes/routing.h>

struct osr_flow_net {
	uint32_t n_links;
	const double *capacity; /* [n_links] > 0 */
};

struct osr_flow_message {
	double begin; /* after the phase began, >= 0 */
	double bytes; /* >= 0 */
};

struct osr_flow_phase {
	const struct osr_flow_message *message; /* [n_messages], valid until the phase ends */
	uint32_t n_messages;
	double calc; /* the phase takes no less */
};

struct osr_flow_ops {
	/*
	 * Phase number `step` of an application begins; false: it is over. Called for step 0 of all
	 * applications by index at time 0.
	 */
	bool (*phase)(void *ctx, uint32_t app, uint32_t step, double now, struct osr_flow_phase *p);

	/*
	 * A message begins: its links, at most limits.max_hops and each once; returns how many. None:
	 * the message arrives at once.
	 */
	uint32_t (*path)(void *ctx, uint32_t app, uint32_t step, uint32_t message, double now,
			 uint32_t *links);

	/* The rest may be NULL. A message has arrived; a phase that began then is over. */
	void (*arrived)(void *ctx, uint32_t app, uint32_t step, uint32_t message, double now);
	void (*phase_over)(void *ctx, uint32_t app, uint32_t step, double began, double now);
	/* So much time has passed, with these rates [n_links] on the links; before what ends it. */
	void (*passed)(void *ctx, double seconds, const double *link_rate);
};

struct osr_flow_limits {
	uint32_t n_apps;
	uint32_t max_messages; /* of one phase of one application, the largest */
	uint32_t max_hops;
};

struct osr_flow_stats {
	double end; /* when the last application ended */
	uint64_t n_messages;
	uint64_t n_events;    /* times at which rates changed */
	uint32_t max_sharing; /* most messages on one link at one time */
};

/* Until every application is over. A limit that is broken or a number that makes no sense aborts. */
struct osr_flow_stats osr_flow_run(const struct osr_flow_net *net, const struct osr_flow_ops *ops,
				   void *ctx, const struct osr_flow_limits *limits);

/*
 * Max-min fair rates of n flows at one moment: flow i crosses link[row[i]] .. link[row[i+1] - 1],
 * each once. rate[n]; a flow without links gets infinity.
 */
void osr_flow_rates(const struct osr_flow_net *net, uint32_t n, const uint32_t *row,
		    const uint32_t *link, double *rate);

/*
 * The links of a fabric: channel c is link c; link n_channels + t leads from terminal t to its
 * switch, link n_channels + n_terminals + t back. Rates of links between switches, and of those of terminals. They live
 * in `arena`.
 */
struct osr_flow_net osr_flow_fabric(const struct osr_fabric *f, double link_rate, double host_rate,
				    struct osr_arena *arena);

/*
 * The links from terminal `from` to dest d by the tables r; links[] holds at least n_switches + 1.
 * 0 if the tables lead nowhere or round in circles, or both ends are the same.
 */
uint32_t osr_flow_links(const struct osr_fabric *f, const struct osr_routing *r, uint32_t from,
			uint32_t d, uint32_t *links);

#endif
