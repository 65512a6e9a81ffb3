/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check.h - the independent checker: nothing leaves the plugin that it has not walked.
 *
 * It shares no code with the makers of tables (spf, order, lanes) and believes none of the engine's
 * claims. From the fabric and the tables alone it derives
 *   - that every LID is reached from every switch of its component, without a loop or a dead end,
 *     and that entries towards other components are OSR_NO_PATH;
 *   - how long each route is against its own breadth-first distances;
 *   - that every dependency (channel, next channel) of every VL goes from a lower to a strictly
 *     higher rank of the certificate: for packets on their SL, for packets on granted SLs, which
 *     earlier connections may still use, and if claimed also for replies on the request's SL, for
 *     any SL, and for multicast on the span;
 *   - the edge forwarding index.
 *
 * An end port has 2^LMC LIDs. Programs send to its first LID unless they are told otherwise, so
 * loads count routes to first LIDs; efi_all counts routes to all LIDs.
 *
 * Every entry of every switch is walked for reach, loops and length. Dependencies count for
 * packets that exist: from any switch to the LIDs of CAs and routers (hosts send; port 0 answers),
 * and from switches with a CA or router to port 0. Nobody asks one port 0 from another.
 *
 * Time O(dests * switches), a handful of operations each; scratch O(n_switches^2 * 2) bytes for
 * reversible checks, O(channels) otherwise.
 */
#ifndef OSMROUTES_CHECK_H
#define OSMROUTES_CHECK_H

#include <osmroutes/routing.h>

/* Routes between hosts: from each end port of a CA or router to each LID of another one. */
#define OSR_MAX_HOPS 63
struct osr_lengths {
	uint64_t n_pairs;  /* also in different components */
	uint64_t n_routes; /* pairs whose route arrives */
	uint64_t n_longer; /* of these, routes longer than minimal */
	uint64_t least;    /* channels of all routes to first LIDs, if all were minimal */
	uint64_t hops[OSR_MAX_HOPS + 1]; /* n_routes by channels; the last: and more */
};

struct osr_verdict {
	uint32_t proven;   /* OSR_CLAIM_* that hold: all claims, or none */
	uint64_t n_routes; /* (switch, dest) pairs with a path, switch != switch of dest */
	uint64_t n_longer; /* of those, longer than minimal */
	uint64_t n_host_routes,
		n_host_longer; /* the same from switches with CAs or routers to their LIDs */
	uint64_t n_no_path;    /* pairs in different components */
	uint32_t max_hops;     /* channels of the longest route */
	uint32_t max_longer;   /* the most channels that a route has beyond the minimum */
	struct osr_lengths hosts;

	/*
	 * Edge forwarding index: routes from CA and router ports to first LIDs of CA and router
	 * ports over the most loaded channel; its mean over all channels; and the largest load for
	 * the channel's capacity, in routes on a channel of the fastest rate (routes * fastest rate
	 * / own rate). _all: to all LIDs.
	 */
	uint64_t efi, efi_all;
	double efi_mean;
	double efi_per_capacity, efi_all_per_capacity;
	uint8_t n_vls; /* VLs that carry a dependency or route */
};

/*
 * Fills the members that begin with efi from the loads of all channels: first[] by
 * routes to first LIDs, later[] by routes to the other LIDs of ports.
 */
void osr_verdict_loads(const struct osr_fabric *fabric, const uint64_t *first,
		       const uint64_t *later, struct osr_verdict *verdict);

/*
 * OSR_OK with the verdict filled if every claim of `routing` is proven. Otherwise OSR_CHECK_FAILED
 * with a sentence that names switch, LID and port of the first violation; the verdict then has the
 * counts up to there.
 */
enum osr_status osr_check(const struct osr_fabric *fabric, const struct osr_routing *routing,
			  struct osr_arena *scratch, struct osr_verdict *verdict,
			  struct osr_diag *diag);

/*
 * The result of a check, kept for the sweep: tables that an engine has had checked are not walked
 * again.
 */
struct osr_checked {
	struct osr_routing routing; /* the checked tables */
	uint64_t digest;            /* of these tables when they were checked */
	struct osr_verdict verdict;
	uint64_t *load; /* [n_channels] routes over each, as for efi; NULL: nothing was checked */
};

/* osr_check(), its result kept with loads in `arena`. If it fails, checked->load is NULL. */
enum osr_status osr_check_keep(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       struct osr_arena *arena, struct osr_arena *scratch,
			       struct osr_checked *checked, struct osr_diag *diag);

/*
 * Does the kept result hold for `routing`: the same claims and arrays, and no byte of the tables
 * changed since? `digest`: of the tables now.
 */
bool osr_check_stands(const struct osr_checked *checked, const struct osr_routing *routing,
		      uint64_t digest);

#endif
