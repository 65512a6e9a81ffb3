/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hosts in the order of a fat tree, in a form for other programs. The order is the one by which
 * dmodk routes this fabric, with its options and its notes. A host with several end ports stands at
 * the place of its first one.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/params.h>
#include <osmroutes/pgft.h>

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/keep.h"
#include "io/endports.h"
#include "io/ids.h"
#include "io/lines.h"
#include "names/names.h"

#define PLACE_NAME_SIZE 128
#define MAX_RANKS 65535

enum form { LIST, RANKFILE, SLURM_TOPOLOGY, SLURM_BLOCKS, SLURM_YAML };

struct args {
	struct cli_run run;
	enum form form;
	const char *hca, *hosts, *previous;
	long slots;
};

struct place {
	uint32_t term;
	uint32_t ranks;             /* processes on it; 0: it is not listed */
	char name[PLACE_NAME_SIZE]; /* of the host */
};

struct order {
	const struct osr_fabric *fabric;
	struct osr_arena *arena;
	struct osr_pgft pgft;
	struct place *place; /* [n_places] leaf by leaf */
	uint32_t n_places;
	void *hosts_by_name; /* tree: the first place of each */
	/* While the hosts of a job are read: */
	struct osr_endports hosts;
	uint32_t ranks; /* of a host that does not say it */
};

/* ---- places --------------------------------------------------------------------------------- */

/* "node7" of "node7 mlx5_0": how many bytes. */
static size_t first_word(const char *name)
{
	return strcspn(name, " \t,;");
}

/* Has nobody given the host a name? Then it says what its maker gave, or what many are called. */
static bool is_unnamed(const char *name)
{
	size_t n = first_word(name);

	return osr_name_is_repeated(name) || !strncmp(name, "localhost", strlen("localhost")) ||
	       !strncmp(name, "(none)", strlen("(none)")) ||
	       (n > 2 && !strncmp(name, "MT", 2) && strspn(name + 2, "0123456789") == n - 2);
}

/*
 * The host of an end port, with its first place or OSR_NONE: "node7 mlx5_0" is node7; a host
 * without a name is the GUID of its port. NULL: no memory.
 */
static struct osr_id *host_of(struct order *order, uint32_t term)
{
	char buf[32], host[PLACE_NAME_SIZE];
	const char *name = osr_terminal_name(order->fabric, term, buf);

	if (is_unnamed(name))
		snprintf(host, sizeof(host), "0x%016" PRIx64, order->fabric->term_guid[term]);
	else
		snprintf(host, sizeof(host), "%.*s", (int)first_word(name), name);
	return osr_id_find(&order->hosts_by_name, host);
}

/* A place for each end port in the order; `ranks` on the first one of each host. */
static enum osr_status order_places(struct order *order, const char *hca, uint32_t ranks,
				    struct osr_diag *diag)
{
	order->place = osr_calloc(order->arena, order->pgft.n_order, sizeof(*order->place));
	if (osr_arena_failed(order->arena, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < order->pgft.n_order; i++) {
		struct place *place = &order->place[order->n_places];
		struct osr_id *host;
		char buf[32];
		const char *text = osr_terminal_name(order->fabric, order->pgft.order[i], buf);

		/* "node7 mlx5_0" is of HCA mlx5_0. */
		text += first_word(text);
		for (size_t n = 0; hca && *text; text += n) {
			text += strspn(text, " ");
			n = strcspn(text, " ");
			if (n == strlen(hca) && !strncmp(text, hca, n))
				break;
		}
		if (hca && !*text)
			continue;
		host = host_of(order, order->pgft.order[i]);
		if (!host)
			return osr_fail(diag, OSR_NOMEM, "out of memory for the hosts");
		place->term = order->pgft.order[i];
		snprintf(place->name, sizeof(place->name), "%s", host->text);
		if (host->node == OSR_NONE) {
			host->node = order->n_places;
			place->ranks = ranks;
		}
		order->n_places++;
	}
	return !hca || order->n_places
		       ? OSR_OK
		       : osr_fail(diag, OSR_INVAL,
				  "no host has %.60s behind its name in its node description", hca);
}

/*
 * Lists of hosts are read by programs that start others, so a word that is no host name does not go
 * into them. An option of ssh, a range of hosts, or a second host would be taken for one.
 */
static enum osr_status order_check_names(const struct order *order, struct osr_diag *diag)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	for (uint32_t i = 0; i < order->n_places; i++) {
		const char *name = order->place[i].name;

