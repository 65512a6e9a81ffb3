/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What if a cable or a switch failed? Every case takes something out of the fabric, routes the rest
 * as the next sweep would, and compares it with the present tables. --write writes the rest of the
 * fabric.
 */
#include <osmroutes/each.h>

#include <stdlib.h>
#include <string.h>

#include "traffic/changes.h"

#include "cli/cli.h"
#include "cli/source.h"
#include "cli/verdicts.h"
#include "topo/topo.h"

#define MAX_FAULTS 64
#define LABEL_SIZE 512
#define LONG_SECONDS 10

/*
 * The parts that fail, as on the command line: cables and switches by name, each in turn, or a
 * number of them at random. A case is one fabric without them.
 */
struct faults {
	const char *link[MAX_FAULTS], *sw[MAX_FAULTS]; /* words of argv */
	uint32_t n_links, n_switches;                  /* of these */
	enum { ONCE, EACH_LINK, EACH_SWITCH } each;
	bool by_chance, split;
	struct osr_degrade random;
	uint32_t n_cases;

	const struct osr_net *net;
	uint32_t *list; /* [n_cases] of each: a port, a node */
};

struct args {
	struct cli_run run;
	struct faults faults;
	uint32_t max_listed; /* OSR_NONE: by default */
	const char *write;
	struct cli_pool pool;
};

/* The outcome of a case. */
struct found {
	uint32_t number;
	char label[LABEL_SIZE];
	enum osr_status st;
	struct osr_diag diag;
	bool again; /* diag says why the previous tables are used again */
	struct osr_changes changes;
	char split[128]; /* which part was routed; empty if the fabric is whole */
	struct osr_verdict checked;
	uint64_t digest;
	double ms;
	uint32_t vls, layers;
	bool any_sl; /* proven free of deadlock on any SL */
	enum osr_answer verdict,
		transition; /* PROVEN also where the tables have to go out in two rounds */
	struct osr_stable stable;
};

/*
 * ---- what fails
 * ----------------------------------------------------------------------------------
 */

static const struct out_field removed_fields[] = {
	{ "kind", NULL, OUT_TEXT },
	{ "name", NULL, OUT_TEXT },
	{ 0 },
};

/* Appends to a list of names in `label`; names that find no room are counted. */
static void add_label(char *label, const char *name, uint32_t *n_left_out)
{
	size_t used = strlen(label);
	bool first = !used || label[used - 1] == ' ';

	if (*n_left_out || used + strlen(name) + 32 > LABEL_SIZE)
		(*n_left_out)++;
	else
		snprintf(label + used, LABEL_SIZE - used, "%s%s", first ? "" : ", ", name);
}

/*
 * Everything that is removed, behind what stands in `label`, and as rows of `removed`, unless that
 * is NULL.
 */
static void say_removed(const struct osr_net *net, const bool *gone, const bool *cut, char *label,
			struct out *removed)
{
	char name[LABEL_SIZE];
	uint32_t n_left_out = 0;
	size_t used;

	for (uint32_t i = 0; i < net->n_nodes; i++) {
		if (!gone[i])
			continue;
		add_label(label, osr_net_shown(net, i), &n_left_out);
		if (removed)
			OUT_ADD(removed, "removed", "switch", osr_net_shown(net, i));
	}
	for (uint32_t p = 0; p < net->n_ports; p++) {
		uint32_t peer = net->ports[p].peer;

		/* A cable once, at its lower port. */
		if (peer == OSR_NONE || peer < p || (!cut[p] && !cut[peer]))
			continue;
		snprintf(name, sizeof(name), "%s:%u - %s:%u",
			 osr_net_shown(net, net->ports[p].node), osr_net_port_num(net, p),
			 osr_net_shown(net, net->ports[peer].node), osr_net_port_num(net, peer));
		add_label(label, name, &n_left_out);
		if (removed)
			OUT_ADD(removed, "removed", "link", name);
	}
	used = strlen(label);
	if (n_left_out)
		snprintf(label + used, LABEL_SIZE - used, " and %u more", n_left_out);
}

/* ---- cases ---------------------------------------------------------------------------------- */

/*
 * Counts the cases in this net; --each: lists each cable between two switches, or each switch
 * without hosts.
 */
