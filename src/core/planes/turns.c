/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The certificate of rows of their own after a repair: one order of all turns, on one lane. */
#include <osmroutes/planes.h>

#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/routing.h>

#include "core/order/order.h"

struct turns {
	const struct osr_fabric *fabric;
	struct osr_order order;
	/* [n_switches] by which channel each switch of a tree sends; OSR_NONE: by none, as the root */
	uint32_t *by;
};

/* Cables of the spanning tree of multicast. */
static bool turns_in_span(const struct osr_fabric *fabric, const uint32_t *parent, uint32_t c)
{
	return parent[fabric->chan_src[c]] == c ||
	       parent[fabric->chan_dst[c]] == fabric->chan_rev[c];
}

static bool turns_add_span(struct turns *turns, const uint32_t *parent)
{
	const struct osr_fabric *fabric = turns->fabric;
	bool ok = true;

	OSR_EACH_SWITCH(v, fabric)
		OSR_EACH_CHANNEL(in, fabric, v) {
			osr_order_begin(&turns->order);
			OSR_EACH_CHANNEL(out, fabric, v)
				if (ok && in != out && turns_in_span(fabric, parent, in) &&
				    turns_in_span(fabric, parent, out))
					ok = osr_order_add(&turns->order, fabric->chan_rev[in], out,
							   1);
		}
	return ok;
}

static enum osr_status turns_init(struct turns *turns, const struct osr_fabric *fabric,
				  const struct osr_routing *routing, const uint32_t *keys,
				  struct osr_arena *scratch, struct osr_diag *diag)
{
	enum osr_status st;

	turns->fabric = fabric;
	turns->by = osr_alloc(scratch, fabric->n_switches, sizeof(*turns->by));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	/*
	 * A tree has no more turns than switches, and a switch no more turns behind a channel than
	 * ports.
	 */
	st = osr_order_init(&turns->order, fabric, 1, false, keys, fabric->n_switches + 256,
			    scratch, diag);
	if (!st && (routing->claims & OSR_CLAIM_MULTICAST) &&
	    !turns_add_span(turns, routing->mcast_parent))
		st = osr_fail(diag, OSR_NOT_APPLICABLE, "multicast is in no order");
	return st;
}

/* The turn from channel c to the next one. */
static inline bool turns_add_turn(struct turns *turns, uint32_t c, uint32_t next)
{
	return next == OSR_NONE || turns->order.used[osr_turn(turns->fabric, c, next)] ||
	       osr_order_add(&turns->order, c, next, 1);
}

/*
 * The tree in turns->by, of a host or of port 0 of a switch. False: it closes a cycle, and nothing
 * has changed.
 */
static bool turns_add(struct turns *turns, bool host)
{
	const struct osr_fabric *fabric = turns->fabric;
	bool ok = true;

	osr_order_begin(&turns->order);
	OSR_EACH_SWITCH(v, fabric) {
		uint32_t c = turns->by[v];

		/*
		 * All switches send to hosts; to port 0 of a switch those with hosts do, so their
		 * ways are followed.
		 */
		while (ok && c != OSR_NONE && (host || fabric->sw_sources[v])) {
			uint32_t next = turns->by[fabric->chan_dst[c]];

			ok = turns_add_turn(turns, c, next);
			c = host ? OSR_NONE : next;
		}
	}
	if (!ok)
		osr_order_undo(&turns->order, 0);
	return ok;
}

static void turns_read(struct turns *turns, const uint8_t *row, uint32_t root)
{
	OSR_EACH_SWITCH(v, turns->fabric)
		turns->by[v] = v == root ? OSR_NONE : osr_port_channel(turns->fabric, v, row[v]);
}

enum osr_status osr_planes_certify(const struct osr_fabric *fabric, const uint32_t *keys,
				   struct osr_routing *routing, struct osr_arena *scratch,
				   struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n = fabric->n_switches;
	struct turns turns;
	struct osr_diag why;
	enum osr_status st;
	bool any = false, ok;

	OSR_EACH_DEST(d, fabric)
		any |= routing->planes.tree_of[d] == d && osr_plane_of(fabric, d);
	if (!any)
		return OSR_OK;
	routing->stable.together = false; /* only plane 0 knows that */
	st = turns_init(&turns, fabric, routing, keys, scratch, &why);
	ok = !st;
	if (st == OSR_NOMEM)
		return osr_fail(diag, st, "%s", why.text);
	/*
	 * First LIDs, then those with trees of their own; one that does not fit in repeats the
	 * first.
	 */
	for (unsigned own = 0; own < 2; own++)
		OSR_EACH_DEST(d, fabric) {
			bool host = fabric->term_weight[fabric->dest_term[d]];
			uint32_t first = osr_first_dest(fabric, d), root = fabric->dest_switch[d];
			uint8_t *row = routing->lft + d * n;

			if (routing->planes.tree_of[d] != d || own != (first != d))
				continue;
			turns_read(&turns, row, root);
			if (ok && turns_add(&turns, host))
				continue;
			ok &= own;
			routing->planes.tree_of[d] = first;
			memcpy(row, routing->lft + first * n, n);
		}
	/* Otherwise the certificate of the first LIDs serves them all. */
	if (ok)
		memcpy(routing->rank, turns.order.rank,
		       fabric->n_channels * sizeof(*routing->rank));
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}
