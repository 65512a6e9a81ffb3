/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From routes and orders to SLs, SL2VL tables, the certificate and the claims. */
#ifndef OSR_LANES_TABLES_H
#define OSR_LANES_TABLES_H

#include <osmroutes/layers.h>

#include "search.h"

/* Of routes within orders: SLs out of masks, the certificate, and the claims. */
enum osr_status osr__tables_sl(struct osr__search *w, const struct osr_lane_work *work,
			       bool reversible);

#endif