static enum osr_status faults_prepare(struct faults *faults, const struct osr_net *net,
				      const char *name, struct osr_diag *diag)
{
	bool *transit = calloc((size_t)net->n_nodes + 1, sizeof(*transit));
	uint32_t n = 0;

	faults->net = net;
	faults->list = calloc((size_t)net->n_ports + 1, sizeof(*faults->list));
	if (!faults->list || !transit || !osr_topo_transit(net, transit)) {
		free(transit);
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u nodes", net->n_nodes);
	}
	for (uint32_t p = 0; faults->each == EACH_LINK && p < net->n_ports; p++) {
		uint32_t node = net->ports[p].node, peer = net->ports[p].peer;

		if (peer != OSR_NONE && p < peer && osr_net_is_switch(net, node) &&
		    osr_net_is_switch(net, net->ports[peer].node) && node != net->ports[peer].node)
			faults->list[n++] = p;
	}
	for (uint32_t i = 0; faults->each == EACH_SWITCH && i < net->n_nodes; i++)
		if (transit[i])
			faults->list[n++] = i;
	free(transit);
	if (faults->by_chance)
		return OSR_OK;
	faults->n_cases = faults->each ? n : 1;
	if (!faults->n_cases)
		return osr_fail(
			diag, OSR_INVAL,
			faults->each == EACH_SWITCH
				? "%s: no switch without hosts in this fabric; use --switch=NODE"
				: "%s: no cable between two switches in this fabric",
			name);
	return OSR_OK;
}

/*
 * A job that tests resilience must not pass because nothing was removed, or less than it asked for.
 */
static enum osr_status check_amount(const struct osr_degrade *how, const char *what, double percent,
				    uint32_t wanted, uint32_t done, struct osr_diag *diag)
{
	if (!wanted && percent > 0)
		return osr_fail(diag, OSR_INVAL,
				"%g %% of the %s are fewer than one: give a number", percent, what);
	if (done >= wanted)
		return OSR_OK;
	return osr_fail(
		diag, OSR_INVAL, "%u %s can be removed, not %u%s", done, what, wanted,
		how->keep_connected
			? ": there are no more, or the fabric would be split (--split allows it)"
			: ": there are no more");
}

/* The parts that fail in case k: gone[nodes], cut[ports]. */
static enum osr_status choose(const struct faults *faults, uint32_t k, bool *gone, bool *cut,
			      char *label, struct osr_diag *diag)
{
	struct osr_degrade how = faults->random;
	struct osr_degraded done;
	enum osr_status st = OSR_OK;
	uint32_t at;

	if (faults->each)
		*(faults->each == EACH_LINK ? &cut[faults->list[k]] : &gone[faults->list[k]]) =
			true;
	for (uint32_t i = 0; i < faults->n_links && !st; i++) {
		st = cli_find_cable(faults->net, faults->link[i], &at, diag);
		if (!st)
			cut[at] = true;
	}
	for (uint32_t i = 0; i < faults->n_switches && !st; i++) {
		st = cli_find_switch(faults->net, faults->sw[i], &at, diag);
		if (!st)
			gone[at] = true;
	}
	if (st || !faults->by_chance)
		return st;
	/* Another seed for each case. */
	how.seed += k;
	how.keep_connected = !faults->split;
	st = osr_topo_choose(faults->net, &how, gone, cut, &done, diag);
	if (!st)
		st = check_amount(&how, how.hosts_too ? "switches" : "switches without hosts",
				  how.switches_percent, done.switches_wanted, done.n_switches,
				  diag);
	if (!st)
		st = check_amount(&how, "cables between switches", how.links_percent,
				  done.links_wanted, done.n_links, diag);
	snprintf(label, LABEL_SIZE, "seed %llu: ", (unsigned long long)how.seed);
	return st;
}

/*
 * Case k < n_cases: `net` becomes the fabric without the failed parts, label[LABEL_SIZE] names
 * them, and so do rows of section "removed" of `removed`, unless it is NULL. Any number of threads
 * may make cases at the same time.
 */
