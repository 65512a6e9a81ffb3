/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* clock.h - time in milliseconds. The core asks no clock: see osr_request.clock_ms. */
#ifndef OSMROUTES_CLOCK_H
#define OSMROUTES_CLOCK_H

#include <time.h>

static inline double osr_clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

#endif
