/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Slurm's topology.conf and topology.yaml: a line or entry for each leaf with its hosts, then one for each
 * sub-tree with hosts, and one for each whole tree.
 */
#include "cli/order.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/names.h>

struct slurm {
	const struct cli_order *order;
	enum cli_slurm form;
	uint8_t *used; /* [n_switches] leaf with hosts of the order */
};

/* ---- names ---------------------------------------------------------------------------------- */

/*
 * Letters, digits and a few signs, at most 64. Switches that nobody has named are all called after their maker;
 * Slurm wants names that differ.
 */
static void slurm_put_switch(const struct slurm *slurm, uint32_t s)
{
	uint64_t guid = slurm->order->f->sw_guid[s];
	char buf[32];
	const char *name = osr_switch_name(slurm->order->f, s, buf);

	if (name[osr_name_own(name, guid)]) {
		printf("switch-%016" PRIx64, guid);
		return;
	}
	for (const char *c = name, *end = c + 64; *c && c < end; c++)
		putchar(isalnum((unsigned char)*c) || *c == '-' || *c == '.' ? *c : '_');
}

/* A switch of Slurm: a leaf of the fabric, or a sub-tree. */
struct slurm_switch {
	uint32_t tree, level, index;
};

static void slurm_put_name(const struct slurm *slurm, struct slurm_switch at)
{
	if (at.level == 1)
		slurm_put_switch(slurm, slurm->order->p.tree[at.tree].place[1][at.index]);
	else
		printf("tree%" PRIu32 "-level%" PRIu32 "-%" PRIu32, at.tree, at.level, at.index);
}

/* ---- entries -------------------------------------------------------------------------------- */

static void slurm_begin(const struct slurm *slurm, const char *kind)
{
	if (slurm->form == CLI_SLURM_YAML)
		printf("      - %s: \"", kind);
	else
		printf("%sName=", !strcmp(kind, "block") ? "Block" : "Switch");
}

static void slurm_middle(const struct slurm *slurm, const char *yaml, const char *conf)
{
	if (slurm->form == CLI_SLURM_YAML)
		printf("\"\n        %s: \"", yaml);
	else
		printf(" %s=", conf);
}

static void slurm_end(const struct slurm *slurm)
{
	puts(slurm->form == CLI_SLURM_YAML ? "\"" : "");
}

/* Hosts stand leaf by leaf, so those of one leaf are neighbours. */
static void slurm_put_leaves(const struct slurm *slurm, const char *kind)
{
	const struct cli_order *order = slurm->order;

	for (uint32_t i = 0; i < order->n_places; i++) {
		uint32_t s = order->f->term_switch[order->place[i].term];
		bool first = !i || order->f->term_switch[order->place[i - 1].term] != s;

		if (first) {
			if (i)
				slurm_end(slurm);
			slurm_begin(slurm, kind);
			slurm_put_switch(slurm, s);
			slurm_middle(slurm, "nodes", "Nodes");
		}
		printf("%s%s", first ? "" : ",", order->place[i].name);
	}
	if (order->n_places)
		slurm_end(slurm);
}

static bool slurm_has_hosts(const struct slurm *slurm, struct slurm_switch at, uint32_t n_leaves)
{
	const struct osr_pgft_tree *tree = &slurm->order->p.tree[at.tree];

	for (uint32_t i = 0; i < n_leaves; i++) {
		uint32_t s = tree->place[1][at.index * n_leaves + i];

		if (s != OSR_NONE && slurm->used[s])
			return true;
	}
	return false;
}

static void slurm_put_subtree(const struct slurm *slurm, struct slurm_switch at, uint32_t n_leaves)
{
	const struct osr_pgft_tree *tree = &slurm->order->p.tree[at.tree];
	uint32_t n = 0;

	for (uint32_t k = 0; k < tree->m[at.level]; k++) {
		struct slurm_switch child = { at.tree, at.level - 1,
					      at.index * tree->m[at.level] + k };

		if (!slurm_has_hosts(slurm, child, n_leaves / tree->m[at.level]))
			continue;
		if (!n) {
			slurm_begin(slurm, "switch");
			slurm_put_name(slurm, at);
			slurm_middle(slurm, "children", "Switches");
		}
		printf("%s", n++ ? "," : "");
		slurm_put_name(slurm, child);
	}
	if (n)
		slurm_end(slurm);
}

static void slurm_put_tree(const struct slurm *slurm)
{
	slurm_put_leaves(slurm, "switch");
	for (uint32_t i = 0; i < slurm->order->p.n_trees; i++) {
		const struct osr_pgft_tree *tree = &slurm->order->p.tree[i];
		uint32_t n_leaves = 1;

		for (uint32_t level = 2; level <= tree->h; level++) {
			uint32_t n = tree->m_product[tree->h] / tree->m_product[level];

			n_leaves *= tree->m[level];
			for (uint32_t a = 0; a < n; a++)
				slurm_put_subtree(slurm, (struct slurm_switch){ i, level, a },
						  n_leaves);
		}
	}
}

/* ---- blocks --------------------------------------------------------------------------------- */

/*
 * Every block has at least the first size, and each further one is twice the one before: the smallest
 * leaf, and as many doublings as there are blocks for.
 */
static void slurm_put_sizes(const struct slurm *slurm)
{
	const struct cli_order *order = slurm->order;
	uint32_t n = 0, smallest = UINT32_MAX, n_blocks = 0;
	bool yaml = slurm->form == CLI_SLURM_YAML;

	for (uint32_t i = 0; i < order->n_places; i++) {
		uint32_t s = order->f->term_switch[order->place[i].term];

		n++;
		if (i + 1 == order->n_places ||
		    order->f->term_switch[order->place[i + 1].term] != s) {
			smallest = n < smallest ? n : smallest;
			n_blocks++;
			n = 0;
		}
	}
	for (uint32_t times = 1; times <= n_blocks; times *= 2)
		printf(yaml        ? "      - %" PRIu32 "\n"
		       : times > 1 ? ",%" PRIu32
				   : "BlockSizes=%" PRIu32,
		       smallest * times);
	if (!yaml)
		puts("");
}

enum osr_status cli_slurm_print(const struct cli_order *order, enum cli_slurm form,
				struct osr_diag *diag)
{
	size_t n = order->f->n_switches;
	struct slurm slurm = { .order = order, .form = form };

	slurm.used = calloc(n, sizeof(*slurm.used));
	if (!slurm.used)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %zu switches", n);
	for (uint32_t i = 0; i < order->n_places; i++)
		slurm.used[order->f->term_switch[order->place[i].term]] = 1;
	switch (slurm.form) {
	case CLI_SLURM_TREE:
		slurm_put_tree(&slurm);
		break;
	case CLI_SLURM_BLOCKS:
		slurm_put_leaves(&slurm, "block");
		slurm_put_sizes(&slurm);
		break;
	case CLI_SLURM_YAML:
		puts("---\n- topology: \"tree\"\n  cluster_default: true\n  tree:\n    switches:");
		slurm_put_tree(&slurm);
		puts("- topology: \"block\"\n  cluster_default: false\n  block:\n    block_sizes:");
		slurm_put_sizes(&slurm);
		puts("    blocks:");
		slurm_put_leaves(&slurm, "block");
		break;
	}
	free(slurm.used);
	return OSR_OK;
}
