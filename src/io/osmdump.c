/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/osmdump.h"

#include <osmroutes/each.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/keyed.h"
#include "io/netfile.h"
#include "io/pathsl.h"
#include "names/names.h"

#define HOPS_UNKNOWN 255

struct job {
	const struct osr_osmdump *dump;
	const struct osr_net *net;
	const struct osr_fabric *fabric;
	const struct osr_generation *gen;
	const struct osr_routing *routing; /* of gen */
	/* In the order of OpenSM's maps: by GUID, last byte first. */
	struct osr_keyed *switches; /* [n_switches] */
	struct osr_keyed *nodes;    /* [net->n_nodes] */
	struct osr_keyed *ports; /* [n_ports] end ports with a LID, port 0 of switches among them */
	uint32_t n_switches, n_ports;
	uint16_t sm_lid;
	uint8_t *hops; /* [n_dests * n_switches] switches on the way, HOPS_UNKNOWN = none */
};

static struct osr_keyed item_of(uint64_t guid, uint32_t index)
{
	return (struct osr_keyed){ .key = __builtin_bswap64(guid), .index = index };
}

/* The first end port of the file is where ibsim puts the subnet manager: its LID marks "-SM". */
static bool osmdump_sort(struct job *job)
{
	job->switches = calloc((size_t)job->fabric->n_switches + 1, sizeof(*job->switches));
	job->nodes = calloc((size_t)job->net->n_nodes + 1, sizeof(*job->nodes));
	job->ports = calloc((size_t)job->net->n_ports + 1, sizeof(*job->ports));
	if (!job->switches || !job->nodes || !job->ports)
		return false;
	/*
	 * A switch without a cable is not there for OpenSM, nor has opensm-subnet.lst a line for
	 * it.
	 */
	for (uint32_t s = 0; s < job->fabric->n_switches; s++)
		if (!osr_pathsl_alone(job->fabric, s))
			job->switches[job->n_switches++] = item_of(job->fabric->sw_guid[s], s);
	for (uint32_t n = 0; n < job->net->n_nodes; n++)
		job->nodes[n] = item_of(job->net->nodes[n].guid, n);
	for (uint32_t p = 0; p < job->net->n_ports; p++) {
		const struct osr_net_port *net_port = &job->net->ports[p];

		bool is_switch = osr_net_is_switch(job->net, net_port->node);
		uint64_t guid = job->net->nodes[net_port->node].guid;

		if (!net_port->lid ||
		    (is_switch &&
		     (osr_net_port_num(job->net, p) ||
		      osr_pathsl_alone(job->fabric, osr_fabric_switch_by_guid(job->fabric, guid)))))
			continue;
		if (job->n_ports == 0)
			job->sm_lid = net_port->lid;
		job->ports[job->n_ports++] = item_of(net_port->guid, p);
	}
	osr_invariant(job->n_switches <= job->fabric->n_switches);
	osr_invariant(job->n_ports <= job->net->n_ports);
	osr_keyed_sort(job->switches, job->n_switches);
	osr_keyed_sort(job->nodes, job->net->n_nodes);
	osr_keyed_sort(job->ports, job->n_ports);
	return true;
}

/* Each destination is a tree: the hops found for one switch shorten the walk of the next. */
static bool osmdump_count_hops(struct job *job)
{
	size_t n = (size_t)job->fabric->n_dests * job->fabric->n_switches;

	job->hops = malloc(n + 1);
	if (!job->hops)
		return false;
	memset(job->hops, HOPS_UNKNOWN, n);
	for (uint32_t d = 0; d < job->fabric->n_dests; d++) {
		uint8_t *hops = job->hops + (size_t)d * job->fabric->n_switches;

		hops[job->fabric->dest_switch[d]] = 0;
		for (uint32_t s = 0; s < job->fabric->n_switches; s++) {
			uint32_t v = s, way = 0, c;

			while (way < job->fabric->n_switches && hops[v] == HOPS_UNKNOWN &&
			       (c = osr_port_channel(job->fabric, v,
						     osr_lft(job->routing, v, d))) != OSR_NONE) {
				v = job->fabric->chan_dst[c];
				way++;
			}
			if (hops[v] != HOPS_UNKNOWN && way + hops[v] < HOPS_UNKNOWN)
				hops[s] = way + hops[v];
		}
	}
	return true;
}

/* Of a node in the net, or of its end port in the fabric. */
static const char *type_name(bool is_switch, bool is_ca)
{
	if (is_switch)
		return "Switch";
	return is_ca ? "Channel Adapter" : "Router";
}

/* ---- the files ------------------------------------------------------------------------------ */

