/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * netdiff.h - two fabrics, old and new: nodes that are missing or new, cables that are missing, new
 * or moved, and end ports that have become others by their GUIDs or LIDs.
 *
 * A node is its GUID, a port its node and number.
 */
#ifndef OSR_CLI_NETDIFF_H
#define OSR_CLI_NETDIFF_H

#include "cli/output.h"
#include "io/net.h"

struct cli_net_changes {
	uint64_t n;             /* whatever it is; 0: nothing has changed */
	uint64_t lids;          /* that end ports have in both fabrics, and */
	uint64_t lids_moved;    /* another port GUID than before */
	uint64_t ports_renamed; /* end ports there in both, with another LID */
};

/* Of sections "nodes" and "cables". */
extern const struct out_field cli_node_change_fields[], cli_cable_change_fields[];

/*
 * Rows of both, those of the old fabric first, and a line at the head if GUIDs or LIDs are others.
 * OSR_NOMEM.
 */
enum osr_status cli_net_diff(const struct osr_net *old, const struct osr_net *new, struct out *out,
			     struct cli_net_changes *changes, struct osr_diag *diag);

#endif
