/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Readers of files and of words. OSR_FUZZ_READER in the environment says which of them reads the
 * input. What a reader of a file refuses, it refuses with a sentence that names file and line.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "conf/options.h"
#include "conf/osmconf.h"
#include "io/endports.h"
#include "io/namemap.h"
#include "io/netfile.h"
#include "io/speed.h"
#include "io/tables.h"
#include "io/trafficfile.h"
#include "topo/topo.h"

/* What an opensm-subnet.lst holds is a net, which is a fabric or refused as one. */
static enum osr_status take_subnet(struct osr_lines *in, struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	struct osr_fabric fabric;
	struct osr_net net;
	enum osr_status st = osr_subnetfile_read(in, &net);

	if (!st && osr_net_fabric(&net, -1, &arena, &fabric, diag))
		insist(diag->text[0], "subnet file", "refused without a sentence");
	osr_net_free(&net);
	osr_arena_free(&arena);
	return st;
}

/* A file of tables becomes tables that the auditor and the search for credit loops can judge. */
static enum osr_status take_tables(struct osr_lines *in, struct osr_diag *diag,
				   osr_tables_parse_fn *parse)
{
	struct osr_arena arena = { 0 };
	struct osr_tables tables;
	enum osr_status st;
	bool same_ca;

	insist(!osr_tables_init(&tables, fuzz_ring(), NULL, &arena, diag), "init", diag->text);
	st = osr_tables_read(&tables, in, parse);
	if (!st)
		st = osr_tables_finish(&tables, &same_ca, diag);
	if (!st)
		fuzz_judge(&tables);
	osr_tables_free(&tables);
	osr_arena_free(&arena);
	return st;
}

/* The LMCs taken out of an opensm-lfts.dump are such that LIDs may have. */
static enum osr_status take_lmcs(struct osr_lines *in, struct osr_diag *diag)
{
	struct osr_net net = { 0 };
	enum osr_status st;

	for (uint32_t i = 0; i < 3; i++) {
		uint32_t port = osr_net_port(&net, osr_net_node(&net, OSR_NET_CA, 1, "h"), 1);

		insist(port != OSR_NONE, "net", "out of memory");
		net.ports[port].guid = 0x11 + i;
		net.ports[port].lid = (uint16_t)(4 << i);
	}
	st = osr_tables_lmcs(in, &net);
	for (uint32_t p = 0; p < net.n_ports; p++)
		insist(net.ports[p].lmc <= 7 &&
			       !(net.ports[p].lid & ((1u << net.ports[p].lmc) - 1)),
		       "LMC", "one that its LID cannot have");
	osr_net_free(&net);
	return st;
}

/*
 * All pairs of a traffic file are different ranks that there are, and all its hosts are end ports
 * of the fabric, if any.
 */
static enum osr_status read_traffic(struct osr_lines *in, struct osr_endports *endports)
{
	struct osr_traffic traffic;
	const struct osr_phases *phases = &traffic.phases;
	enum osr_status st = osr_traffic_read(in, endports, &traffic);

	insist(st || (phases->n_phases && phases->row[0] == 0 && phases->row[phases->n_phases]),
	       "traffic", "without a pair");
	for (uint32_t i = 0; !st && i < phases->n_phases; i++)
		insist(phases->row[i] <= phases->row[i + 1], "traffic",
		       "a phase that ends before it begins");
	for (uint32_t i = 0; !st && i < phases->row[phases->n_phases]; i++)
		insist(phases->pair[i].from < phases->n_ranks &&
			       phases->pair[i].to < phases->n_ranks &&
			       phases->pair[i].from != phases->pair[i].to,
		       "traffic", "a pair of nobody");
	for (uint32_t i = 0; !st && traffic.hosts && i < phases->n_ranks; i++)
		insist(traffic.hosts[i] < fuzz_ring()->n_terminals, "traffic",
		       "a host that is not there");
	osr_traffic_free(&traffic);
	return st;
}

