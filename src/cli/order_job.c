/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The hosts of one job in the order of the tree, and whether shifts among them are free of contention (section
 * V-B of the D-Mod-K paper).
 */
#include "cli/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/params.h>

#include "cli/endport.h"
#include "cli/hostlist.h"
#include "io/endports.h"
#include "io/lines.h"

#define MAX_RANKS 65535

struct job_hosts {
	struct cli_order *order;
	struct osr_endports hosts;
	uint32_t *by_name; /* [n_places] */
	uint32_t *wanted;  /* [n_places] ranks; 0: not in the job */
	uint32_t default_ranks, line_ranks;
	const struct osr_lines *in;
	struct osr_diag *diag;
	enum osr_status st;
};

static int compare_place_names(const void *x, const void *y, void *place)
{
	const struct cli_place *p = place;

	return strcmp(p[*(const uint32_t *)x].name, p[*(const uint32_t *)y].name);
}

/* The place with the name of the host that this end port belongs to. */
static uint32_t place_at(const struct job_hosts *job, uint32_t term)
{
	uint32_t low = 0, high = job->order->n_places;
	char buf[32];
	const char *name = osr_terminal_name(job->order->f, term, buf);
	size_t len = cli_first_word(name);

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const char *own = job->order->place[job->by_name[mid]].name;
		int c = strncmp(own, name, len);

		if (!c && !own[len])
			return job->by_name[mid];
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return OSR_NONE;
}

/* A host may have several ports: all of them are at its place. */
static uint32_t find_place(struct job_hosts *job, const char *word)
{
	const struct osr_fabric *fabric = job->order->f;
	struct osr_names *names = &job->hosts.names;
	uint32_t n = osr_names_all(names, word, OSR_NAME_END_PORT), at = OSR_NONE, term;
	struct osr_diag why = { "" };

	for (uint32_t i = 0; i < n; i++) {
		uint32_t place = place_at(job, names->hit[i]->node - fabric->n_switches);

		if (i && place != at)
			n = 0;
		at = place;
	}
	if (n && at != OSR_NONE)
		return at;
	if (n || !osr_endports_find(&job->hosts, word, &term, &why))
		snprintf(why.text, sizeof(why.text),
			 "no host in the order of the tree is called \"%.80s\"", word);
	job->st = osr_lines_fail(job->in, job->diag, "%s", why.text);
	return OSR_NONE;
}

static bool take_host(void *context, const char *word)
{
	struct job_hosts *job = context;
	bool by_lid = !strncmp(word, "lid:", 4);
	char name[CLI_PLACE_NAME_SIZE];
	const char *colon = strchr(word + (by_lid ? 4 : 0), ':');
	uint64_t ranks = job->line_ranks;
	uint32_t at;

	snprintf(name, sizeof(name), "%.*s", (int)(colon ? colon - word : CLI_PLACE_NAME_SIZE - 1),
		 word);
	if (colon && (!osr_parse_uint(colon + 1, &ranks) || !ranks || ranks > MAX_RANKS)) {
		job->st = osr_lines_fail(job->in, job->diag,
					 "\"%.80s\": expected 1 to %d ranks behind the colon", word,
					 MAX_RANKS);
		return false;
	}
	at = find_place(job, name);
	if (!job->st && job->wanted[at] + ranks > MAX_RANKS)
		job->st = osr_lines_fail(job->in, job->diag, "more than %d ranks on \"%.80s\"",
					 MAX_RANKS, name);
	if (job->st)
		return false;
	job->wanted[at] += (uint32_t)ranks;
	return true;
}

/* HOST,HOST:N,.. [slots=N] [# ...] */
static enum osr_status job_take_line(struct job_hosts *job, char *text)
{
	char *list, *word, *rest = NULL;
	uint64_t ranks = job->default_ranks;

	text[strcspn(text, "#")] = '\0';
	list = strtok_r(text, " \t\r", &rest);
	while ((word = strtok_r(NULL, " \t\r", &rest)))
		if (strncmp(word, "slots=", 6) != 0 || !osr_parse_uint(word + 6, &ranks) ||
		    !ranks || ranks > MAX_RANKS)
			return osr_lines_fail(
				job->in, job->diag,
				"\"%.80s\": expected slots= and 1 to %d, or nothing, behind a host",
				word, MAX_RANKS);
	job->line_ranks = (uint32_t)ranks;
	if (list && !cli_each_name(list, take_host, job) && !job->st)
		return osr_lines_fail(job->in, job->diag, "\"%.80s\" is no list of hosts", list);
	return job->st;
}

