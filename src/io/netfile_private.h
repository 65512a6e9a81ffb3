/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * netfile_private.h - the reader of netfile.h. netfile.c goes over the lines; each kind of line has a
 * file of its own, and netfile_cables.c ties the ends together at last.
 */
#ifndef OSR_IO_NETFILE_PRIVATE_H
#define OSR_IO_NETFILE_PRIVATE_H

#include "io/netfile.h"
#include "io/span.h"

/* ibsim keeps ids in 65 bytes, prefix included, and takes longer ones for equal. */
#define OSR__MAX_ID 64

/* The far end of a port's cable as its own line gives it. */
struct osr__far_end {
	const char *id; /* in the text; NULL: no line for this port */
	uint32_t id_len;
	uint32_t prefix; /* module in force, offset into names; 0 = none or already in the id */
	uint32_t line;
	uint8_t port;
};

struct osr__netfile {
	const char *label;
	struct osr_net *net;
	struct osr_diag *diag;
	uint32_t line;

	uint32_t node;   /* whose block this is, OSR_NONE outside of one */
	uint32_t prefix; /* module="..." in force, offset into names; 0 = none */

	/* What the next node header takes. */
	uint64_t sysimg_guid;
	uint32_t vendid, devid;
	uint64_t guid_base[OSR_NET_N_TYPES];
	uint64_t guid_next[OSR_NET_N_TYPES];
	bool guid_set[OSR_NET_N_TYPES];
	uint8_t width, speed, speed_ext;

	struct osr__far_end *far; /* parallel to net->ports */
	uint32_t far_room;
	uint32_t *node_line; /* parallel to net->nodes */
	uint32_t node_line_room;
	uint32_t *table;     /* open addressing: node, or OSR_NONE */
	uint32_t table_size; /* a power of two, at least twice n_nodes */
};

/* "label:line: sentence", OSR_INVAL. */
enum osr_status osr__netfile_fail(const struct osr__netfile *netfile, uint32_t line,
				  const char *fmt, ...) __attribute__((format(printf, 3, 4)));
enum osr_status osr__netfile_nomem(const struct osr__netfile *netfile);

/* netfile_nodes.c */

/* The slot of this id: it holds the node, or OSR_NONE if there is no such node. */
uint32_t *osr__netfile_slot(const struct osr__netfile *netfile, const char *id, size_t len);

/* Room for half as many nodes as `size`, a power of two. */
bool osr__netfile_resize(struct osr__netfile *netfile, uint32_t size);

/* An id with the module prefix in force, as ibsim composes it: prefix#id. False: too long. */
bool osr__netfile_full_id(const struct osr__netfile *netfile, uint32_t prefix, const char *id,
			  size_t len, char out[OSR__MAX_ID + 1]);

/* Node type of a header line; span then starts behind the word. */
bool osr__netfile_node_type(struct osr__span *span, enum osr_net_type *type);
enum osr_status osr__netfile_header(struct osr__netfile *netfile, enum osr_net_type type,
				    struct osr__span span);

/* "lid 9 lmc 0" in what may hold nothing of the kind. */
enum osr_status osr__netfile_lid(struct osr__netfile *netfile, struct osr__span span,
				 uint32_t port);

/* netfile_settings.c */

/* A line that is neither node nor port; *known is false if it means nothing here. */
enum osr_status osr__netfile_setting(struct osr__netfile *netfile, struct osr__span span,
				     bool *known);

/* From ibsim's bits, of which the widest and the fastest win. */
uint8_t osr__netfile_width(uint64_t bits);
uint8_t osr__netfile_speed(uint64_t speed, uint64_t ext);

/* A speed alone means four lanes, to ibsim and to us. */
void osr__netfile_assume_width(struct osr_net_port *port);

/* netfile_ports.c: a line such as [7] "S-01"[3]. */
enum osr_status osr__netfile_port(struct osr__netfile *netfile, struct osr__span span);

/* netfile_cables.c */

/* Both ends of every cable, and whether they mean each other. */
enum osr_status osr__netfile_tie(struct osr__netfile *netfile);

/* Is every GUID that of one node? */
enum osr_status osr__netfile_check_guids(const struct osr__netfile *netfile);

#endif
