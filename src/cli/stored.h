/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* stored.h - a checked result in a file, as the plugin stores it: for the next sweep to start from. */
#ifndef OSR_CLI_STORED_H
#define OSR_CLI_STORED_H

#include <osmroutes/engine.h>

struct cli_stored {
	struct osr_arena arena, baseline_arena;
	struct osr_result last, baseline;
};

/* Does the file begin as one of stored tables? False if it cannot be read. */
bool cli_stored_probe(const char *path);

/*
 * Checked again, in full. Files of another engine, or of other values of its options, are refused;
 * with engine NULL any are taken, and not checked.
 */
enum osr_status cli_stored_read(const char *path, const struct osr_engine *engine,
				const struct osr_values *values, struct cli_stored *stored,
				struct osr_diag *diag);
void cli_stored_free(struct cli_stored *stored);

/* engine: the one in job, with its values there. */
enum osr_status cli_stored_write(const char *path, const struct osr_job *job,
				 const struct osr_result *last, struct osr_diag *diag);

#endif
