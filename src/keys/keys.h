/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * keys.h - routing keys: routes made for the traffic of one application, so that its flows share no
 * cable of the fat tree.
 *
 * Source: Samuel, Zahavi, Keslassy, Routing Keys (2018): ARK, section II-A; NRK, section II-B;
 * trees of three levels, section III.
 *
 * A key is made from the pairs (source, destination) that send at the same time. Only the leaf
 * switches of the two ends matter: traffic from one leaf to one destination takes one path, because
 * forwarding tables hold one port for a LID. A key is *compressed*: it says which demands share a
 * class. The demands of a class may share a middle switch, because no two of them leave from one
 * leaf or arrive at one. The middle switch of a class is chosen when the key is placed, in view of
 * the load of other applications on the cables.
 *
 *	struct osr_key_job job = { &pgft, &scratch, &result, diag };
 *
 *	st = osr_key_make(&job, pairs, n_pairs, &key);
 *	st = osr_key_place(&job, &key, load, OSR_KEY_FINE, &routes);
 *	... routes.entry[] go into the tables of one LID offset, routes.link[] into load[] ...
 *
 * Contention is the number of flows of the key on a cable between switches, in one direction. On
 * trees that are rearrangeably non-blocking (every switch has as many cables upwards as downwards)
 * every permutation gets a key of contention 1. Otherwise contention is the lowest that was found,
 * and `bound` is a lower bound for every routing of the pattern.
 *
 * Two steps on three levels: first the cables between leaves and level 2, then, for each group of
 * switches that agree in the digits b, those above. The groups are independent. More levels go on
 * in the same way (the paper stops at three).
 */
#ifndef OSMROUTES_KEYS_H
#define OSMROUTES_KEYS_H

#include "traffic/survey.h"
#include <osmroutes/pgft.h>

/*
 * A flow from node (level, a, b) to one end port below node (level, ad, b), as pgft.h numbers
 * nodes.
 */
struct osr_key_flow {
	uint32_t b, a, ad;
	uint32_t to;     /* terminal */
	uint32_t weight; /* pairs */
	uint32_t q;      /* class; once it is placed, plane */
	uint32_t next;   /* flow of the next level that it is part of; OSR_NONE: they meet here */
};

struct osr_key {
	uint32_t tree; /* of the pgft; OSR_NONE if no flow leaves its leaf */
	uint32_t n_flows;
	struct osr_key_flow *flow; /* between leaves, by leaf, then terminal */
	uint32_t n_classes;
	uint32_t n_pairs;
	uint32_t n_local;    /* pairs on one leaf: no cable between switches */
	uint32_t n_left_out; /* pairs that stay with the base routing, see osr_key_make() */
	uint32_t bound;      /* no routing of the flows has less contention */
	uint64_t spread;     /* of the caller, after osr_key_make(), see OSR_KEY_AS_IS; 0 by then */
};

/* How classes find their middle switches. */
enum osr_key_choice {
	/*
	 * ARK: whatever the load. Class c takes plane c, or, with key->spread, the plane that a
	 * random one-to-one map of this seed says: with one for each application they do not all
	 * begin at plane
	 * 0. Where planes are not alike class c keeps plane c.
	 */
	OSR_KEY_AS_IS,
	OSR_KEY_FINE, /* NRK: the class with most flows takes the best plane, then the next ... */
};

struct osr_key_entry {
	uint32_t sw;   /* switch */
	uint32_t term; /* destination */
	uint8_t port;
};

/* A placed key. */
struct osr_key_routes {
	uint32_t n_entries;
	struct osr_key_entry *entry; /* by terminal, then switch */
	uint32_t n_links;
	uint32_t *link;      /* [n_links] channels it uses, ascending */
	uint32_t *flows;     /* [n_links] its flows on each */
	uint32_t contention; /* most of them; 0 if nothing leaves its leaf */
	uint32_t max_load;   /* most on one of its channels, together with the load it was given */
};

/* What making and placing a key needs. The results live in `arena`. */
struct osr_key_job {
	const struct osr_pgft *pgft;
	struct osr_arena *scratch, *arena;
	struct osr_diag *diag;
};

/*
 * `pairs` are different terminals of the fabric; a pair may occur several times. Left out, and left to
 * the base routing: pairs with an end that is not a host of a leaf, and pairs that no path straight
 * up and down connects any more. key->flow lives in job->arena. OSR_INVAL: the pairs belong to
 * several trees. OSR_NOT_APPLICABLE: switches below the top have several places.
 *
 * Time O(pairs sqrt(leaves) degree); 11,664 hosts sending at once take some ten milliseconds.
 */
enum osr_status osr_key_make(const struct osr_key_job *job, const struct osr_pair *pairs,
			     uint32_t n_pairs, struct osr_key *key);

/*
 * load[n_channels] is the load of others on each channel, or NULL: none. Deterministic: the largest
 * load on a channel decides, then the sum of squares (the variance over links), then the load of
 * the whole plane, then the lowest number.
 */
enum osr_status osr_key_place(const struct osr_key_job *job, const struct osr_key *key,
			      const uint32_t *load, enum osr_key_choice choice,
			      struct osr_key_routes *routes);

#endif
