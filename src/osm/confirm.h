/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * confirm.h - do switches and end ports hold the tables that they were sent? One rule for LFTs,
 * multicast tables, SL2VL tables and VL arbitration: a table that was refused, altered or not
 * answered is named and sent again. Until its node holds it, nothing that the last sweep has proven
 * is claimed for the tables in use.
 *
 * OpenSM overwrites its copy of an LFT block, an SL2VL table or a VL arbitration block when it
 * sends one, and stores the answer there. So a copy that differs from the table that was to be sent
 * is not held. Of multicast tables OpenSM keeps only its own; after each sweep these are read back.
 */
#ifndef OSR_OSM_CONFIRM_H
#define OSR_OSM_CONFIRM_H

#include <jansson.h>

#include "compat.h"

struct plugin;

/*
 * Without a lock, when everything sent before multicast is answered. discovery_follows:
 * immediately, so that no sweep has to be requested.
 */
void osr_confirm_unicast(struct plugin *plugin, bool discovery_follows);
/* At the end of a sweep: reads multicast tables back. */
void osr_confirm_multicast(struct plugin *plugin);

/* Does every node hold its tables, according to the answers so far? */
bool osr_confirmed(const struct plugin *plugin);
/*
 * The proof of the tables in use: "nothing: nodes that do not hold ..."; NULL: everything that was
 * claimed. Under the lock of metrics.
 */
const char *osr_confirm_text(const struct plugin *plugin);
/*
 * The same of the sweep under way, whose tables are not sent yet: "nothing: nodes that did not take
 * ...", if two sweeps have left a node without its tables; else NULL. In the thread that sweeps.
 */
const char *osr_confirm_doubt(const struct plugin *plugin);
/* {"nodes", "lft_blocks", ..., "text"}; NULL: no memory. */
json_t *osr_confirm_json(const struct plugin *plugin);
/* The proof of the sweep under way, once all its tables are held. */
void osr_confirm_claims(struct plugin *plugin, const char *claims);

#endif
