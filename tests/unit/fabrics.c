/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fabrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned test_number(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)atoi(text) : otherwise;
}

uint64_t test_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

uint32_t test_distances(const struct osr_fabric *fabric, uint32_t root, uint32_t *dist)
{
	uint32_t *queue = malloc(fabric->n_switches * sizeof(*queue)), n = 0, most;

	if (!queue)
		abort();
	memset(dist, 0xff, fabric->n_switches * sizeof(*dist));
	dist[root] = 0;
	queue[n++] = root;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t c = fabric->chan_row[queue[i]]; c < fabric->chan_row[queue[i] + 1];
		     c++)
			if (dist[fabric->chan_dst[c]] == OSR_NONE) {
				dist[fabric->chan_dst[c]] = dist[queue[i]] + 1;
				queue[n++] = fabric->chan_dst[c];
			}
	most = dist[queue[n - 1]];
	free(queue);
	return most;
}

void draft_new(struct draft *draft)
{
	*draft = (struct draft){
		.builder = osr_builder_new(), .n_ports = 12, .next_lid = 1, .next_guid = 0x1000
	};
	if (!draft->builder)
		abort();
}

static uint8_t take_port(struct draft *draft, uint32_t s)
{
	if (s >= draft->n_switches)
		abort();
	return ++draft->n_used[s];
}

uint32_t draft_switch(struct draft *draft)
{
	struct osr_switch_in sw = { .guid = draft->next_guid++, .n_ports = draft->n_ports };
	char name[16];
	uint32_t s;

	if (draft->n_switches == MAX_DRAFT_SWITCHES)
		abort();
	snprintf(name, sizeof(name), "sw-%u", draft->n_switches++);
	sw.name = name;
	s = osr_builder_switch(draft->builder, &sw);
	if (!draft->no_sp0_lid)
		osr_builder_terminal(draft->builder,
				     &(struct osr_terminal_in){ .guid = sw.guid,
								.sw = s,
								.lid = draft->next_lid++,
								.role = OSR_ROLE_SP0 });
	return s;
}

void draft_link(struct draft *draft, uint32_t a, uint32_t b)
{
	uint8_t port_a = take_port(draft, a), port_b = take_port(draft, b);

	osr_builder_link(draft->builder, &(struct osr_link_in){ .sw_a = a,
								.port_a = port_a,
								.sw_b = b,
								.port_b = port_b,
								.rate = draft->rate,
								.flags_a = draft->flags,
								.flags_b = draft->flags });
}

void draft_host(struct draft *draft, uint32_t s)
{
	uint16_t n_lids = 1u << draft->lmc;
	uint16_t lid = (draft->next_lid + n_lids - 1) & ~(n_lids - 1);
	char name[24];

	snprintf(name, sizeof(name), "host-%" PRIx64, draft->next_guid);
	osr_builder_terminal(draft->builder, &(struct osr_terminal_in){ .guid = draft->next_guid++,
									.sw = s,
									.port = take_port(draft, s),
									.lmc = draft->lmc,
									.lid = lid,
									.role = OSR_ROLE_CA,
									.name = name });
	draft->next_lid = lid + n_lids;
}

void draft_build(struct draft *draft, struct test_fabric *test, const char *name)
{
	struct osr_diag diag = { 0 };

	memset(test, 0, sizeof(*test));
	snprintf(test->name, sizeof(test->name), "%s", name);
	if (osr_builder_build(draft->builder, &test->arena, &test->fabric, &diag) != OSR_OK) {
		fprintf(stderr, "%s: %s\n", name, diag.text);
		abort();
	}
	osr_builder_free(draft->builder);
}

void test_fabric_free(struct test_fabric *test)
{
	osr_arena_free(&test->arena);
}

static void hosts_on_all(struct draft *draft, uint32_t hosts)
{
	for (uint32_t i = 0; i < hosts; i++)
		for (uint32_t s = 0; s < draft->n_switches; s++)
			draft_host(draft, s);
}

static void switches(struct draft *draft, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		draft_switch(draft);
}

static void ring(struct draft *draft, uint32_t n, uint32_t hosts)
{
	switches(draft, n);
	for (uint32_t i = 0; i < n; i++)
		draft_link(draft, i, (i + 1) % n);
	hosts_on_all(draft, hosts);
}

void test_fabric_ring(struct test_fabric *test, uint32_t n, uint32_t hosts)
{
	struct draft draft;
	char name[32];

	draft_new(&draft);
	draft.n_ports = (uint8_t)(hosts + 3);
	ring(&draft, n, hosts);
	snprintf(name, sizeof(name), "ring of %u", n);
	draft_build(&draft, test, name);
}

void test_fabric_random(struct test_fabric *test, uint32_t n, uint32_t links, uint64_t seed)
{
	struct draft draft;
	char name[64];

	snprintf(name, sizeof(name), "random %u/%u seed %" PRIu64, n, links, seed);
	draft_new(&draft);
	switches(&draft, n);
	for (uint32_t i = 1; i < n; i++)
		draft_link(&draft, i, test_random(&seed) % i);
	for (uint32_t i = n - 1; i < links; i++) {
		uint32_t a = test_random(&seed) % n, b = test_random(&seed) % n;

		if (a != b && draft.n_used[a] < draft.n_ports - 4 &&
		    draft.n_used[b] < draft.n_ports - 4)
			draft_link(&draft, a, b);
	}
	for (uint32_t s = 0; s < n; s++)
		for (uint32_t i = test_random(&seed) % 4; i > 0 && draft.n_used[s] < draft.n_ports;
		     i--)
			draft_host(&draft, s);
	draft_build(&draft, test, name);
}

