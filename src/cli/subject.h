/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * subject.h - whose tables a sub-command works on: those that engines make, or those of files.
 *
 *	struct args a = { .who = CLI_SUBJECTS_INIT };
 *	cli_parse() with subjects_spec as a part
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

#include <osmroutes/engine.h>
#include <osmroutes/sweep.h>

#include "cli/input.h"
#include "conf/options.h"
#include "conf/osmconf.h"
#include "cli/output.h"
#include "io/tables.h"
#include "core/verify/union.h"

/*
 * The tables that a sub-command judges: from a directory of dumps, or file by file, or stored
 * ones.
 */

struct cli_dumps {
	const char *dir;                          /* or a file, which is then what lft names */
	const char *lft, *sl2vl, *paths, *groups; /* files; NULL: not given */
	bool is_live;                             /* read from the switches */
	enum cli_sa sa;                           /* how SLs are asked for */
	bool sl_optional; /* without an answer they are unknown, and sl_warning says so */
	struct osr_diag sl_warning;
	int sl;         /* all packets are on it; < 0: as the paths say */
	int mcast_sl;   /* of multicast packets */
	char *found[4]; /* names in dir, to be freed */

	struct osr_arena arena;
	struct osr_tables t;
	struct osr_generation gen;
	bool same_ca; /* all CAs have one SL2VL table, so that the checker can be asked */
	struct cli_stamp read;
};

#define CLI_DUMPS_INIT                                                                             \
	{                                                                                          \
		.sl = -1                                                                           \
	}

/* All of unicast; and the tables of multicast; both for a struct cli_dumps. */
extern const struct cli_spec dumps_spec, groups_spec;

/*
 * If FILE is a directory of dumps, it is where the tables are too, and FILE its opensm-subnet.lst. If the
 * fabric is live and no tables are named, they are those in its switches.
 */
enum osr_status cli_dumps_from_input(struct cli_dumps *dumps, struct cli_input *in,
				     struct osr_diag *diag);

/*
 * Finds the files in the directory, and tells `in` where it may find LMCs; before `in` is loaded, or
 * NULL.
 */
void cli_dumps_find(struct cli_dumps *dumps, struct cli_input *in);

/* The tables are those in the switches of the live fabric `in`, which is still to be loaded. */
void cli_dumps_live(struct cli_dumps *dumps, struct cli_input *in);

/*
 * OSR_INVAL: no forwarding tables were named, or what osr_tables_read() says. Or with no more than is
 * needed: net is for GUIDs of nodes, or NULL; live where c->is_live.
 */
enum osr_status cli_dumps_load(struct cli_dumps *dumps, struct cli_input *in,
			       struct osr_diag *diag);
enum osr_status cli_dumps_read(struct cli_dumps *dumps, const struct osr_fabric *fabric,
			       const struct osr_net *net, struct cli_live *live,
			       struct osr_diag *diag);
void cli_dumps_free(struct cli_dumps *dumps);

/* Fields that cli_dumps_say() sets, and a line for people. */
#define CLI_DUMPS_FIELDS                                                                           \
	{ "tables.lfts", NULL, OUT_TEXT }, { "tables.sl2vl", NULL, OUT_TEXT },                     \
		{ "tables.path_sls", NULL, OUT_TEXT }, { "tables.groups", NULL, OUT_TEXT },        \
		{ "tables.sl", NULL, OUT_COUNT },                                                  \
		{ "tables.entries", NULL, OUT_COUNT, 0, OUT_OF(struct cli_dumps, t.n_entries) },   \
		{ "tables.foreign", NULL, OUT_COUNT, 0, OUT_OF(struct cli_dumps, t.n_foreign) },   \
		{ "tables.bytes", NULL, OUT_COUNT, 0, OUT_OF(struct cli_dumps, t.bytes) },         \
		{ "tables.read_ms.cpu", NULL, OUT_REAL, 1, OUT_OF(struct cli_dumps, read.cpu) },   \
	{                                                                                          \
		"tables.read_ms.wall", NULL, OUT_REAL, 1, OUT_OF(struct cli_dumps, read.wall)      \
	}

void cli_dumps_say(const struct cli_dumps *dumps, struct out *o);

/* A checked result in a file, as the plugin stores it: for the next sweep to start from. */

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
		.req = {.clock_ms = cli_thread_ms }                                                \
	}

/* Fields that cli_subjects_say() sets. */
#define CLI_SUBJECTS_FIELDS                                                                        \
	{ "config", NULL, OUT_TEXT },                                                              \
		{ "vls_available", NULL, OUT_COUNT, 0, OUT_OF(struct cli_subjects, limit.vls) },   \
		{ "vls_why", NULL, OUT_TEXT },                                                     \
	{                                                                                          \
		"multicast", NULL, OUT_BOOL, 0, OUT_OF(struct cli_subjects, req.multicast)         \
	}

/* -e, -o, --vls, --config and so on; and --tables as well */
extern const struct cli_spec engines_spec, subjects_spec;

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

/*
 * The one set of tables a sub-command asks questions of: those of an engine (-e, dfsssp unless
 * others are named), of dumps or a file of route --save, or those in the switches of --live. And
 * what such commands (path, users, check) have in common.
 */

struct cli_source {
	struct cli_input in;
	struct cli_dumps dumps;
	struct cli_subjects who;
	bool needs_tables; /* no engine by default: tables or an engine must be named */
	bool is_engine;
	struct cli_tables made; /* of an engine */
	struct osr_generation gen;
};

#define CLI_SOURCE_INIT                                                                            \
	{                                                                                          \
		.in = CLI_INPUT_INIT, .dumps = CLI_DUMPS_INIT, .who = CLI_SUBJECTS_INIT            \
	}

struct cli_ask {
	struct cli_source src;
	struct out out;
	unsigned n_words;     /* before FILE, at most 2 */
	const char *expected; /* the error if one is missing */
	const char *word[2];
};

extern const struct cli_spec ask_spec;

/* Begins the row "summary" with CLI_INPUT_FIELDS. */
enum osr_status cli_ask_begin(struct cli_ask *ask, struct osr_diag *diag);
int cli_ask_end(struct cli_ask *ask, enum osr_status st, const struct osr_diag *diag, int code);

/* "dfsssp", a file, or "the switches". */
const char *cli_source_name(const struct cli_source *s);

/* The SL of packets from a terminal to a dest; OSR_NO_SL: none is known. Any SL: that of --sl, or 0. */
uint8_t cli_source_sl(const struct cli_source *s, uint32_t term, uint32_t dest);
bool cli_source_any_sl(const struct cli_source *s);

/* The VL on which a terminal sends, and on which a switch passes a packet on; OSR_VL_UNSET: not known. */
uint8_t cli_source_term_vl(const struct cli_source *s, uint32_t term, uint8_t sl);
uint8_t cli_source_switch_vl(const struct cli_source *s, uint32_t sw, uint8_t in, uint8_t out,
			     uint8_t sl);

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
