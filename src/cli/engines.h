/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* engines.h - the routing engines and their options, for conf --list. */
#ifndef OSR_CLI_ENGINES_H
#define OSR_CLI_ENGINES_H

#include "cli/output.h"

/* Of sections "engines" and "engine_options". */
extern const struct out_field cli_engine_fields[], cli_engine_option_fields[];

void cli_list_engines(struct out *out);

#endif