		if (!*name || *name == '-' || name[strspn(name, letters)])
			return osr_fail(diag, OSR_INVAL,
					"the host at port 0x%016" PRIx64
					" calls itself \"%.60s\", which is no host name: --names "
					"gives it another",
					order->fabric->term_guid[order->place[i].term], name);
	}
	return OSR_OK;
}

/* ---- the hosts of a job --------------------------------------------------------------------- */

/* A host may have several ports: all of them are at its place. OSR_NONE with a sentence. */
static uint32_t find_place(struct order *order, const struct osr_lines *in, const char *word)
{
	struct osr_names *names = &order->hosts.names;
	const struct osr_id *host;
	struct osr_diag why = { "" };
	uint32_t port;

	if (osr_names_host(names, word, OSR_NAME_END_PORT, &port, &why)) {
		osr_lines_fail(in, "%s", why.text);
		return OSR_NONE;
	}
	host = host_of(order, names->hit[0]->node - order->fabric->n_switches);
	if (!host || host->node == OSR_NONE) {
		osr_lines_fail(in, "no host in the order of the tree is called \"%.80s\"", word);
		return OSR_NONE;
	}
	return host->node;
}

static enum osr_status take_host(void *ctx, struct osr_lines *in, const char *word, uint32_t slots)
{
	struct order *order = ctx;
	bool by_lid = !strncmp(word, "lid:", 4);
	char name[PLACE_NAME_SIZE];
	const char *colon = strchr(word + (by_lid ? 4 : 0), ':');
	uint64_t ranks = slots ? slots : order->ranks;
	uint32_t at;

	snprintf(name, sizeof(name), "%.*s", (int)(colon ? colon - word : PLACE_NAME_SIZE - 1),
		 word);
	if (colon && (!osr_parse_uint(colon + 1, &ranks) || !ranks || ranks > MAX_RANKS))
		return osr_lines_fail(in, "\"%.80s\": expected 1 to %d ranks behind the colon",
				      word, MAX_RANKS);
	at = find_place(order, in, name);
	if (at == OSR_NONE)
		return OSR_INVAL;
	order->place[at].ranks += (uint32_t)ranks;
	return order->place[at].ranks <= MAX_RANKS
		       ? OSR_OK
		       : osr_lines_fail(in, "more than %d ranks on \"%.80s\"", MAX_RANKS, name);
}

/*
 * Keeps the first place of each host, or of those of a job. `list` is a file, "-" or the list
 * itself: NAME, NAME:RANKS or NAME slots=RANKS, several with commas, n[01-16] as Slurm writes it;
 * names as order has them or up to their first dot, or GUIDs. Ranks of a host that stands there
 * twice add up. OSR_INVAL: a host that the order does not have, or none of these.
 */
static enum osr_status order_keep(struct order *order, const char *list, uint32_t ranks,
				  struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;
	struct osr_lines in;
	uint32_t n = 0;

	for (uint32_t i = 0; list && i < order->n_places; i++)
		order->place[i].ranks = 0;
	if (list) {
		st = osr_endports_init(&order->hosts, order->fabric, order->arena, diag);
		order->ranks = ranks;
		if (!st)
			st = osr_hostlist_each(cli_hostlist_open(&in, list, diag), take_host,
					       order);
	}
	for (uint32_t i = 0; i < order->n_places; i++)
		if (order->place[i].ranks)
			order->place[n++] = order->place[i];
	order->n_places = n;
	return st || n || !list ? st : osr_fail(diag, OSR_INVAL, "hosts \"%.80s\": no host", list);
}

/* ---- the rule on the size of a job ---------------------------------------------------------- */