static enum osr_status faults_make(const struct faults *faults, uint32_t k, struct osr_net *net,
				   char *label, struct out *removed, struct osr_diag *diag)
{
	bool *gone = calloc((size_t)faults->net->n_nodes + 1, sizeof(*gone));
	bool *cut = calloc((size_t)faults->net->n_ports + 1, sizeof(*cut));
	enum osr_status st = OSR_NOMEM;

	label[0] = '\0';
	if (gone && cut)
		st = choose(faults, k, gone, cut, label, diag);
	else
		osr_fail(diag, st, "out of memory for %u nodes", faults->net->n_nodes);
	if (!st)
		say_removed(faults->net, gone, cut, label, removed);
	if (!st)
		st = osr_topo_remove(faults->net, gone, cut, net, diag);
	free(gone);
	free(cut);
	return st;
}

/* ---- the work ------------------------------------------------------------------------------- */

/*
 * Routes the rest of the fabric, or the part of it that OpenSM sees, from the present tables, as a
 * sweep does.
 */
static void route_after(const struct args *args, uint32_t i, const struct osr_result *was,
			const struct osr_fabric *whole, const struct osr_fabric *fabric,
			struct found *o)
{
	struct osr_arena scratch = { 0 };
	struct cli_tables tables;
	/*
	 * The verdict of all commands, on the questions that the checker of the sweep has left
	 * open.
	 */
	const struct osr_inquiry ask = { .fabric = fabric,
					 .gen = &tables.gen,
					 .questions = OSR_REQUIRED,
					 .checked = &tables.sweep.checked };
	struct cli_verdicts found;
	enum osr_question which;
	struct osr_changes kept = { 0 };
	struct osr_routing none;

	cli_tables_make(&args->run.who, i, fabric, was, &tables);
	if (tables.st && tables.st != OSR_NOMEM)
		cli_tables_again(&args->run.who, i, was, &tables);
	o->st = tables.st;
	o->diag = tables.diag;
	o->ms = tables.ms;
	o->again = tables.sweep.reused;
	if (!o->st)
		o->st = osr_changes(&was->fabric, &was->routing, fabric, &tables.routing, &scratch,
				    &o->changes, &o->diag);
	/*
	 * Between the part that is routed and the others no pair has a path: those are lost, not
	 * gone.
	 */
	if (!o->st && o->split[0]) {
		o->st = osr_routing_init(&none, whole, &scratch, &o->diag);
		if (!o->st)
			o->st = osr_changes(&was->fabric, &was->routing, whole, &none, &scratch,
					    &kept, &o->diag);
		if (!o->st) {
			o->changes.n_lost += o->changes.n_gone - kept.n_gone;
			o->changes.n_gone = kept.n_gone;
			o->changes.n_cut = kept.n_cut;
		}
	}
	if (!o->st)
		o->st = cli_verify(&ask, &scratch, &tables.arena, &found, &o->diag);
	if (!o->st) {
		o->verdict = osr_verdict_of(&found.hosts, OSR_REQUIRED, &which);
		if (o->verdict == OSR_REFUTED)
			snprintf(o->diag.text, sizeof(o->diag.text), "%s",
				 found.hosts.on[which].why);
		o->stable = tables.routing.stable;
		o->transition = o->stable.together || o->stable.transition == OSR_TRANSITION_FREE ||
						o->stable.transition == OSR_TRANSITION_ROUNDS
					? OSR_PROVEN
				: o->stable.transition == OSR_TRANSITION_UNASKED ? OSR_UNKNOWN
										 : OSR_REFUTED;
		o->checked = tables.sweep.verdict;
		o->digest = tables.result.digest;
		o->vls = tables.routing.n_vls;
		o->layers = tables.routing.n_layers;
		o->any_sl = tables.sweep.verdict.proven & OSR_CLAIM_ANY_SL;
	}
	osr_arena_free(&scratch);
	cli_tables_free(&tables);
}

/*
 * OpenSM sees the part of a split fabric that it is in. Which one that will be no file says: taken
 * is that with the most hosts, of equals the first.
 */
static enum osr_status take_part(const struct osr_net *net, const struct osr_fabric *fabric,
				 struct osr_arena *arena, struct osr_net *part, struct found *found)
{
	uint32_t *hosts = osr_calloc(arena, fabric->n_components, sizeof(*hosts));
	bool *gone = osr_calloc(arena, net->n_nodes, sizeof(*gone));
	bool *cut = osr_calloc(arena, net->n_ports, sizeof(*cut));
	uint32_t most = 0, first = 0;
	char name[32];

