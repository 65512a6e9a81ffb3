/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes are a fabric, an engine, a request and a row of faults. The engine must refuse with a
 * sentence or give tables that the checker proves and the judge confirms, on the whole fabric and
 * then, starting from its last tables, with parts away. What is stored of these leads to the same tables. Aborts
 * otherwise.
 *
 * In replay it makes up bytes of its own, too.
 * OSR_FUZZ_ENGINE=NAME takes one engine only, instead of what the first byte says. The last lines tell
 * what every engine had to do.
 */
#include "fuzz.h"

#include <osmroutes/sweep.h>

#include <inttypes.h>

#include "fabrics.h"
#include "faults.h"
#include "sweeps.h"
#include "tables.h"

#define N_SLOTS 3 /* the last result, its baseline, and the one being made */

/* The bytes, read one after the other; zeroes when they are used up. */
struct bytes {
	const uint8_t *data;
	size_t n, at;
	unsigned scale; /* of fabrics: 1, or 3 */
};

static unsigned next(struct bytes *b, unsigned below)
{
	return (b->at < b->n ? b->data[b->at++] : 0) % below;
}

/*
 * One input in 64 is a larger fabric, and in four a program that starts again before each fault. A hash says which: were
 * it a byte, libFuzzer would find out how much more there is to see in large fabrics, and would keep to them.
 */
static uint32_t hash_of(const uint8_t *data, size_t n)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ data[i]) * 16777619u;
	return hash;
}

static void link_up(struct draft *d, unsigned from, unsigned to)
{
	if (from != to && d->n_used[from] < d->n_ports - 6 && d->n_used[to] < d->n_ports - 6)
		draft_link(d, from, to);
}

static void draw_switches(struct bytes *b, struct draft *d, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		d->no_sp0_lid = next(b, 4) == 0;
		draft_switch(d);
	}
}

/* A grid of up to 4 x 4 (or 7 x 7), as torus, mesh or something between: what angara is for. */
static unsigned draw_grid(struct bytes *b, struct draft *d)
{
	unsigned most = 2 * b->scale + 2 - (b->scale > 1);
	unsigned x = 1 + next(b, most), y = 1 + next(b, most), wrap = next(b, 4);

	draw_switches(b, d, x * y);
	for (unsigned i = 0; i < x * y; i++) {
		unsigned cx = i % x, cy = i / x;

		if (cx + 1 < x || (wrap & 1 && x > 2))
			link_up(d, i, cy * x + (cx + 1) % x);
		if (cy + 1 < y || (wrap & 2 && y > 2))
			link_up(d, i, (cy + 1) % y * x + cx);
	}
	return x * y;
}

/* Leaves and spines, maybe with parallel cables: what dmodk is for. */
static unsigned draw_tree(struct bytes *b, struct draft *d)
{
	unsigned leaves = 1 + next(b, 6 * b->scale), spines = 1 + next(b, 2 + 2 * b->scale);
	unsigned cables = 1 + next(b, 2);

	draw_switches(b, d, leaves + spines);
	for (unsigned l = 0; l < leaves; l++) {
		for (unsigned s = 0; s < spines; s++)
			for (unsigned c = 0; c < cables; c++)
				link_up(d, l, leaves + s);
		for (unsigned h = next(b, 4); h < 3; h++)
			draft_host(d, l);
	}
	return leaves + spines;
}

static void draw(struct bytes *b, struct test_fabric *t)
{
	static const uint16_t rates[] = { 0, 8, 32, 97 };
	unsigned shape = next(b, 3), n, n_links, n_hosts;
	struct draft d;

	draft_new(&d);
	d.n_ports = 24;
	if (shape == 1) {
		n = draw_grid(b, &d);
	} else if (shape == 2) {
		n = draw_tree(b, &d);
	} else {
		n = 1 + next(b, 8 * b->scale);
		draw_switches(b, &d, n);
	}
	n_links = next(b, b->scale * (shape ? 3 : 20));
	n_hosts = next(b, 12 * b->scale);
	/* Nothing makes it whole: what falls apart is routed part by part. */
	for (unsigned i = 0; i < n_links; i++) {
		unsigned from = next(b, n), to = next(b, n);

		d.rate = rates[next(b, 4)];
		link_up(&d, from, to);
	}
	for (unsigned i = 0; i < n_hosts; i++) {
		unsigned s = next(b, n);

		d.lmc = next(b, 8) == 0 ? next(b, 4) : 0;
		if (d.n_used[s] < d.n_ports)
			draft_host(&d, s);
	}
	draft_build(&d, t, "fuzzed");
}

