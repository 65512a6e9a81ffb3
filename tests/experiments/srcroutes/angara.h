/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* angara.h - the torus that osr-angara works on: from --dims or from a net file. */
#ifndef OSR_SRCROUTES_ANGARA_H
#define OSR_SRCROUTES_ANGARA_H

#include "srcroutes/torus.h"

#include "cli/input.h"

#define ANGARA_MAX_WORDS 64

/* What the command line says of it; words point into argv. */
struct angara_input {
	const char *dims;  /* "4x2x2x2"; NULL: the fabric of a file */
	const char *lines; /* letters of dimensions that do not close */
	const char *nodes; /* "0-3,7": the set; NULL: all that live */
	const char *box;   /* "4x2x2x1": the set, from the origin; or NULL */
	const char *fail_node[ANGARA_MAX_WORDS];
	const char *fail_link[ANGARA_MAX_WORDS]; /* "5:+X" */
	uint32_t n_fail_node, n_fail_link;
	uint32_t n_random_nodes, n_random_links;
	uint64_t seed;
	bool transit; /* nodes outside the set carry routes, too */
};

struct angara_torus {
	struct osr_torus t;
	uint32_t *set; /* [n_set] */
	uint32_t n_set;
	uint32_t *sw;          /* [n_nodes] switch of the fabric; NULL without one */
	uint32_t *failed_link; /* [n_failed_links] channel of one direction */
	uint32_t n_failed_links, n_failed_nodes;
};

/* OSR_INVAL, OSR_NOT_APPLICABLE (the fabric is no torus) or OSR_NOMEM, with a sentence. */
enum osr_status angara_torus_make(const struct angara_input *in, const struct osr_fabric *fabric,
				  struct osr_arena *arena, struct angara_torus *out,
				  struct osr_diag *diag);

#endif
