/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tori.h - tori and meshes for tests, whole or damaged, with everything shuffled that must not
 * matter: GUIDs, ports, the order of discovery.
 *
 *	struct test_torus d = { .dims = "8r 4r 3", .hosts = 2, .shuffle = 7, .dead_links = 3 };
 *	test_torus_draw(&d, &t);
 *
 * A place keeps its GUID and LIDs whatever dies, as in the field.
 */
#ifndef TEST_TORI_H
#define TEST_TORI_H

#include "fabrics.h"

#define TORUS_MAX_DIMS 6

struct test_torus {
	const char *dims; /* sizes; "8r": a ring */
	unsigned hosts;   /* per switch; */
	bool some_hosts;  /* 0 .. 2 * hosts, drawn */
	unsigned cables;  /* between neighbours; 0 counts as 1 */
	uint64_t shuffle; /* 0: GUIDs by place, ports by direction */
	uint64_t fault_seed;
	unsigned dead_switches, dead_links;
	uint64_t dead_guid; /* this switch, besides */

	/* Filled. */
	uint32_t n_dims, n_places;
	uint32_t size[TORUS_MAX_DIMS];
	bool ring[TORUS_MAX_DIMS];
	uint64_t *guid; /* [n_places], in the fabric's arena */
};

void test_torus_draw(struct test_torus *torus, struct test_fabric *test);

/* Coordinate i of a place: the last dimension varies fastest. */
uint32_t test_torus_coord(const struct test_torus *torus, uint32_t place, uint32_t i);
/* The place of a switch. */
uint32_t test_torus_place(const struct test_torus *torus, uint64_t guid);

/*
 * The largest mean load over the links of one dimension; of lines, over those of one cut; where
 * every switch has as many hosts. No routing over shortest paths has a lower EFI.
 */
double test_torus_bound(const struct test_torus *torus);

#endif
