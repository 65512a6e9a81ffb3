/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * netfile.h - fabrics as text, as ibnetdiscover prints and ibsim reads them.
 *
 *	switchguid=0x8f10500200b50(8f10500200b50)
 *	Switch	36 "S-0008f10500200b50"		# "4036" enhanced port 0 lid 9 lmc 0
 *	[1]	"S-0008f10500108c5c"[15]		# "4036-8C5C" lid 16 4xQDR
 *	[4]	"H-003048c749cd0000"[1](3048c749cd0001) 	# "ConnectX" lid 72 4xDDR
 *
 *	caguid=0x3048c749cd0000
 *	Ca	2 "H-003048c749cd0000"		# "ConnectX"
 *	[1](3048c749cd0001) 	"S-0008f10500200b50"[4]	# lid 72 lmc 0 "4036" lid 9 4xDDR
 *
 * Node blocks start with Switch, Ca, Hca or Rt and end at an empty line; GUIDs, LIDs, names and
 * rates are optional (net.h says which values replace them). `ibnetdiscover -f` adds s=4 w=2 v=4
 * behind the rate, of which v= counts, the code of VLCap. Of ibsim's extensions the reader knows
 * `module`, `width`, `speed`, `extspeed`, the port options w= s= e= and relative GUIDs
 * (`switchguid+3`). It refuses, by name, `include`, `do` and aliases (@): they describe several
 * files or a course of events, not one fabric.
 *
 * No line is passed over but comments (#), the headings and the progress that ibnetdiscover -g and
 * -s print, and messages of ports that did not answer, which are counted (osr_net.n_failures). Any
 * other line, and text behind a line that is understood, is an error. Blanks before a line do not
 * matter.
 *
 * Every cable must stand at both of its ends and both must agree; ibsim wants the same.
 *
 * Time and memory are linear in the size of the text.
 */
#ifndef OSR_IO_NETFILE_H
#define OSR_IO_NETFILE_H

#include <stdio.h>

#include "io/net.h"
#include "io/lines.h"

/*
 * All lines of a file into an empty net, which is empty again if it fails. Messages begin with file
 * and line:
 *	fabric.topo:17: port 40 of "S-01" exceeds its 36 ports
 */
enum osr_status osr_netfile_read(struct osr_lines *in, struct osr_net *net);

/*
 * Writes a net so that ibsim and osr_netfile_read() read it: same nodes in the same order, same
 * cables, given GUIDs, LIDs, names, rates, VLs. The same net gives the same bytes. `comment`, if
 * not NULL, becomes the head of the file; it may have several lines.
 */
enum osr_status osr_netfile_write(const struct osr_net *net, const char *comment, FILE *out,
				  struct osr_diag *diag);

/* The same of a fabric as OpenSM dumps it: opensm-subnet.lst, one line for each end of a cable. */
enum osr_status osr_subnetfile_read(struct osr_lines *in, struct osr_net *net);

/*
 * Words for nodes and for speeds of one lane in opensm-subnet.lst; "??": not known. OpenSM 3.3.23
 * writes "??" from NDR on, ibdiagnet 100 and 200.
 */
extern const char *const osr_subnet_types[OSR_NET_N_TYPES], *const osr_subnet_speeds[OSR_N_SPEEDS];

/* The same of a fabric in either form; the file is closed. */
enum osr_status osr_fabricfile_read(struct osr_lines *in, struct osr_net *net);

#endif