/*
 * The least common multiple of the cables out of sub-trees of each height: so many hosts, or a
 * multiple, can be numbered so that none of their flows meet.
 */
static uint64_t order_period(const struct osr_pgft_tree *tree)
{
	uint64_t period = 1;

	for (uint32_t l = 1; l < tree->h; l++) {
		uint64_t cables = (uint64_t)tree->w_product[l + 1] * tree->p[l + 1];
		uint64_t common = period, rest = cables;

		while (rest) {
			uint64_t x = common % rest;

			common = rest;
			rest = x;
		}
		period = period / common * cables;
	}
	return period;
}

/*
 * The statement of section V-B of the D-Mod-K paper about these hosts, in one sentence on standard
 * error; nothing for a broken tree, or for hosts of several trees.
 */
static enum osr_status order_judge(const struct order *order, struct osr_diag *diag)
{
	uint32_t n = order->n_places, *place = osr_alloc(order->arena, n, sizeof(*place)),
		 *number = osr_alloc(order->arena, n, sizeof(*number));
	const uint32_t *of = order->pgft.sw_tree, *at = order->fabric->term_switch;
	const struct osr_pgft_tree *tree =
		n ? &order->pgft.tree[of[at[order->place[0].term]]] : NULL;
	struct osr_pgft_shift all, first = { 0 };
	enum osr_status st;
	uint64_t period;

	if (osr_arena_failed(order->arena, diag))
		return OSR_NOMEM;
	/* One host shifts nothing. */
	if (n < 2 || tree->n_missing_links || tree->n_missing_switches || tree->merged)
		return OSR_OK;
	for (uint32_t i = 0; i < n; i++) {
		if (of[at[order->place[i].term]] != of[at[order->place[0].term]])
			return OSR_OK;
		place[i] = order->pgft.term_index[order->place[i].term];
		number[i] = order->pgft.term_number[order->place[i].term];
	}
	period = order_period(tree);
	st = osr_pgft_shift(tree, place, number, n, order->arena, &all, diag);
	if (!st && n > period && n % period)
		st = osr_pgft_shift(tree, place, number, n - (uint32_t)(n % period), order->arena,
				    &first, diag);
	if (st)
		return st;
	if (all.load == all.n_stages) {
		fprintf(stderr,
			"osmroutes: in the order of these %u ranks no two hosts' flows of a shift "
			"meet on a link\n",
			n);
		return OSR_OK;
	}
	fprintf(stderr,
		"osmroutes: shifts may meet on links: mean HSD %.2f, %.2f links above the bound; "
		"%u hosts are %s multiple of %" PRIu64,
		(double)all.load / all.n_stages, (double)all.over / all.n_stages, n,
		n % period ? "no" : "a", period);
	if (first.n_stages && first.load == first.n_stages)
		fprintf(stderr, ", the first %u meet nowhere", first.n_stages + 1);
	fputs("\n", stderr);
	return OSR_OK;
}

/* ---- Slurm's topology.conf and topology.yaml ------------------------------------------------ */

/*
 * Letters, digits and a few signs, at most 64. Switches that nobody has named are all called after
 * their maker; Slurm wants names that differ.
 */
static void slurm_name(const struct osr_fabric *fabric, uint32_t s, char to[65])
{
	char buf[32];
	const char *name = osr_switch_name(fabric, s, buf);

	if (name[osr_name_own(name, fabric->sw_guid[s])]) {
		snprintf(to, 65, "switch-%016" PRIx64, fabric->sw_guid[s]);
		return;
	}
	snprintf(to, 65, "%s", name);
	for (; *to; to++)
		*to = isalnum((unsigned char)*to) || *to == '-' || *to == '.' ? *to : '_';
}

/* An entry, a switch or block, begins; then what belongs to it, with commas, and its end. */
static void slurm_begin(enum form form, const char *kind, const char *name, const char *member)
{
	bool nodes = !strcmp(member, "nodes");

	if (form == SLURM_YAML)
		printf("      - %s: \"%s\"\n        %s: \"", kind, name, member);
	else
		printf("%sName=%s %s=", !strcmp(kind, "block") ? "Block" : "Switch", name,
		       nodes ? "Nodes" : "Switches");
}