static enum osr_status take_traffic(struct osr_lines *in, struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	struct osr_endports endports;
	enum osr_status st;

	insist(!osr_endports_init(&endports, fuzz_ring(), &arena, diag), "end ports", diag->text);
	st = read_traffic(in, &endports);
	osr_arena_free(&arena);
	return st;
}

/* Where only ranks are allowed. */
static enum osr_status take_ranks(struct osr_lines *in, struct osr_diag *diag)
{
	return read_traffic(in, NULL);
}

/* All of a list of hosts are different end ports of CAs. */
static enum osr_status take_hostlist(struct osr_lines *in, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = fuzz_ring();
	struct osr_arena arena = { 0 };
	bool seen[6] = { false };
	struct osr_endports endports;
	uint32_t hosts[6], n;
	enum osr_status st;

	insist(fabric->n_terminals == 6, "ring", "has six end ports");
	insist(!osr_endports_init(&endports, fabric, &arena, diag), "end ports", diag->text);
	st = osr_hostlist_read(in, &endports, hosts, &n);
	for (uint32_t i = 0; !st && i < n; i++) {
		insist(hosts[i] < 6 && !seen[hosts[i]] &&
			       fabric->term_role[hosts[i]] != OSR_ROLE_SP0,
		       "hosts", "one twice, or none");
		seen[hosts[i]] = true;
	}
	osr_arena_free(&arena);
	return st;
}

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
			       p->lmc == q->lmc && p->vls == q->vls,
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

/* A name map names some of three nodes, so that a net file can say it. */
static enum osr_status take_namemap(struct osr_lines *in, struct osr_diag *diag)
{
	struct osr_net net = { 0 };
	uint32_t n_names, n_known;
	enum osr_status st;

	for (uint64_t guid = 1; guid < 4; guid++)
		insist(osr_net_found(&net, OSR_NET_SWITCH, 4, guid, "s", 1) != OSR_NONE, "net",
		       "out of memory");
	st = osr_namemap_read(in, &net, &n_names, &n_known);
	insist(st || n_known <= n_names, "name map", "knows more than it has");
	if (!st)
		write_and_read(&net);
	osr_net_free(&net);
	return st;
}

/*
 * What a net file holds can be written, read again with the same result, and turned into a fabric
 * or refused as one.
 */
static enum osr_status take_netfile(struct osr_lines *in, struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	struct osr_net net;
	struct osr_fabric fabric;
	enum osr_status st = osr_netfile_read(in, &net);

	if (st)
		return st;
	write_and_read(&net);
	if (osr_net_fabric(&net, -1, &arena, &fabric, diag))
		insist(diag->text[0] != 0, "net file", "refused without a sentence");
	else
		insist(fabric.n_switches == osr_net_count(&net).switches, "net file",
		       "lost switches");
	osr_arena_free(&arena);
	osr_net_free(&net);
	return OSR_OK;
}

/*
 * What `osmroutes generate` takes, KIND NAME=VALUE..., behind a byte that does not count and one
 * that is the style. Refused with a sentence, or the net is a fabric or refused as one.
 */
/*
 * Of the numbers, multiplied: nobody waits for a million nodes here. In two kinds they are
 * exponents.
 */
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

static void generate(char *text, uint8_t how)
{
	const struct osr_topo_style style = { .width = how & 1 ? 4 : 0,
					      .speed = how & 1 ? OSR_SPEED_HDR : 0,
					      .ports = how & 2 ? 36 : 0,
					      .mgmt = how & 4,
					      .enhanced_sp0 = how & 8 };
	struct osr_arena arena = { 0 };
	const struct osr_topo *topo;
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };
	struct osr_values values;
	struct osr_fabric fabric;
	char *word, *rest, *value;
	uint8_t width, speed;

	word = strtok_r(text, " ", &rest);
	topo = word ? osr_topo_find(word) : NULL;
	if (!topo)
		return;
	osr_values_default(&values, topo->params);
	while ((word = strtok_r(NULL, " ", &rest))) {
		osr_speed_parse(word, strlen(word), &width, &speed);
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		if (osr_values_set(&values, topo->params, word, value ? value : "", &diag)) {
			insist(diag.text[0] != 0, topo->name, "refused without a sentence");
			return;
		}
	}
	if (osr_topo_make(topo, &values, &style, &net, &diag) ||
	    osr_net_fabric(&net, how >> 4 & 7, &arena, &fabric, &diag))
		insist(diag.text[0] != 0, topo->name, "refused without a sentence");
	osr_net_free(&net);
	osr_arena_free(&arena);
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
 * Whatever OpenSM's event_plugin_options (the first line of an input) and osmroutes.conf (the rest
 * of it) hold: options are in their ranges, and if there was a mistake, there is a sentence about
 * it.
 */
