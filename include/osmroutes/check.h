/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check.h - the independent checker: nothing leaves the plugin that it has not walked.
 *
 * It shares no code with what it judges (not spf, not order, not lanes) and believes none of the
 * engine's claims: from the fabric and the tables alone it derives
 *   - that every LID is reached from every switch of its component, without a loop or a dead end,
 *     and that entries towards other components are OSR_NO_PATH;
 *   - how long each route is against its own breadth-first distances;
 *   - that every dependency (channel, next channel) of every VL goes from a lower to a strictly
 *     higher rank of the certificate: for packets on their SL, and if claimed also for replies on
 *     the request's SL, for any SL, and for multicast on the spanning order; and for SLs of
 *     earlier that connections may still use, if the tables name any;
 *   - the edge forwarding index.
 *
 * An end port has 2^LMC LIDs. Programs send to its first one unless they are told otherwise, so
 * loads are those of routes to first LIDs; efi_all counts the others as well.
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
	uint64_t n_pairs;            /* those in different components, too */
	uint64_t n_routes, n_longer; /* that arrive; of these, longer than minimal */
	uint64_t least; /* channels of all routes to first LIDs, if each were minimal */
	uint64_t hops[OSR_MAX_HOPS + 1]; /* n_routes by channels; the last: and more */
};

struct osr_verdict {
	uint32_t proven;   /* OSR_CLAIM_* that hold; a subset of what was claimed */
	uint64_t n_routes; /* (switch, dest) pairs with a path, switch != switch of dest */
	uint64_t n_longer; /* of those, longer than minimal */
	uint64_t n_host_routes,
		n_host_longer; /* the same from switches with CAs or routers to their LIDs */
	uint64_t n_no_path;    /* pairs in different components */
	uint32_t max_hops;     /* channels of the longest route */
	uint32_t max_longer;   /* the most that one has beyond the least */
	struct osr_lengths hosts;

	/*
	 * Edge forwarding index: routes from CA and router ports to first LIDs of CA and router
	 * ports over the most loaded channel; its mean over all channels; and the same per link
	 * rate, in routes on a channel of the fastest rate (routes * fastest rate / own rate).
	 * efi_all: to all LIDs.
	 */
	uint64_t efi, efi_all;
	double efi_mean;
	double efi_per_capacity;
	uint8_t n_vls; /* VLs that carry a dependency or route */
};

/*
 * What it says of the loads of all channels, of routes to first LIDs and to later ones: efi,
 * efi_all and so on.
 */
void osr_verdict_loads(const struct osr_fabric *fabric, const uint64_t *first,
		       const uint64_t *later, struct osr_verdict *verdict);

/*
 * OSR_OK with the verdict filled if every claim of `routing` is proven; OSR_CHECK_FAILED with a
 * sentence naming switch, LID and port of the first violation otherwise (the verdict then holds
 * what was found up to there).
 */
enum osr_status osr_check(const struct osr_fabric *fabric, const struct osr_routing *routing,
			  struct osr_arena *scratch, struct osr_verdict *verdict,
			  struct osr_diag *diag);

/*
 * What the check found, for the sweep: an engine that compares tables need not have them walked
 * twice.
 */
struct osr_checked {
	struct osr_routing routing; /* that was checked */
	uint64_t digest;            /* of its tables then */
	struct osr_verdict verdict;
	uint64_t *load; /* [n_channels] routes over each, as for efi; NULL: nothing was checked */
};

/* osr_check(), kept; in `arena` the loads alone. Where it fails checked->load is NULL. */
enum osr_status osr_check_keep(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       struct osr_arena *arena, struct osr_arena *scratch,
			       struct osr_checked *checked, struct osr_diag *diag);

/*
 * The same check of the same arrays, and not a byte of the tables has changed since? `digest`: as
 * they are now.
 */
bool osr_check_stands(const struct osr_checked *checked, const struct osr_routing *routing,
		      uint64_t digest);

#endif
