/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/each.h>

#include "cli/verdicts.h"

#include <stdio.h>
#include <string.h>

/* ---- asking --------------------------------------------------------------------------------- */

/* Does a packet of a host go by switch `by` on its way to this dest? */
static bool hosts_pass(const struct osr_fabric *fabric, const struct osr_routing *routing,
		       uint32_t by, uint32_t dest)
{
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t v = fabric->sw_sources[s] ? s : OSR_NONE;

		for (uint32_t n = 0; v != OSR_NONE && n <= fabric->n_switches; n++) {
			uint8_t port = osr_lft(routing, v, dest);
			uint32_t on =
				port == OSR_NO_PATH ? OSR_NONE : osr_port_channel(fabric, v, port);

			if (v == by)
				return true;
			v = on == OSR_NONE ? OSR_NONE : fabric->chan_dst[on];
		}
	}
	return false;
}

/* Does a packet between hosts, on any SL, take channel c and then `on`? */
static bool hosts_turn(const struct osr_fabric *fabric, const struct osr_routing *routing,
		       uint32_t c, uint32_t on)
{
	OSR_EACH_DEST(d, fabric)
		if (fabric->term_weight[fabric->dest_term[d]] &&
		    osr_lft(routing, fabric->chan_src[c], d) == fabric->chan_port[c] &&
		    osr_lft(routing, fabric->chan_src[on], d) == fabric->chan_port[on] &&
		    hosts_pass(fabric, routing, fabric->chan_src[c], d))
			return true;
	return false;
}

/* The first step of this loop that no packet between hosts takes. */
static void name_need(const struct osr_fabric *fabric, const struct osr_routing *routing,
		      const struct osr_loop *loop, char *buf, size_t size)
{
	char from[32], to[32];

	snprintf(buf, size, "it needs packets to or from port 0 of switches");
	for (uint32_t i = 0; i < loop->n; i++) {
		const struct osr_loop_step *step = &loop->step[i];
		uint32_t d = step->lid <= fabric->max_lid ? fabric->lid_dest[step->lid] : OSR_NONE;
		size_t at = strlen(buf);

		if (d == OSR_NONE || hosts_turn(fabric, routing, step->channel,
						loop->step[(i + 1) % loop->n].channel))
			continue;
		if (fabric->term_role[fabric->dest_term[d]] == OSR_ROLE_SP0)
			snprintf(buf + at, size - at, ", as to LID %u (switch %s)", step->lid,
				 osr_switch_name(fabric, fabric->dest_switch[d], to));
		else
			snprintf(buf + at, size - at, ", as from switch %s to LID %u (%s)",
				 osr_switch_name(fabric, fabric->chan_src[step->channel], from),
				 step->lid, osr_terminal_name(fabric, fabric->dest_term[d], to));
		return;
	}
}

/* The question whose credit loop is worth showing, or OSR_N_QUESTIONS. */
static enum osr_question loop_to_show(const struct osr_findings *found, uint32_t required)
{
	enum osr_question shown[] = { OSR_ASK_ONE_WAY, OSR_ASK_MULTICAST, OSR_ASK_REPLIES };

	for (unsigned i = 0; i < 3; i++)
		if (found->on[shown[i]].loop.n)
			return shown[i];
	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++)
		if (required >> question & 1 && found->on[question].loop.n)
			return (enum osr_question)question;
	if (!found->on[OSR_ASK_ONE_WAY].answer && found->on[OSR_ASK_SL0].loop.n)
		return OSR_ASK_SL0;
	return OSR_N_QUESTIONS;
}

/* What packets to and from port 0 of switches alone are the reason of. */
static struct osr_findings of_switches(const struct cli_verdicts *verdicts)
{
	struct osr_findings found = verdicts->all;

	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++)
		if (found.on[question].answer == verdicts->hosts.on[question].answer)
			found.on[question] = (struct osr_answered){ .answer = OSR_PROVEN };
	return found;
}

