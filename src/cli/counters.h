/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * counters.h - how much each port has sent and received, as infiniband-diags print it: `ibqueryerrors --counters`, or
 * the outputs of perfquery one after the other.
 */
#ifndef OSR_CLI_COUNTERS_H
#define OSR_CLI_COUNTERS_H

#include "io/net.h"

struct cli_counters {
	uint64_t *sent, *received; /* [net ports] in units of 4 bytes; UINT64_MAX: not given */
	uint64_t n_foreign;        /* ports that the net does not have */
};

/*
 * path NULL: asks ibqueryerrors. OSR_INVAL: there is none, the file cannot be read, or has no counters. To be freed,
 * whatever is returned.
 */
enum osr_status cli_counters_read(const char *path, const struct osr_net *net,
				  struct cli_counters *counters, struct osr_diag *diag);
void cli_counters_free(struct cli_counters *counters);

#endif
