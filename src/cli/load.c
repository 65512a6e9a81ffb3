/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/load.h"

#include <math.h>

#include <osmroutes/each.h>
#include <osmroutes/split.h>

#define MILLION 1e6

enum osr_status cli_bounds_of(const struct osr_fabric *fabric, struct osr_arena *scratch,
			      struct cli_bounds *bounds, struct osr_diag *diag)
{
	enum osr_status st = osr_bound_load(fabric, OSR_FIRST_LIDS, scratch, &bounds->first, diag);

	return st ? st : osr_bound_load(fabric, OSR_ALL_LIDS, scratch, &bounds->all, diag);
}

enum osr_status cli_load_of(const struct osr_fabric *fabric, const struct osr_routing *routing,
			    const struct osr_audit *audit, const struct cli_bounds *bounds,
			    struct osr_arena *scratch, struct cli_load *load, struct osr_diag *diag)
{
	struct osr_split split;
	enum osr_status st = OSR_OK;

	*load = (struct cli_load){ .bound = *bounds, .first = NAN, .all = NAN, .n_lids = 1 };
	/* Where routes are lost, the others may carry less than any whole routing. */
	if (bounds->first > 0 && !audit->n_lost)
		load->first = audit->efi_per_capacity / bounds->first;
	if (bounds->all > 0 && !audit->n_lost)
		load->all = audit->efi_all_per_capacity / bounds->all;
	OSR_EVERY_TERMINAL(t, fabric)
		if (fabric->term_weight[t] && load->n_lids < 1u << fabric->term_lmc[t])
			load->n_lids = 1u << fabric->term_lmc[t];
	if (load->n_lids > 1)
		st = osr_split_measure(fabric, routing, OSR_SPLIT_EXACT, scratch, &split, diag);
	if (st || load->n_lids == 1)
		return st;
	load->split.first = split.first / MILLION;
	load->split.two = split.two / MILLION;
	load->split.all = split.all / MILLION;
	load->split.free = split.free / MILLION;
	load->split.one = split.one / MILLION;
	return OSR_OK;
}
