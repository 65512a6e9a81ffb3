/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Several LIDs a port (planes.h) beside one LID a port, in two runs that do not know of each other: whatever the LMC, the
 * first LIDs have the tables of LMC 0.
 */
#include "test.h"

#include <osmroutes/sweep.h>

#include "fabrics.h"
#include "sweeps.h"
#include "topos.h"

#define MOST_LMC 3

/* The net with room for 2^MOST_LMC LIDs a port, of which each port has 2^lmc: the first LIDs are the same for all. */
static void planes_fabric(struct osr_net *net, uint8_t lmc, struct osr_arena *arena,
			  struct osr_fabric *f)
{
	struct osr_diag diag = { "" };
	enum osr_status st = osr_net_assign_lids(net, MOST_LMC, &diag);

	for (uint32_t p = 0; p < net->n_ports; p++)
		if (net->ports[p].lid && !osr_net_is_switch(net, net->ports[p].node))
			net->ports[p].lmc = lmc;
	if (st || osr_net_fabric(net, -1, arena, f, &diag))
		fail_msg("%s", diag.text);
}

/* Plane k of both is the same k, by LID; with `k` 0 the first LIDs. */
static void assert_first_rows(const struct osr_result *one, const struct osr_result *several,
			      const char *what)
{
	size_t n = one->fabric.n_switches;

	for (uint32_t d = 0; d < one->fabric.n_dests; d++) {
		uint32_t e = several->fabric.lid_dest[one->fabric.dest_lid[d]];

		if (memcmp(one->routing.lft + d * n, several->routing.lft + e * n, n))
			fail_msg("%s: LID %u has other entries than with LMC 0", what,
				 one->fabric.dest_lid[d]);
		if (one->routing.sl &&
		    memcmp(one->routing.sl + d * n, several->routing.sl + e * n, n))
			fail_msg("%s: LID %u has other SLs than with LMC 0", what,
				 one->fabric.dest_lid[d]);
	}
}

/* One engine on one net, with LMC 0 and with others. */
static void compare_lmcs(const char *engine, const char *what, struct osr_net *net)
{
	const struct osr_request req = { .max_vls = 8, .multicast = true };
	struct osr_arena arena = { 0 };
	struct osr_result one = { 0 };
	struct osr_sweep sweep;
	struct osr_diag diag = { "" };
	enum osr_status st;
	char name[160];

	planes_fabric(net, 0, &arena, &one.fabric);
	st = test_route(engine, "", req, NULL, &arena, &one, &sweep, &diag);
	for (uint8_t lmc = 1; lmc <= MOST_LMC; lmc++) {
		struct osr_arena mine = { 0 };
		struct osr_result several = { 0 };
		struct osr_sweep with;

		snprintf(name, sizeof(name), "%s on %s, LMC %u", engine, what, lmc);
		planes_fabric(net, lmc, &mine, &several.fabric);
		assert_int_equal(test_route(engine, "", req, NULL, &mine, &several, &with, &diag),
				 st);
		if (!st) {
			assert_first_rows(&one, &several, name);
			assert_int_equal(several.routing.claims, one.routing.claims);
			assert_int_equal(several.routing.n_vls, one.routing.n_vls);
			assert_int_equal(with.verdict.efi, sweep.verdict.efi);
			if (with.verdict.efi_all != sweep.verdict.efi << lmc)
				fail_msg("%s: %u routes on the busiest channel, not 2^LMC times %u",
					 name, (unsigned)with.verdict.efi_all,
					 (unsigned)sweep.verdict.efi);
			assert_int_equal(with.verdict.n_host_longer,
					 sweep.verdict.n_host_longer << lmc);
		}
		osr_arena_free(&mine);
	}
	osr_arena_free(&arena);
}

static const char *const families[] = {
	"tree m=6,4 w=1,3",
	"tree m=4,4,2 w=1,2,2",
	"tree m=5,3,3 w=1,2,3 p=1,2,1",
	"torus dims=4x4 hosts=2",
	"torus dims=5x3",
	"torus dims=3x3x3 hosts=2",
	"hyperx dims=3x4 hosts=3",
	"dragonfly a=4 h=2 p=2",
	"slimfly q=5 p=2",
	"random switches=12 links=20 hosts=3",
};

static void test_first_lids(void **state)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		for (const struct osr_engine *const *e = osr_engines; *e; e++) {
			struct osr_net net = { 0 };
			struct osr_diag diag = { "" };

			if (topo_net(families[i], NULL, &net, &diag))
				fail_msg("%s: %s", families[i], diag.text);
			compare_lmcs((*e)->name, families[i], &net);
			osr_net_free(&net);
		}
}

TEST_PROGRAM(test_first_lids)
