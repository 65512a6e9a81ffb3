/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "srcroutes/angara.h"

#include <stdlib.h>
#include <string.h>

#include <osmroutes/prng.h>
#include <osmroutes/product.h>

static const char letters[] = "XYZKLM";

/* "4x2x2": up to 6 numbers. Returns how many, 0 if it is something else. */
static uint32_t parse_sizes(const char *text, uint32_t *size)
{
	uint32_t n = 0;

	for (const char *p = text;; p++) {
		char *end;
		unsigned long x = strtoul(p, &end, 10);

		if (end == p || *p == '-' || *p == '+' || x > OSR_TORUS_MAX_NODES ||
		    n == OSR_TORUS_MAX_DIMS)
			return 0;
		size[n++] = (uint32_t)x;
		p = end;
		if (!*p)
			return n;
		if (*p != 'x')
			return 0;
	}
}

static enum osr_status torus_of_dims(const struct angara_input *in, struct osr_arena *arena,
				     struct angara_torus *out, struct osr_diag *diag)
{
	uint32_t size[OSR_TORUS_MAX_DIMS], n = parse_sizes(in->dims, size), lines = 0;

	if (!n)
		return osr_fail(diag, OSR_INVAL,
				"dims \"%s\": expected up to 6 numbers as in 4x2x2x2", in->dims);
	for (const char *p = in->lines ? in->lines : ""; *p; p++) {
		const char *at = strchr(letters, *p);

		if (!at || at >= letters + n)
			return osr_fail(diag, OSR_INVAL,
					"lines \"%s\": expected letters out of %.*s", in->lines,
					(int)n, letters);
		lines |= 1u << (at - letters);
	}
	return osr_torus_init(&out->t, n, size, lines, arena, diag);
}

/* Node numbers by the coordinates that product.h found; cliques of two are lines of two. */
static enum osr_status torus_of_fabric(const struct osr_fabric *fabric, struct osr_arena *arena,
				       struct angara_torus *out, struct osr_diag *diag)
{
	struct osr_product product;
	enum osr_status st = osr_product_find(fabric, arena, &product, diag);
	uint32_t lines = 0;

	if (st)
		return st;
	if (product.n_dims > OSR_TORUS_MAX_DIMS)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the fabric has %u dimensions: at most %u", product.n_dims,
				OSR_TORUS_MAX_DIMS);
	for (uint32_t i = 0; i < product.n_dims; i++) {
		if (product.factor[i] == OSR_FACTOR_CLIQUE && product.size[i] > 2)
			return osr_fail(diag, OSR_NOT_APPLICABLE,
					"not a torus: dimension %u is a full mesh of %u switches",
					i + 1, product.size[i]);
		lines |= (uint32_t)(product.factor[i] == OSR_FACTOR_PATH) << i;
	}
	st = osr_torus_init(&out->t, product.n_dims, product.size, lines, arena, diag);
	out->sw = st ? NULL : osr_alloc(arena, fabric->n_switches, sizeof(*out->sw));
	if (!st && !out->sw)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u switches",
				fabric->n_switches);
	for (uint32_t v = 0; !st && v < fabric->n_switches; v++) {
		uint32_t node = 0;

		for (uint32_t i = 0; i < product.n_dims; i++)
			node += product.coord[v * product.n_dims + i] * out->t.stride[i];
		out->sw[node] = v;
	}
	return st;
}

/* ---- failures ------------------------------------------------------------------------------- */

static void fail_link(struct angara_torus *torus, uint32_t channel)
{
	uint32_t nd = torus->t.n_dirs;

	if (torus->t.next[channel] == OSR_NO_NODE)
		return;
	torus->failed_link[torus->n_failed_links++] = channel;
	osr_torus_fail_link(&torus->t, channel / nd, channel % nd);
}

static enum osr_status take_node(const struct osr_torus *torus, const char *text, char stop,
				 uint32_t *node, const char **end, struct osr_diag *diag)
{
	char *behind;
	unsigned long x = strtoul(text, &behind, 10);

	if (behind == text || *text == '-' || *behind != stop || x >= torus->n_nodes)
		return osr_fail(diag, OSR_INVAL, "node \"%s\": expected 0 to %u", text,
				torus->n_nodes - 1);
	*node = (uint32_t)x;
	*end = behind;
	return OSR_OK;
}

static enum osr_status fail_named(const struct angara_input *in, struct angara_torus *torus,
				  struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;
	const char *end = "";
	uint32_t node = 0;

	for (uint32_t i = 0; !st && i < in->n_fail_link; i++) {
		uint32_t dir;

		st = take_node(&torus->t, in->fail_link[i], ':', &node, &end, diag);
		if (st)
			return st;
		dir = osr_dir_by_name(&torus->t, end + 1);
		if (dir == OSR_NO_DIR || torus->t.next[node * torus->t.n_dirs + dir] == OSR_NO_NODE)
			return osr_fail(diag, OSR_INVAL, "link \"%s\": there is no such link",
					in->fail_link[i]);
		fail_link(torus, node * torus->t.n_dirs + dir);
	}
	for (uint32_t i = 0; !st && i < in->n_fail_node; i++) {
		st = take_node(&torus->t, in->fail_node[i], '\0', &node, &end, diag);
		if (!st)
			osr_torus_fail_node(&torus->t, node);
	}
	return st;
}

