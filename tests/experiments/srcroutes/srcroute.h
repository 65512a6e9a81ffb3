/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * srcroute.h - a route as its sender writes it into a packet: first step, direction bits, last step
 * (section 2.1 of the paper of torus.h).
 *
 * From the sender a packet makes the first step, if there is one; then all its hops in the
 * directions of the bits, in the order +X +Y +Z +K -X -Y -Z -K, as many in each as the way to the
 * receiver takes; then the last step, if there is one.
 */
#ifndef OSMROUTES_SRCROUTE_H
#define OSMROUTES_SRCROUTE_H

#include "srcroutes/torus.h"

struct osr_srcroute {
	uint8_t first; /* a positive direction, or OSR_NO_DIR */
	uint8_t last;  /* a negative direction, or OSR_NO_DIR */
	uint8_t plus;  /* bit i: the hops in dimension i are positive */
	uint8_t minus; /* bit i: they are negative; never both */
};

/* No route is longer: all the way around in each dimension but one hop, and two extra steps. */
#define OSR_SRCROUTE_MAX_HOPS (OSR_TORUS_MAX_DIMS * (OSR_TORUS_MAX_SIDE - 1) + 2)

static inline bool osr_srcroute_is_none(struct osr_srcroute srcroute)
{
	return srcroute.first == OSR_NO_DIR && srcroute.last == OSR_NO_DIR && !srcroute.plus &&
	       !srcroute.minus;
}

/*
 * The channels of a route, in channel[OSR_SRCROUTE_MAX_HOPS]; returns how many. 0 if it leads over
 * a channel that is not there, not to `to`, or if a direction bit is set that no hop uses. Whether
 * its turns are allowed is not asked.
 */
uint32_t osr_srcroute_channels(const struct osr_torus *torus, uint32_t from, uint32_t to,
			       struct osr_srcroute srcroute, uint32_t *channel);

#endif
