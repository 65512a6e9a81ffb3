/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hosts in the order of a fat tree, in the form that other programs read. The order is the one by which
 * dmodk routes this fabric, with its options and what it remembers; a host with several end ports
 * stands where its first one does.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/endport.h"
#include "cli/input.h"
#include "cli/order.h"
#include "cli/output.h"
#include "cli/stored.h"
#include "cli/subject.h"

enum { OPT_FORMAT = 256, OPT_SLOTS, OPT_CONFIG, OPT_PREVIOUS, OPT_HCA, OPT_HOSTS };

enum form { LIST, RANKFILE, SLURM_TOPOLOGY, SLURM_BLOCKS, SLURM_YAML, N_FORMS };

static const char *const forms[N_FORMS] = { "list", "rankfile", "slurm-topology", "slurm-blocks",
					    "slurm-yaml" };

static const struct argp_option options[] = {
	{ "format", OPT_FORMAT, "FORM", 0,
	  "list (default), rankfile of Open MPI, slurm-topology or slurm-blocks (topology.conf), "
	  "or "
	  "slurm-yaml (topology.yaml)",
	  0 },
	{ "hosts", OPT_HOSTS, "LIST", 0,
	  "only these, the hosts of a job: a file with one a line, or names and GUIDs with commas; "
	  "HOST:N and HOST slots=N for N ranks",
	  0 },
	{ "slots", OPT_SLOTS, "N", 0, "processes for each host (default 1)", 0 },
	{ "hca", OPT_HCA, "NAME", 0,
	  "of hosts with several HCAs, the end ports whose node description has this word behind "
	  "the host's name, e.g. mlx5_0",
	  0 },
	{ "config", OPT_CONFIG, "FILE", 0,
	  "options of dmodk: this osmroutes.conf; \"none\": the defaults "
	  "(default: " OSR_DEFAULT_CONFIG ", if it exists)",
	  0 },
	{ "previous", OPT_PREVIOUS, "FILE", 0,
	  "the order after this sweep of dmodk: stored tables of route --save or of the plugin",
	  0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct out_field fields[] = {
	{ "rank", NULL, OUT_COUNT, 0 },  { "host", NULL, OUT_TEXT, 0 },
	{ "lid", NULL, OUT_COUNT, 0 },   { "leaf", NULL, OUT_TEXT, 0 },
	{ "tree", NULL, OUT_COUNT, 0 },  { "index", NULL, OUT_COUNT, 0 },
	{ "ranks", NULL, OUT_COUNT, 0 }, { NULL, NULL, 0, 0 },
};

static const struct out_section sections[] = {
	{ "hosts", OUT_ROWS, fields },
	{ NULL, 0, NULL },
};

struct args {
	struct cli_input in;
	struct cli_subjects who;
	struct out out;
	enum form form;
	const char *hca, *hosts, *previous;
	long slots;
};

static error_t order_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case OPT_FORMAT:
		for (a->form = LIST; a->form < N_FORMS && strcmp(arg, forms[a->form]);)
			a->form++;
		if (a->form == N_FORMS)
			argp_error(state,
				   "format \"%s\": expected list, rankfile, slurm-topology, "
				   "slurm-blocks or slurm-yaml",
				   arg);
		return 0;
	case OPT_SLOTS:
		a->slots = cli_take_number(arg, "slots", 1, 65535, state);
		return 0;
	case OPT_HOSTS:
		a->hosts = arg;
		return 0;
	case OPT_HCA:
		a->hca = arg;
		return 0;
	case OPT_CONFIG:
		a->who.config = strcmp(arg, "none") ? arg : "";
		return 0;
	case OPT_PREVIOUS:
		a->previous = arg;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->in;
		state->child_inputs[1] = &a->out;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Names ---------------------------------------------------------------------------------------- */

/* A host is called by the first word of its description: "node7 mlx5_0" is node7. */
static void first_word(const char *text, char *buf)
{
	size_t n = cli_first_word(text);

	snprintf(buf, CLI_PLACE_NAME_SIZE, "%.*s",
		 (int)(n < CLI_PLACE_NAME_SIZE ? n : CLI_PLACE_NAME_SIZE - 1), text);
}

static bool is_host_name(const char *name)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	return *name && *name != '-' && !name[strspn(name, letters)];
}

/*
 * Lists of hosts are read by programs that start others: what is no host name does not go into them. An
 * option of ssh, a range of hosts, or a second host would be taken for one.
 */
static enum osr_status order_check_names(const struct cli_order *o, struct osr_diag *diag)
{
	for (uint32_t i = 0; i < o->n_places; i++) {
		const char *name = o->place[i].name;

		if (!is_host_name(name))
			return osr_fail(diag, OSR_INVAL,
					"the host at port 0x%016" PRIx64
					" calls itself \"%.60s\", which is no host name: --names "
					"gives it another",
					o->f->term_guid[o->place[i].term], name);
	}
	return OSR_OK;
}

/* "node7 mlx5_0" is of HCA mlx5_0. */
static bool is_of_hca(const char *text, const char *hca)
{
	size_t length = strlen(hca), n = cli_first_word(text);

	for (text += n; *text; text += n) {
		text += strspn(text, " ");
		n = strcspn(text, " ");
		if (n == length && !strncmp(text, hca, length))
			return true;
	}
	return false;
}

struct known {
	const char *name;
	uint32_t at;
};

static int compare_known(const void *x, const void *y)
{
	const struct known *a = x, *b = y;
	int c = strcmp(a->name, b->name);

	return c ? c : a->at < b->at ? -1 : a->at > b->at;
}

static enum osr_status name_hosts(struct cli_order *o, const char *hca, uint32_t ranks,
				  struct osr_diag *diag)
{
	struct known *known;
	uint32_t n;

	o->place = calloc((size_t)o->p.n_order + 1, sizeof(*o->place));
	if (!o->place)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the names");
	for (uint32_t i = 0; i < o->p.n_order; i++) {
		uint32_t t = o->p.order[i];
		char buf[32];
		const char *name = osr_terminal_name(o->f, t, buf);

		if (hca && !is_of_hca(name, hca))
			continue;
		o->place[o->n_places].term = t;
		o->place[o->n_places].ranks = ranks;
		first_word(name, o->place[o->n_places++].name);
	}
	if (hca && !o->n_places)
		return osr_fail(diag, OSR_INVAL,
				"no host has %.60s behind its name in its node description", hca);
	/* Keeps the first of those with one name. */
	known = calloc((size_t)o->n_places + 1, sizeof(*known));
	n = 0;
	if (!known)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the names");
	for (uint32_t i = 0; i < o->n_places; i++)
		known[i] = (struct known){ o->place[i].name, i };
	qsort(known, o->n_places, sizeof(*known), compare_known);
	for (uint32_t i = 1; i < o->n_places; i++)
		if (!strcmp(known[i].name, known[i - 1].name))
			o->place[known[i].at].term = OSR_NONE;
	free(known);
	for (uint32_t i = 0; i < o->n_places; i++)
		if (o->place[i].term != OSR_NONE)
			o->place[n++] = o->place[i];
	o->n_places = n;
	return OSR_OK;
}

/* The tree ------------------------------------------------------------------------------------- */

/* The digits that the engine has given and will remember; a tree that is not remembered has those of any day. */
static enum osr_status order_find_tree(struct args *a, const struct osr_notes *notes,
				       struct osr_pgft *tree, struct osr_diag *diag)
{
	/* The engine has taken the tree already, whatever is missing. */
	struct osr_pgft_options opt = { .max_missing = 99 };
	struct osr_pgft_memory memory;
	enum osr_status st = OSR_NOT_APPLICABLE;

	if (osr_pgft_memory_read(notes, &memory)) {
		opt.memory = &memory;
		st = osr_pgft_find(&a->in.fabric, &opt, &a->in.arena, tree, diag);
	}
	opt.memory = NULL;
	return st == OSR_NOT_APPLICABLE
		       ? osr_pgft_find(&a->in.fabric, &opt, &a->in.arena, tree, diag)
		       : st;
}

static enum osr_status order_route(struct args *a, struct osr_pgft *tree, struct osr_diag *diag)
{
	struct cli_subjects *who = &a->who;
	struct cli_stored previous = { .last.digest = 0 };
	struct cli_tables tables = { .st = OSR_OK };
	enum osr_status st;

	who->item[who->n++].engine = osr_engine_find("dmodk");
	st = cli_subjects_load(who, &a->in, diag);
	if (!st && a->previous)
		st = cli_stored_read(a->previous, who->item[0].engine, &who->values[0], &previous,
				     diag);
	if (!st) {
		cli_tables_make(who, 0, &a->in.fabric, a->previous ? &previous.last : NULL,
				&tables);
		st = tables.st;
		*diag = tables.diag;
	}
	if (!st)
		st = order_find_tree(a, &tables.routing.notes, tree, diag);
	cli_tables_free(&tables);
	cli_stored_free(&previous);
	return st;
}

/* Forms ---------------------------------------------------------------------------------------- */

static void order_say_hosts(struct cli_order *o, struct out *out)
{
	for (uint32_t i = 0, rank = 0; i < o->n_places; rank += o->place[i++].ranks) {
		uint32_t t = o->place[i].term, s = o->f->term_switch[t];
		char buf[32];

		out_row(out, "hosts");
		out_count(out, "rank", rank);
		out_text(out, "host", o->place[i].name);
		out_count(out, "lid", o->f->term_lid[t]);
		out_text(out, "leaf", osr_switch_name(o->f, s, buf));
		out_count(out, "tree", o->p.sw_tree[s]);
		out_count(out, "index", o->p.term_index[t]);
		out_count(out, "ranks", o->place[i].ranks);
	}
}

int cli_order(int argc, char **argv)
{
	static const struct argp_child children[] = { { .argp = &input_argp },
						      { .argp = &out_argp },
						      { NULL } };
	static const struct argp argp = {
		.options = options,
		.parser = order_parse,
		.args_doc = "FILE",
		.doc = "Lists the hosts of a fat tree in the order in which collectives cause no "
		       "contention under dmodk.",
		.children = children
	};
	struct args a = { .in = CLI_INPUT_INIT,
			  .who = CLI_SUBJECTS_INIT,
			  .out = { .command = "order", .sections = sections },
			  .slots = 1 };
	struct cli_order o = { .f = &a.in.fabric };
	struct osr_diag diag = { "" };
	enum osr_status st;
	char sentence[512];

	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &a);
	st = order_route(&a, &o.p, &diag);
	if (!st)
		st = name_hosts(&o, a.hca, (uint32_t)a.slots, &diag);
	if (!st && a.hosts)
		st = cli_order_keep(&o, a.hosts, (uint32_t)a.slots, &diag);
	if (!st && a.out.format == OUT_PEOPLE)
		st = order_check_names(&o, &diag);
	if (!st) {
		osr_pgft_describe(&o.p, sentence, sizeof(sentence));
		fprintf(stderr, "osmroutes: %s\n", sentence);
		cli_order_judge(&o, sentence, sizeof(sentence));
		if (a.hosts && *sentence)
			fprintf(stderr, "osmroutes: %s\n", sentence);
		if (a.out.format != OUT_PEOPLE)
			order_say_hosts(&o, &a.out);
		else if (a.form >= SLURM_TOPOLOGY)
			st = cli_slurm_print(&o, (enum cli_slurm)(a.form - SLURM_TOPOLOGY), &diag);
		else {
			uint32_t rank = 0;

			/* Lists of hosts, as programs that start others read them. */
			for (uint32_t i = 0; i < o.n_places; i++) {
				const char *name = o.place[i].name;
				uint32_t ranks = o.place[i].ranks;

				if (a.form == LIST)
					printf("%s\n", name);
				for (uint32_t k = 0; a.form == RANKFILE && k < ranks; k++)
					printf("rank %u=%s slot=%u\n", rank++, name, k);
			}
		}
	}
	free(o.place);
	cli_subjects_free(&a.who);
	cli_input_free(&a.in);
	return st ? cli_fail(st, &diag) : out_end(&a.out, CLI_OK);
}
