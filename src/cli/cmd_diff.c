/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two fabrics: which cables are missing, new or plugged in elsewhere. Or two generations of tables,
 * of one fabric or of a fabric before and after a failure: which entries differ, which pairs of
 * hosts have another path or SL, and whether the fabric can deadlock while some switches have the
 * old and others the new tables (union.h). Where the fabrics differ, the old tables are carried
 * into the new one first, without the parts that have gone.
 */
#include <osmroutes/each.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/verify/union.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/keep.h"
#include "cli/load.h"
#include "cli/netdiff.h"
#include "cli/source.h"
#include "cli/output.h"
#include "cli/verdicts.h"
#include "io/net.h"
#include "traffic/changes.h"

enum { OLD, NEW };

struct args {
	struct cli_run run;    /* in: the fabric of NEW */
	struct cli_input then; /* that of OLD */
	const char *path[2];   /* of the tables, or the fabrics */
	struct cli_tables tables[2];
	struct osr_generation gen[2]; /* both on the fabric of NEW */
	struct osr_carried carried;
	bool moved; /* the fabrics differ */
	bool must_be_same, one_way;
	int n_dirs;
};

struct outcome {
	struct osr_changes changes; /* of the old tables, where the new fabric has them */
	uint64_t n_pairs, n_path;   /* host port to host LID; with another path */
	uint64_t n_sl;
	uint64_t n_sl2vl, n_groups; /* tables and (group, switch) entries */
	uint64_t n_parents;         /* switches with another parent in the tree of multicast */
	struct cli_verdicts found[2];
	struct cli_net_changes net; /* where each has its fabric */
	double load[2];             /* of the busiest link, times the least possible */
	/* The loop of the transition: of packets between hosts, or of all. */
	struct osr_loop loop[2];
	struct cli_stamp time;
};

/* ---- differences ----------------------------------------------------------------------------- */

/* Ports of switch s that lead somewhere in the new fabric: its own, and those with a cable. */
static void find_ports(const struct osr_fabric *fabric, uint32_t s, bool leads[256])
{
	memset(leads, 0, 256);
	leads[0] = true;
	OSR_EACH_CHANNEL(c, fabric, s)
		leads[fabric->chan_port[c]] = true;
	OSR_EACH_TERMINAL(t, fabric, s)
		leads[fabric->term_port[t]] = true;
}

/*
 * Pairs of a host and the LID of another host that have another SL; and SL2VL tables, but for those
 * of ports that lead nowhere any more, which are not read from switches. If a generation has no
 * SL2VL tables of its own, VL = SL holds for the SLs in use alone, and the others are OpenSM's to
 * map.
 */
static void count_lanes(const struct args *args, struct outcome *outcome)
{
	const struct osr_fabric *fabric = &args->run.in.fabric;
	const struct osr_routing *old = args->gen[OLD].routing, *new = args->gen[NEW].routing;
	uint32_t sls = old->sl2vl && new->sl2vl ? 0xffff : 0;
	const bool any_sl[] = { !old->sl && !args->gen[OLD].paths,
				!new->sl && !args->gen[NEW].paths };
	bool leads[256];

	OSR_EACH_DEST(d, fabric)
		OSR_EVERY_TERMINAL(t, fabric) {
			uint8_t was = cli_gen_sl(&args->gen[OLD], fabric, t, d);
			uint8_t is = cli_gen_sl(&args->gen[NEW], fabric, t, d);

			if (!fabric->term_weight[t] || !fabric->term_weight[fabric->dest_term[d]] ||
			    t == fabric->dest_term[d])
				continue;
			outcome->n_pairs++;
			sls |= (was < 16 ? 1u << was : 0) | (is < 16 ? 1u << is : 0);
			outcome->n_sl += osr_lft(new, fabric->term_switch[t], d) != OSR_NO_PATH &&
					 was != is && !any_sl[OLD] && !any_sl[NEW];
		}
	OSR_EACH_SWITCH(s, fabric) {
		find_ports(fabric, s, leads);
		for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
			for (unsigned out = 1; out <= fabric->sw_n_ports[s]; out++) {
				const uint8_t *was = cli_gen_sl2vl(old, fabric, s, in, out);
				const uint8_t *is = cli_gen_sl2vl(new, fabric, s, in, out);
				bool differ = false;

				if (!leads[in] || !leads[out])
					continue;
				for (unsigned sl = 0; sl < 16; sl++)
					differ |= sls >> sl & 1 && was[sl] != is[sl];
				outcome->n_sl2vl += differ;
			}
	}
}

