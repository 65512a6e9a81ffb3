/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where senders may choose their SL: is the mixture of old and new tables free of credit loops by an order of the
 * nodes (channel, lane) in which all of its turns rise? The certificate of the new tables is such an order for
 * them, and the check proves that; LIDs whose entries and lanes stay have no other turns. So only LIDs that change
 * are followed: a packet goes on by either entry of each switch, on the lane of either SL2VL table. From the
 * outside in:
 *	osr__transition_rises()
 *	  find_columns()	SLs with the same lanes everywhere are followed once
 *	  find_turned()		LIDs whose entries stay, and whose lanes change
 *	  follow_copies()	multicast
 *	  follow_lid()		one LID: sets of lanes from switch to switch, until nothing is new
 */
#include <string.h>

#include "transition_private.h"

#include "core/data/columns.h"

struct mixture {
	const struct transition *m;
	const struct osr_fabric *f;
	const uint8_t *row[2]; /* [n_switches] entries of the LID that is followed, old and new */
	unsigned sl;           /* that is followed */
	uint16_t columns;      /* SLs to be followed: the lowest of each kind */
	bool *turned;          /* [n_dests] */
	uint16_t *lanes[2];    /* [n_switches] of packets on the channel of row[g][s] */
	bool *waits;           /* [n_switches] on the stack */
	uint32_t *stack, n_stack;
};

/* ---- SL2VL ----------------------------------------------------------------------------------- */

/* 16 lanes by SL of a pair of ports in the old (0) or new (1) tables. */
static const uint8_t *mixture_sl2vl(const struct mixture *x, unsigned g, uint32_t s, unsigned in,
				    unsigned out)
{
	const struct osr_routing *routing = g ? &x->m->now : &x->m->old;

	return routing->sl2vl[routing->sl2vl_row[s] + in * (x->f->sw_n_ports[s] + (size_t)1) + out];
}

/* Lanes on which a packet that comes by this port leaves by that one; none: it is dropped. */
static uint16_t mixture_lanes(const struct mixture *x, uint32_t s, unsigned in, unsigned out)
{
	unsigned bits = 0;

	if (x->m->one_graph)
		return 1;
	for (unsigned g = 0; g < 2; g++) {
		unsigned vl = mixture_sl2vl(x, g, s, in, out)[x->sl];

		bits |= vl < OSR_MAX_VLS ? 1u << vl : 0;
	}
	return (uint16_t)bits;
}

/* Lanes of what end ports of s, and its port 0, send by this port. */
static uint16_t mixture_entry(const struct mixture *x, uint32_t s, unsigned out)
{
	const struct osr_fabric *fabric = x->f;
	uint16_t lanes = mixture_lanes(x, s, 0, out);

	for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
		lanes |= mixture_lanes(x, s, fabric->term_port[t], out);
	return lanes;
}

/* Do packets on these lanes of channel `in` rise by going on by `out`? Adds the lanes they have there. */
static bool mixture_turn(const struct mixture *x, uint32_t in, uint32_t out, uint16_t lanes,
			 uint16_t *onto)
{
	const struct osr_fabric *fabric = x->f;
	const struct osr_routing *routing = x->m->r;
	unsigned to =
		mixture_lanes(x, fabric->chan_src[out], fabric->chan_port[fabric->chan_rev[in]],
			      fabric->chan_port[out]);

	*onto |= (uint16_t)to;
	/* Lanes that the new tables do not use have no place in their certificate. */
	if (to && lanes && (to | lanes) >> routing->n_vls)
		return false;
	for (; lanes; lanes &= (uint16_t)(lanes - 1)) {
		uint32_t from =
			routing->rank[(size_t)__builtin_ctz(lanes) * fabric->n_channels + in];

		for (unsigned left = to; left; left &= left - 1)
			if (from >=
			    routing->rank[(size_t)__builtin_ctz(left) * fabric->n_channels + out])
				return false;
	}
	return true;
}

/* ---- what has to be followed ----------------------------------------------------------------- */

/* Ports of s by which packets come: port 0, those of end ports, and those with a channel. */
static bool mixture_comes(const struct osr_fabric *fabric, uint32_t s, unsigned port)
{
	for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
		if (fabric->term_port[t] == port)
			return true;
	return !port || osr_port_channel(fabric, s, port) != OSR_NONE;
}

