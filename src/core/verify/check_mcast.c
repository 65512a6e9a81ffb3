/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The spanning order of multicast: a forest whose dependencies fit the certificate of its VL. */
#include "check_private.h"

#include <string.h>

/* root[s] becomes the end of the way up from s; OSR_CHECK_FAILED if there is none. */
static enum osr_status check_mcast_find_root(struct checker *k, uint32_t *root, uint32_t s)
{
	const uint32_t *parent = k->r->mcast_parent;
	uint32_t end = s, hops = 0;
	struct name a;

	while (root[end] == OSR_NONE && parent[end] != OSR_NONE && hops++ < k->f->n_switches)
		end = k->f->chan_dst[parent[end]];
	if (root[end] == OSR_NONE && parent[end] != OSR_NONE)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"multicast: the spanning order loops through switch %s port %u",
				sw_name(k, end, &a), k->f->chan_port[parent[end]]);
	end = root[end] == OSR_NONE ? end : root[end];
	for (; root[s] == OSR_NONE; s = k->f->chan_dst[parent[s]]) {
		root[s] = end;
		if (s == end)
			break;
	}
	return OSR_OK;
}

/* All hosts of a component must hang on one tree, else a group can be torn apart. */
static enum osr_status check_forest(struct checker *k, uint32_t *root, uint32_t *host)
{
	const struct osr_fabric *fabric = k->f;
	enum osr_status st = OSR_OK;
	struct name a, b;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t c = k->r->mcast_parent[s];

		if (c != OSR_NONE && (c >= fabric->n_channels || fabric->chan_src[c] != s))
			return osr_fail(k->diag, OSR_CHECK_FAILED,
					"multicast: the link from switch %s to its parent is "
					"channel %u, not one of its own",
					sw_name(k, s, &a), c);
	}
	for (uint32_t s = 0; s < fabric->n_switches && st == OSR_OK; s++)
		st = check_mcast_find_root(k, root, s);
	for (uint32_t s = 0; s < fabric->n_switches && st == OSR_OK; s++) {
		uint32_t *first = &host[fabric->sw_component[s]];

		if (!fabric->sw_sources[s])
			continue;
		if (*first == OSR_NONE)
			*first = s;
		if (root[s] != root[*first])
			st = osr_fail(k->diag, OSR_CHECK_FAILED,
				      "multicast: the spanning order does not connect switches %s "
				      "and %s",
				      sw_name(k, *first, &a), sw_name(k, s, &b));
	}
	return st;
}

static bool in_forest(const struct checker *k, uint32_t c)
{
	const uint32_t *parent = k->r->mcast_parent;

	return parent[k->f->chan_src[c]] == c || parent[k->f->chan_dst[c]] == k->f->chan_rev[c];
}

/*
 * A switch copies a packet to all tree links but the one it came by, and each copy waits for its channel: do
 * all other arrivals rank below `out`?
 */
static enum osr_status check_mcast_leave(struct checker *k, uint32_t out, unsigned vl)
{
	const struct osr_fabric *fabric = k->f;
	const uint32_t *rank = k->r->rank + (size_t)vl * fabric->n_channels;
	uint32_t s = fabric->chan_src[out];

	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
		uint32_t in = fabric->chan_rev[c];

		if (c != out && in_forest(k, c) && rank_key(rank[in]) >= rank_key(rank[out]))
			return osr__check_fail_rank(k, OSR_NONE, in, vl, out, vl);
	}
	return OSR_OK;
}

static enum osr_status check_mcast_ranks(struct checker *k)
{
	const unsigned vl = k->shared ? 0 : k->r->mcast_vl;
	const struct osr_fabric *fabric = k->f;
	enum osr_status st = OSR_OK;
	struct name a;

	for (uint32_t s = 0; s < fabric->n_switches && !st; s++) {
		uint32_t up = k->r->mcast_parent[s], down;

		if (up == OSR_NONE)
			continue;
		down = fabric->chan_rev[up];
		if (vl >= fabric->chan_vls[up] || vl >= fabric->chan_vls[down])
			return osr_fail(k->diag, OSR_CHECK_FAILED,
					"multicast is on VL %u, and the cable at switch %s port %u "
					"has fewer VLs",
					vl, sw_name(k, s, &a), fabric->chan_port[up]);
		st = check_mcast_leave(k, up, vl);
		if (!st)
			st = check_mcast_leave(k, down, vl);
	}
	return st;
}

/* ---- any SL, and SL2VL tables: multicast passes the same tables as unicast -------------------- */

