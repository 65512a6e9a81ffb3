/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* check_prom.h - a verdict as a file for the textfile collector of Prometheus. */
#ifndef OSR_CLI_CHECK_PROM_H
#define OSR_CLI_CHECK_PROM_H

#include "core/verify/verdict.h"

struct cli_prom {
	const struct osr_findings *found;
	uint64_t bound; /* no routing has a lower edge forwarding index */
	double seconds; /* of the wall clock, for reading and judging */
};

/*
 * Replaces the file in one step, so that no reader sees half of it: it is written as .NAME.new beside it first.
 * OSR_INVAL names the file that could not be written; the old one then stays.
 */
enum osr_status cli_prom_write(const char *path, const struct cli_prom *prom,
			       struct osr_diag *diag);

#endif