	if (osr_arena_failed(arena, &found->diag))
		return OSR_NOMEM;
	OSR_EACH_SWITCH(s, fabric)
		hosts[fabric->sw_component[s]] += fabric->sw_sources[s];
	for (uint32_t c = 1; c < fabric->n_components; c++)
		most = hosts[c] > hosts[most] ? c : most;
	while (fabric->sw_component[first] != most)
		first++;
	for (uint32_t n = 0; n < net->n_nodes; n++) {
		uint32_t s = osr_fabric_switch_by_guid(fabric, net->nodes[n].guid);

		gone[n] = net->nodes[n].type == OSR_NET_SWITCH && fabric->sw_component[s] != most;
	}
	snprintf(found->split, sizeof(found->split),
		 "the fabric is split; routed is the part of %.48s, with %u end port%s",
		 osr_switch_name(fabric, first, name), hosts[most], hosts[most] == 1 ? "" : "s");
	return osr_topo_remove(net, gone, cut, part, &found->diag);
}

/* All cases of one engine. */
struct cases {
	const struct args *args;
	uint32_t engine;
	const struct cli_tables *before;
	struct found *found; /* [n_cases] */
};

static enum osr_status run_case(void *ctx, uint32_t thread, uint32_t k, struct osr_diag *diag)
{
	const struct cases *cases = ctx;
	const struct args *args = cases->args;
	struct found *found = &cases->found[k];
	struct osr_arena arena = { 0 };
	struct osr_net net = { 0 }, part = { 0 };
	struct osr_fabric fabric = { 0 }, seen;
	enum osr_status st;

	(void)thread;
	found->number = k;
	st = faults_make(&args->faults, k, &net, found->label, NULL, diag);
	if (st)
		return st;
	found->st = osr_net_fabric(&net, -1, &arena, &fabric, &found->diag);
	seen = fabric;
	if (!found->st && fabric.n_components > 1 && args->run.in.fabric.n_components == 1) {
		found->st = take_part(&net, &fabric, &arena, &part, found);
		if (!found->st)
			found->st = osr_net_fabric(&part, -1, &arena, &seen, &found->diag);
	}
	if (!found->st)
		route_after(args, cases->engine, &cases->before->result, &fabric, &seen, found);
	osr_arena_free(&arena);
	osr_net_free(&net);
	osr_net_free(&part);
	if (found->st == OSR_NOMEM)
		*diag = found->diag;
	return found->st == OSR_NOMEM ? OSR_NOMEM : OSR_OK;
}

/* ---- output ---------------------------------------------------------------------------------- */

static const struct out_field head_fields[] = {
	CLI_INPUT_FIELDS, CLI_SUBJECTS_FIELDS, { "cases", NULL, OUT_COUNT }, { 0 }
};

/* Of a figure after the faults. */
struct tally {
	double sum, mean;
	uint64_t max;
};

/* All cases of one engine. */
struct summary {
	const char *engine;
	uint32_t n_cases, n_good, n_refused, n_refuted, n_transition, n_lost;
	uint64_t n_entries;
	struct tally cut, path, entries, blocks, efi, longer, vls;
	double ms, ms_before;
};

#define OF(member) OUT_OF(struct summary, member)
#define TALLY(key, indent, what, tally)                                                            \
	{ key "_mean", indent what ", mean", OUT_REAL, 1, OF(tally.mean), IS_ROUTED },             \
	{                                                                                          \
		key "_max", "    at most", OUT_COUNT, 0, OF(tally.max), IS_ROUTED                  \
	}

/* Where no case was routed there are no figures. */
enum { IS_ROUTED = 1 };

