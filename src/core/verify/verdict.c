/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/each.h>

#include <osmroutes/each.h>

#include "core/verify/verdict.h"

#include <string.h>

#define BIT(question) (1u << OSR_ASK_##question)
#define CHAIN (BIT(ONE_WAY) | BIT(MULTICAST) | BIT(REPLIES))

struct verifier {
	const struct osr_inquiry *ask;
	uint32_t open; /* questions that are still to be answered */
	struct osr_arena *scratch, *result;
	struct osr_findings *found;
	struct osr_diag *diag;
	enum osr_status st; /* nothing is asked after a failure */
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

static void settle(struct verifier *verifier, uint32_t questions, enum osr_answer answer,
		   const struct osr_loop *loop, const char *why)
{
	size_t size = strlen(why) + 1;
	char *text = "";

	osr_invariant(!(questions >> OSR_N_QUESTIONS));
	questions &= verifier->open;
	verifier->open &= ~questions;
	if (questions && *why) {
		text = osr_alloc(verifier->result, size, 1);
		if (osr_arena_failed(verifier->result, verifier->diag)) {
			verifier->st = OSR_NOMEM;
			return;
		}
		memcpy(text, why, size);
	}
	OSR_EACH_LANE(question, questions)
		verifier->found->on[question] = (struct osr_answered){
			.answer = answer,
			.why = text,
			.loop = loop ? *loop : (struct osr_loop){ 0 },
		};
}

static void answer_proven(struct verifier *verifier, uint32_t questions)
{
	settle(verifier, questions, OSR_PROVEN, NULL, "");
}

/* ---- faults that lose packets --------------------------------------------------------------- */

/* The figures of an audit for tables that the checker has accepted: no fault, and its counts. */
static void take_figures(const struct osr_fabric *fabric, const struct osr_checked *checked,
			 struct osr_audit *audit)
{
	const struct osr_verdict *verdict = &checked->verdict;

