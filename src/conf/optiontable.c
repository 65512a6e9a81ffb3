/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "conf/optiontable.h"

#include <osmroutes/fabric.h>

const struct osr_param osr_plugin_params[] = {
	[OPT_TAKEOVER] = { "takeover", OSR_PARAM_STRING, "dfsssp,sssp", 0, 0, NULL,
			   "built-in engines of OpenSM to serve instead of it, or none" },
	[OPT_ON_ERROR] = { "on_error", OSR_PARAM_ENUM, "fallback", 0, 0, "fallback|refuse",
			   "if the configuration is invalid: fall back to OpenSM's engines, or "
			   "refuse to route" },
	[OPT_ON_SPLIT] = { "on_split", OSR_PARAM_ENUM, "route", 0, 0, "route|refuse",
			   "a fabric in several parts: route each part, or leave it to the next "
			   "engine" },
	[OPT_MAX_VLS] = { "max_vls", OSR_PARAM_UINT, "15", 1, OSR_MAX_VLS, NULL,
			  "use at most this many virtual lanes" },
	[OPT_METRICS_DIR] = { "metrics_dir", OSR_PARAM_STRING, "", 0, 0, NULL,
			      "directory for a JSON and a Prometheus file about each sweep; empty: "
			      "none are written" },
	[OPT_STORE] = { "store", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
			"keep the last checked tables in OpenSM's cache directory, and start from "
			"them" },
	[OPT_CONTROL_SOCKET] = { "control_socket", OSR_PARAM_STRING, "", 0, 0, NULL,
				 "Unix socket for osmroutes status, drain and routing keys, %g in "
				 "it is the port GUID; empty: there is none" },
	[OPT_CONTROL_MODE] = { "control_mode", OSR_PARAM_STRING, "0600", 0, 0, NULL,
			       "permissions of control_socket, octal: users with write permission "
			       "may request keys" },
	[OPT_CONTROL_AGENT] = { "control_agent", OSR_PARAM_STRING, "", 0, 0, NULL,
				"user, by name or number, to whom that socket belongs and who may "
				"place applications of others, as SlurmUser has to" },
	[OPT_USER_APPS] = { "user_apps", OSR_PARAM_UINT, "16", 1, 4096, NULL,
			    "applications with routing keys that a user may have at a time; root "
			    "may have any number" },
	[OPT_USER_OFFSETS] = { "user_offsets", OSR_PARAM_UINT, "2", 1, 127, NULL,
			       "LID offsets of a host that a user's applications may have at a "
			       "time; root may have all" },
	[OPT_KEY_CHOICE] = { "key_choice", OSR_PARAM_ENUM, "fine", 0, 0, "as_is|fine",
			     "how a key chooses its middle switches: as generated (ARK), or in "
			     "view of the load by the fine-grained shift (NRK)" },
	[OPT_ASK_SWITCHES] = { "ask_switches", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
			       "ask a switch that sent a trap which of its cables are down, and "
			       "route around them before OpenSM discovers the fabric" },
	[OPT_LOG_DETAILS] = { "log_details", OSR_PARAM_BOOL, "no", 0, 0, NULL,
			      "log more than one line a sweep: re-route, transition, storing, and "
			      "all figures as JSON; no: only where OpenSM logs verbosely" },
	[OPT_HOLD_AFTER] = { "hold_down_after", OSR_PARAM_UINT, "2", 0, 16, NULL,
			     "hold down a link between switches that failed this many times within "
			     "hold_down_within; 0: never" },
	[OPT_HOLD_WITHIN] = { "hold_down_within", OSR_PARAM_UINT, "600", 1, 86400, NULL,
			      "seconds within which hold_down_after counts" },
	[OPT_HOLD_CALM] = { "hold_down_calm", OSR_PARAM_UINT, "300", 1, 86400, NULL,
			    "seconds without an event after which a held-down link is routed "
			    "again" },
	[OPT_SPREAD_SLS] = { "spread_sls", OSR_PARAM_BOOL, "no", 0, 0, NULL,
			     "where any SL is safe and no partition or QoS level chooses one, path "
			     "records take turns with SLs of all virtual lanes" },
	[OPT_THREADS] = { "threads", OSR_PARAM_UINT, "0", 0, 64, NULL,
			  "threads that route and check; 0: one for each processor, at most 8. The "
			  "tables are the same" },
	{ 0 },
};