static void slurm_end(enum form form)
{
	puts(form == SLURM_YAML ? "\"" : "");
}

/* Hosts stand leaf by leaf: an entry for each leaf. */
static void slurm_leaves(const struct order *order, enum form form, const char *kind)
{
	char name[65];

	for (uint32_t i = 0, end; i < order->n_places; i = end) {
		uint32_t s = order->fabric->term_switch[order->place[i].term];

		slurm_name(order->fabric, s, name);
		slurm_begin(form, kind, name, "nodes");
		for (end = i; end < order->n_places &&
			      order->fabric->term_switch[order->place[end].term] == s;
		     end++)
			printf("%s%s", end > i ? "," : "", order->place[end].name);
		slurm_end(form);
	}
}

/*
 * Every block has at least the first size, and each further one is twice the one before: the
 * smallest leaf, and as many doublings as there are blocks for.
 */
static void slurm_sizes(const struct order *order, enum form form)
{
	uint32_t smallest = UINT32_MAX, n_blocks = 0, n = 0;

	for (uint32_t i = 0; i < order->n_places; i++) {
		n++;
		if (i + 1 < order->n_places &&
		    order->fabric->term_switch[order->place[i].term] ==
			    order->fabric->term_switch[order->place[i + 1].term])
			continue;
		smallest = n < smallest ? n : smallest;
		n_blocks++;
		n = 0;
	}
	for (uint32_t times = 1; times <= n_blocks; times *= 2)
		printf(form == SLURM_YAML ? "      - %" PRIu32 "\n"
		       : times > 1        ? ",%" PRIu32
					  : "BlockSizes=%" PRIu32,
		       smallest * times);
	if (form != SLURM_YAML)
		puts("");
}

/* Each sub-tree with hosts, from below. */
static enum osr_status slurm_trees(const struct order *order, enum form form, struct osr_diag *diag)
{
	bool *used = osr_calloc(order->arena, order->fabric->n_switches, sizeof(*used));
	char name[65];

	if (osr_arena_failed(order->arena, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < order->n_places; i++)
		used[order->fabric->term_switch[order->place[i].term]] = true;
	for (uint32_t i = 0; i < order->pgft.n_trees; i++) {
		const struct osr_pgft_tree *tree = &order->pgft.tree[i];
		uint32_t n = tree->h ? tree->m_product[tree->h] / tree->m[1] : 0;
		/* [A]: are there hosts below the one at A of the level below? */
		bool *has = osr_calloc(order->arena, n, sizeof(*has));

		if (osr_arena_failed(order->arena, diag))
			return OSR_NOMEM;
		for (uint32_t a = 0; a < n; a++)
			has[a] = tree->place[1][a] != OSR_NONE && used[tree->place[1][a]];
		for (uint32_t level = 2; level <= tree->h; level++) {
			n /= tree->m[level];
			for (uint32_t a = 0; a < n; a++) {
				uint32_t first = a * tree->m[level];
				bool any = false;

				for (uint32_t b = first; b < first + tree->m[level]; b++) {
					if (!has[b])
						continue;
					snprintf(name, sizeof(name), "tree%u-level%u-%u", i, level,
						 a);
					if (!any)
						slurm_begin(form, "switch", name, "children");
					if (level == 2)
						slurm_name(order->fabric, tree->place[1][b], name);
					else
						snprintf(name, sizeof(name), "tree%u-level%u-%u", i,
							 level - 1, b);
					printf("%s%s", any ? "," : "", name);
					any = true;
				}
				if (any)
					slurm_end(form);
				has[a] = any;
			}
		}
	}
	return OSR_OK;
}

static enum osr_status slurm_print(const struct order *order, enum form form, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	if (form == SLURM_YAML)
		puts("---\n- topology: \"tree\"\n  cluster_default: true\n  tree:\n    switches:");
	slurm_leaves(order, form, form == SLURM_BLOCKS ? "block" : "switch");
	if (form != SLURM_BLOCKS)
		st = slurm_trees(order, form, diag);
	if (form == SLURM_YAML)
		puts("- topology: \"block\"\n  cluster_default: false\n  block:\n    block_sizes:");
	if (form != SLURM_TOPOLOGY)
		slurm_sizes(order, form);
	if (form == SLURM_YAML) {
		puts("    blocks:");
		slurm_leaves(order, form, "block");
	}
	return st;
}

/* ---- the tree ------------------------------------------------------------------------------- */

/*
 * The digits that the engine has given and will remember; a tree that is not remembered has those
 * of any day.
 */
static enum osr_status order_route(struct args *args, struct osr_pgft *tree, struct osr_diag *diag)
{
	/* The engine has taken the tree already, whatever is missing. */
	struct osr_pgft_options opt = { .max_missing = 99 };
	struct osr_pgft_memory memory;
	struct cli_subjects *who = &args->run.who;
	struct cli_stored previous = { .last.digest = 0 };
	struct cli_tables tables = { .st = OSR_OK };
	enum osr_status st;

