/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hosts in the order of a fat tree, in the form that other programs read. The order is the one by which
 * dmodk routes this fabric, with its options and what it remembers; a host with several end ports
 * stands where its first one does.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/names.h>
#include <osmroutes/params.h>
#include <osmroutes/pgft.h>

#include "cli/cli.h"
#include "cli/endport.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/source.h"
#include "io/net.h"
#include "io/endports.h"
#include "io/lines.h"

enum form { LIST, RANKFILE, SLURM_TOPOLOGY, SLURM_BLOCKS, SLURM_YAML, N_FORMS };

static const char *const forms[N_FORMS] = { "list", "rankfile", "slurm-topology", "slurm-blocks",
					    "slurm-yaml" };

#define PLACE_NAME_SIZE 128

struct place {
	uint32_t term;
	uint32_t ranks;             /* processes on it */
	char name[PLACE_NAME_SIZE]; /* of the host */
};

struct order {
	const struct osr_fabric *f;
	struct osr_pgft p;
	struct place *place; /* [n_places] hosts, each once, leaf by leaf */
	uint32_t n_places;
};

/*
 * The hosts of one job in the order of the tree, and whether shifts among them are free of contention (section
 * V-B of the D-Mod-K paper).
 */
#define MAX_RANKS 65535

struct job_hosts {
	struct order *order;
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
	const struct place *p = place;

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
	job->st = osr_lines_fail(job->in, "%s", why.text);
	return OSR_NONE;
}

static bool take_host(void *context, const char *word)
{
	struct job_hosts *job = context;
	bool by_lid = !strncmp(word, "lid:", 4);
	char name[PLACE_NAME_SIZE];
	const char *colon = strchr(word + (by_lid ? 4 : 0), ':');
	uint64_t ranks = job->line_ranks;
	uint32_t at;

	snprintf(name, sizeof(name), "%.*s", (int)(colon ? colon - word : PLACE_NAME_SIZE - 1),
		 word);
	if (colon && (!osr_parse_uint(colon + 1, &ranks) || !ranks || ranks > MAX_RANKS)) {
		job->st = osr_lines_fail(job->in,
					 "\"%.80s\": expected 1 to %d ranks behind the colon", word,
					 MAX_RANKS);
		return false;
	}
	at = find_place(job, name);
	if (!job->st && job->wanted[at] + ranks > MAX_RANKS)
		job->st =
			osr_lines_fail(job->in, "more than %d ranks on \"%.80s\"", MAX_RANKS, name);
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
				job->in,
				"\"%.80s\": expected slots= and 1 to %d, or nothing, behind a host",
				word, MAX_RANKS);
	job->line_ranks = (uint32_t)ranks;
	if (list && !cli_each_name(list, take_host, job) && !job->st)
		return osr_lines_fail(job->in, "\"%.80s\" is no list of hosts", list);
	return job->st;
}

static enum osr_status job_read(struct job_hosts *job, const char *list)
{
	struct osr_lines in;
	enum osr_status st = OSR_OK;
	char *text;

	job->in = cli_hostlist_open(&in, list, job->diag);
	while (!st && osr_lines_next(&in, &text, &st))
		st = job_take_line(job, text);
	job->in = NULL;
	osr_lines_close(&in);
	return st;
}

/*
 * Keeps the hosts of a job. `list` is a file, "-" or the list itself: NAME, NAME:RANKS or NAME slots=RANKS, several
 * with commas, n[01-16] as Slurm writes it; names as order has them or up to their first dot, or GUIDs. Ranks of a
 * host that stands there twice add up. OSR_INVAL: a host that the order does not have, or what is none of these.
 */
