/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * routing.h - the product of an engine: forwarding tables, service levels, and the proof.
 *
 * Tables are kept destination by destination: entry (dest d, switch s) is at d * n_switches + s.
 * That is how they are computed and checked (one destination is one tree); the adapter transposes
 * them into OpenSM's switch-by-switch LFTs when it publishes.
 *
 * The certificate: rank[vl * n_channels + c] numbers the channels of each VL so that every packet
 * of that VL travels from lower to strictly higher ranks. Such a numbering exists exactly if the
 * channel dependency graph of the VL is acyclic (Dally and Seitz); with it, one linear pass proves
 * a routing deadlock-free.
 */
#ifndef OSMROUTES_ROUTING_H
#define OSMROUTES_ROUTING_H

#include <osmroutes/fabric.h>
#include <osmroutes/planes.h>

/* The engine's claims. The checker proves or refutes each one. */
enum {
	OSR_CLAIM_MINIMAL = 1 << 0,       /* every route is as short as the graph allows */
	OSR_CLAIM_DEADLOCK_FREE = 1 << 1, /* every VL acyclic for packets sent on their SL */
	OSR_CLAIM_REVERSIBLE = 1 << 2,    /* still acyclic if the reply b->a uses SL(a,b) */
	OSR_CLAIM_ANY_SL = 1 << 3,        /* still acyclic if any packet uses any SL */
	OSR_CLAIM_MULTICAST = 1 << 4,     /* multicast on the spanning order is included */
};

/*
 * SL2VL tables that differ by port pair; see osr_routing.sl2vl. 16 entries of one (in, out) pair.
 */
typedef uint8_t osr_sl2vl_t[16];

/*
 * In tables as switches hold them: the row is missing (no such port, or a dump lacks it). Of two
 * generations the other one decides. A row that was never programmed has no known effect: no packet
 * goes on by it, and audit.h names it as a fault if a packet needs it.
 */
#define OSR_VL_UNSET 255

/* Can it deadlock while some switches have the old tables and others the new ones? See repair.h. */
enum osr_transition {
	OSR_TRANSITION_UNASKED, /* transition_why says why, or is "" */
	OSR_TRANSITION_FREE,
	OSR_TRANSITION_LOOP,   /* transition_why has the loop */
	OSR_TRANSITION_ROUNDS, /* the same, but not in two rounds; osr_routing.withdrawn */
};

/*
 * The record of stable re-routing; see repair.h. Trees and moves are of first LIDs, which alone are
 * repaired (planes.h).
 */
struct osr_stable {
	bool kept;         /* made from the previous result */
	bool new_baseline; /* the next repair starts from this result, not from its baseline */
	/*
	 * The dependencies of old and new entries agree with the certificate in every mixture, with
	 * OSR_CLAIM_MULTICAST the dependencies of multicast, too. So nothing can deadlock while the
	 * switches are programmed.
	 */
	bool together;
	enum osr_transition transition;
	bool transition_mcast; /* multicast was part of the question */
	/*
	 * OSR_TRANSITION_LOOP: multicast alone makes it; unicast cannot deadlock, in the rounds
	 * that there are.
	 */
	bool transition_unicast;
	/*
	 * The spanning order of multicast is the old one, wherever its cables exist, so that it
	 * cannot.
	 */
	bool transition_order;
	char transition_why[240];
	uint64_t n_withdrawn;       /* entries of osr_routing.withdrawn */
	uint64_t n_withdrawn_whole; /* entries among them whose old route leads to its LID */
	uint32_t n_channels_lost;   /* channels of the baseline that are not there today */
	uint32_t n_channels_new;    /* present channels that the baseline did not have */
	uint32_t n_trees;           /* LIDs with routes that were cut, or moved for balance */
	/*
	 * Entries of whole routes that moved: off the busiest channel, or for a route that was cut.
	 */
	uint64_t n_moved;
	uint64_t n_sl_changed; /* (switch, LID) pairs with another SL than in the last sweep */
	uint64_t n_sl_lost;    /* pairs whose previous SL can no longer be proven */
	/*
	 * permille: load of the busiest channel over the load that a full route can be expected to
	 * reach, see osr_bound_expected()
	 */
	uint32_t drift;
	char why[200]; /* why the previous result was not kept; "" if there was none */
};

/* The cost of lanes by turn, where they were tried and not taken; see turn.h. */
struct osr_any_sl_cost {
	bool known;        /* they were tried to the end */
	uint32_t n_longer; /* (switch, LID) routes longer than minimal */
	uint32_t load;     /* routes on the busiest link, in percent of those without lanes */
};

/*
 * An engine's notes for the next sweep: bytes without pointers, at a multiple of 8, because they
 * are stored over a restart (src/store). The engine that gets them checks every number before it
 * uses it.
 */
struct osr_notes {
	const void *data;
	size_t size; /* 0: nothing */
};

struct osr_routing {
	const char *engine; /* name, static */
	/* one sentence on the fabric, for the log; in the result arena, or NULL */
	const char *note;
	const char *chosen;   /* the engine behind `engine`, where that one only chooses; or NULL */
	const char *strategy; /* of lanes.h, that found these lanes; static; NULL: none of them */
	uint32_t claims;      /* OSR_CLAIM_* */
	uint32_t n_switches;
	uint32_t n_dests;
	uint32_t n_channels;

	/*
	 * [n_dests * n_switches] output port of switch s for dest d; 0 = the switch's own port 0,
	 * OSR_NO_PATH = not reachable (another component).
	 */
	uint8_t *lft;

