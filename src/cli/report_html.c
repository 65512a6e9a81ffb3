/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The page of a report: see report.h. */
#include <inttypes.h>
#include <string.h>

#include "cli/report.h"
#include "report_css.h"

const char *report_text(const char *text)
{
	static const char marks[] = "&<>\"";
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;" };
	static char ring[8][4096];
	static unsigned turn;
	char *buf = ring[turn++ % 8], *to = buf;

	for (; *text && to < buf + sizeof(ring[0]) - 8; text++) {
		const char *mark = strchr(marks, *text);

		if (mark)
			to = stpcpy(to, entities[mark - marks]);
		else
			*to++ = *text < ' ' || *text >= 127 ? '?' : *text;
	}
	*to = '\0';
	return buf;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static void say_answer(FILE *out, const struct osr_answered *answered, const char *question,
		       const char *said)
{
	static const char *const class[] = { "open", "good", "bad" };
	const char *why =
		strcmp(answered->why, said) ? report_text(answered->why) : "for the same reason";

	fprintf(out, "<li class=\"%s\">%s: %s", class[answered->answer], question,
		osr_answer_name(answered->answer));
	fprintf(out, answered->why[0] ? " (%s)</li>\n" : "</li>\n", why);
}

static void say_verdicts(const struct report *p, FILE *out)
{
	static const struct {
		enum osr_question question;
		const char *text;
	} said[] = {
		{ OSR_ASK_REACH, "every LID is reached from every switch of its component" },
		{ OSR_ASK_NO_LOOPS, "no forwarding loops" },
		{ OSR_ASK_LANES, "no packet is dropped for its SL" },
		{ OSR_ASK_GROUPS, "multicast reaches every member" },
		{ OSR_ASK_ONE_WAY, "free of deadlock on the SLs of path records" },
		{ OSR_ASK_MULTICAST, "also with multicast" },
		{ OSR_ASK_REPLIES, "also with replies on the SL of their request" },
		{ OSR_ASK_ANY_SL, "whatever SL a program chooses" },
	};
	const struct osr_findings *found = &p->a->found;
	const char *last = "";

	fprintf(out, "<p>Verdict: <b>%s</b></p>\n<ul class=\"verdict\">\n",
		osr_answer_name(osr_verdict_of(found, OSR_REQUIRED, NULL)));
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		const struct osr_answered *answered = &found->on[said[i].question];

		if (!(found->applies >> said[i].question & 1))
			continue;
		say_answer(out, answered, said[i].text, last);
		last = answered->why;
	}
	if (p->a->n_longer)
		fprintf(out,
			"<li class=\"price\">%" PRIu64 " of %" PRIu64
			" routes are longer than minimal, by %u channels at most</li>\n",
			p->a->n_longer, p->a->n_from, p->a->max_longer);
	else
		fprintf(out,
			"<li class=\"good\">every route is as short as the graph allows</li>\n");
	fprintf(out, "</ul>\n");
}

/* ---- tables ---------------------------------------------------------------------------------- */

static double over_even(const struct osr_balance *balance)
{
	return balance->perfect > 0 ? (double)balance->efi / balance->perfect : 0;
}

