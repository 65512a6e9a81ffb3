/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Readers of files and of words. OSR_FUZZ_READER in the environment says which of them reads the input.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "conf/options.h"
#include "conf/osmconf.h"
#include "core/verify/audit.h"
#include "io/endports.h"
#include "io/netfile.h"
#include "io/speed.h"
#include "io/tables.h"
#include "io/trafficfile.h"
#include "topo/topo.h"

/*
 * Whatever an opensm-subnet.lst holds, it is refused with a sentence that names file and line, or it is
 * a net, which is a fabric or refused as one.
 */
static void take_subnet(const uint8_t *data, size_t size)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_lines in;
	struct osr_fabric f;
	struct osr_net net;
	enum osr_status st;

	st = osr_subnetfile_read(osr_lines_text(&in, (const char *)data, size, "input", &diag),
				 &net);
	insist(!st || !strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
	if (!st && osr_net_fabric(&net, -1, &arena, &f, &diag))
		insist(diag.text[0], "subnet file", "refused without a sentence");
	osr_net_free(&net);
	osr_arena_free(&arena);
	osr_lines_close(&in);
}

static void judge_tables(const struct osr_tables *t)
{
	struct osr_generation gen[2] = { osr_tables_generation(t), osr_tables_generation(t) };
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_diag diag = { "" };
	struct osr_audit audit;
	struct osr_loop loop;

	for (unsigned i = 0; i < 2; i++)
		insist(!osr_union_loop(t->f, gen, i + 1, OSR_CLAIM_REVERSIBLE | OSR_CLAIM_MULTICAST,
				       &scratch, &result, &loop, NULL, &diag),
		       "loops", diag.text);
	insist(!osr_audit(t->f, gen, OSR_CLAIM_REVERSIBLE, 4, &scratch, &result, &audit, &diag),
	       "audit", diag.text);
	for (uint32_t i = 0; i < audit.n_listed; i++) {
		osr_fault_say(t->f, &audit.fault[i], &diag);
		insist(diag.text[0], "a fault", "without a sentence");
	}
	osr_arena_free(&scratch);
	osr_arena_free(&result);
}

/*
 * Whatever a file of tables holds, it is refused with a sentence that names file and line, or it
 * becomes tables that the auditor and the search for credit loops can judge.
 */
static void take_tables(const uint8_t *data, size_t size, osr_tables_parse_fn *parse)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_lines in;
	struct osr_tables t;
	enum osr_status st;
	bool same_ca;

	insist(!osr_tables_init(&t, fuzz_ring(), NULL, &arena, &diag), "init", diag.text);
	st = osr_tables_read(&t, osr_lines_text(&in, (const char *)data, size, "input", &diag),
			     parse);
	if (!st)
		st = osr_tables_finish(&t, &same_ca, &diag);
	insist(!st || !strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
	if (!st)
		judge_tables(&t);
	osr_tables_free(&t);
	osr_arena_free(&arena);
}

/*
 * Whatever an opensm-lfts.dump holds, the LMCs taken out of it are such that LIDs may have: refused with a
 * sentence that names file and line otherwise.
 */
static void take_lmcs(const uint8_t *data, size_t size)
{
	struct osr_net net = { 0 };
	struct osr_diag diag = { "" };
	struct osr_lines in;

	for (uint32_t i = 0; i < 3; i++) {
		uint32_t port = osr_net_port(&net, osr_net_node(&net, OSR_NET_CA, 1, "h"), 1);

		insist(port != OSR_NONE, "net", "out of memory");
		net.ports[port].guid = 0x11 + i;
		net.ports[port].lid = (uint16_t)(4 << i);
	}
	osr_lines_text(&in, (const char *)data, size, "input", &diag);
	if (osr_tables_lmcs(&in, &net))
		insist(!strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
	for (uint32_t p = 0; p < net.n_ports; p++)
		insist(net.ports[p].lmc <= 7 &&
			       !(net.ports[p].lid & ((1u << net.ports[p].lmc) - 1)),
		       "LMC", "one that its LID cannot have");
	osr_net_free(&net);
}

static void look_at_traffic(const struct osr_traffic *t, uint32_t n_terminals)
{
	const struct osr_phases *p = &t->phases;

	insist(p->n_phases && p->row[0] == 0 && p->row[p->n_phases], "traffic", "without a pair");
	for (uint32_t i = 0; i < p->n_phases; i++)
		insist(p->row[i] <= p->row[i + 1], "traffic", "a phase that ends before it begins");
	for (uint32_t i = 0; i < p->row[p->n_phases]; i++)
		insist(p->pair[i].from < p->n_ranks && p->pair[i].to < p->n_ranks &&
			       p->pair[i].from != p->pair[i].to,
		       "traffic", "a pair of nobody");
	for (uint32_t i = 0; t->hosts && i < p->n_ranks; i++)
		insist(t->hosts[i] < n_terminals, "traffic", "a host that is not there");
}

/*
 * Whatever a traffic file holds, it is refused with a sentence that names file and line, or all its pairs
 * are different ranks that there are, and all its hosts are end ports of the fabric.
 */
static void take_traffic(const uint8_t *data, size_t size)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_endports x;
	struct osr_traffic t;
	struct osr_lines in;

	insist(!osr_endports_init(&x, fuzz_ring(), &arena, &diag), "end ports", diag.text);
	/* Even without end ports, as where only ranks are allowed. */
	for (int i = 0; i < 2; i++) {
		osr_lines_text(&in, (const char *)data, size, "input", &diag);
		if (osr_traffic_read(&in, i ? NULL : &x, &t))
			insist(!strncmp(diag.text, "input:", 6), "refused without a place",
			       diag.text);
		else
			look_at_traffic(&t, fuzz_ring()->n_terminals);
		osr_traffic_free(&t);
	}
	osr_arena_free(&arena);
}