/* The reason of such a loop names what it needs. */
static enum osr_status add_needs(const struct osr_inquiry *ask, struct osr_arena *result,
				 struct cli_verdicts *verdicts, struct osr_diag *diag)
{
	const struct osr_findings found = of_switches(verdicts);
	char need[256];

	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++) {
		const struct osr_answered *of = &found.on[question];
		size_t size = of->loop.n ? strlen(of->why) + sizeof(need) : 0;
		char *why = osr_alloc(result, size, 1);

		if (osr_arena_failed(result, diag))
			return OSR_NOMEM;
		if (!size)
			continue;
		name_need(ask->fabric, ask->gen->routing, &of->loop, need, sizeof(need));
		snprintf(why, size, "%s; %s", of->why, need);
		verdicts->all.on[question].why = why;
	}
	return OSR_OK;
}

enum osr_status cli_verify(const struct osr_inquiry *ask, struct osr_arena *scratch,
			   struct osr_arena *result, struct cli_verdicts *verdicts,
			   struct osr_diag *diag)
{
	struct osr_inquiry between_hosts = *ask;
	struct osr_findings rest;
	enum osr_status st;

	*verdicts = (struct cli_verdicts){ 0 };
	st = osr_verify(ask, scratch, result, &verdicts->all, diag);
	if (st)
		return st;
	verdicts->hosts = verdicts->all;
	verdicts->hosts.audit = (struct osr_audit){ 0 };
	/* An answer for all packets holds for packets between hosts. */
	between_hosts.scope |= OSR_ONLY_HOSTS;
	between_hosts.questions = 0;
	between_hosts.max_listed = 0;
	between_hosts.rank = NULL;
	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++)
		if (verdicts->all.applies >> question & 1 &&
		    verdicts->all.on[question].answer != OSR_PROVEN &&
		    (!ask->questions || ask->questions >> question & 1))
			between_hosts.questions |= 1u << question;
	if (!between_hosts.questions)
		return OSR_OK;
	st = osr_verify(&between_hosts, scratch, result, &rest, diag);
	for (unsigned question = 0; question < OSR_N_QUESTIONS && !st; question++)
		if (between_hosts.questions >> question & 1)
			verdicts->hosts.on[question] = rest.on[question];
	return st ? st : add_needs(ask, result, verdicts, diag);
}

bool cli_is_refuted(const struct cli_verdicts *verdicts, uint32_t required)
{
	return osr_verdict_of(&verdicts->all, required, NULL) == OSR_REFUTED;
}

enum osr_status cli_verdicts_confirm(struct cli_verdicts *verdicts, const struct cli_tables *tables,
				     const struct cli_input *in, struct osr_diag *diag)
{
	struct osr_findings *const both[] = { &verdicts->hosts, &verdicts->all };
	enum osr_status st =
		tables->is_live ? cli_live_again(&in->live, &verdicts->changed, diag) : OSR_OK;

	for (unsigned i = 0; i < 2 && !st && verdicts->changed; i++)
		for (unsigned question = 0; question < OSR_N_QUESTIONS; question++)
			both[i]->on[question] = (struct osr_answered){ .answer = OSR_UNKNOWN,
								       .why = CLI_FABRIC_CHANGED };
	return st;
}

/* ---- saying --------------------------------------------------------------------------------- */

/* Why not all is proven; `whose` stands before it. */
static void say_reasons(struct out *out, const char *whose, const struct osr_findings *found,
			uint32_t required)
{
	enum osr_question which, shown = loop_to_show(found, required);
	enum osr_answer answer = osr_verdict_of(found, required, &which);
	static const char *const traffic[OSR_N_QUESTIONS] = {
		[OSR_ASK_ONE_WAY] = "one-way traffic",
		[OSR_ASK_MULTICAST] = "multicast and one-way traffic",
		[OSR_ASK_REPLIES] = "replies on the SL of their request",
		[OSR_ASK_SL0] = "traffic that is all on SL 0",
		[OSR_ASK_ANY_SL] = "traffic on any SL",
	};

	if (which != OSR_N_QUESTIONS && !found->on[which].loop.n)
		out_note(out, "%sverdict %s: %s", whose, osr_answer_name(answer),
			 found->on[which].why);
	if (shown != OSR_N_QUESTIONS)
		out_note(out, "%s%s can deadlock: %s", whose, traffic[shown], found->on[shown].why);
}

