/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever an opensm-lfts.dump holds, the LMCs taken out of it are such that LIDs may have: refused with a
 * sentence that names file and line otherwise.
 */
#include "fuzz.h"

#include "io/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osr_net net = { 0 };
	struct osr_diag diag = { "" };
	struct osr_lines in;

	for (uint32_t i = 0; i < 3; i++) {
		uint32_t port = osr_net_port(&net, osr_net_ca(&net, 1, "h"), 1);

		insist(port != OSR_NONE, "net", "out of memory");
		net.ports[port].guid = 0x11 + i;
		net.ports[port].lid = (uint16_t)(4 << i);
	}
	insist(!osr_lines_text(&in, (const char *)data, size, "input", &diag), "lines", diag.text);
	if (osr_tables_lmcs(&in, &net, &diag))
		insist(!strncmp(diag.text, "input:", 6), "refused without a place", diag.text);
	for (uint32_t p = 0; p < net.n_ports; p++)
		insist(net.ports[p].lmc <= 7 &&
			       !(net.ports[p].lid & ((1u << net.ports[p].lmc) - 1)),
		       "LMC", "one that its LID cannot have");
	osr_lines_close(&in);
	osr_net_free(&net);
	return 0;
}
