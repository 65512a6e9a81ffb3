/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which destinations the proved program is asked about, and its answers together. */
#include "gate_private.h"

#include <stdlib.h>
#include <string.h>

static const char who[] = "the proved checker does not confirm";

/*
 * dest_check() with constants where the tables allow it, so that the compiler leaves out the cases
 * that they do not need. No value changes: each constant is the value that the argument has.
 */
static __attribute__((noinline)) bool gate_check(struct tab tab, struct row r, struct row o)
{
	if (r.dest != o.dest)
		return dest_check(tab, r, o);
	if (tab.n_q > 1 || tab.f_replies)
		return dest_check(tab, r, r);
	tab.n_q = 1;
	tab.f_replies = 0;
	if (!tab.f_flat || tab.n_lane > 1 || tab.width != H_RANK + 2)
		return dest_check(tab, r, r);
	tab.f_flat = tab.n_lane = 1;
	tab.width = H_RANK + 2;
	return dest_check(tab, r, r);
}

/* Does every pair of entries, of the same or of two generations, keep to the order? */
static bool gate_pairs(const struct gate *gate, const struct share *mine)
{
	for (unsigned y = 0; y < gate->n_gens; y++)
		for (unsigned x = 0; x < gate->n_gens; x++)
			if (!gate_check(gate->tab[x], mine->row[y], mine->row[x]))
				return false;
	return true;
}

/* Hops from switch s to the home of this row; n_switches + 1: the entries do not lead there. */
static int32_t gate_hops(const struct gate *gate, const struct row *row, uint32_t s)
{
	int32_t n = gate->tab[0].n_sw, hops = 0;

	while (s != (uint32_t)row->r_home && hops <= n) {
		s = gate_to(gate, row, s);
		if (s == OSR_NONE)
			return n + 1;
		hops++;
	}
	return hops;
}

/*
 * Do the entries lead home from everywhere, whatever else is claimed? The same program answers, for
 * a fabric with one lane where all send to this destination. The fewer hops are left, the higher is
 * the rank of a port; a rank is 0 at least.
 */
static bool gate_delivers(const struct gate *gate, struct share *mine)
{
	struct row all = mine->row[0];

	all.f_host = true;
	all.k_pass = all.levels = gate->one;
	OSR_EACH_SWITCH(s, gate->fabric) {
		if (all.lft[s] < mine->alone.n_port)
			gate_hot(&mine->alone, s, all.lft[s])[H_RANK] =
				mine->alone.n_sw - gate_hops(gate, &all, s);
	}
	return gate_check(mine->alone, all, all);
}

/* ---- destinations that a fault has left alone ------------------------------------------------ */

/*
 * The theorem `stays` of proved.mlw: a destination that was confirmed is confirmed again, with the
 * same marks and bounds, if nothing has changed that the program reads. It reads the switches, the
 * entries, levels and answers of the destination, and the channels that the entries use, with their
 * ranks and the lanes of packets that come by them.
 */

/* Are `size` bytes of row d the same as of row d_then? An array that is not there is the same. */
static bool gate_same(const void *now, size_t d, const void *then, size_t d_then, size_t size)
{
	return !now ||
	       !memcmp((const char *)now + d * size, (const char *)then + d_then * size, size);
}

/*
 * Port 0 is judged again by itself, for the program asks more about its entries than the order:
 * whether they lead home.
 */
static bool gate_stays(const struct gate *gate, uint32_t d)
{
	const struct osr_fabric *now = gate->fabric, *then = gate->then_f;
	const struct osr_routing *b = gate->then;
	uint32_t was = osr_lid_dest(then, now->dest_lid[d]);
	uint32_t term = now->dest_term[d], home = now->dest_switch[d];
	size_t n = now->n_switches;

	osr_invariant(b->n_switches == n && then->n_switches == n);
	if (was == OSR_NONE || (gate->n_gens == 1 && !now->term_weight[term]))
		return false;
	if (now->term_weight[term] != then->term_weight[then->dest_term[was]] ||
	    home != then->dest_switch[was] ||
	    now->term_port[term] != then->term_port[then->dest_term[was]])
		return false;
	for (unsigned x = 0; x < gate->n_gens; x++) {
		const struct osr_routing *a = gate->gen[x];

		if (!gate_same(a->lft, d, b->lft, was, n))
			return false;
		if (gate->any)
			continue;
		if (!gate_same(a->sl, d, b->sl, was, n) ||
		    !gate_same(a->granted, d, b->granted, was, n * sizeof(*a->granted)))
			return false;
	}
	OSR_EACH_SWITCH(s, now) {
		uint8_t port = b->lft[was * n + s];

		if (port < gate->tab[0].n_port && gate->changed[gate_index(&gate->tab[0], s, port)])
			return false;
	}
	return !gate->answered[home];
}