static void in_range(const struct osr_values *values, const struct osr_param *table)
{
	for (unsigned row = 0; table && table[row].name; row++) {
		const struct osr_param *param = &table[row];
		unsigned n_words = 1;

		for (const char *w = param->words; w && *w; w++)
			n_words += *w == '|';
		if (param->type == OSR_PARAM_UINT)
			insist(values->num[row] >= param->min && values->num[row] <= param->max,
			       param->name, "out of range");
		else if (param->type == OSR_PARAM_ENUM)
			insist(values->num[row] < n_words, param->name, "no word of it");
		else if (param->type == OSR_PARAM_BOOL)
			insist(values->num[row] < 2, param->name, "neither true nor false");
		else
			insist(memchr(values->str[values->num[row]], 0, OSR_STRING_SIZE) != NULL,
			       param->name, "has no end");
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
	struct osr_options options;
	char *words;

	/* The last config= counts. */
	insist(asprintf(&words, "%.*s osmroutes.config=%s", (int)n, size ? (const char *)data : "",
			file_of(data + size - rest, rest)) > 0,
	       "options", "out of memory");
	insist(osr_options_load(&options, NULL, words), "options", "out of memory");
	insist(!options.n_errors || options.error[0].text[0], "options",
	       "a mistake without a sentence");
	in_range(&options.own, osr_plugin_params);
	for (uint32_t e = 0; osr_engines[e]; e++)
		in_range(&options.engine[e], osr_engines[e]->params);
	osr_options_free(&options);
	free(words);
}

/*
 * Any bytes as an opensm.conf, partitions.conf or QoS policy: every string has an end within its
 * array, and reading the same bytes again gives the same.
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

/* One of the three. */
static const struct reader {
	const char *name;
	enum osr_status (*text)(struct osr_lines *in, struct osr_diag *diag);
	osr_tables_parse_fn *tables;
	void (*bytes)(const uint8_t *data, size_t size);
} readers[] = {
	{ "subnet", .text = take_subnet },
	{ "lfts", .tables = osr_tables_parse_lfts },
	{ "fdbs", .tables = osr_tables_parse_lfts },
	{ "sl2vl", .tables = osr_tables_parse_sl2vl },
	{ "paths", .tables = osr_tables_parse_paths },
	{ "mcfdbs", .tables = osr_tables_parse_groups },
	{ "lmcs", .text = take_lmcs },
	{ "traffic", .text = take_traffic },
	{ "traffic", .text = take_ranks },
	{ "hostlist", .text = take_hostlist },
	{ "netfile", .text = take_netfile },
	{ "namemap", .text = take_namemap },
	{ "words", .bytes = take_words },
	{ "options", .bytes = take_options },
	{ "osmconf", .bytes = take_osmconf },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *name = getenv("OSR_FUZZ_READER");
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		const struct reader *reader = &readers[i];
		struct osr_diag diag = { "" };
		struct osr_lines in;
		enum osr_status st;

		if (!name || strcmp(reader->name, name))
			continue;
		n++;
		if (reader->bytes) {
			reader->bytes(data, size);
			continue;
		}
		osr_lines_text(&in, (const char *)data, size, "input", &diag);
		st = reader->tables ? take_tables(&in, &diag, reader->tables)
				    : reader->text(&in, &diag);
		insist(!st || !strncmp(diag.text, "input:", 6), "refused without a place",
		       diag.text);
		osr_lines_close(&in);
	}
	insist(n > 0, "OSR_FUZZ_READER", "names no reader");
	return 0;
}
