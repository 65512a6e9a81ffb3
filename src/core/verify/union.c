/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For each destination: the SLs that enter at every switch, pushed along all its out ports (one for
 * each generation) until nothing changes, and a turn marked for every pair of channels in a row.
 * Then a search for a cycle (union_loop.c), and if there is one, everything once more to find a
 * packet for each of its steps.
 *
 * Where one SL2VL table serves the whole fabric (VL = SL, or what OpenSM programs by default) a
 * packet keeps its VL, and sets of SLs are all that has to be pushed. Otherwise the VLs of every SL
 * are kept for every channel of the destination.
 */
#include "union_private.h"

#include "core/data/columns.h"

#include <string.h>

struct run {
	const struct osr_fabric *f;
	const struct osr_generation *gen;
	uint32_t n;
	uint32_t modes;
	struct turns turns;
	struct senders senders;

	uint8_t fold[16];       /* VL of an SL, if one table serves all */
	uint16_t sls;           /* if not: SLs that are followed */
	uint16_t (*entry)[16];  /* [n_ports] VLs of what end ports send out of a port; if not */
	uint16_t (*vls[2])[16]; /* [n_switches] VLs of every SL on out[g][s] */

	uint32_t *out[2]; /* [n_switches] channel of the entry, OSR_NONE; two never equal */
	uint16_t *mask;   /* [n_switches] SLs that pass; folded to VLs */
	uint32_t *n_in;
	uint32_t *queue;
	bool *queued;

	struct osr_loop_step *step; /* to be explained */
	uint32_t n_steps, n_unexplained;
	bool mcast_alone; /* no unicast packet has a part in it */

	struct osr_arena *scratch, *result;
	bool no_memory;
};

static enum osr_status union_nomem(struct osr_diag *diag, const struct osr_fabric *fabric)
{
	return osr_fail(diag, OSR_NOMEM,
			"out of memory while looking for credit loops of %u switches and %u LIDs",
			fabric->n_switches, fabric->n_dests);
}

/* ---- SL2VL ---------------------------------------------------------------------------------- */

static unsigned union_map_vl(const struct run *u, uint32_t g, uint32_t s, unsigned in, unsigned out,
			     unsigned sl)
{
	const struct osr_routing *routing = u->gen[g].routing;
	size_t pair = in * ((size_t)u->f->sw_n_ports[s] + 1) + out;

	return routing->sl2vl ? routing->sl2vl[routing->sl2vl_row[s] + pair][sl] : sl;
}

/* VL15 is no data lane: a switch drops what is mapped to it. OSR_VL_UNSET adds nothing either. */
static uint16_t vl_bits(const struct run *u, uint32_t s, unsigned in, unsigned out, unsigned sl)
{
	unsigned bits = 0;

	for (uint32_t g = 0; g < u->n; g++) {
		unsigned vl = union_map_vl(u, g, s, in, out, sl);

		bits |= vl < OSR_MAX_VLS ? 1u << vl : 0;
	}
	return (uint16_t)bits;
}

static bool union_is_end_port(const struct osr_fabric *fabric, uint32_t s, unsigned port)
{
	for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
		if (fabric->term_port[t] == port)
			return true;
	return port == 0;
}

static bool union_carries(const struct osr_fabric *fabric, uint32_t s, unsigned port)
{
	return osr_port_channel(fabric, s, port) != OSR_NONE || union_is_end_port(fabric, s, port);
}

/*
 * Is the table of this pair of ports u->fold, for all generations? The first one becomes it. A row
 * that no generation has is not: nothing goes on by it, whatever the other rows say.
 */
static bool same_table(struct run *u, uint32_t s, unsigned in, unsigned out)
{
	for (unsigned sl = 0; sl < 16; sl++) {
		bool known = false;

		for (uint32_t g = 0; g < u->n; g++) {
			unsigned vl = union_map_vl(u, g, s, in, out, sl);

			known |= vl != OSR_VL_UNSET;
			if (u->fold[sl] == OSR_VL_UNSET)
				u->fold[sl] = (uint8_t)vl;
			if (vl != u->fold[sl] && vl != OSR_VL_UNSET)
				return false;
		}
		if (!known)
			return false;
	}
	return true;
}

