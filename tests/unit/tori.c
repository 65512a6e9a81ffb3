/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tori.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PORTS 40

static void parse(struct test_torus *torus)
{
	const char *p = torus->dims;

	torus->n_dims = 0;
	torus->n_places = 1;
	while (*p) {
		char *end;

		torus->size[torus->n_dims] = (uint32_t)strtoul(p, &end, 10);
		torus->ring[torus->n_dims] = *end == 'r';
		torus->n_places *= torus->size[torus->n_dims++];
		p = end + (*end == 'r');
		p += strspn(p, " ");
	}
}

uint32_t test_torus_coord(const struct test_torus *torus, uint32_t place, uint32_t i)
{
	for (uint32_t k = torus->n_dims - 1; k > i; k--)
		place /= torus->size[k];
	return place % torus->size[i];
}

uint32_t test_torus_place(const struct test_torus *torus, uint64_t guid)
{
	uint32_t p = 0;

	while (p < torus->n_places && torus->guid[p] != guid)
		p++;
	return p;
}

static uint32_t step_up(const struct test_torus *torus, uint32_t place, uint32_t i)
{
	uint32_t stride = 1, x = test_torus_coord(torus, place, i);

	for (uint32_t k = torus->n_dims - 1; k > i; k--)
		stride *= torus->size[k];
	if (x + 1 < torus->size[i])
		return place + stride;
	return torus->ring[i] && torus->size[i] > 2 ? place - x * stride : OSR_NONE;
}

/* Zeroed, and gone with the fabric. */
static void *get(struct test_fabric *test, size_t n, size_t size)
{
	void *p = osr_calloc(&test->arena, n, size);

	if (!p)
		abort();
	return p;
}

/* ports: [n_places * MAX_PORTS] of each place, in the order in which they are taken. */
static void number(struct test_torus *torus, uint8_t *ports)
{
	uint64_t rng = torus->shuffle;

	for (uint32_t p = 0; p < torus->n_places; p++) {
		uint8_t *port = ports + p * MAX_PORTS;

		for (uint32_t k = 0; k < MAX_PORTS; k++)
			port[k] = (uint8_t)(k + 1);
		for (uint32_t i = MAX_PORTS; torus->shuffle && i > 1; i--) {
			uint32_t j = (uint32_t)(test_random(&rng) % i);
			uint8_t x = port[i - 1];

			port[i - 1] = port[j];
			port[j] = x;
		}
		torus->guid[p] = 0x1000 + p;
		if (torus->shuffle)
			torus->guid[p] += (test_random(&rng) >> 16) << 16;
	}
}

/* With port 0 and hosts. A place keeps what it has, whatever dies. */
static uint32_t add_switch(const struct test_torus *torus, struct osr_builder *builder, uint32_t p,
			   const uint8_t *port, uint8_t *n_used)
{
	uint32_t room = 2 * torus->hosts + 1, hosts = torus->hosts;
	char name[48];
	int at = snprintf(name, sizeof(name), "s");
	struct osr_switch_in sw = { .guid = torus->guid[p], .n_ports = MAX_PORTS, .name = name };
	struct osr_terminal_in end = { .guid = torus->guid[p], .role = OSR_ROLE_SP0 };

	for (uint32_t i = 0; i < torus->n_dims; i++)
		at += snprintf(name + at, sizeof(name) - (size_t)at, "-%u",
			       test_torus_coord(torus, p, i));
	end.sw = osr_builder_switch(builder, &sw);
	end.lid = (uint16_t)(1 + p * room);
	osr_builder_terminal(builder, &end);
	if (torus->some_hosts)
		hosts = (uint32_t)((torus->guid[p] * 0x9e3779b97f4a7c15) >> 40) % room;
	end.role = OSR_ROLE_CA;
	for (uint32_t h = 0; h < hosts; h++) {
		end.guid = 0x100000000000 + torus->guid[p] * 64 + h;
		end.port = port[(*n_used)++];
		end.lid = (uint16_t)(2 + p * room + h);
		osr_builder_terminal(builder, &end);
	}
	return end.sw;
}

