/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The certificate: ranks, bounds and marks. Nothing here is trusted, for the proved program refuses
 * a rank, bound or mark that is wrong.
 */
#include "gate_private.h"

#include <string.h>

static void raise_to(int32_t *most, int32_t x)
{
	*most = x > *most ? x : *most;
}

/* The rank of packets that leave switch s by port o on this lane; GATE_DROPPED: none leave. */
static int32_t rank_on(const struct tab *tab, uint32_t s, uint32_t o, int32_t lane)
{
	const int32_t *hot = gate_hot(tab, s, o);

	return lane < hot[H_VLS] ? hot[H_RANK + lane] : GATE_DROPPED;
}

/* The same of packets that come by this row on level q. */
static int32_t rank_of(const struct tab *tab, int32_t row, uint32_t s, uint32_t o, int32_t q)
{
	osr_invariant(q < tab->n_q);
	return rank_on(tab, s, o, gate_slot(tab, row, o)[q]);
}

/* Unsigned ranks as signed numbers in the same order; the two highest fall together. */
static int32_t signed_rank(uint32_t rank)
{
	int64_t below = (int64_t)rank + INT32_MIN;

	return below < GATE_DROPPED ? (int32_t)below : GATE_DROPPED - 1;
}

void osr_gate_ranks(const struct gate *gate, const struct tab *tab)
{
	const struct osr_fabric *fabric = gate->fabric;
	const uint32_t *rank = gate->gen[0]->rank;

	osr_invariant(gate->ranked);
	for (int32_t l = 0; l < tab->n_lane; l++) {
		OSR_EVERY_CHANNEL(c, fabric) {
			int32_t *hot = gate_hot(tab, fabric->chan_src[c], fabric->chan_port[c]);

			hot[H_RANK + l] = signed_rank(*rank++);
		}
	}
}

/*
 * Raises the bounds of packets that come by this row into switch s and leave by each port o:
 * `first` if they enter the fabric here, `copies` of multicast, which does not go back.
 */
static void raise_bounds(const struct tab *tab, int32_t row, uint32_t s, bool enters, int32_t back)
{
	for (int32_t o = 0; o < tab->n_port; o++) {
		uint32_t port = o;
		int32_t *first = gate_hot(tab, s, port) + H_RANK + tab->n_lane;
		int32_t *copies = gate_cold(tab, s, port) + C_COPIES;

		if (gate_hot(tab, s, port)[H_NEXT] < 0)
			continue;
		for (int32_t q = 0; q < tab->n_q; q++) {
			int32_t rank = rank_of(tab, row, s, port, q);

			if (enters)
				raise_to(&first[q], rank);
			if (o == back)
				continue;
			if (tab->m_lane >= 0)
				rank = rank_on(tab, s, port, tab->m_lane);
			raise_to(&copies[q], rank);
		}
	}
}

void osr_gate_bounds(const struct gate *gate)
{
	const struct tab *tab = &gate->tab[0];
	uint32_t n_port = tab->n_port;

	OSR_EACH_SWITCH(s, gate->fabric) {
		for (uint32_t o = 0; o < n_port; o++) {
			for (int32_t q = 0; q < tab->n_q; q++) {
				gate_hot(tab, s, o)[H_RANK + tab->n_lane + q] = INT32_MIN;
				gate_cold(tab, s, o)[C_COPIES + q] = INT32_MIN;
			}
		}
	}
	for (unsigned x = 0; x < gate->n_gens; x++) {
		for (size_t i = 0; i < (size_t)gate->fabric->n_switches * n_port; i++) {
			const int32_t *hot = tab->hot + i * (size_t)tab->width;
			const int32_t *cold = tab->cold + i * (size_t)tab->more;

			if (cold[C_ENTER])
				raise_bounds(&gate->tab[x], cold[C_ROW], i / n_port, true, -1);
			if (cold[C_TREE])
				raise_bounds(&gate->tab[x], hot[H_ROW], hot[H_NEXT], false,
					     cold[C_INTO]);
		}
	}
}

