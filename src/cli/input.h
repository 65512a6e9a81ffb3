/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * input.h - the fabric that a sub-command works on: FILE, or --live, and --lmc; read and built.
 *
 *	struct args a = { .in = CLI_INPUT_INIT };
 *	cli_parse() with input_spec as a part, which takes the argument FILE
 *	st = cli_input_load(&a.in, &diag);
 *	cli_input_say(&a.in, &out);	// a head section with CLI_INPUT_FIELDS, its row begun
 *	cli_input_free(&a.in);
 */
#ifndef OSR_CLI_INPUT_H
#define OSR_CLI_INPUT_H

#include <osmroutes/fabric.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "io/lines.h"
#include "io/net.h"
#include "io/tables.h"
#include "live/live.h"
#include "names/names.h"

/*
 * The fabric to which this machine is connected, and the tables programmed in it. The InfiniBand
 * libraries are loaded when it is read.
 */
struct cli_live {
	struct osr_device_want from; /* which port of this machine */
	struct osr_live_ask ask;
	struct osr_arena arena;
	struct osr_live read;
	const struct osr_live_module *module;
};

/* Asks the subnet administrator for SLs. */
enum cli_sa {
	CLI_SA_AUTO,     /* switches above CLI_SA_FEW_PAIRS, else pairs */
	CLI_SA_PAIRS,    /* every end port, for every LID */
	CLI_SA_SWITCHES, /* one end port of every switch; the others are taken to send alike */
	CLI_SA_NONE,     /* nobody: senders may use any SL */
};

/* Whose SLs are asked for. */
struct cli_sls {
	enum cli_sa sa;
	/*
	 * NULL, or what a command shows, in place of all: pairs grouped by the end port that sends.
	 */
	const struct cli_pair {
		uint32_t term, dest;
	} * pair; /* [n_pairs] */
	uint64_t n_pairs;
};

/* Queries are answered at some 30,000 a second; more than these are refused. */
#define CLI_SA_FEW_PAIRS 200000
#define CLI_SA_MAX_PAIRS 20000000

struct cli_input {
	const char *path;     /* a file, or a directory of dumps with an opensm-subnet.lst */
	char *owned;          /* that in it, or NULL */
	bool is_live;         /* no file: the fabric this machine is connected to */
	char live_words[128]; /* the word behind --live, in parts */
	struct cli_live live;
	char *lfts;         /* where LMCs are, if the file does not say them; or NULL; freed */
	const char *names;  /* node name map, or NULL */
	int lmc;            /* < 0: the LIDs of the file stay */
	struct osr_net net; /* the content of the file; may be freed once the fabric is built */
	struct osr_arena arena;
	struct osr_fabric fabric;
	bool lmc_open; /* the file says no LMCs, and its LIDs leave more than 0 open */
	struct osr_net_assumed assumed; /* of the net as it was read */
	struct cli_stamp read;
};

#define CLI_INPUT_INIT                                                                             \
	{                                                                                          \
		.lmc = -1                                                                          \
	}

/* Fields that cli_input_say() sets. */
#define CLI_INPUT_FIELDS                                                                           \
	{ "fabric", NULL, OUT_TEXT },                                                              \
		{ "switches", NULL, OUT_COUNT, 0, OUT_OF(struct cli_input, fabric.n_switches) },   \
		{ "channels", NULL, OUT_COUNT, 0, OUT_OF(struct cli_input, fabric.n_channels) },   \
		{ "terminals", NULL, OUT_COUNT, 0, OUT_OF(struct cli_input, fabric.n_terminals) }, \
		{ "lids", NULL, OUT_COUNT, 0, OUT_OF(struct cli_input, fabric.n_dests) },          \
		{ "components", NULL, OUT_COUNT, 0,                                                \
		  OUT_OF(struct cli_input, fabric.n_components) },                                 \
		{ "assumed.lids", NULL, OUT_COUNT, 0, OUT_OF(struct cli_input, assumed.lids) },    \
		{ "assumed.guids", NULL, OUT_COUNT, 0, OUT_OF(struct cli_input, assumed.guids) },  \
		{ "assumed.rates", NULL, OUT_COUNT, 0, OUT_OF(struct cli_input, assumed.rates) },  \
		{ "discovery_errors", NULL, OUT_COUNT, 0,                                          \
		  OUT_OF(struct cli_input, net.n_failures) },                                      \
		{ "read_ms.cpu", NULL, OUT_REAL, 1, OUT_OF(struct cli_input, read.cpu) },          \
	{                                                                                          \
		"read_ms.wall", NULL, OUT_REAL, 1, OUT_OF(struct cli_input, read.wall)             \
	}