static enum osr_status order_keep(struct order *order, const char *list, uint32_t ranks,
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

/*
 * What the paper's rule on the size of a job (section V-B) says of these hosts, in one sentence; "" if it says
 * nothing: a broken tree, or hosts of several.
 */
static void order_judge(const struct order *order, char *buf, size_t size)
{
	uint32_t n = order->n_places,
		 tree = n ? order->p.sw_tree[order->f->term_switch[order->place[0].term]] : 0;
	uint64_t period = n ? shift_period(&order->p.tree[tree]) : 0;

	snprintf(buf, size, "%s", "");
	for (uint32_t i = 0; i < n && period; i++)
		if (order->p.sw_tree[order->f->term_switch[order->place[i].term]] != tree)
			return;
	for (uint32_t i = 0; i < n && period; i++) {
		const struct place *this = &order->place[i], *next = &order->place[(i + 1) % n];
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

/*
 * Slurm's topology.conf and topology.yaml: a line or entry for each leaf with its hosts, then one for each
 * sub-tree with hosts, and one for each whole tree.
 */
struct slurm {
	const struct order *order;
	enum form form;
	uint8_t *used; /* [n_switches] leaf with hosts of the order */
};

/* ---- names ---------------------------------------------------------------------------------- */

/*
 * Letters, digits and a few signs, at most 64. Switches that nobody has named are all called after their maker;
 * Slurm wants names that differ.
 */
static void slurm_put_switch(const struct slurm *slurm, uint32_t s)
{
	uint64_t guid = slurm->order->f->sw_guid[s];
	char buf[32];
	const char *name = osr_switch_name(slurm->order->f, s, buf);

	if (name[osr_name_own(name, guid)]) {
		printf("switch-%016" PRIx64, guid);
		return;
	}
	for (const char *c = name, *end = c + 64; *c && c < end; c++)
		putchar(isalnum((unsigned char)*c) || *c == '-' || *c == '.' ? *c : '_');
}

/* A switch of Slurm: a leaf of the fabric, or a sub-tree. */
struct slurm_switch {
	uint32_t tree, level, index;
};

static void slurm_put_name(const struct slurm *slurm, struct slurm_switch at)
{
	if (at.level == 1)
		slurm_put_switch(slurm, slurm->order->p.tree[at.tree].place[1][at.index]);
	else
		printf("tree%" PRIu32 "-level%" PRIu32 "-%" PRIu32, at.tree, at.level, at.index);
}

/* ---- entries -------------------------------------------------------------------------------- */

static void slurm_begin(const struct slurm *slurm, const char *kind)
{
	if (slurm->form == SLURM_YAML)
		printf("      - %s: \"", kind);
	else
		printf("%sName=", !strcmp(kind, "block") ? "Block" : "Switch");
}

static void slurm_middle(const struct slurm *slurm, const char *yaml, const char *conf)
{
	if (slurm->form == SLURM_YAML)
		printf("\"\n        %s: \"", yaml);
	else
		printf(" %s=", conf);
}

static void slurm_end(const struct slurm *slurm)
{
	puts(slurm->form == SLURM_YAML ? "\"" : "");
}

/* Hosts stand leaf by leaf, so those of one leaf are neighbours. */
static void slurm_put_leaves(const struct slurm *slurm, const char *kind)
{
	const struct order *order = slurm->order;

	for (uint32_t i = 0; i < order->n_places; i++) {
		uint32_t s = order->f->term_switch[order->place[i].term];
		bool first = !i || order->f->term_switch[order->place[i - 1].term] != s;

		if (first) {
			if (i)
				slurm_end(slurm);
			slurm_begin(slurm, kind);
			slurm_put_switch(slurm, s);
			slurm_middle(slurm, "nodes", "Nodes");
		}
		printf("%s%s", first ? "" : ",", order->place[i].name);
	}
	if (order->n_places)
		slurm_end(slurm);
}

static bool slurm_has_hosts(const struct slurm *slurm, struct slurm_switch at, uint32_t n_leaves)
{
	const struct osr_pgft_tree *tree = &slurm->order->p.tree[at.tree];

	for (uint32_t i = 0; i < n_leaves; i++) {
		uint32_t s = tree->place[1][at.index * n_leaves + i];

		if (s != OSR_NONE && slurm->used[s])
			return true;
	}
	return false;
}

static void slurm_put_subtree(const struct slurm *slurm, struct slurm_switch at, uint32_t n_leaves)
{
	const struct osr_pgft_tree *tree = &slurm->order->p.tree[at.tree];
	uint32_t n = 0;

	for (uint32_t k = 0; k < tree->m[at.level]; k++) {
		struct slurm_switch child = { at.tree, at.level - 1,
					      at.index * tree->m[at.level] + k };

		if (!slurm_has_hosts(slurm, child, n_leaves / tree->m[at.level]))
			continue;
		if (!n) {
			slurm_begin(slurm, "switch");
			slurm_put_name(slurm, at);
			slurm_middle(slurm, "children", "Switches");
		}
		printf("%s", n++ ? "," : "");
		slurm_put_name(slurm, child);
	}
	if (n)
		slurm_end(slurm);
}

static void slurm_put_tree(const struct slurm *slurm)
{
	slurm_put_leaves(slurm, "switch");
	for (uint32_t i = 0; i < slurm->order->p.n_trees; i++) {
		const struct osr_pgft_tree *tree = &slurm->order->p.tree[i];
		uint32_t n_leaves = 1;

		for (uint32_t level = 2; level <= tree->h; level++) {
			uint32_t n = tree->m_product[tree->h] / tree->m_product[level];

			n_leaves *= tree->m[level];
			for (uint32_t a = 0; a < n; a++)
				slurm_put_subtree(slurm, (struct slurm_switch){ i, level, a },
						  n_leaves);
		}
	}
}

/* ---- blocks --------------------------------------------------------------------------------- */

/*
 * Every block has at least the first size, and each further one is twice the one before: the smallest
 * leaf, and as many doublings as there are blocks for.
 */
static void slurm_put_sizes(const struct slurm *slurm)
{
	const struct order *order = slurm->order;
	uint32_t n = 0, smallest = UINT32_MAX, n_blocks = 0;
	bool yaml = slurm->form == SLURM_YAML;

	for (uint32_t i = 0; i < order->n_places; i++) {
		uint32_t s = order->f->term_switch[order->place[i].term];

		n++;
		if (i + 1 == order->n_places ||
		    order->f->term_switch[order->place[i + 1].term] != s) {
			smallest = n < smallest ? n : smallest;
			n_blocks++;
			n = 0;
		}
	}
	for (uint32_t times = 1; times <= n_blocks; times *= 2)
		printf(yaml        ? "      - %" PRIu32 "\n"
		       : times > 1 ? ",%" PRIu32
				   : "BlockSizes=%" PRIu32,
		       smallest * times);
	if (!yaml)
		puts("");
}

static enum osr_status slurm_print(const struct order *order, enum form form, struct osr_diag *diag)
{
	size_t n = order->f->n_switches;
	struct slurm slurm = { .order = order, .form = form };

	slurm.used = calloc(n, sizeof(*slurm.used));
	if (!slurm.used)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %zu switches", n);
	for (uint32_t i = 0; i < order->n_places; i++)
		slurm.used[order->f->term_switch[order->place[i].term]] = 1;
	switch (slurm.form) {
	case SLURM_TOPOLOGY:
		slurm_put_tree(&slurm);
		break;
	case SLURM_BLOCKS:
		slurm_put_leaves(&slurm, "block");
		slurm_put_sizes(&slurm);
		break;
	case SLURM_YAML:
		puts("---\n- topology: \"tree\"\n  cluster_default: true\n  tree:\n    switches:");
		slurm_put_tree(&slurm);
		puts("- topology: \"block\"\n  cluster_default: false\n  block:\n    block_sizes:");
		slurm_put_sizes(&slurm);
		puts("    blocks:");
		slurm_put_leaves(&slurm, "block");
		break;
	default:
		break;
	}
	free(slurm.used);
	return OSR_OK;
}

static const struct out_field fields[] = {
	{ "rank", NULL, OUT_COUNT, 0 },  { "host", NULL, OUT_TEXT, 0 },
	{ "lid", NULL, OUT_COUNT, 0 },   { "leaf", NULL, OUT_TEXT, 0 },
	{ "tree", NULL, OUT_COUNT, 0 },  { "index", NULL, OUT_COUNT, 0 },
	{ "ranks", NULL, OUT_COUNT, 0 }, { 0 },
};

static const struct out_section sections[] = {
	{ "hosts", OUT_ROWS, fields },
	{ 0 },
};

struct args {
	struct cli_input in;
	struct cli_subjects who;
	struct out out;
	enum form form;
	const char *hca, *hosts, *previous;
	long slots;
};

enum { OPT_FORMAT = 256, OPT_CONFIG };

static const struct cli_option options[] = {
	{ "format", "FORM",
	  "list (default), rankfile of Open MPI, slurm-topology or slurm-blocks (topology.conf), "
	  "or slurm-yaml (topology.yaml)",
	  .key = OPT_FORMAT },
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
	  .key = OPT_CONFIG },
	{ "previous", "FILE",
	  "the order after this sweep of dmodk: stored tables of route --save or of the plugin",
	  CLI_TEXT(struct args, previous) },
	{ 0 },
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
	case OPT_CONFIG:
		a->who.config = strcmp(arg, "none") ? arg : "";
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct cli_part parts[] = { { &input_spec, offsetof(struct args, in) },
					 { &out_spec, offsetof(struct args, out) },
					 { 0 } };

static const struct cli_spec spec = {
	.options = options,
	.parse = order_parse,
	.parts = parts,
	.args_doc = "FILE",
	.doc = "Lists the hosts of a fat tree in the order in which collectives cause no "
	       "contention under dmodk.",
};

/* Names ---------------------------------------------------------------------------------------- */

/* A host is called by the first word of its description: "node7 mlx5_0" is node7. */
static void first_word(const char *text, char *buf)
{
	size_t n = cli_first_word(text);

	snprintf(buf, PLACE_NAME_SIZE, "%.*s", (int)(n < PLACE_NAME_SIZE ? n : PLACE_NAME_SIZE - 1),
		 text);
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

static enum osr_status name_hosts(struct order *o, const char *hca, uint32_t ranks,
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

static void order_say_hosts(struct order *o, struct out *out)
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
	struct args a = { .in = CLI_INPUT_INIT,
			  .who = CLI_SUBJECTS_INIT,
			  .out = { .command = "order", .sections = sections },
			  .slots = 1 };
	struct order o = { .f = &a.in.fabric };
	struct osr_diag diag = { "" };
	enum osr_status st;
	char sentence[512];

	cli_parse(&spec, argc, argv, &a);
	st = order_route(&a, &o.p, &diag);
	if (!st)
		st = name_hosts(&o, a.hca, (uint32_t)a.slots, &diag);
	if (!st && a.hosts)
		st = order_keep(&o, a.hosts, (uint32_t)a.slots, &diag);
	if (!st && a.out.format == OUT_PEOPLE)
		st = order_check_names(&o, &diag);
	if (!st) {
		osr_pgft_describe(&o.p, sentence, sizeof(sentence));
		fprintf(stderr, "osmroutes: %s\n", sentence);
		order_judge(&o, sentence, sizeof(sentence));
		if (a.hosts && *sentence)
			fprintf(stderr, "osmroutes: %s\n", sentence);
		if (a.out.format != OUT_PEOPLE)
			order_say_hosts(&o, &a.out);
		else if (a.form >= SLURM_TOPOLOGY)
			st = slurm_print(&o, a.form, &diag);
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
