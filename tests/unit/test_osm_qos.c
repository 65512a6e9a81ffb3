/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osm/qos.c: what OpenSM's QoS options come to, which SL a path gets, and that every VL in use gets
 * a weight.
 */
#include "test.h"

#include "osm/slvl.h"
#include "osm/sweep.h"
#include "osm/upkeep.h"

#include "fabrics.h"
#include "tables.h"

static unsigned n_said;

void osr_log(struct osm_opensm *osm, osm_log_level_t level, const char *fmt, ...)
{
	n_said++;
}

osm_log_level_t osr_log_details(const struct plugin *p)
{
	return OSM_LOG_INFO;
}

/* One switch is left out, and has confirmed this table. */
static uint64_t left_out;
static ib_slvl_table_t confirmed;

bool osr_upkeep_out(const struct plugin *p, uint64_t guid, uint8_t port)
{
	return guid && guid == left_out && !port;
}

const ib_slvl_table_t *osr_slvl_confirmed(const osm_switch_t *sw, unsigned in, unsigned out)
{
	return &confirmed;
}

/* A plugin in a subnet manager; its first sweep; a port of a switch. */
static struct osm_opensm osm;
static struct plugin plugin;
static struct osm_routing_engine re;
static struct engine_ctx ctx;
static struct sweep_slot *const slot = &ctx.slot[0];
static osm_node_t node;
static osm_physp_t port;

static void begin(void)
{
	memset(&osm, 0, sizeof(osm));
	re = (struct osm_routing_engine){ .context = &ctx };
	plugin = (struct plugin){ .osm = &osm };
	ctx = (struct engine_ctx){ .plugin = &plugin, .re = &re, .current = slot };
	node = (osm_node_t){ .node_info.node_type = IB_NODE_TYPE_SWITCH };
	port = (osm_physp_t){ .port_num = 1, .p_node = &node };
}

/* The type's own option before the general one, before OpenSM's default. */
static void test_options(void **state)
{
	static char general[] = "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15";
	static char own[] = "15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0";
	static char low[] = "0:4,1:0,2:64,17:1", high[] = "3:1,4:0";
	struct snapshot snap = { .n_kinds = QOS_N_TYPES,
				 .kind = { { QOS_CA, 15, 64, 64 },
					   { QOS_SW0, 15, 2, 0 },
					   { QOS_SWE, 15, 4, 1 },
					   { QOS_RTR, 15, 0, 2 } } };
	static const uint16_t weighted[] = {
		1 << 0 | 1 << 2 | 1 << 3, /* VL 17 is VL 2 */
		1 << 0,
		1 << 0 | 1 << 2 | 1 << 3,
		1 << 3,
	};
	struct qos_tables tables;
	uint16_t missing;

	begin();
	osm.subn.opt.qos_options.vlarb_low = low;
	osm.subn.opt.qos_options.vlarb_high = high;
	osr_qos_tables(&osm, &snap, &tables);
	for (unsigned type = 0; type < QOS_N_TYPES; type++) {
		for (uint8_t sl = 0; sl < 15; sl++)
			assert_int_equal(tables.sl2vl[type][sl], sl);
		assert_int_equal(osr_qos_served(&tables, &tables.kind[type], 0, &missing),
				 weighted[type]);
	}
	osm.subn.opt.qos_options.sl2vl = own;
	osm.subn.opt.qos_swe_options.sl2vl = general;
	osr_qos_tables(&osm, &snap, &tables);
	for (uint8_t sl = 0; sl < 16; sl++) {
		assert_int_equal(tables.sl2vl[QOS_CA][sl], 15 - sl);
		assert_int_equal(tables.sl2vl[QOS_SW0][sl], 15 - sl);
		assert_int_equal(tables.sl2vl[QOS_RTR][sl], 15 - sl);
		assert_int_equal(tables.sl2vl[QOS_SWE][sl], sl);
	}
}

/*
 * A table of more than 32 entries: OpenSM sends 32, and what is left of the capability after them.
 */