/* Neither has groups, and both have the tree along which OpenSM's groups will be laid. */
static bool has_trees(const struct args *args)
{
	return !args->gen[OLD].groups && !args->gen[NEW].groups &&
	       args->gen[OLD].routing->mcast_parent && args->gen[NEW].routing->mcast_parent;
}

/*
 * (group, switch) entries that differ; an entry that only one of them has counts if it is not
 * empty.
 */
static void count_groups(const struct args *args, struct outcome *outcome)
{
	static const struct osr_groups none;
	static const uint64_t nowhere[4];
	uint32_t n = args->run.in.fabric.n_switches;

	for (uint32_t s = 0; has_trees(args) && s < n; s++)
		outcome->n_parents += args->gen[OLD].routing->mcast_parent[s] !=
				      args->gen[NEW].routing->mcast_parent[s];
	for (unsigned g = OLD; g <= NEW; g++) {
		const struct osr_groups *own = args->gen[g].groups ? args->gen[g].groups : &none;
		const struct osr_groups *its =
			args->gen[1 - g].groups ? args->gen[1 - g].groups : &none;

		for (uint32_t i = 0; i < own->n; i++) {
			uint32_t k = 0;

			while (k < its->n && its->mlid[k] != own->mlid[i])
				k++;
			/* A group that both have is counted in the pass of the old tables alone. */
			for (uint32_t s = 0; s < n && (k == its->n || g == OLD); s++)
				outcome->n_groups +=
					memcmp(own->ports[(size_t)i * n + s],
					       k == its->n ? nowhere
							   : its->ports[(size_t)k * n + s],
					       sizeof(nowhere)) != 0;
		}
	}
}

/* ---- output ---------------------------------------------------------------------------------- */

static const struct out_field head_fields[] = { CLI_INPUT_FIELDS, { 0 } };

#define OF(member) OUT_OF(struct outcome, member)

enum { FABRIC_MOVED = 1, HAS_GROUPS = 2, HAS_TREES = 4 };

static const struct out_field diff_fields[] = {
	{ "old", NULL, OUT_TEXT },
	{ "new", NULL, OUT_TEXT },
	{ "lids_moved", "LIDs of other port GUIDs", OUT_COUNT, 0, OF(net.lids_moved),
	  FABRIC_MOVED },
	{ "ports_renamed", "end ports with another LID", OUT_COUNT, 0, OF(net.ports_renamed),
	  FABRIC_MOVED },
	{ "entries", "LFT entries", OUT_COUNT, 0, OF(changes.n_entries) },
	{ "entries_changed", "  changed", OUT_COUNT, 0, OF(changes.n_entries_changed) },
	{ "blocks_changed", "  in blocks of 64 LIDs", OUT_COUNT, 0, OF(changes.n_blocks) },
	{ "pairs", "pairs of host and LID", OUT_COUNT, 0, OF(n_pairs) },
	{ "pairs_path", "  with another path", OUT_COUNT, 0, OF(n_path) },
	{ "pairs_sl", "  with another SL", OUT_COUNT, 0, OF(n_sl) },
	{ "sl2vl_changed", "SL2VL tables changed", OUT_COUNT, 0, OF(n_sl2vl) },
	{ "groups_changed", "multicast entries changed", OUT_COUNT, 0, OF(n_groups), HAS_GROUPS },
	{ "parents_changed", "parents of multicast's tree changed", OUT_COUNT, 0, OF(n_parents),
	  HAS_TREES },
	{ "efi.old", "routes on the busiest link, the old", OUT_COUNT, 0,
	  OF(found[OLD].all.audit.efi) },
	{ "efi.new", "  the new", OUT_COUNT, 0, OF(found[NEW].all.audit.efi) },
	{ "load.old", "  times the least possible, the old", OUT_REAL, 3, OF(load[OLD]) },
	{ "load.new", "    the new", OUT_REAL, 3, OF(load[NEW]) },
	{ "verdict.old", "between hosts: verdict on the old", OUT_TEXT },
	{ "verdict.new", "  the new", OUT_TEXT },
	{ "deadlock_free.old", "  deadlock-free: the old", OUT_TEXT },
	{ "deadlock_free.new", "    the new", OUT_TEXT },
	{ "deadlock_free.between", "    during the transition", OUT_TEXT },
	{ "with_switches.verdict.old", "with switches: verdict on the old", OUT_TEXT },
	{ "with_switches.verdict.new", "  the new", OUT_TEXT },
	{ "with_switches.deadlock_free.old", "  deadlock-free: the old", OUT_TEXT },
	{ "with_switches.deadlock_free.new", "    the new", OUT_TEXT },
	{ "with_switches.deadlock_free.between", "    during the transition", OUT_TEXT },
	{ "check_ms.cpu", NULL, OUT_REAL, 1, OF(time.cpu) },
	{ 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "nodes", OUT_ROWS, cli_node_change_fields },
	{ "cables", OUT_ROWS, cli_cable_change_fields },
	{ "diff", OUT_ONE, diff_fields },
	{ "loop", OUT_ROWS, cli_loop_fields },
	{ 0 },
};