/* One table for all ports that packets between switches use? It becomes u->fold. */
static bool fold_tables(struct run *u)
{
	const struct osr_fabric *fabric = u->f;

	memset(u->fold, OSR_VL_UNSET, sizeof(u->fold));
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_src[c];

		for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
			if (in != fabric->chan_port[c] && union_carries(fabric, s, in) &&
			    !same_table(u, s, in, fabric->chan_port[c]))
				return false;
	}
	return true;
}

/*
 * Where all senders choose any SL, one of each kind of SLs is followed; else all, for only some SLs may be sent.
 */
static uint16_t followed_sls(struct run *u)
{
	const struct osr_fabric *fabric = u->f;
	struct osr_columns columns;
	uint8_t same[16];

	for (uint32_t g = 0; g < u->n; g++)
		if (!osr__any_sl(&u->senders, g))
			return 0xffff;
	osr_columns_init(&columns);
	for (unsigned sl = 0; sl < 16; sl++)
		same[sl] = (uint8_t)sl;
	for (uint32_t g = 0; g < u->n; g++) {
		const struct osr_routing *routing = u->gen[g].routing;

		if (!routing->sl2vl)
			osr_columns_add(&columns, same);
		for (uint32_t s = 0; routing->sl2vl && s < fabric->n_switches; s++) {
			size_t n_ports = fabric->sw_n_ports[s] + (size_t)1;

			for (size_t pair = 0; pair < n_ports * n_ports; pair++)
				osr_columns_add(&columns,
						routing->sl2vl[routing->sl2vl_row[s] + pair]);
		}
	}
	return osr_columns_kinds(&columns);
}

/* VLs that packets of an SL have on the first channel, which leaves switch s by `port`. */
static void fill_entry(struct run *u, uint32_t s, unsigned port)
{
	const struct osr_fabric *fabric = u->f;
	uint16_t *entry = u->entry[fabric->port_row[s] + port];

	for (unsigned sl = 0; sl < 16; sl++) {
		entry[sl] = vl_bits(u, s, 0, port, sl);
		for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
			entry[sl] |= vl_bits(u, s, fabric->term_port[t], port, sl);
	}
}

static uint16_t fold_sls(const struct run *u, unsigned sls)
{
	unsigned vls = 0;

	for (; sls; sls &= sls - 1) {
		unsigned vl = u->fold[__builtin_ctz(sls)];

		vls |= vl < OSR_MAX_VLS ? 1u << vl : 0;
	}
	return (uint16_t)vls;
}

/* ---- one destination ------------------------------------------------------------------------ */

static void union_load_entries(struct run *u, uint32_t d)
{
	const struct osr_fabric *fabric = u->f;

	for (uint32_t g = 0; g < u->n; g++) {
		const uint8_t *row = u->gen[g].routing->lft + (size_t)d * fabric->n_switches;
		uint32_t *out = u->out[g];

		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			uint32_t c = osr_port_channel(fabric, s, row[s]);

			out[s] = g && c == u->out[0][s] ? OSR_NONE : c;
		}
	}
}

static void union_count_in(struct run *u)
{
	const struct osr_fabric *fabric = u->f;

	memset(u->n_in, 0, fabric->n_switches * sizeof(*u->n_in));
	for (uint32_t g = 0; g < u->n; g++)
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			if (u->out[g][s] != OSR_NONE)
				u->n_in[fabric->chan_dst[u->out[g][s]]]++;
}

/* The same VLs from everywhere, as to a host where one lane serves all: there is nothing to spread. */
static bool all_alike(const struct run *u)
{
	for (uint32_t s = 1; s < u->f->n_switches; s++)
		if (u->mask[s] != u->mask[0])
			return false;
	return !u->turns.moves;
}

/* What is on channel c = out[g][s] goes on to everything that leaves the next switch. */
static bool union_push_vls(struct run *u, uint32_t s, uint32_t g, uint32_t c)
{
	const struct osr_fabric *fabric = u->f;
	uint32_t next = fabric->chan_dst[c];
	unsigned in = fabric->chan_port[fabric->chan_rev[c]];
	bool news = false;

	for (uint32_t h = 0; h < u->n; h++) {
		uint32_t on = u->out[h][next];

		for (unsigned sls = u->sls; on != OSR_NONE && sls; sls &= sls - 1) {
			unsigned sl = (unsigned)__builtin_ctz(sls);
			uint16_t *to = &u->vls[h][next][sl], bits;

			if (!u->vls[g][s][sl])
				continue;
			bits = vl_bits(u, next, in, fabric->chan_port[on], sl);
			news |= (*to | bits) != *to;
			*to |= bits;
		}
	}
	return news;
}

