/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cli.h - the command osmroutes: a table of sub-commands, one file each; their command lines,
 * files, clocks, threads.
 */
#ifndef OSR_CLI_CLI_H
#define OSR_CLI_CLI_H

#include <stddef.h>
#include <stdio.h>

#include <osmroutes/params.h>
#include <osmroutes/status.h>

#include "io/netfile.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_BAD = 1,   /* something was found: an engine refused, or the checker did */
	CLI_USAGE = 2, /* the command line, a file or the output is wrong */
};

/*
 * The command line of a sub-command as data: its options, the member of its arguments that each
 * fills, and the parts that it shares with other sub-commands.
 *
 *	static const struct cli_option options[] = {
 *		{ "max", "N", "list at most N", CLI_NUMBER(struct args, max_listed, 0, 1000) },
 *		{ "traffic", "FILE", "may be repeated", .key = OPT_TRAFFIC },	parse() takes it
 *		{ .doc = "Requirements:" },				heading of the options below it
 *		{ CLI_PART(input_spec, struct args, run.in) },		options of others
 *		{ 0 },
 *	};
 *	static const struct cli_spec spec = { options, parse, "FILE", "Says what FILE is." };
 *
 * --json and the like come of themselves (output.h). Options are known by their whole names.
 */
enum cli_take {
	CLI_TAKE_OWN,
	CLI_TAKE_TEXT,
	CLI_TAKE_FLAG,
	CLI_TAKE_NUMBER,
	CLI_TAKE_WORD,
	CLI_TAKE_LIST
};

struct cli_option {
	const char *name, *arg, *doc; /* without a name: a heading */
	enum cli_take take;
	size_t at, size; /* of the member */
	long low, high;  /* of a number; of a list: where its count is, and how many it can hold */
	const char *words; /* of a word: "a|b|c", of which the member gets the number */
	/* CLI_TAKE_OWN: the key with which parse() is called; a letter is a short option */
	int key;
	bool arg_optional;           /* then it stands behind "=" */
	const struct cli_spec *part; /* all options of another spec, for the struct at `at` */
};

static inline bool cli_option_ends(const struct cli_option *option)
{
	return !option->name && !option->doc && !option->part;
}

#define CLI_PART(spec, type, member) .part = &(spec), .at = offsetof(type, member)

#define CLI_TEXT(type, member) CLI_TAKE_TEXT, offsetof(type, member)
#define CLI_FLAG(type, member) CLI_TAKE_FLAG, offsetof(type, member)
#define CLI_NUMBER(type, member, low, high)                                                        \
	CLI_TAKE_NUMBER, offsetof(type, member), sizeof(((type *)0)->member), low, high

#define CLI_WORD(type, member, its_words)                                                          \
	CLI_TAKE_WORD, offsetof(type, member), sizeof(((type *)0)->member), .words = its_words
/* const char *member[n], with uint32_t count of those there are. */
#define CLI_LIST(type, member, count)                                                              \
	CLI_TAKE_LIST, offsetof(type, member), 0, offsetof(type, count),                           \
		sizeof(((type *)0)->member) / sizeof(const char *)

/* Keys with which parse() is called besides those of its options: */
enum {
	CLI_ALL_OPTIONS = -1, /* they have been read, and words follow */
	CLI_ONE_WORD = -2,    /* a word that is no option */
	CLI_ALL_WORDS = -3,   /* the parts of a spec hear of it before the spec itself */
};

struct cli_command;

/* The command line while it is read. */
struct cli_line {
	const struct cli_command *command;
	struct osr_diag *diag; /* the error */
	uint32_t n_words;      /* that are no options */
	uint32_t at;           /* CLI_ONE_WORD: which of them this is */
};

struct cli_spec {
	const struct cli_option *options; /* ends with zeros */
	/*
	 * Words bound to no member, for the struct of this spec. OSR_NOT_APPLICABLE: it does not
	 * take the word.
	 */
	enum osr_status (*parse)(int key, const char *arg, void *args, const struct cli_line *line);
	const char *args_doc, *doc;
	void (*more_help)(FILE *out); /* below the options; NULL: nothing */
};

/* Fills args. OSR_INVAL and a sentence; --help and the like end the process. */
enum osr_status cli_parse(const struct cli_command *command, int argc, char **argv, void *args,
			  struct osr_diag *diag);
