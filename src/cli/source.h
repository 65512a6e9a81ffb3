/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * source.h - whose tables a sub-command works on: those that engines make, or that were read: from
 * a directory of OpenSM's dumps, a file (forwarding tables, or stored ones), or the switches of a
 * live fabric.
 *
 *	struct args { struct cli_run run; ... };
 *
 *	static enum osr_status work(void *args)		with subjects_spec as a part
 *	{
 *		struct cli_run *run = args;
 *		enum osr_status st = cli_subjects_load(&run->who, &run->in, &run->diag);
 *
 *		for (i = 0; i < run->who.n; i++) {
 *			cli_tables_make(&run->who, i, &fabric, NULL, &t);	// t.st, t.diag
 *			...
 *			cli_tables_free(&t);
 *
 *	const struct cli_command cli_name = { "name", "what it does", CLI_LOOK, { options, parse,
 *	"FILE", doc },
 *					      sections, CLI_ARGS(.run = { CLI_RUN }), .work = work };
 */
#ifndef OSR_CLI_SOURCE_H
#define OSR_CLI_SOURCE_H

#include <osmroutes/engine.h>
#include <osmroutes/sweep.h>

#include "cli/input.h"
#include "conf/options.h"
#include "conf/osmconf.h"
#include "cli/output.h"
#include "io/tables.h"

/* How tables are read that no engine makes. */
struct cli_reading {
	int sl;             /* all packets are on it; < 0: as the paths say */
	struct cli_sls sls; /* of a live fabric */
	bool sls_needed;    /* without an answer there is no verdict; else they are unknown */
};

/* One set of tables. */
struct cli_tables {
	enum osr_status st;
	struct osr_diag diag;
	struct osr_routing routing;
	struct osr_generation gen; /* points into this struct, which must not be moved */
	struct osr_arena arena;
	double ms; /* CPU to make or read them */
	/* Of an engine's: */
	struct osr_result result; /* for the next sweep; its fabric is the caller's */
	struct osr_sweep sweep;
	/* Of tables that were read: */
	bool is_live, was_live; /* the latter: from a file of --save (keep.h) */
	char *file[4];          /* LFTs, SL2VL, SLs of paths, multicast; NULL: none; freed */
	struct osr_tables tables;
	bool same_ca; /* all CAs have one SL2VL table, so that the checker can be asked */
	struct cli_stamp read;
};

/*
 * An engine's, unless tables are read from `path`. OSR_INVAL: no forwarding tables there, or what
 * osr_tables_read() says.
 */
enum osr_status cli_tables_read(const struct cli_reading *how, const char *path,
				struct cli_input *in, struct cli_tables *tables,
				struct osr_diag *diag);

/*
 * Before `in` is loaded: LMCs stand in these tables, or the tables in its switches will be wanted.
 */
void cli_tables_prepare(const char *path, struct cli_input *in);

/* Where the forwarding tables were found: a file, or "the switches". */
const char *cli_tables_lft(const struct cli_tables *tables);

/* Fields that cli_tables_say() sets, and a line for people. */
#define CLI_TABLES_FIELDS                                                                          \
	{ "tables.lfts", NULL, OUT_TEXT }, { "tables.sl2vl", NULL, OUT_TEXT },                     \
		{ "tables.path_sls", NULL, OUT_TEXT }, { "tables.groups", NULL, OUT_TEXT },        \
		{ "tables.sl", NULL, OUT_COUNT },                                                  \
		{ "tables.entries", NULL, OUT_COUNT, 0,                                            \
		  OUT_OF(struct cli_tables, tables.n_entries) },                                   \
		{ "tables.foreign", NULL, OUT_COUNT, 0,                                            \
		  OUT_OF(struct cli_tables, tables.n_foreign) },                                   \
		{ "tables.bytes", NULL, OUT_COUNT, 0, OUT_OF(struct cli_tables, tables.bytes) },   \
		{ "tables.read_ms.cpu", NULL, OUT_REAL, 1, OUT_OF(struct cli_tables, read.cpu) },  \
	{                                                                                          \
		"tables.read_ms.wall", NULL, OUT_REAL, 1, OUT_OF(struct cli_tables, read.wall)     \
	}

void cli_tables_say(const struct cli_reading *how, const struct cli_tables *tables,
		    struct out *out);

#define CLI_MAX_SUBJECTS 32
#define CLI_MAX_SETTINGS 32

struct cli_subject {
	const struct osr_engine *engine; /* or */
	const char *file;
};

struct cli_subjects {
	struct cli_subject item[CLI_MAX_SUBJECTS];
	uint32_t n;
	const char *setting[CLI_MAX_SETTINGS]; /* NAME=VALUE, for every engine */
	uint32_t n_settings;
	struct osr_request req;
	bool by_default; /* no engine was named: it is dfsssp, or what opensm.conf says */
	/* The configuration, as the plugin would read it: */
	const char *config;  /* osmroutes.conf; NULL: where the plugin finds it; "": none */
	const char *osmconf; /* opensm.conf, or NULL: QoS is on, the rest as OpenSM has it */
	struct osr_osmconf osm;
	struct osr_options options;
	struct osr_vl_limit limit; /* req.max_vls, and why */
	uint8_t link_vls;          /* VLs of the links, before any option; 0: not said */
	bool no_multicast;
	struct cli_reading how;
	struct cli_input *in;
	bool all;                          /* every engine */
	struct osr_values *values;         /* [n] */
	const struct osr_threads *threads; /* lent to engines and checker, or NULL */
};

#define CLI_SUBJECTS_INIT                                                                          \
	{                                                                                          \
		.req = { .clock_ms = cli_thread_ms },                                              \
		.how = {.sl = -1,                                                                  \
			.sls.sa = CLI_SA_SWITCHES }                                                \
	}

/* Fields that cli_subjects_say() sets. */
#define CLI_SUBJECTS_FIELDS                                                                        \
	{ "config", NULL, OUT_TEXT },                                                              \
		{ "vls_available", NULL, OUT_COUNT, 0, OUT_OF(struct cli_subjects, limit.vls) },   \
		{ "vls_why", NULL, OUT_TEXT },                                                     \
	{                                                                                          \
		"multicast", NULL, OUT_BOOL, 0, OUT_OF(struct cli_subjects, req.multicast)         \
	}

/*
 * Does OpenSM know this word of routing_engine without a plugin? If not: what may have been meant,
 * of OpenSM's and ours.
 */
bool cli_is_stock(const char *word, struct osr_guess *guess);

/* -e, -o, --vls, --config and so on; --tables as well; with --sl and --sa, too. */
extern const struct cli_spec engines_spec, subjects_spec;

/*
 * The configuration, the values of all options, the fabric, and what the request follows from: the
 * VL budget and multicast, by the rules of the plugin. An option that an engine does not know is an
 * error of the command line, not of that engine. On a live fabric without --vls there are the VLs
 * that its cables have.
 */
enum osr_status cli_subjects_load(struct cli_subjects *subjects, struct cli_input *in,
				  struct osr_diag *diag);

/* One line for people on what was assumed, and the fields above into the current row. */
void cli_subjects_say(const struct cli_subjects *subjects, struct out *out);

/* The name of an engine or a file. */
const char *cli_subject_name(const struct cli_subject *subject);

/*
 * An engine's tables are those of osr_sweep(), checked; those of files are not. `previous` may be
 * NULL, and the fabric must outlive *tables.
 */
void cli_tables_make(const struct cli_subjects *subjects, uint32_t i,
		     const struct osr_fabric *fabric, const struct osr_result *previous,
		     struct cli_tables *tables);
/* All were asked for, and this engine is for another kind of fabric: it has nothing to say. */
bool cli_subjects_skip(const struct cli_subjects *subjects, uint32_t i,
		       const struct cli_tables *tables);
/*
 * As the plugin does where its engine refuses: the previous tables, if they still fit. Otherwise
 * nothing changes.
 */
void cli_tables_again(const struct cli_subjects *subjects, uint32_t i,
		      const struct osr_result *previous, struct cli_tables *tables);
void cli_tables_free(struct cli_tables *tables);

/* The beginning of the arguments of every sub-command. */
struct cli_run {
	struct out out;
	struct cli_input in;
	struct cli_subjects who;
	struct cli_tables tables; /* cli_run_tables() */
	bool needs_tables;        /* no engine by default: tables or an engine must be named */
	bool is_engine;
	unsigned n_words;     /* before FILE, at most 2 */
	const char *expected; /* the error if one is missing */
	const char *word[2];
	/* For its work: */
	struct osr_arena scratch, result;
	struct osr_diag diag; /* why it failed */
	int code;             /* of the process, if it did not */
	char *line; /* that of the command but for -o FILE, for the head of a file that it makes */
};

#define CLI_RUN .in = CLI_INPUT_INIT, .who = CLI_SUBJECTS_INIT
/* For verdicts: SLs of a live fabric have to be known. */
#define CLI_RUN_VERDICT                                                                            \
	.in = CLI_INPUT_INIT,                                                                      \
	.who = { .req = { .clock_ms = cli_thread_ms }, .how = { .sl = -1, .sls_needed = true } }

/*
 * A sub-command, from its command line to its output; argv[0] is "osmroutes NAME". The exit code.
 */
int cli_run(const struct cli_command *command, int argc, char **argv);

/* The row "summary", begun with CLI_INPUT_FIELDS, and with those of the subjects. */
void cli_run_say(struct cli_run *run, bool with_subjects);

/*
 * The one set of tables that `check` and `path` ask questions of: those of an engine or of
 * --tables, or else those in the switches of --live, or in a directory of dumps that stands for the
 * fabric. With ask_spec as a part. Begins the row "summary".
 */
extern const struct cli_spec ask_spec;
enum osr_status cli_run_tables(struct cli_run *run);
/*
 * The first half: the fabric, and which tables. Then run->who.how says what is asked for, and
 * run->is_engine.
 */
enum osr_status cli_run_fabric(struct cli_run *run);

/* "dfsssp", a file, or "the switches". */
const char *cli_run_name(const struct cli_run *run);

/*
 * The SL of a generation's packets from a terminal to a dest, OSR_NO_SL if none is known; the SL2VL
 * table of two ports.
 */
uint8_t cli_gen_sl(const struct osr_generation *gen, const struct osr_fabric *fabric, uint32_t term,
		   uint32_t dest);
const uint8_t *cli_gen_sl2vl(const struct osr_routing *routing, const struct osr_fabric *fabric,
			     uint32_t sw, unsigned in, unsigned out);

/* A cable in a row of output: the fields, and how they are filled. */
#define CLI_CABLE_FIELDS                                                                           \
	{ "from", NULL, OUT_TEXT }, { "from_port", NULL, OUT_COUNT }, { "to", NULL, OUT_TEXT },    \
		{ "to_port", NULL, OUT_COUNT },                                                    \
	{                                                                                          \
		"cable", "from - to", OUT_TEXT                                                     \
	}
void cli_say_cable(struct out *out, const char *from, unsigned from_port, const char *to,
		   unsigned to_port);

#endif
