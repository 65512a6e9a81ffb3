/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One destination after the other: whether the old path is whole, whether it is the new one, whether there is a new
 * one, from the switch of the LID on against the packets.
 */
#include "traffic/changes.h"

#include "core/data/fabric_map.h"
#include "core/verify/follow.h"

#include <string.h>

enum {
	ARRIVES = 1 << 0,
	CUT = 1 << 1,   /* crosses what is not there any more */
	OTHER = 1 << 2, /* differs from the new path */
};

/* One of the two fabrics. */
struct side {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	struct osr_follow w;
	uint8_t *state; /* [n_switches] for the destination at hand */
};

struct both {
	struct side old, new;
	struct osr_fabric_map map; /* of the old fabric in the new one */
	uint32_t *sources;         /* [old switches] end ports that are still there */
	uint32_t *block;           /* [old switches] the last one counted, plus 1 */
	struct osr_changes *c;
};

/*
 * What is known of a switch holds for all that send through it, from the root on; those on a loop, or behind one, do not
 * arrive. d: of this side. d_new may be OSR_NONE: then only whether an old path is whole counts.
 */
static void changes_follow(struct both *b, struct side *x, uint32_t d, uint32_t d_new)
{
	const struct osr_fabric *fabric = x->f, *f_new = b->new.f;
	bool compared = x == &b->old && d_new != OSR_NONE;
	uint32_t root = fabric->dest_switch[d], n;

	osr_follow_load(&x->w, d);
	n = osr_follow_order(&x->w);
	memset(x->state, 0, fabric->n_switches);
	while (n--) {
		uint32_t s = x->w.order[n], c = x->w.out[0][s];
		uint8_t *state = &x->state[s], port = osr_lft(x->r, s, d);

		if (s == root && port == fabric->term_port[fabric->dest_term[d]]) {
			*state = ARRIVES;
			if (compared && port != f_new->term_port[f_new->dest_term[d_new]])
				*state |= CUT | OTHER;
		} else if (s != root && c != OSR_NONE) {
			*state = x->state[fabric->chan_dst[c]];
			if (x == &b->old && b->map.chan[c] == OSR_NONE)
				*state |= CUT | OTHER;
			else if (compared && osr_lft(b->new.r, b->map.sw[s], d_new) != port)
				*state |= OTHER;
		}
	}
}

/* d_new = OSR_NONE: nobody has the LID any more, and its entries are taken away. LIDs ascend. */
static void compare_entries(struct both *b, uint32_t d, uint32_t d_new)
{
	uint32_t block = b->old.f->dest_lid[d] / 64u + 1;

	for (uint32_t s = 0; s < b->old.f->n_switches; s++) {
		uint8_t port = osr_lft(b->old.r, s, d);
		bool changed;

		if (b->map.sw[s] == OSR_NONE)
			continue;
		changed = port != (d_new == OSR_NONE ? OSR_NO_PATH
						     : osr_lft(b->new.r, b->map.sw[s], d_new));
		b->c->n_entries += d_new != OSR_NONE;
		b->c->n_entries_changed += changed && d_new != OSR_NONE;
		b->c->n_blocks += changed && b->block[s] != block;
		if (changed)
			b->block[s] = block;
	}
}

/* The pairs from one switch. `n` is how many there are with both ends still there. */
static void count_pairs(struct both *b, uint32_t s, uint64_t n, uint32_t d, uint32_t d_new)
{
	const struct osr_routing *old = b->old.r, *new = b->new.r;
	struct osr_changes *changes = b->c;
	uint32_t s_new = b->map.sw[s];
	uint8_t was = b->old.state[s], is = s_new == OSR_NONE ? 0 : b->new.state[s_new], sl[2];

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

/* d_new = OSR_NONE: the destination is not there any more, and all that could reach it have lost it. */
static void compare_paths(struct both *b, uint32_t d, uint32_t d_new)
{
	const struct osr_fabric *fabric = b->old.f;
	uint32_t root = fabric->dest_switch[d];

	changes_follow(b, &b->old, d, d_new);
	if (d_new != OSR_NONE)
		changes_follow(b, &b->new, d_new, d_new);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint64_t had = fabric->sw_sources[s] - (s == root), kept = 0;

		if (d_new != OSR_NONE)
			kept = b->sources[s] - (s == root && b->sources[s]);
		if (!fabric->sw_sources[s])
			continue;
		if (b->old.state[s] & ARRIVES) {
			b->c->n_pairs += had;
			b->c->n_gone += had - kept;
		}
		if (d_new != OSR_NONE)
			count_pairs(b, s, kept, d, d_new);
	}
}

enum osr_status osr_changes(const struct osr_fabric *fabric, const struct osr_routing *routing,
			    const struct osr_fabric *f_new, const struct osr_routing *r_new,
			    struct osr_arena *scratch, struct osr_changes *changes,
			    struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	const struct osr_generation old = { .routing = routing }, new = { .routing = r_new };
	struct both b = {
		.old = { .f = fabric, .r = routing, .w = { .f = fabric, .gen = &old, .n = 1 } },
		.new = { .f = f_new, .r = r_new, .w = { .f = f_new, .gen = &new, .n = 1 } },
		.sources = osr_calloc(scratch, fabric->n_switches, sizeof(*b.sources)),
		.block = osr_calloc(scratch, fabric->n_switches, sizeof(*b.block)),
		.c = changes
	};
	enum osr_status st = osr_fabric_map_init(&b.map, f_new, fabric, scratch, diag);

	*changes = (struct osr_changes){ 0 };
	b.old.state = osr_alloc(scratch, fabric->n_switches, 1);
	b.new.state = osr_alloc(scratch, f_new->n_switches, 1);
	st = st ? st : osr_follow_init(&b.old.w, scratch, diag);
	st = st ? st : osr_follow_init(&b.new.w, scratch, diag);
	/* End ports that send, and are there in both. */
	for (uint32_t t = 0; t < fabric->n_terminals && !st; t++)
		b.sources[fabric->term_switch[t]] +=
			fabric->term_weight[t] &&
			osr_fabric_map_dest_stays(&b.map, fabric->lid_dest[fabric->term_lid[t]]);
	for (uint32_t d = 0; d < fabric->n_dests && !st; d++) {
		uint32_t d_new = b.map.dest[d];

		compare_entries(&b, d, d_new);
		if (!fabric->term_weight[fabric->dest_term[d]])
			continue;
		if (!osr_fabric_map_dest_stays(&b.map, d) ||
		    !f_new->term_weight[f_new->dest_term[d_new]])
			d_new = OSR_NONE;
		compare_paths(&b, d, d_new);
	}
	osr_arena_reset(scratch, mark);
	return st;
}
