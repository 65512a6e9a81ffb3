/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "core/verify/verdict.h"

#include <string.h>

#define BIT(question) (1u << OSR_ASK_##question)

struct verifier {
	const struct osr_inquiry *ask;
	uint32_t open; /* questions that are still to be answered */
	struct osr_arena *scratch, *result;
	struct osr_findings *found;
	struct osr_diag *diag;
};

const char *osr_answer_name(enum osr_answer answer)
{
	static const char *const name[] = { "unknown", "proven", "refuted" };

	return name[answer];
}

const char *osr_question_name(enum osr_question question)
{
	static const char *const name[OSR_N_QUESTIONS] = {
		[OSR_ASK_REACH] = "reach",     [OSR_ASK_NO_LOOPS] = "no_loops",
		[OSR_ASK_LANES] = "lanes",     [OSR_ASK_GROUPS] = "groups",
		[OSR_ASK_ONE_WAY] = "one_way", [OSR_ASK_MULTICAST] = "multicast",
		[OSR_ASK_REPLIES] = "replies", [OSR_ASK_SL0] = "sl0",
		[OSR_ASK_ANY_SL] = "any_sl",
	};

	return name[question];
}

static enum osr_status verdict_nomem(const struct verifier *k)
{
	return osr_fail(k->diag, OSR_NOMEM, "out of memory while checking %u switches and %u LIDs",
			k->ask->f->n_switches, k->ask->f->n_dests);
}

/* ---- answers -------------------------------------------------------------------------------- */

static bool answer_with(struct verifier *k, uint32_t questions, enum osr_answer answer,
			const struct osr_loop *loop, const char *why)
{
	size_t size = strlen(why) + 1;
	char *text = "";

	questions &= k->open;
	k->open &= ~questions;
	if (questions && *why) {
		text = osr_alloc(k->result, size, 1);
		if (!text)
			return false;
		memcpy(text, why, size);
	}
	for (; questions; questions &= questions - 1)
		k->found->on[__builtin_ctz(questions)] = (struct osr_answered){
			.answer = answer,
			.why = text,
			.loop = loop ? *loop : (struct osr_loop){ 0 },
		};
	return true;
}

static void answer_proven(struct verifier *k, uint32_t questions)
{
	answer_with(k, questions, OSR_PROVEN, NULL, "");
}

/* ---- what loses packets --------------------------------------------------------------------- */

static enum osr_question question_of_fault(enum osr_fault_kind kind)
{
	switch (kind) {
	case OSR_FAULT_LOOP:
		return OSR_ASK_NO_LOOPS;
	case OSR_FAULT_NO_SL:
	case OSR_FAULT_SL2VL:
		return OSR_ASK_LANES;
	case OSR_FAULT_GROUP_LOOP:
	case OSR_FAULT_GROUP_SPLIT:
		return OSR_ASK_GROUPS;
	default:
		return OSR_ASK_REACH;
	}
}

static enum osr_status ask_audit(struct verifier *k)
{
	const struct osr_inquiry *ask = k->ask;
	struct osr_audit *audit = &k->found->audit;
	uint32_t at = 0;
	enum osr_status st;

	if (!(k->open & (BIT(REACH) | BIT(NO_LOOPS) | BIT(LANES) | BIT(GROUPS))))
		return OSR_OK;
	/* One of each kind, for the sentence. */
	st = osr_audit(ask->f, ask->gen, ask->scope | OSR_CLAIM_REVERSIBLE,
		       ask->max_listed ? ask->max_listed : 1, k->scratch, k->result, audit,
		       k->diag);
	if (st)
		return st;
	for (unsigned kind = 0; kind < OSR_N_FAULTS; kind++) {
		struct osr_diag why;

		if (!audit->n_faults[kind])
			continue;
		while (audit->fault[at].kind != kind)
			at++;
		osr_fault_say(ask->f, &audit->fault[at], &why);
		if (!answer_with(k, 1u << question_of_fault(kind), OSR_REFUTED, NULL, why.text))
			return verdict_nomem(k);
	}
	answer_proven(k, BIT(REACH) | BIT(NO_LOOPS) | BIT(LANES) | BIT(GROUPS));
	if (!ask->max_listed)
		audit->n_listed = 0;
	return OSR_OK;
}

/* ---- credit loops --------------------------------------------------------------------------- */

static bool all_proven(const struct verifier *k, uint32_t questions)
{
	for (; questions; questions &= questions - 1)
		if (k->found->on[__builtin_ctz(questions)].answer != OSR_PROVEN)
			return false;
	return true;
}

