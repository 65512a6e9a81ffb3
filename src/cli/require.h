/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * require.h - what `check` demands of tables, for continuous integration: properties that must be proven, a
 * limit on the load, no step back from an earlier result. Each demand is a row of the output and a test
 * case of JUnit's XML.
 */
#ifndef OSR_CLI_REQUIRE_H
#define OSR_CLI_REQUIRE_H

#include "core/verify/verdict.h"

#include "cli/output.h"

struct cli_require {
	uint32_t named; /* questions that must be proven; the others of OSR_REQUIRED not refuted */
	bool minimal;
	double max_load;             /* of the busiest channel over the least possible; 0: any */
	uint32_t min_hosts;          /* end ports of CAs and routers */
	bool may_shrink;             /* switches and hosts of the baseline may be gone */
	const char *baseline;        /* what `check --json` printed, or NULL */
	const char *junit;           /* a file to be written, or NULL */
	struct json_t *base, *cases; /* the baseline; what was demanded and found */
};

/* What the demands are about. */
struct cli_measured {
	const struct osr_findings *found;
	uint64_t bound; /* no routing has a lower edge forwarding index; 0: none is known */
	const struct osr_fabric *f;
	const char *fabric, *tables; /* what they are called */
	double seconds;
};

/* --require, --max-load, --min-hosts, --baseline and --junit, for a struct cli_require. */
extern const struct cli_spec require_spec;

/* Questions that decide the exit code. */
uint32_t cli_require_questions(const struct cli_require *require);

/* Reads the baseline, if there is one. */
enum osr_status cli_require_load(struct cli_require *require, struct osr_diag *diag);

/* Fields of the section "requirements": a row for each demand of the command line. */
extern const struct out_field cli_require_fields[];

/* Fields of the section "nodes", of JSON alone: switches and hosts, for a later --baseline. */
extern const struct out_field cli_nodes_fields[];
void cli_nodes_say(const struct osr_fabric *fabric, struct out *out);

/* Judges and says all demands; CLI_BAD if one is not met, else CLI_OK. */
int cli_require_judge(struct cli_require *require, const struct cli_measured *measured,
		      struct out *out);

/* Writes the JUnit file, if there is to be one; st, diag: why there are no tables to judge. */
enum osr_status cli_require_junit(const struct cli_require *require,
				  const struct cli_measured *measured, enum osr_status st,
				  struct osr_diag *diag);
void cli_require_free(struct cli_require *require);

#endif
