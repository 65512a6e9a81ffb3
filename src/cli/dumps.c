/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/dumps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

enum { OPT_TABLES = 0x3000, OPT_LFT, OPT_SL2VL, OPT_PATHS, OPT_GROUPS, OPT_SL, OPT_MCAST_SL, OPT_SA };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Tables:", 5 },
	{ "tables", OPT_TABLES, "DIR|FILE", 0,
	  "all that is there of opensm-lfts.dump (or opensm.fdbs), opensm-sl2vl.dump, "
	  "opensm-path-sl.dump, opensm.mcfdbs; or a table file of ours",
	  0 },
	{ "lft", OPT_LFT, "FILE", 0,
	  "forwarding tables: opensm-lfts.dump, opensm.fdbs, dump_lfts, a table file", 0 },
	{ "sl2vl", OPT_SL2VL, "FILE", 0, "SL2VL tables: opensm-sl2vl.dump, or ibdmchk's", 0 },
	{ "path-sl", OPT_PATHS, "FILE", 0, "SLs of paths: opensm-path-sl.dump, or ibdmchk's psl",
	  0 },
	{ "mcast", OPT_GROUPS, "FILE", 0, "multicast tables: opensm.mcfdbs", 0 },
	{ "sl", OPT_SL, "N", 0, "all senders use this SL (default: as --path-sl says)",
	  0 },
	{ "mcast-sl", OPT_MCAST_SL, "N", 0, "SL of multicast (default 0)", 0 },
	{ "sa", OPT_SA, "WORD", 0,
	  "with --live, ask the subnet administrator for the SLs of all pairs (default), of one host "
	  "for each switch, or not at all: pairs, switches, none",
	  0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static enum cli_sa take_sa(const char *word, struct argp_state *state)
{
	if (!strcmp(word, "pairs"))
		return CLI_SA_PAIRS;
	if (!strcmp(word, "switches"))
		return CLI_SA_SWITCHES;
	if (strcmp(word, "none") != 0)
		argp_error(state, "sa \"%s\": expected pairs, switches or none", word);
	return CLI_SA_NONE;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cli_dumps *c = state->input;

	switch (key) {
	case OPT_TABLES:
		c->dir = arg;
		return 0;
	case OPT_LFT:
		c->lft = arg;
		return 0;
	case OPT_SL2VL:
		c->sl2vl = arg;
		return 0;
	case OPT_PATHS:
		c->paths = arg;
		return 0;
	case OPT_GROUPS:
		c->groups = arg;
		return 0;
	case OPT_SL:
		c->sl = (int)cli_take_number(arg, "sl", 0, 15, state);
		return 0;
	case OPT_SA:
		c->sa = take_sa(arg, state);
		return 0;
	case OPT_MCAST_SL:
		c->mcast_sl = (int)cli_take_number(arg, "mcast-sl", 0, 15, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp dumps_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The name of a file in the directory if it is there and holds something, in *found. */
static const char *look_for(const char *dir, const char *name, char **found)
{
	struct stat st;

	free(*found);
	if (asprintf(found, "%s/%s", dir, name) < 0)
		*found = NULL;
	if (*found && !stat(*found, &st) && st.st_size > 0)
		return *found;
	return NULL;
}

/* Files named one by one come before those of the directory. */
static void look_around(struct cli_dumps *c)
{
	if (!c->lft)
		c->lft = look_for(c->dir, "opensm-lfts.dump", &c->found[0]);
	if (!c->lft)
		c->lft = look_for(c->dir, "opensm.fdbs", &c->found[0]);
	if (!c->sl2vl)
		c->sl2vl = look_for(c->dir, "opensm-sl2vl.dump", &c->found[1]);
	if (!c->paths && c->sl < 0)
		c->paths = look_for(c->dir, "opensm-path-sl.dump", &c->found[2]);
	if (!c->groups)
		c->groups = look_for(c->dir, "opensm.mcfdbs", &c->found[3]);
}

void cli_dumps_find(struct cli_dumps *c, struct cli_input *in)
{
	struct stat st;

	if (c->dir && is_directory(c->dir))
		look_around(c);
	else if (c->dir && !c->lft)
		c->lft = c->dir;
	/* A pipe can be read but once. */
	if (in && c->lft && !stat(c->lft, &st) && S_ISREG(st.st_mode) && !osr_tablefile_probe(c->lft))
		in->lfts = c->lft;
}

void cli_dumps_live(struct cli_dumps *c, struct cli_input *in)
{
	c->is_live = true;
	in->live.ask = (struct osr_live_ask){ .lft = true,
					      .sl2vl = !c->sl2vl,
					      .n_mlids = c->groups ? 0 : UINT32_MAX };
}

enum osr_status cli_dumps_from_input(struct cli_dumps *c, struct cli_input *in,
				     struct osr_diag *diag)
{
	if (in->is_live && !c->dir && !c->lft)
		cli_dumps_live(c, in);
	if (!in->path || !is_directory(in->path)) {
		cli_dumps_find(c, in);
		return OSR_OK;
	}
	if (!c->dir)
		c->dir = in->path;
	if (asprintf(&in->owned, "%s/opensm-subnet.lst", in->path) < 0)
		return osr_fail(diag, OSR_NOMEM, "%s: out of memory", in->path);
	in->path = in->owned;
	cli_dumps_find(c, in);
	return OSR_OK;
}

static enum osr_status take_file(struct cli_dumps *c, struct osr_diag *diag)
{
	struct osr_routing r;
	enum osr_status st = osr_tablefile_open(c->lft, c->t.f, &c->file, &r, diag);

	c->t.bytes += c->file.size;
	return st ? st : osr_tables_take(&c->t, &r, diag);
}

/* Files that are named come before what is read from the switches. */
static enum osr_status read_all(struct cli_dumps *c, struct cli_live *live, struct osr_diag *diag)
{
	enum cli_sa sa = c->paths || c->sl >= 0 ? CLI_SA_NONE : c->sa;
	enum osr_status st;

	if (c->is_live)
		st = cli_live_tables(live, sa, &c->t, diag);
	else if (osr_tablefile_probe(c->lft))
		st = take_file(c, diag);
	else
		st = osr_tables_read_lfts(&c->t, c->lft, diag);

	if (!st && c->sl2vl)
		st = osr_tables_read_sl2vl(&c->t, c->sl2vl, diag);
	if (!st && c->paths)
		st = osr_tables_read_paths(&c->t, c->paths, diag);
	if (!st && c->sl >= 0)
		st = osr_tables_one_sl(&c->t, (uint8_t)c->sl, diag);
	if (!st && c->groups)
		st = osr_tables_read_groups(&c->t, c->groups, diag);
	c->t.groups.sl = (uint8_t)c->mcast_sl;
	return st ? st : osr_tables_finish(&c->t, &c->same_ca, diag);
}

enum osr_status cli_dumps_load(struct cli_dumps *c, struct cli_input *in, struct osr_diag *diag)
{
	return cli_dumps_read(c, &in->fabric, &in->net, &in->live, diag);
}

enum osr_status cli_dumps_read(struct cli_dumps *c, const struct osr_fabric *f,
			       const struct osr_net *net, struct cli_live *live,
			       struct osr_diag *diag)
{
	struct cli_stamp start = cli_now();
	enum osr_status st;

	if (!c->lft && !c->is_live)
		return osr_fail(
			diag, OSR_INVAL,
			"%s%sno forwarding tables: expected opensm-lfts.dump or opensm.fdbs in "
			"--tables=DIR, --lft=FILE, or --live",
			c->dir ? c->dir : "", c->dir ? ": " : "");
	st = osr_tables_init(&c->t, f, net, &c->arena, diag);
	if (!st)
		st = read_all(c, live, diag);
	c->gen = osr_tables_generation(&c->t);
	c->gen.sls_unknown = !c->t.taken && !c->gen.paths && !c->gen.routing->sl;
	start = cli_since(start);
	c->read_cpu = start.cpu;
	c->read_wall = start.wall;
	return st;
}

void cli_dumps_free(struct cli_dumps *c)
{
	osr_tables_free(&c->t);
	osr_tablefile_close(&c->file);
	osr_arena_free(&c->arena);
	for (unsigned i = 0; i < 4; i++)
		free(c->found[i]);
}

/* Where something came from: a file, or else the switches or the table file. */
static const char *source(const struct cli_dumps *c, const char *file, bool there, const char *none)
{
	if (file)
		return file;
	if (!there)
		return none;
	return c->is_live ? "the switches" : c->lft;
}

static const char *sl_source(const struct cli_dumps *c)
{
	if (c->sl >= 0)
		return "all on one SL";
	if (c->is_live && !c->paths && c->t.paths.n_rows)
		return "the subnet administrator";
	return source(c, c->paths, c->t.taken && c->t.routing.sl,
		      c->gen.sls_unknown ? "not given" : "any SL");
}

void cli_dumps_say(const struct cli_dumps *c, struct out *o)
{
	const char *lft = source(c, c->is_live ? NULL : c->lft, true, NULL);
	char foreign[64] = "", read[64] = "";

	if (c->t.n_foreign)
		snprintf(foreign, sizeof(foreign), ", %llu for LIDs that nobody has",
			 (unsigned long long)c->t.n_foreign);
	if (c->t.bytes)
		snprintf(read, sizeof(read), "; read %.1f MB at %.0f MB/s", (double)c->t.bytes / 1e6,
			 c->read_wall > 0 ? (double)c->t.bytes / 1e3 / c->read_wall : 0);
	out_head(o, "%s: %llu entries%s; SL2VL: %s; SLs: %s; multicast: %s%s", lft,
		 (unsigned long long)c->t.n_entries, foreign,
		 source(c, c->sl2vl, c->t.routing.sl2vl, "VL = SL"), sl_source(c),
		 source(c, c->groups, c->t.groups.n || c->t.routing.mcast_parent, "none"), read);
	out_text(o, "tables.lfts", lft);
	out_text(o, "tables.sl2vl", source(c, c->sl2vl, c->t.routing.sl2vl, NULL));
	if (c->sl < 0 && (c->t.paths.n_rows || c->t.routing.sl))
		out_text(o, "tables.path_sls", sl_source(c));
	out_text(o, "tables.groups",
		 source(c, c->groups, c->t.groups.n || c->t.routing.mcast_parent, NULL));
	if (c->sl >= 0)
		out_count(o, "tables.sl", (uint64_t)c->sl);
	out_count(o, "tables.entries", c->t.n_entries);
	out_count(o, "tables.foreign", c->t.n_foreign);
	out_count(o, "tables.bytes", c->t.bytes);
	out_real(o, "tables.read_ms.cpu", c->read_cpu);
	out_real(o, "tables.read_ms.wall", c->read_wall);
}
