/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One destination after the other: whether the old path is whole, whether it is the new one,
 * whether there is a new one, from the switch of the LID on against the packets.
 */
#include "traffic/changes.h"

#include <osmroutes/invariant.h>

#include "core/data/fabric_map.h"
#include "core/verify/follow.h"

#include <string.h>

enum {
	ARRIVES = 1 << 0,
	CUT = 1 << 1,   /* crosses a cable or switch that is gone */
	OTHER = 1 << 2, /* differs from the new path */
};

/* One of the two fabrics. */
struct side {
	const struct osr_fabric *fabric;
	const struct osr_routing *routing;
	struct osr_follow follow;
	uint8_t *state; /* [n_switches] for the destination at hand */
};

struct both {
	struct side old, new;
	struct osr_fabric_map map; /* of the old fabric in the new one */
	uint32_t *sources;         /* [old switches] end ports that are still there */
	uint32_t *block;           /* [old switches] the last one counted, plus 1 */
	struct osr_changes *changes;
};

/*
 * The state of a switch holds for all switches that send through it, from the root on. Switches on
 * a loop, or behind one, do not arrive. d: of this side. d_new may be OSR_NONE: then only whether
 * an old path is whole counts.
 */
static void changes_follow(struct both *both, struct side *side, uint32_t d, uint32_t d_new)
{
	const struct osr_fabric *fabric = side->fabric, *f_new = both->new.fabric;
	bool compared = side == &both->old && d_new != OSR_NONE;
	uint32_t root = fabric->dest_switch[d], n;

	osr_follow_load(&side->follow, d);
	n = osr_follow_order(&side->follow);
	memset(side->state, 0, fabric->n_switches);
	while (n--) {
		uint32_t s = side->follow.order[n], c = side->follow.out[0][s];
		uint8_t *state = &side->state[s], port = osr_lft(side->routing, s, d);

		if (s == root && port == fabric->term_port[fabric->dest_term[d]]) {
			*state = ARRIVES;
			if (compared && port != f_new->term_port[f_new->dest_term[d_new]])
				*state |= CUT | OTHER;
		} else if (s != root && c != OSR_NONE) {
			*state = side->state[fabric->chan_dst[c]];
			if (side == &both->old && both->map.chan[c] == OSR_NONE)
				*state |= CUT | OTHER;
			else if (compared &&
				 osr_lft(both->new.routing, both->map.sw[s], d_new) != port)
				*state |= OTHER;
		}
	}
}

/* d_new = OSR_NONE: nobody has the LID any more, and its entries are taken away. LIDs ascend. */
static void compare_entries(struct both *both, uint32_t d, uint32_t d_new)
{
	uint32_t block = both->old.fabric->dest_lid[d] / 64u + 1;

	for (uint32_t s = 0; s < both->old.fabric->n_switches; s++) {
		uint8_t port = osr_lft(both->old.routing, s, d);
		bool changed;

		if (both->map.sw[s] == OSR_NONE)
			continue;
		changed = port != (d_new == OSR_NONE
					   ? OSR_NO_PATH
					   : osr_lft(both->new.routing, both->map.sw[s], d_new));
		both->changes->n_entries += d_new != OSR_NONE;
		both->changes->n_entries_changed += changed && d_new != OSR_NONE;
		both->changes->n_blocks += changed && both->block[s] != block;
		if (changed)
			both->block[s] = block;
	}
}

/* The pairs from one switch. `n` is how many there are with both ends still there. */
static void count_pairs(struct both *both, uint32_t s, uint64_t n, uint32_t d, uint32_t d_new)
{
	const struct osr_routing *old = both->old.routing, *new = both->new.routing;
	struct osr_changes *changes = both->changes;
	uint32_t s_new = both->map.sw[s];
	uint8_t was = both->old.state[s], is = s_new == OSR_NONE ? 0 : both->new.state[s_new],
		sl[2];

	if (!(was & ARRIVES)) {
		changes->n_found += is & ARRIVES ? n : 0;
		return;
	}
	changes->n_cut += was & CUT ? n : 0;
	if (!(is & ARRIVES)) {
		changes->n_lost += n;
		return;
	}
	changes->n_path += was & OTHER ? n : 0;
	sl[0] = old->sl ? old->sl[(size_t)d * old->n_switches + s] : 0;
	sl[1] = new->sl ? new->sl[(size_t)d_new * new->n_switches + s_new] : 0;
	changes->n_sl += sl[0] != sl[1] ? n : 0;
}

