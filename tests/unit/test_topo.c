/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Generators: sizes, degrees, diameters, names, refusals; degrading. */
#include "test.h"

#include <osmroutes/prng.h>
#include "fabrics.h"
#include "topos.h"

static void make_fabric(const char *what, struct osr_net *net, struct osr_arena *arena,
			struct osr_fabric *fabric)
{
	struct osr_diag diag = { "" };

	if (topo_net(what, NULL, net, &diag) || osr_net_fabric(net, -1, arena, fabric, &diag))
		fail_msg("%s: %s", what, diag.text);
}

/* Hops between the farthest switches. */
static uint32_t diameter(const struct osr_fabric *fabric)
{
	uint32_t *dist = malloc(fabric->n_switches * sizeof(*dist)), most = 0;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t e = test_distances(fabric, s, dist);

		most = e > most ? e : most;
	}
	free(dist);
	return most;
}

static void test_sizes(void **state)
{
	static const struct {
		const char *what;
		uint32_t switches, hosts, cables, diameter;
	} cases[] = {
		{ "kary k=4 n=1", 1, 4, 0, 0 },
		{ "kary k=4 n=2", 8, 16, 16, 2 },
		{ "kary k=10 n=3", 300, 1000, 2000, 4 },
		{ "tree m=3,3 w=1,2 p=1,3", 5, 9, 18, 2 },
		{ "tree m=18,18,6 w=1,18,6 p=1,1,3", 324, 1944, 3888, 4 },
		{ "tree m=2,2 w=2,1", 6, 4, 4, 0 }, /* hosts in two planes */
		{ "torus dims=5", 5, 5, 5, 2 },
		{ "torus dims=4x4 hosts=3", 16, 48, 32, 4 },
		{ "torus dims=8,8,8 hosts=2", 512, 1024, 1536, 12 },
		{ "torus dims=4x2x2x2", 32, 32, 32 + 3 * 16, 5 },
		{ "torus dims=4x2x2x2 twice=yes", 32, 32, 32 + 3 * 32, 5 },
		{ "torus dims=1x3", 3, 3, 3, 1 },
		{ "mesh dims=4x3x2", 24, 24, 3 * 6 + 2 * 8 + 12, 6 },
		{ "hypercube n=5 hosts=0", 32, 0, 80, 5 },
		{ "hyperx dims=12x8 hosts=7", 96, 672, 864, 2 },
		{ "kautz b=2 n=3", 12, 12, 21, 3 },
		{ "kautz b=3 n=2", 12, 12, 30, 2 },
		{ "kautz b=5 n=1", 6, 6, 15, 1 },
		{ "dragonfly a=8 h=4 p=4", 264, 1056, 1452, 3 },
		{ "dragonfly a=4 h=2 p=1 g=3", 12, 12, 18 + 3, 3 },
		/* Besta, Hoefler 2014: 2 q^2 switches of degree (3 q - d) / 2, q = 4 w + d. */
		{ "slimfly q=5 p=4", 50, 200, 50 * 7 / 2, 2 },
		{ "slimfly q=7", 98, 98, 98 * 11 / 2, 2 },
		{ "slimfly q=11", 242, 242, 242 * 17 / 2, 2 },
		{ "slimfly q=13 p=0", 338, 0, 338 * 19 / 2, 2 },
		/*
		 * From spine to spine at most by way of two leaves and the spines that have the
		 * cable.
		 */
		{ "megafly", 9 * 8, 9 * 16, 9 * 16 + 36, 5 },
		{ "megafly l=3 s=2 h=3 p=5 g=4", 20, 60, 24 + 6, 5 },
		{ "random switches=64 links=128 hosts=16", 64, 1024, 128, 0 },
		{ "random switches=128 links=300 hosts=16", 128, 2048, 300, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct osr_arena arena = { 0 };
		struct osr_net_counts net_counts;
		struct osr_fabric fabric;
		struct osr_net net;

		make_fabric(cases[i].what, &net, &arena, &fabric);
		net_counts = osr_net_count(&net);
		if (net_counts.switches != cases[i].switches || net_counts.cas != cases[i].hosts ||
		    net_counts.switch_cables != cases[i].cables)
			fail_msg("%s: %u switches, %u hosts, %u cables", cases[i].what,
				 net_counts.switches, net_counts.cas, net_counts.switch_cables);
		if (fabric.n_components != 1 && strcmp(cases[i].what, "tree m=2,2 w=2,1"))
			fail_msg("%s: in %u pieces", cases[i].what, fabric.n_components);
		if (cases[i].diameter && fabric.n_components == 1 &&
		    diameter(&fabric) != cases[i].diameter)
			fail_msg("%s: diameter %u", cases[i].what, diameter(&fabric));
		osr_arena_free(&arena);
		osr_net_free(&net);
	}
}

/* The port rule of the paper: k-th cable of up port b + k w to down port a + k m. */
static void test_tree_ports(void **state)
{
	struct osr_net net;
	struct osr_diag diag;
	uint32_t leaf1 = 1, spine0 = 3, spine1 = 4;

	assert_int_equal(topo_net("tree m=4,3 w=1,2 p=1,3", NULL, &net, &diag), OSR_OK);
	assert_string_equal(osr_net_id(&net, leaf1), "leaf-1");
	assert_string_equal(osr_net_id(&net, spine1), "spine-1");
	for (uint32_t k = 0; k < 3; k++) {
		assert_int_equal(net.ports[osr_net_port(&net, leaf1, 5 + 0 + k * 2)].peer,
				 osr_net_port(&net, spine0, 1 + 1 + k * 3));
		assert_int_equal(net.ports[osr_net_port(&net, leaf1, 5 + 1 + k * 2)].peer,
				 osr_net_port(&net, spine1, 1 + 1 + k * 3));
	}
	assert_int_equal(net.ports[osr_net_port(&net, leaf1, 3)].peer,
			 osr_net_port(&net, 5 + 4 + 2, 1));
	assert_string_equal(osr_net_id(&net, 5 + 4 + 2), "h06");
	osr_net_free(&net);
}

/* No switch twice beside another, none beside itself, degrees as asked. */
static void test_random_is_simple(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_fabric fabric;
	struct osr_net net;

	for (uint32_t seed = 0; seed < 40; seed++) {
		char what[128];

		snprintf(what, sizeof(what), "random switches=30 links=75 degree=5 seed=%u", seed);
		make_fabric(what, &net, &arena, &fabric);
		assert_int_equal(fabric.n_components, 1);
		for (uint32_t s = 0; s < fabric.n_switches; s++) {
			uint64_t beside = 0;

			assert_int_equal(fabric.chan_row[s + 1] - fabric.chan_row[s], 5);
			for (uint32_t c = fabric.chan_row[s]; c < fabric.chan_row[s + 1]; c++) {
				assert_false(beside >> fabric.chan_dst[c] & 1);
				beside |= UINT64_C(1) << fabric.chan_dst[c];
			}
		}
		osr_arena_free(&arena);
		osr_net_free(&net);
	}
}

/* The published first outputs of splitmix64 for this seed. Seeds of generators: cli.topologies. */
static void test_seeds(void **state)
{
	struct osr_prng prng = { 1234567 };

	assert_int_equal(osr_prng_next(&prng), UINT64_C(6457827717110365317));
	assert_int_equal(osr_prng_next(&prng), UINT64_C(3203168211198807973));
	assert_int_equal(osr_prng_next(&prng), UINT64_C(9817491932198370423));
}

static void refused(const char *what, const struct osr_topo_style *style, const char *sentence)
{
	struct osr_diag diag = { "" };
	struct osr_net net;

	assert_int_equal(topo_net(what, style, &net, &diag), OSR_INVAL);
	assert_string_equal(diag.text, sentence);
	assert_null(net.nodes);
}

static void test_refusals(void **state)
{
	static const struct osr_topo_style ports8 = { .ports = 8 };
	static const struct osr_topo_style mgmt8 = { .ports = 8, .mgmt = true };

	refused("torus dims=4x", NULL,
		"dims = \"4x\": expected 1 to 16 numbers from 1 on, as in 8x8x4 or 8,8,4");
	refused("torus dims=0", NULL,
		"dims = \"0\": expected 1 to 16 numbers from 1 on, as in 8x8x4 or 8,8,4");
	refused("torus dims=1000x1001", NULL, "more than 1000000 switches: too large for a subnet");
	refused("torus dims=300x300 hosts=12", NULL, "1080000 hosts: too many for a subnet");
	refused("tree m=4,4 w=1", NULL, "m has 2 numbers, w 1: one per level, as many in each");
	refused("tree m=200,4 w=1,60", NULL,
		"a switch of this fabric needs 260 ports, 254 are possible");
	refused("kary k=5 n=2", &ports8, "a switch of this fabric needs 10 ports, not 8");
	refused("kary k=4 n=2", &mgmt8, "a switch of this fabric needs 9 ports, not 8");
	refused("random switches=10 links=8", NULL,
		"10 switches need at least 9 links to be connected");
	refused("random switches=4 links=7", NULL,
		"only 6 of 7 cables fit between 4 switches with at most 253 each");
	refused("dragonfly a=2 h=1 g=4", NULL, "4 groups: a h + 1 = 3 can be cabled to each other");
	refused("megafly s=2 h=1 g=4", NULL, "4 groups: s h + 1 = 3 can be cabled to each other");
	refused("slimfly q=9", NULL, "q = 9 is no odd prime");
	assert_null(osr_topo_find("donut"));
}

static void test_style(void **state)
{
	static const struct osr_topo_style style = {
		.width = 4, .speed = OSR_SPEED_HDR, .ports = 36, .mgmt = true, .enhanced_sp0 = true
	};
	struct osr_diag diag;
	struct osr_net net;

	assert_int_equal(topo_net("kary k=2 n=2", &style, &net, &diag), OSR_OK);
	assert_int_equal(osr_net_count(&net).cas, 4 + 4);
	for (uint32_t s = 0; s < 4; s++) {
		uint32_t peer = net.ports[osr_net_port(&net, s, 36)].peer;

		assert_int_equal(net.nodes[s].n_ports, 36);
		assert_true(net.nodes[s].enhanced_sp0);
		assert_int_equal(net.nodes[net.ports[peer].node].type, OSR_NET_CA);
		assert_int_equal(net.ports[peer].speed, OSR_SPEED_HDR);
	}
	assert_string_equal(osr_net_id(&net, net.n_nodes - 1), "mgmt-spine-1");
	osr_net_free(&net);
}

/*
 * What is left: switches, hosts, cables between switches, pieces; and how many cables and switches
 * went.
 */
static void test_degrade(void **state)
{
	static const struct {
		const char *what;
		struct osr_degrade how;
		uint32_t switches, hosts, cables, pieces, gone_cables, gone_switches;
	} cases[] = {
		/* 5 % of 192 cables, rounded down. */
		{ "tree m=12,4,4 w=1,4,4 p=1,2,1",
		  { .links_percent = 5, .seed = 7, .keep_connected = true },
		  48,
		  192,
		  183,
		  1,
		  9,
		  0 },
		/*
		 * As much as can go without falling apart leaves a tree; without that, everything
		 * goes.
		 */
		{ "torus dims=4x4",
		  { .n_links = 1000, .seed = 1, .keep_connected = true },
		  16,
		  16,
		  15,
		  1,
		  17,
		  0 },
		{ "torus dims=4x4", { .links_percent = 100, .seed = 1 }, 16, 16, 0, 16, 32, 0 },
		/* Spines have no hosts: they go, hosts stay. Every switch of a torus has some. */
		{ "kary k=4 n=2",
		  { .n_switches = 3, .seed = 2, .keep_connected = true },
		  5,
		  16,
		  4,
		  1,
		  0,
		  3 },
		{ "torus dims=4x4 hosts=2", { .n_switches = 3, .seed = 2 }, 16, 32, 32, 1, 0, 0 },
		{ "torus dims=4x4 hosts=2",
		  { .switches_percent = 25, .seed = 2, .hosts_too = true, .keep_connected = true },
		  12,
		  24,
		  0,
		  1,
		  0,
		  4 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct osr_net from, net;
		struct osr_arena arena = { 0 };
		struct osr_diag diag = { "" };
		struct osr_net_counts net_counts;
		struct osr_degraded done;
		struct osr_fabric fabric;

		assert_int_equal(topo_net(cases[i].what, NULL, &from, &diag), OSR_OK);
		done = degrade_net(&from, cases[i].how, &net);
		assert_int_equal(osr_net_fabric(&net, -1, &arena, &fabric, &diag), OSR_OK);
		net_counts = osr_net_count(&net);
		assert_int_equal(net_counts.switches, cases[i].switches);
		assert_int_equal(net_counts.cas, cases[i].hosts);
		if (cases[i].cables)
			assert_int_equal(net_counts.switch_cables, cases[i].cables);
		assert_int_equal(fabric.n_components, cases[i].pieces);
		assert_int_equal(done.n_links, cases[i].gone_cables);
		assert_int_equal(done.n_switches, cases[i].gone_switches);
		/* GUIDs stay what they were although nodes may have gone. */
		for (uint32_t k = 0; !done.n_switches && k < net.n_nodes; k++) {
			assert_int_equal(net.nodes[k].guid, from.nodes[k].guid);
			assert_int_equal(net.nodes[k].guid_from, OSR_NET_GUID_GIVEN);
		}
		osr_arena_free(&arena);
		osr_net_free(&from);
		osr_net_free(&net);
	}
}

TEST_PROGRAM(test_sizes, test_tree_ports, test_random_is_simple, test_seeds, test_refusals,
	     test_style, test_degrade)