static const uint8_t *table_of(const struct checker *k, uint32_t s, unsigned in, unsigned out)
{
	return k->r->sl2vl[k->r->sl2vl_row[s] + in * (k->f->sw_n_ports[s] + 1u) + out];
}

/* VLs that multicast of each SL may have on channel c, whatever it came by. */
static void mcast_vls(const struct checker *k, uint32_t c, uint16_t vls[16])
{
	const struct osr_fabric *fabric = k->f;
	uint32_t s = fabric->chan_src[c];
	const uint16_t *inject =
		k->inject + (size_t)(fabric->port_row[s] + fabric->chan_port[c]) * k->n_kinds;

	for (unsigned sl = 0; sl < 16; sl++)
		vls[sl] = inject[k->kind_of[sl]];
	for (uint32_t o = fabric->chan_row[s]; o < fabric->chan_row[s + 1]; o++)
		for (unsigned sl = 0; o != c && in_forest(k, o) && sl < 16; sl++)
			vls[sl] |= vl_bit(
				table_of(k, s, fabric->chan_port[o], fabric->chan_port[c])[sl]);
}

static enum osr_status fail_mcast_vl(struct checker *k, uint32_t c, unsigned sl, unsigned vl)
{
	struct name a;

	return osr_fail(k->diag, OSR_CHECK_FAILED,
			"multicast on SL %u leaves switch %s port %u on VL %u, beyond the %u VLs "
			"of the routing or those of the cable",
			sl, sw_name(k, k->f->chan_src[c], &a), k->f->chan_port[c], vl, k->r->n_vls);
}

/* What leaves by channel c, from hosts or from other links, has a VL that is there. */
static enum osr_status check_mcast_vls(struct checker *k, uint32_t c, const uint16_t vls[16])
{
	for (unsigned sl = 0; sl < 16; sl++) {
		unsigned missing = vls[sl] & ~(unsigned)k->vl_ok[c];

		if (missing)
			return fail_mcast_vl(k, c, sl, (unsigned)__builtin_ctz(missing));
	}
	return OSR_OK;
}

static enum osr_status check_mcast_turn(struct checker *k, uint32_t in, const uint16_t vls[16],
					uint32_t out)
{
	const struct osr_fabric *fabric = k->f;
	const uint8_t *table =
		table_of(k, fabric->chan_src[out], fabric->chan_port[fabric->chan_rev[in]],
			 fabric->chan_port[out]);
	const unsigned n_vls = k->r->n_vls;

	for (unsigned sl = 0; sl < 16; sl++) {
		if (vl_bit(table[sl]) & ~k->vl_ok[out])
			return fail_mcast_vl(k, out, sl, table[sl]);
		for (unsigned left = vls[sl]; left; left &= left - 1) {
			unsigned vl = __builtin_ctz(left);

			if (k->rank[(size_t)in * n_vls + vl] >=
			    k->rank[(size_t)out * n_vls + table[sl]])
				return osr__check_fail_rank(k, OSR_NONE, in, vl, out, table[sl]);
		}
	}
	return OSR_OK;
}

static enum osr_status check_mcast_tables(struct checker *k)
{
	const struct osr_fabric *fabric = k->f;
	enum osr_status st = OSR_OK;
	uint16_t vls[16];

	for (uint32_t in = 0; in < fabric->n_channels && !st; in++) {
		uint32_t s = fabric->chan_dst[in];

		if (!in_forest(k, in))
			continue;
		mcast_vls(k, in, vls);
		st = check_mcast_vls(k, in, vls);
		for (uint32_t out = fabric->chan_row[s]; out < fabric->chan_row[s + 1] && !st;
		     out++)
			if (out != fabric->chan_rev[in] && in_forest(k, out))
				st = check_mcast_turn(k, in, vls, out);
	}
	return st;
}

enum osr_status osr__check_mcast(struct checker *k, struct osr_arena *scratch)
{
	size_t n = k->f->n_switches;
	uint32_t *root = osr_alloc(scratch, n, sizeof(*root));
	uint32_t *host = osr_alloc(scratch, n, sizeof(*host));
	enum osr_status st;

	if (osr_arena_failed(scratch, k->diag))
		return OSR_NOMEM;
	memset(root, 0xff, n * sizeof(*root));
	memset(host, 0xff, n * sizeof(*host));
	st = check_forest(k, root, host);
	if (st != OSR_OK || !(k->r->claims & OSR_CLAIM_MULTICAST) || !k->f->n_channels)
		return st;
	if (k->r->sl2vl && (!k->r->sl || (k->r->claims & OSR_CLAIM_ANY_SL)))
		return check_mcast_tables(k);
	return check_mcast_ranks(k);
}