/* As `opensm -R file -U` reads it. Entries beyond the ports (255) are left out, as there. */
static void write_lfts(const struct job *job, FILE *out)
{
	const struct osr_fabric *fabric = job->fabric;

	for (uint32_t i = 0; i < job->n_switches; i++) {
		uint32_t s = job->switches[i].index, sp0 = fabric->term_row[s];
		bool has_lid =
			sp0 < fabric->term_row[s + 1] && fabric->term_role[sp0] == OSR_ROLE_SP0;
		char buf[32];
		const char *name = osr_switch_name(fabric, s, buf);

		fprintf(out,
			"Unicast lids [0-%" PRIu32 "] of switch Lid %u guid 0x%016" PRIx64
			" ('%.*s'):\n",
			fabric->max_lid, has_lid ? fabric->term_lid[sp0] : 0, fabric->sw_guid[s],
			(int)osr_name_own(name, fabric->sw_guid[s]), name);
		for (uint32_t d = 0; d < fabric->n_dests; d++) {
			uint32_t t = fabric->dest_term[d], role = fabric->term_role[t];
			uint8_t port = osr_lft(job->routing, s, d);

			if (port > fabric->sw_n_ports[s])
				continue;
			name = osr_terminal_name(fabric, t, buf);
			fprintf(out, "0x%04x %03u # %s portguid 0x%016" PRIx64 ": '%.*s'\n",
				fabric->dest_lid[d], port,
				type_name(role == OSR_ROLE_SP0, role == OSR_ROLE_CA),
				fabric->term_guid[t], (int)osr_name_own(name, fabric->term_guid[t]),
				name);
		}
		fprintf(out, "%" PRIu32 " lids dumped\n", fabric->max_lid);
	}
}

/* Hops count the last cable too when it leads to a CA or router. */
static void write_fdbs(const struct job *job, FILE *out)
{
	const struct osr_fabric *fabric = job->fabric;

	for (uint32_t i = 0; i < job->n_switches; i++) {
		uint32_t s = job->switches[i].index;

		fprintf(out,
			"dump_ucast_routes: Switch 0x%016" PRIx64
			"\nLID    : Port : Hops : Optimal\n",
			fabric->sw_guid[s]);
		for (uint32_t lid = 1; lid <= fabric->max_lid; lid++) {
			uint32_t d = fabric->lid_dest[lid];
			uint8_t port = d == OSR_NONE ? OSR_NO_PATH : osr_lft(job->routing, s, d),
				hops;

			fprintf(out, "0x%04X : ", lid);
			hops = d == OSR_NONE ? HOPS_UNKNOWN
					     : job->hops[(size_t)d * fabric->n_switches + s];
			if (port == OSR_NO_PATH)
				fputs("UNREACHABLE\n", out);
			else if (hops == HOPS_UNKNOWN)
				fprintf(out, "%03u  : HOPS UNKNOWN\n", port);
			else
				fprintf(out, "%03u  : %02d   : yes\n", port,
					hops + (fabric->term_role[fabric->dest_term[d]] !=
						OSR_ROLE_SP0));
		}
	}
}

uint8_t osr_osmdump_default_vl(uint8_t sl, uint8_t vls)
{
	/*
	 * OpenSM's default map is the identity but for SL 15, masked by the operational VLs. Ports
	 * run 1, 2, 4, 8 or 15 VLs: for a budget in between they run the next larger number.
	 */
	uint8_t vl = sl < 15 ? sl : 7;
	uint8_t n_vls = 1;

	osr_invariant(sl < 16);
	while (n_vls < vls && n_vls < 16)
		n_vls *= 2;
	return vl & (n_vls - 1);
}

/* row NULL: OpenSM's default. A row that is not known is left out. */
static void write_sl2vl_row(const struct job *job, const uint8_t *row, uint32_t in,
			    uint32_t out_port, FILE *out)
{
	if (row && row[0] == OSR_VL_UNSET)
		return;
	fprintf(out, "%-3" PRIu32 " %-3" PRIu32 " :", in, out_port);
	for (uint8_t sl = 0; sl < 16; sl++)
		fprintf(out, " %-2d", row ? row[sl] : osr_osmdump_default_vl(sl, job->dump->vls));
	fputc('\n', out);
}

static void write_port_head(const struct job *job, uint32_t port, FILE *out)
{
	const struct osr_net_port *net_port = &job->net->ports[port];
	uint8_t type = job->net->nodes[net_port->node].type;

	fprintf(out, "%s 0x%016" PRIx64 ", base LID %u, \"%s\"\n",
		type_name(type == OSR_NET_SWITCH, type == OSR_NET_CA), net_port->guid,
		net_port->lid, osr_net_name(job->net, net_port->node));
}

static uint32_t dest_of(const struct job *job, uint16_t lid)
{
	return lid <= job->fabric->max_lid ? job->fabric->lid_dest[lid] : OSR_NONE;
}