static bool push_mask(struct run *u, uint32_t s, uint32_t next)
{
	uint16_t before = u->mask[next];

	u->mask[next] |= u->mask[s];
	return u->mask[next] != before;
}

static void start_packets(struct run *u, const uint16_t *inject)
{
	const struct osr_fabric *fabric = u->f;

	if (!u->turns.moves) {
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			u->mask[s] = inject[s] ? fold_sls(u, inject[s]) : 0;
		return;
	}
	for (uint32_t g = 0; g < u->n; g++)
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			uint32_t c = u->out[g][s];

			for (unsigned sls = u->sls; sls; sls &= sls - 1) {
				unsigned sl = (unsigned)__builtin_ctz(sls);

				u->vls[g][s][sl] = c != OSR_NONE && inject[s] >> sl & 1
							   ? u->entry[fabric->port_row[s] +
								      fabric->chan_port[c]][sl]
							   : 0;
			}
		}
}

/* From s on; true for a next switch that has something new. */
static bool union_push(struct run *u, uint32_t s, uint32_t g, uint32_t c)
{
	return u->turns.moves ? union_push_vls(u, s, g, c) : push_mask(u, s, u->f->chan_dst[c]);
}

/*
 * Upstream switches first. Those that are left form loops, or lie behind one: they are pushed until
 * nothing is new.
 */
static void union_spread(struct run *u)
{
	const struct osr_fabric *fabric = u->f;
	uint32_t head = 0, tail = 0, n = fabric->n_switches, n_waiting;

	for (uint32_t s = 0; s < n; s++)
		if (u->n_in[s] == 0)
			u->queue[tail++] = s;
	while (head < tail) {
		uint32_t s = u->queue[head++];

		for (uint32_t g = 0; g < u->n; g++) {
			uint32_t c = u->out[g][s];

			if (c == OSR_NONE)
				continue;
			union_push(u, s, g, c);
			if (--u->n_in[fabric->chan_dst[c]] == 0)
				u->queue[tail++] = fabric->chan_dst[c];
		}
	}
	if (tail == n)
		return;
	/* A ring buffer: nobody is in it twice. */
	for (uint32_t s = head = tail = 0; s < n; s++) {
		u->queued[s] = u->n_in[s] != 0;
		if (u->queued[s])
			u->queue[tail++] = s;
	}
	for (n_waiting = tail, tail %= n; n_waiting; n_waiting--) {
		uint32_t s = u->queue[head];

		head = (head + 1) % n;
		u->queued[s] = false;
		for (uint32_t g = 0; g < u->n; g++) {
			uint32_t c = u->out[g][s];

			if (c == OSR_NONE || !union_push(u, s, g, c) ||
			    u->queued[fabric->chan_dst[c]])
				continue;
			u->queued[fabric->chan_dst[c]] = true;
			u->queue[tail] = fabric->chan_dst[c];
			tail = (tail + 1) % n;
			n_waiting++;
		}
	}
}

static void mark_vls(struct run *u, uint32_t g, uint32_t c, uint32_t on)
{
	const struct osr_fabric *fabric = u->f;
	uint32_t s = fabric->chan_src[c], next = fabric->chan_dst[c];
	size_t turn = u->turns.slot[c] + fabric->chan_port[on];

	for (unsigned sls = u->sls; sls; sls &= sls - 1) {
		unsigned sl = (unsigned)__builtin_ctz(sls), from = u->vls[g][s][sl], to;

		if (!from)
			continue;
		to = vl_bits(u, next, fabric->chan_port[fabric->chan_rev[c]], fabric->chan_port[on],
			     sl);
		for (; from && to; from &= from - 1)
			u->turns.vls[turn * OSR_MAX_VLS + __builtin_ctz(from)] |= to;
	}
}

