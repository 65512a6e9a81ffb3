/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The VL budget: what of the links' virtual lanes a sweep may use. */
#include "conf/options.h"

#include <stdio.h>

uint8_t osr_vls_of_code(uint8_t code)
{
	static const uint8_t vls[] = { 1, 1, 2, 4, 8, 15 };

	return vls[code <= 5 ? code : 5];
}

void osr_options_vl_budget(const struct osr_options *o, bool qos, const struct osr_fabric *fabric,
			   struct osr_vl_limit *limit)
{
	char buf[32];

	if (limit->vls > o->own.num[OPT_MAX_VLS]) {
		limit->vls = (uint8_t)o->own.num[OPT_MAX_VLS];
		snprintf(limit->why, sizeof(limit->why),
			 "limited by max_vls in osmroutes' options");
	}
	if (!qos) {
		limit->vls = 1;
		snprintf(limit->why, sizeof(limit->why),
			 "QoS is off (opensm -Q, or qos TRUE in its options, turns it on)");
		return;
	}
	for (uint32_t s = 0; s < fabric->n_switches && fabric->n_channels; s++) {
		if (fabric->sw_flags[s] & OSR_SW_SL2VL)
			continue;
		limit->vls = 1;
		snprintf(limit->why, sizeof(limit->why), "switch %s cannot map SLs to VLs",
			 osr_switch_name(fabric, s, buf));
		return;
	}
}