/* A column for the tables of the page, and one for those they are compared with. */
static void say_figures(const struct report *p, FILE *out)
{
	const struct cli_analysis *x = p->a, *y = p->other ? &p->other->a : p->a;
	bool bisected = x->bandwidth.n_patterns, has_worst = x->worst.f;
	const struct {
		const char *what;
		int digits;
		bool shown;
		double x, y;
	} rows[] = {
		{ "edge forwarding index: routes on the busiest channel", 0, true,
		  (double)x->balance.efi, (double)y->balance.efi },
		{ "least possible: no routing has less on its busiest channel", 0, true,
		  (double)p->bound, (double)p->bound },
		{ "mean routes on a channel", 1, true, x->balance.mean, y->balance.mean },
		{ "routes on the busiest channel over an even spread", 3, true,
		  over_even(&x->balance), over_even(&y->balance) },
		{ "channels of a route between hosts, mean", 3, true, cli_mean_hops(x),
		  cli_mean_hops(y) },
		{ "routes longer than minimal", 0, true, (double)x->n_longer, (double)y->n_longer },
		{ "virtual lanes used", 0, p->r->n_vls, p->r->n_vls,
		  p->other ? p->other->r->n_vls : 0 },
		{ "effective bisection bandwidth, share of a link", 4, bisected, x->bandwidth.mean,
		  y->bandwidth.mean },
		{ "&plusmn; 95 % confidence", 5, bisected, x->bandwidth.half_width,
		  y->bandwidth.half_width },
		{ "random bisections", 0, bisected, x->bandwidth.n_patterns,
		  y->bandwidth.n_patterns },
		{ "rate left by the worst permutation of hosts, share of a link", 4, has_worst,
		  cli_worst_share(x->worst.worst.load), cli_worst_share(y->worst.worst.load) },
		{ "&le; what any tables can leave", 4, has_worst, cli_worst_share(x->worst.bound),
		  cli_worst_share(y->worst.bound) },
	};

	fprintf(out,
		"<p>%u switches, %u channels (directions of cables between them), %u "
		"LIDs</p>\n<table>\n",
		p->f->n_switches, p->f->n_channels, p->f->n_dests);
	/* Whose figures: names and verdicts, where two are compared. */
	if (p->other)
		fprintf(out,
			"<tr><th></th><th class=\"n\">%s</th><th class=\"n\">%s</th></tr>\n"
			"<tr><td>verdict</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
			report_text(p->tables_name), report_text(p->other->name),
			osr_answer_name(osr_verdict_of(&x->found, OSR_REQUIRED, NULL)),
			osr_answer_name(osr_verdict_of(&y->found, OSR_REQUIRED, NULL)));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].shown)
			continue;
		fprintf(out, "<tr><td>%s</td>", rows[i].what);
		for (unsigned k = 0; k < (p->other ? 2 : 1); k++)
			fprintf(out, "<td class=\"n\">%.*f</td>", rows[i].digits,
				k ? rows[i].y : rows[i].x);
		fprintf(out, "</tr>\n");
	}
	fprintf(out, "</table>\n");
	/* What changes from the other tables to these. */
	if (p->other)
		fprintf(out,
			"<p>From the tables of %s to these %" PRIu64 " of %" PRIu64
			" pairs of hosts change their path, and %" PRIu64 " of %" PRIu64
			" LFT entries change, in %" PRIu64 " blocks of 64.</p>\n",
			report_text(p->other->name), p->other->changes.n_path,
			p->other->changes.n_pairs, p->other->changes.n_entries_changed,
			p->other->changes.n_entries, p->other->changes.n_blocks);
}

#define SAME_SHOWN 3 /* of those with one load */

static void say_channel(const struct report *p, uint32_t c, FILE *out)
{
	const struct osr_fabric *fabric = p->f;
	char a[32], b[32];

	fprintf(out,
		"<tr><td>%s</td><td class=\"n\">%u</td><td>%s</td><td class=\"n\">%u</td><td "
		"class=\"n\">%" PRIu64 "</td><td class=\"n\">%.2f</td></tr>\n",
		report_text(osr_switch_name(fabric, fabric->chan_src[c], a)), fabric->chan_port[c],
		report_text(osr_switch_name(fabric, fabric->chan_dst[c], b)),
		fabric->chan_port[fabric->chan_rev[c]], p->loads.load[c],
		p->a->balance.perfect > 0 ? (double)p->loads.load[c] / p->a->balance.perfect : 0);
}

static void say_worst(const struct report *p, FILE *out)
{
	uint32_t n_same = 0;

	fprintf(out, "<table><tr><th>from</th><th class=\"n\">port</th><th>to</th><th "
		     "class=\"n\">port</th><th class=\"n\">routes</th><th class=\"n\">of an even "
		     "spread</th></tr>\n");
	for (uint32_t i = 0; i < p->n_worst; i++) {
		uint64_t load = p->loads.load[p->worst[i]];
		bool last = i + 1 == p->n_worst || p->loads.load[p->worst[i + 1]] != load;

		if (n_same++ < SAME_SHOWN)
			say_channel(p, p->worst[i], out);
		if (!last)
			continue;
		/* Channels with exactly this load. */
		n_same = 0;
		for (uint32_t c = 0; c < p->f->n_channels; c++)
			n_same += p->loads.load[c] == load;
		if (n_same > SAME_SHOWN)
			fprintf(out,
				"<tr><td class=\"note\" colspan=\"6\">and %u more with %" PRIu64
				" routes</td></tr>\n",
				n_same - SAME_SHOWN, load);
		n_same = 0;
	}
	fprintf(out, "</table>\n");
}

/*
 * What to do, the worst first: packets that are lost or deadlock, then load that another routing would not have, then
 * load that no routing can avoid.
 */