enum { HOSTS, ALL };

/* A loop on any SL need not be one on the SLs of path records, which are not known. */
static enum osr_answer transition_answer(const struct args *args, const struct outcome *outcome,
					 unsigned scope)
{
	if (outcome->found[NEW].changed)
		return OSR_UNKNOWN;
	if (!outcome->loop[scope].n)
		return OSR_PROVEN;
	return args->gen[OLD].sls_unknown || args->gen[NEW].sls_unknown ? OSR_UNKNOWN : OSR_REFUTED;
}

/* Fields of packets between hosts, or of all. */
static void say_scope(const struct args *args, const struct outcome *outcome, unsigned scope,
		      struct out *out)
{
	static const char *const whose[] = { "old", "new" };
	static const char *const prefix[] = { "", "with_switches." };
	static const char *const said[] = { "", "with packets to and from port 0 of switches, " };
	uint32_t asked = 1u << OSR_ASK_ONE_WAY | 1u << OSR_ASK_MULTICAST |
			 (args->one_way ? 0 : 1u << OSR_ASK_REPLIES);
	enum osr_answer transition = transition_answer(args, outcome, scope);
	char key[64];

	for (unsigned g = OLD; g <= NEW; g++) {
		const struct osr_findings *found =
			scope == ALL ? &outcome->found[g].all : &outcome->found[g].hosts;
		enum osr_question which, between_hosts;

		snprintf(key, sizeof(key), "%sverdict.%s", prefix[scope], whose[g]);
		out_text(out, key, osr_answer_name(osr_verdict_of(found, OSR_REQUIRED, &which)));
		osr_verdict_of(&outcome->found[g].hosts, OSR_REQUIRED, &between_hosts);
		if (which != OSR_N_QUESTIONS && (scope == HOSTS || which != between_hosts))
			out_note(out, "%sthe %s tables: %s", said[scope], whose[g],
				 found->on[which].why);
		snprintf(key, sizeof(key), "%sdeadlock_free.%s", prefix[scope], whose[g]);
		out_text(out, key, osr_answer_name(osr_verdict_of(found, asked, NULL)));
	}
	snprintf(key, sizeof(key), "%sdeadlock_free.between", prefix[scope]);
	out_text(out, key, osr_answer_name(transition));
	if (transition == OSR_UNKNOWN && !outcome->found[NEW].changed && scope == HOSTS)
		out_note(out, "no path SLs are given: on any SL there is a loop");
	if (transition == OSR_REFUTED && (scope == HOSTS || !outcome->loop[HOSTS].n))
		out_note(out,
			 "%scredit loop of %u channels while some switches have the old and "
			 "others the new tables; the plugin sends them in two rounds where that "
			 "has none",
			 said[scope], outcome->loop[scope].n);
}