#define CLI_NAMES_DOC "names of nodes: OpenSM's node name map, lines of GUID and \"name\""

extern const struct cli_spec input_spec;

#define CLI_LIVE_ARG "DEV:PORT:PKEY"
bool cli_is_directory(const char *path);

/* The word behind --live, or NULL. */
enum osr_status cli_take_live(struct cli_input *in, const char *arg, const struct cli_line *line);

enum osr_status cli_input_load(struct cli_input *in, struct osr_diag *diag);
void cli_input_free(struct cli_input *in);

/* OSR_INVAL: no libraries, no InfiniBand port, or nobody answered. */
enum osr_status cli_live_net(struct cli_live *live, struct osr_net *net, struct osr_diag *diag);

/*
 * Into tables that osr_tables_init() has begun, of the fabric made from that net. OSR_INVAL if a
 * request for tables was not answered: half of the tables give no verdict. OSR_UNREACHABLE if all
 * but the SLs are read and the subnet administrator does not answer.
 */
enum osr_status cli_live_tables(struct cli_live *live, const struct cli_sls *sls,
				struct osr_tables *tables, struct osr_diag *diag);

/*
 * Reads the fabric once more, a little later, so that a subnet manager can have answered to a
 * change: have nodes, ports or tables changed? OSR_INVAL: it cannot be read any more.
 */
#define CLI_FABRIC_CHANGED "the fabric changed while it was read"
enum osr_status cli_live_again(const struct cli_live *live, bool *changed, struct osr_diag *diag);

/*
 * How to call it in a sentence: the path, "standard input" or "live fabric"; "no fabric" if the
 * command line names none.
 */
const char *cli_input_name(const struct cli_input *in);

/* One line for people, and the fields above into the current row. */
void cli_input_say(const struct cli_input *in, struct out *out);

/* Nodes, end ports and cables as people write them on the command line: see names.h. */

enum osr_status cli_find_switch(const struct osr_net *net, const char *word, uint32_t *node,
				struct osr_diag *diag);

/* NODE:PORT: the port of the net. OSR_INVAL: no such node, port or cable. */
enum osr_status cli_find_cable(const struct osr_net *net, const char *word, uint32_t *port,
			       struct osr_diag *diag);

/*
 * Hosts, each with all its end ports: a name names all HCAs of a host, and all ports of an HCA.
 * Ports of two hosts are on one rail if the words behind the names of the hosts are the same
 * ("mlx5_0"), and the numbers of the ports.
 */
struct cli_rail {
	uint32_t term, host;
	const char *hca;
	uint32_t port;
};

struct cli_hosts {
	const struct cli_input *in;
	struct osr_names names;
	struct cli_rail *rail; /* [n_rails] host after host */
	uint32_t *row;         /* [n + 1] where the rails of each begin */
	uint32_t n_rails, n;
	bool *listed; /* [n_terminals] */
};

enum osr_status cli_hosts_init(struct cli_hosts *hosts, const struct cli_input *in,
			       struct osr_arena *arena, struct osr_diag *diag);

/*
 * One more, unless it is there already. OSR_INVAL: no such host, no end port with a LID, or a part
 * of it is there.
 */
enum osr_status cli_hosts_add(struct cli_hosts *hosts, const char *word, struct osr_diag *diag);

/*
 * Does the first end port send to the other one? Not within a host; and where the other host has
 * its rail, to that alone.
 */
bool cli_rails_meet(const struct cli_hosts *hosts, const struct cli_rail *from,
		    const struct cli_rail *to);

/*
 * Opens the lines of --hosts=LIST: a file, "-" for standard input, or the list itself as its one
 * line.
 */
struct osr_lines *cli_hostlist_open(struct osr_lines *in, const char *list, struct osr_diag *diag);

#endif
