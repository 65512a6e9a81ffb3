/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* osmconf.h - the lines of an opensm.conf that decide how osmroutes routes. */
#ifndef OSR_CONF_OSMCONF_H
#define OSR_CONF_OSMCONF_H

#include <osmroutes/status.h>

#include <stdbool.h>
#include <stdint.h>

#define OSR_OSMCONF_LINE 1024 /* bytes that OpenSM reads of a line */

/*
 * Options that name a file of GUIDs by which the plugin routes, and which this reader does not
 * read.
 */
#define OSR_OSMCONF_N_UNREAD 3
extern const char *const osr_osmconf_unread[OSR_OSMCONF_N_UNREAD];

/* Options that the file does not set have OpenSM's defaults. */
struct osr_osmconf {
	char routing_engine[OSR_OSMCONF_LINE]; /* "" : none is set */
	char plugin_name[OSR_OSMCONF_LINE];
	char plugin_options[OSR_OSMCONF_LINE];
	char partitions[OSR_OSMCONF_LINE]; /* partition_config_file */
	char qos_policy[OSR_OSMCONF_LINE]; /* qos_policy_file */
	bool qos;
	bool multicast;
	bool unread[OSR_OSMCONF_N_UNREAD];
	uint32_t n_odd;     /* lines that OpenSM ignores, or reads otherwise than they look */
	char odd[160];      /* of the first one: its number and a sentence */
	uint8_t max_op_vls; /* a code; 0 counts as 1, and a code above 5 as 5 (osr_vls_of_code) */
};

void osr_osmconf_default(struct osr_osmconf *osmconf);
/* OSR_INVAL with path and reason if the file cannot be read. */
enum osr_status osr_osmconf_read(const char *path, struct osr_osmconf *osmconf,
				 struct osr_diag *diag);

/*
 * The SLs that partitions and QoS levels choose, a bit each, as the plugin has them of OpenSM
 * (osr_request.chosen_sls); without QoS SL 0. Odd lines of their files count as well.
 */
uint16_t osr_osmconf_sls(struct osr_osmconf *osmconf);
/* The SLs of a QoS policy alone; odd lines are noted in osmconf, if it is not NULL. */
uint16_t osr_osmconf_policy_sls(const char *path, struct osr_osmconf *osmconf);

/* Is this word in a list, whose words are separated by any of these characters? */
bool osr_words_have(const char *list, const char *between, const char *word);
/* Without blanks at its ends, in place. */
char *osr_trim(char *text);
/* Is `name` in a list of OpenSM's, whose words blanks or commas separate? */
bool osr_osmconf_lists(const char *list, const char *name);

#endif