/*
 * Whatever a list of hosts holds, it is refused with a sentence that names file and line, or all of it are
 * different end ports of CAs.
 */
static void take_hostlist(const uint8_t *data, size_t size)
{
	const struct osr_fabric *f = fuzz_ring();
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	bool seen[6] = { false };
	struct osr_endports x;
	uint32_t hosts[6], n;
	struct osr_lines in;

	insist(f->n_terminals == 6, "ring", "has six end ports");
	insist(!osr_endports_init(&x, f, &arena, &diag), "end ports", diag.text);
	osr_lines_text(&in, (const char *)data, size, "input", &diag);
	if (osr_hostlist_read(&in, &x, hosts, &n)) {
		insist(!strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
		n = 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		insist(hosts[i] < 6 && !seen[hosts[i]] && f->term_role[hosts[i]] != OSR_ROLE_SP0,
		       "hosts", "one twice, or none");
		seen[hosts[i]] = true;
	}
	osr_arena_free(&arena);
}

/*
 * Whatever a net file holds: it is refused with a sentence, or it is a net that can be written,
 * read again with the same result, and turned into a fabric or refused as one.
 */
static char *write_text(const struct osr_net *net)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	insist(out && !osr_netfile_write(net, NULL, out, NULL), "net file", "cannot write");
	fclose(out);
	return text;
}

static void same_net(const struct osr_net *a, const struct osr_net *b)
{
	insist(a->n_nodes == b->n_nodes && a->n_ports == b->n_ports, "net file", "lost nodes");
	for (uint32_t i = 0; i < a->n_nodes; i++) {
		const struct osr_net_node *m = &a->nodes[i], *n = &b->nodes[i];

		insist(!strcmp(osr_net_id(a, i), osr_net_id(b, i)) &&
			       !strcmp(osr_net_name(a, i), osr_net_name(b, i)) &&
			       m->guid == n->guid && m->sysimg_guid == n->sysimg_guid &&
			       m->type == n->type && m->enhanced_sp0 == n->enhanced_sp0,
		       osr_net_id(a, i), "is another node");
	}
	for (uint32_t i = 0; i < a->n_ports; i++) {
		const struct osr_net_port *p = &a->ports[i], *q = &b->ports[i];

		insist(p->guid == q->guid && p->peer == q->peer && p->lid == q->lid &&
			       p->lmc == q->lmc,
		       osr_net_id(a, p->node), "has another port");
		/* Of a rate both numbers or none are written. */
		insist(p->peer == OSR_NONE || !p->width || !p->speed ||
			       (p->width == q->width && p->speed == q->speed),
		       osr_net_id(a, p->node), "has another cable");
	}
}

static void write_and_read(const struct osr_net *net)
{
	struct osr_diag diag = { "" };
	char *text = write_text(net), *text2;
	struct osr_net again;
	struct osr_lines in;

	osr_lines_text(&in, text, strlen(text), "again", &diag);
	if (osr_fabricfile_read(&in, &again)) {
		fprintf(stderr, "%s\n%s", diag.text, text);
		insist(false, "net file", "does not read what it wrote");
	}
	same_net(net, &again);
	text2 = write_text(&again);
	insist(!strcmp(text, text2), "net file", "writes something else the second time");
	free(text);
	free(text2);
	osr_net_free(&again);
}

