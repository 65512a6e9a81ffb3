/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/answers.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

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

static const char *traffic_of(enum osr_question question)
{
	switch (question) {
	case OSR_ASK_ONE_WAY:
		return "one-way traffic";
	case OSR_ASK_MULTICAST:
		return "multicast and one-way traffic";
	case OSR_ASK_REPLIES:
		return "replies on the SL of their request";
	case OSR_ASK_SL0:
		return "traffic that is all on SL 0";
	default:
		return "traffic on any SL";
	}
}

int cli_answers_say(struct out *out, const char *name, const struct osr_findings *found,
		    uint32_t required)
{
	enum osr_question which, shown = loop_to_show(found, required);
	enum osr_answer answer = osr_verdict_of(found, required, &which);
	const char *sep = name ? ": " : "";
	char key[64];

	name = name ? name : "";
	out_text(out, "verdict", osr_answer_name(answer));
	for (unsigned question = 0; question < OSR_N_QUESTIONS; question++) {
		if (!(found->applies >> question & 1))
			continue;
		snprintf(key, sizeof(key), "answers.%s", osr_question_name(question));
		out_text(out, key, osr_answer_name(found->on[question].answer));
	}
	if (which != OSR_N_QUESTIONS && !found->on[which].loop.n)
		out_note(out, "%s%sverdict %s: %s%s", name, sep, osr_answer_name(answer),
			 found->on[which].why,
			 answer == OSR_UNKNOWN && which == OSR_ASK_ONE_WAY
				 ? " (opensm-path-sl.dump, or check --sl)"
				 : "");
	if (shown != OSR_N_QUESTIONS)
		out_note(out, "%s%s%s can deadlock: %s", name, sep, traffic_of(shown),
			 found->on[shown].why);
	return answer == OSR_REFUTED ? CLI_BAD : CLI_OK;
}

const struct out_field cli_loops_fields[] = {
	{ "tables", "tables of", OUT_TEXT, 0 },
	{ "step", "loop", OUT_COUNT, 0 },
	{ "switch", "packets from switch", OUT_TEXT, 0 },
	{ "guid", NULL, OUT_GUID, 0 },
	{ "port", "port", OUT_COUNT, 0 },
	{ "vl", "on VL", OUT_COUNT, 0 },
	{ "lid", "for LID", OUT_COUNT, 0 },
	{ "sl", "on SL", OUT_COUNT, 0 },
	{ "to", "wait at switch", OUT_TEXT, 0 },
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

void cli_answers_witness(struct out *out, const char *name, const struct osr_fabric *fabric,
			 const struct osr_findings *found, uint32_t required)
{
	enum osr_question shown = loop_to_show(found, required);

	if (shown != OSR_N_QUESTIONS)
		cli_loop_say(out, name, fabric, &found->on[shown].loop);
}
