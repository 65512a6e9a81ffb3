/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/tables_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum osr_status osr__tables_nomem(const struct osr_tables *t, struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for the tables of %u switches and %u LIDs",
			t->f->n_switches, t->f->n_dests);
}

/* ---- end ports by GUID ---------------------------------------------------------------------- */

static int by_guid(const void *a, const void *b)
{
	const struct osr_owner *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (x->by_node != y->by_node)
		return x->by_node ? 1 : -1;
	return x->term < y->term ? -1 : x->term > y->term;
}

static uint32_t term_at(const struct osr_fabric *f, uint32_t sw, unsigned port)
{
	if (sw == OSR_NONE)
		return OSR_NONE;
	for (uint32_t t = f->term_row[sw]; t < f->term_row[sw + 1]; t++)
		if (f->term_port[t] == port)
			return t;
	return OSR_NONE;
}

/* The terminal of a port of a CA or router; OSR_NONE if no switch is at the other end. */
static uint32_t term_of_port(const struct osr_fabric *f, const struct osr_net *net, uint32_t port)
{
	uint32_t peer = net->ports[port].peer;
	const struct osr_net_node *node;

	if (peer == OSR_NONE)
		return OSR_NONE;
	node = &net->nodes[net->ports[peer].node];
	if (node->type != OSR_NET_SWITCH)
		return OSR_NONE;
	return term_at(f, osr_fabric_switch_by_guid(f, node->guid), osr_net_port_num(net, peer));
}

static void add_nodes(struct osr_tables *t)
{
	for (uint32_t p = 0; t->net && p < t->net->n_ports; p++) {
		const struct osr_net_node *node = &t->net->nodes[t->net->ports[p].node];
		uint32_t term;

		if (node->type == OSR_NET_SWITCH || p == node->port_row)
			continue;
		term = term_of_port(t->f, t->net, p);
		t->owner[t->n_owners++] = (struct osr_owner){ node->guid, term, true };
		if (term == OSR_NONE)
			t->owner[t->n_owners++] =
				(struct osr_owner){ t->net->ports[p].guid, term, false };
	}
}

static bool index_owners(struct osr_tables *t)
{
	size_t n = t->f->n_terminals + 2 * (size_t)(t->net ? t->net->n_ports : 0);

	t->owner = osr_alloc(t->arena, n, sizeof(*t->owner));
	if (!t->owner)
		return false;
	for (uint32_t i = 0; i < t->f->n_terminals; i++)
		t->owner[t->n_owners++] = (struct osr_owner){ t->f->term_guid[i], i, false };
	add_nodes(t);
	qsort(t->owner, t->n_owners, sizeof(*t->owner), by_guid);
	return true;
}

