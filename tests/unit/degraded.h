/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* degraded.h - a net without what osr_topo_choose() takes out of it. */
#ifndef OSR_TEST_DEGRADED_H
#define OSR_TEST_DEGRADED_H

#include <stdlib.h>

#include "io/net.h"
#include "topo/topo.h"

static inline enum osr_status degraded_net(const struct osr_net *from,
					   const struct osr_degrade *how, struct osr_net *to,
					   struct osr_degraded *done, struct osr_diag *diag)
{
	bool *gone = calloc((size_t)from->n_nodes + 1, sizeof(*gone));
	bool *cut = calloc((size_t)from->n_ports + 1, sizeof(*cut));
	enum osr_status st;

	*to = (struct osr_net){ 0 };
	st = osr_topo_choose(from, how, gone, cut, done, diag);
	if (!st)
		st = osr_topo_remove(from, gone, cut, to, diag);
	free(gone);
	free(cut);
	return st;
}

#endif