	/*
	 * [n_dests * n_switches] SL of packets that a host on switch s sends to dest d, 0..15;
	 * meaningless where lft is OSR_NO_PATH. NULL: OSR_CLAIM_ANY_SL, senders choose.
	 */
	uint8_t *sl;

	/*
	 * [n_dests * n_switches] SLs besides sl, a bit each, that packets of older connections may
	 * carry; they are safe as well. NULL: none. Only with sl and without sl2vl.
	 */
	const uint16_t *granted;

	/*
	 * NULL: VL = SL on every port. Otherwise the VL of SL x for packets that came into switch s
	 * by port i (0 = its own) and leave by port o:
	 *	sl2vl[sl2vl_row[s] + i * (sw_n_ports[s] + 1) + o][x]
	 * and ca_sl2vl[x] for packets that a CA, router or port 0 sends into the fabric.
	 */
	osr_sl2vl_t *sl2vl;
	uint32_t *sl2vl_row; /* [n_switches] */
	uint8_t ca_sl2vl[16];

	uint8_t n_vls; /* VLs 0 .. n_vls-1 carry routes */
	/* Lanes that the last full route could use, even if it took fewer; 0: unknown. */
	uint8_t n_vls_tried;
	uint8_t n_layers; /* VLs that were needed to be deadlock-free; <= n_vls after balancing */
	uint8_t n_layers_one_way; /* the same for one-way SLs (stock's promise) */
	uint32_t *rank;           /* [n_vls * n_channels] certificate; NULL without DEADLOCK_FREE */

	/*
	 * [n_switches] the spanning order of multicast: the channel from a switch to its parent;
	 * OSR_NONE for a root and for switches no multicast member can be reached through.
	 * NULL if the engine leaves multicast to others. Multicast runs on VL mcast_vl.
	 */
	uint32_t *mcast_parent;
	uint8_t mcast_vl;

	/*
	 * By osr_repair_prepare(): for each pair of channels that meet, by turn (fabric.h), the VLs
	 * of the first one, a bit each, whose packets go on by the second one. NULL: not known.
	 */
	const uint16_t *lane_deps;

	struct osr_stable stable;
	/*
	 * [stable.n_withdrawn] entries, as indices of lft, that drop their packets in the first of
	 * two rounds, while all other entries are still old (transition.h). NULL: one round.
	 */
	const uint64_t *withdrawn;
	/*
	 * [n_early] switches that get all their new entries in the first round, for no old table
	 * leads there. NULL: no switch does.
	 */
	const uint32_t *early;
	uint32_t n_early;

	struct osr_notes notes; /* for osr_job.notes of the next sweep, in the same arena */

	struct osr_any_sl_cost any_sl;

	struct osr_planes planes; /* several LIDs a port; filled after the engine, by the sweep */

	/* Statistics of the engine, for the log; the checker computes its own. */
	/* (switch, dest) routes longer than minimal; to the first LIDs of ports */
	uint32_t n_longer;
	double ms_spf, ms_layers; /* filled by the caller's clock, see engine.h */
};

/* A fabric and its tables: the result of a sweep, from which the next one starts. */
struct osr_result {
	struct osr_fabric fabric;
	struct osr_routing routing;
	uint64_t digest; /* osr_routing_digest() */
	/* by osr_sweep_check(): tables with this digest have passed both checkers */
	bool confirmed;
	/* [n_channels] routes over every channel, as the checker counts them; NULL: unknown. */
	const uint64_t *load;
	/*
	 * The full route this one was repaired from, which must live as long; NULL: it is one
	 * itself. See repair.h.
	 */
	const struct osr_result *baseline;
};

/* Allocates lft (filled with OSR_NO_PATH) for this fabric; everything else is zero or NULL. */
enum osr_status osr_routing_init(struct osr_routing *routing, const struct osr_fabric *fabric,
				 struct osr_arena *arena, struct osr_diag *diag);

/* Pairs of ports of all switches: entries of sl2vl. */
uint64_t osr_n_sl2vl(const struct osr_fabric *fabric);

/*
 * sl2vl_row, and sl2vl with this VL in every entry. OSR_NOMEM also where rows cannot be numbered.
 */
enum osr_status osr_routing_alloc_sl2vl(struct osr_routing *routing,
					const struct osr_fabric *fabric, uint8_t vl,
					struct osr_arena *arena, struct osr_diag *diag);

/*
 * 64 bits over everything that would be programmed: GUIDs, LIDs, LFTs, SLs and SL2VL. Equal for
 * equal tables, on every machine.
 */
uint64_t osr_routing_digest(const struct osr_fabric *fabric, const struct osr_routing *routing);

/*
 * LFT entries (switch GUID, LID) of `now` that differ from `before`; switches or LIDs that `before`
 * did not have count if they have a path now. *n_entries is how many were compared.
 */
uint64_t osr_routing_changed(const struct osr_result *before, const struct osr_fabric *fabric,
			     const struct osr_routing *now, uint64_t *n_entries);

/* Do these tables have a first round? */
static inline bool osr_routing_in_rounds(const struct osr_routing *routing)
{
	osr_invariant(!routing->early == !routing->n_early);
	return routing->withdrawn || routing->early;
}

static inline uint8_t osr_lft(const struct osr_routing *routing, uint32_t sw, uint32_t dest)
{
	osr_invariant(sw < routing->n_switches && dest < routing->n_dests);
	return routing->lft[(size_t)dest * routing->n_switches + sw];
}

#endif