const struct osr_owner *osr_tables_owner(const struct osr_tables *t, uint64_t guid, bool by_node,
					 uint32_t *n)
{
	uint32_t lo = 0, hi = t->n_owners;
	struct osr_owner key = { guid, 0, by_node };

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (by_guid(&t->owner[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (*n = 0; lo + *n < t->n_owners; ++*n)
		if (t->owner[lo + *n].guid != guid || t->owner[lo + *n].by_node != by_node)
			break;
	return t->owner + lo;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

enum osr_status osr_tables_init(struct osr_tables *t, const struct osr_fabric *f,
				const struct osr_net *net, struct osr_arena *arena,
				struct osr_diag *diag)
{
	enum osr_status st;

	*t = (struct osr_tables){ .f = f, .net = net, .arena = arena };
	st = osr_routing_init(&t->routing, f, arena, diag);
	if (st)
		return st;
	t->routing.engine = "tables";
	t->routing.n_vls = 1;
	t->has_lft = osr_calloc(arena, f->n_switches, sizeof(*t->has_lft));
	if (!t->has_lft || !index_owners(t))
		return osr__tables_nomem(t, diag);
	return OSR_OK;
}

void osr_tables_free(struct osr_tables *t)
{
	free((void *)t->paths.sl);
	t->paths = (struct osr_paths){ 0 };
}

enum osr_status osr_tables_alloc_sl2vl(struct osr_tables *t, struct osr_diag *diag)
{
	const struct osr_fabric *f = t->f;
	uint32_t n = 0;

	t->routing.sl2vl_row = osr_alloc(t->arena, f->n_switches, sizeof(*t->routing.sl2vl_row));
	if (!t->routing.sl2vl_row)
		return osr__tables_nomem(t, diag);
	for (uint32_t s = 0; s < f->n_switches; s++) {
		t->routing.sl2vl_row[s] = n;
		n += (f->sw_n_ports[s] + 1u) * (f->sw_n_ports[s] + 1u);
	}
	t->routing.sl2vl = osr_alloc(t->arena, n, sizeof(*t->routing.sl2vl));
	t->term_sl2vl = osr_alloc(t->arena, f->n_terminals, sizeof(*t->term_sl2vl));
	if (!t->routing.sl2vl || !t->term_sl2vl)
		return osr__tables_nomem(t, diag);
	memset(t->routing.sl2vl, OSR_VL_UNSET, n * sizeof(*t->routing.sl2vl));
	memset(t->term_sl2vl, OSR_VL_UNSET, f->n_terminals * sizeof(*t->term_sl2vl));
	return OSR_OK;
}

enum osr_status osr_tables_one_sl(struct osr_tables *t, uint8_t sl, struct osr_diag *diag)
{
	uint32_t *row = osr_calloc(t->arena, t->f->n_terminals, sizeof(*row));
	uint8_t *sls = malloc(t->f->n_dests + 1u);

	if (!row || !sls) {
		free(sls);
		return osr__tables_nomem(t, diag);
	}
	memset(sls, sl, t->f->n_dests);
	osr_tables_free(t);
	t->paths = (struct osr_paths){ .n_rows = 1, .row = row, .sl = sls };
	return OSR_OK;
}

enum osr_status osr_tables_take(struct osr_tables *t, const struct osr_routing *r,
				struct osr_diag *diag)
{
	const struct osr_fabric *f = t->f;

	t->taken = true;
	t->routing = *r;
	t->routing.claims = 0;
	t->routing.rank = NULL;
	memset(t->has_lft, true, f->n_switches * sizeof(*t->has_lft));
	t->n_entries = (uint64_t)f->n_switches * f->n_dests;
	if (!r->sl2vl)
		return OSR_OK;
	t->term_sl2vl = osr_alloc(t->arena, f->n_terminals, sizeof(*t->term_sl2vl));
	if (!t->term_sl2vl)
		return osr__tables_nomem(t, diag);
	for (uint32_t i = 0; i < f->n_terminals; i++)
		memcpy(t->term_sl2vl[i], r->ca_sl2vl, sizeof(*t->term_sl2vl));
	return OSR_OK;
}

/* ---- what the checker wants ----------------------------------------------------------------- */

static void count_vls(struct osr_tables *t)
{
	const struct osr_fabric *f = t->f;
	unsigned highest = 0;

	for (uint32_t s = 0; t->routing.sl2vl && s < f->n_switches; s++)
		for (unsigned in = 0; in <= f->sw_n_ports[s]; in++)
			for (unsigned out = 0; out <= f->sw_n_ports[s]; out++)
				for (unsigned sl = 0; sl < 16; sl++) {
					uint8_t vl = osr_tables_sl2vl(t, s, in, out)[sl];

					if (vl < OSR_MAX_VLS && vl > highest)
						highest = vl;
				}
	for (size_t i = 0; !t->routing.sl2vl && i < (size_t)t->paths.n_rows * f->n_dests; i++)
		if (t->paths.sl[i] < OSR_MAX_VLS && t->paths.sl[i] > highest)
			highest = t->paths.sl[i];
	t->routing.n_vls = (uint8_t)(highest + 1);
}

static bool same_ca_tables(struct osr_tables *t)
{
	const uint8_t *first = NULL;

	for (uint32_t i = 0; t->term_sl2vl && i < t->f->n_terminals; i++) {
		if (!t->f->term_weight[i])
			continue;
		if (first && memcmp(first, t->term_sl2vl[i], 16))
			return false;
		first = t->term_sl2vl[i];
	}
	for (unsigned sl = 0; sl < 16; sl++)
		t->routing.ca_sl2vl[sl] = first && first[sl] != OSR_VL_UNSET ? first[sl] : (uint8_t)sl;
	return true;
}

/* Does this end port send as the first one of its switch does? */
static bool sends_alike(const struct osr_tables *t, uint32_t term)
{
	const struct osr_fabric *f = t->f;
	uint32_t s = f->term_switch[term], row = t->paths.row[term];
	uint32_t first = t->paths.row[f->term_row[s]];

	if (row == OSR_NONE || first == OSR_NONE)
		return false;
	for (uint32_t d = 0; d < f->n_dests; d++) {
		uint8_t sl = t->paths.sl[(size_t)row * f->n_dests + d];

		/* On one switch SLs matter to no channel, but a missing one is a fault. */
		if (sl == OSR_NO_SL && f->dest_switch[d] == s && f->dest_term[d] != term &&
		    f->term_weight[term] && f->term_weight[f->dest_term[d]])
			return false;
		if (f->dest_switch[d] != s &&
		    f->sw_component[f->dest_switch[d]] == f->sw_component[s] &&
		    (sl == OSR_NO_SL || sl != t->paths.sl[(size_t)first * f->n_dests + d]))
			return false;
	}
	return true;
}

static void fill_sls(struct osr_tables *t, uint32_t s)
{
	const struct osr_fabric *f = t->f;
	const uint8_t *row = t->paths.sl + (size_t)t->paths.row[f->term_row[s]] * f->n_dests;

	for (uint32_t d = 0; d < f->n_dests; d++)
		t->routing.sl[(size_t)d * f->n_switches + s] = row[d] == OSR_NO_SL ? 0 : row[d];
}

static bool can_fold(const struct osr_tables *t)
{
	const struct osr_fabric *f = t->f;

	for (uint32_t s = 0; s < f->n_switches; s++)
		if (f->term_row[s] == f->term_row[s + 1])
			return false;
	for (uint32_t i = 0; i < f->n_terminals; i++)
		if (!sends_alike(t, i))
			return false;
	return t->paths.n_rows > 0;
}

enum osr_status osr_tables_finish(struct osr_tables *t, bool *same_ca, struct osr_diag *diag)
{
	const struct osr_fabric *f = t->f;

	if (t->taken && !t->paths.n_rows && t->routing.n_vls) {
		*same_ca = true;
		return OSR_OK;
	}
	count_vls(t);
	*same_ca = same_ca_tables(t);
	if (!t->paths.n_rows || !can_fold(t))
		return OSR_OK;
	t->routing.sl = osr_alloc(t->arena, (size_t)f->n_dests * f->n_switches, 1);
	if (!t->routing.sl)
		return osr__tables_nomem(t, diag);
	for (uint32_t s = 0; s < f->n_switches; s++)
		fill_sls(t, s);
	t->folded = true;
	return OSR_OK;
}

struct osr_generation osr_tables_generation(const struct osr_tables *t)
{
	return (struct osr_generation){
		.routing = &t->routing,
		.paths = t->paths.n_rows && !t->folded ? &t->paths : NULL,
		.groups = t->groups.n ? &t->groups : NULL,
		.term_sl2vl = t->term_sl2vl,
	};
}

/* ---- for the readers ------------------------------------------------------------------------ */

enum osr_status osr__tables_read(struct osr_tables *t, const char *path, struct osr_diag *diag,
				 enum osr_status (*parse)(struct osr_tables *, struct osr_lines *,
							  struct osr_diag *))
{
	struct osr_lines in;
	enum osr_status st = osr_lines_open(&in, path, diag);

	if (st)
		return st;
	st = parse(t, &in, diag);
	t->bytes += in.bytes;
	osr_lines_close(&in);
	return st;
}

enum osr_status osr__tables_switch(const struct osr_tables *t, const struct osr_lines *in,
				   uint64_t guid, uint32_t *sw, struct osr_diag *diag)
{
	*sw = osr_fabric_switch_by_guid(t->f, guid);
	if (*sw != OSR_NONE)
		return OSR_OK;
	return osr_lines_fail(in, diag,
			      "the fabric has no switch 0x%016" PRIx64
			      ": these are the tables of another one",
			      guid);
}

bool osr__is_filler(const char *text)
{
	osr_skip_blanks(&text);
	return !*text || *text == '#' || !text[strspn(text, "-=")];
}