static void mark_turns(struct run *u)
{
	const struct osr_fabric *fabric = u->f;

	for (uint32_t g = 0; g < u->n; g++)
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			uint32_t c = u->out[g][s];

			for (uint32_t h = 0; c != OSR_NONE && h < u->n; h++) {
				uint32_t on = u->out[h][fabric->chan_dst[c]];

				if (on == OSR_NONE)
					continue;
				if (u->turns.moves)
					mark_vls(u, g, c, on);
				else
					u->turns.vls[u->turns.slot[c] + fabric->chan_port[on]] |=
						u->mask[s];
			}
		}
}

/* ---- a packet for each step of a loop ------------------------------------------------------- */

/* The SL on which packets of the current destination hold `loop_step` and wait for `loop`, or 16. */
static unsigned sl_of_step(const struct run *u, const struct osr_loop_step *loop_step,
			   const struct osr_loop_step *loop)
{
	const struct osr_fabric *fabric = u->f;
	uint32_t s = fabric->chan_src[loop_step->channel],
		 next = fabric->chan_dst[loop_step->channel];
	unsigned in = fabric->chan_port[fabric->chan_rev[loop_step->channel]], sl;
	uint32_t g = 0, h = 0;

	while (g < u->n && u->out[g][s] != loop_step->channel)
		g++;
	while (h < u->n && u->out[h][next] != loop->channel)
		h++;
	if (g == u->n || h == u->n)
		return 16;
	for (sl = 0; sl < 16; sl++) {
		if (!u->turns.moves && u->fold[sl] == loop_step->vl &&
		    u->mask[s] >> loop_step->vl & 1)
			break;
		if (u->turns.moves && u->sls >> sl & 1 && u->vls[g][s][sl] >> loop_step->vl & 1 &&
		    vl_bits(u, next, in, fabric->chan_port[loop->channel], sl) >> loop->vl & 1)
			break;
	}
	return sl;
}

static void explain(struct run *u, uint32_t d)
{
	for (uint32_t i = 0; i < u->n_steps; i++) {
		struct osr_loop_step *step = &u->step[i];
		unsigned sl;

		if (step->lid)
			continue;
		sl = sl_of_step(u, step, &u->step[(i + 1) % u->n_steps]);
		if (sl == 16)
			continue;
		step->sl = (uint8_t)sl;
		step->lid = u->f->dest_lid[d];
		u->n_unexplained--;
	}
}

/* A cycle of the turns marked so far: its channels and VLs in step[]. */
static void search_turns(struct run *u, uint32_t *rank)
{
	struct osr_arena_mark mark = osr_arena_mark(u->scratch);

	u->no_memory =
		!osr__union_search(&u->turns, u->scratch, u->result, &u->step, &u->n_steps, rank);
	u->n_unexplained = u->n_steps;
	osr_arena_reset(u->scratch, mark);
}

/*
 * A cycle in the turns of some LIDs is one in those of all, so it is looked for on the way: first when
 * as many entries have been followed as there are turns to search, then after four times as many.
 */
static void union_follow_all(struct run *u)
{
	const struct osr_fabric *fabric = u->f;
	size_t pause = u->turns.n_slots / (fabric->n_switches + (size_t)1);

	for (uint32_t first = 0; first < fabric->n_dests; first += SENDERS_BATCH) {
		uint32_t n = fabric->n_dests - first < SENDERS_BATCH ? fabric->n_dests - first
								     : SENDERS_BATCH;

		osr__senders_collect(&u->senders, first, n);
		for (uint32_t j = 0; j < n; j++) {
			union_load_entries(u, first + j);
			start_packets(u, u->senders.inject + (size_t)j * fabric->n_switches);
			if (!all_alike(u)) {
				union_count_in(u);
				union_spread(u);
			}
			if (!u->step)
				mark_turns(u);
			else
				explain(u, first + j);
			if (u->step && !u->n_unexplained)
				return;
		}
		if (u->step || first + n <= pause || first + n == fabric->n_dests)
			continue;
		search_turns(u, NULL);
		if (u->n_steps || u->no_memory)
			return;
		pause = 4 * (first + (size_t)n);
	}
}

/* ---- multicast ------------------------------------------------------------------------------ */

