/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/trafficfile.h"

#include <stdlib.h>
#include <string.h>

#include "io/keyed.h"
#include "io/lines.h"

#define MAX_PAIRS (UINT32_C(1) << 28)

struct reader {
	struct osr_lines *in;
	struct osr_endports *x;
	bool begun;       /* something that counts was read */
	uint32_t n_ranks; /* 0: end ports */
	struct osr_pair *pair;
	uint32_t *row; /* begin of each phase */
	uint32_t n_pairs, pairs_room, n_phases, phases_room;
};

static enum osr_status begin_phase(struct reader *r)
{
	/* One without a pair is no phase. */
	if (r->n_phases && r->row[r->n_phases - 1] == r->n_pairs)
		return OSR_OK;
	if (!osr_grow((void **)&r->row, r->n_phases, 2, &r->phases_room, sizeof(*r->row)))
		return osr_lines_nomem(r->in);
	r->row[r->n_phases++] = r->n_pairs;
	return OSR_OK;
}

static bool whole_number(const char *text, uint64_t limit, uint32_t *n)
{
	uint64_t x;
	bool good = osr_scan(&text, "%d", &x) && !*text && x < limit;

	*n = good ? (uint32_t)x : 0;
	return good;
}

static enum osr_status trafficfile_find(struct reader *r, const char *word, uint32_t *end)
{
	struct osr_diag why = { "" };

	if (r->n_ranks) {
		if (whole_number(word, r->n_ranks, end))
			return OSR_OK;
		return osr_lines_fail(r->in, "\"%.40s\" is no rank from 0 to %u", word,
				      r->n_ranks - 1);
	}
	if (!r->x)
		return osr_lines_fail(r->in, "expected \"ranks N\" first");
	if (!osr_endports_find(r->x, word, end, &why))
		return OSR_OK;
	return osr_lines_fail(r->in, "%s", why.text);
}

static enum osr_status take_pair(struct reader *r, const char *from, char *rest)
{
	char *to = osr_word(&rest);
	struct osr_pair pair;
	enum osr_status st = OSR_OK;

	if (!to || osr_word(&rest))
		return osr_lines_fail(r->in, "expected \"phase\", or who sends and who receives");
	if (!r->n_phases)
		st = begin_phase(r);
	if (!st)
		st = trafficfile_find(r, from, &pair.from);
	if (!st)
		st = trafficfile_find(r, to, &pair.to);
	if (st)
		return st;
	if (pair.from == pair.to)
		return osr_lines_fail(r->in, "\"%.80s\" sends to itself", to);
	if (r->n_pairs == MAX_PAIRS ||
	    !osr_grow((void **)&r->pair, r->n_pairs, 1, &r->pairs_room, sizeof(*r->pair)))
		return osr_lines_nomem(r->in);
	r->pair[r->n_pairs++] = pair;
	return OSR_OK;
}

/* Terminals become ranks: those that take part, by their index. */
static enum osr_status trafficfile_finish(struct reader *r, struct osr_traffic *traffic)
{
	uint32_t n_terminals = r->x ? r->x->f->n_terminals : 0, *rank;

	if (!r->n_pairs)
		return osr_fail(r->in->diag, OSR_INVAL, "%s: it has no pairs", r->in->label);
	if (r->row[r->n_phases - 1] == r->n_pairs)
		r->n_phases--;
	if (!r->n_ranks) {
		rank = calloc(n_terminals, sizeof(*rank));
		traffic->hosts = malloc(n_terminals * sizeof(*traffic->hosts));
		if (!rank || !traffic->hosts) {
			free(rank);
			return osr_lines_nomem(r->in);
		}
		for (uint32_t i = 0; i < r->n_pairs; i++)
			rank[r->pair[i].from] = rank[r->pair[i].to] = 1;
		for (uint32_t k = 0; k < n_terminals; k++) {
			if (!rank[k])
				continue;
			traffic->hosts[r->n_ranks] = k;
			rank[k] = r->n_ranks++;
		}
		for (uint32_t i = 0; i < r->n_pairs; i++)
			r->pair[i] =
				(struct osr_pair){ rank[r->pair[i].from], rank[r->pair[i].to] };
		free(rank);
	}
	r->row[r->n_phases] = r->n_pairs;
	traffic->phases = (struct osr_phases){
		.n_ranks = r->n_ranks, .n_phases = r->n_phases, .row = r->row, .pair = r->pair
	};
	return OSR_OK;
}

enum osr_status osr_traffic_read(struct osr_lines *in, struct osr_endports *endports,
				 struct osr_traffic *traffic)
{
	struct reader r = { .in = in, .x = endports };
	enum osr_status st = OSR_OK;
	char *text;

	*traffic = (struct osr_traffic){ .hosts = NULL };
	in->by_people = true;
	while (!st && osr_lines_next(in, &text, &st)) {
		const char *word = osr_word(&text);

		if (!word)
			continue;
		if (!strcmp(word, "ranks")) {
			word = osr_word(&text);
			if (r.begun)
				st = osr_lines_fail(in, "\"ranks\" must come first");
			else if (!word || !whole_number(word, OSR_MAX_RANKS + 1, &r.n_ranks) ||
				 r.n_ranks < 2 || osr_word(&text))
				st = osr_lines_fail(in, "expected \"ranks N\", N from 2 to %u",
						    OSR_MAX_RANKS);
		} else {
			st = !strcmp(word, "phase") ? begin_phase(&r) : take_pair(&r, word, text);
		}
		r.begun = true;
	}
	if (!st)
		st = trafficfile_finish(&r, traffic);
	osr_lines_close(in);
	if (st) {
		free(r.row);
		free(r.pair);
		osr_traffic_free(traffic);
	}
	return st;
}

void osr_traffic_free(struct osr_traffic *traffic)
{
	free((void *)traffic->phases.row);
	free((void *)traffic->phases.pair);
	free(traffic->hosts);
	*traffic = (struct osr_traffic){ .hosts = NULL };
}