/* Switch s may answer switch h on the levels on which h asks s. */
void osr_gate_answers(const struct gate *gate)
{
	size_t n = gate->fabric->n_switches;

	OSR_EACH_DEST(d, gate->fabric) {
		OSR_EACH_SWITCH(h, gate->fabric) {
			uint16_t *answers =
				gate->tab[0].k_answers + h * n + gate->fabric->dest_switch[d];

			if (gate->fabric->sw_sources[h] && gate_meets(gate, d, h))
				*answers |= osr_gate_levels(gate, d, h);
		}
	}
}

/* Levels of packets for the destination of `row` that enter at switch s. */
static unsigned levels_entering(const struct gate *gate, const struct row *row, uint32_t s)
{
	const struct tab *tab = &gate->tab[0];
	size_t home = (size_t)row->r_home;
	unsigned own = row->levels[s];

	if (!gate_meets(gate, row->dest, s))
		return 0;
	if (tab->f_replies && row->f_host && tab->sws[2 * home + 1])
		own |= tab->k_answers[home * gate->fabric->n_switches + s];
	return own;
}

/* Carries the levels of each packet that enters along the entries of all generations. */
void osr_gate_pass(const struct gate *gate, struct share *mine)
{
	const struct row *row = &mine->row[0];
	uint16_t *pass = row->k_pass;
	uint32_t *top = mine->stack;

	osr_invariant(pass == mine->pass);
	memset(pass, 0, gate->fabric->n_switches * sizeof(*pass));
	OSR_EACH_SWITCH(s, gate->fabric) {
		unsigned own = levels_entering(gate, row, s);

		if (own & ~pass[s])
			*top++ = s;
		pass[s] |= own;
		while (top > mine->stack) {
			uint32_t at = *--top;

			for (unsigned x = 0; x < gate->n_gens; x++) {
				uint32_t to = gate_to(gate, &mine->row[x], at);

				if (to == OSR_NONE || !(pass[at] & ~pass[to]))
					continue;
				pass[to] |= pass[at];
				*top++ = to;
			}
		}
	}
}

/* Row y's packets of switch s, which enter there or pass it, go to v and leave it by row x. */
static void hold_next(const struct gate *gate, const struct share *mine, unsigned x, uint32_t s,
		      uint32_t v, int32_t by_row)
{
	const struct tab *tab = &gate->tab[x];
	const struct row *row = &mine->row[x];

	if (gate_to(gate, row, v) == OSR_NONE)
		return;
	for (int32_t q = 0; q < tab->n_q; q++)
		if (mine->row->k_pass[s] >> q & 1)
			raise_to(&row->k_held[(int64_t)q * tab->n_sw + v],
				 rank_of(tab, by_row, v, row->lft[v], q));
}

/*
 * The highest rank of packets that leave each switch by the entries of each generation: packets
 * that enter there, and packets that come from other switches by the entries of any generation.
 */
void osr_gate_held(const struct gate *gate, const struct share *mine)
{
	const struct tab *tab = &gate->tab[0];
	const struct row *row = mine->row;

	osr_invariant(!tab->f_flat);
	for (unsigned x = 0; x < gate->n_gens; x++)
		for (int64_t i = 0; i < (int64_t)tab->n_q * tab->n_sw; i++)
			row[x].k_held[i] = INT32_MIN;
	OSR_EACH_SWITCH(s, gate->fabric) {
		unsigned own = ~0u;

		if (row->k_pass != gate->every)
			own = levels_entering(gate, row, s);
		for (unsigned y = 0; y < gate->n_gens; y++) {
			uint32_t v = gate_to(gate, &row[y], s);
			const int32_t *hot;

			if (v == OSR_NONE)
				continue;
			hot = gate_hot(tab, s, row[y].lft[s]);
			for (int32_t q = 0; q < tab->n_q; q++)
				if (own >> q & 1)
					raise_to(&row[y].k_held[(int64_t)q * tab->n_sw + s],
						 hot[H_RANK + tab->n_lane + q]);
			for (unsigned x = 0; x < gate->n_gens; x++)
				hold_next(gate, mine, x, s, v, hot[H_ROW]);
		}
	}
}