static void union_add_turn(struct run *u, uint32_t c, unsigned from, uint32_t on, unsigned to)
{
	size_t turn = u->turns.slot[c] + u->f->chan_port[on];

	if (!u->turns.moves) {
		u->turns.vls[turn] |= (uint16_t)from;
		return;
	}
	for (; from; from &= from - 1)
		u->turns.vls[turn * OSR_MAX_VLS + __builtin_ctz(from)] |= (uint16_t)to;
}

/*
 * Where the loop has this turn and no unicast packet takes it, it is for multicast. lid 0 is left to
 * the spanning order, which has no MLID.
 */
static void explain_mcast(struct run *u, uint32_t c, unsigned from, uint32_t on, unsigned to,
			  uint16_t mlid, uint8_t sl)
{
	for (uint32_t i = 0; i < u->n_steps; i++) {
		struct osr_loop_step *loop_step = &u->step[i],
				     *loop = &u->step[(i + 1) % u->n_steps];

		if (loop_step->lid || loop_step->channel != c || loop->channel != on ||
		    !(from >> loop_step->vl & 1) || !(to >> loop->vl & 1))
			continue;
		loop_step->lid = mlid;
		loop_step->sl = sl;
		u->n_unexplained--;
	}
}

static void turn_mcast(struct run *u, uint32_t c, unsigned from, uint32_t on, unsigned to,
		       uint16_t mlid, uint8_t sl)
{
	if (u->step)
		explain_mcast(u, c, from, on, to, mlid, sl);
	else
		union_add_turn(u, c, from, on, to);
}

static bool union_in_order(const struct osr_generation *gen, const struct osr_fabric *fabric,
			   uint32_t c)
{
	const uint32_t *parent = gen->routing->mcast_parent;

	return !gen->groups && parent &&
	       (parent[fabric->chan_src[c]] == c ||
		parent[fabric->chan_dst[c]] == fabric->chan_rev[c]);
}

/* VLs of the packets of an SL on tree link c: from end ports, and from the other tree links. */
static unsigned order_vls(const struct run *u, uint32_t c, unsigned sl)
{
	const struct osr_fabric *fabric = u->f;
	uint32_t s = fabric->chan_src[c];
	unsigned vls = 0;

	for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++) {
		uint32_t from = osr_port_channel(fabric, s, in);
		bool sends = from == OSR_NONE && union_is_end_port(fabric, s, in);

		for (uint32_t g = 0; from != OSR_NONE && from != c && g < u->n; g++)
			sends |= union_in_order(&u->gen[g], fabric, fabric->chan_rev[from]);
		vls |= sends ? vl_bits(u, s, in, fabric->chan_port[c], sl) : 0;
	}
	return vls;
}

/* The same where the lane of the next hop depends on the turn, and senders choose the SL. */
static void follow_link_by_tables(struct run *u, uint32_t in, uint32_t on)
{
	const struct osr_fabric *fabric = u->f;

	for (uint8_t sl = 0; sl < 16; sl++)
		turn_mcast(u, in, order_vls(u, in, sl), on,
			   vl_bits(u, fabric->chan_src[on], fabric->chan_port[fabric->chan_rev[in]],
				   fabric->chan_port[on], sl),
			   0, sl);
}

/*
 * A packet on tree link `in` of one generation goes on by tree link `on` of any. Where senders choose
 * any SL, those of multicast may, too.
 */
static void follow_link(struct run *u, uint32_t in, uint32_t on)
{
	for (uint32_t g = 0; g < u->n; g++)
		for (uint32_t h = 0; h < u->n; h++) {
			uint8_t from = u->gen[g].routing->mcast_vl,
				to = u->gen[h].routing->mcast_vl;

			if (!union_in_order(&u->gen[g], u->f, in) ||
			    !union_in_order(&u->gen[h], u->f, on))
				continue;
			if (u->turns.moves && osr__any_sl(&u->senders, g))
				follow_link_by_tables(u, in, on);
			else if (!u->turns.moves && osr__any_sl(&u->senders, g))
				turn_mcast(u, in, fold_sls(u, 0xffff), on, fold_sls(u, 0xffff), 0,
					   0);
			else if (u->turns.moves || from == to)
				turn_mcast(u, in, 1u << from, on, 1u << to, 0, from);
		}
}