static void diff_say(struct args *args, const struct outcome *outcome)
{
	bool has_groups = args->gen[OLD].groups || args->gen[NEW].groups;
	struct out *out = &args->run.out;

	OUT_ADD(out, "diff", cli_tables_lft(&args->tables[OLD]),
		cli_tables_lft(&args->tables[NEW]));
	out_members(out, diff_fields, outcome,
		    (args->moved ? FABRIC_MOVED : 0) | (has_groups ? HAS_GROUPS : 0) |
			    (has_trees(args) ? HAS_TREES : 0));
	if (!has_groups && !has_trees(args))
		out_note(out, "multicast tables are not compared: there are none");
	if (!args->one_way)
		out_note(out, "deadlock-free: with replies on the SL of their request");
	say_scope(args, outcome, HOSTS, out);
	say_scope(args, outcome, ALL, out);
	if (!outcome->found[NEW].changed)
		cli_loop_say(out, NULL, &args->run.in.fabric,
			     &outcome->loop[outcome->loop[HOSTS].n ? HOSTS : ALL]);
}

/* ---- the command line ----------------------------------------------------------------------- */

enum { OPT_LIVE = 256, OPT_NAMES };

static const struct cli_option options[] = {
	{ "fabric", "FILE", "the fabric (default: opensm-subnet.lst of NEW); LIDs as there",
	  CLI_TEXT(struct args, run.in.path) },
	{ "old-fabric", "FILE",
	  "the fabric of OLD (default: opensm-subnet.lst of OLD, or else that of NEW)",
	  CLI_TEXT(struct args, then.path) },
	{ "live", CLI_LIVE_ARG,
	  "no NEW: the fabric this machine is connected to and the tables in its switches",
	  .key = OPT_LIVE, .arg_optional = true },
	{ "names", "MAP", CLI_NAMES_DOC, .key = OPT_NAMES },
	{ "sl", "N", "all senders use this SL", CLI_NUMBER(struct args, run.who.how.sl, 0, 15) },
	{ "one-way", NULL, "replies need not be safe on the SL of their request",
	  CLI_FLAG(struct args, one_way) },
	{ "same", NULL, "exit code 1 if anything differs, too",
	  CLI_FLAG(struct args, must_be_same) },
	{ 0 },
};

static enum osr_status diff_parse(int key, const char *arg, void *args, const struct cli_line *line)
{
	struct args *a = args;

	switch (key) {
	case OPT_LIVE:
		return cli_take_live(&a->run.in, arg, line);
	case OPT_NAMES:
		a->run.in.names = a->then.names = arg;
		return OSR_OK;
	case CLI_ONE_WORD:
		if (a->n_dirs == 2)
			return osr_fail(line->diag, OSR_INVAL,
					"expected two fabrics or sets of tables, OLD and NEW");
		a->path[a->n_dirs++] = arg;
		return OSR_OK;
	case CLI_ALL_WORDS:
		if (a->run.in.is_live && a->run.in.path)
			return osr_fail(line->diag, OSR_INVAL, "either --fabric or --live");
		if (a->n_dirs < (a->run.in.is_live ? 1 : 2))
			return osr_fail(line->diag, OSR_INVAL,
					"missing tables: OLD and NEW, directories of dumps or "
					"files of route --save; or OLD and --live");
		if (a->run.in.is_live && a->n_dirs == 1)
			a->path[NEW] = "live";
		return OSR_OK;
	default:
		return OSR_NOT_APPLICABLE;
	}
}

/* Has the directory an opensm-subnet.lst, or the file its fabric? */
static bool has_fabric(const char *from)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/opensm-subnet.lst", from);
	return !access(path, F_OK) || cli_kept_probe(from);
}

/*
 * --fabric alone is the fabric of both; otherwise OLD has its own, if there is one in its
 * directory.
 */
static enum osr_status load_fabrics(struct args *args, struct osr_diag *diag)
{
	bool both = args->then.path || (!args->run.in.path && has_fabric(args->path[OLD]));
	enum osr_status st;

