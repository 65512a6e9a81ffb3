/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tori.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PORTS 40

/* What is drawn: places, cables, and what is dead of them. */
struct sketch {
	struct test_torus *d;
	struct osr_builder *b;
	uint32_t *handle;
	bool *dead;
	uint32_t (*cable)[2];
	bool *gone; /* cables */
	uint32_t n_cables;
	uint8_t *ports; /* [n_places * MAX_PORTS] ports in the order in which they are taken */
	uint8_t *n_used;
	uint64_t rng;
};

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

static void shuffle(uint64_t *rng, uint8_t *list, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)(test_random(rng) % i);
		uint8_t x = list[i - 1];

		list[i - 1] = list[j];
		list[j] = x;
	}
}

static void number(struct sketch *s)
{
	struct test_torus *d = s->d;

	for (uint32_t p = 0; p < d->n_places; p++) {
		d->guid[p] = 0x1000 + p;
		for (uint32_t k = 0; k < MAX_PORTS; k++)
			s->ports[p * MAX_PORTS + k] = (uint8_t)(k + 1);
		if (!d->shuffle)
			continue;
		shuffle(&s->rng, s->ports + p * MAX_PORTS, MAX_PORTS);
		d->guid[p] = 0x1000 + p + ((test_random(&s->rng) >> 16) << 16);
	}
}

static void kill_some(struct sketch *s)
{
	struct test_torus *d = s->d;
	uint64_t rng = d->fault_seed;

	for (unsigned k = 0; k < d->dead_switches;) {
		uint32_t p = (uint32_t)(test_random(&rng) % d->n_places);

		k += !s->dead[p];
		s->dead[p] = true;
	}
	for (uint32_t p = 0; p < d->n_places; p++)
		s->dead[p] |= d->dead_guid && d->guid[p] == d->dead_guid;
	for (unsigned k = 0; k < d->dead_links && k + 1 < s->n_cables;) {
		uint32_t c = (uint32_t)(test_random(&rng) % s->n_cables);

		k += !s->gone[c];
		s->gone[c] = true;
	}
}

static void add_switch(struct sketch *s, uint32_t p)
{
	struct test_torus *d = s->d;
	uint32_t room = 2 * d->hosts + 1, hosts = d->hosts;
	char name[48];
	int at = snprintf(name, sizeof(name), "s");

	for (uint32_t i = 0; i < d->n_dims; i++)
		at += snprintf(name + at, sizeof(name) - (size_t)at, "-%u",
			       test_torus_coord(d, p, i));
	s->handle[p] = osr_builder_switch(
		s->b,
		&(struct osr_switch_in){ .guid = d->guid[p], .n_ports = MAX_PORTS, .name = name });
	osr_builder_terminal(s->b, &(struct osr_terminal_in){ .guid = d->guid[p],
							      .sw = s->handle[p],
							      .lid = (uint16_t)(1 + p * room),
							      .role = OSR_ROLE_SP0 });
	if (d->some_hosts)
		hosts = (uint32_t)((d->guid[p] * 0x9e3779b97f4a7c15) >> 40) % room;
	for (uint32_t h = 0; h < hosts; h++)
		osr_builder_terminal(s->b, &(struct osr_terminal_in){
						   .guid = 0x100000000000 + d->guid[p] * 64 + h,
						   .sw = s->handle[p],
						   .port = s->ports[p * MAX_PORTS + s->n_used[p]++],
						   .lid = (uint16_t)(2 + p * room + h),
						   .role = OSR_ROLE_CA });
}

/* What is dead has its ports, too: those of others are where they were. */
static void add_cable(struct sketch *s, const uint32_t *end, bool gone)
{
	struct osr_link_in link = { .sw_a = s->handle[end[0]],
				    .sw_b = s->handle[end[1]],
				    .port_a = s->ports[end[0] * MAX_PORTS + s->n_used[end[0]]++],
				    .port_b = s->ports[end[1] * MAX_PORTS + s->n_used[end[1]]++] };

	if (!gone && !s->dead[end[0]] && !s->dead[end[1]])
		osr_builder_link(s->b, &link);
}

static void *get(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

void test_torus_draw(struct test_torus *d, struct test_fabric *t)
{
	struct sketch s = { .d = d, .b = osr_builder_new(), .rng = d->shuffle };
	struct osr_diag diag = { "" };
	uint32_t cables = d->cables ? d->cables : 1;

	parse(d);
	memset(t, 0, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "%s, %u hosts, shuffle %u, -%u switches -%u links (%u)",
		 d->dims, d->hosts, (unsigned)d->shuffle, d->dead_switches, d->dead_links,
		 (unsigned)d->fault_seed);
	d->guid = osr_alloc(&t->arena, d->n_places, sizeof(*d->guid));
	s.handle = get(d->n_places, sizeof(*s.handle));
	s.dead = get(d->n_places, sizeof(*s.dead));
	s.cable = get((size_t)d->n_places * d->n_dims * cables, sizeof(*s.cable));
	s.gone = get((size_t)d->n_places * d->n_dims * cables, sizeof(*s.gone));
	s.ports = get(d->n_places, MAX_PORTS);
	s.n_used = get(d->n_places, 1);
	number(&s);
	for (uint32_t p = 0; p < d->n_places; p++)
		for (uint32_t i = 0; i < d->n_dims; i++)
			for (uint32_t k = 0; k < cables && step_up(d, p, i) != OSR_NONE; k++) {
				s.cable[s.n_cables][0] = p;
				s.cable[s.n_cables++][1] = step_up(d, p, i);
			}
	kill_some(&s);
	for (uint32_t p = 0; p < d->n_places; p++)
		if (!s.dead[p])
			add_switch(&s, p);
	for (uint32_t c = 0; c < s.n_cables; c++)
		add_cable(&s, s.cable[c], s.gone[c]);
	if (osr_builder_build(s.b, &t->arena, &t->f, &diag) != OSR_OK) {
		fprintf(stderr, "%s: %s\n", t->name, diag.text);
		abort();
	}
	osr_builder_free(s.b);
	free(s.handle);
	free(s.dead);
	free(s.cable);
	free(s.gone);
	free(s.ports);
	free(s.n_used);
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