/* d_new = OSR_NONE: the destination is gone, and all pairs that could reach it have lost it. */
static void compare_paths(struct both *both, uint32_t d, uint32_t d_new)
{
	const struct osr_fabric *fabric = both->old.fabric;
	uint32_t root = fabric->dest_switch[d];

	changes_follow(both, &both->old, d, d_new);
	if (d_new != OSR_NONE)
		changes_follow(both, &both->new, d_new, d_new);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint64_t had = fabric->sw_sources[s] - (s == root), kept = 0;

		if (d_new != OSR_NONE)
			kept = both->sources[s] - (s == root && both->sources[s]);
		if (!fabric->sw_sources[s])
			continue;
		if (both->old.state[s] & ARRIVES) {
			both->changes->n_pairs += had;
			osr_invariant(kept <= had);
			both->changes->n_gone += had - kept;
		}
		if (d_new != OSR_NONE)
			count_pairs(both, s, kept, d, d_new);
	}
}

enum osr_status osr_changes(const struct osr_fabric *fabric, const struct osr_routing *routing,
			    const struct osr_fabric *f_new, const struct osr_routing *r_new,
			    struct osr_arena *scratch, struct osr_changes *changes,
			    struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	const struct osr_generation old = { .routing = routing }, new = { .routing = r_new };
	struct both both = { .old = { .fabric = fabric,
				      .routing = routing,
				      .follow = { .fabric = fabric, .gen = &old, .n = 1 } },
			     .new = { .fabric = f_new,
				      .routing = r_new,
				      .follow = { .fabric = f_new, .gen = &new, .n = 1 } },
			     .sources =
				     osr_calloc(scratch, fabric->n_switches, sizeof(*both.sources)),
			     .block = osr_calloc(scratch, fabric->n_switches, sizeof(*both.block)),
			     .changes = changes };
	enum osr_status st = osr_fabric_map_init(&both.map, f_new, fabric, scratch, diag);

	*changes = (struct osr_changes){ 0 };
	both.old.state = osr_alloc(scratch, fabric->n_switches, 1);
	both.new.state = osr_alloc(scratch, f_new->n_switches, 1);
	st = st ? st : osr_follow_init(&both.old.follow, scratch, diag);
	st = st ? st : osr_follow_init(&both.new.follow, scratch, diag);
	/* End ports that send, and are there in both. */
	for (uint32_t t = 0; !st && t < fabric->n_terminals; t++)
		both.sources[fabric->term_switch[t]] +=
			fabric->term_weight[t] &&
			osr_fabric_map_dest_stays(&both.map, fabric->lid_dest[fabric->term_lid[t]]);
	for (uint32_t d = 0; !st && d < fabric->n_dests; d++) {
		uint32_t d_new = both.map.dest[d];

		compare_entries(&both, d, d_new);
		if (!fabric->term_weight[fabric->dest_term[d]])
			continue;
		if (!osr_fabric_map_dest_stays(&both.map, d) ||
		    !f_new->term_weight[f_new->dest_term[d_new]])
			d_new = OSR_NONE;
		compare_paths(&both, d, d_new);
	}
	osr_invariant(changes->n_entries_changed <= changes->n_entries);
	osr_invariant(changes->n_gone + changes->n_cut + changes->n_path <= 2 * changes->n_pairs);
	osr_invariant(changes->n_lost <= changes->n_pairs);
	osr_arena_reset(scratch, mark);
	return st;
}
