/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * netfile_private.h - the reader of netfile.h, as its files share it; private to src/io.
 *
 *	netfile.c	lines outside of blocks, and the whole file
 *	netfile_node.c	settings and node headers
 *	netfile_port.c	port lines, and how their ends are tied together
 */
#ifndef OSMROUTES_NETFILE_PRIVATE_H
#define OSMROUTES_NETFILE_PRIVATE_H

#include "io/netfile.h"

#include <string.h>

#include "io/ids.h"

/*
 * A line of a port: which port, the far end of its cable, and the GUIDs of both, 0 where it has
 * none.
 */
struct port_line {
	uint32_t port, line;
	const struct osr_id *far;
	uint64_t guid, far_guid;
	uint8_t far_port;
};

struct osr_netfile {
	struct osr_lines *in;
	struct osr_net *net;

	uint32_t node;   /* whose block this is, OSR_NONE outside of one */
	uint32_t prefix; /* module="..." in force, offset into names; 0 = none */

	/* Settings for the next node header. */
	uint64_t sysimg_guid, vendid, devid;
	uint64_t guid_base[OSR_NET_N_TYPES];
	uint64_t guid_next[OSR_NET_N_TYPES];
	bool guid_set[OSR_NET_N_TYPES], guid_own[OSR_NET_N_TYPES]; /* own: no node has taken it */
	uint64_t width, speed, speed_ext;                          /* bits of ibsim */

	void *ids;              /* tree */
	struct port_line *said; /* [n_said]; until all is read the peer of a port is its row here */
	uint32_t n_said, room;
	bool in_head;    /* all lines so far begin with '#' */
	bool discovered; /* ibnetdiscover wrote it: there is a cable at least */
	FILE *head;
};

/* A stretch of a line. */
struct osr_netfile_word {
	const char *at;
	size_t n;
};

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Decimal, or hexadecimal with 0x. */
static inline bool take_number(const char **at, uint64_t max, uint64_t *value)
{
	return osr_scan(at, "%n", value) && *value <= max;
}

/* "..." without the quotes, up to the next one. */
static inline bool take_quoted(const char **at, struct osr_netfile_word *word)
{
	const char *close = **at == '"' ? strchr(*at + 1, '"') : NULL;

	if (!close)
		return false;
	*word = (struct osr_netfile_word){ *at + 1, (size_t)(close - *at) - 1 };
	*at = close + 1;
	return true;
}

/* Nothing else, or a comment. */
static inline bool at_end(const char *at)
{
	at += strspn(at, " \t\r");
	return !*at || *at == '#';
}

/*
 * The number behind `key` anywhere in the first n bytes; false: the key is there, and no number up
 * to max.
 */
static inline bool number_after(const char *text, size_t n, const char *key, uint64_t max,
				uint64_t *value)
{
	const char *at = memmem(text, n, key, strlen(key));

	if (!at)
		return true;
	at += strlen(key);
	return take_number(&at, max, value);
}

/* netfile_node.c ------------------------------------------------------------------------------- */

/* The widest of ibsim's LinkWidth bits, in lanes; 0: none is set. */
uint8_t osr_netfile_width(uint64_t bits);
/* A speed alone means four lanes, to ibsim and to us. */
void osr_netfile_assume_width(struct osr_net_port *port);
/* (2c902002789ad); without parentheses *guid stays unchanged. */
bool osr_netfile_take_guid(const char **at, uint64_t *guid);
/* `key=value` lines. *known is false for any other key. */
enum osr_status osr_netfile_setting(struct osr_netfile *netfile, const char *text, bool *known);
/* An id with the module prefix in force, as ibsim composes it: prefix#id. */
enum osr_status osr_netfile_find_id(struct osr_netfile *netfile, struct osr_netfile_word id,
				    struct osr_id **found);
/* Node type of a header line; *at is then behind the word. */
bool osr_netfile_node_type(const char **at, enum osr_net_type *type);
/*
 * "lid 9 lmc 0", both optional. A number that is given must be legal: a LID that is silently 0
 * would make the end port vanish from the fabric.
 */
enum osr_status osr_netfile_lid(struct osr_netfile *netfile, const char *text, size_t n,
				uint32_t port);
/* "S-0008f10500200b50", as ibnetdiscover calls nodes, or "0x8f10500200b50". */
bool osr_netfile_guid_of_id(const char *id, uint64_t *guid);
/*
 * One node for this header. vendid, devid and sysimgguid belong to the next node only; width, speed
 * and GUID bases stay in force, as in ibsim.
 */
enum osr_status osr_netfile_header(struct osr_netfile *netfile, enum osr_net_type type,
				   const char *at);

/* netfile_port.c ------------------------------------------------------------------------------- */

/* A line such as [7] "S-01"[3]. */
enum osr_status osr_netfile_port(struct osr_netfile *netfile, const char *at);
/*
 * OpenSM and ibsim know nodes by their GUIDs: two with one GUID cannot be told apart. The GUIDs in
 * the ids of nodes count if they are apart from all others; else these ids are names alone, and
 * their nodes keep the GUIDs that ibsim would give them.
 */
enum osr_status osr_netfile_guids(struct osr_netfile *netfile, bool of_ids);
/*
 * The far node may stand further down in the file, so whether both ends of a cable agree is found
 * out when all lines are read. Names both ends and their lines; the likeliest cause, a file that
 * was cut off, is offered.
 */
enum osr_status osr_netfile_tie(struct osr_netfile *netfile);

#endif
