/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "live.h"

#include <string.h>

#include <infiniband/mad.h>

#include "mad.h"

#define SA_BUSY 1  /* bit of the status of a MAD (IBA 13.4.7) */
#define SA_DATA 56 /* offset of the attribute in a subnet administration MAD */

/* Component mask of a PathRecord (IBA 15.2.5.16): we say LIDs, and that one path will do. */
#define PR_DLID (1 << 4)
#define PR_SLID (1 << 5)
#define PR_NUMB_PATH (1 << 12)

struct asker {
	const struct osr_live_paths *paths;
	struct osr_device device;
	struct osr_mad *mad;
	uint64_t n_unanswered;
};

static void sa_store(void *ctx, uint64_t cookie, const uint8_t *answer)
{
	struct asker *asker = ctx;
	uint32_t status = answer ? mad_get_field((void *)answer, 0, IB_MAD_STATUS_F) : 0;

	/* "Busy" does not mean that the path is missing. */
	if (!answer || status & SA_BUSY)
		asker->n_unanswered++;
	else if (!status)
		asker->paths->sl[cookie] = mad_get_field((void *)answer, SA_DATA, IB_SA_PR_SL_F);
}

static enum osr_status sa_ask(struct asker *asker, uint64_t first, uint64_t end,
			      struct osr_diag *diag)
{
	const struct osr_live_paths *live_paths = asker->paths;
	uint8_t mad[IB_MAD_SIZE];

	for (uint64_t i = first; i < end; i++) {
		uint16_t slid = live_paths->slid[i / live_paths->n_dlids];
		uint16_t dlid = live_paths->dlid[i % live_paths->n_dlids];

		if (asker->n_unanswered)
			break;
		if (live_paths->tell)
			live_paths->tell("SLs of paths, from the SA", i, end);
		memset(mad, 0, IB_MAD_SIZE);
		mad_set_field(mad, 0, IB_MAD_METHOD_F, IB_MAD_METHOD_GET);
		mad_set_field(mad, 0, IB_MAD_CLASSVER_F, 2);
		mad_set_field(mad, 0, IB_MAD_MGMTCLASS_F, IB_SA_CLASS);
		mad_set_field(mad, 0, IB_MAD_BASEVER_F, 1);
		mad_set_field(mad, 0, IB_MAD_ATTRID_F, IB_SA_ATTR_PATHRECORD);
		mad_set_field64(mad, 0, IB_SA_COMPMASK_F, PR_DLID | PR_SLID | PR_NUMB_PATH);
		mad_set_field(mad + SA_DATA, 0, IB_SA_PR_DLID_F, dlid);
		mad_set_field(mad + SA_DATA, 0, IB_SA_PR_SLID_F, slid);
		mad_set_field(mad + SA_DATA, 0, IB_SA_PR_NPATH_F, 1);
		osr_mad_gmp(asker->mad, mad, asker->device.sm_lid, i);
	}
	osr_mad_drain(asker->mad);
	if (live_paths->tell)
		live_paths->tell("SLs of paths, from the SA", end, end);
	return asker->n_unanswered
		       ? osr_fail(diag, OSR_UNREACHABLE,
				  "the subnet administrator (LID %u) does not answer, or is busy",
				  asker->device.sm_lid)
		       : OSR_OK;
}

enum osr_status osr_live_sls(const struct osr_live_paths *paths, struct osr_diag *diag)
{
	struct asker asker = { .paths = paths };
	uint64_t n = (uint64_t)paths->n_slids * paths->n_dlids;
	enum osr_status st = osr_device_find(&paths->from, &asker.device, diag);

	if (!st)
		st = osr_mad_open(&asker.mad,
				  &(struct osr_mad_client){ .device = &asker.device,
							    .mgmt_class = IB_SA_CLASS,
							    .class_version = 2,
							    .fn = sa_store,
							    .ctx = &asker },
				  diag);
	if (st)
		return st;
	memset(paths->sl, OSR_LIVE_NO_SL, n);
	/* One alone first: where nobody answers, the others need not be tried. */
	if (n)
		st = sa_ask(&asker, 0, 1, diag);
	if (!st)
		st = sa_ask(&asker, 1, n, diag);
	osr_mad_close(asker.mad);
	return st;
}
