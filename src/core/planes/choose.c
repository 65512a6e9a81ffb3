/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which planes a fabric gets: those with which flows that are split evenly over all LIDs fare best,
 * and the first LID repeated where that gains little.
 */
#include "planes_private.h"

#include <stdio.h>
#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/split.h>

#define GAIN 1010   /* permille of what the first LIDs give, for other planes than these repeated */
#define MUCH 1050   /* permille of them, which exchange gives on trees */
#define MANY 8      /* planes that a damaged tree has ways for that places leave unused */
#define BETTER 1005 /* permille of what the planes before give */
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

enum osr_status osr_planes_find_mates(struct planes_in *in, struct osr_diag *diag)
{
	if (in->has_mates)
		return OSR_OK;
	in->has_mates = true;
	return osr_planes_mates(in->fabric, in->first, in->plane0, in->scratch, &in->mates, diag);
}

enum osr_status osr_planes_offer(const struct planes_in *in, enum osr_plane kind,
				 struct planes_offer *offer, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = in->fabric;
	uint32_t n = in->mates.n,
		 *tree_of = osr_alloc(in->scratch, fabric->n_dests, sizeof(*tree_of));
	uint8_t *kinds = osr_alloc(in->scratch, n, sizeof(*kinds));

	offer->own.lft = osr_alloc(in->scratch, (size_t)fabric->n_dests * fabric->n_switches, 1);
	if (osr_arena_failed(in->scratch, diag))
		return OSR_NOMEM;
	memcpy(tree_of, in->mates.tree_of, fabric->n_dests * sizeof(*tree_of));
	memset(kinds, kind, n);
	offer->first = *in->plane0;
	offer->planes = (struct osr_planes){ n, kinds, tree_of };
	return OSR_OK;
}

/* Is it the same tree to one switch, whose own entry does not count? */
static bool planes_same(const uint8_t *a, const uint8_t *b, size_t n, uint32_t root)
{
	return !memcmp(a, b, root) && !memcmp(a + root + 1, b + root + 1, n - root - 1);
}

void osr_planes_own(const struct planes_in *in, uint32_t lid, const uint8_t *row,
		    struct planes_offer *offer)
{
	size_t n = in->fabric->n_switches;
	uint32_t root = in->fabric->dest_switch[lid];

	OSR_EACH_TERMINAL(t, in->first, root) {
		uint32_t d = in->first->lid_dest[in->first->term_lid[t]];

		if (!in->first->term_weight[t] ||
		    !planes_same(in->plane0->lft + d * n, row, n, root))
			continue;
		offer->planes.tree_of[lid] = in->fabric->lid_dest[in->first->term_lid[t]];
		return;
	}
	offer->planes.tree_of[lid] = lid;
	memcpy(offer->own.lft + lid * n, row, n);
}

static enum osr_status choose_mates(struct planes_in *in, struct planes_offer *offer,
				    struct osr_diag *why)
{
	enum osr_status st = osr_planes_find_mates(in, why);

	offer->planes = in->mates;
	return st;
}

static const struct choice {
	const char *name;
	enum osr_status (*make)(struct planes_in *in, struct planes_offer *offer,
				struct osr_diag *why);
	enum { ALWAYS, WHOLE_TREE, NO_TREE, NEITHER, MANY_WAYS } when;
} choices[] = {
	{ "exchange", osr_planes_exchange, ALWAYS },
	{ "exchange all around", osr_planes_exchange_round, WHOLE_TREE },
	{ "dimensions in reverse", osr_planes_reverse, NO_TREE },
	{ "mates", choose_mates, NEITHER },
	{ "routes of their own", osr_planes_ways, MANY_WAYS },
};

struct chooser {
	struct planes_in in;
	struct osr_arena *arena; /* of the tables */
	struct osr_arena_mark mark;
	struct osr_routing *routing;
	struct planes_offer best;
	const char *name, *made; /* of the best; of the tables that are there */
	bool lines;              /* dimensions can be in reverse */
	bool gains;              /* something that has been measured does */
	uint64_t wanted;         /* of the next one, in thousandths of a millionth of a link */
	uint32_t first;          /* what first LIDs give */
	char others[NOTE];
};

/*
 * On whole trees exchange gains for sure, and mates serve no better; neither do they where dimensions
 * can be in reverse. Routes of their own serve damaged trees with many LIDs. On what is no tree they
 * gain nothing where mates do not.
 */
static bool choose_is_asked(const struct chooser *chooser, const struct choice *choice)
{
	bool whole = chooser->best.whole,
	     tree = whole || chooser->wanted > (uint64_t)chooser->first * MUCH;

	switch (choice->when) {
	case ALWAYS:
		return true;
	case WHOLE_TREE:
		return whole;
	case NO_TREE:
		return !tree;
	case NEITHER:
		return !tree && !chooser->lines;
	default:
		if (!tree)
			return chooser->gains && !chooser->lines;
		return !whole && chooser->in.mates.n >= MANY;
	}
}