/* Do the lanes of this pair of ports change? */
static bool mixture_turns(const struct mixture *x, uint32_t s, unsigned in, unsigned out)
{
	return memcmp(mixture_sl2vl(x, 0, s, in, out), mixture_sl2vl(x, 1, s, in, out), 16) != 0;
}

/* Sets x->columns; how many pairs of ports have lanes that change. */
static size_t find_columns(struct mixture *x)
{
	const struct osr_fabric *fabric = x->f;
	struct osr_columns columns;
	size_t n_turned = 0;

	osr_columns_init(&columns);
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
			for (uint32_t c = fabric->chan_row[s];
			     mixture_comes(fabric, s, in) && c < fabric->chan_row[s + 1]; c++) {
				unsigned out = fabric->chan_port[c];

				osr_columns_add(&columns, mixture_sl2vl(x, 0, s, in, out));
				osr_columns_add(&columns, mixture_sl2vl(x, 1, s, in, out));
				n_turned += mixture_turns(x, s, in, out);
			}
	x->columns = osr_columns_kinds(&columns);
	return n_turned;
}

/* LIDs whose packets may come by port `in` of s, and leave by `out`. */
static void mark_turned(struct mixture *x, uint32_t s, unsigned in, unsigned out)
{
	const struct osr_fabric *fabric = x->f;
	uint32_t c = osr_port_channel(fabric, s, in);
	uint32_t before = c == OSR_NONE ? OSR_NONE : fabric->chan_dst[c];

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *row = x->m->r->lft + (size_t)d * fabric->n_switches;

		if (row[s] == out &&
		    (before == OSR_NONE || row[before] == fabric->chan_port[fabric->chan_rev[c]]))
			x->turned[d] = true;
	}
}

/* LIDs whose entries stay, and whose lanes may change: all, if it is more work to tell which. */
static void find_turned(struct mixture *x, size_t n_turned)
{
	const struct osr_fabric *fabric = x->f;
	bool all = n_turned > fabric->n_switches;

	memset(x->turned, all, fabric->n_dests);
	for (uint32_t s = 0; n_turned && !all && s < fabric->n_switches; s++)
		for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
			for (uint32_t c = fabric->chan_row[s];
			     mixture_comes(fabric, s, in) && c < fabric->chan_row[s + 1]; c++)
				if (mixture_turns(x, s, in, fabric->chan_port[c]))
					mark_turned(x, s, in, fabric->chan_port[c]);
}

/* ---- multicast ------------------------------------------------------------------------------- */

static bool mixture_is_link(const struct transition *m, uint32_t s, uint32_t c)
{
	const uint32_t *old = m->old.mcast_parent, *now = m->now.mcast_parent;
	uint32_t far = m->f->chan_dst[c], back = m->f->chan_rev[c];

	return old[s] == c || old[far] == back || now[s] == c || now[far] == back;
}

/* Lanes of copies that leave s by c: of end ports, and of those that came by other cables of the trees. */
static uint16_t copy_lanes(const struct mixture *x, uint32_t s, uint32_t c)
{
	const struct osr_fabric *fabric = x->f;
	uint16_t lanes = mixture_entry(x, s, fabric->chan_port[c]);

	for (uint32_t o = fabric->chan_row[s]; o < fabric->chan_row[s + 1]; o++)
		if (o != c && mixture_is_link(x->m, s, o))
			lanes |= mixture_lanes(x, s, fabric->chan_port[o], fabric->chan_port[c]);
	return lanes;
}

/* A copy leaves by every cable of either order but the one it came by. */
static bool follow_copies(const struct mixture *x)
{
	const struct osr_fabric *fabric = x->f;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (uint32_t a = fabric->chan_row[s]; a < fabric->chan_row[s + 1]; a++) {
			uint32_t in = fabric->chan_rev[a];
			uint16_t lanes, onto;

			if (!mixture_is_link(x->m, s, a))
				continue;
			lanes = copy_lanes(x, fabric->chan_dst[a], in);
			for (uint32_t b = fabric->chan_row[s]; b < fabric->chan_row[s + 1]; b++)
				if (a != b && mixture_is_link(x->m, s, b) &&
				    !mixture_turn(x, in, b, lanes, &onto))
					return false;
		}
	return true;
}

/* ---- one LID --------------------------------------------------------------------------------- */

/* The channel of the old (0) or new (1) entry of s; OSR_NONE for a new one that is the old one. */
static uint32_t mixture_next(const struct mixture *x, unsigned g, uint32_t s)
{
	if (g && x->row[0][s] == x->row[1][s])
		return OSR_NONE;
	return osr_port_channel(x->f, s, x->row[g][s]);
}