static const struct out_field engine_fields[] = {
	{ "engine", "engine", OUT_TEXT, 0, OF(engine) },
	{ "cases", "cases", OUT_COUNT, 0, OF(n_cases) },
	{ "refused", "  not routed, or refused by the checker", OUT_COUNT, 0, OF(n_refused) },
	{ "refuted", "  routed, but the verdict is refuted", OUT_COUNT, 0, OF(n_refuted) },
	{ "transition_refuted", "  that can deadlock during the transition", OUT_COUNT, 0,
	  OF(n_transition) },
	{ "lost", "  with pairs that lose their path", OUT_COUNT, 0, OF(n_lost) },
	{ "pairs", "pairs of hosts before", OUT_COUNT },
	TALLY("cut", "  ", "cut until the next sweep", cut),
	TALLY("path", "  ", "with another path after it", path),
	{ "entries", "LFT entries before", OUT_COUNT, 0, OF(n_entries) },
	TALLY("entries_changed", "  ", "changed", entries),
	TALLY("blocks", "  ", "in blocks of 64 LIDs", blocks),
	{ "efi_before", "edge forwarding index before", OUT_COUNT },
	TALLY("efi", "  ", "after", efi),
	TALLY("longer", "", "routes longer than minimal after it", longer),
	{ "vls_before", "VLs before", OUT_COUNT },
	{ "vls_max", "  after, at most", OUT_COUNT, 0, OF(vls.max), IS_ROUTED },
	{ "route_ms_before", "route, ms CPU, before", OUT_REAL, 1, OF(ms_before) },
	{ "route_ms_mean", "  after, mean", OUT_REAL, 1, OF(ms), IS_ROUTED },
	{ 0 },
};

#undef OF
#define OF(member) OUT_OF(struct found, member)

static const struct out_field case_fields[] = {
	{ "engine", "engine", OUT_TEXT },
	{ "verdict", "verdict", OUT_TEXT },
	{ "transition", "transition", OUT_TEXT },
	{ "transition_why", NULL, OUT_TEXT },
	{ "status", NULL, OUT_TEXT },
	{ "message", NULL, OUT_TEXT },
	{ "pairs_gone", "gone", OUT_COUNT, 0, OF(changes.n_gone), IS_ROUTED },
	{ "pairs_cut", "cut", OUT_COUNT, 0, OF(changes.n_cut), IS_ROUTED },
	{ "pairs_lost", "lost", OUT_COUNT, 0, OF(changes.n_lost), IS_ROUTED },
	{ "pairs_path", "other path", OUT_COUNT, 0, OF(changes.n_path), IS_ROUTED },
	{ "pairs_sl", "other SL", OUT_COUNT, 0, OF(changes.n_sl), IS_ROUTED },
	{ "entries_changed", "entries", OUT_COUNT, 0, OF(changes.n_entries_changed), IS_ROUTED },
	{ "blocks_changed", "blocks", OUT_COUNT, 0, OF(changes.n_blocks), IS_ROUTED },
	{ "efi", "EFI", OUT_COUNT, 0, OF(checked.efi), IS_ROUTED },
	{ "efi_mean", NULL, OUT_REAL, 1, OF(checked.efi_mean), IS_ROUTED },
	{ "routes_longer", "longer", OUT_COUNT, 0, OF(checked.n_longer), IS_ROUTED },
	{ "vls", "VLs", OUT_COUNT, 0, OF(vls), IS_ROUTED },
	{ "layers", NULL, OUT_COUNT, 0, OF(layers), IS_ROUTED },
	{ "any_sl", NULL, OUT_BOOL, 0, OF(any_sl), IS_ROUTED },
	{ "route_ms", NULL, OUT_REAL, 1, OF(ms), IS_ROUTED },
	{ "digest", NULL, OUT_TEXT },
	{ "case", "removed", OUT_TEXT },
	{ 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "engines", OUT_ACROSS, engine_fields },
	{ "cases", OUT_ROWS, case_fields },
	{ "removed", OUT_ROWS, removed_fields },
	{ 0 },
};

static void say_case(struct out *out, const char *engine, const struct found *found)
{
	char message[sizeof(found->split) + sizeof(found->diag) + 40];
	bool rounds;

	out_row(out, "cases");
	out_text(out, "engine", engine);
	out_text(out, "case", found->label);
	out_text(out, "status", osr_status_str(found->st));
	snprintf(message, sizeof(message), "%s%s%s%s", found->split,
		 found->split[0] && found->diag.text[0] ? "; " : "", found->diag.text,
		 found->again ? "; the earlier tables still fit" : "");
	out_text(out, "message", message);
	if (found->st || found->split[0] || found->again)
		out_note(out, "%s, without %s: %s", engine, found->label, message);
	if (found->st) {
		out_text(out, "verdict", osr_answer_name(OSR_REFUTED));
		return;
	}
	out_text(out, "verdict", osr_answer_name(found->verdict));
	rounds = !found->stable.together && found->stable.transition == OSR_TRANSITION_ROUNDS;
	out_text(out, "transition", rounds ? "two rounds" : osr_answer_name(found->transition));
	if (rounds || found->transition != OSR_PROVEN)
		out_text(out, "transition_why", found->stable.transition_why);
	out_members(out, case_fields, found, IS_ROUTED);
	out_textf(out, "digest", "%016llx", (unsigned long long)found->digest);
}

