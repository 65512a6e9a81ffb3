/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which SLs enter the fabric at which switch, destination by destination. */
#include "union_private.h"

#include <string.h>

bool osr__any_sl(const struct senders *u, uint32_t g)
{
	return (u->modes & OSR_CLAIM_ANY_SL) || (!u->gen[g].paths && !u->gen[g].routing->sl);
}

static bool add_senders(struct senders *u, uint32_t g, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = u->f;
	struct sender *list = osr_alloc(scratch, fabric->n_terminals, sizeof(*list));
	uint32_t n = 0, first = 0;

	if (!list)
		return false;
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		struct sender x = { fabric->term_switch[t], u->gen[g].paths->row[t],
				    fabric->term_weight[t] != 0 };
		uint32_t i;

		if (n && list[n - 1].sw != x.sw)
			first = n;
		for (i = first; i < n; i++)
			if (list[i].row == x.row && list[i].host == x.host)
				break;
		if (i == n && x.row != OSR_NONE)
			list[n++] = x;
	}
	u->sender[g] = list;
	u->n_senders[g] = n;
	return true;
}

/* That of today, and those of earlier. */
static uint16_t sls_of_pair(const struct osr_routing *routing, size_t at)
{
	return osr__sl_bit(routing->sl[at]) | (routing->granted ? routing->granted[at] : 0);
}

static bool union_senders_collect_requests(struct senders *u, uint32_t g, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = u->f;
	const struct osr_routing *routing = u->gen[g].routing;
	size_t n = fabric->n_switches, n_pairs;

	if (__builtin_mul_overflow(n, n, &n_pairs))
		return false;
	u->requests[g] = osr_calloc(scratch, n_pairs, sizeof(*u->requests[g]));
	if (!u->requests[g])
		return false;
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t s = 0; s < n; s++)
			if (routing->lft[d * n + s] != OSR_NO_PATH && fabric->sw_sources[s])
				u->requests[g][fabric->dest_switch[d] * n + s] |=
					sls_of_pair(routing, d * n + s);
	return true;
}

static void inject_any(const struct senders *u, uint32_t g, uint32_t d, uint16_t *inject)
{
	for (uint32_t s = 0; s < u->f->n_switches; s++)
		if (osr__counts(u, s, d))
			inject[s] |= u->gen[g].any_sls ? u->gen[g].any_sls : 0xffff;
}

static void inject_by_switch(const struct senders *u, uint32_t g, uint32_t d, uint16_t *inject)
{
	const struct osr_fabric *fabric = u->f;
	bool host = osr__is_host_lid(fabric, d);

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		if (osr__counts(u, s, d))
			inject[s] |=
				sls_of_pair(u->gen[g].routing, (size_t)d * fabric->n_switches + s);
		if (host && u->requests[g] && osr__counts(u, s, d))
			inject[s] |= u->requests[g][(size_t)s * fabric->n_switches +
						    fabric->dest_switch[d]];
	}
}

/* Answers to what the owner of d asks travel on the SLs of its own row. */
static void inject_replies(const struct senders *u, uint32_t g, uint32_t d, uint16_t *inject)
{
	const struct osr_fabric *fabric = u->f;
	const struct osr_paths *p = u->gen[g].paths;
	uint32_t row = p->row[fabric->dest_term[d]];

	if (row == OSR_NONE || !osr__is_host_lid(fabric, d))
		return;
	for (uint32_t x = 0; x < fabric->n_dests; x++)
		if (!(u->modes & OSR_ONLY_HOSTS) || osr__is_host_lid(fabric, x))
			inject[fabric->dest_switch[x]] |=
				osr__sl_bit(p->sl[(size_t)row * fabric->n_dests + x]);
}

static void inject_by_paths(const struct senders *u, uint32_t g, uint32_t first, uint32_t n)
{
	const struct osr_fabric *fabric = u->f;
	const struct osr_paths *p = u->gen[g].paths;

	for (uint32_t i = 0; i < u->n_senders[g]; i++) {
		const struct sender *x = &u->sender[g][i];
		const uint8_t *sl = p->sl + (size_t)x->row * fabric->n_dests + first;

		for (uint32_t j = 0; j < n; j++)
			if (osr__sends(u, x->host, first + j))
				u->inject[(size_t)j * fabric->n_switches + x->sw] |=
					osr__sl_bit(sl[j]);
	}
	for (uint32_t j = 0; j < n && (u->modes & OSR_CLAIM_REVERSIBLE); j++)
		inject_replies(u, g, first + j, u->inject + (size_t)j * fabric->n_switches);
}

/* inject[j * n_switches + s]: SLs of packets for dest first + j that enter at s. */
void osr__senders_collect(struct senders *u, uint32_t first, uint32_t n)
{
	size_t n_switches = u->f->n_switches;

	memset(u->inject, 0, n * n_switches * sizeof(*u->inject));
	for (uint32_t g = 0; g < u->n; g++) {
		if (!osr__any_sl(u, g) && u->gen[g].paths) {
			inject_by_paths(u, g, first, n);
			continue;
		}
		for (uint32_t j = 0; j < n; j++) {
			if (osr__any_sl(u, g))
				inject_any(u, g, first + j, u->inject + j * n_switches);
			else
				inject_by_switch(u, g, first + j, u->inject + j * n_switches);
		}
	}
}

bool osr__senders_init(struct senders *u, struct osr_arena *scratch)
{
	for (uint32_t g = 0; g < u->n; g++) {
		bool ok = true;

		if (osr__any_sl(u, g))
			continue;
		if (u->gen[g].paths)
			ok = add_senders(u, g, scratch);
		else if (u->modes & OSR_CLAIM_REVERSIBLE)
			ok = union_senders_collect_requests(u, g, scratch);
		if (!ok)
			return false;
	}
	u->inject =
		osr_alloc(scratch, (size_t)SENDERS_BATCH * u->f->n_switches, sizeof(*u->inject));
	return u->inject != NULL;
}
