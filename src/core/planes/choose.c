/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which planes a fabric gets: those with which flows that are split evenly over all LIDs fare best,
 * and the first LID repeated where that gains little. What is simpler is asked first, and must be
 * beaten.
 */
#include "planes_private.h"

#include <stdio.h>
#include <string.h>

#include <osmroutes/split.h>

#define GAIN 1010   /* permille of what the first LIDs give, for other planes than these repeated */
#define BETTER 1005 /* permille of what simpler planes give */
#define WHOLE UINT64_C(1000000000)
#define NOTE 400

uint32_t osr_planes_lid(const struct planes_in *in, uint32_t d, uint32_t k)
{
	uint32_t t = in->first->dest_term[d];

	if (!in->first->term_weight[t] || k >= 1u << in->fabric->term_lmc[t])
		return OSR_NONE;
	return in->fabric->lid_dest[in->first->term_lid[t] + k];
}

const uint8_t *osr_planes_mate(const struct planes_in *in, uint32_t lid)
{
	uint32_t d = in->first->lid_dest[in->fabric->dest_lid[in->mates.tree_of[lid]]];

	return in->plane0->lft + (size_t)d * in->first->n_switches;
}

static enum osr_status choose_mates(const struct planes_in *in, struct planes_offer *offer,
				    struct osr_diag *why)
{
	(void)why;
	offer->planes = in->mates;
	return OSR_OK;
}

static const struct choice {
	const char *name;
	enum osr_status (*make)(const struct planes_in *in, struct planes_offer *offer,
				struct osr_diag *why);
} choices[] = {
	{ "mates", choose_mates },
	{ "exchange", osr_planes_exchange },
	{ "exchange all around", osr_planes_exchange_round },
	{ "dimensions in reverse", osr_planes_reverse },
};

static enum osr_status choose_expand(const struct planes_in *in, const struct planes_offer *offer,
				     struct osr_arena *arena, struct osr_routing *routing,
				     struct osr_diag *diag)
{
	return osr_planes_expand(in->fabric, in->first, &offer->first, &offer->planes,
				 offer->own.lft ? &offer->own : NULL, arena, routing, diag);
}

static void *choose_copy(const void *from, size_t n, size_t size, struct osr_arena *arena)
{
	void *to = osr_alloc(arena, n, size);

	return to ? memcpy(to, from, n * size) : NULL;
}

/* The certificate and the lanes go where the tables are; and one sentence for the log. */
static enum osr_status choose_finish(const struct planes_in *in, const char *said,
				     struct osr_arena *arena, struct osr_routing *routing,
				     struct osr_diag *diag)
{
	const char *note = routing->note;
	size_t size = strlen(said) + (note ? strlen(note) : 0) + 3;
	char *text = osr_alloc(arena, size, 1);

	if (routing->rank != in->plane0->rank)
		routing->rank = choose_copy(routing->rank, in->first->n_channels,
					    routing->n_vls * sizeof(*routing->rank), arena);
	if (routing->sl2vl != in->plane0->sl2vl) {
		routing->sl2vl = choose_copy(routing->sl2vl, osr_n_sl2vl(in->first),
					     sizeof(*routing->sl2vl), arena);
		routing->sl2vl_row = choose_copy(routing->sl2vl_row, in->first->n_switches,
						 sizeof(*routing->sl2vl_row), arena);
	}
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	snprintf(text, size, "%s%s%s", note ? note : "", note ? "; " : "", said);
	routing->note = text;
	return OSR_OK;
}

enum osr_status osr_planes_choose(const struct osr_fabric *fabric, const struct osr_fabric *first,
				  const struct osr_routing *plane0,
				  const struct osr_request *request, struct osr_arena *scratch,
				  struct osr_arena *arena, struct osr_routing *routing,
				  struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(arena);
	struct planes_in in = { .fabric = fabric,
				.first = first,
				.plane0 = plane0,
				.request = request,
				.scratch = scratch };
	const struct planes_offer none = { .first = *plane0 };
	struct planes_offer best = none;
	const char *name = "the first one repeated", *made = NULL;
	uint64_t wanted = 0; /* of the next one, in thousandths of a millionth of a link */
	char others[NOTE] = "", said[2 * NOTE];
	struct osr_split split = { 0 };
	enum osr_status st = osr_planes_repeat(fabric, scratch, &best.planes, diag);

	if (!st)
		st = osr_planes_repeat(fabric, scratch, &in.mates, diag);
	if (!st)
		st = osr_planes_mates(fabric, first, plane0, scratch, &in.mates, diag);
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]) && wanted < WHOLE && !st; i++) {
		struct planes_offer offer = none;
		struct osr_diag why = { "" };
		size_t n = strlen(others);

		st = choices[i].make(&in, &offer, &why);
		if (st == OSR_NOT_APPLICABLE) {
			if (*why.text)
				snprintf(others + n, sizeof(others) - n, ", not by %s: %s",
					 choices[i].name, why.text);
			st = OSR_OK;
			continue;
		}
		if (st)
			return osr_fail(diag, st, "%s", why.text);
		osr_arena_reset(arena, mark);
		st = choose_expand(&in, &offer, arena, routing, diag);
		made = choices[i].name;
		if (!st)
			st = osr_split_measure(fabric, routing, OSR_SPLIT_CHOICE, scratch, &split,
					       diag);
		snprintf(others + n, sizeof(others) - n, ", by %s %u.%u %%", made,
			 split.all / 10000, split.all / 1000 % 10);
		/* Where first LIDs give a whole link, there is nothing to lose by other routes. */
		if (!wanted)
			wanted = (uint64_t)split.first * GAIN;
		if (wanted > WHOLE)
			wanted = WHOLE;
		if (st || (uint64_t)split.all * 1000 < wanted)
			continue;
		wanted = (uint64_t)split.all * BETTER;
		best = offer;
		name = made;
	}
	/* The tables of the best are there, unless those of a later one have replaced them. */
	if (!st && name != made) {
		osr_arena_reset(arena, mark);
		st = choose_expand(&in, &best, arena, routing, diag);
	}
	if (st)
		return st;
	snprintf(said, sizeof(said),
		 "%u LIDs a port: %s; bandwidth of flows that are split over all: the first one "
		 "repeated %u.%u %%%s",
		 in.mates.n, name, split.first / 10000, split.first / 1000 % 10, others);
	return choose_finish(&in, said, arena, routing, diag);
}
