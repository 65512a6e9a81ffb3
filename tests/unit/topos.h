/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* topos.h - nets and fabrics of generators. */
#ifndef TEST_TOPOS_H
#define TEST_TOPOS_H

#include "test.h"

#include "io/net.h"
#include "topo/topo.h"

/* "tree m=4,4 w=1,4"; style may be NULL. */
static inline enum osr_status topo_net(const char *what, const struct osr_topo_style *style,
				       struct osr_net *net, struct osr_diag *diag)
{
	static const struct osr_topo_style plain;
	char text[256], *rest = NULL, *word;
	const struct osr_topo *topo;
	struct osr_values values;

	snprintf(text, sizeof(text), "%s", what);
	topo = osr_topo_find(strtok_r(text, " ", &rest));
	assert_non_null(topo);
	osr_values_default(&values, topo->params);
	while ((word = strtok_r(NULL, " ", &rest))) {
		char *value = strchr(word, '=');

		*value++ = '\0';
		if (osr_values_set(&values, topo->params, word, value, diag))
			return OSR_INVAL;
	}
	return osr_topo_make(topo, &values, style ? style : &plain, net, diag);
}

/* `lmc` as in osr_net_fabric(). */
static inline void topo_fabric(const char *what, const struct osr_topo_style *style, int lmc,
			       struct osr_arena *arena, struct osr_fabric *fabric)
{
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };

	if (topo_net(what, style, &net, &diag) || osr_net_fabric(&net, lmc, arena, fabric, &diag))
		fail_msg("%s: %s", what, diag.text);
	osr_net_free(&net);
}

/* A net without what osr_topo_choose() takes out of it. */
static inline struct osr_degraded degrade_net(const struct osr_net *from, struct osr_degrade how,
					      struct osr_net *to)
{
	bool *gone = calloc((size_t)from->n_nodes + 1, sizeof(*gone));
	bool *cut = calloc((size_t)from->n_ports + 1, sizeof(*cut));
	struct osr_degraded done;
	struct osr_diag diag = { "" };

	*to = (struct osr_net){ 0 };
	if (osr_topo_choose(from, &how, gone, cut, &done, &diag) ||
	    osr_topo_remove(from, gone, cut, to, &diag))
		fail_msg("%s", diag.text);
	free(gone);
	free(cut);
	return done;
}

/* The same of a generator, as a fabric. */
static inline struct osr_degraded topo_broken(const char *what, struct osr_degrade how, int lmc,
					      struct osr_arena *arena, struct osr_fabric *fabric)
{
	struct osr_net whole = { 0 }, net;
	struct osr_diag diag = { "" };
	struct osr_degraded done;

	if (topo_net(what, NULL, &whole, &diag))
		fail_msg("%s: %s", what, diag.text);
	done = degrade_net(&whole, how, &net);
	if (osr_net_fabric(&net, lmc, arena, fabric, &diag))
		fail_msg("%s: %s", what, diag.text);
	osr_net_free(&whole);
	osr_net_free(&net);
	return done;
}

#endif
