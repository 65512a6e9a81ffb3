/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * names.h - nodes by the names that people use: the one reader of names for command lines, files
 * and the control socket.
 *
 *	node-017		the node description, or the id in the file
 *	0x0002c90300a1b2c3	GUID of the node or port; also without 0x and zeros, or as
 *				S-0002c90300a1b2c3
 *	lid:17			any LID of the node
 *	node-017		first word of "node-017 mlx5_0", or its part before the first dot
 *	core-07			words within the description: "MF0;core-07:MQM9700/U1"
 *
 * The first of these forms that fits some nodes decides. Each may be followed by :PORT.
 */
#ifndef OSR_NAMES_H
#define OSR_NAMES_H

#include <osmroutes/fabric.h>

enum { OSR_NAME_SWITCH = 1, OSR_NAME_END_PORT = 2, OSR_NAME_ANY = 3 };

/* One thing that a node, or a port of it, is called by. */
struct osr_name {
	const char *text; /* NULL: none */
	uint64_t guid;    /* 0: none */
	uint32_t node;
	uint16_t lid; /* 0: none; lid .. lid + 2^lmc - 1 */
	uint8_t lmc;
	uint8_t port; /* 0: the node */
	uint8_t kind; /* OSR_NAME_SWITCH or OSR_NAME_END_PORT */
};

/* An index of them; in the arena, with the texts still where they were. */
struct osr_names {
	const struct osr_name *row;
	struct osr_name_word *word;  /* [n_words] by text, and GUIDs and LIDs */
	const struct osr_name **hit; /* [n] the best matches, a row for each node */
	uint32_t *seen, n_seen;      /* [n_nodes]; the number of the search */
	uint32_t n, n_words, n_hits;
};

/* The first row of a node that has a text is what messages call it. O(words log words). */
enum osr_status osr_names_build(struct osr_names *names, const struct osr_name *row, uint32_t n,
				struct osr_arena *arena, struct osr_diag *diag);

/* Node s is switch s; node n_switches + t is terminal t, unless that is a port 0. */
enum osr_status osr_names_of_fabric(struct osr_names *names, const struct osr_fabric *fabric,
				    struct osr_arena *arena, struct osr_diag *diag);

/*
 * The only node of these kinds (OSR_NAME_*) that the word fits best, and the port: the one behind
 * the colon, the port of the row, or 0. OSR_INVAL: no node fits, or several do; then the names that
 * would do are listed.
 */
enum osr_status osr_names_find(struct osr_names *names, const char *word, unsigned kinds,
			       uint32_t *node, uint32_t *port, struct osr_diag *diag);

/*
 * The same where several will do, if they are end ports of one host: "node-017" is "node-017
 * mlx5_0" and "node-017 mlx5_1". They are hit[0 .. n_hits-1], in the order of their rows' texts.
 */
enum osr_status osr_names_host(struct osr_names *names, const char *word, unsigned kinds,
			       uint32_t *port, struct osr_diag *diag);

/*
 * All nodes that the word of len bytes, without a port, fits best: hit[0 .. n_hits-1], in the order
 * of their rows' texts.
 */
uint32_t osr_names_all(struct osr_names *names, const char *word, size_t len, unsigned kinds);

/* Do several nodes have this name, so that a GUID stands behind it? */
bool osr_name_is_repeated(const char *shown);

/* How much of a name as it is shown, with its GUID perhaps, is the node's own. */
size_t osr_name_own(const char *shown, uint64_t guid);

#endif
