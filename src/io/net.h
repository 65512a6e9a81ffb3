/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * net.h - a fabric as a file describes it: every node, port and cable, before routing looks at it.
 *
 * struct osr_fabric keeps the data that a routing engine needs. This struct keeps the rest too:
 * cables between end ports, loop-backs, ports without a cable, node ids, GUIDs that a file left
 * open. Readers and generators fill it, writers print it, osr_net_fabric() turns it into a struct
 * osr_fabric.
 *
 *	struct osr_net net = { 0 };
 *	uint32_t s = osr_net_node(&net, OSR_NET_SWITCH, 8, "leaf-00");
 *	uint32_t h = osr_net_node(&net, OSR_NET_CA, 1, "h0000");
 *	osr_net_cable(&net, osr_net_port(&net, s, 1), osr_net_port(&net, h, 1), 4, OSR_SPEED_HDR);
 *	st = osr_net_status(&net, diag);
 *	st = osr_net_fabric(&net, -1, &arena, &fabric, diag);
 *	osr_net_free(&net);
 *
 * The adding functions remember the first failure (memory, too many ports) and then do nothing;
 * osr_net_status() reports it.
 *
 * GUIDs: a node that was given none gets the one ibsim gives it: CAs from 0x100000 on, each taking
 * one more than it has ports; switches from 0x200000 on, one each, in the order of the file.
 * Routers, which ibsim would start at 0, start at 0x300000. Ports of CAs and routers have the
 * node's GUID plus the port number.
 *
 * Values that the file lacks and the net must have are counted: osr_net_assumed().
 */
#ifndef OSR_IO_NET_H
#define OSR_IO_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <osmroutes/fabric.h>
#include "io/keyed.h"
#include "io/speed.h"

#define OSR_NET_MAX_PORTS                                                                          \
	(UINT32_C(1) << 22) /* of all nodes together: no real fabric has a quarter */
#define OSR_NET_MAX_NODE_PORTS 254

enum osr_net_type {
	OSR_NET_CA,
	OSR_NET_SWITCH,
	OSR_NET_ROUTER,
	OSR_NET_N_TYPES,
};

/* Where the GUID of a node comes from. */
enum osr_net_guid {
	OSR_NET_GUID_COUNTED, /* nowhere: the next of ibsim's */
	OSR_NET_GUID_OF_ID,   /* the id of the node: "S-0008f10500200b50" */
	OSR_NET_GUID_GIVEN,
};

struct osr_net_node {
	uint64_t guid;
	uint64_t sysimg_guid;   /* 0 = not given */
	uint32_t vendid, devid; /* 0 = not given */
	uint32_t port_row; /* ports port_row + 0 .. port_row + n_ports; a CA's port 0 is unused */
	uint32_t id;       /* offset into names: unique in the file, "S-0008f10500200b50" */
	uint32_t name;     /* offset into names: the node description; = id if the node has none */
	/* offset into names: with the GUID behind it; 0: the name differs from all others */
	uint32_t shown;
	uint8_t type; /* enum osr_net_type */
	uint8_t n_ports;
	bool enhanced_sp0;
	uint8_t guid_from; /* enum osr_net_guid */
};

struct osr_net_port {
	uint64_t guid;
	uint32_t node;
	uint32_t peer; /* port at the other end of the cable, OSR_NONE: no cable */
	uint16_t lid;  /* 0 = none; of switches only port 0 has one */
	uint8_t lmc;
	uint8_t width; /* lanes, 0 = unknown */
	uint8_t speed; /* enum osr_speed, as this end says it */
	uint8_t vls;   /* data VLs that work, 0 = unknown; no file says it */
};

/* Valid and empty when zeroed. */
struct osr_net {
	struct osr_net_node *nodes;
	struct osr_net_port *ports;
	char *names;   /* NUL-terminated strings */
	char *comment; /* head of the file it came from, without the "# "; or NULL */
	uint32_t n_nodes, n_ports, names_size;
	uint32_t nodes_room, ports_room, names_room;
	uint64_t guid_used[OSR_NET_N_TYPES]; /* GUIDs handed out, counted from the type's base */
	bool no_lmcs;                        /* the file does not say LMCs: 0 means unknown */
	uint32_t n_lids_new; /* end ports that had no LID and got one by osr_net_assign_lids() */
	/*
	 * Lines in which the program that wrote the file says that it could not ask all; the first
	 * one.
	 */
	uint32_t n_failures, failure; /* offset into names: "17: \"ibwarn: ...\"" */
	/* cables that stand at one end alone in a file that has both: it may be cut off */
	uint32_t n_one_end;
	enum osr_status failed;
};

void osr_net_free(struct osr_net *net);

/* Adds a node with n_ports (1..254) ports and returns its index, OSR_NONE on failure. */
uint32_t osr_net_node(struct osr_net *net, enum osr_net_type type, uint32_t n_ports,
		      const char *id);
/* The same for a node with a GUID: the id that ibnetdiscover gives it, and its description. */
uint32_t osr_net_found(struct osr_net *net, enum osr_net_type type, uint32_t n_ports, uint64_t guid,
		       const char *name, size_t len);