static void mixture_wait(struct mixture *x, uint32_t s)
{
	if (!x->waits[s])
		x->stack[x->n_stack++] = s;
	x->waits[s] = true;
}

/* Hosts send to everybody, port 0 to hosts: what enters at s. */
static void mixture_enter(struct mixture *x, uint32_t s, bool sends)
{
	for (unsigned g = 0; g < 2; g++) {
		uint32_t c = sends ? mixture_next(x, g, s) : OSR_NONE;

		x->lanes[g][s] = c == OSR_NONE ? 0 : mixture_entry(x, s, x->f->chan_port[c]);
		if (c != OSR_NONE)
			mixture_wait(x, s);
	}
}

/* What leaves s by its entry of g goes on by both entries of the next switch. False: a turn falls. */
static bool mixture_pass(struct mixture *x, uint32_t s, unsigned g, uint32_t root)
{
	uint32_t in = mixture_next(x, g, s), next = in == OSR_NONE ? root : x->f->chan_dst[in];

	for (unsigned h = 0; h < 2 && next != root; h++) {
		uint32_t out = mixture_next(x, h, next);
		uint16_t onto = x->lanes[h][next];

		if (out == OSR_NONE || !x->lanes[g][s])
			continue;
		if (!mixture_turn(x, in, out, x->lanes[g][s], &onto))
			return false;
		if (onto != x->lanes[h][next])
			mixture_wait(x, next);
		x->lanes[h][next] = onto;
	}
	return true;
}

/* It ends: a switch waits again only if a lane was added to one of its sets. */
static bool follow_lid(struct mixture *x, uint32_t d)
{
	const struct osr_fabric *fabric = x->f;
	uint32_t root = fabric->dest_switch[d];
	bool host = fabric->term_weight[fabric->dest_term[d]], rises = true;

	memset(x->waits, 0, fabric->n_switches * sizeof(*x->waits));
	x->n_stack = 0;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		mixture_enter(x, s, s != root && (host || fabric->sw_sources[s]));
	while (rises && x->n_stack) {
		uint32_t s = x->stack[--x->n_stack];

		x->waits[s] = false;
		rises = mixture_pass(x, s, 0, root) && mixture_pass(x, s, 1, root);
	}
	return rises;
}

/* ---- all together ---------------------------------------------------------------------------- */

/* False: a turn falls. */
static bool follow_sl(struct mixture *x)
{
	const struct transition *m = x->m;
	size_t n = x->f->n_switches;
	bool rises = !(m->modes & OSR_CLAIM_MULTICAST) || follow_copies(x);

	for (uint32_t d = 0; rises && d < x->f->n_dests; d++) {
		x->row[0] = m->old.lft + d * n;
		x->row[1] = m->now.lft + d * n;
		/* What stays has the turns of the new tables, which are in the certificate. */
		if (x->turned[d] || memcmp(x->row[0], x->row[1], n) != 0 ||
		    memcmp(x->row[0], m->r->lft + d * n, n) != 0)
			rises = follow_lid(x, d);
	}
	return rises;
}

static bool mixture_alloc(struct mixture *x)
{
	struct osr_arena *scratch = x->m->scratch;
	size_t n = x->f->n_switches;

	x->turned = osr_calloc(scratch, x->f->n_dests, sizeof(*x->turned));
	x->waits = osr_alloc(scratch, n, sizeof(*x->waits));
	x->stack = osr_alloc(scratch, n, sizeof(*x->stack));
	for (unsigned g = 0; g < 2; g++)
		x->lanes[g] = osr_alloc(scratch, n, sizeof(*x->lanes[g]));
	return x->turned && x->waits && x->stack && x->lanes[0] && x->lanes[1];
}

bool osr__transition_rises(struct transition *m)
{
	struct osr_arena_mark mark = osr_arena_mark(m->scratch);
	struct mixture x = { .m = m, .f = m->f, .columns = 1 };
	bool rises = (m->one_graph || m->by_turn) && m->r->rank && mixture_alloc(&x);

	if (rises && m->by_turn)
		find_turned(&x, find_columns(&x));
	for (; rises && x.columns; x.columns &= (uint16_t)(x.columns - 1)) {
		x.sl = (unsigned)__builtin_ctz(x.columns);
		rises = follow_sl(&x);
	}
	osr_arena_reset(m->scratch, mark);
	return rises;
}