	who->item[who->n++].engine = osr_engine_find("dmodk");
	st = cli_subjects_load(who, &args->run.in, diag);
	if (!st && args->previous)
		st = cli_stored_read(args->previous, who->item[0].engine, &who->values[0],
				     &previous, diag);
	if (!st) {
		cli_tables_make(who, 0, &args->run.in.fabric,
				args->previous ? &previous.last : NULL, &tables);
		st = tables.st;
		*diag = tables.diag;
	}
	if (!st && osr_pgft_memory_read(&tables.routing.notes, &memory))
		opt.memory = &memory;
	if (!st)
		st = osr_pgft_find(&args->run.in.fabric, &opt, &args->run.in.arena, tree, diag);
	if (!st)
		st = osr_pgft_number(tree, &args->run.in.arena, diag);
	cli_tables_free(&tables);
	cli_stored_free(&previous);
	return st;
}

/* ---- the command line ----------------------------------------------------------------------- */

static const struct out_field fields[] = {
	{ "rank", NULL, OUT_COUNT },  { "host", NULL, OUT_TEXT },  { "lid", NULL, OUT_COUNT },
	{ "leaf", NULL, OUT_TEXT },   { "tree", NULL, OUT_COUNT }, { "index", NULL, OUT_COUNT },
	{ "ranks", NULL, OUT_COUNT }, { "guid", NULL, OUT_GUID },  { 0 },
};

static const struct out_section sections[] = { { "hosts", OUT_ROWS, fields }, { 0 } };

static const struct cli_option options[] = {
	{ "format", "FORM",
	  "list (default), rankfile of Open MPI, slurm-topology or slurm-blocks (topology.conf), "
	  "or slurm-yaml (topology.yaml)",
	  CLI_WORD(struct args, form, "list|rankfile|slurm-topology|slurm-blocks|slurm-yaml") },
	{ "hosts", "LIST",
	  "only these, the hosts of a job: a file with one a line, or names and GUIDs with commas; "
	  "HOST:N and HOST slots=N for N ranks",
	  CLI_TEXT(struct args, hosts) },
	{ "slots", "N", "processes for each host (default 1)",
	  CLI_NUMBER(struct args, slots, 1, 65535) },
	{ "hca", "NAME",
	  "of hosts with several HCAs, the end ports whose node description has this word behind "
	  "the host's name, e.g. mlx5_0",
	  CLI_TEXT(struct args, hca) },
	{ "config", "FILE",
	  "options of dmodk: this osmroutes.conf; \"none\": the defaults "
	  "(default: " OSR_DEFAULT_CONFIG ", if it exists)",
	  CLI_TEXT(struct args, run.who.config) },
	{ "previous", "FILE",
	  "the order after this sweep of dmodk: stored tables of route --save or of the plugin",
	  CLI_TEXT(struct args, previous) },
	{ CLI_PART(input_spec, struct args, run.in) },
	{ 0 },
};

/* Who is not listed, and who not by a name. */
static void order_count(const struct order *order)
{
	uint32_t n_all = 0, n_unnamed = 0;
	char buf[32], unnamed[64];

	OSR_EVERY_TERMINAL(t, order->fabric)
		n_all += order->fabric->term_role[t] != OSR_ROLE_SP0;
	if (n_all > order->pgft.n_order)
		fprintf(stderr,
			"osmroutes: of %u end ports of CAs and routers %u are in the order; the "
			"others serve switches (SHARP, management), or are outside of the tree\n",
			n_all, order->pgft.n_order);
	for (uint32_t i = 0; i < order->n_places; i++) {
		const char *name = osr_terminal_name(order->fabric, order->place[i].term, buf);

		if (!is_unnamed(name))
			continue;
		if (!n_unnamed++)
			snprintf(unnamed, sizeof(unnamed), "%s", name);
	}
	if (n_unnamed)
		fprintf(stderr,
			"osmroutes: %u of %u hosts have no name of their own (\"%s\"), and are "
			"listed by GUID, which starts no job: --names gives them names\n",
			n_unnamed, order->n_places, unnamed);
}

static enum osr_status order_say(struct args *args, const struct order *order,
				 struct osr_diag *diag)
{
	uint32_t rank = 0, n_ranks = 0;
	enum osr_status st;
	char text[512];