/* A copy leaves by every tree link, of either generation, but the one the packet came by. */
static void follow_order(struct run *u)
{
	const struct osr_fabric *fabric = u->f;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (uint32_t a = fabric->chan_row[s]; a < fabric->chan_row[s + 1]; a++)
			for (uint32_t b = fabric->chan_row[s]; b < fabric->chan_row[s + 1]; b++)
				if (a != b)
					follow_link(u, fabric->chan_rev[a], b);
}

/* Does any generation send this group's packets out of this port? */
static bool sends_to(const struct run *u, const uint32_t at[2], uint32_t s, unsigned port)
{
	for (uint32_t g = 0; g < u->n; g++) {
		const struct osr_groups *groups = u->gen[g].groups;

		if (at[g] != OSR_NONE &&
		    groups->ports[(size_t)at[g] * u->f->n_switches + s][port / 64] >> port % 64 & 1)
			return true;
	}
	return false;
}

/* VLs of the group's packets that leave switch s by `port`: from end ports and tree channels. */
static unsigned group_vls(const struct run *u, const uint32_t at[2], uint32_t s, unsigned port,
			  unsigned sl)
{
	const struct osr_fabric *fabric = u->f;
	unsigned vls = 0;

	if (!u->turns.moves)
		return fold_sls(u, 1u << sl);
	for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++) {
		uint32_t c = osr_port_channel(fabric, s, in);

		if (in != port &&
		    (c == OSR_NONE ? union_is_end_port(fabric, s, in)
				   : sends_to(u, at, fabric->chan_dst[c],
					      fabric->chan_port[fabric->chan_rev[c]])))
			vls |= vl_bits(u, s, in, port, sl);
	}
	return vls;
}

static void follow_group(struct run *u, const uint32_t at[2], uint16_t mlid, uint8_t sl)
{
	const struct osr_fabric *fabric = u->f;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t next = fabric->chan_dst[c];
		unsigned in = fabric->chan_port[fabric->chan_rev[c]], from;

		if (!sends_to(u, at, fabric->chan_src[c], fabric->chan_port[c]))
			continue;
		from = group_vls(u, at, fabric->chan_src[c], fabric->chan_port[c], sl);
		for (uint32_t on = fabric->chan_row[next]; on < fabric->chan_row[next + 1]; on++) {
			unsigned port = fabric->chan_port[on];

			if (port == in || !sends_to(u, at, next, port))
				continue;
			turn_mcast(u, c, from, on,
				   u->turns.moves ? vl_bits(u, next, in, port, sl) : from, mlid,
				   sl);
		}
	}
}

/* The groups of both generations in the order of their MLIDs. */
static void follow_groups(struct run *u)
{
	uint32_t next[2] = { 0, 0 };

	for (;;) {
		uint32_t at[2] = { OSR_NONE, OSR_NONE };
		uint16_t mlid = UINT16_MAX;
		bool some = false;

		for (uint32_t g = 0; g < u->n; g++) {
			const struct osr_groups *groups = u->gen[g].groups;

			if (!groups || next[g] == groups->n ||
			    (some && groups->mlid[next[g]] >= mlid))
				continue;
			mlid = groups->mlid[next[g]];
			some = true;
		}
		if (!some)
			return;
		for (uint32_t g = 0; g < u->n; g++) {
			const struct osr_groups *groups = u->gen[g].groups;

			if (groups && next[g] < groups->n && groups->mlid[next[g]] == mlid)
				at[g] = next[g]++;
		}
		for (uint32_t g = 0; g < u->n; g++)
			if (at[g] != OSR_NONE && (g == 0 || at[0] == OSR_NONE ||
						  u->gen[0].groups->sl != u->gen[1].groups->sl))
				follow_group(u, at, mlid, u->gen[g].groups->sl);
	}
}

static void union_follow_mcast(struct run *u)
{
	follow_groups(u);
	follow_order(u);
}

/*
 * Multicast first: its turns are few, and a loop of theirs alone needs no unicast to be found. Such a loop is for
 * multicast; another one is explained by unicast packets as far as they go.
 */
static void union_follow(struct run *u)
{
	bool mcast = u->modes & OSR_CLAIM_MULTICAST, explaining = u->step != NULL;

	if (mcast && (!explaining || u->mcast_alone))
		union_follow_mcast(u);
	if (mcast && !explaining) {
		search_turns(u, NULL);
		u->mcast_alone = u->n_steps > 0;
	}
	if (u->mcast_alone || u->no_memory)
		return;
	union_follow_all(u);
	if (mcast && explaining && u->n_unexplained && !u->no_memory)
		union_follow_mcast(u);
}