	if (!args->run.in.is_live && !args->run.in.path && !has_fabric(args->path[NEW]))
		return osr_fail(diag, OSR_INVAL,
				"%s: no fabric: expected an opensm-subnet.lst in there, a file of "
				"--live --save, or --fabric=FILE",
				args->path[NEW]);
	if (!args->run.in.is_live && !args->run.in.path)
		args->run.in.path = args->path[NEW];
	if (both && !args->then.path)
		args->then.path = args->path[OLD];
	cli_tables_prepare(args->path[NEW], &args->run.in);
	cli_tables_prepare(args->path[OLD], both ? &args->then : &args->run.in);
	st = cli_input_load(&args->run.in, diag);
	if (!st && both)
		st = cli_input_load(&args->then, diag);
	if (!st && both)
		args->moved = !osr_fabric_equal(&args->then.fabric, &args->run.in.fabric);
	return st;
}

static enum osr_status diff_load(struct args *args)
{
	struct osr_diag *diag = &args->run.diag;
	const struct cli_reading *how = &args->run.who.how;
	enum osr_status st = load_fabrics(args, diag);

	if (!st)
		st = cli_tables_read(how, args->path[NEW], &args->run.in, &args->tables[NEW], diag);
	if (!st)
		st = cli_tables_read(how, args->path[OLD],
				     args->moved ? &args->then : &args->run.in, &args->tables[OLD],
				     diag);
	if (st)
		return st;
	args->gen[OLD] = args->tables[OLD].gen;
	args->gen[NEW] = args->tables[NEW].gen;
	if (!args->moved)
		return OSR_OK;
	st = osr_union_carry(&args->then.fabric, &args->tables[OLD].gen, &args->run.in.fabric,
			     &args->run.result, &args->carried, diag);
	args->gen[OLD] = args->carried.gen;
	return st;
}

static enum osr_status diff_tables(struct args *args)
{
	const struct osr_fabric *fabric = &args->run.in.fabric;
	struct osr_arena *scratch = &args->run.scratch, *result = &args->run.result;
	struct osr_diag *diag = &args->run.diag;
	struct outcome outcome = { 0 };
	struct cli_bounds bounds = { 0 };
	uint32_t modes = OSR_CLAIM_MULTICAST | (args->one_way ? 0 : OSR_CLAIM_REVERSIBLE);
	enum osr_status st = diff_load(args);
	struct cli_stamp start = cli_now();
	bool differ;

	if (st)
		return st;
	count_lanes(args, &outcome);
	count_groups(args, &outcome);
	st = osr_changes(fabric, args->gen[OLD].routing, fabric, args->gen[NEW].routing, scratch,
			 &outcome.changes, diag);
	outcome.n_path = outcome.changes.n_path + outcome.changes.n_lost + outcome.changes.n_found;
	/* Each on its own fabric, the transition on the common part. */
	for (unsigned g = OLD; g <= NEW && !st; g++) {
		const struct osr_inquiry ask = {
			.fabric = g == OLD && args->moved ? &args->then.fabric : fabric,
			.gen = &args->tables[g].gen,
			.questions = OSR_REQUIRED | 1u << OSR_ASK_REPLIES,
		};

		st = cli_verify(&ask, scratch, result, &outcome.found[g], diag);
		if (!st)
			st = cli_bounds_of(ask.fabric, scratch, &bounds, diag);
		outcome.load[g] = NAN;
		if (bounds.first > 0 && !outcome.found[g].all.audit.n_lost)
			outcome.load[g] =
				outcome.found[g].all.audit.efi_per_capacity / bounds.first;
	}
	/* An answer for all packets holds for packets between hosts. */
	if (!st)
		st = osr_union_loop(fabric, args->gen, 2, modes, scratch, result,
				    &outcome.loop[ALL], NULL, diag);
	if (!st && outcome.loop[ALL].n)
		st = osr_union_loop(fabric, args->gen, 2, modes | OSR_ONLY_HOSTS, scratch, result,
				    &outcome.loop[HOSTS], NULL, diag);
	if (!st && (cli_is_refuted(&outcome.found[NEW], OSR_REQUIRED) ||
		    transition_answer(args, &outcome, HOSTS) == OSR_REFUTED))
		st = cli_verdicts_confirm(&outcome.found[NEW], &args->tables[NEW], &args->run.in,
					  diag);
	outcome.time = cli_since(start);
	if (st)
		return st;
	cli_run_say(&args->run, false);
	if (args->moved)
		st = cli_net_diff(&args->then.net, &args->run.in.net, &args->run.out, &outcome.net,
				  diag);
	if (st)
		return st;
	diff_say(args, &outcome);
	differ = outcome.changes.n_entries_changed || outcome.n_sl || outcome.n_sl2vl ||
		 outcome.n_groups || outcome.net.n;
	if ((args->must_be_same && differ) ||
	    transition_answer(args, &outcome, HOSTS) == OSR_REFUTED ||
	    osr_verdict_of(&outcome.found[NEW].hosts, OSR_REQUIRED, NULL) == OSR_REFUTED)
		args->run.code = CLI_BAD;
	return OSR_OK;
}

