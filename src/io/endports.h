/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * endports.h - end ports of CAs and routers by the names that people use (names.h), in lists of
 * hosts and in traffic files. Names with blanks stand in "", several with commas between them.
 *
 * Lists of hosts have one a line, rank 0 first, or several as Slurm writes them,
 * "n[01-03,7]-ib,m2", and behind it slots=N or nothing. Empty lines do not count; # begins a
 * comment.
 */
#ifndef OSR_IO_ENDPORTS_H
#define OSR_IO_ENDPORTS_H

#include "io/lines.h"
#include "names/names.h"

struct osr_endports {
	const struct osr_fabric *fabric;
	struct osr_names names;
};

enum osr_status osr_endports_init(struct osr_endports *endports, const struct osr_fabric *fabric,
				  struct osr_arena *arena, struct osr_diag *diag);

/* The terminal; OSR_INVAL: no terminal has the name, or several have. */
enum osr_status osr_endports_find(struct osr_endports *endports, const char *word, uint32_t *term,
				  struct osr_diag *diag);

/*
 * The next word of a line: *at moves behind it. Quotes are taken away, the word is ended with a
 * zero byte in the line. NULL at the end of the line or before a #.
 */
char *osr_word(char **at);

/*
 * Each host of a list, which is closed; slots 0: not said. A status that take() returns ends the
 * list, with a sentence in in->diag.
 */
typedef enum osr_status osr_host_fn(void *ctx, struct osr_lines *in, const char *name,
				    uint32_t slots);
enum osr_status osr_hostlist_each(struct osr_lines *in, osr_host_fn *take, void *ctx);

/*
 * A list of hosts, which is closed: hosts[n_terminals], all different; *n of them. Messages name
 * file and line.
 */
enum osr_status osr_hostlist_read(struct osr_lines *in, struct osr_endports *endports,
				  uint32_t *hosts, uint32_t *n);

#endif