void cli_help(const struct cli_command *command);

/* The whole number in text, low..high, for parse(). */
enum osr_status cli_take_number(const struct cli_line *line, const char *what, const char *text,
				long low, long high, long *n);

/* In the list of --help. */
enum cli_group { CLI_LOOK, CLI_ADMIN, CLI_MAKE, CLI_N_GROUPS };

/* One sub-command as data: its name, options and output, and its work (source.h). */
struct cli_command {
	const char *name, *summary;
	enum cli_group group;
	struct cli_spec spec;
	const struct out_section *sections;
	/* CLI_ARGS(): its arguments before any is given; they begin with a struct cli_run. */
	const void *initial; /* [size] */
	size_t size;
	enum osr_status (*work)(void *args);
	/* NULL, or writes the output of a run that failed, from its command line on. */
	enum osr_status (*failed)(void *args, const char *why, struct osr_diag *diag);
};

#define CLI_ARGS(...) .initial = &(const struct args){ __VA_ARGS__ }, .size = sizeof(struct args)

/* All of them, closed by NULL. */
extern const struct cli_command cli_route, cli_check, cli_diff, cli_report, cli_path, cli_whatif,
	cli_conf, cli_status, cli_key, cli_drain, cli_undrain, cli_order, cli_generate;
extern const struct cli_command *const cli_commands[];

/* Drained parts as a subnet manager on this machine lists them; NULL: none answers. */
struct json_t *cli_sm_parts(void);

/* "osmroutes: sentence" on stderr; the exit code for this status. */
int cli_fail(enum osr_status st, const struct osr_diag *diag);

/* Sets "name=value" from one word of the command line. */
enum osr_status cli_set(struct osr_values *values, const struct osr_param *table, const char *word,
			struct osr_diag *diag);

/* One line per option: name, default, effect. */
void cli_print_params(FILE *out, const struct osr_param *table);

/* A file to be written, stdout for NULL or "-"; if it is none, cli_written() says why. */
FILE *cli_create(const char *path);
/* Closes it. OSR_INVAL: it could not be opened, or not all of it be written. */
enum osr_status cli_written(FILE *out, const char *path, struct osr_diag *diag);

/* Writes a net file to `path`, stdout for NULL or "-". */
enum osr_status cli_write_net(const struct osr_net *net, const char *path, const char *comment,
			      struct osr_diag *diag);

/* Milliseconds of this process's CPU time, all threads, and of the clock on the wall. */
struct cli_stamp {
	double cpu, wall;
};

struct cli_stamp cli_now(void);
struct cli_stamp cli_since(struct cli_stamp start);
double cli_cpu_ms(void);
double cli_wall_ms(void);
double cli_thread_ms(void); /* CPU time of this thread alone; for osr_request.clock_ms */

/*
 * Work by several threads, mostly the measurements of src/traffic, with a progress bar on a
 * terminal. The number of threads changes no byte of their results.
 */
struct cli_pool {
	uint32_t n_threads; /* 0: one for each processor */
};

/* --threads, for a struct cli_pool, and how many threads do n jobs. */
extern const struct cli_spec pool_spec;
uint32_t cli_n_threads(const struct cli_pool *pool, uint64_t n_jobs);

/*
 * The work under way and its progress, from one thread at a time: on a terminal a bar, elsewhere a
 * line on standard error after 5 seconds, then after twice as long again and again. done == all
 * ends it.
 */
void cli_progress(const char *what, uint64_t done, uint64_t all);

/*
 * work(ctx, part, i) for every i below n; each must write only to the data of its i, or of its
 * part, of which several work at once. Before it take(ctx, part), unless that is NULL: one after
 * the other, in the order of i. A failure ends it: the failure of the lowest i is reported, and all
 * below it have been done.
 */
typedef void (*cli_take_fn)(void *ctx, uint32_t part);
typedef enum osr_status (*cli_work_fn)(void *ctx, uint32_t part, uint32_t i, struct osr_diag *diag);

enum osr_status cli_each(const struct cli_pool *pool, const char *what, uint32_t n,
			 cli_take_fn take, cli_work_fn work, void *ctx, struct osr_diag *diag);

#endif