	for (uint32_t i = 0; i < order->n_places; i++)
		n_ranks += order->place[i].ranks;
	if (args->run.out.format == OUT_PEOPLE && args->form != RANKFILE &&
	    n_ranks > order->n_places)
		fputs("osmroutes: each host is listed once: ranks are in --format=rankfile and "
		      "--json\n",
		      stderr);
	osr_pgft_describe(&order->pgft, text, sizeof(text));
	fprintf(stderr, "osmroutes: %s\n", text);
	order_count(order);
	st = order_judge(order, diag);
	if (st)
		return st;
	if (args->run.out.format == OUT_PEOPLE && args->form >= SLURM_TOPOLOGY)
		return slurm_print(order, args->form, diag);
	for (uint32_t i = 0; i < order->n_places; rank += order->place[i++].ranks) {
		const struct place *place = &order->place[i];
		uint32_t t = place->term, s = order->fabric->term_switch[t];

		if (args->run.out.format != OUT_PEOPLE)
			OUT_ADD(&args->run.out, "hosts", rank, place->name,
				order->fabric->term_lid[t], osr_switch_name(order->fabric, s, text),
				order->pgft.sw_tree[s], order->pgft.term_number[t], place->ranks,
				order->fabric->term_guid[t]);
		else if (args->form == LIST)
			printf("%s\n", place->name);
		for (uint32_t k = 0; args->run.out.format == OUT_PEOPLE && args->form == RANKFILE &&
				     k < place->ranks;
		     k++)
			printf("rank %u=%s slot=%u\n", rank + k, place->name, k);
	}
	return OSR_OK;
}

static enum osr_status order_work(void *args)
{
	struct args *a = args;
	struct order order = { .fabric = &a->run.in.fabric, .arena = &a->run.in.arena };
	struct osr_diag *diag = &a->run.diag;
	enum osr_status st = order_route(a, &order.pgft, diag);

	if (!st)
		st = order_places(&order, a->hca, (uint32_t)a->slots, diag);
	if (!st)
		st = order_keep(&order, a->hosts, (uint32_t)a->slots, diag);
	if (!st && a->run.out.format == OUT_PEOPLE)
		st = order_check_names(&order, diag);
	if (!st)
		st = order_say(a, &order, diag);
	tdestroy(order.hosts_by_name, free);
	return st;
}

const struct cli_command cli_order = {
	"order",
	"list the hosts of a fat tree in routing order, for MPI and Slurm",
	CLI_MAKE,
	{ options, NULL, "FILE",
	  "Lists the hosts of a fat tree in the order in which collectives cause no "
	  "contention under dmodk." },
	sections,
	CLI_ARGS(.run = { CLI_RUN }, .slots = 1),
	.work = order_work
};
