/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cli.h - the command osmroutes: a table of sub-commands, one file each. */
#ifndef OSR_CLI_CLI_H
#define OSR_CLI_CLI_H

#include <argp.h>
#include <stdio.h>

#include <osmroutes/params.h>
#include <osmroutes/status.h>

#include "io/netfile.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_BAD = 1,   /* something was found: an engine refused, or the checker did */
	CLI_USAGE = 2, /* the command line, a file or the output is wrong */
};

/* In the list of --help. */
enum cli_group { CLI_LOOK, CLI_ADMIN, CLI_MAKE, CLI_N_GROUPS };

/* One sub-command as data: what it is called, may be told and may say, and its work (run.h). */
struct cli_command {
	const char *name, *summary;
	enum cli_group group;
	const struct cli_spec *spec;
	const struct out_section *sections;
	const void *
		initial; /* [size] its arguments before any is given; they begin with a struct cli_run */
	size_t size;
	enum osr_status (*work)(void *args);
};

/* All of them, closed by NULL. */
extern const struct cli_command cli_route, cli_check, cli_diff, cli_report, cli_path, cli_whatif,
	cli_conf, cli_status, cli_key, cli_drain, cli_undrain, cli_order, cli_generate;
extern const struct cli_command *const cli_commands[];

/* "osmroutes: sentence" on stderr; the exit code for this status. */
int cli_fail(enum osr_status st, const struct osr_diag *diag);

/* Sets "name=value" from one word of the command line. */
enum osr_status cli_set(struct osr_values *values, const struct osr_param *table, const char *word,
			struct osr_diag *diag);

/* One line per option: name, default, what it does. */
void cli_print_params(FILE *out, const struct osr_param *table);

/* A file to be written, stdout for NULL or "-"; if it is none, cli_written() says why. */
FILE *cli_create(const char *path);
/* Closes it. OSR_INVAL: it could not be opened, or not all of it be written. */
enum osr_status cli_written(FILE *out, const char *path, struct osr_diag *diag);

/* Writes a net file to `path`, stdout for NULL or "-". */
enum osr_status cli_write_net(const struct osr_net *net, const char *path, const char *comment,
			      struct osr_diag *diag);

/*
 * The words of the command line but for -o FILE, for the head of the file it makes; to be freed.
 * Call it before argp, which reorders argv.
 */
char *cli_command_line(int argc, char **argv);

/* The whole number in text, lo..hi; false if it is none. */
int cli_number(const char *text, long lo, long hi, long *value);

/* The same for a parser of argp, which ends the process if it is none. */
long cli_take_number(const char *text, const char *what, long lo, long hi,
		     struct argp_state *state);

/* Milliseconds of this process's CPU time, all threads, and of the clock on the wall. */
struct cli_stamp {
	double cpu, wall;
};

struct cli_stamp cli_now(void);
struct cli_stamp cli_since(struct cli_stamp start);
double cli_cpu_ms(void);
double cli_wall_ms(void);
double cli_thread_ms(void); /* CPU time of this thread alone; for osr_request.clock_ms */

#endif