static enum osr_status choose_expand(struct chooser *chooser, const struct planes_offer *offer,
				     const char *name, struct osr_diag *diag)
{
	osr_arena_reset(chooser->arena, chooser->mark);
	chooser->made = name;
	return osr_planes_expand(chooser->in.fabric, chooser->in.first, &offer->first,
				 &offer->planes, offer->own.lft ? &offer->own : NULL,
				 chooser->arena, chooser->routing, diag);
}

/* Is it the best so far? */
static enum osr_status choose_measure(struct chooser *chooser, const struct planes_offer *offer,
				      const char *name, struct osr_diag *diag)
{
	enum osr_status st = choose_expand(chooser, offer, name, diag);
	struct osr_split split = { 0 };
	size_t n = strlen(chooser->others);

	if (!st)
		st = osr_split_measure(chooser->in.fabric, chooser->routing, OSR_SPLIT_CHOICE,
				       chooser->in.scratch, &split, diag);
	if (st)
		return st;
	snprintf(chooser->others + n, sizeof(chooser->others) - n, ", by %s %u.%u %%", name,
		 split.all / 10000, split.all / 1000 % 10);
	/* Where first LIDs give a whole link, there is nothing to lose by other routes. */
	if (!chooser->wanted)
		chooser->wanted = (uint64_t)split.first * GAIN;
	if (chooser->wanted > WHOLE)
		chooser->wanted = WHOLE;
	chooser->first = split.first;
	chooser->gains |= split.all > split.first;
	if ((uint64_t)split.all * 1000 < chooser->wanted)
		return OSR_OK;
	chooser->wanted = (uint64_t)split.all * BETTER;
	chooser->best = *offer;
	chooser->name = name;
	return OSR_OK;
}

/* One of the choices. The only one that a whole tree has is taken without a measurement. */
static enum osr_status choose_ask(struct chooser *chooser, const struct choice *choice,
				  const struct planes_offer *none, struct osr_diag *diag)
{
	struct planes_offer offer = *none;
	struct osr_diag why = { "" };
	size_t n = strlen(chooser->others);
	enum osr_status st = choice->make(&chooser->in, &offer, &why);

	if (st == OSR_NOT_APPLICABLE) {
		if (*why.text)
			snprintf(chooser->others + n, sizeof(chooser->others) - n,
				 ", not by %s: %s", choice->name, why.text);
		return OSR_OK;
	}
	if (st)
		return osr_fail(diag, st, "%s", why.text);
	chooser->lines |= choice->when == NO_TREE;
	if (offer.whole && !chooser->name) {
		chooser->best = offer;
		chooser->name = choice->name;
		return OSR_OK;
	}
	if (chooser->name && !chooser->wanted)
		st = choose_measure(chooser, &chooser->best, chooser->name, diag);
	return st ? st : choose_measure(chooser, &offer, choice->name, diag);
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
	struct chooser chooser = { .in = { .fabric = fabric,
					   .first = first,
					   .plane0 = plane0,
					   .request = request,
					   .scratch = scratch },
				   .arena = arena,
				   .mark = osr_arena_mark(arena),
				   .routing = routing };
	struct planes_offer none = { .first = *plane0 };
	char said[2 * NOTE], figures[NOTE] = "";
	enum osr_status st = osr_planes_repeat(fabric, scratch, &chooser.in.mates, diag);

	if (!st)
		st = osr_planes_repeat(fabric, scratch, &none.planes, diag);
	chooser.best = none;
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]) && !st; i++)
		if (chooser.wanted < WHOLE && choose_is_asked(&chooser, &choices[i]))
			st = choose_ask(&chooser, &choices[i], &none, diag);
	/* The tables of the best are there, unless those of a later one have replaced them. */
	if (!st && (!chooser.made || chooser.name != chooser.made))
		st = choose_expand(&chooser, &chooser.best, chooser.name, diag);
	if (st)
		return st;
	if (chooser.wanted)
		snprintf(figures, sizeof(figures),
			 "bandwidth of flows that are split over all: the first one repeated %u.%u "
			 "%%%s",
			 chooser.first / 10000, chooser.first / 1000 % 10, chooser.others);
	snprintf(said, sizeof(said), "%u LIDs a port: %s; %s", chooser.in.mates.n,
		 chooser.name ? chooser.name : "the first one repeated",
		 *figures ? figures : "the tree is whole");
	return choose_finish(&chooser.in, said, arena, routing, diag);
}
