/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One destination after the other. Entries are followed until a switch is met of which all is known,
 * then that is written all the way back: whether the old path is whole, whether it is the new one,
 * whether there is a new one.
 */
#include "traffic/changes.h"

#include "core/data/fabric_map.h"

#include <string.h>

enum {
	ARRIVES = 1 << 0,
	CUT = 1 << 1,   /* crosses what is not there any more */
	OTHER = 1 << 2, /* differs from the new path */
	KNOWN = 1 << 3,
	UNDER_WAY = 1 << 4,
};

/* One of the two fabrics. */
struct side {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint8_t *state;  /* [n_switches] for the destination at hand */
	uint32_t *stack; /* [n_switches] */
};

struct both {
	struct side old, new;
	struct osr_fabric_map map; /* of the old fabric in the new one */
	uint32_t *sources;         /* [old switches] end ports that are still there */
	uint32_t *block;           /* [old switches] the last one counted, plus 1 */
	struct osr_changes *c;
};

/*
 * Follows entries from s on one side until something is known. d_new may be OSR_NONE: then only
 * whether it arrives counts.
 */
static void changes_follow(struct both *b, struct side *x, uint32_t s, uint32_t d, uint32_t d_new)
{
	const struct osr_fabric *fabric = x->f;
	bool is_old = x == &b->old;
	uint32_t n = 0;
	uint8_t known = KNOWN;

	while (!(x->state[s] & (KNOWN | UNDER_WAY))) {
		uint32_t c = osr_port_channel(fabric, s, osr_lft(x->r, s, is_old ? d : d_new));

		x->state[s] = UNDER_WAY;
		x->stack[n++] = s;
		if (c == OSR_NONE)
			break;
		s = fabric->chan_dst[c];
	}
	if (x->state[s] & KNOWN)
		known = x->state[s];
	while (n--) {
		s = x->stack[n];
		if (is_old && known & ARRIVES) {
			uint8_t port = osr_lft(x->r, s, d);
			uint32_t c = osr_port_channel(fabric, s, port);

			if (b->map.chan[c] == OSR_NONE)
				known |= CUT | OTHER;
			else if (d_new != OSR_NONE &&
				 osr_lft(b->new.r, b->map.sw[s], d_new) != port)
				known |= OTHER;
		}
		x->state[s] = known;
	}
}

static void changes_start(struct side *x, uint32_t d)
{
	const struct osr_fabric *fabric = x->f;
	uint32_t root = fabric->dest_switch[d];

	memset(x->state, 0, fabric->n_switches);
	x->state[root] = KNOWN;
	if (osr_lft(x->r, root, d) == fabric->term_port[fabric->dest_term[d]])
		x->state[root] |= ARRIVES;
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
	const struct osr_fabric *fabric = b->old.f, *f_new = b->new.f;
	uint32_t root = fabric->dest_switch[d];

	changes_start(&b->old, d);
	if (d_new != OSR_NONE) {
		changes_start(&b->new, d_new);
		if (fabric->term_port[fabric->dest_term[d]] !=
		    f_new->term_port[f_new->dest_term[d_new]])
			b->old.state[root] |= CUT | OTHER;
	}
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint64_t had = fabric->sw_sources[s] - (s == root), kept = 0;

		if (d_new != OSR_NONE)
			kept = b->sources[s] - (s == root && b->sources[s]);
		changes_follow(b, &b->old, s, d, d_new);
		if (d_new != OSR_NONE && b->map.sw[s] != OSR_NONE)
			changes_follow(b, &b->new, b->map.sw[s], d, d_new);
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
	struct both b = { .old = { .f = fabric, .r = routing },
			  .new = { .f = f_new, .r = r_new },
			  .c = changes };
	enum osr_status st = OSR_NOMEM;

	*changes = (struct osr_changes){ 0 };
	for (struct side *x = &b.old; x; x = x == &b.old ? &b.new : NULL) {
		x->state = osr_alloc(scratch, x->f->n_switches, sizeof(*x->state));
		x->stack = osr_alloc(scratch, x->f->n_switches, sizeof(*x->stack));
	}
	b.sources = osr_calloc(scratch, fabric->n_switches, sizeof(*b.sources));
	b.block = osr_calloc(scratch, fabric->n_switches, sizeof(*b.block));
	if (!osr_arena_failed(scratch, NULL))
		st = osr_fabric_map_init(&b.map, f_new, fabric, scratch, diag);
	/* End ports that send, and are there in both. */
	for (uint32_t t = 0; t < fabric->n_terminals && !st; t++)
		b.sources[fabric->term_switch[t]] +=
			fabric->term_weight[t] &&
			osr_fabric_map_dest_stays(&b.map, fabric->lid_dest[fabric->term_lid[t]]);
	if (st)
		st = osr_fail(diag, st, "out of memory to compare tables of %u switches",
			      fabric->n_switches);
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