static void whatif_count_in(struct summary *all, struct tally *tally, uint64_t x)
{
	tally->sum += (double)x;
	tally->max = x > tally->max ? x : tally->max;
	tally->mean = tally->sum / all->n_good;
}

static void whatif_say_engine(struct out *out, const char *engine, const struct cli_tables *tables,
			      const struct found *found, uint32_t n)
{
	struct summary all = { .engine = engine,
			       .n_cases = n,
			       .n_entries = (uint64_t)tables->routing.n_dests *
					    tables->routing.n_switches,
			       .ms_before = tables->ms };
	double ms = 0;

	for (uint32_t k = 0; k < n; k++) {
		if (found[k].st)
			continue;
		all.n_good++;
		all.n_lost += found[k].changes.n_lost > 0;
		all.n_refuted += found[k].verdict == OSR_REFUTED;
		all.n_transition += found[k].transition == OSR_REFUTED;
		whatif_count_in(&all, &all.cut, found[k].changes.n_cut);
		whatif_count_in(&all, &all.path, found[k].changes.n_path);
		whatif_count_in(&all, &all.entries, found[k].changes.n_entries_changed);
		whatif_count_in(&all, &all.blocks, found[k].changes.n_blocks);
		whatif_count_in(&all, &all.longer, found[k].checked.n_longer);
		whatif_count_in(&all, &all.efi, found[k].checked.efi);
		whatif_count_in(&all, &all.vls, found[k].vls);
		ms += found[k].ms;
	}
	all.n_refused = n - all.n_good;
	all.ms = ms / all.n_good;
	out_row(out, "engines");
	out_members(out, engine_fields, &all, all.n_good ? IS_ROUTED : 0);
	if (all.n_good)
		out_count(out, "pairs", found[0].changes.n_pairs);
	out_count(out, "efi_before", tables->sweep.verdict.efi);
	out_count(out, "vls_before", tables->routing.n_vls);
}