void test_fabric_dragonfly(struct test_fabric *test, uint32_t a)
{
	struct draft draft;

	draft_new(&draft);
	switches(&draft, a * (a + 1));
	for (uint32_t s = 0; s < draft.n_switches; s++)
		for (uint32_t u = s + 1; u / a == s / a; u++)
			draft_link(&draft, s, u);
	for (uint32_t g = 0; g <= a; g++)
		for (uint32_t h = g + 1; h <= a; h++)
			draft_link(&draft, g * a + h - 1, h * a + g);
	hosts_on_all(&draft, 1);
	draft_build(&draft, test, "dragonfly");
}

/*
 * Three levels: 4-ary 3-tree with 2 pods of 2 leaves; hosts on a spine as well, as management has.
 */
static void tree3(struct draft *draft)
{
	switches(draft, 4 + 4 + 2);
	for (uint32_t leaf = 0; leaf < 4; leaf++) {
		uint32_t pod = leaf / 2;

		for (uint32_t i = 0; i < 3; i++)
			draft_host(draft, leaf);
		draft_link(draft, leaf, 4 + 2 * pod);
		draft_link(draft, leaf, 5 + 2 * pod);
	}
	for (uint32_t middle = 4; middle < 8; middle++)
		for (uint32_t spine = 8; spine < 10; spine++)
			draft_link(draft, middle, spine);
	draft_host(draft, 9);
}

/* Of `dims` dimensions with as many switches each, and a host on every one. */
static void torus(struct draft *draft, uint32_t dims, uint32_t side)
{
	uint32_t n = dims == 2 ? side * side : side * side * side;

	switches(draft, n);
	for (uint32_t s = 0; s < n; s++)
		for (uint32_t stride = 1; stride < n; stride *= side) {
			uint32_t x = s / stride % side;

			draft_link(draft, s, s + ((x + 1) % side - x) * stride);
		}
	hosts_on_all(draft, 1);
}

/*
 * Mixed rates, some unknown; a switch without hosts, one without a LID of its own, a bundle of 3.
 */
static void mixed(struct draft *draft)
{
	static const uint16_t rates[] = { 32, 0, 97, 32, 8 };

	switches(draft, 5);
	draft->no_sp0_lid = true;
	switches(draft, 1);
	for (uint32_t i = 0; i < 5; i++) {
		draft->rate = rates[i];
		draft_link(draft, i, i + 1);
	}
	draft_link(draft, 5, 0);
	for (uint32_t cable = 0; cable < 3; cable++)
		draft_link(draft, 1, 4);
	for (uint32_t s = 0; s < 6; s++)
		for (uint32_t i = 0; i < s % 4; i++)
			draft_host(draft, s);
}

const unsigned N_TEST_FABRICS = 15;

void test_fabric_named(struct test_fabric *test, unsigned i)
{
	static const char *const names[] = { "one switch",
					     "line of 4",
					     "ring of 5",
					     "ring of 6",
					     "two-level tree",
					     "three-level tree, host on a spine",
					     "torus 4x4",
					     "torus 3x3x3",
					     "split in three",
					     "complete graph, LMC 0 to 3",
					     "mixed rates, host-less switches, bundle" };
	struct draft draft;

	if (i >= 11 && i < 14) {
		test_fabric_random(test, 8 * (i - 10), i == 11 ? 12 : i == 12 ? 32 : 60, i - 10);
		return;
	}
	draft_new(&draft);
	switch (i) {
	case 0:
		switches(&draft, 1);
		hosts_on_all(&draft, 3);
		break;
	case 1:
		switches(&draft, 4);
		for (uint32_t s = 0; s < 3; s++)
			draft_link(&draft, s, s + 1);
		hosts_on_all(&draft, 2);
		break;
	case 2:
	case 3:
		ring(&draft, 3 + i, i - 1);
		break;
	case 4: /* leaves first, two cables between each pair; the spines have no hosts */
		switches(&draft, 4);
		hosts_on_all(&draft, 4);
		switches(&draft, 2);
		for (uint32_t cable = 0; cable < 16; cable++)
			draft_link(&draft, cable / 4, 4 + cable % 2);
		break;
	case 5:
		tree3(&draft);
		break;
	case 6:
	case 7:
		torus(&draft, i - 4, 10 - i);
		break;
	case 8: /* a ring of 5 and a line of 3 that no cable joins, and a switch all alone */
		ring(&draft, 5, 0);
		switches(&draft, 4);
		hosts_on_all(&draft, 1);
		draft_link(&draft, 5, 6);
		draft_link(&draft, 6, 7);
		break;
	case 9:
		switches(&draft, 4);
		for (uint32_t a = 0; a < 4; a++)
			for (uint32_t b = a + 1; b < 4; b++)
				draft_link(&draft, a, b);
		for (draft.lmc = 0; draft.lmc < 4; draft.lmc++)
			hosts_on_all(&draft, 1);
		break;
	case 10:
		mixed(&draft);
		break;
	default: /* one cable counts, and its load may move to the other */
		switches(&draft, 2);
		hosts_on_all(&draft, 1);
		draft_link(&draft, 0, 1);
		draft.flags = OSR_CHAN_UNCOUNTED;
		draft_link(&draft, 0, 1);
	}
	draft_build(&draft, test, i < 11 ? names[i] : "two cables, one of them uncounted");
}