static void build_net(struct osr_net *net)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_fabric f;

	if (osr_net_fabric(net, -1, &arena, &f, &diag))
		insist(diag.text[0] != 0, "net file", "refused without a sentence");
	else
		insist(f.n_switches == osr_net_count(net).switches, "net file", "lost switches");
	osr_arena_free(&arena);
}

static void take_netfile(const uint8_t *data, size_t size)
{
	struct osr_diag diag = { "" };
	struct osr_net net;
	struct osr_lines in;
	enum osr_status st;

	osr_lines_text(&in, (const char *)data, size, "fuzz", &diag);
	st = osr_netfile_read(&in, &net);
	osr_lines_close(&in);
	if (st) {
		insist(diag.text[0] != 0, "net file", "refused without a sentence");
		return;
	}
	write_and_read(&net);
	build_net(&net);
	osr_net_free(&net);
}

/*
 * What `osmroutes generate` takes, KIND NAME=VALUE..., behind a byte that does not count and one that is
 * the style. Refused with a sentence, or the net is a fabric or refused as one.
 */
/* Of the numbers, multiplied: nobody waits for a million nodes here. In two kinds they are exponents. */
#define MOST 3000
#define MOST_EXPONENTS 15

static bool too_large(const char *text)
{
	uint64_t all = 1, most = strstr(text, "ka") ? MOST_EXPONENTS : MOST;

	for (const char *at = text; *at;) {
		char *end = (char *)at + 1;
		uint64_t n = *at >= '0' && *at <= '9' ? strtoull(at, &end, 0) : 1;

		if (n > most || (n && (all *= n) > most))
			return true;
		at = end;
	}
	return false;
}

static void make_net(const struct osr_topo *topo, const struct osr_values *v, uint8_t how)
{
	struct osr_topo_style style = { .width = how & 1 ? 4 : 0,
					.speed = how & 1 ? OSR_SPEED_HDR : 0,
					.ports = how & 2 ? 36 : 0,
					.mgmt = how & 4,
					.enhanced_sp0 = how & 8 };
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };
	struct osr_fabric f;

	if (osr_topo_make(topo, v, &style, &net, &diag) ||
	    osr_net_fabric(&net, how >> 4 & 7, &arena, &f, &diag))
		insist(diag.text[0] != 0, topo->name, "refused without a sentence");
	osr_net_free(&net);
	osr_arena_free(&arena);
}

static void generate(char *text, uint8_t how)
{
	const struct osr_topo *topo;
	struct osr_diag diag = { "" };
	struct osr_values v;
	char *word, *rest, *value;
	uint8_t width, speed;

	word = strtok_r(text, " ", &rest);
	topo = word ? osr_topo_find(word) : NULL;
	if (!topo)
		return;
	osr_values_default(&v, topo->params);
	while ((word = strtok_r(NULL, " ", &rest))) {
		osr_speed_parse(word, strlen(word), &width, &speed);
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		if (osr_values_set(&v, topo->params, word, value ? value : "", &diag)) {
			insist(diag.text[0] != 0, topo->name, "refused without a sentence");
			return;
		}
	}
	make_net(topo, &v, how);
}

static void take_words(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 2)
		return;
	text = strndup((const char *)data + 2, size - 2);
	insist(text != NULL, "words", "no memory");
	if (!too_large(text))
		generate(text, data[1]);
	free(text);
}

/*
 * Whatever OpenSM's event_plugin_options (the first line of an input) and osmroutes.conf (the rest of it)
 * hold: options are in their ranges, and if there was a mistake, there is a sentence about it.
 */
static void in_range(const struct osr_values *v, const struct osr_param *table)
{
	for (unsigned row = 0; table && table[row].name; row++) {
		const struct osr_param *p = &table[row];
		unsigned n_words = 1;

		for (const char *w = p->words; w && *w; w++)
			n_words += *w == '|';
		if (p->type == OSR_PARAM_UINT)
			insist(v->num[row] >= p->min && v->num[row] <= p->max, p->name,
			       "out of range");
		else if (p->type == OSR_PARAM_ENUM)
			insist(v->num[row] < n_words, p->name, "no word of it");
		else if (p->type == OSR_PARAM_BOOL)
			insist(v->num[row] < 2, p->name, "neither true nor false");
		else
			insist(memchr(v->str[v->num[row]], 0, OSR_STRING_SIZE) != NULL, p->name,
			       "has no end");
	}
}

