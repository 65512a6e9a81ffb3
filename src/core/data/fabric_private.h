/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fabric_private.h - the arrays of a fabric, for the builder. */
#ifndef OSR_FABRIC_PRIVATE_H
#define OSR_FABRIC_PRIVATE_H

#include <osmroutes/fabric.h>

/* Allocates all arrays for the counts of the fabric, filled with zeros. OSR_NOMEM. */
enum osr_status osr_fabric_alloc(struct osr_fabric *fabric, struct osr_arena *arena,
				 struct osr_diag *diag);

#endif
