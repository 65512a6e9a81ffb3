/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* made.h - what the commands that write a net file say of it under --json and --csv. */
#ifndef OSR_CLI_MADE_H
#define OSR_CLI_MADE_H

#include "cli/output.h"
#include "io/net.h"

extern const struct out_field cli_made_fields[];
extern const struct out_section cli_made_sections[];

/* The net file and the report cannot both go to stdout. */
void cli_made_needs_file(const struct out *o, const char *path, struct argp_state *state);

/* Begins the one row; nothing for people, to whom the file says it. */
void cli_made_say(struct out *o, const struct osr_net *net, const char *path);

#endif