/* The worst first: not routed, lost pairs, the most loaded channel, changes; then by number. */
static int by_harm(const void *one, const void *other)
{
	const struct found *x = one, *y = other;

	if (!x->st != !y->st)
		return x->st ? -1 : 1;
	if ((x->verdict == OSR_REFUTED) != (y->verdict == OSR_REFUTED))
		return x->verdict == OSR_REFUTED ? -1 : 1;
	if (x->changes.n_lost != y->changes.n_lost)
		return x->changes.n_lost > y->changes.n_lost ? -1 : 1;
	if (x->checked.efi != y->checked.efi)
		return x->checked.efi > y->checked.efi ? -1 : 1;
	if (x->changes.n_entries_changed != y->changes.n_entries_changed)
		return x->changes.n_entries_changed > y->changes.n_entries_changed ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* How long all cases will take, by the first one, if that is long. */
static enum osr_status say_estimate(struct cases *cases, struct osr_diag *diag)
{
	uint32_t n = cases->args->faults.n_cases;
	struct cli_stamp start = cli_now();
	enum osr_status st = n > 1 ? run_case(cases, 0, 0, diag) : OSR_OK;
	double seconds = cli_since(start).wall * n / cli_n_threads(&cases->args->pool, n) / 1e3;

	if (!st && seconds > LONG_SECONDS)
		fprintf(stderr,
			"osmroutes: %u cases, which take about %.0f s; --links=1 --cases=100 takes "
			"a "
			"sample\n",
			n, seconds);
	return st;
}

static enum osr_status whatif(struct args *args, uint32_t i, struct osr_diag *diag)
{
	const char *engine = cli_subject_name(&args->run.who.item[i]);
	struct found *found = calloc(args->faults.n_cases + 1, sizeof(*found));
	struct cli_tables tables = { .st = OSR_OK };
	struct cases cases = { .args = args, .engine = i, .before = &tables, .found = found };
	uint32_t limit = args->max_listed;
	enum osr_status st = found ? OSR_OK : OSR_NOMEM;

	if (limit == OSR_NONE)
		limit = args->run.out.format == OUT_PEOPLE ? 20 : 0;
	limit = limit && limit < args->faults.n_cases ? limit : args->faults.n_cases;
	if (!st)
		cli_tables_make(&args->run.who, i, &args->run.in.fabric, NULL, &tables);
	if (tables.st) {
		if (!cli_subjects_skip(&args->run.who, i, &tables)) {
			out_note(&args->run.out, "%s: %s", engine, tables.diag.text);
			args->run.code = CLI_BAD;
		}
		goto out;
	}
	if (!st)
		st = say_estimate(&cases, diag);
	if (!st)
		st = cli_each(&args->pool, engine, args->faults.n_cases, NULL, run_case, &cases,
			      diag);
	if (st)
		goto out;
	whatif_say_engine(&args->run.out, engine, &tables, found, args->faults.n_cases);
	if (limit < args->faults.n_cases || args->run.out.format == OUT_PEOPLE)
		qsort(found, args->faults.n_cases, sizeof(*found), by_harm);
	for (uint32_t k = 0; k < limit; k++)
		say_case(&args->run.out, engine, &found[k]);
	for (uint32_t k = 0; k < args->faults.n_cases; k++)
		if (found[k].st || found[k].changes.n_lost || found[k].verdict == OSR_REFUTED)
			args->run.code = CLI_BAD;
out:
	free(found);
	cli_tables_free(&tables);
	return st;
}

/* ---- the command line ----------------------------------------------------------------------- */

enum { OPT_LINKS = 256, OPT_SWITCHES };

static enum osr_status take_amount(const struct cli_line *line, const char *what, const char *text,
				   uint32_t *n, double *percent)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || !(v >= 0 && v <= 1e6))
		return osr_fail(line->diag, OSR_INVAL,
				"%s \"%s\": expected a number, or a percentage as in 2.5%%", what,
				text);
	else if (end[0] == '%' && !end[1] && v <= 100)
		*percent = v;
	else if (!end[0] && v == (double)(uint32_t)v)
		*n = (uint32_t)v;
	else
		return osr_fail(line->diag, OSR_INVAL,
				"%s \"%s\": expected a whole number, or a percentage up to 100%%",
				what, text);
	return OSR_OK;
}

static enum osr_status whatif_parse(int key, const char *arg, void *args,
				    const struct cli_line *line)
{
	struct args *a = args;
	struct faults *faults = &a->faults;
	const struct osr_degrade *random = &faults->random;
	bool named = faults->n_links || faults->n_switches, by_chance = faults->by_chance;

	switch (key) {
	case OPT_LINKS:
		faults->by_chance = true;
		return take_amount(line, "links", arg, &faults->random.n_links,
				   &faults->random.links_percent);
	case OPT_SWITCHES:
		faults->by_chance = true;
		return take_amount(line, "switches", arg, &faults->random.n_switches,
				   &faults->random.switches_percent);
	case CLI_ALL_WORDS:
		if (!named && !faults->each && !random->n_links && !random->n_switches &&
		    !(random->links_percent > 0) && !(random->switches_percent > 0))
			return osr_fail(line->diag, OSR_INVAL,
					"nothing to remove: give --link, --switch, --each, "
					"--links or --switches");
		if (named + by_chance + !!faults->each > 1)
			return osr_fail(line->diag, OSR_INVAL,
					"either --link and --switch, or --each, or --links and "
					"--switches");
		if (a->write && !strcmp(a->write, "-") && a->run.out.format != OUT_PEOPLE)
			return osr_fail(line->diag, OSR_INVAL,
					"--json and --csv need --write=FILE: the fabric would be "
					"on standard output as well");
		return OSR_OK;
	default:
		return OSR_NOT_APPLICABLE;
	}
}

