/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "srcroutes/angara.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- failures ------------------------------------------------------------------------------- */

static void fail_link(struct angara_torus *torus, uint32_t channel)
{
	uint32_t nd = torus->t.n_dirs;

	if (torus->t.next[channel] == OSR_NO_NODE)
		return;
	torus->n_failed_links++;
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

/* ---- the set -------------------------------------------------------------------------------- */

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

/* A job has its nodes to itself and nothing else: what is outside fails, as far as its routes are concerned. */
static enum osr_status choose_set(const struct angara_input *in, struct osr_arena *arena,
				  struct angara_torus *torus, struct osr_diag *diag)
{
	uint8_t *wanted = osr_calloc(arena, torus->t.n_nodes, 1);
	enum osr_status st = OSR_OK;

	torus->set = osr_alloc(arena, torus->t.n_nodes, sizeof(*torus->set));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	if (in->box)
		st = mark_box(&torus->t, in->box, wanted, diag);
	else
		memset(wanted, 1, torus->t.n_nodes);
	for (uint32_t u = 0; !st && u < torus->t.n_nodes; u++) {
		if (wanted[u] && !torus->t.dead[u])
			torus->set[torus->n_set++] = u;
		if (!wanted[u] && !torus->t.dead[u])
			osr_torus_fail_node(&torus->t, u);
	}
	return st;
}

enum osr_status angara_torus_make(const struct angara_input *in, struct osr_arena *arena,
				  struct angara_torus *out, struct osr_diag *diag)
{
	enum osr_status st;

	*out = (struct angara_torus){ 0 };
	st = torus_of_dims(in, arena, out, diag);
	if (!st)
		st = fail_named(in, out, diag);
	for (uint32_t u = 0; !st && u < out->t.n_nodes; u++)
		out->n_failed_nodes += out->t.dead[u];
	return st ? st : choose_set(in, arena, out, diag);
}
