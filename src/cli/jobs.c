/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/jobs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/endport.h"
#include "io/grow.h"
#include "io/lines.h"

#define SQUEUE "squeue -h -t R -o '%A|%u|%N|%j'"
#define NODE_SIZE 128

struct host {
	const char *name;
	size_t len;
	uint32_t term;
};

struct job_reader {
	const struct osr_fabric *f;
	struct cli_jobs *jobs;
	struct host *host; /* [n_hosts] by name */
	uint32_t n_hosts;
	bool no_memory;
};

/* "node7.cluster mlx5_0" is node7. */
static size_t short_name(const char *name)
{
	size_t word = cli_first_word(name), dot = strcspn(name, ".");

	return dot < word ? dot : word;
}

static int compare_names(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int c = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return c ? c : (a_len > b_len) - (a_len < b_len);
}

static int compare_hosts(const void *x, const void *y)
{
	const struct host *a = x, *b = y;
	int c = compare_names(a->name, a->len, b->name, b->len);

	return c ? c : (a->term > b->term) - (a->term < b->term);
}

static bool index_hosts(struct job_reader *reader)
{
	const struct osr_fabric *fabric = reader->f;

	reader->host = calloc((size_t)fabric->n_terminals + 1, sizeof(*reader->host));
	if (!reader->host)
		return false;
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		const char *name = fabric->names + fabric->term_name[t];

		if (fabric->term_role[t] != OSR_ROLE_SP0)
			reader->host[reader->n_hosts++] =
				(struct host){ name, short_name(name), t };
	}
	qsort(reader->host, reader->n_hosts, sizeof(*reader->host), compare_hosts);
	return true;
}

static bool add_place(struct job_reader *reader, uint32_t term)
{
	struct cli_jobs *jobs = reader->jobs;

	if (!osr_grow((void **)&jobs->term, jobs->n_places, &jobs->places_room,
		      sizeof(*jobs->term)))
		return false;
	jobs->term[jobs->n_places++] = term;
	return true;
}

/* All end ports of a node. */
static bool jobs_add_node(void *context, const char *name)
{
	struct job_reader *reader = context;
	size_t len = short_name(name);
	uint32_t lo = 0, hi = reader->n_hosts;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (compare_names(reader->host[mid].name, reader->host[mid].len, name, len) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < reader->n_hosts &&
	       !compare_names(reader->host[lo].name, reader->host[lo].len, name, len);
	     lo++)
		reader->no_memory |= !add_place(reader, reader->host[lo].term);
	return !reader->no_memory;
}

struct name_list {
	bool (*take)(void *context, const char *name);
	void *context;
};

static bool expand_brackets(const struct name_list *to, const char *head, const char *rest)
{
	const char *open = strchr(rest, '['), *close = open ? strchr(open, ']') : NULL;
	char name[NODE_SIZE];

	if (!close) {
		snprintf(name, sizeof(name), "%s%s", head, rest);
		return to->take(to->context, name);
	}
	for (const char *at = open + 1; at < close;) {
		char *end;
		unsigned long lo = strtoul(at, &end, 10), hi = lo;
		int width = (int)(end - at);

		if (end == at || !isdigit((unsigned char)*at))
			return false;
		if (*end == '-')
			hi = strtoul(end + 1, &end, 10);
		for (; lo <= hi && hi - lo < 1000000; lo++) {
			snprintf(name, sizeof(name), "%s%.*s%0*lu", head, (int)(open - rest), rest,
				 width, lo);
			if (!expand_brackets(to, name, close + 1))
				return false;
		}
		at = *end == ',' ? end + 1 : close;
	}
	return true;
}

bool cli_each_name(const char *list, bool (*take)(void *context, const char *name), void *context)
{
	const struct name_list to = { take, context };
	char word[OSR_LINES_MAX];

	while (*list) {
		size_t n = 0;
		int depth = 0;

		for (; list[n] && (depth || list[n] != ','); n++)
			depth += (list[n] == '[') - (list[n] == ']');
		snprintf(word, sizeof(word), "%.*s", (int)n, list);
		if (!expand_brackets(&to, "", word))
			return false;
		list += n + (list[n] == ',');
	}
	return true;
}

static int compare_terms(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return (a > b) - (a < b);
}

static bool more_jobs(struct cli_jobs *jobs)
{
	return osr_grow((void **)&jobs->job, jobs->n, &jobs->room, sizeof(*jobs->job)) &&
	       osr_grow((void **)&jobs->row, jobs->n + 1, &jobs->rows_room, sizeof(*jobs->row));
}

static enum osr_status take_job(struct job_reader *reader, struct osr_lines *in, char *text,
				struct osr_diag *diag)
{
	char *part[4] = { text, NULL, NULL, NULL };
	struct cli_jobs *jobs = reader->jobs;
	struct cli_job *job;

	for (unsigned i = 1; i < 4; i++) {
		char *bar = part[i - 1] ? strchr(part[i - 1], '|') : NULL;

		if (!bar)
			return osr_lines_fail(in, diag,
					      "expected JOB|USER|NODES|NAME, as %s prints them",
					      SQUEUE);
		*bar = '\0';
		part[i] = bar + 1;
	}
	if (!more_jobs(jobs))
		return osr_fail(diag, OSR_NOMEM, "out of memory for the jobs");
	job = &jobs->job[jobs->n];
	snprintf(job->id, sizeof(job->id), "%s", part[0]);
	snprintf(job->user, sizeof(job->user), "%s", part[1]);
	snprintf(job->name, sizeof(job->name), "%s", part[3]);
	jobs->row[jobs->n] = jobs->n_places;
	cli_each_name(part[2], jobs_add_node, reader);
	job->n_hosts = jobs->n_places - jobs->row[jobs->n];
	if (job->n_hosts)
		qsort(jobs->term + jobs->row[jobs->n], job->n_hosts, sizeof(*jobs->term),
		      compare_terms);
	jobs->row[++jobs->n] = jobs->n_places;
	return reader->no_memory ? osr_fail(diag, OSR_NOMEM, "out of memory for the jobs") : OSR_OK;
}

static enum osr_status take_jobs(struct job_reader *reader, struct osr_lines *in,
				 struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;
	char *text;

	in->by_people = true;
	while (!st && osr_lines_next(in, &text, diag, &st))
		if (*text && *text != '#')
			st = take_job(reader, in, text, diag);
	return st;
}

enum osr_status cli_jobs_read(const char *path, const struct osr_fabric *fabric,
			      struct cli_jobs *jobs, struct osr_diag *diag)
{
	struct job_reader reader = { .f = fabric, .jobs = jobs };
	struct osr_lines lines;
	enum osr_status st;

	if (!index_hosts(&reader))
		return osr_fail(diag, OSR_NOMEM, "out of memory for the jobs");
	st = path ? osr_lines_open(&lines, path, diag)
		  : osr_lines_command(&lines, SQUEUE, "squeue", diag);
	if (!st) {
		st = take_jobs(&reader, &lines, diag);
		if (!osr_lines_close(&lines) && !st)
			st = osr_fail(diag, OSR_INVAL,
				      "squeue failed; run it on a machine with Slurm, and give its "
				      "output: %s >FILE, --jobs=FILE",
				      SQUEUE);
	}
	free(reader.host);
	return st;
}

void cli_jobs_free(struct cli_jobs *jobs)
{
	free(jobs->job);
	free(jobs->term);
	free(jobs->row);
}