/* The answers under keys that begin with `prefix`. */
static void say_answers(struct out *out, const char *prefix, const struct osr_findings *found)
{
	char key[64];

	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++) {
		if (!(found->applies >> question & 1))
			continue;
		snprintf(key, sizeof(key), "%s.%s", prefix, osr_question_name(question));
		out_text(out, key, osr_answer_name(found->on[question].answer));
	}
}

int cli_verdicts_say(struct out *out, const char *name, const struct cli_verdicts *verdicts,
		     uint32_t required)
{
	enum osr_question which, first;
	enum osr_answer answer = osr_verdict_of(&verdicts->hosts, required, &which);
	enum osr_answer with_switches = osr_verdict_of(&verdicts->all, required, &first);
	const struct osr_findings rest = of_switches(verdicts);
	char whose[256];

	out_text(out, "verdict", osr_answer_name(answer));
	say_answers(out, "answers", &verdicts->hosts);
	snprintf(whose, sizeof(whose), "%.128s%s", name ? name : "", name ? ": " : "");
	if (!(verdicts->hosts.applies >> OSR_ASK_MULTICAST & 1))
		out_note(out, "%sthere are no multicast tables: no answer includes multicast",
			 whose);
	say_reasons(out, whose, &verdicts->hosts, required);
	if (answer == OSR_UNKNOWN && which == OSR_ASK_ONE_WAY && !verdicts->changed)
		out_note(out, "%sopensm-path-sl.dump or check --sl=N gives the SLs", whose);
	out_text(out, "with_switches.verdict", osr_answer_name(with_switches));
	say_answers(out, "with_switches", &verdicts->all);
	snprintf(whose, sizeof(whose),
		 "%.128s%swith packets to and from port 0 of switches: ", name ? name : "",
		 name ? ": " : "");
	say_reasons(out, whose, &rest, required);
	if (first != OSR_N_QUESTIONS)
		out_text(out, "with_switches.why", verdicts->all.on[first].why);
	return answer == OSR_REFUTED ? CLI_BAD : CLI_OK;
}

const struct out_field cli_loops_fields[] = {
	{ "tables", "tables of", OUT_TEXT },
	{ "step", "loop", OUT_COUNT },
	{ "switch", "packets from switch", OUT_TEXT },
	{ "guid", NULL, OUT_GUID },
	{ "port", "port", OUT_COUNT },
	{ "vl", "on VL", OUT_COUNT },
	{ "lid", "for LID", OUT_COUNT },
	{ "sl", "on SL", OUT_COUNT },
	{ "to", "wait at switch", OUT_TEXT },
	{ 0 },
};

void cli_loop_say(struct out *out, const char *name, const struct osr_fabric *fabric,
		  const struct osr_loop *loop)
{
	char from[32], to[32];

	for (uint32_t i = 0; i < loop->n; i++) {
		const struct osr_loop_step *step = &loop->step[i];
		uint32_t c = step->channel;

		const struct out_value row[] = { OUT_VALUES(
			name, i + 1, osr_switch_name(fabric, fabric->chan_src[c], from),
			fabric->sw_guid[fabric->chan_src[c]], fabric->chan_port[c], step->vl,
			step->lid ? step->lid : OUT_NO_COUNT, step->sl,
			osr_switch_name(fabric, fabric->chan_dst[c], to)) };
		const size_t n = sizeof(row) / sizeof(row[0]);

		if (name)
			out_add(out, "loops", row, n);
		else
			out_add(out, "loop", row + 1, n - 1);
	}
}

void cli_verdicts_witness(struct out *out, const char *name, const struct osr_fabric *fabric,
			  const struct cli_verdicts *verdicts, uint32_t required)
{
	const struct osr_findings *found = &verdicts->hosts;
	enum osr_question shown = loop_to_show(found, required);

	if (shown == OSR_N_QUESTIONS) {
		found = &verdicts->all;
		shown = loop_to_show(found, required);
	}
	if (shown != OSR_N_QUESTIONS)
		cli_loop_say(out, name, fabric, &found->on[shown].loop);
}