	*audit = (struct osr_audit){ .n_entries = verdict->n_routes + fabric->n_dests,
				     .n_routes = verdict->n_routes,
				     .n_longer = verdict->n_longer,
				     .n_no_path = verdict->n_no_path,
				     .max_hops = verdict->max_hops,
				     .max_longer = verdict->max_longer,
				     .efi = verdict->efi,
				     .efi_all = verdict->efi_all,
				     .efi_mean = verdict->efi_mean,
				     .efi_per_capacity = verdict->efi_per_capacity,
				     .efi_all_per_capacity = verdict->efi_all_per_capacity,
				     .load = checked->load,
				     .n_host_pairs = verdict->hosts.n_pairs,
				     .n_host_routes = verdict->hosts.n_routes,
				     .n_host_longer = verdict->hosts.n_longer,
				     .n_host_hops = verdict->hosts.least };
	memcpy(audit->hops, verdict->hosts.hops, sizeof(audit->hops));
}

static void ask_audit(struct verifier *verifier)
{
	static const uint32_t question[OSR_N_FAULTS] = {
		[OSR_FAULT_HOLE] = BIT(REACH),        [OSR_FAULT_DEAD_END] = BIT(REACH),
		[OSR_FAULT_WRONG_PORT] = BIT(REACH),  [OSR_FAULT_LOOP] = BIT(NO_LOOPS),
		[OSR_FAULT_NO_SL] = BIT(LANES),       [OSR_FAULT_SL2VL] = BIT(LANES),
		[OSR_FAULT_GROUP_LOOP] = BIT(GROUPS), [OSR_FAULT_GROUP_SPLIT] = BIT(GROUPS),
	};
	const struct osr_inquiry *ask = verifier->ask;
	struct osr_audit *audit = &verifier->found->audit;
	uint32_t at = 0, modes = ask->scope | OSR_CLAIM_REVERSIBLE;

	if (ask->checked)
		take_figures(ask->fabric, ask->checked, audit);
	if (!(verifier->open & (BIT(REACH) | BIT(NO_LOOPS) | BIT(LANES) | BIT(GROUPS))))
		return;
	if (!(verifier->open & BIT(LANES)))
		modes |= OSR_ONLY_ROUTES;
	/* One of each kind, for the sentence. */
	verifier->st =
		osr_audit(ask->fabric, ask->gen, modes, ask->max_listed ? ask->max_listed : 1,
			  verifier->scratch, verifier->result, audit, verifier->diag);
	if (verifier->st)
		return;
	for (unsigned kind = 0; kind < OSR_N_FAULTS; kind++) {
		struct osr_diag why;

		osr_invariant(audit->n_listed <= OSR_N_FAULTS * (uint64_t)(ask->max_listed + 1));
		if (!audit->n_faults[kind])
			continue;
		while (audit->fault[at].kind != kind)
			at++;
		osr_invariant(at < audit->n_listed);
		osr_fault_say(ask->fabric, &audit->fault[at], &why);
		settle(verifier, question[kind], OSR_REFUTED, NULL, why.text);
	}
	answer_proven(verifier, BIT(REACH) | BIT(NO_LOOPS) | BIT(LANES) | BIT(GROUPS));
	if (!ask->max_listed)
		audit->n_listed = 0;
}

/* ---- credit loops --------------------------------------------------------------------------- */

/*
 * Looks for a credit loop of packets of these modes. No loop proves the questions in `proves`, a
 * loop refutes the questions in `refutes`. Nothing is searched if all of `proves` are proven.
 */
static void ask_search(struct verifier *verifier, const struct osr_generation *gen, uint32_t modes,
		       uint32_t proves, uint32_t refutes)
{
	struct osr_loop loop;
	struct osr_diag why;
	uint32_t *rank = proves & BIT(REPLIES) ? verifier->ask->rank : NULL;
	uint32_t left = proves; /* questions that are not proven */

	while (left && verifier->found->on[__builtin_ctz(left)].answer == OSR_PROVEN)
		left &= left - 1;
	if (verifier->st || !((proves | refutes) & verifier->open) || (proves && !left))
		return;
	verifier->st =
		osr_union_loop(verifier->ask->fabric, gen, 1, modes | verifier->ask->scope,
			       verifier->scratch, verifier->result, &loop, rank, verifier->diag);
	if (verifier->st)
		return;
	if (!loop.n) {
		answer_proven(verifier, proves);
		return;
	}
	osr_loop_say(verifier->ask->fabric, &loop, &why);
	settle(verifier, refutes, OSR_REFUTED, &loop, why.text);
}

static bool has_multicast(const struct osr_generation *gen)
{
	return gen->groups || gen->routing->mcast_parent;
}

/* ---- all together --------------------------------------------------------------------------- */

/* Takes over the answers of the checker, if it has accepted the same tables. */
static void take_checked(struct verifier *verifier)
{
	const struct osr_checked *checked = verifier->ask->checked;
	uint32_t proven = checked ? checked->verdict.proven : 0;
	const struct osr_routing *routing = verifier->ask->gen->routing;
	bool everywhere = !routing->sl2vl && !routing->granted && !verifier->ask->gen->paths;
	uint32_t any;

	if (!checked)
		return;
	answer_proven(verifier, BIT(REACH) | BIT(NO_LOOPS) | BIT(GROUPS));
	/* If VL = SL and every cable has the VLs of all SLs in use, no packet is dropped. */
	OSR_EVERY_CHANNEL(c, verifier->ask->fabric)
		everywhere &= verifier->ask->fabric->chan_vls[c] >= routing->n_vls;
	/* Replies have SLs of their own, which the checker follows only if they are claimed. */
	if (!routing->sl || everywhere || proven & (OSR_CLAIM_ANY_SL | OSR_CLAIM_REVERSIBLE))
		answer_proven(verifier, BIT(LANES));
	if (proven & OSR_CLAIM_DEADLOCK_FREE)
		answer_proven(verifier, BIT(ONE_WAY));
	if (proven & OSR_CLAIM_MULTICAST)
		answer_proven(verifier, BIT(MULTICAST));
	any = proven & OSR_CLAIM_ANY_SL;
	if (any)
		answer_proven(verifier, BIT(ANY_SL) | BIT(SL0));
	if ((any || (proven & OSR_CLAIM_REVERSIBLE)) &&
	    (!has_multicast(verifier->ask->gen) || (proven & OSR_CLAIM_MULTICAST)))
		answer_proven(verifier, BIT(REPLIES));
}

/* Do all SL2VL tables map the 16 SLs alike? VL = SL does not. */
static bool sls_alike(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	const osr_sl2vl_t *sl2vl = (const osr_sl2vl_t *)routing->sl2vl;
	size_t n = osr_n_sl2vl(fabric);

	if (!sl2vl)
		return false;
	for (size_t i = 0; i < n; i++)
		if (memcmp(sl2vl[i], sl2vl[i] + 1, 15) != 0)
			return false;
	return true;
}

enum osr_status osr_verify(const struct osr_inquiry *ask, struct osr_arena *scratch,
			   struct osr_arena *result, struct osr_findings *found,
			   struct osr_diag *diag)
{
	const uint32_t all = (1u << OSR_N_QUESTIONS) - 1,
		       chain = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_MULTICAST, any = OSR_CLAIM_ANY_SL;
	struct verifier verifier = { .ask = ask,
				     .open = ask->questions ? ask->questions : all,
				     .scratch = scratch,
				     .result = result,
				     .found = found,
				     .diag = diag };
	const struct osr_generation *gen = ask->gen;
	struct osr_generation on_sl0 = *gen;
	struct osr_paths paths = { .n_rows = 1 };
	uint32_t absent;
	struct osr_arena_mark mark;

