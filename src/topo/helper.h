/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* helper.h - helpers that the generators share; private to src/topo. */
#ifndef OSR_TOPO_HELPER_H
#define OSR_TOPO_HELPER_H

#include "topo/topo.h"

#define OSR_TOPO_MAX_DIMS 16
#define OSR_MAX_NODES 1000000u /* beyond any InfiniBand subnet; keeps products in 32 bits */

/* The generators that osr_topo_row() lists. */
extern const struct osr_topo osr_topo_tree, osr_topo_kary, osr_topo_torus, osr_topo_mesh,
	osr_topo_hypercube, osr_topo_hyperx, osr_topo_kautz, osr_topo_random, osr_topo_dragonfly,
	osr_topo_slimfly, osr_topo_megafly;

/*
 * Numbers separated by "," or "x", 1 to OSR_TOPO_MAX_DIMS of them, each at least 1. `what` names
 * the option in messages.
 */
enum osr_status osr_list(const char *text, const char *what, uint32_t *list, uint32_t *n,
			 struct osr_diag *diag);

/* Product of n factors; OSR_INVAL naming `what` if it exceeds OSR_MAX_NODES. */
enum osr_status osr_topo_product(const uint32_t *factor, uint32_t n, const char *what,
				 uint32_t *product, struct osr_diag *diag);

/* "leaf-07": the number, padded to the width of the last of `count`. */
void osr_topo_name(char *buf, size_t size, const char *prefix, uint32_t i, uint32_t count);

/*
 * How many ports a switch that needs `needed` gets: style->ports if that is set, one more if it
 * carries a management CA. OSR_INVAL if that cannot be.
 */
enum osr_status osr_switch_ports(const struct osr_topo_job *job, uint64_t needed,
				 uint32_t *n_ports);

/* Adds a switch with the style's port 0. */
uint32_t osr_switch(const struct osr_topo_job *job, uint32_t n_ports, const char *name);

static inline bool osr_topo_is_free(const struct osr_net *net, uint32_t port)
{
	return port != OSR_NONE && net->ports[port].peer == OSR_NONE;
}

/* A cable in the style's rate. */
void osr_cable(const struct osr_topo_job *job, uint32_t node_a, uint32_t port_a, uint32_t node_b,
	       uint32_t port_b);

/* `each` hosts with one port on ports 1 .. each of switches 0 .. n_switches-1. */
enum osr_status osr_hosts(const struct osr_topo_job *job, uint32_t n_switches, uint32_t each);

#endif
