/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/made.h"

#include <string.h>

const struct out_field cli_made_fields[] = {
	{ "file", NULL, OUT_TEXT, 0 },
	{ "switches", NULL, OUT_COUNT, 0 },
	{ "cas", NULL, OUT_COUNT, 0 },
	{ "routers", NULL, OUT_COUNT, 0 },
	{ "cables", NULL, OUT_COUNT, 0 },
	{ "switch_cables", NULL, OUT_COUNT, 0 },
	{ "removed.cables", NULL, OUT_COUNT, 0 },
	{ "removed.switches", NULL, OUT_COUNT, 0 },
	{ NULL, NULL, 0, 0 },
};

const struct out_section cli_made_sections[] = {
	{ "summary", OUT_HEAD, cli_made_fields },
	{ NULL, 0, NULL },
};

void cli_made_needs_file(const struct out *o, const char *path, struct argp_state *state)
{
	if (o->format != OUT_PEOPLE && (!path || !strcmp(path, "-")))
		argp_error(state, "--json and --csv need -o FILE: the fabric would be on standard "
				  "output as well");
}

void cli_made_say(struct out *o, const struct osr_net *net, const char *path)
{
	struct osr_net_counts net_counts = osr_net_count(net);

	if (o->format == OUT_PEOPLE)
		return;
	out_row(o, "summary");
	out_text(o, "file", path);
	out_count(o, "switches", net_counts.switches);
	out_count(o, "cas", net_counts.cas);
	out_count(o, "routers", net_counts.routers);
	out_count(o, "cables", net_counts.cables);
	out_count(o, "switch_cables", net_counts.switch_cables);
}