	*found = (struct osr_findings){ .applies = all };
	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++)
		found->on[question].why = verifier.open >> question & 1 ? "" : "not asked";
	/* Without groups only the checker can tell whether the span reaches every member. */
	absent = has_multicast(gen) ? 0 : BIT(MULTICAST);
	if (!gen->groups && (!ask->checked || absent))
		absent |= BIT(GROUPS);
	found->applies &= ~absent;
	settle(&verifier, absent, OSR_UNKNOWN, NULL, "no multicast tables are given");
	take_checked(&verifier);
	ask_audit(&verifier);
	/*
	 * The whole chain is searched first, for mostly there is no loop. If there is one, the
	 * shortest beginning of the chain that has a loop tells which packets make it.
	 */
	if (gen->sls_unknown) {
		/*
		 * Path records have SLs that we do not know. A promise that holds on any SL holds
		 * on theirs. A loop on some SL is a loop on theirs if all SLs are mapped alike.
		 */
		uint32_t alike = sls_alike(ask->fabric, gen->routing) ? CHAIN : 0;

		ask_search(&verifier, gen, any | OSR_CLAIM_MULTICAST, CHAIN | BIT(ANY_SL), 0);
		ask_search(&verifier, gen, any, BIT(ONE_WAY) | BIT(ANY_SL), BIT(ANY_SL) | alike);
		ask_search(&verifier, gen, any | OSR_CLAIM_MULTICAST, 0, alike);
		settle(&verifier, CHAIN, OSR_UNKNOWN, NULL, "no path SLs are given");
	} else {
		ask_search(&verifier, gen, chain, CHAIN, 0);
		ask_search(&verifier, gen, 0, BIT(ONE_WAY), CHAIN);
		if (has_multicast(gen))
			ask_search(&verifier, gen, OSR_CLAIM_MULTICAST, BIT(MULTICAST),
				   BIT(MULTICAST) | BIT(REPLIES));
		ask_search(&verifier, gen, chain, 0, BIT(REPLIES));
	}
	/* If VL = SL, all SLs have the same dependencies: a loop on one of them is one on SL 0. */
	ask_search(&verifier, gen, any, BIT(ANY_SL) | BIT(SL0),
		   BIT(ANY_SL) | (gen->routing->sl2vl ? 0 : BIT(SL0)));
	/* The same tables, with everything on SL 0. */
	mark = osr_arena_mark(scratch);
	paths.row = osr_calloc(scratch, ask->fabric->n_terminals, sizeof(*paths.row));
	paths.sl = osr_calloc(scratch, ask->fabric->n_dests, 1);
	on_sl0.paths = &paths;
	if (osr_arena_failed(scratch, diag))
		verifier.st = OSR_NOMEM;
	ask_search(&verifier, &on_sl0, 0, BIT(SL0), BIT(SL0));
	osr_arena_reset(scratch, mark);
	return verifier.st;
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
	osr_invariant((worst == OSR_PROVEN) == (first == OSR_N_QUESTIONS));
	if (which)
		*which = first;
	return worst;
}
