/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One pass over the lines. Phases and sends go into growing arrays; the END of a loop appends what
 * lies between it and its LOOP as often as is still due.
 */
#include "simulator/tracefile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/lines.h"

#define MAX_PHASES 1000000u
#define MAX_SENDS 4000000u
#define MAX_SIDE 4096u
#define MAX_LOOPS 8
#define MAX_KEYS 1024u
#define NO_KEY UINT32_MAX

struct reader {
	struct osr_lines in;
	struct osr_trace *t;
	struct osr_diag *diag;
	uint32_t phases_room, sends_room;

	/* The phase that is being read, and the receives its sends must match. */
	struct osr_trace_phase now;
	bool open;
	struct osr_trace_send recv[64];
	uint32_t n_recvs;

	struct {
		uint32_t phase, times;
	} loop[MAX_LOOPS];
	uint32_t n_loops;
	uint8_t directions[MAX_KEYS]; /* of each key, a bit for -X, +X, -Y, ... */
};

static bool grow(void **list, uint32_t n, uint32_t *room, size_t size)
{
	uint32_t more = *room ? *room : 64;
	void *p;

	while (more < n)
		more *= 2;
	if (more == *room)
		return true;
	p = realloc(*list, more * size);
	if (!p)
		return false;
	*list = p;
	*room = more;
	return true;
}

static enum osr_status bad(struct reader *r, const char *what)
{
	return osr_lines_fail(&r->in, r->diag, "%s", what);
}

static enum osr_status nomem(struct reader *r)
{
	return osr_fail(r->diag, OSR_NOMEM, "%s: out of memory for a trace", r->in.label);
}

/* Words ---------------------------------------------------------------------------------------- */

static char *next_word(char **at)
{
	char *word = *at + strspn(*at, " \t\r");
	size_t n = strcspn(word, " \t\r");

	if (!n)
		return NULL;
	*at = word + n + (word[n] != '\0');
	word[n] = '\0';
	return word;
}

static bool whole(const char *word, uint32_t max, uint32_t *n)
{
	char *end;
	unsigned long x;

	if (!word || *word < '0' || *word > '9')
		return false;
	x = strtoul(word, &end, 10);
	*n = (uint32_t)x;
	return !*end && x <= max;
}

static bool real(const char *word, double max, double *x)
{
	char *end;

	if (!word || !((*word >= '0' && *word <= '9') || *word == '.'))
		return false;
	*x = strtod(word, &end);
	return !*end && isfinite(*x) && *x >= 0 && *x <= max;
}

/* "NAME number", if there is one more word at all. */
static bool option(char **rest, const char *name, char **value)
{
	char *word = next_word(rest);

	*value = NULL;
	if (!word)
		return true;
	if (strcasecmp(word, name))
		return false;
	*value = next_word(rest);
	return *value && !next_word(rest);
}

/* Lines ---------------------------------------------------------------------------------------- */

static enum osr_status take_cart(struct reader *r, char *rest)
{
	uint64_t n = 1;
	char *word;

	if (r->t->n_dims)
		return bad(r, "CART stands once, on the first line");
	while ((word = next_word(&rest))) {
		uint32_t side;

		if (r->t->n_dims == OSR_TRACE_DIMS || !whole(word, MAX_SIDE, &side) || !side)
			return bad(r, "expected CART and 1 to 4 sides of 1 to 4096");
		r->t->side[r->t->n_dims++] = side;
		n *= side;
	}
	if (!r->t->n_dims || n < 2 || n > OSR_MAX_RANKS)
		return bad(r, "CART has two ranks at least, and 2^20 at most");
	r->t->n_ranks = (uint32_t)n;
	return OSR_OK;
}

static enum osr_status take_calc(struct reader *r, char *rest)
{
	double calc, std = 0;
	char *word = next_word(&rest), *value;

	if (!real(word, 1e9, &calc) || !option(&rest, "STD", &value) ||
	    (value && !real(value, 1e9, &std)) || std > calc)
		return bad(r, "expected CALC seconds STD seconds, STD not above the first");
	r->now.calc += calc;
	r->now.std += std;
	r->open = true;
	return OSR_OK;
}

static enum osr_status read_message(struct reader *r, char *rest, struct osr_trace_send *m)
{
	static const char axes[] = "XYZW";
	char *where = next_word(&rest), *bytes = next_word(&rest), *tag;
	const char *axis =
		where && where[0] && where[1] && !where[2] ? strchr(axes, where[1] & ~0x20) : NULL;

