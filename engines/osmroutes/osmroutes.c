/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osmroutes - for administrators without a choice: routes with the engines that know the fabric,
 * checks and measures what they make, and takes the best. With several LIDs a port first LIDs alone
 * count: so the choice, and their tables, are those of LMC 0.
 *
 * Tables that are safe with any SL come first, unless another result is worth 1.4 times as much,
 * which is the most that dfsssp gives for it: 8 % of the routes longer, a tenth more load, a
 * twentieth less bandwidth. Then come those on which replies are safe, unless another one is worth
 * a tenth more. Else one figure decides: effective bisection bandwidth, less the share of longer
 * routes between hosts, less 1 % for each lane beyond the first; its square over the edge
 * forwarding index. Where bandwidths differ by 2 %, an index below what the cable of an end port
 * carries anyhow counts as that. A later result must be better by 1 %.
 */
#include <stdio.h>
#include <string.h>

#include <osmroutes/bound.h>
#include <osmroutes/check.h>
#include <osmroutes/each.h>
#include <osmroutes/spf.h>
#include <osmroutes/split.h>
#include <osmroutes/sweep.h>

#define CHOOSE_MARGIN 101 /* percent */
#define CHOOSE_ALIKE 102  /* percent: bandwidths that differ by less are weighed against any load */
#define CHOOSE_SAFER 140 /* percent of its worth that tables may cost which are safe with any SL, */
#define CHOOSE_REPLIES 110      /* and on which replies are safe */
#define CHOOSE_LANE 10          /* permille less for each lane beyond the first */
#define CHOOSE_NEAR 102         /* percent of the bound: nothing to gain from more engines */
#define CHOOSE_SMALL (1u << 22) /* table entries: where all engines together take seconds at most */
#define CHOOSE_NOTE 500

/* ---- the worth of tables --------------------------------------------------------------------- */

/* All tables of one fabric are measured on the same bisections. */
enum osr_status osr_worth_of(const struct osr_fabric *fabric, const struct osr_routing *routing,
			     const struct osr_verdict *verdict, struct osr_arena *scratch,
			     struct osr_worth *worth, struct osr_diag *diag)
{
	uint8_t lanes = routing->n_layers ? routing->n_layers : verdict->n_vls;
	struct osr_split split = { 0 };
	enum osr_status st =
		osr_split_measure(fabric, routing, OSR_SPLIT_EXACT, scratch, &split, diag);
	uint32_t n_hosts = 0;
	uint64_t off;

	if (st)
		return st;
	OSR_EVERY_TERMINAL(t, fabric)
		n_hosts += fabric->term_weight[t] > 0;
	/* Deductions: longer routes between hosts, and lanes beyond the first. */
	off = verdict->n_host_routes ? 1000 * verdict->n_host_longer / verdict->n_host_routes : 0;
	off += CHOOSE_LANE * (lanes > 1 ? lanes - 1u : 0);
	*worth = (struct osr_worth){ .efi = (uint64_t)(verdict->efi_per_capacity + 0.5),
				     .cable = n_hosts,
				     .ebb = split.first,
				     .ebb_all = split.all,
				     .permille = off < 1000 ? (uint32_t)(1000 - off) : 1,
				     .lanes = lanes,
				     .longer = verdict->n_host_longer,
				     .safe = verdict->proven & OSR_CLAIM_ANY_SL ? OSR_SAFE_ANY_SL
					     : verdict->proven & OSR_CLAIM_REVERSIBLE
						     ? OSR_SAFE_REPLIES
						     : OSR_SAFE_ONE_WAY };
	return OSR_OK;
}

/* Half of the programs are taken to send to first LIDs, half of them to all LIDs evenly. */
static uint64_t worth_ebb(const struct osr_worth *worth)
{
	return (uint64_t)worth->ebb + worth->ebb_all;
}

/*
 * The bisection bandwidth counts twice, because everybody feels it; the busiest link slows down
 * some.
 */
static unsigned __int128 worth_felt(const struct osr_worth *worth)
{
	unsigned __int128 felt = (unsigned __int128)worth_ebb(worth) * worth->permille;

	return felt * felt;
}