/* The SL2VL table by which the end port of a CA or router sends. */
static const uint8_t *end_port_sl2vl(const struct job *job, uint32_t port)
{
	uint32_t d = dest_of(job, job->net->ports[port].lid);

	if (job->gen->term_sl2vl && d != OSR_NONE)
		return job->gen->term_sl2vl[job->fabric->dest_term[d]];
	return job->routing->sl2vl ? job->routing->ca_sl2vl : NULL;
}

static void osmdump_write_sl2vl(const struct job *job, FILE *out)
{
	static const char line[] = "#--------------------------------------------------------\n";

	for (uint32_t i = 0; i < job->n_ports; i++) {
		uint32_t port = job->ports[i].index;
		const struct osr_net_node *node = &job->net->nodes[job->net->ports[port].node];
		bool is_switch = node->type == OSR_NET_SWITCH;
		uint32_t s = osr_fabric_switch_by_guid(job->fabric, node->guid);
		uint32_t n = is_switch ? node->n_ports : 0;

		write_port_head(job, port, out);
		fprintf(out, "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n%s", line);
		if (!is_switch)
			write_sl2vl_row(job, end_port_sl2vl(job, port), 0, 0, out);
		/*
		 * OpenSM lists only output ports with a cable, port 0 as input but never as output.
		 */
		for (uint32_t o = 1; o <= n; o++) {
			if (job->net->ports[node->port_row + o].peer == OSR_NONE)
				continue;
			for (uint32_t in = 0; in <= n; in++) {
				const uint8_t *row = NULL;

				if (job->routing->sl2vl && s != OSR_NONE)
					row = job->routing->sl2vl[job->routing->sl2vl_row[s] +
								  in * (n + 1) + o];
				write_sl2vl_row(job, row, in, o, out);
			}
		}
		fprintf(out, "%s\n", line);
	}
}

/* OpenSM prints the vendor with six digits at the near end and eight at the far end. */
static void write_cable_end(const struct job *job, uint32_t port, int vendor_digits, FILE *out)
{
	const struct osr_net_port *net_port = &job->net->ports[port];
	const struct osr_net_node *node = &job->net->nodes[net_port->node];
	uint16_t lid = osr_net_lid(job->net, port);

	fprintf(out,
		"{ %s%s Ports:%02X SystemGUID:%016" PRIx64 " NodeGUID:%016" PRIx64
		" PortGUID:%016" PRIx64 " VenID:%0*" PRIX32 " DevID:%04" PRIX32
		" Rev:000000A1 {%s} LID:%04X PN:%02" PRIX32 " } ",
		osr_subnet_types[node->type], lid == job->sm_lid ? "-SM" : "", node->n_ports,
		node->sysimg_guid ? node->sysimg_guid : node->guid, node->guid, net_port->guid,
		vendor_digits, node->vendid, node->devid, osr_net_name(job->net, net_port->node),
		lid, osr_net_port_num(job->net, port));
}

/*
 * If no rate is known, all are written as 4x SDR, as ibsim has them; else unknown ones as "??", so
 * that they stay unknown when the file is read again.
 */
static void write_subnet(const struct job *job, FILE *out)
{
	bool any = false;

	for (uint32_t p = 0; p < job->net->n_ports; p++)
		any |= job->net->ports[p].width || job->net->ports[p].speed;
	for (uint32_t i = 0; i < job->net->n_nodes; i++) {
		const struct osr_net_node *node = &job->net->nodes[job->nodes[i].index];

		for (uint32_t p = node->port_row + 1; p <= node->port_row + node->n_ports; p++) {
			uint8_t width, speed;

			if (job->net->ports[p].peer == OSR_NONE)
				continue;
			osr_net_link_rate(job->net, p, &width, &speed);
			write_cable_end(job, p, 6, out);
			write_cable_end(job, job->net->ports[p].peer, 8, out);
			if (!width && any)
				fputs("PHY=??", out);
			else
				fprintf(out, "PHY=%dx", width ? width : 4);
			fprintf(out, " LOG=ACT SPD=%s\n",
				osr_subnet_speeds[any ? speed : OSR_SPEED_SDR]);
		}
	}
}

/*
 * Of the end port with this LID, on switch s, to a LID. Without an SL table it is the default, SL
 * 0.
 */
static uint8_t path_sl(const struct job *job, uint16_t lid, uint32_t s, uint32_t d)
{
	const struct osr_paths *paths = job->gen->paths;
	size_t at = (size_t)d * job->fabric->n_switches + s;
	uint32_t own = dest_of(job, lid);
	uint32_t row =
		paths && own != OSR_NONE ? paths->row[job->fabric->dest_term[own]] : OSR_NONE;

	if (paths)
		return row == OSR_NONE ? OSR_NO_SL
				       : paths->sl[(size_t)row * job->fabric->n_dests + d];
	if (job->routing->lft[at] == OSR_NO_PATH)
		return OSR_NO_SL;
	return job->routing->sl ? job->routing->sl[at] : 0;
}

