/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dor.h - dimension-order routes and virtual lanes for fabrics that are whole products (product.h, dimension.h).
 *
 * Where a fabric is a whole torus, mesh, hypercube or HyperX with its hosts spread evenly, dimension order balances as
 * well as anything can, at a fraction of the cost of balancing by weights, and its lanes are known beforehand: one
 * without rings, two with them, replies on the SL of their request.
 */
#ifndef OSMROUTES_DOR_H
#define OSMROUTES_DOR_H

#include <osmroutes/layers.h>
#include <osmroutes/product.h>
#include <osmroutes/spf.h>

/*
 * *routed says whether the fabric was routed this way; then routing is complete.
 * Otherwise spf and routing are as before, and the ordinary way is free: no product (NULL) or not a whole one, hosts not
 * spread evenly (the most loaded channel exceeds 1.15 times the mean of its dimension's), multicast on VL 1 with rings, one VL for them
 * without detours.
 */
enum osr_status osr_dor_assign(const struct osr_lane_work *work, const struct osr_product *product,
			       bool detours, bool *routed);

#endif
