/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The sentences for the faults that audit.c finds. */
#include "core/verify/audit.h"

#include <stdio.h>

const char *osr_fault_name(enum osr_fault_kind kind)
{
	static const char *const name[OSR_N_FAULTS] = {
		[OSR_FAULT_HOLE] = "hole",
		[OSR_FAULT_DEAD_END] = "dead end",
		[OSR_FAULT_WRONG_PORT] = "wrong port",
		[OSR_FAULT_LOOP] = "loop",
		[OSR_FAULT_NO_SL] = "no SL",
		[OSR_FAULT_SL2VL] = "SL2VL",
		[OSR_FAULT_GROUP_LOOP] = "multicast loop",
		[OSR_FAULT_GROUP_SPLIT] = "multicast split",
	};

	return name[kind];
}

static void say_entry(const struct osr_fabric *fabric, const struct osr_fault *fault,
		      struct osr_diag *diag)
{
	char a[32], b[32], lid[96], lost[128];
	const char *sw = osr_switch_name(fabric, fault->sw, a);
	uint32_t term = fabric->dest_term[fault->dest];
	const char *harm = "cut off";

	snprintf(lid, sizeof(lid), "LID %u (%.60s)", fabric->dest_lid[fault->dest],
		 osr_terminal_name(fabric, term, b));
	if (!fabric->term_weight[term])
		harm = "cannot reach this switch by its LID; traffic between hosts is not affected";
	snprintf(lost, sizeof(lost), "%u host%s %s", fault->n_hosts, fault->n_hosts == 1 ? "" : "s",
		 harm);
	if (fault->kind == OSR_FAULT_HOLE)
		osr_fail(diag, OSR_OK, "switch %s has no entry for %s: %s", sw, lid, lost);
	else if (fault->kind == OSR_FAULT_DEAD_END)
		osr_fail(diag, OSR_OK,
			 "switch %s sends %s out of port %u, which leads to no switch: %s", sw, lid,
			 fault->out, lost);
	else if (fault->kind == OSR_FAULT_WRONG_PORT)
		osr_fail(diag, OSR_OK,
			 "switch %s sends %s out of port %u, but it is attached to port %u: %s", sw,
			 lid, fault->out, fabric->term_port[term], lost);
	else
		osr_fail(diag, OSR_OK,
			 "%s is forwarded in a loop of %u switches, through switch %s port %u: %s",
			 lid, fault->n_switches, sw, fault->out, lost);
}

static void say_sl2vl(const struct osr_fabric *fabric, const struct osr_fault *fault,
		      struct osr_diag *diag)
{
	char where[128], what[64], a[32];

	if (fault->term == OSR_NONE && fault->in == OSR_NO_PATH)
		snprintf(where, sizeof(where), "the cable at switch %.60s port %u",
			 osr_switch_name(fabric, fault->sw, a), fault->out);
	else if (fault->term == OSR_NONE)
		snprintf(where, sizeof(where), "switch %.60s from port %u to port %u",
			 osr_switch_name(fabric, fault->sw, a), fault->in, fault->out);
	else
		snprintf(where, sizeof(where), "end port %.60s",
			 osr_terminal_name(fabric, fault->term, a));
	if (fault->in == OSR_NO_PATH)
		snprintf(what, sizeof(what), "has no VL %u", fault->vl);
	else if (fault->vl == OSR_VL_UNSET)
		snprintf(what, sizeof(what), "has no SL2VL table");
	else if (fault->vl == 15)
		snprintf(what, sizeof(what), "drops it (VL 15)");
	else
		snprintf(what, sizeof(what), "maps it to VL %u, which does not work there",
			 fault->vl);
	osr_fail(diag, OSR_OK, "SL %u is in use, but %s %s", fault->sl, where, what);
}

void osr_fault_say(const struct osr_fabric *fabric, const struct osr_fault *fault,
		   struct osr_diag *diag)
{
	char a[32], b[32];

	switch (fault->kind) {
	case OSR_FAULT_SL2VL:
		say_sl2vl(fabric, fault, diag);
		break;
	case OSR_FAULT_NO_SL:
		osr_fail(diag, OSR_OK, "no SL is known from %s to LID %u (%s)",
			 osr_terminal_name(fabric, fault->term, a), fabric->dest_lid[fault->dest],
			 osr_terminal_name(fabric, fabric->dest_term[fault->dest], b));
		break;
	case OSR_FAULT_GROUP_LOOP:
		osr_fail(diag, OSR_OK,
			 "a packet for MLID 0x%04x comes to switch %s a second time, by port %u",
			 fault->mlid, osr_switch_name(fabric, fault->sw, a), fault->in);
		break;
	case OSR_FAULT_GROUP_SPLIT:
		osr_fail(diag, OSR_OK,
			 "a packet for MLID 0x%04x from switch %s port %u does not reach %s",
			 fault->mlid, osr_switch_name(fabric, fault->sw, a), fault->in,
			 osr_terminal_name(fabric, fault->term, b));
		break;
	default:
		say_entry(fabric, fault, diag);
	}
}
