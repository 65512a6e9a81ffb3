/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Readers of files, but for net files. Each has a target of its own, built with its name as READER.
 */
#include "fuzz.h"

#include "core/verify/audit.h"
#include "io/endports.h"
#include "io/netfile.h"
#include "io/tables.h"
#include "io/trafficfile.h"

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

	insist(!osr_lines_text(&in, (const char *)data, size, "input", &diag), "lines", diag.text);
	st = osr_subnetfile_parse(&in, &net, &diag);
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
static void take_tables(const uint8_t *data, size_t size,
			enum osr_status (*parse)(struct osr_tables *, struct osr_lines *,
						 struct osr_diag *))
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_lines in;
	struct osr_tables t;
	enum osr_status st;
	bool same_ca;

	insist(!osr_lines_text(&in, (const char *)data, size, "input", &diag), "lines", diag.text);
	insist(!osr_tables_init(&t, fuzz_ring(), NULL, &arena, &diag), "init", diag.text);
	st = parse(&t, &in, &diag);
	if (!st)
		st = osr_tables_finish(&t, &same_ca, &diag);
	insist(!st || !strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
	if (!st)
		judge_tables(&t);
	osr_tables_free(&t);
	osr_arena_free(&arena);
	osr_lines_close(&in);
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
		uint32_t port = osr_net_port(&net, osr_net_ca(&net, 1, "h"), 1);

		insist(port != OSR_NONE, "net", "out of memory");
		net.ports[port].guid = 0x11 + i;
		net.ports[port].lid = (uint16_t)(4 << i);
	}
	insist(!osr_lines_text(&in, (const char *)data, size, "input", &diag), "lines", diag.text);
	if (osr_tables_lmcs(&in, &net, &diag))
		insist(!strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
	for (uint32_t p = 0; p < net.n_ports; p++)
		insist(net.ports[p].lmc <= 7 &&
			       !(net.ports[p].lid & ((1u << net.ports[p].lmc) - 1)),
		       "LMC", "one that its LID cannot have");
	osr_lines_close(&in);
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

	insist(!osr_endports_init(&x, fuzz_ring(), &arena, &diag), "end ports", diag.text);
	/* Even without end ports, as where only ranks are allowed. */
	for (int i = 0; i < 2; i++) {
		if (osr_traffic_parse((const char *)data, size, "input", i ? NULL : &x, &t, &diag))
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

	insist(f->n_terminals == 6, "ring", "has six end ports");
	insist(!osr_endports_init(&x, f, &arena, &diag), "end ports", diag.text);
	if (osr_hostlist_parse((const char *)data, size, "input", &x, hosts, &n, &diag)) {
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
	{ "subnet", take_subnet }, { "lfts", take_lfts },       { "fdbs", take_lfts },
	{ "sl2vl", take_sl2vl },   { "paths", take_paths },     { "mcfdbs", take_mcfdbs },
	{ "lmcs", take_lmcs },     { "traffic", take_traffic }, { "hostlist", take_hostlist },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned i = 0;

	while (strcmp(readers[i].name, READER))
		i++;
	readers[i].take(data, size);
	return 0;
}