/* In the form ibdmchk -c reads where end ports of a switch differ, or it is asked for. */
static void write_path_sl(const struct job *job, FILE *out)
{
	if (!job->dump->long_sl && !job->gen->paths) {
		osr_pathsl_write(job->fabric, job->routing, out);
		return;
	}
	for (uint32_t i = 0; i < job->n_ports; i++) {
		const struct osr_net_port *port = &job->net->ports[job->ports[i].index];
		uint32_t node = port->node, s;

		/* The switch it sends into, if its cable does not end elsewhere. */
		if (!osr_net_is_switch(job->net, node) && port->peer != OSR_NONE)
			node = job->net->ports[port->peer].node;
		s = osr_net_is_switch(job->net, node)
			    ? osr_fabric_switch_by_guid(job->fabric, job->net->nodes[node].guid)
			    : OSR_NONE;
		if (s == OSR_NONE)
			continue;
		write_port_head(job, job->ports[i].index, out);
		for (uint32_t d = 0; d < job->fabric->n_dests; d++) {
			uint8_t sl = path_sl(job, port->lid, s, d);

			if (sl != OSR_NO_SL)
				fprintf(out, "0x%04x : %d\n", job->fabric->dest_lid[d], sl);
		}
		fputc('\n', out);
	}
}

void osr_osmdump_groups(const struct osr_fabric *fabric, const struct osr_groups *groups, FILE *out)
{
	if (!groups)
		return;
	OSR_EACH_SWITCH(s, fabric) {
		fprintf(out, "Switch 0x%016" PRIx64 "\nLID    : Out Port(s)\n", fabric->sw_guid[s]);
		for (uint32_t g = 0; g < groups->n; g++) {
			const uint64_t *ports = groups->ports[(size_t)g * fabric->n_switches + s];

			if (!(ports[0] | ports[1] | ports[2] | ports[3]))
				continue;
			fprintf(out, "0x%04X :", groups->mlid[g]);
			for (unsigned p = 0; p < 256; p++)
				if (ports[p / 64] >> p % 64 & 1)
					fprintf(out, " 0x%03X", p);
			fputc('\n', out);
		}
	}
}

static void write_groups(const struct job *job, FILE *out)
{
	osr_osmdump_groups(job->fabric, job->gen->groups, out);
}

enum osr_status osr_osmdump_write(const struct osr_osmdump *dump, const struct osr_net *net,
				  const struct osr_fabric *fabric, const struct osr_generation *gen,
				  struct osr_diag *diag)
{
	static const struct {
		const char *name;
		void (*content)(const struct job *, FILE *);
	} files[] = {
		{ "opensm-lfts.dump", write_lfts },
		{ "opensm.fdbs", write_fdbs },
		{ "opensm-sl2vl.dump", osmdump_write_sl2vl },
		{ "opensm-subnet.lst", write_subnet },
		{ "opensm.mcfdbs", write_groups }, /* also if it is empty: ibdmchk insists on it */
		{ "opensm-path-sl.dump", write_path_sl },
	};
	struct job job = {
		.dump = dump, .net = net, .fabric = fabric, .gen = gen, .routing = gen->routing
	};
	enum osr_status st = OSR_OK;

	if (!osmdump_sort(&job) || !osmdump_count_hops(&job))
		st = osr_fail(diag, OSR_NOMEM, "out of memory for the dumps of %" PRIu32 " LIDs",
			      fabric->n_dests);
	else if (!job.n_switches)
		st = osr_fail(
			diag, OSR_INVAL,
			"no switch has a cable: OpenSM's dumps list cables and what they join");
	for (size_t i = 0; !st && i < sizeof(files) / sizeof(files[0]); i++) {
		char path[PATH_MAX];
		FILE *out;
		bool bad;

		snprintf(path, sizeof(path), "%.4000s/%s", dump->dir, files[i].name);
		/* No SLs are known, so the file of a previous dump must not stay either. */
		if (files[i].content == write_path_sl && gen->sls_unknown) {
			unlink(path);
			continue;
		}
		out = fopen(path, "w");
		if (out)
			files[i].content(&job, out);
		bad = !out || ferror(out);
		if (out)
			bad |= fclose(out) != 0;
		if (bad)
			st = osr_fail(diag, OSR_INVAL, "%s: %s", path, strerror(errno));
	}
	free(job.switches);
	free(job.nodes);
	free(job.ports);
	free(job.hops);
	return st;
}
