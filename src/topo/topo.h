/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * topo.h - fabric generators.
 *
 * Each is a struct osr_topo: a name, an option table (osmroutes/params.h) and a function that fills
 * a struct osr_net. Same options, same bytes, on every machine: random ones draw from
 * osmroutes/prng.h.
 *
 *	const struct osr_topo *t = osr_topo_find("torus");
 *	struct osr_values v;
 *
 *	osr_values_default(&v, t->params);
 *	osr_values_set(&v, t->params, "dims", "8x8x8", diag);
 *	st = osr_topo_make(t, &v, &style, &net, diag);
 *
 * Switches come first, then hosts; hosts are spread block by block (h0000 .. on the first switch).
 * On a switch, hosts (down links of a tree) have the lowest ports. Nodes have no GUIDs and ports no
 * LIDs: io/net.h describes the values that they get later.
 */
#ifndef OSR_TOPO_TOPO_H
#define OSR_TOPO_TOPO_H

#include <osmroutes/params.h>

#include "io/net.h"

/* Options that every generator has besides its own. */
struct osr_topo_style {
	uint8_t width, speed; /* of every cable; 0 = say nothing */
	uint8_t ports;        /* every switch has this many ports; 0 = as many as it needs */
	bool mgmt;            /* one more CA on every switch, spines included, on its last port */
	bool enhanced_sp0;
};

/* One call of a generator. */
struct osr_topo_job {
	const struct osr_values *values;
	const uint64_t *num; /* of these */
	const struct osr_topo_style *style;
	struct osr_net *net; /* to be filled */
	struct osr_diag *diag;
};

struct osr_topo {
	const char *name;
	const char *summary;
	const struct osr_param *params;
	enum osr_status (*make)(const struct osr_topo_job *job);
};

/* The i-th generator, NULL behind the last; or the one of this name, or NULL. */
const struct osr_topo *osr_topo_row(uint32_t i);
const struct osr_topo *osr_topo_find(const char *name);

/* Fills an empty net; it is empty again if that fails. */
enum osr_status osr_topo_make(const struct osr_topo *topo, const struct osr_values *values,
			      const struct osr_topo_style *style, struct osr_net *net,
			      struct osr_diag *diag);

/*
 * Removes cables and switches from a net, chosen by `seed` among cables between switches and among
 * switches without hosts (with them if hosts_too). A switch leaves with its cables; CAs and routers
 * that lose their last cable leave too.
 */
struct osr_degrade {
	uint32_t n_links, n_switches; /* how many, besides the percentages below */
	double links_percent,
		switches_percent; /* 0..100 percent of the parts that may go, rounded down */
	uint64_t seed;
	bool keep_connected; /* leave a cable or switch in if the others would fall apart */
	bool hosts_too;
};

/* The result of degrading. */
struct osr_degraded {
	/*
	 * Removed, and how many that should be; cables between switches, without the cables of
	 * removed switches.
	 */
	uint32_t n_links, links_wanted;
	uint32_t n_switches, switches_wanted;
};

/*
 * Switches without hosts (osmroutes/fabric.h), in transit[n_nodes]. False: out of memory. O(ports).
 */
bool osr_topo_transit(const struct osr_net *net, bool *transit);

/* Parts to be removed: gone[n_nodes], switches only; cut[n_ports], both ends of a cable. */
enum osr_status osr_topo_choose(const struct osr_net *from, const struct osr_degrade *how,
				bool *gone, bool *cut, struct osr_degraded *done,
				struct osr_diag *diag);

/*
 * Removes exactly these: gone[n_nodes], and the cables at cut[n_ports], one of the two ends being
 * enough. CAs and routers that lose their last switch leave too. `from` is left as it is, `to` must
 * be empty. Every node of `to` keeps its GUID, explicitly.
 */
enum osr_status osr_topo_remove(const struct osr_net *from, const bool *gone, const bool *cut,
				struct osr_net *to, struct osr_diag *diag);

#endif