/*
 * Packets of these modes: no loop proves the questions in `proves`, one refutes those in `refutes`.
 * What has been proven has no loop to be found.
 */
static enum osr_status ask_search(struct verifier *k, const struct osr_generation *gen,
				  uint32_t modes, uint32_t proves, uint32_t refutes)
{
	struct osr_loop loop;
	struct osr_diag why;
	uint32_t *rank = proves & BIT(REPLIES) ? k->ask->rank : NULL;
	enum osr_status st;

	if (!((proves | refutes) & k->open) || (proves && all_proven(k, proves)))
		return OSR_OK;
	st = osr_union_loop(k->ask->f, gen, 1, modes | k->ask->scope, k->scratch, k->result, &loop,
			    rank, k->diag);
	if (st)
		return st;
	if (!loop.n) {
		answer_proven(k, proves);
		return OSR_OK;
	}
	osr_loop_say(k->ask->f, &loop, &why);
	return answer_with(k, refutes, OSR_REFUTED, &loop, why.text) ? OSR_OK : verdict_nomem(k);
}

static bool has_multicast(const struct osr_generation *gen)
{
	return gen->groups || gen->routing->mcast_parent;
}

/*
 * Everything at once first: mostly there is no loop. If there is one, the shortest beginning of the
 * chain that still has it says what it is made of.
 */
static enum osr_status ask_chain(struct verifier *k)
{
	const struct osr_generation *gen = k->ask->gen;
	uint32_t chain = BIT(ONE_WAY) | BIT(MULTICAST) | BIT(REPLIES);
	enum osr_status st;

	st = ask_search(k, gen, OSR_CLAIM_REVERSIBLE | OSR_CLAIM_MULTICAST, chain, 0);
	if (!st)
		st = ask_search(k, gen, 0, BIT(ONE_WAY), chain);
	if (!st && has_multicast(gen))
		st = ask_search(k, gen, OSR_CLAIM_MULTICAST, BIT(MULTICAST),
				BIT(MULTICAST) | BIT(REPLIES));
	if (!st)
		st = ask_search(k, gen, OSR_CLAIM_REVERSIBLE | OSR_CLAIM_MULTICAST, 0,
				BIT(REPLIES));
	return st;
}

/* Do all SLs run on the same VL, by every row of every switch? */
static bool sls_alike(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	if (!routing->sl2vl)
		return false;
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		size_t ports = fabric->sw_n_ports[s] + (size_t)1;
		const osr_sl2vl_t *row =
			(const osr_sl2vl_t *)routing->sl2vl + routing->sl2vl_row[s];

		for (size_t pair = 0; pair < ports * ports; pair++)
			if (memcmp(row[pair], row[pair] + 1, sizeof(row[pair]) - 1) != 0)
				return false;
	}
	return true;
}

/*
 * Path records give SLs, but not to us: what holds on any SL holds on theirs, and what fails on all
 * of them fails, if they make no difference.
 */
static enum osr_status ask_unknown_sls(struct verifier *k)
{
	const struct osr_generation *gen = k->ask->gen;
	uint32_t chain = BIT(ONE_WAY) | BIT(MULTICAST) | BIT(REPLIES);
	bool alike = sls_alike(k->ask->f, gen->routing);
	enum osr_status st;

	st = ask_search(k, gen, OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST, chain | BIT(ANY_SL), 0);
	if (!st)
		st = ask_search(k, gen, OSR_CLAIM_ANY_SL, BIT(ONE_WAY) | BIT(ANY_SL),
				BIT(ANY_SL) | (alike ? chain : 0));
	if (!st && alike)
		st = ask_search(k, gen, OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST, 0, chain);
	if (st || answer_with(k, chain, OSR_UNKNOWN, NULL, "no path SLs are given"))
		return st;
	return verdict_nomem(k);
}

/* The same tables, with everything on SL 0. */
static enum osr_status ask_sl0(struct verifier *k)
{
	const struct osr_fabric *fabric = k->ask->f;
	struct osr_arena_mark mark = osr_arena_mark(k->scratch);
	struct osr_paths paths = {
		.n_rows = 1,
		.row = osr_calloc(k->scratch, fabric->n_terminals, sizeof(*paths.row)),
		.sl = osr_calloc(k->scratch, fabric->n_dests, 1),
	};
	struct osr_generation gen = *k->ask->gen;
	enum osr_status st;

