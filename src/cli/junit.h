/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* junit.h - test cases as the XML of JUnit, which forges show. */
#ifndef OSR_CLI_JUNIT_H
#define OSR_CLI_JUNIT_H

#include <stdbool.h>

#include <jansson.h>

#include <osmroutes/status.h>

struct cli_junit {
	const char *path; /* "-" is no name of standard output: that has the result */
	const char *fabric, *tables;
	double seconds;
	const json_t *cases; /* [{name, met, message}]; NULL: none */
	const char *error;   /* why nothing could be judged, or NULL */
};

/* OSR_INVAL: the file cannot be written. */
enum osr_status cli_junit_write(const struct cli_junit *junit, struct osr_diag *diag);

#endif
