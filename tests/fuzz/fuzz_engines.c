/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes are a fabric, an engine, a request and a row of faults. The engine must refuse with a
 * sentence or give tables that the checker proves and the judge confirms, on the whole fabric and
 * then, starting from its last tables, with parts away. What is stored of these leads to the same
 * tables. Aborts otherwise.
 *
 * In replay it makes up bytes of its own, too. OSR_FUZZ_ENGINE=NAME takes one engine only, instead
 * of what the first byte says. The last lines tell what every engine had to do.
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

static unsigned next(struct bytes *bytes, unsigned below)
{
	return (bytes->at < bytes->n ? bytes->data[bytes->at++] : 0) % below;
}

/*
 * One input in 64 is a larger fabric, and in four a program that starts again before each fault. A
 * hash says which: were it a byte, libFuzzer would find out how much more there is to see in large
 * fabrics, and would keep to them.
 */
static uint32_t hash_of(const uint8_t *data, size_t n)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ data[i]) * 16777619u;
	return hash;
}

static void link_up(struct draft *draft, unsigned from, unsigned to)
{
	if (from != to && draft->n_used[from] < draft->n_ports - 6 &&
	    draft->n_used[to] < draft->n_ports - 6)
		draft_link(draft, from, to);
}

static void draw_switches(struct bytes *bytes, struct draft *draft, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		draft->no_sp0_lid = next(bytes, 4) == 0;
		draft_switch(draft);
	}
}

/* A grid of up to 4 x 4 (or 7 x 7), as torus, mesh or something between: what angara is for. */
static unsigned draw_grid(struct bytes *bytes, struct draft *draft)
{
	unsigned most = 2 * bytes->scale + 2 - (bytes->scale > 1);
	unsigned x = 1 + next(bytes, most), y = 1 + next(bytes, most), wrap = next(bytes, 4);

	draw_switches(bytes, draft, x * y);
	for (unsigned i = 0; i < x * y; i++) {
		unsigned cx = i % x, cy = i / x;

		if (cx + 1 < x || (wrap & 1 && x > 2))
			link_up(draft, i, cy * x + (cx + 1) % x);
		if (cy + 1 < y || (wrap & 2 && y > 2))
			link_up(draft, i, (cy + 1) % y * x + cx);
	}
	return x * y;
}

/* Leaves and spines, maybe with parallel cables: what dmodk is for. */
static unsigned draw_tree(struct bytes *bytes, struct draft *draft)
{
	unsigned leaves = 1 + next(bytes, 6 * bytes->scale),
		 spines = 1 + next(bytes, 2 + 2 * bytes->scale);
	unsigned cables = 1 + next(bytes, 2);

	draw_switches(bytes, draft, leaves + spines);
	for (unsigned l = 0; l < leaves; l++) {
		for (unsigned s = 0; s < spines; s++)
			for (unsigned c = 0; c < cables; c++)
				link_up(draft, l, leaves + s);
		for (unsigned h = next(bytes, 4); h < 3; h++)
			draft_host(draft, l);
	}
	return leaves + spines;
}

static void draw(struct bytes *bytes, struct test_fabric *test)
{
	static const uint16_t rates[] = { 0, 8, 32, 97 };
	unsigned shape = next(bytes, 3), n, n_links, n_hosts;
	struct draft draft;

	draft_new(&draft);
	draft.n_ports = 24;
	if (shape == 1) {
		n = draw_grid(bytes, &draft);
	} else if (shape == 2) {
		n = draw_tree(bytes, &draft);
	} else {
		n = 1 + next(bytes, 8 * bytes->scale);
		draw_switches(bytes, &draft, n);
	}
	n_links = next(bytes, bytes->scale * (shape ? 3 : 20));
	n_hosts = next(bytes, 12 * bytes->scale);
	/* Nothing makes it whole: what falls apart is routed part by part. */
	for (unsigned i = 0; i < n_links; i++) {
		unsigned from = next(bytes, n), to = next(bytes, n);

		draft.rate = rates[next(bytes, 4)];
		link_up(&draft, from, to);
	}
	for (unsigned i = 0; i < n_hosts; i++) {
		unsigned s = next(bytes, n);

		draft.lmc = next(bytes, 8) == 0 ? next(bytes, 4) : 0;
		if (draft.n_used[s] < draft.n_ports)
			draft_host(&draft, s);
	}
	draft_build(&draft, test, "fuzzed");
}

