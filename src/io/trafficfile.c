/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/trafficfile.h"

#include <osmroutes/invariant.h>

#include <stdlib.h>
#include <string.h>

#include "io/keyed.h"
#include "io/lines.h"

#define MAX_PAIRS (UINT32_C(1) << 28)

struct reader {
	struct osr_lines *in;
	struct osr_endports *endports;
	bool begun;       /* something that counts was read */
	uint32_t n_ranks; /* 0: end ports */
	struct osr_pair *pair;
	uint32_t *row; /* begin of each phase */
	uint32_t n_pairs, pairs_room, n_phases, phases_room;
};

static enum osr_status begin_phase(struct reader *reader)
{
	/* A phase has one pair at least. */
	if (reader->n_phases && reader->row[reader->n_phases - 1] == reader->n_pairs)
		return OSR_OK;
	if (!osr_grow((void **)&reader->row, reader->n_phases, 2, &reader->phases_room,
		      sizeof(*reader->row)))
		return osr_lines_nomem(reader->in);
	reader->row[reader->n_phases++] = reader->n_pairs;
	return OSR_OK;
}

static bool whole_number(const char *text, uint64_t limit, uint32_t *n)
{
	uint64_t x;
	bool good = osr_scan(&text, "%d", &x) && !*text && x < limit;

	*n = good ? x : 0;
	return good;
}

static enum osr_status trafficfile_find(struct reader *reader, const char *word, uint32_t *end)
{
	struct osr_diag why = { "" };

	if (reader->n_ranks) {
		if (whole_number(word, reader->n_ranks, end))
			return OSR_OK;
		return osr_lines_fail(reader->in, "\"%.40s\" is no rank from 0 to %u", word,
				      reader->n_ranks - 1);
	}
	if (!reader->endports)
		return osr_lines_fail(reader->in, "expected \"ranks N\" first");
	if (!osr_endports_find(reader->endports, word, end, &why))
		return OSR_OK;
	return osr_lines_fail(reader->in, "%s", why.text);
}

static enum osr_status take_pair(struct reader *reader, const char *from, char *rest)
{
	char *to = osr_word(&rest);
	struct osr_pair pair;
	enum osr_status st = OSR_OK;

	if (!to || osr_word(&rest))
		return osr_lines_fail(reader->in,
				      "expected \"phase\", or who sends and who receives");
	if (!reader->n_phases)
		st = begin_phase(reader);
	if (!st)
		st = trafficfile_find(reader, from, &pair.from);
	if (!st)
		st = trafficfile_find(reader, to, &pair.to);
	if (st)
		return st;
	if (pair.from == pair.to)
		return osr_lines_fail(reader->in, "\"%.80s\" sends to itself", to);
	if (reader->n_pairs == MAX_PAIRS || !osr_grow((void **)&reader->pair, reader->n_pairs, 1,
						      &reader->pairs_room, sizeof(*reader->pair)))
		return osr_lines_nomem(reader->in);
	reader->pair[reader->n_pairs++] = pair;
	return OSR_OK;
}

/* Terminals that take part become ranks, by their index. */
static enum osr_status trafficfile_finish(struct reader *reader, struct osr_traffic *traffic)
{
	uint32_t n_terminals = reader->endports ? reader->endports->fabric->n_terminals : 0, *rank;

	if (!reader->n_pairs)
		return osr_fail(reader->in->diag, OSR_INVAL, "%s: it has no pairs",
				reader->in->label);
	if (reader->row[reader->n_phases - 1] == reader->n_pairs)
		reader->n_phases--;
	if (!reader->n_ranks) {
		rank = calloc(n_terminals, sizeof(*rank));
		traffic->hosts = malloc(n_terminals * sizeof(*traffic->hosts));
		if (!rank || !traffic->hosts) {
			free(rank);
			return osr_lines_nomem(reader->in);
		}
		for (uint32_t i = 0; i < reader->n_pairs; i++)
			rank[reader->pair[i].from] = rank[reader->pair[i].to] = 1;
		for (uint32_t k = 0; k < n_terminals; k++) {
			if (!rank[k])
				continue;
			traffic->hosts[reader->n_ranks] = k;
			rank[k] = reader->n_ranks++;
		}
		for (uint32_t i = 0; i < reader->n_pairs; i++)
			reader->pair[i] = (struct osr_pair){ rank[reader->pair[i].from],
							     rank[reader->pair[i].to] };
		free(rank);
	}
	osr_invariant(reader->n_phases > 0 && reader->n_phases < reader->phases_room);
	for (uint32_t i = 0; i < reader->n_pairs; i++)
		osr_invariant(reader->pair[i].from < reader->n_ranks &&
			      reader->pair[i].to < reader->n_ranks);
	reader->row[reader->n_phases] = reader->n_pairs;
	traffic->phases = (struct osr_phases){ .n_ranks = reader->n_ranks,
					       .n_phases = reader->n_phases,
					       .row = reader->row,
					       .pair = reader->pair };
	return OSR_OK;
}

enum osr_status osr_traffic_read(struct osr_lines *in, struct osr_endports *endports,
				 struct osr_traffic *traffic)
{
	struct reader reader = { .in = in, .endports = endports };
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
			if (reader.begun)
				st = osr_lines_fail(in, "\"ranks\" must come first");
			else if (!word || !whole_number(word, OSR_MAX_RANKS + 1, &reader.n_ranks) ||
				 reader.n_ranks < 2 || osr_word(&text))
				st = osr_lines_fail(in, "expected \"ranks N\", N from 2 to %u",
						    OSR_MAX_RANKS);
		} else {
			st = !strcmp(word, "phase") ? begin_phase(&reader)
						    : take_pair(&reader, word, text);
		}
		reader.begun = true;
	}
	if (!st)
		st = trafficfile_finish(&reader, traffic);
	osr_lines_close(in);
	if (st) {
		free(reader.row);
		free(reader.pair);
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