static const struct cli_option options[] = {
	{ "link", "NODE:PORT", "remove the cable on this port; may be repeated",
	  CLI_LIST(struct args, faults.link, faults.n_links) },
	{ "switch", "NODE", "remove this switch; may be repeated",
	  CLI_LIST(struct args, faults.sw, faults.n_switches) },
	{ "each", "WORD", "one at a time: link or switch (without hosts)",
	  CLI_WORD(struct args, faults.each, "|link|switch") },
	{ "links", "N[%]", "remove N, or N percent, of the cables between switches at random",
	  .key = OPT_LINKS },
	{ "switches", "N[%]", "remove N, or N percent, of the switches without hosts at random",
	  .key = OPT_SWITCHES },
	{ "cases", "N", "number of random cases (default 10)",
	  CLI_NUMBER(struct args, faults.n_cases, 1, 1000000) },
	{ "seed", "N", "seed of the first random case (default 1), then one more each",
	  CLI_NUMBER(struct args, faults.random.seed, 0, INT64_MAX) },
	{ "split", NULL, "the fabric may be split at random (default: it stays connected)",
	  CLI_FLAG(struct args, faults.split) },
	{ "any-switch", NULL, "switches with hosts may go at random, too, with their hosts",
	  CLI_FLAG(struct args, faults.random.hosts_too) },
	{ "max", "N",
	  "list at most N cases, the worst, 0 for all (default: 20 in tables, all in JSON and CSV)",
	  CLI_NUMBER(struct args, max_listed, 0, 1000000) },
	{ "write", "FILE", "route nothing: write what is left of the fabric in the first case",
	  CLI_TEXT(struct args, write) },
	{ CLI_PART(input_spec, struct args, run.in) },
	{ CLI_PART(engines_spec, struct args, run.who) },
	{ CLI_PART(pool_spec, struct args, pool) },
	{ 0 },
};

/* The fabric of the first case, for other commands and for ibsim. */
static enum osr_status whatif_write(struct args *args)
{
	struct osr_diag *diag = &args->run.diag;
	struct osr_net left = { 0 };
	char label[LABEL_SIZE] = "", *comment = NULL;
	const char *head = args->run.in.net.comment ? args->run.in.net.comment : "";
	size_t n = strlen(head);
	enum osr_status st = faults_make(&args->faults, 0, &left, label, &args->run.out, diag);

	/* What the input says of its origin, then what was done to it. */
	if (!st && asprintf(&comment, "%s%s%s", head, n && head[n - 1] != '\n' ? "\n" : "",
			    args->run.line) < 0)
		st = OSR_NOMEM;
	if (!st && !left.n_nodes)
		st = osr_fail(diag, OSR_INVAL, "nothing is left of %s without %s",
			      cli_input_name(&args->run.in), label);
	if (!st)
		st = cli_write_net(&left, args->write, comment, diag);
	osr_net_free(&left);
	free(comment);
	if (!st)
		fprintf(stderr, "osmroutes: %s: the fabric without %s\n", args->write,
			label + (args->faults.by_chance ? strcspn(label, ":") + 2 : 0));
	if (args->run.out.format == OUT_PEOPLE)
		out_drop(&args->run.out);
	return st;
}

static enum osr_status whatif_work(void *args)
{
	struct args *a = args;
	struct cli_subjects *who = &a->run.who;
	struct osr_diag *diag = &a->run.diag;
	enum osr_status st = a->write ? cli_input_load(&a->run.in, diag)
				      : cli_subjects_load(who, &a->run.in, diag);

	if (!st)
		st = faults_prepare(&a->faults, &a->run.in.net, cli_input_name(&a->run.in), diag);
	if (!st)
		cli_run_say(&a->run, !a->write);
	if (!st && a->write)
		st = whatif_write(a);
	else if (!st)
		out_count(&a->run.out, "cases", a->faults.n_cases);
	for (uint32_t i = 0; i < who->n && !st && !a->write; i++)
		st = whatif(a, i, diag);
	free(a->faults.list);
	return st;
}

const struct cli_command cli_whatif = {
	"whatif",
	"remove cables or switches: what breaks, what changes",
	CLI_LOOK,
	{ options, whatif_parse, "FILE",
	  "Takes cables or switches out of the fabric of FILE, routes what is left, and "
	  "reports what breaks and what changes: pairs of hosts cut until then and lost for "
	  "good, other paths, entries, load of the channels, virtual lanes." },
	sections,
	CLI_ARGS(.run = { CLI_RUN }, .faults = { .random = { .seed = 1 }, .n_cases = 10 },
		 .max_listed = OSR_NONE),
	.work = whatif_work
};
