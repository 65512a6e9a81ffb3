/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The pictures of a report: see report.h. Coordinates are in units of the view box. */
#include <inttypes.h>
#include <string.h>

#include "cli/report.h"

#define WIDTH REPORT_WIDTH
#define MAX_NAMES 60    /* of switches: more are a grey cloud */
#define MAX_CABLES 6000 /* beyond that a picture is a blot: switches alone are drawn */

/* 0 (half of an even spread at most), 1 (about even) .. 5 (four times that, and more). */
static uint32_t heat_of(const struct report *p, uint64_t load)
{
	static const double above[] = { 0.5, 1.35, 1.8, 2.5, 4 };
	double even = p->a->balance.perfect > 0 ? p->a->balance.perfect : p->a->balance.mean;
	uint32_t heat = 0;

	while (heat < 5 && even > 0 && (double)load > above[heat] * even)
		heat++;
	return heat;
}

static uint64_t busier(const struct report *p, uint32_t c)
{
	uint64_t there = p->loads.load[c], back = p->loads.load[p->f->chan_rev[c]];

	return there > back ? there : back;
}

/* ---- the fabric ------------------------------------------------------------------------------ */

/* Within a row of a tree an arc, or it would run through the switches between its ends. */
static void report_draw_line(const struct report_place *a, const struct report_place *b, bool arc,
			     uint32_t heat, double height, FILE *out)
{
	double far = a->x < b->x ? b->x - a->x : a->x - b->x, bow = far / 4 > 90 ? 90 : far / 4;

	if (!arc || a->y != b->y)
		fprintf(out, "<line class=\"h%u\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\">",
			heat, a->x, a->y, b->x, b->y);
	else
		fprintf(out, "<path class=\"h%u\" d=\"M%.1f %.1f Q%.1f %.1f %.1f %.1f\">", heat,
			a->x, a->y, (a->x + b->x) / 2, a->y > height / 2 ? a->y - bow : a->y + bow,
			b->x, b->y);
}

static void draw_cables(const struct report *p, const struct report_picture *pic, FILE *out)
{
	const struct report_place *at = pic->at;
	const struct osr_fabric *fabric = p->f;
	char a[32], b[32];

	/* The busiest on top. */
	for (uint32_t heat = 0; heat <= 5; heat++) {
		for (uint32_t c = 0; c < fabric->n_channels; c++) {
			uint32_t v = fabric->chan_src[c], u = fabric->chan_dst[c];

			if (c > fabric->chan_rev[c] || heat_of(p, busier(p, c)) != heat)
				continue;
			report_draw_line(&at[v], &at[u], pic->rows, heat, pic->height, out);
			fprintf(out,
				"<title>%s port %u, %s port %u: %" PRIu64 " and %" PRIu64
				" routes</title></%s>\n",
				report_text(osr_switch_name(fabric, v, a)), fabric->chan_port[c],
				report_text(osr_switch_name(fabric, u, b)),
				fabric->chan_port[fabric->chan_rev[c]], p->loads.load[c],
				p->loads.load[fabric->chan_rev[c]],
				pic->rows && at[v].y == at[u].y ? "path" : "line");
		}
	}
}

/* Each channel waits for the next one, the last for the first. */
static void draw_loop(const struct report *p, const struct report_picture *pic, FILE *out)
{
	const struct osr_fabric *fabric = p->f;
	char a[32], b[32];

	for (uint32_t i = 0; p->loop && i < p->loop->n; i++) {
		uint32_t c = p->loop->step[i].channel;
		const struct report_place *from = &pic->at[fabric->chan_src[c]],
					  *to = &pic->at[fabric->chan_dst[c]];

		fprintf(out,
			"<line class=\"loop\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
			"y2=\"%.1f\"><title>%s port %u to %s, VL%u: channel %u of %u of the credit "
			"loop</title></line>\n",
			from->x, from->y, to->x, to->y,
			report_text(osr_switch_name(fabric, fabric->chan_src[c], a)),
			fabric->chan_port[c],
			report_text(osr_switch_name(fabric, fabric->chan_dst[c], b)),
			p->loop->step[i].vl, i + 1, p->loop->n);
	}
}

/* Slanting, so that those of a row do not lie on each other; of a long name both ends. */
static void draw_name(const struct report_place *at, const char *name, FILE *out)
{
	size_t len = strlen(name);
	char text[32];

	if (len <= 20)
		snprintf(text, sizeof(text), "%s", name);
	else
		snprintf(text, sizeof(text), "%.8s..%s", name, name + len - 10);
	fprintf(out,
		"<text class=\"name\" x=\"%.1f\" y=\"%.1f\" transform=\"rotate(-25 %.1f "
		"%.1f)\">%s</text>\n",
		at->x + 6, at->y - 9, at->x, at->y, report_text(text));
}

