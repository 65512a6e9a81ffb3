/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "live/live.h"

__attribute__((visibility("default"))) const struct osr_live_module osr_live_module = {
	.version = OSR_VERSION,
	.read = osr_live_read,
	.sls = osr_live_sls,
};