static enum osr_status job_read(struct job_hosts *job, const char *list)
{
	struct osr_lines in;
	enum osr_status st = cli_hostlist_open(&in, list, job->diag);
	char *text;

	if (st)
		return st;
	job->in = &in;
	while (!st && osr_lines_next(&in, &text, job->diag, &st))
		st = job_take_line(job, text);
	job->in = NULL;
	osr_lines_close(&in);
	return st;
}

enum osr_status cli_order_keep(struct cli_order *order, const char *list, uint32_t ranks,
			       struct osr_diag *diag)
{
	struct job_hosts job = { .order = order, .default_ranks = ranks, .diag = diag };
	struct osr_arena arena = { 0 };
	enum osr_status st = osr_endports_init(&job.hosts, order->f, &arena, diag);
	uint32_t n = 0;

	job.by_name = calloc((size_t)order->n_places + 1, sizeof(*job.by_name));
	job.wanted = calloc((size_t)order->n_places + 1, sizeof(*job.wanted));
	if (!st && job.by_name && job.wanted) {
		for (uint32_t i = 0; i < order->n_places; i++)
			job.by_name[i] = i;
		qsort_r(job.by_name, order->n_places, sizeof(*job.by_name), compare_place_names,
			order->place);
		st = job_read(&job, list);
	} else if (!st) {
		st = osr_fail(diag, OSR_NOMEM, "out of memory for the hosts of the job");
	}
	for (uint32_t i = 0; i < order->n_places && !st; i++)
		if (job.wanted[i]) {
			order->place[n] = order->place[i];
			order->place[n++].ranks = job.wanted[i];
		}
	if (!st && !n)
		st = osr_fail(diag, OSR_INVAL, "%.80s: no host", list);
	order->n_places = n;
	osr_arena_free(&arena);
	free(job.by_name);
	free(job.wanted);
	return st;
}

/* ---- the rule ------------------------------------------------------------------------------- */

static uint64_t least_common_multiple(uint64_t a, uint64_t b)
{
	uint64_t x = a, y = b;

	while (y) {
		uint64_t rest = x % y;

		x = y;
		y = rest;
	}
	return a / x * b;
}

/*
 * How many consecutive indices leave every sub-tree by different cables, and enter it by different ones; 0 where
 * the theorems do not hold. A sub-tree of l levels has w_1 .. w_(l+1) p_(l+1) cables up, and equation (1) sends
 * index j by cable j modulo their number.
 * DIFFERS: the paper has w_1 .. w_h for all levels, which is too little where the top has parallel cables.
 */
static uint64_t shift_period(const struct osr_pgft_tree *tree)
{
	uint64_t period = 1;

	if (tree->n_missing_links || tree->n_missing_switches || tree->merged)
		return 0;
	for (uint32_t l = 1; l < tree->h; l++) {
		uint64_t cables = (uint64_t)tree->w_product[l + 1] * tree->p[l + 1];

		if (cables < tree->m_product[l])
			return 0;
		period = least_common_multiple(period, cables);
	}
	return period;
}

void cli_order_judge(const struct cli_order *order, char *buf, size_t size)
{
	uint32_t n = order->n_places,
		 tree = n ? order->p.sw_tree[order->f->term_switch[order->place[0].term]] : 0;
	uint64_t period = n ? shift_period(&order->p.tree[tree]) : 0;

	snprintf(buf, size, "%s", "");
	for (uint32_t i = 0; i < n && period; i++)
		if (order->p.sw_tree[order->f->term_switch[order->place[i].term]] != tree)
			return;
	for (uint32_t i = 0; i < n && period; i++) {
		const struct cli_place *this = &order->place[i], *next = &order->place[(i + 1) % n];
		uint32_t j = order->p.term_index[this->term], k = order->p.term_index[next->term];

		if ((j + 1 + period - k % period) % period == 0)
			continue;
		snprintf(
			buf, size,
			"shifts may meet on links: %u hosts whose indices follow each other modulo "
			"%" PRIu64
			", also from the last to the first, would not; after %s (%u) comes %s (%u)",
			n, period, this->name, j, next->name, k);
		return;
	}
	if (period)
		snprintf(buf, size,
			 "the indices of the %u hosts follow each other modulo %" PRIu64
			 ": no two hosts' flows of a shift meet on a link",
			 n, period);
}
