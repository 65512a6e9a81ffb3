/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabrics.h - small fabrics for tests, drawn with the builder.
 *
 * Either take one of the named fabrics, 0 .. N_TEST_FABRICS-1:
 *
 *	struct test_fabric t;
 *	test_fabric_named(&t, i);
 *	... t.f ...
 *	test_fabric_free(&t);
 *
 * or draw one: draft_new(), draft_switch(), draft_link(), draft_host(), draft_build(). Ports are
 *given out in the order of the calls, every switch gets a port 0 with a LID of its own, LIDs
 *ascend. Whatever goes wrong here is the test's fault and aborts.
 */
#ifndef TEST_FABRICS_H
#define TEST_FABRICS_H

#include <osmroutes/fabric.h>

#define MAX_DRAFT_SWITCHES 256

struct test_fabric {
	char name[64];
	struct osr_arena arena;
	struct osr_fabric fabric;
};

struct draft {
	struct osr_builder *builder;
	uint32_t n_switches;
	uint8_t n_ports;                    /* of switches drawn from now on */
	uint8_t n_used[MAX_DRAFT_SWITCHES]; /* ports given out */
	uint16_t next_lid;
	uint64_t next_guid;
	uint8_t lmc;     /* of hosts drawn from now on */
	uint16_t rate;   /* of links drawn from now on, */
	uint8_t flags;   /* and these, at both ends */
	bool no_sp0_lid; /* port 0 of switches drawn from now on has no LID */
};

extern const unsigned N_TEST_FABRICS;

void test_fabric_named(struct test_fabric *test, unsigned i);
void test_fabric_free(struct test_fabric *test);

void draft_new(struct draft *draft);
uint32_t draft_switch(struct draft *draft);
void draft_link(struct draft *draft, uint32_t a, uint32_t b);
void draft_host(struct draft *draft, uint32_t s);
void draft_build(struct draft *draft, struct test_fabric *test, const char *name);

void test_fabric_ring(struct test_fabric *test, uint32_t n, uint32_t hosts);
/* Connected: a random tree of the switches, then links between random pairs, parallel ones too. */
void test_fabric_random(struct test_fabric *test, uint32_t switches, uint32_t links, uint64_t seed);
/* a + 1 groups of a switches, each with a cable to another group and a host. */
void test_fabric_dragonfly(struct test_fabric *test, uint32_t a);

/* Channels between a switch and all others, OSR_NONE: none. Returns the largest distance. */
uint32_t test_distances(const struct osr_fabric *fabric, uint32_t root, uint32_t *dist);

/* The environment variable of this name, for campaigns by hand; `otherwise` without it. */
unsigned test_number(const char *name, unsigned otherwise);

/* splitmix64: the next number of a sequence that is the same everywhere. */
uint64_t test_random(uint64_t *state);

#endif
