/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* diff_cables.h - cables of a fabric before and after: missing, new, or plugged in elsewhere. */
#ifndef OSR_CLI_DIFF_CABLES_H
#define OSR_CLI_DIFF_CABLES_H

#include "cli/output.h"
#include "io/net.h"

extern const struct out_field cli_diff_cable_fields[];

/*
 * Rows of section "cables", those of the old fabric first. An end of a cable is the GUID of its node and the
 * number of its port. *n: how many rows. OSR_NOMEM.
 */
enum osr_status cli_diff_cables(const struct osr_net *old, const struct osr_net *now,
				struct out *out, uint64_t *n, struct osr_diag *diag);

#endif
