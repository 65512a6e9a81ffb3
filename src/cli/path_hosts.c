/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The cables that the hosts of a job share: routes between them on each, with the SLs and virtual lanes there. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/endport.h"
#include "cli/hostlist.h"
#include "cli/path.h"
#include "io/lines.h"

const struct out_field path_cable_fields[] = {
	{ "routes", "routes", OUT_COUNT, 0 },
	{ "sls", "SLs", OUT_TEXT, 0 },
	{ "vls", "VLs", OUT_TEXT, 0 },
	CLI_CABLE_FIELDS,
	{ NULL, NULL, 0, 0 },
};

/* One direction of a cable between switches. */
struct shared {
	uint32_t channel, routes;
	uint16_t sls, vls; /* a bit each */
};

struct job {
	const struct cli_source *src;
	uint32_t *host; /* [n] terminals, in the order of the list */
	uint32_t n;
	bool *listed;          /* [n_terminals] */
	struct shared *shared; /* [n_channels] */
	struct osr_diag *diag;
};

/* ---- the list ------------------------------------------------------------------------------- */

static bool path_take_host(void *context, const char *word)
{
	struct job *job = context;
	uint32_t term;

	if (cli_find_terminal(&job->src->in.net, &job->src->in.fabric, word, &term, job->diag))
		return false;
	if (!job->listed[term])
		job->host[job->n++] = term;
	job->listed[term] = true;
	return true;
}

/* ---- routes --------------------------------------------------------------------------------- */

/* Follows one route, and notes its SL and lane on each channel. False: it does not arrive. */
static bool follow(struct job *job, uint32_t from, uint32_t dest)
{
	const struct osr_fabric *fabric = &job->src->in.fabric;
	uint32_t s = fabric->term_switch[from], to = fabric->dest_term[dest];
	uint8_t in = fabric->term_port[from], sl = cli_source_sl(job->src, from, dest);

	for (uint32_t n = 0; n < fabric->n_switches && sl != OSR_NO_SL; n++) {
		uint8_t port = osr_lft(job->src->gen.routing, s, dest), vl;
		uint32_t c = port == OSR_NO_PATH ? OSR_NONE : osr_port_channel(fabric, s, port);

		if (c == OSR_NONE)
			return s == fabric->term_switch[to] && port == fabric->term_port[to];
		vl = cli_source_switch_vl(job->src, s, in, port, sl);
		job->shared[c].routes++;
		job->shared[c].sls |= (uint16_t)(1u << sl);
		if (vl < 16)
			job->shared[c].vls |= (uint16_t)(1u << vl);
		s = fabric->chan_dst[c];
		in = fabric->chan_port[fabric->chan_rev[c]];
	}
	return false;
}

static int by_routes(const void *x, const void *y)
{
	const struct shared *a = x, *b = y;

	if (a->routes != b->routes)
		return a->routes > b->routes ? -1 : 1;
	return (a->channel > b->channel) - (a->channel < b->channel);
}

/* "0,3" */
static const char *bits_text(uint16_t bits, char buf[64])
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < 16; i++)
		if (bits >> i & 1)
			used += (size_t)snprintf(buf + used, 64 - used, "%s%u", used ? "," : "", i);
	return buf;
}

static void say_shared(const struct job *job, uint32_t max, struct out *out)
{
	const struct osr_fabric *fabric = &job->src->in.fabric;
	char x[64], y[64];
	uint32_t n = 0;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		job->shared[c].channel = c;
	qsort(job->shared, fabric->n_channels, sizeof(*job->shared), by_routes);
	for (; n < fabric->n_channels && job->shared[n].routes; n++) {
		const struct shared *one = &job->shared[n];
		uint32_t c = one->channel;

		if (max && n >= max)
			continue;
		out_row(out, "cables");
		out_count(out, "routes", one->routes);
		out_text(out, "sls", bits_text(one->sls, x));
		out_text(out, "vls", bits_text(one->vls, y));
		cli_say_cable(out, osr_switch_name(fabric, fabric->chan_src[c], x),
			      fabric->chan_port[c], osr_switch_name(fabric, fabric->chan_dst[c], y),
			      fabric->chan_port[fabric->chan_rev[c]]);
	}
	if (max && n > max)
		out_note(out, "%u of %u channels are listed (--max)", max, n);
}

enum osr_status path_hosts(struct path_args *args, int *code, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &args->ask.src.in.fabric;
	struct osr_arena arena = { 0 };
	struct job job = { .src = &args->ask.src, .diag = diag };
	uint64_t n_lost = 0;
	enum osr_status st = OSR_OK;

	job.host = osr_alloc(&arena, fabric->n_terminals, sizeof(*job.host));
	job.listed = osr_calloc(&arena, fabric->n_terminals, sizeof(*job.listed));
	job.shared = osr_calloc(&arena, fabric->n_channels, sizeof(*job.shared));
	if (osr_arena_failed(&arena, diag))
		st = OSR_NOMEM;
	if (!st) {
		struct osr_lines in;
		char *text;

		/* A host or a list of hosts on each line. */
		st = cli_hostlist_open(&in, args->hosts, job.diag);
		if (!st) {
			while (!st && osr_lines_next(&in, &text, job.diag, &st))
				if (!cli_each_name(text, path_take_host, &job))
					st = *job.diag->text
						     ? OSR_INVAL
						     : osr_lines_fail(
							       &in, job.diag,
							       "\"%.80s\" is no list of hosts",
							       text);
			osr_lines_close(&in);
		}
	}
	if (!st && job.n < 2)
		st = osr_fail(diag, OSR_INVAL, "--hosts: expected two hosts or more");
	/* By the base LID of each receiver, as programs send without multipathing. */
	for (uint32_t i = 0; i < job.n && !st; i++)
		for (uint32_t k = 0; k < job.n; k++)
			if (k != i)
				n_lost += !follow(&job, job.host[i],
						  fabric->lid_dest[fabric->term_lid[job.host[k]]]);
	if (!st) {
		say_shared(&job, args->max, &args->ask.out);
		out_head(&args->ask.out, "%u hosts, %llu routes between them", job.n,
			 (unsigned long long)job.n * (job.n - 1));
	}
	if (n_lost) {
		out_note(&args->ask.out, "%llu routes between these hosts do not arrive",
			 (unsigned long long)n_lost);
		*code = CLI_BAD;
	}
	osr_arena_free(&arena);
	return st;
}