/* Copies a string of len bytes into names; its offset. */
uint32_t osr_net_string(struct osr_net *net, const char *s, size_t len);
/* The same of a node description, after osr_name_clean(). */
uint32_t osr_net_description(struct osr_net *net, const char *s, size_t len);

/*
 * Gives nodes that have one name with others the text that osr_net_shown() shows; false: no memory.
 */
bool osr_net_tell_apart(struct osr_net *net);

/* Sets the GUID of a node and of its ports, and marks it as given. */
void osr_net_set_guid(struct osr_net *net, uint32_t node, uint64_t guid);

/* A cable between two ports (the same port: a loop-back plug); frees their previous peers. */
void osr_net_cable(struct osr_net *net, uint32_t port_a, uint32_t port_b, uint8_t width,
		   uint8_t speed);

/* First failure of the functions above. */
enum osr_status osr_net_status(const struct osr_net *net, struct osr_diag *diag);

/*
 * LIDs. lmc < 0 keeps those there are and gives the end ports that have none a free one. 0..7 gives
 * every CA and router port 2^lmc new LIDs and every switch one.
 *
 * New LIDs are those a fresh OpenSM would give when it runs where ibsim puts it, on the first node:
 * that node's first port comes first, then all by port GUID, compared from the last byte to the
 * first (OpenSM keeps them in network byte order and compares them as numbers of a little-endian
 * machine); each takes the lowest aligned LIDs behind the last. Ports without a cable get none.
 */
enum osr_status osr_net_assign_lids(struct osr_net *net, int lmc, struct osr_diag *diag);

/* Assigns LIDs as above, then builds the fabric in `arena`. */
enum osr_status osr_net_fabric(struct osr_net *net, int lmc, struct osr_arena *arena,
			       struct osr_fabric *fabric, struct osr_diag *diag);

/*
 * Values of the net that the file does not say, for reports; of cables between switches those
 * without rates or VLs.
 */
struct osr_net_assumed {
	uint32_t lids, guids, guids_of_ids;
	uint32_t rates, vls, switch_cables;
};

struct osr_net_assumed osr_net_assumed(const struct osr_net *net);

/* How many there are, for reports. */
struct osr_net_counts {
	uint32_t switches, cas, routers;
	uint32_t cables;        /* of all kinds */
	uint32_t switch_cables; /* between two different switches */
};

struct osr_net_counts osr_net_count(const struct osr_net *net);

/* Width and speed of a cable: the lower value of its two ends; 0 only if both are unknown. */
void osr_net_link_rate(const struct osr_net *net, uint32_t port, uint8_t *width, uint8_t *speed);
/* VLs that both ends have; an unknown end does not count; 0: both are unknown. */
uint8_t osr_net_link_vls(const struct osr_net *net, uint32_t port);
/*
 * The end of a cable between two switches that has the fewest VLs of all; OSR_NONE: no end says it.
 */
uint32_t osr_net_fewest_vls(const struct osr_net *net);

/* Index of a port, OSR_NONE if the node or the port does not exist. */
static inline uint32_t osr_net_port(const struct osr_net *net, uint32_t node, uint32_t port)
{
	if (node >= net->n_nodes || port > net->nodes[node].n_ports)
		return OSR_NONE;
	return net->nodes[node].port_row + port;
}

/* Number of a port on its node. */
static inline uint32_t osr_net_port_num(const struct osr_net *net, uint32_t port)
{
	osr_invariant(port < net->n_ports);
	return port - net->nodes[net->ports[port].node].port_row;
}

static inline bool osr_net_is_switch(const struct osr_net *net, uint32_t node)
{
	osr_invariant(node < net->n_nodes);
	return net->nodes[node].type == OSR_NET_SWITCH;
}

/* LID of the end port behind a port: its own, or the LID of the switch it belongs to. */
static inline uint16_t osr_net_lid(const struct osr_net *net, uint32_t port)
{
	uint32_t node = net->ports[port].node;

	osr_invariant(port < net->n_ports);
	return net->ports[osr_net_is_switch(net, node) ? net->nodes[node].port_row : port].lid;
}

static inline const char *osr_net_id(const struct osr_net *net, uint32_t node)
{
	osr_invariant(node < net->n_nodes && net->nodes[node].id < net->names_size);
	return net->names + net->nodes[node].id;
}

static inline const char *osr_net_name(const struct osr_net *net, uint32_t node)
{
	osr_invariant(node < net->n_nodes && net->nodes[node].name < net->names_size);
	return net->names + net->nodes[node].name;
}

/* For people; files have the name. */
static inline const char *osr_net_shown(const struct osr_net *net, uint32_t node)
{
	uint32_t shown = net->nodes[node].shown;

	osr_invariant(shown < net->names_size);
	return shown ? net->names + shown : osr_net_name(net, node);
}

/* Nodes by ascending GUID: [n_nodes], to be freed; NULL: no memory. */
struct osr_keyed *osr_net_by_guid(const struct osr_net *net);

#endif
