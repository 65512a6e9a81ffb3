/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mad.h - many management datagrams in flight at once.
 *
 * Reading the tables of 300 switches takes hundreds of thousands of requests; one at a time that
 * is minutes. Here a window of requests is under way, answers arrive in any order and are handed to
 * one function together with the cookie the request was sent with:
 *
 *	client = (struct osr_mad_client){ &device, IB_SMI_DIRECT_CLASS, 1, on_answer, ctx };
 *	st = osr_mad_open(&mad, &client, diag);
 *	osr_mad_smp(mad, &path, IB_ATTR_NODE_INFO, 0, cookie);	(as often as needed)
 *	osr_mad_drain(mad);					(all answered or given up)
 *	osr_mad_close(mad);
 *
 * A request that is lost is sent again three times; then on_answer() gets NULL for it.
 */
#ifndef OSR_LIVE_MAD_H
#define OSR_LIVE_MAD_H

#include <stdint.h>

#include <infiniband/mad.h>

#include <osmroutes/status.h>

#include "device.h"

struct osr_mad;

/* The answer, 256 bytes of which the header tells the status; NULL: nobody answered. */
typedef void (*osr_mad_fn)(void *ctx, uint64_t cookie, const uint8_t *answer);

/* The sender: through the SMI or the GSI of the device, as the management class has it. */
struct osr_mad_client {
	const struct osr_device *device; /* needed as long as it is open */
	int mgmt_class, class_version;
	unsigned window; /* requests under way at most, 1 to 128; 0: 128 */
	osr_mad_fn fn;
	void *ctx;
};

enum osr_status osr_mad_open(struct osr_mad **mad, const struct osr_mad_client *client,
			     struct osr_diag *diag);
void osr_mad_close(struct osr_mad *mad); /* NULL is fine */

/* SubnGet along a directed route. */
void osr_mad_smp(struct osr_mad *mad, const ib_dr_path_t *path, unsigned attr, uint32_t mod,
		 uint64_t cookie);

/* Any other request of IB_MAD_SIZE bytes to queue pair 1 of a LID. */
void osr_mad_gmp(struct osr_mad *mad, const uint8_t *request, uint16_t lid, uint64_t cookie);

/* Returns when every request is answered or given up. */
void osr_mad_drain(struct osr_mad *mad);

#endif
