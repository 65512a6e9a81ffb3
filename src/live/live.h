/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * live.h - the present state of a fabric: nodes, ports and the tables in its switches.
 *
 * Everything here is read from the devices by subnet management packets along directed routes, so
 * it works without a subnet manager, with broken tables, and reports the tables in the switches,
 * not the tables that somebody believes to have programmed. Discovery is libibnetdisc's; the tables
 * are read with a window of requests under way (mad.h). Under ibsim-run the fabric is ibsim's.
 *
 *	struct osr_live live;
 *	st = osr_live_read(&live, &(struct osr_live_ask){ .lft = true }, &arena, diag);
 *
 * All memory comes from the arena. Nodes are ordered by GUID: two reads of one fabric are equal
 * whatever the order of discovery.
 */
#ifndef OSR_LIVE_H
#define OSR_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <osmroutes/arena.h>
#include <osmroutes/status.h>

#include "device.h"

#define OSR_LIVE_NONE UINT32_MAX

enum osr_live_type {
	OSR_LIVE_CA = 1, /* values of NodeInfo.NodeType */
	OSR_LIVE_SWITCH = 2,
	OSR_LIVE_ROUTER = 3,
};

struct osr_live_port {
	uint64_t guid;
	uint32_t peer; /* node at the other end of the cable, or OSR_LIVE_NONE */
	uint8_t peer_port;
	bool known;   /* PortInfo was read; everything else is zero otherwise */
	uint16_t lid; /* base LID; of a switch only port 0 has one */
	uint8_t lmc;
	uint8_t state;                   /* PortInfo.PortState: 1 down, 2 init, 3 armed, 4 active */
	uint8_t vl_cap;                  /* data VLs the port has: 1, 2, 4, 8 or 15 */
	uint8_t op_vls;                  /* data VLs that are operational */
	uint8_t smsl;                    /* MasterSMSL */
	uint8_t width, speed, speed_ext; /* active, as encoded in PortInfo */
	uint8_t arb_low_size, arb_high_size; /* entries of the VL arbitration tables */
	uint8_t (*arb_low)[2];               /* (VL, weight); NULL if not asked for */
	uint8_t (*arb_high)[2];
};

struct osr_live_node {
	uint64_t guid;
	uint8_t type; /* enum osr_live_type */
	uint8_t n_ports;
	bool enhanced_sp0;
	const char *name;
	struct osr_live_port *ports; /* [n_ports + 1]; port 0 of a CA is unused */
	uint16_t lft_top;            /* LinearFDBTop: the last LID of the forwarding table */
	uint8_t *lft; /* switch: [lft_top + 1] rounded up to 64; NULL if not asked for */
	uint16_t n_mlids;
	uint64_t (*mft)[4]; /* switch: [n_mlids] bit p of the 256: port p; NULL if not asked */
	/*
	 * 16 VLs of 4 bits each, SL 0 first. Switch: [(n_ports + 1)^2], in port * (n_ports + 1) +
	 * out port, read for ports that are up and for port 0. CA and router: [n_ports + 1] by
	 * port.
	 */
	uint8_t (*sl2vl)[8];
};

struct osr_live {
	uint32_t n_nodes;
	struct osr_live_node *nodes; /* by GUID */
	uint32_t from;               /* the node we are on */
	uint64_t n_requests;         /* table requests sent after discovery */
	uint64_t n_failed;           /* of those, unanswered or refused */
	char first_failure[160];     /* which one, if any */
};

/* Data to read beyond nodes and ports. */
struct osr_live_ask {
	struct osr_device_want from;
	void (*tell)(const char *what, uint64_t done, uint64_t all); /* NULL: nobody listens */
	bool lft, sl2vl, vlarb;
	uint32_t n_mlids; /* multicast: number of MLIDs, from the first; UINT32_MAX: all */
};

/*
 * OSR_OK also if single requests failed (n_failed says so): a fabric with a broken switch is still
 * worth reading. OSR_INVAL without an InfiniBand port, OSR_UNREACHABLE if discovery failed.
 */
enum osr_status osr_live_read(struct osr_live *live, const struct osr_live_ask *ask,
			      struct osr_arena *arena, struct osr_diag *diag);

#define OSR_LIVE_NO_SL 0xff

/* Which paths to ask for, and where the answers go. */
struct osr_live_paths {
	struct osr_device_want from;
	const uint16_t *slid, *dlid; /* [n_slids], [n_dlids] */
	uint32_t n_slids, n_dlids;
	uint8_t *sl; /* [n_slids * n_dlids], OSR_LIVE_NO_SL: no path */
	void (*tell)(const char *what, uint64_t done, uint64_t all); /* how far it is */
};

/*
 * The SL of every path from one of the slids to one of the dlids, as the subnet administrator says
 * it: a PathRecord query each, tens of thousands a second. OSR_UNREACHABLE if it does not answer.
 */
enum osr_status osr_live_sls(const struct osr_live_paths *paths, struct osr_diag *diag);

/* VL of an SL in one table of struct osr_live_node.sl2vl. */
static inline uint8_t osr_live_vl(const uint8_t table[8], unsigned sl)
{
	return sl & 1 ? table[sl / 2] & 0xf : table[sl / 2] >> 4;
}

/* Is this port worth asking for tables: port 0, or a port with a neighbour that is not down? */
static inline bool osr_live_port_up(const struct osr_live_node *live_node, unsigned port)
{
	return port == 0 ? live_node->type == OSR_LIVE_SWITCH
			 : live_node->ports[port].known && live_node->ports[port].state > 1;
}

/*
 * The functions that the command finds in osmroutes-live.so, which it loads only to read a live
 * fabric: a machine without InfiniBand libraries runs all the rest.
 */
#define OSR_LIVE_MODULE "osmroutes-live.so"
#define OSR_LIVE_MODULE_SYMBOL "osr_live_module"

extern const struct osr_live_module {
	const char *version; /* of osmroutes: the command takes its own only */
	enum osr_status (*read)(struct osr_live *live, const struct osr_live_ask *ask,
				struct osr_arena *arena, struct osr_diag *diag);
	enum osr_status (*sls)(const struct osr_live_paths *paths, struct osr_diag *diag);
} osr_live_module;

#endif