/* ---- all together --------------------------------------------------------------------------- */

static bool alloc_turns(struct run *u, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = u->f;
	struct turns *t = &u->turns;

	t->f = fabric;
	t->moves = !fold_tables(u);
	t->slot = osr_alloc(scratch, fabric->n_channels, sizeof(*t->slot));
	for (uint32_t c = 0; t->slot && c < fabric->n_channels; c++) {
		t->slot[c] = t->n_slots;
		t->n_slots += fabric->sw_n_ports[fabric->chan_dst[c]] + 1u;
	}
	t->vls = osr_calloc(scratch, t->n_slots, (t->moves ? OSR_MAX_VLS : 1) * sizeof(*t->vls));
	return t->slot && t->vls;
}

static bool alloc_entries(struct run *u, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = u->f;

	u->sls = followed_sls(u);
	u->entry = osr_alloc(scratch, fabric->n_ports, sizeof(*u->entry));
	for (uint32_t s = 0; u->entry && s < fabric->n_switches; s++)
		for (unsigned port = 0; port <= fabric->sw_n_ports[s]; port++)
			fill_entry(u, s, port);
	for (uint32_t g = 0; g < u->n; g++) {
		u->vls[g] = osr_alloc(scratch, fabric->n_switches, sizeof(*u->vls[g]));
		if (!u->vls[g])
			return false;
	}
	return u->entry != NULL;
}

static bool union_prepare(struct run *u, struct osr_arena *scratch)
{
	size_t n = u->f->n_switches;

	if (!alloc_turns(u, scratch) || !osr__senders_init(&u->senders, scratch) ||
	    (u->turns.moves && !alloc_entries(u, scratch)))
		return false;
	for (uint32_t g = 0; g < u->n; g++) {
		u->out[g] = osr_alloc(scratch, n, sizeof(*u->out[g]));
		if (!u->out[g])
			return false;
	}
	u->mask = osr_alloc(scratch, n, sizeof(*u->mask));
	u->n_in = osr_alloc(scratch, n, sizeof(*u->n_in));
	u->queue = osr_alloc(scratch, n, sizeof(*u->queue));
	u->queued = osr_alloc(scratch, n, sizeof(*u->queued));
	return u->mask && u->n_in && u->queue && u->queued;
}

static bool union_fits(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	return routing->lft && routing->n_switches == fabric->n_switches &&
	       routing->n_dests == fabric->n_dests && routing->n_channels == fabric->n_channels &&
	       (!routing->sl2vl || routing->sl2vl_row);
}

static bool union_run(struct run *u, struct osr_loop *loop, uint32_t *rank)
{
	if (!union_prepare(u, u->scratch))
		return false;
	union_follow(u);
	if (!u->n_steps && !u->no_memory)
		search_turns(u, rank);
	if (u->no_memory)
		return false;
	if (u->n_steps)
		union_follow(u);
	loop->n = u->n_steps;
	loop->step = u->step;
	return true;
}

enum osr_status osr_union_loop(const struct osr_fabric *fabric, const struct osr_generation *gen,
			       uint32_t n, uint32_t modes, struct osr_arena *scratch,
			       struct osr_arena *result, struct osr_loop *loop, uint32_t *rank,
			       struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct run u = { .f = fabric,
			 .gen = gen,
			 .n = n,
			 .modes = modes,
			 .scratch = scratch,
			 .result = result,
			 .senders = { .f = fabric, .gen = gen, .n = n, .modes = modes } };
	bool ok;

	*loop = (struct osr_loop){ 0 };
	if (scratch == result)
		return osr_fail(diag, OSR_INVAL, "a loop cannot be kept in the scratch arena");
	for (uint32_t g = 0; g < n; g++)
		if (!union_fits(fabric, gen[g].routing))
			return osr_fail(diag, OSR_INVAL, "the tables are for another fabric");
	ok = union_run(&u, loop, rank);
	osr_arena_reset(scratch, mark);
	return ok ? OSR_OK : union_nomem(diag, fabric);
}
