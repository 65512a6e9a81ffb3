/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric.h - an InfiniBand fabric as flat arrays, which every engine reads and none may change.
 *
 * Four index spaces, all uint32_t, never mixed:
 *	switch    0 .. n_switches-1	ascending node GUID
 *	channel   0 .. n_channels-1	one direction of a switch-to-switch cable; sorted by
 *					source switch, then by port of the source switch
 *	terminal  0 .. n_terminals-1	an end port (CA, router, or a switch's own port 0) on a
 *					switch; sorted by switch, then by port (port 0 first)
 *	dest      0 .. n_dests-1	one unicast LID of a terminal (2^LMC each); ascending LID
 *
 * One fabric has one numbering, whatever the order in which it was discovered or its file written:
 * this is where determinism begins.
 *
 * Not in it are cables between two end ports (no switch routes them), a switch's cable to itself,
 * links that are down, unhealthy or throttled (the reader leaves them out), and end ports without a
 * LID.
 *
 * Compressed sparse rows: the channels that leave switch s are chan_row[s] .. chan_row[s+1]-1, its
 * terminals term_row[s] .. term_row[s+1]-1, its ports port_row[s] + 0 .. n_ports.
 */
#ifndef OSMROUTES_FABRIC_H
#define OSMROUTES_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <osmroutes/arena.h>
#include <osmroutes/invariant.h>
#include <osmroutes/status.h>

#define OSR_NONE UINT32_MAX /* no switch, channel, terminal or dest */
#define OSR_NO_PATH 255     /* LFT entry: drop, as OpenSM's OSM_NO_PATH */
#define OSR_MAX_LID 0xbfff  /* last unicast LID, 49,151 */
#define OSR_MAX_VLS 15      /* data virtual lanes VL0..VL14; VL15 is management */

/* Data VLs of a code of VLCap, OperVLs or max_op_vls: 1, 2, 4, 8 or 15; 0 counts as 1. */
static inline uint8_t osr_vls_of_code(unsigned code)
{
	static const uint8_t vls[] = { 1, 1, 2, 4, 8, 15 };

	return vls[code <= 5 ? code : 5];
}

enum osr_role {
	OSR_ROLE_CA,
	OSR_ROLE_ROUTER,
	OSR_ROLE_SP0, /* base or enhanced port 0 of a switch */
};

enum {
	OSR_SW_SL2VL = 1 << 0, /* the switch can be given SL-to-VL tables */
	OSR_SW_ENHANCED_SP0 = 1 << 1,
};

enum {
	/* Routes over this channel count for nothing in balancing (port_prof_ignore_file). */
	OSR_CHAN_UNCOUNTED = 1 << 0,
};

struct osr_fabric {
	uint32_t n_switches;
	uint32_t n_channels;
	uint32_t n_terminals;
	uint32_t n_dests;
	uint32_t n_components; /* of the switch graph; 1 when the fabric is whole */
	uint32_t max_lid;      /* highest LID in use, 0 if none */
	uint32_t n_ports;      /* entries of port_chan */

	/* [n_switches] */
	const uint64_t *sw_guid;
	const uint8_t *sw_n_ports;    /* external ports: 1 .. sw_n_ports */
	const uint8_t *sw_flags;      /* OSR_SW_* */
	const uint32_t *sw_sources;   /* sum of term_weight: senders of this switch */
	const uint32_t *sw_component; /* 0 .. n_components-1, numbered by their first switch */
	const uint32_t *sw_name;      /* offset into names */

	/* [n_switches + 1] */
	const uint32_t *chan_row;
	const uint32_t *term_row;
	const uint32_t *port_row;

	/* [n_ports]: channel that leaves by port_row[s] + port, OSR_NONE if none does */
	const uint32_t *port_chan;

	/* [n_channels] */
	const uint32_t *chan_src;  /* switch */
	const uint32_t *chan_dst;  /* switch, never == chan_src */
	const uint32_t *chan_rev;  /* the other direction of the same cable */
	const uint8_t *chan_port;  /* port of chan_src, 1 .. 254 */
	const uint16_t *chan_rate; /* Gb/s; 0 = unknown */
	const uint8_t *chan_vls;   /* data VLs that work on it, 1 .. 15 */
	const uint8_t *chan_flags; /* OSR_CHAN_* */

	/*
	 * [n_channels + 1] A turn is a pair of consecutive channels (c0, c1). The turns that begin
	 * with c0 are turn_row[c0] .. turn_row[c0 + 1] - 1, one for each channel that leaves the
	 * switch behind c0, in the order of these channels. Turns are numbered for every pair, used
	 * or not.
	 */
	const uint32_t *turn_row;

	/* [n_terminals] */
	const uint32_t *term_switch;
	const uint8_t *term_port; /* port of term_switch it hangs on; 0 = SP0 */
	const uint8_t *term_lmc;
	const uint8_t *term_role; /* enum osr_role */
	/* destinations are routed group by group, 0 first (cn/io order) */
	const uint8_t *term_group;
	const uint32_t *term_weight; /* 1 for CA and router, 0 for SP0 */
	const uint16_t *term_lid;    /* base LID */
	const uint64_t *term_guid;
	const uint32_t *term_name; /* offset into names */

	/* [n_dests] */
	const uint16_t *dest_lid;
	const uint32_t *dest_term;
	const uint32_t *dest_switch; /* = term_switch[dest_term[d]] */

	const uint32_t *lid_dest; /* [max_lid + 1], OSR_NONE if nobody has the LID */
	const char *names;        /* NUL-terminated strings; offset 0 is "" */
};

/*
 * Building. Feed a builder in any order, then build once:
 *
 *	struct osr_builder *b = osr_builder_new();
 *	uint32_t s = osr_builder_switch(b, &(struct osr_switch_in){ .guid = ..., .n_ports = 36 });
 *	osr_builder_link(b, &(struct osr_link_in){ .sw_a = s, .port_a = 1, .sw_b = t, ... });
 *	osr_builder_terminal(b, &(struct osr_terminal_in){ .sw = s, .port = 2, .lid = 7, ... });
 *	st = osr_builder_build(b, &arena, &fabric, diag);
 *	osr_builder_free(b);
 *
 * osr_builder_switch() returns a handle (the number of the call, from 0) that link and terminal
 * take; it is not the switch index of the built fabric. Names are copied and may be NULL.
 * The add functions remember the first failure (memory); osr_builder_build() reports it.
 *
 * osr_builder_build() refuses, naming the culprit (OSR_INVAL): a GUID given twice, a port used
 * twice or beyond n_ports, a LID of two end ports or beyond 49,151, a base LID not aligned to its
 * LMC where LMC > 0, a handle that does not exist, more than 254 ports, no switch at all. A link
 * between two ports of one switch is left out silently.
 *
 * Time O((switches + links + terminals) log), memory a few arrays of the same size. The fabric's
 * arrays live in `arena`.
 */
struct osr_switch_in {
	uint64_t guid;
	uint8_t n_ports;
	uint8_t flags;
	const char *name;
};

struct osr_link_in {
	uint32_t sw_a, sw_b;
	uint8_t port_a, port_b;
	uint8_t vls;     /* data VLs that work in both directions; 0 means unknown: 15 */
	uint8_t flags_a; /* of the channel a -> b */
	uint8_t flags_b;
	uint16_t rate; /* Gb/s, 0 = unknown */
};

struct osr_terminal_in {
	uint64_t guid;
	uint32_t sw;
	uint8_t port;
	uint8_t lmc;
	uint8_t role;
	uint8_t group;
	uint16_t lid;
	const char *name;
};

struct osr_builder;

struct osr_builder *osr_builder_new(void);
void osr_builder_free(struct osr_builder *builder); /* NULL is fine */
uint32_t osr_builder_switch(struct osr_builder *builder, const struct osr_switch_in *in);
void osr_builder_link(struct osr_builder *builder, const struct osr_link_in *in);
void osr_builder_terminal(struct osr_builder *builder, const struct osr_terminal_in *in);
enum osr_status osr_builder_build(struct osr_builder *builder, struct osr_arena *arena,
				  struct osr_fabric *fabric, struct osr_diag *diag);

/* Are both fabrics equal, names included? O(size). */
bool osr_fabric_equal(const struct osr_fabric *fabric, const struct osr_fabric *other);
/* Are both equal but for the names of switches and end ports, on which no route depends? */
bool osr_fabric_alike(const struct osr_fabric *fabric, const struct osr_fabric *other);
/* A copy with arrays of its own, in `arena`. */
enum osr_status osr_fabric_copy(const struct osr_fabric *from, struct osr_arena *arena,
				struct osr_fabric *to, struct osr_diag *diag);

/* Index of the switch with this node GUID, or OSR_NONE. O(log n). */
uint32_t osr_fabric_switch_by_guid(const struct osr_fabric *fabric, uint64_t guid);

/* The rate of the fastest channel, for which one of unknown rate counts; 0: none is known. */
uint16_t osr_fabric_fastest(const struct osr_fabric *fabric);

/*
 * Nodes name themselves, with any bytes. Replaces control characters and bytes that are not UTF-8
 * by question marks, as in all names of a fabric.
 */
void osr_name_clean(char *name);

/*
 * repeated[i]: is the i-th of n texts (offsets into `names`, 0: no text) equal to another one?
 * False: no memory. O(bytes).
 */
bool osr_names_repeated(const char *names, const uint32_t *text, uint32_t n, bool *repeated);
#define OSR_NAME_WITH_GUID "%s 0x%016" PRIx64 /* how these are shown */

/*
 * Name of a switch or terminal for messages: its own, with its GUID behind it if another one has
 * the same name, or "0x<guid>" written into buf. Port 0 has the name of its switch.
 */
const char *osr_switch_name(const struct osr_fabric *fabric, uint32_t sw, char buf[32]);
const char *osr_terminal_name(const struct osr_fabric *fabric, uint32_t term, char buf[32]);

/*
 * An end is a port of a CA or router. End ports that belong to a switch itself are not hosts: SHARP
 * aggregation nodes, known by their node description, and the CA that most switches have on their
 * last port, which manages the switch (the rule of osmroutes/pgft.h, so that dmodk has the same
 * spines).
 */
struct osr_end {
	uint32_t sw;      /* its switch */
	bool last;        /* is it at the last port of that switch? */
	const char *name; /* node description */
};

/* n_hosts[n_switches]: how many of the n ends at each switch are hosts. O(n + n_switches). */
void osr_count_hosts(const struct osr_end *end, uint32_t n, uint32_t *n_hosts, uint32_t n_switches);

/* The destination with this LID, or OSR_NONE. */
static inline uint32_t osr_lid_dest(const struct osr_fabric *fabric, uint32_t lid)
{
	uint32_t d = fabric->n_dests && lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;

	osr_invariant(d == OSR_NONE || fabric->dest_lid[d] == lid);
	return d;
}

static inline uint32_t osr_n_turns(const struct osr_fabric *fabric)
{
	return fabric->turn_row[fabric->n_channels];
}

/* The turn from channel c0 to channel c1, which leaves the switch that c0 leads to. */
static inline uint32_t osr_turn(const struct osr_fabric *fabric, uint32_t c0, uint32_t c1)
{
	osr_invariant(c0 < fabric->n_channels && c1 < fabric->n_channels);
	osr_invariant(fabric->chan_src[c1] == fabric->chan_dst[c0]);
	osr_invariant(fabric->turn_row[c0] + (c1 - fabric->chan_row[fabric->chan_dst[c0]]) <
		      fabric->turn_row[c0 + 1]);
	return fabric->turn_row[c0] + (c1 - fabric->chan_row[fabric->chan_dst[c0]]);
}

/* The second channel of a turn that begins with c0. */
static inline uint32_t osr_turn_next(const struct osr_fabric *fabric, uint32_t c0, uint32_t turn)
{
	osr_invariant(c0 < fabric->n_channels);
	osr_invariant(fabric->turn_row[c0] <= turn && turn < fabric->turn_row[c0 + 1]);
	return fabric->chan_row[fabric->chan_dst[c0]] + (turn - fabric->turn_row[c0]);
}

/*
 * The channel that leaves switch s by this port, or OSR_NONE (end port, nothing, or no such port).
 */
static inline uint32_t osr_port_channel(const struct osr_fabric *fabric, uint32_t s, uint32_t port)
{
	osr_invariant(s < fabric->n_switches);
	return port <= fabric->sw_n_ports[s] ? fabric->port_chan[fabric->port_row[s] + port]
					     : OSR_NONE;
}

/* The channel that a hop of switch v means (spf.h); OSR_NONE: OSR_NO_PATH, it has none. */
static inline uint32_t osr_hop_channel(const struct osr_fabric *fabric, uint32_t v, uint8_t hop)
{
	osr_invariant(v < fabric->n_switches);
	osr_invariant(hop == OSR_NO_PATH || fabric->chan_row[v] + hop < fabric->chan_row[v + 1]);
	return hop == OSR_NO_PATH ? OSR_NONE : fabric->chan_row[v] + hop;
}

#endif