/* The path of a file that holds these bytes. */
static const char *file_of(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("input", 0);
	insist(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size, "memfd",
	       "cannot be written");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

static void take_options(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t n = end ? (size_t)(end - data) : size, rest = end ? size - n - 1 : 0;
	struct osr_options o;
	char *words;

	/* The last config= counts. */
	insist(asprintf(&words, "%.*s osmroutes.config=%s", (int)n, size ? (const char *)data : "",
			file_of(data + size - rest, rest)) > 0,
	       "options", "out of memory");
	insist(osr_options_load(&o, NULL, words), "options", "out of memory");
	insist(!o.n_errors || o.error[0].text[0], "options", "a mistake without a sentence");
	in_range(&o.own, osr_plugin_params);
	for (uint32_t e = 0; osr_engines[e]; e++)
		in_range(&o.engine[e], osr_engines[e]->params);
	osr_options_free(&o);
	free(words);
}

/*
 * Any bytes as an opensm.conf, partitions.conf or QoS policy: every string has an end within its array, and reading the
 * same bytes again gives the same.
 */
static void read_again(const char *path, struct osr_osmconf *osmconf)
{
	struct osr_diag diag = { "" };

	osr_osmconf_default(osmconf);
	insist(!osr_osmconf_read(path, osmconf, &diag), "osmconf",
	       "a file that is there is refused");
	insist(memchr(osmconf->routing_engine, 0, OSR_OSMCONF_LINE) != NULL, "routing_engine",
	       "has no end");
	insist(memchr(osmconf->plugin_name, 0, OSR_OSMCONF_LINE) != NULL, "plugin_name",
	       "has no end");
	insist(memchr(osmconf->plugin_options, 0, OSR_OSMCONF_LINE) != NULL, "plugin_options",
	       "has no end");
}

static void take_osmconf(const uint8_t *data, size_t size)
{
	static struct osr_osmconf first, second;
	const char *path = file_of(data, size);

	memset(&first, 1, sizeof(first));
	memset(&second, 2, sizeof(second));
	read_again(path, &first);
	read_again(path, &second);
	insist(!strcmp(first.routing_engine, second.routing_engine) &&
		       !strcmp(first.plugin_options, second.plugin_options) &&
		       first.qos == second.qos && first.multicast == second.multicast &&
		       first.max_op_vls == second.max_op_vls,
	       "osmconf", "two readings differ");
	osr_osmconf_lists(first.routing_engine, "dfsssp");
	first.qos = second.qos = true;
	snprintf(first.partitions, sizeof(first.partitions), "%s", path);
	second.partitions[0] = '\0';
	snprintf(second.qos_policy, sizeof(second.qos_policy), "%s", path);
	first.qos_policy[0] = '\0';
	insist(osr_osmconf_sls(&first) & osr_osmconf_sls(&second) & 1, "SLs", "SL 0 is missing");
}

static void take_lfts(const uint8_t *data, size_t size)
{
	take_tables(data, size, osr_tables_parse_lfts);
}

static void take_sl2vl(const uint8_t *data, size_t size)
{
	take_tables(data, size, osr_tables_parse_sl2vl);
}

static void take_paths(const uint8_t *data, size_t size)
{
	take_tables(data, size, osr_tables_parse_paths);
}

static void take_mcfdbs(const uint8_t *data, size_t size)
{
	take_tables(data, size, osr_tables_parse_groups);
}

static const struct {
	const char *name;
	void (*take)(const uint8_t *data, size_t size);
} readers[] = {
	{ "subnet", take_subnet },   { "lfts", take_lfts },       { "fdbs", take_lfts },
	{ "sl2vl", take_sl2vl },     { "paths", take_paths },     { "mcfdbs", take_mcfdbs },
	{ "lmcs", take_lmcs },       { "traffic", take_traffic }, { "hostlist", take_hostlist },
	{ "netfile", take_netfile }, { "words", take_words },     { "options", take_options },
	{ "osmconf", take_osmconf },
};

enum { N_READERS = sizeof(readers) / sizeof(readers[0]) };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *name = getenv("OSR_FUZZ_READER");
	unsigned i = 0;

	while (i < N_READERS && (!name || strcmp(readers[i].name, name)))
		i++;
	insist(i < N_READERS, "OSR_FUZZ_READER", "names no reader");
	readers[i].take(data, size);
	return 0;
}
