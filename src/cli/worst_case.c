/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/worst_case.h"

#include <errno.h>
#include <string.h>

#include "core/paths/bound.h"

enum { OPT_WORST = 0x6000 };

static const struct argp_option options[] = { { "worst", OPT_WORST, "FILE", OPTION_ARG_OPTIONAL,
						"find the permutation of hosts that loads one "
						"cable most, exactly; into FILE for --traffic",
						0 },
					      { NULL, 0, NULL, 0, NULL, 0 } };

static error_t worst_parse(int key, char *arg, struct argp_state *state)
{
	struct cli_worst *worst = state->input;

	if (key != OPT_WORST)
		return ARGP_ERR_UNKNOWN;
	worst->asked = true;
	worst->path = arg;
	return 0;
}

const struct argp worst_argp = { .options = options, .parser = worst_parse };

/* The rate of the cable of each end port into rate[n_terminals], 0 where it is unknown. */
static void read_rates(const struct cli_input *in, uint32_t *rate)
{
	const struct osr_fabric *f = &in->fabric;

	for (uint32_t i = 0; i < in->net.n_nodes; i++) {
		const struct osr_net_node *node = &in->net.nodes[i];
		uint32_t v = node->type == OSR_NET_SWITCH ? osr_fabric_switch_by_guid(f, node->guid)
							  : OSR_NONE;

		for (uint32_t t = v == OSR_NONE ? 0 : f->term_row[v];
		     v != OSR_NONE && t < f->term_row[v + 1]; t++) {
			uint8_t width, speed;

			osr_net_link_rate(&in->net, node->port_row + f->term_port[t], &width,
					  &speed);
			rate[t] = f->term_weight[t] ? osr_rate_gbps(width, speed) : 0;
		}
	}
}

static uint32_t divisor(uint32_t a, uint32_t b)
{
	return b ? divisor(b, a % b) : a;
}

enum osr_status cli_worst_load(struct cli_worst *worst, const struct cli_input *in,
			       struct osr_diag *diag)
{
	const struct osr_fabric *f = &in->fabric;
	uint32_t fastest = 0, *rate, *units;

	if (!worst->asked)
		return OSR_OK;
	rate = osr_alloc(&worst->arena, f->n_channels, sizeof(*rate));
	units = osr_calloc(&worst->arena, f->n_terminals, sizeof(*units));
	if (osr_arena_failed(&worst->arena, diag))
		return OSR_NOMEM;
	read_rates(in, units);
	for (uint32_t t = 0; t < f->n_terminals; t++)
		fastest = units[t] > fastest ? units[t] : fastest;
	for (uint32_t c = 0; c < f->n_channels; c++)
		fastest = f->chan_rate[c] > fastest ? f->chan_rate[c] : fastest;
	/* A cable that does not say its rate is as fast as any. */
	fastest = fastest ? fastest : 1;
	for (uint32_t c = 0; c < f->n_channels; c++)
		rate[c] = f->chan_rate[c] ? f->chan_rate[c] : fastest;
	for (uint32_t t = 0; t < f->n_terminals; t++) {
		units[t] = !f->term_weight[t] ? 0 : units[t] ? units[t] : fastest;
		worst->rates.unit = divisor(worst->rates.unit, units[t]);
	}
	for (uint32_t t = 0; t < f->n_terminals; t++)
		units[t] /= worst->rates.unit ? worst->rates.unit : 1;
	worst->rates.rate = rate;
	worst->rates.units = units;
	if (worst->path && !(worst->file = fopen(worst->path, "w")))
		return osr_fail(diag, OSR_INVAL, "%s: %s", worst->path, strerror(errno));
	return OSR_OK;
}

enum osr_status cli_worst_find(struct cli_worst *worst, const char *tables,
			       const struct osr_fabric *fabric, const struct osr_routing *routing,
			       struct cli_worst_of *of, struct osr_diag *diag)
{
	struct osr_arena scratch = { 0 };
	enum osr_status st;

	if (!worst->asked || !worst->rates.unit)
		return OSR_OK;
	*of = (struct cli_worst_of){ .tables = tables, .f = fabric, .gbps = worst->rates.unit };
	st = osr_worst_find(fabric, routing, &worst->rates, &worst->arena, &scratch, &of->worst,
			    diag);
	if (!st)
		st = osr_bound_permutation(fabric, worst->rates.units, worst->rates.unit,
					   worst->rates.rate, &scratch, &of->bound, diag);
	osr_arena_free(&scratch);
	if (!st && worst->file) {
		const struct osr_fabric *f = of->f;
		char from[32], to[32];

		/* A phase for each set of tables. */
		fprintf(worst->file, "phase %s\n", of->tables);
		for (uint32_t i = 0; i < of->worst.flow; i++) {
			const struct osr_pair *pair = &of->worst.pairs[i];

			fprintf(worst->file, "lid:%u lid:%u\t# %s %s\n", f->term_lid[pair->from],
				f->term_lid[pair->to], osr_terminal_name(f, pair->from, from),
				osr_terminal_name(f, pair->to, to));
		}
	}
	return st;
}

void cli_worst_say(struct out *out, const struct cli_worst_of *of)
{
	const struct osr_fabric *f = of->f;
	uint32_t c = of->worst.channel;
	char from[32], to[32];

	if (!f)
		return;
	out_real(out, "worst.share", cli_worst_share(of->worst.load));
	out_real(out, "worst.share_bound", cli_worst_share(of->bound));
	out_count(out, "worst.flows", of->worst.flow);
	out_count(out, "worst.gbps", of->gbps);
	if (c != OSR_NONE)
		out_textf(out, "worst.cable", "%s:%u - %s",
			  osr_switch_name(f, f->chan_src[c], from), f->chan_port[c],
			  osr_switch_name(f, f->chan_dst[c], to));
}

enum osr_status cli_worst_free(struct cli_worst *worst, struct osr_diag *diag)
{
	bool bad = worst->file && (ferror(worst->file) | fclose(worst->file));

	worst->file = NULL;
	osr_arena_free(&worst->arena);
	return bad ? osr_fail(diag, OSR_INVAL, "%s: %s", worst->path, strerror(errno)) : OSR_OK;
}