static void set_options(struct bytes *bytes, const struct osr_param *table,
			struct osr_values *values)
{
	osr_values_default(values, table);
	for (unsigned row = 0; table[row].name; row++) {
		const struct osr_param *param = &table[row];
		unsigned x = next(bytes, 256), n_words = 1;

		if (x % 2)
			continue;
		for (const char *w = param->words; w && *w; w++)
			n_words += *w == '|';
		if (param->type == OSR_PARAM_BOOL)
			values->num[row] = x / 2 % 2;
		else if (param->type == OSR_PARAM_ENUM)
			values->num[row] = x / 2 % n_words;
		else if (param->type == OSR_PARAM_UINT)
			values->num[row] =
				param->min +
				x / 2 % ((param->max < 12 ? param->max : 12) - param->min + 1);
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

static void die(const struct osr_engine *engine, const char *what, const char *sentence)
{
	fprintf(stderr, "%s: %s: %s\n", engine->name, what, sentence);
	abort();
}

static void judge(const struct osr_engine *engine, const struct osr_result *now,
		  const struct osr_verdict *checked)
{
	struct osr_verdict judged;

	if (!table_judge(&now->fabric, &now->routing, &judged))
		die(engine, "judge", "refuses what the checker accepts");
	if (checked->efi != judged.efi || checked->n_routes != judged.n_routes)
		die(engine, "verdict", "the judge counts otherwise");
	if (engine->capabilities & OSR_ENGINE_DEADLOCK_FREE &&
	    !(checked->proven & OSR_CLAIM_DEADLOCK_FREE))
		die(engine, "promise", "not deadlock-free");
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
static struct slot *free_slot(struct life *life)
{
	for (unsigned i = 0; i < N_SLOTS; i++)
		if (&life->slot[i] != life->now &&
		    (!life->now || &life->slot[i].result != life->now->result.baseline))
			return &life->slot[i];
	abort();
}

/* The same sweep after what a new process reads, a status and tables that must be the same. */
static void judge_restart(struct life *life, const struct osr_job *job,
			  const struct osr_result *now, enum osr_status st)
{
	struct osr_arena stored = { 0 }, scratch = { 0 }, arena = { 0 };
	struct osr_result last, baseline, again = { .fabric = now->fabric };
	struct osr_diag diag = { 0 };
	struct osr_job restarted = *job;
	struct osr_sweep sweep;
	size_t size;
	uint8_t *buf = test_stored(job->previous, 1, &size);

	if (!buf || osr_store_read(buf, size, "store", life->engine->name, 1, &stored, &stored,
				   &scratch, &last, &baseline, &diag))
		die(life->engine, "what was stored", diag.text);
	restarted.previous = &last;
	restarted.scratch = &scratch;
	restarted.arena = &arena;
	restarted.diag = &diag;
	if (osr_sweep(&restarted, &again, &sweep) != st || (!st && again.digest != now->digest))
		die(life->engine, "a restart", "changes tables");
	life->tally->restarts++;
	osr_arena_free(&stored);
	osr_arena_free(&scratch);
	osr_arena_free(&arena);
	free(buf);
}

static void make_sweep(struct life *life)
{
	const struct osr_result *previous = life->now ? &life->now->result : NULL;
	const struct osr_engine *engine = life->engine;
	struct slot *slot = free_slot(life);
	struct osr_result *now = &slot->result;
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { 0 };
	const struct osr_job job = { .engine = engine,
				     .values = &life->values,
				     .request = life->req,
				     .previous = previous,
				     .scratch = &scratch,
				     .arena = &slot->arena,
				     .diag = &diag };
	struct osr_sweep sweep;
	enum osr_status st;

	life->tally->sweeps++;
	osr_arena_free(&slot->arena);
	memset(now, 0, sizeof(*now));
	faults_build(&life->faults, &slot->arena, &now->fabric);
	st = osr_sweep(&job, now, &sweep);
	if (life->restarts && previous)
		judge_restart(life, &job, now, st);
	if (sweep.refused) {
		die(engine, "a re-route", now->routing.stable.why);
	} else if (st == OSR_OK) {
		judge(engine, now, &sweep.verdict);
		life->tally->repaired += now->routing.stable.kept;
		life->now = slot;
	} else if (st != OSR_NO_VL && st != OSR_NOT_APPLICABLE) {
		die(engine, osr_status_str(st), diag.text);
	} else if (!diag.text[0]) {
		die(engine, osr_status_str(st), "without a sentence");
	} else {
		life->tally->refused++;
	}
	osr_arena_free(&scratch);
}

/* A cable, a switch or a host goes or returns; one switch stays. */
static void change(struct bytes *bytes, struct faults *faults)
{
	const struct osr_fabric *fabric = faults->whole;
	unsigned kind = next(bytes, 8), which = next(bytes, 256), left = 0;

	if (kind < 5 && fabric->n_channels) {
		uint32_t c = which % fabric->n_channels;

		faults_cable(faults, c, !faults->chan[c]);
	} else if (kind < 7) {
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			left += !faults->sw[s];
		which %= fabric->n_switches;
		faults->sw[which] = !faults->sw[which] && left > 1;
	} else if (fabric->n_terminals) {
		which %= fabric->n_terminals;
		if (fabric->term_role[which] != OSR_ROLE_SP0)
			faults->term[which] = !faults->term[which];
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t hash = hash_of(data, size);
	struct bytes bytes = { .data = data, .n = size, .scale = (hash >> 16) % 64 ? 1 : 3 };
	struct life life = { .restarts = hash % 4 == 0 };
	const char *only = getenv("OSR_FUZZ_ENGINE");
	unsigned n_engines = 0, e;
	static bool once;
	struct test_fabric test;
	unsigned n_sweeps;

	while (osr_engines[n_engines])
		n_engines++;
	e = next(&bytes, n_engines);
	for (unsigned i = 0; only && (!i || strcmp(osr_engines[e]->name, only)); i++)
		e = i;
	if (!once && atexit(print_tally))
		abort();
	once = true;
	life.engine = osr_engines[e];
	life.tally = &tally[e];
	life.tally->executions++;
	life.tally->large += bytes.scale > 1;
	life.req = (struct osr_request){ .max_vls = 1 + next(&bytes, 15),
					 .multicast = next(&bytes, 2) };
	n_sweeps = next(&bytes, 5);
	set_options(&bytes, life.engine->params, &life.values);
	draw(&bytes, &test);
	faults_new(&life.faults, &test.fabric);
	make_sweep(&life);
	while (n_sweeps--) {
		for (unsigned n = 1 + next(&bytes, 2); n--;)
			change(&bytes, &life.faults);
		make_sweep(&life);
	}
	for (unsigned i = 0; i < N_SLOTS; i++)
		osr_arena_free(&life.slot[i].arena);
	faults_free(&life.faults);
	test_fabric_free(&test);
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