/* ---- two fabrics ---------------------------------------------------------------------------- */

/* A file without stored tables is a fabric. */
static bool is_fabric(const char *path)
{
	struct stat st;

	return !strcmp(path, "-") ||
	       (!stat(path, &st) && !S_ISDIR(st.st_mode) && !cli_stored_probe(path));
}

static enum osr_status diff_fabrics(struct args *args)
{
	struct osr_diag *diag = &args->run.diag;
	struct cli_net_changes net_changes;
	enum osr_status st;

	args->then.path = args->path[OLD];
	if (!args->run.in.is_live)
		args->run.in.path = args->path[NEW];
	st = cli_input_load(&args->then, diag);
	if (!st)
		st = cli_input_load(&args->run.in, diag);
	if (st)
		return st;
	cli_run_say(&args->run, false);
	st = cli_net_diff(&args->then.net, &args->run.in.net, &args->run.out, &net_changes, diag);
	if (!st && !net_changes.n)
		out_note(&args->run.out, "every node and cable of %s is where it was",
			 cli_input_name(&args->then));
	args->run.code = args->must_be_same && net_changes.n ? CLI_BAD : CLI_OK;
	return st;
}

/* Two names of one file or directory: mostly a slip. */
static bool is_one(const char *old, const char *new)
{
	struct stat x, y;

	return !stat(old, &x) && !stat(new, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static enum osr_status diff_work(void *args)
{
	struct args *a = args;
	bool fabrics = is_fabric(a->path[OLD]);
	bool alike = a->run.in.is_live || is_fabric(a->path[NEW]) == fabrics;
	enum osr_status st = OSR_OK;

	for (unsigned g = OLD; g <= NEW && !st; g++)
		if (strcmp(a->path[g], "-") && !(g == NEW && a->run.in.is_live) &&
		    access(a->path[g], F_OK))
			st = osr_fail(&a->run.diag, OSR_INVAL, "%.300s: %s", a->path[g],
				      strerror(errno));
	if (!st && !alike)
		st = osr_fail(&a->run.diag, OSR_INVAL, "%.300s is a fabric, %.300s holds tables",
			      a->path[fabrics ? OLD : NEW], a->path[fabrics ? NEW : OLD]);
	if (!st)
		st = fabrics ? diff_fabrics(a) : diff_tables(a);
	if (!st && is_one(a->path[OLD], a->path[NEW]))
		out_note(&a->run.out, "OLD and NEW are one: %.300s", a->path[OLD]);
	for (unsigned g = OLD; g <= NEW; g++)
		cli_tables_free(&a->tables[g]);
	cli_input_free(&a->then);
	return st;
}

const struct cli_command cli_diff = {
	"diff",
	"compare two fabrics, or two sets of tables and the transition",
	CLI_LOOK,
	{ options, diff_parse, "OLD NEW",
	  "Compares two fabrics (ibnetdiscover or net files): cables that are missing, new or "
	  "moved. Or compares two sets of tables (directories of dumps, or files of route "
	  "--save) of one fabric, or of the same fabric before and after a change: entries, "
	  "paths and SLs that differ, and whether the transition from old to new can "
	  "deadlock." },
	sections,
	CLI_ARGS(.run = { CLI_RUN_VERDICT }, .then = CLI_INPUT_INIT),
	.work = diff_work
};
