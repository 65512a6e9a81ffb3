/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Are these tables right? Every fault is named (audit.h), credit loops are looked for by themselves
 * (union.h), and where nothing is wrong the checker has to agree, with the certificate found.
 */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/audit.h>
#include <osmroutes/check.h>

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/dumps.h"

enum { OPT_MAX = 256, OPT_ONE_WAY, OPT_HOSTS };

static const struct argp_option options[] = {
	{ "one-way", OPT_ONE_WAY, NULL, 0, "replies need not be safe on the SL of their request",
	  0 },
	{ "hosts", OPT_HOSTS, NULL, 0,
	  "only packets between hosts count, none to or from port 0 of a switch", 0 },
	{ "max", OPT_MAX, "N", 0, "list so many faults of each kind (default 10)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

struct args {
	struct cli_input in;
	struct cli_dumps tables;
	struct out out;
	uint32_t max_listed;
	bool one_way;
	uint32_t scope; /* OSR_ONLY_HOSTS or 0 */
};

/* Whether packets can deadlock: one-way, with replies too, with multicast too, on any SL. */
struct loops {
	bool free_one_way, free_replies, free_mcast, free_any_sl;
	const char *what; /* of the loop shown */
	struct osr_loop loop;
};

struct outcome {
	struct osr_arena scratch, result;
	struct osr_audit audit;
	struct loops loops;
	bool checked; /* the checker was asked */
	struct osr_verdict verdict;
	enum osr_status check_st;
	struct osr_diag diag;
	uint32_t n_missing; /* switches without a table */
	struct cli_stamp time;
};

/* ---- the work ------------------------------------------------------------------------------- */

static enum osr_status look(const struct args *a, struct outcome *o, uint32_t modes, bool *is_free,
			    struct osr_loop *loop, uint32_t *rank)
{
	enum osr_status st = osr_union_loop(&a->in.fabric, &a->tables.gen, 1, modes | a->scope,
					    &o->scratch, &o->result, loop, rank, &o->diag);

	*is_free = loop->n == 0;
	return st;
}

/*
 * All at once first: mostly there is no loop. If there is one, the narrowest question that still has
 * it says what it is made of.
 */
static enum osr_status find_loops(const struct args *a, struct outcome *o, uint32_t *rank)
{
	uint32_t replies = a->one_way ? 0 : OSR_CLAIM_REVERSIBLE;
	struct loops *l = &o->loops;
	struct osr_loop other = { 0 };
	bool all;
	enum osr_status st;

	st = look(a, o, replies | OSR_CLAIM_MULTICAST, &all, &l->loop, rank);
	l->what = "replies and multicast together";
	l->free_one_way = l->free_replies = l->free_mcast = all;
	if (!st && !all)
		st = look(a, o, OSR_CLAIM_MULTICAST, &l->free_mcast, &other, NULL);
	if (!st && !all && !l->free_mcast) {
		l->loop = other;
		l->what = "multicast";
	}
	if (!st && !all)
		st = look(a, o, replies, &l->free_replies, &other, NULL);
	if (!st && !all && !l->free_replies) {
		l->loop = other;
		l->what = "replies on the SL of their request";
	}
	if (!st && !all)
		st = look(a, o, 0, &l->free_one_way, &other, NULL);
	if (!st && !all && !l->free_one_way) {
		l->loop = other;
		l->what = "one-way traffic";
	}
	if (!st && l->free_one_way)
		st = look(a, o, OSR_CLAIM_ANY_SL, &l->free_any_sl, &other, NULL);
	return st;
}

static uint32_t sls_in_use(const struct osr_fabric *f, const struct osr_routing *r)
{
	uint32_t sls = 0;

	for (size_t i = 0; r->sl && i < (size_t)f->n_dests * f->n_switches; i++)
		sls |= 1u << r->sl[i];
	return r->sl ? sls : 0xffff;
}

static bool carries(const uint8_t *table, uint32_t sls, unsigned n_vls)
{
	for (; sls; sls &= sls - 1)
		if (table[__builtin_ctz(sls)] >= n_vls)
			return false;
	return true;
}

/* Do all pairs of ports carry these SLs to whatever is cabled, whether packets use them or not? */
static bool carries_all(const struct args *a, uint32_t sls)
{
	const struct osr_fabric *f = &a->in.fabric;
	const struct osr_tables *t = &a->tables.t;

	for (uint32_t s = 0; t->routing.sl2vl && s < f->n_switches; s++)
		for (unsigned in = 0; in <= f->sw_n_ports[s]; in++) {
			for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++)
				if (!carries(osr_tables_sl2vl(t, s, in, f->chan_port[c]), sls,
					     f->chan_vls[c]))
					return false;
			for (uint32_t e = f->term_row[s]; e < f->term_row[s + 1]; e++)
				if (f->term_port[e] &&
				    !carries(osr_tables_sl2vl(t, s, in, f->term_port[e]), sls,
					     OSR_MAX_VLS))
					return false;
		}
	return true;
}

/*
 * The checker knows SLs by switch and one SL2VL table for all CAs, and follows also the packets that
 * nobody sends, from port 0 to port 0. It must agree about tables without
 * a fault; multicast tables it does not know.
 */
static void ask_checker(struct args *a, struct outcome *o, uint32_t *rank)
{
	struct osr_routing r = a->tables.t.routing;

	for (unsigned kind = 0; kind < OSR_N_FAULTS; kind++)
		if (o->audit.n_faults[kind])
			return;
	if (a->scope || o->audit.n_idle || a->tables.gen.paths || !a->tables.same_ca ||
	    !o->loops.free_one_way)
		return;
	if (!carries_all(a, sls_in_use(&a->in.fabric, &r)))
		return;
	r.claims = o->audit.n_longer ? 0 : OSR_CLAIM_MINIMAL;
	if (o->loops.loop.n == 0) {
		r.claims |= OSR_CLAIM_DEADLOCK_FREE | (a->one_way ? 0 : OSR_CLAIM_REVERSIBLE);
		r.rank = rank;
	}
	for (unsigned sl = 0; r.sl2vl && !r.sl && sl < 16; sl++)
		if (r.ca_sl2vl[sl] >= r.n_vls)
			return;
	o->checked = true;
	o->check_st = osr_check(&a->in.fabric, &r, &o->scratch, &o->verdict, &o->diag);
}

static enum osr_status judge(struct args *a, struct outcome *o)
{
	const struct osr_fabric *f = &a->in.fabric;
	uint32_t modes = a->scope | (a->one_way ? 0 : OSR_CLAIM_REVERSIBLE);
	struct cli_stamp start = cli_now();
	uint32_t *rank = osr_alloc(&o->result, (size_t)OSR_MAX_VLS * f->n_channels, sizeof(*rank));
	enum osr_status st;

	if (!rank)
		return osr_fail(&o->diag, OSR_NOMEM, "out of memory for a certificate");
	st = osr_audit(f, &a->tables.gen, modes, a->max_listed, &o->scratch, &o->result, &o->audit,
		       &o->diag);
	if (!st)
		st = find_loops(a, o, rank);
	if (!st)
		ask_checker(a, o, rank);
	for (uint32_t s = 0; s < f->n_switches; s++)
		o->n_missing += !a->tables.t.has_lft[s];
	o->time = cli_since(start);
	return st;
}

static bool is_good(const struct outcome *o)
{
	for (unsigned kind = 0; kind < OSR_N_FAULTS; kind++)
		if (o->audit.n_faults[kind])
			return false;
	return o->loops.loop.n == 0 && !(o->checked && o->check_st);
}

/* ---- what is said --------------------------------------------------------------------------- */

static const struct out_field head_fields[] = {
	CLI_INPUT_FIELDS,
	CLI_DUMPS_FIELDS,
	{ "check_ms.cpu", NULL, OUT_REAL, 1 },
	{ "check_ms.wall", NULL, OUT_REAL, 1 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field verdict_fields[] = {
	{ "entries", "entries (switch, LID)", OUT_COUNT, 0 },
	{ "routes", "routes that arrive", OUT_COUNT, 0 },
	{ "routes_longer", "  longer than minimal", OUT_COUNT, 0 },
	{ "max_longer", "    by channels, at most", OUT_COUNT, 0 },
	{ "max_hops", "  longest, channels", OUT_COUNT, 0 },
	{ "no_path", "in different parts", OUT_COUNT, 0 },
	{ "idle", "bad, met by no packet", OUT_COUNT, 0 },
	{ "lost", "pairs of hosts cut off", OUT_COUNT, 0 },
	{ "efi", "edge forwarding index", OUT_COUNT, 0 },
	{ "efi_mean", "  average", OUT_REAL, 1 },
	{ "faults.no_table", "switches without a table", OUT_COUNT, 0 },
	{ "faults.hole", "holes", OUT_COUNT, 0 },
	{ "faults.dead_end", "dead ends", OUT_COUNT, 0 },
	{ "faults.wrong_port", "wrong ports", OUT_COUNT, 0 },
	{ "faults.loop", "loops", OUT_COUNT, 0 },
	{ "faults.no_sl", "paths without an SL", OUT_COUNT, 0 },
	{ "faults.sl2vl", "wrong SL2VL entries", OUT_COUNT, 0 },
	{ "faults.multicast_loop", "multicast groups that loop", OUT_COUNT, 0 },
	{ "faults.multicast_split", "multicast members cut off", OUT_COUNT, 0 },
	{ "deadlock_free.one_way", "deadlock-free", OUT_BOOL, 0 },
	{ "deadlock_free.replies", "  also for replies", OUT_BOOL, 0 },
	{ "deadlock_free.multicast", "  also with multicast", OUT_BOOL, 0 },
	{ "deadlock_free.any_sl", "  also on any SL", OUT_BOOL, 0 },
	{ "checker", "the checker", OUT_TEXT, 0 },
	{ "verdict", "verdict", OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field fault_fields[] = {
	{ "kind", "fault", OUT_TEXT, 0 },
	{ "switch", NULL, OUT_TEXT, 0 },
	{ "guid", NULL, OUT_TEXT, 0 },
	{ "in", NULL, OUT_COUNT, 0 },
	{ "out", NULL, OUT_COUNT, 0 },
	{ "lid", NULL, OUT_COUNT, 0 },
	{ "end_port", NULL, OUT_TEXT, 0 },
	{ "sl", NULL, OUT_COUNT, 0 },
	{ "vl", NULL, OUT_COUNT, 0 },
	{ "hosts", NULL, OUT_COUNT, 0 },
	{ "message", "what is wrong", OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "verdict", OUT_ONE, verdict_fields },
	{ "faults", OUT_ROWS, fault_fields },
	{ "loop", OUT_ROWS, cli_loop_fields },
	{ NULL, 0, NULL },
};

static const char *const fault_key[OSR_N_FAULTS] = {
	[OSR_FAULT_HOLE] = "faults.hole",
	[OSR_FAULT_DEAD_END] = "faults.dead_end",
	[OSR_FAULT_WRONG_PORT] = "faults.wrong_port",
	[OSR_FAULT_LOOP] = "faults.loop",
	[OSR_FAULT_NO_SL] = "faults.no_sl",
	[OSR_FAULT_SL2VL] = "faults.sl2vl",
	[OSR_FAULT_GROUP_LOOP] = "faults.multicast_loop",
	[OSR_FAULT_GROUP_SPLIT] = "faults.multicast_split",
};

static void say_verdict(const struct args *a, struct out *out, const struct outcome *o)
{
	const struct osr_audit *x = &o->audit;
	const struct loops *l = &o->loops;

	out_row(out, "verdict");
	out_count(out, "entries", x->n_entries);
	out_count(out, "routes", x->n_routes);
	out_count(out, "routes_longer", x->n_longer);
	out_count(out, "max_longer", x->max_longer);
	out_count(out, "max_hops", x->max_hops);
	out_count(out, "no_path", x->n_no_path);
	out_count(out, "idle", x->n_idle);
	out_count(out, "lost", x->n_lost);
	out_count(out, "efi", x->efi);
	out_real(out, "efi_mean", x->efi_mean);
	out_count(out, "faults.no_table", o->n_missing);
	for (unsigned kind = 0; kind < OSR_N_FAULTS; kind++)
		out_count(out, fault_key[kind], x->n_faults[kind]);
	out_bool(out, "deadlock_free.one_way", l->free_one_way);
	if (!a->one_way)
		out_bool(out, "deadlock_free.replies", l->free_replies);
	if (a->tables.gen.groups)
		out_bool(out, "deadlock_free.multicast", l->free_mcast);
	out_bool(out, "deadlock_free.any_sl", l->free_any_sl);
	if (o->checked)
		out_text(out, "checker", o->check_st ? "REFUSES" : "agrees");
	out_text(out, "verdict", is_good(o) ? "good" : "WRONG");
	if (o->checked && o->check_st)
		out_note(out, "the checker: %s", o->diag.text);
}

static void say_fault(const struct osr_fabric *f, struct out *out, const struct osr_fault *x)
{
	struct osr_diag diag;
	char buf[32];

	osr_fault_say(f, x, &diag);
	out_row(out, "faults");
	out_text(out, "kind", osr_fault_name(x->kind));
	if (x->sw != OSR_NONE) {
		out_text(out, "switch", osr_switch_name(f, x->sw, buf));
		out_textf(out, "guid", "0x%016llx", (unsigned long long)f->sw_guid[x->sw]);
		out_count(out, "in", x->in);
		out_count(out, "out", x->out);
	}
	if (x->dest != OSR_NONE)
		out_count(out, "lid", f->dest_lid[x->dest]);
	else if (x->mlid)
		out_count(out, "lid", x->mlid);
	if (x->term != OSR_NONE)
		out_text(out, "end_port", osr_terminal_name(f, x->term, buf));
	if (x->kind == OSR_FAULT_SL2VL) {
		out_count(out, "sl", x->sl);
		out_count(out, "vl", x->vl);
	}
	out_count(out, "hosts", x->n_hosts);
	out_text(out, "message", diag.text);
}

static void say_loop(const struct osr_fabric *f, struct out *out, const struct loops *l)
{
	cli_loop_say(f, out, &l->loop);
	if (l->loop.n)
		out_note(out,
			 "credit loop of %u channels in %s: each packet waits for the next one's "
			 "channel",
			 l->loop.n, l->what);
}

static void say(struct args *a, const struct outcome *o)
{
	struct out *out = &a->out;

	out_row(out, "summary");
	cli_input_say(&a->in, out);
	cli_dumps_say(&a->tables, out);
	out_real(out, "check_ms.cpu", o->time.cpu);
	out_real(out, "check_ms.wall", o->time.wall);
	say_verdict(a, out, o);
	for (uint32_t i = 0; i < o->audit.n_listed; i++)
		say_fault(&a->in.fabric, out, &o->audit.fault[i]);
	say_loop(&a->in.fabric, out, &o->loops);
}

/* ---- the command line ----------------------------------------------------------------------- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case OPT_MAX:
		a->max_listed = (uint32_t)cli_take_number(arg, "max", 0, 1000000, state);
		return 0;
	case OPT_HOSTS:
		a->scope = OSR_ONLY_HOSTS;
		return 0;
	case OPT_ONE_WAY:
		a->one_way = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->in;
		state->child_inputs[1] = &a->tables;
		state->child_inputs[2] = &a->out;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run(struct args *a)
{
	struct outcome o = { 0 };
	enum osr_status st = cli_dumps_from_input(&a->tables, &a->in, &o.diag);
	int code;

	if (!st)
		st = cli_input_load(&a->in, &o.diag);
	if (!st)
		st = cli_dumps_load(&a->tables, &a->in, &o.diag);
	if (!st)
		st = judge(a, &o);
	if (st) {
		out_drop(&a->out);
		code = cli_fail(st, &o.diag);
	} else {
		say(a, &o);
		code = out_end(&a->out, is_good(&o) ? CLI_OK : CLI_BAD);
	}
	osr_arena_free(&o.scratch);
	osr_arena_free(&o.result);
	return code;
}

int cli_check(int argc, char **argv)
{
	static const struct argp_child children[] = { { &input_argp, 0, NULL, 0 },
						      { &dumps_argp, 0, NULL, 0 },
						      { &out_argp, 0, NULL, 0 },
						      { NULL, 0, NULL, 0 } };
	static const struct argp argp = {
		options,
		parse,
		"FILE|DIR",
		"Judges the tables of a fabric, whoever made them: reach, loops, "
		"lengths, SLs and VLs, multicast, credit loops. FILE is the "
		"fabric; DIR holds OpenSM's dumps, fabric and tables.",
		children,
		NULL,
		NULL
	};
	struct args a = { .in = CLI_INPUT_INIT,
			  .tables = CLI_DUMPS_INIT,
			  .out = { .command = "check", .sections = sections },
			  .max_listed = 10 };
	int code;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	code = run(&a);
	cli_dumps_free(&a.tables);
	cli_input_free(&a.in);
	return code;
}
