/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* export.h - what osmroutes export writes besides graphs: ibacm's route file. */
#ifndef OSR_CLI_EXPORT_H
#define OSR_CLI_EXPORT_H

#include <stdio.h>

#include "cli/source.h"

struct cli_ibacm {
	const struct cli_source *src;
	uint8_t mtu;          /* as path records encode it: 4 is 2,048 bytes */
	const uint32_t *from; /* [n_from] terminals whose paths are written; NULL: all hosts */
	uint32_t n_from;
};

/*
 * The route file that ibacm reads with `route_preload opensm_full_v1`: a line for every end port, and below it, SL, MTU and
 * rate of its path to every base LID. Written line by line, memory a few bytes for each LID.
 */
enum osr_status cli_ibacm_write(const struct cli_ibacm *ibacm, FILE *out, struct osr_diag *diag);

#endif