/* ---- all together ---------------------------------------------------------------------------- */

static void gate_dest(void *ctx, uint32_t i, uint32_t d)
{
	struct gate *gate = ctx;
	struct share *mine = &gate->share[i];
	uint32_t seen = __atomic_load_n(&gate->refused, __ATOMIC_RELAXED);
	bool proven = true;

	if (d > seen || (gate->then && gate_stays(gate, d)))
		return;
	mine->judged++;
	osr_gate_rows(gate, mine, d);
	if (gate->ranked && mine->row->k_pass != gate->every)
		osr_gate_pass(gate, mine);
	if (gate->ranked && !gate->tab->f_flat)
		osr_gate_held(gate, mine);
	if (gate->ranked)
		proven = gate_pairs(gate, mine);
	if (gate->n_gens == 1 && proven && !(gate->ranked && mine->row->f_host))
		proven = gate_delivers(gate, mine);
	if (proven)
		return;
	/* The lowest refused destination of all threads is reported. */
	while (d < seen && !__atomic_compare_exchange_n(&gate->refused, &seen, d, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* The sizes of tab[0]; OSR_NOT_PROVEN: beyond 31 bits. */
static enum osr_status gate_size(struct gate *gate, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = gate->fabric;
	struct tab *tab = &gate->tab[0];
	uint64_t n = fabric->n_switches, n_q = (uint64_t)tab->n_q, n_slot, ports, width;

	tab->n_port = 1;
	OSR_EACH_SWITCH(s, fabric)
		if (fabric->sw_n_ports[s] >= tab->n_port)
			tab->n_port = fabric->sw_n_ports[s] + 1;
	ports = n * (uint64_t)tab->n_port;
	width = H_RANK + (uint64_t)tab->n_lane + n_q;
	n_slot = (uint64_t)tab->n_port + (tab->f_flat ? 0 : osr_n_sl2vl(fabric));
	if (n * n > INT32_MAX || n * n_q > INT32_MAX || 2 * (uint64_t)fabric->n_dests > INT32_MAX ||
	    ports * width > INT32_MAX || ports * (C_COPIES + n_q) > INT32_MAX ||
	    n_slot * n_q > INT32_MAX)
		return osr_fail(diag, OSR_NOT_PROVEN,
				"%s tables of %u switches, %u channels and %llu port pairs: they "
				"are too large for it",
				who, fabric->n_switches, fabric->n_channels,
				(unsigned long long)n_slot);
	tab->n_sw = n;
	tab->n_dest = fabric->n_dests * gate->n_gens;
	tab->n_slot = n_slot;
	tab->width = width;
	tab->more = C_COPIES + tab->n_q;
	return OSR_OK;
}

/* The arrays of one thread, empty; osr_arena_failed() tells. */
static void gate_alloc_share(const struct gate *gate, struct share *mine, struct osr_arena *scratch)
{
	const struct tab *tab = &gate->tab[0];
	size_t n = gate->fabric->n_switches, ports = n * (size_t)tab->n_port;
	size_t n_held = tab->f_flat ? 0 : n * (size_t)tab->n_q;

	mine->levels = osr_calloc(scratch, n, sizeof(*mine->levels));
	mine->pass = osr_calloc(scratch, n, sizeof(*mine->pass));
	mine->stack = osr_calloc(scratch, GATE_SLS * n, sizeof(*mine->stack));
	for (unsigned x = 0; x < gate->n_gens; x++)
		mine->row[x].k_held = osr_calloc(scratch, n_held, sizeof(*mine->row->k_held));
	mine->alone = *tab;
	mine->alone.f_replies = false;
	mine->alone.f_flat = true;
	mine->alone.n_lane = mine->alone.n_q = 1;
	mine->alone.m_lane = 0;
	mine->alone.width = H_RANK + 2;
	mine->alone.slots = osr_calloc(scratch, (size_t)tab->n_slot, 1);
	mine->alone.hot = osr_calloc(scratch, ports, (H_RANK + 2) * sizeof(*tab->hot));
	mine->alone.cold = osr_calloc(scratch, ports, (size_t)tab->more * sizeof(*tab->cold));
}

/* The arrays, filled, for n_parts threads. */
static enum osr_status gate_lay(struct gate *gate, uint32_t n_parts, struct osr_arena *scratch,
				struct osr_diag *diag)
{
	struct tab *tab = &gate->tab[0];
	size_t n = gate->fabric->n_switches, ports, n_q;
	enum osr_status st;

	osr_gate_claims(gate);
	st = gate_size(gate, diag);
	if (st)
		return st;
	n_q = (size_t)tab->n_q;
	ports = n * (size_t)tab->n_port;
	tab->hot = osr_calloc(scratch, ports, (size_t)tab->width * sizeof(*tab->hot));
	tab->cold = osr_calloc(scratch, ports, (size_t)tab->more * sizeof(*tab->cold));
	tab->sws = osr_calloc(scratch, n, 2 * sizeof(*tab->sws));
	tab->k_answers = osr_calloc(scratch, tab->f_replies ? n * n : 0, sizeof(*tab->k_answers));
	gate->tab[1] = *tab;
	for (unsigned x = 0; x < gate->n_gens; x++)
		gate->tab[x].slots = osr_calloc(scratch, (size_t)tab->n_slot, n_q);
	gate->one = osr_calloc(scratch, n, sizeof(*gate->one));
	gate->every = osr_calloc(scratch, n, sizeof(*gate->every));
	gate->share = osr_calloc(scratch, n_parts, sizeof(*gate->share));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n_parts; i++)
		gate_alloc_share(gate, &gate->share[i], scratch);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	OSR_EACH_SWITCH(s, gate->fabric) {
		gate->one[s] = 1;
		gate->every[s] = (1u << n_q) - 1;
	}
	osr_gate_fabric(gate, tab);
	for (uint32_t i = 0; i < n_parts; i++)
		osr_gate_fabric(gate, &gate->share[i].alone);
	for (unsigned x = 0; x < gate->n_gens; x++)
		osr_gate_lanes(gate, x);
	if (gate->ranked) {
		osr_gate_ranks(gate, tab);
		osr_gate_bounds(gate);
	}
	if (tab->f_replies)
		osr_gate_answers(gate);
	return OSR_OK;
}

/*
 * Are switches, levels, lanes and claims the same in both? Then their ports and rows have the same
 * numbers.
 */
static bool gate_compares(const struct gate *gate, const struct gate *before)
{
	const struct tab *now = &gate->tab[0], *then = &before->tab[0];
	size_t n = gate->fabric->n_switches;

	return before->ranked && now->n_sw == then->n_sw && now->n_port == then->n_port &&
	       now->n_slot == then->n_slot && now->n_lane == then->n_lane &&
	       now->n_q == then->n_q && gate->any == before->any &&
	       now->f_replies == then->f_replies && now->f_flat == then->f_flat &&
	       !gate->gen[0]->granted == !before->gen[0]->granted &&
	       !memcmp(gate->fabric->sw_guid, before->fabric->sw_guid,
		       n * sizeof(*gate->fabric->sw_guid)) &&
	       !memcmp(now->sws, then->sws, n * 2 * sizeof(*now->sws));
}

/* Sets gate->changed: ports whose ranks, bounds or lanes differ between the two. */
static void gate_compare_ports(const struct gate *gate, const struct tab *now,
			       const struct tab *then)
{
	size_t n = gate->fabric->n_switches, n_port = (size_t)now->n_port, n_q = (size_t)now->n_q;

	osr_invariant(now->width == then->width && now->n_port == then->n_port);
	/* Which ports have another rank or bound, or lead to other lanes? */
	for (size_t i = 0; i < n * n_port; i++) {
		const int32_t *hot = now->hot + i * (size_t)now->width;
		size_t slot = (size_t)hot[H_ROW] * n_q;

		gate->changed[i] = memcmp(hot, then->hot + i * (size_t)now->width,
					  (size_t)now->width * sizeof(*hot)) ||
				   memcmp(now->slots + slot, then->slots + slot, n_port * n_q);
	}
	if (now->f_flat)
		return;
	/* And which ports do packets leave by on other lanes that enter at their switch? */
	for (size_t i = 0; i < n * n_port * n_port; i++) {
		const int32_t *cold = now->cold + i / n_port * (size_t)now->more;
		size_t slot = ((size_t)cold[C_ROW] + i % n_port) * n_q;

		if (cold[C_ENTER] && memcmp(now->slots + slot, then->slots + slot, n_q))
			gate->changed[i / n_port / n_port * n_port + i % n_port] = 1;
	}
}

/*
 * Sets gate->then and the ports that differ from it. Of one generation it is `result`, if it was
 * confirmed and has the same layout. Of a mixture it is given, with the lanes of gen[0]. It becomes
 * NULL where it does not help.
 */
static enum osr_status gate_remember(struct gate *gate, const struct osr_result *result,
				     struct osr_arena *scratch, struct osr_diag *diag)
{
	const struct tab *now = &gate->tab[0], *then = &gate->tab[1];
	size_t n = gate->fabric->n_switches;
	struct gate before;
	enum osr_status st;

	gate->changed = osr_calloc(scratch, n * (size_t)now->n_port, 1);
	gate->answered = osr_calloc(scratch, n, 1);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	if (gate->n_gens > 1 && !gate->any)
		gate->then = NULL;
	if (gate->n_gens == 1 && gate->ranked && result && result->confirmed &&
	    osr_routing_digest(&result->fabric, &result->routing) == result->digest) {
		before = (struct gate){ .fabric = &result->fabric,
					.gen = { &result->routing },
					.n_gens = 1,
					.claims = result->routing.claims };
		st = gate_lay(&before, 0, scratch, diag);
		if (st == OSR_NOMEM)
			return st;
		if (st || !gate_compares(gate, &before))
			return OSR_OK;
		gate->then_f = before.fabric;
		gate->then = before.gen[0];
		then = &before.tab[0];
		if (now->f_replies) {
			for (size_t i = 0; i < n * n; i++)
				if (now->k_answers[i] != then->k_answers[i])
					gate->answered[i / n] = gate->answered[i % n] = 1;
		}
	}
	if (gate->then)
		gate_compare_ports(gate, now, then);
	return OSR_OK;
}

static enum osr_status gate_judge(struct gate *gate, const struct osr_result *result,
				  struct osr_arena *scratch, uint32_t *n_judged,
				  struct osr_diag *diag)
{
	uint32_t n_parts = osr_threads_parts(scratch, (uint64_t)gate->fabric->n_dests *
							      gate->fabric->n_switches);
	enum osr_status st;
	bool wired = true;

	gate->refused = OSR_NONE;
	gate->claims = gate->gen[0]->claims;
	for (unsigned x = 0; x < gate->n_gens; x++)
		if (!osr_gate_fits(gate, gate->gen[x]))
			return osr_fail(diag, OSR_NOT_PROVEN,
					"%s tables of another fabric or half a claim", who);
	st = gate_lay(gate, n_parts, scratch, diag);
	if (!st)
		st = gate_remember(gate, result, scratch, diag);
	if (st)
		return st;
	for (unsigned x = 0; x < gate->n_gens; x++)
		wired &= wired_check(gate->tab[x]) && (!gate->ranked || fabric_check(gate->tab[x]));
	for (uint32_t i = 0; i < n_parts; i++)
		wired &= wired_check(gate->share[i].alone);
	if (!wired)
		return osr_fail(diag, OSR_NOT_PROVEN, "%s %s", who,
				gate->claims & OSR_CLAIM_MULTICAST
					? "multicast, or how the fabric is wired"
					: "how the fabric is wired");
	osr_threads_share(scratch, gate_dest, gate, n_parts, gate->fabric->n_dests);
	if (gate->refused != OSR_NONE)
		return osr_fail(diag, OSR_NOT_PROVEN, "%s the routes to LID %u", who,
				gate->fabric->dest_lid[gate->refused]);
	if (!n_judged)
		return OSR_OK;
	*n_judged = 0;
	for (uint32_t i = 0; i < n_parts; i++)
		*n_judged += gate->share[i].judged;
	osr_invariant(*n_judged <= gate->fabric->n_dests);
	return OSR_OK;
}

static enum osr_status gate_ask(struct gate *gate, const struct osr_result *result,
				struct osr_arena *scratch, uint32_t *n_judged,
				struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	enum osr_status st = gate_judge(gate, result, scratch, n_judged, diag);

	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_gate_again(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       const struct osr_result *result, struct osr_arena *scratch,
			       uint32_t *n_judged, struct osr_diag *diag)
{
	struct gate gate = { .fabric = fabric, .gen = { routing }, .n_gens = 1 };

	return gate_ask(&gate, result, scratch, n_judged, diag);
}

enum osr_status osr_gate(const struct osr_fabric *fabric, const struct osr_routing *routing,
			 struct osr_arena *scratch, struct osr_diag *diag)
{
	return osr_gate_again(fabric, routing, NULL, scratch, NULL, diag);
}

enum osr_status osr_gate_mixed(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       const struct osr_routing *old, const struct osr_routing *certified,
			       struct osr_arena *scratch, uint32_t *n_judged, struct osr_diag *diag)
{
	struct gate gate = { .fabric = fabric,
			     .gen = { routing, old },
			     .n_gens = 2,
			     .then_f = fabric,
			     .then = certified };

	return gate_ask(&gate, NULL, scratch, n_judged, diag);
}
