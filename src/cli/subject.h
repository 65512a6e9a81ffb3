/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * subject.h - whose tables a sub-command works on: those that engines make, or those of files.
 *
 *	struct args a = { .who = CLI_SUBJECTS_INIT };
 *	argp_parse() with subjects_argp as a child, whose input is &a.who
 *	st = cli_subjects_load(&a.who, &a.in, &diag);	// options, then the fabric
 *	for (i = 0; i < a.who.n; i++) {
 *		struct cli_tables t;
 *
 *		cli_tables_make(&a.who, i, &fabric, NULL, &t);	// t.st, t.diag
 *		...
 *		cli_tables_free(&t);
 *	}
 *	cli_subjects_free(&a.who);
 */
#ifndef OSR_CLI_SUBJECT_H
#define OSR_CLI_SUBJECT_H

#include <argp.h>

#include <osmroutes/sweep.h>

#include "cli/dumps.h"
#include "cli/input.h"
#include "conf/options.h"
#include "conf/osmconf.h"

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
	struct cli_live *live;     /* of the input, for tables called "live" */
	const struct osr_net *net; /* of the input, for GUIDs of nodes in files */
	bool all;                  /* every engine; before parsing: if nothing is named */
	bool all_named;
	struct osr_values *values;         /* [n] */
	const struct osr_threads *threads; /* lent to engines and checker, or NULL */
};

#define CLI_SUBJECTS_INIT                                                                          \
	{                                                                                          \
		.req = {.clock_ms = cli_thread_ms, .read_file = cli_read_file }                    \
	}

/* Fields that cli_subjects_say() sets. */
#define CLI_SUBJECTS_FIELDS                                                                        \
	{ "config", NULL, OUT_TEXT, 0 }, { "vls_available", NULL, OUT_COUNT, 0 },                  \
		{ "vls_why", NULL, OUT_TEXT, 0 },                                                  \
	{                                                                                          \
		"multicast", NULL, OUT_BOOL, 0                                                     \
	}

/* -e, -o, --vls, --config and so on; and --tables as well */
extern const struct argp engines_argp, subjects_argp;

/*
 * The configuration, the values of all options, the fabric, and what the request follows from: the VL
 * budget and multicast, by the rules of the plugin. An option that an engine does not know is an error of
 * the command line, not of that engine. On a live fabric without --vls there are the VLs that its cables
 * have.
 */
enum osr_status cli_subjects_load(struct cli_subjects *subjects, struct cli_input *in,
				  struct osr_diag *diag);
/* The net is not needed any more, but for files. */
void cli_subjects_drop_net(const struct cli_subjects *subjects, struct cli_input *in);
void cli_subjects_free(struct cli_subjects *subjects);

/* One line for people on what was assumed. */
void cli_subjects_say(const struct cli_subjects *subjects, struct out *out);
/* The fields above, into the current row. */
void cli_subjects_fields(const struct cli_subjects *subjects, struct out *out);

/* The name of an engine or a file. */
const char *cli_subject_name(const struct cli_subject *subject);

struct cli_tables {
	enum osr_status st;
	struct osr_diag diag;
	struct osr_routing routing;
	/* Of an engine's: */
	struct osr_result result; /* for the next sweep; its fabric is the caller's */
	struct osr_sweep sweep;
	double ms; /* CPU to make or read them */
	struct osr_arena arena;
	struct cli_dumps dumps; /* of files */
	/* Of either; points into this struct, which must not be moved. */
	struct osr_generation gen;
};

/*
 * An engine's tables are those of osr_sweep(), checked; those of files are not. `previous` may be NULL,
 * and the fabric must outlive *tables.
 */
void cli_tables_make(const struct cli_subjects *subjects, uint32_t i,
		     const struct osr_fabric *fabric, const struct osr_result *previous,
		     struct cli_tables *tables);
/* All were asked for, and this engine is for another kind of fabric: it has nothing to say. */
bool cli_subjects_skip(const struct cli_subjects *subjects, uint32_t i,
		       const struct cli_tables *tables);
/*
 * Does a bad word about it (st: of its tables) make exit code 1? Not where all engines were asked for and
 * this one promises no freedom from deadlock: then it is there for comparison.
 */
bool cli_subjects_counts(const struct cli_subjects *subjects, uint32_t i, enum osr_status st);
/* As the plugin does where its engine refuses: the tables of before, if they still fit. Otherwise nothing changes. */
void cli_tables_again(const struct cli_subjects *subjects, uint32_t i,
		      const struct osr_result *previous, struct cli_tables *tables);
void cli_tables_free(struct cli_tables *tables);

#endif