	gen.paths = &paths;
	if (paths.row && paths.sl)
		st = ask_search(k, &gen, 0, BIT(SL0), BIT(SL0));
	else
		st = verdict_nomem(k);
	osr_arena_reset(k->scratch, mark);
	return st;
}

/* Where VL = SL, all SLs have the same dependencies: what one of them shows holds for SL 0. */
static enum osr_status ask_loops(struct verifier *k)
{
	const struct osr_generation *gen = k->ask->gen;
	uint32_t sl0 = gen->routing->sl2vl ? 0 : BIT(SL0);
	enum osr_status st = gen->sls_unknown ? ask_unknown_sls(k) : ask_chain(k);

	if (!st)
		st = ask_search(k, gen, OSR_CLAIM_ANY_SL, BIT(ANY_SL) | BIT(SL0),
				BIT(ANY_SL) | sl0);
	return st ? st : ask_sl0(k);
}

/* ---- all together --------------------------------------------------------------------------- */

/* VL = SL, and every cable has the VL of every SL: whatever packets there are, none is dropped. */
static bool lanes_everywhere(const struct osr_inquiry *ask)
{
	const struct osr_routing *routing = ask->gen->routing;

	if (routing->sl2vl || routing->granted || ask->gen->paths)
		return false;
	for (uint32_t c = 0; c < ask->f->n_channels; c++)
		if (ask->f->chan_vls[c] < routing->n_vls)
			return false;
	return true;
}

/* The checker has walked the same tables: no entry of theirs loses packets. */
static void take_checked(struct verifier *k)
{
	const struct osr_verdict *checked = k->ask->checked;
	bool mcast = has_multicast(k->ask->gen);
	uint32_t any;

	if (!checked)
		return;
	answer_proven(k, BIT(REACH) | BIT(NO_LOOPS) | BIT(GROUPS));
	/* Replies have SLs of their own, which the checker follows if it is asked for them. */
	if (!k->ask->gen->routing->sl || lanes_everywhere(k->ask) ||
	    checked->proven & (OSR_CLAIM_ANY_SL | OSR_CLAIM_REVERSIBLE))
		answer_proven(k, BIT(LANES));
	if (checked->proven & OSR_CLAIM_DEADLOCK_FREE)
		answer_proven(k, BIT(ONE_WAY));
	if (checked->proven & OSR_CLAIM_MULTICAST)
		answer_proven(k, BIT(MULTICAST));
	any = checked->proven & OSR_CLAIM_ANY_SL;
	if (any)
		answer_proven(k, BIT(ANY_SL) | BIT(SL0));
	if ((any || (checked->proven & OSR_CLAIM_REVERSIBLE)) &&
	    (!mcast || (checked->proven & OSR_CLAIM_MULTICAST)))
		answer_proven(k, BIT(REPLIES));
}

enum osr_status osr_verify(const struct osr_inquiry *ask, struct osr_arena *scratch,
			   struct osr_arena *result, struct osr_findings *found,
			   struct osr_diag *diag)
{
	const uint32_t all = (1u << OSR_N_QUESTIONS) - 1;
	struct verifier k = { .ask = ask,
			      .open = ask->questions ? ask->questions : all,
			      .scratch = scratch,
			      .result = result,
			      .found = found,
			      .diag = diag };
	uint32_t absent;
	enum osr_status st;

	*found = (struct osr_findings){ .applies = all, .audit = { .efi_chan = OSR_NONE } };
	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++)
		found->on[question].why = k.open >> question & 1 ? "" : "not asked";
	/* Of a spanning order only the checker says whether it reaches every member. */
	absent = has_multicast(ask->gen) ? 0 : BIT(MULTICAST);
	absent |= ask->gen->groups || (ask->checked && !absent) ? 0 : BIT(GROUPS);
	found->applies &= ~absent;
	answer_with(&k, absent, OSR_UNKNOWN, NULL, "no multicast tables are given");
	take_checked(&k);
	st = ask_audit(&k);
	return st ? st : ask_loops(&k);
}

enum osr_answer osr_verdict_of(const struct osr_findings *found, uint32_t required,
			       enum osr_question *which)
{
	enum osr_answer worst = OSR_PROVEN;
	enum osr_question first = OSR_N_QUESTIONS;

	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++) {
		enum osr_answer answer = found->on[question].answer;

		if (!(required & found->applies & (1u << question)) || answer == OSR_PROVEN ||
		    answer == worst || worst == OSR_REFUTED)
			continue;
		worst = answer;
		first = (enum osr_question)question;
	}
	if (which)
		*which = first;
	return worst;
}