static uint64_t busiest_of(const struct report *p, uint32_t v)
{
	uint64_t most = 0;

	for (uint32_t c = p->f->chan_row[v]; c < p->f->chan_row[v + 1]; c++)
		most = busier(p, c) > most ? busier(p, c) : most;
	return most;
}

void report_draw_fabric(const struct report *p, const struct report_picture *pic, FILE *out)
{
	const struct osr_fabric *fabric = p->f;
	double size = fabric->n_switches > 400 ? 2 : fabric->n_switches > 80 ? 4 : 8;
	const struct report_place *at = pic->at;
	char name[32];

	fprintf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"the fabric\">\n",
		WIDTH, pic->height);
	if (fabric->n_channels / 2 <= MAX_CABLES)
		draw_cables(p, pic, out);
	draw_loop(p, pic, out);
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		fprintf(out,
			"<circle class=\"s%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.0f\"><title>%s: %u "
			"hosts, %u cables to switches</title></circle>\n",
			heat_of(p, busiest_of(p, v)), at[v].x, at[v].y, size,
			report_text(osr_switch_name(fabric, v, name)), fabric->sw_sources[v],
			fabric->chan_row[v + 1] - fabric->chan_row[v]);
		if (fabric->n_switches <= MAX_NAMES)
			draw_name(&at[v], osr_switch_name(fabric, v, name), out);
	}
	fprintf(out, "</svg>\n");
	if (fabric->n_channels / 2 > MAX_CABLES)
		fprintf(out,
			"<p class=\"note\">%u cables are too many to draw; a switch has the colour "
			"of its busiest cable.</p>\n",
			fabric->n_channels / 2);
}

/* ---- bars ------------------------------------------------------------------------------------ */

void report_draw_bars(const char *const *labels, const uint64_t *values, uint32_t n,
		      const char *unit, FILE *out)
{
	double height = 200, step = WIDTH / (n ? n : 1);
	uint64_t most = 1;

	for (uint32_t i = 0; i < n; i++)
		most = values[i] > most ? values[i] : most;
	fprintf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n", WIDTH,
		height + 40, unit);
	for (uint32_t i = 0; i < n; i++) {
		double tall = height * (double)values[i] / (double)most;

		fprintf(out,
			"<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			"height=\"%.1f\"><title>%s: %" PRIu64 " %s</title></rect>\n",
			step * i + 1, 16 + height - tall, step - 2, tall, labels[i], values[i],
			unit);
		if (step >= 40 || i % 4 == 0)
			fprintf(out,
				"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
				step * (i + 0.5), height + 34, labels[i]);
	}
	fprintf(out, "</svg>\n");
}

#define BINS 32

/* How many channels carry how much. Steps are whole numbers: a bar's label is the least load that it counts. */
void report_draw_loads(const struct report *p, FILE *out)
{
	uint64_t most = p->a->balance.efi, step = most / BINS + 1, count[BINS] = { 0 };
	char text[BINS][24];
	const char *labels[BINS];

	for (uint32_t c = 0; c < p->f->n_channels; c++)
		count[p->loads.load[c] / step]++;
	for (uint32_t i = 0; i < BINS; i++) {
		snprintf(text[i], sizeof(text[i]), "%" PRIu64, i * step);
		labels[i] = text[i];
	}
	report_draw_bars(labels, count, (uint32_t)(most / step) + 1, "channels", out);
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* A cell for each pair of levels: the largest and the mean load of the channels between them. */
void report_draw_levels(const struct report *p, FILE *out)
{
	const struct osr_fabric *fabric = p->f;

	fprintf(out, "<table class=\"heat\"><tr><th>from level</th>");
	for (uint32_t to = 0; to < p->n_levels; to++)
		fprintf(out, "<th>to level %u</th>", to);
	fprintf(out, "</tr>\n");
	for (uint32_t from = 0; from < p->n_levels; from++) {
		fprintf(out, "<tr><th>%u</th>", from);
		for (uint32_t to = 0; to < p->n_levels; to++) {
			uint64_t n = 0, most = 0, sum = 0;

			for (uint32_t c = 0; c < fabric->n_channels; c++) {
				uint64_t load = p->loads.load[c];

				if (p->level[fabric->chan_src[c]] != from ||
				    p->level[fabric->chan_dst[c]] != to)
					continue;
				n++;
				sum += load;
				most = load > most ? load : most;
			}
			if (!n) {
				fprintf(out, "<td></td>");
				continue;
			}
			fprintf(out,
				"<td class=\"c%u\">%" PRIu64 "<br><small>mean %.1f of %" PRIu64
				" channels</small></td>",
				heat_of(p, most), most, (double)sum / (double)n, n);
		}
		fprintf(out, "</tr>\n");
	}
	fprintf(out, "</table>\n");
}
