/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/subject.h"

#include <string.h>

#include "cli/cli.h"

/* ---- the command line ----------------------------------------------------------------------- */

static error_t ask_parse(int key, char *arg, struct argp_state *state)
{
	struct cli_ask *ask = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		/* These words, then the FILE of input.h. */
		if (state->arg_num >= ask->n_words)
			return ARGP_ERR_UNKNOWN;
		ask->word[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (ask->n_words && !ask->word[ask->n_words - 1])
			argp_error(state, "%s", ask->expected);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct cli_part parts[] = { { &input_spec, offsetof(struct cli_ask, src.in) },
					 { &engines_spec, offsetof(struct cli_ask, src.who) },
					 { &dumps_spec, offsetof(struct cli_ask, src.dumps) },
					 { &out_spec, offsetof(struct cli_ask, out) },
					 { 0 } };

const struct cli_spec ask_spec = { .parse = ask_parse, .parts = parts };

/* ---- the work ------------------------------------------------------------------------------- */

static enum osr_status load_engine(struct cli_source *s, struct osr_diag *diag)
{
	enum osr_status st;

	if (s->who.n > 1)
		return osr_fail(diag, OSR_INVAL, "expected exactly one engine");
	st = cli_subjects_load(&s->who, &s->in, diag);
	if (st)
		return st;
	cli_tables_make(&s->who, 0, &s->in.fabric, NULL, &s->made);
	if (s->made.st)
		return osr_fail(diag, s->made.st, "%s: %.400s", cli_source_name(s),
				s->made.diag.text);
	s->gen = (struct osr_generation){ .routing = &s->made.routing };
	return OSR_OK;
}

static enum osr_status load_dumps(struct cli_source *s, struct osr_diag *diag)
{
	enum osr_status st = cli_input_load(&s->in, diag);

	if (!st)
		st = cli_dumps_load(&s->dumps, &s->in, diag);
	s->gen = s->dumps.gen;
	return st;
}

/* The tables alone, without a word about them. */
static enum osr_status cli_source_load(struct cli_source *s, struct osr_diag *diag)
{
	bool named = !s->who.by_default;
	enum osr_status st = OSR_OK;

	/* A live fabric has tables, and so has a directory of dumps. */
	if (!named || !s->in.is_live)
		st = cli_dumps_from_input(&s->dumps, &s->in, diag);
	if (st)
		return st;
	s->is_engine =
		named || (!s->needs_tables && !s->dumps.lft && !s->dumps.is_live && !s->dumps.dir);
	if (!s->is_engine && !s->dumps.lft && !s->dumps.is_live && !s->dumps.dir)
		return osr_fail(diag, OSR_INVAL,
				"say which tables to check: -e NAME: those of an engine; "
				"--lft=FILE: forwarding tables; --tables=DIR, or DIR as the only "
				"argument: dumps; --live: those in the switches");
	return s->is_engine ? load_engine(s, diag) : load_dumps(s, diag);
}

enum osr_status cli_ask_begin(struct cli_ask *ask, struct osr_diag *diag)
{
	enum osr_status st = cli_source_load(&ask->src, diag);

	if (st)
		return st;
	out_row(&ask->out, "summary");
	cli_input_say(&ask->src.in, &ask->out);
	return OSR_OK;
}

int cli_ask_end(struct cli_ask *ask, enum osr_status st, const struct osr_diag *diag, int code)
{
	struct cli_source *s = &ask->src;

	if (st)
		out_drop(&ask->out);
	code = st ? cli_fail(st, diag) : out_end(&ask->out, code);
	cli_tables_free(&s->made);
	cli_dumps_free(&s->dumps);
	cli_subjects_free(&s->who);
	cli_input_free(&s->in);
	return code;
}

const char *cli_source_name(const struct cli_source *s)
{
	if (s->is_engine)
		return cli_subject_name(&s->who.item[0]);
	return s->dumps.is_live ? "the switches" : s->dumps.lft;
}

bool cli_source_any_sl(const struct cli_source *s)
{
	return s->dumps.sl < 0 && !s->gen.paths && !s->gen.routing->sl;
}

uint8_t cli_source_sl(const struct cli_source *s, uint32_t term, uint32_t dest)
{
	const struct osr_routing *routing = s->gen.routing;
	const struct osr_paths *p = s->gen.paths;
	size_t n_dests = s->in.fabric.n_dests;

	if (s->dumps.sl >= 0)
		return (uint8_t)s->dumps.sl;
	if (p)
		return p->row[term] == OSR_NONE ? OSR_NO_SL : p->sl[p->row[term] * n_dests + dest];
	if (routing->sl)
		return routing
			->sl[(size_t)dest * routing->n_switches + s->in.fabric.term_switch[term]];
	return 0;
}

uint8_t cli_source_term_vl(const struct cli_source *s, uint32_t term, uint8_t sl)
{
	if (sl > 15)
		return OSR_VL_UNSET;
	if (s->gen.term_sl2vl && s->in.fabric.term_port[term])
		return s->gen.term_sl2vl[term][sl];
	return s->gen.routing->sl2vl ? s->gen.routing->ca_sl2vl[sl] : sl;
}

uint8_t cli_source_switch_vl(const struct cli_source *s, uint32_t sw, uint8_t in, uint8_t out,
			     uint8_t sl)
{
	const struct osr_routing *routing = s->gen.routing;
	size_t pair = in * ((size_t)s->in.fabric.sw_n_ports[sw] + 1) + out;

	if (sl > 15)
		return OSR_VL_UNSET;
	return routing->sl2vl ? routing->sl2vl[routing->sl2vl_row[sw] + pair][sl] : sl;
}

void cli_say_cable(struct out *out, const char *from, unsigned from_port, const char *to,
		   unsigned to_port)
{
	out_text(out, "from", from);
	out_count(out, "from_port", from_port);
	out_text(out, "to", to);
	out_count(out, "to_port", to_port);
	out_textf(out, "cable", "%s:%u - %s:%u", from, from_port, to, to_port);
}
