/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A checked routing becomes OpenSM's LFTs: one row per destination turns into one row per switch.
 *
 * Nothing here may fail half way, because the next engine in OpenSM's list inherits what is
 * written: osr__publish_ready() looks at every buffer before osr__publish() touches the first.
 */
#include "publish.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "plugin.h"
#include "io/pathsl.h"

#define TILE 64

enum osr_status osr__publish_ready(const struct osr_fabric *fabric, const struct snapshot *snap,
				   struct osr_diag *diag)
{
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		const osm_switch_t *sw = snap->sw[s];
		char buf[32];

		if (!sw || !sw->new_lft || sw->lft_size <= fabric->max_lid ||
		    sw->max_lid_ho < fabric->max_lid)
			return osr_fail(
				diag, OSR_BUG,
				"OpenSM prepared a table of %u LIDs for switch %s, the highest LID "
				"is %u",
				sw ? sw->max_lid_ho : 0, osr_switch_name(fabric, s, buf),
				fabric->max_lid);
	}
	return OSR_OK;
}

/* A tile stays in the first-level cache while it is read along switches and written along LIDs. */
static void transpose_tile(const struct osr_fabric *fabric, const struct osr_routing *routing,
			   const struct snapshot *snap, uint32_t s0, uint32_t d0)
{
	uint32_t s1 = s0 + TILE < fabric->n_switches ? s0 + TILE : fabric->n_switches;
	uint32_t d1 = d0 + TILE < fabric->n_dests ? d0 + TILE : fabric->n_dests;

	for (uint32_t s = s0; s < s1; s++) {
		const uint8_t *in = routing->lft + (size_t)d0 * fabric->n_switches + s;
		uint8_t *out = snap->sw[s]->new_lft;

		for (uint32_t d = d0; d < d1; d++, in += fabric->n_switches)
			out[fabric->dest_lid[d]] = *in;
	}
}

void osr__publish_same(osm_switch_t *const *sw, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (sw[i]->new_lft)
			memcpy(sw[i]->new_lft, sw[i]->lft, sw[i]->lft_size);
}

void osr__publish(const struct osr_fabric *fabric, const struct osr_routing *routing,
		  const struct snapshot *snap)
{
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		memset(snap->sw[s]->new_lft, OSR_NO_PATH, snap->sw[s]->lft_size);
	for (uint32_t d = 0; d < fabric->n_dests; d += TILE)
		for (uint32_t s = 0; s < fabric->n_switches; s += TILE)
			transpose_tile(fabric, routing, snap, s, d);
	osr__publish_same(snap->sw_out, snap->n_sw_out);
}

/*
 * Links from each switch to the destination, the link to a CA or router included, by following the
 * table: `stack` holds the switches on the way until one is reached whose count is known.
 */
static void publish_count_hops(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       uint32_t d, uint8_t *hops, uint32_t *stack)
{
	const uint8_t *lft = routing->lft + (size_t)d * fabric->n_switches;

	memset(hops, OSR_NO_PATH, fabric->n_switches);
	hops[fabric->dest_switch[d]] = fabric->term_port[fabric->dest_term[d]] ? 1 : 0;
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t n = 0, at = s;

		if (lft[s] == OSR_NO_PATH)
			continue;
		while (hops[at] == OSR_NO_PATH) {
			stack[n++] = at;
			at = fabric->chan_dst[osr_port_channel(fabric, at, lft[at])];
		}
		for (uint8_t h = hops[at]; n;) {
			/* OpenSM counts in bytes, and 255 is its mark for none. */
			h = h < OSR_NO_PATH - 1 ? h + 1 : h;
			hops[stack[--n]] = h;
		}
	}
}

/*
 * DIFFERS from stock only in what it costs: as there, every LID of every switch gets the count at
 * the port in its table, and switch_count_path feeds the port profile that OpenSM's dumps show.
 */
enum osr_status osr__publish_hops(struct osm_opensm *osm, const struct osr_fabric *fabric,
				  const struct osr_routing *routing, const struct snapshot *snap,
				  struct osr_arena *scratch, struct osr_diag *diag)
{
	uint8_t *hops = osr_alloc(scratch, fabric->n_switches, 1);
	uint32_t *stack = osr_alloc(scratch, fabric->n_switches, sizeof(*stack));

	if (!hops || !stack)
		return osr_fail(diag, OSR_NOMEM, "out of memory for OpenSM's hop counts");
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		osm_switch_clear_hops(snap->sw[s]);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *lft = routing->lft + (size_t)d * fabric->n_switches;
		bool counts = fabric->term_role[fabric->dest_term[d]] != OSR_ROLE_SP0 ||
			      osm->subn.opt.port_profile_switch_nodes;

		publish_count_hops(fabric, routing, d, hops, stack);
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			uint32_t c =
				osr_port_channel(fabric, s, lft[s] == OSR_NO_PATH ? 0 : lft[s]);

			if (lft[s] == OSR_NO_PATH)
				continue;
			if (osm_switch_set_hops(snap->sw[s], fabric->dest_lid[d], lft[s], hops[s]))
				return osr_fail(diag, OSR_NOMEM,
						"out of memory for OpenSM's hop counts");
			if (counts &&
			    (c == OSR_NONE || !(fabric->chan_flags[c] & OSR_CHAN_UNCOUNTED)))
				osm_switch_count_path(snap->sw[s], lft[s]);
		}
	}
	return OSR_OK;
}

#define PATH_SL_DUMP "opensm-path-sl.dump"

void osr__publish_path_sl(struct osm_opensm *osm, const struct osr_fabric *fabric,
			  const struct osr_routing *routing)
{
	const char *dir = osm->subn.opt.dump_files_dir;
	const struct osr__place place = { .dir = dir, .mode = 0644 };
	struct osr__page page = { .name = PATH_SL_DUMP };
	struct osr_diag diag = { "out of memory" };
	char path[PATH_MAX], *text = NULL;
	FILE *out;

	if (!osm_log_is_active(&osm->log, OSM_LOG_ROUTING) || !dir)
		return;
	if (!routing) {
		if (snprintf(path, sizeof(path), "%s/" PATH_SL_DUMP, dir) < (int)sizeof(path))
			unlink(path);
		return;
	}
	out = open_memstream(&text, &page.size);
	if (out)
		osr_pathsl_write(fabric, routing, out);
	if (out && !fclose(out)) {
		page.bytes = text;
		*diag.text = '\0';
		osr__file_replace(&place, &page, &diag);
	}
	if (*diag.text)
		osr__log(osm, OSM_LOG_INFO, "no dump of path SLs: %s", diag.text);
	free(text);
}
