/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hosts in the order of a fat tree, in the form that other programs read. The order is that of
 * osr_pgft.order; a host with several end ports stands where its first one does.
 */
#include <argp.h>
#include <inttypes.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/pgft.h>

#include "cli/cli.h"
#include "cli/endport.h"
#include "cli/input.h"
#include "cli/output.h"

#define NAME_SIZE 128

enum { OPT_FORMAT = 256, OPT_SLOTS, OPT_MISSING };

enum form { LIST, RANKFILE, HOSTFILE, HYDRA, SLURM_NODES, SLURM_TOPOLOGY, N_FORMS };

static const char *const forms[N_FORMS] = { "list",  "rankfile",    "hostfile",
					    "hydra", "slurm-nodes", "slurm-topology" };

static const struct argp_option options[] = {
	{ "format", OPT_FORMAT, "FORM", 0,
	  "list (default), rankfile or hostfile of Open MPI, hydra (MPICH), slurm-nodes, or "
	  "slurm-topology (topology.conf)",
	  0 },
	{ "slots", OPT_SLOTS, "N", 0, "processes for each host (default 1)", 0 },
	{ "max-missing", OPT_MISSING, "PERCENT", 0,
	  "links that may be missing from the tree (default 30)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct out_field fields[] = {
	{ "rank", NULL, OUT_COUNT, 0 }, { "host", NULL, OUT_TEXT, 0 },
	{ "lid", NULL, OUT_COUNT, 0 },  { "leaf", NULL, OUT_TEXT, 0 },
	{ "tree", NULL, OUT_COUNT, 0 }, { "index", NULL, OUT_COUNT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_section sections[] = {
	{ "hosts", OUT_ROWS, fields },
	{ NULL, 0, NULL },
};

struct args {
	struct cli_input in;
	struct out out;
	enum form form;
	long slots, max_missing;
};

struct place {
	uint32_t term;
	char name[NAME_SIZE]; /* of the host */
};

struct order {
	const struct args *a;
	const struct osr_fabric *f;
	struct osr_pgft p;
	struct place *place; /* hosts, each once */
	uint32_t n_places;
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
				   "format \"%s\": expected list, rankfile, hostfile, hydra, "
				   "slurm-nodes or slurm-topology",
				   arg);
		return 0;
	case OPT_SLOTS:
		a->slots = cli_take_number(arg, "slots", 1, 65535, state);
		return 0;
	case OPT_MISSING:
		a->max_missing = cli_take_number(arg, "max-missing", 0, 99, state);
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

	snprintf(buf, NAME_SIZE, "%.*s", (int)(n < NAME_SIZE ? n : NAME_SIZE - 1), text);
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
static enum osr_status order_check_names(const struct order *o, struct osr_diag *diag)
{
	for (uint32_t i = 0; i < o->n_places; i++) {
		const char *name = o->place[i].name;

		if (!is_host_name(name))
			return osr_fail(diag, OSR_INVAL,
					"the host at port 0x%016" PRIx64
					" calls itself \"%.60s\", which "
					"is no host name: --names gives it another",
					o->f->term_guid[o->place[i].term], name);
	}
	return OSR_OK;
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

/* Keeps the first of those with one name. */
static enum osr_status drop_repeated(struct order *o, struct osr_diag *diag)
{
	struct known *known = calloc((size_t)o->n_places + 1, sizeof(*known));
	uint32_t n = 0;

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

static enum osr_status name_hosts(struct order *o, struct osr_diag *diag)
{
	o->place = calloc((size_t)o->p.n_order + 1, sizeof(*o->place));
	if (!o->place)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the names");
	for (uint32_t i = 0; i < o->p.n_order; i++) {
		uint32_t t = o->p.order[i];
		char buf[32];

		o->place[i].term = t;
		first_word(osr_terminal_name(o->f, t, buf), o->place[i].name);
	}
	o->n_places = o->p.n_order;
	return drop_repeated(o, diag);
}

/* Forms ---------------------------------------------------------------------------------------- */

static void print_hosts(const struct order *o)
{
	long slots = o->a->slots, rank = 0;

	for (uint32_t i = 0; i < o->n_places; i++) {
		const char *name = o->place[i].name;

		if (o->a->form == LIST)
			printf("%s\n", name);
		else if (o->a->form == HOSTFILE)
			printf("%s slots=%ld\n", name, slots);
		else if (o->a->form == HYDRA)
			printf("%s:%ld\n", name, slots);
		else if (o->a->form == SLURM_NODES)
			printf("%s%s", i ? "," : "", name);
		for (long k = 0; o->a->form == RANKFILE && k < slots; k++)
			printf("rank %ld=%s slot=%ld\n", rank++, name, k);
	}
	if (o->a->form == SLURM_NODES)
		putchar('\n');
}

/* Slurm takes letters, digits and a few signs. */
static void print_switch(const struct order *o, uint32_t s)
{
	char buf[32];

	for (const char *c = osr_switch_name(o->f, s, buf); *c; c++)
		putchar(isalnum((unsigned char)*c) || *c == '-' || *c == '.' ? *c : '_');
}

static void print_group(uint32_t tree, uint32_t level, uint32_t a)
{
	printf("tree%u-level%u-%u", tree, level, a);
}

/* Hosts stand leaf by leaf, so those of one leaf are neighbours. */
static void print_leaves(const struct order *o)
{
	for (uint32_t i = 0; i < o->n_places; i++) {
		uint32_t s = o->f->term_switch[o->place[i].term];
		bool first = !i || o->f->term_switch[o->place[i - 1].term] != s;

		if (first) {
			printf("%sSwitchName=", i ? "\n" : "");
			print_switch(o, s);
			printf(" Nodes=");
		}
		printf("%s%s", first ? "" : ",", o->place[i].name);
	}
	printf("\n");
}

static bool has_hosts(const struct order *o, uint32_t leaf)
{
	for (uint32_t i = 0; leaf != OSR_NONE && i < o->n_places; i++)
		if (o->f->term_switch[o->place[i].term] == leaf)
			return true;
	return false;
}

/* One Slurm switch for each sub-tree, and one for the whole. */
static enum osr_status print_topology(const struct order *o, struct osr_diag *diag)
{
	print_leaves(o);
	for (uint32_t i = 0; i < o->p.n_trees; i++) {
		const struct osr_pgft_tree *pgft_tree = &o->p.tree[i];
		uint32_t n_leaves = pgft_tree->m_product[pgft_tree->h] / pgft_tree->m[1];
		uint8_t *used = calloc(n_leaves, 1);

		if (!used)
			return osr_fail(diag, OSR_NOMEM, "out of memory for %u leaf switches",
					n_leaves);
		for (uint32_t a = 0; a < n_leaves; a++)
			used[a] = has_hosts(o, pgft_tree->place[1][a]);
		for (uint32_t l = 2, size = 1; l <= pgft_tree->h; l++) {
			for (uint32_t a = 0;
			     a < pgft_tree->m_product[pgft_tree->h] / pgft_tree->m_product[l];
			     a++) {
				uint32_t n = 0;

				for (uint32_t k = 0; k < pgft_tree->m[l]; k++) {
					uint32_t child = a * pgft_tree->m[l] + k;
					bool any = false;

					for (uint32_t x = 0; x < size; x++)
						any |= used[child * size + x];
					if (!any)
						continue;
					if (!n) {
						printf("SwitchName=");
						print_group(i, l, a);
						printf(" Switches=");
					}
					printf("%s", n++ ? "," : "");
					if (l == 2)
						print_switch(o, pgft_tree->place[1][child]);
					else
						print_group(i, l - 1, child);
				}
				printf("%s", n ? "\n" : "");
			}
			size *= pgft_tree->m[l];
		}
		free(used);
	}
	return OSR_OK;
}

static void order_say_hosts(struct order *o, struct out *out)
{
	for (uint32_t i = 0; i < o->n_places; i++) {
		uint32_t t = o->place[i].term, s = o->f->term_switch[t];
		char buf[32];

		out_row(out, "hosts");
		out_count(out, "rank", i);
		out_text(out, "host", o->place[i].name);
		out_count(out, "lid", o->f->term_lid[t]);
		out_text(out, "leaf", osr_switch_name(o->f, s, buf));
		out_count(out, "tree", o->p.sw_tree[s]);
		out_count(out, "index", o->p.term_index[t]);
	}
}

int cli_order(int argc, char **argv)
{
	static const struct argp_child children[] = { { &input_argp, 0, NULL, 0 },
						      { &out_argp, 0, NULL, 0 },
						      { NULL, 0, NULL, 0 } };
	static const struct argp argp = { options,
					  order_parse,
					  "FILE",
					  "Lists the hosts of a fat tree in the order in which "
					  "collectives cause no contention under dmodk.",
					  children,
					  NULL,
					  NULL };
	struct args a = { .in = CLI_INPUT_INIT,
			  .out = { .command = "order", .sections = sections },
			  .slots = 1,
			  .max_missing = 30 };
	struct order o = { .a = &a, .f = &a.in.fabric };
	struct osr_diag diag = { "" };
	enum osr_status st;
	char sentence[512];

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	st = cli_input_load(&a.in, &diag);
	if (!st)
		st = osr_pgft_find(
			o.f, &(struct osr_pgft_options){ .max_missing = (uint32_t)a.max_missing },
			&a.in.arena, &o.p, &diag);
	if (!st)
		st = name_hosts(&o, &diag);
	if (!st && a.out.format == OUT_PEOPLE)
		st = order_check_names(&o, &diag);
	if (!st) {
		osr_pgft_describe(&o.p, sentence, sizeof(sentence));
		fprintf(stderr, "osmroutes: %s\n", sentence);
		if (a.out.format != OUT_PEOPLE)
			order_say_hosts(&o, &a.out);
		else if (a.form == SLURM_TOPOLOGY)
			st = print_topology(&o, &diag);
		else
			print_hosts(&o);
	}
	free(o.place);
	cli_input_free(&a.in);
	return st ? cli_fail(st, &diag) : out_end(&a.out, CLI_OK);
}
