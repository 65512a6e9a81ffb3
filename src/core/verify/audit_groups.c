/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Members of a group are the end ports that switches send its packets to. A packet of each is spread
 * as the tables say: it must come to every switch once at most, and to all other members.
 */
#include "audit_private.h"

#include <string.h>

struct spread {
	struct auditor *k;
	uint32_t group;
	uint32_t *seen; /* [n_switches] number of the last spread that came by */
	uint32_t number;
	uint32_t *queue, *came; /* [n_switches] switches to do, and the port their packet came by */
};

static bool sends(const struct spread *x, uint32_t s, unsigned port)
{
	const struct osr_groups *groups = x->k->gen->groups;

	return groups->ports[(size_t)x->group * x->k->f->n_switches + s][port / 64] >> port % 64 &
	       1;
}

static void group_fault(const struct spread *x, enum osr_fault_kind kind, uint32_t sw, unsigned in,
			uint32_t term)
{
	osr__audit_fault(x->k, &(struct osr_fault){ .kind = kind,
						    .sw = sw,
						    .dest = OSR_NONE,
						    .term = term,
						    .in = (uint8_t)in,
						    .mlid = x->k->gen->groups->mlid[x->group] });
}

/* From port `in` of switch s; false if it comes to a switch again. */
static bool audit_groups_spread(struct spread *x, uint32_t s, unsigned in)
{
	const struct osr_fabric *fabric = x->k->f;
	uint32_t head = 0, tail = 0;

	x->number++;
	x->seen[s] = x->number;
	x->queue[tail] = s;
	x->came[tail++] = in;
	for (; head < tail; head++) {
		s = x->queue[head];
		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			uint32_t t = fabric->chan_dst[c];
			unsigned port = fabric->chan_port[fabric->chan_rev[c]];

			if (fabric->chan_port[c] == x->came[head] ||
			    !sends(x, s, fabric->chan_port[c]))
				continue;
			if (x->seen[t] == x->number) {
				group_fault(x, OSR_FAULT_GROUP_LOOP, t, port, OSR_NONE);
				return false;
			}
			x->seen[t] = x->number;
			x->queue[tail] = t;
			x->came[tail++] = port;
		}
	}
	return true;
}

static bool is_member(const struct spread *x, uint32_t t)
{
	return sends(x, x->k->f->term_switch[t], x->k->f->term_port[t]);
}

/* One member of a switch speaks for all: they come in by other ports, but to the same tree. */
static void judge_group(struct spread *x)
{
	const struct osr_fabric *fabric = x->k->f;
	uint32_t s = OSR_NONE;

	for (uint32_t from = 0; from < fabric->n_terminals; from++) {
		uint32_t t = 0, n = fabric->n_terminals;

		if (fabric->term_switch[from] == s || !is_member(x, from))
			continue;
		s = fabric->term_switch[from];
		if (!audit_groups_spread(x, s, fabric->term_port[from]))
			return;
		/* The first member that has not been reached is named for all. */
		while (t < n &&
		       (!is_member(x, t) || x->seen[fabric->term_switch[t]] == x->number ||
			fabric->sw_component[fabric->term_switch[t]] != fabric->sw_component[s]))
			t++;
		if (t < n)
			group_fault(x, OSR_FAULT_GROUP_SPLIT, s, fabric->term_port[from], t);
	}
}

bool osr__audit_groups(struct auditor *k, struct osr_arena *scratch)
{
	struct spread x = { .k = k };

	if (!k->gen->groups)
		return true;
	x.seen = osr_calloc(scratch, k->f->n_switches, sizeof(*x.seen));
	x.queue = osr_alloc(scratch, k->f->n_switches, sizeof(*x.queue));
	x.came = osr_alloc(scratch, k->f->n_switches, sizeof(*x.came));
	if (!x.seen || !x.queue || !x.came)
		return false;
	for (x.group = 0; x.group < k->gen->groups->n; x.group++)
		judge_group(&x);
	return true;
}
