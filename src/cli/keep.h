/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * keep.h - tables in files, for another day: --save and --dump, and what reads them again.
 *
 * A file of --save holds a checked result of an engine, as the plugin stores it, or tables that
 * were read in a live fabric. With these it holds the fabric, too, and can stand for it on a
 * command line.
 */
#ifndef OSR_CLI_KEEP_H
#define OSR_CLI_KEEP_H

#include <limits.h>

#include "cli/source.h"
#include "io/osmdump.h"

struct cli_keep {
	const char *save;        /* FILE, or NULL */
	struct osr_osmdump dump; /* dir NULL: none */
};

extern const struct cli_spec keep_spec;

/* Is there something to keep, if it was asked for? After cli_subjects_load(). */
enum osr_status cli_keep_ready(const struct cli_keep *keep, const struct cli_subjects *who,
			       struct osr_diag *diag);
/*
 * Tables `i` of an engine, or of the live fabric; others are in files already. Several have a file
 * or folder each. The net of who->in has to be there for --dump, and for the live fabric. A note in
 * `out` says what FILE has no room for.
 */
enum osr_status cli_keep_tables(const struct cli_keep *keep, const struct cli_subjects *who,
				uint32_t i, const struct cli_tables *tables, struct out *out,
				struct osr_diag *diag);
/* FILE, or FILE.NAME where there are several. */
const char *cli_keep_path(const struct cli_subjects *who, uint32_t i, const char *file,
			  char path[PATH_MAX]);

struct cli_stored {
	struct osr_arena arena, baseline_arena;
	struct osr_result last, baseline;
};

/*
 * Checked again, in full. Files of another engine, or of other values of its options, are refused;
 * with engine NULL any are taken, and not checked.
 */
enum osr_status cli_stored_read(const char *path, const struct osr_engine *engine,
				const struct osr_values *values, struct cli_stored *stored,
				struct osr_diag *diag);
void cli_stored_free(struct cli_stored *stored);

/*
 * Does the file begin as one of stored tables? False if it cannot be read. And does it hold its
 * fabric as well?
 */
bool cli_stored_probe(const char *path);
bool cli_kept_probe(const char *path);

/* That fabric. OSR_INVAL: the file is damaged, or has none. */
enum osr_status cli_kept_net(const char *path, struct osr_net *net, struct osr_diag *diag);
/* The multicast groups in such a file, as lines of an opensm.mcfdbs; NULL: it is another one. */
const char *cli_kept_groups(const struct osr_routing *routing);

#endif