static void test_large_table(void **state)
{
	char text[512] = "", none[] = "14:0";

	begin();
	/* Entry i is VL i / 5. */
	for (unsigned i = 0; i < 64; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u:1,", i / 5);
	osm.subn.opt.qos_options.vlarb_low = text;
	osm.subn.opt.qos_options.vlarb_high = none;
	for (unsigned cap = 1; cap <= 64; cap++) {
		unsigned sent = cap <= 32 ? cap : 32 + cap % 32;
		struct snapshot snap = { .n_kinds = 2,
					 .kind = { { QOS_CA, 15, (uint8_t)cap, 0 },
						   { QOS_SW0, 15, 1, 0 } } };
		struct qos_tables tables;
		uint16_t missing;

		osr_qos_tables(&osm, &snap, &tables);
		assert_int_equal(osr_qos_served(&tables, &tables.kind[0], 0, &missing),
				 (2u << ((sent - 1) / 5)) - 1);
		assert_int_equal(osr_qos_served(&tables, &tables.kind[1], 0, &missing), 1);
	}
}

/* The SL of the tables for each pair, the caller's where any is right or a LID is unknown. */
static void test_path_sl(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric test;
	const struct osr_fabric *fabric = &slot->result.fabric;
	const struct osr_routing *routing = &slot->result.routing;

	begin();
	test_fabric_named(&test, 8); /* three components */
	slot->result.fabric = test.fabric;
	table_make(TABLE_UPDOWN_SL, &test.fabric, &arena, 3, &slot->result.routing);
	assert_true(routing->n_vls > 1);
	ctx.current = NULL;
	assert_int_equal(osr_path_sl(&ctx, 9, cl_hton16(1), cl_hton16(1)), 9);
	ctx.current = slot;
	for (uint32_t a = 0; a < fabric->n_dests; a++)
		for (uint32_t b = 0; b < fabric->n_dests; b++) {
			uint32_t s = fabric->dest_switch[a];
			size_t at = (size_t)b * fabric->n_switches + s;
			ib_net16_t from = cl_hton16(fabric->dest_lid[a]),
				   to = cl_hton16(fabric->dest_lid[b]);
			uint8_t sl = routing->lft[at] == OSR_NO_PATH ? 9 : routing->sl[at];

			slot->verdict.proven = OSR_CLAIM_DEADLOCK_FREE;
			assert_int_equal(osr_path_sl(&ctx, 9, from, to), sl);
			slot->verdict.proven |= OSR_CLAIM_ANY_SL;
			assert_int_equal(osr_path_sl(&ctx, 9, from, to), 9);
		}
	slot->verdict.proven = 0;
	for (uint32_t lid = fabric->max_lid + 1; lid < 0xc000; lid += 1 + lid / 7) {
		ib_net16_t known = cl_hton16(fabric->dest_lid[0]), other = cl_hton16((uint16_t)lid);

		assert_int_equal(osr_path_sl(&ctx, 9, known, other), 9);
		assert_int_equal(osr_path_sl(&ctx, 9, other, known), 9);
	}
	test_fabric_free(&test);
	osr_arena_free(&arena);
}

/*
 * Random blocks on ports of 1 to 15 VLs: every VL in use that fits gets a weight, and none that the
 * port has and that had one loses it. Entries of VLs that it does not have, and second ones, are as
 * good as empty ones.
 */
static void test_vlarb(void **state)
{
	uint64_t seed = 4;

	begin();
	osr_qos_install(&re, &osm.subn.opt);
	assert_non_null(re.update_sl2vl);
	for (unsigned i = 0; i < 3000; i++) {
		unsigned n = 1 + test_random(&seed) % 32, code = 1 + test_random(&seed) % 5;
		uint8_t mask = (uint8_t)((1u << (code - 1)) - 1);
		uint16_t had = 0, has = 0, used = test_random(&seed) & 0x7fff, wanted = 0, missing;
		ib_vl_arb_table_t block = { 0 }, before;
		struct qos_kind kind = { QOS_SWE, mask, (uint8_t)n, 0 };

		for (unsigned k = 0; k < n; k++) {
			uint8_t vl = (uint8_t)(test_random(&seed) % 15);

			block.vl_entry[k].vl = vl;
			block.vl_entry[k].weight = test_random(&seed) % 3 ? 8 : 0;
			if (block.vl_entry[k].weight && vl <= mask)
				had |= (uint16_t)(1u << vl);
		}
		for (unsigned vl = 0; vl < 15; vl++)
			if (used >> vl & 1)
				wanted |= (uint16_t)(1u << (vl & mask));
		before = block;
		memset(&slot->qos, 0, sizeof(slot->qos));
		slot->qos.vlarb[QOS_SWE][0] = block;
		slot->used_vls = used;
		port.port_info.vl_cap = (uint8_t)(code << 4);
		port.port_info.vl_arb_low_cap = (uint8_t)n;
		osm.subn.opt.max_op_vls = 15;
		re.update_vlarb(&ctx, &port, 1, &block, n, 1);
		assert_memory_equal(&block, &before, sizeof(block)); /* not the first block */
		re.update_vlarb(&ctx, &port, 1, &block, n, 0);
		for (unsigned k = 0; k < 32; k++) {
			if (k >= n)
				assert_int_equal(block.vl_entry[k].weight, 0);
			if (block.vl_entry[k].weight)
				has |= (uint16_t)(1u << (block.vl_entry[k].vl & mask));
		}
		assert_int_equal(had & ~has, 0);
		assert_int_equal(osr_qos_served(&slot->qos, &kind, used, &missing), has);
		if ((unsigned)__builtin_popcount(had | wanted) <= n)
			assert_int_equal(wanted & ~has, 0);
		assert_int_equal(missing == 0, (wanted & ~has) == 0);
		/* VLs with a weight in high priority lack nothing: nothing is done. */
		block = before;
		for (unsigned vl = 0; vl < 15; vl++)
			slot->qos.vlarb[QOS_SWE][2].vl_entry[vl] =
				(ib_vl_arb_element_t){ (uint8_t)vl, 1 };
		port.port_info.vl_arb_high_cap = 15;
		re.update_vlarb(&ctx, &port, 1, &block, n, 0);
		assert_memory_equal(&block, &before, sizeof(block));
		port.port_info.vl_arb_high_cap = 0;
	}
	ctx.current = NULL;
	re.update_vlarb(&ctx, &port, 1, NULL, 32, 0);
}

static uint8_t vl_of(uint8_t in, uint8_t sl)
{
	const uint64_t raw = osr_qos_table(&ctx, &port, in);
	ib_slvl_table_t table;

	memcpy(&table, &raw, sizeof(table));
	return ib_slvl_table_get(&table, sl);
}

/*
 * SL2VL tables: an SL in use is its VL, all others stay; or an engine's own table for each pair of
 * ports.
 */
static void test_sl2vl(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric test;
	osm_physp_t remote = { 0 };

	begin();
	osr_qos_install(&re, &osm.subn.opt);
	node.node_info.node_type = IB_NODE_TYPE_SWITCH;
	for (uint8_t sl = 0; sl < 16; sl++) {
		slot->qos.sl2vl[QOS_SWE][sl] = 7;
		slot->qos.sl2vl[QOS_SW0][sl] = 5;
	}
	slot->used_vls = 1 << 0 | 1 << 3 | 1 << 14;
	for (uint8_t in = 0; in < 2; in++)
		for (port.port_num = 0; port.port_num < 2; port.port_num++)
			for (uint8_t sl = 0; sl < 16; sl++)
				assert_int_equal(vl_of(in, sl), slot->used_vls >> sl & 1 ? sl
								: in || port.port_num    ? 7
											 : 5);
	/*
	 * What the link manager is going to leave of 8 VLs: as many as both ends have, and
	 * max_op_vls allows.
	 */
	port.p_remote_physp = &remote;
	port.port_num = 1;
	for (uint8_t here = 1; here <= 7; here++)
		for (uint8_t there = 1; there <= 7; there++)
			for (uint8_t most = 1; most <= 8; most++) {
				uint8_t least = here < there ? here : there;
				uint8_t mask =
					(uint8_t)((1 << ((least < most ? least : most) - 1)) - 1);

				port.port_info.vl_cap = (uint8_t)(here << 4);
				remote.port_info.vl_cap = (uint8_t)(there << 4);
				osm.subn.opt.max_op_vls = most;
				assert_int_equal(vl_of(1, 1), 7 & mask);
				assert_int_equal(vl_of(1, 3), 3 & mask);
			}
	port.p_remote_physp = NULL;
	test_fabric_named(&test, 3);
	slot->result.fabric = test.fabric;
	table_make(TABLE_UPDOWN_SL2VL, &test.fabric, &arena, 3, &slot->result.routing);
	for (uint32_t s = 0; s <= test.fabric.n_switches; s++) {
		uint32_t n = s < test.fabric.n_switches ? test.fabric.sw_n_ports[s] : 3;

		node.node_info.node_guid =
			cl_hton64(s < test.fabric.n_switches ? test.fabric.sw_guid[s] : 1);
		for (uint8_t in = 0; in <= n + 1; in++)
			for (port.port_num = 0; port.port_num <= n + 1; port.port_num++) {
				const struct osr_routing *routing = &slot->result.routing;
				bool known =
					s < test.fabric.n_switches && in <= n && port.port_num <= n;
				const uint8_t *vl = routing->sl2vl[!known ? 0
									  : routing->sl2vl_row[s] +
										    in * (n + 1) +
										    port.port_num];

				for (uint8_t sl = 0; sl < 16; sl++)
					assert_int_equal(vl_of(in, sl), known ? vl[sl]
									: in || port.port_num ? 7
											      : 5);
			}
	}
	/* A switch that is left out keeps what it has confirmed. */
	memset(&confirmed, 0x33, sizeof(confirmed));
	left_out = cl_ntoh64(node.node_info.node_guid);
	for (uint8_t sl = 0; sl < 16; sl++)
		assert_int_equal(vl_of(1, sl), 3);
	left_out = 0;
	node.node_info.node_type = IB_NODE_TYPE_CA;
	port.port_num = 1;
	for (uint8_t sl = 0; sl < 16; sl++)
		assert_int_equal(vl_of(0, sl), slot->result.routing.ca_sl2vl[sl]);
	test_fabric_free(&test);
	osr_arena_free(&arena);
}

/* Optimised SL2VL tables are renewed where OpenSM's own would not do, and only there. */
static void test_renew(void **state)
{
	static const struct osr_engine engine = { .name = "test" };

	begin();
	ctx.engine = &engine;
	osm.subn.opt.qos = TRUE;
	osm.subn.opt.use_optimized_slvl = TRUE;
	osr_qos_install(&re, &osm.subn.opt);
	assert_null(re.update_sl2vl);
	memset(&slot->qos, 0, sizeof(slot->qos));
	for (uint8_t type = 0; type < QOS_N_TYPES; type++) {
		slot->qos.kind[type] = (struct qos_kind){ type, 15, 2, 0 };
		slot->qos.sl2vl[type][1] = 1;
		slot->qos.vlarb[type][0].vl_entry[0] = (ib_vl_arb_element_t){ 0, 1 };
		slot->qos.vlarb[type][0].vl_entry[1] = (ib_vl_arb_element_t){ 1, 1 };
	}
	slot->qos.n_kinds = QOS_N_TYPES;
	for (unsigned i = 0; i < 6; i++) {
		bool sl2vl = i == 1 || i == 4, vlarb = i == 2;

		slot->used_vls = i == 5 ? 0 : 3;
		slot->qos.sl2vl[QOS_RTR][1] = i == 1 ? 0 : 1;
		slot->qos.vlarb[QOS_CA][0].vl_entry[1].weight = i != 2;
		osm.subn.opt.qos = i != 3;
		slot->result.routing.sl2vl = i == 4 ? calloc(1, sizeof(osr_sl2vl_t)) : NULL;
		n_said = 0;
		osr_qos_renew(&ctx);
		assert_int_equal(re.update_sl2vl != NULL, sl2vl);
		assert_int_equal(n_said, sl2vl + vlarb);
		free(slot->result.routing.sl2vl);
	}
}

static void test_mcast_vl(void **state)
{
	struct qos_tables tables = { 0 };

	begin();
	for (uint8_t sl = 0; sl < 16; sl++)
		tables.sl2vl[QOS_SWE][sl] = 15 - sl;
	for (uint8_t sl = 0; sl < 16; sl++) {
		assert_int_equal(osr_mcast_vl_of(&osm, &tables, 0, 15, sl), 0); /* no QoS: VL 0 */
		osm.subn.opt.qos = TRUE;
		assert_int_equal(osr_mcast_vl_of(&osm, &tables, 0, 15, sl), 15 - sl);
		/* By the number of VLs that links have, but VL 15 drops. */
		for (uint8_t vls = 4; vls <= 8; vls += 4)
			assert_int_equal(osr_mcast_vl_of(&osm, &tables, 0, vls, sl),
					 sl ? (15 - sl) % vls : 15);
		if (sl < 15)
			assert_int_equal(osr_mcast_vl_of(&osm, &tables, 0x7fff, 15, sl), sl);
		osm.subn.opt.qos = FALSE;
	}
}

/* SL 0 and those of all partitions. */
static void test_chosen_sls(void **state)
{
	static const uint8_t sl[] = { 3, 9, 14 };
	osm_prtn_t prtn[3] = { 0 };

	begin();
	cl_qmap_init(&osm.subn.prtn_pkey_tbl);
	assert_int_equal(osr_chosen_sls(&osm), 1);
	for (unsigned i = 0; i < 3; i++) {
		prtn[i].sl = sl[i];
		cl_qmap_insert(&osm.subn.prtn_pkey_tbl, i, &prtn[i].map_item);
	}
	assert_int_equal(osr_chosen_sls(&osm), 1 << 0 | 1 << 3 | 1 << 9 | 1 << 14);
}

TEST_PROGRAM(test_options, test_large_table, test_path_sl, test_vlarb, test_sl2vl, test_renew,
	     test_mcast_vl, test_chosen_sls)
