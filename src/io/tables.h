/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tables.h - tables that somebody else wrote, bound to a fabric: `check` and `diff` judge them.
 *
 *	struct osr_tables t;
 *	st = osr_tables_init(&t, &fabric, &net, &arena, diag);
 *	osr_lines_open(&in, "opensm-lfts.dump", diag);
 *	st = osr_tables_read(&t, &in, osr_tables_parse_lfts);
 *	... osr_tables_parse_sl2vl, _paths, _groups: each may be left out
 *	struct osr_generation gen = osr_tables_generation(&t);
 *	osr_tables_free(&t);
 *
 * Files, in the forms that programs write:
 *	LFTs	opensm-lfts.dump; the output of dump_lfts; opensm.fdbs of OpenSM and of ibdm
 *	SL2VL	opensm-sl2vl.dump; ibdmchk's "0xGUID in out 0x01 0x23 ..."
 *	paths   opensm-path-sl.dump as pathsl.h writes it; ibdmchk's psl: "0xGUID LID SL", or a head
 *		line of the end port, then "0xLID : SL"
 *	groups	opensm.mcfdbs
 *
 * Files are streamed. Memory: a byte for each switch and LID, 16 for each pair of ports, a byte for
 * each LID and end port whose SLs of paths are given (for each switch in the compact form).
 *
 * OSR_INVAL, with file and line, for text that cannot be read or that contradicts the fabric or the
 * file: a switch, port or port GUID that the fabric does not have or has elsewhere, an entry given
 * twice with different values. Entries for LIDs that nobody has are counted, not refused: switches
 * keep them.
 */
#ifndef OSR_IO_TABLES_H
#define OSR_IO_TABLES_H

#include "core/verify/union.h"

#include "io/lines.h"
#include "io/net.h"

#define OSR_MLID_FIRST 0xc000
#define OSR_N_MLIDS 0x3fff

struct osr_tables {
	const struct osr_fabric *fabric;
	const struct osr_net *net; /* for GUIDs of nodes; may be NULL */
	struct osr_arena *arena;

	/* claims nothing; sl2vl is NULL until read, unset: OSR_VL_UNSET */
	struct osr_routing routing;
	bool *has_lft; /* [n_switches] its table was in the file */

	/* [n_terminals] of CAs and routers; OSR_VL_UNSET if not in the file */
	osr_sl2vl_t *term_sl2vl;

	bool taken;               /* osr_tables_take(): routing says which VLs are in use */
	bool folded;              /* routing.sl holds all SLs of the paths */
	struct osr_paths paths;   /* n_rows = 0 until read; rows are freed by osr_tables_free() */
	uint64_t **group;         /* [OSR_N_MLIDS][4 * n_switches]; NULL: none so far */
	struct osr_groups groups; /* of these, by osr_tables_finish() */

	/*
	 * Of forwarding tables: entries that are kept, and entries of LIDs that no port has.
	 * UNREACHABLE is not an entry.
	 */
	uint64_t n_entries, n_foreign;
	uint64_t n_foreign_sls; /* SLs of paths to such LIDs */
	uint64_t bytes;

	/* Terminals by the GUIDs of their ports, and of their nodes; OSR_NONE: on no switch. */
	struct osr_keyed *owner[2];
	uint32_t n_owners[2];
};

enum osr_status osr_tables_init(struct osr_tables *tables, const struct osr_fabric *fabric,
				const struct osr_net *net, struct osr_arena *arena,
				struct osr_diag *diag);
void osr_tables_free(struct osr_tables *tables);

/* Lines of one kind of file, into the tables. */
typedef enum osr_status osr_tables_parse_fn(struct osr_tables *tables, struct osr_lines *in);
osr_tables_parse_fn osr_tables_parse_lfts, osr_tables_parse_sl2vl, osr_tables_parse_paths,
	osr_tables_parse_groups;

/* All lines of a file, which is closed, by one of them. */
enum osr_status osr_tables_read(struct osr_tables *tables, struct osr_lines *in,
				osr_tables_parse_fn *parse);

/*
 * The LMCs of the end ports of a net, from the LIDs that the first table of an opensm-lfts.dump
 * gives to their port GUIDs; before the fabric is built. Other forms of LFTs do not say it: nothing
 * is changed then.
 */
enum osr_status osr_tables_lmcs(struct osr_lines *in, struct osr_net *net);

/* All senders use this SL for everything. */
enum osr_status osr_tables_one_sl(struct osr_tables *tables, uint8_t sl, struct osr_diag *diag);

/*
 * Tables that are a routing already: LFTs, SLs, SL2VL tables, multicast order. Its arrays must
 * outlive tables, and are not written. Tables that are read afterwards replace them.
 */
enum osr_status osr_tables_take(struct osr_tables *tables, const struct osr_routing *routing,
				struct osr_diag *diag);

/* The ports of a group on a switch, bit by bit, for the caller to set; NULL: no memory. */
uint64_t *osr_tables_group(struct osr_tables *tables, uint32_t mlid, uint32_t sw);

/*
 * Once everything is read: groups, routing.n_vls, routing.ca_sl2vl if all CAs have the same table
 * (else *same_ca is false), and routing.sl in place of the paths if all end ports of a switch have
 * the same SLs (towards other switches) and none is missing, as the checker wants it.
 */
enum osr_status osr_tables_finish(struct osr_tables *tables, bool *same_ca, struct osr_diag *diag);

/* The tables as osr_union_loop() takes them. */
struct osr_generation osr_tables_generation(const struct osr_tables *tables);

/*
 * Allocates routing.sl2vl and term_sl2vl, all OSR_VL_UNSET. For callers that fill them otherwise
 * (src/live).
 */
enum osr_status osr_tables_alloc_sl2vl(struct osr_tables *tables, struct osr_diag *diag);

/* The table of a port pair of a switch. */
static inline uint8_t *osr_tables_sl2vl(const struct osr_tables *tables, uint32_t s, unsigned in,
					unsigned out)
{
	size_t pair = in * ((size_t)tables->fabric->sw_n_ports[s] + 1) + out;

	return tables->routing.sl2vl[tables->routing.sl2vl_row[s] + pair];
}

/* Terminals with this GUID of the port, or of the node: *n of them from the one returned. */
const struct osr_keyed *osr_tables_owner(const struct osr_tables *tables, uint64_t guid,
					 bool by_node, uint32_t *n);

#endif