/* As many as asked for, or all there are. */
static enum osr_status fail_random(const struct angara_input *in, struct angara_torus *torus,
				   struct osr_arena *arena, struct osr_diag *diag)
{
	struct osr_prng prng = { in->seed };
	uint32_t n_channels = torus->t.n_nodes * torus->t.n_dirs, n = 0;
	uint32_t *list = osr_alloc(arena, n_channels, sizeof(*list));

	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t c = 0; c < n_channels; c++)
		if (c % torus->t.n_dirs < torus->t.n_dims && torus->t.next[c] != OSR_NO_NODE)
			list[n++] = c;
	osr_prng_shuffle(&prng, list, n);
	for (uint32_t i = 0; i < in->n_random_links && i < n; i++)
		fail_link(torus, list[i]);
	for (uint32_t u = 0; u < torus->t.n_nodes; u++)
		list[u] = u;
	osr_prng_shuffle(&prng, list, torus->t.n_nodes);
	for (uint32_t i = 0; i < in->n_random_nodes && i < torus->t.n_nodes; i++)
		osr_torus_fail_node(&torus->t, list[i]);
	return OSR_OK;
}

/* ---- the set -------------------------------------------------------------------------------- */

static enum osr_status mark_list(const struct osr_torus *torus, const char *text, uint8_t *wanted,
				 struct osr_diag *diag)
{
	const char *p = text;

	do {
		char *end;
		unsigned long lo = strtoul(p, &end, 10), hi = lo;

		if (end == p || *p == '-')
			break;
		if (*end == '-')
			hi = strtoul(end + 1, &end, 10);
		if (hi < lo || hi >= torus->n_nodes || (*end && *end != ','))
			break;
		memset(wanted + lo, 1, hi - lo + 1);
		if (!*end)
			return OSR_OK;
		p = end + 1;
	} while (true);
	return osr_fail(diag, OSR_INVAL, "nodes \"%s\": expected a list as in 0-3,7 of 0 to %u",
			text, torus->n_nodes - 1);
}

static enum osr_status mark_box(const struct osr_torus *torus, const char *text, uint8_t *wanted,
				struct osr_diag *diag)
{
	uint32_t size[OSR_TORUS_MAX_DIMS], n = parse_sizes(text, size);
	bool fits = n == torus->n_dims;

	for (uint32_t i = 0; fits && i < n; i++)
		fits = size[i] && size[i] <= torus->size[i];
	if (!fits)
		return osr_fail(diag, OSR_INVAL,
				"box \"%s\": expected %u numbers, none larger than its dimension",
				text, torus->n_dims);
	for (uint32_t u = 0; u < torus->n_nodes; u++) {
		bool inside = true;

		for (uint32_t i = 0; i < n; i++)
			inside &= osr_torus_coord(torus, u, i) < size[i];
		wanted[u] = inside;
	}
	return OSR_OK;
}

/*
 * Without --transit a job has its nodes to itself and nothing else: what is outside fails, as far
 * as its routes are concerned.
 */
static enum osr_status choose_set(const struct angara_input *in, struct osr_arena *arena,
				  struct angara_torus *torus, struct osr_diag *diag)
{
	uint8_t *wanted = osr_calloc(arena, torus->t.n_nodes, 1);
	enum osr_status st = OSR_OK;

	torus->set = osr_alloc(arena, torus->t.n_nodes, sizeof(*torus->set));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	if (in->nodes)
		st = mark_list(&torus->t, in->nodes, wanted, diag);
	else if (in->box)
		st = mark_box(&torus->t, in->box, wanted, diag);
	else
		memset(wanted, 1, torus->t.n_nodes);
	for (uint32_t u = 0; !st && u < torus->t.n_nodes; u++) {
		if (wanted[u] && !torus->t.dead[u])
			torus->set[torus->n_set++] = u;
		else if (wanted[u] && in->nodes)
			return osr_fail(diag, OSR_INVAL, "node %u is to be routed, but has failed",
					u);
	}
	for (uint32_t u = 0; !st && !in->transit && u < torus->t.n_nodes; u++)
		if (!wanted[u] && !torus->t.dead[u])
			osr_torus_fail_node(&torus->t, u);
	return st;
}

enum osr_status angara_torus_make(const struct angara_input *in, const struct osr_fabric *fabric,
				  struct osr_arena *arena, struct angara_torus *out,
				  struct osr_diag *diag)
{
	enum osr_status st;

	*out = (struct angara_torus){ 0 };
	st = in->dims ? torus_of_dims(in, arena, out, diag)
		      : torus_of_fabric(fabric, arena, out, diag);
	if (st)
		return st;
	out->failed_link =
		osr_alloc(arena, (size_t)out->t.n_nodes * out->t.n_dirs, sizeof(*out->failed_link));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	st = fail_named(in, out, diag);
	if (!st)
		st = fail_random(in, out, arena, diag);
	for (uint32_t u = 0; !st && u < out->t.n_nodes; u++)
		out->n_failed_nodes += out->t.dead[u];
	return st ? st : choose_set(in, arena, out, diag);
}