	if (!axis || !*axis || (where[0] != '+' && where[0] != '-') ||
	    axis - axes >= (ptrdiff_t)r->t->n_dims)
		return bad(r, "expected a neighbour as +X or -Y, along a side of CART");
	m->dim = (uint8_t)(axis - axes);
	m->down = where[0] == '-';
	m->tag = 0;
	if (!real(bytes, 1e15, &m->bytes) || !option(&rest, "TAG", &tag) ||
	    (tag && !whole(tag, UINT32_MAX, &m->tag)))
		return bad(
			r,
			"expected bytes, and TAG with a number or nothing, behind the neighbour");
	return OSR_OK;
}

static enum osr_status take_send(struct reader *r, char *rest)
{
	struct osr_trace *t = r->t;
	struct osr_trace_send m;
	enum osr_status st = read_message(r, rest, &m);

	if (st)
		return st;
	if (r->now.n_sends == 64)
		return bad(r, "a phase has 64 sends at most");
	if (!grow((void **)&t->send, t->n_sends + 1, &r->sends_room, sizeof(*t->send)))
		return nomem(r);
	t->send[t->n_sends++] = m;
	r->now.n_sends++;
	r->open = true;
	return OSR_OK;
}

static enum osr_status take_recv(struct reader *r, char *rest)
{
	if (r->n_recvs == 64)
		return bad(r, "a phase has 64 receives at most");
	r->open = true;
	return read_message(r, rest, &r->recv[r->n_recvs++]);
}

/* Every receive along an axis is the other end of a send the other way. */
static bool all_match(const struct reader *r)
{
	bool taken[64] = { false };

	if (r->n_recvs != r->now.n_sends)
		return false;
	for (uint32_t i = 0; i < r->n_recvs; i++) {
		const struct osr_trace_send *m = &r->recv[i];
		uint32_t k = 0;

		for (; k < r->now.n_sends; k++) {
			const struct osr_trace_send *s = &r->t->send[r->now.first + k];

			if (!taken[k] && s->dim == m->dim && s->down != m->down &&
			    s->tag == m->tag && s->bytes == m->bytes)
				break;
		}
		if (k == r->now.n_sends)
			return false;
		taken[k] = true;
	}
	return true;
}

static enum osr_status check_key(struct reader *r)
{
	uint8_t directions = 0;

	if (r->now.key == NO_KEY || !r->now.n_sends)
		return OSR_OK;
	for (uint32_t k = 0; k < r->now.n_sends; k++) {
		const struct osr_trace_send *s = &r->t->send[r->now.first + k];

		directions |= (uint8_t)(1u << (2 * s->dim + !s->down));
	}
	if (r->directions[r->now.key] && r->directions[r->now.key] != directions)
		return bad(r, "the key was requested for other directions before");
	r->directions[r->now.key] = directions;
	return OSR_OK;
}

static void begin_phase(struct reader *r)
{
	uint32_t key = r->now.key;

	r->now = (struct osr_trace_phase){ .first = r->t->n_sends, .key = key };
	r->n_recvs = 0;
	r->open = false;
}

static enum osr_status take_barrier(struct reader *r, char *rest)
{
	struct osr_trace *t = r->t;
	char *word = next_word(&rest);
	enum osr_status st;

	if (word && strcasecmp(word, "ALL"))
		return bad(r, "expected BARRIER, or BARRIER ALL");
	if (!all_match(r))
		return bad(r, "the sends and receives up to this barrier do not match");
	st = check_key(r);
	if (st)
		return st;
	if (t->n_phases == MAX_PHASES)
		return bad(r, "more than a million phases");
	if (!grow((void **)&t->phase, t->n_phases + 1, &r->phases_room, sizeof(*t->phase)))
		return nomem(r);
	t->phase[t->n_phases++] = r->now;
	if (r->now.n_sends > t->max_sends)
		t->max_sends = r->now.n_sends;
	begin_phase(r);
	return OSR_OK;
}

static enum osr_status take_key(struct reader *r, char *rest, bool request)
{
	uint32_t key;

	if (!whole(next_word(&rest), MAX_KEYS - 1, &key) || next_word(&rest))
		return bad(r, "expected the number of a key, 0 to 1023");
	if (request && (r->now.key != NO_KEY || r->now.n_sends))
		return bad(r, "RODREQUEST stands before the sends, when no other key is in use");
	if (!request && (r->now.key != key || r->open))
		return bad(r, "RODDONE stands behind a BARRIER, and names the key in use");
	r->now.key = request ? key : NO_KEY;
	if (key >= r->t->n_keys)
		r->t->n_keys = key + 1;
	return OSR_OK;
}

static enum osr_status take_loop(struct reader *r, char *rest)
{
	uint32_t times;