void test_torus_draw(struct test_torus *torus, struct test_fabric *test)
{
	struct osr_builder *builder = osr_builder_new();
	struct osr_diag diag = { "" };
	uint32_t cables = torus->cables ? torus->cables : 1, n_cables = 0, *handle, (*cable)[2];
	uint64_t rng = torus->fault_seed;
	uint8_t *ports, *n_used;
	bool *dead, *gone;

	parse(torus);
	memset(test, 0, sizeof(*test));
	snprintf(test->name, sizeof(test->name),
		 "%s, %u hosts, shuffle %u, -%u switches -%u links (%u)", torus->dims, torus->hosts,
		 (unsigned)torus->shuffle, torus->dead_switches, torus->dead_links,
		 (unsigned)torus->fault_seed);
	torus->guid = get(test, torus->n_places, sizeof(*torus->guid));
	handle = get(test, torus->n_places, sizeof(*handle));
	dead = get(test, torus->n_places, sizeof(*dead));
	cable = get(test, (size_t)torus->n_places * torus->n_dims * cables, sizeof(*cable));
	gone = get(test, (size_t)torus->n_places * torus->n_dims * cables, sizeof(*gone));
	ports = get(test, torus->n_places, MAX_PORTS);
	n_used = get(test, torus->n_places, 1);
	number(torus, ports);
	for (uint32_t p = 0; p < torus->n_places; p++)
		for (uint32_t i = 0; i < torus->n_dims; i++)
			for (uint32_t k = 0; k < cables && step_up(torus, p, i) != OSR_NONE; k++) {
				cable[n_cables][0] = p;
				cable[n_cables++][1] = step_up(torus, p, i);
			}
	for (unsigned k = 0; k < torus->dead_switches;) {
		uint32_t p = (uint32_t)(test_random(&rng) % torus->n_places);

		k += !dead[p];
		dead[p] = true;
	}
	for (uint32_t p = 0; p < torus->n_places; p++)
		dead[p] |= torus->dead_guid && torus->guid[p] == torus->dead_guid;
	for (unsigned k = 0; k < torus->dead_links && k + 1 < n_cables;) {
		uint32_t c = (uint32_t)(test_random(&rng) % n_cables);

		k += !gone[c];
		gone[c] = true;
	}
	for (uint32_t p = 0; p < torus->n_places; p++)
		if (!dead[p])
			handle[p] =
				add_switch(torus, builder, p, ports + p * MAX_PORTS, &n_used[p]);
	/* What is dead has its ports, too: those of others are where they were. */
	for (uint32_t c = 0; c < n_cables; c++) {
		uint32_t x = cable[c][0], y = cable[c][1];
		struct osr_link_in link = { .sw_a = handle[x], .sw_b = handle[y] };

		link.port_a = ports[x * MAX_PORTS + n_used[x]++];
		link.port_b = ports[y * MAX_PORTS + n_used[y]++];
		if (!gone[c] && !dead[x] && !dead[y])
			osr_builder_link(builder, &link);
	}
	if (osr_builder_build(builder, &test->arena, &test->fabric, &diag) != OSR_OK) {
		fprintf(stderr, "%s: %s\n", test->name, diag.text);
		abort();
	}
	osr_builder_free(builder);
}

double test_torus_bound(const struct test_torus *torus)
{
	double n_pairs = (double)torus->n_places * torus->n_places * torus->hosts * torus->hosts,
	       best = 0;

	for (uint32_t i = 0; i < torus->n_dims; i++) {
		uint32_t n = torus->size[i];
		double rows = (double)torus->n_places / n, hops = 0, load;

		if (!torus->ring[i] || n == 2) {
			load = n_pairs * (n / 2) * (n - n / 2) / n / n / rows;
		} else {
			for (uint32_t k = 1; k < n; k++)
				hops += k < n - k ? k : n - k;
			load = n_pairs * hops / n / (2.0 * n * rows);
		}
		best = load > best ? load : best;
	}
	return best;
}
