/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * options.h - the configuration of osmroutes, for the plugin and for the command: osmroutes.conf,
 * the additions by event_plugin_options of OpenSM, and the values that follow from both. Knows no
 * OpenSM.
 */
#ifndef OSR_CONF_OPTIONS_H
#define OSR_CONF_OPTIONS_H

#include <time.h>

#include <osmroutes/engine.h>

#include "conf/optiontable.h"

enum { ON_ERROR_FALLBACK, ON_ERROR_REFUSE };
enum { ON_SPLIT_ROUTE, ON_SPLIT_REFUSE };

#define OSR_OPTIONS_ERRORS 16
#define OSR_OPTIONS_SECTIONS 32

struct osr_options {
	struct osr_values own;        /* OPT_* */
	struct osr_values *engine;    /* one per row of osr_engines[] */
	char config[OSR_STRING_SIZE]; /* the file, readable or not; "" if none */
	struct timespec config_time;  /* when it was last changed before that */
	/* rows of the tables that are set, a bit each; first our own */
	uint64_t given[OSR_OPTIONS_SECTIONS];
	uint32_t n_twice;
	/* the first option that is set twice in the file, with its second line */
	struct osr_diag twice;
	uint32_t n_errors;
	struct osr_diag error[OSR_OPTIONS_ERRORS]; /* the first of them, with file and line */
};

/*
 * Reads `config` (NULL: the file that plugin_options name, or OSR_DEFAULT_CONFIG if there is one;
 * "": none) and plugin_options (may be NULL). false only if memory ran out; errors are in `o`.
 */
bool osr_options_load(struct osr_options *options, const char *config, const char *plugin_options);
void osr_options_free(struct osr_options *options);

/* The words before `config` in a sentence about where the options are from. */
const char *osr_options_origin(const struct osr_options *options);

/* Is there an option of this name, of `len` characters, in a table? */
bool osr_options_known(const struct osr_param *table, const char *name, size_t len);

/* Has the file been changed since it was read? Once for every change. */
bool osr_options_changed(struct osr_options *options);

/* Is this built-in engine of OpenSM ours? */
bool osr_options_takes_over(const struct osr_options *options, const char *builtin);
/* The engine that serves a word of OpenSM's routing_engine, or NULL: not one of ours. */
const struct osr_engine *osr_options_engine(const struct osr_options *options, const char *word);

/* Values of an engine of osr_engines[]. */
const struct osr_values *osr_options_values(const struct osr_options *options,
					    const struct osr_engine *engine);
/* The same for equal values: under others the tables of this engine would be others. */
uint64_t osr_options_key(const struct osr_engine *engine, const struct osr_values *values);

/* The VL budget -------------------------------------------------------------------------------- */

/* The number of data VLs that a sweep may use, and the reason for it. */
struct osr_vl_limit {
	uint8_t vls;
	char why[192];
};

/*
 * Lowers the VLs of the links to the number that the options, OpenSM's QoS and the switches allow.
 */
void osr_options_vl_budget(const struct osr_options *options, bool qos,
			   const struct osr_fabric *fabric, struct osr_vl_limit *limit);

#endif