static void set_options(struct bytes *b, const struct osr_param *table, struct osr_values *v)
{
	osr_values_default(v, table);
	for (unsigned row = 0; table[row].name; row++) {
		const struct osr_param *p = &table[row];
		unsigned x = next(b, 256), n_words = 1;

		if (x % 2)
			continue;
		for (const char *w = p->words; w && *w; w++)
			n_words += *w == '|';
		if (p->type == OSR_PARAM_BOOL)
			v->num[row] = x / 2 % 2;
		else if (p->type == OSR_PARAM_ENUM)
			v->num[row] = x / 2 % n_words;
		else if (p->type == OSR_PARAM_UINT)
			v->num[row] = p->min + x / 2 % ((p->max < 12 ? p->max : 12) - p->min + 1);
	}
}

/* What every engine had to do. */
static struct tally {
	uint64_t executions, large, sweeps, refused, repaired, restarts;
} tally[16];

static void print_tally(void)
{
	for (unsigned e = 0; osr_engines[e]; e++) {
		const struct tally *t = &tally[e];

		if (t->executions)
			fprintf(stderr,
				"%s: %" PRIu64 " executions (%" PRIu64 " large), %" PRIu64
				" sweeps: %" PRIu64 " refused, %" PRIu64
				" from earlier tables, %" PRIu64 " after a restart\n",
				osr_engines[e]->name, t->executions, t->large, t->sweeps,
				t->refused, t->repaired, t->restarts);
	}
}

static void die(const struct osr_engine *e, const char *what, const char *sentence)
{
	fprintf(stderr, "%s: %s: %s\n", e->name, what, sentence);
	abort();
}

static void judge(const struct osr_engine *e, const struct osr_result *now,
		  const struct osr_verdict *checked)
{
	struct osr_verdict judged;

	if (!table_judge(&now->fabric, &now->routing, &judged))
		die(e, "judge", "refuses what the checker accepts");
	if (checked->efi != judged.efi || checked->n_routes != judged.n_routes)
		die(e, "verdict", "the judge counts otherwise");
	if (e->capabilities & OSR_ENGINE_DEADLOCK_FREE &&
	    !(checked->proven & OSR_CLAIM_DEADLOCK_FREE))
		die(e, "promise", "not deadlock-free");
}

/* One fabric under one engine. */
struct life {
	const struct osr_engine *engine;
	struct tally *tally;
	struct osr_values values;
	struct osr_request req;
	bool restarts;
	struct faults faults;
	struct slot {
		struct osr_arena arena;
		struct osr_result result;
	} slot[N_SLOTS], *now;
};

/* A slot that neither the current result nor its baseline lives in. */
static struct slot *free_slot(struct life *x)
{
	for (unsigned i = 0; i < N_SLOTS; i++)
		if (&x->slot[i] != x->now &&
		    (!x->now || &x->slot[i].result != x->now->result.baseline))
			return &x->slot[i];
	abort();
}

/* The same sweep after what a new process reads, a status and tables that must be the same. */
static void judge_restart(struct life *x, const struct osr_job *job, const struct osr_result *now,
			  enum osr_status st)
{
	struct osr_arena stored = { 0 }, scratch = { 0 }, arena = { 0 };
	struct osr_result last, baseline, again = { .fabric = now->fabric };
	struct osr_diag diag = { 0 };
	struct osr_job restarted = *job;
	struct osr_sweep sweep;
	size_t size;
	uint8_t *buf = test_stored(job->previous, 1, &size);

	if (!buf || osr_store_read(buf, size, "store", x->engine->name, 1, &stored, &stored,
				   &scratch, &last, &baseline, &diag))
		die(x->engine, "what was stored", diag.text);
	restarted.previous = &last;
	restarted.scratch = &scratch;
	restarted.arena = &arena;
	restarted.diag = &diag;
	if (osr_sweep(&restarted, &again, &sweep) != st || (!st && again.digest != now->digest))
		die(x->engine, "a restart", "changes tables");
	x->tally->restarts++;
	osr_arena_free(&stored);
	osr_arena_free(&scratch);
	osr_arena_free(&arena);
	free(buf);
}

