/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * optiontable.h - the plugin's own options, without OpenSM: the parser (options.c) and the manual
 * (src/manual) read one table.
 */
#ifndef OSR_CONF_OPTIONTABLE_H
#define OSR_CONF_OPTIONTABLE_H

#include <osmroutes/params.h>

#define OSR_DEFAULT_CONFIG "/etc/opensm/osmroutes.conf"

/* Rows of osr_plugin_params. */
enum {
	OPT_TAKEOVER,
	OPT_ON_ERROR,
	OPT_ON_SPLIT,
	OPT_MAX_VLS,
	OPT_METRICS_DIR,
	OPT_STORE,
	OPT_CONTROL_SOCKET,
	OPT_CONTROL_MODE,
	OPT_CONTROL_AGENT,
	OPT_USER_APPS,
	OPT_USER_OFFSETS,
	OPT_KEY_CHOICE,
	OPT_ASK_SWITCHES,
	OPT_LOG_DETAILS,
	OPT_HOLD_AFTER,
	OPT_HOLD_WITHIN,
	OPT_HOLD_CALM,
	OPT_SPREAD_SLS,
	OPT_THREADS,
};

extern const struct osr_param osr_plugin_params[];

#endif