static void say_advice(const struct report *p, FILE *out)
{
	const struct osr_balance *balance = &p->a->balance;
	double over = over_even(balance),
	       times = p->bound ? (double)balance->efi / (double)p->bound : 1;
	const struct osr_fabric *fabric = p->f;
	uint32_t c = balance->efi_channel;
	char x[32], y[32];

	fprintf(out, "<p><b>What to do:</b> ");
	if (p->a->found.on[OSR_ASK_ONE_WAY].answer == OSR_REFUTED) {
		fprintf(out, "these tables can deadlock. Take an engine that is free of deadlock "
			     "on this fabric, dfsssp for one.</p>\n");
		return;
	}
	if (osr_verdict_of(&p->a->found, OSR_REQUIRED, NULL) == OSR_REFUTED) {
		fprintf(out, "packets are lost: see what is marked &#10007; above. Route with an "
			     "engine whose "
			     "tables are proven, dfsssp for one.</p>\n");
		return;
	}
	if (over <= 1.35 && times <= 1.35) {
		fprintf(out,
			"nothing%s. The busiest channel carries %.2f times the least "
			"possible.</p>\n",
			p->a->found.on[OSR_ASK_ANY_SL].answer == OSR_REFUTED
				? ", if programs take the SL of the path record"
				: "",
			times);
		return;
	}
	fprintf(out,
		"look at the busiest channel, from %s port %u to %s port %u. It carries %.2f times "
		"the least possible, and %.2f times an even spread. %s</p>\n",
		report_text(osr_switch_name(fabric, fabric->chan_src[c], x)), fabric->chan_port[c],
		report_text(osr_switch_name(fabric, fabric->chan_dst[c], y)),
		fabric->chan_port[fabric->chan_rev[c]], times, over,
		times <= 1.05
			? "No routing is better: this cable is the bottleneck between the parts "
			  "that it joins, and a second one beside it would help."
			: "See whether another engine spreads better (osmroutes route -e all), "
			  "and whether cables beside it are missing (osmroutes diff with an "
			  "earlier "
			  "fabric).");
}

static void say_lanes(const struct report *p, FILE *out)
{
	static const char *const labels[OSR_MAX_VLS] = { "VL0",  "VL1",  "VL2",  "VL3",  "VL4",
							 "VL5",  "VL6",  "VL7",  "VL8",  "VL9",
							 "VL10", "VL11", "VL12", "VL13", "VL14" };

	if (!p->r->sl) {
		fprintf(out, "<p>%s</p>\n",
			p->a->found.on[OSR_ASK_ANY_SL].answer == OSR_PROVEN
				? p->r->n_vls > 1 ? "The lane depends on the turn that a packet "
						    "takes, whatever its SL."
						  : "One lane is enough: senders may use any SL."
				: "The tables name no SLs.");
		return;
	}
	report_draw_bars(labels, p->vl_routes, p->r->n_vls ? p->r->n_vls : 1,
			 "routes between hosts", out);
}

static void say_legend(const struct report *p, const struct report_picture *pic, FILE *out)
{
	fprintf(out,
		"<p class=\"note\">Lines are cables between switches, by what they carry of an "
		"even spread: up to <span class=\"c0\">0.5</span> <span class=\"c1\">1.35</span> "
		"<span class=\"c2\">1.8</span> <span class=\"c3\">2.5</span> <span "
		"class=\"c4\">4</span> <span class=\"c5\">more</span> times. Point at one for its "
		"name. %s%s</p>\n",
		pic->caption,
		p->loop ? " The thick red lines are the channels of the credit loop." : "");
}

void report_page(const struct report *p, FILE *out)
{
	struct osr_arena arena = { 0 };
	struct report_picture pic;
	char text[OSR_LOADS_MAX_HOPS + 1][8];
	const char *labels[OSR_LOADS_MAX_HOPS + 1];
	uint32_t n;

	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<title>%s, routed by %s</title>\n<style>%s</style></head><body>\n<h1>%s</h1>\n"
		"<p class=\"note\">tables of %s, verified by osmroutes %s on %s: "
		"<code>%s</code></p>\n",
		report_text(p->fabric_name), report_text(p->tables_name), style,
		report_text(p->fabric_name), report_text(p->tables_name), OSR_VERSION, p->date,
		report_text(p->command));
	say_verdicts(p, out);
	say_advice(p, out);
	fprintf(out, "<h2>Figures</h2>\n");
	say_figures(p, out);
	fprintf(out, "<h2>The fabric</h2>\n");
	if (report_place(p, &arena, &pic)) {
		report_draw_fabric(p, &pic, out);
		say_legend(p, &pic, out);
	}
	osr_arena_free(&arena);
	fprintf(out, "<h2>Load of the channels</h2>\n<p class=\"note\">How many channels carry how "
		     "many routes between hosts.</p>\n");
	report_draw_loads(p, out);
	if (p->n_levels > 1) {
		fprintf(out, "<h2>Load by level</h2>\n<p class=\"note\">The largest load between "
			     "two levels; level 0 is where most hosts are.</p>\n");
		report_draw_levels(p, out);
	}
	fprintf(out, "<h2>The busiest channels</h2>\n");
	say_worst(p, out);
	fprintf(out, "<h2>Virtual lanes</h2>\n");
	say_lanes(p, out);
	fprintf(out, "<h2>Length of the routes</h2>\n<p class=\"note\">Routes between hosts by the "
		     "channels between switches they cross.</p>\n");
	n = 0;
	for (uint32_t h = 0; h <= OSR_LOADS_MAX_HOPS; h++) {
		snprintf(text[h], sizeof(text[h]), "%u", h);
		labels[h] = text[h];
		n = p->loads.hops[h] ? h + 1 : n;
	}
	report_draw_bars(labels, p->loads.hops, n, "routes between hosts", out);
	fprintf(out, "</body></html>\n");
}
