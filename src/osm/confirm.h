/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * confirm.h - do switches and end ports hold what they were sent? One rule for LFTs, multicast
 * tables, SL2VL tables and VL arbitration: what was refused, altered or not answered is named and
 * sent again, and until it is held nothing that the last sweep has proven is said of the tables in
 * use.
 *
 * OpenSM overwrites its copy of an LFT block, an SL2VL table or a VL arbitration block when it
 * sends one, and stores the answer there. So a copy that differs from what was to be sent is not
 * held. Of multicast tables it keeps what it sends alone: after each sweep these are read back.
 */
#ifndef OSR_OSM_CONFIRM_H
#define OSR_OSM_CONFIRM_H

#include <jansson.h>

#include "compat.h"

struct plugin;

/*
 * Without a lock, when all that was sent before multicast is answered. discovery_follows: at once,
 * so that nothing has to be asked for.
 */
void osr_confirm_unicast(struct plugin *plugin, bool discovery_follows);
/* At the end of a sweep: reads multicast tables back. */
void osr_confirm_multicast(struct plugin *plugin);

/* Does every node hold what it was sent, as far as is known? */
bool osr_confirmed(const struct plugin *plugin);
/*
 * What is proven of the tables in use, "nothing: nodes that do not hold ..."; NULL: what was
 * claimed. Under the lock of metrics.
 */
const char *osr_confirm_text(const struct plugin *plugin);
/*
 * Of those of the sweep under way, which are not sent yet: "nothing: nodes that did not take ...",
 * if two sweeps have left a node without its tables; else NULL. In the thread that sweeps.
 */
const char *osr_confirm_doubt(const struct plugin *plugin);
/* {"nodes", "lft_blocks", ..., "text"}; NULL: no memory. */
json_t *osr_confirm_json(const struct plugin *plugin);
/* Of the sweep under way: what it has proven, once all is held. */
void osr_confirm_claims(struct plugin *plugin, const char *claims);

#endif