static void make_sweep(struct life *x)
{
	const struct osr_result *previous = x->now ? &x->now->result : NULL;
	const struct osr_engine *e = x->engine;
	struct slot *slot = free_slot(x);
	struct osr_result *now = &slot->result;
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { 0 };
	const struct osr_job job = { .engine = e,
				     .values = &x->values,
				     .request = x->req,
				     .previous = previous,
				     .scratch = &scratch,
				     .arena = &slot->arena,
				     .diag = &diag };
	struct osr_sweep sweep;
	enum osr_status st;

	x->tally->sweeps++;
	osr_arena_free(&slot->arena);
	memset(now, 0, sizeof(*now));
	faults_build(&x->faults, &slot->arena, &now->fabric);
	st = osr_sweep(&job, now, &sweep);
	if (x->restarts && previous)
		judge_restart(x, &job, now, st);
	if (sweep.refused) {
		die(e, "a re-route", now->routing.stable.why);
	} else if (st == OSR_OK) {
		judge(e, now, &sweep.verdict);
		x->tally->repaired += now->routing.stable.kept;
		x->now = slot;
	} else if (st != OSR_NO_VL && st != OSR_NOT_APPLICABLE) {
		die(e, osr_status_str(st), diag.text);
	} else if (!diag.text[0]) {
		die(e, osr_status_str(st), "without a sentence");
	} else {
		x->tally->refused++;
	}
	osr_arena_free(&scratch);
}

/* A cable, a switch or a host goes or returns; one switch stays. */
static void change(struct bytes *b, struct faults *x)
{
	const struct osr_fabric *f = x->whole;
	unsigned kind = next(b, 8), which = next(b, 256), left = 0;

	if (kind < 5 && f->n_channels) {
		uint32_t c = which % f->n_channels;

		faults_cable(x, c, !x->chan[c]);
	} else if (kind < 7) {
		for (uint32_t s = 0; s < f->n_switches; s++)
			left += !x->sw[s];
		which %= f->n_switches;
		x->sw[which] = !x->sw[which] && left > 1;
	} else if (f->n_terminals) {
		which %= f->n_terminals;
		if (f->term_role[which] != OSR_ROLE_SP0)
			x->term[which] = !x->term[which];
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t hash = hash_of(data, size);
	struct bytes b = { .data = data, .n = size, .scale = (hash >> 16) % 64 ? 1 : 3 };
	struct life x = { .restarts = hash % 4 == 0 };
	const char *only = getenv("OSR_FUZZ_ENGINE");
	unsigned n_engines = 0, e;
	static bool once;
	struct test_fabric t;
	unsigned n_sweeps;

	while (osr_engines[n_engines])
		n_engines++;
	e = next(&b, n_engines);
	for (unsigned i = 0; only && (!i || strcmp(osr_engines[e]->name, only)); i++)
		e = i;
	if (!once && atexit(print_tally))
		abort();
	once = true;
	x.engine = osr_engines[e];
	x.tally = &tally[e];
	x.tally->executions++;
	x.tally->large += b.scale > 1;
	x.req = (struct osr_request){ .max_vls = 1 + next(&b, 15), .multicast = next(&b, 2) };
	n_sweeps = next(&b, 5);
	set_options(&b, x.engine->params, &x.values);
	draw(&b, &t);
	faults_new(&x.faults, &t.f);
	make_sweep(&x);
	while (n_sweeps--) {
		for (unsigned n = 1 + next(&b, 2); n--;)
			change(&b, &x.faults);
		make_sweep(&x);
	}
	for (unsigned i = 0; i < N_SLOTS; i++)
		osr_arena_free(&x.slot[i].arena);
	faults_free(&x.faults);
	test_fabric_free(&t);
	return 0;
}

/* OSR_FIRST, OSR_CASES: for campaigns. */
void fuzz_more(void)
{
	unsigned first = test_number("OSR_FIRST", 0), n = test_number("OSR_CASES", 10000);

	for (uint64_t seed = first; seed < first + (uint64_t)n; seed++) {
		uint64_t state = seed;
		uint8_t data[256];

		for (size_t i = 0; i < sizeof(data); i++)
			data[i] = test_random(&state) >> 56;
		LLVMFuzzerTestOneInput(data, sizeof(data));
	}
}