	if (!whole(next_word(&rest), MAX_PHASES, &times) || !times || next_word(&rest))
		return bad(r, "expected LOOP and how many times");
	if (r->n_loops == MAX_LOOPS || r->open)
		return bad(r, "loops are 8 deep at most, and begin behind a BARRIER");
	r->loop[r->n_loops].phase = r->t->n_phases;
	r->loop[r->n_loops++].times = times;
	return OSR_OK;
}

/* The phases of the loop again; their sends are the same ones. */
static enum osr_status take_end(struct reader *r, char *rest)
{
	struct osr_trace *t = r->t;
	uint32_t from, n;
	uint64_t all;

	if (!r->n_loops || r->open || next_word(&rest))
		return bad(r, "END stands behind a BARRIER, and ends a LOOP");
	r->n_loops--;
	from = r->loop[r->n_loops].phase;
	n = t->n_phases - from;
	all = from + (uint64_t)n * r->loop[r->n_loops].times;
	if (all > MAX_PHASES)
		return bad(r, "more than a million phases");
	if (!grow((void **)&t->phase, (uint32_t)all + 1, &r->phases_room, sizeof(*t->phase)))
		return nomem(r);
	for (; t->n_phases < all; t->n_phases++)
		t->phase[t->n_phases] = t->phase[t->n_phases - n];
	return OSR_OK;
}

static enum osr_status take_line(struct reader *r, char *text)
{
	char *word;

	text[strcspn(text, "#")] = '\0';
	word = next_word(&text);
	if (!word)
		return OSR_OK;
	if (!strcasecmp(word, "CART"))
		return take_cart(r, text);
	if (!r->t->n_dims)
		return bad(r, "expected CART first");
	if (!strcasecmp(word, "CALC"))
		return take_calc(r, text);
	if (!strcasecmp(word, "SEND"))
		return take_send(r, text);
	if (!strcasecmp(word, "RECV"))
		return take_recv(r, text);
	if (!strcasecmp(word, "BARRIER"))
		return take_barrier(r, text);
	if (!strcasecmp(word, "RODREQUEST") || !strcasecmp(word, "RODDONE"))
		return take_key(r, text, !strcasecmp(word, "RODREQUEST"));
	if (!strcasecmp(word, "LOOP"))
		return take_loop(r, text);
	if (!strcasecmp(word, "END"))
		return take_end(r, text);
	return osr_lines_fail(&r->in, r->diag,
			      "\"%.40s\": expected CALC, SEND, RECV, BARRIER, RODREQUEST, RODDONE, "
			      "LOOP or END",
			      word);
}

static enum osr_status read_all(struct reader *r)
{
	enum osr_status st = OSR_OK;
	char *text;

	r->now.key = NO_KEY;
	while (!st && osr_lines_next(&r->in, &text, r->diag, &st))
		st = take_line(r, text);
	if (!st && (r->open || r->n_loops))
		st = osr_fail(r->diag, OSR_INVAL,
			      "%s: the last phase has no BARRIER, or a loop no END", r->in.label);
	if (!st && !r->t->n_phases)
		st = osr_fail(r->diag, OSR_INVAL, "%s: no phase", r->in.label);
	osr_lines_close(&r->in);
	if (st)
		osr_trace_free(r->t);
	return st;
}

enum osr_status osr_trace_read(const char *path, struct osr_trace *t, struct osr_diag *diag)
{
	struct reader r = { .t = t, .diag = diag };
	enum osr_status st = osr_lines_open(&r.in, path, diag);

	*t = (struct osr_trace){ 0 };
	return st ? st : read_all(&r);
}

enum osr_status osr_trace_parse(const char *text, size_t size, const char *label,
				struct osr_trace *t, struct osr_diag *diag)
{
	struct reader r = { .t = t, .diag = diag };
	enum osr_status st = osr_lines_text(&r.in, text, size, label, diag);

	*t = (struct osr_trace){ 0 };
	return st ? st : read_all(&r);
}

void osr_trace_free(struct osr_trace *t)
{
	free(t->phase);
	free(t->send);
	*t = (struct osr_trace){ 0 };
}

uint32_t osr_trace_pairs(const struct osr_trace *t, const struct osr_trace_send *send,
			 struct osr_pair *pair)
{
	uint32_t stride = 1, side = t->side[send->dim];

	if (side == 1)
		return 0;
	for (uint32_t d = 0; d < send->dim; d++)
		stride *= t->side[d];
	for (uint32_t i = 0; i < t->n_ranks; i++) {
		uint32_t at = i / stride % side;
		uint32_t to = (at + (send->down ? side - 1 : 1)) % side;

		pair[i] = (struct osr_pair){ i, i - at * stride + to * stride };
	}
	return t->n_ranks;
}
