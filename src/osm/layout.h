/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * layout.h - is the running OpenSM laid out as the headers that this plugin was built with say?
 *
 * OpenSM compares version strings, and two builds of one version may differ: a member that depends
 * on a configure switch (ENABLE_OSM_PERF_MGR), a vendor's patch, a development tree under the
 * version of the last release. A plugin of the other build would read and write the wrong members.
 */
#ifndef OSR_OSM_LAYOUT_H
#define OSR_OSM_LAYOUT_H

#include <stdbool.h>

struct osm_opensm;

/*
 * For create(), before anything else is touched: NULL, or the member that contradicts. From low
 * offsets to high ones, and the first contradiction ends it, so that nothing is read beyond
 * OpenSM's structure; no pointer is followed unless the kernel says that it can be read. `engines`:
 * the same for the list of engines, which is empty in create().
 */
const char *osr_layout_contradiction(const struct osm_opensm *osm, bool engines);

#endif
