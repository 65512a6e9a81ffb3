/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tori.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PORTS 40

static void parse(struct test_torus *d)
{
	const char *p = d->dims;

	d->n_dims = 0;
	d->n_places = 1;
	while (*p) {
		char *end;

		d->size[d->n_dims] = (uint32_t)strtoul(p, &end, 10);
		d->ring[d->n_dims] = *end == 'r';
		d->n_places *= d->size[d->n_dims++];
		p = end + (*end == 'r');
		p += strspn(p, " ");
	}
}

uint32_t test_torus_coord(const struct test_torus *d, uint32_t place, uint32_t i)
{
	for (uint32_t k = d->n_dims - 1; k > i; k--)
		place /= d->size[k];
	return place % d->size[i];
}

uint32_t test_torus_place(const struct test_torus *d, uint64_t guid)
{
	uint32_t p = 0;

	while (p < d->n_places && d->guid[p] != guid)
		p++;
	return p;
}

static uint32_t step_up(const struct test_torus *d, uint32_t place, uint32_t i)
{
	uint32_t stride = 1, x = test_torus_coord(d, place, i);

	for (uint32_t k = d->n_dims - 1; k > i; k--)
		stride *= d->size[k];
	if (x + 1 < d->size[i])
		return place + stride;
	return d->ring[i] && d->size[i] > 2 ? place - x * stride : OSR_NONE;
}

/* Zeroed, and gone with the fabric. */
static void *get(struct test_fabric *t, size_t n, size_t size)
{
	void *p = osr_calloc(&t->arena, n, size);

	if (!p)
		abort();
	return p;
}

/* ports: [n_places * MAX_PORTS] of each place, in the order in which they are taken. */
static void number(struct test_torus *d, uint8_t *ports)
{
	uint64_t rng = d->shuffle;

	for (uint32_t p = 0; p < d->n_places; p++) {
		uint8_t *port = ports + p * MAX_PORTS;

		for (uint32_t k = 0; k < MAX_PORTS; k++)
			port[k] = (uint8_t)(k + 1);
		for (uint32_t i = MAX_PORTS; d->shuffle && i > 1; i--) {
			uint32_t j = (uint32_t)(test_random(&rng) % i);
			uint8_t x = port[i - 1];

			port[i - 1] = port[j];
			port[j] = x;
		}
		d->guid[p] = 0x1000 + p;
		if (d->shuffle)
			d->guid[p] += (test_random(&rng) >> 16) << 16;
	}
}

/* With port 0 and hosts. A place keeps what it has, whatever dies. */
static uint32_t add_switch(const struct test_torus *d, struct osr_builder *b, uint32_t p,
			   const uint8_t *port, uint8_t *n_used)
{
	uint32_t room = 2 * d->hosts + 1, hosts = d->hosts;
	char name[48];
	int at = snprintf(name, sizeof(name), "s");
	struct osr_switch_in sw = { .guid = d->guid[p], .n_ports = MAX_PORTS, .name = name };
	struct osr_terminal_in end = { .guid = d->guid[p], .role = OSR_ROLE_SP0 };

	for (uint32_t i = 0; i < d->n_dims; i++)
		at += snprintf(name + at, sizeof(name) - (size_t)at, "-%u",
			       test_torus_coord(d, p, i));
	end.sw = osr_builder_switch(b, &sw);
	end.lid = (uint16_t)(1 + p * room);
	osr_builder_terminal(b, &end);
	if (d->some_hosts)
		hosts = (uint32_t)((d->guid[p] * 0x9e3779b97f4a7c15) >> 40) % room;
	end.role = OSR_ROLE_CA;
	for (uint32_t h = 0; h < hosts; h++) {
		end.guid = 0x100000000000 + d->guid[p] * 64 + h;
		end.port = port[(*n_used)++];
		end.lid = (uint16_t)(2 + p * room + h);
		osr_builder_terminal(b, &end);
	}
	return end.sw;
}

void test_torus_draw(struct test_torus *d, struct test_fabric *t)
{
	struct osr_builder *b = osr_builder_new();
	struct osr_diag diag = { "" };
	uint32_t cables = d->cables ? d->cables : 1, n_cables = 0, *handle, (*cable)[2];
	uint64_t rng = d->fault_seed;
	uint8_t *ports, *n_used;
	bool *dead, *gone;

	parse(d);
	memset(t, 0, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "%s, %u hosts, shuffle %u, -%u switches -%u links (%u)",
		 d->dims, d->hosts, (unsigned)d->shuffle, d->dead_switches, d->dead_links,
		 (unsigned)d->fault_seed);
	d->guid = get(t, d->n_places, sizeof(*d->guid));
	handle = get(t, d->n_places, sizeof(*handle));
	dead = get(t, d->n_places, sizeof(*dead));
	cable = get(t, (size_t)d->n_places * d->n_dims * cables, sizeof(*cable));
	gone = get(t, (size_t)d->n_places * d->n_dims * cables, sizeof(*gone));
	ports = get(t, d->n_places, MAX_PORTS);
	n_used = get(t, d->n_places, 1);
	number(d, ports);
	for (uint32_t p = 0; p < d->n_places; p++)
		for (uint32_t i = 0; i < d->n_dims; i++)
			for (uint32_t k = 0; k < cables && step_up(d, p, i) != OSR_NONE; k++) {
				cable[n_cables][0] = p;
				cable[n_cables++][1] = step_up(d, p, i);
			}
	for (unsigned k = 0; k < d->dead_switches;) {
		uint32_t p = (uint32_t)(test_random(&rng) % d->n_places);

		k += !dead[p];
		dead[p] = true;
	}
	for (uint32_t p = 0; p < d->n_places; p++)
		dead[p] |= d->dead_guid && d->guid[p] == d->dead_guid;
	for (unsigned k = 0; k < d->dead_links && k + 1 < n_cables;) {
		uint32_t c = (uint32_t)(test_random(&rng) % n_cables);

		k += !gone[c];
		gone[c] = true;
	}
	for (uint32_t p = 0; p < d->n_places; p++)
		if (!dead[p])
			handle[p] = add_switch(d, b, p, ports + p * MAX_PORTS, &n_used[p]);
	/* What is dead has its ports, too: those of others are where they were. */
	for (uint32_t c = 0; c < n_cables; c++) {
		uint32_t x = cable[c][0], y = cable[c][1];
		struct osr_link_in link = { .sw_a = handle[x], .sw_b = handle[y] };

		link.port_a = ports[x * MAX_PORTS + n_used[x]++];
		link.port_b = ports[y * MAX_PORTS + n_used[y]++];
		if (!gone[c] && !dead[x] && !dead[y])
			osr_builder_link(b, &link);
	}
	if (osr_builder_build(b, &t->arena, &t->f, &diag) != OSR_OK) {
		fprintf(stderr, "%s: %s\n", t->name, diag.text);
		abort();
	}
	osr_builder_free(b);
}

double test_torus_bound(const struct test_torus *d)
{
	double n_pairs = (double)d->n_places * d->n_places * d->hosts * d->hosts, best = 0;

	for (uint32_t i = 0; i < d->n_dims; i++) {
		uint32_t n = d->size[i];
		double rows = (double)d->n_places / n, hops = 0, load;

		if (!d->ring[i] || n == 2) {
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
