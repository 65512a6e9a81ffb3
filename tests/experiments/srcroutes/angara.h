/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* angara.h - the torus that osr-angara works on. */
#ifndef OSR_SRCROUTES_ANGARA_H
#define OSR_SRCROUTES_ANGARA_H

#include "srcroutes/torus.h"

#define ANGARA_MAX_WORDS 64

/* What the command line says of it; words point into argv. */
struct angara_input {
	const char *dims;  /* "4x2x2x2" */
	const char *lines; /* letters of dimensions that do not close */
	const char *box;   /* "4x2x2x1": the set, from the origin; NULL: all that live */
	const char *fail_node[ANGARA_MAX_WORDS];
	const char *fail_link[ANGARA_MAX_WORDS]; /* "5:+X" */
	uint32_t n_fail_node, n_fail_link;
};

struct angara_torus {
	struct osr_torus t;
	uint32_t *set; /* [n_set] */
	uint32_t n_set;
	uint32_t n_failed_links, n_failed_nodes;
};

/* OSR_INVAL or OSR_NOMEM, with a sentence. */
enum osr_status angara_torus_make(const struct angara_input *in, struct osr_arena *arena,
				  struct angara_torus *out, struct osr_diag *diag);

#endif