bool osr_worth_more(const struct osr_worth *a, const struct osr_worth *b)
{
	bool alike = worth_ebb(a) * 100 <= worth_ebb(b) * CHOOSE_ALIKE &&
		     worth_ebb(b) * 100 <= worth_ebb(a) * CHOOSE_ALIKE;
	uint64_t least = alike || !a->cable ? 1 : a->cable, efi_a = a->efi > least ? a->efi : least,
		 efi_b = b->efi > least ? b->efi : least;
	unsigned margin = CHOOSE_MARGIN;
	bool any_sl = a->safe == OSR_SAFE_ANY_SL || b->safe == OSR_SAFE_ANY_SL;
	unsigned safer = any_sl ? CHOOSE_SAFER : CHOOSE_REPLIES;

	/* Percent of its worth that b has to be beaten by: less than all where a is safer. */
	if (a->safe != b->safe)
		margin = a->safe > b->safe ? 100 * 100 / safer : safer;
	return worth_felt(a) * efi_b * 100 > worth_felt(b) * efi_a * margin;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static const struct osr_param params[] = {
	OSR_SWEEP_MAX_VLS, OSR_SWEEP_STABLE, OSR_SWEEP_REBALANCE, { 0 }
};

/* In this order: among equals dmodk serves trees, for shifts in node order meet nowhere there. */
static const struct choice {
	const char *name;
	/* NOT_PERFECT: small, or not at the bound; SMALL: and neither near the bound */
	enum { ALWAYS, NOT_PERFECT, NOT_NEAR_BOUND, SMALL } when;
} choices[] = { { "dmodk", ALWAYS },
		{ "dfsssp", NOT_PERFECT },
		{ "angara", NOT_NEAR_BOUND },
		{ "sssp", SMALL },
		{ "p2sssp", SMALL } };

/* An engine's tables, and their worth. */
struct offer {
	const struct osr_engine *engine;
	struct osr_routing routing;
	struct osr_checked checked;
	struct osr_worth worth;
};

/* Notes: the name of the chosen engine, padded with zeros, then its own. */
#define CHOOSE_NAME 16

struct chooser {
	const struct osr_job *job;
	struct offer best;
	uint64_t bound;
	char others[CHOOSE_NOTE], unfit[CHOOSE_NOTE]; /* their worth; names */
};

static void choose_say(char *list, const char *between, const char *text)
{
	size_t n = strlen(list);

	snprintf(list + n, CHOOSE_NOTE - n, "%s%s", n ? between : "", text);
}

/* Writes the figures of an offer; `words`: with their names. */
static void choose_describe(const struct offer *offer, bool words, char *text, size_t size)
{
	const struct osr_worth *worth = &offer->worth;

	snprintf(text, size, "%s (%llu%s, %u.%04u%s, %u VL%s%s)", offer->engine->name,
		 (unsigned long long)worth->efi, words ? " routes on the busiest link" : "",
		 (worth->ebb + 50) / 1000000, (worth->ebb + 50) / 100 % 10000,
		 words ? " effective bisection bw" : "", worth->lanes, worth->lanes == 1 ? "" : "s",
		 worth->longer ? ", longer routes" : "");
}

/* Lanes, SLs, lengths, loads by the checker. OSR_CHECK_FAILED: not to be used. */
static enum osr_status choose_measure(const struct chooser *chooser, struct offer *offer,
				      struct osr_diag *why)
{
	const struct osr_job *job = chooser->job;
	const struct osr_verdict *verdict = &offer->checked.verdict;
	enum osr_status st = OSR_OK;

	if (!offer->checked.load)
		st = osr_check_keep(job->fabric, &offer->routing, job->arena, job->scratch,
				    &offer->checked, why);
	if (!st && !(verdict->proven & OSR_CLAIM_DEADLOCK_FREE))
		st = osr_fail(why, OSR_CHECK_FAILED, "not free of deadlock");
	if (!st && verdict->n_vls > job->request.max_vls)
		st = osr_fail(why, OSR_CHECK_FAILED, "more than %u VLs", job->request.max_vls);
	if (!st)
		st = osr_worth_of(job->fabric, &offer->routing, verdict, job->scratch,
				  &offer->worth, why);
	return st;
}

static bool choose_is_worth(const struct chooser *chooser, const struct choice *choice,
			    const struct osr_engine *engine)
{
	const struct osr_fabric *fabric = chooser->job->fabric;
	const struct offer *best = &chooser->best;
	bool large = (uint64_t)fabric->n_dests * fabric->n_switches > CHOOSE_SMALL;

	if (!engine || (choice->when == SMALL && large))
		return false;
	if (!best->engine || choice->when == ALWAYS || (choice->when == NOT_PERFECT && !large))
		return true;
	return best->worth.permille < 1000 || best->worth.safe != OSR_SAFE_ANY_SL ||
	       best->worth.efi * 100 >
		       chooser->bound * (choice->when == NOT_PERFECT ? 100 : CHOOSE_NEAR);
}

/* The better of both stays, the other one is told of. NULL: this engine has nothing to offer. */
static bool choose_keep(struct chooser *chooser, const struct offer *offer,
			const struct osr_engine *engine)
{
	const struct offer *best = &chooser->best;
	bool better = offer, any_sl = offer && offer->worth.safe == OSR_SAFE_ANY_SL;
	char text[80];

	if (offer && best->engine)
		better = chooser->job->request.keep_any_sl &&
					 any_sl != (best->worth.safe == OSR_SAFE_ANY_SL)
				 ? any_sl
				 : osr_worth_more(&offer->worth, &best->worth);

	if (!offer)
		choose_say(chooser->unfit, ", ", engine->name);
	if (offer && best->engine) {
		choose_describe(better ? best : offer, false, text, sizeof(text));
		choose_say(chooser->others, ", ", text);
	}
	if (better)
		chooser->best = *offer;
	return better;
}

static struct osr_notes choose_notes_of(const struct osr_notes *notes,
					const struct osr_engine *engine)
{
	char name[CHOOSE_NAME] = "";

	snprintf(name, sizeof(name), "%s", engine->name);
	if (notes->size < CHOOSE_NAME || memcmp(notes->data, name, CHOOSE_NAME) != 0)
		return (struct osr_notes){ NULL, 0 };
	return (struct osr_notes){ (const char *)notes->data + CHOOSE_NAME,
				   notes->size - CHOOSE_NAME };
}

static enum osr_status choose_try(struct chooser *chooser, const struct osr_engine *engine)
{
	const struct osr_job *job = chooser->job;
	struct osr_arena_mark mark = osr_arena_mark(job->scratch),
			      result = osr_arena_mark(job->arena);
	struct offer offer = { .engine = engine };
	struct osr_diag why = { "" };
	struct osr_values values;
	struct osr_job mine = *job;
	enum osr_status st;

	osr_values_default(&values, engine->params);
	mine.engine = engine;
	mine.values = &values;
	mine.routing = &offer.routing;
	mine.checked = &offer.checked;
	mine.diag = &why;
	mine.notes = choose_notes_of(&job->notes, engine);
	st = engine->applies ? engine->applies(&mine) : OSR_OK;
	if (!st)
		st = engine->route(&mine);
	osr_arena_reset(job->scratch, mark);
	if (!st)
		st = choose_measure(chooser, &offer, &why);
	osr_arena_reset(job->scratch, mark);
	if (st == OSR_NOMEM)
		return osr_fail(job->diag, st, "%s", why.text);
	if (!choose_keep(chooser, st ? NULL : &offer, engine))
		osr_arena_reset(job->arena, result);
	return OSR_OK;
}

/* One line: the engine and why, by routes on the busiest link, bisection and lanes. */
static enum osr_status choose_note(const struct chooser *chooser, struct osr_routing *routing)
{
	const struct osr_job *job = chooser->job;
	char *notes = osr_calloc(job->arena, CHOOSE_NAME + routing->notes.size, 1);
	char *text = osr_alloc(job->arena, 4 * CHOOSE_NOTE, 1), best[160];

	if (!notes || !text)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for one sentence");
	choose_describe(&chooser->best, true, best, sizeof(best));
	snprintf(text, 4 * CHOOSE_NOTE, "chosen: %s%s%s%s%s%s%s", best,
		 *chooser->others ? " over " : "", chooser->others,
		 *chooser->unfit ? "; cannot serve this fabric: " : "", chooser->unfit,
		 routing->note ? "; " : "", routing->note ? routing->note : "");
	snprintf(notes, CHOOSE_NAME, "%s", chooser->best.engine->name);
	if (routing->notes.size)
		memcpy(notes + CHOOSE_NAME, routing->notes.data, routing->notes.size);
	routing->note = text;
	routing->notes = (struct osr_notes){ notes, CHOOSE_NAME + routing->notes.size };
	routing->chosen = chooser->best.engine->name;
	routing->engine = "osmroutes";
	return OSR_OK;
}

static enum osr_status choose_route(const struct osr_job *job)
{
	struct chooser chooser = { .job = job };
	enum osr_status st = osr_bound_cut(job->fabric, job->scratch, &chooser.bound, job->diag);

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]) && !st; i++) {
		const struct osr_engine *engine = osr_engine_find(choices[i].name);

		if (choose_is_worth(&chooser, &choices[i], engine))
			st = choose_try(&chooser, engine);
	}
	if (!st && !chooser.best.engine)
		st = osr_fail(job->diag, OSR_NOT_APPLICABLE, "no engine routes this fabric: %s",
			      chooser.unfit);
	if (st)
		return st;
	*job->routing = chooser.best.routing;
	if (job->checked)
		*job->checked = chooser.best.checked;
	return choose_note(&chooser, job->routing);
}

const struct osr_engine osr_engine_osmroutes = {
	.name = "osmroutes",
	.summary = "chooses: the engine whose checked tables are best on this fabric",
	.reference =
		"Hoefler, Schneider, Lumsdaine: Multistage Switches are not Crossbars, Cluster "
		"2008 (the measure)",
	.params = params,
	.capabilities = OSR_ENGINE_DEADLOCK_FREE | OSR_ENGINE_REROUTE,
	.route = choose_route,
};
